/*
 * genie_options.h
 *	  Storage parameters of a genie index: the WITH clause of CREATE INDEX.
 */
#ifndef GENIE_OPTIONS_H
#define GENIE_OPTIONS_H

#include "utils/rel.h"

#define GENIE_PENDING_LIMIT_MIN 64	/* kB */

/* kB; the setting genie.pending_limit, which holds for indexes without the parameter */
extern int	genie_pending_limit;

/* Defines the storage parameters; once, when the library is loaded. */
extern void genie_options_init(void);

/* parses the WITH clause */
extern bytea *genie_reloptions(Datum options, bool validate);

/* the index's pending_limit, or the setting; kB */
extern int	genie_pending_limit_of(Relation index);

/* the index's parameter values: does an approximate class write quantized vectors into new segments? */
extern bool genie_values_of(Relation index);

/* The support function (types/genie_opclass.h) of a class that is approximate by graphs alone. */
#define GENIE_GRAPH_PROC 10

/* Has the index's class that function?  It has no keywords; without graphs, it is exact. */
extern bool genie_is_by_graph(Relation index);

/*
 * The index's parameter graph, or, where it is not given, what that function says: edges of an object in the proximity
 * graphs (genie_proximity.h) that are made of the values of an approximate class; 0: none are.
 */
extern uint32 genie_graph_of(Relation index);

#endif							/* GENIE_OPTIONS_H */

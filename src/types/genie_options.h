/*
 * genie_options.h
 *	  Settings (genie.*) and storage parameters of a genie index.
 */
#ifndef GENIE_OPTIONS_H
#define GENIE_OPTIONS_H

#include "utils/rel.h"

#define GENIE_PENDING_LIMIT_MIN 64	/* kB */
#define GENIE_PENDING_LIMIT_DEFAULT 1024	/* kB: a scan counts this by brute force, about a millisecond */

/* kB; the setting genie.pending_limit */
extern int	genie_pending_limit;

#define GENIE_CANDIDATES_MAX (1 << 24)

/* how many rows a scan by an approximate class looks up first, 0: by their number; genie.candidates */
extern int	genie_candidates;

/* shall it leave out rows that are nearer than one that it has given? genie.strict_order */
extern bool genie_strict_order;

/* may it keep quantized vectors in shared memory, and use them? genie.quantized_vectors */
extern bool genie_quantized_vectors;

/* Defines settings and storage parameters; once, when the library is loaded. */
extern void genie_options_init(void);

/* parses the WITH clause */
extern bytea *genie_reloptions(Datum options, bool validate);

/* The setting, or what is right for an index of so many rows; at least 1. */
extern uint32 genie_candidates_for(double n_rows);

/* the same for an index: of the rows of its segments */
extern uint32 genie_candidates_of(Relation index);

/* the index's pending_limit, or the setting; kB */
extern int	genie_pending_limit_of(Relation index);

#endif							/* GENIE_OPTIONS_H */

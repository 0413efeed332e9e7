/*
 * genie_approximate.h
 *	  Operator classes that learn from rows (genie_opclass.h), approximate, coarse and exact ones: calling their
 *	  functions, and training in a build.
 */
#ifndef GENIE_APPROXIMATE_H
#define GENIE_APPROXIMATE_H

#include "genie_opclass.h"
#include "genie_signer.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/* Does the index's operator class learn?  Then it is one of the three. */
extern bool genie_learns(Relation index);
extern bool genie_is_approximate(Relation index);
extern bool genie_is_coarse(Relation index);
extern bool genie_class_is_coarse(Oid family, Oid type);
extern bool genie_is_exact(Relation index);

/*
 * Calls the class's functions train, sign and value; palloc'd.  An approximate class has no values where the index's
 * parameter `values` is off (genie_options.h).  NULL: the class does not learn.
 */
extern GenieSigner *genie_approximate_signer(Relation index);

/*
 * Trains on a sample of the table's rows and writes the parameters to the metapage of the index, which is being built.
 * False: the rows are too few, or too much alike.
 */
extern bool genie_approximate_train(Relation heap, Relation index, IndexInfo *info);

/* Are rows of the table, which is being vacuumed, far from what these parameters were made for? */
extern bool genie_approximate_misfit(Relation heap, Relation index, const bytea *learned);

/* Raw objects of a random sample of the table's rows, another one for each seed, in the current memory context. */
extern const GenieRaw *genie_approximate_sample(Relation heap, Relation index, uint32 seed, uint32 *n);

#endif							/* GENIE_APPROXIMATE_H */

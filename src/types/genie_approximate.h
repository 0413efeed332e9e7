/*
 * genie_approximate.h
 *	  Approximate operator classes (genie_opclass.h): calling their functions train and sign, and training in a build.
 */
#ifndef GENIE_APPROXIMATE_H
#define GENIE_APPROXIMATE_H

#include "genie_opclass.h"
#include "genie_signer.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/* Is the index's operator class approximate? */
extern bool genie_is_approximate(Relation index);

/* Calls the class's functions train and sign; palloc'd.  NULL: the class is not approximate. */
extern GenieSigner *genie_approximate_signer(Relation index);

/*
 * Trains on a sample of the table's rows and writes the parameters to the metapage of the index, which is being built.
 * False: the rows are too few, or too much alike.
 */
extern bool genie_approximate_train(Relation heap, Relation index, IndexInfo *info);

/* Are rows of the table, which is being vacuumed, far from what these parameters were made for? */
extern bool genie_approximate_misfit(Relation heap, Relation index, const bytea *learned);

#endif							/* GENIE_APPROXIMATE_H */

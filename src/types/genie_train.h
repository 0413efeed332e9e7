/*
 * genie_train.h
 *	  Approximate operator classes (genie_opclass.h): what they learn, from which rows, and signing.
 */
#ifndef GENIE_TRAIN_H
#define GENIE_TRAIN_H

#include "genie_opclass.h"
#include "genie_signer.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/* Is the index's operator class approximate? */
extern bool genie_is_approximate(Relation index);

/* Calls the class's functions; palloc'd.  NULL: the class is not approximate. */
extern GenieSigner *genie_signer(Relation index);

/*
 * Trains on a sample of the table's rows and writes the parameters to the metapage of the index, which is being built.
 * False: there are too few rows.
 */
extern bool genie_train_build(Relation heap, Relation index, IndexInfo *info);

#endif							/* GENIE_TRAIN_H */

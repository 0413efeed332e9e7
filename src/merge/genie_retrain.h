/*
 * genie_retrain.h
 *	  Training again: an approximate index whose rows have changed learns anew, and all of them are signed anew.
 */
#ifndef GENIE_RETRAIN_H
#define GENIE_RETRAIN_H

#include "genie_signer.h"
#include "utils/rel.h"

/*
 * Asks the class, with a sample of the index's values, whether what it has learned fits them; trains again if not, and
 * tells the log.  Returns GENIE_FITS if it fits now, or if there is nothing to ask; GENIE_FIT_UNKNOWN if the values are
 * not there, or do not tell enough: then nothing was done.  memory: bytes; delay (may be NULL) is called between pieces
 * of work.  The caller holds the exclusive merge lock.  Errors: those of reading damaged pages and of writing.
 */
extern GenieFit genie_retrain_index(Relation index, Size memory, GenieSigner *signer, void (*delay) (void));

#endif							/* GENIE_RETRAIN_H */

/*
 * genie_verify.h
 *	  genie_check: walking every page and verifying every invariant.
 */
#ifndef GENIE_VERIFY_H
#define GENIE_VERIFY_H

#include "storage/block.h"
#include "utils/rel.h"

/* Takes one finding. */
typedef void (*GenieViolation) (void *arg, BlockNumber block, const char *what);

/*
 * Verifies the whole index.  Readers and inserts go on; on a primary the merge lock is held in
 * share mode, so merges and VACUUM wait (on a standby replay goes on: false means that the index
 * changed under the walk, whatever was reported; try again).
 */
extern bool genie_verify_index(Relation index, GenieViolation report, void *arg);

#endif							/* GENIE_VERIFY_H */

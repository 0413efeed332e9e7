/*
 * genie_verify.h
 *	  Verifying an index, for genie_check(): every page, every invariant.
 */
#ifndef GENIE_VERIFY_H
#define GENIE_VERIFY_H

#include "storage/block.h"
#include "utils/rel.h"

/* Takes one finding. */
typedef void (*GenieViolation) (void *arg, BlockNumber block, const char *what);

/*
 * Verifies the whole index.  Scans and inserts go on.  On a primary it holds the merge lock in
 * share mode, so merges and VACUUM wait.  On a standby replay goes on: false means that the index
 * changed meanwhile, so the findings mean nothing; try again.
 */
extern bool genie_verify_index(Relation index, GenieViolation report, void *arg);

#endif							/* GENIE_VERIFY_H */

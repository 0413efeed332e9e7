/*
 * genie_truncate.h
 *	  Giving free pages back to the file system: used pages at the file's end move into free ones before them.
 */
#ifndef GENIE_TRUNCATE_H
#define GENIE_TRUNCATE_H

#include "utils/rel.h"

/* Could the file become so much shorter that it is worth it?  The caller holds the merge lock in any mode. */
extern bool genie_truncate_due(Relation index);

/*
 * Moves some pages and truncates the file behind the others.  True: a further step would find more to move.  The caller
 * holds the merge lock exclusively and an AccessExclusiveLock on the index, and so keeps all scans, inserts and checks
 * away, on standbys too.
 */
extern bool genie_truncate_step(Relation index);

#endif							/* GENIE_TRUNCATE_H */

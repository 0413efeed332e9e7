/*
 * genie_lock.h
 *	  The heavyweight locks of an index: the survey lock and the merge lock, taken in this order.
 *
 * The merge lock (LockPage on block 0) excludes merges, compaction, ambulkdelete and reclaim from each other.  It is a
 * heavyweight lock: waiting for it can be interrupted, and an error releases it.  In share mode it keeps the segment
 * list as it is; genie_check and genie_index_info hold it so.  An insert only tries for it, when a merge is due.
 * Scans never take it.  PostgreSQL 15's deadlock detector does not look at page locks: a process that holds
 * the merge lock must not wait for any heavyweight lock but relation extension.
 *
 * The survey lock (LockTuple on the metapage) is held exclusively by VACUUM's search for lost pages, and in share mode
 * by an insert of a row longer than a page, which writes pages that are not linked yet.  So such an insert waits for
 * a survey, but not for a merge.
 */
#ifndef GENIE_LOCK_H
#define GENIE_LOCK_H

#include "storage/lockdefs.h"
#include "utils/rel.h"

extern void genie_lock_merge(Relation index, LOCKMODE mode);
extern void genie_lock_release_merge(Relation index, LOCKMODE mode);

/* Takes the merge lock exclusively if it is free; else returns false. */
extern bool genie_lock_try_merge(Relation index);

extern void genie_lock_survey(Relation index, LOCKMODE mode);
extern void genie_lock_release_survey(Relation index, LOCKMODE mode);

#endif							/* GENIE_LOCK_H */

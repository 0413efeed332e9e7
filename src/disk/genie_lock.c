/*
 * genie_lock.c
 *	  The heavyweight locks of an index (genie_lock.h).
 */
#include "postgres.h"

#include "storage/lmgr.h"

#include "genie_lock.h"
#include "genie_page.h"

void
genie_lock_merge(Relation index, LOCKMODE mode)
{
	LockPage(index, GENIE_META_BLOCK, mode);
}

bool
genie_lock_try_merge(Relation index)
{
	return ConditionalLockPage(index, GENIE_META_BLOCK, ExclusiveLock);
}

void
genie_lock_release_merge(Relation index, LOCKMODE mode)
{
	UnlockPage(index, GENIE_META_BLOCK, mode);
}

void
genie_lock_survey(Relation index, LOCKMODE mode)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, GENIE_META_BLOCK, FirstOffsetNumber);
	LockTuple(index, &tid, mode);
}

void
genie_lock_release_survey(Relation index, LOCKMODE mode)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, GENIE_META_BLOCK, FirstOffsetNumber);
	UnlockTuple(index, &tid, mode);
}

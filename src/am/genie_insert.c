/*
 * genie_insert.c
 *	  aminsert: decompose, append to the pending list, and merge when that gets too long.
 *
 * The merge lock is only tried for: where somebody merges already, the insert is done.
 */
#include "postgres.h"

#include "access/genam.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "genie_insert.h"
#include "genie_merge.h"
#include "genie_opclass.h"
#include "genie_options.h"
#include "genie_pending.h"
#include "genie_space.h"

/* The index's pending list has n pages: merges if that is too many. */
static void
genie_insert_merge(Relation index, uint32 n_pages)
{
	if ((uint64) n_pages * BLCKSZ <= (uint64) genie_pending_limit_of(index) * 1024 ||
		!genie_merge_lock_conditional(index))
		return;
	genie_merge_index(index, work_mem * (Size) 1024, &genie_merge_effort_insert, NULL);
	genie_merge_unlock(index, ExclusiveLock);
}

bool
genie_insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
			 IndexUniqueCheck check_unique, bool index_unchanged, IndexInfo *info)
{
	MemoryContext context = info->ii_AmCache;
	MemoryContext old;
	GenieKeywords keywords;
	uint32		n_pages;
	int32		size;

	if (context == NULL)
		info->ii_AmCache = context = AllocSetContextCreate(info->ii_Context, "genie insert",
														   ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	genie_keywords_init(&keywords);
	if (!nulls[0])
	{
		FunctionCall2Coll(index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC),
						  index->rd_indcollation[0], values[0], PointerGetDatum(&keywords));
		genie_keywords_finish(&keywords);
	}
	size = genie_keywords_own_size(&keywords);
	genie_pending_append(index, tid, nulls[0], keywords.bytes, keywords.n, keywords.nbytes,
						 size >= 0 ? (uint32) size : keywords.n, &n_pages);
	if (n_pages > 0)
		genie_insert_merge(index, n_pages);
	MemoryContextSwitchTo(old);
	MemoryContextReset(context);
	return false;
}

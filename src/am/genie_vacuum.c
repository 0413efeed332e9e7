/*
 * genie_vacuum.c
 *	  VACUUM: marking dead rows, then cleaning up.
 *
 * ambulkdelete works under the merge lock, so that no row moves meanwhile:
 *	1. Pending rows: page by page, dead ones get a flag.
 *	2. Segments: it asks the callback for each object that is not dead yet; dead ones get their
 *	   tombstone bit.
 *	3. One record raises the tombstone version and stores the counts of dead objects.
 * A VACUUM that ended between 2 and 3 left bits that are not counted.  The next one counts all bits of a segment.
 *
 * 3 is done even where nothing has died: TIDs that VACUUM frees may have been in the index, as pending rows or as rows
 * that a merge has left out, and searches must not trust the pages of such a row (search/genie_all_visible.c).
 *
 * Then images in shared memory get the new tombstones, too (genie_image_cache.h).  Answers do not depend on that,
 * because every scan compares the tombstone version; it spares the next scan the work.
 *
 * When ambulkdelete returns, every scan that starts later sees 1 to 3.  So no removed TID is returned, and the TID may
 * be used again.  Rows appended meanwhile are newer than those that VACUUM removes.  The callback is called
 * for every live TID, pending ones included: CREATE INDEX CONCURRENTLY lists the index that way.
 *
 * amvacuumcleanup frees the pages that a crash or an error left, merges the pending list, compacts segments, frees
 * retired pages whose time has come, and reports the sizes.  An approximate class whose rows have values trains again,
 * if what it has learned fits them no more (merge/genie_retrain.h).  All of this is done in a subtransaction: an error
 * for lack of disk space becomes a WARNING.  The pages that were written in vain are freed at once, so that they serve
 * inserts, or the next VACUUM.
 *
 * Where values do not tell, it asks the class with a sample of the table (genie_approximate.c), and tells the log if
 * what it has learned fits no more.
 *
 * At last it makes the file shorter (disk/genie_truncate.h), as VACUUM does with tables: if at least a sixteenth is to
 * be gained, if the table's storage parameter vacuum_truncate allows it, and if nobody uses the index.  It tries for
 * the AccessExclusiveLock for a second, and never queues for it, so no scan waits behind a VACUUM that waits.  If the
 * index is always in use, the next VACUUM tries again.  The lock is held for one step at a time.  Each step is a
 * subtransaction that is rolled back in the end, so that standbys, too, release the lock at once, and not when
 * VACUUM has come to the end of the table.  What was written to pages stays.  The lock needs a transaction id,
 * which a parallel VACUUM cannot have: it leaves the file as it is.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#include "genie_approximate.h"
#include "genie_codec.h"
#include "genie_compact.h"
#include "genie_compat.h"
#include "genie_fault.h"
#include "genie_image_cache.h"
#include "genie_learned.h"
#include "genie_lock.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_pending.h"
#include "genie_retrain.h"
#include "genie_space.h"
#include "genie_subtransaction.h"
#include "genie_tombstone.h"
#include "genie_truncate.h"
#include "genie_vacuum.h"

#define GENIE_VACUUM_LOCK_TRIES 20	/* for the lock to truncate the file */
#define GENIE_VACUUM_LOCK_WAIT 50	/* milliseconds between them */

static void
genie_vacuum_corrupt(const GenieSegment *segment)
{
	genie_report_corrupt(segment->index, segment->entry.root, "a page belongs to somebody else");
}

/*
 * Asks the callback for each live object of a tile.  Returns how many objects are dead now, including those of a VACUUM
 * that was interrupted before it stored its counts.  *n_died counts the new ones.
 */
static uint32
genie_vacuum_tile(GenieSegment *segment, GenieObjectReader *objects, GenieSectionReader *tombstones,
				  uint32 tile_number, IndexBulkDeleteCallback callback, void *callback_state,
				  uint64 *n_died, uint64 *n_left)
{
	const GenieTileObjects *tile = genie_object_table_tile(objects, tile_number);
	uint32		first = tile_number << GENIE_TILE_SHIFT;
	uint64	   *dead = palloc0(GENIE_TILE_WORDS * sizeof(uint64));
	uint64	   *died = palloc0(GENIE_TILE_WORDS * sizeof(uint64));
	uint32		n_dead = 0;
	bool		any = false;

	if (tile == NULL || !genie_tombstone_read(tombstones, first, tile->n_objects, dead))
		genie_vacuum_corrupt(segment);
	for (uint32 r = 0; r < tile->n_runs; r++)
	{
		const GenieTidRun *run = &tile->runs[r];
		uint32		end = r + 1 < tile->n_runs ? run[1].start : tile->n_objects;

		for (uint32 i = run->start; i < end; i++)
		{
			ItemPointerData tid;

			if ((dead[i / 64] >> (i % 64)) & 1)
			{
				n_dead++;
				continue;
			}
			ItemPointerSet(&tid, run->block, (OffsetNumber) (run->offset + (i - run->start)));
			if (callback(&tid, callback_state))
			{
				died[i / 64] |= UINT64CONST(1) << (i % 64);
				any = true;
				n_dead++;
				(*n_died)++;
			}
			else
				(*n_left)++;
		}
	}
	if (any)
		genie_tombstone_set(segment, first, tile->n_objects, died);
	pfree(dead);
	pfree(died);
	return n_dead;
}

/* Sets the tombstones of one segment; returns how many there are. */
static uint32
genie_vacuum_segment(Relation index, const GenieSegmentEntry *entry, IndexBulkDeleteCallback callback,
					 void *callback_state, uint64 *n_died, uint64 *n_left)
{
	GenieSegment *segment = genie_segment_open(index, entry);
	GenieObjectReader *objects = palloc(sizeof(GenieObjectReader));
	GenieSectionReader *tombstones = palloc(sizeof(GenieSectionReader));
	uint32		n_dead = 0;

	if (segment == NULL)
		genie_report_corrupt(index, entry->root, "not the segment's root");
	segment->verify = true;
	genie_object_table_reader(objects, segment, false);
	genie_section_reader(tombstones, segment, GENIE_SECTION_TOMBSTONES);
	for (uint32 tile = 0; tile < genie_object_table_tiles(segment); tile++)
	{
		n_dead += genie_vacuum_tile(segment, objects, tombstones, tile, callback, callback_state,
									n_died, n_left);
		tombstones->cached = -1;
		vacuum_delay_point(false);
		GENIE_FAULT("vacuum-tile");
	}
	return n_dead;
}

IndexBulkDeleteResult *
genie_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				 IndexBulkDeleteCallback callback, void *callback_state)
{
	Relation	index = info->index;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie bulkdelete",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	GenieMetaData *meta;
	uint32	   *n_dead;
	uint64		n_removed = 0;
	uint64		n_left = 0;
	uint64		n_died = 0;

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	old = MemoryContextSwitchTo(context);
	genie_lock_merge(index, ExclusiveLock);
	meta = genie_meta_read(index);
	n_dead = palloc((meta->n_segments + 1) * sizeof(uint32));

	genie_pending_delete(index, meta, callback, callback_state, &n_removed, &n_left);
	GENIE_FAULT("vacuum-pending");
	for (uint32 i = 0; i < meta->n_segments; i++)
		n_dead[i] = genie_vacuum_segment(index, &meta->segments[i], callback, callback_state, &n_died, &n_left);
	GENIE_FAULT("vacuum-before-version");
	genie_meta_publish_tombstones(index, meta, n_dead);
	GENIE_FAULT("vacuum-after-version");
	genie_lock_release_merge(index, ExclusiveLock);
	genie_image_cache_publish_tombstones(index);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);

	stats->tuples_removed += n_removed + n_died;
	stats->num_index_tuples = n_left;
	return stats;
}

static void
genie_vacuum_delay(void)
{
	vacuum_delay_point(false);
}

/* Writes down whether what a class has learned fits the table's rows; fit: what is known of it. */
static void
genie_vacuum_judge(Relation index, GenieFit fit)
{
	GenieMetaData *meta = genie_meta_read(index);
	bytea	   *learned = genie_learned_parameters(index, meta);
	bool		known = (meta->flags & GENIE_META_MISFIT) != 0;
	bool		misfit = false;

	if (learned == NULL)
		return;
	if (fit == GENIE_FIT_UNKNOWN)
	{
		Relation	heap = table_open(IndexGetRelation(RelationGetRelid(index), false), AccessShareLock);

		misfit = genie_approximate_misfit(heap, index, learned);
		table_close(heap, AccessShareLock);
	}
	if (misfit != known)
		genie_meta_set_misfit(index, misfit);
	if (misfit && !known)
		ereport(LOG,
				(errmsg("index \"%s\" has learned from rows that are unlike those in the table now",
						genie_log_name(index)),
				 genie_is_coarse(index) ? errhint("REINDEX it, or searches will look at many rows in vain.") :
				 errhint("REINDEX it, or searches will miss many of the nearest rows.")));
}

/*
 * Frees the pages that a crash or an error has left; returns how many.  The survey lock comes before the merge lock, so
 * neither may be held.
 */
static BlockNumber
genie_vacuum_survey(Relation index)
{
	GenieMetaData *meta;
	BlockNumber n_blocks;
	BlockNumber n_lost;
	BlockNumber n_free;
	uint8	   *reachable;

	genie_lock_survey(index, ExclusiveLock);
	genie_lock_merge(index, ExclusiveLock);
	/* the metapage's stamp counter is read before the size: newer pages have newer stamps */
	meta = genie_meta_read(index);
	n_blocks = RelationGetNumberOfBlocks(index);
	reachable = genie_space_reachable(index, meta, n_blocks);
	if (reachable == NULL)
		genie_report_corrupt(index, GENIE_META_BLOCK, "the list of segments or of retired pages is broken");
	genie_space_survey(index, meta, reachable, n_blocks, true, &n_lost, &n_free);
	genie_lock_release_merge(index, ExclusiveLock);
	genie_lock_release_survey(index, ExclusiveLock);
	IndexFreeSpaceMapVacuum(index);
	return n_lost;
}

typedef struct GenieVacuumCompaction
{
	Relation	index;
	BlockNumber n_lost;
	GenieFit	fit;
} GenieVacuumCompaction;

/* Merges, compacts and perhaps trains again, into the pages that the survey has found first. */
static void
genie_vacuum_compact(void *arg)
{
	GenieVacuumCompaction *compaction = arg;
	Relation	index = compaction->index;
	GenieSigner *signer = genie_approximate_signer(index);
	Size		memory = (AmAutoVacuumWorkerProcess() && autovacuum_work_mem != -1 ?
						  autovacuum_work_mem : maintenance_work_mem) * (Size) 1024;

	compaction->n_lost = genie_vacuum_survey(index);
	genie_lock_merge(index, ExclusiveLock);
	genie_compact_index(index, memory, &genie_compact_effort_full, signer, genie_vacuum_delay);
	compaction->fit = genie_retrain_index(index, memory, signer, genie_vacuum_delay);
	genie_lock_release_merge(index, ExclusiveLock);
	genie_image_cache_follow_merge(index);
	IndexFreeSpaceMapVacuum(index);
}

/* Is it an error for lack of room on the disk?  One on the size of a file or a quota has no code of its own. */
static bool
genie_vacuum_no_room(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DISK_FULL || error->saved_errno == ENOSPC || error->saved_errno == EDQUOT ||
		error->saved_errno == EFBIG;
}

/*
 * The same as genie_vacuum_compact(), but without room on the disk it says so and goes on: dead rows have their
 * tombstones already, and the rest of VACUUM may make room.  What the compaction did until then stays.
 */
static GenieVacuumCompaction
genie_vacuum_try_compact(Relation index)
{
	GenieVacuumCompaction compaction = {.index = index, .fit = GENIE_FIT_UNKNOWN};
	ErrorData  *error = NULL;

	if (IsInParallelMode())
		genie_vacuum_compact(&compaction);	/* PostgreSQL allows no subtransaction there */
	else
		error = genie_subtransaction_run(genie_vacuum_compact, &compaction, GENIE_SUBTRANSACTION_COMMIT);
	if (error == NULL)
		return compaction;
	if (!genie_vacuum_no_room(error))
		ReThrowError(error);
	ereport(WARNING,
			(errcode(ERRCODE_DISK_FULL),
			 errmsg("could not compact index \"%s\" for lack of disk space", genie_log_name(index)),
			 errdetail("The error was: %s.", error->message),
			 errhint("Its dead rows are marked.  A later VACUUM compacts it, if there is room.")));
	compaction.n_lost = genie_vacuum_survey(index);
	return compaction;
}

/* May the file be truncated, and is it worth it? */
static bool
genie_vacuum_truncates(Relation index)
{
	Relation	heap;
	bool		allowed;

	if (IsInParallelMode())
		return false;
	heap = table_open(IndexGetRelation(RelationGetRelid(index), false), AccessShareLock);
	allowed = GENIE_VACUUM_TRUNCATES((StdRdOptions *) heap->rd_options);
	table_close(heap, AccessShareLock);
	if (allowed)
	{
		genie_lock_merge(index, ShareLock);
		allowed = genie_truncate_due(index);
		genie_lock_release_merge(index, ShareLock);
	}
	return allowed;
}

/* Locks the index against everybody, if that is possible without waiting for others to finish. */
static bool
genie_vacuum_lock(Relation index)
{
	for (int i = 0; i < GENIE_VACUUM_LOCK_TRIES; i++)
	{
		if (ConditionalLockRelation(index, AccessExclusiveLock))
			return true;
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, GENIE_VACUUM_LOCK_WAIT,
						 WAIT_EVENT_VACUUM_TRUNCATE);
		ResetLatch(MyLatch);
	}
	return false;
}

typedef struct GenieVacuumTruncation
{
	Relation	index;
	bool		more;
} GenieVacuumTruncation;

static void
genie_vacuum_run_truncation(void *arg)
{
	GenieVacuumTruncation *truncation = arg;

	if (genie_vacuum_lock(truncation->index) && genie_lock_try_merge(truncation->index))
		truncation->more = genie_truncate_step(truncation->index);
}

/* One step of truncation.  True: there is more to do. */
static bool
genie_vacuum_truncate_step(Relation index)
{
	GenieVacuumTruncation truncation = {.index = index};
	ErrorData  *error = genie_subtransaction_run(genie_vacuum_run_truncation, &truncation, GENIE_SUBTRANSACTION_ABORT);

	if (error != NULL)
		ReThrowError(error);
	return truncation.more;
}

IndexBulkDeleteResult *
genie_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	index = info->index;
	GenieVacuumCompaction compaction;
	MemoryContext context;
	MemoryContext old;
	GenieMetaData *meta;
	BlockNumber n_blocks;
	uint8	   *reachable;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));

	context = AllocSetContextCreate(CurrentMemoryContext, "genie vacuum cleanup",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	compaction = genie_vacuum_try_compact(index);
	stats->pages_newly_deleted += compaction.n_lost;
	if (genie_learns(index) && !genie_is_exact(index))
		genie_vacuum_judge(index, compaction.fit);
	if (genie_vacuum_truncates(index))
		while (genie_vacuum_truncate_step(index))
			vacuum_delay_point(false);

	genie_lock_merge(index, ShareLock);
	meta = genie_meta_read(index);
	n_blocks = RelationGetNumberOfBlocks(index);
	reachable = genie_space_reachable(index, meta, n_blocks);
	genie_lock_release_merge(index, ShareLock);
	if (reachable == NULL)
		genie_report_corrupt(index, GENIE_META_BLOCK, "the list of segments or of retired pages is broken");
	stats->num_pages = n_blocks;
	stats->pages_free = 0;
	for (BlockNumber block = 0; block < n_blocks; block++)
		stats->pages_free += reachable[block] == 0;
	stats->estimated_count = false;
	stats->num_index_tuples = 0;
	for (uint32 i = 0; i < meta->n_segments; i++)
		stats->num_index_tuples += meta->segments[i].n_objects - meta->segments[i].n_dead;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return stats;
}

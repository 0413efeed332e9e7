/*
 * genie_space.c
 *	  Taking, retiring and reclaiming pages (the life of a page is drawn in genie_space.h).
 *
 * Why a page cannot be taken twice: the process that takes it verifies under its exclusive lock
 * that it is FREE or all zeroes, and initialises it before unlocking.  So the free space map may
 * be wrong (it is not logged): a block that it names wrongly is skipped.
 *
 * Why a survey cannot free a page that an insert has just taken: such a page has a stamp that is not
 * below the metapage's counter as the survey saw it.  Pages of an unfinished merge, or of a long
 * row that is not linked yet, have older stamps.  But a survey does not run beside these: their writers hold the
 * merge lock or the survey lock.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "genie_compat.h"
#include "genie_fault.h"
#include "genie_meta.h"
#include "genie_segment.h"
#include "genie_space.h"
#include "genie_wal.h"

/* Extends the relation by a new run of blocks: an eighth of those that the run had so far. */
static void
genie_space_extend(Relation index, GenieRun *run)
{
	run->start = genie_extend_relation(index, Min(Max(run->taken / 8, 1), GENIE_RUN_MAX), &run->left);
	run->taken += run->left;
}

Buffer
genie_space_take(Relation index, GenieRun *run)
{
	GenieRun	single = {0};

	for (;;)
	{
		bool		from_map = false;
		BlockNumber block = InvalidBlockNumber;
		Buffer		buffer;
		Page		page;

		CHECK_FOR_INTERRUPTS();
		if (run == NULL || run->left == 0)
		{
			block = GetFreeIndexPage(index);
			from_map = block != InvalidBlockNumber;
		}
		if (!from_map)
		{
			GenieRun   *from = run == NULL ? &single : run;

			if (from->left == 0)
				genie_space_extend(index, from);
			block = from->start++;
			from->left--;
		}
		/* after a crash, or on a copy, the map may name blocks that the file does not have */
		if (block == GENIE_META_BLOCK || (from_map && block >= RelationGetNumberOfBlocks(index)))
			continue;
		buffer = ReadBuffer(index, block);
		if (!from_map)
			LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		else if (!ConditionalLockBuffer(buffer))
		{
			/* it is in use, so it is not free */
			ReleaseBuffer(buffer);
			continue;
		}
		page = BufferGetPage(buffer);
		if (PageIsNew(page) || genie_page_is(page, GENIE_PAGE_FREE))
			return buffer;
		UnlockReleaseBuffer(buffer);
	}
}

void
genie_space_give_back(Relation index, GenieRun *run)
{
	while (run->left > 0)
	{
		RecordFreeIndexPage(index, run->start++);
		run->left--;
	}
}

void
genie_space_free_block(Relation index, BlockNumber block, uint64 stamp)
{
	Buffer		buffer = ReadBuffer(index, block);
	GenieWal	wal;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_wal_begin(&wal, index, false);
	genie_page_init(genie_wal_register(&wal, buffer, true), GENIE_PAGE_FREE, 0, stamp);
	genie_wal_commit_release(&wal);
	GENIE_FAULT("free-page");
	RecordFreeIndexPage(index, block);
	CHECK_FOR_INTERRUPTS();
}

/* Frees a retired segment: data pages first, the root's pages last and from behind. */
static void
genie_space_free_segment(Relation index, const GenieRetiredEntry *retired, uint64 stamp)
{
	GenieSegmentEntry entry = {0};
	GenieSegment *segment;

	entry.stamp = retired->stamp;
	entry.root = retired->head;
	segment = genie_segment_open(index, &entry);
	if (segment == NULL)
		return;					/* a crash came between freeing the root and removing the entry */

	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
	{
		const GenieSection *section = &segment->sections[kind];

		for (uint32 i = 0; i < section->entry.n_extents; i++)
			for (uint32 j = 0; j < section->extents[i].n_blocks; j++)
			{
				BlockNumber block = section->extents[i].start + j;
				Buffer		buffer = ReadBuffer(index, block);
				bool		ours;

				LockBuffer(buffer, BUFFER_LOCK_SHARE);
				ours = genie_page_is(BufferGetPage(buffer), GENIE_PAGE_DATA) &&
					GeniePageGetOpaque(BufferGetPage(buffer))->stamp == retired->stamp;
				UnlockReleaseBuffer(buffer);
				if (ours)		/* else it was freed before a crash, and perhaps taken again */
					genie_space_free_block(index, block, stamp);
			}
	}
	GENIE_FAULT("reclaim-before-root");
	for (uint32 i = segment->n_root_pages; i-- > 0;)
		genie_space_free_block(index, segment->root_pages[i].start, stamp);
}

/*
 * The pages of a pending list from head on, at most n, as long as they are pending pages with
 * stamps below the limit.  palloc'd; *found of them.
 */
static BlockNumber *
genie_space_list_pages(Relation index, BlockNumber head, uint32 n, uint64 below, uint32 *found)
{
	BlockNumber n_blocks = RelationGetNumberOfBlocks(index);
	BlockNumber *blocks;
	BlockNumber block = head;

	n = Min(n, n_blocks);
	blocks = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(BlockNumber) * ((Size) n + 1));
	*found = 0;
	while (block < n_blocks && *found < n)
	{
		Buffer		buffer = ReadBuffer(index, block);
		Page		page = BufferGetPage(buffer);
		BlockNumber next = InvalidBlockNumber;
		bool		ours;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		ours = genie_page_is(page, GENIE_PAGE_PENDING) && GeniePageGetOpaque(page)->stamp < below;
		if (ours)
			next = GeniePageGetOpaque(page)->next;
		UnlockReleaseBuffer(buffer);
		if (!ours)
			break;
		blocks[(*found)++] = block;
		block = next;
		CHECK_FOR_INTERRUPTS();
	}
	return blocks;
}

static void
genie_space_free_retired(Relation index, const GenieRetiredEntry *retired, uint64 stamp)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie reclaim",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	if (retired->kind == GENIE_RETIRED_SEGMENT)
		genie_space_free_segment(index, retired, stamp);
	else
	{
		uint32		n;
		BlockNumber *blocks = genie_space_list_pages(index, retired->head, retired->n_pages,
													 retired->stamp, &n);

		/* from behind, so that a crash leaves a list that can be walked again */
		while (n > 0)
			genie_space_free_block(index, blocks[--n], stamp);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Removes from a page of retired entries those whose slot is true in gone. */
static void
genie_space_remove_entries(Relation index, BlockNumber block, const bool *gone)
{
	Buffer		buffer = ReadBuffer(index, block);
	GenieWal	wal;
	Page		page;
	GenieRetiredEntry *entries;
	uint32		n;
	uint32		kept = 0;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_wal_begin(&wal, index, false);
	page = genie_wal_register(&wal, buffer, false);
	entries = (GenieRetiredEntry *) GeniePageGetPayload(page);
	n = GeniePageGetUsed(page) / sizeof(GenieRetiredEntry);
	for (uint32 i = 0; i < n; i++)
		if (!gone[i])
			entries[kept++] = entries[i];
	GeniePageSetUsed(page, kept * sizeof(GenieRetiredEntry));
	genie_wal_commit_release(&wal);
}

/* The last page of retired entries is empty: cuts it off the page before it, and frees it. */
static void
genie_space_drop_retired_page(Relation index, BlockNumber before, BlockNumber block, uint64 stamp)
{
	Buffer		buffer = ReadBuffer(index, before);
	GenieWal	wal;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	genie_wal_begin(&wal, index, false);
	GeniePageGetOpaque(genie_wal_register(&wal, buffer, false))->next = InvalidBlockNumber;
	genie_wal_commit_release(&wal);
	GENIE_FAULT("reclaim-page-dropped");
	genie_space_free_block(index, block, stamp);
}

/* Is it a process of the parallel VACUUM that this one belongs to, too?  It does not scan the index. */
static bool
genie_space_of_our_group(const VirtualTransactionId *other)
{
	PGPROC	   *proc = GENIE_PROC_OF(*other);

	return MyProc->lockGroupLeader != NULL && proc != NULL && proc->lockGroupLeader == MyProc->lockGroupLeader;
}

/*
 * Is there no scan that began before now?  A process that scans has the index open, and keeps its lock until its
 * transaction ends.  A process that locks it from now on reads a metapage that does not reach retired pages any more.
 */
static bool
genie_space_no_scans(Relation index)
{
	LOCKTAG		tag;
	VirtualTransactionId *others;
	int			n_others;
	bool		scans = false;

	if (index->rd_refcnt > 1)
		return false;
	SET_LOCKTAG_RELATION(tag, index->rd_lockInfo.lockRelId.dbId, index->rd_lockInfo.lockRelId.relId);
	others = GetLockConflicts(&tag, AccessExclusiveLock, &n_others);
	for (int i = 0; i < n_others && !scans; i++)
		scans = !genie_space_of_our_group(&others[i]);
	pfree(others);
	return !scans;
}

void
genie_space_reclaim(Relation index)
{
	GenieMetaData *meta = genie_meta_read(index);
	BlockNumber block = meta->retired_head;
	BlockNumber before = InvalidBlockNumber;
	BlockNumber left = RelationGetNumberOfBlocks(index);
	uint64		stamp = 0;
	bool		no_scans = block != InvalidBlockNumber && genie_space_no_scans(index);

	/* GlobalVisCheckRemovableFullXid() may judge by an older state of things, unless that is renewed */
	if (block != InvalidBlockNumber && !no_scans)
		(void) GetOldestNonRemovableTransactionId(NULL);
	while (block != InvalidBlockNumber)
	{
		PGAlignedBlock copy;
		Page		page;
		GenieRetiredEntry *entries;
		BlockNumber next;
		uint32		n;
		uint32		n_gone = 0;
		bool		gone[GENIE_RETIRED_PER_PAGE] = {false};

		CHECK_FOR_INTERRUPTS();
		if (block >= RelationGetNumberOfBlocks(index) || left-- == 0)
			genie_report_corrupt(index, block, "the list of retired pages leaves the index or is a circle");
		page = genie_page_copy(index, block, &copy);
		if (!genie_page_is(page, GENIE_PAGE_RETIRED))
			genie_report_corrupt(index, block, "not a page of retired entries");
		genie_page_verify(index, page, block);
		next = GeniePageGetOpaque(page)->next;
		entries = (GenieRetiredEntry *) GeniePageGetPayload(page);
		n = GeniePageGetUsed(page) / sizeof(GenieRetiredEntry);

		for (uint32 i = 0; i < n; i++)
		{
			if (!no_scans && !GlobalVisCheckRemovableFullXid(NULL, entries[i].xid))
				continue;
			if (stamp == 0)
				stamp = genie_meta_new_stamp(index, false);
			genie_space_free_retired(index, &entries[i], stamp);
			GENIE_FAULT("reclaim-before-entry");
			gone[i] = true;
			n_gone++;
		}
		if (n_gone > 0)
			genie_space_remove_entries(index, block, gone);
		if (n_gone == n && next == InvalidBlockNumber && before != InvalidBlockNumber && stamp != 0)
			genie_space_drop_retired_page(index, before, block, stamp);
		else
			before = block;
		block = next;
	}
	if (stamp != 0)
		IndexFreeSpaceMapVacuum(index); /* else the pages are not found before a VACUUM */
	pfree(meta);
}

/*
 * Marks a block.  A second owner is damage, with one exception: a retired entry's block with another owner was freed
 * before a crash that left the entry, and taken again.  Live pages are marked first.
 */
static void
genie_space_mark(uint8 *reachable, BlockNumber n_blocks, BlockNumber block, uint8 kind)
{
	if (block >= n_blocks)
		return;
	if (reachable[block] == 0)
		reachable[block] = kind;
	else if ((kind & GENIE_REACHABLE_RETIRED) == 0)
		reachable[block] = GENIE_REACHABLE_TWICE;
}

/* Marks a segment's pages.  False: stale. */
static bool
genie_space_mark_segment(Relation index, const GenieSegmentEntry *entry, uint8 *reachable,
						 BlockNumber n_blocks, uint8 retired)
{
	GenieSegment *segment = genie_segment_open(index, entry);

	if (segment == NULL)
		return false;
	for (uint32 i = 0; i < segment->n_root_pages; i++)
		genie_space_mark(reachable, n_blocks, segment->root_pages[i].start, GENIE_PAGE_ROOT | retired);
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		for (uint32 i = 0; i < segment->sections[kind].entry.n_extents; i++)
		{
			const GenieExtent *extent = &segment->sections[kind].extents[i];

			for (uint32 j = 0; j < extent->n_blocks; j++)
				genie_space_mark(reachable, n_blocks, extent->start + j, GENIE_PAGE_DATA | retired);
		}
	return true;
}

static void
genie_space_mark_pending(Relation index, BlockNumber head, uint32 n, uint64 below,
						 uint8 *reachable, BlockNumber n_blocks, uint8 retired)
{
	uint32		found;
	BlockNumber *blocks = genie_space_list_pages(index, head, n, below, &found);

	for (uint32 i = 0; i < found; i++)
		genie_space_mark(reachable, n_blocks, blocks[i], GENIE_PAGE_PENDING | retired);
	pfree(blocks);
}

/* Marks the pages of retired entries and what the entries hold. */
static bool
genie_space_mark_retired(Relation index, BlockNumber head, uint8 *reachable, BlockNumber n_blocks)
{
	while (head != InvalidBlockNumber && head < n_blocks)
	{
		PGAlignedBlock copy;
		Page		page = genie_page_copy(index, head, &copy);
		GenieRetiredEntry *entries;
		uint32		n;

		if (!genie_page_is(page, GENIE_PAGE_RETIRED) || reachable[head] != 0)
			return false;
		genie_page_verify(index, page, head);
		genie_space_mark(reachable, n_blocks, head, GENIE_PAGE_RETIRED);
		entries = (GenieRetiredEntry *) GeniePageGetPayload(page);
		n = GeniePageGetUsed(page) / sizeof(GenieRetiredEntry);
		for (uint32 i = 0; i < n; i++)
		{
			GenieSegmentEntry entry = {0};

			entry.stamp = entries[i].stamp;
			entry.root = entries[i].head;
			if (entries[i].kind == GENIE_RETIRED_PENDING)
				genie_space_mark_pending(index, entries[i].head, entries[i].n_pages,
										 entries[i].stamp, reachable, n_blocks,
										 GENIE_REACHABLE_RETIRED);
			else
				(void) genie_space_mark_segment(index, &entry, reachable, n_blocks,
												GENIE_REACHABLE_RETIRED);
		}
		head = GeniePageGetOpaque(page)->next;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

uint8 *
genie_space_reachable(Relation index, const GenieMetaData *meta, BlockNumber n_blocks)
{
	uint8	   *reachable = MemoryContextAllocExtended(CurrentMemoryContext, (Size) n_blocks + 1,
													   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie reachable",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		ok = true;

	genie_space_mark(reachable, n_blocks, GENIE_META_BLOCK, GENIE_PAGE_META);
	for (uint32 i = 0; ok && i < meta->n_segments; i++)
		ok = genie_space_mark_segment(index, &meta->segments[i], reachable, n_blocks, 0);
	if (ok && meta->learned.stamp != 0)
		ok = genie_space_mark_segment(index, &meta->learned, reachable, n_blocks, 0);
	if (ok)
		genie_space_mark_pending(index, meta->pending_head, meta->pending_pages, meta->next_stamp,
								 reachable, n_blocks, 0);
	if (ok)
		ok = genie_space_mark_retired(index, meta->retired_head, reachable, n_blocks);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok ? reachable : NULL;
}

void
genie_space_survey(Relation index, const GenieMetaData *meta, const uint8 *reachable,
				   BlockNumber n_blocks, bool collect, BlockNumber *n_lost, BlockNumber *n_free)
{
	uint64		stamp = 0;

	*n_lost = *n_free = 0;
	for (BlockNumber block = 0; block < n_blocks; block++)
	{
		Buffer		buffer;
		Page		page;
		bool		is_new;
		bool		is_free;
		bool		is_newer;

		if (reachable[block] != 0)
			continue;
		buffer = ReadBuffer(index, block);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		is_new = PageIsNew(page);
		is_free = genie_page_is(page, GENIE_PAGE_FREE);
		is_newer = !is_new && genie_page_is_ours(page) &&
			GeniePageGetOpaque(page)->stamp >= meta->next_stamp;
		UnlockReleaseBuffer(buffer);

		if (is_new || is_free)
		{
			(*n_free)++;
			if (collect)
				RecordFreeIndexPage(index, block);
		}
		else if (!is_newer)
		{
			(*n_lost)++;
			if (collect)
			{
				if (stamp == 0)
					stamp = genie_meta_new_stamp(index, false);
				genie_space_free_block(index, block, stamp);
			}
		}
		CHECK_FOR_INTERRUPTS();
	}
}

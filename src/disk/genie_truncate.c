/*
 * genie_truncate.c
 *	  Making the file shorter (genie_truncate.h).
 *
 * A merge writes its result before its inputs' pages are free, so it leaves a file of up to twice the index's size: a
 * hole, and the new segment behind it.  VACUUM closes the hole when its merges are done (am/genie_vacuum.c).
 *
 * A step:
 *	1. plan		The file's new end: as low as the free pages before it can take the used pages behind it, and at
 *				most GENIE_TRUNCATE_MOVES of them.  Pages of segments move, and the page of retired entries if it is
 *				the only one.  Pending pages and pages that wait for older snapshots stay, and so does all before them.
 *	2. copy		Each page behind the end is copied to the first free page as it is, with its stamp.  A segment that has
 *				lost a page gets a new root, because the root lists the others; its bytes do not change.
 *	3. flip		One record puts the new roots into the metapage.
 *	4. free		Roots that were replaced and lie before the end are freed, and the file is truncated.
 *
 * A segment keeps its stamp, and its images in shared memory and on the GPU stay valid: they name no page.
 *
 * Why no reader meets a moved page.  The caller has an AccessExclusiveLock on the index.  Scans, inserts, genie_check()
 * and whoever makes an image hold a lock on the index from before they read the metapage until they read no more, so
 * there is none now, and those to come read the new metapage.  No transaction has appended a page that it has not
 * linked.  Standbys replay the lock before the step's pages, and wait for their scans or cancel them, as with the
 * truncation of a table.  So nothing needs to be retired, and a page without an owner may be written whatever is on
 * it; the survey's exceptions (genie_space.c) do not occur.
 *
 * Crashes.  Before the flip, the copies are unreachable: lost pages, which the next VACUUM frees.  After it, the
 * originals and the old roots are.  The truncation's own record comes after the flip's, and flushes it.  So the
 * file never ends before a page that the metapage on the disk reaches.  An error or a cancelled VACUUM is the same.
 *
 * Locks are held for one step, some 32 MB.
 */
#include "postgres.h"

#include "catalog/storage.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "utils/memutils.h"

#include "genie_fault.h"
#include "genie_meta.h"
#include "genie_segment.h"
#include "genie_space.h"
#include "genie_truncate.h"
#include "genie_wal.h"

#define GENIE_TRUNCATE_MOVES 4096	/* pages a step: what a reader may have to wait for */
#define GENIE_TRUNCATE_FRACTION 16	/* of the file must be gained: as REL_TRUNCATE_FRACTION of tables */

typedef struct GenieTruncation
{
	Relation	index;
	GenieMetaData *meta;		/* becomes what the flip writes */
	uint8	   *reachable;		/* genie_space_reachable() */
	BlockNumber n_blocks;
	uint64		n_free;
	uint64		n_roots;		/* pages of the segments' roots, and one more of each: moves add extents */
	bool		fixed_retired;	/* several pages of retired entries are a list, and do not move */
	BlockNumber end;			/* of the file after the step */
	BlockNumber next;			/* no free page is before it */
	bool		moved;			/* the metapage is to change */
	BlockNumber *old_roots;		/* replaced and before the end */
	uint32		n_old_roots;
} GenieTruncation;

/* Counts what plans need.  False: the index is damaged, or there is nothing to look at. */
static bool
genie_truncate_survey(GenieTruncation *t, Relation index)
{
	uint32		n_retired = 0;

	memset(t, 0, sizeof(*t));
	t->index = index;
	t->meta = genie_meta_read(index);
	t->n_blocks = RelationGetNumberOfBlocks(index);
	t->reachable = genie_space_reachable(index, t->meta, t->n_blocks);
	if (t->reachable == NULL)
		return false;
	for (BlockNumber block = 0; block < t->n_blocks; block++)
	{
		if (t->reachable[block] == GENIE_REACHABLE_TWICE)
			return false;
		t->n_free += t->reachable[block] == 0;
		t->n_roots += t->reachable[block] == GENIE_PAGE_ROOT;
		n_retired += t->reachable[block] == GENIE_PAGE_RETIRED;
	}
	t->n_roots += t->meta->n_segments + 1;
	t->fixed_retired = n_retired > 1;
	t->next = GENIE_META_BLOCK + 1;
	return true;
}

/* The free pages that it takes to move so many, and to write roots again. */
static uint64
genie_truncate_need(uint64 n_moved, uint64 n_roots)
{
	uint64		n_extents = 2 * n_moved;	/* a moved page splits an extent, at worst */

	return n_moved == 0 ? 0 : n_moved + n_roots + n_extents * sizeof(GenieExtent) / GENIE_PAGE_PAYLOAD;
}

/* The lowest end that the file can get by so many moves. */
static BlockNumber
genie_truncate_plan(const GenieTruncation *t, uint64 most)
{
	uint64		n_free = t->n_free; /* before the end */
	uint64		n_roots = t->n_roots;
	uint64		n_moved = 0;
	BlockNumber end = t->n_blocks;

	for (; end > GENIE_META_BLOCK + 1; end--)
	{
		uint8		kind = t->reachable[end - 1];

		if (kind == 0)
			n_free--;
		else if (kind == GENIE_PAGE_ROOT || kind == GENIE_PAGE_DATA ||
				 (kind == GENIE_PAGE_RETIRED && !t->fixed_retired))
			n_moved++;
		else
			break;
		n_roots -= kind == GENIE_PAGE_ROOT; /* it is one of those that move */
		if (n_moved > most || genie_truncate_need(n_moved, n_roots) > n_free)
			break;
	}
	return end;
}

bool
genie_truncate_due(Relation index)
{
	GenieTruncation t;
	BlockNumber gained;

	if (!genie_truncate_survey(&t, index))
		return false;
	gained = t.n_blocks - genie_truncate_plan(&t, t.n_blocks);
	return gained > 0 && gained >= t.n_blocks / GENIE_TRUNCATE_FRACTION;
}

/* The first free page, exclusively locked and pinned. */
static Buffer
genie_truncate_take(void *arg)
{
	GenieTruncation *t = arg;

	CHECK_FOR_INTERRUPTS();
	while (t->next < t->end && t->reachable[t->next] != 0)
		t->next++;
	if (t->next >= t->end)
		elog(ERROR, "no free page is left to move pages of index \"%s\" to", RelationGetRelationName(t->index));
	RecordUsedIndexPage(t->index, t->next);
	return ReadBufferExtended(t->index, MAIN_FORKNUM, t->next++, RBM_ZERO_AND_LOCK, NULL);
}

/* Copies a page as it is; returns where to. */
static BlockNumber
genie_truncate_move_page(GenieTruncation *t, BlockNumber from, GeniePageKind kind, uint64 stamp)
{
	PGAlignedBlock copy;
	Page		page = genie_page_copy(t->index, from, &copy);
	Buffer		buffer;
	BlockNumber to;
	GenieWal	wal;

	genie_page_verify(t->index, page, from);
	if (!genie_page_is(page, kind) || (kind == GENIE_PAGE_DATA && GeniePageGetOpaque(page)->stamp != stamp))
		genie_report_corrupt(t->index, from, "a page belongs to somebody else");
	buffer = genie_truncate_take(t);
	to = BufferGetBlockNumber(buffer);
	genie_wal_begin(&wal, t->index, false);
	memcpy(genie_wal_register(&wal, buffer, true), page, BLCKSZ);
	genie_wal_commit_release(&wal);
	GENIE_FAULT("truncate-page");
	return to;
}

/* Appends blocks to extents that have room for one more. */
static void
genie_truncate_add(GenieExtent *extents, uint32 *n, BlockNumber start, uint32 n_blocks)
{
	if (*n > 0 && extents[*n - 1].start + extents[*n - 1].n_blocks == start)
		extents[*n - 1].n_blocks += n_blocks;
	else
		extents[(*n)++] = (GenieExtent)
	{
		start, n_blocks
	};
}

/* The section's pages behind the end. */
static uint64
genie_truncate_behind(const GenieTruncation *t, const GenieSection *section)
{
	uint64		n = 0;

	for (uint32 i = 0; i < section->entry.n_extents; i++)
	{
		const GenieExtent *extent = &section->extents[i];

		if (extent->start + extent->n_blocks > t->end)
			n += extent->start + extent->n_blocks - Max(extent->start, t->end);
	}
	return n;
}

/* Moves the section's pages behind the end, and gives it other extents. */
static void
genie_truncate_move_section(GenieTruncation *t, GenieSection *section, uint64 stamp)
{
	uint64		n_behind = genie_truncate_behind(t, section);
	GenieExtent *extents;
	uint32		n = 0;

	if (n_behind == 0)
		return;
	extents = MemoryContextAllocHuge(CurrentMemoryContext,
									 sizeof(GenieExtent) * ((Size) section->entry.n_extents + n_behind));
	for (uint32 i = 0; i < section->entry.n_extents; i++)
	{
		BlockNumber start = section->extents[i].start;
		BlockNumber extent_end = start + section->extents[i].n_blocks;
		BlockNumber kept_end = Min(extent_end, t->end);

		if (start < kept_end)
			genie_truncate_add(extents, &n, start, kept_end - start);
		for (BlockNumber block = Max(start, kept_end); block < extent_end; block++)
			genie_truncate_add(extents, &n, genie_truncate_move_page(t, block, GENIE_PAGE_DATA, stamp), 1);
	}
	section->extents = extents;
	section->entry.n_extents = n;
}

/* Moves the segment's pages behind the end, writes another root, and changes the segment's entry. */
static void
genie_truncate_move_segment(GenieTruncation *t, GenieSegmentEntry *entry)
{
	GenieSegment *segment = genie_segment_open(t->index, entry);
	uint64		n_behind = 0;

	if (segment == NULL)
		genie_report_corrupt(t->index, entry->root, "not the segment's root");
	for (uint32 i = 0; i < segment->n_root_pages; i++)
		n_behind += segment->root_pages[i].start >= t->end;
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		n_behind += genie_truncate_behind(t, &segment->sections[kind]);
	if (n_behind == 0)
		return;
	for (int kind = 1; kind <= GENIE_SECTIONS; kind++)
		genie_truncate_move_section(t, &segment->sections[kind], entry->stamp);
	t->old_roots = t->old_roots == NULL ? palloc(sizeof(BlockNumber) * segment->n_root_pages) :
		repalloc(t->old_roots, sizeof(BlockNumber) * (t->n_old_roots + segment->n_root_pages));
	for (uint32 i = 0; i < segment->n_root_pages; i++)
		if (segment->root_pages[i].start < t->end)
			t->old_roots[t->n_old_roots++] = segment->root_pages[i].start;
	segment->entry.n_pages -= segment->n_root_pages;
	genie_segment_write_root(segment, false, genie_truncate_take, t);
	*entry = segment->entry;
	t->moved = true;
}

/* Makes the moved pages those of the index. */
static void
genie_truncate_flip(GenieTruncation *t)
{
	Buffer		buffer = genie_meta_lock(t->index);
	GenieWal	wal;
	GenieMetaData *meta;

	genie_wal_begin(&wal, t->index, false);
	meta = genie_meta_of(genie_wal_register(&wal, buffer, false));
	Assert(meta->segment_version == t->meta->segment_version);
	memcpy(meta->segments, t->meta->segments, sizeof(GenieSegmentEntry) * meta->n_segments);
	meta->learned = t->meta->learned;
	meta->retired_head = t->meta->retired_head;
	meta->segment_version++;
	genie_wal_commit_release(&wal);
	GENIE_FAULT("truncate-flipped");
}

bool
genie_truncate_step(Relation index)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie truncate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieTruncation t;
	bool		more = false;

	if (genie_truncate_survey(&t, index))
	{
		t.end = genie_truncate_plan(&t, GENIE_TRUNCATE_MOVES);
		more = t.end > genie_truncate_plan(&t, t.n_blocks);
		for (uint32 i = 0; i < t.meta->n_segments; i++)
			genie_truncate_move_segment(&t, &t.meta->segments[i]);
		if (t.meta->learned.stamp != 0)
			genie_truncate_move_segment(&t, &t.meta->learned);
		if (t.meta->retired_head != InvalidBlockNumber && t.meta->retired_head >= t.end)
		{
			t.meta->retired_head = genie_truncate_move_page(&t, t.meta->retired_head, GENIE_PAGE_RETIRED, 0);
			t.moved = true;
		}
		GENIE_FAULT("truncate-before-flip");
		if (t.moved)
			genie_truncate_flip(&t);
		if (t.n_old_roots > 0)
		{
			uint64		stamp = genie_meta_new_stamp(index, false);

			for (uint32 i = 0; i < t.n_old_roots; i++)
				genie_space_free_block(index, t.old_roots[i], stamp);
		}
		if (t.end < t.n_blocks)
			RelationTruncate(index, t.end);
		GENIE_FAULT("truncate-done");
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return more;
}

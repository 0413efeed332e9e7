/*
 * genie_compact.c
 *	  What is merged and when: pending rows, then segments of similar weight.
 *
 * Everything here runs under the exclusive merge lock.  The work of one step is written to
 * new pages and becomes visible by one flip; a crash or an error in between leaves pages that
 * VACUUM finds.
 *
 * Policy (tiered): a segment's level is log4 of its weight (postings + objects).  Where a level
 * has `fan_in` segments, they and all lighter ones become one segment.  So there are fewer than
 * fan_in segments a level, and a posting is rewritten at most once a level.  A segment that is
 * mostly dead is rewritten alone.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_builder.h"
#include "genie_fault.h"
#include "genie_merge.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_pending.h"
#include "genie_space.h"
#include "genie_spill.h"

#define GENIE_LEVEL_BASE 4096	/* weights below this are level 0 */
#define GENIE_LEVEL_FACTOR 4
#define GENIE_LEVELS 32			/* 4096 * 4^26 is past 2^64 */
#define GENIE_SEGMENTS_HIGH 80	/* from here on the lighter half is merged, whatever the policy */
#define GENIE_SEGMENT_MAX (UINT64CONST(1) << 31)	/* objects or keywords of a merged segment */
#define GENIE_PART_MIN (1024 * 1024)	/* bytes of pending rows that are merged at a time, at least */

/* A pending row in memory. */
typedef struct GeniePendingRow
{
	uint64		tid;
	uint32		sequence;		/* later rows replace earlier ones of the same TID */
	uint32		n;
	Size		at;				/* of its packed keywords */
	uint16		size;
	bool		is_null;
} GeniePendingRow;

typedef struct GeniePendingRows
{
	GeniePendingRow *rows;
	uint32		n;
	uint32		capacity;
	uint8	   *bytes;
	Size		used;
	Size		bytes_capacity;
	bool		open;			/* the row in hand goes on in the next fragment */
	bool		dead;			/* it is dead, perhaps by its first fragments only */
} GeniePendingRows;

static void
genie_rows_take(GeniePendingRows *rows, const GeniePendingFragment *fragment, const uint8 *packed)
{
	bool		first = !rows->open;
	GeniePendingRow *row;

	/* a VACUUM that was interrupted has marked a long row's fragments from the first on */
	rows->dead = (first ? false : rows->dead) || (fragment->flags & GENIE_FRAGMENT_DEAD) != 0;
	rows->open = (fragment->flags & GENIE_FRAGMENT_MORE) != 0;
	if (rows->dead)
		return;
	if (rows->used + fragment->nbytes > rows->bytes_capacity)
	{
		rows->bytes_capacity = Max(rows->bytes_capacity * 2, rows->used + fragment->nbytes);
		rows->bytes = repalloc_huge(rows->bytes, rows->bytes_capacity);
	}
	if (first)
	{
		if (rows->n == rows->capacity)
		{
			rows->capacity *= 2;
			rows->rows = repalloc_huge(rows->rows, (Size) rows->capacity * sizeof(GeniePendingRow));
		}
		row = &rows->rows[rows->n];
		row->tid = genie_tid_number(&fragment->tid);
		row->sequence = rows->n++;
		row->n = 0;
		row->at = rows->used;
		row->size = fragment->size;
		row->is_null = (fragment->flags & GENIE_FRAGMENT_NULL) != 0;
	}
	row = &rows->rows[rows->n - 1];
	memcpy(rows->bytes + rows->used, packed, fragment->nbytes);
	rows->used += fragment->nbytes;
	row->n += fragment->n;
}

static int
genie_pending_row_cmp(const void *a, const void *b)
{
	const GeniePendingRow *x = a;
	const GeniePendingRow *y = b;

	if (x->tid != y->tid)
		return x->tid > y->tid ? 1 : -1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Writes the builder's contents as a segment of the index. */
static GenieSegmentEntry
genie_compact_write_builder(Relation index, GenieBuilder *builder)
{
	GenieSegmentWriter *writer = genie_segment_begin(index, false, NULL);
	GenieRootHeader header;

	genie_builder_write(builder, writer, &header);
	return genie_segment_finish(writer, &header);
}

static void
genie_rows_init(GeniePendingRows *rows)
{
	memset(rows, 0, sizeof(*rows));
	rows->capacity = 1024;
	rows->rows = palloc(rows->capacity * sizeof(GeniePendingRow));
	rows->bytes_capacity = 64 * 1024;
	rows->bytes = palloc(rows->bytes_capacity);
}

/* Takes the rows of the page in hand. */
static void
genie_rows_take_page(GeniePendingRows *rows, GeniePendingScan *scan)
{
	GeniePendingFragment fragment;
	const uint8 *packed;

	while (genie_pending_next_fragment(scan, &fragment, &packed))
		genie_rows_take(rows, &fragment, packed);
}

/* The rows in a builder.  They were bounded when they were read, so it is not bounded again. */
static GenieBuilder *
genie_rows_build(GeniePendingRows *rows)
{
	GenieBuilder *builder = genie_builder_begin(MaxAllocHugeSize);

	qsort(rows->rows, rows->n, sizeof(GeniePendingRow), genie_pending_row_cmp);
	for (uint32 i = 0; i < rows->n; i++)
	{
		const GeniePendingRow *row = &rows->rows[i];

		if (i + 1 < rows->n && rows->rows[i + 1].tid == row->tid)
			continue;
		if (!genie_builder_add(builder, row->tid, row->is_null, rows->bytes + row->at, row->n,
							   row->size))
			elog(ERROR, "pending rows are not sorted");
		CHECK_FOR_INTERRUPTS();
	}
	return builder;
}

/* Makes a segment of the rows; false if there are none. */
static bool
genie_compact_rows(Relation index, GeniePendingRows *rows, GenieSegmentEntry *added)
{
	GenieBuilder *builder = genie_rows_build(rows);
	bool		any = genie_builder_objects(builder) > 0;

	if (any)
		*added = genie_compact_write_builder(index, builder);
	genie_builder_end(builder);
	return any;
}

bool
genie_merge_private(Relation index, const GenieMetaData *meta, GenieSegment **segment)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie pending rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GeniePendingScan *scan = palloc(sizeof(GeniePendingScan));
	GeniePendingRows rows;
	bool		stale;

	*segment = NULL;
	genie_rows_init(&rows);
	genie_pending_scan(scan, index, meta);
	while (genie_pending_next_page(scan))
		genie_rows_take_page(&rows, scan);
	stale = scan->stale;
	if (!stale && rows.n > 0)
	{
		GenieBuilder *builder = genie_rows_build(&rows);
		GenieSegmentWriter *writer;
		GenieRootHeader header;

		MemoryContextSwitchTo(old);
		writer = genie_segment_begin(index, true, palloc0(sizeof(GenieSpillPlace)));
		genie_builder_write(builder, writer, &header);
		*segment = genie_segment_finish_spilled(writer, &header);
		genie_builder_end(builder);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return !stale;
}

/*
 * Merges pages of the sealed list from the head on, as many as fit the memory, and takes them off
 * its number of pages.  True: there are more.
 */
static bool
genie_compact_pending_part(Relation index, GenieMetaData *sealed, Size memory)
{
	GeniePendingScan *scan = palloc(sizeof(GeniePendingScan));
	GeniePendingRows rows;
	GenieSegmentEntry added;
	GenieFlip	flip = {0};

	memory = Max(memory, GENIE_PART_MIN);
	genie_rows_init(&rows);
	genie_pending_scan(scan, index, sealed);
	while ((rows.open || rows.used + (Size) rows.n * sizeof(GeniePendingRow) < memory) &&
		   genie_pending_next_page(scan))
	{
		genie_rows_take_page(&rows, scan);
		flip.consumed_pages++;
		flip.consumed_last = scan->block;
	}
	if (scan->stale)
		genie_report_corrupt(index, scan->next, "the pending list is broken");
	if (flip.consumed_pages == 0)
		return false;
	flip.n_added = genie_compact_rows(index, &rows, &added) ? 1 : 0;
	flip.added = &added;
	GENIE_FAULT("merge-before-flip");
	genie_meta_flip(index, &flip, false);
	sealed->pending_pages -= flip.consumed_pages;
	return flip.consumed_last != sealed->pending_tail;
}

const GenieMergeEffort genie_merge_effort_insert = {4, 5};	/* up to about 4 M postings */
const GenieMergeEffort genie_merge_effort_full = {2, GENIE_LEVELS - 1};

static int
genie_compact_level(const GenieSegmentEntry *entry)
{
	uint64		weight = entry->n_postings + entry->n_objects;
	int			level = 0;

	while (weight >= GENIE_LEVEL_BASE)
	{
		weight /= GENIE_LEVEL_FACTOR;
		level++;
	}
	return level;
}

/* The segments to merge next, as positions in the list; returns how many, 0: nothing is due. */
static int
genie_compact_pick(const GenieMetaData *meta, const GenieMergeEffort *effort, int *picked)
{
	int			per_level[GENIE_LEVELS] = {0};
	int			level = -1;
	uint64		n_objects = 0;
	uint64		n_keywords = 0;
	int			n = 0;

	for (uint32 i = 0; i < meta->n_segments; i++)
		per_level[genie_compact_level(&meta->segments[i])]++;
	for (int i = 0; i <= effort->max_level; i++)
		if (per_level[i] >= effort->fan_in)
			level = i;
	if (level < 0 && meta->n_segments >= GENIE_SEGMENTS_HIGH)
		for (uint32 lighter = 0; lighter < meta->n_segments / 2;)
			lighter += per_level[++level];
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		const GenieSegmentEntry *entry = &meta->segments[i];

		if (genie_compact_level(entry) > level ||
			n_objects + entry->n_objects > GENIE_SEGMENT_MAX ||
			n_keywords + entry->n_keywords > GENIE_SEGMENT_MAX)
			continue;
		n_objects += entry->n_objects;
		n_keywords += entry->n_keywords;
		picked[n++] = i;
	}
	if (n > 1)
		return n;
	for (uint32 i = 0; i < meta->n_segments; i++)
		if (meta->segments[i].n_dead > meta->segments[i].n_objects / 2 &&
			genie_compact_level(&meta->segments[i]) <= effort->max_level)
		{
			picked[0] = i;
			return 1;
		}
	return 0;
}

/* Merges what the policy picks; false: nothing is due. */
static bool
genie_compact_segments(Relation index, const GenieMergeEffort *effort, void (*delay) (void))
{
	GenieMetaData *meta = genie_meta_read(index);
	int			picked[GENIE_SEGMENTS_MAX];
	GenieSegment *inputs[GENIE_SEGMENTS_MAX];
	uint64		removed[GENIE_SEGMENTS_MAX];
	int			n = genie_compact_pick(meta, effort, picked);
	GenieSegmentWriter *writer;
	GenieRootHeader header;
	GenieSegmentEntry added;
	GenieFlip	flip = {0};

	if (n == 0)
		return false;
	for (int i = 0; i < n; i++)
	{
		inputs[i] = genie_segment_open(index, &meta->segments[picked[i]]);
		if (inputs[i] == NULL)
			genie_report_corrupt(index, meta->segments[picked[i]].root, "not the segment's root");
		removed[i] = meta->segments[picked[i]].stamp;
	}
	writer = genie_segment_begin(index, false, NULL);
	genie_segment_set_delay(writer, delay);
	genie_merge_write(inputs, n, writer, &header);
	added = genie_segment_finish(writer, &header);
	flip.n_added = header.n_objects > 0 ? 1 : 0;
	flip.added = &added;
	flip.n_removed = n;
	flip.removed = removed;
	GENIE_FAULT("compact-before-flip");
	genie_meta_flip(index, &flip, false);
	return true;
}

void
genie_merge_index(Relation index, Size memory, const GenieMergeEffort *effort, void (*delay) (void))
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie merge index",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieMetaData *sealed;
	bool		more;

	genie_space_reclaim(index);
	sealed = genie_pending_seal(index);
	more = sealed->pending_tail != InvalidBlockNumber;
	while (more)
	{
		MemoryContext part = AllocSetContextCreate(context, "genie merge part",
												   ALLOCSET_DEFAULT_SIZES);
		GenieMetaData *meta = genie_meta_read(index);

		MemoryContextSwitchTo(part);
		if (meta->n_segments >= GENIE_SEGMENTS_HIGH)
			(void) genie_compact_segments(index, effort, delay);
		sealed->pending_head = meta->pending_head;
		more = genie_compact_pending_part(index, sealed, memory);
		MemoryContextSwitchTo(context);
		MemoryContextDelete(part);
		pfree(meta);
		if (delay != NULL)
			delay();
	}
	do
	{
		MemoryContextReset(context);
		if (delay != NULL)
			delay();
	} while (genie_compact_segments(index, effort, delay));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

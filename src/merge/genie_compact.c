/*
 * genie_compact.c
 *	  Which rows and segments are merged, and when: pending rows first, then segments of similar weight.
 *
 * Everything here but genie_compact_private() runs under the exclusive merge lock.  Each step writes its result to
 * new pages and makes it visible by one flip.  A crash or an error before the flip leaves pages that VACUUM finds.
 *
 * Each step begins with the pages that the steps before it have replaced, if no scan can be reading them
 * (genie_space_reclaim).  So the file grows by the largest merge, and not by all of them.
 *
 * Policy (tiered): a segment's level is log4 of its weight (postings + objects).  When a level
 * has `fan_in` segments, they and all lighter ones become one segment.  So there are fewer than
 * fan_in segments a level, and a posting is rewritten at most once a level.  A segment that is
 * mostly dead is rewritten alone, and one that is all dead goes first, without being read.
 *
 * Approximate operator classes (genie_signer.h).  The pending list of an untrained index is merged when it has
 * GENIE_TRAIN_MIN live raw rows.  The class trains on a sample of them that is spread evenly over the list.  With
 * fewer rows the list is left alone, because scans go through them all faster than training could make them; so it is
 * if the class finds that they tell too little, as equal rows do.  But a
 * list of GENIE_UNTRAINED_MAX rows, of which most are dead or NULL then, is merged even so, or it would grow forever;
 * the class trains on the few raw rows (if it refuses, the list stays).  The flip that takes the first rows off the
 * list writes the parameters.  A crash before it leaves an untrained index with all its rows.  A crash after it leaves
 * a trained index, and readers sign the raw rows that are left.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_builder.h"
#include "genie_compact.h"
#include "genie_draw.h"
#include "genie_fault.h"
#include "genie_flip.h"
#include "genie_learned.h"
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
#define GENIE_PART_MIN (1024 * 1024)	/* bytes of pending rows that are merged at a time, at least */

/* A pending row in memory. */
typedef struct GenieCompactRow
{
	uint64		tid;
	uint32		sequence;		/* later rows replace earlier ones of the same TID */
	uint32		n;
	Size		at;				/* of its packed keywords */
	uint16		size;
	uint8		flags;			/* GENIE_FRAGMENT_... */
} GenieCompactRow;

typedef struct GenieCompactRows
{
	GenieCompactRow *rows;
	uint32		n;
	uint32		capacity;
	uint8	   *bytes;
	Size		used;
	Size		bytes_capacity;
} GenieCompactRows;

static void
genie_compact_rows_init(GenieCompactRows *rows)
{
	memset(rows, 0, sizeof(*rows));
	rows->capacity = 1024;
	rows->rows = palloc(rows->capacity * sizeof(GenieCompactRow));
	rows->bytes_capacity = 64 * 1024;
	rows->bytes = palloc(rows->bytes_capacity);
}

/* Adds a row, if it is alive. */
static void
genie_compact_rows_add(GenieCompactRows *rows, const GeniePendingRow *pending)
{
	GenieCompactRow *row;

	if ((pending->flags & GENIE_FRAGMENT_DEAD) != 0)
		return;
	if (rows->used + pending->nbytes > rows->bytes_capacity)
	{
		rows->bytes_capacity = Max(rows->bytes_capacity * 2, rows->used + pending->nbytes);
		rows->bytes = repalloc_huge(rows->bytes, rows->bytes_capacity);
	}
	if (rows->n == rows->capacity)
	{
		rows->capacity *= 2;
		rows->rows = repalloc_huge(rows->rows, (Size) rows->capacity * sizeof(GenieCompactRow));
	}
	row = &rows->rows[rows->n];
	row->tid = pending->tid;
	row->sequence = rows->n++;
	row->n = pending->n;
	row->at = rows->used;
	row->size = pending->size;
	row->flags = pending->flags;
	memcpy(rows->bytes + rows->used, pending->packed, pending->nbytes);
	rows->used += pending->nbytes;
}

static int
genie_compact_row_cmp(const void *a, const void *b)
{
	const GenieCompactRow *x = a;
	const GenieCompactRow *y = b;

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

/* The raw keywords of a row. */
static GenieRaw
genie_compact_rows_raw(const GenieCompactRows *rows, const GenieCompactRow *row)
{
	GenieRaw	raw = {.bytes = rows->bytes + row->at, .n = row->n, .size = row->size};

	return raw;
}

/*
 * Puts the rows into a builder; raw ones are signed by the parameters, or, of a coarse class without any, as they are.
 * The builder needs no limit, because the rows were limited when they were read.
 */
static GenieBuilder *
genie_compact_rows_build(GenieCompactRows *rows, GenieSigner *signer, const bytea *parameters)
{
	GenieValueShape shape = signer == NULL ? (GenieValueShape) {0} : signer->shape(signer, parameters);
	GenieBuilder *builder = genie_builder_begin(MaxAllocHugeSize, shape);

	qsort(rows->rows, rows->n, sizeof(GenieCompactRow), genie_compact_row_cmp);
	for (uint32 i = 0; i < rows->n; i++)
	{
		const GenieCompactRow *row = &rows->rows[i];
		GenieSignature signature = {.bytes = rows->bytes + row->at, .n = row->n, .size = row->size};
		const void *value = NULL;

		if (i + 1 < rows->n && rows->rows[i + 1].tid == row->tid)
			continue;
		if ((row->flags & GENIE_FRAGMENT_RAW) != 0)
		{
			GenieRaw	raw = genie_compact_rows_raw(rows, row);

			if (signer == NULL || (parameters == NULL && !signer->is_coarse))
				elog(ERROR, "a raw row has nothing to be signed by");
			if (parameters != NULL)
				signature = signer->sign(signer, parameters, &raw);
			if (shape.metric != 0)
				value = signer->value(signer, parameters, &raw);
		}
		if (!genie_builder_add(builder, row->tid, (row->flags & GENIE_FRAGMENT_NULL) != 0, signature.bytes,
							   signature.n, signature.size, value))
			elog(ERROR, "pending rows are not sorted");
		CHECK_FOR_INTERRUPTS();
	}
	return builder;
}

/* Makes a segment of the rows; false if there are none. */
static bool
genie_compact_rows(Relation index, GenieCompactRows *rows, GenieSigner *signer, const bytea *parameters,
				   GenieSegmentEntry *added)
{
	GenieBuilder *builder = genie_compact_rows_build(rows, signer, parameters);
	bool		any = genie_builder_objects(builder) > 0;

	if (any)
		*added = genie_compact_write_builder(index, builder);
	genie_builder_end(builder);
	return any;
}

bool
genie_compact_private(Relation index, const GenieMetaData *meta, GenieSigner *signer, GenieSegment **segment)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie pending rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GeniePendingScan *scan = genie_pending_scan_begin(index, meta);
	GeniePendingRow row;
	GenieCompactRows rows;
	bool		stale;

	*segment = NULL;
	genie_compact_rows_init(&rows);
	while (genie_pending_next_row(scan, &row))
		genie_compact_rows_add(&rows, &row);
	stale = scan->stale;
	if (!stale && rows.n > 0)
	{
		GenieBuilder *builder = genie_compact_rows_build(&rows, signer, genie_learned_parameters(index, meta));
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

/* Counts of the rows in an untrained index's pending list. */
typedef struct GenieUntrained
{
	uint64		n_rows;			/* dead and NULL ones, too */
	uint64		n_raw;			/* raw and alive */
} GenieUntrained;

/*
 * Counts a list's rows.  If rows is not NULL, takes one in each `each` live raw rows, until they fill the memory and
 * are enough to train on.
 */
static GenieUntrained
genie_compact_survey(Relation index, const GenieMetaData *sealed, uint32 each, Size memory, GenieCompactRows *rows)
{
	GeniePendingScan *scan = genie_pending_scan_begin(index, sealed);
	GeniePendingRow row;
	GenieUntrained counts = {0};

	while (genie_pending_next_row(scan, &row))
	{
		counts.n_rows++;
		if ((row.flags & (GENIE_FRAGMENT_RAW | GENIE_FRAGMENT_DEAD)) != GENIE_FRAGMENT_RAW)
			continue;
		if (rows != NULL && genie_draw_takes(counts.n_raw, each) && (rows->used < memory || rows->n < GENIE_TRAIN_MIN))
			genie_compact_rows_add(rows, &row);
		counts.n_raw++;
	}
	if (scan->stale)
		genie_report_corrupt(index, scan->next, "the pending list is broken");
	genie_pending_scan_end(scan);
	return counts;
}

/*
 * May the list of an untrained index be merged?  If so, *parameters is what the class has learned from it, in the
 * current memory context; NULL if there is no raw row.
 */
static bool
genie_compact_train(Relation index, const GenieMetaData *meta, Size memory, GenieSigner *signer, bytea **parameters)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie training", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieUntrained counts = genie_compact_survey(index, meta, 1, 0, NULL);
	GenieCompactRows rows;
	GenieRaw   *objects;

	if (counts.n_raw >= GENIE_TRAIN_MIN || (counts.n_raw > 0 && counts.n_rows >= GENIE_UNTRAINED_MAX))
	{
		genie_compact_rows_init(&rows);
		(void) genie_compact_survey(index, meta, (uint32) ((counts.n_raw + GENIE_TRAIN_ROWS - 1) / GENIE_TRAIN_ROWS),
									memory, &rows);
		objects = palloc(rows.n * sizeof(GenieRaw));
		for (uint32 i = 0; i < rows.n; i++)
			objects[i] = genie_compact_rows_raw(&rows, &rows.rows[i]);
		MemoryContextSwitchTo(old);
		*parameters = signer->train(signer, objects, rows.n, counts.n_rows < GENIE_UNTRAINED_MAX);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return counts.n_raw == 0 || *parameters != NULL;
}

/*
 * Seals the list and returns a copy of the metapage, or NULL if the list is not to be merged.  *parameters sign raw
 * rows: the index's own, or those that it gets with the first flip.
 */
static GenieMetaData *
genie_compact_begin(Relation index, Size memory, GenieSigner *signer, bytea **parameters)
{
	GenieMetaData *meta = genie_meta_read(index);
	bool		untrained = signer != NULL && meta->parameters_length == 0;

	*parameters = genie_learned_parameters(index, meta);
	if (meta->pending_tail == InvalidBlockNumber ||
		(untrained && !genie_compact_train(index, meta, memory, signer, parameters)))
		return NULL;
	meta = genie_pending_seal(index);
	/* a raw row may have come after the survey that found none */
	if (untrained && *parameters == NULL && genie_compact_survey(index, meta, 1, 0, NULL).n_raw > 0)
		return NULL;
	return meta;
}

/*
 * Merges as many pages of the sealed list, from its head on, as fit the memory, and subtracts them from
 * sealed->pending_pages.  The parameters sign raw rows; the index gets them if it has none yet.  True: there are more
 * pages.
 */
static bool
genie_compact_pending_part(Relation index, GenieMetaData *sealed, Size memory, GenieSigner *signer,
						   const bytea *parameters)
{
	GeniePendingScan *scan = genie_pending_scan_begin(index, sealed);
	GeniePendingRow row;
	GenieCompactRows rows;
	GenieSegmentEntry added;
	GenieFlip	flip = {0};

	memory = Max(memory, GENIE_PART_MIN);
	genie_compact_rows_init(&rows);
	while (genie_pending_next_row(scan, &row))
	{
		genie_compact_rows_add(&rows, &row);
		if (genie_pending_page_done(scan) && rows.used + (Size) rows.n * sizeof(GenieCompactRow) >= memory)
			break;
	}
	if (scan->stale)
		genie_report_corrupt(index, scan->next, "the pending list is broken");
	flip.consumed_pages = sealed->pending_pages - scan->left;
	if (flip.consumed_pages == 0)
		return false;
	flip.consumed_last = scan->block;
	flip.n_added = genie_compact_rows(index, &rows, signer, parameters, &added) ? 1 : 0;
	flip.added = &added;
	if (parameters != NULL && sealed->parameters_length == 0)
	{
		genie_learned_first(index, parameters, false, &flip);
		sealed->parameters_length = flip.parameters_length;
	}
	GENIE_FAULT("merge-before-flip");
	genie_flip_apply(index, &flip, false);
	sealed->pending_pages -= flip.consumed_pages;
	return flip.consumed_last != sealed->pending_tail;
}

const GenieCompactEffort genie_compact_effort_insert = {4, 5};	/* up to about 4 M postings */
const GenieCompactEffort genie_compact_effort_full = {2, GENIE_LEVELS - 1};

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
genie_compact_pick(const GenieMetaData *meta, const GenieCompactEffort *effort, int *picked)
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

/*
 * Removes the segments without a living object.  It writes no new page, as long as the list of retired pages has room:
 * on a full disk, that is how room is made.
 */
static void
genie_compact_dead(Relation index)
{
	GenieMetaData *meta = genie_meta_read(index);
	uint64		removed[GENIE_SEGMENTS_MAX];
	GenieFlip	flip = {0};

	flip.removed = removed;
	for (uint32 i = 0; i < meta->n_segments; i++)
		if (meta->segments[i].n_dead == meta->segments[i].n_objects)
			removed[flip.n_removed++] = meta->segments[i].stamp;
	if (flip.n_removed > 0)
		genie_flip_apply(index, &flip, false);
	pfree(meta);
}

/* Merges what the policy picks; false: nothing is due. */
static bool
genie_compact_segments(Relation index, const GenieCompactEffort *effort, GenieSigner *signer, void (*delay) (void))
{
	GenieMetaData *meta = genie_meta_read(index);
	GenieValueShape shape = {0};
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
		inputs[i]->verify = true;
		removed[i] = meta->segments[picked[i]].stamp;
	}
	writer = genie_segment_begin(index, false, NULL);
	genie_segment_set_delay(writer, delay);
	if (signer != NULL)
		shape = signer->shape(signer, genie_learned_parameters(index, meta));
	genie_merge_write(inputs, n, shape.metric != 0, writer, &header);
	added = genie_segment_finish(writer, &header);
	flip.n_added = header.n_objects > 0 ? 1 : 0;
	flip.added = &added;
	flip.n_removed = n;
	flip.removed = removed;
	GENIE_FAULT("compact-before-flip");
	genie_flip_apply(index, &flip, false);
	return true;
}

void
genie_compact_index(Relation index, Size memory, const GenieCompactEffort *effort, GenieSigner *signer,
					void (*delay) (void))
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie merge index",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieMetaData *sealed;
	bytea	   *parameters;
	bool		more;

	genie_compact_dead(index);
	genie_space_reclaim(index);
	sealed = genie_compact_begin(index, memory, signer, &parameters);
	more = sealed != NULL;
	while (more)
	{
		MemoryContext part = AllocSetContextCreate(context, "genie merge part",
												   ALLOCSET_DEFAULT_SIZES);
		GenieMetaData *meta = genie_meta_read(index);

		MemoryContextSwitchTo(part);
		if (meta->n_segments >= GENIE_SEGMENTS_HIGH)
			(void) genie_compact_segments(index, effort, signer, delay);
		sealed->pending_head = meta->pending_head;
		more = genie_compact_pending_part(index, sealed, memory, signer, parameters);
		MemoryContextSwitchTo(context);
		MemoryContextDelete(part);
		pfree(meta);
		genie_space_reclaim(index);
		if (delay != NULL)
			delay();
	}
	do
	{
		MemoryContextReset(context);
		genie_space_reclaim(index);
		if (delay != NULL)
			delay();
	} while (genie_compact_segments(index, effort, signer, delay));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

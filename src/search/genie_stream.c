/*
 * genie_stream.c
 *	  One segment's objects in scan order.
 *
 * Modes, each entered from the one before:
 *
 *	TOP		asks for the best GENIE_FIRST_K, or as many as the scan wants at once, then for GENIE_K_GROWTH times as
 *			many behind the last one, up to GENIE_TOP_LIMIT.  Then, or when nothing more matches, comes
 *	LEVELS	counts every object once and goes through the levels from the cursor's down to 0
 *			(a counting sort that is never written out): each level that occurs is a sweep over the counts;
 *	NULLS	live NULL rows, where the scan has no condition.
 *
 * A ranking by bounds (genie_bound.h) has no LEVELS: its pages also have the objects without a match, at their place.
 * It may have thousands of keys, so after TOP comes
 *
 *	SORTED	counts every object once, looks up the keys by count and size, and sorts the objects by counting;
 *			then NULLS.
 *
 * A ranking by values (genie_value_scan.h) goes on with pages: behind GENIE_TOP_LIMIT comes one of all that is left.
 * Where its candidates come from a graph, the first page is the last one, and there are no NULL rows.
 * Where a segment of an approximate class has no values, nothing is known of its objects: they are a level of their
 * own, above all others.
 *
 * A search by distances that must look at most of the objects takes many at once: genie_stream_sweep() enters SORTED,
 * too, and gives the objects up to a position.
 *
 * The first pages of all streams of a scan are asked for together.  The bits of qualifying objects are read only when
 * a sweep begins: pages of the best are masked where they are counted.
 *
 * Without an ordering query the stream starts in LEVELS at level 0 with all counts 0.
 *
 * Cursors are (key, object).  Objects are numbered in TID order, so a position (key, tid) of the whole scan becomes a
 * cursor of the segment by finding how many of its TIDs are not above tid.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_meta.h"
#include "genie_stream.h"
#include "genie_values.h"

#define GENIE_FIRST_K	128		/* what a LIMIT of 100 needs at once */
#define GENIE_K_GROWTH	8
#define GENIE_TOP_LIMIT 65536	/* rows a page; beyond it all counts are taken */
#define GENIE_STREAM_SPARSE 256 /* of so many objects less than one: these are sorted by comparing them */
#define GENIE_FIRST_PLACED 16	/* hits of a first page whose TIDs are read at once: what a LIMIT of 10 needs */

/* How many objects of the segment have a TID of at most tid.  False: stale. */
static bool
genie_stream_find_tid(GenieStream *stream, uint64 tid, uint32 *n)
{
	uint32		low = 0;
	uint32		high = stream->segment->header.n_objects;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		const GenieTileObjects *tile = genie_object_table_tile(&stream->objects,
															   middle >> GENIE_TILE_SHIFT);
		bool		is_null;

		if (tile == NULL)
			return false;
		if (genie_object_table_tid(tile, middle & (GENIE_TILE_OBJECTS - 1), &is_null) <= tid)
			low = middle + 1;
		else
			high = middle;
	}
	*n = low;
	return true;
}

/* Sets an exact head for an object.  False: stale. */
static bool
genie_stream_show(GenieStream *stream, int32 key, uint32 object)
{
	const GenieTileObjects *tile = genie_object_table_tile(&stream->objects, object >> GENIE_TILE_SHIFT);
	bool		is_null;

	if (tile == NULL)
		return false;
	stream->tid = genie_object_table_tid(tile, object & (GENIE_TILE_OBJECTS - 1), &is_null);
	stream->key = key;
	stream->nearest = 0;
	stream->exact = true;
	return true;
}

#define ST_SORT genie_stream_sort_hits
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) ((*(a) > *(b)) - (*(a) < *(b)))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Reads the TIDs of the page's next hits: of a first page, of a few and then of as many as before, because a scan may
 * have a small LIMIT, else of all.  Hits are spread over the segment, so each tile is gone through once.  False: stale.
 */
static bool
genie_stream_place_hits(GenieStream *stream)
{
	uint32		first = stream->n_placed;
	uint32		n = stream->n_hits - first;
	uint64	   *order;
	uint32	   *objects;
	uint64	   *tids;
	bool		ok;

	if (first == 0)
		stream->tids = MemoryContextAllocHuge(stream->context, stream->n_hits * sizeof(uint64));
	if (stream->k == GENIE_FIRST_K)
		n = Min(n, Max(first, GENIE_FIRST_PLACED));
	order = palloc_extended(n * sizeof(uint64), MCXT_ALLOC_HUGE);
	objects = palloc_extended(n * sizeof(uint32), MCXT_ALLOC_HUGE);
	tids = palloc_extended(n * sizeof(uint64), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < n; i++)
		order[i] = (uint64) stream->hits[first + i].object << 32 | i;
	genie_stream_sort_hits(order, n);
	for (uint32 i = 0; i < n; i++)
		objects[i] = (uint32) (order[i] >> 32);
	ok = genie_object_table_tids(&stream->objects, objects, n, tids);
	for (uint32 i = 0; ok && i < n; i++)
		stream->tids[first + (uint32) order[i]] = tids[i];
	stream->n_placed = first + n;
	pfree(order);
	pfree(objects);
	pfree(tids);
	return ok;
}

/* Sets the next hit as the head.  False: stale. */
static bool
genie_stream_show_hit(GenieStream *stream)
{
	if (stream->hit == stream->n_placed && !genie_stream_place_hits(stream))
		return false;
	stream->tid = stream->tids[stream->hit];
	stream->key = (int32) stream->hits[stream->hit].key;
	stream->nearest = stream->bounds != NULL ? stream->bounds[stream->hit] : 0;
	stream->exact = true;
	return true;
}

/* Nothing above this comes any more. */
static void
genie_stream_bound(GenieStream *stream, int32 key)
{
	stream->key = key;
	stream->tid = 0;
	stream->exact = false;
}

static void
genie_stream_start_nulls(GenieStream *stream, uint32 first)
{
	stream->mode = stream->wants_nulls ? GENIE_STREAM_NULLS : GENIE_STREAM_END;
	stream->at_end = !stream->wants_nulls;
	stream->next = first;
	genie_stream_bound(stream, GENIE_KEY_NULL);
}

/* Do the candidates come from a graph of the segment? */
static bool
by_graph(const GenieStream *stream)
{
	return stream->query->graph.queue > 0 && stream->source->graph_why == GENIE_FALLBACK_NONE;
}

/* Moves the fresh stream behind the position. */
static bool
genie_stream_place(GenieStream *stream, const GenieScanPosition *position)
{
	uint32		n;

	if (!genie_stream_find_tid(stream, position->tid, &n))
		return false;
	if (position->key == GENIE_KEY_NULL)
	{
		genie_stream_start_nulls(stream, n);
		return true;
	}
	if (stream->mode == GENIE_STREAM_LEVELS)
	{
		/* all counts are 0 */
		if (position->key == 0)
			stream->next = n;
		return true;
	}
	stream->has_after = true;
	stream->after.key = (uint32) position->key;
	stream->after.object = n - 1;
	if (n == 0)
	{
		/* all of the position's key are still to come */
		stream->after.key++;
		stream->after.object = PG_UINT32_MAX;
	}
	genie_stream_bound(stream, Min(stream->key, position->key));
	return true;
}

bool
genie_stream_open(GenieStream *stream, GenieSource *source, const GenieScanQuery *query,
				  const GenieScanPosition *position)
{
	memset(stream, 0, sizeof(*stream));
	stream->context = CurrentMemoryContext;
	stream->source = source;
	stream->segment = source->segment;
	stream->query = query;
	genie_object_table_reader(&stream->objects, stream->segment, true);
	for (int i = 0; i < query->n_conditions; i++)
	{
		const GenieScanCondition *condition = &query->conditions[i];

		if (condition->n == 1 ? !genie_source_add_condition(source, condition->queries[0]) :
			!genie_source_add_union(source, condition->queries, condition->n))
			return false;
	}

	/* NULL fulfils no condition; a NULL query gives every row the same value, NULL */
	stream->null_query = query->order == NULL && !query->excludes_nulls;
	stream->null_query &= query->values == NULL;
	stream->wants_nulls = (query->order != NULL || query->values != NULL) && !query->excludes_nulls &&
		query->graph.queue == 0 && stream->segment->header.n_nulls > 0;

	if (query->order != NULL)
	{
		stream->search = genie_segment_query_open(source, query->order);
		if (stream->search == NULL)
			return false;
		if (query->bound != NULL)
		{
			stream->bound = query->bound;
			genie_segment_query_rank_by(stream->search, &query->bound->table);
		}
		else if (!genie_segment_query_matches(stream->search))
			stream->search = NULL;	/* all counts are 0 */
	}
	stream->mode = stream->search != NULL || query->values != NULL ? GENIE_STREAM_TOP : GENIE_STREAM_LEVELS;
	if (query->values != NULL && genie_values_missing(stream->segment))
	{
		Assert(!position->has_position);
		stream->mode = GENIE_STREAM_LEVELS;
		stream->level = GENIE_VALUE_KEY_MAX;
		genie_stream_bound(stream, GENIE_VALUE_KEY_MAX);
		return true;
	}
	if (query->values != NULL && genie_values_shape(stream->segment).metric == 0)
	{
		/* all objects are NULL */
		genie_stream_start_nulls(stream, 0);
		return !position->has_position || position->key != GENIE_KEY_NULL || genie_stream_place(stream, position);
	}
	stream->k = by_graph(stream) ? genie_quantizer_graph_hits(&query->graph, stream->source) :
		Min(Max(query->first_k, GENIE_FIRST_K), GENIE_TOP_LIMIT);
	if (query->values != NULL)
		genie_stream_bound(stream, GENIE_VALUE_KEY_MAX);
	else if (stream->bound != NULL)
		genie_stream_bound(stream, (int32) stream->bound->n_bounds);
	else
		genie_stream_bound(stream, stream->search == NULL ? 0 :
						   (int32) genie_segment_query_max_count(stream->search));
	return !position->has_position || genie_stream_place(stream, position);
}

/* Prepares the request for the page of k behind the cursor. */
static void
genie_stream_ask(GenieStream *stream, GenieSegmentTop *top)
{
	stream->hits = MemoryContextAllocHuge(stream->context, stream->k * sizeof(GenieHit));
	memset(top, 0, sizeof(*top));
	top->source = stream->source;
	top->query = stream->search;
	if (stream->query->values != NULL)
	{
		top->values = stream->query->values->query;
		top->graph_queue = stream->query->graph.queue;
	}
	top->k = stream->k;
	top->has_after = stream->has_after;
	top->after = stream->after;
	top->hits = stream->hits;
	if (stream->query->quantizer != NULL && stream->source->values_why == GENIE_FALLBACK_NONE)
	{
		stream->bounds = MemoryContextAlloc(stream->context, stream->k * sizeof(float));
		top->vector = &stream->query->vector;
		top->n_elements = stream->query->n_elements;
		top->bounds = stream->bounds;
	}
}

/* Takes the page. */
static void
genie_stream_take(GenieStream *stream, const GenieSegmentTop *top)
{
	stream->n_hits = top->n_hits;
	stream->hit = stream->n_placed = 0;
	if (stream->bounds != NULL && !top->has_bounds)
	{
		pfree(stream->bounds);
		stream->bounds = NULL;
	}
	if (stream->n_hits > 0)
	{
		stream->has_after = true;
		stream->after = stream->hits[stream->n_hits - 1];
		genie_stream_bound(stream, (int32) stream->hits[0].key);
	}
}

bool
genie_stream_first_pages(GenieStream *streams, int n)
{
	GenieSegmentTop *tops = palloc((n + 1) * sizeof(GenieSegmentTop));
	GenieStream **of = palloc((n + 1) * sizeof(GenieStream *));
	uint32		n_tops = 0;
	bool		ok;

	for (int i = 0; i < n; i++)
	{
		if (streams[i].at_end || streams[i].mode != GENIE_STREAM_TOP)
			continue;
		genie_stream_ask(&streams[i], &tops[n_tops]);
		of[n_tops++] = &streams[i];
	}
	ok = genie_segment_query_tops(tops, n_tops);
	for (uint32 i = 0; ok && i < n_tops; i++)
		genie_stream_take(of[i], &tops[i]);
	pfree(tops);
	pfree(of);
	return ok;
}

/* Switches to the sweep behind the cursor; what is not counted yet is counted when it is needed. */
static void
genie_stream_start_levels(GenieStream *stream)
{
	stream->mode = GENIE_STREAM_LEVELS;
	stream->level = genie_segment_query_max_count(stream->search);
	stream->lower = 0;
	stream->next = 0;
	if (stream->has_after && stream->after.key <= stream->level)
	{
		stream->level = stream->after.key;
		stream->next = stream->after.object == PG_UINT32_MAX ? stream->segment->header.n_objects :
			stream->after.object + 1;
		/* this sweep leaves out the first objects, so it cannot tell which level is the next */
		stream->lower = stream->level > 0 ? stream->level - 1 : 0;
	}
}

static void
genie_stream_drop_page(GenieStream *stream)
{
	pfree(stream->hits);
	if (stream->n_placed > 0)
		pfree(stream->tids);
	if (stream->bounds != NULL)
		pfree(stream->bounds);
	stream->bounds = NULL;
	stream->hits = NULL;
	stream->hit = stream->n_hits = stream->n_placed = 0;
}

/* TOP: the next hit, or the next page, or the next mode. */
static bool
genie_stream_settle_top(GenieStream *stream)
{
	GenieSegmentTop top;

	if (stream->hit < stream->n_hits)
		return genie_stream_show_hit(stream);

	if (stream->hits != NULL && by_graph(stream))
	{
		genie_stream_start_nulls(stream, 0);
		return true;
	}

	/* a page that was not full was the last: only count 0 is left */
	if (stream->hits != NULL && stream->n_hits < stream->k)
	{
		if (stream->bound != NULL || stream->query->values != NULL)
		{
			genie_stream_start_nulls(stream, 0);
			return true;
		}
		stream->mode = GENIE_STREAM_LEVELS;
		stream->level = 0;
		stream->next = 0;
		if (stream->has_after && stream->after.key == 0)
			stream->next = stream->after.object + 1;
		genie_stream_bound(stream, 0);
		return true;
	}
	if (stream->hits != NULL)
	{
		stream->k *= GENIE_K_GROWTH;
		genie_stream_drop_page(stream);
	}
	if (stream->k > GENIE_TOP_LIMIT && stream->query->values != NULL)
		stream->k = Max(stream->segment->header.n_objects, GENIE_TOP_LIMIT + 1);
	else if (stream->k > GENIE_TOP_LIMIT)
	{
		if (stream->bound != NULL)
			stream->mode = GENIE_STREAM_SORTED;
		else
			genie_stream_start_levels(stream);
		return true;
	}

	genie_stream_ask(stream, &top);
	if (!genie_segment_query_tops(&top, 1))
		return false;
	genie_stream_take(stream, &top);
	return true;
}

/* The next object from `from` on whose bit is set, or n.  words NULL: all bits are. */
static uint32
genie_next_bit(const uint64 *words, uint32 from, uint32 n)
{
	if (words == NULL)
		return from;
	while (from < n)
	{
		uint64		word = words[from / 64] >> (from % 64);

		if (word != 0)
			return from + pg_rightmost_one_pos64(word);
		from = (from / 64 + 1) * 64;
	}
	return n;
}

/* Reads which objects the sweep goes over.  False: stale. */
static bool
genie_stream_read_live(GenieStream *stream)
{
	uint64	   *live;

	if (!stream->null_query)
	{
		if (!genie_source_qualified(stream->source, &stream->live))
			return false;
	}
	else if (!genie_source_live(stream->source, &live))
		return false;
	else
		stream->live = live;
	stream->has_live = true;
	return true;
}

/* All counts, whole tiles, in the stream's context.  False: stale. */
static bool
genie_stream_count(GenieStream *stream)
{
	Size		bytes = (Size) genie_object_table_tiles(stream->segment) * GENIE_TILE_OBJECTS * sizeof(uint16);

	stream->counts = MemoryContextAllocHuge(stream->context, bytes);
	return genie_segment_query_counts(stream->search, stream->counts);
}

/* LEVELS: the next live object of the level, or a lower level, or the NULL rows. */
static bool
genie_stream_settle_levels(GenieStream *stream)
{
	uint32		n = stream->segment->header.n_objects;

	if (!stream->has_live && !genie_stream_read_live(stream))
		return false;
	if (stream->search != NULL && stream->counts == NULL && !genie_stream_count(stream))
		return false;
	for (;;)
	{
		while (stream->next < n)
		{
			uint32		object = genie_next_bit(stream->live, stream->next, n);

			stream->next = object;
			if (object >= n)
				break;
			if (stream->counts == NULL || stream->counts[object] == stream->level)
				return genie_stream_show(stream, (int32) stream->level, object);
			if (stream->counts[object] < stream->level)
				stream->lower = Max(stream->lower, stream->counts[object]);
			stream->next++;
		}
		CHECK_FOR_INTERRUPTS();
		if (stream->level == 0 || stream->counts == NULL)
		{
			genie_stream_start_nulls(stream, 0);
			return true;
		}
		stream->level = stream->lower;
		stream->lower = 0;
		stream->next = 0;
	}
}

/* Reading all keys, tile by tile. */
typedef struct GenieStreamKeys
{
	GenieSectionReader sizes_reader;
	uint32		sizes[GENIE_TILE_OBJECTS];
	uint32		keys[GENIE_TILE_OBJECTS];	/* of the tile in hand; 0: not wanted, or not behind the cursor */
	uint32		first;			/* object of the tile */
	uint32		n;				/* objects of the tile */
} GenieStreamKeys;

/* Reads what qualifies, and counts all objects, if that is not done.  Palloc'd; NULL: stale. */
static GenieStreamKeys *
genie_stream_begin_keys(GenieStream *stream)
{
	GenieStreamKeys *keys;

	if (!stream->has_live && !genie_stream_read_live(stream))
		return NULL;
	if (!genie_stream_count(stream))
		return NULL;
	keys = palloc(sizeof(GenieStreamKeys));
	genie_section_reader(&keys->sizes_reader, stream->segment, GENIE_SECTION_SIZES);
	return keys;
}

/* Goes on with a tile.  False: stale. */
static bool
genie_stream_tile_keys(const GenieStream *stream, uint32 tile, GenieStreamKeys *to)
{
	const GenieKeyTable *table = &stream->bound->table;
	uint32		first = tile << GENIE_TILE_SHIFT;
	uint32		n = Min(stream->segment->header.n_objects - first, GENIE_TILE_OBJECTS);
	const uint16 *counts = stream->counts + first;
	const uint64 *live = stream->live == NULL ? NULL : stream->live + (Size) tile * GENIE_TILE_WORDS;

	CHECK_FOR_INTERRUPTS();
	to->first = first;
	to->n = n;
	if (!genie_object_table_sizes(&to->sizes_reader, first, n, to->sizes))
		return false;
	memset(to->keys, 0, n * sizeof(uint32));
	for (uint32 i = genie_next_bit(live, 0, n); i < n; i = genie_next_bit(live, i + 1, n))
	{
		uint32		size = to->sizes[i];
		uint32		key;

		if (size - table->first_size >= table->n_sizes || counts[i] >= table->stride)
			genie_report_corrupt(stream->segment->index, stream->segment->entry.root,
								 "an object's size is out of range");
		key = genie_bound_key(stream->bound, size, counts[i]);
		if (!stream->has_after || key < stream->after.key ||
			(key == stream->after.key && first + i > stream->after.object))
			to->keys[i] = key;
	}
	return true;
}

/* SORTED: counts the objects of each key, then puts each object into its place.  False: stale. */
static bool
genie_stream_sort(GenieStream *stream)
{
	uint32		n_tiles = genie_object_table_tiles(stream->segment);
	uint32		n_keys = stream->bound->n_bounds;
	uint32	   *ends = MemoryContextAllocZero(stream->context, (n_keys + 1) * sizeof(uint32));
	GenieStreamKeys *tile_keys = genie_stream_begin_keys(stream);
	bool		ok = tile_keys != NULL;

	stream->n_sorted = 0;
	for (int pass = 0; ok && pass < 2; pass++)
	{
		for (uint32 tile = 0; ok && tile < n_tiles; tile++)
		{
			ok = genie_stream_tile_keys(stream, tile, tile_keys);
			for (uint32 i = 0; ok && i < tile_keys->n; i++)
			{
				uint32		key = tile_keys->keys[i];

				if (key == 0)
					continue;
				if (pass == 0)
					stream->n_sorted++;
				else
					stream->sorted[ends[key]] = tile_keys->first + i;
				ends[key]++;
			}
		}
		if (pass == 0)
		{
			uint32		begin = 0;

			for (uint32 key = n_keys; key > 0; key--)
			{
				uint32		n = ends[key];

				ends[key] = begin;
				begin += n;
			}
			stream->sorted = MemoryContextAllocHuge(stream->context, ((Size) stream->n_sorted + 1) * sizeof(uint32));
		}
	}
	if (!ok)
		return false;
	stream->ends = ends;
	stream->level = n_keys;
	stream->next = 0;
	pfree(stream->counts);
	stream->counts = NULL;
	pfree(tile_keys);
	return true;
}

/* SORTED: the next object, or the NULL rows. */
static bool
genie_stream_settle_sorted(GenieStream *stream)
{
	if (stream->sorted == NULL && !genie_stream_sort(stream))
		return false;
	if (stream->next == stream->n_sorted)
	{
		genie_stream_start_nulls(stream, 0);
		return true;
	}
	while (stream->next >= stream->ends[stream->level])
		stream->level--;
	return genie_stream_show(stream, (int32) stream->level, stream->sorted[stream->next]);
}

void
genie_stream_reserve_tids(GenieStreamTids *found, Size n)
{
	if (found->capacity - found->n >= n)
		return;
	found->capacity = Max(found->n + n, 2 * found->capacity);
	found->tids = found->n == 0 ? palloc_extended(found->capacity * sizeof(uint64), MCXT_ALLOC_HUGE) :
		repalloc_huge(found->tids, found->capacity * sizeof(uint64));
}

#define ST_SORT genie_stream_sort_objects
#define ST_ELEMENT_TYPE uint32
#define ST_COMPARE(a, b) ((*(a) > *(b)) - (*(a) < *(b)))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sorts n of n_objects different objects: a large share of them through bits, which takes a step for each. */
static void
genie_stream_order_objects(uint32 *objects, uint32 n, uint32 n_objects)
{
	uint64	   *bits;
	uint32		object = 0;

	if (n < n_objects / GENIE_STREAM_SPARSE)
	{
		genie_stream_sort_objects(objects, n);
		return;
	}
	bits = palloc0(((Size) n_objects / 64 + 1) * sizeof(uint64));
	for (uint32 i = 0; i < n; i++)
		bits[objects[i] / 64] |= UINT64CONST(1) << (objects[i] % 64);
	for (uint32 i = 0; i < n; i++, object++)
		objects[i] = object = genie_next_bit(bits, object, n_objects);
	pfree(bits);
}

/* The TIDs of the next objects of those sorted, up to one, in TID order.  False: stale. */
static bool
genie_stream_take_sorted(GenieStream *stream, uint32 end, GenieStreamTids *found)
{
	uint32	   *objects = stream->sorted + stream->next;
	uint32		n = end - stream->next;
	bool		ok;

	genie_stream_order_objects(objects, n, stream->segment->header.n_objects);
	genie_stream_reserve_tids(found, n);
	ok = genie_object_table_tids(&stream->objects, objects, n, found->tids + found->n);
	found->n += n;
	stream->next = end;
	return ok;
}

bool
genie_stream_sweep(GenieStream *stream, const GenieScanPosition *from, const GenieScanPosition *to,
				   GenieStreamTids *found)
{
	uint32		low;
	uint32		high;
	uint32		n_before;

	if (stream->at_end || stream->key < to->key)
		return true;
	if (stream->mode == GENIE_STREAM_TOP)
	{
		if (stream->hits != NULL)
			genie_stream_drop_page(stream);
		stream->mode = GENIE_STREAM_SORTED;
		stream->has_after = false;
		if (from->has_position && !genie_stream_place(stream, from))
			return false;
	}
	if ((stream->sorted == NULL && !genie_stream_sort(stream)) || !genie_stream_find_tid(stream, to->tid, &n_before))
		return false;
	high = stream->ends[to->key];
	low = to->key == (int32) stream->bound->n_bounds ? 0 : stream->ends[to->key + 1];
	low = Max(low, stream->next);
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (stream->sorted[middle] < n_before)
			low = middle + 1;
		else
			high = middle;
	}
	genie_stream_bound(stream, to->key);
	return genie_stream_take_sorted(stream, low, found);
}

bool
genie_stream_settle(GenieStream *stream)
{
	Assert(!stream->exact && !stream->at_end);
	switch (stream->mode)
	{
		case GENIE_STREAM_TOP:
			return genie_stream_settle_top(stream);
		case GENIE_STREAM_LEVELS:
			return genie_stream_settle_levels(stream);
		case GENIE_STREAM_SORTED:
			return genie_stream_settle_sorted(stream);
		case GENIE_STREAM_NULLS:
			if (stream->nulls == NULL && !genie_source_nulls(stream->source, &stream->nulls))
				return false;
			stream->next = genie_next_bit(stream->nulls, stream->next,
										  stream->segment->header.n_objects);
			if (stream->next < stream->segment->header.n_objects)
				return genie_stream_show(stream, GENIE_KEY_NULL, stream->next);
			stream->mode = GENIE_STREAM_END;
			break;
		case GENIE_STREAM_END:
			break;
	}
	stream->at_end = true;
	return true;
}

void
genie_stream_next(GenieStream *stream)
{
	Assert(stream->exact && !stream->at_end);
	stream->exact = false;
	if (stream->mode != GENIE_STREAM_TOP)
		stream->next++;
	else if (++stream->hit < stream->n_hits &&
			 stream->hits[stream->hit].key < (uint32) stream->key)
		genie_stream_bound(stream, (int32) stream->hits[stream->hit].key);

	/* else the old head is the bound: nothing ranks above it any more */
}

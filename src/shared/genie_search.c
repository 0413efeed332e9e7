/*
 * genie_search.c
 *	  The in-process path: lists from pages, tiles in memory, the CPU engine.
 *
 * Compiling a query against a segment looks its intervals up in the dictionary: a point gives
 * one list, a range a run of consecutive ones.  Ranks become GenieRankRanges.
 *
 * Loose lists (few postings) are decoded at once, thrown together and sorted: a tile's part of
 * them is one RAW list, placed first under the first rank of the query (only this query ever sees
 * the tiles, so the rank only has to be one of its own).  Tiled lists keep a position; a group of
 * tiles takes from each list the records that fall into it.
 *
 * The engine is the process's own: one, opened on first use, kept for the life of the process.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_dictionary.h"
#include "genie_engine_cpu.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_search.h"
#include "genie_tombstone.h"

#define GENIE_GROUP_TILES 16	/* at most; 2 MB of counts */

/* A list that is cut into tiles, and where the pass stands in it. */
typedef struct GenieTiledList
{
	uint32		rank;
	uint64		at;				/* its first record, in the section POSTINGS */
	uint64		length;			/* bytes of its records */
	const uint8 *bytes;			/* all of them, if resident */
	uint64		done;			/* bytes consumed in this pass */
	int64		last_tile;
	int64		next_tile;		/* of the record at `done`, if a group left it; else -1 */
} GenieTiledList;

struct GenieSearch
{
	GenieSegment *segment;
	uint32		n_tiles;
	uint64		n_postings;
	uint32		max_count;
	GenieRankRange *ranges;
	uint32		n_ranges;
	uint32		ranges_capacity;
	GenieTiledList *tiled;
	uint32		n_tiled;
	uint32		tiled_capacity;
	uint64		tiled_bytes;
	uint32	   *loose;			/* objects, list after list */
	Size		n_loose;
	Size		loose_capacity;
	uint16	   *loose_locals;	/* the same as locals, tile after tile */
	Size	   *loose_start;	/* where each tile's begin; n_tiles + 1 */
	bool		resident;
	uint32		group_tiles;
	MemoryContext group_context;
	GenieSectionReader postings;
};

static GenieEngine *process_engine = NULL;

static GenieEngine *
genie_search_engine(void)
{
	if (process_engine == NULL)
	{
		char	   *memory = MemoryContextAllocHuge(TopMemoryContext, genie_cpu_engine_size() + 64);

		process_engine = genie_cpu_engine_open((void *) TYPEALIGN(64, memory));
	}
	return process_engine;
}

static void
genie_search_corrupt(const GenieSearch *search)
{
	genie_report_corrupt(search->segment->index, search->segment->entry.root, "malformed posting list");
}

/* Turns an engine's status into an error where it is one. */
static void
genie_search_check(const GenieSearch *search, GenieStatus status)
{
	if (status == GENIE_STATUS_CORRUPT)
		genie_search_corrupt(search);
	if (status != GENIE_OK)
		elog(ERROR, "the CPU engine failed with status %d", (int) status);
}

/* ---- compiling ---- */

static void
genie_search_add_rank(GenieSearch *search, uint32 rank)
{
	if (search->n_ranges > 0 && search->ranges[search->n_ranges - 1].end == rank)
	{
		search->ranges[search->n_ranges - 1].end++;
		return;
	}
	if (search->n_ranges == search->ranges_capacity)
	{
		search->ranges_capacity *= 2;
		search->ranges = repalloc_huge(search->ranges,
									   (Size) search->ranges_capacity * sizeof(GenieRankRange));
	}
	search->ranges[search->n_ranges].first = rank;
	search->ranges[search->n_ranges++].end = rank + 1;
}

/* Decodes a loose list into the common pool. */
static bool
genie_search_add_loose(GenieSearch *search, const GenieDictionaryCursor *cursor)
{
	uint8		bytes[1 + GENIE_LOOSE_MAX * 5];

	if (cursor->list_bytes < 2 || cursor->list_bytes > sizeof(bytes))
		genie_search_corrupt(search);
	if (!genie_section_read(&search->postings, cursor->list_at, cursor->list_bytes, bytes))
		return false;
	if (search->n_loose + cursor->n_postings > search->loose_capacity)
	{
		search->loose_capacity = search->loose_capacity * 2 + GENIE_LOOSE_MAX;
		search->loose = repalloc_huge(search->loose, search->loose_capacity * sizeof(uint32));
	}
	if (bytes[0] != GENIE_LIST_LOOSE ||
		!genie_loose_decode(bytes + 1, cursor->list_bytes - 1, cursor->n_postings,
							search->loose + search->n_loose))
		genie_search_corrupt(search);
	search->n_loose += cursor->n_postings;
	return true;
}

/* Takes the keyword that the cursor is on.  False: stale. */
static bool
genie_search_add_list(GenieSearch *search, const GenieDictionaryCursor *cursor)
{
	GenieTiledList *list;

	genie_search_add_rank(search, cursor->rank);
	search->n_postings += cursor->n_postings;
	if (cursor->n_postings <= GENIE_LOOSE_MAX)
		return genie_search_add_loose(search, cursor);

	if (search->n_tiled == search->tiled_capacity)
	{
		search->tiled_capacity *= 2;
		search->tiled = repalloc_huge(search->tiled,
									  (Size) search->tiled_capacity * sizeof(GenieTiledList));
	}
	list = &search->tiled[search->n_tiled++];
	memset(list, 0, sizeof(*list));
	list->rank = cursor->rank;
	list->at = cursor->list_at + 1;
	list->length = cursor->list_bytes - 1;
	search->tiled_bytes += list->length;
	return true;
}

/* All keywords of one interval. */
static bool
genie_search_add_interval(GenieSearch *search, GenieDictionaryCursor *cursor,
						  const GenieInterval *interval)
{
	if (!genie_dictionary_seek(cursor, interval->lo, interval->lo_after))
		return false;
	while (cursor->valid &&
		   genie_cut_cmp(cursor->key, false, interval->hi, interval->hi_after) < 0)
	{
		if (!genie_search_add_list(search, cursor) || !genie_dictionary_next(cursor))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Reads tiled lists into memory, if they fit. */
static bool
genie_search_make_resident(GenieSearch *search, Size *memory)
{
	uint8	   *to;

	search->resident = search->tiled_bytes <= *memory;
	if (!search->resident || search->n_tiled == 0)
		return true;
	*memory -= search->tiled_bytes;
	to = MemoryContextAllocHuge(CurrentMemoryContext, search->tiled_bytes);
	for (uint32 i = 0; i < search->n_tiled; i++)
	{
		GenieTiledList *list = &search->tiled[i];

		if (!genie_section_read(&search->postings, list->at, list->length, to))
			return false;
		list->bytes = to;
		to += list->length;
	}
	return true;
}

/* Deals the loose postings out to their tiles. */
static void
genie_search_deal_loose(GenieSearch *search)
{
	Size	   *next;

	search->loose_start = palloc0((search->n_tiles + 1) * sizeof(Size));
	search->loose_locals = MemoryContextAllocHuge(CurrentMemoryContext,
												  (search->n_loose + 1) * sizeof(uint16));
	for (Size i = 0; i < search->n_loose; i++)
	{
		if (search->loose[i] >= search->segment->header.n_objects)
			genie_search_corrupt(search);
		search->loose_start[(search->loose[i] >> GENIE_TILE_SHIFT) + 1]++;
	}
	for (uint32 tile = 0; tile < search->n_tiles; tile++)
		search->loose_start[tile + 1] += search->loose_start[tile];
	next = palloc(search->n_tiles * sizeof(Size) + 1);
	memcpy(next, search->loose_start, search->n_tiles * sizeof(Size));
	for (Size i = 0; i < search->n_loose; i++)
		search->loose_locals[next[search->loose[i] >> GENIE_TILE_SHIFT]++] =
			(uint16) (search->loose[i] & (GENIE_TILE_OBJECTS - 1));
	pfree(next);
	pfree(search->loose);
	search->loose = NULL;
}

GenieSearch *
genie_search_open(GenieSegment *segment, const GenieQueryView *query, Size *memory)
{
	GenieSearch *search = palloc0(sizeof(GenieSearch));
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	uint64		n_lists;
	uint64		per_tile;

	search->segment = segment;
	search->n_tiles = genie_object_tiles(segment);
	search->ranges_capacity = 16;
	search->ranges = palloc(search->ranges_capacity * sizeof(GenieRankRange));
	search->tiled_capacity = 16;
	search->tiled = palloc(search->tiled_capacity * sizeof(GenieTiledList));
	search->loose_capacity = GENIE_LOOSE_MAX;
	search->loose = palloc(search->loose_capacity * sizeof(uint32));
	genie_section_reader(&search->postings, segment, GENIE_SECTION_POSTINGS);
	genie_dictionary_cursor(cursor, segment);

	for (uint32 i = 0; i < query->n_intervals; i++)
		if (!genie_search_add_interval(search, cursor, &query->intervals[i]))
			return NULL;
	pfree(cursor);
	if (!genie_search_make_resident(search, memory))
		return NULL;

	genie_search_deal_loose(search);

	n_lists = 0;
	for (uint32 i = 0; i < search->n_ranges; i++)
		n_lists += search->ranges[i].end - search->ranges[i].first;
	search->max_count = (uint32) Max(Min(n_lists, segment->header.max_keywords), 1);

	per_tile = (search->resident ? 0 : search->tiled_bytes / Max(search->n_tiles, 1)) +
		(uint64) (search->n_tiled + 1) * sizeof(GenieListRef);
	search->group_tiles = (uint32) Min(Max(*memory / per_tile, 1), GENIE_GROUP_TILES);
	search->group_context = AllocSetContextCreate(CurrentMemoryContext, "genie tiles",
												  ALLOCSET_DEFAULT_SIZES);
	return search;
}

uint64
genie_search_postings(const GenieSearch *search)
{
	return search->n_postings;
}

uint32
genie_search_max_count(const GenieSearch *search)
{
	return search->max_count;
}

/* ---- groups of tiles ---- */

/* A group of tiles with the lists' parts in them. */
typedef struct GenieGroup
{
	GenieGroupView view;
	GenieTileView tiles[GENIE_GROUP_TILES];
	GenieListRef *refs[GENIE_GROUP_TILES];
} GenieGroup;

static void
genie_search_rewind(GenieSearch *search)
{
	for (uint32 i = 0; i < search->n_tiled; i++)
	{
		search->tiled[i].done = 0;
		search->tiled[i].last_tile = -1;
		search->tiled[i].next_tile = -1;
	}
}

/*
 * The record at the list's position: its tile and reference.  *header_len is the header's
 * length; the payload is not read yet where the list is not resident.
 */
static bool
genie_search_header(GenieSearch *search, GenieTiledList *list, uint32 *tile, GenieListRef *ref,
					size_t *header_len)
{
	uint8		bytes[GENIE_TILE_HEADER_MAX];
	uint64		left = list->length - list->done;
	const uint8 *at;
	const uint8 *end;

	if (list->bytes != NULL)
	{
		at = list->bytes + list->done;
		end = list->bytes + list->length;
	}
	else
	{
		Size		n = Min(left, sizeof(bytes));

		if (!genie_section_read(&search->postings, list->at + list->done, n, bytes))
			return false;
		at = bytes;
		end = bytes + n;
	}
	if (!genie_tile_header(at, end, list->last_tile, tile, ref, header_len) ||
		ref->nbytes > left - *header_len || *tile >= search->n_tiles)
		genie_search_corrupt(search);
	ref->rank = list->rank;
	return true;
}

/* Adds a list's records of tiles below end to the group. */
static bool
genie_search_take_records(GenieSearch *search, GenieTiledList *list, uint32 first, uint32 end,
						  GenieGroup *group)
{
	while (list->done < list->length && list->next_tile < (int64) end)
	{
		GenieListRef ref;
		uint32		tile;
		size_t		header_len;
		GenieTileView *view;

		if (!genie_search_header(search, list, &tile, &ref, &header_len))
			return false;
		if (tile >= end)
		{
			list->next_tile = tile;
			break;
		}
		if (list->bytes != NULL)
			ref.data = list->bytes + list->done + header_len;
		else
		{
			uint8	   *payload = palloc(ref.nbytes + 8);

			if (!genie_section_read(&search->postings, list->at + list->done + header_len, ref.nbytes,
									payload))
				return false;
			ref.data = payload;
		}
		view = &group->tiles[tile - first];
		group->refs[tile - first][view->n_lists++] = ref;
		list->done += header_len + ref.nbytes;
		list->last_tile = tile;
		list->next_tile = -1;
	}
	return true;
}

/* Fills the group with the tiles [first, end).  In group_context.  False: stale. */
static bool
genie_search_fill_group(GenieSearch *search, uint32 first, uint32 end, const uint64 *live,
						GenieGroup *group)
{
	for (uint32 tile = first; tile < end; tile++)
	{
		GenieTileView *view = &group->tiles[tile - first];
		GenieListRef *refs = MemoryContextAllocHuge(CurrentMemoryContext,
													((Size) search->n_tiled + 1) * sizeof(GenieListRef));
		uint64		base = (uint64) tile << GENIE_TILE_SHIFT;
		Size		from = search->loose_start[tile];
		Size		to = search->loose_start[tile + 1];

		group->refs[tile - first] = refs;
		view->tile = tile;
		view->n_objects = (uint32) Min(search->segment->header.n_objects - base, GENIE_TILE_OBJECTS);
		view->lists = refs;
		view->n_lists = 0;
		view->live = live == NULL ? NULL : live + (Size) tile * GENIE_TILE_WORDS;
		view->sizes = NULL;
		if (to > from)
		{
			refs->rank = search->ranges[0].first;
			refs->codec = GENIE_CODEC_RAW;
			refs->n = (uint32) (to - from);
			refs->data = (const uint8 *) (search->loose_locals + from);
			refs->nbytes = refs->n * sizeof(uint16);
			view->n_lists = 1;
		}
	}
	for (uint32 i = 0; i < search->n_tiled; i++)
		if (!genie_search_take_records(search, &search->tiled[i], first, end, group))
			return false;
	group->view.n_tiles = end - first;
	group->view.tiles = group->tiles;
	return true;
}

static void
genie_search_engine_query(const GenieSearch *search, GenieEngineQuery *query)
{
	query->n_ranges = search->n_ranges;
	query->ranges = search->ranges;
	query->max_count = search->max_count;
	query->keys = NULL;
}

bool
genie_search_top(GenieSearch *search, const uint64 *live, uint32 k, uint32 min_count,
				 const GenieHit *after, GenieHit *hits, uint32 *n)
{
	GenieEngine *engine = genie_search_engine();
	GenieEngineQuery query;
	GenieTopK	top;
	GenieTopK  *tops[1] = {&top};
	GenieGroup	group;

	*n = 0;
	if (search->n_postings == 0)
		return true;
	genie_search_engine_query(search, &query);
	genie_topk_init(&top, hits, k, min_count, after);
	genie_search_rewind(search);
	for (uint32 first = 0; first < search->n_tiles; first += search->group_tiles)
	{
		uint32		end = Min(first + search->group_tiles, search->n_tiles);
		MemoryContext old = MemoryContextSwitchTo(search->group_context);
		bool		ok = genie_search_fill_group(search, first, end, live, &group);

		MemoryContextSwitchTo(old);
		if (!ok)
			return false;
		genie_search_check(search, genie_cpu_search(engine, &group.view, 1, &query, tops));
		MemoryContextReset(search->group_context);
		CHECK_FOR_INTERRUPTS();
	}
	*n = genie_topk_finish(&top);
	return true;
}

/* Counts the tiles [first, end) into counts. */
static bool
genie_search_count_group(GenieSearch *search, uint32 first, uint32 end, uint16 *counts)
{
	GenieEngine *engine = genie_search_engine();
	GenieEngineQuery query;
	GenieGroup	group;
	MemoryContext old = MemoryContextSwitchTo(search->group_context);
	bool		ok = genie_search_fill_group(search, first, end, NULL, &group);

	MemoryContextSwitchTo(old);
	if (!ok)
		return false;
	genie_search_engine_query(search, &query);
	genie_search_check(search, genie_cpu_count(engine, &group.view, 1, &query, &counts));
	MemoryContextReset(search->group_context);
	CHECK_FOR_INTERRUPTS();
	return true;
}

bool
genie_search_counts(GenieSearch *search, uint16 *counts)
{
	genie_search_rewind(search);
	if (search->n_postings == 0)
	{
		memset(counts, 0, (Size) search->n_tiles * GENIE_TILE_OBJECTS * sizeof(uint16));
		return true;
	}
	for (uint32 first = 0; first < search->n_tiles; first += search->group_tiles)
		if (!genie_search_count_group(search, first,
									  Min(first + search->group_tiles, search->n_tiles),
									  counts + (Size) first * GENIE_TILE_OBJECTS))
			return false;
	return true;
}

bool
genie_search_filter(GenieSearch *search, uint32 min_count, uint64 *live)
{
	uint16	   *counts;

	if (min_count == 0)
		return true;
	if (search->n_postings == 0 || min_count > search->max_count)
	{
		memset(live, 0, (Size) search->n_tiles * GENIE_TILE_WORDS * sizeof(uint64));
		return true;
	}
	counts = palloc((Size) search->group_tiles * GENIE_TILE_OBJECTS * sizeof(uint16));
	genie_search_rewind(search);
	for (uint32 first = 0; first < search->n_tiles; first += search->group_tiles)
	{
		uint32		end = Min(first + search->group_tiles, search->n_tiles);
		uint64	   *words = live + (Size) first * GENIE_TILE_WORDS;
		uint32		n_words = (end - first) * GENIE_TILE_WORDS;

		if (!genie_search_count_group(search, first, end, counts))
			return false;
		for (uint32 i = 0; i < n_words; i++)
		{
			uint64		word = 0;

			if (words[i] == 0)
				continue;
			for (uint32 bit = 0; bit < 64; bit++)
				word |= (uint64) (counts[i * 64 + bit] >= min_count) << bit;
			words[i] &= word;
		}
	}
	pfree(counts);
	return true;
}

/* Moves the bits of NULL objects from live to nulls.  False: stale. */
static bool
genie_search_split_nulls(GenieSegment *segment, uint64 *live, uint64 *nulls)
{
	GenieObjectReader *objects = palloc(sizeof(GenieObjectReader));
	bool		ok = true;

	genie_object_reader(objects, segment, false);
	for (uint32 t = 0; ok && t < objects->n_tiles; t++)
	{
		const GenieTileObjects *tile = genie_object_tile(objects, t);

		CHECK_FOR_INTERRUPTS();
		ok = tile != NULL;
		for (uint32 r = 0; ok && r < tile->n_runs; r++)
		{
			uint32		end = r + 1 < tile->n_runs ? tile->runs[r + 1].start : tile->n_objects;

			for (uint32 i = tile->runs[r].start; tile->runs[r].is_null && i < end; i++)
			{
				Size		word = (Size) t * GENIE_TILE_WORDS + i / 64;
				uint64		bit = UINT64CONST(1) << (i % 64);

				nulls[word] |= live[word] & bit;
				live[word] &= ~bit;
			}
		}
	}
	pfree(objects);
	return ok;
}

bool
genie_search_live(GenieSegment *segment, bool always, uint64 **live, uint64 **nulls)
{
	uint32		n_objects = segment->header.n_objects;
	Size		bytes = (Size) genie_object_tiles(segment) * GENIE_TILE_WORDS * sizeof(uint64);
	uint64	   *words;
	uint64	   *null_words;

	*live = NULL;
	if (nulls != NULL)
		*nulls = NULL;
	if (!always && segment->entry.n_dead == 0 && segment->header.n_nulls == 0)
		return true;

	*live = words = MemoryContextAllocExtended(CurrentMemoryContext, bytes,
											   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (segment->entry.n_dead > 0)
	{
		GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));

		genie_section_reader(reader, segment, GENIE_SECTION_TOMBSTONES);
		if (!genie_tombstone_read(reader, 0, n_objects, words))
			return false;
		pfree(reader);
	}
	for (uint32 i = 0; i < n_objects / 64; i++)
		words[i] = ~words[i];
	if (n_objects % 64 != 0)
		words[n_objects / 64] = ~words[n_objects / 64] & ((UINT64CONST(1) << (n_objects % 64)) - 1);
	if (segment->header.n_nulls == 0)
		return true;

	null_words = MemoryContextAllocExtended(CurrentMemoryContext, bytes,
											MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (!genie_search_split_nulls(segment, words, null_words))
		return false;
	if (nulls != NULL)
		*nulls = null_words;
	return true;
}

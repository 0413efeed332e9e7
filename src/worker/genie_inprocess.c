/*
 * genie_inprocess.c
 *	  Counting in the backend itself: lists from pages, tiles in memory, the CPU engine.
 *
 * Every answer can be given this way, with nothing in shared memory: where genie is not preloaded, where the worker is
 * away, and where an image does not fit.  One query reads its own lists; many queries are jobs on an image of the
 * whole segment in the backend's memory (genie_image_load.h).
 *
 * Loose lists (few postings) are decoded when they are read, put together and dealt out to tiles: a tile's part of
 * them is one RAW list, placed first under the first rank of the query (only this query ever sees
 * the tiles, so the rank only has to be one of its own).  Tiled lists keep a position; a group of
 * tiles takes from each list the records that fall into it.
 *
 * Memory.  If the lists together fit the memory that the scan can spare, they are read once and kept; else they are
 * read again, a group of tiles at a time, on every call.  The same goes for the sizes of all objects, where keys rank:
 * for a short query these are most of the bytes that are read.
 *
 * The engine is the process's own: one, opened on first use, kept for the life of the process.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_dictionary.h"
#include "genie_engine_cpu.h"
#include "genie_inprocess.h"
#include "genie_meta.h"
#include "genie_object_table.h"

#define GENIE_GROUP_TILES 16	/* at most; 2 MB of counts */
#define GENIE_SIZES_AT_ONCE 4096	/* objects; a multiple of 8 */

/* jobs on an image at a time: more gain nothing, and their hits take memory */
#define GENIE_RUN_JOBS 512
#define GENIE_RUN_BYTES ((Size) 16 << 20)

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

struct GenieInprocess
{
	GenieSegment *segment;
	const GenieEngineQuery *query;
	uint32		n_tiles;
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
	GenieSectionReader sizes;	/* for key tables */
	uint8	  **sizes_of_tile;	/* those read so far, NULL: not yet; NULL: they are not kept */
	MemoryContext context;		/* of all this */
};

static GenieEngine *process_engine = NULL;

static GenieEngine *
genie_inprocess_engine(void)
{
	if (process_engine == NULL)
	{
		char	   *memory = MemoryContextAllocHuge(TopMemoryContext, genie_cpu_engine_size() + 64);

		process_engine = genie_cpu_engine_open((void *) TYPEALIGN(64, memory));
	}
	return process_engine;
}

static void
genie_inprocess_corrupt(const GenieInprocess *search)
{
	genie_report_corrupt(search->segment->index, search->segment->entry.root, "malformed posting list");
}

/* Turns an engine's status into an error where it is one. */
static void
genie_inprocess_check(const GenieInprocess *search, GenieStatus status)
{
	if (status == GENIE_STATUS_CORRUPT)
		genie_inprocess_corrupt(search);
	if (status != GENIE_OK)
		elog(ERROR, "the CPU engine failed with status %d", (int) status);
}

/* ---- reading lists ---- */

/* Decodes a loose list into the common pool. */
static bool
genie_inprocess_add_loose(GenieInprocess *search, const GenieDictionaryCursor *cursor)
{
	uint8		bytes[1 + GENIE_LOOSE_MAX * 5];

	if (cursor->list_bytes < 2 || cursor->list_bytes > sizeof(bytes))
		genie_inprocess_corrupt(search);
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
		genie_inprocess_corrupt(search);
	search->n_loose += cursor->n_postings;
	return true;
}

/* Takes the keyword that the cursor is on.  False: stale. */
static bool
genie_inprocess_add_list(GenieInprocess *search, const GenieDictionaryCursor *cursor)
{
	GenieTiledList *list;

	if (cursor->n_postings <= GENIE_LOOSE_MAX)
		return genie_inprocess_add_loose(search, cursor);

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
genie_inprocess_add_interval(GenieInprocess *search, GenieDictionaryCursor *cursor,
							 const GenieInterval *interval)
{
	if (!genie_dictionary_seek(cursor, interval->lo, interval->lo_after))
		return false;
	while (cursor->valid &&
		   genie_cut_cmp(cursor->key, false, interval->hi, interval->hi_after) < 0)
	{
		if (!genie_inprocess_add_list(search, cursor) || !genie_dictionary_next(cursor))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Reads tiled lists into memory, if they fit. */
static bool
genie_inprocess_make_resident(GenieInprocess *search, Size *memory)
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
genie_inprocess_deal_loose(GenieInprocess *search)
{
	Size	   *next;

	search->loose_start = palloc0((search->n_tiles + 1) * sizeof(Size));
	search->loose_locals = MemoryContextAllocHuge(CurrentMemoryContext,
												  (search->n_loose + 1) * sizeof(uint16));
	for (Size i = 0; i < search->n_loose; i++)
	{
		if (search->loose[i] >= search->segment->header.n_objects)
			genie_inprocess_corrupt(search);
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

/* Sizes are given in one byte each, if that is enough. */
static uint32
genie_inprocess_size_width(const GenieInprocess *search)
{
	const GenieRootHeader *header = &search->segment->header;

	return header->max_size - header->min_size <= PG_UINT8_MAX ? sizeof(uint8) : sizeof(uint16);
}

/* Has sizes kept when they are read, if they fit. */
static void
genie_inprocess_keep_sizes(GenieInprocess *search, Size *memory)
{
	Size		nbytes = (Size) search->segment->header.n_objects * genie_inprocess_size_width(search);

	if (nbytes > *memory)
		return;
	*memory -= nbytes;
	search->sizes_of_tile = palloc0(search->n_tiles * sizeof(uint8 *) + 1);
}

GenieInprocess *
genie_inprocess_open(GenieSegment *segment, const GenieQueryView *view, const GenieEngineQuery *query,
					 Size *memory)
{
	GenieInprocess *search = palloc0(sizeof(GenieInprocess));
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	uint64		per_tile;

	search->context = CurrentMemoryContext;
	search->segment = segment;
	search->query = query;
	search->n_tiles = genie_object_table_tiles(segment);
	search->tiled_capacity = 16;
	search->tiled = palloc(search->tiled_capacity * sizeof(GenieTiledList));
	search->loose_capacity = GENIE_LOOSE_MAX;
	search->loose = palloc(search->loose_capacity * sizeof(uint32));
	genie_section_reader(&search->postings, segment, GENIE_SECTION_POSTINGS);
	genie_section_reader(&search->sizes, segment, GENIE_SECTION_SIZES);
	genie_dictionary_cursor(cursor, segment);

	for (uint32 i = 0; i < view->n_intervals; i++)
		if (!genie_inprocess_add_interval(search, cursor, &view->intervals[i]))
			return NULL;
	pfree(cursor);
	if (!genie_inprocess_make_resident(search, memory))
		return NULL;

	genie_inprocess_deal_loose(search);
	if (query->keys != NULL)
		genie_inprocess_keep_sizes(search, memory);

	per_tile = (search->resident ? 0 : search->tiled_bytes / Max(search->n_tiles, 1)) +
		(uint64) (search->n_tiled + 1) * sizeof(GenieListRef);
	search->group_tiles = (uint32) Min(Max(*memory / per_tile, 1), GENIE_GROUP_TILES);
	search->group_context = AllocSetContextCreate(CurrentMemoryContext, "genie tiles",
												  ALLOCSET_DEFAULT_SIZES);
	return search;
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
genie_inprocess_rewind(GenieInprocess *search)
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
genie_inprocess_header(GenieInprocess *search, GenieTiledList *list, uint32 *tile, GenieListRef *ref,
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
		genie_inprocess_corrupt(search);
	ref->rank = list->rank;
	return true;
}

/* Adds a list's records of tiles below end to the group. */
static bool
genie_inprocess_take_records(GenieInprocess *search, GenieTiledList *list, uint32 first, uint32 end,
							 GenieGroup *group)
{
	while (list->done < list->length && list->next_tile < (int64) end)
	{
		GenieListRef ref;
		uint32		tile;
		size_t		header_len;
		GenieTileView *view;

		if (!genie_inprocess_header(search, list, &tile, &ref, &header_len))
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

/* Reads the sizes of the tile's objects, less the smallest of the segment.  False: stale. */
static bool
genie_inprocess_read_sizes(GenieInprocess *search, const GenieTileView *view, void *above)
{
	uint32		first = view->tile << GENIE_TILE_SHIFT;
	uint32		sizes[GENIE_SIZES_AT_ONCE];
	uint16	   *wide = above;

	if (view->sizes.width == sizeof(uint8))
		return genie_object_table_sizes_above(&search->sizes, first, view->n_objects, above);
	for (uint32 done = 0; done < view->n_objects; done += GENIE_SIZES_AT_ONCE)
	{
		uint32		n = Min(view->n_objects - done, GENIE_SIZES_AT_ONCE);

		if (!genie_object_table_sizes(&search->sizes, first + done, n, sizes))
			return false;
		for (uint32 i = 0; i < n; i++)
			wide[done + i] = (uint16) (sizes[i] - view->sizes.smallest);
	}
	return true;
}

/* Gives the tile the sizes of its objects, in one byte each if that is enough.  False: stale. */
static bool
genie_inprocess_sizes(GenieInprocess *search, GenieTileView *view)
{
	const GenieRootHeader *header = &search->segment->header;
	uint8	  **kept = search->sizes_of_tile == NULL ? NULL : &search->sizes_of_tile[view->tile];
	void	   *above;

	view->sizes.smallest = header->min_size;
	view->sizes.largest = header->max_size;
	if (header->min_size >= header->max_size)
		return true;
	view->sizes.width = genie_inprocess_size_width(search);
	if (kept != NULL && *kept != NULL)
	{
		view->sizes.above = *kept;
		return true;
	}
	above = MemoryContextAlloc(kept != NULL ? search->context : CurrentMemoryContext,
							   view->n_objects * view->sizes.width);
	view->sizes.above = above;
	if (!genie_inprocess_read_sizes(search, view, above))
		return false;
	if (kept != NULL)
		*kept = above;
	return true;
}

/* Fills the group with the tiles [first, end), and with sizes if they are wanted.  In group_context.  False: stale. */
static bool
genie_inprocess_fill_group(GenieInprocess *search, uint32 first, uint32 end, const uint64 *live,
						   bool sizes, GenieGroup *group)
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
		memset(&view->sizes, 0, sizeof(view->sizes));
		if (sizes && !genie_inprocess_sizes(search, view))
			return false;
		if (to > from)
		{
			refs->rank = search->query->ranges[0].first;
			refs->codec = GENIE_CODEC_RAW;
			refs->n = (uint32) (to - from);
			refs->data = (const uint8 *) (search->loose_locals + from);
			refs->nbytes = refs->n * sizeof(uint16);
			view->n_lists = 1;
		}
	}
	for (uint32 i = 0; i < search->n_tiled; i++)
		if (!genie_inprocess_take_records(search, &search->tiled[i], first, end, group))
			return false;
	group->view.n_tiles = end - first;
	group->view.tiles = group->tiles;
	return true;
}

bool
genie_inprocess_top(GenieInprocess *search, const uint64 *live, uint32 k, uint32 min_key,
					const GenieHit *after, GenieHit *hits, uint32 *n)
{
	GenieEngine *engine = genie_inprocess_engine();
	GenieTopK	top;
	GenieTopK  *tops[1] = {&top};
	GenieGroup	group;

	*n = 0;
	genie_topk_init(&top, hits, k, min_key, after);
	genie_inprocess_rewind(search);
	for (uint32 first = 0; first < search->n_tiles; first += search->group_tiles)
	{
		uint32		end = Min(first + search->group_tiles, search->n_tiles);
		MemoryContext old = MemoryContextSwitchTo(search->group_context);
		bool		ok = genie_inprocess_fill_group(search, first, end, live, search->query->keys != NULL, &group);

		MemoryContextSwitchTo(old);
		if (!ok)
			return false;
		genie_inprocess_check(search, genie_cpu_search(engine, &group.view, 1, search->query, tops));
		MemoryContextReset(search->group_context);
		CHECK_FOR_INTERRUPTS();
	}
	*n = genie_topk_finish(&top);
	return true;
}

/* Counts the tiles [first, end) into counts. */
static bool
genie_inprocess_count_group(GenieInprocess *search, uint32 first, uint32 end, uint16 *counts)
{
	GenieEngine *engine = genie_inprocess_engine();
	GenieGroup	group;
	MemoryContext old = MemoryContextSwitchTo(search->group_context);
	bool		ok = genie_inprocess_fill_group(search, first, end, NULL, false, &group);

	MemoryContextSwitchTo(old);
	if (!ok)
		return false;
	genie_inprocess_check(search, genie_cpu_count(engine, &group.view, 1, search->query, &counts));
	MemoryContextReset(search->group_context);
	CHECK_FOR_INTERRUPTS();
	return true;
}

bool
genie_inprocess_counts(GenieInprocess *search, uint16 *counts)
{
	genie_inprocess_rewind(search);
	for (uint32 first = 0; first < search->n_tiles; first += search->group_tiles)
		if (!genie_inprocess_count_group(search, first,
										 Min(first + search->group_tiles, search->n_tiles),
										 counts + (Size) first * GENIE_TILE_OBJECTS))
			return false;
	return true;
}

bool
genie_inprocess_count_first(GenieInprocess *search, uint16 *counts)
{
	genie_inprocess_rewind(search);
	return search->n_tiles == 0 || genie_inprocess_count_group(search, 0, 1, counts);
}

bool
genie_inprocess_filter(GenieInprocess *search, uint32 min_count, uint64 *live)
{
	uint16	   *counts;

	counts = palloc((Size) search->group_tiles * GENIE_TILE_OBJECTS * sizeof(uint16));
	genie_inprocess_rewind(search);
	for (uint32 first = 0; first < search->n_tiles; first += search->group_tiles)
	{
		uint32		end = Min(first + search->group_tiles, search->n_tiles);
		uint64	   *words = live + (Size) first * GENIE_TILE_WORDS;
		uint32		n_words = (end - first) * GENIE_TILE_WORDS;

		if (!genie_inprocess_count_group(search, first, end, counts))
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

/* ---- images ---- */

/* CHECK_FOR_INTERRUPTS() has something to do. */
static bool
genie_inprocess_is_interrupted(void)
{
	return InterruptPending;
}

/* As many jobs at a time as their hits, which the engine keeps until they are done, fit the memory. */
static uint32
genie_inprocess_chunk(const GenieJob *job)
{
	Size		bytes = genie_topk_capacity(job->k) * sizeof(GenieHit);

	return (uint32) Min(Max(GENIE_RUN_BYTES / bytes, 1), GENIE_RUN_JOBS);
}

/* The worst that happened to the jobs. */
static GenieStatus
genie_inprocess_run_chunk(GenieJob *jobs, uint32 n_jobs)
{
	GenieEngine *engine = genie_inprocess_engine();
	GenieStatus status = GENIE_STATUS_CANCELLED;

	/* an interrupt need not end the statement: then the jobs are run again */
	while (status == GENIE_STATUS_CANCELLED)
	{
		CHECK_FOR_INTERRUPTS();
		engine->interrupted = genie_inprocess_is_interrupted;
		status = engine->ops->run(engine, n_jobs, jobs);
		engine->interrupted = NULL;
		for (uint32 i = 0; status == GENIE_OK && i < n_jobs; i++)
			status = jobs[i].status;
	}
	return status;
}

bool
genie_inprocess_run(GenieJob *jobs, uint32 n_jobs)
{
	uint32		n;

	for (uint32 first = 0; first < n_jobs; first += n)
	{
		GenieStatus status;

		n = Min(genie_inprocess_chunk(&jobs[first]), n_jobs - first);
		status = genie_inprocess_run_chunk(jobs + first, n);
		if (status == GENIE_STATUS_RETRY)
			return false;
		if (status != GENIE_OK)
			elog(ERROR, "the CPU engine failed with status %d", (int) status);
	}
	return true;
}

/*
 * genie_load.c
 *	  One load: from a segment's pages to an image in shared memory, or in the backend's own.
 *
 *	1. claim	an entry of the directory, LOADING
 *	2. plan		one pass over dictionary and posting lists: how many lists, postings and bitmaps each tile has, where
 *				dimensions begin, and hence whether objects get codes (genie_image.h)
 *	3. room		the bytes are reserved, evicting others, then allocated group by group
 *	4. fill		a second pass decodes the lists into the groups; then sizes and live bits
 *	5. publish	READY; from then on the groups are read-only
 *
 * An image of the backend's own is 2 and 4 alone, in memory of the current context.
 *
 * A segment's quantized vectors are loaded by the same steps, without the passes over its lists: the plan follows from
 * their number, and who knows the table (GenieQuantizer) fills tile after tile from the rows' TIDs.
 *
 * Whatever ends it before 5, an ERROR, a cancel, the backend's exit, frees what was allocated and the entry.
 * No lock is held during any of it.
 *
 * Lists lie on the pages in the order of the dictionary, so both passes read them in sequence, a window of many
 * pages at a time.  To plan, the headers of a list's records are enough; few lists are so long that skipping
 * what is between them would save pages.
 *
 * Memory of the backend: the window, room for one tile's list, about 60 bytes a tile, and, while codes are possible, 8
 * bytes a keyword of at most GENIE_CODE_KEYWORDS_MAX.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_dictionary.h"
#include "genie_fault.h"
#include "genie_live.h"
#include "genie_load.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_shmem.h"
#include "genie_varint.h"

/* pages of posting lists that are read at once: 256 kB, what stays in a core's cache */
#define GENIE_WINDOW_PAGES 32
#define GENIE_WINDOW_BYTES (GENIE_WINDOW_PAGES * GENIE_PAGE_PAYLOAD)

/*
 * An allocation's smallest size: above it DSA gives whole pages, which are aligned; below it objects have
 * only the alignment of 8 bytes.
 */
#define GENIE_ALLOCATION_MIN (8 * 1024 + 1)
#define GENIE_ALLOCATION_UNIT 4096

#define GENIE_OWN_ALIGN 64		/* a cache line */

/* an image is not smaller than this, for a bitmap of all objects has 8 postings a byte */
#define GENIE_POSTINGS_A_BYTE 8

/* The posting lists' bytes, read in sequence. */
typedef struct GenieListWindow
{
	uint64		at;				/* in the section, of the window's first byte */
	uint32		n;
	uint8		bytes[GENIE_WINDOW_BYTES];
	GenieSectionReader reader;
} GenieListWindow;

/* a group is no larger than this part of the arena, if tiles allow: small ones find room between others */
#define GENIE_GROUPS_IN_ARENA 16

/* A load in progress. */
typedef struct GenieLoad
{
	GenieSegment *segment;
	dsa_area   *arena;
	bool		claimed;		/* the entry is ours, LOADING */
	bool		first;
	bool		insist;
	GenieImageRef ref;
	uint32		n_dead;			/* by the metapage of tombstone_version */
	uint64		tombstone_version;

	/* the plan */
	GenieImagePlan plan;
	GenieImageParts parts;
	GenieTilePlan *tiles;
	uint64		n_bytes;		/* of the arena */
	uint64		evicted_bytes;	/* to make room in one piece */
	const char *damage;			/* what is malformed; NULL: nothing */
	uint32	   *first_tile;		/* of each group, and n_tiles behind the last */
	uint64	   *group_bytes;
	uint64	   *postings_before;	/* of each rank, and the total; NULL: no codes */
	uint32	   *first_ranks;	/* of each dimension so far */

	/* what is allocated in the arena: InvalidDsaPointer, not yet */
	dsa_pointer *groups;

	/* the same, or the backend's own memory, where it is to be filled */
	void	  **group_at;
	uint64	   *live;

	const GenieQuantizer *quantizer;	/* of quantized vectors; NULL: it is an image */

	/* filling */
	GenieTileFill *fills;		/* of each tile */
	uint32	   *in_group;		/* each tile's number in its group */
	GenieListWindow *window;
	uint16		locals[GENIE_TILE_OBJECTS];
} GenieLoad;

/* What was read is malformed: the load ends, and says so.  Always false. */
static bool
genie_load_damaged(GenieLoad *load, const char *what)
{
	load->damage = what;
	return false;
}

/* ---- posting lists ---- */

/* n bytes at position, n being at most a page's; NULL: stale, or damaged. */
static const uint8 *
genie_load_bytes(GenieLoad *load, uint64 position, uint32 n)
{
	GenieListWindow *window = load->window;

	if (position < window->at || position + n > window->at + window->n)
	{
		uint64		length = load->segment->sections[GENIE_SECTION_POSTINGS].entry.length;

		if (position > length || n > length - position)
		{
			genie_load_damaged(load, "a posting list is longer than the section");
			return NULL;
		}
		window->n = 0;
		window->at = position / GENIE_PAGE_PAYLOAD * GENIE_PAGE_PAYLOAD;
		CHECK_FOR_INTERRUPTS();
		if (!genie_section_read(&window->reader, window->at, Min(length - window->at, GENIE_WINDOW_BYTES),
								window->bytes))
			return NULL;
		window->n = (uint32) Min(length - window->at, GENIE_WINDOW_BYTES);
	}
	return window->bytes + (position - window->at);
}

/* Plans, or adds, a list's part in a tile.  False: damaged. */
static bool
genie_load_take(GenieLoad *load, uint32 tile, uint32 rank, const uint16 *locals, uint32 n)
{
	if (load->fills == NULL)
		genie_tile_plan_add(&load->tiles[tile], n);
	else if (!genie_image_add(&load->fills[tile], load->in_group[tile], rank, locals, n))
		return genie_load_damaged(load, "a posting list names an object that does not exist");
	return true;
}

/* A list of few postings.  False: stale. */
static bool
genie_load_loose_list(GenieLoad *load, const GenieDictionaryCursor *cursor)
{
	uint32		objects[GENIE_LOOSE_MAX];
	uint32		from = 0;
	const uint8 *bytes;

	if (cursor->list_bytes > 1 + GENIE_LOOSE_MAX * GENIE_VARINT_MAX)
		return genie_load_damaged(load, "malformed posting list");
	bytes = genie_load_bytes(load, cursor->list_at, (uint32) cursor->list_bytes);
	if (bytes == NULL)
		return false;
	if (bytes[0] != GENIE_LIST_LOOSE ||
		!genie_loose_decode(bytes + 1, cursor->list_bytes - 1, cursor->n_postings, objects) ||
		objects[cursor->n_postings - 1] >= load->segment->header.n_objects)
		return genie_load_damaged(load, "malformed posting list");
	for (uint32 i = 0; i < cursor->n_postings; i++)
	{
		uint32		tile = objects[i] >> GENIE_TILE_SHIFT;

		load->locals[i] = (uint16) (objects[i] & (GENIE_TILE_OBJECTS - 1));
		if (i + 1 == cursor->n_postings || objects[i + 1] >> GENIE_TILE_SHIFT != tile)
		{
			if (!genie_load_take(load, tile, cursor->rank, load->locals + from, i + 1 - from))
				return false;
			from = i + 1;
		}
	}
	return true;
}

/* A list that is cut into tiles: to plan, its records' headers are enough.  False: stale. */
static bool
genie_load_tiled_list(GenieLoad *load, const GenieDictionaryCursor *cursor)
{
	uint64		at = cursor->list_at + 1;
	uint64		end = cursor->list_at + cursor->list_bytes;
	int64		last_tile = -1;

	while (at < end)
	{
		uint32		n = (uint32) Min(end - at, GENIE_TILE_HEADER_MAX);
		const uint8 *bytes = genie_load_bytes(load, at, n);
		GenieListRef ref;
		uint32		tile;
		size_t		header_len;

		if (bytes == NULL)
			return false;
		if (!genie_tile_header(bytes, bytes + n, last_tile, &tile, &ref, &header_len) ||
			ref.nbytes > end - at - header_len || tile >= load->parts.n_tiles)
			return genie_load_damaged(load, "malformed posting list");
		at += header_len;
		if (load->fills == NULL)
			genie_tile_plan_add(&load->tiles[tile], ref.n);
		else
		{
			ref.data = genie_load_bytes(load, at, ref.nbytes);
			if (ref.data == NULL)
				return false;
			if (!genie_image_decode(&load->fills[tile], load->in_group[tile], cursor->rank, &ref, load->locals))
				return genie_load_damaged(load, "malformed posting list");
		}
		at += ref.nbytes;
		last_tile = tile;
	}
	return true;
}

/* Planning: notes a keyword's postings, and whether a dimension begins with it.  Ranks come in ascending order. */
static bool
genie_load_note(GenieLoad *load, const GenieDictionaryCursor *cursor, uint32 *dimension)
{
	uint32		of_key;

	if (genie_key_get_dimension(cursor->key.data, cursor->key.len, &of_key) == 0)
		return genie_load_damaged(load, "malformed keyword");
	if (load->plan.n_dimensions == 0 || of_key != *dimension)
	{
		if (load->plan.n_dimensions == GENIE_CODE_DIMENSIONS_MAX)
		{
			load->postings_before = NULL;
			return true;
		}
		load->first_ranks[load->plan.n_dimensions++] = cursor->rank;
		*dimension = of_key;
	}
	load->postings_before[cursor->rank + 1] = load->postings_before[cursor->rank] + cursor->n_postings;
	return true;
}

/* One pass over all lists: plans, or, once there are fills, fills.  False: stale. */
static bool
genie_load_pass(GenieLoad *load)
{
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	uint32		dimension = 0;
	uint32		n = 0;

	load->window->n = 0;
	genie_section_reader(&load->window->reader, load->segment, GENIE_SECTION_POSTINGS);
	genie_dictionary_cursor(cursor, load->segment);
	if (!genie_dictionary_first(cursor))
		return false;
	while (cursor->valid)
	{
		if (cursor->rank != n++ || n > load->plan.n_keywords)
			return genie_load_damaged(load, "keywords are not numbered in sequence");
		if (load->fills == NULL && load->postings_before != NULL && !genie_load_note(load, cursor, &dimension))
			return false;
		if (cursor->n_postings <= GENIE_LOOSE_MAX ? !genie_load_loose_list(load, cursor) :
			!genie_load_tiled_list(load, cursor))
			return false;
		if (!genie_dictionary_next(cursor))
			return false;
	}
	if (n != load->plan.n_keywords)
		return genie_load_damaged(load, "the dictionary does not have as many keywords as the segment");
	pfree(cursor);
	return true;
}

/* ---- planning ---- */

/* an allocation's part of the arena */
static uint64
genie_load_allocated(uint64 bytes)
{
	return TYPEALIGN64(GENIE_ALLOCATION_UNIT, Max(bytes, GENIE_ALLOCATION_MIN));
}

static uint64
genie_load_body_bytes(const GenieImageParts *parts)
{
	return (uint64) parts->n_tiles * GENIE_TILE_WORDS * sizeof(uint64) +
		(uint64) parts->n_groups * sizeof(dsa_pointer) + (uint64) parts->n_totals * sizeof(uint64);
}

/* Cuts the planned tiles into groups, and adds up. */
static bool
genie_load_plan_groups(GenieLoad *load)
{
	GenieImageParts *parts = &load->parts;

	load->first_tile = palloc((Size) (parts->n_tiles + 1) * sizeof(uint32));
	load->group_bytes = palloc((Size) (parts->n_tiles + 1) * sizeof(uint64));
	load->in_group = palloc((Size) (parts->n_tiles + 1) * sizeof(uint32));
	for (uint32 first = 0; first < parts->n_tiles;)
	{
		uint32		n = genie_image_group_plan(&load->plan, load->tiles, first, parts->n_tiles,
											   &load->group_bytes[parts->n_groups]);

		if (n == 0)				/* 65,536 objects of at most 65,535 keywords cannot have so many postings */
			return genie_load_damaged(load, "an object has too many keywords");
		for (uint32 i = 0; i < n; i++)
			load->in_group[first + i] = i;
		load->n_bytes += genie_load_allocated(load->group_bytes[parts->n_groups]);
		load->first_tile[parts->n_groups++] = first;
		first += n;
	}
	load->first_tile[parts->n_groups] = parts->n_tiles;
	load->n_bytes += genie_load_allocated(genie_load_body_bytes(parts));
	return true;
}

/* Decides on codes; without, nobody chooses and the totals are of no use. */
static void
genie_load_plan_codes(GenieLoad *load)
{
	const GenieImageParts *parts = &load->parts;
	uint64	   *before = load->postings_before;

	if (before != NULL && genie_image_wants_codes(load->plan.n_dimensions, load->first_ranks, parts->n_keywords,
												  load->segment->header.max_keywords, parts->n_objects,
												  before[parts->n_keywords]))
	{
		load->plan.first_ranks = load->first_ranks;
		load->parts.n_totals = parts->n_keywords + 1;
	}
	else
		load->plan.n_dimensions = 0;
}

/* The first pass.  False: stale. */
static bool
genie_load_plan(GenieLoad *load)
{
	const GenieSegment *segment = load->segment;
	const GenieSectionEntry *sizes = &segment->sections[GENIE_SECTION_SIZES].entry;
	GenieImageParts *parts = &load->parts;

	parts->n_objects = segment->header.n_objects;
	parts->n_keywords = segment->header.n_keywords;
	parts->n_tiles = genie_object_tiles(segment);
	load->plan.n_keywords = parts->n_keywords;
	load->plan.min_size = sizes->parameter2;
	load->plan.max_size = segment->header.max_size;
	load->plan.size_width = sizes->parameter == 0 ? 0 : sizes->parameter <= 8 ? 1 : 2;

	load->window = palloc(sizeof(GenieListWindow));
	load->tiles = palloc0((Size) (parts->n_tiles + 1) * sizeof(GenieTilePlan));
	for (uint32 tile = 0; tile < parts->n_tiles; tile++)
		load->tiles[tile].n_objects = Min(parts->n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
	if (parts->n_keywords <= GENIE_CODE_KEYWORDS_MAX && segment->header.max_keywords <= GENIE_CODE_DIMENSIONS_MAX)
	{
		load->postings_before = palloc0((Size) (parts->n_keywords + 1) * sizeof(uint64));
		load->first_ranks = palloc(GENIE_CODE_DIMENSIONS_MAX * sizeof(uint32));
	}
	if (!genie_load_pass(load))
		return false;
	genie_load_plan_codes(load);
	return genie_load_plan_groups(load);
}

/* ---- memory ---- */

/*
 * The bytes are reserved, but may not be free in one piece: then others are evicted, oldest first, but no more
 * than this image is worth.
 */
static bool
genie_load_allocate(GenieLoad *load, uint64 bytes, dsa_pointer *pointer)
{
	uint64		evicted = 1;

	while (evicted > 0)
	{
		CHECK_FOR_INTERRUPTS();
		*pointer = dsa_allocate_extended(load->arena, Max(bytes, GENIE_ALLOCATION_MIN), GENIE_ARENA_FLAGS);
		if (*pointer != InvalidDsaPointer)
			return true;
		evicted = load->evicted_bytes < load->n_bytes ? genie_directory_evict_one(&load->ref, load->insist) : 0;
		load->evicted_bytes += evicted;
	}
	return false;
}

/* Allocates everything that is planned.  False: no room; what it got so far stays with the load. */
static bool
genie_load_make_room(GenieLoad *load, bool *never)
{
	GenieImageParts *parts = &load->parts;

	if (!genie_directory_reserve(&load->ref, load->n_bytes, load->insist, never))
		return false;
	load->groups = palloc0((Size) (parts->n_groups + 1) * sizeof(dsa_pointer));
	if (!genie_load_allocate(load, genie_load_body_bytes(parts), &parts->body))
		return false;
	load->live = dsa_get_address(load->arena, parts->body);
	load->group_at = palloc((Size) (parts->n_groups + 1) * sizeof(void *));
	for (uint32 i = 0; i < parts->n_groups; i++)
	{
		if (!genie_load_allocate(load, load->group_bytes[i], &load->groups[i]))
			return false;
		load->group_at[i] = dsa_get_address(load->arena, load->groups[i]);
	}
	return true;
}

static void
genie_load_free(GenieLoad *load)
{
	for (uint32 i = 0; load->groups != NULL && i < load->parts.n_groups; i++)
		if (load->groups[i] != InvalidDsaPointer)
			dsa_free(load->arena, load->groups[i]);
	if (load->parts.body != InvalidDsaPointer)
		dsa_free(load->arena, load->parts.body);
	load->groups = NULL;
	load->parts.body = InvalidDsaPointer;
}

/* ---- filling ---- */

/* False: stale. */
static bool
genie_load_fill_sizes(GenieLoad *load)
{
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	uint32	   *sizes = palloc(GENIE_TILE_OBJECTS * sizeof(uint32));

	genie_section_reader(reader, load->segment, GENIE_SECTION_SIZES);
	for (uint32 tile = 0; tile < load->parts.n_tiles; tile++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!genie_object_sizes(reader, tile * GENIE_TILE_OBJECTS, load->tiles[tile].n_objects, sizes))
			return false;
		genie_image_sizes(&load->fills[tile], load->in_group[tile], sizes);
	}
	pfree(sizes);
	pfree(reader);
	return true;
}

/* What the directory's image has behind its live bits: the groups, and the totals. */
static void
genie_load_fill_body(GenieLoad *load)
{
	dsa_pointer *groups = (dsa_pointer *) (load->live + (Size) load->parts.n_tiles * GENIE_TILE_WORDS);

	memcpy(groups, load->groups, load->parts.n_groups * sizeof(dsa_pointer));
	if (load->parts.n_totals > 0)
		memcpy(groups + load->parts.n_groups, load->postings_before, load->parts.n_totals * sizeof(uint64));
}

/* The second pass.  False: stale. */
static bool
genie_load_fill(GenieLoad *load)
{
	load->fills = palloc((Size) (load->parts.n_tiles + 1) * sizeof(GenieTileFill));
	for (uint32 i = 0; i < load->parts.n_groups; i++)
	{
		uint32		first = load->first_tile[i];

		CHECK_FOR_INTERRUPTS();
		genie_image_group_begin(load->group_at[i], load->group_bytes[i], &load->plan,
								load->tiles + first, first, load->first_tile[i + 1] - first, load->fills + first);
	}
	GENIE_FAULT("image-fill");
	if (!genie_load_pass(load) || !genie_load_fill_sizes(load) ||
		!genie_live_read(load->segment, load->n_dead, load->live, NULL))
		return false;
	for (uint32 i = 0; i < load->parts.n_groups; i++)
	{
		uint32		first = load->first_tile[i];

		if (!genie_image_group_finish(load->fills + first, load->first_tile[i + 1] - first))
			return genie_load_damaged(load, "posting lists changed while they were read");
		Assert(genie_image_group_valid(load->group_at[i]));
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* ---- quantized vectors ---- */

static void
genie_load_plan_vectors(GenieLoad *load)
{
	GenieImageParts *parts = &load->parts;
	uint64		record = genie_quantized_bytes(load->quantizer->n_dimensions);

	parts->n_objects = load->segment->header.n_objects;
	parts->n_dimensions = load->quantizer->n_dimensions;
	parts->metric = load->quantizer->metric;
	parts->n_groups = genie_object_tiles(load->segment);
	load->group_bytes = palloc((Size) (parts->n_groups + 1) * sizeof(uint64));
	for (uint32 tile = 0; tile < parts->n_groups; tile++)
	{
		load->group_bytes[tile] = Min(parts->n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS) * record;
		load->n_bytes += genie_load_allocated(load->group_bytes[tile]);
	}
	load->n_bytes += genie_load_allocated(genie_load_body_bytes(parts));
}

/* False: stale. */
static bool
genie_load_fill_vectors(GenieLoad *load)
{
	GenieObjectReader *reader = palloc(sizeof(GenieObjectReader));
	uint32	   *objects = palloc(GENIE_TILE_OBJECTS * sizeof(uint32));
	uint64	   *tids = palloc(GENIE_TILE_OBJECTS * sizeof(uint64));

	genie_object_reader(reader, load->segment, false);
	for (uint32 tile = 0; tile < load->parts.n_groups; tile++)
	{
		uint32		first = tile * GENIE_TILE_OBJECTS;
		uint32		n = Min(load->parts.n_objects - first, GENIE_TILE_OBJECTS);

		for (uint32 i = 0; i < n; i++)
			objects[i] = first + i;
		if (!genie_object_tids(reader, objects, n, tids))
			return false;
		load->quantizer->fill(load->quantizer->arg, tids, n, load->group_at[tile]);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(tids);
	pfree(objects);
	pfree(reader);
	return true;
}

/* ---- a load ---- */

/* An ERROR, or the process ends: nothing of the load remains. */
static void
genie_load_cleanup(int code, Datum arg)
{
	GenieLoad  *load = (GenieLoad *) DatumGetPointer(arg);

	genie_load_free(load);
	if (load->claimed)
		genie_directory_put_off(&load->ref);
	load->claimed = false;
}

static GenieLoadEnd
genie_load_run(GenieLoad *load, const GenieImageKey *key)
{
	bool		never = false;

	load->claimed = genie_directory_claim(key, load->insist, &load->ref, &load->first);
	if (!load->claimed)
		return GENIE_LOAD_TAKEN;
	GENIE_FAULT("image-claimed");
	if (load->quantizer != NULL)
		genie_load_plan_vectors(load);
	else if (!genie_load_plan(load))
		return load->damage != NULL ? GENIE_LOAD_DAMAGED : GENIE_LOAD_STALE;
	if (!genie_load_make_room(load, &never))
		return never ? GENIE_LOAD_NEVER_ROOM : GENIE_LOAD_NO_ROOM;
	if (load->quantizer != NULL ? !genie_load_fill_vectors(load) : !genie_load_fill(load))
		return load->damage != NULL ? GENIE_LOAD_DAMAGED : GENIE_LOAD_STALE;
	genie_load_fill_body(load);
	return GENIE_LOAD_DONE;
}

/* Gives the entry the state that it has from now on. */
static void
genie_load_finish(GenieLoad *load, GenieLoadEnd end)
{
	if (end == GENIE_LOAD_DONE)
	{
		genie_directory_publish(&load->ref, &load->parts, load->tombstone_version);
		load->groups = NULL;	/* the directory's from now on */
		load->parts.body = InvalidDsaPointer;
	}
	genie_load_free(load);
	if (end == GENIE_LOAD_STALE)
		genie_directory_abandon(&load->ref);
	else if (end == GENIE_LOAD_NO_ROOM || end == GENIE_LOAD_NEVER_ROOM)
		genie_directory_no_room(&load->ref, load->n_bytes, end == GENIE_LOAD_NEVER_ROOM);
	else if (end == GENIE_LOAD_DAMAGED)
		genie_directory_put_off(&load->ref);
	load->claimed = false;
}

static GenieLoadResult
genie_load_into_arena(GenieLoad *load, const GenieImageKey *key)
{
	GenieLoadResult result;

	load->arena = genie_shmem_image_arena();
	PG_ENSURE_ERROR_CLEANUP(genie_load_cleanup, PointerGetDatum(load));
	{
		result.end = genie_load_run(load, key);
		genie_load_finish(load, result.end);
	}
	PG_END_ENSURE_ERROR_CLEANUP(genie_load_cleanup, PointerGetDatum(load));
	result.first = load->first;
	result.n_bytes = load->n_bytes;
	result.damage = load->damage;
	return result;
}

GenieLoadResult
genie_load_image(GenieSegment *segment, const GenieImageKey *key, uint32 n_dead, uint64 tombstone_version, bool insist)
{
	GenieLoad  *load = palloc0(sizeof(GenieLoad));

	load->segment = segment;
	load->n_dead = n_dead;
	load->tombstone_version = tombstone_version;
	load->insist = insist;
	load->plan.group_bytes = Min(GENIE_IMAGE_GROUP_BYTES, genie_shmem_image_bytes() / GENIE_GROUPS_IN_ARENA);
	return genie_load_into_arena(load, key);
}

GenieLoadResult
genie_load_vectors(GenieSegment *segment, const GenieImageKey *key, const GenieQuantizer *quantizer)
{
	GenieLoad  *load = palloc0(sizeof(GenieLoad));

	load->segment = segment;
	load->quantizer = quantizer;
	return genie_load_into_arena(load, key);
}

/* ---- in the backend's own memory ---- */

static void *
genie_load_own_memory(Size bytes)
{
	return (void *) TYPEALIGN(GENIE_OWN_ALIGN, MemoryContextAllocHuge(CurrentMemoryContext, bytes + GENIE_OWN_ALIGN));
}

/* Plans and fills it.  False: it is too large, damaged, or stale. */
static bool
genie_load_own_run(GenieLoad *load, Size limit)
{
	if (load->segment->header.n_postings / GENIE_POSTINGS_A_BYTE > limit ||
		!genie_load_plan(load) || load->n_bytes > limit)
		return false;
	load->live = genie_load_own_memory(genie_load_body_bytes(&load->parts));
	load->group_at = palloc((Size) (load->parts.n_groups + 1) * sizeof(void *));
	for (uint32 i = 0; i < load->parts.n_groups; i++)
		load->group_at[i] = genie_load_own_memory(load->group_bytes[i]);
	return genie_load_fill(load);
}

/*
 * What planning leaves (the window, tiles' plans) is small and stays with the image; where there is no image, all of
 * it is freed.
 */
GenieSegmentImage *
genie_load_own(GenieSegment *segment, uint32 n_dead, Size limit)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie image", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieLoad  *load = palloc0(sizeof(GenieLoad));
	GenieSegmentImage *image = palloc0(sizeof(GenieSegmentImage));

	load->segment = segment;
	load->n_dead = n_dead;
	load->plan.group_bytes = GENIE_IMAGE_GROUP_BYTES;
	if (genie_load_own_run(load, limit))
	{
		image->n_objects = load->parts.n_objects;
		image->n_keywords = load->parts.n_keywords;
		image->n_tiles = load->parts.n_tiles;
		image->n_groups = load->parts.n_groups;
		image->groups = (const GenieImageGroup *const *) load->group_at;
		image->postings_before = load->parts.n_totals > 0 ? load->postings_before : NULL;
		image->live = load->live;
		pfree(load->window);
	}
	else
		image = NULL;
	MemoryContextSwitchTo(old);
	if (image == NULL)
		MemoryContextDelete(context);
	return image;
}

/*
 * genie_image_fill.c
 *	  From a segment's pages to the groups of an image, in memory that the caller gives (genie_image_fill.h).
 *
 *	0. verify	the checksums of all pages of the segment, those that only readers of the image need too
 *	1. plan		one pass over dictionary and posting lists: how many lists, postings and bitmaps each tile has, where
 *				dimensions begin, and hence whether objects get codes (genie_image.h)
 *	2. fill		a second pass decodes the lists into the groups; then sizes and live bits
 *
 * Lists lie on the pages in the order of the dictionary, so both passes read them in sequence, a window of many
 * pages at a time.  To plan, the headers of a list's records are enough; few lists are so long that skipping
 * the bytes between headers would save pages.
 *
 * Memory of the backend: the window, room for one tile's list, about 60 bytes a tile, and, while codes are possible, 8
 * bytes a keyword of at most GENIE_CODE_KEYWORDS_MAX.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_codec.h"
#include "genie_dictionary.h"
#include "genie_fault.h"
#include "genie_image_fill.h"
#include "genie_live.h"
#include "genie_object_table.h"
#include "genie_varint.h"

/* pages of posting lists that are read at once: 256 kB stay in a core's cache */
#define WINDOW_PAGES 32
#define WINDOW_BYTES (WINDOW_PAGES * GENIE_PAGE_PAYLOAD)

/* The posting lists' bytes, read in sequence. */
struct GenieListWindow
{
	uint64		at;				/* in the section, of the window's first byte */
	uint32		n;
	uint8		bytes[WINDOW_BYTES];
	GenieSectionReader reader;
	uint16		locals[GENIE_TILE_OBJECTS]; /* of the list that is being decoded */
};

/* Notes that the pages are malformed, and how.  Always false. */
static bool
damaged(GenieImageFill *fill, const char *what)
{
	fill->damage = what;
	return false;
}

/* ---- posting lists ---- */

/* n bytes at position, n being at most a page's; NULL: stale, or damaged. */
static const uint8 *
bytes_at(GenieImageFill *fill, uint64 position, uint32 n)
{
	GenieListWindow *window = fill->window;

	if (position < window->at || position + n > window->at + window->n)
	{
		uint64		length = fill->segment->sections[GENIE_SECTION_POSTINGS].entry.length;

		if (position > length || n > length - position)
		{
			damaged(fill, "a posting list is longer than the section");
			return NULL;
		}
		window->n = 0;
		window->at = position / GENIE_PAGE_PAYLOAD * GENIE_PAGE_PAYLOAD;
		CHECK_FOR_INTERRUPTS();
		if (!genie_section_read(&window->reader, window->at, Min(length - window->at, WINDOW_BYTES),
								window->bytes))
			return NULL;
		window->n = (uint32) Min(length - window->at, WINDOW_BYTES);
	}
	return window->bytes + (position - window->at);
}

/* Plans, or adds, a list's part in a tile.  False: damaged. */
static bool
take_part(GenieImageFill *fill, uint32 tile, uint32 rank, const uint16 *locals, uint32 n)
{
	if (fill->fills == NULL)
		genie_tile_plan_add(&fill->tiles[tile], n);
	else if (!genie_image_add(&fill->fills[tile], fill->in_group[tile], rank, locals, n))
		return damaged(fill, "a posting list names an object that does not exist");
	return true;
}

/* A list of few postings.  False: stale, or damaged. */
static bool
read_loose_list(GenieImageFill *fill, const GenieDictionaryCursor *cursor)
{
	uint32		objects[GENIE_LOOSE_MAX];
	uint32		from = 0;
	const uint8 *bytes;

	if (cursor->list_bytes > 1 + GENIE_LOOSE_MAX * GENIE_VARINT_MAX)
		return damaged(fill, "malformed posting list");
	bytes = bytes_at(fill, cursor->list_at, (uint32) cursor->list_bytes);
	if (bytes == NULL)
		return false;
	if (bytes[0] != GENIE_LIST_LOOSE ||
		!genie_loose_decode(bytes + 1, cursor->list_bytes - 1, cursor->n_postings, objects) ||
		objects[cursor->n_postings - 1] >= fill->segment->header.n_objects)
		return damaged(fill, "malformed posting list");
	for (uint32 i = 0; i < cursor->n_postings; i++)
	{
		uint32		tile = objects[i] >> GENIE_TILE_SHIFT;

		fill->window->locals[i] = (uint16) (objects[i] & (GENIE_TILE_OBJECTS - 1));
		if (i + 1 == cursor->n_postings || objects[i + 1] >> GENIE_TILE_SHIFT != tile)
		{
			if (!take_part(fill, tile, cursor->rank, fill->window->locals + from, i + 1 - from))
				return false;
			from = i + 1;
		}
	}
	return true;
}

/* A list that is cut into tiles: to plan, its records' headers are enough.  False: stale, or damaged. */
static bool
read_tiled_list(GenieImageFill *fill, const GenieDictionaryCursor *cursor)
{
	uint64		at = cursor->list_at + 1;
	uint64		end = cursor->list_at + cursor->list_bytes;
	int64		last_tile = -1;

	while (at < end)
	{
		uint32		n = (uint32) Min(end - at, GENIE_TILE_HEADER_MAX);
		const uint8 *bytes = bytes_at(fill, at, n);
		GenieListRef ref;
		uint32		tile;
		size_t		header_len;

		if (bytes == NULL)
			return false;
		if (!genie_tile_header(bytes, bytes + n, last_tile, &tile, &ref, &header_len) ||
			ref.nbytes > end - at - header_len || tile >= fill->parts.n_tiles)
			return damaged(fill, "malformed posting list");
		at += header_len;
		if (fill->fills == NULL)
			genie_tile_plan_add(&fill->tiles[tile], ref.n);
		else
		{
			ref.data = bytes_at(fill, at, ref.nbytes);
			if (ref.data == NULL)
				return false;
			if (!genie_image_decode(&fill->fills[tile], fill->in_group[tile], cursor->rank, &ref, fill->window->locals))
				return damaged(fill, "malformed posting list");
		}
		at += ref.nbytes;
		last_tile = tile;
	}
	return true;
}

/*
 * Planning: notes a keyword's postings, and whether a dimension begins with it.  Ranks come in ascending order.  False:
 * damaged.
 */
static bool
note_keyword(GenieImageFill *fill, const GenieDictionaryCursor *cursor, uint32 *dimension)
{
	uint32		of_key;

	if (genie_key_get_dimension(cursor->key.data, cursor->key.len, &of_key) == 0)
		return damaged(fill, "malformed keyword");
	if (fill->plan.n_dimensions == 0 || of_key != *dimension)
	{
		if (fill->plan.n_dimensions == GENIE_CODE_DIMENSIONS_MAX)
		{
			fill->postings_before = NULL;
			return true;
		}
		fill->first_ranks[fill->plan.n_dimensions++] = cursor->rank;
		*dimension = of_key;
	}
	fill->postings_before[cursor->rank + 1] = fill->postings_before[cursor->rank] + cursor->n_postings;
	return true;
}

/* One pass over all lists: plans, or, once there are fills, fills.  False: stale, or damaged. */
static bool
read_lists(GenieImageFill *fill)
{
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	uint32		dimension = 0;
	uint32		n = 0;

	fill->window->at = fill->window->n = 0;
	genie_section_reader(&fill->window->reader, fill->segment, GENIE_SECTION_POSTINGS);
	genie_dictionary_cursor(cursor, fill->segment);
	if (!genie_dictionary_first(cursor))
		return false;
	while (cursor->valid)
	{
		if (cursor->rank != n++ || n > fill->plan.n_keywords)
			return damaged(fill, "keywords are not numbered in sequence");
		if (fill->fills == NULL && fill->postings_before != NULL && !note_keyword(fill, cursor, &dimension))
			return false;
		if (cursor->n_postings <= GENIE_LOOSE_MAX ? !read_loose_list(fill, cursor) :
			!read_tiled_list(fill, cursor))
			return false;
		if (!genie_dictionary_next(cursor))
			return false;
	}
	if (n != fill->plan.n_keywords)
		return damaged(fill, "the dictionary does not have as many keywords as the segment");
	pfree(cursor);
	return true;
}

/* ---- planning ---- */

/* Cuts the planned tiles into groups.  False: damaged. */
static bool
plan_groups(GenieImageFill *fill)
{
	GenieImageParts *parts = &fill->parts;

	fill->first_tile = palloc((Size) (parts->n_tiles + 1) * sizeof(uint32));
	fill->group_bytes = palloc((Size) (parts->n_tiles + 1) * sizeof(uint64));
	fill->in_group = palloc((Size) (parts->n_tiles + 1) * sizeof(uint32));
	for (uint32 first = 0; first < parts->n_tiles;)
	{
		uint32		n = genie_image_group_plan(&fill->plan, fill->tiles, first, parts->n_tiles,
											   &fill->group_bytes[parts->n_groups]);

		if (n == 0)				/* 65,536 objects of at most 65,535 keywords cannot have so many postings */
			return damaged(fill, "an object has too many keywords");
		for (uint32 i = 0; i < n; i++)
			fill->in_group[first + i] = i;
		fill->first_tile[parts->n_groups++] = first;
		first += n;
	}
	fill->first_tile[parts->n_groups] = parts->n_tiles;
	return true;
}

/* Decides on codes.  Without them there is no choice between tiles and lanes, and the totals are of no use. */
static void
plan_codes(GenieImageFill *fill)
{
	const GenieImageParts *parts = &fill->parts;
	uint64	   *before = fill->postings_before;

	if (before != NULL && genie_image_wants_codes(fill->plan.n_dimensions, fill->first_ranks, parts->n_keywords,
												  fill->segment->header.max_keywords, parts->n_objects,
												  before[parts->n_keywords]))
	{
		fill->plan.first_ranks = fill->first_ranks;
		fill->parts.n_totals = parts->n_keywords + 1;
	}
	else
		fill->plan.n_dimensions = 0;
}

bool
genie_image_fill_plan(GenieImageFill *fill)
{
	GenieSegment *segment = fill->segment;
	const GenieSectionEntry *sizes = &segment->sections[GENIE_SECTION_SIZES].entry;
	GenieImageParts *parts = &fill->parts;

	parts->n_objects = segment->header.n_objects;
	parts->n_keywords = segment->header.n_keywords;
	parts->n_tiles = genie_object_table_tiles(segment);
	fill->plan.n_keywords = parts->n_keywords;
	fill->plan.min_size = sizes->parameter2;
	fill->plan.max_size = segment->header.max_size;
	fill->plan.size_width = sizes->parameter == 0 ? 0 : sizes->parameter <= 8 ? 1 : 2;

	fill->window = palloc(sizeof(GenieListWindow));
	fill->tiles = palloc0((Size) (parts->n_tiles + 1) * sizeof(GenieTilePlan));
	for (uint32 tile = 0; tile < parts->n_tiles; tile++)
		fill->tiles[tile].n_objects = Min(parts->n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS);
	if (parts->n_keywords <= GENIE_CODE_KEYWORDS_MAX && segment->header.max_keywords <= GENIE_CODE_DIMENSIONS_MAX)
	{
		fill->postings_before = palloc0((Size) (parts->n_keywords + 1) * sizeof(uint64));
		fill->first_ranks = palloc(GENIE_CODE_DIMENSIONS_MAX * sizeof(uint32));
	}
	if (segment->index != NULL && !genie_segment_verify(segment, &fill->damage))
		return false;
	if (!read_lists(fill))
		return false;
	plan_codes(fill);
	return plan_groups(fill);
}

/* ---- filling ---- */

/* False: stale. */
static bool
fill_sizes(GenieImageFill *fill)
{
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	uint32	   *sizes = palloc(GENIE_TILE_OBJECTS * sizeof(uint32));

	genie_section_reader(reader, fill->segment, GENIE_SECTION_SIZES);
	for (uint32 tile = 0; tile < fill->parts.n_tiles; tile++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!genie_object_table_sizes(reader, tile * GENIE_TILE_OBJECTS, fill->tiles[tile].n_objects, sizes))
			return false;
		genie_image_sizes(&fill->fills[tile], fill->in_group[tile], sizes);
	}
	pfree(sizes);
	pfree(reader);
	return true;
}

bool
genie_image_fill(GenieImageFill *fill)
{
	fill->fills = palloc((Size) (fill->parts.n_tiles + 1) * sizeof(GenieTileFill));
	for (uint32 i = 0; i < fill->parts.n_groups; i++)
	{
		uint32		first = fill->first_tile[i];

		CHECK_FOR_INTERRUPTS();
		if (genie_segment_stops(fill->segment))
			return false;
		genie_image_group_begin(fill->group_at[i], fill->group_bytes[i], &fill->plan,
								fill->tiles + first, first, fill->first_tile[i + 1] - first, fill->fills + first);
	}
	GENIE_FAULT("image-fill");
	if (!read_lists(fill) || !fill_sizes(fill) ||
		!genie_live_read(fill->segment, fill->n_dead, fill->hints, fill->live, NULL))
		return false;
	for (uint32 i = 0; i < fill->parts.n_groups; i++)
	{
		uint32		first = fill->first_tile[i];

		if (!genie_image_group_finish(fill->fills + first, fill->first_tile[i + 1] - first))
			return damaged(fill, "posting lists changed while they were read");
		Assert(genie_image_group_valid(fill->group_at[i]));
		CHECK_FOR_INTERRUPTS();
		if (genie_segment_stops(fill->segment))
			return false;
	}
	return true;
}

void
genie_image_fill_end(GenieImageFill *fill)
{
	pfree(fill->window);
}

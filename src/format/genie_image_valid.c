/*
 * genie_image_valid.c
 *	  Is a group of an image consistent (genie_image_group_valid())?  For tests and assertions.
 *
 * Invariants of a finished group:
 *
 *	1.	Each part of each tile lies inside the group, aligned, behind the part before it.
 *	2.	starts has an entry for each list and one more, strictly ascending from 0 to n_postings, or n_chunks: no list is
 *		empty.
 *	3.	A plain list has fewer than GENIE_IMAGE_DENSE postings, ascending and below the tile's n_objects.  A chunked one
 *		is what genie_chunks_write() makes of such locals, and only in a tight group, where that is shorter.
 *	4.	A bitmap has at least GENIE_IMAGE_DENSE objects, none past n_objects.
 *	5.	Ranks are below n_keywords, ascending in lists of each kind and in bitmaps, and no rank has two of these.
 *	6.	INDEXED: the words cover ranks 0 .. n_keywords + 64 at least, so that genie_image_find may read word
 *		n_keywords / 64 and the one behind it; each word's two counts are those of all lower ranks, and
 *		the word behind the last bit has the totals.  That of chunked lists counts no bitmaps.
 *	7.	Bytes that belong to no part (alignment, slack) are zero: equal lists make equal bytes.
 *	8.	In a group with codes each posting is a code and each code a posting, and zones are what the codes say
 *		(genie_image_codes.c).
 *	9.	A group of codes alone has codes, and its tiles have no list and no bitmap.
 *	10.	The group of codes alone in a group with lists is one, of the same tiles, and ends with it.  Where codes were
 *		dropped, it has none either.
 */
#include <string.h>

#include "genie_image_codes.h"
#include "genie_image_layout.h"
#include "genie_unpack.h"

/* Does a part of this length begin where the one before it ended?  Moves *offset behind it. */
static bool
part_follows(uint64_t part, uint64_t length, uint64_t n_bytes, uint64_t *offset)
{
	uint64_t	start = *offset;

	if (part != start || start > n_bytes || length > n_bytes - start)
		return false;
	*offset = genie_image_align_up(start + length);
	return true;
}

static bool
lists_follow(const GenieImageLists *lists, uint32_t n_keywords, uint64_t n_bytes, uint64_t *offset)
{
	uint64_t	directory = (uint64_t) lists->n * sizeof(uint32_t);

	if (lists->form == GENIE_DIRECTORY_INDEXED)
		directory = genie_image_words(n_keywords) * sizeof(GenieImageWord);

	return (lists->form == GENIE_DIRECTORY_INDEXED || lists->form == GENIE_DIRECTORY_SORTED) &&
		part_follows(lists->directory, directory, n_bytes, offset) &&
		part_follows(lists->starts, ((uint64_t) lists->n + 1) * sizeof(uint32_t), n_bytes, offset);
}

/* Do the places of a tile's lists follow one another? */
static bool
lists_of_follow(const GenieImageGroup *group, const GenieImageTile *tile, uint64_t *offset)
{
	static const GenieImageLists none = {0};
	uint64_t	n_bytes = group->n_bytes;

	return lists_follow(&tile->plain, group->n_keywords, n_bytes, offset) &&
		part_follows(tile->postings, (uint64_t) tile->n_postings * sizeof(uint16_t) + GENIE_IMAGE_SLACK,
					 n_bytes, offset) &&
		(group->form == GENIE_IMAGE_TIGHT ? lists_follow(&tile->chunked, group->n_keywords, n_bytes, offset) :
		 tile->n_chunks == 0 && memcmp(&tile->chunked, &none, sizeof(none)) == 0) &&
		part_follows(tile->chunks, (uint64_t) tile->n_chunks * sizeof(GenieChunk), n_bytes, offset) &&
		part_follows(tile->bitmap_ranks, (uint64_t) tile->n_bitmaps * sizeof(uint32_t), n_bytes, offset) &&
		part_follows(tile->bitmaps, (uint64_t) tile->n_bitmaps * GENIE_TILE_BITMAP_BYTES, n_bytes, offset);
}

/* The same of what it has by object. */
static bool
objects_of_follow(const GenieImageGroup *group, const GenieImageTile *tile, uint32_t code_bytes, uint32_t n_planned,
				  uint64_t *offset)
{
	uint64_t	n_bytes = group->n_bytes;

	return part_follows(tile->sizes, (uint64_t) tile->n_objects * group->size_width, n_bytes, offset) &&
		part_follows(tile->codes, (uint64_t) genie_code_rows(tile->n_objects) * code_bytes, n_bytes, offset) &&
		part_follows(tile->zones, genie_zone_bytes(n_planned, tile->n_objects), n_bytes, offset);
}

/* Do the lists' starts ascend from 0 to end? */
static bool
starts_valid(const uint8_t *base, const GenieImageLists *lists, uint32_t end)
{
	const uint32_t *starts = (const uint32_t *) (const void *) (base + lists->starts);

	if (starts[0] != 0 || starts[lists->n] != end)
		return false;
	for (uint32_t list = 0; list < lists->n; list++)
		if (starts[list + 1] <= starts[list] || starts[list + 1] > end)
			return false;
	return true;
}

static bool
lists_valid(const uint8_t *base, const GenieImageTile *tile)
{
	const uint32_t *starts = (const uint32_t *) (const void *) (base + tile->plain.starts);
	const uint16_t *postings = (const uint16_t *) (const void *) (base + tile->postings);

	if (!starts_valid(base, &tile->plain, tile->n_postings))
		return false;
	for (uint32_t list = 0; list < tile->plain.n; list++)
	{
		if (starts[list + 1] - starts[list] >= GENIE_IMAGE_DENSE)
			return false;
		for (uint32_t i = starts[list]; i < starts[list + 1]; i++)
			if (postings[i] >= tile->n_objects || (i > starts[list] && postings[i] <= postings[i - 1]))
				return false;
	}
	return true;
}

static bool
chunks_valid(const uint8_t *base, const GenieImageTile *tile)
{
	const uint32_t *starts = (const uint32_t *) (const void *) (base + tile->chunked.starts);
	const GenieChunk *chunks = (const GenieChunk *) (const void *) (base + tile->chunks);
	uint16_t	locals[GENIE_IMAGE_TIGHT_BITMAP / GENIE_CHUNK_BYTES * GENIE_CHUNK_LOCALS + GENIE_UNPACK_SPARE];
	uint32_t	width;
	uint32_t	n;

	if (!starts_valid(base, &tile->chunked, tile->n_chunks))
		return false;
	for (uint32_t list = 0; list < tile->chunked.n; list++)
		if ((starts[list + 1] - starts[list]) * GENIE_CHUNK_BYTES > GENIE_IMAGE_TIGHT_BITMAP ||
			!genie_chunks_read(chunks + starts[list], starts[list + 1] - starts[list], tile->n_objects, locals, &n) ||
			genie_image_list_chunks(locals, n, &width) == 0)
			return false;
	return true;
}

static bool
bitmaps_valid(const uint8_t *base, const GenieImageTile *tile)
{
	for (uint32_t b = 0; b < tile->n_bitmaps; b++)
	{
		const uint8_t *bitmap = base + tile->bitmaps + (uint64_t) b * GENIE_TILE_BITMAP_BYTES;
		uint32_t	n = 0;

		for (uint32_t i = 0; i < GENIE_TILE_BITMAP_BYTES; i++)
		{
			uint32_t	exists = 8 * i >= tile->n_objects ? 0 :
				tile->n_objects - 8 * i >= 8 ? 0xFF : (1u << (tile->n_objects - 8 * i)) - 1;

			if ((bitmap[i] & ~exists) != 0)
				return false;
			n += GENIE_POPCOUNT((uint64_t) bitmap[i]);
		}
		if (n < GENIE_IMAGE_DENSE)
			return false;
	}
	return true;
}

static bool
ranks_ascend(const uint32_t *ranks, uint32_t n, uint32_t n_keywords)
{
	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] >= n_keywords || (i > 0 && ranks[i] <= ranks[i - 1]))
			return false;
	return true;
}

/* Has the rank one of the lists, whose directory is known to be good? */
static bool
has_list(const uint8_t *base, const GenieImageLists *lists, uint32_t rank)
{
	const uint8_t *directory = base + lists->directory;
	const uint32_t *ranks = (const uint32_t *) (const void *) directory;
	uint32_t	at;

	if (lists->form == GENIE_DIRECTORY_INDEXED)
		return (((const GenieImageWord *) (const void *) directory)[rank / 64].present >> (rank % 64) & 1) != 0;
	at = genie_rank_lower_bound(ranks, 0, lists->n, rank);
	return at < lists->n && ranks[at] == rank;
}

static bool
index_valid(const uint8_t *base, const GenieImageLists *lists, const uint32_t *bitmap_ranks, uint32_t n_bitmaps,
			uint32_t n_keywords)
{
	const GenieImageWord *words = (const GenieImageWord *) (const void *) (base + lists->directory);
	uint64_t	last = genie_image_words(n_keywords) - 1;
	uint32_t	n_lists = 0;

	for (uint64_t w = 0; w <= last; w++)
	{
		uint64_t	first = 64 * w;
		uint64_t	exists = first >= n_keywords ? 0 :
			n_keywords - first >= 64 ? UINT64_MAX : (UINT64_C(1) << (n_keywords - first)) - 1;
		uint32_t	below = first > UINT32_MAX ? n_bitmaps :
			genie_rank_lower_bound(bitmap_ranks, 0, n_bitmaps, (uint32_t) first);

		if (words[w].lists_before != n_lists || words[w].bitmaps_before != below ||
			(words[w].present & ~exists) != 0)
			return false;
		n_lists += GENIE_POPCOUNT(words[w].present);
	}
	return n_lists == lists->n;
}

static bool
directory_valid(const uint8_t *base, const GenieImageLists *lists, const uint32_t *bitmap_ranks, uint32_t n_bitmaps,
				uint32_t n_keywords)
{
	if (lists->form == GENIE_DIRECTORY_INDEXED)
		return index_valid(base, lists, bitmap_ranks, n_bitmaps, n_keywords);
	return ranks_ascend((const uint32_t *) (const void *) (base + lists->directory), lists->n, n_keywords);
}

/* Are both directories good, and has no rank two lists? */
static bool
directories_valid(const GenieImageGroup *group, const GenieImageTile *tile)
{
	const uint8_t *base = (const uint8_t *) group;
	const uint32_t *bitmap_ranks = (const uint32_t *) (const void *) (base + tile->bitmap_ranks);
	const bool	is_tight = group->form == GENIE_IMAGE_TIGHT;

	if (!ranks_ascend(bitmap_ranks, tile->n_bitmaps, group->n_keywords) ||
		!directory_valid(base, &tile->plain, bitmap_ranks, tile->n_bitmaps, group->n_keywords) ||
		(is_tight && !directory_valid(base, &tile->chunked, NULL, 0, group->n_keywords)))
		return false;
	for (uint32_t b = 0; b < tile->n_bitmaps; b++)
		if (has_list(base, &tile->plain, bitmap_ranks[b]) ||
			(is_tight && has_list(base, &tile->chunked, bitmap_ranks[b])))
			return false;
	for (uint32_t rank = 0; is_tight && rank < group->n_keywords; rank++)
		if (has_list(base, &tile->plain, rank) && has_list(base, &tile->chunked, rank))
			return false;
	return true;
}

/*
 * The bytes an object that the group's strips have, in *row_bytes, and the dimensions that have a place there, in
 * *n_planned, if the tables lie inside the group.  The places remain where codes were dropped.
 */
static bool
strips_valid(const GenieImageGroup *group, uint32_t *row_bytes, uint32_t *n_planned)
{
	const GenieCodeStrip *strips = genie_image_strips(group);

	*row_bytes = *n_planned = 0;
	if (group->n_strips > GENIE_CODE_DIMENSIONS_MAX || group->n_dimensions > GENIE_CODE_DIMENSIONS_MAX ||
		group->dimensions > group->strips || group->strips % GENIE_IMAGE_ALIGN != 0 ||
		group->dimensions % GENIE_IMAGE_ALIGN != 0 ||
		(uint64_t) group->n_dimensions * sizeof(GenieCodeDimension) > group->strips - group->dimensions ||
		group->strips > group->n_bytes ||
		genie_image_align_up((uint64_t) group->n_strips * sizeof(GenieCodeStrip)) != group->n_bytes - group->strips)
		return false;
	for (uint32_t s = 0; s < group->n_strips; s++)
	{
		if (strips[s].offset != *row_bytes)
			return false;
		*row_bytes += strips[s].row_bytes;
		*n_planned += strips[s].n_codes;
	}
	return group->n_dimensions == 0 || group->n_dimensions == *n_planned;
}

static bool group_valid(const GenieImageGroup *group, bool is_inner);

/*
 * Is the group of codes alone in a group, which is to begin at *offset, a good one of the same tiles, objects and
 * codes?  Moves *offset behind its last tile.
 */
static bool
inner_valid(const GenieImageGroup *group, uint64_t *offset)
{
	const uint64_t alone = group->alone;
	const GenieImageGroup *inner;

	if (alone != *offset || alone > group->n_bytes || group->n_bytes - alone < genie_image_header_bytes(group->n_tiles))
		return false;
	inner = genie_image_inner(group);
	if (inner->n_bytes != group->n_bytes - alone || inner->form != GENIE_IMAGE_CODES || inner->alone != 0 ||
		inner->size_width != group->size_width || inner->first_tile != group->first_tile ||
		inner->n_tiles != group->n_tiles || inner->n_keywords != group->n_keywords ||
		inner->min_size != group->min_size || inner->max_size != group->max_size ||
		inner->n_dimensions != group->n_dimensions || inner->n_strips != group->n_strips ||
		inner->dimensions != group->dimensions - alone || inner->strips != group->strips - alone ||
		!group_valid(inner, true))
		return false;
	for (uint32_t t = 0; t < group->n_tiles; t++)
	{
		const GenieImageTile *tile = genie_image_tiles(group) + t;
		const GenieImageTile *same = genie_image_tiles(inner) + t;

		if (same->n_objects != tile->n_objects || same->sizes != tile->sizes - alone ||
			same->codes != tile->codes - alone || same->zones != tile->zones - alone)
			return false;
	}
	*offset = group->dimensions;
	return true;
}

static bool
group_valid(const GenieImageGroup *group, bool is_inner)
{
	const GenieImageTile *tiles = genie_image_tiles(group);
	const uint8_t *base = (const uint8_t *) group;
	uint64_t	offset = genie_image_header_bytes(group->n_tiles);
	uint32_t	code_bytes;
	uint32_t	n_planned;

	if (group->magic != GENIE_IMAGE_MAGIC || group->version != GENIE_IMAGE_VERSION ||
		group->form > GENIE_IMAGE_TIGHT ||
		(group->form != GENIE_IMAGE_FULL && !is_inner &&
		 (group->form == GENIE_IMAGE_CODES) != (group->n_dimensions > 0)) ||
		group->size_width > 2 || group->max_size < group->min_size || group->n_tiles == 0 || group->n_bytes < offset ||
		!strips_valid(group, &code_bytes, &n_planned) ||
		(group->alone != 0) != (group->form == GENIE_IMAGE_FULL && group->n_strips > 0))
		return false;
	for (uint32_t t = 0; t < group->n_tiles; t++)
	{
		const GenieImageTile *tile = &tiles[t];

		if (tile->n_objects == 0 || tile->n_objects > GENIE_TILE_OBJECTS ||
			(group->form == GENIE_IMAGE_CODES && tile->plain.n + tile->n_bitmaps > 0) ||
			!lists_of_follow(group, tile, &offset) ||
			(group->alone == 0 && !objects_of_follow(group, tile, code_bytes, n_planned, &offset)) ||
			!directories_valid(group, tile) ||
			!lists_valid(base, tile) ||
			(group->form == GENIE_IMAGE_TIGHT && !chunks_valid(base, tile)) ||
			!bitmaps_valid(base, tile))
			return false;
	}
	return (group->alone == 0 || inner_valid(group, &offset)) && offset == group->dimensions &&
		(group->n_dimensions == 0 || genie_codes_valid(group));
}

bool
genie_image_group_valid(const GenieImageGroup *group)
{
	return group_valid(group, false);
}

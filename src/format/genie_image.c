/*
 * genie_image.c
 *	  Planning, laying out, filling and checking groups of an image (genie_image.h).
 *
 * A group's layout follows from its plans alone: the header and the tiles' entries, then the parts of tile after tile
 * in the order of genie_image.h, each aligned.  The planner adds up the same sizes that lay_out_lists_of() and
 * lay_out_objects_of() give out, so a group takes exactly the planned bytes.
 *
 * Invariants of a finished group (genie_image_group_valid() checks them all):
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
 *
 * The builder keeps 2 to 6 by what it refuses: genie_image_add() takes only ascending ranks, as many lists and postings
 * as planned, and objects that exist; genie_image_group_finish() takes only tiles that got all that was planned.  The
 * caller promises that the locals of a list ascend: they come from a decoder that checks it.
 *
 * While a group is being filled, an INDEXED directory has only the bits; finishing makes the counts.
 */
#include <assert.h>
#include <string.h>

#include "genie_codec.h"
#include "genie_image_codes.h"
#include "genie_list_reader.h"
#include "genie_unpack.h"

/* an INDEXED directory of up to this many bytes is always taken: it is nothing next to a tile's postings */
#define INDEX_SMALL_BYTES 4096

/* An INDEXED directory may take this many times the bytes of SORTED's ranks, because a look-up in it is no search. */
#define INDEX_WORTH 2

static inline uint64_t
align_up(uint64_t bytes)
{
	return (bytes + GENIE_IMAGE_ALIGN - 1) / GENIE_IMAGE_ALIGN * GENIE_IMAGE_ALIGN;
}

static inline uint64_t
n_words(uint32_t n_keywords)
{
	return (uint64_t) n_keywords / 64 + 2;
}

static GenieDirectoryForm
directory_form(uint32_t n_keywords, uint32_t n_lists)
{
	uint64_t	indexed = n_words(n_keywords) * sizeof(GenieImageWord);
	uint64_t	sorted = (uint64_t) n_lists * sizeof(uint32_t);

	if (indexed <= INDEX_SMALL_BYTES || indexed <= INDEX_WORTH * sorted)
		return GENIE_DIRECTORY_INDEXED;
	return GENIE_DIRECTORY_SORTED;
}

/* the bytes before the first tile's parts */
static uint64_t
header_bytes(uint32_t n_tiles)
{
	return align_up(sizeof(GenieImageGroup) + (uint64_t) n_tiles * sizeof(GenieImageTile));
}

/* the bytes behind the last tile's parts */
static uint64_t
trailer_bytes(uint32_t n_dimensions, uint32_t n_strips)
{
	return align_up((uint64_t) n_dimensions * sizeof(GenieCodeDimension)) +
		align_up((uint64_t) n_strips * sizeof(GenieCodeStrip));
}

/* Gives n lists their directory and starts from offset on; returns the offset behind them. */
static uint64_t
lay_out_lists(uint32_t n_keywords, uint32_t n, uint64_t offset, GenieImageLists *lists)
{
	lists->n = n;
	lists->form = directory_form(n_keywords, n);
	lists->directory = offset;
	if (lists->form == GENIE_DIRECTORY_INDEXED)
		offset += align_up(n_words(n_keywords) * sizeof(GenieImageWord));
	else
		offset += align_up((uint64_t) n * sizeof(uint32_t));
	lists->starts = offset;
	return offset + align_up(((uint64_t) n + 1) * sizeof(uint32_t));
}

/* Gives the tile's lists their places from offset on; returns the offset behind them. */
static uint64_t
lay_out_lists_of(const GenieImagePlan *plan, const GenieTilePlan *planned, uint64_t offset, GenieImageTile *tile)
{
	const GenieTilePlan no_lists = {.n_objects = planned->n_objects};

	if (plan->form == GENIE_IMAGE_CODES)
		planned = &no_lists;
	memset(tile, 0, sizeof(GenieImageTile));
	tile->n_objects = planned->n_objects;
	tile->n_bitmaps = planned->n_bitmaps;
	tile->n_postings = (uint32_t) planned->n_postings;
	tile->n_chunks = (uint32_t) planned->n_chunks;

	offset = lay_out_lists(plan->n_keywords, planned->n_lists, offset, &tile->plain);
	tile->postings = offset;
	offset += align_up(planned->n_postings * sizeof(uint16_t) + GENIE_IMAGE_SLACK);
	if (plan->form == GENIE_IMAGE_TIGHT)
		offset = lay_out_lists(plan->n_keywords, planned->n_chunked, offset, &tile->chunked);
	tile->chunks = offset;
	offset += planned->n_chunks * sizeof(GenieChunk);
	tile->bitmap_ranks = offset;
	offset += align_up((uint64_t) tile->n_bitmaps * sizeof(uint32_t));
	tile->bitmaps = offset;
	return offset + (uint64_t) tile->n_bitmaps * GENIE_TILE_BITMAP_BYTES;
}

/* The same for what it has by object; code_bytes: of one. */
static uint64_t
lay_out_objects_of(const GenieImagePlan *plan, uint32_t code_bytes, uint64_t offset, GenieImageTile *tile)
{
	tile->sizes = offset;
	offset += align_up((uint64_t) tile->n_objects * plan->size_width);
	tile->codes = offset;
	offset += (uint64_t) genie_code_rows(tile->n_objects) * code_bytes;
	tile->zones = offset;
	return offset + align_up(genie_zone_bytes(plan->n_dimensions, tile->n_objects));
}

/* Is there a group of codes alone in each group? */
static bool
has_alone(const GenieImagePlan *plan)
{
	return plan->form == GENIE_IMAGE_FULL && plan->n_dimensions > 0;
}

/* The plan of those. */
static GenieImagePlan
alone_plan(const GenieImagePlan *plan)
{
	GenieImagePlan alone = *plan;

	alone.form = GENIE_IMAGE_CODES;
	return alone;
}

uint32_t
genie_image_group_plan(const GenieImagePlan *plan, const GenieTilePlan *tiles, uint32_t first,
					   uint32_t n_tiles, uint64_t *n_bytes)
{
	uint64_t	aim = plan->group_bytes != 0 ? plan->group_bytes : GENIE_IMAGE_GROUP_BYTES;
	GenieCodeLayout layout = genie_codes_layout(plan, NULL, NULL);
	uint64_t	parts = trailer_bytes(plan->n_dimensions, layout.n_strips);
	uint32_t	n_headers = has_alone(plan) ? 2 : 1;
	GenieImagePlan alone = alone_plan(plan);
	uint32_t	n = 0;

	assert(first < n_tiles && plan->size_width <= 2);
	assert(plan->form == GENIE_IMAGE_FULL || (plan->form == GENIE_IMAGE_CODES) == (plan->n_dimensions > 0));

	*n_bytes = 0;
	while (first + n < n_tiles)
	{
		GenieImageTile tile;
		uint64_t	more;

		if (tiles[first + n].n_postings > UINT32_MAX || tiles[first + n].n_chunks > GENIE_TILE_CHUNKS_MAX)
			return 0;
		more = lay_out_lists_of(plan, &tiles[first + n], 0, &tile);
		if (has_alone(plan))
			more = lay_out_lists_of(&alone, &tiles[first + n], more, &tile);
		more = lay_out_objects_of(plan, layout.row_bytes, more, &tile);
		if (n > 0 && n_headers * header_bytes(n + 1) + parts + more > aim)
			break;
		parts += more;
		n++;
	}
	*n_bytes = n_headers * header_bytes(n) + parts;
	return n;
}

/* The group of codes alone in a group that was planned with one, even if codes were dropped. */
static GenieImageGroup *
inner_group(const GenieImageGroup *group)
{
	return (GenieImageGroup *) (void *) ((uint8_t *) group + group->alone);
}

/* Lays out the header and the tiles' entries of a group of n_bytes; returns the offset behind the last tile. */
static uint64_t
lay_out_tiles(GenieImageGroup *group, uint32_t magic, uint64_t n_bytes, const GenieImagePlan *plan,
			  const GenieTilePlan *tiles, uint32_t first_tile, uint32_t n_tiles)
{
	GenieImageTile *entries = (GenieImageTile *) (void *) (group + 1);
	GenieCodeLayout layout = genie_codes_layout(plan, NULL, NULL);
	uint64_t	offset = header_bytes(n_tiles);

	assert((uintptr_t) group % GENIE_IMAGE_ALIGN == 0);

	group->magic = magic;
	group->version = GENIE_IMAGE_VERSION;
	group->size_width = plan->size_width;
	group->n_bytes = n_bytes;
	group->first_tile = first_tile;
	group->n_tiles = n_tiles;
	group->n_keywords = plan->n_keywords;
	group->min_size = plan->min_size;
	group->max_size = plan->max_size;
	group->form = plan->form;
	group->n_dimensions = plan->n_dimensions;
	group->n_strips = layout.n_strips;
	for (uint32_t t = 0; t < n_tiles; t++)
	{
		offset = lay_out_lists_of(plan, &tiles[t], offset, &entries[t]);
		if (!has_alone(plan))
			offset = lay_out_objects_of(plan, layout.row_bytes, offset, &entries[t]);
	}
	if (!has_alone(plan))
		return offset;
	group->alone = offset;
	offset += header_bytes(n_tiles);
	for (uint32_t t = 0; t < n_tiles; t++)
	{
		GenieImagePlan alone = alone_plan(plan);
		GenieImageTile tile;

		offset = lay_out_lists_of(&alone, &tiles[t], offset, &tile);
		offset = lay_out_objects_of(plan, layout.row_bytes, offset, &entries[t]);
	}
	return offset;
}

/* Lays out the dimensions and strips from offset on; returns the offset behind them. */
static uint64_t
lay_out_dimensions(GenieImageGroup *group, const GenieImagePlan *plan, uint64_t offset)
{
	uint8_t    *base = (uint8_t *) group;

	group->dimensions = offset;
	group->strips = offset + align_up((uint64_t) plan->n_dimensions * sizeof(GenieCodeDimension));
	(void) genie_codes_layout(plan, (GenieCodeDimension *) (void *) (base + group->dimensions),
							  (GenieCodeStrip *) (void *) (base + group->strips));
	return offset + trailer_bytes(plan->n_dimensions, group->n_strips);
}

void
genie_image_group_lay_out(void *memory, uint64_t n_bytes, const GenieImagePlan *plan,
						  const GenieTilePlan *tiles, uint32_t first_tile, uint32_t n_tiles,
						  GenieTileFill *fills)
{
	GenieImageGroup *group = memory;
	uint64_t	end = lay_out_tiles(group, GENIE_IMAGE_MAGIC, n_bytes, plan, tiles, first_tile, n_tiles);

	end = lay_out_dimensions(group, plan, end);
	assert(end == n_bytes);
	(void) end;
	if (has_alone(plan))
	{
		GenieImageGroup *alone = inner_group(group);
		GenieImagePlan its_plan = alone_plan(plan);

		(void) lay_out_tiles(alone, GENIE_IMAGE_MAGIC, n_bytes - group->alone, &its_plan, tiles, first_tile, n_tiles);
		alone->dimensions = group->dimensions - group->alone;
		alone->strips = group->strips - group->alone;
	}
	for (uint32_t t = 0; t < n_tiles; t++)
	{
		memset(&fills[t], 0, sizeof(GenieTileFill));
		fills[t].base = memory;
	}
}

uint64_t
genie_image_head_bytes(const GenieImagePlan *plan, uint32_t n_tiles)
{
	return header_bytes(n_tiles) + trailer_bytes(plan->n_dimensions, genie_codes_layout(plan, NULL, NULL).n_strips);
}

void
genie_image_head_lay_out(void *memory, uint64_t n_bytes, const GenieImagePlan *plan, const GenieTilePlan *tiles,
						 uint32_t first_tile, uint32_t n_tiles)
{
	(void) lay_out_tiles(memory, GENIE_IMAGE_HEAD_MAGIC, n_bytes, plan, tiles, first_tile, n_tiles);
	(void) lay_out_dimensions(memory, plan, header_bytes(n_tiles));
}

void
genie_image_group_begin(void *memory, uint64_t n_bytes, const GenieImagePlan *plan,
						const GenieTilePlan *tiles, uint32_t first_tile, uint32_t n_tiles,
						GenieTileFill *fills)
{
	memset(memory, 0, n_bytes);
	genie_image_group_lay_out(memory, n_bytes, plan, tiles, first_tile, n_tiles, fills);
}

/* ---- filling ---- */

static inline GenieImageTile *
filled_tile(const GenieTileFill *fill, uint32_t tile)
{
	return (GenieImageTile *) (void *) (fill->base + sizeof(GenieImageGroup)) + tile;
}

/* Is there room for the rank's list, of n postings and n_chunks chunks, and is it what was planned next? */
static bool
has_room(const GenieTileFill *fill, const GenieImageTile *entry, uint32_t rank, uint32_t n, uint32_t n_chunks)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) fill->base;

	if (n == 0 || n > entry->n_objects || rank < fill->next_rank || rank >= group->n_keywords)
		return false;
	if (group->form == GENIE_IMAGE_CODES)
		return true;
	if (n_chunks > 0)
		return fill->chunked < entry->chunked.n && n_chunks <= entry->n_chunks - fill->chunk;
	if (n >= GENIE_IMAGE_DENSE)
		return fill->bitmap < entry->n_bitmaps;
	return fill->list < entry->plain.n && n <= entry->n_postings - fill->posting;
}

/* The next bitmap, which is the rank's. */
static uint8_t *
take_bitmap(GenieTileFill *fill, const GenieImageTile *tile, uint32_t rank)
{
	((uint32_t *) (void *) (fill->base + tile->bitmap_ranks))[fill->bitmap] = rank;
	fill->next_rank = rank + 1;
	return fill->base + tile->bitmaps + (uint64_t) fill->bitmap++ * GENIE_TILE_BITMAP_BYTES;
}

/* Sets the locals' bits, 64 at a time: neighbours are many where lists are dense. */
static void
set_bits(uint8_t *bitmap, const uint16_t *locals, uint32_t n)
{
	for (uint32_t i = 0; i < n;)
	{
		uint32_t	at = locals[i] / 64;
		uint64_t	word = 0;

		while (i < n && locals[i] / 64 == at)
			word |= UINT64_C(1) << (locals[i++] % 64);
		for (uint32_t byte = 0; byte < 8; byte++)
			bitmap[8 * at + byte] = (uint8_t) (word >> (8 * byte));
	}
}

/* Copies a list that is a bitmap already.  False: malformed, or it names objects that do not exist. */
static bool
copy_bitmap(uint8_t *bitmap, const GenieListRef *ref, uint32_t n_objects)
{
	uint32_t	n = 0;
	uint32_t	last;

	if (ref->nbytes == 0 || ref->nbytes > GENIE_TILE_BITMAP_BYTES || ref->data[ref->nbytes - 1] == 0)
		return false;
	last = 8 * (ref->nbytes - 1) + 31 - (uint32_t) __builtin_clz(ref->data[ref->nbytes - 1]);
	if (last >= n_objects)
		return false;
	memcpy(bitmap, ref->data, ref->nbytes);
	for (uint32_t i = 0; i < ref->nbytes; i += 8)
	{
		uint64_t	word;		/* the bitmap ends with a whole one, zeroes behind the list's */

		memcpy(&word, bitmap + i, sizeof(word));
		n += GENIE_POPCOUNT(word);
	}
	return n == ref->n;
}

/* Sets the bits of a list of runs.  False: malformed, or it names objects that do not exist. */
static bool
set_runs(uint8_t *bitmap, const GenieListRef *ref, uint32_t n_objects)
{
	GenieRunsReader reader;
	uint32_t	start;
	uint32_t	n;

	genie_runs_begin(&reader, ref);
	while ((n = genie_runs_next(&reader, &start)) > 0)
	{
		uint32_t	last = start + n - 1;
		uint8_t		from_start = (uint8_t) (0xFF << (start % 8));
		uint8_t		to_last = (uint8_t) (0xFF >> (7 - last % 8));

		if (last >= n_objects)
			return false;
		if (start / 8 == last / 8)
			from_start &= to_last;
		bitmap[start / 8] |= from_start;
		for (uint32_t byte = start / 8 + 1; byte < last / 8; byte++)
			bitmap[byte] = 0xFF;
		if (start / 8 < last / 8)
			bitmap[last / 8] |= to_last;
	}
	return genie_runs_good(&reader);
}

/*
 * Notes the rank of list number n, and where it begins.  Where several processes fill a tile, they have everything
 * apart but the word in which the ranks of one end and those of the next begin.
 */
static void
note_list(GenieTileFill *fill, const GenieImageLists *lists, uint32_t n, uint32_t rank, uint32_t start)
{
	uint8_t    *directory = fill->base + lists->directory;

	if (lists->form == GENIE_DIRECTORY_INDEXED)
		__atomic_fetch_or(&((GenieImageWord *) (void *) directory)[rank / 64].present, UINT64_C(1) << (rank % 64),
						  __ATOMIC_RELAXED);
	else
		((uint32_t *) (void *) directory)[n] = rank;
	((uint32_t *) (void *) (fill->base + lists->starts))[n] = start;
	fill->next_rank = rank + 1;
}

/* Notes the rank of the next plain list, whose n postings are in place. */
static void
take_list(GenieTileFill *fill, const GenieImageTile *tile, uint32_t rank, uint32_t n)
{
	note_list(fill, &tile->plain, fill->list++, rank, fill->posting);
	fill->posting += n;
}

/* Writes the next chunked list. */
static void
take_chunks(GenieTileFill *fill, const GenieImageTile *tile, uint32_t rank, const uint16_t *locals, uint32_t n,
			uint32_t width, uint32_t n_chunks)
{
	genie_chunks_write(locals, n, width, (GenieChunk *) (void *) (fill->base + tile->chunks) + fill->chunk);
	note_list(fill, &tile->chunked, fill->chunked++, rank, fill->chunk);
	fill->chunk += n_chunks;
}

static inline uint16_t *
next_postings(const GenieTileFill *fill, const GenieImageTile *tile)
{
	return (uint16_t *) (void *) (fill->base + tile->postings) + fill->posting;
}

/* Codes alone: writes the codes of a list. */
static void
take_codes(GenieTileFill *fill, uint32_t tile, uint32_t rank, const uint16_t *locals, uint32_t n)
{
	fill->repeats |= !genie_codes_put((GenieImageGroup *) (void *) fill->base, tile, rank, locals, n, &fill->dimension);
	fill->next_rank = rank + 1;
}

static inline GenieImageForm
form_of(const GenieTileFill *fill)
{
	return ((const GenieImageGroup *) (const void *) fill->base)->form;
}

uint32_t
genie_image_list_chunks(const uint16_t *locals, uint32_t n, uint32_t *width)
{
	uint64_t	bytes = n >= GENIE_IMAGE_DENSE ? GENIE_IMAGE_TIGHT_BITMAP : n * sizeof(uint16_t);
	uint32_t	n_chunks = bytes <= sizeof(GenieChunk) ? 0 : genie_chunks_count(locals, n, width);

	return n_chunks * sizeof(GenieChunk) < bytes ? n_chunks : 0;
}

bool
genie_image_add(GenieTileFill *fill, uint32_t tile, uint32_t rank, const uint16_t *locals, uint32_t n)
{
	const GenieImageTile *entry = filled_tile(fill, tile);
	uint32_t	width = 0;
	uint32_t	n_chunks = form_of(fill) == GENIE_IMAGE_TIGHT ? genie_image_list_chunks(locals, n, &width) : 0;

	assert(tile < ((const GenieImageGroup *) (const void *) fill->base)->n_tiles);

	if (!has_room(fill, entry, rank, n, n_chunks) || locals[n - 1] >= entry->n_objects)
		return false;
	if (form_of(fill) == GENIE_IMAGE_CODES)
		take_codes(fill, tile, rank, locals, n);
	else if (n_chunks > 0)
		take_chunks(fill, entry, rank, locals, n, width, n_chunks);
	else if (n >= GENIE_IMAGE_DENSE)
		set_bits(take_bitmap(fill, entry, rank), locals, n);
	else
	{
		memcpy(next_postings(fill, entry), locals, n * sizeof(uint16_t));
		take_list(fill, entry, rank, n);
	}
	return true;
}

bool
genie_image_decode(GenieTileFill *fill, uint32_t tile, uint32_t rank, const GenieListRef *ref, uint16_t *scratch)
{
	const GenieImageTile *entry = filled_tile(fill, tile);
	uint16_t   *to = scratch;

	if (form_of(fill) != GENIE_IMAGE_FULL)
		return ref->n <= entry->n_objects && genie_list_decode(ref, scratch) &&
			genie_image_add(fill, tile, rank, scratch, ref->n);
	if (!has_room(fill, entry, rank, ref->n, 0))
		return false;
	if (ref->n >= GENIE_IMAGE_DENSE && ref->codec == GENIE_CODEC_BITMAP)
		return copy_bitmap(take_bitmap(fill, entry, rank), ref, entry->n_objects);
	if (ref->n >= GENIE_IMAGE_DENSE && ref->codec == GENIE_CODEC_RUNS)
		return set_runs(take_bitmap(fill, entry, rank), ref, entry->n_objects);
	if (ref->n < GENIE_IMAGE_DENSE)
		to = next_postings(fill, entry);
	if (!genie_list_decode(ref, to) || to[ref->n - 1] >= entry->n_objects)
		return false;
	if (ref->n >= GENIE_IMAGE_DENSE)
		set_bits(take_bitmap(fill, entry, rank), to, ref->n);
	else
		take_list(fill, entry, rank, ref->n);
	return true;
}

void
genie_image_sizes(GenieTileFill *fill, uint32_t tile, const uint32_t *sizes)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) fill->base;
	const GenieImageTile *entry = filled_tile(fill, tile);
	uint8_t    *to = fill->base + entry->sizes;

	for (uint32_t i = 0; i < entry->n_objects; i++)
	{
		uint32_t	more = sizes[i] - group->min_size;

		assert(sizes[i] >= group->min_size && sizes[i] <= group->max_size &&
			   (uint64_t) more >> (8 * group->size_width) == 0);
		if (group->size_width == 1)
			to[i] = (uint8_t) more;
		else if (group->size_width == 2)
			((uint16_t *) (void *) to)[i] = (uint16_t) more;
	}
}

/* Where the lists end; and the counts of an INDEXED directory, from its bits and the ranks of n_bitmaps bitmaps. */
static void
finish_lists(uint8_t *base, const GenieImageLists *lists, uint32_t end, const uint32_t *bitmap_ranks,
			 uint32_t n_bitmaps, uint32_t n_keywords)
{
	GenieImageWord *words = (GenieImageWord *) (void *) (base + lists->directory);
	uint32_t	lists_before = 0;
	uint32_t	bitmaps_before = 0;

	((uint32_t *) (void *) (base + lists->starts))[lists->n] = end;
	if (lists->form != GENIE_DIRECTORY_INDEXED)
		return;
	for (uint64_t w = 0; w < n_words(n_keywords); w++)
	{
		words[w].lists_before = lists_before;
		words[w].bitmaps_before = bitmaps_before;
		lists_before += GENIE_POPCOUNT(words[w].present);
		while (bitmaps_before < n_bitmaps && bitmap_ranks[bitmaps_before] / 64 == w)
			bitmaps_before++;
	}
}

bool
genie_image_tile_finish(const GenieTileFill *fill, uint32_t tile, bool *codes)
{
	GenieImageGroup *group = (GenieImageGroup *) (void *) fill->base;
	const GenieImageTile *entry = filled_tile(fill, tile);

	if (group->form == GENIE_IMAGE_CODES)
	{
		genie_codes_zones(group, tile);
		return *codes = !fill->repeats;
	}
	if (fill->list != entry->plain.n || fill->posting != entry->n_postings || fill->bitmap != entry->n_bitmaps ||
		fill->chunked != entry->chunked.n || fill->chunk != entry->n_chunks)
		return false;
	finish_lists(fill->base, &entry->plain, entry->n_postings,
				 (const uint32_t *) (const void *) (fill->base + entry->bitmap_ranks), entry->n_bitmaps,
				 group->n_keywords);
	if (group->form == GENIE_IMAGE_TIGHT)
		finish_lists(fill->base, &entry->chunked, entry->n_chunks, NULL, 0, group->n_keywords);
	*codes = group->n_dimensions > 0 && genie_codes_fill(group, tile);
	return true;
}

void
genie_image_drop_codes(void *memory)
{
	GenieImageGroup *group = memory;

	group->n_dimensions = 0;
	if (group->alone != 0)
		inner_group(group)->n_dimensions = 0;
}

bool
genie_image_group_finish(GenieTileFill *fills, uint32_t n_tiles)
{
	bool		all = true;

	for (uint32_t t = 0; t < n_tiles; t++)
	{
		bool		codes;

		if (!genie_image_tile_finish(&fills[t], t, &codes))
			return false;
		all &= codes;
	}
	if (!all)
		genie_image_drop_codes(fills[0].base);
	return true;
}

/* ---- checking ---- */

/* Does a part of this length begin where the one before it ended?  Moves *offset behind it. */
static bool
part_follows(uint64_t part, uint64_t length, uint64_t n_bytes, uint64_t *offset)
{
	uint64_t	start = *offset;

	if (part != start || start > n_bytes || length > n_bytes - start)
		return false;
	*offset = align_up(start + length);
	return true;
}

static bool
lists_follow(const GenieImageLists *lists, uint32_t n_keywords, uint64_t n_bytes, uint64_t *offset)
{
	uint64_t	directory = lists->form == GENIE_DIRECTORY_INDEXED ? n_words(n_keywords) * sizeof(GenieImageWord) :
		(uint64_t) lists->n * sizeof(uint32_t);

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
	uint64_t	last = n_words(n_keywords) - 1;
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
		align_up((uint64_t) group->n_strips * sizeof(GenieCodeStrip)) != group->n_bytes - group->strips)
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

	if (alone != *offset || alone > group->n_bytes || group->n_bytes - alone < header_bytes(group->n_tiles))
		return false;
	inner = inner_group(group);
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
	uint64_t	offset = header_bytes(group->n_tiles);
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

/*
 * genie_image.c
 *	  Planning, laying out and filling groups of an image (genie_image.h).
 *
 * A group's layout follows from its plans alone: the header and the tiles' entries, then the parts of tile after tile
 * in the order of genie_image.h, each aligned.  The planner adds up the same sizes that lay_out_lists_of() and
 * lay_out_objects_of() give out, so a group takes exactly the planned bytes.
 *
 * The builder keeps the invariants of genie_image_valid.c by what it refuses: genie_image_add() takes only ascending
 * ranks, as many lists and postings as planned, and objects that exist; genie_image_group_finish() takes only tiles
 * that got all that was planned.  The caller promises that the locals of a list ascend: they come from a decoder that
 * checks it.
 *
 * While a group is being filled, an INDEXED directory has only the bits; finishing makes the counts.
 */
#include <assert.h>
#include <string.h>

#include "genie_codec.h"
#include "genie_image_codes.h"
#include "genie_image_layout.h"
#include "genie_list_reader.h"
#include "genie_unpack.h"

/* an INDEXED directory of up to this many bytes is always taken: it is nothing next to a tile's postings */
#define INDEX_SMALL_BYTES 4096

/* An INDEXED directory may take this many times the bytes of SORTED's ranks, because a look-up in it is no search. */
#define INDEX_WORTH 2

static GenieDirectoryForm
directory_form(uint32_t n_keywords, uint32_t n_lists)
{
	uint64_t	indexed = genie_image_words(n_keywords) * sizeof(GenieImageWord);
	uint64_t	sorted = (uint64_t) n_lists * sizeof(uint32_t);

	if (indexed <= INDEX_SMALL_BYTES || indexed <= INDEX_WORTH * sorted)
		return GENIE_DIRECTORY_INDEXED;
	return GENIE_DIRECTORY_SORTED;
}

/* the bytes behind the last tile's parts */
static uint64_t
trailer_bytes(uint32_t n_dimensions, uint32_t n_strips)
{
	return genie_image_align_up((uint64_t) n_dimensions * sizeof(GenieCodeDimension)) +
		genie_image_align_up((uint64_t) n_strips * sizeof(GenieCodeStrip));
}

/* Gives n lists their directory and starts from offset on; returns the offset behind them. */
static uint64_t
lay_out_lists(uint32_t n_keywords, uint32_t n, uint64_t offset, GenieImageLists *lists)
{
	lists->n = n;
	lists->form = directory_form(n_keywords, n);
	lists->directory = offset;
	if (lists->form == GENIE_DIRECTORY_INDEXED)
		offset += genie_image_align_up(genie_image_words(n_keywords) * sizeof(GenieImageWord));
	else
		offset += genie_image_align_up((uint64_t) n * sizeof(uint32_t));
	lists->starts = offset;
	return offset + genie_image_align_up(((uint64_t) n + 1) * sizeof(uint32_t));
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
	offset += genie_image_align_up(planned->n_postings * sizeof(uint16_t) + GENIE_IMAGE_SLACK);
	if (plan->form == GENIE_IMAGE_TIGHT)
		offset = lay_out_lists(plan->n_keywords, planned->n_chunked, offset, &tile->chunked);
	tile->chunks = offset;
	offset += planned->n_chunks * sizeof(GenieChunk);
	tile->bitmap_ranks = offset;
	offset += genie_image_align_up((uint64_t) tile->n_bitmaps * sizeof(uint32_t));
	tile->bitmaps = offset;
	return offset + (uint64_t) tile->n_bitmaps * GENIE_TILE_BITMAP_BYTES;
}

/* The same for what it has by object; code_bytes: of one. */
static uint64_t
lay_out_objects_of(const GenieImagePlan *plan, uint32_t code_bytes, uint64_t offset, GenieImageTile *tile)
{
	tile->sizes = offset;
	offset += genie_image_align_up((uint64_t) tile->n_objects * plan->size_width);
	tile->codes = offset;
	offset += (uint64_t) genie_code_rows(tile->n_objects) * code_bytes;
	tile->zones = offset;
	return offset + genie_image_align_up(genie_zone_bytes(plan->n_dimensions, tile->n_objects));
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
		if (n > 0 && n_headers * genie_image_header_bytes(n + 1) + parts + more > aim)
			break;
		parts += more;
		n++;
	}
	*n_bytes = n_headers * genie_image_header_bytes(n) + parts;
	return n;
}

/* Lays out the header and the tiles' entries of a group of n_bytes; returns the offset behind the last tile. */
static uint64_t
lay_out_tiles(GenieImageGroup *group, uint32_t magic, uint64_t n_bytes, const GenieImagePlan *plan,
			  const GenieTilePlan *tiles, uint32_t first_tile, uint32_t n_tiles)
{
	GenieImageTile *entries = (GenieImageTile *) (void *) (group + 1);
	GenieCodeLayout layout = genie_codes_layout(plan, NULL, NULL);
	uint64_t	offset = genie_image_header_bytes(n_tiles);

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
	offset += genie_image_header_bytes(n_tiles);
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
	group->strips = offset + genie_image_align_up((uint64_t) plan->n_dimensions * sizeof(GenieCodeDimension));
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
		GenieImageGroup *alone = genie_image_inner(group);
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
	GenieCodeLayout layout = genie_codes_layout(plan, NULL, NULL);

	return genie_image_header_bytes(n_tiles) + trailer_bytes(plan->n_dimensions, layout.n_strips);
}

void
genie_image_head_lay_out(void *memory, uint64_t n_bytes, const GenieImagePlan *plan, const GenieTilePlan *tiles,
						 uint32_t first_tile, uint32_t n_tiles)
{
	(void) lay_out_tiles(memory, GENIE_IMAGE_HEAD_MAGIC, n_bytes, plan, tiles, first_tile, n_tiles);
	(void) lay_out_dimensions(memory, plan, genie_image_header_bytes(n_tiles));
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
	for (uint64_t w = 0; w < genie_image_words(n_keywords); w++)
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
		genie_image_inner(group)->n_dimensions = 0;
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

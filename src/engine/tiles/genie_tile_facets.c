/*
 * genie_tile_facets.c
 *	  A tile's objects by keyword, and by cell of a grid (genie_tile_facets.h).
 *
 * A tile of codes alone has no lists: each object is a list of one object there.
 *
 * A grid takes one pass through the lists of each axis, which adds the list's place to a word an object, and one
 * through the objects (genie_grid.h).  That an object is live is looked at only at the end: most are.
 */
#include <string.h>

#include "genie_code_bounds.h"
#include "genie_tile_facets.h"
#include "genie_tile_source.h"

/* Takes the list of a rank: postings, or else a bitmap. */
typedef bool (*TakeList) (void *arg, uint32_t rank, const uint16_t *locals, uint32_t n, const uint64_t *bitmap);

/* The rank of the i-th of a tile's lists of a kind; these come in ascending order, and *word with them. */
static uint32_t
rank_of_list(const GenieTile *tile, const GenieImageLists *lists, uint32_t i, uint32_t *word)
{
	const uint8_t *directory = tile->base + lists->directory;
	const GenieImageWord *words = (const GenieImageWord *) (const void *) directory;
	uint64_t	present;

	if (lists->form == GENIE_DIRECTORY_SORTED)
		return ((const uint32_t *) (const void *) directory)[i];
	while (words[*word].lists_before + (uint32_t) __builtin_popcountll(words[*word].present) <= i)
		(*word)++;
	present = words[*word].present;
	for (uint32_t before = words[*word].lists_before; before < i; before++)
		present &= present - 1;
	return 64 * *word + (uint32_t) __builtin_ctzll(present);
}

/* Takes the objects of a range of ranks by their codes, dimension by dimension.  False: one was refused. */
static inline __attribute__((always_inline)) bool
take_codes(const GenieTile *tile, GenieRankRange range, TakeList take, void *arg)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	uint32_t	d = 0;

	while (range.first < range.end)
	{
		GenieCodeSpan span = genie_code_span(group, d, range.first, range.end);
		const GenieCodeDimension *dimension = genie_image_dimensions(group) + span.dimension;
		const GenieCodeColumn column = genie_code_column(group, tile->image, dimension);

		d = span.dimension;
		for (uint32_t i = 0; i < tile->n_objects; i++)
		{
			uint16_t	local = (uint16_t) i;
			uint32_t	code = genie_code_get(&column, i);

			if (code >= span.low && code <= span.high &&
				!take(arg, dimension->first_rank + code - 1, &local, 1, NULL))
				return false;
		}
		range.first = dimension->first_rank + span.high;
	}
	return true;
}

/* Takes the chunked lists of a range of ranks, each in several pieces if it is long.  False: one was refused. */
static inline __attribute__((always_inline)) bool
take_chunks(const GenieKernels *kernels, const GenieTile *tile, GenieRankRange range, TakeList take, void *arg)
{
	GenieImageSpan span = genie_image_find_chunks(tile->base, tile->image, range.first, range.end);
	const uint32_t *starts = (const uint32_t *) (const void *) (tile->base + tile->image->chunked.starts);
	uint32_t	word = range.first / 64;
	uint16_t	locals[GENIE_CHUNKS_BATCH_LOCALS];

	for (uint32_t i = span.first_list; i < span.first_list + span.n_lists; i++)
	{
		uint32_t	rank = rank_of_list(tile, &tile->image->chunked, i, &word);

		for (uint32_t at = starts[i]; at < starts[i + 1];)
		{
			uint32_t	n = genie_tile_next_chunks(kernels, tile, &at, starts[i + 1], locals);

			if (!take(arg, rank, locals, n, NULL))
				return false;
		}
	}
	return true;
}

/* Takes all lists of a range of ranks.  False: one was refused. */
static inline __attribute__((always_inline)) bool
take_lists(const GenieKernels *kernels, const GenieTile *tile, GenieRankRange range, TakeList take, void *arg)
{
	GenieImageSpan span = genie_image_find(tile->base, tile->image, range.first, range.end);
	const uint32_t *starts = (const uint32_t *) (const void *) (tile->base + tile->image->plain.starts);
	const uint16_t *postings = (const uint16_t *) (const void *) (tile->base + tile->image->postings);
	const uint32_t *bitmap_ranks = (const uint32_t *) (const void *) (tile->base + tile->image->bitmap_ranks);
	const uint8_t *bitmaps = tile->base + tile->image->bitmaps;
	uint32_t	word = range.first / 64;

	if (((const GenieImageGroup *) (const void *) tile->base)->form == GENIE_IMAGE_CODES)
		return take_codes(tile, range, take, arg);
	for (uint32_t i = span.first_list; i < span.first_list + span.n_lists; i++)
		if (!take(arg, rank_of_list(tile, &tile->image->plain, i, &word), postings + starts[i],
				  starts[i + 1] - starts[i], NULL))
			return false;
	for (uint32_t b = span.bitmap_from; b < span.bitmap_to; b++)
		if (!take(arg, bitmap_ranks[b], NULL, 0,
				  (const uint64_t *) (const void *) (bitmaps + (size_t) b * GENIE_TILE_BITMAP_BYTES)))
			return false;
	return !genie_tile_has_chunks(tile->image) || take_chunks(kernels, tile, range, take, arg);
}

static inline bool
is_set(const uint64_t *bits, uint32_t local)
{
	return (bits[local / 64] >> (local % 64) & 1) != 0;
}

/* ---- facets ---- */

typedef struct Facets
{
	const GenieKernels *kernels;
	const uint64_t *live;
	uint32_t	first_rank;
	uint32_t   *sums;
} Facets;

static bool
take_facet(void *arg, uint32_t rank, const uint16_t *locals, uint32_t n, const uint64_t *bitmap)
{
	const Facets *facets = arg;
	uint32_t	sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += is_set(facets->live, locals[i]);
	if (bitmap != NULL)
		sum += facets->kernels->count_both(bitmap, facets->live, GENIE_TILE_WORDS);
	facets->sums[rank - facets->first_rank] += sum;
	return true;
}

void
genie_tile_facets(const GenieTileScratch *scratch, const GenieTile *tile, GenieRankRange range, uint32_t *sums)
{
	Facets		facets = {scratch->kernels, tile->live, range.first, sums};

	(void) take_lists(scratch->kernels, tile, range, take_facet, &facets);
}

/* ---- grids ---- */

typedef struct Places
{
	const uint64_t *live;
	const GenieGridAxis *axis;
	uint32_t	before;			/* axes that were added before */
	uint32_t   *objects;
} Places;

/* Adds the place to an object that has one on each axis before.  False: it has one on this axis already. */
static inline bool
add_place(const Places *places, uint32_t local, uint32_t add)
{
	uint32_t	object = places->objects[local];

	if (object >> GENIE_GRID_CELL_BITS == places->before)
		places->objects[local] = object + add;
	return object >> GENIE_GRID_CELL_BITS <= places->before || !is_set(places->live, local);
}

static bool
take_place(void *arg, uint32_t rank, const uint16_t *locals, uint32_t n, const uint64_t *bitmap)
{
	const Places *places = arg;
	uint32_t	place = places->axis->places[rank - places->axis->first_rank];
	bool		ok = true;

	if (place == GENIE_GRID_NOWHERE)
		return true;
	place += GENIE_GRID_ON_AXIS;
	for (uint32_t i = 0; i < n; i++)
		ok &= add_place(places, locals[i], place);
	for (uint32_t w = 0; bitmap != NULL && w < GENIE_TILE_WORDS; w++)
		for (uint64_t left = bitmap[w]; left != 0; left &= left - 1)
			ok &= add_place(places, 64 * w + (uint32_t) __builtin_ctzll(left), place);
	return ok;
}

bool
genie_tile_grid(GenieTileScratch *scratch, const GenieTile *tile, const GenieGrid *grid, GenieGridCell *cells)
{
	Places		places = {.live = tile->live, .objects = scratch->counters.words};

	memset(places.objects, 0, sizeof(scratch->counters.words));
	for (uint32_t a = 0; a < grid->n_axes; a++)
	{
		const GenieGridAxis *axis = &grid->axes[a];
		const GenieRankRange range = {axis->first_rank, axis->first_rank + axis->n_ranks};

		places.axis = axis;
		places.before = a;
		if (!take_lists(scratch->kernels, tile, range, take_place, &places))
			return false;
	}
	for (uint32_t w = 0; w < GENIE_TILE_WORDS; w++)
		for (uint64_t left = tile->live[w]; left != 0; left &= left - 1)
		{
			uint32_t	local = 64 * w + (uint32_t) __builtin_ctzll(left);
			uint32_t	object = places.objects[local];
			GenieGridCell *cell = &cells[object & (GENIE_GRID_CELLS_MAX - 1)];

			if (object >> GENIE_GRID_CELL_BITS != grid->n_axes)
				continue;
			if (cell->n++ == 0)
				cell->first = tile->first_object + local;
			cell->last = tile->first_object + local;
		}
	return true;
}

void
genie_grid_merge(GenieGridCell *cells, const GenieGridCell *later, uint32_t n_cells)
{
	for (uint32_t i = 0; i < n_cells; i++)
	{
		if (later[i].n == 0)
			continue;
		if (cells[i].n == 0)
			cells[i].first = later[i].first;
		cells[i].last = later[i].last;
		cells[i].n += later[i].n;
	}
}

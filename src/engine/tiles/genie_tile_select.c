/*
 * genie_tile_select.c
 *	  Offering one tile's objects to a query's top-k (genie_tile_select.h).
 *
 * Selection works on bitmaps of the tile: the objects *allowed* (live, existing, ranked below the cursor), and those of
 * them whose counter reaches a threshold.  A kernel makes the second bitmap from the first in one pass, and counts its
 * objects; only these are looked at one by one.
 *
 * A condition leaves those objects of a bitmap whose counter reaches its min_count, the same way.
 *
 * Where more objects reach the floor than the query wants (the first tile, and the first where relational
 * data ties), the threshold is raised first: T is the largest count that at least k allowed objects of this
 * tile reach, found by bisection, each step one pass.  Those k rank before every object of
 * a smaller count, and of the objects with count = T the first ones in object order rank before the others, so
 * exactly k objects are offered.
 *
 * By key.  In a key table keys never decrease with the count, so a floor of keys is a smallest count for each size.  An
 * object is looked at if its counter reaches the smallest count of its size; the smallest of all sizes is the tile's
 * threshold.
 *
 * The top-k is compacted after a tile that filled it, so that its floor, which only grows, is as high as it can be for
 * the next one.
 */
#include <string.h>

#include "genie_tile_select.h"

/* words of a tile, 1,024 objects, that are offered by key before the floor is raised for the first time */
#define STRETCH_WORDS 16

static inline bool
is_live(const GenieTile *tile, uint32_t local)
{
	return local < tile->n_objects &&
		(tile->live == NULL || ((tile->live[local / 64] >> (local % 64)) & 1) != 0);
}

static inline uint32_t
n_words(const GenieTile *tile)
{
	return (tile->n_objects + 63) / 64;
}

static inline uint32_t
count_of(const GenieTileScratch *scratch, bool wide, uint32_t local)
{
	return wide ? scratch->counters.wide[local] : scratch->counters.narrow[local];
}

/* of the n words from first on */
static inline uint32_t
mask_at_least(GenieTileScratch *scratch, bool wide, uint32_t first, uint32_t n, uint32_t threshold)
{
	if (wide)
		return scratch->kernels->mask_16(scratch->counters.wide + 64 * first, n, threshold,
										 scratch->allowed + first, scratch->mask + first);
	return scratch->kernels->mask_8(scratch->counters.narrow + 64 * first, n, threshold,
									scratch->allowed + first, scratch->mask + first);
}

/* an object's size - the smallest of the tile's */
static inline uint32_t
size_above(const GenieTile *tile, uint32_t local)
{
	if (tile->sizes.width == 0)
		return 0;
	if (tile->sizes.width == 1)
		return tile->sizes.above[local];
	return ((const uint16_t *) (const void *) tile->sizes.above)[local];
}

static inline uint32_t
key_of(const GenieTile *tile, const GenieEngineQuery *query, uint32_t local, uint32_t count)
{
	if (query->keys == NULL)
		return count;
	return genie_keys_of_size(query->keys, tile->sizes.smallest + size_above(tile, local))[count];
}

/*
 * Raises the floor for later tiles.  A large top-k waits until an eighth of it is new, because compaction
 * costs its size.
 */
static void
raise_floor(GenieTopK *top)
{
	if (top->n < top->k)
		return;
	if (top->floor == top->min_key || top->n - top->k >= top->k / 8)
		genie_topk_compact(top);
}

/*
 * The smallest count of a row whose key reaches the floor; more than max_count: none does.  guess is what it was in
 * another row: rows of neighbouring sizes are much alike.
 */
static uint32_t
least_count(const uint32_t *row, uint32_t max_count, uint32_t floor, uint32_t guess)
{
	uint32_t	low = 0;
	uint32_t	high = max_count + 1;

	if (guess > 0 && row[guess - 1] < floor)
		low = guess;
	if (guess <= max_count && row[guess] >= floor)
		high = guess;
	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (row[middle] >= floor)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint32_t
genie_tile_threshold(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query,
					 const GenieTopK *top)
{
	const GenieTileSizes *sizes = &tile->sizes;
	const uint32_t *last = NULL;
	uint32_t	threshold = query->max_count + 1;
	uint32_t	least = 0;

	if (query->keys == NULL)
		return top->floor;
	for (uint32_t i = 0; i <= sizes->largest - sizes->smallest; i++)
	{
		const uint32_t *row = genie_keys_of_size(query->keys, sizes->smallest + i);

		if (row != last)
			least = least_count(row, query->max_count, top->floor, least);
		last = row;
		scratch->least[i] = least < UINT16_MAX ? (uint16_t) least : UINT16_MAX;
		if (i < GENIE_LEAST_SIZES)
			scratch->narrow_least[i] = least < UINT8_MAX ? (uint8_t) least : UINT8_MAX;
		if (least < threshold)
			threshold = least;
	}
	return threshold;
}

void
genie_tile_live(const GenieTile *tile, uint64_t *objects)
{
	uint32_t	words = n_words(tile);

	if (tile->live != NULL)
		memcpy(objects, tile->live, words * sizeof(uint64_t));
	else
		memset(objects, 0xFF, words * sizeof(uint64_t));
	if (tile->n_objects % 64 != 0)
		objects[words - 1] &= (UINT64_C(1) << (tile->n_objects % 64)) - 1;
	memset(objects + words, 0, (GENIE_TILE_WORDS - words) * sizeof(uint64_t));
}

/* ---- by count ---- */

/* Clears the first n bits of scratch->allowed where scratch->mask is set. */
static void
disallow(GenieTileScratch *scratch, uint32_t n)
{
	for (uint32_t w = 0; w < n / 64; w++)
		scratch->allowed[w] &= ~scratch->mask[w];
	if (n % 64 != 0)
		scratch->allowed[n / 64] &= ~(scratch->mask[n / 64] & ((UINT64_C(1) << (n % 64)) - 1));
}

/* Takes away objects that rank at or before the cursor: a larger count, or the same count up to its object. */
static void
allow_after(GenieTileScratch *scratch, const GenieTile *tile,
			const GenieEngineQuery *query, const GenieTopK *top)
{
	bool		wide = genie_query_is_wide(query);
	uint64_t	first = tile->first_object;
	uint64_t	n_before = 0;	/* objects of the tile up to the cursor's */

	if (top->after.key > query->max_count)
		return;
	if (top->after.key < query->max_count)
	{
		mask_at_least(scratch, wide, 0, n_words(tile), top->after.key + 1);
		disallow(scratch, tile->n_objects);
	}
	if (top->after.object >= first)
		n_before = top->after.object - first + 1;
	if (n_before > tile->n_objects)
		n_before = tile->n_objects;
	if (n_before > 0)
	{
		mask_at_least(scratch, wide, 0, n_words(tile), top->after.key);
		disallow(scratch, (uint32_t) n_before);
	}
}

/*
 * The largest threshold that at least k allowed objects reach, given that the one passed in is reached by that
 * many; *above gets how many objects pass it.
 */
static uint32_t
raise_threshold(GenieTileScratch *scratch, const GenieTile *tile,
				const GenieEngineQuery *query, uint32_t threshold, uint32_t k, uint32_t *above)
{
	uint32_t	low = threshold;
	uint32_t	high = query->max_count + 1;

	*above = 0;
	while (high - low > 1)
	{
		uint32_t	middle = low + (high - low) / 2;
		uint32_t	n = mask_at_least(scratch, genie_query_is_wide(query), 0, n_words(tile), middle);

		if (n >= k)
			low = middle;
		else
		{
			high = middle;
			*above = n;
		}
	}
	return low;
}

static bool
select_by_count(GenieTileScratch *scratch, const GenieTile *tile,
				const GenieEngineQuery *query, uint32_t threshold, GenieTopK *top)
{
	const bool	wide = genie_query_is_wide(query);
	const uint32_t words = n_words(tile);
	const uint32_t first = tile->first_object;
	uint32_t	n;
	uint32_t	ties;			/* objects of count = threshold to be offered */

	genie_tile_live(tile, scratch->allowed);
	if (top->has_after)
		allow_after(scratch, tile, query, top);
	n = ties = mask_at_least(scratch, wide, 0, words, threshold);
	if (n > top->k)
	{
		uint32_t	above;

		threshold = raise_threshold(scratch, tile, query, threshold, top->k, &above);
		mask_at_least(scratch, wide, 0, words, threshold);
		ties = top->k - above;
	}

	for (uint32_t w = 0; w < words; w++)
	{
		for (uint64_t bits = scratch->mask[w]; bits != 0; bits &= bits - 1)
		{
			uint32_t	local = 64 * w + (uint32_t) __builtin_ctzll(bits);
			uint32_t	count = count_of(scratch, wide, local);

			if (count > query->max_count)
				return false;
			if (count == threshold)
			{
				if (ties == 0)
					continue;
				ties--;
			}
			genie_topk_offer(top, count, first + local);
		}
	}
	if (n > 0)
		raise_floor(top);
	return true;
}

/* ---- by key ---- */

/* Fills n words of the mask with the objects whose count is at least what is wanted of their size, a byte each. */
static uint32_t
mask_narrow_sizes(GenieTileScratch *scratch, const GenieTile *tile, uint32_t first, uint32_t n)
{
	const GenieKernels *kernels = scratch->kernels;
	const uint8_t *sizes = tile->sizes.above;
	const uint32_t n_least = tile->sizes.largest - tile->sizes.smallest + 1;
	const uint32_t last = first + n - 1;
	uint8_t		last_sizes[64] = {0};
	uint32_t	n_masked = 0;

	if (64 * (last + 1) <= tile->n_objects)
		return kernels->mask_sizes_8(scratch->counters.narrow + 64 * first, n, sizes + 64 * first,
									 scratch->narrow_least, n_least, scratch->allowed + first, scratch->mask + first);

	/* the sizes end within the last word */
	if (n > 1)
		n_masked = mask_narrow_sizes(scratch, tile, first, n - 1);
	memcpy(last_sizes, sizes + 64 * last, tile->n_objects - 64 * last);
	return n_masked + kernels->mask_sizes_8(scratch->counters.narrow + 64 * last, 1, last_sizes, scratch->narrow_least,
											n_least, scratch->allowed + last, scratch->mask + last);
}

/* Takes those objects out of n words of the mask whose count is below the least that is wanted of their size. */
static uint32_t
unmask_below_least(GenieTileScratch *scratch, const GenieTile *tile, bool wide, uint32_t first, uint32_t n)
{
	uint32_t	n_left = 0;

	for (uint32_t w = first; w < first + n; w++)
	{
		uint64_t	left = scratch->mask[w];

		for (uint64_t bits = left; bits != 0; bits &= bits - 1)
		{
			uint32_t	local = 64 * w + (uint32_t) __builtin_ctzll(bits);

			if (count_of(scratch, wide, local) < scratch->least[size_above(tile, local)])
				left ^= bits & -bits;
		}
		scratch->mask[w] = left;
		n_left += (uint32_t) __builtin_popcountll(left);
	}
	return n_left;
}

/* The same as mask_narrow_sizes, whatever counters and sizes are; no least count is below the threshold. */
static uint32_t
mask_by_size(GenieTileScratch *scratch, const GenieTile *tile, bool wide, uint32_t first, uint32_t n,
			 uint32_t threshold)
{
	if (!wide && tile->sizes.width == sizeof(uint8_t) && scratch->kernels->mask_sizes_8 != NULL)
		return mask_narrow_sizes(scratch, tile, first, n);
	if (mask_at_least(scratch, wide, first, n, threshold) == 0)
		return 0;
	return unmask_below_least(scratch, tile, wide, first, n);
}

/* Offers the objects in n words of the mask. */
static bool
offer_keys(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query,
		   uint32_t first, uint32_t n, GenieTopK *top)
{
	const bool	wide = genie_query_is_wide(query);

	for (uint32_t w = first; w < first + n; w++)
	{
		for (uint64_t bits = scratch->mask[w]; bits != 0; bits &= bits - 1)
		{
			uint32_t	local = 64 * w + (uint32_t) __builtin_ctzll(bits);
			uint32_t	count = count_of(scratch, wide, local);

			if (count > query->max_count)
				return false;
			genie_topk_offer(top, key_of(tile, query, local, count), tile->first_object + local);
		}
	}
	return true;
}

/*
 * While nothing bounds the top-k, any object may be wanted: so the first ones of a tile are looked at in stretches,
 * each as long as all before it, and each stretch raises the floor for the next.
 */
static bool
select_by_key(GenieTileScratch *scratch, const GenieTile *tile,
			  const GenieEngineQuery *query, uint32_t threshold, GenieTopK *top)
{
	const bool	wide = genie_query_is_wide(query);
	const uint32_t words = n_words(tile);
	uint32_t	floor = top->floor;
	uint32_t	stretch = floor == top->min_key ? STRETCH_WORDS : words;

	genie_tile_live(tile, scratch->allowed);
	for (uint32_t first = 0, n; first < words; first += n)
	{
		n = words - first < stretch ? words - first : stretch;
		stretch = first + n;
		if (top->floor != floor)
			threshold = genie_tile_threshold(scratch, tile, query, top);
		floor = top->floor;
		if (threshold > query->max_count)
			break;
		if (mask_by_size(scratch, tile, wide, first, n, threshold) == 0)
			continue;
		if (!offer_keys(scratch, tile, query, first, n, top))
			return false;
		raise_floor(top);
	}
	return true;
}

bool
genie_tile_select_dense(GenieTileScratch *scratch, const GenieTile *tile,
						const GenieEngineQuery *query, uint32_t threshold, GenieTopK *top)
{
	if (query->keys != NULL)
		return select_by_key(scratch, tile, query, threshold, top);
	return select_by_count(scratch, tile, query, threshold, top);
}

/* ---- few ---- */

bool
genie_tile_select_few(GenieTileScratch *scratch, const GenieTile *tile,
					  const GenieEngineQuery *query, GenieTopK *top)
{
	const uint32_t first = tile->first_object;
	bool		good = true;

	for (uint32_t w = 0; w < GENIE_TILE_WORDS; w++)
	{
		for (uint64_t bits = scratch->touched[w]; bits != 0; bits &= bits - 1)
		{
			uint32_t	local = 64 * w + (uint32_t) __builtin_ctzll(bits);
			uint32_t	count = scratch->few_counters[local];

			scratch->few_counters[local] = 0;
			if (count > query->max_count)
				good = false;
			else if (is_live(tile, local))
				genie_topk_offer(top, key_of(tile, query, local, count), first + local);
		}
		scratch->touched[w] = 0;
	}
	raise_floor(top);
	return good;
}

/* ---- conditions ---- */

uint32_t
genie_tile_filter_dense(GenieTileScratch *scratch, const GenieTile *tile,
						const GenieCondition *condition, uint64_t *objects)
{
	const uint32_t words = n_words(tile);
	uint32_t	n;

	memcpy(scratch->allowed, objects, words * sizeof(uint64_t));
	n = mask_at_least(scratch, genie_query_is_wide(&condition->query), 0, words, condition->min_count);
	memcpy(objects, scratch->mask, words * sizeof(uint64_t));
	return n;
}

uint32_t
genie_tile_filter_few(GenieTileScratch *scratch, const GenieCondition *condition, uint64_t *objects)
{
	uint32_t	n = 0;

	for (uint32_t w = 0; w < GENIE_TILE_WORDS; w++)
	{
		uint64_t	fulfil = 0;

		for (uint64_t bits = scratch->touched[w]; bits != 0; bits &= bits - 1)
		{
			uint32_t	local = 64 * w + (uint32_t) __builtin_ctzll(bits);

			if (scratch->few_counters[local] >= condition->min_count)
				fulfil |= bits & -bits;
			scratch->few_counters[local] = 0;
		}
		scratch->touched[w] = 0;
		objects[w] &= fulfil;
		if (objects[w] != 0)
			n += (uint32_t) __builtin_popcountll(objects[w]);
	}
	return n;
}

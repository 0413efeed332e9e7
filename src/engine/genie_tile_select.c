/*
 * genie_tile_select.c
 *	  Offering one tile's objects to a query's top-k (genie_tile_select.h).
 *
 * Selection works on bitmaps of the tile: the objects *allowed* (live, existing, ranked below the
 * cursor), and of those the ones whose counter reaches a threshold.  A kernel makes the second from
 * the first and counts it in one pass; only the objects in it are looked at one by one.
 *
 * A condition leaves those objects of a bitmap whose counter reaches its min_count, the same way.
 *
 * Where more objects reach the floor than the query wants (the first tile, and the first where relational
 * data ties), the threshold is raised first: T is the largest count that at least k allowed objects of this
 * tile reach, found by bisection, each step one pass.  Those k rank before every object of
 * a smaller count, and of the objects with count = T the first ones in object order rank before the others, so
 * exactly k objects are offered.
 *
 * The top-k is compacted after a tile that filled it, so that its floor, which only grows, is
 * as high as it can be for the next one.
 */
#include <assert.h>
#include <string.h>

#include "genie_tile_select.h"

/* entries of a key table that are looked at for a tile's threshold: a tile's work */
#define KEYS_LOOKED_AT GENIE_TILE_OBJECTS

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

static inline uint32_t
mask_at_least(GenieTileScratch *scratch, bool wide, uint32_t words, uint32_t threshold)
{
	if (wide)
		return scratch->kernels->mask_16(scratch->counters.wide, words, threshold,
										 scratch->allowed, scratch->mask);
	return scratch->kernels->mask_8(scratch->counters.narrow, words, threshold,
									scratch->allowed, scratch->mask);
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

uint32_t
genie_tile_threshold(const GenieEngineQuery *query, const GenieTopK *top)
{
	const GenieKeyTable *table = query->keys;
	const uint32_t row = query->max_count + 1;
	uint32_t	n_looked_at = 0;

	if (table == NULL)
		return top->floor;
	for (uint32_t count = 0; count <= query->max_count; count++)
	{
		for (uint32_t class = 0; class < table->n_classes; class++)
			if (table->keys[(size_t) class * row + count] >= top->floor)
				return count;
		n_looked_at += table->n_classes;
		if (n_looked_at >= KEYS_LOOKED_AT)
			return count;		/* not proven further: a smaller threshold is right too */
	}
	return query->max_count + 1;
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

/* Takes away what ranks at or before the cursor: a larger count, or the same up to its object. */
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
		mask_at_least(scratch, wide, n_words(tile), top->after.key + 1);
		disallow(scratch, tile->n_objects);
	}
	if (top->after.object >= first)
		n_before = top->after.object - first + 1;
	if (n_before > tile->n_objects)
		n_before = tile->n_objects;
	if (n_before > 0)
	{
		mask_at_least(scratch, wide, n_words(tile), top->after.key);
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
		uint32_t	n = mask_at_least(scratch, genie_query_is_wide(query), n_words(tile), middle);

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
	n = ties = mask_at_least(scratch, wide, words, threshold);
	if (n > top->k)
	{
		uint32_t	above;

		threshold = raise_threshold(scratch, tile, query, threshold, top->k, &above);
		mask_at_least(scratch, wide, words, threshold);
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

static bool
select_by_key(GenieTileScratch *scratch, const GenieTile *tile,
			  const GenieEngineQuery *query, uint32_t threshold, GenieTopK *top)
{
	const bool	wide = genie_query_is_wide(query);
	const uint32_t words = n_words(tile);
	const uint32_t first = tile->first_object;
	const GenieKeyTable *table = query->keys;

	assert(tile->sizes != NULL);

	genie_tile_live(tile, scratch->allowed);
	if (mask_at_least(scratch, wide, words, threshold) == 0)
		return true;
	for (uint32_t w = 0; w < words; w++)
	{
		for (uint64_t bits = scratch->mask[w]; bits != 0; bits &= bits - 1)
		{
			uint32_t	local = 64 * w + (uint32_t) __builtin_ctzll(bits);
			uint32_t	count = count_of(scratch, wide, local);
			size_t		class = table->class_of_size[tile->sizes[local]];

			if (count > query->max_count)
				return false;
			genie_topk_offer(top, table->keys[class * (query->max_count + 1) + count], first + local);
		}
	}
	raise_floor(top);
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
				genie_topk_offer(top, count, first + local);
		}
		scratch->touched[w] = 0;
	}
	raise_floor(top);
	return good;
}

/* ---- conditions ---- */

bool
genie_tile_filter_dense(GenieTileScratch *scratch, const GenieTile *tile,
						const GenieCondition *condition, uint64_t *objects)
{
	const uint32_t words = n_words(tile);

	memcpy(scratch->allowed, objects, words * sizeof(uint64_t));
	if (mask_at_least(scratch, genie_query_is_wide(&condition->query), words, condition->min_count) == 0)
	{
		memset(objects, 0, words * sizeof(uint64_t));
		return false;
	}
	memcpy(objects, scratch->mask, words * sizeof(uint64_t));
	return true;
}

bool
genie_tile_filter_few(GenieTileScratch *scratch, const GenieCondition *condition, uint64_t *objects)
{
	uint64_t	any = 0;

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
		any |= objects[w];
	}
	return any != 0;
}

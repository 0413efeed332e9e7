/*
 * genie_tile_zones.c
 *	  Conjunctions by zones and codes (genie_tile_zones.h).
 *
 * A tile's zones are looked at all at once, each a bit of a word, by the kernel that compares counters with a
 * threshold.
 */
#include <string.h>

#include "genie_code_bounds.h"
#include "genie_tile_zones.h"

#define ZONE_WORDS (GENIE_ZONE_OBJECTS / 64)

/*
 * Adds what a range of ranks asks for.  False: it has a dimension too many, or one that has a range already, and this
 * one does not follow it.
 */
static bool
add_range(const GenieImageGroup *group, const GenieRankRange *range, GenieCodeSpan *asked, uint32_t *n, uint32_t most)
{
	for (uint32_t rank = range->first; rank < range->end;)
	{
		GenieCodeSpan span = genie_code_span(group, *n == 0 ? 0 : asked[*n - 1].dimension, rank, range->end);

		if (*n == 0 || asked[*n - 1].dimension != span.dimension)
		{
			if (*n == most)
				return false;
			asked[(*n)++] = span;
		}
		else if (asked[*n - 1].high + 1 != span.low)
			return false;
		else
			asked[*n - 1].high = span.high;
		rank = genie_image_dimensions(group)[span.dimension].first_rank + span.high;
	}
	return true;
}

/* The zones among those allowed whose number in codes is at least code. */
static uint64_t
at_least(const GenieTileScratch *scratch, const uint16_t *codes, uint32_t code, uint64_t allowed)
{
	uint64_t	mask;

	scratch->kernels->mask_16(codes, 1, code, &allowed, &mask);
	return mask;
}

/* Compares a dimension's codes in some zones, too.  False: it is in a strip too many. */
static bool
compare(const GenieTile *tile, const GenieCodeSpan *span, uint64_t in_zones, GenieTileZones *zones)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	const GenieCodeDimension *dimension = genie_image_dimensions(group) + span->dimension;
	const GenieCodeStrip *from = genie_image_strips(group) + dimension->strip;
	GenieZoneStrip *strip = zones->strips;

	while (strip < zones->strips + zones->n_strips && strip->strip != dimension->strip)
		strip++;
	if (strip == zones->strips + zones->n_strips)
	{
		if (zones->n_strips++ == GENIE_ZONE_STRIPS_MAX)
			return false;
		strip->strip = dimension->strip;
		strip->zones = 0;
		strip->rows = genie_code_strip_rows(tile, from);
		genie_code_bounds_begin(&strip->bounds, from, true);
	}
	strip->zones |= in_zones;
	genie_code_bounds_set(&strip->bounds, dimension, span);
	return true;
}

bool
genie_tile_zones(const GenieTileScratch *scratch, const GenieTile *tile, const GenieCondition *condition,
				 GenieTileZones *zones)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	const GenieEngineQuery *query = &condition->query;
	const uint32_t n_zones = genie_zones(tile->n_objects);
	GenieCodeSpan asked[GENIE_ZONE_DIMENSIONS_MAX];
	uint64_t	open[GENIE_ZONE_DIMENSIONS_MAX];	/* zones in which not all codes are within */
	uint32_t	n = 0;

	if (group == NULL || group->n_dimensions == 0 || condition->min_count > GENIE_ZONE_DIMENSIONS_MAX)
		return false;
	for (uint32_t r = 0; r < query->n_ranges; r++)
		if (!add_range(group, &query->ranges[r], asked, &n, condition->min_count))
			return false;
	if (n != condition->min_count)
		return false;

	zones->possible = UINT64_MAX >> (GENIE_TILE_ZONES - n_zones);
	zones->n_strips = 0;
	for (uint32_t i = 0; i < n && zones->possible != 0; i++)
	{
		const uint16_t *smallest = genie_image_zones(group, tile->image, asked[i].dimension);
		const uint16_t *largest = smallest + n_zones;

		zones->possible = at_least(scratch, largest, asked[i].low, zones->possible);
		open[i] = ~at_least(scratch, smallest, asked[i].low, zones->possible);
		if (asked[i].high < genie_image_dimensions(group)[asked[i].dimension].n_values)
		{
			zones->possible &= ~at_least(scratch, smallest, asked[i].high + 1, zones->possible);
			open[i] |= at_least(scratch, largest, asked[i].high + 1, zones->possible);
		}
	}
	for (uint32_t i = 0; i < n && zones->possible != 0; i++)
		if ((open[i] & zones->possible) != 0 && !compare(tile, &asked[i], open[i] & zones->possible, zones))
			return false;
	zones->cost = 0;
	for (uint32_t s = 0; s < zones->n_strips; s++)
		zones->cost += (uint64_t) __builtin_popcountll(zones->strips[s].zones) * GENIE_ZONE_OBJECTS *
			zones->strips[s].bounds.row_bytes / scratch->kernels->code_bytes;
	return true;
}

uint32_t
genie_tile_filter_zones(const GenieTileScratch *scratch, const GenieTile *tile, const GenieTileZones *zones,
						uint64_t *objects)
{
	uint32_t	n = 0;

	for (uint32_t z = 0; z < genie_zones(tile->n_objects); z++)
	{
		uint64_t   *words = objects + z * ZONE_WORDS;

		if ((zones->possible >> z & 1) == 0)
		{
			memset(words, 0, ZONE_WORDS * sizeof(uint64_t));
			continue;
		}
		for (const GenieZoneStrip *strip = zones->strips; strip < zones->strips + zones->n_strips; strip++)
			if ((strip->zones >> z & 1) != 0)
				scratch->kernels->match_codes(strip->rows + (size_t) z * GENIE_ZONE_OBJECTS * strip->bounds.row_bytes,
											  ZONE_WORDS, &strip->bounds, words);
		n += scratch->kernels->count_both(words, words, ZONE_WORDS);
	}
	return n;
}

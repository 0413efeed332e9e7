/*
 * genie_tile_zones.c
 *	  Conjunctions by zones and codes (genie_tile_zones.h).
 *
 * A tile's zones are looked at all at once, each a bit of a word, by the kernel that compares counters with a
 * threshold.
 */
#include <string.h>

#include "genie_tile_zones.h"

#define ZONE_WORDS (GENIE_ZONE_OBJECTS / 64)

/* A dimension's codes that match, from low to high. */
typedef struct CodeRange
{
	uint32_t	dimension;
	uint32_t	low;
	uint32_t	high;
} CodeRange;

/* The dimension of a rank, at or behind dimension d. */
static uint32_t
dimension_of(const GenieCodeDimension *dimensions, uint32_t d, uint32_t n_dimensions, uint32_t rank)
{
	uint32_t	end = n_dimensions;

	while (end - d > 1)
	{
		uint32_t	middle = d + (end - d) / 2;

		if (dimensions[middle].first_rank <= rank)
			d = middle;
		else
			end = middle;
	}
	return d;
}

/*
 * Adds what a range of ranks asks for.  False: it has a dimension too many, or one that has a range already, and this
 * one does not follow it.
 */
static bool
add_range(const GenieImageGroup *group, const GenieRankRange *range, CodeRange *asked, uint32_t *n, uint32_t most)
{
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	uint32_t	d = *n == 0 ? 0 : asked[*n - 1].dimension;

	for (uint32_t rank = range->first; rank < range->end;)
	{
		uint32_t	first;
		uint32_t	end;

		d = dimension_of(dimensions, d, group->n_dimensions, rank);
		first = dimensions[d].first_rank;
		end = first + dimensions[d].n_values < range->end ? first + dimensions[d].n_values : range->end;
		if (*n == 0 || asked[*n - 1].dimension != d)
		{
			if (*n == most)
				return false;
			asked[(*n)++] = (CodeRange) {d, rank - first + 1, end - first};
		}
		else if (asked[*n - 1].high != rank - first)
			return false;
		else
			asked[*n - 1].high = end - first;
		rank = end;
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
compare(const GenieTile *tile, const CodeRange *range, uint64_t in_zones, GenieTileZones *zones)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	const GenieCodeDimension *dimension = genie_image_dimensions(group) + range->dimension;
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
		strip->rows = tile->base + tile->image->codes + (size_t) from->offset * genie_code_rows(tile->n_objects);
		strip->bounds.width = from->width;
		strip->bounds.row_bytes = from->row_bytes;
		memset(&strip->bounds.low, 0, sizeof(strip->bounds.low));
		memset(&strip->bounds.high, 0xFF, sizeof(strip->bounds.high));
	}
	strip->zones |= in_zones;
	if (from->width == 16)
		for (uint32_t i = dimension->slot; i < GENIE_CODE_BOUND_BYTES / 2; i += from->row_bytes / 2)
		{
			strip->bounds.low.words[i] = (uint16_t) range->low;
			strip->bounds.high.words[i] = (uint16_t) range->high;
		}
	else
	{
		uint32_t	half = from->width == 4 ? dimension->slot % 2 : 0;

		for (uint32_t i = dimension->slot * from->width / 8; i < GENIE_CODE_BOUND_BYTES; i += from->row_bytes)
		{
			strip->bounds.low.bytes[half][i] = (uint8_t) range->low;
			strip->bounds.high.bytes[half][i] = (uint8_t) range->high;
		}
	}
	return true;
}

bool
genie_tile_zones(const GenieTileScratch *scratch, const GenieTile *tile, const GenieCondition *condition,
				 GenieTileZones *zones)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	const GenieEngineQuery *query = &condition->query;
	const uint32_t n_zones = genie_zones(tile->n_objects);
	CodeRange	asked[GENIE_ZONE_DIMENSIONS_MAX];
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

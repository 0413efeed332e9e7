/*
 * genie_tile_search.c
 *	  One query in one tile (genie_tile_search.h): find, then count and select.
 *
 * A condition that is a conjunction goes by zones and codes instead where these are estimated to cost less
 * (genie_tile_zones.h).  Zones are looked at first: where they exclude the tile, nothing is found or copied.
 *
 * Where all lists were found in one round, their number bounds every count: a tile that cannot give a wanted count is
 * left out, and one of few postings is counted without looking at all counters.
 */
#include "genie_tile_count.h"
#include "genie_tile_search.h"
#include "genie_tile_select.h"
#include "genie_tile_zones.h"

/* Were all of a query's lists found, and are they few? */
static inline bool
is_few(const GenieTileFound *found, bool more)
{
	return !more && found->n_postings <= GENIE_FEW_POSTINGS;
}

/* Is no count in the tile as large as the threshold? */
static inline bool
is_out_of_reach(uint32_t threshold, const GenieEngineQuery *query, const GenieTileFound *found, bool more)
{
	return threshold > query->max_count || (!more && threshold > found->max_count);
}

bool
genie_tile_may_have(GenieTileScratch *scratch, const GenieTile *tile,
					const GenieEngineQuery *query, const GenieTopK *top)
{
	GenieTileFound found = {0};
	bool		more = genie_tile_find(scratch, tile, query, &found);

	return !is_out_of_reach(genie_tile_threshold(scratch, tile, query, top), query, &found, more);
}

/* Offers the slice's live objects to the top-k, part by part; the threshold rises meanwhile. */
static bool
search_parts(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query,
			 const GenieTileFound *found, uint32_t threshold, GenieTopK *top)
{
	uint32_t	end;

	for (uint32_t first = tile->slice_first; first < tile->slice_end; first = end)
	{
		GenieTile	part = *tile;

		end = tile->slice_end - first < genie_part_objects(query) ? tile->slice_end : first + genie_part_objects(query);
		if (first > tile->slice_first)
			threshold = genie_tile_threshold(scratch, tile, query, top);
		if (is_out_of_reach(threshold, query, found, false))
			break;
		part.first_object += first;
		part.n_objects = end - first;
		if (tile->live != NULL)
			part.live = tile->live + first / 64;
		if (tile->sizes.width > 0)
			part.sizes.above = tile->sizes.above + (size_t) first * tile->sizes.width;
		genie_tile_count_part(scratch, tile, query, found, first, end);
		if (!genie_tile_select_dense(scratch, &part, query, threshold, top))
			return false;
	}
	return true;
}

bool
genie_tile_search(GenieTileScratch *scratch, const GenieTile *tile,
				  const GenieEngineQuery *query, GenieTopK *top)
{
	GenieTileFound found = {0};
	bool		more = genie_tile_find(scratch, tile, query, &found);
	uint32_t	threshold = genie_tile_threshold(scratch, tile, query, top);

	if (is_out_of_reach(threshold, query, &found, more))
		return true;
	if (!is_few(&found, more) && genie_tile_in_parts(tile, &found, more))
		return search_parts(scratch, tile, query, &found, threshold, top);
	if (tile->slice_first > 0)
		return true;
	if (threshold > 0 && is_few(&found, more))
		return genie_tile_count_few(scratch, tile, &found) &&
			genie_tile_select_few(scratch, tile, query, top);
	return genie_tile_count_dense(scratch, tile, query, &found, more) &&
		genie_tile_select_dense(scratch, tile, query, threshold, top);
}

/* What counting the lists that were found costs, in postings; more: at least. */
static uint64_t
list_cost(const GenieTileFound *found, bool more)
{
	return is_few(found, more) ? found->n_postings * GENIE_COST_FEW : found->n_postings + GENIE_COST_TILE;
}

/*
 * Leaves those of objects that fulfil the condition; *n: how many.  first: there are no objects yet, it is those of the
 * tile that are live.  Where none is left, objects may be anything.  False: a list is malformed.
 */
static bool
filter(GenieTileScratch *scratch, const GenieTile *tile, const GenieCondition *condition, bool first,
	   uint64_t *objects, uint32_t *n)
{
	const GenieEngineQuery *query = &condition->query;
	GenieTileZones zones;
	GenieTileFound found = {0};
	bool		by_zones = genie_tile_zones(scratch, tile, condition, &zones);
	bool		more = false;

	*n = 0;
	if (by_zones && zones.possible == 0)
		return true;
	if (!by_zones || zones.cost > GENIE_COST_RANGE * query->n_ranges)
	{
		more = genie_tile_find(scratch, tile, query, &found);
		if (is_out_of_reach(condition->min_count, query, &found, more))
			return true;
		by_zones = by_zones && zones.cost <= list_cost(&found, more);
	}
	if (first)
		genie_tile_live(tile, objects);
	if (by_zones)
		*n = genie_tile_filter_zones(scratch, tile, &zones, objects);
	else if (is_few(&found, more))
	{
		if (!genie_tile_count_few(scratch, tile, &found))
			return false;
		*n = genie_tile_filter_few(scratch, condition, objects);
	}
	else
	{
		if (!genie_tile_count_dense(scratch, tile, query, &found, more))
			return false;
		*n = genie_tile_filter_dense(scratch, tile, condition, objects);
	}
	return true;
}

bool
genie_tile_fulfilling(GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_conditions,
					  const GenieCondition *conditions, uint64_t *objects, uint32_t *n)
{
	*n = tile->n_objects;
	if (n_conditions == 0)
		genie_tile_live(tile, objects);
	for (uint32_t c = 0; c < n_conditions && *n > 0; c++)
		if (!filter(scratch, tile, &conditions[c], c == 0, objects, n))
			return false;
	return true;
}

/*
 * genie_tile_count.c
 *	  Counting one query's matches in one tile (genie_tile_count.h), from whatever source.
 *
 * Counters cannot overflow: they are as wide as the query's max_count needs, and no object matches more than that.
 * The lists of a damaged index may give more.  Then a counter wraps and its neighbours may be wrong too, but nothing
 * outside the counters is touched: every local is a 16-bit number, and there are 65,536 counters whatever n_objects
 * is.
 */
#include <string.h>

#include "genie_tile_count.h"
#include "genie_tile_source.h"

bool
genie_tile_find(GenieTileScratch *scratch, const GenieTile *tile,
				const GenieEngineQuery *query, GenieTileFound *found)
{
	found->n_spans = 0;
	found->max_count = 0;
	found->n_bitmaps = 0;
	found->n_postings = 0;
	return tile->source->find(scratch, tile, query, found);
}

bool
genie_tile_count_dense(GenieTileScratch *scratch, const GenieTile *tile,
					   const GenieEngineQuery *query, GenieTileFound *found, bool more)
{
	GenieCounting counting;

	counting.scratch = scratch;
	counting.wide = genie_query_is_wide(query);
	counting.all_zero = true;
	counting.n_bitmaps = 0;
	memset(&scratch->counters, 0,
		   GENIE_TILE_OBJECTS * (counting.wide ? sizeof(uint16_t) : sizeof(uint8_t)));
	for (;;)
	{
		if (!tile->source->add(&counting, tile, found->n_spans))
			return false;
		counting.all_zero = false;
		if (!more)
			break;
		more = genie_tile_find(scratch, tile, query, found);
	}
	genie_counting_flush(&counting);
	return true;
}

bool
genie_tile_in_parts(const GenieTile *tile, const GenieTileFound *found, bool more)
{
	return tile->source->add_part != NULL && !more &&
		found->max_count - found->n_bitmaps <= GENIE_PART_LISTS;
}

void
genie_tile_count_part(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query,
					  const GenieTileFound *found, uint32_t first, uint32_t end)
{
	GenieCounting counting;

	counting.scratch = scratch;
	counting.wide = genie_query_is_wide(query);
	counting.all_zero = true;
	counting.n_bitmaps = 0;
	memset(&scratch->counters, 0, GENIE_PART_BYTES);
	tile->source->add_part(&counting, tile, found->n_spans, first, end);
	genie_counting_flush(&counting);
}

bool
genie_tile_count_few(GenieTileScratch *scratch, const GenieTile *tile, const GenieTileFound *found)
{
	if (tile->source->touch(scratch, tile, found->n_spans))
		return true;
	memset(scratch->few_counters, 0, sizeof(scratch->few_counters));
	memset(scratch->touched, 0, sizeof(scratch->touched));
	return false;
}

/* Both return the largest counter of a tile; loops that the compiler vectorises. */
static uint32_t
largest_narrow(const uint8_t *counters)
{
	uint8_t		largest = 0;

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		largest = counters[i] > largest ? counters[i] : largest;
	return largest;
}

static uint32_t
largest_wide(const uint16_t *counters)
{
	uint16_t	largest = 0;

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		largest = counters[i] > largest ? counters[i] : largest;
	return largest;
}

bool
genie_tile_count_all(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query)
{
	GenieTileFound found = {0};
	bool		more = genie_tile_find(scratch, tile, query, &found);

	if (!genie_tile_count_dense(scratch, tile, query, &found, more))
		return false;
	if (genie_query_is_wide(query))
		return largest_wide(scratch->counters.wide) <= query->max_count;
	return largest_narrow(scratch->counters.narrow) <= query->max_count;
}

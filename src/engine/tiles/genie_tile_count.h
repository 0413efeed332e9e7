/*
 * genie_tile_count.h
 *	  Counting one query's matches in one tile.
 *
 * A tile's lists come from a *source* (genie_tile_source.h): as they are on pages, or from an image.  The lists that
 * the query asks for are found first (genie_tile_find), as *spans* of consecutive lists, with two totals.  The number
 * of lists bounds every count, so a tile that cannot reach the top-k's floor is left out.  The number of postings
 * decides how the tile is counted:
 *
 *	dense	zero all counters, add all lists, look at all counters.  Of an image, in *parts* of the tile, where there
 *			are not too many lists: a part's counters are in the first-level cache all the while.
 *	few		(at most GENIE_FEW_POSTINGS) counters that are zero between tiles, and a bitmap of the
 *			counters touched, so that nothing but those is looked at and zeroed again.
 */
#ifndef GENIE_TILE_COUNT_H
#define GENIE_TILE_COUNT_H

#include "genie_tile.h"

/* bytes of a part's counters, which stay in the first-level cache of 48 KB (and mostly in one of 32) */
#define GENIE_PART_BYTES 32768

/*
 * Fills scratch->spans with the next lists that the query asks for; *found is all zero before the first
 * round.  True: there may be more after this round.
 */
extern bool genie_tile_find(GenieTileScratch *scratch, const GenieTile *tile,
							const GenieEngineQuery *query, GenieTileFound *found);

/*
 * Counts the whole tile into scratch->counters, given the first round and what it returned.  False: a
 * list is malformed.
 */
extern bool genie_tile_count_dense(GenieTileScratch *scratch, const GenieTile *tile,
								   const GenieEngineQuery *query, GenieTileFound *found, bool more);

/* Is the tile to be counted in parts? */
extern bool genie_tile_in_parts(const GenieTile *tile, const GenieTileFound *found, bool more);

/* objects of a part */
static inline uint32_t
genie_part_objects(const GenieEngineQuery *query)
{
	return GENIE_PART_BYTES / (genie_query_is_wide(query) ? sizeof(uint16_t) : sizeof(uint8_t));
}

/*
 * Counts the objects [first, end) of the tile, at most a part, into the first counters of scratch.  Parts come in
 * order, the first one of the tile's slice at its beginning, and scratch is theirs alone meanwhile.
 */
extern void genie_tile_count_part(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query,
								  const GenieTileFound *found, uint32_t first, uint32_t end);

/*
 * Counts a tile of few postings, all found in one round, into few_counters and touched.  genie_tile_select_few() or
 * genie_tile_filter_few() takes the counts from there and zeroes them.  False: a list is malformed; they are zero
 * again.
 */
extern bool genie_tile_count_few(GenieTileScratch *scratch, const GenieTile *tile,
								 const GenieTileFound *found);

/*
 * Counts all objects of the tile, dead ones too, into scratch->counters: 65,536 counters, those past n_objects 0.
 * False: a list is malformed.
 */
extern bool genie_tile_count_all(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query);

#endif							/* GENIE_TILE_COUNT_H */

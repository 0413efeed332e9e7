/*
 * genie_tile_select.h
 *	  Takes one tile's objects out of the counters: offers them to a query's top-k, or filters them by a condition.
 */
#ifndef GENIE_TILE_SELECT_H
#define GENIE_TILE_SELECT_H

#include "genie_tile.h"

/*
 * The smallest count of an object that the top-k wants; more than max_count: it wants none.  With a key table,
 * scratch->least gets the same for each size.
 */
extern uint32_t genie_tile_threshold(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query,
									 const GenieTopK *top);

/*
 * After genie_tile_count_dense; threshold is what genie_tile_threshold just said, at most max_count.  False: a count
 * is above the query's max_count, so a list was not what it should be.
 */
extern bool genie_tile_select_dense(GenieTileScratch *scratch, const GenieTile *tile,
									const GenieEngineQuery *query, uint32_t threshold, GenieTopK *top);

/* After genie_tile_count_few, where objects of count 0 are not wanted; zeroes what that counted. */
extern bool genie_tile_select_few(GenieTileScratch *scratch, const GenieTile *tile,
								  const GenieEngineQuery *query, GenieTopK *top);

/* The tile's live objects as a bitmap of GENIE_TILE_WORDS words. */
extern void genie_tile_live(const GenieTile *tile, uint64_t *objects);

/*
 * After genie_tile_count_dense or genie_tile_count_few for a condition's query: leaves those of objects that
 * fulfil it, min_count being at most max_count; returns how many they are.
 */
extern uint32_t genie_tile_filter_dense(GenieTileScratch *scratch, const GenieTile *tile,
										const GenieCondition *condition, uint64_t *objects);
extern uint32_t genie_tile_filter_few(GenieTileScratch *scratch, const GenieCondition *condition, uint64_t *objects);

#endif							/* GENIE_TILE_SELECT_H */

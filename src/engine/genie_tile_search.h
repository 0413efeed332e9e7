/*
 * genie_tile_search.h
 *	  What the CPU engine does with one query in one tile: search, count, or filter by conditions.
 *
 * Each finds the query's lists, then counts and selects in the way that suits what was found.  All
 * state is in scratch, and it carries nothing from one call to the next: one that fails leaves it usable.
 */
#ifndef GENIE_TILE_SEARCH_H
#define GENIE_TILE_SEARCH_H

#include "genie_tile.h"

/* Could the tile have an object that the top-k wants? */
extern bool genie_tile_may_have(GenieTileScratch *scratch, const GenieTile *tile,
								const GenieEngineQuery *query, const GenieTopK *top);

/*
 * Offers the tile's live objects to the top-k.  False: a list is malformed.
 *
 * Of an image's tile only those in its *slice*, the objects [slice_first, slice_end), so that a tile can be shared by
 * threads.  Only where it is counted in parts is this less work: else, as the query and the tile alone decide, the
 * slice at the tile's beginning is taken to be all of it, and the others are taken to be empty.
 */
extern bool genie_tile_search(GenieTileScratch *scratch, const GenieTile *tile,
							  const GenieEngineQuery *query, GenieTopK *top);

/* A tile's live objects that fulfil all conditions as GENIE_TILE_WORDS words.  False: a list is malformed. */
extern bool genie_tile_fulfilling(GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_conditions,
								  const GenieCondition *conditions, uint64_t *objects);

#endif							/* GENIE_TILE_SEARCH_H */

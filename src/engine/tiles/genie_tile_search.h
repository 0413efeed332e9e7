/*
 * genie_tile_search.h
 *	  One query in one tile: search it, or filter it by conditions.
 *
 * Each function finds the query's lists, then counts and selects in the way that suits them.  All state is in scratch,
 * which carries nothing from one call to the next: after a failed call it is still usable.
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
 * Of an image's tile, only the objects of its *slice* are offered, [slice_first, slice_end), so that threads can share
 * a tile.  This is less work only where the tile is counted in parts.  Where it is not, which the query and the tile
 * alone decide, the slice at the tile's beginning is taken to be all of it, and the others to be empty.
 */
extern bool genie_tile_search(GenieTileScratch *scratch, const GenieTile *tile,
							  const GenieEngineQuery *query, GenieTopK *top);

/*
 * A tile's live objects that fulfil all conditions as GENIE_TILE_WORDS words; *n: how many they are, where there is a
 * condition.  Where they are none, the words may be anything.  False: a list is malformed.
 */
extern bool genie_tile_fulfilling(GenieTileScratch *scratch, const GenieTile *tile, uint32_t n_conditions,
								  const GenieCondition *conditions, uint64_t *objects, uint32_t *n);

#endif							/* GENIE_TILE_SEARCH_H */

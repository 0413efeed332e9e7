/*
 * genie_tile_facets.h
 *	  How many of a tile's objects have each keyword, or lie in each cell of a grid.
 */
#ifndef GENIE_TILE_FACETS_H
#define GENIE_TILE_FACETS_H

#include "genie_tile.h"

/* Adds, for each rank of a range, how many of the live objects of a tile of an image have it to its sum. */
extern void genie_tile_facets(const GenieTileScratch *scratch, const GenieTile *tile, GenieRankRange range,
							  uint32_t *sums);

/*
 * Adds the live objects of a tile of an image to the cells of a grid; all objects that were added before are smaller.
 * False: one has two keywords on an axis, and one on each axis before.
 */
extern bool genie_tile_grid(GenieTileScratch *scratch, const GenieTile *tile, const GenieGrid *grid,
							GenieGridCell *cells);

/* Adds what a range of tiles gave to what tiles before them gave. */
extern void genie_grid_merge(GenieGridCell *cells, const GenieGridCell *later, uint32_t n_cells);

#endif							/* GENIE_TILE_FACETS_H */

/*
 * genie_segment_facets.h
 *	  How many of some objects of a segment have each keyword, or lie in each cell of a grid, by the worker.
 *
 * A backend that has to count itself reads the posting lists (genie_list_walk.h) instead.
 */
#ifndef GENIE_SEGMENT_FACETS_H
#define GENIE_SEGMENT_FACETS_H

#include "genie_source.h"

/* Can the worker be asked now?  If not, that is noted as the backend's work. */
extern bool genie_segment_facets_can(GenieSource *source);

/*
 * Counts the objects that are set in live, bits of whole tiles, for each rank of each range: sums has an entry each,
 * range after range.  False: the worker did not answer.
 */
extern bool genie_segment_facets(GenieSource *source, const uint64 *live, const GenieRankRange *ranges, uint32 n_ranges,
								 uint32 *sums);

/*
 * Counts them for each of the grid's cells; *repeats: one has two keywords on an axis, and cells is undefined.  False:
 * the worker did not answer.
 */
extern bool genie_segment_grid(GenieSource *source, const uint64 *live, const GenieGrid *grid, GenieGridCell *cells,
							   bool *repeats);

#endif							/* GENIE_SEGMENT_FACETS_H */

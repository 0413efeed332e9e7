/*
 * genie_batch_edges.h
 *	  Exact counts of conjunctions over bins, without masks: the rows in bins that a query cuts, found as such.
 */
#ifndef GENIE_BATCH_EDGES_H
#define GENIE_BATCH_EDGES_H

#include "genie_batch_matches.h"

/*
 * Of those of the piece's queries that it counts: adds to numbers, one for each query, the objects that match and are
 * not sure to, and marks the query as done.  most, of each query: how many such objects there are, matching or not, at
 * most.  It leaves queries that are no conjunctions, those with many such objects, for which masks are faster, and all
 * if some segment has no scalars.  False: stale.
 */
extern bool genie_batch_edges_count(GenieMatches *matches, const uint64 *most, uint64 *numbers);

#endif							/* GENIE_BATCH_EDGES_H */

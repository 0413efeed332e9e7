/*
 * genie_batch_edges.h
 *	  Exact counts of conjunctions over bins, without masks: the rows in bins that a query cuts, found as such.
 */
#ifndef GENIE_BATCH_EDGES_H
#define GENIE_BATCH_EDGES_H

#include "genie_batch_matches.h"

/*
 * Can the piece's queries be counted so?  All that engines are asked are conjunctions, and all segments have scalars.
 */
extern bool genie_batch_edges_can(const GenieMatches *matches);

/*
 * Adds to numbers, one for each of the piece's queries, the objects that match and are not sure to.  most: how many
 * there are of them and of those that do not match, at most.  False: stale.
 */
extern bool genie_batch_edges_count(GenieMatches *matches, const uint64 *most, uint64 *numbers);

#endif							/* GENIE_BATCH_EDGES_H */

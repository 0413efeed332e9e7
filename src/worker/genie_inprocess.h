/*
 * genie_inprocess.h
 *	  Counting in the backend itself: one query in one segment from the pages, or jobs on an image of its own.
 *
 * All functions that read return false where the segment turned out to be stale (genie_segment.h).
 */
#ifndef GENIE_INPROCESS_H
#define GENIE_INPROCESS_H

#include "genie_engine.h"
#include "genie_keyword.h"
#include "genie_segment.h"

typedef struct GenieInprocess GenieInprocess;

/*
 * Reads the posting lists that view asks for; query is the same query with ranks.  NULL: stale.  Lives in the current
 * memory context; segment, view and query must stay, but query->keys may differ from call to call.  *memory is the
 * memory that the caller can spare for posting lists; the part that is taken is subtracted.
 */
extern GenieInprocess *genie_inprocess_open(GenieSegment *segment, const GenieQueryView *view,
											const GenieEngineQuery *query, Size *memory);

/*
 * The best k objects by (key desc, object asc), the key being the match count if the query has no key table, of those
 * that are set in live (NULL: all), have a key of at least min_key >= 1 and rank below *after (NULL: from the top).
 * hits has room for genie_topk_capacity(k); *n of them are valid.
 */
extern bool genie_inprocess_top(GenieInprocess *search, const uint64 *live, uint32 k, uint32 min_key,
								const GenieHit *after, GenieHit *hits, uint32 *n);

/* The match count of every object: counts has room for whole tiles (65,536 entries each). */
extern bool genie_inprocess_counts(GenieInprocess *search, uint16 *counts);

/* The same for the objects of the first tile alone. */
extern bool genie_inprocess_count_first(GenieInprocess *search, uint16 *counts);

/* Clears in live the objects that match fewer than min_count >= 1 times. */
extern bool genie_inprocess_filter(GenieInprocess *search, uint32 min_count, uint64 *live);

/*
 * Offers the objects of a segment with values that are set in live (NULL: all) to the top of each query, by the query's
 * keys (genie_value_scan.h).  Queries are of the values' metric and dimensions.
 */
extern bool genie_inprocess_scan(GenieSegment *segment, const uint64 *live, uint32 n_queries,
								 const GenieValueQuery *const *queries, GenieTopK *const *tops);

/* Runs jobs on an image in the backend's memory.  False: the engine has no memory for that; no job has a result. */
extern bool genie_inprocess_run(GenieJob *jobs, uint32 n_jobs);

#endif							/* GENIE_INPROCESS_H */

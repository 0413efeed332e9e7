/*
 * genie_segment_query.h
 *	  Counting matches in one segment: what a scan asks for, whoever counts.
 *
 * A query is compiled once against a segment, from its dictionary, and may then be asked repeatedly: for
 * the best k after a cursor, for all counts, or as a filter.  The worker counts (genie_request.h) where the
 * segment has an image; where it has none, or the worker cannot, the backend does (genie_inprocess.h).  The
 * answers are the same.
 *
 * All functions that read return false where the segment turned out to be stale (genie_segment.h).
 */
#ifndef GENIE_SEGMENT_QUERY_H
#define GENIE_SEGMENT_QUERY_H

#include "genie_compile.h"
#include "genie_keyword.h"
#include "genie_request.h"
#include "genie_source.h"
#include "genie_topk.h"

/* NULL: stale.  Lives in the current memory context; source and query must stay. */
extern GenieSegmentQuery *genie_segment_query_open(GenieSource *source, const GenieQueryView *query);

/* The same for each query of a set: searches has an entry each.  False: stale. */
extern bool genie_segment_query_open_set(GenieSource *source, const GenieQuerySet *set, GenieSegmentQuery **searches);

/* Does the query have any keyword of this segment? */
extern bool genie_segment_query_matches(const GenieSegmentQuery *search);

/* no object of the segment can match more; at least 1 */
extern uint32 genie_segment_query_max_count(const GenieSegmentQuery *search);

/*
 * From now on genie_segment_query_tops() ranks by these keys (genie_engine.h), and gives them in the place of counts;
 * what matches nothing is ranked too, if its key is not 0.  The table stays the caller's, and must cover the sizes that
 * the segment's header has.  NULL: by match count again.  genie_segment_query_counts() gives counts in any case.
 */
extern void genie_segment_query_rank_by(GenieSegmentQuery *search, const GenieKeyTable *keys);

/*
 * One question for the best k objects by (match count desc, object asc), or by (key desc, object asc): of those that
 * qualify (genie_source.h), have a match or a key, and rank below after.
 */
typedef struct GenieSegmentTop
{
	GenieSegmentQuery *search;
	uint32		k;
	bool		has_after;
	GenieHit	after;
	GenieHit   *hits;			/* room for k; NULL: genie_segment_query_tops() says where they are, and bounds, */
								/* which lasts as long as what the current memory context has */

	/* bounds of the hits' distances from a vector, where the source has quantized ones; NULL: not wanted */
	const GenieQuantizedQuery *vector;
	uint32		n_elements;
	float	   *bounds;			/* room for k; not if hits is NULL */

	/* the answer */
	uint32		n_hits;
	bool		has_bounds;
} GenieSegmentTop;

/*
 * Several at once: what the worker can answer is asked together.  Those of one source should stand side by side: where
 * there are many, and the backend counts them, it may make an image for them.
 */
extern bool genie_segment_query_tops(GenieSegmentTop *tops, uint32 n);

/* The match count of every object: counts has room for whole tiles (65,536 entries each). */
extern bool genie_segment_query_counts(GenieSegmentQuery *search, uint16 *counts);

/* Clears in live the objects that match fewer than min_count >= 1 times; always from the pages. */
extern bool genie_segment_query_filter(GenieSegmentQuery *search, uint32 min_count, uint64 *live);

/*
 * Begins a job for the worker: its image, the source's conditions, and search's query if it is not NULL.  In
 * the current memory context.
 */
extern void genie_segment_query_request(GenieSource *source, const GenieSegmentQuery *search, GenieJobKind kind,
										GenieRequestJob *request);

#endif							/* GENIE_SEGMENT_QUERY_H */

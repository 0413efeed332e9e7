/*
 * genie_segment_query.h
 *	  A query on one segment: counting its matches, by the worker or by the backend.
 *
 * A query is compiled once against a segment, from its dictionary, and may then be asked repeatedly: for
 * the best k after a cursor, for all counts, or how many objects match often enough.  The worker counts
 * (genie_request.h) where the segment has an image; where it has none, or the worker cannot, the backend does
 * (genie_inprocess.h).  The answers are the same.
 *
 * All functions that read return false where the segment turned out to be stale (genie_segment.h).
 */
#ifndef GENIE_SEGMENT_QUERY_H
#define GENIE_SEGMENT_QUERY_H

#include "genie_keyword.h"
#include "genie_query_set.h"
#include "genie_request.h"
#include "genie_source.h"
#include "genie_topk.h"

typedef struct GenieSegmentQuery GenieSegmentQuery;

/* NULL: stale.  Lives in the current memory context; source and view must stay. */
extern GenieSegmentQuery *genie_segment_query_open(GenieSource *source, const GenieQueryView *view);

/* The same for each query of a set: queries has an entry each.  False: stale. */
extern bool genie_segment_query_open_set(GenieSource *source, const GenieQuerySet *set, GenieSegmentQuery **queries);

/* Does the query have any keyword of this segment? */
extern bool genie_segment_query_matches(const GenieSegmentQuery *query);

/* no object of the segment can match more; at least 1 */
extern uint32 genie_segment_query_max_count(const GenieSegmentQuery *query);

/*
 * From now on genie_segment_query_tops() ranks by these keys (genie_engine.h), and gives them in the place of counts;
 * an object that matches nothing is ranked too, if its key is not 0.  The table stays the caller's, and must cover the
 * sizes that the segment's header has.  NULL: by match count again.  genie_segment_query_counts() always gives counts.
 */
extern void genie_segment_query_rank_by(GenieSegmentQuery *query, const GenieKeyTable *keys);

/*
 * One question for the best k objects by (match count desc, object asc), or by (key desc, object asc): of those that
 * qualify (genie_source.h), have a match or a key, and rank below after.  Or, of a source with values, by the keys of
 * lower bounds of the distances from a vector (genie_value_scan.h); perhaps only some of the best, those that a search
 * of the segment's graph finds (genie_proximity.h).
 */
typedef struct GenieSegmentTop
{
	GenieSource *source;
	GenieSegmentQuery *query;	/* of that source; NULL: by values */
	const GenieValueQuery *values;
	uint32		graph_queue;	/* by values: of a search, where there is a graph; 0: all objects are looked at */
	uint32		k;
	uint32		min_key;		/* smaller keys are not wanted; 0: all are */
	bool		has_after;
	GenieHit	after;

	/*
	 * Room for k.  NULL: genie_segment_query_tops() says where they are, and bounds; they last as long as the current
	 * memory context.
	 */
	GenieHit   *hits;

	/* bounds of the hits' distances from a vector, where the source has quantized ones; NULL: not wanted */
	const GenieQuantizedQuery *vector;
	uint32		n_elements;
	float	   *bounds;			/* room for k; not if hits is NULL */

	/* the answer */
	uint32		n_hits;
	bool		has_bounds;
} GenieSegmentTop;

/*
 * Several at once, in as few requests as possible.  Those of one source should stand side by side: where there are
 * many, and the backend counts them, it may make an image for them.
 */
extern bool genie_segment_query_tops(GenieSegmentTop *tops, uint32 n);

/*
 * One question for how many live objects match at least min_count times, or for which do, of a source without
 * conditions.  Bits of objects are whole tiles.
 */
typedef struct GenieSegmentTally
{
	GenieSegmentQuery *query;
	uint32		min_count;		/* at least 1 */
	const uint64 *live;			/* the objects that are counted; NULL: all that are live; NULL with a mask */
	uint64	   *mask;			/* gets the objects that match; NULL: they are only counted */

	/* the answer */
	uint32		n;				/* where they are only counted */
} GenieSegmentTally;

/* Several at once, in as few requests as possible.  Those of one source stand side by side. */
extern bool genie_segment_query_tallies(GenieSegmentTally *tallies, uint32 n);

/* The match count of every object: counts has room for whole tiles (65,536 entries each). */
extern bool genie_segment_query_counts(GenieSegmentQuery *query, uint16 *counts);

#endif							/* GENIE_SEGMENT_QUERY_H */

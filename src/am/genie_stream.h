/*
 * genie_stream.h
 *	  The objects of one segment, or of the pending list, in the order of a scan, one after the
 *	  other.
 *
 * Order: (count descending, TID ascending); rows that are NULL have count GENIE_COUNT_NULL and so
 * come last; without a ranking every row, NULL or not, has count 0.  A stream shows its *head*.  A
 * head may be a bound: the stream will give nothing that ranks above it, but has not counted yet
 * what comes next; genie_stream_settle makes it exact.
 * So a segment is counted further only if the scan gets that far.
 */
#ifndef GENIE_STREAM_H
#define GENIE_STREAM_H

#include "genie_keyword.h"
#include "genie_object_table.h"
#include "genie_search.h"

#define GENIE_COUNT_NULL (-1)

/* Everything that a scan asks for, compiled. */
typedef struct GenieScanQuery
{
	const GenieQueryView *order;	/* rank by this; NULL: no ranking, TID order */
	int			n_conditions;	/* @& conditions, all must hold */
	const GenieQueryView **conditions;
} GenieScanQuery;

/* Where a scan continues: behind (count, tid).  As the first position: has_position = false. */
typedef struct GenieScanPosition
{
	bool		has_position;
	int32		count;
	uint64		tid;
} GenieScanPosition;

typedef enum GenieStreamMode
{
	GENIE_STREAM_TOP,			/* pages of the best k */
	GENIE_STREAM_LEVELS,		/* all counts are known: one level after the other, down to 0 */
	GENIE_STREAM_NULLS,			/* NULL rows in TID order */
	GENIE_STREAM_END
} GenieStreamMode;

typedef struct GenieStream
{
	/* the head */
	int32		count;
	uint64		tid;
	bool		exact;			/* false: a bound */
	bool		at_end;

	/* a segment's */
	MemoryContext context;		/* of everything below */
	GenieSegment *segment;
	GenieSource *source;
	GenieStreamMode mode;
	GenieSearch *search;		/* NULL: no ranking */
	bool		null_query;		/* there is no ranking: NULL rows are like all others */
	bool		wants_nulls;	/* NULL rows come last */
	const uint64 *live;			/* LEVELS: what qualifies; NULL: all objects */
	bool		has_live;		/* it is read */
	uint64	   *nulls;			/* NULLS: live NULL rows */
	GenieObjectReader objects;
	uint32		k;				/* TOP: rows a page */
	GenieHit   *hits;
	uint32		n_hits;
	uint32		hit;
	GenieHit	after;			/* the cursor behind the page in hand */
	bool		has_after;
	uint16	   *counts;			/* LEVELS; NULL: not counted yet, or all are 0 (search is NULL) */
	uint32		level;
	uint32		lower;			/* LEVELS: no object has a count between this and level */
	uint32		next;			/* LEVELS, NULLS: next object to look at */
} GenieStream;

/*
 * Opens a segment's stream behind the position, in the current memory context.  False: stale.
 */
extern bool genie_stream_open(GenieStream *stream, GenieSource *source, const GenieScanQuery *query,
							  const GenieScanPosition *position);

/*
 * Asks for the first page of each stream that ranks, all at once: for the worker that is one request instead of
 * one after the other.  False: one is stale.
 */
extern bool genie_stream_first_pages(GenieStream *streams, int n);

/*
 * Takes a head that is a bound one step on: it becomes exact, or a lower bound, or the stream
 * at_end. False: stale.
 */
extern bool genie_stream_settle(GenieStream *stream);

/* Steps over the (exact) head. */
extern void genie_stream_next(GenieStream *stream);

#endif							/* GENIE_STREAM_H */

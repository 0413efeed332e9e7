/*
 * genie_stream.h
 *	  The objects of one segment, or of the pending list, in the order of a scan, one after the
 *	  other.
 *
 * Order: (key descending, TID ascending).  The key is the match count or, where the scan ranks by a distance, that
 * of its bound (genie_bound.h).  Rows that are NULL have key GENIE_KEY_NULL and so come last; without a
 * ranking every row, NULL or not, has key 0.  A stream shows its *head*.  A
 * head may be a bound: the stream will give nothing that ranks above it, but has not counted yet
 * what comes next; genie_stream_settle makes it exact.
 * So a segment is counted further only if the scan gets that far.
 */
#ifndef GENIE_STREAM_H
#define GENIE_STREAM_H

#include "genie_bound.h"
#include "genie_keyword.h"
#include "genie_object_table.h"
#include "genie_quantizer.h"
#include "genie_segment_query.h"
#include "genie_signer.h"
#include "genie_value_scan.h"
#include "genie_vector_type.h"

#define GENIE_KEY_NULL (-1)
#define GENIE_KEY_RAW PG_INT32_MAX	/* above all counts: pending rows that are measured, not counted */

/*
 * How a scan measures raw rows of a trained index (genie_signer.h): a lower bound of the ranking operator's value; 0
 * where there is none.
 */
typedef struct GenieRawMeasure
{
	void	   *arg;
	float		(*bound) (void *arg, const GenieRaw *raw);
} GenieRawMeasure;

/*
 * What a scan of an exact class asks for: objects are ranked by the keys of lower bounds of their distances
 * (genie_value_scan.h), which follow from the segment's values, or from a pending row's vector.  Of bits, a key tells
 * the distance (genie_value_bits.h).
 */
typedef struct GenieValueScan
{
	GenieValueShape shape;		/* of values that the query asks for */
	GenieValueQuery *query;
	float		epsilon;		/* of the query, as the scan began with */
	void	   *record;			/* room for a row's */
	Relation	index;			/* of a class of a metric, */
	const bytea *parameters;	/* and what it has learned; NULL: nothing yet */
} GenieValueScan;

/* A condition by @&: an object fulfils it if it fulfils one of the queries. */
typedef struct GenieScanCondition
{
	uint32		n;
	const GenieQueryView **queries;
} GenieScanCondition;

/* Everything that a scan asks for, compiled. */
typedef struct GenieScanQuery
{
	const GenieQueryView *order;	/* rank by this; NULL: no ranking, TID order, unless by values */
	const GenieValueScan *values;	/* rank by these; NULL: not */
	GenieBound *bound;			/* by its keys; NULL: by the match count */
	bool		excludes_nulls; /* some condition is part of the bound, or below; NULL fulfils none */
	int			n_conditions;	/* all must hold */
	GenieScanCondition *conditions;

	/* a coarse operator class, or an approximate one: of that there are no conditions, and the rows are candidates */
	bool		is_coarse;
	GenieSigner *signer;		/* NULL: it is another class */
	const bytea *parameters;	/* as of the metapage that is read; NULL: untrained, raw rows of the latter match
								 * nothing */
	const GenieRawMeasure *raw_measure; /* NULL: raw rows are signed, and counted as all others */
	uint32		first_k;		/* rows that are wanted at once; 0: nobody knows */
	GenieGraphSearch graph;		/* by values: candidates come from such searches of graphs, and are not all; queue 0:
								 * all come */
	const GenieQuantizer *quantizer;	/* for bounds of the candidates' distances; NULL: there are none */
	GenieQuantizedQuery vector;
	uint32		n_elements;
} GenieScanQuery;

/*
 * Where a scan continues: behind (key, tid).  As the first position: has_position = false.  A key means something as
 * long as the bounds are not compiled again; what it stood for is kept beside it.
 */
typedef struct GenieScanPosition
{
	bool		has_position;
	int32		key;
	double		bound;			/* of the key, where the scan ranks by bounds */
	uint64		tid;
} GenieScanPosition;

typedef enum GenieStreamMode
{
	GENIE_STREAM_TOP,			/* pages of the best k */
	GENIE_STREAM_LEVELS,		/* all counts are known: one level after the other, down to 0 */
	GENIE_STREAM_SORTED,		/* all keys of bounds are known: sorted */
	GENIE_STREAM_NULLS,			/* NULL rows in TID order */
	GENIE_STREAM_END
} GenieStreamMode;

typedef struct GenieStream
{
	/* the head */
	int32		key;
	uint64		tid;
	bool		exact;			/* false: a bound */
	bool		at_end;
	float		nearest;		/* exact: a lower bound of the row's distance, 0 where none is known */

	/* a segment's */
	MemoryContext context;		/* of everything below */
	GenieSegment *segment;
	GenieSource *source;
	GenieStreamMode mode;
	GenieSegmentQuery *search;	/* NULL: no ranking, or by values */
	const GenieBound *bound;	/* of the ranking; NULL: it is by count */
	const GenieScanQuery *query;
	bool		null_query;		/* there is no ranking: NULL rows are like all others */
	bool		wants_nulls;	/* NULL rows come last */
	const uint64 *live;			/* LEVELS, SORTED: what qualifies; NULL: all objects */
	bool		has_live;		/* it is read */
	uint64	   *nulls;			/* NULLS: live NULL rows */
	GenieObjectReader objects;
	uint32		k;				/* TOP: rows a page */
	GenieHit   *hits;
	float	   *bounds;			/* of the hits' distances; NULL: not asked for */
	uint64	   *tids;			/* of the first n_placed hits */
	uint32		n_placed;
	uint32		n_hits;
	uint32		hit;
	GenieHit	after;			/* the cursor behind the page in hand */
	bool		has_after;
	uint16	   *counts;			/* LEVELS; NULL: not counted yet, or all are 0 (search is NULL) */
	uint32		level;			/* LEVELS, SORTED: the key in hand */
	uint32		lower;			/* LEVELS: no object has a count between this and level */
	uint32		next;			/* LEVELS, NULLS: next object to look at; SORTED: next entry */
	uint32	   *sorted;			/* SORTED: objects behind the cursor, best first; NULL: not sorted yet */
	uint32		n_sorted;
	uint32	   *ends;			/* where each key's entries end */
} GenieStream;

/* TIDs of candidates that a sweep finds, without an order; begins as zeros. */
typedef struct GenieStreamTids
{
	uint64	   *tids;
	Size		n;
	Size		capacity;
} GenieStreamTids;

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

/*
 * Adds all objects from behind one position up to another, in TID order, and steps over them.  The stream ranks by a
 * bound.  False: stale; then the stream is of no use any more.
 */
extern bool genie_stream_sweep(GenieStream *stream, const GenieScanPosition *from, const GenieScanPosition *to,
							   GenieStreamTids *found);

/* Makes room for so many more, in the current memory context. */
extern void genie_stream_reserve_tids(GenieStreamTids *found, Size n);

/* Steps over the (exact) head. */
extern void genie_stream_next(GenieStream *stream);

#endif							/* GENIE_STREAM_H */

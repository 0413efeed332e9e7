/*
 * genie_batch_nearest.h
 *	  Within genie_search() by distance and genie_within() (genie_batch_nearest.c): their state, and measuring rows for
 *	  queries.
 */
#ifndef GENIE_BATCH_NEAREST_H
#define GENIE_BATCH_NEAREST_H

#include "genie_batch.h"
#include "genie_quantizer.h"
#include "genie_row.h"
#include "genie_vector_distance.h"

#define GENIE_NEAREST_PAIRS 65536	/* rows that are visited together, each for a query: each page is read once */

/* A candidate that was measured. */
typedef struct GenieMeasured
{
	double		distance;
	uint64		tid;			/* its own */
	uint64		root;			/* the TID that the index holds */
	bool		is_null;		/* the distance */
} GenieMeasured;

/* What genie_exact_knn() asks an index for. */
typedef struct GenieNearestCall
{
	Relation	heap;
	Relation	index;
	GenieVectors queries;		/* of doubles, if the index has doubles */
	uint32		k;
	GenieMetric metric;			/* 0: none */
	GenieInstrument *instrument;	/* from now on of this call */

	/* takes a row: its own TID, and its distance from the query of that number, from 0 on */
	void		(*put) (void *arg, uint32 query, uint64 tid, double distance);
	void	   *arg;
} GenieNearestCall;

typedef struct GenieNearestSearch
{
	GenieBatch	batch;
	uint32		k;
	GenieBatchOutput *output;
	uint32		n_output;		/* queries */

	/* genie_within()'s search: of each query; NULL: this is another */
	const double *radii;

	/* the array of queries */
	bool		of_vectors;
	const GenieVectorType *type;	/* that the operator wants them in */
	GenieVectors vectors;
	uint32		n_next;			/* the next vector */
	GenieArrayCursor cursor;	/* elements that are no vectors */
	ArrayType  *rows;			/* NULL: they are not rows of this array */

	/* genie_exact_knn()'s search */
	GenieNearestCall call;		/* without a metric: this is genie_search(), and the distance is the operator's */
	bool		gave_up;		/* this query and those behind it are not for the index */

	/* measuring */
	GenieRoundMeasure measure;
	GenieRowValue row_value;
	FmgrInfo	distance;		/* the operator's function */
	FmgrInfo   *distances;		/* the same for each query of a piece: they keep what they make of it; NULL: not */
	bool		is_varlena;		/* values are */
	MemoryContext row_context;	/* of the row's value */
	Datum		value;
	GenieVector vector;			/* of the value, with elements like the queries'; with a metric only */

	/* bounds, once the index has learned */
	bool		has_tried_quantizer;
	bool		has_quantizer;
	GenieQuantizer quantizer;

	/* what was measured, of a piece */
	GenieMeasured *nearest;		/* query i's from i * k on: a heap */
	GenieMeasured **within;		/* within a radius: query i's */
	uint32	   *n_nearest;
	Size		within_bytes;
} GenieNearestSearch;

/* A row that may be among the k nearest of a query. */
typedef struct GenieNearestPair
{
	uint64		tid;
	uint32		query;
} GenieNearestPair;

/* Some of them; the queries that take a row follow each other. */
typedef struct GenieNearestPairs
{
	GenieNearestSearch *search;
	GenieNearestPair *pairs;
	uint32		n;
	GenieNearestPair *sorted;	/* by TID */
	uint64	   *keys;			/* TIDs, and behind each, in 16 bits, its place among the pairs; twice the room */
	GenieVisitRow *rows;		/* of the different TIDs, ascending */
	uint32	   *first;			/* pair of each row, and the end */
} GenieNearestPairs;

#define GENIE_WITHIN_HITS 496	/* within a radius: how many rows of a query are expected */
#define GENIE_WITHIN_OVER PG_UINT32_MAX /* n_nearest of a query that has too many: it becomes a scan of its own */

/* ---- queries (genie_batch_queries.c) ---- */

/* Finds the operator, and how the array's queries are read.  Errors: there is none; the array has another form. */
extern void genie_queries_open(GenieNearestSearch *search, ArrayType *array);

/* GenieBatchOps.next */
extern Datum genie_queries_next(void *owner);

/* ---- queries that are index scans of their own (genie_batch_scans.c) ---- */

/* Puts out the rows of query i of the piece. */
extern void genie_scans_put(GenieNearestSearch *search, uint32 i);

/* ---- output and measuring (genie_batch_nearest.c) ---- */

/* The radius of query i of the piece. */
static inline double
genie_nearest_radius(const GenieNearestSearch *search, uint32 i)
{
	return search->radii[search->batch.n_taken - search->batch.n + i];
}

/* Puts out a row of the query in hand. */
extern void genie_nearest_put_row(GenieNearestSearch *search, uint64 live, float8 distance, bool is_null);

/* Makes room for so many pairs. */
extern void genie_nearest_begin_pairs(GenieNearestPairs *pairs, GenieNearestSearch *search, uint32 capacity);

/* Visits the rows, measures those that are visible for their queries, and empties the list. */
extern void genie_nearest_visit_pairs(GenieNearestPairs *pairs);

/* May a row of that bound and TID (the index's) be among the rows of a query of the piece, by what was found so far? */
extern bool genie_nearest_is_wanted(const GenieNearestSearch *search, uint32 query, double bound, uint64 tid);

/*
 * The k rows nearest to each query by the metric, exactly: those that are not NULL, by (distance, their own TID), query
 * by query.  An index gives them whose segments have values of that metric, and as long as the queries.  Returns how
 * many queries, from the first on, it has answered: all of them, unless the index cannot, or no longer.
 */
extern uint32 genie_nearest_by_metric(const GenieNearestCall *call);

/* All of a piece by values (genie_batch_exact.c).  False: stale. */
extern bool genie_batch_exact_piece(GenieNearestSearch *search);

#endif							/* GENIE_BATCH_NEAREST_H */

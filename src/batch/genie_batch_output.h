/*
 * genie_batch_output.h
 *	  The rows of genie_search(), genie_within() and genie_search_parts(), on their way into the result.
 */
#ifndef GENIE_BATCH_OUTPUT_H
#define GENIE_BATCH_OUTPUT_H

#include "funcapi.h"
#include "utils/tuplestore.h"

#define GENIE_OUTPUT_COLUMNS 4	/* at most: query, part, tid, match_count or distance */

typedef struct GenieBatchOutput
{
	ReturnSetInfo *result;
	Tuplestorestate *store;		/* rows are written to it */
	TupleTableSlot *slot;		/* a tuple, over whose columns each row is written */
	char	   *columns[GENIE_OUTPUT_COLUMNS];
	bool		is_count;		/* the last column is, and larger ones come first; else a distance, the nearest first */
	bool		has_part;		/* this is genie_search_parts() */
	Oid			part;			/* the table of the rows that come now */

	/* merging parts */
	uint32		k;
	Tuplestorestate *kept;		/* the best k rows of each query, of earlier parts */
	TupleTableSlot *next;		/* its next row; empty: there is none */
	bool		has_rows;		/* this part has given some */
	int64		query;			/* the one that was written last, from 1 on, */
	uint32		n_written;		/* and how many rows of it */
} GenieBatchOutput;

/* Makes the function's result a tuplestore.  Its columns tell which function it is. */
extern void genie_batch_begin_output(GenieBatchOutput *output, FunctionCallInfo fcinfo);

/* Puts out a row.  Rows come query by query, each query's in order.  value: of the last column. */
extern void genie_batch_put_row(GenieBatchOutput *output, uint32 query, uint64 live, Datum value, bool is_null);

extern void genie_batch_end_output(GenieBatchOutput *output);

/* ---- several parts, of which the best k rows of each query are kept ---- */

/* Begun output becomes that of parts. */
extern void genie_batch_begin_parts(GenieBatchOutput *output, uint32 k);

/* All rows until the part's end are of that table. */
extern void genie_batch_begin_part(GenieBatchOutput *output, Oid part);
extern void genie_batch_end_part(GenieBatchOutput *output);

/* Before the output's end. */
extern void genie_batch_end_parts(GenieBatchOutput *output);

#endif							/* GENIE_BATCH_OUTPUT_H */

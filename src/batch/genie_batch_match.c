/*
 * genie_batch_match.c
 *	  genie_search() and genie_search_parts(): the best k rows by match count for each of many queries, in one call.
 *
 * For each query it returns what SELECT ... ORDER BY x <&> query LIMIT k returns through the index, in that order:
 * rows that match, then rows of count 0 in TID order, then rows with NULL, as far as the caller's snapshot sees them.
 * A query's min_match and threshold are conditions of @&: ORDER BY ignores them, and so does this function.
 * It raises the same error as a scan where a query asks a dimension for another type than a row has there: such
 * conflicts are looked for once for each way in which some query of a piece asks a dimension.
 *
 * Queries that match fewer than k visible rows share what follows.  A scan whose query asks for nothing gives the rows
 * of count 0 and the NULL rows in scan order (the *tail*); each query takes them without the rows that it already has.
 * The tail is an index scan like any other, made once a call, and read as far as some query needs it.  A query that
 * needs more rows than a page of the best can have becomes an index scan of its own: k may be larger than the page,
 * or too many dead rows may stand in front.
 *
 * Not here: how matching rows are found (genie_batch.c).
 */
#include "postgres.h"

#include "access/relscan.h"
#include "fmgr.h"
#include "funcapi.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "genie_approximate.h"
#include "genie_array.h"
#include "genie_batch.h"
#include "genie_opclass.h"
#include "genie_stream.h"

PG_FUNCTION_INFO_V1(genie_batch_search);
PG_FUNCTION_INFO_V1(genie_batch_search_parts);

/* A visible row of the tail. */
typedef struct GenieTailRow
{
	uint64		tid;			/* that the index holds */
	uint64		live;			/* its own */
	bool		is_null;
} GenieTailRow;

typedef struct GenieMatchSearch
{
	GenieBatch	batch;
	uint32		k;
	GenieBatchOutput *output;
	GenieArrayCursor cursor;
	uint32		n_output;		/* queries */

	/* the tail */
	IndexScanDesc tail_scan;
	GenieTailRow *tail;
	uint32		n_tail;
	uint32		tail_capacity;
	bool		tail_ended;
} GenieMatchSearch;

/* ---- the tail ---- */

/* Row i of the tail; NULL: there are fewer. */
static const GenieTailRow *
genie_match_tail_row(GenieMatchSearch *search, uint32 i)
{
	while (i >= search->n_tail && !search->tail_ended)
	{
		GenieTailRow row;

		search->tail_ended = !genie_batch_scan_next(&search->batch, search->tail_scan, &row.tid, &row.live);
		if (search->tail_ended)
			break;
		row.is_null = search->tail_scan->xs_orderbynulls[0];
		if (search->n_tail == search->tail_capacity)
		{
			search->tail_capacity *= 2;
			search->tail = repalloc_huge(search->tail, (Size) search->tail_capacity * sizeof(GenieTailRow));
		}
		search->tail[search->n_tail++] = row;
	}
	return i < search->n_tail ? &search->tail[i] : NULL;
}

static bool
genie_match_begin(void *owner)
{
	GenieMatchSearch *search = owner;

	return genie_batch_find_conflicts(&search->batch, search->tail_scan);
}

/* ---- output ---- */

static void
genie_match_put_row(GenieMatchSearch *search, uint64 live, int32 count)
{
	search->batch.instrument.record->n_rows++;
	genie_batch_put_row(search->output, search->n_output, live, Int32GetDatum(count), count == GENIE_KEY_NULL);
}

/* Fills the query up to k rows from the tail, without the rows that it already has. */
static void
genie_match_put_tail(GenieMatchSearch *search, GenieRoundQuery *query)
{
	uint32		taken = 0;
	const GenieTailRow *row;

	qsort(query->taken, query->n_taken, sizeof(uint64), genie_cmp_uint64);
	for (uint32 i = 0; query->n_found < search->k && (row = genie_match_tail_row(search, i)) != NULL; i++)
	{
		while (taken < query->n_taken && query->taken[taken] < row->tid)
			taken++;
		if (!row->is_null && taken < query->n_taken && query->taken[taken] == row->tid)
			continue;
		genie_match_put_row(search, row->live, row->is_null ? GENIE_KEY_NULL : 0);
		query->n_found++;
	}
}

/* The query's rows by a scan of its own. */
static void
genie_match_put_scan(GenieMatchSearch *search, Datum query)
{
	IndexScanDesc scan = genie_batch_own_scan(&search->batch, query);
	uint64		tid;
	uint64		live;

	for (uint32 i = 0; i < search->k && genie_batch_scan_next(&search->batch, scan, &tid, &live); i++)
		genie_match_put_row(search, live,
							scan->xs_orderbynulls[0] ? GENIE_KEY_NULL : -DatumGetInt32(scan->xs_orderbyvals[0]));
}

static void
genie_match_put(void *owner, uint32 i)
{
	GenieMatchSearch *search = owner;
	GenieRoundQuery *query = &search->batch.states[i];

	search->n_output++;
	if (query->n_found < search->k && !query->at_end)
	{
		genie_match_put_scan(search, search->batch.queries[i]);
		return;
	}
	for (uint32 j = 0; j < query->n_found; j++)
		genie_match_put_row(search, query->found[j].tid, query->found[j].count);
	pgstat_count_index_tuples(search->batch.index, query->n_found);
	if (query->n_found < search->k)
		genie_match_put_tail(search, query);
}

/* ---- a call ---- */

static Datum
genie_match_next(void *owner)
{
	GenieMatchSearch *search = owner;
	Datum		query = (Datum) 0;

	genie_array_next(&search->cursor, &query);
	return query;
}

static const GenieBatchOps genie_match_ops = {.next = genie_match_next, .begin = genie_match_begin,
	.put = genie_match_put};

static void
genie_match_search(FunctionCallInfo fcinfo, Relation heap, Relation index, GenieBatchOutput *output)
{
	GenieMatchSearch *search = palloc0(sizeof(GenieMatchSearch));
	GenieBatch *batch = &search->batch;
	ArrayType  *queries = PG_GETARG_ARRAYTYPE_P(1);

	search->k = batch->want = genie_batch_k(PG_GETARG_INT32(2));
	search->output = output;
	genie_batch_read_elements(queries, &search->cursor);
	batch->query_type = ARR_ELEMTYPE(queries);
	batch->heap = heap;
	batch->index = index;
	batch->ops = &genie_match_ops;
	batch->owner = search;
	batch->strategy = GENIE_COUNT_STRATEGY;
	batch->order_proc = genie_batch_operator_proc(batch, "<&>");
	batch->n_queries = search->cursor.n;
	batch->kind = GENIE_SCAN_SEARCH;
	genie_batch_begin(batch);
	search->tail_capacity = 256;
	search->tail = palloc(search->tail_capacity * sizeof(GenieTailRow));
	search->tail_scan = genie_batch_begin_scan(batch);
	genie_batch_rescan(batch, search->tail_scan, PointerGetDatum(genie_query_allocate(0, 0, 0)));
	genie_batch_run(batch);
	index_endscan(search->tail_scan);
	genie_batch_end(batch);
}

/*
 * genie_search(index regclass, queries genie_query[], k int) returns table (query int, tid tid, match_count int):
 * query is the query's number in the array, from 1 on; tid is the row's ctid; match_count is NULL where the indexed
 * value is NULL.
 */
Datum
genie_batch_search(PG_FUNCTION_ARGS)
{
	return genie_batch_call(fcinfo, genie_match_search, "genie_search_parts()");
}

/* genie_search_parts(index regclass, queries genie_query[], k int): its second column, part, is the partition */
Datum
genie_batch_search_parts(PG_FUNCTION_ARGS)
{
	return genie_batch_call_parts(fcinfo, genie_match_search);
}

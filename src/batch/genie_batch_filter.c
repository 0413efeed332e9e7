/*
 * genie_batch_filter.c
 *	  genie_filter(): the rows that fulfil x @& query for each of many queries, by one index, in one call.
 *
 * Engines tell which objects match (genie_batch_matches.c).  All of their rows are looked up, each page once for a
 * query, because a row may have moved within its page, and the caller wants the TID by which it finds it.
 *
 * An attempt at a piece may find a segment stale when rows have been found already.  So these wait in a tuplestore of
 * their own until the attempt has succeeded.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "genie_access.h"
#include "genie_approximate.h"
#include "genie_batch_matches.h"
#include "genie_object_table.h"
#include "genie_opclass.h"

PG_FUNCTION_INFO_V1(genie_filter);

typedef struct GenieFilterSearch
{
	GenieBatch	batch;
	GenieMatches matches;
	GenieArrayCursor cursor;
	ReturnSetInfo *result;
	IndexScanDesc conflicts;	/* in whose name conflicts are looked for */
	Tuplestorestate *found;		/* by this attempt */
	TupleTableSlot *slot;		/* of such a row */
	uint32		query;			/* whose rows come: its number in the array */
} GenieFilterSearch;

static void
genie_filter_put_tid(GenieFilterSearch *search, uint64 live)
{
	ItemPointerData tid;
	Datum		values[2];
	bool		nulls[2] = {false};

	genie_tid_from_number(live, &tid);
	values[0] = Int32GetDatum((int32) search->query);
	values[1] = PointerGetDatum(&tid);
	tuplestore_putvalues(search->found, search->result->setDesc, values, nulls);
}

static void
genie_filter_take_row(void *arg, uint32 object pg_attribute_unused(), uint64 live)
{
	genie_filter_put_tid(arg, live);
}

static void
genie_filter_take_scanned(void *arg, uint64 live)
{
	genie_filter_put_tid(arg, live);
}

/* Looks up the rows of one source that match query i.  False: stale. */
static bool
genie_filter_take(void *arg, uint32 i, uint32 source, const uint64 *bits, Size n_words pg_attribute_unused())
{
	GenieFilterSearch *search = arg;

	search->query = search->batch.n_taken - search->batch.n + i + 1;
	return genie_matches_visit(&search->matches, source, bits, NULL, genie_filter_take_row, search);
}

static bool
genie_filter_run(void *owner)
{
	GenieFilterSearch *search = owner;

	tuplestore_clear(search->found);
	return genie_matches_begin(&search->matches) && genie_matches_find(&search->matches, genie_filter_take, search);
}

/* Query i of the piece is through: the first one's turn is that of all rows that were found. */
static void
genie_filter_put(void *owner, uint32 i)
{
	GenieFilterSearch *search = owner;
	GenieBatch *batch = &search->batch;

	if (search->matches.queries[i].has_threshold)
	{
		search->query = batch->n_taken - batch->n + i + 1;
		genie_matches_scan(&search->matches, batch->queries[i], genie_filter_take_scanned, search);
	}
	if (i + 1 < batch->n)
		return;
	while (tuplestore_gettupleslot(search->found, true, false, search->slot))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_puttupleslot(search->result->setResult, search->slot);
		batch->instrument.record->n_rows++;
	}
	tuplestore_clear(search->found);
}

/* ---- a call ---- */

static Datum
genie_filter_next(void *owner)
{
	GenieFilterSearch *search = owner;
	Datum		query = (Datum) 0;

	genie_array_next(&search->cursor, &query);
	return query;
}

/* Query i of the piece is compiled. */
static void
genie_filter_compiled(void *owner, uint32 i, const GenieQuery *compiled)
{
	GenieFilterSearch *search = owner;

	genie_matches_compiled(&search->matches, i, compiled);
}

static bool
genie_filter_begin(void *owner)
{
	GenieFilterSearch *search = owner;

	return genie_batch_find_conflicts(&search->batch, search->conflicts);
}

static const GenieBatchOps genie_filter_ops = {.next = genie_filter_next, .compiled = genie_filter_compiled,
	.begin = genie_filter_begin, .run = genie_filter_run, .put = genie_filter_put};

/*
 * genie_filter(index regclass, queries genie_query[]) returns table (query int, tid tid): query is the query's number
 * in the array, from 1 on, and tid is the row's ctid.
 */
Datum
genie_filter(PG_FUNCTION_ARGS)
{
	GenieFilterSearch *search = palloc0(sizeof(GenieFilterSearch));
	GenieBatch *batch = &search->batch;
	ArrayType  *queries = PG_GETARG_ARRAYTYPE_P(1);

	search->matches.batch = batch;
	search->matches.exact = true;
	search->matches.visits_all = true;
	genie_batch_read_elements(queries, &search->cursor);
	batch->query_type = ARR_ELEMTYPE(queries);
	genie_access_open(PG_GETARG_OID(0), &batch->heap, &batch->index);
	batch->ops = &genie_filter_ops;
	batch->owner = search;
	batch->strategy = GENIE_MATCH_STRATEGY;
	batch->order_proc = genie_batch_operator_proc(batch, "@&");
	batch->n_queries = search->cursor.n;
	batch->want = 1;			/* a piece's size is as if it were a hit each */
	InitMaterializedSRF(fcinfo, 0);
	search->result = (ReturnSetInfo *) fcinfo->resultinfo;
	search->found = tuplestore_begin_heap(false, false, work_mem);
	search->slot = MakeSingleTupleTableSlot(search->result->setDesc, &TTSOpsMinimalTuple);
	batch->kind = GENIE_SCAN_FILTER;
	genie_batch_begin(batch);

	/* a serializable transaction's lock on the index, against rows that come to match */
	search->conflicts = genie_batch_begin_scan(batch);
	genie_batch_run(batch);
	index_endscan(search->conflicts);
	genie_batch_end(batch);
	ExecDropSingleTupleTableSlot(search->slot);
	tuplestore_end(search->found);
	genie_access_close(batch->heap, batch->index);
	return (Datum) 0;
}

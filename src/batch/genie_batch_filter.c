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

#include "genie_batch_matches.h"
#include "genie_object_table.h"

PG_FUNCTION_INFO_V1(genie_filter);

typedef struct GenieFilterSearch
{
	GenieMatches matches;
	ReturnSetInfo *result;
	Tuplestorestate *found;		/* by this attempt */
	TupleTableSlot *slot;		/* of such a row */
	uint32		query;			/* whose rows come: its number in the array */
} GenieFilterSearch;

/* A row of the query. */
static void
genie_filter_take_live(void *arg, uint64 live)
{
	GenieFilterSearch *search = arg;
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
	genie_filter_take_live(arg, live);
}

/* Looks up the rows of one source that match query i.  False: stale. */
static bool
genie_filter_take(void *arg, uint32 i, uint32 source, const uint64 *bits, Size n_words pg_attribute_unused())
{
	GenieFilterSearch *search = arg;

	search->query = search->matches.batch.n_taken - search->matches.batch.n + i + 1;
	return genie_matches_visit(&search->matches, source, bits, NULL, genie_filter_take_row, search);
}

static bool
genie_filter_run(void *owner)
{
	GenieFilterSearch *search = owner;

	tuplestore_clear(search->found);
	return genie_matches_begin(&search->matches) && genie_matches_find(&search->matches, genie_filter_take, search);
}

/* Adds the rows of query i if that is a scan.  With the piece's last query all rows that were found are put out. */
static void
genie_filter_put(void *owner, uint32 i)
{
	GenieFilterSearch *search = owner;
	GenieBatch *batch = &search->matches.batch;

	if (search->matches.queries[i].is_scan)
	{
		search->query = batch->n_taken - batch->n + i + 1;
		genie_matches_scan(&search->matches, batch->queries[i], genie_filter_take_live, search);
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

/*
 * genie_filter(index regclass, queries genie_query[]) returns table (query int, tid tid): query is the query's number
 * in the array, from 1 on, and tid is the row's ctid.
 */
Datum
genie_filter(PG_FUNCTION_ARGS)
{
	GenieFilterSearch *search = palloc0(sizeof(GenieFilterSearch));
	GenieMatches *matches = &search->matches;

	matches->exact = true;
	matches->visits_all = true;
	matches->run = genie_filter_run;
	matches->put = genie_filter_put;
	matches->owner = search;
	InitMaterializedSRF(fcinfo, 0);
	search->result = (ReturnSetInfo *) fcinfo->resultinfo;
	search->found = tuplestore_begin_heap(false, false, work_mem);
	search->slot = MakeSingleTupleTableSlot(search->result->setDesc, &TTSOpsMinimalTuple);
	genie_matches_search(matches, PG_GETARG_OID(0), PG_GETARG_ARRAYTYPE_P(1), GENIE_SCAN_FILTER);
	ExecDropSingleTupleTableSlot(search->slot);
	tuplestore_end(search->found);
	return (Datum) 0;
}

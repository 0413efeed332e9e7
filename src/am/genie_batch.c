/*
 * genie_batch.c
 *	  genie_search(): the best k rows for each of many queries, by one index, in one call.
 *
 * For each query it returns what SELECT ... ORDER BY x <&> query LIMIT k returns through the index, in that order:
 * rows that match, then rows of count 0 in TID order, then rows with NULL, of those that the caller's snapshot sees.
 * A query's min_match and threshold are conditions of @&, and nothing to ORDER BY and to this.
 * Where a scan would raise an error because a query asks for another type than a row has, so does this.
 *
 * Pieces.  Queries are taken from the array a piece at a time, as many as bounded memory allows; what a piece found
 * goes into a tuplestore, which spills to disk, before the next one begins.
 *
 * A piece
 *	1. the metapage is looked at; segments are opened, where they are not, or are others now (genie_batch_refresh)
 *	2. its queries are compiled against all segments together (genie_compile.h)
 *	3. conflicts of type are looked for, once for each way in which some query asks a dimension
 *	4. rounds (genie_round.h): the first asks for k rows of each query, the next ones only those queries that have
 *	   fewer than k visible ones, and for GENIE_ASK_GROWTH times as many each, behind what they took
 *	5. output
 *
 * Queries that match fewer than k visible rows share what follows: rows of count 0 and NULL rows in scan order are
 * those of a scan whose query asks for nothing (the *tail*), less the query's own.  It is an index scan like any
 * other, read as far as some query needs it, once a call.  Where a query needs more rows than a page of the best can
 * have, k being larger, or so many dead rows standing in front, it is an index scan of its own.
 *
 * Pending rows become a segment of this backend's own when segments are opened (genie_merge_private): counting them
 * then costs what they match, and not their number times that of the queries.
 *
 * Segments stay open from piece to piece as long as the metapage lists the same ones under the same tombstone version.
 * Rows that were added to the pending list meanwhile need not be looked at: the snapshot is older than they are.
 * Where a segment turns out to be stale, the piece is begun again, from a fresh metapage; nothing of it has been
 * output.
 *
 * Not here: what is counted where (genie_search.h), visibility (genie_visit.c).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "genie_access.h"
#include "genie_array.h"
#include "genie_conflict.h"
#include "genie_fault.h"
#include "genie_merge.h"
#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_query.h"
#include "genie_round.h"
#include "genie_spill.h"
#include "genie_stat.h"
#include "genie_stream.h"
#include "genie_train.h"

PG_FUNCTION_INFO_V1(genie_batch_search);

/*
 * Bounds of a piece.  A hit takes about 40 bytes in a round, an interval about 80: so either is about 20 MB.  More
 * queries than so many gain nothing: an engine's batches are smaller.
 */
#define GENIE_PIECE_QUERIES 4096
#define GENIE_PIECE_HITS (512 * 1024)	/* queries * k * segments */
#define GENIE_PIECE_INTERVALS (256 * 1024)

#define GENIE_ASK_GROWTH 8		/* times as many rows in the next round */
#define GENIE_ASK_MIN 64		/* in any but the first */

/* A visible row of the tail. */
typedef struct GenieTailRow
{
	uint64		tid;			/* that the index holds */
	uint64		live;			/* its own */
	bool		is_null;
} GenieTailRow;

/* A row of the result as it lies in a tuple: the columns of genie_search(). */
typedef struct GenieBatchRow
{
	int32		query;
	ItemPointerData tid;
	int32		match_count;
} GenieBatchRow;

typedef struct GenieBatch
{
	Relation	heap;
	Relation	index;
	Oid			query_type;
	uint32		k;
	ReturnSetInfo *result;
	TupleTableSlot *row_slot;	/* a tuple of the result, which is copied for each row, */
	GenieBatchRow *row;			/* and its columns */
	MemoryContext call_context;
	GenieBatchProgress progress;	/* what is added to the statistics */

	/* the array */
	GenieArrayCursor cursor;
	Datum		next;			/* the query to be taken next */
	bool		has_next;
	uint32		n_output;		/* queries */

	/* segments, as of one metapage */
	MemoryContext segments_context;
	bool		is_open;
	uint64		segment_version;
	uint64		tombstone_version;
	Size		memory;			/* what sources can spare for posting lists */
	uint32		n_sources;
	GenieSource **sources;
	GenieSegment *pending;		/* the source of pending rows', the last; NULL: there is none */

	/* a piece */
	MemoryContext piece_context;	/* its queries */
	MemoryContext attempt_context;	/* the rest; until it is begun again */
	uint32		n;
	Datum	   *queries;
	const GenieQueryView **views;
	GenieQuerySet *set;
	GenieRoundQuery *states;
	GenieRound	round;

	/* the tail */
	IndexScanDesc tail_scan;
	GenieTailRow *tail;
	uint32		n_tail;
	uint32		tail_capacity;
	bool		tail_ended;
	IndexScanDesc own_scan;		/* of queries that are index scans of their own; NULL: there was none yet */
} GenieBatch;

/* ---- index scans ---- */

/* The operator x <&> genie_query, by which the rows are ranked; its function. */
static RegProcedure
genie_batch_order_proc(Relation index, Oid query_type)
{
	Oid			operator = genie_is_approximate(index) ? InvalidOid :
		get_opfamily_member(index->rd_opfamily[0], index->rd_opcintype[0], query_type, GENIE_COUNT_STRATEGY);

	if (!OidIsValid(operator))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" does not take queries of type genie_query", RelationGetRelationName(index)),
				 errdetail("Its operator class has no operator <&> with a genie_query on the right.")));
	return get_opcode(operator);
}

/* A scan by one query, as the executor would make it. */
static IndexScanDesc
genie_batch_begin_scan(const GenieBatch *batch)
{
	return index_beginscan(batch->heap, batch->index, batch->round.visitor.snapshot, 0, 1);
}

static void
genie_batch_rescan(const GenieBatch *batch, IndexScanDesc scan, Datum query)
{
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, SK_ORDER_BY, 1, GENIE_COUNT_STRATEGY, batch->query_type,
						   batch->index->rd_indcollation[0],
						   genie_batch_order_proc(batch->index, batch->query_type), query);
	index_rescan(scan, NULL, 0, &key, 1);
}

/* The scan's next visible row: the TID that the index holds, and the row's own.  False: there is none. */
static bool
genie_batch_scan_next(const GenieBatch *batch, IndexScanDesc scan, uint64 *tid, uint64 *live)
{
	ItemPointer found;

	while ((found = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		*tid = genie_tid_number(found);
		if (index_fetch_heap(scan, batch->round.visitor.slot))
		{
			*live = genie_tid_number(&batch->round.visitor.slot->tts_tid);
			return true;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* Row i of the tail; NULL: there are fewer. */
static const GenieTailRow *
genie_batch_tail_row(GenieBatch *batch, uint32 i)
{
	while (i >= batch->n_tail && !batch->tail_ended)
	{
		GenieTailRow row;

		batch->tail_ended = !genie_batch_scan_next(batch, batch->tail_scan, &row.tid, &row.live);
		if (batch->tail_ended)
			break;
		row.is_null = batch->tail_scan->xs_orderbynulls[0];
		if (batch->n_tail == batch->tail_capacity)
		{
			batch->tail_capacity *= 2;
			batch->tail = repalloc_huge(batch->tail, (Size) batch->tail_capacity * sizeof(GenieTailRow));
		}
		batch->tail[batch->n_tail++] = row;
	}
	return i < batch->n_tail ? &batch->tail[i] : NULL;
}

/* ---- segments ---- */

static void
genie_batch_close_segments(GenieBatch *batch)
{
	if (batch->pending != NULL)
		genie_spill_close(batch->pending);
	batch->pending = NULL;
	batch->is_open = false;
	MemoryContextReset(batch->segments_context);
}

/* Opens what meta lists.  False: stale. */
static bool
genie_batch_open_segments(GenieBatch *batch, const GenieMetaData *meta)
{
	batch->segment_version = meta->segment_version;
	batch->tombstone_version = meta->tombstone_version;
	batch->memory = work_mem * (Size) 1024;
	batch->sources = palloc((meta->n_segments + 1) * sizeof(GenieSource *));
	batch->n_sources = 0;
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSegment *segment = genie_segment_open(batch->index, &meta->segments[i]);
		GenieSource *source = segment == NULL ? NULL :
			genie_source_open(batch->index, meta, segment, &batch->memory);

		if (source == NULL)
			return false;
		batch->sources[batch->n_sources++] = source;
		CHECK_FOR_INTERRUPTS();
	}
	if (!genie_merge_private(batch->index, meta, genie_signer(batch->index), &batch->pending))
		return false;
	if (batch->pending != NULL)
	{
		GenieSource *source = genie_source_of_pages(batch->pending, &batch->memory);

		source->is_private = true;
		batch->sources[batch->n_sources++] = source;
	}
	return true;
}

/* The worker may be back, or an image loaded, since the last piece.  False: stale. */
static bool
genie_batch_find_images(GenieBatch *batch, const GenieMetaData *meta)
{
	for (uint32 s = 0; s < batch->n_sources; s++)
		if (!batch->sources[s]->is_private && batch->sources[s]->why != GENIE_FALLBACK_NONE &&
			!genie_source_find_image(batch->sources[s], batch->index, meta))
			return false;
	return true;
}

/* Sees to it that what is open is what the metapage lists now.  stale: what is open cannot be read. */
static void
genie_batch_refresh(GenieBatch *batch, bool stale)
{
	MemoryContext old = MemoryContextSwitchTo(batch->piece_context);

	for (;;)
	{
		GenieMetaData *meta = genie_meta_read(batch->index);
		bool		same = meta->segment_version == batch->segment_version;

		if (stale && same)
			genie_report_corrupt(batch->index, GENIE_META_BLOCK, "a page that it lists belongs to somebody else");
		if (batch->is_open && same && meta->tombstone_version == batch->tombstone_version)
		{
			stale = !genie_batch_find_images(batch, meta);
			if (!stale)
				break;
			continue;
		}
		CHECK_FOR_INTERRUPTS();
		genie_batch_close_segments(batch);
		MemoryContextSwitchTo(batch->segments_context);
		batch->is_open = genie_batch_open_segments(batch, meta);
		MemoryContextSwitchTo(batch->piece_context);
		stale = !batch->is_open;
		if (batch->is_open)
			break;
	}
	MemoryContextSwitchTo(old);
}

/* ---- a piece ---- */

/* Takes queries from the array, at least one, as many as a piece may have. */
static void
genie_batch_take_queries(GenieBatch *batch)
{
	FmgrInfo   *compile = index_getprocinfo(batch->index, 1, GENIE_COMPILE_PROC);
	uint64		hits = (uint64) Min(batch->k, GENIE_JOB_K_MAX) * Max(batch->n_sources, 1);
	uint32		most = (uint32) Min(Max(GENIE_PIECE_HITS / hits, 1), GENIE_PIECE_QUERIES);
	uint64		n_intervals = 0;

	batch->queries = palloc(most * sizeof(Datum));
	batch->views = palloc(most * sizeof(GenieQueryView *));
	batch->n = 0;
	while (batch->has_next && batch->n < most && n_intervals < GENIE_PIECE_INTERVALS)
	{
		Datum		query = FunctionCall3Coll(compile, batch->index->rd_indcollation[0], batch->next,
											  Int16GetDatum(GENIE_COUNT_STRATEGY), ObjectIdGetDatum(batch->query_type));
		GenieQueryView *view = genie_query_view(DatumGetGenieQuery(query), CurrentMemoryContext);

		batch->queries[batch->n] = batch->next;
		batch->views[batch->n++] = view;
		n_intervals += view->n_intervals;
		batch->has_next = genie_array_next(&batch->cursor, &batch->next);
		CHECK_FOR_INTERRUPTS();
	}
	batch->set = genie_query_set(batch->views, batch->n);
}

/* Raises the operator's error where a visible row has another type than a query asks for.  False: stale. */
static bool
genie_batch_find_conflicts(GenieBatch *batch)
{
	GenieConflicts conflicts = {.scan = batch->tail_scan};
	const GenieQueryView *aspect;

	for (uint32 s = 0; s < batch->n_sources; s++)
		for (uint32 i = 0; (aspect = genie_query_set_aspect(batch->set, i)) != NULL; i++)
			if (!genie_conflicts_find(&conflicts, batch->sources[s]->segment, aspect))
				return false;
	genie_conflicts_report(&conflicts);
	return true;
}

/*
 * Rounds, until each query has k rows, or nothing that matches is left, or is to be a scan of its own.  False: stale.
 */
static bool
genie_batch_run_rounds(GenieBatch *batch)
{
	GenieRoundQuery **active = palloc(batch->n * sizeof(GenieRoundQuery *));
	uint32		n_active = 0;
	uint64		ask = Min(batch->k, GENIE_JOB_K_MAX);

	for (uint32 i = 0; i < batch->n; i++)
		active[n_active++] = &batch->states[i];
	while (n_active > 0)
	{
		uint32		n_chunk = (uint32) Max(GENIE_PIECE_HITS / (ask * Max(batch->n_sources, 1)), 1);
		uint32		n_left = 0;

		for (uint32 first = 0; first < n_active; first += n_chunk)
			if (!genie_round_run(&batch->round, active + first, Min(n_chunk, n_active - first), (uint32) ask))
				return false;
		for (uint32 i = 0; i < n_active; i++)
			if (active[i]->n_found < batch->k && !active[i]->at_end)
				active[n_left++] = active[i];
		n_active = ask < GENIE_JOB_K_MAX ? n_left : 0;
		ask = Min(Max(ask * GENIE_ASK_GROWTH, GENIE_ASK_MIN), GENIE_JOB_K_MAX);
	}
	pfree(active);
	return true;
}

/* Everything but the output.  False: stale. */
static bool
genie_batch_run_piece(GenieBatch *batch)
{
	GenieRound *round = &batch->round;

	round->n_sources = batch->n_sources;
	round->sources = batch->sources;
	round->searches = palloc((batch->n_sources + 1) * sizeof(GenieSearch **));
	if (!genie_batch_find_conflicts(batch))
		return false;
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		round->searches[s] = palloc(batch->n * sizeof(GenieSearch *));
		if (!genie_search_open_set(batch->sources[s], batch->set, round->searches[s]))
			return false;
	}
	batch->states = palloc(batch->n * sizeof(GenieRoundQuery));
	for (uint32 i = 0; i < batch->n; i++)
		genie_round_query(round, i, &batch->states[i]);
	return batch->k > GENIE_JOB_K_MAX || genie_batch_run_rounds(batch);
}

/* ---- output ---- */

/*
 * There are many rows, and forming a tuple takes longer than what else is done for one.  So one is formed, and each row
 * is written over its columns.
 */
static void
genie_batch_begin_output(GenieBatch *batch)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(batch->result->setDesc, &TTSOpsMinimalTuple);
	ItemPointerData tid = {0};
	MinimalTuple tuple;
	bool		should_free;

	memset(slot->tts_isnull, 0, slot->tts_tupleDescriptor->natts * sizeof(bool));
	slot->tts_values[0] = slot->tts_values[2] = Int32GetDatum(0);
	slot->tts_values[1] = PointerGetDatum(&tid);
	ExecStoreVirtualTuple(slot);
	ExecMaterializeSlot(slot);
	tuple = ExecFetchSlotMinimalTuple(slot, &should_free);
	Assert(!should_free && tuple->t_len == tuple->t_hoff - MINIMAL_TUPLE_OFFSET + sizeof(GenieBatchRow));
	batch->row_slot = slot;
	batch->row = (GenieBatchRow *) ((char *) tuple - MINIMAL_TUPLE_OFFSET + tuple->t_hoff);
}

static void
genie_batch_put(GenieBatch *batch, uint64 live, int32 count)
{
	GenieBatchRow *row = batch->row;

	row->query = (int32) batch->n_output;
	genie_tid_from_number(live, &row->tid);
	row->match_count = count;
	if (count == GENIE_KEY_NULL)
	{
		Datum		values[3] = {Int32GetDatum(row->query), PointerGetDatum(&row->tid), (Datum) 0};
		bool		nulls[3] = {false, false, true};

		tuplestore_putvalues(batch->result->setResult, batch->result->setDesc, values, nulls);
	}
	else
		tuplestore_puttupleslot(batch->result->setResult, batch->row_slot);
}

static int
genie_batch_cmp_tids(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return (x > y) - (x < y);
}

/* What the query lacks to k rows: the tail's, but for those that it has taken. */
static void
genie_batch_put_tail(GenieBatch *batch, GenieRoundQuery *query)
{
	uint32		taken = 0;
	const GenieTailRow *row;

	qsort(query->taken, query->n_taken, sizeof(uint64), genie_batch_cmp_tids);
	for (uint32 i = 0; query->n_found < batch->k && (row = genie_batch_tail_row(batch, i)) != NULL; i++)
	{
		while (taken < query->n_taken && query->taken[taken] < row->tid)
			taken++;
		if (!row->is_null && taken < query->n_taken && query->taken[taken] == row->tid)
			continue;
		genie_batch_put(batch, row->live, row->is_null ? GENIE_KEY_NULL : 0);
		query->n_found++;
	}
}

/* The query's rows by a scan of its own. */
static void
genie_batch_put_scan(GenieBatch *batch, Datum query)
{
	uint64		tid;
	uint64		live;

	if (batch->own_scan == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->call_context);

		batch->own_scan = genie_batch_begin_scan(batch);
		MemoryContextSwitchTo(old);
	}
	genie_batch_rescan(batch, batch->own_scan, query);
	for (uint32 i = 0; i < batch->k && genie_batch_scan_next(batch, batch->own_scan, &tid, &live); i++)
		genie_batch_put(batch, live, batch->own_scan->xs_orderbynulls[0] ? GENIE_KEY_NULL :
						-DatumGetInt32(batch->own_scan->xs_orderbyvals[0]));
}

static void
genie_batch_put_piece(GenieBatch *batch)
{
	for (uint32 i = 0; i < batch->n; i++)
	{
		GenieRoundQuery *query = &batch->states[i];

		CHECK_FOR_INTERRUPTS();
		batch->n_output++;
		pgstat_count_index_scan(batch->index);
		if (query->n_found < batch->k && !query->at_end)
		{
			genie_batch_put_scan(batch, batch->queries[i]);
			continue;
		}
		for (uint32 j = 0; j < query->n_found; j++)
			genie_batch_put(batch, query->found[j].tid, query->found[j].count);
		pgstat_count_index_tuples(batch->index, query->n_found);
		if (query->n_found < batch->k)
			genie_batch_put_tail(batch, query);
	}
}

/* ---- a call ---- */

static void
genie_batch_report(GenieBatch *batch, GenieBatchProgress more)
{
	genie_stat_batch(&more);
	batch->progress.n_searches += more.n_searches;
	batch->progress.n_queries += more.n_queries;
	batch->progress.n_done += more.n_done;
}

/* What it was reported to do is done, or given up. */
static void
genie_batch_end_report(GenieBatch *batch)
{
	GenieBatchProgress less = {-batch->progress.n_searches, -batch->progress.n_queries, -batch->progress.n_done};

	genie_batch_report(batch, less);
}

static void
genie_batch_run(GenieBatch *batch)
{
	genie_batch_report(batch, (GenieBatchProgress) {1, batch->cursor.n, 0});
	batch->has_next = genie_array_next(&batch->cursor, &batch->next);
	while (batch->has_next)
	{
		bool		done = false;
		MemoryContext old;

		genie_batch_refresh(batch, false);
		old = MemoryContextSwitchTo(batch->piece_context);
		genie_batch_take_queries(batch);
		GENIE_FAULT("batch-opened");
		while (!done)
		{
			MemoryContextSwitchTo(batch->attempt_context);
			done = genie_batch_run_piece(batch);
			if (done)
				genie_batch_put_piece(batch);
			MemoryContextSwitchTo(batch->piece_context);
			MemoryContextReset(batch->attempt_context);
			if (!done)
				genie_batch_refresh(batch, true);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch->piece_context);
		genie_batch_report(batch, (GenieBatchProgress) {0, 0, batch->n});
	}
}

static void
genie_batch_begin(GenieBatch *batch)
{
	GenieRound *round = &batch->round;

	batch->call_context = CurrentMemoryContext;
	if (!IsMVCCSnapshot(GetActiveSnapshot()))
		elog(ERROR, "genie indexes can be searched only under an MVCC snapshot");
	genie_visitor_begin(&round->visitor, batch->heap, batch->index, GetActiveSnapshot());
	round->k = Min(batch->k, GENIE_JOB_K_MAX);
	batch->segments_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch segments",
													ALLOCSET_DEFAULT_SIZES);
	batch->piece_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch piece", ALLOCSET_DEFAULT_SIZES);
	batch->attempt_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch attempt", ALLOCSET_DEFAULT_SIZES);
	round->context = AllocSetContextCreate(CurrentMemoryContext, "genie batch round", ALLOCSET_DEFAULT_SIZES);
	batch->tail_capacity = 256;
	batch->tail = palloc(batch->tail_capacity * sizeof(GenieTailRow));
	batch->tail_scan = genie_batch_begin_scan(batch);
	genie_batch_rescan(batch, batch->tail_scan, PointerGetDatum(genie_query_allocate(0, 0, 0)));
}

static void
genie_batch_end(GenieBatch *batch)
{
	genie_batch_close_segments(batch);
	index_endscan(batch->tail_scan);
	if (batch->own_scan != NULL)
		index_endscan(batch->own_scan);
	genie_visitor_end(&batch->round.visitor);
	ExecDropSingleTupleTableSlot(batch->row_slot);
	genie_access_close(batch->heap, batch->index);
}

/* The array's queries, if they are what they should be. */
static void
genie_batch_read_array(GenieBatch *batch, ArrayType *array)
{
	GenieValueType type = {0};

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the array of queries must have one dimension")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the array of queries must not contain nulls")));
	batch->query_type = ARR_ELEMTYPE(array);
	get_typlenbyvalalign(batch->query_type, &type.typlen, &type.typbyval, &type.typalign);
	genie_array_begin(&batch->cursor, array, &type);
}

/*
 * genie_search(index regclass, queries genie_query[], k int) returns table (query int, tid tid, match_count int):
 * query is the query's number in the array, from 1 on; tid is the row's own, its ctid; match_count is NULL for a row
 * that is NULL.
 */
Datum
genie_batch_search(PG_FUNCTION_ARGS)
{
	int32		k = PG_GETARG_INT32(2);
	GenieBatch *batch = palloc0(sizeof(GenieBatch));

	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1")));
	batch->k = (uint32) k;
	genie_batch_read_array(batch, PG_GETARG_ARRAYTYPE_P(1));
	genie_access_open(PG_GETARG_OID(0), &batch->heap, &batch->index);
	InitMaterializedSRF(fcinfo, 0);
	batch->result = (ReturnSetInfo *) fcinfo->resultinfo;
	genie_batch_begin_output(batch);
	genie_batch_begin(batch);
	PG_TRY();
	{
		genie_batch_run(batch);
	}
	PG_FINALLY();
	{
		genie_batch_end_report(batch);
	}
	PG_END_TRY();
	genie_batch_end(batch);
	return (Datum) 0;
}

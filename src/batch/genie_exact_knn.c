/*
 * genie_exact_knn.c
 *	  genie_exact_knn(): the k rows nearest to each of many vectors, exactly, of the rows that an index covers.
 *
 * It is the yardstick for approximate answers, and a way to search by itself: for many queries at once, or for a small
 * table, measuring all rows in blocks is fast (genie_knn.c has the method).
 *
 * The index tells which rows (its predicate), which vectors (its column or expression) and by default which distance.
 * The answer is that of SELECT ... WHERE predicate ORDER BY expression <-> query, ctid LIMIT k under the caller's
 * snapshot, without the rows whose vector is NULL: they have no distance.
 *
 * Where the index has values of that distance in all segments (genie_values.h), it is asked for rows by lower bounds,
 * and few rows are read (genie_nearest_by_metric).  For any other index, and for queries that it does not answer, the
 * vectors are read from the table by a sequential scan.  In a serializable transaction they are, too: the scan tells
 * other transactions what was read.
 *
 * Phases of that, for a piece of the queries:
 *	sample	Pages spread over the table, as many as have GENIE_SAMPLE_ROWS * k rows, are read first, so that bounds are
 *			tight before the scan begins, whatever the order of the table.  (The paper that genie_knn.c names
 *			advises 8 k to 32 k rows.)
 *	scan	All other rows.
 *
 * Rows are gathered in panels.  This process estimates their distances, or the worker's GPU does
 * (genie_exact_panel.c).
 *
 * Memory: a panel of rows, and the elements and k neighbours of each query.  Queries that do not fit into hash_mem
 * together are taken in pieces, each with a scan of its own.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "genie_access.h"
#include "genie_batch_nearest.h"
#include "genie_exact_panel.h"
#include "genie_object_table.h"
#include "genie_opclass.h"
#include "genie_vector_distance.h"
#include "genie_vector_type.h"

PG_FUNCTION_INFO_V1(genie_exact_knn);

#define GENIE_SAMPLE_ROWS 16	/* times k */
#define GENIE_SAMPLE_PART 8		/* no more than one page of so many */
#define GENIE_SAMPLE_STEP 0.61803398874989485	/* of the table, from a page to the next: spreads any number of them */

typedef struct GenieExactKnn
{
	Relation	heap;
	Relation	index;
	ReturnSetInfo *result;

	/* the index's rows */
	const GenieVectorType *type;
	IndexInfo  *index_info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;

	/* the queries */
	GenieVectors queries;
	GenieKnn	knn;			/* of a piece */

	GenieExactPanel panel;		/* rows on their way, by their TIDs */
	GenieInstrument instrument;

	/* TIDs of the sample, sorted when it is complete */
	uint64	   *sample;
	uint32		n_sample;
	uint32		sample_capacity;
} GenieExactKnn;

/* ---- rows ---- */

/* Copies n elements in the form that engines read. */
static void
copy_elements(uint8 *to, bool to_double, GenieVector from)
{
	if (to_double == from.is_double)
		memcpy(to, from.elements, from.n * genie_vector_element_bytes(to_double));
	else
		genie_vector_widen(from, to);
}

static void
check_length(const GenieExactKnn *state, uint32 n)
{
	const ItemPointerData *tid = &state->slot->tts_tid;

	if (n != state->knn.n_dimensions)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vectors differ in length"),
				 errdetail("The one in row (%u,%u) has %u elements, the queries have %u.",
						   ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid), n,
						   state->knn.n_dimensions)));
}

/* Adds the row in the slot, if the index covers it and it has a vector.  False: it has not. */
static bool
add_row(GenieExactKnn *state, uint64 tid)
{
	ExprContext *context = GetPerTupleExprContext(state->estate);
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(state->estate));
	bool		added = false;

	genie_instrument_visit(&state->instrument, 1);
	context->ecxt_scantuple = state->slot;
	if (state->predicate == NULL || ExecQual(state->predicate, context))
	{
		Datum		value[INDEX_MAX_KEYS];
		bool		is_null[INDEX_MAX_KEYS];

		FormIndexDatum(state->index_info, state->slot, state->estate, value, is_null);
		if (!is_null[0])
		{
			GenieVector vector = state->type->elements(value[0]);

			check_length(state, vector.n);
			copy_elements(genie_panel_place(&state->panel), state->knn.is_double, vector);
			added = true;
		}
	}
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(state->estate);
	if (added)
		genie_panel_add(&state->panel, tid);
	return added;
}

static void
add_to_sample(GenieExactKnn *state)
{
	uint64		tid = genie_tid_number(&state->slot->tts_tid);

	if (!add_row(state, tid))
		return;
	if (state->n_sample == state->sample_capacity)
	{
		state->sample_capacity *= 2;
		state->sample = repalloc_huge(state->sample, state->sample_capacity * sizeof(uint64));
	}
	state->sample[state->n_sample++] = tid;
}

static void
add_sample(GenieExactKnn *state)
{
	BlockNumber n_blocks = RelationGetNumberOfBlocks(state->heap);
	uint64		n_wanted = (uint64) state->knn.k * GENIE_SAMPLE_ROWS;
	TableScanDesc scan = NULL;

	state->n_sample = 0;
	if (state->heap->rd_tableam->scan_set_tidrange == NULL)
		return;
	for (BlockNumber i = 0; i < n_blocks / GENIE_SAMPLE_PART && state->n_sample < n_wanted; i++)
	{
		double		place = i * GENIE_SAMPLE_STEP;
		BlockNumber block = (BlockNumber) ((place - floor(place)) * n_blocks);
		ItemPointerData first;
		ItemPointerData last;

		ItemPointerSet(&first, block, FirstOffsetNumber);
		ItemPointerSet(&last, block, MaxOffsetNumber);
		if (scan == NULL)
			scan = table_beginscan_tidrange(state->heap, GetActiveSnapshot(), &first, &last);
		else
			table_rescan_tidrange(scan, &first, &last);
		while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, state->slot))
			add_to_sample(state);
	}
	if (scan != NULL)
		table_endscan(scan);
	ExecClearTuple(state->slot);
	qsort(state->sample, state->n_sample, sizeof(uint64), genie_cmp_uint64);
}

static void
add_table(GenieExactKnn *state)
{
	TableScanDesc scan = table_beginscan(state->heap, GetActiveSnapshot(), 0, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, state->slot))
	{
		uint64		tid = genie_tid_number(&state->slot->tts_tid);

		if (state->n_sample == 0 ||
			bsearch(&tid, state->sample, state->n_sample, sizeof(uint64), genie_cmp_uint64) == NULL)
			add_row(state, tid);
	}
	table_endscan(scan);
	ExecClearTuple(state->slot);
}

/* ---- queries ---- */

/* How many queries a piece can have. */
static uint32
piece_queries(const GenieKnn *shape)
{
	GenieKnn	knn = *shape;
	size_t		limit = get_hash_memory_limit();
	size_t		fixed;
	size_t		each;

	knn.n_queries = 0;
	fixed = genie_knn_bytes(&knn);
	knn.n_queries = GENIE_KNN_TILE;
	each = (genie_knn_bytes(&knn) - fixed) / GENIE_KNN_TILE + 1;
	return limit <= fixed ? 1 : (uint32) Min(Max((limit - fixed) / each, 1), PG_INT32_MAX);
}

/* A row of the result (GenieNearestCall). */
static void
put_row(void *arg, uint32 query, uint64 tid, double distance)
{
	const GenieExactKnn *state = arg;
	ItemPointerData pointer;
	Datum		values[3];
	bool		nulls[3] = {0};

	genie_tid_from_number(tid, &pointer);
	values[0] = Int32GetDatum((int32) (query + 1));
	values[1] = PointerGetDatum(&pointer);
	values[2] = Float8GetDatum(distance);
	tuplestore_putvalues(state->result->setResult, state->result->setDesc, values, nulls);
}

static void
put_piece(GenieExactKnn *state, uint32 first)
{
	const GenieKnn *knn = &state->knn;

	for (uint32 q = 0; q < knn->n_queries; q++)
	{
		const GenieNeighbour *found = knn->found + (size_t) q * knn->k;

		CHECK_FOR_INTERRUPTS();
		state->instrument.record->n_rows += knn->n_found[q];
		for (uint32 i = 0; i < knn->n_found[q]; i++)
			put_row(state, first + q, found[i].id, found[i].distance);
	}
}

/* Answers as many queries, from the first on, as the index can.  Returns how many. */
static uint32
run_by_index(GenieExactKnn *state)
{
	if (!genie_quantized_vectors || state->queries.n == 0 || genie_vector_type_of_class(state->index) == NULL ||
		!IsMVCCSnapshot(GetActiveSnapshot()) || IsolationIsSerializable())
		return 0;
	return genie_nearest_by_metric(&(GenieNearestCall) {state->heap, state->index, state->queries, state->knn.k,
		state->knn.metric, &state->instrument, put_row, state});
}

/* Measures all rows for the queries from that one on. */
static void
run(GenieExactKnn *state, uint32 from)
{
	GenieKnn   *knn = &state->knn;
	GenieVectors *queries = &state->queries;
	size_t		row_bytes = queries->n_dimensions * genie_vector_element_bytes(knn->is_double);
	uint32		n_piece;

	knn->n_dimensions = queries->n_dimensions;
	n_piece = Min(piece_queries(knn), queries->n);
	state->sample_capacity = 256;
	state->sample = palloc(state->sample_capacity * sizeof(uint64));
	for (uint32 first = from; first < queries->n; first += n_piece)
	{
		void	   *memory;

		knn->n_queries = Min(n_piece, queries->n - first);
		knn->queries = (const uint8 *) queries->elements + first * row_bytes;
		memory = palloc_extended(genie_knn_bytes(knn), MCXT_ALLOC_HUGE);
		genie_knn_open(knn, memory);
		genie_panel_open(&state->panel, knn, &state->instrument);
		add_sample(state);
		add_table(state);
		genie_panel_close(&state->panel);
		genie_knn_finish(knn);
		put_piece(state, first);
		pfree(memory);
	}
}

/* ---- a call ---- */

/* The metric of that name; of the operator class's distance, if there is none. */
static GenieMetric
metric_of(Relation index, const char *name)
{
	static const struct
	{
		const char *name;
		GenieMetric metric;
		StrategyNumber strategy;
	}			metrics[] = {
		{"l2", GENIE_METRIC_L2, GENIE_L2_STRATEGY},
		{"l1", GENIE_METRIC_L1, GENIE_L1_STRATEGY},
		{"cosine", GENIE_METRIC_COSINE, GENIE_COSINE_STRATEGY},
		{"ip", GENIE_METRIC_INNER, GENIE_INNER_STRATEGY}
	};
	Oid			family = index->rd_opfamily[0];
	Oid			type = index->rd_opcintype[0];

	for (int i = 0; i < lengthof(metrics); i++)
	{
		if (name != NULL ? strcmp(name, metrics[i].name) == 0 :
			OidIsValid(get_opfamily_member(family, type, type, metrics[i].strategy)))
			return metrics[i].metric;
	}
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized metric \"%s\"", name),
				 errhint("Metrics are \"l2\", \"l1\", \"cosine\" and \"ip\".")));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("operator class of index \"%s\" has no distance of vectors", RelationGetRelationName(index)),
			 errhint("Name a metric: \"l2\", \"l1\", \"cosine\" or \"ip\".")));
}

/* The type of the index's values.  Error: they are not vectors. */
static const GenieVectorType *
vector_type_of(Relation index)
{
	const GenieVectorType *vectors = genie_vector_type_of_class(index);
	Oid			type = getBaseType(TupleDescAttr(RelationGetDescr(index), 0)->atttypid);

	if (vectors == NULL)
		vectors = genie_vector_type_of_array(type);
	if (vectors == NULL || vectors->is_symbols || vectors->is_metric)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is not of vectors", RelationGetRelationName(index)),
				 errdetail("It is of type %s.", format_type_be(type)),
				 errhint("Vectors are of type real[] or double precision[].")));
	return vectors;
}

/* The queries, with their elements in the form that engines read. */
static void
widen_queries(GenieVectors *queries, bool to_double)
{
	Size		n = (Size) queries->n * queries->n_dimensions;
	GenieVector all = {queries->elements, (uint32) n, queries->is_double};
	uint8	   *elements;

	if (queries->is_double == to_double)
		return;
	elements = palloc_extended(n * genie_vector_element_bytes(to_double), MCXT_ALLOC_HUGE);
	copy_elements(elements, to_double, all);
	queries->elements = elements;
	queries->is_double = to_double;
}

static void
search(GenieExactKnn *state, uint32 k, const char *metric)
{
	uint32		n_done;

	state->knn.metric = metric_of(state->index, metric);
	state->type = vector_type_of(state->index);
	state->knn.is_double = state->type->is_double || state->queries.is_double;
	widen_queries(&state->queries, state->knn.is_double);

	/* no table has more rows than its pages can hold */
	state->knn.k = k;
	if (state->heap->rd_tableam == GetHeapamTableAmRoutine())
		state->knn.k = (uint32) Max(Min(k, (uint64) RelationGetNumberOfBlocks(state->heap) * MaxHeapTuplesPerPage), 1);
	n_done = run_by_index(state);
	if (state->queries.n > 0 && n_done == state->queries.n)
		return;
	state->index_info = BuildIndexInfo(state->index);
	state->estate = CreateExecutorState();
	if (state->instrument.record == NULL)
	{
		genie_instrument_begin(&state->instrument, RelationGetRelid(state->index), GENIE_SCAN_EXACT);
		state->instrument.record->n_scans++;
	}
	state->predicate = ExecPrepareQual(state->index_info->ii_Predicate, state->estate);
	state->slot = table_slot_create(state->heap, NULL);
	run(state, n_done);
	ExecDropSingleTupleTableSlot(state->slot);
	FreeExecutorState(state->estate);
}

/*
 * genie_exact_knn(index regclass, queries real[] or float8[], k int, metric text) returns table (query int, tid tid,
 * distance float8): query is the query's number in the array, from 1 on; tid is the row's ctid.  Not strict: metric
 * may be NULL, and any other NULL argument gives no rows.
 */
Datum
genie_exact_knn(PG_FUNCTION_ARGS)
{
	GenieExactKnn state = {0};
	char	   *metric = PG_ARGISNULL(3) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(3));
	int32		k;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	k = PG_GETARG_INT32(2);
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1")));
	state.result = (ReturnSetInfo *) fcinfo->resultinfo;
	state.queries = genie_vectors_of_queries(PG_GETARG_ARRAYTYPE_P(1));
	genie_access_open(PG_GETARG_OID(0), NULL, &state.heap, &state.index);
	search(&state, (uint32) k, metric);
	genie_access_close(state.heap, state.index);
	return (Datum) 0;
}

/*
 * genie_batch_nearest.c
 *	  genie_search() and genie_search_parts() by distance: the k nearest rows for each of many queries, in one call;
 *	  and genie_within(): all rows within a radius of each.
 *
 * Of an approximate class, it returns for each query what SELECT ... ORDER BY x <-> query LIMIT k returns in the
 * first round of a scan (genie_rerank.h): of the genie.candidates visible rows that match best, the k nearest ones by
 * (distance, TID). Where k is larger than genie.candidates, k candidates are taken.
 *
 * The candidates of all queries of a piece come from the same rounds as those of a search by match count
 * (genie_batch.c).  A row that is a candidate of many queries is fetched and unpacked once, and the operator's own
 * function computes its distances to all of them while its page is pinned.  A query keeps the k nearest of its
 * candidates as a heap with the farthest on top: most rows are compared with that one only, and the heap stays in the
 * processor's cache.
 *
 * Where segments have values, quantized vectors (genie_quantizer.c), the worker gives a lower bound of each
 * candidate's distance, and most candidates are never fetched (genie_round_measure.c).  The k nearest are the same.
 *
 * Where segments have graphs of their values (genie_proximity.h), candidates come from searches of these instead, and
 * are measured as those of an exact class are (genie_batch_exact.c).
 *
 * Vectors of the pending list are raw.  When the rounds are over, the list is read once, and each vector's distances
 * to all queries are computed.  Few are nearer than the k nearest of the rounds, and only these are visited.
 *
 * An index of an exact class, or of one that is approximate by graphs alone, has no candidates by match count:
 * genie_batch_exact.c.  genie_exact_knn() asks it, too,
 * and indexes of approximate classes that have values, for the rows nearest by a metric (genie_nearest_by_metric).  It
 * wants rows of equal distance in the order of their own TIDs, and no rows that are NULL.  Queries that cannot be
 * answered so are left to it.
 *
 * An index of a class that does not learn has a bound of distances by match counts, which only scans follow: each query
 * is one (genie_batch_scans.c).
 *
 * genie_within() wants the rows within a radius of each query, of an index whose scans are in exact order.  What a
 * piece finds is kept as far as work_mem allows; queries with more rows become scans.
 *
 * A query becomes an index scan of its own if it matches fewer rows than it wants candidates, if k is larger than a
 * page of the best, or if the index has not learned yet.  The scan wants as many candidates, and also gives the rows
 * that match nothing and those that are NULL.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "genie_approximate.h"
#include "genie_batch_nearest.h"
#include "genie_candidates.h"
#include "genie_heap.h"
#include "genie_object_table.h"
#include "genie_opclass.h"
#include "genie_options.h"
#include "genie_pending.h"
#include "genie_quantizer.h"
#include "genie_radix.h"
#include "genie_rerank.h"
#include "genie_row.h"
#include "genie_value_order.h"
#include "genie_vector_distance.h"
#include "genie_vector_type.h"
#include "genie_vector_value.h"

PG_FUNCTION_INFO_V1(genie_batch_nearest);
PG_FUNCTION_INFO_V1(genie_batch_nearest_parts);
PG_FUNCTION_INFO_V1(genie_batch_within);

#define WITHIN_FIRST 16			/* rows for which there is room at first */

/* ---- measuring ---- */

static void
genie_nearest_row(void *arg, TupleTableSlot *slot)
{
	GenieNearestSearch *search = arg;
	MemoryContext old;
	bool		is_null;

	MemoryContextReset(search->row_context);
	old = MemoryContextSwitchTo(search->row_context);
	search->value = genie_row_value(&search->row_value, slot, &is_null);
	if (is_null)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is damaged: a row that is null has keywords or a value in it",
						RelationGetRelationName(search->batch.index)),
				 errhint("Please REINDEX it.")));
	if (search->is_varlena)
		search->value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(search->value));
	if (search->call.metric != 0)
	{
		GenieVector vector = search->batch.vectors->elements(search->value);

		search->vector = vector;
		if (search->vectors.is_double && !vector.is_double)
		{
			double	   *wide = palloc(vector.n * sizeof(double));

			genie_vector_widen(vector, wide);
			search->vector = (GenieVector) {wide, vector.n, true};
		}
	}
	MemoryContextSwitchTo(old);
}

/* NaN is larger than all other numbers, as in ORDER BY, and NULL comes last. */
static inline int
genie_nearest_cmp(const GenieMeasured *a, const GenieMeasured *b)
{
	bool		a_last = a->is_null || isnan(a->distance);
	bool		b_last = b->is_null || isnan(b->distance);

	if (a_last || b_last)
	{
		if (a_last != b_last)
			return a_last - b_last;
		if (a->is_null != b->is_null)
			return a->is_null - b->is_null;
	}
	else if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	return (a->root > b->root) - (a->root < b->root);
}

#define ST_SORT genie_nearest_sort
#define ST_ELEMENT_TYPE GenieMeasured
#define ST_COMPARE(a, b) genie_nearest_cmp(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static inline bool
genie_nearest_before(const GenieMeasured *a, const GenieMeasured *b)
{
	return genie_nearest_cmp(a, b) < 0;
}

GENIE_HEAP(genie_nearest, GenieMeasured, genie_nearest_before)

/* Measures the row in hand by the metric.  Such rows are ordered by their own TIDs.  False: it is of another length. */
static bool
genie_nearest_measure(const GenieNearestSearch *search, uint32 query, GenieMeasured *taken)
{
	GenieVector of_query = search->type->elements(search->batch.queries[query]);

	if (of_query.n != search->vector.n)
		return false;
	taken->distance = genie_vector_measure(search->call.metric, search->vector, of_query);
	if (search->call.metric == GENIE_METRIC_INNER)
		taken->distance = -taken->distance;
	taken->root = taken->tid;
	return true;
}

/* Keeps a row that is within the query's radius, unless there are too many of the piece for work_mem. */
static void
genie_within_keep(GenieNearestSearch *search, uint32 query, GenieMeasured row)
{
	uint32	   *n = &search->n_nearest[query];
	bool		is_full = *n == 0 || (*n >= WITHIN_FIRST && (*n & (*n - 1)) == 0);	/* room is a power of 2 */
	Size		n_bytes = Max(*n, WITHIN_FIRST / 2) * 2 * sizeof(GenieMeasured);

	if (*n == GENIE_WITHIN_OVER || row.is_null || !(row.distance <= genie_nearest_radius(search, query)))
		return;
	if (is_full && search->within_bytes + n_bytes > work_mem * (Size) 1024)
	{
		if (search->within[query] != NULL)
			pfree(search->within[query]);
		*n = GENIE_WITHIN_OVER;
		return;
	}
	if (is_full)
	{
		MemoryContext context = GetMemoryChunkContext(search->n_nearest);

		search->within[query] = *n == 0 ? MemoryContextAlloc(context, n_bytes) :
			repalloc_huge(search->within[query], n_bytes);
		search->within_bytes += *n == 0 ? n_bytes : n_bytes / 2;
	}
	search->within[query][(*n)++] = row;
}

static void
genie_nearest_take(void *arg, uint32 query, const GenieVisitRow *row)
{
	GenieNearestSearch *search = arg;
	GenieMeasured *heap = search->nearest + (Size) query * search->k;
	uint32		n = search->n_nearest[query];
	FmgrInfo   *distance = search->distances != NULL ? &search->distances[query] : &search->distance;
	GenieMeasured taken = {.tid = row->live, .root = row->tid};
	MemoryContext old = MemoryContextSwitchTo(search->row_context);

	if (search->call.metric == 0)
		taken.distance = genie_row_distance(distance, search->batch.index->rd_indcollation[0], search->value,
											search->batch.queries[query], &taken.is_null);
	else if (!genie_nearest_measure(search, query, &taken))
		search->gave_up = true;
	MemoryContextSwitchTo(old);
	if (search->radii != NULL)
		genie_within_keep(search, query, taken);
	else if (n < search->k)
		genie_nearest_add(heap, search->n_nearest[query]++, taken);
	else if (genie_nearest_cmp(&taken, heap) < 0)
		genie_nearest_replace(heap, n, taken);
}

/* The distance of the k-th nearest row of a query of the piece so far; infinite: there are fewer rows. */
static double
genie_nearest_farthest(void *arg, uint32 query)
{
	const GenieNearestSearch *search = arg;
	const GenieMeasured *top = search->nearest + (Size) query * search->k;

	return search->n_nearest[query] < search->k || top->is_null || isnan(top->distance) ? get_float8_infinity() :
		top->distance;
}

bool
genie_nearest_is_wanted(const GenieNearestSearch *search, uint32 query, double bound, uint64 tid)
{
	GenieMeasured row = {.distance = bound, .root = tid};

	if (search->radii != NULL)
		return search->n_nearest[query] != GENIE_WITHIN_OVER && bound <= genie_nearest_radius(search, query);
	return search->n_nearest[query] < search->k ||
		genie_nearest_cmp(&row, search->nearest + (Size) query * search->k) < 0;
}

/* ---- bounds ---- */

/* Finds the segments' values.  If there are any, quantizes the piece's queries, too.  False: stale. */
static bool
genie_nearest_find_values(GenieNearestSearch *search)
{
	GenieBatch *batch = &search->batch;
	const GenieQuantizer *quantizer = &search->quantizer;
	GenieQuantizedQuery *vectors;
	float	   *elements;
	bool		found = false;

	/* where no row is certain to be visible, all of them are visited, whatever their bounds */
	if (!genie_visit_trusts_pages(&batch->round.visitor))
		return true;
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		if (!genie_quantizer_find_values(quantizer, batch->sources[s], batch->index, batch->meta))
			return false;
		found |= batch->sources[s]->values_why == GENIE_FALLBACK_NONE;
	}
	if (!found)
		return true;
	vectors = palloc((Size) batch->n * sizeof(GenieQuantizedQuery));
	elements = MemoryContextAllocHuge(CurrentMemoryContext, (Size) batch->n * quantizer->n_elements * sizeof(float));
	for (uint32 i = 0; i < batch->n; i++, elements += quantizer->n_elements)
		if (!genie_quantizer_query(quantizer, batch->queries[i], elements, &vectors[i]))
			return true;
	batch->round.vectors = vectors;
	batch->round.n_elements = quantizer->n_elements;
	return true;
}

/* The index may learn from one piece to the next. */
static bool
genie_nearest_has_quantizer(GenieNearestSearch *search)
{
	GenieBatch *batch = &search->batch;

	if (!search->has_quantizer && batch->parameters != NULL && !search->has_tried_quantizer)
	{
		search->has_tried_quantizer = true;
		search->has_quantizer = genie_quantizer_begin(&search->quantizer, batch->index, &search->distance,
													  batch->strategy, batch->parameters);
	}
	if (search->has_quantizer)
		search->quantizer.shape = genie_vector_value_shape(batch->parameters);	/* these lie elsewhere each time */
	return search->has_quantizer;
}

/* May the piece's candidates come from graphs?  False: stale. */
static bool
genie_nearest_find_graphs(GenieNearestSearch *search)
{
	GenieBatch *batch = &search->batch;

	if (search->radii != NULL || search->call.metric != 0 || search->k > GENIE_PROXIMITY_QUEUE_MAX ||
		(batch->exact && genie_strict_order) ||
		!genie_value_order_possible(&search->quantizer, batch->sources, batch->n_sources))
		return true;
	return genie_quantizer_find_graphs(batch->sources, batch->n_sources, batch->index, batch->meta, &batch->by_graph);
}

/* A piece's queries have no rows yet.  Where k is too large for rounds, there will be none. */
static bool
genie_nearest_begin(void *owner)
{
	GenieNearestSearch *search = owner;
	const GenieBatch *batch = &search->batch;
	Size		room = search->k > GENIE_JOB_K_MAX ? 0 : (Size) batch->n * search->k;

	search->nearest = MemoryContextAllocHuge(CurrentMemoryContext, (room + 1) * sizeof(GenieMeasured));
	search->within = palloc0((batch->n + 1) * sizeof(GenieMeasured *));
	search->n_nearest = palloc0((batch->n + 1) * sizeof(uint32));
	search->within_bytes = 0;
	search->distances = NULL;
	if (batch->vectors != NULL && (batch->vectors->is_symbols || batch->vectors->is_metric))
	{
		search->distances = palloc((batch->n + 1) * sizeof(FmgrInfo));
		for (uint32 i = 0; i < batch->n; i++)
			fmgr_info_copy(&search->distances[i], &search->distance, CurrentMemoryContext);
	}
	search->batch.round.vectors = NULL;
	if (room == 0 || (batch->exact && !genie_is_by_graph(batch->index)) || !genie_nearest_has_quantizer(search))
		return true;
	return genie_nearest_find_graphs(search) &&
		(batch->by_graph || batch->exact || genie_nearest_find_values(search));
}

/* ---- pending vectors ---- */

#define PLACE_BITS	16			/* TIDs have 48 */
StaticAssertDecl(GENIE_NEAREST_PAIRS <= 1 << PLACE_BITS, "the place of a pair fits behind its TID");

void
genie_nearest_begin_pairs(GenieNearestPairs *pairs, GenieNearestSearch *search, uint32 capacity)
{
	pairs->search = search;
	pairs->n = 0;
	Assert(capacity <= 1 << PLACE_BITS);
	pairs->pairs = palloc_extended(capacity * sizeof(GenieNearestPair), MCXT_ALLOC_HUGE);
	pairs->sorted = palloc_extended(capacity * sizeof(GenieNearestPair), MCXT_ALLOC_HUGE);
	pairs->keys = palloc_extended(2 * (Size) capacity * sizeof(uint64), MCXT_ALLOC_HUGE);
	pairs->rows = palloc_extended(capacity * sizeof(GenieVisitRow), MCXT_ALLOC_HUGE);
	pairs->first = palloc_extended((capacity + 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
}

/* A visible row: measured for the queries that take it. */
static void
genie_nearest_pending_row(void *arg, GenieVisitRow *row, TupleTableSlot *slot)
{
	const GenieNearestPairs *pairs = arg;
	Size		r = row - pairs->rows;

	genie_nearest_row(pairs->search, slot);
	for (uint32 i = pairs->first[r]; i < pairs->first[r + 1]; i++)
		genie_nearest_take(pairs->search, pairs->sorted[i].query, row);
}

static void
genie_nearest_sort_pairs(GenieNearestPairs *pairs)
{
	uint64	   *keys = pairs->keys;

	for (uint32 i = 0; i < pairs->n; i++)
		keys[i] = pairs->pairs[i].tid << PLACE_BITS | i;
	keys = genie_radix_sort(keys, keys + pairs->n, pairs->n, PLACE_BITS);
	for (uint32 i = 0; i < pairs->n; i++)
		pairs->sorted[i] = pairs->pairs[keys[i] % (1 << PLACE_BITS)];
}

void
genie_nearest_visit_pairs(GenieNearestPairs *pairs)
{
	GenieVisitor visitor = pairs->search->batch.round.visitor;
	GenieVisitRow **visits = palloc((pairs->n + 1) * sizeof(GenieVisitRow *));
	uint32		n_rows = 0;

	genie_nearest_sort_pairs(pairs);
	for (uint32 i = 0; i < pairs->n; i++)
	{
		if (i > 0 && pairs->sorted[i].tid == pairs->sorted[i - 1].tid)
			continue;
		pairs->rows[n_rows].tid = pairs->sorted[i].tid;
		pairs->first[n_rows] = i;
		visits[n_rows] = &pairs->rows[n_rows];
		n_rows++;
	}
	pairs->first[n_rows] = pairs->n;
	visitor.found = genie_nearest_pending_row;
	visitor.arg = pairs;
	genie_visit(&visitor, visits, n_rows);
	pfree(visits);
	pairs->n = 0;
}

/* Adds a pending vector for each query of the rounds to which it is near enough. */
static void
genie_nearest_pair(GenieNearestPairs *pairs, const GenieRaw *raw, uint64 tid)
{
	GenieNearestSearch *search = pairs->search;
	const GenieBatch *batch = &search->batch;
	MemoryContext old;
	Datum		value;

	MemoryContextReset(search->row_context);
	old = MemoryContextSwitchTo(search->row_context);
	value = genie_vector_type_raw_value(batch->vectors, raw);
	for (uint32 i = 0; i < batch->n; i++)
	{
		GenieMeasured measured = {.tid = tid, .root = tid};

		if (batch->states[i].n_found < batch->want)
			continue;			/* it becomes a scan */
		measured.distance = genie_row_distance(&search->distance, batch->index->rd_indcollation[0], value,
											   batch->queries[i], &measured.is_null);
		if (search->n_nearest[i] < search->k ||
			genie_nearest_cmp(&measured, search->nearest + (Size) i * search->k) < 0)
			pairs->pairs[pairs->n++] = (GenieNearestPair) {tid, i};
	}
	MemoryContextSwitchTo(old);
}

/* The rounds are over. */
static bool
genie_nearest_finish(void *owner)
{
	GenieNearestSearch *search = owner;
	GenieBatch *batch = &search->batch;
	uint32		capacity = Max(batch->n, GENIE_NEAREST_PAIRS);
	GenieNearestPairs pairs;
	GeniePendingScan *scan;
	GeniePendingRow row;
	bool		stale;

	if (batch->exact || batch->by_graph)
		return batch->vectors == NULL || genie_batch_exact_piece(search);
	if (batch->vectors == NULL || batch->parameters == NULL || batch->meta->pending_pages == 0)
		return true;
	genie_nearest_begin_pairs(&pairs, search, capacity);
	scan = genie_pending_scan_begin(batch->index, batch->meta);
	batch->instrument.record->n_pending = 0;
	while (genie_pending_next_row(scan, &row))
	{
		GenieRaw	raw = {.bytes = row.packed, .n = row.n, .size = row.size};

		batch->instrument.record->n_pending++;
		if ((row.flags & GENIE_FRAGMENT_RAW) == 0 || (row.flags & GENIE_FRAGMENT_DEAD) != 0)
			continue;
		if (pairs.n + batch->n > capacity)
			genie_nearest_visit_pairs(&pairs);
		genie_nearest_pair(&pairs, &raw, row.tid);
	}
	stale = scan->stale;
	genie_pending_scan_end(scan);
	if (!stale)
		genie_nearest_visit_pairs(&pairs);
	return !stale;
}

/* ---- output ---- */

void
genie_nearest_put_row(GenieNearestSearch *search, uint64 live, float8 distance, bool is_null)
{
	search->batch.instrument.record->n_rows++;
	genie_batch_put_row(search->output, search->n_output, live, Float8GetDatum(distance), is_null);
}

static void
genie_nearest_put(void *owner, uint32 i)
{
	GenieNearestSearch *search = owner;
	GenieRoundQuery *query = &search->batch.states[i];
	GenieMeasured *nearest = search->nearest + (Size) i * search->k;

	search->n_output++;
	if (query->n_found < search->batch.want)
	{
		genie_scans_put(search, i);
		return;
	}
	if (search->radii != NULL)
		nearest = search->within[i];
	genie_nearest_sort(nearest, search->n_nearest[i]);
	for (uint32 j = 0; j < search->n_nearest[i]; j++)
		genie_nearest_put_row(search, nearest[j].tid, nearest[j].distance, nearest[j].is_null);
	pgstat_count_index_tuples(search->batch.index, search->n_nearest[i]);
}

/* ---- a call ---- */

static const GenieBatchOps genie_nearest_ops = {.next = genie_queries_next, .begin = genie_nearest_begin,
	.finish = genie_nearest_finish, .put = genie_nearest_put};

static void
genie_nearest_begin_measuring(GenieNearestSearch *search)
{
	GenieBatch *batch = &search->batch;

	genie_row_value_begin(&search->row_value, batch->index);
	search->is_varlena = get_typlen(batch->index->rd_opcintype[0]) == -1;
	search->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch row", ALLOCSET_DEFAULT_SIZES);
	search->measure = (GenieRoundMeasure) {search, search->k, genie_nearest_row, genie_nearest_take,
		genie_nearest_farthest};
	batch->round.measure = &search->measure;
}

static void
genie_nearest_run(GenieNearestSearch *search)
{
	genie_nearest_begin_measuring(search);
	genie_batch_begin(&search->batch);
	genie_batch_run(&search->batch);
	genie_batch_end(&search->batch);
	genie_row_value_end(&search->row_value);
}

/* Puts out a query's nearest rows by a metric, as long as no query before could not be answered. */
static void
genie_nearest_put_measured(void *owner, uint32 i)
{
	GenieNearestSearch *search = owner;
	GenieBatch *batch = &search->batch;
	GenieMeasured *nearest = search->nearest + (Size) i * search->k;

	search->gave_up |= batch->states[i].n_found < batch->want;
	if (search->gave_up)
	{
		batch->n_taken = batch->n_queries;	/* the piece is the last */
		return;
	}
	genie_nearest_sort(nearest, search->n_nearest[i]);
	for (uint32 j = 0; j < search->n_nearest[i]; j++)
		search->call.put(search->call.arg, search->n_output, nearest[j].tid, nearest[j].distance);
	batch->instrument.record->n_rows += search->n_nearest[i];
	search->n_output++;
}

static const GenieBatchOps genie_measured_ops = {.next = genie_queries_next, .begin = genie_nearest_begin,
	.finish = genie_nearest_finish, .put = genie_nearest_put_measured};

uint32
genie_nearest_by_metric(const GenieNearestCall *call)
{
	GenieNearestSearch *search = palloc0(sizeof(GenieNearestSearch));
	GenieBatch *batch = &search->batch;

	search->call = *call;
	search->k = batch->want = call->k;
	search->of_vectors = true;
	search->vectors = call->queries;
	search->type = genie_vector_type_of_array(call->queries.is_double ? FLOAT8ARRAYOID : FLOAT4ARRAYOID);
	batch->heap = call->heap;
	batch->index = call->index;
	batch->exact = true;
	batch->kind = GENIE_SCAN_EXACT;
	batch->n_queries = call->queries.n;
	batch->ops = &genie_measured_ops;
	batch->owner = search;
	genie_nearest_run(search);
	*call->instrument = batch->instrument;
	return search->n_output;
}

/* A search of that index by the call's queries. */
static GenieNearestSearch *
genie_nearest_begin_call(FunctionCallInfo fcinfo, Relation heap, Relation index, GenieBatchOutput *output)
{
	GenieNearestSearch *search = palloc0(sizeof(GenieNearestSearch));
	GenieBatch *batch = &search->batch;

	search->output = output;
	batch->heap = heap;
	batch->index = index;
	genie_queries_open(search, PG_GETARG_ARRAYTYPE_P(1));
	batch->kind = GENIE_SCAN_SEARCH;
	batch->exact = !genie_learns(batch->index) || genie_is_exact(batch->index);
	batch->ops = &genie_nearest_ops;
	batch->owner = search;
	fmgr_info(batch->order_proc, &search->distance);
	return search;
}

static void
genie_nearest_search(FunctionCallInfo fcinfo, Relation heap, Relation index, GenieBatchOutput *output)
{
	uint32		k = genie_batch_k(PG_GETARG_INT32(2));
	GenieNearestSearch *search = genie_nearest_begin_call(fcinfo, heap, index, output);
	GenieBatch *batch = &search->batch;

	search->k = k;
	batch->want = batch->exact && !genie_is_by_graph(batch->index) ? search->k :
		Max(search->k, genie_candidates_of(batch->index));
	batch->n_hits = genie_graph_of(batch->index) > 0 ? (uint32) genie_graph_queue : 0;
	genie_nearest_run(search);
}

/*
 * genie_search(index regclass, queries anyarray, k int) returns table (query int, tid tid, distance float8): query is
 * the query's number in the array, from 1 on; tid is the row's ctid; distance is NULL where the indexed value is NULL.
 */
Datum
genie_batch_nearest(PG_FUNCTION_ARGS)
{
	return genie_batch_call(fcinfo, genie_nearest_search, "genie_search_parts()");
}

/* genie_search_parts(index regclass, queries anyarray, k int): its second column, part, is the partition */
Datum
genie_batch_nearest_parts(PG_FUNCTION_ARGS)
{
	return genie_batch_call_parts(fcinfo, genie_nearest_search);
}

/* The radii, of which there must be as many as queries. */
static const double *
genie_within_radii(const GenieBatch *batch, ArrayType *array)
{
	const double *radii = (const double *) ARR_DATA_PTR(array);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the array of radii must not contain nulls")));
	if (ARR_NDIM(array) > 1 || (uint32) n != batch->n_queries)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("there must be a radius for each query"),
				 errdetail("There are %u queries, and %d radii.", batch->n_queries, n),
				 errhint("For one radius: array_fill(radius, ARRAY[%u]).", batch->n_queries)));
	for (int i = 0; i < n; i++)
		if (isnan(radii[i]) || (radii[i] < 0 && batch->strategy != GENIE_INNER_STRATEGY))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("radius must not be negative or NaN")));
	return radii;
}

static void
genie_within_search(FunctionCallInfo fcinfo, Relation heap, Relation index, GenieBatchOutput *output)
{
	GenieNearestSearch *search = genie_nearest_begin_call(fcinfo, heap, index, output);
	GenieBatch *batch = &search->batch;

	if (!batch->exact)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" cannot tell all rows within a distance", RelationGetRelationName(batch->index)),
				 errdetail("Its operator class is approximate."),
				 errhint("Use an index of an exact operator class.")));
	search->radii = genie_within_radii(batch, PG_GETARG_ARRAYTYPE_P(2));
	search->k = batch->want = GENIE_WITHIN_HITS;
	genie_nearest_run(search);
}

/*
 * genie_within(index regclass, queries anyarray, radii float8[]) returns the same of all rows whose distance from the
 * query is at most its radius, the nearest first.
 */
Datum
genie_batch_within(PG_FUNCTION_ARGS)
{
	return genie_batch_call(fcinfo, genie_within_search, NULL);
}

/*
 * genie_frontier.c
 *	  Rows in the order of their exact ORDER BY values (genie_frontier.h).
 *
 * Order.  Rows come by (values, TID in the index), as ORDER BY x <~> q, ctid gives them where no row has been updated
 * in place.  The executor neither computes the operators again nor sorts (xs_recheckorderby is false).
 *
 * The rule.  Candidates come by (bound, TID), and no row's value is less than its bound.  So a measured row that
 * comes before (bound, TID) of the next candidate comes before all candidates that are left.  Where several operators
 * sort, the next candidate may come before all rows of its bound, whatever their TIDs.  Then a measured row must have
 * a smaller value than that bound.  Of vectors with a bit a dimension, a value may be less than its bound, where a scan
 * does not allow for every error (values/genie_rabitq.h): then such a row comes later than it should, and is not lost.
 *
 * Candidates.  An exact one (a match count; a distance that count and sizes tell) needs no visit.  Others are visited
 * in batches: GENIE_FRONTIER_FIRST at first, and twice as many each time.  A batch has only candidates that come
 * before the first measured row, so each of them would have to be visited before that row is returned.  Rows of a
 * batch are visited in TID order, each page once (genie_visit.c).
 *
 * Sweeps.  Where bounds tell little, most of the table must be looked at.  When a batch did not reach the first
 * measured row, and a good share of the table was visited, all candidates that come before that row are taken at once
 * from the source, and visited in TID order, about as a sequential scan reads the table.
 * They would all have to be visited before that row is returned, unless one of them comes before it.  From the first
 * sweep on, which makes the source sort its candidates, there are no more batches.
 *
 * Visits are by the scan's snapshot: a row that it does not see is dropped and never measured.  Of a HOT chain, the
 * visible member is measured, and the row is returned under the chain's TID.  The executor fetches each row that it
 * gets again, by then from a page that is in the buffer pool.
 *
 * Edit distances of short texts are computed several at a time (GenieEditGroup), where no other operator sorts.
 *
 * Measured rows are a heap.  An entry is n_orders + 1 numbers of 64 bits: the values, as integers of the same order
 * (genie_float_order.h), then the TID.  Entries are compared as such arrays.
 *
 * Memory: 16 bytes for each row that was measured and not returned, if one operator sorts, so that a sort of a whole
 * table by distance needs no more; 32 bytes a row of the batch, which work_mem limits; and 8 bytes a row of a sweep,
 * whose rows are visited in batches that stay in the processor's cache.
 *
 * Locks: none are held while an operator, or an index expression, is called; the row's page is pinned.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "genie_compat.h"
#include "genie_float_order.h"
#include "genie_frontier.h"
#include "genie_scan.h"
#include "genie_object_table.h"

#define GENIE_FRONTIER_FIRST 16 /* candidates that are visited together at first */
#define GENIE_FRONTIER_GROWTH 2 /* times as many the next time */
#define GENIE_FRONTIER_LEAST 64 /* candidates that may be visited together, however little work_mem is */
#define GENIE_FRONTIER_SWEEP 4096	/* rows of a sweep that are visited together: some hundred kB, and many a page */
#define GENIE_FRONTIER_ROWS 256 /* measured rows for which there is room at first */
#define GENIE_INTERRUPT_ROWS 1024	/* between two looks at whether the query was cancelled */

#define ST_SORT genie_frontier_sort
#define ST_ELEMENT_TYPE GenieFrontierRow
#define ST_COMPARE(a, b) (((a)->visit.tid > (b)->visit.tid) - ((a)->visit.tid < (b)->visit.tid))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT genie_frontier_sort_tids
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) ((*(a) > *(b)) - (*(a) < *(b)))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* ---- measured rows ---- */

/* numbers of an entry */
static inline Size
genie_frontier_width(const GenieFrontier *frontier)
{
	return (Size) frontier->n_orders + 1;
}

static inline uint64 *
genie_frontier_at(const GenieFrontier *frontier, Size i)
{
	return frontier->rows + i * genie_frontier_width(frontier);
}

static inline int
genie_frontier_compare_numbers(const uint64 *a, const uint64 *b, Size n)
{
	for (Size i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static inline bool
genie_frontier_before(const GenieFrontier *frontier, const uint64 *a, const uint64 *b)
{
	return genie_frontier_compare_numbers(a, b, genie_frontier_width(frontier)) < 0;
}

static inline void
genie_frontier_copy(const GenieFrontier *frontier, uint64 *to, const uint64 *from)
{
	memcpy(to, from, genie_frontier_width(frontier) * sizeof(uint64));
}

/* Adds an entry. */
static void
genie_frontier_push(GenieFrontier *frontier, const uint64 *row)
{
	Size		at = frontier->n_rows++;

	if (at == frontier->rows_capacity)
	{
		Size		bytes;

		frontier->rows_capacity = Max(2 * at, GENIE_FRONTIER_ROWS);
		bytes = frontier->rows_capacity * genie_frontier_width(frontier) * sizeof(uint64);
		frontier->rows = at == 0 ? MemoryContextAllocHuge(frontier->rows_context, bytes) :
			repalloc_huge(frontier->rows, bytes);
	}
	while (at > 0 && genie_frontier_before(frontier, row, genie_frontier_at(frontier, (at - 1) / 2)))
	{
		genie_frontier_copy(frontier, genie_frontier_at(frontier, at), genie_frontier_at(frontier, (at - 1) / 2));
		at = (at - 1) / 2;
	}
	genie_frontier_copy(frontier, genie_frontier_at(frontier, at), row);
}

/* Takes the first entry out. */
static void
genie_frontier_pop(GenieFrontier *frontier)
{
	Size		n = --frontier->n_rows;
	const uint64 *last = genie_frontier_at(frontier, n);
	Size		at = 0;

	genie_frontier_copy(frontier, frontier->row, frontier->rows);
	for (Size child = 1; child < n; child = 2 * at + 1)
	{
		if (child + 1 < n &&
			genie_frontier_before(frontier, genie_frontier_at(frontier, child + 1), genie_frontier_at(frontier, child)))
			child++;
		if (!genie_frontier_before(frontier, genie_frontier_at(frontier, child), last))
			break;
		genie_frontier_copy(frontier, genie_frontier_at(frontier, at), genie_frontier_at(frontier, child));
		at = child;
	}
	memmove(genie_frontier_at(frontier, at), last, genie_frontier_width(frontier) * sizeof(uint64));
}

/* ---- visits ---- */

pg_noreturn static void genie_frontier_too_near(const GenieFrontier *frontier, const GenieFrontierRow *row,
												double value);

static void
genie_frontier_too_near(const GenieFrontier *frontier, const GenieFrontierRow *row, double value)
{
	ItemPointerData tid;

	genie_tid_from_number(row->visit.tid, &tid);
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("a row is nearer than index \"%s\" allows",
					RelationGetRelationName(frontier->scan->indexRelation)),
			 errdetail("The row at (%u,%u) has distance %g, and the index's lower bound of it is %g.",
					   ItemPointerGetBlockNumber(&tid), ItemPointerGetOffsetNumber(&tid), value, row->bound),
			 frontier->of_metric ?
			 errhint("Its distance function is no metric, or has been changed.  Try genie_metric_check().") :
			 errhint("The index is damaged, which REINDEX mends, or its operator class has a wrong "
					 "support function %d.", GENIE_BOUND_PROC)));
}

/* Computes an operator for a value that is not NULL. */
static uint64
genie_frontier_measure(const GenieFrontier *frontier, int i, Datum value)
{
	ScanKey		key = &frontier->scan->orderByData[i];
	bool		is_null = (key->sk_flags & SK_ISNULL) != 0;
	Datum		result = (Datum) 0;

	if (!is_null)
		result = genie_row_order(&frontier->functions[i], key->sk_collation, value, key->sk_argument, &is_null);
	if (is_null)
		return GENIE_FLOAT_ORDER_NULL;
	return genie_float_order(key->sk_strategy == GENIE_COUNT_STRATEGY ? DatumGetInt32(result) : DatumGetFloat8(result));
}

/* The values of a row are in frontier->row. */
static void
genie_frontier_add_measured(GenieFrontier *frontier, const GenieFrontierRow *row)
{
	uint64	   *numbers = frontier->row;

	numbers[frontier->n_orders] = row->visit.tid;
	if ((frontier->bound != NULL || frontier->of_metric) &&
		numbers[frontier->rank_by] < genie_float_order(row->bound))
		genie_frontier_too_near(frontier, row, genie_float_of_order(numbers[frontier->rank_by]));
	genie_frontier_push(frontier, numbers);
}

/* Measures the texts that wait. */
static void
genie_frontier_measure_texts(GenieFrontier *frontier)
{
	uint32		n = frontier->texts->n;

	if (n == 0)
		return;
	genie_edit_group_measure(frontier->texts);
	for (uint32 i = 0; i < n; i++)
	{
		frontier->row[0] = genie_float_order(frontier->texts->distances[i]);
		genie_frontier_add_measured(frontier, frontier->waiting[i]);
	}
}

/* A row is visible: computes its values, or has its text wait. */
static void
genie_frontier_found(void *arg, GenieVisitRow *visited, TupleTableSlot *slot)
{
	GenieFrontier *frontier = arg;
	const GenieFrontierRow *row = (const GenieFrontierRow *) visited;
	MemoryContext old = MemoryContextSwitchTo(frontier->row_context);
	bool		is_null;
	Datum		value = genie_row_value(&frontier->row_value, slot, &is_null);

	if (frontier->texts != NULL && !is_null)
	{
		frontier->waiting[frontier->texts->n] = row;
		if (genie_edit_group_add(frontier->texts, value))
			genie_frontier_measure_texts(frontier);
	}
	else
	{
		for (int i = 0; i < frontier->n_orders; i++)
			frontier->row[i] = is_null ? GENIE_FLOAT_ORDER_NULL : genie_frontier_measure(frontier, i, value);
		genie_frontier_add_measured(frontier, row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(frontier->row_context);
}

uint32
genie_frontier_visit(GenieFrontier *frontier, GenieFrontierRow *rows, uint32 n)
{
	GenieVisitRow **visits = palloc_extended((Size) n * sizeof(GenieVisitRow *), MCXT_ALLOC_HUGE);
	Size		n_rows = frontier->n_rows;

	genie_frontier_sort(rows, n);
	for (uint32 i = 0; i < n; i++)
		visits[i] = &rows[i].visit;
	genie_visit(&frontier->visitor, visits, n);
	if (frontier->texts != NULL)
		genie_frontier_measure_texts(frontier);
	pfree(visits);
	return (uint32) (frontier->n_rows - n_rows);
}

/* ---- candidates ---- */

/* Takes the next candidate, and the numbers before which it cannot come. */
static void
genie_frontier_look_ahead(GenieFrontier *frontier)
{
	const GenieCandidate *ahead = &frontier->ahead;
	uint64	   *floor = frontier->floor;

	frontier->has_ahead = !frontier->at_end && frontier->next_candidate(frontier->arg, &frontier->ahead);
	frontier->at_end = !frontier->has_ahead;
	if (frontier->at_end)
		return;
	for (int i = 0; i < frontier->n_orders; i++)
		floor[i] = frontier->is_sole || ahead->is_null || i < frontier->rank_by ? GENIE_FLOAT_ORDER_NULL : 0;
	if (!ahead->is_null)
		floor[frontier->rank_by] = genie_float_order(ahead->bound);
	floor[frontier->n_orders] = frontier->is_sole || ahead->is_null ? ahead->tid : 0;
}

/* Comes the next candidate behind the first of the measured rows? */
static inline bool
genie_frontier_is_behind(const GenieFrontier *frontier)
{
	return frontier->n_rows > 0 && genie_frontier_before(frontier, frontier->rows, frontier->floor);
}

/* The candidates that work_mem holds. */
static uint32
genie_frontier_limit(void)
{
	Size		bytes = sizeof(GenieFrontierRow) + sizeof(GenieVisitRow *);

	return (uint32) Min(Max(work_mem * (Size) 1024 / bytes, GENIE_FRONTIER_LEAST), PG_INT32_MAX);
}

/* Adds a row to a batch of n. */
static void
genie_frontier_add(GenieFrontier *frontier, uint32 *n, uint64 tid, double bound)
{
	if (*n == frontier->batch_capacity)
	{
		Size		bytes;

		frontier->batch_capacity = Max(2 * *n, GENIE_FRONTIER_FIRST);
		bytes = frontier->batch_capacity * sizeof(GenieFrontierRow);
		frontier->batch = frontier->batch == NULL ? MemoryContextAlloc(frontier->rows_context, bytes) :
			repalloc_huge(frontier->batch, bytes);
	}
	frontier->batch[*n].visit.tid = tid;
	frontier->batch[(*n)++].bound = bound;
}

/* Adds the next candidate to the batch, or to the measured rows. */
static void
genie_frontier_take(GenieFrontier *frontier, uint32 *n)
{
	if (frontier->ahead.is_exact)
		genie_frontier_push(frontier, frontier->floor);
	else
		genie_frontier_add(frontier, n, frontier->ahead.tid, frontier->ahead.bound);
}

static void
genie_frontier_visit_batch(GenieFrontier *frontier, uint32 n)
{
	genie_frontier_open(frontier);
	genie_frontier_visit(frontier, frontier->batch, n);
	frontier->n_visited += n;
}

/* Visits the next candidate, and all that also come before the first measured row. */
static void
genie_frontier_sweep(GenieFrontier *frontier)
{
	const uint64 *first = frontier->rows;
	double		value = genie_float_of_order(first[frontier->rank_by]);
	uint64		tid = frontier->is_sole ? first[frontier->n_orders] : PG_UINT64_MAX;
	uint32		limit = Min(genie_frontier_limit(), GENIE_FRONTIER_SWEEP);
	uint32		n_batch = 0;
	uint64	   *tids;
	Size		n = frontier->sweep(frontier->arg, value, tid, &tids);

	genie_frontier_take(frontier, &n_batch);
	genie_frontier_sort_tids(tids, n);
	for (Size i = 0; i < n; i++)
	{
		if (n_batch == limit)
		{
			genie_frontier_visit_batch(frontier, n_batch);
			n_batch = 0;
		}
		genie_frontier_add(frontier, &n_batch, tids[i], -get_float8_infinity());
	}
	genie_frontier_visit_batch(frontier, n_batch);
	if (n > 0)
		pfree(tids);
	genie_frontier_look_ahead(frontier);
}

/* Is a sweep possible?  Its end is the first measured row. */
static bool
genie_frontier_can_sweep(const GenieFrontier *frontier)
{
	return frontier->sweep != NULL && frontier->n_rows > 0 &&
		frontier->rows[frontier->rank_by] < GENIE_FLOAT_ORDER_NAN;
}

/* Visits the next candidate, and some behind it that also come before the first measured row. */
static void
genie_frontier_advance(GenieFrontier *frontier)
{
	uint32		n = 0;
	uint32		most = Min(frontier->n_visit, genie_frontier_limit());

	if (frontier->sweeps && genie_frontier_can_sweep(frontier))
	{
		genie_frontier_sweep(frontier);
		return;
	}
	do
	{
		genie_frontier_take(frontier, &n);
		genie_frontier_look_ahead(frontier);
		if (n % GENIE_INTERRUPT_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
	} while (n < most && frontier->has_ahead && !frontier->ahead.is_null && !genie_frontier_is_behind(frontier));
	if (n == 0)
		return;
	genie_frontier_visit_batch(frontier, n);
	frontier->n_visit = most * GENIE_FRONTIER_GROWTH;
	frontier->sweeps |= n == most && frontier->n_visited >= frontier->sweep_from;
}

const uint64 *
genie_frontier_next(GenieFrontier *frontier)
{
	for (;;)
	{
		if (!frontier->has_ahead)
			genie_frontier_look_ahead(frontier);
		if (frontier->n_rows > 0 && (!frontier->has_ahead || genie_frontier_is_behind(frontier)))
		{
			genie_frontier_pop(frontier);
			return frontier->row;
		}
		if (!frontier->has_ahead)
			return NULL;
		if (frontier->ahead.is_exact)
		{
			frontier->has_ahead = false;
			return frontier->floor;
		}
		genie_frontier_advance(frontier);
		CHECK_FOR_INTERRUPTS();
	}
}

/* ---- the scan ---- */

GenieFrontier *
genie_frontier_begin(IndexScanDesc scan, GenieNextCandidate next_candidate, void *arg)
{
	GenieFrontier *frontier = palloc0(sizeof(GenieFrontier));

	frontier->scan = scan;
	frontier->next_candidate = next_candidate;
	frontier->arg = arg;
	frontier->n_orders = scan->numberOfOrderBys;
	frontier->functions = palloc0(frontier->n_orders * sizeof(FmgrInfo));
	frontier->floor = palloc(genie_frontier_width(frontier) * sizeof(uint64));
	frontier->row = palloc(genie_frontier_width(frontier) * sizeof(uint64));
	frontier->scan_context = CurrentMemoryContext;
	frontier->rows_context = AllocSetContextCreate(CurrentMemoryContext, "genie frontier", ALLOCSET_SMALL_SIZES);
	frontier->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie frontier row", ALLOCSET_SMALL_SIZES);
	return frontier;
}

void
genie_frontier_restart(GenieFrontier *frontier)
{
	frontier->at_end = frontier->has_ahead = frontier->sweeps = false;
	frontier->n_visit = GENIE_FRONTIER_FIRST;
}

/* Where texts are measured together: for one operator, the edit distance. */
static GenieEditGroup *
genie_frontier_texts(const GenieFrontier *frontier)
{
	MemoryContext old;
	GenieEditGroup *texts;

	if (frontier->n_orders > 1 || frontier->functions[0].fn_addr != genie_edit_distance_texts)
		return NULL;
	old = MemoryContextSwitchTo(frontier->rows_context);
	texts = genie_edit_group_begin(frontier->scan->orderByData[0].sk_argument);
	MemoryContextSwitchTo(old);
	return texts;
}

void
genie_frontier_rescan(GenieFrontier *frontier)
{
	int			n_queries = 0;

	for (int i = frontier->n_orders - 1; i >= 0; i--)
	{
		ScanKey		key = &frontier->scan->orderByData[i];

		if (frontier->functions[i].fn_oid != key->sk_func.fn_oid)
			fmgr_info_copy(&frontier->functions[i], &key->sk_func, frontier->scan_context);
		if ((key->sk_flags & SK_ISNULL) != 0)
			continue;
		frontier->rank_by = i;
		n_queries++;
	}
	frontier->is_sole = n_queries == 1;
	MemoryContextReset(frontier->rows_context);
	frontier->rows = NULL;
	frontier->n_rows = frontier->rows_capacity = 0;
	frontier->n_visited = 0;
	frontier->batch = NULL;
	frontier->batch_capacity = 0;
	frontier->texts = genie_frontier_texts(frontier);
	genie_frontier_restart(frontier);
}

void
genie_frontier_open(GenieFrontier *frontier)
{
	IndexScanDesc scan = frontier->scan;
	MemoryContext old;

	if (frontier->is_open)
		return;
	old = MemoryContextSwitchTo(frontier->scan_context);
	genie_visitor_begin(&frontier->visitor, scan->heapRelation, scan->indexRelation, scan->xs_snapshot);
	frontier->visitor.instrument = genie_scan_instrument(scan);
	frontier->visitor.found = genie_frontier_found;
	frontier->visitor.arg = frontier;
	genie_row_value_begin(&frontier->row_value, scan->indexRelation);
	frontier->is_open = true;
	MemoryContextSwitchTo(old);
}

int
genie_frontier_compare(const GenieFrontier *frontier, const uint64 *a, const uint64 *b)
{
	return genie_frontier_compare_numbers(a, b, (Size) frontier->n_orders);
}

void
genie_frontier_give(const GenieFrontier *frontier, const uint64 *row)
{
	IndexScanDesc scan = frontier->scan;

	genie_tid_from_number(row[frontier->n_orders], &scan->xs_heaptid);
	scan->xs_recheckorderby = false;
	for (int i = 0; i < frontier->n_orders; i++)
	{
		double		value;

		scan->xs_orderbynulls[i] = row[i] == GENIE_FLOAT_ORDER_NULL;
		scan->xs_orderbyvals[i] = (Datum) 0;
		if (scan->xs_orderbynulls[i])
			continue;
		value = genie_float_of_order(row[i]);
		scan->xs_orderbyvals[i] = scan->orderByData[i].sk_strategy == GENIE_COUNT_STRATEGY ?
			Int32GetDatum((int32) value) : Float8GetDatum(value);
	}
}

void
genie_frontier_give_null(const GenieFrontier *frontier, uint64 tid)
{
	for (int i = 0; i < frontier->n_orders; i++)
		frontier->floor[i] = GENIE_FLOAT_ORDER_NULL;
	frontier->floor[frontier->n_orders] = tid;
	genie_frontier_give(frontier, frontier->floor);
}

void
genie_frontier_end(GenieFrontier *frontier)
{
	if (!frontier->is_open)
		return;
	genie_row_value_end(&frontier->row_value);
	genie_visitor_end(&frontier->visitor);
}

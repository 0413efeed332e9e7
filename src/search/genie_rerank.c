/*
 * genie_rerank.c
 *	  Rows that match a signature, in the order of their distances (genie_rerank.h).
 *
 * Rounds.  The first round takes candidates, best match first, until genie.candidates of them are rows that the scan's
 * snapshot sees.  It visits them in TID order (genie_visit.c), computes the operators of ORDER BY from the values
 * there, and gives the rows by (distances, tid).  The next round takes twice as many of those that are left, and so on,
 * until there are none.  Rows whose value is NULL come last, in TID order.  So every row is given once, whatever the
 * setting.  Rows that match nothing are candidates, too, the last.
 *
 * Bounds.  Where there are lower bounds of candidates' distances (genie_quantizer.c), rows of a round wait, and are
 * visited only when their turn may come.  A row is given once it is nearer than every bound that waits.  Otherwise the
 * next rows by their bounds are visited: GENIE_RERANK_FIRST at first, and twice as many each time.  Rows that wait
 * count as rows of the round, so only rows that are certain to be visible wait (genie_all_visible.c).  The rows that
 * are given, and their order, are the same as without bounds.
 *
 * An untrained index (genie_signer.h) does not know which of its rows are good.  All of them are one round, whose order
 * is exact.
 *
 * Order.  Values are exact (xs_recheckorderby is false), and in order within a round.  A later round may hold a row
 * that is nearer than one of an earlier round.  It is given all the same, in its round, unless genie.strict_order is
 * set: then it is left out.  A plan that merges by the distance needs that setting.
 *
 * All operators of ORDER BY are computed here, so a second one costs no more than its calls.  The first one whose query
 * is not NULL chooses the candidates.
 *
 * The executor fetches each row that it gets again, by then from a page that is in the buffer pool.
 *
 * Locks: none are held while an operator, or an index expression, is called; the row's page is pinned.
 *
 * Memory: a round takes some 90 bytes a row.  One that work_mem does not hold is given as several rounds.  The
 * exception is the round of an untrained index, whose rows the pending list's limit bounds.  What a value detoasts to
 * is freed row by row.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "genie_all_visible.h"
#include "genie_object_table.h"
#include "genie_quantizer.h"
#include "genie_rerank.h"
#include "genie_row.h"
#include "genie_visit.h"

#define GENIE_RERANK_GROWTH	2	/* times as many rows in the next round */
#define GENIE_RERANK_FIRST 16	/* candidates that are visited at first, of those that wait */
#define GENIE_RERANK_VISIT	4096	/* candidates that are visited together at most, before others take their place */

/* Bytes by which a round is limited: of a row, and of each operator's value. */
#define GENIE_RERANK_ROW_BYTES 80
#define GENIE_RERANK_VALUE_BYTES 9

/* An operator's value. */
typedef struct GenieRerankValue
{
	double		value;
	bool		is_null;
} GenieRerankValue;

bool		genie_strict_order;

typedef struct GenieRerankRow
{
	GenieVisitRow visit;		/* first: what genie_visit() fills */
	float		nearest;		/* no distance is less */
	GenieRerankValue values[FLEXIBLE_ARRAY_MEMBER];
} GenieRerankRow;

typedef GenieRerankRow *GenieRerankRef;

/* Rows of a round; begins as zeros. */
typedef struct GenieRerankRows
{
	uint32		n;
	uint32		next;			/* the row whose turn is next */
	uint32		capacity;
	GenieRerankRef *rows;
} GenieRerankRows;

struct GenieRerank
{
	IndexScanDesc scan;
	GenieNextCandidate next_candidate;
	int			n_orders;
	FmgrInfo   *functions;		/* the operators' own, one each: what they keep stays from scan to scan */
	bool		is_open;		/* the next two are */
	GenieVisitor visitor;
	GenieRowValue row_value;

	MemoryContext scan_context; /* of functions and all that stays */
	MemoryContext round_context;	/* of rows */
	MemoryContext row_context;

	/* a round */
	uint32		wanted;			/* rows */
	GenieRerankRows visited;	/* in order from the next one on */
	GenieRerankRows waiting;	/* not visited yet; the least bound first */
	uint32		n_visit;		/* so many of them next time */

	/* bounds */
	bool		has_bounds;		/* candidates may have some */
	uint64		tombstone_version;	/* the least that segments were opened with, as they may be opened again */
	GenieTableQuantizer quantizer;

	/* candidates */
	bool		strict;			/* rows are left out for the sake of their order */
	bool		at_end;			/* there are none any more */
	bool		has_null;		/* but NULL rows, of which this is the first that was not given */
	uint64		null_tid;

	/* the last row given of an earlier round, if the order is strict */
	bool		has_last;
	GenieRerankValue *last;
};

/* ---- rows ---- */

/* Compares two rows' values; NULL is last, as in ORDER BY. */
static int
genie_rerank_compare_values(const GenieRerankValue *a, const GenieRerankValue *b, int n)
{
	for (int i = 0; i < n; i++)
	{
		int			diff = a[i].is_null || b[i].is_null ? a[i].is_null - b[i].is_null :
			float8_cmp_internal(a[i].value, b[i].value);

		if (diff != 0)
			return diff;
	}
	return 0;
}

/* Rows by their TIDs in the index. */
static inline int
genie_rerank_compare_tids(const GenieRerankRow *x, const GenieRerankRow *y)
{
	return (x->visit.tid > y->visit.tid) - (x->visit.tid < y->visit.tid);
}

static int
genie_rerank_compare(const void *a, const void *b, void *arg)
{
	const GenieRerank *rerank = arg;
	const GenieRerankRow *x = *(const GenieRerankRef *) a;
	const GenieRerankRow *y = *(const GenieRerankRef *) b;
	int			diff = genie_rerank_compare_values(x->values, y->values, rerank->n_orders);

	return diff != 0 ? diff : genie_rerank_compare_tids(x, y);
}

#define ST_SORT genie_rerank_sort_tids
#define ST_ELEMENT_TYPE GenieRerankRef
#define ST_COMPARE(a, b) genie_rerank_compare_tids(*(a), *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Rows that wait, the nearest by their bounds first. */
static inline int
genie_rerank_compare_bounds(const GenieRerankRow *x, const GenieRerankRow *y)
{
	return (x->nearest > y->nearest) - (x->nearest < y->nearest);
}

#define ST_SORT genie_rerank_sort_bounds
#define ST_ELEMENT_TYPE GenieRerankRef
#define ST_COMPARE(a, b) genie_rerank_compare_bounds(*(a), *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static void
genie_rerank_append(GenieRerankRows *rows, GenieRerankRow *row)
{
	if (rows->n == rows->capacity)
	{
		rows->capacity = rows->capacity == 0 ? 256 : rows->capacity * 2;
		rows->rows = rows->n == 0 ? palloc(rows->capacity * sizeof(GenieRerankRef)) :
			repalloc_huge(rows->rows, (Size) rows->capacity * sizeof(GenieRerankRef));
	}
	rows->rows[rows->n++] = row;
}

/* ---- a round ---- */

/* A row is visible: computes its distances. */
static void
genie_rerank_found(void *arg, GenieVisitRow *visited, TupleTableSlot *slot)
{
	GenieRerank *rerank = arg;
	GenieRerankRow *row = (GenieRerankRow *) visited;
	MemoryContext old = MemoryContextSwitchTo(rerank->row_context);
	bool		is_null;
	Datum		value = genie_row_value(&rerank->row_value, slot, &is_null);

	for (int i = 0; i < rerank->n_orders; i++)
	{
		ScanKey		key = &rerank->scan->orderByData[i];
		GenieRerankValue *to = &row->values[i];

		to->value = 0;
		to->is_null = is_null || (key->sk_flags & SK_ISNULL) != 0;
		if (!to->is_null)
			to->value = genie_row_distance(&rerank->functions[i], key->sk_collation, value, key->sk_argument,
										   &to->is_null);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(rerank->row_context);
}

/* The rows that the round has, visited or not. */
static uint32
genie_rerank_rows(const GenieRerank *rerank)
{
	return rerank->visited.n + rerank->waiting.n;
}

/* Takes candidates until there are so many rows in the round; *is_raw tells whether the last one was. */
static void
genie_rerank_take(GenieRerank *rerank, uint32 until, bool *is_raw)
{
	while (genie_rerank_rows(rerank) < until && !rerank->at_end)
	{
		GenieCandidate candidate;

		if (!rerank->next_candidate(rerank->scan, &candidate))
			rerank->at_end = true;
		else if (candidate.is_null)
		{
			rerank->at_end = rerank->has_null = true;
			rerank->null_tid = candidate.tid;
		}
		else
		{
			GenieRerankRow *row = palloc(offsetof(GenieRerankRow, values) +
										 rerank->n_orders * sizeof(GenieRerankValue));

			row->visit.tid = candidate.tid;
			row->nearest = candidate.nearest;
			genie_rerank_append(&rerank->visited, row);
			*is_raw = candidate.is_raw;
		}
		if (genie_rerank_rows(rerank) % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* The rows from one on, in TID order, to be visited; palloc'd. */
static GenieVisitRow **
genie_rerank_visits(GenieRerank *rerank, uint32 first)
{
	GenieRerankRef *rows = rerank->visited.rows + first;
	uint32		n = rerank->visited.n - first;
	GenieVisitRow **visits = palloc_extended((Size) n * sizeof(GenieVisitRow *), MCXT_ALLOC_HUGE);

	genie_rerank_sort_tids(rows, n);
	for (uint32 i = 0; i < n; i++)
		visits[i] = &rows[i]->visit;
	return visits;
}

/* Lets those of the rows from one on wait that have a bound and are certain to be visible. */
static void
genie_rerank_let_wait(GenieRerank *rerank, uint32 first)
{
	uint32		n = rerank->visited.n - first;
	GenieVisitRow **visits = genie_rerank_visits(rerank, first);
	bool	   *certain = palloc(n * sizeof(bool));

	genie_all_visible_rows(&rerank->visitor, rerank->tombstone_version, visits, n, certain);
	rerank->visited.n = first;
	for (uint32 i = 0; i < n; i++)
	{
		GenieRerankRow *row = (GenieRerankRow *) visits[i];

		genie_rerank_append(certain[i] && row->nearest > 0 ? &rerank->waiting : &rerank->visited, row);
	}
	pfree(certain);
	pfree(visits);
}

/* Visits the rows from one on, and drops those that the snapshot does not see. */
static void
genie_rerank_visit(GenieRerank *rerank, uint32 first)
{
	uint32		n = rerank->visited.n - first;
	GenieVisitRow **visits = genie_rerank_visits(rerank, first);

	genie_visit(&rerank->visitor, visits, n);
	rerank->visited.n = first;
	for (uint32 i = 0; i < n; i++)
	{
		if (visits[i]->live != 0)
			genie_rerank_append(&rerank->visited, (GenieRerankRow *) visits[i]);
		else
			pfree(visits[i]);
	}
	pfree(visits);
}

/* Rows of which work_mem holds the round; a handful at least. */
static uint32
genie_rerank_limit(const GenieRerank *rerank)
{
	Size		row = GENIE_RERANK_ROW_BYTES + rerank->n_orders * GENIE_RERANK_VALUE_BYTES;

	return (uint32) Min(Max(work_mem * (Size) 1024 / row, 64), PG_INT32_MAX);
}

/* Puts the rows that were visited and not given into order. */
static void
genie_rerank_sort(GenieRerank *rerank)
{
	GenieRerankRows *rows = &rerank->visited;

	qsort_arg(rows->rows + rows->next, rows->n - rows->next, sizeof(GenieRerankRef), genie_rerank_compare, rerank);
}

/* Visits the next of the rows that wait. */
static void
genie_rerank_visit_waiting(GenieRerank *rerank)
{
	MemoryContext old = MemoryContextSwitchTo(rerank->round_context);
	GenieRerankRows *waiting = &rerank->waiting;
	uint32		first = rerank->visited.n;
	uint32		end = (uint32) Min((uint64) waiting->next + rerank->n_visit, waiting->n);

	while (waiting->next < end)
		genie_rerank_append(&rerank->visited, waiting->rows[waiting->next++]);
	rerank->n_visit *= 2;
	genie_rerank_visit(rerank, first);
	genie_rerank_sort(rerank);
	MemoryContextSwitchTo(old);
}

/* May a row that waits come before the next one that was visited? */
static bool
genie_rerank_must_visit(const GenieRerank *rerank)
{
	const GenieRerankRows *visited = &rerank->visited;
	const GenieRerankRows *waiting = &rerank->waiting;
	const GenieRerankValue *distance;

	if (waiting->next == waiting->n)
		return false;
	if (visited->next == visited->n)
		return true;
	distance = &visited->rows[visited->next]->values[0];
	return distance->is_null || !(distance->value < waiting->rows[waiting->next]->nearest);
}

/* The next round.  False: no row is left. */
static bool
genie_rerank_round(GenieRerank *rerank)
{
	MemoryContext old;
	uint32		wanted = Min(rerank->wanted, genie_rerank_limit(rerank));
	bool		is_raw = false;

	MemoryContextReset(rerank->round_context);
	memset(&rerank->visited, 0, sizeof(GenieRerankRows));
	memset(&rerank->waiting, 0, sizeof(GenieRerankRows));
	rerank->n_visit = GENIE_RERANK_FIRST;
	old = MemoryContextSwitchTo(rerank->round_context);
	while (genie_rerank_rows(rerank) < wanted && !rerank->at_end)
	{
		uint32		first = rerank->visited.n;

		genie_rerank_take(rerank, (uint32) Min((uint64) genie_rerank_rows(rerank) + GENIE_RERANK_VISIT, wanted),
						  &is_raw);
		if (rerank->has_bounds)
			genie_rerank_let_wait(rerank, first);
		if (is_raw)
			wanted = PG_UINT32_MAX;
		genie_rerank_visit(rerank, first);
		CHECK_FOR_INTERRUPTS();
	}
	genie_rerank_sort(rerank);
	if (rerank->waiting.n > 0)
		genie_rerank_sort_bounds(rerank->waiting.rows, rerank->waiting.n);
	MemoryContextSwitchTo(old);
	rerank->wanted = rerank->wanted > wanted ? rerank->wanted - wanted :
		(uint32) Min((uint64) wanted * GENIE_RERANK_GROWTH, PG_INT32_MAX);
	return genie_rerank_rows(rerank) > 0;
}

/* All rows of the round were given: remembers the last one, if none that was given is farther. */
static void
genie_rerank_end_round(GenieRerank *rerank)
{
	const GenieRerankValue *last;

	if (rerank->visited.n == 0)
		return;
	last = rerank->visited.rows[rerank->visited.n - 1]->values;
	if (rerank->has_last && genie_rerank_compare_values(rerank->last, last, rerank->n_orders) >= 0)
		return;
	memcpy(rerank->last, last, rerank->n_orders * sizeof(GenieRerankValue));
	rerank->has_last = true;
}

/* ---- the scan ---- */

GenieRerank *
genie_rerank_begin(IndexScanDesc scan, GenieNextCandidate next_candidate)
{
	GenieRerank *rerank = palloc0(sizeof(GenieRerank));

	rerank->scan = scan;
	rerank->next_candidate = next_candidate;
	rerank->n_orders = scan->numberOfOrderBys;
	rerank->scan_context = CurrentMemoryContext;
	rerank->functions = palloc0(rerank->n_orders * sizeof(FmgrInfo));
	rerank->last = palloc0(rerank->n_orders * sizeof(GenieRerankValue));
	rerank->round_context = AllocSetContextCreate(CurrentMemoryContext, "genie candidates", ALLOCSET_DEFAULT_SIZES);
	rerank->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie candidate", ALLOCSET_DEFAULT_SIZES);
	return rerank;
}

void
genie_rerank_rescan(GenieRerank *rerank, uint32 n_candidates, bool strict)
{
	for (int i = 0; i < rerank->n_orders; i++)
	{
		const FmgrInfo *function = &rerank->scan->orderByData[i].sk_func;

		if (rerank->functions[i].fn_oid != function->fn_oid)
			fmgr_info_copy(&rerank->functions[i], unconstify(FmgrInfo *, function), rerank->scan_context);
	}
	rerank->wanted = n_candidates;
	rerank->strict = strict;
	rerank->tombstone_version = PG_UINT64_MAX;
	memset(&rerank->visited, 0, sizeof(GenieRerankRows));
	memset(&rerank->waiting, 0, sizeof(GenieRerankRows));
	rerank->at_end = rerank->has_null = rerank->has_last = false;
}

/* Opens what needs the table, which a scan gets after it has begun. */
static void
genie_rerank_open(GenieRerank *rerank)
{
	IndexScanDesc scan = rerank->scan;
	MemoryContext old = MemoryContextSwitchTo(rerank->scan_context);

	genie_visitor_begin(&rerank->visitor, scan->heapRelation, scan->indexRelation, scan->xs_snapshot);
	rerank->visitor.found = genie_rerank_found;
	rerank->visitor.arg = rerank;
	genie_row_value_begin(&rerank->row_value, scan->indexRelation);
	rerank->is_open = true;
	MemoryContextSwitchTo(old);
}

const GenieQuantizer *
genie_rerank_vector(GenieRerank *rerank, const bytea *parameters, uint64 tombstone_version,
					GenieQuantizedQuery *vector, uint32 *n_elements)
{
	ScanKey		key = &rerank->scan->orderByData[0];
	GenieTableQuantizer *quantizer = &rerank->quantizer;

	rerank->tombstone_version = Min(rerank->tombstone_version, tombstone_version);
	if (!rerank->is_open || rerank->n_orders != 1 || (key->sk_flags & SK_ISNULL) != 0)
		return NULL;
	if (!rerank->has_bounds)
	{
		MemoryContext old = MemoryContextSwitchTo(rerank->scan_context);

		rerank->has_bounds = genie_quantizer_begin(quantizer, &rerank->visitor, &rerank->row_value,
												   &rerank->functions[0], key->sk_strategy, parameters);
		MemoryContextSwitchTo(old);
	}
	if (!rerank->has_bounds ||
		!genie_quantizer_query(quantizer, key->sk_argument, palloc(quantizer->n_elements * sizeof(float)), vector))
		return NULL;
	*n_elements = quantizer->n_elements;
	return &quantizer->quantizer;
}

/* Gives the scan a row; values: NULL, if they all are. */
static bool
genie_rerank_give(GenieRerank *rerank, uint64 tid, const GenieRerankValue *values)
{
	IndexScanDesc scan = rerank->scan;

	genie_tid_from_number(tid, &scan->xs_heaptid);
	scan->xs_recheck = false;
	scan->xs_recheckorderby = false;
	for (int i = 0; i < rerank->n_orders; i++)
	{
		scan->xs_orderbynulls[i] = values == NULL || values[i].is_null;
		scan->xs_orderbyvals[i] = scan->xs_orderbynulls[i] ? (Datum) 0 : Float8GetDatum(values[i].value);
	}
	return true;
}

/* The next NULL row. */
static bool
genie_rerank_next_null(GenieRerank *rerank)
{
	GenieCandidate candidate;
	uint64		tid = rerank->null_tid;

	if (!rerank->has_null)
		return false;
	rerank->has_null = rerank->next_candidate(rerank->scan, &candidate);
	if (rerank->has_null)
		rerank->null_tid = candidate.tid;
	return genie_rerank_give(rerank, tid, NULL);
}

bool
genie_rerank_next(GenieRerank *rerank)
{
	GenieRerankRows *visited = &rerank->visited;

	if (!rerank->is_open)
		genie_rerank_open(rerank);
	for (;;)
	{
		const GenieRerankRow *row;

		if (genie_rerank_must_visit(rerank))
		{
			genie_rerank_visit_waiting(rerank);
			continue;
		}
		if (visited->next == visited->n)
		{
			genie_rerank_end_round(rerank);
			if (rerank->at_end || !genie_rerank_round(rerank))
				return genie_rerank_next_null(rerank);
			continue;
		}
		row = visited->rows[visited->next++];
		if (!rerank->strict || !rerank->has_last ||
			genie_rerank_compare_values(row->values, rerank->last, rerank->n_orders) >= 0)
			return genie_rerank_give(rerank, row->visit.tid, row->values);
	}
}

void
genie_rerank_end(GenieRerank *rerank)
{
	if (!rerank->is_open)
		return;
	genie_row_value_end(&rerank->row_value);
	genie_visitor_end(&rerank->visitor);
}

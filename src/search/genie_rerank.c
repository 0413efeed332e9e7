/*
 * genie_rerank.c
 *	  Rows that match a signature, in the order of their distances (genie_rerank.h).
 *
 * Rounds.  The first round takes candidates, best match first, until genie.candidates of them are rows that the scan's
 * snapshot sees; looks them up in the table, in TID order (genie_visit.h); computes the operators of ORDER BY
 * from the values there; and gives the rows by (distances, tid).  The next round takes twice as many of those that are
 * left, and so on, until there are none.  Last come the rows whose value is NULL, in TID order.  So every row is given
 * once, whatever the setting.  Rows that match nothing are candidates, too, the last.
 *
 * Where there are lower bounds of candidates' distances (genie_quantizer.h), a round's rows are looked up only when
 * their turn may come: a row is given once it is nearer than every bound that is left; else the next rows by their
 * bounds are looked up, GENIE_RERANK_FIRST at first, and twice as many each time.  The rows that are given, and
 * their order, are the same: so only those wait whose page the visibility map calls visible to everybody, for they
 * count as rows of the round.
 *
 * An untrained index (genie_signer.h) does not know which of its rows are good: they all are one round, whose order is
 * exact.
 *
 * Order.  Values are exact (xs_recheckorderby is false), and in order within a round.  A later round may hold a row
 * that is nearer than one of an earlier round; it is given all the same, in its round, unless genie.strict_order is
 * set: then it is left out.  Whoever merges by the distance needs that setting.
 *
 * All operators of ORDER BY are computed here, so a second one costs no more than its calls; the first one whose
 * query is not NULL chooses the candidates.
 *
 * What the executor does with a row that it gets is to fetch it again, by then from a page that is in the buffer pool.
 *
 * Locks: none are held while an operator, or an index expression, is called; the row's page is pinned.
 *
 * Memory: a round takes some 40 bytes a row, and is never so large that this exceeds work_mem, but for the round of an
 * untrained index, whose rows the pending list's limit bounds.  What a value detoasts to is freed row by row.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "genie_object_table.h"
#include "genie_quantizer.h"
#include "genie_rerank.h"
#include "genie_source.h"
#include "genie_visit.h"

#define GENIE_RERANK_GROWTH	2	/* times as many rows in the next round */
#define GENIE_RERANK_FIRST 16	/* candidates that are looked up at first, of those that can wait */
#define GENIE_RERANK_VISIT	4096	/* candidates that are looked up together at most, before others take their place */

bool		genie_strict_order;

typedef struct GenieRerankRow
{
	GenieVisitRow visit;		/* first: what genie_visit() fills */
	uint32		at;				/* of its values, in units of the number of operators */
	float		nearest;		/* no distance is less */
	bool		may_wait;
} GenieRerankRow;

typedef GenieRerankRow *GenieRerankRef;	/* the sorting template wants one word */

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
	MemoryContext round_context;	/* of rows and values */
	MemoryContext row_context;

	/* a round */
	uint32		wanted;			/* rows */
	uint32		n;
	uint32		next;			/* the row to be given next */
	uint32		capacity;
	GenieRerankRow **rows;
	double	   *values;			/* n_orders a row */
	bool	   *nulls;

	/* bounds */
	bool		has_bounds;		/* candidates may have some */
	uint64		tombstone_version;	/* the least that segments were opened with, as they may be opened again */
	GenieTableQuantizer quantizer;
	uint32		n_waiting;		/* rows of the round that were not looked up yet, */
	uint32		next_waiting;	/* from this one on, the least bound first */
	uint32		waiting_capacity;
	GenieRerankRow **waiting;
	uint32		look_up;		/* so many of them next time */

	/* candidates */
	bool		at_end;			/* there are none any more */
	bool		has_null;		/* but NULL rows, of which this is the first that was not given */
	uint64		null_tid;

	/* the last row given of an earlier round, for genie.strict_order */
	bool		has_last;
	double	   *last_values;
	bool	   *last_nulls;
};

/* ---- values ---- */

void
genie_row_value_begin(GenieRowValue *row_value, Relation index)
{
	memset(row_value, 0, sizeof(*row_value));
	row_value->attribute = index->rd_index->indkey.values[0];
	if (row_value->attribute != 0)
		return;
	row_value->info = BuildIndexInfo(index);
	row_value->estate = CreateExecutorState();
}

Datum
genie_row_value(const GenieRowValue *row_value, TupleTableSlot *slot, bool *is_null)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	ExprContext *context;

	if (row_value->attribute != 0)
		return slot_getattr(slot, row_value->attribute, is_null);
	context = GetPerTupleExprContext(row_value->estate);
	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	FormIndexDatum(row_value->info, slot, row_value->estate, values, nulls);
	*is_null = nulls[0];
	return values[0];
}

void
genie_row_value_end(GenieRowValue *row_value)
{
	if (row_value->estate != NULL)
		FreeExecutorState(row_value->estate);
}

double
genie_row_distance(FmgrInfo *function, Oid collation, Datum value, Datum query, bool *is_null)
{
	LOCAL_FCINFO(fcinfo, 2);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, function, 2, collation, NULL, NULL);
	fcinfo->args[0].value = value;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = query;
	fcinfo->args[1].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	*is_null = fcinfo->isnull;
	return fcinfo->isnull ? 0 : DatumGetFloat8(result);
}

/* ---- a round ---- */

/* Compares two rows' values; NULL is last, as in ORDER BY. */
static int
genie_rerank_compare_values(const double *a, const bool *a_nulls, const double *b, const bool *b_nulls, int n)
{
	for (int i = 0; i < n; i++)
	{
		int			diff = a_nulls[i] || b_nulls[i] ? a_nulls[i] - b_nulls[i] : float8_cmp_internal(a[i], b[i]);

		if (diff != 0)
			return diff;
	}
	return 0;
}

static int
genie_rerank_compare(const void *a, const void *b, void *arg)
{
	const GenieRerank *rerank = arg;
	const GenieRerankRow *x = *(GenieRerankRow *const *) a;
	const GenieRerankRow *y = *(GenieRerankRow *const *) b;
	Size		x_at = (Size) x->at * rerank->n_orders;
	Size		y_at = (Size) y->at * rerank->n_orders;
	int			diff = genie_rerank_compare_values(rerank->values + x_at, rerank->nulls + x_at,
												   rerank->values + y_at, rerank->nulls + y_at, rerank->n_orders);

	if (diff != 0)
		return diff;
	return (x->visit.tid > y->visit.tid) - (x->visit.tid < y->visit.tid);
}

/* Rows by their TIDs in the index. */
static inline int
genie_rerank_compare_tids(const GenieRerankRow *x, const GenieRerankRow *y)
{
	return (x->visit.tid > y->visit.tid) - (x->visit.tid < y->visit.tid);
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

/* A row is visible: computes its distances. */
static void
genie_rerank_found(void *arg, GenieVisitRow *row, TupleTableSlot *slot)
{
	GenieRerank *rerank = arg;
	Size		at = (Size) ((GenieRerankRow *) row)->at * rerank->n_orders;
	MemoryContext old = MemoryContextSwitchTo(rerank->row_context);
	bool		is_null;
	Datum		value = genie_row_value(&rerank->row_value, slot, &is_null);

	for (int i = 0; i < rerank->n_orders; i++)
	{
		ScanKey		key = &rerank->scan->orderByData[i];

		rerank->values[at + i] = 0;
		rerank->nulls[at + i] = is_null || (key->sk_flags & SK_ISNULL) != 0;
		if (!rerank->nulls[at + i])
			rerank->values[at + i] = genie_row_distance(&rerank->functions[i], key->sk_collation, value,
														key->sk_argument, &rerank->nulls[at + i]);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(rerank->row_context);
}

/* Appends a row, and makes room for its values. */
static void
genie_rerank_append(GenieRerank *rerank, GenieRerankRow *row)
{
	if (rerank->n == rerank->capacity)
	{
		Size		capacity = rerank->capacity == 0 ? 256 : (Size) rerank->capacity * 2;
		Size		n_values = capacity * rerank->n_orders;

		if (rerank->capacity == 0)
		{
			rerank->rows = palloc(capacity * sizeof(GenieRerankRow *));
			rerank->values = palloc(n_values * sizeof(double));
			rerank->nulls = palloc(n_values * sizeof(bool));
		}
		else
		{
			rerank->rows = repalloc_huge(rerank->rows, capacity * sizeof(GenieRerankRow *));
			rerank->values = repalloc_huge(rerank->values, n_values * sizeof(double));
			rerank->nulls = repalloc_huge(rerank->nulls, n_values * sizeof(bool));
		}
		rerank->capacity = (uint32) capacity;
	}
	rerank->rows[rerank->n] = row;
	row->at = rerank->n++;
}

/* Lets a row wait. */
static void
genie_rerank_wait(GenieRerank *rerank, GenieRerankRow *row)
{
	if (rerank->n_waiting == rerank->waiting_capacity)
	{
		rerank->waiting_capacity = rerank->waiting_capacity == 0 ? 256 : rerank->waiting_capacity * 2;
		rerank->waiting = rerank->n_waiting == 0 ? palloc(rerank->waiting_capacity * sizeof(GenieRerankRow *)) :
			repalloc_huge(rerank->waiting, (Size) rerank->waiting_capacity * sizeof(GenieRerankRow *));
	}
	rerank->waiting[rerank->n_waiting++] = row;
}

/* The rows that the round has, looked up or not. */
static uint32
genie_rerank_rows(const GenieRerank *rerank)
{
	return rerank->n + rerank->n_waiting;
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
			GenieRerankRow *row = palloc(sizeof(GenieRerankRow));

			row->visit.tid = candidate.tid;
			row->nearest = candidate.nearest;
			genie_rerank_append(rerank, row);
			*is_raw = candidate.is_raw;
		}
		if (genie_rerank_rows(rerank) % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Lets those of the rows from one on wait that can: in TID order, so that the map's pages change seldom.  None if
 * VACUUM has been there meanwhile, which may be what has made a page visible.
 */
static void
genie_rerank_let_wait(GenieRerank *rerank, uint32 first)
{
	uint32		end = rerank->n;
	Buffer		map = InvalidBuffer;
	bool		vacuumed;

	if (!rerank->has_bounds)
		return;
	genie_rerank_sort_tids(rerank->rows + first, end - first);
	for (uint32 i = first; i < end; i++)
	{
		GenieRerankRow *row = rerank->rows[i];

		row->may_wait = row->nearest > 0 && genie_visit_skips(&rerank->visitor, &row->visit, &map);
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	vacuumed = genie_source_was_vacuumed(rerank->scan->indexRelation, rerank->tombstone_version);
	rerank->n = first;
	for (uint32 i = first; i < end; i++)
	{
		GenieRerankRow *row = rerank->rows[i];

		if (row->may_wait && !vacuumed)
			genie_rerank_wait(rerank, row);
		else
			genie_rerank_append(rerank, row);
	}
}

/* Looks up the rows from one on, and drops those that the snapshot does not see. */
static void
genie_rerank_visit(GenieRerank *rerank, uint32 first)
{
	uint32		n = rerank->n - first;
	GenieRerankRow **rows = palloc((n + 1) * sizeof(GenieRerankRow *));
	GenieVisitRow **visits = palloc((n + 1) * sizeof(GenieVisitRow *));
	uint32		kept = first;

	memcpy(rows, rerank->rows + first, n * sizeof(GenieRerankRow *));
	genie_rerank_sort_tids(rows, n);
	for (uint32 i = 0; i < n; i++)
		visits[i] = &rows[i]->visit;
	genie_visit(&rerank->visitor, visits, n);
	pfree(rows);
	pfree(visits);
	for (uint32 i = first; i < rerank->n; i++)
	{
		GenieRerankRow *row = rerank->rows[i];
		Size		from = (Size) i * rerank->n_orders;
		Size		to = (Size) kept * rerank->n_orders;

		if (row->visit.live == 0)
		{
			pfree(row);
			continue;
		}
		memmove(rerank->values + to, rerank->values + from, rerank->n_orders * sizeof(double));
		memmove(rerank->nulls + to, rerank->nulls + from, rerank->n_orders * sizeof(bool));
		row->at = kept;
		rerank->rows[kept++] = row;
	}
	rerank->n = kept;
}

/* Rows of which work_mem holds the round; a handful at least. */
static uint32
genie_rerank_limit(const GenieRerank *rerank)
{
	Size		row = 2 * sizeof(GenieRerankRow) + 2 * sizeof(GenieRerankRow *) +
		rerank->n_orders * (sizeof(double) + sizeof(bool));

	return (uint32) Min(Max(work_mem * (Size) 1024 / row, 64), PG_INT32_MAX);
}

/* Puts the rows that were looked up and not given into order. */
static void
genie_rerank_sort(GenieRerank *rerank)
{
	qsort_arg(rerank->rows + rerank->next, rerank->n - rerank->next, sizeof(GenieRerankRow *), genie_rerank_compare,
			  rerank);
}

/* Looks up the next of the rows that wait. */
static void
genie_rerank_look_up(GenieRerank *rerank)
{
	MemoryContext old = MemoryContextSwitchTo(rerank->round_context);
	uint32		first = rerank->n;
	uint32		end = (uint32) Min((uint64) rerank->next_waiting + rerank->look_up, rerank->n_waiting);

	while (rerank->next_waiting < end)
		genie_rerank_append(rerank, rerank->waiting[rerank->next_waiting++]);
	rerank->look_up *= 2;
	genie_rerank_visit(rerank, first);
	genie_rerank_sort(rerank);
	MemoryContextSwitchTo(old);
}

/* May a row that waits come before the next one that was looked up? */
static bool
genie_rerank_must_look_up(const GenieRerank *rerank)
{
	Size		at;

	if (rerank->next_waiting == rerank->n_waiting)
		return false;
	if (rerank->next == rerank->n)
		return true;
	at = rerank->rows[rerank->next]->at;
	return rerank->nulls[at] || !(rerank->values[at] < rerank->waiting[rerank->next_waiting]->nearest);
}

/* The next round.  False: no row is left. */
static bool
genie_rerank_round(GenieRerank *rerank)
{
	MemoryContext old;
	uint32		wanted = Min(rerank->wanted, genie_rerank_limit(rerank));
	bool		is_raw = false;

	MemoryContextReset(rerank->round_context);
	rerank->n = rerank->next = rerank->capacity = 0;
	rerank->n_waiting = rerank->next_waiting = rerank->waiting_capacity = 0;
	rerank->look_up = GENIE_RERANK_FIRST;
	old = MemoryContextSwitchTo(rerank->round_context);
	while (genie_rerank_rows(rerank) < wanted && !rerank->at_end)
	{
		uint32		first = rerank->n;

		genie_rerank_take(rerank, (uint32) Min((uint64) genie_rerank_rows(rerank) + GENIE_RERANK_VISIT, wanted),
						  &is_raw);
		genie_rerank_let_wait(rerank, first);
		if (is_raw)
			wanted = PG_UINT32_MAX;
		genie_rerank_visit(rerank, first);
		CHECK_FOR_INTERRUPTS();
	}
	genie_rerank_sort(rerank);
	if (rerank->n_waiting > 0)
		genie_rerank_sort_bounds(rerank->waiting, rerank->n_waiting);
	MemoryContextSwitchTo(old);
	rerank->wanted = (uint32) Min((uint64) wanted * GENIE_RERANK_GROWTH, PG_INT32_MAX);
	return genie_rerank_rows(rerank) > 0;
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
	rerank->functions = palloc0(rerank->n_orders * sizeof(FmgrInfo) + 1);
	rerank->last_values = palloc0(rerank->n_orders * sizeof(double) + 1);
	rerank->last_nulls = palloc0(rerank->n_orders * sizeof(bool) + 1);
	rerank->round_context = AllocSetContextCreate(CurrentMemoryContext, "genie candidates", ALLOCSET_DEFAULT_SIZES);
	rerank->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie candidate", ALLOCSET_DEFAULT_SIZES);
	return rerank;
}

void
genie_rerank_rescan(GenieRerank *rerank, uint32 n_candidates)
{
	for (int i = 0; i < rerank->n_orders; i++)
	{
		const FmgrInfo *function = &rerank->scan->orderByData[i].sk_func;

		if (rerank->functions[i].fn_oid != function->fn_oid)
			fmgr_info_copy(&rerank->functions[i], unconstify(FmgrInfo *, function), rerank->scan_context);
	}
	rerank->wanted = n_candidates;
	rerank->tombstone_version = PG_UINT64_MAX;
	rerank->n = rerank->next = 0;
	rerank->n_waiting = rerank->next_waiting = 0;
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

/* Gives the scan a row. */
static bool
genie_rerank_give(GenieRerank *rerank, uint64 tid, const double *values, const bool *nulls)
{
	IndexScanDesc scan = rerank->scan;

	genie_tid_from_number(tid, &scan->xs_heaptid);
	scan->xs_recheck = false;
	scan->xs_recheckorderby = false;
	for (int i = 0; i < rerank->n_orders; i++)
	{
		scan->xs_orderbynulls[i] = nulls == NULL || nulls[i];
		scan->xs_orderbyvals[i] = scan->xs_orderbynulls[i] ? (Datum) 0 : Float8GetDatum(values[i]);
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
	return genie_rerank_give(rerank, tid, NULL, NULL);
}

bool
genie_rerank_next(GenieRerank *rerank)
{
	Size		size = rerank->n_orders;

	if (!rerank->is_open)
		genie_rerank_open(rerank);
	for (;;)
	{
		Size		at;

		if (genie_rerank_must_look_up(rerank))
		{
			genie_rerank_look_up(rerank);
			continue;
		}
		if (rerank->next == rerank->n)
		{
			if (rerank->n > 0)
			{
				Size		last = rerank->rows[rerank->n - 1]->at * size;

				/* a round of strict order ends with a row that was given, or that lies before the last one given */
				if (!rerank->has_last ||
					genie_rerank_compare_values(rerank->last_values, rerank->last_nulls, rerank->values + last,
												rerank->nulls + last, rerank->n_orders) < 0)
				{
					memcpy(rerank->last_values, rerank->values + last, size * sizeof(double));
					memcpy(rerank->last_nulls, rerank->nulls + last, size * sizeof(bool));
					rerank->has_last = true;
				}
			}
			if (rerank->at_end || !genie_rerank_round(rerank))
				return genie_rerank_next_null(rerank);
			continue;
		}
		at = rerank->rows[rerank->next]->at * size;
		if (genie_strict_order && rerank->has_last &&
			genie_rerank_compare_values(rerank->values + at, rerank->nulls + at, rerank->last_values,
										rerank->last_nulls, rerank->n_orders) < 0)
		{
			rerank->next++;
			continue;
		}
		return genie_rerank_give(rerank, rerank->rows[rerank->next++]->visit.tid, rerank->values + at,
								 rerank->nulls + at);
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

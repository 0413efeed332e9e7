/*
 * genie_rerank.c
 *	  Rows that match a signature, in the order of their distances (genie_rerank.h).
 *
 * Rounds.  The first round takes candidates, best match first, until genie.candidates of them are rows that the
 * scan's snapshot sees.  It visits them in TID order, computes the operators of ORDER BY from the values there, and
 * gives the rows by (distances, tid), all of which genie_frontier.c does.  The next round takes twice as many of
 * those that are left, and so on, until there are none.  Rows whose value is NULL come last, in TID order.  So every
 * row is given once, whatever the setting.  Rows that match nothing are candidates, too, the last.
 *
 * Bounds.  Where there are lower bounds of candidates' distances (genie_quantizer.c), rows of a round wait: they are
 * the frontier's candidates, and it visits them only when their turn may come.  Rows that wait count as rows of the
 * round, so only rows that are certain to be visible wait (genie_all_visible.c).  The rows that
 * are given, and their order, are the same as without bounds.
 *
 * Extras.  Vectors of the pending list are raw, and their distances are known from the list alone
 * (genie_rerank_raw_bound()).  They come first, and all of them are in the first round, beside the rows that it wants.
 * They wait, too, and are visited when their turn comes.  That they may be invisible does no harm, because they do not
 * count.  If the scan opens the index again, a row of theirs may have been merged into a segment; it is passed over
 * there.
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
 * Memory: the rows of a round fit work_mem.  More candidates than it holds are given as several rounds.  The exception
 * is the round of an untrained index, whose rows the pending list's limit bounds.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_all_visible.h"
#include "genie_heap.h"
#include "genie_lsh_class.h"
#include "genie_quantizer.h"
#include "genie_rerank.h"
#include "genie_vector_distance.h"

#define GENIE_RERANK_GROWTH	2	/* times as many rows in the next round */
#define GENIE_RERANK_VISIT	4096	/* candidates that are visited together at most, before others take their place */
#define GENIE_RERANK_LEAST	64	/* rows of a round, however little work_mem is */

bool		genie_strict_order;

/* Rows of a round; begins as zeros. */
typedef struct GenieRerankRows
{
	uint32		n;
	uint32		capacity;
	GenieFrontierRow *rows;
} GenieRerankRows;

struct GenieRerank
{
	IndexScanDesc scan;
	GenieNextCandidate next_candidate;
	GenieFrontier *frontier;
	MemoryContext scan_context; /* of what stays */
	MemoryContext round_context;	/* of rows */

	/* a round */
	uint32		wanted;			/* rows */
	uint32		n_visible;		/* rows that were visited, and are visible */
	GenieRerankRows taken;		/* candidates that are neither */
	GenieRerankRows waiting;	/* not visited yet; from the end of the round on a heap, the least bound on top */

	/* extras */
	const GenieVectorType *type;	/* of their values; NULL: there are none */
	GenieRawMeasure raw_measure;
	GenieMetric metric;			/* of the operator, if it is one of genie's own for arrays; else 0 */
	GenieVector query;			/* its right operand, if there is a metric */
	GenieRerankRows unbounded;	/* of a round: to be visited at once */
	uint32		n_extra_waiting;	/* of those that wait */
	uint64	   *extras;			/* all of the scan, ascending */
	uint32		n_extras;
	uint32		extras_capacity;
	uint32		n_opened;		/* how often the scan has opened the index */

	/* bounds */
	bool		has_bounds;		/* candidates may have some */
	uint64		tombstone_version;	/* the least that segments were opened with, as they may be opened again */
	GenieQuantizer quantizer;

	/* candidates */
	bool		strict;			/* rows are left out for the sake of their order */
	bool		at_end;			/* there are none any more */
	bool		has_null;		/* but NULL rows, of which this is the first that was not given */
	uint64		null_tid;

	/* the farthest row given, for genie.strict_order */
	bool		has_last;
	uint64	   *last;
};

/* ---- a round ---- */

static inline bool
genie_rerank_is_behind(const GenieFrontierRow *a, const GenieFrontierRow *b)
{
	return a->bound > b->bound || (a->bound == b->bound && a->visit.tid > b->visit.tid);
}

GENIE_HEAP(genie_rerank_waiting, GenieFrontierRow, genie_rerank_is_behind)

static void
genie_rerank_append(GenieRerankRows *rows, GenieFrontierRow row)
{
	if (rows->n == rows->capacity)
	{
		rows->capacity = rows->capacity == 0 ? 256 : rows->capacity * 2;
		rows->rows = rows->n == 0 ? palloc(rows->capacity * sizeof(GenieFrontierRow)) :
			repalloc_huge(rows->rows, (Size) rows->capacity * sizeof(GenieFrontierRow));
	}
	rows->rows[rows->n++] = row;
}

/* The rows that the round has, visited or not, without extras. */
static uint32
genie_rerank_rows(const GenieRerank *rerank)
{
	return rerank->n_visible + rerank->taken.n + rerank->waiting.n - rerank->n_extra_waiting;
}

/* ---- extras ---- */

/* The operator's value for a raw row; 0 where there is none.  genie's own operators are not called: it takes longer. */
static double
genie_rerank_raw_distance(const GenieRerank *rerank, const GenieRaw *raw)
{
	ScanKey		key = &rerank->scan->orderByData[0];
	bool		is_null;
	double		distance;

	if (rerank->metric != 0)
	{
		GenieVector vector;

		genie_lsh_raw_elements(raw, rerank->query.is_double, &vector);
		return vector.n == rerank->query.n ? genie_vector_measure(rerank->metric, vector, rerank->query) : 0;
	}
	distance = genie_row_distance(&rerank->frontier->functions[0], key->sk_collation,
								  genie_vector_type_raw_value(rerank->type, raw), key->sk_argument, &is_null);
	return is_null ? 0 : distance;
}

/* The same, rounded down.  Where several operators sort, there is no bound. */
static float
genie_rerank_raw_bound(void *arg, const GenieRaw *raw)
{
	GenieRerank *rerank = arg;
	GenieFrontier *frontier = rerank->frontier;
	MemoryContext old;
	double		distance;
	float		bound;

	if (frontier->n_orders != 1)
		return 0;
	old = MemoryContextSwitchTo(frontier->row_context);
	distance = genie_rerank_raw_distance(rerank, raw);
	MemoryContextSwitchTo(old);
	MemoryContextReset(frontier->row_context);
	if (!(distance > 0))
		return 0;
	bound = (float) Min(distance, FLT_MAX);
	return bound > distance ? nextafterf(bound, 0) : bound;
}

const GenieRawMeasure *
genie_rerank_raw_measure(GenieRerank *rerank)
{
	ScanKey		key = &rerank->scan->orderByData[0];

	if (rerank->type == NULL)
		return NULL;
	/* an operand of another type than the column's is left to the operator */
	rerank->metric = 0;
	if (rerank->frontier->n_orders == 1 && (key->sk_flags & SK_ISNULL) == 0 &&
		(key->sk_subtype == InvalidOid || key->sk_subtype == rerank->scan->indexRelation->rd_opcintype[0]))
		rerank->metric = genie_vector_metric(&rerank->frontier->functions[0]);
	if (rerank->metric != 0)
		rerank->query = rerank->type->elements(key->sk_argument);
	return &rerank->raw_measure;
}

uint32
genie_rerank_extras(const GenieRerank *rerank)
{
	return rerank->n_extras;
}

static void
genie_rerank_take_extra(GenieRerank *rerank, const GenieCandidate *candidate)
{
	GenieFrontierRow row = {.visit.tid = candidate->tid, .bound = candidate->bound};

	if (rerank->n_extras == rerank->extras_capacity)
	{
		rerank->extras_capacity = Max(2 * rerank->n_extras, 256);
		rerank->extras = rerank->extras == NULL ?
			MemoryContextAllocHuge(rerank->scan_context, rerank->extras_capacity * sizeof(uint64)) :
			repalloc_huge(rerank->extras, rerank->extras_capacity * sizeof(uint64));
	}
	Assert(rerank->n_extras == 0 || rerank->extras[rerank->n_extras - 1] <= candidate->tid);
	rerank->extras[rerank->n_extras++] = candidate->tid;
	if (candidate->bound > 0)
		rerank->n_extra_waiting++;
	genie_rerank_append(candidate->bound > 0 ? &rerank->waiting : &rerank->unbounded, row);
}

/* Was this row, which a segment has by now, an extra? */
static bool
genie_rerank_was_extra(const GenieRerank *rerank, uint64 tid)
{
	uint32		low = 0;
	uint32		high = rerank->n_extras;

	if (rerank->n_opened <= 1)
		return false;
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (rerank->extras[middle] < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rerank->n_extras && rerank->extras[low] == tid;
}

/* ---- rows of a round ---- */

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
		else if (candidate.is_extra)
			genie_rerank_take_extra(rerank, &candidate);
		else if (!genie_rerank_was_extra(rerank, candidate.tid))
		{
			genie_rerank_append(&rerank->taken,
								(GenieFrontierRow) {.visit.tid = candidate.tid, .bound = candidate.bound});
			*is_raw = candidate.is_raw;
		}
		if (genie_rerank_rows(rerank) % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* Lets those candidates wait that have a bound and are certain to be visible. */
static void
genie_rerank_let_wait(GenieRerank *rerank)
{
	GenieRerankRows *taken = &rerank->taken;
	uint32		n = taken->n;
	GenieVisitRow **visits = palloc_extended((Size) n * sizeof(GenieVisitRow *), MCXT_ALLOC_HUGE);
	bool	   *certain = palloc(n * sizeof(bool));

	for (uint32 i = 0; i < n; i++)
		visits[i] = &taken->rows[i].visit;
	genie_all_visible_rows(&rerank->frontier->visitor, rerank->tombstone_version, visits, n, certain);
	taken->n = 0;
	for (uint32 i = 0; i < n; i++)
		genie_rerank_append(certain[i] && taken->rows[i].bound > 0 ? &rerank->waiting : taken, taken->rows[i]);
	pfree(certain);
	pfree(visits);
}

/* Rows of which work_mem holds the round; a handful at least. */
static uint32
genie_rerank_limit(const GenieRerank *rerank)
{
	Size		measured = ((Size) rerank->frontier->n_orders + 1) * sizeof(uint64);
	Size		row = sizeof(GenieFrontierRow) + sizeof(GenieVisitRow *) + measured;

	return (uint32) Min(Max(work_mem * (Size) 1024 / row, GENIE_RERANK_LEAST), PG_INT32_MAX);
}

/* The next round.  False: no row is left. */
static bool
genie_rerank_round(GenieRerank *rerank)
{
	MemoryContext old;
	uint32		wanted = Min(rerank->wanted, genie_rerank_limit(rerank));
	bool		is_raw = false;

	MemoryContextReset(rerank->round_context);
	memset(&rerank->taken, 0, sizeof(GenieRerankRows));
	memset(&rerank->waiting, 0, sizeof(GenieRerankRows));
	memset(&rerank->unbounded, 0, sizeof(GenieRerankRows));
	rerank->n_visible = rerank->n_extra_waiting = 0;
	old = MemoryContextSwitchTo(rerank->round_context);
	while (genie_rerank_rows(rerank) < wanted && !rerank->at_end)
	{
		genie_rerank_take(rerank, (uint32) Min((uint64) genie_rerank_rows(rerank) + GENIE_RERANK_VISIT, wanted),
						  &is_raw);
		if (rerank->has_bounds)
			genie_rerank_let_wait(rerank);
		if (is_raw)
			wanted = PG_UINT32_MAX;
		(void) genie_frontier_visit(rerank->frontier, rerank->unbounded.rows, rerank->unbounded.n);
		rerank->unbounded.n = 0;
		rerank->n_visible += genie_frontier_visit(rerank->frontier, rerank->taken.rows, rerank->taken.n);
		rerank->taken.n = 0;
		CHECK_FOR_INTERRUPTS();
	}
	for (uint32 i = 0; i < rerank->waiting.n; i++)
		genie_rerank_waiting_add(rerank->waiting.rows, i, rerank->waiting.rows[i]);
	genie_frontier_restart(rerank->frontier);
	MemoryContextSwitchTo(old);
	rerank->wanted = rerank->wanted > wanted ? rerank->wanted - wanted :
		(uint32) Min((uint64) wanted * GENIE_RERANK_GROWTH, PG_INT32_MAX);
	return rerank->waiting.n > 0 || rerank->frontier->n_rows > 0;
}

/* The next row that waits, for the frontier. */
static bool
genie_rerank_next_waiting(void *arg, GenieCandidate *candidate)
{
	GenieRerank *rerank = arg;
	GenieRerankRows *waiting = &rerank->waiting;

	if (waiting->n == 0)
		return false;
	*candidate = (GenieCandidate) {.tid = waiting->rows[0].visit.tid, .bound = waiting->rows[0].bound};
	waiting->n--;
	genie_rerank_waiting_replace(waiting->rows, waiting->n, waiting->rows[waiting->n]);
	return true;
}

/* ---- the scan ---- */

GenieRerank *
genie_rerank_begin(IndexScanDesc scan, GenieNextCandidate next_candidate)
{
	GenieRerank *rerank = palloc0(sizeof(GenieRerank));

	rerank->scan = scan;
	rerank->next_candidate = next_candidate;
	rerank->scan_context = CurrentMemoryContext;
	rerank->frontier = genie_frontier_begin(scan, genie_rerank_next_waiting, rerank);
	rerank->type = genie_vector_type_of_class(scan->indexRelation);
	rerank->raw_measure = (GenieRawMeasure) {rerank, genie_rerank_raw_bound};
	rerank->last = palloc0(scan->numberOfOrderBys * sizeof(uint64));
	rerank->round_context = AllocSetContextCreate(CurrentMemoryContext, "genie candidates", ALLOCSET_DEFAULT_SIZES);
	return rerank;
}

void
genie_rerank_rescan(GenieRerank *rerank, uint32 n_candidates, bool strict)
{
	genie_frontier_rescan(rerank->frontier);
	rerank->wanted = n_candidates;
	rerank->strict = strict;
	rerank->tombstone_version = PG_UINT64_MAX;
	memset(&rerank->waiting, 0, sizeof(GenieRerankRows));
	rerank->n_extras = rerank->n_opened = 0;
	rerank->at_end = rerank->has_null = rerank->has_last = false;
}

const GenieQuantizer *
genie_rerank_vector(GenieRerank *rerank, const bytea *parameters, uint64 tombstone_version,
					GenieQuantizedQuery *vector, uint32 *n_elements)
{
	ScanKey		key = &rerank->scan->orderByData[0];
	GenieFrontier *frontier = rerank->frontier;
	GenieQuantizer *quantizer = &rerank->quantizer;

	rerank->n_opened++;
	rerank->tombstone_version = Min(rerank->tombstone_version, tombstone_version);
	if (!frontier->is_open || frontier->n_orders != 1 || (key->sk_flags & SK_ISNULL) != 0)
		return NULL;
	if (!rerank->has_bounds)
		rerank->has_bounds = genie_quantizer_begin(quantizer, &frontier->visitor, &frontier->functions[0],
												   key->sk_strategy, parameters);
	if (!rerank->has_bounds ||
		!genie_quantizer_query(quantizer, key->sk_argument, palloc(quantizer->n_elements * sizeof(float)), vector))
		return NULL;
	*n_elements = quantizer->n_elements;
	return quantizer;
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
	genie_frontier_give_null(rerank->frontier, tid);
	return true;
}

/* Notes the row, if none that was given is farther. */
static bool
genie_rerank_is_farthest(GenieRerank *rerank, const uint64 *row)
{
	if (rerank->has_last && genie_frontier_compare(rerank->frontier, row, rerank->last) < 0)
		return false;
	memcpy(rerank->last, row, (Size) rerank->frontier->n_orders * sizeof(uint64));
	rerank->has_last = true;
	return true;
}

bool
genie_rerank_next(GenieRerank *rerank)
{
	genie_frontier_open(rerank->frontier);
	for (;;)
	{
		const uint64 *row = genie_frontier_next(rerank->frontier);

		if (row == NULL)
		{
			if (rerank->at_end || !genie_rerank_round(rerank))
				return genie_rerank_next_null(rerank);
		}
		else if (genie_rerank_is_farthest(rerank, row) || !rerank->strict)
		{
			genie_frontier_give(rerank->frontier, row);
			return true;
		}
	}
}

void
genie_rerank_end(GenieRerank *rerank)
{
	genie_frontier_end(rerank->frontier);
}

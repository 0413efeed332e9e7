/*
 * genie_rerank.c
 *	  Rows that match a signature, in the order of their distances (genie_rerank.h).
 *
 * Rounds.  The first round takes candidates, best match first, until genie.candidates of them are rows that the
 * scan's snapshot sees.  It visits them in TID order, computes the operators of ORDER BY from the values there, and
 * gives the rows by (distances, tid), all of which genie_frontier.c does.
 *
 * Exact order.  When the executor wants more (for a filter, a cursor, a large LIMIT), and all segments have values,
 * the scan begins again with all rows as candidates, by ascending bounds (genie_value_scan.h).  They go to the
 * frontier one by one, without rounds, but for those that the first round has given, whose TIDs are kept.  So the rows
 * from there on are those of a sequential scan, in its order.
 *
 * If the scan opens the index again then, candidates come again from the first one on.  Rows have one order, by
 * (distances, tid), so a row that is not behind the last one given was given before, and is passed over.
 *
 * Graphs.  Where segments have graphs of their values (genie_proximity.h), the first round's candidates are what
 * searches of these find, by ascending bounds, instead of those that match best.  They are few, and most of the
 * nearest.  All others come in exact order, as above.
 *
 * A class that is approximate by graphs alone (genie_value_class.c) begins in exact order where it has no graphs.
 *
 * Without values, the next round takes twice as many of the candidates that are left, and so on, until there are none.
 * Rows whose value is NULL come last, in TID order.  So every row is given once, whatever the setting.  Rows that
 * match nothing are candidates, too, the last.
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
 * An untrained index (genie_signer.h) does not know which of its rows are good.  All of them are one round, whose
 * order is exact.
 *
 * Order.  Values are exact (xs_recheckorderby is false), and in order within a round.  Behind a round there may be a
 * row that is nearer than one of the round.  It is given all the same.  A plan that merges by the distance needs the
 * setting genie.strict_order.  Then a scan is in exact order from its first row on.  Where there are no values for
 * that, rows that come too late are left out.
 *
 * All operators of ORDER BY are computed here, so a second one costs no more than its calls.  The first one whose
 * query is not NULL chooses the candidates.
 *
 * Memory: 8 bytes for each row that the first round gives.  The rows of a round fit work_mem.  More candidates than it
 * holds are given as several rounds.  The exception is the round of an untrained index, whose rows the pending list's
 * limit bounds.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_all_visible.h"
#include "genie_heap.h"
#include "genie_lsh_class.h"
#include "genie_object_table.h"
#include "genie_options.h"
#include "genie_rerank.h"
#include "genie_vector_distance.h"
#include "genie_vector_value.h"

#define GENIE_RERANK_GROWTH	2	/* times as many rows in the next round */
#define GENIE_RERANK_VISIT	4096	/* candidates that are visited together at most, before others take their place */
#define GENIE_RERANK_LEAST	64	/* rows of a round, however little work_mem is */

bool		genie_strict_order;

/* TIDs that are searched; begins as zeros. */
typedef struct GenieRerankTids
{
	uint32		n;
	uint32		capacity;
	uint64	   *tids;
} GenieRerankTids;

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
	GenieOrderCandidates order_candidates;
	GenieFrontier *frontier;
	MemoryContext scan_context; /* of what stays */
	MemoryContext round_context;	/* of rows */

	/* exact order */
	bool		may_order;		/* it may be tried when it is wanted; afterwards, not again */
	bool		is_ordered;		/* candidates come by bounds, and there are no rounds any more */
	GenieRerankTids given;		/* rows of rounds, for as long as may_order; sorted once is_ordered */

	/* a round */
	uint32		n_rounds;		/* so far */
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
	GenieRerankTids extras;		/* all of the scan, ascending */
	uint32		n_opened;		/* how often the scan has opened the index */

	/* bounds */
	bool		has_bounds;		/* candidates may have some */
	uint64		tombstone_version;	/* the least that segments were opened with, as they may be opened again */
	GenieQuantizer quantizer;

	/* candidates */
	bool		strict;			/* no row is nearer than one before */
	bool		graph_or_order; /* the first round is by graphs, or there are no rounds */
	bool		at_end;			/* there are none any more, */
	bool		by_graph;		/* of the first round */
	bool		has_null;		/* but NULL rows, of which this is the first that was not given */
	uint64		null_tid;

	/* the farthest row given, of rounds or in exact order: its values, and its TID */
	bool		has_last;
	uint64	   *last;
};

/* ---- TIDs ---- */

static void
genie_rerank_note(const GenieRerank *rerank, GenieRerankTids *tids, uint64 tid)
{
	if (tids->n == tids->capacity)
	{
		tids->capacity = Max(2 * tids->n, 256);
		tids->tids = tids->tids == NULL ?
			MemoryContextAllocHuge(rerank->scan_context, (Size) tids->capacity * sizeof(uint64)) :
			repalloc_huge(tids->tids, (Size) tids->capacity * sizeof(uint64));
	}
	tids->tids[tids->n++] = tid;
}

/* Is it one of these, which are ascending? */
static bool
genie_rerank_has(const GenieRerankTids *tids, uint64 tid)
{
	return tids->n > 0 && bsearch(&tid, tids->tids, tids->n, sizeof(uint64), genie_cmp_uint64) != NULL;
}

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
	return rerank->extras.n;
}

static void
genie_rerank_take_extra(GenieRerank *rerank, const GenieCandidate *candidate)
{
	GenieFrontierRow row = {.visit.tid = candidate->tid, .bound = candidate->bound};

	Assert(rerank->extras.n == 0 || rerank->extras.tids[rerank->extras.n - 1] <= candidate->tid);
	genie_rerank_note(rerank, &rerank->extras, candidate->tid);
	if (candidate->bound > 0)
		rerank->n_extra_waiting++;
	genie_rerank_append(candidate->bound > 0 ? &rerank->waiting : &rerank->unbounded, row);
}

/* Was this row, which a segment has by now, an extra? */
static bool
genie_rerank_was_extra(const GenieRerank *rerank, uint64 tid)
{
	return rerank->n_opened > 1 && genie_rerank_has(&rerank->extras, tid);
}

/* ---- rows of a round ---- */

/*
 * Does a value tell nothing of the candidate?  Such come first, and are rows beside those that the round wants, so that
 * they take no other's place.
 */
static bool
is_nameless(const GenieCandidate *candidate)
{
	return candidate->bound == 0 || candidate->bound == -INFINITY;
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
		else if (candidate.is_extra)
			genie_rerank_take_extra(rerank, &candidate);
		else if (rerank->by_graph && is_nameless(&candidate))
			genie_rerank_append(&rerank->unbounded, (GenieFrontierRow) {.visit.tid = candidate.tid});
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
		genie_rerank_append(certain[i] && (taken->rows[i].bound > 0 || rerank->by_graph) ? &rerank->waiting : taken,
							taken->rows[i]);
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
	uint32		limit = genie_rerank_limit(rerank);
	uint32		wanted = Min(rerank->wanted, limit);
	bool		is_raw = false;

	MemoryContextReset(rerank->round_context);
	memset(&rerank->taken, 0, sizeof(GenieRerankRows));
	memset(&rerank->waiting, 0, sizeof(GenieRerankRows));
	memset(&rerank->unbounded, 0, sizeof(GenieRerankRows));
	rerank->n_visible = rerank->n_extra_waiting = 0;
	rerank->n_rounds++;
	old = MemoryContextSwitchTo(rerank->round_context);
	while (genie_rerank_rows(rerank) < wanted && !rerank->at_end)
	{
		genie_rerank_take(rerank, (uint32) Min((uint64) genie_rerank_rows(rerank) + GENIE_RERANK_VISIT, wanted),
						  &is_raw);
		/* the first candidate may have opened graphs, which have as many as they have */
		wanted = Min(rerank->wanted, limit);
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

/* The next row that waits. */
static bool
genie_rerank_next_waiting(GenieRerank *rerank, GenieCandidate *candidate)
{
	GenieRerankRows *waiting = &rerank->waiting;

	if (waiting->n == 0)
		return false;
	*candidate = (GenieCandidate) {.tid = waiting->rows[0].visit.tid, .bound = waiting->rows[0].bound};
	waiting->n--;
	genie_rerank_waiting_replace(waiting->rows, waiting->n, waiting->rows[waiting->n]);
	return true;
}

/* ---- exact order ---- */

/* Has rows come in exact order from now on, if that is possible; later, if candidates come from graphs now. */
static void
genie_rerank_order(GenieRerank *rerank)
{
	rerank->is_ordered = rerank->order_candidates(rerank->scan);
	rerank->may_order = !rerank->is_ordered && rerank->by_graph && rerank->n_rounds == 0;
	if (!rerank->is_ordered)
		return;
	qsort(rerank->given.tids, rerank->given.n, sizeof(uint64), genie_cmp_uint64);
	rerank->has_last = false;
	genie_frontier_restart(rerank->frontier);
}

/* The next candidate in exact order that was not given before. */
static bool
genie_rerank_next_ordered(GenieRerank *rerank, GenieCandidate *candidate)
{
	do
	{
		if (!rerank->next_candidate(rerank->scan, candidate))
			return false;
	} while (!candidate->is_null && genie_rerank_has(&rerank->given, candidate->tid));
	return true;
}

/* The next candidate for the frontier. */
static bool
genie_rerank_next_candidate(void *arg, GenieCandidate *candidate)
{
	GenieRerank *rerank = arg;

	return rerank->is_ordered ? genie_rerank_next_ordered(rerank, candidate) :
		genie_rerank_next_waiting(rerank, candidate);
}

/* ---- the scan ---- */

GenieRerank *
genie_rerank_begin(IndexScanDesc scan, GenieNextCandidate next_candidate, GenieOrderCandidates order_candidates)
{
	GenieRerank *rerank = palloc0(sizeof(GenieRerank));

	rerank->scan = scan;
	rerank->next_candidate = next_candidate;
	rerank->order_candidates = order_candidates;
	rerank->scan_context = CurrentMemoryContext;
	rerank->frontier = genie_frontier_begin(scan, genie_rerank_next_candidate, rerank);
	rerank->type = genie_vector_type_of_class(scan->indexRelation);
	rerank->raw_measure = (GenieRawMeasure) {rerank, genie_rerank_raw_bound};
	rerank->graph_or_order = genie_is_by_graph(scan->indexRelation);
	rerank->last = palloc0((scan->numberOfOrderBys + 1) * sizeof(uint64));
	rerank->round_context = AllocSetContextCreate(CurrentMemoryContext, "genie candidates", ALLOCSET_DEFAULT_SIZES);
	return rerank;
}

void
genie_rerank_rescan(GenieRerank *rerank, uint32 n_candidates, bool strict, bool may_order)
{
	genie_frontier_rescan(rerank->frontier);
	rerank->wanted = n_candidates;
	rerank->strict = strict;
	rerank->tombstone_version = PG_UINT64_MAX;
	memset(&rerank->waiting, 0, sizeof(GenieRerankRows));
	rerank->n_rounds = rerank->n_opened = 0;
	rerank->extras.n = rerank->given.n = 0;
	rerank->may_order = may_order;
	rerank->has_bounds = false; /* a graph has them without a quantizer */
	rerank->at_end = rerank->by_graph = rerank->has_null = rerank->has_last = rerank->is_ordered = false;
}

bool
genie_rerank_quantizer(const GenieRerank *rerank, const bytea *parameters, GenieQuantizer *quantizer)
{
	const GenieFrontier *frontier = rerank->frontier;
	const ScanKeyData *key = &rerank->scan->orderByData[frontier->rank_by];

	return genie_quantizer_begin(quantizer, rerank->scan->indexRelation, &frontier->functions[frontier->rank_by],
								 key->sk_strategy, parameters) &&
		quantizer->type->elements(key->sk_argument).n == genie_value_shape_elements(quantizer->shape);
}

/* Are bounds of the scan's only operator of use?  Where no row is certain to be visible, all of them are visited. */
static bool
genie_rerank_may_bound(const GenieRerank *rerank)
{
	const GenieFrontier *frontier = rerank->frontier;

	return frontier->is_open && frontier->n_orders == 1 && (rerank->scan->orderByData[0].sk_flags & SK_ISNULL) == 0 &&
		genie_visit_trusts_pages(&frontier->visitor);
}

void
genie_rerank_by_graph(GenieRerank *rerank, uint32 n_candidates, uint64 tombstone_version)
{
	rerank->wanted = n_candidates;
	rerank->n_opened++;
	rerank->tombstone_version = Min(rerank->tombstone_version, tombstone_version);
	rerank->by_graph = true;
	rerank->has_bounds = genie_rerank_may_bound(rerank);
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
	if (!genie_rerank_may_bound(rerank))
		return NULL;
	if (!rerank->has_bounds)
		rerank->has_bounds = genie_quantizer_begin(quantizer, rerank->scan->indexRelation, &frontier->functions[0],
												   key->sk_strategy, parameters);
	if (!rerank->has_bounds)
		return NULL;
	quantizer->shape = genie_vector_value_shape(parameters);	/* these lie elsewhere each time */
	if (!genie_quantizer_query(quantizer, key->sk_argument, palloc(quantizer->n_elements * sizeof(float)), vector))
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

/* May the row be given?  Notes it if none that was given is farther. */
static bool
genie_rerank_is_due(GenieRerank *rerank, const uint64 *row)
{
	const GenieFrontier *frontier = rerank->frontier;
	int			n = frontier->n_orders;
	int			order = rerank->has_last ? genie_frontier_compare(frontier, row, rerank->last) : 1;

	if (order == 0 && rerank->is_ordered)
		order = row[n] > rerank->last[n] ? 1 : -1;
	if (order < 0)
		return !rerank->is_ordered && !rerank->strict;
	memcpy(rerank->last, row, ((Size) n + 1) * sizeof(uint64));
	rerank->has_last = true;
	return true;
}

bool
genie_rerank_next(GenieRerank *rerank)
{
	genie_frontier_open(rerank->frontier);
	if ((rerank->strict || (rerank->graph_or_order && rerank->n_rounds == 0 && !rerank->by_graph)) && rerank->may_order)
		genie_rerank_order(rerank);
	for (;;)
	{
		const uint64 *row = genie_frontier_next(rerank->frontier);

		if (row != NULL)
		{
			if (!genie_rerank_is_due(rerank, row))
				continue;
			if (rerank->may_order)
				genie_rerank_note(rerank, &rerank->given, row[rerank->frontier->n_orders]);
			genie_frontier_give(rerank->frontier, row);
			return true;
		}
		if (rerank->is_ordered)
			return false;
		if (rerank->at_end && !(rerank->by_graph && rerank->may_order))
			return genie_rerank_next_null(rerank);
		if (rerank->n_rounds > 0 && rerank->may_order)
			genie_rerank_order(rerank);
		/* where graphs gave nothing that is visible, all others are left */
		if (!rerank->is_ordered && !genie_rerank_round(rerank) && !(rerank->by_graph && rerank->may_order))
			return genie_rerank_next_null(rerank);
	}
}

void
genie_rerank_end(GenieRerank *rerank)
{
	genie_frontier_end(rerank->frontier);
}

void
genie_rerank_report_trained(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("index \"%s\" has learned again during a scan", RelationGetRelationName(index)),
			 errdetail("The primary has used pages again that this standby was still reading."),
			 errhint("Run the query again.")));
}

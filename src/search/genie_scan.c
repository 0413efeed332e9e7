/*
 * genie_scan.c
 *	  Index scans: the rows of all segments and of the pending list, best first.
 *
 * A scan reads the metapage once, opens a stream for each segment and one for the pending list, and merges them by
 * (key desc, tid asc).  The key is the match count or, where a distance ranks, the key of its lower bound
 * (genie_bound.h).  Nothing is fixed beforehand: the executor takes as many rows as it likes, and streams count further
 * only when their turn comes.
 *
 * Conditions (x @& q) are applied inside the streams, before anything is ranked.  The first ORDER BY operator whose
 * query is not NULL ranks; where all are NULL, rows come in TID order.  What the streams give, by (key desc, tid
 * asc), is in the order of the first operator's lower bound.  A match count is exact, and so is a Jaccard distance,
 * mostly.  Where it is not, or a second operator sorts, genie_frontier.c looks rows up in the table and computes the
 * operators.  So the scan's values and their order are exact, ties come in TID order, and the executor neither
 * computes nor sorts (xs_recheckorderby is false).
 *
 * Thresholds.  A condition with a threshold wants the rows whose distance is within it.  Only the operator can judge
 * that, so all rows are rechecked.  Candidates are the rows whose bound is within the threshold.  Where the scan ranks
 * by that very bound, or by nothing, they are the first keys, and the others are cut off (genie_bound_cut).
 * Otherwise the threshold becomes a condition like any other: the fewest matches that it leaves possible.
 *
 * Coarse operator classes.  Match counts are bounds, too: the index counts at least as much as the operators.  So
 * conditions let too much through, and the executor rechecks all rows; genie_frontier.c does the rest.  What the class
 * has learned is in the metapage, so queries are compiled when the streams are opened.  It learns once.
 *
 * Approximate operator classes.  Match counts only tell which rows are worth a look: the rows of the streams are
 * candidates.  genie_rerank.c takes them in rounds, looks them up in the table, and returns them by their exact
 * distances.  What the class has learned is in the metapage, so the query is compiled when the streams are opened.
 * After a restart it compiles to the same, unless the index has learned again (merge/genie_retrain.c); then a scan that
 * has given rows by match count ends with an error.  A scan that began before the index learned
 * goes on as if it had not: every row counts 0, in segments, too.  Raw vectors of the pending list come before all
 * rows that are counted.  After a restart some of them may be in a segment, at another place: genie_rerank.c leaves
 * out what it has taken.  It also says when rows are wanted in exact order (genie_scan_order).  If all segments have
 * values, the streams are opened anew then, and rank by values, as those of exact classes do.  After a restart they
 * begin with the first row again, because merges may have left values out: genie_rerank.c passes over what it has
 * given.
 *
 * Exact operator classes of vectors.  Streams rank by keys of lower bounds of distances, which follow from the
 * segments' values, and, for pending rows, from the values that they will have there (genie_value_scan.h).  So a row
 * has the same key before and after a merge.  genie_frontier.c does the rest, as for other distances.  The key of bits
 * tells the distance itself, but for the largest key: that of a pending row of another length, which is refused.
 *
 * Classes that are approximate by graphs alone (genie_value_class.c) have no match counts.  Their scans are those of an
 * approximate class that rank by values from the first row on, unless a graph serves the first round.
 *
 * Exact classes have conditions, too: balls.  Bounds of the distance to the center tell when no row is left inside, and
 * the executor rechecks what they let through.
 *
 * x @& ANY (array) is one condition, of which one query must hold; a threshold in it is the fewest matches that it
 * leaves possible.  Any of several balls is left to the executor, and genie_cost.c keeps the planner from it.
 *
 * Staleness.  On a standby, replay reuses pages under running queries.  Where a page turns out to belong to another
 * owner, everything is opened again from the metapage, behind the last row returned: (count or bound, tid) is a total
 * order that no merge changes.  If the metapage is still the same, the page is damaged (genie_meta_read_again).
 *
 * Only MVCC snapshots are served: under others, the scan could return a TID that VACUUM has removed meanwhile and that
 * another row has taken.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "genie_approximate.h"
#include "genie_ball.h"
#include "genie_candidates.h"
#include "genie_compat.h"
#include "genie_frontier.h"
#include "genie_hint.h"
#include "genie_learned.h"
#include "genie_meta.h"
#include "genie_options.h"
#include "genie_pending_stream.h"
#include "genie_query.h"
#include "genie_rerank.h"
#include "genie_scan.h"
#include "genie_scan_query.h"
#include "genie_stream.h"
#include "genie_type_state.h"
#include "genie_value_order.h"

/* a sweep is worth its pass over all objects when one of so many was visited: a visit takes many times as long */
#define GENIE_SWEEP_SHARE 64

#define GENIE_SCAN_GROWTH 8		/* times as many rows are asked for at once as in a first round that was not enough */

typedef struct GenieScanState
{
	MemoryContext query_context;	/* compiled queries: until the next rescan */
	MemoryContext stream_context;	/* streams: until the next rescan or restart */
	GenieScanQuery query;
	int			rank_by;		/* the ORDER BY operator that query.order is of; past the last: a condition, or none */
	bool		nothing;		/* a condition is NULL */
	bool		recheck;		/* a condition has a threshold, which only the operator knows */
	GenieRerank *rerank;		/* of an approximate class; else NULL */
	GenieFrontier *frontier;	/* of another class, where there is an ORDER BY; else NULL */
	bool		exact;			/* the class is */
	bool		coarse;			/* the class is */
	bool		has_values;		/* it is approximate, and so have all segments, such that rank by the operator */
	const FmgrInfo *ball;		/* it is exact, and without an ORDER BY: the scan ranks by this condition's center */
	Datum		center;
	double		radius;			/* rows whose bound is above it are not wanted */
	bool		is_ordered;		/* it is approximate, and the scan ranks by values: rows are in exact order */
	bool		may_use_graphs; /* it is, and the first round may take what searches of graphs find: */
	bool		by_graph;		/* it does, */
	bool		graph_is_over;	/* and has no more of it, for segments were opened again */
	GenieValueScan values;		/* by which the scan ranks */
	bool		all_errors;		/* bounds allow for every error (genie_rabitq.h) */
	GenieQuantizer quantizer;	/* of an approximate class that has_values */
	uint32		trainings;		/* of the index, as of the metapage that was read last */
	bool		untrained;		/* the index was, when the scan gave its first candidate: every row counts 0 */
	bool		started;
	bool		is_noted;		/* the instrument knows of this rescan */
	GenieInstrument own;
	const GenieInstrument *instrument;	/* its own, or that of what it is a part of */
	GenieScanPosition position; /* behind the last row returned */
	float		nearest;		/* a lower bound of its distance, in an approximate class */
	uint64		segment_version;
	Size		memory;			/* what is left for posting lists */
	GenieHints *hints;			/* rows that the executor found dead; NULL: they are not noted */
	BlockNumber n_blocks;		/* that the table has at least (genie_visit_check_block) */
	uint32		n_segments;
	GenieStream *streams;
	int			n_streams;
	GeniePendingStream pending;
} GenieScanState;

static bool genie_scan_candidate(void *arg, GenieCandidate *candidate);
static bool genie_scan_order(IndexScanDesc scan);
static Size genie_scan_sweep(void *arg, double bound, uint64 tid, uint64 **tids);

IndexScanDesc
genie_beginscan(Relation index, int n_keys, int n_order_bys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, n_keys, n_order_bys);
	GenieScanState *state = palloc0(sizeof(GenieScanState));

	if (n_order_bys > 0)
	{
		scan->xs_orderbyvals = palloc0(sizeof(Datum) * n_order_bys);
		scan->xs_orderbynulls = palloc(sizeof(bool) * n_order_bys);
		memset(scan->xs_orderbynulls, true, sizeof(bool) * n_order_bys);
	}
	state->instrument = &state->own;
	state->query_context = AllocSetContextCreate(CurrentMemoryContext, "genie scan queries",
												 ALLOCSET_SMALL_SIZES);
	state->stream_context = AllocSetContextCreate(CurrentMemoryContext, "genie scan streams",
												  ALLOCSET_DEFAULT_SIZES);
	if (genie_is_approximate(index) || genie_is_by_graph(index))
		state->rerank = genie_rerank_begin(scan, genie_scan_candidate, genie_scan_order);
	else if (n_order_bys > 0)
		state->frontier = genie_frontier_begin(scan, genie_scan_candidate, scan);
	state->exact = genie_is_exact(index);
	state->coarse = genie_is_coarse(index);
	scan->opaque = state;
	return scan;
}

const GenieInstrument *
genie_scan_instrument(IndexScanDesc scan)
{
	const GenieScanState *state = scan->opaque;

	return state->instrument;
}

void
genie_scan_is_part(IndexScanDesc scan, const GenieInstrument *whole)
{
	GenieScanState *state = scan->opaque;

	state->instrument = whole;
}

static void
genie_scan_note_parts(const GenieScanState *state)
{
	GenieScanRecord *record = state->instrument->record;

	record->n_segments = state->n_segments;
	record->n_pending = state->pending.n_read;
}

/* The executor wants rows: from the beginning, or, in a cursor, further ones in another statement. */
static void
genie_scan_note(IndexScanDesc scan, GenieScanKind kind)
{
	GenieScanState *state = scan->opaque;
	TimestampTz before = state->own.statement;

	if (state->instrument != &state->own)
		return;
	genie_instrument_begin(&state->own, RelationGetRelid(scan->indexRelation), kind);
	if (state->own.statement != before && state->started)
		genie_scan_note_parts(state);
	state->own.record->n_scans += !state->is_noted;
	state->is_noted = true;
}

/* Prepares the vector of an exact class's operator, in the current memory context. */
static void
genie_scan_compile_values(IndexScanDesc scan, const GenieMetaData *meta)
{
	GenieScanState *state = scan->opaque;
	const GenieVectorType *type = genie_vector_type_of_class(scan->indexRelation);
	GenieValueShape before = state->values.shape;
	Datum		operand = state->center;
	GenieMetric metric = type == NULL || state->ball == NULL ? 0 : type->ball_metric(state->ball);
	const bytea *parameters;

	if (state->ball == NULL)
	{
		ScanKey		key = &scan->orderByData[state->rank_by];

		operand = key->sk_argument;
		metric = type == NULL ? 0 : type->metric(&state->frontier->functions[state->rank_by], key->sk_strategy);
	}
	if (state->frontier != NULL)
		state->frontier->of_metric = metric == GENIE_METRIC_PIVOTS;
	if (metric == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("index \"%s\" cannot be scanned by this operator",
						RelationGetRelationName(scan->indexRelation)),
				 errdetail("Its operator class is exact: genie must know the operator's arithmetic.")));
	parameters = genie_learned_parameters(scan->indexRelation, meta);
	genie_value_order_begin(&state->values, scan->indexRelation, type,
							genie_value_order_metric(metric, parameters), parameters, operand);
	/* a position means nothing by other keys */
	if (!state->position.has_position)
		state->values.epsilon = state->all_errors ?
			(float) genie_rabitq_all(state->values.query->n_dimensions) : state->values.query->epsilon;
	state->values.query->epsilon = state->values.epsilon;
	/* on a standby, the index may have learned meanwhile */
	if (state->position.has_position && (before.metric != state->values.shape.metric ||
										 (before.centre != NULL) != (state->values.shape.centre != NULL) ||
										 before.step != state->values.shape.step ||
										 before.n_dimensions != state->values.shape.n_dimensions))
		genie_rerank_report_trained(scan->indexRelation);
	state->query.values = &state->values;
}

/* Compiles the first ORDER BY operator whose query is not NULL. */
static void
genie_scan_compile_order(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;
	const GenieQuery *query;
	ScanKey		key;

	state->rank_by = 0;
	while (state->rank_by < scan->numberOfOrderBys &&
		   (scan->orderByData[state->rank_by].sk_flags & SK_ISNULL) != 0)
		state->rank_by++;
	if (state->rank_by == scan->numberOfOrderBys || state->rerank != NULL)
		return;
	key = &scan->orderByData[state->rank_by];
	if (state->exact)
	{
		genie_frontier_rescan(state->frontier);
		return;
	}
	query = genie_scan_compile(scan->indexRelation, key, NULL);
	state->query.order = genie_query_view(query, CurrentMemoryContext);
	if (key->sk_strategy >= GENIE_DISTANCE_STRATEGY)
		state->query.bound = genie_bound_begin(scan->indexRelation, (int16) key->sk_strategy, query);
	genie_frontier_rescan(state->frontier);
	state->frontier->bound = state->query.bound;
	state->frontier->sweep = state->query.bound != NULL ? genie_scan_sweep : NULL;
}

/* Prepares a scan of an approximate class.  Only a class that amvalidate refuses has operators other than distances. */
static void
genie_scan_begin_rerank(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;
	bool		distances = scan->numberOfKeys == 0;

	for (int i = 0; i < scan->numberOfOrderBys; i++)
		distances &= scan->orderByData[i].sk_strategy >= GENIE_DISTANCE_STRATEGY;
	if (!distances)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("index \"%s\" can be scanned by distances only",
						RelationGetRelationName(scan->indexRelation)),
				 errdetail("Its operator class is approximate: the index does not know what its values match.")));
	state->query.signer = genie_approximate_signer(scan->indexRelation);
	state->query.first_k = genie_candidates_of(scan->indexRelation);
	genie_rerank_rescan(state->rerank, state->query.first_k, genie_strict_order, true);
	state->may_use_graphs = !genie_strict_order;
}

void
genie_scan_want(IndexScanDesc scan, uint32 n_rows)
{
	GenieScanState *state = scan->opaque;

	state->query.first_k = n_rows;
	state->may_use_graphs = false;
	genie_rerank_rescan(state->rerank, n_rows, false, false);
}

void
genie_scan_allow_all_errors(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;

	state->all_errors = true;
	if (state->exact)
		state->may_use_graphs = false;
}

uint32
genie_scan_extras(IndexScanDesc scan)
{
	const GenieScanState *state = scan->opaque;

	return state->rerank == NULL ? 0 : genie_rerank_extras(state->rerank);
}

/*
 * A condition x @& ball, of a center and a radius.  The scan ranks by the first one's center, unless an ORDER BY
 * ranks.  Of the same center, the radius ends the scan.  The executor judges rows.
 */
static void
genie_scan_add_ball(IndexScanDesc scan, const ScanKeyData *key)
{
	GenieScanState *state = scan->opaque;
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(scan->indexRelation), 0);
	bool		is_ranked = state->rank_by < scan->numberOfOrderBys;
	const GenieVectorType *type = genie_vector_type_of_class(scan->indexRelation);
	double		radius;
	Datum		center;

	if (type == NULL || type->ball == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("index \"%s\" cannot be scanned by this operator",
						RelationGetRelationName(scan->indexRelation)),
				 errdetail("Its operator class has no balls.")));
	center = type->ball(key->sk_argument, scan->indexRelation->rd_opcintype[0], &radius);

	state->recheck = true;
	if (!is_ranked && state->ball == NULL)
	{
		state->ball = &key->sk_func;
		state->center = center;
	}
	if (datum_image_eq(center, is_ranked ? scan->orderByData[state->rank_by].sk_argument : state->center,
					   attribute->attbyval, attribute->attlen))
		state->radius = Min(state->radius, radius);
}

/* Compiles the conditions, in the current memory context. */
static void
genie_scan_compile_conditions(IndexScanDesc scan, const bytea *parameters)
{
	GenieScanState *state = scan->opaque;

	state->query.n_conditions = 0;
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		const GenieQuery *query;
		GenieQueryView *view;

		state->nothing |= (key->sk_flags & SK_ISNULL) != 0;
		if (state->nothing)
			break;
		if ((key->sk_flags & SK_SEARCHARRAY) != 0)
		{
			state->nothing |= !genie_scan_add_any(&state->query, scan->indexRelation, state->exact, key, parameters,
												  &state->recheck);
			continue;
		}
		if (state->exact)
		{
			genie_scan_add_ball(scan, key);
			continue;
		}
		query = genie_scan_compile(scan->indexRelation, key, parameters);
		view = genie_query_view(query, CurrentMemoryContext);
		if (view->distance_strategy == 0)
			genie_scan_add_condition(&state->query, view);
		else
		{
			state->recheck = true;
			genie_scan_add_threshold(&state->query, scan->indexRelation, scan->numberOfOrderBys > 0, query, view);
		}
	}
}

void
genie_rescan(IndexScanDesc scan, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys)
{
	GenieScanState *state = scan->opaque;
	MemoryContext old;

	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
	if (order_bys != NULL && scan->numberOfOrderBys > 0)
		memmove(scan->orderByData, order_bys, scan->numberOfOrderBys * sizeof(ScanKeyData));

	MemoryContextReset(state->stream_context);
	MemoryContextReset(state->query_context);
	memset(&state->query, 0, sizeof(state->query));
	memset(&state->position, 0, sizeof(state->position));
	state->nothing = false;
	state->recheck = state->coarse;
	state->ball = NULL;
	state->radius = INFINITY;
	state->is_ordered = state->all_errors = false;
	state->may_use_graphs = state->by_graph = state->graph_is_over = false;
	state->started = false;
	state->is_noted = false;
	state->streams = NULL;
	state->n_streams = 0;

	old = MemoryContextSwitchTo(state->query_context);
	if (state->rerank != NULL)
		genie_scan_begin_rerank(scan);
	state->query.is_coarse = state->coarse;
	if (state->coarse)
		state->query.signer = genie_approximate_signer(scan->indexRelation);
	genie_scan_compile_order(scan);
	state->query.excludes_nulls = scan->numberOfKeys > 0;
	if (scan->numberOfKeys > 0)
		state->query.conditions = palloc(sizeof(GenieScanCondition) * scan->numberOfKeys);
	genie_scan_compile_conditions(scan, NULL);
	MemoryContextSwitchTo(old);
}

/*
 * Compiles the ranking's bounds for the sizes that there are, of segments and pending rows, and finds the position
 * among the keys that are new: if no row has its bound any more, the first row of the next worse one comes next.
 */
static void
genie_scan_compile_bounds(GenieScanState *state, const GenieMetaData *meta, GenieScanPosition *position)
{
	GenieBound *bound = state->query.bound;
	uint32		min_size = state->pending.min_size;
	uint32		max_size = state->pending.max_size;
	bool		found;

	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		min_size = Min(min_size, meta->segments[i].min_size);
		max_size = Max(max_size, meta->segments[i].max_size);
	}
	genie_bound_compile(bound, Min(min_size, max_size), max_size);
	if (!position->has_position || position->key == GENIE_KEY_NULL)
		return;
	position->key = (int32) genie_bound_place(bound, position->bound, &found) + 1;
	if (!found)
		position->tid = PG_UINT64_MAX;
}

/*
 * Has the first round take what searches of graphs find, if they are there.  If the scan opens segments again in that
 * round, it gets no more of it, because a search may find other objects then: what it has missed comes in exact order.
 * False: stale.
 */
static bool
genie_scan_use_graphs(IndexScanDesc scan, const GenieMetaData *meta, GenieSource **sources)
{
	GenieScanState *state = scan->opaque;

	state->query.graph = (GenieGraphSearch) {0};
	if (state->is_ordered || !state->may_use_graphs || !state->has_values)
		return true;
	if (state->by_graph)
		state->graph_is_over = true;
	else if (!state->position.has_position &&
			 !genie_quantizer_find_graphs(sources, meta->n_segments, scan->indexRelation, meta, &state->by_graph))
		return false;
	if (state->by_graph)
		state->query.graph = genie_quantizer_graph_search(sources, meta->n_segments, 0);
	else
		state->is_ordered = state->exact;
	return true;
}

/*
 * Has the scan of an approximate class rank by values, in the current memory context, if it shall and can.  Once it
 * does, it goes on, whatever becomes of settings, and even if there are segments without values.  False: stale.
 */
static bool
genie_scan_rank_by_values(IndexScanDesc scan, const GenieMetaData *meta, GenieSource **sources)
{
	GenieScanState *state = scan->opaque;
	GenieQuantizer *quantizer = &state->quantizer;

	if (state->query.values == NULL)
	{
		state->has_values = state->rank_by < scan->numberOfOrderBys &&
			genie_rerank_quantizer(state->rerank, state->query.parameters, quantizer) &&
			genie_value_order_possible(quantizer, sources, meta->n_segments);
		state->is_ordered &= state->has_values;
	}
	if (!genie_scan_use_graphs(scan, meta, sources))
		return false;
	if (!state->is_ordered && !state->by_graph)
		return true;
	genie_value_order_begin(&state->values, scan->indexRelation, quantizer->type, quantizer->shape.metric,
							state->query.parameters,
							scan->orderByData[state->rank_by].sk_argument);
	state->query.values = &state->values;
	state->position.has_position = false;
	return true;
}

/* Compiles the ranking query of an approximate class by the parameters of the metapage.  False: stale. */
static bool
genie_scan_compile_candidates(IndexScanDesc scan, const GenieMetaData *meta, GenieSource **sources)
{
	GenieScanState *state = scan->opaque;
	GenieScanQuery *query = &state->query;

	/* a position by match counts means nothing under other parameters */
	bool		is_lost = state->position.has_position && !state->untrained && meta->trainings != state->trainings;

	state->trainings = meta->trainings;
	state->untrained = state->position.has_position ? state->untrained : meta->parameters_length == 0;
	query->parameters = state->untrained ? NULL : genie_learned_parameters(scan->indexRelation, meta);
	query->order = NULL;
	query->quantizer = NULL;
	if (!genie_scan_rank_by_values(scan, meta, sources))
		return false;
	if (state->by_graph && !state->is_ordered)
		genie_rerank_by_graph(state->rerank, state->query.graph.n_hits, meta->tombstone_version);
	if (state->is_ordered || state->by_graph)
		return true;
	if (is_lost)
		genie_rerank_report_trained(scan->indexRelation);
	if (state->rank_by < scan->numberOfOrderBys)
		query->order = genie_query_view(genie_scan_compile(scan->indexRelation, &scan->orderByData[state->rank_by],
														   query->parameters),
										CurrentMemoryContext);
	query->quantizer = genie_rerank_vector(state->rerank, query->parameters, meta->tombstone_version, &query->vector,
										   &query->n_elements);
	query->raw_measure = genie_rerank_raw_measure(state->rerank);
	return true;
}

/*
 * Compiles the queries of a coarse class by the parameters of the metapage.  Where it is not trained they stay as they
 * are.
 */
static void
genie_scan_compile_coarse(IndexScanDesc scan, const GenieMetaData *meta)
{
	GenieScanState *state = scan->opaque;
	GenieScanQuery *query = &state->query;
	bool		is_ranked = state->rank_by < scan->numberOfOrderBys;

	if (is_ranked && state->position.has_position && meta->trainings != state->trainings)
		genie_rerank_report_trained(scan->indexRelation);
	state->trainings = meta->trainings;
	query->parameters = genie_learned_parameters(scan->indexRelation, meta);
	if (is_ranked)
		query->order = genie_query_view(genie_scan_compile(scan->indexRelation, &scan->orderByData[state->rank_by],
														   query->parameters),
										CurrentMemoryContext);
	genie_scan_compile_conditions(scan, query->parameters);
}

/* Visited rows from which on a sweep is worth its pass over all objects. */
static double
genie_scan_sweep_from(const GenieMetaData *meta)
{
	double		n_objects = 0;

	for (uint32 i = 0; i < meta->n_segments; i++)
		n_objects += meta->segments[i].n_objects;
	return n_objects / GENIE_SWEEP_SHARE;
}

/* Opens all streams.  False: stale. */
static bool
genie_scan_open_streams(IndexScanDesc scan, const GenieMetaData *meta)
{
	GenieScanState *state = scan->opaque;
	GenieScanPosition position;
	GenieConflicts conflicts = {.scan = scan};
	GenieSource **sources = palloc((meta->n_segments + 1) * sizeof(GenieSource *));
	uint64		since;
	bool		ok;

	state->memory = work_mem * (Size) 1024;
	state->streams = palloc0(sizeof(GenieStream) * (meta->n_segments + 1));
	state->n_streams = 0;
	if (!genie_source_open_all(scan->indexRelation, meta, &state->memory, 1, state->instrument, sources))
		return false;
	if (state->rerank != NULL && !genie_scan_compile_candidates(scan, meta, sources))
		return false;
	if (state->graph_is_over && !state->is_ordered)
	{
		state->pending.n = 0;
		return true;
	}
	if (state->rerank != NULL)
		;
	else if (state->coarse)
		genie_scan_compile_coarse(scan, meta);
	else if (state->exact && (state->ball != NULL || state->rank_by < scan->numberOfOrderBys))
		genie_scan_compile_values(scan, meta);
	position = state->position;
	since = genie_instrument_now();
	ok = genie_pending_stream_open(&state->pending, scan->indexRelation, meta, &state->query, &conflicts);
	genie_instrument_counted(state->instrument, since);
	state->n_segments = meta->n_segments;
	genie_scan_note_parts(state);
	if (!ok)
		return false;
	if (state->query.bound != NULL)
		genie_scan_compile_bounds(state, meta, &position);
	genie_pending_stream_rank(&state->pending, &state->query, &position);
	if (state->frontier != NULL)
		state->frontier->sweep_from = genie_scan_sweep_from(meta);
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSource *source = sources[i];

		if (state->query.quantizer != NULL &&
			!genie_quantizer_find_values(state->query.quantizer, source, scan->indexRelation, meta))
			return false;
		if (state->query.order != NULL && state->rerank == NULL &&
			!genie_conflicts_find(&conflicts, source->segment, state->query.order))
			return false;
		for (int j = 0; j < state->query.n_conditions; j++)
			for (uint32 q = 0; q < state->query.conditions[j].n; q++)
				if (!genie_conflicts_find(&conflicts, source->segment, state->query.conditions[j].queries[q]))
					return false;
		if (!genie_stream_open(&state->streams[state->n_streams], source, &state->query, &position))
			return false;
		state->n_streams++;
		CHECK_FOR_INTERRUPTS();
	}
	genie_conflicts_report(&conflicts);
	if (state->query.values != NULL &&
		!genie_value_order_find_all(&state->values, sources, scan->indexRelation, meta))
		return false;
	return genie_stream_first_pages(state->streams, state->n_streams);
}

/* Opens the streams from the metapage on, behind the scan's position. */
static void
genie_scan_start(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->stream_context);
	bool		ok = false;

	while (!ok)
	{
		GenieMetaData *meta;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(state->stream_context);
		meta = genie_meta_read_again(scan->indexRelation, state->started, state->segment_version);
		state->segment_version = meta->segment_version;
		state->started = true;
		ok = genie_scan_open_streams(scan, meta);
		genie_type_state_check(scan->indexRelation, &meta->types);
	}
	MemoryContextSwitchTo(old);
}

/* Before the first row is looked up, of all rescans.  Rows of an approximate class are looked up elsewhere. */
static void
genie_scan_begin_hints(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(state));

	if (state->hints == NULL && state->rerank == NULL)
		state->hints = genie_hints_begin(scan->indexRelation);
	MemoryContextSwitchTo(old);
}

/* Notes that the row at the (exact) head of a stream is returned. */
static void
genie_scan_take(GenieScanState *state, int32 key, uint64 tid)
{
	state->instrument->record->n_candidates++;
	state->position.key = key;
	state->position.tid = tid;
	state->position.has_position = true;
	if (state->query.bound != NULL && key != GENIE_KEY_NULL)
		state->position.bound = genie_bound_of_key(state->query.bound, (uint32) key);
}

/* Opens the streams for the first row of all. */
static void
genie_scan_begin(IndexScanDesc scan)
{
	if (!IsMVCCSnapshot(scan->xs_snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("genie indexes can be scanned only under an MVCC snapshot")));
	pgstat_count_index_scan(scan->indexRelation);
	GENIE_COUNT_SEARCH(scan);
	genie_scan_begin_hints(scan);
	genie_scan_start(scan);
}

/* Candidates of an approximate class by ascending bounds from now on, the first ones again (GenieOrderCandidates). */
static bool
genie_scan_order(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;

	if (state->started && !state->has_values)
		return false;
	/* in the first round of a class that is approximate by graphs, these may serve */
	state->is_ordered = state->started || !state->exact || !state->may_use_graphs;
	if (!state->started)
		genie_scan_begin(scan);
	else
	{
		state->query.first_k = Min(state->query.first_k, PG_INT32_MAX / GENIE_SCAN_GROWTH) * GENIE_SCAN_GROWTH;
		state->started = false;
		genie_scan_start(scan);
	}
	return state->is_ordered;
}

/* Is every row of such a key, or a worse one, outside the ball that the scan wants? */
static bool
genie_scan_is_outside(const GenieScanState *state, int32 key)
{
	return state->radius < INFINITY && state->query.values != NULL && key != GENIE_KEY_NULL &&
		genie_value_key_bound((uint32) key) > state->radius;
}

/*
 * The next row: its key (GENIE_KEY_NULL for a NULL row) and TID.  False: there is none.
 */
static bool
genie_scan_next(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;

	if (state->nothing)
		return false;
	if (!state->started)
		genie_scan_begin(scan);
	for (;;)
	{
		GenieStream *best = NULL;
		GeniePendingHit *pending = state->pending.n > 0 ? &state->pending.hits[0] : NULL;
		MemoryContext old;
		bool		ok;

		for (int i = 0; i < state->n_streams; i++)
		{
			GenieStream *stream = &state->streams[i];

			if (!stream->at_end &&
				(best == NULL || stream->key > best->key ||
				 (stream->key == best->key && stream->tid < best->tid)))
				best = stream;
		}
		if ((pending == NULL || genie_scan_is_outside(state, pending->key)) &&
			(best == NULL || genie_scan_is_outside(state, best->key)))
			return false;
		if (pending != NULL &&
			(best == NULL || pending->key > best->key ||
			 (pending->key == best->key && pending->tid < best->tid)))
		{
			genie_scan_take(state, pending->key, pending->tid);
			state->nearest = pending->nearest;
			genie_pending_stream_next(&state->pending);
			return true;
		}
		if (best->exact)
		{
			genie_scan_take(state, best->key, best->tid);
			state->nearest = best->nearest;
			genie_stream_next(best);
			return true;
		}
		old = MemoryContextSwitchTo(state->stream_context);
		ok = genie_stream_settle(best);
		MemoryContextSwitchTo(old);
		if (!ok)
			genie_scan_start(scan);
		CHECK_FOR_INTERRUPTS();
	}
}

/* The next candidate, for genie_rerank.c or genie_frontier.c. */
static bool
genie_scan_candidate(void *arg, GenieCandidate *candidate)
{
	IndexScanDesc scan = arg;
	const GenieScanState *state = scan->opaque;
	const GenieScanPosition *position = &state->position;

	if (!genie_scan_next(scan))
		return false;
	candidate->tid = position->tid;
	candidate->is_null = position->key == GENIE_KEY_NULL;
	candidate->is_raw = state->query.parameters == NULL;
	candidate->is_extra = position->key == GENIE_KEY_RAW;
	candidate->is_exact = false;
	if (state->rerank != NULL && state->query.values == NULL)
		candidate->bound = state->nearest;
	else if (candidate->is_null)
		candidate->is_exact = true;
	else if (state->query.values != NULL)
	{
		candidate->bound = genie_value_key_bound((uint32) position->key);
		candidate->is_exact = state->values.query->metric == GENIE_METRIC_HAMMING &&
			state->frontier != NULL && state->frontier->is_sole &&
			position->key != GENIE_VALUE_KEY_MAX;
	}
	else if (state->query.bound == NULL)
	{
		candidate->bound = -position->key;
		candidate->is_exact = state->frontier->is_sole && state->query.parameters == NULL;
	}
	else
	{
		candidate->bound = position->bound;
		candidate->is_exact = state->frontier->is_sole &&
			genie_bound_is_exact(state->query.bound, (uint32) position->key);
	}
	return true;
}

/* Where the keys of a bound and a TID stand. */
static GenieScanPosition
genie_scan_place(const GenieBound *bound, double value, uint64 tid)
{
	bool		found;
	uint32		n_larger = genie_bound_place(bound, value, &found);

	/* there is no such bound: up to the last row of the next larger one */
	if (!found)
		tid = PG_UINT64_MAX;
	return (GenieScanPosition) {.has_position = true, .key = (int32) n_larger + 1, .bound = value, .tid = tid};
}

/* The candidates that are left up to a bound and a TID (GenieSweep). */
static Size
genie_scan_sweep(void *arg, double bound, uint64 tid, uint64 **tids)
{
	IndexScanDesc scan = arg;
	GenieScanState *state = scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->stream_context);
	GeniePendingStream *pending = &state->pending;
	GenieStreamTids found;
	GenieScanPosition to;
	bool		ok;

	for (;;)
	{
		memset(&found, 0, sizeof(found));
		to = genie_scan_place(state->query.bound, bound, tid);
		ok = true;
		for (int i = 0; ok && i < state->n_streams; i++)
			ok = genie_stream_sweep(&state->streams[i], &state->position, &to, &found);
		if (ok)
			break;
		genie_scan_start(scan);
	}
	for (; pending->n > 0 && (pending->hits[0].key > to.key ||
							  (pending->hits[0].key == to.key && pending->hits[0].tid <= to.tid));
		 genie_pending_stream_next(pending))
	{
		genie_stream_reserve_tids(&found, 1);
		found.tids[found.n++] = pending->hits[0].tid;
	}
	state->instrument->record->n_candidates += found.n;
	state->position = to;
	MemoryContextSwitchTo(old);
	*tids = found.tids;
	return found.n;
}

/* Gives the scan its next row where there is no ORDER BY, or all queries of it are NULL. */
static bool
genie_scan_give(IndexScanDesc scan)
{
	const GenieScanState *state = scan->opaque;

	if (!genie_scan_next(scan))
		return false;
	genie_tid_from_number(state->position.tid, &scan->xs_heaptid);
	scan->xs_recheckorderby = false;
	for (int i = 0; i < scan->numberOfOrderBys; i++)
		scan->xs_orderbynulls[i] = true;
	return true;
}

bool
genie_gettuple(IndexScanDesc scan, ScanDirection direction)
{
	GenieScanState *state = scan->opaque;
	const uint64 *row;
	bool		found;

	Assert(ScanDirectionIsForward(direction));
	genie_scan_note(scan, GENIE_SCAN_ROWS);
	if (scan->kill_prior_tuple)
		genie_hints_add(state->hints, genie_tid_number(&scan->xs_heaptid));
	genie_hints_write(state->hints);
	scan->xs_recheck = state->recheck;
	if (state->rank_by >= scan->numberOfOrderBys)
		found = genie_scan_give(scan);
	else if (state->rerank != NULL)
		found = genie_rerank_next(state->rerank);
	else
	{
		row = genie_frontier_next(state->frontier);
		found = row != NULL;
		if (found)
			genie_frontier_give(state->frontier, row);
	}
	if (!found)
		return false;
	if (state->instrument == &state->own)
		state->own.record->n_rows++;
	genie_visit_check_block(scan->heapRelation, scan->indexRelation, ItemPointerGetBlockNumber(&scan->xs_heaptid),
							&state->n_blocks);
	return true;
}

int64
genie_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	GenieScanState *state = scan->opaque;
	ItemPointerData tids[256];
	int			n = 0;
	int64		total = 0;

	/* a bitmap's scan is not told the table, which the executor has locked */
	Relation	heap = table_open(IndexGetRelation(RelationGetRelid(scan->indexRelation), false), NoLock);

	genie_scan_note(scan, GENIE_SCAN_BITMAP);
	while (genie_scan_next(scan))
	{
		genie_tid_from_number(state->position.tid, &tids[n]);
		genie_visit_check_tid(heap, scan->indexRelation, &tids[n++], &state->n_blocks);
		if (n == lengthof(tids))
		{
			tbm_add_tuples(bitmap, tids, n, state->recheck);
			total += n;
			n = 0;
			CHECK_FOR_INTERRUPTS();
		}
	}
	table_close(heap, NoLock);
	tbm_add_tuples(bitmap, tids, n, state->recheck);
	state->own.record->n_rows += total + n;
	return total + n;
}

void
genie_endscan(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;

	genie_hints_end(state->hints);
	if (state->rerank != NULL)
		genie_rerank_end(state->rerank);
	if (state->frontier != NULL)
		genie_frontier_end(state->frontier);
	MemoryContextDelete(state->stream_context);
	MemoryContextDelete(state->query_context);
	pfree(state);
}

/*
 * genie_scan.c
 *	  Index scans: the rows of all segments and of the pending list, best first.
 *
 * A scan reads the metapage once, opens a stream for each segment and one for the pending list, and merges them by (key
 * desc, tid asc).  The key is the match count or, where a distance ranks, the key of its lower bound (genie_bound.h).
 * Nothing is fixed beforehand: the executor takes as many rows as it likes, and streams count further only when their
 * turn comes.
 *
 * Conditions (x @& q) are applied inside the streams, before anything is ranked.  The first ORDER BY operator whose
 * query is not NULL ranks.  The scan cannot rank by a second one at the same time: it gives its value as a lower bound
 * that is the same for all rows, and xs_recheckorderby makes the executor compute and sort, holding rows of equal
 * first value back until that value ends.  (A bound per row would have to come in order within equal first values,
 * which would need a second ranking.)  The executor does not sort by what follows a NULL, because it takes two NULLs
 * as the end of its comparison.  So the scan passes over NULL queries before the ranking one, and raises an error where
 * the executor would have to sort behind them.  Where all are NULL, rows come in TID order.
 *
 * A distance's value is always its bound, with recheck: the executor computes the distance itself, and holds the
 * row back until the bounds have reached it.
 *
 * Thresholds.  A condition with a threshold wants the rows whose distance is within it.  Only the operator can judge
 * that, so all rows are rechecked.  Candidates are the rows whose bound is within the threshold.  Where the scan ranks
 * by that very bound, or by nothing, they are the first keys, and the others are cut off (genie_bound_cut).
 * Otherwise the threshold becomes a condition like any other: the fewest matches that it leaves possible.
 *
 * Approximate operator classes.  Match counts only tell which rows are worth a look: the rows of the streams are
 * candidates.  genie_rerank.c takes them in rounds, looks them up in the table, and returns them by their exact
 * distances.  What the class has learned is in the metapage, so the query is compiled when the streams are opened.
 * After a restart it compiles to the same, because an index learns once.  A scan that began before the index learned
 * goes on as if it had not: every row counts 0, in segments, too.
 *
 * Staleness.  On a standby, replay reuses pages under running queries.  Where a page turns out to belong to another
 * owner, everything is opened again from the metapage, behind the last row returned: (count or bound, tid) is a total
 * order that no merge changes.  If the metapage is still the same, the page is damaged (genie_meta_read_again).
 *
 * Only MVCC snapshots are served: under others, the scan could return a TID that VACUUM has removed meanwhile and that
 * another row has taken.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "genie_approximate.h"
#include "genie_candidates.h"
#include "genie_hint.h"
#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_pending_stream.h"
#include "genie_query.h"
#include "genie_rerank.h"
#include "genie_scan.h"
#include "genie_stream.h"

typedef struct GenieScanState
{
	MemoryContext query_context;	/* compiled queries: until the next rescan */
	MemoryContext stream_context;	/* streams: until the next rescan or restart */
	GenieScanQuery query;
	int			rank_by;		/* the ORDER BY operator that query.order is of; past the last: a condition, or none */
	bool		nothing;		/* a condition is NULL */
	bool		recheck;		/* a condition has a threshold, which only the operator knows */
	GenieRerank *rerank;		/* of an approximate class; else NULL */
	bool		untrained;		/* the index was, when the scan gave its first candidate: every row counts 0 */
	bool		started;
	GenieScanPosition position; /* behind the last row returned */
	float		nearest;		/* a lower bound of that row's distance, in an approximate class */
	uint64		segment_version;
	Size		memory;			/* what is left for posting lists */
	GenieHints *hints;			/* rows that the executor found dead; NULL: they are not noted */
	GenieStream *streams;
	int			n_streams;
	GeniePendingStream pending;
} GenieScanState;

static bool genie_scan_candidate(IndexScanDesc scan, GenieCandidate *candidate);

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
	state->query_context = AllocSetContextCreate(CurrentMemoryContext, "genie scan queries",
												 ALLOCSET_SMALL_SIZES);
	state->stream_context = AllocSetContextCreate(CurrentMemoryContext, "genie scan streams",
												  ALLOCSET_DEFAULT_SIZES);
	if (genie_is_approximate(index))
		state->rerank = genie_rerank_begin(scan, genie_scan_candidate);
	scan->opaque = state;
	return scan;
}

const GenieQuery *
genie_scan_compile(Relation index, const ScanKeyData *key, const bytea *parameters)
{
	FmgrInfo   *compile = index_getprocinfo(index, key->sk_attno, GENIE_COMPILE_PROC);
	Datum		strategy = Int16GetDatum(key->sk_strategy);
	Datum		subtype = ObjectIdGetDatum(key->sk_subtype);
	Datum		query;

	if (genie_is_approximate(index))
		query = FunctionCall4Coll(compile, key->sk_collation, key->sk_argument, strategy, subtype,
								  PointerGetDatum(parameters));
	else
		query = FunctionCall3Coll(compile, key->sk_collation, key->sk_argument, strategy, subtype);
	return DatumGetGenieQuery(query);
}

/* Do they ask for the same keywords? */
static bool
genie_scan_same_intervals(const GenieQuery *a, const GenieQuery *b)
{
	return a->n == b->n && VARSIZE(a) == VARSIZE(b) &&
		memcmp(a->body, b->body, VARSIZE(a) - offsetof(GenieQuery, body)) == 0;
}

/* Takes the threshold of a condition into the ranking, or into the condition's min_match. */
static void
genie_scan_add_threshold(IndexScanDesc scan, const GenieQuery *query, GenieQueryView *view)
{
	GenieScanState *state = scan->opaque;
	Relation	index = scan->indexRelation;
	GenieScanQuery *to = &state->query;
	bool		same;

	if (!genie_bound_knows(index, (int16) view->distance_strategy))
	{
		to->conditions[to->n_conditions++] = view;
		return;
	}
	if (scan->numberOfOrderBys == 0 && to->order == NULL)
	{
		to->order = view;
		to->bound = genie_bound_begin(index, (int16) view->distance_strategy, query);
	}
	same = to->bound != NULL && to->bound->strategy == view->distance_strategy &&
		genie_scan_same_intervals(to->bound->query, query);
	if (same)
		genie_bound_cut(to->bound, (uint32) view->min_match, view->max_distance);
	else
	{
		GenieBound *bound = genie_bound_begin(index, (int16) view->distance_strategy, query);
		uint32		least = genie_bound_least_count(bound, view->max_distance);

		view->min_match = Max(view->min_match, (int32) least);
		to->conditions[to->n_conditions++] = view;
	}
}

/* Compiles the first ORDER BY operator whose query is not NULL. */
static void
genie_scan_compile_order(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;
	const GenieQuery *query;
	ScanKey		key;
	bool		sorts;

	state->rank_by = 0;
	while (state->rank_by < scan->numberOfOrderBys &&
		   (scan->orderByData[state->rank_by].sk_flags & SK_ISNULL) != 0)
		state->rank_by++;
	if (state->rank_by == scan->numberOfOrderBys || state->rerank != NULL)
		return;
	key = &scan->orderByData[state->rank_by];
	query = genie_scan_compile(scan->indexRelation, key, NULL);
	state->query.order = genie_query_view(query, CurrentMemoryContext);
	if (key->sk_strategy >= GENIE_DISTANCE_STRATEGY)
		state->query.bound = genie_bound_begin(scan->indexRelation, (int16) key->sk_strategy, query);

	sorts = state->query.bound != NULL;
	for (int i = state->rank_by + 1; i < scan->numberOfOrderBys; i++)
		sorts |= (scan->orderByData[i].sk_flags & SK_ISNULL) == 0;
	if (sorts && state->rank_by > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a genie index scan cannot sort rows behind an ORDER BY operator whose query is null"),
				 errhint("Leave that operator out, or set enable_indexscan to off.")));
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
	genie_rerank_rescan(state->rerank, state->query.first_k);
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
	state->recheck = false;
	state->started = false;
	state->streams = NULL;
	state->n_streams = 0;

	old = MemoryContextSwitchTo(state->query_context);
	if (state->rerank != NULL)
		genie_scan_begin_rerank(scan);
	genie_scan_compile_order(scan);
	state->query.excludes_nulls = scan->numberOfKeys > 0;
	if (scan->numberOfKeys > 0)
		state->query.conditions = palloc(sizeof(GenieQueryView *) * scan->numberOfKeys);
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		const GenieQuery *query;
		GenieQueryView *view;

		state->nothing |= (key->sk_flags & SK_ISNULL) != 0;
		if (state->nothing)
			break;
		query = genie_scan_compile(scan->indexRelation, key, NULL);
		view = genie_query_view(query, CurrentMemoryContext);
		if (view->distance_strategy == 0)
			state->query.conditions[state->query.n_conditions++] = view;
		else
		{
			state->recheck = true;
			genie_scan_add_threshold(scan, query, view);
		}
	}
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

/* Compiles the ranking query of an approximate class by the parameters of the metapage. */
static void
genie_scan_compile_candidates(IndexScanDesc scan, const GenieMetaData *meta)
{
	GenieScanState *state = scan->opaque;

	state->untrained = state->position.has_position ? state->untrained : meta->parameters_length == 0;
	state->query.parameters = state->untrained ? NULL : genie_meta_parameters(meta);
	if (state->rank_by < scan->numberOfOrderBys)
		state->query.order = genie_query_view(genie_scan_compile(scan->indexRelation,
																 &scan->orderByData[state->rank_by],
																 state->query.parameters),
											  CurrentMemoryContext);
	state->query.quantizer = genie_rerank_vector(state->rerank, state->query.parameters, meta->tombstone_version,
												 &state->query.vector, &state->query.n_elements);
}

/* Opens all streams.  False: stale. */
static bool
genie_scan_open_streams(IndexScanDesc scan, const GenieMetaData *meta)
{
	GenieScanState *state = scan->opaque;
	GenieScanPosition position = state->position;
	GenieConflicts conflicts = {.scan = scan};
	GenieSource **sources = palloc((meta->n_segments + 1) * sizeof(GenieSource *));

	state->memory = work_mem * (Size) 1024;
	state->streams = palloc0(sizeof(GenieStream) * (meta->n_segments + 1));
	state->n_streams = 0;
	if (state->rerank != NULL)
		genie_scan_compile_candidates(scan, meta);
	if (!genie_pending_stream_open(&state->pending, scan->indexRelation, meta, &state->query, &conflicts))
		return false;
	if (state->query.bound != NULL)
		genie_scan_compile_bounds(state, meta, &position);
	genie_pending_stream_rank(&state->pending, &state->query, &position);
	if (!genie_source_open_all(scan->indexRelation, meta, &state->memory, sources))
		return false;
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSource *source = sources[i];

		if (state->query.quantizer != NULL)
			genie_source_find_vectors(source, scan->indexRelation, meta, state->query.first_k, state->query.quantizer);
		if (state->query.order != NULL && state->rerank == NULL &&
			!genie_conflicts_find(&conflicts, source->segment, state->query.order))
			return false;
		for (int j = 0; j < state->query.n_conditions; j++)
			if (!genie_conflicts_find(&conflicts, source->segment, state->query.conditions[j]))
				return false;
		if (!genie_stream_open(&state->streams[state->n_streams], source, &state->query, &position))
			return false;
		state->n_streams++;
		CHECK_FOR_INTERRUPTS();
	}
	genie_conflicts_report(&conflicts);
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
	state->position.key = key;
	state->position.tid = tid;
	state->position.has_position = true;
	if (state->query.bound != NULL && key != GENIE_KEY_NULL)
		state->position.bound = genie_bound_of_key(state->query.bound, (uint32) key);
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
	{
		if (!IsMVCCSnapshot(scan->xs_snapshot))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("genie indexes can be scanned only under an MVCC snapshot")));
		pgstat_count_index_scan(scan->indexRelation);
		genie_scan_begin_hints(scan);
		genie_scan_start(scan);
	}
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
		if (pending != NULL &&
			(best == NULL || pending->key > best->key ||
			 (pending->key == best->key && pending->tid < best->tid)))
		{
			genie_scan_take(state, pending->key, pending->tid);
			state->nearest = 0;
			genie_pending_stream_next(&state->pending);
			return true;
		}
		if (best == NULL)
			return false;
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

/* The value of the ranking operator for the row in hand, or a lower bound of any row's for another operator. */
static Datum
genie_scan_order_value(const IndexScanDesc scan, int i)
{
	const GenieScanState *state = scan->opaque;
	bool		is_count = scan->orderByData[i].sk_strategy == GENIE_COUNT_STRATEGY;

	if (i == state->rank_by)
		return is_count ? Int32GetDatum(-state->position.key) : Float8GetDatum(state->position.bound);
	return is_count ? Int32GetDatum(-GENIE_OBJECT_KEYWORDS_MAX) : Float8GetDatum(-get_float8_infinity());
}

/* The next candidate for genie_rerank.c. */
static bool
genie_scan_candidate(IndexScanDesc scan, GenieCandidate *candidate)
{
	const GenieScanState *state = scan->opaque;

	if (!genie_scan_next(scan))
		return false;
	candidate->tid = state->position.tid;
	candidate->is_null = state->position.key == GENIE_KEY_NULL;
	candidate->is_raw = state->query.parameters == NULL;
	candidate->nearest = state->nearest;
	return true;
}

bool
genie_gettuple(IndexScanDesc scan, ScanDirection direction)
{
	GenieScanState *state = scan->opaque;

	Assert(ScanDirectionIsForward(direction));
	if (scan->kill_prior_tuple)
		genie_hints_add(state->hints, state->position.tid);
	genie_hints_write(state->hints);
	if (state->rerank != NULL && state->rank_by < scan->numberOfOrderBys)
		return genie_rerank_next(state->rerank);
	if (!genie_scan_next(scan))
		return false;
	genie_tid_from_number(state->position.tid, &scan->xs_heaptid);
	scan->xs_recheck = state->recheck;
	scan->xs_recheckorderby = scan->numberOfOrderBys > state->rank_by + (state->query.bound == NULL);
	for (int i = 0; i < scan->numberOfOrderBys; i++)
	{
		scan->xs_orderbynulls[i] = state->position.key == GENIE_KEY_NULL ||
			(scan->orderByData[i].sk_flags & SK_ISNULL) != 0;
		scan->xs_orderbyvals[i] = genie_scan_order_value(scan, i);
	}
	return true;
}

int64
genie_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	GenieScanState *state = scan->opaque;
	ItemPointerData tids[256];
	int			n = 0;
	int64		total = 0;

	while (genie_scan_next(scan))
	{
		genie_tid_from_number(state->position.tid, &tids[n++]);
		if (n == lengthof(tids))
		{
			tbm_add_tuples(bitmap, tids, n, state->recheck);
			total += n;
			n = 0;
			CHECK_FOR_INTERRUPTS();
		}
	}
	tbm_add_tuples(bitmap, tids, n, state->recheck);
	return total + n;
}

void
genie_endscan(IndexScanDesc scan)
{
	GenieScanState *state = scan->opaque;

	genie_hints_end(state->hints);
	if (state->rerank != NULL)
		genie_rerank_end(state->rerank);
	MemoryContextDelete(state->stream_context);
	MemoryContextDelete(state->query_context);
	pfree(state);
}

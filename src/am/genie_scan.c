/*
 * genie_scan.c
 *	  Index scans: the rows of all segments and of the pending list, best first.
 *
 * A scan reads the metapage once, opens a stream for each segment and one for the pending list, and
 * merges them by (count desc, tid asc).  Nothing is fixed beforehand: the executor takes as
 * many rows as it likes, and streams count further only when their turn comes.
 *
 * Conditions (x @& q) are applied inside the streams, before anything is ranked.  The first ORDER
 * BY operator whose query is not NULL ranks.  A second one cannot be ranked by at the same time; its
 * value is given as a lower bound that is the same for all rows, and xs_recheckorderby makes the executor
 * compute and sort: it holds rows of equal first value back until that value ends.  (A bound per row
 * would have to come in order within equal first values, which would need a second ranking.)  It would
 * not sort by what follows a NULL, for it takes two NULLs as the end of its comparison: so NULL
 * queries before the ranking one are passed over here.  Where all are NULL, the order is the TIDs'.
 *
 * Staleness.  Where a page turns out to belong to somebody else (possible on a standby, where
 * replay reuses pages under running queries), everything is opened again from the metapage,
 * behind the last row returned: (count, tid) is a total order that no merge changes.  If the
 * metapage is still the same, the page is damaged.
 *
 * Only MVCC snapshots are served: for others, a TID that VACUUM removed meanwhile and that was
 * taken again would be returned.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_pending_stream.h"
#include "genie_query.h"
#include "genie_scan.h"
#include "genie_stream.h"

typedef struct GenieScanState
{
	MemoryContext query_context;	/* compiled queries: until the next rescan */
	MemoryContext stream_context;	/* streams: until the next rescan or restart */
	GenieScanQuery query;
	int			rank_by;		/* the ORDER BY operator that query.order is of */
	bool		nothing;		/* a condition is NULL */
	bool		recheck;		/* a condition has a threshold, which only the operator knows */
	bool		started;
	GenieScanPosition position; /* behind the last row returned */
	uint64		segment_version;
	Size		memory;			/* what is left for posting lists */
	GenieStream *streams;
	int			n_streams;
	GeniePendingStream pending;
} GenieScanState;

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
	scan->opaque = state;
	return scan;
}

/* The right operand of a scan key as a plain query, in the current context. */
static const GenieQueryView *
genie_scan_compile(IndexScanDesc scan, ScanKey key)
{
	FmgrInfo   *compile = index_getprocinfo(scan->indexRelation, key->sk_attno, GENIE_COMPILE_PROC);
	Datum		query = FunctionCall3Coll(compile, key->sk_collation, key->sk_argument,
										  Int16GetDatum(key->sk_strategy),
										  ObjectIdGetDatum(key->sk_subtype));

	return genie_query_view((GenieQuery *) PG_DETOAST_DATUM(query), CurrentMemoryContext);
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
	if (scan->numberOfKeys > 0)
		state->query.conditions = palloc(sizeof(GenieQueryView *) * scan->numberOfKeys);
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];

		if (key->sk_flags & SK_ISNULL)
			state->nothing = true;
		else
		{
			const GenieQueryView *query = genie_scan_compile(scan, key);

			state->query.conditions[state->query.n_conditions++] = query;
			state->recheck |= query->distance_strategy != 0;
		}
	}
	state->rank_by = 0;
	while (state->rank_by < scan->numberOfOrderBys &&
		   (scan->orderByData[state->rank_by].sk_flags & SK_ISNULL) != 0)
		state->rank_by++;
	if (state->rank_by < scan->numberOfOrderBys)
		state->query.order = genie_scan_compile(scan, &scan->orderByData[state->rank_by]);
	MemoryContextSwitchTo(old);
}

/* Opens all streams.  False: stale. */
static bool
genie_scan_open_streams(IndexScanDesc scan, const GenieMetaData *meta)
{
	GenieScanState *state = scan->opaque;
	GenieConflicts conflicts = {.scan = scan};

	state->memory = work_mem * (Size) 1024;
	state->streams = palloc0(sizeof(GenieStream) * (meta->n_segments + 1));
	state->n_streams = 0;
	if (!genie_pending_stream_open(&state->pending, scan->indexRelation, meta, &state->query,
								   &state->position, &conflicts))
		return false;
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSegment *segment = genie_segment_open(scan->indexRelation, &meta->segments[i]);
		GenieSource *source;

		if (segment == NULL)
			return false;
		source = genie_source_open(scan->indexRelation, meta, segment, &state->memory);
		if (source == NULL)
			return false;
		if (state->query.order != NULL &&
			!genie_conflicts_find(&conflicts, segment, state->query.order))
			return false;
		for (int j = 0; j < state->query.n_conditions; j++)
			if (!genie_conflicts_find(&conflicts, segment, state->query.conditions[j]))
				return false;
		if (!genie_stream_open(&state->streams[state->n_streams], source, &state->query, &state->position))
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
		meta = genie_meta_read(scan->indexRelation);
		if (state->started && meta->segment_version == state->segment_version)
			genie_report_corrupt(scan->indexRelation, GENIE_META_BLOCK,
								 "a page that it lists belongs to somebody else");
		state->segment_version = meta->segment_version;
		state->started = true;
		ok = genie_scan_open_streams(scan, meta);
	}
	MemoryContextSwitchTo(old);
}

/*
 * The next row: its count (GENIE_COUNT_NULL for a NULL row) and TID.  False: there is none.
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
				(best == NULL || stream->count > best->count ||
				 (stream->count == best->count && stream->tid < best->tid)))
				best = stream;
		}
		if (pending != NULL &&
			(best == NULL || pending->count > best->count ||
			 (pending->count == best->count && pending->tid < best->tid)))
		{
			state->position.count = pending->count;
			state->position.tid = pending->tid;
			state->position.has_position = true;
			genie_pending_stream_next(&state->pending);
			return true;
		}
		if (best == NULL)
			return false;
		if (best->exact)
		{
			state->position.count = best->count;
			state->position.tid = best->tid;
			state->position.has_position = true;
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

bool
genie_gettuple(IndexScanDesc scan, ScanDirection direction)
{
	GenieScanState *state = scan->opaque;

	Assert(ScanDirectionIsForward(direction));
	if (!genie_scan_next(scan))
		return false;
	genie_tid_from_number(state->position.tid, &scan->xs_heaptid);
	scan->xs_recheck = state->recheck;
	scan->xs_recheckorderby = scan->numberOfOrderBys > state->rank_by + 1;
	for (int i = 0; i < scan->numberOfOrderBys; i++)
	{
		scan->xs_orderbynulls[i] = state->position.count == GENIE_COUNT_NULL ||
			(scan->orderByData[i].sk_flags & SK_ISNULL) != 0;
		scan->xs_orderbyvals[i] = Int32GetDatum(i == state->rank_by ? -state->position.count :
												-GENIE_OBJECT_KEYWORDS_MAX);
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

	MemoryContextDelete(state->stream_context);
	MemoryContextDelete(state->query_context);
	pfree(state);
}

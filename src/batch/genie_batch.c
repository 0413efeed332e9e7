/*
 * genie_batch.c
 *	  Many queries in one call (genie_batch.h): pieces, segments, rounds.
 *
 * Pieces.  Queries are taken a piece at a time, as many as bounded memory allows.  The rows that a piece found go into
 * a tuplestore, which spills to disk, before the next piece begins.
 *
 * A piece
 *	1. The metapage is read.  Segments are opened if they are not open, or if the metapage lists others now
 *	   (genie_batch_refresh).
 *	2. Its queries are compiled against all segments together (genie_query_set.h).
 *	3. The kind of search (GenieBatchOps) prepares, and looks for conflicts between queries and rows.
 *	4. Rounds (genie_round.h).  The first asks for as many rows of each query as are wanted.  The next ones ask only for
 *	   queries that have fewer visible rows, behind what they took.  The second round asks for GENIE_ASK_GROWTH times
 *	   as many as a query still lacks, because mostly few rows are dead; each further round for that many times more.
 *	5. The kind of search puts out each query's rows.
 *
 * When segments are opened, pending rows become a segment of this backend's own (genie_compact_private).  Counting them
 * then costs what they match, not their number times the number of queries.  Pending vectors are raw, and the kind of
 * search measures them.  An approximate index that has not learned yet has only raw pending rows: its queries find no
 * row in rounds.
 *
 * Where rows are ranked by values, queries have no keywords, so there are no rounds (genie_batch_exact.c).  Nor are
 * there where each query is an index scan (genie_batch_scans.c).
 *
 * Segments stay open from piece to piece as long as the metapage lists the same ones under the same tombstone version.
 * Rows that were added to the pending list meanwhile are invisible: the snapshot is older than they are.  Where a
 * segment turns out to be stale, the piece begins again from a fresh metapage; none of its rows has been put out.
 *
 * Nor where rows are only counted (genie_batch_count.c).
 *
 * Not here: what the rows are ranked by (genie_batch_match.c, genie_batch_nearest.c), what is counted where
 * (genie_segment_query.h), visibility (genie_visit.c).
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "genie_access.h"
#include "genie_approximate.h"
#include "genie_batch.h"
#include "genie_compat.h"
#include "genie_conflict.h"
#include "genie_fault.h"
#include "genie_learned.h"
#include "genie_lsh_block.h"
#include "genie_lsh_class.h"
#include "genie_opclass.h"
#include "genie_query.h"
#include "genie_scan.h"
#include "genie_scan_query.h"
#include "genie_spilled_segment.h"
#include "genie_type_state.h"

/*
 * Bounds of a piece, beside GENIE_PIECE_QUERIES.  A hit takes about 40 bytes in a round.  An interval takes 20 bytes,
 * or 150 if no other query has it.  So hits take 40 MB and intervals 20 MB at most.
 */
#define GENIE_PIECE_HITS (1024 * 1024)	/* queries * k * segments */
#define GENIE_PIECE_INTERVALS (256 * 1024)
#define GENIE_PIECE_BYTES ((Size) 16 << 20) /* of vectors that are hashed together, and their codes */

#define GENIE_ASK_GROWTH 8		/* times as many rows as are missing, then as in the round before */
#define GENIE_ASK_MIN 64		/* in any but the first */

/* ---- index scans ---- */

IndexScanDesc
genie_batch_begin_scan(const GenieBatch *batch)
{
	IndexScanDesc scan = index_beginscan(batch->heap, batch->index, batch->round.visitor.snapshot, NULL, 0, 1);

	genie_scan_is_part(scan, &batch->instrument);
	return scan;
}

/* The ORDER BY operator with a query on its right. */
static ScanKeyData
genie_batch_key(const GenieBatch *batch, Datum query)
{
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, SK_ORDER_BY, 1, batch->strategy, batch->query_type,
						   batch->index->rd_indcollation[0], batch->order_proc, query);
	return key;
}

void
genie_batch_rescan(const GenieBatch *batch, IndexScanDesc scan, Datum query)
{
	ScanKeyData key = genie_batch_key(batch, query);

	index_rescan(scan, NULL, 0, &key, 1);
}

bool
genie_batch_scan_next(const GenieBatch *batch, IndexScanDesc scan, uint64 *tid, uint64 *live)
{
	ItemPointer found;

	while ((found = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		*tid = genie_tid_number(found);
		if (index_fetch_heap(scan, batch->round.visitor.slot))
		{
			*live = genie_tid_number(&batch->round.visitor.slot->tts_tid);
			return true;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

IndexScanDesc
genie_batch_own_scan(GenieBatch *batch, Datum query)
{
	if (batch->own_scan == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->call_context);

		batch->own_scan = genie_batch_begin_scan(batch);
		MemoryContextSwitchTo(old);
	}
	genie_batch_rescan(batch, batch->own_scan, query);
	return batch->own_scan;
}

/* ---- segments ---- */

static void
genie_batch_close_segments(GenieBatch *batch)
{
	if (batch->pending != NULL)
		genie_spilled_segment_close(batch->pending);
	batch->pending = NULL;
	batch->is_open = false;
	MemoryContextReset(batch->segments_context);
}

/* Opens what meta lists.  False: stale. */
static bool
genie_batch_open_segments(GenieBatch *batch, const GenieMetaData *meta)
{
	batch->segment_version = meta->segment_version;
	batch->tombstone_version = meta->tombstone_version;
	batch->types = meta->types;
	batch->memory = work_mem * (Size) 1024;
	batch->sources = palloc((meta->n_segments + 1) * sizeof(GenieSource *));
	batch->n_sources = meta->n_segments;
	batch->instrument.record->n_segments = meta->n_segments;
	if (!genie_source_open_all(batch->index, meta, &batch->memory, batch->n_queries - batch->n_taken,
							   &batch->instrument, batch->sources))
		return false;
	batch->parameters = genie_learned_parameters(batch->index, meta);
	batch->meta = memcpy(palloc(sizeof(GenieMetaData)), meta, sizeof(GenieMetaData));
	if (batch->exact || batch->vectors != NULL ||
		(batch->signer != NULL && !batch->signer->is_coarse && batch->parameters == NULL))
		return true;
	if (!genie_compact_private(batch->index, meta, batch->signer, &batch->pending))
		return false;
	if (batch->pending != NULL)
	{
		GenieSource *source = genie_source_of_pages(batch->pending, &batch->memory);

		source->is_private = true;
		source->instrument = &batch->instrument;
		batch->instrument.record->n_pending = batch->pending->header.n_objects;
		batch->sources[batch->n_sources++] = source;
	}
	return true;
}

/* The worker may be back, or an image loaded, since the last piece.  False: stale. */
static bool
genie_batch_find_images(GenieBatch *batch, const GenieMetaData *meta)
{
	for (uint32 s = 0; s < batch->n_sources; s++)
		if (!batch->sources[s]->is_private && batch->sources[s]->why != GENIE_FALLBACK_NONE &&
			!genie_source_find_image(batch->sources[s], batch->index, meta))
			return false;
	return true;
}

/* Makes the open segments those that the metapage lists now.  stale: what is open cannot be read. */
static void
genie_batch_refresh(GenieBatch *batch, bool stale)
{
	MemoryContext old = MemoryContextSwitchTo(batch->piece_context);

	for (;;)
	{
		GenieMetaData *meta = genie_meta_read_again(batch->index, stale, batch->segment_version);
		bool		same = meta->segment_version == batch->segment_version;

		if (batch->is_open && same && meta->tombstone_version == batch->tombstone_version)
		{
			stale = !genie_batch_find_images(batch, meta);
			if (!stale)
				break;
			continue;
		}
		CHECK_FOR_INTERRUPTS();
		genie_batch_close_segments(batch);
		MemoryContextSwitchTo(batch->segments_context);
		batch->is_open = genie_batch_open_segments(batch, meta);
		MemoryContextSwitchTo(batch->piece_context);
		stale = !batch->is_open;
		if (batch->is_open)
			break;
	}
	MemoryContextSwitchTo(old);
}

/* ---- a piece ---- */

/* Adds a compiled query's keywords to the piece's set. */
static void
genie_batch_add_compiled(const GenieBatch *batch, const GenieQuery *compiled)
{
	genie_query_set_add(batch->set, compiled->body, VARSIZE(compiled) - offsetof(GenieQuery, body), compiled->n);
}

/* Adds a query's keywords. */
static void
genie_batch_compile(const GenieBatch *batch, Datum query)
{
	ScanKeyData key = genie_batch_key(batch, query);
	MemoryContext old = MemoryContextSwitchTo(batch->query_context);
	const GenieQuery *compiled;

	compiled = genie_scan_compile(batch->index, &key, batch->parameters);
	if (batch->ops->compiled != NULL)
		batch->ops->compiled(batch->owner, genie_query_set_size(batch->set) / genie_batch_each(batch), compiled);
	genie_batch_add_compiled(batch, compiled);
	if (genie_batch_each(batch) > 1)
	{
		key.sk_strategy = GENIE_INNER_QUERY;
		genie_batch_add_compiled(batch, genie_scan_compile(batch->index, &key, batch->parameters));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(batch->query_context);
}

static Datum
genie_batch_next_query(GenieBatch *batch)
{
	Datum		next = batch->ops->next(batch->owner);

	CHECK_FOR_INTERRUPTS();
	batch->n_taken++;
	batch->queries[batch->n++] = next;
	return next;
}

/* Takes up to `most` queries that are vectors, as many as fit the piece, but at least one, and hashes them together. */
static void
genie_batch_take_vectors(GenieBatch *batch, uint32 most)
{
	MemoryContext old = MemoryContextSwitchTo(batch->query_context);
	uint32		each = genie_lsh_class_parameters(batch->parameters).functions.n_functions;
	uint32		room = GENIE_PIECE_INTERVALS - genie_query_set_intervals(batch->set);
	GenieLshBlock *block = genie_lsh_block_begin(batch->index, batch->parameters, (GenieValueShape) {0},
												 Min(most, (room + each - 1) / each), GENIE_PIECE_BYTES);
	uint32		n = genie_lsh_block_room(block);

	MemoryContextSwitchTo(old);
	for (uint32 i = 0; i < n; i++)
		genie_lsh_block_add(block, genie_batch_next_query(batch));
	MemoryContextSwitchTo(batch->query_context);
	genie_lsh_block_hash(block);
	for (uint32 i = 0; i < n; i++)
	{
		GenieQuery *compiled = genie_lsh_block_query(block, i);

		CHECK_FOR_INTERRUPTS();
		genie_batch_add_compiled(batch, compiled);
		pfree(compiled);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(batch->query_context);
}

/* Takes queries, at least one, as many as a piece may have. */
static void
genie_batch_take_queries(GenieBatch *batch)
{
	uint64		hits = (uint64) Min(Max(batch->want, batch->n_hits), GENIE_JOB_K_MAX) * Max(batch->n_sources, 1);
	uint32		most = (uint32) Min(Max(GENIE_PIECE_HITS / hits, 1), GENIE_PIECE_QUERIES);
	bool		together = !batch->exact && genie_lsh_block_possible(batch->index, batch->parameters);

	most = Min(most, batch->n_queries - batch->n_taken);
	batch->queries = palloc(most * sizeof(Datum));
	batch->set = genie_query_set_begin();
	batch->n = 0;
	while (batch->n < most && genie_query_set_intervals(batch->set) < GENIE_PIECE_INTERVALS)
	{
		if (batch->exact)
			genie_batch_next_query(batch);
		else if (together)
			genie_batch_take_vectors(batch, most - batch->n);
		else
			genie_batch_compile(batch, genie_batch_next_query(batch));
	}
	genie_query_set_end(batch->set);
	batch->trainings = batch->meta->trainings;
	genie_type_state_check(batch->index, &batch->types);
}

/* If the index has learned since, compiles the piece's queries by its new parameters. */
static void
genie_batch_compile_again(GenieBatch *batch)
{
	if (batch->trainings == batch->meta->trainings)
		return;
	batch->set = genie_query_set_begin();
	for (uint32 i = 0; i < batch->n; i++)
		genie_batch_compile(batch, batch->queries[i]);
	genie_query_set_end(batch->set);
	batch->trainings = batch->meta->trainings;
}

bool
genie_batch_find_conflicts(const GenieBatch *batch, IndexScanDesc scan)
{
	GenieConflicts conflicts = {.scan = scan};
	uint32		n_aspects;
	const GenieQueryView **aspects = genie_query_set_aspects(batch->set, &n_aspects);

	for (uint32 s = 0; s < batch->n_sources; s++)
		for (uint32 i = 0; i < n_aspects; i++)
			if (!genie_conflicts_find(&conflicts, batch->sources[s]->segment, aspects[i]))
				return false;
	genie_conflicts_report(&conflicts);
	return true;
}

/*
 * Rounds, until each query has the rows that it wants, or nothing that matches is left, or is to be a scan of its own.
 * False: stale.
 */
static bool
genie_batch_run_rounds(GenieBatch *batch)
{
	GenieRoundQuery **active = palloc(batch->n * sizeof(GenieRoundQuery *));
	uint32		n_active = 0;
	uint64		ask = batch->round.k;
	bool		is_first = true;

	for (uint32 i = 0; i < batch->n; i++)
		active[n_active++] = &batch->states[i];
	while (n_active > 0)
	{
		uint32		n_chunk = (uint32) Max(GENIE_PIECE_HITS / (ask * Max(batch->n_sources, 1)), 1);
		uint32		n_left = 0;
		uint64		missing = 0;

		for (uint32 first = 0; first < n_active; first += n_chunk)
			if (!genie_round_run(&batch->round, active + first, Min(n_chunk, n_active - first), (uint32) ask))
				return false;
		for (uint32 i = 0; i < n_active; i++)
			if (active[i]->n_found < batch->want && !active[i]->at_end)
			{
				missing = Max(missing, batch->want - active[i]->n_found);
				active[n_left++] = active[i];
			}
		n_active = ask < GENIE_JOB_K_MAX ? n_left : 0;
		ask = (is_first ? missing : ask) * GENIE_ASK_GROWTH;
		ask = Min(Max(ask, GENIE_ASK_MIN), GENIE_JOB_K_MAX);
		is_first = false;
	}
	pfree(active);
	return true;
}

/* Everything but the output.  False: stale. */
static bool
genie_batch_run_piece(GenieBatch *batch)
{
	GenieRound *round = &batch->round;

	batch->states = palloc0(batch->n * sizeof(GenieRoundQuery));
	batch->by_graph = false;
	round->tombstone_version = batch->tombstone_version;
	round->n_sources = batch->n_sources;
	round->sources = batch->sources;
	round->searches = palloc((batch->n_sources + 1) * sizeof(GenieSegmentQuery **));
	if (!batch->ops->begin(batch->owner))
		return false;
	if (batch->exact || batch->by_graph)
		return batch->ops->finish(batch->owner);
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		round->searches[s] = palloc(batch->n * genie_batch_each(batch) * sizeof(GenieSegmentQuery *));
		if (!genie_segment_query_open_set(batch->sources[s], batch->set, round->searches[s]))
			return false;
	}
	if (batch->ops->run != NULL)
		return batch->ops->run(batch->owner);
	for (uint32 i = 0; i < batch->n; i++)
		genie_round_query(round, i, &batch->states[i]);
	if (batch->want > GENIE_JOB_K_MAX || genie_batch_is_coarse(batch))
		return true;			/* all are scans */
	return genie_batch_run_rounds(batch) && (batch->ops->finish == NULL || batch->ops->finish(batch->owner));
}

static void
genie_batch_put_piece(GenieBatch *batch)
{
	for (uint32 i = 0; i < batch->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pgstat_count_index_scan(batch->index);
		batch->ops->put(batch->owner, i);
	}
}

/* ---- a call ---- */

static void
genie_batch_report(GenieBatch *batch, GenieBatchProgress more)
{
	genie_stat_batch(&more);
	batch->progress.n_searches += more.n_searches;
	batch->progress.n_queries += more.n_queries;
	batch->progress.n_done += more.n_done;
}

/* Takes back what was reported: it is done, or given up. */
static void
genie_batch_end_report(GenieBatch *batch)
{
	GenieBatchProgress less = {-batch->progress.n_searches, -batch->progress.n_queries, -batch->progress.n_done};

	genie_batch_report(batch, less);
}

static void
genie_batch_run_pieces(GenieBatch *batch)
{
	genie_batch_report(batch, (GenieBatchProgress) {1, batch->n_queries, 0});
	while (batch->n_taken < batch->n_queries)
	{
		bool		done = false;
		MemoryContext old;

		genie_batch_refresh(batch, false);
		old = MemoryContextSwitchTo(batch->piece_context);
		genie_batch_take_queries(batch);
		GENIE_FAULT("batch-opened");
		while (!done)
		{
			MemoryContextSwitchTo(batch->attempt_context);
			done = genie_batch_run_piece(batch);
			if (done)
				genie_batch_put_piece(batch);
			MemoryContextSwitchTo(batch->piece_context);
			MemoryContextReset(batch->attempt_context);
			if (!done)
			{
				genie_batch_refresh(batch, true);
				genie_batch_compile_again(batch);
			}
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(batch->piece_context);
		genie_batch_report(batch, (GenieBatchProgress) {0, 0, batch->n});
	}
}

void
genie_batch_run(GenieBatch *batch)
{
	PG_TRY();
	{
		genie_batch_run_pieces(batch);
	}
	PG_CATCH();
	{
		/* a request's results may be there, and after a rollback to a savepoint our memory may live on for long */
		MemoryContextReset(batch->round.context);
		genie_batch_end_report(batch);
		PG_RE_THROW();
	}
	PG_END_TRY();
	genie_batch_end_report(batch);
}

void
genie_batch_begin(GenieBatch *batch)
{
	GenieRound *round = &batch->round;

	batch->call_context = CurrentMemoryContext;
	if (!IsMVCCSnapshot(GetActiveSnapshot()))
		elog(ERROR, "genie indexes can be searched only under an MVCC snapshot");
	batch->signer = genie_approximate_signer(batch->index);
	batch->vectors = genie_vector_type_of_class(batch->index);
	genie_instrument_begin(&batch->instrument, RelationGetRelid(batch->index), batch->kind);
	batch->instrument.record->n_scans++;
	genie_visitor_begin(&round->visitor, batch->heap, batch->index, GetActiveSnapshot());
	round->visitor.instrument = &batch->instrument;
	round->k = Min(batch->want, GENIE_JOB_K_MAX);
	batch->segments_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch segments",
													ALLOCSET_DEFAULT_SIZES);
	batch->piece_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch piece", ALLOCSET_DEFAULT_SIZES);
	batch->query_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch query", ALLOCSET_DEFAULT_SIZES);
	batch->attempt_context = AllocSetContextCreate(CurrentMemoryContext, "genie batch attempt", ALLOCSET_DEFAULT_SIZES);
	round->context = AllocSetContextCreate(CurrentMemoryContext, "genie batch round", ALLOCSET_DEFAULT_SIZES);
}

void
genie_batch_end(GenieBatch *batch)
{
	genie_batch_close_segments(batch);
	if (batch->own_scan != NULL)
		index_endscan(batch->own_scan);
	genie_visitor_end(&batch->round.visitor);
}

/* ---- arguments and result ---- */

RegProcedure
genie_batch_operator_proc(const GenieBatch *batch, const char *name)
{
	Oid			operator = genie_is_approximate(batch->index) ? InvalidOid :
		get_opfamily_member(batch->index->rd_opfamily[0], batch->index->rd_opcintype[0], batch->query_type,
						batch->strategy);

	if (!OidIsValid(operator))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" does not take queries of type genie_query",
						RelationGetRelationName(batch->index)),
				 errdetail("Its operator class has no operator %s with a genie_query on the right.", name)));
	return get_opcode(operator);
}

void
genie_batch_read_elements(ArrayType *array, GenieArrayCursor *cursor)
{
	GenieValueType type = {0};

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the array of queries must have one dimension")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the array of queries must not contain nulls")));
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &type.typlen, &type.typbyval, &type.typalign);
	genie_array_begin(cursor, array, &type);
}

uint32
genie_batch_k(int32 k)
{
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1")));
	return (uint32) k;
}

Datum
genie_batch_call(FunctionCallInfo fcinfo, GenieBatchSearch search, const char *instead)
{
	GenieBatchOutput output;
	Relation	heap;
	Relation	index;

	genie_access_open(PG_GETARG_OID(0), instead, &heap, &index);
	genie_batch_begin_output(&output, fcinfo);
	search(fcinfo, heap, index, &output);
	genie_access_close(heap, index);
	genie_batch_end_output(&output);
	return (Datum) 0;
}

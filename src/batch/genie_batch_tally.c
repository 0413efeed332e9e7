/*
 * genie_batch_tally.c
 *	  genie_counts(): how many rows fulfil x @& query for each of many queries, by one index, in one call.
 *
 * The answer is count(*)'s under the caller's snapshot, of the rows that the index has, but most rows are not looked
 * at.  Engines count objects of segments (GENIE_JOB_TALLY).  The snapshot sees a row that is *sure*: its page was
 * all-visible after the index gave the row, and no VACUUM came between (genie_all_visible.c says why that is enough,
 * and that a row stays sure).  The others are *unsure*.
 *
 * A piece
 *	1. Its queries are compiled against all segments, pending rows included, as of one metapage (genie_batch.c).
 *	2. The unsure objects of each segment are marked.  On a standby, in a serializable transaction and in a table that
 *	   is not a heap all are.
 *	3. Tiles without unsure objects are tallied.  Of the others engines tell which objects match (GENIE_JOB_MASK): a
 *	   match counts if it is sure, or if its row is found visible.  A row is looked up once a piece, for all its
 *	   queries.  Queries are taken some at a time, so that their masks are bounded.
 *
 * If the caller does not want it exact, no row is looked up.  Then lower is the sure matches, upper adds the unsure
 * ones, and the estimate takes the share of these that the table's statistics say are live.
 *
 * Two kinds of queries need no engine.  Where min_match is 0, all objects that are not NULL match.  A query with a
 * threshold is an index scan whose rows the operator judges.
 *
 * A query that asks a dimension for another type than a visible row has there raises the operator's error, as a scan
 * does.
 */
#include "postgres.h"

#include <math.h>

#include "access/relscan.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "genie_access.h"
#include "genie_all_visible.h"
#include "genie_approximate.h"
#include "genie_batch.h"
#include "genie_fault.h"
#include "genie_live.h"
#include "genie_object_table.h"
#include "genie_opclass.h"
#include "genie_row.h"
#include "genie_scan.h"

#define GENIE_TALLY_MASK_BYTES ((Size) 32 << 20)	/* of queries that are taken at a time, unless it is one */
#define GENIE_TALLY_VISITS 16384	/* rows that are looked up at a time */

/* where tiles without and with unsure objects take turns more often, all of them are asked for masks */
#define GENIE_TALLY_RUNS_MAX 8

PG_FUNCTION_INFO_V1(genie_counts);

/* Consecutive tiles of a segment that all have unsure objects, or none of which has. */
typedef struct GenieTallyRun
{
	uint32		first_tile;
	uint32		n_tiles;
	bool		is_unsure;
} GenieTallyRun;

/* What is known of a segment's objects. */
typedef struct GenieTallySource
{
	uint64	   *unsure;			/* bits of whole tiles, as all below; NULL: none is */
	uint64	   *matching;		/* unsure ones that some query of those taken together matches */
	uint64	   *visited;		/* of these and earlier ones: looked up */
	uint64	   *visible;
	uint32		n_runs;
	GenieTallyRun runs[GENIE_TALLY_RUNS_MAX];
} GenieTallySource;

/* A query of the piece. */
typedef struct GenieTallyQuery
{
	uint32		min_match;
	bool		has_threshold;
	uint64		n_sure;
	uint64		n_unsure;		/* that match, visible or not */
	uint64		n_visible;		/* of these, if they were looked up */
} GenieTallyQuery;

typedef struct GenieTallySearch
{
	GenieBatch	batch;
	bool		exact;
	GenieArrayCursor cursor;
	ReturnSetInfo *result;
	uint32		n_output;		/* queries */
	IndexScanDesc conflicts;	/* in whose name conflicts are looked for */
	GenieTallyQuery queries[GENIE_PIECE_QUERIES];

	/* an attempt at a piece */
	GenieTallySource *sources;
	uint32		n_together;		/* queries taken at a time */
} GenieTallySearch;

/* Some tiles of a segment for one query. */
typedef struct GenieTallyPart
{
	GenieTallyQuery *query;
	const GenieTallySource *source;
	uint32		first_tile;
	uint32		n_tiles;
	const uint64 *mask;			/* its objects that match; NULL: the segment tells only how many there are */
} GenieTallyPart;

/* The function of the operator x @& genie_query. */
static RegProcedure
genie_tally_match_proc(Relation index, Oid query_type)
{
	Oid			operator = genie_is_approximate(index) ? InvalidOid :
		get_opfamily_member(index->rd_opfamily[0], index->rd_opcintype[0], query_type, GENIE_MATCH_STRATEGY);

	if (!OidIsValid(operator))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" does not take conditions of type genie_query", RelationGetRelationName(index)),
				 errdetail("Its operator class has no operator @& with a genie_query on the right."),
				 errhint("Use SELECT count(*) ... WHERE ..., with an operator of the class.")));
	return get_opcode(operator);
}

static uint64 *
genie_tally_bits(const GenieSegment *segment)
{
	return MemoryContextAllocExtended(CurrentMemoryContext, genie_live_words(segment) * sizeof(uint64),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* ---- sure and unsure objects ---- */

static bool
genie_tally_any(const uint64 *bits, uint32 tile)
{
	for (uint32 w = 0; w < GENIE_TILE_WORDS; w++)
		if (bits[(Size) tile * GENIE_TILE_WORDS + w] != 0)
			return true;
	return false;
}

/* Divides the segment's tiles into runs. */
static void
genie_tally_divide(GenieTallySource *source, uint32 n_tiles)
{
	source->n_runs = 0;
	for (uint32 tile = 0; tile < n_tiles; tile++)
	{
		bool		is_unsure = source->unsure != NULL && genie_tally_any(source->unsure, tile);

		if (source->n_runs > 0 && source->runs[source->n_runs - 1].is_unsure == is_unsure)
			source->runs[source->n_runs - 1].n_tiles++;
		else if (source->n_runs < GENIE_TALLY_RUNS_MAX)
			source->runs[source->n_runs++] = (GenieTallyRun) {tile, 1, is_unsure};
		else
		{
			source->runs[0] = (GenieTallyRun) {0, n_tiles, true};
			source->n_runs = 1;
			break;
		}
	}
}

/* Marks the unsure objects of all segments.  False: stale. */
static bool
genie_tally_mark(GenieTallySearch *search)
{
	GenieBatch *batch = &search->batch;
	BlockNumber *pages;
	uint32		n_pages;
	bool		some_sure = genie_all_visible_unsure_pages(&batch->round.visitor, batch->tombstone_version, &pages,
														   &n_pages);
	Size		mask_bytes = 0;

	search->sources = palloc0(batch->n_sources * sizeof(GenieTallySource));
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		GenieTallySource *source = &search->sources[s];
		GenieSegment *segment = batch->sources[s]->segment;
		GenieObjectReader reader;

		if (!some_sure || n_pages > 0)
		{
			source->unsure = genie_tally_bits(segment);
			source->matching = genie_tally_bits(segment);
			source->visited = genie_tally_bits(segment);
			source->visible = genie_tally_bits(segment);
		}
		if (!some_sure)
			memset(source->unsure, 0xFF, genie_live_words(segment) * sizeof(uint64));
		else if (n_pages > 0)
		{
			genie_object_table_reader(&reader, segment, false);
			if (!genie_object_table_mark_pages(&reader, pages, n_pages, source->unsure))
				return false;
		}
		genie_tally_divide(source, genie_object_table_tiles(segment));
		for (uint32 r = 0; r < source->n_runs; r++)
			if (source->runs[r].is_unsure)
				mask_bytes += (Size) source->runs[r].n_tiles * GENIE_TILE_BITMAP_BYTES;
	}
	search->n_together = mask_bytes == 0 ? GENIE_PIECE_QUERIES :
		(uint32) Min(Max(GENIE_TALLY_MASK_BYTES / mask_bytes, 1), GENIE_PIECE_QUERIES);
	return true;
}

/* ---- rows ---- */

/* Looks up some matching objects, in ascending order, all of one segment.  False: stale. */
static bool
genie_tally_visit_some(GenieTallySearch *search, uint32 s, const uint32 *objects, uint32 n)
{
	GenieBatch *batch = &search->batch;
	GenieTallySource *source = &search->sources[s];
	uint64	   *tids = palloc(n * sizeof(uint64));
	GenieVisitRow *rows = palloc(n * sizeof(GenieVisitRow));
	GenieVisitRow **pointers = palloc(n * sizeof(GenieVisitRow *));
	GenieObjectReader reader;

	genie_object_table_reader(&reader, batch->sources[s]->segment, false);
	if (!genie_object_table_tids(&reader, objects, n, tids))
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		rows[i].tid = tids[i];
		rows[i].live = 0;
		pointers[i] = &rows[i];
	}
	genie_visit(&batch->round.visitor, pointers, n);
	for (uint32 i = 0; i < n; i++)
		if (rows[i].live != 0)
			source->visible[objects[i] / 64] |= UINT64CONST(1) << (objects[i] % 64);
	pfree(pointers);
	pfree(rows);
	pfree(tids);
	return true;
}

/* Looks up the rows of matching objects that were not looked up yet.  False: stale. */
static bool
genie_tally_visit(GenieTallySearch *search, uint32 s)
{
	GenieTallySource *source = &search->sources[s];
	Size		n_words = source->unsure == NULL ? 0 : genie_live_words(search->batch.sources[s]->segment);
	uint32	   *objects = palloc(GENIE_TALLY_VISITS * sizeof(uint32));
	uint32		n = 0;
	bool		ok = true;

	for (Size w = 0; ok && w < n_words; w++)
	{
		uint64		left = source->matching[w] & ~source->visited[w];

		source->visited[w] |= left;
		source->matching[w] = 0;
		for (; ok && left != 0; left &= left - 1)
		{
			objects[n++] = (uint32) (w * 64 + pg_rightmost_one_pos64(left));
			if (n == GENIE_TALLY_VISITS)
			{
				ok = genie_tally_visit_some(search, s, objects, n);
				n = 0;
			}
		}
	}
	ok = ok && (n == 0 || genie_tally_visit_some(search, s, objects, n));
	pfree(objects);
	return ok;
}

/* ---- counting ---- */

/* Adds a part's sure objects, and notes the others. */
static void
genie_tally_add_mask(const GenieTallyPart *part)
{
	const GenieTallySource *source = part->source;
	Size		first = (Size) part->first_tile * GENIE_TILE_WORDS;

	for (Size w = 0; w < (Size) part->n_tiles * GENIE_TILE_WORDS; w++)
	{
		uint64		unsure = source->unsure == NULL ? 0 : part->mask[w] & source->unsure[first + w];

		part->query->n_sure += pg_popcount64(part->mask[w] & ~unsure);
		if (unsure == 0)
			continue;
		part->query->n_unsure += pg_popcount64(unsure);
		source->matching[first + w] |= unsure;
	}
}

/* Adds a part's unsure objects that are visible. */
static void
genie_tally_add_visible(const GenieTallyPart *part)
{
	const GenieTallySource *source = part->source;
	Size		first = (Size) part->first_tile * GENIE_TILE_WORDS;

	for (Size w = 0; w < (Size) part->n_tiles * GENIE_TILE_WORDS && source->unsure != NULL; w++)
		part->query->n_visible += pg_popcount64(part->mask[w] & source->unsure[first + w] & source->visible[first + w]);
}

/* All live objects of a segment that are not NULL.  False: stale. */
static bool
genie_tally_live(const GenieSource *source, uint64 **live)
{
	*live = genie_tally_bits(source->segment);
	return genie_live_read(source->segment, source->segment->entry.n_dead, source->hint_version > 0, *live, NULL);
}

/* Does every object match that is not NULL? */
static bool
genie_tally_matches_all(const GenieTallyQuery *query)
{
	return query->min_match == 0 && !query->has_threshold;
}

/* Can an object of the segment match, and an engine tell? */
static bool
genie_tally_is_asked(const GenieTallyQuery *query, const GenieSegmentQuery *on_segment)
{
	return !query->has_threshold && query->min_match > 0 && genie_segment_query_matches(on_segment) &&
		query->min_match <= genie_segment_query_max_count(on_segment);
}

/* The parts of some queries: first those that segments are asked for, with a tally each, then others. */
typedef struct GenieTallyParts
{
	uint32		n_asked;
	GenieSegmentTally *tallies;
	uint32		n;
	GenieTallyPart *parts;
} GenieTallyParts;

/* Adds the runs of a segment that a query asks for, each of which gets a mask if it needs one. */
static void
genie_tally_ask(GenieTallyParts *parts, const GenieTallySource *source, GenieTallyQuery *query,
				GenieSegmentQuery *on_segment)
{
	for (uint32 r = 0; r < source->n_runs; r++)
	{
		const GenieTallyRun *run = &source->runs[r];
		uint64	   *mask = !run->is_unsure ? NULL :
			palloc_extended((Size) run->n_tiles * GENIE_TILE_BITMAP_BYTES, MCXT_ALLOC_HUGE);

		parts->tallies[parts->n_asked++] = (GenieSegmentTally) {.query = on_segment, .min_count = query->min_match,
			.first_tile = run->first_tile, .n_tiles = run->n_tiles, .mask = mask};
		parts->parts[parts->n++] = (GenieTallyPart) {query, source, run->first_tile, run->n_tiles, mask};
	}
}

/* The parts of queries from first to end - 1; live: of each segment, if a query matches all. */
static void
genie_tally_divide_queries(GenieTallySearch *search, uint32 first, uint32 end, uint64 *const *live,
						   GenieTallyParts *parts)
{
	GenieBatch *batch = &search->batch;
	Size		most = 0;

	for (uint32 s = 0; s < batch->n_sources; s++)
		most += (Size) search->sources[s].n_runs * (end - first);
	parts->tallies = palloc_extended(most * sizeof(GenieSegmentTally), MCXT_ALLOC_HUGE);
	parts->parts = palloc_extended(most * sizeof(GenieTallyPart), MCXT_ALLOC_HUGE);
	parts->n_asked = parts->n = 0;
	for (uint32 s = 0; s < batch->n_sources; s++)
		for (uint32 i = first; i < end; i++)
			if (genie_tally_is_asked(&search->queries[i], batch->round.searches[s][i]))
				genie_tally_ask(parts, &search->sources[s], &search->queries[i], batch->round.searches[s][i]);
	for (uint32 s = 0; s < batch->n_sources; s++)
		for (uint32 i = first; i < end; i++)
			if (genie_tally_matches_all(&search->queries[i]) && search->sources[s].n_runs > 0)
				parts->parts[parts->n++] = (GenieTallyPart) {&search->queries[i], &search->sources[s], 0,
					genie_object_table_tiles(batch->sources[s]->segment), live[s]};
}

/* Takes queries from first to end - 1.  False: stale. */
static bool
genie_tally_take(GenieTallySearch *search, uint32 first, uint32 end, uint64 *const *live)
{
	GenieTallyParts parts;

	genie_tally_divide_queries(search, first, end, live, &parts);
	if (!genie_segment_query_tallies(parts.tallies, parts.n_asked))
		return false;
	for (uint32 i = 0; i < parts.n; i++)
		if (parts.parts[i].mask != NULL)
			genie_tally_add_mask(&parts.parts[i]);
		else
			parts.parts[i].query->n_sure += parts.tallies[i].n;
	if (!search->exact)
		return true;
	for (uint32 s = 0; s < search->batch.n_sources; s++)
		if (!genie_tally_visit(search, s))
			return false;
	for (uint32 i = 0; i < parts.n; i++)
		if (parts.parts[i].mask != NULL)
			genie_tally_add_visible(&parts.parts[i]);
	return true;
}

/* A piece's queries, without those that are index scans.  False: stale. */
static bool
genie_tally_run(void *owner)
{
	GenieTallySearch *search = owner;
	GenieBatch *batch = &search->batch;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie tallies", ALLOCSET_DEFAULT_SIZES);
	uint64	  **live = palloc0(batch->n_sources * sizeof(uint64 *));
	bool		wants_live = false;
	bool		ok = genie_tally_mark(search);

	GENIE_FAULT("count-marked");
	for (uint32 i = 0; i < batch->n; i++)
	{
		GenieTallyQuery *query = &search->queries[i];

		query->n_sure = query->n_unsure = query->n_visible = 0;
		wants_live |= genie_tally_matches_all(query);
	}
	for (uint32 s = 0; s < batch->n_sources && ok && wants_live; s++)
		ok = genie_tally_live(batch->sources[s], &live[s]);
	for (uint32 first = 0; first < batch->n && ok; first += search->n_together)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		ok = genie_tally_take(search, first, Min(first + search->n_together, batch->n), live);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	return ok;
}

/* How many visible rows fulfil a query with a threshold. */
static uint64
genie_tally_scan(GenieTallySearch *search, Datum query)
{
	GenieBatch *batch = &search->batch;
	TupleTableSlot *slot = batch->round.visitor.slot;
	IndexScanDesc scan = index_beginscan(batch->heap, batch->index, batch->round.visitor.snapshot, NULL, 1, 0);
	GenieRowValue row_value;
	ScanKeyData key;
	uint64		n = 0;

	genie_scan_is_part(scan, &batch->instrument);
	ScanKeyEntryInitialize(&key, 0, 1, batch->strategy, batch->query_type, batch->index->rd_indcollation[0],
						   batch->order_proc, query);
	genie_row_value_begin(&row_value, batch->index);
	index_rescan(scan, &key, 1, NULL, 0);
	while (index_getnext_tid(scan, ForwardScanDirection) != NULL)
	{
		bool		is_null = false;

		CHECK_FOR_INTERRUPTS();
		if (!index_fetch_heap(scan, slot))
			continue;
		if (scan->xs_recheck)
		{
			Datum		value = genie_row_value(&row_value, slot, &is_null);

			if (is_null || !DatumGetBool(genie_row_order(&key.sk_func, key.sk_collation, value, query, &is_null)))
				continue;
		}
		n++;
	}
	genie_row_value_end(&row_value);
	index_endscan(scan);
	return n;
}

/* ---- output ---- */

/* The share of the index's rows that the table's statistics say are live. */
static double
genie_tally_live_share(const GenieBatch *batch)
{
	double		n_live = batch->heap->rd_rel->reltuples;
	double		n = 0;

	for (uint32 s = 0; s < batch->n_sources; s++)
		n += (double) batch->sources[s]->segment->header.n_objects - batch->sources[s]->segment->entry.n_dead;
	return n_live < 0 || n_live >= n ? 1 : n_live / n;
}

static void
genie_tally_put(void *owner, uint32 i)
{
	GenieTallySearch *search = owner;
	const GenieTallyQuery *query = &search->queries[i];
	uint64		lower = query->n_sure + query->n_visible;
	uint64		upper = search->exact ? lower : lower + query->n_unsure;
	uint64		estimate = upper;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (query->has_threshold)
		lower = upper = estimate = genie_tally_scan(search, search->batch.queries[i]);
	else if (!search->exact)
		estimate = lower + (uint64) rint(query->n_unsure * genie_tally_live_share(&search->batch));
	values[0] = Int32GetDatum((int32) ++search->n_output);
	values[1] = Int64GetDatum((int64) lower);
	values[2] = Int64GetDatum((int64) upper);
	values[3] = Int64GetDatum((int64) estimate);
	tuplestore_putvalues(search->result->setResult, search->result->setDesc, values, nulls);
	search->batch.instrument.record->n_rows++;
	genie_instrument_candidates(&search->batch.instrument, query->n_sure + query->n_unsure);
}

/* ---- a call ---- */

static Datum
genie_tally_next(void *owner)
{
	GenieTallySearch *search = owner;
	Datum		query = (Datum) 0;

	genie_array_next(&search->cursor, &query);
	return query;
}

/* Query i of the piece is compiled. */
static void
genie_tally_compiled(void *owner, uint32 i, const GenieQuery *compiled)
{
	GenieTallySearch *search = owner;

	search->queries[i].min_match = (uint32) compiled->min_match;
	search->queries[i].has_threshold = compiled->distance_strategy != 0;
}

static bool
genie_tally_begin(void *owner)
{
	GenieTallySearch *search = owner;

	return genie_batch_find_conflicts(&search->batch, search->conflicts);
}

static const GenieBatchOps genie_tally_ops = {.next = genie_tally_next, .compiled = genie_tally_compiled,
	.begin = genie_tally_begin, .run = genie_tally_run, .put = genie_tally_put};

/*
 * genie_counts(index regclass, queries genie_query[], exact boolean) returns table (query int, lower bigint, upper
 * bigint, estimate bigint): query is the query's number in the array, from 1 on.  All three numbers are the same if
 * exact.
 */
Datum
genie_counts(PG_FUNCTION_ARGS)
{
	GenieTallySearch *search = palloc0(sizeof(GenieTallySearch));
	GenieBatch *batch = &search->batch;
	ArrayType  *queries = PG_GETARG_ARRAYTYPE_P(1);

	search->exact = PG_GETARG_BOOL(2);
	genie_batch_read_elements(queries, &search->cursor);
	batch->query_type = ARR_ELEMTYPE(queries);
	genie_access_open(PG_GETARG_OID(0), &batch->heap, &batch->index);
	batch->ops = &genie_tally_ops;
	batch->owner = search;
	batch->strategy = GENIE_MATCH_STRATEGY;
	batch->order_proc = genie_tally_match_proc(batch->index, batch->query_type);
	batch->n_queries = search->cursor.n;
	batch->want = 1;			/* a piece's size is as if it were a hit each */
	InitMaterializedSRF(fcinfo, 0);
	search->result = (ReturnSetInfo *) fcinfo->resultinfo;
	batch->kind = GENIE_SCAN_COUNT;
	genie_batch_begin(batch);

	/* a serializable transaction's lock on the index, against rows that come to match */
	search->conflicts = genie_batch_begin_scan(batch);
	genie_batch_run(batch);
	index_endscan(search->conflicts);
	genie_batch_end(batch);
	genie_access_close(batch->heap, batch->index);
	return (Datum) 0;
}

/*
 * genie_batch_count.c
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
 *	3. One of these:
 *		ALL			no object is unsure: the engine tallies those that are live
 *		FIRST		the rows of all unsure objects are looked up, and the engine tallies those that count
 *		MATCHES		where unsure objects are too many for so few queries: the engine tells which objects match
 *					(GENIE_JOB_MASK), and only the rows of these are looked up, once for all queries of the piece.
 *					Queries are taken some at a time, so that their masks are bounded.
 *		BOUNDS		the caller does not want it exact, so no row is looked up: the engine tallies sure objects for the
 *					lower bound, and live ones for the upper.  The estimate takes the share of the unsure ones that the
 *					table's statistics say are live.
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
#include "utils/array.h"
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

/* looking up so many rows takes as long as a query's mask of a tile: 8 us */
#define GENIE_TALLY_MASK_ROWS 64

PG_FUNCTION_INFO_V1(genie_counts);

typedef enum GenieTallyWay
{
	GENIE_TALLY_ALL,
	GENIE_TALLY_FIRST,
	GENIE_TALLY_MATCHES,
	GENIE_TALLY_BOUNDS
} GenieTallyWay;

/* What is known of a segment's objects: bits of whole tiles. */
typedef struct GenieTallySource
{
	Size		n_words;
	uint64		n_live;			/* that are live, and not NULL in SQL's sense */
	uint64	   *counted;		/* of these: the sure ones, and the unsure ones that were found visible; NULL: all */
	uint64	   *unsure;			/* the others; NULL: there is none */

	/* MATCHES, of the unsure ones */
	uint64	   *matching;		/* some query of those taken together matches */
	uint64	   *visited;		/* looked up */
} GenieTallySource;

/* A query of the piece. */
typedef struct GenieTallyQuery
{
	uint32		min_match;
	bool		has_threshold;
	uint64		lower;
	uint64		upper;			/* BOUNDS alone; else the lower one is exact */
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
	GenieTallyWay way;
	GenieTallySource *sources;
} GenieTallySearch;

/* No objects. */
static uint64 *
genie_tally_bits(const GenieTallySource *source)
{
	return palloc_extended(source->n_words * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static uint64
genie_tally_number(const uint64 *bits, Size n_words)
{
	uint64		n = 0;

	for (Size w = 0; w < n_words; w++)
		n += pg_popcount64(bits[w]);
	return n;
}

/* Does every object match that is not NULL? */
static bool
genie_tally_matches_all(const GenieTallyQuery *query)
{
	return query->min_match == 0 && !query->has_threshold;
}

static bool
genie_tally_any_matches_all(const GenieTallySearch *search)
{
	for (uint32 i = 0; i < search->batch.n; i++)
		if (genie_tally_matches_all(&search->queries[i]))
			return true;
	return false;
}

/* ---- rows ---- */

/* Looks up some objects' rows, in ascending order, all of one segment.  False: stale. */
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
			source->counted[objects[i] / 64] |= UINT64CONST(1) << (objects[i] % 64);
	pfree(pointers);
	pfree(rows);
	pfree(tids);
	return true;
}

/*
 * Looks up the rows of objects that are set in wanted, and not in except (NULL: none is): those that are visible count.
 * False: stale.
 */
static bool
genie_tally_visit(GenieTallySearch *search, uint32 s, const uint64 *wanted, const uint64 *except)
{
	Size		n_words = search->sources[s].n_words;
	uint32	   *objects = palloc(GENIE_TALLY_VISITS * sizeof(uint32));
	uint32		n = 0;
	bool		ok = true;

	for (Size w = 0; ok && w < n_words; w++)
		for (uint64 left = wanted[w] & (except == NULL ? ~UINT64CONST(0) : ~except[w]); ok && left != 0;
			 left &= left - 1)
		{
			objects[n++] = (uint32) (w * 64 + pg_rightmost_one_pos64(left));
			if (n == GENIE_TALLY_VISITS)
			{
				ok = genie_tally_visit_some(search, s, objects, n);
				n = 0;
			}
		}
	ok = ok && (n == 0 || genie_tally_visit_some(search, s, objects, n));
	pfree(objects);
	return ok;
}

/* ---- sure and unsure objects ---- */

/* Reads which objects of a segment are live.  False: stale. */
static bool
genie_tally_read_live(const GenieSource *on, GenieTallySource *source)
{
	source->counted = genie_tally_bits(source);
	if (!genie_live_read(on->segment, on->segment->entry.n_dead, on->hint_version > 0, source->counted, NULL))
		return false;
	source->n_live = genie_tally_number(source->counted, source->n_words);
	return true;
}

/*
 * Divides a segment's live objects into sure and unsure ones, those on n pages or, if none is sure, all.  Adds the
 * number of the latter.  False: stale.
 */
static bool
genie_tally_mark(const GenieSource *on, bool some_sure, const BlockNumber *pages, uint32 n_pages,
				 GenieTallySource *source, uint64 *n_unsure)
{
	GenieObjectReader reader;

	if (!genie_tally_read_live(on, source))
		return false;
	source->unsure = genie_tally_bits(source);
	genie_object_table_reader(&reader, on->segment, false);
	if (some_sure && !genie_object_table_mark_pages(&reader, pages, n_pages, source->unsure))
		return false;
	for (Size w = 0; w < source->n_words; w++)
	{
		source->unsure[w] = some_sure ? source->unsure[w] & source->counted[w] : source->counted[w];
		source->counted[w] &= ~source->unsure[w];
	}
	*n_unsure += genie_tally_number(source->unsure, source->n_words);
	return true;
}

/* Marks the unsure objects of all segments, and chooses the way.  False: stale. */
static bool
genie_tally_choose(GenieTallySearch *search)
{
	GenieBatch *batch = &search->batch;
	BlockNumber *pages;
	uint32		n_pages;
	bool		some_sure = genie_all_visible_unsure_pages(&batch->round.visitor, batch->tombstone_version, &pages,
														   &n_pages);
	uint64		n_unsure = 0;
	uint64		n_tiles = 0;

	search->sources = palloc0(batch->n_sources * sizeof(GenieTallySource));
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		search->sources[s].n_words = genie_live_words(batch->sources[s]->segment);
		n_tiles += genie_object_table_tiles(batch->sources[s]->segment);
		if ((!some_sure || n_pages > 0) &&
			!genie_tally_mark(batch->sources[s], some_sure, pages, n_pages, &search->sources[s], &n_unsure))
			return false;
	}
	search->way = n_unsure == 0 ? GENIE_TALLY_ALL : !search->exact ? GENIE_TALLY_BOUNDS :
		genie_tally_any_matches_all(search) || n_unsure <= batch->n * n_tiles * GENIE_TALLY_MASK_ROWS ?
		GENIE_TALLY_FIRST : GENIE_TALLY_MATCHES;
	return true;
}

/* FIRST: finds the objects that count.  MATCHES: prepares for rows to be looked up.  False: stale. */
static bool
genie_tally_prepare(GenieTallySearch *search)
{
	for (uint32 s = 0; s < search->batch.n_sources; s++)
	{
		GenieTallySource *source = &search->sources[s];

		if (search->way == GENIE_TALLY_FIRST && !genie_tally_visit(search, s, source->unsure, NULL))
			return false;
		if (search->way == GENIE_TALLY_MATCHES)
		{
			source->matching = genie_tally_bits(source);
			source->visited = genie_tally_bits(source);
		}
	}
	return true;
}

/* ---- counting ---- */

/* Adds all objects of a segment to the queries that match all.  False: stale. */
static bool
genie_tally_add_all(GenieTallySearch *search, uint32 s)
{
	GenieTallySource *source = &search->sources[s];
	uint64		n_counted;

	if (source->counted == NULL && !genie_tally_read_live(search->batch.sources[s], source))
		return false;
	n_counted = genie_tally_number(source->counted, source->n_words);
	for (uint32 i = 0; i < search->batch.n; i++)
		if (genie_tally_matches_all(&search->queries[i]))
		{
			search->queries[i].lower += n_counted;
			search->queries[i].upper += source->n_live;
		}
	return true;
}

/* Can an object of the segment match, and an engine tell? */
static bool
genie_tally_is_asked(const GenieTallyQuery *query, const GenieSegmentQuery *on_segment)
{
	return !query->has_threshold && query->min_match > 0 && genie_segment_query_matches(on_segment) &&
		query->min_match <= genie_segment_query_max_count(on_segment);
}

/* Questions to segments, and the query of each. */
typedef struct GenieTallyQuestions
{
	uint32		n;
	GenieSegmentTally *tallies;
	GenieTallyQuery **queries;
	uint32	   *sources;
} GenieTallyQuestions;

/* Those of queries from first to end - 1, segment by segment; live and mask are left NULL. */
static GenieTallyQuestions
genie_tally_questions(GenieTallySearch *search, uint32 first, uint32 end)
{
	const GenieBatch *batch = &search->batch;
	Size		most = (Size) batch->n_sources * (end - first);
	GenieTallyQuestions questions = {0};

	questions.tallies = palloc_extended(most * sizeof(GenieSegmentTally), MCXT_ALLOC_HUGE);
	questions.queries = palloc_extended(most * sizeof(GenieTallyQuery *), MCXT_ALLOC_HUGE);
	questions.sources = palloc_extended(most * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 s = 0; s < batch->n_sources; s++)
		for (uint32 i = first; i < end; i++)
		{
			GenieTallyQuery *query = &search->queries[i];
			GenieSegmentQuery *on_segment = batch->round.searches[s][i];

			if (!genie_tally_is_asked(query, on_segment))
				continue;
			questions.sources[questions.n] = s;
			questions.queries[questions.n] = query;
			questions.tallies[questions.n++] = (GenieSegmentTally) {.query = on_segment, .min_count = query->min_match};
		}
	return questions;
}

/* ALL, FIRST, BOUNDS: adds to the queries' numbers, or, upper, to their upper bounds.  False: stale. */
static bool
genie_tally_count(GenieTallySearch *search, bool upper)
{
	GenieTallyQuestions questions = genie_tally_questions(search, 0, search->batch.n);

	for (uint32 i = 0; i < questions.n && !upper; i++)
		questions.tallies[i].live = search->sources[questions.sources[i]].counted;
	if (!genie_segment_query_tallies(questions.tallies, questions.n))
		return false;
	for (uint32 i = 0; i < questions.n; i++)
		*(upper ? &questions.queries[i]->upper : &questions.queries[i]->lower) += questions.tallies[i].n;
	return true;
}

/* MATCHES, queries from first to end - 1.  False: stale. */
static bool
genie_tally_match(GenieTallySearch *search, uint32 first, uint32 end)
{
	GenieTallyQuestions questions = genie_tally_questions(search, first, end);

	for (uint32 i = 0; i < questions.n; i++)
		questions.tallies[i].mask = palloc_extended(search->sources[questions.sources[i]].n_words * sizeof(uint64),
													MCXT_ALLOC_HUGE);
	if (!genie_segment_query_tallies(questions.tallies, questions.n))
		return false;
	for (uint32 i = 0; i < questions.n; i++)
	{
		GenieTallySource *source = &search->sources[questions.sources[i]];

		for (Size w = 0; w < source->n_words; w++)
			source->matching[w] |= questions.tallies[i].mask[w] & source->unsure[w];
	}
	for (uint32 s = 0; s < search->batch.n_sources; s++)
	{
		GenieTallySource *source = &search->sources[s];

		if (!genie_tally_visit(search, s, source->matching, source->visited))
			return false;
		for (Size w = 0; w < source->n_words; w++)
			source->visited[w] |= source->matching[w];
	}
	for (uint32 i = 0; i < questions.n; i++)
	{
		const GenieTallySource *source = &search->sources[questions.sources[i]];

		for (Size w = 0; w < source->n_words; w++)
			questions.queries[i]->lower += pg_popcount64(questions.tallies[i].mask[w] & source->counted[w]);
	}
	return true;
}

/* MATCHES, all queries, some at a time.  False: stale. */
static bool
genie_tally_match_all(GenieTallySearch *search)
{
	GenieBatch *batch = &search->batch;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie tallies", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		bytes = 1;
	uint32		n_together;
	bool		ok = true;

	for (uint32 s = 0; s < batch->n_sources; s++)
		bytes += search->sources[s].n_words * sizeof(uint64);
	n_together = (uint32) Min(Max(GENIE_TALLY_MASK_BYTES / bytes, 1), GENIE_PIECE_QUERIES);
	for (uint32 first = 0; first < batch->n && ok; first += n_together)
	{
		ok = genie_tally_match(search, first, Min(first + n_together, batch->n));
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* A piece's queries, without those that are index scans.  False: stale. */
static bool
genie_tally_run(void *owner)
{
	GenieTallySearch *search = owner;
	GenieBatch *batch = &search->batch;

	for (uint32 i = 0; i < batch->n; i++)
		search->queries[i].lower = search->queries[i].upper = 0;
	if (!genie_tally_choose(search))
		return false;
	GENIE_FAULT("count-marked");
	if (!genie_tally_prepare(search))
		return false;
	for (uint32 s = 0; s < batch->n_sources && genie_tally_any_matches_all(search); s++)
		if (!genie_tally_add_all(search, s))
			return false;
	if (search->way == GENIE_TALLY_MATCHES)
		return genie_tally_match_all(search);
	return genie_tally_count(search, false) &&
		(search->way != GENIE_TALLY_BOUNDS || genie_tally_count(search, true));
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
	uint64		lower = query->has_threshold ? genie_tally_scan(search, search->batch.queries[i]) : query->lower;
	bool		is_exact = query->has_threshold || search->way != GENIE_TALLY_BOUNDS;
	uint64		upper = is_exact ? lower : Max(query->upper, lower);
	uint64		likely = (uint64) rint((upper - lower) * genie_tally_live_share(&search->batch));
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = Int32GetDatum((int32) ++search->n_output);
	values[1] = Int64GetDatum((int64) lower);
	values[2] = Int64GetDatum((int64) upper);
	values[3] = Int64GetDatum((int64) (lower + likely));
	tuplestore_putvalues(search->result->setResult, search->result->setDesc, values, nulls);
	search->batch.instrument.record->n_rows++;
	genie_instrument_candidates(&search->batch.instrument, upper);
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
	batch->order_proc = genie_batch_operator_proc(batch, "@&");
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

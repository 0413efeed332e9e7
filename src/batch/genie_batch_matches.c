/*
 * genie_batch_matches.c
 *	  Which rows match a query, without looking at most of them (genie_batch_matches.h).
 *
 * The answer is what the caller's snapshot sees of the rows that the index has.  Engines tell which objects of segments
 * match.  The snapshot sees a row that is *sure*: its page was all-visible after the index gave the row, and no VACUUM
 * came between (genie_all_visible.c says why that is enough, and that a row stays sure).  The others are *unsure*.
 *
 * A piece
 *	1. Its queries are compiled against all segments, pending rows included, as of one metapage (genie_batch.c).
 *	2. The unsure objects of each segment are marked.  On a standby, in a serializable transaction and in a table that
 *	   is not a heap all are.
 *	3. One of these:
 *		ALL			no object is unsure
 *		FIRST		the rows of all unsure objects are looked up before engines are asked
 *		SOME		where unsure objects are too many for so few queries: engines tell which objects match
 *					(GENIE_JOB_MASK), and only the rows of these are looked up, once for all queries of the piece
 *		BOUNDS		the caller does not want it exact, so no row is looked up
 *	  A caller that looks up all rows itself has none marked.
 *
 * Queries are taken some at a time, so that their masks are bounded.
 *
 * Of a coarse class engines tell which objects may match, by the outer query, and which are sure to, by the inner one.
 * Of the others scalars tell most (genie_batch_scalars.h).  The rows of what is left are looked up, and the operator
 * judges them.
 *
 * A query with a threshold is not asked here: only the operator judges its rows.  Where min_match is 0, all objects
 * that are not NULL match, and no engine is asked.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "genie_access.h"
#include "genie_all_visible.h"
#include "genie_approximate.h"
#include "genie_batch_matches.h"
#include "genie_batch_scalars.h"
#include "genie_fault.h"
#include "genie_live.h"
#include "genie_object_table.h"
#include "genie_row.h"
#include "genie_scan.h"
#include "genie_values.h"

#define GENIE_MATCHES_MASK_BYTES ((Size) 32 << 20)	/* of queries that are taken at a time, unless it is one */
#define GENIE_MATCHES_VISITS 16384	/* rows that are looked up at a time */

/* looking up so many rows takes as long as a query's mask of a tile: 8 us */
#define GENIE_MATCHES_MASK_ROWS 64

/* No objects. */
static uint64 *
genie_matches_bits(const GenieMatchesSource *source)
{
	return palloc_extended(source->n_words * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

uint64
genie_matches_popcount(const uint64 *bits, Size n_words)
{
	uint64		n = 0;

	for (Size w = 0; w < n_words; w++)
		n += pg_popcount64(bits[w]);
	return n;
}

bool
genie_matches_all(const GenieMatchesQuery *query)
{
	return query->min_match == 0 && !query->is_scan;
}

static bool
genie_matches_any_all(const GenieMatches *matches)
{
	for (uint32 i = 0; i < matches->batch.n; i++)
		if (genie_matches_all(&matches->queries[i]))
			return true;
	return false;
}

/* ---- rows ---- */

/* Looks up some objects' rows, in ascending order, all of one segment.  False: stale. */
static bool
genie_matches_visit_some(GenieMatches *matches, uint32 s, const uint32 *objects, uint32 n, GenieMatchesRow row,
						 void *arg)
{
	GenieBatch *batch = &matches->batch;
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
	for (uint32 i = 0; i < n && row != NULL; i++)
		if (rows[i].live != 0)
			row(arg, objects[i], rows[i].live);
	pfree(pointers);
	pfree(rows);
	pfree(tids);
	return true;
}

bool
genie_matches_visit(GenieMatches *matches, uint32 s, const uint64 *wanted, const uint64 *except, GenieMatchesRow row,
					void *arg)
{
	Size		n_words = matches->sources[s].n_words;
	uint32	   *objects = palloc(GENIE_MATCHES_VISITS * sizeof(uint32));
	uint32		n = 0;
	bool		ok = true;

	for (Size w = 0; ok && w < n_words; w++)
		for (uint64 left = wanted[w] & (except == NULL ? ~UINT64CONST(0) : ~except[w]); ok && left != 0;
			 left &= left - 1)
		{
			objects[n++] = (uint32) (w * 64 + pg_rightmost_one_pos64(left));
			if (n == GENIE_MATCHES_VISITS)
			{
				ok = genie_matches_visit_some(matches, s, objects, n, row, arg);
				n = 0;
			}
		}
	ok = ok && (n == 0 || genie_matches_visit_some(matches, s, objects, n, row, arg));
	pfree(objects);
	return ok;
}

/* A row that is visible counts; arg: the source. */
static void
genie_matches_count_row(void *arg, uint32 object, uint64 live pg_attribute_unused())
{
	GenieMatchesSource *source = arg;

	source->counted[object / 64] |= UINT64CONST(1) << (object % 64);
}

/* ---- sure and unsure objects ---- */

/* Reads which objects of a segment are live.  False: stale. */
static bool
genie_matches_read_live(const GenieSource *on, GenieMatchesSource *source)
{
	source->counted = genie_matches_bits(source);
	if (!genie_live_read(on->segment, on->segment->entry.n_dead, on->hint_version > 0, source->counted, NULL))
		return false;
	source->n_live = genie_matches_popcount(source->counted, source->n_words);
	return true;
}

/*
 * Divides a segment's live objects into sure and unsure ones, those on n pages or, if none is sure, all.  Adds the
 * number of the latter.  False: stale.
 */
static bool
genie_matches_mark(const GenieSource *on, bool some_sure, const BlockNumber *pages, uint32 n_pages,
				   GenieMatchesSource *source, uint64 *n_unsure)
{
	GenieObjectReader reader;

	if (!genie_matches_read_live(on, source))
		return false;
	source->unsure = genie_matches_bits(source);
	genie_object_table_reader(&reader, on->segment, false);
	if (some_sure && !genie_object_table_mark_pages(&reader, pages, n_pages, source->unsure))
		return false;
	for (Size w = 0; w < source->n_words; w++)
	{
		source->unsure[w] = some_sure ? source->unsure[w] & source->counted[w] : source->counted[w];
		source->counted[w] &= ~source->unsure[w];
	}
	*n_unsure += genie_matches_popcount(source->unsure, source->n_words);
	return true;
}

/* Marks the unsure objects of all segments, and chooses the way.  False: stale. */
static bool
genie_matches_choose(GenieMatches *matches)
{
	GenieBatch *batch = &matches->batch;
	BlockNumber *pages = NULL;
	uint32		n_pages = 0;
	bool		some_sure = matches->visits_all ||
		genie_all_visible_unsure_pages(&batch->round.visitor, batch->tombstone_version, &pages, &n_pages);
	uint64		n_unsure = 0;
	uint64		n_tiles = 0;

	matches->sources = palloc0(batch->n_sources * sizeof(GenieMatchesSource));
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		matches->sources[s].n_words = genie_live_words(batch->sources[s]->segment);
		n_tiles += genie_object_table_tiles(batch->sources[s]->segment);
		if ((!some_sure || n_pages > 0) &&
			!genie_matches_mark(batch->sources[s], some_sure, pages, n_pages, &matches->sources[s], &n_unsure))
			return false;
	}
	matches->way = !matches->exact && (n_unsure > 0 || genie_batch_is_coarse(batch)) ? GENIE_MATCHES_BOUNDS :
		n_unsure == 0 ? GENIE_MATCHES_ALL :
		genie_matches_any_all(matches) || n_unsure <= batch->n * n_tiles * GENIE_MATCHES_MASK_ROWS ?
		GENIE_MATCHES_FIRST : GENIE_MATCHES_SOME;
	return true;
}

/* FIRST: finds the objects that count.  SOME: prepares for rows to be looked up.  False: stale. */
static bool
genie_matches_prepare(GenieMatches *matches)
{
	for (uint32 s = 0; s < matches->batch.n_sources; s++)
	{
		GenieMatchesSource *source = &matches->sources[s];

		if (matches->way == GENIE_MATCHES_FIRST &&
			!genie_matches_visit(matches, s, source->unsure, NULL, genie_matches_count_row, source))
			return false;
		if (matches->way == GENIE_MATCHES_SOME)
		{
			source->matching = genie_matches_bits(source);
			source->visited = genie_matches_bits(source);
		}
	}
	return true;
}

/* ---- an attempt ---- */

bool
genie_matches_begin(GenieMatches *matches)
{
	for (uint32 i = 0; i < matches->batch.n; i++)
		matches->queries[i].is_done = false;
	if (!genie_matches_choose(matches))
		return false;
	GENIE_FAULT("count-marked");
	return genie_matches_prepare(matches);
}

bool
genie_matches_number(GenieMatches *matches, uint32 s, uint64 *n_counted, uint64 *n_live)
{
	GenieMatchesSource *source = &matches->sources[s];

	if (source->counted == NULL && !genie_matches_read_live(matches->batch.sources[s], source))
		return false;
	*n_counted = genie_matches_popcount(source->counted, source->n_words);
	*n_live = source->n_live;
	return true;
}

/* ---- asking ---- */

/* Can an object of the segment match, and an engine tell? */
static bool
genie_matches_is_asked(const GenieMatchesQuery *query, const GenieSegmentQuery *on_segment)
{
	return !query->is_scan && !query->is_done && query->min_match > 0 && genie_segment_query_matches(on_segment) &&
		query->min_match <= genie_segment_query_max_count(on_segment);
}

GenieMatchesQuestions
genie_matches_questions(GenieMatches *matches, uint32 first, uint32 end, bool inner)
{
	const GenieBatch *batch = &matches->batch;
	uint32		each = genie_batch_each(batch);
	Size		most = (Size) batch->n_sources * (end - first);
	GenieMatchesQuestions questions = {0};

	questions.tallies = palloc_extended(most * sizeof(GenieSegmentTally), MCXT_ALLOC_HUGE);
	questions.queries = palloc_extended(most * sizeof(uint32), MCXT_ALLOC_HUGE);
	questions.sources = palloc_extended(most * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 s = 0; s < batch->n_sources; s++)
		for (uint32 i = first; i < end; i++)
		{
			const GenieMatchesQuery *query = &matches->queries[i];
			GenieSegmentQuery *on_segment = batch->round.searches[s][i * each + (inner && each > 1)];

			if (!genie_matches_is_asked(query, on_segment))
				continue;
			questions.sources[questions.n] = s;
			questions.queries[questions.n] = i;
			questions.tallies[questions.n++] = (GenieSegmentTally) {.query = on_segment, .min_count = query->min_match};
		}
	return questions;
}

/* Looks up the unsure rows that match one of the questions.  False: stale. */
static bool
genie_matches_visit_matching(GenieMatches *matches, const GenieMatchesQuestions *questions)
{
	for (uint32 i = 0; i < questions->n; i++)
	{
		GenieMatchesSource *source = &matches->sources[questions->sources[i]];

		for (Size w = 0; w < source->n_words; w++)
			source->matching[w] |= questions->tallies[i].mask[w] & source->unsure[w];
	}
	for (uint32 s = 0; s < matches->batch.n_sources; s++)
	{
		GenieMatchesSource *source = &matches->sources[s];

		if (!genie_matches_visit(matches, s, source->matching, source->visited, genie_matches_count_row, source))
			return false;
		for (Size w = 0; w < source->n_words; w++)
			source->visited[w] |= source->matching[w];
	}
	return true;
}

/* What is known of queries from first to end - 1: of each source one after the other, a question for each. */
typedef struct GenieMatchesMasks
{
	uint32		first;
	uint32		end;
	GenieScalarsQuestion *questions;
} GenieMatchesMasks;

static GenieScalarsQuestion *
genie_matches_question(const GenieMatchesMasks *masks, uint32 s, uint32 i)
{
	return &masks->questions[(Size) s * (masks->end - masks->first) + (i - masks->first)];
}

/* Asks for masks; unless inner, looks up unsure rows where these are SOME.  False: stale. */
static bool
genie_matches_ask(GenieMatches *matches, bool inner, GenieMatchesMasks *masks)
{
	GenieMatchesQuestions questions = genie_matches_questions(matches, masks->first, masks->end, inner);

	for (uint32 i = 0; i < questions.n; i++)
	{
		GenieScalarsQuestion *question = genie_matches_question(masks, questions.sources[i], questions.queries[i]);
		uint64	   *mask = palloc_extended(matches->sources[questions.sources[i]].n_words * sizeof(uint64),
										   MCXT_ALLOC_HUGE);

		questions.tallies[i].mask = *(inner ? &question->inner : &question->outer) = mask;
	}
	return genie_segment_query_tallies(questions.tallies, questions.n) &&
		(inner || matches->way != GENIE_MATCHES_SOME || genie_matches_visit_matching(matches, &questions));
}

/* Tells, of a coarse class, what scalars can.  False: stale. */
static bool
genie_matches_tell(GenieMatches *matches, const GenieMatchesMasks *masks)
{
	const GenieBatch *batch = &matches->batch;
	uint32		n_told = 0;
	bool		ok = true;

	for (uint32 s = 0; s < batch->n_sources; s++)
		n_told += genie_values_scalars(batch->sources[s]->segment) > 0;
	if (n_told == 0)
		return true;
	for (uint32 i = masks->first; i < masks->end; i++)
	{
		const GenieScalarQuery *query = genie_scalars_query(batch->parameters,
															DatumGetGenieQuery(batch->queries[i]));

		for (uint32 s = 0; s < batch->n_sources; s++)
			genie_matches_question(masks, s, i)->query = query;
	}
	for (uint32 s = 0; s < batch->n_sources && ok; s++)
		ok = genie_values_scalars(batch->sources[s]->segment) != genie_bins_slots(batch->parameters) ||
			genie_batch_scalars_tell(batch->sources[s]->segment, genie_matches_question(masks, s, masks->first),
									 masks->end - masks->first, matches->sources[s].counted,
									 matches->sources[s].n_words);
	return ok;
}

/* ---- rows that a coarse class finds ---- */

typedef struct GenieMatchesJudge
{
	GenieRowValue row_value;
	FmgrInfo	function;		/* @& */
	MemoryContext row_context;
	Datum		query;
	uint64	   *bits;			/* of objects that match */
} GenieMatchesJudge;

static GenieMatchesJudge *
genie_matches_begin_judge(const GenieBatch *batch)
{
	GenieMatchesJudge *judge = palloc0(sizeof(GenieMatchesJudge));

	genie_row_value_begin(&judge->row_value, batch->index);
	fmgr_info(batch->order_proc, &judge->function);
	judge->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie judged row", ALLOCSET_DEFAULT_SIZES);
	return judge;
}

/* A visible row, which the operator judges: one that does not fulfil the query is as good as none. */
static void
genie_matches_judge_row(void *arg, GenieVisitRow *row, TupleTableSlot *slot)
{
	GenieMatches *matches = arg;
	GenieMatchesJudge *judge = matches->judge;
	MemoryContext old = MemoryContextSwitchTo(judge->row_context);
	bool		is_null;
	Datum		value = genie_row_value(&judge->row_value, slot, &is_null);

	if (is_null || !DatumGetBool(genie_row_order(&judge->function, matches->batch.index->rd_indcollation[0], value,
												 judge->query, &is_null)) || is_null)
		row->live = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(judge->row_context);
}

static void
genie_matches_take_judged(void *arg, uint32 object, uint64 live pg_attribute_unused())
{
	GenieMatches *matches = arg;

	matches->judge->bits[object / 64] |= UINT64CONST(1) << (object % 64);
}

/*
 * Leaves, of the objects of a source that may match query i, those that do.  sure: those that are sure to; NULL: none
 * is.  False: stale.
 */
static bool
genie_matches_judge(GenieMatches *matches, uint32 i, uint32 s, uint64 *bits, const uint64 *sure)
{
	GenieVisitor *visitor = &matches->batch.round.visitor;
	Size		n_words = matches->sources[s].n_words;
	uint64	   *unsure = palloc_extended(n_words * sizeof(uint64), MCXT_ALLOC_HUGE);
	bool		ok;

	for (Size w = 0; w < n_words; w++)
	{
		unsure[w] = bits[w] & (sure == NULL ? ~UINT64CONST(0) : ~sure[w]);
		bits[w] &= ~unsure[w];
	}
	matches->judge->query = matches->batch.queries[i];
	matches->judge->bits = bits;
	visitor->found = genie_matches_judge_row;
	visitor->arg = matches;
	ok = genie_matches_visit(matches, s, unsure, NULL, genie_matches_take_judged, matches);
	visitor->found = NULL;
	pfree(unsure);
	return ok;
}

static void
genie_matches_count_judged(void *arg, uint32 object pg_attribute_unused(), uint64 live pg_attribute_unused())
{
	(*(uint64 *) arg)++;
}

bool
genie_matches_judge_objects(GenieMatches *matches, uint32 i, uint32 s, const uint32 *objects, uint32 n_objects,
							uint64 *n)
{
	GenieVisitor *visitor = &matches->batch.round.visitor;
	bool		ok = true;

	matches->judge->query = matches->batch.queries[i];
	visitor->found = genie_matches_judge_row;
	visitor->arg = matches;
	for (uint32 first = 0; ok && first < n_objects; first += GENIE_MATCHES_VISITS)
		ok = genie_matches_visit_some(matches, s, objects + first, Min(n_objects - first, GENIE_MATCHES_VISITS),
									  genie_matches_count_judged, n);
	visitor->found = NULL;
	return ok;
}

/* Queries from first to end - 1.  False: stale. */
static bool
genie_matches_find_some(GenieMatches *matches, uint32 first, uint32 end, GenieMatchesTake take, void *arg)
{
	bool		is_coarse = genie_batch_is_coarse(&matches->batch);
	GenieMatchesMasks masks = {.first = first, .end = end};

	masks.questions = palloc0((Size) matches->batch.n_sources * (end - first) * sizeof(GenieScalarsQuestion));
	if (!genie_matches_ask(matches, false, &masks) ||
		(is_coarse && !genie_matches_ask(matches, true, &masks)) ||
		(is_coarse && !genie_matches_tell(matches, &masks)))
		return false;
	for (uint32 i = first; i < end; i++)
		for (uint32 s = 0; s < matches->batch.n_sources; s++)
		{
			const GenieMatchesSource *source = &matches->sources[s];
			const GenieScalarsQuestion *question = genie_matches_question(&masks, s, i);
			uint64	   *bits = question->outer;

			if (matches->queries[i].is_done)
				continue;
			if (genie_matches_all(&matches->queries[i]))
			{
				if (!take(arg, i, s, source->counted, source->n_words))
					return false;
			}
			else if (bits != NULL)
			{
				for (Size w = 0; w < source->n_words; w++)
					bits[w] &= source->counted[w];
				if (is_coarse && !genie_matches_judge(matches, i, s, bits, question->inner))
					return false;
				if (!take(arg, i, s, bits, source->n_words))
					return false;
			}
		}
	return true;
}

bool
genie_matches_find(GenieMatches *matches, GenieMatchesTake take, void *arg)
{
	GenieBatch *batch = &matches->batch;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie masks", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Size		bytes = 1;
	uint32		n_together;
	bool		ok = true;

	Assert(matches->exact);
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		if (matches->sources[s].counted == NULL && !genie_matches_read_live(batch->sources[s], &matches->sources[s]))
			return false;
		bytes += matches->sources[s].n_words * sizeof(uint64) * genie_batch_each(batch);
	}
	old = MemoryContextSwitchTo(context);
	n_together = (uint32) Min(Max(GENIE_MATCHES_MASK_BYTES / bytes, 1), GENIE_PIECE_QUERIES);
	for (uint32 first = 0; first < batch->n && ok; first += n_together)
	{
		ok = genie_matches_find_some(matches, first, Min(first + n_together, batch->n), take, arg);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* ---- queries with a threshold ---- */

void
genie_matches_scan(GenieMatches *matches, Datum query, GenieMatchesScanRow row, void *arg)
{
	GenieBatch *batch = &matches->batch;
	TupleTableSlot *slot = batch->round.visitor.slot;
	IndexScanDesc scan = index_beginscan(batch->heap, batch->index, batch->round.visitor.snapshot, NULL, 1, 0);
	GenieRowValue row_value;
	ScanKeyData key;

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
		row(arg, genie_tid_number(&slot->tts_tid));
	}
	genie_row_value_end(&row_value);
	index_endscan(scan);
}

/* ---- a call ---- */

static Datum
genie_matches_next(void *owner)
{
	GenieMatches *matches = owner;
	Datum		query = (Datum) 0;

	genie_array_next(&matches->cursor, &query);
	return query;
}

/* Query i of the piece is compiled. */
static void
genie_matches_compiled(void *owner, uint32 i, const GenieQuery *compiled)
{
	GenieMatches *matches = owner;
	uint16		strategy = compiled->distance_strategy;

	/* of a coarse class, what is compiled has none, and operands are queries themselves */
	if (genie_batch_is_coarse(&matches->batch))
		strategy = DatumGetGenieQuery(matches->batch.queries[i])->distance_strategy;
	matches->queries[i].min_match = (uint32) compiled->min_match;
	matches->queries[i].is_scan = strategy != 0;
	if (strategy != 0 && matches->no_similarity != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s() does not take a query with a similarity", matches->no_similarity),
				 errhint("Ask for a number of matches: genie_query(array, min_match).")));
}

static bool
genie_matches_find_conflicts(void *owner)
{
	GenieMatches *matches = owner;

	return genie_batch_find_conflicts(&matches->batch, matches->conflicts);
}

static bool
genie_matches_run(void *owner)
{
	GenieMatches *matches = owner;

	return matches->run(matches->owner);
}

static void
genie_matches_put(void *owner, uint32 i)
{
	GenieMatches *matches = owner;

	if (matches->put != NULL)
		matches->put(matches->owner, i);
}

static const GenieBatchOps genie_matches_ops = {.next = genie_matches_next, .compiled = genie_matches_compiled,
	.begin = genie_matches_find_conflicts, .run = genie_matches_run, .put = genie_matches_put};

void
genie_matches_search(GenieMatches *matches, Oid index, ArrayType *queries, GenieScanKind kind)
{
	GenieBatch *batch = &matches->batch;

	genie_batch_read_elements(queries, &matches->cursor);
	batch->query_type = ARR_ELEMTYPE(queries);
	genie_access_open(index, NULL, &batch->heap, &batch->index);
	batch->ops = &genie_matches_ops;
	batch->owner = matches;
	batch->strategy = GENIE_MATCH_STRATEGY;
	batch->order_proc = genie_batch_operator_proc(batch, "@&");
	batch->n_queries = matches->cursor.n;
	batch->want = 1;			/* a piece's size is as if it were a hit each */
	batch->kind = kind;
	batch->with_inner = true;
	genie_batch_begin(batch);
	if (genie_is_coarse(batch->index))
		matches->judge = genie_matches_begin_judge(batch);

	/* a serializable transaction's lock on the index, against rows that come to match */
	matches->conflicts = genie_batch_begin_scan(batch);
	genie_batch_run(batch);
	index_endscan(matches->conflicts);
	if (matches->judge != NULL)
		genie_row_value_end(&matches->judge->row_value);
	genie_batch_end(batch);
	genie_access_close(batch->heap, batch->index);
}

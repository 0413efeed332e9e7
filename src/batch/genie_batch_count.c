/*
 * genie_batch_count.c
 *	  genie_counts(): how many rows fulfil x @& query for each of many queries, by one index, in one call.
 *
 * The answer is count(*)'s under the caller's snapshot, of the rows that the index has, but most rows are not looked
 * at.  genie_batch_matches.c says which are, and by which ways.  Engines count objects of segments (GENIE_JOB_TALLY):
 *		ALL			those that are live
 *		FIRST		the sure ones, and the unsure ones whose rows were found visible
 *		SOME		engines do not count: the bits of matching rows are counted here
 *		BOUNDS		sure objects for the lower bound, and live ones for the upper.  The estimate takes the share of the
 *					unsure ones that the table's statistics say are live.  Of a coarse class, those that are sure to
 *					match, and those that may, of which half are taken to.
 *
 * Of a coarse class, where ALL or FIRST, those that are sure to match and those that may are counted so, and of the
 * objects between those that do match (genie_batch_edges.h), or the query is counted as with SOME.
 *
 * Where min_match is 0, all objects that are not NULL match.  A query with a threshold is an index scan whose rows the
 * operator judges.
 *
 * A query that asks a dimension for another type than a visible row has there raises the operator's error, as a scan
 * does.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"

#include "genie_batch_edges.h"
#include "genie_batch_matches.h"

PG_FUNCTION_INFO_V1(genie_counts);

/* What was counted of a query. */
typedef struct GenieCountNumber
{
	uint64		lower;
	uint64		upper;			/* BOUNDS alone; else the lower one is exact */
} GenieCountNumber;

typedef struct GenieCountSearch
{
	GenieMatches matches;
	ReturnSetInfo *result;
	uint32		n_output;		/* queries */
	GenieCountNumber numbers[GENIE_PIECE_QUERIES];
} GenieCountSearch;

/* ---- counting ---- */

/* Adds all objects of a segment to the queries that match all.  False: stale. */
static bool
genie_count_add_all(GenieCountSearch *search, uint32 s)
{
	uint64		n_counted = 0;
	uint64		n_live = 0;
	bool		asked = false;

	for (uint32 i = 0; i < search->matches.batch.n; i++)
		if (genie_matches_all(&search->matches.queries[i]))
		{
			if (!asked && !genie_matches_number(&search->matches, s, &n_counted, &n_live))
				return false;
			asked = true;
			search->numbers[i].lower += n_counted;
			search->numbers[i].upper += n_live;
		}
	return true;
}

/* ALL, FIRST, BOUNDS: adds to the queries' numbers, or, upper, to their upper bounds.  False: stale. */
static bool
genie_count_count(GenieCountSearch *search, bool upper)
{
	GenieMatchesQuestions questions = genie_matches_questions(&search->matches, 0, search->matches.batch.n, !upper);

	for (uint32 i = 0; i < questions.n && !upper; i++)
		questions.tallies[i].live = search->matches.sources[questions.sources[i]].counted;
	if (!genie_segment_query_tallies(questions.tallies, questions.n))
		return false;
	for (uint32 i = 0; i < questions.n; i++)
	{
		GenieCountNumber *number = &search->numbers[questions.queries[i]];

		*(upper ? &number->upper : &number->lower) += questions.tallies[i].n;
	}
	return true;
}

/* SOME: takes the bits of rows that match. */
static bool
genie_count_take(void *arg, uint32 i, uint32 source pg_attribute_unused(), const uint64 *bits, Size n_words)
{
	GenieCountSearch *search = arg;

	search->numbers[i].lower += genie_matches_popcount(bits, n_words);
	return true;
}

/* Of a coarse class: adds to the queries' numbers the rows in bins that they cut.  False: stale. */
static bool
genie_count_cut(GenieCountSearch *search)
{
	uint32		n = search->matches.batch.n;
	uint64	   *most = palloc(n * sizeof(uint64));
	uint64	   *numbers = palloc0(n * sizeof(uint64));
	uint32		n_left = 0;

	for (uint32 i = 0; i < n; i++)
		most[i] = search->numbers[i].upper - Min(search->numbers[i].lower, search->numbers[i].upper);
	if (!genie_batch_edges_count(&search->matches, most, numbers))
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		GenieMatchesQuery *query = &search->matches.queries[i];

		search->numbers[i].lower += numbers[i];
		query->is_done |= query->is_scan || query->min_match == 0;
		if (query->is_done)
			continue;
		search->numbers[i].lower = 0;
		n_left++;
	}
	pfree(numbers);
	pfree(most);
	return n_left == 0 || genie_matches_find(&search->matches, genie_count_take, search);
}

/* A piece's queries, without those that are index scans.  False: stale. */
static bool
genie_count_run(void *owner)
{
	GenieCountSearch *search = owner;
	GenieMatches *matches = &search->matches;
	bool		is_cut = matches->exact && genie_batch_is_coarse(&matches->batch);

	memset(search->numbers, 0, search->matches.batch.n * sizeof(GenieCountNumber));
	if (!genie_matches_begin(matches))
		return false;
	if (matches->way == GENIE_MATCHES_SOME)
		return genie_matches_find(matches, genie_count_take, search);
	for (uint32 s = 0; s < search->matches.batch.n_sources; s++)
		if (!genie_count_add_all(search, s))
			return false;
	return genie_count_count(search, false) &&
		((matches->way != GENIE_MATCHES_BOUNDS && !is_cut) || genie_count_count(search, true)) &&
		(!is_cut || genie_count_cut(search));
}

/* Counts a row of a query with a threshold. */
static void
genie_count_row(void *arg, uint64 live pg_attribute_unused())
{
	(*(uint64 *) arg)++;
}

/* How many visible rows fulfil a query with a threshold. */
static uint64
genie_count_scan(GenieCountSearch *search, Datum query)
{
	uint64		n = 0;

	genie_matches_scan(&search->matches, query, genie_count_row, &n);
	return n;
}

/* ---- output ---- */

/* The share of the index's rows that the table's statistics say are live. */
static double
genie_count_live_share(const GenieBatch *batch)
{
	double		n_live = batch->heap->rd_rel->reltuples;
	double		n = 0;

	for (uint32 s = 0; s < batch->n_sources; s++)
		n += (double) batch->sources[s]->segment->header.n_objects - batch->sources[s]->segment->entry.n_dead;
	return n_live < 0 || n_live >= n ? 1 : n_live / n;
}

static void
genie_count_put(void *owner, uint32 i)
{
	GenieCountSearch *search = owner;
	bool		is_scan = search->matches.queries[i].is_scan;
	uint64		lower = is_scan ? genie_count_scan(search, search->matches.batch.queries[i]) : search->numbers[i].lower;
	bool		is_exact = is_scan || search->matches.way != GENIE_MATCHES_BOUNDS;
	uint64		upper = is_exact ? lower : Max(search->numbers[i].upper, lower);
	double		share = genie_batch_is_coarse(&search->matches.batch) ? 0.5 :
		genie_count_live_share(&search->matches.batch);
	uint64		likely = (uint64) rint((upper - lower) * share);
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = Int32GetDatum((int32) ++search->n_output);
	values[1] = Int64GetDatum((int64) lower);
	values[2] = Int64GetDatum((int64) upper);
	values[3] = Int64GetDatum((int64) (lower + likely));
	tuplestore_putvalues(search->result->setResult, search->result->setDesc, values, nulls);
	search->matches.batch.instrument.record->n_rows++;
	genie_instrument_candidates(&search->matches.batch.instrument, upper);
}

/*
 * genie_counts(index regclass, queries genie_query[], exact boolean) returns table (query int, lower bigint, upper
 * bigint, estimate bigint): query is the query's number in the array, from 1 on.  All three numbers are the same if
 * exact.
 */
Datum
genie_counts(PG_FUNCTION_ARGS)
{
	GenieCountSearch *search = palloc0(sizeof(GenieCountSearch));
	GenieMatches *matches = &search->matches;

	matches->exact = PG_GETARG_BOOL(2);
	matches->run = genie_count_run;
	matches->put = genie_count_put;
	matches->owner = search;
	InitMaterializedSRF(fcinfo, 0);
	search->result = (ReturnSetInfo *) fcinfo->resultinfo;
	genie_matches_search(matches, PG_GETARG_OID(0), PG_GETARG_ARRAYTYPE_P(1), GENIE_SCAN_COUNT);
	return (Datum) 0;
}

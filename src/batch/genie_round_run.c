/*
 * genie_round_run.c
 *	  A round of a batch search (genie_round.h).
 *
 *	1. ask		each source for the best `ask` objects of each query, behind those that were taken of it before
 *	2. number	an object is a row of the round, however many queries hit it; rows get their TIDs
 *	3. merge	each query takes the best `ask` of all sources by (count desc, tid asc)
 *	4. visit	the rows that were taken, in TID order
 *	5. keep		each query's visible rows, in its order, until there are k
 *
 * If rows are measured, 4 and 5 are one step (genie_round_measure.c).  If there are bounds of their distances, too, 2
 * to 5 are replaced by genie_round_pick.c, which visits only rows that may be among the nearest.
 *
 * A round takes what a scan of one query would take: a source's hits come in its order, so the best of all sources are
 * among the best `ask` of each, and a source goes on behind the last hit that was taken of it.  It has ended when it
 * gave fewer hits than were asked for and all of those were taken.
 *
 * Visibility.  Each row that is kept or measured is looked up in the table under the caller's MVCC snapshot, after the
 * answer has come (genie_visit.c).
 *
 * VACUUM at the same time.  Between 1 and 4 it may remove a row's TID from the index, raise the tombstone version, and
 * free the line pointer.  The row is then dead to every snapshot, ours too: the visit finds an unused line pointer, or
 * one that is used again by a row newer than our snapshot, which does not see it.  It takes neither.  So answers from
 * older tombstones do no harm: they cost only the rows that were asked for in vain.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "genie_fault.h"
#include "genie_round.h"

/* ---- asking ---- */

/* Some lists have bounds; the others get zeros. */
static void
genie_round_take_bounds(GenieRoundHits *hits, Size n_lists, const GenieSegmentTop *tops, const uint32 *list,
						uint32 n_tops)
{
	hits->bounds = genie_round_array0(n_lists, sizeof(float *));
	for (uint32 t = 0; t < n_tops; t++)
		hits->bounds[list[t]] = tops[t].has_bounds ? tops[t].bounds :
			genie_round_array0(tops[t].n_hits, sizeof(float));
}

static bool
genie_round_ask(const GenieRound *round, GenieRoundHits *hits)
{
	Size		n_lists = (Size) hits->n * round->n_sources;
	GenieSegmentTop *tops = genie_round_array0(n_lists, sizeof(GenieSegmentTop));
	uint32	   *list = genie_round_array(n_lists, sizeof(uint32));
	uint32		n_tops = 0;
	bool		has_bounds = false;

	hits->lists = genie_round_array0(n_lists, sizeof(GenieHit *));
	hits->n_hits = genie_round_array0(n_lists, sizeof(uint32));
	for (uint32 s = 0; s < round->n_sources; s++)
		for (uint32 i = 0; i < hits->n; i++)
		{
			const GenieRoundQuery *query = hits->queries[i];
			GenieSegmentTop *top = &tops[n_tops];

			if (query->ended[s])
				continue;
			top->source = round->sources[s];
			top->query = round->searches[s][query->number];
			top->k = hits->ask;
			top->has_after = query->has_after[s];
			top->after = query->after[s];
			top->vector = round->vectors == NULL ? NULL : &round->vectors[query->number];
			top->n_elements = round->n_elements;
			list[n_tops++] = s * hits->n + i;
		}
	if (!genie_segment_query_tops(tops, n_tops))
		return false;
	for (uint32 t = 0; t < n_tops; t++)
	{
		hits->n_hits[list[t]] = tops[t].n_hits;
		genie_instrument_candidates(round->visitor.instrument, tops[t].n_hits);
		hits->lists[list[t]] = tops[t].hits;
		has_bounds |= tops[t].has_bounds;
	}
	if (has_bounds)
		genie_round_take_bounds(hits, n_lists, tops, list, n_tops);
	pfree(tops);
	pfree(list);
	return true;
}

/* ---- merging ---- */

/* Each query takes its best hits; *counts: their counts, as they stand in hits->order. */
static void
genie_round_merge(const GenieRound *round, GenieRoundHits *hits, uint32 *n_taken, uint32 **counts)
{
	*counts = genie_round_array((Size) hits->n * hits->ask, sizeof(uint32));
	for (uint32 i = 0; i < hits->n; i++)
	{
		GenieRoundNext best;

		while (hits->n_order[i] < hits->ask && genie_round_best(round, hits, i, n_taken, &best))
		{
			(*counts)[(Size) i * hits->ask + hits->n_order[i]] = best.key;
			genie_round_take(hits, i, best.row);
			n_taken[best.list]++;
		}
	}
}

/* ---- keeping ---- */

/* A query has taken a row, which has been visited. */
static void
genie_round_keep_row(GenieRoundQuery *query, const GenieVisitRow *row, uint32 count)
{
	if (query->n_taken == query->taken_capacity)
	{
		query->taken_capacity *= 2;
		query->taken = repalloc_huge(query->taken, (Size) query->taken_capacity * sizeof(uint64));
	}
	query->taken[query->n_taken++] = row->tid;
	if (row->live != 0)
		query->found[query->n_found++] = (GenieRoundFound) {row->live, (int32) count};
}

static void
genie_round_keep(const GenieRound *round, const GenieRoundHits *hits, const uint32 *counts)
{
	uint32		n;
	GenieVisitRow **rows = genie_round_wanted(round, hits, &n);

	genie_visit(&round->visitor, rows, n);
	pfree(rows);
	for (uint32 i = 0; i < hits->n; i++)
	{
		const Size	first = (Size) i * hits->ask;

		for (uint32 j = 0; j < hits->n_order[i] && hits->queries[i]->n_found < round->k; j++)
			genie_round_keep_row(hits->queries[i], &hits->rows[hits->order[first + j]], counts[first + j]);
	}
}

/* ---- the round ---- */

/* The hits are there; false: stale. */
static bool
genie_round_take_hits(const GenieRound *round, GenieRoundHits *hits)
{
	uint32	   *n_taken = genie_round_array0((Size) hits->n * round->n_sources, sizeof(uint32));
	uint32	   *counts;
	bool		stale = false;

	if (hits->bounds != NULL && genie_round_pick(round, hits, &stale))
		return true;
	if (stale || !genie_round_number(round, hits))
		return false;
	genie_round_merge(round, hits, n_taken, &counts);
	if (round->measure != NULL)
		genie_round_measure(round, hits, genie_round_takes_too_many(round, hits, n_taken));
	else
		genie_round_keep(round, hits, counts);
	genie_round_go_on(round, hits, n_taken);
	return true;
}

bool
genie_round_run(GenieRound *round, GenieRoundQuery **queries, uint32 n, uint32 ask)
{
	MemoryContext old = MemoryContextSwitchTo(round->context);
	GenieRoundHits hits = {.n = n, .ask = ask, .queries = queries};
	bool		ok = genie_round_ask(round, &hits);

	if (ok)
	{
		GENIE_FAULT("batch-answered");
		ok = genie_round_take_hits(round, &hits);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(round->context);
	return ok;
}

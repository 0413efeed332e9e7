/*
 * genie_round_pick.c
 *	  A round of a batch search whose rows somebody measures (genie_round_measure.c), by bounds before rows are
 *	  numbered.
 *
 * A call has hundreds of thousands of hits, and looks at a few of a hundred.  To number them all, which sorts them, and
 * reads their TIDs, takes several times as long as what is done with those.  So
 *
 *	1. cut		the best `ask` hits of all sources are taken of each query.  TIDs decide only between hits of several
 *				sources that share the last key that is taken: these are numbered
 *	2. unsure	hits whose page the visibility map does not call visible: the objects on those pages are found from
 *				the pages, as ranges of the object table, and not the other way round
 *	3. pick		all of these, and those of the others whose bounds are among the k least; they are numbered, visited and
 *				measured
 *	4. pick		those that may still be among the nearest; the same is done with them
 *
 * What is measured in the end is the same as if all were numbered.  Where more than one of GENIE_UNSURE_PART pages are
 * not visible, as after a large load, or a query has taken more rows than it wants, they are.
 */
#include "postgres.h"

#include <math.h>

#include "genie_object_table.h"
#include "genie_round_bounds.h"
#include "storage/bufmgr.h"

#define GENIE_UNSURE_PART 4

/* ---- what is taken ---- */

/* How many hits of a list, best first, have at least that key. */
static uint32
genie_round_count_at_least(const GenieRoundState *state, uint32 list, uint64 key)
{
	const GenieHit *hits = state->hits[list];
	uint32		low = 0;
	uint32		high = state->n_hits[list];

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (hits[middle].key >= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same of all lists of query i. */
static uint64
genie_round_sum_at_least(const GenieRound *round, const GenieRoundState *state, uint32 i, uint64 key)
{
	uint64		sum = 0;

	for (uint32 s = 0; s < round->n_sources; s++)
		sum += genie_round_count_at_least(state, s * state->n + i, key);
	return sum;
}

/* The largest key that at least `ask` hits of query i have, as its hits are more than that; a full list has one. */
static uint32
genie_round_last_key(const GenieRound *round, const GenieRoundState *state, uint32 i)
{
	uint32		low = 0;
	uint32		high = 0;

	for (uint32 s = 0; s < round->n_sources; s++)
	{
		uint32		list = s * state->n + i;

		if (state->n_hits[list] > 0)
			high = Max(high, state->hits[list][0].key);
		if (state->n_hits[list] == state->ask)
			low = Max(low, state->hits[list][state->ask - 1].key);
	}
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2 + 1;

		if (genie_round_sum_at_least(round, state, i, middle) >= state->ask)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * Query i has more hits than it takes.  n_taken: how many of each list it takes that rank above the last ones, which
 * have all the same key.  How many of the last ones it takes is returned, and which there are is in last.  Where only
 * one source has some, or all are taken, these are in n_taken, too, and none is left.
 */
static uint32
genie_round_take_above(const GenieRound *round, const GenieRoundState *state, uint32 i, uint32 *n_taken,
					   GenieRoundState *last)
{
	uint64		key = genie_round_last_key(round, state, i);
	uint32		left = (uint32) (state->ask - genie_round_sum_at_least(round, state, i, key + 1));
	uint32		n_sources = 0;
	uint64		n_last = 0;

	for (uint32 s = 0; s < round->n_sources; s++)
	{
		uint32		list = s * state->n + i;

		n_taken[list] = genie_round_count_at_least(state, list, key + 1);
		last->n_hits[list] = genie_round_count_at_least(state, list, key) - n_taken[list];
		last->hits[list] = state->hits[list] + n_taken[list];
		n_sources += last->n_hits[list] > 0;
		n_last += last->n_hits[list];
	}
	if (n_sources > 1 && n_last > left)
	{
		for (uint32 s = 0; s < round->n_sources; s++)
			last->ask = Max(last->ask, last->n_hits[s * state->n + i]);
		return left;
	}
	for (uint32 s = 0; s < round->n_sources; s++)
	{
		n_taken[s * state->n + i] += Min(last->n_hits[s * state->n + i], left);
		last->n_hits[s * state->n + i] = 0;
	}
	return 0;
}

/*
 * How many hits of each list are taken: the best `ask` of all sources, by (key desc, tid asc).  TIDs are needed only
 * of hits that share the last key, where several sources have some.  False: stale.
 */
static bool
genie_round_cut(const GenieRound *round, const GenieRoundState *state, uint32 *n_taken)
{
	Size		n_lists = (Size) state->n * round->n_sources;
	GenieRoundState last = {.n = state->n};
	uint32	   *left = genie_round_array(state->n, sizeof(uint32));
	uint32	   *next = genie_round_array(round->n_sources, sizeof(uint32));

	last.n_hits = genie_round_array(n_lists, sizeof(uint32));
	last.hits = genie_round_array(n_lists, sizeof(GenieHit *));
	memset(last.n_hits, 0, n_lists * sizeof(uint32));
	memcpy(n_taken, state->n_hits, n_lists * sizeof(uint32));
	for (uint32 i = 0; i < state->n; i++)
	{
		uint64		n_hits = 0;

		for (uint32 s = 0; s < round->n_sources; s++)
			n_hits += state->n_hits[s * state->n + i];
		left[i] = n_hits <= state->ask ? 0 : genie_round_take_above(round, state, i, n_taken, &last);
	}
	if (last.ask == 0)
		return true;
	genie_round_make_room(round, &last);
	if (!genie_round_number(round, &last))
		return false;
	for (uint32 i = 0; i < state->n; i++)
	{
		GenieRoundNext best;

		memset(next, 0, round->n_sources * sizeof(uint32));
		for (; left[i] > 0 && genie_round_best(round, &last, i, next, &best); left[i]--)
		{
			next[best.source]++;
			n_taken[best.source * state->n + i]++;
		}
	}
	return true;
}

/* Hits of each list by their places in it, which are query by query, and source by source. */
typedef struct GenieRoundPicked
{
	uint32		n;
	uint32	   *places;
	uint32	   *n_of;			/* each list */
	uint32		most;			/* of one query */
} GenieRoundPicked;

static GenieRoundPicked
genie_round_picked(const GenieRound *round, const GenieRoundState *state)
{
	GenieRoundPicked picked = {.n_of = genie_round_array((Size) state->n * round->n_sources, sizeof(uint32))};

	memset(picked.n_of, 0, (Size) state->n * round->n_sources * sizeof(uint32));
	picked.places = genie_round_array((Size) state->n * state->ask, sizeof(uint32));
	return picked;
}

/* ---- what must be looked at ---- */

/* Bits of the objects of a source that are on one of the pages.  NULL: stale. */
static uint64 *
genie_round_unsure_objects(GenieSource *source, const BlockNumber *pages, uint32 n_pages)
{
	Size		n_words = (Size) source->segment->header.n_objects / 64 + 1;
	uint64	   *bits = MemoryContextAllocExtended(CurrentMemoryContext, n_words * sizeof(uint64),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	GenieObjectReader reader;

	genie_object_reader(&reader, source->segment, false);
	return genie_object_mark_pages(&reader, pages, n_pages, bits) ? bits : NULL;
}

/* Bounds of a list with its last n unsure hits left out: no bound is NaN, and NaN is in no window. */
static void
genie_round_forget_bounds(GenieRoundState *state, uint32 list, uint32 n_taken, const GenieRoundPicked *unsure)
{
	float	   *bounds = genie_round_array(n_taken, sizeof(float));

	memcpy(bounds, state->bounds[list], n_taken * sizeof(float));
	for (uint32 u = unsure->n - unsure->n_of[list]; u < unsure->n; u++)
		bounds[unsure->places[u]] = NAN;
	state->bounds[list] = bounds;
}

/*
 * Which hits of those that are taken may not be visible; they have no bounds any more.  False: those of a large part of
 * the table, or a segment is stale (*stale).
 */
static bool
genie_round_find_unsure(const GenieRound *round, GenieRoundState *state, const uint32 *n_taken,
						GenieRoundPicked *unsure, bool *stale)
{
	uint64	  **bits = genie_round_array(round->n_sources, sizeof(uint64 *));
	BlockNumber *pages;
	uint32		n_pages;

	if (!genie_visit_unsure_pages(&round->visitor, RelationGetNumberOfBlocks(round->visitor.heap) / GENIE_UNSURE_PART,
								  &pages, &n_pages) ||
		genie_source_was_vacuumed(round->visitor.index, round->tombstone_version))
		return false;
	if (n_pages == 0)
		return true;
	for (uint32 s = 0; s < round->n_sources; s++)
	{
		bits[s] = genie_round_unsure_objects(round->sources[s], pages, n_pages);
		*stale = bits[s] == NULL;
		if (*stale)
			return false;
	}
	for (uint32 i = 0; i < state->n; i++)
		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * state->n + i;

			for (uint32 h = 0; h < n_taken[list]; h++)
			{
				uint32		object = state->hits[list][h].object;

				if ((bits[s][object / 64] >> (object % 64) & 1) == 0)
					continue;
				unsure->places[unsure->n++] = h;
				unsure->n_of[list]++;
			}
			if (unsure->n_of[list] > 0)
				genie_round_forget_bounds(state, list, n_taken[list], unsure);
		}
	return true;
}

/* ---- picking ---- */

/*
 * Picks those hits that are taken whose bounds are in the window, and those that must be looked at anyhow; counts them
 * in n_measured.
 */
static void
genie_round_pick(const GenieRound *round, const GenieRoundState *state, const uint32 *n_taken,
				 const GenieRoundWindow *window, const GenieRoundPicked *unsure, GenieRoundPicked *picked,
				 uint32 *n_measured)
{
	const uint32 *unsure_places = unsure->places;

	picked->n = picked->most = 0;
	for (uint32 i = 0; i < state->n; i++)
	{
		uint32		first = picked->n;

		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * state->n + i;
			uint32	   *places = picked->places + picked->n;
			uint32		n = unsure->n_of[list];

			memcpy(places, unsure_places, n * sizeof(uint32));
			unsure_places += n;
			if (n_taken[list] > 0)
				n += genie_quantized_within(state->bounds[list], n_taken[list], window->above[i], window->upto[i],
											places + n);
			picked->n_of[list] = n;
			picked->n += picked->n_of[list];
		}
		n_measured[i] += picked->n - first;
		picked->most = Max(picked->most, picked->n - first);
	}
}

/* Numbers and measures hits that were picked.  False: stale. */
static bool
genie_round_measure_picked(const GenieRound *round, const GenieRoundState *state, const GenieRoundPicked *picked)
{
	GenieRoundState some = {.n = state->n, .ask = picked->most, .measure = state->measure, .queries = state->queries};
	GenieHit   *hits = genie_round_array(picked->n, sizeof(GenieHit));
	const uint32 *places = picked->places;

	some.n_hits = picked->n_of;
	some.hits = genie_round_array((Size) state->n * round->n_sources, sizeof(GenieHit *));
	genie_round_make_room(round, &some);
	for (uint32 i = 0; i < state->n; i++)
		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * state->n + i;

			some.hits[list] = hits;
			for (uint32 h = 0; h < some.n_hits[list]; h++)
				*hits++ = state->hits[list][*places++];
		}
	if (!genie_round_number(round, &some))
		return false;
	for (uint32 i = 0; i < state->n; i++)
	{
		uint32	   *order = some.order + (Size) i * some.ask;

		some.n_order[i] = 0;
		for (uint32 s = 0; s < round->n_sources; s++)
			for (uint32 h = 0; h < some.n_hits[s * state->n + i]; h++)
			{
				uint32		row = some.row_of[(Size) (s * state->n + i) * some.ask + h];

				order[some.n_order[i]++] = row;
				some.wanted[row] = true;
			}
	}
	genie_round_visit(round, &some);
	return true;
}

/* Notes what the queries took, now that nothing can go wrong: of their hits n_measured[i] were measured. */
static void
genie_round_finish_picked(const GenieRound *round, const GenieRoundState *state, const uint32 *n_taken,
						  const uint32 *n_measured)
{
	for (uint32 i = 0; i < state->n; i++)
	{
		state->queries[i]->at_end = true;
		for (uint32 s = 0; s < round->n_sources; s++)
		{
			genie_round_go_on(state, i, s, n_taken[s * state->n + i]);
			state->queries[i]->n_found += n_taken[s * state->n + i];
		}
		state->queries[i]->n_found -= n_measured[i];
	}
}

/* Might a query take more rows than it wants? */
static bool
genie_round_takes_too_many(const GenieRound *round, const GenieRoundState *state, const uint32 *n_taken)
{
	for (uint32 i = 0; i < state->n; i++)
	{
		uint64		n = state->queries[i]->n_found;

		for (uint32 s = 0; s < round->n_sources; s++)
			n += n_taken[s * state->n + i];
		if (n > round->k)
			return true;
	}
	return false;
}

/* The first window: up to the k-th least bound of each query. */
static void
genie_round_first_window(const GenieRound *round, const GenieRoundState *state, const uint32 *n_taken,
						 GenieRoundWindow *window)
{
	GenieRoundLeast least = {.k = state->measure->k};

	least.bounds = genie_round_array(least.k, sizeof(float));
	for (uint32 i = 0; i < state->n; i++)
	{
		least.n = 0;
		for (uint32 s = 0; s < round->n_sources; s++)
			genie_round_add_bounds(&least, state->bounds[s * state->n + i], n_taken[s * state->n + i]);
		window->upto[i] = genie_round_last_bound(&least);
	}
}

bool
genie_round_measure_first(const GenieRound *round, const GenieRoundState *state, bool *stale)
{
	Size		n_lists = (Size) state->n * round->n_sources;
	GenieRoundState own = *state;	/* its bounds are changed, but somebody else may go on with others' */
	uint32	   *n_taken = genie_round_array(n_lists, sizeof(uint32));
	uint32	   *n_measured = genie_round_array(state->n, sizeof(uint32));
	GenieRoundWindow window = genie_round_window(state);
	GenieRoundPicked unsure = genie_round_picked(round, state);
	GenieRoundPicked picked = genie_round_picked(round, state);

	*stale = false;
	if (!genie_visit_may_skip(&round->visitor))
		return false;
	own.bounds = genie_round_array(n_lists, sizeof(float *));
	memcpy(own.bounds, state->bounds, n_lists * sizeof(float *));
	*stale = !genie_round_cut(round, &own, n_taken);
	if (*stale || genie_round_takes_too_many(round, &own, n_taken) ||
		!genie_round_find_unsure(round, &own, n_taken, &unsure, stale))
		return false;
	genie_round_first_window(round, &own, n_taken, &window);
	memset(n_measured, 0, state->n * sizeof(uint32));
	for (int pass = 0; pass < 2; pass++)
	{
		genie_round_pick(round, &own, n_taken, &window, &unsure, &picked, n_measured);
		*stale = !genie_round_measure_picked(round, &own, &picked);
		if (*stale)
			return false;
		if (pass > 0)
			break;
		genie_round_move_window(&own, &window);
		memset(unsure.n_of, 0, n_lists * sizeof(uint32));
	}
	genie_round_finish_picked(round, &own, n_taken, n_measured);
	return true;
}

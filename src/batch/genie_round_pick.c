/*
 * genie_round_pick.c
 *	  Measuring rows in a round, picked by bounds of their distances (genie_round.h).
 *
 * Of the rows that a query takes, only the k nearest matter in the end.  Where there are lower bounds of their
 * distances (genie_quantized.h), most rows are not visited:
 *
 *	1.	the k rows with the least bounds are measured; the k-th nearest of these is at least as far as that of all
 *	2.	the others are measured whose bound is not above its distance
 *
 * The rest are farther than k rows that were measured.  That holds for rows that are certain to be visible
 * (genie_all_visible.c).  All others that a query takes, the unsure ones, are visited in 1.  So more or fewer rows are
 * measured than without bounds, but the k nearest are the same.
 *
 * A call has hundreds of thousands of hits, and visits a few of a hundred.  To number all hits, which sorts them and
 * reads their TIDs, would take several times as long as the visits.  So only hits that are visited are numbered:
 *
 *	cut			each query takes the best `ask` hits of all sources.  TIDs decide only between hits of several sources
 *				that share the last key that is taken; these are numbered
 *	unsure		the pages that are not all-visible are looked up in each segment's object table, as ranges of objects,
 *				and not each hit's page
 *	pick		the hits whose bounds are in a window, which is a range of bounds of each query.  The first window has
 *				the rows of 1, the second those of 2.  What was picked is numbered, visited and measured
 *
 * A query that may take more visible rows than it still wants cannot be answered so: which rows it takes depends on
 * which ones are visible.
 */
#include "postgres.h"

#include <math.h>

#include "genie_all_visible.h"
#include "genie_heap.h"
#include "genie_object_table.h"
#include "genie_round.h"

#define GENIE_ROUND_BOUNDS 128	/* that are compared with the k-th least so far together */

/* Bounds are at least 0. */
#define GENIE_ROUND_UNSURE (-0.5f)	/* in the place of an unsure hit's bound: it is in the first window */
#define GENIE_ROUND_BELOW (-1.0f)	/* less than all of these */

/* ---- what is taken ---- */

/* How many hits of a list, best first, have at least that key. */
static uint32
genie_round_count_at_least(const GenieRoundHits *hits, uint32 list, uint64 key)
{
	const GenieHit *list_hits = hits->lists[list];
	uint32		low = 0;
	uint32		high = hits->n_hits[list];

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (list_hits[middle].key >= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same of all lists of query i. */
static uint64
genie_round_sum_at_least(const GenieRound *round, const GenieRoundHits *hits, uint32 i, uint64 key)
{
	uint64		sum = 0;

	for (uint32 s = 0; s < round->n_sources; s++)
		sum += genie_round_count_at_least(hits, s * hits->n + i, key);
	return sum;
}

/* The largest key that at least `ask` hits of query i have, as its hits are more than that; a full list has one. */
static uint32
genie_round_last_key(const GenieRound *round, const GenieRoundHits *hits, uint32 i)
{
	uint32		low = 0;
	uint32		high = 0;

	for (uint32 s = 0; s < round->n_sources; s++)
	{
		uint32		list = s * hits->n + i;

		if (hits->n_hits[list] > 0)
			high = Max(high, hits->lists[list][0].key);
		if (hits->n_hits[list] == hits->ask)
			low = Max(low, hits->lists[list][hits->ask - 1].key);
	}
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2 + 1;

		if (genie_round_sum_at_least(round, hits, i, middle) >= hits->ask)
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
genie_round_take_above(const GenieRound *round, const GenieRoundHits *hits, uint32 i, uint32 *n_taken,
					   GenieRoundHits *last)
{
	uint64		key = genie_round_last_key(round, hits, i);
	uint32		left = (uint32) (hits->ask - genie_round_sum_at_least(round, hits, i, key + 1));
	uint32		n_sources = 0;
	uint64		n_last = 0;

	for (uint32 s = 0; s < round->n_sources; s++)
	{
		uint32		list = s * hits->n + i;

		n_taken[list] = genie_round_count_at_least(hits, list, key + 1);
		last->n_hits[list] = genie_round_count_at_least(hits, list, key) - n_taken[list];
		last->lists[list] = hits->lists[list] + n_taken[list];
		n_sources += last->n_hits[list] > 0;
		n_last += last->n_hits[list];
	}
	if (n_sources > 1 && n_last > left)
	{
		for (uint32 s = 0; s < round->n_sources; s++)
			last->ask = Max(last->ask, last->n_hits[s * hits->n + i]);
		return left;
	}
	for (uint32 s = 0; s < round->n_sources; s++)
	{
		n_taken[s * hits->n + i] += Min(last->n_hits[s * hits->n + i], left);
		last->n_hits[s * hits->n + i] = 0;
	}
	return 0;
}

/*
 * How many hits of each list are taken: the best `ask` of all sources, by (key desc, tid asc).  TIDs are needed only
 * of hits that share the last key, where several sources have some.  False: stale.
 */
static bool
genie_round_cut(const GenieRound *round, const GenieRoundHits *hits, uint32 *n_taken)
{
	Size		n_lists = (Size) hits->n * round->n_sources;
	GenieRoundHits last = {.n = hits->n};
	uint32	   *left = genie_round_array(hits->n, sizeof(uint32));
	uint32	   *n_last = genie_round_array0(n_lists, sizeof(uint32));

	last.n_hits = genie_round_array0(n_lists, sizeof(uint32));
	last.lists = genie_round_array(n_lists, sizeof(GenieHit *));
	memcpy(n_taken, hits->n_hits, n_lists * sizeof(uint32));
	for (uint32 i = 0; i < hits->n; i++)
	{
		uint64		n_hits = genie_round_sum_at_least(round, hits, i, 0);

		left[i] = n_hits <= hits->ask ? 0 : genie_round_take_above(round, hits, i, n_taken, &last);
	}
	if (last.ask == 0)
		return true;
	if (!genie_round_number(round, &last))
		return false;
	for (uint32 i = 0; i < hits->n; i++)
	{
		GenieRoundNext best;

		for (; left[i] > 0 && genie_round_best(round, &last, i, n_last, &best); left[i]--)
		{
			n_last[best.list]++;
			n_taken[best.list]++;
		}
	}
	return true;
}

/* ---- what must be visited ---- */

/* Bits of a source's objects that are on one of the pages.  NULL: stale. */
static uint64 *
genie_round_unsure_objects(const GenieSource *source, const BlockNumber *pages, uint32 n_pages)
{
	uint64	   *bits = genie_round_array0((Size) source->segment->header.n_objects / 64 + 1, sizeof(uint64));
	GenieObjectReader reader;

	genie_object_table_reader(&reader, source->segment, false);
	return genie_object_table_mark_pages(&reader, pages, n_pages, bits) ? bits : NULL;
}

/* Marks the unsure hits of a list, in bounds of its own: the others may still be needed. */
static void
genie_round_mark_unsure(GenieRoundHits *taken, uint32 list, const uint64 *unsure)
{
	Size		n_hits = taken->n_hits[list];
	float	   *bounds = NULL;

	for (uint32 h = 0; h < n_hits; h++)
	{
		uint32		object = taken->lists[list][h].object;

		if ((unsure[object / 64] >> (object % 64) & 1) == 0)
			continue;
		if (bounds == NULL)
		{
			bounds = genie_round_array(n_hits, sizeof(float));
			memcpy(bounds, taken->bounds[list], n_hits * sizeof(float));
			taken->bounds[list] = bounds;
		}
		bounds[h] = GENIE_ROUND_UNSURE;
	}
}

/* Marks all unsure hits.  False: all are, or a segment is stale (*stale). */
static bool
genie_round_find_unsure(const GenieRound *round, GenieRoundHits *taken, bool *stale)
{
	BlockNumber *pages;
	uint32		n_pages;

	if (!genie_all_visible_unsure_pages(&round->visitor, round->tombstone_version, &pages, &n_pages))
		return false;
	for (uint32 s = 0; s < round->n_sources && n_pages > 0; s++)
	{
		uint64	   *unsure = genie_round_unsure_objects(round->sources[s], pages, n_pages);

		*stale = unsure == NULL;
		if (*stale)
			return false;
		for (uint32 i = 0; i < taken->n; i++)
			genie_round_mark_unsure(taken, s * taken->n + i, unsure);
		pfree(unsure);
	}
	return true;
}

/* ---- windows ---- */

/* Hits of query i are in it whose bound is above the one and up to the other. */
typedef struct GenieRoundWindow
{
	float	   *above;
	float	   *upto;
} GenieRoundWindow;

static inline bool
genie_round_is_less(const float *a, const float *b)
{
	return *a < *b;
}

GENIE_HEAP(genie_round_least, float, genie_round_is_less)

/* Adds bounds to the k least so far, a heap of *n.  Of many bounds most are above all of these. */
static void
genie_round_add_bounds(float *least, uint32 k, uint32 *n, const float *bounds, uint32 n_bounds)
{
	uint32		places[GENIE_ROUND_BOUNDS];

	for (uint32 first = 0; first < n_bounds; first += GENIE_ROUND_BOUNDS)
	{
		uint32		n_places = genie_quantized_within(bounds + first, Min(n_bounds - first, GENIE_ROUND_BOUNDS),
													  GENIE_ROUND_UNSURE, *n < k ? INFINITY : least[0], places);

		for (uint32 p = 0; p < n_places; p++)
		{
			float		bound = bounds[first + places[p]];

			if (*n < k)
				genie_round_least_add(least, (*n)++, bound);
			else if (bound < least[0])
				genie_round_least_replace(least, *n, bound);
		}
	}
}

/* The first window: unsure hits, and the others up to the k-th least bound of each query. */
static GenieRoundWindow
genie_round_first_window(const GenieRound *round, const GenieRoundHits *taken)
{
	uint32		k = round->measure->k;
	float	   *least = genie_round_array(k, sizeof(float));
	GenieRoundWindow window;

	window.above = genie_round_array(taken->n, sizeof(float));
	window.upto = genie_round_array(taken->n, sizeof(float));
	for (uint32 i = 0; i < taken->n; i++)
	{
		uint32		n = 0;

		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * taken->n + i;

			genie_round_add_bounds(least, k, &n, taken->bounds[list], taken->n_hits[list]);
		}
		window.above[i] = GENIE_ROUND_BELOW;
		window.upto[i] = n > 0 ? least[0] : 0;
	}
	return window;
}

/* The nearest by bounds have been measured: now those that may be among the nearest, too. */
static void
genie_round_next_window(const GenieRound *round, const GenieRoundHits *taken, GenieRoundWindow *window)
{
	for (uint32 i = 0; i < taken->n; i++)
	{
		double		farthest = round->measure->farthest(round->measure->arg, taken->queries[i]->number);
		float		upto = (float) farthest;

		window->above[i] = window->upto[i];
		window->upto[i] = upto < farthest ? nextafterf(upto, INFINITY) : upto;
	}
}

/* Measures the rows of hits in the window, which are added to n_picked of each query.  False: stale. */
static bool
genie_round_measure_window(const GenieRound *round, const GenieRoundHits *taken, const GenieRoundWindow *window,
						   uint32 *n_picked)
{
	Size		n_lists = (Size) taken->n * round->n_sources;
	GenieRoundHits picked = {.n = taken->n, .queries = taken->queries};
	GenieHit   *hits = genie_round_array((Size) taken->n * taken->ask, sizeof(GenieHit));
	uint32	   *places = genie_round_array(taken->ask, sizeof(uint32));

	picked.n_hits = genie_round_array(n_lists, sizeof(uint32));
	picked.lists = genie_round_array(n_lists, sizeof(GenieHit *));
	for (uint32 i = 0; i < taken->n; i++)
	{
		const GenieHit *first = hits;

		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * taken->n + i;

			picked.lists[list] = hits;
			picked.n_hits[list] = genie_quantized_within(taken->bounds[list], taken->n_hits[list], window->above[i],
														 window->upto[i], places);
			for (uint32 p = 0; p < picked.n_hits[list]; p++)
				*hits++ = taken->lists[list][places[p]];
		}
		n_picked[i] += hits - first;
		picked.ask = Max(picked.ask, hits - first);
	}
	if (!genie_round_number(round, &picked))
		return false;
	for (uint32 i = 0; i < taken->n; i++)
		for (uint32 s = 0; s < round->n_sources; s++)
		{
			Size		list = s * taken->n + i;

			for (uint32 h = 0; h < picked.n_hits[list]; h++)
				genie_round_take(&picked, i, picked.row_of[list * picked.ask + h]);
		}
	genie_round_measure_wanted(round, &picked);
	return true;
}

bool
genie_round_pick(const GenieRound *round, const GenieRoundHits *hits, bool *stale)
{
	Size		n_lists = (Size) hits->n * round->n_sources;
	GenieRoundHits taken = *hits;
	uint32	   *n_picked = genie_round_array0(hits->n, sizeof(uint32));
	GenieRoundWindow window;

	taken.n_hits = genie_round_array(n_lists, sizeof(uint32));
	taken.bounds = genie_round_array(n_lists, sizeof(float *));
	memcpy(taken.bounds, hits->bounds, n_lists * sizeof(float *));
	*stale = !genie_round_cut(round, hits, taken.n_hits);
	if (*stale || genie_round_takes_too_many(round, hits, taken.n_hits) ||
		!genie_round_find_unsure(round, &taken, stale))
		return false;
	window = genie_round_first_window(round, &taken);
	*stale = !genie_round_measure_window(round, &taken, &window, n_picked);
	if (*stale)
		return false;
	genie_round_next_window(round, &taken, &window);
	*stale = !genie_round_measure_window(round, &taken, &window, n_picked);
	if (*stale)
		return false;
	genie_round_go_on(round, hits, taken.n_hits);
	for (uint32 i = 0; i < hits->n; i++)	/* rows that were passed over are visible, too */
	{
		for (uint32 s = 0; s < round->n_sources; s++)
			hits->queries[i]->n_found += taken.n_hits[s * hits->n + i];
		hits->queries[i]->n_found -= n_picked[i];
	}
	return true;
}

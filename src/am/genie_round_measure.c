/*
 * genie_round_measure.c
 *	  A round of a batch search whose rows somebody measures (genie_round.c).
 *
 * Each row that a query takes is shown to him once, with all queries that take it.  In all rounds but the first, which
 * asks for no more rows than a query wants, a query may have taken more than it still does; then a visit that shows no
 * rows goes before, which tells how many of them are visible, and so which ones the query leaves.
 *
 * Bounds.  Of the rows that a query takes, only the k nearest matter to who measures.  Where there are lower bounds of
 * their distances (genie_quantized.h), most rows are not looked at:
 *
 *	1.	the k rows with the least bounds are measured; the k-th nearest of these is at least as far as that of all
 *	2.	so are those of the others whose bound is not above its distance
 *
 * The rest are farther than k rows that were measured.  But a query takes so many *visible* rows, and a row that is not
 * looked at may be none: so this is for rows whose page the visibility map calls visible to everybody, and the others
 * are looked at, all of them, in 1.  What is measured in the end differs, what the k nearest are does not.
 *
 * A page may be visible because VACUUM has removed what a source gave, since that was opened: then the tombstone
 * version is another one after the map was asked, and the map is not believed.
 *
 * Rows and TIDs are not needed of hits that are not looked at.  Where the map says that of the whole table, hits are
 * picked by their bounds before rows are numbered.  Which hits of several sources a query takes depends on TIDs only
 * among those that share the last key it takes.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "genie_heap.h"
#include "genie_round_state.h"

#define GENIE_ROUND_BOUNDS 128	/* that are looked at together */

/* ---- all rows that are wanted ---- */

/* Each row gets to know who takes it. */
static void
genie_round_find_takers(GenieRoundState *state, uint32 n_rows)
{
	uint32	   *at = genie_round_array(n_rows + 1, sizeof(uint32));

	memset(at, 0, (n_rows + 1) * sizeof(uint32));
	for (uint32 i = 0; i < state->n; i++)
		for (uint32 j = 0; j < state->n_order[i]; j++)
			at[state->order[(Size) i * state->ask + j] + 1]++;
	for (uint32 r = 0; r < n_rows; r++)
		at[r + 1] += at[r];
	state->first_taker = genie_round_array(n_rows + 1, sizeof(uint32));
	memcpy(state->first_taker, at, (n_rows + 1) * sizeof(uint32));
	state->takers = genie_round_array(at[n_rows], sizeof(uint32));
	for (uint32 i = 0; i < state->n; i++)
		for (uint32 j = 0; j < state->n_order[i]; j++)
			state->takers[at[state->order[(Size) i * state->ask + j]]++] = i;
	pfree(at);
}

/* Shows a visible row to who measures, and who takes it. */
static void
genie_round_show(void *arg, GenieVisitRow *row, TupleTableSlot *slot)
{
	GenieRoundState *state = arg;
	Size		r = row - state->rows;

	state->measure->row(state->measure->arg, slot);
	for (uint32 t = state->first_taker[r]; t < state->first_taker[r + 1]; t++)
	{
		GenieRoundQuery *query = state->queries[state->takers[t]];

		state->measure->take(state->measure->arg, query->number, row);
		query->n_found++;
	}
}

/* Visits the wanted rows, and shows the visible ones to who measures. */
static void
genie_round_visit(const GenieRound *round, GenieRoundState *state)
{
	GenieVisitor visitor = round->visitor;
	uint32		n;
	GenieVisitRow **rows = genie_round_wanted(round, state, &n);

	visitor.found = genie_round_show;
	visitor.arg = state;
	genie_round_find_takers(state, state->first_row[round->n_sources]);
	genie_visit(&visitor, rows, n);
	pfree(rows);
}

/* May there be more visible rows than a query still wants? */
static bool
genie_round_has_too_many(const GenieRound *round, const GenieRoundState *state)
{
	for (uint32 i = 0; i < state->n; i++)
		if (state->n_order[i] > round->k - state->queries[i]->n_found)
			return true;
	return false;
}

/* Queries leave visible rows behind the last one that they want. */
static void
genie_round_leave(const GenieRound *round, GenieRoundState *state)
{
	uint32		n_rows;
	GenieVisitRow **rows = genie_round_wanted(round, state, &n_rows);

	genie_visit(&round->visitor, rows, n_rows);
	pfree(rows);
	memset(state->wanted, 0, state->first_row[round->n_sources] * sizeof(bool));
	for (uint32 i = 0; i < state->n; i++)
	{
		uint32		wants = round->k - state->queries[i]->n_found;
		uint32		n = 0;

		for (; n < state->n_order[i] && wants > 0; n++)
		{
			uint32		row = state->order[(Size) i * state->ask + n];

			state->wanted[row] = true;
			wants -= state->rows[row].live != 0;
		}
		state->n_order[i] = n;
	}
}

/* ---- by bounds ---- */

static inline bool
genie_round_is_less(const float *a, const float *b)
{
	return *a < *b;
}

GENIE_HEAP(genie_round_least, float, genie_round_is_less)

/* The k least bounds so far: a heap. */
typedef struct GenieRoundLeast
{
	uint32		k;
	uint32		n;
	float	   *bounds;
} GenieRoundLeast;

static inline void
genie_round_add_bound(GenieRoundLeast *least, float bound)
{
	if (least->n < least->k)
		genie_round_least_add(least->bounds, least->n++, bound);
	else if (bound < least->bounds[0])
		genie_round_least_replace(least->bounds, least->n, bound);
}

/* Of many bounds most are above the k-th least so far. */
static void
genie_round_add_bounds(GenieRoundLeast *least, const float *bounds, uint32 n)
{
	uint32		places[GENIE_ROUND_BOUNDS];

	for (uint32 first = 0; first < n; first += GENIE_ROUND_BOUNDS)
	{
		float		limit = least->n < least->k ? INFINITY : least->bounds[0];
		uint32		n_places = genie_quantized_within(bounds + first, Min(n - first, GENIE_ROUND_BOUNDS), -1, limit,
													  places);

		for (uint32 p = 0; p < n_places; p++)
			genie_round_add_bound(least, bounds[first + places[p]]);
	}
}

/* The k-th least bound, or the largest. */
static inline float
genie_round_last_bound(const GenieRoundLeast *least)
{
	return least->n > 0 ? least->bounds[0] : 0;
}

/* Bounds that rows have which are looked at: above the one and up to the other, for each query. */
typedef struct GenieRoundWindow
{
	float	   *above;
	float	   *upto;
} GenieRoundWindow;

static GenieRoundWindow
genie_round_window(const GenieRoundState *state)
{
	GenieRoundWindow window;

	window.above = genie_round_array(state->n, sizeof(float));
	window.upto = genie_round_array(state->n, sizeof(float));
	for (uint32 i = 0; i < state->n; i++)
		window.above[i] = -1;	/* bounds are at least 0 */
	return window;
}

/* The nearest by bounds have been measured: now those that may be among the nearest, too. */
static void
genie_round_move_window(const GenieRoundState *state, GenieRoundWindow *window)
{
	for (uint32 i = 0; i < state->n; i++)
	{
		double		farthest = state->measure->farthest(state->measure->arg, state->queries[i]->number);
		float		upto = (float) farthest;

		window->above[i] = window->upto[i];
		window->upto[i] = upto < farthest ? nextafterf(upto, INFINITY) : upto;
	}
}

static inline bool
genie_round_in_window(const GenieRoundWindow *window, uint32 i, float bound)
{
	return (bound > window->above[i]) & (bound <= window->upto[i]);
}

/* Was it passed over, now that the window has moved? */
static inline bool
genie_round_behind_window(const GenieRoundWindow *window, uint32 i, float bound)
{
	return (bound > window->above[i]) & (bound > window->upto[i]);
}

/* ---- by bounds, when rows are numbered and merged ---- */

/* What queries take, and of which rows the map says that they are visible. */
typedef struct GenieRoundTaken
{
	uint32	   *n_order;
	uint32	   *order;
	bool	   *is_sure;		/* of each row */
} GenieRoundTaken;

/* Rows that are sure come in TID order source by source, so the map is asked once a page. */
static bool *
genie_round_ask_map(const GenieRound *round, const GenieRoundState *state)
{
	uint32		n_rows = state->first_row[round->n_sources];
	bool	   *is_sure = genie_round_array(n_rows, sizeof(bool));
	Buffer		map = InvalidBuffer;

	for (uint32 r = 0; r < n_rows; r++)
		is_sure[r] = r > 0 && state->rows[r].tid >> 16 == state->rows[r - 1].tid >> 16 ? is_sure[r - 1] :
			genie_visit_skips(&round->visitor, &state->rows[r], &map);
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	if (genie_source_was_vacuumed(round->visitor.index, round->tombstone_version))
		memset(is_sure, 0, n_rows * sizeof(bool));
	return is_sure;
}

/* Measures rows in the window; at first those that are not sure, too.  Others are left for the next time. */
static void
genie_round_measure_window(const GenieRound *round, GenieRoundState *state, const GenieRoundTaken *taken,
						   const GenieRoundWindow *window, bool is_first)
{
	memset(state->wanted, 0, state->first_row[round->n_sources] * sizeof(bool));
	for (uint32 i = 0; i < state->n; i++)
	{
		Size		base = (Size) i * state->ask;

		state->n_order[i] = 0;
		for (uint32 j = 0; j < taken->n_order[i]; j++)
		{
			uint32		row = taken->order[base + j];

			if (taken->is_sure[row] ? !genie_round_in_window(window, i, state->order_bounds[base + j]) : !is_first)
				continue;
			state->order[base + state->n_order[i]++] = row;
			state->wanted[row] = true;
		}
		CHECK_FOR_INTERRUPTS();
	}
	genie_round_visit(round, state);
}

/* A query has found what it did not look at: those are visible. */
static void
genie_round_count_passed(const GenieRoundTaken *taken, GenieRoundState *state, const GenieRoundWindow *window)
{
	for (uint32 i = 0; i < state->n; i++)
		for (uint32 j = 0; j < taken->n_order[i]; j++)
		{
			Size		at = (Size) i * state->ask + j;

			state->queries[i]->n_found += taken->is_sure[taken->order[at]] &&
				genie_round_behind_window(window, i, state->order_bounds[at]);
		}
}

static void
genie_round_measure_bounded(const GenieRound *round, GenieRoundState *state)
{
	GenieRoundTaken taken = {.n_order = genie_round_array(state->n, sizeof(uint32)), .order = state->order};
	GenieRoundWindow window = genie_round_window(state);
	GenieRoundLeast least = {.k = state->measure->k};

	memcpy(taken.n_order, state->n_order, state->n * sizeof(uint32));
	taken.is_sure = genie_round_ask_map(round, state);
	state->order = genie_round_array((Size) state->n * state->ask, sizeof(uint32));
	least.bounds = genie_round_array(least.k, sizeof(float));
	for (uint32 i = 0; i < state->n; i++)
	{
		Size		base = (Size) i * state->ask;

		least.n = 0;
		for (uint32 j = 0; j < taken.n_order[i]; j++)
			if (taken.is_sure[taken.order[base + j]])
				genie_round_add_bound(&least, state->order_bounds[base + j]);
		window.upto[i] = genie_round_last_bound(&least);
	}
	genie_round_measure_window(round, state, &taken, &window, true);
	genie_round_move_window(state, &window);
	genie_round_measure_window(round, state, &taken, &window, false);
	genie_round_count_passed(&taken, state, &window);
}

void
genie_round_measure(const GenieRound *round, GenieRoundState *state)
{
	if (genie_round_has_too_many(round, state))
		genie_round_leave(round, state);
	else if (state->order_bounds != NULL && genie_visit_may_skip(&round->visitor))
	{
		genie_round_measure_bounded(round, state);
		return;
	}
	genie_round_visit(round, state);
}

/* ---- by bounds, before rows are numbered ---- */

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

/* Hits that are picked of each query and source, query by query, by their places in their lists, ascending. */
typedef struct GenieRoundPicked
{
	uint32		n;
	uint32	   *places;
	uint32	   *n_of;			/* each list */
	uint32		most;			/* of one query */
} GenieRoundPicked;

/* Picks those hits that are taken whose bounds are in the window, and counts them in n_measured. */
static void
genie_round_pick(const GenieRound *round, const GenieRoundState *state, const uint32 *n_taken,
				 const GenieRoundWindow *window, GenieRoundPicked *picked, uint32 *n_measured)
{
	picked->n = picked->most = 0;
	for (uint32 i = 0; i < state->n; i++)
	{
		uint32		first = picked->n;

		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * state->n + i;

			picked->n_of[list] = n_taken[list] == 0 ? 0 :
				genie_quantized_within(state->bounds[list], n_taken[list], window->above[i], window->upto[i],
									   picked->places + picked->n);
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

/* The first window: up to the k-th least bound of each query.  False: a query might take more rows than it wants. */
static bool
genie_round_first_window(const GenieRound *round, const GenieRoundState *state, const uint32 *n_taken,
						 GenieRoundWindow *window)
{
	GenieRoundLeast least = {.k = state->measure->k};

	least.bounds = genie_round_array(least.k, sizeof(float));
	for (uint32 i = 0; i < state->n; i++)
	{
		uint32		n = 0;

		least.n = 0;
		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * state->n + i;

			genie_round_add_bounds(&least, state->bounds[list], n_taken[list]);
			n += n_taken[list];
		}
		if (n > round->k - state->queries[i]->n_found)
			return false;
		window->upto[i] = genie_round_last_bound(&least);
	}
	return true;
}

bool
genie_round_measure_first(const GenieRound *round, GenieRoundState *state, bool *stale)
{
	Size		n_lists = (Size) state->n * round->n_sources;
	uint32	   *n_taken = genie_round_array(n_lists, sizeof(uint32));
	uint32	   *n_measured = genie_round_array(state->n, sizeof(uint32));
	GenieRoundWindow window = genie_round_window(state);
	GenieRoundPicked picked = {.n_of = genie_round_array(n_lists, sizeof(uint32))};

	*stale = false;
	if (!genie_visit_may_skip(&round->visitor) || !genie_visit_skips_all(&round->visitor) ||
		genie_source_was_vacuumed(round->visitor.index, round->tombstone_version))
		return false;
	*stale = !genie_round_cut(round, state, n_taken);
	if (*stale || !genie_round_first_window(round, state, n_taken, &window))
		return false;
	picked.places = genie_round_array((Size) state->n * state->ask, sizeof(uint32));
	memset(n_measured, 0, state->n * sizeof(uint32));
	for (int pass = 0; pass < 2; pass++)
	{
		genie_round_pick(round, state, n_taken, &window, &picked, n_measured);
		*stale = !genie_round_measure_picked(round, state, &picked);
		if (*stale)
			return false;
		if (pass == 0)
			genie_round_move_window(state, &window);
	}
	genie_round_finish_picked(round, state, n_taken, n_measured);
	return true;
}

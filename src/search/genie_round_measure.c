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
 * Rows and TIDs are not needed of hits that are not looked at: genie_round_pick.c does without them, where the map says
 * that of most of the table.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "genie_round_bounds.h"

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

void
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

/*
 * genie_round.c
 *	  A round of a batch search (genie_round.h).
 *
 *	1. ask		each source for the best `ask` objects of each query behind what was taken of it before
 *	2. number	an object is a row of the round, however many queries hit it; rows get their TIDs
 *	3. merge	each query takes the best `ask` of all sources by (count desc, tid asc)
 *	4. visit	the rows that were taken, in TID order
 *	5. keep		each query's visible ones, in its order, until there are k
 *
 * Or, if somebody measures rows, 4 and 5 are one: a row is shown to him once, with the queries that take it one after
 * the other, and nothing is kept here.  In all rounds but the first, which asks for no more rows than a query wants,
 * it may have taken more than it still does; then a visit that shows no rows goes before, which tells how many of
 * them are visible, and so which ones the query leaves.
 *
 * That is what a scan of one query would take: a source's hits come in its order, so the best of all sources are among
 * the best `ask` of each, and a source goes on behind the last hit that was taken of it.  It has ended when it gave
 * fewer than was asked for and all of those were taken.
 *
 * Objects are sorted by number within their source, which is TID order: then TIDs are found by going through the
 * object table once, and each page of the table is visited once, whatever the number of sources and of hits on it.
 *
 * Visibility.  Each row is looked up in the table under the caller's MVCC snapshot after the answer has come
 * (genie_visit.h).
 *
 * VACUUM at the same time.  It may remove a row's TID from the index between 1 and 4, raise the tombstone version, and
 * free the line pointer.  The row is then dead to every snapshot, ours too: the look-up finds an unused line pointer,
 * or one that is used again by a row newer than our snapshot, which does not see it, and takes neither.  So what was
 * answered from older tombstones is checked again here, always, and an old answer costs only the rows asked for in
 * vain.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_fault.h"
#include "genie_object_table.h"
#include "genie_round.h"

#define GENIE_INTERRUPT_ROWS 1024	/* between two looks at whether the query was cancelled */

/* a digit of an object's number, which is the upper half of a key */
#define GENIE_DIGIT_BITS 11
#define GENIE_DIGIT(key, shift) ((uint32) ((key) >> (32 + (shift))) & ((1 << GENIE_DIGIT_BITS) - 1))

/* The hits of query i in source s are number s * n + i, each with room for `ask`. */
typedef struct GenieRoundState
{
	uint32		n;
	uint32		ask;
	GenieHit   *hits;
	uint32	   *n_hits;
	uint32	   *row_of;			/* of each hit */
	GenieVisitRow *rows;		/* of each object that was hit; source after source, ascending */
	bool	   *wanted;			/* was it taken? */
	uint32	   *first_row;		/* of each source, and the end */
	uint32	   *order;			/* rows that query i takes, from i * ask on */
	uint32	   *n_order;
	uint32	   *counts;			/* with them */

	/* if somebody measures */
	const GenieRoundMeasure *measure;
	GenieRoundQuery **queries;
	uint32	   *first_taker;	/* of each row, and the end */
	uint32	   *takers;			/* queries, row by row */
} GenieRoundState;

static void *
genie_round_array(Size n, Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, (n + 1) * size);
}

void
genie_round_query(const GenieRound *round, uint32 number, GenieRoundQuery *query)
{
	memset(query, 0, sizeof(*query));
	query->number = number;
	if (round->measure == NULL)
	{
		query->found = genie_round_array(round->k, sizeof(GenieRoundFound));
		query->taken_capacity = round->k;
		query->taken = genie_round_array(round->k, sizeof(uint64));
	}
	query->has_after = palloc0((round->n_sources + 1) * sizeof(bool));
	query->ended = palloc0((round->n_sources + 1) * sizeof(bool));
	query->after = palloc((round->n_sources + 1) * sizeof(GenieHit));
}

/* ---- asking ---- */

static bool
genie_round_ask(const GenieRound *round, GenieRoundQuery **queries, GenieRoundState *state)
{
	GenieSearchTop *tops = genie_round_array((Size) state->n * round->n_sources, sizeof(GenieSearchTop));
	uint32	   *list = genie_round_array((Size) state->n * round->n_sources, sizeof(uint32));
	uint32		n_tops = 0;

	for (uint32 s = 0; s < round->n_sources; s++)
		for (uint32 i = 0; i < state->n; i++)
		{
			uint32		number = s * state->n + i;
			GenieSearchTop *top = &tops[n_tops];

			state->n_hits[number] = 0;
			if (queries[i]->ended[s])
				continue;
			top->search = round->searches[s][queries[i]->number];
			top->k = state->ask;
			top->has_after = queries[i]->has_after[s];
			top->after = queries[i]->after[s];
			top->hits = state->hits + (Size) number * state->ask;
			list[n_tops++] = number;
		}
	if (!genie_search_tops(tops, n_tops))
		return false;
	for (uint32 t = 0; t < n_tops; t++)
		state->n_hits[list[t]] = tops[t].n_hits;
	pfree(tops);
	pfree(list);
	return true;
}

/* ---- rows and their TIDs ---- */

/* A source's objects in ascending order. */
typedef struct GenieTidWalk
{
	GenieObjectReader objects;
	const GenieTileObjects *tile;	/* NULL: none yet */
	uint32		number;			/* of the tile */
	uint32		run;
} GenieTidWalk;

/* The TID of an object that is not before the last one.  False: stale. */
static bool
genie_tid_walk(GenieTidWalk *walk, uint32 object, uint64 *tid)
{
	uint32		local = object & (GENIE_TILE_OBJECTS - 1);
	const GenieTidRun *run;

	if (walk->tile == NULL || walk->number != object >> GENIE_TILE_SHIFT)
	{
		walk->number = object >> GENIE_TILE_SHIFT;
		walk->tile = genie_object_tile(&walk->objects, walk->number);
		walk->run = 0;
		if (walk->tile == NULL)
			return false;
	}
	while (walk->run + 1 < walk->tile->n_runs && walk->tile->runs[walk->run + 1].start <= local)
		walk->run++;
	run = &walk->tile->runs[walk->run];
	*tid = ((uint64) run->block << 16) + run->offset + (local - run->start);
	return true;
}

/*
 * Sorts n keys by the object in their upper half, which is below n_objects: a radix sort, from the lowest digits up.
 * Returns where they are, in keys or in scratch.
 */
static uint64 *
genie_round_sort(uint64 *keys, uint64 *scratch, uint32 n, uint32 n_objects)
{
	for (uint32 shift = 0; shift < 32 && n_objects > UINT64CONST(1) << shift; shift += GENIE_DIGIT_BITS)
	{
		uint32		at[1 << GENIE_DIGIT_BITS] = {0};
		uint64	   *sorted = scratch;
		uint32		before = 0;

		for (uint32 i = 0; i < n; i++)
			at[GENIE_DIGIT(keys[i], shift)]++;
		for (uint32 digit = 0; digit < lengthof(at); digit++)
		{
			uint32		count = at[digit];

			at[digit] = before;
			before += count;
		}
		for (uint32 i = 0; i < n; i++)
			sorted[at[GENIE_DIGIT(keys[i], shift)]++] = keys[i];
		scratch = keys;
		keys = sorted;
	}
	return keys;
}

/* The rows of one source, from first_row[s] on.  keys and scratch have room for all its hits. */
static bool
genie_round_number_source(const GenieRound *round, GenieRoundState *state, uint32 s, uint64 *keys, uint64 *scratch)
{
	Size		base = (Size) s * state->n * state->ask;
	uint32		n_keys = 0;
	uint32		row = state->first_row[s];
	GenieTidWalk walk = {.tile = NULL};

	for (uint32 i = 0; i < state->n; i++)
		for (uint32 h = 0; h < state->n_hits[s * state->n + i]; h++)
		{
			Size		number = (Size) i * state->ask + h;

			keys[n_keys++] = ((uint64) state->hits[base + number].object << 32) | number;
		}
	keys = genie_round_sort(keys, scratch, n_keys, round->sources[s]->segment->header.n_objects);
	genie_object_reader(&walk.objects, round->sources[s]->segment, false);
	for (uint32 i = 0; i < n_keys; i++)
	{
		if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
		{
			if (!genie_tid_walk(&walk, (uint32) (keys[i] >> 32), &state->rows[row].tid))
				return false;
			row++;
		}
		state->row_of[base + (uint32) keys[i]] = row - 1;
		if (i % GENIE_INTERRUPT_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
	}
	state->first_row[s + 1] = row;
	return true;
}

static bool
genie_round_number(const GenieRound *round, GenieRoundState *state)
{
	Size		n_hits = 0;
	uint64	   *keys;
	uint64	   *scratch;

	for (uint32 l = 0; l < state->n * round->n_sources; l++)
		n_hits += state->n_hits[l];
	keys = genie_round_array(n_hits, sizeof(uint64));
	scratch = genie_round_array(n_hits, sizeof(uint64));
	state->rows = genie_round_array(n_hits, sizeof(GenieVisitRow));
	state->wanted = genie_round_array(n_hits, sizeof(bool));
	memset(state->wanted, 0, n_hits * sizeof(bool));
	state->first_row[0] = 0;
	for (uint32 s = 0; s < round->n_sources; s++)
		if (!genie_round_number_source(round, state, s, keys, scratch))
			return false;
	pfree(keys);
	pfree(scratch);
	return true;
}

/* ---- merging ---- */

/* Does a hit of one source, at place a, come before one of another, at b? */
static inline bool
genie_round_before(const GenieRoundState *state, Size a, Size b)
{
	uint32		x = state->hits[a].key;
	uint32		y = state->hits[b].key;

	return x > y || (x == y && state->rows[state->row_of[a]].tid < state->rows[state->row_of[b]].tid);
}

/* Merges the sources' hits of query i; next has an entry for each source. */
static void
genie_round_merge(const GenieRound *round, GenieRoundState *state, uint32 i, GenieRoundQuery *query, uint32 *next)
{
	memset(next, 0, round->n_sources * sizeof(uint32));
	state->n_order[i] = 0;
	while (state->n_order[i] < state->ask)
	{
		uint32		best_source = round->n_sources;
		Size		best = 0;
		Size		to = (Size) i * state->ask + state->n_order[i];

		for (uint32 s = 0; s < round->n_sources; s++)
		{
			Size		at = ((Size) s * state->n + i) * state->ask + next[s];

			if (next[s] == state->n_hits[s * state->n + i] ||
				(best_source < round->n_sources && !genie_round_before(state, at, best)))
				continue;
			best = at;
			best_source = s;
		}
		if (best_source == round->n_sources)
			break;
		state->order[to] = state->row_of[best];
		state->counts[to] = state->hits[best].key;
		state->wanted[state->row_of[best]] = true;
		state->n_order[i]++;
		query->after[best_source] = state->hits[best];
		query->has_after[best_source] = true;
		next[best_source]++;
	}
	query->at_end = true;
	for (uint32 s = 0; s < round->n_sources; s++)
	{
		uint32		n_hits = state->n_hits[s * state->n + i];

		query->ended[s] |= n_hits < state->ask && next[s] == n_hits;
		query->at_end &= query->ended[s];
	}
}

/* ---- measuring ---- */

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

/* May there be more visible rows than a query still wants? */
static bool
genie_round_has_too_many(const GenieRound *round, const GenieRoundState *state)
{
	for (uint32 i = 0; i < state->n; i++)
		if (state->n_order[i] > round->k - state->queries[i]->n_found)
			return true;
	return false;
}

/* Rows have been visited: queries leave those behind the last one that they want. */
static void
genie_round_leave(const GenieRound *round, GenieRoundState *state)
{
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

/* ---- visiting ---- */

/* Visits the wanted rows of all sources in TID order, and shows them if they are to be measured. */
static void
genie_round_visit(const GenieRound *round, GenieRoundState *state, bool measured)
{
	uint32	   *next = genie_round_array(round->n_sources, sizeof(uint32));
	GenieVisitRow **rows = genie_round_array(state->first_row[round->n_sources], sizeof(GenieVisitRow *));
	uint32		n = 0;
	GenieVisitor visitor = round->visitor;

	memcpy(next, state->first_row, round->n_sources * sizeof(uint32));
	for (;;)
	{
		GenieVisitRow *best = NULL;
		uint32		best_source = 0;

		for (uint32 s = 0; s < round->n_sources; s++)
		{
			while (next[s] < state->first_row[s + 1] && !state->wanted[next[s]])
				next[s]++;
			if (next[s] == state->first_row[s + 1] ||
				(best != NULL && state->rows[next[s]].tid >= best->tid))
				continue;
			best = &state->rows[next[s]];
			best_source = s;
		}
		if (best == NULL)
			break;
		rows[n++] = best;
		next[best_source]++;
		if (n % GENIE_INTERRUPT_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
	}
	if (measured)
	{
		visitor.found = genie_round_show;
		visitor.arg = state;
		genie_round_find_takers(state, state->first_row[round->n_sources]);
	}
	genie_visit(&visitor, rows, n);
	pfree(rows);
	pfree(next);
}

/* ---- keeping ---- */

/* Without anybody who measures: a query has taken a row, which has been visited.  Its place in order is at. */
static void
genie_round_keep_row(const GenieRoundState *state, GenieRoundQuery *query, Size at)
{
	const GenieVisitRow *row = &state->rows[state->order[at]];

	if (query->n_taken == query->taken_capacity)
	{
		query->taken_capacity *= 2;
		query->taken = repalloc_huge(query->taken, ((Size) query->taken_capacity + 1) * sizeof(uint64));
	}
	query->taken[query->n_taken++] = row->tid;
	if (row->live == 0)
		return;
	query->found[query->n_found].tid = row->live;
	query->found[query->n_found++].count = (int32) state->counts[at];
}

static void
genie_round_keep(const GenieRound *round, const GenieRoundState *state)
{
	for (uint32 i = 0; i < state->n; i++)
		for (uint32 j = 0; j < state->n_order[i] && state->queries[i]->n_found < round->k; j++)
			genie_round_keep_row(state, state->queries[i], (Size) i * state->ask + j);
}

/* The same with somebody who measures. */
static void
genie_round_measure(const GenieRound *round, GenieRoundState *state)
{
	if (genie_round_has_too_many(round, state))
	{
		genie_round_visit(round, state, false);
		genie_round_leave(round, state);
	}
	genie_round_visit(round, state, true);
}

bool
genie_round_run(GenieRound *round, GenieRoundQuery **queries, uint32 n, uint32 ask)
{
	MemoryContext old = MemoryContextSwitchTo(round->context);
	Size		n_lists = (Size) n * round->n_sources;
	GenieRoundState state = {.n = n, .ask = ask, .measure = round->measure, .queries = queries};
	uint32	   *next = genie_round_array(round->n_sources, sizeof(uint32));
	bool		ok;

	state.hits = genie_round_array(n_lists * ask, sizeof(GenieHit));
	state.n_hits = genie_round_array(n_lists, sizeof(uint32));
	state.row_of = genie_round_array(n_lists * ask, sizeof(uint32));
	state.first_row = genie_round_array(round->n_sources + 1, sizeof(uint32));
	state.order = genie_round_array((Size) n * ask, sizeof(uint32));
	state.n_order = genie_round_array(n, sizeof(uint32));
	state.counts = genie_round_array((Size) n * ask, sizeof(uint32));
	ok = genie_round_ask(round, queries, &state) && genie_round_number(round, &state);
	if (ok)
	{
		for (uint32 i = 0; i < n; i++)
			genie_round_merge(round, &state, i, queries[i], next);
		GENIE_FAULT("batch-answered");
		if (round->measure == NULL)
		{
			genie_round_visit(round, &state, false);
			genie_round_keep(round, &state);
		}
		else
			genie_round_measure(round, &state);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(round->context);
	return ok;
}

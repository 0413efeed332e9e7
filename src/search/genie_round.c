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
 * Or, if somebody measures rows, 4 and 5 are one, and not all rows that were taken may be visited
 * (genie_round_measure.c).
 *
 * That is what a scan of one query would take: a source's hits come in its order, so the best of all sources are among
 * the best `ask` of each, and a source goes on behind the last hit that was taken of it.  It has ended when it gave
 * fewer than was asked for and all of those were taken.
 *
 * Objects are sorted by number within their source, which is TID order: then TIDs are found by going through the
 * object table once, and each page of the table is visited once, whatever the number of sources and of hits on it.
 *
 * Visibility.  Each row that is kept or measured is looked up in the table under the caller's MVCC snapshot after the
 * answer has come (genie_visit.h).
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
#include "genie_round_state.h"

#define GENIE_INTERRUPT_ROWS 1024	/* between two looks at whether the query was cancelled */

/* a digit of an object's number, which is the upper half of a key */
#define GENIE_DIGIT_BITS 11
#define GENIE_DIGIT(key, shift) ((uint32) ((key) >> (32 + (shift))) & ((1 << GENIE_DIGIT_BITS) - 1))

void *
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

/* Some lists have bounds; the others get zeros. */
static void
genie_round_take_bounds(GenieRoundState *state, Size n_lists, const GenieSegmentTop *tops, const uint32 *list,
						uint32 n_tops)
{
	state->bounds = genie_round_array(n_lists, sizeof(float *));
	memset(state->bounds, 0, n_lists * sizeof(float *));
	for (uint32 t = 0; t < n_tops; t++)
		state->bounds[list[t]] = tops[t].has_bounds ? tops[t].bounds :
			MemoryContextAllocExtended(CurrentMemoryContext, (tops[t].n_hits + 1) * sizeof(float),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static bool
genie_round_ask(const GenieRound *round, GenieRoundQuery **queries, GenieRoundState *state)
{
	Size		n_lists = (Size) state->n * round->n_sources;
	GenieSegmentTop *tops = genie_round_array(n_lists, sizeof(GenieSegmentTop));
	uint32	   *list = genie_round_array(n_lists, sizeof(uint32));
	uint32		n_tops = 0;
	bool		has_bounds = false;
	bool		wants_bounds = round->vectors != NULL;

	for (uint32 s = 0; s < round->n_sources; s++)
		for (uint32 i = 0; i < state->n; i++)
		{
			uint32		number = s * state->n + i;
			GenieSegmentTop *top = &tops[n_tops];

			state->n_hits[number] = 0;
			if (queries[i]->ended[s])
				continue;
			top->query = round->searches[s][queries[i]->number];
			top->k = state->ask;
			top->has_after = queries[i]->has_after[s];
			top->after = queries[i]->after[s];
			top->hits = NULL;
			top->vector = wants_bounds ? &round->vectors[queries[i]->number] : NULL;
			top->n_elements = round->n_elements;
			top->bounds = NULL;
			list[n_tops++] = number;
		}
	if (!genie_segment_query_tops(tops, n_tops))
		return false;
	for (uint32 t = 0; t < n_tops; t++)
	{
		state->n_hits[list[t]] = tops[t].n_hits;
		state->hits[list[t]] = tops[t].hits;
		has_bounds |= tops[t].has_bounds;
	}
	if (has_bounds)
		genie_round_take_bounds(state, n_lists, tops, list, n_tops);
	pfree(tops);
	pfree(list);
	return true;
}

/* ---- rows and their TIDs ---- */

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
	GenieSegment *segment = round->sources[s]->segment;
	GenieVisitRow *rows = state->rows + state->first_row[s];
	GenieObjectReader reader;
	uint32		n_keys = 0;
	uint32		n = 0;
	uint32	   *objects;
	uint64	   *tids;
	bool		ok;

	for (uint32 i = 0; i < state->n; i++)
	{
		uint32		list = s * state->n + i;

		for (uint32 h = 0; h < state->n_hits[list]; h++)
			keys[n_keys++] = ((uint64) state->hits[list][h].object << 32) | ((Size) i * state->ask + h);
	}
	keys = genie_round_sort(keys, scratch, n_keys, segment->header.n_objects);
	objects = genie_round_array(n_keys, sizeof(uint32));
	for (uint32 i = 0; i < n_keys; i++)
	{
		if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
			objects[n++] = (uint32) (keys[i] >> 32);
		state->row_of[base + (uint32) keys[i]] = state->first_row[s] + n - 1;
	}
	tids = genie_round_array(n, sizeof(uint64));
	genie_object_reader(&reader, segment, false);
	ok = genie_object_tids(&reader, objects, n, tids);
	for (uint32 i = 0; ok && i < n; i++)
		rows[i].tid = tids[i];
	state->first_row[s + 1] = state->first_row[s] + n;
	pfree(objects);
	pfree(tids);
	CHECK_FOR_INTERRUPTS();
	return ok;
}

void
genie_round_make_room(const GenieRound *round, GenieRoundState *state)
{
	Size		n = (Size) state->n * state->ask;

	state->row_of = genie_round_array(n * round->n_sources, sizeof(uint32));
	state->first_row = genie_round_array(round->n_sources + 1, sizeof(uint32));
	state->order = genie_round_array(n, sizeof(uint32));
	state->n_order = genie_round_array(state->n, sizeof(uint32));
	state->counts = genie_round_array(n, sizeof(uint32));
	state->order_bounds = state->bounds == NULL ? NULL : genie_round_array(n, sizeof(float));
}

bool
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

/* Does it come before one of another source? */
static inline bool
genie_round_before(const GenieRoundState *state, const GenieRoundNext *a, const GenieRoundNext *b)
{
	return a->key > b->key || (a->key == b->key && state->rows[a->row].tid < state->rows[b->row].tid);
}

bool
genie_round_best(const GenieRound *round, const GenieRoundState *state, uint32 i, const uint32 *next,
				 GenieRoundNext *best)
{
	best->source = round->n_sources;
	for (uint32 s = 0; s < round->n_sources; s++)
	{
		uint32		list = s * state->n + i;
		GenieRoundNext this;

		if (next[s] == state->n_hits[list])
			continue;
		this.source = s;
		this.key = state->hits[list][next[s]].key;
		this.row = state->row_of[(Size) list * state->ask + next[s]];
		this.bound = state->bounds == NULL ? 0 : state->bounds[list][next[s]];
		if (best->source == round->n_sources || genie_round_before(state, &this, best))
			*best = this;
	}
	return best->source < round->n_sources;
}

void
genie_round_go_on(const GenieRoundState *state, uint32 i, uint32 s, uint32 n)
{
	GenieRoundQuery *query = state->queries[i];
	uint32		list = s * state->n + i;

	if (n > 0)
	{
		query->after[s] = state->hits[list][n - 1];
		query->has_after[s] = true;
	}
	query->ended[s] |= state->n_hits[list] < state->ask && n == state->n_hits[list];
	query->at_end &= query->ended[s];
}

/* Merges the sources' hits of query i; next has an entry for each source. */
static void
genie_round_merge(const GenieRound *round, GenieRoundState *state, uint32 i, uint32 *next)
{
	Size		to = (Size) i * state->ask;
	GenieRoundNext best = {0};

	memset(next, 0, round->n_sources * sizeof(uint32));
	state->n_order[i] = 0;
	while (state->n_order[i] < state->ask && genie_round_best(round, state, i, next, &best))
	{
		state->order[to] = best.row;
		state->counts[to] = best.key;
		if (state->order_bounds != NULL)
			state->order_bounds[to] = best.bound;
		state->wanted[best.row] = true;
		state->n_order[i]++;
		next[best.source]++;
		to++;
	}
	state->queries[i]->at_end = true;
	for (uint32 s = 0; s < round->n_sources; s++)
		genie_round_go_on(state, i, s, next[s]);
}

/* ---- visiting ---- */

GenieVisitRow **
genie_round_wanted(const GenieRound *round, const GenieRoundState *state, uint32 *n)
{
	uint32	   *next = genie_round_array(round->n_sources, sizeof(uint32));
	GenieVisitRow **rows = genie_round_array(state->first_row[round->n_sources], sizeof(GenieVisitRow *));

	*n = 0;
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
		rows[(*n)++] = best;
		next[best_source]++;
		if (*n % GENIE_INTERRUPT_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(next);
	return rows;
}

/* ---- keeping ---- */

/* A query has taken a row, which has been visited.  Its place in order is at. */
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
	uint32		n;
	GenieVisitRow **rows = genie_round_wanted(round, state, &n);

	genie_visit(&round->visitor, rows, n);
	pfree(rows);
	for (uint32 i = 0; i < state->n; i++)
		for (uint32 j = 0; j < state->n_order[i] && state->queries[i]->n_found < round->k; j++)
			genie_round_keep_row(state, state->queries[i], (Size) i * state->ask + j);
}

/* The hits are there; false: stale. */
static bool
genie_round_take(const GenieRound *round, GenieRoundState *state)
{
	uint32	   *next = genie_round_array(round->n_sources, sizeof(uint32));
	bool		stale = false;

	if (state->bounds != NULL && genie_round_measure_first(round, state, &stale))
		return true;
	if (stale)
		return false;
	genie_round_make_room(round, state);
	if (!genie_round_number(round, state))
		return false;
	for (uint32 i = 0; i < state->n; i++)
		genie_round_merge(round, state, i, next);
	if (round->measure != NULL)
		genie_round_measure(round, state);
	else
		genie_round_keep(round, state);
	return true;
}

bool
genie_round_run(GenieRound *round, GenieRoundQuery **queries, uint32 n, uint32 ask)
{
	MemoryContext old = MemoryContextSwitchTo(round->context);
	Size		n_lists = (Size) n * round->n_sources;
	GenieRoundState state = {.n = n, .ask = ask, .measure = round->measure, .queries = queries};
	bool		ok;

	state.hits = genie_round_array(n_lists, sizeof(GenieHit *));
	memset(state.hits, 0, n_lists * sizeof(GenieHit *));
	state.n_hits = genie_round_array(n_lists, sizeof(uint32));
	ok = genie_round_ask(round, queries, &state);
	if (ok)
	{
		GENIE_FAULT("batch-answered");
		ok = genie_round_take(round, &state);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(round->context);
	return ok;
}

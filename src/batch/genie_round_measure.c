/*
 * genie_round_measure.c
 *	  Measuring the visible rows that queries take in a round (genie_round.h).
 *
 * Each row that is visible is passed once to the callback, followed by all queries that take it.
 *
 * The first round asks for no more rows than a query wants.  In later ones a query may have taken more than it still
 * wants.  Then a visit that measures nothing comes first: it tells which of them are visible, and so which ones the
 * query leaves.
 */
#include "postgres.h"

#include "genie_round.h"

/* The queries that take each row. */
typedef struct GenieRoundTakers
{
	const GenieRound *round;
	const GenieRoundHits *hits;
	uint32	   *first;			/* of each row, and the end */
	uint32	   *takers;			/* queries, row by row */
} GenieRoundTakers;

static void
genie_round_find_takers(GenieRoundTakers *takers)
{
	const GenieRoundHits *hits = takers->hits;
	uint32		n_rows = hits->first_row[takers->round->n_sources];
	uint32	   *at = genie_round_array0(n_rows + (Size) 1, sizeof(uint32));

	for (uint32 i = 0; i < hits->n; i++)
		for (uint32 j = 0; j < hits->n_order[i]; j++)
			at[hits->order[(Size) i * hits->ask + j] + 1]++;
	for (uint32 r = 0; r < n_rows; r++)
		at[r + 1] += at[r];
	takers->first = genie_round_array(n_rows + (Size) 1, sizeof(uint32));
	memcpy(takers->first, at, (n_rows + (Size) 1) * sizeof(uint32));
	takers->takers = genie_round_array(at[n_rows], sizeof(uint32));
	for (uint32 i = 0; i < hits->n; i++)
		for (uint32 j = 0; j < hits->n_order[i]; j++)
			takers->takers[at[hits->order[(Size) i * hits->ask + j]]++] = i;
	pfree(at);
}

/* A visible row. */
static void
genie_round_measure_row(void *arg, GenieVisitRow *row, TupleTableSlot *slot)
{
	const GenieRoundTakers *takers = arg;
	const GenieRoundMeasure *measure = takers->round->measure;
	Size		r = row - takers->hits->rows;

	measure->row(measure->arg, slot);
	for (uint32 t = takers->first[r]; t < takers->first[r + 1]; t++)
	{
		GenieRoundQuery *query = takers->hits->queries[takers->takers[t]];

		measure->take(measure->arg, query->number, row);
		query->n_found++;
	}
}

void
genie_round_measure_wanted(const GenieRound *round, GenieRoundHits *hits)
{
	GenieVisitor visitor = round->visitor;
	GenieRoundTakers takers = {.round = round, .hits = hits};
	uint32		n;
	GenieVisitRow **rows = genie_round_wanted(round, hits, &n);

	genie_round_find_takers(&takers);
	visitor.found = genie_round_measure_row;
	visitor.arg = &takers;
	genie_visit(&visitor, rows, n);
	pfree(rows);
}

/* Queries leave rows behind the last visible one that they want. */
static void
genie_round_leave(const GenieRound *round, GenieRoundHits *hits)
{
	uint32		n_rows;
	GenieVisitRow **rows = genie_round_wanted(round, hits, &n_rows);

	genie_visit(&round->visitor, rows, n_rows);
	pfree(rows);
	memset(hits->wanted, 0, hits->first_row[round->n_sources] * sizeof(bool));
	for (uint32 i = 0; i < hits->n; i++)
	{
		uint32		wants = round->k - hits->queries[i]->n_found;
		uint32		n = 0;

		for (; n < hits->n_order[i] && wants > 0; n++)
		{
			uint32		row = hits->order[(Size) i * hits->ask + n];

			hits->wanted[row] = true;
			wants -= hits->rows[row].live != 0;
		}
		hits->n_order[i] = n;
	}
}

void
genie_round_measure(const GenieRound *round, GenieRoundHits *hits, bool too_many)
{
	if (too_many)
		genie_round_leave(round, hits);
	genie_round_measure_wanted(round, hits);
}

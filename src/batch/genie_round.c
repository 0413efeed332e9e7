/*
 * genie_round.c
 *	  The hits of a round and their rows (genie_round.h).
 *
 * A hit is an object of a source.  Hits are numbered: an object is one row of the round, however many queries hit it.
 * Objects are sorted by their number within the source, which is TID order.  So one walk through the object table finds
 * all TIDs, and each page of the table is visited once, whatever the number of sources and of hits on it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_object_table.h"
#include "genie_radix.h"
#include "genie_round.h"

#define GENIE_INTERRUPT_ROWS 1024	/* between two looks at whether the query was cancelled */

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
	query->has_after = palloc0(round->n_sources * sizeof(bool));
	query->ended = palloc0(round->n_sources * sizeof(bool));
	query->after = palloc(round->n_sources * sizeof(GenieHit));
}

/* ---- rows and their TIDs ---- */

/* The rows of one source, from first_row[s] on.  keys and scratch have room for all its hits. */
static bool
genie_round_number_source(const GenieRound *round, GenieRoundHits *hits, uint32 s, uint64 *keys, uint64 *scratch)
{
	Size		base = (Size) s * hits->n * hits->ask;
	GenieSegment *segment = round->sources[s]->segment;
	GenieVisitRow *rows = hits->rows + hits->first_row[s];
	GenieObjectReader reader;
	uint32		n_keys = 0;
	uint32		n = 0;
	uint32	   *objects;
	uint64	   *tids;
	bool		ok;

	for (uint32 i = 0; i < hits->n; i++)
	{
		uint32		list = s * hits->n + i;

		for (uint32 h = 0; h < hits->n_hits[list]; h++)
			keys[n_keys++] = ((uint64) hits->lists[list][h].object << 32) | ((Size) i * hits->ask + h);
	}
	keys = genie_radix_sort(keys, scratch, n_keys, 32);
	objects = genie_round_array(n_keys, sizeof(uint32));
	for (uint32 i = 0; i < n_keys; i++)
	{
		if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
			objects[n++] = (uint32) (keys[i] >> 32);
		hits->row_of[base + (uint32) keys[i]] = hits->first_row[s] + n - 1;
	}
	tids = genie_round_array(n, sizeof(uint64));
	genie_object_table_reader(&reader, segment, false);
	ok = genie_object_table_tids(&reader, objects, n, tids);
	for (uint32 i = 0; ok && i < n; i++)
		rows[i].tid = tids[i];
	hits->first_row[s + 1] = hits->first_row[s] + n;
	pfree(objects);
	pfree(tids);
	CHECK_FOR_INTERRUPTS();
	return ok;
}

bool
genie_round_number(const GenieRound *round, GenieRoundHits *hits)
{
	Size		n_lists = (Size) hits->n * round->n_sources;
	Size		n_hits = 0;
	uint64	   *keys;
	uint64	   *scratch;

	for (Size list = 0; list < n_lists; list++)
		n_hits += hits->n_hits[list];
	keys = genie_round_array(n_hits, sizeof(uint64));
	scratch = genie_round_array(n_hits, sizeof(uint64));
	hits->row_of = genie_round_array(n_lists * hits->ask, sizeof(uint32));
	hits->rows = genie_round_array(n_hits, sizeof(GenieVisitRow));
	hits->wanted = genie_round_array0(n_hits, sizeof(bool));
	hits->first_row = genie_round_array(round->n_sources + 1, sizeof(uint32));
	hits->first_row[0] = 0;
	for (uint32 s = 0; s < round->n_sources; s++)
		if (!genie_round_number_source(round, hits, s, keys, scratch))
			return false;
	pfree(keys);
	pfree(scratch);
	hits->order = genie_round_array((Size) hits->n * hits->ask, sizeof(uint32));
	hits->n_order = genie_round_array0(hits->n, sizeof(uint32));
	return true;
}

/* ---- which rows a query takes ---- */

bool
genie_round_best(const GenieRound *round, const GenieRoundHits *hits, uint32 i, const uint32 *n_taken,
				 GenieRoundNext *best)
{
	bool		found = false;

	for (uint32 s = 0; s < round->n_sources; s++)
	{
		uint32		list = s * hits->n + i;
		uint32		next = n_taken[list];
		GenieRoundNext this = {.list = list};

		if (next == hits->n_hits[list])
			continue;
		this.key = hits->lists[list][next].key;
		this.row = hits->row_of[(Size) list * hits->ask + next];
		if (!found || this.key > best->key ||
			(this.key == best->key && hits->rows[this.row].tid < hits->rows[best->row].tid))
			*best = this;
		found = true;
	}
	return found;
}

bool
genie_round_takes_too_many(const GenieRound *round, const GenieRoundHits *hits, const uint32 *n_taken)
{
	for (uint32 i = 0; i < hits->n; i++)
	{
		uint64		n = hits->queries[i]->n_found;

		for (uint32 s = 0; s < round->n_sources; s++)
			n += n_taken[s * hits->n + i];
		if (n > round->k)
			return true;
	}
	return false;
}

GenieVisitRow **
genie_round_wanted(const GenieRound *round, const GenieRoundHits *hits, uint32 *n)
{
	uint32	   *next = genie_round_array(round->n_sources, sizeof(uint32));
	GenieVisitRow **rows = genie_round_array(hits->first_row[round->n_sources], sizeof(GenieVisitRow *));

	*n = 0;
	memcpy(next, hits->first_row, round->n_sources * sizeof(uint32));
	for (;;)
	{
		GenieVisitRow *best = NULL;
		uint32		best_source = 0;

		for (uint32 s = 0; s < round->n_sources; s++)
		{
			while (next[s] < hits->first_row[s + 1] && !hits->wanted[next[s]])
				next[s]++;
			if (next[s] == hits->first_row[s + 1] ||
				(best != NULL && hits->rows[next[s]].tid >= best->tid))
				continue;
			best = &hits->rows[next[s]];
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

void
genie_round_go_on(const GenieRound *round, const GenieRoundHits *hits, const uint32 *n_taken)
{
	for (uint32 i = 0; i < hits->n; i++)
	{
		GenieRoundQuery *query = hits->queries[i];

		query->at_end = true;
		for (uint32 s = 0; s < round->n_sources; s++)
		{
			uint32		list = s * hits->n + i;
			uint32		n = n_taken[list];

			if (n > 0)
			{
				query->after[s] = hits->lists[list][n - 1];
				query->has_after[s] = true;
			}
			query->ended[s] |= hits->n_hits[list] < hits->ask && n == hits->n_hits[list];
			query->at_end &= query->ended[s];
		}
	}
}

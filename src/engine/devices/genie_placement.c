/*
 * genie_placement.c
 *	  Cutting images and vectors between engines (genie_placement.h).
 *
 * An engine's share is as its room: its limit less what it has been given.  Where all have been given more than their
 * limits, engines drop what was used least recently, and shares are as the limits.  The units are given out in order;
 * an engine takes one as long as most of it lies within the shares up to its own.
 */
#include <stdlib.h>

#include "genie_placement.h"

static GeniePlacement **
find(const GeniePlacements *placements, uint64_t id)
{
	for (uint32_t i = 0; i < placements->n; i++)
		if (placements->entries[i]->id == id)
			return &placements->entries[i];
	return NULL;
}

const GeniePlacement *
genie_placement_find(const GeniePlacements *placements, uint64_t id)
{
	GeniePlacement **found = find(placements, id);

	return found == NULL ? NULL : *found;
}

uint32_t
genie_placement_emptiest(const GeniePlacements *placements)
{
	uint32_t	best = GENIE_PLACEMENT_ENGINES;

	for (uint32_t e = 0; e < placements->n_engines; e++)
		if (!placements->lost[e] && (best == GENIE_PLACEMENT_ENGINES ||
									 placements->n_bytes[e] / GENIE_PLACEMENT_STEP <
									 placements->n_bytes[best] / GENIE_PLACEMENT_STEP))
			best = e;
	return best;
}

/* Weights of the engines' shares, 0 for the lost ones; returns their sum. */
static double
weigh(const GeniePlacements *placements, const uint64_t *limits, double *weights)
{
	double		sum = 0;

	for (uint32_t round = 0; round < 3 && sum == 0; round++)
		for (uint32_t e = 0; e < placements->n_engines; e++)
		{
			uint64_t	taken = round == 0 ? placements->n_bytes[e] : 0;

			weights[e] = limits[e] > taken ? (double) (limits[e] - taken) : 0;
			if (round == 2)
				weights[e] = 1; /* none has a limit */
			if (placements->lost[e])
				weights[e] = 0;
			sum += weights[e];
		}
	return sum;
}

/* Cuts the units between the engines. */
static void
cut(const GeniePlacements *placements, const GeniePlacementUnit *units, uint32_t n, uint64_t n_bytes,
	const uint64_t *limits, GeniePlacement *placement)
{
	double		weights[GENIE_PLACEMENT_ENGINES];
	double		sum = weigh(placements, limits, weights);
	double		share = 0;
	uint64_t	done = 0;
	uint32_t	u = 0;

	for (uint32_t e = 0; e < placements->n_engines && u < n; e++)
	{
		GeniePlace *place = &placement->places[placement->n_places];
		uint32_t	first = u;
		uint64_t	before = done;

		share += weights[e];
		while (u < n && (double) done + (double) units[u].n_bytes / 2 <= share / sum * (double) n_bytes)
			done += units[u++].n_bytes;
		if (u == first)
			continue;
		*place = (GeniePlace) {e, first == 0 ? 0 : units[first - 1].end_tile, units[u - 1].end_tile, first, u,
			done - before};
		placement->n_places++;
	}
}

/* Room for one more entry.  NULL: there is no memory. */
static GeniePlacement *
new_entry(GeniePlacements *placements, uint64_t id)
{
	GeniePlacement *placement;

	if (placements->n == placements->capacity)
	{
		uint32_t	capacity = 2 * placements->capacity + 16;
		GeniePlacement **entries = realloc(placements->entries, capacity * sizeof(GeniePlacement *));

		if (entries == NULL)
			return NULL;
		placements->entries = entries;
		placements->capacity = capacity;
	}
	if ((placement = malloc(sizeof(GeniePlacement))) == NULL)
		return NULL;
	placement->id = id;
	placement->n_places = 0;
	return placements->entries[placements->n++] = placement;
}

static const GeniePlacement *
add_bytes(GeniePlacements *placements, const GeniePlacement *placement)
{
	for (uint32_t p = 0; p < placement->n_places; p++)
		placements->n_bytes[placement->places[p].engine] += placement->places[p].n_bytes;
	return placement;
}

const GeniePlacement *
genie_placement_add(GeniePlacements *placements, uint64_t id, const GeniePlacementUnit *units, uint32_t n,
					const uint64_t *limits)
{
	GeniePlacement *placement = new_entry(placements, id);
	uint64_t	n_bytes = 0;

	if (placement == NULL)
		return NULL;
	for (uint32_t u = 0; u < n; u++)
		n_bytes += units[u].n_bytes;
	if (n > 1 && n_bytes >= placements->cut_bytes)
		cut(placements, units, n, n_bytes, limits, placement);
	else
		placement->places[placement->n_places++] = (GeniePlace) {.engine = genie_placement_emptiest(placements),
			.end_tile = n == 0 ? 0 : units[n - 1].end_tile, .end_unit = n, .n_bytes = n_bytes};
	return add_bytes(placements, placement);
}

const GeniePlacement *
genie_placement_add_like(GeniePlacements *placements, uint64_t id, uint64_t tile_bytes, const GeniePlacement *like)
{
	GeniePlacement *placement = new_entry(placements, id);

	if (placement == NULL)
		return NULL;
	for (uint32_t p = 0; p < like->n_places; p++)
	{
		const GeniePlace *place = &like->places[p];

		placement->places[placement->n_places++] = (GeniePlace) {place->engine, place->first_tile, place->end_tile,
			place->first_tile, place->end_tile, (place->end_tile - place->first_tile) * tile_bytes};
	}
	return add_bytes(placements, placement);
}

static void
drop(GeniePlacements *placements, GeniePlacement **entry)
{
	GeniePlacement *placement = *entry;

	for (uint32_t p = 0; p < placement->n_places; p++)
		placements->n_bytes[placement->places[p].engine] -= placement->places[p].n_bytes;
	*entry = placements->entries[--placements->n];
	free(placement);
}

void
genie_placement_drop(GeniePlacements *placements, uint64_t id)
{
	GeniePlacement **found = find(placements, id);

	if (found != NULL)
		drop(placements, found);
}

bool
genie_placement_lose(GeniePlacements *placements, uint32_t engine, void (*dropped) (void *arg, uint64_t id), void *arg)
{
	bool		any = false;

	placements->lost[engine] = true;
	for (uint32_t i = placements->n; i > 0; i--)
	{
		GeniePlacement *placement = placements->entries[i - 1];
		uint64_t	id = placement->id;
		bool		has = false;

		for (uint32_t p = 0; p < placement->n_places; p++)
			has = has || placement->places[p].engine == engine;
		if (!has)
			continue;
		drop(placements, &placements->entries[i - 1]);
		dropped(arg, id);
	}
	for (uint32_t e = 0; e < placements->n_engines; e++)
		any = any || !placements->lost[e];
	return any;
}

void
genie_placement_free(GeniePlacements *placements)
{
	for (uint32_t i = 0; i < placements->n; i++)
		free(placements->entries[i]);
	free(placements->entries);
	placements->entries = NULL;
	placements->n = placements->capacity = 0;
}

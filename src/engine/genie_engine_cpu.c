/*
 * genie_engine_cpu.c
 *	  The CPU engine: counts tiles one after the other, in the caller's process.
 *
 * Tiles are the outer loop and queries the inner one, so a tile's lists stay in the cache for a whole
 * batch.  For each (tile, query): find the lists that the query asks for; leave the tile out if they
 * cannot give a count that the top-k wants; count (genie_tile_count.c); select (genie_tile_select.c).
 *
 * All state is the scratch in the memory that the caller gave.  It carries nothing from one tile to the
 * next, so an early return (a malformed list, an interrupt) leaves the engine usable, and what the
 * top-k holds then is what was found so far.
 */
#include <assert.h>
#include <string.h>

#include "genie_engine.h"
#include "genie_tile_count.h"
#include "genie_tile_select.h"

#define MEMORY_ALIGNMENT 64

typedef struct CpuEngine
{
	GenieTileScratch scratch;	/* first: its counters are aligned as the memory is */
	GenieEngine engine;
} CpuEngine;

static GenieTileScratch *
scratch_of(GenieEngine *engine)
{
	return &((CpuEngine *) (void *) ((char *) engine - offsetof(CpuEngine, engine)))->scratch;
}

static bool
is_interrupted(GenieEngine *engine)
{
	return engine->interrupted != NULL && engine->interrupted();
}

static GenieStatus
search_tile(GenieTileScratch *scratch, const GenieTileView *tile,
			const GenieEngineQuery *query, GenieTopK *top)
{
	GenieTileFound found = {0};
	bool		more = genie_tile_find(scratch, tile, query, &found);
	uint32_t	threshold = genie_tile_threshold(query, top);
	bool		good;

	if (threshold > query->max_count || (!more && threshold > found.max_count))
		return GENIE_OK;

	if (!more && query->keys == NULL && found.n_postings <= GENIE_FEW_POSTINGS)
		good = genie_tile_count_few(scratch, tile, &found) &&
			genie_tile_select_few(scratch, tile, query, top);
	else
		good = genie_tile_count_dense(scratch, tile, query, &found, more) &&
			genie_tile_select_dense(scratch, tile, query, threshold, top);
	return good ? GENIE_OK : GENIE_STATUS_CORRUPT;
}

static GenieStatus
cpu_search(GenieEngine *engine, const GenieGroupView *group,
		   uint32_t n_queries, const GenieEngineQuery *queries, GenieTopK *const *tops)
{
	for (uint32_t t = 0; t < group->n_tiles; t++)
	{
		for (uint32_t q = 0; q < n_queries; q++)
		{
			GenieStatus status;

			if (is_interrupted(engine))
				return GENIE_STATUS_CANCELLED;
			status = search_tile(scratch_of(engine), &group->tiles[t], &queries[q], tops[q]);
			if (status != GENIE_OK)
				return status;
		}
	}
	return GENIE_OK;
}

/* Both copy a tile's counters and return the largest; loops that the compiler vectorises. */
static uint32_t
copy_narrow(const uint8_t *counters, uint32_t n, uint16_t *counts)
{
	uint8_t		largest = 0;

	for (uint32_t i = 0; i < n; i++)
		largest = counters[i] > largest ? counters[i] : largest;
	for (uint32_t i = 0; i < n; i++)
		counts[i] = counters[i];
	return largest;
}

static uint32_t
copy_wide(const uint16_t *counters, uint32_t n, uint16_t *counts)
{
	uint16_t	largest = 0;

	for (uint32_t i = 0; i < n; i++)
		largest = counters[i] > largest ? counters[i] : largest;
	memcpy(counts, counters, n * sizeof(uint16_t));
	return largest;
}

static GenieStatus
count_tile(GenieTileScratch *scratch, const GenieTileView *tile,
		   const GenieEngineQuery *query, uint16_t *counts)
{
	GenieTileFound found = {0};
	bool		more = genie_tile_find(scratch, tile, query, &found);
	uint32_t	largest;

	if (!genie_tile_count_dense(scratch, tile, query, &found, more))
		return GENIE_STATUS_CORRUPT;
	if (genie_query_is_wide(query))
		largest = copy_wide(scratch->counters.wide, tile->n_objects, counts);
	else
		largest = copy_narrow(scratch->counters.narrow, tile->n_objects, counts);
	return largest <= query->max_count ? GENIE_OK : GENIE_STATUS_CORRUPT;
}

static GenieStatus
cpu_count(GenieEngine *engine, const GenieGroupView *group,
		  uint32_t n_queries, const GenieEngineQuery *queries, uint16_t *const *counts)
{
	for (uint32_t t = 0; t < group->n_tiles; t++)
	{
		const GenieTileView *tile = &group->tiles[t];
		size_t		first = (size_t) (tile->tile - group->tiles[0].tile) << GENIE_TILE_SHIFT;

		for (uint32_t q = 0; q < n_queries; q++)
		{
			GenieStatus status;

			if (is_interrupted(engine))
				return GENIE_STATUS_CANCELLED;
			status = count_tile(scratch_of(engine), tile, &queries[q], counts[q] + first);
			if (status != GENIE_OK)
				return status;
		}
	}
	return GENIE_OK;
}

/* The memory is the caller's; nothing else is held. */
static void
cpu_close(GenieEngine *engine)
{
	engine->ops = NULL;
}

static const GenieEngineOps cpu_engine_ops = {
	.abi = GENIE_ENGINE_ABI,
	.name = "cpu",
	.search = cpu_search,
	.count = cpu_count,
	.close = cpu_close,
};

size_t
genie_cpu_engine_size(void)
{
	return sizeof(CpuEngine);
}

GenieEngine *
genie_cpu_engine_open(void *memory)
{
	return genie_cpu_engine_open_with(memory, genie_kernels_choose());
}

GenieEngine *
genie_cpu_engine_open_with(void *memory, const GenieKernels *kernels)
{
	CpuEngine  *cpu = memory;

	assert((uintptr_t) memory % MEMORY_ALIGNMENT == 0);

	memset(cpu, 0, sizeof(CpuEngine));
	cpu->scratch.kernels = kernels;
	cpu->engine.ops = &cpu_engine_ops;
	return &cpu->engine;
}

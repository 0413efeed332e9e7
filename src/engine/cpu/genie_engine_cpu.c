/*
 * genie_engine_cpu.c
 *	  The CPU engine: counts tiles one after the other, in the caller's process, with one thread or several.
 *
 * It counts batches of jobs over images (genie_cpu_batch.c), and lists that a backend read from the pages (here).  Both
 * come down to one query in one tile (genie_tile_search.c): a source finds and reads the tile's lists
 * (genie_tile_source.h), they are counted (genie_tile_count.c), and the objects that are wanted are offered to the
 * query's top-k (genie_tile_select.c).
 *
 * Tiles are the outer loop and queries the inner one, so a tile's lists stay in the cache for a whole
 * batch.
 *
 * Only batches of jobs, and of bounds (genie_cpu_bounds.c), use other threads than the caller's
 * (genie_cpu_threads.c), and only once they are asked for: a backend that counts by itself never makes any.
 *
 * All state is scratch: one in the memory that the caller gave, and one for each thread.  It carries nothing from one
 * tile to the next, so an early return (a malformed list, an interrupt) leaves the engine usable, and the top-k then
 * holds what was found so far.
 */
#include <assert.h>
#include <string.h>

#include "genie_cpu_batch.h"
#include "genie_cpu_bounds.h"
#include "genie_cpu_costs.h"
#include "genie_engine_cpu.h"
#include "genie_tile_count.h"
#include "genie_tile_search.h"
#include "genie_tile_source.h"

#define MEMORY_ALIGNMENT 64

typedef struct CpuEngine
{
	GenieTileScratch scratch;	/* first: its counters are aligned as the memory is */
	GenieCpuThreads *threads;	/* NULL: there never were any */
	GenieCpuPolicy policy;
	GenieEngine engine;
} CpuEngine;

static CpuEngine *
cpu_of(GenieEngine *engine)
{
	return (CpuEngine *) (void *) ((char *) engine - offsetof(CpuEngine, engine));
}

static GenieTileScratch *
scratch_of(GenieEngine *engine)
{
	return &cpu_of(engine)->scratch;
}

/* ---- lists that are not in an image ---- */

static bool
is_interrupted(GenieEngine *engine)
{
	return engine->interrupted != NULL && engine->interrupted();
}

static GenieTile
tile_of(const GenieTileView *view)
{
	GenieTile	tile = {0};

	tile.first_object = view->tile << GENIE_TILE_SHIFT;
	tile.n_objects = view->n_objects;
	tile.live = view->live;
	tile.sizes = view->sizes;
	tile.source = &genie_tile_from_lists;
	tile.n_lists = view->n_lists;
	tile.lists = view->lists;
	return tile;
}

GenieStatus
genie_cpu_search(GenieEngine *engine, const GenieGroupView *group, uint32_t n_queries,
				 const GenieEngineQuery *queries, GenieTopK *const *tops)
{
	for (uint32_t t = 0; t < group->n_tiles; t++)
	{
		GenieTile	tile = tile_of(&group->tiles[t]);

		for (uint32_t q = 0; q < n_queries; q++)
		{
			if (is_interrupted(engine))
				return GENIE_STATUS_CANCELLED;
			if (queries[q].keys != NULL &&
				!genie_keys_fit(queries[q].keys, queries[q].max_count, tile.sizes.smallest, tile.sizes.largest))
				return GENIE_STATUS_CORRUPT;
			if (!genie_tile_search(scratch_of(engine), &tile, &queries[q], tops[q]))
				return GENIE_STATUS_CORRUPT;
		}
	}
	return GENIE_OK;
}

/* Copies the first n counters of the tile that was counted last. */
static void
copy_counts(const GenieTileScratch *scratch, bool wide, uint32_t n, uint16_t *counts)
{
	if (wide)
		memcpy(counts, scratch->counters.wide, n * sizeof(uint16_t));
	else
		for (uint32_t i = 0; i < n; i++)
			counts[i] = scratch->counters.narrow[i];
}

GenieStatus
genie_cpu_count(GenieEngine *engine, const GenieGroupView *group, uint32_t n_queries,
				const GenieEngineQuery *queries, uint16_t *const *counts)
{
	GenieTileScratch *scratch = scratch_of(engine);

	for (uint32_t t = 0; t < group->n_tiles; t++)
	{
		GenieTile	tile = tile_of(&group->tiles[t]);
		size_t		first = (size_t) (group->tiles[t].tile - group->tiles[0].tile) << GENIE_TILE_SHIFT;

		for (uint32_t q = 0; q < n_queries; q++)
		{
			if (is_interrupted(engine))
				return GENIE_STATUS_CANCELLED;
			if (!genie_tile_count_all(scratch, &tile, &queries[q]))
				return GENIE_STATUS_CORRUPT;
			copy_counts(scratch, genie_query_is_wide(&queries[q]), tile.n_objects, counts[q] + first);
		}
	}
	return GENIE_OK;
}

/* ---- the engine ---- */

static GenieStatus
cpu_run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	CpuEngine  *cpu = cpu_of(engine);

	for (uint32_t i = 0; i < n_jobs && cpu->policy.costs.n_lanes == 0; i++)
		if (genie_job_has_image(jobs[i].kind) && genie_image_has_codes(jobs[i].image))
			genie_cpu_engine_measure(engine);
	return genie_cpu_batch_run(engine, &cpu->scratch, cpu->threads, &cpu->policy, n_jobs, jobs);
}

/* Images are counted where they lie: there are no copies, and no device. */
static void
cpu_forget(GenieEngine *engine, uint64_t id)
{
	(void) engine;
	(void) id;
}

static void
cpu_set_memory_limit(GenieEngine *engine, uint64_t bytes)
{
	(void) engine;
	(void) bytes;
}

static void
cpu_set_kernels(GenieEngine *engine, GenieKernelChoice choice)
{
	cpu_of(engine)->policy.choice = choice;
}

static uint32_t
cpu_devices(GenieEngine *engine, GenieDeviceInfo *info, uint32_t max)
{
	(void) engine;
	(void) info;
	(void) max;
	return 0;
}

/* The memory is the caller's; nothing but threads is held. */
static void
cpu_close(GenieEngine *engine)
{
	genie_cpu_threads_close(cpu_of(engine)->threads);
	cpu_of(engine)->threads = NULL;
	engine->ops = NULL;
}

static const GenieEngineOps cpu_engine_ops = {
	.abi = GENIE_ENGINE_ABI,
	.name = "cpu",
	.run = cpu_run,
	.forget = cpu_forget,
	.set_memory_limit = cpu_set_memory_limit,
	.set_kernels = cpu_set_kernels,
	.devices = cpu_devices,
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
	cpu->policy.task_cost = GENIE_CPU_TASK_COST;
	cpu->policy.lanes = genie_lanes_choose();
	cpu->engine.ops = &cpu_engine_ops;
	return &cpu->engine;
}

uint32_t
genie_cpu_engine_threads(GenieEngine *engine, uint32_t n)
{
	CpuEngine  *cpu = cpu_of(engine);

	if (cpu->threads == NULL && n > 1)
		cpu->threads = genie_cpu_threads_open(cpu->scratch.kernels);
	return cpu->threads == NULL ? 1 : 1 + genie_cpu_threads_resize(cpu->threads, n <= 1 ? 0 : n - 1);
}

void
genie_cpu_engine_measure(GenieEngine *engine)
{
	CpuEngine  *cpu = cpu_of(engine);

	genie_cpu_costs_measure(&cpu->scratch, &cpu->policy);
	genie_dispatch_describe(&cpu->policy.costs, engine->choices.constants);
}

bool
genie_cpu_engine_bounds(GenieEngine *engine, const GenieBoundsJob *jobs, uint32_t n_jobs)
{
	return genie_cpu_bounds_run(engine, cpu_of(engine)->threads, jobs, n_jobs);
}

GenieCpuPolicy *
genie_cpu_engine_policy(GenieEngine *engine)
{
	return &cpu_of(engine)->policy;
}

/*
 * genie_engine_cpu.h
 *	  The CPU engine: an engine for images, and functions that count lists that are not in an image.
 *
 * A backend that counts by itself uses the latter: it gives the lists as they are on the pages, a group of tiles and a
 * query at a time, and needs nothing in shared memory.
 */
#ifndef GENIE_ENGINE_CPU_H
#define GENIE_ENGINE_CPU_H

#include "genie_engine.h"
#include "genie_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct GenieCpuPolicy;

/*
 * memory is scratch of at least genie_cpu_engine_size() bytes, 64-byte aligned, that stays with the
 * engine until close (the caller frees it); one engine serves one call at a time.  A batch of jobs takes
 * memory for its top-k buffers from malloc and gives it back before it returns.
 */
extern size_t genie_cpu_engine_size(void);
extern GenieEngine *genie_cpu_engine_open(void *memory);

/* The same with a given set of kernels, for tests and benchmarks. */
extern GenieEngine *genie_cpu_engine_open_with(void *memory, const GenieKernels *kernels);

/*
 * Sets how many threads count a batch, the caller's included; 1 after opening.  May be called between any two batches.
 * Returns how many there are: fewer than n if the system refuses more, or n is beyond reason.  Closing the engine ends
 * them, and a process may exit without closing it.
 *
 * The interrupted callback is asked by the caller's thread only, every few milliseconds.  It must return.
 */
extern uint32_t genie_cpu_engine_threads(GenieEngine *engine, uint32_t n);

/*
 * Measures the costs of tiles and bit lanes now, some 20 milliseconds.  Otherwise the first batch measures them that
 * has an image with codes.
 */
extern void genie_cpu_engine_measure(GenieEngine *engine);

/* The engine's policy (genie_cpu_plan.h), with the costs that were measured. */
extern struct GenieCpuPolicy *genie_cpu_engine_policy(GenieEngine *engine);

/*
 * Computes the bounds of jobs; the threads of batches help where there are many.  False: the interrupted callback said
 * stop, and not all bounds are there.
 */
extern bool genie_cpu_engine_bounds(GenieEngine *engine, const GenieBoundsJob *jobs, uint32_t n_jobs);

/* ---- lists that are not in an image ---- */

/* One tile: its lists sorted by rank (several RAW lists may share one rank). */
typedef struct GenieTileView
{
	uint32_t	tile;			/* objects tile * 65,536 .. + n_objects - 1 */
	uint32_t	n_objects;		/* 1 .. 65,536 */
	uint32_t	n_lists;
	const GenieListRef *lists;
	const uint64_t *live;		/* GENIE_TILE_WORDS words, bits past n_objects clear; NULL: all live */
	GenieTileSizes sizes;		/* only for queries with key tables */
} GenieTileView;

/* Consecutive tiles of one segment. */
typedef struct GenieGroupView
{
	uint32_t	n_tiles;
	const GenieTileView *tiles;
} GenieGroupView;

/*
 * Offers every live object of the group to each query's top-k.  The top-k (genie_topk.h) holds k, the smallest key
 * wanted and the cursor to continue after, and carries its floor from group to group.  Groups must come in object
 * order.
 */
extern GenieStatus genie_cpu_search(GenieEngine *engine, const GenieGroupView *group, uint32_t n_queries,
									const GenieEngineQuery *queries, GenieTopK *const *tops);

/*
 * The match count of every object of the group, dead ones too: counts[q][i], i from the first object of
 * the group's first tile (tiles of a group are consecutive and full but the segment's last).
 */
extern GenieStatus genie_cpu_count(GenieEngine *engine, const GenieGroupView *group, uint32_t n_queries,
								   const GenieEngineQuery *queries, uint16_t *const *counts);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_ENGINE_CPU_H */

/*
 * genie_cuda_graph.cuh
 *	  SCAN jobs that search a proximity graph (genie_proximity.h): a pass of many queries, a warp each.
 *
 * What they find is what genie_proximity_search() finds, by the same keys and in the same order.
 */
#ifndef GENIE_CUDA_GRAPH_CUH
#define GENIE_CUDA_GRAPH_CUH

#include "genie_cuda_context.cuh"
#include "genie_value_constants.h"

struct GenieCudaGraphQuery
{
	const GenieValueConstants *constants;
	const uint4 *body;			/* of genie_value_query() */
	uint32_t	k;
	uint32_t	min_key;
	uint32_t	queue;			/* at least k */
	GenieHit   *hits;			/* room for k */
	uint32_t   *n_hits;
};

/* Queries of the same graph. */
struct GenieCudaGraphSearch
{
	GenieMetric metric;
	uint32_t	n_units;		/* 16 bytes of a record */
	const uint8_t *const *tiles;	/* of the vectors */
	const uint32_t *const *edges;	/* tile by tile */
	const uint32_t *entries;	/* and behind them the unknown objects */
	uint32_t	n_entries;
	uint32_t	n_unknown;
	uint32_t	n_objects;
	uint32_t	degree;
	uint32_t	n_levels;
	const uint64_t *live;		/* nullptr: all objects are live */
	uint32_t	queue;			/* room for that of any query, */
	uint32_t	best;			/* and for its best live objects; 0: all are live */
	uint32_t	warp_bytes;		/* of shared memory */
	uint32_t	n_queries;
	const GenieCudaGraphQuery *queries;
};

/* How many of the jobs, which have the same vectors and graph, fit a pass, the first ones; 0: none. */
extern uint32_t genie_cuda_graph_jobs(const GenieCudaContext &context, const std::vector<GenieJob *> &jobs);

/* Is that expected to be faster than a scan? */
extern bool genie_cuda_graph_pays(const GenieCudaContext &context, const std::vector<GenieJob *> &jobs);

/* Does so many jobs.  Throws if anything fails; GENIE_STATUS_DECLINED: the device has no room for the graph. */
extern void genie_cuda_graph(GenieCudaContext &context, const std::vector<GenieJob *> &jobs, uint64_t pass);

/*
 * Does a LEVEL job: writes the edges of a level of a graph.  Throws if anything fails, or the engine is interrupted;
 * GENIE_STATUS_DECLINED: the device has no room for it.
 */
extern void genie_cuda_graph_build(GenieCudaContext &context, const GenieJob &job, uint64_t pass);

/* Starts the kernel. */
extern void genie_cuda_graph_search(const GenieCudaGraphSearch &search, cudaStream_t stream);

/* The shared memory that a warp needs. */
extern uint32_t genie_cuda_graph_warp_bytes(uint32_t n_units, uint32_t queue, uint32_t best);

#endif							/* GENIE_CUDA_GRAPH_CUH */

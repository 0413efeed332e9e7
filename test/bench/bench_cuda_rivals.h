/*
 * bench_cuda_rivals.h
 *	  What genie is compared with: the competitors of GENIE's paper (section 6.1.2), as plainly as it describes them,
 *	  and the ceilings of the machine.
 *
 *	gpu-scan		each object's keywords are compared with each query's intervals, the counts stored, and the best k
 *					of each query's counts chosen by bucket selection (appendix A), one block a query
 *	count-table		inverted lists in device memory; a block for each query item adds 1 to the count of each object
 *					of the item's lists, in a table in device memory; then the same selection (the paper's GEN-noCH)
 *	cpu-idx			inverted lists in memory, an array of counters a query, and std::nth_element, in one thread
 *	exact			the k nearest by distance, exactly: l1 by a plain kernel, l2 by cuBLAS (bench_cuda_exact.cu); where
 *					this is faster than counting signatures, they are of no use
 *	nearest			the first half of that, as the engine does it for genie_exact_knn() and by cuBLAS, in floats
 *					(bench_cuda_nearest.cu)
 *	bounds			no competitor: the engine's kernel by itself (bench_cuda_bounds.cu)
 *
 * What needs CUDA is in a library of its own, built where nvcc is, with this table as its only symbol.  Functions that
 * return a string return NULL, or a text that says what failed.
 */
#ifndef BENCH_CUDA_RIVALS_H
#define BENCH_CUDA_RIVALS_H

#include "genie_engine.h"

/* Rows and lists in the host's memory; only what a competitor reads need be there. */
struct BenchData
{
	uint32_t	n_objects;
	uint32_t	n_slots;
	const uint32_t *const *tiles;	/* ranks, slot by slot, of tiles of 65,536 objects */
	bool		has_dimensions; /* a query's interval number s is for slot s, and for no other */
	const uint32_t *objects;	/* lists, by rank */
	uint64_t	n_postings;
};

/* an item of a query: its lists, which lie side by side */
struct BenchItem
{
	uint32_t	query;
	uint64_t	from;
	uint64_t	to;
};

/* Queries in one batch; hits gets k entries a query in any order, less those of count 0. */
struct BenchBatch
{
	uint32_t	n_queries;
	uint32_t	n_ranges;		/* gpu-scan: of each query */
	const GenieRankRange *ranges;
	uint32_t	n_items;		/* count-table, ascending by query */
	const BenchItem *items;
	uint32_t	n_objects;		/* gpu-scan: only the first n_objects objects */
	uint32_t	k;
	GenieHit   *hits;
	uint32_t   *n_hits;
};

struct BenchGpuCeilings
{
	double		copy_bytes;		/* device memory, read and written, bytes/s */
	double		upload_bytes;	/* host to device, pinned */
	double		download_bytes;
	double		shared_atomics; /* random additions in shared memory/s */
	double		global_atomics; /* random additions in 256 MB of device memory/s */
	double		adder_compares; /* rows of 1024 bits fetched from shared memory and added bit-sliced: compares/s */
	double		bit_pairs;		/* and-popcount on the tensor cores: pairs of bits/s; 0: the device cannot */
};

/*
 * For each query the k nearest of points 0 .. n_points - 1 (bench_cuda_exact.h), nearest first; the key is the
 * distance.  The queries are the points after these.  block: for l2, points multiplied at a time, a multiple of 4;
 * 0: l1.
 */
struct BenchExact
{
	uint32_t	n_points;
	uint32_t	n_dimensions;
	uint32_t	n_queries;
	uint32_t	k;
	uint32_t	block;
	GenieHit   *hits;
};

/*
 * For each query the near ones of points 0 .. n_points - 1, in floats: those for which |p|^2 - 2pq is not above the
 * query's bound.  The queries are the points after these.  block: points multiplied by cuBLAS at a time, a multiple
 * of 4; 0: by the engine's kernel (genie_cuda_nearest.cu).
 */
struct BenchNearest
{
	uint32_t	n_points;
	uint32_t	n_dimensions;	/* a multiple of 4 */
	uint32_t	n_queries;
	uint32_t	block;
	const float *bounds;
	uint32_t	room;			/* of pairs */
	uint64_t	n_pairs;		/* the answer */
};

/* Bounds of distances (genie_quantized.h): k hits a query, at random objects; k is a multiple of 4. */
struct BenchBounds
{
	uint32_t	n_objects;
	uint32_t	n_dimensions;
	uint32_t	n_queries;
	uint32_t	k;
};

#define BENCH_GPU_SYMBOL "bench_gpu"

struct BenchGpu
{
	const char *(*ceilings)(BenchGpuCeilings *out);
	const char *(*load_rows)(const BenchData *data);
	const char *(*load_lists)(const BenchData *data);
	const char *(*scan)(const BenchBatch *batch, double *ms);
	const char *(*count)(const BenchBatch *batch, double *ms);
	void (*unload)(void);
	const char *(*exact)(const BenchExact *what, double *ms);
	const char *(*nearest)(BenchNearest *what, double *ms);
	const char *(*bounds)(const BenchBounds *what, double *ms);
};

#endif							/* BENCH_CUDA_RIVALS_H */

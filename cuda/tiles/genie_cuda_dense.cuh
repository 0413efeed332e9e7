/*
 * genie_cuda_dense.cuh
 *	  Launches over tiles, and the launcher of the kernel that counts with counters for all objects.
 *
 * A *piece* is what one block counts: one query in one tile, or in a part of the tile where its counters do not fit
 * shared memory.  Pieces are numbered tile by tile, then part by part, then by query.  So blocks that run together read
 * the same tile and find it in L2.
 */
#ifndef GENIE_CUDA_DENSE_CUH
#define GENIE_CUDA_DENSE_CUH

#include "genie_cuda_device.cuh"
#include "genie_cuda_types.cuh"

enum GenieCudaWork
{
	GENIE_CUDA_WORK_TOP,		/* the best k by count */
	GENIE_CUDA_WORK_TOP_TABLE,	/* the best k by key table */
	GENIE_CUDA_WORK_MASK,
	GENIE_CUDA_WORK_COUNTS		/* counters of 8 or 16 bits */
};

/* One launch: some queries in some tiles of one image. */
struct GenieCudaLaunch
{
	const GenieCudaTile *tiles; /* of the image */
	uint32_t	first_tile;
	uint32_t	n_tiles;
	const GenieCudaQuery *queries;
	uint32_t	n_queries;
	uint32_t	splits_log2;
	uint32_t	part_log2;		/* objects of a part */
	bool		swizzled;		/* the image's codes are (genie_cuda_codes.cuh) */
	const uint32_t *list;		/* pieces to count; NULL: all */
	const uint32_t *n_list;
};

/*
 * In how many parts (a power of two) to count tiles, with counters of this many bits, if whole tiles make n_wholes
 * pieces.  There are more parts than shared memory asks for if otherwise some multiprocessors had no work.
 */
extern uint32_t genie_cuda_dense_splits_log2(const GenieCudaDevice &device, int bits, uint64_t n_wholes);

/*
 * Counts the launch's pieces: all, or those of its list, of which there are at most max_pieces.
 */
extern void genie_cuda_dense(const GenieCudaDevice &device, int bits, GenieCudaWork work, const GenieCudaLaunch &launch,
							 uint32_t max_pieces, cudaStream_t stream);

/* The same for one width of counters: genie_cuda_dense_kernel.cu, which is compiled once for each. */
template <int BITS>
extern void genie_cuda_dense_of_width(const GenieCudaDevice &device, GenieCudaWork work, const GenieCudaLaunch &launch,
									  uint32_t max_pieces, cudaStream_t stream);

#endif							/* GENIE_CUDA_DENSE_CUH */

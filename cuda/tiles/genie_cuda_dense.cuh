/*
 * genie_cuda_dense.cuh
 *	  Counting pieces by blocks: the launcher that the host calls.
 *
 * One width of counters is one file (genie_cuda_dense_4.cu and so on), which makes the kernels from the one template in
 * genie_cuda_dense.cuh.
 */
#ifndef GENIE_CUDA_DENSE_CUH
#define GENIE_CUDA_DENSE_CUH

#include "genie_cuda_device.cuh"
#include "genie_cuda_types.cuh"

enum GenieCudaWork
{
	GENIE_CUDA_WORK_TOP,		/* rank by count */
	GENIE_CUDA_WORK_TOP_TABLE,	/* rank by key table */
	GENIE_CUDA_WORK_MASK,
	GENIE_CUDA_WORK_COUNTS		/* counters of 8 or 16 bits */
};

/* One launch: some queries over some tiles of one image. */
struct GenieCudaLaunch
{
	const GenieCudaTile *tiles; /* of the image */
	uint32_t	first_tile;
	uint32_t	n_tiles;
	const GenieCudaQuery *queries;
	uint32_t	n_queries;
	uint32_t	splits_log2;
	uint32_t	part_log2;		/* objects of a part */
	const uint32_t *list;		/* pieces to do; NULL: all */
	const uint32_t *n_list;
};

/*
 * In how many parts (a power of two) are tiles counted with counters of so many bits, n_wholes pieces of work if they
 * are not cut?  More parts than shared memory asks for where there is too little work for all multiprocessors.
 */
extern uint32_t genie_cuda_dense_splits_log2(const GenieCudaDevice &device, int bits, uint64_t n_wholes);

/*
 * Launches the counting of the launch's pieces: all, or those of its list, on the stream.  max_pieces bounds the list.
 */
extern void genie_cuda_dense(const GenieCudaDevice &device, int bits, GenieCudaWork work,
							 const GenieCudaLaunch &launch, uint32_t max_pieces, cudaStream_t stream);

/* The same for one width of counters: genie_cuda_dense_kernel.cu, which is compiled once for each. */
template <int BITS>
extern void genie_cuda_dense_of_width(const GenieCudaDevice &device, GenieCudaWork work,
									  const GenieCudaLaunch &launch, uint32_t max_pieces, cudaStream_t stream);

#endif							/* GENIE_CUDA_DENSE_CUH */

/*
 * genie_cuda_sparse.cuh
 *	  Pieces with few postings where a bound is known: the launcher that the host calls.
 */
#ifndef GENIE_CUDA_SPARSE_CUH
#define GENIE_CUDA_SPARSE_CUH

#include "genie_cuda_dense.cuh"

/* Numbers of pieces that could not be counted so. */
struct GenieCudaLeft
{
	uint32_t   *n;
	uint32_t   *pieces;			/* room for all */
};

/*
 * For queries that rank by count: offers the candidates of all whole tiles of the launch but those that it lists in
 * left (parts of tiles, splits_log2 of the launch), whose n the caller has set to 0.  bits: of the query's counters.
 */
extern void genie_cuda_sparse(const GenieCudaDevice &device, int bits, bool many_ranges, const GenieCudaLaunch &launch,
							  const GenieCudaLeft &left, cudaStream_t stream);

#endif							/* GENIE_CUDA_SPARSE_CUH */

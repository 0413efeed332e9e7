/*
 * genie_cuda_sparse.cuh
 *	  Pieces with few postings of queries that have a bound: the launcher that the host calls.
 */
#ifndef GENIE_CUDA_SPARSE_CUH
#define GENIE_CUDA_SPARSE_CUH

#include "genie_cuda_dense.cuh"

/* Numbers of pieces that the sparse kernel could not count. */
struct GenieCudaLeft
{
	uint32_t   *n;
	uint32_t   *pieces;			/* room for all of the launch */
};

/*
 * For queries that rank by count: offers the candidates of all whole tiles of the launch, except those that it lists in
 * left.  These are listed as parts of tiles, by the launch's splits_log2.  The caller has set left's n to 0.  bits is
 * the width that the queries' counters would have.
 */
extern void genie_cuda_sparse(const GenieCudaDevice &device, int bits, bool many_ranges, const GenieCudaLaunch &launch,
							  const GenieCudaLeft &left, cudaStream_t stream);

#endif							/* GENIE_CUDA_SPARSE_CUH */

/*
 * genie_cuda_sort.cuh
 *	  Sorting the candidates of many queries, the largest first (CUB's segmented radix sort): where a query has too many
 *	  for the shared memory of a block.
 */
#ifndef GENIE_CUDA_SORT_CUH
#define GENIE_CUDA_SORT_CUH

#include "genie_cuda_error.cuh"
#include "genie_cuda_types.cuh"

/* Two buffers of n candidates, where a query's are at the same place in both. */
struct GenieCudaSort
{
	GenieCudaCandidate *from;
	GenieCudaCandidate *to;
	uint64_t	n;
	uint32_t   *begins;			/* of each query, filled in by the host */
	uint32_t   *ends;			/* filled in by a kernel */
	void	   *temporary;		/* of genie_cuda_sort_bytes() */
	size_t		temporary_bytes;
};

extern size_t genie_cuda_sort_bytes(uint32_t n_queries, uint64_t n);
extern void genie_cuda_sort(const GenieCudaSort &sort, uint32_t n_queries, cudaStream_t stream);

#endif							/* GENIE_CUDA_SORT_CUH */

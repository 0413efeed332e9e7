/*
 * genie_cuda_top.cuh
 *	  The best k of each query's candidates: the launchers that the host calls.
 */
#ifndef GENIE_CUDA_TOP_CUH
#define GENIE_CUDA_TOP_CUH

#include "genie_cuda_types.cuh"

/* For queries of k up to GENIE_CUDA_SORT_MAX: writes the best k, sorted, to hits and n_hits. */
extern void genie_cuda_top_small(const GenieCudaQuery *queries, uint32_t n_queries, cudaStream_t stream);

/* Two buffers for queries of larger k.  A query has its k entries at the same place in both. */
struct GenieCudaSort
{
	GenieCudaCandidate *from;	/* the queries' selected */
	GenieCudaCandidate *to;
	uint64_t	n;				/* entries of all */
	uint32_t   *begins;			/* of each query, filled in by the host */
	uint32_t   *ends;			/* filled in by the kernel */
	void	   *temporary;		/* of genie_cuda_top_large_bytes() */
	size_t		temporary_bytes;
};

extern size_t genie_cuda_top_large_bytes(uint32_t n_queries, uint64_t n);
extern void genie_cuda_top_large(const GenieCudaQuery *queries, uint32_t n_queries, const GenieCudaSort &sort,
								 cudaStream_t stream);

/*
 * Between two runs of a query's tiles, if the candidates of all tiles do not fit: keeps only the best k.  last_object
 * is the last one of the tiles that are done.
 */
extern void genie_cuda_top_carry(const GenieCudaQuery *queries, uint32_t n_queries, uint32_t last_object,
								 cudaStream_t stream);

#endif							/* GENIE_CUDA_TOP_CUH */

/*
 * genie_cuda_top.cuh
 *	  The best k of each query's candidates: the launchers that the host calls.
 */
#ifndef GENIE_CUDA_TOP_CUH
#define GENIE_CUDA_TOP_CUH

#include "genie_cuda_sort.cuh"

/* For queries of k up to GENIE_CUDA_SORT_MAX: writes the best k, sorted, to hits and n_hits. */
extern void genie_cuda_top_small(const GenieCudaQuery *queries, uint32_t n_queries, cudaStream_t stream);

/* For queries of larger k, which have their k entries of the sort's buffers. */
extern void genie_cuda_top_large(const GenieCudaQuery *queries, uint32_t n_queries, const GenieCudaSort &sort,
								 cudaStream_t stream);

/*
 * Between two runs of a query's tiles, if the candidates of all tiles do not fit: keeps only the best k.  last_object
 * is the last one of the tiles that are done.
 */
extern void genie_cuda_top_carry(const GenieCudaQuery *queries, uint32_t n_queries, uint32_t last_object,
								 cudaStream_t stream);

#endif							/* GENIE_CUDA_TOP_CUH */

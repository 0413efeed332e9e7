/*
 * genie_cuda_few.cuh
 *	  Pieces with few postings: the launcher that the host calls.
 */
#ifndef GENIE_CUDA_FEW_CUH
#define GENIE_CUDA_FEW_CUH

#include "genie_cuda_dense.cuh"

/* Numbers of pieces by how they are to be counted; each list has room for all. */
struct GenieCudaPlan
{
	uint32_t   *n;				/* of few, of dense */
	uint32_t   *few;			/* whole tiles */
	uint32_t   *dense;			/* parts of tiles, splits_log2 of the launch */
};

/*
 * For queries of at most GENIE_CUDA_FEW_RANGES ranges that rank by count: lists the pieces that need a block in
 * plan.dense, and offers the candidates of all others.  A tile that no range has a list in is in neither.
 */
extern void genie_cuda_few(const GenieCudaLaunch &launch, const GenieCudaPlan &plan, cudaStream_t stream);

#endif							/* GENIE_CUDA_FEW_CUH */

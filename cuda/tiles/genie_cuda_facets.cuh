/*
 * genie_cuda_facets.cuh
 *	  How many objects have each keyword, or lie in each cell of a grid: jobs that are done one by one.
 */
#ifndef GENIE_CUDA_FACETS_CUH
#define GENIE_CUDA_FACETS_CUH

#include "genie_cuda_context.cuh"

/* Does a job of kind GENIE_JOB_FACETS or GENIE_JOB_GRID, as number pass.  Throws if anything fails. */
extern void genie_cuda_facets(GenieCudaContext &context, GenieJob &job, uint64_t pass);

#endif							/* GENIE_CUDA_FACETS_CUH */

/*
 * genie_cuda_nearest.cuh
 *	  Which rows may be near to which queries (genie_nearest.h): jobs that have no image and are done one by one.
 */
#ifndef GENIE_CUDA_NEAREST_CUH
#define GENIE_CUDA_NEAREST_CUH

#include "genie_cuda_context.cuh"

/* The job's data in device memory. */
struct GenieCudaNearest
{
	GenieNearest of;
	GeniePair  *pairs;
	uint32_t	room;			/* for pairs, at most GENIE_CUDA_NEAREST_ROOM_MAX */
	unsigned long long *n_pairs;	/* how many there are, which may be more than room; 0 before */
};

/* Starts the kernel, which appends the pairs. */
extern void genie_cuda_nearest_launch(const GenieCudaNearest &nearest, cudaStream_t stream);

/* Does a job of kind GENIE_JOB_NEAREST.  Throws if anything fails. */
extern void genie_cuda_nearest(const GenieCudaContext &context, GenieJob &job);

#endif							/* GENIE_CUDA_NEAREST_CUH */

/*
 * genie_cuda_nearest.cuh
 *	  Which rows may be near to which queries (genie_nearest.h): a job of its own, beside passes over images.
 */
#ifndef GENIE_CUDA_NEAREST_CUH
#define GENIE_CUDA_NEAREST_CUH

#include "genie_cuda_context.cuh"

/* What the kernel works with: all in device memory, of the shape that the job has. */
struct GenieCudaNearest
{
	GenieNearest of;
	GeniePair  *pairs;
	uint32_t	room;			/* pairs that there is room for, at most GENIE_CUDA_NEAREST_ROOM_MAX */
	unsigned long long *n_pairs;	/* how many there are, the last of which may have found no room; 0 before */
};

/* Starts the kernel, which appends the pairs. */
extern void genie_cuda_nearest_launch(const GenieCudaNearest &nearest, cudaStream_t stream);

/* Does a job of kind GENIE_JOB_NEAREST; throws if anything fails. */
extern void genie_cuda_nearest(const GenieCudaContext &context, GenieJob &job);

#endif							/* GENIE_CUDA_NEAREST_CUH */

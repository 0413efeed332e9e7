/*
 * genie_cuda_hash.cuh
 *	  Codes of vectors (genie_hashing.h): jobs that have no image and are done one by one.
 */
#ifndef GENIE_CUDA_HASH_CUH
#define GENIE_CUDA_HASH_CUH

#include "genie_cuda_context.cuh"

/* The job's data in device memory. */
struct GenieCudaHash
{
	GenieHashing of;
	int32_t    *codes;
};

/* Starts the kernel that writes the codes. */
extern void genie_cuda_hash_launch(const GenieCudaHash &hash, cudaStream_t stream);

/* Does a job of kind GENIE_JOB_HASH.  Throws if anything fails. */
extern void genie_cuda_hash(const GenieCudaContext &context, GenieJob &job);

#endif							/* GENIE_CUDA_HASH_CUH */

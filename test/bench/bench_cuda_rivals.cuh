/*
 * bench_cuda_rivals.cuh
 *	  What the parts of the benchmark's CUDA library share.
 */
#ifndef BENCH_CUDA_RIVALS_CUH
#define BENCH_CUDA_RIVALS_CUH

#include "bench_cuda_rivals.h"

/* Returns a sentence that stays until the next failure. */
extern const char *bench_gpu_failed(cudaError_t error, const char *what);

/* in functions that return what failed */
#define BENCH_TRY(call) \
	do \
	{ \
		const cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) \
			return bench_gpu_failed(error_, #call); \
	} while (0)

extern const char *bench_gpu_ceilings(BenchGpuCeilings *out);

#endif							/* BENCH_CUDA_RIVALS_CUH */

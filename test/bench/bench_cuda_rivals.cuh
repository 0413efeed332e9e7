/*
 * bench_cuda_rivals.cuh
 *	  What the parts of the benchmark's CUDA library share.
 */
#ifndef BENCH_CUDA_RIVALS_CUH
#define BENCH_CUDA_RIVALS_CUH

#include <algorithm>

#include "bench_cuda_rivals.h"

/* Returns a sentence that stays until the next failure. */
extern const char *bench_gpu_failed(cudaError_t error, const char *what);

/* in functions that return a text that says what failed */
#define BENCH_TRY(call) \
	do \
	{ \
		const cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) \
			return bench_gpu_failed(error_, #call); \
	} \
	while (0)

/* device memory that goes with its scope */
template <typename T>
class DeviceArray
{
public:
	DeviceArray() = default;
	~DeviceArray()
	{
		free();
	}
	DeviceArray(const DeviceArray &) = delete;
	DeviceArray &operator=(const DeviceArray &) = delete;

	cudaError_t take(size_t n)
	{
		free();
		return cudaMalloc(&memory, std::max<size_t>(n, 1) * sizeof(T));
	}

	void free()
	{
		cudaFree(memory);
		memory = nullptr;
	}

	T		   *memory = nullptr;
};

extern const char *bench_gpu_ceilings(BenchGpuCeilings *out);
extern const char *bench_gpu_exact(const BenchExact *what, double *ms);
extern const char *bench_gpu_nearest(BenchNearest *what, double *ms);
extern const char *bench_gpu_bounds(const BenchBounds *what, double *ms);

#endif							/* BENCH_CUDA_RIVALS_CUH */

/*
 * genie_cuda_scan.cuh
 *	  Sums over the threads of a warp and of a block.
 */
#ifndef GENIE_CUDA_SCAN_CUH
#define GENIE_CUDA_SCAN_CUH

#include "genie_cuda_policy.cuh"

constexpr uint32_t GENIE_CUDA_ALL_LANES = 0xFFFFFFFFu;

__device__ __forceinline__ uint32_t
genie_cuda_lane()
{
	return threadIdx.x % GENIE_CUDA_WARP;
}

__device__ __forceinline__ uint32_t
genie_cuda_warp()
{
	return threadIdx.x / GENIE_CUDA_WARP;
}

/* The sum of the values of this and all lower lanes; all lanes of the warp call it together. */
__device__ __forceinline__ uint32_t
genie_cuda_warp_scan(uint32_t value)
{
#pragma unroll
	for (uint32_t step = 1; step < GENIE_CUDA_WARP; step *= 2)
	{
		const uint32_t lower = __shfl_up_sync(GENIE_CUDA_ALL_LANES, value, step);

		if (genie_cuda_lane() >= step)
			value += lower;
	}
	return value;
}

/* The sum over a warp, in all its lanes; all call it together. */
__device__ __forceinline__ uint32_t
genie_cuda_warp_sum(uint32_t value)
{
#pragma unroll
	for (uint32_t step = GENIE_CUDA_WARP / 2; step > 0; step /= 2)
		value += __shfl_xor_sync(GENIE_CUDA_ALL_LANES, value, step);
	return value;
}

/* The bits that any lane of the warp has, in all of them; all call it together. */
__device__ __forceinline__ uint32_t
genie_cuda_warp_or(uint32_t bits)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	return __reduce_or_sync(GENIE_CUDA_ALL_LANES, bits);
#else
#pragma unroll
	for (uint32_t step = GENIE_CUDA_WARP / 2; step > 0; step /= 2)
		bits |= __shfl_xor_sync(GENIE_CUDA_ALL_LANES, bits, step);
	return bits;
#endif
}

/*
 * Replaces each of N values by its sum over the threads below, and gives the sums over the block.  All threads of the
 * block call it together; sums is scratch in shared memory and free again afterwards.
 */
template <int THREADS, int N>
__device__ __forceinline__ void
genie_cuda_block_scan(uint32_t (&values)[N], uint32_t (&totals)[N], uint32_t (*sums)[GENIE_CUDA_WARP])
{
	constexpr uint32_t WARPS = THREADS / GENIE_CUDA_WARP;
	const uint32_t lane = genie_cuda_lane();
	const uint32_t warp = genie_cuda_warp();

#pragma unroll
	for (int i = 0; i < N; i++)
	{
		const uint32_t sum = genie_cuda_warp_scan(values[i]);

		if (lane == GENIE_CUDA_WARP - 1)
			sums[i][warp] = sum;
		values[i] = sum - values[i];
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < N; i++)
	{
		const uint32_t sum = genie_cuda_warp_scan(lane < WARPS ? sums[i][lane] : 0);
		const uint32_t before = __shfl_sync(GENIE_CUDA_ALL_LANES, sum, warp == 0 ? 0 : warp - 1);

		totals[i] = __shfl_sync(GENIE_CUDA_ALL_LANES, sum, WARPS - 1);
		values[i] += warp == 0 ? 0 : before;
	}
	__syncthreads();
}

/* The same where only the first warp has values: the others wait. */
template <int N>
__device__ __forceinline__ void
genie_cuda_first_warp_scan(uint32_t (&values)[N], uint32_t (&totals)[N], uint32_t (*sums)[GENIE_CUDA_WARP])
{
	if (genie_cuda_warp() == 0)
	{
#pragma unroll
		for (int i = 0; i < N; i++)
		{
			const uint32_t sum = genie_cuda_warp_scan(values[i]);

			if (genie_cuda_lane() == GENIE_CUDA_WARP - 1)
				sums[i][0] = sum;
			values[i] = sum - values[i];
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < N; i++)
		totals[i] = sums[i][0];
	__syncthreads();
}

#endif							/* GENIE_CUDA_SCAN_CUH */

/*
 * genie_cuda_select.cuh
 *	  The best k of a query's candidates, by a block of GENIE_CUDA_TOP_THREADS threads.
 *
 * Candidates are 64-bit numbers that rank as they compare, and no two are equal.  So a radix select finds the k-th
 * largest, from the highest byte down with one histogram a byte, and all candidates that are not smaller are the
 * answer.  The highest bytes, which no key of the query needs, are skipped.  The select ends early when a byte
 * separates exactly k.
 */
#ifndef GENIE_CUDA_SELECT_CUH
#define GENIE_CUDA_SELECT_CUH

#include "genie_cuda_epilogue.cuh"

/* Scratch in shared memory. */
struct GenieCudaSelect
{
	uint32_t	histogram[GENIE_CUDA_DIGITS];
	uint32_t	digit;
	uint32_t	need;
	uint32_t	n;
	uint32_t	done;
};

/* A value that exactly min(n, k) of the query's n candidates reach.  All threads call it together. */
static __device__ GenieCudaCandidate
genie_cuda_kth_candidate(const GenieCudaQuery &query, uint32_t n, GenieCudaSelect &shared)
{
	GenieCudaCandidate known = 0;
	GenieCudaCandidate known_mask = 0;

	if (n <= query.k)
		return 0;
	if (threadIdx.x == 0)
		shared.need = query.k;
	for (int byte = 3 + (int) query.key_bytes; byte >= 0; byte--)
	{
		for (uint32_t i = threadIdx.x; i < GENIE_CUDA_DIGITS; i += GENIE_CUDA_TOP_THREADS)
			shared.histogram[i] = 0;
		__syncthreads();
		for (uint32_t i = threadIdx.x; i < n; i += GENIE_CUDA_TOP_THREADS)
		{
			const GenieCudaCandidate candidate = query.candidates[i];

			if ((candidate & known_mask) == known)
				atomicAdd(&shared.histogram[candidate >> (8 * byte) & (GENIE_CUDA_DIGITS - 1)], 1);
		}
		__syncthreads();
		if (genie_cuda_warp() == 0)
		{
			genie_cuda_find_digit(shared.histogram, &shared.digit, &shared.need);
			if (genie_cuda_thread() == 0)
				shared.done = shared.histogram[shared.digit] == shared.need;
		}
		__syncthreads();
		known |= (GenieCudaCandidate) shared.digit << (8 * byte);
		known_mask |= (GenieCudaCandidate) (GENIE_CUDA_DIGITS - 1) << (8 * byte);
		if (shared.done)
			break;
		__syncthreads();
	}
	return known;
}

/* Copies the candidates that reach the bound to out, in any order; returns how many.  All threads call it together. */
static __device__ uint32_t
genie_cuda_gather(const GenieCudaQuery &query, uint32_t n, GenieCudaCandidate bound, GenieCudaCandidate *out,
				  GenieCudaSelect &shared)
{
	if (threadIdx.x == 0)
		shared.n = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += GENIE_CUDA_TOP_THREADS)
	{
		const GenieCudaCandidate candidate = query.candidates[i];

		if (candidate >= bound)
			out[atomicAdd(&shared.n, 1)] = candidate;
	}
	__syncthreads();
	return shared.n;
}

#endif							/* GENIE_CUDA_SELECT_CUH */

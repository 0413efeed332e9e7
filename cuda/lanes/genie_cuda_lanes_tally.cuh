/*
 * genie_cuda_lanes_tally.cuh
 *	  Bit lanes: adding up the objects that reach their queries' thresholds, without events.
 *
 * A thread adds its objects to *sums*, which are planes: bit i of all of them together is a number of query i.  Before
 * these overflow the warp turns them round (a transposition of 32 threads by 32 bits, in five exchanges), so that each
 * thread has the sums of all its warp's objects for one query a word, and adds these to its *totals*.
 */
#ifndef GENIE_CUDA_LANES_TALLY_CUH
#define GENIE_CUDA_LANES_TALLY_CUH

#include "genie_cuda_lanes_types.cuh"
#include "genie_cuda_scan.cuh"

constexpr int GENIE_CUDA_LANE_SUM_PLANES = 3;

struct GenieCudaLaneTally
{
	GenieCudaLaneEntry sums[GENIE_CUDA_LANE_SUM_PLANES];
	uint32_t	n;				/* objects in the sums */
	uint32_t	totals[GENIE_CUDA_LANE_WORDS];	/* of the query whose bit of the word is the thread's number */
};

/* Bit i of thread t's word becomes bit t of thread i's.  All threads of the warp call it together. */
__device__ __forceinline__ uint32_t
genie_cuda_transpose(uint32_t word)
{
	uint32_t	lower = 0x0000FFFF; /* bits whose number does not have the bit step */

#pragma unroll
	for (uint32_t step = GENIE_CUDA_WARP / 2; step > 0; step /= 2)
	{
		const uint32_t other = __shfl_xor_sync(GENIE_CUDA_WHOLE_WARP, word, step);

		word = (genie_cuda_thread() & step) == 0 ? (word & lower) | (other & lower) << step :
												   (word & ~lower) | (other & ~lower) >> step;
		lower ^= lower << (step / 2);
	}
	return word;
}

/* Adds the sums to the totals.  All threads of the warp call it together. */
__device__ __forceinline__ void
genie_cuda_lane_settle_sums(GenieCudaLaneTally &tally)
{
#pragma unroll
	for (int p = 0; p < GENIE_CUDA_LANE_SUM_PLANES; p++)
#pragma unroll
		for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		{
			tally.totals[w] += (uint32_t) __popc(genie_cuda_transpose(tally.sums[p].word[w])) << p;
			tally.sums[p].word[w] = 0;
		}
	tally.n = 0;
}

/* Adds the thread's object, with the queries that it reached.  All threads of the warp call it together. */
__device__ __forceinline__ void
genie_cuda_lane_tally(GenieCudaLaneTally &tally, const GenieCudaLaneEntry &reached)
{
#pragma unroll
	for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
	{
		uint32_t	carry = reached.word[w];

#pragma unroll
		for (int p = 0; p < GENIE_CUDA_LANE_SUM_PLANES; p++)
		{
			const uint32_t next = tally.sums[p].word[w] & carry;

			tally.sums[p].word[w] ^= carry;
			carry = next;
		}
	}
	if (++tally.n == (1u << GENIE_CUDA_LANE_SUM_PLANES) - 1)
		genie_cuda_lane_settle_sums(tally);
}

#endif							/* GENIE_CUDA_LANES_TALLY_CUH */

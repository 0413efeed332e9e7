/*
 * genie_cuda_chunk.cuh
 *	  Decoding a chunk of a list by one thread (genie_chunk.h).
 *
 * Four gaps of a word are added up by the byte products of the processor, each sum in one instruction.  What stands for
 * no local is given as well, with 0 for once: that costs less than a branch.
 */
#ifndef GENIE_CUDA_CHUNK_CUH
#define GENIE_CUDA_CHUNK_CUH

#include "genie_cuda_types.cuh"

constexpr uint32_t GENIE_CUDA_CHUNK_ONES = 0x01010101;
constexpr uint32_t GENIE_CUDA_CHUNK_HALVES = 0x0F0F0F0F;

/* Gives N locals behind *local, of the gaps in the lower bytes of a word; LARGEST: the number that is no gap. */
template <int N, uint32_t LARGEST, class Take>
__device__ __forceinline__ void
genie_cuda_take_gaps(uint32_t &local, uint32_t gaps, const Take &take)
{
	const uint32_t skips = __vcmpeq4(gaps, LARGEST * GENIE_CUDA_CHUNK_ONES) & GENIE_CUDA_CHUNK_ONES;
	const uint32_t once = ~(skips | __vcmpeq4(gaps, 0)) & GENIE_CUDA_CHUNK_ONES;
	const uint32_t steps = gaps - skips;

#pragma unroll
	for (int i = 0; i < N; i++)
		take(__dp4a(steps, GENIE_CUDA_CHUNK_ONES >> (8 * (3 - i)), local), once >> (8 * i) & 1);
	local = __dp4a(steps, GENIE_CUDA_CHUNK_ONES >> (8 * (4 - N)), local);
}

/* The same of gaps of 4 bits: N in the lower halves, then M in the upper ones. */
template <int N, int M, class Take>
__device__ __forceinline__ void
genie_cuda_take_halves(uint32_t &local, uint32_t gaps, const Take &take)
{
	genie_cuda_take_gaps<N, 15>(local, gaps & GENIE_CUDA_CHUNK_HALVES, take);
	genie_cuda_take_gaps<M, 15>(local, gaps >> 4 & GENIE_CUDA_CHUNK_HALVES, take);
}

/* Calls take(local, once) for each place of the chunk: once is 1 for a local, else 0. */
template <class Take>
__device__ __forceinline__ void
genie_cuda_take_chunk(const uint4 &chunk, const Take &take)
{
	uint32_t	local = chunk.x & (GENIE_TILE_OBJECTS - 1);

	take(local, 1u);
	if (chunk.w >> 28 == 8)
	{
		genie_cuda_take_gaps<2, 255>(local, chunk.x >> 16, take);
		genie_cuda_take_gaps<4, 255>(local, chunk.y, take);
		genie_cuda_take_gaps<4, 255>(local, chunk.z, take);
		genie_cuda_take_gaps<3, 255>(local, chunk.w, take);
	}
	else
	{
		genie_cuda_take_halves<2, 2>(local, chunk.x >> 16, take);
		genie_cuda_take_halves<4, 4>(local, chunk.y, take);
		genie_cuda_take_halves<4, 4>(local, chunk.z, take);
		genie_cuda_take_halves<4, 3>(local, chunk.w, take);
	}
}

#endif							/* GENIE_CUDA_CHUNK_CUH */

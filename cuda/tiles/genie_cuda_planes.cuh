/*
 * genie_cuda_planes.cuh
 *	  Bit-sliced sums of bitmaps, and how they become counters.
 *
 * A thread adds 32-bit words, a bit an object, in *planes*: bit o of plane b is bit b of object o's sum.  Eight words
 * go through a tree of carry-save adders (two three-input logic operations each), so only every eighth word has a carry
 * into the planes of weight 8 and more.  That makes 3 operations a word.
 *
 * Counters lie in object order, 32 / BITS in a word.  Planes become counters by transposing 8 x 8 (4 x 4) blocks of
 * bits with swaps of halves, in all bytes (nibbles) at once, and then transposing bytes among words.
 *
 * Sums fit: an object matches a query at most max_count times, which fits BITS bits, and each bitmap is one match.
 */
#ifndef GENIE_CUDA_PLANES_CUH
#define GENIE_CUDA_PLANES_CUH

#include "genie_cuda_policy.cuh"

/* a + b + c = sum + 2 * carry, bit by bit */
__device__ __forceinline__ void
genie_cuda_add3(uint32_t a, uint32_t b, uint32_t c, uint32_t &sum, uint32_t &carry)
{
	carry = (a & b) | (c & (a ^ b));
	sum = a ^ b ^ c;
}

/* Adds eight words to the planes. */
template <int BITS>
__device__ __forceinline__ void
genie_cuda_planes_add(uint32_t (&planes)[BITS], const uint32_t (&words)[GENIE_CUDA_BITMAP_BATCH])
{
	uint32_t	twos[4];
	uint32_t	fours[2];
	uint32_t	carry;

	genie_cuda_add3(planes[0], words[0], words[1], planes[0], twos[0]);
	genie_cuda_add3(planes[0], words[2], words[3], planes[0], twos[1]);
	genie_cuda_add3(planes[0], words[4], words[5], planes[0], twos[2]);
	genie_cuda_add3(planes[0], words[6], words[7], planes[0], twos[3]);
	genie_cuda_add3(planes[1], twos[0], twos[1], planes[1], fours[0]);
	genie_cuda_add3(planes[1], twos[2], twos[3], planes[1], fours[1]);
	genie_cuda_add3(planes[2], fours[0], fours[1], planes[2], carry);
#pragma unroll
	for (int b = 3; b < BITS; b++)
	{
		const uint32_t next = planes[b] & carry;

		planes[b] ^= carry;
		carry = next;
	}
}

/* Swaps the high bits of low with the low bits of high, in each group of 2 * SHIFT bits. */
template <int SHIFT>
__device__ __forceinline__ void
genie_cuda_swap(uint32_t &low, uint32_t &high, uint32_t mask)
{
	const uint32_t differing = ((low >> SHIFT) ^ high) & mask;

	high ^= differing;
	low ^= differing << SHIFT;
}

/* Transposes 4 x 4 bytes: byte j of word i becomes byte i of word j. */
__device__ __forceinline__ void
genie_cuda_transpose_bytes(const uint32_t *in, uint32_t *out)
{
	const uint32_t a = __byte_perm(in[0], in[1], 0x5140);
	const uint32_t b = __byte_perm(in[2], in[3], 0x5140);
	const uint32_t c = __byte_perm(in[0], in[1], 0x7362);
	const uint32_t d = __byte_perm(in[2], in[3], 0x7362);

	out[0] = __byte_perm(a, b, 0x5410);
	out[1] = __byte_perm(a, b, 0x7632);
	out[2] = __byte_perm(c, d, 0x5410);
	out[3] = __byte_perm(c, d, 0x7632);
}

/* Eight planes to the 8-bit counters of 32 objects; the planes are used up. */
__device__ __forceinline__ void
genie_cuda_planes_to_bytes(uint32_t *planes, uint32_t (&counters)[8])
{
	uint32_t	low[4];
	uint32_t	high[4];

#pragma unroll
	for (int i = 0; i < 4; i++)
		genie_cuda_swap<4>(planes[i], planes[i + 4], 0x0F0F0F0Fu);
#pragma unroll
	for (int i = 0; i < 8; i++)
		if (i % 4 < 2)
			genie_cuda_swap<2>(planes[i], planes[i + 2], 0x33333333u);
#pragma unroll
	for (int i = 0; i < 8; i += 2)
		genie_cuda_swap<1>(planes[i], planes[i + 1], 0x55555555u);

	/* now byte j of planes[i] is the count of object 8 * j + i */
	genie_cuda_transpose_bytes(planes, low);
	genie_cuda_transpose_bytes(planes + 4, high);
#pragma unroll
	for (int j = 0; j < 4; j++)
	{
		counters[2 * j] = low[j];
		counters[2 * j + 1] = high[j];
	}
}

/* Four planes to the 4-bit counters of 32 objects; the planes are used up. */
__device__ __forceinline__ void
genie_cuda_planes_to_nibbles(uint32_t *planes, uint32_t (&counters)[4])
{
	genie_cuda_swap<2>(planes[0], planes[2], 0x33333333u);
	genie_cuda_swap<2>(planes[1], planes[3], 0x33333333u);
	genie_cuda_swap<1>(planes[0], planes[1], 0x55555555u);
	genie_cuda_swap<1>(planes[2], planes[3], 0x55555555u);

	/* now nibble j of planes[i] is the count of object 4 * j + i */
	genie_cuda_transpose_bytes(planes, counters);
#pragma unroll
	for (int j = 0; j < 4; j++)
	{
		/* byte i has objects 8 * j + i and 8 * j + 4 + i: nibbles 0, 4, 1, 5, 2, 6, 3, 7 of the word to be */
		const uint32_t word = counters[j];
		const uint32_t differing = (word ^ (word >> 4)) & 0x00F000F0u;
		const uint32_t paired = word ^ differing ^ (differing << 4);

		counters[j] = __byte_perm(paired, 0, 0x3120);
	}
}

/* The counters of 32 objects: BITS words, in object order; the planes are used up. */
template <int BITS>
__device__ __forceinline__ void
genie_cuda_planes_to_counters(uint32_t (&planes)[BITS], uint32_t (&counters)[BITS])
{
	if constexpr (BITS == 4)
		genie_cuda_planes_to_nibbles(planes, counters);
	else if constexpr (BITS == 8)
		genie_cuda_planes_to_bytes(planes, counters);
	else
	{
		uint32_t	low[8];
		uint32_t	high[8];

		genie_cuda_planes_to_bytes(planes, low);
		genie_cuda_planes_to_bytes(planes + 8, high);
#pragma unroll
		for (int i = 0; i < 8; i++)
		{
			counters[2 * i] = __byte_perm(low[i], high[i], 0x5140);
			counters[2 * i + 1] = __byte_perm(low[i], high[i], 0x7362);
		}
	}
}

#endif							/* GENIE_CUDA_PLANES_CUH */

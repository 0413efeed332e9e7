/*
 * genie_murmur.h
 *	  MurmurHash3 (Austin Appleby, 2011, in the public domain), written anew: the 32-bit form a word at a time, and
 *	  the first 64 bits of the 128-bit form.
 *
 * Words are numbers, not bytes of memory, so that all machines agree.
 */
#ifndef GENIE_MURMUR_H
#define GENIE_MURMUR_H

#include <stddef.h>
#include <stdint.h>

#define GENIE_MURMUR_C1		UINT32_C(0xCC9E2D51)
#define GENIE_MURMUR_C2		UINT32_C(0x1B873593)
#define GENIE_MURMUR_ADD	UINT32_C(0xE6546B64)

#ifdef __CUDACC__
#define GENIE_MURMUR_FUNCTION static __host__ __device__ __forceinline__
#else
#define GENIE_MURMUR_FUNCTION static inline
#endif

GENIE_MURMUR_FUNCTION uint32_t
genie_murmur_rotate(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

/* The state, at first a seed, after one more word.  genie_lsh_kernel.h has it for vectors. */
GENIE_MURMUR_FUNCTION uint32_t
genie_murmur_step(uint32_t state, uint32_t word)
{
	state ^= genie_murmur_rotate(word * GENIE_MURMUR_C1, 15) * GENIE_MURMUR_C2;
	return genie_murmur_rotate(state, 13) * 5 + GENIE_MURMUR_ADD;
}

/* The hash of n_words words. */
GENIE_MURMUR_FUNCTION uint32_t
genie_murmur_finish(uint32_t state, uint32_t n_words)
{
	state ^= n_words * 4;
	state = (state ^ state >> 16) * UINT32_C(0x85EBCA6B);
	state = (state ^ state >> 13) * UINT32_C(0xC2B2AE35);
	return state ^ state >> 16;
}

#define GENIE_MURMUR_MIX_1	UINT64_C(0xFF51AFD7ED558CCD)
#define GENIE_MURMUR_MIX_2	UINT64_C(0xC4CEB9FE1A85EC53)

/* The finalizer of 64 bits: a permutation.  genie_lsh_kernel.h has it for vectors. */
static inline uint64_t
genie_murmur_mix(uint64_t x)
{
	x = (x ^ x >> 33) * GENIE_MURMUR_MIX_1;
	x = (x ^ x >> 33) * GENIE_MURMUR_MIX_2;
	return x ^ x >> 33;
}

/* up to 8 bytes, the first one lowest */
static inline uint64_t
genie_murmur_word(const uint8_t *bytes, size_t n)
{
	uint64_t	word = 0;

	for (size_t i = 0; i < n && i < 8; i++)
		word |= (uint64_t) bytes[i] << (8 * i);
	return word;
}

static inline uint64_t
genie_murmur_rotate_64(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* the first half of MurmurHash3_x64_128 */
static inline uint64_t
genie_murmur_bytes(const uint8_t *bytes, size_t n, uint32_t seed)
{
	const uint64_t c1 = UINT64_C(0x87C37B91114253D5);
	const uint64_t c2 = UINT64_C(0x4CF5AD432745937F);
	uint64_t	h1 = seed;
	uint64_t	h2 = seed;
	size_t		left = n;

	for (; left >= 16; left -= 16, bytes += 16)
	{
		h1 ^= genie_murmur_rotate_64(genie_murmur_word(bytes, 8) * c1, 31) * c2;
		h1 = (genie_murmur_rotate_64(h1, 27) + h2) * 5 + 0x52DCE729;
		h2 ^= genie_murmur_rotate_64(genie_murmur_word(bytes + 8, 8) * c2, 33) * c1;
		h2 = (genie_murmur_rotate_64(h2, 31) + h1) * 5 + 0x38495AB5;
	}
	if (left > 8)
		h2 ^= genie_murmur_rotate_64(genie_murmur_word(bytes + 8, left - 8) * c2, 33) * c1;
	h1 ^= genie_murmur_rotate_64(genie_murmur_word(bytes, left) * c1, 31) * c2;
	h1 ^= n;
	h2 ^= n;
	h1 += h2;
	h2 += h1;
	return genie_murmur_mix(h1) + genie_murmur_mix(h2);
}

#endif							/* GENIE_MURMUR_H */

/*
 * genie_bitmaps_kernel.h
 *	  Adding bitmaps to counters, and counting their bits, as a template: a file that defines the vector includes it
 *	  (genie_kernels.h).
 *
 * The bitmaps' bits are summed up in planes, a vector of objects at a time: plane p is bit p of each object's sum.
 * Instruction sets differ in how planes are then added to counters.
 *
 *	BITMAPS_VECTOR	a type that the operators of C combine bit by bit
 *	BITMAPS_TARGET	attribute of each function: the instructions that it may use
 *	BITMAPS_XOR3(a, b, c), BITMAPS_MAJORITY(a, b, c)	sum and carry of three bits
 *	BITMAPS_TOGETHER	vectors whose planes stay in registers together
 *	BITMAPS_ADD(counters, wide, planes, n_planes)	adds the sums of a vector's objects to as many counters, which have
 *				16 bits if they are wide and else 8; wide and n_planes are constants
 *
 * Without these macros it is the portable instance: words of 64 bits, and eight counters at a time.
 */
#ifndef GENIE_BITMAPS_KERNEL_H
#define GENIE_BITMAPS_KERNEL_H

#include <string.h>

#include "genie_bits.h"
#include "genie_kernels.h"

#ifndef BITMAPS_VECTOR
#define BITMAPS_VECTOR uint64_t
#define BITMAPS_TARGET
#define BITMAPS_TOGETHER 1
#define BITMAPS_XOR3(a, b, c) ((a) ^ (b) ^ (c))
#define BITMAPS_MAJORITY(a, b, c) (((a) & (b)) | (((a) ^ (b)) & (c)))
#define BITMAPS_ADD add_octets

/* Bits 0..7 become the lowest bits of bytes 0..7. */
static inline uint64_t
spread_bits(uint64_t bits)
{
	uint64_t	each = GENIE_EACH_BYTE(bits) & UINT64_C(0x8040201008040201);

	return ((each + GENIE_EACH_BYTE(UINT64_C(0x7F))) >> 7) & GENIE_EACH_BYTE(UINT64_C(1));
}

static inline __attribute__((always_inline)) void
add_octets(void *counters, const bool wide, const uint64_t *planes, const uint32_t n_planes)
{
	for (uint32_t octet = 0; octet < 8; octet++)
	{
		uint16_t   *wide_at = (uint16_t *) counters + 8 * octet;
		uint8_t    *at = (uint8_t *) counters + 8 * octet;
		uint64_t	sums = 0;

		for (uint32_t p = 0; p < n_planes; p++)
			sums += spread_bits((planes[p] >> (8 * octet)) & 0xFF) << p;
		for (uint32_t i = 0; wide && i < 8; i++)
			wide_at[i] = (uint16_t) (wide_at[i] + ((sums >> (8 * i)) & 0xFF));
		if (!wide)
			genie_store_64(at, genie_load_64(at) + sums);
	}
}
#endif

#define BITMAPS_INLINE static inline __attribute__((always_inline)) BITMAPS_TARGET
#define BITMAPS_BYTES ((uint32_t) sizeof(BITMAPS_VECTOR))

/* A vector of the bytes as words: bit and byte numbers grow with object numbers. */
BITMAPS_INLINE BITMAPS_VECTOR
load_vector(const uint8_t *from)
{
	uint64_t	words[sizeof(BITMAPS_VECTOR) / 8];
	BITMAPS_VECTOR vector;

	for (uint32_t w = 0; w < BITMAPS_BYTES / 8; w++)
		words[w] = genie_load_64(from + 8 * w);
	memcpy(&vector, words, sizeof(vector));
	return vector;
}

/* the bitmap's bits from a byte on, zeros past its end; "within": it does not end in this vector */
BITMAPS_INLINE BITMAPS_VECTOR
bitmap_vector(const GenieBitmap *bitmap, uint32_t byte, const bool within)
{
	uint8_t		padded[sizeof(BITMAPS_VECTOR)] = {0};

	if (within || byte + BITMAPS_BYTES <= bitmap->nbytes)
		return load_vector(bitmap->data + byte);
	if (byte < bitmap->nbytes)
		memcpy(padded, bitmap->data + byte, bitmap->nbytes - byte);
	return load_vector(padded);
}

/* Adds a bit of weight 2^from to the sums. */
BITMAPS_INLINE void
add_carry(BITMAPS_VECTOR *planes, const uint32_t from, const uint32_t n_planes, BITMAPS_VECTOR carry)
{
	for (uint32_t p = from; p < n_planes; p++)
	{
		BITMAPS_VECTOR sum = planes[p] ^ carry;

		carry &= planes[p];
		planes[p] = sum;
	}
}

/* Adds a and b to *sum; returns the carry. */
BITMAPS_INLINE BITMAPS_VECTOR
add_pair(BITMAPS_VECTOR *sum, BITMAPS_VECTOR a, BITMAPS_VECTOR b)
{
	BITMAPS_VECTOR carry = BITMAPS_MAJORITY(*sum, a, b);

	*sum = BITMAPS_XOR3(*sum, a, b);
	return carry;
}

/*
 * Adds four bitmaps of a vector of objects, or two, or one, to the sums.  Four of them take two full adders into plane
 * 0; the two carries take one into plane 1, and its carry ripples through the planes above.
 */
BITMAPS_INLINE void
add_to_planes(BITMAPS_VECTOR *planes, const GenieBitmap *bitmaps, const uint32_t n, uint32_t byte, const bool within,
			  const uint32_t n_planes)
{
	BITMAPS_VECTOR first = bitmap_vector(&bitmaps[0], byte, within);
	BITMAPS_VECTOR twos;
	BITMAPS_VECTOR more_twos;

	if (n == 1)
	{
		add_carry(planes, 0, n_planes, first);
		return;
	}
	twos = add_pair(&planes[0], first, bitmap_vector(&bitmaps[1], byte, within));
	if (n == 2)
	{
		add_carry(planes, 1, n_planes, twos);
		return;
	}
	more_twos = add_pair(&planes[0], bitmap_vector(&bitmaps[2], byte, within),
						 bitmap_vector(&bitmaps[3], byte, within));
	add_carry(planes, 2, n_planes, add_pair(&planes[1], twos, more_twos));
}

/*
 * Adds the bitmaps' bits of n_vectors vectors of objects to their counters.  Several vectors together, because the
 * bitmaps come from far: with one cache line of each, the processor would fetch from too many places at a time.
 */
BITMAPS_INLINE void
add_vectors(void *counters, const bool wide, const GenieBitmap *bitmaps, uint32_t n, uint32_t byte, const bool within,
			const uint32_t n_planes, const uint32_t n_vectors)
{
	BITMAPS_VECTOR planes[BITMAPS_TOGETHER][GENIE_BITMAP_PLANES];
	uint32_t	i = 0;

	for (uint32_t v = 0; v < n_vectors; v++)
		for (uint32_t p = 0; p < n_planes; p++)
			planes[v][p] = (BITMAPS_VECTOR) {0};
	for (; n_planes > 1 && i + 4 <= n; i += 4)
		for (uint32_t v = 0; v < n_vectors; v++)
			add_to_planes(planes[v], bitmaps + i, 4, byte + v * BITMAPS_BYTES, within, n_planes);
	for (; n_planes > 1 && i + 2 <= n; i += 2)
		for (uint32_t v = 0; v < n_vectors; v++)
			add_to_planes(planes[v], bitmaps + i, 2, byte + v * BITMAPS_BYTES, within, n_planes);
	for (uint32_t v = 0; v < n_vectors && i < n; v++)
		add_to_planes(planes[v], bitmaps + i, 1, byte + v * BITMAPS_BYTES, within, n_planes);
	for (uint32_t v = 0; v < n_vectors; v++)
		BITMAPS_ADD((uint8_t *) counters + (wide ? 16 : 8) * (size_t) (byte + v * BITMAPS_BYTES), wide, planes[v],
					n_planes);
}

/* bytes [start, end) of the bitmaps; "within": no bitmap ends before end */
BITMAPS_INLINE void
add_stretch(void *counters, const bool wide, const GenieBitmap *bitmaps, uint32_t n, uint32_t start, uint32_t end,
			const bool within, const uint32_t n_planes)
{
	uint32_t	byte = start;

	for (; within && byte + BITMAPS_TOGETHER * BITMAPS_BYTES <= end; byte += BITMAPS_TOGETHER * BITMAPS_BYTES)
		add_vectors(counters, wide, bitmaps, n, byte, within, n_planes, BITMAPS_TOGETHER);
	for (; byte < end; byte += BITMAPS_BYTES)
		add_vectors(counters, wide, bitmaps, n, byte, within, n_planes, 1);
}

BITMAPS_INLINE void
add_bitmaps(void *counters, const bool wide, const GenieBitmap *bitmaps, uint32_t n, const uint32_t n_planes)
{
	uint32_t	shortest = UINT32_MAX;
	uint32_t	longest = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		if (bitmaps[i].nbytes < shortest)
			shortest = bitmaps[i].nbytes;
		if (bitmaps[i].nbytes > longest)
			longest = bitmaps[i].nbytes;
	}
	shortest -= shortest % BITMAPS_BYTES;
	add_stretch(counters, wide, bitmaps, n, 0, shortest, true, n_planes);
	add_stretch(counters, wide, bitmaps, n, shortest, longest, false, n_planes);
}

/* The number of planes is a constant in each branch, so that they stay in registers. */
BITMAPS_INLINE void
add_bitmaps_by_planes(void *counters, const bool wide, const GenieBitmap *bitmaps, uint32_t n)
{
	switch (genie_bits_needed(n))
	{
		case 1:
			add_bitmaps(counters, wide, bitmaps, n, 1);
			break;
		case 2:
			add_bitmaps(counters, wide, bitmaps, n, 2);
			break;
		case 3:
			add_bitmaps(counters, wide, bitmaps, n, 3);
			break;
		case 4:
			add_bitmaps(counters, wide, bitmaps, n, 4);
			break;
		case 5:
			add_bitmaps(counters, wide, bitmaps, n, 5);
			break;
		default:
			add_bitmaps(counters, wide, bitmaps, n, GENIE_BITMAP_PLANES);
			break;
	}
}

/* ---- the kernels: GenieKernels ---- */

BITMAPS_TARGET static void
add_bitmaps_8(uint8_t *counters, const GenieBitmap *bitmaps, uint32_t n)
{
	add_bitmaps_by_planes(counters, false, bitmaps, n);
}

BITMAPS_TARGET static void
add_bitmaps_16(uint16_t *counters, const GenieBitmap *bitmaps, uint32_t n)
{
	add_bitmaps_by_planes(counters, true, bitmaps, n);
}

BITMAPS_TARGET static uint32_t
count_both(const uint64_t *a, const uint64_t *b, uint32_t n_words)
{
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
		n += (uint32_t) __builtin_popcountll(a[w] & b[w]);
	return n;
}

#define BITMAP_KERNELS .add_bitmaps_8 = add_bitmaps_8, .add_bitmaps_16 = add_bitmaps_16, .count_both = count_both

#endif							/* GENIE_BITMAPS_KERNEL_H */

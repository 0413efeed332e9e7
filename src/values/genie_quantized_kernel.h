/*
 * genie_quantized_kernel.h
 *	  The distance of a query to a quantized vector, and picking bounds (genie_quantized.h), as a template: a file that
 *	  defines the register includes it.
 *
 *	QUANTIZED_NAME		the instruction set: genie_quantized_NAME is made
 *	QUANTIZED_TARGET	attribute of each function: the instructions that it may use
 *	QUANTIZED_WIDTH		floats in a register, at most BLOCK
 *	QUANTIZED_WIDEN(at)	QUANTIZED_WIDTH codes at any address, as floats
 *	QUANTIZED_ADD_PRODUCT(a, b, c)	a + b * c, in registers
 *	QUANTIZED_BITS(truths)	a bit for each lane of a register, lowest first; of a lane all bits are set or none
 *
 * A block of codes is BLOCK bytes, PARTS registers with sums of their own.  Codes become floats, and these the
 * vector's elements, in registers.  In the last block, a mask cuts out terms behind the last dimension, because there
 * the element is offset, not 0: the padding of records and queries may be read, but not added.
 */
#ifndef GENIE_QUANTIZED_KERNEL_H
#define GENIE_QUANTIZED_KERNEL_H

#include <string.h>

#include "genie_quantized.h"

#ifndef QUANTIZED_NAME
#define QUANTIZED_NAME portable
#define QUANTIZED_TARGET
#define QUANTIZED_WIDTH 4
#define QUANTIZED_WIDEN(at) widen(at)
#define QUANTIZED_ADD_PRODUCT(a, b, c) ((a) + (b) * (c))
#define QUANTIZED_BITS(truths) bits_of(truths)
#define QUANTIZED_OWN_REGISTER
#endif

#define BLOCK GENIE_QUANTIZED_ALIGN
#define PARTS (BLOCK / QUANTIZED_WIDTH)
#define INLINE __attribute__((always_inline)) QUANTIZED_TARGET static inline

typedef float Floats __attribute__((vector_size(4 * QUANTIZED_WIDTH)));
typedef float Quarter __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(4 * QUANTIZED_WIDTH)));

#ifdef QUANTIZED_OWN_REGISTER
INLINE Floats
widen(const uint8_t *at)
{
	uint8_t		codes __attribute__((vector_size(QUANTIZED_WIDTH)));

	memcpy(&codes, at, sizeof(codes));
	return __builtin_convertvector(__builtin_convertvector(codes, Ints), Floats);
}

INLINE uint32_t
bits_of(Ints truths)
{
	uint32_t	bits = 0;

	for (uint32_t i = 0; i < QUANTIZED_WIDTH; i++)
		bits |= (uint32_t) (truths[i] & 1) << i;
	return bits;
}
#endif

/* At BLOCK - n: all bits set of n dimensions, and none of the rest of a block. */
static const int32_t masks[2 * BLOCK] = {
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
};

/* Adds the terms of a block, those that the mask has. */
INLINE void
add_block(const bool differences, const bool is_last, Floats *sums, const GenieQuantized *record, const uint8_t *codes,
		  const float *query, const int32_t *mask)
{
	for (uint32_t p = 0; p < PARTS; p++)
	{
		Floats		offset = (Floats) {0} + record->offset;
		Floats		scale = (Floats) {0} + record->scale;
		Floats		x = QUANTIZED_ADD_PRODUCT(offset, QUANTIZED_WIDEN(codes + p * QUANTIZED_WIDTH), scale);
		Floats		y;
		Ints		keep;

		memcpy(&y, query + p * QUANTIZED_WIDTH, sizeof(y));
		x -= y;
		if (is_last)
		{
			memcpy(&keep, mask + p * QUANTIZED_WIDTH, sizeof(keep));
			x = (Floats) ((Ints) x & keep);
		}
		sums[p] = differences ? sums[p] + (Floats) ((Ints) x & INT32_MAX) : QUANTIZED_ADD_PRODUCT(sums[p], x, x);
	}
}

INLINE float
fold(const Floats *sums)
{
	Quarter		quarters[BLOCK / 4];
	Quarter		sum;

	memcpy(quarters, sums, sizeof(quarters));
	sum = (quarters[0] + quarters[1]) + (quarters[2] + quarters[3]);
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

INLINE float
sum_up(const bool differences, const float *query, const GenieQuantized *record, uint32_t n)
{
	const uint8_t *codes = (const uint8_t *) (record + 1);
	Floats		sums[PARTS] = {0};
	uint32_t	whole = n - n % BLOCK;

	for (uint32_t i = 0; i < whole; i += BLOCK)
		add_block(differences, false, sums, record, codes + i, query + i, NULL);
	if (whole < n)
		add_block(differences, true, sums, record, codes + whole, query + whole, masks + BLOCK - (n - whole));
	return fold(sums);
}

QUANTIZED_TARGET
static float
sum_by_metric(bool differences, const float *query, const GenieQuantized *record, uint32_t n_dimensions)
{
	return differences ? sum_up(true, query, record, n_dimensions) : sum_up(false, query, record, n_dimensions);
}

/* Which of a block of bounds are within: a bit each. */
INLINE uint32_t
block_within(const float *bounds, Floats above, Floats upto)
{
	uint32_t	bits = 0;

	for (uint32_t p = 0; p < PARTS; p++)
	{
		Floats		x;

		memcpy(&x, bounds + p * QUANTIZED_WIDTH, sizeof(x));
		bits |= QUANTIZED_BITS((Ints) (x > above) & (Ints) (x <= upto)) << p * QUANTIZED_WIDTH;
	}
	return bits;
}

QUANTIZED_TARGET
static uint32_t
within(const float *bounds, uint32_t n, float above, float upto, uint32_t *places)
{
	uint32_t	whole = n - n % BLOCK;
	uint32_t	n_places = 0;

	for (uint32_t i = 0; i < whole; i += BLOCK)
		for (uint32_t bits = block_within(bounds + i, (Floats) {0} + above, (Floats) {0} + upto); bits != 0;
			 bits &= bits - 1)
			places[n_places++] = i + (uint32_t) __builtin_ctz(bits);
	for (uint32_t i = whole; i < n; i++)
		if (bounds[i] > above && bounds[i] <= upto)
			places[n_places++] = i;
	return n_places;
}

#define KERNEL_OF(name) KERNEL_OF_(name)
#define KERNEL_OF_(name) const GenieQuantizedKernel genie_quantized_##name = {#name, sum_by_metric, within}
KERNEL_OF(QUANTIZED_NAME);

#endif							/* GENIE_QUANTIZED_KERNEL_H */

/*
 * genie_codes_kernel.h
 *	  Comparing rows of codes with bounds, as a template: a file that defines the vector includes it (genie_kernels.h).
 *
 * All codes of a row are compared at once, of as many rows as a vector has.
 *
 *	CODES_VECTOR	a type of 16 bytes or more, whole rows, that the operators of C combine bit by bit
 *	CODES_TARGET	attribute of each function: the instructions that it may use
 *	CODES_REPEAT(bytes)	a vector of these 16 bytes, again and again
 *	CODES_OVER_8(a, b), CODES_OVER_16(a, b)		0 in those fields of 8 or 16 bits in which a <= b, and only there
 *	CODES_SHIFT(a)	each field of 16 bits shifted by 4 bits to the right
 *	CODES_ROWS(a, row_bytes)	for each row of so many bytes a bit: are all of them 0?
 *
 * Without these macros it is the portable instance: 16 bytes at a time.
 */
#ifndef GENIE_CODES_KERNEL_H
#define GENIE_CODES_KERNEL_H

#include <string.h>

#include "genie_kernels.h"

#ifndef CODES_VECTOR
typedef uint8_t CodeVector __attribute__((vector_size(GENIE_CODE_BOUND_BYTES)));
typedef uint16_t CodeWords __attribute__((vector_size(GENIE_CODE_BOUND_BYTES)));

#define CODES_VECTOR CodeVector
#define CODES_TARGET
#define CODES_REPEAT(bytes) load_codes(bytes)
#define CODES_OVER_8(a, b) ((CodeVector) ((a) > (b)))
#define CODES_OVER_16(a, b) ((CodeVector) ((CodeWords) (a) > (CodeWords) (b)))
#define CODES_SHIFT(a) ((CodeVector) ((CodeWords) (a) >> 4))
#define CODES_ROWS(a, row_bytes) rows_of(a, row_bytes)

static inline CodeVector
load_codes(const uint8_t *bytes)
{
	CodeVector	codes;

	memcpy(&codes, bytes, sizeof(codes));
	return codes;
}

static inline __attribute__((always_inline)) uint32_t
rows_of(CodeVector a, const uint32_t row_bytes)
{
	uint32_t	words[GENIE_CODE_BOUND_BYTES / sizeof(uint32_t)];
	uint32_t	bits = 0;

	memcpy(words, &a, sizeof(words));
	if (row_bytes == 16)
		return (words[0] | words[1] | words[2] | words[3]) == 0;
	if (row_bytes == 8)
		return ((words[0] | words[1]) == 0) | ((words[2] | words[3]) == 0) << 1;
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		bits |= (uint32_t) (words[i] == 0) << i;
	return bits;
}
#endif

static inline __attribute__((always_inline)) CODES_TARGET void
match_rows(const uint8_t *rows, uint32_t n_words, const GenieCodeBounds *bounds, uint64_t *objects,
		   const uint32_t width, const uint32_t row_bytes)
{
	static const uint8_t halves[] = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
	const uint32_t n_together = sizeof(CODES_VECTOR) / row_bytes;
	const CODES_VECTOR half = CODES_REPEAT(halves);
	const CODES_VECTOR low = CODES_REPEAT(bounds->low.bytes[0]);
	const CODES_VECTOR high = CODES_REPEAT(bounds->high.bytes[0]);
	const CODES_VECTOR odd_low = CODES_REPEAT(bounds->low.bytes[1]);
	const CODES_VECTOR odd_high = CODES_REPEAT(bounds->high.bytes[1]);

	for (uint32_t w = 0; w < n_words; w++)
	{
		uint64_t	bits = 0;

		if (objects[w] == 0)
			continue;
		for (uint32_t i = 0; i < 64; i += n_together)
		{
			CODES_VECTOR codes;
			CODES_VECTOR odd;
			CODES_VECTOR outside;

			memcpy(&codes, rows + (size_t) (64 * w + i) * row_bytes, sizeof(codes));
			odd = CODES_SHIFT(codes) & half;
			if (width == 4)
				codes &= half;
			if (width == 16)
				outside = CODES_OVER_16(low, codes) | CODES_OVER_16(codes, high);
			else
				outside = CODES_OVER_8(low, codes) | CODES_OVER_8(codes, high);
			if (width == 4)
				outside |= CODES_OVER_8(odd_low, odd) | CODES_OVER_8(odd, odd_high);
			bits |= (uint64_t) CODES_ROWS(outside, row_bytes) << i;
		}
		objects[w] &= bits;
	}
}

#define MATCH_WIDTH(of_width) \
	do { \
		if (bounds->row_bytes == 4) \
			match_rows(rows, n_words, bounds, objects, of_width, 4); \
		else if (bounds->row_bytes == 8) \
			match_rows(rows, n_words, bounds, objects, of_width, 8); \
		else \
			match_rows(rows, n_words, bounds, objects, of_width, 16); \
	} while (0)

CODES_TARGET static void
match_codes(const uint8_t *rows, uint32_t n_words, const GenieCodeBounds *bounds, uint64_t *objects)
{
	if (bounds->width == 16)
		MATCH_WIDTH(16);
	else if (bounds->width == 8)
		MATCH_WIDTH(8);
	else
		MATCH_WIDTH(4);
}

#endif							/* GENIE_CODES_KERNEL_H */

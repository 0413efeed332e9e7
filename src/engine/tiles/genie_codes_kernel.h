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
 *	CODES_ZERO_8(a), CODES_ZERO_16(a)	for each field of 8 or 16 bits a bit of 64: is it 0?
 *	CODES_ADD_FIELDS_8, CODES_ADD_FIELDS_16		as ADD_FIELDS below, to counters of 8 and 16 bits; or not defined
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
#define CODES_ZERO_8(a) zero_bytes(a)
#define CODES_ZERO_16(a) zero_words(a)

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

static inline uint64_t
zero_bytes(CodeVector a)
{
	uint64_t	bits = 0;

	for (uint32_t i = 0; i < sizeof(a); i++)
		bits |= (uint64_t) (a[i] == 0) << i;
	return bits;
}

static inline uint64_t
zero_words(CodeVector a)
{
	CodeWords	words = (CodeWords) a;
	uint64_t	bits = 0;

	for (uint32_t i = 0; i < sizeof(a) / sizeof(words[0]); i++)
		bits |= (uint64_t) (words[i] == 0) << i;
	return bits;
}
#endif

/* Bounds of a row, as vectors. */
typedef struct CodeLimits
{
	CODES_VECTOR low;
	CODES_VECTOR high;
	CODES_VECTOR odd_low;		/* of 4-bit codes: of the high halves of bytes */
	CODES_VECTOR odd_high;
} CodeLimits;

static inline __attribute__((always_inline)) CODES_TARGET CodeLimits
limits_of(const GenieCodeBounds *bounds)
{
	return (CodeLimits) {CODES_REPEAT(bounds->low.bytes[0]), CODES_REPEAT(bounds->high.bytes[0]),
		CODES_REPEAT(bounds->low.bytes[1]), CODES_REPEAT(bounds->high.bytes[1])};
}

/* Which codes of some rows are outside: 0 for the others.  *odd: those of the high halves, if codes have 4 bits. */
static inline __attribute__((always_inline)) CODES_TARGET CODES_VECTOR
outside_of(const uint8_t *rows, const CodeLimits *limits, const uint32_t width, CODES_VECTOR *odd)
{
	static const uint8_t halves[] = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};
	const CODES_VECTOR half = CODES_REPEAT(halves);
	CODES_VECTOR codes;

	memcpy(&codes, rows, sizeof(codes));
	if (width == 16)
		return CODES_OVER_16(limits->low, codes) | CODES_OVER_16(codes, limits->high);
	if (width == 4)
	{
		const CODES_VECTOR high_codes = CODES_SHIFT(codes) & half;

		*odd = CODES_OVER_8(limits->odd_low, high_codes) | CODES_OVER_8(high_codes, limits->odd_high);
		codes &= half;
	}
	return CODES_OVER_8(limits->low, codes) | CODES_OVER_8(codes, limits->high);
}

static inline __attribute__((always_inline)) CODES_TARGET void
match_rows(const uint8_t *rows, uint32_t n_words, const GenieCodeBounds *bounds, uint64_t *objects,
		   const uint32_t width, const uint32_t row_bytes)
{
	const uint32_t n_together = sizeof(CODES_VECTOR) / row_bytes;
	const CodeLimits limits = limits_of(bounds);

	for (uint32_t w = 0; w < n_words; w++)
	{
		uint64_t	bits = 0;

		if (objects[w] == 0)
			continue;
		for (uint32_t i = 0; i < 64; i += n_together)
		{
			CODES_VECTOR odd;
			CODES_VECTOR outside = outside_of(rows + (size_t) (64 * w + i) * row_bytes, &limits, width, &odd);

			if (width == 4)
				outside |= odd;
			bits |= (uint64_t) CODES_ROWS(outside, row_bytes) << i;
		}
		objects[w] &= bits;
	}
}

/* Adds the number of bits in each field of n_fields bits, of 64 fields, to 64 counters. */
#define ADD_FIELDS(fields, n_fields, counters) \
	do { \
		for (uint32_t i_ = 0; i_ < 64; i_++) \
		{ \
			uint64_t	field_ = (fields)[i_ * (n_fields) / 64] >> (i_ * (n_fields) % 64); \
			(counters)[i_] += (uint32_t) __builtin_popcountll(field_ & ((UINT64_C(1) << (n_fields)) - 1)); \
		} \
	} while (0)

#ifndef CODES_ADD_FIELDS_8
#define CODES_ADD_FIELDS_8(fields, n_fields, counters) ADD_FIELDS(fields, n_fields, counters)
#define CODES_ADD_FIELDS_16(fields, n_fields, counters) ADD_FIELDS(fields, n_fields, counters)
#endif

/* Adds to the counter of each row how many of its codes are within, 64 rows at a time: each is a field of bits. */
#define COUNT_ROWS(counters, add_fields) \
	do { \
		const uint32_t n_together = sizeof(CODES_VECTOR) / row_bytes; \
		const uint32_t n_fields = row_bytes / (width == 16 ? 2 : 1); \
		const CodeLimits limits = limits_of(bounds); \
		for (uint32_t first = 0; first < n; first += 64) \
		{ \
			uint64_t	within[GENIE_CODE_BOUND_BYTES] = {0}; \
			uint64_t	odd_within[GENIE_CODE_BOUND_BYTES] = {0}; \
			for (uint32_t i = 0; i < 64; i += n_together) \
			{ \
				CODES_VECTOR odd; \
				CODES_VECTOR outside = outside_of(rows + (size_t) (first + i) * row_bytes, &limits, width, &odd); \
				uint32_t	at = i * n_fields; \
				if (width == 16) \
					within[at / 64] |= (uint64_t) CODES_ZERO_16(outside) << (at % 64); \
				else \
					within[at / 64] |= (uint64_t) CODES_ZERO_8(outside) << (at % 64); \
				if (width == 4) \
					odd_within[at / 64] |= (uint64_t) CODES_ZERO_8(odd) << (at % 64); \
			} \
			add_fields(within, n_fields, (counters) + first); \
			if (width == 4) \
				add_fields(odd_within, n_fields, (counters) + first); \
		} \
	} while (0)

static inline __attribute__((always_inline)) CODES_TARGET void
count_rows_8(const uint8_t *rows, uint32_t n, const GenieCodeBounds *bounds, uint8_t *counters,
			 const uint32_t width, const uint32_t row_bytes)
{
	COUNT_ROWS(counters, CODES_ADD_FIELDS_8);
}

static inline __attribute__((always_inline)) CODES_TARGET void
count_rows_16(const uint8_t *rows, uint32_t n, const GenieCodeBounds *bounds, uint16_t *counters,
			  const uint32_t width, const uint32_t row_bytes)
{
	COUNT_ROWS(counters, CODES_ADD_FIELDS_16);
}

#undef COUNT_ROWS

/* One of nine functions, by the width of codes and the bytes of a row. */
#define OF_ROWS(function, of_width, ...) \
	do { \
		if (bounds->row_bytes == 4) \
			function(__VA_ARGS__, of_width, 4); \
		else if (bounds->row_bytes == 8) \
			function(__VA_ARGS__, of_width, 8); \
		else \
			function(__VA_ARGS__, of_width, 16); \
	} while (0)

#define OF_CODES(function, ...) \
	do { \
		if (bounds->width == 16) \
			OF_ROWS(function, 16, __VA_ARGS__); \
		else if (bounds->width == 8) \
			OF_ROWS(function, 8, __VA_ARGS__); \
		else \
			OF_ROWS(function, 4, __VA_ARGS__); \
	} while (0)

CODES_TARGET static void
match_codes(const uint8_t *rows, uint32_t n_words, const GenieCodeBounds *bounds, uint64_t *objects)
{
	OF_CODES(match_rows, rows, n_words, bounds, objects);
}

CODES_TARGET static void
count_codes_8(const uint8_t *rows, uint32_t n, const GenieCodeBounds *bounds, uint8_t *counters)
{
	OF_CODES(count_rows_8, rows, n, bounds, counters);
}

CODES_TARGET static void
count_codes_16(const uint8_t *rows, uint32_t n, const GenieCodeBounds *bounds, uint16_t *counters)
{
	OF_CODES(count_rows_16, rows, n, bounds, counters);
}

#endif							/* GENIE_CODES_KERNEL_H */

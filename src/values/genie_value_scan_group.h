/*
 * genie_value_scan_group.h
 *	  What the kernels of genie_value_scan.h know of some records: of each a number, one behind the other for registers.
 *
 * A block is so large that a processor begins with sums and bounds of records while others still wait for theirs.
 */
#ifndef GENIE_VALUE_SCAN_GROUP_H
#define GENIE_VALUE_SCAN_GROUP_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "genie_quantized.h"

#define GENIE_VALUE_GROUP 16	/* records, whose sums are computed together */
#define GENIE_VALUE_BLOCK 128	/* records, a multiple */

typedef struct GenieValueBlock
{
	float		offset[GENIE_VALUE_BLOCK];
	float		scale[GENIE_VALUE_BLOCK];
	float		error[GENIE_VALUE_BLOCK];
	union
	{
		uint32_t	squares[GENIE_VALUE_BLOCK];
		float		beyond[GENIE_VALUE_BLOCK];	/* L1 */
	};
	int32_t		products[GENIE_VALUE_BLOCK];	/* L1: the sums of differences, with a minus */
	int32_t		codes[GENIE_VALUE_BLOCK];	/* not of L1 */
} __attribute__((aligned(64))) GenieValueBlock;

/* Of a group's records, from place on. */
static inline void
genie_value_group_headers(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records)
{
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		block->offset[place + r] = records[r]->offset;
		block->scale[place + r] = records[r]->scale;
		block->error[place + r] = records[r]->error;
		block->squares[place + r] = records[r]->squares;
	}
}

/*
 * Distances to pivots: the largest differences of a group, of codes of 16 bits.  Records are short: one code for all
 * processors.
 */
#ifdef __SSE2__

/* The larger numbers of 16 bits, without signs. */
static inline __m128i
genie_value_larger(__m128i a, __m128i b)
{
	return _mm_add_epi16(b, _mm_subs_epu16(a, b));
}

/* Of pairs of registers with the differences of WIDTH bits' places: half as many, with the larger ones. */
#define GENIE_VALUE_FOLD(x, n, WIDTH) \
	do { \
		for (uint32_t fold_ = 0; fold_ < (n); fold_++) \
			(x)[fold_] = genie_value_larger(_mm_unpacklo_epi##WIDTH((x)[2 * fold_], (x)[2 * fold_ + 1]), \
											_mm_unpackhi_epi##WIDTH((x)[2 * fold_], (x)[2 * fold_ + 1])); \
	} while (0)

static inline void
genie_value_group_most(uint16_t *largest, const GenieQuantized *const *records, const uint8_t *query,
					   uint32_t n_elements)
{
	__m128i		most[GENIE_VALUE_GROUP];

	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *codes = (const uint8_t *) (records[r] + 1);

		most[r] = _mm_setzero_si128();
		for (uint32_t i = 0; i < n_elements; i += GENIE_QUANTIZED_ALIGN)
		{
			__m128i		c = _mm_loadu_si128((const __m128i *) (const void *) (codes + i));
			__m128i		q = _mm_loadu_si128((const __m128i *) (const void *) (query + i));

			most[r] = genie_value_larger(_mm_or_si128(_mm_subs_epu16(c, q), _mm_subs_epu16(q, c)), most[r]);
		}
	}
	/* three times, records are interleaved and halved, until each of eight has one number left, in their order */
	GENIE_VALUE_FOLD(most, 8, 16);
	GENIE_VALUE_FOLD(most, 4, 32);
	GENIE_VALUE_FOLD(most, 2, 64);
	_mm_storeu_si128((__m128i *) (void *) largest, most[0]);
	_mm_storeu_si128((__m128i *) (void *) (largest + GENIE_VALUE_GROUP / 2), most[1]);
}
#else
static inline void
genie_value_group_most(uint16_t *largest, const GenieQuantized *const *records, const uint8_t *query,
					   uint32_t n_elements)
{
	const uint16_t *of_query = (const uint16_t *) query;

	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint16_t *codes = (const uint16_t *) (records[r] + 1);

		largest[r] = 0;
		for (uint32_t i = 0; i < n_elements / GENIE_VALUE_PIVOT_BYTES; i++)
		{
			int32_t		apart = codes[i] - of_query[i];

			apart = apart < 0 ? -apart : apart;
			largest[r] = apart > largest[r] ? (uint16_t) apart : largest[r];
		}
	}
}
#endif

/* They are kept with a minus. */
static inline void
genie_value_group_largest(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records,
						  const uint8_t *query, uint32_t n_elements)
{
	uint16_t	largest[GENIE_VALUE_GROUP];

	genie_value_group_most(largest, records, query, n_elements);
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
		block->products[place + r] = -largest[r];
	genie_value_group_headers(block, place, records);
}

#endif							/* GENIE_VALUE_SCAN_GROUP_H */

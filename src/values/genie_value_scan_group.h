/*
 * genie_value_scan_group.h
 *	  What the kernels of genie_value_scan.h know of some records: of each a number, one behind the other for registers.
 *
 * A block is so large that a processor begins with sums and bounds of records while others still wait for theirs.
 */
#ifndef GENIE_VALUE_SCAN_GROUP_H
#define GENIE_VALUE_SCAN_GROUP_H

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

/* Distances to pivots: the largest differences of a group, with a minus.  Records are short. */
static inline void
genie_value_group_largest(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records,
						  const uint8_t *query, uint32_t n_elements)
{
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *codes = (const uint8_t *) (records[r] + 1);
		uint8_t		most[GENIE_QUANTIZED_ALIGN] = {0};
		int32_t		largest = 0;

		for (uint32_t i = 0; i < n_elements; i += GENIE_QUANTIZED_ALIGN)
			for (uint32_t j = 0; j < GENIE_QUANTIZED_ALIGN; j++)
			{
				uint8_t		a = codes[i + j];
				uint8_t		b = query[i + j];
				uint8_t		apart = a > b ? (uint8_t) (a - b) : (uint8_t) (b - a);

				most[j] = apart > most[j] ? apart : most[j];
			}
		for (uint32_t j = 0; j < GENIE_QUANTIZED_ALIGN; j++)
			largest = most[j] > largest ? most[j] : largest;
		block->products[place + r] = -largest;
	}
	genie_value_group_headers(block, place, records);
}

#endif							/* GENIE_VALUE_SCAN_GROUP_H */

/*
 * genie_lanes_kernel.h
 *	  The counting kernel of bit lanes, as a template: a file that defines the vector includes it (genie_lanes.h).
 *
 *	LANES_BITS		bits of a vector: 128, 256, 512
 *	LANES_TARGET	attribute of each function: the instructions that it may use
 *	LANES_XOR3(a, b, c), LANES_MAJORITY(a, b, c)	sum and carry of three bits
 *	LANES_LESS(a, b, c)		majority of not a, b and c: the borrow of a - b - c
 *	LANES_ANY(a)	is a bit set?
 *
 * Without these macros it is the portable instance: the compiler's vectors of 128 bits, which work on every processor.
 */
#ifndef GENIE_LANES_KERNEL_H
#define GENIE_LANES_KERNEL_H

#include <string.h>

#include "genie_lanes.h"

#ifndef LANES_BITS
#define LANES_BITS 128
#define LANES_TARGET
#define LANES_XOR3(a, b, c) ((a) ^ (b) ^ (c))
#define LANES_MAJORITY(a, b, c) (((a) & (b)) | (((a) ^ (b)) & (c)))
#define LANES_LESS(a, b, c) (((b) & (c)) | (((b) ^ (c)) & ~(a)))
#define LANES_ANY(a) (((a)[0] | (a)[1]) != 0)
#endif

#define LANES_INLINE static inline __attribute__((always_inline)) LANES_TARGET

#define LANE_WORDS (LANES_BITS / 64)
#define LANE_BYTES (LANES_BITS / 8)

#define TREE_ROWS 16			/* added at a time; half as many at the end */
#define TREE_PLANES 4			/* that the tree itself sums up */

#define ROW_PLANES 5			/* bits of GENIE_LANE_ROWS */

typedef uint64_t LaneVector __attribute__((vector_size(LANE_BYTES), may_alias));

/* Adds a and b to *sum; returns the carry. */
LANES_INLINE LaneVector
add_pair(LaneVector *sum, LaneVector a, LaneVector b)
{
	LaneVector	carry = LANES_MAJORITY(*sum, a, b);

	*sum = LANES_XOR3(*sum, a, b);
	return carry;
}

/* Adds a carry to planes from first on. */
LANES_INLINE void
add_carry(LaneVector *planes, const uint32_t first, const uint32_t n_planes, LaneVector carry)
{
	for (uint32_t p = first; p < n_planes; p++)
	{
		LaneVector	next = planes[p] & carry;

		planes[p] ^= carry;
		carry = next;
	}
}

/* Adds eight rows to planes 0 .. 2; returns what they carry into plane 3. */
LANES_INLINE LaneVector
add_eight(LaneVector *planes, const uint8_t *rows, const uint32_t *offsets)
{
#define ROW(i) (*(const LaneVector *) (const void *) (rows + offsets[i]))
	LaneVector	twos = add_pair(&planes[0], ROW(0), ROW(1));
	LaneVector	more_twos = add_pair(&planes[0], ROW(2), ROW(3));
	LaneVector	fours = add_pair(&planes[1], twos, more_twos);

	twos = add_pair(&planes[0], ROW(4), ROW(5));
	more_twos = add_pair(&planes[0], ROW(6), ROW(7));
	return add_pair(&planes[2], fours, add_pair(&planes[1], twos, more_twos));
#undef ROW
}

/* An object's counts. */
LANES_INLINE void
count_object(const uint8_t *rows, const uint32_t *offsets, uint32_t n_slots, const uint32_t n_planes,
			 LaneVector *planes)
{
	uint32_t	s = 0;

	for (uint32_t p = 0; p < n_planes; p++)
		planes[p] = (LaneVector) {0};
	for (; s + TREE_ROWS <= n_slots; s += TREE_ROWS)
	{
		LaneVector	eights = add_eight(planes, rows, offsets + s);
		LaneVector	more_eights = add_eight(planes, rows, offsets + s + TREE_ROWS / 2);

		add_carry(planes, TREE_PLANES, n_planes, add_pair(&planes[TREE_PLANES - 1], eights, more_eights));
	}
	if (s < n_slots)
		add_carry(planes, TREE_PLANES - 1, n_planes, add_eight(planes, rows, offsets + s));
}

/* Which of the wanted lanes are not below their thresholds? */
LANES_INLINE LaneVector
reaching(const GenieLaneTable *table, const uint32_t n_planes, const LaneVector *planes)
{
	LaneVector	less = {0};

	for (uint32_t p = 0; p < n_planes; p++)
	{
		LaneVector	threshold = *(const LaneVector *) (const void *) table->thresholds[p];

		less = LANES_LESS(planes[p], threshold, less);
	}
	return *(const LaneVector *) (const void *) table->wanted & ~less;
}

/* Takes the counts of the mask's lanes out of the planes; returns behind the hits. */
LANES_INLINE GenieLaneHit *
add_hits(GenieLaneHit *hit, uint32_t row, const uint32_t n_planes, const LaneVector *planes, LaneVector mask)
{
	uint64_t	masks[LANE_WORDS];
	uint64_t	words[GENIE_LANE_PLANES_MAX][LANE_WORDS];

	memcpy(masks, &mask, sizeof(masks));
	memcpy(words, planes, n_planes * sizeof(LaneVector));
	for (uint32_t w = 0; w < LANE_WORDS; w++)
		for (uint64_t left = masks[w]; left != 0; left &= left - 1)
		{
			uint32_t	bit = (uint32_t) __builtin_ctzll(left);
			uint32_t	count = 0;

			for (uint32_t p = n_planes; p-- > 0;)
				count = 2 * count + (uint32_t) (words[p][w] >> bit & 1);
			*hit++ = (GenieLaneHit) {(uint16_t) (w * 64 + bit), (uint16_t) count, row};
		}
	return hit;
}

/* Adds the planes of a sum of up to GENIE_LANE_ROWS objects to the tallies. */
LANES_INLINE void
add_tallies(GenieLaneTable *table, const LaneVector *sum)
{
	LaneVector	carry = {0};

	for (uint32_t p = 0; p < GENIE_LANE_TALLY_PLANES; p++)
	{
		LaneVector *plane = (LaneVector *) (void *) table->tallies[p];
		LaneVector	added = p < ROW_PLANES ? sum[p] : (LaneVector) {0};
		LaneVector	next = LANES_MAJORITY(*plane, added, carry);

		if (p >= ROW_PLANES && !LANES_ANY(carry))
			break;
		*plane = LANES_XOR3(*plane, added, carry);
		carry = next;
	}
}

/* n_planes, and whether any lane is tallied, are constants where this is inlined. */
LANES_INLINE uint32_t
count_rows(GenieLaneTable *table, uint32_t live, const uint32_t n_planes, const bool tallies)
{
	const LaneVector tallied = *(const LaneVector *) (const void *) table->tallied;
	GenieLaneHit *hit = table->hits;
	LaneVector	sum[ROW_PLANES] = {{0}};

	for (; live != 0; live &= live - 1)
	{
		uint32_t	row = (uint32_t) __builtin_ctz(live);
		LaneVector	planes[GENIE_LANE_PLANES_MAX];
		LaneVector	mask;

		count_object(table->rows, table->offsets + (size_t) row * table->stride, table->n_slots, n_planes, planes);
		mask = reaching(table, n_planes, planes);
		if (tallies)
		{
			add_carry(sum, 0, ROW_PLANES, mask & tallied);
			mask &= ~tallied;
		}
		if (LANES_ANY(mask))
			hit = add_hits(hit, row, n_planes, planes, mask);
	}
	if (tallies)
		add_tallies(table, sum);
	return (uint32_t) (hit - table->hits);
}

/* ---- codes to offsets ---- */

/* Offsets of one strip; n_codes and unit are constants where this is inlined. */
LANES_INLINE void
place_codes(uint32_t *offsets, uint32_t stride, const GenieLaneStrip *strip, const uint8_t *from,
			const uint32_t n_codes, const uint32_t unit)
{
	const uint16_t *wide = (const uint16_t *) (const void *) from;

	for (uint32_t i = 0; i < GENIE_LANE_ROWS * n_codes; i += GENIE_LANE_CODES)
	{
		uint32_t	placed[GENIE_LANE_CODES];

		for (uint32_t j = 0; j < GENIE_LANE_CODES; j++)
		{
			uint32_t	code = unit == 2 ? wide[i + j] : (from[i + j] >> strip->shift & strip->mask);

			placed[j] = strip->bases[j] + code * LANE_BYTES;
		}
		for (uint32_t r = 0; r < GENIE_LANE_CODES / n_codes; r++)
			memcpy(offsets + (size_t) (i / n_codes + r) * stride, placed + r * n_codes, n_codes * sizeof(uint32_t));
	}
}

LANES_TARGET static void
place_strip(GenieLaneTable *table, const GenieLaneStrip *strip, const uint8_t *from)
{
	uint32_t   *offsets = table->offsets + strip->slot;

	if (strip->unit == 1 && strip->n_codes == 16)
		place_codes(offsets, table->stride, strip, from, 16, 1);
	else if (strip->unit == 1 && strip->n_codes == 8)
		place_codes(offsets, table->stride, strip, from, 8, 1);
	else if (strip->unit == 1)
		place_codes(offsets, table->stride, strip, from, 4, 1);
	else if (strip->n_codes == 8)
		place_codes(offsets, table->stride, strip, from, 8, 2);
	else if (strip->n_codes == 4)
		place_codes(offsets, table->stride, strip, from, 4, 2);
	else
		place_codes(offsets, table->stride, strip, from, 2, 2);
}

/* ---- the kernel: GenieLaneKernels ---- */

/* The numbers of planes that there is code for. */
static uint32_t
lane_planes(uint32_t n)
{
	return n <= 4 ? 4 : n <= 6 ? 6 : n <= 8 ? 8 : GENIE_LANE_PLANES_MAX;
}

LANES_INLINE uint32_t
count_planes(GenieLaneTable *table, uint32_t live, const bool tallies)
{
	if (table->n_planes == 4)
		return count_rows(table, live, 4, tallies);
	if (table->n_planes == 6)
		return count_rows(table, live, 6, tallies);
	if (table->n_planes == 8)
		return count_rows(table, live, 8, tallies);
	return count_rows(table, live, GENIE_LANE_PLANES_MAX, tallies);
}

/* A function of its own, so that the code for blocks without tallies is as if there were none. */
LANES_TARGET static
__attribute__((noinline))
uint32_t
			count_tallied(GenieLaneTable *table, uint32_t live)
{
	return count_planes(table, live, true);
}

LANES_TARGET static uint32_t
lane_count(GenieLaneTable *table, const uint8_t *codes, uint32_t n_rows, uint32_t first, uint32_t live)
{
	for (uint32_t s = 0; s < table->n_strips; s++)
	{
		const GenieLaneStrip *strip = &table->strips[s];

		place_strip(table, strip, codes + (size_t) strip->offset * n_rows + (size_t) first * strip->row_bytes);
	}
	if (LANES_ANY(*(const LaneVector *) (const void *) table->tallied))
		return count_tallied(table, live);
	return count_planes(table, live, false);
}

#define LANE_KERNELS(its_name) \
	{.name = its_name, .n_lanes = LANES_BITS, .planes = lane_planes, .count = lane_count}

#endif							/* GENIE_LANES_KERNEL_H */

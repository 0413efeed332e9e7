/*
 * genie_kernels_portable.c
 *	  The counting kernels in plain C, eight counters at a time in 64-bit words (genie_kernels.h).
 *
 * Bytes are loaded least significant first, so bit and byte numbers grow with object numbers on every machine.  These
 * functions define what a kernel does; the other instruction sets are tested against them.
 */
#include <string.h>

#include "genie_bitmaps_kernel.h"
#include "genie_codes_kernel.h"
#include "genie_kernels.h"

#define EACH_16(value) ((value) * UINT64_C(0x0001000100010001))

/* ---- running sums ---- */

/*
 * Eight counters at a time, as four fields of 16 bits with the even ones and four with the odd ones, in which nothing
 * overflows; fields times EACH_16(1) have in each the sum of those up to it.
 */
static void
sum_up_8(uint8_t *counters)
{
	const uint64_t low = EACH_16(UINT64_C(0xFF));
	uint64_t	sum = 0;

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i += 8)
	{
		uint64_t	word = genie_load_64(counters + i);
		uint64_t	even = EACH_16(word & low) + EACH_16(sum);
		uint64_t	odd = EACH_16(word >> 8 & low);

		genie_store_64(counters + i, ((even + (odd << 16)) & low) | ((even + odd) & low) << 8);
		sum = (even + odd) >> 48 & 0xFF;
	}
}

static void
sum_up_16(uint16_t *counters)
{
	uint16_t	sum = 0;

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		counters[i] = sum = (uint16_t) (sum + counters[i]);
}

/* ---- selection ---- */

/*
 * The highest bit of each field of words becomes "field >= threshold".  low and high are the fields' low
 * bits and highest bit; a borrow never leaves its field, because the highest bit is set before the
 * subtraction.
 */
static inline uint64_t
at_least(uint64_t words, uint64_t thresholds, uint64_t high)
{
	uint64_t	low_at_least = (words | high) - (thresholds & ~high);

	return ((words & ~thresholds) | (~(words ^ thresholds) & low_at_least)) & high;
}

static uint32_t
mask_8(const uint8_t *counters, uint32_t n_words, uint32_t threshold,
	   const uint64_t *allowed, uint64_t *mask)
{
	const uint64_t high = GENIE_EACH_BYTE(UINT64_C(0x80));
	const uint64_t thresholds = GENIE_EACH_BYTE((uint64_t) threshold);
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		uint64_t	bits = 0;

		for (uint32_t octet = 0; octet < 8 && allowed[w] != 0; octet++)
		{
			uint64_t	ge = at_least(genie_load_64(counters + 64 * w + 8 * octet), thresholds, high);

			/* gathers the eight bits, byte 0's lowest, in the highest byte */
			bits |= (((ge >> 7) * UINT64_C(0x0102040810204080)) >> 56) << (8 * octet);
		}
		mask[w] = bits & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

static uint32_t
mask_16(const uint16_t *counters, uint32_t n_words, uint32_t threshold,
		const uint64_t *allowed, uint64_t *mask)
{
	const uint64_t high = EACH_16(UINT64_C(0x8000));
	const uint64_t thresholds = EACH_16((uint64_t) threshold);
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		uint64_t	bits = 0;

		for (uint32_t quad = 0; quad < 16 && allowed[w] != 0; quad++)
		{
			const uint16_t *at = counters + 64 * w + 4 * quad;
			uint64_t	words = at[0] | (uint64_t) at[1] << 16 |
				(uint64_t) at[2] << 32 | (uint64_t) at[3] << 48;
			uint64_t	ge = at_least(words, thresholds, high);

			/* gathers the four bits, field 0's lowest, in the highest four */
			bits |= (((ge >> 15) * UINT64_C(0x1000200040008000)) >> 60) << (4 * quad);
		}
		mask[w] = bits & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

const GenieKernels genie_kernels_portable = {
	.name = "portable",
	.unpack = &genie_unpack_portable,
	.edges_bytes = 24576,
	.code_bytes = 3,
	.sum_up_8 = sum_up_8,
	.sum_up_16 = sum_up_16,
	BITMAP_KERNELS,
	.mask_8 = mask_8,
	.mask_16 = mask_16,
	.mask_sizes_8 = NULL,
	.match_codes = match_codes,
	.count_codes_8 = count_codes_8,
	.count_codes_16 = count_codes_16,
};

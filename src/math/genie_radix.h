/*
 * genie_radix.h
 *	  Sorting many whole numbers by their upper bits: a radix sort, from the lowest digits up.  It is stable.
 */
#ifndef GENIE_RADIX_H
#define GENIE_RADIX_H

#include <stdint.h>
#include <string.h>

#define GENIE_RADIX_BITS 11		/* of a digit */
#define GENIE_RADIX_DIGITS (1 << GENIE_RADIX_BITS)

/*
 * Sorts n keys by their bits from shift on; a digit that all share costs little.  scratch has room for n.  Returns
 * where they are, in keys or in scratch.
 */
static inline uint64_t *
genie_radix_sort(uint64_t *keys, uint64_t *scratch, uint32_t n, uint32_t shift)
{
	uint64_t	differ = 0;

	for (uint32_t i = 1; i < n; i++)
		differ |= keys[i] ^ keys[0];
	for (; shift < 64 && differ >> shift != 0; shift += GENIE_RADIX_BITS)
	{
		uint32_t	at[GENIE_RADIX_DIGITS];
		uint64_t   *sorted = scratch;
		uint32_t	before = 0;

		if ((differ >> shift) % GENIE_RADIX_DIGITS == 0)
			continue;
		memset(at, 0, sizeof(at));
		for (uint32_t i = 0; i < n; i++)
			at[(keys[i] >> shift) % GENIE_RADIX_DIGITS]++;
		for (uint32_t digit = 0; digit < GENIE_RADIX_DIGITS; digit++)
		{
			uint32_t	count = at[digit];

			at[digit] = before;
			before += count;
		}
		for (uint32_t i = 0; i < n; i++)
			sorted[at[(keys[i] >> shift) % GENIE_RADIX_DIGITS]++] = keys[i];
		scratch = keys;
		keys = sorted;
	}
	return keys;
}

#endif							/* GENIE_RADIX_H */

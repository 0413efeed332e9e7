/*
 * genie_bits.c
 *	  Packing and unpacking integers of any width (genie_bits.h): object sizes, and posting lists as they are written.
 *
 * Posting lists are read by the kernels of genie_unpack.h.  Sizes are unpacked by scans that are ordered by a distance:
 * all of a segment's for each scan, if it has no image.  Hence the words of eight small values, which
 * genie_bits_unpack_bytes() spreads to bytes by halves.
 */
#include "genie_bits.h"

uint32_t
genie_bits_needed(uint32_t value)
{
	return value == 0 ? 0 : 32 - (uint32_t) __builtin_clz(value);
}

void
genie_bits_pack(uint8_t *out, const uint32_t *values, size_t n, uint32_t width)
{
	uint64_t	pending = 0;	/* bits not written yet, the first one lowest */
	uint32_t	n_pending = 0;	/* fewer than 32 between values */

	for (size_t i = 0; i < n; i++)
	{
		pending |= (uint64_t) values[i] << n_pending;
		n_pending += width;
		if (n_pending >= 32)
		{
			out[0] = (uint8_t) pending;
			out[1] = (uint8_t) (pending >> 8);
			out[2] = (uint8_t) (pending >> 16);
			out[3] = (uint8_t) (pending >> 24);
			out += 4;
			pending >>= 32;
			n_pending -= 32;
		}
	}
	for (uint32_t done = 0; done < n_pending; done += 8)
		*out++ = (uint8_t) (pending >> done);
}

void
genie_bits_unpack(const uint8_t *data, size_t n, uint32_t width, uint32_t *values)
{
	const uint64_t mask = (UINT64_C(1) << width) - 1;
	uint64_t	pending = 0;
	uint32_t	n_pending = 0;
	const uint8_t *end = data + genie_bits_bytes(n, width);
	size_t		i = 0;

	/* eight values take width bytes, and fit a word */
	for (; width <= 8 && i + 8 <= n && end - data >= (ptrdiff_t) sizeof(uint64_t); i += 8)
	{
		uint64_t	word = genie_load_64(data);

		for (int j = 0; j < 8; j++)
			values[i + j] = (uint32_t) (word >> j * width & mask);
		data += width;
	}
	for (; i < n; i++)
	{
		while (n_pending < width)
		{
			pending |= (uint64_t) *data++ << n_pending;
			n_pending += 8;
		}
		values[i] = (uint32_t) (pending & mask);
		pending >>= width;
		n_pending -= width;
	}
}

uint32_t
genie_bits_unpack_bytes(const uint8_t *data, size_t n, uint32_t width, uint8_t *values)
{
	const uint64_t ones = (UINT64_C(1) << width) - 1;
	const uint64_t quarter = (ones << width | ones) * UINT64_C(0x0000000100000001);
	const uint64_t eighth = ones * UINT64_C(0x0001000100010001);
	const uint8_t *end = data + genie_bits_bytes(n, width);
	size_t		i = 0;
	uint8_t		largest = 0;

	/* halves of a word of eight values go to halves of 64 bits, then each half's likewise, and once more */
	for (; i + 8 <= n && end - data >= (ptrdiff_t) sizeof(uint64_t); i += 8)
	{
		uint64_t	word = genie_load_64(data);

		word = (word & ((UINT64_C(1) << 4 * width) - 1)) | (word >> 4 * width) << 32;
		word = (word & quarter) | (word >> 2 * width & quarter) << 16;
		word = (word & eighth) | (word >> width & eighth) << 8;
		memcpy(values + i, &word, sizeof(word));
		data += width;
	}
	for (size_t bit = 0; i < n; i++, bit += width)
	{
		uint32_t	pair = 0;

		if (width > 0)
			pair = data[bit / 8] | (bit % 8 + width > 8 ? data[bit / 8 + 1] << 8 : 0);
		values[i] = (uint8_t) (pair >> bit % 8 & ones);
	}
	for (i = 0; i < n; i++)
		largest = values[i] > largest ? values[i] : largest;
	return largest;
}

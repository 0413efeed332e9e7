/*
 * genie_unpack_portable.c
 *	  Reading a tile's lists in plain C (genie_unpack.h).
 *
 * These functions are the definition of what a kernel does; the other instruction sets are tested against them.
 */
#include <string.h>

#include "genie_keyword.h"
#include "genie_unpack.h"
#include "genie_varint.h"

/* ---- PACKED blocks ---- */

/*
 * Eight values take width bytes, so groups of eight begin on a byte.  In a group a value begins at
 * most 7 bits into a byte and ends within the next two: one 32-bit load has it.  width is a
 * constant after inlining, which leaves a load, a shift and a mask a value.
 */
static inline __attribute__((always_inline)) bool
unpack_width(const uint8_t *data, const uint32_t width, uint32_t n, uint32_t base, uint16_t *locals)
{
	const uint32_t mask = (1u << width) - 1;
	uint32_t	next = base;

	for (uint32_t group = 0; group < n; group += 8, data += width)
	{
		uint32_t	n_group = n - group < 8 ? n - group : 8;
		uint32_t	gaps[8];

		for (uint32_t i = 0; i < 8; i++)
		{
			uint32_t	bit = i * width;
			const uint8_t *at = data + bit / 8;
			uint32_t	bits = at[0] | (uint32_t) at[1] << 8 |
				(uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;

			gaps[i] = (bits >> (bit % 8)) & mask;
		}
		for (uint32_t i = 0; i < n_group; i++)
		{
			next += gaps[i];
			locals[group + i] = (uint16_t) next++;
		}
	}
	return next <= GENIE_TILE_OBJECTS;
}

/* each case is unpack_width() with its own constant */
#define UNPACK_CASE(width) \
	case width: \
		return unpack_width(data, width, n, base, locals)

static bool
unpack_locals(const uint8_t *data, uint32_t width, uint32_t n, uint32_t base, uint16_t *locals)
{
	switch (width)
	{
			UNPACK_CASE(0);
			UNPACK_CASE(1);
			UNPACK_CASE(2);
			UNPACK_CASE(3);
			UNPACK_CASE(4);
			UNPACK_CASE(5);
			UNPACK_CASE(6);
			UNPACK_CASE(7);
			UNPACK_CASE(8);
			UNPACK_CASE(9);
			UNPACK_CASE(10);
			UNPACK_CASE(11);
			UNPACK_CASE(12);
			UNPACK_CASE(13);
			UNPACK_CASE(14);
			UNPACK_CASE(15);
			UNPACK_CASE(16);
	}
	return false;
}

/* ---- RUNS ---- */

uint32_t
genie_unpack_edges(const uint8_t *data, const uint8_t *end, uint32_t base, uint16_t *edges, size_t *n_bytes)
{
	const uint8_t *at = data;
	uint32_t	n = 0;

	for (; n < GENIE_EDGES_MAX; n += 2)
	{
		uint64_t	gap;
		uint64_t	len_less_1;
		size_t		gap_len = genie_varint_get(at, end, &gap);
		size_t		len_len;

		if (gap_len == 0 || gap > UINT16_MAX)
			break;
		len_len = genie_varint_get(at + gap_len, end, &len_less_1);
		if (len_len == 0 || len_less_1 > UINT16_MAX || base + gap + len_less_1 + 1 > UINT16_MAX)
			break;
		edges[n] = (uint16_t) (base + gap);
		edges[n + 1] = (uint16_t) (base + gap + len_less_1 + 1);
		base = edges[n + 1];
		at += gap_len + len_len;
	}
	*n_bytes = (size_t) (at - data);
	return n;
}

/* one at a time */
static uint32_t
unpack_codes(const uint8_t *data, const uint8_t *end, const uint8_t *codes, uint32_t n, uint32_t *matches)
{
	uint32_t	done = 0;

	while (done < n && end - data >= GENIE_CODE_BYTES && memcmp(data, codes, 3) == 0)
	{
		*matches += data[3] == codes[3] && data[4] == codes[4];
		done++;
		data += GENIE_CODE_BYTES;
		codes += GENIE_CODE_BYTES;
	}
	return done;
}

/* ---- chunks ---- */

/*
 * Adds a gap, or what stands for none, to *local.  The local is written in any case; returns 1 if it is one, else 0.
 */
static inline __attribute__((always_inline)) uint32_t
take_gap(uint32_t gap, uint32_t largest, uint32_t *local, uint16_t *to)
{
	*local += gap - (gap == largest);
	*to = (uint16_t) *local;
	return gap - 1 < largest - 1;
}

/* A word's four gaps of 8 bits, or n. */
static inline __attribute__((always_inline)) uint16_t *
take_gaps(uint32_t gaps, uint32_t n, uint32_t largest, uint32_t *local, uint16_t *to)
{
	for (uint32_t i = 0; i < n; i++)
		to += take_gap(gaps >> (8 * i) & 0xFF, largest, local, to);
	return to;
}

/* A word's gaps of 4 bits: n in lower halves, then m in upper ones. */
static inline __attribute__((always_inline)) uint16_t *
take_halves(uint32_t gaps, uint32_t n, uint32_t m, uint32_t *local, uint16_t *to)
{
	to = take_gaps(gaps & 0x0F0F0F0F, n, 15, local, to);
	return take_gaps(gaps >> 4 & 0x0F0F0F0F, m, 15, local, to);
}

uint32_t
genie_unpack_chunks(const GenieChunk *chunks, uint32_t n, uint16_t *locals)
{
	uint16_t   *to = locals;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	words[4];
		uint32_t	local;

		for (uint32_t w = 0; w < 4; w++)
		{
			const uint8_t *at = chunks[i].bytes + 4 * w;

			words[w] = at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
		}
		local = words[0] & 0xFFFF;
		*to++ = (uint16_t) local;
		if (genie_chunk_width(&chunks[i]) == 8)
		{
			to = take_gaps(words[0] >> 16, 2, 255, &local, to);
			to = take_gaps(words[1], 4, 255, &local, to);
			to = take_gaps(words[2], 4, 255, &local, to);
			to = take_gaps(words[3], 3, 255, &local, to);
		}
		else
		{
			to = take_halves(words[0] >> 16, 2, 2, &local, to);
			to = take_halves(words[1], 4, 4, &local, to);
			to = take_halves(words[2], 4, 4, &local, to);
			to = take_halves(words[3], 4, 3, &local, to);
		}
	}
	return (uint32_t) (to - locals);
}

const GenieUnpackKernels genie_unpack_portable = {
	.name = "portable",
	.locals = unpack_locals,
	.edges = genie_unpack_edges,
	.codes = unpack_codes,
	.chunks = genie_unpack_chunks,
};

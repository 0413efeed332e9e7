/*
 * genie_chunk.c
 *	  Writing and checking chunks (genie_chunk.h).  What counts them reads them by a kernel (genie_unpack.h).
 */
#include <string.h>

#include "genie_chunk.h"
#include "genie_unpack.h"

#define GAPS_8 13
#define GAPS_4 27

static inline uint32_t
gaps_of(uint32_t width)
{
	return width == 8 ? GAPS_8 : GAPS_4;
}

/* Puts gap number i where it belongs. */
static inline void
put_gap(GenieChunk *chunk, uint32_t width, uint32_t i, uint32_t gap)
{
	uint32_t	word;
	uint32_t	n_bytes;

	if (width == 8)
	{
		chunk->bytes[2 + i] = (uint8_t) gap;
		return;
	}
	word = i < 4 ? 2 : 4 + (i - 4) / 8 * 4;
	n_bytes = i < 4 ? 2 : 4;
	i = i < 4 ? i : (i - 4) % 8;
	chunk->bytes[word + i % n_bytes] |= (uint8_t) (gap << (i / n_bytes * 4));
}

/*
 * How many of n locals the first chunk has; writes it unless it is NULL.  What the last gap of a chunk would only begin
 * is left to the next chunk.  width is a constant after inlining: without that, dividing by it takes most of the time.
 */
static inline __attribute__((always_inline)) uint32_t
put_chunk(const uint16_t *locals, uint32_t n, uint32_t width, GenieChunk *chunk)
{
	const uint32_t skip = (1u << width) - 2;
	uint32_t	used = 0;
	uint32_t	i;

	if (chunk != NULL)
	{
		chunk->bytes[0] = (uint8_t) locals[0];
		chunk->bytes[1] = (uint8_t) (locals[0] >> 8);
		chunk->bytes[GENIE_CHUNK_BYTES - 1] = (uint8_t) (width << 4);
	}
	for (i = 1; i < n; i++)
	{
		uint32_t	gap = (uint32_t) locals[i] - locals[i - 1];
		uint32_t	n_skips = (gap - 1) / skip;

		if (n_skips >= gaps_of(width) - used)
			break;
		for (uint32_t s = 0; s < n_skips; s++, used++)
			if (chunk != NULL)
				put_gap(chunk, width, used, skip + 1);
		if (chunk != NULL)
			put_gap(chunk, width, used, gap - n_skips * skip);
		used++;
	}
	return i;
}

static inline __attribute__((always_inline)) uint32_t
count_of(const uint16_t *locals, uint32_t n, uint32_t width)
{
	uint32_t	n_chunks = 0;

	for (uint32_t i = 0; i < n; i += put_chunk(locals + i, n - i, width, NULL))
		n_chunks++;
	return n_chunks;
}

uint32_t
genie_chunks_count(const uint16_t *locals, uint32_t n, uint32_t *width)
{
	uint32_t	of_8 = count_of(locals, n, 8);
	uint32_t	of_4 = count_of(locals, n, 4);

	*width = of_8 <= of_4 ? 8 : 4;
	return of_8 <= of_4 ? of_8 : of_4;
}

void
genie_chunks_write(const uint16_t *locals, uint32_t n, uint32_t width, GenieChunk *chunks)
{
	for (uint32_t i = 0; i < n; chunks++)
		i += width == 8 ? put_chunk(locals + i, n - i, 8, chunks) : put_chunk(locals + i, n - i, 4, chunks);
}

bool
genie_chunks_read(const GenieChunk *chunks, uint32_t n_chunks, uint32_t n_objects, uint16_t *locals, uint32_t *n)
{
	uint32_t	width;
	uint32_t	i = 0;

	*n = genie_unpack_portable.chunks(chunks, n_chunks, locals);
	for (uint32_t j = 0; j < *n; j++)
		if (locals[j] >= n_objects || (j > 0 && locals[j] <= locals[j - 1]))
			return false;
	if (genie_chunks_count(locals, *n, &width) != n_chunks)
		return false;
	for (uint32_t at = 0; at < n_chunks; at++)
	{
		GenieChunk	again = {{0}};

		i += put_chunk(locals + i, *n - i, width, &again);
		if (memcmp(&again, &chunks[at], sizeof(GenieChunk)) != 0)
			return false;
	}
	return true;
}

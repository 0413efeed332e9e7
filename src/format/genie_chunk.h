/*
 * genie_chunk.h
 *	  Posting lists of an image in chunks of 16 bytes, each of which decodes by itself.
 *
 * A chunk is its first local and the gaps to the next ones.  So a thread decodes a chunk without any other, and a run
 * of lists is a run of chunks.
 *
 *		byte 0, 1		the first local (little endian)
 *		byte 2 .. 14	gaps
 *		byte 15			the width of gaps in bits (8, or 4) in its upper half; in its lower half a gap of 4 bits, or 0
 *
 * Gaps of 8 bits lie in the order of the bytes: 13 of them.  Gaps of 4 bits, 27, lie so that four come out of a word of
 * 32 bits by one mask: of each of the words from bytes 2, 4, 8 and 12 on (the first has two bytes) come first the lower
 * halves of its bytes, then the upper ones.
 *
 * A gap is a number from 1 on.  0: there are no more; only behind the last one.  The largest number of the width (255,
 * 15) is no gap, but adds one less (254, 14) to the next one, without a local.
 *
 * All chunks of a list have one width: that of which there are fewer, 8 bits where there are as many.  Each chunk takes
 * as many locals as it has room for.  So equal lists make equal bytes.
 */
#ifndef GENIE_CHUNK_H
#define GENIE_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_CHUNK_BYTES	16
#define GENIE_CHUNK_LOCALS	28	/* that a chunk has at most */
#define GENIE_CHUNK_MEAN	14	/* that it is taken to have where costs are estimated */

typedef struct GenieChunk
{
	uint8_t		bytes[GENIE_CHUNK_BYTES];
} GenieChunk;

static inline uint32_t
genie_chunk_first(const GenieChunk *chunk)
{
	return chunk->bytes[0] | (uint32_t) chunk->bytes[1] << 8;
}

static inline uint32_t
genie_chunk_width(const GenieChunk *chunk)
{
	return chunk->bytes[GENIE_CHUNK_BYTES - 1] >> 4;
}

/* How many chunks n ascending locals take, at least one, and of what width. */
extern uint32_t genie_chunks_count(const uint16_t *locals, uint32_t n, uint32_t *width);

/* Writes them; the chunks must be zero. */
extern void genie_chunks_write(const uint16_t *locals, uint32_t n, uint32_t width, GenieChunk *chunks);

/*
 * Are these the chunks that some list below n_objects has?  locals: room for GENIE_CHUNK_LOCALS each.  *n: how many
 * there are; there is room for GENIE_UNPACK_SPARE more (genie_unpack.h).
 */
extern bool genie_chunks_read(const GenieChunk *chunks, uint32_t n_chunks, uint32_t n_objects, uint16_t *locals,
							  uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_CHUNK_H */

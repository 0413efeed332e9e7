/*
 * genie_list_reader.h
 *	  Reads a tile's PACKED or RUNS list piece by piece, without room for the whole.
 *
 * The bytes may be anything.  Both readers give ascending locals of the tile, never more than the list's n, and end
 * early at the first malformed byte.  When they have ended, genie_packed_good() or genie_runs_good() tells whether the
 * list was whole: exactly n locals, and no byte left over.
 */
#ifndef GENIE_LIST_READER_H
#define GENIE_LIST_READER_H

#include <string.h>

#include "genie_bits.h"
#include "genie_posting.h"
#include "genie_unpack.h"
#include "genie_varint.h"

/* ---- PACKED ---- */

typedef struct GeniePackedReader
{
	const GenieUnpackKernels *unpack;
	const uint8_t *at;
	const uint8_t *end;
	uint32_t	left;			/* locals to come */
	uint32_t	base;			/* the smallest local that may come next */
} GeniePackedReader;

static inline void
genie_packed_begin(GeniePackedReader *reader, const GenieUnpackKernels *unpack, const GenieListRef *ref)
{
	reader->unpack = unpack;
	reader->at = ref->data;
	reader->end = ref->data + ref->nbytes;
	reader->left = ref->n;
	reader->base = 0;
}

/* The next locals, at most a block; block has room for GENIE_BLOCK_VALUES.  0: ended. */
static inline uint32_t
genie_packed_next(GeniePackedReader *reader, uint16_t *block)
{
	uint8_t		padded[GENIE_UNPACK_READ_BYTES];
	uint32_t	n = reader->left < GENIE_BLOCK_VALUES ? reader->left : GENIE_BLOCK_VALUES;
	const uint8_t *from = reader->at + 1;
	uint32_t	width;
	size_t		len;

	if (n == 0 || reader->at == reader->end || *reader->at > 16 || reader->base > UINT16_MAX)
		return 0;
	width = *reader->at;
	len = genie_bits_bytes(n, width);
	if ((size_t) (reader->end - from) < len)
		return 0;
	reader->at = from + len;
	if ((size_t) (reader->end - from) < sizeof(padded))
	{
		/* the kernel reads past the block */
		memset(padded, 0, sizeof(padded));
		memcpy(padded, from, len);
		from = padded;
	}
	if (!reader->unpack->locals(from, width, n, reader->base, block))
		return 0;
	reader->left -= n;
	reader->base = block[n - 1] + 1u;
	return n;
}

static inline bool
genie_packed_good(const GeniePackedReader *reader)
{
	return reader->left == 0 && reader->at == reader->end;
}

/* ---- RUNS ---- */

typedef struct GenieRunsReader
{
	const uint8_t *at;
	const uint8_t *end;
	uint32_t	left;			/* locals to come */
	uint32_t	base;			/* the smallest local that may come next */
} GenieRunsReader;

static inline void
genie_runs_begin(GenieRunsReader *reader, const GenieListRef *ref)
{
	reader->at = ref->data;
	reader->end = ref->data + ref->nbytes;
	reader->left = ref->n;
	reader->base = 0;
}

/* The next run's first local and, as the result, its length.  0: ended. */
static inline uint32_t
genie_runs_next(GenieRunsReader *reader, uint32_t *start)
{
	uint64_t	gap;
	uint64_t	len_less_1;
	size_t		gap_len = genie_varint_get(reader->at, reader->end, &gap);
	size_t		len_len;

	if (gap_len == 0 || gap > UINT16_MAX)
		return 0;
	len_len = genie_varint_get(reader->at + gap_len, reader->end, &len_less_1);
	if (len_len == 0 || len_less_1 > UINT16_MAX || len_less_1 >= reader->left ||
		reader->base + gap + len_less_1 >= GENIE_TILE_OBJECTS)
		return 0;
	reader->at += gap_len + len_len;
	reader->left -= (uint32_t) len_less_1 + 1;
	*start = reader->base + (uint32_t) gap;
	reader->base = *start + (uint32_t) len_less_1 + 1;
	return (uint32_t) len_less_1 + 1;
}

static inline bool
genie_runs_good(const GenieRunsReader *reader)
{
	return reader->left == 0 && reader->at == reader->end;
}

#endif							/* GENIE_LIST_READER_H */

/*
 * genie_posting.h
 *	  What a posting list is: objects, tiles, and the codecs of a tile's list.
 *
 * A *posting list* is the ascending sequence of object numbers (dense, 32 bits, within one segment) that carry one
 * keyword.  Objects are cut into *tiles* of 65,536; inside a tile an object is a 16-bit number, its local.  A list has
 * one of two forms, told apart by its first byte:
 *
 *	LOOSE	(up to GENIE_LOOSE_MAX postings) the first object and then gap - 1 to each next one, as varints.
 *	TILED	one record a tile that the keyword occurs in, in tile order:
 *			varint(tile - previous tile - 1; the first: tile), varint(postings - 1), codec byte, varint(bytes), bytes.
 *
 * Codecs of a tile's locals (the encoder takes the shortest; equal lengths: the lowest number):
 *
 *	PACKED	blocks of 128 gaps (gap - 1; the first local of a tile as if the one before were -1): a byte with the bit
 *			width w (0..16), then the gaps in ceil(128 * w / 8) bytes (genie_bits.h); the last block holds what is
 *			left, in ceil(rest * w / 8) bytes.
 *	BITMAP	bit i of byte i / 8 (LSB first) is local i; as many bytes as the last local needs.
 *	RUNS	pairs of varints: gap - 1 from the end of the run before, length - 1.
 *	RAW		uint16 little-endian locals, in any order, duplicates allowed: what loose lists become in memory.  Never
 *			on disk.
 *
 * genie_codec.h writes and reads lists; genie_list_reader.h reads one piece by piece.
 */
#ifndef GENIE_POSTING_H
#define GENIE_POSTING_H

#include <stdint.h>

#define GENIE_TILE_SHIFT	16
#define GENIE_TILE_OBJECTS	(1u << GENIE_TILE_SHIFT)
#define GENIE_TILE_WORDS	(GENIE_TILE_OBJECTS / 64)	/* of a bitmap of a tile */
#define GENIE_TILE_BITMAP_BYTES (GENIE_TILE_OBJECTS / 8)
#define GENIE_LOOSE_MAX		64	/* postings; longer lists are cut into tiles */

typedef enum GenieListForm
{
	GENIE_LIST_LOOSE = 1,
	GENIE_LIST_TILED = 2
} GenieListForm;

typedef enum GenieCodec
{
	GENIE_CODEC_PACKED = 1,
	GENIE_CODEC_BITMAP = 2,
	GENIE_CODEC_RUNS = 3,
	GENIE_CODEC_RAW = 4			/* in memory only */
} GenieCodec;

/* gaps in a block of PACKED */
#define GENIE_BLOCK_VALUES	128

/* the longest payload of a tile: the encoder takes BITMAP rather than anything longer */
#define GENIE_TILE_PAYLOAD_MAX GENIE_TILE_BITMAP_BYTES
#define GENIE_TILE_HEADER_MAX (5 + 3 + 1 + 3)

/* One list's part in one tile, as engines see it. */
typedef struct GenieListRef
{
	uint32_t	rank;			/* the keyword's number in its segment's dictionary */
	uint32_t	n;				/* postings in this tile, 1 .. 65,536 (RAW may hold more) */
	uint32_t	nbytes;			/* 1 .. GENIE_TILE_PAYLOAD_MAX (RAW: 2 * n) */
	uint16_t	codec;			/* GenieCodec */
	const uint8_t *data;
} GenieListRef;

#endif							/* GENIE_POSTING_H */

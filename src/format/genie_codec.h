/*
 * genie_codec.h
 *	  How posting lists, sizes and TID runs are written as bytes.
 *
 * A *posting list* is the ascending sequence of object numbers (dense, 32 bits, within one
 * segment) that carry one keyword.  Objects are cut into *tiles* of 65,536; inside a tile an
 * object is a 16-bit number, its local.  Two forms, told apart by the list's first byte:
 *
 *	LOOSE	(up to GENIE_LOOSE_MAX postings) the first object and then gap - 1 to each next
 *			one, as LEB128 varints.
 *	TILED	one record a tile that the keyword occurs in, in tile order:
 *			varint(tile - previous tile - 1; the first: tile), varint(postings - 1), codec byte, varint(bytes), bytes.
 *
 * Codecs of a tile's locals (the encoder takes the shortest; equal lengths: the lowest number):
 *
 *	PACKED	blocks of 128 gaps (gap - 1; the first local of a tile as if the one before were -1):
 *			a byte with the bit width w (0..16), then ceil(128 * w / 8) bytes, little-endian
 *			bit order; the last block holds what is left, ceil(rest * w / 8) bytes.
 *	BITMAP	bit i of byte i / 8 (LSB first) is local i; as many bytes as the last local needs.
 *	RUNS	pairs of varints: gap - 1 from the end of the run before, length - 1.
 *	RAW		uint16 little-endian locals, in any order, duplicates allowed: what loose
 *			lists become in memory.  Never on disk.
 *
 * Decoders check every bound: hostile bytes give false, never a read or write outside.
 * In assert builds the encoder decodes what it wrote and compares (GENIE_CHECK_ROUNDTRIP).
 *
 * Plain C99.  Nothing allocates but through the caller's buffers.
 */
#ifndef GENIE_CODEC_H
#define GENIE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* LEB128 of 64 bits takes at most this many bytes */
#define GENIE_VARINT_MAX 10

extern size_t genie_varint_put(uint8_t *out, uint64_t value);

/*
 * Bytes taken, or 0 if it does not end before end, does not fit 64 bits, or is not the
 * shortest form of its value.
 */
extern size_t genie_varint_get(const uint8_t *data, const uint8_t *end, uint64_t *value);

/*
 * The same where numbers are read by the thousand: nearly all take one byte or two, which is decided here.  Moves *at.
 * False: malformed.
 */
static inline bool
genie_varint_next(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *from = *at;
	size_t		n;

	if (end - from >= 2 && from[0] < 0x80)
	{
		*value = from[0];
		n = 1;
	}
	else if (end - from >= 2 && from[1] < 0x80 && from[1] != 0)
	{
		*value = (from[0] & 0x7F) | (uint64_t) from[1] << 7;
		n = 2;
	}
	else
		n = genie_varint_get(from, end, value);
	*at = from + n;
	return n > 0;
}

/* ---- writing a list ---- */

/* the longest payload of a tile: the encoder takes BITMAP rather than anything longer */
#define GENIE_TILE_PAYLOAD_MAX GENIE_TILE_BITMAP_BYTES
#define GENIE_TILE_HEADER_MAX (5 + 3 + 1 + 3)

/* Takes the encoder's bytes as they come: at most a tile's header and payload a call. */
typedef void (*GenieEmit) (void *arg, const uint8_t *bytes, size_t n);

/* About 300 KB; the caller allocates it once and uses it for list after list. */
typedef struct GenieListEncoder
{
	GenieEmit	emit;
	void	   *arg;
	uint64_t	n;				/* postings so far */
	uint64_t	last;			/* last object, valid if n > 0 */
	int64_t		last_tile;		/* last tile written, -1 before the first */
	bool		tiled;
	uint32_t	n_locals;
	uint32_t	tile;
	uint32_t	loose[GENIE_LOOSE_MAX];
	uint16_t	locals[GENIE_TILE_OBJECTS];
	uint16_t	check[GENIE_TILE_OBJECTS];	/* decoded again, in builds that check */
	uint8_t		bytes[GENIE_TILE_HEADER_MAX + GENIE_TILE_PAYLOAD_MAX];
} GenieListEncoder;

extern void genie_list_begin(GenieListEncoder *encoder, GenieEmit emit, void *arg);

/* False, and nothing is added: object is not greater than the one before. */
extern bool genie_list_add(GenieListEncoder *encoder, uint32_t object);

/* The same for n of them at once.  False: they do not ascend; the list is spoilt then. */
extern bool genie_list_add_many(GenieListEncoder *encoder, const uint32_t *objects, size_t n);

/* Writes what is left.  A list without postings writes nothing. */
extern void genie_list_end(GenieListEncoder *encoder);

/* ---- reading a list ---- */

/* One list's part in one tile, as engines see it. */
typedef struct GenieListRef
{
	uint32_t	rank;			/* the keyword's number in its segment's dictionary */
	uint32_t	n;				/* postings in this tile, 1 .. 65,536 (RAW may hold more) */
	uint32_t	nbytes;			/* 1 .. GENIE_TILE_PAYLOAD_MAX (RAW: 2 * n) */
	uint16_t	codec;			/* GenieCodec */
	const uint8_t *data;
} GenieListRef;

/*
 * Parses the header of a TILED record at data (bytes up to end may be read).  previous_tile is
 * -1 before the first.  On success gives the tile, the ref's n, codec, nbytes, and how
 * long the header was; the payload of ref->nbytes bytes follows it and need not be in memory yet
 * (ref->data is left NULL).  False: malformed or cut short.
 * GENIE_TILE_HEADER_MAX bytes are always enough.
 */
extern bool genie_tile_header(const uint8_t *data, const uint8_t *end, int64_t previous_tile,
							  uint32_t *tile, GenieListRef *ref, size_t *header_len);

/*
 * Decodes a tile's list into locals, ascending but for RAW; room for ref->n.  False if the bytes are malformed: not
 * exactly n locals, not ascending, past 65,535, or bytes left over.
 */
extern bool genie_list_decode(const GenieListRef *ref, uint16_t *locals);

/* Decodes a LOOSE list (without its form byte), n postings by the dictionary, into ascending objects. */
extern bool genie_loose_decode(const uint8_t *data, size_t nbytes, uint32_t n, uint32_t *objects);

/* ---- bit-packed unsigned integers (object sizes) ---- */

/* the bits that value needs, 0 for 0 */
extern uint32_t genie_bits_needed(uint32_t value);

/* bytes that n values of the width take */
static inline size_t
genie_bits_bytes(size_t n, uint32_t width)
{
	return (n * width + 7) / 8;
}

/* little-endian bit order; width 0..32; out has genie_bits_bytes(n, width) bytes */
extern void genie_bits_pack(uint8_t *out, const uint32_t *values, size_t n, uint32_t width);
extern void genie_bits_unpack(const uint8_t *data, size_t n, uint32_t width, uint32_t *values);

/* The same for width 0..8, a byte each; returns the largest. */
extern uint32_t genie_bits_unpack_bytes(const uint8_t *data, size_t n, uint32_t width, uint8_t *values);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_CODEC_H */

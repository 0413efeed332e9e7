/*
 * genie_codec.h
 *	  Writes and reads posting lists as bytes (genie_posting.h has the forms).
 *
 * Decoders check every bound: hostile bytes give false, never a read or write outside.  In assert builds the encoder
 * decodes what it wrote and compares (GENIE_CHECK_ROUNDTRIP).  Nothing allocates: all buffers are the caller's.
 */
#ifndef GENIE_CODEC_H
#define GENIE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "genie_posting.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing a list ---- */

/* Takes the encoder's bytes: at most a tile's header and payload a call. */
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

/* Adds n objects.  False: they do not ascend, and the list is spoilt. */
extern bool genie_list_add_many(GenieListEncoder *encoder, const uint32_t *objects, size_t n);

/* Writes what is left.  A list without postings writes nothing. */
extern void genie_list_end(GenieListEncoder *encoder);

/* ---- reading a list ---- */

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

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_CODEC_H */

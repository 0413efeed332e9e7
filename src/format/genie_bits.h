/*
 * genie_bits.h
 *	  Unsigned integers of any width packed without gaps, and words of eight bytes.
 *
 * Value i takes the bits [i * width, (i + 1) * width) of the bytes read as one number, the least significant byte
 * first.
 */
#ifndef GENIE_BITS_H
#define GENIE_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- words ---- */

/* a byte's value in each byte of a word */
#define GENIE_EACH_BYTE(value) ((value) * UINT64_C(0x0101010101010101))

/* Eight bytes as a word, the first one lowest: so bit and byte numbers grow with object numbers on every machine. */
static inline uint64_t
genie_load_64(const uint8_t *from)
{
	uint64_t	word;

	memcpy(&word, from, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static inline void
genie_store_64(uint8_t *to, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	memcpy(to, &word, sizeof(word));
}

/* ---- packed integers ---- */

/* the bits that value needs, 0 for 0 */
extern uint32_t genie_bits_needed(uint32_t value);

/* bytes that n values of the width take */
static inline size_t
genie_bits_bytes(size_t n, uint32_t width)
{
	return (n * width + 7) / 8;
}

/* width 0..32; out and data have genie_bits_bytes(n, width) bytes */
extern void genie_bits_pack(uint8_t *out, const uint32_t *values, size_t n, uint32_t width);
extern void genie_bits_unpack(const uint8_t *data, size_t n, uint32_t width, uint32_t *values);

/* The same for width 0..8, a byte each; returns the largest. */
extern uint32_t genie_bits_unpack_bytes(const uint8_t *data, size_t n, uint32_t width, uint8_t *values);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_BITS_H */

/*
 * genie_value_bits.h
 *	  Bit strings as values: their records.
 *
 * A record is the string's bits, eight a byte, and zeros up to a multiple of 64.  There is no header, and neither the
 * order of bits nor that of bytes matters: the distance is the number of bits that differ (Hamming).  It follows from
 * two records exactly, and so does its key: genie_value_key() loses nothing of a whole number below 2^23.
 */
#ifndef GENIE_VALUE_BITS_H
#define GENIE_VALUE_BITS_H

#include "genie_vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* of 64 bits */
static inline uint32_t
genie_value_bits_words(uint32_t n_bits)
{
	return (n_bits + 63) / 64;
}

/* Bytes of a record. */
static inline size_t
genie_value_bits_bytes(uint32_t n_bits)
{
	return genie_value_bits_words(n_bits) * sizeof(uint64_t);
}

/* Writes the record of a string, which has zeros behind its bits in its last byte. */
extern void genie_value_bits(GenieVector bits, void *record);

/* Are there zeros behind the bits of a record? */
extern bool genie_value_bits_valid(uint32_t n_bits, const void *record);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VALUE_BITS_H */

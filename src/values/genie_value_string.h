/*
 * genie_value_string.h
 *	  Short texts as values: their records.
 *
 * A record has the text's length, and a code for each of its first characters.  Characters that are equal have equal
 * codes; others may.  So the edit distance of the codes of two texts is at most that of the texts.  Of a longer text
 * the rest costs at most its length: with q' and t' the first characters of q and t,
 *
 *		d(q', t')  <=  d(q', q) + d(q, t) + d(t, t')  =  d(q, t) + (|q| - |q'|) + (|t| - |t'|)
 *
 * and d(q, t) is at least the difference of the lengths.  The larger of both is the bound.  It is a whole number, of
 * which its key loses nothing.
 *
 * A query has its length (norm) and its first GENIE_VALUE_PATTERN_MAX codes, whatever the records have.
 */
#ifndef GENIE_VALUE_STRING_H
#define GENIE_VALUE_STRING_H

#include "genie_quantized_bound.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_VALUE_STRING_ALIGN	16	/* bytes: of a record, and its length is a multiple */
#define GENIE_VALUE_STRING_MAX	126 /* codes of a record */
#define GENIE_VALUE_PATTERN_MAX 128 /* of a query, two words of bits */
#define GENIE_VALUE_STRING_UNKNOWN 0xFFFF	/* the length of a text of which nothing is known, or that is as long */

/* A record: this, and zeros behind the text's codes. */
typedef struct GenieValueString
{
	uint16_t	length;			/* of the text */
	uint8_t		codes[];		/* n_dimensions, and so many of the text's */
} GenieValueString;

/* Bytes of a record of n codes. */
static inline size_t
genie_value_string_bytes(uint32_t n)
{
	size_t		n_bytes = sizeof(GenieValueString) + n;

	return (n_bytes + GENIE_VALUE_STRING_ALIGN - 1) / GENIE_VALUE_STRING_ALIGN * GENIE_VALUE_STRING_ALIGN;
}

/* How many codes the shortest record has that has n of them, all of whose bytes are used; at most the most. */
static inline uint32_t
genie_value_string_codes(uint32_t n)
{
	return n >= GENIE_VALUE_STRING_MAX ? GENIE_VALUE_STRING_MAX :
		(uint32_t) (genie_value_string_bytes(n) - sizeof(GenieValueString));
}

/* Codes of a text of that length that are in a record of n. */
GENIE_QUANTIZED_FUNCTION uint32_t
genie_value_string_kept(uint32_t length, uint32_t n)
{
	return length == GENIE_VALUE_STRING_UNKNOWN ? 0 : length < n ? length : n;
}

/* The bound from the distance of the codes that are compared; both lengths, and how many codes of each are left out. */
GENIE_QUANTIZED_FUNCTION uint32_t
genie_value_string_bound(uint32_t distance, uint32_t query_length, uint32_t query_left, uint32_t length, uint32_t left)
{
	uint32_t	lengths = query_length > length ? query_length - length : length - query_length;

	if (length == GENIE_VALUE_STRING_UNKNOWN)
		return 0;
	return distance > lengths + query_left + left ? distance - query_left - left : lengths;
}

/*
 * Writes the record, of n codes, of a text of text.n characters, of which the first GENIE_VALUE_PATTERN_MAX have codes
 * in text.elements.
 */
extern void genie_value_string(uint32_t n, GenieVector text, void *record);

extern void genie_value_string_unknown(uint32_t n, void *record);

/* Are there zeros behind the codes of a record? */
extern bool genie_value_string_valid(uint32_t n, const void *record);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VALUE_STRING_H */

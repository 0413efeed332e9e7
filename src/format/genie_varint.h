/*
 * genie_varint.h
 *	  Unsigned integers in as few bytes as they need: LEB128, seven bits a byte, the lowest first.
 *
 * Every value has one form, its shortest; the readers refuse all others.
 */
#ifndef GENIE_VARINT_H
#define GENIE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64 bits take at most this many bytes */
#define GENIE_VARINT_MAX 10

/* Returns the bytes written, at most GENIE_VARINT_MAX. */
static inline size_t
genie_varint_put(uint8_t *out, uint64_t value)
{
	size_t		len = 0;

	while (value >= 0x80)
	{
		out[len++] = (uint8_t) (value | 0x80);
		value >>= 7;
	}
	out[len++] = (uint8_t) value;
	return len;
}

/*
 * Returns the bytes taken.  0: the value does not end before end, does not fit 64 bits, or is not in its shortest form.
 */
static inline size_t
genie_varint_get(const uint8_t *data, const uint8_t *end, uint64_t *value)
{
	uint64_t	result = 0;

	for (size_t len = 0; len < GENIE_VARINT_MAX && data + len < end; len++)
	{
		uint8_t		byte = data[len];

		result |= (uint64_t) (byte & 0x7F) << (7 * len);
		if (byte < 0x80)
		{
			if (len == GENIE_VARINT_MAX - 1 && byte > 1)
				return 0;		/* the tenth byte holds bit 63 alone */
			if (len > 0 && byte == 0)
				return 0;		/* not the shortest form */
			*value = result;
			return len + 1;
		}
	}
	return 0;
}

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

#endif							/* GENIE_VARINT_H */

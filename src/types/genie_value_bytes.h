/*
 * genie_value_bytes.h
 *	  The normalised bytes of values within a type family (genie_keyword.h), by kind of value.
 *
 * Each put function writes a value's bytes to out and returns how many they are.  memcmp orders them as PostgreSQL
 * orders the values.  Each valid function tells, of bytes from outside, whether a put function could have written
 * them.  Each print function appends the text of valid bytes.
 */
#ifndef GENIE_VALUE_BYTES_H
#define GENIE_VALUE_BYTES_H

#include <math.h>

#include "fmgr.h"
#include "genie_opclass.h"
#include "lib/stringinfo.h"

/* ---- big-endian integers ---- */

static inline uint32
genie_value_put_uint(uint8 *out, uint64 value, uint32 nbytes)
{
	for (uint32 i = 0; i < nbytes; i++)
		out[i] = (uint8) (value >> (8 * (nbytes - 1 - i)));
	return nbytes;
}

static inline uint64
genie_value_get_uint(const uint8 *data, uint32 nbytes)
{
	uint64		value = 0;

	for (uint32 i = 0; i < nbytes; i++)
		value = value << 8 | data[i];
	return value;
}

/* ---- floats: IEEE doubles, of which one NaN is used ---- */

#define GENIE_VALUE_NAN_BITS	UINT64CONST(0x7FF8000000000000)
#define GENIE_VALUE_SIGN_BIT	UINT64CONST(0x8000000000000000)

/*
 * The bits of a double are ordered as sign and magnitude.  Flipping the sign bit of positive ones and all bits of
 * negative ones gives the order of the values.  The NaN is positive, so it comes above infinity; -0 is 0.
 */
static inline uint32
genie_value_put_float(uint8 *out, float8 value)
{
	uint64		bits;

	if (isnan(value))
		bits = GENIE_VALUE_NAN_BITS;
	else
	{
		if (value == 0.0)
			value = 0.0;
		memcpy(&bits, &value, sizeof(bits));
	}
	bits = bits & GENIE_VALUE_SIGN_BIT ? ~bits : bits | GENIE_VALUE_SIGN_BIT;
	return genie_value_put_uint(out, bits, sizeof(bits));
}

static inline float8
genie_value_get_float(const uint8 *data)
{
	uint64		bits = genie_value_get_uint(data, sizeof(bits));
	float8		value;

	bits = bits & GENIE_VALUE_SIGN_BIT ? bits & ~GENIE_VALUE_SIGN_BIT : ~bits;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* ---- in genie_value_bit.c ---- */

extern uint32 genie_value_put_bit(uint8 *out, Datum value);
extern bool genie_value_bit_valid(const uint8 *data, uint32 len);
extern void genie_value_bit_print(StringInfo out, const uint8 *data, uint32 len);

/* ---- in genie_value_numeric.c ---- */

extern uint32 genie_value_put_numeric(uint8 *out, Datum value);
extern bool genie_value_numeric_valid(const uint8 *data, uint32 len);

/* The integer that the valid bytes are; false: they are no integer in the range of int8. */
extern bool genie_value_numeric_integer(const uint8 *data, uint32 len, int64 *value);
extern void genie_value_numeric_print(StringInfo out, const uint8 *data, uint32 len);

/* ---- in genie_value_time.c ---- */

extern uint32 genie_value_put_date(uint8 *out, Datum value);
extern uint32 genie_value_put_timestamp(uint8 *out, Datum value);
extern uint32 genie_value_put_time(uint8 *out, Datum value);
extern uint32 genie_value_put_timetz(uint8 *out, Datum value);
extern uint32 genie_value_put_interval(uint8 *out, Datum value);
extern bool genie_value_timestamp_valid(const uint8 *data, uint32 len);
extern bool genie_value_time_valid(const uint8 *data, uint32 len);
extern bool genie_value_timetz_valid(const uint8 *data, uint32 len);
extern bool genie_value_interval_valid(const uint8 *data, uint32 len);
extern void genie_value_time_print(StringInfo out, const uint8 *data, uint32 len);

/* Seconds since 1970, or an infinity; of a date, too.  False: malformed. */
extern bool genie_value_timestamp_seconds(const uint8 *data, uint32 len, float8 *seconds);

/* in UTC; the zone is appended to finite timestamps */
extern void genie_value_timestamp_print(StringInfo out, const uint8 *data, uint32 len, const char *zone);

/* From text; 0: the text is no such value.  With utc, "+00" may follow the time. */
extern uint32 genie_value_timestamp_parse(const char *text, bool utc, uint8 *out);
extern uint32 genie_value_time_parse(const char *text, uint8 *out);

#endif							/* GENIE_VALUE_BYTES_H */

/*
 * genie_value_numeric.c
 *	  Numerics as bytes: each value has one form, and the forms are in value order.
 *
 * The bytes are made from the wire form that numeric_send() writes, which is documented and stable: number of digits,
 * weight, sign, scale, digits of base 10000.  Leading and trailing zero digits and the scale are left out, so that 1.0
 * and 1.00 are one value.
 *
 *		class, 1 byte	-Infinity < negative < zero < positive < Infinity < NaN
 *		weight			of the first digit, by genie_key_put_int()
 *		digits			2 bytes each, big-endian, the digit + 1
 *
 * Only negative and positive values have weight and digits.  In a negative value the bytes after the class are
 * complemented, and 0xFFFF ends them.  So of two negative numbers, one of which continues the other's digits, the
 * longer one is smaller: no complemented digit is as large as 0xFFFF.
 */
#include "postgres.h"

#include "common/int.h"
#include "genie_value_bytes.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#define CLASS_MINUS_INFINITY	0x10
#define CLASS_NEGATIVE			0x20
#define CLASS_ZERO				0x30
#define CLASS_POSITIVE			0x40
#define CLASS_INFINITY			0x50
#define CLASS_NAN				0x60

#define BASE			10000
#define BASE_DIGITS		4		/* decimal digits of a digit of base 10000 */
#define INT64_WEIGHT_MAX	4	/* the weight of the first digit of PG_INT64_MAX */
#define WIRE_HEADER		8		/* bytes before the digits */
#define WIRE_NEGATIVE	0x4000
#define WIRE_NAN		0xC000
#define WIRE_INFINITY	0xD000
#define WIRE_MINUS_INFINITY 0xF000

#define NEGATIVE_END_BYTES	2
#define DIGITS_MAX		(GENIE_VALUE_MAX / 2)	/* of a value that is not cut */
#define WEIGHT_MAX		INT16_MAX
#define SCALE_MAX		16383	/* decimal digits after the point that PostgreSQL keeps */
#define ZEROS_MAX		20		/* printed before an exponent is used instead */

uint32
genie_value_put_numeric(uint8 *out, Datum value)
{
	bytea	   *wire = DatumGetByteaP(DirectFunctionCall1(numeric_send, value));
	const uint8 *data = (const uint8 *) VARDATA(wire);
	uint32		ndigits = genie_value_get_uint(data, 2);
	int64		weight = (int16) genie_value_get_uint(data + 2, 2);
	uint32		sign = genie_value_get_uint(data + 4, 2);
	const uint8 *digits = data + WIRE_HEADER;
	bool		negative = sign == WIRE_NEGATIVE;
	uint8	   *bytes = palloc(1 + GENIE_KEY_INT_BYTES + 2 * ndigits + NEGATIVE_END_BYTES);
	Size		n = 1;
	uint32		len;

	while (ndigits > 0 && genie_value_get_uint(digits, 2) == 0)
	{
		digits += 2;
		ndigits--;
		weight--;
	}
	while (ndigits > 0 && genie_value_get_uint(digits + 2 * (ndigits - 1), 2) == 0)
		ndigits--;

	if (sign == WIRE_NAN)
		bytes[0] = CLASS_NAN;
	else if (sign == WIRE_INFINITY)
		bytes[0] = CLASS_INFINITY;
	else if (sign == WIRE_MINUS_INFINITY)
		bytes[0] = CLASS_MINUS_INFINITY;
	else if (ndigits == 0)
		bytes[0] = CLASS_ZERO;
	else
	{
		bytes[0] = negative ? CLASS_NEGATIVE : CLASS_POSITIVE;
		n += genie_key_put_int(bytes + n, weight);
		for (uint32 i = 0; i < ndigits; i++)
			n += genie_value_put_uint(bytes + n, genie_value_get_uint(digits + 2 * i, 2) + 1, 2);
		if (negative)
		{
			for (Size i = 1; i < n; i++)
				bytes[i] = ~bytes[i];
			n += genie_value_put_uint(bytes + n, 0xFFFF, NEGATIVE_END_BYTES);
		}
	}
	len = genie_value_cut(out, bytes, n);
	pfree(bytes);
	pfree(wire);
	return len;
}

typedef struct Digits
{
	int64		weight;
	uint32		n;
	uint16		digits[DIGITS_MAX];
} Digits;

/* Decodes a negative or positive value of at most GENIE_VALUE_MAX bytes; false if the bytes are not canonical. */
static bool
decode(const uint8 *data, uint32 len, Digits *number)
{
	bool		negative = data[0] == CLASS_NEGATIVE;
	uint8		bytes[GENIE_VALUE_MAX];
	size_t		at;
	int64		lowest;

	if (negative)
	{
		if (len < 1 + NEGATIVE_END_BYTES || genie_value_get_uint(data + len - NEGATIVE_END_BYTES, 2) != 0xFFFF)
			return false;
		len -= NEGATIVE_END_BYTES;
	}
	data++;
	len--;
	for (uint32 i = 0; i < len; i++)
		bytes[i] = negative ? ~data[i] : data[i];
	at = genie_key_get_int(bytes, len, &number->weight);
	if (at == 0 || at == len || (len - at) % 2 != 0)
		return false;
	number->n = 0;
	for (; at < len; at += 2)
	{
		uint32		digit = genie_value_get_uint(bytes + at, 2);

		if (digit < 1 || digit > BASE)
			return false;
		number->digits[number->n++] = digit - 1;
	}
	if (number->digits[0] == 0 || number->digits[number->n - 1] == 0)
		return false;
	if (number->weight > WEIGHT_MAX || number->weight < -(SCALE_MAX / BASE_DIGITS + 1))
		return false;

	/* PostgreSQL keeps no decimal digits beyond SCALE_MAX */
	lowest = BASE_DIGITS * (number->weight - (int64) number->n + 1);
	for (uint32 digit = number->digits[number->n - 1]; digit % 10 == 0; digit /= 10)
		lowest++;
	return lowest >= -SCALE_MAX;
}

bool
genie_value_numeric_valid(const uint8 *data, uint32 len)
{
	Digits		number;

	switch (data[0])
	{
		case CLASS_NEGATIVE:
		case CLASS_POSITIVE:
			return decode(data, len, &number);
		case CLASS_MINUS_INFINITY:
		case CLASS_ZERO:
		case CLASS_INFINITY:
		case CLASS_NAN:
			return len == 1;
		default:
			return false;
	}
}

/* A value that is cut has more digits than an int8, before or after the point. */
bool
genie_value_numeric_integer(const uint8 *data, uint32 len, int64 *value)
{
	bool		negative = data[0] == CLASS_NEGATIVE;
	Digits		number;

	*value = 0;
	if (data[0] == CLASS_ZERO)
		return true;
	if ((!negative && data[0] != CLASS_POSITIVE) || len > GENIE_VALUE_MAX || !decode(data, len, &number) ||
		number.weight > INT64_WEIGHT_MAX || number.weight < (int64) number.n - 1)
		return false;
	for (int64 i = 0; i <= number.weight; i++)
	{
		int64		digit = i < number.n ? number.digits[i] : 0;

		if (pg_mul_s64_overflow(*value, BASE, value) ||
			pg_add_s64_overflow(*value, negative ? -digit : digit, value))
			return false;
	}
	return true;
}

/* Prints n decimal digits; the last one's unit is 10^exponent. */
static void
print_decimal(StringInfo out, const char *digits, int n, int exponent)
{
	if (exponent >= 0 && exponent <= ZEROS_MAX)
	{
		appendBinaryStringInfo(out, digits, n);
		for (int i = 0; i < exponent; i++)
			appendStringInfoChar(out, '0');
	}
	else if (exponent < 0 && -exponent < n)
		appendStringInfo(out, "%.*s.%s", n + exponent, digits, digits + n + exponent);
	else if (exponent < 0 && -exponent - n <= ZEROS_MAX)
	{
		appendStringInfoString(out, "0.");
		for (int i = n; i < -exponent; i++)
			appendStringInfoChar(out, '0');
		appendBinaryStringInfo(out, digits, n);
	}
	else
		appendStringInfo(out, "%se%d", digits, exponent);
}

void
genie_value_numeric_print(StringInfo out, const uint8 *data, uint32 len)
{
	Digits		number;
	char		digits[DIGITS_MAX * BASE_DIGITS + 1];
	const char *first = digits;
	int			n = 0;

	switch (data[0])
	{
		case CLASS_MINUS_INFINITY:
			appendStringInfoString(out, "-Infinity");
			return;
		case CLASS_ZERO:
			appendStringInfoChar(out, '0');
			return;
		case CLASS_INFINITY:
			appendStringInfoString(out, "Infinity");
			return;
		case CLASS_NAN:
			appendStringInfoString(out, "NaN");
			return;
	}
	if (!decode(data, len, &number))
		elog(ERROR, "malformed numeric keyword");
	for (uint32 i = 0; i < number.n; i++)
		n += sprintf(digits + n, "%04d", number.digits[i]);
	number.weight = BASE_DIGITS * (number.weight - (int64) number.n + 1);
	while (digits[n - 1] == '0')
	{
		digits[--n] = '\0';
		number.weight++;
	}
	while (*first == '0')
	{
		first++;
		n--;
	}
	if (data[0] == CLASS_NEGATIVE)
		appendStringInfoChar(out, '-');
	print_decimal(out, first, n, number.weight);
}

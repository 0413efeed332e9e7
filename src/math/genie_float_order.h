/*
 * genie_float_order.h
 *	  Numbers as integers of the same order.
 */
#ifndef GENIE_FLOAT_ORDER_H
#define GENIE_FLOAT_ORDER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* what comes behind all numbers: NaN, as in SQL, then NULL */
#define GENIE_FLOAT_ORDER_NAN	(UINT64_MAX - 1)
#define GENIE_FLOAT_ORDER_NULL	UINT64_MAX

/* -0 and 0 are the same. */
static inline uint64_t
genie_float_order(double value)
{
	uint64_t	bits;

	if (isnan(value))
		return GENIE_FLOAT_ORDER_NAN;
	value += 0.0;
	memcpy(&bits, &value, sizeof(bits));
	return bits ^ (bits >> 63 != 0 ? UINT64_MAX : UINT64_C(1) << 63);
}

/* The other way round; not of NULL. */
static inline double
genie_float_of_order(uint64_t order)
{
	uint64_t	bits = order ^ (order >> 63 != 0 ? UINT64_C(1) << 63 : UINT64_MAX);
	double		value;

	if (order == GENIE_FLOAT_ORDER_NAN)
		return (double) NAN;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif							/* GENIE_FLOAT_ORDER_H */

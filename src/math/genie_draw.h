/*
 * genie_draw.h
 *	  Random numbers that are a function of where they are used, the same on every machine.
 *
 * There is no state: a draw is a function of a seed, a purpose, a row and a counter.  So the draw for one entry of a
 * table does not depend on the others, nor on their order.  Bits are the outputs of SplitMix64 (Steele, Lea and Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014), which are a function of their number.
 *
 * Only IEEE additions, multiplications, divisions and square roots are used, which are correctly rounded everywhere;
 * no libm, whose logarithms differ in the last place.  Products must not be fused with sums; the Makefile tells the
 * compiler so for the whole project.
 */
#ifndef GENIE_DRAW_H
#define GENIE_DRAW_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define GENIE_DRAW_GAMMA	UINT64_C(0x9E3779B97F4A7C15)

#ifdef __CUDACC__
#define GENIE_DRAW_FUNCTION static __host__ __device__ __forceinline__
#else
#define GENIE_DRAW_FUNCTION static inline
#endif

GENIE_DRAW_FUNCTION uint64_t
genie_draw_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* where the draws of a purpose and a row begin */
GENIE_DRAW_FUNCTION uint64_t
genie_draw_begin(uint64_t seed, uint32_t purpose, uint32_t row)
{
	uint64_t	state = genie_draw_mix(seed + GENIE_DRAW_GAMMA);

	return genie_draw_mix(state + GENIE_DRAW_GAMMA * (((uint64_t) purpose << 32 | row) + 1));
}

GENIE_DRAW_FUNCTION uint64_t
genie_draw_bits(uint64_t begin, uint64_t counter)
{
	return genie_draw_mix(begin + GENIE_DRAW_GAMMA * (counter + 1));
}

/* Uniform in (0, 1), without 0 and 1: the middles of 2^52 parts, which a double holds exactly. */
static inline double
genie_draw_uniform(uint64_t begin, uint64_t counter)
{
	return ((double) (genie_draw_bits(begin, counter) >> 12) + 0.5) * 0x1p-52;
}

/* 0 .. n - 1, n > 0: each as likely as any other within n / 2^64 */
GENIE_DRAW_FUNCTION uint32_t
genie_draw_below(uint64_t begin, uint64_t counter, uint32_t n)
{
	return (uint32_t) (genie_draw_bits(begin, counter) % n);
}

/*
 * Is row i in a sample of one row in each `each`, the first of them being row 0?  Any of them is as likely, so that a
 * period in the rows does not show.
 */
static inline int
genie_draw_takes(uint64_t i, uint32_t each)
{
	return i % each == genie_draw_below(genie_draw_begin(0, 0, (uint32_t) (i / each)), 0, each);
}

/* Natural logarithm of a positive normal number, within a few units of the last place. */
static inline double
genie_draw_ln(double x)
{
	const double ln_2 = 0x1.62e42fefa39efp-1;
	const double root_2 = 0x1.6a09e667f3bcdp+0;
	uint64_t	bits;
	double		exponent;
	double		s;
	double		z;
	double		series = 0;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (double) ((int64_t) (bits >> 52) - 1023);
	bits = (bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000);
	memcpy(&x, &bits, sizeof(x));
	if (x > root_2)
	{
		x /= 2;
		exponent += 1;
	}

	/* ln x = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172: what is left out behind s^23 is below 1e-20 */
	s = (x - 1) / (x + 1);
	z = s * s;
	for (int n = 23; n > 0; n -= 2)
		series = series * z + 1.0 / n;
	return exponent * ln_2 + 2 * s * series;
}

/*
 * A point of the unit disc without its axes, by rejection; returns the square of its radius.  Its coordinates are whole
 * numbers of 2^-26, so their squares are exact.  Counters from pair * 256 on are used.
 */
static inline double
genie_draw_disc(uint64_t begin, uint32_t pair, double *x, double *y)
{
	for (uint64_t counter = (uint64_t) pair << 8;; counter++)
	{
		uint64_t	bits = genie_draw_bits(begin, counter);
		double		square;

		*x = (double) ((int64_t) (2 * (bits >> 38) + 1) - (INT64_C(1) << 26)) * 0x1p-26;
		*y = (double) ((int64_t) (2 * (bits >> 6 & 0x3FFFFFF) + 1) - (INT64_C(1) << 26)) * 0x1p-26;
		square = *x * *x + *y * *y;
		if (square < 1)
			return square;
	}
}

/* Two independent standard normal numbers (Marsaglia's polar method). */
static inline void
genie_draw_normals(uint64_t begin, uint32_t pair, double *first, double *second)
{
	double		square = genie_draw_disc(begin, pair, first, second);
	double		factor = sqrt(-2 * genie_draw_ln(square) / square);

	*first *= factor;
	*second *= factor;
}

/* A standard Cauchy number: the slope of a random direction.  Below 2^27. */
static inline double
genie_draw_cauchy(uint64_t begin, uint32_t pair)
{
	double		x;
	double		y;

	genie_draw_disc(begin, pair, &x, &y);
	return x / y;
}

/* Gamma distributed with shape 2 and scale 1: the sum of two exponential numbers, drawn as the log of a product. */
static inline double
genie_draw_gamma2(uint64_t begin, uint64_t counter)
{
	return -genie_draw_ln(genie_draw_uniform(begin, counter) * genie_draw_uniform(begin, counter + 1));
}

#endif							/* GENIE_DRAW_H */

/*
 * genie_vector.c
 *	  Distances of vectors (genie_vector.h): from sums to distances, and which kernel sums up.
 */
#include <float.h>
#include <math.h>

#include <string.h>

#include "genie_vector.h"
#include "genie_vector_kernel.h"

const GenieVectorKernel *
genie_vector_nth(uint32_t i)
{
	if (i == 0)
		return &genie_vector_portable;
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("avx2"))
		return &genie_vector_avx2;
	if (i == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		return &genie_vector_avx512;
#endif
	return NULL;
}

static const GenieVectorKernel *
best_kernel(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		return &genie_vector_avx512;
	if (__builtin_cpu_supports("avx2"))
		return &genie_vector_avx2;
#endif
	return &genie_vector_portable;
}

/*
 * The root of the product of two sums of squares.  Where the product is a normal number, its root is exact for equal
 * sums, so that a vector's distance to itself is 0; the roots' product serves where it is not.
 */
static double
root_of_product(double a, double b)
{
	double		product = a * b;

	if (product >= DBL_MIN && product <= DBL_MAX)
		return sqrt(product);
	return sqrt(a) * sqrt(b);
}

static double
cosine_distance(GenieVectorSums sums)
{
	double		cosine;

	if (sums.a_squares == 0 || sums.b_squares == 0)
		return 1;
	cosine = sums.sum / root_of_product(sums.a_squares, sums.b_squares);
	/* rounding may leave the range; NaN stays */
	if (cosine > 1)
		cosine = 1;
	if (cosine < -1)
		cosine = -1;
	return 1 - cosine;
}

double
genie_vector_measure_by(const GenieVectorKernel *kernel, GenieMetric metric, GenieVector a, GenieVector b)
{
	GenieVectorSums sums = kernel->sum(metric, a, b);

	switch (metric)
	{
		case GENIE_METRIC_L2:
			return sqrt(sums.sum);
		case GENIE_METRIC_COSINE:
			return cosine_distance(sums);
		default:
			return sums.sum;
	}
}

double
genie_vector_measure(GenieMetric metric, GenieVector a, GenieVector b)
{
	return genie_vector_measure_by(best_kernel(), metric, a, b);
}

/* Of a number that is not finite, all bits of the exponent are set. */
uint32_t
genie_vector_not_finite(GenieVector vector)
{
	const uint8_t *at = vector.elements;

	for (uint32_t i = 0; i < vector.n; i++)
	{
		uint64_t	wide;
		uint32_t	narrow;

		if (vector.is_double)
		{
			memcpy(&wide, at + sizeof(wide) * i, sizeof(wide));
			if ((wide >> 52 & 0x7FF) == 0x7FF)
				return i;
		}
		else
		{
			memcpy(&narrow, at + sizeof(narrow) * i, sizeof(narrow));
			if ((narrow >> 23 & 0xFF) == 0xFF)
				return i;
		}
	}
	return vector.n;
}

/*
 * genie_vector_kernel.h
 *	  Sums over two vectors, in the order that genie_vector.h fixes, as a template: a file that defines the register
 *	  includes it.
 *
 *	VECTOR_NAME		the instruction set: genie_vector_NAME is made
 *	VECTOR_TARGET	attribute of each function: the instructions that it may use
 *	VECTOR_WIDTH	doubles in a register
 *	VECTOR_WIDEN(at)	VECTOR_WIDTH floats at any address, as doubles
 *
 * The lanes are PARTS registers, whose sums do not wait for each other.
 */
#ifndef GENIE_VECTOR_KERNEL_H
#define GENIE_VECTOR_KERNEL_H

#include <string.h>

#include "genie_vector.h"

#ifndef VECTOR_NAME
#define VECTOR_NAME portable
#define VECTOR_TARGET
#define VECTOR_WIDTH 2
#define VECTOR_WIDEN(at) widen(at)
#define VECTOR_OWN_WIDEN
#endif

#define PARTS (GENIE_VECTOR_LANES / VECTOR_WIDTH)
#define INLINE __attribute__((always_inline)) VECTOR_TARGET static inline

typedef double Part __attribute__((vector_size(8 * VECTOR_WIDTH)));
typedef int64_t Bits __attribute__((vector_size(8 * VECTOR_WIDTH)));

typedef struct Sums
{
	Part		sum[PARTS];
	Part		a_squares[PARTS];
	Part		b_squares[PARTS];
} Sums;

#ifdef VECTOR_OWN_WIDEN
INLINE Part
widen(const uint8_t *at)
{
	float		floats[VECTOR_WIDTH];

	memcpy(floats, at, sizeof(floats));
	return (Part) {floats[0], floats[1]};
}
#endif

INLINE Part
load(const bool is_double, const uint8_t *elements, uint32_t i)
{
	Part		doubles;

	if (!is_double)
		return VECTOR_WIDEN(elements + sizeof(float) * i);
	memcpy(&doubles, elements + sizeof(double) * i, sizeof(doubles));
	return doubles;
}

/* Adds the terms of elements i .. i + GENIE_VECTOR_LANES - 1. */
INLINE void
add_terms(const GenieMetric metric, const bool is_double, Sums *sums, const uint8_t *a, const uint8_t *b, uint32_t i)
{
	for (uint32_t p = 0; p < PARTS; p++)
	{
		Part		x = load(is_double, a, i + p * VECTOR_WIDTH);
		Part		y = load(is_double, b, i + p * VECTOR_WIDTH);
		Part		term;

		switch (metric)
		{
			case GENIE_METRIC_L2:
				term = x - y;
				term = term * term;
				break;
			case GENIE_METRIC_L1:
				term = (Part) ((Bits) (x - y) & INT64_MAX);
				break;
			case GENIE_METRIC_COSINE:
				term = x * x;
				sums->a_squares[p] += term;
				term = y * y;
				sums->b_squares[p] += term;
				/* FALLTHROUGH */
			default:
				term = x * y;
				break;
		}
		sums->sum[p] += term;
	}
}

INLINE double
fold(const Part *parts)
{
	double		lanes[GENIE_VECTOR_LANES];

	memcpy(lanes, parts, sizeof(lanes));
	for (uint32_t half = GENIE_VECTOR_LANES / 2; half > 0; half /= 2)
		for (uint32_t l = 0; l < half; l++)
			lanes[l] += lanes[l + half];
	return lanes[0];
}

INLINE GenieVectorSums
sum_up(const GenieMetric metric, const bool is_double, const uint8_t *a, const uint8_t *b, uint32_t n)
{
	Sums		sums = {0};
	GenieVectorSums result = {0};
	uint32_t	whole = n - n % GENIE_VECTOR_LANES;

	for (uint32_t i = 0; i < whole; i += GENIE_VECTOR_LANES)
		add_terms(metric, is_double, &sums, a, b, i);
	if (whole < n)
	{
		size_t		width = is_double ? sizeof(double) : sizeof(float);
		uint8_t		last_a[GENIE_VECTOR_LANES * sizeof(double)] = {0};
		uint8_t		last_b[GENIE_VECTOR_LANES * sizeof(double)] = {0};

		memcpy(last_a, a + whole * width, (n - whole) * width);
		memcpy(last_b, b + whole * width, (n - whole) * width);
		add_terms(metric, is_double, &sums, last_a, last_b, 0);
	}
	result.sum = fold(sums.sum);
	if (metric == GENIE_METRIC_COSINE)
	{
		result.a_squares = fold(sums.a_squares);
		result.b_squares = fold(sums.b_squares);
	}
	return result;
}

VECTOR_TARGET
static GenieVectorSums
sum_by_metric(GenieMetric metric, GenieVector a, GenieVector b)
{
#define SUM(metric) \
	return a.is_double ? sum_up(metric, true, a.elements, b.elements, a.n) : \
		sum_up(metric, false, a.elements, b.elements, a.n)

	switch (metric)
	{
		case GENIE_METRIC_L2:
			SUM(GENIE_METRIC_L2);
		case GENIE_METRIC_L1:
			SUM(GENIE_METRIC_L1);
		case GENIE_METRIC_COSINE:
			SUM(GENIE_METRIC_COSINE);
		default:
			SUM(GENIE_METRIC_INNER);
	}
#undef SUM
}

#define KERNEL_OF(name) KERNEL_OF_(name)
#define KERNEL_OF_(name) const GenieVectorKernel genie_vector_##name = {#name, sum_by_metric}
KERNEL_OF(VECTOR_NAME);

#endif							/* GENIE_VECTOR_KERNEL_H */

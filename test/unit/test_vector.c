/*
 * test_vector.c
 *	  Distances of vectors: the same bits from all kernels and at all addresses, and near the definitions.
 */
#include <math.h>
#include <string.h>

#include "genie_test.h"
#include "genie_vector.h"

#define LENGTH_MAX 200

/* Of either element type, at an address that is no multiple of an element's width. */
typedef struct Operand
{
	uint8_t		bytes[LENGTH_MAX * sizeof(double) + sizeof(double)];
	GenieVector vector;
} Operand;

static double
element(GenieVector vector, uint32_t i)
{
	double		wide;
	float		narrow;

	if (vector.is_double)
	{
		memcpy(&wide, (const uint8_t *) vector.elements + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, (const uint8_t *) vector.elements + i * sizeof(narrow), sizeof(narrow));
	return narrow;
}

static void
set_element(Operand *operand, uint32_t i, double value)
{
	uint8_t    *at = (uint8_t *) operand->vector.elements;
	float		narrow = (float) value;

	if (operand->vector.is_double)
		memcpy(at + i * sizeof(value), &value, sizeof(value));
	else
		memcpy(at + i * sizeof(narrow), &narrow, sizeof(narrow));
}

/* Random elements with exponents up to +-spread. */
static void
fill(Operand *operand, GenieRandom *random, bool is_double, uint32_t n, int spread, uint32_t shift)
{
	operand->vector.elements = operand->bytes + shift;
	operand->vector.n = n;
	operand->vector.is_double = is_double;
	for (uint32_t i = 0; i < n; i++)
	{
		double		mantissa = (double) (int64_t) genie_random(random) / 9.3e18;
		int			exponent = spread == 0 ? 0 : (int) genie_random_below(random, 2 * spread) - spread;

		set_element(operand, i, ldexp(mantissa, exponent));
	}
}

/* The definition, and in *scale the sum of the terms' sizes. */
static long double
plain_measure(GenieMetric metric, GenieVector a, GenieVector b, long double *scale)
{
	long double sum = 0;
	long double squares_a = 0;
	long double squares_b = 0;

	*scale = 0;
	for (uint32_t i = 0; i < a.n; i++)
	{
		long double x = element(a, i);
		long double y = element(b, i);
		long double term = x * y;

		if (metric == GENIE_METRIC_L2)
			term = (x - y) * (x - y);
		else if (metric == GENIE_METRIC_L1)
			term = fabsl(x - y);
		sum += term;
		*scale += fabsl(term);
		squares_a += x * x;
		squares_b += y * y;
	}
	if (metric == GENIE_METRIC_L2)
	{
		*scale = sqrtl(sum);
		return sqrtl(sum);
	}
	if (metric == GENIE_METRIC_COSINE)
	{
		*scale = 1;
		return squares_a == 0 || squares_b == 0 ? 1 : 1 - sum / sqrtl(squares_a) / sqrtl(squares_b);
	}
	return sum;
}

static bool
same_bits(double x, double y)
{
	return memcmp(&x, &y, sizeof(x)) == 0;
}

static void
check_pair(Operand *a, Operand *b)
{
	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
	{
		double		first = genie_vector_measure_by(genie_vector_nth(0), metric, a->vector, b->vector);
		long double scale;
		long double plain = plain_measure(metric, a->vector, b->vector, &scale);

		CHECK(fabsl(first - plain) <= 1e-13L * scale);
		CHECK(same_bits(first, genie_vector_measure(metric, a->vector, b->vector)));
		for (uint32_t i = 0; genie_vector_nth(i) != NULL; i++)
		{
			CHECK(same_bits(first, genie_vector_measure_by(genie_vector_nth(i), metric, a->vector, b->vector)));
			CHECK(same_bits(first, genie_vector_measure_by(genie_vector_nth(i), metric, b->vector, a->vector)));
		}
		if (metric != GENIE_METRIC_INNER && (metric != GENIE_METRIC_COSINE || element(a->vector, 0) != 0))
			CHECK(genie_vector_measure(metric, a->vector, a->vector) == 0);
	}
}

static void
test_measures(void)
{
	GenieRandom random = {1};
	Operand		a;
	Operand		b;

	for (uint32_t n = 1; n <= LENGTH_MAX; n++)
		for (int is_double = 0; is_double <= 1; is_double++)
			for (int spread = 0; spread <= 60; spread += 30)
			{
				fill(&a, &random, is_double, n, spread, n % 8);
				fill(&b, &random, is_double, n, spread, n / 2 % 8);
				check_pair(&a, &b);
			}
}

/* The order of the sums is that of the header, not just the same in all kernels. */
static void
test_order(void)
{
	GenieRandom random = {2};
	Operand		a;
	Operand		b;
	double		lanes[GENIE_VECTOR_LANES];

	for (uint32_t n = 1; n <= LENGTH_MAX; n++)
	{
		fill(&a, &random, n % 2 == 0, n, 20, 0);
		fill(&b, &random, n % 2 == 0, n, 20, 0);
		memset(lanes, 0, sizeof(lanes));
		for (uint32_t i = 0; i < n; i++)
			lanes[i % GENIE_VECTOR_LANES] += fabs(element(a.vector, i) - element(b.vector, i));
		for (uint32_t half = GENIE_VECTOR_LANES / 2; half > 0; half /= 2)
			for (uint32_t l = 0; l < half; l++)
				lanes[l] += lanes[l + half];
		CHECK(same_bits(lanes[0], genie_vector_measure(GENIE_METRIC_L1, a.vector, b.vector)));
	}
}

static void
test_edges(void)
{
	Operand		a = {.vector = {a.bytes, 3, true}};
	Operand		b = {.vector = {b.bytes, 3, true}};
	Operand		none = {.vector = {none.bytes, 0, false}};

	/* no elements, zeros */
	CHECK(genie_vector_measure(GENIE_METRIC_L2, none.vector, none.vector) == 0);
	CHECK(genie_vector_measure(GENIE_METRIC_L1, none.vector, none.vector) == 0);
	CHECK(genie_vector_measure(GENIE_METRIC_COSINE, none.vector, none.vector) == 1);
	CHECK(genie_vector_measure(GENIE_METRIC_COSINE, a.vector, a.vector) == 1);
	set_element(&b, 1, 5);
	CHECK(genie_vector_measure(GENIE_METRIC_COSINE, a.vector, b.vector) == 1);

	/* squares' product beyond the range of a double, or below it; the directions are the same, opposite, orthogonal */
	for (int exponent = -300; exponent <= 300; exponent += 600)
	{
		set_element(&a, 0, ldexp(1, exponent));
		set_element(&a, 1, 0);
		set_element(&b, 0, ldexp(3, exponent));
		set_element(&b, 1, 0);
		CHECK(genie_vector_measure(GENIE_METRIC_COSINE, a.vector, b.vector) == 0);
		set_element(&b, 0, ldexp(-3, exponent));
		CHECK(genie_vector_measure(GENIE_METRIC_COSINE, a.vector, b.vector) == 2);
		set_element(&b, 0, 0);
		set_element(&b, 2, ldexp(1, exponent));
		CHECK(genie_vector_measure(GENIE_METRIC_COSINE, a.vector, b.vector) == 1);
		set_element(&b, 2, 0);
	}

	/* not finite */
	for (int is_double = 0; is_double <= 1; is_double++)
	{
		a.vector.is_double = is_double;
		for (uint32_t i = 0; i < 3; i++)
			set_element(&a, i, i == 2 ? 0 : -1e30);
		CHECK_INT(genie_vector_not_finite(a.vector), 3);
		set_element(&a, 2, -INFINITY);
		CHECK_INT(genie_vector_not_finite(a.vector), 2);
		set_element(&a, 0, NAN);
		CHECK_INT(genie_vector_not_finite(a.vector), 0);
		CHECK(isnan(genie_vector_measure(GENIE_METRIC_L2, a.vector, a.vector)));
		CHECK(isnan(genie_vector_measure(GENIE_METRIC_COSINE, a.vector, a.vector)));
	}
	CHECK_INT(genie_vector_not_finite(none.vector), 0);
}

int
main(void)
{
	test_measures();
	test_order();
	test_edges();
	return genie_test_end();
}

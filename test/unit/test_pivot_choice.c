/*
 * test_pivot_choice.c
 *	  Pivots: points of a plane need few, and bounds by them are as good as the share says; what breaks the triangle
 *	  inequality is found, and nothing else.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "genie_pivot_choice.h"
#include "genie_test.h"

#define CANDIDATES 64
#define OBJECTS 256
#define DIMENSIONS_MAX 64

static double points[OBJECTS][DIMENSIONS_MAX];
static double distances[CANDIDATES][OBJECTS];

static double
unit_of(GenieRandom *random)
{
	return (double) genie_random_below(random, 1 << 30) / (1 << 30);
}

/* kinds: how many different points there are */
static void
draw(GenieRandom *random, uint32_t n_dimensions, uint32_t kinds)
{
	for (uint32_t o = 0; o < OBJECTS; o++)
		for (uint32_t i = 0; i < n_dimensions; i++)
			points[o][i] = o < kinds ? unit_of(random) : points[o % kinds][i];
	for (uint32_t c = 0; c < CANDIDATES; c++)
		for (uint32_t o = 0; o < OBJECTS; o++)
		{
			double		sum = 0;

			for (uint32_t i = 0; i < n_dimensions; i++)
				sum += (points[c][i] - points[o][i]) * (points[c][i] - points[o][i]);
			distances[c][o] = sqrt(sum);
		}
}

/* The share of pairs that the pivots leave, by the definition. */
static double
share_of(const GeniePivotChoice *choice)
{
	uint32_t	n_left = 0;
	uint32_t	n = 0;

	for (uint32_t q = 0; q < CANDIDATES; q++)
	{
		double		nearest = INFINITY;
		bool		is_pivot = false;

		for (uint32_t i = 0; i < choice->n; i++)
			is_pivot = is_pivot || choice->pivots[i] == q;
		for (uint32_t o = 0; o < OBJECTS; o++)
			nearest = distances[q][o] > 0 ? fmin(nearest, distances[q][o]) : nearest;
		if (is_pivot || nearest == INFINITY)
			continue;
		for (uint32_t o = 0; o < OBJECTS; o++)
		{
			double		bound = 0;

			for (uint32_t i = 0; i < choice->n; i++)
				bound = fmax(bound, fabs(distances[choice->pivots[i]][q] - distances[choice->pivots[i]][o]));
			n_left += !(bound > nearest);
			n++;
		}
	}
	return n == 0 ? 1 : (double) n_left / n;
}

static void
test_choice(void)
{
	static const uint32_t dimensions[] = {1, 2, 4, 16, 64};
	GenieRandom random = {1};
	double		before = 0;

	for (uint32_t i = 0; i < 5; i++)
	{
		GeniePivotChoice choice;

		draw(&random, dimensions[i], OBJECTS);
		choice = genie_pivot_choice(distances[0], CANDIDATES, OBJECTS);
		CHECK(choice.n == 4 || choice.n == 8 || choice.n == 16 || choice.n == 32);
		for (uint32_t p = 0; p < choice.n; p++)
			for (uint32_t q = 0; q < p; q++)
				CHECK(choice.pivots[p] < CANDIDATES && choice.pivots[p] != choice.pivots[q]);
		CHECK(fabs(choice.share - share_of(&choice)) < 1e-9);
		/* the more dimensions, the less bounds tell */
		CHECK(choice.share > before);
		before = choice.share;
		if (dimensions[i] <= 2)
			CHECK(choice.share < 0.03 && choice.n <= 16);
	}
	CHECK(before > 0.5);
}

static void
test_few(void)
{
	GenieRandom random = {2};

	for (uint32_t kinds = 1; kinds < 8; kinds++)
	{
		GeniePivotChoice choice;

		draw(&random, 3, kinds);
		choice = genie_pivot_choice(distances[0], CANDIDATES, OBJECTS);
		CHECK(choice.n >= 1 && choice.share >= 0 && choice.share <= 1);
	}
	for (uint32_t n = 1; n < 6; n++)
	{
		GeniePivotChoice choice = genie_pivot_choice(distances[0], n, OBJECTS);

		CHECK_INT(choice.n, n < 4 ? n : choice.n);
		CHECK(choice.n <= n);
	}
}

static void
test_triangles(void)
{
	GenieRandom random = {3};
	GenieTriangle triangle;

	draw(&random, 3, OBJECTS);
	CHECK(!genie_pivot_find_triangle(distances[0], CANDIDATES, OBJECTS, 0x1p-40, &triangle));
	/* squares are no metric */
	for (uint32_t c = 0; c < CANDIDATES; c++)
		for (uint32_t o = 0; o < OBJECTS; o++)
			distances[c][o] *= distances[c][o];
	CHECK(genie_pivot_find_triangle(distances[0], CANDIDATES, OBJECTS, 0x1p-40, &triangle));
	CHECK(triangle.a_to_c > triangle.a_to_b + triangle.b_to_c);
	/* a distance that depends on the direction, and one to itself */
	draw(&random, 3, OBJECTS);
	distances[3][5] *= 1.5;
	CHECK(genie_pivot_find_triangle(distances[0], CANDIDATES, OBJECTS, 0x1p-40, &triangle));
	draw(&random, 3, OBJECTS);
	distances[7][7] = 0.001;
	CHECK(genie_pivot_find_triangle(distances[0], CANDIDATES, OBJECTS, 0x1p-40, &triangle));
	/* within the tolerance */
	draw(&random, 3, OBJECTS);
	distances[3][5] *= 1 + 1e-6;
	CHECK(!genie_pivot_find_triangle(distances[0], CANDIDATES, OBJECTS, 1e-5, &triangle));
	CHECK(genie_pivot_find_triangle(distances[0], CANDIDATES, OBJECTS, 1e-9, &triangle));
}

int
main(void)
{
	test_choice();
	test_few();
	test_triangles();
	return genie_test_end();
}

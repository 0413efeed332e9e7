/*
 * genie_pivot_choice.c
 *	  Choosing pivots (genie_pivot_choice.h).
 *
 * Greedy: the next pivot is the candidate with which the fewest pairs of a query and an object are left, where
 * candidates that are no pivots are queries.  A pair is left if no pivot tells that the object is farther than the
 * query's nearest one.  (Objects that are equal to the query tell nothing about its neighbours, so the nearest one is
 * at a distance above 0.)  Pivots far from everything, which are usually taken, leave more.
 *
 * A pivot costs two bytes a row, and a distance for each row and each query.  So there are only as many, of 4, 8, 16,
 * 32 or 64, as leave noticeably fewer pairs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "genie_pivot_choice.h"

#define FEWEST		4
#define WORTH		1.1			/* times as many pairs as the most pivots leave are not worth more of them, */
#define WORTH_SHARE	0.002		/* nor is this share of all pairs */

typedef struct Choice
{
	const double *distances;
	uint32_t	n_candidates;
	uint32_t	n_objects;
	double	   *nearest;		/* of each query; 0: it has none */
	uint8_t    *told;			/* of each pair: a pivot tells it */
	uint8_t    *is_pivot;		/* each candidate */
} Choice;

static const double *
row_of(const Choice *choice, uint32_t candidate)
{
	return choice->distances + (size_t) candidate * choice->n_objects;
}

static void
find_nearest(Choice *choice)
{
	for (uint32_t q = 0; q < choice->n_candidates; q++)
	{
		const double *distances = row_of(choice, q);
		double		nearest = INFINITY;

		for (uint32_t o = 0; o < choice->n_objects; o++)
			if (distances[o] > 0 && distances[o] < nearest)
				nearest = distances[o];
		choice->nearest[q] = nearest == INFINITY ? 0 : nearest;
	}
}

/* How many pairs of query q are left with another pivot.  takes: pairs that it tells are told. */
static uint32_t
left_of_query(Choice *choice, uint32_t q, uint32_t pivot, int takes)
{
	const double *to_pivot = row_of(choice, pivot);
	uint8_t    *told = choice->told + (size_t) q * choice->n_objects;
	double		from = to_pivot[q];
	double		nearest = choice->nearest[q];
	uint32_t	n_left = 0;

	for (uint32_t o = 0; o < choice->n_objects; o++)
	{
		uint8_t		is_told = told[o] | (fabs(from - to_pivot[o]) > nearest);

		n_left += is_told == 0;
		if (takes)
			told[o] = is_told;
	}
	return n_left;
}

/* The share of pairs that are left with another pivot. */
static double
share_with(Choice *choice, uint32_t pivot, int takes)
{
	uint64_t	n_left = 0;
	uint64_t	n = 0;

	for (uint32_t q = 0; q < choice->n_candidates; q++)
		if (choice->nearest[q] > 0 && q != pivot && !choice->is_pivot[q])
		{
			n_left += left_of_query(choice, q, pivot, takes);
			n += choice->n_objects;
		}
	return n == 0 ? 1 : (double) n_left / (double) n;
}

static uint32_t
next_pivot(Choice *choice)
{
	uint32_t	best = UINT32_MAX;
	double		least = INFINITY;

	for (uint32_t c = 0; c < choice->n_candidates; c++)
	{
		double		share = choice->is_pivot[c] ? INFINITY : share_with(choice, c, 0);

		if (share < least)
		{
			least = share;
			best = c;
		}
	}
	return best;
}

GeniePivotChoice
genie_pivot_choice(const double *distances, uint32_t n_candidates, uint32_t n_objects)
{
	Choice		choice = {distances, n_candidates, n_objects, NULL, NULL, NULL};
	GeniePivotChoice result = {0};
	uint32_t	most = n_candidates < GENIE_PIVOTS_MAX ? n_candidates : GENIE_PIVOTS_MAX;
	double		shares[GENIE_PIVOTS_MAX] = {0};

	choice.nearest = malloc(n_candidates * sizeof(double));
	choice.told = calloc(n_candidates, n_objects);
	choice.is_pivot = calloc(n_candidates, 1);
	if (choice.nearest != NULL && choice.told != NULL && choice.is_pivot != NULL)
	{
		find_nearest(&choice);
		for (uint32_t i = 0; i < most; i++)
		{
			uint32_t	pivot = next_pivot(&choice);

			shares[i] = share_with(&choice, pivot, 1);
			choice.is_pivot[pivot] = 1;
			result.pivots[i] = pivot;
		}
		result.n = most < FEWEST ? most : FEWEST;
		while (result.n < most && shares[result.n - 1] > shares[most - 1] * WORTH + WORTH_SHARE)
			result.n = 2 * result.n < most ? 2 * result.n : most;
		result.share = shares[result.n - 1];
	}
	free(choice.nearest);
	free(choice.told);
	free(choice.is_pivot);
	return result;
}

int
genie_pivot_find_triangle(const double *distances, uint32_t n_candidates, uint32_t n_objects, double tolerance,
						  GenieTriangle *triangle)
{
	for (uint32_t a = 0; a < n_candidates; a++)
		for (uint32_t b = 0; b < n_candidates; b++)
		{
			const double *from_a = distances + (size_t) a * n_objects;
			const double *from_b = distances + (size_t) b * n_objects;

			if (from_a[b] > from_b[a] * (1 + 2 * tolerance) || (a == b && from_a[a] != 0))
			{
				*triangle = (GenieTriangle) {from_b[a], 0, from_a[b]};
				return 1;
			}
			for (uint32_t c = 0; c < n_objects; c++)
				if (from_a[c] > (from_a[b] + from_b[c]) * (1 + 2 * tolerance))
				{
					*triangle = (GenieTriangle) {from_a[b], from_b[c], from_a[c]};
					return 1;
				}
		}
	return 0;
}

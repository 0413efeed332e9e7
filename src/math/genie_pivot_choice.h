/*
 * genie_pivot_choice.h
 *	  Which objects of a sample are pivots of a metric space: those that leave the fewest distances to be computed.
 *
 * With the distances of all objects to some pivots, |d(q, p) - d(o, p)| is a lower bound of d(q, o).  (A table of them,
 * without a tree: Mico, Oncina and Vidal, A new version of the nearest-neighbour approximating and eliminating search
 * algorithm (AESA) with linear preprocessing time and memory requirements, 1994.)
 */
#ifndef GENIE_PIVOT_CHOICE_H
#define GENIE_PIVOT_CHOICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_PIVOTS_MAX 64

typedef struct GeniePivotChoice
{
	uint32_t	n;				/* 1 .. GENIE_PIVOTS_MAX, at most as many as candidates */
	uint32_t	pivots[GENIE_PIVOTS_MAX];	/* candidates */

	/* of the sample's objects, how many are not told by bounds to be farther than the nearest one of a query: 0 to 1 */
	double		share;
} GeniePivotChoice;

/*
 * The first n_candidates (at least 1) of n_objects are candidates, and queries.  distances[c * n_objects + o]: from
 * candidate c to object o, not NaN.  Returns n = 0: there is no memory.
 */
extern GeniePivotChoice genie_pivot_choice(const double *distances, uint32_t n_candidates, uint32_t n_objects);

/* Three objects of which distances break the triangle inequality: a to c is longer than by b. */
typedef struct GenieTriangle
{
	double		a_to_b;
	double		b_to_c;
	double		a_to_c;
} GenieTriangle;

/*
 * Looks for one among the candidates and n_objects, or for two objects whose distance depends on the direction (then
 * b_to_c is 0).  tolerance: how far distances may be wrong, relatively.  Returns 0: there is none.
 */
extern int	genie_pivot_find_triangle(const double *distances, uint32_t n_candidates, uint32_t n_objects,
									  double tolerance, GenieTriangle *triangle);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_PIVOT_CHOICE_H */

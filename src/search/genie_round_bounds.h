/*
 * genie_round_bounds.h
 *	  Bounds of distances in a round of a batch search (genie_round_measure.c): the k least of them, and the window of
 *	  those whose rows are measured next.
 */
#ifndef GENIE_ROUND_BOUNDS_H
#define GENIE_ROUND_BOUNDS_H

#include <math.h>

#include "genie_heap.h"
#include "genie_round_state.h"

#define GENIE_ROUND_BOUNDS 128	/* that are looked at together */

static inline bool
genie_round_is_less(const float *a, const float *b)
{
	return *a < *b;
}

GENIE_HEAP(genie_round_least, float, genie_round_is_less)

/* The k least bounds so far: a heap. */
typedef struct GenieRoundLeast
{
	uint32		k;
	uint32		n;
	float	   *bounds;
} GenieRoundLeast;

static inline void
genie_round_add_bound(GenieRoundLeast *least, float bound)
{
	if (least->n < least->k)
		genie_round_least_add(least->bounds, least->n++, bound);
	else if (bound < least->bounds[0])
		genie_round_least_replace(least->bounds, least->n, bound);
}

/* Of many bounds most are above the k-th least so far. */
static inline void
genie_round_add_bounds(GenieRoundLeast *least, const float *bounds, uint32 n)
{
	uint32		places[GENIE_ROUND_BOUNDS];

	for (uint32 first = 0; first < n; first += GENIE_ROUND_BOUNDS)
	{
		float		limit = least->n < least->k ? INFINITY : least->bounds[0];
		uint32		n_places = genie_quantized_within(bounds + first, Min(n - first, GENIE_ROUND_BOUNDS), -1, limit,
													  places);

		for (uint32 p = 0; p < n_places; p++)
			genie_round_add_bound(least, bounds[first + places[p]]);
	}
}

/* The k-th least bound, or the largest. */
static inline float
genie_round_last_bound(const GenieRoundLeast *least)
{
	return least->n > 0 ? least->bounds[0] : 0;
}

/* Bounds that rows have which are looked at: above the one and up to the other, for each query. */
typedef struct GenieRoundWindow
{
	float	   *above;
	float	   *upto;
} GenieRoundWindow;

static inline GenieRoundWindow
genie_round_window(const GenieRoundState *state)
{
	GenieRoundWindow window;

	window.above = genie_round_array(state->n, sizeof(float));
	window.upto = genie_round_array(state->n, sizeof(float));
	for (uint32 i = 0; i < state->n; i++)
		window.above[i] = -1;	/* bounds are at least 0 */
	return window;
}

/* The nearest by bounds have been measured: now those that may be among the nearest, too. */
static inline void
genie_round_move_window(const GenieRoundState *state, GenieRoundWindow *window)
{
	for (uint32 i = 0; i < state->n; i++)
	{
		double		farthest = state->measure->farthest(state->measure->arg, state->queries[i]->number);
		float		upto = (float) farthest;

		window->above[i] = window->upto[i];
		window->upto[i] = upto < farthest ? nextafterf(upto, INFINITY) : upto;
	}
}

static inline bool
genie_round_in_window(const GenieRoundWindow *window, uint32 i, float bound)
{
	return (bound > window->above[i]) & (bound <= window->upto[i]);
}

/* Was it passed over, now that the window has moved? */
static inline bool
genie_round_behind_window(const GenieRoundWindow *window, uint32 i, float bound)
{
	return (bound > window->above[i]) & (bound > window->upto[i]);
}

#endif							/* GENIE_ROUND_BOUNDS_H */

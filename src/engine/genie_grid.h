/*
 * genie_grid.h
 *	  The input and output of a GENIE_JOB_GRID: how many objects lie in each cell of a grid.
 *
 * An axis is a run of ranks.  An object's place on it is what the table has for the one of these keywords that the
 * object has.  Its cell is the sum of its places.  An object without a keyword of some axis lies in no cell.
 *
 * While objects' places are summed up, an object is one word: the sum, and above it the number of axes on which the
 * object has a keyword.
 */
#ifndef GENIE_GRID_H
#define GENIE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_GRID_CELL_BITS 24
#define GENIE_GRID_CELLS_MAX (UINT32_C(1) << GENIE_GRID_CELL_BITS)
#define GENIE_GRID_AXES_MAX 24
#define GENIE_GRID_ON_AXIS GENIE_GRID_CELLS_MAX /* is added to the word with the place */

/* A place of keywords that are nowhere on the axis, as if objects did not have them. */
#define GENIE_GRID_NOWHERE UINT32_MAX

typedef struct GenieGridAxis
{
	uint32_t	first_rank;
	uint32_t	n_ranks;
	const uint32_t *places;		/* n_ranks of them, or NOWHERE */
} GenieGridAxis;

typedef struct GenieGrid
{
	uint32_t	n_axes;			/* 1 .. GENIE_GRID_AXES_MAX */
	const GenieGridAxis *axes;
	uint32_t	n_cells;		/* 1 .. GENIE_GRID_CELLS_MAX; above the sum of the axes' largest places */
} GenieGrid;

typedef struct GenieGridCell
{
	uint32_t	n;				/* objects */
	uint32_t	first;			/* undefined if n is 0, as last is */
	uint32_t	last;
} GenieGridCell;

/* Is a grid well-formed, over an image of so many keywords? */
static inline bool
genie_grid_valid(const GenieGrid *grid, uint32_t n_keywords)
{
	uint64_t	largest = 0;

	if (grid == NULL || grid->n_axes < 1 || grid->n_axes > GENIE_GRID_AXES_MAX || grid->n_cells < 1 ||
		grid->n_cells > GENIE_GRID_CELLS_MAX)
		return false;
	for (uint32_t a = 0; a < grid->n_axes; a++)
	{
		const GenieGridAxis *axis = &grid->axes[a];
		uint32_t	most = 0;

		if (axis->first_rank > n_keywords || axis->n_ranks > n_keywords - axis->first_rank)
			return false;
		for (uint32_t i = 0; i < axis->n_ranks; i++)
			if (axis->places[i] != GENIE_GRID_NOWHERE && axis->places[i] > most)
				most = axis->places[i];
		largest += most;
	}
	return largest < grid->n_cells;
}

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_GRID_H */

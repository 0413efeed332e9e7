/*
 * genie_nearest.h
 *	  Which rows may be near to which queries: what exact search has an engine with a device estimate.
 *
 * genie_knn.c has the estimates, their bounds and why no row is lost.  In floats, products and sums in any order:
 *
 *		estimate = term of the row - 2 sum p q		or, of differences,		term + sum |p - q|
 *
 * and those pairs are wanted whose estimate is not above the query's bound, which a NaN is not.
 */
#ifndef GENIE_NEAREST_H
#define GENIE_NEAREST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct GenieNearest
{
	bool		differences;
	uint32_t	n_dimensions;	/* at least 1, as are the numbers of queries and rows */
	uint32_t	n_queries;
	uint32_t	n_rows;
	const float *queries;		/* n_dimensions elements each, query by query; aligned to 16 bytes, as rows are */
	const float *bounds;		/* of queries */
	const float *rows;
	const float *terms;			/* of rows */
} GenieNearest;

/* a query and a row, by their numbers in the above */
typedef struct GeniePair
{
	uint32_t	query;
	uint32_t	row;
} GeniePair;

#endif							/* GENIE_NEAREST_H */

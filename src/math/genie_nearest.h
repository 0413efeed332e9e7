/*
 * genie_nearest.h
 *	  The input and output of a GENIE_JOB_NEAREST: the estimates of exact search (genie_knn.h), which a GPU engine
 *	  makes.
 *
 * The result is all pairs of a row p and a query q whose estimate is not above the query's bound; NaN is not above it.
 * genie_knn.c explains the estimates and proves that no row is lost.  In floats, products and sums in any order:
 *
 *		estimate = term of the row - 2 sum p q		or, of differences,		term + sum |p - q|
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

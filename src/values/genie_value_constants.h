/*
 * genie_value_constants.h
 *	  What bounds of a query need (genie_value_bound.h), and filters (genie_value_filter.h): plain C, made by the CPU
 *	  for all engines.
 */
#ifndef GENIE_VALUE_CONSTANTS_H
#define GENIE_VALUE_CONSTANTS_H

#include <float.h>
#include <math.h>

#include "genie_quantized_bound.h"
#include "genie_value_scan.h"

/* products of lengths up to which no partial sum in floats overflows */
#define GENIE_VALUE_INNER_MAX (FLT_MAX / 2)

typedef struct GenieValueConstants
{
	double		n;				/* dimensions */
	double		offset;			/* as in GenieValueQuery */
	double		scale;
	double		error;
	double		norm;
	double		sum;
	double		squares;
	double		keep;			/* of a distance: what roundings leave */
	double		roundings;
	double		cosine_error;
	double		total;			/* the sum of the elements of q' */
	double		total_size;		/* what this sum's two terms are without their signs */
	double		offset_size;
	double		base;			/* as in GenieValueQuery */
	double		epsilon;
	double		inner_max;		/* products of lengths above which nothing is known */
} GenieValueConstants;

static inline GenieValueConstants
genie_value_constants(const GenieValueQuery *query)
{
	double		n = query->n_dimensions;
	GenieValueConstants constants;

	constants.n = n;
	constants.offset = query->offset;
	constants.scale = query->scale;
	constants.error = query->error;
	constants.norm = query->norm;
	constants.sum = query->sum;
	constants.squares = query->squares;
	constants.keep = 1 - query->roundings;
	constants.roundings = query->roundings;
	constants.cosine_error = 2 * GENIE_QUANTIZED_GROWTH * query->roundings;
	constants.total = n * query->offset + query->sum;
	constants.total_size = fabs(n * query->offset) + fabs(query->sum);
	constants.offset_size = fabs(query->offset);
	constants.base = query->base;
	constants.epsilon = query->epsilon;
	constants.inner_max = GENIE_VALUE_INNER_MAX - query->reach;
	return constants;
}

#endif							/* GENIE_VALUE_CONSTANTS_H */

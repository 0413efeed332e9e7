/*
 * genie_value_shape.h
 *	  What the values of an index, or of a segment, are like.
 */
#ifndef GENIE_VALUE_SHAPE_H
#define GENIE_VALUE_SHAPE_H

#include "genie_vector.h"

typedef struct GenieValueShape
{
	GenieMetric metric;			/* 0: there are none */
	uint32_t	n_dimensions;	/* of vectors; bits */

	/*
	 * What is subtracted from a vector before it becomes a record, finite, n_dimensions; NULL: zeros.  For queries and
	 * records only: none is known of a segment, whose records were made with that of its index.
	 */
	const float *centre;
} GenieValueShape;

static inline bool
genie_value_shape_equal(GenieValueShape a, GenieValueShape b)
{
	return a.metric == b.metric && a.n_dimensions == b.n_dimensions;
}

#endif							/* GENIE_VALUE_SHAPE_H */

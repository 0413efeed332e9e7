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

	/*
	 * L1, pivots: what is left lies in offset .. offset + 255 step, mostly, and codes are of this range.  step is
	 * finite and above 0, or, of L1, 0: each record has a range of its own, and nothing is known of queries
	 * (genie_value_scan.h).  Other metrics have 0.  Of a segment neither is known.
	 */
	float		offset;
	float		step;
	bool		own_ranges;		/* L1: a record may have one of its own where that says much more of its vector */
	double		tolerance;		/* pivots: how far distances may be wrong, relatively */
} GenieValueShape;

static inline bool
genie_value_shape_equal(GenieValueShape a, GenieValueShape b)
{
	return a.metric == b.metric && a.n_dimensions == b.n_dimensions;
}

#endif							/* GENIE_VALUE_SHAPE_H */

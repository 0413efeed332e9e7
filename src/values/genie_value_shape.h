/*
 * genie_value_shape.h
 *	  What the values of an index, or of a segment, are like.
 */
#ifndef GENIE_VALUE_SHAPE_H
#define GENIE_VALUE_SHAPE_H

#include "genie_vector.h"

#define GENIE_VALUE_PIVOT_BYTES 2	/* of the code of a distance to a pivot, a uint16_t */
#define GENIE_VALUE_PIVOT_MAX 65535

/*
 * L1: a record's code is of one dimension of vectors, or of a part of one that is wider than the range.  A dimension's
 * parts stand side by side, counted from 0.
 */
typedef struct GenieValuePart
{
	uint16_t	dimension;
	uint16_t	part;
} GenieValuePart;

typedef struct GenieValueShape
{
	GenieMetric metric;			/* 0: there are none */
	/* Of records: of vectors, unless there are parts; bits; codes of a text; bytes of distances to pivots, 2 each. */
	uint32_t	n_dimensions;

	/*
	 * What is subtracted from a vector before it becomes a record, finite, an element of it each; NULL: zeros.  For
	 * queries and records only: none is known of a segment, whose records were made with that of its index.
	 */
	const float *centre;

	/*
	 * L1, pivots: what is left lies in offset .. offset + 255 step (pivots: 65535 step), mostly, and codes are of this
	 * range.  step is finite and above 0, or, of L1, 0: each record has a range of its own, and nothing is known of
	 * queries (genie_value_scan.h).  Other metrics have 0.  Of a segment neither is known.
	 */
	float		offset;
	float		step;
	bool		own_ranges;		/* L1: a record may have one of its own where that says much more of its vector */
	const GenieValuePart *parts;	/* L1: n_dimensions; NULL: each dimension is one.  Unknown of a segment, too. */
	double		tolerance;		/* pivots: how far distances may be wrong, relatively */
} GenieValueShape;

/* Elements of a vector. */
static inline uint32_t
genie_value_shape_elements(GenieValueShape shape)
{
	if (shape.metric == GENIE_METRIC_PIVOTS)
		return shape.n_dimensions / GENIE_VALUE_PIVOT_BYTES;
	return shape.parts == NULL || shape.n_dimensions == 0 ? shape.n_dimensions :
		shape.parts[shape.n_dimensions - 1].dimension + 1u;
}

static inline bool
genie_value_shape_equal(GenieValueShape a, GenieValueShape b)
{
	return a.metric == b.metric && a.n_dimensions == b.n_dimensions;
}

#endif							/* GENIE_VALUE_SHAPE_H */

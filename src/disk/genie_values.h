/*
 * genie_values.h
 *	  The section VALUES of a segment: the quantized vector of each object (values/genie_quantized.h), or its bits
 *	  (values/genie_value_bits.h), or where in their bins its attributes lie (values/genie_value_scalars.h).
 *
 * Records of one length lie one behind the other, in the order of the objects; that of an object which is NULL is
 * unknown.  The section's parameters are the metric by which they were quantized and the number of dimensions.  A
 * segment without values has parameters of 0 and no bytes.  Of an approximate class, segments with and without them may
 * lie side by side (the index's parameter `values`), and where both were merged, objects of the latter are unknown.
 *
 * What an object's value is never changes, so a bound that follows from its record holds whatever happened to the row.
 */
#ifndef GENIE_VALUES_H
#define GENIE_VALUES_H

#include "genie_segment.h"
#include "genie_value_record.h"

/* Bytes of a record; 0: there are none. */
static inline Size
genie_value_bytes(GenieValueShape shape)
{
	return shape.metric == 0 ? 0 : genie_value_record_bytes(shape.metric, shape.n_dimensions);
}

extern GenieValueShape genie_values_shape(const GenieSegment *segment);

/* The metric by which scans rank objects, if values in shared memory are wanted for that; 0: there is none. */
static inline GenieMetric
genie_values_metric(const GenieSegment *segment)
{
	GenieMetric metric = genie_values_shape(segment).metric;

	return metric == GENIE_METRIC_SCALARS ? (GenieMetric) 0 : metric;
}

/* How many scalars an object has; 0: values are no scalars. */
static inline uint32
genie_values_scalars(const GenieSegment *segment)
{
	GenieValueShape shape = genie_values_shape(segment);

	return shape.metric == GENIE_METRIC_SCALARS ? shape.n_dimensions : 0;
}

/* Has the segment objects, not all of them NULL, but no values? */
extern bool genie_values_missing(const GenieSegment *segment);

/* Declares the records that are going to be written. */
extern void genie_values_begin(GenieSegmentWriter *writer, GenieValueShape shape);

/* Is the section as long as its parameters say, which are possible? */
extern bool genie_values_valid(const GenieSegment *segment);

#endif							/* GENIE_VALUES_H */

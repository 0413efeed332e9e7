/*
 * genie_rabitq.h
 *	  Vectors with a bit a dimension, and lower bounds of distances by them that hold with great likelihood (RaBitQ: Gao
 *	  and Long, SIGMOD 2024).
 *
 * A vector v, less the centre, is rotated at random, the same for all, and of each element the sign is kept: x, of
 * elements +-1 / sqrt(n).  No sign knows which way a query lies, so with f = <v, x> / |v|, which is near 0.8,
 *
 *		<v, q>	=  |v| / f  (<x, q> + error),		|error|  of about  sqrt(1 - f^2) |q| / sqrt(n - 1)
 *
 * and the error has the mean 0.  So there is a bound of the distance of a query q: with v' = |v| / f x,
 *
 *		|q - v|^2  >=  |q|^2 + |v|^2 - 2 <v', q> - 2 epsilon |q| |v| sqrt((1 - f^2) / (f^2 (n - 1)))
 *
 * for all but a few: with an epsilon of 1.9, a row in thirty may be nearer than its bound.  With sqrt(n - 1) or more it
 * holds for all (Cauchy, Schwarz).  Which vectors there are does not matter: the chance is in the rotation.
 *
 * Metrics of such values are of their own: those of GenieMetric that end with RABITQ.  Cosine: vectors have length 1
 * before the centre is taken away, and their squared distance is twice the cosine's.  Inner products: of v' and the
 * query, to which the centre's product is added.
 *
 * The rotation is four times a change of signs and a Hadamard transform, of the first and of the last elements in turn,
 * as many as the largest power of two allows.  It takes n log n steps, and rounds in the same way everywhere.
 */
#ifndef GENIE_RABITQ_H
#define GENIE_RABITQ_H

#include "genie_quantized.h"
#include "genie_quantized_bound.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_RABITQ_UNIT	128 /* dimensions: records and queries are filled up with zeros to a multiple */
#define GENIE_RABITQ_DIMENSIONS_MAX 65535
#define GENIE_RABITQ_EPSILON 1.9	/* as in the paper */

/* relative to lengths: more than what the rotation rounds, and what becomes a float */
#define GENIE_RABITQ_ROUNDING 0x1p-16

GENIE_QUANTIZED_FUNCTION bool
genie_rabitq_serves(GenieMetric metric)
{
	return metric >= GENIE_METRIC_L2_RABITQ && metric <= GENIE_METRIC_INNER_RABITQ;
}

/* The metric that distances are measured by, of any values. */
GENIE_QUANTIZED_FUNCTION GenieMetric
genie_rabitq_measured(GenieMetric metric)
{
	return metric == GENIE_METRIC_L2_RABITQ ? GENIE_METRIC_L2 :
		metric == GENIE_METRIC_COSINE_RABITQ ? GENIE_METRIC_COSINE :
		metric == GENIE_METRIC_INNER_RABITQ ? GENIE_METRIC_INNER : metric;
}

/* The one of values with a bit a dimension; 0: there are none. */
static inline GenieMetric
genie_rabitq_metric(GenieMetric measured)
{
	return measured == GENIE_METRIC_L2 ? GENIE_METRIC_L2_RABITQ :
		measured == GENIE_METRIC_COSINE ? GENIE_METRIC_COSINE_RABITQ :
		measured == GENIE_METRIC_INNER ? GENIE_METRIC_INNER_RABITQ : (GenieMetric) 0;
}

/*
 * A record is a GenieQuantized and bits, eight a byte, the first the lowest.  Of its header, other numbers are kept:
 *
 *		offset		|v|
 *		scale		|v| / (f sqrt(n)), an element of v'
 *		error		|v| sqrt((1 - f^2) / (f^2 (n - 1))), of a query of length 1; infinite: nothing is known
 *		squares		how many bits are 1
 */
static inline uint32_t
genie_rabitq_elements(uint32_t n_dimensions)
{
	return (n_dimensions + GENIE_RABITQ_UNIT - 1) / GENIE_RABITQ_UNIT * GENIE_RABITQ_UNIT;
}

/* Of so many errors, a bound holds for all. */
static inline double
genie_rabitq_all(uint32_t n_dimensions)
{
	return sqrt(n_dimensions);
}

/* Bytes of a record. */
static inline size_t
genie_rabitq_bytes(uint32_t n_dimensions)
{
	return sizeof(GenieQuantized) + genie_rabitq_elements(n_dimensions) / 8;
}

/* Writes a vector's record, aligned to GENIE_QUANTIZED_ALIGN bytes. */
extern void genie_rabitq(GenieValueShape shape, GenieVector vector, void *record);

extern void genie_rabitq_unknown(uint32_t n_dimensions, void *record);

/* Is that a record of which something is known? */
extern bool genie_rabitq_valid(uint32_t n_dimensions, const void *record);

/*
 * Writes a vector's elements, rotated, less the shape's centre.  Some are not finite if they are too large.
 */
extern void genie_rabitq_rotate(GenieValueShape shape, GenieVector vector, float *elements);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_RABITQ_H */

/*
 * genie_vector_distance.h
 *	  Arrays of real and double precision as vectors.
 */
#ifndef GENIE_VECTOR_DISTANCE_H
#define GENIE_VECTOR_DISTANCE_H

#include "fmgr.h"
#include "genie_vector.h"
#include "utils/array.h"

/*
 * The elements of a real[] or float8[], in place.  The array is as PG_DETOAST_DATUM_PACKED returns it: its header may
 * be short and its elements unaligned.  Errors: more than one dimension, NULL elements.
 */
extern GenieVector genie_vector_of_array(const struct varlena *array);

/* Vectors of one length, one after the other. */
typedef struct GenieVectors
{
	const void *elements;		/* aligned */
	uint32		n;
	uint32		n_dimensions;
	bool		is_double;
} GenieVectors;

/*
 * The rows of a real[] or float8[] of two dimensions.  An array of one dimension is one vector, and an empty array has
 * no vectors.  Errors: more dimensions, NULL elements.
 */
extern GenieVectors genie_vectors_of_queries(ArrayType *array);

/* The metric of a function, if it is one of genie's own distances of arrays; 0: it is not. */
extern GenieMetric genie_vector_metric(const FmgrInfo *function);

/* Is it genie's own Hamming distance? */
extern bool genie_distance_is_hamming(const FmgrInfo *function);

/* The metric of a function, if it is one of genie's own of the condition x @& ball, of arrays or bits; 0: it is not. */
extern GenieMetric genie_vector_ball_metric(const FmgrInfo *function);

/* Writes the elements of a vector of floats as doubles; to need not be aligned. */
extern void genie_vector_widen(GenieVector vector, void *to);

/* Error: they differ in length. */
extern void genie_vector_check_lengths(GenieVector a, GenieVector b);

/* Error: an element is NaN or infinite. */
extern void genie_vector_check_finite(GenieVector vector);

#endif							/* GENIE_VECTOR_DISTANCE_H */

/*
 * genie_vector_centre.h
 *	  The centre of an index's vectors (values/genie_value_shape.h), which operator classes of vectors learn.
 */
#ifndef GENIE_VECTOR_CENTRE_H
#define GENIE_VECTOR_CENTRE_H

#include "genie_lsh_class.h"
#include "genie_value_shape.h"

/*
 * The parameters of a class, as an index keeps them, palloc'd: with the centre of the sample's vectors, of values of
 * that metric (0: there are none), if values are finer by it.
 */
extern bytea *genie_vector_centre_learn(const GenieLshClassParameters *parameters, GenieMetric metric,
										const GenieSample *sample);

/* The centre that parameters have, in them; NULL: none. */
extern const float *genie_vector_centre(const bytea *parameters);

#endif							/* GENIE_VECTOR_CENTRE_H */

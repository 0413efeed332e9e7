/*
 * genie_vector_learn.h
 *	  What an index learns of where its vectors are, for their records (values/genie_value_shape.h): a centre, and by L1
 *	  a range, and which dimensions are wider.
 */
#ifndef GENIE_VECTOR_LEARN_H
#define GENIE_VECTOR_LEARN_H

#include "genie_lsh_class.h"
#include "genie_value_shape.h"

/*
 * The parameters of a class, as an index keeps them, palloc'd: with what is learned from the sample's vectors for
 * values of that metric (0: there are none).  It stays as long as the records that are made by it, so it is in the
 * part that training again leaves alone.
 */
extern bytea *genie_vector_learn(const GenieLshClassParameters *parameters, GenieMetric metric,
								 const GenieSample *sample);

/* The shape of values, by all that is in the parameters, into which it points. */
extern GenieValueShape genie_vector_learned(const bytea *parameters, GenieMetric metric, uint32 n_dimensions);

/* Have parameters that say n_dimensions this length?  Behind the first GENIE_PARAMETERS_MAX bytes may be more. */
extern bool genie_vector_learned_valid(const bytea *parameters, uint32 n_dimensions);

#endif							/* GENIE_VECTOR_LEARN_H */

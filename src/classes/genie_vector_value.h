/*
 * genie_vector_value.h
 *	  Values of the operator classes of vectors: quantized vectors.
 */
#ifndef GENIE_VECTOR_VALUE_H
#define GENIE_VECTOR_VALUE_H

#include "genie_values.h"
#include "genie_vector.h"

/* What values of a class with these parameters are like, if segments have them. */
extern GenieValueShape genie_vector_value_shape(const bytea *parameters);

/* Writes a vector's record, aligned to GENIE_QUANTIZED_ALIGN bytes. */
extern void genie_vector_value_record(GenieValueShape shape, GenieVector vector, void *record);

#endif							/* GENIE_VECTOR_VALUE_H */

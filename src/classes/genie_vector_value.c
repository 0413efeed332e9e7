/*
 * genie_vector_value.c
 *	  Values of the operator classes of vectors (genie_opclass.h): quantized vectors.
 *
 * A row's value is its quantized vector (math/genie_quantized.h), a byte a dimension, from which lower bounds of its
 * distance follow.  Exact classes scan them; approximate ones pass over candidates that are too far.  It is made of the
 * vector as it is, whatever an approximate class hashes: by the metric of the distance that the class orders by.
 */
#include "postgres.h"

#include "genie_lsh_class.h"
#include "genie_opclass.h"
#include "genie_vector_value.h"

PG_FUNCTION_INFO_V1(genie_vector_value);

/* Of the distance that a class with these parameters orders by; 0: its values are no vectors. */
static GenieMetric
metric_of(const GenieLshClassParameters *parameters)
{
	if (parameters->normalised != 0)
		return GENIE_METRIC_COSINE;
	switch (parameters->functions.family)
	{
		case GENIE_LSH_NONE:
			return (GenieMetric) parameters->functions.width;
		case GENIE_LSH_L2:
			return GENIE_METRIC_L2;
		case GENIE_LSH_L1:
		case GENIE_LSH_LAPLACIAN:
			return GENIE_METRIC_L1;
		case GENIE_LSH_COSINE:
			return GENIE_METRIC_COSINE;
		default:
			return 0;
	}
}

GenieValueShape
genie_vector_value_shape(const bytea *parameters)
{
	GenieLshClassParameters class = genie_lsh_class_parameters(parameters);

	return (GenieValueShape) {metric_of(&class), class.functions.n_dimensions};
}

void
genie_vector_value_record(GenieValueShape shape, GenieVector vector, void *record)
{
	if (vector.n == shape.n_dimensions)
		genie_quantize(shape.metric, vector, record);
	else
		genie_quantize_unknown(shape.n_dimensions, record);
}

/* Support function 8; the caller frees what it allocates. */
Datum
genie_vector_value(PG_FUNCTION_ARGS)
{
	GenieValueCall *call = (GenieValueCall *) PG_GETARG_POINTER(0);
	GenieValueShape shape = genie_vector_value_shape(call->parameters);

	call->metric = shape.metric;
	call->n_dimensions = shape.n_dimensions;
	if (call->raw != NULL)
	{
		GenieVector vector;

		genie_lsh_raw_elements(call->raw, genie_lsh_raw_is_double(call->raw), &vector);
		genie_vector_value_record(shape, vector, call->record);
	}
	PG_RETURN_VOID();
}

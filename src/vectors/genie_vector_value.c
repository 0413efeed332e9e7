/*
 * genie_vector_value.c
 *	  Values of the operator classes of vectors (genie_opclass.h): quantized vectors, bits, or short texts.
 *
 * A row's value is its quantized vector (values/genie_quantized.h), a byte a dimension, from which lower bounds of its
 * distance follow.  Exact classes scan them; approximate ones pass over candidates that are too far.  It is made of the
 * vector as it is, whatever an approximate class hashes: by the metric of the distance that the class orders by.  That
 * of bits (values/genie_value_bits.h) is the bits themselves, that of a text (values/genie_value_string.h) its first
 * characters.
 */
#include "postgres.h"

#include "genie_exact_text.h"
#include "genie_lsh_class.h"
#include "genie_lsh_signature.h"
#include "genie_opclass.h"
#include "genie_pivots.h"
#include "genie_vector_learn.h"
#include "genie_vector_value.h"

PG_FUNCTION_INFO_V1(genie_vector_value);

StaticAssertDecl(GENIE_LSH_DIMENSIONS_MAX <= GENIE_RABITQ_DIMENSIONS_MAX, "all vectors can be rotated");

GenieMetric
genie_vector_value_metric(const GenieLshClassParameters *parameters)
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

	GenieMetric metric = genie_vector_value_metric(&class);
	GenieValueShape shape;

	if (metric == GENIE_METRIC_PIVOTS)
		return genie_pivots_shape(parameters);
	shape = genie_vector_learned(parameters, metric, class.functions.n_dimensions);
	/* rows are signed from records when an approximate index learns again */
	shape.own_ranges = class.functions.family != GENIE_LSH_NONE;
	return shape;
}

bool
genie_vector_value_raw(GenieValueShape shape, const GenieRaw *raw, void *record)
{
	bool		same = raw->size == (int32) genie_value_shape_elements(shape);
	GenieVector vector;

	if (shape.metric == GENIE_METRIC_EDIT)
	{
		genie_value_record(shape, genie_exact_text_raw(raw), record);
		return true;
	}
	if (!same || shape.metric == GENIE_METRIC_HAMMING)
		genie_value_record_unknown(shape.metric, shape.n_dimensions, record);
	if (!same)
		return false;
	if (shape.metric == GENIE_METRIC_HAMMING)
		genie_lsh_raw_bytes(raw, false, record, (shape.n_dimensions + BITS_PER_BYTE - 1) / BITS_PER_BYTE);
	else
	{
		genie_lsh_raw_elements(raw, genie_lsh_raw_is_double(raw), &vector);
		genie_value_record(shape, vector, record);
		pfree(unconstify(void *, vector.elements));
	}
	return true;
}

GenieValueQuery *
genie_vector_value_query(const GenieVectorType *type, GenieValueShape shape, Datum operand)
{
	GenieVector vector = type->elements(operand);
	uint32		expected = genie_value_shape_elements(shape);
	GenieValueQuery *query;

	if (!type->is_symbols)
		genie_lsh_check_vector(vector);
	if (shape.metric == GENIE_METRIC_EDIT && expected == 0)
		shape.n_dimensions = GENIE_VALUE_STRING_MAX;
	if (shape.metric == GENIE_METRIC_EDIT || vector.n == expected)
		expected = 0;
	else
		shape = (GenieValueShape) {.metric = shape.metric, .n_dimensions = vector.n};
	query = palloc(genie_value_query_bytes(shape.metric, shape.n_dimensions));
	genie_value_query(shape, vector, query);
	query->expected = expected;
	return query;
}

bool
genie_vector_value_fits(GenieValueShape shape, const GenieValueQuery *query)
{
	return query->expected == 0 && query->n_dimensions == shape.n_dimensions;
}

void
genie_vector_value_check(GenieValueShape shape, const GenieValueQuery *query)
{
	if (!genie_vector_value_fits(shape, query))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 shape.metric == GENIE_METRIC_HAMMING ?
				 errmsg("bit string differs in length from those in the index") :
				 errmsg("vector differs in length from those in the index"),
				 errdetail("Its length is %u, theirs is %u.", query->n_dimensions,
						   query->expected != 0 ? query->expected : shape.n_dimensions)));
}

/* Support function 8. */
Datum
genie_vector_value(PG_FUNCTION_ARGS)
{
	GenieValueCall *call = (GenieValueCall *) PG_GETARG_POINTER(0);
	GenieValueShape shape = genie_vector_value_shape(call->parameters);

	call->metric = shape.metric;
	call->n_dimensions = shape.n_dimensions;
	if (call->raw != NULL)
		(void) genie_vector_value_raw(shape, call->raw, call->record);
	if (call->keywords != NULL)
	{
		uint32		n_elements = genie_value_shape_elements(shape);
		float	   *elements = palloc(n_elements * sizeof(float));

		genie_quantized_vector(shape, call->record, elements);
		genie_lsh_vector_collect((GenieVector) {.elements = elements, .n = n_elements}, call->keywords);
	}
	PG_RETURN_VOID();
}

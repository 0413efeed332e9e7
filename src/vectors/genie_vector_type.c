/*
 * genie_vector_type.c
 *	  The types whose values are vectors (genie_vector_type.h).
 *
 * A class is known by its decompose function.  A class of another extension may have vectors too, but its strategies
 * and parameters need not mean what they mean in genie's own classes.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_ball.h"
#include "genie_edit_distance.h"
#include "genie_exact_bits.h"
#include "genie_exact_text.h"
#include "genie_lsh_class.h"
#include "genie_opclass.h"
#include "genie_pgvector.h"
#include "genie_pivots.h"
#include "genie_vector_distance.h"
#include "genie_vector_type.h"

static GenieVector
elements_of_array(Datum value)
{
	return genie_vector_of_array(PG_DETOAST_DATUM_PACKED(value));
}

static Datum
make_array(const void *elements, uint32 n, Oid element_type, Size element_bytes)
{
	Size		size = ARR_OVERHEAD_NONULLS(1) + n * element_bytes;
	ArrayType  *array = palloc(size);

	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = element_type;
	ARR_DIMS(array)[0] = (int) n;
	ARR_LBOUND(array)[0] = 1;
	memcpy(ARR_DATA_PTR(array), elements, n * element_bytes);
	return PointerGetDatum(array);
}

static Datum
make_float4_array(const void *elements, uint32 n)
{
	return make_array(elements, n, FLOAT4OID, sizeof(float4));
}

static Datum
make_float8_array(const void *elements, uint32 n)
{
	return make_array(elements, n, FLOAT8OID, sizeof(float8));
}

static GenieMetric
metric_of_array(const FmgrInfo *distance, StrategyNumber strategy)
{
	return genie_vector_metric(distance);
}

/* Only genie_enable_pgvector() makes the classes, so that a strategy is the operator that it took from pgvector. */
static GenieMetric
metric_of_pgvector(const FmgrInfo *distance, StrategyNumber strategy)
{
	return strategy == GENIE_L2_STRATEGY ? GENIE_METRIC_L2 :
		strategy == GENIE_L1_STRATEGY ? GENIE_METRIC_L1 :
		strategy == GENIE_COSINE_STRATEGY ? GENIE_METRIC_COSINE :
		strategy == GENIE_INNER_STRATEGY ? GENIE_METRIC_INNER : 0;
}

static GenieMetric
metric_of_bits(const FmgrInfo *distance, StrategyNumber strategy)
{
	return genie_distance_is_hamming(distance) ? GENIE_METRIC_HAMMING : 0;
}

static GenieMetric
metric_of_pgvector_bits(const FmgrInfo *distance, StrategyNumber strategy)
{
	return strategy == GENIE_HAMMING_STRATEGY ? GENIE_METRIC_HAMMING : 0;
}

static GenieMetric
metric_of_text(const FmgrInfo *distance, StrategyNumber strategy)
{
	return distance->fn_addr == genie_edit_distance_texts ? GENIE_METRIC_EDIT : 0;
}

static GenieMetric
metric_of_text_ball(const FmgrInfo *matches)
{
	return GENIE_METRIC_EDIT;
}

/* Only genie_create_metric() makes the classes, so that a strategy is the operator of the distance function. */
static GenieMetric
metric_of_class(const FmgrInfo *distance, StrategyNumber strategy)
{
	return strategy == GENIE_METRIC_STRATEGY ? GENIE_METRIC_PIVOTS : 0;
}

static GenieMetric
metric_of_class_ball(const FmgrInfo *matches)
{
	return GENIE_METRIC_PIVOTS;
}

static const GenieVectorType float4_array = {
	.array = FLOAT4ARRAYOID, .elements = elements_of_array, .make = make_float4_array, .metric = metric_of_array,
	.ball_metric = genie_vector_ball_metric, .ball = genie_ball_float8_parts
};
static const GenieVectorType float8_array = {
	.array = FLOAT8ARRAYOID, .is_double = true, .elements = elements_of_array, .make = make_float8_array,
	.metric = metric_of_array, .ball_metric = genie_vector_ball_metric, .ball = genie_ball_float8_parts
};
static const GenieVectorType pgvector = {
	.array = FLOAT4ARRAYOID, .elements = genie_pgvector_elements, .make = genie_pgvector_make,
	.metric = metric_of_pgvector
};
static const GenieVectorType pgvector_half = {
	.array = FLOAT4ARRAYOID, .elements = genie_pgvector_half_elements, .make = genie_pgvector_half_make,
	.metric = metric_of_pgvector
};
static const GenieVectorType bits = {
	.is_symbols = true, .elements = genie_exact_bits_elements, .metric = metric_of_bits,
	.ball_metric = genie_vector_ball_metric, .ball = genie_ball_float8_parts
};
static const GenieVectorType pgvector_bits = {
	.is_symbols = true, .elements = genie_exact_bits_elements, .metric = metric_of_pgvector_bits
};
static const GenieVectorType texts = {
	.is_symbols = true, .elements = genie_exact_text_elements, .metric = metric_of_text,
	.ball_metric = metric_of_text_ball, .ball = genie_exact_text_ball
};
static const GenieVectorType metric = {
	.is_double = true, .is_metric = true, .metric = metric_of_class,
	.ball_metric = metric_of_class_ball, .ball = genie_ball_float8_parts
};

const GenieVectorType *
genie_vector_type_of_array(Oid type)
{
	return type == FLOAT4ARRAYOID ? &float4_array : type == FLOAT8ARRAYOID ? &float8_array : NULL;
}

const GenieVectorType *
genie_vector_type_of_class(Relation index)
{
	if (genie_pgvector_index(index))
		return &pgvector;
	if (genie_pgvector_half_index(index))
		return &pgvector_half;
	if (genie_exact_bits_index(index))
		return &bits;
	if (genie_pgvector_bits_index(index))
		return &pgvector_bits;
	if (genie_exact_text_index(index))
		return &texts;
	if (genie_pivots_index(index))
		return &metric;
	return genie_lsh_class_of_vectors(index) ? genie_vector_type_of_array(index->rd_opcintype[0]) : NULL;
}

Datum
genie_vector_type_raw_value(const GenieVectorType *type, const GenieRaw *raw)
{
	GenieVector vector;

	genie_lsh_raw_elements(raw, type->is_double, &vector);
	return type->make(vector.elements, vector.n);
}

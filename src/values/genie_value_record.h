/*
 * genie_value_record.h
 *	  The record of a value, by its metric: a quantized vector (genie_quantized.h, genie_rabitq.h), bits
 *	  (genie_value_bits.h), a short text (genie_value_string.h), or scalars (genie_value_scalars.h).
 */
#ifndef GENIE_VALUE_RECORD_H
#define GENIE_VALUE_RECORD_H

#include "genie_quantized.h"
#include "genie_rabitq.h"
#include "genie_value_bits.h"
#include "genie_value_scalars.h"
#include "genie_value_string.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes from one record to the next. */
static inline size_t
genie_value_record_bytes(GenieMetric metric, uint32_t n_dimensions)
{
	return metric == GENIE_METRIC_HAMMING ? genie_value_bits_bytes(n_dimensions) :
		metric == GENIE_METRIC_EDIT ? genie_value_string_bytes(n_dimensions) :
		metric == GENIE_METRIC_SCALARS ? genie_value_scalars_bytes(n_dimensions) :
		genie_rabitq_serves(metric) ? genie_rabitq_bytes(n_dimensions) : genie_quantized_bytes(n_dimensions);
}

/* Writes a vector's record, aligned to GENIE_QUANTIZED_ALIGN bytes. */
static inline void
genie_value_record(GenieValueShape shape, GenieVector vector, void *record)
{
	if (shape.metric == GENIE_METRIC_HAMMING)
		genie_value_bits(vector, record);
	else if (shape.metric == GENIE_METRIC_EDIT)
		genie_value_string(shape.n_dimensions, vector, record);
	else if (genie_rabitq_serves(shape.metric))
		genie_rabitq(shape, vector, record);
	else
		genie_quantize(shape, vector, record);
}

/* The record of an object that has no value.  Of bits it is all zeros, which no scan may ask for. */
static inline void
genie_value_record_unknown(GenieMetric metric, uint32_t n_dimensions, void *record)
{
	if (metric == GENIE_METRIC_HAMMING)
		memset(record, 0, genie_value_bits_bytes(n_dimensions));
	else if (metric == GENIE_METRIC_EDIT)
		genie_value_string_unknown(n_dimensions, record);
	else if (metric == GENIE_METRIC_SCALARS)
		genie_value_scalars_unknown(n_dimensions, record);
	else if (genie_rabitq_serves(metric))
		genie_rabitq_unknown(n_dimensions, record);
	else
		genie_quantize_unknown(n_dimensions, record);
}

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VALUE_RECORD_H */

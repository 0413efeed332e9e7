/*
 * genie_value_order.c
 *	  Ranking by values (genie_value_order.h).
 *
 * Index scans and batches rank by values where the operator class is exact, and scans of approximate classes do when
 * rows are wanted in exact order.  What they share is here: how a query's vector is prepared, and what is checked
 * before a segment is asked.
 *
 * A segment of an exact class has values of its metric, unless all of its objects are NULL.  Another metric, or
 * another length than the first rows had, is damage or an error of the query.  A segment of an approximate class may
 * have none (the option values).
 */
#include "postgres.h"

#include <math.h>

#include "genie_meta.h"
#include "genie_pivots.h"
#include "genie_rerank.h"
#include "genie_value_order.h"
#include "genie_vector_value.h"

double		genie_rabitq_epsilon = GENIE_RABITQ_EPSILON;

GenieMetric
genie_value_order_metric(GenieMetric measured, const bytea *parameters)
{
	GenieMetric metric = genie_rabitq_metric(measured);

	return parameters != NULL && metric != 0 && genie_vector_value_shape(parameters).metric == metric ?
		metric : measured;
}

GenieValueShape
genie_value_order_shape(GenieMetric metric, const bytea *parameters)
{
	GenieValueShape shape = {.metric = metric};
	GenieValueShape learned = parameters == NULL ? shape : genie_vector_value_shape(parameters);

	return learned.metric == metric ? learned : shape;
}

/* The query of a value, which is any: its distances to the pivots, or nothing known if there are none. */
static GenieValueQuery *
genie_value_order_by_pivots(Relation index, const bytea *parameters, GenieValueShape learned, Datum operand)
{
	static const double unknown = NAN;
	GenieVector vector = {&unknown, 1, true};
	GenieValueShape shape = {.metric = GENIE_METRIC_PIVOTS, .n_dimensions = GENIE_VALUE_PIVOT_BYTES, .step = 1};
	GenieValueQuery *query;

	if (parameters != NULL)
	{
		shape = learned;
		vector = genie_pivots_distances(index, parameters, operand);
	}
	query = palloc(genie_value_query_bytes(shape.metric, shape.n_dimensions));
	genie_value_query(shape, vector, query);
	return query;
}

GenieValueQuery *
genie_value_order_query(const GenieVectorType *type, Relation index, const bytea *parameters, GenieValueShape shape,
						Datum operand)
{
	GenieValueQuery *query;

	if (type->is_metric)
		return genie_value_order_by_pivots(index, parameters, shape, operand);
	query = genie_vector_value_query(type, shape, operand);
	query->epsilon = (float) (genie_strict_order ? genie_rabitq_all(query->n_dimensions) : genie_rabitq_epsilon);
	return query;
}

bool
genie_value_order_record(Relation index, const bytea *parameters, GenieValueShape shape, const GenieRaw *raw,
						 void *record)
{
	if (shape.metric != GENIE_METRIC_PIVOTS)
		return genie_vector_value_raw(shape, raw, record);
	if (parameters == NULL)
		return false;
	genie_pivots_record(index, parameters, raw, record);
	return true;
}

void
genie_value_order_begin(GenieValueScan *values, Relation index, const GenieVectorType *type, GenieMetric metric,
						const bytea *parameters, Datum operand)
{
	Size		record;

	values->index = index;
	values->parameters = parameters;
	values->shape = genie_value_order_shape(metric, parameters);
	values->query = genie_value_order_query(type, index, parameters, values->shape, operand);
	if (!genie_vector_value_fits(values->shape, values->query))
		values->shape = (GenieValueShape) {.metric = metric, .n_dimensions = values->query->n_dimensions};
	record = genie_value_record_bytes(metric, values->query->n_dimensions);
	values->record = (void *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, palloc(record + GENIE_QUANTIZED_ALIGN));
}

bool
genie_value_order_find(GenieSource *source, Relation index, const GenieMetaData *meta,
					   GenieValueQuery *const *queries, uint32 n_queries)
{
	GenieValueShape shape = genie_values_shape(source->segment);

	for (uint32 i = 0; i < n_queries; i++)
	{
		bool		has_length = queries[i]->metric != GENIE_METRIC_EDIT && queries[i]->metric != GENIE_METRIC_PIVOTS;

		/* texts may be of any length, and all values have as many distances to pivots */
		if (has_length)
			genie_vector_value_check(shape, queries[i]);
		else if (!genie_vector_value_fits(shape, queries[i]))
			genie_report_corrupt(index, source->segment->entry.root, "values of another length");
		if (shape.metric != (GenieMetric) queries[i]->metric)
			genie_report_corrupt(index, source->segment->entry.root, "values of another metric");
	}
	return genie_source_find_values(source, index, meta);
}

bool
genie_value_order_find_all(const GenieValueScan *values, GenieSource **sources, Relation index,
						   const GenieMetaData *meta)
{
	for (uint32 i = 0; i < meta->n_segments; i++)
		if (genie_values_shape(sources[i]->segment).metric != 0 &&
			!genie_value_order_find(sources[i], index, meta, &values->query, 1))
			return false;
	return true;
}

bool
genie_value_order_possible(const GenieQuantizer *quantizer, GenieSource *const *sources, uint32 n_sources)
{
	for (uint32 i = 0; i < n_sources; i++)
	{
		const GenieSegment *segment = sources[i]->segment;

		if (genie_values_shape(segment).metric == 0 ? genie_values_missing(segment) :
			!genie_value_shape_equal(genie_values_shape(segment), quantizer->shape))
			return false;
	}
	return true;
}

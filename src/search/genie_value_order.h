/*
 * genie_value_order.h
 *	  Ranking by values (genie_value_scan.h): a scan's query, and whether segments can be asked for it.
 */
#ifndef GENIE_VALUE_ORDER_H
#define GENIE_VALUE_ORDER_H

#include "genie_quantizer.h"
#include "genie_stream.h"

/*
 * The setting genie.rabitq_epsilon: how many errors of values with a bit a dimension bounds allow for (genie_rabitq.h).
 * Where genie.strict_order is on, they allow for all.
 */
extern double genie_rabitq_epsilon;

/* The metric of the values that an index has for an operator of that metric; parameters: as below. */
extern GenieMetric genie_value_order_metric(GenieMetric measured, const bytea *parameters);

/*
 * Prepares a scan for the right operand of a distance of that metric, in the current memory context; parameters: what
 * the index has learned, or NULL, as long as values lives.  Errors: those of genie_vector_value_query().
 */
extern void genie_value_order_begin(GenieValueScan *values, Relation index, const GenieVectorType *type,
									GenieMetric metric, const bytea *parameters, Datum operand);

/*
 * A query for values of that shape, palloc'd, from the right operand of a distance; parameters: what the index has
 * learned, or NULL.  Errors: those of genie_vector_value_query(), and of the distance function of a metric.
 */
extern GenieValueQuery *genie_value_order_query(const GenieVectorType *type, Relation index, const bytea *parameters,
												GenieValueShape shape, Datum operand);

/* Writes the record of a pending row's raw keywords.  False: nothing is known of it, or it is of another length. */
extern bool genie_value_order_record(Relation index, const bytea *parameters, GenieValueShape shape,
									 const GenieRaw *raw, void *record);

/* What values of that metric are like in an index that has learned these parameters; NULL: none. */
extern GenieValueShape genie_value_order_shape(GenieMetric metric, const bytea *parameters);

/*
 * Looks for the values of a segment that has some.  They are of the metric; n_queries queries are of their length.
 * Errors: not.  False: stale.
 */
extern bool genie_value_order_find(GenieSource *source, Relation index, const GenieMetaData *meta,
								   GenieValueQuery *const *queries, uint32 n_queries);

/* The same of all segments for a scan. */
extern bool genie_value_order_find_all(const GenieValueScan *values, GenieSource **sources, Relation index,
									   const GenieMetaData *meta);

/* Have all segments of an approximate class such values, but for those whose objects are all NULL? */
extern bool genie_value_order_possible(const GenieQuantizer *quantizer, GenieSource *const *sources, uint32 n_sources);

#endif							/* GENIE_VALUE_ORDER_H */

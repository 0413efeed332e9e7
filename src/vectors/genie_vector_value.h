/*
 * genie_vector_value.h
 *	  Values of the operator classes of vectors: quantized vectors, bits, or short texts; and the queries of exact
 *	  classes.
 */
#ifndef GENIE_VECTOR_VALUE_H
#define GENIE_VECTOR_VALUE_H

#include "genie_lsh_class.h"
#include "genie_value_scan.h"
#include "genie_values.h"
#include "genie_vector.h"
#include "genie_vector_type.h"

/* Of the distance that a class with these parameters orders by; 0: its values are no vectors, bits or texts. */
extern GenieMetric genie_vector_value_metric(const GenieLshClassParameters *parameters);

/* What values of a class with these parameters are like, if segments have them; the centre lies in these. */
extern GenieValueShape genie_vector_value_shape(const bytea *parameters);

/*
 * Writes the record of a raw value, aligned to GENIE_QUANTIZED_ALIGN bytes.  False: the value has another length than
 * vectors, or bit strings, must have, and the record is unknown.
 */
extern bool genie_vector_value_raw(GenieValueShape shape, const GenieRaw *raw, void *record);

/* Are the values of the index's class vectors with a bit a dimension? */
extern bool genie_rabitq_index(Relation index);

/*
 * A query for values of that shape, palloc'd, from the right operand of an exact class's operator.  If this has another
 * length than vectors, or bit strings, must have, the query fits no values of the shape.  Errors: those of the class's
 * values.
 */
extern GenieValueQuery *genie_vector_value_query(const GenieVectorType *type, GenieValueShape shape, Datum operand);

/* Was the query made for values of that shape? */
extern bool genie_vector_value_fits(GenieValueShape shape, const GenieValueQuery *query);

/* Error: it was not, so its vector has another length than those of the values. */
extern void genie_vector_value_check(GenieValueShape shape, const GenieValueQuery *query);

#endif							/* GENIE_VECTOR_VALUE_H */

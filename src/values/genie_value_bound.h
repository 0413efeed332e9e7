/*
 * genie_value_bound.h
 *	  From the sums of a query and a quantized vector to the bound of their distance (genie_value_scan.h), as a template
 *	  by the number: plain C for one record or a register of them, and GPUs.
 *
 * This sequence of operations decides the bits of keys: genie_value_scan.c proves that no bound is above the measure.
 * Each operation is rounded once; so no compiler may fuse a product and a sum.  A file whose numbers are not plain
 * doubles defines
 *
 *	VALUE_FUNCTION		what stands before a function
 *	ValueNumber			the type of one number, or of many at once, with the operators + - * of its own and with doubles
 *	VALUE_SQRT(x)		rounded as IEEE says
 *	VALUE_LARGER(x, y)	x > y ? x : y, so y where one is NaN
 *	VALUE_UPTO(x, y, a, b)	x <= y ? a : b, so b where one is NaN; y is a double, b may be
 */
#ifndef GENIE_VALUE_BOUND_H
#define GENIE_VALUE_BOUND_H

#include <float.h>
#include <math.h>

#include "genie_value_constants.h"

#ifndef VALUE_FUNCTION
#define VALUE_FUNCTION static inline
typedef double ValueNumber;
#define VALUE_SQRT(x) sqrt(x)
#define VALUE_LARGER(x, y) ((x) > (y) ? (x) : (y))
#define VALUE_UPTO(x, y, a, b) ((x) <= (y) ? (a) : (b))
#endif

/* relative to the sum of the sizes of a sum's terms: more than their roundings */
#define GENIE_VALUE_MARGIN 0x1p-48

/* What a record says, and its sums with the query. */
typedef struct ValueTerms
{
	ValueNumber offset;
	ValueNumber scale;
	ValueNumber error;
	ValueNumber squares;		/* L1: beyond */
	ValueNumber products;		/* of the codes of the query and the record; L1: the sum of differences, with a minus;
								 * pivots: the largest */
	ValueNumber codes;			/* the sum of the record's; not of bits */
} ValueTerms;

/* |q' - v'|, no larger but for relative roundings */
VALUE_FUNCTION ValueNumber
genie_value_distance(const GenieValueConstants *query, ValueTerms v)
{
	ValueNumber apart = query->offset - v.offset;
	ValueNumber own = (query->n * apart) * apart + query->squares + (v.scale * v.scale) * v.squares;
	ValueNumber cross = apart * query->sum - v.scale * (apart * v.codes + query->scale * v.products);
	ValueNumber sum = own * (1 - GENIE_VALUE_MARGIN) + (cross + cross);

	return VALUE_SQRT(VALUE_LARGER(sum, 0.0));
}

/* |v'|, no smaller but for relative roundings */
VALUE_FUNCTION ValueNumber
genie_value_length(const GenieValueConstants *query, ValueTerms v)
{
	ValueNumber own = (query->n * v.offset) * v.offset + (v.scale * v.scale) * v.squares;
	ValueNumber cross = (v.offset * v.scale) * v.codes;
	ValueNumber sum = own * (1 + GENIE_VALUE_MARGIN) + (cross + cross);

	return VALUE_SQRT(VALUE_LARGER(sum, 0.0));
}

/* Of the negative inner product. */
VALUE_FUNCTION ValueNumber
genie_value_inner_bound(const GenieValueConstants *query, ValueTerms v)
{
	ValueNumber length = (genie_value_length(query, v) + v.error) * GENIE_QUANTIZED_GROWTH;
	ValueNumber products = query->scale * v.products;
	ValueNumber product = v.offset * query->total + v.scale * (query->offset * v.codes + products);
	ValueNumber size = VALUE_LARGER(v.offset, 0.0 - v.offset) * query->total_size +
		v.scale * (query->offset_size * v.codes + VALUE_LARGER(products, 0.0 - products));
	ValueNumber lengths = length * (query->norm + query->error);
	ValueNumber lost = v.error * query->norm + length * query->error + lengths * query->roundings;
	ValueNumber bound = 0.0 - (product + size * GENIE_VALUE_MARGIN) - lost - query->base;

	bound = VALUE_UPTO(lengths, query->inner_max, bound, -(double) INFINITY);
	return VALUE_LARGER(bound, -(double) INFINITY);
}

/*
 * Of the negative inner product of vectors with a bit a dimension (genie_rabitq.h): offset is the length, scale an
 * element of v', squares the number of ones, and error that of a query of length 1.
 */
VALUE_FUNCTION ValueNumber
genie_value_rabitq_inner_bound(const GenieValueConstants *query, ValueTerms v, ValueNumber product)
{
	ValueNumber length = v.offset * (1 + GENIE_RABITQ_ROUNDING);
	ValueNumber lengths = length * (query->norm + query->error);
	ValueNumber lost = length * query->error + lengths * query->roundings;
	ValueNumber bound = 0.0 - product - lost - query->base;

	bound = VALUE_UPTO(lengths, query->inner_max, bound, -(double) INFINITY);
	bound = VALUE_UPTO(v.error, (double) FLT_MAX, bound, -(double) INFINITY);
	return VALUE_LARGER(bound, -(double) INFINITY);
}

/* Of vectors with a bit a dimension. */
VALUE_FUNCTION ValueNumber
genie_value_rabitq_bound(GenieMetric metric, const GenieValueConstants *query, ValueTerms v)
{
	ValueNumber ones = query->offset * (v.squares + v.squares - query->n);
	ValueNumber products = query->scale * (v.products + v.products);
	ValueNumber product = v.scale * (ones + (products - query->sum)) + (v.error * query->epsilon) * query->norm;
	ValueNumber own = v.offset * v.offset + query->norm * query->norm;
	ValueNumber sum = own * (1 - GENIE_RABITQ_ROUNDING) - (product + product);
	ValueNumber bound;

	if (metric == GENIE_METRIC_INNER_RABITQ)
		return genie_value_rabitq_inner_bound(query, v, product);
	bound = VALUE_SQRT(VALUE_LARGER(sum, 0.0));
	bound = VALUE_LARGER(bound * query->keep - query->error, 0.0);
	bound = VALUE_UPTO(v.error, (double) FLT_MAX, bound, 0.0);
	if (metric == GENIE_METRIC_L2_RABITQ)
		return bound;
	return VALUE_LARGER((bound * bound) * (0.5 - 0x1p-23) - query->cosine_error, 0.0);
}

VALUE_FUNCTION ValueNumber
genie_value_bound(GenieMetric metric, const GenieValueConstants *query, ValueTerms v)
{
	ValueNumber error = v.error + query->error;
	ValueNumber bound;

	if (genie_rabitq_serves(metric))
		return genie_value_rabitq_bound(metric, query, v);
	if (metric == GENIE_METRIC_INNER)
		return genie_value_inner_bound(query, v);
	if (metric == GENIE_METRIC_L1)
	{
		ValueNumber minus = 0.0 - v.squares;	/* above 0: of a range of its own */
		ValueNumber beyond = query->base - v.squares;
		ValueNumber longer = query->norm - minus;
		ValueNumber in_range = VALUE_LARGER(beyond, 0.0 - beyond) - query->scale * v.products;

		bound = VALUE_UPTO(minus, 0.0, in_range, VALUE_LARGER(longer, 0.0 - longer));
		error = VALUE_UPTO(minus, 0.0, v.error - v.squares, v.error) + query->error;
	}
	else if (metric == GENIE_METRIC_PIVOTS)
		bound = 0.0 - query->scale * v.products;
	else
		bound = genie_value_distance(query, v);
	bound = VALUE_LARGER(bound * query->keep - error, 0.0);
	if (metric != GENIE_METRIC_COSINE)
		return bound;
	return VALUE_LARGER((bound * bound) * (0.5 - 0x1p-23) - query->cosine_error, 0.0);
}

#endif							/* GENIE_VALUE_BOUND_H */

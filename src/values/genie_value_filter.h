/*
 * genie_value_filter.h
 *	  Which quantized vectors may have a key of at least a floor (genie_value_scan.h), by a few products of floats;
 *	  for GPUs, too.
 *
 * A scan for the best k wants few of the objects, and the bound of an object takes many times as long as its
 * product with a query.  So the comparison of the bound with a limit is written as a product of two short vectors,
 * one that depends on the record alone and one that depends on the query and the limit.  Where X is the product of
 * the codes,
 *
 *		a record is passed over if		rest + sum of record.of[i] * query.of[i]  >  record.scale * X
 *
 * Comparisons are such that NaN passes nothing over.
 *
 * Why no record is passed over that is wanted.  The names are those of genie_value_scan.c: v' = o + s c, q' = p +
 * t d, the errors e and f, the sums C1, C2, D1, D2.  The limit L is the bound of the key below the floor, so what
 * is wanted has a bound of at most L.
 *
 * L2, cosine.  It is |q' - v'| <= L' + e', where L' = (L + f) / keep and e' = e / keep; of cosine, L is first
 * turned into the limit of the distance.  Any number m may be subtracted from o and p.  With what is left in their
 * places, that is
 *
 *		[n o^2 + 2 o s C1 + s^2 C2 - e'^2]  +  [n p^2 + 2 p t D1 + t^2 D2 - L'^2]
 *			- 2 o (n p + t D1)  -  2 (s C1) p  -  2 e' L'  -  2 s t X  <=  0
 *
 * which is divided by 2 t.  With A^2 = n o^2 + s^2 C2 + e'^2 and B^2 = n p^2 + t^2 D2 + L'^2, the sizes of all
 * terms, and of the terms of the first two, are together at most 6.5 (A^2 + B^2): |2 o s C1| <= n o^2 + s^2 C2, |n
 * p + t D1| <= sqrt(2 n) B and so on (Cauchy, Schwarz).  A term is the product of two floats, each rounded from a
 * double, and goes through at most six operations: 8 u of 6.5 (A^2 + B^2), u = 2^-24.  2^-18 A^2 and 2^-18 B^2 are
 * subtracted from the first two.  The margin of genie_value_distance() is 2^-48 of the same sizes.
 *
 * L1.  It is (|A - B| + s |d - c|) keep <= L + e + f, where A is what the query lies beyond the range, B what the
 * record does, and e has had B taken from it.  X is the sum of differences with a minus.  With L' and e' as above:
 *
 *		[A - L']  -  e'  +-  B  <=  s X
 *
 * with plus if A is 0, and else with minus, since |A - B| is no less than either.  The terms of the left side go
 * through at most five operations, each no larger than all of their sizes together; s X is no larger than them,
 * either.  2^-20 of their sizes, 16 u, are subtracted.  Of a record with a range of its own, which is of length N, it
 * is (N - |q*|) keep <= L + e + f instead: in the places of B and s there are 0, and N - A - |q*| is added.
 *
 * Inner product.  What is wanted has
 *
 *		- L  -  o (n p + t D1)  -  (s C1) p  -  e |q'|  -  l g  <=  s t X,		g = f + (|q'| + f) roundings
 *
 * where L has the query's base added, and l is the record's length, its error included.  With A^2 = n o^2 + s^2 C2 +
 * e^2 and B^2 = n p^2 + t^2 D2 + |q'|^2 + g^2, the sizes are together at most |L| + 7 A B.  8 u of that are given:
 * 2^-20 |L| from the first term, and 2^-14 A is added to e, and B / 16 is the least in the place of |q'|.
 *
 * Floats reach from 2^-126 to 2^128.  For A up to 2^50, B from 2^-30 to 2^50 and t of at least 2^-20 B, no sum
 * becomes infinite but by a first term that alone decides, and what products lose below the normal range is far
 * below the margins.  Other records and queries have numbers that pass nothing over.  Where all codes of a query
 * are zero, X is, and B takes the place of t.
 */
#ifndef GENIE_VALUE_FILTER_H
#define GENIE_VALUE_FILTER_H

#include <math.h>
#include <stdbool.h>

#include "genie_value_constants.h"

#define GENIE_VALUE_FILTER_TERMS 4

typedef struct GenieValueFilterRecord
{
	float		of[GENIE_VALUE_FILTER_TERMS];
	float		scale;
} GenieValueFilterRecord;

typedef struct GenieValueFilterQuery
{
	float		of[GENIE_VALUE_FILTER_TERMS];
	float		rest;			/* -infinity: passes over nothing */
} GenieValueFilterQuery;

#define GENIE_VALUE_FILTER_MARGIN 0x1p-18
#define GENIE_VALUE_FILTER_INNER_MARGIN 0x1p-14
#define GENIE_VALUE_FILTER_L1_MARGIN 0x1p-20
#define GENIE_VALUE_FILTER_LARGEST 0x1p50
#define GENIE_VALUE_FILTER_SMALLEST 0x1p-30
#define GENIE_VALUE_FILTER_SCALE 0x1p-20	/* of a query, relative to all of it */
#define GENIE_VALUE_FILTER_ROUNDING (1 + 0x1p-40)	/* of errors and limits: more than their roundings */

/* Are values of the metric quantized vectors, between which products or differences count? */
GENIE_QUANTIZED_FUNCTION bool
genie_value_filter_serves(GenieMetric metric)
{
	return metric <= GENIE_METRIC_INNER;
}

/* L1: a record's, from its header */
GENIE_QUANTIZED_FUNCTION GenieValueFilterRecord
genie_value_filter_l1_record(double keep, const GenieQuantized *header)
{
	bool		own = header->beyond < 0;
	double		error = ((double) header->error - (own ? 0 : header->beyond)) / keep * GENIE_VALUE_FILTER_ROUNDING;
	GenieValueFilterRecord record = {{0, 0, 0, 0}, own ? 0 : header->scale};

	record.of[0] = (float) (error + GENIE_VALUE_FILTER_L1_MARGIN * (error + fabs(header->beyond)));
	record.of[own ? 2 : 1] = fabsf(header->beyond);
	record.of[3] = own;
	return record;
}

/* L1: a query's, for bounds of at most limit */
GENIE_QUANTIZED_FUNCTION GenieValueFilterQuery
genie_value_filter_l1_query(const GenieValueConstants *query, double limit)
{
	double		rest = query->base - (limit + query->error) / query->keep * GENIE_VALUE_FILTER_ROUNDING;
	GenieValueFilterQuery numbers = {{-1, 0, 1, 0}, 0};

	numbers.of[1] = query->base > 0 ? -1 : 1;
	numbers.of[3] = (float) (-(query->base + query->norm) * (1 + GENIE_VALUE_FILTER_L1_MARGIN));
	numbers.rest = (float) (rest - GENIE_VALUE_FILTER_L1_MARGIN * fabs(rest));
	return numbers;
}

/*
 * A record's: its header's numbers, and the sum of its codes.  middle is subtracted from all offsets, the same for
 * records and queries; precision is best where it is near them.
 */
GENIE_QUANTIZED_FUNCTION GenieValueFilterRecord
genie_value_filter_record(GenieMetric metric, uint32_t n_dimensions, double middle, const GenieQuantized *header,
						  double codes)
{
	const bool	is_inner = metric == GENIE_METRIC_INNER;
	double		keep = 1 - 2 * (n_dimensions + 16) * GENIE_QUANTIZED_ROUNDING;
	double		error = header->error / (is_inner ? 1 : keep) * GENIE_VALUE_FILTER_ROUNDING;
	double		offset = (double) header->offset - (is_inner ? 0 : middle);
	double		scale = header->scale;
	double		sum = scale * codes;
	double		own = n_dimensions * offset * offset + scale * scale * header->squares;
	double		size = own + error * error;
	double		first;
	GenieValueFilterRecord record = {{is_inner ? INFINITY : -INFINITY, 0, 0, 0}, 0};

	if (metric == GENIE_METRIC_L1)
		return genie_value_filter_l1_record(keep, header);
	if (!(size <= GENIE_VALUE_FILTER_LARGEST * GENIE_VALUE_FILTER_LARGEST))
		return record;
	if (is_inner)
	{
		first = own * GENIE_VALUE_FILTER_ROUNDING + 2 * offset * sum;
		first = (sqrt(first > 0 ? first : 0) + error) * (1 + GENIE_VALUE_FILTER_MARGIN);
		error += GENIE_VALUE_FILTER_INNER_MARGIN * sqrt(size);
	}
	else
		first = own + 2 * offset * sum - error * error - GENIE_VALUE_FILTER_MARGIN * size;
	record.of[0] = (float) first;
	record.of[1] = (float) offset;
	record.of[2] = (float) sum;
	record.of[3] = (float) error;
	record.scale = header->scale;
	return record;
}

/* A query's: keys are wanted whose bounds are at most limit. */
GENIE_QUANTIZED_FUNCTION GenieValueFilterQuery
genie_value_filter_query(GenieMetric metric, const GenieValueConstants *query, double middle, double limit)
{
	const bool	is_inner = metric == GENIE_METRIC_INNER;
	double		offset = query->offset - (is_inner ? 0 : middle);
	double		total = query->n * offset + query->sum;
	double		own = query->n * offset * offset + query->squares;
	double		reach = metric == GENIE_METRIC_COSINE ?
		sqrt((limit + query->cosine_error) / (0.5 - 0x1p-23)) * GENIE_VALUE_FILTER_ROUNDING : limit;
	double		lost = query->error + (query->norm + query->error) * query->roundings;
	double		upto = is_inner ? limit + query->base + 0x1p-50 * (fabs(limit) + fabs(query->base)) : limit;
	double		size;
	double		part;
	GenieValueFilterQuery numbers = {{0, 0, 0, 0}, -INFINITY};

	if (metric == GENIE_METRIC_L1)
		return genie_value_filter_l1_query(query, limit);
	reach = (reach + query->error) / query->keep * GENIE_VALUE_FILTER_ROUNDING;
	size = own + (is_inner ? query->norm * query->norm + lost * lost : reach * reach);
	part = query->squares > 0 ? query->scale : sqrt(size);
	if (!(size <= GENIE_VALUE_FILTER_LARGEST * GENIE_VALUE_FILTER_LARGEST &&
		  size >= GENIE_VALUE_FILTER_SMALLEST * GENIE_VALUE_FILTER_SMALLEST &&
		  part * part >= GENIE_VALUE_FILTER_SCALE * GENIE_VALUE_FILTER_SCALE * size &&
		  fabs(upto) <= GENIE_VALUE_FILTER_LARGEST * GENIE_VALUE_FILTER_LARGEST &&
		  query->inner_max >= 0x1p110))
		return numbers;
	if (is_inner)
	{
		double		least = sqrt(size) / 16;

		numbers.of[0] = (float) (-lost * (1 + GENIE_VALUE_FILTER_MARGIN) / part);
		numbers.of[1] = (float) (-total / part);
		numbers.of[2] = (float) (-offset / part);
		numbers.of[3] = (float) (-(query->norm > least ? query->norm : least) / part);
		numbers.rest = (float) ((-upto - 0x1p-20 * fabs(upto) - 0x1p-110) / part);
		return numbers;
	}
	numbers.of[0] = (float) (0.5 / part);
	numbers.of[1] = (float) (-total / part);
	numbers.of[2] = (float) (-offset / part);
	numbers.of[3] = (float) (-reach / part);
	numbers.rest = (float) ((own + 2 * offset * query->sum - reach * reach - GENIE_VALUE_FILTER_MARGIN * size) /
							(2 * part));
	return numbers;
}

/* Is a record passed over?  product: of the codes. */
GENIE_QUANTIZED_FUNCTION bool
genie_value_filtered(const GenieValueFilterRecord *record, const GenieValueFilterQuery *query, float product)
{
	float		sum = query->rest;

	for (int i = 0; i < GENIE_VALUE_FILTER_TERMS; i++)
		sum += record->of[i] * query->of[i];
	return sum > record->scale * product;
}

#endif							/* GENIE_VALUE_FILTER_H */

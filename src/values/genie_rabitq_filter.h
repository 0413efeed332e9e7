/*
 * genie_rabitq_filter.h
 *	  The comparison of genie_value_filter.h for vectors with a bit a dimension (genie_rabitq.h).
 *
 * What a filter looks at are the same four products of floats.  With the names of genie_value_filter.h, s an element
 * of v', k of its n bits ones, X the sum of the query's codes at these, and S t times the sum of all codes,
 *
 *		<v', q> is about P = s (p (2 k - n) + 2 t X - S),	and a bound allows for epsilon |q| e more
 *
 * L2, cosine.  What is wanted has (|v|^2 + |q|^2) (1 - r) - 2 (P + epsilon |q| e) <= L'^2, with the r of
 * GENIE_RABITQ_ROUNDING.  That is
 *
 *		[|v|^2 (1 - r)]  +  [|q|^2 (1 - r) - L'^2]
 *			- 2 p s (2 k - n)  +  2 S s  -  2 epsilon |q| e  <=  4 s t X
 *
 * which is divided by 4 t.  With A^2 = |v|^2 + n s^2 + e^2 and B^2 = |q|^2 (1 + epsilon^2) + n p^2 + t^2 D2 + L'^2, the
 * sizes of all terms are together at most 4 A^2 + 3 B^2, because |S| and t |X| are at most sqrt(n t^2 D2).  That is
 * less than the 6.5 (A^2 + B^2) there, so the margins are the same.
 *
 * Inner product.  What is wanted has
 *
 *		- L  -  p s (2 k - n)  +  S s  -  epsilon |q| e  -  |v| (1 + r) g  <=  2 s t X
 *
 * where L has the query's base added, and g is as there.  With g^2 in the place of L'^2 in B^2, the sizes are together
 * at most |L| + 6 A B, less than the |L| + 7 A B there, and the margins are the same: B / 16 is the least in the place
 * of epsilon |q|.
 */
#ifndef GENIE_RABITQ_FILTER_H
#define GENIE_RABITQ_FILTER_H

#include "genie_value_filter.h"

/* A record's, from its header. */
static inline GenieValueFilterRecord
genie_rabitq_filter_record(GenieMetric metric, uint32_t n_dimensions, const GenieQuantized *header)
{
	const bool	is_inner = metric == GENIE_METRIC_INNER_RABITQ;
	double		length = header->offset;
	double		scale = header->scale;
	double		error = header->error;
	double		squares = length * length;
	double		size = squares + n_dimensions * scale * scale + error * error;
	GenieValueFilterRecord record = {{is_inner ? INFINITY : -INFINITY, 0, 0, 0}, 0};

	if (!(size <= GENIE_VALUE_FILTER_LARGEST * GENIE_VALUE_FILTER_LARGEST))
		return record;
	if (is_inner)
	{
		length *= (1 + GENIE_RABITQ_ROUNDING) * (1 + GENIE_VALUE_FILTER_MARGIN);
		error += GENIE_VALUE_FILTER_INNER_MARGIN * sqrt(size);
	}
	record.of[0] = (float) (is_inner ? length :
							squares * (1 - GENIE_RABITQ_ROUNDING) - GENIE_VALUE_FILTER_MARGIN * size);
	record.of[1] = (float) (scale * (2.0 * header->squares - n_dimensions));
	record.of[2] = (float) scale;
	record.of[3] = (float) error;
	record.scale = header->scale;
	return record;
}

/* A query's: keys are wanted whose bounds are at most limit. */
static inline GenieValueFilterQuery
genie_rabitq_filter_query(GenieMetric metric, const GenieValueConstants *query, double limit)
{
	const bool	is_inner = metric == GENIE_METRIC_INNER_RABITQ;
	double		reach = metric == GENIE_METRIC_COSINE_RABITQ ?
		sqrt((limit + query->cosine_error) / (0.5 - 0x1p-23)) * GENIE_VALUE_FILTER_ROUNDING : limit;
	double		lost = query->error + (query->norm + query->error) * query->roundings;
	double		upto = is_inner ? limit + query->base + 0x1p-50 * (fabs(limit) + fabs(query->base)) : limit;
	double		own = query->norm * query->norm;
	double		errors = query->epsilon * query->norm;
	double		size;
	double		part;
	GenieValueFilterQuery numbers = {{0, 0, 0, 0}, -INFINITY};

	reach = (reach + query->error) / query->keep * GENIE_VALUE_FILTER_ROUNDING;
	size = own + errors * errors + query->n * query->offset * query->offset + query->squares +
		(is_inner ? lost * lost : reach * reach);
	part = 2 * (query->squares > 0 ? query->scale : sqrt(size));
	if (!(size <= GENIE_VALUE_FILTER_LARGEST * GENIE_VALUE_FILTER_LARGEST &&
		  size >= GENIE_VALUE_FILTER_SMALLEST * GENIE_VALUE_FILTER_SMALLEST &&
		  part * part >= 4 * GENIE_VALUE_FILTER_SCALE * GENIE_VALUE_FILTER_SCALE * size &&
		  fabs(upto) <= GENIE_VALUE_FILTER_LARGEST * GENIE_VALUE_FILTER_LARGEST &&
		  query->inner_max >= 0x1p110))
		return numbers;
	numbers.of[1] = (float) (-query->offset / part);
	numbers.of[2] = (float) (query->sum / part);
	if (is_inner)
	{
		double		least = sqrt(size) / 16;

		numbers.of[0] = (float) (-lost * (1 + GENIE_VALUE_FILTER_MARGIN) / part);
		numbers.of[3] = (float) (-(errors > least ? errors : least) / part);
		numbers.rest = (float) ((-upto - 0x1p-20 * fabs(upto) - 0x1p-110) / part);
		return numbers;
	}
	numbers.of[0] = (float) (0.5 / part);
	numbers.of[3] = (float) (-errors / part);
	numbers.rest = (float) ((own * (1 - GENIE_RABITQ_ROUNDING) - reach * reach - GENIE_VALUE_FILTER_MARGIN * size) /
							(2 * part));
	return numbers;
}

#endif							/* GENIE_RABITQ_FILTER_H */

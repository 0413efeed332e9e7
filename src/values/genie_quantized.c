/*
 * genie_quantized.c
 *	  Vectors with a byte a dimension and lower bounds of their distances (genie_quantized.h): making records and
 *	  queries, and bounds of hits.
 *
 * No bound may be above the measure, whatever was rounded.  Let u = 2^-24, n dimensions; v is the vector, for cosine
 * divided by its length, less the centre, v' = offset + scale * code without any rounding, and R = |offset| + 255
 * scale, which no element of v' exceeds; q are the query's elements as floats, q* without that rounding.  By the
 * triangle inequality
 *
 *		|q* - v|  >=  |q - v'| - |v' - v| - |q* - q|
 *
 * by |.| of l2 as of l1, and each term is taken where it is safe:
 *
 *	|q - v'|	A kernel's element is rounded at most three times: a product (of a whole number and a float: what is
 *				below a float's normal range is exact), the sum with offset, the difference with q.  The first
 *				two err by e, of which no element exceeds 2.01 u R: that is added to the record's error.  The third
 *				is relative, as are squaring, at most n sums in any order, fused or not, and the root: at most
 *				(n + 4) u.  So (1 - 2 (n + 16) u) times the result is not above |q - v' + e|, with room for what
 *				follows and for the measure's own roundings.
 *	|v' - v|	is computed in doubles, whose errors are far below those of e: together at most 4 u R a dimension,
 *				times n for l1, or sqrt(n) for l2.  The centre is subtracted with one rounding, relative to what is
 *				left, and so to R.  Cosine's elements have been divided before: (n + 16) 2^-52 more.
 *	|q* - q|	is computed in doubles; q is less the centre, too.  For cosine (n + 16) 2^-52 more.
 *
 * Both errors are made larger by 2^-22 of themselves, because they become floats and are added.  Squares below the
 * normal range of a float err by 2^-150 each, and their root by sqrt(n) 2^-75.  The n 2^-73 in each record pays for
 * that, for measures in floats, and for bounds below the normal range.  A sum that overflows is infinite or NaN, and
 * then nothing is known.
 *
 * (The query's error and cosine's last margin happen to fit into the room that the others leave: no vectors are known
 * whose bound would be wrong without them.  They are here so that each line holds by itself.)
 *
 * Cosine: half of the bound's square, which takes three roundings.  The measure is 1 - x, whose error is not relative:
 * at most (n + 16) 2^-52, where it is accurate at all; elsewhere nothing is known.
 *
 * From sums to bounds: genie_quantized_bound.h.  All of this holds for a GPU's kernel
 * (cuda/vectors/genie_cuda_bounds.cu) as for those here, because it does not depend on the order of the sums.
 *
 * Parts of elements (L1).  A line is cut at the ends of stretches of W = 255 scale, of which the first and the last
 * have no end.  What two elements have between them is the sum of what it is in each stretch: so vectors of parts are
 * as far from each other as those they were made of.  A part is the end of its stretch, which errs by 2^-53 R, or all
 * that the element is above the stretches before: two roundings relative to P R, where P is how many parts the
 * element has, or to what lies beyond the range, and only one of the parts has them.  So the errors of P parts are at
 * most those of P elements, and n is the number of all parts.
 *
 * pgvector measures by sums in floats.  Its results are smaller by at most (n + 2) u, relatively, for l1, and by half
 * of that for l2; (1 - 2 (n + 16) u) has room for it.  For cosine they are smaller by at most (n + 2) 2 u, as long as
 * floats hold the sums of squares: twice that is taken from bounds, and of other vectors of floats nothing is known.
 *
 * Candidates lie all over hundreds of megabytes, so records are fetched some hits ahead.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "genie_posting.h"
#include "genie_quantized.h"
#include "genie_quantized_bound.h"

#define CODE_MAX	255
#define OWN_ERROR	0.25		/* of that by the index's range: much more is known by one of its own */
#define ROUNDING	GENIE_QUANTIZED_ROUNDING	/* u */
#define DOUBLE_ROUNDING 2.220446049250313e-16	/* 2^-52 */
#define LENGTH_ROUNDING (4 * ROUNDING)	/* more than a length that is kept may be rounded */
#define GROWTH		GENIE_QUANTIZED_GROWTH
#define VANISHING	GENIE_QUANTIZED_VANISHING

/* sums of squares between which those of floats neither overflow nor lose much below the normal range */
#define FLOAT_SQUARES_MIN 1e-25
#define FLOAT_SQUARES_MAX 1e30

/* bytes of records that are fetched ahead: a little more than a core can wait for at a time */
#define AHEAD_BYTES 2048

const GenieQuantizedKernel *
genie_quantized_nth(uint32_t i)
{
	if (i == 0)
		return &genie_quantized_portable;
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &genie_quantized_avx2;
	if (i == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		__builtin_cpu_supports("avx512f"))
		return &genie_quantized_avx512;
#endif
	return NULL;
}

/* ---- records and queries ---- */

double
genie_quantized_factor(GenieMetric metric, GenieVector vector)
{
	double		squares;

	if (metric != GENIE_METRIC_COSINE)
		return 1;
	squares = genie_vector_measure(GENIE_METRIC_INNER, vector, vector);
	if (!vector.is_double && (squares < FLOAT_SQUARES_MIN || squares > FLOAT_SQUARES_MAX))
		return NAN;
	return squares >= GENIE_COSINE_SQUARES_MIN && squares <= GENIE_COSINE_SQUARES_MAX ? 1 / sqrt(squares) : NAN;
}

/* The error of elements by its sum, of squares or for l1 of sizes, and more. */
static float
error_of(GenieMetric metric, double sum, double more)
{
	double		error = ((metric == GENIE_METRIC_L1 ? sum : sqrt(sum)) + more) * GROWTH;

	return error <= FLT_MAX ? (float) error : INFINITY;
}

void
genie_quantize_unknown(uint32_t n_dimensions, void *record)
{
	memset(record, 0, genie_quantized_bytes(n_dimensions));
	((GenieQuantized *) record)->error = INFINITY;
}

/* Writes the codes and their squares; returns the sum of their errors, and for L1 that of those outside the range. */
static double
write_codes(GenieValueShape shape, GenieVector vector, double factor, GenieQuantized *record, double *beyond)
{
	uint8_t    *codes = (uint8_t *) (record + 1);
	double		offset = record->offset;
	double		scale = record->scale;
	double		inverse = scale == 0 ? 0 : 1 / scale;
	double		sum = 0;
	uint32_t	squares = 0;

	*beyond = 0;
	for (uint32_t i = 0; i < genie_quantized_codes(shape, vector); i++)
	{
		double		x = genie_quantized_element(shape, vector, factor, i);
		double		code = (x - offset) * inverse + 0.5;
		double		lost;

		/* NaN becomes 0, and is lost */
		code = code > 0 ? code : 0;
		code = code < CODE_MAX ? code : CODE_MAX;
		codes[i] = (uint8_t) code;
		squares += (uint32_t) codes[i] * codes[i];
		lost = x - (offset + scale * codes[i]);
		sum += shape.metric == GENIE_METRIC_L1 ? fabs(lost) : lost * lost;
		if (x < offset || x > offset + scale * CODE_MAX)
			*beyond += fabs(lost);
	}
	record->squares = squares;
	return sum;
}

/* Writes all but the range, which is there; more is added to the error.  Returns what is outside the range. */
static double
quantize_in_range(GenieValueShape shape, GenieVector vector, double factor, double more, GenieQuantized *record)
{
	uint32_t	n = genie_quantized_codes(shape, vector);
	double		roundings = 4 * ROUNDING * (fabs(record->offset) + CODE_MAX * (double) record->scale);
	double		beyond;
	double		sum;

	roundings *= shape.metric == GENIE_METRIC_L1 ? n : sqrt(n);
	if (shape.metric == GENIE_METRIC_COSINE)
		roundings += (n + 16) * DOUBLE_ROUNDING;
	sum = write_codes(shape, vector, factor, record, &beyond);
	record->error = error_of(shape.metric, sum, roundings + n * VANISHING + more);
	return beyond;
}

/* By the range of the vector. */
static void
quantize_in_own(GenieValueShape shape, GenieVector vector, double factor, GenieQuantized *record)
{
	double		least = INFINITY;
	double		most = -INFINITY;
	double		length = 0;

	for (uint32_t i = 0; i < genie_quantized_codes(shape, vector); i++)
	{
		double		x = genie_quantized_element(shape, vector, factor, i);

		least = x < least ? x : least;
		most = x > most ? x : most;
		length += fabs(x);
	}
	record->offset = (float) least;
	record->scale = (float) ((most - least) / CODE_MAX);
	(void) quantize_in_range(shape, vector, factor, shape.step > 0 ? length * LENGTH_ROUNDING : 0, record);
	if (shape.step > 0)
		record->beyond = length <= FLT_MAX ? -(float) (length * (1 - 2 * ROUNDING)) : 0;
}

float
genie_quantize_distances(GenieValueShape shape, GenieVector vector, uint16_t *codes)
{
	double		offset = shape.offset;
	double		step = shape.step;
	double		last = offset + step * GENIE_VALUE_PIVOT_MAX;
	double		largest = 0;
	double		farthest = 0;

	for (uint32_t i = 0; i < vector.n; i++)
	{
		double		x = genie_vector_element(vector, i);
		double		in_range = x > offset ? (x < last ? x : last) : offset;
		double		lost;

		if (isnan(x))
			return INFINITY;
		codes[i] = (uint16_t) fmin((in_range - offset) / step + 0.5, GENIE_VALUE_PIVOT_MAX);
		lost = fabs(in_range - (offset + step * codes[i]));
		largest = lost > largest ? lost : largest;
		farthest = fabs(x) > farthest ? fabs(x) : farthest;
	}
	return error_of(GENIE_METRIC_L1, largest, farthest * (2 * shape.tolerance + 4 * DOUBLE_ROUNDING) +
					4 * DOUBLE_ROUNDING * (fabs(offset) + GENIE_VALUE_PIVOT_MAX * step));
}

/* Distances to pivots: by the range of the shape. */
static void
quantize_distances(GenieValueShape shape, GenieVector vector, GenieQuantized *record)
{
	const uint8_t *bytes = (const uint8_t *) (record + 1);

	record->offset = shape.offset;
	record->scale = shape.step;
	record->error = genie_quantize_distances(shape, vector, (uint16_t *) (record + 1));
	for (uint32_t i = 0; i < genie_quantized_codes(shape, vector); i++)
		record->squares += (uint32_t) bytes[i] * bytes[i];
}

/* L1: by the range of the shape. */
static void
quantize_in_shared(GenieValueShape shape, GenieVector vector, GenieQuantized *record)
{
	double		beyond;

	record->offset = shape.offset;
	record->scale = shape.step;
	beyond = quantize_in_range(shape, vector, 1, 0, record);
	record->beyond = beyond <= FLT_MAX ? (float) (beyond * (1 - 2 * ROUNDING)) : 0;
}

void
genie_quantize(GenieValueShape shape, GenieVector vector, void *at)
{
	GenieQuantized *record = at;
	float		error;

	memset(record, 0, genie_quantized_bytes(genie_quantized_codes(shape, vector)));
	if (shape.metric == GENIE_METRIC_PIVOTS)
		quantize_distances(shape, vector, record);
	else if (shape.step > 0)
		quantize_in_shared(shape, vector, record);
	else
		quantize_in_own(shape, vector, genie_quantized_factor(shape.metric, vector), record);
	if (!(shape.own_ranges && shape.metric == GENIE_METRIC_L1 && shape.step > 0 && record->beyond > 0))
		return;
	error = record->error;
	quantize_in_own(shape, vector, 1, record);
	/* its length tells whose range it is */
	if (!(record->error < error * OWN_ERROR && record->beyond < 0))
		quantize_in_shared(shape, vector, record);
}

void
genie_quantized_vector(GenieValueShape shape, const void *at, float *elements)
{
	const GenieQuantized *record = at;
	const uint8_t *codes = (const uint8_t *) (record + 1);
	uint32_t	n_elements = genie_value_shape_elements(shape);
	uint32_t	code = 0;

	for (uint32_t i = 0; i < n_elements; i++)
	{
		double		x = record->offset + (double) record->scale * codes[code++];

		while (shape.parts != NULL && code < shape.n_dimensions && shape.parts[code].part > 0)
			x += record->offset + (double) record->scale * codes[code++] - shape.offset;
		if (shape.centre != NULL)
			x += shape.centre[i];
		elements[i] = (float) fmax(fmin(x, FLT_MAX), -FLT_MAX);
	}
}

float
genie_quantized_query(GenieValueShape shape, GenieVector vector, float *elements)
{
	double		factor = genie_quantized_factor(shape.metric, vector);
	uint32_t	n = genie_quantized_codes(shape, vector);
	double		sum = 0;

	memset(elements, 0, genie_quantized_elements(n) * sizeof(float));
	for (uint32_t i = 0; i < n; i++)
	{
		double		x = genie_quantized_element(shape, vector, factor, i);
		double		lost;

		elements[i] = (float) x;
		lost = x - elements[i];
		sum += shape.metric == GENIE_METRIC_L1 ? fabs(lost) : lost * lost;
	}
	return error_of(shape.metric, sum, shape.metric == GENIE_METRIC_COSINE ? (vector.n + 16) * DOUBLE_ROUNDING : 0);
}

/* ---- bounds ---- */

/* NULL: vectors does not have it. */
static inline const GenieQuantized *
record_of(const GenieQuantizedVectors *vectors, size_t n_bytes, uint32_t object)
{
	return object >= vectors->n_objects ? NULL : genie_vectors_record(vectors, n_bytes, object);
}

void
genie_quantized_bounds_by(const GenieQuantizedKernel *kernel, const GenieQuantizedVectors *vectors,
						  const GenieQuantizedQuery *query, const GenieHit *hits, uint32_t n, float *bounds)
{
	GenieMetric metric = vectors->metric;
	uint32_t	n_dimensions = vectors->n_dimensions;
	size_t		n_bytes = genie_quantized_bytes(n_dimensions);
	uint32_t	ahead = n_bytes < AHEAD_BYTES ? AHEAD_BYTES / n_bytes : 1;
	GenieQuantizedMargins margins = genie_quantized_margins(n_dimensions);

	/* spares fetching records */
	if (query->error == INFINITY)
	{
		memset(bounds, 0, n * sizeof(float));
		return;
	}
	for (uint64_t i = 0; i < (uint64_t) n + ahead; i++)
	{
		const GenieQuantized *record = i < n ? record_of(vectors, n_bytes, hits[i].object) : NULL;

		if (record != NULL)
			genie_vectors_fetch(record, n_bytes);
		if (i < ahead)
			continue;
		record = record_of(vectors, n_bytes, hits[i - ahead].object);
		bounds[i - ahead] = record == NULL ? 0 :
			genie_quantized_bound(metric,
								  kernel->sum(metric == GENIE_METRIC_L1, query->elements, record, n_dimensions),
								  margins, record->error + query->error);
	}
}

static const GenieQuantizedKernel *
best_kernel(void)
{
	const GenieQuantizedKernel *best = NULL;

	for (uint32_t i = 0; genie_quantized_nth(i) != NULL; i++)
		best = genie_quantized_nth(i);
	return best;
}

void
genie_quantized_bounds(const GenieQuantizedVectors *vectors, const GenieQuantizedQuery *query, const GenieHit *hits,
					   uint32_t n, float *bounds)
{
	genie_quantized_bounds_by(best_kernel(), vectors, query, hits, n, bounds);
}

uint32_t
genie_quantized_within(const float *bounds, uint32_t n, float above, float upto, uint32_t *places)
{
	return best_kernel()->within(bounds, n, above, upto, places);
}

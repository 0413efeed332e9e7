/*
 * genie_value_scan.c
 *	  Keys of quantized vectors (genie_value_scan.h): making queries, keys from bounds and back, and which kernel.
 *
 * No bound may be above the measure, whatever was rounded.  genie_quantized.c explains u = 2^-24, n, the vector v, less
 * the centre, its v' = o + s c with codes c, and how far v is from v' at most: e, the record's error.  The query is q*,
 * less the centre but for inner products, and q' = p + t d with codes d, where p and t are floats; f is how far q' is
 * from q*.  By the triangle inequality
 *
 *		|q* - v|  >=  |q' - v'| - e - f
 *
 * f is computed in doubles.  t d is exact; the three sums of a dimension, the centre's included, err by at most 2^-51 R
 * together, where R is no less than an element of q* and one of q' together.  Cosine's elements have been divided:
 * (n + 16) 2^-52 more.  f is made larger by 2^-22 of itself, and by n 2^-73, as records' errors are, because squares
 * may vanish.
 *
 * |q' - v'| (L2, cosine).  With a = p - o, and the sums D1 of d, D2 of d^2, C1 of c, C2 of c^2 and X of c d,
 *
 *		|q' - v'|^2  =  own + 2 cross,		own = n a^2 + t^2 D2 + s^2 C2,		cross = a t D1 - s (a C1 + t X)
 *
 * Sums are exact: X < 2^31 in size for at most 65,535 dimensions, where C2 < 2^32.  All else is computed in doubles.
 * p, o, t and s are floats; so there is nothing above or below the normal range of a double.  Each operation errs by
 * w = 2^-53, relatively.  A term of own has gone through at most six of them (a counts twice), a term of cross through
 * five.  Of cross, the terms' sizes, twice, are together at most 2 own, since 2 |a t D1| <= n a^2 + t^2 D2 and so on
 * (Cauchy, Schwarz).  The last two operations err by at most 4 w own.  In all that is 20 w own; 2^-48 own = 32 w own
 * are subtracted.  This is all that cancellation can do: at an offset of a million, a is small, and so is own; sums
 * beyond 2^24 are exact.  Then the root and its product with 1 - 2 (n + 16) u err by 2 w, for which that factor has
 * room, as it has for the measure's own roundings, in doubles or in pgvector's floats (genie_quantized.c).  The same
 * place says what cosine takes from half of the bound's square.
 *
 * L1.  Records and query have one range, o .. o + 255 s: p = o and t = s.  An element x of a vector is an end of the
 * range, the nearest one, and what x lies beyond it, |x| say; or in the range, and nothing beyond.  Of two elements x
 * and y, let x" and y" be these ends or elements.  Then
 *
 *		|x - y|  >=  |x" - y"| + | |x| - |y| |
 *
 * with equality unless both are beyond different ends.  Summed over the dimensions, where A and B are the sums of
 * what q* and v lie beyond, with g and h how far q" and v" are from q' and v':
 *
 *		|q* - v|  >=  s |d - c| + |A - B| - g - h
 *
 * The sum |d - c| is exact, below 2^24.  B is kept rounded down, and e is at least h and B without that rounding: so
 * e less what is kept pays for both.  A is computed in doubles with errors of (n + 1) 2^-53 A at most, and f is g and
 * 2^-52 (n + 16) A more.  An x that is taken to be beyond an end by a rounding, or not to be, errs by 2^-52 R.  What
 * remains are the roundings of a sum of three terms, for which 1 - 2 (n + 16) u has room.  Of a record with a range of
 * its own, |q* - v| is at least | |q*| - |v| |.  |v| is kept rounded to 0, for which e has 4 u |v| more; the roundings
 * of |q*| are in f.  Parts of elements count as elements, n of them (genie_quantized.c): of the three sums of a
 * dimension, that with the centre errs by P R where it has P parts, and so by R for each.
 *
 * Pivots.  A query's elements are its distances to pivots, and so are a vector's; one range for all, as for L1, and
 * codes of 16 bits: the nearest of a million points of a plane are nearer than 1/255 of the range.  For each pivot,
 *
 *		d(q, v)  >=  |d(q, p) - d(v, p)|  >=  |x" - y"|
 *
 * where x" and y" are in the range as above: what lies beyond is passed over.  So the largest s |d - c|, less how far
 * x" and y" are from q' and v', is a bound.  A distance function rounds: computed distances may be wrong by the
 * tolerance, relative to themselves, and so d(q, v) by that of the two others.  That is in e and f, by the farthest
 * pivot.  A distance of NaN tells nothing.
 *
 * Inner product.  With |v| <= |v'| + e,
 *
 *		q* v  <=  q' v' + |q'| e + f |v|,		q' v' = o (n p + t D1) + s (p C1 + t X)
 *
 * A term of q' v' has gone through four operations, and three more add to it: 2^-48 of the terms' sizes are enough.
 * |v'|^2 = n o^2 + s^2 C2 + 2 o s C1, whose terms' sizes are together at most twice the first two, is computed as
 * above, but the margin is added.  |v'| + e and |q'| are made larger by 2^-22 of themselves, for all that follows.  The
 * measure of floats errs by at most 2 (n + 16) u sum |q_i v_i|, and this sum is at most |q*| |v| <= (|q'| + f) (|v'| +
 * e).  What products lose below the normal range, n 2^-150, is less than f e.  Where |q*| |v| may be above half of the
 * largest float, partial sums of floats might overflow, and nothing is known.
 *
 * With a centre m, all this is of q* v, where v is what is left of the vector, and q* m is added: the query's base, to
 * which (n + 16) 2^-52 sum |q_i m_i| are added for its own roundings and the one that adds it.  The vector is no longer
 * than |v| + |m|.  So the query's reach, (|q'| + f) |m|, is added to |q*| |v| where the measure's roundings and
 * overflows are judged by that.
 *
 * Nothing is known either of elements that are not finite, or not within a float's range: then e or f is infinite, or
 * becomes so because a comparison with NaN is false.  A record without squares (C2 = 0) has a bound, too: what it lacks
 * is more than all of its errors.
 *
 * Keys.  A bound is rounded down to a float, whose bits become an integer of the same order; the lowest one is dropped,
 * which rounds down, too.  What is left, 0x003FFFFF of -infinity to 0x7FC00000 of infinity, is subtracted from
 * 0x7FFFFFFF.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "genie_value_bound.h"
#include "genie_value_scan.h"

#define CODE_MAX	127			/* of queries; the smallest is the negative one */
#define RANGE_MAX	255			/* of L1's */
#define ROUNDING	GENIE_QUANTIZED_ROUNDING	/* u */
#define DOUBLE_ROUNDING 2.220446049250313e-16	/* 2^-52 */

#define SIGN		0x80000000u
#define KEY_LAST	0x7FFFFFFFu
#define INFINITY_BITS 0x7F800000u
#define KEY_INFINITY (KEY_LAST - ((INFINITY_BITS | SIGN) >> 1))
#define KEY_MINUS_INFINITY (KEY_LAST - (~(INFINITY_BITS | SIGN) >> 1))

_Static_assert(sizeof(GenieValueQuery) % GENIE_QUANTIZED_ALIGN == 0, "what is behind a query is aligned");
_Static_assert(KEY_INFINITY >= 1 && KEY_MINUS_INFINITY <= GENIE_VALUE_KEY_MAX, "all keys are in 1 .. the largest");

const GenieValueKernel *
genie_value_kernel_nth(uint32_t i)
{
	if (i == 0)
		return &genie_value_portable;
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("avx2"))
		return &genie_value_avx2;
	if (i == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") &&
		__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
		return &genie_value_avx512;
#endif
	return NULL;
}

/* ---- keys and bounds ---- */

uint32_t
genie_value_key(double bound)
{
	float		narrow = (float) bound;
	uint32_t	bits;
	uint32_t	ordered;

	if (isnan(bound))
		return KEY_MINUS_INFINITY;
	memcpy(&bits, &narrow, sizeof(bits));
	ordered = bits & SIGN ? ~bits : bits | SIGN;
	if (narrow > bound)
		ordered--;
	return KEY_LAST - (ordered >> 1);
}

double
genie_value_key_bound(uint32_t key)
{
	uint32_t	ordered = (KEY_LAST - key) << 1;
	uint32_t	bits = ordered & SIGN ? ordered ^ SIGN : ~ordered;
	float		bound;

	if (key <= KEY_INFINITY)
		return INFINITY;
	if (key >= KEY_MINUS_INFINITY)
		return -INFINITY;
	memcpy(&bound, &bits, sizeof(bound));
	return bound;
}

/* ---- queries ---- */

/* Writes the codes, and what is known from them; returns the sum of their errors' squares. */
static double
write_codes(GenieValueShape shape, GenieVector vector, double factor, GenieValueQuery *query)
{
	int8_t	   *codes = (int8_t *) (query + 1);
	double		inverse = query->scale == 0 ? 0 : 1 / query->scale;
	double		lost_squares = 0;
	double		squares = 0;
	int64_t		sum = 0;
	int64_t		code_squares = 0;

	for (uint32_t i = 0; i < vector.n; i++)
	{
		double		x = genie_quantized_element(shape, vector, factor, i);
		double		code = (x - query->offset) * inverse;
		double		value;

		/* NaN becomes a code, and is lost */
		code = code > -CODE_MAX ? code : -CODE_MAX;
		code = code < CODE_MAX ? code : CODE_MAX;
		codes[i] = (int8_t) (code < 0 ? code - 0.5 : code + 0.5);
		value = query->offset + query->scale * codes[i];
		squares += value * value;
		lost_squares += (x - value) * (x - value);
		sum += codes[i];
		code_squares += codes[i] * codes[i];
	}
	query->norm = sqrt(squares) * GENIE_QUANTIZED_GROWTH;
	query->sum = query->scale * (double) sum;
	query->squares = (query->scale * query->scale) * (double) code_squares;
	return lost_squares;
}

/* L1: by the range of the shape. */
static double
quantize_in_range(GenieValueShape shape, GenieVector vector, GenieValueQuery *query)
{
	uint8_t    *codes = (uint8_t *) (query + 1);
	double		offset = shape.offset;
	double		scale = shape.step;
	double		reach = fabs(offset) + RANGE_MAX * scale;
	uint32_t	n = genie_quantized_codes(shape, vector);
	double		error = 0;

	if (!(shape.step > 0))
		return INFINITY;
	query->offset = offset;
	query->scale = scale;
	for (uint32_t i = 0; i < n; i++)
	{
		double		x = genie_quantized_element(shape, vector, 1, i);
		double		code = (x - offset) / scale + 0.5;
		double		lost;

		/* NaN becomes 0, and is lost */
		code = code > 0 ? code : 0;
		code = code < RANGE_MAX ? code : RANGE_MAX;
		codes[i] = (uint8_t) code;
		query->norm += fabs(x);
		lost = fabs(x - (offset + scale * codes[i]));
		if (x < offset || x > offset + scale * RANGE_MAX)
			query->base += lost;
		else
			error += lost;
	}
	error += n * (2 * DOUBLE_ROUNDING * reach + GENIE_QUANTIZED_VANISHING) +
		query->norm * (n + 16) * DOUBLE_ROUNDING + query->base * (n + 16) * DOUBLE_ROUNDING;
	return query->norm <= FLT_MAX && query->base <= FLT_MAX ? error * GENIE_QUANTIZED_GROWTH : INFINITY;
}

/* All but L1: the query, and its error. */
static double
quantize(GenieValueShape shape, GenieVector vector, GenieValueQuery *query)
{
	double		factor = genie_quantized_factor(shape.metric, vector);
	double		least = INFINITY;
	double		most = -INFINITY;
	double		reach;
	double		error;

	for (uint32_t i = 0; i < vector.n; i++)
	{
		double		x = genie_quantized_element(shape, vector, factor, i);

		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	query->offset = (float) (0.5 * least + 0.5 * most);
	query->scale = (float) ((most - least) / (2 * CODE_MAX));
	reach = fmax(fabs(least), fabs(most)) + fabs(query->offset) + CODE_MAX * query->scale;
	error = sqrt(write_codes(shape, vector, factor, query)) + sqrt(vector.n) * 2 * DOUBLE_ROUNDING * reach +
		vector.n * GENIE_QUANTIZED_VANISHING;
	if (shape.metric == GENIE_METRIC_COSINE)
		error += (vector.n + 16) * DOUBLE_ROUNDING;
	return error * GENIE_QUANTIZED_GROWTH;
}

/* Of vectors with a bit a dimension. */
static double
quantize_rotated(GenieValueShape shape, GenieVector vector, GenieValueQuery *query)
{
	float		elements[GENIE_RABITQ_DIMENSIONS_MAX];
	GenieVector rotated = {.elements = elements, .n = vector.n};
	double		error;

	genie_rabitq_rotate(shape, vector, elements);
	query->epsilon = (float) GENIE_RABITQ_EPSILON;
	error = quantize((GenieValueShape) {.metric = GENIE_METRIC_L2, .n_dimensions = vector.n}, rotated, query);
	return error + (query->norm + error) * GENIE_RABITQ_ROUNDING;
}

/* The product of a query with the centre of the records. */
static void
add_base(const float *centre, GenieVector vector, GenieValueQuery *query)
{
	double		sum = 0;
	double		size = 0;
	double		squares = 0;

	for (uint32_t i = 0; i < vector.n; i++)
	{
		double		product = genie_vector_element(vector, i) * centre[i];

		sum += product;
		size += fabs(product);
		squares += (double) centre[i] * centre[i];
	}
	query->reach = sqrt(squares) * (query->norm + query->error) * GENIE_QUANTIZED_GROWTH;
	query->base = sum + size * (vector.n + 16) * DOUBLE_ROUNDING + query->reach * query->roundings;
}

void
genie_value_query(GenieValueShape shape, GenieVector vector, GenieValueQuery *query)
{
	GenieMetric metric = shape.metric;
	const float *centre = shape.centre;
	uint32_t	n_dimensions = metric == GENIE_METRIC_EDIT ? shape.n_dimensions : genie_quantized_codes(shape, vector);

	if (genie_rabitq_measured(metric) == GENIE_METRIC_INNER)
		shape.centre = NULL;
	memset(query, 0, genie_value_query_bytes(metric, n_dimensions));
	query->metric = metric;
	query->n_dimensions = n_dimensions;
	if (metric == GENIE_METRIC_HAMMING)
	{
		genie_value_bits(vector, query + 1);
		return;
	}
	if (metric == GENIE_METRIC_EDIT)
	{
		query->norm = vector.n;
		if (vector.n > 0)
			memcpy(query + 1, vector.elements, vector.n < GENIE_VALUE_PATTERN_MAX ? vector.n : GENIE_VALUE_PATTERN_MAX);
		return;
	}
	if (metric == GENIE_METRIC_PIVOTS)
	{
		query->offset = shape.offset;
		query->scale = shape.step;
		query->error = genie_quantize_distances(shape, vector, (uint16_t *) (query + 1));
	}
	else
		query->error = metric == GENIE_METRIC_L1 ? quantize_in_range(shape, vector, query) :
			genie_rabitq_serves(metric) ? quantize_rotated(shape, vector, query) : quantize(shape, vector, query);
	if (!(query->error <= FLT_MAX))
	{
		memset(query, 0, genie_value_query_bytes(metric, n_dimensions));
		query->metric = metric;
		query->n_dimensions = n_dimensions;
		query->error = INFINITY;
	}
	query->roundings = 2 * (n_dimensions + 16) * ROUNDING;
	if (genie_rabitq_measured(metric) == GENIE_METRIC_INNER && centre != NULL && query->error != INFINITY)
		add_base(centre, vector, query);
}

void
genie_value_query_of_record(GenieMetric metric, uint32_t n_dimensions, const void *record, GenieValueQuery *query)
{
	const GenieQuantized *of = record;
	const uint8_t *codes = (const uint8_t *) (of + 1);
	int8_t	   *to = (int8_t *) (query + 1);
	int32_t		sum = 0;
	int64_t		squares = 0;

	metric = metric == GENIE_METRIC_L1 ? metric : GENIE_METRIC_L2;
	memset(query, 0, sizeof(GenieValueQuery));
	query->metric = metric;
	query->n_dimensions = n_dimensions;
	query->roundings = 2 * (n_dimensions + 16) * ROUNDING;
	query->scale = of->scale;
	if (metric == GENIE_METRIC_L1)
	{
		query->offset = of->offset;
		memcpy(to, codes, genie_quantized_elements(n_dimensions));
		return;
	}
	/* a code without a sign is one with a sign, 128 more */
	query->offset = of->offset + 128 * (double) of->scale;
	for (uint32_t i = 0; i < n_dimensions; i++)
	{
		int32_t		code = codes[i] - 128;

		to[i] = (int8_t) code;
		sum += code;
		squares += code * code;
	}
	memset(to + n_dimensions, 0, genie_quantized_elements(n_dimensions) - n_dimensions);
	query->sum = query->scale * sum;
	query->squares = query->scale * query->scale * (double) squares;
}

/* ---- keys of records ---- */

uint32_t
genie_value_unknown_key(const GenieValueQuery *query)
{
	if (query->error <= FLT_MAX)
		return 0;
	return genie_value_key(genie_rabitq_measured((GenieMetric) query->metric) == GENIE_METRIC_INNER ? -INFINITY : 0);
}

void
genie_value_keys_by(const GenieValueKernel *kernel, const GenieValueQuery *query, const void *records, uint32_t n,
					uint32_t *keys)
{
	uint32_t	unknown = genie_value_unknown_key(query);

	if (unknown == 0)
		kernel->keys(query, records, n, keys);
	else
		for (uint32_t i = 0; i < n; i++)
			keys[i] = unknown;
}

static const GenieValueKernel *
best_kernel(uint32_t metric)
{
	const GenieValueKernel *(*nth) (uint32_t) =
		metric == GENIE_METRIC_HAMMING ? genie_value_bits_nth :
		metric == GENIE_METRIC_EDIT ? genie_value_string_nth : genie_value_kernel_nth;
	const GenieValueKernel *best = NULL;

	for (uint32_t i = 0; nth(i) != NULL; i++)
		best = nth(i);
	return best;
}

void
genie_value_keys(const GenieValueQuery *query, const void *records, uint32_t n, uint32_t *keys)
{
	genie_value_keys_by(best_kernel(query->metric), query, records, n, keys);
}

void
genie_value_keys_at(const GenieValueQuery *query, const void *const *places, uint32_t n, uint32_t *keys)
{
	best_kernel(query->metric)->keys_at(query, places, n, keys);
}

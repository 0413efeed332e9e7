/*
 * genie_vector_learn.c
 *	  The centre of an index's vectors, and by L1 their range and parts (genie_vector_learn.h).
 *
 * A record has 256 steps between the least element of its vector and the largest.  If dimensions have means that
 * differ, as the few large ones of many embeddings do, most steps are spent on what all vectors have in common.  The
 * mean of a sample is that.  It is learned where records of the sample have errors that are much smaller by it.  They
 * may be larger, too: whole numbers from 0 on, as SIFT's, have shorter ranges without it.  With a bit a dimension,
 * errors are as the lengths of what is left, and any gain is taken.
 *
 * By L1, all records have one range, so that their codes can be compared.  A wide one has long steps, and all errors
 * are larger; a narrow one leaves elements out, of which only the sum is kept.  So some ranges are tried, without a
 * centre and with the median, which few rows that are far away do not move: between quantiles of the sample's
 * elements, and the same in steps of a power of two, by which whole numbers have no error.  One is taken instead of a
 * wider one if its bounds of the distances between vectors of the sample are much better.
 *
 * A few dimensions that are much wider than the others would make all steps long.  So for each range it is also tried
 * to give them as many codes as their elements need (GenieValuePart), if not too many.  These begin where the elements
 * of the dimension do: the centre is moved for that.  Only exact classes do so: records with a range of their own
 * (genie_quantized.h) would be coarse.
 *
 * Bounds hold by any centre and any range.  So rows that come later and are elsewhere lose nothing but precision.
 *
 * Behind the first GENIE_PARAMETERS_MAX bytes of the parameters are nothing, a centre, or by L1 a centre (which may be
 * zeros), a range, and the parts, if any dimension has more than one.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "genie_value_record.h"
#include "genie_value_scan.h"
#include "genie_vector_learn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define SAMPLED_MAX			256 /* vectors whose records are made */
#define SAMPLED_MIN			16
#define SAMPLED_ELEMENTS	65536	/* of all of them, or more if they are longer than that allows */
#define WORTH				0.75	/* of the errors without a centre are left, at most; by L1, of the slack */
#define WORTH_OF_RANGE		0.9 /* the same of a narrower range */
#define MORE_CODES			4	/* a fourth as many as dimensions, at most, and some: of wide dimensions */
#define MORE_CODES_MIN		16

#define RANGE_STEPS			255
#define STEP_RELATIVE		1e-7	/* to the elements, at least */
#define STEP_MIN			1e-30

/* Parts of the elements that lie below a range that is tried, and above it. */
static const double left_out[] = {0, 0x1p-12, 0x1p-9, 0x1p-6, 0x1p-4};

/* The vectors of a sample that are as long as the first. */
typedef struct Vectors
{
	uint32		n;
	GenieVector *vectors;
} Vectors;

static Vectors
vectors_of_sample(const GenieSample *sample, uint32 n_dimensions)
{
	Vectors		vectors = {.vectors = palloc(sample->n * sizeof(GenieVector))};

	for (uint32 i = 0; i < sample->n; i++)
	{
		const GenieRaw *raw = &sample->objects[i];

		CHECK_FOR_INTERRUPTS();
		if (raw->size == (int32) n_dimensions)
			genie_lsh_raw_elements(raw, genie_lsh_raw_is_double(raw), &vectors.vectors[vectors.n++]);
	}
	return vectors;
}

/* Writes the mean of those vectors that can be quantized.  False: it is not finite. */
static bool
mean_of(const Vectors *vectors, GenieMetric metric, uint32 n_dimensions, float *mean)
{
	double	   *sums = palloc0(n_dimensions * sizeof(double));
	uint32		n = 0;
	bool		finite = true;

	for (uint32 v = 0; v < vectors->n; v++)
	{
		double		factor = genie_quantized_factor(genie_rabitq_measured(metric), vectors->vectors[v]);

		if (isnan(factor))
			continue;
		n++;
		for (uint32 i = 0; i < n_dimensions; i++)
			sums[i] += genie_vector_element(vectors->vectors[v], i) * factor;
	}
	for (uint32 i = 0; i < n_dimensions; i++)
	{
		double		x = sums[i] / n;

		finite &= fabs(x) <= FLT_MAX;
		mean[i] = finite ? (float) x : 0;
	}
	pfree(sums);
	return finite;
}

/* How many vectors are looked at: few, if they are long. */
static uint32
n_sampled(const Vectors *vectors, uint32 n_dimensions)
{
	uint32		n = Max(SAMPLED_MIN, SAMPLED_ELEMENTS / n_dimensions);

	return Min(vectors->n, Min(n, SAMPLED_MAX));
}

/* Number v of these, which are spread evenly. */
static GenieVector
sampled(const Vectors *vectors, uint32 v, uint32 n)
{
	return vectors->vectors[(uint64) v * vectors->n / n];
}

static GenieQuantized *
make_record(Size n_bytes)
{
	return (GenieQuantized *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, palloc(n_bytes + GENIE_QUANTIZED_ALIGN));
}

/* The sum of the errors of some vectors' records. */
static double
errors_of(const Vectors *vectors, GenieValueShape shape)
{
	uint32		n = n_sampled(vectors, shape.n_dimensions);
	GenieQuantized *record = make_record(genie_value_record_bytes(shape.metric, shape.n_dimensions));
	double		sum = 0;

	for (uint32 v = 0; v < n; v++)
	{
		CHECK_FOR_INTERRUPTS();
		genie_value_record(shape, sampled(vectors, v, n), record);
		if (!isinf(record->error))
			sum += record->error;
	}
	return sum;
}

/* ---- the range of L1 ---- */

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* Writes the median of some vectors.  False: it is not finite. */
static bool
median_of(const Vectors *vectors, uint32 n_dimensions, float *median)
{
	uint32		n = n_sampled(vectors, n_dimensions);
	double	   *column = palloc((n + 1) * sizeof(double));

	for (uint32 i = 0; i < n_dimensions && n > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 v = 0; v < n; v++)
			column[v] = genie_vector_element(sampled(vectors, v, n), i);
		qsort(column, n, sizeof(double), compare_doubles);
		if (!(fabs(column[n / 2]) <= FLT_MAX))
			return false;
		median[i] = (float) column[n / 2];
	}
	return n > 0;
}

/* The sum of how far bounds of some vectors' distances are below these, relative to each. */
static double
slack_of(const Vectors *vectors, GenieValueShape shape)
{
	uint32		n = n_sampled(vectors, genie_value_shape_elements(shape));
	GenieQuantized *record = make_record(genie_quantized_bytes(shape.n_dimensions));
	GenieValueQuery *query = palloc(genie_value_query_bytes(shape.metric, shape.n_dimensions));
	double		sum = 0;

	for (uint32 v = 0; v < n; v++)
	{
		GenieVector a = sampled(vectors, v, n);
		GenieVector b = sampled(vectors, (v + 1) % n, n);
		double		distance = genie_vector_measure(shape.metric, a, b);
		uint32		key;

		CHECK_FOR_INTERRUPTS();
		genie_value_query(shape, a, query);
		genie_quantize(shape, b, record);
		genie_value_keys(query, record, 1, &key);
		if (distance > 0 && distance <= DBL_MAX)
			sum += 1 - genie_value_key_bound(key) / distance;
	}
	return sum;
}

typedef struct Elements
{
	uint32		n;
	double	   *sorted;
} Elements;

/* Some elements of all dimensions, less the centre, that are within a float's range. */
static Elements
elements_of(const Vectors *vectors, const GenieValueShape *shape)
{
	uint32		n = n_sampled(vectors, shape->n_dimensions);
	uint32		stride = (uint32) (((uint64) n * shape->n_dimensions + SAMPLED_ELEMENTS - 1) / SAMPLED_ELEMENTS);
	Elements	elements = {.sorted = palloc((n + (Size) SAMPLED_ELEMENTS) * sizeof(double))};

	for (uint32 v = 0; v < n; v++)
		for (uint32 i = v % stride; i < shape->n_dimensions; i += stride)
		{
			double		x = genie_quantized_element(*shape, sampled(vectors, v, n), 1, i);

			if (fabs(x) <= FLT_MAX / 4)
				elements.sorted[elements.n++] = x;
		}
	qsort(elements.sorted, elements.n, sizeof(double), compare_doubles);
	return elements;
}

/* Between two elements, or more: by steps that are a power of two. */
static void
set_range(GenieValueShape *shape, double least, double most, bool power)
{
	double		step = Max((most - least) / RANGE_STEPS, Max(Max(fabs(least), fabs(most)) * STEP_RELATIVE, STEP_MIN));

	if (power)
	{
		step = exp2(ceil(log2(step)));
		least = floor(least / step) * step;
		if (least + RANGE_STEPS * step < most)
			step *= 2;
	}
	shape->offset = (float) least;
	shape->step = (float) step;
}

/* The least and the largest element of a dimension, less the centre. */
static void
ends_of(const Vectors *vectors, GenieValueShape shape, uint32 dimension, double *least, double *most)
{
	uint32		n = n_sampled(vectors, shape.n_dimensions);

	*least = INFINITY;
	*most = -INFINITY;
	for (uint32 v = 0; v < n; v++)
	{
		double		x = genie_quantized_element(shape, sampled(vectors, v, n), 1, dimension);

		*least = Min(*least, x);
		*most = Max(*most, x);
	}
}

/* The shape with more codes for dimensions that are wider than its range.  False: there are none, or too many. */
static bool
split(const Vectors *vectors, GenieValueShape *shape)
{
	uint32		n = shape->n_dimensions;
	uint32		most_codes = Min(n + n / MORE_CODES + MORE_CODES_MIN, GENIE_VALUE_DIMENSIONS_MAX);
	GenieValuePart *parts = palloc(most_codes * sizeof(GenieValuePart));
	float	   *centre = palloc(n * sizeof(float));
	double		step = shape->step;
	double		width = RANGE_STEPS * step;
	uint32		n_codes = 0;

	for (uint32 i = 0; i < n; i++)
	{
		double		least;
		double		most;
		double		n_parts;

		CHECK_FOR_INTERRUPTS();
		ends_of(vectors, *shape, i, &least, &most);
		n_parts = Max(ceil((most - least) / width), 1);
		if (!(n_parts + (n - 1 - i) <= most_codes - n_codes))
			return false;
		centre[i] = shape->centre == NULL ? 0 : shape->centre[i];
		if (n_parts > 1)
		{
			double		spare = n_parts * width - (most - least);

			/* by whole steps, so that whole numbers stay some */
			centre[i] += (float) (floor((least - spare / 2 - shape->offset) / step) * step);
		}
		for (uint16 part = 0; part < n_parts; part++)
			parts[n_codes++] = (GenieValuePart) {(uint16) i, part};
	}
	shape->centre = centre;
	shape->parts = parts;
	shape->n_dimensions = n_codes;
	return n_codes > n;
}

/* The best range for the shape's centre; returns its slack. */
static double
find_range(const Vectors *vectors, bool may_split, GenieValueShape *shape)
{
	Elements	elements = elements_of(vectors, shape);
	const GenieValueShape whole = *shape;
	double		best = INFINITY;

	shape->step = 1;
	for (uint32 i = 0; i < (may_split ? 4 : 2) * lengthof(left_out) && elements.n > 0; i++)
	{
		uint32		out = (uint32) (left_out[i / 2 % lengthof(left_out)] * elements.n);
		bool		splits = i >= 2 * lengthof(left_out);
		GenieValueShape tried = whole;
		double		slack;

		set_range(&tried, elements.sorted[out], elements.sorted[elements.n - 1 - out], i % 2 == 1);
		if (splits && !split(vectors, &tried))
			continue;
		slack = slack_of(vectors, tried);
		/* more codes than dimensions must be worth it */
		if (slack < best * (splits && shape->parts == NULL ? WORTH : WORTH_OF_RANGE))
		{
			best = slack;
			*shape = tried;
		}
	}
	return best;
}

/* ---- parameters ---- */

typedef struct Range
{
	float		offset;
	float		step;
} Range;

static Size
centre_bytes(uint32 n_dimensions)
{
	return n_dimensions * sizeof(float);
}

/* Bytes of a centre and a range. */
static Size
range_bytes(uint32 n_dimensions)
{
	return centre_bytes(n_dimensions) + sizeof(Range);
}

/* What is learned.  Its centre is NULL where values are no finer by one. */
static GenieValueShape
learn(GenieMetric metric, uint32 n_dimensions, bool may_split, const GenieSample *sample)
{
	Vectors		vectors = vectors_of_sample(sample, n_dimensions);
	float	   *centre = palloc(n_dimensions * sizeof(float));
	GenieValueShape with = {.metric = metric, .n_dimensions = n_dimensions, .centre = centre};
	GenieValueShape without = {.metric = metric, .n_dimensions = n_dimensions};

	if (metric == GENIE_METRIC_L1)
	{
		double		slack = find_range(&vectors, may_split, &without);

		return median_of(&vectors, n_dimensions, centre) && find_range(&vectors, may_split, &with) < slack * WORTH ?
			with : without;
	}
	return mean_of(&vectors, metric, n_dimensions, centre) &&
		errors_of(&vectors, with) <= errors_of(&vectors, without) * (genie_rabitq_serves(metric) ? 1 : WORTH) ?
		with : without;
}

static bytea *
learn_all(const GenieLshClassParameters *parameters, GenieMetric metric, const GenieSample *sample)
{
	uint32		n = parameters->functions.n_dimensions;
	GenieValueShape shape = learn(metric, n, parameters->functions.family == GENIE_LSH_NONE, sample);
	Range		range = {shape.offset, shape.step};
	bool		is_l1 = metric == GENIE_METRIC_L1;
	Size		n_parts = shape.parts == NULL ? 0 : shape.n_dimensions * sizeof(GenieValuePart);
	Size		n_bytes = GENIE_PARAMETERS_MAX + (is_l1 ? range_bytes(n) + n_parts : centre_bytes(n));
	bytea	   *result;
	char	   *at;

	if (shape.centre == NULL && !is_l1)
		n_bytes = sizeof(*parameters);
	result = palloc0(VARHDRSZ + n_bytes);
	SET_VARSIZE(result, VARHDRSZ + n_bytes);
	memcpy(VARDATA(result), parameters, sizeof(*parameters));
	at = VARDATA(result) + GENIE_PARAMETERS_MAX;
	if (shape.centre != NULL)
		memcpy(at, shape.centre, centre_bytes(n));
	if (is_l1)
		memcpy(at + centre_bytes(n), &range, sizeof(range));
	if (n_parts > 0)
		memcpy(at + range_bytes(n), shape.parts, n_parts);
	return result;
}

bytea *
genie_vector_learn(const GenieLshClassParameters *parameters, GenieMetric metric, const GenieSample *sample)
{
	MemoryContext context;
	MemoryContext old;
	bytea	   *learned;
	bytea	   *result;

	if (metric == 0 || metric == GENIE_METRIC_HAMMING || sample->learned != NULL)
	{
		result = palloc(VARHDRSZ + sizeof(*parameters));
		SET_VARSIZE(result, VARHDRSZ + sizeof(*parameters));
		memcpy(VARDATA(result), parameters, sizeof(*parameters));
		return result;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "genie vector learn", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	learned = learn_all(parameters, metric, sample);
	MemoryContextSwitchTo(old);
	result = (bytea *) PG_DETOAST_DATUM_COPY(PointerGetDatum(learned));
	MemoryContextDelete(context);
	return result;
}

static Size
long_bytes(const bytea *parameters)
{
	Size		n = VARSIZE(parameters) - VARHDRSZ;

	return n <= GENIE_PARAMETERS_MAX ? 0 : n - GENIE_PARAMETERS_MAX;
}

/* The parts, and how many: 0 and NULL if there are none. */
static const GenieValuePart *
learned_parts(const bytea *parameters, uint32 n_dimensions, Size *n)
{
	*n = 0;
	if (long_bytes(parameters) <= range_bytes(n_dimensions))
		return NULL;
	*n = (long_bytes(parameters) - range_bytes(n_dimensions)) / sizeof(GenieValuePart);
	return (const GenieValuePart *) (VARDATA(parameters) + GENIE_PARAMETERS_MAX + range_bytes(n_dimensions));
}

/* Are these the parts of so many dimensions, one after the other? */
static bool
parts_valid(const GenieValuePart *parts, Size n, uint32 n_dimensions)
{
	if (n > GENIE_VALUE_DIMENSIONS_MAX || parts[0].dimension != 0 || parts[0].part != 0 ||
		parts[n - 1].dimension + 1u != n_dimensions)
		return false;
	for (Size i = 1; i < n; i++)
	{
		bool		same = parts[i].dimension == parts[i - 1].dimension;

		if (same ? parts[i].part != parts[i - 1].part + 1 :
			parts[i].dimension != parts[i - 1].dimension + 1 || parts[i].part != 0)
			return false;
	}
	return true;
}

bool
genie_vector_learned_valid(const bytea *parameters, uint32 n_dimensions)
{
	Size		n = long_bytes(parameters);
	Size		n_parts;
	const GenieValuePart *parts = learned_parts(parameters, n_dimensions, &n_parts);

	if (n_parts > 0)
		return n == range_bytes(n_dimensions) + n_parts * sizeof(GenieValuePart) &&
			parts_valid(parts, n_parts, n_dimensions);
	return n == 0 || n == centre_bytes(n_dimensions) || n == range_bytes(n_dimensions);
}

GenieValueShape
genie_vector_learned(const bytea *parameters, GenieMetric metric, uint32 n_dimensions)
{
	GenieValueShape shape = {.metric = metric, .n_dimensions = n_dimensions};
	const char *learned = VARDATA(parameters) + GENIE_PARAMETERS_MAX;
	Range		range;
	Size		n_parts;

	if (long_bytes(parameters) == 0)
		return shape;
	shape.centre = (const float *) learned;
	if (metric == GENIE_METRIC_L1 && long_bytes(parameters) > centre_bytes(n_dimensions))
	{
		memcpy(&range, learned + centre_bytes(n_dimensions), sizeof(range));
		shape.offset = range.offset;
		shape.step = range.step;
		shape.parts = learned_parts(parameters, n_dimensions, &n_parts);
		if (shape.parts != NULL)
			shape.n_dimensions = (uint32) n_parts;
	}
	return shape;
}

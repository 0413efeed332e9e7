/*
 * test_quantized.c
 *	  Lower bounds of distances from quantized vectors: never above the measure, by each kernel and for vectors of which
 *	  floats and bytes say little; close to it where they say much; unknown where they say nothing; the same by several
 *	  threads; vectors that records tell, as near as they say.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "genie_posting.h"
#include "genie_engine_cpu.h"
#include "genie_test.h"
#include "genie_test_parts.h"

#define DIMENSIONS_MAX 2000
#define ROWS 12
#define QUERIES 6
#define VECTORS (ROWS + QUERIES)
#define UNALIGNED 1				/* bytes: vectors' elements may lie anywhere */

typedef enum Data
{
	PLAIN,						/* within +-1 */
	POSITIVE,					/* whole numbers, 0 .. 218 */
	NEGATIVE,
	HALVES,						/* where codes are decided */
	FAR,						/* a huge offset, a tiny spread */
	LARGE,						/* squares overflow, of the largest also differences */
	SMALL,						/* squares vanish in floats */
	DENORMAL,
	MIXED,						/* all exponents */
	SPIKES,						/* one large element, so that the others have one code */
	CONSTANT,					/* each vector of one number */
	SAME,						/* all vectors are the same but for a last bit */
	ZEROS,						/* the first row is zeros, and every other query */
	DOUBLE_LARGE,				/* beyond floats, of doubles only */
	DOUBLE_SMALL,				/* below floats, of doubles only */
	N_DATA
} Data;

static const uint32_t dimensions[] = {1, 2, 3, 15, 16, 17, 31, 127, 128, 129, 1156, DIMENSIONS_MAX};

static uint8_t bytes[VECTORS][DIMENSIONS_MAX * sizeof(double) + UNALIGNED];
static GenieVector vectors[VECTORS];	/* rows, then queries */

/* ---- vectors ---- */

static void
set_element(uint32_t v, uint32_t i, double value)
{
	uint8_t    *at = bytes[v] + UNALIGNED;
	float		narrow = (float) value;

	if (vectors[v].is_double)
		memcpy(at + i * sizeof(value), &value, sizeof(value));
	else
		memcpy(at + i * sizeof(narrow), &narrow, sizeof(narrow));
}

static double
draw(GenieRandom *random, Data data, uint32_t v, uint32_t i)
{
	double		plain = (double) (int64_t) genie_random(random) / 9.3e18;

	switch (data)
	{
		case POSITIVE:
			return (double) genie_random_below(random, 219);
		case NEGATIVE:
			return -7 + plain;
		case HALVES:
			return i == 0 ? 0 : i == 1 ? 255 : (double) genie_random_below(random, 255) + 0.5;
		case FAR:
			return (v % 3 == 0 ? -1 : 1) * 1e7 + plain * 4;
		case LARGE:
			return plain * (v % 2 == 0 ? 1e19 : FLT_MAX);
		case SMALL:
			return ldexp(plain, -75);
		case DENORMAL:
			return ldexp(plain, -140);
		case MIXED:
			return ldexp(plain, (int) genie_random_below(random, 250) - 125);
		case SPIKES:
			return i == v ? 1e6 : plain;
		case CONSTANT:
			return v * 0.1 - 0.3;
		case SAME:
			return (1 + i % 5) * 0.7 + (i == v ? 1e-7 : 0);
		case ZEROS:
			return v == 0 || (v >= ROWS && v % 2 == 0) ? 0 : plain;
		case DOUBLE_LARGE:
			return ldexp(plain, v % 2 == 0 ? 126 + (int) genie_random_below(random, 4) : 1000);
		case DOUBLE_SMALL:
			return ldexp(plain, -(int) genie_random_below(random, 1070));
		default:
			return plain;
	}
}

static void
fill(GenieRandom *random, Data data, bool is_double, uint32_t n_dimensions)
{
	for (uint32_t v = 0; v < VECTORS; v++)
	{
		vectors[v] = (GenieVector) {bytes[v] + UNALIGNED, n_dimensions, is_double};
		for (uint32_t i = 0; i < n_dimensions; i++)
			set_element(v, i, draw(random, data, v, i));
	}
}

/* ---- records, queries, bounds ---- */

/* Records and queries may be less a centre: of no vector, of the first one, or anywhere. */
static float elements_of_centre[DIMENSIONS_MAX];
static const float *centre;

/* L1: records may be of one range. */
static float step;
static bool own_ranges;
static uint32_t n_parts;		/* 0: dimensions have none, as without a centre */
static GenieValuePart parts[PARTS_MAX * DIMENSIONS_MAX];

static void
choose_shape(GenieRandom *random)
{
	bool		is_near = genie_random_below(random, 2) == 0;
	double		length = sqrt(genie_vector_measure(GENIE_METRIC_INNER, vectors[0], vectors[0]));

	centre = genie_random_below(random, 2) == 0 ? NULL : elements_of_centre;
	for (uint32_t i = 0; i < vectors[0].n; i++)
	{
		double		x = genie_vector_element(vectors[0], i) / (vectors[0].n % 2 == 0 && length > 0 ? length : 1);

		if (!is_near)
			x = ldexp((double) (int64_t) genie_random(random) / 9.3e18, (int) genie_random_below(random, 250) - 125);
		elements_of_centre[i] = fabs(x) <= FLT_MAX ? (float) x : 0;
	}
	step = genie_random_below(random, 2) == 0 ? 0 : (float) ldexp(1, (int) genie_random_below(random, 40) - 30);
	own_ranges = genie_random_below(random, 2) == 0;
	n_parts = genie_random_below(random, 2) == 0 ? 0 : genie_test_parts(random, vectors[0].n, parts);
}

static GenieValueShape
shape_of(GenieMetric metric)
{
	GenieValueShape shape = {.metric = metric, .n_dimensions = vectors[0].n, .centre = centre};

	if (metric == GENIE_METRIC_L1)
	{
		shape.offset = -100 * step;
		shape.step = step;
		shape.own_ranges = own_ranges;
	}
	if (metric == GENIE_METRIC_L1 && step > 0 && n_parts > 0 && centre != NULL)
	{
		shape.parts = parts;
		shape.n_dimensions = n_parts;
	}
	return shape;
}

/* A segment of all rows, and of one object whose vector is not known; queries. */
typedef struct Quantized
{
	uint8_t    *records;
	const void *tiles[1];
	float	   *elements;
	GenieQuantizedVectors vectors;
	GenieQuantizedQuery queries[QUERIES];
} Quantized;

#define UNKNOWN ROWS			/* the object whose vector is not known */
#define HITS (ROWS + 3)

static const GenieQuantized *
record_of(const Quantized *quantized, uint32_t object)
{
	return (const void *) (quantized->records + object * genie_quantized_bytes(quantized->vectors.n_dimensions));
}

/* Memory is as large as it must be, for the sanitizer to notice what is read or written behind it. */
static void
quantize(Quantized *quantized, GenieMetric metric)
{
	uint32_t	n_dimensions = shape_of(metric).n_dimensions;
	size_t		n_bytes = genie_quantized_bytes(n_dimensions);
	uint32_t	n_elements = genie_quantized_elements(n_dimensions);

	CHECK(n_bytes % GENIE_QUANTIZED_ALIGN == 0 && n_bytes >= sizeof(GenieQuantized) + n_dimensions);
	CHECK(n_elements % GENIE_QUANTIZED_ALIGN == 0 && n_elements >= n_dimensions);
	quantized->records = malloc((ROWS + 1) * n_bytes);
	memset(quantized->records, 0xAA, (ROWS + 1) * n_bytes);
	for (uint32_t r = 0; r < ROWS; r++)
		genie_quantize(shape_of(metric), vectors[r], quantized->records + r * n_bytes);
	genie_quantize_unknown(n_dimensions, quantized->records + UNKNOWN * n_bytes);
	quantized->tiles[0] = quantized->records;
	quantized->vectors = genie_vectors(1, metric, n_dimensions, ROWS + 1, quantized->tiles);

	quantized->elements = malloc(QUERIES * n_elements * sizeof(float));
	memset(quantized->elements, 0xAA, QUERIES * n_elements * sizeof(float));
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		float	   *elements = quantized->elements + q * n_elements;

		quantized->queries[q].elements = elements;
		quantized->queries[q].error = genie_quantized_query(shape_of(metric), vectors[ROWS + q], elements);
	}
}

static void
free_quantized(Quantized *quantized)
{
	free(quantized->records);
	free(quantized->elements);
}

/* Bounds of all rows and, behind them, of what there is nothing known of. */
static void
bounds_of(const GenieQuantizedKernel *kernel, const Quantized *quantized, uint32_t query, float *bounds)
{
	GenieHit	hits[HITS];

	for (uint32_t i = 0; i < HITS; i++)
		hits[i] = (GenieHit) {.key = 1, .object = i};
	hits[ROWS].object = UNKNOWN;
	hits[ROWS + 1].object = ROWS + 1;
	hits[ROWS + 2].object = UINT32_MAX;
	for (uint32_t i = 0; i < HITS; i++)
		bounds[i] = NAN;
	if (kernel == NULL)
		genie_quantized_bounds(&quantized->vectors, &quantized->queries[query], hits, HITS, bounds);
	else
		genie_quantized_bounds_by(kernel, &quantized->vectors, &quantized->queries[query], hits, HITS, bounds);
}

/* The kernel's distance is the portable one's, but for what each may be wrong. */
static bool
agree(const GenieQuantizedKernel *kernel, const Quantized *quantized, uint32_t query, uint32_t row)
{
	bool		differences = quantized->vectors.metric == GENIE_METRIC_L1;
	uint32_t	n = quantized->vectors.n_dimensions;
	const float *elements = quantized->queries[query].elements;
	const GenieQuantized *record = record_of(quantized, row);
	double		a = genie_quantized_portable.sum(differences, elements, record, n);
	double		b = kernel->sum(differences, elements, record, n);

	if (!isfinite(a) || !isfinite(b))
		return true;
	if (!differences)
	{
		a = sqrt(a);
		b = sqrt(b);
	}
	return fabs(a - b) <= 2 * (double) record->error + (n + 16) * 0x1p-23 * a;
}

/* The measure of vectors of floats, by sums in floats, as pgvector does it. */
static double
measure_in_floats(GenieMetric metric, GenieVector a, GenieVector b)
{
	float		sum = 0;
	float		x_squares = 0;
	float		y_squares = 0;

	for (uint32_t i = 0; i < a.n; i++)
	{
		float		x;
		float		y;

		memcpy(&x, (const char *) a.elements + i * sizeof(x), sizeof(x));
		memcpy(&y, (const char *) b.elements + i * sizeof(y), sizeof(y));
		sum += metric == GENIE_METRIC_L2 ? (x - y) * (x - y) : metric == GENIE_METRIC_L1 ? fabsf(x - y) : x * y;
		x_squares += x * x;
		y_squares += y * y;
	}
	if (metric != GENIE_METRIC_COSINE)
		return metric == GENIE_METRIC_L2 ? sqrt(sum) : sum;
	return 1 - fmax(fmin(sum / sqrt((double) x_squares * y_squares), 1), -1);
}

/* Vectors that records tell are as near to theirs as these say. */
static void
check_vectors(const Quantized *quantized)
{
	GenieMetric metric = quantized->vectors.metric;
	uint32_t	n = vectors[0].n;
	float	   *elements = malloc(n * sizeof(float));
	bool		near = true;

	for (uint32_t r = 0; r < ROWS; r++)
	{
		const GenieQuantized *record = record_of(quantized, r);
		double		factor = genie_quantized_factor(metric, vectors[r]);
		double		sum = 0;
		double		rounded = 0;	/* elements are floats */

		if (isinf(record->error))
			continue;
		genie_quantized_vector(shape_of(metric), record, elements);
		for (uint32_t i = 0; i < n; i++)
		{
			double		x = genie_vector_element(vectors[r], i) * factor;
			double		lost = fmax(fmin(x, FLT_MAX), -FLT_MAX) - elements[i];

			sum += metric == GENIE_METRIC_L1 ? fabs(lost) : lost * lost;
			rounded += centre != NULL ? fabs((double) elements[i]) * 0x1p-24 + 0x1p-150 : 0;
		}
		near = near && (metric == GENIE_METRIC_L1 ? sum : sqrt(sum)) <= record->error + rounded;
	}
	if (!CHECK(near))
		printf("  metric %d, %s, %u dimensions\n", (int) metric, vectors[0].is_double ? "double" : "float", n);
	free(elements);
}

/* No bound of the vectors is above the measure, by no kernel. */
static void
check_bounds(GenieMetric metric, Data data)
{
	Quantized	quantized;

	quantize(&quantized, metric);
	check_vectors(&quantized);
	for (uint32_t k = 0; genie_quantized_nth(k) != NULL; k++)
		for (uint32_t q = 0; q < QUERIES; q++)
		{
			bool		below = true;
			bool		same = true;
			float		bounds[HITS];

			bounds_of(genie_quantized_nth(k), &quantized, q, bounds);
			for (uint32_t r = 0; r < ROWS; r++)
			{
				double		measure = genie_vector_measure(metric, vectors[r], vectors[ROWS + q]);

				if (!vectors[r].is_double)
					measure = fmin(measure, measure_in_floats(metric, vectors[r], vectors[ROWS + q]));
				below = below && bounds[r] >= 0 && (bounds[r] == 0 || bounds[r] <= measure);
				same = same && agree(genie_quantized_nth(k), &quantized, q, r);
			}
			CHECK(same);
			CHECK(bounds[ROWS] == 0 && bounds[ROWS + 1] == 0 && bounds[ROWS + 2] == 0);
			if (!CHECK(below))
				printf("  %s, metric %d, data %d, %s, %u dimensions\n", genie_quantized_nth(k)->name, (int) metric,
					   (int) data, vectors[0].is_double ? "double" : "float", vectors[0].n);
		}
	free_quantized(&quantized);
}

static void
test_bounds(void)
{
	GenieRandom random = {1};

	for (int data = 0; data < N_DATA; data++)
		for (uint32_t i = 0; i < 2 * sizeof(dimensions) / sizeof(dimensions[0]); i++)
			for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_COSINE; metric++)
			{
				fill(&random, data, i % 2 == 1, dimensions[i / 2]);
				choose_shape(&random);
				check_bounds(metric, data);
				centre = NULL;
				step = 0;
			}
}

/* ---- how near to the measure ---- */

/* Of data that bytes describe well: the average of bound / measure by each kernel, which then differ little. */
static void
check_tight(GenieMetric metric, double at_least)
{
	Quantized	quantized;
	float		best[HITS];

	quantize(&quantized, metric);
	for (uint32_t q = 0; q < QUERIES; q++)
		CHECK(quantized.queries[q].error <= (vectors[0].is_double || metric == GENIE_METRIC_COSINE ? 1e-5f : 0));
	for (uint32_t k = 0; genie_quantized_nth(k) != NULL; k++)
	{
		double		sum = 0;

		for (uint32_t q = 0; q < QUERIES; q++)
		{
			float		bounds[HITS];

			bounds_of(genie_quantized_nth(k), &quantized, q, bounds);
			bounds_of(NULL, &quantized, q, best);
			for (uint32_t r = 0; r < ROWS; r++)
			{
				sum += bounds[r] / genie_vector_measure(metric, vectors[r], vectors[ROWS + q]);
				CHECK(fabsf(bounds[r] - best[r]) <= 1e-4 * best[r]);
			}
		}
		if (!CHECK(sum / (ROWS * QUERIES) >= at_least))
			printf("  %s, metric %d: %f\n", genie_quantized_nth(k)->name, (int) metric, sum / (ROWS * QUERIES));
	}
	free_quantized(&quantized);
}

static void
test_tight(void)
{
	GenieRandom random = {2};

	for (int is_double = 0; is_double <= 1; is_double++)
		for (uint32_t n = 120; n <= 136; n++)
		{
			fill(&random, POSITIVE, is_double, n);
			check_tight(GENIE_METRIC_L2, 0.97);
			check_tight(GENIE_METRIC_L1, 0.97);
			check_tight(GENIE_METRIC_COSINE, 0.95);
			fill(&random, PLAIN, is_double, n);
			check_tight(GENIE_METRIC_L2, 0.97);
			check_tight(GENIE_METRIC_L1, 0.97);
			check_tight(GENIE_METRIC_COSINE, 0.95);
		}

	/* what codes say exactly costs roundings only */
	fill(&random, CONSTANT, false, 128);
	check_tight(GENIE_METRIC_L2, 0.9999);
}

/* ---- what is not known ---- */

/* A row and a query with this element: no bounds of either, and those of the others as they were. */
static void
check_unknown(GenieMetric metric, uint32_t i, double value)
{
	Quantized	quantized;
	float		bounds[HITS];

	set_element(0, i, value);
	set_element(ROWS, i, value);
	quantize(&quantized, metric);
	CHECK(record_of(&quantized, 0)->error == INFINITY);
	CHECK(quantized.queries[0].error == INFINITY);
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		bounds_of(NULL, &quantized, q, bounds);
		CHECK(bounds[0] == 0);
		for (uint32_t r = 1; r < ROWS; r++)
			CHECK(q == 0 ? bounds[r] == 0 : bounds[r] > 0);
	}
	free_quantized(&quantized);
}

static void
test_unknown(void)
{
	static const double values[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300};
	GenieRandom random = {3};

	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_COSINE; metric++)
		for (uint32_t i = 0; i < 3 * 37; i++)
			for (uint32_t j = 0; j < sizeof(values) / sizeof(values[0]); j++)
			{
				bool		is_double = j >= 3 || i % 2 == 0;

				fill(&random, PLAIN, is_double, 37);
				check_unknown(metric, i / 3, values[j]);
			}

	/* a zero vector has no direction, but a distance */
	for (int is_double = 0; is_double <= 1; is_double++)
	{
		fill(&random, PLAIN, is_double, 37);
		for (uint32_t i = 0; i < 37; i++)
		{
			set_element(0, i, 0);
			set_element(ROWS, i, 0);
		}
		check_unknown(GENIE_METRIC_COSINE, 0, 0);
	}
	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_L1; metric++)
	{
		Quantized	quantized;
		float		bounds[HITS];

		fill(&random, ZEROS, false, 20);
		quantize(&quantized, metric);
		bounds_of(NULL, &quantized, 0, bounds);
		CHECK(bounds[0] == 0 && bounds[1] > 0);
		bounds_of(NULL, &quantized, 1, bounds);
		CHECK(bounds[0] > 0 && bounds[1] > 0);
		free_quantized(&quantized);
	}
}

/* ---- many, by threads ---- */

#define MANY_DIMENSIONS 20
#define MANY_OBJECTS (GENIE_TILE_OBJECTS + 1000)
#define MANY_JOBS 300
#define MANY_HITS 60000			/* of the largest job */

/* Two tiles of a segment, of which the caller frees the tiles. */
static void
make_many(GenieQuantizedVectors *many, const void **tiles, GenieRandom *random)
{
	size_t		n_bytes = genie_quantized_bytes(MANY_DIMENSIONS);
	uint32_t	n = GENIE_TILE_OBJECTS;

	for (uint32_t t = 0; t < 2; t++)
	{
		uint8_t    *records = malloc(n * n_bytes);

		for (uint32_t i = 0; i < n; i++)
		{
			if (i % ROWS == 0)
				fill(random, PLAIN, false, MANY_DIMENSIONS);
			genie_quantize(shape_of(GENIE_METRIC_L2), vectors[i % ROWS], records + i * n_bytes);
		}
		tiles[t] = records;
		n = MANY_OBJECTS - GENIE_TILE_OBJECTS;
	}
	*many = genie_vectors(1, GENIE_METRIC_L2, MANY_DIMENSIONS, MANY_OBJECTS, tiles);
}

/* Jobs of many sizes, some of no hits, and one of most; wanted: their bounds by the caller. */
static void
make_jobs(const GenieQuantizedVectors *many, const Quantized *queries, GenieBoundsJob *jobs, float **wanted,
		  GenieRandom *random)
{
	for (uint32_t j = 0; j < MANY_JOBS; j++)
	{
		uint32_t	n = j == 7 ? MANY_HITS : j % 10 < 3 ? 0 : (uint32_t) genie_random_below(random, 2000);
		GenieHit   *hits = malloc((n + 1) * sizeof(GenieHit));

		for (uint32_t i = 0; i < n; i++)
			hits[i] = (GenieHit) {1, (uint32_t) genie_random_below(random, MANY_OBJECTS + 10)};
		jobs[j] = (GenieBoundsJob) {*many, queries->queries[j % QUERIES], hits, n, malloc((n + 1) * sizeof(float))};
		wanted[j] = malloc((n + 1) * sizeof(float));
		genie_quantized_bounds(many, &jobs[j].query, hits, n, wanted[j]);
	}
}

static uint32_t calls_left;		/* of the callback, until it says stop */

static bool
interrupt_after_some(void)
{
	return calls_left == 0 || --calls_left == 0;
}

/* Either it was stopped, or all bounds are there, and nothing behind them is written. */
static bool
check_jobs(GenieEngine *engine, const GenieBoundsJob *jobs, uint32_t n_jobs, float *const *wanted)
{
	bool		same = true;

	for (uint32_t j = 0; j < n_jobs; j++)
		for (uint32_t i = 0; i <= jobs[j].n; i++)
			jobs[j].bounds[i] = -1;
	if (!genie_cpu_engine_bounds(engine, jobs, n_jobs))
		return false;
	for (uint32_t j = 0; j < n_jobs; j++)
		same = same && memcmp(jobs[j].bounds, wanted[j], jobs[j].n * sizeof(float)) == 0 &&
			jobs[j].bounds[jobs[j].n] == -1;
	CHECK(same);
	return true;
}

static void
test_threads(void)
{
	static const uint32_t threads[] = {1, 2, 5};
	static const void *tiles[2];
	static GenieBoundsJob jobs[MANY_JOBS];
	static float *wanted[MANY_JOBS];
	GenieRandom random = {4};
	GenieQuantizedVectors many;
	Quantized	queries;
	void	   *memory = NULL;
	GenieEngine *engine;

	if (!CHECK(posix_memalign(&memory, 64, genie_cpu_engine_size()) == 0))
		return;
	engine = genie_cpu_engine_open(memory);
	make_many(&many, tiles, &random);
	quantize(&queries, GENIE_METRIC_L2);
	make_jobs(&many, &queries, jobs, wanted, &random);
	for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++)
	{
		CHECK_INT(genie_cpu_engine_threads(engine, threads[t]), threads[t]);
		CHECK(check_jobs(engine, jobs, 0, wanted));
		CHECK(check_jobs(engine, jobs, 7, wanted));
		for (uint32_t round = 0; round < 5; round++)
			CHECK(check_jobs(engine, jobs, MANY_JOBS, wanted));
		engine->interrupted = interrupt_after_some;
		for (uint32_t stop = 1; stop <= 3; stop++)
		{
			/* other threads may have done all before this one has asked so often */
			calls_left = stop;
			CHECK(!check_jobs(engine, jobs, MANY_JOBS, wanted) || threads[t] > 1);
		}
		calls_left = UINT32_MAX;
		CHECK(check_jobs(engine, jobs, MANY_JOBS, wanted));
		engine->interrupted = NULL;
	}
	engine->ops->close(engine);
	for (uint32_t j = 0; j < MANY_JOBS; j++)
	{
		free((void *) jobs[j].hits);
		free(jobs[j].bounds);
		free(wanted[j]);
	}
	free_quantized(&queries);
	free((void *) tiles[0]);
	free((void *) tiles[1]);
	free(memory);
}

/* ---- bounds within a window ---- */

#define WINDOW_MAX 200

static bool
is_within(float bound, float above, float upto)
{
	return bound > above && bound <= upto;
}

static void
check_within(const GenieQuantizedKernel *kernel, const float *bounds, uint32_t n, float above, float upto)
{
	uint32_t	places[WINDOW_MAX + 1];
	uint32_t	n_places;
	uint32_t	at = 0;
	bool		same = true;

	places[n] = 4711;			/* nobody writes behind n places */
	n_places = kernel->within(bounds, n, above, upto, places);
	for (uint32_t i = 0; i < n; i++)
		if (is_within(bounds[i], above, upto))
			same = at < n_places && places[at++] == i && same;
	if (!CHECK(same && at == n_places && places[n] == 4711))
		printf("  %s, %u bounds, above %g up to %g\n", kernel->name, n, (double) above, (double) upto);
}

/* Few values, so that many bounds are equal to the window's. */
static void
test_within(void)
{
	static const float values[] = {0, FLT_MIN, 1, 2, 3, FLT_MAX, INFINITY};
	uint32_t	n_values = sizeof(values) / sizeof(values[0]);
	GenieRandom random = {9};
	float		bounds[WINDOW_MAX];

	for (uint32_t n = 0; n <= WINDOW_MAX; n += n < 70 ? 1 : 13)
	{
		for (uint32_t i = 0; i < n; i++)
			bounds[i] = values[genie_random(&random) % n_values];
		for (uint32_t k = 0; genie_quantized_nth(k) != NULL; k++)
			for (uint32_t upto = 0; upto < n_values; upto++)
			{
				check_within(genie_quantized_nth(k), bounds, n, -1, values[upto]);
				for (uint32_t above = 0; above < n_values; above++)
					check_within(genie_quantized_nth(k), bounds, n, values[above], values[upto]);
			}
	}
	CHECK_INT(genie_quantized_within(values, n_values, -1, INFINITY, (uint32_t[7]) {0}), n_values);
}

int
main(void)
{
	CHECK(genie_quantized_nth(0) == &genie_quantized_portable);
	test_bounds();
	test_tight();
	test_unknown();
	test_threads();
	test_within();
	return genie_test_end();
}

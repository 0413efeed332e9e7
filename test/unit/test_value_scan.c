/*
 * test_value_scan.c
 *	  Keys of quantized vectors: the same by every kernel; bounds never above the measure, in doubles or in pgvector's
 *	  floats, for vectors of which floats and bytes say little; close to it where they say much; keys and bounds in the
 *	  same order, and back.  What many queries are offered is what their keys say.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "genie_test.h"
#include "genie_test_parts.h"
#include "genie_value_filter.h"
#include "genie_value_offer.h"
#include "genie_value_scan.h"

#define DIMENSIONS_MAX 4096
#define ROWS 45					/* not a multiple of a group of records */
#define QUERIES 19				/* not a multiple of what a filter takes together */
#define VECTORS (ROWS + QUERIES)
#define UNALIGNED 1				/* bytes: vectors' elements may lie anywhere */

typedef enum Data
{
	PLAIN,						/* within +-1 */
	POSITIVE,					/* whole numbers, 0 .. 218 */
	FAR,						/* a huge offset, near duplicates */
	FAR_AND_WIDE,
	DUPLICATES,					/* the same but for a tenth of an element */
	SPIKES,						/* three dimensions are 50 times larger */
	SPARSE,						/* mostly zeros */
	CONSTANT,					/* each vector of one number */
	SAME,						/* all vectors are the same */
	LARGE,						/* squares overflow in floats */
	HUGE_SUMS,					/* partial sums of products overflow in floats, the whole might not */
	SMALL,						/* squares vanish in floats */
	DENORMAL,
	MIXED,						/* all exponents */
	WHOLE,						/* large whole numbers: sums beyond 2^24 */
	ZEROS,						/* every other vector is zeros */
	BEYOND,						/* beyond and below floats, of doubles only */
	NOT_FINITE,					/* an element of some vectors */
	N_DATA
} Data;

static const uint32_t dimensions[] = {
	1, 2, 3, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 200, 768, 1156, DIMENSIONS_MAX
};

static uint8_t bytes[VECTORS][DIMENSIONS_MAX * sizeof(double) + UNALIGNED];
static GenieVector vectors[VECTORS];	/* rows, then queries */
static uint64_t n_pairs;
static uint64_t n_unwanted;		/* records of ordinary vectors that a filter was asked for and that are not wanted, */
static uint64_t n_passed_over;	/* and of these, those that it passes over */

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
plain_of(GenieRandom *random)
{
	return (double) (int64_t) genie_random(random) / 9.3e18;
}

static double
draw(GenieRandom *random, Data data, uint32_t v, uint32_t i)
{
	static const double not_finite[] = {NAN, INFINITY, -INFINITY};
	double		plain = plain_of(random);

	switch (data)
	{
		case POSITIVE:
			return (double) genie_random_below(random, 219);
		case FAR:
			return 1e6 + i % 5 + plain * 1e-2;
		case FAR_AND_WIDE:
			return (v % 3 == 0 ? -1 : 1) * 1e6 + plain * 100;
		case DUPLICATES:
			return sin(i * 12.9) + (i == v ? 0.1 : 0);
		case SPIKES:
			return i % 256 == 7 ? 50 * plain : plain;
		case SPARSE:
			return genie_random_below(random, 20) == 0 ? plain : 0;
		case CONSTANT:
			return v * 0.1 - 0.3;
		case SAME:
			return (1 + i % 5) * 0.7;
		case LARGE:
			return plain * (v % 2 == 0 ? 1e19 : FLT_MAX);
		case HUGE_SUMS:
			return (i % 2 == 0 ? 1 : -1) * (1 + plain * 1e-3) * 1.5e19;
		case SMALL:
			return ldexp(plain, -75);
		case DENORMAL:
			return ldexp(plain, -140);
		case MIXED:
			return ldexp(plain, (int) genie_random_below(random, 250) - 125);
		case WHOLE:
			return (double) genie_random_below(random, 1 << 20) * 16;
		case ZEROS:
			return v % 2 == 0 ? 0 : plain;
		case BEYOND:
			return v % 2 == 0 ? ldexp(plain, 124 + (int) genie_random_below(random, 6)) : ldexp(plain, -300);
		case NOT_FINITE:
			return i == v % vectors[v].n && v % 4 != 3 ? not_finite[v % 4] : plain;
		default:
			return plain;
	}
}

/* Records and queries may be less a centre: of no vector, of the first one, or anywhere. */
static float elements_of_centre[DIMENSIONS_MAX];
static const float *centre;

/* that of L1 */
static struct
{
	float		offset;
	float		step;
	bool		has_all;		/* vectors */
	bool		own;			/* records may have one of their own */
	uint32_t	n_parts;		/* 0: dimensions have none, as without a centre */
	GenieValuePart parts[PARTS_MAX * DIMENSIONS_MAX];
}			range;

static GenieValueShape
shape_of(GenieMetric metric)
{
	GenieValueShape shape = {.metric = metric, .n_dimensions = vectors[0].n, .centre = centre};

	if (metric == GENIE_METRIC_L1 || metric == GENIE_METRIC_PIVOTS)
	{
		shape.offset = range.offset;
		shape.step = range.step;
		shape.own_ranges = range.own;
		shape.tolerance = 0x1p-40;
	}
	if (metric == GENIE_METRIC_PIVOTS)
	{
		shape.n_dimensions *= GENIE_VALUE_PIVOT_BYTES;
		shape.step = fmaxf(range.step * 255 / GENIE_VALUE_PIVOT_MAX, FLT_MIN);
	}
	if (metric == GENIE_METRIC_L1 && range.n_parts > 0 && centre != NULL)
	{
		shape.parts = range.parts;
		shape.n_dimensions = range.n_parts;
	}
	return shape;
}

/* The range of all vectors, less the centre, or such a part of it. */
static void
fit_range(double part)
{
	double		least = INFINITY;
	double		most = -INFINITY;

	for (uint32_t v = 0; v < VECTORS; v++)
		for (uint32_t i = 0; i < vectors[v].n; i++)
		{
			double		x = genie_quantized_element(shape_of(GENIE_METRIC_L2), vectors[v], 1, i);

			if (fabs(x) > FLT_MAX / 4 || isnan(x))
				continue;
			least = fmin(least, x);
			most = fmax(most, x);
		}
	range.offset = isfinite(least) ? (float) (least + (most - least) * (1 - part) / 2) : 0;
	range.step = most > least ? fmaxf((float) ((most - least) * part / 255), FLT_MIN) : 1;
	range.has_all = part == 1;
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
	fit_range(1);
}

/* ---- measures ---- */

/* What is ranked: a distance, or the negative inner product. */
static double
measure_of(GenieMetric metric, GenieVector a, GenieVector b)
{
	double		measure = genie_vector_measure(metric, a, b);

	return metric == GENIE_METRIC_INNER ? -measure : measure;
}

/* The same of vectors of floats by sums in floats, as pgvector does it, in n_lanes lanes. */
static double
measure_in_floats(GenieMetric metric, GenieVector a, GenieVector b, uint32_t n_lanes)
{
	float		sums[8] = {0};
	float		x_squares = 0;
	float		y_squares = 0;
	float		sum = 0;

	for (uint32_t i = 0; i < a.n; i++)
	{
		float		x = (float) genie_vector_element(a, i);
		float		y = (float) genie_vector_element(b, i);

		sums[i % n_lanes] += metric == GENIE_METRIC_L2 ? (x - y) * (x - y) :
			metric == GENIE_METRIC_L1 ? fabsf(x - y) : x * y;
		x_squares += x * x;
		y_squares += y * y;
	}
	for (uint32_t l = 0; l < n_lanes; l++)
		sum += sums[l];
	if (metric == GENIE_METRIC_COSINE)
		return 1 - fmax(fmin(sum / sqrt((double) x_squares * y_squares), 1), -1);
	return metric == GENIE_METRIC_L2 ? sqrt(sum) : metric == GENIE_METRIC_INNER ? -sum : sum;
}

/* ---- records, queries, keys ---- */

/* The range may be that of the vectors, a part of it, or anything. */
static void
choose_range(GenieRandom *random)
{
	range.own = genie_random_below(random, 2) == 0;
	range.n_parts = genie_random_below(random, 2) == 0 ? 0 : genie_test_parts(random, vectors[0].n, range.parts);
	if (genie_random_below(random, 4) > 0)
		fit_range(genie_random_below(random, 2) == 0 ? 1 : 0.4);
	else
	{
		range.offset = (float) ldexp(plain_of(random), (int) genie_random_below(random, 200) - 100);
		range.step = (float) ldexp(1 + fabs(plain_of(random)), (int) genie_random_below(random, 200) - 125);
		range.has_all = false;
	}
}

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
	choose_range(random);
}

static uint8_t *
make_records(GenieMetric metric)
{
	uint32_t	n_dimensions = shape_of(metric).n_dimensions;
	size_t		n_bytes = genie_quantized_bytes(n_dimensions);
	uint8_t    *records = malloc((ROWS + 1) * n_bytes);

	for (uint32_t r = 0; r < ROWS; r++)
		genie_quantize(shape_of(metric), vectors[r], records + r * n_bytes);
	genie_quantize_unknown(n_dimensions, records + ROWS * n_bytes);
	return records;
}

/* Memory is as large as it must be, for the sanitizer to notice what is read or written behind it. */
static GenieValueQuery *
make_query(GenieMetric metric, GenieVector vector)
{
	size_t		n_bytes = genie_value_query_bytes(metric, shape_of(metric).n_dimensions);
	GenieValueQuery *query = malloc(n_bytes);

	CHECK(n_bytes % GENIE_QUANTIZED_ALIGN == 0);
	memset(query, 0xAA, n_bytes);
	genie_value_query(shape_of(metric), vector, query);
	CHECK(genie_value_query_valid(query, n_bytes));
	return query;
}

static double
nothing_known(GenieMetric metric)
{
	return metric == GENIE_METRIC_INNER ? -INFINITY : 0;
}

/* Are keys of records that lie anywhere, the last ones first, the same?  Up to one. */
static bool
same_anywhere(const GenieValueKernel *kernel, const GenieValueQuery *query, const uint8_t *records, uint32_t upto,
			  const uint32_t *keys)
{
	size_t		n_bytes = genie_quantized_bytes(query->n_dimensions);
	const void *places[ROWS + 1] = {NULL};
	uint32_t	again[ROWS + 1];
	bool		same = true;

	for (uint32_t i = 0; i < upto; i++)
		places[i] = records + (upto - 1 - i) * n_bytes;
	kernel->keys_at(query, places, upto, again);
	for (uint32_t i = 0; i < upto; i++)
		same = same && again[i] == keys[upto - 1 - i];
	return same;
}

/* The keys of the rows and of an unknown record are the same by all kernels, and those of fewer records, too. */
static void
check_kernels(const GenieValueQuery *query, const uint8_t *records, uint32_t *keys)
{
	size_t		n_bytes = genie_quantized_bytes(query->n_dimensions);
	bool		same = true;

	genie_value_keys(query, records, ROWS + 1, keys);
	for (uint32_t k = 0; genie_value_kernel_nth(k) != NULL; k++)
		for (uint32_t first = 0; first <= ROWS + 1; first += 1 + 7 * (query->n_dimensions > 64))
		{
			uint32_t	n = ROWS + 1 - first;
			uint32_t   *again = malloc(n * sizeof(uint32_t) + 1);

			genie_value_keys_by(genie_value_kernel_nth(k), query, records + first * n_bytes, n, again);
			same = same && memcmp(again, keys + first, n * sizeof(uint32_t)) == 0;
			free(again);
			same = same && (query->error > FLT_MAX ||
							same_anywhere(genie_value_kernel_nth(k), query, records, first, keys));
		}
	if (!CHECK(same))
		printf("  metric %u, %u dimensions\n", query->metric, query->n_dimensions);
	CHECK(keys[ROWS] == genie_value_key(nothing_known(query->metric)));
}

/* The bound of the row is not above any measure of it. */
static bool
is_below(GenieMetric metric, GenieVector row, GenieVector query, uint32_t key)
{
	double		bound = genie_value_key_bound(key);
	double		measure = measure_of(metric, row, query);
	bool		below = !(bound > measure);

	n_pairs++;
	if (!(bound >= nothing_known(metric) && key >= 1 && key <= GENIE_VALUE_KEY_MAX))
		return false;
	for (uint32_t n_lanes = 1; n_lanes <= 8 && !row.is_double; n_lanes *= 8)
		below = below && !(bound > measure_in_floats(metric, row, query, n_lanes));
	return below || bound == nothing_known(metric);
}

/* No record of a key that is at least the floor is passed over, whatever the centre. */
static bool
filter_holds(const GenieValueQuery *query, const uint8_t *records, const uint32_t *keys, uint32_t floor, double centre,
			 bool counts)
{
	GenieMetric metric = (GenieMetric) query->metric;
	GenieValueConstants constants = genie_value_constants(query);
	GenieValueFilterQuery numbers = genie_value_filter_query(metric, &constants, centre,
															 genie_value_key_bound(floor - 1));
	const int8_t *query_codes = genie_value_query_body(query);
	bool		holds = true;

	for (uint32_t r = 0; r <= ROWS; r++)
	{
		const GenieQuantized *header = (const void *) (records + r * genie_quantized_bytes(query->n_dimensions));
		const uint8_t *codes = (const uint8_t *) (header + 1);
		int32_t		product = 0;
		int32_t		sum = 0;
		GenieValueFilterRecord record;
		bool		passed_over;

		for (uint32_t i = 0; i < query->n_dimensions; i++)
		{
			product += metric == GENIE_METRIC_L1 ? -abs(codes[i] - (uint8_t) query_codes[i]) :
				codes[i] * query_codes[i];
			sum += codes[i];
		}
		record = genie_value_filter_record(metric, query->n_dimensions, centre, header, sum);
		passed_over = genie_value_filtered(&record, &numbers, (float) product);
		holds = holds && !(passed_over && keys[r] >= floor);
		n_unwanted += counts && keys[r] < floor;
		n_passed_over += counts && passed_over;
	}
	return holds;
}

/*
 * Each of n queries' tops, which want different keys, gets the live records that have such keys, of the records one
 * behind the other several times, by this filter.
 */
static void
check_offers(const GenieValueFilter *filter, GenieValueQuery *const *queries, uint32_t n_queries,
			 const uint8_t *records, Data data)
{
	enum
	{
		TIMES = 3,
		MANY = TIMES * (ROWS + 1),
		FIRST = 70
	};
	size_t		n_bytes = genie_quantized_bytes(queries[0]->n_dimensions);
	uint8_t    *many = malloc(MANY * n_bytes);
	uint64_t	live[(FIRST + MANY) / 64 + 1] = {0};
	uint32_t	keys[QUERIES][ROWS + 1];
	GenieHit   *hits[QUERIES];
	GenieTopK	tops[QUERIES];
	GenieTopK  *of[QUERIES] = {0};
	bool		same = true;

	for (uint32_t i = 0; i < MANY; i++)
	{
		memcpy(many + i * n_bytes, records + i % (ROWS + 1) * n_bytes, n_bytes);
		live[(FIRST + i) / 64] |= (uint64_t) (i % 5 != 3) << (FIRST + i) % 64;
	}
	for (uint32_t q = 0; q < n_queries; q++)
	{
		uint32_t	least;

		genie_value_keys(queries[q], records, ROWS + 1, keys[q]);
		/* a record's key, the next one, or all */
		least = q % 4 == 3 ? 1 : keys[q][q * 5 % ROWS] + (q % 4 == 2);
		hits[q] = malloc(genie_topk_capacity(MANY) * sizeof(GenieHit));
		genie_topk_init(&tops[q], hits[q], MANY, least, NULL);
		of[q] = &tops[q];
		if (genie_value_unknown_key(queries[q]) == 0)
			for (uint32_t c = 0; c < 3; c++)
				same = same && filter_holds(queries[q], records, keys[q], least,
											c == 0 ? 0 : c == 1 ? queries[0]->offset : 3 * queries[q]->offset + 1e-3,
											(data == PLAIN || data == POSITIVE) && centre == NULL && c == 1 &&
												least > 1 && (queries[q]->metric != GENIE_METRIC_L1 || range.has_all));
	}
	genie_value_offer_by(filter, (const GenieValueQuery *const *) queries, of, n_queries, many, MANY, FIRST, live);
	for (uint32_t q = 0; q < n_queries; q++)
	{
		uint32_t	n = 0;

		for (uint32_t i = 0; i < MANY; i++)
		{
			bool		wanted = i % 5 != 3 && keys[q][i % (ROWS + 1)] >= tops[q].min_key;

			same = same && (!wanted || (n < tops[q].n && tops[q].hits[n].object == FIRST + i &&
										tops[q].hits[n].key == keys[q][i % (ROWS + 1)]));
			n += wanted;
		}
		same = same && n == tops[q].n;
		free(hits[q]);
	}
	if (!CHECK(same))
		printf("  offers by %s: metric %u, %u dimensions, data %d\n", filter == NULL ? "keys" : filter->name,
			   queries[0]->metric, queries[0]->n_dimensions, (int) data);
	free(many);
}

static void
check_bounds(GenieMetric metric, Data data)
{
	GenieValueQuery *queries[QUERIES];

	uint8_t    *records = make_records(metric);
	uint32_t	keys[ROWS + 1];

	for (uint32_t q = ROWS; q < VECTORS; q++)
	{
		GenieValueQuery *query = make_query(metric, vectors[q]);
		bool		below = true;

		check_kernels(query, records, keys);
		for (uint32_t r = 0; r < ROWS; r++)
			below = below && is_below(metric, vectors[r], vectors[q], keys[r]);
		if (!CHECK(below))
			printf("  metric %d, data %d, %s, %u dimensions\n", (int) metric, (int) data,
				   vectors[0].is_double ? "double" : "float", vectors[0].n);
		queries[q - ROWS] = query;
	}
	for (uint32_t i = 0; genie_value_filter_nth(i) != NULL; i++)
		check_offers(genie_value_filter_nth(i), queries, QUERIES, records, data);
	check_offers(NULL, queries, QUERIES, records, data);
	check_offers(genie_value_filter_nth(0), queries, 2, records, data);
	for (uint32_t q = 0; q < QUERIES; q++)
		free(queries[q]);
	free(records);
}

static void
test_bounds(void)
{
	GenieRandom random = {1};

	for (int data = 0; data < N_DATA; data++)
		for (uint32_t i = 0; i < 2 * sizeof(dimensions) / sizeof(dimensions[0]); i++)
			for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
			{
				fill(&random, data, i % 2 == 1, dimensions[i / 2]);
				choose_shape(&random);
				check_bounds(metric, data);
				centre = NULL;
			}
}

/* A filter that passes over nothing would be right, too. */
static void
test_filter_is_worth_it(void)
{
	if (!CHECK(n_unwanted > 1000 && n_passed_over >= n_unwanted / 100 * 95))
		printf("  %llu of %llu passed over\n", (unsigned long long) n_passed_over, (unsigned long long) n_unwanted);
}

/* Many pairs of few dimensions, all of which are rows and queries. */
static void
test_many(void)
{
	static const Data data[] = {PLAIN, FAR, FAR_AND_WIDE, DUPLICATES, SPIKES, SPARSE, WHOLE, MIXED};
	GenieRandom random = {2};

	while (n_pairs < 10000000)
		for (uint32_t d = 0; d < sizeof(data) / sizeof(data[0]); d++)
			for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
			{
				uint8_t    *records;
				uint32_t	keys[ROWS];
				bool		below = true;

				fill(&random, data[d], false, 1 + (uint32_t) genie_random_below(&random, 40));
				choose_shape(&random);
				records = make_records(metric);
				for (uint32_t q = 0; q < VECTORS; q++)
				{
					GenieValueQuery *query = make_query(metric, vectors[q]);

					genie_value_keys(query, records, ROWS, keys);
					for (uint32_t r = 0; r < ROWS; r++)
						below = below && is_below(metric, vectors[r], vectors[q], keys[r]);
					free(query);
				}
				if (!CHECK(below))
					printf("  metric %d, data %d, %u dimensions\n", metric, (int) data[d], vectors[0].n);
				free(records);
			}
	centre = NULL;
}

/* 3 of 768 dimensions are 50 times larger. */
static void
test_spikes(void)
{
	GenieRandom random = {3};

	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
		for (uint32_t i = 0; i < 20; i++)
		{
			fill(&random, SPIKES, false, 768);
			check_bounds(metric, SPIKES);
		}
}

/* Each of many records has the key that it has alone, whatever block it lies in. */
static void
test_blocks(void)
{
	enum
	{
		MANY = 300
	};
	GenieRandom random = {8};
	uint32_t	keys[ROWS];
	uint32_t	many_keys[MANY];

	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
	{
		size_t		n_bytes = genie_quantized_bytes(33);
		uint8_t    *records;
		uint8_t    *many = malloc(MANY * n_bytes);
		GenieValueQuery *query;

		fill(&random, PLAIN, false, 33);
		records = make_records(metric);
		query = make_query(metric, vectors[ROWS]);
		for (uint32_t r = 0; r < ROWS; r++)
			genie_value_keys_by(&genie_value_portable, query, records + r * n_bytes, 1, &keys[r]);
		for (uint32_t r = 0; r < MANY; r++)
			memcpy(many + r * n_bytes, records + r % ROWS * n_bytes, n_bytes);
		for (uint32_t k = 0; genie_value_kernel_nth(k) != NULL; k++)
			for (uint32_t n = 0; n <= MANY; n++)
			{
				bool		same = true;

				memset(many_keys, 0, sizeof(many_keys));
				genie_value_keys_by(genie_value_kernel_nth(k), query, many, n, many_keys);
				for (uint32_t r = 0; r < MANY; r++)
					same = same && many_keys[r] == (r < n ? keys[r % ROWS] : 0);
				CHECK(same);
			}
		free(query);
		free(records);
		free(many);
	}
}

/* ---- how near to the measure ---- */

/* The average of bound / measure; for inner products, of how far they are apart, by the lengths. */
static double
tightness(GenieMetric metric)
{
	uint8_t    *records = make_records(metric);
	uint32_t	keys[ROWS];
	double		sum = 0;

	for (uint32_t q = ROWS; q < VECTORS; q++)
	{
		GenieValueQuery *query = make_query(metric, vectors[q]);

		genie_value_keys(query, records, ROWS, keys);
		for (uint32_t r = 0; r < ROWS; r++)
		{
			double		measure = measure_of(metric, vectors[r], vectors[q]);
			double		bound = genie_value_key_bound(keys[r]);
			double		lengths = sqrt(genie_vector_measure(metric, vectors[r], vectors[r]) *
									   genie_vector_measure(metric, vectors[q], vectors[q]));

			sum += metric == GENIE_METRIC_INNER ? 1 - (measure - bound) / lengths : bound / measure;
		}
		free(query);
	}
	free(records);
	return sum / (ROWS * QUERIES);
}

static void
test_tight(void)
{
	GenieRandom random = {4};

	for (int is_double = 0; is_double <= 1; is_double++)
		for (uint32_t n = 100; n <= 800; n += 100)
			for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
			{
				double		tight;

				fill(&random, PLAIN, is_double, n);
				tight = tightness(metric);
				if (!CHECK(tight > 0.97))
					printf("  metric %d, %u dimensions: %f\n", metric, n, tight);
			}
	/* what codes say exactly costs roundings only; so does what lies beyond a range */
	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_L1; metric++)
	{
		uint8_t    *records;
		uint32_t	key;

		fill(&random, CONSTANT, false, 128);
		if (metric == GENIE_METRIC_L1)
		{
			fill(&random, POSITIVE, false, 128);
			range.offset = 0;
			range.step = 1;
			for (uint32_t v = 0; v < VECTORS; v++)
				set_element(v, 5, 256 + 100 * (v + 1));
		}
		records = make_records(metric);
		for (uint32_t q = ROWS; q < VECTORS; q++)
		{
			GenieValueQuery *query = make_query(metric, vectors[q]);

			genie_value_keys(query, records, 1, &key);
			CHECK(genie_value_key_bound(key) >= 0.9999 * measure_of(metric, vectors[0], vectors[q]));
			CHECK(metric != GENIE_METRIC_L1 || ((GenieQuantized *) records)->beyond >= 100);
			free(query);
		}
		free(records);
	}
}

/* A dimension that is 50 times wider, of 51 codes: bounds are as near as if all were alike. */
static void
test_parts(void)
{
	enum
	{
		N = 257
	};
	GenieRandom random = {11};

	for (int is_double = 0; is_double <= 1; is_double++)
	{
		double		without;
		double		tight;

		fill(&random, SPIKES, is_double, N);
		for (uint32_t v = 0; v < VECTORS; v++)	/* one of the two wide ones is not */
			set_element(v, N - 1, plain_of(&random));
		range.offset = -1;
		range.step = 2.0f / 255;
		without = tightness(GENIE_METRIC_L1);
		centre = elements_of_centre;
		memset(elements_of_centre, 0, sizeof(elements_of_centre));
		elements_of_centre[7] = -50;
		range.n_parts = 0;
		for (uint16_t i = 0; i < N; i++)
			for (uint16_t part = 0; part < (i == 7 ? 51 : 1); part++)
				range.parts[range.n_parts++] = (GenieValuePart) {i, part};
		range.own = false;
		tight = tightness(GENIE_METRIC_L1);
		if (!CHECK(tight > 0.97 && tight > without + 0.01))
			printf("  %f with parts, %f without\n", tight, without);
		range.n_parts = 0;
		centre = NULL;
	}
}

/* ---- distances to pivots ---- */

static double
largest_difference(GenieVector a, GenieVector b)
{
	double		largest = 0;

	for (uint32_t i = 0; i < a.n; i++)
		largest = fmax(largest, fabs(genie_vector_element(a, i) - genie_vector_element(b, i)));
	return largest;
}

/* Bounds are not above the largest difference, and near it where the range has all. */
static void
test_pivots(void)
{
	GenieRandom random = {10};
	uint32_t	keys[ROWS + 1];

	for (int data = 0; data < N_DATA; data++)
		for (uint32_t n = 1; n <= 64; n = n * 3 / 2 + 1)
		{
			uint8_t    *records;
			bool		right = true;

			fill(&random, data, true, n);
			if (n % 2 == 0)
				choose_range(&random);
			records = make_records(GENIE_METRIC_PIVOTS);
			for (uint32_t q = ROWS; q < VECTORS; q++)
			{
				GenieValueQuery *query = make_query(GENIE_METRIC_PIVOTS, vectors[q]);

				check_kernels(query, records, keys);
				for (uint32_t r = 0; r < ROWS; r++)
				{
					double		largest = largest_difference(vectors[r], vectors[q]);
					double		bound = genie_value_key_bound(keys[r]);

					right = right && !(bound > largest) && bound >= 0;
					if (range.has_all && (data == PLAIN || data == POSITIVE))
						right = right && bound >= largest * 0.999 - 2.01 * shape_of(GENIE_METRIC_PIVOTS).step;
				}
				free(query);
			}
			if (!CHECK(right))
				printf("  pivots: data %d, %u\n", data, n);
			free(records);
		}
	/* a distance of NaN tells nothing, and infinity that of a wide range */
	fill(&random, NOT_FINITE, true, 16);
	{
		uint8_t    *records = make_records(GENIE_METRIC_PIVOTS);
		GenieValueQuery *query = make_query(GENIE_METRIC_PIVOTS, vectors[ROWS + 2]);

		genie_value_keys(query, records, ROWS, keys);
		for (uint32_t r = 0; r < ROWS; r++)
			CHECK(r % 4 == 3 || keys[r] == genie_value_key(0));
		free(query);
		free(records);
	}
}

/* ---- what is not known, and sizes ---- */

static void
test_unknown(void)
{
	GenieRandom random = {5};

	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
	{
		uint32_t	key = genie_value_key(nothing_known(metric));
		uint32_t	keys[ROWS + 1];
		uint8_t    *records;

		fill(&random, NOT_FINITE, true, 37);
		records = make_records(metric);
		for (uint32_t q = ROWS; q < VECTORS; q++)
		{
			GenieValueQuery *query = make_query(metric, vectors[q]);
			bool		right = true;

			genie_value_keys(query, records, ROWS + 1, keys);
			for (uint32_t r = 0; r <= ROWS; r++)
				right = right && (r % 4 == 3 && r < ROWS && q % 4 == 3 ? keys[r] < key : keys[r] == key);
			CHECK(right);
			free(query);
		}
		free(records);
	}
}

/* An index of an older version has no range. */
static void
test_no_range(void)
{
	GenieRandom random = {9};
	uint32_t	keys[ROWS + 1];
	uint8_t    *records;
	GenieValueQuery *query;

	fill(&random, PLAIN, false, 40);
	range.step = 0;
	records = make_records(GENIE_METRIC_L1);
	query = make_query(GENIE_METRIC_L1, vectors[ROWS]);
	genie_value_keys(query, records, ROWS + 1, keys);
	for (uint32_t r = 0; r <= ROWS; r++)
		CHECK_INT(keys[r], genie_value_key(0));
	free(query);
	free(records);
}

static void
test_valid(void)
{
	GenieRandom random = {6};

	fill(&random, PLAIN, false, 100);
	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
	{
		size_t		n_bytes = genie_value_query_bytes(metric, 100);
		GenieValueQuery *query = make_query(metric, vectors[0]);

		CHECK_INT(n_bytes, sizeof(GenieValueQuery) + 112);
		CHECK(!genie_value_query_valid(query, 0));
		CHECK(!genie_value_query_valid(query, n_bytes - 1));
		CHECK(!genie_value_query_valid(query, n_bytes + 1));
		query->n_dimensions = 113;
		CHECK(!genie_value_query_valid(query, n_bytes));
		query->n_dimensions = 0;
		CHECK(!genie_value_query_valid(query, sizeof(GenieValueQuery)));
		query->n_dimensions = GENIE_VALUE_DIMENSIONS_MAX + 1;
		CHECK(!genie_value_query_valid(query, genie_value_query_bytes(metric, query->n_dimensions)));
		query->n_dimensions = 100;
		query->metric = 0;
		CHECK(!genie_value_query_valid(query, n_bytes));
		query->metric = GENIE_METRIC_PIVOTS + 1;
		CHECK(!genie_value_query_valid(query, n_bytes));
		free(query);
	}
}

/* The most dimensions, all codes at their ends: sums fit. */
static void
test_ends(void)
{
	uint32_t	n = GENIE_VALUE_DIMENSIONS_MAX;
	float	   *a = malloc(n * sizeof(float));
	float	   *b = malloc(n * sizeof(float));
	void	   *record = malloc(genie_quantized_bytes(n));
	GenieVector x = {a, n, false};
	GenieVector y = {b, n, false};

	for (int sign = -1; sign <= 1; sign += 2)
		for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
		{
			GenieValueQuery *query;
			uint32_t	key;
			uint32_t	again;
			double		measure;

			for (uint32_t i = 0; i < n; i++)
			{
				a[i] = i == 0 ? -1 : 1;
				b[i] = sign * a[i];
			}
			measure = measure_of(metric, x, y);
			vectors[0] = x;
			range.offset = -1;
			range.step = 2.0f / 255;
			genie_quantize(shape_of(metric), x, record);
			if (metric == GENIE_METRIC_L1)
				CHECK(((GenieQuantized *) record)->beyond == 0);
			else
				CHECK_INT(((GenieQuantized *) record)->squares, (n - 1) * UINT32_C(255) * 255);
			query = make_query(metric, y);
			genie_value_keys(query, record, 1, &key);
			CHECK(genie_value_key_bound(key) <= measure);
			CHECK(genie_value_key_bound(key) >= measure - 0.05 * fabs(measure) - 1e-6);
			for (uint32_t k = 0; genie_value_kernel_nth(k) != NULL; k++)
			{
				genie_value_keys_by(genie_value_kernel_nth(k), query, record, 1, &again);
				CHECK_INT(again, key);
			}
			free(query);
		}
	free(record);
	free(a);
	free(b);
}

/* ---- keys and bounds ---- */

static void
test_keys(void)
{
	static const double bounds[] = {
		-INFINITY, -DBL_MAX, -1e300, -FLT_MAX, -1e10, -1, -1e-10, -1e-44, -DBL_MIN, 0, DBL_MIN, 1e-44, FLT_MIN, 1e-10,
		0.5, 1, 1.00001, 1e10, FLT_MAX, 1e300, DBL_MAX, INFINITY
	};
	GenieRandom random = {7};
	double		before = -INFINITY;
	bool		right = true;

	for (uint32_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
	{
		uint32_t	key = genie_value_key(bounds[i]);

		CHECK(key >= 1 && key <= GENIE_VALUE_KEY_MAX);
		CHECK(genie_value_key_bound(key) <= bounds[i]);
		CHECK(i == 0 || key <= genie_value_key(bounds[i - 1]));
	}
	CHECK(genie_value_key(1.00001) < genie_value_key(1));
	CHECK(genie_value_key(-1e-44) > genie_value_key(0));
	CHECK(genie_value_key(NAN) == genie_value_key(-INFINITY));
	CHECK(genie_value_key_bound(genie_value_key(0)) == 0);
	CHECK(genie_value_key_bound(genie_value_key(1)) == 1);
	CHECK(genie_value_key_bound(genie_value_key(INFINITY)) == INFINITY);
	CHECK(genie_value_key_bound(genie_value_key(-INFINITY)) == -INFINITY);
	CHECK(genie_value_key_bound(0) == INFINITY);
	CHECK(genie_value_key_bound(UINT32_MAX) == -INFINITY);

	/* there and back, in order, with keys falling */
	for (uint64_t key = genie_value_key(-INFINITY); key >= genie_value_key(INFINITY); key -= 1 + key % 1009)
	{
		double		bound = genie_value_key_bound((uint32_t) key);

		right = right && genie_value_key(bound) == key && (bound > before || bound == -INFINITY);
		before = bound;
	}
	CHECK(right);
	for (uint32_t i = 0; i < 1000000; i++)
	{
		double		bound = ldexp(plain_of(&random), (int) genie_random_below(&random, 300) - 150);
		double		back = genie_value_key_bound(genie_value_key(bound));

		right = right && back <= bound && (fabs(bound) < FLT_MIN || fabs(bound) > FLT_MAX ||
										   fabs(back - bound) <= fabs(bound) * 0x1p-21);
	}
	CHECK(right);
}

int
main(void)
{
	test_bounds();
	test_filter_is_worth_it();
	test_many();
	test_spikes();
	test_blocks();
	test_tight();
	test_parts();
	test_pivots();
	test_unknown();
	test_no_range();
	test_valid();
	test_ends();
	test_keys();
	return genie_test_end();
}

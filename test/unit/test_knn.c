/*
 * test_knn.c
 *	  Exact nearest neighbours: each kernel, and estimates made elsewhere, against measuring and sorting all rows, the
 *	  same bits and order, for rows of which estimates in floats say little, too.
 */
#include <math.h>
#include <string.h>

#include "genie_knn.h"
#include "genie_test.h"

#define ROWS_MAX 300
#define QUERIES_MAX 40
#define DIMENSIONS_MAX 150
#define GUARD_BYTES 64
#define PANEL_ROWS 100			/* of estimates made elsewhere */

typedef enum Data
{
	PLAIN,						/* within +-1 */
	TIES,						/* few different values, so that many distances are the same */
	FAR,						/* lengths that are much larger than the distances */
	LARGE,						/* squares beyond a float, and beyond a double where elements are doubles */
	SMALL,						/* squares at the lower end of a float's range, or of a double's */
	MIXED,						/* all exponents */
	ODD,						/* some zero vectors, NaN and infinite elements */
	N_DATA
} Data;

typedef struct Vectors
{
	double		doubles[ROWS_MAX * DIMENSIONS_MAX];
	float		floats[ROWS_MAX * DIMENSIONS_MAX];
} Vectors;

static Vectors rows;
static Vectors queries;

static double
element(GenieRandom *random, Data data, bool is_double)
{
	double		plain = (double) (int64_t) genie_random(random) / 9.3e18;
	int			most = is_double ? 1000 : 125;

	switch (data)
	{
		case TIES:
			return (double) genie_random_below(random, 3);
		case FAR:
			return 1e6 + plain;
		case LARGE:
			return ldexp(plain, most);
		case SMALL:
			return ldexp(plain, is_double ? -537 : -74);
		case MIXED:
			return ldexp(plain, (int) genie_random_below(random, 2 * most) - most);
		default:
			return plain;
	}
}

static void
fill(Vectors *vectors, GenieRandom *random, Data data, bool is_double, uint32_t n, uint32_t n_dimensions)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	odd = data == ODD ? genie_random_below(random, 12) : 12;

		for (uint32_t j = 0; j < n_dimensions; j++)
		{
			double		value = odd == 0 ? 0 : element(random, data, is_double);

			if (odd > 0 && odd < 4 && j == i % n_dimensions)
				value = odd == 1 ? NAN : odd == 2 ? INFINITY : -INFINITY;
			vectors->doubles[i * n_dimensions + j] = value;
			vectors->floats[i * n_dimensions + j] = (float) value;
		}
	}
}

static const void *
elements(const Vectors *vectors, bool is_double, size_t first)
{
	return is_double ? (const void *) (vectors->doubles + first) : (const void *) (vectors->floats + first);
}

static int
compare_neighbours(const void *a, const void *b)
{
	const GenieNeighbour *x = a;
	const GenieNeighbour *y = b;

	if (isnan(x->distance) != isnan(y->distance))
		return isnan(x->distance) ? 1 : -1;
	if (x->distance != y->distance && !isnan(x->distance))
		return x->distance < y->distance ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* All rows in order, by the definition. */
static void
plain_neighbours(const GenieKnn *knn, uint32_t query, const uint64_t *ids, uint32_t n, GenieNeighbour *found)
{
	GenieVector a = {elements(&queries, knn->is_double, (size_t) query * knn->n_dimensions), knn->n_dimensions,
	knn->is_double};

	for (uint32_t i = 0; i < n; i++)
	{
		GenieVector b = {elements(&rows, knn->is_double, (size_t) i * knn->n_dimensions), knn->n_dimensions,
		knn->is_double};
		double		measure = genie_vector_measure(knn->metric, a, b);

		found[i].distance = knn->metric == GENIE_METRIC_INNER ? -measure : measure;
		found[i].id = ids[i];
	}
	qsort(found, n, sizeof(GenieNeighbour), compare_neighbours);
}

static void
check_query(const GenieKnn *knn, uint32_t query, const uint64_t *ids, uint32_t n)
{
	static GenieNeighbour wanted[ROWS_MAX];
	const GenieNeighbour *got = knn->found + (size_t) query * knn->k;
	bool		same = true;

	plain_neighbours(knn, query, ids, n, wanted);
	if (!CHECK_INT(knn->n_found[query], n < knn->k ? n : knn->k))
		return;
	for (uint32_t i = 0; i < knn->n_found[query]; i++)
		same = same && got[i].id == wanted[i].id &&
			(isnan(got[i].distance) ? isnan(wanted[i].distance) :
			 memcmp(&got[i].distance, &wanted[i].distance, sizeof(double)) == 0);
	if (!CHECK(same))
		printf("  %s, metric %d, %s, %u dimensions, %u rows, k %u\n",
			   knn->kernel == NULL ? "elsewhere" : knn->kernel->name, (int) knn->metric,
			   knn->is_double ? "double" : "float", knn->n_dimensions, n, knn->k);
}

/* Estimates as genie_nearest.h has them, by the shortest code, and a part of the queries at a time. */
static void
add_pairs(GenieKnn *knn, const void *panel, const uint64_t *ids, uint32_t n)
{
	static float made_rows[PANEL_ROWS * DIMENSIONS_MAX];
	static float made_queries[QUERIES_MAX * DIMENSIONS_MAX];
	static GeniePair pairs[PANEL_ROWS * QUERIES_MAX];
	float		terms[PANEL_ROWS];
	uint32_t	part = 1 + knn->n_queries / 3;
	const float *of_rows = genie_knn_floats(knn, panel, n, made_rows, terms);
	const float *of_queries = genie_knn_floats(knn, knn->queries, knn->n_queries, made_queries, NULL);

	CHECK(genie_knn_has_floats(knn) ? of_rows == panel && of_queries == knn->queries : of_rows == made_rows);
	for (uint32_t first = 0; first < knn->n_queries; first += part)
	{
		uint32_t	n_pairs = 0;

		for (uint32_t q = first; q < knn->n_queries && q < first + part; q++)
			for (uint32_t i = 0; i < n; i++)
			{
				float		sum = 0;

				for (uint32_t j = 0; j < knn->n_dimensions; j++)
				{
					float		x = of_rows[i * knn->n_dimensions + j];
					float		y = of_queries[q * knn->n_dimensions + j];

					sum += knn->metric == GENIE_METRIC_L1 ? fabsf(x - y) : x * y;
				}
				if (!(terms[i] + sum * (knn->metric == GENIE_METRIC_L1 ? 1 : -2) > knn->bounds[q]))
					pairs[n_pairs++] = (GeniePair) {q - first, i};
			}
		genie_knn_add_pairs(knn, panel, ids, first, pairs, n_pairs);
	}
}

/* kernel: NULL: elsewhere */
static void
check_run(const GenieKnnKernel *kernel, GenieKnn shape, uint32_t n, GenieRandom *random)
{
	GenieKnn	knn = shape;
	size_t		nbytes = genie_knn_bytes(&knn);
	uint8_t    *memory = malloc(nbytes + GUARD_BYTES);
	uint64_t	ids[ROWS_MAX];
	uint32_t	step;

	memset(memory, 0xAA, nbytes + GUARD_BYTES);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = (uint64_t) (i * 7919 % 1009) << 40 | i;	/* not in the order of rows */
	knn.queries = elements(&queries, knn.is_double, 0);
	genie_knn_open(&knn, memory);
	knn.kernel = kernel;
	for (uint32_t i = 0; i < n; i += step)
	{
		const void *panel = elements(&rows, knn.is_double, (size_t) i * knn.n_dimensions);

		step = 1 + (uint32_t) genie_random_below(random, kernel == NULL ? PANEL_ROWS : GENIE_KNN_ROWS);
		if (step > n - i)
			step = n - i;
		if (kernel == NULL)
			add_pairs(&knn, panel, ids + i, step);
		else
			genie_knn_add(&knn, panel, ids + i, step);
	}
	genie_knn_finish(&knn);
	for (uint32_t q = 0; q < knn.n_queries; q++)
		check_query(&knn, q, ids, n);
	for (uint32_t i = 0; i < GUARD_BYTES; i++)
		CHECK(memory[nbytes + i] == 0xAA);
	free(memory);
}

static void
test_all(void)
{
	static const uint32_t dimensions[] = {1, 2, 7, 16, 33, 128, DIMENSIONS_MAX};
	GenieRandom random = {1};

	for (int data = 0; data < N_DATA; data++)
		for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
			for (uint32_t i = 0; i < 2 * sizeof(dimensions) / sizeof(dimensions[0]); i++)
			{
				GenieKnn	shape = {.metric = metric, .is_double = i % 2 == 1, .n_dimensions = dimensions[i / 2]};
				uint32_t	n = 1 + (uint32_t) genie_random_below(&random, ROWS_MAX);

				shape.n_queries = 1 + (uint32_t) genie_random_below(&random, QUERIES_MAX);
				shape.k = i % 3 == 0 ? 1 : 1 + (uint32_t) genie_random_below(&random, 40);
				fill(&rows, &random, data, shape.is_double, n, shape.n_dimensions);
				fill(&queries, &random, data, shape.is_double, shape.n_queries, shape.n_dimensions);
				for (uint32_t j = 0; genie_knn_nth(j) != NULL; j++)
					check_run(genie_knn_nth(j), shape, n, &random);
				check_run(NULL, shape, n, &random);
			}
}

/* Estimates do prune: of rows far from the query hardly any is measured, or a much slower function would pass. */
static void
test_bounds(void)
{
	GenieRandom random = {2};
	GenieKnn	shape = {.metric = GENIE_METRIC_L2, .n_dimensions = 128, .n_queries = 1, .k = 3};

	for (int metric = GENIE_METRIC_L2; metric <= GENIE_METRIC_INNER; metric++)
	{
		GenieKnn	knn = shape;
		uint8_t    *memory;
		uint64_t	ids[GENIE_KNN_ROWS] = {0};
		float		bound;

		knn.metric = metric;
		fill(&rows, &random, PLAIN, false, GENIE_KNN_ROWS, knn.n_dimensions);
		memcpy(queries.floats, rows.floats, knn.n_dimensions * sizeof(float));
		knn.queries = queries.floats;
		memory = malloc(genie_knn_bytes(&knn));
		genie_knn_open(&knn, memory);
		CHECK(knn.bounds[0] == INFINITY);
		genie_knn_add(&knn, rows.floats, ids, GENIE_KNN_ROWS);
		bound = knn.bounds[0];
		CHECK(isfinite(bound));
		/* the same again: what is as near as the farthest is offered, what is farther is not, or little */
		knn.n_found[0] = 0;
		genie_knn_add(&knn, rows.floats, ids, GENIE_KNN_ROWS);
		CHECK(knn.n_found[0] >= 3 && knn.n_found[0] <= 4);
		free(memory);
	}
}

int
main(void)
{
	test_all();
	test_bounds();
	return genie_test_end();
}

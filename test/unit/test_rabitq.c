/*
 * test_rabitq.c
 *	  Vectors with a bit a dimension (genie_rabitq.h): records, the same keys by all kernels, and bounds: they hold for
 *	  all where they allow for it, and for most by default, whatever the vectors are; offers to many queries, which get
 *	  what has a wanted key by all filters.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "genie_rabitq_filter.h"
#include "genie_test.h"
#include "genie_value_offer.h"
#include "genie_value_record.h"
#include "genie_value_scan.h"

#define VECTORS 300
#define QUERIES 19				/* not a multiple of what a filter takes together */
#define FEW 7					/* so many get the keys of all records */
#define NEAREST 5
#define DIMENSIONS_MAX 1600

static const GenieMetric metrics[] = {GENIE_METRIC_L2_RABITQ, GENIE_METRIC_COSINE_RABITQ, GENIE_METRIC_INNER_RABITQ};
static const uint32_t dimensions[] = {1, 2, 3, 17, 64, 127, 128, 129, 784, 1000, 1600};

/* what vectors are like */
typedef enum Shape
{
	NORMAL,
	EQUAL,						/* all the same */
	FAR,						/* near to each other, far from zero */
	SCALES,						/* one dimension is a thousand times as wide */
	LARGE,						/* near what floats hold */
	SMALL,
	VANISHING,					/* below the normal range, beside queries that are not */
	WIDE,						/* near the largest that a filter takes */
	NARROW,						/* near the smallest */
	SPARSE,						/* of few elements, many of them zero vectors */
	SHAPES
} Shape;

static float vectors[VECTORS][DIMENSIONS_MAX];
static float queries[QUERIES][DIMENSIONS_MAX];
static float centre[DIMENSIONS_MAX];

static uint64_t n_unwanted;		/* records of ordinary vectors that a filter was asked for and that are not wanted, */
static uint64_t n_passed_over;	/* and of these, what it passed over */

static GenieRandom random_numbers = {20261128};

static float
draw_normal(void)
{
	double		sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (double) genie_random(&random_numbers) / 0x1p64;
	return (float) (sum - 6);
}

static float
draw_element(Shape shape, uint32_t i)
{
	float		x = draw_normal();

	return shape == FAR ? 1000 + x : shape == SCALES && i == 0 ? 1000 * x : shape == LARGE ? x * 1e37f :
		shape == SMALL ? x * 1e-30f :
		shape == WIDE ? x * 0x1p45f : shape == NARROW ? x * 0x1p-33f : shape == VANISHING ? x * 1e-45f :
		shape == SPARSE && genie_random(&random_numbers) % 50 != 0 ? 0 : x;
}

static void
draw(Shape shape, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		double		sum = 0;

		for (uint32_t v = 0; v < VECTORS; v++)
		{
			vectors[v][i] = shape == EQUAL && v > 0 ? vectors[0][i] : draw_element(shape, i);
			sum += vectors[v][i];
		}
		centre[i] = (float) (sum / VECTORS);
		/* some queries are near a vector, or are one */
		for (uint32_t q = 0; q < QUERIES; q++)
			queries[q][i] = q % 3 == 0 ? draw_element(shape, i) :
				vectors[q * 7][i] * (q % 3 == 1 ? 1 : 1 + draw_normal() / 100);
		for (uint32_t q = 0; shape == VANISHING && q < QUERIES; q++)
			queries[q][i] = draw_normal() * 1e30f;
	}
}

static GenieVector
vector_of(const float *elements, uint32_t n)
{
	return (GenieVector) {.elements = elements, .n = n};
}

static void *
allocate(size_t n_bytes)
{
	void	   *memory = malloc(n_bytes);

	CHECK(memory != NULL);
	return memory;
}

/* Checks a shape's bounds; returns how many of the default's are above what is measured, of *n. */
static uint32_t
check_bounds(GenieValueShape shape, uint64_t *n)
{
	size_t		n_bytes = genie_value_record_bytes(shape.metric, shape.n_dimensions);
	uint8_t    *records = allocate(VECTORS * n_bytes);
	GenieValueQuery *query = allocate(genie_value_query_bytes(shape.metric, shape.n_dimensions));
	uint32_t	wrong = 0;

	for (uint32_t v = 0; v < VECTORS; v++)
	{
		genie_value_record(shape, vector_of(vectors[v], shape.n_dimensions), records + v * n_bytes);
		CHECK(((GenieQuantized *) (records + v * n_bytes))->error == INFINITY ||
			  genie_rabitq_valid(shape.n_dimensions, records + v * n_bytes));
	}
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		uint32_t	keys[VECTORS];
		uint32_t	others[VECTORS];
		GenieVector asked = vector_of(queries[q], shape.n_dimensions);

		genie_value_query(shape, asked, query);
		CHECK(genie_value_query_valid(query, genie_value_query_bytes(shape.metric, shape.n_dimensions)));
		for (uint32_t all = 0; all < 2; all++)
		{
			query->epsilon = (float) (all ? genie_rabitq_all(shape.n_dimensions) : GENIE_RABITQ_EPSILON);
			genie_value_keys_by(&genie_value_portable, query, records, VECTORS, keys);
			for (uint32_t i = 1; genie_value_kernel_nth(i) != NULL; i++)
			{
				/* any number of records, so that groups are not whole */
				uint32_t	some = VECTORS - (uint32_t) (genie_random(&random_numbers) % 140);

				genie_value_keys_by(genie_value_kernel_nth(i), query, records, some, others);
				CHECK(memcmp(keys, others, some * sizeof(uint32_t)) == 0);
			}
			for (uint32_t v = 0; v < VECTORS; v++)
			{
				GenieMetric measured = genie_rabitq_measured(shape.metric);
				double		distance = genie_vector_measure(measured, asked, vector_of(vectors[v], shape.n_dimensions));
				bool		above;

				if (measured == GENIE_METRIC_INNER)
					distance = -distance;
				above = genie_value_key_bound(keys[v]) > distance;
				CHECK(!(all && above));
				wrong += !all && above;
				*n += !all;
			}
		}
	}
	free(query);
	free(records);
	return wrong;
}

static void
test_bounds(void)
{
	for (uint32_t m = 0; m < 3; m++)
	{
		uint64_t	n = 0;
		uint64_t	wrong = 0;

		for (uint32_t d = 0; d < sizeof(dimensions) / sizeof(dimensions[0]); d++)
			for (Shape s = 0; s < SHAPES; s++)
				for (uint32_t centred = 0; centred < 2; centred++)
				{
					draw(s, dimensions[d]);
					wrong += check_bounds((GenieValueShape) {
						.metric = metrics[m], .n_dimensions = dimensions[d], .centre = centred ? centre : NULL
					}, &n);
				}
		/* 2.9 % of normally distributed errors are above 1.9 */
		CHECK(wrong * 25 < n);
		CHECK(wrong > 0);
	}
}

/* No record of a key that is at least the floor is passed over. */
static bool
filter_holds(const GenieValueQuery *query, const uint8_t *records, const uint32_t *keys, uint32_t floor, bool counts)
{
	GenieMetric metric = (GenieMetric) query->metric;
	uint32_t	n = query->n_dimensions;
	GenieValueConstants constants = genie_value_constants(query);
	GenieValueFilterQuery numbers = genie_rabitq_filter_query(metric, &constants, genie_value_key_bound(floor - 1));
	const int8_t *codes = genie_value_query_body(query);
	bool		holds = true;

	for (uint32_t v = 0; v < VECTORS; v++)
	{
		const GenieQuantized *header = (const void *) (records + v * genie_rabitq_bytes(n));
		const uint8_t *bits = (const uint8_t *) (header + 1);
		GenieValueFilterRecord record = genie_rabitq_filter_record(metric, n, header);
		int32_t		product = 0;
		bool		passed_over;

		for (uint32_t i = 0; i < n; i++)
			product += bits[i / 8] >> i % 8 & 1 ? codes[i] : 0;
		passed_over = genie_value_filtered(&record, &numbers, (float) product);
		holds = holds && !(passed_over && keys[v] >= floor);
		n_unwanted += counts && keys[v] < floor;
		n_passed_over += counts && passed_over;
	}
	return holds;
}

enum
{
	FIRST = 70
};

/* Each of n queries' tops gets the live records that have the keys that it wants. */
static void
check_offers(const GenieValueFilter *filter, GenieValueQuery *const *asked, uint32_t n_asked, const uint8_t *records,
			 bool counts)
{
	uint64_t	live[(FIRST + VECTORS) / 64 + 1] = {0};
	GenieTopK	tops[QUERIES];
	GenieTopK  *of[QUERIES] = {0};
	static uint32_t keys[QUERIES][VECTORS];
	bool		same = true;

	for (uint32_t v = 0; v < VECTORS; v++)
		live[(FIRST + v) / 64] |= (uint64_t) (v % 5 != 3) << (FIRST + v) % 64;
	for (uint32_t q = 0; q < n_asked; q++)
	{
		uint32_t	least;

		genie_value_keys(asked[q], records, VECTORS, keys[q]);
		/* a record's key, the next one, or all */
		least = q % 4 == 3 ? 1 : keys[q][q * 5] + (q % 4 == 2);
		of[q] = &tops[q];
		genie_topk_init(of[q], allocate(genie_topk_capacity(VECTORS) * sizeof(GenieHit)), VECTORS, least, NULL);
		if (genie_value_unknown_key(asked[q]) == 0 && least > 1)
			same = filter_holds(asked[q], records, keys[q], least, counts) && same;
	}
	genie_value_offer_by(filter, (const GenieValueQuery *const *) asked, of, n_asked, records, VECTORS, FIRST, live);
	for (uint32_t q = 0; q < n_asked; q++)
	{
		uint32_t	n = 0;

		for (uint32_t v = 0; v < VECTORS; v++)
		{
			bool		wanted = v % 5 != 3 && keys[q][v] >= tops[q].min_key;

			same = same && (!wanted || (n < tops[q].n && tops[q].hits[n].object == FIRST + v &&
										tops[q].hits[n].key == keys[q][v]));
			n += wanted;
		}
		same = same && n == tops[q].n;
		free(tops[q].hits);
	}
	if (!CHECK(same))
		printf("  offers by %s: metric %u, %u dimensions\n", filter == NULL ? "keys" : filter->name, asked[0]->metric,
			   asked[0]->n_dimensions);
}

/* Of tops that want the nearest alone, and say so while they are offered more. */
static void
check_nearest(const GenieValueFilter *filter, GenieValueQuery *const *asked, const uint8_t *records)
{
	GenieTopK	tops[QUERIES];
	GenieTopK  *of[QUERIES] = {0};
	static uint32_t keys[VECTORS];
	bool		same = true;

	for (uint32_t q = 0; q < QUERIES; q++)
	{
		of[q] = &tops[q];
		genie_topk_init(of[q], allocate(genie_topk_capacity(NEAREST) * sizeof(GenieHit)), NEAREST, 1, NULL);
	}
	genie_value_offer_by(filter, (const GenieValueQuery *const *) asked, of, QUERIES, records, VECTORS / 2, 0, NULL);
	genie_value_offer_by(filter, (const GenieValueQuery *const *) asked, of, QUERIES,
						 records + VECTORS / 2 * genie_rabitq_bytes(asked[0]->n_dimensions), VECTORS / 2, VECTORS / 2,
						 NULL);
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		same = genie_topk_finish(of[q]) == NEAREST && same;
		genie_value_keys(asked[q], records, VECTORS, keys);
		for (uint32_t i = 0; i < NEAREST && same; i++)
		{
			uint32_t	best = 0;

			for (uint32_t v = 1; v < VECTORS; v++)
				best = keys[v] > keys[best] ? v : best;
			same = tops[q].hits[i].object == best && tops[q].hits[i].key == keys[best];
			keys[best] = 0;
		}
		free(tops[q].hits);
	}
	if (!CHECK(same))
		printf("  nearest by %s: metric %u, %u dimensions\n", filter == NULL ? "keys" : filter->name, asked[0]->metric,
			   asked[0]->n_dimensions);
}

static const GenieValueFilter *counted; /* by this one, what counted_left() leaves */
static uint64_t n_left;
static uint64_t n_looked_at;

static uint64_t
counted_left(const GenieValueFilterQuery *numbers, const void *memory, const int32_t *products)
{
	uint64_t	left = counted->left(numbers, memory, products);

	n_left += (uint64_t) __builtin_popcountll(left);
	n_looked_at += 64;
	return left;
}

/* By all filters, of vectors that are drawn. */
static void
check_filters(GenieValueShape shape, double epsilon, bool counts)
{
	uint32_t	n = shape.n_dimensions;
	size_t		n_bytes = genie_value_record_bytes(shape.metric, n);
	uint8_t    *records = allocate(VECTORS * n_bytes);
	GenieValueQuery *asked[QUERIES];

	for (uint32_t v = 0; v < VECTORS; v++)
		genie_value_record(shape, vector_of(vectors[v], n), records + v * n_bytes);
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		asked[q] = allocate(genie_value_query_bytes(shape.metric, n));
		genie_value_query(shape, vector_of(queries[q], n), asked[q]);
		asked[q]->epsilon = (float) epsilon;
	}
	for (uint32_t i = 0; genie_value_filter_nth(i) != NULL; i++)
	{
		GenieValueFilter filter = *genie_value_filter_nth(i);

		counted = genie_value_filter_nth(i);
		filter.left = counted_left;
		check_offers(counts ? &filter : counted, asked, QUERIES, records, counts);
		check_offers(counted, asked, FEW, records, false);
		check_nearest(counted, asked, records);
	}
	check_offers(NULL, asked, QUERIES, records, false);
	for (uint32_t q = 0; q < QUERIES; q++)
		free(asked[q]);
	free(records);
}

static void
test_offers(void)
{
	for (uint32_t m = 0; m < 3; m++)
		for (uint32_t d = 0; d < sizeof(dimensions) / sizeof(dimensions[0]); d++)
			for (Shape s = 0; s < SHAPES; s++)
			{
				GenieValueShape shape = {.metric = metrics[m], .n_dimensions = dimensions[d]};

				draw(s, shape.n_dimensions);
				shape.centre = s == FAR ? centre : NULL;
				vectors[9][shape.n_dimensions / 2] = NAN;	/* what is unknown is always wanted */
				queries[5][0] = s == SMALL ? INFINITY : queries[5][0];
				check_filters(shape, GENIE_RABITQ_EPSILON, s == NORMAL && shape.n_dimensions > 64);
				check_filters(shape, genie_rabitq_all(shape.n_dimensions), false);
				check_filters(shape, 0, false);
			}
	/* a filter that passes over nothing would be right, too */
	if (genie_value_filter_nth(0) != NULL && !CHECK(n_unwanted > 1000 && n_passed_over >= n_unwanted / 100 * 95))
		printf("  %llu of %llu passed over\n", (unsigned long long) n_passed_over, (unsigned long long) n_unwanted);
	/* and it is asked: floors of these queries are in the middle, so half of all is left, and what fills blocks up */
	if (counted != NULL && !CHECK(n_looked_at > 10000 && n_left < n_looked_at / 3 * 2))
		printf("  %llu of %llu left\n", (unsigned long long) n_left, (unsigned long long) n_looked_at);
}

/* Bounds must say something: of far vectors they are not far below the distances. */
static void
test_tight(void)
{
	const uint32_t n = 784;
	GenieValueShape shape = {.metric = GENIE_METRIC_L2_RABITQ, .n_dimensions = n};
	size_t		n_bytes = genie_value_record_bytes(shape.metric, n);
	uint8_t    *records = allocate(VECTORS * n_bytes);
	GenieValueQuery *query = allocate(genie_value_query_bytes(shape.metric, n));
	uint32_t	keys[VECTORS];
	double		ratio = 0;

	draw(NORMAL, n);
	for (uint32_t v = 0; v < VECTORS; v++)
		genie_value_record(shape, vector_of(vectors[v], n), records + v * n_bytes);
	genie_value_query(shape, vector_of(queries[0], n), query);
	genie_value_keys(query, records, VECTORS, keys);
	for (uint32_t v = 0; v < VECTORS; v++)
		ratio += genie_value_key_bound(keys[v]) /
			genie_vector_measure(GENIE_METRIC_L2, vector_of(queries[0], n), vector_of(vectors[v], n)) / VECTORS;
	CHECK(ratio > 0.95 && ratio < 1);
	CHECK(n_bytes == 16 + 784 / 8 + 14);
	free(query);
	free(records);
}

/* Nothing is known: bounds are the least that there are. */
static void
test_unknown(void)
{
	const uint32_t n = 100;

	for (uint32_t m = 0; m < 3; m++)
	{
		GenieValueShape shape = {.metric = metrics[m], .n_dimensions = n};
		size_t		n_bytes = genie_value_record_bytes(shape.metric, n);
		uint8_t    *records = allocate(3 * n_bytes);
		GenieValueQuery *query = allocate(genie_value_query_bytes(shape.metric, n));
		double		least = metrics[m] == GENIE_METRIC_INNER_RABITQ ? -INFINITY : 0;
		uint32_t	keys[3];

		draw(NORMAL, n);
		genie_value_record(shape, vector_of(vectors[0], n), records);
		genie_value_record_unknown(shape.metric, n, records + n_bytes);
		vectors[1][7] = NAN;
		genie_value_record(shape, vector_of(vectors[1], n), records + 2 * n_bytes);
		for (float epsilon = 0; epsilon < 3; epsilon += 1.9f)
		{
			genie_value_query(shape, vector_of(queries[0], n), query);
			query->epsilon = epsilon;
			for (uint32_t i = 0; genie_value_kernel_nth(i) != NULL; i++)
			{
				genie_value_keys_by(genie_value_kernel_nth(i), query, records, 3, keys);
				CHECK(genie_value_key_bound(keys[0]) > least);
				CHECK(genie_value_key_bound(keys[1]) == least && keys[1] == keys[2]);
			}
		}
		queries[0][3] = INFINITY;
		genie_value_query(shape, vector_of(queries[0], n), query);
		genie_value_keys(query, records, 1, keys);
		CHECK(genie_value_key_bound(keys[0]) == least);
		free(query);
		free(records);
	}
}

static void
test_valid(void)
{
	const uint32_t n = 130;
	uint8_t		record[256] __attribute__((aligned(16)));
	GenieQuantized *header = (GenieQuantized *) record;

	draw(NORMAL, n);
	genie_rabitq((GenieValueShape) {.metric = GENIE_METRIC_L2_RABITQ, .n_dimensions = n}, vector_of(vectors[0], n),
				 record);
	CHECK(genie_rabitq_valid(n, record));
	record[16 + 17] |= 0x80;
	CHECK(!genie_rabitq_valid(n, record));
	record[16 + 17] &= 0x7F;
	record[16] ^= 1;
	CHECK(!genie_rabitq_valid(n, record));
	record[16] ^= 1;
	header->offset = -1;
	CHECK(!genie_rabitq_valid(n, record));
}

int
main(void)
{
	test_bounds();
	test_offers();
	test_tight();
	test_unknown();
	test_valid();
	return genie_test_end();
}

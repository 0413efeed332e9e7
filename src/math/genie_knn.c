/*
 * genie_knn.c
 *	  Exact nearest neighbours of many queries (genie_knn.h).
 *
 * After TH-heap (Matsumoto and Yiu, "Accelerating exact similarity search on CPU-GPU systems", ICDM 2015): distances
 * by a blocked product, a threshold that prunes most of them, and a partial heapsort of the few that are left.  There
 * the threshold is the k-th distance in a sample.  Here the caller adds a sample's rows first, and the threshold is the
 * k-th distance of the rows so far, so it tightens as rows go by.  There the survivors of a batch are gathered and then
 * sorted; here each goes into its query's heap at once, which tightens the bound for the next rows.
 *
 * Two steps a pair of a row p and a query q:
 *
 *	1. An estimate in floats, of GENIE_KNN_ROWS rows and some queries at a time in registers (genie_knn_kernel.h):
 *		estimate = term(p) - 2 p.q	or	term(p) + |p - q| for l1		is compared with	bound(q)
 *	2. Where it is not above the bound, genie_vector_measure(), which decides.
 *
 * No row may be lost by rounding: if the distance is at most D, the query's farthest so far, then the estimate is not
 * above the bound.  Let u = 2^-24, n dimensions.  Elements that are rounded to floats, and n products and sums of
 * them in any order, fused or not, have an error of at most (n + 4) u |p| |q|, and twice that is at most
 * (n + 4) u (|p|^2 + |q|^2), because |p| |q| is at most half of the sum of squares; the last subtraction has another
 * 2 u (|p|^2 + |q|^2).  So with c = 1.1 (n + 16) u
 *
 *		l2		term = (1 - c) |p|^2	bound = D^2 - (1 - c) |q|^2
 *		inner	term = -c |p|^2			bound = 2 D + c |q|^2			D is the negative product
 *		cosine	term = 0				bound = 2 (D - 1) + 2 c			p and q are divided by their lengths
 *		l1		term = -4 u |p|			bound = (1 + c) D + 4 u |q|		all terms are positive: the error is
 *																		relative, but for that of rounded elements
 *
 * where D^2 and D are taken a billionth larger, because they were rounded themselves, terms are rounded down and bounds
 * up.  Numbers too small for a float add at most n 2^-147, which the bound has, too.  Where floats might overflow,
 * where the measure itself is not accurate, where something is not finite, and while the query has fewer than k rows,
 * there is no estimate: the row's term is -infinity, or the query's bound is +infinity.  An estimate that is NaN is not
 * above any bound.
 *
 * Where the rows' lengths are much larger than their distances, c |p|^2 exceeds these and nothing is pruned.  The
 * answer is right all the same; each pair takes a measure.
 *
 * No BLAS.  It brings threads, with signal masks, memory and tables of its own, and the server's processes are not made
 * for that; it would also leave the comparison to a second pass over its result.
 */
#include <math.h>
#include <string.h>

#include "genie_heap.h"
#include "genie_knn.h"

#define CACHE_LINE	64
#define ROUNDING	5.9604644775390625e-8	/* u */
#define VANISHING	0x1p-147	/* what a dimension may lose below the range of a float */

/* sums, of squares or for l1 of sizes, above which floats or the measure might overflow */
#define SQUARES_MAX 1e36
#define SIZES_MAX	1e36

const GenieKnnKernel *
genie_knn_nth(uint32_t i)
{
	if (i == 0)
		return &genie_knn_portable;
#if defined(__x86_64__)
	if (i == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &genie_knn_avx2;
	if (i == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		__builtin_cpu_supports("avx512f"))
		return &genie_knn_avx512;
#endif
	return NULL;
}

/* ---- memory ---- */

/* The next n bytes of memory, which begins a cache line; NULL: they are only counted. */
static void *
take(uint8_t *memory, size_t *at, size_t n)
{
	void	   *taken = memory == NULL ? NULL : memory + *at;

	*at += (n + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	return taken;
}

static uint32_t
n_tiles(const GenieKnn *knn)
{
	return (knn->n_queries + GENIE_KNN_TILE - 1) / GENIE_KNN_TILE;
}

/* Lays everything out, or only says how many bytes that takes. */
static size_t
lay_out(GenieKnn *knn, uint8_t *memory)
{
	size_t		n = knn->n_queries;
	size_t		n_padded = (size_t) n_tiles(knn) * GENIE_KNN_TILE;
	size_t		at = 0;

	knn->zeros = take(memory, &at, knn->n_dimensions * genie_vector_element_bytes(knn->is_double));
	knn->query_sizes = take(memory, &at, n * sizeof(double));
	knn->bounds = take(memory, &at, n_padded * sizeof(float));
	knn->tiles = take(memory, &at, n_padded * knn->n_dimensions * sizeof(float));
	knn->panel = take(memory, &at, GENIE_KNN_ROWS * (size_t) knn->n_dimensions * sizeof(float));
	knn->terms = take(memory, &at, GENIE_KNN_ROWS * sizeof(float));
	knn->n_found = take(memory, &at, n * sizeof(uint32_t));
	knn->found = take(memory, &at, n * knn->k * sizeof(GenieNeighbour));
	return at;
}

size_t
genie_knn_bytes(const GenieKnn *knn)
{
	GenieKnn	shape = *knn;

	return lay_out(&shape, NULL) + CACHE_LINE;
}

/* ---- estimates ---- */

static float
round_down(double value)
{
	float		rounded = (float) value;

	return rounded > value ? nextafterf(rounded, -INFINITY) : rounded;
}

static float
round_up(double value)
{
	float		rounded = (float) value;

	return rounded < value ? nextafterf(rounded, INFINITY) : rounded;
}

static GenieVector
vector_at(const GenieKnn *knn, const void *vectors, uint32_t i)
{
	size_t		nbytes = knn->n_dimensions * genie_vector_element_bytes(knn->is_double);
	GenieVector vector = {(const uint8_t *) vectors + i * nbytes, knn->n_dimensions, knn->is_double};

	return vector;
}

/*
 * How large a vector is, as estimates need it: its sum of squares, or for l1 of sizes.  NaN: it has no estimate.
 */
static double
size_of(const GenieKnn *knn, GenieVector vector)
{
	GenieVector zeros = {knn->zeros, knn->n_dimensions, knn->is_double};
	double		size;

	if (knn->metric == GENIE_METRIC_L1)
	{
		size = genie_vector_measure(GENIE_METRIC_L1, vector, zeros);
		return size <= SIZES_MAX ? size : NAN;
	}
	size = genie_vector_measure(GENIE_METRIC_INNER, vector, vector);
	if (knn->metric != GENIE_METRIC_COSINE)
		return size <= SQUARES_MAX ? size : NAN;
	return size == 0 || (size >= GENIE_COSINE_SQUARES_MIN && size <= GENIE_COSINE_SQUARES_MAX) ? size : NAN;
}

/* Elements as floats, of which each is so many behind the one before. */
static void
put_floats(const GenieKnn *knn, GenieVector vector, double size, float *to, uint32_t stride)
{
	double		factor = 1;

	if (isnan(size) || (knn->metric == GENIE_METRIC_COSINE && size == 0))
		factor = 0;
	else if (knn->metric == GENIE_METRIC_COSINE)
		factor = 1 / sqrt(size);
	if (vector.is_double)
	{
		const double *from = vector.elements;

		for (uint32_t j = 0; j < vector.n; j++)
			to[(size_t) j * stride] = (float) (from[j] * factor);
	}
	else
	{
		const float *from = vector.elements;

		for (uint32_t j = 0; j < vector.n; j++)
			to[(size_t) j * stride] = factor == 1 ? from[j] : (float) (from[j] * factor);
	}
}

static float
term_of(const GenieKnn *knn, double size)
{
	if (isnan(size))
		return -INFINITY;
	switch (knn->metric)
	{
		case GENIE_METRIC_L2:
			return round_down((1 - knn->slack) * size);
		case GENIE_METRIC_INNER:
			return round_down(-knn->slack * size);
		case GENIE_METRIC_L1:
			return round_down(-4 * ROUNDING * size);
		default:
			return 0;
	}
}

/* The bound of a query whose farthest row is so far. */
static float
bound_of(const GenieKnn *knn, double size, double farthest)
{
	double		larger = farthest + fabs(farthest) * 1e-9;
	double		least = knn->n_dimensions * VANISHING;

	if (isnan(size) || isnan(farthest))
		return INFINITY;
	switch (knn->metric)
	{
		case GENIE_METRIC_L2:
			return round_up(larger * larger - (1 - knn->slack) * size + least);
		case GENIE_METRIC_INNER:
			return round_up(2 * larger + knn->slack * size + least);
		case GENIE_METRIC_L1:
			return round_up((1 + knn->slack) * larger + 4 * ROUNDING * size + least);
		default:
			return round_up(2 * (larger - 1) + 2 * knn->slack + least);
	}
}

/* ---- heaps ---- */

/* Is a nearer than b? */
static inline bool
is_nearer(const GenieNeighbour *a, const GenieNeighbour *b)
{
	if (a->distance < b->distance)
		return true;
	if (a->distance > b->distance)
		return false;
	if (isnan(a->distance) != isnan(b->distance))
		return isnan(b->distance);
	return a->id < b->id;
}

GENIE_HEAP(neighbours, GenieNeighbour, is_nearer)

static void
offer_row(GenieKnn *knn, uint32_t query, uint32_t row)
{
	GenieNeighbour *heap = knn->found + (size_t) query * knn->k;
	GenieNeighbour neighbour;

	neighbour.distance = genie_vector_measure(knn->metric, vector_at(knn, knn->rows, row),
											  vector_at(knn, knn->queries, query));
	if (knn->metric == GENIE_METRIC_INNER)
		neighbour.distance = -neighbour.distance;	/* -0 of 0, as the operator - gives it */
	neighbour.id = knn->ids[row];
	if (knn->n_found[query] < knn->k)
		neighbours_add(heap, knn->n_found[query]++, neighbour);
	else if (is_nearer(&neighbour, &heap[0]))
		neighbours_replace(heap, knn->k, neighbour);
	else
		return;
	if (knn->n_found[query] == knn->k)
		knn->bounds[query] = bound_of(knn, knn->query_sizes[query], heap[0].distance);
}

/* GenieKnnOffer: measures the rows, which decides. */
static void
offer_rows(GenieKnn *knn, uint32_t query, uint32_t first, uint32_t mask)
{
	if (query >= knn->n_queries)
		return;
	for (; mask != 0; mask &= mask - 1)
	{
		uint32_t	row = first + (uint32_t) __builtin_ctz(mask);

		if (row < knn->n_rows)
			offer_row(knn, query, row);
	}
}

/* ---- adding rows ---- */

void
genie_knn_open(GenieKnn *knn, void *memory)
{
	size_t		misaligned = (uintptr_t) memory % CACHE_LINE;
	size_t		nbytes = knn->n_dimensions * genie_vector_element_bytes(knn->is_double);

	lay_out(knn, (uint8_t *) memory + (misaligned == 0 ? 0 : CACHE_LINE - misaligned));
	for (uint32_t i = 0; genie_knn_nth(i) != NULL; i++)
		knn->kernel = genie_knn_nth(i);
	knn->slack = 1.1 * (knn->n_dimensions + 16) * ROUNDING;
	memset(knn->zeros, 0, nbytes);
	memset(knn->tiles, 0, (size_t) n_tiles(knn) * GENIE_KNN_TILE * knn->n_dimensions * sizeof(float));
	memset(knn->n_found, 0, knn->n_queries * sizeof(uint32_t));
	for (uint32_t q = 0; q < n_tiles(knn) * GENIE_KNN_TILE; q++)
		knn->bounds[q] = q < knn->n_queries ? INFINITY : -INFINITY;
	for (uint32_t q = 0; q < knn->n_queries; q++)
	{
		GenieVector query = vector_at(knn, knn->queries, q);
		size_t		first = q / GENIE_KNN_TILE * GENIE_KNN_TILE;

		knn->query_sizes[q] = size_of(knn, query);
		put_floats(knn, query, knn->query_sizes[q],
				   knn->tiles + first * knn->n_dimensions + q % GENIE_KNN_TILE, GENIE_KNN_TILE);
	}
}

void
genie_knn_add(GenieKnn *knn, const void *rows, const uint64_t *ids, uint32_t n)
{
	knn->rows = rows;
	knn->ids = ids;
	knn->n_rows = n;
	if (n < GENIE_KNN_ROWS)
		memset(knn->panel, 0, GENIE_KNN_ROWS * (size_t) knn->n_dimensions * sizeof(float));
	for (uint32_t i = 0; i < GENIE_KNN_ROWS; i++)
	{
		GenieVector row = vector_at(knn, rows, i);
		double		size;

		knn->terms[i] = INFINITY;
		if (i >= n)
			continue;
		size = size_of(knn, row);
		knn->terms[i] = term_of(knn, size);
		put_floats(knn, row, size, knn->panel + i, GENIE_KNN_ROWS);
	}
	knn->kernel->add(knn, offer_rows);
}

bool
genie_knn_has_floats(const GenieKnn *knn)
{
	return !knn->is_double && knn->metric != GENIE_METRIC_COSINE;
}

/*
 * Elements of a vector that has no estimate stay as they are where they are floats: the row's term, or the query's
 * bound, is infinite, and the estimate infinitely small or NaN.
 */
const float *
genie_knn_floats(const GenieKnn *knn, const void *vectors, uint32_t n, float *made, float *terms)
{
	bool		has_floats = genie_knn_has_floats(knn);

	for (uint32_t i = 0; i < n && (terms != NULL || !has_floats); i++)
	{
		GenieVector vector = vector_at(knn, vectors, i);
		double		size = size_of(knn, vector);

		if (terms != NULL)
			terms[i] = term_of(knn, size);
		if (!has_floats)
			put_floats(knn, vector, size, made + (size_t) i * knn->n_dimensions, 1);
	}
	return has_floats ? vectors : made;
}

void
genie_knn_add_pairs(GenieKnn *knn, const void *rows, const uint64_t *ids, uint32_t first_query, const GeniePair *pairs,
					uint32_t n)
{
	knn->rows = rows;
	knn->ids = ids;
	for (uint32_t i = 0; i < n; i++)
		offer_row(knn, first_query + pairs[i].query, pairs[i].row);
}

void
genie_knn_finish(GenieKnn *knn)
{
	for (uint32_t q = 0; q < knn->n_queries; q++)
	{
		GenieNeighbour *heap = knn->found + (size_t) q * knn->k;

		for (uint32_t n = knn->n_found[q]; n > 1; n--)
		{
			GenieNeighbour last = heap[n - 1];

			heap[n - 1] = heap[0];
			neighbours_replace(heap, n - 1, last);
		}
	}
}

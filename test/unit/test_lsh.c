/*
 * test_lsh.c
 *	  Hash functions: how often they agree against theory, over a grid of distances; the same codes whatever the batch
 *	  and the instructions, and on every machine; how many functions a similarity needs.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "genie_draw.h"
#include "genie_lsh.h"
#include "genie_murmur.h"
#include "genie_test.h"

#define DIMENSIONS 24
#define FUNCTIONS 500
#define SEEDS 12
#define GRID 9
#define SET_SIZE 120
#define PAIRS 1500

static double
random_unit(GenieRandom *random)
{
	return (double) (genie_random(random) >> 11) * 0x1p-53;
}

static GenieLsh *
make(uint32_t family, uint32_t n_functions, uint32_t n_dimensions, uint32_t n_buckets, uint64_t seed, double width)
{
	GenieLshParameters parameters = {family, n_functions, n_dimensions, n_buckets, seed, width, {0}};

	GenieLsh   *lsh;

	if (!CHECK(genie_lsh_valid(&parameters)))
		exit(1);
	lsh = genie_lsh_make(malloc(genie_lsh_size(&parameters)), &parameters);
	for (uint32_t group = 0; group < lsh->n_groups; group++)
		genie_lsh_draw(lsh, group);
	return lsh;
}

static void
hash_set(const GenieLsh *lsh, const uint64_t *elements, uint32_t n, int32_t *codes)
{
	for (uint32_t group = 0; group < lsh->n_groups; group++)
		genie_lsh_hash_set(lsh, group, elements, n, codes);
}

/* ---- random numbers ---- */

/* Of n numbers, how many fall into each of so many bins that are equally likely by their distribution function. */
static double
chi_square(const double *quantiles, int n, int n_bins)
{
	double		sum = 0;

	for (int b = 0; b < n_bins; b++)
	{
		double		expected = (double) n / n_bins;
		double		got = 0;

		for (int i = 0; i < n; i++)
			got += quantiles[i] * n_bins >= b && quantiles[i] * n_bins < b + 1;
		sum += (got - expected) * (got - expected) / expected;
	}
	return sum;
}

static void
test_draws(void)
{
	enum
	{
		N = 20000, BINS = 50
	};
	static double uniform[N];
	static double normal[N];
	static double cauchy[N];
	static double gamma[N];
	uint64_t	begin = genie_draw_begin(7, 3, 5);

	for (int i = 0; i < N; i++)
	{
		double		x;
		double		y;

		uniform[i] = genie_draw_uniform(begin, i);
		genie_draw_normals(begin, i / 2, &x, &y);
		normal[i] = 0.5 * erfc(-(i % 2 ? y : x) / sqrt(2));
		cauchy[i] = 0.5 + atan(genie_draw_cauchy(begin, i)) / acos(-1);
		x = genie_draw_gamma2(begin, (uint64_t) 2 * i);
		gamma[i] = 1 - (1 + x) * exp(-x);
	}

	/* 49 degrees of freedom: above 86 once in a thousand times */
	CHECK(chi_square(uniform, N, BINS) < 86);
	CHECK(chi_square(normal, N, BINS) < 86);
	CHECK(chi_square(cauchy, N, BINS) < 86);
	CHECK(chi_square(gamma, N, BINS) < 86);

	for (double x = 0x1p-104; x < 1e6; x *= 1.37)
		CHECK(fabs(genie_draw_ln(x) - log(x)) <= 4e-16 * fabs(log(x)) + 1e-17);
}

/* The numbers that Appleby's code gives. */
static void
test_murmur(void)
{
	CHECK(genie_murmur_finish(genie_murmur_step(0, 0x74736574), 1) == 0xBA6BD213);	/* "test" */
	CHECK(genie_murmur_finish(0, 0) == 0);
	CHECK(genie_murmur_bytes((const uint8_t *) "hello", 5, 0) == UINT64_C(0xCBD8A7B341BD9B02));
	CHECK(genie_murmur_bytes((const uint8_t *) "The quick brown fox jumps over the lazy dog", 43, 0) ==
		  UINT64_C(0xE34BBC7BBC071B6C));
}

/* ---- how often two things agree ---- */

typedef struct Family
{
	const char *name;
	uint32_t	family;
	uint32_t	n_buckets;
	double		width;
	double		nearest;		/* of the grid of distances */
	double		farthest;
} Family;

static const Family families[] = {
	{"l2", GENIE_LSH_L2, 0, 3, 0.2, 12},
	{"l2, re-hashed", GENIE_LSH_L2, 67, 3, 0.2, 12},
	{"l1", GENIE_LSH_L1, 0, 8, 0.2, 40},
	{"laplacian", GENIE_LSH_LAPLACIAN, 0, 5, 0.2, 15},
	{"laplacian, re-hashed", GENIE_LSH_LAPLACIAN, 64, 5, 0.2, 15},
	{"cosine", GENIE_LSH_COSINE, 0, 1, 0.02, 3.1},
	{"cosine, 3 bits", GENIE_LSH_COSINE, 0, 3, 0.02, 3.1},
	{"minhash", GENIE_LSH_MINHASH, 0, 0, 0.05, 1},
	{"minhash, 2 bits", GENIE_LSH_MINHASH, 4, 0, 0.05, 1},
	{"hamming", GENIE_LSH_HAMMING, 0, 1, 0.01, 1},
	{"hamming, 4 bits", GENIE_LSH_HAMMING, 0, 4, 0.01, 1},
};

#define N_FAMILIES (sizeof(families) / sizeof(families[0]))

/* Two things that far apart, as exactly as they can be: distance is what it came to. */
typedef struct Pair
{
	float		vectors[2][DIMENSIONS];
	uint64_t	sets[2][SET_SIZE];
	uint32_t	n_elements[2];
	uint8_t		bits[2][SET_SIZE / 8];
	double		distance;
} Pair;

static void
make_vectors(GenieRandom *random, uint32_t family, double distance, Pair *pair)
{
	double		direction[DIMENSIONS];
	double		other[DIMENSIONS];
	double		length = 0;
	double		dot = 0;
	double		norm[2] = {0, 0};
	bool		euclidean = family == GENIE_LSH_L2 || family == GENIE_LSH_COSINE;

	for (int d = 0; d < DIMENSIONS; d++)
	{
		pair->vectors[0][d] = (float) (20 * random_unit(random) - 10);
		direction[d] = random_unit(random) - 0.5;
		norm[0] += (double) pair->vectors[0][d] * pair->vectors[0][d];
		dot += direction[d] * pair->vectors[0][d];
	}
	for (int d = 0; d < DIMENSIONS; d++)
	{
		/* of an angle: orthogonal to the first */
		if (family == GENIE_LSH_COSINE)
			direction[d] -= dot / norm[0] * pair->vectors[0][d];
		length += euclidean ? direction[d] * direction[d] : fabs(direction[d]);
	}
	if (euclidean)
		length = sqrt(length);
	for (int d = 0; d < DIMENSIONS; d++)
	{
		other[d] = family == GENIE_LSH_COSINE ?
			cos(distance) * pair->vectors[0][d] / sqrt(norm[0]) + sin(distance) * direction[d] / length :
			pair->vectors[0][d] + distance * direction[d] / length;
		pair->vectors[1][d] = (float) other[d];
	}

	/* what rounding to floats made of it */
	pair->distance = dot = norm[0] = 0;
	for (int d = 0; d < DIMENSIONS; d++)
	{
		double		a = pair->vectors[0][d];
		double		b = pair->vectors[1][d];

		norm[0] += a * a;
		norm[1] += b * b;
		dot += a * b;
		pair->distance += family == GENIE_LSH_L2 ? (a - b) * (a - b) : fabs(a - b);
	}
	if (family == GENIE_LSH_L2)
		pair->distance = sqrt(pair->distance);
	if (family == GENIE_LSH_COSINE)
		pair->distance = acos(dot / sqrt(norm[0] * norm[1]));
}

static Pair
make_pair(GenieRandom *random, uint32_t family, double distance)
{
	Pair		pair = {.n_elements = {0, 0}};
	uint32_t	n = SET_SIZE;

	if (family <= GENIE_LSH_COSINE)
		make_vectors(random, family, distance, &pair);
	else if (family == GENIE_LSH_MINHASH)
	{
		uint32_t	shared = (uint32_t) ((1 - distance) * n + 0.5);

		/* so many in both, the rest alternately in one of them */
		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t	element = genie_random(random);

			if (i < shared || i % 2 == 0)
				pair.sets[0][pair.n_elements[0]++] = element;
			if (i < shared || i % 2 == 1)
				pair.sets[1][pair.n_elements[1]++] = element;
		}
		pair.distance = 1 - (double) shared / n;
	}
	else
	{
		uint32_t	different = (uint32_t) (distance * n + 0.5);

		for (uint32_t i = 0; i < n / 8; i++)
			pair.bits[0][i] = pair.bits[1][i] = (uint8_t) genie_random(random);
		for (uint32_t i = 0; i < different; i++)
			pair.bits[1][i / 8] ^= 0x80 >> i % 8;
		pair.distance = (double) different / n;
	}
	return pair;
}

/* The theory: genie_lsh.c has the formulas, and where they come from. */
static double
agreement(const Family *family, double distance)
{
	const double pi = acos(-1);
	double		r = family->width / distance;
	double		s = 0;

	switch (family->family)
	{
		case GENIE_LSH_L2:
			s = 1 - erfc(r / sqrt(2)) - 2 * (1 - exp(-r * r / 2)) / (sqrt(2 * pi) * r);
			break;
		case GENIE_LSH_L1:
			s = 2 * atan(r) / pi - log(1 + r * r) / (pi * r);
			break;
		case GENIE_LSH_LAPLACIAN:
			s = exp(-distance / family->width);
			break;
		case GENIE_LSH_COSINE:
			s = pow(1 - distance / pi, family->width);
			break;
		case GENIE_LSH_MINHASH:
			s = 1 - distance;
			break;
		case GENIE_LSH_HAMMING:
			s = pow(1 - distance, family->width);
			break;
	}
	return family->n_buckets == 0 ? s : s + (1 - s) / family->n_buckets;
}

static uint32_t
dimensions_of(uint32_t family)
{
	return family <= GENIE_LSH_COSINE ? DIMENSIONS : family == GENIE_LSH_HAMMING ? SET_SIZE : 0;
}

static void
hash_one(GenieLsh *lsh, const Pair *pair, int i, int32_t *codes)
{
	if (lsh->parameters.family <= GENIE_LSH_COSINE)
		genie_lsh_hash(lsh, pair->vectors[i], 1, codes);
	else if (lsh->parameters.family == GENIE_LSH_MINHASH)
		hash_set(lsh, pair->sets[i], pair->n_elements[i], codes);
	else
		genie_lsh_hash_bits(lsh, pair->bits[i], codes);
}

static uint32_t
count_matches(GenieLsh *lsh, const Pair *pair)
{
	static int32_t codes[2][FUNCTIONS];
	uint32_t	matches = 0;

	hash_one(lsh, pair, 0, codes[0]);
	hash_one(lsh, pair, 1, codes[1]);
	for (uint32_t f = 0; f < lsh->parameters.n_functions; f++)
		matches += codes[0][f] == codes[1][f];
	return matches;
}

/*
 * Fresh functions throughout, of many seeds, and other pairs: each grid point is a binomial number, and the sum of the
 * squares of their standardised deviations is chi-square with GRID degrees of freedom: above 27.9 once in a
 * thousand times.
 */
static void
test_collision_rates(void)
{
	GenieRandom random = {1};

	for (size_t i = 0; i < N_FAMILIES; i++)
	{
		const Family *family = &families[i];
		double		sum = 0;

		for (int g = 0; g < GRID; g++)
		{
			double		distance = family->nearest * pow(family->farthest / family->nearest, g / (GRID - 1.0));
			double		expected = 0;
			double		variance = 0;
			double		got = 0;

			for (int s = 0; s < SEEDS; s++)
			{
				Pair		pair = make_pair(&random, family->family, distance);
				double		p = agreement(family, pair.distance);
				GenieLsh   *lsh = make(family->family, FUNCTIONS, dimensions_of(family->family), family->n_buckets,
									   genie_random(&random), family->width);

				got += count_matches(lsh, &pair);
				expected += FUNCTIONS * p;
				variance += FUNCTIONS * p * (1 - p);
				free(lsh);
			}
			if (variance < 1e-6)
				CHECK(fabs(got - expected) < 1e-3);
			else
				sum += (got - expected) * (got - expected) / variance;
		}
		if (!CHECK(sum < 27.9))
			printf("%s: chi-square %g\n", family->name, sum);
	}
}

/* One pair a seed, for pairs that share functions are not independent. */
static void
test_estimate(void)
{
	const double epsilon = 0.06;
	const double delta = 0.06;
	uint32_t	n_functions = genie_lsh_functions(epsilon, delta);
	GenieRandom random = {2};

	for (size_t i = 0; i < N_FAMILIES; i++)
	{
		const Family *family = &families[i];
		uint32_t	within = 0;

		for (int p = 0; p < PAIRS; p++)
		{
			double		distance = family->nearest + (family->farthest - family->nearest) * random_unit(&random);
			Pair		pair = make_pair(&random, family->family, distance);
			Family		plain = *family;
			double		slack = epsilon + 1e-12;
			GenieLsh   *lsh = make(family->family, n_functions, dimensions_of(family->family), family->n_buckets,
								   genie_random(&random), family->width);

			plain.n_buckets = 0;
			if (family->n_buckets != 0)
				slack += 1.0 / family->n_buckets;
			within += fabs((double) count_matches(lsh, &pair) / n_functions -
						   agreement(&plain, pair.distance)) <= slack;
			free(lsh);
		}
		if (!CHECK(within >= (1 - delta) * PAIRS))
			printf("%s: %u of %u\n", family->name, within, PAIRS);
	}
}

/* Against exact rational arithmetic, with all breakpoints, by another program. */
static void
test_functions(void)
{
	CHECK_INT(genie_lsh_functions(0.06, 0.06), 250);
	CHECK_INT(genie_lsh_functions(0.1, 0.1), 70);
	CHECK_INT(genie_lsh_functions(0.15, 0.05), 47);
	CHECK_INT(genie_lsh_functions(0.3, 0.3), 5);
	CHECK_INT(genie_lsh_functions(1.0 / 3, 0.01), 17);
	CHECK_INT(genie_lsh_functions(0.9, 0.9), 1);
	CHECK_INT(genie_lsh_functions(0.004, 0.001), 0);
	CHECK_INT(genie_lsh_functions_bound(0.06, 0.06), 2174);
}

/* ---- the same codes everywhere ---- */

#define MANY 64

static void
fill(GenieRandom *random, float *vectors, uint32_t n, bool extreme)
{
	for (uint32_t i = 0; i < n; i++)
	{
		vectors[i] = (float) (random_unit(random) * 512 - 256);
		if (extreme && genie_random_below(random, 4) == 0)
			vectors[i] = genie_random_below(random, 2) == 0 ? FLT_MAX : -FLT_MAX;
		if (genie_random_below(random, 8) == 0)
			vectors[i] = genie_random_below(random, 2) == 0 ? 0.0f : -0.0f;
	}
}

static void
compare_vectors(GenieRandom *random, uint32_t family, uint32_t n_functions, uint32_t n_dimensions, uint32_t n_buckets,
				double width, bool extreme)
{
	GenieLsh   *lsh = make(family, n_functions, n_dimensions, n_buckets, 11, width);
	float	   *vectors = malloc(MANY * n_dimensions * sizeof(float));
	size_t		nbytes = (size_t) MANY * n_functions * sizeof(int32_t);
	int32_t    *wanted = malloc(nbytes);
	int32_t    *codes = malloc(nbytes);

	fill(random, vectors, MANY * n_dimensions, extreme);
	lsh->kernels = &genie_lsh_portable;
	for (uint32_t i = 0; i < MANY; i++)
		genie_lsh_hash(lsh, vectors + i * n_dimensions, 1, wanted + i * n_functions);
	for (uint32_t k = 0; genie_lsh_kernels_nth(k) != NULL; k++)
	{
		static const uint32_t batches[] = {1, 7, 8, 64};

		lsh->kernels = genie_lsh_kernels_nth(k);
		for (uint32_t b = 0; b < 4; b++)
		{
			memset(codes, 0xEE, nbytes);
			for (uint32_t i = 0; i < MANY; i += batches[b])
				genie_lsh_hash(lsh, vectors + i * n_dimensions, MANY - i < batches[b] ? MANY - i : batches[b],
							   codes + i * n_functions);
			if (!CHECK(memcmp(codes, wanted, nbytes) == 0))
				printf("family %u, %s, batches of %u\n", family, lsh->kernels->name, batches[b]);
		}
	}
	free(wanted);
	free(codes);
	free(vectors);
	free(lsh);
}

static void
test_same_codes(void)
{
	GenieRandom random = {3};

	for (uint32_t family = GENIE_LSH_L2; family <= GENIE_LSH_COSINE; family++)
	{
		double		width = family == GENIE_LSH_COSINE ? 5 : 90;

		compare_vectors(&random, family, 37, 19, 0, width, false);
		compare_vectors(&random, family, 16, 1, 0, width, false);
		compare_vectors(&random, family, 33, 50, 0, width, true);
		if (family == GENIE_LSH_COSINE)
			continue;
		compare_vectors(&random, family, 33, 50, 8192, 3e-4, false);
		compare_vectors(&random, family, 33, 50, 0, DBL_MIN, true);
		compare_vectors(&random, family, 33, 50, 0, DBL_MAX, true);
	}

	/* sets of any size, by each set of kernels; the order and duplicates do not matter */
	for (uint32_t n = 0; n < 40; n++)
	{
		GenieLsh   *lsh = make(GENIE_LSH_MINHASH, 35, 0, n % 2 * 256, n, 0);
		uint64_t	elements[41];
		int32_t		wanted[35];
		int32_t		codes[35];

		for (uint32_t i = 0; i < n; i++)
			elements[i] = genie_random(&random);
		lsh->kernels = &genie_lsh_portable;
		hash_set(lsh, elements, n, wanted);
		if (n > 0)
		{
			elements[n] = elements[0];
			elements[0] = elements[n - 1];
		}
		for (uint32_t k = 0; genie_lsh_kernels_nth(k) != NULL; k++)
		{
			lsh->kernels = genie_lsh_kernels_nth(k);
			hash_set(lsh, elements, n > 0 ? n + 1 : 0, codes);
			CHECK(memcmp(codes, wanted, sizeof(codes)) == 0);
		}
		free(lsh);
	}
}

/* A function does not depend on how many there are. */
static void
test_prefix(void)
{
	GenieRandom random = {4};

	for (size_t i = 0; i < N_FAMILIES; i++)
	{
		const Family *family = &families[i];
		Pair		pair = make_pair(&random, family->family, family->farthest);
		uint32_t	n_dimensions = dimensions_of(family->family);
		GenieLsh   *few = make(family->family, 21, n_dimensions, family->n_buckets, 5, family->width);
		GenieLsh   *many = make(family->family, 300, n_dimensions, family->n_buckets, 5, family->width);
		int32_t		few_codes[21];
		int32_t		many_codes[300];

		hash_one(few, &pair, 0, few_codes);
		hash_one(many, &pair, 0, many_codes);
		CHECK(memcmp(few_codes, many_codes, sizeof(few_codes)) == 0);
		free(few);
		free(many);
	}
}

/* What is on disk was made by another machine, perhaps: these numbers never change. */
static void
test_pinned(void)
{
	static const int32_t pinned[N_FAMILIES][4] = {
		{8, -7, -7, -32147022},
		{8, 50, 17, 528173444},
		{-4, -6, 58, -2070318100},
		{-222420707, 433119753, 594016187, 65899968},
		{60, 6, 8, 1339099474},
		{0, 0, 0, -1679265832},
		{4, 1, 0, -1401197189},
		{-1620241554, 869568751, 1083855252, -979029338},
		{1, 0, 3, -1541103867},
		{1, 1, 1, 43210979},
		{9, 9, 1, -1931890313}
	};

	for (size_t i = 0; i < N_FAMILIES; i++)
	{
		const Family *family = &families[i];
		GenieLsh   *lsh = make(family->family, 400, dimensions_of(family->family), family->n_buckets, 123,
							   family->width);
		Pair		pair = {.n_elements = {9, 0}};
		int32_t		codes[400];
		uint32_t	hash = 0;

		for (int d = 0; d < DIMENSIONS; d++)
			pair.vectors[0][d] = (float) ((d * 37 % 19 - 9) * 0.7);
		for (uint8_t j = 0; j < 9; j++)
			pair.sets[0][j] = genie_lsh_element(&j, 1);
		for (uint32_t j = 0; j < SET_SIZE / 8; j++)
			pair.bits[0][j] = (uint8_t) (j * 73);
		hash_one(lsh, &pair, 0, codes);
		for (int f = 0; f < 400; f++)
			hash = genie_murmur_step(hash, (uint32_t) codes[f]);
		CHECK_INT(codes[0], pinned[i][0]);
		CHECK_INT(codes[1], pinned[i][1]);
		CHECK_INT(codes[399], pinned[i][2]);
		CHECK_INT((int32_t) genie_murmur_finish(hash, 400), pinned[i][3]);
		free(lsh);
	}
}

/* How far apart on the projection, in widths, a vector can be that a window holds, or does not. */
static void
test_window(void)
{
	GenieLsh   *lsh = make(GENIE_LSH_L2, 400, 1, 0, 7, 2);
	GenieLshWindow window = genie_lsh_window(INT32_MAX, 1);
	float		query = 30;
	int32_t		own[400];
	int32_t		codes[400];

	CHECK_INT(window.least, INT32_MAX - 1);
	CHECK_INT(window.greatest, INT32_MAX);
	window = genie_lsh_window(INT32_MIN, UINT32_MAX);
	CHECK_INT(window.least, INT32_MIN);
	CHECK_INT(window.greatest, INT32_MAX);
	window = genie_lsh_window(-5, 0);
	CHECK(window.least == -5 && window.greatest == -5);

	genie_lsh_hash(lsh, &query, 1, own);
	for (int i = 0; i < 60; i++)
	{
		float		other = (float) i;

		genie_lsh_hash(lsh, &other, 1, codes);
		for (int f = 0; f < 400; f++)
		{
			float		entry = lsh->table[f / GENIE_LSH_GROUP * GENIE_LSH_GROUP + f % GENIE_LSH_GROUP];
			double		apart = fabs((double) entry * (other - query)) / 2;

			for (uint32_t probes = 0; probes < 4; probes++)
			{
				window = genie_lsh_window(own[f], probes);
				if (codes[f] >= window.least && codes[f] <= window.greatest)
					CHECK(apart < probes + 1);
				else
					CHECK(apart > probes);
			}
		}
	}
	free(lsh);
}

/* A function of a scale is that of so many times the width.  Scales that are powers of two make no rounding differ. */
static void
test_scales(void)
{
	static const uint32_t scaled_families[] = {GENIE_LSH_L2, GENIE_LSH_L1, GENIE_LSH_LAPLACIAN};
	enum {SCALED = 40, SIDES = 7, POINTS = 9};
	float		vectors[POINTS * SIDES];
	int32_t		codes[POINTS * SCALED];
	int32_t		expected[POINTS * SCALED];

	for (int i = 0; i < POINTS * SIDES; i++)
		vectors[i] = (float) (i * 37 % 101) / 8 - 5;
	for (size_t f = 0; f < sizeof(scaled_families) / sizeof(scaled_families[0]); f++)
	{
		GenieLsh   *plain = make(scaled_families[f], SCALED, SIDES, 0, 5, 1.5);
		GenieLshParameters parameters = plain->parameters;
		GenieLsh   *scaled;

		for (int s = 0; s < GENIE_LSH_SCALES; s++)
			parameters.scales[s] = (float) ldexp(1, s - 3);
		scaled = genie_lsh_make(malloc(genie_lsh_size(&parameters)), &parameters);
		for (uint32_t group = 0; group < scaled->n_groups; group++)
			genie_lsh_draw(scaled, group);
		genie_lsh_hash(scaled, vectors, POINTS, codes);
		for (int s = 0; s < GENIE_LSH_SCALES; s++)
		{
			GenieLsh   *one = make(scaled_families[f], SCALED, SIDES, 0, 5, ldexp(1.5, s - 3));

			genie_lsh_hash(one, vectors, POINTS, expected);
			for (int i = s; i < SCALED; i += GENIE_LSH_SCALES)
				for (int v = 0; v < POINTS; v++)
					CHECK(codes[v * SCALED + i] == expected[v * SCALED + i]);
			free(one);
		}
		free(scaled);
		free(plain);
	}
}

static void
test_valid(void)
{
	static const GenieLshParameters wrong[] = {
		{0, 1, 1, 0, 0, 1, {0}},
		{GENIE_LSH_HAMMING + 1, 1, 1, 0, 0, 1, {0}},
		{GENIE_LSH_L2, 0, 1, 0, 0, 1, {0}},
		{GENIE_LSH_L2, GENIE_LSH_FUNCTIONS_MAX + 1, 1, 0, 0, 1, {0}},
		{GENIE_LSH_L2, 1, 0, 0, 0, 1, {0}},
		{GENIE_LSH_L2, 1, GENIE_LSH_DIMENSIONS_MAX + 1, 0, 0, 1, {0}},
		{GENIE_LSH_L2, 1, 1, 0, 0, 0, {0}},
		{GENIE_LSH_L2, 1, 1, 0, 0, -1, {0}},
		{GENIE_LSH_L2, 1, 1, 0, 0, INFINITY, {0}},
		{GENIE_LSH_L2, 1, 1, 0, 0, NAN, {0}},
		{GENIE_LSH_L2, 1, 1, UINT32_C(0x80000000), 0, 1, {0}},
		{GENIE_LSH_COSINE, 1, 1, 2, 0, 1, {0}},
		{GENIE_LSH_COSINE, 1, 1, 0, 0, 1.5, {0}},
		{GENIE_LSH_COSINE, 1, 1, 0, 0, GENIE_LSH_BITS_MAX + 1, {0}},
		{GENIE_LSH_MINHASH, 1, 1, 0, 0, 0, {0}},
		{GENIE_LSH_MINHASH, 1, 0, 0, 0, 1, {0}},
		{GENIE_LSH_HAMMING, 1, 0, 0, 0, 1, {0}},
		{GENIE_LSH_L2, 1, 1, 0, 0, 1, {1, 1, 1, 1, 1, 1, 1, 0}},
		{GENIE_LSH_L2, 1, 1, 0, 0, 1, {0, 1, 1, 1, 1, 1, 1, 1}},
		{GENIE_LSH_L2, 1, 1, 0, 0, 1, {1, 1, 1, -1, 1, 1, 1, 1}},
		{GENIE_LSH_L2, 1, 1, 0, 0, 1, {1, 1, 1, NAN, 1, 1, 1, 1}},
		{GENIE_LSH_L2, 1, 1, 0, 0, 1, {1, 1, 1, 0x1p41, 1, 1, 1, 1}},
		{GENIE_LSH_COSINE, 1, 1, 0, 0, 1, {1, 1, 1, 1, 1, 1, 1, 1}},
	};
	GenieLshParameters largest = {GENIE_LSH_COSINE, GENIE_LSH_FUNCTIONS_MAX, GENIE_LSH_DIMENSIONS_MAX, 0, 0,
	GENIE_LSH_BITS_MAX, {0}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!CHECK(!genie_lsh_valid(&wrong[i])))
			printf("parameters %zu\n", i);
	CHECK(genie_lsh_valid(&largest));
	CHECK(genie_lsh_size(&largest) > GENIE_LSH_BYTES_MAX);
}

int
main(void)
{
	test_draws();
	test_murmur();
	test_collision_rates();
	test_estimate();
	test_functions();
	test_same_codes();
	test_prefix();
	test_pinned();
	test_window();
	test_scales();
	test_valid();
	return genie_test_end();
}

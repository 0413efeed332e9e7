/*
 * bench_lsh.c
 *	  Which rows do hash functions find?  Recall by family, width, query window, functions and candidates, on real data.
 *
 *	bench_lsh FOLDER [STUDY ...]
 *
 * Studies: l2, l1, laplacian, cosine on sift100k.tsv.gz and sift100k_query.tsv.gz of the folder, minhash and hamming on
 * molecules.tsv.gz (Morgan fingerprints as sets, and as strings of 2,048 bits; 200 rows are taken
 * out, as queries).  All by default.
 *
 * A query's candidates are the c best rows by match count, equal counts by row, as a scan of an approximate operator
 * class takes them before it computes their distances.  So the figure for c, the share of the true ten nearest
 * among the candidates, is the recall@10 after re-ranking; for c = 10 it is the recall of counts alone.  With
 * probes = p a query asks each function for its own bucket and p more on each side.  Widths are in units that the
 * access method measures too: for L2 the standard deviation of a projection, sqrt(mean squared distance / 2), for L1
 * and LAPLACIAN the mean l1 distance, over pairs of rows.  "67" is the paper's setting: so wide that a projection's
 * range is 67 buckets.
 *
 * True neighbours are found by brute force; a row as far as the tenth counts as one of them.  Build with -O3 -DNDEBUG.
 */
#define _POSIX_C_SOURCE 200809L

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_time.h"
#include "genie_lsh.h"
#include "genie_vector.h"

#define QUERIES 200
#define NEAREST 10
#define FUNCTIONS 256			/* the most */
#define BLOCK 2048				/* rows that are counted for all queries while their codes are in the cache */
#define LINE_MAX_BYTES (1 << 20)
#define PAIRS 20000				/* that units are measured from */
#define NUMBERS_MAX 1024		/* of an array */
#define ELEMENTS_MAX 256		/* of a set: more are left out */
#define BITS 2048				/* of a fingerprint */

static const uint32_t checkpoints[] = {64, 96, 128, 192, 237, 256};
static const uint32_t candidates[] = {10, 50, 100, 200, 300, 500, 1000};

#define N_CHECKPOINTS (sizeof(checkpoints) / sizeof(checkpoints[0]))
#define N_CANDIDATES (sizeof(candidates) / sizeof(candidates[0]))
#define MOST_CANDIDATES 1000

/* Vectors, or sets; the queries follow the rows. */
typedef struct Data
{
	uint32_t	n_rows;			/* without the queries */
	uint32_t	n_dimensions;	/* of vectors */
	float	   *vectors;
	float	   *unit_vectors;	/* of length 1 */
	uint64_t   *elements;		/* of sets: ELEMENTS_MAX apart, hashed */
	uint32_t   *sizes;
	uint8_t    *bits;			/* of sets: BITS / 8 apart */
} Data;

/* One family with its width and window. */
typedef struct Setting
{
	uint32_t	family;
	const char *title;
	double		width;			/* of the unit; for COSINE, HAMMING bits of a code; L2 0: the paper's 67 buckets */
	uint32_t	probes;
	uint32_t	n_buckets;		/* with probes: codes are taken modulo this, and windows go round; 0: they are not */
	bool		normalised;		/* hashes vectors of length 1 */
} Setting;

typedef double (*Distance) (const Data *data, uint32_t query, uint32_t row);

/* True neighbours: how far the NEAREST-th is. */
typedef struct Truth
{
	Distance	distance;
	double		limits[QUERIES];
} Truth;

typedef struct Bench
{
	Data		data;
	int32_t    *codes;			/* [function][row]; the queries follow the rows */
	uint16_t   *counts;			/* [checkpoint][query][row] */
	Truth		truth;
} Bench;

static void *
reserve(size_t n, size_t size)
{
	void	   *memory = calloc(n, size);

	if (memory == NULL)
		abort();
	return memory;
}

/* ---- data ---- */

static FILE *
unpacked(const char *folder, const char *name)
{
	char		command[4096];
	FILE	   *file;

	snprintf(command, sizeof(command), "gzip -dc '%s/%s.tsv.gz'", folder, name);
	file = popen(command, "r");
	if (file == NULL)
		abort();
	return file;
}

/* The array that is a line's so-manieth column: how many numbers it has; -1: no more lines. */
static int
read_array(FILE *file, int column, char *line, double *numbers)
{
	const char *at = line;
	int			n = 0;

	if (fgets(line, LINE_MAX_BYTES, file) == NULL)
		return -1;
	for (int i = 1; i < column && at != NULL; i++)
		at = strchr(at + (i > 1), '\t');
	if (at == NULL || (*at == '\t' && *++at != '{'))
		return 0;
	while ((*at == '{' || *at == ',') && n < NUMBERS_MAX)
	{
		char	   *end;

		numbers[n] = strtod(at + 1, &end);
		if (end == at + 1)
			break;
		n++;
		at = end;
	}
	return n;
}

/* Makes room for the n-th of things of that size; returns where it is. */
static void *
another(void **memory, uint32_t n, size_t size)
{
	if ((n & (n - 1)) == 0)
	{
		*memory = realloc(*memory, (n == 0 ? 1 : 2 * (size_t) n) * size);
		if (*memory == NULL)
			abort();
	}
	return (uint8_t *) *memory + n * size;
}

static uint32_t
read_vectors(FILE *file, uint32_t n, uint32_t end, Data *data)
{
	char	   *line = reserve(LINE_MAX_BYTES, 1);
	double	   *numbers = reserve(NUMBERS_MAX, sizeof(double));
	int			n_dimensions;

	while (n < end && (n_dimensions = read_array(file, 2, line, numbers)) > 0)
	{
		float	   *vector;

		data->n_dimensions = (uint32_t) n_dimensions;
		vector = another((void **) &data->vectors, n++, data->n_dimensions * sizeof(float));
		for (uint32_t d = 0; d < data->n_dimensions; d++)
			vector[d] = (float) numbers[d];
	}
	pclose(file);
	free(numbers);
	free(line);
	return n;
}

static bool
load_vectors(const char *folder, Data *data)
{
	uint32_t	n;

	data->n_rows = read_vectors(unpacked(folder, "sift100k"), 0, UINT32_MAX, data);
	n = read_vectors(unpacked(folder, "sift100k_query"), data->n_rows, data->n_rows + QUERIES, data);
	if (data->n_rows < MOST_CANDIDATES || n != data->n_rows + QUERIES)
		return false;
	data->unit_vectors = reserve((size_t) n * data->n_dimensions, sizeof(float));
	for (uint32_t i = 0; i < n; i++)
	{
		const float *vector = data->vectors + (size_t) i * data->n_dimensions;
		float	   *unit = data->unit_vectors + (size_t) i * data->n_dimensions;
		double		square = 0;

		for (uint32_t d = 0; d < data->n_dimensions; d++)
			square += (double) vector[d] * vector[d];
		for (uint32_t d = 0; d < data->n_dimensions; d++)
			unit[d] = (float) (square > 0 ? vector[d] / sqrt(square) : 0);
	}
	return true;
}

static void
swap(void *memory, size_t size, uint32_t a, uint32_t b)
{
	uint8_t    *x = (uint8_t *) memory + a * size;
	uint8_t    *y = (uint8_t *) memory + b * size;

	for (size_t i = 0; i < size; i++)
	{
		uint8_t		byte = x[i];

		x[i] = y[i];
		y[i] = byte;
	}
}

/* Rows spread over the table become queries, stored after the other rows. */
static bool
load_sets(const char *folder, Data *data)
{
	FILE	   *file = unpacked(folder, "molecules");
	char	   *line = reserve(LINE_MAX_BYTES, 1);
	double	   *numbers = reserve(NUMBERS_MAX, sizeof(double));
	uint32_t	n = 0;
	int			n_elements;

	while ((n_elements = read_array(file, 4, line, numbers)) >= 0)
	{
		uint32_t   *size = another((void **) &data->sizes, n, sizeof(uint32_t));
		uint64_t   *elements = another((void **) &data->elements, n, ELEMENTS_MAX * sizeof(uint64_t));
		uint8_t    *bits = another((void **) &data->bits, n++, BITS / 8);

		memset(bits, 0, BITS / 8);
		*size = (uint32_t) (n_elements < ELEMENTS_MAX ? n_elements : ELEMENTS_MAX);
		for (uint32_t e = 0; e < *size; e++)
		{
			uint32_t	element = (uint32_t) numbers[e] % BITS;

			bits[element / 8] |= (uint8_t) (0x80 >> element % 8);
			elements[e] = genie_lsh_element((const uint8_t *) &element, sizeof(element));
		}
	}
	pclose(file);
	free(numbers);
	free(line);
	if (n < MOST_CANDIDATES + QUERIES)
		return false;
	data->n_rows = n - QUERIES;
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		uint32_t	from = data->n_rows / QUERIES * q;

		swap(data->sizes, sizeof(uint32_t), from, data->n_rows + q);
		swap(data->elements, ELEMENTS_MAX * sizeof(uint64_t), from, data->n_rows + q);
		swap(data->bits, BITS / 8, from, data->n_rows + q);
	}
	return true;
}

/* ---- distances, and the true neighbours ---- */

static double
distance_by(GenieMetric metric, const Data *data, uint32_t a, uint32_t b)
{
	const uint32_t n = data->n_dimensions;
	const GenieVector x = {.elements = data->vectors + (size_t) a * n, .n = n};
	const GenieVector y = {.elements = data->vectors + (size_t) b * n, .n = n};

	return genie_vector_measure(metric, x, y);
}

static double
l2(const Data *data, uint32_t a, uint32_t b)
{
	return distance_by(GENIE_METRIC_L2, data, a, b);
}

static double
l2_square(const Data *data, uint32_t a, uint32_t b)
{
	return l2(data, a, b) * l2(data, a, b);
}

static double
l1(const Data *data, uint32_t a, uint32_t b)
{
	return distance_by(GENIE_METRIC_L1, data, a, b);
}

static double
cosine(const Data *data, uint32_t a, uint32_t b)
{
	return distance_by(GENIE_METRIC_COSINE, data, a, b);
}

/* Bits of both, or of either but not both. */
static uint32_t
count_bits(const Data *data, uint32_t a, uint32_t b, bool both)
{
	uint32_t	n = 0;

	for (size_t i = 0; i < BITS / 8; i += sizeof(uint64_t))
	{
		uint64_t	x;
		uint64_t	y;

		memcpy(&x, data->bits + (size_t) a * (BITS / 8) + i, sizeof(x));
		memcpy(&y, data->bits + (size_t) b * (BITS / 8) + i, sizeof(y));
		n += (uint32_t) __builtin_popcountll(both ? x & y : x ^ y);
	}
	return n;
}

static double
hamming(const Data *data, uint32_t a, uint32_t b)
{
	return count_bits(data, a, b, false);
}

static double
jaccard(const Data *data, uint32_t a, uint32_t b)
{
	double		both = count_bits(data, a, b, true);
	double		all = both + count_bits(data, a, b, false);

	return all == 0 ? 0 : 1 - both / all;
}

static void
find_truth(Bench *bench, Distance distance)
{
	const Data *data = &bench->data;
	double	   *distances = reserve(data->n_rows, sizeof(double));

	bench->truth.distance = distance;
	for (uint32_t q = 0; q < QUERIES; q++)
	{
		for (uint32_t row = 0; row < data->n_rows; row++)
			distances[row] = distance(data, data->n_rows + q, row);
		qsort(distances, data->n_rows, sizeof(double), bench_compare);
		bench->truth.limits[q] = distances[NEAREST - 1];
	}
	free(distances);
}

/* The mean over pairs of rows, drawn as the access method draws none: spread evenly. */
static double
mean_of_pairs(const Data *data, Distance distance)
{
	double		sum = 0;

	for (uint32_t i = 0; i < PAIRS; i++)
		sum += distance(data, (uint32_t) ((uint64_t) i * 7919 % data->n_rows),
						(uint32_t) (((uint64_t) i * 104729 + 31) % data->n_rows));
	return sum / PAIRS;
}

/* ---- hashing ---- */

static GenieLsh *
make_functions(const Data *data, const Setting *setting, double width)
{
	GenieLshParameters parameters = {.family = setting->family, .n_functions = FUNCTIONS,
	.n_buckets = setting->probes > 0 ? 0 : setting->n_buckets, .seed = 1, .width = width};
	GenieLsh   *lsh;

	if (setting->family == GENIE_LSH_HAMMING)
		parameters.n_dimensions = BITS;
	else if (setting->family != GENIE_LSH_MINHASH)
		parameters.n_dimensions = data->n_dimensions;
	if (!genie_lsh_valid(&parameters))
		abort();
	lsh = genie_lsh_make(reserve(genie_lsh_size(&parameters), 1), &parameters);
	for (uint32_t group = 0; group < lsh->n_groups; group++)
		genie_lsh_draw(lsh, group);
	return lsh;
}

/* Codes of a set, or of the bit string that stands for it. */
static void
hash_set(const Data *data, const GenieLsh *lsh, size_t row, int32_t *codes)
{
	if (lsh->parameters.family == GENIE_LSH_HAMMING)
		genie_lsh_hash_bits(lsh, data->bits + row * (BITS / 8), codes);
	else
		for (uint32_t group = 0; group < lsh->n_groups; group++)
			genie_lsh_hash_set(lsh, group, data->elements + row * ELEMENTS_MAX, data->sizes[row], codes);
}

/* Codes of rows and queries, by function; returns microseconds a row. */
static double
hash(Bench *bench, const Setting *setting, double width)
{
	const Data *data = &bench->data;
	const size_t n_all = (size_t) data->n_rows + QUERIES;
	GenieLsh   *lsh = make_functions(data, setting, width);
	int32_t    *codes = reserve((size_t) BLOCK * FUNCTIONS, sizeof(int32_t));
	const float *vectors = setting->normalised ? data->unit_vectors : data->vectors;
	double		seconds = 0;

	for (size_t begin = 0; begin < n_all; begin += BLOCK)
	{
		uint32_t	n = (uint32_t) (n_all - begin < BLOCK ? n_all - begin : BLOCK);
		double		started = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);

		if (setting->family <= GENIE_LSH_COSINE)
			genie_lsh_hash(lsh, vectors + begin * data->n_dimensions, n, codes);
		else
			for (uint32_t i = 0; i < n; i++)
				hash_set(data, lsh, begin + i, codes + (size_t) i * FUNCTIONS);
		seconds += bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - started;
		for (uint32_t f = 0; f < FUNCTIONS; f++)
			for (uint32_t i = 0; i < n; i++)
				bench->codes[f * n_all + begin + i] = codes[(size_t) i * FUNCTIONS + f];
	}
	free(codes);
	free(lsh);
	return seconds / (double) n_all * 1e6;
}

/* From the least code of a function to the greatest, or, where they go round, all. */
static uint32_t
values_of(const Bench *bench, const Setting *setting, uint32_t function)
{
	const size_t n_all = (size_t) bench->data.n_rows + QUERIES;
	const int32_t *codes = bench->codes + function * n_all;
	int32_t		least = INT32_MAX;
	int32_t		greatest = INT32_MIN;
	int64_t		n;

	for (size_t i = 0; i < n_all; i++)
	{
		least = codes[i] < least ? codes[i] : least;
		greatest = codes[i] > greatest ? codes[i] : greatest;
	}
	n = (int64_t) greatest - least + 1;
	return (uint32_t) (setting->n_buckets > 0 && n > setting->n_buckets ? setting->n_buckets : n);
}

/* The width for which the first function's codes take 67 values. */
static double
narrow_width(Bench *bench, const Setting *setting, double unit)
{
	const size_t n_all = (size_t) bench->data.n_rows + QUERIES;
	int32_t		least = INT32_MAX;
	int32_t		greatest = INT32_MIN;

	hash(bench, setting, unit / 1000);
	for (size_t i = 0; i < n_all; i++)
	{
		if (bench->codes[i] < least)
			least = bench->codes[i];
		if (bench->codes[i] > greatest)
			greatest = bench->codes[i];
	}
	return ((double) greatest - least) * (unit / 1000) / 67;
}

/* ---- counting ---- */

/* Is a code in the query's window? */
static bool
is_near(int32_t code, int32_t of_query, const Setting *setting)
{
	int64_t		above = (int64_t) code - of_query + setting->probes;

	if (setting->probes > 0 && setting->n_buckets > 0)
		above = (above % setting->n_buckets + setting->n_buckets) % setting->n_buckets;
	return above >= 0 && above <= 2 * (int64_t) setting->probes;
}

/* Match counts by the first functions, as many as each checkpoint says. */
static void
count(Bench *bench, const Setting *setting)
{
	const size_t n_rows = bench->data.n_rows;
	const size_t n_all = n_rows + QUERIES;

	for (size_t begin = 0; begin < n_rows; begin += BLOCK)
	{
		size_t		n = n_rows - begin < BLOCK ? n_rows - begin : BLOCK;

		for (uint32_t q = 0; q < QUERIES; q++)
		{
			uint16_t	counts[BLOCK] = {0};
			uint32_t	checkpoint = 0;

			for (uint32_t f = 0; f < FUNCTIONS; f++)
			{
				const int32_t *codes = bench->codes + f * n_all + begin;

				for (size_t i = 0; i < n; i++)
					counts[i] += is_near(codes[i], codes[n_rows - begin + q], setting);
				if (f + 1 == checkpoints[checkpoint])
					memcpy(bench->counts + (checkpoint++ * QUERIES + q) * n_rows + begin, counts,
						   n * sizeof(uint16_t));
			}
		}
	}
}

/* Adds, for each number of candidates, the share of a query's true neighbours among them. */
static void
judge(const Bench *bench, uint32_t checkpoint, uint32_t q, double *recall)
{
	const uint32_t n_rows = bench->data.n_rows;
	const uint16_t *counts = bench->counts + ((size_t) checkpoint * QUERIES + q) * n_rows;
	uint32_t	n_with[FUNCTIONS + 1] = {0};
	uint32_t	place[FUNCTIONS + 1];
	uint32_t	near[N_CANDIDATES] = {0};
	uint32_t	sum = 0;

	for (uint32_t row = 0; row < n_rows; row++)
		n_with[counts[row]]++;
	for (int c = FUNCTIONS; c >= 0; c--)
	{
		place[c] = sum;
		sum += n_with[c];
	}
	for (uint32_t row = 0; row < n_rows; row++)
	{
		uint32_t	at = place[counts[row]]++;

		if (at < MOST_CANDIDATES &&
			bench->truth.distance(&bench->data, n_rows + q, row) <= bench->truth.limits[q])
			for (uint32_t c = 0; c < N_CANDIDATES; c++)
				near[c] += at < candidates[c];
	}
	for (uint32_t c = 0; c < N_CANDIDATES; c++)
		recall[c] += (near[c] < NEAREST ? near[c] : NEAREST) / (double) NEAREST / QUERIES;
}

static void
measure(Bench *bench, const Setting *setting, double unit)
{
	const bool	narrow = setting->family == GENIE_LSH_L2 && setting->width == 0;
	double		width = narrow ? narrow_width(bench, setting, unit) : setting->width * unit;
	double		microseconds = hash(bench, setting, width);
	uint32_t	n_most = 0;
	uint32_t	n_narrow = 0;	/* functions whose codes have four bits */

	for (uint32_t f = 0; f < FUNCTIONS; f++)
	{
		uint32_t	n = values_of(bench, setting, f);

		n_most = n > n_most ? n : n_most;
		n_narrow += n <= 15;
	}
	count(bench, setting);
	for (uint32_t i = 0; i < N_CHECKPOINTS; i++)
	{
		double		recall[N_CANDIDATES] = {0};

		for (uint32_t q = 0; q < QUERIES; q++)
			judge(bench, i, q, recall);
		printf("| %s | ", setting->title);
		if (setting->family != GENIE_LSH_MINHASH)
			printf("%.2f", width / unit);
		printf(" | %u | %u | %u | %u | %u | %.2f |", setting->probes, setting->n_buckets, n_most, n_narrow,
			   checkpoints[i], microseconds * checkpoints[i] / FUNCTIONS);
		for (uint32_t c = 0; c < N_CANDIDATES; c++)
			printf(" %.3f |", recall[c]);
		printf("\n");
		fflush(stdout);
	}
}

/* ---- studies ---- */

#define L2(width, probes)			{GENIE_LSH_L2, "l2", width, probes, 0, false}
#define L2_ROUND(width, n_buckets)	{GENIE_LSH_L2, "l2", width, 1, n_buckets, false}
#define L1(width, probes)			{GENIE_LSH_L1, "l1", width, probes, 0, false}
#define L1_ROUND(width, n_buckets)	{GENIE_LSH_L1, "l1", width, 1, n_buckets, false}
#define LAPLACIAN(sigma, n_buckets)	{GENIE_LSH_LAPLACIAN, "laplacian", sigma, 0, n_buckets, false}
#define UNIT_L2(width, probes)		{GENIE_LSH_L2, "l2 of length 1", width, probes, 0, true}
#define UNIT_ROUND(width, n_buckets) {GENIE_LSH_L2, "l2 of length 1", width, 1, n_buckets, true}
#define SIGNS(bits)					{GENIE_LSH_COSINE, "signs", bits, 0, 0, false}
#define MINHASH(n_buckets)			{GENIE_LSH_MINHASH, "minhash", 0, 0, n_buckets, false}
#define HAMMING(bits)				{GENIE_LSH_HAMMING, "sampled bits", bits, 0, 0, false}

static const Setting l2_settings[] = {
	L2(0, 0), L2(0.25, 0), L2(0.5, 0), L2(1, 0), L2(1.5, 0), L2(2, 0), L2(0.25, 3), L2(0.35, 2), L2(0.5, 1), L2(0.5, 2),
	L2(0.6, 1), L2(0.75, 1), L2(0.9, 1), L2(1, 1), L2_ROUND(0.75, 16), L2_ROUND(0.75, 14), L2_ROUND(0.75, 12),
	L2_ROUND(0.75, 10), L2_ROUND(0.25, 14)
};
static const Setting l1_settings[] = {
	L1(0.125, 0), L1(0.25, 0), L1(0.5, 0), L1(1, 0), L1(0.25, 1), L1(0.35, 1), L1(0.5, 1), L1(0.7, 1),
	L1_ROUND(0.5, 16), L1_ROUND(0.5, 14)
};
static const Setting laplacian_settings[] = {
	LAPLACIAN(0.1, 0), LAPLACIAN(0.2, 0), LAPLACIAN(0.3, 0), LAPLACIAN(0.4, 0), LAPLACIAN(0.5, 0), LAPLACIAN(0.7, 0),
	LAPLACIAN(1, 0), LAPLACIAN(2, 0), LAPLACIAN(0.72, 0), LAPLACIAN(0.4, 8192), LAPLACIAN(0.4, 256), LAPLACIAN(0.4, 15),
	LAPLACIAN(0.72, 256), LAPLACIAN(0.72, 15)
};
static const Setting cosine_settings[] = {
	SIGNS(1), SIGNS(2), SIGNS(4), SIGNS(8), UNIT_L2(1, 0), UNIT_L2(0.5, 1), UNIT_L2(0.75, 1), UNIT_L2(1, 1),
	UNIT_ROUND(0.75, 16), UNIT_ROUND(0.75, 14)
};
static const Setting minhash_settings[] = {MINHASH(0), MINHASH(2), MINHASH(4), MINHASH(15), MINHASH(256)};
static const Setting hamming_settings[] = {HAMMING(1), HAMMING(2), HAMMING(4), HAMMING(8), HAMMING(16)};

typedef struct Study
{
	const char *name;
	const Setting *settings;
	uint32_t	n_settings;
	bool		of_sets;
	Distance	distance;
} Study;

#define STUDY(name, of_sets, distance) {#name, name##_settings, sizeof(name##_settings) / sizeof(Setting), of_sets, \
	distance}

static const Study studies[] = {
	STUDY(l2, false, l2), STUDY(l1, false, l1), STUDY(laplacian, false, l1), STUDY(cosine, false, cosine),
	STUDY(minhash, true, jaccard), STUDY(hamming, true, hamming)
};

static double
unit_of(const Data *data, const Setting *setting)
{
	if (setting->normalised)
		return sqrt(mean_of_pairs(data, cosine));	/* half of the square of directions' distance */
	if (setting->family == GENIE_LSH_L2)
		return sqrt(mean_of_pairs(data, l2_square) / 2);
	if (setting->family == GENIE_LSH_L1 || setting->family == GENIE_LSH_LAPLACIAN)
		return mean_of_pairs(data, l1);
	return 1;
}

static bool
run(const char *folder, const Study *study)
{
	Bench	   *bench = reserve(1, sizeof(Bench));
	bool		loaded = study->of_sets ? load_sets(folder, &bench->data) : load_vectors(folder, &bench->data);

	if (loaded)
	{
		bench->codes = reserve(((size_t) bench->data.n_rows + QUERIES) * FUNCTIONS, sizeof(int32_t));
		bench->counts = reserve((size_t) bench->data.n_rows * QUERIES * N_CHECKPOINTS, sizeof(uint16_t));
		find_truth(bench, study->distance);
		printf("\n%s: %u rows, %d queries; recall@%d by candidates\n\n", study->name, bench->data.n_rows, QUERIES,
			   NEAREST);
		printf("| functions | width | probes | buckets | most values | of %u functions 4 bits | hashes | us a row |",
			   FUNCTIONS);
		for (uint32_t c = 0; c < N_CANDIDATES; c++)
			printf(" %u |", candidates[c]);
		printf("\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
		for (uint32_t i = 0; i < study->n_settings; i++)
			measure(bench, &study->settings[i], unit_of(&bench->data, &study->settings[i]));
	}
	free(bench->data.vectors);
	free(bench->data.unit_vectors);
	free(bench->data.elements);
	free(bench->data.sizes);
	free(bench->data.bits);
	free(bench->codes);
	free(bench->counts);
	free(bench);
	return loaded;
}

int
main(int argc, char **argv)
{
	if (argc < 2)
	{
		fprintf(stderr, "usage: bench_lsh FOLDER [l2 | l1 | laplacian | cosine | minhash | hamming ...]\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(studies) / sizeof(studies[0]); i++)
	{
		bool		asked = argc == 2;

		for (int a = 2; a < argc; a++)
			asked = asked || strcmp(argv[a], studies[i].name) == 0;
		if (asked && !run(argv[1], &studies[i]))
			fprintf(stderr, "%s: no data in \"%s\"\n", studies[i].name, argv[1]);
	}
	return 0;
}

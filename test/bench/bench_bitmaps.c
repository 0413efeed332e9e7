/*
 * bench_bitmaps.c
 *	  Cells of an array in a box of its dimensions and a range of an attribute, counted by the CPU engine and by a
 *	  bitmap index over dimensions and attribute (DimsAtts: chapter 4 of the thesis on compressed GENIE and ArrayBit).
 *
 *	bench_bitmaps [CELLS [ORDER [BINS]]]		10 million; all orders ("all"); 32
 *
 * The arrays have 2, 3 and 4 dimensions of equal size.  The attribute is a sum of ten Gaussians in 5,000 steps.  Cells
 * are numbered in the order of rows, of a Z curve, or shuffled.  Queries ask for a box and a range, each of which keeps
 * about as much as the others, so that together they keep 0.1, 1, 10 and 50 % of the cells.
 *
 * DimsAtts has bins of equal depth for each dimension and for the attribute, with a bitmap of each cut: cells that are
 * below it.  A range is what is below its upper end and not below its lower one; cells of the bins at its ends are
 * compared with their values.  Bitmaps are not compressed here (the thesis takes WAH), so words are used as they are,
 * each once for the whole query.
 *
 * Prints a Markdown table: milliseconds, the median of 20 queries, one thread, and bytes a value.  Fails if the two
 * count differently.
 */
#define _POSIX_C_SOURCE 200112L

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "genie_engine_cpu.h"
#include "../unit/genie_test_image.h"

#define BINS_MAX 256
#define STEPS 5000
#define GAUSSIANS 10
#define DIMENSIONS_MAX 4
#define COLUMNS_MAX (DIMENSIONS_MAX + 1)
#define QUERIES 20

static uint32_t n_bins = 32;

static const double shares[] = {0.001, 0.01, 0.1, 0.5};

/* Dimensions, then the attribute; a value of each cell. */
typedef struct Array
{
	uint32_t	n_cells;
	uint32_t	n_columns;
	uint32_t	side;
	uint16_t   *columns[COLUMNS_MAX];
	uint32_t	n_values[COLUMNS_MAX];
} Array;

typedef struct Query
{
	uint32_t	low[COLUMNS_MAX];
	uint32_t	end[COLUMNS_MAX];
} Query;

/* ---- data ---- */

static double
gaussians(uint32_t n_dimensions, uint32_t side, const uint16_t *at)
{
	double		sum = 0;

	for (uint32_t g = 1; g <= GAUSSIANS; g++)
	{
		double		distance = 0;

		for (uint32_t d = 0; d < n_dimensions; d++)
		{
			double		difference = (double) at[d] / side - (double) ((g * (7919 + 96821 * d)) % (97 - d)) / (97 - d);

			distance += difference * difference;
		}
		sum += exp(-(20.0 + g * 13 % 70) * distance);
	}
	return sum;
}

/* Where a cell comes on the Z curve: bits of all coordinates in turn. */
static uint64_t
z_order(const uint16_t *at, uint32_t n_dimensions)
{
	uint64_t	z = 0;

	for (uint32_t bit = 0; bit < 12; bit++)
		for (uint32_t d = 0; d < n_dimensions; d++)
			z |= (uint64_t) (at[d] >> bit & 1) << (bit * n_dimensions + d);
	return z;
}

typedef struct Placed
{
	uint64_t	place;
	uint32_t	cell;			/* in row order */
} Placed;

static int
compare_placed(const void *a, const void *b)
{
	const Placed *x = a;
	const Placed *y = b;

	return x->place != y->place ? (x->place < y->place ? -1 : 1) : (x->cell > y->cell) - (x->cell < y->cell);
}

static void
make_array(Array *array, uint32_t n_dimensions, uint32_t n_wanted, const char *order)
{
	GenieRandom random = {1};
	Placed	   *placed;

	array->side = (uint32_t) floor(pow(n_wanted, 1.0 / n_dimensions) + 1e-9);
	array->n_columns = n_dimensions + 1;
	array->n_cells = 1;
	for (uint32_t d = 0; d < n_dimensions; d++)
		array->n_cells *= array->side;
	placed = malloc(array->n_cells * sizeof(Placed));
	for (uint32_t i = 0; i < array->n_cells; i++)
	{
		uint16_t	at[DIMENSIONS_MAX];
		uint32_t	rest = i;

		for (uint32_t d = n_dimensions; d-- > 0; rest /= array->side)
			at[d] = (uint16_t) (rest % array->side);
		placed[i].cell = i;
		placed[i].place = order[0] == 'r' ? i : order[0] == 'z' ? z_order(at, n_dimensions) : genie_random(&random);
	}
	qsort(placed, array->n_cells, sizeof(Placed), compare_placed);
	for (uint32_t c = 0; c < array->n_columns; c++)
	{
		array->columns[c] = malloc(array->n_cells * sizeof(uint16_t));
		array->n_values[c] = c < n_dimensions ? array->side : STEPS;
	}
	for (uint32_t i = 0; i < array->n_cells; i++)
	{
		uint16_t	at[DIMENSIONS_MAX];
		uint32_t	rest = placed[i].cell;
		double		value;

		for (uint32_t d = n_dimensions; d-- > 0; rest /= array->side)
			at[d] = (uint16_t) (rest % array->side);
		for (uint32_t d = 0; d < n_dimensions; d++)
			array->columns[d][i] = at[d];
		value = STEPS / 2 * gaussians(n_dimensions, array->side, at);
		array->columns[n_dimensions][i] = (uint16_t) (value < STEPS - 1 ? value : STEPS - 1);
	}
	free(placed);
}

/* Cells below each value of a column. */
static uint32_t *
cells_below(const Array *array, uint32_t column)
{
	uint32_t   *below = calloc(array->n_values[column] + 1, sizeof(uint32_t));

	for (uint32_t i = 0; i < array->n_cells; i++)
		below[array->columns[column][i] + 1]++;
	for (uint32_t v = 0; v < array->n_values[column]; v++)
		below[v + 1] += below[v];
	return below;
}

/* The least value below which there are at least n cells. */
static uint32_t
quantile(const uint32_t *below, uint32_t n_values, double n)
{
	uint32_t	low = 0;
	uint32_t	high = n_values;

	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (below[middle] < n)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Ranges that keep a root of the share each. */
static Query
make_query(const Array *array, uint32_t *const *below, double share, uint32_t number)
{
	double		each = pow(share, 1.0 / array->n_columns);
	Query		query;

	for (uint32_t c = 0; c < array->n_columns; c++)
	{
		double		begin = fmod((number + 1) * (0.61803 - 0.11 * c), 1) * (1 - each);

		query.low[c] = quantile(below[c], array->n_values[c], begin * array->n_cells);
		query.end[c] = quantile(below[c], array->n_values[c], (begin + each) * array->n_cells);
		if (query.end[c] <= query.low[c])
			query.end[c] = query.low[c] + 1;
	}
	return query;
}

/* ---- DimsAtts ---- */

/* Of one column: cut[i] and, for each, bits of the cells that are below it; of the first none is, of the last all. */
typedef struct Bitmaps
{
	uint32_t	cuts[BINS_MAX + 1];
	uint64_t   *below[BINS_MAX + 1];
} Bitmaps;

static size_t
words_of(const Array *array)
{
	return ((size_t) array->n_cells + 63) / 64;
}

static void
make_bitmaps(const Array *array, uint32_t column, const uint32_t *below, Bitmaps *bitmaps)
{
	for (uint32_t b = 0; b <= n_bins; b++)
	{
		bitmaps->cuts[b] = b == 0 ? 0 : b == n_bins ? array->n_values[column] :
			quantile(below, array->n_values[column], (double) array->n_cells * b / n_bins);
		bitmaps->below[b] = calloc(words_of(array), sizeof(uint64_t));
		for (uint32_t i = 0; i < array->n_cells; i++)
			bitmaps->below[b][i / 64] |= (uint64_t) (array->columns[column][i] < bitmaps->cuts[b]) << (i % 64);
	}
}

static uint32_t
count_by_bitmaps(const Array *array, const Bitmaps *bitmaps, const Query *query)
{
	const uint64_t *outer[COLUMNS_MAX][2];	/* not below, below */
	const uint64_t *inner[COLUMNS_MAX][2];
	uint32_t	n = 0;

	for (uint32_t c = 0; c < array->n_columns; c++)
	{
		uint32_t	low = n_bins;
		uint32_t	high = 0;

		while (bitmaps[c].cuts[low] > query->low[c])
			low--;
		while (bitmaps[c].cuts[high] < query->end[c])
			high++;
		outer[c][0] = bitmaps[c].below[low];
		outer[c][1] = bitmaps[c].below[high];
		inner[c][0] = bitmaps[c].below[bitmaps[c].cuts[low] == query->low[c] ? low : low + 1];
		inner[c][1] = bitmaps[c].below[bitmaps[c].cuts[high] == query->end[c] ? high : high - 1];
	}
	for (size_t w = 0; w < words_of(array); w++)
	{
		uint64_t	possible = ~UINT64_C(0);
		uint64_t	sure = ~UINT64_C(0);

		for (uint32_t c = 0; c < array->n_columns && possible != 0; c++)
		{
			possible &= outer[c][1][w] & ~outer[c][0][w];
			sure &= inner[c][1][w] & ~inner[c][0][w];
		}
		if (possible == 0)
			continue;
		n += (uint32_t) __builtin_popcountll(sure);
		for (uint64_t left = possible & ~sure; left != 0; left &= left - 1)
		{
			size_t		i = 64 * w + (size_t) __builtin_ctzll(left);
			bool		is_in = true;

			for (uint32_t c = 0; c < array->n_columns; c++)
				is_in &= array->columns[c][i] >= query->low[c] && array->columns[c][i] < query->end[c];
			n += is_in;
		}
	}
	return n;
}

/* ---- genie ---- */

static void
make_image(const Array *array, uint32_t *const *below, GenieSegmentImage *image, GenieModel *model)
{
	uint32_t   *objects = malloc(array->n_cells * sizeof(uint32_t));
	uint32_t	n_keywords = 0;

	for (uint32_t c = 0; c < array->n_columns; c++)
		n_keywords += array->n_values[c];
	genie_model_begin(model, array->n_cells, n_keywords);
	model->n_dimensions = array->n_columns;
	model->first_ranks = malloc(array->n_columns * sizeof(uint32_t));
	model->min_size = array->n_columns;
	for (uint32_t i = 0; i < array->n_cells; i++)
		model->sizes[i] = array->n_columns;
	for (uint32_t c = 0, first = 0; c < array->n_columns; first += array->n_values[c++])
	{
		uint32_t   *at = malloc((array->n_values[c] + 1) * sizeof(uint32_t));

		memcpy(at, below[c], (array->n_values[c] + 1) * sizeof(uint32_t));
		model->first_ranks[c] = first;
		for (uint32_t i = 0; i < array->n_cells; i++)
			objects[at[array->columns[c][i]]++] = i;
		for (uint32_t v = 0; v < array->n_values[c]; v++)
			genie_model_list(model, first + v, objects + below[c][v], below[c][v + 1] - below[c][v]);
		free(at);
	}
	free(objects);
	genie_model_image(model, 1, UINT32_MAX, image);
}

static uint32_t
count_by_engine(GenieEngine *engine, const Array *array, const GenieSegmentImage *image, const Query *query)
{
	GenieRankRange ranges[COLUMNS_MAX];
	GenieJob	job = {.kind = GENIE_JOB_TALLY, .image = image, .n_tiles = image->n_tiles,
	.query = {array->n_columns, ranges, array->n_columns, NULL}, .min_key = array->n_columns};

	for (uint32_t c = 0, first = 0; c < array->n_columns; first += array->n_values[c++])
		ranges[c] = (GenieRankRange) {first + query->low[c], first + query->end[c]};
	if (engine->ops->run(engine, 1, &job) != GENIE_OK || job.status != GENIE_OK)
	{
		fprintf(stderr, "the engine failed: %s\n", engine->error);
		exit(1);
	}
	return job.n_hits;
}

/* ---- measuring ---- */

static void
measure(GenieEngine *engine, uint32_t n_dimensions, uint32_t n_wanted, const char *order)
{
	Array		array;
	Bitmaps		bitmaps[COLUMNS_MAX];
	uint32_t   *below[COLUMNS_MAX];
	GenieModel	model;
	GenieSegmentImage image;
	uint64_t	image_bytes = 0;
	char		text[2][200] = {"", ""};

	make_array(&array, n_dimensions, n_wanted, order);
	for (uint32_t c = 0; c < array.n_columns; c++)
	{
		below[c] = cells_below(&array, c);
		make_bitmaps(&array, c, below[c], &bitmaps[c]);
	}
	make_image(&array, below, &image, &model);
	for (uint32_t g = 0; g < image.n_groups; g++)
		image_bytes += image.groups[g]->n_bytes;
	for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++)
	{
		double		seconds[2][QUERIES];

		for (uint32_t q = 0; q < QUERIES; q++)
		{
			const Query query = make_query(&array, below, shares[s], q);
			double		began = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
			uint32_t	by_engine = count_by_engine(engine, &array, &image, &query);
			double		between = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
			uint32_t	by_bitmaps = count_by_bitmaps(&array, bitmaps, &query);

			seconds[0][q] = between - began;
			seconds[1][q] = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - between;
			if (by_engine != by_bitmaps)
			{
				fprintf(stderr, "%" PRIu32 " cells by the engine, %" PRIu32 " by bitmaps\n", by_engine, by_bitmaps);
				exit(1);
			}
		}
		for (int i = 0; i < 2; i++)
			snprintf(text[i] + strlen(text[i]), sizeof(text[i]) - strlen(text[i]), " %.2f |",
					 1000 * bench_median(seconds[i], QUERIES));
	}
	printf("| %u, %s | genie |%s %.2f |\n", n_dimensions, order, text[0],
		   (double) image_bytes / array.n_cells / array.n_columns);
	printf("| | DimsAtts |%s %.2f |\n", text[1], (n_bins - 1) / 8.0);
	fflush(stdout);
	genie_model_free_image(&image);
	genie_model_end(&model);
	for (uint32_t c = 0; c < array.n_columns; c++)
	{
		for (uint32_t b = 0; b <= n_bins; b++)
			free(bitmaps[c].below[b]);
		free(below[c]);
		free(array.columns[c]);
	}
}

int
main(int argc, char **argv)
{
	uint32_t	n_wanted = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 10) : 10000000;
	static const char *const orders[] = {"rows", "z curve", "shuffled"};
	void	   *memory = NULL;
	GenieEngine *engine;

	if (argc > 3)
		n_bins = (uint32_t) strtoul(argv[3], NULL, 10);
	if (n_bins < 2 || n_bins > BINS_MAX)
	{
		fprintf(stderr, "2 to %d bins\n", BINS_MAX);
		return 1;
	}
	if (posix_memalign(&memory, 64, genie_cpu_engine_size()) != 0)
		return 1;
	engine = genie_cpu_engine_open(memory);

	printf("| dimensions, order | how | 0.1 %% | 1 %% | 10 %% | 50 %% | bytes a value |\n");
	printf("|---|---|---:|---:|---:|---:|---:|\n");
	for (uint32_t n_dimensions = 2; n_dimensions <= DIMENSIONS_MAX; n_dimensions++)
		for (int o = 0; o < 3; o++)
			if (argc < 3 || strcmp(argv[2], "all") == 0 || strcmp(argv[2], orders[o]) == 0)
				measure(engine, n_dimensions, n_wanted, orders[o]);
	engine->ops->close(engine);
	free(memory);
	return 0;
}

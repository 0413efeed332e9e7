/*
 * bench_lanes.c
 *	  Batches of the CPU engine counted as bit lanes and by posting lists, or by codes alone.
 *
 *	bench_lanes [THREADS [K [SHAPE]]]		1 thread, k = 100, all shapes
 *
 *	lsh		131 k objects of 237 signatures of 67 buckets, normal (p-stable functions); uniform
 *	adult	977 k rows of 14 attributes with the census table's numbers of values; a query asks each for a
 *			tenth of its values, around one of them; the same with an eighth of the rows; the same, asked for one value
 *
 * For each instruction set: milliseconds of a block of lanes, microseconds a query, and compares a second (a query's
 * lane and a dimension of an object).  Then batches of 1 .. 1024 through the engine: by lanes, by tiles, what the
 * dispatcher chose, and its regret: the time of its choice divided by the time of the better way.  Then the same
 * batches on an image of codes alone (genie_image.h), where tiles are counted by codes.
 * Times are the least of several runs: processor time with one thread, wall time with more.
 *
 * The data is seeded: the same on every machine.
 */
#define _POSIX_C_SOURCE 200112L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "genie_engine_cpu.h"
#include "genie_lanes.h"
#include "../unit/genie_test_image.h"

#define K_MAX 1000
#define DIMENSIONS_MAX 237
#define QUERIES_MAX 1024
#define RUNS 5
#define PIECE 8192				/* objects */

typedef struct Shape
{
	const char *name;
	uint32_t	n_objects;
	uint32_t	n_dimensions;
	uint32_t	n_values;		/* of each dimension, where values is NULL */
	const uint32_t *values;
	bool		normal;			/* else uniform */
	uint32_t	asked;			/* a query asks for 1 / asked of the values; 0: for one */
} Shape;

static const uint32_t adult_values[14] = {73, 9, 489, 16, 16, 7, 15, 6, 5, 2, 119, 92, 94, 42};

static const Shape shapes[] = {
	{"lsh, normal", 131072, 237, 67, NULL, true, 0},
	{"lsh, uniform", 131072, 237, 67, NULL, false, 0},
	{"adult", 976840, 14, 0, adult_values, true, 10},
	{"adult, few rows", 122105, 14, 0, adult_values, true, 10},
	{"adult, points", 976840, 14, 0, adult_values, true, 0},
};

typedef struct Batch
{
	GenieModel	model;
	GenieSegmentImage image;
	GenieRankRange ranges[QUERIES_MAX][DIMENSIONS_MAX];
	GenieHit   *hits[QUERIES_MAX];	/* of top-k's or results */
	GenieJob	jobs[QUERIES_MAX];
	uint32_t	k;
	uint32_t	n_threads;
} Batch;

static clockid_t
clock_of(const Batch *batch)
{
	return batch->n_threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
}

static uint32_t
values_of(const Shape *shape, uint32_t d)
{
	return shape->values != NULL ? shape->values[d] : shape->n_values;
}

/* Uniform, or a sum of twelve, which has variance 1, times an eighth of the values. */
static uint32_t
draw(GenieRandom *random, const Shape *shape, uint32_t n_values)
{
	double		sum = 0;
	double		value;

	if (!shape->normal)
		return (uint32_t) genie_random_below(random, n_values);
	for (int i = 0; i < 3; i++)
		for (uint64_t bits = genie_random(random), j = 0; j < 4; j++, bits >>= 16)
			sum += (double) (bits & 0xFFFF) / 65536;
	value = n_values * (0.5 + (sum - 6) / 8);
	return value < 0 ? 0 : value >= n_values ? n_values - 1 : (uint32_t) value;
}

static void
make_data(const Shape *shape, GenieRandom *random, Batch *batch)
{
	GenieModel *model = &batch->model;
	uint32_t   *values = malloc(shape->n_objects * sizeof(uint32_t));
	uint32_t   *objects = malloc(shape->n_objects * sizeof(uint32_t));
	uint32_t	n_keywords = 0;
	uint32_t	first = 0;

	for (uint32_t d = 0; d < shape->n_dimensions; d++)
		n_keywords += values_of(shape, d);
	genie_model_begin(model, shape->n_objects, n_keywords);
	model->n_dimensions = shape->n_dimensions;
	model->first_ranks = malloc(shape->n_dimensions * sizeof(uint32_t));
	for (uint32_t d = 0; d < shape->n_dimensions; d++)
	{
		uint32_t	n_values = values_of(shape, d);
		uint32_t   *ends = calloc(n_values + 1, sizeof(uint32_t));

		model->first_ranks[d] = first;
		for (uint32_t i = 0; i < shape->n_objects; i++)
			ends[(values[i] = draw(random, shape, n_values)) + 1]++;
		for (uint32_t v = 0; v < n_values; v++)
			ends[v + 1] += ends[v];
		for (uint32_t i = 0; i < shape->n_objects; i++)
			objects[ends[values[i]]++] = i;
		for (uint32_t v = 0, start = 0; v < n_values; start = ends[v++])
			genie_model_list(model, first + v, objects + start, ends[v] - start);
		first += n_values;
		free(ends);
	}
	model->min_size = shape->n_dimensions;
	for (uint32_t i = 0; i < shape->n_objects; i++)
		model->sizes[i] = shape->n_dimensions;
	free(objects);
	free(values);
}

/* Makes the image, and prints what it takes. */
static void
make_image(Batch *batch, GenieImageForm form)
{
	uint64_t	n_bytes = 0;

	batch->model.form = form;
	genie_model_image(&batch->model, 1 + form, UINT32_MAX, &batch->image);
	if (!genie_image_has_codes(&batch->image))
		abort();
	for (uint32_t g = 0; g < batch->image.n_groups; g++)
		n_bytes += batch->image.groups[g]->n_bytes;
	printf("%s: %.2f bytes a posting\n", form == GENIE_IMAGE_CODES ? "codes alone" : "lists and codes",
		   (double) n_bytes / (double) batch->model.n_postings);
}

static void
make_queries(const Shape *shape, GenieRandom *random, Batch *batch)
{
	for (uint32_t q = 0; q < QUERIES_MAX; q++)
	{
		GenieJob   *job = &batch->jobs[q];
		GenieRankRange *range = batch->ranges[q];
		uint32_t	first = 0;

		batch->hits[q] = malloc(genie_topk_capacity(batch->k) * sizeof(GenieHit));
		memset(job, 0, sizeof(GenieJob));
		job->kind = GENIE_JOB_TOP;
		job->image = &batch->image;
		job->n_tiles = batch->image.n_tiles;
		job->k = batch->k;
		job->min_key = 1;
		job->out = batch->hits[q];
		for (uint32_t d = 0; d < shape->n_dimensions; d++, range++)
		{
			uint32_t	n_values = values_of(shape, d);
			uint32_t	half = shape->asked == 0 ? 0 : n_values / shape->asked / 2;
			uint32_t	value = draw(random, shape, n_values);

			range->first = first + (value < half ? 0 : value - half);
			range->end = first + (value + half + 1 < n_values ? value + half + 1 : n_values);
			first += n_values;
		}
		job->query.n_ranges = shape->n_dimensions;
		job->query.ranges = batch->ranges[q];
		job->query.max_count = shape->n_dimensions;
	}
}

/* Seconds of a block of n lanes over the whole image. */
static double
time_block(const GenieLaneKernels *kernels, Batch *batch, uint32_t n)
{
	static GenieTopK tops[GENIE_LANES_MAX];
	static GenieLaneQuery queries[GENIE_LANES_MAX];
	double		least = 0;

	for (int run = 0; run < RUNS; run++)
	{
		double		start = bench_seconds(clock_of(batch));
		double		seconds;
		GenieLaneBlock *block;

		for (uint32_t q = 0; q < n; q++)
		{
			genie_topk_init(&tops[q], batch->hits[q], batch->k, 1, NULL);
			tops[q].capacity = genie_lanes_capacity(batch->k);
			queries[q] = (GenieLaneQuery) {&batch->jobs[q].query, &tops[q], NULL};
		}
		block = genie_lanes_open(kernels, &batch->image, n, queries);
		for (uint32_t g = 0; g < batch->image.n_groups; g++)
			for (uint32_t t = 0; t < batch->image.groups[g]->n_tiles; t++)
				for (uint32_t first = 0; first < GENIE_TILE_OBJECTS; first += PIECE)
				{
					uint32_t	tile = batch->image.groups[g]->first_tile + t;

					genie_lanes_search(block, batch->image.groups[g], tile,
									   batch->image.live + (size_t) tile * GENIE_TILE_WORDS, first, first + PIECE);
				}
		genie_lanes_close(block);
		seconds = bench_seconds(clock_of(batch)) - start;
		least = run == 0 || seconds < least ? seconds : least;
	}
	return least;
}

static void
bench_kernels(const Shape *shape, Batch *batch)
{
	static const GenieLaneKernels *const all[] = {
		&genie_lanes_portable,
#if defined(__x86_64__)
		&genie_lanes_avx2, &genie_lanes_avx512,
#endif
	};
	const GenieLaneKernels *best = genie_lanes_choose();

	printf("\n%s: %u objects, %u dimensions, %u keywords\n%-10s %8s %12s %12s %16s\n", shape->name, shape->n_objects,
		   shape->n_dimensions, batch->model.n_keywords, "lanes", "queries", "ms a block", "us a query",
		   "G compares/s");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
	{
		double		seconds;

		if (all[i]->n_lanes > best->n_lanes)
			continue;
		seconds = time_block(all[i], batch, all[i]->n_lanes);
		printf("%-10s %8u %12.2f %12.2f %16.1f\n", all[i]->name, all[i]->n_lanes, 1e3 * seconds,
			   1e6 * seconds / all[i]->n_lanes,
			   1e-9 * all[i]->n_lanes * shape->n_objects * (double) shape->n_dimensions / seconds);
	}
}

/* What a batch took each way. */
typedef struct Times
{
	double		seconds[3];		/* by GenieKernelChoice */
	uint64_t	n_lanes;		/* jobs that the dispatcher gave to lanes, each time */
	char		reason[GENIE_ENGINE_REASON_MAX];	/* that it gave */
} Times;

/* Seconds of the first n jobs through the engine. */
static double
time_jobs(GenieEngine *engine, GenieKernelChoice choice, Batch *batch, uint32_t n)
{
	double		start;
	double		seconds;

	engine->ops->set_kernels(engine, choice);
	start = bench_seconds(clock_of(batch));
	if (engine->ops->run(engine, n, batch->jobs) != GENIE_OK)
		abort();
	seconds = bench_seconds(clock_of(batch)) - start;
	for (uint32_t q = 0; q < n; q++)
		if (batch->jobs[q].status != GENIE_OK || batch->jobs[q].n_hits != batch->k)
			abort();
	return seconds;
}

/* The ways in turn, so that other load on the machine meets them alike. */
static Times
time_ways(GenieEngine *engine, Batch *batch, uint32_t n)
{
	Times		least = {0};

	for (int run = 0; run < RUNS; run++)
		for (int choice = 0; choice < 3; choice++)
		{
			uint64_t	before = engine->choices.n_lanes;
			double		seconds = time_jobs(engine, (GenieKernelChoice) choice, batch, n);

			if (run == 0 || seconds < least.seconds[choice])
				least.seconds[choice] = seconds;
			if (choice != GENIE_KERNELS_AUTO)
				continue;
			least.n_lanes = engine->choices.n_lanes - before;
			memcpy(least.reason, engine->choices.reason, sizeof(least.reason));
		}
	return least;
}

static double
regret_of(const Times *times, uint32_t n)
{
	double		lanes = times->seconds[GENIE_KERNELS_LANES];
	double		tiles = times->seconds[GENIE_KERNELS_TILES];
	double		chosen = times->n_lanes == 0 ? tiles : times->n_lanes == n ? lanes : times->seconds[GENIE_KERNELS_AUTO];

	return chosen / (lanes < tiles ? lanes : tiles);
}

static void
bench_engine(GenieEngine *engine, Batch *batch)
{
	printf("%-10s %10s %10s %10s %7s   %s\n", "batch", "lanes, ms", "tiles, ms", "chosen, ms", "regret", "reason");
	for (uint32_t n = 1; n <= QUERIES_MAX; n *= 2)
	{
		Times		times = time_ways(engine, batch, n);

		printf("%-10u %10.2f %10.2f %10.2f %7.2f   %s\n", n, 1e3 * times.seconds[GENIE_KERNELS_LANES],
			   1e3 * times.seconds[GENIE_KERNELS_TILES], 1e3 * times.seconds[GENIE_KERNELS_AUTO],
			   regret_of(&times, n), times.reason);
	}
}

int
main(int argc, char **argv)
{
	static Batch batch;
	uint32_t	n_threads = argc > 1 ? (uint32_t) atoi(argv[1]) : 1;
	uint32_t	k = argc > 2 ? (uint32_t) atoi(argv[2]) : 100;
	void	   *memory = NULL;
	GenieEngine *engine;

	if (n_threads < 1 || k < 1 || k > K_MAX)
	{
		fprintf(stderr, "bench_lanes [THREADS [K up to %d [SHAPE]]]\n", K_MAX);
		return 2;
	}
	if (posix_memalign(&memory, 64, genie_cpu_engine_size()) != 0)
		abort();
	engine = genie_cpu_engine_open(memory);
	n_threads = genie_cpu_engine_threads(engine, n_threads);
	printf("%u threads, k = %u\n", n_threads, k);
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
	{
		GenieRandom random = {s + 1};

		if (argc > 3 && strcmp(argv[3], shapes[s].name) != 0)
			continue;
		memset(&batch, 0, sizeof(batch));
		batch.k = k;
		batch.n_threads = n_threads;
		make_data(&shapes[s], &random, &batch);
		make_image(&batch, GENIE_IMAGE_FULL);
		make_queries(&shapes[s], &random, &batch);
		if (n_threads == 1)
			bench_kernels(&shapes[s], &batch);
		else
			printf("\n%s\n", shapes[s].name);
		bench_engine(engine, &batch);
		genie_model_free_image(&batch.image);
		make_image(&batch, GENIE_IMAGE_CODES);
		for (uint32_t q = 0; q < QUERIES_MAX; q++)
			batch.jobs[q].n_tiles = batch.image.n_tiles;
		bench_engine(engine, &batch);
		for (uint32_t q = 0; q < QUERIES_MAX; q++)
			free(batch.hits[q]);
		genie_model_free_image(&batch.image);
		genie_model_end(&batch.model);
	}
	printf("\nconstants: %s\n", engine->choices.constants);
	engine->ops->close(engine);
	free(memory);
	return 0;
}

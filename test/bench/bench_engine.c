/*
 * bench_engine.c
 *	  Rates of the codec, the counting kernels and the CPU engine, as a table; one core but for batches.
 *
 *	decode		values a second of genie_list_decode, by codec and density
 *	count		postings a second of genie_cpu_count, by codec and density, for each set of kernels
 *	search		one query's latency on 15 tiles (977 k objects) whose 14 lists mix dense and sparse
 *	run			a batch of 1, 32, 256 jobs over images of the shapes that the papers measure, k = 100:
 *				lsh, 131 k objects of 237 signatures that fall into 67 buckets like a normal distribution;
 *				documents, 524 k of 10 words of a Zipf vocabulary; ranges, 983 k rows of 14 attributes, of which
 *				the 6 numeric ones are asked for a tenth of their values; with 1 thread, 2, 4, ... up to the cores
 *	wake		a batch of one job, small to large, with 1 thread and with 2, which are woken however small it is:
 *				the point where both take the same time tells from when on waking a thread pays
 *
 * "bench_engine batches" runs the last two only.
 *
 * The data is seeded: the same on every machine.  Each figure is the median of several runs.
 * Build with -O3 and -DNDEBUG.
 */
#define _POSIX_C_SOURCE 200112L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_time.h"
#include "genie_codec.h"
#include "genie_cpu_batch.h"
#include "genie_engine_cpu.h"
#include "genie_kernels.h"
#include "../unit/genie_test_image.h"

#define TILES 15
#define LISTS 14
#define RUNS 15

static GenieListEncoder encoder;
static uint8_t written[1 << 20];
static size_t n_written;

static GenieListRef refs[TILES][2 * LISTS];
static GenieTileView views[TILES];
static uint16_t locals[GENIE_TILE_OBJECTS];

static void
emit(void *arg, const uint8_t *bytes, size_t n)
{
	(void) arg;
	if (n_written + n > sizeof(written))
		abort();
	memcpy(written + n_written, bytes, n);
	n_written += n;
}

/*
 * A list of a tile with the given density in 1/65,536, as the encoder writes it, or RAW.  run: how many
 * objects in a row share their fate.
 */
static void
make_ref(GenieRandom *random, uint32_t density, uint32_t run, bool raw, GenieListRef *ref)
{
	uint8_t    *data;
	uint32_t	tile;
	size_t		header_len;
	bool		in = false;

	n_written = 0;
	genie_list_begin(&encoder, emit, NULL);
	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
	{
		if (i % run == 0)
			in = genie_random_below(random, GENIE_TILE_OBJECTS) < density;
		if (in)
			genie_list_add(&encoder, i);
	}
	genie_list_end(&encoder);
	if (!genie_tile_header(written + 1, written + n_written, -1, &tile, ref, &header_len))
		abort();
	ref->data = written + 1 + header_len;
	if (!genie_list_decode(ref, locals))
		abort();
	if (raw)
	{
		ref->codec = GENIE_CODEC_RAW;
		ref->nbytes = 2 * ref->n;
		ref->data = (const uint8_t *) locals;
	}
	data = malloc(ref->nbytes);
	memcpy(data, ref->data, ref->nbytes);
	ref->data = data;
}

static const char *
codec_name(uint16_t codec)
{
	static const char *const names[] = {"", "PACKED", "BITMAP", "RUNS", "RAW"};

	return names[codec];
}

typedef struct Shape
{
	uint32_t	density;
	uint32_t	run;
	bool		raw;
} Shape;

static const Shape shapes[] = {
	{200, 1, false}, {2000, 1, false}, {8000, 1, false}, {20000, 1, false}, {60000, 1, false},
	{30000, 200, false}, {200, 1, true}, {2000, 1, true}, {8000, 1, true}, {20000, 1, true},
};

static void
bench_codec(void)
{
	GenieRandom random = {1};

	printf("%-8s %9s %9s %14s\n", "codec", "postings", "bytes", "decode M/s");
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
	{
		GenieListRef ref;
		double		seconds[RUNS];
		uint32_t	repeat;

		make_ref(&random, shapes[s].density, shapes[s].run, shapes[s].raw, &ref);
		repeat = 1 + 2000000 / ref.n;
		for (int r = 0; r < RUNS; r++)
		{
			double		start = bench_seconds(CLOCK_MONOTONIC);

			for (uint32_t i = 0; i < repeat; i++)
				if (!genie_list_decode(&ref, locals))
					abort();
			seconds[r] = bench_seconds(CLOCK_MONOTONIC) - start;
		}
		printf("%-8s %9u %9u %14.0f\n", codec_name(ref.codec), ref.n, ref.nbytes,
			   1e-6 * ref.n * repeat / bench_median(seconds, RUNS));
		free((void *) ref.data);
	}
}

static void
bench_count(GenieEngine *engine, const GenieKernels *kernels)
{
	GenieRandom random = {1};
	static uint16_t counts[GENIE_TILE_OBJECTS];
	uint16_t   *const results[1] = {counts};

	printf("\n%s: %d lists of a tile counted\n%-8s %9s %12s %14s\n",
		   kernels->name, LISTS, "codec", "postings", "us a tile", "count M/s");
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
	{
		GenieTileView tile = {.n_objects = GENIE_TILE_OBJECTS, .n_lists = LISTS, .lists = refs[0]};
		GenieGroupView group = {.n_tiles = 1, .tiles = &tile};
		GenieRankRange range = {0, LISTS};
		GenieEngineQuery query = {.n_ranges = 1, .ranges = &range, .max_count = LISTS};
		double		seconds[RUNS];
		uint64_t	n = 0;
		int			repeat = 40;

		for (uint32_t l = 0; l < LISTS; l++)
		{
			make_ref(&random, shapes[s].density, shapes[s].run, shapes[s].raw, &refs[0][l]);
			refs[0][l].rank = l;
			n += refs[0][l].n;
		}
		for (int r = 0; r < RUNS; r++)
		{
			double		start = bench_seconds(CLOCK_MONOTONIC);

			for (int i = 0; i < repeat; i++)
				if (genie_cpu_count(engine, &group, 1, &query, results) != GENIE_OK)
					abort();
			seconds[r] = bench_seconds(CLOCK_MONOTONIC) - start;
		}
		printf("%-8s %9" PRIu64 " %12.1f %14.0f\n", codec_name(refs[0][0].codec), n,
			   1e6 * bench_median(seconds, RUNS) / repeat, 1e-6 * (double) n * repeat / bench_median(seconds, RUNS));
		for (uint32_t l = 0; l < LISTS; l++)
			free((void *) refs[0][l].data);
	}
}

static void
bench_search(GenieEngine *engine, const GenieKernels *kernels)
{
	/* shares of the 14 attributes' values in 1/65,536, from "native country" down to "capital gain" */
	static const uint32_t densities[LISTS] = {
		58800, 56000, 45500, 43800, 30000, 26500, 21000, 14600, 8200, 6000, 2500, 1500, 400, 150
	};
	static const uint32_t ks[] = {10, 100, 1000};
	GenieRandom random = {3};
	GenieGroupView group = {.n_tiles = TILES, .tiles = views};
	GenieRankRange ranges[LISTS];
	uint64_t	n = 0;

	for (uint32_t t = 0; t < TILES; t++)
	{
		views[t].tile = t;
		views[t].n_objects = GENIE_TILE_OBJECTS;
		views[t].n_lists = LISTS;
		views[t].lists = refs[t];
		for (uint32_t l = 0; l < LISTS; l++)
		{
			make_ref(&random, densities[l], 1, false, &refs[t][l]);
			refs[t][l].rank = 10 * l;
			n += refs[t][l].n;
		}
	}
	for (uint32_t l = 0; l < LISTS; l++)
	{
		ranges[l].first = 10 * l;
		ranges[l].end = 10 * l + 1;
	}

	printf("\n%s: one query on %d tiles, %" PRIu64 " postings\n%-8s %9s %12s %14s\n",
		   kernels->name, TILES, n, "lists", "k", "us a query", "count M/s");
	for (uint32_t first = 0; first < LISTS; first += 10)
	{
		GenieEngineQuery query = {.n_ranges = LISTS - first, .ranges = ranges + first, .max_count = LISTS - first};

		n = 0;
		for (uint32_t t = 0; t < TILES; t++)
			for (uint32_t l = first; l < LISTS; l++)
				n += refs[t][l].n;
		for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++)
		{
			GenieHit   *hits = malloc(genie_topk_capacity(ks[i]) * sizeof(GenieHit));
			double		seconds[RUNS];

			for (int r = 0; r < RUNS; r++)
			{
				GenieTopK	top;
				GenieTopK  *tops[1] = {&top};
				double		start = bench_seconds(CLOCK_MONOTONIC);

				genie_topk_init(&top, hits, ks[i], 1, NULL);
				if (genie_cpu_search(engine, &group, 1, &query, tops) != GENIE_OK ||
					genie_topk_finish(&top) != ks[i])
					abort();
				seconds[r] = bench_seconds(CLOCK_MONOTONIC) - start;
			}
			printf("%-8s %9u %12.1f %14.0f\n", first == 0 ? "all" : "sparse 4", ks[i],
				   1e6 * bench_median(seconds, RUNS), 1e-6 * (double) n / bench_median(seconds, RUNS));
			free(hits);
		}
	}
	for (uint32_t t = 0; t < TILES; t++)
		for (uint32_t l = 0; l < LISTS; l++)
			free((void *) refs[t][l].data);
}

/* ---- batches over images ---- */

#define JOBS_MAX 256
#define BATCH_K 100
#define RANGES_MAX 237

/* One kind of data: groups of keywords, from each of which an object has some and a query asks for some. */
typedef struct Attribute
{
	uint32_t	n_values;
	uint32_t	an_object;		/* values an object, distinct */
	uint32_t	asked;			/* values that a query asks for around each of an_object of its own */
	char		law;			/* 'u'niform, 'n'ormal, 'z'ipf */
} Attribute;

typedef struct Segment
{
	const char *name;
	uint32_t	n_tiles;
	uint32_t	n_attributes;
	Attribute	attributes[RANGES_MAX];
	double	   *zipf;			/* sums of 1/rank, for attributes of that law */
} Segment;

static uint32_t
draw(GenieRandom *random, const Segment *segment, const Attribute *attribute)
{
	double		u = (double) (genie_random(random) >> 11) / 9007199254740992.0;
	double		sum = 0;
	double		value;
	uint32_t	low = 0;
	uint32_t	high = attribute->n_values - 1;

	if (attribute->law == 'u')
		return (uint32_t) (u * attribute->n_values);
	if (attribute->law == 'n')
	{
		/* a sum of twelve has variance 1; 8.56 buckets is the width that gives sums of squares of 1/30 */
		for (int i = 0; i < 3; i++)
			for (uint64_t bits = genie_random(random), j = 0; j < 4; j++, bits >>= 16)
				sum += (double) (bits & 0xFFFF) / 65536;
		value = attribute->n_values / 2.0 + 8.56 * (sum - 6);
		return value < 0 ? 0 : value >= attribute->n_values ? attribute->n_values - 1 : (uint32_t) value;
	}
	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (segment->zipf[middle] < u * segment->zipf[attribute->n_values - 1])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
compare_values(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

/* distinct values, ascending */
static void
draw_distinct(GenieRandom *random, const Segment *segment, const Attribute *attribute, uint32_t *values)
{
	for (uint32_t n = 0; n < attribute->an_object;)
	{
		uint32_t	i = 0;

		values[n] = draw(random, segment, attribute);
		while (values[i] != values[n])
			i++;
		n += i == n;
	}
	qsort(values, attribute->an_object, sizeof(uint32_t), compare_values);
}

/* Gives the ranks [first, first + n_values) their lists. */
static void
add_attribute(GenieRandom *random, const Segment *segment, const Attribute *attribute,
			  GenieModel *model, uint32_t first)
{
	size_t		n = (size_t) model->n_objects * attribute->an_object;
	uint32_t   *values = malloc(n * sizeof(uint32_t));
	uint32_t   *objects = malloc(n * sizeof(uint32_t));
	size_t	   *ends = calloc(attribute->n_values + 1, sizeof(size_t));

	for (uint32_t i = 0; i < model->n_objects; i++)
		draw_distinct(random, segment, attribute, values + (size_t) i * attribute->an_object);
	for (size_t i = 0; i < n; i++)
		ends[values[i] + 1]++;
	for (uint32_t v = 0; v < attribute->n_values; v++)
		ends[v + 1] += ends[v];
	for (size_t i = 0; i < n; i++)
		objects[ends[values[i]]++] = (uint32_t) (i / attribute->an_object);
	for (uint32_t v = 0; v < attribute->n_values; v++)
		genie_model_list(model, first + v, objects + (v == 0 ? 0 : ends[v - 1]),
						 (uint32_t) (ends[v] - (v == 0 ? 0 : ends[v - 1])));
	free(values);
	free(objects);
	free(ends);
}

static void
random_job(GenieRandom *random, const Segment *segment, const GenieSegmentImage *image,
		   GenieRankRange *ranges, GenieJob *job)
{
	uint32_t	first = 0;

	memset(job, 0, sizeof(GenieJob));
	job->kind = GENIE_JOB_TOP;
	job->image = image;
	job->n_tiles = image->n_tiles;
	job->k = BATCH_K;
	job->min_key = 1;
	job->query.ranges = ranges;
	for (uint32_t a = 0; a < segment->n_attributes; a++)
	{
		const Attribute *attribute = &segment->attributes[a];
		uint32_t	values[16];

		draw_distinct(random, segment, attribute, values);
		for (uint32_t i = 0; i < attribute->an_object; i++)
		{
			uint32_t	half = attribute->asked / 2;
			uint32_t	end = values[i] + half + 1;

			ranges[job->query.n_ranges].first = first + (values[i] < half ? 0 : values[i] - half);
			ranges[job->query.n_ranges++].end = first + (end < attribute->n_values ? end : attribute->n_values);
		}
		first += attribute->n_values;
	}
	job->query.max_count = job->query.n_ranges;
}

/* The postings that the jobs ask for, each once a job. */
static uint64_t
count_postings(const GenieModel *model, const GenieJob *jobs, uint32_t n_jobs)
{
	uint64_t	n = 0;

	for (uint32_t j = 0; j < n_jobs; j++)
		for (uint32_t r = 0; r < jobs[j].query.n_ranges; r++)
			for (uint32_t rank = jobs[j].query.ranges[r].first; rank < jobs[j].query.ranges[r].end; rank++)
				n += model->lists[rank].n;
	return n;
}

static void
run_batch(GenieEngine *engine, const char *name, uint64_t n_postings, uint32_t n, GenieJob *jobs)
{
	int			runs = n == JOBS_MAX ? 3 : RUNS;
	uint32_t	n_cores = (uint32_t) sysconf(_SC_NPROCESSORS_ONLN);
	double		seconds[RUNS];
	double		alone = 0;

	for (uint32_t n_threads = 1; n_threads <= n_cores; n_threads *= 2)
	{
		if (genie_cpu_engine_threads(engine, n_threads) != n_threads)
			abort();
		for (int r = 0; r < runs; r++)
		{
			double		start = bench_seconds(CLOCK_MONOTONIC);

			if (engine->ops->run(engine, n, jobs) != GENIE_OK || jobs[0].n_hits != BATCH_K)
				abort();
			seconds[r] = bench_seconds(CLOCK_MONOTONIC) - start;
		}
		qsort(seconds, (size_t) runs, sizeof(double), bench_compare);
		if (n_threads == 1)
			alone = seconds[runs / 2];
		printf("%-10s %6u %8u %12.2f %12.1f %12.0f %8.2f\n",
			   name, n, n_threads, 1e3 * seconds[runs / 2],
			   1e6 * seconds[runs / 2] / n, 1e-6 * (double) n_postings / seconds[runs / 2],
			   alone / seconds[runs / 2]);
	}
}

static void
run_batches(GenieEngine *engine, const Segment *segment, const GenieModel *model, const GenieSegmentImage *image)
{
	static const uint32_t batches[] = {1, 32, JOBS_MAX};
	static GenieRankRange ranges[JOBS_MAX][RANGES_MAX];
	static GenieHit hits[JOBS_MAX][BATCH_K];
	static GenieJob jobs[JOBS_MAX];
	GenieRandom random = {5};

	for (uint32_t j = 0; j < JOBS_MAX; j++)
	{
		random_job(&random, segment, image, ranges[j], &jobs[j]);
		jobs[j].out = hits[j];
	}
	for (size_t b = 0; b < sizeof(batches) / sizeof(batches[0]); b++)
		run_batch(engine, segment->name, count_postings(model, jobs, batches[b]), batches[b], jobs);
}

static void
bench_segment(GenieEngine *engine, const Segment *segment)
{
	GenieRandom random = {4};
	GenieModel	model;
	GenieSegmentImage image;
	uint32_t	first = 0;
	uint64_t	n_bytes = 0;

	for (uint32_t a = 0; a < segment->n_attributes; a++)
		first += segment->attributes[a].n_values;
	genie_model_begin(&model, segment->n_tiles * GENIE_TILE_OBJECTS, first);
	first = 0;
	for (uint32_t a = 0; a < segment->n_attributes; a++)
	{
		add_attribute(&random, segment, &segment->attributes[a], &model, first);
		first += segment->attributes[a].n_values;
	}
	genie_model_image(&model, 1, UINT32_MAX, &image);
	for (uint32_t g = 0; g < image.n_groups; g++)
		n_bytes += image.groups[g]->n_bytes;
	run_batches(engine, segment, &model, &image);
	printf("%-10s %.2f bytes a posting\n", "", (double) n_bytes / (double) model.n_postings);
	genie_model_free_image(&image);
	genie_model_end(&model);
}

static void
bench_images(void)
{
	enum {WORDS = 200000};
	static Segment lsh = {.name = "lsh", .n_tiles = 2, .n_attributes = RANGES_MAX};
	static Segment documents = {.name = "documents", .n_tiles = 8, .n_attributes = 1,
	.attributes = {{WORDS, 10, 1, 'z'}}};
	static Segment rows = {.name = "ranges", .n_tiles = 15, .n_attributes = 14, .attributes = {
			{1024, 1, 101, 'u'}, {1024, 1, 101, 'u'}, {1024, 1, 101, 'u'}, {1024, 1, 101, 'u'}, {1024, 1, 101, 'u'},
			{1024, 1, 101, 'u'}, {9, 1, 1, 'z'}, {16, 1, 1, 'z'}, {7, 1, 1, 'z'}, {15, 1, 1, 'z'}, {6, 1, 1, 'z'},
			{5, 1, 1, 'z'}, {2, 1, 1, 'z'}, {42, 1, 1, 'z'}
	}};
	void	   *memory = malloc(genie_cpu_engine_size() + 64);
	GenieEngine *engine = genie_cpu_engine_open((void *) (((uintptr_t) memory + 63) / 64 * 64));
	double	   *zipf = malloc(WORDS * sizeof(double));

	for (uint32_t i = 0; i < WORDS; i++)
		zipf[i] = (i == 0 ? 0 : zipf[i - 1]) + 1.0 / (i + 1);
	documents.zipf = rows.zipf = zipf;
	for (uint32_t a = 0; a < RANGES_MAX; a++)
		lsh.attributes[a] = (Attribute) {67, 1, 1, 'n'};
	printf("\n%s: batches over images, k = %d\n", genie_kernels_choose()->name, BATCH_K);
	printf("%-10s %6s %8s %12s %12s %12s %8s\n", "segment", "jobs", "threads",
		   "ms a batch", "us a job", "count M/s", "speedup");
	bench_segment(engine, &lsh);
	bench_segment(engine, &documents);
	bench_segment(engine, &rows);
	engine->ops->close(engine);
	free(zipf);
	free(memory);
}

/* One job over two tiles that have n_lists lists of 300 objects each, counted by 1 thread and by 2. */
static void
bench_wake(void)
{
	enum {WAKE_TILES = 2, LISTS_MAX = 2048, STEP = GENIE_TILE_OBJECTS / 300, WAKE_RUNS = 2001};
	static uint32_t objects[WAKE_TILES * 300];
	static double seconds[WAKE_RUNS];
	void	   *memory = malloc(genie_cpu_engine_size() + 64);
	GenieEngine *engine = genie_cpu_engine_open((void *) (((uintptr_t) memory + 63) / 64 * 64));
	GenieModel	model;
	GenieSegmentImage image;

	genie_model_begin(&model, WAKE_TILES * GENIE_TILE_OBJECTS, LISTS_MAX);
	for (uint32_t l = 0; l < LISTS_MAX; l++)
	{
		for (uint32_t i = 0; i < WAKE_TILES * 300; i++)
			objects[i] = i * STEP + (l * 7) % STEP;
		genie_model_list(&model, l, objects, WAKE_TILES * 300);
	}
	genie_model_image(&model, 1, UINT32_MAX, &image);
	printf("\none job of two tiles\n%10s %12s %12s\n", "postings", "1 thread us", "2 threads us");
	genie_cpu_engine_policy(engine)->task_cost = 1;
	for (uint32_t n_lists = 1; n_lists <= LISTS_MAX; n_lists *= 4)
	{
		GenieRankRange range = {0, n_lists};
		GenieHit	hits[BATCH_K];
		GenieJob	job = {.kind = GENIE_JOB_TOP, .image = &image, .n_tiles = image.n_tiles, .k = BATCH_K, .min_key = 1,
		.out = hits, .query = {.n_ranges = 1, .ranges = &range, .max_count = n_lists}};

		printf("%10u", n_lists * WAKE_TILES * 300);
		for (uint32_t n_threads = 1; n_threads <= 2; n_threads++)
		{
			genie_cpu_engine_threads(engine, n_threads);
			for (int r = 0; r < WAKE_RUNS; r++)
			{
				double		start = bench_seconds(CLOCK_MONOTONIC);

				if (engine->ops->run(engine, 1, &job) != GENIE_OK || job.n_hits != BATCH_K)
					abort();
				seconds[r] = bench_seconds(CLOCK_MONOTONIC) - start;
			}
			printf(" %12.1f", 1e6 * bench_median(seconds, WAKE_RUNS));
		}
		printf("\n");
	}
	engine->ops->close(engine);
	genie_model_free_image(&image);
	genie_model_end(&model);
	free(memory);
}

static void
bench_kernels(const GenieKernels *kernels)
{
	void	   *memory = malloc(genie_cpu_engine_size() + 64);
	GenieEngine *engine = genie_cpu_engine_open_with((void *) (((uintptr_t) memory + 63) / 64 * 64), kernels);

	bench_count(engine, kernels);
	bench_search(engine, kernels);
	engine->ops->close(engine);
	free(memory);
}

int
main(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], "batches") != 0)
	{
		bench_codec();
		for (uint32_t i = 0; genie_kernels_nth(i) != NULL; i++)
			bench_kernels(genie_kernels_nth(i));
	}
	bench_images();
	bench_wake();
	return 0;
}

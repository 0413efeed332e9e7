/*
 * bench_engine.c
 *	  Rates of the codec, the counting kernels and the CPU engine, as a table, one core.
 *
 *	decode		values a second of genie_list_decode, by codec and density
 *	count		postings a second of engine->count, by codec and density, for each set of kernels
 *	search		one query's latency on 15 tiles (977 k objects) whose 14 lists mix dense and sparse
 *
 * The data is seeded: the same on every machine.  Each figure is the median of several runs.
 * Build with -O3 and -DNDEBUG.
 */
#define _POSIX_C_SOURCE 199309L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "genie_engine_cpu.h"
#include "genie_kernels.h"
#include "../unit/genie_test.h"

#define TILES 15
#define LISTS 14
#define RUNS 15

static GenieListEncoder encoder;
static uint8_t written[1 << 20];
static size_t n_written;

static GenieListRef refs[TILES][2 * LISTS];
static GenieTileView views[TILES];
static uint16_t locals[GENIE_TILE_OBJECTS];

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
median(double *seconds)
{
	qsort(seconds, RUNS, sizeof(double), compare_doubles);
	return seconds[RUNS / 2];
}

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
			double		start = now();

			for (uint32_t i = 0; i < repeat; i++)
				if (!genie_list_decode(&ref, locals))
					abort();
			seconds[r] = now() - start;
		}
		printf("%-8s %9u %9u %14.0f\n", codec_name(ref.codec), ref.n, ref.nbytes,
			   1e-6 * ref.n * repeat / median(seconds));
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
			double		start = now();

			for (int i = 0; i < repeat; i++)
				if (genie_cpu_count(engine, &group, 1, &query, results) != GENIE_OK)
					abort();
			seconds[r] = now() - start;
		}
		printf("%-8s %9" PRIu64 " %12.1f %14.0f\n", codec_name(refs[0][0].codec), n,
			   1e6 * median(seconds) / repeat, 1e-6 * (double) n * repeat / median(seconds));
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
				double		start = now();

				genie_topk_init(&top, hits, ks[i], 1, NULL);
				if (genie_cpu_search(engine, &group, 1, &query, tops) != GENIE_OK ||
					genie_topk_finish(&top) != ks[i])
					abort();
				seconds[r] = now() - start;
			}
			printf("%-8s %9u %12.1f %14.0f\n", first == 0 ? "all" : "sparse 4", ks[i],
				   1e6 * median(seconds), 1e-6 * (double) n / median(seconds));
			free(hits);
		}
	}
	for (uint32_t t = 0; t < TILES; t++)
		for (uint32_t l = 0; l < LISTS; l++)
			free((void *) refs[t][l].data);
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
main(void)
{
	bench_codec();
	bench_kernels(&genie_kernels_portable);
	if (genie_kernels_choose() != &genie_kernels_portable)
		bench_kernels(genie_kernels_choose());
	return 0;
}

/*
 * bench_rows.c
 *	  The CPU engine alone on real rows, with one thread: one query's latency and batches.
 *
 *	bench_rows FILE [portable]
 *
 * A line of FILE is a row, an array in PostgreSQL's text form without quoted elements, as psql -At -c 'SELECT kw FROM
 * rows' writes them.  Each different element is a keyword; rows drawn with a seed are the queries.  portable: with
 * those kernels.
 *
 *	image	a job over the image, as the worker counts, for k = 10 and 100; batches of 32 and 512
 *	pages	the lists as they are on the pages, as a backend counts by itself, without reading them
 *
 * One query: the median and the largest over the queries of each one's fastest of several runs.  A batch: the fastest.
 * The last column sums up the answers, to be compared between builds.  Build with -O3 and -DNDEBUG.
 */
#define _POSIX_C_SOURCE 200112L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "genie_codec.h"
#include "genie_cpu_batch.h"
#include "genie_engine_cpu.h"
#include "genie_kernels.h"
#include "../unit/genie_test_image.h"

#define QUERIES 50
#define BATCH_MAX 512
#define K_MAX 100
#define RUNS 40
#define BATCH_RUNS 5

/* One keyword of one row. */
typedef struct Element
{
	const char *text;
	uint32_t	object;
} Element;

typedef struct Rows
{
	char	   *text;
	Element    *elements;		/* by text, then object */
	size_t		n_elements;
	uint32_t	n_rows;
} Rows;

/* A row as a query. */
typedef struct Query
{
	GenieEngineQuery query;
	uint32_t	n;
	uint32_t	capacity;
	GenieRankRange *ranges;
} Query;

/* The lists as they are on the pages. */
typedef struct Pages
{
	uint32_t	n_tiles;
	GenieTileView *views;
	uint32_t   *capacities;
	uint8_t    *bytes;			/* one list's, while it is encoded */
	size_t		n_bytes;
} Pages;

static void *
grown(void *memory, size_t n_bytes)
{
	memory = realloc(memory, n_bytes);
	if (memory == NULL)
		abort();
	return memory;
}

static int
compare_elements(const void *a, const void *b)
{
	const Element *x = a;
	const Element *y = b;
	int			by_text = strcmp(x->text, y->text);

	return by_text != 0 ? by_text : (x->object > y->object) - (x->object < y->object);
}

/* Reads the file and cuts it into elements. */
static void
read_rows(const char *name, Rows *rows)
{
	FILE	   *file = fopen(name, "r");
	size_t		capacity = 0;
	size_t		n = 0;
	char	   *at;

	memset(rows, 0, sizeof(Rows));
	if (file == NULL)
	{
		perror(name);
		exit(1);
	}
	do
	{
		capacity += 64 << 20;
		rows->text = grown(rows->text, capacity + 1);
		n += fread(rows->text + n, 1, capacity - n, file);
	} while (n == capacity);
	fclose(file);
	rows->text[n] = '\0';

	capacity = 0;
	for (at = rows->text; *at != '\0';)
	{
		size_t		len = strcspn(at, "{,}\n");

		if (len > 0)
		{
			if (rows->n_elements == capacity)
			{
				capacity = capacity * 2 + 1024;
				rows->elements = grown(rows->elements, capacity * sizeof(Element));
			}
			rows->elements[rows->n_elements++] = (Element) {at, rows->n_rows};
		}
		at += len;
		rows->n_rows += *at == '\n';
		if (*at != '\0')
			*at++ = '\0';
	}
	qsort(rows->elements, rows->n_elements, sizeof(Element), compare_elements);
}

/* Makes the model, and of every row that query_of names a query. */
static void
make_model(const Rows *rows, const int16_t *query_of, GenieModel *model, Query *queries)
{
	uint32_t   *objects = grown(NULL, rows->n_rows * sizeof(uint32_t));
	uint32_t	n_keywords = 0;
	uint32_t	rank = 0;
	size_t		end;

	for (size_t i = 0; i < rows->n_elements; i++)
		n_keywords += i == 0 || strcmp(rows->elements[i - 1].text, rows->elements[i].text) != 0;
	genie_model_begin(model, rows->n_rows, n_keywords);
	for (size_t start = 0; start < rows->n_elements; start = end, rank++)
	{
		uint32_t	n = 0;

		for (end = start; end < rows->n_elements &&
			 strcmp(rows->elements[start].text, rows->elements[end].text) == 0; end++)
		{
			uint32_t	object = rows->elements[end].object;
			Query	   *query;

			if (n > 0 && objects[n - 1] == object)
				continue;
			objects[n++] = object;
			model->sizes[object]++;
			if (query_of[object] < 0)
				continue;
			query = &queries[query_of[object]];
			if (query->n == query->capacity)
			{
				query->capacity = query->capacity * 2 + 16;
				query->ranges = grown(query->ranges, query->capacity * sizeof(GenieRankRange));
			}
			query->ranges[query->n++] = (GenieRankRange) {rank, rank + 1};
		}
		genie_model_list(model, rank, objects, n);
	}
	for (int q = 0; q < BATCH_MAX; q++)
		queries[q].query = (GenieEngineQuery) {.n_ranges = queries[q].n, .ranges = queries[q].ranges,
			.max_count = queries[q].n};
	free(objects);
}

/* ---- pages ---- */

static void
emit(void *arg, const uint8_t *bytes, size_t n)
{
	Pages	   *pages = arg;

	pages->bytes = grown(pages->bytes, pages->n_bytes + n);
	memcpy(pages->bytes + pages->n_bytes, bytes, n);
	pages->n_bytes += n;
}

static void
add_ref(Pages *pages, uint32_t tile, const GenieListRef *ref)
{
	GenieTileView *view = &pages->views[tile];

	if (view->n_lists == pages->capacities[tile])
	{
		pages->capacities[tile] = pages->capacities[tile] * 2 + 16;
		view->lists = grown((void *) view->lists, pages->capacities[tile] * sizeof(GenieListRef));
	}
	((GenieListRef *) view->lists)[view->n_lists++] = *ref;
}

static void
make_list(Pages *pages, GenieListEncoder *encoder, uint32_t rank, const GenieModelList *list)
{
	GenieListRef ref = {0};
	int64_t		last_tile = -1;

	pages->n_bytes = 0;
	genie_list_begin(encoder, emit, pages);
	for (uint32_t i = 0; i < list->n; i++)
		genie_list_add(encoder, list->objects[i]);
	genie_list_end(encoder);
	if (list->n <= GENIE_LOOSE_MAX)
	{
		for (uint32_t i = 0; i < list->n; i++)
		{
			uint16_t   *local = grown(NULL, sizeof(uint16_t));

			*local = (uint16_t) list->objects[i];
			ref = (GenieListRef) {rank, 1, sizeof(uint16_t), GENIE_CODEC_RAW, (const uint8_t *) local};
			add_ref(pages, list->objects[i] >> GENIE_TILE_SHIFT, &ref);
		}
		return;
	}
	for (size_t at = 1; at < pages->n_bytes;)
	{
		uint32_t	tile;
		size_t		header_len;
		uint8_t    *data;

		if (!genie_tile_header(pages->bytes + at, pages->bytes + pages->n_bytes, last_tile, &tile, &ref, &header_len))
			abort();
		data = grown(NULL, ref.nbytes);
		memcpy(data, pages->bytes + at + header_len, ref.nbytes);
		ref.rank = rank;
		ref.data = data;
		add_ref(pages, tile, &ref);
		at += header_len + ref.nbytes;
		last_tile = tile;
	}
}

static void
make_pages(const GenieModel *model, Pages *pages)
{
	GenieListEncoder *encoder = grown(NULL, sizeof(GenieListEncoder));

	memset(pages, 0, sizeof(Pages));
	pages->n_tiles = genie_model_tiles(model);
	pages->views = calloc(pages->n_tiles, sizeof(GenieTileView));
	pages->capacities = calloc(pages->n_tiles, sizeof(uint32_t));
	for (uint32_t t = 0; t < pages->n_tiles; t++)
	{
		uint32_t	left = model->n_objects - t * GENIE_TILE_OBJECTS;

		pages->views[t].tile = t;
		pages->views[t].n_objects = left < GENIE_TILE_OBJECTS ? left : GENIE_TILE_OBJECTS;
	}
	for (uint32_t rank = 0; rank < model->n_keywords; rank++)
		make_list(pages, encoder, rank, &model->lists[rank]);
	free(encoder);
}

/* The lists that the query asks for, and no others, as a backend has read them. */
static GenieGroupView
read_pages(const Pages *pages, const Query *query)
{
	GenieTileView *views = grown(NULL, pages->n_tiles * sizeof(GenieTileView));

	for (uint32_t t = 0; t < pages->n_tiles; t++)
	{
		const GenieTileView *from = &pages->views[t];
		GenieListRef *lists = grown(NULL, (query->n * (size_t) GENIE_LOOSE_MAX + 1) * sizeof(GenieListRef));
		uint32_t	r = 0;

		views[t] = *from;
		views[t].lists = lists;
		views[t].n_lists = 0;
		for (uint32_t l = 0; l < from->n_lists && r < query->n; l++)
		{
			while (r < query->n && query->ranges[r].first < from->lists[l].rank)
				r++;
			if (r < query->n && query->ranges[r].first == from->lists[l].rank)
				lists[views[t].n_lists++] = from->lists[l];
		}
	}
	return (GenieGroupView) {pages->n_tiles, views};
}

/* ---- measuring ---- */

static uint64_t
sum_up(uint64_t sum, const GenieHit *hits, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sum = (sum ^ hits[i].key ^ (uint64_t) hits[i].object << 16) * UINT64_C(0x9E3779B97F4A7C15);
	return sum;
}

static void
print_latencies(const char *what, uint32_t k, double *seconds, uint64_t sum)
{
	qsort(seconds, QUERIES, sizeof(double), bench_compare);
	printf("%-6s one query, k = %-4u %9.1f us median %9.1f us largest  %016" PRIx64 "\n", what, k,
		   1e6 * seconds[QUERIES / 2], 1e6 * seconds[QUERIES - 1], sum);
}

static void
bench_one(GenieEngine *engine, const GenieSegmentImage *image, Query *queries, uint32_t k)
{
	double		seconds[QUERIES];
	GenieHit	hits[K_MAX];
	uint64_t	sum = 0;

	for (int r = 0; r < RUNS; r++)
		for (int q = 0; q < QUERIES; q++)
		{
			GenieJob	job = {.kind = GENIE_JOB_TOP, .image = image, .n_tiles = image->n_tiles,
			.query = queries[q].query, .k = k, .min_key = 1, .out = hits};
			double		start = bench_seconds(CLOCK_MONOTONIC);

			if (engine->ops->run(engine, 1, &job) != GENIE_OK || job.status != GENIE_OK)
				abort();
			start = bench_seconds(CLOCK_MONOTONIC) - start;
			if (r == 0)
				sum = sum_up(sum, hits, job.n_hits);
			if (r == 0 || start < seconds[q])
				seconds[q] = start;
		}
	print_latencies("image", k, seconds, sum);
}

static void
bench_pages(GenieEngine *engine, const Pages *pages, Query *queries, uint32_t k)
{
	double		seconds[QUERIES];
	GenieHit   *hits = grown(NULL, genie_topk_capacity(k) * sizeof(GenieHit));
	uint64_t	sum = 0;

	for (int q = 0; q < QUERIES; q++)
	{
		GenieGroupView group = read_pages(pages, &queries[q]);

		for (int r = 0; r < RUNS; r++)
		{
			GenieTopK	top;
			GenieTopK  *tops[1] = {&top};
			double		start = bench_seconds(CLOCK_MONOTONIC);
			uint32_t	n;

			genie_topk_init(&top, hits, k, 1, NULL);
			if (genie_cpu_search(engine, &group, 1, &queries[q].query, tops) != GENIE_OK)
				abort();
			n = genie_topk_finish(&top);
			start = bench_seconds(CLOCK_MONOTONIC) - start;
			if (r == 0)
				sum = sum_up(sum, hits, n);
			if (r == 0 || start < seconds[q])
				seconds[q] = start;
		}
		for (uint32_t t = 0; t < group.n_tiles; t++)
			free((void *) group.tiles[t].lists);
		free((void *) group.tiles);
	}
	print_latencies("pages", k, seconds, sum);
	free(hits);
}

static void
bench_batch(GenieEngine *engine, const GenieSegmentImage *image, Query *queries, uint32_t n)
{
	static GenieJob jobs[BATCH_MAX];
	GenieHit   *hits = grown(NULL, (size_t) n * K_MAX * sizeof(GenieHit));
	double		best = 0;
	uint64_t	sum = 0;

	for (int r = 0; r < BATCH_RUNS; r++)
	{
		double		start;

		for (uint32_t j = 0; j < n; j++)
			jobs[j] = (GenieJob) {.kind = GENIE_JOB_TOP, .image = image, .n_tiles = image->n_tiles,
				.query = queries[j].query, .k = K_MAX, .min_key = 1, .out = hits + (size_t) j * K_MAX};
		start = bench_seconds(CLOCK_MONOTONIC);
		if (engine->ops->run(engine, n, jobs) != GENIE_OK)
			abort();
		start = bench_seconds(CLOCK_MONOTONIC) - start;
		if (r == 0 || start < best)
			best = start;
	}
	for (uint32_t j = 0; j < n; j++)
		sum = sum_up(sum, jobs[j].out, jobs[j].n_hits);
	printf("%-6s batch of %-4u k = %-4u %9.1f us a query %29s %016" PRIx64 "\n", "image", n, K_MAX,
		   1e6 * best / n, "", sum);
	free(hits);
}

int
main(int argc, char **argv)
{
	static Query queries[BATCH_MAX];
	GenieRandom random = {1};
	const GenieKernels *kernels = genie_kernels_choose();
	void	   *memory;
	GenieEngine *engine;
	Rows		rows;
	int16_t    *query_of;
	GenieModel	model;
	GenieSegmentImage image;
	Pages		pages;
	uint64_t	n_bytes = 0;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "portable") != 0))
	{
		fprintf(stderr, "usage: bench_rows FILE [portable]\n");
		return 2;
	}
	if (argc == 3)
		kernels = &genie_kernels_portable;
	read_rows(argv[1], &rows);
	if (rows.n_rows < 2 * BATCH_MAX)
	{
		fprintf(stderr, "%s: %u rows are too few\n", argv[1], rows.n_rows);
		return 1;
	}
	query_of = grown(NULL, rows.n_rows * sizeof(int16_t));
	memset(query_of, 0xFF, rows.n_rows * sizeof(int16_t));
	for (int16_t q = 0; q < BATCH_MAX;)
	{
		uint64_t	row = genie_random_below(&random, rows.n_rows);

		if (query_of[row] < 0)
			query_of[row] = q++;
	}
	make_model(&rows, query_of, &model, queries);
	genie_model_image(&model, 1, UINT32_MAX, &image);
	make_pages(&model, &pages);
	for (uint32_t g = 0; g < image.n_groups; g++)
		n_bytes += image.groups[g]->n_bytes;
	printf("%s: %u rows, %u keywords, %" PRIu64 " postings, %.2f bytes a posting, %s\n", argv[1], model.n_objects,
		   model.n_keywords, model.n_postings, (double) n_bytes / (double) model.n_postings, kernels->name);

	memory = grown(NULL, genie_cpu_engine_size() + 64);
	engine = genie_cpu_engine_open_with((void *) (((uintptr_t) memory + 63) / 64 * 64), kernels);
	bench_one(engine, &image, queries, 10);
	bench_one(engine, &image, queries, K_MAX);
	bench_batch(engine, &image, queries, 32);
	bench_batch(engine, &image, queries, BATCH_MAX);
	bench_pages(engine, &pages, queries, 10);
	bench_pages(engine, &pages, queries, K_MAX);
	return 0;
}

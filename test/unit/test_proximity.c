/*
 * test_proximity.c
 *	  Proximity graphs (genie_proximity.h): which edges they have, what searches find of what a scan finds, and that a
 *	  graph is the same whoever builds it.
 */
#include <pthread.h>
#include <string.h>

#include "genie_proximity_build.h"
#include "genie_test.h"
#include "genie_topk.h"
#include "genie_value_record.h"

#define DIMENSIONS_MAX 96
#define K 10

/* ---- vectors ---- */

typedef struct Data
{
	uint32_t	n;
	uint32_t	n_dimensions;
	GenieMetric metric;
	float	   *elements;
	GenieQuantizedVectors vectors;
	const void **records;
	uint32_t  **edges;
	GenieProximityHead *head;
	GenieProximityGraph graph;
	uint32_t	n_null;			/* of the objects of which nothing is known */
} Data;

static GenieValueShape
shape_of(const Data *data)
{
	return (GenieValueShape) {.metric = data->metric, .n_dimensions = data->n_dimensions,
		.step = data->metric == GENIE_METRIC_L1 ? 1.0f : 0.0f};
}

/* About normal, of variance 1. */
static float
normal(GenieRandom *random)
{
	double		sum = 0;

	for (uint32_t i = 0; i < 12; i++)
		sum += (double) genie_random_below(random, 1000001) / 1000000;
	return (float) (sum - 6);
}

typedef enum Kind
{
	SPREAD,						/* around one point */
	CLUSTERS,					/* of 50, far from each other, one behind the other */
	EQUAL,						/* 500 vectors again and again */
	TWO,						/* two clusters, far away */
	N_KINDS
} Kind;

/* One vector; of: it is like that one, where there are clusters. */
static void
draw(GenieRandom *random, Kind kind, uint32_t n_dimensions, uint32_t of, uint32_t n, float *to)
{
	uint32_t	cluster = kind == CLUSTERS ? of / 50 : kind == TWO ? of >= n / 2 :
		(uint32_t) genie_random_below(random, 500);
	GenieRandom centre = {1000 + cluster};

	for (uint32_t i = 0; i < n_dimensions; i++)
	{
		float		middle = normal(&centre) * 20;

		/* whole numbers: L1 has a range of 255 of them */
		to[i] = kind == SPREAD ? normal(random) * 30 : kind == EQUAL ? middle :
			kind == TWO ? (float) cluster * 100 + normal(random) * 10 : middle + normal(random) * 2;
		to[i] = (float) (int) (to[i] + 100);
	}
}

static void
make(Data *data, GenieRandom *random, Kind kind, GenieMetric metric, uint32_t n_dimensions, uint32_t n, uint32_t degree)
{
	uint32_t	n_tiles = (n + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
	size_t		n_bytes = genie_value_record_bytes(metric, n_dimensions);

	*data = (Data) {.n = n, .n_dimensions = n_dimensions, .metric = metric};
	data->elements = malloc((size_t) n * n_dimensions * sizeof(float));
	data->records = malloc(n_tiles * sizeof(void *));
	data->edges = malloc(n_tiles * sizeof(uint32_t *));
	data->head = malloc(genie_proximity_head_bytes());
	for (uint32_t t = 0; t < n_tiles; t++)
	{
		void	   *memory;

		if (posix_memalign(&memory, 64, GENIE_TILE_OBJECTS * n_bytes) != 0)
			abort();
		data->records[t] = memory;
		data->edges[t] = malloc((size_t) genie_proximity_in_tile(GENIE_TILE_OBJECTS, GENIE_PROXIMITY_LEVELS_MAX) *
								degree * sizeof(uint32_t));
	}
	for (uint32_t i = 0; i < n; i++)
	{
		float	   *to = data->elements + (size_t) i * n_dimensions;

		draw(random, kind, n_dimensions, i, n, to);
		genie_value_record(shape_of(data), (GenieVector) {to, n_dimensions, false},
						   (uint8_t *) data->records[i >> GENIE_TILE_SHIFT] +
						   (i & (GENIE_TILE_OBJECTS - 1)) * n_bytes);
	}
	data->vectors = genie_vectors(1, metric, n_dimensions, n, data->records);
}

static void
end(Data *data)
{
	for (uint32_t t = 0; t < data->vectors.end_tile; t++)
	{
		free((void *) data->records[t]);
		free(data->edges[t]);
	}
	free(data->records);
	free(data->edges);
	free(data->head);
	free(data->elements);
}

/* ---- who builds ---- */

typedef struct Team
{
	uint32_t	n_blocks;
	void		(*do_block) (void *work, uint32_t block);
	void	   *work;
	uint32_t	next;			/* atomic */
} Team;

static void *
help(void *arg)
{
	Team	   *team = arg;

	for (uint32_t i; (i = __atomic_fetch_add(&team->next, 1, __ATOMIC_RELAXED)) < team->n_blocks;)
		team->do_block(team->work, team->n_blocks - 1 - i);
	return NULL;
}

static bool
alone(void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	(void) arg;
	for (uint32_t i = 0; i < n_blocks; i++)
		do_block(work, i);
	return true;
}

/* Two threads, from the last block on. */
static bool
together(void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	Team		team = {n_blocks, do_block, work, 0};
	pthread_t	thread;

	(void) arg;
	if (pthread_create(&thread, NULL, help, &team) != 0)
		abort();
	(void) help(&team);
	(void) pthread_join(thread, NULL);
	return true;
}

/* Until so many calls are over. */
static bool
not_long(void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	uint32_t   *left = arg;

	if (*left == 0)
		return false;
	*left -= 1;
	return alone(NULL, n_blocks, do_block, work);
}

static GenieProximityResult
build(Data *data, uint32_t degree, const GenieProximityWorkers *workers)
{
	GenieProximityResult result = genie_proximity_build(&data->vectors, data->n_null, degree, workers, data->edges,
														data->head);

	data->graph = (GenieProximityGraph) {1, data->n, data->head, (const uint32_t *const *) data->edges};
	return result;
}

static const GenieProximityWorkers one = {NULL, alone};

/* ---- edges ---- */

/* Edges lead to other objects of the level, once each; all known objects of level 0 are reached. */
static void
check_edges(const Data *data)
{
	const GenieProximityHead *head = data->head;
	bool	   *reached = calloc(data->n, sizeof(bool));
	uint32_t   *stack = malloc(data->n * sizeof(uint32_t));
	uint32_t	n_stack = 0;
	uint32_t	n_bad = 0;
	uint32_t	n_reached = 0;

	for (uint32_t level = 0; level < head->n_levels; level++)
	{
		/* members: those that edges of the level lead to */
		for (uint32_t object = 0; object < data->n; object += 1u << GENIE_PROXIMITY_LEVEL_SHIFT * level)
		{
			const uint32_t *edges = genie_proximity_edges(&data->graph, level, object);
			uint32_t	n = 0;

			while (n < head->degree && edges[n] != GENIE_PROXIMITY_NONE)
			{
				n_bad += edges[n] >= data->n || (level == 0 && edges[n] == object);
				for (uint32_t e = 0; e < n; e++)
					n_bad += edges[e] == edges[n];
				n++;
			}
			for (; n < head->degree; n++)
				n_bad += edges[n] != GENIE_PROXIMITY_NONE;
		}
	}
	CHECK_INT(n_bad, 0);

	/* from all that the level above has, or from the entries */
	for (uint32_t i = 0; i < head->n_entries; i++)
		if (!reached[genie_proximity_entries(head)[i]])
		{
			reached[genie_proximity_entries(head)[i]] = true;
			stack[n_stack++] = genie_proximity_entries(head)[i];
		}
	for (uint32_t level = head->n_levels; level-- > 0;)
	{
		for (uint32_t object = 0; object < data->n; object++)
			if (reached[object])
				stack[n_stack++] = object;
		while (n_stack > 0)
		{
			const uint32_t *edges = genie_proximity_edges(&data->graph, level, stack[--n_stack]);

			for (uint32_t e = 0; e < head->degree && edges[e] != GENIE_PROXIMITY_NONE; e++)
				if (!reached[edges[e]])
				{
					reached[edges[e]] = true;
					stack[n_stack++] = edges[e];
				}
		}
	}
	for (uint32_t object = 0; object < data->n; object++)
		n_reached += reached[object];
	CHECK_INT(n_reached, data->n - head->n_unknown);
	free(reached);
	free(stack);
}

/* ---- searches ---- */

/* The share of the best k of a scan that searches find, by keys: what has a key as good is as good. */
static double
recall(const Data *data, GenieRandom *random, Kind kind, const uint64_t *live, uint32_t queue, uint32_t n_queries)
{
	uint32_t   *keys = malloc(data->n * sizeof(uint32_t));
	GenieHit   *best = malloc(genie_topk_capacity(K) * sizeof(GenieHit));
	void	   *query = NULL;
	uint32_t	n_found = 0;

	if (posix_memalign(&query, 64, genie_value_query_bytes(data->metric, data->n_dimensions)) != 0)
		abort();
	for (uint32_t q = 0; q < n_queries; q++)
	{
		float		elements[DIMENSIONS_MAX];
		GenieHit	hits[K];
		GenieTopK	top;
		uint64_t	n_seen;
		int64_t		n;
		uint32_t	n_best;

		draw(random, kind, data->n_dimensions, (uint32_t) genie_random_below(random, data->n), data->n, elements);
		genie_value_query(shape_of(data), (GenieVector) {elements, data->n_dimensions, false}, query);
		genie_topk_init(&top, best, K, 1, NULL);
		for (uint32_t object = 0; object < data->n; object++)
		{
			const uint8_t *tile = data->records[object >> GENIE_TILE_SHIFT];

			if (object % GENIE_TILE_OBJECTS == 0)
				genie_value_keys(query, tile, data->n - object < GENIE_TILE_OBJECTS ? data->n - object :
								 GENIE_TILE_OBJECTS, keys + object);
			if (live == NULL || (live[object / 64] >> object % 64 & 1) != 0)
				genie_topk_offer(&top, keys[object], object);
		}
		n_best = genie_topk_finish(&top);
		n = genie_proximity_search(&data->graph, &data->vectors, query, live, K, 1, queue, hits, &n_seen);
		CHECK_INT(n, n_best);
		CHECK(n_seen <= data->n + 2 * (uint64_t) data->head->n_entries + data->n / 8);
		for (int64_t i = 0; i < n; i++)
		{
			if (hits[i].key != keys[hits[i].object] ||
				(live != NULL && (live[hits[i].object / 64] >> hits[i].object % 64 & 1) == 0) ||
				(i > 0 && (hits[i].key > hits[i - 1].key ||
						   (hits[i].key == hits[i - 1].key && hits[i].object <= hits[i - 1].object))))
				CHECK(!"a hit is wrong");
			n_found += hits[i].key >= best[n_best - 1].key;
		}
	}
	free(query);
	free(best);
	free(keys);
	return (double) n_found / (n_queries * K);
}

/* Data of all kinds, alive and dead. */
static void
test_recall(GenieRandom *random)
{
	static const double least[N_KINDS] = {0.85, 0.9, 0.9, 0.9};

	for (Kind kind = 0; kind < N_KINDS; kind++)
	{
		Data		data;
		uint64_t   *live;
		double		found;

		make(&data, random, kind, GENIE_METRIC_L2, kind == SPREAD ? 16 : 40, kind == CLUSTERS ? 20000 : 9000, 24);
		live = malloc((data.n / 64 + 1) * sizeof(uint64_t));
		CHECK_INT(build(&data, 24, &one), GENIE_PROXIMITY_BUILT);
		check_edges(&data);
		found = recall(&data, random, kind, NULL, 100, 60);
		if (!CHECK(found >= least[kind]))
			printf("kind %d: recall %.3f\n", kind, found);
		for (uint32_t i = 0; i < data.n / 64 + 1; i++)
			live[i] = genie_random(random) & genie_random(random);
		found = recall(&data, random, kind, live, 200, 60);
		if (!CHECK(found >= least[kind]))
			printf("kind %d: recall with dead objects %.3f\n", kind, found);
		free(live);
		end(&data);
	}
}

static void
test_metrics(GenieRandom *random)
{
	static const GenieMetric metrics[] = {GENIE_METRIC_L1, GENIE_METRIC_COSINE, GENIE_METRIC_INNER};

	for (uint32_t m = 0; m < 3; m++)
	{
		Data		data;
		double		found;

		CHECK(genie_proximity_serves(metrics[m]));
		make(&data, random, CLUSTERS, metrics[m], 24, 5000, 32);
		CHECK_INT(build(&data, 32, &one), GENIE_PROXIMITY_BUILT);
		check_edges(&data);
		found = recall(&data, random, CLUSTERS, NULL, 200, 60);
		if (!CHECK(found >= 0.85))
			printf("metric %d: recall %.3f\n", metrics[m], found);
		end(&data);
	}
	CHECK(!genie_proximity_serves(GENIE_METRIC_HAMMING) && !genie_proximity_serves(GENIE_METRIC_PIVOTS));
}

/* ---- how long queues should be ---- */

static void
test_queue_of_recall(void)
{
	GenieProximityRecall recall;

	/* 16, 24, 32, 48, .. find 1/16, 2/16, 3/16, .. of 10, and of 100 from 128 on half of that */
	for (uint32_t i = 0; i < GENIE_PROXIMITY_QUEUES; i++)
	{
		recall.found[0][i] = (uint16_t) ((i + 1) * UINT16_MAX / GENIE_PROXIMITY_QUEUES);
		recall.found[1][i] = i < 6 ? 0 : recall.found[0][i] / 2;
	}
	CHECK_INT(genie_proximity_queue(&recall, 1, 0.01), 16);
	CHECK_INT(genie_proximity_queue(&recall, 10, 2.5 / 16), 32);
	CHECK_INT(genie_proximity_queue(&recall, 10, 1), 3072);
	CHECK_INT(genie_proximity_queue(&recall, 100, 0.01), 128);
	CHECK_INT(genie_proximity_queue(&recall, 100, 0.9), 3072);
	CHECK_INT(genie_proximity_queue(&recall, 55, 0.01), 72);
	CHECK_INT(genie_proximity_queue(&recall, 1000, 0.01), 1280);
	CHECK_INT(genie_proximity_queue(&recall, 4000, 1), GENIE_PROXIMITY_QUEUE_MAX);
	/* what longer queues do not better is left at the first that finds as much */
	for (uint32_t i = 0; i < GENIE_PROXIMITY_QUEUES; i++)
		recall.found[0][i] = recall.found[1][i] = i < 4 ? 10000 : 20000;
	CHECK_INT(genie_proximity_queue(&recall, 1, 0.99), 64);
	/* a hundred never need a shorter one than ten */
	recall.found[1][0] = UINT16_MAX;
	CHECK_INT(genie_proximity_queue(&recall, 100, 0.99), 100);
	CHECK_INT(genie_proximity_queue(&recall, 64, 0.99), 64);
}

/* Queues of the length that was measured find what is wanted, whatever the data; near queries, as these are. */
static void
test_measured(GenieRandom *random)
{
	static const GenieMetric metrics[] = {GENIE_METRIC_L2, GENIE_METRIC_L1, GENIE_METRIC_COSINE};

	for (uint32_t m = 0; m < 3; m++)
		for (Kind kind = 0; kind < N_KINDS; kind++)
		{
			Data		data;
			uint32_t	queue;
			double		found;

			make(&data, random, kind, metrics[m], 24, 5000, 16);
			CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_BUILT);
			for (uint32_t k = 0; k < GENIE_PROXIMITY_KS; k++)
				for (uint32_t i = 1; i < GENIE_PROXIMITY_QUEUES; i++)
					CHECK(data.head->recall.found[k][i] + 700 >= data.head->recall.found[k][i - 1]);
			CHECK(data.head->recall.found[0][GENIE_PROXIMITY_QUEUES - 1] > 0.99 * UINT16_MAX);
			queue = genie_proximity_queue(&data.head->recall, K, 0.97);
			found = recall(&data, random, kind, NULL, queue, 60);
			if (!CHECK(found >= 0.93) || !CHECK(queue >= 16 && queue <= 1024))
				printf("metric %d, kind %d: recall %.3f with a queue of %u\n", metrics[m], kind, found, queue);
			end(&data);
		}
}

/* ---- few objects, and those of which nothing is known ---- */

static void
test_sizes(GenieRandom *random)
{
	static const uint32_t sizes[] = {2, 3, 31, 49, 50, 1023, 1025, 16500};

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		Data		data;

		make(&data, random, SPREAD, GENIE_METRIC_L2, 5, sizes[i], 8);
		CHECK_INT(build(&data, 8, &one), GENIE_PROXIMITY_BUILT);
		check_edges(&data);
		if (sizes[i] >= K)
			CHECK(recall(&data, random, SPREAD, NULL, 300, 10) >= 0.7);
		end(&data);
	}
}

static void
test_unknown(GenieRandom *random)
{
	Data		data;
	size_t		n_bytes;
	GenieHit	hits[200];
	uint64_t	n_seen;
	uint64_t	live[6000 / 64 + 1];
	void	   *query = NULL;
	int64_t		n;

	make(&data, random, SPREAD, GENIE_METRIC_L2, 16, 6000, 16);
	n_bytes = genie_value_record_bytes(data.metric, data.n_dimensions);
	if (posix_memalign(&query, 64, genie_value_query_bytes(data.metric, data.n_dimensions)) != 0)
		abort();
	for (uint32_t i = 3000; i < 3100; i++)
		genie_quantize_unknown(data.n_dimensions, (uint8_t *) data.records[0] + i * n_bytes);
	CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_BUILT);
	CHECK_INT(data.head->n_unknown, 100);
	/* they are not what is to be found */
	CHECK(data.head->recall.found[0][0] < UINT16_MAX && data.head->recall.found[0][0] > UINT16_MAX / 8);
	check_edges(&data);
	genie_value_query(shape_of(&data), (GenieVector) {data.elements, data.n_dimensions, false}, query);
	n = genie_proximity_search(&data.graph, &data.vectors, query, NULL, 200, 1, 100, hits, &n_seen);
	CHECK_INT(n, 200);
	for (uint32_t i = 0; i < 101; i++)
		CHECK_INT(hits[i].object, i == 0 ? 0 : 2999 + i);
	memset(live, 0xFF, sizeof(live));
	live[3050 / 64] = 0;
	live[0] &= ~UINT64_C(1);
	n = genie_proximity_search(&data.graph, &data.vectors, query, live, 50, genie_value_key(0), 100, hits, &n_seen);
	CHECK_INT(n, 100 - 64);
	for (int64_t i = 0; i < n; i++)
		CHECK(hits[i].object >= 3000 && hits[i].object < 3100 && hits[i].object / 64 != 3050 / 64);

	for (uint32_t i = 0; i < GENIE_PROXIMITY_UNKNOWN_MAX + 1; i++)
		genie_quantize_unknown(data.n_dimensions, (uint8_t *) data.records[0] + i * n_bytes);
	CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_UNSUITABLE);
	/* if all of these are NULL, searches know none */
	data.n_null = GENIE_PROXIMITY_UNKNOWN_MAX + 1;
	CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_UNSUITABLE);
	data.n_null += 100;
	CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_BUILT);
	CHECK_INT(data.head->n_unknown, 0);
	n = genie_proximity_search(&data.graph, &data.vectors, query, NULL, 200, 1, 300, hits, &n_seen);
	CHECK_INT(n, 200);
	for (int64_t i = 0; i < n; i++)
		CHECK(hits[i].object > GENIE_PROXIMITY_UNKNOWN_MAX && (hits[i].object < 3000 || hits[i].object >= 3100));
	for (uint32_t i = 0; i < 5700; i++)
		genie_quantize_unknown(data.n_dimensions, (uint8_t *) data.records[0] + i * n_bytes);
	data.n_null = 5700;
	CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_UNSUITABLE);
	data.vectors.n_objects = 1;
	CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_UNSUITABLE);
	free(query);
	end(&data);
}

/* ---- who builds ---- */

static void
test_workers(GenieRandom *random)
{
	const GenieProximityWorkers two = {NULL, together};
	Data		data;
	uint32_t	n_edges;
	uint32_t   *before;
	uint32_t	left;
	GenieProximityWorkers few = {&left, not_long};

	make(&data, random, CLUSTERS, GENIE_METRIC_L2, 20, 3000, 16);
	n_edges = genie_proximity_in_tile(data.n, genie_proximity_levels(data.n)) * 16;
	before = malloc(n_edges * sizeof(uint32_t));
	CHECK_INT(build(&data, 16, &one), GENIE_PROXIMITY_BUILT);
	memcpy(before, data.edges[0], n_edges * sizeof(uint32_t));
	memset(data.edges[0], 0, n_edges * sizeof(uint32_t));
	CHECK_INT(build(&data, 16, &two), GENIE_PROXIMITY_BUILT);
	CHECK(memcmp(before, data.edges[0], n_edges * sizeof(uint32_t)) == 0);
	for (uint32_t n = 0; n < 8; n++)
	{
		left = n;
		CHECK_INT(build(&data, 16, &few), GENIE_PROXIMITY_STOPPED);
	}
	free(before);
	end(&data);
}

int
main(void)
{
	GenieRandom random = {23};

#ifndef __SANITIZE_THREAD__
	test_recall(&random);
	test_metrics(&random);
	test_queue_of_recall();
	test_measured(&random);
	test_sizes(&random);
	test_unknown(&random);
#endif
	test_workers(&random);
	return genie_test_end();
}

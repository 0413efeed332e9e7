/*
 * bench_graph.c
 *	  Proximity graphs of quantized vectors (genie_proximity.h): building, recall and time by the length of the queue.
 *
 *	bench_graph [SHAPE ROWS ...]
 *
 * Shapes, of made-up vectors:
 *	crowded		128 dimensions, whole numbers around one of 4,096 centres
 *	tight		96 dimensions, clusters of 100, one behind the other, far from each other
 *	equal		64 dimensions, 1,000 different rows, again and again; queries are near to one
 *	normal		32 dimensions, normally distributed: the neighbours of neighbours are seldom neighbours
 *	two			64 dimensions, two clusters, far away
 * By default crowded 300000, tight 200000, equal 100000, normal 100000, two 100000.
 *
 * A line is a queue: the share of the 10 true neighbours (by exact distances) that are in it at the end, the mean
 * microseconds of a search by one thread, and how many objects it has seen.  The last lines are those of queues for a
 * wanted recall, by what the graph has measured.  Building is by as many threads as there are processors.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench_time.h"
#include "genie_proximity_build.h"
#include "genie_value_record.h"

#define QUERIES 500
#define NEAREST 10
#define DEGREE 32
#define DIMENSIONS_MAX 128
#define CENTRES 4096

typedef struct Shape
{
	const char *name;
	uint32_t	n_dimensions;
	uint32_t	n_rows;
	void		(*draw) (float *to, uint32_t row, bool is_query);
} Shape;

static uint64_t state = UINT64_C(88172645463325252);
static float centres[CENTRES][DIMENSIONS_MAX];

static uint64_t
draw_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static float
draw_normal(void)
{
	double		u = ((double) (draw_bits() >> 11) + 0.5) * 0x1p-53;
	double		v = (double) (draw_bits() >> 11) * 0x1p-53;

	return (float) (sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

/* ---- shapes ---- */

static void
draw_crowded(float *to, uint32_t row, bool is_query)
{
	const float *centre = centres[draw_bits() % CENTRES];

	(void) row;
	(void) is_query;
	for (uint32_t i = 0; i < 128; i++)
		to[i] = roundf(110 + 63 * centre[i]) + (float) (draw_bits() % 40);
}

static void
draw_tight(float *to, uint32_t row, bool is_query)
{
	const float *centre = centres[is_query ? draw_bits() % 2000 : row / 100 % CENTRES];

	for (uint32_t i = 0; i < 96; i++)
		to[i] = centre[i] * 20 + draw_normal() / 2;
}

static void
draw_equal(float *to, uint32_t row, bool is_query)
{
	const float *centre = centres[draw_bits() % 1000];

	(void) row;
	for (uint32_t i = 0; i < 64; i++)
		to[i] = centre[i] + (is_query ? draw_normal() / 100 : 0);
}

static void
draw_alone(float *to, uint32_t row, bool is_query)
{
	(void) row;
	(void) is_query;
	for (uint32_t i = 0; i < 32; i++)
		to[i] = draw_normal();
}

static void
draw_two(float *to, uint32_t row, bool is_query)
{
	(void) is_query;
	for (uint32_t i = 0; i < 64; i++)
		to[i] = draw_normal() + (row % 2 == 0 ? 0 : 1000);
}

static Shape shapes[] = {
	{"crowded", 128, 300000, draw_crowded},
	{"tight", 96, 200000, draw_tight},
	{"equal", 64, 100000, draw_equal},
	{"normal", 32, 100000, draw_alone},
	{"two", 64, 100000, draw_two}
};

/* ---- threads ---- */

typedef struct Team
{
	uint32_t	n_blocks;
	uint32_t	next;			/* atomic */
	void		(*do_block) (void *work, uint32_t block);
	void	   *work;
} Team;

static void *
help(void *arg)
{
	Team	   *team = arg;

	for (uint32_t i; (i = __atomic_fetch_add(&team->next, 1, __ATOMIC_RELAXED)) < team->n_blocks;)
		team->do_block(team->work, i);
	return NULL;
}

static bool
for_each(void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	Team		team = {n_blocks, 0, do_block, work};
	long		n = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pthread_t	threads[256];

	(void) arg;
	n = n > 256 ? 256 : n;
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, help, &team) != 0)
			abort();
	(void) help(&team);
	for (long i = 0; i < n; i++)
		(void) pthread_join(threads[i], NULL);
	return true;
}

/* ---- true neighbours ---- */

typedef struct Truth
{
	const Shape *shape;
	const float *rows;
	const float *queries;
	float		(*farthest);	/* squares of distances of the NEAREST-th */
} Truth;

static float
square(const float *a, const float *b, uint32_t n)
{
	float		sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sum;
}

static void
find_truth(void *work, uint32_t query)
{
	const Truth *truth = work;
	uint32_t	n = truth->shape->n_dimensions;
	const float *of_query = truth->queries + (size_t) query * n;
	float		best[NEAREST];
	uint32_t	n_best = 0;

	for (uint32_t r = 0; r < truth->shape->n_rows; r++)
	{
		float		s = square(truth->rows + (size_t) r * n, of_query, n);
		uint32_t	at = n_best < NEAREST ? n_best++ : NEAREST - 1;

		if (at == NEAREST - 1 && n_best == NEAREST && r >= NEAREST && s >= best[at])
			continue;
		for (; at > 0 && best[at - 1] > s; at--)
			best[at] = best[at - 1];
		best[at] = s;
	}
	truth->farthest[query] = best[NEAREST - 1];
}

/* ---- a shape ---- */

static void *
take(size_t n_bytes)
{
	void	   *memory;

	if (posix_memalign(&memory, 64, n_bytes + 64) != 0)
		abort();
	return memory;
}

static void
measure(const Shape *shape)
{
	static const uint32_t queues[] = {10, 16, 32, 64, 100, 200, 400};
	static const double wanted[] = {0.9, 0.95, 0.98, 0.99};
	const uint32_t n_queues = sizeof(queues) / sizeof(queues[0]);
	static const GenieProximityWorkers workers = {NULL, for_each};
	const GenieValueShape values = {.metric = GENIE_METRIC_L2, .n_dimensions = shape->n_dimensions};
	size_t		n_bytes = genie_value_record_bytes(values.metric, values.n_dimensions);
	uint32_t	n_tiles = (shape->n_rows + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
	float	   *rows = take((size_t) shape->n_rows * shape->n_dimensions * sizeof(float));
	float	   *queries = take((size_t) QUERIES * shape->n_dimensions * sizeof(float));
	float	   *farthest = take(QUERIES * sizeof(float));
	const void **tiles = take(n_tiles * sizeof(void *));
	uint32_t  **edges = take(n_tiles * sizeof(uint32_t *));
	GenieProximityHead *head = take(genie_proximity_head_bytes());
	GenieValueQuery *query = take(genie_value_query_bytes(values.metric, values.n_dimensions));
	GenieQuantizedVectors vectors;
	GenieProximityGraph graph = {1, shape->n_rows, head, (const uint32_t *const *) edges};
	Truth		truth = {shape, rows, queries, farthest};
	double		started;

	for (uint32_t t = 0; t < n_tiles; t++)
	{
		tiles[t] = take(GENIE_TILE_OBJECTS * n_bytes);
		edges[t] = take((size_t) genie_proximity_in_tile(GENIE_TILE_OBJECTS, GENIE_PROXIMITY_LEVELS_MAX) * DEGREE *
						sizeof(uint32_t));
	}
	for (uint32_t r = 0; r < shape->n_rows; r++)
	{
		float	   *row = rows + (size_t) r * shape->n_dimensions;

		shape->draw(row, r, false);
		genie_value_record(values, (GenieVector) {row, shape->n_dimensions, false},
						   (uint8_t *) tiles[r >> GENIE_TILE_SHIFT] + (r & (GENIE_TILE_OBJECTS - 1)) * n_bytes);
	}
	for (uint32_t q = 0; q < QUERIES; q++)
		shape->draw(queries + (size_t) q * shape->n_dimensions, q, true);
	vectors = genie_vectors(1, values.metric, values.n_dimensions, shape->n_rows, tiles);
	(void) for_each(NULL, QUERIES, find_truth, &truth);
	started = bench_seconds(CLOCK_MONOTONIC);
	if (genie_proximity_build(&vectors, 0, DEGREE, &workers, edges, head) != GENIE_PROXIMITY_BUILT)
		abort();
	printf("\n%s, %u rows of %u dimensions: built in %.2f s\n", shape->name, shape->n_rows, shape->n_dimensions,
		   bench_seconds(CLOCK_MONOTONIC) - started);
	for (uint32_t i = 0; i < n_queues + sizeof(wanted) / sizeof(wanted[0]); i++)
	{
		uint32_t	queue = i < n_queues ? queues[i] :
			genie_proximity_queue(&head->recall, NEAREST, wanted[i - n_queues]);
		uint64_t	n_seen = 0;
		uint32_t	n_found = 0;
		double		seconds = 0;

		for (uint32_t q = 0; q < QUERIES; q++)
		{
			const float *of_query = queries + (size_t) q * shape->n_dimensions;
			GenieHit	hits[GENIE_PROXIMITY_QUEUE_MAX];
			uint64_t	seen;
			uint32_t	n = 0;
			int64_t		n_hits;

			started = bench_seconds(CLOCK_MONOTONIC);
			genie_value_query(values, (GenieVector) {of_query, shape->n_dimensions, false}, query);
			n_hits = genie_proximity_search(&graph, &vectors, query, NULL, queue, 1, queue, hits, &seen);
			seconds += bench_seconds(CLOCK_MONOTONIC) - started;
			n_seen += seen;
			for (int64_t h = 0; h < n_hits; h++)
				n += square(rows + (size_t) hits[h].object * shape->n_dimensions, of_query, shape->n_dimensions) <=
					farthest[q];
			n_found += n < NEAREST ? n : NEAREST;
		}
		if (i >= n_queues)
			printf("%.2f wanted: ", wanted[i - n_queues]);
		printf("queue %4u: recall@10 %.4f, %6.1f us, %5.0f seen\n", queue, n_found / (double) (QUERIES * NEAREST),
			   1e6 * seconds / QUERIES, (double) n_seen / QUERIES);
	}
	for (uint32_t t = 0; t < n_tiles; t++)
	{
		free((void *) tiles[t]);
		free(edges[t]);
	}
	free(rows);
	free(queries);
	free(farthest);
	free(tiles);
	free(edges);
	free(head);
	free(query);
}

int
main(int argc, char **argv)
{
	const uint32_t n_shapes = sizeof(shapes) / sizeof(shapes[0]);

	for (uint32_t c = 0; c < CENTRES; c++)
		for (uint32_t i = 0; i < DIMENSIONS_MAX; i++)
			centres[c][i] = draw_normal();
	for (uint32_t s = 0; s < n_shapes && argc == 1; s++)
		measure(&shapes[s]);
	for (int a = 1; a + 1 < argc; a += 2)
		for (uint32_t s = 0; s < n_shapes; s++)
			if (strcmp(shapes[s].name, argv[a]) == 0)
			{
				shapes[s].n_rows = (uint32_t) strtoul(argv[a + 1], NULL, 10);
				measure(&shapes[s]);
			}
	return 0;
}

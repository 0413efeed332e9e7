/*
 * genie_cpu_costs.c
 *	  What tiles and bit lanes cost on this processor: the constants of the dispatcher (genie_dispatch.h).
 *
 * A small image is made in memory and counted both ways, by one thread and the functions that count every batch.  The
 * constants follow from differences of times: two queries that differ in nothing but their postings give what a posting
 * costs, and so on.  The image has one tile, whose dimensions are of four kinds:
 *
 *		COMMON	of 32 values, each a list of 2,048 objects
 *		DENSE	of 8 values, bitmaps of 8,192 objects
 *		RARE	of 200 values that one object each has; other objects have none
 *		FEW		of one value that 200 objects have
 *
 * Each time is the least of RUNS, because others use the processor too.  No difference is taken to be below a
 * thousandth of a nanosecond: a cost of 0 would make anything look free.
 *
 * For a table that does not fit the nearest cache there is another image: few objects, but LARGE_DIMENSIONS
 * dimensions of LARGE_VALUES values, 1 MB for 512 lanes.
 *
 * All in all 20 ms.  Without memory for it the constants are a guess: those of one processor.
 */
#define _POSIX_C_SOURCE 200112L

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "genie_cpu_batch.h"
#include "genie_cpu_costs.h"

#define RUNS 5
#define K 16

#define COMMON_DIMENSIONS 8
#define COMMON_VALUES 32
#define DENSE_DIMENSIONS 4
#define DENSE_VALUES 8
#define RARE_VALUES 200
#define FEW_OBJECTS 200
#define DIMENSIONS (COMMON_DIMENSIONS + DENSE_DIMENSIONS + 2)
#define DENSE_RANK (COMMON_DIMENSIONS * COMMON_VALUES)
#define RARE_RANK (DENSE_RANK + DENSE_DIMENSIONS * DENSE_VALUES)
#define FEW_RANK (RARE_RANK + RARE_VALUES)

#define LARGE_DIMENSIONS 64
#define LARGE_VALUES 250
#define LARGE_OBJECTS 2048

/* objects that lanes are measured with; and objects with hits, most of which come first, in every HIT_LANES-th lane */
#define LANE_OBJECTS 16384
#define HIT_OBJECTS 8192
#define HIT_LANES 4
#define HIT_K 100

#define LEAST_NS 0.001

/* An image that is being made, of one tile. */
typedef struct MeasureImage
{
	uint32_t	n_objects;
	uint32_t	n_dimensions;
	uint32_t	first_ranks[LARGE_DIMENSIONS + 1];	/* and the number of keywords */
	uint8_t    *values;			/* n_objects a dimension; NO_VALUE: none */
	const GenieImageGroup *groups[1];
	uint64_t   *live;
	uint64_t   *postings_before;
	GenieSegmentImage image;
} MeasureImage;

#define VALUES_MAX 255
#define NO_VALUE VALUES_MAX

static double
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double) now.tv_sec + (double) now.tv_nsec;
}

/* A random number below n, the same each time. */
static uint32_t
draw(uint64_t *state, uint32_t n)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) ((*state >> 32) * n >> 32);
}

/* ---- the images ---- */

static void
free_image(MeasureImage *measure)
{
	free(measure->values);
	free((void *) measure->groups[0]);
	free(measure->live);
	free(measure->postings_before);
}

/*
 * Sorts a dimension's objects by value: value v has those from starts[v] to starts[v + 1] of locals.
 */
static void
sort_objects(const MeasureImage *measure, uint32_t d, uint16_t *locals, uint32_t *starts)
{
	const uint8_t *values = measure->values + (size_t) d * measure->n_objects;
	uint32_t	ends[VALUES_MAX + 1] = {0};

	for (uint32_t i = 0; i < measure->n_objects; i++)
		ends[values[i]]++;
	starts[0] = 0;
	for (uint32_t v = 0; v < VALUES_MAX; v++)
	{
		starts[v + 1] = starts[v] + ends[v];
		ends[v] = starts[v];
	}
	for (uint32_t i = 0; i < measure->n_objects; i++)
		if (values[i] != NO_VALUE)
			locals[ends[values[i]]++] = (uint16_t) i;
}

/* Adds each list to the plan or to the fill, whichever is given. */
static bool
walk_lists(MeasureImage *measure, GenieTilePlan *plan, GenieTileFill *fill, uint16_t *locals)
{
	for (uint32_t d = 0; d < measure->n_dimensions; d++)
	{
		uint32_t	first = measure->first_ranks[d];
		uint32_t	starts[VALUES_MAX + 1];

		sort_objects(measure, d, locals, starts);
		for (uint32_t v = 0; v < measure->first_ranks[d + 1] - first; v++)
		{
			uint32_t	n = starts[v + 1] - starts[v];

			measure->postings_before[first + v + 1] = measure->postings_before[first + v] + n;
			if (n > 0 && plan != NULL)
				genie_tile_plan_add(plan, n);
			else if (n > 0 && !genie_image_add(fill, 0, first + v, locals + starts[v], n))
				return false;
		}
	}
	return true;
}

/* Makes the image of the values. */
static bool
make_image(MeasureImage *measure)
{
	uint32_t	n_keywords = measure->first_ranks[measure->n_dimensions];
	GenieImagePlan plan = {.n_keywords = n_keywords, .n_dimensions = measure->n_dimensions,
		.first_ranks = measure->first_ranks};
	GenieTilePlan tile = {.n_objects = measure->n_objects};
	GenieTileFill fill;
	uint16_t   *locals = malloc(measure->n_objects * sizeof(uint16_t));
	uint64_t	n_bytes;
	void	   *group = NULL;
	bool		made = false;

	measure->live = calloc(GENIE_TILE_WORDS, sizeof(uint64_t));
	measure->postings_before = calloc(n_keywords + 1, sizeof(uint64_t));
	if (locals != NULL && measure->live != NULL && measure->postings_before != NULL)
	{
		for (uint32_t i = 0; i < measure->n_objects; i++)
			measure->live[i / 64] |= UINT64_C(1) << (i % 64);
		walk_lists(measure, &tile, NULL, locals);
		if (genie_image_group_plan(&plan, &tile, 0, 1, &n_bytes) == 1 &&
			posix_memalign(&group, GENIE_IMAGE_ALIGN, n_bytes) == 0)
		{
			measure->groups[0] = group;
			genie_image_group_begin(group, n_bytes, &plan, &tile, 0, 1, &fill);
			made = walk_lists(measure, NULL, &fill, locals) && genie_image_group_finish(&fill, 1);
		}
	}
	free(locals);
	measure->image = (GenieSegmentImage) {.id = 1, .n_objects = measure->n_objects, .n_keywords = n_keywords,
		.n_tiles = 1, .n_groups = 1, .groups = measure->groups, .live = measure->live,
		.postings_before = measure->postings_before};
	return made;
}

/* Adds a dimension of n_values values; every "every"-th object has one of them. */
static void
add_dimension(MeasureImage *measure, uint64_t *state, uint32_t n_values, uint32_t every)
{
	uint32_t	d = measure->n_dimensions++;
	uint8_t    *values = measure->values + (size_t) d * measure->n_objects;

	measure->first_ranks[d + 1] = measure->first_ranks[d] + n_values;
	for (uint32_t i = 0; i < measure->n_objects; i++)
		values[i] = every == 1 ? (uint8_t) draw(state, n_values) :
			i % every == 0 ? (uint8_t) (i / every % n_values) : NO_VALUE;
}

static bool
make_small(MeasureImage *measure)
{
	uint64_t	state = 1;

	measure->n_objects = GENIE_TILE_OBJECTS;
	measure->values = malloc((size_t) DIMENSIONS * measure->n_objects);
	if (measure->values == NULL)
		return false;
	for (uint32_t d = 0; d < COMMON_DIMENSIONS; d++)
		add_dimension(measure, &state, COMMON_VALUES, 1);
	for (uint32_t d = 0; d < DENSE_DIMENSIONS; d++)
		add_dimension(measure, &state, DENSE_VALUES, 1);
	add_dimension(measure, &state, RARE_VALUES, measure->n_objects / RARE_VALUES);
	add_dimension(measure, &state, 1, measure->n_objects / FEW_OBJECTS);
	return make_image(measure);
}

static bool
make_large(MeasureImage *measure)
{
	uint64_t	state = 1;

	measure->n_objects = LARGE_OBJECTS;
	measure->values = malloc((size_t) LARGE_DIMENSIONS * measure->n_objects);
	if (measure->values == NULL)
		return false;
	for (uint32_t d = 0; d < LARGE_DIMENSIONS; d++)
		add_dimension(measure, &state, LARGE_VALUES, 1);
	return make_image(measure);
}

/* ---- tiles ---- */

/*
 * Nanoseconds of a query on the small image by tiles: n ranges of n_values, step ranks from one to the next, and the
 * value that few objects have.  wants: it asks for the best K; else for objects that match all, and there are next to
 * none.
 */
static double
time_tiles(GenieTileScratch *scratch, const GenieCpuPolicy *policy, MeasureImage *measure, uint32_t first,
		   uint32_t n_values, uint32_t step, uint32_t n, bool wants)
{
	GenieCpuPolicy by_tiles = *policy;
	GenieEngine engine = {0};
	GenieRankRange ranges[RARE_VALUES + 1];
	GenieHit	hits[K];
	GenieJob	job = {.kind = GENIE_JOB_TOP, .image = &measure->image, .n_tiles = measure->image.n_tiles, .k = K,
		.min_key = wants ? 1 : n + 1, .out = hits};
	double		least = 0;

	for (uint32_t r = 0; r < n; r++)
		ranges[r] = (GenieRankRange) {first + r * step, first + r * step + n_values};
	ranges[n] = (GenieRankRange) {FEW_RANK, FEW_RANK + 1};
	job.query = (GenieEngineQuery) {.n_ranges = n + 1, .ranges = ranges, .max_count = n + 1};
	by_tiles.choice = GENIE_KERNELS_TILES;
	by_tiles.costs.n_lanes = policy->lanes->n_lanes;
	for (int run = 0; run < RUNS; run++)
	{
		double		start = now_ns();
		double		ns;

		genie_cpu_batch_run(&engine, scratch, NULL, &by_tiles, 1, &job);
		ns = now_ns() - start;
		least = run == 0 || ns < least ? ns : least;
	}
	return least;
}

static double
at_least(double ns)
{
	return ns < LEAST_NS ? LEAST_NS : ns;
}

/* What genie_dispatch_hits expects of the first n objects. */
static double
hits_of(const MeasureImage *measure, uint32_t n_objects, uint32_t k)
{
	GenieSegmentImage image = measure->image;
	GenieJob	job = {.image = &image, .n_tiles = image.n_tiles, .k = k};

	image.n_objects = n_objects;
	return genie_dispatch_hits(&job);
}

static void
measure_tiles(GenieTileScratch *scratch, GenieCpuPolicy *policy, MeasureImage *small)
{
	GenieDispatchCosts *costs = &policy->costs;
	uint32_t	list = GENIE_TILE_OBJECTS / COMMON_VALUES;
	double		narrow = time_tiles(scratch, policy, small, 0, 1, COMMON_VALUES, COMMON_DIMENSIONS, false);
	uint32_t	half = COMMON_VALUES / 2;
	double		wide = time_tiles(scratch, policy, small, 0, half, COMMON_VALUES, COMMON_DIMENSIONS, false);
	double		one_bitmap = time_tiles(scratch, policy, small, DENSE_RANK, 1, DENSE_VALUES, DENSE_DIMENSIONS, false);
	double		all_bitmaps = time_tiles(scratch, policy, small, DENSE_RANK, DENSE_VALUES, DENSE_VALUES,
										 DENSE_DIMENSIONS, false);
	double		rare = time_tiles(scratch, policy, small, RARE_RANK, 1, 1, RARE_VALUES, false);
	double		with_hits = time_tiles(scratch, policy, small, 0, 1, COMMON_VALUES, COMMON_DIMENSIONS, true);
	double		few = time_tiles(scratch, policy, small, 0, 0, 0, 0, true);

	/* where next to none is a hit, and where all are */
	costs->tile_hit_ns = at_least((with_hits - narrow) / hits_of(small, small->n_objects, K));
	costs->posting_ns = at_least((wide - narrow) / (COMMON_DIMENSIONS * (COMMON_VALUES / 2 - 1) * (double) list));
	costs->code_byte_ns = costs->posting_ns / scratch->kernels->code_bytes;
	costs->bitmap_ns = at_least((all_bitmaps - one_bitmap) / (DENSE_DIMENSIONS * (DENSE_VALUES - 1)));
	costs->few_postings = GENIE_FEW_POSTINGS;
	costs->few_ns = at_least(few / FEW_OBJECTS);
	costs->range_ns = at_least((rare - few) / RARE_VALUES - costs->few_ns);
	costs->piece_ns = at_least(narrow - COMMON_DIMENSIONS * (list * costs->posting_ns + costs->range_ns));
}

/* ---- lanes ---- */

/* Nanoseconds that a block of lanes takes to be made, and to count. */
typedef struct LaneTimes
{
	double		open_ns;
	double		search_ns;
} LaneTimes;

/*
 * A block of n queries that ask for dimensions [first, end), on n_objects.  wants: for the best HIT_K; else for more
 * matches than there are.  False: there is no memory.
 */
static bool
time_lanes(const GenieCpuPolicy *policy, MeasureImage *measure, uint32_t n, uint32_t first, uint32_t end,
		   uint32_t n_objects, bool wants, LaneTimes *least)
{
	uint32_t	n_ranges = end - first;
	GenieRankRange *ranges = malloc(n * n_ranges * sizeof(GenieRankRange));
	GenieEngineQuery *queries = malloc(n * sizeof(GenieEngineQuery));
	GenieLaneQuery *lanes = malloc(n * sizeof(GenieLaneQuery));
	GenieTopK  *tops = malloc(n * sizeof(GenieTopK));
	GenieHit   *hits = malloc(n * genie_lanes_capacity(HIT_K) * sizeof(GenieHit));
	uint64_t	state = 1;
	bool		done = ranges != NULL && queries != NULL && lanes != NULL && tops != NULL && hits != NULL;

	for (uint32_t q = 0; q < n && done; q++)
	{
		for (uint32_t d = first; d < end; d++)
		{
			uint32_t	rank = measure->first_ranks[d] +
				draw(&state, measure->first_ranks[d + 1] - measure->first_ranks[d]);

			ranges[q * n_ranges + d - first] = (GenieRankRange) {rank, rank + 1};
		}
		queries[q] = (GenieEngineQuery) {.n_ranges = n_ranges, .ranges = ranges + q * n_ranges, .max_count = n_ranges};
	}
	for (int run = 0; run < RUNS && done; run++)
	{
		double		start = now_ns();
		double		opened;
		double		searched;
		GenieLaneBlock *block;

		for (uint32_t q = 0; q < n; q++)
		{
			genie_topk_init(&tops[q], hits + q * genie_lanes_capacity(HIT_K), HIT_K, wants ? 1 : n_ranges + 1, NULL);
			tops[q].capacity = genie_lanes_capacity(HIT_K);
			lanes[q] = (GenieLaneQuery) {&queries[q], &tops[q], NULL};
		}
		block = genie_lanes_open(policy->lanes, &measure->image, n, lanes);
		done = block != NULL;
		opened = now_ns();
		if (done)
			genie_lanes_search(block, measure->groups[0], 0, measure->live, 0, n_objects);
		searched = now_ns();
		genie_lanes_close(block);
		if (run == 0 || opened - start < least->open_ns)
			least->open_ns = opened - start;
		if (run == 0 || searched - opened < least->search_ns)
			least->search_ns = searched - opened;
	}
	free(ranges);
	free(queries);
	free(lanes);
	free(tops);
	free(hits);
	return done;
}

static double
table_bytes(const GenieCpuPolicy *policy, const MeasureImage *measure)
{
	return (double) measure->image.n_keywords * policy->lanes->n_lanes / 8;
}

static bool
measure_lanes(GenieCpuPolicy *policy, MeasureImage *small, MeasureImage *large)
{
	GenieDispatchCosts *costs = &policy->costs;
	LaneTimes	few;
	LaneTimes	common;
	LaneTimes	many;
	LaneTimes	without_hits;
	LaneTimes	with_hits;
	uint32_t	n = policy->lanes->n_lanes;
	uint32_t	n_hits = n / HIT_LANES;
	uint32_t	n_small = COMMON_DIMENSIONS + DENSE_DIMENSIONS;

	/* the dense dimensions alone take one step of the kernel, of GENIE_LANE_SLOTS rows; with the common ones, two */
	if (!time_lanes(policy, small, n, COMMON_DIMENSIONS, n_small, LANE_OBJECTS, false, &few) ||
		!time_lanes(policy, small, n, 0, n_small, LANE_OBJECTS, false, &common) ||
		!time_lanes(policy, large, n, 0, LARGE_DIMENSIONS, LARGE_OBJECTS, false, &many) ||
		!time_lanes(policy, small, n_hits, 0, n_small, HIT_OBJECTS, false, &without_hits) ||
		!time_lanes(policy, small, n_hits, 0, n_small, HIT_OBJECTS, true, &with_hits))
		return false;
	costs->small_bytes = table_bytes(policy, small);
	costs->small_row_ns = at_least((common.search_ns - few.search_ns) / ((double) LANE_OBJECTS * GENIE_LANE_SLOTS));
	costs->object_ns = at_least(few.search_ns / LANE_OBJECTS - GENIE_LANE_SLOTS * costs->small_row_ns);
	costs->large_bytes = table_bytes(policy, large);
	costs->large_row_ns = at_least((many.search_ns / LARGE_OBJECTS - costs->object_ns) / LARGE_DIMENSIONS);
	costs->keyword_ns = at_least(many.open_ns / large->image.n_keywords);
	costs->lane_hit_ns = at_least((with_hits.search_ns - without_hits.search_ns) /
								  (n_hits * hits_of(small, HIT_OBJECTS, HIT_K)));
	return true;
}

void
genie_cpu_costs_measure(GenieTileScratch *scratch, GenieCpuPolicy *policy)
{
	static const GenieDispatchCosts guess = {
		.posting_ns = 0.4, .code_byte_ns = 0.1, .bitmap_ns = 2000, .piece_ns = 5000, .range_ns = 10,
		.few_postings = GENIE_FEW_POSTINGS, .few_ns = 5,
		.small_bytes = 32768, .small_row_ns = 0.6, .large_bytes = 1048576, .large_row_ns = 1.2,
		.object_ns = 5, .keyword_ns = 30, .tile_hit_ns = 10, .lane_hit_ns = 25
	};
	MeasureImage small = {0};
	MeasureImage large = {0};
	bool		measured = make_small(&small) && make_large(&large);

	if (measured)
	{
		measure_tiles(scratch, policy, &small);
		measured = measure_lanes(policy, &small, &large);
	}
	if (!measured)
		policy->costs = guess;
	policy->costs.n_lanes = policy->lanes->n_lanes;
	free_image(&small);
	free_image(&large);
}

/*
 * test_zones.c
 *	  Conjunctions by zones and codes, against counting plainly (genie_test_jobs.h): tile by tile, and as jobs.
 *
 * Objects lie in order, so that zones are excluded, contained and neither, or in none.
 */
#include <string.h>

#include "genie_engine_cpu.h"
#include "genie_cpu_plan.h"
#include "genie_test.h"
#include "genie_test_jobs.h"
#include "genie_tile_zones.h"

#define DIMENSIONS_MAX 20

/* What the conditions were: so many of each were met. */
static uint32_t n_conjunctions;
static uint32_t n_others;
static uint32_t n_excluded;		/* zones */
static uint32_t n_contained;
static uint32_t n_compared;

typedef struct Shape
{
	uint32_t	n_objects;
	uint32_t	n_dimensions;
	uint32_t	n_values[DIMENSIONS_MAX];
} Shape;

/* Strips of all widths and row lengths; several of one width; last zones and tiles that are not full. */
static const Shape shapes[] = {
	{1, 2, {3, 3}},
	{1000, 3, {15, 300, 4}},
	{1025, 2, {40, 40}},
	{GENIE_TILE_OBJECTS, 3, {100, 20, 400}},
	{GENIE_TILE_OBJECTS + 5000, 5, {60, 60, 60, 60, 2000}},
	{100000, 9, {3, 5, 7, 15, 2, 9, 4, 15, 6}},
	{70000, 20, {3, 5, 7, 15, 2, 9, 4, 15, 6, 3, 3, 8, 2, 2, 2, 2, 2, 40, 70, 300}},
	{90000, 12, {300, 17, 256, 16, 700, 255, 15, 20, 400, 40, 500, 60}}
};

#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void
random_shape(GenieRandom *random, const Shape *shape, GenieModel *model)
{
	genie_model_tuples(model, random, shape->n_objects, shape->n_dimensions, shape->n_values,
					   genie_random_below(random, 2) == 0 ? 0 : 50, genie_random_below(random, 4) > 0);
	for (uint32_t i = 0; i < model->n_objects; i++)
		if (i / 2500 % 3 == 1 && genie_random_below(random, 3) != 0)
			model->live[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/*
 * A range of values of each of some dimensions, most often in one piece, perhaps in two that follow each other, or with
 * a gap; all of a dimension; or a range that goes on in the next one.  Most are conjunctions.
 */
static void
random_condition(GenieRandom *random, const GenieModel *model, GenieCondition *condition)
{
	GenieRankRange *ranges = calloc(2 * DIMENSIONS_MAX, sizeof(GenieRankRange));
	GenieEngineQuery *query = &condition->query;
	uint32_t	most = 1 + (uint32_t) genie_random_below(random, 5);
	uint32_t	n_asked = 0;

	memset(condition, 0, sizeof(GenieCondition));
	query->ranges = ranges;
	for (uint32_t d = (uint32_t) genie_random_below(random, 2); d < model->n_dimensions && n_asked < most;
		 d += 1 + (uint32_t) genie_random_below(random, 3))
	{
		uint32_t	first = model->first_ranks[d];
		uint32_t	end = d + 1 < model->n_dimensions ? model->first_ranks[d + 1] : model->n_keywords;
		uint32_t	low = first + (uint32_t) genie_random_below(random, end - first);
		uint32_t	high = low + 1 + (uint32_t) genie_random_below(random, end - low);
		uint32_t	gap = genie_random_below(random, 12) == 0;

		n_asked++;
		if (genie_random_below(random, 3) == 0)
			low = first, high = end;
		if (high - low > 2 && genie_random_below(random, 4) == 0)
		{
			uint32_t	middle = low + 1 + (uint32_t) genie_random_below(random, high - low - 2);

			ranges[query->n_ranges++] = (GenieRankRange) {low, middle};
			low = middle + gap;
		}
		if (d + 1 < model->n_dimensions && genie_random_below(random, 12) == 0)
			high = model->first_ranks[++d] + 1, n_asked++;
		ranges[query->n_ranges++] = (GenieRankRange) {low, high};
	}
	query->max_count = n_asked == 0 ? 1 : n_asked;
	condition->min_count = query->max_count;
	if (genie_random_below(random, 8) == 0)
		condition->min_count = 1 + (uint32_t) genie_random_below(random, query->max_count + 1);
}

/* ---- tile by tile ---- */

/* Must zones be able to tell?  The query's dimensions, and whether each has its codes in one piece, rank by rank. */
static bool
is_conjunction(const GenieModel *model, const GenieCondition *condition)
{
	const GenieEngineQuery *query = &condition->query;
	uint32_t	n = 0;
	uint32_t	d = 0;
	uint32_t	last = 0;		/* rank, and its dimension + 1 */
	uint32_t	last_dimension = 0;

	for (uint32_t r = 0; r < query->n_ranges; r++)
		for (uint32_t rank = query->ranges[r].first; rank < query->ranges[r].end; rank++)
		{
			while (d + 1 < model->n_dimensions && model->first_ranks[d + 1] <= rank)
				d++;
			if (last_dimension == d + 1 && rank != last + 1)
				return false;
			n += last_dimension != d + 1;
			last_dimension = d + 1;
			last = rank;
		}
	return n > 0 && n == condition->min_count;
}

static bool
check_tile(const GenieTileScratch *scratch, const GenieTile *tile, const GenieModel *model,
		   const GenieCondition *condition)
{
	static uint64_t got[GENIE_TILE_WORDS];
	GenieTileZones zones;
	const uint32_t n_zones = genie_zones(tile->n_objects);
	uint64_t	open = 0;
	uint32_t	n = 0;

	if (!genie_tile_zones(scratch, tile, condition, &zones))
		return !is_conjunction(model, condition);
	if (!is_conjunction(model, condition))
		return false;
	for (uint32_t s = 0; s < zones.n_strips; s++)
		open |= zones.strips[s].zones;
	n_compared += (uint32_t) __builtin_popcountll(open);
	n_contained += (uint32_t) __builtin_popcountll(zones.possible & ~open);
	n_excluded += n_zones - (uint32_t) __builtin_popcountll(zones.possible);
	if ((open & ~zones.possible) != 0 || (zones.possible & ~(UINT64_MAX >> (GENIE_TILE_ZONES - n_zones))) != 0)
		return false;
	memcpy(got, tile->live, sizeof(got));
	n = genie_tile_filter_zones(scratch, tile, &zones, got);
	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
	{
		uint32_t	object = tile->first_object + i;
		bool		wanted_here = i < tile->n_objects && genie_model_is_live(model, object) &&
			counts[object] >= condition->min_count;

		if ((got[i / 64] >> (i % 64) & 1) != wanted_here)
			return false;
		n -= wanted_here;
	}
	return n == 0;
}

static void
test_tiles(GenieRandom *random, const GenieKernels *kernels)
{
	GenieTileScratch *scratch = calloc(1, sizeof(GenieTileScratch));

	scratch->kernels = kernels;
	for (size_t s = 0; s < N_SHAPES; s++)
	{
		GenieModel	model;
		GenieSegmentImage image;

		random_shape(random, &shapes[s], &model);
		genie_model_image(&model, 1, 1, &image);
		CHECK(genie_image_group_valid(image.groups[0]));
		for (int c = 0; c < 40; c++)
		{
			GenieCondition condition;
			bool		conjunction;

			random_condition(random, &model, &condition);
			count_plainly(&model, &condition.query);
			conjunction = is_conjunction(&model, &condition);
			n_conjunctions += conjunction;
			n_others += !conjunction;
			for (uint32_t t = 0; t < image.n_tiles; t++)
			{
				GenieTile	tile = genie_cpu_tile(image.groups[t], t);

				tile.live = model.live + (size_t) t * GENIE_TILE_WORDS;
				if (!CHECK(check_tile(scratch, &tile, &model, &condition)))
					printf("  %s: shape %d, condition %d, tile %u\n", kernels->name, (int) s, c, t);
			}
			free((void *) condition.query.ranges);
		}
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
	free(scratch);
}

/* ---- as jobs ---- */

static void
random_conjunction_job(GenieRandom *random, const GenieModel *model, const GenieSegmentImage *image, GenieJob *job)
{
	GenieCondition *conditions = calloc(CONDITIONS_MAX, sizeof(GenieCondition));

	random_job(random, model, image, job);
	while (!genie_job_has_conditions(job->kind) && job->kind != GENIE_JOB_TALLY)
	{
		free_job(job);
		random_job(random, model, image, job);
	}
	if (job->kind == GENIE_JOB_TALLY)
	{
		free((void *) job->query.ranges);
		random_condition(random, model, &conditions[0]);
		job->query = conditions[0].query;
		job->min_key = conditions[0].min_count;
		free(conditions);
		return;
	}
	for (uint32_t c = 0; c < job->n_conditions; c++)
		free((void *) job->conditions[c].query.ranges);
	free((void *) job->conditions);
	job->conditions = conditions;
	job->n_conditions = 1 + (uint32_t) genie_random_below(random, CONDITIONS_MAX);
	for (uint32_t c = 0; c < job->n_conditions; c++)
		random_condition(random, model, &conditions[c]);
}

static void
test_jobs(GenieRandom *random, GenieEngine *engine)
{
	enum {N_JOBS = 40};

	for (size_t s = 0; s < 2 * N_SHAPES; s++)
	{
		GenieModel	model;
		GenieSegmentImage image;
		GenieJob	jobs[N_JOBS];

		random_shape(random, &shapes[s % N_SHAPES], &model);
		model.form = s < N_SHAPES ? GENIE_IMAGE_FULL : GENIE_IMAGE_CODES;
		genie_model_image(&model, 1 + s, 1 + (uint32_t) genie_random_below(random, 2), &image);
		for (uint32_t j = 0; j < N_JOBS; j++)
			random_conjunction_job(random, &model, &image, &jobs[j]);
		genie_cpu_engine_threads(engine, s % 2 == 0 ? 1 : 3);
		CHECK_INT(engine->ops->run(engine, N_JOBS, jobs), GENIE_OK);
		for (uint32_t j = 0; j < N_JOBS; j++)
		{
			if (!check_job(&model, &jobs[j]))
				printf("  shape %d, job %u of kind %d\n", (int) s, j, (int) jobs[j].kind);
			free_job(&jobs[j]);
		}
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

int
main(void)
{
	GenieRandom random = {1024};

	for (uint32_t i = 0; genie_kernels_nth(i) != NULL; i++)
	{
		void	   *memory = NULL;
		GenieEngine *engine;

		test_tiles(&random, genie_kernels_nth(i));
		if (posix_memalign(&memory, 64, genie_cpu_engine_size()) != 0)
			return 1;
		engine = genie_cpu_engine_open_with(memory, genie_kernels_nth(i));
		genie_cpu_engine_policy(engine)->choice = GENIE_KERNELS_TILES;
		test_jobs(&random, engine);
		engine->ops->close(engine);
		free(memory);
	}
	CHECK(n_conjunctions > 300 && n_others > 50);
	CHECK(n_excluded > 1000 && n_contained > 1000 && n_compared > 1000);
	return genie_test_end();
}

/*
 * test_lanes.c
 *	  Bit lanes against posting lists and against counting plainly, for every instruction set that this processor has;
 *	  and what the dispatcher chooses.
 *
 * Models are random: few dimensions to hundreds, of few values to hundreds, so that codes of all widths occur; with
 * objects that lack values, and dead ones.  Queries ask for single values, ranges, lists of values, runs over the end
 * of a dimension, or nothing.  All run as one batch by lanes and once more by tiles, and must give the same, to
 * the last tie.
 */
#include <string.h>

#include "genie_cpu_batch.h"
#include "genie_engine_cpu.h"
#include "genie_kernels.h"
#include "genie_test.h"
#include "genie_test_image.h"

#define QUERIES_MAX 1100
#define RANGES_MAX 620
#define DIMENSIONS_MAX 300

static uint64_t *lives[2];		/* what TALLY jobs bring that begin with tile 0, and 1 */
static const GenieLaneKernels *kernels[3];
static uint32_t n_kernels;

static GenieJob jobs[QUERIES_MAX];
static GenieRankRange ranges[QUERIES_MAX][RANGES_MAX];

/* What tiles gave. */
static GenieHit *expected[QUERIES_MAX];
static uint32_t n_expected[QUERIES_MAX];

static GenieEngine *
open_engine(void **memory)
{
	if (posix_memalign(memory, 64, genie_cpu_engine_size()) != 0)
		abort();
	return genie_cpu_engine_open(*memory);
}

/* ---- random queries ---- */

/* Ranges of one dimension, ascending. */
static void
ask_dimension(GenieRandom *random, uint32_t first, uint32_t n_values, GenieEngineQuery *query, GenieRankRange *to)
{
	uint32_t	n = 1 + (uint32_t) genie_random_below(random, 2);
	uint32_t	next = first;

	for (uint32_t i = 0; i < n && next < first + n_values; i++)
	{
		uint32_t	left = first + n_values - next;
		uint32_t	start = next + (uint32_t) genie_random_below(random, left);
		uint32_t	length = genie_random_below(random, 2) == 0 ? 1 :
			(uint32_t) genie_random_below(random, first + n_values - start + 1);

		to[query->n_ranges++] = (GenieRankRange) {start, start + length};
		next = start + length + (uint32_t) genie_random_below(random, 2);
	}
}

static void
random_query(GenieRandom *random, const GenieModel *model, uint32_t j)
{
	GenieEngineQuery *query = &jobs[j].query;
	uint32_t	asked_in = 1 + (uint32_t) genie_random_below(random, 3);

	memset(query, 0, sizeof(*query));
	query->ranges = ranges[j];
	query->max_count = model->n_dimensions;
	if (genie_random_below(random, 20) == 0)
		return;
	if (genie_random_below(random, 20) == 0)
	{
		/* one run over dimensions' ends */
		uint32_t	start = (uint32_t) genie_random_below(random, model->n_keywords);

		ranges[j][query->n_ranges++] = (GenieRankRange) {start,
			start + (uint32_t) genie_random_below(random, model->n_keywords - start + 1)};
		return;
	}
	for (uint32_t d = 0; d < model->n_dimensions; d++)
	{
		uint32_t	first = model->first_ranks[d];
		uint32_t	end = d + 1 < model->n_dimensions ? model->first_ranks[d + 1] : model->n_keywords;

		if (genie_random_below(random, asked_in) == 0)
			ask_dimension(random, first, end - first, query, ranges[j]);
	}
}

static void
random_jobs(GenieRandom *random, const GenieModel *model, const GenieSegmentImage *image, uint32_t n)
{
	lives[0] = random_live(random, image, 0, image->n_tiles);
	lives[1] = random_live(random, image, 1, image->n_tiles - 1);
	for (uint32_t j = 0; j < n; j++)
	{
		GenieJob   *job = &jobs[j];

		memset(job, 0, sizeof(GenieJob));
		job->kind = genie_random_below(random, 3) == 0 ? GENIE_JOB_TALLY : GENIE_JOB_TOP;
		job->image = image;
		job->n_tiles = image->n_tiles;
		if (image->n_tiles > 1 && genie_random_below(random, 3) == 0)	/* all but the first tile */
			job->n_tiles -= job->first_tile = 1;
		random_query(random, model, j);
		job->k = genie_random_below(random, 3) == 0 ? 1 + (uint32_t) genie_random_below(random, 3000) :
			1 + (uint32_t) genie_random_below(random, 50);
		job->min_key = genie_random_below(random, 3) > 0 ? 1 :
			1 + (uint32_t) genie_random_below(random, model->n_dimensions + 1);
		job->has_after = job->kind == GENIE_JOB_TOP && genie_random_below(random, 4) == 0;
		job->after.key = 1 + (uint32_t) genie_random_below(random, model->n_dimensions);
		job->after.object = (uint32_t) genie_random_below(random, model->n_objects);
		if (job->kind == GENIE_JOB_TALLY && genie_random_below(random, 2) == 0)
			job->live = lives[job->first_tile];
		job->out = malloc(job->k * sizeof(GenieHit));
		expected[j] = malloc(job->k * sizeof(GenieHit));
	}
}

static void
free_jobs(uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		free(jobs[j].out);
		free(expected[j]);
	}
	free(lives[0]);
	free(lives[1]);
	lives[0] = lives[1] = NULL;
}

/* ---- what must come out ---- */

/* Hits that it has given, not only counted. */
static uint32_t
n_given(const GenieJob *job)
{
	return job->kind == GENIE_JOB_TALLY ? 0 : job->n_hits;
}

/* Is what the job got what counting plainly gives? */
static bool
check_plainly(const GenieModel *model, const GenieJob *job)
{
	uint16_t   *counts = calloc(model->n_objects, sizeof(uint16_t));
	const GenieHit *hits = job->out;
	uint32_t	n = 0;
	bool		same = true;

	for (uint32_t r = 0; r < job->query.n_ranges; r++)
		for (uint32_t rank = job->query.ranges[r].first; rank < job->query.ranges[r].end; rank++)
			for (uint32_t i = 0; i < model->lists[rank].n; i++)
				counts[model->lists[rank].objects[i]]++;
	for (uint32_t i = genie_job_first_object(job);
		 i < genie_job_first_object(job) + genie_job_objects(job) && job->kind == GENIE_JOB_TALLY; i++)
		n += counts[i] >= job->min_key && (job->live == NULL ? genie_model_is_live(model, i) :
										   (genie_job_live(job, i >> GENIE_TILE_SHIFT)[i % GENIE_TILE_OBJECTS / 64]
											>> (i % 64) & 1) != 0);
	for (uint32_t key = model->n_dimensions; key >= job->min_key && job->kind == GENIE_JOB_TOP && n < job->k; key--)
		for (uint32_t i = genie_job_first_object(job);
			 i < genie_job_first_object(job) + genie_job_objects(job) && n < job->k; i++)
		{
			bool		before = job->has_after &&
				(key > job->after.key || (key == job->after.key && i <= job->after.object));

			if (counts[i] != key || !genie_model_is_live(model, i) || before)
				continue;
			same = same && n < job->n_hits && hits[n].key == key && hits[n].object == i;
			n++;
		}
	free(counts);
	return CHECK(same) && CHECK_INT(job->n_hits, n);
}

/* Runs the first n jobs by tiles, and notes what they give. */
static void
expect(GenieEngine *engine, const GenieModel *model, uint32_t n)
{
	engine->ops->set_kernels(engine, GENIE_KERNELS_TILES);
	CHECK_INT(engine->ops->run(engine, n, jobs), GENIE_OK);
	for (uint32_t j = 0; j < n; j++)
	{
		CHECK_INT(jobs[j].status, GENIE_OK);
		n_expected[j] = jobs[j].n_hits;
		memcpy(expected[j], jobs[j].out, n_given(&jobs[j]) * sizeof(GenieHit));
		if (j < 8)
			check_plainly(model, &jobs[j]);
		memset(jobs[j].out, 0xFF, jobs[j].k * sizeof(GenieHit));
	}
}

/* Runs them by lanes; all must give the same. */
static bool
check_lanes(GenieEngine *engine, uint32_t n)
{
	uint64_t	before = engine->choices.n_lanes;
	bool		same = true;

	engine->ops->set_kernels(engine, GENIE_KERNELS_LANES);
	CHECK_INT(engine->ops->run(engine, n, jobs), GENIE_OK);
	CHECK_INT(engine->choices.n_lanes - before, n);
	for (uint32_t j = 0; j < n && same; j++)
	{
		same = CHECK_INT(jobs[j].status, GENIE_OK) && CHECK_INT(jobs[j].n_hits, n_expected[j]) &&
			CHECK(memcmp(jobs[j].out, expected[j], n_given(&jobs[j]) * sizeof(GenieHit)) == 0);
		memset(jobs[j].out, 0xFF, jobs[j].k * sizeof(GenieHit));
	}
	return same;
}

/* All instruction sets, with one thread and with several, of small tasks. */
static bool
check_all_lanes(GenieEngine *engine, const GenieModel *model, uint32_t n)
{
	GenieCpuPolicy *policy = genie_cpu_engine_policy(engine);
	bool		same = true;

	expect(engine, model, n);
	for (uint32_t i = 0; i < n_kernels && same; i++)
	{
		policy->lanes = kernels[i];
		policy->costs.n_lanes = kernels[i]->n_lanes;
		genie_cpu_engine_threads(engine, 1);
		same = check_lanes(engine, n);
		genie_cpu_engine_threads(engine, 3);
		policy->task_cost = 1;
		same = check_lanes(engine, n) && same;
	}
	genie_cpu_engine_threads(engine, 1);
	return same;
}

/* ---- random models ---- */

typedef struct Shape
{
	uint32_t	n_objects;
	uint32_t	n_dimensions;
	uint32_t	widest;			/* values of a dimension */
	uint32_t	n_queries;
} Shape;

static void
test_shape(GenieEngine *engine, GenieRandom *random, const Shape *shape)
{
	GenieModel	model;
	GenieSegmentImage image;
	uint32_t	n_values[DIMENSIONS_MAX];
	uint32_t	dead_in = (uint32_t) genie_random_below(random, 4);

	for (uint32_t d = 0; d < shape->n_dimensions; d++)
		n_values[d] = 1 + (uint32_t) genie_random_below(random, genie_random_below(random, 2) == 0 ? shape->widest :
														shape->widest < 16 ? shape->widest : 16);
	genie_model_tuples(&model, random, shape->n_objects, shape->n_dimensions, n_values,
					   (uint32_t) genie_random_below(random, 4), false);
	for (uint32_t i = 0; i < model.n_objects && dead_in > 0; i++)
		if (genie_random_below(random, dead_in) == 0)
			model.live[i / 64] &= ~(UINT64_C(1) << (i % 64));
	model.form = genie_random_below(random, 2) == 0 ? GENIE_IMAGE_FULL : GENIE_IMAGE_CODES;
	genie_model_image(&model, 7, 1 + (uint32_t) genie_random_below(random, 2), &image);
	if (CHECK(genie_image_has_codes(&image)))
	{
		random_jobs(random, &model, &image, shape->n_queries);
		if (!check_all_lanes(engine, &model, shape->n_queries))
			printf("  %u objects, %u dimensions of up to %u values, %u queries\n", shape->n_objects,
				   shape->n_dimensions, shape->widest, shape->n_queries);
		free_jobs(shape->n_queries);
	}
	genie_model_free_image(&image);
	genie_model_end(&model);
}

static void
test_random(GenieEngine *engine)
{
	static const Shape shapes[] = {
		{1, 2, 3, 5}, {15, 3, 15, 40}, {64, 2, 300, 100}, {1000, 14, 80, 129}, {3000, 9, 400, 300},
		{5000, 17, 16, 1100}, {2000, 33, 20, 600}, {600, 120, 70, 257}, {300, 300, 100, 513},
		{70000, 4, 12, 520}, {140000, 3, 20, 64}, {140000, 14, 5, 33}, {1500, 40, 260, 64},
	};
	GenieRandom random = {17};

	for (int round = 0; round < 2; round++)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
			test_shape(engine, &random, &shapes[s]);
}

/* ---- ties ---- */

/* All objects are the same: the pages of a query are the objects in order. */
static void
test_ties(GenieEngine *engine)
{
	static const uint32_t n_values[] = {1, 1, 1};
	GenieRandom random = {5};
	GenieModel	model;
	GenieSegmentImage image;
	uint32_t	n = 70000;
	uint32_t	seen = 0;

	genie_model_tuples(&model, &random, n, 3, n_values, 0, false);
	genie_model_image(&model, 8, UINT32_MAX, &image);
	memset(jobs, 0, sizeof(GenieJob));
	jobs[0].kind = GENIE_JOB_TOP;
	jobs[0].image = &image;
	jobs[0].n_tiles = image.n_tiles;
	jobs[0].query = (GenieEngineQuery) {.n_ranges = 1, .ranges = ranges[0], .max_count = 3};
	ranges[0][0] = (GenieRankRange) {0, 3};
	jobs[0].k = 9973;
	jobs[0].min_key = 1;
	jobs[0].out = malloc(jobs[0].k * sizeof(GenieHit));
	engine->ops->set_kernels(engine, GENIE_KERNELS_LANES);
	genie_cpu_engine_threads(engine, 2);
	do
	{
		const GenieHit *hits = jobs[0].out;

		engine->ops->run(engine, 1, jobs);
		CHECK_INT(jobs[0].status, GENIE_OK);
		for (uint32_t i = 0; i < jobs[0].n_hits; i++, seen++)
			if (hits[i].key != 3 || hits[i].object != seen)
				CHECK_INT(hits[i].object, seen);
		jobs[0].has_after = true;
		if (jobs[0].n_hits > 0)
			jobs[0].after = hits[jobs[0].n_hits - 1];
	} while (jobs[0].n_hits > 0 && seen <= n);
	CHECK_INT(seen, n);
	genie_cpu_engine_threads(engine, 1);
	free(jobs[0].out);
	genie_model_free_image(&image);
	genie_model_end(&model);
}

/* ---- jobs that lanes do not do, malformed ones, interrupts ---- */

static bool
is_interrupted(void)
{
	return true;
}

/* A batch of which some jobs cannot go by lanes: each is done, and those that can go by lanes do. */
static void
test_mixed(GenieEngine *engine)
{
	static const uint32_t n_values[] = {5, 20, 3};
	static const uint16_t class_of_size[] = {0, 0, 0, 0};
	static const uint32_t keys[] = {0, 1, 2, 3};
	GenieKeyTable table = {.n_sizes = 4, .class_of_size = class_of_size, .n_classes = 1, .stride = 4, .keys = keys};
	GenieRandom random = {6};
	GenieModel	model;
	GenieSegmentImage image;
	GenieCondition condition = {.min_count = 1};
	uint64_t	n_lanes = engine->choices.n_lanes;
	uint64_t	n_tiles = engine->choices.n_tiles;
	uint8_t    *counts = malloc(GENIE_TILE_OBJECTS);

	genie_model_tuples(&model, &random, 5000, 3, n_values, 5, false);
	genie_model_image(&model, 9, UINT32_MAX, &image);
	random_jobs(&random, &model, &image, 5);
	for (uint32_t j = 0; j < 5; j++)
	{
		jobs[j].kind = j < 4 ? GENIE_JOB_TOP : GENIE_JOB_TALLY;
		ranges[j][0] = (GenieRankRange) {0, 20};
		jobs[j].query = (GenieEngineQuery) {.n_ranges = 1, .ranges = ranges[j], .max_count = 3};
		jobs[j].has_after = false;
		jobs[j].live = NULL;
		jobs[j].min_key = 1;
	}
	condition.query = jobs[0].query;
	jobs[0].n_conditions = 1;
	jobs[0].conditions = &condition;
	jobs[1].query.keys = &table;
	free(jobs[2].out);
	jobs[2].kind = GENIE_JOB_COUNTS;
	jobs[2].n_tiles = 1;
	jobs[2].out = counts;
	jobs[3].query.max_count = 1;	/* objects match two: malformed */
	engine->ops->set_kernels(engine, GENIE_KERNELS_LANES);
	engine->ops->run(engine, 5, jobs);
	CHECK_INT(engine->choices.n_lanes - n_lanes, 2);
	CHECK_INT(engine->choices.n_tiles - n_tiles, 2);
	CHECK(jobs[0].status == GENIE_OK && jobs[1].status == GENIE_OK && jobs[2].status == GENIE_OK);
	CHECK_INT(jobs[3].status, GENIE_STATUS_CORRUPT);
	CHECK_INT(jobs[4].status, GENIE_OK);
	check_plainly(&model, &jobs[0]);
	check_plainly(&model, &jobs[1]);
	check_plainly(&model, &jobs[4]);

	engine->interrupted = is_interrupted;
	engine->ops->run(engine, 5, jobs);
	engine->interrupted = NULL;
	for (uint32_t j = 0; j < 5; j++)
		CHECK_INT(jobs[j].status, GENIE_STATUS_CANCELLED);
	free_jobs(5);
	genie_model_free_image(&image);
	genie_model_end(&model);
}

/* ---- the dispatcher ---- */

static const GenieDispatchCosts costs = {
	.posting_ns = 0.5, .bitmap_ns = 2000, .piece_ns = 5000, .range_ns = 10, .few_postings = 384, .few_ns = 10,
	.n_lanes = 512, .small_bytes = 32768, .small_row_ns = 0.5, .large_bytes = 1048576, .large_row_ns = 1,
	.object_ns = 4, .keyword_ns = 20, .tile_hit_ns = 3, .lane_hit_ns = 20
};

/* Chooses for n queries that ask for a run of width ranks in each dimension; returns how many go by lanes. */
static uint32_t
choose(const GenieModel *model, const GenieSegmentImage *image, GenieKernelChoice setting, uint32_t n, uint32_t width)
{
	GenieDispatchQuery queries[QUERIES_MAX];
	GenieDispatchCosts sampling = costs;
	GenieDispatchChoice choice;
	GenieDispatchChoice sampled;
	GenieJob	job = {.image = image, .n_tiles = image->n_tiles, .k = 10,
		.query = {.n_ranges = model->n_dimensions, .ranges = ranges[0],
		.max_count = model->n_dimensions}};
	char		text[GENIE_ENGINE_REASON_MAX];

	for (uint32_t d = 0; d < model->n_dimensions; d++)
		ranges[0][d] = (GenieRankRange) {model->first_ranks[d], model->first_ranks[d] + width};
	for (uint32_t q = 0; q < n; q++)
		queries[q] = (GenieDispatchQuery) {.job = &job, .number = q};
	choice = genie_dispatch_choose(&costs, setting, n, queries);
	genie_dispatch_explain(&choice, setting, "bit lanes", text);
	CHECK_INT(choice.n_postings, n * queries[0].n_postings);
	CHECK((strstr(text, choice.n_lanes == n ? ": bit lanes" : choice.n_lanes == 0 ? ": tiles" : "tiles for") != NULL));
	CHECK((strstr(text, "(as set)") != NULL) == (setting != GENIE_KERNELS_AUTO));

	/* a sample of queries that are alike tells the same */
	sampling.samples = true;
	for (uint32_t q = 0; q < n; q++)
		queries[q] = (GenieDispatchQuery) {.job = &job, .number = q};
	sampled = genie_dispatch_choose(&sampling, setting, n, queries);
	CHECK_INT(sampled.n_lanes, choice.n_lanes);
	CHECK(llabs((long long) (sampled.n_postings - choice.n_postings)) <= 1);
	for (uint32_t q = 0; q < n; q++)
		CHECK_INT(queries[q].number, q);
	return choice.n_lanes;
}

/* Hits: as many as objects at least where those are few, and more with k, with objects and with parts. */
static void
test_hits(const GenieSegmentImage *image)
{
	GenieSegmentImage grown = *image;
	GenieDispatchCosts parted = costs;
	GenieJob	job = {.image = &grown, .n_tiles = UINT16_MAX};
	double		before = 0;

	for (job.k = 1; job.k <= 100000; job.k *= 3)
	{
		CHECK(genie_dispatch_hits(&job) >= before && genie_dispatch_hits(&job) <= grown.n_objects);
		before = genie_dispatch_hits(&job);
	}
	before = 0;
	job.k = 100;
	for (grown.n_objects = 1; grown.n_objects < 1000000; grown.n_objects += 1 + grown.n_objects / 7)
	{
		double		hits = genie_dispatch_hits(&job);

		CHECK(hits >= before && (grown.n_objects > 100 || hits == grown.n_objects));
		before = hits;
	}
	before = 0;
	for (parted.n_parts = 1; parted.n_parts < 64; parted.n_parts++)
	{
		double		ns = genie_dispatch_lane_ns(&parted, &job) +
			genie_dispatch_block_ns(&parted, image, image->n_objects);

		CHECK(ns > before);
		before = ns;
	}
}

/* Codes alone: a query costs its dimensions' strips, once for each range of a dimension, or all strips once. */
static void
test_codes_cost(void)
{
	uint32_t	n_values[17];
	GenieDispatchCosts of_codes = costs;
	GenieRandom random = {8};
	GenieModel	model;
	GenieSegmentImage image;
	GenieEngineQuery query = {.ranges = ranges[0], .max_count = 17};
	double		one;
	double		all;

	for (uint32_t d = 0; d < 17; d++)
		n_values[d] = 100;
	genie_model_tuples(&model, &random, 70000, 17, n_values, 0, false);
	model.form = GENIE_IMAGE_CODES;
	genie_model_image(&model, 10, UINT32_MAX, &image);
	CHECK_INT(image.groups[0]->n_strips, 2);
	of_codes.code_byte_ns = 0.1;

	/* one range in the first dimension, fifty there, one in each dimension */
	for (uint32_t r = 0; r < 50; r++)
		ranges[0][r] = (GenieRankRange) {model.first_ranks[0] + 2 * r, model.first_ranks[0] + 2 * r + 1};
	query.n_ranges = 1;
	one = genie_dispatch_codes_ns(&of_codes, &image, &query, 1000);
	query.n_ranges = 50;
	CHECK(genie_dispatch_codes_ns(&of_codes, &image, &query, 1000) > 30 * one);
	for (uint32_t d = 0; d < 17; d++)
		ranges[0][d] = (GenieRankRange) {model.first_ranks[d] + 1, model.first_ranks[d] + 2};
	query.n_ranges = 17;
	all = genie_dispatch_codes_ns(&of_codes, &image, &query, 1000);
	CHECK(all > one && all < 3 * one);
	of_codes.codes_whole = true;
	CHECK(genie_dispatch_codes_ns(&of_codes, &image, &query, 1000) == all);
	query.n_ranges = 1;
	CHECK(genie_dispatch_codes_ns(&of_codes, &image, &query, 1000) == all);
	genie_model_free_image(&image);
	genie_model_end(&model);
}

static void
test_dispatch(void)
{
	static const uint32_t n_values[] = {20, 20, 20, 20, 20, 20, 20, 20};
	GenieRandom random = {7};
	GenieModel	model;
	GenieSegmentImage image;
	GenieDispatchQuery queries[QUERIES_MAX];
	GenieDispatchChoice choice;
	GenieJob	two[2] = {{0}};
	uint32_t	before = 0;

	genie_model_tuples(&model, &random, 100000, 8, n_values, 0, false);
	genie_model_image(&model, 10, UINT32_MAX, &image);

	CHECK_INT(choose(&model, &image, GENIE_KERNELS_AUTO, 1, 1), 0);
	CHECK_INT(choose(&model, &image, GENIE_KERNELS_AUTO, 512, 10), 512);
	CHECK_INT(choose(&model, &image, GENIE_KERNELS_TILES, 512, 10), 0);
	CHECK_INT(choose(&model, &image, GENIE_KERNELS_LANES, 1, 1), 1);

	/* with more queries of a block, or wider ones, lanes never become tiles again */
	for (uint32_t n = 1; n <= 512; n++)
	{
		uint32_t	n_lanes = choose(&model, &image, GENIE_KERNELS_AUTO, n, 3);

		CHECK(n_lanes >= before && (n_lanes == 0 || n_lanes == n));
		before = n_lanes;
	}
	before = 0;
	for (uint32_t width = 0; width <= 20; width++)
	{
		uint32_t	n_lanes = choose(&model, &image, GENIE_KERNELS_AUTO, 64, width);

		CHECK(n_lanes >= before);
		before = n_lanes;
	}

	/* among many queries that cost next to nothing, a block of dear ones goes by lanes, whichever they are */
	ranges[0][0] = (GenieRankRange) {0, model.n_keywords};
	ranges[1][0] = (GenieRankRange) {0, 0};
	for (uint32_t q = 0; q < 2; q++)
		two[q] = (GenieJob) {.image = &image, .n_tiles = image.n_tiles, .k = 10,
		.query = {.n_ranges = 1, .ranges = ranges[q], .max_count = 8}};
	for (uint32_t q = 0; q < 1000; q++)
		queries[q] = (GenieDispatchQuery) {.job = &two[q % 2], .number = q};
	choice = genie_dispatch_choose(&costs, GENIE_KERNELS_AUTO, 1000, queries);
	CHECK_INT(choice.n_lanes, 512);
	for (uint32_t q = 0; q < 500; q++)
		CHECK_INT(queries[q].number % 2, 0);
	CHECK(choice.ns < choice.all_tiles_ns && choice.ns < choice.all_lanes_ns);
	test_hits(&image);
	test_codes_cost();
	genie_model_free_image(&image);
	genie_model_end(&model);
}

/* What is measured is something. */
static void
test_measure(GenieEngine *engine)
{
	const GenieDispatchCosts *measured = &genie_cpu_engine_policy(engine)->costs;

	CHECK(engine->choices.constants[0] == '\0');
	genie_cpu_engine_measure(engine);
	CHECK_INT(measured->n_lanes, genie_cpu_engine_policy(engine)->lanes->n_lanes);
	CHECK(measured->posting_ns > 0 && measured->bitmap_ns > 0 && measured->piece_ns > 0 && measured->range_ns > 0);
	CHECK(measured->few_ns > 0 && measured->small_row_ns > 0 && measured->large_row_ns > 0);
	CHECK(measured->tile_hit_ns > 0 && measured->lane_hit_ns > 0);
	CHECK(measured->object_ns > 0 && measured->keyword_ns > 0 && measured->large_bytes > measured->small_bytes);
	CHECK(strstr(engine->choices.constants, "posting") != NULL);
}

int
main(void)
{
	const GenieLaneKernels *best = genie_lanes_choose();
	void	   *memory;
	GenieEngine *engine = open_engine(&memory);

	kernels[n_kernels++] = &genie_lanes_portable;
#if defined(__x86_64__)
	if (best->n_lanes >= genie_lanes_avx2.n_lanes)
		kernels[n_kernels++] = &genie_lanes_avx2;
	if (best->n_lanes >= genie_lanes_avx512.n_lanes)
		kernels[n_kernels++] = &genie_lanes_avx512;
#endif
	test_dispatch();
	test_measure(engine);
	test_random(engine);
	test_ties(engine);
	test_mixed(engine);
	engine->ops->close(engine);
	free(memory);
	return genie_test_end();
}

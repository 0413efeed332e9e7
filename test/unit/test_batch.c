/*
 * test_batch.c
 *	  Batches of jobs over images in the CPU engine, against counting and sorting plainly.
 *
 * What a job must give: genie_test_jobs.h.
 *
 * All tests run with one thread and with several, and with another number of threads for each batch.  Tasks are
 * as small as can be with several threads, or as they are in earnest, in turns: both cut jobs into parts.
 */
#include <string.h>

#include "genie_cpu_batch.h"
#include "genie_engine_cpu.h"
#include "genie_kernels.h"
#include "genie_test.h"
#include "genie_test_jobs.h"

/* How batches are done: by this many threads, or CHANGING ones. */
#define CHANGING 0
#define THREADS_MAX 8

static uint32_t n_threads;
static uint32_t n_runs;

static void
run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	uint32_t	n = n_threads == CHANGING ? 1 + n_runs * 5 % THREADS_MAX : n_threads;

	CHECK_INT(genie_cpu_engine_threads(engine, n), n);
	genie_cpu_engine_policy(engine)->task_cost = n_runs++ % 2 == 0 ? 1 : GENIE_CPU_TASK_COST;
	CHECK_INT(engine->ops->run(engine, n_jobs, jobs), GENIE_OK);
}

/* ---- tests ---- */

/* Jobs of all kinds over several images in one batch. */
static void
test_random(GenieEngine *engine, GenieRandom *random)
{
	enum {N_IMAGES = 3, N_JOBS = 24};
	GenieModel	models[N_IMAGES];
	GenieSegmentImage images[N_IMAGES];
	GenieJob	jobs[N_JOBS];
	uint32_t	of[N_JOBS];

	for (int round = 0; round < 12; round++)
	{
		uint32_t	n_jobs = 1 + (uint32_t) genie_random_below(random, N_JOBS);

		for (uint32_t m = 0; m < N_IMAGES; m++)
		{
			random_model(random, &models[m]);
			genie_model_image(&models[m], 100 - m, 1 + (uint32_t) genie_random_below(random, 4), &images[m]);
		}
		for (uint32_t j = 0; j < n_jobs; j++)
		{
			of[j] = (uint32_t) genie_random_below(random, N_IMAGES);
			random_job(random, &models[of[j]], &images[of[j]], &jobs[j]);
		}
		run(engine, n_jobs, jobs);
		CHECK_INT(strlen(engine->error), 0);
		for (uint32_t j = 0; j < n_jobs; j++)
		{
			if (!check_job(&models[of[j]], &jobs[j]))
				printf("in round %d, job %u of kind %d\n", round, j, (int) jobs[j].kind);
			free_job(&jobs[j]);
		}
		for (uint32_t m = 0; m < N_IMAGES; m++)
		{
			genie_model_free_image(&images[m]);
			genie_model_end(&models[m]);
		}
	}
}

/* Lists so short that a tile is counted without looking at all its counters, in conditions too. */
static void
test_few(GenieEngine *engine, GenieRandom *random)
{
	for (int round = 0; round < 20; round++)
	{
		GenieModel	model;
		GenieSegmentImage image;
		GenieJob	jobs[6];

		genie_model_begin(&model, 1 + (uint32_t) genie_random_below(random, 2 * GENIE_TILE_OBJECTS), 10);
		for (uint32_t rank = 0; rank < model.n_keywords; rank++)
		{
			uint32_t	n = 0;

			/* most lists have the same objects */
			for (uint64_t i = round; i < model.n_objects; i += 3000)
				if (genie_random_below(random, 4) > 0)
					objects[n++] = (uint32_t) i;
			genie_model_list(&model, rank, objects, n);
		}
		for (uint32_t i = 0; i < model.n_objects; i++)
			if (genie_random_below(random, 4) == 0)
				model.live[i / 64] &= ~(UINT64_C(1) << (i % 64));
		genie_model_image(&model, 1, 1, &image);
		for (int j = 0; j < 6; j++)
			random_job(random, &model, &image, &jobs[j]);
		run(engine, 6, jobs);
		for (int j = 0; j < 6; j++)
		{
			CHECK(check_job(&model, &jobs[j]));
			free_job(&jobs[j]);
		}
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

/* All pages of a job, each after the last hit of the one before, give every object once. */
static void
check_pages(GenieEngine *engine, const GenieModel *model, GenieJob *job)
{
	GenieHit   *pages = malloc(model->n_objects * sizeof(GenieHit));
	uint32_t	n = 0;

	do
	{
		run(engine, 1, job);
		if (!CHECK_INT(job->status, GENIE_OK) || !CHECK(n + job->n_hits <= model->n_objects))
			break;
		memcpy(pages + n, job->out, job->n_hits * sizeof(GenieHit));
		n += job->n_hits;
		job->has_after = true;
		if (n > 0)
			job->after = pages[n - 1];
	} while (job->n_hits == job->k);
	if (CHECK_INT(n, rank_plainly(model, job)))
		CHECK(memcmp(pages, wanted, n * sizeof(GenieHit)) == 0);
	free(pages);
}

static void
test_pages(GenieEngine *engine, GenieRandom *random)
{
	for (int round = 0; round < 6; round++)
	{
		GenieModel	model;
		GenieSegmentImage image;
		GenieJob	job = {.kind = GENIE_JOB_TOP, .image = &image, .min_key = 1};

		random_model(random, &model);
		genie_model_image(&model, 1, 2, &image);
		job.n_tiles = image.n_tiles;
		random_query(random, &model, &job.query);
		if (round % 2 == 1)
			job.query.keys = random_keys(random, &model, job.query.max_count);
		random_conditions(random, &model, &job);
		job.k = model.n_objects / 7 + 1;
		if (round == 0)
			job.k = model.n_objects < GENIE_JOB_K_MAX ? model.n_objects : GENIE_JOB_K_MAX;
		take_out(&job);
		check_pages(engine, &model, &job);
		free_job(&job);
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

/* Queries of which the segment has no keyword: only sizes rank, and only where there are keys. */
static void
test_no_ranges(GenieEngine *engine, GenieRandom *random)
{
	for (int round = 0; round < 6; round++)
	{
		GenieModel	model;
		GenieSegmentImage image;
		GenieJob	job = {.kind = GENIE_JOB_TOP, .image = &image, .min_key = 1, .k = 3000};

		random_model(random, &model);
		genie_model_image(&model, 1, 2, &image);
		job.n_tiles = image.n_tiles;
		job.query.max_count = round % 3 == 0 ? 300 : 1;
		if (round > 0)
			job.query.keys = random_keys(random, &model, job.query.max_count);
		random_conditions(random, &model, &job);
		take_out(&job);
		run(engine, 1, &job);
		CHECK(check_job(&model, &job));
		if (round == 0)
			CHECK_INT(job.n_hits, 0);
		free_job(&job);
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

/*
 * Counts around the widths of counters and of a batch of bitmaps; all objects tie, but for some that one list
 * does not have.  dense: bitmaps, else lists.
 */
static void
check_width(GenieEngine *engine, uint32_t n_lists, bool dense)
{
	GenieRankRange range = {0, n_lists};
	GenieModel	model;
	GenieSegmentImage image;
	GenieJob	jobs[2] = {{.kind = GENIE_JOB_TOP, .n_tiles = 1, .k = 50, .min_key = 1},
	{.kind = GENIE_JOB_COUNTS, .n_tiles = 1}};

	genie_model_begin(&model, 3000, n_lists);
	for (uint32_t l = 0; l < n_lists; l++)
	{
		uint32_t	n = 0;

		for (uint32_t i = dense ? 0 : 600; i < 3000; i++)
			if (l > 0 || i % 11 != 3)
				objects[n++] = i;
		genie_model_list(&model, l, objects, n);
	}
	genie_model_image(&model, 1, 1, &image);
	for (int j = 0; j < 2; j++)
	{
		jobs[j].image = &image;
		jobs[j].query.n_ranges = 1;
		jobs[j].query.ranges = &range;
		jobs[j].query.max_count = n_lists;
		take_out(&jobs[j]);
	}
	run(engine, 2, jobs);
	for (int j = 0; j < 2; j++)
	{
		CHECK(check_job(&model, &jobs[j]));
		free(jobs[j].out);
	}
	genie_model_free_image(&image);
	genie_model_end(&model);
}

static void
test_widths(GenieEngine *engine)
{
	static const uint32_t ns[] = {1, 2, 15, 16, 17, 62, 63, 64, 65, 126, 127, 254, 255, 256, 257, 700};

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
	{
		check_width(engine, ns[i], true);
		check_width(engine, ns[i], false);
	}
}

/* More ranges than are found in one round, few postings in all. */
static void
test_many_ranges(GenieEngine *engine, GenieRandom *random)
{
	static GenieRankRange ranges[3000];
	GenieModel	model;
	GenieSegmentImage image;
	GenieJob	job = {.kind = GENIE_JOB_TOP, .k = 1000, .min_key = 1};

	genie_model_begin(&model, GENIE_TILE_OBJECTS + 500, 9000);
	for (uint32_t r = 0; r < 3000; r++)
	{
		objects[0] = (uint32_t) genie_random_below(random, 30000);
		objects[1] = 30000 + (uint32_t) genie_random_below(random, 3);
		objects[2] = GENIE_TILE_OBJECTS + (uint32_t) genie_random_below(random, 500);
		genie_model_list(&model, 3 * r + (uint32_t) genie_random_below(random, 3), objects, 3);
		ranges[r].first = 3 * r + r % 2;
		ranges[r].end = 3 * r + 2;
	}
	genie_model_image(&model, 1, 1, &image);
	job.image = &image;
	job.n_tiles = image.n_tiles;
	job.query = (GenieEngineQuery) {.n_ranges = 3000, .ranges = ranges};
	job.query.max_count = count_plainly(&model, &job.query);
	CHECK(job.query.max_count > GENIE_COUNT_NARROW);
	take_out(&job);
	run(engine, 1, &job);
	CHECK(check_job(&model, &job));
	free(job.out);
	genie_model_free_image(&image);
	genie_model_end(&model);
}

/*
 * A job in two parts of two tiles each, where the second part finds its k while the first one still counts much in its
 * first tile: the objects of the same key in the tile after that rank before them nevertheless.
 */
static void
test_ties(GenieEngine *engine)
{
	enum {HEAVY_LISTS = 400, KEY = 30, EVERY = 24, N_HEAVY = 2700};
	GenieRankRange range = {0, HEAVY_LISTS + KEY};
	GenieModel	model;
	GenieSegmentImage image;
	GenieQuantizedVectors vectors = {.n_objects = 9};	/* which the engine leaves alone */
	GenieJob	job = {.kind = GENIE_JOB_TOP, .image = &image, .k = 100, .min_key = 1, .vectors = &vectors};

	genie_model_begin(&model, OBJECTS_MAX, HEAVY_LISTS + KEY);
	for (uint32_t l = 0; l < HEAVY_LISTS; l++)
	{
		for (uint32_t i = 0; i < N_HEAVY; i++)
			objects[i] = i * EVERY + l % EVERY;
		genie_model_list(&model, l, objects, N_HEAVY);
	}
	for (uint32_t i = 0; i < 305; i++)
		objects[i] = i < 5 ? GENIE_TILE_OBJECTS + 7 * i : 2 * GENIE_TILE_OBJECTS + i;
	for (uint32_t l = 0; l < KEY; l++)
		genie_model_list(&model, HEAVY_LISTS + l, objects, 305);
	genie_model_image(&model, 1, 2, &image);
	job.n_tiles = image.n_tiles;
	job.query = (GenieEngineQuery) {.n_ranges = 1, .ranges = &range, .max_count = KEY};
	take_out(&job);
	job.has_bounds = true;
	genie_cpu_engine_threads(engine, n_threads == 1 ? 1 : 2);
	genie_cpu_engine_policy(engine)->task_cost = HEAVY_LISTS * N_HEAVY / 2;
	for (int round = 0; round < 10; round++)
		CHECK(engine->ops->run(engine, 1, &job) == GENIE_OK && check_job(&model, &job));
	free(job.out);
	genie_model_free_image(&image);
	genie_model_end(&model);
}

#define SPOILT_SIZE 10			/* objects of the job to be spoilt have so many keywords, and up to 10 more */
#define SPOILT_KEYS 14			/* the first fault that is one of a key table */
#define N_FAULTS 19

/* The job's key table does not cover the image's sizes, or its classes have no rows, or not long enough ones. */
static void
spoil_keys(GenieJob *job, int fault)
{
	static const uint16_t class_of_size[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
	static const uint32_t keys[] = {1, 1, 1, 1, 1, 1, 1, 1};
	static const GenieKeyTable tables[] = {
		{SPOILT_SIZE + 1, 11, class_of_size, 2, 4, keys},
		{SPOILT_SIZE, 10, class_of_size, 2, 4, keys},
		{SPOILT_SIZE - 1, 11, class_of_size, 2, 4, keys},
		{SPOILT_SIZE, 11, class_of_size, 1, 4, keys},
		{SPOILT_SIZE, 11, class_of_size, 2, 3, keys},
	};

	job->query.keys = &tables[fault];
}

/* Makes one thing wrong with a job of three keywords that have up to three matches an object, in one tile. */
static void
spoil(GenieJob *job, int fault)
{
	static const GenieRankRange past[] = {{1, 4}};
	static const GenieRankRange overlapping[] = {{0, 2}, {1, 3}};
	static const GenieRankRange backwards[] = {{2, 1}};
	static const GenieCondition always = {.query = {.max_count = 1}, .min_count = 0};
	static const GenieRankRange *const ranges[] = {past, overlapping, backwards};
	static const uint32_t max_counts[] = {0, 65536};

	if (fault < 3)
	{
		job->query.ranges = ranges[fault];
		job->query.n_ranges = fault == 1 ? 2 : 1;
	}
	else if (fault < 5)
		job->query.max_count = max_counts[fault - 3];
	else if (fault < 7)
		job->k = fault == 5 ? 0 : GENIE_JOB_K_MAX + 1;
	else if (fault == 7)
		job->min_key = 0;
	else if (fault == 8)
	{
		job->n_conditions = 1;
		job->conditions = &always;
	}
	else if (fault < 11)
	{
		job->first_tile = fault == 9 ? 0 : 2;
		job->n_tiles = fault == 9 ? 2 : 0;
	}
	else if (fault == 11)
		job->kind = (GenieJobKind) 99;
	else if (fault >= SPOILT_KEYS)
		spoil_keys(job, fault - SPOILT_KEYS);
	else
		job->query.max_count = 1;	/* COUNTS, and TOP */
}

/* What is malformed, or counts more than it says, fails alone. */
static void
test_malformed(GenieEngine *engine)
{
	static const GenieRankRange good[] = {{0, 3}};
	GenieEngineQuery query = {.n_ranges = 1, .ranges = good, .max_count = 3};
	GenieHit	hits[3][8];
	static uint8_t narrow[2 * GENIE_TILE_OBJECTS];
	const GenieJob top = {.kind = GENIE_JOB_TOP, .query = query, .n_tiles = 1, .k = 8, .min_key = 1};
	const GenieJob count = {.kind = GENIE_JOB_COUNTS, .query = query, .n_tiles = 1, .out = narrow};
	GenieJob	of_devices[] = {{.kind = GENIE_JOB_NEAREST, .k = 1}, {.kind = GENIE_JOB_HASH}};
	static const uint32_t places[] = {0, 4, GENIE_GRID_NOWHERE};
	static const GenieGridAxis axes[] = {{0, 3, places}, {0, 2, places}, {2, 2, places}};
	static const GenieGrid grids[] = {{1, axes, 4}, {2, axes, 8}, {1, &axes[2], 5}, {0, axes, 5}, {1, axes, 0},
	{GENIE_GRID_AXES_MAX + 1, axes, 5}, {1, axes, GENIE_GRID_CELLS_MAX + 1}};
	static const GenieRankRange facets[] = {{0, 4}, {2, 1}};
	const uint32_t n_grids = sizeof(grids) / sizeof(grids[0]);
	GenieModel	model;
	GenieSegmentImage image;

	genie_model_begin(&model, 4000, 3);
	model.size_width = 1;
	model.min_size = SPOILT_SIZE;
	for (uint32_t i = 0; i < 4000; i++)
	{
		objects[i] = i;
		model.sizes[i] = SPOILT_SIZE + i % 11;
	}
	for (uint32_t rank = 0; rank < 3; rank++)
		genie_model_list(&model, rank, objects, rank == 1 ? 5 : 4000);
	genie_model_image(&model, 1, 1, &image);
	for (int fault = 0; fault < N_FAULTS; fault++)
	{
		GenieJob	jobs[3] = {top, fault < 9 || fault >= 13 ? top : count, top};

		spoil(&jobs[1], fault);
		for (int j = 0; j < 3; j++)
		{
			jobs[j].image = &image;
			if (jobs[j].out == NULL)
				jobs[j].out = hits[j];
		}
		run(engine, 3, jobs);
		CHECK_INT(jobs[0].status, GENIE_OK);
		CHECK_INT(jobs[1].status, GENIE_STATUS_CORRUPT);
		CHECK_INT(jobs[2].status, GENIE_OK);
		CHECK(strlen(engine->error) > 0);
		CHECK(check_top(&model, &jobs[2]));
	}
	run(engine, 0, NULL);
	CHECK_INT(strlen(engine->error), 0);
	run(engine, 2, of_devices);
	CHECK_INT(of_devices[0].status, GENIE_STATUS_CORRUPT);
	CHECK_INT(of_devices[1].status, GENIE_STATUS_CORRUPT);
	for (uint32_t i = 0; i <= n_grids; i++)
	{
		const GenieGrid well = {1, axes, 5};
		GenieGridCell cells[5];
		GenieJob	job = {.kind = GENIE_JOB_GRID, .image = &image, .n_tiles = 1, .out = cells};

		job.grid = i < n_grids ? &grids[i] : &well;
		run(engine, 1, &job);
		CHECK_INT(job.status, i < n_grids ? GENIE_STATUS_CORRUPT : GENIE_OK);
	}
	for (uint32_t i = 0; i < 2; i++)
	{
		GenieJob	job = {.kind = GENIE_JOB_FACETS, .image = &image, .n_tiles = 1, .facets = facets[i], .out = hits};

		run(engine, 1, &job);
		CHECK_INT(job.status, GENIE_STATUS_CORRUPT);
	}
	genie_model_free_image(&image);
	genie_model_end(&model);
}

static int	calls_left;

static bool
interrupt_after_some(void)
{
	return calls_left-- == 0;
}

/*
 * Two images of two tiles, two jobs each: jobs of an image that is done are done, the others cancelled.  With several
 * threads each job is one or the other.
 */
static void
test_interrupts(GenieEngine *engine, GenieRandom *random)
{
	GenieModel	models[2];
	GenieSegmentImage images[2];
	GenieJob	jobs[4];

	for (uint32_t m = 0; m < 2; m++)
	{
		do
		{
			random_model(random, &models[m]);
			if (genie_model_tiles(&models[m]) == 2)
				break;
			genie_model_end(&models[m]);
		} while (true);
		genie_model_image(&models[m], 50 + m, 1, &images[m]);
	}
	for (uint32_t j = 0; j < 4; j++)
	{
		random_job(random, &models[j % 2], &images[j % 2], &jobs[j]);
		free(jobs[j].out);
		free((void *) jobs[j].live);
		jobs[j].live = NULL;
		jobs[j].first_tile = 0; /* in each tile, so that it is known how often the callback is asked */
		jobs[j].n_tiles = 2;
		take_out(&jobs[j]);
	}
	engine->interrupted = interrupt_after_some;
	for (int calls = 0; calls <= 8; calls++)
	{
		calls_left = calls;
		run(engine, 4, jobs);
		for (int j = 0; j < 4; j++)
		{
			if (n_threads != 1 && calls_left >= 0)
				CHECK(check_job(&models[j % 2], &jobs[j]));
			else if (n_threads != 1)
				CHECK(jobs[j].status == GENIE_STATUS_CANCELLED || check_job(&models[j % 2], &jobs[j]));
			else if (calls < (j % 2 == 0 ? 4 : 8))
				CHECK_INT(jobs[j].status, GENIE_STATUS_CANCELLED);
			else
				CHECK(check_job(&models[j % 2], &jobs[j]));
		}
	}
	engine->interrupted = NULL;
	for (uint32_t j = 0; j < 4; j++)
		free_job(&jobs[j]);
	for (uint32_t m = 0; m < 2; m++)
	{
		genie_model_free_image(&images[m]);
		genie_model_end(&models[m]);
	}
}

static void
test_engine(const GenieKernels *kernels, uint32_t threads)
{
	GenieRandom random = {23 + threads};
	void	   *memory = malloc(genie_cpu_engine_size() + 64);
	GenieEngine *engine = genie_cpu_engine_open_with((void *) (((uintptr_t) memory + 63) / 64 * 64), kernels);
	GenieDeviceInfo info;

	n_threads = threads;
	CHECK_INT(engine->ops->abi, GENIE_ENGINE_ABI);
	CHECK_INT(engine->ops->devices(engine, &info, 1), 0);
	engine->ops->set_memory_limit(engine, 1);
	engine->ops->forget(engine, 1);
	test_random(engine, &random);
	test_few(engine, &random);
	test_pages(engine, &random);
	test_no_ranges(engine, &random);
	test_widths(engine);
	test_many_ranges(engine, &random);
	test_ties(engine);
	test_malformed(engine);
	test_interrupts(engine, &random);
	engine->ops->close(engine);
	free(memory);
}

int
main(void)
{
#ifdef __SANITIZE_THREAD__
	static const uint32_t threads[] = {3, CHANGING};	/* a tenth of the speed, and only threads are of interest */
#else
	static const uint32_t threads[] = {1, 2, 3, 8, CHANGING};

	for (uint32_t i = 0; genie_kernels_nth(i + 1) != NULL; i++)
		test_engine(genie_kernels_nth(i), 1);
#endif
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		test_engine(genie_kernels_choose(), threads[i]);
	return genie_test_end();
}

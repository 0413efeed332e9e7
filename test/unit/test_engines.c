/*
 * test_engines.c
 *	  Several engines as one (genie_engines.h): N CPU engines, which stand for GPUs, against what jobs must give
 *	  (genie_test_jobs.h); and how images are cut between them (genie_placement.h).
 *
 * The engines under test count by the CPU engine, and notice what they must not be given: tiles whose groups or records
 * their view lacks, and two parts of one image.
 */
#include <math.h>
#include <string.h>

#include "genie_engine_cpu.h"
#include "genie_engines.h"
#include "genie_test.h"
#include "genie_test_jobs.h"

#define DEVICES_MAX 5
#define IDS_MAX 40
#define DIMENSIONS 12
#define GIGABYTE (UINT64_C(1) << 30)
#ifdef __SANITIZE_THREAD__
#define ROUNDS 3				/* a tenth of the speed, and only threads are of interest */
#else
#define ROUNDS 12
#endif

/* What a device has been given under an id: a range of tiles. */
typedef struct Given
{
	uint64_t	id;
	const void *first;			/* group or record */
	uint32_t	n;
} Given;

typedef struct Device
{
	GenieEngine engine;
	GenieEngine *cpu;
	void	   *memory;
	uint64_t	limit;
	uint32_t	lost_after;		/* batches; 0: now */
	bool		was_lost;		/* a batch was */
	GenieStatus fails;			/* all jobs get this; GENIE_OK: none */
	bool		gives_bounds;
	bool		waits;			/* until it is told to stop */
	bool		has_none;		/* it has dropped all copies */
	uint32_t	n_jobs;			/* done */
	uint32_t	n_bounded;
	uint32_t	n_given;
	Given		given[IDS_MAX];
	uint32_t	n_wrong;		/* what it was given and should not have been */
	bool		is_closed;
} Device;

static Device devices[DEVICES_MAX];

/* ---- devices ---- */

/* Notes what an id stands for.  It must always be the same. */
static void
note(Device *device, uint64_t id, const void *first, uint32_t n)
{
	uint32_t	i = 0;

	while (i < device->n_given && device->given[i].id != id)
		i++;
	if (i == device->n_given)
	{
		if (i == IDS_MAX)
			abort();
		device->given[device->n_given++] = (Given) {id, first, n};
	}
	device->n_wrong += device->given[i].first != first || device->given[i].n != n;
}

static void
check_view(Device *device, const GenieJob *job)
{
	const GenieSegmentImage *image = job->image;
	uint32_t	end = job->first_tile + job->n_tiles;

	if (!genie_job_has_image(job->kind) || !genie_job_tiles_fit(job) || job->n_tiles == 0)
		return;
	if (job->kind != GENIE_JOB_SCAN && image->n_groups > 0)
	{
		const GenieImageGroup *last = image->groups[image->n_groups - 1];

		device->n_wrong += image->groups[0]->first_tile > job->first_tile || last->first_tile + last->n_tiles < end;
		note(device, image->id, image->groups[0], image->n_groups);
	}
	if (job->vectors != NULL)
	{
		uint32_t	first = 0;

		while (job->vectors->tiles[first] == NULL)
			first++;
		for (uint32_t t = job->first_tile; t < end; t++)
			device->n_wrong += job->vectors->tiles[t] == NULL;
		note(device, job->vectors->id, job->vectors->tiles[first], first);
	}
}

static void
give_bounds(Device *device, GenieJob *job)
{
	if (!device->gives_bounds || job->kind != GENIE_JOB_TOP || job->vectors == NULL || job->status != GENIE_OK)
		return;
	genie_quantized_bounds(job->vectors, &job->vector, job->out, job->n_hits, job->bounds);
	job->has_bounds = true;
	device->n_bounded++;
}

static GenieStatus
device_run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	Device	   *device = (Device *) (void *) engine;
	GenieStatus status = device->lost_after == 0 ? GENIE_STATUS_LOST : device->fails;

	engine->error[0] = '\0';
	device->was_lost |= device->lost_after == 0;
	if (device->lost_after > 0)
		device->lost_after--;
	while (device->waits && !engine->interrupted())
		;
	if (device->waits)
		status = GENIE_STATUS_CANCELLED;
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		check_view(device, &jobs[i]);
		jobs[i].status = status;
	}
	if (status != GENIE_OK)
	{
		snprintf(engine->error, sizeof(engine->error), "it failed");
		return status == GENIE_STATUS_LOST ? status : GENIE_OK;
	}
	device->cpu->interrupted = engine->interrupted;
	status = device->cpu->ops->run(device->cpu, n_jobs, jobs);
	memcpy(engine->error, device->cpu->error, sizeof(engine->error));
	engine->choices = device->cpu->choices;
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		give_bounds(device, &jobs[i]);
		device->n_jobs += jobs[i].status == GENIE_OK;
	}
	return status;
}

static void
device_forget(GenieEngine *engine, uint64_t id)
{
	Device	   *device = (Device *) (void *) engine;

	for (uint32_t i = device->n_given; i > 0; i--)
		if (device->given[i - 1].id == id)
			device->given[i - 1] = device->given[--device->n_given];
}

static void
device_set_memory_limit(GenieEngine *engine, uint64_t bytes)
{
	((Device *) (void *) engine)->limit = bytes;
}

static bool
device_pin(GenieEngine *engine, void *memory, size_t bytes)
{
	(void) engine;
	return memory != NULL && bytes == 17;
}

static void
device_set_kernels(GenieEngine *engine, GenieKernelChoice choice)
{
	Device	   *device = (Device *) (void *) engine;

	device->cpu->ops->set_kernels(device->cpu, choice);
}

static uint32_t
device_devices(GenieEngine *engine, GenieDeviceInfo *info, uint32_t max)
{
	memset(info, 0, sizeof(GenieDeviceInfo));
	info->device = (uint32_t) ((Device *) (void *) engine - devices);
	info->limit_bytes = ((Device *) (void *) engine)->limit;
	return max > 0;
}

static void
device_close(GenieEngine *engine)
{
	Device	   *device = (Device *) (void *) engine;

	device->cpu->ops->close(device->cpu);
	free(device->memory);
	device->is_closed = true;
}

/* Was it given that, and not told to forget it? */
static bool
device_has(GenieEngine *engine, uint64_t id)
{
	const Device *device = (const Device *) (void *) engine;
	bool		has = false;

	for (uint32_t i = 0; i < device->n_given; i++)
		has = has || device->given[i].id == id;
	return has && !device->has_none;
}

static const GenieEngineOps device_ops = {
	.abi = GENIE_ENGINE_ABI,
	.name = "device",
	.run = device_run,
	.forget = device_forget,
	.has = device_has,
	.pin = device_pin,
	.set_memory_limit = device_set_memory_limit,
	.set_kernels = device_set_kernels,
	.devices = device_devices,
	.close = device_close,
};

static GenieEngine *
open_devices(uint32_t n, uint64_t cut_bytes)
{
	GenieEngine *engines[DEVICES_MAX];

	memset(devices, 0, sizeof(devices));
	for (uint32_t d = 0; d < n; d++)
	{
		Device	   *device = &devices[d];

		CHECK(posix_memalign(&device->memory, 64, genie_cpu_engine_size()) == 0);
		device->cpu = genie_cpu_engine_open(device->memory);
		device->engine.ops = &device_ops;
		device->limit = GIGABYTE;
		device->lost_after = UINT32_MAX;
		engines[d] = &device->engine;
	}
	return genie_engines_open(n, engines, cut_bytes);
}

static void
close_devices(GenieEngine *engine, uint32_t n)
{
	engine->ops->close(engine);
	for (uint32_t d = 0; d < n; d++)
	{
		CHECK(devices[d].is_closed);
		CHECK_INT(devices[d].n_wrong, 0);
	}
}

/* ---- answers ---- */

enum {N_IMAGES = 3, N_JOBS = 48};

typedef struct Segments
{
	GenieModel	models[N_IMAGES];
	GenieSegmentImage images[N_IMAGES];
} Segments;

static void
make_segments(GenieRandom *random, Segments *segments, uint64_t first_id)
{
	for (uint32_t m = 0; m < N_IMAGES; m++)
	{
		random_model(random, &segments->models[m]);
		genie_model_image(&segments->models[m], first_id + m, 1 + (uint32_t) genie_random_below(random, 2),
						  &segments->images[m]);
	}
}

static void
free_segments(GenieEngine *engine, Segments *segments)
{
	for (uint32_t m = 0; m < N_IMAGES; m++)
	{
		engine->ops->forget(engine, segments->images[m].id);
		genie_model_free_image(&segments->images[m]);
		genie_model_end(&segments->models[m]);
	}
}

/* Runs random jobs; checks answers, or, if failed, that each job has that status or is right. */
static void
run_random(GenieEngine *engine, GenieRandom *random, Segments *segments, GenieStatus failed)
{
	/* all of them often, so that threads merge */
	uint32_t	n_jobs = 1 + (uint32_t) genie_random_below(random, N_JOBS + N_JOBS / 4);
	GenieJob	jobs[N_JOBS];
	uint32_t	of[N_JOBS];
	uint32_t	n_failed = 0;

	n_jobs = n_jobs < N_JOBS ? n_jobs : N_JOBS;
	for (uint32_t j = 0; j < n_jobs; j++)
	{
		of[j] = (uint32_t) genie_random_below(random, N_IMAGES);
		random_job(random, &segments->models[of[j]], &segments->images[of[j]], &jobs[j]);
	}
	CHECK_INT(engine->ops->run(engine, n_jobs, jobs), GENIE_OK);
	for (uint32_t j = 0; j < n_jobs; j++)
	{
		if (failed != GENIE_OK && jobs[j].status == failed)
			n_failed++;
		else if (!check_job(&segments->models[of[j]], &jobs[j]))
			printf("job %u of kind %d\n", j, (int) jobs[j].kind);
		free_job(&jobs[j]);
	}
	CHECK(n_failed == 0 || engine->error[0] != '\0');
}

static void
test_answers(GenieRandom *random)
{
	static const uint64_t cuts[] = {1, 300000, UINT64_MAX};
	uint32_t	n_cut = 0;

	for (uint32_t round = 0; round < ROUNDS; round++)
	{
		uint32_t	n = 2 + round % (DEVICES_MAX - 1);
		GenieEngine *engine = open_devices(n, cuts[round % 3]);
		uint32_t	n_busy = 0;
		Segments	segments;

		make_segments(random, &segments, 100 * round + 1);
		for (int batch = 0; batch < 4; batch++)
		{
			run_random(engine, random, &segments, GENIE_OK);
			CHECK_INT(strlen(engine->error), 0);
		}
		for (uint32_t d = 0; d < n; d++)
			n_busy += devices[d].n_jobs > 0;
		n_cut += cuts[round % 3] == 1 && n_busy > 1;
		CHECK(cuts[round % 3] < UINT64_MAX || n_busy == 1); /* small, so together */
		free_segments(engine, &segments);
		close_devices(engine, n);
	}
	CHECK(n_cut > 0);
}

/* A device that fails, and then one that is lost for good, in the middle: others take over, and answers are right. */
static void
test_failures(GenieRandom *random)
{
	for (uint32_t round = 0; round < ROUNDS / 2; round++)
	{
		GenieEngine *engine = open_devices(3, 1);
		GenieDeviceInfo info[3];
		Segments	segments;
		uint32_t	n_before;
		GenieJob	job;

		make_segments(random, &segments, 1);
		devices[1].fails = round % 2 == 0 ? GENIE_STATUS_NO_ROOM : GENIE_STATUS_RETRY;
		for (int batch = 0; batch < 3; batch++)
			run_random(engine, random, &segments, devices[1].fails);
		devices[1].fails = GENIE_OK;
		devices[1].lost_after = 1;
		for (int batch = 0; batch < 4; batch++)
			run_random(engine, random, &segments, GENIE_OK);
		n_before = devices[1].n_jobs;
		CHECK_INT(engine->ops->devices(engine, info, 3), 3);
		CHECK_INT(info[1].is_lost, devices[1].was_lost);
		CHECK(!info[0].is_lost && !info[2].is_lost);
		devices[2].lost_after = 0;
		for (int batch = 0; batch < 6; batch++)
			run_random(engine, random, &segments, GENIE_OK);
		CHECK(!info[1].is_lost || devices[1].n_jobs == n_before);
		devices[0].lost_after = devices[1].lost_after = 0;
		random_job(random, &segments.models[0], &segments.images[0], &job);
		job.first_tile = 0;
		CHECK_INT(engine->ops->run(engine, 1, &job), GENIE_STATUS_LOST);
		CHECK_INT(job.status, GENIE_STATUS_LOST);
		free_job(&job);
		free_segments(engine, &segments);
		close_devices(engine, 3);
	}
}

/* ---- vectors ---- */

/* Random records for a segment's objects, and a TOP or SCAN job with them. */
static GenieQuantizedVectors
random_vectors(GenieRandom *random, uint64_t id, uint32_t n_objects, GenieValueShape shape)
{
	size_t		n_bytes = genie_value_record_bytes(shape.metric, shape.n_dimensions);
	uint32_t	n_tiles = (n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
	const void **tiles = malloc(n_tiles * sizeof(void *));

	for (uint32_t t = 0; t < n_tiles; t++)
	{
		uint8_t    *records = malloc(GENIE_TILE_OBJECTS * n_bytes);

		for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
		{
			float		elements[DIMENSIONS];

			for (uint32_t d = 0; d < DIMENSIONS; d++)
				elements[d] = (float) genie_random_below(random, 5);
			genie_value_record(shape, (GenieVector) {elements, DIMENSIONS, false}, records + i * n_bytes);
		}
		tiles[t] = records;
	}
	return genie_vectors(id, shape.metric, shape.n_dimensions, n_objects, tiles);
}

static void
free_vectors(GenieQuantizedVectors *vectors)
{
	for (uint32_t t = 0; t < (vectors->n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS; t++)
		free((void *) vectors->tiles[t]);
	free((void *) vectors->tiles);
}

/*
 * SCAN and TOP with bounds: as one engine gives them.  scan_first: vectors are cut before the image is, and otherwise,
 * so TOP jobs get no bounds.
 */
static void
check_vectors(GenieRandom *random, uint64_t cut_bytes, bool scan_first)
{
	const GenieValueShape shape = {.metric = GENIE_METRIC_L2, .n_dimensions = DIMENSIONS};
	static GenieHit hits[2][2][3000];
	static float bounds[2][3000];
	GenieEngine *engine = open_devices(3, cut_bytes);
	GenieModel	model;
	GenieSegmentImage image;
	GenieQuantizedVectors vectors;
	float		elements[GENIE_QUANTIZED_ALIGN] = {1, 2, 3};
	GenieValueQuery *scan = malloc(genie_value_query_bytes(shape.metric, DIMENSIONS));
	GenieJob	jobs[2];

	genie_model_begin(&model, 4 * GENIE_TILE_OBJECTS - 77, 30);
	for (uint32_t rank = 0; rank < 30; rank++)
		genie_model_list(&model, rank, objects, genie_model_random_objects(random, model.n_objects, objects));
	genie_model_image(&model, 7, 2, &image);
	vectors = random_vectors(random, 8, model.n_objects, shape);
	genie_value_query(shape, (GenieVector) {elements, DIMENSIONS, false}, scan);
	for (uint32_t d = 0; d < 3; d++)
		devices[d].gives_bounds = true;
	for (uint32_t round = 0; round < 4; round++)
	{
		const GenieRankRange all = {0, 30};

		for (uint32_t way = 0; way < 2; way++)
		{
			GenieEngine *by = way == 0 ? engine : devices[0].cpu;

			jobs[0] = (GenieJob) {.kind = GENIE_JOB_TOP, .query = {1, &all, 30, NULL}, .bounds = bounds[0],
				.vector = {elements, 0}};
			jobs[1] = (GenieJob) {.kind = GENIE_JOB_SCAN, .scan = scan,
				.scan_bytes = genie_value_query_bytes(shape.metric, DIMENSIONS)};
			for (uint32_t j = 0; j < 2; j++)
			{
				jobs[j].image = &image;
				jobs[j].first_tile = round % 2;
				jobs[j].n_tiles = image.n_tiles - round % 3;
				jobs[j].n_tiles -= jobs[j].first_tile;
				jobs[j].k = round == 3 ? 3000 : 50;
				jobs[j].min_key = 1;
				jobs[j].vectors = &vectors;
				jobs[j].out = hits[way][j];
			}
			if (way == 0 && round == 0 && scan_first)
				CHECK_INT(by->ops->run(by, 1, &jobs[1]), GENIE_OK);
			by->interrupted = NULL;
			CHECK_INT(by->ops->run(by, 2, jobs), GENIE_OK);
			for (uint32_t j = 0; j < 2; j++)
			{
				CHECK_INT(jobs[j].status, GENIE_OK);
				CHECK_INT(jobs[j].n_hits, jobs[j].k);
			}
			if (way == 0 && CHECK(jobs[0].has_bounds == (cut_bytes == UINT64_MAX || !scan_first)) && jobs[0].has_bounds)
			{
				genie_quantized_bounds(&vectors, &jobs[0].vector, hits[0][0], jobs[0].n_hits, bounds[1]);
				CHECK(memcmp(bounds[0], bounds[1], jobs[0].n_hits * sizeof(float)) == 0);
			}
		}
		for (uint32_t j = 0; j < 2; j++)
			CHECK(memcmp(hits[0][j], hits[1][j], jobs[j].k * sizeof(GenieHit)) == 0);
	}
	CHECK(cut_bytes == UINT64_MAX || (devices[0].n_jobs > 0 && devices[1].n_jobs + devices[2].n_jobs > 0));
	free(scan);
	free_vectors(&vectors);
	genie_model_free_image(&image);
	genie_model_end(&model);
	close_devices(engine, 3);
}

/* ---- interrupts, and jobs that are for a device as a whole ---- */

static uint32_t n_asked;

static GenieEngine *asked;		/* the engine of engines */

static bool
stop_soon(void)
{
	CHECK(asked->streams == devices[1].engine.streams);
	return ++n_asked > 5;
}

static void
test_interrupt(GenieRandom *random)
{
	GenieEngine *engine = open_devices(2, 1);
	Segments	segments;
	GenieJob	job;

	make_segments(random, &segments, 1);
	devices[0].waits = devices[1].waits = true;
	devices[1].engine.streams = true;
	asked = engine;
	engine->interrupted = stop_soon;
	do
		random_job(random, &segments.models[0], &segments.images[0], &job);
	while (job.n_tiles == 0 && (free_job(&job), true));
	CHECK_INT(engine->ops->run(engine, 1, &job), GENIE_OK);
	CHECK_INT(job.status, GENIE_STATUS_CANCELLED);
	CHECK(n_asked > 5);
	devices[0].waits = devices[1].waits = devices[1].engine.streams = false;
	engine->interrupted = NULL;
	CHECK_INT(engine->ops->run(engine, 1, &job), GENIE_OK);
	CHECK(check_job(&segments.models[0], &job));
	free_job(&job);

	/* Whose copies are where?  A segment of two groups or more is on both. */
	CHECK(!engine->ops->has(engine, 999999));
	for (uint32_t i = 0; i < 2; i++)
	{
		bool		has = engine->ops->has(engine, segments.images[0].id);

		devices[i].has_none = true;
		CHECK(!engine->ops->has(engine, segments.images[0].id) || segments.images[0].n_groups < 2);
		devices[i].has_none = false;
		CHECK(has == engine->ops->has(engine, segments.images[0].id));
	}
	free_segments(engine, &segments);
	close_devices(engine, 2);
}

/* Jobs without an image go to an engine each; the CPU engine calls them malformed.  So are other malformed ones. */
static void
test_whole(GenieRandom *random)
{
	GenieEngine *engine = open_devices(2, 1);
	Segments	segments;
	GenieJob	jobs[4] = {{.kind = GENIE_JOB_NEAREST, .k = 1}, {.kind = GENIE_JOB_HASH},
	{.kind = GENIE_JOB_SCAN, .k = 1}, {.kind = GENIE_JOB_MASK, .first_tile = 1}};
	GenieDeviceInfo info[2];

	make_segments(random, &segments, 1);
	jobs[2].image = jobs[3].image = &segments.images[0];
	jobs[2].n_tiles = segments.images[0].n_tiles;
	jobs[3].n_tiles = segments.images[0].n_tiles;
	CHECK_INT(engine->ops->run(engine, 4, jobs), GENIE_OK);
	for (uint32_t j = 0; j < 4; j++)
		CHECK_INT(jobs[j].status, GENIE_STATUS_CORRUPT);
	CHECK(strncmp(engine->error, "GPU ", 4) == 0);
	CHECK_INT(engine->ops->run(engine, 0, jobs), GENIE_OK);
	CHECK_INT(strlen(engine->error), 0);
	CHECK(engine->ops->pin(engine, &segments, 17) && !engine->ops->pin(engine, &segments, 18));
	engine->ops->set_memory_limit(engine, 12345);
	CHECK_INT(engine->ops->devices(engine, info, 1), 2);
	CHECK_INT(engine->ops->devices(engine, info, 2), 2);
	CHECK(info[0].limit_bytes == 12345 && info[1].limit_bytes == 12345);
	engine->ops->set_kernels(engine, GENIE_KERNELS_TILES);
	free_segments(engine, &segments);
	close_devices(engine, 2);
}

/* ---- placements ---- */

static void
ignore(void *arg, uint64_t id)
{
	*(uint64_t *) arg += id;
}

/* All tiles are placed once, in order; shares are as the engines' room. */
static void
test_placements(GenieRandom *random)
{
	static GeniePlacementUnit units[1000];
	const uint64_t limits[3] = {4 * GIGABYTE, 2 * GIGABYTE, 2 * GIGABYTE};
	GeniePlacements placements = {.n_engines = 3, .cut_bytes = GIGABYTE};
	const GeniePlacement *placement;
	uint64_t	dropped = 0;

	for (uint32_t round = 0; round < 200; round++)
	{
		uint32_t	n = (uint32_t) genie_random_below(random, 1000);
		uint32_t	at = 0;
		uint64_t	n_bytes = 0;
		uint32_t	u = 0;

		for (uint32_t i = 0; i < n; i++)
		{
			at += 1 + (uint32_t) genie_random_below(random, 5);
			units[i] = (GeniePlacementUnit) {at, genie_random_below(random, 3) * 1234567};
			n_bytes += units[i].n_bytes;
		}
		placement = genie_placement_add(&placements, round, units, n, limits);
		CHECK(placement == genie_placement_find(&placements, round));
		CHECK(n_bytes >= GIGABYTE || placement->n_places == 1);
		for (uint32_t p = 0; p < placement->n_places; p++)
		{
			CHECK_INT(placement->places[p].first_unit, u);
			CHECK_INT(placement->places[p].first_tile, u == 0 ? 0 : units[u - 1].end_tile);
			u = placement->places[p].end_unit;
			CHECK_INT(placement->places[p].end_tile, u == 0 ? 0 : units[u - 1].end_tile);
			n_bytes -= placement->places[p].n_bytes;
		}
		CHECK_INT(u, n);
		CHECK(n_bytes == 0);
		if (round % 3 > 0)
			genie_placement_drop(&placements, round - genie_random_below(random, 2));
	}
	for (uint32_t round = 0; round < 200; round++)
		genie_placement_drop(&placements, round);
	CHECK_INT(placements.n, 0);
	CHECK(placements.n_bytes[0] + placements.n_bytes[1] + placements.n_bytes[2] == 0);

	for (uint32_t i = 0; i < 800; i++)
		units[i] = (GeniePlacementUnit) {i + 1, 4 << 20};
	placement = genie_placement_add(&placements, 1, units, 800, limits);
	CHECK_INT(placement->n_places, 3);
	CHECK_INT(placement->places[0].end_tile, 400);
	CHECK_INT(placement->places[1].end_tile, 600);
	CHECK(genie_placement_lose(&placements, 0, ignore, &dropped));
	CHECK(dropped == 1);
	placement = genie_placement_add(&placements, 2, units, 800, limits);
	CHECK_INT(placement->n_places, 2);
	CHECK(placement->places[0].engine == 1 && placement->places[0].end_tile == 400);
	placement = genie_placement_add(&placements, 3, units, 10, limits);
	CHECK(placement->n_places == 1 && placement->places[0].engine == 1);
	placement = genie_placement_add_like(&placements, 4, 100, genie_placement_find(&placements, 2));
	CHECK(placement->places[1].first_tile == 400 && placement->places[1].n_bytes == 40000);
	CHECK(genie_placement_lose(&placements, 2, ignore, &dropped));
	CHECK(dropped == 1 + 2 + 4 && placements.n == 1);
	CHECK(!genie_placement_lose(&placements, 1, ignore, &dropped));
	genie_placement_free(&placements);
}

int
main(void)
{
	GenieRandom random = {20260722};

	test_placements(&random);
	test_answers(&random);
	test_failures(&random);
	check_vectors(&random, 1, false);
	check_vectors(&random, 1, true);
	check_vectors(&random, UINT64_MAX, true);
	test_interrupt(&random);
	test_whole(&random);
	return genie_test_end();
}

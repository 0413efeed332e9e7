/*
 * test_multiload.c
 *	  Counting what is larger than a device's memory (genie_multiload.h), against what jobs must give
 *	  (genie_test_jobs.h).
 *
 * The engine below counts by the CPU engine, and keeps a list of what was copied to it, as a device would.  It notices
 * more copies than there is room for, pieces that are counted before they were copied, lists that are copied although
 * there are codes, and ids that change their meaning.
 */
#include <math.h>
#include <string.h>

#include "genie_engine_cpu.h"
#include "genie_multiload.h"
#include "genie_test.h"
#include "genie_test_jobs.h"

#define ROUNDS 30
#define JOBS_MAX 24
#define COPIES_MAX 64
#define DIMENSIONS 12
#define PIECES (UINT64_C(1) << 62)	/* ids from here on are of pieces */

typedef struct Copy
{
	uint64_t	id;
	const void *first;
	uint64_t	n_bytes;
} Copy;

typedef struct Device
{
	GenieEngine engine;
	GenieEngine *cpu;
	void	   *memory;
	uint64_t	room;
	uint32_t	n_copies;
	Copy		copies[COPIES_MAX];
	uint64_t	uploaded;
	uint64_t	told_bytes;		/* what it says of its copies */
	uint64_t	told_us;
	uint32_t	n_batches;
	uint32_t	fails_after;	/* batches */
	GenieStatus fails;
	uint32_t	n_wrong;
	uint32_t	n_codes;		/* copies of codes */
	uint32_t	n_counted;		/* jobs on pieces */
	bool		is_closed;
} Device;

static Device device;
static GenieRival rival;

/* ---- the device ---- */

static uint64_t
bytes_there(void)
{
	uint64_t	n_bytes = 0;

	for (uint32_t i = 0; i < device.n_copies; i++)
		n_bytes += device.copies[i].n_bytes;
	return n_bytes;
}

static bool
device_has(GenieEngine *engine, uint64_t id)
{
	(void) engine;
	for (uint32_t i = 0; i < device.n_copies; i++)
		if (device.copies[i].id == id)
			return true;
	return false;
}

static void
device_forget(GenieEngine *engine, uint64_t id)
{
	(void) engine;
	for (uint32_t i = device.n_copies; i > 0; i--)
		if (device.copies[i - 1].id == id)
			device.copies[i - 1] = device.copies[--device.n_copies];
}

static void
device_prefetch(GenieEngine *engine, const GenieSegmentImage *image, const GenieQuantizedVectors *vectors)
{
	Copy		copy = {image != NULL ? image->id : vectors->id, NULL, 0};
	uint32_t	n_tiles = vectors == NULL ? 0 : vectors->end_tile;

	device.n_wrong += device_has(engine, copy.id);
	for (uint32_t g = 0; image != NULL && g < image->n_groups; g++)
		copy.n_bytes += image->groups[g]->n_bytes;
	if (image != NULL)
	{
		copy.first = image->groups[0];
		device.n_wrong += copy.id >= PIECES && genie_image_has_codes(image) && !genie_image_is_codes(image);
		device.n_codes += genie_image_is_codes(image);
	}
	for (uint32_t t = 0; t < n_tiles; t++)
	{
		if (genie_vectors_in_tile(vectors, t) == 0)
			continue;
		copy.first = copy.first == NULL ? vectors->tiles[t] : copy.first;
		copy.n_bytes += (uint64_t) GENIE_TILE_OBJECTS *
			genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	}
	if (device.n_copies == COPIES_MAX)
		abort();
	device.copies[device.n_copies++] = copy;
	device.uploaded += copy.n_bytes;
	device.n_wrong += bytes_there() > device.room;
}

static void
check_view(const GenieJob *job)
{
	const GenieSegmentImage *image = job->image;
	uint64_t	id = job->kind == GENIE_JOB_SCAN ? job->vectors->id : image->id;
	uint32_t	end = job->first_tile + job->n_tiles;

	if (job->n_tiles == 0)
		return;
	device.n_counted += id >= PIECES;
	if (id >= PIECES)
		device.n_wrong += !device_has(&device.engine, id) || !device.engine.streams;
	for (uint32_t t = job->first_tile; job->kind == GENIE_JOB_SCAN && t < end; t++)
		device.n_wrong += genie_vectors_in_tile(job->vectors, t) == 0;
	if (job->kind != GENIE_JOB_SCAN)
		device.n_wrong += image->groups[0]->first_tile > job->first_tile ||
			image->groups[image->n_groups - 1]->first_tile + image->groups[image->n_groups - 1]->n_tiles < end;
	for (uint32_t i = 0; i < device.n_copies && job->kind != GENIE_JOB_SCAN; i++)
		device.n_wrong += device.copies[i].id == id && device.copies[i].first != image->groups[0];
}

static GenieStatus
device_run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	GenieStatus status;

	device.n_batches++;
	engine->error[0] = '\0';
	if (device.fails_after > 0 && --device.fails_after == 0)
	{
		for (uint32_t i = 0; i < n_jobs; i++)
			jobs[i].status = device.fails;
		snprintf(engine->error, sizeof(engine->error), "it failed");
		return device.fails == GENIE_STATUS_LOST ? device.fails : GENIE_OK;
	}
	for (uint32_t i = 0; i < n_jobs; i++)
		if (genie_job_has_image(jobs[i].kind))
			check_view(&jobs[i]);
	device.cpu->interrupted = engine->interrupted;
	status = device.cpu->ops->run(device.cpu, n_jobs, jobs);
	memcpy(engine->error, device.cpu->error, sizeof(engine->error));
	return status;
}

static void
device_set_memory_limit(GenieEngine *engine, uint64_t bytes)
{
	(void) engine;
	device.room = bytes;
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
	(void) engine;
	device.cpu->ops->set_kernels(device.cpu, choice);
}

static uint32_t
device_devices(GenieEngine *engine, GenieDeviceInfo *info, uint32_t max)
{
	(void) engine;
	if (max == 0)
		return 1;
	memset(info, 0, sizeof(GenieDeviceInfo));
	info->image_limit_bytes = device.room;
	info->image_bytes = bytes_there();
	info->uploaded_bytes = device.told_bytes;
	info->upload_us = device.told_us;
	return 1;
}

static void
device_close(GenieEngine *engine)
{
	(void) engine;
	device.cpu->ops->close(device.cpu);
	free(device.memory);
	device.is_closed = true;
}

static const GenieEngineOps device_ops = {
	.abi = GENIE_ENGINE_ABI,
	.name = "device",
	.run = device_run,
	.forget = device_forget,
	.has = device_has,
	.prefetch = device_prefetch,
	.pin = device_pin,
	.set_memory_limit = device_set_memory_limit,
	.set_kernels = device_set_kernels,
	.devices = device_devices,
	.close = device_close,
};

static GenieEngine *
open_device(void)
{
	memset(&device, 0, sizeof(device));
	CHECK(posix_memalign(&device.memory, 64, genie_cpu_engine_size()) == 0);
	device.cpu = genie_cpu_engine_open(device.memory);
	device.engine.ops = &device_ops;
	device.room = UINT64_MAX;
	return genie_multiload_open(&device.engine, &rival);
}

static void
close_device(GenieEngine *engine)
{
	engine->ops->close(engine);
	CHECK(device.is_closed);
	CHECK_INT(device.n_wrong, 0);
	CHECK_INT(device.n_copies, 0);
}

/* ---- images ---- */

static GenieModel model;
static GenieSegmentImage image;

/*
 * A segment of four tiles, each a group, of which three have room in what all four take, live bits aside.  Returns
 * that.
 */
static uint64_t
make_segment(GenieRandom *random, uint64_t id)
{
	uint64_t	n_bytes;
	uint64_t	largest;

	for (;;)
	{
		random_model(random, &model);
		if (genie_model_tiles(&model) != 4)
		{
			genie_model_end(&model);
			continue;
		}
		genie_model_image(&model, id, 1, &image);
		n_bytes = largest = 0;
		for (uint32_t g = 0; g < image.n_groups; g++)
		{
			n_bytes += image.groups[g]->n_bytes;
			if (image.groups[g]->n_bytes > largest)
				largest = image.groups[g]->n_bytes;
		}
		if (3 * (largest + 2 * GENIE_TILE_BITMAP_BYTES) <= n_bytes)
			return n_bytes;
		genie_model_free_image(&image);
		genie_model_end(&model);
	}
}

static void
free_segment(void)
{
	genie_model_free_image(&image);
	genie_model_end(&model);
}

/* Runs random jobs and checks them; those of which status `may` is allowed may have it.  Returns how many are right. */
static uint32_t
run_random(GenieEngine *engine, GenieRandom *random, GenieStatus may)
{
	uint32_t	n_jobs = 1 + (uint32_t) genie_random_below(random, JOBS_MAX);
	GenieJob	jobs[JOBS_MAX];
	uint32_t	n_right = 0;
	GenieStatus status;

	for (uint32_t j = 0; j < n_jobs; j++)
		random_job(random, &model, &image, &jobs[j]);
	status = engine->ops->run(engine, n_jobs, jobs);
	CHECK(status == GENIE_OK || (status == may && may == GENIE_STATUS_LOST));
	CHECK(!engine->streams && !device.engine.streams);
	for (uint32_t j = 0; j < n_jobs; j++)
	{
		bool		adds_up = genie_job_adds_up(jobs[j].kind);

		/* facets and grids are for the CPU */
		if (jobs[j].status == GENIE_STATUS_DECLINED && (adds_up || may == GENIE_STATUS_DECLINED))
			CHECK(jobs[j].n_hits == 0);
		else if (jobs[j].status != GENIE_OK && jobs[j].status == may)
			CHECK(engine->error[0] != '\0' || may == GENIE_STATUS_CANCELLED);
		else if (check_job(&model, &jobs[j]))
			n_right++;
		else
			printf("job %u of kind %d\n", j, (int) jobs[j].kind);
		free_job(&jobs[j]);
	}
	return n_right;
}

/* All answers are right, whatever is there; pieces that are there are not copied again. */
static void
test_answers(GenieRandom *random)
{
	uint32_t	n_streamed = 0;
	uint32_t	n_codes = 0;
	uint32_t	n_more = 0;		/* batches */

	for (uint32_t round = 0; round < ROUNDS; round++)
	{
		GenieEngine *engine = open_device();
		uint64_t	n_bytes = make_segment(random, round + 1);
		GenieDeviceInfo info;

		device.room = n_bytes + round % 4 * 1000;
		for (int batch = 0; batch < 4; batch++)
		{
			uint64_t	before = device.uploaded;

			(void) run_random(engine, random, GENIE_STATUS_DECLINED);
			CHECK(before == 0 || device.uploaded - before < n_bytes);
		}
		(void) engine->ops->devices(engine, &info, 1);
		n_streamed += info.streamed_bytes >= n_bytes;
		n_codes += device.n_codes > 0;
		if (round % 2 == 0)
			engine->ops->set_memory_limit(engine, UINT64_MAX);	/* now all of it fits */
		do
			(void) run_random(engine, random, round % 2 == 0 ? GENIE_OK : GENIE_STATUS_DECLINED);
		while (round % 2 == 0 && device.n_copies > 0 && ++n_more < ROUNDS); /* a batch of facets changes nothing */
		CHECK(round % 2 == 1 || device.n_copies == 0);
		engine->ops->set_memory_limit(engine, 1000);	/* and now nothing does */
		device.n_wrong = 0;
		CHECK_INT(run_random(engine, random, GENIE_STATUS_DECLINED) > JOBS_MAX, false);
		engine->ops->forget(engine, round + 1);
		CHECK_INT(device.n_copies, 0);
		free_segment();
		close_device(engine);
	}
	CHECK(n_streamed > ROUNDS / 4);
	CHECK(n_codes > 0 && n_codes < ROUNDS);
}

static bool
stop(void)
{
	return true;
}

static void
test_failures(GenieRandom *random)
{
	static const GenieStatus failures[] = {GENIE_STATUS_RETRY, GENIE_STATUS_NO_ROOM, GENIE_STATUS_LOST};

	for (uint32_t round = 0; round < ROUNDS / 2; round++)
	{
		GenieEngine *engine = open_device();
		GenieStatus failure = failures[round % 3];
		uint64_t	before;

		device.room = make_segment(random, 1);
		device.fails = failure;
		device.fails_after = 1 + round % 4;
		for (int batch = 0; batch < 3; batch++)
			(void) run_random(engine, random, device.fails_after > 0 ? failure : GENIE_STATUS_DECLINED);
		engine->interrupted = stop;
		before = device.uploaded;
		(void) run_random(engine, random, GENIE_STATUS_CANCELLED);
		/* no more than the first piece and the next */
		CHECK(2 * (device.uploaded - before) <= device.room);
		engine->interrupted = NULL;
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
		free_segment();
		close_device(engine);
	}
}

/* Where the rival is faster, jobs are declined, and nothing is copied. */
static void
test_rival(GenieRandom *random)
{
	GenieEngine *engine = open_device();
	uint64_t	n_uploaded;

	do
	{
		if (image.n_groups > 0)
			free_segment();
		device.room = make_segment(random, 1) + 1000;
	} while (genie_image_has_codes(&image));
	CHECK(engine->ops->pin(engine, &model, 17) && !engine->ops->pin(engine, &model, 18));
	rival.n_threads = 1000000;
	rival.costs.posting_ns = 1e-4;
	for (int batch = 0; batch < 5; batch++)
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	CHECK(device.uploaded == 0);
	rival.n_threads = 1;
	rival.costs.posting_ns = 0.5;
	rival.costs.piece_ns = 1e12;
	for (int batch = 0; batch < 20 && device.uploaded == 0; batch++)
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	CHECK(device.uploaded > 0);

	/* copies have become slow: batches are declined, and after a while they are not */
	rival.costs.piece_ns = 1e6;
	n_uploaded = device.uploaded;
	device.told_bytes = UINT64_C(1) << 30;
	device.told_us = 2000000000;
	for (int batch = 0; batch < 20; batch++)
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	CHECK(device.uploaded == n_uploaded);
	genie_multiload_doubt_s = 1e-9;
	for (int batch = 0; batch < 20 && device.uploaded == n_uploaded; batch++)
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	CHECK(device.uploaded > n_uploaded);
	genie_multiload_doubt_s = 30;

	/* and are fast */
	device.told_bytes *= 2;
	device.told_us += 20000;
	n_uploaded = device.uploaded;
	for (int batch = 0; batch < 20 && device.uploaded == n_uploaded; batch++)
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	CHECK(device.uploaded > n_uploaded);
	memset(&rival, 0, sizeof(rival));
	free_segment();
	close_device(engine);
}

/* Where nothing has to be copied, but counting has been slower than the rival, jobs are declined, too; not for ever. */
static void
test_slow_counting(GenieRandom *random)
{
	GenieEngine *engine = open_device();
	uint32_t	n_counted;

	genie_multiload_doubt_s = 1e9;
	do
	{
		if (image.n_groups > 0)
			free_segment();
		device.room = make_segment(random, 1) - 1;
	} while (!genie_image_has_codes(&image) || genie_image_is_codes(&image));
	for (int batch = 0; batch < 40; batch++)	/* of all numbers of jobs; the codes have room together */
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	rival.n_threads = 1000000;
	rival.costs.posting_ns = 0.001;
	n_counted = device.n_counted;
	for (int batch = 0; batch < 20; batch++)
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	CHECK_INT(device.n_counted, n_counted);
	genie_multiload_doubt_s = 1e-9;
	for (int batch = 0; batch < 20 && device.n_counted == n_counted; batch++)
		(void) run_random(engine, random, GENIE_STATUS_DECLINED);
	CHECK(device.n_counted > n_counted);
	genie_multiload_doubt_s = 30;
	memset(&rival, 0, sizeof(rival));
	free_segment();
	close_device(engine);
}

/* A segment that has lists, and a job about it that ranks all objects by lists alone. */
static void
make_plain(GenieRandom *random, GenieJob *job)
{
	do
	{
		if (image.n_groups > 0)
			free_segment();
		(void) make_segment(random, 1);
	} while (genie_image_is_codes(&image));
	for (;;)
	{
		random_job(random, &model, &image, job);
		if (job->kind == GENIE_JOB_TOP && job->n_conditions == 0 && job->n_tiles == 4)
			break;
		free_job(job);
	}
}

/* Of what is forgotten by and by: half of it in a minute. */
static bool
is_about(double times, double noted)
{
	return times < noted * 1.001 && times > noted / 1.5;
}

/* What the rival took is remembered, of the images that it did last. */
static void
test_rival_learns(GenieRandom *random)
{
	GenieJob	job;
	GenieJob	second;
	GenieJob   *jobs[] = {&job};
	GenieJob	third;
	GenieJob   *both[] = {&job, &second, &third};
	GenieJob   *alike[] = {&job, &third};
	GenieSegmentImage other;
	double		ns;

	make_plain(random, &job);
	rival = (GenieRival) {.n_threads = 3, .costs = {.posting_ns = 0.5, .piece_ns = 3e6}};
	ns = genie_rival_ns(&rival, 1, jobs);
	CHECK(ns >= 4e6);
	genie_rival_note(&rival, 1, jobs, 7 * ns);
	CHECK(is_about(genie_rival_ns(&rival, 1, jobs) / ns, 7));
	genie_rival_note(&rival, 1, jobs, ns / 3);
	CHECK(fabs(genie_rival_ns(&rival, 1, jobs) / ns - 1) < 1e-9);
	genie_rival_note(&rival, 1, jobs, 5 * ns);
	other = image;
	job.image = &other;
	for (uint32_t i = 0; i < GENIE_RIVAL_NOTES; i++)
	{
		other.id++;
		CHECK(fabs(genie_rival_ns(&rival, 1, jobs) / ns - 1) < 1e-9);
		if (i == GENIE_RIVAL_NOTES - 1)
		{
			other.id = image.id;
			CHECK(is_about(genie_rival_ns(&rival, 1, jobs) / ns, 5));
			other.id += GENIE_RIVAL_NOTES;
		}
		genie_rival_note(&rival, 1, jobs, 2 * ns);
	}
	other.id = image.id;
	CHECK(fabs(genie_rival_ns(&rival, 1, jobs) / ns - 1) < 1e-9);

	/* of two images together, both; of what took little time, none */
	second = job;
	second.image = &image;
	third = job;
	other.id++;
	memset(rival.notes, 0, sizeof(rival.notes));
	genie_rival_note(&rival, 3, both, 3 * (ns + genie_rival_ns(&rival, 2, alike)));
	for (uint32_t i = 0; i < 3; i++)
		CHECK(is_about(genie_rival_ns(&rival, 1, &both[i]) / ns, 3));
	memset(rival.notes, 0, sizeof(rival.notes));
	genie_rival_note(&rival, 3, both, GENIE_RIVAL_NOTE_NS / 2);
	CHECK_INT(rival.notes[0].id, 0);
	free_job(&job);
	memset(&rival, 0, sizeof(rival));
	free_segment();
}

/* Which batches the rival has done before a device would have begun. */
static void
test_little(GenieRandom *random)
{
	GenieJob	job;
	GenieJob	other;
	GenieJob   *jobs[] = {&job, &other};

	make_plain(random, &job);
	other = job;
	rival = (GenieRival) {.n_threads = 3, .takes_little = true, .costs = {.posting_ns = 1e-9, .piece_ns = 1e6}};
	for (uint32_t n = 1; n <= 2; n++)
	{
		/* if a device takes little longer than the rival, it is asked; not if it takes several times as long */
		CHECK(!genie_rival_is_first(&rival, 4e6 * n * 1.5, n, jobs));
		CHECK(genie_rival_is_first(&rival, 4e6 * n * 3, n, jobs));
	}
	CHECK(!genie_rival_is_first(&rival, 0, 1, jobs));
	rival.takes_little = false;
	CHECK(!genie_rival_is_first(&rival, 1e9, 1, jobs));
	rival.takes_little = true;
	other.kind = GENIE_JOB_TALLY;
	CHECK(!genie_rival_is_first(&rival, 1e9, 2, jobs));
	other = job;
	if (job.query.n_ranges > 0)
	{
		GenieRankRange bad = {0, image.n_keywords + 1};

		other.query.ranges = &bad;
		other.query.n_ranges = 1;
		CHECK(!genie_rival_is_first(&rival, 1e9, 2, jobs));
	}
	rival.n_threads = 0;
	CHECK(!genie_rival_is_first(&rival, 1e9, 1, jobs));
	free_job(&job);
	memset(&rival, 0, sizeof(rival));
	free_segment();
}

/* ---- vectors ---- */

static void
test_vectors(GenieRandom *random)
{
	enum {N_TILES = 6};
	const GenieValueShape shape = {.metric = GENIE_METRIC_L2, .n_dimensions = DIMENSIONS};
	size_t		n_bytes = genie_value_record_bytes(shape.metric, DIMENSIONS);
	uint8_t    *records = malloc(GENIE_TILE_OBJECTS * n_bytes);
	const void *tiles[N_TILES];
	uint64_t   *live = malloc(N_TILES * GENIE_TILE_BITMAP_BYTES);
	GenieQuantizedVectors vectors = genie_vectors(9, shape.metric, DIMENSIONS, N_TILES * GENIE_TILE_OBJECTS - 99,
												  tiles);
	GenieSegmentImage rows = {.id = 8, .n_objects = vectors.n_objects, .n_tiles = N_TILES, .live = live};
	GenieValueQuery *scan = malloc(genie_value_query_bytes(shape.metric, DIMENSIONS));
	static GenieHit hits[2][500];
	GenieEngine *engine = open_device();

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i++)
	{
		float		elements[DIMENSIONS];

		for (uint32_t d = 0; d < DIMENSIONS; d++)
			elements[d] = (float) genie_random_below(random, 50);
		genie_value_record(shape, (GenieVector) {elements, DIMENSIONS, false}, records + i * n_bytes);
	}
	for (uint32_t t = 0; t < N_TILES; t++)
	{
		tiles[t] = malloc(GENIE_TILE_OBJECTS * n_bytes);
		/* ties over tiles */
		memcpy((void *) tiles[t], records, GENIE_TILE_OBJECTS * n_bytes);
	}
	memset(live, 0xff, N_TILES * GENIE_TILE_BITMAP_BYTES);
	for (uint32_t i = vectors.n_objects; i < N_TILES * GENIE_TILE_OBJECTS; i++)
		live[i / 64] &= ~(UINT64_C(1) << (i % 64));
	device.room = 4 * GENIE_TILE_OBJECTS * n_bytes + 100000;
	for (uint32_t round = 0; round < 6; round++)
	{
		const float elements[GENIE_QUANTIZED_ALIGN] = {(float) round, 2, 3};
		GenieJob	job = {.kind = GENIE_JOB_SCAN, .image = &rows, .first_tile = round % 2,
		.n_tiles = N_TILES - round % 3, .k = round == 5 ? 500 : 10, .min_key = 1, .vectors = &vectors, .scan = scan,
		.scan_bytes = genie_value_query_bytes(shape.metric, DIMENSIONS)};

		job.n_tiles -= job.first_tile;
		genie_value_query(shape, (GenieVector) {elements, DIMENSIONS, false}, scan);
		for (uint32_t way = 0; way < 2; way++)
		{
			GenieEngine *by = way == 0 ? engine : device.cpu;

			job.out = hits[way];
			CHECK_INT(by->ops->run(by, 1, &job), GENIE_OK);
			CHECK_INT(job.status, GENIE_OK);
			CHECK_INT(job.n_hits, job.k);
		}
		CHECK(memcmp(hits[0], hits[1], job.k * sizeof(GenieHit)) == 0);
	}
	CHECK(device.uploaded > vectors.n_objects * (uint64_t) n_bytes);
	for (uint32_t t = 0; t < N_TILES; t++)
		free((void *) tiles[t]);
	free(records);
	free(live);
	free(scan);
	close_device(engine);
}

int
main(void)
{
	GenieRandom random = {20261126};

	test_answers(&random);
	test_failures(&random);
	test_rival(&random);
	test_slow_counting(&random);
	test_rival_learns(&random);
	test_little(&random);
	test_vectors(&random);
	return genie_test_end();
}

/*
 * genie_fake_engine.c
 *	  An engine in a library that answers through the CPU engine, or by itself what that leaves to devices, and fails
 *	  when it is told to.
 *
 * With it, what a server does when its GPU fails is tested on machines that have none.  It is opened
 * like any other engine library, and is never installed.
 *
 * GENIE_FAKE_ENGINE names a file that is read again for each batch and when the engine is opened.  It holds words:
 *
 *	retry, no_room		no job is done, all get this status
 *	lost				the same, and the engine stays lost
 *	slow MILLISECONDS	the batch takes that much longer; interrupts are heard
 *	hold				the batch takes until the file says something else; interrupts are heard
 *	little				of what is found for exact search, twice as much is said to be as there is room for
 *	bounds				what wants bounds of distances gets them, all 0; else none is given, as by the CPU engine
 *	open STATUS			opening fails: unavailable, no_room, lost or retry
 *	devices NUMBER		there are so many; it is read when they are opened
 *	cut BYTES			images and vectors from this size on are cut between devices; it is read when they are opened
 *	batch_ns NUMBER		what it says that any batch takes; it is read when it is opened
 *	device NUMBER		what the file says holds for that device only
 *	memory BYTES		so many are for copies of images and vectors; it is read at any time.  If what is on the device
 *						alone (GENIE_JOB_STAGE) has more, it is dropped
 *	once				what the file says holds for the next batch (or opening) only: the file is emptied then
 *
 * No file, an empty one or no variable: all is well.
 *
 * GENIE_FAKE_ENGINE_LOG names a file to which a line is appended for each thing that the engine is told:
 * "open", "batch JOBS IMAGES", "vectors JOBS ID" after it if some jobs want bounds, with the id of one's vectors,
 * "nearest QUERIES ROWS", "hash VECTORS FUNCTIONS" and "stage ID GROUPS" (or tiles of vectors, those that are copied)
 * for each such job that is done, "level LEVEL OBJECTS", "prefetch ID", "pin BYTES", "forget ID", "limit BYTES",
 * "close".  All devices but the first say their number and a colon before.
 *
 * Compiled with GENIE_FAKE_ABI it says that it has that ABI, to be refused.
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "genie_engine_cpu.h"
#include "genie_engines.h"

#ifndef GENIE_FAKE_ABI
#define GENIE_FAKE_ABI GENIE_ENGINE_ABI
#endif

#define CONTROL_VARIABLE "GENIE_FAKE_ENGINE"
#define LOG_VARIABLE "GENIE_FAKE_ENGINE_LOG"
#define CONTROL_MAX 1000		/* bytes of the control file */
#define DEVICE_BYTES (UINT64_C(1) << 30)	/* what the fake device says it has */
#define MEMORY_ALIGNMENT 64
#define SLEEP_MS 5				/* between two looks at the interrupts */

/* An image, or vectors, that are here alone. */
typedef struct FakeImage
{
	struct FakeImage *next;
	uint64_t	id;
	uint64_t	n_bytes;		/* of all its parts */
	bool		dropped;		/* there was no room for it any more */
	uint32_t	n_parts;		/* groups, or tiles of vectors */
	uint32_t	n_wanted;		/* that are to be here */
	uint32_t	n_there;
	void	   *parts[];		/* NULL: not there (yet) */
} FakeImage;

typedef struct FakeEngine
{
	GenieEngine engine;
	uint32_t	device;
	GenieEngine *cpu;			/* does the work */
	void	   *memory;			/* the CPU engine's */
	uint64_t	limit;
	bool		lost;
	FakeImage  *images;
} FakeEngine;

/* What the control file says. */
typedef struct FakeOrder
{
	GenieStatus batch;
	GenieStatus open;
	long		slow_ms;
	bool		hold;
	bool		little;
	bool		bounds;
	bool		once;
	uint32_t	n_devices;
	long		device;			/* that it is for; -1: all */
	uint64_t	memory;
	uint64_t	cut;
	double		batch_ns;
} FakeOrder;

static GenieStatus
status_named(const char *word)
{
	if (strcmp(word, "retry") == 0)
		return GENIE_STATUS_RETRY;
	if (strcmp(word, "no_room") == 0)
		return GENIE_STATUS_NO_ROOM;
	if (strcmp(word, "lost") == 0)
		return GENIE_STATUS_LOST;
	if (strcmp(word, "unavailable") == 0)
		return GENIE_STATUS_UNAVAILABLE;
	return GENIE_OK;
}

static const FakeOrder no_order = {.n_devices = 1, .device = -1, .memory = UINT64_MAX,
	.cut = GENIE_ENGINES_CUT_BYTES};

static FakeOrder
read_file(void)
{
	FakeOrder	order = no_order;
	const char *path = getenv(CONTROL_VARIABLE);
	FILE	   *file = path == NULL ? NULL : fopen(path, "r");
	char		text[CONTROL_MAX + 1];
	char	   *rest = text;
	char	   *word;

	if (file == NULL)
		return order;
	text[fread(text, 1, CONTROL_MAX, file)] = '\0';
	fclose(file);
	while ((word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
	{
		if (strcmp(word, "once") == 0)
			order.once = true;
		else if (strcmp(word, "hold") == 0)
			order.hold = true;
		else if (strcmp(word, "little") == 0)
			order.little = true;
		else if (strcmp(word, "bounds") == 0)
			order.bounds = true;
		else if (strcmp(word, "devices") == 0 && (word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
			order.n_devices = (uint32_t) atol(word);
		else if (word != NULL && strcmp(word, "device") == 0 && (word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
			order.device = atol(word);
		else if (word != NULL && strcmp(word, "memory") == 0 && (word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
			order.memory = strtoull(word, NULL, 10);
		else if (word != NULL && strcmp(word, "cut") == 0 && (word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
			order.cut = strtoull(word, NULL, 10);
		else if (word != NULL && strcmp(word, "batch_ns") == 0 && (word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
			order.batch_ns = atof(word);
		else if (word != NULL && strcmp(word, "slow") == 0 && (word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
			order.slow_ms = atol(word);
		else if (word != NULL && strcmp(word, "open") == 0 && (word = strtok_r(rest, " \t\r\n", &rest)) != NULL)
			order.open = status_named(word);
		else if (word != NULL)
			order.batch = status_named(word);
	}
	return order;
}

/* What the control file says to a device. */
static FakeOrder
read_order(uint32_t device)
{
	FakeOrder	order = read_file();

	return order.device < 0 || order.device == (long) device ? order : no_order;
}

/* Empties the control file of an order that was for once. */
static void
obeyed(const FakeOrder *order)
{
	FILE	   *file = order->once ? fopen(getenv(CONTROL_VARIABLE), "w") : NULL;

	if (file != NULL)
		fclose(file);
}

static void
say(uint32_t device, const char *format,...)
{
	const char *path = getenv(LOG_VARIABLE);
	FILE	   *file = path == NULL ? NULL : fopen(path, "a");
	va_list		args;

	if (file == NULL)
		return;
	if (device > 0)
		fprintf(file, "%u: ", device);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fputc('\n', file);
	fclose(file);
}

static const char *
sentence(GenieStatus status)
{
	switch (status)
	{
		case GENIE_STATUS_RETRY:
			return "the fake device failed for once";
		case GENIE_STATUS_NO_ROOM:
			return "the fake device is full";
		case GENIE_STATUS_LOST:
			return "the fake device is lost";
		default:
			return "there is no fake device";
	}
}

/* Takes as long as the order says.  False: interrupted. */
static bool
take_time(GenieEngine *engine, const FakeOrder *order)
{
	uint32_t	device = ((FakeEngine *) (void *) engine)->device;

	for (long ms = 0; ms < order->slow_ms || (order->hold && read_order(device).hold); ms += SLEEP_MS)
	{
		struct timespec pause = {0, SLEEP_MS * 1000000L};

		if (engine->interrupted != NULL && engine->interrupted())
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static uint32_t
count_images(uint32_t n_jobs, const GenieJob *jobs)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < n_jobs; i++)
	{
		uint32_t	before = 0;

		while (before < i && (jobs[before].image == NULL || jobs[i].image == NULL ||
							  jobs[before].image->id != jobs[i].image->id))
			before++;
		n += before == i && jobs[i].image != NULL;
	}
	return n;
}

/* Says which jobs want bounds, if any do; gives: they get the least that there are. */
static void
run_bounds(const FakeEngine *fake, uint32_t n_jobs, GenieJob *jobs, bool gives)
{
	const GenieQuantizedVectors *vectors = NULL;
	uint32_t	n = 0;

	for (uint32_t i = 0; i < n_jobs; i++)
	{
		if (jobs[i].kind != GENIE_JOB_TOP || jobs[i].vectors == NULL)
			continue;
		vectors = jobs[i].vectors;
		n++;
		if (!gives || jobs[i].status != GENIE_OK)
			continue;
		memset(jobs[i].bounds, 0, jobs[i].n_hits * sizeof(float));
		jobs[i].has_bounds = true;
	}
	if (n > 0)
		say(fake->device, "vectors %u %" PRIu64, n, vectors->id);
}

static GenieStatus
fail_all(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs, GenieStatus status)
{
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		jobs[i].n_hits = 0;
		jobs[i].status = status;
	}
	if (status != GENIE_STATUS_CANCELLED)
		snprintf(engine->error, sizeof(engine->error), "%s", sentence(status));
	return status == GENIE_STATUS_LOST ? status : GENIE_OK;
}

/* A job of exact search, by the definition (genie_nearest.h). */
static void
run_nearest(const FakeEngine *fake, GenieJob *job, bool little)
{
	const GenieNearest *nearest = job->nearest;
	GeniePair  *pairs = job->out;

	say(fake->device, "nearest %u %u", nearest->n_queries, nearest->n_rows);
	job->n_hits = 0;
	for (uint32_t q = 0; q < nearest->n_queries; q++)
		for (uint32_t r = 0; r < nearest->n_rows; r++)
		{
			float		sum = 0;

			for (uint32_t d = 0; d < nearest->n_dimensions; d++)
			{
				float		x = nearest->rows[(size_t) r * nearest->n_dimensions + d];
				float		y = nearest->queries[(size_t) q * nearest->n_dimensions + d];

				sum += nearest->differences ? fabsf(x - y) : -2 * x * y;
			}
			if (nearest->terms[r] + sum > nearest->bounds[q])
				continue;
			if (job->n_hits < job->k)
				pairs[job->n_hits] = (GeniePair) {q, r};
			job->n_hits++;
		}
	if (little)
		job->n_hits = 2 * job->k;
	job->status = GENIE_OK;
}

/* A job of hashing, by the functions that it brings. */
static void
run_hash(const FakeEngine *fake, GenieJob *job)
{
	const GenieHashing *hashing = job->hashing;
	void	   *memory = malloc(genie_lsh_size(&hashing->parameters));
	GenieLsh   *lsh;

	say(fake->device, "hash %u %u", hashing->n_vectors, hashing->parameters.n_functions);
	if (memory == NULL)
	{
		job->status = GENIE_STATUS_NO_ROOM;
		return;
	}
	lsh = genie_lsh_make(memory, &hashing->parameters);
	lsh->largest = INFINITY;
	memcpy(lsh->table, hashing->table, genie_hashing_entries(hashing) * sizeof(float));
	memcpy(lsh->seeds, hashing->seeds, genie_hashing_rows(hashing) * sizeof(uint32_t));
	if (lsh->shifts != NULL)
		memcpy(lsh->shifts, hashing->shifts, genie_hashing_rows(hashing) * sizeof(double));
	genie_lsh_hash(lsh, hashing->vectors, hashing->n_vectors, job->out);
	free(memory);
	job->status = GENIE_OK;
}

/* ---- images that are here alone ---- */

static FakeImage *
find_image(const FakeEngine *fake, uint64_t id)
{
	FakeImage  *image = fake->images;

	while (image != NULL && image->id != id)
		image = image->next;
	return image;
}

static uint64_t
staying_bytes(const FakeEngine *fake)
{
	uint64_t	n_bytes = 0;

	for (const FakeImage *image = fake->images; image != NULL; image = image->next)
		n_bytes += image->dropped ? 0 : image->n_bytes;
	return n_bytes;
}

/* Bytes of a part of what is staged; 0: it is not for this device. */
static size_t
part_bytes(const GenieJob *job, uint32_t part)
{
	if (job->vectors == NULL)
		return job->image->groups[part]->n_bytes;
	return genie_vectors_in_tile(job->vectors, part) *
		genie_value_record_bytes(job->vectors->metric, job->vectors->n_dimensions);
}

/* Where it is; NULL: not here. */
static const void *
part_given(const GenieJob *job, uint32_t part)
{
	if (job->vectors != NULL)
		return job->vectors->tiles[part];
	return genie_image_is_head(job->image->groups[part]) ? NULL : job->image->groups[part];
}

/* Is it in the job's tiles? */
static bool
part_is_wanted(const GenieJob *job, uint32_t part)
{
	uint32_t	first = job->vectors != NULL ? part : job->image->groups[part]->first_tile;
	uint32_t	n = job->vectors != NULL ? 1 : job->image->groups[part]->n_tiles;

	return first >= job->first_tile && first + n <= job->first_tile + job->n_tiles;
}

/* What a job stages as it is to be here, with room for its parts.  NULL: there is none. */
static FakeImage *
stage_image(FakeEngine *fake, const GenieJob *job, uint64_t room)
{
	uint64_t	id = job->vectors != NULL ? job->vectors->id : job->image->id;
	uint32_t	n_parts = job->vectors != NULL ? job->vectors->end_tile : job->image->n_groups;
	FakeImage  *found = find_image(fake, id);
	uint64_t	n_bytes = 0;
	uint32_t	n_wanted = 0;

	if (found != NULL)
		return found->dropped ? NULL : found;
	for (uint32_t p = 0; p < n_parts; p++)
	{
		n_bytes += part_bytes(job, p);
		n_wanted += part_bytes(job, p) > 0;
	}
	if (n_bytes + staying_bytes(fake) > room)
		return NULL;
	found = calloc(1, sizeof(FakeImage) + n_parts * sizeof(void *));
	if (found == NULL)
		return NULL;
	found->id = id;
	found->n_bytes = n_bytes;
	found->n_parts = n_parts;
	found->n_wanted = n_wanted;
	found->next = fake->images;
	return fake->images = found;
}

static void
run_stage(FakeEngine *fake, GenieJob *job, uint64_t room)
{
	FakeImage  *to = stage_image(fake, job, room);
	uint32_t	n_copied = 0;

	job->n_hits = 0;
	job->status = to == NULL ? GENIE_STATUS_NO_ROOM : GENIE_OK;
	for (uint32_t p = 0; to != NULL && p < to->n_parts; p++)
	{
		void	   *memory;

		if (part_bytes(job, p) == 0 || !part_is_wanted(job, p))
			continue;
		if (part_given(job, p) != NULL && to->parts[p] == NULL &&
			posix_memalign(&memory, MEMORY_ALIGNMENT, part_bytes(job, p)) == 0)
		{
			to->parts[p] = memcpy(memory, part_given(job, p), part_bytes(job, p));
			to->n_there++;
			n_copied++;
		}
		job->n_hits += to->parts[p] != NULL;
	}
	say(fake->device, "stage %" PRIu64 " %u", job->image->id, n_copied);
}

/* Drops what is here alone if it has more than the room. */
static void
drop_images(FakeEngine *fake, uint64_t room)
{
	bool		full = staying_bytes(fake) > room;

	for (FakeImage *image = fake->images; image != NULL; image = image->next)
		image->dropped = image->dropped || full;
}

/* What is here of it, whole.  NULL: nothing. */
static const FakeImage *
whole_image(const FakeEngine *fake, uint64_t id)
{
	const FakeImage *image = find_image(fake, id);

	return image == NULL || image->dropped || image->n_there < image->n_wanted ? NULL : image;
}

/* Has the CPU engine count jobs; those of heads, or of vectors that are NULL, by the copies. */
static GenieStatus
run_by_cpu(FakeEngine *fake, uint32_t n_jobs, GenieJob *jobs)
{
	GenieSegmentImage *images = calloc(n_jobs + 1, sizeof(GenieSegmentImage));
	GenieQuantizedVectors *vectors = calloc(n_jobs + 1, sizeof(GenieQuantizedVectors));
	GenieJob   *given = calloc(n_jobs + 1, sizeof(GenieJob));
	GenieStatus status;

	for (uint32_t i = 0; i < n_jobs && images != NULL && vectors != NULL && given != NULL; i++)
	{
		const FakeImage *of_image = jobs[i].image == NULL ? NULL : whole_image(fake, jobs[i].image->id);
		const FakeImage *of_vectors = jobs[i].vectors == NULL ? NULL : whole_image(fake, jobs[i].vectors->id);

		given[i] = jobs[i];
		if (of_image != NULL)
		{
			images[i] = *jobs[i].image;
			images[i].groups = (const GenieImageGroup *const *) of_image->parts;
			jobs[i].image = &images[i];
		}
		if (of_vectors != NULL)
		{
			vectors[i] = *jobs[i].vectors;
			vectors[i].tiles = (const void *const *) of_vectors->parts;
			jobs[i].vectors = &vectors[i];
		}
	}
	status = fake->cpu->ops->run(fake->cpu, n_jobs, jobs);
	for (uint32_t i = 0; i < n_jobs && images != NULL && vectors != NULL && given != NULL; i++)
	{
		jobs[i].image = given[i].image;
		jobs[i].vectors = given[i].vectors;
	}
	free(images);
	free(vectors);
	free(given);
	return status;
}

static bool
each_block(void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	const GenieEngine *engine = arg;

	for (uint32_t block = 0; block < n_blocks; block++)
	{
		if (engine->interrupted != NULL && engine->interrupted())
			return false;
		do_block(work, block);
	}
	return true;
}

/* Makes a level of a graph as the CPU does. */
static void
run_level(FakeEngine *fake, GenieJob *job)
{
	const GenieProximityWorkers workers = {&fake->engine, each_block, NULL};
	const GenieProximityLevel *level = job->level;
	size_t		n_bytes = genie_value_record_bytes(job->vectors->metric, job->vectors->n_dimensions);
	bool	   *is_known = malloc(job->vectors->n_objects * sizeof(bool));

	if (!genie_job_level_fits(job) || job->vectors->tiles[0] == NULL || is_known == NULL)
		job->status = GENIE_STATUS_DECLINED;
	else
	{
		for (uint32_t i = 0; i < job->vectors->n_objects; i++)
			is_known[i] = ((const GenieQuantized *) genie_vectors_record(job->vectors, n_bytes, i))->error <= FLT_MAX;
		job->status = genie_proximity_level_edges(level, job->vectors, is_known, &workers, job->graph) ==
			GENIE_PROXIMITY_BUILT ? GENIE_OK : GENIE_STATUS_CANCELLED;
		genie_proximity_name_edges(level, job->graph);
		say(fake->device, "level %u %u", level->level, level->n);
	}
	free(is_known);
}

static GenieStatus
fake_run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	FakeEngine *fake = (FakeEngine *) (void *) engine;
	FakeOrder	order = read_order(fake->device);
	GenieStatus status;

	say(fake->device, "batch %u %u", n_jobs, count_images(n_jobs, jobs));
	engine->error[0] = '\0';
	obeyed(&order);
	fake->lost = fake->lost || order.batch == GENIE_STATUS_LOST;
	if (!take_time(engine, &order))
		return fail_all(engine, n_jobs, jobs, GENIE_STATUS_CANCELLED);
	if (fake->lost || order.batch != GENIE_OK)
		return fail_all(engine, n_jobs, jobs, fake->lost ? GENIE_STATUS_LOST : order.batch);

	fake->cpu->interrupted = engine->interrupted;
	drop_images(fake, order.memory);
	status = run_by_cpu(fake, n_jobs, jobs);
	memcpy(engine->error, fake->cpu->error, sizeof(engine->error));
	for (uint32_t i = 0; i < n_jobs; i++)
		if (jobs[i].kind == GENIE_JOB_NEAREST)
			run_nearest(fake, &jobs[i], order.little);
		else if (jobs[i].kind == GENIE_JOB_HASH)
			run_hash(fake, &jobs[i]);
		else if (jobs[i].kind == GENIE_JOB_STAGE)
			run_stage(fake, &jobs[i], order.memory);
		else if (jobs[i].kind == GENIE_JOB_LEVEL)
			run_level(fake, &jobs[i]);
	run_bounds(fake, n_jobs, jobs, order.bounds);
	return status;
}

static void
fake_forget(GenieEngine *engine, uint64_t id)
{
	FakeEngine *fake = (FakeEngine *) (void *) engine;

	say(fake->device, "forget %" PRIu64, id);
	for (FakeImage **at = &fake->images; *at != NULL;)
	{
		FakeImage  *image = *at;

		if (image->id != id)
		{
			at = &image->next;
			continue;
		}
		*at = image->next;
		for (uint32_t p = 0; p < image->n_parts; p++)
			free(image->parts[p]);
		free(image);
	}
}

/* It keeps no pieces (genie_multiload.c), and says that it has a copy of all else, but for what it dropped. */
static bool
fake_has(GenieEngine *engine, uint64_t id)
{
	FakeEngine *fake = (FakeEngine *) (void *) engine;
	const FakeImage *image = find_image(fake, id);

	drop_images(fake, read_order(fake->device).memory);
	if (image != NULL)
		return whole_image(fake, id) != NULL;
	return id < UINT64_C(1) << 62;
}

static void
fake_prefetch(GenieEngine *engine, const GenieSegmentImage *image, const GenieQuantizedVectors *vectors)
{
	say(((FakeEngine *) (void *) engine)->device, "prefetch %" PRIu64, image != NULL ? image->id : vectors->id);
}

static bool
fake_pin(GenieEngine *engine, void *memory, size_t bytes)
{
	(void) memory;
	say(((FakeEngine *) (void *) engine)->device, "pin %zu", bytes);
	return true;
}

static void
fake_set_memory_limit(GenieEngine *engine, uint64_t bytes)
{
	((FakeEngine *) (void *) engine)->limit = bytes;
	say(((FakeEngine *) (void *) engine)->device, "limit %" PRIu64, bytes);
}

static void
fake_set_kernels(GenieEngine *engine, GenieKernelChoice choice)
{
	FakeEngine *fake = (FakeEngine *) (void *) engine;

	fake->cpu->ops->set_kernels(fake->cpu, choice);
}

static uint32_t
fake_devices(GenieEngine *engine, GenieDeviceInfo *info, uint32_t max)
{
	uint64_t	limit = ((FakeEngine *) (void *) engine)->limit;

	if (max >= 1)
	{
		memset(info, 0, sizeof(GenieDeviceInfo));
		info->device = ((FakeEngine *) (void *) engine)->device;
		snprintf(info->name, sizeof(info->name), "fake");
		info->memory_bytes = DEVICE_BYTES;
		info->limit_bytes = limit == 0 || limit > DEVICE_BYTES ? DEVICE_BYTES : limit;
		info->staying_bytes = staying_bytes((FakeEngine *) (void *) engine);
		info->image_limit_bytes = read_order(info->device).memory;
		if (info->image_limit_bytes < UINT64_MAX)
			info->image_limit_bytes -= info->staying_bytes < info->image_limit_bytes ? info->staying_bytes :
				info->image_limit_bytes;
	}
	return 1;
}

static void
fake_close(GenieEngine *engine)
{
	FakeEngine *fake = (FakeEngine *) (void *) engine;

	say(fake->device, "close");
	while (fake->images != NULL)
		fake_forget(engine, fake->images->id);
	fake->cpu->ops->close(fake->cpu);
	free(fake->memory);
	free(fake);
}

static const GenieEngineOps fake_ops = {
	.abi = GENIE_ENGINE_ABI,
	.name = "fake",
	.run = fake_run,
	.forget = fake_forget,
	.has = fake_has,
	.prefetch = fake_prefetch,
	.pin = fake_pin,
	.set_memory_limit = fake_set_memory_limit,
	.set_kernels = fake_set_kernels,
	.devices = fake_devices,
	.close = fake_close,
};

static GenieStatus
fake_open(const GenieEngineOptions *options, GenieEngine **engine, char *error)
{
	FakeOrder	order = read_order(options->device);
	FakeEngine *fake;

	*engine = NULL;
	say(options->device, "open");
	if (order.open != GENIE_OK)
	{
		obeyed(&order);
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "%s", sentence(order.open));
		return order.open;
	}
	fake = calloc(1, sizeof(FakeEngine));
	if (fake == NULL || posix_memalign(&fake->memory, MEMORY_ALIGNMENT, genie_cpu_engine_size()) != 0)
	{
		free(fake);
		snprintf(error, GENIE_ENGINE_ERROR_MAX, "there is no memory for the fake engine");
		return GENIE_STATUS_NO_ROOM;
	}
	fake->cpu = genie_cpu_engine_open(fake->memory);
	fake->device = options->device;
	fake->limit = options->memory_limit;
	fake->engine.ops = &fake_ops;
	fake->engine.batch_ns = read_file().batch_ns;
	*engine = &fake->engine;
	return GENIE_OK;
}

static uint32_t
fake_n_devices(void)
{
	return read_file().n_devices;
}

static uint64_t
fake_cut_bytes(void)
{
	return read_file().cut;
}

extern const GenieEngineLibrary genie_engine_library;

__attribute__((visibility("default")))
const GenieEngineLibrary genie_engine_library = {
	.magic = GENIE_ENGINE_LIBRARY_MAGIC,
	.abi = GENIE_FAKE_ABI,
	.n_devices = fake_n_devices,
	.open = fake_open,
	.cut_bytes = fake_cut_bytes,
};

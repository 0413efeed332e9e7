/*
 * genie_worker.c
 *	  The background worker: takes backends' requests, counts them as one batch, answers.
 *
 * It has no database connection (a connected worker would stand in the way of DROP DATABASE), touches no
 * buffers and no relations, and reads images in shared memory only.  Now and then it looks whether the files of their
 * indexes are still there (genie_eviction_sweep), writes down which there are (genie_autoprewarm), and has loaders
 * started (genie_loader).  No other process has an engine on these images: a GPU engine where there is a usable GPU,
 * and always the CPU engine, which does what the GPU could not.
 *
 * Loop.  Batching is natural: it takes all requests that are ready (up to genie.max_batch queries), counts them at
 * once, answers, and looks again; it sleeps when there are none.  Requests that come while it counts are
 * the next batch.  Nothing waits for a batch to fill.
 *
 * A batch.  Images are pinned as long as the batch runs, so that they are not evicted; a job whose image has gone, or
 * is older than the scan that asks, is answered "gone".  Jobs that the GPU engine could not do (it failed, or the image
 * does not fit the device) the CPU engine does in the same batch.  No lock is held meanwhile.  A job of exact search or
 * of hashing has no image and is for the GPU engine alone; if that fails, the backend does it.  Where a search by
 * distance wants bounds of the hits' distances (genie_quantized.h), the segment's quantized vectors are pinned, too,
 * and go along with the job; if an engine has counted without bounds, the CPU's threads compute them afterwards.
 *
 * Ends, and what the exit status means to the postmaster:
 *
 *	SIGTERM, the server stops		status 1: restarted after RESTART_SECONDS, unless the server stops
 *	the device is lost				the same, in a new process: a CUDA context cannot be revived
 *	an ERROR of PostgreSQL's		the same
 *	any signal that kills it		the postmaster restarts the whole server
 *	(status 0 would mean: never again)
 *
 * On each of the first three a callback (leave) answers all waiting backends, and voids pins.  After LOSSES_MAX losses
 * in a row, each within LOSS_WINDOW_MS of the one before, a GPU is left alone until settings are reloaded.
 *
 * Of several GPUs (engine/devices/genie_engines.h), one may be lost while the others do its work.  Then the worker goes
 * on, and restarts when it has had nothing to do for LOST_IDLE_MS.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_autoprewarm.h"
#include "genie_compat.h"
#include "genie_cpu_plan.h"
#include "genie_directory.h"
#include "genie_engine_cpu.h"
#include "genie_engine_load.h"
#include "genie_eviction.h"
#include "genie_fault.h"
#include "genie_loader.h"
#include "genie_request.h"
#include "genie_stat.h"
#include "genie_wait_event.h"
#include "genie_worker.h"

#define RESTART_SECONDS 2
#define CPU_THREADS_AUTO 16		/* more gain little: they share the memory's bandwidth */
#define LOSSES_MAX 3
#define LOSS_WINDOW_MS (60 * 1000)
/*
 * Pinning takes 0.4 s a GB, in which the worker does nothing else, not even stop.  Of larger arenas only the requests'
 * part is pinned at once, and the images' part in steps, each when the worker has had nothing to do for PIN_IDLE_MS.
 */
#define PINNED_BYTES_MAX (UINT64CONST(8) << 30)
#define PIN_IDLE_MS 200
#define LOST_IDLE_MS 1000		/* a worker that has lost one of its devices restarts after doing nothing for so long */
#define SWEEP_MS (5 * 1000)		/* images of indexes that are gone are dropped so soon */
#define REOPEN_MS (60 * 1000)	/* a device that was full, or failed to open, is tried again after this */
#define SAME_ERROR_MS (60 * 1000)	/* the same error is logged again after this */

int			genie_worker_engine;
int			genie_worker_kernels;
int			genie_worker_cpu_threads;
int			genie_worker_gpu_devices;
int			genie_worker_gpu_memory;
char	   *genie_worker_gpu_library;

/* The worker's own; one a process. */
typedef struct GenieWorker
{
	GenieEngine *cpu;
	GenieRival	rival;			/* the same, as the GPU engine sees it */
	GenieEngine *gpu;			/* NULL: none */
	char		library[MAXPGPATH]; /* that gpu was opened from, */
	int			max_devices;	/* and on how many devices at most */
	uint32		n_devices;
	uint32		lost;			/* devices, a bit each, that the others do without, until a new process opens them */
	char	   *to_pin;			/* what is left of the images' memory to be pinned; NULL: nothing */
	Size		to_pin_bytes;
	bool		reopen;			/* try again at reopen_at */
	bool		reopen_anew;	/* in a new process, because the device was lost while it was opened */
	TimestampTz reopen_at;
	TimestampTz swept_at;
	GenieAutoprewarm kept;
	TimestampTz logged_at;
	char		logged[GENIE_ENGINE_ERROR_MAX];
	uint64		generation;		/* of the directory, when given was last looked through */
	GenieImageRef *given;		/* images and quantized vectors that the GPU engine may have copies of */
	uint32		n_given;
	uint32		given_capacity;
	MemoryContext batch_context;
	const GenieTaken *only;		/* the one request of the batch, if it is one */
	uint64		n_batches;
	uint64		n_on_gpu;		/* queries on a segment */
	uint64		n_on_cpu;
} GenieWorker;

static GenieWorker worker;

pg_noreturn PGDLLEXPORT void genie_worker_main(Datum arg);

void
genie_worker_register(void)
{
	BackgroundWorker registration;

	/* without images there is nothing to count */
	if (!process_shared_preload_libraries_in_progress || genie_shared_memory == 0)
		return;
	memset(&registration, 0, sizeof(registration));
	registration.bgw_flags = BGWORKER_SHMEM_ACCESS;
	registration.bgw_start_time = BgWorkerStart_ConsistentState;
	registration.bgw_restart_time = RESTART_SECONDS;
	strlcpy(registration.bgw_library_name, "genie", BGW_MAXLEN);
	strlcpy(registration.bgw_function_name, "genie_worker_main", BGW_MAXLEN);
	strlcpy(registration.bgw_name, "genie worker", BGW_MAXLEN);
	strlcpy(registration.bgw_type, "genie worker", BGW_MAXLEN);
	RegisterBackgroundWorker(&registration);
}

static bool
is_past(TimestampTz then, int ms)
{
	return TimestampDifferenceExceeds(then, GetCurrentTimestamp(), ms);
}

/* ---- engines ---- */

/* Engines ask this now and then: shall they stop? */
static bool
is_interrupted(void)
{
	return ShutdownRequestPending || (worker.only != NULL && genie_request_is_abandoned(worker.only));
}

static void
set_cpu_threads(void)
{
	long		n = genie_worker_cpu_threads;

	if (n == 0)
		n = Min(Max(sysconf(_SC_NPROCESSORS_ONLN), 1), CPU_THREADS_AUTO);
	worker.rival.n_threads = genie_cpu_engine_threads(worker.cpu, (uint32) n);
}

/* Tells the engine how to count, and reports the costs that it measured. */
static void
set_kernels(GenieEngine *engine)
{
	engine->ops->set_kernels(engine, (GenieKernelChoice) genie_worker_kernels);
	genie_stat_choices(engine != worker.cpu, &engine->choices, &engine->choices);
}

static void
open_cpu(void)
{
	char	   *memory = MemoryContextAllocHuge(TopMemoryContext, genie_cpu_engine_size() + 64);

	worker.cpu = genie_cpu_engine_open((void *) TYPEALIGN(64, memory));
	worker.cpu->interrupted = is_interrupted;
	set_cpu_threads();
	set_kernels(worker.cpu);
}

/* Logs a failure of the GPU engine, unless it said the same just now. */
static void
log_gpu_error(const char *error)
{
	genie_stat_error(error);
	if (strcmp(worker.logged, error) == 0 && !is_past(worker.logged_at, SAME_ERROR_MS))
		return;
	strlcpy(worker.logged, error, sizeof(worker.logged));
	worker.logged_at = GetCurrentTimestamp();
	ereport(LOG,
			(errmsg("the GPU could not do what was asked: %s", error),
			 errdetail("The CPU does it instead.")));
}

/* Says which devices the GPU engine has. */
static void
report_devices(GenieDeviceInfo *devices)
{
	worker.n_devices = worker.gpu->ops->devices(worker.gpu, devices, GENIE_DEVICES_MAX);
	genie_stat_devices(devices, worker.n_devices);
}

/* The devices that are not opened because they were lost too often, a bit each. */
static uint32
left_alone(const GenieWorkerReport *report)
{
	uint32		devices = 0;

	for (uint32 device = 0; device < GENIE_DEVICES_MAX; device++)
		if (report->losses[device].n_in_row >= LOSSES_MAX)
		{
			devices |= UINT32_C(1) << device;
			ereport(LOG,
					(errmsg("genie leaves GPU %u alone after %u losses in a row", device,
							report->losses[device].n_in_row),
					 errhint("Reload the settings, with SELECT pg_reload_conf(), to try it again.")));
		}
	return devices;
}

static void
open_gpu(void)
{
	GenieEngineOptions options = {0};
	GenieWorkerReport report;
	GenieStatCounters counters;
	char		error[GENIE_ENGINE_ERROR_MAX] = "";
	GenieStatus status;

	worker.reopen = false;
	if (genie_worker_engine == GENIE_ENGINE_CPU)
		return;
	genie_stat_read(&counters, &report);
	strlcpy(worker.library, genie_worker_gpu_library, sizeof(worker.library));
	worker.max_devices = genie_worker_gpu_devices;
	options.memory_limit = (uint64) genie_worker_gpu_memory * 1024;
	genie_arena_block(&options.arena, &options.arena_bytes);
	worker.to_pin = NULL;
	if (options.arena_bytes > PINNED_BYTES_MAX)
	{
		worker.to_pin = options.arena;
		worker.to_pin_bytes = genie_arena_image_bytes();
		genie_arena_request_block(&options.arena, &options.arena_bytes);
	}
	status = genie_engine_load(genie_worker_gpu_library, &options, &worker.rival, (uint32) worker.max_devices,
							   left_alone(&report), &worker.gpu, error);
	if (status == GENIE_OK)
	{
		GenieDeviceInfo devices[GENIE_DEVICES_MAX];

		report_devices(devices);
		worker.gpu->interrupted = is_interrupted;
		set_kernels(worker.gpu);
		ereport(LOG,
				(worker.n_devices == 1 ? errmsg("genie counts on the GPU: %s", devices[0].name) :
				 errmsg("genie counts on %u GPUs: %s", worker.n_devices, devices[0].name)));
		if (error[0] == '\0')
			return;
		genie_stat_error(error);
		ereport(LOG,
				(errmsg("a GPU is not used: %s", error)));
		return;
	}
	genie_stat_error(error);
	worker.reopen = status != GENIE_STATUS_UNAVAILABLE;
	worker.reopen_anew = status == GENIE_STATUS_LOST;
	worker.reopen_at = GetCurrentTimestamp();
	ereport(genie_worker_engine == GENIE_ENGINE_CUDA ? WARNING : LOG,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("genie counts on the CPU: %s", error)));
}

/* Pins the next step of the images' memory. */
static void
pin_more(void)
{
	Size		n = GENIE_ENGINE_PIN_STEP - (uintptr_t) worker.to_pin % GENIE_ENGINE_PIN_STEP;

	n = Min(n, worker.to_pin_bytes);
	if (!worker.gpu->ops->pin(worker.gpu, worker.to_pin, n))
	{
		ereport(LOG,
				(errmsg("could not pin all of genie's shared memory for the GPU"),
				 errdetail("Images are copied to the GPU more slowly from the rest of it.")));
		n = worker.to_pin_bytes;
	}
	worker.to_pin += n;
	worker.to_pin_bytes -= n;
	if (worker.to_pin_bytes == 0)
		worker.to_pin = NULL;
}

static void
close_gpu(void)
{
	if (worker.gpu != NULL)
		worker.gpu->ops->close(worker.gpu);
	worker.gpu = NULL;
	worker.to_pin = NULL;
	worker.n_given = 0;
	worker.lost = 0;
	genie_stat_devices(NULL, 0);
}

static void
report_state(GenieWorkerState state)
{
	genie_stat_worker(state, worker.gpu != NULL ? worker.gpu->ops->name : worker.cpu->ops->name);
}

/* Settings were reloaded. */
static void
reload(void)
{
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	genie_stat_forget_losses();
	set_cpu_threads();
	set_kernels(worker.cpu);
	if (worker.gpu != NULL && genie_worker_engine != GENIE_ENGINE_CPU &&
		strcmp(worker.library, genie_worker_gpu_library) == 0 && worker.max_devices == genie_worker_gpu_devices)
	{
		worker.gpu->ops->set_memory_limit(worker.gpu, (uint64) genie_worker_gpu_memory * 1024);
		set_kernels(worker.gpu);
	}
	else
	{
		close_gpu();
		open_gpu();
	}
	report_state(GENIE_WORKER_IDLE);
}

/* Has the GPU engine drop its copies of images that have gone. */
static void
forget_dropped(void)
{
	uint64		generation = genie_directory_generation();
	uint32		n = 0;

	if (generation == worker.generation)
		return;
	worker.generation = generation;
	for (uint32 i = 0; i < worker.n_given; i++)
	{
		if (genie_directory_has(&worker.given[i]))
			worker.given[n++] = worker.given[i];
		else
			worker.gpu->ops->forget(worker.gpu, worker.given[i].id);
	}
	worker.n_given = n;
}

/* Notes that the GPU engine, if there is one, is about to see the image, or the vectors. */
static void
note_given(const GenieImageRef *ref)
{
	if (worker.gpu == NULL)
		return;
	for (uint32 i = 0; i < worker.n_given; i++)
		if (worker.given[i].id == ref->id)
			return;
	if (worker.n_given == worker.given_capacity)
	{
		worker.given_capacity = worker.given_capacity * 2 + 16;
		worker.given = worker.given == NULL ?
			MemoryContextAlloc(TopMemoryContext, worker.given_capacity * sizeof(GenieImageRef)) :
			repalloc(worker.given, worker.given_capacity * sizeof(GenieImageRef));
	}
	worker.given[worker.n_given++] = *ref;
}

/* ---- a batch ---- */

/* A pinned image, or pinned quantized vectors.  They are searched one by one: a batch uses few. */
typedef struct GeniePin
{
	GenieImageRef ref;
	GenieSegmentImage *image;
	uint64		tombstone_version;	/* of the image's live bits */
	GenieQuantizedVectors *vectors;
} GeniePin;

typedef struct GeniePins
{
	uint32		n;
	uint32		capacity;
	GeniePin   *pins;
} GeniePins;

/* NULL: it is not pinned. */
static const GeniePin *
find_pin(const GeniePins *pins, const GenieImageRef *ref)
{
	for (uint32 i = 0; i < pins->n; i++)
		if (pins->pins[i].ref.id == ref->id)
			return &pins->pins[i];
	return NULL;
}

static void
add_pin(GeniePins *pins, const GenieImageRef *ref, GenieSegmentImage *image, uint64 tombstone_version,
		GenieQuantizedVectors *vectors)
{
	if (pins->n == pins->capacity)
	{
		pins->capacity = pins->capacity * 2 + 16;
		pins->pins = pins->pins == NULL ? palloc(pins->capacity * sizeof(GeniePin)) :
			repalloc(pins->pins, pins->capacity * sizeof(GeniePin));
	}
	pins->pins[pins->n++] = (GeniePin) {*ref, image, tombstone_version, vectors};
	note_given(ref);
}

/* Finds or pins the image of a job.  NULL: it has gone, or is too old. */
static const GenieSegmentImage *
pin_image(GeniePins *pins, const GenieRequestJob *wanted)
{
	const GeniePin *pin = find_pin(pins, &wanted->image);
	GenieSegmentImage *image;
	uint64		tombstone_version = wanted->tombstone_version;

	if (pin != NULL)
		return pin->tombstone_version >= tombstone_version ? pin->image : NULL;
	image = palloc(sizeof(GenieSegmentImage));
	if (!genie_directory_pin(&wanted->image, &tombstone_version, image))
		return NULL;
	add_pin(pins, &wanted->image, image, tombstone_version, NULL);
	return image;
}

/* The same for the quantized vectors.  NULL: bounds are not wanted, or the vectors have gone, or are others. */
static const GenieQuantizedVectors *
pin_vectors(GeniePins *pins, const GenieRequestJob *wanted)
{
	const GeniePin *pin;
	GenieQuantizedVectors *vectors;

	if (wanted->n_elements == 0)
		return NULL;
	if ((pin = find_pin(pins, &wanted->vectors)) != NULL)
		vectors = pin->vectors;
	else
	{
		vectors = palloc(sizeof(GenieQuantizedVectors));
		if (!genie_directory_pin_vectors(&wanted->vectors, vectors))
			return NULL;
		add_pin(pins, &wanted->vectors, NULL, 0, vectors);
	}
	return genie_quantized_elements(vectors->n_dimensions) == wanted->n_elements ? vectors : NULL;
}

/* Is the job still to be done, and can the engine do it? */
static bool
is_open(const GenieEngine *engine, const GenieJob *job)
{
	if (job->status == GENIE_OK)
		return false;
	if (job->kind == GENIE_JOB_SCAN && job->vectors == NULL)
		return false;
	return genie_job_has_image(job->kind) ? job->image != NULL : engine == worker.gpu;
}

/* Has an engine do those jobs that are still to be done. */
static GenieStatus
run_engine(GenieEngine *engine, GenieJob *jobs, uint32 n_jobs, uint64 *n_answered)
{
	GenieEngineChoices before = engine->choices;
	GenieJob   *batch = palloc(n_jobs * sizeof(GenieJob));
	uint32	   *from = palloc(n_jobs * sizeof(uint32));
	uint32		n = 0;
	uint32		n_done = 0;
	GenieStatus status;

	for (uint32 i = 0; i < n_jobs; i++)
	{
		if (!is_open(engine, &jobs[i]))
			continue;
		from[n] = i;
		batch[n++] = jobs[i];
	}
	if (n == 0)
		return GENIE_OK;
	status = engine->ops->run(engine, n, batch);
	for (uint32 i = 0; i < n; i++)
	{
		jobs[from[i]] = batch[i];
		n_done += batch[i].status == GENIE_OK;
	}
	genie_stat_add(engine == worker.gpu ? GENIE_COUNTER_BY_GPU : GENIE_COUNTER_BY_WORKER_CPU, n_done);
	genie_stat_choices(engine == worker.gpu, &before, &engine->choices);
	*n_answered += n_done;
	return status;
}

/* Notes the jobs that the GPU engine left undone, by reason.  Returns how many. */
static uint32
note_failures(const GenieJob *jobs, uint32 n_jobs, GenieGpuFallback *gpu_why)
{
	uint32		n = 0;

	for (uint32 i = 0; i < n_jobs; i++)
	{
		gpu_why[i] = GENIE_GPU_FALLBACK_NONE;
		if (!is_open(worker.gpu, &jobs[i]))
			continue;
		if (jobs[i].status == GENIE_STATUS_DECLINED)
		{
			gpu_why[i] = GENIE_GPU_FALLBACK_DECLINED;
			continue;
		}
		n++;
		gpu_why[i] = jobs[i].status == GENIE_STATUS_NO_ROOM ? GENIE_GPU_FALLBACK_NO_ROOM : GENIE_GPU_FALLBACK_FAILED;
		if (jobs[i].status == GENIE_STATUS_NO_ROOM)
			genie_stat_add(GENIE_COUNTER_DEVICE_FULL, 1);
		else if (jobs[i].status == GENIE_STATUS_LOST)
			genie_stat_add(GENIE_COUNTER_DEVICE_LOST, 1);
		else if (jobs[i].status != GENIE_STATUS_CANCELLED)
			genie_stat_add(GENIE_COUNTER_DEVICE_RETRY, 1);
	}
	return n;
}

/* Notes losses that were not noted before; all: of all devices.  Is there one? */
static bool
note_losses(bool all)
{
	GenieDeviceInfo devices[GENIE_DEVICES_MAX];
	bool		any = false;

	report_devices(devices);
	for (uint32 i = 0; i < worker.n_devices; i++)
	{
		uint32		bit = UINT32_C(1) << devices[i].device;

		if ((!all && !devices[i].is_lost) || (worker.lost & bit) != 0)
			continue;
		worker.lost |= bit;
		genie_stat_lost(devices[i].device, LOSS_WINDOW_MS);
		any = true;
	}
	return any;
}

/* Of several devices, has one been lost whose work the others have taken over? */
static void
look_for_losses(void)
{
	if (worker.n_devices < 2 || !note_losses(false))
		return;
	genie_stat_add(GENIE_COUNTER_DEVICE_LOST, 1);
	genie_stat_error(worker.gpu->error);
	ereport(LOG,
			(errmsg("a GPU was lost: %s", worker.gpu->error),
			 errdetail("The other GPUs do its work; the background worker restarts when it has nothing to do.")));
}

/* Counts all jobs of the batch; gpu_why tells of each that the CPU has done.  False: the device is lost. */
static bool
count_jobs(GenieJob *jobs, uint32 n_jobs, GenieGpuFallback *gpu_why)
{
	for (uint32 i = 0; i < n_jobs; i++)
		gpu_why[i] = GENIE_GPU_FALLBACK_NO_GPU;
	if (worker.gpu != NULL)
	{
		GenieStatus status = run_engine(worker.gpu, jobs, n_jobs, &worker.n_on_gpu);
		uint32		n_undone = note_failures(jobs, n_jobs, gpu_why);

		if (status == GENIE_STATUS_LOST)
			return false;
		look_for_losses();
		if (n_undone > 0 && !is_interrupted())
			log_gpu_error(worker.gpu->error);
	}
	run_engine(worker.cpu, jobs, n_jobs, &worker.n_on_cpu);
	return true;
}

/*
 * The CPU's threads compute bounds of the hits' distances, where they are wanted and the engine that has counted did
 * not give them.  If they are interrupted, the jobs stay without.
 */
static void
bound_jobs(GenieJob *jobs, uint32 n_jobs)
{
	GenieBoundsJob *bounds = palloc(n_jobs * sizeof(GenieBoundsJob));
	GenieJob  **of = palloc(n_jobs * sizeof(GenieJob *));
	uint32		n = 0;

	for (uint32 i = 0; i < n_jobs; i++)
	{
		GenieJob   *job = &jobs[i];

		if (job->kind != GENIE_JOB_TOP || job->status != GENIE_OK || job->vectors == NULL || job->has_bounds)
			continue;
		of[n] = job;
		bounds[n++] = (GenieBoundsJob) {*job->vectors, job->vector, job->out, job->n_hits, job->bounds};
	}
	if (n == 0 || !genie_cpu_engine_bounds(worker.cpu, bounds, n))
		return;
	for (uint32 i = 0; i < n; i++)
		of[i]->has_bounds = true;
}

/* An engine's status as a reason: the engine knows nothing of requests. */
static GenieFallback
reason_of(const GenieJob *job)
{
	if (job->status == GENIE_OK)
		return GENIE_FALLBACK_NONE;
	if ((job->image == NULL && genie_job_has_image(job->kind)) ||
		(job->vectors == NULL && job->kind == GENIE_JOB_SCAN))
		return GENIE_FALLBACK_GONE;
	return job->status == GENIE_STATUS_CANCELLED ? GENIE_FALLBACK_NO_WORKER : GENIE_FALLBACK_FAILED;
}

static void
answer(GenieTaken *taken, uint32 n_taken, const GenieJob *jobs, const GenieGpuFallback *gpu_why, uint64 count_us)
{
	for (uint32 t = 0; t < n_taken; t++)
	{
		GenieAnswer *answers = palloc(taken[t].n_jobs * sizeof(GenieAnswer));

		for (uint32 i = 0; i < taken[t].n_jobs; i++)
		{
			taken[t].jobs[i] = *jobs;
			answers[i] = (GenieAnswer) {reason_of(jobs++), *gpu_why++};
		}
		genie_request_answer(&taken[t], answers, count_us);
	}
}

/* Counts and answers the requests that are ready.  False: there was none. */
static bool
run_batch(void)
{
	uint32		n_slots = genie_request_slots();
	GenieTaken *taken = palloc(n_slots * sizeof(GenieTaken));
	uint32		n_taken = genie_request_take(taken, n_slots, (uint32) genie_request_max_batch);
	GeniePins	pins = {0};
	GenieJob   *jobs;
	GenieGpuFallback *gpu_why;
	uint32		n_jobs = 0;
	instr_time	started;
	instr_time	took;
	bool		lost;

	if (n_taken == 0)
		return false;
	report_state(GENIE_WORKER_COUNTING);
	forget_dropped();
	for (uint32 t = 0; t < n_taken; t++)
		n_jobs += taken[t].n_jobs;
	jobs = palloc(n_jobs * sizeof(GenieJob));
	gpu_why = palloc(n_jobs * sizeof(GenieGpuFallback));
	n_jobs = 0;
	for (uint32 t = 0; t < n_taken; t++)
		for (uint32 i = 0; i < taken[t].n_jobs; i++)
		{
			GenieJob   *job = &taken[t].jobs[i];

			if (genie_job_has_image(job->kind))
				job->image = pin_image(&pins, &taken[t].refs[i]);
			if (job->image != NULL)
				job->vectors = pin_vectors(&pins, &taken[t].refs[i]);
			jobs[n_jobs++] = *job;
		}

	GENIE_FAULT("worker-pinned");
	worker.only = n_taken == 1 ? &taken[0] : NULL;
	INSTR_TIME_SET_CURRENT(started);
	lost = !count_jobs(jobs, n_jobs, gpu_why);
	bound_jobs(jobs, n_jobs);
	INSTR_TIME_SET_CURRENT(took);
	INSTR_TIME_SUBTRACT(took, started);
	worker.only = NULL;

	for (uint32 i = 0; i < pins.n; i++)
		genie_directory_unpin(&pins.pins[i].ref);
	worker.n_batches++;
	genie_stat_add(GENIE_COUNTER_BATCHES, 1);
	genie_stat_add(GENIE_COUNTER_BATCHED, n_jobs);
	genie_stat_add(GENIE_COUNTER_COUNT_US, INSTR_TIME_GET_MICROSEC(took));
	answer(taken, n_taken, jobs, gpu_why, INSTR_TIME_GET_MICROSEC(took));
	if (lost)
	{
		genie_stat_error(worker.gpu->error);
		note_losses(true);
		ereport(LOG,
				(errmsg("the GPU was lost: %s", worker.gpu->error),
				 errdetail("The background worker restarts; queries are counted on the CPU meanwhile.")));
		proc_exit(1);
	}
	return true;
}

/* ---- the process ---- */

/* On the way out, whatever the reason. */
static void
leave(int code, Datum arg)
{
	LWLockReleaseAll();			/* an ERROR may have left one held */
	genie_request_worker_down();
	ereport(LOG,
			(errmsg("genie worker ends: " UINT64_FORMAT " queries in " UINT64_FORMAT " batches, "
					UINT64_FORMAT " on the GPU, " UINT64_FORMAT " on the CPU",
					worker.n_on_gpu + worker.n_on_cpu, worker.n_batches, worker.n_on_gpu, worker.n_on_cpu)));
	genie_directory_unpin_all();
	genie_stat_devices(NULL, 0);
	genie_stat_worker(GENIE_WORKER_DOWN, "");
}

void
genie_worker_main(Datum arg)
{
	GenieDeviceInfo devices[GENIE_DEVICES_MAX];
	bool		counted = false;
	bool		pins;
	int			events;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	before_shmem_exit(leave, 0);
	genie_stat_worker(GENIE_WORKER_STARTING, "");
	genie_stat_add(GENIE_COUNTER_WORKER_STARTS, 1);
	genie_request_worker_down();	/* answers requests that an earlier worker left */
	genie_directory_unpin_all();
	worker.batch_context = AllocSetContextCreate(TopMemoryContext, "genie batch", ALLOCSET_DEFAULT_SIZES);
	open_cpu();
	open_gpu();
	MemoryContextSwitchTo(worker.batch_context);
	genie_autoprewarm_begin();
	report_state(GENIE_WORKER_IDLE);
	genie_request_worker_up();
	genie_cpu_engine_measure(worker.cpu);	/* requests wait meanwhile, for some milliseconds */
	worker.rival.costs = genie_cpu_engine_policy(worker.cpu)->costs;
	set_kernels(worker.cpu);

	/* All that sets the latch (requests, SIGTERM, SIGHUP) is checked after each reset and before the next wait. */
	while (!ShutdownRequestPending)
	{
		if (ConfigReloadPending)
			reload();
		if (worker.reopen && is_past(worker.reopen_at, REOPEN_MS))
		{
			if (worker.reopen_anew)
				proc_exit(1);
			open_gpu();
			report_state(GENIE_WORKER_IDLE);
		}
		MemoryContextReset(worker.batch_context);
		if (is_past(worker.swept_at, SWEEP_MS))
		{
			genie_eviction_sweep();
			genie_loader_look_after();
			genie_autoprewarm_keep(&worker.kept, false);
			worker.swept_at = GetCurrentTimestamp();
		}
		if (run_batch())
		{
			counted = true;
			continue;
		}
		if (counted)
		{
			report_state(GENIE_WORKER_IDLE);
			if (worker.gpu != NULL)
				report_devices(devices);
			counted = false;
		}
		forget_dropped();
		pins = worker.gpu != NULL && worker.to_pin != NULL;
		events = WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT,
						   worker.lost != 0 ? LOST_IDLE_MS : pins ? PIN_IDLE_MS : SWEEP_MS,
						   genie_wait_event(GENIE_WAIT_WORKER_MAIN));
		ResetLatch(MyLatch);
		if (worker.lost != 0 && (events & WL_TIMEOUT) != 0)
			break;
		if (pins && (events & WL_TIMEOUT) != 0)
			pin_more();
	}
	genie_autoprewarm_keep(&worker.kept, true);
	proc_exit(1);
}

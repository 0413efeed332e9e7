/*
 * genie_worker_batch.c
 *	  Batches (genie_worker_batch.h).
 *
 * Images are pinned as long as the batch runs, so that they are not evicted; a job whose image has gone, or is older
 * than the scan that asks, is answered "gone".  Jobs that the GPU engine could not do (it failed, or the image does
 * not fit the device) the CPU engine does in the same batch.  No lock is held meanwhile.  A job of exact search or of
 * hashing has no image and is for the GPU engine alone; if that fails, the backend does it.  Where a search by
 * distance wants bounds of the hits' distances (genie_quantized.h), the segment's quantized vectors are pinned, too,
 * and go along with the job; if an engine has counted without bounds, the CPU's threads compute them afterwards.
 *
 * Meanwhile.  What is larger than a GPU's memory is copied through it, piece by piece
 * (engine/devices/genie_multiload.h), or, where that is expected to be faster, counted by the CPU.  Either takes
 * hundreds of milliseconds, in which the other engine has nothing to do.  So when the engine that works asks whether to
 * stop, requests that have come are taken, and those that the idle engine is expected to do at once are done by it, in
 * a batch of their own inside the other one.  The rest is held, and is the first of the next batch.  An ERROR there
 * must not pass through the engine that asks: it is logged, and the worker ends as it does on any other.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/memutils.h"

#include "genie_engine_cpu.h"
#include "genie_fault.h"
#include "genie_request.h"
#include "genie_worker_batch.h"
#include "genie_worker_engines.h"

/* Requests that are done meanwhile take the CPU so long at most, and so long together, in nanoseconds; */
#define MEANWHILE_REQUEST_NS 5e6
#define MEANWHILE_NS 20e6
#define MEANWHILE_ON_GPU 10		/* if the GPU does them, so many times as long; */
#define MEANWHILE_AFTER_MS 5	/* if it waits for the CPU, which has worked for so long */

/* One a process. */
typedef struct GenieWorkerBatches
{
	const GenieTaken *only;		/* the one request of the batch, if it is one */
	GenieEngine *running;		/* what counts the batch just now; NULL: nothing */
	instr_time	running_since;
	bool		is_meanwhile;	/* and the other one counts, too */
	bool		is_lost;		/* the GPU was lost meanwhile */
	MemoryContext held_context; /* of requests that were taken meanwhile */
	MemoryContext meanwhile_context;
	GenieTaken *held;			/* of them, those that wait for the next batch; room for all slots */
	uint32		n_held;
	uint64		n_batches;
	uint64		n_on_gpu;		/* queries on a segment */
	uint64		n_on_cpu;
} GenieWorkerBatches;

static GenieWorkerBatches own;

/* ---- pins ---- */

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
	genie_worker_note_given(ref);
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
	return genie_job_has_image(job->kind) ? job->image != NULL : engine == genie_worker_gpu();
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
	genie_stat_add(engine == genie_worker_gpu() ? GENIE_COUNTER_BY_GPU : GENIE_COUNTER_BY_WORKER_CPU, n_done);
	genie_stat_choices(engine == genie_worker_gpu(), &before, &engine->choices);
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
		if (!is_open(genie_worker_gpu(), &jobs[i]))
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

/* The same, while the other engine has nothing to do. */
static GenieStatus
run_alone(GenieEngine *engine, GenieJob *jobs, uint32 n_jobs, uint64 *n_answered)
{
	GenieStatus status;

	own.running = engine;
	INSTR_TIME_SET_CURRENT(own.running_since);
	status = run_engine(engine, jobs, n_jobs, n_answered);
	own.running = NULL;
	return status;
}

/* Counts all jobs of the batch; gpu_why tells of each that the CPU has done.  False: the device is lost. */
static bool
count_jobs(GenieJob *jobs, uint32 n_jobs, GenieGpuFallback *gpu_why)
{
	for (uint32 i = 0; i < n_jobs; i++)
		gpu_why[i] = GENIE_GPU_FALLBACK_NO_GPU;
	if (genie_worker_gpu() != NULL)
	{
		GenieStatus status;
		uint32		n_undone;

		status = run_alone(genie_worker_gpu(), jobs, n_jobs, &own.n_on_gpu);
		n_undone = note_failures(jobs, n_jobs, gpu_why);
		if (status == GENIE_STATUS_LOST)
			return false;
		genie_worker_look_for_losses();
		if (n_undone > 0 && !genie_worker_is_interrupted())
			genie_worker_log_gpu_error(genie_worker_gpu()->error);
	}
	run_alone(genie_worker_cpu(), jobs, n_jobs, &own.n_on_cpu);
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
	if (n == 0 || !genie_cpu_engine_bounds(genie_worker_cpu(), bounds, n))
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

/* ---- a batch ---- */

typedef struct Batch
{
	GenieTaken *taken;
	uint32		n_taken;
	GeniePins	pins;
	GenieJob   *jobs;
	uint32		n_jobs;
	GenieGpuFallback *gpu_why;
	instr_time	started;
} Batch;

/* Pins what the jobs of a request are about. */
static void
pin_jobs(GeniePins *pins, GenieTaken *taken)
{
	for (uint32 i = 0; i < taken->n_jobs; i++)
	{
		GenieJob   *job = &taken->jobs[i];

		if (genie_job_has_image(job->kind))
			job->image = pin_image(pins, &taken->refs[i]);
		job->vectors = job->image != NULL ? pin_vectors(pins, &taken->refs[i]) : NULL;
	}
}

static void
unpin_all(const GeniePins *pins)
{
	for (uint32 i = 0; i < pins->n; i++)
		genie_directory_unpin(&pins->pins[i].ref);
}

/* The requests taken, whose images are pinned, are the batch. */
static void
begin_batch(Batch *batch)
{
	uint32		n_jobs = 0;

	for (uint32 t = 0; t < batch->n_taken; t++)
		n_jobs += batch->taken[t].n_jobs;
	batch->jobs = palloc(n_jobs * sizeof(GenieJob));
	batch->gpu_why = palloc(n_jobs * sizeof(GenieGpuFallback));
	batch->n_jobs = 0;
	for (uint32 t = 0; t < batch->n_taken; t++)
		for (uint32 i = 0; i < batch->taken[t].n_jobs; i++)
			batch->jobs[batch->n_jobs++] = batch->taken[t].jobs[i];
	own.only = batch->n_taken == 1 ? &batch->taken[0] : NULL;
	INSTR_TIME_SET_CURRENT(batch->started);
}

static void
end_batch(Batch *batch)
{
	instr_time	took;

	INSTR_TIME_SET_CURRENT(took);
	INSTR_TIME_SUBTRACT(took, batch->started);
	own.only = NULL;
	unpin_all(&batch->pins);
	own.n_batches++;
	genie_stat_add(GENIE_COUNTER_BATCHES, 1);
	genie_stat_add(GENIE_COUNTER_BATCHED, batch->n_jobs);
	genie_stat_add(GENIE_COUNTER_COUNT_US, INSTR_TIME_GET_MICROSEC(took));
	answer(batch->taken, batch->n_taken, batch->jobs, batch->gpu_why, INSTR_TIME_GET_MICROSEC(took));
}

bool
genie_worker_run_batch(void)
{
	uint32		n_slots = genie_request_slots();
	Batch		batch = {.taken = palloc(n_slots * sizeof(GenieTaken)), .n_taken = own.n_held};
	uint32		n_jobs = 0;
	bool		lost;

	for (uint32 t = 0; t < own.n_held; t++)
	{
		batch.taken[t] = own.held[t];
		n_jobs += own.held[t].n_jobs;
	}
	own.n_held = 0;
	if (n_jobs < (uint32) genie_request_max_batch)
		batch.n_taken += genie_request_take(batch.taken + batch.n_taken, n_slots - batch.n_taken,
											(uint32) genie_request_max_batch - n_jobs);
	if (batch.n_taken == 0)
		return false;
	genie_worker_report_state(GENIE_WORKER_COUNTING);
	genie_worker_forget_dropped();
	for (uint32 t = 0; t < batch.n_taken; t++)
		pin_jobs(&batch.pins, &batch.taken[t]);
	GENIE_FAULT("worker-pinned");
	begin_batch(&batch);
	lost = !count_jobs(batch.jobs, batch.n_jobs, batch.gpu_why) || own.is_lost;
	bound_jobs(batch.jobs, batch.n_jobs);
	end_batch(&batch);
	if (lost)
	{
		genie_stat_error(genie_worker_gpu()->error);
		genie_worker_note_losses(true);
		ereport(LOG,
				(errmsg("the GPU was lost: %s", genie_worker_gpu()->error),
				 errdetail("The background worker restarts; queries are counted on the CPU meanwhile.")));
		proc_exit(1);
	}
	if (own.n_held == 0 && own.held_context != NULL)
		MemoryContextReset(own.held_context);
	return true;
}

/* ---- meanwhile ---- */

/* Is it known what the CPU would take? */
static bool
has_estimate(const GenieJob *job)
{
	if (!genie_job_has_image(job->kind) || genie_job_adds_up(job->kind))
		return false;
	if (job->kind == GENIE_JOB_SCAN)
		return genie_job_scan_fits(job) && job->n_tiles > 0;
	return genie_job_tiles_fit(job) && job->n_tiles > 0 && genie_job_keys_fit(job);
}

/* What the CPU is expected to take for a request, in nanoseconds; infinity: it is not known. */
static double
estimate(const GenieTaken *taken)
{
	GenieJob  **jobs = palloc(taken->n_jobs * sizeof(GenieJob *));
	double		ns = 0;
	uint32		n = 0;

	for (uint32 i = 0; i < taken->n_jobs; i++)
	{
		GenieJob   *job = &taken->jobs[i];

		if (genie_job_has_image(job->kind) &&
			(job->image == NULL || (job->kind == GENIE_JOB_SCAN && job->vectors == NULL)))
			continue;			/* it has gone, which takes no time to say */
		if (!has_estimate(job))
			return INFINITY;
		if (n > 0 && (jobs[0]->image != job->image || jobs[0]->kind != job->kind || jobs[0]->vectors != job->vectors))
		{
			ns += genie_rival_ns(genie_worker_rival(), n, jobs);
			n = 0;
		}
		jobs[n++] = job;
	}
	return n == 0 ? ns : ns + genie_rival_ns(genie_worker_rival(), n, jobs);
}

/* Of the batch, holds those requests that the GPU has not done all of; they were never begun. */
static void
hold_undone(Batch *batch)
{
	GenieJob   *jobs = batch->jobs;
	uint32		n_taken = 0;
	uint32		n_jobs = 0;

	for (uint32 t = 0; t < batch->n_taken; t++)
	{
		GenieTaken *taken = &batch->taken[t];
		bool		done = true;

		for (uint32 i = 0; i < taken->n_jobs; i++)
			done = done && !is_open(genie_worker_gpu(), &jobs[i]);
		if (done)
		{
			memmove(batch->jobs + n_jobs, jobs, taken->n_jobs * sizeof(GenieJob));
			n_jobs += taken->n_jobs;
			batch->taken[n_taken++] = *taken;
		}
		else
			own.held[own.n_held++] = *taken;
		jobs += taken->n_jobs;
	}
	batch->n_taken = n_taken;
	batch->n_jobs = n_jobs;
}

/* Counts what was taken meanwhile, whose images are pinned. */
static void
count_taken(Batch *batch, GenieEngine *idle)
{
	const bool	by_gpu = idle == genie_worker_gpu();

	GENIE_FAULT("worker-meanwhile");
	begin_batch(batch);
	for (uint32 i = 0; i < batch->n_jobs; i++)
		batch->gpu_why[i] = by_gpu ? GENIE_GPU_FALLBACK_NONE : GENIE_GPU_FALLBACK_DECLINED;
	if (run_engine(idle, batch->jobs, batch->n_jobs, by_gpu ? &own.n_on_gpu : &own.n_on_cpu) == GENIE_STATUS_LOST)
		own.is_lost = true;
	if (by_gpu)
		hold_undone(batch);
	else
		bound_jobs(batch->jobs, batch->n_jobs);
	end_batch(batch);
}

/* Takes what has come, and has the idle engine do what it does at once. */
static void
count_meanwhile(GenieEngine *idle)
{
	const double times = idle == genie_worker_gpu() ? MEANWHILE_ON_GPU : 1;
	uint32		n_slots = genie_request_slots();
	GenieTaken *taken = palloc(n_slots * sizeof(GenieTaken));
	Batch		batch = {.taken = palloc(n_slots * sizeof(GenieTaken))};
	MemoryContext old = MemoryContextSwitchTo(own.held_context);
	uint32		n_taken = genie_request_take(taken, n_slots - own.n_held, (uint32) genie_request_max_batch);
	double		all_ns = 0;

	MemoryContextSwitchTo(old);
	for (uint32 t = 0; t < n_taken; t++)
	{
		double		ns;

		pin_jobs(&batch.pins, &taken[t]);
		ns = estimate(&taken[t]);
		if (ns > MEANWHILE_REQUEST_NS * times || all_ns + ns > MEANWHILE_NS * times)
		{
			own.held[own.n_held++] = taken[t];
			continue;
		}
		all_ns += ns;
		batch.taken[batch.n_taken++] = taken[t];
	}
	if (batch.n_taken > 0)
		count_taken(&batch, idle);
	else
		unpin_all(&batch.pins);
}

/* The same, in a memory context of its own, and whatever happens. */
static void
run_meanwhile(GenieEngine *idle)
{
	const GenieTaken *only = own.only;
	MemoryContext old = CurrentMemoryContext;

	if (own.held_context == NULL)
	{
		own.held_context = AllocSetContextCreate(TopMemoryContext, "genie held requests", ALLOCSET_DEFAULT_SIZES);
		own.meanwhile_context = AllocSetContextCreate(TopMemoryContext, "genie meanwhile", ALLOCSET_DEFAULT_SIZES);
		own.held = MemoryContextAlloc(TopMemoryContext, genie_request_slots() * sizeof(GenieTaken));
	}
	own.is_meanwhile = true;
	MemoryContextSwitchTo(own.meanwhile_context);
	PG_TRY();
	{
		count_meanwhile(idle);
	}
	PG_CATCH();
	{
		LWLockReleaseAll();
		EmitErrorReport();
		FlushErrorState();
		ShutdownRequestPending = true;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	MemoryContextReset(own.meanwhile_context);
	own.is_meanwhile = false;
	own.only = only;
}

/* The engine that has nothing to do, for a while.  NULL: there is none. */
static GenieEngine *
idle_engine(void)
{
	instr_time	now;

	if (own.running == NULL || genie_worker_gpu() == NULL || own.is_lost)
		return NULL;
	if (own.running == genie_worker_gpu())
		return own.running->streams ? genie_worker_cpu() : NULL;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, own.running_since);
	return INSTR_TIME_GET_MILLISEC(now) >= MEANWHILE_AFTER_MS ? genie_worker_gpu() : NULL;
}

bool
genie_worker_is_interrupted(void)
{
	GenieEngine *idle = own.is_meanwhile ? NULL : idle_engine();

	if (idle != NULL)
		run_meanwhile(idle);
	return ShutdownRequestPending || (own.only != NULL && genie_request_is_abandoned(own.only));
}

void
genie_worker_report_batches(void)
{
	ereport(LOG,
			(errmsg("genie worker ends: " UINT64_FORMAT " queries in " UINT64_FORMAT " batches, "
					UINT64_FORMAT " on the GPU, " UINT64_FORMAT " on the CPU",
					own.n_on_gpu + own.n_on_cpu, own.n_batches, own.n_on_gpu, own.n_on_cpu)));
}

/*
 * genie_worker_batch.c
 *	  Batches (genie_worker_batch.h).
 *
 * Images are pinned as long as the batch runs, so that they are not evicted; a job whose image has gone, or is older
 * than the scan that asks, is answered "gone".  Jobs that the GPU engine could not do (it failed, or the image does
 * not fit the device) the CPU engine does in the same batch, unless the image is on the device alone: then the backend
 * counts from the pages.  Images that devices have lost go.  No lock is held meanwhile.  A job of exact search, of
 * hashing or of a graph's level has no image and is for the GPU engine alone; if that fails, the backend does it.
 * Where a search by distance wants bounds of the hits' distances (genie_quantized.h), the segment's quantized vectors
 * are pinned, too, and go along with the job; if an engine has counted without bounds, the CPU's threads compute them
 * afterwards.
 *
 * Meanwhile.  A batch may take hundreds of milliseconds: what is larger than a GPU's memory is copied through it,
 * piece by piece (engine/devices/genie_multiload.h), or counted by the CPU, where that is expected to be faster or
 * there is no GPU.  Others do not wait for it.  When the engine that works asks whether to stop, requests that have
 * come are taken, and those that are expected to be done at once are done, in a batch of their own inside the other
 * one: by the engine that has nothing to do, or else, and what is too little for a GPU, by a CPU engine of one thread.
 * That gets no more than half of the time, for the thread that drives the other engine does it.  A GPU gets only what
 * it has a copy of.  Larger requests are held, and are the first of the next batch.  An ERROR there must not pass
 * through the engine that asks: it is logged, and the worker ends as it does on any other.
 *
 * A level of a proximity graph may take a GPU seconds (GENIE_JOB_LEVEL).  Such a request is a batch by itself, so that
 * no other is answered only with it, and the CPU does what comes meanwhile.  It is put off while there are others, for
 * some batches.
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
#include "genie_job_parts.h"
#include "genie_request.h"
#include "genie_wire.h"
#include "genie_worker_batch.h"
#include "genie_worker_engines.h"

/* Requests that are done meanwhile take the CPU so long at most, and so long together, in nanoseconds; */
#define MEANWHILE_REQUEST_NS 5e6
#define MEANWHILE_NS 20e6
#define MEANWHILE_ON_GPU 10		/* if the GPU does them, so many times as long */
#define MEANWHILE_AFTER_MS 5	/* the CPU works alone for so long before anything is done meanwhile */
#define MEANWHILE_LOOK_MS 0.05	/* from one look to the next, at least */
#define PUT_OFF_MAX 4			/* batches for which a request that takes long waits for others */

/* Requests that wait for the next batch; those of this one are read in the other context. */
typedef struct HeldRequests
{
	MemoryContext contexts[2];
	uint32		turn;			/* in this one now */
	GenieTaken *taken;			/* room for all slots */
	uint32		n;
} HeldRequests;

/* One a process. */
typedef struct GenieWorkerBatches
{
	const GenieTaken *only;		/* the one request of the batch, if it is one */
	GenieEngine *running;		/* what counts the batch just now; NULL: nothing */
	bool		takes_long;		/* the batch is a request that does */
	uint32		put_off;		/* batches that such a request has waited for others */
	instr_time	alone_since;	/* it has counted without anything done meanwhile, */
	double		alone_ms;		/* and nothing is for so long */
	bool		is_meanwhile;	/* something else counts, too */
	bool		is_lost;		/* the GPU was lost meanwhile */
	uint64		meanwhile_us;	/* what the batch has spent on others */
	MemoryContext meanwhile_context;
	GenieTaken *meanwhile;		/* what is done then; room for all slots */
	HeldRequests held;
	uint64		n_batches;
	uint64		n_on_gpu;		/* queries on a segment */
	uint64		n_on_cpu;
} GenieWorkerBatches;

static GenieWorkerBatches own;

/* ---- pins ---- */

/* A pinned image, or pinned quantized vectors, or their graph.  They are searched one by one: a batch uses few. */
typedef struct GeniePin
{
	GenieImageRef ref;
	GenieSegmentImage *image;
	uint64		tombstone_version;	/* of the image's live bits */
	GenieQuantizedVectors *vectors;
	GenieProximityGraph *graph;
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
add_pin(GeniePins *pins, GeniePin pin)
{
	if (pins->n == pins->capacity)
	{
		pins->capacity = pins->capacity * 2 + 16;
		pins->pins = pins->pins == NULL ? palloc(pins->capacity * sizeof(GeniePin)) :
			repalloc(pins->pins, pins->capacity * sizeof(GeniePin));
	}
	pins->pins[pins->n++] = pin;
	genie_worker_note_given(&pin.ref);
}

/* Have devices lost a pinned image, or pinned vectors, that are there alone?  Then these go. */
static bool
goes_with_device(const GenieImageRef *ref)
{
	GenieEngine *gpu = genie_worker_gpu();

	if (gpu != NULL && gpu->ops->has(gpu, ref->id))
		return false;
	genie_directory_unpin(ref);
	genie_directory_drop(ref);
	return true;
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
	if (!genie_directory_pin(&wanted->image, &tombstone_version, image) ||
		(genie_image_is_on_device(image) && goes_with_device(&wanted->image)))
		return NULL;
	add_pin(pins, (GeniePin) {.ref = wanted->image, .image = image, .tombstone_version = tombstone_version});
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
		if (!genie_directory_pin_vectors(&wanted->vectors, vectors) ||
			(genie_vectors_on_device(vectors) && goes_with_device(&wanted->vectors)))
			return NULL;
		add_pin(pins, (GeniePin) {.ref = wanted->vectors, .vectors = vectors});
	}
	return genie_quantized_elements(vectors->n_dimensions) == wanted->n_elements ? vectors : NULL;
}

/* The same for the graph.  NULL: none is wanted, or it has gone: then all objects are looked at. */
static const GenieProximityGraph *
pin_graph(GeniePins *pins, const GenieRequestJob *wanted)
{
	const GeniePin *pin = find_pin(pins, &wanted->graph);
	GenieProximityGraph *graph;

	if (wanted->graph.id == 0 || pin != NULL)
		return pin == NULL ? NULL : pin->graph;
	graph = palloc(sizeof(GenieProximityGraph));
	if (!genie_directory_pin_graph(&wanted->graph, graph))
		return NULL;
	add_pin(pins, (GeniePin) {.ref = wanted->graph, .graph = graph});
	return graph;
}

/* The same for a graph that is being built. */
static const GenieProximityGraph *
pin_unfinished_graph(GeniePins *pins, const GenieRequestJob *wanted)
{
	GenieProximityGraph *graph = palloc(sizeof(GenieProximityGraph));

	if (!genie_directory_pin_unfinished_graph(&wanted->graph, graph))
		return NULL;
	add_pin(pins, (GeniePin) {.ref = wanted->graph, .graph = graph});
	return graph;
}

/* The same for what a job stages, an image or vectors. */
static void
pin_staged(GeniePins *pins, const GenieRequestJob *wanted, GenieJob *job)
{
	GenieSegmentImage *image = palloc(sizeof(GenieSegmentImage));
	GenieQuantizedVectors *vectors;

	job->image = NULL;
	if (!genie_directory_pin_staged(&wanted->image, image, &vectors))
		return;
	add_pin(pins, (GeniePin) {.ref = wanted->image, .image = image, .vectors = vectors});
	job->image = image;
	job->vectors = vectors;
}

/* Has what the job is about gone? */
static bool
is_gone(const GenieJob *job)
{
	return (genie_job_has_image(job->kind) && job->image == NULL) ||
		(job->vectors == NULL && (job->kind == GENIE_JOB_SCAN || job->kind == GENIE_JOB_LEVEL)) ||
		(job->graph == NULL && job->kind == GENIE_JOB_LEVEL);
}

/* Is the job still to be done, and can the engine do it? */
static bool
is_open(const GenieEngine *engine, const GenieJob *job)
{
	if (job->status == GENIE_OK || is_gone(job))
		return false;
	return engine == genie_worker_gpu() ||
		(genie_job_has_image(job->kind) && job->kind != GENIE_JOB_STAGE && !genie_job_is_on_device(job));
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
	INSTR_TIME_SET_CURRENT(own.alone_since);
	own.alone_ms = engine == genie_worker_cpu() ? MEANWHILE_AFTER_MS : 0;
	status = run_engine(engine, jobs, n_jobs, n_answered);
	own.running = NULL;
	return status;
}

/*
 * The CPU does what is left.  If all of that is what the GPU has declined, notes how long it takes.  (For what was done
 * meanwhile, one thread of them was away.)
 */
static void
run_cpu(GenieJob *jobs, uint32 n_jobs, const GenieGpuFallback *gpu_why)
{
	GenieJob  **left = palloc(n_jobs * sizeof(GenieJob *));
	bool		is_noted = genie_worker_gpu() != NULL;
	uint64		others_us = own.meanwhile_us;
	uint32		n = 0;
	instr_time	started;
	instr_time	now;

	for (uint32 i = 0; i < n_jobs; i++)
	{
		if (!is_open(genie_worker_cpu(), &jobs[i]))
			continue;
		left[n++] = &jobs[i];
		is_noted = is_noted && gpu_why[i] == GENIE_GPU_FALLBACK_DECLINED && genie_job_may_cut(&jobs[i]) &&
			!genie_job_adds_up(jobs[i].kind);
	}
	INSTR_TIME_SET_CURRENT(started);
	run_alone(genie_worker_cpu(), jobs, n_jobs, &own.n_on_cpu);
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, started);
	for (uint32 i = 0; i < n; i++)
		is_noted = is_noted && left[i]->status == GENIE_OK;
	if (is_noted && n > 0)
		genie_rival_note(genie_worker_rival(), n, left,
						 1e3 * (INSTR_TIME_GET_MICROSEC(now) -
								(double) (own.meanwhile_us - others_us) / genie_worker_rival()->n_threads));
	pfree(left);
}

/* Are all jobs that are open so little that the CPU has done them before a GPU would have begun? */
static bool
are_little(GenieJob *jobs, uint32 n_jobs)
{
	GenieJob  **open = palloc(n_jobs * sizeof(GenieJob *));
	uint32		n = 0;
	bool		little;

	for (uint32 i = 0; i < n_jobs; i++)
		if (is_open(genie_worker_gpu(), &jobs[i]))
			open[n++] = &jobs[i];
	little = n > 0 && genie_rival_is_first(genie_worker_rival(), genie_worker_gpu()->batch_ns, n, open);
	pfree(open);
	return little;
}

/* Counts all jobs of the batch; gpu_why tells of each that the CPU has done.  False: the device is lost. */
static bool
count_jobs(GenieJob *jobs, uint32 n_jobs, GenieGpuFallback *gpu_why)
{
	const bool	little = genie_worker_gpu() != NULL && are_little(jobs, n_jobs);

	for (uint32 i = 0; i < n_jobs; i++)
		gpu_why[i] = little ? GENIE_GPU_FALLBACK_DECLINED : GENIE_GPU_FALLBACK_NO_GPU;
	if (genie_worker_gpu() != NULL && !little)
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
	run_cpu(jobs, n_jobs, gpu_why);
	return true;
}

/*
 * The CPU engine's threads compute bounds of the hits' distances, where they are wanted and the engine that has counted
 * did not give them.  If they are interrupted, or the vectors are on devices alone, the jobs stay without.
 */
static void
bound_jobs(GenieEngine *cpu, GenieJob *jobs, uint32 n_jobs)
{
	GenieBoundsJob *bounds = palloc(n_jobs * sizeof(GenieBoundsJob));
	GenieJob  **of = palloc(n_jobs * sizeof(GenieJob *));
	uint32		n = 0;

	for (uint32 i = 0; i < n_jobs; i++)
	{
		GenieJob   *job = &jobs[i];

		if (job->kind != GENIE_JOB_TOP || job->status != GENIE_OK || job->vectors == NULL || job->has_bounds ||
			genie_vectors_on_device(job->vectors))
			continue;
		of[n] = job;
		bounds[n++] = (GenieBoundsJob) {*job->vectors, job->vector, job->out, job->n_hits, job->bounds};
	}
	if (n == 0 || !genie_cpu_engine_bounds(cpu, bounds, n))
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
	if (is_gone(job))
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

		if (job->kind == GENIE_JOB_STAGE)
		{
			pin_staged(pins, &taken->refs[i], job);
			continue;
		}
		if (job->kind == GENIE_JOB_LEVEL)
		{
			job->vectors = pin_vectors(pins, &taken->refs[i]);
			job->graph = pin_unfinished_graph(pins, &taken->refs[i]);
			continue;
		}
		if (genie_job_has_image(job->kind))
			job->image = pin_image(pins, &taken->refs[i]);
		job->vectors = job->image != NULL ? pin_vectors(pins, &taken->refs[i]) : NULL;
		job->graph = job->vectors != NULL ? pin_graph(pins, &taken->refs[i]) : NULL;
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

/* others_us: of the time since it began, what was not for this batch. */
static void
end_batch(Batch *batch, uint64 others_us)
{
	instr_time	took;
	uint64		count_us;

	INSTR_TIME_SET_CURRENT(took);
	INSTR_TIME_SUBTRACT(took, batch->started);
	count_us = INSTR_TIME_GET_MICROSEC(took) - Min(others_us, INSTR_TIME_GET_MICROSEC(took));
	own.only = NULL;
	unpin_all(&batch->pins);
	own.n_batches++;
	genie_stat_add(GENIE_COUNTER_BATCHES, 1);
	genie_stat_add(GENIE_COUNTER_BATCHED, batch->n_jobs);
	genie_stat_add(GENIE_COUNTER_COUNT_US, count_us);
	answer(batch->taken, batch->n_taken, batch->jobs, batch->gpu_why, count_us);
}

/* The request waits for the next batch: it is read once more, for this time its memory is the next batch's. */
static void
hold(const GenieTaken *taken)
{
	MemoryContext old = MemoryContextSwitchTo(own.held.contexts[own.held.turn]);
	GenieTaken *held = &own.held.taken[own.held.n++];

	*held = *taken;
	genie_wire_read(held->wire, held);
	MemoryContextSwitchTo(old);
}

/*
 * The requests that wait for the batch, but for those whose backend has gone, and as many as are counted at once.
 * Returns how many jobs they have.
 */
static uint32
take_held(Batch *batch)
{
	uint32		n_held = own.held.n;
	uint32		n_jobs = 0;

	own.held.n = 0;
	own.held.turn ^= 1;
	for (uint32 t = 0; t < n_held; t++)
	{
		const GenieTaken taken = own.held.taken[t];

		if (genie_request_is_abandoned(&taken))
			genie_request_drop(&taken);
		else if (n_jobs >= (uint32) genie_request_max_batch)
			hold(&taken);
		else
		{
			n_jobs += taken.n_jobs;
			batch->taken[batch->n_taken++] = taken;
		}
	}
	return n_jobs;
}

static bool
takes_long(const GenieTaken *taken)
{
	return taken->n_jobs == 1 && taken->jobs[0].kind == GENIE_JOB_LEVEL;
}

/* Is the batch to be its first request that takes long?  It has no others, or that one has waited for long. */
static bool
is_to_take_long(const Batch *batch)
{
	uint32		n_long = 0;

	for (uint32 t = 0; t < batch->n_taken; t++)
		n_long += takes_long(&batch->taken[t]);
	return n_long > 0 && (n_long == batch->n_taken || own.put_off >= PUT_OFF_MAX);
}

/* Holds all that is not to be in the batch. */
static void
keep_apart(Batch *batch)
{
	uint32		n = 0;
	bool		puts_off = false;

	own.takes_long = is_to_take_long(batch);
	for (uint32 t = 0; t < batch->n_taken; t++)
	{
		bool		is_long = takes_long(&batch->taken[t]);

		if (own.takes_long ? is_long && n == 0 : !is_long)
			batch->taken[n++] = batch->taken[t];
		else
			hold(&batch->taken[t]);
		puts_off |= is_long;
	}
	batch->n_taken = n;
	own.put_off = puts_off && !own.takes_long ? own.put_off + 1 : 0;
}

bool
genie_worker_run_batch(void)
{
	uint32		n_slots = genie_request_slots();
	Batch		batch = {.taken = palloc(n_slots * sizeof(GenieTaken))};
	uint32		n_jobs = take_held(&batch);
	bool		lost;

	if (!is_to_take_long(&batch) && n_jobs < (uint32) genie_request_max_batch)
		batch.n_taken += genie_request_take(batch.taken + batch.n_taken, n_slots - batch.n_taken,
											(uint32) genie_request_max_batch - n_jobs);
	if (batch.n_taken == 0)
		return false;
	keep_apart(&batch);
	genie_worker_report_state(GENIE_WORKER_COUNTING);
	genie_worker_forget_dropped();
	for (uint32 t = 0; t < batch.n_taken; t++)
		pin_jobs(&batch.pins, &batch.taken[t]);
	GENIE_FAULT("worker-pinned");
	own.meanwhile_us = 0;
	begin_batch(&batch);
	lost = !count_jobs(batch.jobs, batch.n_jobs, batch.gpu_why) || own.is_lost;
	bound_jobs(genie_worker_cpu(), batch.jobs, batch.n_jobs);
	end_batch(&batch, own.meanwhile_us);
	if (lost)
	{
		genie_stat_error(genie_worker_gpu()->error);
		genie_worker_note_losses(true);
		ereport(LOG,
				(errmsg("the GPU was lost: %s", genie_worker_gpu()->error),
				 errdetail("The background worker restarts; queries are counted on the CPU meanwhile.")));
		proc_exit(1);
	}
	MemoryContextReset(own.held.contexts[own.held.turn ^ 1]);
	return true;
}

/* ---- meanwhile ---- */

/*
 * What the CPU is expected to take for a request, in nanoseconds; infinity: it is not known, or the idle engine cannot
 * do it.
 */
static double
estimate(const GenieTaken *taken, const GenieEngine *idle)
{
	GenieJob  **jobs = palloc(taken->n_jobs * sizeof(GenieJob *));
	double		ns = 0;
	uint32		n = 0;

	for (uint32 i = 0; i < taken->n_jobs; i++)
	{
		GenieJob   *job = &taken->jobs[i];

		if (is_gone(job))
			continue;			/* which takes no time to say */
		if (!genie_job_has_image(job->kind) || genie_job_adds_up(job->kind) || job->kind == GENIE_JOB_STAGE ||
			!genie_job_may_cut(job))
			return INFINITY;
		if (genie_job_is_on_device(job))
		{
			if (idle != genie_worker_gpu())
				return INFINITY;
			continue;			/* soon */
		}
		if (n > 0 && (jobs[0]->image != job->image || jobs[0]->kind != job->kind || jobs[0]->vectors != job->vectors))
		{
			ns += genie_rival_ns(genie_worker_rival(), n, jobs);
			n = 0;
		}
		jobs[n++] = job;
	}
	return n == 0 ? ns : ns + genie_rival_ns(genie_worker_rival(), n, jobs);
}

/* Has the GPU a copy of all that a request is about? */
static bool
is_on_gpu(const GenieTaken *taken)
{
	GenieEngine *gpu = genie_worker_gpu();

	for (uint32 i = 0; i < taken->n_jobs; i++)
	{
		const GenieJob *job = &taken->jobs[i];

		if (job->image == NULL || (job->kind == GENIE_JOB_SCAN && job->vectors == NULL))
			continue;			/* it has gone */
		if (job->kind != GENIE_JOB_SCAN && !gpu->ops->has(gpu, job->image->id))
			return false;
		if (job->vectors != NULL && !gpu->ops->has(gpu, job->vectors->id))
			return false;
	}
	return true;
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
			hold(taken);
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
		batch->gpu_why[i] = by_gpu ? GENIE_GPU_FALLBACK_NONE :
			genie_worker_gpu() != NULL ? GENIE_GPU_FALLBACK_DECLINED : GENIE_GPU_FALLBACK_NO_GPU;
	if (run_engine(idle, batch->jobs, batch->n_jobs, by_gpu ? &own.n_on_gpu : &own.n_on_cpu) == GENIE_STATUS_LOST)
	{
		own.is_lost = true;
		genie_stat_add(GENIE_COUNTER_DEVICE_LOST, 1);
	}
	else if (by_gpu)
		genie_worker_look_for_losses();
	if (by_gpu)
		hold_undone(batch);
	bound_jobs(by_gpu ? genie_worker_side() : idle, batch->jobs, batch->n_jobs);
	end_batch(batch, 0);
}

/* Takes what has come, until it is enough, and has the engine do what it does at once. */
static void
count_meanwhile(GenieEngine *idle)
{
	const double times = idle == genie_worker_gpu() ? MEANWHILE_ON_GPU :
		idle == genie_worker_side() ? 1.0 / genie_worker_rival()->n_threads : 1;
	Batch		batch = {.taken = own.meanwhile};
	GenieTaken	taken;
	double		all_ns = 0;

	while (all_ns < MEANWHILE_NS * times && own.held.n + batch.n_taken < genie_request_slots() &&
		   genie_request_take(&taken, 1, 1) > 0)
	{
		Batch		little = {.taken = &taken, .n_taken = 1};
		double		ns;

		if (idle == genie_worker_gpu())
		{
			/* of that a GPU never gets a copy */
			pin_jobs(&little.pins, &taken);
			if (are_little(taken.jobs, taken.n_jobs))
			{
				count_taken(&little, genie_worker_side());
				all_ns += genie_worker_gpu()->batch_ns * MEANWHILE_ON_GPU;
				continue;
			}
			unpin_all(&little.pins);
		}
		pin_jobs(&batch.pins, &taken);
		ns = estimate(&taken, idle);
		if (ns > MEANWHILE_REQUEST_NS * times || (idle == genie_worker_gpu() && !is_on_gpu(&taken)))
		{
			hold(&taken);
			continue;
		}
		all_ns += ns;
		batch.taken[batch.n_taken++] = taken;
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
	MemoryContext old = MemoryContextSwitchTo(own.meanwhile_context);
	instr_time	started;

	INSTR_TIME_SET_CURRENT(started);
	own.is_meanwhile = true;
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
	own.is_meanwhile = false;
	own.only = only;
	MemoryContextSwitchTo(old);
	MemoryContextReset(own.meanwhile_context);
	INSTR_TIME_SET_CURRENT(own.alone_since);
	own.alone_ms = INSTR_TIME_GET_MILLISEC(own.alone_since) - INSTR_TIME_GET_MILLISEC(started);
	own.meanwhile_us += (uint64) (own.alone_ms * 1000);
	own.alone_ms = Max(own.alone_ms, MEANWHILE_LOOK_MS);
}

/* What may count meanwhile.  NULL: nothing. */
static GenieEngine *
idle_engine(void)
{
	instr_time	now;

	if (own.running == NULL || own.is_meanwhile || ShutdownRequestPending ||
		(own.running == genie_worker_gpu() && !own.running->streams && !own.takes_long))
		return NULL;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, own.alone_since);
	if (INSTR_TIME_GET_MILLISEC(now) < own.alone_ms)
		return NULL;
	if (own.running == genie_worker_gpu())
		return genie_worker_cpu();
	return genie_worker_gpu() == NULL || own.is_lost ? genie_worker_side() : genie_worker_gpu();
}

/* ---- for the worker ---- */

void
genie_worker_batches_begin(void)
{
	const Size	n_bytes = genie_request_slots() * sizeof(GenieTaken);

	own.meanwhile_context = AllocSetContextCreate(TopMemoryContext, "genie meanwhile", ALLOCSET_DEFAULT_SIZES);
	own.meanwhile = MemoryContextAlloc(TopMemoryContext, n_bytes);
	own.held.taken = MemoryContextAlloc(TopMemoryContext, n_bytes);
	for (uint32 i = 0; i < 2; i++)
		own.held.contexts[i] = AllocSetContextCreate(TopMemoryContext, "genie held requests", ALLOCSET_DEFAULT_SIZES);
}

bool
genie_worker_is_interrupted(void)
{
	GenieEngine *idle = idle_engine();

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

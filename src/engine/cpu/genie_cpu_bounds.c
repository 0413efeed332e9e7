/*
 * genie_cpu_bounds.c
 *	  Lower bounds of distances of many queries' candidates, by one thread or several (genie_cpu_engine_bounds()).
 *
 * The candidates of all jobs, one job behind the other, are one long row.  A thread takes the next TASK_BYTES of
 * records from it, a part of a job or many jobs, computes their bounds, and comes back, until there are none.
 *
 * Who writes what:
 *	next		where the row goes on, a job and a candidate in one word: any thread, by compare and exchange; where
 *				another thread was faster, it looks again
 *	bounds		the thread that took their candidates
 *	stopped		the caller's thread only, after the engine's callback said so; others look before they take
 * Beginning and ending threads orders memory (genie_cpu_threads.c): they see what the caller wrote before, and the
 * caller sees what they wrote.  Nothing is allocated, and only the caller waits, for the others.
 */
#include "genie_cpu_bounds.h"
#include "genie_engine.h"

/* bytes of records that a thread takes at a time: 30 us of 1,000 candidates of 128 dimensions */
#define TASK_BYTES (128 * 1024)

/* tasks that a thread is woken for; with fewer, the others are done before it begins (as in genie_cpu_batch.c) */
#define TASKS_TO_WAKE 2

/* milliseconds between two questions whether to stop, while the caller waits for other threads */
#define ASK_MS 2

typedef struct Batch
{
	GenieEngine *engine;
	const GenieBoundsJob *jobs;
	uint32_t	n_jobs;
	uint64_t	next;			/* atomic */
	bool		stopped;		/* atomic */
} Batch;

/* A place in the row. */
typedef struct Place
{
	uint32_t	job;
	uint32_t	hit;
} Place;

static Place
place_of(uint64_t word)
{
	return (Place) {(uint32_t) (word >> 32), (uint32_t) word};
}

static bool
is_stopped(Batch *batch, bool asks)
{
	if (asks && batch->engine->interrupted != NULL && batch->engine->interrupted())
		__atomic_store_n(&batch->stopped, true, __ATOMIC_RELAXED);
	return __atomic_load_n(&batch->stopped, __ATOMIC_RELAXED);
}

/* The place TASK_BYTES behind another one: at least a candidate, if there is one. */
static Place
behind(const Batch *batch, Place place)
{
	size_t		left = TASK_BYTES;

	while (place.job < batch->n_jobs)
	{
		const GenieBoundsJob *job = &batch->jobs[place.job];
		size_t		n_bytes = genie_quantized_bytes(job->vectors.n_dimensions);

		if ((job->n - place.hit) * n_bytes >= left)
		{
			place.hit += (uint32_t) ((left + n_bytes - 1) / n_bytes);
			break;
		}
		left -= (job->n - place.hit) * n_bytes;
		place.job++;
		place.hit = 0;
	}
	return place;
}

/* The bounds of the candidates from one place to another. */
static void
bound_from(const Batch *batch, Place place, Place end)
{
	for (; place.job < batch->n_jobs && place.job <= end.job; place.job++)
	{
		const GenieBoundsJob *job = &batch->jobs[place.job];
		uint32_t	end_hit = place.job < end.job ? job->n : end.hit;

		genie_quantized_bounds(&job->vectors, &job->query, job->hits + place.hit, end_hit - place.hit,
							   job->bounds + place.hit);
		place.hit = 0;
	}
}

/* Takes candidates until there are none. */
static void
take_all(Batch *batch, bool asks)
{
	uint64_t	word = __atomic_load_n(&batch->next, __ATOMIC_RELAXED);

	while (place_of(word).job < batch->n_jobs && !is_stopped(batch, asks))
	{
		Place		end = behind(batch, place_of(word));
		uint64_t	end_word = (uint64_t) end.job << 32 | end.hit;

		/* if another thread was faster, word becomes what it left */
		if (!__atomic_compare_exchange_n(&batch->next, &word, end_word, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		bound_from(batch, place_of(word), end);
		word = __atomic_load_n(&batch->next, __ATOMIC_RELAXED);
	}
}

static void
help(void *arg, GenieTileScratch *scratch)
{
	(void) scratch;
	take_all(arg, false);
}

bool
genie_cpu_bounds_run(GenieEngine *engine, GenieCpuThreads *threads, const GenieBoundsJob *jobs, uint32_t n_jobs)
{
	Batch		batch = {.engine = engine, .jobs = jobs, .n_jobs = n_jobs};
	size_t		n_bytes = 0;
	uint32_t	n_helpers = threads == NULL ? 0 : genie_cpu_threads_count(threads);

	for (uint32_t j = 0; j < n_jobs; j++)
		n_bytes += jobs[j].n * genie_quantized_bytes(jobs[j].vectors.n_dimensions);
	if (n_helpers > n_bytes / TASK_BYTES / TASKS_TO_WAKE)
		n_helpers = (uint32_t) (n_bytes / TASK_BYTES / TASKS_TO_WAKE);

	if (n_helpers > 0)
		genie_cpu_threads_begin(threads, n_helpers, help, &batch);
	take_all(&batch, true);
	while (n_helpers > 0 && !genie_cpu_threads_end(threads, ASK_MS))
		is_stopped(&batch, true);
	return !batch.stopped;
}

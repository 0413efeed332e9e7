/*
 * genie_cpu_batch.c
 *	  Does a batch of jobs over images, by the caller's thread alone or with others (GenieEngineOps.run).
 *
 * A *task* is what one thread does at a time: some jobs of one image in a range of its tiles.  Tiles are in the outer
 * loop and jobs in the inner one, so that a tile's lists stay in the cache for all jobs of the task.  In a tile a job's
 * conditions come first and leave a bitmap of objects, which then is what the tile has alive for the job's own query;
 * where the tile cannot have what the query wants, the conditions are not even looked at.
 *
 * Lanes.  TOP jobs without conditions and key tables, of an image that has codes, can be counted as bit lanes too
 * (genie_lanes.h), as many of them as the dispatcher says (genie_dispatch.h).  A task is then a block of lanes in a
 * range of objects, which need not be whole tiles; all else, parts and bounds too, is the same.
 *
 * Planning.  One thread alone has one task an image.  For several the caller estimates what each job costs and
 * cuts the batch into about TASKS_PER_THREAD tasks a thread, of similar cost: jobs that cost less than that are put
 * together, one that costs more is cut into *parts*, ranges of its tiles.  A task is not made smaller than what
 * waking a thread for it is worth, so a tiny batch is done by the caller, and wakes nobody.  Estimates decide only
 * who does what and never what comes out.
 *
 * Doing.  Threads take tasks by adding one to next_task.  Who writes what:
 *	a job's parts		the thread that has the part's task
 *	job->out			COUNTS, MASK: the same, each its tiles; TOP: the thread that ended the job's last part
 *	parts_left			each thread that ends a part takes one off; who takes the last one ends the job, and the
 *						others' parts are written by then (the subtraction releases and acquires)
 *	bound				any thread that has a part of the job, upwards only
 *	stopped				the caller's thread only, after the engine's callback said so; others look
 *	engine->error		the caller, after all threads have left
 * The caller takes tasks too; when there is none left it waits for the others and asks the callback meanwhile.
 * Nobody else waits for anything.
 *
 * Why the result is the same whatever the timing.  Counts and masks of a tile depend on nothing else.  A TOP
 * job in one part is offered its objects in object order by one thread.  In several parts, each part's top-k
 * leaves at least those of the job's best k that lie in its tiles, in object order; these are offered to
 * the first part's top-k, part by part, so in object order again, and that top-k drops only what k others outrank.
 * Parts tell each other a bound below which keys are not wanted, because k objects elsewhere have no smaller ones
 * (genie_cpu_bound.h): it spares work, late or soon, and never leaves out an object of the job's best k.
 * (Only whether a job is noticed to be malformed may depend on the plan, because a top-k leaves out tiles.)
 *
 * A job is CANCELLED until it is done: an interrupt ends tasks at once, and what was not finished
 * has the right status already.  Top-k's are taken from malloc when a task begins and given back when their job
 * ends; so tasks are taken to the last one after an interrupt too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "genie_cpu_batch.h"
#include "genie_cpu_bound.h"
#include "genie_cpu_job.h"
#include "genie_tile_search.h"
#include "genie_tile_source.h"

#define CACHE_LINE 64			/* bytes */

/*
 * Costs are in postings, about half a nanosecond each.  Measured with bench_engine: zeroing and looking at all counters
 * of a tile takes 5 us, finding one range's lists 10 ns.
 */
#define COST_TILE 10000
#define COST_RANGE 20
#define COSTS_A_NS 2

/*
 * Tasks a thread; more balance better, fewer use a tile's lists for more jobs.  On 16 cores 8 are a quarter faster
 * than 2, and a tenth faster than 4.
 */
#define TASKS_PER_THREAD 8

/* for blocks of lanes: fewer, because each makes the block's table; a task's objects all cost the same */
#define LANE_TASKS_PER_THREAD 2

/* hits that a block's top-k's have room for, all parts together: 256 MB; with more, a block is not cut into parts */
#define LANE_HITS_MAX (UINT64_C(32) << 20)

/* objects that lanes count between two looks at the bound of other parts, or whether to stop: 2 ms of 240 dimensions */
#define LANE_OBJECTS 8192

/* the first time in a part, and then so many times as many: where nothing is known yet, all objects are wanted */
#define LANE_FIRST_OBJECTS 16
#define LANE_GROWTH 4

/* parts of a block of lanes are multiples of so many objects */
#define LANE_UNIT_OBJECTS 1024

#define NO_LANE UINT32_MAX

/* tasks that a thread is woken for: it begins so late that others have done the rest (measured on 16 cores) */
#define TASKS_TO_WAKE 2

/* jobs a thread from which on they are taken to cost the same in each tile: there are enough to balance */
#define MANY_JOBS_PER_THREAD 8

/* tiles that are looked at to estimate a job's cost: SAMPLES_A_BATCH over all jobs, but 1 .. SAMPLES_MAX a job */
#define SAMPLES_A_BATCH 16
#define SAMPLES_MAX 4

/* milliseconds between two questions whether to stop, while the caller waits for other threads */
#define ASK_MS 2

/* A range of a job's tiles, on cache lines of its own: its thread writes it all the time. */
typedef struct BatchPart
{
	GenieTopK	top;			/* TOP; hits is NULL while it has no memory */
	GenieStatus status;			/* CANCELLED: not done yet, or never */
} __attribute__((aligned(CACHE_LINE))) BatchPart;

typedef struct BatchJob
{
	GenieJob   *job;
	uint64_t	cost;
	uint32_t	lane;			/* which of the image's, block after block; NO_LANE: by tiles */
	uint32_t	n_parts;
	uint32_t	parts_left;		/* atomic */
	GenieCpuBound bound;		/* of a job in parts */
	BatchPart  *parts;			/* in object order; part_of gives each */
	uint32_t	stride;			/* from one to the next: between them are those of the task's other jobs */
} BatchJob;

typedef struct BatchTask
{
	BatchJob   *works;			/* of one image */
	uint32_t	n_works;
	uint32_t	part;			/* of each of them */
	uint64_t	first;			/* objects; where it is not a block of lanes, of whole tiles */
	uint64_t	end;
} BatchTask;

typedef struct Batch
{
	GenieEngine *engine;
	const GenieCpuPolicy *policy;
	uint32_t	n_threads;		/* the caller's too */
	uint64_t	cost;			/* of all jobs; at least 1 */
	uint32_t	n_wanted;		/* tasks of similar cost; 0: one an image */
	uint32_t	n_works;
	BatchJob   *works;			/* valid jobs, by image, first those by lanes */
	uint32_t	n_lanes;		/* jobs by lanes, of all images */
	BatchPart  *parts;
	uint32_t	n_parts;
	uint32_t   *n_found;		/* of the bounds of jobs by lanes; NULL: none, or no memory, and they go without */
	BatchTask  *tasks;
	uint32_t	n_tasks;
	uint32_t	next_task;		/* atomic */
	bool		stopped;		/* atomic */
} Batch;

static BatchPart *
part_of(const BatchJob *work, uint32_t part)
{
	return work->parts + (size_t) part * work->stride;
}

/* ---- a job in a tile ---- */

static bool
top_in_tile(GenieTileScratch *scratch, const GenieTile *tile, const GenieJob *job, GenieTopK *top)
{
	GenieTile	rest;

	if (job->n_conditions == 0)
		return genie_tile_search(scratch, tile, &job->query, top);

	if (!genie_tile_may_have(scratch, tile, &job->query, top))
		return true;
	if (!genie_tile_fulfilling(scratch, tile, job->n_conditions, job->conditions, scratch->fulfilling))
		return false;
	rest = *tile;
	rest.live = scratch->fulfilling;
	return genie_tile_search(scratch, &rest, &job->query, top);
}

static bool
counts_in_tile(GenieTileScratch *scratch, const GenieTile *tile, const GenieJob *job, uint32_t t)
{
	size_t		at = (size_t) (t - job->first_tile) * GENIE_TILE_OBJECTS;

	if (!genie_tile_count(scratch, tile, &job->query))
		return false;
	if (genie_query_is_wide(&job->query))
		memcpy((uint16_t *) job->out + at, scratch->counters.wide, sizeof(scratch->counters.wide));
	else
		memcpy((uint8_t *) job->out + at, scratch->counters.narrow, sizeof(scratch->counters.narrow));
	return true;
}

/* Does the job's part in tile number t of its image.  False: it is malformed. */
static bool
job_in_tile(GenieTileScratch *scratch, GenieTile *tile, uint32_t t, const GenieJob *job, GenieTopK *top)
{
	tile->live = job->image->live + (size_t) t * GENIE_TILE_WORDS;
	if (job->kind == GENIE_JOB_TOP)
		return top_in_tile(scratch, tile, job, top);
	if (t < job->first_tile || t - job->first_tile >= job->n_tiles)
		return true;
	if (job->kind == GENIE_JOB_COUNTS)
		return counts_in_tile(scratch, tile, job, t);
	return genie_tile_fulfilling(scratch, tile, job->n_conditions, job->conditions,
								 (uint64_t *) job->out + (size_t) (t - job->first_tile) * GENIE_TILE_WORDS);
}

/* ---- a task ---- */

/* Is the batch to stop?  asks: this is the caller's thread. */
static bool
is_stopped(Batch *batch, bool asks)
{
	if (asks && batch->engine->interrupted != NULL && batch->engine->interrupted())
		__atomic_store_n(&batch->stopped, true, __ATOMIC_RELAXED);
	return __atomic_load_n(&batch->stopped, __ATOMIC_RELAXED);
}

static void
begin_part(const BatchJob *work, BatchPart *part)
{
	const GenieJob *job = work->job;
	uint32_t	capacity = work->lane == NO_LANE ? genie_topk_capacity(job->k) : genie_lanes_capacity(job->k);
	GenieHit   *hits;

	if (job->kind != GENIE_JOB_TOP)
		return;
	hits = malloc(capacity * sizeof(GenieHit));
	if (hits == NULL)
	{
		part->status = GENIE_STATUS_RETRY;
		return;
	}
	genie_topk_init(&part->top, hits, job->k, job->min_key, job->has_after ? &job->after : NULL);
	part->top.capacity = capacity;
}

/* The job's best k, of all its parts. */
static void
finish_top(BatchJob *work)
{
	GenieJob   *job = work->job;
	GenieTopK  *top = &part_of(work, 0)->top;

	genie_cpu_bound_take(&work->bound, top);
	for (uint32_t p = 1; p < work->n_parts; p++)
	{
		const GenieTopK *next = &part_of(work, p)->top;

		for (uint32_t i = 0; i < next->n; i++)
			genie_topk_offer(top, next->hits[i].key, next->hits[i].object);
	}
	job->n_hits = genie_topk_finish(top);
	memcpy(job->out, top->hits, job->n_hits * sizeof(GenieHit));
}

/* All parts have ended: the job failed if one did, and else is done if all are. */
static void
end_job(BatchJob *work)
{
	GenieStatus status = GENIE_OK;

	for (uint32_t p = 0; p < work->n_parts; p++)
		if (status == GENIE_OK || status == GENIE_STATUS_CANCELLED)
			status = part_of(work, p)->status == GENIE_OK ? status : part_of(work, p)->status;
	if (status == GENIE_OK && work->job->kind == GENIE_JOB_TOP)
		finish_top(work);
	work->job->status = status;
	for (uint32_t p = 0; p < work->n_parts; p++)
		free(part_of(work, p)->top.hits);
}

/* done: no interrupt came */
static void
end_part(BatchJob *work, BatchPart *part, bool done)
{
	if (done && part->status == GENIE_STATUS_CANCELLED)
		part->status = GENIE_OK;
	if (__atomic_sub_fetch(&work->parts_left, 1, __ATOMIC_ACQ_REL) == 0)
		end_job(work);
}

static GenieTile
tile_of(const GenieImageGroup *group, uint32_t t)
{
	GenieTile	tile = {0};

	tile.source = &genie_tile_image;
	tile.base = (const uint8_t *) group;
	tile.image = genie_image_tiles(group) + (t - group->first_tile);
	tile.first_object = t << GENIE_TILE_SHIFT;
	tile.n_objects = tile.image->n_objects;
	tile.sizes.width = group->size_width;
	tile.sizes.smallest = group->min_size;
	tile.sizes.largest = group->max_size;
	tile.sizes.above = tile.base + tile.image->sizes;
	return tile;
}

/* The task's jobs in tile number t.  False: the batch is to stop. */
static bool
task_in_tile(Batch *batch, GenieTileScratch *scratch, bool asks, const BatchTask *task,
			 const GenieImageGroup *group, uint32_t t)
{
	GenieTile	tile = tile_of(group, t);

	for (uint32_t w = 0; w < task->n_works; w++)
	{
		BatchJob   *work = &task->works[w];
		BatchPart  *part = part_of(work, task->part);
		bool		shares = work->n_parts > 1 && work->job->kind == GENIE_JOB_TOP;

		if (part->status != GENIE_STATUS_CANCELLED)
			continue;
		if (is_stopped(batch, asks))
			return false;
		if (shares)
			genie_cpu_bound_take(&work->bound, &part->top);
		if (!job_in_tile(scratch, &tile, t, work->job, &part->top))
			part->status = GENIE_STATUS_CORRUPT;
		if (shares)
			genie_cpu_bound_tell(&work->bound, &part->top, tile.first_object);
	}
	return true;
}

/*
 * A task's block of lanes in its objects of tile number t; *n_objects are counted before the next look at bounds.
 * False: the batch is to stop.
 */
static bool
lanes_in_tile(Batch *batch, GenieLaneBlock *block, bool asks, const BatchTask *task, const GenieImageGroup *group,
			  uint32_t t, uint32_t *n_objects)
{
	uint64_t	before = (uint64_t) t << GENIE_TILE_SHIFT;
	uint32_t	first = task->first < before ? 0 : (uint32_t) (task->first - before);
	uint32_t	end = genie_image_tiles(group)[t - group->first_tile].n_objects;
	bool		shares = task->works[0].n_parts > 1;

	if (end > task->end - before)
		end = (uint32_t) (task->end - before);
	for (uint32_t next; first < end; first = next)
	{
		if (is_stopped(batch, asks))
			return false;
		next = end - first < *n_objects ? end : first + *n_objects;
		for (uint32_t w = 0; w < task->n_works && shares; w++)
			genie_cpu_bound_take(&task->works[w].bound, &part_of(&task->works[w], task->part)->top);
		if (shares)
			genie_lanes_refresh(block);
		genie_lanes_search(block, group, t, first, next);
		for (uint32_t w = 0; w < task->n_works && shares; w++)
			genie_cpu_bound_tell(&task->works[w].bound, &part_of(&task->works[w], task->part)->top,
								 (uint32_t) before + first);
		*n_objects = *n_objects < LANE_OBJECTS / LANE_GROWTH ? LANE_GROWTH * *n_objects : LANE_OBJECTS;
	}
	return true;
}

/* Has an object more matches than the job says is possible?  If so, it is among the best. */
static bool
exceeds(const GenieJob *job, const GenieTopK *top)
{
	for (uint32_t i = 0; i < top->n; i++)
		if (top->hits[i].key > job->query.max_count)
			return true;
	return false;
}

/* Makes the block of the task's jobs, all of which have begun.  NULL: there is no memory. */
static GenieLaneBlock *
open_lanes(const Batch *batch, const BatchTask *task, GenieLaneQuery *queries)
{
	for (uint32_t w = 0; w < task->n_works; w++)
	{
		BatchPart  *part = part_of(&task->works[w], task->part);

		if (part->status != GENIE_STATUS_CANCELLED || queries == NULL)
			return NULL;
		queries[w].query = &task->works[w].job->query;
		queries[w].top = &part->top;
	}
	return genie_lanes_open(batch->policy->lanes, task->works[0].job->image, task->n_works, queries);
}

static void
do_task(Batch *batch, GenieTileScratch *scratch, bool asks, const BatchTask *task)
{
	const GenieSegmentImage *image = task->works[0].job->image;
	bool		by_lanes = task->works[0].lane != NO_LANE;
	GenieLaneQuery *queries = by_lanes ? malloc(task->n_works * sizeof(GenieLaneQuery)) : NULL;
	GenieLaneBlock *block = NULL;
	uint32_t	n_objects = task->works[0].n_parts > 1 ? LANE_FIRST_OBJECTS : LANE_OBJECTS;
	bool		done = true;

	for (uint32_t w = 0; w < task->n_works; w++)
		begin_part(&task->works[w], part_of(&task->works[w], task->part));
	if (by_lanes)
		block = open_lanes(batch, task, queries);
	for (uint32_t g = 0; g < image->n_groups && done; g++)
	{
		const GenieImageGroup *group = image->groups[g];
		uint32_t	end = group->first_tile + group->n_tiles;

		for (uint32_t t = group->first_tile; t < end && done; t++)
			if (t < task->first >> GENIE_TILE_SHIFT || (uint64_t) t << GENIE_TILE_SHIFT >= task->end)
				continue;
			else if (block != NULL)
				done = lanes_in_tile(batch, block, asks, task, group, t, &n_objects);
			else if (!by_lanes)
				done = task_in_tile(batch, scratch, asks, task, group, t);
	}
	for (uint32_t w = 0; w < task->n_works && by_lanes; w++)
		if (block == NULL)
			part_of(&task->works[w], task->part)->status = GENIE_STATUS_RETRY;
		else if (exceeds(task->works[w].job, &part_of(&task->works[w], task->part)->top))
			part_of(&task->works[w], task->part)->status = GENIE_STATUS_CORRUPT;
	genie_lanes_close(block);
	free(queries);
	for (uint32_t w = 0; w < task->n_works; w++)
		end_part(&task->works[w], part_of(&task->works[w], task->part), done);
}

/* ---- planning ---- */

/* The postings that the query counts in a tile, and what finding them costs. */
static uint64_t
query_cost(GenieTileScratch *scratch, const GenieTile *tile, const GenieEngineQuery *query)
{
	GenieTileFound found = {0};
	uint64_t	n_postings = 0;
	bool		more;

	do
	{
		more = genie_tile_find(scratch, tile, query, &found);
		n_postings += found.n_postings;
	} while (more);
	return n_postings + (uint64_t) query->n_ranges * COST_RANGE +
		(n_postings > GENIE_FEW_POSTINGS ? COST_TILE : 0);
}

/* Tiles that the job looks at. */
static uint32_t
tiles_of(const GenieJob *job)
{
	return job->kind == GENIE_JOB_TOP ? job->image->n_tiles : job->n_tiles;
}

/* What it can be cut between: tiles, or pieces of lanes. */
static uint32_t
units_of(const BatchJob *work)
{
	return work->lane == NO_LANE ? tiles_of(work->job) :
		(work->job->image->n_objects + LANE_UNIT_OBJECTS - 1) / LANE_UNIT_OBJECTS;
}

/* Estimates what a job costs from n_samples of its tiles, evenly spaced. */
static uint64_t
sampled_cost(GenieTileScratch *scratch, const GenieJob *job, uint32_t n_samples)
{
	uint32_t	first = job->kind == GENIE_JOB_TOP ? 0 : job->first_tile;
	uint32_t	n_tiles = tiles_of(job);
	uint64_t	cost = 0;
	uint32_t	g = 0;

	if (n_samples > n_tiles)
		n_samples = n_tiles;
	for (uint32_t i = 0; i < n_samples; i++)
	{
		uint32_t	t = first + (uint32_t) ((2 * i + 1) * (uint64_t) n_tiles / (2 * n_samples));
		GenieTile	tile;

		while (t - job->image->groups[g]->first_tile >= job->image->groups[g]->n_tiles)
			g++;
		tile = tile_of(job->image->groups[g], t);
		if (job->kind != GENIE_JOB_MASK)
			cost += query_cost(scratch, &tile, &job->query);
		for (uint32_t c = 0; job->kind != GENIE_JOB_COUNTS && c < job->n_conditions; c++)
			cost += query_cost(scratch, &tile, &job->conditions[c].query);
	}
	return n_samples == 0 ? 0 : cost * n_tiles / n_samples;
}

/* Shares what a block of lanes costs between its jobs, from the first one on; returns behind the last one. */
static uint32_t
estimate_block(Batch *batch, uint32_t start)
{
	const GenieDispatchCosts *costs = &batch->policy->costs;
	BatchJob   *works = batch->works;
	const GenieSegmentImage *image = works[start].job->image;
	double		ns = genie_dispatch_block_ns(costs, image);
	uint32_t	end = start + 1;

	while (end < batch->n_works && end - start < costs->n_lanes && works[end].lane != NO_LANE &&
		   works[end].job->image->id == image->id)
		end++;
	for (uint32_t w = start; w < end; w++)
		works[w].cost = (uint64_t) (COSTS_A_NS * (ns / (end - start) + genie_dispatch_lane_ns(costs, works[w].job)));
	return end;
}

/* Estimates the jobs' costs and how many tasks they are worth. */
static void
estimate(Batch *batch, GenieTileScratch *scratch, uint64_t task_cost)
{
	uint32_t	n_samples = SAMPLES_A_BATCH / batch->n_works;

	if (n_samples < 1)
		n_samples = 1;
	if (n_samples > SAMPLES_MAX)
		n_samples = SAMPLES_MAX;
	for (uint32_t w = 0, end = 0; w < batch->n_works; w++)
	{
		BatchJob   *work = &batch->works[w];

		if (work->lane != NO_LANE && w >= end)
			end = estimate_block(batch, w);
		else if (work->lane != NO_LANE)
			;					/* estimated with its block */
		else if (batch->n_works > batch->n_threads * MANY_JOBS_PER_THREAD)
			work->cost = (uint64_t) tiles_of(work->job) * COST_TILE;
		else
			work->cost = sampled_cost(scratch, work->job, n_samples);
		batch->cost += work->cost;
	}
	if (batch->cost == 0)
		batch->cost = 1;
	batch->n_wanted = batch->n_threads * TASKS_PER_THREAD;
	if (batch->n_wanted > batch->cost / task_cost)
		batch->n_wanted = (uint32_t) (batch->cost / task_cost);
}

/* Adds the tasks of a job that is cut into parts, or of n_works jobs that are not. */
static void
add_tasks(Batch *batch, BatchJob *works, uint32_t n_works, uint32_t n_parts)
{
	const GenieJob *job = works[0].job;
	uint32_t	n_units = n_works == 1 || works[0].lane != NO_LANE ? units_of(&works[0]) : job->image->n_tiles;
	uint32_t	first = n_works == 1 && job->kind != GENIE_JOB_TOP ? job->first_tile : 0;
	uint64_t	n_objects = works[0].lane != NO_LANE ? LANE_UNIT_OBJECTS : GENIE_TILE_OBJECTS;

	for (uint32_t w = 0; w < n_works; w++)
	{
		works[w].n_parts = works[w].parts_left = n_parts;
		works[w].parts = batch->parts + batch->n_parts + w;
		works[w].stride = n_works;
	}
	for (uint32_t p = 0; p < n_parts * n_works; p++)
		batch->parts[batch->n_parts++] = (BatchPart) {.status = GENIE_STATUS_CANCELLED};
	for (uint32_t p = 0; p < n_parts; p++)
		batch->tasks[batch->n_tasks++] = (BatchTask) {
			.works = works, .n_works = n_works, .part = p,
			.first = (first + (uint64_t) n_units * p / n_parts) * n_objects,
			.end = (first + (uint64_t) n_units * (p + 1) / n_parts) * n_objects
		};
}

/* Tasks of an image by where they begin, so that threads are in the same tiles at the same time and share the cache. */
static int
compare_tasks(const void *a, const void *b)
{
	const BatchTask *x = a;
	const BatchTask *y = b;
	uint64_t	x_image = x->works[0].job->image->id;
	uint64_t	y_image = y->works[0].job->image->id;

	if (x_image != y_image)
		return x_image < y_image ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->works > y->works) - (x->works < y->works);
}

/* The end of the block of lanes from start on, in *cost what it costs; lowers *most, the parts that it may have. */
static uint32_t
block_end(const Batch *batch, uint32_t start, uint64_t *cost, uint64_t *most)
{
	const BatchJob *works = batch->works;
	uint32_t	end = start;
	uint64_t	n_hits = 0;

	*cost = 0;
	for (; end < batch->n_works && end - start < batch->policy->lanes->n_lanes && works[end].lane != NO_LANE &&
		 works[end].job->image->id == works[start].job->image->id; end++)
	{
		*cost += works[end].cost;
		n_hits += genie_lanes_capacity(works[end].job->k);
	}
	if (*most > LANE_HITS_MAX / n_hits)
		*most = LANE_HITS_MAX / n_hits;
	return end;
}

/* Cuts the batch into tasks. */
static void
plan(Batch *batch)
{
	uint64_t	task_cost = batch->n_wanted == 0 ? UINT64_MAX : batch->cost / batch->n_wanted;
	uint32_t	n_lane_tasks = LANE_TASKS_PER_THREAD * batch->n_threads;
	uint32_t	end;

	if (n_lane_tasks > batch->n_wanted)
		n_lane_tasks = batch->n_wanted;
	for (uint32_t start = 0; start < batch->n_works; start = end)
	{
		BatchJob   *first = &batch->works[start];
		bool		by_lanes = first->lane != NO_LANE;
		uint64_t	cost = first->cost;
		uint64_t	most = units_of(first);
		uint64_t	n_parts;

		end = start + 1;
		if (by_lanes)
			end = block_end(batch, start, &cost, &most);
		n_parts = batch->n_wanted == 0 ? 1 : cost * (by_lanes ? n_lane_tasks : batch->n_wanted) / batch->cost;
		if (n_parts > most)
			n_parts = most;
		if (n_parts < 2)
		{
			n_parts = 1;
			for (; !by_lanes && end < batch->n_works && batch->works[end].job->image->id == first->job->image->id &&
				 cost + batch->works[end].cost <= task_cost; end++)
				cost += batch->works[end].cost;
		}
		add_tasks(batch, first, end - start, (uint32_t) n_parts);
	}
	qsort(batch->tasks, batch->n_tasks, sizeof(BatchTask), compare_tasks);
}

/* ---- lanes or tiles ---- */

/* by image, those by lanes first, else in the caller's order */
static int
compare_works(const void *a, const void *b)
{
	const BatchJob *x = a;
	const BatchJob *y = b;

	if (x->job->image->id != y->job->image->id)
		return x->job->image->id < y->job->image->id ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* Gives lanes to those of an image's jobs that are to be counted so; queries has room for all of them. */
static void
dispatch_image(Batch *batch, uint32_t start, uint32_t end, GenieDispatchQuery *queries)
{
	const GenieCpuPolicy *policy = batch->policy;
	const GenieSegmentImage *image = batch->works[start].job->image;
	GenieDispatchCosts costs = policy->costs;
	GenieDispatchChoice choice;
	uint32_t	n = 0;

	if (!genie_image_has_codes(image))
		return;
	costs.n_parts = batch->n_threads == 1 ? 1 : LANE_TASKS_PER_THREAD * batch->n_threads;
	for (uint32_t w = start; w < end; w++)
	{
		const GenieJob *job = batch->works[w].job;

		if (job->kind == GENIE_JOB_TOP && job->n_conditions == 0 && job->query.keys == NULL)
			queries[n++] = genie_dispatch_query(&costs, job, w);
	}
	if (n == 0)
		return;
	choice = genie_dispatch_choose(&costs, image, policy->choice, n, queries);
	for (uint32_t q = 0; q < choice.n_lanes; q++)
		batch->works[queries[q].job].lane = q;
	batch->n_lanes += choice.n_lanes;
	genie_dispatch_explain(&choice, policy->choice, "bit lanes", batch->engine->choices.reason);
}

/* Decides which jobs are counted by lanes, and puts the jobs in order.  Without memory all go by tiles. */
static void
dispatch(Batch *batch)
{
	GenieDispatchQuery *queries = malloc(batch->n_works * sizeof(GenieDispatchQuery));
	uint32_t	n_top = 0;
	uint32_t	end;

	qsort(batch->works, batch->n_works, sizeof(BatchJob), compare_works);
	for (uint32_t start = 0; start < batch->n_works && queries != NULL; start = end)
	{
		for (end = start + 1; end < batch->n_works &&
			 batch->works[end].job->image->id == batch->works[start].job->image->id; end++)
			;
		dispatch_image(batch, start, end, queries);
	}
	free(queries);
	if (batch->n_lanes > 0)
		qsort(batch->works, batch->n_works, sizeof(BatchJob), compare_works);
	for (uint32_t w = 0; w < batch->n_works; w++)
		n_top += batch->works[w].job->kind == GENIE_JOB_TOP;
	batch->engine->choices.n_lanes += batch->n_lanes;
	batch->engine->choices.n_tiles += n_top - batch->n_lanes;
}

/* ---- the batch ---- */

static void
take_tasks(Batch *batch, GenieTileScratch *scratch, bool asks)
{
	for (;;)
	{
		uint32_t	i = __atomic_fetch_add(&batch->next_task, 1, __ATOMIC_RELAXED);

		if (i >= batch->n_tasks)
			break;
		do_task(batch, scratch, asks, &batch->tasks[i]);
	}
}

/* GenieCpuHelp */
static void
help(void *arg, GenieTileScratch *scratch)
{
	take_tasks(arg, scratch, false);
}

/* Takes memory for parts and tasks; false: there is none. */
static bool
take_parts(Batch *batch)
{
	/* a job has one part, or no more than its share of the tasks wanted; those of a block of lanes have theirs each */
	uint32_t	n_parts = batch->n_works + (batch->n_threads == 1 ? 0 : TASKS_PER_THREAD * batch->n_threads);
	void	   *parts = NULL;

	batch->tasks = malloc(n_parts * sizeof(BatchTask));
	if (batch->n_lanes > 0 && batch->n_threads > 1)
	{
		n_parts += LANE_TASKS_PER_THREAD * batch->n_threads * batch->policy->lanes->n_lanes;
		batch->n_found = calloc(batch->n_lanes, GENIE_CPU_BOUND_KEYS * sizeof(uint32_t));
	}
	for (uint32_t w = 0, lane = 0; w < batch->n_works && batch->n_found != NULL; w++)
		if (batch->works[w].lane != NO_LANE)
			genie_cpu_bound_count(&batch->works[w].bound, batch->works[w].job->query.max_count,
								  batch->n_found + (size_t) lane++ * GENIE_CPU_BOUND_KEYS);
	if (posix_memalign(&parts, CACHE_LINE, n_parts * sizeof(BatchPart)) != 0)
		return false;
	batch->parts = parts;
	return batch->tasks != NULL;
}

/* Plans and does the batch, of at least one job. */
static void
do_batch(Batch *batch, GenieTileScratch *scratch, GenieCpuThreads *threads)
{
	uint32_t	n_helpers;

	plan(batch);
	n_helpers = batch->n_wanted / TASKS_TO_WAKE;
	if (n_helpers > batch->n_threads - 1)
		n_helpers = batch->n_threads - 1;
	if (n_helpers > batch->n_tasks - 1)
		n_helpers = batch->n_tasks - 1;

	if (n_helpers > 0)
		genie_cpu_threads_begin(threads, n_helpers, help, batch);
	take_tasks(batch, scratch, true);
	while (n_helpers > 0 && !genie_cpu_threads_end(threads, ASK_MS))
		is_stopped(batch, true);
}

GenieStatus
genie_cpu_batch_run(GenieEngine *engine, GenieTileScratch *scratch, GenieCpuThreads *threads,
					const GenieCpuPolicy *policy, uint32_t n_jobs, GenieJob *jobs)
{
	Batch		batch = {.engine = engine, .policy = policy};

	engine->error[0] = '\0';
	if (n_jobs == 0)
		return GENIE_OK;
	batch.n_threads = 1 + (threads == NULL ? 0 : genie_cpu_threads_count(threads));
	batch.works = malloc(n_jobs * sizeof(BatchJob));
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		jobs[i].n_hits = 0;
		jobs[i].status = GENIE_STATUS_RETRY;
		if (batch.works == NULL)
			continue;
		jobs[i].status = genie_cpu_job_valid(&jobs[i]) ? GENIE_STATUS_CANCELLED : GENIE_STATUS_CORRUPT;
		if (jobs[i].status == GENIE_STATUS_CANCELLED)
			batch.works[batch.n_works++] = (BatchJob) {.job = &jobs[i], .lane = NO_LANE};
	}
	if (batch.n_works > 0)
	{
		dispatch(&batch);
		if (batch.n_threads > 1)
			estimate(&batch, scratch, policy->task_cost);
		if (take_parts(&batch))
			do_batch(&batch, scratch, threads);
		else
			for (uint32_t w = 0; w < batch.n_works; w++)
				batch.works[w].job->status = GENIE_STATUS_RETRY;
	}
	genie_cpu_jobs_explain(engine, n_jobs, jobs);
	free(batch.tasks);
	free(batch.n_found);
	free(batch.works);
	free(batch.parts);
	return GENIE_OK;
}

/*
 * genie_cpu_batch.c
 *	  Does a batch of jobs over images, by the caller's thread alone or with others (GenieEngineOps.run).
 *
 * A *task* is what one thread does at a time: some jobs of the same tiles of one image in a range of these tiles, or
 * one job in a range of their slices (genie_tile_search.h).  Tiles are in the outer loop and jobs in the inner one,
 * so that a tile's lists stay in the cache for all jobs of the task.  In a tile a job's conditions come first.  They
 * leave a bitmap of objects, which takes the place of the live bitmap for the job's own query.  Where the tile cannot
 * have what the query wants, the conditions are not looked at.
 *
 * Lanes.  TOP jobs without conditions and key tables, of an image that has codes, can be counted as bit lanes too
 * (genie_lanes.h), as many of them as the dispatcher says (genie_dispatch.h).  A task is then a block of lanes in a
 * range of objects, which need not be whole tiles; all else, parts and floors too, is the same.
 *
 * Scans.  SCAN jobs of the same vectors are a block, too: a task is such a block in a range of objects.  It takes so
 * many records at a time as stay in a core's cache, for all of its jobs.
 *
 * Graphs.  A SCAN job that searches a graph is a task of its own: one thread does it from end to end.
 *
 * Planning: genie_cpu_plan.c.
 *
 * Doing.  Threads take tasks by adding one to next_task.  Who writes what:
 *	a job's parts		the thread that has the part's task
 *	job->out			COUNTS, MASK: the same, each its tiles; FACETS, GRID: that of the first part, other parts have
 *						sums of their own; and else, as at the end, the thread that ended the job's last part
 *	parts_left			each thread that ends a part takes one off; the thread that takes the last one ends the job,
 *						and the others' parts are written by then (the subtraction releases and acquires)
 *	floor				any thread that has a part of the job, upwards only
 *	stopped				the caller's thread only, after the engine's callback said so; others look
 *	engine->error		the caller, after all threads have left
 * The caller takes tasks too; when there is none left it waits for the others and asks the callback meanwhile.
 * Nobody else waits for anything.
 *
 * Why the result is the same whatever the timing.  Counts and masks of a tile depend on nothing else.  One thread
 * offers the objects of a TOP or SCAN job in one part, in object order.  In several parts, each part's top-k keeps at
 * least those of the job's best k that lie in its tiles, in object order.  These are offered to the first part's
 * top-k, part by part, so in object order again, and that top-k drops only what k others outrank.  Parts tell each
 * other a floor: smaller keys are not wanted, because k objects elsewhere have no smaller ones (genie_cpu_floor.h).
 * It spares work, and never leaves out an object of the job's best k.  (Only whether a malformed job is noticed may
 * depend on the plan, because a top-k leaves out tiles.)
 *
 * A job is CANCELLED until it is done: an interrupt ends tasks at once, and what was not finished
 * has the right status already.  Top-k's are taken from malloc when a task begins and given back when their job
 * ends; so tasks are taken to the last one after an interrupt too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "genie_cpu_batch.h"
#include "genie_tile_count.h"
#include "genie_tile_facets.h"
#include "genie_tile_search.h"
#include "genie_value_offer.h"

/* objects that lanes count between two looks at the shared floor, and whether to stop: 2 ms of 240 dimensions */
#define LANE_OBJECTS 8192

/* the first time in a part, and then so many times as many: where nothing is known yet, all objects are wanted */
#define LANE_FIRST_OBJECTS 16
#define LANE_GROWTH 4

/* tasks that a thread is woken for; with fewer, the others are done before it begins (measured on 16 cores) */
#define TASKS_TO_WAKE 2

/* milliseconds between two questions whether to stop, while the caller waits for other threads */
#define ASK_MS 2

/* ---- a job ---- */

static bool
query_valid(const GenieEngineQuery *query, const GenieSegmentImage *image)
{
	uint32_t	next = 0;

	for (uint32_t r = 0; r < query->n_ranges; r++)
	{
		const GenieRankRange *range = &query->ranges[r];

		if (range->first < next || range->end < range->first || range->end > image->n_keywords)
			return false;
		next = range->end;
	}
	return query->max_count >= 1 && query->max_count <= UINT16_MAX;
}

/* A job comes from a request in shared memory: it is checked before it decides what is read and written. */
static bool
job_valid(const GenieJob *job)
{
	if (job->kind == GENIE_JOB_SCAN)
		return genie_job_scan_fits(job);
	if (genie_job_adds_up(job->kind))
		return genie_job_facets_fit(job);
	if (job->kind == GENIE_JOB_TOP)
	{
		if (job->k < 1 || job->k > GENIE_JOB_K_MAX || job->min_key < 1)
			return false;
	}
	else if (job->kind == GENIE_JOB_TALLY)
	{
		if (job->min_key < 1 || job->query.keys != NULL)
			return false;
	}
	else if (job->kind != GENIE_JOB_COUNTS && job->kind != GENIE_JOB_MASK)
		return false;
	if (!genie_job_tiles_fit(job))
		return false;

	if (genie_job_has_query(job->kind) && !query_valid(&job->query, job->image))
		return false;
	if (!genie_job_keys_fit(job))
		return false;
	for (uint32_t c = 0; genie_job_has_conditions(job->kind) && c < job->n_conditions; c++)
	{
		const GenieCondition *condition = &job->conditions[c];

		if (condition->min_count < 1 || !query_valid(&condition->query, job->image))
			return false;
	}
	return true;
}

/* What a job is before it is begun: cancelled, if it can be done. */
static GenieStatus
status_before(const GenieJob *job)
{
	if (job->kind == GENIE_JOB_STAGE)
		return GENIE_STATUS_DECLINED;
	if (genie_job_is_on_device(job))
		return GENIE_STATUS_NO_ROOM;
	return job_valid(job) ? GENIE_STATUS_CANCELLED : GENIE_STATUS_CORRUPT;
}

/* Says in engine->error why the last one of the failed jobs failed. */
static void
explain(GenieEngine *engine, uint32_t n_jobs, const GenieJob *jobs)
{
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		if (jobs[i].status == GENIE_STATUS_CORRUPT)
			snprintf(engine->error, sizeof(engine->error), "a job is malformed, or counts more than it says");
		else if (jobs[i].status == GENIE_STATUS_RETRY)
			snprintf(engine->error, sizeof(engine->error), "there is no memory for the results of a batch");
		else if (jobs[i].status == GENIE_STATUS_NO_ROOM)
			snprintf(engine->error, sizeof(engine->error), "an image, or vectors, are on a device alone");
	}
}

/* ---- a job in a tile ---- */

static bool
top_in_tile(GenieTileScratch *scratch, const GenieTile *tile, const GenieJob *job, GenieTopK *top)
{
	GenieTile	rest;
	uint32_t	n;

	if (job->n_conditions == 0)
		return genie_tile_search(scratch, tile, &job->query, top);

	if (!genie_tile_may_have(scratch, tile, &job->query, top))
		return true;
	if (!genie_tile_fulfilling(scratch, tile, job->n_conditions, job->conditions, scratch->fulfilling, &n))
		return false;
	if (n == 0)
		return true;
	rest = *tile;
	rest.live = scratch->fulfilling;
	return genie_tile_search(scratch, &rest, &job->query, top);
}

static bool
counts_in_tile(GenieTileScratch *scratch, const GenieTile *tile, const GenieJob *job, uint32_t t)
{
	size_t		at = (size_t) (t - job->first_tile) * GENIE_TILE_OBJECTS;

	if (!genie_tile_count_all(scratch, tile, &job->query))
		return false;
	if (genie_query_is_wide(&job->query))
		memcpy((uint16_t *) job->out + at, scratch->counters.wide, sizeof(scratch->counters.wide));
	else
		memcpy((uint8_t *) job->out + at, scratch->counters.narrow, sizeof(scratch->counters.narrow));
	return true;
}

static bool
any_in_tile(GenieTileScratch *scratch, const GenieTile *tile, const GenieJob *job, uint64_t *out)
{
	memset(out, 0, GENIE_TILE_WORDS * sizeof(uint64_t));
	for (uint32_t c = 0; c < job->n_conditions; c++)
	{
		uint32_t	n;

		if (!genie_tile_fulfilling(scratch, tile, 1, &job->conditions[c], scratch->fulfilling, &n))
			return false;
		for (uint32_t w = 0; n > 0 && w < GENIE_TILE_WORDS; w++)
			out[w] |= scratch->fulfilling[w];
	}
	return true;
}

static bool
mask_in_tile(GenieTileScratch *scratch, const GenieTile *tile, const GenieJob *job, uint32_t t)
{
	uint64_t   *out = (uint64_t *) job->out + (size_t) (t - job->first_tile) * GENIE_TILE_WORDS;
	uint32_t	n;

	if (job->any)
		return any_in_tile(scratch, tile, job, out);
	if (!genie_tile_fulfilling(scratch, tile, job->n_conditions, job->conditions, out, &n))
		return false;
	if (n == 0)
		memset(out, 0, GENIE_TILE_WORDS * sizeof(uint64_t));
	return true;
}

static bool
tally_in_tile(GenieTileScratch *scratch, const GenieTile *tile, const GenieJob *job, uint64_t *n_tallied)
{
	GenieCondition condition = {job->query, job->min_key};
	uint32_t	n;

	if (!genie_tile_fulfilling(scratch, tile, 1, &condition, scratch->fulfilling, &n))
		return false;
	*n_tallied += n;
	return true;
}

/* Does the job's part in tile number t of its image.  False: it is malformed. */
static bool
job_in_tile(GenieTileScratch *scratch, GenieTile *tile, uint32_t t, const GenieJob *job, GenieCpuPart *part)
{
	tile->live = genie_job_live(job, t);
	if (job->kind == GENIE_JOB_TOP)
		return top_in_tile(scratch, tile, job, &part->top);
	if (job->kind == GENIE_JOB_TALLY)
		return tally_in_tile(scratch, tile, job, &part->n_tallied);
	if (job->kind == GENIE_JOB_COUNTS)
		return counts_in_tile(scratch, tile, job, t);
	if (job->kind == GENIE_JOB_FACETS)
		genie_tile_facets(scratch, tile, job->facets, part->sums);
	else if (job->kind == GENIE_JOB_GRID)
		part->repeats |= !genie_tile_grid(scratch, tile, job->grid, part->sums);
	if (genie_job_adds_up(job->kind))
		return true;
	return mask_in_tile(scratch, tile, job, t);
}

/* ---- a task ---- */

/* Is the batch to stop?  asks: this is the caller's thread. */
static bool
is_stopped(GenieCpuBatch *batch, bool asks)
{
	if (asks && batch->engine->interrupted != NULL && batch->engine->interrupted())
		__atomic_store_n(&batch->stopped, true, __ATOMIC_RELAXED);
	return __atomic_load_n(&batch->stopped, __ATOMIC_RELAXED);
}

static void
begin_part(const GenieCpuWork *work, GenieCpuPart *part)
{
	const GenieJob *job = work->job;
	uint32_t	capacity = work->lane == GENIE_CPU_NO_LANE ? genie_topk_capacity(job->k) : genie_lanes_capacity(job->k);
	GenieHit   *hits;

	part->top.floor = job->min_key;
	part->n_tallied = 0;
	if (genie_job_adds_up(job->kind))
	{
		if (part == genie_cpu_part(work, 0))
			part->sums = memset(job->out, 0, genie_job_facets_bytes(job));
		else if ((part->sums = calloc(1, genie_job_facets_bytes(job))) == NULL)
			part->status = GENIE_STATUS_RETRY;
	}
	if (!genie_job_ranks(job->kind))
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
finish_top(GenieCpuWork *work)
{
	GenieJob   *job = work->job;
	GenieTopK  *top = &genie_cpu_part(work, 0)->top;

	if (!work->by_graph)		/* which gives them in order */
		genie_cpu_floor_take(&work->floor, top);
	for (uint32_t p = 1; p < work->n_parts; p++)
	{
		const GenieTopK *next = &genie_cpu_part(work, p)->top;

		for (uint32_t i = 0; i < next->n; i++)
			genie_topk_offer(top, next->hits[i].key, next->hits[i].object);
	}
	job->by_graph = work->by_graph;
	job->n_hits = work->by_graph ? top->n : genie_topk_finish(top);
	memcpy(job->out, top->hits, job->n_hits * sizeof(GenieHit));
}

/* Adds up the sums of all parts, in object order. */
static void
finish_sums(GenieCpuWork *work)
{
	GenieJob   *job = work->job;

	job->n_hits = genie_cpu_part(work, 0)->repeats;
	for (uint32_t p = 1; p < work->n_parts; p++)
	{
		const GenieCpuPart *next = genie_cpu_part(work, p);
		const uint32_t *sums = next->sums;

		job->n_hits |= next->repeats;
		if (job->kind == GENIE_JOB_GRID)
			genie_grid_merge(job->out, next->sums, job->grid->n_cells);
		else
			for (uint32_t i = 0; i < job->facets.end - job->facets.first; i++)
				((uint32_t *) job->out)[i] += sums[i];
	}
}

/* All parts have ended: the job failed if one did, and else is done if all are. */
static void
end_job(GenieCpuWork *work)
{
	GenieStatus status = GENIE_OK;

	for (uint32_t p = 0; p < work->n_parts; p++)
		if (status == GENIE_OK || status == GENIE_STATUS_CANCELLED)
			status = genie_cpu_part(work, p)->status == GENIE_OK ? status : genie_cpu_part(work, p)->status;
	if (status == GENIE_OK && genie_job_ranks(work->job->kind))
		finish_top(work);
	if (status == GENIE_OK && genie_job_adds_up(work->job->kind))
		finish_sums(work);
	for (uint32_t p = 0; p < work->n_parts && status == GENIE_OK && work->job->kind == GENIE_JOB_TALLY; p++)
		work->job->n_hits += (uint32_t) genie_cpu_part(work, p)->n_tallied;
	work->job->status = status;
	for (uint32_t p = 0; p < work->n_parts; p++)
	{
		free(genie_cpu_part(work, p)->top.hits);
		if (p > 0)
			free(genie_cpu_part(work, p)->sums);
	}
}

/* done: no interrupt came */
static void
end_part(GenieCpuWork *work, GenieCpuPart *part, bool done)
{
	if (done && part->status == GENIE_STATUS_CANCELLED)
		part->status = GENIE_OK;
	if (__atomic_sub_fetch(&work->parts_left, 1, __ATOMIC_ACQ_REL) == 0)
		end_job(work);
}

/* Do the parts of a job tell each other which keys are too small for its best k? */
static bool
shares_floor(const GenieCpuWork *work)
{
	return work->n_parts > 1 && work->job->kind == GENIE_JOB_TOP;
}

/* The task's jobs in tile number t.  False: the batch is to stop. */
static bool
task_in_tile(GenieCpuBatch *batch, GenieTileScratch *scratch, bool asks, const GenieCpuTask *task,
			 const GenieImageGroup *group, uint32_t t)
{
	GenieTile	tile = genie_cpu_tile(group, t);

	if (task->first > tile.first_object)
		tile.slice_first = (uint32_t) (task->first - tile.first_object);
	if (task->end - tile.first_object < tile.n_objects)
		tile.slice_end = (uint32_t) (task->end - tile.first_object);
	for (uint32_t w = 0; w < task->n_works; w++)
	{
		GenieCpuWork *work = &task->works[w];
		GenieCpuPart *part = genie_cpu_part(work, task->part);
		bool		shares = shares_floor(work);

		if (part->status != GENIE_STATUS_CANCELLED)
			continue;
		if (is_stopped(batch, asks))
			return false;
		if (shares)
			genie_cpu_floor_take(&work->floor, &part->top);
		if (!job_in_tile(scratch, &tile, t, work->job, part))
			part->status = GENIE_STATUS_CORRUPT;
		if (shares)
			genie_cpu_floor_tell(&work->floor, &part->top, tile.first_object);
	}
	return true;
}

/*
 * A task's block of lanes in its objects of tile number t; *n_objects are counted before the next look at floors.
 * False: the batch is to stop.
 */
static bool
lanes_in_tile(GenieCpuBatch *batch, GenieLaneBlock *block, bool asks, const GenieCpuTask *task,
			  const GenieImageGroup *group, uint32_t t, uint32_t *n_objects)
{
	uint64_t	before = (uint64_t) t << GENIE_TILE_SHIFT;
	uint32_t	first = task->first < before ? 0 : (uint32_t) (task->first - before);
	uint32_t	end = genie_image_tiles(group)[t - group->first_tile].n_objects;
	const uint64_t *live = genie_job_live(task->works[0].job, t);
	bool		has_parts = task->works[0].n_parts > 1;

	if (end > task->end - before)
		end = (uint32_t) (task->end - before);
	for (uint32_t next; first < end; first = next)
	{
		if (is_stopped(batch, asks))
			return false;
		next = end - first < *n_objects ? end : first + *n_objects;
		for (uint32_t w = 0; w < task->n_works; w++)
			if (shares_floor(&task->works[w]))
				genie_cpu_floor_take(&task->works[w].floor, &genie_cpu_part(&task->works[w], task->part)->top);
		if (has_parts)
			genie_lanes_refresh(block);
		genie_lanes_search(block, group, t, live, first, next);
		for (uint32_t w = 0; w < task->n_works; w++)
			if (shares_floor(&task->works[w]))
				genie_cpu_floor_tell(&task->works[w].floor, &genie_cpu_part(&task->works[w], task->part)->top,
									 (uint32_t) before + first);
		*n_objects = *n_objects < LANE_OBJECTS / LANE_GROWTH ? LANE_GROWTH * *n_objects : LANE_OBJECTS;
	}
	return true;
}

/* The parts of a task's jobs, which have begun, in objects first .. first + n - 1, which lie in one tile. */
static void
scan_records(const GenieCpuTask *task, uint32_t first, uint32_t n)
{
	const GenieQuantizedVectors *vectors = task->works[0].job->vectors;
	size_t		n_bytes = genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	const GenieValueQuery *queries[GENIE_CPU_SCAN_JOBS];
	GenieTopK  *tops[GENIE_CPU_SCAN_JOBS];
	uint32_t	n_queries = 0;

	for (uint32_t w = 0; w < task->n_works; w++)
	{
		GenieCpuWork *work = &task->works[w];
		GenieCpuPart *part = genie_cpu_part(work, task->part);

		if (part->status != GENIE_STATUS_CANCELLED)
			continue;
		if (work->n_parts > 1)
			genie_cpu_floor_take(&work->floor, &part->top);
		queries[n_queries] = work->job->scan;
		tops[n_queries++] = &part->top;
	}
	genie_value_offer(queries, tops, n_queries, genie_vectors_record(vectors, n_bytes, first), n, first,
					  task->works[0].job->image->live);
	for (uint32_t w = 0; w < task->n_works; w++)
	{
		GenieCpuPart *part = genie_cpu_part(&task->works[w], task->part);

		if (task->works[w].n_parts > 1 && part->status == GENIE_STATUS_CANCELLED)
			genie_cpu_floor_tell(&task->works[w].floor, &part->top, first);
	}
}

/* A task of SCAN jobs.  False: the batch is to stop. */
static bool
scan_task(GenieCpuBatch *batch, bool asks, const GenieCpuTask *task)
{
	const GenieQuantizedVectors *vectors = task->works[0].job->vectors;
	uint32_t	n_each = (uint32_t) (GENIE_CPU_SCAN_BYTES /
									 genie_value_record_bytes(vectors->metric, vectors->n_dimensions));
	uint64_t	end = task->end < vectors->n_objects ? task->end : vectors->n_objects;

	/* it divides a tile */
	n_each = n_each >= GENIE_CPU_SCAN_OBJECTS ? GENIE_CPU_SCAN_OBJECTS : n_each >= 256 ? 256 : 64;
	for (uint64_t first = task->first; first < end; first += n_each)
	{
		uint32_t	n = end - first < n_each ? (uint32_t) (end - first) : n_each;

		if (is_stopped(batch, asks))
			return false;
		scan_records(task, (uint32_t) first, n);
	}
	return true;
}

/* A task of a job that searches a graph.  False: the batch is to stop. */
static bool
search_task(GenieCpuBatch *batch, bool asks, const GenieCpuTask *task)
{
	const GenieJob *job = task->works[0].job;
	GenieCpuPart *part = genie_cpu_part(&task->works[0], task->part);
	uint64_t	n_seen;
	int64_t		n;

	if (is_stopped(batch, asks))
		return false;
	if (part->status != GENIE_STATUS_CANCELLED)
		return true;
	n = genie_proximity_search(job->graph, job->vectors, job->scan, genie_job_live(job, 0), job->k, job->min_key,
							   job->graph_queue, part->top.hits, &n_seen);
	if (n < 0)
		part->status = GENIE_STATUS_RETRY;
	else
		part->top.n = (uint32_t) n;
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
open_lanes(const GenieCpuBatch *batch, const GenieCpuTask *task, GenieLaneQuery *queries)
{
	for (uint32_t w = 0; w < task->n_works; w++)
	{
		GenieCpuPart *part = genie_cpu_part(&task->works[w], task->part);

		if (part->status != GENIE_STATUS_CANCELLED || queries == NULL)
			return NULL;
		queries[w].query = &task->works[w].job->query;
		queries[w].top = &part->top;
		queries[w].tally = task->works[w].job->kind == GENIE_JOB_TALLY ? &part->n_tallied : NULL;
	}
	return genie_lanes_open(batch->policy->lanes, task->works[0].job->image, task->n_works, queries);
}

static void
do_task(GenieCpuBatch *batch, GenieTileScratch *scratch, bool asks, const GenieCpuTask *task)
{
	const GenieSegmentImage *image = task->works[0].job->image;
	bool		by_lanes = task->works[0].lane != GENIE_CPU_NO_LANE;
	bool		scans = genie_cpu_scans(&task->works[0]);
	GenieLaneQuery *queries = by_lanes ? malloc(task->n_works * sizeof(GenieLaneQuery)) : NULL;
	GenieLaneBlock *block = NULL;
	uint32_t	n_objects = task->works[0].n_parts > 1 ? LANE_FIRST_OBJECTS : LANE_OBJECTS;
	bool		done = true;

	for (uint32_t w = 0; w < task->n_works; w++)
		begin_part(&task->works[w], genie_cpu_part(&task->works[w], task->part));
	if (by_lanes)
		block = open_lanes(batch, task, queries);
	if (scans)
		done = scan_task(batch, asks, task);
	else if (task->works[0].by_graph)
		done = search_task(batch, asks, task);
	for (uint32_t g = 0; g < image->n_groups && done && !scans && !task->works[0].by_graph; g++)
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
			genie_cpu_part(&task->works[w], task->part)->status = GENIE_STATUS_RETRY;
		else if (exceeds(task->works[w].job, &genie_cpu_part(&task->works[w], task->part)->top))
			genie_cpu_part(&task->works[w], task->part)->status = GENIE_STATUS_CORRUPT;
	genie_lanes_close(block);
	free(queries);
	for (uint32_t w = 0; w < task->n_works; w++)
		end_part(&task->works[w], genie_cpu_part(&task->works[w], task->part), done);
}

/* ---- the batch ---- */

static void
take_tasks(GenieCpuBatch *batch, GenieTileScratch *scratch, bool asks)
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

/* Does the batch, which has been planned. */
static void
do_batch(GenieCpuBatch *batch, GenieTileScratch *scratch, GenieCpuThreads *threads)
{
	uint32_t	n_helpers = batch->n_wanted / TASKS_TO_WAKE;

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
	GenieCpuBatch batch = {.engine = engine, .policy = policy};

	engine->error[0] = '\0';
	if (n_jobs == 0)
		return GENIE_OK;
	batch.n_threads = 1 + (threads == NULL ? 0 : genie_cpu_threads_count(threads));
	batch.works = malloc(n_jobs * sizeof(GenieCpuWork));
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		jobs[i].n_hits = 0;
		jobs[i].has_bounds = false;
		jobs[i].status = GENIE_STATUS_RETRY;
		if (batch.works == NULL)
			continue;
		jobs[i].status = status_before(&jobs[i]);
		if (jobs[i].status == GENIE_STATUS_CANCELLED)
			batch.works[batch.n_works++] = (GenieCpuWork) {.job = &jobs[i], .lane = GENIE_CPU_NO_LANE};
	}
	if (batch.n_works > 0)
	{
		genie_cpu_dispatch(&batch, scratch);
		if (genie_cpu_plan(&batch, scratch))
			do_batch(&batch, scratch, threads);
		else
			for (uint32_t w = 0; w < batch.n_works; w++)
				batch.works[w].job->status = GENIE_STATUS_RETRY;
	}
	explain(engine, n_jobs, jobs);
	free(batch.tasks);
	free(batch.n_found);
	free(batch.works);
	free(batch.parts);
	return GENIE_OK;
}

/*
 * genie_cpu_batch.c
 *	  Does a batch of jobs over images, one image after the other (GenieEngineOps.run).
 *
 * The jobs of an image are done together, tiles in the outer loop and jobs in the inner one, so that a
 * tile's lists stay in the cache for all jobs.  In a tile a job's conditions come first and leave a bitmap of
 * objects, which then is what the tile has alive for the job's own query; where the tile cannot
 * have what the query wants, the conditions are not even looked at.
 *
 * A job is CANCELLED until it is done: an interrupt leaves at once, and what was not finished
 * has the right status already.  The top-k's of an image's jobs are taken from malloc when its turn comes
 * and given back after it.
 *
 * Sizes lie in the image as one or two bytes above the smallest; they are widened for a tile when
 * the first of its jobs has a key table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "genie_cpu_batch.h"
#include "genie_tile_search.h"
#include "genie_tile_source.h"

typedef struct BatchJob
{
	GenieJob   *job;
	bool		active;			/* nothing went wrong yet */
	GenieTopK	top;			/* TOP; its hits are NULL before and after its image's turn */
} BatchJob;

/* ---- are jobs what they should be? ---- */

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

static bool
job_valid(const GenieJob *job)
{
	if (job->kind == GENIE_JOB_TOP)
	{
		if (job->k < 1 || job->k > GENIE_JOB_K_MAX || job->min_key < 1)
			return false;
	}
	else if (job->kind != GENIE_JOB_COUNTS && job->kind != GENIE_JOB_MASK)
		return false;
	else if (job->first_tile > job->image->n_tiles || job->n_tiles > job->image->n_tiles - job->first_tile)
		return false;

	if (job->kind != GENIE_JOB_MASK && !query_valid(&job->query, job->image))
		return false;
	for (uint32_t c = 0; job->kind != GENIE_JOB_COUNTS && c < job->n_conditions; c++)
	{
		const GenieCondition *condition = &job->conditions[c];

		if (condition->min_count < 1 || !query_valid(&condition->query, job->image))
			return false;
	}
	return true;
}

static void
fail(GenieEngine *engine, BatchJob *work, GenieStatus status, const char *error)
{
	work->active = false;
	work->job->status = status;
	snprintf(engine->error, sizeof(engine->error), "%s", error);
}

static void
fail_malformed(GenieEngine *engine, BatchJob *work)
{
	fail(engine, work, GENIE_STATUS_CORRUPT, "a job is malformed, or counts more than it says");
}

/* ---- a job in a tile ---- */

/* The sizes of the tile's objects, widened to 16 bits. */
static const uint16_t *
widen_sizes(GenieTileScratch *scratch, const GenieTile *tile)
{
	const GenieImageGroup *group = (const GenieImageGroup *) (const void *) tile->base;
	const uint8_t *from = tile->base + tile->image->sizes;
	uint16_t   *sizes = scratch->sizes;
	uint16_t	least = (uint16_t) group->min_size;

	for (uint32_t i = 0; group->size_width == 0 && i < tile->n_objects; i++)
		sizes[i] = least;
	for (uint32_t i = 0; group->size_width == 1 && i < tile->n_objects; i++)
		sizes[i] = (uint16_t) (least + from[i]);
	for (uint32_t i = 0; group->size_width == 2 && i < tile->n_objects; i++)
		sizes[i] = (uint16_t) (least + ((const uint16_t *) (const void *) from)[i]);
	return sizes;
}

static bool
top_in_tile(GenieTileScratch *scratch, GenieTile *tile, BatchJob *work)
{
	const GenieJob *job = work->job;
	GenieTile	rest;

	if (job->query.keys != NULL && tile->sizes == NULL)
		tile->sizes = widen_sizes(scratch, tile);
	if (job->n_conditions == 0)
		return genie_tile_search(scratch, tile, &job->query, &work->top);

	if (!genie_tile_may_have(scratch, tile, &job->query, &work->top))
		return true;
	if (!genie_tile_fulfilling(scratch, tile, job->n_conditions, job->conditions, scratch->fulfilling))
		return false;
	rest = *tile;
	rest.live = scratch->fulfilling;
	return genie_tile_search(scratch, &rest, &job->query, &work->top);
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
job_in_tile(GenieTileScratch *scratch, GenieTile *tile, uint32_t t, BatchJob *work)
{
	const GenieJob *job = work->job;

	tile->live = job->image->live + (size_t) t * GENIE_TILE_WORDS;
	if (job->kind == GENIE_JOB_TOP)
		return top_in_tile(scratch, tile, work);
	if (t < job->first_tile || t - job->first_tile >= job->n_tiles)
		return true;
	if (job->kind == GENIE_JOB_COUNTS)
		return counts_in_tile(scratch, tile, job, t);
	return genie_tile_fulfilling(scratch, tile, job->n_conditions, job->conditions,
								 (uint64_t *) job->out + (size_t) (t - job->first_tile) * GENIE_TILE_WORDS);
}

/* ---- the jobs of an image ---- */

static void
begin_job(GenieEngine *engine, BatchJob *work)
{
	const GenieJob *job = work->job;
	GenieHit   *hits;

	if (!job_valid(job))
		fail_malformed(engine, work);
	else if (job->kind == GENIE_JOB_TOP)
	{
		hits = malloc(genie_topk_capacity(job->k) * sizeof(GenieHit));
		if (hits == NULL)
			fail(engine, work, GENIE_STATUS_RETRY, "there is no memory for the results of a batch");
		else
			genie_topk_init(&work->top, hits, job->k, job->min_key, job->has_after ? &job->after : NULL);
	}
}

/* done: no interrupt came */
static void
end_job(BatchJob *work, bool done)
{
	GenieJob   *job = work->job;

	if (work->active && done)
	{
		if (job->kind == GENIE_JOB_TOP)
		{
			job->n_hits = genie_topk_finish(&work->top);
			memcpy(job->out, work->top.hits, job->n_hits * sizeof(GenieHit));
		}
		job->status = GENIE_OK;
	}
	free(work->top.hits);
	work->top.hits = NULL;
}

/* False: interrupted. */
static bool
jobs_in_group(GenieEngine *engine, GenieTileScratch *scratch, const GenieImageGroup *group,
			  BatchJob *works, uint32_t n)
{
	for (uint32_t i = 0; i < group->n_tiles; i++)
	{
		uint32_t	t = group->first_tile + i;
		GenieTile	tile = {0};

		tile.source = &genie_tile_image;
		tile.base = (const uint8_t *) group;
		tile.image = genie_image_tiles(group) + i;
		tile.first_object = t << GENIE_TILE_SHIFT;
		tile.n_objects = tile.image->n_objects;
		for (uint32_t w = 0; w < n; w++)
		{
			if (!works[w].active)
				continue;
			if (engine->interrupted != NULL && engine->interrupted())
				return false;
			if (!job_in_tile(scratch, &tile, t, &works[w]))
				fail_malformed(engine, &works[w]);
		}
	}
	return true;
}

/* Does jobs of the same image.  False: interrupted. */
static bool
jobs_in_image(GenieEngine *engine, GenieTileScratch *scratch, BatchJob *works, uint32_t n)
{
	const GenieSegmentImage *image = works[0].job->image;
	bool		done = true;

	for (uint32_t w = 0; w < n; w++)
		begin_job(engine, &works[w]);
	for (uint32_t g = 0; g < image->n_groups && done; g++)
		done = jobs_in_group(engine, scratch, image->groups[g], works, n);
	for (uint32_t w = 0; w < n; w++)
		end_job(&works[w], done);
	return done;
}

/* ---- the batch ---- */

/* by image, in the caller's order within one */
static int
compare_works(const void *a, const void *b)
{
	const GenieJob *x = ((const BatchJob *) a)->job;
	const GenieJob *y = ((const BatchJob *) b)->job;

	if (x->image->id != y->image->id)
		return x->image->id < y->image->id ? -1 : 1;
	return (x > y) - (x < y);
}

GenieStatus
genie_cpu_batch_run(GenieEngine *engine, GenieTileScratch *scratch, uint32_t n_jobs, GenieJob *jobs)
{
	BatchJob   *works;
	uint32_t	end;

	engine->error[0] = '\0';
	if (n_jobs == 0)
		return GENIE_OK;
	works = calloc(n_jobs, sizeof(BatchJob));
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		jobs[i].n_hits = 0;
		jobs[i].status = works == NULL ? GENIE_STATUS_RETRY : GENIE_STATUS_CANCELLED;
		if (works != NULL)
			works[i] = (BatchJob) {.job = &jobs[i], .active = true};
	}
	if (works == NULL)
	{
		snprintf(engine->error, sizeof(engine->error), "there is no memory for a batch of %u jobs", n_jobs);
		return GENIE_OK;
	}

	qsort(works, n_jobs, sizeof(BatchJob), compare_works);
	for (uint32_t start = 0; start < n_jobs; start = end)
	{
		for (end = start + 1; end < n_jobs && works[end].job->image->id == works[start].job->image->id;)
			end++;
		if (!jobs_in_image(engine, scratch, works + start, end - start))
			break;
	}
	free(works);
	return GENIE_OK;
}

/*
 * genie_test_jobs.h
 *	  Random jobs (genie_engine.h) on segments' models (genie_test_image.h), and whether what a job gave is right.
 *
 * What a job must give is computed object by object from the model that its image was made of.
 */
#ifndef GENIE_TEST_JOBS_H
#define GENIE_TEST_JOBS_H

#include <string.h>

#include "genie_engine.h"
#include "genie_test.h"
#include "genie_test_hits.h"
#include "genie_test_image.h"
#include "genie_test_keys.h"

#define OBJECTS_MAX (4 * GENIE_TILE_OBJECTS)
#define RANGES_MAX 12
#define CONDITIONS_MAX 3

static uint32_t objects[OBJECTS_MAX];
static uint32_t counts[OBJECTS_MAX];
static GenieHit wanted[OBJECTS_MAX];
static bool allowed[OBJECTS_MAX];
static bool one_holds[OBJECTS_MAX];

/* ---- what is expected ---- */

/* Counts the query's matches of every object into counts; returns the largest, at least 1. */
static inline uint32_t
count_plainly(const GenieModel *model, const GenieEngineQuery *query)
{
	uint32_t	largest = 1;

	memset(counts, 0, model->n_objects * sizeof(uint32_t));
	for (uint32_t r = 0; r < query->n_ranges; r++)
		for (uint32_t rank = query->ranges[r].first; rank < query->ranges[r].end; rank++)
			for (uint32_t i = 0; i < model->lists[rank].n; i++)
				counts[model->lists[rank].objects[i]]++;
	for (uint32_t i = 0; i < model->n_objects; i++)
		largest = counts[i] > largest ? counts[i] : largest;
	return largest;
}

/* Which objects are live and fulfil the job's conditions. */
static inline void
allow_plainly(const GenieModel *model, const GenieJob *job)
{
	for (uint32_t i = 0; i < model->n_objects; i++)
		allowed[i] = job->live == NULL ? genie_model_is_live(model, i) :
			i / GENIE_TILE_OBJECTS >= job->first_tile && i / GENIE_TILE_OBJECTS - job->first_tile < job->n_tiles &&
			(genie_job_live(job, i / GENIE_TILE_OBJECTS)[i % GENIE_TILE_OBJECTS / 64] >> (i % 64) & 1) != 0;
	for (uint32_t i = 0; i < model->n_objects; i++)
		one_holds[i] = false;
	for (uint32_t c = 0; c < job->n_conditions; c++)
	{
		count_plainly(model, &job->conditions[c].query);
		for (uint32_t i = 0; i < model->n_objects; i++)
		{
			bool		holds = counts[i] >= job->conditions[c].min_count;

			one_holds[i] |= holds;
			allowed[i] = allowed[i] && (holds || job->any);
		}
	}
	for (uint32_t i = 0; i < model->n_objects; i++)
		allowed[i] = allowed[i] && (one_holds[i] || !job->any);
}

/* Fills wanted with all objects that the job may return, in rank order, whatever its k and cursor. */
static inline uint32_t
rank_plainly(const GenieModel *model, const GenieJob *job)
{
	const GenieKeyTable *table = job->query.keys;
	uint32_t	n = 0;

	allow_plainly(model, job);
	count_plainly(model, &job->query);
	for (uint32_t i = genie_job_first_object(job); i < genie_job_first_object(job) + genie_job_objects(job); i++)
	{
		uint32_t	key = counts[i];

		if (table != NULL)
			key = genie_keys_of_size(table, model->sizes[i])[key];
		if (!allowed[i] || key < job->min_key)
			continue;
		wanted[n].key = key;
		wanted[n++].object = i;
	}
	qsort(wanted, n, sizeof(GenieHit), genie_test_compare_hits);
	return n;
}

/* ---- checks of a job that was done ---- */

static inline bool
check_top(const GenieModel *model, const GenieJob *job)
{
	uint32_t	n_wanted = rank_plainly(model, job);

	return genie_test_check_hits(job, wanted, n_wanted);
}

static inline bool
check_counts(const GenieModel *model, const GenieJob *job)
{
	uint32_t	first = job->first_tile * GENIE_TILE_OBJECTS;

	count_plainly(model, &job->query);
	for (uint32_t i = 0; i < job->n_tiles * GENIE_TILE_OBJECTS; i++)
	{
		uint32_t	count = first + i < model->n_objects ? counts[first + i] : 0;
		uint32_t	got = job->query.max_count <= GENIE_COUNT_NARROW ?
			((const uint8_t *) job->out)[i] : ((const uint16_t *) job->out)[i];

		if (got != count)
			return CHECK_INT(got, count);
	}
	return CHECK(true);
}

static inline bool
check_mask(const GenieModel *model, const GenieJob *job)
{
	uint32_t	first = job->first_tile * GENIE_TILE_OBJECTS;
	const uint64_t *mask = job->out;

	allow_plainly(model, job);
	for (uint32_t i = 0; i < job->n_tiles * GENIE_TILE_OBJECTS; i++)
		if ((mask[i / 64] >> (i % 64) & 1) != (first + i < model->n_objects && allowed[first + i]))
			return CHECK_INT(i, -1);
	return CHECK(true);
}

static inline bool
check_tally(const GenieModel *model, const GenieJob *job)
{
	return CHECK_INT(job->n_hits, rank_plainly(model, job));
}

static inline bool
check_job(const GenieModel *model, const GenieJob *job)
{
	if (!CHECK_INT(job->status, GENIE_OK) || !CHECK(!job->has_bounds))
		return false;
	if (job->kind == GENIE_JOB_TOP)
		return check_top(model, job);
	if (job->kind == GENIE_JOB_COUNTS)
		return check_counts(model, job);
	if (job->kind == GENIE_JOB_TALLY)
		return check_tally(model, job);
	return check_mask(model, job);
}

/* ---- random segments and jobs ---- */

static inline void
random_model(GenieRandom *random, GenieModel *model)
{
	bool		large = genie_random_below(random, 3) == 0;
	uint32_t	n_keywords = 1 + (uint32_t) genie_random_below(random, large ? 50000 : 100);
	uint32_t	n_lists = n_keywords < 50 ? n_keywords : 50;
	uint16_t	width = (uint16_t) genie_random_below(random, 3);

	genie_model_begin(model, 1 + (uint32_t) genie_random_below(random, OBJECTS_MAX), n_keywords);
	for (uint32_t l = 0; l < n_lists; l++)
		genie_model_list(model, (uint32_t) ((uint64_t) l * n_keywords / n_lists), objects,
						 genie_model_random_objects(random, model->n_objects, objects));
	model->size_width = width;
	model->min_size = (uint32_t) genie_random_below(random, 1000);
	for (uint32_t i = 0; i < model->n_objects; i++)
	{
		model->sizes[i] = model->min_size +
			(uint32_t) genie_random_below(random, width == 0 ? 1 : width == 1 ? 256 : 64000);
		if (i / 20000 % 3 == 1 && genie_random_below(random, 4) != 0)
			model->live[i / 64] &= ~(UINT64_C(1) << (i % 64));
	}
}

/* Ranges that ascend; some are empty, some end with the last keyword.  From malloc. */
static inline void
random_query(GenieRandom *random, const GenieModel *model, GenieEngineQuery *query)
{
	GenieRankRange *ranges = malloc(RANGES_MAX * sizeof(GenieRankRange));
	uint32_t	rank = 0;
	uint32_t	step = model->n_keywords / 4 + 1;

	memset(query, 0, sizeof(GenieEngineQuery));
	query->ranges = ranges;
	while (query->n_ranges < RANGES_MAX && rank < model->n_keywords && genie_random_below(random, 12) > 0)
	{
		GenieRankRange *range = &ranges[query->n_ranges++];

		range->first = rank + (uint32_t) genie_random_below(random, (model->n_keywords - rank < step ?
																	 model->n_keywords - rank : step));
		range->end = range->first + (uint32_t) genie_random_below(random, step);
		if (range->end > model->n_keywords || genie_random_below(random, 20) == 0)
			range->end = model->n_keywords;
		rank = range->end;
	}
	query->max_count = count_plainly(model, query);
	if (genie_random_below(random, 4) == 0)
		query->max_count += (uint32_t) genie_random_below(random, 300);
}

/* A key table for the model's objects. */
static inline GenieKeyTable *
random_keys(GenieRandom *random, const GenieModel *model, uint32_t max_count)
{
	uint32_t	max_size = model->min_size;

	for (uint32_t i = 0; i < model->n_objects; i++)
		max_size = model->sizes[i] > max_size ? model->sizes[i] : max_size;
	return genie_test_keys(random, model->min_size, max_size, max_count);
}

static inline void
random_conditions(GenieRandom *random, const GenieModel *model, GenieJob *job)
{
	GenieCondition *conditions = calloc(CONDITIONS_MAX, sizeof(GenieCondition));

	job->conditions = conditions;
	while (job->n_conditions < CONDITIONS_MAX && genie_random_below(random, 2) == 0)
	{
		GenieCondition *condition = &conditions[job->n_conditions++];

		random_query(random, model, &condition->query);
		condition->min_count = 1 + (uint32_t) genie_random_below(random, condition->query.max_count / 2 + 1);
		if (genie_random_below(random, 20) == 0)
			condition->min_count = condition->query.max_count + 1;
	}
}

/* out is of exactly the size that the job needs. */
static inline void
take_out(GenieJob *job)
{
	size_t		n_objects = (size_t) job->n_tiles * GENIE_TILE_OBJECTS;

	if (job->kind == GENIE_JOB_TOP)
		job->out = malloc(job->k * sizeof(GenieHit));
	else if (job->kind == GENIE_JOB_MASK)
		job->out = malloc(n_objects / 8);
	else if (job->kind == GENIE_JOB_TALLY)
		job->out = NULL;
	else
		job->out = malloc(n_objects * (job->query.max_count <= GENIE_COUNT_NARROW ? 1 : 2));
}

static inline void
random_job(GenieRandom *random, const GenieModel *model, const GenieSegmentImage *image, GenieJob *job)
{
	static const uint32_t ks[] = {1, 10, 100, 1000, GENIE_JOB_K_MAX};

	memset(job, 0, sizeof(GenieJob));
	job->kind = genie_random_below(random, 2) == 0 ? GENIE_JOB_TOP :
		(GenieJobKind) (GENIE_JOB_TOP + genie_random_below(random, 4));
	job->image = image;
	job->status = GENIE_STATUS_LOST;
	random_query(random, model, &job->query);
	if (genie_job_has_conditions(job->kind))
		random_conditions(random, model, job);
	job->n_tiles = image->n_tiles;
	if (job->kind != GENIE_JOB_TOP || genie_random_below(random, 2) == 0)
	{
		job->first_tile = (uint32_t) genie_random_below(random, image->n_tiles + 1);
		job->n_tiles = (uint32_t) genie_random_below(random, image->n_tiles - job->first_tile + 1);
	}
	if (job->kind == GENIE_JOB_TALLY)
		job->min_key = 1 + (uint32_t) genie_random_below(random, job->query.max_count + 2);
	job->any = job->kind == GENIE_JOB_MASK && genie_random_below(random, 2) == 0;
	if ((job->kind == GENIE_JOB_TALLY || job->kind == GENIE_JOB_TOP) && genie_random_below(random, 3) == 0)
		job->live = random_live(random, image, job->first_tile, job->n_tiles);
	if (job->kind == GENIE_JOB_TOP)
	{
		if (genie_random_below(random, 3) == 0)
			job->query.keys = random_keys(random, model, job->query.max_count);
		job->k = ks[genie_random_below(random, 5)];
		job->min_key = genie_random_below(random, 2) == 0 ? 1 :
			1 + (uint32_t) genie_random_below(random, job->query.max_count + 2);
		job->has_after = genie_random_below(random, 3) == 0;
		if (job->has_after)
		{
			uint32_t	n = rank_plainly(model, job);

			job->after.key = 1 + (uint32_t) genie_random_below(random, job->query.max_count + 2);
			job->after.object = (uint32_t) genie_random_below(random, model->n_objects);
			if (n > 0 && genie_random_below(random, 3) > 0)
				job->after = wanted[genie_random_below(random, n)];
		}
	}
	take_out(job);
}

static inline void
free_job(GenieJob *job)
{
	genie_test_free_keys(job->query.keys);
	for (uint32_t c = 0; c < job->n_conditions; c++)
		free((void *) job->conditions[c].query.ranges);
	free((void *) job->conditions);
	free((void *) job->query.ranges);
	free((void *) job->live);
	free(job->out);
}

#endif							/* GENIE_TEST_JOBS_H */

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

static inline bool
is_of_job(const GenieJob *job, uint32_t object)
{
	return object / GENIE_TILE_OBJECTS >= job->first_tile &&
		object / GENIE_TILE_OBJECTS - job->first_tile < job->n_tiles;
}

/* Which objects are live and fulfil the job's conditions. */
static inline void
allow_plainly(const GenieModel *model, const GenieJob *job)
{
	for (uint32_t i = 0; i < model->n_objects; i++)
		allowed[i] = job->live == NULL ? genie_model_is_live(model, i) :
			is_of_job(job, i) &&
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

/* What a FACETS job must give, rank by rank. */
static inline bool
check_facets(const GenieModel *model, const GenieJob *job)
{
	const uint32_t *sums = job->out;

	allow_plainly(model, job);
	for (uint32_t rank = job->facets.first; rank < job->facets.end; rank++)
	{
		uint32_t	sum = 0;

		for (uint32_t i = 0; i < model->lists[rank].n; i++)
			sum += is_of_job(job, model->lists[rank].objects[i]) && allowed[model->lists[rank].objects[i]];
		if (sums[rank - job->facets.first] != sum)
			return CHECK_INT(sums[rank - job->facets.first], sum);
	}
	return CHECK(true);
}

/* An object's place on an axis: how many it has, in *place the last one. */
static inline uint32_t
place_plainly(const GenieModel *model, const GenieGridAxis *axis, uint32_t object, uint32_t *place)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < axis->n_ranks; i++)
		if (axis->places[i] != GENIE_GRID_NOWHERE)
		{
			const GenieModelList *list = &model->lists[axis->first_rank + i];
			uint32_t	low = 0;
			uint32_t	high = list->n;

			while (low < high)
			{
				uint32_t	middle = (low + high) / 2;

				if (list->objects[middle] < object)
					low = middle + 1;
				else
					high = middle;
			}
			if (low == list->n || list->objects[low] != object)
				continue;
			*place = axis->places[i];
			n++;
		}
	return n;
}

/* What a GRID job must give, object by object. */
static inline bool
check_grid(const GenieModel *model, const GenieJob *job)
{
	const GenieGrid *grid = job->grid;
	GenieGridCell *cells = calloc(grid->n_cells, sizeof(GenieGridCell));
	bool		repeats = false;
	bool		ok = true;

	allow_plainly(model, job);
	for (uint32_t i = 0; i < model->n_objects && !repeats; i++)
	{
		uint32_t	cell = 0;
		bool		is_in = allowed[i] && is_of_job(job, i);

		for (uint32_t a = 0; a < grid->n_axes && is_in && !repeats; a++)
		{
			uint32_t	place = 0;
			uint32_t	n = place_plainly(model, &grid->axes[a], i, &place);

			repeats = n > 1;
			is_in = n == 1;
			cell += place;
		}
		if (!is_in || repeats)
			continue;
		if (cells[cell].n++ == 0)
			cells[cell].first = i;
		cells[cell].last = i;
	}
	ok = CHECK_INT(job->n_hits != 0, repeats);
	for (uint32_t c = 0; ok && !repeats && c < grid->n_cells; c++)
	{
		const GenieGridCell *got = (const GenieGridCell *) job->out + c;

		if (got->n != cells[c].n || (got->n > 0 && (got->first != cells[c].first || got->last != cells[c].last)))
			ok = CHECK_INT(c, -1);
	}
	free(cells);
	return ok;
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
	if (job->kind == GENIE_JOB_FACETS)
		return check_facets(model, job);
	if (job->kind == GENIE_JOB_GRID)
		return check_grid(model, job);
	return check_mask(model, job);
}

/* ---- random segments and jobs ---- */

/* Tuples, whose images are of any form. */
static inline void
random_tuples(GenieRandom *random, GenieModel *model)
{
	uint32_t	n_values[20];
	uint32_t	n_dimensions = 1 + (uint32_t) genie_random_below(random, 20);

	for (uint32_t d = 0; d < n_dimensions; d++)
		n_values[d] = 1 + (uint32_t) genie_random_below(random, genie_random_below(random, 3) == 0 ? 400 : 20);
	genie_model_tuples(model, random, 1 + (uint32_t) genie_random_below(random, OBJECTS_MAX), n_dimensions, n_values,
					   (uint32_t) genie_random_below(random, 2) * 10, genie_random_below(random, 2) == 0);
	model->form = (GenieImageForm) genie_random_below(random, 3);
}

/* Of objects of any keywords, without codes, tight or not, or of tuples. */
static inline void
random_model(GenieRandom *random, GenieModel *model)
{
	bool		large = genie_random_below(random, 3) == 0;
	uint32_t	n_keywords = 1 + (uint32_t) genie_random_below(random, large ? 50000 : 100);
	uint32_t	n_lists = n_keywords < 50 ? n_keywords : 50;
	uint16_t	width = (uint16_t) genie_random_below(random, 3);

	if (genie_random_below(random, 3) == 0)
	{
		random_tuples(random, model);
		return;
	}
	genie_model_begin(model, 1 + (uint32_t) genie_random_below(random, OBJECTS_MAX), n_keywords);
	model->form = genie_random_below(random, 2) == 0 ? GENIE_IMAGE_FULL : GENIE_IMAGE_TIGHT;
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

/*
 * A grid over the model's keywords.  A random object has many keywords, so on most axes all but one are nowhere, or
 * objects would have several.
 */
static inline GenieGrid *
random_grid(GenieRandom *random, const GenieModel *model)
{
	GenieGrid  *grid = calloc(1, sizeof(GenieGrid));
	GenieGridAxis *axes = calloc(GENIE_GRID_AXES_MAX, sizeof(GenieGridAxis));

	grid->axes = axes;
	grid->n_axes = 1 + (uint32_t) genie_random_below(random, genie_random_below(random, 4) == 0 ?
													 GENIE_GRID_AXES_MAX : 3);
	grid->n_cells = 1;
	for (uint32_t a = 0; a < grid->n_axes; a++)
	{
		uint32_t	n_places = 1 + (uint32_t) genie_random_below(random, 1000);
		bool		one = genie_random_below(random, 8) != 0;
		uint32_t   *places;
		uint32_t	that;

		axes[a].first_rank = (uint32_t) genie_random_below(random, model->n_keywords);
		axes[a].n_ranks = (uint32_t) genie_random_below(random, model->n_keywords - axes[a].first_rank + 1);
		axes[a].places = places = malloc(axes[a].n_ranks * sizeof(uint32_t) + 1);
		that = (uint32_t) genie_random_below(random, axes[a].n_ranks + 1);
		while (that < axes[a].n_ranks && model->lists[axes[a].first_rank + that].n == 0 &&
			   genie_random_below(random, 50) > 0)
			that++;
		for (uint32_t i = 0; i < axes[a].n_ranks; i++)
			places[i] = (one ? i != that : genie_random_below(random, 3) == 0) ? GENIE_GRID_NOWHERE :
				(uint32_t) genie_random_below(random, n_places);
		grid->n_cells += n_places - 1;
	}
	return grid;
}

static inline void
free_grid(const GenieGrid *grid)
{
	for (uint32_t a = 0; grid != NULL && a < grid->n_axes; a++)
		free((void *) grid->axes[a].places);
	if (grid != NULL)
		free((void *) grid->axes);
	free((void *) grid);
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
	else if (genie_job_adds_up(job->kind))
		job->out = malloc(genie_job_facets_bytes(job) + 1);
	else
		job->out = malloc(n_objects * (job->query.max_count <= GENIE_COUNT_NARROW ? 1 : 2));
}

static inline void
random_job(GenieRandom *random, const GenieModel *model, const GenieSegmentImage *image, GenieJob *job)
{
	static const uint32_t ks[] = {1, 10, 100, 1000, GENIE_JOB_K_MAX};

	memset(job, 0, sizeof(GenieJob));
	job->kind = genie_random_below(random, 2) == 0 ? GENIE_JOB_TOP :
		(GenieJobKind) (GENIE_JOB_TOP + genie_random_below(random, 6));
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
	if (job->kind == GENIE_JOB_FACETS)
	{
		job->facets.first = (uint32_t) genie_random_below(random, model->n_keywords + 1);
		job->facets.end = job->facets.first +
			(uint32_t) genie_random_below(random, model->n_keywords - job->facets.first + 1);
	}
	if (job->kind == GENIE_JOB_GRID)
		job->grid = random_grid(random, model);
	if (job->kind != GENIE_JOB_COUNTS && job->kind != GENIE_JOB_MASK && genie_random_below(random, 3) == 0)
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
	free_grid(job->grid);
	free(job->out);
}

#endif							/* GENIE_TEST_JOBS_H */

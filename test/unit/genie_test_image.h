/*
 * genie_test_image.h
 *	  Segments for tests and benchmarks: a plain model of one, and its image.
 *
 * The model is what a segment means: for each rank the ascending objects that have it, for each object
 * its size and whether it is live.  genie_model_image() makes the image through the builder, the
 * way a loader does: in two passes over the lists, cut into tiles.
 */
#ifndef GENIE_TEST_IMAGE_H
#define GENIE_TEST_IMAGE_H

#include <string.h>

#include "genie_image.h"
#include "genie_test.h"

typedef struct GenieModelList
{
	uint32_t	n;
	uint32_t   *objects;		/* ascending */
} GenieModelList;

typedef struct GenieModel
{
	uint32_t	n_objects;
	uint32_t	n_keywords;
	GenieModelList *lists;		/* n_keywords */
	uint32_t   *sizes;			/* n_objects */
	uint16_t	size_width;
	uint32_t	min_size;
	uint64_t   *live;			/* whole tiles of words; all live at first */
	uint64_t	n_postings;
	uint32_t	n_dimensions;	/* 0: no codes */
	uint32_t   *first_ranks;	/* given by the test, freed with the model */
	GenieImageForm form;		/* of its images; CODES where objects have no two keywords of a dimension */
} GenieModel;

/* memory of exactly the group's size, aligned to no more than it must be */
static inline void *
genie_model_memory(uint64_t n_bytes)
{
	void	   *memory = NULL;

	if (n_bytes == 0 || posix_memalign(&memory, GENIE_IMAGE_ALIGN, n_bytes) != 0)
		abort();
	return memory;
}

static inline uint32_t
genie_model_tiles(const GenieModel *model)
{
	return (model->n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS;
}

static inline void
genie_model_begin(GenieModel *model, uint32_t n_objects, uint32_t n_keywords)
{
	memset(model, 0, sizeof(GenieModel));
	model->n_objects = n_objects;
	model->n_keywords = n_keywords;
	model->lists = calloc(n_keywords + 1, sizeof(GenieModelList));
	model->sizes = calloc(n_objects, sizeof(uint32_t));
	model->live = calloc((size_t) genie_model_tiles(model) * GENIE_TILE_WORDS, sizeof(uint64_t));
	for (uint32_t i = 0; i < n_objects; i++)
		model->live[i / 64] |= UINT64_C(1) << (i % 64);
}

/* Gives a rank its list. */
static inline void
genie_model_list(GenieModel *model, uint32_t rank, const uint32_t *objects, uint32_t n)
{
	GenieModelList *list = &model->lists[rank];

	model->n_postings += (uint64_t) n - list->n;
	free(list->objects);
	list->n = n;
	list->objects = n == 0 ? NULL : malloc((size_t) n * sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++)
		list->objects[i] = objects[i];
}

static inline void
genie_model_end(GenieModel *model)
{
	for (uint32_t rank = 0; rank < model->n_keywords; rank++)
		free(model->lists[rank].objects);
	free(model->lists);
	free(model->first_ranks);
	free(model->sizes);
	free(model->live);
	memset(model, 0, sizeof(GenieModel));
}

static inline bool
genie_model_is_live(const GenieModel *model, uint32_t object)
{
	return (model->live[object / 64] >> (object % 64) & 1) != 0;
}

/* The end of the stretch of a list that begins at start and lies in one tile; its locals. */
static inline uint32_t
genie_model_tile_end(const GenieModelList *list, uint32_t start, uint16_t *locals)
{
	uint32_t	tile = list->objects[start] >> GENIE_TILE_SHIFT;
	uint32_t	end = start;

	for (; end < list->n && list->objects[end] >> GENIE_TILE_SHIFT == tile; end++)
		if (locals != NULL)
			locals[end - start] = (uint16_t) list->objects[end];
	return end;
}

/* Have its images codes, or would have if objects have no two keywords of a dimension? */
static inline bool
genie_model_has_codes(const GenieModel *model)
{
	return model->n_dimensions > 0 && model->form != GENIE_IMAGE_TIGHT;
}

/* What each tile has; the caller frees it. */
static inline GenieTilePlan *
genie_model_plan(const GenieModel *model)
{
	uint32_t	n_tiles = genie_model_tiles(model);
	GenieTilePlan *plans = calloc(n_tiles, sizeof(GenieTilePlan));
	uint16_t   *locals = malloc(GENIE_TILE_OBJECTS * sizeof(uint16_t));

	for (uint32_t t = 0; t < n_tiles; t++)
	{
		uint32_t	left = model->n_objects - t * GENIE_TILE_OBJECTS;

		plans[t].n_objects = left < GENIE_TILE_OBJECTS ? left : GENIE_TILE_OBJECTS;
	}
	for (uint32_t rank = 0; rank < model->n_keywords; rank++)
	{
		const GenieModelList *list = &model->lists[rank];

		for (uint32_t start = 0, end; start < list->n; start = end)
		{
			GenieTilePlan *plan = &plans[list->objects[start] >> GENIE_TILE_SHIFT];

			end = genie_model_tile_end(list, start, locals);
			if (model->form == GENIE_IMAGE_TIGHT)
				genie_tile_plan_add_tight(plan, locals, end - start);
			else
				genie_tile_plan_add(plan, end - start);
		}
	}
	free(locals);
	return plans;
}

/* Makes the groups: as large as the planner says, but of at most tiles_max tiles. */
static inline void
genie_model_groups(const GenieModel *model, uint32_t tiles_max, GenieTileFill *fills, GenieSegmentImage *image)
{
	GenieImagePlan plan = {model->n_keywords, model->size_width, model->min_size, model->min_size, 0, model->form,
		genie_model_has_codes(model) ? model->n_dimensions : 0, model->first_ranks};
	GenieTilePlan *plans = genie_model_plan(model);
	const GenieImageGroup **groups = calloc(image->n_tiles, sizeof(*groups));
	uint32_t	n;

	for (uint32_t i = 0; i < model->n_objects; i++)
		plan.max_size = model->sizes[i] > plan.max_size ? model->sizes[i] : plan.max_size;
	for (uint32_t first = 0; first < image->n_tiles; first += n)
	{
		uint32_t	end = image->n_tiles - first < tiles_max ? image->n_tiles : first + tiles_max;
		uint64_t	n_bytes;
		void	   *memory;

		n = genie_image_group_plan(&plan, plans, first, end, &n_bytes);
		memory = genie_model_memory(n_bytes);
		genie_image_group_begin(memory, n_bytes, &plan, plans + first, first, n, fills + first);
		groups[image->n_groups++] = memory;
	}
	image->groups = groups;
	free(plans);
}

/* Postings of all ranks below each. */
static inline uint64_t *
genie_model_totals(const GenieModel *model)
{
	uint64_t   *totals = calloc((size_t) model->n_keywords + 1, sizeof(uint64_t));

	for (uint32_t rank = 0; rank < model->n_keywords; rank++)
		totals[rank + 1] = totals[rank] + model->lists[rank].n;
	return totals;
}

/*
 * Makes the image of the model, to be given to genie_model_free_image().  False: it cannot be of codes alone, and is
 * not finished.
 */
static inline bool
genie_model_try_image(const GenieModel *model, uint64_t id, uint32_t tiles_max, GenieSegmentImage *image)
{
	GenieTileFill *fills = calloc(genie_model_tiles(model), sizeof(GenieTileFill));
	uint16_t   *locals = malloc(GENIE_TILE_OBJECTS * sizeof(uint16_t));
	bool		finished = true;

	memset(image, 0, sizeof(GenieSegmentImage));
	image->id = id;
	image->n_objects = model->n_objects;
	image->n_keywords = model->n_keywords;
	image->n_tiles = genie_model_tiles(model);
	image->live = model->live;
	if (genie_model_has_codes(model))
		image->postings_before = genie_model_totals(model);
	genie_model_groups(model, tiles_max, fills, image);
	for (uint32_t g = 0; g < image->n_groups; g++)
	{
		const GenieImageGroup *group = image->groups[g];

		for (uint32_t t = 0; t < group->n_tiles; t++)
			genie_image_sizes(&fills[group->first_tile + t], t,
							  model->sizes + (size_t) (group->first_tile + t) * GENIE_TILE_OBJECTS);
	}
	for (uint32_t rank = 0; rank < model->n_keywords; rank++)
	{
		const GenieModelList *list = &model->lists[rank];

		for (uint32_t start = 0, end, g = 0; start < list->n; start = end)
		{
			uint32_t	tile = list->objects[start] >> GENIE_TILE_SHIFT;

			end = genie_model_tile_end(list, start, locals);
			while (tile - image->groups[g]->first_tile >= image->groups[g]->n_tiles)
				g++;
			if (!genie_image_add(&fills[tile], tile - image->groups[g]->first_tile, rank, locals, end - start))
				abort();
		}
	}
	for (uint32_t g = 0; g < image->n_groups; g++)
		finished &= genie_image_group_finish(fills + image->groups[g]->first_tile, image->groups[g]->n_tiles);
	free(locals);
	free(fills);
	return finished;
}

static inline void
genie_model_image(const GenieModel *model, uint64_t id, uint32_t tiles_max, GenieSegmentImage *image)
{
	if (!genie_model_try_image(model, id, tiles_max, image))
		abort();
}

static inline void
genie_model_free_image(GenieSegmentImage *image)
{
	for (uint32_t g = 0; g < image->n_groups; g++)
		free((void *) image->groups[g]);
	free((void *) image->groups);
	free((void *) image->postings_before);
	memset(image, 0, sizeof(GenieSegmentImage));
}

/*
 * Fills objects with a random ascending set of one of many shapes and densities, often with stretches
 * of tiles without any; returns how many.
 */
static inline uint32_t
genie_model_random_objects(GenieRandom *random, uint32_t n_objects, uint32_t *objects)
{
	static const uint32_t steps[] = {1, 2, 5, 20, 23, 25, 100, 1000, 1000, 10000, 30000, 100000};
	uint32_t	step = steps[genie_random_below(random, sizeof(steps) / sizeof(steps[0]))];
	uint32_t	first = 0;
	uint32_t	n = 0;

	if (genie_random_below(random, 3) == 0)
		first = (uint32_t) genie_random_below(random, n_objects);
	if (genie_random_below(random, 10) == 0)
	{
		/* one object at an end */
		objects[0] = genie_random_below(random, 2) == 0 ? first : n_objects - 1;
		return 1;
	}
	if (genie_random_below(random, 4) == 0)
		n_objects = first + (uint32_t) genie_random_below(random, n_objects - first) + 1;
	for (uint64_t i = first; i < n_objects;
		 i += step == 1 ? 1 : 1 + genie_random_below(random, 2 * step - 1))
		objects[n++] = (uint32_t) i;
	return n;
}

/* The value of an object in dimension d where objects lie in order: runs of equal ones, and stretches of any values. */
static inline uint32_t
genie_model_ordered(GenieRandom *random, uint32_t object, uint32_t d, uint32_t n_values)
{
	if (object / 3000 % 4 == d % 4)
		return (uint32_t) genie_random_below(random, n_values);
	return object / (700 * (d + 1)) % n_values;
}

/*
 * Begins a model of tuples with codes: in dimension d an object has one of n_values[d] values, or, once in none_in
 * times (0: never), none.  ordered: objects lie in order, and only in stretches of them have some none; else small
 * values are more frequent than large ones.
 */
static inline void
genie_model_tuples(GenieModel *model, GenieRandom *random, uint32_t n_objects, uint32_t n_dimensions,
				   const uint32_t *n_values, uint32_t none_in, bool ordered)
{
	uint32_t   *values = malloc(n_objects * sizeof(uint32_t));
	uint32_t   *objects = malloc(n_objects * sizeof(uint32_t));
	uint32_t   *ends;			/* of each value's objects */
	uint32_t	n_keywords = 0;
	uint32_t	first = 0;

	for (uint32_t d = 0; d < n_dimensions; d++)
		n_keywords += n_values[d];
	ends = malloc(n_keywords * sizeof(uint32_t));
	genie_model_begin(model, n_objects, n_keywords);
	model->n_dimensions = n_dimensions;
	model->first_ranks = malloc(n_dimensions * sizeof(uint32_t));
	for (uint32_t d = 0; d < n_dimensions; d++)
	{
		model->first_ranks[d] = first;
		for (uint32_t i = 0; i < n_objects; i++)
		{
			values[i] = ordered ? genie_model_ordered(random, i, d, n_values[d]) :
				(uint32_t) genie_random_below(random, 1 + genie_random_below(random, n_values[d]));
			if (none_in > 0 && genie_random_below(random, none_in) == 0 && !(ordered && i / 5000 % 2 == 0))
				values[i] = UINT32_MAX;
			model->sizes[i] += values[i] != UINT32_MAX;
		}
		memset(ends, 0, n_keywords * sizeof(uint32_t));
		for (uint32_t i = 0; i < n_objects; i++)
			if (values[i] != UINT32_MAX)
				ends[values[i]]++;
		for (uint32_t v = 0, n = 0; v < n_values[d]; v++)
		{
			n += ends[v];
			ends[v] = n - ends[v];
		}
		for (uint32_t i = 0; i < n_objects; i++)
			if (values[i] != UINT32_MAX)
				objects[ends[values[i]]++] = i;
		for (uint32_t v = 0, start = 0; v < n_values[d]; start = ends[v++])
			genie_model_list(model, first + v, objects + start, ends[v] - start);
		first += n_values[d];
	}
	model->size_width = 2;
	free(ends);
	free(objects);
	free(values);
}

/* Any objects of n_tiles tiles of the image from first_tile on, as a TALLY may bring them. */
static inline uint64_t *
random_live(GenieRandom *random, const GenieSegmentImage *image, uint32_t first_tile, uint32_t n_tiles)
{
	uint64_t	first = (uint64_t) first_tile * GENIE_TILE_OBJECTS;
	uint64_t   *live = calloc((size_t) n_tiles * GENIE_TILE_WORDS + 1, sizeof(uint64_t));

	for (uint64_t i = 0; i < (uint64_t) n_tiles * GENIE_TILE_OBJECTS && first + i < image->n_objects; i++)
		live[i / 64] |= (uint64_t) (genie_random_below(random, 3) == 0) << (i % 64);
	return live;
}

#endif							/* GENIE_TEST_IMAGE_H */

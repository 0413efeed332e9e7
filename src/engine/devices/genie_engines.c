/*
 * genie_engines.c
 *	  Several engines as one (genie_engines.h).
 *
 * Each engine has some tiles of an image or of vectors (genie_placement.h).  A job is cut where its image is cut: a
 * *part* is the same job on the tiles that one engine has.  It gets a view of the image that lacks the other groups, or
 * of the vectors that lacks the other tiles.  What parts give is merged (genie_job_parts.h).
 *
 * Jobs without an image, and what has one engine, are given whole.
 *
 * Vectors that a TOP job brings for bounds are cut where its image is.  If they have been cut otherwise before, because
 * a SCAN came first, the job is done without bounds, and the caller computes them.
 *
 * Threads.  An engine's jobs are run by one thread: the caller's, or one that helps (genie_cpu_threads.h).  Where a
 * batch is for one engine, the caller's thread runs it at once, so that nothing is slower than by that engine alone.
 * When all engines are done, the same threads merge, each some jobs.  Who writes what: a part and its result, the
 * thread that runs its engine; a job's result, the thread that merges it; the rest, the caller, before threads begin
 * and after they have ended.  Only the caller's thread asks the callback whether to stop; the others look at the flag
 * that it sets.  Engines of the same device, which only tests have, take turns.
 *
 * Loss.  An engine that is lost gets nothing more.  What was placed there is dropped everywhere, and placed anew
 * between the others; the jobs that had a part there are done again.  Only where no engine is left, the batch is lost.
 * The caller sees in devices() that one is, and starts a new process when it has nothing to do.
 *
 * A job whose part fails has failed.  A part that was cancelled, or does not fit, does not end the other parts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "genie_cpu_threads.h"
#include "genie_engines.h"
#include "genie_job_parts.h"

/* milliseconds between two questions whether to stop, while the caller waits for other threads */
#define ASK_MS 2
#define MERGED_AT_ONCE 16		/* jobs that a thread takes; fewer than two times as many are merged by the caller */

/* Memory that lasts as long as a batch. */
typedef struct Taken
{
	struct Taken *next;
	uint64_t	memory[];
} Taken;

/* The views of an image, or of vectors, by place; of what has one place it is the whole. */
typedef struct View
{
	struct View *next;
	const void *whole;
	const GeniePlacement *placement;
	const GenieSegmentImage *images[GENIE_PLACEMENT_ENGINES];
	const GenieQuantizedVectors *vectors[GENIE_PLACEMENT_ENGINES];
} View;

/* Where a part of a job is: number at of an engine's jobs. */
typedef struct Part
{
	uint32_t	engine;
	uint32_t	at;
} Part;

/* The parts of a job, in object order. */
typedef struct JobParts
{
	uint32_t	n;
	bool		failed;			/* there was no memory for all of them */
	Part		parts[GENIE_PLACEMENT_ENGINES];
} JobParts;

/* What an engine is to do in a batch. */
typedef struct Share
{
	uint32_t	n;
	uint32_t	capacity;
	GenieJob   *jobs;
	GenieStatus status;			/* of the engine's run */
} Share;

typedef struct GenieEngines
{
	GenieEngine engine;
	GenieEngineOps ops;			/* with the name of its engines */
	uint32_t	n;
	GenieEngine *engines[GENIE_PLACEMENT_ENGINES];
	uint32_t	numbers[GENIE_PLACEMENT_ENGINES];	/* of their devices */
	GeniePlacements placements;
	GenieCpuThreads *threads;	/* NULL: the caller's thread runs all, one after the other */

	/* of a batch */
	Taken	   *taken;
	Share		shares[GENIE_PLACEMENT_ENGINES];
	uint32_t	n_busy;			/* engines with jobs, */
	uint32_t	busy[GENIE_PLACEMENT_ENGINES];
	uint32_t	next_busy;		/* and the next one to be run; atomic */
	View	   *views;			/* of this round; the latest one first */
	uint32_t	n_open;			/* jobs of this round */
	GenieJob  **open;
	JobParts   *parts;			/* of each of them */
	uint32_t	next_open;		/* the next one to be merged; atomic */
} GenieEngines;

/* ---- whether to stop ---- */

static GenieEngines *running;	/* that the caller has called */
static bool stopped;			/* atomic */
static _Thread_local bool asks; /* this is the caller's thread */

/* GenieEngine's interrupted, of each of the engines */
static bool
is_stopped(void)
{
	if (asks && running->engine.interrupted != NULL)
	{
		running->engine.streams = false;
		for (uint32_t e = 0; e < running->n; e++)
			running->engine.streams |= __atomic_load_n(&running->engines[e]->streams, __ATOMIC_RELAXED);
		if (running->engine.interrupted())
			__atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

/* ---- memory ---- */

static void *
take(GenieEngines *all, size_t n_bytes)
{
	Taken	   *taken = malloc(sizeof(Taken) + n_bytes);

	if (taken == NULL)
		return NULL;
	taken->next = all->taken;
	all->taken = taken;
	return taken->memory;
}

static void
give_back(GenieEngines *all)
{
	while (all->taken != NULL)
	{
		Taken	   *next = all->taken->next;

		free(all->taken);
		all->taken = next;
	}
}

/* ---- placing ---- */

static const GeniePlacement *
place(GenieEngines *all, uint64_t id, const GeniePlacementUnit *units, uint32_t n)
{
	uint64_t	limits[GENIE_PLACEMENT_ENGINES] = {0};

	for (uint32_t e = 0; e < all->n; e++)
	{
		GenieDeviceInfo info = {.limit_bytes = 0};

		(void) all->engines[e]->ops->devices(all->engines[e], &info, 1);
		limits[e] = info.limit_bytes;
	}
	return genie_placement_add(&all->placements, id, units, n, limits);
}

/* NULL: there is no memory. */
static const GeniePlacement *
place_image(GenieEngines *all, const GenieSegmentImage *image)
{
	const GeniePlacement *found = genie_placement_find(&all->placements, image->id);
	GeniePlacementUnit *units;

	if (found != NULL)
		return found;
	if ((units = take(all, (size_t) image->n_groups * sizeof(GeniePlacementUnit))) == NULL)
		return NULL;
	for (uint32_t g = 0; g < image->n_groups; g++)
		units[g] = (GeniePlacementUnit) {image->groups[g]->first_tile + image->groups[g]->n_tiles,
			image->groups[g]->n_bytes};
	return place(all, image->id, units, image->n_groups);
}

/* The same of vectors; like: an image of the same objects whose cuts they are to have, NULL: none. */
static const GeniePlacement *
place_vectors(GenieEngines *all, const GenieQuantizedVectors *vectors, const GeniePlacement *like)
{
	const GeniePlacement *found = genie_placement_find(&all->placements, vectors->id);
	uint32_t	n_tiles = vectors->end_tile;
	uint64_t	tile_bytes = (uint64_t) GENIE_TILE_OBJECTS *
		genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	GeniePlacementUnit *units;

	if (found != NULL)
		return found;
	if ((units = take(all, n_tiles * sizeof(GeniePlacementUnit))) == NULL)
		return NULL;
	for (uint32_t t = 0; t < n_tiles; t++)
		units[t] = (GeniePlacementUnit) {t + 1, tile_bytes};
	if (like != NULL)
		return genie_placement_add_like(&all->placements, vectors->id, tile_bytes, like);
	return place(all, vectors->id, units, n_tiles);
}

/* ---- views ---- */

static const GenieSegmentImage *
view_of_image(GenieEngines *all, const GenieSegmentImage *image, const GeniePlace *place)
{
	GenieSegmentImage *view = take(all, sizeof(GenieSegmentImage));

	if (view != NULL)
		*view = genie_image_part(image, place->first_unit, place->end_unit - place->first_unit);
	return view;
}

static const GenieQuantizedVectors *
view_of_vectors(GenieEngines *all, const GenieQuantizedVectors *vectors, const GeniePlace *place)
{
	GenieQuantizedVectors *view = take(all, sizeof(GenieQuantizedVectors));

	if (view != NULL)
		*view = genie_vectors_part(vectors, place->first_tile, place->end_tile);
	return view;
}

/* An empty view of something new in this round.  NULL: there is no memory. */
static View *
new_view(GenieEngines *all, const void *whole, const GeniePlacement *placement)
{
	View	   *view = placement == NULL ? NULL : take(all, sizeof(View));

	if (view != NULL)
		*view = (View) {.whole = whole, .placement = placement};
	return view;
}

/* A complete view is found from now on. */
static const View *
keep_view(GenieEngines *all, View *view, bool complete)
{
	if (!complete)
		return NULL;
	view->next = all->views;
	return all->views = view;
}

/* NULL: there is none yet.  Mostly it is that of the job before. */
static const View *
find_view(const GenieEngines *all, const void *whole)
{
	const View *view = all->views;

	while (view != NULL && view->whole != whole)
		view = view->next;
	return view;
}

/* NULL: there is no memory. */
static const View *
see_image(GenieEngines *all, const GenieSegmentImage *image)
{
	const View *found = find_view(all, image);
	View	   *view;
	bool		complete = true;

	if (found != NULL)
		return found;
	if ((view = new_view(all, image, place_image(all, image))) == NULL)
		return NULL;
	for (uint32_t p = 0; p < view->placement->n_places; p++)
	{
		view->images[p] = view->placement->n_places == 1 ? image :
			view_of_image(all, image, &view->placement->places[p]);
		complete = complete && view->images[p] != NULL;
	}
	return keep_view(all, view, complete);
}

/* The same of vectors; like: an image's placement, whose cuts they get if they have none yet; NULL: none. */
static const View *
see_vectors(GenieEngines *all, const GenieQuantizedVectors *vectors, const GeniePlacement *like)
{
	const View *found = find_view(all, vectors);
	View	   *view;
	bool		complete = true;

	if (found != NULL)
		return found;
	if ((view = new_view(all, vectors, place_vectors(all, vectors, like))) == NULL)
		return NULL;
	for (uint32_t p = 0; p < view->placement->n_places; p++)
	{
		view->vectors[p] = view->placement->n_places == 1 ? vectors :
			view_of_vectors(all, vectors, &view->placement->places[p]);
		complete = complete && view->vectors[p] != NULL;
	}
	return keep_view(all, view, complete);
}

/* Have two placements the same tiles in the same places? */
static bool
alike(const GeniePlacement *a, const GeniePlacement *b)
{
	bool		same = a->n_places == b->n_places;

	for (uint32_t p = 0; p < a->n_places && same; p++)
		same = a->places[p].engine == b->places[p].engine && a->places[p].first_tile == b->places[p].first_tile &&
			a->places[p].end_tile == b->places[p].end_tile;
	return same;
}

/* ---- cutting jobs ---- */

/* Adds a job, or a part of one, to what an engine has to do.  False: there is no memory. */
static bool
give(GenieEngines *all, uint32_t engine, const GenieJob *job, JobParts *parts)
{
	Share	   *share = &all->shares[engine];

	if (share->n == share->capacity)
	{
		uint32_t	capacity = 2 * share->capacity + 16;
		GenieJob   *jobs = realloc(share->jobs, capacity * sizeof(GenieJob));

		if (jobs == NULL)
			return false;
		share->jobs = jobs;
		share->capacity = capacity;
	}
	if (share->n == 0)
		all->busy[all->n_busy++] = engine;
	parts->parts[parts->n++] = (Part) {engine, share->n};
	share->jobs[share->n++] = *job;
	return true;
}

/*
 * Gives a part: some tiles of a job.  If they are not all of them, and results must be merged, it gets a result of its
 * own.  False: there is no memory.
 */
static bool
give_part(GenieEngines *all, uint32_t engine, GenieJob part, const GenieJob *job, JobParts *parts)
{
	if (part.n_tiles < job->n_tiles)
	{
		size_t		n_bytes = genie_job_part_bytes(job);

		if (n_bytes > 0 && (part.out = take(all, n_bytes)) == NULL)
			return false;
		if (job->kind == GENIE_JOB_TOP && part.vectors != NULL &&
			(part.bounds = take(all, job->k * sizeof(float))) == NULL)
			return false;
	}
	return give(all, engine, &part, parts);
}

/* Gives each engine its part of a job, by views of the image and of the vectors; one of them may be NULL. */
static bool
cut_job(GenieEngines *all, const GenieJob *job, const View *image, const View *vectors, JobParts *parts)
{
	const GeniePlacement *placement = image != NULL ? image->placement : vectors->placement;

	for (uint32_t p = 0; p < placement->n_places; p++)
	{
		const GeniePlace *place = &placement->places[p];
		GenieJob	part = genie_job_part(job, place->first_tile, place->end_tile);

		if (part.n_tiles == 0)
			continue;
		if (image != NULL)
			part.image = image->images[p];
		part.vectors = vectors == NULL ? NULL : vectors->vectors[p];
		if (!give_part(all, place->engine, part, job, parts))
			return false;
	}
	return true;
}

/* Cuts a job as its image, or its vectors, are cut.  False: there is no memory. */
static bool
cut(GenieEngines *all, const GenieJob *job, JobParts *parts)
{
	const View *image;
	const View *vectors;

	if (genie_job_is_of_vectors(job))
		return (vectors = see_vectors(all, job->vectors, NULL)) != NULL && cut_job(all, job, NULL, vectors, parts);
	if ((image = see_image(all, job->image)) == NULL)
		return false;
	if (job->kind != GENIE_JOB_TOP || job->vectors == NULL)
		return cut_job(all, job, image, NULL, parts);
	if ((vectors = see_vectors(all, job->vectors, image->placement)) == NULL)
		return false;
	return cut_job(all, job, image, alike(image->placement, vectors->placement) ? vectors : NULL, parts);
}

/* The engine that has fewest jobs in this batch. */
static uint32_t
idlest(const GenieEngines *all)
{
	uint32_t	best = GENIE_PLACEMENT_ENGINES;

	for (uint32_t e = 0; e < all->n; e++)
		if (!all->placements.lost[e] &&
			(best == GENIE_PLACEMENT_ENGINES || all->shares[e].n < all->shares[best].n))
			best = e;
	return best;
}

/* Gives a LEVEL job to the engine that has its vectors, or, if several have parts of them, none.  The same. */
static bool
give_level(GenieEngines *all, const GenieJob *job, JobParts *parts)
{
	const View *view = see_vectors(all, job->vectors, NULL);

	return view != NULL &&
		(view->placement->n_places != 1 || give(all, view->placement->places[0].engine, job, parts));
}

/* Gives a job, whole or in parts.  False: there is no memory. */
static bool
give_job(GenieEngines *all, const GenieJob *job, JobParts *parts)
{
	if (job->kind == GENIE_JOB_LEVEL && genie_job_level_fits(job))
		return give_level(all, job, parts);
	if (!genie_job_has_image(job->kind))
		return give(all, idlest(all), job, parts);

	/* what is malformed, an engine refuses */
	if (!genie_job_tiles_fit(job) || job->n_tiles == 0 ||
		(job->kind == GENIE_JOB_SCAN ? !genie_job_scan_fits(job) :
		 genie_job_is_of_vectors(job) ? !genie_job_vectors_fit(job) : job->image->n_groups == 0))
		return give(all, genie_placement_emptiest(&all->placements), job, parts);
	return cut(all, job, parts);
}

/* ---- running ---- */

/* Runs engines' jobs until there is no engine left that nobody runs. */
static void
run_some(GenieEngines *all)
{
	for (;;)
	{
		uint32_t	i = __atomic_fetch_add(&all->next_busy, 1, __ATOMIC_RELAXED);
		Share	   *share;
		GenieEngine *engine;

		if (i >= all->n_busy)
			break;
		share = &all->shares[all->busy[i]];
		engine = all->engines[all->busy[i]];
		share->status = engine->ops->run(engine, share->n, share->jobs);
	}
}

/* GenieCpuHelp */
static void
help_run(void *arg, GenieTileScratch *scratch)
{
	(void) scratch;
	run_some(arg);
}

static void
run_all(GenieEngines *all)
{
	bool		helped = all->n_busy > 1 && all->threads != NULL;

	all->next_busy = 0;
	asks = true;
	if (helped)
		genie_cpu_threads_begin(all->threads, all->n_busy - 1, help_run, all);
	run_some(all);
	while (helped && !genie_cpu_threads_end(all->threads, ASK_MS))
		(void) is_stopped();
	asks = false;
}

/* ---- merging ---- */

static const GenieJob *
part_of(const GenieEngines *all, const JobParts *parts, uint32_t p)
{
	return &all->shares[parts->parts[p].engine].jobs[parts->parts[p].at];
}

/* Declined, if there are no parts; lost, if one of them is; else the first failure, if there is one. */
static GenieStatus
status_of(const GenieEngines *all, const JobParts *parts)
{
	GenieStatus status = parts->n == 0 ? GENIE_STATUS_DECLINED : GENIE_OK;

	for (uint32_t p = 0; p < parts->n; p++)
	{
		GenieStatus of_part = part_of(all, parts, p)->status;

		if (of_part == GENIE_STATUS_LOST || status == GENIE_OK)
			status = of_part;
	}
	return status;
}

/* All parts have been run. */
static void
merge(const GenieEngines *all, const JobParts *parts, GenieJob *job)
{
	GenieStatus status = status_of(all, parts);

	job->n_hits = 0;
	job->has_bounds = false;
	if (status == GENIE_OK && parts->n == 1)
	{
		job->n_hits = part_of(all, parts, 0)->n_hits;
		job->has_bounds = part_of(all, parts, 0)->has_bounds;
		job->by_graph = part_of(all, parts, 0)->by_graph;
	}
	else if (status == GENIE_OK)
	{
		genie_job_merge_begin(job);
		for (uint32_t p = 0; p < parts->n; p++)
			genie_job_merge(job, part_of(all, parts, p));
	}
	job->status = status;
}

/* Merges jobs until there is none left that nobody merges. */
static void
merge_some(GenieEngines *all)
{
	for (;;)
	{
		uint32_t	i = __atomic_fetch_add(&all->next_open, MERGED_AT_ONCE, __ATOMIC_RELAXED);
		uint32_t	end = i + MERGED_AT_ONCE < all->n_open ? i + MERGED_AT_ONCE : all->n_open;

		if (i >= all->n_open)
			break;
		for (; i < end; i++)
			if (!all->parts[i].failed)
				merge(all, &all->parts[i], all->open[i]);
	}
}

/* GenieCpuHelp */
static void
help_merge(void *arg, GenieTileScratch *scratch)
{
	(void) scratch;
	merge_some(arg);
}

static void
merge_all(GenieEngines *all)
{
	bool		helped = all->n_busy > 1 && all->threads != NULL && all->n_open >= 2 * MERGED_AT_ONCE;

	all->next_open = 0;
	if (helped)
		genie_cpu_threads_begin(all->threads, all->n_busy - 1, help_merge, all);
	merge_some(all);
	while (helped && !genie_cpu_threads_end(all->threads, ASK_MS))
		;
}

/* ---- a batch ---- */

/* Takes over what engines say of failures and choices. */
static void
report(GenieEngines *all)
{
	GenieEngineChoices *choices = &all->engine.choices;

	choices->n_tiles = choices->n_lanes = choices->n_tensor = 0;
	for (uint32_t e = 0; e < all->n; e++)
	{
		const GenieEngine *engine = all->engines[e];

		choices->n_tiles += engine->choices.n_tiles;
		choices->n_lanes += engine->choices.n_lanes;
		choices->n_tensor += engine->choices.n_tensor;
	}
	for (uint32_t i = 0; i < all->n_busy; i++)
	{
		const GenieEngine *engine = all->engines[all->busy[i]];

		if (i == 0 && engine->choices.reason[0] != '\0')
			memcpy(choices->reason, engine->choices.reason, sizeof(choices->reason));
		if (engine->error[0] != '\0')
			snprintf(all->engine.error, sizeof(all->engine.error), "GPU %u: %.*s", all->numbers[all->busy[i]],
					 GENIE_ENGINE_ERROR_MAX - 16, engine->error);
	}
}

/* genie_placement_lose()'s function */
static void
forget_everywhere(void *arg, uint64_t id)
{
	GenieEngines *all = arg;

	for (uint32_t e = 0; e < all->n; e++)
		if (!all->placements.lost[e])
			all->engines[e]->ops->forget(all->engines[e], id);
}

/* Notes engines that this round has lost.  False: none is left. */
static bool
note_losses(GenieEngines *all)
{
	bool		any = true;

	for (uint32_t i = 0; i < all->n_busy; i++)
		if (all->shares[all->busy[i]].status == GENIE_STATUS_LOST)
			any = genie_placement_lose(&all->placements, all->busy[i], forget_everywhere, all);
	return any;
}

/* Does the open jobs once.  Those that must be done again, because an engine was lost, stay open. */
static void
run_round(GenieEngines *all)
{
	uint32_t	n_left = 0;
	bool		failed = false;

	for (uint32_t e = 0; e < all->n; e++)
		all->shares[e].n = 0;
	all->n_busy = 0;
	all->views = NULL;
	for (uint32_t i = 0; i < all->n_open; i++)
	{
		all->parts[i].n = 0;
		all->parts[i].failed = !give_job(all, all->open[i], &all->parts[i]);
		failed |= all->parts[i].failed; /* its status is RETRY */
	}
	run_all(all);
	merge_all(all);
	for (uint32_t i = 0; i < all->n_open; i++)
		if (!all->parts[i].failed && all->open[i]->status == GENIE_STATUS_LOST)
			all->open[n_left++] = all->open[i];
	all->n_open = n_left;
	report(all);
	if (failed)
		snprintf(all->engine.error, sizeof(all->engine.error), "there is no memory to share a batch between GPUs");
}

static GenieStatus
engines_run(GenieEngine *engine, uint32_t n_jobs, GenieJob *jobs)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;
	bool		any = true;

	engine->error[0] = '\0';
	running = all;
	__atomic_store_n(&stopped, false, __ATOMIC_RELAXED);
	all->open = take(all, n_jobs * sizeof(GenieJob *));
	all->parts = take(all, n_jobs * sizeof(JobParts));
	all->n_open = all->open != NULL && all->parts != NULL ? n_jobs : 0;
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		jobs[i].n_hits = 0;
		jobs[i].has_bounds = false;
		jobs[i].status = GENIE_STATUS_RETRY;
		if (all->n_open > 0)
			all->open[i] = &jobs[i];
	}
	while (all->n_open > 0 && any)
	{
		run_round(all);
		any = note_losses(all);
	}
	give_back(all);
	return any ? GENIE_OK : GENIE_STATUS_LOST;
}

/* ---- the other functions ---- */

static void
engines_forget(GenieEngine *engine, uint64_t id)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;

	genie_placement_drop(&all->placements, id);
	forget_everywhere(all, id);
}

/* All that have a part of it have a copy of that. */
static bool
engines_has(GenieEngine *engine, uint64_t id)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;
	const GeniePlacement *placement = genie_placement_find(&all->placements, id);

	for (uint32_t p = 0; placement != NULL && p < placement->n_places; p++)
	{
		GenieEngine *of_place = all->engines[placement->places[p].engine];

		if (!of_place->ops->has(of_place, id))
			return false;
	}
	return placement != NULL;
}

/* What one has pinned, is pinned for all. */
static bool
engines_pin(GenieEngine *engine, void *memory, size_t bytes)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;
	uint32_t	e = 0;

	while (e < all->n && all->placements.lost[e])
		e++;
	return e < all->n && all->engines[e]->ops->pin(all->engines[e], memory, bytes);
}

static void
engines_set_memory_limit(GenieEngine *engine, uint64_t bytes)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;

	for (uint32_t e = 0; e < all->n; e++)
		all->engines[e]->ops->set_memory_limit(all->engines[e], bytes);
}

static void
engines_set_kernels(GenieEngine *engine, GenieKernelChoice choice)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;

	for (uint32_t e = 0; e < all->n; e++)
		all->engines[e]->ops->set_kernels(all->engines[e], choice);
}

static uint32_t
engines_devices(GenieEngine *engine, GenieDeviceInfo *info, uint32_t max)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;

	for (uint32_t e = 0; e < all->n && e < max; e++)
	{
		(void) all->engines[e]->ops->devices(all->engines[e], &info[e], 1);
		info[e].is_lost = all->placements.lost[e];
	}
	return all->n;
}

static void
engines_close(GenieEngine *engine)
{
	GenieEngines *all = (GenieEngines *) (void *) engine;

	genie_cpu_threads_close(all->threads);
	for (uint32_t e = 0; e < all->n; e++)
	{
		all->engines[e]->ops->close(all->engines[e]);
		free(all->shares[e].jobs);
	}
	genie_placement_free(&all->placements);
	free(all);
}

GenieEngine *
genie_engines_open(uint32_t n, GenieEngine *const *engines, uint64_t cut_bytes)
{
	static const GenieEngineOps ops = {
		.abi = GENIE_ENGINE_ABI,
		.run = engines_run,
		.forget = engines_forget,
		.has = engines_has,
		.pin = engines_pin,
		.set_memory_limit = engines_set_memory_limit,
		.set_kernels = engines_set_kernels,
		.devices = engines_devices,
		.close = engines_close,
	};
	GenieEngines *all = calloc(1, sizeof(GenieEngines));
	bool		together = true;

	if (all == NULL)
		return NULL;
	all->ops = ops;
	all->ops.name = engines[0]->ops->name;
	all->engine.ops = &all->ops;
	all->engine.batch_ns = engines[0]->batch_ns;
	all->n = n;
	all->placements.n_engines = n;
	all->placements.cut_bytes = cut_bytes;
	for (uint32_t e = 0; e < n; e++)
	{
		GenieDeviceInfo info = {.device = e};

		(void) engines[e]->ops->devices(engines[e], &info, 1);
		all->numbers[e] = info.device;
		for (uint32_t before = 0; before < e; before++)
			together = together && all->numbers[before] != info.device;
		all->engines[e] = engines[e];
		all->engines[e]->interrupted = is_stopped;
	}
	memcpy(all->engine.choices.constants, engines[0]->choices.constants, sizeof(all->engine.choices.constants));
	if (together)
		all->threads = genie_cpu_threads_open(genie_kernels_choose());
	if (all->threads != NULL)
		(void) genie_cpu_threads_resize(all->threads, n - 1);
	return &all->engine;
}

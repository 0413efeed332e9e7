/*
 * genie_cpu_plan.c
 *	  Cutting a batch of the CPU engine into tasks (genie_cpu_plan.h).
 *
 * One thread alone has one task an image.  For several, the caller estimates what each job costs and cuts the batch
 * into about TASKS_PER_THREAD tasks a thread, of similar cost.  Jobs that cost less are put together; one that costs
 * more is cut into *parts*, ranges of its tiles or of their slices (a small table has fewer tiles than there are
 * threads, and the last one is hardly ever full).  No task is smaller than what waking a thread is worth, so the caller
 * does a tiny batch alone.  Estimates decide only which thread does what, never the result, but for SCAN jobs that
 * bring a graph: they search it where that is expected to be faster than a scan.  Such a job is a task.
 */
#include <float.h>
#include <stdlib.h>

#include "genie_cpu_plan.h"
#include "genie_tile_count.h"
#include "genie_tile_source.h"
#include "genie_tile_zones.h"
#include "genie_value_filter.h"

/* Costs are in postings (genie_tile.h). */
#define COSTS_A_NS 2
#define COST_ZONES 1000			/* a tile that goes by zones, besides codes */
#define COST_OBJECT_CELL 10		/* adding an object to its cell of a grid, which may be anywhere */

/* Of SCAN jobs, measured with AVX-512 on records of 128 to 1,536 dimensions: a record costs like so many bytes more. */
#define COST_SCAN_BYTES 350
#define SCAN_BYTES_A_COST 56

/* A search by a graph sees so many objects, and so many for each place of its queue; an object costs so much. */
#define GRAPH_SEEN 600
#define GRAPH_SEEN_A_PLACE 22
#define COST_GRAPH_OBJECT 50

/* So many SCAN jobs of the same records cost a part each of what one costs by itself (genie_value_filter.h). */
#define SCANS_TOGETHER 8
#define SHARE_SCANS 5

#define COST_TEXT_BYTES 25		/* a byte of a text's record, by 64 rows of its query, costs like so many */

/*
 * Tasks a thread; more balance better, fewer use a tile's lists for more jobs.  On 16 cores 8 are a quarter faster
 * than 2, and a tenth faster than 4.
 */
#define TASKS_PER_THREAD 8

/* for blocks of lanes: fewer, because each task makes the block's table, and all objects cost the same */
#define LANE_TASKS_PER_THREAD 2

/* hits that a block's top-k's have room for, all parts together: 256 MB; this bounds a block's parts */
#define BLOCK_HITS_MAX (UINT64_C(32) << 20)

/* bytes that the sums of all parts of a FACETS or GRID job may take: this bounds its parts */
#define SUMS_BYTES_MAX (UINT64_C(64) << 20)

/* parts of a block of lanes are multiples of so many objects */
#define LANE_UNIT_OBJECTS 1024

/* jobs a thread from which on they are taken to cost the same in each tile: there are enough to balance */
#define MANY_JOBS_PER_THREAD 8

/* tiles that are looked at to estimate a job's cost: SAMPLES_A_BATCH over all jobs, but 1 .. SAMPLES_MAX a job */
#define SAMPLES_A_BATCH 16
#define SAMPLES_MAX 4

/*
 * Jobs that are looked at to tell what zones spare.  For several jobs, a tile's codes stay in the cache from one to the
 * next, so that zones cost less by a factor: 1.8 to 2.7 with AVX-512, measured with 16 to 1,024 of them.
 */
#define SHARE_JOBS 16
#define SHARE_TOGETHER 2.5

GenieTile
genie_cpu_tile(const GenieImageGroup *group, uint32_t t)
{
	GenieTile	tile = {0};

	tile.source = group->form == GENIE_IMAGE_CODES ? &genie_tile_from_codes : &genie_tile_from_image;
	tile.base = (const uint8_t *) group;
	tile.image = genie_image_tiles(group) + (t - group->first_tile);
	tile.first_object = t << GENIE_TILE_SHIFT;
	tile.n_objects = tile.image->n_objects;
	tile.slice_end = tile.n_objects;
	tile.sizes.width = group->size_width;
	tile.sizes.smallest = group->min_size;
	tile.sizes.largest = group->max_size;
	tile.sizes.above = tile.base + tile.image->sizes;
	return tile;
}

/* ---- costs of a few tiles ---- */

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
	return n_postings + (uint64_t) query->n_ranges * GENIE_COST_RANGE +
		(n_postings > GENIE_FEW_POSTINGS ? GENIE_COST_TILE : 0);
}

/* The same of a condition, by zones where that is less.  Adds to *by_lists what it is without them. */
static uint64_t
condition_cost(GenieTileScratch *scratch, const GenieTile *tile, const GenieCondition *condition, uint64_t *by_lists)
{
	GenieTileZones zones;
	uint64_t	cost = query_cost(scratch, tile, &condition->query);

	*by_lists += cost;
	if (genie_tile_zones(scratch, tile, condition, &zones) && zones.cost + COST_ZONES < cost)
		cost = zones.possible == 0 ? 0 : zones.cost + COST_ZONES;
	return cost;
}

/*
 * Estimates what a job costs from n_samples of its tiles, evenly spaced.  Adds to *by_lists what its conditions cost
 * without zones.
 */
static uint64_t
sampled_cost(GenieTileScratch *scratch, const GenieJob *job, uint32_t n_samples, uint64_t *by_lists)
{
	const GenieCondition tally = {job->query, job->min_key};
	uint32_t	n_tiles = job->n_tiles;
	uint64_t	cost = 0;
	uint64_t	sum = 0;
	uint32_t	g = 0;

	if (n_samples > n_tiles)
		n_samples = n_tiles;
	for (uint32_t i = 0; i < n_samples; i++)
	{
		uint32_t	t = job->first_tile + (uint32_t) ((2 * i + 1) * (uint64_t) n_tiles / (2 * n_samples));
		GenieTile	tile;

		while (t - job->image->groups[g]->first_tile >= job->image->groups[g]->n_tiles)
			g++;
		tile = genie_cpu_tile(job->image->groups[g], t);
		if (job->kind == GENIE_JOB_TALLY)
			cost += condition_cost(scratch, &tile, &tally, &sum);
		else if (genie_job_has_query(job->kind))
			cost += query_cost(scratch, &tile, &job->query);
		for (uint32_t c = 0; genie_job_has_conditions(job->kind) && c < job->n_conditions; c++)
			cost += condition_cost(scratch, &tile, &job->conditions[c], &sum);
	}
	if (n_samples == 0)
		return 0;
	*by_lists += sum * n_tiles / n_samples;
	return cost * n_tiles / n_samples;
}

/* ---- lanes or tiles ---- */

/* Orders jobs by where they look; 0: at the same objects of the same tiles. */
static int
compare_tiles(const GenieJob *a, const GenieJob *b)
{
	if (a->image->id != b->image->id)
		return a->image->id < b->image->id ? -1 : 1;
	if (a->first_tile != b->first_tile)
		return a->first_tile < b->first_tile ? -1 : 1;
	if (a->n_tiles != b->n_tiles)
		return a->n_tiles < b->n_tiles ? -1 : 1;
	return (a->live > b->live) - (a->live < b->live);
}

/* A number for each way that a work goes, by which they are ordered. */
static uint32_t
way_of(const GenieCpuWork *work)
{
	return genie_cpu_scans(work) ? 2 : work->by_graph ? 1 : 0;
}

/* Are these SCAN jobs of the same records? */
static bool
scan_together(const GenieCpuWork *a, const GenieCpuWork *b)
{
	return genie_cpu_scans(a) && genie_cpu_scans(b) && compare_tiles(a->job, b->job) == 0 &&
		a->job->vectors->id == b->job->vectors->id;
}

/* by tiles, those by lanes first, then those by graphs, scans last and by vectors, else in the caller's order */
static int
compare_works(const void *a, const void *b)
{
	const GenieCpuWork *x = a;
	const GenieCpuWork *y = b;
	int			order = compare_tiles(x->job, y->job);

	if (order != 0)
		return order;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (way_of(x) != way_of(y))
		return way_of(x) < way_of(y) ? -1 : 1;
	if (genie_cpu_scans(x) && x->job->vectors->id != y->job->vectors->id)
		return x->job->vectors->id < y->job->vectors->id ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* The share of what TALLY jobs cost by lists that is left where zones spare work, from a few tiles of a few jobs. */
static double
tally_share(GenieTileScratch *scratch, uint32_t n, const GenieDispatchQuery *queries)
{
	uint32_t	step = (n + SHARE_JOBS - 1) / SHARE_JOBS;
	uint64_t	cost = 0;
	uint64_t	by_lists = 0;

	for (uint32_t q = 0; q < n; q += step)
		if (queries[q].job->kind == GENIE_JOB_TALLY)
			cost += sampled_cost(scratch, queries[q].job, SAMPLES_MAX, &by_lists);
	return cost == by_lists ? 1 : (cost + 1.0) / (by_lists + 1.0) / (n > 1 ? SHARE_TOGETHER : 1);
}

/* Gives lanes to those of some tiles' jobs that are to be counted so; queries has room for all of them. */
static void
dispatch_tiles(GenieCpuBatch *batch, GenieTileScratch *scratch, uint32_t start, uint32_t end,
			   GenieDispatchQuery *queries)
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

		if (genie_dispatch_may_use_lanes(job))
			queries[n++] = (GenieDispatchQuery) {.job = job, .number = w};
	}
	if (n == 0)
		return;
	choice = genie_dispatch_choose(&costs, policy->choice, n, queries);
	if (choice.n_lanes > 0 || batch->n_threads > 1)
	{
		costs.tally_share = tally_share(scratch, n, queries);
		choice = genie_dispatch_choose(&costs, policy->choice, n, queries);
	}
	for (uint32_t q = 0; q < n; q++)
		if (q < choice.n_lanes)
			batch->works[queries[q].number].lane = q;
		else
			batch->works[queries[q].number].cost = (uint64_t) (COSTS_A_NS * queries[q].tiles_ns);
	batch->n_lanes += choice.n_lanes;
	genie_dispatch_explain(&choice, policy->choice, "bit lanes", batch->engine->choices.reason);
}

static uint64_t
scan_cost(const GenieJob *job)
{
	uint64_t	n_bytes = genie_value_record_bytes(job->vectors->metric, job->vectors->n_dimensions);

	if (job->vectors->metric == GENIE_METRIC_EDIT)
		n_bytes *= COST_TEXT_BYTES * (job->scan->norm > 64 ? 2 : 1);
	n_bytes += COST_SCAN_BYTES;
	return genie_job_objects(job) * n_bytes / SCAN_BYTES_A_COST;
}

static uint64_t
graph_cost(const GenieJob *job)
{
	return (GRAPH_SEEN + GRAPH_SEEN_A_PLACE * (uint64_t) genie_job_graph_queue(job)) * COST_GRAPH_OBJECT;
}

/* May a job's graph be searched, and is that expected to be faster than a scan, beside so many others? */
static bool
searches(const GenieJob *job, uint32_t n_scans)
{
	uint32_t	share = n_scans >= SCANS_TOGETHER ? SHARE_SCANS : 1;

	return genie_job_may_use_graph(job) &&
		graph_cost(job) < scan_cost(job) / (genie_value_filter_serves(job->vectors->metric) ? share : 1);
}

void
genie_cpu_dispatch(GenieCpuBatch *batch, GenieTileScratch *scratch)
{
	GenieDispatchQuery *queries = malloc(batch->n_works * sizeof(GenieDispatchQuery));
	uint32_t	n_counted = 0;
	uint32_t	n_scans = 0;
	uint32_t	end;

	for (uint32_t w = 0; w < batch->n_works; w++)
		n_scans += genie_cpu_scans(&batch->works[w]);
	for (uint32_t w = 0; w < batch->n_works; w++)
		batch->works[w].by_graph = searches(batch->works[w].job, n_scans);
	qsort(batch->works, batch->n_works, sizeof(GenieCpuWork), compare_works);
	for (uint32_t start = 0; start < batch->n_works && queries != NULL; start = end)
	{
		for (end = start + 1; end < batch->n_works &&
			 compare_tiles(batch->works[end].job, batch->works[start].job) == 0; end++)
			;
		dispatch_tiles(batch, scratch, start, end, queries);
	}
	free(queries);
	if (batch->n_lanes > 0)
		qsort(batch->works, batch->n_works, sizeof(GenieCpuWork), compare_works);
	for (uint32_t w = 0; w < batch->n_works; w++)
	{
		n_counted += genie_dispatch_counts(batch->works[w].job);
		batch->n_scans += genie_cpu_scans(&batch->works[w]);
	}
	batch->engine->choices.n_lanes += batch->n_lanes;
	batch->engine->choices.n_tiles += n_counted - batch->n_lanes;
}

/* ---- costs ---- */

/*
 * The work can be cut at multiples of this many objects: by lanes and scans, or at slices, but only at tiles where it
 * has conditions, or is no TOP.
 */
static uint32_t
unit_of(const GenieCpuWork *work)
{
	if (work->lane != GENIE_CPU_NO_LANE)
		return LANE_UNIT_OBJECTS;
	if (genie_cpu_scans(work))
		return GENIE_CPU_SCAN_OBJECTS;
	if (work->job->kind == GENIE_JOB_TOP && work->job->n_conditions == 0)
		return GENIE_SLICE_OBJECTS;
	return GENIE_TILE_OBJECTS;
}

static uint32_t
units_of(const GenieCpuWork *work)
{
	if (unit_of(work) == GENIE_TILE_OBJECTS)
		return work->job->n_tiles;
	return (uint32_t) (((uint64_t) genie_job_objects(work->job) + unit_of(work) - 1) / unit_of(work));
}

/* FACETS, GRID: all postings of their ranks, as if they were evenly spread; of a grid each object besides. */
static uint64_t
sums_cost(const GenieJob *job)
{
	const GenieSegmentImage *image = job->image;
	uint64_t	cost = (uint64_t) job->n_tiles * GENIE_COST_TILE;
	GenieRankRange range = job->facets;

	if (job->n_tiles == 0)
		return 0;
	for (uint32_t a = 0; a < (job->kind == GENIE_JOB_GRID ? job->grid->n_axes : 1); a++)
	{
		if (job->kind == GENIE_JOB_GRID)
			range = (GenieRankRange) {job->grid->axes[a].first_rank,
				job->grid->axes[a].first_rank + job->grid->axes[a].n_ranks};
		if (image->postings_before != NULL)
			cost += (image->postings_before[range.end] - image->postings_before[range.first]) * job->n_tiles /
				image->n_tiles;
		else
			cost += genie_job_objects(job);
	}
	return cost + (job->kind == GENIE_JOB_GRID ? COST_OBJECT_CELL * (uint64_t) genie_job_objects(job) : 0);
}

/* Shares what a block of lanes costs between its jobs, from the first one on; returns behind the last one. */
static uint32_t
estimate_block(GenieCpuBatch *batch, uint32_t start)
{
	const GenieDispatchCosts *costs = &batch->policy->costs;
	GenieCpuWork *works = batch->works;
	const GenieJob *job = works[start].job;
	double		ns = genie_dispatch_block_ns(costs, job->image, genie_job_objects(job));
	uint32_t	end = start + 1;

	while (end < batch->n_works && end - start < costs->n_lanes && works[end].lane != GENIE_CPU_NO_LANE &&
		   compare_tiles(works[end].job, job) == 0)
		end++;
	for (uint32_t w = start; w < end; w++)
		works[w].cost = (uint64_t) (COSTS_A_NS * (ns / (end - start) + genie_dispatch_lane_ns(costs, works[w].job)));
	return end;
}

/* Estimates the jobs' costs and how many tasks they are worth. */
static void
estimate(GenieCpuBatch *batch, GenieTileScratch *scratch)
{
	uint64_t	task_cost = batch->policy->task_cost;
	uint32_t	n_samples = SAMPLES_A_BATCH / batch->n_works;
	uint64_t	by_lists = 0;

	if (n_samples < 1)
		n_samples = 1;
	if (n_samples > SAMPLES_MAX)
		n_samples = SAMPLES_MAX;
	for (uint32_t w = 0, end = 0; w < batch->n_works; w++)
	{
		GenieCpuWork *work = &batch->works[w];

		if (work->lane != GENIE_CPU_NO_LANE && w >= end)
			end = estimate_block(batch, w);
		else if (work->lane != GENIE_CPU_NO_LANE)
			;					/* estimated with its block */
		else if (work->cost > 0)
			;					/* what the dispatcher took it to be */
		else if (work->by_graph)
			work->cost = graph_cost(work->job);
		else if (genie_cpu_scans(work))
			work->cost = scan_cost(work->job);
		else if (genie_job_adds_up(work->job->kind))
			work->cost = sums_cost(work->job);
		else if (batch->n_works > batch->n_threads * MANY_JOBS_PER_THREAD)
			work->cost = (uint64_t) work->job->n_tiles * GENIE_COST_TILE;
		else
			work->cost = sampled_cost(scratch, work->job, n_samples, &by_lists);
		batch->cost += work->cost;
	}
	if (batch->cost == 0)
		batch->cost = 1;
	batch->n_wanted = batch->n_threads * TASKS_PER_THREAD;
	if (batch->n_wanted > batch->cost / task_cost)
		batch->n_wanted = (uint32_t) (batch->cost / task_cost);
}

/* ---- tasks ---- */

/* Adds the tasks of a job that is cut into parts, or of n_works jobs that are not. */
static void
add_tasks(GenieCpuBatch *batch, GenieCpuWork *works, uint32_t n_works, uint32_t n_parts)
{
	const GenieJob *job = works[0].job;
	bool		in_block = works[0].lane != GENIE_CPU_NO_LANE || genie_cpu_scans(&works[0]);
	bool		of_tiles = n_works > 1 && !in_block;	/* all of them */
	uint32_t	n_units = of_tiles ? job->n_tiles : units_of(&works[0]);
	uint64_t	first = genie_job_first_object(job);
	uint64_t	n_objects = of_tiles ? GENIE_TILE_OBJECTS : unit_of(&works[0]);

	for (uint32_t w = 0; w < n_works; w++)
	{
		works[w].n_parts = works[w].parts_left = n_parts;
		works[w].parts = batch->parts + batch->n_parts + w;
		works[w].stride = n_works;
	}
	for (uint32_t p = 0; p < n_parts * n_works; p++)
		batch->parts[batch->n_parts++] = (GenieCpuPart) {.status = GENIE_STATUS_CANCELLED};
	for (uint32_t p = 0; p < n_parts; p++)
		batch->tasks[batch->n_tasks++] = (GenieCpuTask) {
			.works = works, .n_works = n_works, .part = p,
			.first = first + (uint64_t) n_units * p / n_parts * n_objects,
			.end = first + (uint64_t) n_units * (p + 1) / n_parts * n_objects
		};
}

/* Tasks of an image by where they begin, so that threads are in the same tiles at the same time and share the cache. */
static int
compare_tasks(const void *a, const void *b)
{
	const GenieCpuTask *x = a;
	const GenieCpuTask *y = b;
	uint64_t	x_image = x->works[0].job->image->id;
	uint64_t	y_image = y->works[0].job->image->id;

	if (x_image != y_image)
		return x_image < y_image ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->works > y->works) - (x->works < y->works);
}

/* Does the work belong to a block with the one at start, n works before it? */
static bool
belongs(const GenieCpuBatch *batch, uint32_t start, uint32_t n)
{
	const GenieCpuWork *first = &batch->works[start];
	const GenieCpuWork *work = first + n;

	if (genie_cpu_scans(first))
		return n < GENIE_CPU_SCAN_JOBS && scan_together(first, work);
	return n < batch->policy->lanes->n_lanes && work->lane != GENIE_CPU_NO_LANE &&
		compare_tiles(work->job, first->job) == 0;
}

/*
 * The end of the block, of lanes or SCAN jobs, from start on, in *cost what it costs; lowers *most, the parts that it
 * may have.
 */
static uint32_t
block_end(const GenieCpuBatch *batch, uint32_t start, uint64_t *cost, uint64_t *most)
{
	const GenieCpuWork *works = batch->works;
	uint32_t	end = start;
	uint64_t	n_hits = 0;

	*cost = 0;
	for (; end < batch->n_works && belongs(batch, start, end - start); end++)
	{
		*cost += works[end].cost;
		n_hits += works[end].job->kind == GENIE_JOB_TALLY ? 1 : genie_lanes_capacity(works[end].job->k);
	}
	if (*most > BLOCK_HITS_MAX / n_hits)
		*most = BLOCK_HITS_MAX / n_hits;
	return end;
}

/* Cuts the batch into tasks. */
static void
cut(GenieCpuBatch *batch)
{
	uint64_t	task_cost = batch->n_wanted == 0 ? UINT64_MAX : batch->cost / batch->n_wanted;
	uint32_t	n_lane_tasks = LANE_TASKS_PER_THREAD * batch->n_threads;
	uint32_t	end;

	if (n_lane_tasks > batch->n_wanted)
		n_lane_tasks = batch->n_wanted;
	for (uint32_t start = 0; start < batch->n_works; start = end)
	{
		GenieCpuWork *first = &batch->works[start];
		bool		by_lanes = first->lane != GENIE_CPU_NO_LANE;
		bool		by_block = by_lanes || genie_cpu_scans(first);
		uint64_t	cost = first->cost;
		uint64_t	most = units_of(first);
		uint64_t	n_parts;

		end = start + 1;
		if (by_block)
			end = block_end(batch, start, &cost, &most);
		if (genie_job_adds_up(first->job->kind) && most > SUMS_BYTES_MAX / (genie_job_facets_bytes(first->job) + 1))
			most = SUMS_BYTES_MAX / (genie_job_facets_bytes(first->job) + 1);
		n_parts = batch->n_wanted == 0 ? 1 : cost * (by_lanes ? n_lane_tasks : batch->n_wanted) / batch->cost;
		if (n_parts > most || first->by_graph)
			n_parts = first->by_graph ? 1 : most;
		if (n_parts < 2)
		{
			n_parts = 1;
			for (; !by_block && way_of(first) == 0 && end < batch->n_works && way_of(&batch->works[end]) == 0 &&
				 compare_tiles(batch->works[end].job, first->job) == 0 &&
				 cost + batch->works[end].cost <= task_cost; end++)
				cost += batch->works[end].cost;
		}
		add_tasks(batch, first, end - start, (uint32_t) n_parts);
	}
	qsort(batch->tasks, batch->n_tasks, sizeof(GenieCpuTask), compare_tasks);
}

/* Takes memory for parts and tasks; false: there is none. */
static bool
take_parts(GenieCpuBatch *batch)
{
	/* a job has one part, or no more than its share of the tasks wanted; those of a block have theirs each */
	uint32_t	n_parts = batch->n_works + (batch->n_threads == 1 ? 0 : TASKS_PER_THREAD * batch->n_threads);
	void	   *parts = NULL;

	batch->tasks = malloc(n_parts * sizeof(GenieCpuTask));
	if (batch->n_scans > 0 && batch->n_threads > 1)
		n_parts += TASKS_PER_THREAD * batch->n_threads * GENIE_CPU_SCAN_JOBS;
	if (batch->n_lanes > 0 && batch->n_threads > 1)
	{
		n_parts += LANE_TASKS_PER_THREAD * batch->n_threads * batch->policy->lanes->n_lanes;
		batch->n_found = calloc(batch->n_lanes, GENIE_CPU_FLOOR_KEYS * sizeof(uint32_t));
	}
	for (uint32_t w = 0, lane = 0; w < batch->n_works && batch->n_found != NULL; w++)
		if (batch->works[w].lane != GENIE_CPU_NO_LANE)
			genie_cpu_floor_count(&batch->works[w].floor, batch->works[w].job->query.max_count,
								  batch->n_found + (size_t) lane++ * GENIE_CPU_FLOOR_KEYS);
	if (posix_memalign(&parts, GENIE_CPU_CACHE_LINE, n_parts * sizeof(GenieCpuPart)) != 0)
		return false;
	batch->parts = parts;
	return batch->tasks != NULL;
}

bool
genie_cpu_plan(GenieCpuBatch *batch, GenieTileScratch *scratch)
{
	if (batch->n_threads > 1)
		estimate(batch, scratch);
	if (!take_parts(batch))
		return false;
	cut(batch);
	return true;
}

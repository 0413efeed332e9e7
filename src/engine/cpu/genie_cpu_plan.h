/*
 * genie_cpu_plan.h
 *	  A batch of the CPU engine: its works, parts and tasks, and how it is cut into them.  genie_cpu_batch.c does them.
 */
#ifndef GENIE_CPU_PLAN_H
#define GENIE_CPU_PLAN_H

#include "genie_cpu_floor.h"
#include "genie_dispatch.h"
#include "genie_lanes.h"
#include "genie_tile.h"

/*
 * The least that a thread is woken for, in postings of about half a nanosecond: 40 us.  bench_engine measures it:
 * waking one takes the caller 10 us, and it begins 10 us later.
 */
#define GENIE_CPU_TASK_COST 80000

/*
 * Jobs of a block of SCAN jobs, which share the tasks of their objects, so that records are read from memory once for
 * all of them; and bytes of records that stay in a core's cache from job to job.
 */
#define GENIE_CPU_SCAN_JOBS 256
#define GENIE_CPU_SCAN_BYTES (256 * 1024)

/* Parts of SCAN jobs are multiples of so many objects. */
#define GENIE_CPU_SCAN_OBJECTS 1024

/* How batches are counted. */
typedef struct GenieCpuPolicy
{
	uint64_t	task_cost;		/* the least that a task is made of, at least 1 */
	GenieKernelChoice choice;
	const GenieLaneKernels *lanes;
	GenieDispatchCosts costs;	/* n_lanes is 0 while they are not measured */
} GenieCpuPolicy;

#define GENIE_CPU_CACHE_LINE 64 /* bytes */

#define GENIE_CPU_NO_LANE UINT32_MAX

/* A range of a job's objects, on cache lines of its own: its thread writes it all the time. */
typedef struct GenieCpuPart
{
	GenieTopK	top;			/* TOP, SCAN; hits is NULL while it has no memory; TALLY: its floor alone */
	uint64_t	n_tallied;		/* TALLY */
	void	   *sums;			/* FACETS, GRID: as job->out, which is that of the first part; NULL: no memory */
	bool		repeats;		/* GRID: a live object has two keywords on an axis */
	GenieStatus status;			/* CANCELLED: not done yet, or never */
} __attribute__((aligned(GENIE_CPU_CACHE_LINE))) GenieCpuPart;

typedef struct GenieCpuWork
{
	GenieJob   *job;
	uint64_t	cost;
	uint32_t	lane;			/* which of the image's, block after block; GENIE_CPU_NO_LANE: by tiles */
	bool		by_graph;		/* SCAN: one thread searches the graph */
	uint32_t	n_parts;
	uint32_t	parts_left;		/* atomic */
	GenieCpuFloor floor;		/* of a job in parts */
	GenieCpuPart *parts;		/* in object order; genie_cpu_part gives each */
	uint32_t	stride;			/* from one to the next: between them are those of the task's other jobs */
} GenieCpuWork;

typedef struct GenieCpuTask
{
	GenieCpuWork *works;		/* of one image */
	uint32_t	n_works;
	uint32_t	part;			/* of each of them */
	uint64_t	first;			/* objects [first, end); multiples of the units that the works can be cut into */
	uint64_t	end;
} GenieCpuTask;

typedef struct GenieCpuBatch
{
	GenieEngine *engine;
	const GenieCpuPolicy *policy;
	uint32_t	n_threads;		/* the caller's too */
	uint64_t	cost;			/* of all jobs; at least 1 */
	uint32_t	n_wanted;		/* tasks of similar cost; 0: one an image */
	uint32_t	n_works;
	GenieCpuWork *works;		/* valid jobs, by image, first those by lanes */
	uint32_t	n_lanes;		/* jobs by lanes, of all images */
	uint32_t	n_scans;		/* SCAN jobs */
	GenieCpuPart *parts;
	uint32_t	n_parts;
	uint32_t   *n_found;		/* histograms for the floors of jobs by lanes; NULL: none, or no memory for them */
	GenieCpuTask *tasks;
	uint32_t	n_tasks;
	uint32_t	next_task;		/* atomic */
	bool		stopped;		/* atomic */
} GenieCpuBatch;

static inline GenieCpuPart *
genie_cpu_part(const GenieCpuWork *work, uint32_t part)
{
	return work->parts + (size_t) part * work->stride;
}

static inline bool
genie_cpu_scans(const GenieCpuWork *work)
{
	return work->job->kind == GENIE_JOB_SCAN && !work->by_graph;
}

/* Tile number t of an image; group is the one that it lies in. */
extern GenieTile genie_cpu_tile(const GenieImageGroup *group, uint32_t t);

/* Decides which works are counted by lanes, and puts the works in order.  Without memory all go by tiles. */
extern void genie_cpu_dispatch(GenieCpuBatch *batch, GenieTileScratch *scratch);

/*
 * Cuts the batch, of at least one work, into tasks; parts, tasks and n_found are then malloc's.  False: there is no
 * memory.
 */
extern bool genie_cpu_plan(GenieCpuBatch *batch, GenieTileScratch *scratch);

#endif							/* GENIE_CPU_PLAN_H */

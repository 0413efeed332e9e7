/*
 * genie_cpu_batch.h
 *	  The CPU engine's batches of jobs over images.
 */
#ifndef GENIE_CPU_BATCH_H
#define GENIE_CPU_BATCH_H

#include "genie_cpu_threads.h"
#include "genie_dispatch.h"
#include "genie_lanes.h"

/*
 * The least that a thread is woken for, in postings of about half a nanosecond: 40 us.  bench_engine measures it:
 * waking one takes the caller 10 us, and it begins 10 us later.
 */
#define GENIE_CPU_TASK_COST 80000

/* How batches are counted. */
typedef struct GenieCpuPolicy
{
	uint64_t	task_cost;		/* the least that a task is made of, at least 1 */
	GenieKernelChoice choice;
	const GenieLaneKernels *lanes;
	GenieDispatchCosts costs;	/* n_lanes is 0 while they are not measured */
} GenieCpuPolicy;

/*
 * GenieEngineOps.run.  scratch is the caller's thread's; threads: those that help, NULL without; policy's costs are
 * measured if an image has codes.  Asks engine->interrupted before each job in each tile, and every few thousand
 * objects where jobs are bit lanes, in this thread only.
 */
extern GenieStatus genie_cpu_batch_run(GenieEngine *engine, GenieTileScratch *scratch, GenieCpuThreads *threads,
									   const GenieCpuPolicy *policy, uint32_t n_jobs, GenieJob *jobs);

/* Measures the policy's costs: a few milliseconds. */
extern void genie_cpu_measure(GenieTileScratch *scratch, GenieCpuPolicy *policy);

/* The engine's policy: for tests and benchmarks. */
extern GenieCpuPolicy *genie_cpu_engine_policy(GenieEngine *engine);

#endif							/* GENIE_CPU_BATCH_H */

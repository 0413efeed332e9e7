/*
 * genie_cpu_batch.h
 *	  The CPU engine's batches of jobs over images.
 */
#ifndef GENIE_CPU_BATCH_H
#define GENIE_CPU_BATCH_H

#include "genie_cpu_threads.h"

/*
 * The least that a thread is woken for, in postings of about half a nanosecond: 40 us.  bench_engine measures it:
 * waking one takes the caller 10 us, and it begins 10 us later.
 */
#define GENIE_CPU_TASK_COST 80000

/*
 * GenieEngineOps.run.  scratch is the caller's thread's; threads: those that help, NULL without; task_cost: the least
 * that a task is made of, at least 1.  Asks engine->interrupted before each job in each tile, in this thread only.
 */
extern GenieStatus genie_cpu_batch_run(GenieEngine *engine, GenieTileScratch *scratch, GenieCpuThreads *threads,
									   uint64_t task_cost, uint32_t n_jobs, GenieJob *jobs);

/* Sets the engine's task_cost, GENIE_CPU_TASK_COST until then: for tests and benchmarks. */
extern void genie_cpu_engine_task_cost(GenieEngine *engine, uint64_t task_cost);

#endif							/* GENIE_CPU_BATCH_H */

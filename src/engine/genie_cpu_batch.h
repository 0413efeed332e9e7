/*
 * genie_cpu_batch.h
 *	  The CPU engine's batches of jobs over images.
 */
#ifndef GENIE_CPU_BATCH_H
#define GENIE_CPU_BATCH_H

#include "genie_cpu_plan.h"
#include "genie_cpu_threads.h"

/*
 * GenieEngineOps.run.  scratch is the caller's thread's; threads: those that help, NULL without; policy's costs are
 * measured if an image has codes.  Asks engine->interrupted before each job in each tile, and every few thousand
 * objects where jobs are bit lanes, in this thread only.
 */
extern GenieStatus genie_cpu_batch_run(GenieEngine *engine, GenieTileScratch *scratch, GenieCpuThreads *threads,
									   const GenieCpuPolicy *policy, uint32_t n_jobs, GenieJob *jobs);

#endif							/* GENIE_CPU_BATCH_H */

/*
 * genie_cpu_batch.h
 *	  The CPU engine's batches of jobs over images.
 */
#ifndef GENIE_CPU_BATCH_H
#define GENIE_CPU_BATCH_H

#include "genie_cpu_plan.h"
#include "genie_cpu_threads.h"

/*
 * GenieEngineOps.run.  scratch is that of the caller's thread.  threads help; NULL: there are none.  The policy's
 * costs must be measured if an image has codes.  This thread alone asks engine->interrupted: before each job in each
 * tile, and every few thousand objects where jobs are bit lanes.
 */
extern GenieStatus genie_cpu_batch_run(GenieEngine *engine, GenieTileScratch *scratch, GenieCpuThreads *threads,
									   const GenieCpuPolicy *policy, uint32_t n_jobs, GenieJob *jobs);

#endif							/* GENIE_CPU_BATCH_H */

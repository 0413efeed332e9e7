/*
 * genie_cpu_batch.h
 *	  The CPU engine's batches of jobs over images.
 */
#ifndef GENIE_CPU_BATCH_H
#define GENIE_CPU_BATCH_H

#include "genie_tile_count.h"

/* GenieEngineOps.run; asks engine->interrupted before each job in each tile */
extern GenieStatus genie_cpu_batch_run(GenieEngine *engine, GenieTileScratch *scratch,
									   uint32_t n_jobs, GenieJob *jobs);

#endif							/* GENIE_CPU_BATCH_H */

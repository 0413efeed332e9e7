/*
 * genie_cpu_bounds.h
 *	  Lower bounds of distances of many queries' candidates (genie_quantized.h), by the CPU engine's threads.
 */
#ifndef GENIE_CPU_BOUNDS_H
#define GENIE_CPU_BOUNDS_H

#include "genie_cpu_threads.h"
#include "genie_quantized.h"

/* genie_cpu_engine_bounds().  threads help; NULL: there are none. */
extern bool genie_cpu_bounds_run(GenieEngine *engine, GenieCpuThreads *threads, const GenieBoundsJob *jobs,
								 uint32_t n_jobs);

#endif							/* GENIE_CPU_BOUNDS_H */

/*
 * genie_cpu_job.h
 *	  Is a job what it should be, and what became of it?
 *
 * A job comes from a request in shared memory; what it says is checked before it decides what is read and written.
 */
#ifndef GENIE_CPU_JOB_H
#define GENIE_CPU_JOB_H

#include "genie_engine.h"

extern bool genie_cpu_job_valid(const GenieJob *job);

/* Says in engine->error what the last job that failed failed of. */
extern void genie_cpu_jobs_explain(GenieEngine *engine, uint32_t n_jobs, const GenieJob *jobs);

#endif							/* GENIE_CPU_JOB_H */

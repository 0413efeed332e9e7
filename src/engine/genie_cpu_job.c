/*
 * genie_cpu_job.c
 *	  Is a job what it should be, and what became of it?  (genie_cpu_job.h)
 */
#include <stdio.h>

#include "genie_cpu_job.h"

static bool
query_valid(const GenieEngineQuery *query, const GenieSegmentImage *image)
{
	uint32_t	next = 0;

	for (uint32_t r = 0; r < query->n_ranges; r++)
	{
		const GenieRankRange *range = &query->ranges[r];

		if (range->first < next || range->end < range->first || range->end > image->n_keywords)
			return false;
		next = range->end;
	}
	return query->max_count >= 1 && query->max_count <= UINT16_MAX;
}

bool
genie_cpu_job_valid(const GenieJob *job)
{
	if (job->kind == GENIE_JOB_TOP)
	{
		if (job->k < 1 || job->k > GENIE_JOB_K_MAX || job->min_key < 1)
			return false;
	}
	else if (job->kind != GENIE_JOB_COUNTS && job->kind != GENIE_JOB_MASK)
		return false;
	else if (job->first_tile > job->image->n_tiles || job->n_tiles > job->image->n_tiles - job->first_tile)
		return false;

	if (job->kind != GENIE_JOB_MASK && !query_valid(&job->query, job->image))
		return false;
	if (!genie_job_keys_fit(job))
		return false;
	for (uint32_t c = 0; job->kind != GENIE_JOB_COUNTS && c < job->n_conditions; c++)
	{
		const GenieCondition *condition = &job->conditions[c];

		if (condition->min_count < 1 || !query_valid(&condition->query, job->image))
			return false;
	}
	return true;
}

void
genie_cpu_jobs_explain(GenieEngine *engine, uint32_t n_jobs, const GenieJob *jobs)
{
	for (uint32_t i = 0; i < n_jobs; i++)
	{
		if (jobs[i].status == GENIE_STATUS_CORRUPT)
			snprintf(engine->error, sizeof(engine->error), "a job is malformed, or counts more than it says");
		else if (jobs[i].status == GENIE_STATUS_RETRY)
			snprintf(engine->error, sizeof(engine->error), "there is no memory for the results of a batch");
	}
}

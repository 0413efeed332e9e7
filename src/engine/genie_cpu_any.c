/*
 * genie_cpu_any.c
 *	  Any of many conditions as bit lanes (genie_cpu_any.h).
 *
 * The dispatcher compares lanes and tiles as it does for as many TALLY jobs, which cost the same.
 */
#include <stdlib.h>
#include <string.h>

#include "genie_cpu_any.h"

struct GenieCpuAny
{
	uint32_t	n_blocks;
	GenieLaneBlock **blocks;
	GenieLaneQuery *queries;	/* a condition each */
	GenieTopK  *tops;			/* of each the floor alone */
};

/* Are lanes estimated to be faster?  False, too, if there is no memory. */
static bool
prefers_lanes(const GenieCpuPolicy *policy, const GenieJob *job, uint32_t n_parts)
{
	uint32_t	n = job->n_conditions;
	GenieJob   *jobs = malloc(n * sizeof(GenieJob));
	GenieDispatchQuery *queries = calloc(n, sizeof(GenieDispatchQuery));
	GenieDispatchCosts costs = policy->costs;
	bool		result = false;

	costs.n_parts = n_parts;
	for (uint32_t i = 0; i < n && jobs != NULL && queries != NULL; i++)
	{
		jobs[i] = (GenieJob) {.kind = GENIE_JOB_TALLY, .image = job->image, .first_tile = job->first_tile,
		.n_tiles = job->n_tiles, .query = job->conditions[i].query, .min_key = job->conditions[i].min_count};
		queries[i].job = &jobs[i];
		queries[i].number = i;
	}
	if (jobs != NULL && queries != NULL)
		result = genie_dispatch_choose(&costs, policy->choice, n, queries).n_lanes == n;
	free(queries);
	free(jobs);
	return result;
}

GenieCpuAny *
genie_cpu_any_open(const GenieCpuPolicy *policy, const GenieJob *job, uint32_t n_parts)
{
	uint32_t	n_lanes = policy->lanes->n_lanes;
	uint32_t	n = job->n_conditions;
	GenieCpuAny *any;

	if (n == 0 || !genie_image_has_codes(job->image) || !prefers_lanes(policy, job, n_parts))
		return NULL;
	any = calloc(1, sizeof(GenieCpuAny));
	if (any == NULL)
		return NULL;
	any->n_blocks = (n + n_lanes - 1) / n_lanes;
	any->blocks = calloc(any->n_blocks, sizeof(GenieLaneBlock *));
	any->queries = calloc(n, sizeof(GenieLaneQuery));
	any->tops = calloc(n, sizeof(GenieTopK));
	for (uint32_t i = 0; i < n && any->queries != NULL && any->tops != NULL; i++)
	{
		any->tops[i].floor = job->conditions[i].min_count;
		any->queries[i].query = &job->conditions[i].query;
		any->queries[i].top = &any->tops[i];
	}
	for (uint32_t b = 0; b < any->n_blocks; b++)
	{
		uint32_t	left = n - b * n_lanes;

		if (any->blocks != NULL && any->queries != NULL && any->tops != NULL)
			any->blocks[b] = genie_lanes_open(policy->lanes, job->image, left < n_lanes ? left : n_lanes,
											  any->queries + b * n_lanes);
		if (any->blocks == NULL || any->blocks[b] == NULL)
		{
			genie_cpu_any_close(any);
			return NULL;
		}
	}
	return any;
}

void
genie_cpu_any_in_tile(GenieCpuAny *any, const GenieImageGroup *group, uint32_t t, const uint64_t *live, uint64_t *out)
{
	memset(out, 0, GENIE_TILE_WORDS * sizeof(uint64_t));
	for (uint32_t b = 0; b < any->n_blocks; b++)
		genie_lanes_any(any->blocks[b], group, t, live, out);
}

void
genie_cpu_any_close(GenieCpuAny *any)
{
	if (any == NULL)
		return;
	for (uint32_t b = 0; any->blocks != NULL && b < any->n_blocks; b++)
		genie_lanes_close(any->blocks[b]);
	free(any->blocks);
	free(any->queries);
	free(any->tops);
	free(any);
}

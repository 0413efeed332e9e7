/*
 * genie_estimate.c
 *	  Asking the worker's GPU for exact search (genie_estimate.h): a request of one job, without an image.
 */
#include "postgres.h"

#include "genie_estimate.h"
#include "genie_request.h"
#include "genie_worker.h"

bool
genie_estimate_is_possible(void)
{
	return genie_worker_wanted && genie_request_worker_is_up() && genie_stat_n_devices() > 0;
}

Size
genie_estimate_bytes(void)
{
	return genie_request_bytes();
}

GenieFallback
genie_estimate_run(const GenieNearest *nearest, GeniePair *pairs, uint32 room, uint32 *n_pairs)
{
	GenieRequestJob request = {0};

	request.job.kind = GENIE_JOB_NEAREST;
	request.job.nearest = nearest;
	request.job.k = room;
	request.result = pairs;
	genie_request_run(&request, 1);
	if (!request.done)
	{
		genie_stat_fallback(request.why);
		return request.why;
	}
	*n_pairs = request.job.n_hits;
	return GENIE_FALLBACK_NONE;
}

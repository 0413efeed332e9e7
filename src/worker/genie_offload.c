/*
 * genie_offload.c
 *	  Work for the worker's GPU (genie_offload.h): requests of one job, without an image.
 */
#include "postgres.h"

#include "genie_offload.h"
#include "genie_request.h"

bool
genie_offload_is_possible(void)
{
	return genie_request_possible() == GENIE_FALLBACK_NONE && genie_stat_n_devices() > 0;
}

Size
genie_offload_bytes(void)
{
	return genie_request_bytes();
}

static GenieFallback
run(GenieRequestJob *request)
{
	genie_request_run(request, 1);
	if (request->why != GENIE_FALLBACK_NONE)
		genie_stat_fallback(request->why);
	return request->why;
}

GenieFallback
genie_offload_nearest(const GenieNearest *nearest, GeniePair *pairs, uint32 room, uint32 *n_pairs)
{
	GenieRequestJob request = {0};
	GenieFallback why;

	request.job.kind = GENIE_JOB_NEAREST;
	request.job.nearest = nearest;
	request.job.k = room;
	request.result = pairs;
	why = run(&request);
	*n_pairs = request.job.n_hits;
	return why;
}

GenieFallback
genie_offload_hash(const GenieHashing *hashing, int32 *codes)
{
	GenieRequestJob request = {0};

	request.job.kind = GENIE_JOB_HASH;
	request.job.hashing = hashing;
	request.result = codes;
	return run(&request);
}

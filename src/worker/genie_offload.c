/*
 * genie_offload.c
 *	  Work for the worker's GPU (genie_offload.h): requests of one job.
 */
#include "postgres.h"

#include "genie_image_load.h"
#include "genie_offload.h"
#include "genie_request.h"

bool
genie_offload_is_possible(const GenieInstrument *instrument)
{
	GenieFallback why = genie_request_possible();

	if (why == GENIE_FALLBACK_NONE && genie_stat_n_devices() > 0)
		return true;
	genie_instrument_why(instrument, why, GENIE_GPU_FALLBACK_NO_GPU);
	return false;
}

Size
genie_offload_bytes(void)
{
	return genie_request_bytes();
}

static GenieFallback
run(GenieRequestJob *request, const GenieInstrument *instrument)
{
	uint64		since = genie_instrument_now();
	uint64		counted = genie_request_run(request, 1);

	genie_instrument_waited(instrument, since, counted);
	if (request->why == GENIE_FALLBACK_NONE)
		genie_instrument_by_worker(instrument, request->gpu_why, false);
	else
	{
		genie_stat_fallback(request->why);
		genie_instrument_why(instrument, request->why, GENIE_GPU_FALLBACK_NONE);
	}
	return request->why;
}

GenieFallback
genie_offload_nearest(const GenieNearest *nearest, GeniePair *pairs, uint32 room, uint32 *n_pairs,
					  const GenieInstrument *instrument)
{
	GenieRequestJob request = {0};
	GenieFallback why;

	request.job.kind = GENIE_JOB_NEAREST;
	request.job.nearest = nearest;
	request.job.k = room;
	request.result = pairs;
	why = run(&request, instrument);
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
	return run(&request, NULL);
}

/* GenieLoadDevices */
static bool
stage(const GenieImageRef *image, uint32 first_tile, uint32 n_tiles, uint32 *n_groups)
{
	GenieRequestJob request = {0};

	if (genie_request_possible() != GENIE_FALLBACK_NONE || genie_stat_n_devices() == 0)
		return false;
	request.job.kind = GENIE_JOB_STAGE;
	request.image = *image;
	request.job.first_tile = first_tile;
	request.job.n_tiles = n_tiles;
	(void) genie_request_run(&request, 1);
	*n_groups = request.job.n_hits;
	return request.why == GENIE_FALLBACK_NONE;
}

/* GenieLoadDevices */
static bool
make_level(const GenieImageRef *graph, const GenieImageRef *vectors, uint32 n_dimensions,
		   const GenieProximityLevel *level, bool (*stops) (void))
{
	GenieRequestJob request = {0};

	if (genie_request_possible() != GENIE_FALLBACK_NONE || genie_stat_n_devices() == 0)
		return false;
	request.job.kind = GENIE_JOB_LEVEL;
	request.job.level = level;
	request.graph = *graph;
	request.vectors = *vectors;
	request.n_elements = genie_quantized_elements(n_dimensions);
	request.stops = stops;
	(void) genie_request_run(&request, 1);
	return request.why == GENIE_FALLBACK_NONE;
}

void
genie_offload_init(void)
{
	static const GenieLoadDevices devices = {genie_request_prepare, stage, make_level};

	genie_load_devices = &devices;
}

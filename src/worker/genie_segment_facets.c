/*
 * genie_segment_facets.c
 *	  Jobs of kind FACETS and GRID for the worker (genie_segment_facets.h).
 */
#include "postgres.h"

#include "genie_object_table.h"
#include "genie_segment_facets.h"

bool
genie_segment_facets_can(GenieSource *source)
{
	if (source->why == GENIE_FALLBACK_NONE)
		return true;
	genie_source_by_backend(source, source->why);
	return false;
}

static void
genie_segment_facets_begin(const GenieSource *source, GenieJobKind kind, const uint64 *live, void *result,
						   GenieRequestJob *request)
{
	Assert(source->n_conditions == 0 && source->n_unions == 0);
	genie_source_request(source, kind, request);
	request->job.n_tiles = genie_object_table_tiles(source->segment);
	request->job.live = live;
	request->result = result;
}

/* Asks the worker.  False: it did not answer all. */
static bool
genie_segment_facets_ask(GenieSource *source, GenieRequestJob *requests, uint32 n)
{
	genie_instrument_round(source->instrument);
	genie_source_run(source, requests, n);
	for (uint32 i = 0; i < n; i++)
		if (requests[i].why != GENIE_FALLBACK_NONE)
		{
			genie_source_fell_back(source, requests[i].why);
			return false;
		}
	return true;
}

bool
genie_segment_facets(GenieSource *source, const uint64 *live, const GenieRankRange *ranges, uint32 n_ranges,
					 uint32 *sums)
{
	GenieRequestJob *requests = palloc_extended(n_ranges * sizeof(GenieRequestJob), MCXT_ALLOC_HUGE);
	bool		ok;

	for (uint32 i = 0; i < n_ranges; i++)
	{
		genie_segment_facets_begin(source, GENIE_JOB_FACETS, live, sums, &requests[i]);
		requests[i].job.facets = ranges[i];
		sums += ranges[i].end - ranges[i].first;
	}
	ok = genie_segment_facets_ask(source, requests, n_ranges);
	pfree(requests);
	return ok;
}

bool
genie_segment_grid(GenieSource *source, const uint64 *live, const GenieGrid *grid, GenieGridCell *cells, bool *repeats)
{
	GenieRequestJob request;
	bool		ok;

	genie_segment_facets_begin(source, GENIE_JOB_GRID, live, cells, &request);
	request.job.grid = grid;
	ok = genie_segment_facets_ask(source, &request, 1);
	*repeats = request.job.n_hits != 0;
	return ok;
}

/*
 * genie_segment_query.c
 *	  Compiling a query against a segment, and asking the worker or the backend itself.
 *
 * Compiling (genie_compile.h) gives the ranges of ranks that a query asks for.  That is all that the worker needs.
 * Posting lists are read, in the backend, only when it must count itself: a query's own lists, or, where many queries
 * ask one segment, all of them, once, as an image of the backend's own (genie_source_image()).
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "genie_compile.h"
#include "genie_inprocess.h"
#include "genie_object_table.h"
#include "genie_segment_query.h"

#define GENIE_COUNT_TILES 32	/* whose counts are asked for at a time; 2 or 4 MB */

/*
 * Questions to one segment from which on the backend makes an image of it: that reads and decodes every list once,
 * which is less than what so many queries read, unless they are small.
 */
#define GENIE_IMAGE_QUERIES 32

struct GenieSegmentQuery
{
	GenieSource *source;
	const GenieQueryView *view; /* NULL: of a set */
	GenieEngineQuery query;
	const GenieQuerySet *set;	/* or NULL; lists that one of a set reads are not kept */
	uint32		number;			/* in the set */
	GenieInprocess *inprocess;	/* NULL: not needed yet */
};

/* ---- compiling ---- */

GenieSegmentQuery *
genie_segment_query_open(GenieSource *source, const GenieQueryView *query)
{
	GenieSegmentQuery *search = palloc0(sizeof(GenieSegmentQuery));

	search->source = source;
	search->view = query;
	return genie_compile(source->segment, query, &search->query) ? search : NULL;
}

bool
genie_segment_query_open_set(GenieSource *source, const GenieQuerySet *set, GenieSegmentQuery **searches)
{
	uint32		n = genie_query_set_size(set);
	GenieSegmentQuery *search = MemoryContextAllocExtended(CurrentMemoryContext, n * sizeof(GenieSegmentQuery),
													 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	GenieEngineQuery *queries = MemoryContextAllocHuge(CurrentMemoryContext, n * sizeof(GenieEngineQuery));

	if (!genie_query_set_compile(set, source->segment, queries))
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		search[i].source = source;
		search[i].set = set;
		search[i].number = i;
		search[i].query = queries[i];
		searches[i] = &search[i];
	}
	pfree(queries);
	return true;
}

void
genie_segment_query_rank_by(GenieSegmentQuery *search, const GenieKeyTable *keys)
{
	const GenieRootHeader *header = &search->source->segment->header;

	if (keys != NULL && !genie_keys_fit(keys, search->query.max_count, header->min_size, header->max_size))
		elog(ERROR, "a key table does not cover sizes %u to %u and counts up to %u",
			 header->min_size, header->max_size, search->query.max_count);
	search->query.keys = keys;
}

bool
genie_segment_query_matches(const GenieSegmentQuery *search)
{
	return search->query.n_ranges > 0;
}

uint32
genie_segment_query_max_count(const GenieSegmentQuery *search)
{
	return search->query.max_count;
}

/* ---- in the backend itself ---- */

/* Reads the posting lists, if that was not done yet.  False: stale. */
static bool
genie_segment_query_read(GenieSegmentQuery *search)
{
	MemoryContext old;

	if (search->inprocess == NULL)
	{
		old = MemoryContextSwitchTo(search->source->context);
		search->inprocess = genie_inprocess_open(search->source->segment, search->view, &search->query,
												 search->source->memory);
		MemoryContextSwitchTo(old);
	}
	return search->inprocess != NULL;
}

/* The lists of a condition are needed once: they go at once. */
bool
genie_segment_query_filter(GenieSegmentQuery *search, uint32 min_count, uint64 *live)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie condition",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		memory = *search->source->memory;
	GenieInprocess *inprocess = genie_inprocess_open(search->source->segment, search->view, &search->query,
													 &memory);
	bool		ok = inprocess != NULL && genie_inprocess_filter(inprocess, min_count, live);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* One question, from the pages. */
static bool
genie_search_top_pages(GenieSegmentTop *top)
{
	GenieSegmentQuery *search = top->search;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie best", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		memory = *search->source->memory;
	GenieInprocess *inprocess = search->inprocess;
	GenieHit   *hits = palloc_extended(genie_topk_capacity(top->k) * sizeof(GenieHit), MCXT_ALLOC_HUGE);
	const uint64 *qualified;
	bool		ok = genie_source_qualified(search->source, &qualified);

	if (ok && search->set != NULL)
	{
		inprocess = genie_inprocess_open(search->source->segment, genie_query_set_view(search->set, search->number),
										 &search->query, &memory);
		ok = inprocess != NULL;
	}
	else if (ok)
	{
		ok = genie_segment_query_read(search);
		inprocess = search->inprocess;
	}
	ok = ok && genie_inprocess_top(inprocess, qualified, top->k, 1, top->has_after ? &top->after : NULL, hits,
								   &top->n_hits);
	if (ok)
		memcpy(top->hits, hits, top->n_hits * sizeof(GenieHit));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

static void
genie_search_top_job(const GenieSegmentTop *top, GenieJob *job)
{
	job->k = top->k;
	job->min_key = 1;
	job->has_after = top->has_after;
	job->after = top->after;
}

/* Questions to one source, on its own image.  False: there is none, or it could not be counted. */
static bool
genie_search_tops_image(GenieSegmentTop **tops, uint32 n, const GenieSegmentImage *image)
{
	GenieJob   *jobs = palloc_extended(n * sizeof(GenieJob), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	bool		ok;

	for (uint32 i = 0; i < n; i++)
	{
		jobs[i].kind = GENIE_JOB_TOP;
		jobs[i].image = image;
		jobs[i].query = tops[i]->search->query;
		jobs[i].out = tops[i]->hits;
		genie_search_top_job(tops[i], &jobs[i]);
	}
	ok = genie_inprocess_run(jobs, n);
	for (uint32 i = 0; ok && i < n; i++)
		tops[i]->n_hits = jobs[i].n_hits;
	pfree(jobs);
	return ok;
}

/* Questions that the backend answers itself. */
static bool
genie_search_tops_here(GenieSegmentTop **tops, uint32 n)
{
	uint32		end;

	for (uint32 first = 0; first < n; first = end)
	{
		GenieSource *source = tops[first]->search->source;
		const GenieSegmentImage *image = NULL;

		for (end = first; end < n && tops[end]->search->source == source;)
			end++;
		if (end - first >= GENIE_IMAGE_QUERIES && source->n_conditions == 0 && !genie_source_image(source, &image))
			return false;
		if (image != NULL && genie_search_tops_image(tops + first, end - first, image))
			continue;
		for (uint32 i = first; i < end; i++)
			if (!genie_search_top_pages(tops[i]))
				return false;
	}
	return true;
}

/* ---- by the worker ---- */

void
genie_segment_query_request(GenieSource *source, const GenieSegmentQuery *search, GenieJobKind kind,
							GenieRequestJob *request)
{
	GenieCondition *conditions = palloc((source->n_conditions + 1) * sizeof(GenieCondition));

	memset(request, 0, sizeof(*request));
	request->image = source->image;
	request->tombstone_version = source->tombstone_version;
	request->job.kind = kind;
	if (search != NULL)
		request->job.query = search->query;
	request->min_size = source->segment->header.min_size;
	request->max_size = source->segment->header.max_size;
	if (kind == GENIE_JOB_COUNTS)
	{
		request->job.query.keys = NULL;
		return;					/* of all objects, whatever they fulfil */
	}
	request->job.n_conditions = source->n_conditions;
	request->job.conditions = conditions;
	for (int i = 0; i < source->n_conditions; i++)
	{
		conditions[i].query = source->conditions[i]->query;
		conditions[i].min_count = source->min_counts[i];
	}
}

bool
genie_segment_query_tops(GenieSegmentTop *tops, uint32 n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie request", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieRequestJob *requests = palloc_extended(n * sizeof(GenieRequestJob), MCXT_ALLOC_HUGE);
	GenieSegmentTop **of = palloc_extended(n * sizeof(GenieSegmentTop *), MCXT_ALLOC_HUGE);
	GenieSegmentTop **here = palloc_extended(n * sizeof(GenieSegmentTop *), MCXT_ALLOC_HUGE);
	uint32		n_requests = 0;
	uint32		n_here = 0;
	bool		ok;

	for (uint32 i = 0; i < n; i++)
	{
		GenieSource *source = tops[i].search->source;
		GenieRequestJob *request = &requests[n_requests];

		tops[i].n_hits = 0;
		tops[i].has_bounds = false;
		if (source->nothing || (tops[i].search->query.keys == NULL && !genie_segment_query_matches(tops[i].search)))
			continue;
		if (source->why != GENIE_FALLBACK_NONE || tops[i].k > GENIE_JOB_K_MAX)
		{
			if (!source->is_private)
				genie_stat_fallback(source->why);
			here[n_here++] = &tops[i];
			continue;
		}
		genie_segment_query_request(source, tops[i].search, GENIE_JOB_TOP, request);
		genie_search_top_job(&tops[i], &request->job);
		request->result = tops[i].hits;
		if (tops[i].vector != NULL && source->has_vectors)
		{
			request->vector = tops[i].vector;
			request->n_elements = tops[i].n_elements;
			request->vectors = source->vectors;
			request->bounds = tops[i].bounds;
		}
		of[n_requests++] = &tops[i];
	}
	MemoryContextSwitchTo(old);
	if (n_requests > 0)
		genie_request_run(requests, n_requests);
	for (uint32 i = 0; i < n_requests; i++)
	{
		if (requests[i].why == GENIE_FALLBACK_NONE)
		{
			of[i]->hits = requests[i].result;
			of[i]->bounds = requests[i].bounds;
			of[i]->n_hits = requests[i].job.n_hits;
			of[i]->has_bounds = requests[i].has_bounds;
			continue;
		}
		genie_source_fell_back(of[i]->search->source, requests[i].why);
		here[n_here++] = of[i];
	}
	for (uint32 i = 0; i < n_here; i++)
		if (here[i]->hits == NULL)
			here[i]->hits = palloc_extended(here[i]->k * sizeof(GenieHit), MCXT_ALLOC_HUGE);
	MemoryContextSwitchTo(context);
	ok = genie_search_tops_here(here, n_here);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* Asks the worker for all counts.  False: it could not say. */
static bool
genie_search_ask_counts(GenieSegmentQuery *search, uint16 *counts)
{
	bool		narrow = search->query.max_count <= GENIE_COUNT_NARROW;
	uint32		n_tiles = genie_object_tiles(search->source->segment);
	uint8	   *bytes = narrow ? palloc(GENIE_COUNT_TILES * GENIE_TILE_OBJECTS) : NULL;
	bool		ok = true;

	for (uint32 first = 0; ok && first < n_tiles; first += GENIE_COUNT_TILES)
	{
		uint16	   *to = counts + (Size) first * GENIE_TILE_OBJECTS;
		GenieRequestJob request;

		genie_segment_query_request(search->source, search, GENIE_JOB_COUNTS, &request);
		request.job.first_tile = first;
		request.job.n_tiles = Min(n_tiles - first, GENIE_COUNT_TILES);
		request.result = narrow ? (void *) bytes : (void *) to;
		genie_request_run(&request, 1);
		ok = request.why == GENIE_FALLBACK_NONE;
		if (!ok)
			genie_source_fell_back(search->source, request.why);
		else if (narrow)
			for (Size i = 0; i < (Size) request.job.n_tiles * GENIE_TILE_OBJECTS; i++)
				to[i] = bytes[i];
	}
	if (bytes != NULL)
		pfree(bytes);
	return ok;
}

bool
genie_segment_query_counts(GenieSegmentQuery *search, uint16 *counts)
{
	GenieSource *source = search->source;

	if (!genie_segment_query_matches(search))
	{
		memset(counts, 0, (Size) genie_object_tiles(source->segment) * GENIE_TILE_OBJECTS * sizeof(uint16));
		return true;
	}
	if (source->why != GENIE_FALLBACK_NONE)
		genie_stat_fallback(source->why);
	else if (genie_search_ask_counts(search, counts))
		return true;
	return genie_segment_query_read(search) && genie_inprocess_counts(search->inprocess, counts);
}

/*
 * genie_segment_query.c
 *	  Compiling a query against a segment, and having it counted by the worker or by the backend itself.
 *
 * Compiling (genie_compile.h) gives the ranges of ranks that a query asks for.  The worker needs nothing else.
 * The backend reads posting lists only when it must count itself: a query's own lists, or, where many queries
 * ask one segment, all of them, once, as an image of the backend's own (genie_source_image()).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "genie_compile.h"
#include "genie_inprocess.h"
#include "genie_live.h"
#include "genie_object_table.h"
#include "genie_segment_query.h"

#define GENIE_COUNT_TILES 32	/* tiles in one request for counts; 2 or 4 MB */

/*
 * For this many queries on one segment and more, the backend makes an image of it.  That reads and decodes every list
 * once, which is less than the queries would read, unless they are small.
 */
#define GENIE_IMAGE_QUERIES 32

struct GenieSegmentQuery
{
	GenieSource *source;
	GenieEngineQuery compiled;
	const GenieQueryView *view; /* what it was compiled from; NULL: a query of a set */
	const GenieQuerySet *set;	/* or NULL; lists that one of a set reads are not kept */
	uint32		number;			/* in the set */
	GenieInprocess *inprocess;	/* NULL: not needed yet */
};

/* ---- compiling ---- */

GenieSegmentQuery *
genie_segment_query_open(GenieSource *source, const GenieQueryView *view)
{
	GenieSegmentQuery *query = palloc0(sizeof(GenieSegmentQuery));

	query->source = source;
	query->view = view;
	return genie_compile(source->segment, view, &query->compiled) ? query : NULL;
}

bool
genie_segment_query_open_set(GenieSource *source, const GenieQuerySet *set, GenieSegmentQuery **queries)
{
	uint32		n = genie_query_set_size(set);
	GenieSegmentQuery *memory = MemoryContextAllocExtended(CurrentMemoryContext, n * sizeof(GenieSegmentQuery),
														   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	GenieEngineQuery *compiled = MemoryContextAllocHuge(CurrentMemoryContext, n * sizeof(GenieEngineQuery));

	if (!genie_query_set_compile(set, source->segment, compiled))
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		queries[i] = &memory[i];
		queries[i]->source = source;
		queries[i]->set = set;
		queries[i]->number = i;
		queries[i]->compiled = compiled[i];
	}
	pfree(compiled);
	return true;
}

void
genie_segment_query_rank_by(GenieSegmentQuery *query, const GenieKeyTable *keys)
{
	const GenieSegment *segment = query->source->segment;
	const GenieRootHeader *header = &segment->header;

	Assert(keys == NULL || query->compiled.max_count < keys->stride);
	/* the keys are those of the sizes that the metapage says */
	if (keys != NULL && !genie_keys_fit(keys, query->compiled.max_count, header->min_size, header->max_size))
		genie_report_corrupt(segment->index, segment->entry.root, "sizes of objects are not those of the metapage");
	query->compiled.keys = keys;
}

bool
genie_segment_query_matches(const GenieSegmentQuery *query)
{
	return query->compiled.n_ranges > 0;
}

uint32
genie_segment_query_max_count(const GenieSegmentQuery *query)
{
	return query->compiled.max_count;
}

/* ---- in the backend itself ---- */

/* Reads the posting lists, if that was not done yet.  False: stale. */
static bool
read_lists(GenieSegmentQuery *query)
{
	MemoryContext old;

	if (query->inprocess == NULL)
	{
		old = MemoryContextSwitchTo(query->source->context);
		query->inprocess = genie_inprocess_open(query->source->segment, query->view, &query->compiled,
												query->source->memory);
		MemoryContextSwitchTo(old);
	}
	return query->inprocess != NULL;
}

/*
 * The query's posting lists, for one question: those of one of a set are read into the current memory context, with so
 * much memory, and go with it.  NULL: stale.
 */
static GenieInprocess *
lists_of(GenieSegmentQuery *query, Size *memory)
{
	if (query->set == NULL)
		return read_lists(query) ? query->inprocess : NULL;
	return genie_inprocess_open(query->source->segment, genie_query_set_view(query->set, query->number),
								&query->compiled, memory);
}

/* One question, from the pages. */
static bool
top_from_pages(GenieSegmentTop *top)
{
	GenieSegmentQuery *query = top->query;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie best", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		memory = *query->source->memory;
	GenieInprocess *inprocess = NULL;
	GenieHit   *hits = palloc_extended(genie_topk_capacity(top->k) * sizeof(GenieHit), MCXT_ALLOC_HUGE);
	const uint64 *qualified;
	bool		ok = genie_source_qualified(query->source, &qualified);
	uint64		since = genie_instrument_now();

	if (ok)
		inprocess = lists_of(query, &memory);
	ok = inprocess != NULL &&
		genie_inprocess_top(inprocess, qualified, top->k, Max(top->min_key, 1), top->has_after ? &top->after : NULL,
							hits, &top->n_hits);
	genie_instrument_counted(query->source->instrument, since);
	if (ok)
		memcpy(top->hits, hits, top->n_hits * sizeof(GenieHit));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* Questions to one source by values, from the pages. */
static bool
scan_pages(GenieSegmentTop **tops, uint32 n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie nearest", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieSource *source = tops[0]->source;
	uint64		since = genie_instrument_now();
	const GenieValueQuery **queries = palloc(n * sizeof(GenieValueQuery *));
	GenieTopK  *best = palloc_extended(n * sizeof(GenieTopK), MCXT_ALLOC_HUGE);
	GenieTopK **bests = palloc_extended(n * sizeof(GenieTopK *), MCXT_ALLOC_HUGE);
	const uint64 *qualified;
	bool		ok = genie_source_qualified(source, &qualified);

	for (uint32 i = 0; i < n; i++)
	{
		GenieHit   *hits = palloc_extended(genie_topk_capacity(tops[i]->k) * sizeof(GenieHit), MCXT_ALLOC_HUGE);

		queries[i] = tops[i]->values;
		genie_topk_init(&best[i], hits, tops[i]->k, Max(tops[i]->min_key, 1),
						tops[i]->has_after ? &tops[i]->after : NULL);
		bests[i] = &best[i];
	}
	ok = ok && genie_inprocess_scan(source->segment, qualified, n, queries, bests);
	genie_instrument_counted(source->instrument, since);
	for (uint32 i = 0; ok && i < n; i++)
	{
		tops[i]->n_hits = genie_topk_finish(&best[i]);
		memcpy(tops[i]->hits, best[i].hits, tops[i]->n_hits * sizeof(GenieHit));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

static void
set_top_job(const GenieSegmentTop *top, GenieJob *job)
{
	job->n_tiles = genie_object_table_tiles(top->source->segment);
	job->k = top->k;
	job->min_key = Max(top->min_key, 1);
	job->has_after = top->has_after;
	job->after = top->after;
}

/* Questions to one source, on its own image.  False: there is none, or it could not be counted. */
static bool
tops_from_image(GenieSegmentTop **tops, uint32 n, const GenieSegmentImage *image)
{
	GenieJob   *jobs = palloc_extended(n * sizeof(GenieJob), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	uint64		since = genie_instrument_now();
	bool		ok;

	for (uint32 i = 0; i < n; i++)
	{
		jobs[i].kind = GENIE_JOB_TOP;
		jobs[i].image = image;
		jobs[i].query = tops[i]->query->compiled;
		jobs[i].out = tops[i]->hits;
		set_top_job(tops[i], &jobs[i]);
	}
	ok = genie_inprocess_run(jobs, n);
	genie_instrument_counted(tops[0]->source->instrument, since);
	for (uint32 i = 0; ok && i < n; i++)
		tops[i]->n_hits = jobs[i].n_hits;
	pfree(jobs);
	return ok;
}

/* All objects of a segment. */
static void
set_all(const GenieSegment *segment, uint64 *bits)
{
	uint32		n_objects = segment->header.n_objects;

	memset(bits, 0, genie_live_words(segment) * sizeof(uint64));
	memset(bits, 0xFF, n_objects / 64 * sizeof(uint64));
	if (n_objects % 64 > 0)
		bits[n_objects / 64] = (UINT64CONST(1) << (n_objects % 64)) - 1;
}

/* One question, from the pages. */
static bool
tally_from_pages(GenieSegmentTally *tally)
{
	GenieSegmentQuery *query = tally->query;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie tally", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		n_bytes = genie_live_words(query->source->segment) * sizeof(uint64);
	Size		memory = *query->source->memory;
	uint64	   *matching = tally->mask != NULL ? tally->mask : palloc_extended(n_bytes, MCXT_ALLOC_HUGE);
	uint64		since = genie_instrument_now();
	GenieInprocess *inprocess;
	const uint64 *live = tally->live;
	bool		ok = live != NULL || genie_source_qualified(query->source, &live);

	if (ok && live != NULL)
		memcpy(matching, live, n_bytes);
	else if (ok)
		set_all(query->source->segment, matching);
	inprocess = ok ? lists_of(query, &memory) : NULL;
	ok = inprocess != NULL && genie_inprocess_filter(inprocess, tally->min_count, matching);
	genie_instrument_counted(query->source->instrument, since);
	if (ok && tally->mask == NULL)
		tally->n = (uint32) pg_popcount((const char *) matching, (int) n_bytes);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* Begins a question's job: all but its image.  condition stays. */
static void
set_tally_job(const GenieSegmentTally *tally, GenieCondition *condition, GenieJob *job)
{
	job->n_tiles = genie_object_table_tiles(tally->query->source->segment);
	if (tally->mask == NULL)
	{
		job->kind = GENIE_JOB_TALLY;
		job->live = tally->live;
		job->query = tally->query->compiled;
		job->min_key = tally->min_count;
		return;
	}
	*condition = (GenieCondition) {tally->query->compiled, tally->min_count};
	job->kind = GENIE_JOB_MASK;
	job->n_conditions = 1;
	job->conditions = condition;
}

/* Questions to one source, on its own image.  False: it could not be counted. */
static bool
tallies_from_image(GenieSegmentTally *tallies, uint32 n, const GenieSegmentImage *image)
{
	GenieJob   *jobs = palloc_extended(n * sizeof(GenieJob), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	GenieCondition *conditions = palloc_extended(n * sizeof(GenieCondition), MCXT_ALLOC_HUGE);
	uint64		since = genie_instrument_now();
	bool		ok;

	for (uint32 i = 0; i < n; i++)
	{
		set_tally_job(&tallies[i], &conditions[i], &jobs[i]);
		jobs[i].image = image;
		jobs[i].out = tallies[i].mask;
	}
	ok = genie_inprocess_run(jobs, n);
	genie_instrument_counted(tallies[0].query->source->instrument, since);
	for (uint32 i = 0; ok && i < n; i++)
		tallies[i].n = jobs[i].n_hits;
	pfree(conditions);
	pfree(jobs);
	return ok;
}

/* Questions of one source that the backend answers itself. */
static bool
tallies_in_backend(GenieSegmentTally *tallies, uint32 n)
{
	const GenieSegmentImage *image = NULL;

	if (n >= GENIE_IMAGE_QUERIES && !genie_source_image(tallies[0].query->source, &image))
		return false;
	if (image != NULL && tallies_from_image(tallies, n, image))
		return true;
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!tally_from_pages(&tallies[i]))
			return false;
	}
	return true;
}

/* Questions that the backend answers itself. */
static bool
tops_in_backend(GenieSegmentTop **tops, uint32 n)
{
	uint32		end;

	for (uint32 first = 0; first < n; first = end)
	{
		GenieSource *source = tops[first]->source;
		const GenieSegmentImage *image = NULL;

		for (end = first; end < n && tops[end]->source == source && tops[end]->query == NULL;)
			end++;
		if (end > first)
		{
			if (!scan_pages(tops + first, end - first))
				return false;
			continue;
		}
		while (end < n && tops[end]->source == source && tops[end]->query != NULL)
			end++;
		if (end - first >= GENIE_IMAGE_QUERIES && source->n_conditions == 0 && source->n_unions == 0 &&
			!genie_source_image(source, &image))
			return false;
		if (image != NULL && tops_from_image(tops + first, end - first, image))
			continue;
		for (uint32 i = first; i < end; i++)
			if (!top_from_pages(tops[i]))
				return false;
	}
	return true;
}

/* ---- by the worker ---- */

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

	if (n > 0)
		genie_instrument_round(tops[0].source->instrument);
	for (uint32 i = 0; i < n; i++)
	{
		GenieSource *source = tops[i].source;
		GenieRequestJob *request = &requests[n_requests];
		bool		by_values = tops[i].query == NULL;
		const uint64 *qualified;
		GenieFallback why = by_values ? source->values_why : source->why;

		tops[i].n_hits = 0;
		tops[i].has_bounds = false;
		if (source->nothing ||
			(!by_values && tops[i].query->compiled.keys == NULL && !genie_segment_query_matches(tops[i].query)))
			continue;
		if (why != GENIE_FALLBACK_NONE || tops[i].k > GENIE_JOB_K_MAX)
		{
			genie_source_by_backend(source, why);
			here[n_here++] = &tops[i];
			continue;
		}
		if (source->n_unions > 0 && !genie_source_qualified(source, &qualified))
		{
			MemoryContextSwitchTo(old);
			MemoryContextDelete(context);
			return false;
		}
		genie_source_request(source, by_values ? GENIE_JOB_SCAN : GENIE_JOB_TOP, request);
		set_top_job(&tops[i], &request->job);
		request->result = tops[i].hits;
		if (by_values)
		{
			request->job.scan = tops[i].values;
			request->job.scan_bytes = genie_value_query_bytes(tops[i].values->metric, tops[i].values->n_dimensions);
			request->vectors = source->vectors;
			if (tops[i].graph_queue > 0 && source->graph_why == GENIE_FALLBACK_NONE)
			{
				request->graph = source->graph;
				request->job.graph_queue = tops[i].graph_queue;
			}
			of[n_requests++] = &tops[i];
			continue;
		}
		request->job.query = tops[i].query->compiled;
		if (tops[i].vector != NULL && source->values_why == GENIE_FALLBACK_NONE)
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
		genie_source_run(of[0]->source, requests, n_requests);
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
		genie_source_fell_back(of[i]->source, requests[i].why);
		here[n_here++] = of[i];
	}
	for (uint32 i = 0; i < n_here; i++)
		if (here[i]->hits == NULL)
			here[i]->hits = palloc_extended(here[i]->k * sizeof(GenieHit), MCXT_ALLOC_HUGE);
	MemoryContextSwitchTo(context);
	ok = tops_in_backend(here, n_here);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* Asks the worker questions of one source.  False: it did not answer all of them. */
static bool
ask_tallies(GenieSegmentTally *tallies, uint32 n)
{
	GenieSource *source = tallies[0].query->source;
	GenieRequestJob *requests = palloc_extended(n * sizeof(GenieRequestJob), MCXT_ALLOC_HUGE);
	GenieCondition *conditions = palloc_extended(n * sizeof(GenieCondition), MCXT_ALLOC_HUGE);
	bool		ok = true;

	for (uint32 i = 0; i < n; i++)
	{
		genie_source_request(source, GENIE_JOB_TALLY, &requests[i]);
		set_tally_job(&tallies[i], &conditions[i], &requests[i].job);
		requests[i].result = tallies[i].mask != NULL ? (void *) tallies[i].mask : (void *) &tallies[i].n;
	}
	genie_source_run(source, requests, n);
	for (uint32 i = 0; ok && i < n; i++)
	{
		tallies[i].n = requests[i].job.n_hits;
		ok = requests[i].why == GENIE_FALLBACK_NONE;
		if (!ok)
			genie_source_fell_back(source, requests[i].why);
	}
	pfree(conditions);
	pfree(requests);
	return ok;
}

bool
genie_segment_query_tallies(GenieSegmentTally *tallies, uint32 n)
{
	uint32		end;

	for (uint32 first = 0; first < n; first = end)
	{
		GenieSource *source = tallies[first].query->source;

		Assert(source->n_conditions == 0 && source->n_unions == 0);
		for (end = first; end < n && tallies[end].query->source == source;)
			end++;
		genie_instrument_round(source->instrument);
		if (source->why != GENIE_FALLBACK_NONE)
			genie_source_by_backend(source, source->why);
		else if (ask_tallies(tallies + first, end - first))
			continue;
		if (!tallies_in_backend(tallies + first, end - first))
			return false;
	}
	return true;
}

/* Asks the worker for all counts.  False: it did not answer. */
static bool
ask_counts(GenieSegmentQuery *query, uint16 *counts)
{
	bool		narrow = query->compiled.max_count <= GENIE_COUNT_NARROW;
	uint32		n_tiles = genie_object_table_tiles(query->source->segment);
	uint8	   *bytes = narrow ? palloc(GENIE_COUNT_TILES * GENIE_TILE_OBJECTS) : NULL;
	bool		ok = true;

	for (uint32 first = 0; ok && first < n_tiles; first += GENIE_COUNT_TILES)
	{
		uint16	   *to = counts + (Size) first * GENIE_TILE_OBJECTS;
		GenieRequestJob request;

		genie_source_request(query->source, GENIE_JOB_COUNTS, &request);
		request.job.query = query->compiled;
		request.job.query.keys = NULL;
		request.job.first_tile = first;
		request.job.n_tiles = Min(n_tiles - first, GENIE_COUNT_TILES);
		request.result = narrow ? (void *) bytes : (void *) to;
		genie_source_run(query->source, &request, 1);
		ok = request.why == GENIE_FALLBACK_NONE;
		if (!ok)
			genie_source_fell_back(query->source, request.why);
		else if (narrow)
			for (Size i = 0; i < (Size) request.job.n_tiles * GENIE_TILE_OBJECTS; i++)
				to[i] = bytes[i];
	}
	if (bytes != NULL)
		pfree(bytes);
	return ok;
}

bool
genie_segment_query_counts(GenieSegmentQuery *query, uint16 *counts)
{
	GenieSource *source = query->source;
	uint64		since;
	bool		ok;

	if (!genie_segment_query_matches(query))
	{
		memset(counts, 0, (Size) genie_object_table_tiles(source->segment) * GENIE_TILE_OBJECTS * sizeof(uint16));
		return true;
	}
	if (source->why != GENIE_FALLBACK_NONE)
		genie_source_by_backend(source, source->why);
	else if (ask_counts(query, counts))
		return true;
	since = genie_instrument_now();
	ok = read_lists(query) && genie_inprocess_counts(query->inprocess, counts);
	genie_instrument_counted(source->instrument, since);
	return ok;
}

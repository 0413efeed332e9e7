/*
 * genie_search.c
 *	  Compiling a query against a segment, and asking the worker or the backend itself.
 *
 * Compiling looks the query's intervals up in the dictionary: each gives a run of ranks, of one for a point.  That
 * is all that the worker needs.  Posting lists are read, in the backend, only when it must count itself.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_dictionary.h"
#include "genie_inprocess.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_search.h"

#define GENIE_COUNT_TILES 32	/* whose counts are asked for at a time; 2 or 4 MB */

struct GenieSearch
{
	GenieSource *source;
	const GenieQueryView *view;
	GenieRankRange *ranges;
	GenieEngineQuery query;
	GenieInprocess *inprocess;	/* NULL: not needed yet */
};

/* ---- compiling ---- */

/* The run of ranks of one interval.  False: stale. */
static bool
genie_search_find_interval(GenieDictionaryCursor *cursor, const GenieInterval *interval, GenieRankRange *range)
{
	uint32		n_keywords = cursor->reader.segment->header.n_keywords;

	range->first = range->end = 0;
	if (!genie_dictionary_seek(cursor, interval->lo, interval->lo_after))
		return false;
	if (!cursor->valid || genie_cut_cmp(cursor->key, false, interval->hi, interval->hi_after) >= 0)
		return true;
	range->first = cursor->rank;

	/* most intervals are points: the next keyword is behind them */
	if (!genie_dictionary_next(cursor))
		return false;
	if (cursor->valid && genie_cut_cmp(cursor->key, false, interval->hi, interval->hi_after) < 0 &&
		!genie_dictionary_seek(cursor, interval->hi, interval->hi_after))
		return false;
	range->end = cursor->valid ? cursor->rank : n_keywords;

	/* who counts uses ranks as they are */
	if (range->first >= range->end || range->end > n_keywords)
		genie_report_corrupt(cursor->reader.segment->index, cursor->reader.segment->entry.root,
							 "keywords are not numbered in sequence");
	return true;
}

GenieSearch *
genie_search_open(GenieSource *source, const GenieQueryView *query)
{
	GenieSearch *search = palloc0(sizeof(GenieSearch));
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	uint64		n_lists = 0;
	uint32		n = 0;

	search->source = source;
	search->view = query;
	search->ranges = MemoryContextAllocHuge(CurrentMemoryContext,
											((Size) query->n_intervals + 1) * sizeof(GenieRankRange));
	genie_dictionary_cursor(cursor, source->segment);
	for (uint32 i = 0; i < query->n_intervals; i++)
	{
		GenieRankRange range;

		CHECK_FOR_INTERRUPTS();
		if (!genie_search_find_interval(cursor, &query->intervals[i], &range))
			return NULL;
		n_lists += range.end - range.first;
		if (range.end == range.first)
			continue;
		if (n > 0 && search->ranges[n - 1].end == range.first)
			search->ranges[n - 1].end = range.end;
		else
			search->ranges[n++] = range;
	}
	pfree(cursor);
	search->query.n_ranges = n;
	search->query.ranges = search->ranges;
	search->query.max_count = (uint32) Max(Min(n_lists, source->segment->header.max_keywords), 1);
	return search;
}

bool
genie_search_matches(const GenieSearch *search)
{
	return search->query.n_ranges > 0;
}

uint32
genie_search_max_count(const GenieSearch *search)
{
	return search->query.max_count;
}

/* ---- in the backend itself ---- */

/* Reads the posting lists, if that was not done yet.  False: stale. */
static bool
genie_search_read(GenieSearch *search)
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
genie_search_filter(GenieSearch *search, uint32 min_count, uint64 *live)
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

static bool
genie_search_top_here(GenieSearchTop *top)
{
	const uint64 *qualified;

	return genie_source_qualified(top->search->source, &qualified) &&
		genie_search_read(top->search) &&
		genie_inprocess_top(top->search->inprocess, qualified, top->k, 1, top->has_after ? &top->after : NULL,
							top->hits, &top->n_hits);
}

/* ---- by the worker ---- */

void
genie_search_request(GenieSource *source, const GenieSearch *search, GenieJobKind kind, GenieRequestJob *request)
{
	GenieCondition *conditions = palloc((source->n_conditions + 1) * sizeof(GenieCondition));

	memset(request, 0, sizeof(*request));
	request->image = source->image;
	request->tombstone_version = source->tombstone_version;
	request->job.kind = kind;
	if (search != NULL)
		request->job.query = search->query;
	if (kind == GENIE_JOB_COUNTS)
		return;					/* of all objects, whatever they fulfil */
	request->job.n_conditions = source->n_conditions;
	request->job.conditions = conditions;
	for (int i = 0; i < source->n_conditions; i++)
	{
		conditions[i].query = source->conditions[i]->query;
		conditions[i].min_count = source->min_counts[i];
	}
}

bool
genie_search_tops(GenieSearchTop *tops, uint32 n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie request", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieRequestJob *requests = palloc(n * sizeof(GenieRequestJob));
	GenieSearchTop **of = palloc(n * sizeof(GenieSearchTop *));
	uint32		n_requests = 0;
	bool	   *done = palloc0(n * sizeof(bool));
	bool		ok = true;

	for (uint32 i = 0; i < n; i++)
	{
		GenieSource *source = tops[i].search->source;
		GenieRequestJob *request = &requests[n_requests];

		tops[i].n_hits = 0;
		done[i] = source->nothing || !genie_search_matches(tops[i].search);
		if (done[i])
			continue;
		if (source->why != GENIE_FALLBACK_NONE || tops[i].k > GENIE_JOB_K_MAX)
		{
			genie_stat_fallback(source->why);
			continue;
		}
		genie_search_request(source, tops[i].search, GENIE_JOB_TOP, request);
		request->job.k = tops[i].k;
		request->job.min_key = 1;
		request->job.has_after = tops[i].has_after;
		request->job.after = tops[i].after;
		request->result = tops[i].hits;
		of[n_requests++] = &tops[i];
	}
	if (n_requests > 0)
		genie_request_run(requests, n_requests);
	for (uint32 i = 0; i < n_requests; i++)
	{
		if (requests[i].done)
		{
			of[i]->n_hits = requests[i].job.n_hits;
			done[of[i] - tops] = true;
		}
		else
			genie_source_fell_back(of[i]->search->source, requests[i].why);
	}
	MemoryContextSwitchTo(old);
	for (uint32 i = 0; ok && i < n; i++)
		ok = done[i] || genie_search_top_here(&tops[i]);
	MemoryContextDelete(context);
	return ok;
}

/* Asks the worker for all counts.  False: it could not say. */
static bool
genie_search_ask_counts(GenieSearch *search, uint16 *counts)
{
	bool		narrow = search->query.max_count <= GENIE_COUNT_NARROW;
	uint32		n_tiles = genie_object_tiles(search->source->segment);
	uint8	   *bytes = narrow ? palloc(GENIE_COUNT_TILES * GENIE_TILE_OBJECTS) : NULL;
	bool		ok = true;

	for (uint32 first = 0; ok && first < n_tiles; first += GENIE_COUNT_TILES)
	{
		uint16	   *to = counts + (Size) first * GENIE_TILE_OBJECTS;
		GenieRequestJob request;

		genie_search_request(search->source, search, GENIE_JOB_COUNTS, &request);
		request.job.first_tile = first;
		request.job.n_tiles = Min(n_tiles - first, GENIE_COUNT_TILES);
		request.result = narrow ? (void *) bytes : (void *) to;
		genie_request_run(&request, 1);
		ok = request.done;
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
genie_search_counts(GenieSearch *search, uint16 *counts)
{
	GenieSource *source = search->source;

	if (!genie_search_matches(search))
	{
		memset(counts, 0, (Size) genie_object_tiles(source->segment) * GENIE_TILE_OBJECTS * sizeof(uint16));
		return true;
	}
	if (source->why != GENIE_FALLBACK_NONE)
		genie_stat_fallback(source->why);
	else if (genie_search_ask_counts(search, counts))
		return true;
	return genie_search_read(search) && genie_inprocess_counts(search->inprocess, counts);
}

/*
 * genie_source.c
 *	  A segment as a scan sees it (genie_source.h).
 *
 * Bits of qualifying objects come from the worker where there is an image (a job of kind MASK for some tiles at
 * a time), else from the pages: tombstones, the NULL flags of the object table, and each condition counted in turn.
 *
 * A union is a MASK of its own.  Jobs of kind TOP do not know unions: they get the bits that qualify.
 */
#include "postgres.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_compile.h"
#include "genie_hint.h"
#include "genie_image_cache.h"
#include "genie_image_load.h"
#include "genie_inprocess.h"
#include "genie_live.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_request.h"
#include "genie_source.h"

#define GENIE_MASK_TILES 128	/* in one request; 1 MB of bits */

/* An image of a backend's own may be so large, or as large as a hash table (work_mem * hash_mem_multiplier). */
#define GENIE_OWN_IMAGE_BYTES ((Size) 64 << 20)

GenieSource *
genie_source_of_pages(GenieSegment *segment, Size *memory)
{
	GenieSource *source = palloc0(sizeof(GenieSource));

	source->context = CurrentMemoryContext;
	source->segment = segment;
	source->memory = memory;
	source->why = source->values_why = source->graph_why = GENIE_FALLBACK_OFF;
	return source;
}

GenieSource *
genie_source_open(Relation index, const GenieMetaData *meta, GenieSegment *segment, Size *memory,
				  uint32 n_queries, const GenieInstrument *instrument)
{
	GenieSource *source = genie_source_of_pages(segment, memory);

	source->instrument = instrument;
	source->tombstone_version = meta->tombstone_version;
	source->n_queries = n_queries;
	if (genie_hints_allowed())
		source->hint_version = genie_hint_version(segment);
	return genie_source_find_image(source, index, meta) ? source : NULL;
}

bool
genie_source_open_all(Relation index, const GenieMetaData *meta, Size *memory, uint32 n_queries,
					  const GenieInstrument *instrument, GenieSource **sources)
{
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSegment *segment = genie_segment_open(index, &meta->segments[i]);

		sources[i] = segment == NULL ? NULL : genie_source_open(index, meta, segment, memory, n_queries, instrument);
		if (sources[i] == NULL)
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

bool
genie_source_find_image(GenieSource *source, Relation index, const GenieMetaData *meta)
{
	source->why = genie_request_possible();
	if (source->why == GENIE_FALLBACK_NONE)
	{
		uint64		since = genie_instrument_now();

		source->why = genie_image_cache_get(index, meta, source->segment, source->hint_version, source->n_queries,
											&source->image);
		genie_instrument_waited(source->instrument, since, 0);
	}
	if (source->why == GENIE_FALLBACK_LOAD_FAILED)
		source->segment->verify = true;
	return !source->segment->stale;
}

bool
genie_source_find_values(GenieSource *source, Relation index, const GenieMetaData *meta)
{
	source->values_why = source->why;
	if (source->why == GENIE_FALLBACK_NONE)
	{
		uint64		since = genie_instrument_now();

		source->values_why = genie_image_cache_values(index, meta, source->segment, source->n_queries,
													  &source->vectors);
		genie_instrument_waited(source->instrument, since, 0);
	}
	return !source->segment->stale;
}

void
genie_source_find_graph(GenieSource *source, Relation index, const GenieMetaData *meta)
{
	source->graph_why = source->values_why;
	if (source->values_why == GENIE_FALLBACK_NONE)
		source->graph_why = genie_image_cache_graph(index, meta, source->segment, &source->graph,
													&source->graph_head);
}

void
genie_source_run(const GenieSource *source, GenieRequestJob *requests, uint32 n)
{
	uint64		since = genie_instrument_now();
	uint64		counted = genie_request_run(requests, n);

	genie_instrument_waited(source->instrument, since, counted);
	for (uint32 i = 0; i < n; i++)
		if (requests[i].why == GENIE_FALLBACK_NONE)
			genie_instrument_by_worker(source->instrument, requests[i].gpu_why, requests[i].job.by_graph);
}

void
genie_source_by_backend(const GenieSource *source, GenieFallback why)
{
	if (source->is_private)
		return;
	genie_stat_fallback(why);
	genie_instrument_by_backend(source->instrument, why);
}

void
genie_source_fell_back(GenieSource *source, GenieFallback why)
{
	genie_source_by_backend(source, why);
	if (why == GENIE_FALLBACK_GONE || why == GENIE_FALLBACK_NO_WORKER)
		source->why = source->values_why = why; /* not asked again for this scan */
}

bool
genie_source_image(GenieSource *source, const GenieSegmentImage **image)
{
	if (!source->has_tried_own)
	{
		Size		limit = Max(get_hash_memory_limit(), GENIE_OWN_IMAGE_BYTES);
		MemoryContext old = MemoryContextSwitchTo(source->context);

		source->own = genie_image_load_own(source->segment, source->segment->entry.n_dead, source->hint_version > 0,
										   limit);
		source->has_tried_own = true;
		MemoryContextSwitchTo(old);
	}
	*image = source->own;
	return !source->segment->stale;
}

bool
genie_source_add_condition(GenieSource *source, const GenieQueryView *query)
{
	MemoryContext old;
	GenieCondition *condition;
	bool		ok;

	Assert(!source->has_qualified);
	if (query->min_match == 0)
		return true;			/* every object that is not NULL */
	old = MemoryContextSwitchTo(source->context);
	if (source->conditions == NULL)
	{
		source->conditions = palloc(sizeof(GenieCondition));
		source->condition_views = palloc(sizeof(GenieQueryView *));
	}
	else
	{
		source->conditions = repalloc(source->conditions, (source->n_conditions + 1) * sizeof(GenieCondition));
		source->condition_views = repalloc(source->condition_views,
										   (source->n_conditions + 1) * sizeof(GenieQueryView *));
	}
	condition = &source->conditions[source->n_conditions];
	ok = genie_compile(source->segment, query, &condition->query);
	MemoryContextSwitchTo(old);
	if (!ok)
		return false;
	condition->min_count = query->min_match;
	if (condition->query.n_ranges == 0 || condition->min_count > condition->query.max_count)
		source->nothing = true;
	source->condition_views[source->n_conditions++] = query;
	return true;
}

bool
genie_source_add_union(GenieSource *source, const GenieQueryView **queries, uint32 n)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);
	GenieSourceUnion *added;

	Assert(!source->has_qualified);
	if (source->unions == NULL)
		source->unions = palloc(sizeof(GenieSourceUnion));
	else
		source->unions = repalloc(source->unions, (source->n_unions + 1) * sizeof(GenieSourceUnion));
	added = &source->unions[source->n_unions];
	added->n = 0;
	added->conditions = palloc_extended(n * sizeof(GenieCondition), MCXT_ALLOC_HUGE);
	added->views = palloc_extended(n * sizeof(GenieQueryView *), MCXT_ALLOC_HUGE);
	MemoryContextSwitchTo(old);
	for (uint32 i = 0; i < n; i++)
	{
		GenieCondition *condition = &added->conditions[added->n];
		bool		ok;

		CHECK_FOR_INTERRUPTS();
		if (queries[i]->min_match == 0)
			return true;		/* every object that is not NULL: nothing is added */
		old = MemoryContextSwitchTo(source->context);
		ok = genie_compile(source->segment, queries[i], &condition->query);
		MemoryContextSwitchTo(old);
		if (!ok)
			return false;
		condition->min_count = queries[i]->min_match;
		if (condition->query.n_ranges > 0 && condition->min_count <= condition->query.max_count)
			added->views[added->n++] = queries[i];
	}
	source->nothing |= added->n == 0;
	source->n_unions++;
	return true;
}

void
genie_source_request(const GenieSource *source, GenieJobKind kind, GenieRequestJob *request)
{
	memset(request, 0, sizeof(*request));
	request->image = source->image;
	request->tombstone_version = source->tombstone_version;
	request->min_size = source->segment->header.min_size;
	request->max_size = source->segment->header.max_size;
	request->job.kind = kind;
	if (kind == GENIE_JOB_COUNTS || kind == GENIE_JOB_MASK)
		return;					/* of all objects, whatever they fulfil, or by conditions of the caller */
	if (source->n_unions > 0)
	{
		Assert(source->has_qualified);
		request->job.live = source->qualified;
		return;
	}
	request->job.n_conditions = source->n_conditions;
	request->job.conditions = source->conditions;
}

static uint64 *
genie_source_words(const GenieSource *source)
{
	return MemoryContextAllocHuge(source->context, genie_live_words(source->segment) * sizeof(uint64));
}

/* Reads both bitmaps from the pages.  False: stale. */
static bool
genie_source_read(GenieSource *source, uint64 **live, uint64 **nulls)
{
	*live = genie_source_words(source);
	*nulls = genie_source_words(source);
	return genie_live_read(source->segment, source->segment->entry.n_dead, source->hint_version > 0, *live, *nulls);
}

bool
genie_source_live(GenieSource *source, uint64 **words)
{
	Size		n_words = genie_live_words(source->segment);
	uint64	   *nulls;

	*words = NULL;
	if (source->segment->entry.n_dead == 0 && source->hint_version == 0)
		return true;
	if (!genie_source_read(source, words, &nulls))
		return false;
	for (Size i = 0; i < n_words; i++)
		(*words)[i] |= nulls[i];
	pfree(nulls);
	return true;
}

bool
genie_source_nulls(GenieSource *source, uint64 **words)
{
	uint64	   *live;

	*words = NULL;
	if (source->segment->header.n_nulls == 0)
		return true;
	if (!genie_source_read(source, &live, words))
		return false;
	pfree(live);
	return true;
}

/* Asks the worker which objects fulfil n conditions, or any of them.  False: it did not answer. */
static bool
genie_source_ask(GenieSource *source, const GenieCondition *conditions, uint32 n, bool any, uint64 *words)
{
	uint32		n_tiles = genie_object_table_tiles(source->segment);

	for (uint32 first = 0; first < n_tiles; first += GENIE_MASK_TILES)
	{
		GenieRequestJob request;

		genie_source_request(source, GENIE_JOB_MASK, &request);
		request.job.n_conditions = n;
		request.job.conditions = conditions;
		request.job.any = any;
		request.job.first_tile = first;
		request.job.n_tiles = Min(n_tiles - first, GENIE_MASK_TILES);
		request.result = words + (Size) first * GENIE_TILE_WORDS;
		genie_source_run(source, &request, 1);
		if (request.why != GENIE_FALLBACK_NONE)
		{
			genie_source_fell_back(source, request.why);
			return false;
		}
	}
	return true;
}

/* Clears in live the objects that do not fulfil a condition.  Its lists are needed once: they go at once. */
static bool
genie_source_filter(GenieSource *source, const GenieCondition *condition, const GenieQueryView *view, uint64 *live)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie condition",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		memory = *source->memory;
	GenieInprocess *inprocess = genie_inprocess_open(source->segment, view, &condition->query, &memory);
	bool		ok = inprocess != NULL && genie_inprocess_filter(inprocess, condition->min_count, live);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* The same from the pages.  False: stale. */
static bool
genie_source_compute(GenieSource *source, uint64 **words)
{
	uint64		since = genie_instrument_now();
	uint64	   *nulls;
	bool		ok = genie_source_read(source, words, &nulls);

	for (uint32 i = 0; ok && i < source->n_conditions; i++)
		ok = genie_source_filter(source, &source->conditions[i], source->condition_views[i], *words);
	if (ok)
		pfree(nulls);
	genie_instrument_counted(source->instrument, since);
	return ok;
}

/* Gives any the objects of live that fulfil one of a union's conditions, from the pages.  False: stale. */
static bool
genie_source_compute_union(GenieSource *source, const GenieSourceUnion *conditions, const uint64 *live, uint64 *any)
{
	Size		n_words = genie_live_words(source->segment);
	uint64	   *one = genie_source_words(source);
	uint64		since = genie_instrument_now();
	bool		ok = true;

	memset(any, 0, n_words * sizeof(uint64));
	for (uint32 i = 0; ok && i < conditions->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		memcpy(one, live, n_words * sizeof(uint64));
		ok = genie_source_filter(source, &conditions->conditions[i], conditions->views[i], one);
		for (Size w = 0; ok && w < n_words; w++)
			any[w] |= one[w];
	}
	pfree(one);
	genie_instrument_counted(source->instrument, since);
	return ok;
}

/* Clears in live the objects that fulfil none of a union's conditions.  False: stale. */
static bool
genie_source_apply_union(GenieSource *source, const GenieSourceUnion *conditions, uint64 *live)
{
	uint64	   *any = genie_source_words(source);

	if ((source->why != GENIE_FALLBACK_NONE ||
		 !genie_source_ask(source, conditions->conditions, conditions->n, true, any)) &&
		!genie_source_compute_union(source, conditions, live, any))
		return false;
	for (Size w = 0; w < genie_live_words(source->segment); w++)
		live[w] &= any[w];
	pfree(any);
	return true;
}

bool
genie_source_qualified(GenieSource *source, const uint64 **words)
{
	const GenieSegment *segment = source->segment;

	if (!source->has_qualified)
	{
		bool		all = source->n_conditions == 0 && source->n_unions == 0 && segment->entry.n_dead == 0 &&
			source->hint_version == 0 && segment->header.n_nulls == 0;

		if (source->nothing)
		{
			source->qualified = genie_source_words(source);
			memset(source->qualified, 0, genie_live_words(segment) * sizeof(uint64));
		}
		else if (!all)
		{
			uint64	   *asked = source->why == GENIE_FALLBACK_NONE ? genie_source_words(source) : NULL;

			if (asked == NULL && source->n_conditions + source->n_unions > 0)
				genie_source_by_backend(source, source->why);
			if (asked != NULL &&
				genie_source_ask(source, source->conditions, source->n_conditions, false, asked))
				source->qualified = asked;
			else if (!genie_source_compute(source, &source->qualified))
				return false;
			for (uint32 i = 0; i < source->n_unions; i++)
				if (!genie_source_apply_union(source, &source->unions[i], source->qualified))
					return false;
		}
		source->has_qualified = true;
	}
	*words = source->qualified;
	return true;
}

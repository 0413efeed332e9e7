/*
 * genie_source.c
 *	  A segment as a scan sees it (genie_source.h).
 *
 * Bits of qualifying objects come from the worker where there is an image (a job of kind MASK for some tiles at
 * a time), else from the pages: tombstones, the NULL flags of the object table, and each condition counted in turn.
 */
#include "postgres.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_live.h"
#include "genie_load.h"
#include "genie_loader.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_request.h"
#include "genie_segment_query.h"
#include "genie_source.h"
#include "genie_worker.h"

#define GENIE_MASK_TILES 128	/* in one request; 1 MB of bits */

/* An image of a backend's own may be so large, or as large as a hash table (work_mem * hash_mem_multiplier). */
#define GENIE_OWN_IMAGE_BYTES ((Size) 64 << 20)

static GenieFallback
genie_source_why(GenieLoaderMiss miss)
{
	switch (miss)
	{
		case GENIE_MISS_NONE:
			return GENIE_FALLBACK_NONE;
		case GENIE_MISS_NO_ARENA:
		case GENIE_MISS_NO_ROOM:
			return GENIE_FALLBACK_NO_ROOM;
		case GENIE_MISS_NOT_PRELOADED:
			return GENIE_FALLBACK_NO_WORKER;
		case GENIE_MISS_TEMPORARY:
		case GENIE_MISS_LOADING:
		case GENIE_MISS_NO_TIME:
		case GENIE_MISS_FAILED:
		case GENIE_MISS_REPLACED:
		case GENIE_MISS_STALE:
			break;
	}
	return GENIE_FALLBACK_NO_IMAGE;
}

GenieSource *
genie_source_of_pages(GenieSegment *segment, Size *memory)
{
	GenieSource *source = palloc0(sizeof(GenieSource));

	source->context = CurrentMemoryContext;
	source->segment = segment;
	source->memory = memory;
	source->why = GENIE_FALLBACK_OFF;
	return source;
}

GenieSource *
genie_source_open(Relation index, const GenieMetaData *meta, GenieSegment *segment, Size *memory)
{
	GenieSource *source = genie_source_of_pages(segment, memory);

	source->tombstone_version = meta->tombstone_version;
	return genie_source_find_image(source, index, meta) ? source : NULL;
}

bool
genie_source_find_image(GenieSource *source, Relation index, const GenieMetaData *meta)
{
	GenieLoaderMiss miss = GENIE_MISS_NONE;

	if (!genie_worker_wanted)
		source->why = GENIE_FALLBACK_OFF;
	else if (!genie_request_worker_is_up())
		source->why = GENIE_FALLBACK_NO_WORKER;
	else
	{
		genie_loader_image(index, meta, source->segment, &source->image, &miss);
		source->why = genie_source_why(miss);
	}
	return !source->segment->stale;
}

void
genie_source_find_vectors(GenieSource *source, Relation index, const GenieMetaData *meta, uint64 n_visits,
						  const GenieQuantizer *quantizer)
{
	source->has_vectors = source->why == GENIE_FALLBACK_NONE &&
		genie_loader_vectors(index, meta, source->segment, &source->image, n_visits, quantizer, &source->vectors);
}

void
genie_source_fell_back(GenieSource *source, GenieFallback why)
{
	genie_stat_fallback(why);
	if (why == GENIE_FALLBACK_GONE || why == GENIE_FALLBACK_NO_WORKER)
		source->why = why;		/* not asked again for this scan */
}

bool
genie_source_image(GenieSource *source, const GenieSegmentImage **image)
{
	if (!source->has_tried_own)
	{
		Size		limit = Max(get_hash_memory_limit(), GENIE_OWN_IMAGE_BYTES);
		MemoryContext old = MemoryContextSwitchTo(source->context);

		source->own = genie_load_own(source->segment, source->segment->entry.n_dead, limit);
		source->has_tried_own = true;
		MemoryContextSwitchTo(old);
	}
	*image = source->own;
	return !source->segment->stale;
}

bool
genie_source_add_condition(GenieSource *source, const GenieQueryView *query)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);
	GenieSegmentQuery *search;

	Assert(!source->has_qualified);
	if (source->conditions == NULL)
	{
		source->conditions = palloc(sizeof(GenieSegmentQuery *));
		source->min_counts = palloc(sizeof(uint32));
	}
	else
	{
		source->conditions = repalloc(source->conditions, (source->n_conditions + 1) * sizeof(GenieSegmentQuery *));
		source->min_counts = repalloc(source->min_counts, (source->n_conditions + 1) * sizeof(uint32));
	}
	search = genie_segment_query_open(source, query);
	MemoryContextSwitchTo(old);
	if (search == NULL)
		return false;
	if (query->min_match == 0)
		return true;			/* every object that is not NULL */
	if (!genie_segment_query_matches(search) || (uint32) query->min_match > genie_segment_query_max_count(search))
		source->nothing = true;
	source->conditions[source->n_conditions] = search;
	source->min_counts[source->n_conditions++] = query->min_match;
	return true;
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
	return genie_live_read(source->segment, source->segment->entry.n_dead, *live, *nulls);
}

bool
genie_source_live(GenieSource *source, uint64 **words)
{
	Size		n_words = genie_live_words(source->segment);
	uint64	   *nulls;

	*words = NULL;
	if (source->segment->entry.n_dead == 0)
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

/* Asks the worker which objects qualify.  False: it could not say. */
static bool
genie_source_ask(GenieSource *source, uint64 *words)
{
	uint32		n_tiles = genie_object_tiles(source->segment);

	for (uint32 first = 0; first < n_tiles; first += GENIE_MASK_TILES)
	{
		GenieRequestJob request;

		genie_segment_query_request(source, NULL, GENIE_JOB_MASK, &request);
		request.job.first_tile = first;
		request.job.n_tiles = Min(n_tiles - first, GENIE_MASK_TILES);
		request.result = words + (Size) first * GENIE_TILE_WORDS;
		genie_request_run(&request, 1);
		if (!request.done)
		{
			genie_source_fell_back(source, request.why);
			return false;
		}
	}
	return true;
}

/* The same from the pages.  False: stale. */
static bool
genie_source_compute(GenieSource *source, uint64 **words)
{
	uint64	   *nulls;

	if (!genie_source_read(source, words, &nulls))
		return false;
	pfree(nulls);
	for (int i = 0; i < source->n_conditions; i++)
		if (!genie_segment_query_filter(source->conditions[i], source->min_counts[i], *words))
			return false;
	return true;
}

bool
genie_source_qualified(GenieSource *source, const uint64 **words)
{
	const GenieSegment *segment = source->segment;

	if (!source->has_qualified)
	{
		bool		all = source->n_conditions == 0 && segment->entry.n_dead == 0 && segment->header.n_nulls == 0;

		if (source->nothing)
		{
			source->qualified = genie_source_words(source);
			memset(source->qualified, 0, genie_live_words(segment) * sizeof(uint64));
		}
		else if (!all)
		{
			uint64	   *asked = source->why == GENIE_FALLBACK_NONE ? genie_source_words(source) : NULL;

			if (asked == NULL && source->n_conditions > 0)
				genie_stat_fallback(source->why);
			if (asked != NULL && genie_source_ask(source, asked))
				source->qualified = asked;
			else if (!genie_source_compute(source, &source->qualified))
				return false;
		}
		source->has_qualified = true;
	}
	*words = source->qualified;
	return true;
}

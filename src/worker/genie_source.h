/*
 * genie_source.h
 *	  A segment as a scan sees it: its pages, its image where there is one, and which of its objects qualify.
 *
 * An object qualifies if it is live (no tombstone, and no hint that the scan may heed), not NULL, and fulfils the
 * scan's conditions.  The worker applies this to its counts itself; the backend gets the bits only where it counts or
 * sweeps on its own.
 *
 * Functions that read return false where the segment turned out to be stale (genie_segment.h).
 */
#ifndef GENIE_SOURCE_H
#define GENIE_SOURCE_H

#include "genie_directory.h"
#include "genie_engine.h"
#include "genie_fallback.h"
#include "genie_image_load.h"
#include "genie_instrument.h"
#include "genie_keyword.h"
#include "genie_request.h"
#include "genie_segment.h"

/* Conditions of which an object must fulfil one. */
typedef struct GenieSourceUnion
{
	uint32		n;
	GenieCondition *conditions;
	const GenieQueryView **views;	/* what each was compiled from */
} GenieSourceUnion;

typedef struct GenieSource
{
	MemoryContext context;		/* of everything below */
	GenieSegment *segment;
	const GenieInstrument *instrument;	/* of the scan; NULL: it has none */
	Size	   *memory;			/* bytes that the scan can spare for posting lists */
	uint64		tombstone_version;	/* of the metapage that the scan began with */
	uint32		n_queries;		/* that will be asked */
	uint32		hint_version;	/* of the segment's hints when it was opened; 0: it has none, or the scan heeds none */
	GenieFallback why;			/* GENIE_FALLBACK_NONE: there is an image */
	GenieImageRef image;
	GenieFallback values_why;	/* GENIE_FALLBACK_NONE: its values, quantized vectors, are beside the image: */
	GenieImageRef vectors;
	GenieFallback graph_why;	/* GENIE_FALLBACK_NONE: there is a graph of them: */
	GenieImageRef graph;
	GenieProximityHead graph_head;	/* what is of it as a whole */
	bool		is_private;		/* not of the index, so that the worker cannot have it */
	GenieSegmentImage *own;		/* an image in the backend's memory; NULL: none */
	bool		has_tried_own;
	bool		nothing;		/* a condition that no object can fulfil */
	uint32		n_conditions;
	GenieCondition *conditions;
	const GenieQueryView **condition_views; /* what each was compiled from */
	uint32		n_unions;
	GenieSourceUnion *unions;
	bool		has_qualified;
	uint64	   *qualified;		/* once asked for; NULL: all objects */
} GenieSource;

/*
 * Opens a source in the current memory context, with the segment's image if there can be one, for so many queries
 * (genie_image_cache.c says who loads it).  NULL: stale.
 */
extern GenieSource *genie_source_open(Relation index, const GenieMetaData *meta, GenieSegment *segment,
									  Size *memory, uint32 n_queries, const GenieInstrument *instrument);

/*
 * Opens a source for each segment that meta lists; sources has room for them.  False: one is stale.
 */
extern bool genie_source_open_all(Relation index, const GenieMetaData *meta, Size *memory, uint32 n_queries,
								  const GenieInstrument *instrument, GenieSource **sources);

/*
 * Looks for the image again where there was none, or no worker, or it has gone; for a caller that keeps a source for
 * long.  meta has the tombstone version of the one that it was opened with.
 */
extern bool genie_source_find_image(GenieSource *source, Relation index, const GenieMetaData *meta);

/*
 * Looks for the values of a segment that has some beside the image, if there is one, and may load them
 * (genie_image_cache.c says who does).  False: stale.
 */
extern bool genie_source_find_values(GenieSource *source, Relation index, const GenieMetaData *meta);

/* Looks for the graph of the values, of a segment that shall have one, beside these; a loader builds it if not. */
extern void genie_source_find_graph(GenieSource *source, Relation index, const GenieMetaData *meta);

/* A source that the backend counts itself, whatever there is in shared memory. */
extern GenieSource *genie_source_of_pages(GenieSegment *segment, Size *memory);

/*
 * An image in the backend's own memory, for queries that the worker does not answer.  It is made on the first call and
 * kept.  *image is NULL where it would be too large.
 */
extern bool genie_source_image(GenieSource *source, const GenieSegmentImage **image);

/* Objects must match at least query->min_match times from now on; query must stay. */
extern bool genie_source_add_condition(GenieSource *source, const GenieQueryView *query);

/* The same of at least one of n queries. */
extern bool genie_source_add_union(GenieSource *source, const GenieQueryView **queries, uint32 n);

/*
 * The objects that qualify, a bit each, whole tiles of GENIE_TILE_WORDS words; NULL where all of the segment's
 * do.
 */
extern bool genie_source_qualified(GenieSource *source, const uint64 **words);

/* All live objects, NULL or not, whatever the conditions; NULL where none is dead.  palloc'd. */
extern bool genie_source_live(GenieSource *source, uint64 **words);

/* The live objects that are NULL; NULL where there is none.  palloc'd. */
extern bool genie_source_nulls(GenieSource *source, uint64 **words);

/*
 * Begins a job for the worker, of a kind that has an image: all of it that depends on the source.  Before a TOP
 * of a source with unions, genie_source_qualified() must have returned true.
 */
extern void genie_source_request(const GenieSource *source, GenieJobKind kind, GenieRequestJob *request);

/* Asks the worker on behalf of a source, or of several of one scan, and notes who has answered, and the time. */
extern void genie_source_run(const GenieSource *source, GenieRequestJob *requests, uint32 n);

/* The session answers a query itself, and why. */
extern void genie_source_by_backend(const GenieSource *source, GenieFallback why);

/* The worker could not answer for this source: counts that, and notes if the image has gone. */
extern void genie_source_fell_back(GenieSource *source, GenieFallback why);

#endif							/* GENIE_SOURCE_H */

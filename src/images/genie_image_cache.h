/*
 * genie_image_cache.h
 *	  Images of segments in shared memory as a cache: found, loaded where there is none, and kept fresh.
 */
#ifndef GENIE_IMAGE_CACHE_H
#define GENIE_IMAGE_CACHE_H

#include "utils/rel.h"

#include "genie_directory.h"
#include "genie_image_load.h"
#include "genie_page.h"
#include "genie_segment.h"

/*
 * The segment's image, loaded or left to a loader if it is absent, with all live bits of meta->tombstone_version.
 * meta is the metapage that the segment was opened from.  hint_version: of the segment's hints, whose objects the
 * scan leaves out; 0: it must see them, or there are none.  n_queries: that the caller will ask of it.  Anything but
 * GENIE_FALLBACK_NONE says why there is none.
 */
extern GenieFallback genie_image_cache_get(Relation index, const GenieMetaData *meta, GenieSegment *segment,
										   uint32 hint_version, uint32 n_queries, GenieImageRef *ref);

/* The same for the values of a segment that has some. */
extern GenieFallback genie_image_cache_values(Relation index, const GenieMetaData *meta, GenieSegment *segment,
											  uint32 n_queries, GenieImageRef *ref);

/*
 * Edges of an object in the proximity graph of the segment's values, as the index's parameter graph says; 0: the
 * segment shall have none.  A graph is for approximate classes, and for segments with enough objects, which are more
 * where there are GPUs.
 */
extern uint32 genie_image_cache_graph_degree(Relation index, const GenieSegment *segment);

/*
 * The segment's graph, and what is of it as a whole.  If there is none, but shall be, a loader builds it, and the
 * result is not NONE.
 */
extern GenieFallback genie_image_cache_graph(Relation index, const GenieMetaData *meta, GenieSegment *segment,
											 GenieImageRef *ref, GenieProximityHead *head);

/*
 * Loads all segments, together with loaders, waiting for other backends that load them, and their values; returns the
 * bytes that they have.  Without shared memory, for temporary indexes and without room: ERROR.  But if lacks_values is
 * not NULL, values need no room: it is set if they found none.
 */
extern uint64 genie_image_cache_prewarm(Relation index, bool *lacks_values);

/*
 * For a loader: loads the image, and the segment's values, if they are absent, the file is still the index's, and the
 * metapage lists the segment.  stop: of GenieSegment.  rank: with GENIE_EVICT_NONE, its place in the order of use
 * before the restart.  Reports what damage or want of room has to say; allocates in the current memory context.
 */
extern void genie_image_cache_load(Relation index, const GenieImageKey *wanted, GenieEvict evict,
								   uint32 rank, bool (*stop) (void *arg), void *stop_arg);

/* Segments were merged: if the index has images, loaders make those of new segments. */
extern void genie_image_cache_follow_merge(Relation index);

/* ambulkdelete has raised the tombstone version: takes the dead out of the images that are loaded. */
extern void genie_image_cache_publish_tombstones(Relation index);

#endif							/* GENIE_IMAGE_CACHE_H */

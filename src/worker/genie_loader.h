/*
 * genie_loader.h
 *	  Brings images of segments into shared memory, and their live bits up to date.
 */
#ifndef GENIE_LOADER_H
#define GENIE_LOADER_H

#include "utils/rel.h"

#include "genie_directory.h"
#include "genie_load.h"
#include "genie_page.h"
#include "genie_segment.h"

/*
 * The segment's image, loaded if it is absent, with all live bits of meta->tombstone_version.  meta is what the
 * segment was opened from.  Anything but GENIE_FALLBACK_NONE says why there is none.
 */
extern GenieFallback genie_loader_image(Relation index, const GenieMetaData *meta, GenieSegment *segment,
										GenieImageRef *ref);

/*
 * The quantized vectors of a segment that has an image.  Where there are none, they are loaded once as many rows as the
 * segment has were visited for lack of them (n_visits: by the caller, soon), if there is room: reading all of them
 * costs no more then than what they would have saved.  False: there are none.
 */
extern bool genie_loader_vectors(Relation index, const GenieMetaData *meta, GenieSegment *segment,
								 const GenieImageRef *image, uint64 n_visits, const GenieQuantizer *quantizer,
								 GenieImageRef *ref);

/*
 * Loads all segments, waiting for other backends that load them; returns the bytes that they have.  Without shared
 * memory, for temporary indexes and without room: ERROR.
 */
extern uint64 genie_loader_prewarm(Relation index);

/* ambulkdelete has raised the tombstone version: takes the dead out of the images that are loaded. */
extern void genie_loader_publish_tombstones(Relation index);

#endif							/* GENIE_LOADER_H */

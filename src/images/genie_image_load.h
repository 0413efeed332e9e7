/*
 * genie_image_load.h
 *	  One load: an image of a segment in shared memory, or in the backend's own.
 */
#ifndef GENIE_IMAGE_LOAD_H
#define GENIE_IMAGE_LOAD_H

#include "genie_directory.h"
#include "genie_proximity_level.h"
#include "genie_segment.h"

/* The setting genie.image: which images have lists, and not codes alone (genie_image.h). */
typedef enum GenieImageSetting
{
	GENIE_IMAGE_SETTING_AUTO,	/* those that find room with lists before others have to go */
	GENIE_IMAGE_SETTING_FULL,	/* all */
	GENIE_IMAGE_SETTING_SMALL	/* those that cannot be without */
} GenieImageSetting;

extern int	genie_image_setting;	/* for images that are loaded from now on */

/* What devices do for a load: by worker/genie_offload.c. */
typedef struct GenieLoadDevices
{
	void		(*prepare) (void);	/* to be called before a load: it may register an exit callback */

	/*
	 * Has the worker copy those groups that lie in n_tiles tiles from first_tile on to devices (GENIE_JOB_STAGE);
	 * *n_groups: how many of them are there now.  False: it did not.
	 */
	bool		(*stage) (const GenieImageRef *image, uint32 first_tile, uint32 n_tiles, uint32 *n_groups);

	/*
	 * Has the worker's GPU make a level of a graph that is being loaded, of vectors that are (GENIE_JOB_LEVEL). False:
	 * it did not, or stops() said that nobody waits any more.
	 */
	bool		(*make_level) (const GenieImageRef *graph, const GenieImageRef *vectors, uint32 n_dimensions,
							   const GenieProximityLevel *level, bool (*stops) (void));
} GenieLoadDevices;

extern const GenieLoadDevices *genie_load_devices;

typedef struct GenieLoadResult
{
	GenieFallback why;			/* NONE: it is loaded; else LOADING, NO_ROOM, LOAD_FAILED or STALE */
	bool		first;			/* NO_ROOM: it was not found before */
	uint64		n_bytes;		/* NO_ROOM: how many it needs */
	const char *damage;			/* LOAD_FAILED: what is malformed */
} GenieLoadResult;

/*
 * Loads the segment's image under the key.  n_dead of its objects are dead by tombstone_version, both of one
 * copy of the metapage that lists the segment.  n_workers: parallel workers that shall help.  Allocates in the current
 * memory context, which the caller throws away.
 */
extern GenieLoadResult genie_image_load(GenieSegment *segment, const GenieImageKey *key, uint32 n_dead,
										uint64 tombstone_version, GenieEvict evict, uint32 n_workers);

/*
 * The same for the segment's section of values (genie_values.h), which it has.  They stay until the segment goes: what
 * an object's value is does not change when it dies.  A key of a graph: their proximity graph, which is built.
 */
extern GenieLoadResult genie_image_load_values(GenieSegment *segment, const GenieImageKey *key, GenieEvict evict);

/*
 * The bytes of shared memory that the segment's image would take, and its values: what genie_image_load() and
 * genie_image_load_values() take together.  Reads all posting lists.  False: the segment is damaged or stale.
 */
extern bool genie_image_load_bytes(GenieSegment *segment, uint32 n_dead, uint64 *n_bytes);

/*
 * An image in the current memory context, for this backend alone; n_dead as above; hints: without the objects
 * that have one.  NULL: it would take more than limit
 * bytes, the segment is stale, or its lists are damaged, which the backend notices when it counts from the pages.
 */
extern GenieSegmentImage *genie_image_load_own(GenieSegment *segment, uint32 n_dead, bool hints, Size limit);

#endif							/* GENIE_IMAGE_LOAD_H */

/*
 * genie_image_fill.h
 *	  From a segment's pages to the groups of an image, in memory that the caller gives.
 *
 * In two steps: genie_image_fill_plan() says what the image takes; the caller gets the memory, and genie_image_fill()
 * writes it.  Both read all posting lists.  Both return false where the segment is damaged or stale
 * (genie_segment.h).  All that they allocate themselves is in the current memory context.
 */
#ifndef GENIE_IMAGE_FILL_H
#define GENIE_IMAGE_FILL_H

#include "genie_directory.h"
#include "genie_image.h"
#include "genie_segment.h"

typedef struct GenieListWindow GenieListWindow;

typedef struct GenieImageFill
{
	/* set by the caller, all else being 0 */
	GenieSegment *segment;
	uint32		n_dead;			/* of its objects, by the metapage that lists it */
	bool		hints;			/* leave out objects with hints */
	GenieImagePlan plan;		/* its group_bytes */

	/* why a step returned false: what is malformed; NULL: the segment is stale */
	const char *damage;

	/* planned; body is the caller's */
	GenieImageParts parts;
	uint64	   *group_bytes;	/* of each group */
	uint64	   *postings_before;	/* of each rank, and the total; n_totals of them */

	/* where it is to be filled: set by the caller after planning */
	void	  **group_at;		/* each group */
	uint64	   *live;			/* GENIE_TILE_WORDS words a tile */

	/* of genie_image_fill.c */
	GenieTilePlan *tiles;
	uint32	   *first_tile;		/* of each group, and n_tiles behind the last */
	uint32	   *in_group;		/* each tile's number in its group */
	uint32	   *first_ranks;	/* of each dimension so far */
	GenieTileFill *fills;		/* of each tile; NULL: planning */
	GenieListWindow *window;
} GenieImageFill;

extern bool genie_image_fill_plan(GenieImageFill *fill);
extern bool genie_image_fill(GenieImageFill *fill);

/* Frees the larger part of what the steps have allocated, which the image does not need. */
extern void genie_image_fill_end(GenieImageFill *fill);

#endif							/* GENIE_IMAGE_FILL_H */

/*
 * genie_image_fill.h
 *	  From a segment's pages to the groups of an image, in memory that the caller gives.
 *
 * In two steps: genie_image_fill_plan() says what the image takes; the caller gets the memory, and genie_image_fill()
 * writes it, or genie_image_fill_span() some groups at a time.  All read all posting lists.  They return false where
 * the segment is damaged or stale (genie_segment.h).  All that they allocate themselves is in the current memory
 * context.
 */
#ifndef GENIE_IMAGE_FILL_H
#define GENIE_IMAGE_FILL_H

#include "genie_directory.h"
#include "genie_image.h"
#include "genie_image_team.h"
#include "genie_segment.h"
#include "genie_list_walk.h"

typedef struct GenieFillShared GenieFillShared;
typedef struct GenieFillPart GenieFillPart;

typedef struct GenieImageFill
{
	/* set by the caller, all else being 0 */
	GenieSegment *segment;
	uint32		n_dead;			/* of its objects, by the metapage that lists it */
	bool		hints;			/* leave out objects with hints */
	uint32		n_workers;		/* parallel workers that shall help */
	GenieImageForm wanted;		/* CODES: where there can be codes, else TIGHT (genie_image.h) */
	GenieImagePlan plan;		/* its group_bytes */

	/* why a step returned false: what is malformed; NULL: the segment is stale, or it cannot be of codes alone */
	const char *damage;
	bool		repeats;

	/* planned; body is the caller's */
	GenieImageParts parts;
	uint64	   *group_bytes;	/* of each group */
	uint64	   *postings_before;	/* of each rank, and the total; n_totals of them */

	/* where it is to be filled: set by the caller after planning */
	void	  **group_at;		/* each group; the array is there */
	uint64	   *live;			/* GENIE_TILE_WORDS words a tile */

	/*
	 * Of genie_image_fill.c, shared by all processes that fill: a step writes what later steps read, each process its
	 * tasks' share of it.
	 */
	GenieImageTeam *team;		/* NULL: this process is alone */
	bool		is_decided;		/* the form is */
	uint32		first_group;	/* of the span that is being filled */
	uint32		end_group;
	GenieFillShared *shared;
	GenieFillPart *of_part;		/* each part's ranks */
	GenieTilePlan *planned;		/* of each part: each tile's */
	GenieTilePlan *tiles;		/* of each tile, all parts together */
	GenieTileFill *begun;		/* of each tile: as laid out */
	bool	   *no_codes;		/* of each tile: once finished */
	uint32	   *first_tile;		/* of each group, and n_tiles behind the last */
	uint32	   *in_group;		/* each tile's number in its group */
	uint32	   *dimensions;		/* of each rank; NULL: there will be no codes */
	uint32	   *first_ranks;	/* of each dimension */

	/* of the process */
	GenieTilePlan *plans;		/* the part's that is being planned; NULL: it is being filled */
	GenieTileFill *fills;		/* its tiles, while it is being filled */
	GenieListWalk *walk;
	uint64		n_filled;		/* postings of the part */
} GenieImageFill;

extern bool genie_image_fill_plan(GenieImageFill *fill);

/* Plans once more what was planned FULL: codes alone, or, without codes, tight.  To be called once. */
extern bool genie_image_fill_shrink(GenieImageFill *fill);
extern bool genie_image_fill(GenieImageFill *fill);

/* Fills groups [first_group, end_group), the live bits with the first ones; to be called for all, in order. */
extern bool genie_image_fill_span(GenieImageFill *fill, uint32 first_group, uint32 end_group);

/* Of an image that is planned: a group's head (genie_image.h), and all of them, in memory that is zero. */
extern uint64 genie_image_fill_head_bytes(const GenieImageFill *fill, uint32 group);
extern void genie_image_fill_heads(const GenieImageFill *fill, void **heads);

/*
 * To be called in any case but an ERROR: workers end; frees the larger part of what the steps have allocated, which the
 * image does not need.  With workers, what they share is gone: all arrays above.
 */
extern void genie_image_fill_end(GenieImageFill *fill);

/* To be called after an ERROR: when it returns, no worker writes to the image any more. */
extern void genie_image_fill_abort(GenieImageFill *fill);

/* A worker of a team of so many processes takes part from a phase of its barrier on. */
extern void genie_image_fill_help(GenieSegment *segment, GenieImageTeam *team, uint32 n_processes, void *memory,
								  int phase);

#endif							/* GENIE_IMAGE_FILL_H */

/*
 * genie_object_cursor.h
 *	  A segment's live objects, one by one, in TID order.
 *
 * For readers of whole segments that need no keywords.  A merge of several segments has more to keep for each object,
 * and steps by itself (genie_merge.c).
 */
#ifndef GENIE_OBJECT_CURSOR_H
#define GENIE_OBJECT_CURSOR_H

#include "genie_object_table.h"
#include "genie_posting.h"

typedef struct GenieObjectCursor
{
	GenieSegment *segment;
	GenieObjectReader objects;
	GenieSectionReader tombstones;
	const GenieTileObjects *tile;
	uint64		dead[GENIE_TILE_WORDS];
	uint32		next;			/* the object to look at next */

	/* the object in hand */
	uint32		object;
	uint64		tid;
	bool		is_null;
} GenieObjectCursor;

/* Before the segment's first object. */
extern void genie_object_cursor_begin(GenieObjectCursor *cursor, GenieSegment *segment);

/* Moves on to the next object that has no tombstone.  False: there is none, or the segment is stale. */
extern bool genie_object_cursor_next(GenieObjectCursor *cursor);

#endif							/* GENIE_OBJECT_CURSOR_H */

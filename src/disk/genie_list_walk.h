/*
 * genie_list_walk.h
 *	  Reads a segment's posting lists from its pages, one after the other, a part of a tile at a time.
 */
#ifndef GENIE_LIST_WALK_H
#define GENIE_LIST_WALK_H

#include "genie_dictionary.h"
#include "genie_posting.h"

/* bytes that are read at a time, whole pages: a tile's part of a list fits, wherever it begins on the first one */
#define GENIE_LIST_WINDOW	((GENIE_TILE_PAYLOAD_MAX / GENIE_PAGE_PAYLOAD + 2) * GENIE_PAGE_PAYLOAD)

/* Some 160 KB. */
typedef struct GenieListWalk
{
	GenieSectionReader reader;
	uint64		at;				/* the window's first byte, in the section POSTINGS, */
	uint32		n;				/* and how many it has */
	uint8		bytes[GENIE_LIST_WINDOW];
	uint16		locals[GENIE_TILE_OBJECTS];
} GenieListWalk;

/* Takes n objects of a tile, ascending.  The tile and the objects may be beyond the segment's if it is damaged. */
typedef void (*GenieListTake) (void *arg, uint32 tile, const uint16 *locals, uint32 n);

extern void genie_list_walk_begin(GenieListWalk *walk, GenieSegment *segment);

/*
 * Gives the list of the keyword that the cursor is on.  It is the fastest for keywords in ascending order.  False:
 * stale.  Errors: the list is malformed.
 */
extern bool genie_list_walk(GenieListWalk *walk, const GenieDictionaryCursor *cursor, GenieListTake take, void *arg);

#endif							/* GENIE_LIST_WALK_H */

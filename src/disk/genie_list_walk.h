/*
 * genie_list_walk.h
 *	  Reads a segment's posting lists from its pages, one after the other, a tile's part at a time.
 *
 * Lists lie in dictionary order without gaps, so that reading on from one keyword to the next reads each page once: the
 * window holds some pages, and moves on when a part of a list leaves it.
 */
#ifndef GENIE_LIST_WALK_H
#define GENIE_LIST_WALK_H

#include "genie_dictionary.h"
#include "genie_posting.h"

/* bytes that are read at a time, whole pages: 256 kB stay in a core's cache */
#define GENIE_LIST_WINDOW	(32 * GENIE_PAGE_PAYLOAD)

/* a tile's part of a list fits, wherever it begins on the first page */
StaticAssertDecl(GENIE_LIST_WINDOW >= GENIE_TILE_PAYLOAD_MAX + GENIE_PAGE_PAYLOAD, "a tile's list must fit the window");

typedef struct GenieListWalk
{
	bool		headers;		/* of lists that are cut into tiles: only the parts' headers are wanted */
	const char *damage;			/* what is malformed; NULL: nothing */
	GenieSectionReader reader;
	uint64		at;				/* the window's first byte, in the section POSTINGS, */
	uint32		n;				/* and how many it has */
	uint8		bytes[GENIE_LIST_WINDOW];
	uint16		locals[GENIE_TILE_OBJECTS]; /* of one part */
} GenieListWalk;

/*
 * Takes a tile's part of a list: RAW if the list is a loose one.  If only headers are wanted, others have no data.  The
 * tile and the objects may be beyond the segment's if it is damaged.  False: the walk is to end.
 */
typedef bool (*GenieListTake) (void *arg, uint32 tile, const GenieListRef *ref);

/* Begins a walk with no headers wanted. */
extern void genie_list_walk_begin(GenieListWalk *walk, GenieSegment *segment);

/*
 * Gives the list of the keyword that the cursor is on.  It is the fastest for keywords in ascending order.  False:
 * stale, damaged, or ended by the taker.
 */
extern bool genie_list_walk(GenieListWalk *walk, const GenieDictionaryCursor *cursor, GenieListTake take, void *arg);

/* The n objects of a part that is being taken, ascending.  NULL: damaged. */
extern const uint16 *genie_list_walk_locals(GenieListWalk *walk, const GenieListRef *ref);

#endif							/* GENIE_LIST_WALK_H */

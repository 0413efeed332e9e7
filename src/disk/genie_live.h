/*
 * genie_live.h
 *	  Which objects of a segment are live, and which of those are NULL: tombstones and the object table together.
 */
#ifndef GENIE_LIVE_H
#define GENIE_LIVE_H

#include "genie_segment.h"

/* words of a bitmap of the segment's objects: whole tiles */
extern Size genie_live_words(const GenieSegment *segment);

/*
 * Fills bitmaps of genie_live_words() words with the objects that have no tombstone: live gets those that are not
 * NULL, nulls gets the NULL ones (it may be NULL, too).  Bits past the last object are clear.  n_dead: the segment's
 * number of tombstones in the caller's metapage; if it is 0, they are not read.  hints: objects with a hint are not
 * live either (genie_hint.h).  False: stale.
 */
extern bool genie_live_read(GenieSegment *segment, uint32 n_dead, bool hints, uint64 *live, uint64 *nulls);

#endif							/* GENIE_LIVE_H */

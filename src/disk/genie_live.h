/*
 * genie_live.h
 *	  Which objects of a segment are live, and which of those are NULL: tombstones and the object table together.
 */
#ifndef GENIE_LIVE_H
#define GENIE_LIVE_H

#include "genie_segment.h"

/* words of such a bitmap: whole tiles */
extern Size genie_live_words(const GenieSegment *segment);

/*
 * Fills bitmaps of genie_live_words() words with the objects that have no tombstone: in live those that are not
 * NULL, in nulls the others (NULL: not wanted).  Bits past the last object are clear.  n_dead: how many tombstones the
 * segment has by the metapage that the caller goes by; 0: they are not read.  False: stale.
 */
extern bool genie_live_read(GenieSegment *segment, uint32 n_dead, uint64 *live, uint64 *nulls);

#endif							/* GENIE_LIVE_H */

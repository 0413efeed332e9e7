/*
 * genie_tombstone.h
 *	  Which objects of a segment are dead: one bit an object.
 *
 * Only ambulkdelete sets bits (am/genie_vacuum.c), under the merge lock.  No bit is ever cleared: the next merge drops
 * the objects.  A bit is set before the tombstone version is raised, and a scan reads the bits
 * after the metapage.  So a scan that starts after VACUUM returned sees them.
 */
#ifndef GENIE_TOMBSTONE_H
#define GENIE_TOMBSTONE_H

#include "genie_segment.h"

/*
 * ORs the dead bits of n objects from first on (a multiple of 64) into words, bit i of word
 * i / 64 for object first + i.  False: stale.
 */
extern bool genie_tombstone_read(GenieSectionReader *reader, uint32 first, uint32 n, uint64 *words);

/* Sets the bits of words (1 = newly dead) for n objects from first on, a multiple of 64. */
extern void genie_tombstone_set(GenieSegment *segment, uint32 first, uint32 n, const uint64 *words);

#endif							/* GENIE_TOMBSTONE_H */

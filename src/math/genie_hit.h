/*
 * genie_hit.h
 *	  An object of a segment with its key: engines return hits, and bounds are computed for them.
 */
#ifndef GENIE_HIT_H
#define GENIE_HIT_H

#include <stdint.h>

/* Hits are ordered by (key descending, object ascending). */
typedef struct GenieHit
{
	uint32_t	key;			/* a match count, or a number that a table of keys gives (genie_engine.h) */
	uint32_t	object;			/* its dense number in the segment */
} GenieHit;

#endif							/* GENIE_HIT_H */

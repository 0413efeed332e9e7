/*
 * genie_flip.h
 *	  The flip: the metapage goes from one list of segments to the next.
 */
#ifndef GENIE_FLIP_H
#define GENIE_FLIP_H

#include "genie_page.h"

/* what a flip changes */
typedef struct GenieFlip
{
	int			n_added;
	const GenieSegmentEntry *added;
	int			n_removed;
	const uint64 *removed;		/* stamps of segments that the added ones replace */
	uint32		consumed_pages; /* pending pages, from the head, that the added ones replace */
	BlockNumber consumed_last;	/* the last of them */
	uint32		parameters_length;	/* bytes of new parameters, by which the added segments were signed; 0: none */
	const uint8 *parameters;
	GenieSegmentEntry learned;	/* their long part (genie_learned.h); stamp 0: it stays as it is */
} GenieFlip;

/*
 * Replaces segments and pending pages by new segments, and retires the replaced ones, in one WAL record.  build: no
 * other process sees the relation yet, log nothing.  The caller holds the merge lock (genie_lock.h).
 */
extern void genie_flip_apply(Relation index, const GenieFlip *flip, bool build);

#endif							/* GENIE_FLIP_H */

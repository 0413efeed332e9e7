/*
 * genie_batch_scalars.h
 *	  Objects in bins that a range cuts, told by their scalars (types/genie_scalars.h), for many queries at once.
 */
#ifndef GENIE_BATCH_SCALARS_H
#define GENIE_BATCH_SCALARS_H

#include "genie_scalars.h"
#include "genie_segment.h"

/* A query, and bits of whole tiles of the objects that may match it, and of those that are sure to. */
typedef struct GenieScalarsQuestion
{
	const GenieScalarQuery *query;
	uint64	   *outer;			/* NULL: none may */
	uint64	   *inner;			/* NULL: none is; palloc'd here if one is found */
} GenieScalarsQuestion;

/*
 * Sets the bits in inner, or clears those in outer, of objects in outer, in counted, and not in inner, as far as their
 * scalars tell; of a segment without scalars nothing.  False: stale.
 */
extern bool genie_batch_scalars_tell(GenieSegment *segment, GenieScalarsQuestion *questions, uint32 n,
									 const uint64 *counted, Size n_words);

#endif							/* GENIE_BATCH_SCALARS_H */

/*
 * genie_pending_stream.h
 *	  The rows of the pending list in scan order, counted by brute force.
 */
#ifndef GENIE_PENDING_STREAM_H
#define GENIE_PENDING_STREAM_H

#include "genie_conflict.h"
#include "genie_page.h"
#include "genie_stream.h"
#include "utils/rel.h"

typedef struct GeniePendingHit
{
	int32		count;
	uint64		tid;
} GeniePendingHit;

typedef struct GeniePendingStream
{
	GeniePendingHit *hits;		/* a binary heap, the next one first */
	uint32		n;
	uint32		capacity;
} GeniePendingStream;

/*
 * Reads the list as of meta and keeps what qualifies and ranks behind the position.  Keywords of
 * another family than the query's go to conflicts.  False: stale.
 */
extern bool genie_pending_stream_open(GeniePendingStream *stream, Relation index, const GenieMetaData *meta,
									  const GenieScanQuery *query, const GenieScanPosition *position,
									  GenieConflicts *conflicts);

/* Removes the first. */
extern void genie_pending_stream_next(GeniePendingStream *stream);

#endif							/* GENIE_PENDING_STREAM_H */

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
	int32		key;			/* when read: the match count, or GENIE_KEY_RAW */
	float		nearest;		/* GENIE_KEY_RAW: a lower bound of the row's distance; else 0 */
	uint64		tid;
	uint16		size;			/* keywords of the row */
} GeniePendingHit;

typedef struct GeniePendingStream
{
	GeniePendingHit *hits;		/* a binary heap, the next one first */
	uint32		n;
	uint32		capacity;
	uint64		n_read;			/* rows that were read, whether they fulfil the conditions or not */
	uint32		min_size;		/* over the rows that are not NULL; UINT32_MAX if there is none */
	uint32		max_size;
} GeniePendingStream;

/*
 * Reads the list as of meta and keeps what fulfils the conditions.  Keywords of another family than the query's go to
 * conflicts.  False: stale.
 */
extern bool genie_pending_stream_open(GeniePendingStream *stream, Relation index, const GenieMetaData *meta,
									  const GenieScanQuery *query, GenieConflicts *conflicts);

/* Ranks what was read, by the query's bound if it has one, from the position on. */
extern void genie_pending_stream_rank(GeniePendingStream *stream, const GenieScanQuery *query,
									  const GenieScanPosition *position);

/* Removes the first. */
extern void genie_pending_stream_next(GeniePendingStream *stream);

#endif							/* GENIE_PENDING_STREAM_H */

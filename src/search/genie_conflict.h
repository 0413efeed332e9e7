/*
 * genie_conflict.h
 *	  A query that asks a dimension for another type than the rows have there.
 *
 * The definition (genie_match_count) raises an error for such a pair of query and object, so the index must, too.  It
 * must do so only for a row that the scan's snapshot sees: index entries of dead or uncommitted rows must not make a
 * query fail.  This is the rare path: finding that there is no conflict costs two dictionary look-ups a dimension and
 * segment.
 *
 * An approximate class has no conflicts: all its keywords are of one type.
 *
 * Candidates are looked up in the table a batch at a time, so that a mistaken query fails soon and memory is bounded.
 */
#ifndef GENIE_CONFLICT_H
#define GENIE_CONFLICT_H

#include "access/genam.h"
#include "access/relscan.h"
#include "genie_keyword.h"
#include "genie_segment.h"

#define GENIE_CONFLICTS_BATCH 1024

typedef struct GenieConflict
{
	const GenieQueryView *query;
	uint64		tid;
	uint8		prefix[GENIE_DIMENSION_BYTES + 1];	/* dimension and family of the row's keyword */
} GenieConflict;

/* Start with the scan and all else 0. */
typedef struct GenieConflicts
{
	IndexScanDesc scan;
	GenieConflict *list;		/* candidates not looked up yet */
	uint32		n;
} GenieConflicts;

/* Notes a candidate.  Holds no locks: raises the operator's error if the batch is full and a row of it is visible. */
extern void genie_conflicts_add(GenieConflicts *conflicts, const GenieQueryView *query, uint64 tid,
								GenieKey key);

/* Finds the candidates of a segment; the same error.  False: stale. */
extern bool genie_conflicts_find(GenieConflicts *conflicts, GenieSegment *segment,
								 const GenieQueryView *query);

/* Raises the operator's error if the row of a candidate that is left is visible. */
extern void genie_conflicts_report(GenieConflicts *conflicts);

#endif							/* GENIE_CONFLICT_H */

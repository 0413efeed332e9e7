/*
 * genie_conflict.h
 *	  A query that asks a dimension for another type than the rows have there.
 *
 * The definition (genie_match_count) raises an error for such a pair of query and object, so the
 * index must, too; but only for a row that the scan's snapshot sees: index entries of dead or
 * uncommitted rows must not make a query fail.  This is the rare path: finding that there is no
 * conflict costs two dictionary look-ups a dimension and segment.
 */
#ifndef GENIE_CONFLICT_H
#define GENIE_CONFLICT_H

#include "access/genam.h"
#include "access/relscan.h"
#include "genie_keyword.h"
#include "genie_segment.h"

typedef struct GenieConflict
{
	const GenieQueryView *query;
	uint64		tid;
	GenieKey	key;			/* palloc'd copy */
} GenieConflict;

typedef struct GenieConflicts
{
	GenieConflict *list;
	uint32		n;
	uint32		capacity;
} GenieConflicts;

/* Notes a candidate. */
extern void genie_conflicts_add(GenieConflicts *conflicts, const GenieQueryView *query, uint64 tid,
								GenieKey key);

/* Finds the candidates of a segment.  False: stale. */
extern bool genie_conflicts_find(GenieConflicts *conflicts, GenieSegment *segment,
								 const GenieQueryView *query);

/* Raises the operator's error if a candidate's row is visible. */
extern void genie_conflicts_report(const GenieConflicts *conflicts, IndexScanDesc scan);

#endif							/* GENIE_CONFLICT_H */

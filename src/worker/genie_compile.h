/*
 * genie_compile.h
 *	  Compiling a query against a segment: from intervals of keywords to ranges of ranks, their numbers in its
 *	  dictionary.
 *
 * An interval's ends are cuts between keywords (genie_keyword.h), and a cut's rank is the number of keywords before
 * it: so a range is the ranks of its interval's cuts.
 *
 * Functions that read return false where the segment turned out to be stale (genie_segment.h).
 */
#ifndef GENIE_COMPILE_H
#define GENIE_COMPILE_H

#include "genie_engine.h"
#include "genie_keyword.h"
#include "genie_segment.h"

/* One query; its ranges are palloc'd. */
extern bool genie_compile(GenieSegment *segment, const GenieQueryView *view, GenieEngineQuery *query);

/* ---- its parts, for many queries together (genie_query_set.h) ---- */

/* Finds n_cuts cuts that come in ascending order, on one way through the dictionary.  palloc'd. */
typedef struct GenieWalk GenieWalk;

extern GenieWalk *genie_compile_walk(GenieSegment *segment, uint64 n_cuts);

/* The rank of a cut that is not before the last one. */
extern bool genie_compile_cut(GenieWalk *walk, GenieKey key, bool after, uint32 *rank);

/* The range of one keyword: there is nothing between its cuts but itself. */
extern bool genie_compile_point(GenieWalk *walk, GenieKey key, GenieRankRange *range);

/* A query's ranges as they come, in ascending order. */
typedef struct GenieRangeList
{
	GenieRankRange *ranges;
	uint32		n;
	uint64		n_lists;
} GenieRangeList;

static inline void
genie_compile_add(GenieRangeList *list, GenieRankRange range)
{
	if (range.end == range.first)
		return;
	list->n_lists += range.end - range.first;
	if (list->n > 0 && list->ranges[list->n - 1].end == range.first)
		list->ranges[list->n - 1].end = range.end;
	else
		list->ranges[list->n++] = range;
}

extern void genie_compile_finish(const GenieRangeList *list, const GenieSegment *segment, GenieEngineQuery *query);

#endif							/* GENIE_COMPILE_H */

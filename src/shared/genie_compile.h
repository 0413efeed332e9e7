/*
 * genie_compile.h
 *	  Compiling queries against a segment: from intervals of keywords to ranges of ranks, their numbers in its
 *	  dictionary.
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

/*
 * Many queries together.  What they have in common is found once, whatever the number of segments; each segment's
 * dictionary is then gone through once, in its order.
 */
typedef struct GenieQuerySet GenieQuerySet;

/* Lives in the current memory context; the queries must stay. */
extern GenieQuerySet *genie_query_set(const GenieQueryView **views, uint32 n);

extern uint32 genie_query_set_size(const GenieQuerySet *set);
extern const GenieQueryView *genie_query_set_view(const GenieQuerySet *set, uint32 i);

/* All of them: queries has an entry each; ranges are palloc'd. */
extern bool genie_query_set_compile(const GenieQuerySet *set, GenieSegment *segment, GenieEngineQuery *queries);

/*
 * The ways in which the queries ask dimensions for type families: each has the intervals of one dimension, as some
 * query has them, and no two ask the same dimension for the same families.  Whether a query conflicts with an object's
 * types depends on nothing else (genie_query_conflicts()).  NULL: there are no more than i.
 */
extern const GenieQueryView *genie_query_set_aspect(const GenieQuerySet *set, uint32 i);

#endif							/* GENIE_COMPILE_H */

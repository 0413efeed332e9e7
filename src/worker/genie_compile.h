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

/* An empty one, in the current memory context. */
extern GenieQuerySet *genie_query_set_begin(void);

/* Adds a query of n packed intervals (genie_keyword.h), normalised; they need not stay. */
extern void genie_query_set_add(GenieQuerySet *set, const uint8 *packed, Size nbytes, uint32 n);

/* No more are added; all below wants that. */
extern void genie_query_set_end(GenieQuerySet *set);

extern uint32 genie_query_set_size(const GenieQuerySet *set);

/* The intervals of all queries together. */
extern uint32 genie_query_set_intervals(const GenieQuerySet *set);

/* Query i: its intervals alone, palloc'd; their keys are the set's. */
extern const GenieQueryView *genie_query_set_view(const GenieQuerySet *set, uint32 i);

/* All of them: queries has an entry each; ranges are palloc'd. */
extern bool genie_query_set_compile(const GenieQuerySet *set, GenieSegment *segment, GenieEngineQuery *queries);

/*
 * The ways in which the queries ask dimensions for type families, *n of them, palloc'd: each has the intervals of one
 * dimension, as some query has them, and no two ask the same dimension for the same families.  Whether a query
 * conflicts with an object's types depends on nothing else (genie_query_conflicts()).
 */
extern const GenieQueryView **genie_query_set_aspects(const GenieQuerySet *set, uint32 *n);

#endif							/* GENIE_COMPILE_H */

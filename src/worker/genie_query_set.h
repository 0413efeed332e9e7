/*
 * genie_query_set.h
 *	  Many queries that are compiled together.
 *
 * Their common intervals are found once, whatever the number of segments; each segment's dictionary is then walked
 * once, in its order.
 */
#ifndef GENIE_QUERY_SET_H
#define GENIE_QUERY_SET_H

#include "genie_engine.h"
#include "genie_keyword.h"
#include "genie_segment.h"

typedef struct GenieQuerySet GenieQuerySet;

/* An empty one, in the current memory context. */
extern GenieQuerySet *genie_query_set_begin(void);

/* Adds a query of n packed intervals (genie_keyword.h), normalised; they need not stay. */
extern void genie_query_set_add(GenieQuerySet *set, const uint8 *packed, Size nbytes, uint32 n);

extern uint32 genie_query_set_size(const GenieQuerySet *set);

/* The intervals of all queries together. */
extern uint32 genie_query_set_intervals(const GenieQuerySet *set);

/* No more are added.  The functions below may be called only after this. */
extern void genie_query_set_end(GenieQuerySet *set);

/* Query i: its intervals alone, palloc'd; their keys are the set's. */
extern const GenieQueryView *genie_query_set_view(const GenieQuerySet *set, uint32 i);

/* Compiles all of them: queries has an entry each; ranges are palloc'd.  False: stale (genie_segment.h). */
extern bool genie_query_set_compile(const GenieQuerySet *set, GenieSegment *segment, GenieEngineQuery *queries);

/*
 * The ways in which the queries ask dimensions for type families, *n of them, palloc'd.  Each has the intervals of one
 * dimension, as some query has them, and no two ask the same dimension for the same families.  Whether a query
 * conflicts with an object's types depends on nothing else (genie_query_conflicts()).
 */
extern const GenieQueryView **genie_query_set_aspects(const GenieQuerySet *set, uint32 *n);

#endif							/* GENIE_QUERY_SET_H */

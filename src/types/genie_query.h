/*
 * genie_query.h
 *	  The type genie_query: intervals of keywords in dimensions, and how many keywords of an object must lie in them.
 *
 * Its stored form is in genie_opclass.h, because other extensions make queries too.
 */
#ifndef GENIE_QUERY_H
#define GENIE_QUERY_H

#include "fmgr.h"
#include "genie_keyword.h"
#include "genie_object.h"

/* The plain view of a query (genie_keyword.h), in context.  The query stays valid as long as the view. */
extern GenieQueryView *genie_query_view(const GenieQuery *query, MemoryContext context);

/* ---- making queries ---- */

/* Collects intervals in any order.  Keys are copied. */
typedef struct GenieQueryBuilder
{
	MemoryContext context;		/* of all below; gone after finish */
	GenieInterval *intervals;
	uint64		n;
	uint64		capacity;
	uint8	   *block;			/* where the next key is copied to */
	Size		block_left;
} GenieQueryBuilder;

extern void genie_query_begin(GenieQueryBuilder *builder);
extern void genie_query_add_point(GenieQueryBuilder *builder, GenieKey key);

/*
 * Adds the keys between lo and hi, all of the (dimension, family) prefix.  A side whose key has no data is unbounded.
 * Adds nothing if the interval is empty.
 */
extern void genie_query_add_range(GenieQueryBuilder *builder, GenieKey prefix,
								  GenieKey lo, bool lo_after, GenieKey hi, bool hi_after);

/* The query, in CurrentMemoryContext.  Errors: min_match is negative. */
extern GenieQuery *genie_query_finish(GenieQueryBuilder *builder, int32 min_match);

/* Gives a query of points a threshold of Jaccard similarity.  Errors: the similarity is not between 0 and 1. */
extern void genie_query_limit_jaccard(GenieQuery *query, float8 similarity);

/* The query for an object's keywords as points. */
extern GenieQuery *genie_query_of_object(const struct varlena *object, int32 min_match);

/* Adds a value's keywords; frees what it has detoasted. */
typedef void (*GenieCollect) (Datum value, GenieKeywords *keywords);

/* The query for the keywords of a value of any type as points.  Errors: too many keywords. */
extern GenieQuery *genie_query_of_value(GenieCollect collect, Datum value, int32 min_match);

#endif							/* GENIE_QUERY_H */

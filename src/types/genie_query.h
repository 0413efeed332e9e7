/*
 * genie_query.h
 *	  The type genie_query: sets of values per dimension, and how many an object must match.
 *
 * What is stored is described in genie_opclass.h, for other extensions make queries too.
 */
#ifndef GENIE_QUERY_H
#define GENIE_QUERY_H

#include "fmgr.h"
#include "genie_keyword.h"
#include "genie_object.h"

/* The plain view, in context, of a query that stays where it is while the view is used. */
extern GenieQueryView *genie_query_view(const GenieQuery *query, MemoryContext context);

/* ---- making queries ---- */

/* Collects intervals in any order.  Keys are copied. */
typedef struct GenieQueryBuilder
{
	MemoryContext context;		/* of all below; gone after finish */
	GenieInterval *intervals;
	uint64		n;
	uint64		capacity;
	uint8	   *block;			/* where the next key is put */
	Size		block_left;
} GenieQueryBuilder;

extern void genie_query_begin(GenieQueryBuilder *builder);
extern void genie_query_add_point(GenieQueryBuilder *builder, GenieKey key);

/*
 * Adds the values of the (dimension, family) prefix between two keys; a key without data is an unbounded side.
 * Adds nothing if there is nothing between.
 */
extern void genie_query_add_range(GenieQueryBuilder *builder, GenieKey prefix,
								  GenieKey lo, bool lo_after, GenieKey hi, bool hi_after);

/* In the caller's memory context.  Errors: min_match is negative. */
extern GenieQuery *genie_query_finish(GenieQueryBuilder *builder, int32 min_match);

/* Gives a query of points the threshold of a Jaccard similarity.  Errors: it is not between 0 and 1. */
extern void genie_query_limit_jaccard(GenieQuery *query, float8 similarity);

/* An object's keywords as points. */
extern GenieQuery *genie_query_of_object(const struct varlena *object, int32 min_match);

/* Adds a value's keywords; what it detoasts it frees. */
typedef void (*GenieCollect) (Datum value, GenieKeywords *keywords);

/* The keywords of a value of any type as points.  Errors: those of an object too. */
extern GenieQuery *genie_query_of_value(GenieCollect collect, Datum value, int32 min_match);

#endif							/* GENIE_QUERY_H */

/*
 * genie_criterion.h
 *	  What a query asks of one dimension: a value, a range, a multirange, or an array of any of these.
 */
#ifndef GENIE_CRITERION_H
#define GENIE_CRITERION_H

#include "genie_query.h"
#include "genie_value.h"
#include "utils/typcache.h"

typedef struct GenieCriterion
{
	bool		is_array;
	GenieValueType element;		/* is_array: only the layout is set */
	char		typtype;		/* of the value or element: TYPTYPE_RANGE, TYPTYPE_MULTIRANGE, or else */
	TypeCacheEntry *range;		/* of a range, or of a multirange's ranges */
	GenieAttribute attribute;	/* of the value or of the range's subtype */
} GenieCriterion;

/* How values of that type are criteria; what it needs lives in context. */
extern void genie_criterion_init(GenieCriterion *criterion, uint32 dimension, Oid type, MemoryContext context);

/* Adds what the value asks for to the query. */
extern void genie_criterion_add(GenieCriterion *criterion, Datum value, GenieQueryBuilder *builder);

#endif							/* GENIE_CRITERION_H */

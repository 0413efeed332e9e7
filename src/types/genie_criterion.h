/*
 * genie_criterion.h
 *	  A criterion of a query for one dimension: a value, a range, a multirange, or an array of any of these.
 */
#ifndef GENIE_CRITERION_H
#define GENIE_CRITERION_H

#include "genie_query.h"
#include "genie_value.h"
#include "utils/typcache.h"

typedef struct GenieCriterion
{
	bool		is_array;
	GenieValueType element;		/* if is_array: the elements' layout, nothing else */
	char		typtype;		/* of the value or element; TYPTYPE_RANGE and TYPTYPE_MULTIRANGE matter */
	TypeCacheEntry *range;		/* of the range type, or of the multirange's ranges */
	GenieAttribute attribute;	/* of the value, or of the range's subtype */
} GenieCriterion;

/* Prepares criteria of that type; what it allocates lives in context.  Errors: those of genie_value_type_init(). */
extern void genie_criterion_init(GenieCriterion *criterion, uint32 dimension, Oid type, MemoryContext context);

/* Adds the criterion's intervals to the query. */
extern void genie_criterion_add(GenieCriterion *criterion, Datum value, GenieQueryBuilder *builder);

#endif							/* GENIE_CRITERION_H */

/*
 * genie_array.h
 *	  Arrays of any element type as sets of keywords of dimension 0.
 */
#ifndef GENIE_ARRAY_H
#define GENIE_ARRAY_H

#include "access/tupmacs.h"
#include "genie_int_array.h"
#include "genie_query.h"
#include "genie_value.h"

#define GENIE_ARRAY_DIMENSION	0
#define GENIE_NO_DIMENSION		GENIE_DIMENSION_MAX /* of what no array has (genie_int_operand.c) */

/* Iterates over an array's elements; NULLs are left out. */
typedef struct GenieArrayCursor
{
	const char *at;
	const bits8 *nulls;			/* NULL: none */
	uint32		i;
	uint32		n;
	int16		typlen;
	bool		typbyval;
	char		typalign;
} GenieArrayCursor;

static inline void
genie_array_begin(GenieArrayCursor *cursor, ArrayType *array, const GenieValueType *type)
{
	cursor->at = ARR_DATA_PTR(array);
	cursor->nulls = ARR_NULLBITMAP(array);
	cursor->i = 0;
	cursor->n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	cursor->typlen = type->typlen;
	cursor->typbyval = type->typbyval;
	cursor->typalign = type->typalign;
}

static inline bool
genie_array_next(GenieArrayCursor *cursor, Datum *element)
{
	while (cursor->i < cursor->n)
	{
		uint32		i = cursor->i++;

		if (cursor->nulls != NULL && !(cursor->nulls[i / 8] & (1 << (i % 8))))
			continue;
		*element = fetch_att(cursor->at, cursor->typbyval, cursor->typlen);
		cursor->at = att_addlength_pointer(cursor->at, cursor->typlen, cursor->at);
		cursor->at = (const char *) att_align_nominal(cursor->at, cursor->typalign);
		return true;
	}
	return false;
}

/* How arrays of one element type become keywords; kept from row to row. */
typedef struct GenieArrayType
{
	GenieAttribute attribute;
	int			int_width;		/* 0: not integers */
	GenieInts	ints;			/* scratch for integers */
} GenieArrayType;

/* Returns *cache; makes it in context if it is NULL, or anew if it is of another element type. */
extern GenieArrayType *genie_array_type(GenieArrayType **cache, Oid element_type, MemoryContext context);

/* The same for an argument of a call: kept in fn_extra, which is the function's only use of it. */
extern GenieArrayType *genie_array_type_of_call(FunctionCallInfo fcinfo, const ArrayType *array);

/* The elements' finished keywords, palloc'd; uses fn_extra as above. */
extern GenieKeywords genie_array_keywords(FunctionCallInfo fcinfo, ArrayType *array);

/* Adds the elements' keywords. */
extern void genie_array_collect(GenieArrayType *type, ArrayType *array, GenieKeywords *keywords);

/* A query for the elements as points. */
extern GenieQuery *genie_array_query(GenieArrayType *type, ArrayType *array, int32 min_match);

/* Error: the query, which is meant for arrays, has keywords, but none of the elements' dimension. */
extern void genie_array_check_query(const GenieQuery *query);

#endif							/* GENIE_ARRAY_H */

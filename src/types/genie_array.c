/*
 * genie_array.c
 *	  Arrays as objects and as queries.  (Their operator class is in genie_set_class.c.)
 *
 * An array is the set of its elements, all of dimension 0.  Duplicates count once, NULLs are left out, and an array of
 * several dimensions is taken element by element, as in GIN.  Integers take the fast path of genie_int_array.c;
 * elements of other types are normalised one by one.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_array.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(genie_object_from_array);
PG_FUNCTION_INFO_V1(genie_query_from_array);
PG_FUNCTION_INFO_V1(genie_jaccard_query_from_array);

GenieArrayType *
genie_array_type(GenieArrayType **cache, Oid element_type, MemoryContext context)
{
	GenieArrayType *type = *cache;
	MemoryContext old;

	if (type != NULL && type->attribute.type.type == element_type)
		return type;
	old = MemoryContextSwitchTo(context);
	if (type == NULL)
	{
		type = palloc0(sizeof(GenieArrayType));
		genie_ints_init(&type->ints);
	}
	genie_attribute_init(&type->attribute, GENIE_ARRAY_DIMENSION, element_type, context);
	type->int_width = genie_int_width(getBaseType(element_type));
	MemoryContextSwitchTo(old);
	*cache = type;
	return type;
}

GenieArrayType *
genie_array_type_of_call(FunctionCallInfo fcinfo, const ArrayType *array)
{
	return genie_array_type((GenieArrayType **) &fcinfo->flinfo->fn_extra, ARR_ELEMTYPE(array),
							fcinfo->flinfo->fn_mcxt);
}

void
genie_array_collect(GenieArrayType *type, ArrayType *array, GenieKeywords *keywords)
{
	GenieArrayCursor cursor;
	Datum		element;
	uint8		key[GENIE_KEY_MAX];

	if (type->int_width != 0)
	{
		genie_int_run_pack(genie_int_run(array, type->int_width, &type->ints), keywords);
		return;
	}
	genie_array_begin(&cursor, array, &type->attribute.type);
	while (genie_array_next(&cursor, &element))
	{
		CHECK_FOR_INTERRUPTS();
		genie_keywords_add(keywords, genie_attribute_key(&type->attribute, element, key));
	}
}

GenieKeywords
genie_array_keywords(FunctionCallInfo fcinfo, ArrayType *array)
{
	GenieKeywords keywords;

	genie_keywords_init(&keywords);
	genie_array_collect(genie_array_type_of_call(fcinfo, array), array, &keywords);
	genie_keywords_finish(&keywords);
	return keywords;
}

GenieQuery *
genie_array_query(GenieArrayType *type, ArrayType *array, int32 min_match)
{
	GenieQueryBuilder builder;
	GenieArrayCursor cursor;
	Datum		element;
	uint8		key[GENIE_KEY_MAX + 1];

	genie_query_begin(&builder);
	if (type->int_width != 0)
	{
		GenieIntRun run = genie_int_run(array, type->int_width, &type->ints);

		/* sorted already, which is much faster than sorting their keys */
		for (uint32 i = 0; i < run.n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			genie_query_add_point(&builder, genie_int_run_key(run, i, key));
		}
		return genie_query_finish(&builder, min_match);
	}
	genie_array_begin(&cursor, array, &type->attribute.type);
	while (genie_array_next(&cursor, &element))
	{
		CHECK_FOR_INTERRUPTS();
		genie_query_add_point(&builder, genie_attribute_key(&type->attribute, element, key));
	}
	return genie_query_finish(&builder, min_match);
}

void
genie_array_check_query(const GenieQuery *query)
{
	const uint8 *at = query->body;
	GenieKey	first;
	uint32		dimension;

	if (query->n == 0)
		return;
	first = genie_query_next(&at).lo;	/* of the smallest dimension */
	genie_key_get_dimension(first.data, first.len, &dimension);
	if (dimension == GENIE_NO_DIMENSION && first.data[genie_key_prefix_len(first) - 1] == GENIE_FAMILY_NUMERIC)
		return;					/* converted numerics */
	if (dimension != GENIE_ARRAY_DIMENSION)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("query asks for attribute %u, but an array has elements only", dimension),
				 errhint("Elements have dimension %d. Write {%d:...}, or genie_query(array).",
						 GENIE_ARRAY_DIMENSION, GENIE_ARRAY_DIMENSION)));
}

/* genie_object(anyarray) */
Datum
genie_object_from_array(PG_FUNCTION_ARGS)
{
	GenieKeywords keywords = genie_array_keywords(fcinfo, PG_GETARG_ARRAYTYPE_P(0));

	PG_RETURN_POINTER(genie_object_make(&keywords));
}

/* genie_query(anyarray, min_match) */
Datum
genie_query_from_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);

	PG_RETURN_POINTER(genie_array_query(genie_array_type_of_call(fcinfo, array), array, PG_GETARG_INT32(1)));
}

/* genie_jaccard_query(anyarray, similarity) */
Datum
genie_jaccard_query_from_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GenieQuery *query = genie_array_query(genie_array_type_of_call(fcinfo, array), array, 0);

	genie_query_limit_jaccard(query, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(query);
}

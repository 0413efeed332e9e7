/*
 * genie_array.c
 *	  Arrays as objects and as queries; the support functions of genie_array_ops.
 *
 * An array is the set of its elements, all of dimension 0: duplicates count once, NULLs are left out, an
 * array of several dimensions is taken element by element, as GIN does.  Integers take the fast
 * way of genie_int_array.c; every other type is normalised element by element.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_array.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(genie_array_decompose);
PG_FUNCTION_INFO_V1(genie_array_compile);
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

GenieQuery *
genie_array_query(GenieArrayType *type, ArrayType *array, int32 min_match)
{
	GenieQueryBuilder builder;
	GenieArrayCursor cursor;
	Datum		element;
	uint8		key[GENIE_KEY_MAX];

	genie_query_begin(&builder);
	genie_array_begin(&cursor, array, &type->attribute.type);
	while (genie_array_next(&cursor, &element))
	{
		CHECK_FOR_INTERRUPTS();
		genie_query_add_point(&builder, genie_attribute_key(&type->attribute, element, key));
	}
	return genie_query_finish(&builder, min_match);
}

/* support function 1 (genie_opclass.h) */
Datum
genie_array_decompose(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	GenieArrayType *type = genie_array_type((GenieArrayType **) &fcinfo->flinfo->fn_extra,
											ARR_ELEMTYPE(array), fcinfo->flinfo->fn_mcxt);

	genie_array_collect(type, array, keywords);
	PG_FREE_IF_COPY(array, 0);
	PG_RETURN_VOID();
}

static GenieQuery *
query_of_array(FunctionCallInfo fcinfo, Datum datum, int32 min_match)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	GenieArrayType *type = genie_array_type((GenieArrayType **) &fcinfo->flinfo->fn_extra,
											ARR_ELEMTYPE(array), fcinfo->flinfo->fn_mcxt);

	return genie_array_query(type, array, min_match);
}

/* support function 2: the right operand is a genie_query, an array, or an object */
Datum
genie_array_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	Oid			subtype = PG_GETARG_OID(2);

	if (subtype == get_func_rettype(fcinfo->flinfo->fn_oid))
		PG_RETURN_POINTER(DatumGetGenieQuery(operand));
	if (subtype == ANYARRAYOID)
		PG_RETURN_POINTER(query_of_array(fcinfo, operand, 1));
	PG_RETURN_POINTER(genie_query_of_object(PG_DETOAST_DATUM_PACKED(operand), 1));
}

/* genie_object(anyarray) */
Datum
genie_object_from_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GenieKeywords keywords;

	genie_keywords_init(&keywords);
	genie_array_collect(genie_array_type((GenieArrayType **) &fcinfo->flinfo->fn_extra,
										 ARR_ELEMTYPE(array), fcinfo->flinfo->fn_mcxt), array, &keywords);
	genie_keywords_finish(&keywords);
	PG_RETURN_POINTER(genie_object_make(&keywords));
}

/* genie_query(anyarray, min_match) */
Datum
genie_query_from_array(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(query_of_array(fcinfo, PG_GETARG_DATUM(0), PG_GETARG_INT32(1)));
}

/* genie_jaccard_query(anyarray, similarity) */
Datum
genie_jaccard_query_from_array(PG_FUNCTION_ARGS)
{
	GenieQuery *query = query_of_array(fcinfo, PG_GETARG_DATUM(0), 0);

	genie_query_limit_jaccard(query, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(query);
}

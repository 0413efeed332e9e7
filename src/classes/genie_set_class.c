/*
 * genie_set_class.c
 *	  The operator classes genie_array_ops (anyarray) and genie_object_ops (genie_object).
 *
 * Their values are sets already: an array is the set of its elements (genie_array.h), an object is a packed set of
 * keywords.  The bound of the Jaccard distance is exact, because the distance depends on the match count and the
 * object's size alone.
 *
 * Compile functions do not know the column's type.  What depends on it is done before they are called
 * (search/genie_scan_query.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_array.h"
#include "genie_object.h"
#include "genie_query.h"
#include "genie_set_class.h"
#include "genie_set_similarity.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(genie_array_decompose);
PG_FUNCTION_INFO_V1(genie_array_compile);
PG_FUNCTION_INFO_V1(genie_object_decompose);
PG_FUNCTION_INFO_V1(genie_object_compile);
PG_FUNCTION_INFO_V1(genie_jaccard_bound);

/* support function 1 of genie_array_ops (genie_opclass.h) */
Datum
genie_array_decompose(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);

	genie_array_collect(genie_array_type_of_call(fcinfo, array), array, keywords);
	PG_FREE_IF_COPY(array, 0);
	PG_RETURN_VOID();
}

/* support function 2 of genie_array_ops: the right operand is a genie_query, an array, or an object */
Datum
genie_array_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	Oid			subtype = PG_GETARG_OID(2);
	ArrayType  *array;

	if (subtype == get_func_rettype(fcinfo->flinfo->fn_oid))
	{
		GenieQuery *query = DatumGetGenieQuery(operand);

		genie_array_check_query(query);
		PG_RETURN_POINTER(query);
	}
	if (subtype == ANYCOMPATIBLEARRAYOID)
	{
		array = DatumGetArrayTypeP(operand);
		PG_RETURN_POINTER(genie_array_query(genie_array_type_of_call(fcinfo, array), array, 1));
	}
	PG_RETURN_POINTER(genie_query_of_object(PG_DETOAST_DATUM_PACKED(operand), 1));
}

/* support function 1 of genie_object_ops */
Datum
genie_object_decompose(PG_FUNCTION_ARGS)
{
	struct varlena *object = PG_GETARG_VARLENA_PP(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	uint32		n;
	Size		nbytes;
	const uint8 *at = genie_object_keys(object, &n, &nbytes);

	if (n > 0)
	{
		const uint8 *last = at;

		/* they are packed and ascending already */
		genie_keywords_reserve(keywords, nbytes);
		memcpy(keywords->bytes + keywords->nbytes, at, nbytes);
		for (const uint8 *next = at; next < at + nbytes; genie_packed_next(&next))
			last = next;
		keywords->sorted = keywords->n == 0;
		keywords->last = keywords->nbytes + (last - at);
		keywords->nbytes += nbytes;
		keywords->n += n;
	}
	PG_FREE_IF_COPY(object, 0);
	PG_RETURN_VOID();
}

/* support function 2 of genie_object_ops: the right operand is a genie_query or a genie_object */
Datum
genie_object_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	Oid			subtype = PG_GETARG_OID(2);

	if (subtype == get_func_rettype(fcinfo->flinfo->fn_oid))
		PG_RETURN_POINTER(DatumGetGenieQuery(operand));
	PG_RETURN_POINTER(genie_query_of_object(PG_DETOAST_DATUM_PACKED(operand), 1));
}

/* support function 3 of both classes, and of those of documents */
Datum
genie_jaccard_bound(PG_FUNCTION_ARGS)
{
	int16		strategy = PG_GETARG_INT16(0);
	const GenieQuery *query = (const GenieQuery *) PG_GETARG_POINTER(1);

	if (strategy != GENIE_JACCARD_STRATEGY)
		elog(ERROR, "strategy %d has no bound", strategy);
	PG_RETURN_FLOAT8(genie_jaccard_distance(PG_GETARG_INT32(2), PG_GETARG_INT32(3), query->n));
}

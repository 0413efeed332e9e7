/*
 * genie_vector_type.c
 *	  Types that store vectors as pgvector does, as floats and as halves, for tests where pgvector is not installed:
 *	  text form '[1,2,3]', and the Euclidean distance.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "genie_compat.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(genie_vector_type_in);
PG_FUNCTION_INFO_V1(genie_vector_type_out);
PG_FUNCTION_INFO_V1(genie_vector_type_l2);
PG_FUNCTION_INFO_V1(genie_half_type_in);
PG_FUNCTION_INFO_V1(genie_half_type_out);
PG_FUNCTION_INFO_V1(genie_half_type_l2);

typedef struct Vector
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int16		n;
	int16		unused;
	float		elements[FLEXIBLE_ARRAY_MEMBER];
} Vector;

/* '[]' gives bytes that are no vector of pgvector's. */
Datum
genie_vector_type_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Size		size = offsetof(Vector, elements) + strlen(text) * sizeof(float);
	Vector	   *result = palloc0(size);

	for (char *at = text; *at != '\0' && at[1] != ']' && at[1] != '\0';)
		result->elements[result->n++] = strtof(at + 1, &at);
	SET_VARSIZE(result, offsetof(Vector, elements) + result->n * sizeof(float));
	PG_RETURN_POINTER(result);
}

Datum
genie_vector_type_out(PG_FUNCTION_ARGS)
{
	Vector	   *vector = (Vector *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < vector->n; i++)
		appendStringInfo(&text, "%c%.9g", i == 0 ? '[' : ',', vector->elements[i]);
	appendStringInfoString(&text, vector->n == 0 ? "[]" : "]");
	PG_RETURN_CSTRING(text.data);
}

Datum
genie_vector_type_l2(PG_FUNCTION_ARGS)
{
	Vector	   *a = (Vector *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	Vector	   *b = (Vector *) PG_DETOAST_DATUM(PG_GETARG_DATUM(1));
	double		sum = 0;

	for (int i = 0; i < Min(a->n, b->n); i++)
		sum += ((double) a->elements[i] - b->elements[i]) * ((double) a->elements[i] - b->elements[i]);
	PG_RETURN_FLOAT8(sqrt(sum));
}

/* ---- halves ---- */

typedef struct HalfVector
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int16		n;
	int16		unused;
	_Float16	elements[FLEXIBLE_ARRAY_MEMBER];
} HalfVector;

Datum
genie_half_type_in(PG_FUNCTION_ARGS)
{
	Vector	   *vector = (Vector *) DatumGetPointer(DirectFunctionCall1(genie_vector_type_in, PG_GETARG_DATUM(0)));
	Size		size = offsetof(HalfVector, elements) + vector->n * sizeof(_Float16);
	HalfVector *result = palloc0(size);

	SET_VARSIZE(result, size);
	result->n = vector->n;
	for (int i = 0; i < vector->n; i++)
		result->elements[i] = (_Float16) vector->elements[i];
	PG_RETURN_POINTER(result);
}

Datum
genie_half_type_out(PG_FUNCTION_ARGS)
{
	HalfVector *vector = (HalfVector *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < vector->n; i++)
		appendStringInfo(&text, "%c%.9g", i == 0 ? '[' : ',', (double) vector->elements[i]);
	appendStringInfoString(&text, vector->n == 0 ? "[]" : "]");
	PG_RETURN_CSTRING(text.data);
}

Datum
genie_half_type_l2(PG_FUNCTION_ARGS)
{
	HalfVector *a = (HalfVector *) PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	HalfVector *b = (HalfVector *) PG_DETOAST_DATUM(PG_GETARG_DATUM(1));
	double		sum = 0;

	for (int i = 0; i < Min(a->n, b->n); i++)
		sum += ((double) a->elements[i] - b->elements[i]) * ((double) a->elements[i] - b->elements[i]);
	PG_RETURN_FLOAT8(sqrt(sum));
}

/*
 * genie_floors.c
 *	  An approximate operator class whose signatures are simple: vectors of integers, each rounded down to a grid.
 *
 * Raw keyword j is element j.  A signature has one dimension an element, its quotient by the grid's width; the class
 * learns the width from the largest element of the sample, and counts how many objects it saw.  The distance
 * is l1, the sum of the differences.  A parameter of the class makes it break its contract.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/pg_type.h"
#include "genie_opclass.h"
#include "utils/array.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(genie_floors_distance);
PG_FUNCTION_INFO_V1(genie_floors_decompose);
PG_FUNCTION_INFO_V1(genie_floors_compile);
PG_FUNCTION_INFO_V1(genie_floors_options);
PG_FUNCTION_INFO_V1(genie_floors_train);
PG_FUNCTION_INFO_V1(genie_floors_sign);

typedef struct FloorsOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			fault;			/* FloorsFault */
} FloorsOptions;

typedef enum FloorsFault
{
	FAULT_NONE,
	FAULT_NULL,					/* train gives NULL */
	FAULT_EMPTY,				/* no bytes */
	FAULT_LONG,					/* too many */
	FAULT_FEW					/* it does so only where there are few objects, which it may */
} FloorsFault;

typedef struct FloorsParameters
{
	int32		width;
	uint32		n_objects;
} FloorsParameters;

/* The elements of a vector; an error for NULL ones. */
static int32 *
elements(ArrayType *array, int *n)
{
	if (ARR_NDIM(array) > 1 || ARR_ELEMTYPE(array) != INT4OID || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("not a vector of integers")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (int32 *) ARR_DATA_PTR(array);
}

Datum
genie_floors_distance(PG_FUNCTION_ARGS)
{
	int			n;
	int			n_other;
	int32	   *a = elements(PG_GETARG_ARRAYTYPE_P(0), &n);
	int32	   *b = elements(PG_GETARG_ARRAYTYPE_P(1), &n_other);
	int64		sum = 0;

	for (int i = 0; i < Min(n, n_other); i++)
		sum += llabs((long long) a[i] - b[i]);
	PG_RETURN_FLOAT8((float8) sum);
}

/* The value's bytes: their order is that of the numbers. */
static GenieKey
make_key(uint8 *key, int dimension, int32 value)
{
	uint8		bytes[GENIE_KEY_INT_BYTES];
	uint32		n = (uint32) genie_key_put_int(bytes, value);

	return genie_key_make(key, (uint32) dimension, GENIE_FAMILY_INT, bytes, n);
}

/* The quotient, rounded down. */
static int32
floor_of(int32 value, int32 width)
{
	return value / width - (value % width < 0);
}

static FloorsParameters
parameters_of(const bytea *parameters)
{
	FloorsParameters result;

	memcpy(&result, VARDATA(parameters), sizeof(result));
	return result;
}

Datum
genie_floors_decompose(PG_FUNCTION_ARGS)
{
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	uint8		key[GENIE_KEY_MAX];
	int			n;
	int32	   *vector = elements(PG_GETARG_ARRAYTYPE_P(0), &n);

	for (int i = 0; i < n; i++)
		genie_keywords_add(keywords, make_key(key, i, keywords->parameters == NULL ? vector[i] :
											  floor_of(vector[i], parameters_of(keywords->parameters).width)));
	PG_RETURN_VOID();
}

/* The element of a raw keyword, and which it is: as make_key() wrote it, for genie's functions cannot be called. */
static int32
element_of(GenieKey raw, uint32 *dimension)
{
	const uint8 *value = raw.data + 2;
	bool		negative = value[0] < 0x80;
	int			n = negative ? 0x7F - value[0] : value[0] - 0x80;
	uint32		magnitude = 0;

	for (int i = 1; i <= n; i++)
		magnitude = magnitude << 8 | (negative ? (uint8) ~value[i] : value[i]);
	*dimension = raw.data[0];
	return negative ? (int32) ~magnitude : (int32) magnitude;
}

Datum
genie_floors_sign(PG_FUNCTION_ARGS)
{
	const GenieRaw *raw = (const GenieRaw *) PG_GETARG_POINTER(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	FloorsParameters parameters = parameters_of(keywords->parameters);
	const uint8 *at = raw->bytes;

	Assert(raw->size == (int32) raw->n);
	for (uint32 i = 0; i < raw->n; i++)
	{
		uint8		key[GENIE_KEY_MAX];
		uint32		dimension;
		int32		element = element_of(genie_packed_next(&at), &dimension);

		genie_keywords_add(keywords, make_key(key, (int) dimension, floor_of(element, parameters.width)));
	}
	PG_RETURN_VOID();
}

Datum
genie_floors_compile(PG_FUNCTION_ARGS)
{
	const bytea *parameters = (const bytea *) PG_GETARG_POINTER(3);
	int			n;
	int32	   *vector = elements(DatumGetArrayTypeP(PG_GETARG_DATUM(0)), &n);
	GenieKey   *keys = palloc((n + 1) * sizeof(GenieKey));

	if (parameters == NULL)
		n = 0;
	for (int i = 0; i < n; i++)
		keys[i] = make_key(palloc(GENIE_KEY_MAX), i, floor_of(vector[i], parameters_of(parameters).width));
	PG_RETURN_POINTER(genie_query_of_keys(keys, n, 1));
}

Datum
genie_floors_train(PG_FUNCTION_ARGS)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	FloorsFault fault = PG_HAS_OPCLASS_OPTIONS() ? ((FloorsOptions *) PG_GET_OPCLASS_OPTIONS())->fault : FAULT_NONE;
	Size		n = fault == FAULT_EMPTY ? 0 :
		fault == FAULT_LONG ? GENIE_LEARNED_MAX + 1 : sizeof(FloorsParameters);
	bytea	   *result = palloc0(VARHDRSZ + Max(n, sizeof(FloorsParameters)));
	FloorsParameters parameters = {.width = 1, .n_objects = sample->n};
	int32		most = 0;

	if (fault == FAULT_NULL || (fault == FAULT_FEW && sample->n < GENIE_TRAIN_MIN))
		PG_RETURN_NULL();
	for (uint32 i = 0; i < sample->n; i++)
	{
		const uint8 *at = sample->objects[i].bytes;
		uint32		dimension;

		for (uint32 j = 0; j < sample->objects[i].n; j++)
		{
			int32		element = element_of(genie_packed_next(&at), &dimension);

			most = Max(most, element);
		}
	}
	parameters.width = most / 10 + 1;
	SET_VARSIZE(result, VARHDRSZ + n);
	memcpy(VARDATA(result), &parameters, sizeof(parameters));
	PG_RETURN_BYTEA_P(result);
}

Datum
genie_floors_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(FloorsOptions));
	add_local_int_reloption(options, "fault", "How train breaks its contract.",
							FAULT_NONE, FAULT_NONE, FAULT_FEW, offsetof(FloorsOptions, fault));
	PG_RETURN_VOID();
}

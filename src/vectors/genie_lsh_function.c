/*
 * genie_lsh_function.c
 *	  Signatures in SQL: genie_lsh_l2(), genie_lsh_l1(), genie_lsh_laplacian(), genie_lsh_cosine(), genie_lsh_minhash(),
 *	  genie_lsh_hamming(), which return a genie_object; genie_lsh_functions() and genie_lsh_functions_bound().
 *
 * These functions make objects of vectors, with parameters that the user chooses, so that all operators of genie_object
 * (match counts, conditions, batch searches) can be used.  The operator classes of genie_lsh_class.c instead choose
 * their parameters themselves and order by the distance.  The hash families are in genie_lsh.c.
 */
#include "postgres.h"

#include "genie_array.h"
#include "genie_lsh_signature.h"
#include "genie_object.h"
#include "genie_vector_distance.h"
#include "utils/varbit.h"

PG_FUNCTION_INFO_V1(genie_lsh_l2);
PG_FUNCTION_INFO_V1(genie_lsh_l1);
PG_FUNCTION_INFO_V1(genie_lsh_laplacian);
PG_FUNCTION_INFO_V1(genie_lsh_cosine);
PG_FUNCTION_INFO_V1(genie_lsh_minhash_array);
PG_FUNCTION_INFO_V1(genie_lsh_minhash_object);
PG_FUNCTION_INFO_V1(genie_lsh_hamming);
PG_FUNCTION_INFO_V1(genie_lsh_count);
PG_FUNCTION_INFO_V1(genie_lsh_count_bound);

static Datum
object_of_codes(const GenieLshParameters *parameters, const int32 *codes)
{
	GenieKeywords keywords;

	genie_keywords_init(&keywords);
	genie_lsh_add_codes(codes, parameters->n_functions, &keywords);
	PG_RETURN_POINTER(genie_object_make(&keywords));
}

static Datum
object_of_vector(FunctionCallInfo fcinfo, GenieLshParameters *parameters)
{
	struct varlena *array = PG_GETARG_VARLENA_PP(0);
	GenieVector vector = genie_vector_of_array(array);
	float	   *floats;

	genie_lsh_check_vector(vector);
	parameters->n_dimensions = vector.n;
	genie_lsh_check_parameters(parameters);
	floats = palloc(vector.n * sizeof(float));
	genie_lsh_floats(vector, floats);
	return object_of_codes(parameters, genie_lsh_codes_of_vector(parameters, floats));
}

/* (vector, hashes, width, seed, buckets) */
static Datum
object_by_width(FunctionCallInfo fcinfo, GenieLshFamily family)
{
	GenieLshParameters parameters = {
		.family = family,
		.n_functions = PG_GETARG_INT32(1),
		.width = PG_GETARG_FLOAT8(2),
		.seed = PG_GETARG_INT64(3),
		.n_buckets = PG_GETARG_INT32(4)
	};

	return object_of_vector(fcinfo, &parameters);
}

Datum
genie_lsh_l2(PG_FUNCTION_ARGS)
{
	return object_by_width(fcinfo, GENIE_LSH_L2);
}

Datum
genie_lsh_l1(PG_FUNCTION_ARGS)
{
	return object_by_width(fcinfo, GENIE_LSH_L1);
}

Datum
genie_lsh_laplacian(PG_FUNCTION_ARGS)
{
	return object_by_width(fcinfo, GENIE_LSH_LAPLACIAN);
}

/* (vector, hashes, seed, bits) */
Datum
genie_lsh_cosine(PG_FUNCTION_ARGS)
{
	GenieLshParameters parameters = {
		.family = GENIE_LSH_COSINE,
		.n_functions = PG_GETARG_INT32(1),
		.seed = PG_GETARG_INT64(2),
		.width = PG_GETARG_INT32(3)
	};

	return object_of_vector(fcinfo, &parameters);
}

/* (set, hashes, buckets, seed), of n packed keys */
static Datum
object_of_set(FunctionCallInfo fcinfo, const uint8 *packed, uint32 n)
{
	GenieLshParameters parameters = {
		.family = GENIE_LSH_MINHASH,
		.n_functions = PG_GETARG_INT32(1),
		.n_buckets = PG_GETARG_INT32(2),
		.seed = PG_GETARG_INT64(3)
	};

	genie_lsh_check_parameters(&parameters);
	return object_of_codes(&parameters, genie_lsh_codes_of_set(&parameters, genie_lsh_elements(packed, n), n));
}

Datum
genie_lsh_minhash_array(PG_FUNCTION_ARGS)
{
	GenieKeywords elements = genie_array_keywords(fcinfo, PG_GETARG_ARRAYTYPE_P(0));

	return object_of_set(fcinfo, elements.bytes, elements.n);
}

Datum
genie_lsh_minhash_object(PG_FUNCTION_ARGS)
{
	uint32		n;
	Size		nbytes;
	const uint8 *packed = genie_object_keys(PG_GETARG_VARLENA_PP(0), &n, &nbytes);

	return object_of_set(fcinfo, packed, n);
}

/* (bits, hashes, seed, bits of a code) */
Datum
genie_lsh_hamming(PG_FUNCTION_ARGS)
{
	VarBit	   *bits = PG_GETARG_VARBIT_P(0);
	GenieLshParameters parameters = {
		.family = GENIE_LSH_HAMMING,
		.n_functions = PG_GETARG_INT32(1),
		.n_dimensions = VARBITLEN(bits),
		.seed = PG_GETARG_INT64(2),
		.width = PG_GETARG_INT32(3)
	};

	if (VARBITLEN(bits) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("bit string has no bits")));
	genie_lsh_check_parameters(&parameters);
	return object_of_codes(&parameters, genie_lsh_codes_of_bits(&parameters, VARBITS(bits)));
}

/* ---- the number of hash functions ---- */

Datum
genie_lsh_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_lsh_functions_needed(PG_GETARG_FLOAT8(0), PG_GETARG_FLOAT8(1)));
}

Datum
genie_lsh_count_bound(PG_FUNCTION_ARGS)
{
	double		epsilon = PG_GETARG_FLOAT8(0);
	double		delta = PG_GETARG_FLOAT8(1);

	genie_lsh_check_probability("epsilon", epsilon);
	genie_lsh_check_probability("delta", delta);
	PG_RETURN_FLOAT8(genie_lsh_functions_bound(epsilon, delta));
}

/*
 * genie_lsh_class.c
 *	  The approximate operator classes (genie_opclass.h) of vectors, sets and bit strings: values and queries.
 *
 *		genie_l2_ops, genie_l2_float8_ops					real[], float8[]	<->
 *		genie_l1_ops, genie_l1_float8_ops					real[], float8[]	<+>
 *		genie_laplacian_ops, genie_laplacian_float8_ops		real[], float8[]	<+>
 *		genie_cosine_ops, genie_cosine_float8_ops			real[], float8[]	<=>
 *		genie_minhash_ops									anyarray			<%>
 *		genie_hamming_ops									bit					<&~>
 *
 * and those of pgvector's type (genie_pgvector.c).
 *
 * A row's keywords are its signature (genie_lsh_signature.h).  The parameters, which genie_lsh_train.c chooses, say
 * which hash functions make it.  So one function here serves all classes of a type, and both kinds of vectors.
 *
 * Queries ask for windows.  A code of L2 or L1 is the number of a bucket on a line.  A query asks for its own bucket
 * and `probes` neighbours on each side (genie_lsh_window), so the match count is the number of functions in whose
 * window a row lies.  Re-hashed codes and codes of bits have no neighbours.
 *
 * Raw keywords, while there are no parameters, and of vectors as long as they wait for a merge:
 *
 *		vectors			pieces of GENIE_VALUE_MAX bytes of the elements as they are; piece j is dimension 2 * j, or
 *						2 * j + 1 if elements are doubles, family BYTEA; pieces of zero bytes are left out; the size is
 *						the length.  Bits of an exact class are such bytes, too, and their size is their number
 *		sets			the elements' keywords, as genie_array_ops makes them
 *		bit strings		dimension 0, family INT, the number of a bit that is set; the size is the length
 *
 * Lengths.  All vectors or bit strings of an index have one length.  It is the size of its raw objects, which the first
 * one decides (genie_opclass.h), or that of the sample's first.  Others are refused.
 */
#include "postgres.h"

#include "access/genam.h"
#include <math.h>

#include "catalog/pg_type.h"
#include "genie_array.h"
#include "genie_lsh_class.h"
#include "genie_lsh_signature.h"
#include "genie_pivots.h"
#include "genie_query.h"
#include "genie_value_bytes.h"
#include "genie_vector_distance.h"
#include "genie_vector_learn.h"
#include "utils/varbit.h"

PG_FUNCTION_INFO_V1(genie_lsh_vector_decompose);
PG_FUNCTION_INFO_V1(genie_lsh_vector_compile);
PG_FUNCTION_INFO_V1(genie_lsh_set_decompose);
PG_FUNCTION_INFO_V1(genie_lsh_set_compile);
PG_FUNCTION_INFO_V1(genie_lsh_bit_decompose);
PG_FUNCTION_INFO_V1(genie_lsh_bit_compile);
PG_FUNCTION_INFO_V1(genie_lsh_sign);

static bool
is_of_pivots(const GenieLshClassParameters *parameters)
{
	return parameters->functions.family == GENIE_LSH_NONE && parameters->functions.width == GENIE_METRIC_PIVOTS;
}

GenieLshClassParameters
genie_lsh_class_parameters(const bytea *parameters)
{
	GenieLshClassParameters result;

	if (VARSIZE(parameters) < VARHDRSZ + sizeof(result))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("an index's hash functions have parameters of %d bytes, not %d",
						(int) (VARSIZE(parameters) - VARHDRSZ), (int) sizeof(result)),
				 errdetail("The index is damaged."),
				 errhint("Please REINDEX it.")));
	memcpy(&result, VARDATA(parameters), sizeof(result));
	if (is_of_pivots(&result) ? !genie_pivots_valid(parameters, result.functions.n_dimensions) :
		!genie_vector_learned_valid(parameters, result.functions.n_dimensions))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("an index has learned what its operator class does not understand"),
				 errdetail("The index is damaged, or a development version of genie has built it."),
				 errhint("Please REINDEX it.")));
	return result;
}

void
genie_lsh_check_length(const GenieLshClassParameters *parameters, uint32 n, const char *what)
{
	if (n != parameters->functions.n_dimensions)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("%s differs in length from those in the index", what),
				 errdetail("Its length is %u, theirs is %u.", n, parameters->functions.n_dimensions)));
}

/* The query without keywords, for an untrained index, whose rows are all candidates. */
static GenieQuery *
empty_query(void)
{
	return genie_query_allocate(0, 0, 0);
}

/* ---- vectors ---- */

void
genie_lsh_normalise(float *vector, uint32 n)
{
	double		squares = 0;
	double		length;

	for (uint32 i = 0; i < n; i++)
		squares += (double) vector[i] * vector[i];
	length = sqrt(squares);
	if (length == 0)
		return;
	for (uint32 i = 0; i < n; i++)
		vector[i] = (float) (vector[i] / length);
}

/* Scales a vector to length 1 if the class hashes vectors so. */
static void
normalise(const GenieLshClassParameters *parameters, float *vector)
{
	if (parameters->normalised)
		genie_lsh_normalise(vector, parameters->functions.n_dimensions);
}

void
genie_lsh_hashed_floats(const GenieLshClassParameters *parameters, GenieVector vector, float *floats)
{
	genie_lsh_check_length(parameters, vector.n, "vector");
	genie_lsh_floats(vector, floats);
	normalise(parameters, floats);
}

static int32 *
codes_of_vector(const GenieLshClassParameters *parameters, GenieVector vector)
{
	float	   *floats = palloc(vector.n * sizeof(float));
	int32	   *codes;

	genie_lsh_hashed_floats(parameters, vector, floats);
	codes = genie_lsh_codes_of_vector(&parameters->functions, floats);
	pfree(floats);
	return codes;
}

void
genie_lsh_add_raw_bytes(const uint8 *bytes, Size n, bool is_double, GenieKeywords *keywords)
{
	static const uint8 zeros[GENIE_VALUE_MAX];

	for (Size at = 0; at < n; at += GENIE_VALUE_MAX)
	{
		uint8		key[GENIE_KEY_MAX];
		uint32		dimension = (uint32) (at / GENIE_VALUE_MAX) * 2 + is_double;
		Size		n_piece = Min(n - at, GENIE_VALUE_MAX);

		if (memcmp(bytes + at, zeros, n_piece) != 0)
			genie_keywords_add(keywords, genie_key_make(key, dimension, GENIE_FAMILY_BYTEA, bytes + at, n_piece));
	}
}

static void
add_raw_vector(GenieVector vector, GenieKeywords *keywords)
{
	genie_lsh_add_raw_bytes(vector.elements, vector.n * genie_vector_element_bytes(vector.is_double), vector.is_double,
							keywords);
	keywords->size = (int32) vector.n;
}

/* Are the elements doubles?  A vector of zeros alone has no pieces, and may have either. */
bool
genie_lsh_raw_is_double(const GenieRaw *raw)
{
	const uint8 *at = raw->bytes;
	uint32		dimension = 0;

	if (raw->n > 0)
	{
		GenieKey	key = genie_packed_next(&at);

		genie_key_get_dimension(key.data, key.len, &dimension);
	}
	return dimension % 2 != 0;
}

void
genie_lsh_raw_bytes(const GenieRaw *raw, bool is_double, uint8 *bytes, Size n)
{
	const uint8 *at = raw->bytes;

	for (uint32 i = 0; i < raw->n; i++)
	{
		GenieKey	key = genie_packed_next(&at);
		uint32		prefix = genie_key_prefix_len(key);
		uint32		dimension;
		Size		first;

		genie_key_get_dimension(key.data, key.len, &dimension);
		first = (Size) dimension / 2 * GENIE_VALUE_MAX;
		if (dimension % 2 != is_double || first + key.len - prefix > n)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("a vector of the pending list is malformed"),
					 errdetail("The index is damaged."),
					 errhint("Please REINDEX it.")));
		memcpy(bytes + first, key.data + prefix, key.len - prefix);
	}
}

void
genie_lsh_raw_elements(const GenieRaw *raw, bool is_double, GenieVector *vector)
{
	Size		n_bytes = raw->size * genie_vector_element_bytes(is_double);
	uint8	   *elements = palloc(n_bytes);

	*vector = (GenieVector) {.elements = elements, .n = (uint32) raw->size, .is_double = is_double};
	if (raw->n * (Size) GENIE_VALUE_MAX < n_bytes)
		memset(elements, 0, n_bytes);
	genie_lsh_raw_bytes(raw, is_double, elements, n_bytes);
}

void
genie_lsh_raw_vector(const GenieRaw *raw, float *vector)
{
	GenieVector elements;

	genie_lsh_raw_elements(raw, genie_lsh_raw_is_double(raw), &elements);
	genie_lsh_floats(elements, vector);
	pfree(unconstify(void *, elements.elements));
}

void
genie_lsh_vector_collect(GenieVector vector, GenieKeywords *keywords)
{
	GenieLshClassParameters parameters;
	int32	   *codes;

	genie_lsh_check_vector(vector);
	if (keywords->parameters == NULL)
	{
		add_raw_vector(vector, keywords);
		return;
	}
	parameters = genie_lsh_class_parameters(keywords->parameters);
	if (keywords->raw)
	{
		genie_lsh_check_length(&parameters, vector.n, "vector");
		add_raw_vector(vector, keywords);
		return;
	}
	codes = codes_of_vector(&parameters, vector);
	genie_lsh_add_codes(codes, parameters.functions.n_functions, keywords);
	pfree(codes);
}

GenieQuery *
genie_lsh_vector_query(GenieVector vector, const bytea *trained)
{
	GenieLshClassParameters parameters;

	genie_lsh_check_vector(vector);
	if (trained == NULL)
		return empty_query();
	parameters = genie_lsh_class_parameters(trained);
	if (parameters.functions.family == GENIE_LSH_NONE)
	{
		genie_lsh_check_length(&parameters, vector.n, "vector");
		return empty_query();
	}
	return genie_lsh_query_of_codes(codes_of_vector(&parameters, vector), parameters.functions.n_functions,
									parameters.probes);
}

/* support function 1 (genie_opclass.h) */
Datum
genie_lsh_vector_decompose(PG_FUNCTION_ARGS)
{
	struct varlena *array = PG_GETARG_VARLENA_PP(0);

	genie_lsh_vector_collect(genie_vector_of_array(array), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_FREE_IF_COPY(array, 0);
	PG_RETURN_VOID();
}

bool
genie_lsh_class_of_vectors(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_lsh_vector_decompose;
}

/* support function 2: the right operand is a vector */
Datum
genie_lsh_vector_compile(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(genie_lsh_vector_query(genie_vector_of_array(PG_GETARG_VARLENA_PP(0)),
											 (const bytea *) PG_GETARG_POINTER(3)));
}

/* ---- sets ---- */

bool
genie_lsh_class_of_arrays(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_lsh_set_decompose;
}

static int32 *
codes_of_packed(const GenieLshClassParameters *parameters, const uint8 *packed, uint32 n)
{
	uint64	   *elements = genie_lsh_elements(packed, n);
	int32	   *codes = genie_lsh_codes_of_set(&parameters->functions, elements, n);

	pfree(elements);
	return codes;
}

static int32 *
codes_of_object(const GenieLshClassParameters *parameters, const struct varlena *object)
{
	uint32		n;
	Size		nbytes;
	const uint8 *packed = genie_object_keys(object, &n, &nbytes);

	return codes_of_packed(parameters, packed, n);
}

/* The codes of the set of an array's elements. */
static int32 *
codes_of_array(FunctionCallInfo fcinfo, const GenieLshClassParameters *parameters, ArrayType *array)
{
	GenieKeywords elements = genie_array_keywords(fcinfo, array);
	int32	   *codes = codes_of_packed(parameters, elements.bytes, elements.n);

	pfree(elements.bytes);
	return codes;
}

/* support function 1 */
Datum
genie_lsh_set_decompose(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);

	if (keywords->parameters == NULL)
		genie_array_collect(genie_array_type_of_call(fcinfo, array), array, keywords);
	else
	{
		GenieLshClassParameters parameters = genie_lsh_class_parameters(keywords->parameters);
		int32	   *codes = codes_of_array(fcinfo, &parameters, array);

		genie_lsh_add_codes(codes, parameters.functions.n_functions, keywords);
		pfree(codes);
	}
	PG_FREE_IF_COPY(array, 0);
	PG_RETURN_VOID();
}

/* support function 2: the right operand is an array or an object */
Datum
genie_lsh_set_compile(PG_FUNCTION_ARGS)
{
	const bytea *trained = (const bytea *) PG_GETARG_POINTER(3);
	GenieLshClassParameters parameters;
	int32	   *codes;

	if (trained == NULL)
		PG_RETURN_POINTER(empty_query());
	parameters = genie_lsh_class_parameters(trained);
	if (PG_GETARG_OID(2) == ANYCOMPATIBLEARRAYOID)
		codes = codes_of_array(fcinfo, &parameters, PG_GETARG_ARRAYTYPE_P(0));
	else
		codes = codes_of_object(&parameters, PG_GETARG_VARLENA_PP(0));
	PG_RETURN_POINTER(genie_lsh_query_of_codes(codes, parameters.functions.n_functions, parameters.probes));
}

/* ---- bit strings ---- */

void
genie_lsh_check_bits(const VarBit *bits)
{
	if (VARBITLEN(bits) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("bit string has no bits")));
	if (VARBITLEN(bits) > GENIE_OBJECT_KEYWORDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("bit string has %d bits, but at most %d can be indexed",
						VARBITLEN(bits), GENIE_OBJECT_KEYWORDS_MAX)));
}

static int32 *
codes_of_bits(const GenieLshClassParameters *parameters, const VarBit *bits)
{
	genie_lsh_check_length(parameters, VARBITLEN(bits), "bit string");
	return genie_lsh_codes_of_bits(&parameters->functions, VARBITS(bits));
}

static void
add_raw_bits(const VarBit *bits, GenieKeywords *keywords)
{
	uint8		buffer[GENIE_KEY_MAX];

	for (int i = 0; i < VARBITLEN(bits); i++)
		if (genie_lsh_bit(VARBITS(bits), i))
		{
			uint8		bytes[GENIE_KEY_INT_BYTES];

			genie_keywords_add(keywords, genie_key_make(buffer, 0, GENIE_FAMILY_INT, bytes,
														genie_key_put_int(bytes, i)));
		}
	keywords->size = VARBITLEN(bits);
}

/* support function 1 */
Datum
genie_lsh_bit_decompose(PG_FUNCTION_ARGS)
{
	VarBit	   *bits = PG_GETARG_VARBIT_P(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);

	genie_lsh_check_bits(bits);
	if (keywords->parameters == NULL)
		add_raw_bits(bits, keywords);
	else
	{
		GenieLshClassParameters parameters = genie_lsh_class_parameters(keywords->parameters);
		int32	   *codes = codes_of_bits(&parameters, bits);

		genie_lsh_add_codes(codes, parameters.functions.n_functions, keywords);
		pfree(codes);
	}
	PG_FREE_IF_COPY(bits, 0);
	PG_RETURN_VOID();
}

/* support function 2: the right operand is a bit string */
Datum
genie_lsh_bit_compile(PG_FUNCTION_ARGS)
{
	VarBit	   *bits = PG_GETARG_VARBIT_P(0);
	const bytea *trained = (const bytea *) PG_GETARG_POINTER(3);
	GenieLshClassParameters parameters;

	genie_lsh_check_bits(bits);
	if (trained == NULL)
		PG_RETURN_POINTER(empty_query());
	parameters = genie_lsh_class_parameters(trained);
	PG_RETURN_POINTER(genie_lsh_query_of_codes(codes_of_bits(&parameters, bits),
											   parameters.functions.n_functions, parameters.probes));
}

uint8 *
genie_lsh_raw_bits(const GenieRaw *raw)
{
	uint8	   *bits = palloc0((raw->size + BITS_PER_BYTE - 1) / BITS_PER_BYTE);
	const uint8 *at = raw->bytes;

	for (uint32 i = 0; i < raw->n; i++)
	{
		GenieKey	key = genie_packed_next(&at);
		uint32		prefix = genie_key_prefix_len(key);
		int64		bit;

		genie_key_get_int(key.data + prefix, key.len - prefix, &bit);
		Assert(bit >= 0 && bit < raw->size);
		bits[bit / BITS_PER_BYTE] |= 0x80 >> (bit % BITS_PER_BYTE);
	}
	return bits;
}

/* ---- rows with raw keywords ---- */

/* support function 6 of all classes; the caller frees what it allocates */
Datum
genie_lsh_sign(PG_FUNCTION_ARGS)
{
	const GenieRaw *raw = (const GenieRaw *) PG_GETARG_POINTER(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	GenieLshClassParameters parameters = genie_lsh_class_parameters(keywords->parameters);
	int32	   *codes;
	float	   *vector;

	if (parameters.functions.family != GENIE_LSH_MINHASH && raw->size != (int32) parameters.functions.n_dimensions)
		PG_RETURN_VOID();
	switch (parameters.functions.family)
	{
		case GENIE_LSH_MINHASH:
			codes = codes_of_packed(&parameters, raw->bytes, raw->n);
			break;
		case GENIE_LSH_HAMMING:
			codes = genie_lsh_codes_of_bits(&parameters.functions, genie_lsh_raw_bits(raw));
			break;
		default:
			vector = palloc(raw->size * sizeof(float));
			genie_lsh_raw_vector(raw, vector);
			normalise(&parameters, vector);
			codes = genie_lsh_codes_of_vector(&parameters.functions, vector);
			break;
	}
	genie_lsh_add_codes(codes, parameters.functions.n_functions, keywords);
	PG_RETURN_VOID();
}

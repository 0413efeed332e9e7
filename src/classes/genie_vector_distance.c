/*
 * genie_vector_distance.c
 *	  Distances of vectors in SQL: <-> (l2), <+> (l1), <=> (cosine) and the inner product of real[] and float8[],
 *	  <&~> (Hamming) of bit; and x @& ball, within a distance.
 *
 * A vector is an array of one dimension, with any lower bound, without NULLs; '{}' has length 0.  genie_vector.c
 * computes the distances, so that an index, a sequential scan and every machine give the same bits.  Arrays are copied
 * only if they must be detoasted; one with a short header is read in place.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "port/pg_bitutils.h"
#include "utils/varbit.h"

#include "genie_ball.h"
#include "genie_vector_distance.h"

PG_FUNCTION_INFO_V1(genie_vector_l2);
PG_FUNCTION_INFO_V1(genie_vector_l1);
PG_FUNCTION_INFO_V1(genie_vector_cosine);
PG_FUNCTION_INFO_V1(genie_vector_negative_inner);
PG_FUNCTION_INFO_V1(genie_vector_inner);
PG_FUNCTION_INFO_V1(genie_hamming_distance);
PG_FUNCTION_INFO_V1(genie_matches_l2_ball);
PG_FUNCTION_INFO_V1(genie_matches_l1_ball);
PG_FUNCTION_INFO_V1(genie_matches_cosine_ball);
PG_FUNCTION_INFO_V1(genie_matches_hamming_ball);

/* An array's header after the length word; it may be unaligned, so it is copied to this. */
typedef struct ArrayHead
{
	int32		ndim;
	int32		dataoffset;		/* from the array's beginning with a long header; 0: no bitmap of NULLs */
	Oid			elemtype;
	int32		length;			/* of the first dimension, if there is one */
} ArrayHead;

StaticAssertDecl(offsetof(ArrayType, ndim) == VARHDRSZ &&
				 offsetof(ArrayType, dataoffset) == VARHDRSZ + offsetof(ArrayHead, dataoffset) &&
				 offsetof(ArrayType, elemtype) == VARHDRSZ + offsetof(ArrayHead, elemtype) &&
				 sizeof(ArrayType) == VARHDRSZ + offsetof(ArrayHead, length), "as arrays lie in memory");

static void
check_no_nulls(const bits8 *bitmap, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		if (!(bitmap[i / BITS_PER_BYTE] & (1 << (i % BITS_PER_BYTE))))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("vector must not contain nulls"),
					 errdetail("Element %u is null.", i + 1)));
}

GenieVector
genie_vector_of_array(const struct varlena *array)
{
	const char *body = VARDATA_ANY(array);
	GenieVector vector = {0};
	ArrayHead	head = {0};

	memcpy(&head, body, Min(sizeof(head), VARSIZE_ANY_EXHDR(array)));
	Assert(head.elemtype == FLOAT4OID || head.elemtype == FLOAT8OID);
	if (head.ndim > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("vector must have one dimension"),
				 errdetail("The array has %d dimensions.", head.ndim)));
	vector.is_double = head.elemtype == FLOAT8OID;
	vector.elements = body;
	if (head.ndim == 0)
		return vector;
	vector.n = (uint32) head.length;
	if (head.dataoffset != 0)
		check_no_nulls((const bits8 *) body + sizeof(ArrayType) + 2 * sizeof(int32) - VARHDRSZ, vector.n);
	vector.elements = body - VARHDRSZ + (head.dataoffset != 0 ? head.dataoffset : ARR_OVERHEAD_NONULLS(1));
	return vector;
}

GenieVectors
genie_vectors_of_queries(ArrayType *array)
{
	GenieVectors vectors = {0};
	int			ndim = ARR_NDIM(array);

	Assert(ARR_ELEMTYPE(array) == FLOAT4OID || ARR_ELEMTYPE(array) == FLOAT8OID);
	if (ndim > 2)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the array of query vectors must have one or two dimensions"),
				 errdetail("It has %d.", ndim)));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the array of query vectors must not contain nulls")));
	vectors.elements = ARR_DATA_PTR(array);
	vectors.is_double = ARR_ELEMTYPE(array) == FLOAT8OID;
	if (ndim > 0)
	{
		vectors.n = ndim == 1 ? 1 : (uint32) ARR_DIMS(array)[0];
		vectors.n_dimensions = (uint32) ARR_DIMS(array)[ndim - 1];
	}
	return vectors;
}

void
genie_vector_check_lengths(GenieVector a, GenieVector b)
{
	if (a.n != b.n)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vectors differ in length"),
				 errdetail("One has %u elements, the other %u.", a.n, b.n)));
}

void
genie_vector_check_finite(GenieVector vector)
{
	uint32		i = genie_vector_not_finite(vector);

	if (i < vector.n)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("vector element %u is not finite", i + 1)));
}

void
genie_vector_widen(GenieVector vector, void *to)
{
	const char *from = vector.elements;
	char	   *at = to;

	Assert(!vector.is_double);
	for (uint32 i = 0; i < vector.n; i++)
	{
		float		narrow;
		double		wide;

		memcpy(&narrow, from + i * sizeof(narrow), sizeof(narrow));
		wide = narrow;
		memcpy(at + i * sizeof(wide), &wide, sizeof(wide));
	}
}

/* ---- functions and operators ---- */

/* The elements as doubles, in palloc'd memory. */
static GenieVector
widen(GenieVector vector)
{
	double	   *elements = palloc(vector.n * sizeof(double));

	genie_vector_widen(vector, elements);
	return (GenieVector) {elements, vector.n, true};
}

/* Where one has floats and the other doubles, the result is that of the cast to double precision[]. */
static double
distance(GenieMetric metric, const struct varlena *left, const struct varlena *right)
{
	GenieVector a = genie_vector_of_array(left);
	GenieVector b = genie_vector_of_array(right);
	GenieVector wide;
	double		result;

	genie_vector_check_lengths(a, b);
	if (a.is_double == b.is_double)
		return genie_vector_measure(metric, a, b);
	wide = widen(a.is_double ? b : a);
	result = a.is_double ? genie_vector_measure(metric, a, wide) : genie_vector_measure(metric, wide, b);
	pfree((void *) wide.elements);
	return result;
}

static Datum
measure(FunctionCallInfo fcinfo, GenieMetric metric)
{
	struct varlena *left = PG_GETARG_VARLENA_PP(0);
	struct varlena *right = PG_GETARG_VARLENA_PP(1);
	double		result = distance(metric, left, right);

	PG_FREE_IF_COPY(left, 0);
	PG_FREE_IF_COPY(right, 1);
	PG_RETURN_FLOAT8(result);
}

/* <-> */
Datum
genie_vector_l2(PG_FUNCTION_ARGS)
{
	return measure(fcinfo, GENIE_METRIC_L2);
}

/* <+> */
Datum
genie_vector_l1(PG_FUNCTION_ARGS)
{
	return measure(fcinfo, GENIE_METRIC_L1);
}

/* <=> */
Datum
genie_vector_cosine(PG_FUNCTION_ARGS)
{
	return measure(fcinfo, GENIE_METRIC_COSINE);
}

Datum
genie_vector_inner(PG_FUNCTION_ARGS)
{
	return measure(fcinfo, GENIE_METRIC_INNER);
}

/* <#> */
Datum
genie_vector_negative_inner(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(-DatumGetFloat8(measure(fcinfo, GENIE_METRIC_INNER)));
}

GenieMetric
genie_vector_metric(const FmgrInfo *function)
{
	return function->fn_addr == genie_vector_l2 ? GENIE_METRIC_L2 :
		function->fn_addr == genie_vector_l1 ? GENIE_METRIC_L1 :
		function->fn_addr == genie_vector_cosine ? GENIE_METRIC_COSINE :
		function->fn_addr == genie_vector_negative_inner ? GENIE_METRIC_INNER : 0;
}

/* The number of bits in which two bit strings differ.  The unused bits of the last byte are 0. */
static double
hamming(const VarBit *a, const VarBit *b)
{
	const bits8 *x = VARBITS(a);
	const bits8 *y = VARBITS(b);
	Size		left = VARBITBYTES(a);
	uint64		n = 0;

	if (VARBITLEN(a) != VARBITLEN(b))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("bit strings differ in length"),
				 errdetail("One has %d bits, the other %d.", VARBITLEN(a), VARBITLEN(b))));
	while (left > 0)
	{
		Size		n_bytes = Min(left, sizeof(uint64));
		uint64		u = 0;
		uint64		v = 0;

		memcpy(&u, x, n_bytes);
		memcpy(&v, y, n_bytes);
		n += (uint64) pg_popcount64(u ^ v);
		x += n_bytes;
		y += n_bytes;
		left -= n_bytes;
	}
	return (double) n;
}

/* <&~> */
Datum
genie_hamming_distance(PG_FUNCTION_ARGS)
{
	VarBit	   *a = PG_GETARG_VARBIT_P(0);
	VarBit	   *b = PG_GETARG_VARBIT_P(1);
	double		result = hamming(a, b);

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	PG_RETURN_FLOAT8(result);
}

bool
genie_distance_is_hamming(const FmgrInfo *function)
{
	return function->fn_addr == genie_hamming_distance;
}

/* ---- balls: a vector or bit string as the center, and a radius ---- */

static Datum
within(FunctionCallInfo fcinfo, GenieMetric metric)
{
	struct varlena *left = PG_GETARG_VARLENA_PP(0);
	Oid			type = genie_vector_of_array(left).is_double ? FLOAT8ARRAYOID : FLOAT4ARRAYOID;
	double		radius;
	Datum		center = genie_ball_float8_parts(PG_GETARG_DATUM(1), type, &radius);
	bool		result = distance(metric, left, PG_DETOAST_DATUM_PACKED(center)) <= radius;

	PG_FREE_IF_COPY(left, 0);
	PG_RETURN_BOOL(result);
}

Datum
genie_matches_l2_ball(PG_FUNCTION_ARGS)
{
	return within(fcinfo, GENIE_METRIC_L2);
}

Datum
genie_matches_l1_ball(PG_FUNCTION_ARGS)
{
	return within(fcinfo, GENIE_METRIC_L1);
}

Datum
genie_matches_cosine_ball(PG_FUNCTION_ARGS)
{
	return within(fcinfo, GENIE_METRIC_COSINE);
}

Datum
genie_matches_hamming_ball(PG_FUNCTION_ARGS)
{
	VarBit	   *bits = PG_GETARG_VARBIT_P(0);
	double		radius;
	Datum		center = genie_ball_float8_parts(PG_GETARG_DATUM(1), BITOID, &radius);
	bool		result = hamming(bits, DatumGetVarBitP(center)) <= radius;

	PG_FREE_IF_COPY(bits, 0);
	PG_RETURN_BOOL(result);
}

GenieMetric
genie_vector_ball_metric(const FmgrInfo *function)
{
	return function->fn_addr == genie_matches_l2_ball ? GENIE_METRIC_L2 :
		function->fn_addr == genie_matches_l1_ball ? GENIE_METRIC_L1 :
		function->fn_addr == genie_matches_cosine_ball ? GENIE_METRIC_COSINE :
		function->fn_addr == genie_matches_hamming_ball ? GENIE_METRIC_HAMMING : 0;
}

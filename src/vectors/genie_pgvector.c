/*
 * genie_pgvector.c
 *	  The operator classes of "vector" and "halfvec", the types of the extension pgvector, and of its operator of bits.
 *
 * genie_enable_pgvector() creates them.  genie's own script cannot: either extension may be installed first, and
 * objects of the script would be restored before pgvector.  So the classes belong to the database, not to the
 * extension.  pg_dump writes them after both extensions, and they are dropped with either: DROP EXTENSION vector
 * CASCADE, DROP EXTENSION genie.  They are
 *
 *		genie_vector_l2_ops				<->		default
 *		genie_vector_l1_ops				<+>		if pgvector has the operator, from 0.7 on
 *		genie_vector_laplacian_ops		<+>		the same
 *		genie_vector_cosine_ops			<=>
 *		genie_vector_l2_exact_ops, genie_vector_l1_exact_ops, genie_vector_cosine_exact_ops, genie_vector_ip_exact_ops
 *		genie_vector_ip_ops				<#>		by graphs alone
 *		genie_halfvec_l2_ops ..			by graphs alone, too, of "halfvec", which pgvector has from 0.7 on
 *		genie_halfvec_l2_exact_ops, genie_halfvec_l2_rabitq_ops ..
 *		genie_bit_hamming_exact_ops		<~> of bit, from pgvector 0.7 on
 *
 * with pgvector's operators, and the hash functions or values of the classes of real[] and bit (genie_lsh_class.c,
 * genie_value_class.c, genie_exact_bits.c).  An operator is pgvector's if it is in the type's schema.
 *
 * Values have the layout of pgvector's files vector.h and halfvec.h: after the length word the number of dimensions and
 * an unused number, two bytes each, then the elements, as floats or as halves (binary16 of IEEE 754).  If another type
 * has the name, each value whose bytes have another layout is refused.  genie_search() takes a real[] and makes such
 * values of its rows, because pgvector's operators take their own type only.
 *
 * A half is a float as it is.  pgvector measures halves in floats, as it does floats; so what genie_value_scan.c says
 * of their roundings holds for both.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "genie_exact_bits.h"
#include "genie_lsh_class.h"
#include "genie_opclass.h"
#include "genie_pgvector.h"
#include "genie_spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(genie_enable_pgvector);
PG_FUNCTION_INFO_V1(genie_pgvector_decompose);
PG_FUNCTION_INFO_V1(genie_pgvector_compile);
PG_FUNCTION_INFO_V1(genie_pgvector_half_decompose);
PG_FUNCTION_INFO_V1(genie_pgvector_half_compile);
PG_FUNCTION_INFO_V1(genie_pgvector_bit_decompose);

/* A value of pgvector's type, with a long header. */
typedef struct PgVector
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int16		n;
	int16		unused;
	float		elements[FLEXIBLE_ARRAY_MEMBER];
} PgVector;

/* A value of "halfvec", with a long header. */
typedef struct PgHalfVector
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int16		n;
	int16		unused;
	uint16		elements[FLEXIBLE_ARRAY_MEMBER];
} PgHalfVector;

typedef enum PgType
{
	PG_VECTOR,
	PG_HALFVEC,
	PG_BIT
} PgType;

typedef enum ClassWay
{
	BY_SIGNATURES,
	BY_VALUES,
	BY_GRAPHS					/* of values: with support function 10 */
} ClassWay;

typedef struct ClassOfVector
{
	PgType		type;
	const char *name;
	const char *operator;
	int			strategy;
	const char *options;		/* support function 4; NULL: none, of a class without signatures */
	const char *train;			/* support function 5 */
	ClassWay	way;
	const char *comment;
} ClassOfVector;

/* The first one is its type's default. */
static const ClassOfVector classes[] = {
	{PG_VECTOR, "genie_vector_l2_ops", "<->", GENIE_L2_STRATEGY, "genie_lsh_bucket_options", "genie_lsh_l2_train",
		BY_SIGNATURES,
	"vectors: nearest by Euclidean distance, approximately"},
	{PG_VECTOR, "genie_vector_l1_ops", "<+>", GENIE_L1_STRATEGY, "genie_lsh_bucket_options", "genie_lsh_l1_train",
		BY_SIGNATURES,
	"vectors: nearest by Manhattan distance, approximately"},
	{PG_VECTOR, "genie_vector_laplacian_ops", "<+>", GENIE_L1_STRATEGY, "genie_lsh_laplacian_options",
		"genie_lsh_laplacian_train", BY_SIGNATURES,
	"vectors: nearest by Manhattan distance, approximately, through the Laplacian kernel"},
	{PG_VECTOR, "genie_vector_cosine_ops", "<=>", GENIE_COSINE_STRATEGY, "genie_lsh_cosine_options",
		"genie_lsh_cosine_train", BY_SIGNATURES,
	"vectors: nearest by cosine distance, approximately"},
	{PG_VECTOR, "genie_vector_l2_exact_ops", "<->", GENIE_L2_STRATEGY, NULL, "genie_exact_l2_train", BY_VALUES,
	"vectors: nearest by Euclidean distance, exactly"},
	{PG_VECTOR, "genie_vector_l1_exact_ops", "<+>", GENIE_L1_STRATEGY, NULL, "genie_exact_l1_train", BY_VALUES,
	"vectors: nearest by Manhattan distance, exactly"},
	{PG_VECTOR, "genie_vector_cosine_exact_ops", "<=>", GENIE_COSINE_STRATEGY, NULL, "genie_exact_cosine_train",
		BY_VALUES,
	"vectors: nearest by cosine distance, exactly"},
	{PG_VECTOR, "genie_vector_ip_exact_ops", "<#>", GENIE_INNER_STRATEGY, NULL, "genie_exact_ip_train", BY_VALUES,
	"vectors: largest inner products, exactly"},
	{PG_HALFVEC, "genie_halfvec_l2_exact_ops", "<->", GENIE_L2_STRATEGY, NULL, "genie_exact_l2_train", BY_VALUES,
	"vectors of halves: nearest by Euclidean distance, exactly"},
	{PG_HALFVEC, "genie_halfvec_l1_exact_ops", "<+>", GENIE_L1_STRATEGY, NULL, "genie_exact_l1_train", BY_VALUES,
	"vectors of halves: nearest by Manhattan distance, exactly"},
	{PG_HALFVEC, "genie_halfvec_cosine_exact_ops", "<=>", GENIE_COSINE_STRATEGY, NULL, "genie_exact_cosine_train",
		BY_VALUES,
	"vectors of halves: nearest by cosine distance, exactly"},
	{PG_HALFVEC, "genie_halfvec_ip_exact_ops", "<#>", GENIE_INNER_STRATEGY, NULL, "genie_exact_ip_train", BY_VALUES,
	"vectors of halves: largest inner products, exactly"},
	{PG_VECTOR, "genie_vector_l2_rabitq_ops", "<->", GENIE_L2_STRATEGY, NULL, "genie_rabitq_l2_train", BY_VALUES,
	"vectors: nearest by Euclidean distance, by a bit a dimension, approximately"},
	{PG_VECTOR, "genie_vector_cosine_rabitq_ops", "<=>", GENIE_COSINE_STRATEGY, NULL, "genie_rabitq_cosine_train",
		BY_VALUES,
	"vectors: nearest by cosine distance, by a bit a dimension, approximately"},
	{PG_VECTOR, "genie_vector_ip_rabitq_ops", "<#>", GENIE_INNER_STRATEGY, NULL, "genie_rabitq_ip_train", BY_VALUES,
	"vectors: largest inner products, by a bit a dimension, approximately"},
	{PG_HALFVEC, "genie_halfvec_l2_rabitq_ops", "<->", GENIE_L2_STRATEGY, NULL, "genie_rabitq_l2_train", BY_VALUES,
	"vectors of halves: nearest by Euclidean distance, by a bit a dimension, approximately"},
	{PG_HALFVEC, "genie_halfvec_cosine_rabitq_ops", "<=>", GENIE_COSINE_STRATEGY, NULL, "genie_rabitq_cosine_train",
		BY_VALUES,
	"vectors of halves: nearest by cosine distance, by a bit a dimension, approximately"},
	{PG_HALFVEC, "genie_halfvec_ip_rabitq_ops", "<#>", GENIE_INNER_STRATEGY, NULL, "genie_rabitq_ip_train", BY_VALUES,
	"vectors of halves: largest inner products, by a bit a dimension, approximately"},
	{PG_VECTOR, "genie_vector_ip_ops", "<#>", GENIE_INNER_STRATEGY, NULL, "genie_exact_ip_train", BY_GRAPHS,
	"vectors: largest inner products, approximately, by proximity graphs"},
	{PG_HALFVEC, "genie_halfvec_l2_ops", "<->", GENIE_L2_STRATEGY, NULL, "genie_exact_l2_train", BY_GRAPHS,
	"vectors of halves: nearest by Euclidean distance, approximately, by proximity graphs"},
	{PG_HALFVEC, "genie_halfvec_l1_ops", "<+>", GENIE_L1_STRATEGY, NULL, "genie_exact_l1_train", BY_GRAPHS,
	"vectors of halves: nearest by Manhattan distance, approximately, by proximity graphs"},
	{PG_HALFVEC, "genie_halfvec_cosine_ops", "<=>", GENIE_COSINE_STRATEGY, NULL, "genie_exact_cosine_train", BY_GRAPHS,
	"vectors of halves: nearest by cosine distance, approximately, by proximity graphs"},
	{PG_HALFVEC, "genie_halfvec_ip_ops", "<#>", GENIE_INNER_STRATEGY, NULL, "genie_exact_ip_train", BY_GRAPHS,
	"vectors of halves: largest inner products, approximately, by proximity graphs"},
	{PG_BIT, "genie_bit_hamming_exact_ops", "<~>", GENIE_HAMMING_STRATEGY, NULL, "genie_exact_hamming_train", BY_VALUES,
	"bit strings: nearest by Hamming distance, exactly"},
};

/* ---- values ---- */

bool
genie_pgvector_index(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_pgvector_decompose;
}

bool
genie_pgvector_bits_index(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_pgvector_bit_decompose;
}

GenieVector
genie_pgvector_elements(Datum value)
{
	const PgVector *vector = (const PgVector *) PG_DETOAST_DATUM(value);

	if (VARSIZE(vector) < offsetof(PgVector, elements) || vector->n <= 0 ||
		VARSIZE(vector) != offsetof(PgVector, elements) + vector->n * sizeof(float))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("value is not a vector as pgvector stores it")));
	return (GenieVector) {vector->elements, vector->n, false};
}

Datum
genie_pgvector_make(const void *elements, uint32 n)
{
	Size		size = offsetof(PgVector, elements) + n * sizeof(float);
	PgVector   *vector;

	if (n > PG_INT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vector of type \"vector\" cannot have %u elements", n)));
	vector = palloc(size);
	SET_VARSIZE(vector, size);
	vector->n = (int16) n;
	vector->unused = 0;
	memcpy(vector->elements, elements, n * sizeof(float));
	return PointerGetDatum(vector);
}

/* ---- halves ---- */

#define HALF_SIGN		0x8000
#define HALF_BITS		10		/* of a mantissa */
#define HALF_INFINITE	31		/* the exponent of infinity and NaN */
#define HALF_LARGEST	65520.0f	/* floats from here on are rounded to infinity */
#define HALF_NORMAL		0x1p-14f	/* the least that has all bits */
#define HALF_STEP		0x1p-24f	/* of those below */

static float
float_of_half(uint16 half)
{
	int			exponent = (half & ~HALF_SIGN) >> HALF_BITS;
	int			mantissa = half & ((1 << HALF_BITS) - 1);
	float		x;

	if (exponent == HALF_INFINITE)
		x = mantissa == 0 ? get_float4_infinity() : get_float4_nan();
	else if (exponent == 0)
		x = (float) mantissa * HALF_STEP;
	else
		x = ldexpf((float) (mantissa + (1 << HALF_BITS)), exponent - 15 - HALF_BITS);
	return half & HALF_SIGN ? -x : x;
}

/* Rounded to the nearest, to the even one of two, as pgvector's cast does. */
static uint16
half_of_float(float x)
{
	uint16		sign = signbit(x) ? HALF_SIGN : 0;
	float		size = fabsf(x);
	int			exponent;
	int			mantissa;

	if (!(size < HALF_LARGEST))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%g is out of range for type \"halfvec\"", x)));
	if (size < HALF_NORMAL)
		return sign | (uint16) rintf(size / HALF_STEP);
	mantissa = (int) rintf(ldexpf(frexpf(size, &exponent), HALF_BITS + 1));
	/* a mantissa that was rounded up to the next power of two counts the exponent up */
	return sign | (uint16) (((exponent + 14 - 1) << HALF_BITS) + mantissa);
}

bool
genie_pgvector_half_index(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_pgvector_half_decompose;
}

GenieVector
genie_pgvector_half_elements(Datum value)
{
	const PgHalfVector *vector = (const PgHalfVector *) PG_DETOAST_DATUM(value);
	float	   *elements;

	if (VARSIZE(vector) < offsetof(PgHalfVector, elements) || vector->n <= 0 ||
		VARSIZE(vector) != offsetof(PgHalfVector, elements) + vector->n * sizeof(uint16))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("value is not a halfvec as pgvector stores it")));
	elements = palloc(vector->n * sizeof(float));
	for (int i = 0; i < vector->n; i++)
		elements[i] = float_of_half(vector->elements[i]);
	return (GenieVector) {elements, vector->n, false};
}

Datum
genie_pgvector_half_make(const void *elements, uint32 n)
{
	Size		size = offsetof(PgHalfVector, elements) + n * sizeof(uint16);
	PgHalfVector *vector;

	if (n > PG_INT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vector of type \"halfvec\" cannot have %u elements", n)));
	vector = palloc(size);
	SET_VARSIZE(vector, size);
	vector->n = (int16) n;
	vector->unused = 0;
	for (uint32 i = 0; i < n; i++)
		vector->elements[i] = half_of_float(((const float *) elements)[i]);
	return PointerGetDatum(vector);
}

/* ---- support functions ---- */

/* support function 1 (genie_opclass.h) */
Datum
genie_pgvector_decompose(PG_FUNCTION_ARGS)
{
	GenieVector vector = genie_pgvector_elements(PG_GETARG_DATUM(0));

	genie_lsh_vector_collect(vector, (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* support function 2: the right operand is such a vector */
Datum
genie_pgvector_compile(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(genie_lsh_vector_query(genie_pgvector_elements(PG_GETARG_DATUM(0)),
											 (const bytea *) PG_GETARG_POINTER(3)));
}

/* support function 1 of the classes of halfvec, which are known by it */
Datum
genie_pgvector_half_decompose(PG_FUNCTION_ARGS)
{
	genie_lsh_vector_collect(genie_pgvector_half_elements(PG_GETARG_DATUM(0)), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* support function 2 */
Datum
genie_pgvector_half_compile(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(genie_lsh_vector_query(genie_pgvector_half_elements(PG_GETARG_DATUM(0)),
											 (const bytea *) PG_GETARG_POINTER(3)));
}

/* support function 1 of the class of bit, which is known by it */
Datum
genie_pgvector_bit_decompose(PG_FUNCTION_ARGS)
{
	genie_exact_bits_collect(genie_exact_bits_elements(PG_GETARG_DATUM(0)), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* ---- the operator classes ---- */

/* pgvector's type; else a type of that name, because pgvector may have been installed without its extension. */
static Oid
find_vector(void)
{
	char	   *type = genie_spi_look_up("SELECT t.oid FROM pg_type t "
										 "LEFT JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid "
										 "AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass "
										 "LEFT JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'vector' "
										 "WHERE t.typname = 'vector' AND t.typtype = 'b' AND t.typlen = -1 "
										 "ORDER BY e.oid IS NULL, t.oid", 0, NULL, NULL);

	if (type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no type \"vector\""),
				 errhint("Install pgvector, and run CREATE EXTENSION vector.")));
	return atooid(type);
}

/* The type "halfvec" in the schema of "vector"; InvalidOid: there is none. */
static Oid
find_halfvec(Oid vector)
{
	char	   *type = genie_spi_look_up("SELECT h.oid FROM pg_type h "
										 "JOIN pg_type v ON h.typnamespace = v.typnamespace "
										 "WHERE v.oid = $1 AND h.typname = 'halfvec' AND h.typtype = 'b' "
										 "AND h.typlen = -1",
										 1, (Oid[]) {OIDOID}, (Datum[]) {ObjectIdGetDatum(vector)});

	return type == NULL ? InvalidOid : atooid(type);
}

/*
 * The qualified name of the operator of that name on two values of the type that returns a float8 and is in the schema
 * of "vector"; NULL: there is none.
 */
static char *
find_operator(const char *name, Oid type, Oid vector)
{
	return genie_spi_look_up("SELECT format('%I.%s', n.nspname, o.oprname) FROM pg_operator o "
							 "JOIN pg_namespace n ON n.oid = o.oprnamespace "
							 "WHERE o.oprname = $1::name AND o.oprleft = $2 AND o.oprright = $2 "
							 "AND o.oprresult = 'float8'::regtype "
							 "AND o.oprnamespace = (SELECT typnamespace FROM pg_type WHERE oid = $3)",
							 3, (Oid[]) {TEXTOID, OIDOID, OIDOID},
							 (Datum[]) {CStringGetTextDatum(name), ObjectIdGetDatum(type), ObjectIdGetDatum(vector)});
}

static bool
class_exists(const char *name, Oid schema)
{
	return genie_spi_look_up("SELECT 1 FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod "
							 "WHERE a.amname = 'genie' AND c.opcname = $1::name AND c.opcnamespace = $2",
							 2, (Oid[]) {TEXTOID, OIDOID},
							 (Datum[]) {CStringGetTextDatum(name), ObjectIdGetDatum(schema)}) != NULL;
}

/* The function is the database's own, as the classes are: genie's script does not know the type. */
static void
create_decompose(const char *schema, const char *name, Oid type, const char *library)
{
	const char *type_name = format_type_extended(type, -1, FORMAT_TYPE_FORCE_QUALIFY);

	genie_spi_execute(psprintf("CREATE OR REPLACE FUNCTION %s.%s(%s, internal) RETURNS void "
							   "AS %s LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE", schema, name, type_name, library));
	genie_spi_execute(psprintf("ALTER FUNCTION %s.%s(%s, internal) DEPENDS ON EXTENSION genie",
							   schema, name, type_name));
	genie_spi_execute(psprintf("COMMENT ON FUNCTION %s.%s(%s, internal) IS 'genie support: a vector''s signature'",
							   schema, name, type_name));
}

static void
create_class(const ClassOfVector *class, const char *schema, const char *type, const char *operator)
{
	const char *own = class->way != BY_SIGNATURES ? "" :
		psprintf("FUNCTION 4 %s.%s(internal), FUNCTION 6 %s.genie_lsh_sign(internal, internal), ", schema,
			 class->options, schema);

	const char *edges = class->way != BY_GRAPHS ? "" : psprintf(", FUNCTION 10 %s.genie_graph_edges()", schema);

	static const char *const decompose[] = {
		"genie_pgvector_decompose", "genie_pgvector_half_decompose", "genie_pgvector_bit_decompose"
	};
	static const char *const compile[] = {
		"genie_pgvector_compile", "genie_pgvector_half_compile", "genie_exact_bit_compile"
	};

	genie_spi_execute(psprintf("CREATE OPERATOR CLASS %s.%s %s FOR TYPE %s USING genie AS "
							   "OPERATOR %d %s (%s, %s) FOR ORDER BY pg_catalog.float_ops, "
							   "FUNCTION 1 %s.%s(%s, internal), "
							   "FUNCTION 2 %s.%s(internal, int2, oid, internal), "
							   "FUNCTION 5 %s.%s(internal), %sFUNCTION 8 %s.genie_vector_value(internal)%s",
							   schema, class->name, class == classes ? "DEFAULT" : "", type,
							   class->strategy, operator, type, type, schema, decompose[class->type], type, schema,
							   compile[class->type], schema, class->train, own, schema, edges));
	genie_spi_execute(psprintf("COMMENT ON OPERATOR CLASS %s.%s USING genie IS '%s'",
							   schema, class->name, class->comment));
}

/*
 * genie_enable_pgvector() returns int: creates those operator classes that do not exist yet, in genie's schema; returns
 * their number.  Its search_path is pg_catalog.  Errors: the user is no superuser; there is no type "vector".
 */
Datum
genie_enable_pgvector(PG_FUNCTION_ARGS)
{
	Oid			namespace = get_func_namespace(fcinfo->flinfo->fn_oid);
	const char *schema = quote_identifier(get_namespace_name(namespace));
	int			n_added = 0;
	Oid			vector;
	Oid			types[3];
	char	   *library;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to create operator classes for \"vector\"")));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	vector = find_vector();
	types[PG_VECTOR] = vector;
	types[PG_HALFVEC] = find_halfvec(vector);
	types[PG_BIT] = BITOID;
	library = genie_spi_look_up("SELECT quote_literal(probin) FROM pg_proc WHERE oid = $1", 1,
								(Oid[]) {OIDOID}, (Datum[]) {ObjectIdGetDatum(fcinfo->flinfo->fn_oid)});
	create_decompose(schema, "genie_pgvector_decompose", vector, library);
	if (OidIsValid(types[PG_HALFVEC]))
		create_decompose(schema, "genie_pgvector_half_decompose", types[PG_HALFVEC], library);
	for (int i = 0; i < lengthof(classes); i++)
	{
		Oid			type = types[classes[i].type];
		char	   *operator = OidIsValid(type) ? find_operator(classes[i].operator, type, vector) : NULL;

		if (operator == NULL || class_exists(classes[i].name, namespace))
			continue;
		create_class(&classes[i], schema, format_type_extended(type, -1, FORMAT_TYPE_FORCE_QUALIFY), operator);
		n_added++;
	}
	SPI_finish();
	PG_RETURN_INT32(n_added);
}

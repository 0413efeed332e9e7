/*
 * genie_pgvector.c
 *	  The operator classes of "vector", the type of the extension pgvector, and of its operator of bits.
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
 *		genie_bit_hamming_exact_ops		<~> of bit, from pgvector 0.7 on
 *
 * with pgvector's operators, and the hash functions or values of the classes of real[] and bit (genie_lsh_class.c,
 * genie_exact_class.c, genie_exact_bits.c).  An operator is pgvector's if it is in the type's schema.
 *
 * Values have the layout of pgvector's file vector.h: after the length word the number of dimensions and an unused
 * number, two bytes each, then the elements as floats.  If another type has the name "vector", each value whose bytes
 * have another layout is refused.  genie_search() takes a real[] and makes such values of its rows, because pgvector's
 * operators take its own type only.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "genie_exact_bits.h"
#include "genie_lsh_class.h"
#include "genie_opclass.h"
#include "genie_pgvector.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(genie_enable_pgvector);
PG_FUNCTION_INFO_V1(genie_pgvector_decompose);
PG_FUNCTION_INFO_V1(genie_pgvector_compile);
PG_FUNCTION_INFO_V1(genie_pgvector_bit_decompose);

/* A value of pgvector's type, with a long header. */
typedef struct PgVector
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int16		n;
	int16		unused;
	float		elements[FLEXIBLE_ARRAY_MEMBER];
} PgVector;

typedef struct ClassOfVector
{
	const char *name;
	const char *operator;
	int			strategy;
	const char *options;		/* support function 4; NULL: the class is exact */
	const char *train;			/* support function 5 */
	bool		is_default;
	const char *comment;
} ClassOfVector;

static const ClassOfVector classes[] = {
	{"genie_vector_l2_ops", "<->", GENIE_L2_STRATEGY, "genie_lsh_bucket_options", "genie_lsh_l2_train", true,
	"vectors: nearest by Euclidean distance, approximately"},
	{"genie_vector_l1_ops", "<+>", GENIE_L1_STRATEGY, "genie_lsh_bucket_options", "genie_lsh_l1_train", false,
	"vectors: nearest by Manhattan distance, approximately"},
	{"genie_vector_laplacian_ops", "<+>", GENIE_L1_STRATEGY, "genie_lsh_laplacian_options",
		"genie_lsh_laplacian_train", false,
	"vectors: nearest by Manhattan distance, approximately, through the Laplacian kernel"},
	{"genie_vector_cosine_ops", "<=>", GENIE_COSINE_STRATEGY, "genie_lsh_cosine_options",
		"genie_lsh_cosine_train", false,
	"vectors: nearest by cosine distance, approximately"},
	{"genie_vector_l2_exact_ops", "<->", GENIE_L2_STRATEGY, NULL, "genie_exact_l2_train", false,
	"vectors: nearest by Euclidean distance, exactly"},
	{"genie_vector_l1_exact_ops", "<+>", GENIE_L1_STRATEGY, NULL, "genie_exact_l1_train", false,
	"vectors: nearest by Manhattan distance, exactly"},
	{"genie_vector_cosine_exact_ops", "<=>", GENIE_COSINE_STRATEGY, NULL, "genie_exact_cosine_train", false,
	"vectors: nearest by cosine distance, exactly"},
	{"genie_vector_ip_exact_ops", "<#>", GENIE_INNER_STRATEGY, NULL, "genie_exact_ip_train", false,
	"vectors: largest inner products, exactly"},
	{"genie_bit_hamming_exact_ops", "<~>", GENIE_HAMMING_STRATEGY, NULL, "genie_exact_hamming_train", false,
	"bit strings: nearest by Hamming distance, exactly"},
};

/* Is it of bit, not "vector"? */
static bool
is_of_bits(const ClassOfVector *class)
{
	return class->strategy == GENIE_HAMMING_STRATEGY;
}

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

/* support function 1 of the class of bit, which is known by it */
Datum
genie_pgvector_bit_decompose(PG_FUNCTION_ARGS)
{
	genie_exact_bits_collect(genie_exact_bits_elements(PG_GETARG_DATUM(0)), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* ---- the operator classes ---- */

/* The first field of a query's first row, in the current memory context; NULL: there is no row. */
static char *
look_up(const char *query, int n, Oid *types, Datum *values)
{
	if (SPI_execute_with_args(query, n, types, values, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look up what pgvector has");
	return SPI_processed == 0 ? NULL : SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

static void
execute(const char *command)
{
	if (SPI_execute(command, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute \"%s\"", command);
}

/* pgvector's type; else a type of that name, because pgvector may have been installed without its extension. */
static Oid
find_vector(void)
{
	char	   *type = look_up("SELECT t.oid FROM pg_type t "
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

/*
 * The qualified name of the operator of that name on two values of the type that returns a float8 and is in the schema
 * of "vector"; NULL: there is none.
 */
static char *
find_operator(const char *name, Oid type, Oid vector)
{
	return look_up("SELECT format('%I.%s', n.nspname, o.oprname) FROM pg_operator o "
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
	return look_up("SELECT 1 FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod "
				   "WHERE a.amname = 'genie' AND c.opcname = $1::name AND c.opcnamespace = $2",
				   2, (Oid[]) {TEXTOID, OIDOID},
				   (Datum[]) {CStringGetTextDatum(name), ObjectIdGetDatum(schema)}) != NULL;
}

static void
create_class(const ClassOfVector *class, const char *schema, const char *type, const char *operator)
{
	const char *own = class->options == NULL ? "" :
		psprintf("FUNCTION 4 %s.%s(internal), FUNCTION 6 %s.genie_lsh_sign(internal, internal), ", schema,
			 class->options, schema);

	const char *decompose = is_of_bits(class) ? "genie_pgvector_bit_decompose" : "genie_pgvector_decompose";
	const char *compile = is_of_bits(class) ? "genie_exact_bit_compile" : "genie_pgvector_compile";

	execute(psprintf("CREATE OPERATOR CLASS %s.%s %s FOR TYPE %s USING genie AS "
					 "OPERATOR %d %s (%s, %s) FOR ORDER BY pg_catalog.float_ops, "
					 "FUNCTION 1 %s.%s(%s, internal), "
					 "FUNCTION 2 %s.%s(internal, int2, oid, internal), "
					 "FUNCTION 5 %s.%s(internal), %sFUNCTION 8 %s.genie_vector_value(internal)",
					 schema, class->name, class->is_default ? "DEFAULT" : "", type,
					 class->strategy, operator, type, type, schema, decompose, type, schema, compile, schema,
					 class->train, own, schema));
	execute(psprintf("COMMENT ON OPERATOR CLASS %s.%s USING genie IS '%s'", schema, class->name, class->comment));
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
	const char *type;
	char	   *library;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to create operator classes for \"vector\"")));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	vector = find_vector();
	type = format_type_extended(vector, -1, FORMAT_TYPE_FORCE_QUALIFY);
	library = look_up("SELECT quote_literal(probin) FROM pg_proc WHERE oid = $1", 1,
					  (Oid[]) {OIDOID}, (Datum[]) {ObjectIdGetDatum(fcinfo->flinfo->fn_oid)});
	execute(psprintf("CREATE OR REPLACE FUNCTION %s.genie_pgvector_decompose(%s, internal) RETURNS void "
					 "AS %s LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE", schema, type, library));
	execute(psprintf("ALTER FUNCTION %s.genie_pgvector_decompose(%s, internal) DEPENDS ON EXTENSION genie",
					 schema, type));
	execute(psprintf("COMMENT ON FUNCTION %s.genie_pgvector_decompose(%s, internal) "
					 "IS 'genie support: a vector''s signature'", schema, type));
	for (int i = 0; i < lengthof(classes); i++)
	{
		char	   *operator = find_operator(classes[i].operator, is_of_bits(&classes[i]) ? BITOID : vector, vector);

		if (operator == NULL || class_exists(classes[i].name, namespace))
			continue;
		create_class(&classes[i], schema, is_of_bits(&classes[i]) ? "pg_catalog.bit" : type, operator);
		n_added++;
	}
	SPI_finish();
	PG_RETURN_INT32(n_added);
}

/*
 * genie_metric.c
 *	  genie_create_metric() and genie_drop_metric(): operator classes of a metric (genie_pivots.h) by a user's distance
 *	  function.
 *
 * What they make, in genie's schema, belongs to the database and not to the extension, so that pg_dump writes it:
 *
 *		genie_NAME_ops				the operator class
 *		the operator				unless the distance function has one of that name
 *		NAME_ball, @&				a type of a center and a radius, and the condition
 *		genie_NAME_within			the function of that
 *		genie_NAME_distance			a function that calls the distance, where that is of SQL or returns another number
 *		genie_NAME_tolerance		support function 9
 *		genie_NAME_decompose		support function 1, which has the type in its signature
 *
 * Everything is done by SQL commands, so the rules for names, privileges and dependencies are PostgreSQL's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "genie_compat.h"
#include "genie_opclass.h"
#include "genie_spi.h"

#define NAME_MAX_BYTES	(NAMEDATALEN - 1 - (int) strlen("genie__tolerance"))
#define OF_OPERATOR	"distance, made by genie_create_metric()"	/* its comment, by which it is known */
#define OPERATOR_CHARACTERS	"+-*/<>=~!@#%^&|`?"

PG_FUNCTION_INFO_V1(genie_create_metric);
PG_FUNCTION_INFO_V1(genie_drop_metric);

/* What is made, with names quoted. */
typedef struct Metric
{
	const char *name;			/* as it was given */
	const char *schema;			/* genie's */
	Oid			type;
	const char *type_name;
	Oid			function;		/* the distance */
	const char *function_name;	/* of the one that returns a float8 */
	const char *parallel;
	const char *library;
} Metric;

/* A name of the metric's, qualified and quoted: genie_NAME_ and a suffix. */
static const char *
name_of(const Metric *metric, const char *suffix)
{
	return psprintf("%s.%s", metric->schema, quote_identifier(psprintf("genie_%s_%s", metric->name, suffix)));
}

static void
check_superuser(void)
{
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to create or drop a metric"),
				 errdetail("It has an operator class.")));
}

static void
check_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) > NAME_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("name of a metric must have 1 to %d bytes", NAME_MAX_BYTES)));
}

/* There is no operator class of that name. */
static void
check_new(const Metric *metric)
{
	const char *class = psprintf("genie_%s_ops", metric->name);

	if (genie_spi_look_up("SELECT 1 FROM pg_opfamily WHERE opfname = $1::name AND opfnamespace = $2::regnamespace",
						  2, (Oid[]) {TEXTOID, TEXTOID},
						  (Datum[]) {CStringGetTextDatum(class), CStringGetTextDatum(metric->schema)}) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("operator class \"%s\" already exists", class),
				 errhint("Choose another name, or drop a metric by genie_drop_metric().")));
}

static void
check_operator(const char *name)
{
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN || name[strspn(name, OPERATOR_CHARACTERS)] != '\0' ||
		strstr(name, "--") != NULL || strstr(name, "/*") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("\"%s\" is no name of an operator", name),
				 errhint("Operators consist of the characters %s, without -- and /*.", OPERATOR_CHARACTERS)));
}

/* A function goes with the extension. */
static void
depend(const char *name, const char *first, const char *second)
{
	const char *arguments = first == NULL ? "" : psprintf("%s, %s", first, second);

	genie_spi_execute(psprintf("ALTER FUNCTION %s(%s) DEPENDS ON EXTENSION genie", name, arguments));
}

/* Checks the distance function, and fills in what follows from it. */
static void
check_function(Metric *metric)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(metric->function));
	const char *given = format_procedure_extended(metric->function, FORMAT_PROC_FORCE_QUALIFY);
	Form_pg_proc function;
	Oid			result;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("there is no function with OID %u", metric->function)));
	function = (Form_pg_proc) GETSTRUCT(tuple);
	result = function->prorettype;
	if (function->prokind != PROKIND_FUNCTION || function->pronargs != 2 || function->proretset ||
		function->proargtypes.values[0] != function->proargtypes.values[1] ||
		get_typtype(function->proargtypes.values[0]) == TYPTYPE_PSEUDO)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s is not a distance", given),
				 errdetail("A distance takes two values of one type, and returns a number.")));
	if (result != FLOAT8OID && result != FLOAT4OID && result != INT2OID && result != INT4OID && result != INT8OID &&
		result != NUMERICOID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s is not a distance", given),
				 errdetail("It returns %s, which is not a number.", format_type_be(result))));
	if (function->provolatile != PROVOLATILE_IMMUTABLE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("function %s is not immutable", given),
				 errdetail("An index keeps distances that it has computed."),
				 errhint("If its result depends on its arguments alone, ALTER FUNCTION ... IMMUTABLE.")));
	metric->type = function->proargtypes.values[0];
	metric->type_name = format_type_extended(metric->type, -1, FORMAT_TYPE_FORCE_QUALIFY);
	metric->parallel = function->proparallel == PROPARALLEL_SAFE ? "SAFE" :
		function->proparallel == PROPARALLEL_RESTRICTED ? "RESTRICTED" : "UNSAFE";
	metric->function_name = psprintf("%s.%s", quote_identifier(get_namespace_name(function->pronamespace)),
									 quote_identifier(NameStr(function->proname)));
	if (get_typtype(metric->type) == TYPTYPE_DOMAIN)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function %s is of a domain", given),
				 errdetail("Operator classes are of types."),
				 errhint("Make a function for %s, and create a metric by that.",
						 format_type_be(getBaseType(metric->type)))));
	if (get_typlen(metric->type) == -2)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("values of type %s cannot be indexed", format_type_be(metric->type))));
	if (result != FLOAT8OID || function->prolang == SQLlanguageId)
	{
		const char *name = name_of(metric, "distance");

		/* one of SQL, the user's or this, would be replaced by its body in queries, which no index knows */
		genie_spi_execute(psprintf("CREATE FUNCTION %s(%s, %s) RETURNS float8 LANGUAGE plpgsql IMMUTABLE PARALLEL %s "
								   "AS %s", name, metric->type_name, metric->type_name, metric->parallel,
								   quote_literal_cstr(psprintf("BEGIN RETURN %s($1, $2); END",
															   metric->function_name))));
		depend(name, metric->type_name, metric->type_name);
		metric->function_name = name;
	}
	ReleaseSysCache(tuple);
}

/* The operator of that name by the distance, qualified, which is made if there is none. */
static const char *
find_operator(const Metric *metric, const char *name)
{
	const char *distance = psprintf("%s(%s, %s)", metric->function_name, metric->type_name, metric->type_name);
	char	   *found = genie_spi_look_up("SELECT format('%I.%s', n.nspname, o.oprname) FROM pg_operator o "
										  "JOIN pg_namespace n ON n.oid = o.oprnamespace "
										  "WHERE o.oprname = $1::name AND o.oprleft = $2 AND o.oprright = $2 "
										  "AND o.oprcode = $3::regprocedure ORDER BY o.oid",
										  3, (Oid[]) {TEXTOID, OIDOID, TEXTOID},
										  (Datum[]) {CStringGetTextDatum(name), ObjectIdGetDatum(metric->type),
													 CStringGetTextDatum(distance)});

	if (found != NULL)
		return found;
	genie_spi_execute(psprintf("CREATE OPERATOR %s.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s)",
							   metric->schema, name, metric->type_name, metric->type_name, metric->function_name));
	genie_spi_execute(psprintf("COMMENT ON OPERATOR %s.%s (%s, %s) IS '%s'",
							   metric->schema, name, metric->type_name, metric->type_name, OF_OPERATOR));
	return psprintf("%s.%s", metric->schema, name);
}

/* Support functions of this metric alone. */
static void
create_functions(const Metric *metric, double tolerance)
{
	const char *decompose = name_of(metric, "decompose");
	const char *of_tolerance = name_of(metric, "tolerance");

	genie_spi_execute(psprintf("CREATE FUNCTION %s() RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE "
							   "RETURN %.17g::float8", of_tolerance, tolerance));
	genie_spi_execute(psprintf("COMMENT ON FUNCTION %s() IS "
							   "'genie support: how far the distance may be wrong, relatively'", of_tolerance));
	genie_spi_execute(psprintf("CREATE FUNCTION %s(%s, internal) RETURNS void AS %s, 'genie_pivots_decompose' "
							   "LANGUAGE C IMMUTABLE STRICT PARALLEL %s",
							   decompose, metric->type_name, metric->library, metric->parallel));
	genie_spi_execute(psprintf("COMMENT ON FUNCTION %s(%s, internal) IS "
							   "'genie support: a value''s distances to pivots'",
							   decompose, metric->type_name));
	depend(of_tolerance, NULL, NULL);
	depend(decompose, metric->type_name, "internal");
}

/* The name of the type of balls, qualified and quoted. */
static const char *
ball_of(const Metric *metric)
{
	return psprintf("%s.%s", metric->schema, quote_identifier(psprintf("%s_ball", metric->name)));
}

/* The type, and the condition, whose function is not of SQL for the reason that check_function() gives. */
static void
create_ball(const Metric *metric)
{
	const char *ball = ball_of(metric);
	const char *within = name_of(metric, "within");
	const char *body = psprintf("BEGIN RETURN %s($1, ($2).center) <= %s.genie_ball_radius($2); END",
								metric->function_name, metric->schema);

	genie_spi_execute(psprintf("CREATE TYPE %s AS (center %s, radius float8)", ball, metric->type_name));
	genie_spi_execute(psprintf("COMMENT ON TYPE %s IS 'a value, and the largest distance from it'", ball));
	genie_spi_execute(psprintf("CREATE FUNCTION %s(%s, %s) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL %s "
							   "AS %s", within, metric->type_name, ball, metric->parallel, quote_literal_cstr(body)));
	genie_spi_execute(psprintf("COMMENT ON FUNCTION %s(%s, %s) IS 'implementation of @& operator'", within,
							   metric->type_name, ball));
	depend(within, metric->type_name, ball);
	genie_spi_execute(psprintf("CREATE OPERATOR %s.@& (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s, "
							   "RESTRICT = matchingsel, JOIN = matchingjoinsel)", metric->schema, metric->type_name,
							   ball, within));
	genie_spi_execute(psprintf("COMMENT ON OPERATOR %s.@& (%s, %s) IS 'within the distance'", metric->schema,
							   metric->type_name, ball));
}

static Metric
begin(FunctionCallInfo fcinfo)
{
	Metric		metric = {.name = text_to_cstring(PG_GETARG_TEXT_PP(0))};

	check_superuser();
	check_name(metric.name);
	metric.schema = quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	metric.library = genie_spi_look_up("SELECT quote_literal(probin) FROM pg_proc WHERE oid = $1", 1,
									   (Oid[]) {OIDOID}, (Datum[]) {ObjectIdGetDatum(fcinfo->flinfo->fn_oid)});
	return metric;
}

/*
 * genie_create_metric(name text, distance regprocedure, operator text, tolerance float8) returns void.  Its search_path
 * is pg_catalog.  Errors: the user is no superuser; the function is no distance, or not immutable; the tolerance is not
 * from 0 to 1; something of such a name exists.
 */
Datum
genie_create_metric(PG_FUNCTION_ARGS)
{
	Metric		metric = begin(fcinfo);
	const char *name = text_to_cstring(PG_GETARG_TEXT_PP(2));
	double		tolerance = PG_GETARG_FLOAT8(3);
	const char *class = name_of(&metric, "ops");
	const char *operator;
	const char *type;

	check_operator(name);
	check_new(&metric);
	if (!(tolerance >= 0 && tolerance <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tolerance must be from 0 to 1"),
				 errdetail("It is how far distances may be wrong by rounding, relative to themselves.")));
	metric.function = PG_GETARG_OID(1);
	check_function(&metric);
	type = metric.type_name;
	operator = find_operator(&metric, name);
	create_functions(&metric, tolerance);
	create_ball(&metric);
	genie_spi_execute(psprintf("CREATE OPERATOR CLASS %s FOR TYPE %s USING genie AS "
							   "OPERATOR 2 %s.@& (%s, %s), "
							   "OPERATOR %d %s (%s, %s) FOR ORDER BY pg_catalog.float_ops, "
							   "FUNCTION 1 %s(%s, internal), "
							   "FUNCTION 2 %s.genie_pivots_compile(internal, int2, oid, internal), "
							   "FUNCTION 5 %s.genie_pivots_train(internal), "
							   "FUNCTION 7 %s(%s, %s), "
							   "FUNCTION 8 %s.genie_pivots_value(internal), "
							   "FUNCTION 9 %s()",
							   class, type, metric.schema, type, ball_of(&metric),
							   GENIE_METRIC_STRATEGY, operator, type, type, name_of(&metric, "decompose"), type,
							   metric.schema, metric.schema, metric.function_name, type, type, metric.schema,
							   name_of(&metric, "tolerance")));
	genie_spi_execute(psprintf("COMMENT ON OPERATOR CLASS %s USING genie IS 'nearest by a distance, exactly'", class));
	SPI_finish();
	PG_RETURN_VOID();
}

/* Drops the condition: the operator whose right operand is a ball. */
static void
drop_ball_operator(const Metric *metric)
{
	char	   *operator = genie_spi_look_up("SELECT oid::regoperator FROM pg_operator "
											 "WHERE oprname = '@&' AND oprright = $1::regtype",
											 1, (Oid[]) {TEXTOID}, (Datum[]) {CStringGetTextDatum(ball_of(metric))});

	if (operator != NULL)
		genie_spi_execute(psprintf("DROP OPERATOR %s", operator));
}

/* Drops the functions that there are. */
static void
drop_functions(const Metric *metric)
{
	static const char *const suffixes[] = {"within", "decompose", "tolerance", "distance"};

	for (int i = 0; i < lengthof(suffixes); i++)
	{
		const char *name = psprintf("genie_%s_%s", metric->name, suffixes[i]);
		char	   *signature = genie_spi_look_up("SELECT oid::regprocedure FROM pg_proc "
												  "WHERE proname = $1::name AND pronamespace = $2::regnamespace",
												  2, (Oid[]) {TEXTOID, TEXTOID},
												  (Datum[]) {CStringGetTextDatum(name),
															 CStringGetTextDatum(metric->schema)});

		if (signature != NULL)
			genie_spi_execute(psprintf("DROP FUNCTION %s", signature));
	}
}

/*
 * genie_drop_metric(name text) returns void: drops what genie_create_metric() made.  Errors: the user is no superuser;
 * there is no such metric; indexes need it.
 */
Datum
genie_drop_metric(PG_FUNCTION_ARGS)
{
	Metric		metric = begin(fcinfo);
	const char *class = name_of(&metric, "ops");
	char	   *operator = genie_spi_look_up("SELECT a.amopopr FROM pg_opfamily f "
											 "JOIN pg_amop a ON a.amopfamily = f.oid "
											 "WHERE f.opfname = $1::name AND f.opfnamespace = $2::regnamespace "
											 "AND a.amopstrategy = $3",
											 3, (Oid[]) {TEXTOID, TEXTOID, INT4OID},
											 (Datum[]) {CStringGetTextDatum(psprintf("genie_%s_ops", metric.name)),
														CStringGetTextDatum(metric.schema),
														Int32GetDatum(GENIE_METRIC_STRATEGY)});

	if (operator == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no metric \"%s\"", metric.name)));
	genie_spi_execute(psprintf("DROP OPERATOR FAMILY %s USING genie", class));
	drop_ball_operator(&metric);
	/* another metric may have the operator, too */
	operator = genie_spi_look_up("SELECT o.oid::regoperator FROM pg_operator o WHERE o.oid = $1 "
								 "AND obj_description(o.oid, 'pg_operator') = $2 "
								 "AND NOT EXISTS (SELECT FROM pg_amop a WHERE a.amopopr = o.oid)",
								 2, (Oid[]) {OIDOID, TEXTOID},
								 (Datum[]) {ObjectIdGetDatum(atooid(operator)), CStringGetTextDatum(OF_OPERATOR)});
	if (operator != NULL)
		genie_spi_execute(psprintf("DROP OPERATOR %s", operator));
	drop_functions(&metric);
	genie_spi_execute(psprintf("DROP TYPE %s", ball_of(&metric)));
	SPI_finish();
	PG_RETURN_VOID();
}

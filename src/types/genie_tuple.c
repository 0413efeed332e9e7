/*
 * genie_tuple.c
 *	  genie_tuple() and genie_tuple_query(): relational tuples as objects and as queries.
 *
 * Argument i is attribute i, counted from 1.  Arguments may have any types, which are known when the query is planned.
 * So the first call decides how each argument is normalised, and keeps that in fn_extra.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_criterion.h"
#include "genie_object.h"
#include "genie_query.h"
#include "genie_value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(genie_tuple);
PG_FUNCTION_INFO_V1(genie_tuple_query);

typedef struct TupleState
{
	GenieKeywords keywords;
	GenieAttribute attributes[FLEXIBLE_ARRAY_MEMBER];
} TupleState;

/* The type that the parser found for an argument. */
static Oid
argument_type(FunctionCallInfo fcinfo, int argument)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argument);

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type of argument %d", argument + 1)));
	return type;
}

static void
refuse_variadic_array(FunctionCallInfo fcinfo, const char *function)
{
	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s does not take a VARIADIC array", function),
				 errhint("List the attributes one by one: their types may differ.")));
}

/* An attribute has one value, not several. */
static void
check_scalar(Oid type, int argument)
{
	Oid			base = getBaseType(type);
	char		typtype = get_typtype(base);

	if (OidIsValid(get_element_type(base)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("argument %d of genie_tuple is an array", argument + 1),
				 errdetail("An attribute has one value; %s has several.", format_type_be(type)),
				 errhint("Index the array itself, or cast it to text.")));
	if (typtype == TYPTYPE_RANGE || typtype == TYPTYPE_MULTIRANGE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("argument %d of genie_tuple is a range", argument + 1),
				 errdetail("An attribute has one value; %s has several.", format_type_be(type)),
				 errhint("Use its bounds as two attributes, or cast it to text.")));
}

static TupleState *
tuple_state(FunctionCallInfo fcinfo)
{
	int			n = PG_NARGS();
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	TupleState *state;

	refuse_variadic_array(fcinfo, "genie_tuple");
	state = palloc(offsetof(TupleState, attributes) + n * sizeof(GenieAttribute));
	genie_keywords_init(&state->keywords);
	for (int i = 0; i < n; i++)
	{
		Oid			type = argument_type(fcinfo, i);

		check_scalar(type, i);
		genie_attribute_init(&state->attributes[i], i + 1, type, CurrentMemoryContext);
	}
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

Datum
genie_tuple(PG_FUNCTION_ARGS)
{
	TupleState *state = fcinfo->flinfo->fn_extra;
	int			n = PG_NARGS();
	uint8		key[GENIE_KEY_MAX];

	if (state == NULL)
		state = tuple_state(fcinfo);
	genie_keywords_reset(&state->keywords);
	for (int i = 0; i < n; i++)
	{
		if (!PG_ARGISNULL(i))
			genie_keywords_add(&state->keywords,
							   genie_attribute_key(&state->attributes[i], PG_GETARG_DATUM(i), key));
	}
	genie_keywords_finish(&state->keywords);
	PG_RETURN_POINTER(genie_object_make(&state->keywords));
}

static GenieCriterion *
criteria(FunctionCallInfo fcinfo)
{
	int			n = PG_NARGS();
	GenieCriterion *criteria;

	refuse_variadic_array(fcinfo, "genie_tuple_query");
	criteria = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, n * sizeof(GenieCriterion));
	for (int i = 0; i < n; i++)
		genie_criterion_init(&criteria[i], i + 1, argument_type(fcinfo, i), fcinfo->flinfo->fn_mcxt);
	fcinfo->flinfo->fn_extra = criteria;
	return criteria;
}

Datum
genie_tuple_query(PG_FUNCTION_ARGS)
{
	GenieCriterion *attributes = fcinfo->flinfo->fn_extra;
	int			n = PG_NARGS();
	int32		min_match = 0;
	GenieQueryBuilder builder;

	if (attributes == NULL)
		attributes = criteria(fcinfo);
	genie_query_begin(&builder);
	for (int i = 0; i < n; i++)
	{
		if (PG_ARGISNULL(i))
			continue;
		genie_criterion_add(&attributes[i], PG_GETARG_DATUM(i), &builder);
		min_match++;
	}
	PG_RETURN_POINTER(genie_query_finish(&builder, min_match));
}

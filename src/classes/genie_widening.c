/*
 * genie_widening.c
 *	  Arrays of different widths of a type on both sides of an operator: planner support functions, which let a column
 *	  that PostgreSQL would cast keep its index.
 *
 * PostgreSQL casts the narrower operand.  If that is the column, the cast hides it from its index:
 *
 *		ints::bigint[] <&> $1				$1 is a bigint[]
 *		embedding::float8[] <-> $1			embedding is a real[], $1 a float8[]
 *
 * The support functions take that cast off again, and use an operator that takes both types:
 *
 *		ints <&> genie_query($1)			ints <%> genie_object($1)
 *		embedding <->^ $1
 *
 * The results are the same.  A query matches by value: two types of one family have the same keyword for a value
 * (genie_value.c), and beside integers, numerics are converted (genie_int_operand.c).  <->^ and its like compute with
 * doubles, as the cast's result would be (genie_vector_distance.c).  Other casts between families (int to float) stay,
 * and so do casts that the user wrote: an expression index may have the same cast.
 *
 * Functions and operators are looked up in the schema of the function that is supported, without a search path.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "genie_compat.h"
#include "genie_int_array.h"
#include "genie_vector_distance.h"

PG_FUNCTION_INFO_V1(genie_widening_support);
PG_FUNCTION_INFO_V1(genie_vector_widening_support);

/* Do values of one type match by value what PostgreSQL would otherwise cast them to, without being asked? */
static bool
matches_by_value(Oid from, Oid to)
{
	return from == to ||
		((from == INT2OID || from == INT4OID) && (to == INT4OID || to == INT8OID)) ||
		(genie_int_width(from) != 0 && to == NUMERICOID) ||
		(from == FLOAT4OID && to == FLOAT8OID) ||
		(from == VARCHAROID && to == TEXTOID) || (from == TEXTOID && to == VARCHAROID);
}

/* The column below a cast that PostgreSQL added, and the other operand. */
typedef struct WidenedColumn
{
	Expr	   *column;
	Node	   *query;
	Oid			from;			/* types of elements */
	Oid			to;
} WidenedColumn;

static bool
find_widened(Node *operand, Node *other, WidenedColumn *found)
{
	ArrayCoerceExpr *cast = (ArrayCoerceExpr *) operand;

	if (!IsA(operand, ArrayCoerceExpr) || cast->coerceformat != COERCE_IMPLICIT_CAST ||
		!contain_vars_of_level(operand, 0) || contain_vars_of_level(other, 0))
		return false;
	*found = (WidenedColumn) {cast->arg, other, get_base_element_type(exprType((Node *) cast->arg)),
	get_base_element_type(cast->resulttype)};
	return true;
}

/* The operators are symmetric: either operand may be the column. */
static const FuncExpr *
requested_call(Node *request, WidenedColumn *found)
{
	FuncExpr   *call;

	if (!IsA(request, SupportRequestSimplify))
		return NULL;
	call = ((SupportRequestSimplify *) request)->fcall;
	return find_widened(linitial(call->args), lsecond(call->args), found) ||
		find_widened(lsecond(call->args), linitial(call->args), found) ? call : NULL;
}

/* column operator query; NULL: there is no such operator in that schema */
static Node *
make_operation(const char *name, Oid left, Oid right, const FuncExpr *call, Expr *column, Node *query)
{
	Oid			operator = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid, CStringGetDatum(name),
										   ObjectIdGetDatum(left), ObjectIdGetDatum(right),
										   ObjectIdGetDatum(get_func_namespace(call->funcid)));
	OpExpr	   *result;

	if (!OidIsValid(operator))
		return NULL;
	result = (OpExpr *) make_opclause(operator, call->funcresulttype, false, column, (Expr *) query, InvalidOid,
									  call->inputcollid);
	set_opfuncid(result);
	return (Node *) result;
}

/* The array as a genie_query or genie_object; NULL: there is no function for that in that schema. */
static Node *
make_conversion(const char *name, List *args, const FuncExpr *call, PlannerInfo *root)
{
	static const Oid types[] = {ANYARRAYOID, INT4OID};
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
										   PointerGetDatum(buildoidvector(types, list_length(args))),
										   ObjectIdGetDatum(get_func_namespace(call->funcid)));

	if (!OidIsValid(function))
		return NULL;
	return eval_const_expressions(root, (Node *) makeFuncExpr(function, get_func_rettype(function), args, InvalidOid,
															  InvalidOid, COERCE_EXPLICIT_CALL));
}

/* of <&> and <%> of two arrays */
Datum
genie_widening_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	WidenedColumn found;
	const FuncExpr *call = requested_call(request, &found);
	bool		counts;
	List	   *args;
	Node	   *query;

	if (call == NULL || !matches_by_value(getBaseType(found.from), getBaseType(found.to)))
		PG_RETURN_POINTER(NULL);
	counts = call->funcresulttype == INT4OID;
	args = list_make1(found.query);
	if (counts)
		args = lappend(args, makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true));
	query = make_conversion(counts ? "genie_query" : "genie_object", args, call,
							((SupportRequestSimplify *) request)->root);
	if (query == NULL)
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(make_operation(counts ? "<&>" : "<%>", ANYARRAYOID, exprType(query), call, found.column, query));
}

/* of <->, <+> and <=> of two double precision[] */
Datum
genie_vector_widening_support(PG_FUNCTION_ARGS)
{
	WidenedColumn found;
	const FuncExpr *call = requested_call((Node *) PG_GETARG_POINTER(0), &found);
	FmgrInfo	function;
	GenieMetric metric;

	if (call == NULL || found.from != FLOAT4OID)
		PG_RETURN_POINTER(NULL);
	fmgr_info(call->funcid, &function);
	metric = genie_vector_metric(&function);
	PG_RETURN_POINTER(make_operation(metric == GENIE_METRIC_L2 ? "<->^" : metric == GENIE_METRIC_L1 ? "<+>^" :
									 metric == GENIE_METRIC_COSINE ? "<=>^" : "<#>^",
									 FLOAT4ARRAYOID, FLOAT8ARRAYOID, call, found.column, found.query));
}

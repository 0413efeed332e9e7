/*
 * genie_widening.c
 *	  Arrays of different widths of a type on both sides of <&> and <%>: the planner's support function, which lets the
 *	  narrower column keep its index.
 *
 * The operators take anycompatiblearray, so PostgreSQL casts both operands to their common type.  If the column is the
 * narrower one, the cast would hide it from its index:
 *
 *		ints::bigint[] <&> $1			(the cast is PostgreSQL's, $1 is a bigint[])
 *
 * The support function takes that cast off again and makes the other operand a query, which matches by value, whatever
 * the width:
 *
 *		ints <&> genie_query($1)		ints <%> genie_object($1)
 *
 * The result is the same, because the two types have one family and a value has the same keyword in both
 * (genie_value.c).  Casts between families (int to numeric) stay, and so do casts that the user wrote: an expression
 * index may have the same cast.
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

PG_FUNCTION_INFO_V1(genie_widening_support);

/* Types of one number have the same keywords.  0: a type that has them alone. */
static int
width_class(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return 1;
		case FLOAT4OID:
		case FLOAT8OID:
			return 2;
		case TEXTOID:
		case VARCHAROID:
			return 3;
		default:
			return 0;
	}
}

/* The column below a cast that PostgreSQL added and that changes no keyword; NULL: the operand is none. */
static Expr *
widened_column(const Node *operand, const Node *other)
{
	const ArrayCoerceExpr *cast = (const ArrayCoerceExpr *) operand;
	Oid			from;
	Oid			to;

	if (!IsA(operand, ArrayCoerceExpr) || cast->coerceformat != COERCE_IMPLICIT_CAST ||
		!contain_vars_of_level((Node *) operand, 0) || contain_vars_of_level((Node *) other, 0))
		return NULL;
	from = getBaseType(get_base_element_type(exprType((Node *) cast->arg)));
	to = getBaseType(get_base_element_type(cast->resulttype));
	return from == to || (width_class(from) != 0 && width_class(from) == width_class(to)) ? cast->arg : NULL;
}

static Oid
function_in(Oid schema, const char *name, const Oid *types, int n)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, n)), ObjectIdGetDatum(schema));
}

/* column <&> genie_query(array), or column <%> genie_object(array); NULL: the catalog lacks one of these */
static Node *
with_query(const FuncExpr *call, PlannerInfo *root, Expr *column, Node *array)
{
	static const Oid types[] = {ANYARRAYOID, INT4OID};
	bool		counts = call->funcresulttype == INT4OID;
	Oid			schema = get_func_namespace(call->funcid);
	Oid			convert = function_in(schema, counts ? "genie_query" : "genie_object", types, counts ? 2 : 1);
	List	   *args = list_make1(array);
	OpExpr	   *result;
	Oid			query_type;
	Oid			operator;

	if (!OidIsValid(convert))
		return NULL;
	query_type = get_func_rettype(convert);
	operator = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid, CStringGetDatum(counts ? "<&>" : "<%>"),
							   ObjectIdGetDatum(ANYARRAYOID), ObjectIdGetDatum(query_type), ObjectIdGetDatum(schema));
	if (!OidIsValid(operator))
		return NULL;
	if (counts)
		args = lappend(args, makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true));
	array = eval_const_expressions(root, (Node *) makeFuncExpr(convert, query_type, args, InvalidOid, InvalidOid,
															   COERCE_EXPLICIT_CALL));
	result = (OpExpr *) make_opclause(operator, call->funcresulttype, false, column, (Expr *) array, InvalidOid,
									  call->inputcollid);
	set_opfuncid(result);
	return (Node *) result;
}

Datum
genie_widening_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Node	   *result = NULL;

	if (IsA(request, SupportRequestSimplify))
	{
		SupportRequestSimplify *simplify = (SupportRequestSimplify *) request;
		Node	   *left = linitial(simplify->fcall->args);
		Node	   *right = lsecond(simplify->fcall->args);
		Expr	   *column;

		/* both operators are symmetric */
		if ((column = widened_column(left, right)) != NULL)
			result = with_query(simplify->fcall, simplify->root, column, right);
		else if ((column = widened_column(right, left)) != NULL)
			result = with_query(simplify->fcall, simplify->root, column, left);
	}
	PG_RETURN_POINTER(result);
}

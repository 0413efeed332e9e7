/*
 * genie_selectivity.c
 *	  The share of a table's rows that fulfils x @& query, for the planner: the RESTRICT function of all such
 *	  operators.
 *
 * Keywords' frequencies are in the dictionary of a genie index.  So where the table has an index on the operator's
 * left operand, and the right operand is known, the index is asked (genie_estimate.h).  All else has a default: the
 * right operand is a parameter or comes from another table; there is no such index, or a hypothetical one or one of
 * an exact class alone; the index has no rows; this user may not read all rows of the table (row-level security,
 * security barriers, privileges), because EXPLAIN would tell how many there are.
 *
 * Joins.  What x @& y keeps of two tables' rows is a constant, contjoinsel().  It is that of a parameter here, so the
 * size of a join and the rows of each of its index scans agree.  An average over some of y's values would be better,
 * but there are none to be had: genie_query has no order and no equality, so ANALYZE keeps none of its values, and
 * where y is made of other columns, the planner would have to run the user's functions.
 *
 * Which index.  One that covers all rows is best.  A partial index whose predicate the query implies will do: among
 * its rows the share is what the planner needs, as it multiplies it by the predicate's.  The planner asks for each
 * partition by itself, so partitioned indexes have no part in this.
 */
#include "postgres.h"

#include "access/skey.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "genie_approximate.h"
#include "genie_ask.h"
#include "genie_cost.h"
#include "genie_estimate.h"
#include "genie_learned.h"
#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_scan_query.h"

PG_FUNCTION_INFO_V1(genie_matchsel);

#define GENIE_MATCH_SELECTIVITY 0.001	/* where nothing is known */

/* The table's best index for the operator on that expression.  NULL: none. */
static IndexOptInfo *
find_index(const RelOptInfo *rel, Node *expression, Oid operator)
{
	IndexOptInfo *found = NULL;
	ListCell   *cell;

	foreach(cell, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(cell);

		if (index->amcostestimate != genie_costestimate || index->hypothetical ||
			(index->indpred != NIL && !index->predOK) ||
			get_op_opfamily_strategy(operator, index->opfamily[0]) != GENIE_MATCH_STRATEGY ||
			genie_cost_is_exact(index) ||
			!match_index_to_operand(expression, 0, index))
			continue;
		if (found == NULL || index->indpred == NIL)
			found = index;
	}
	return found;
}

typedef struct MatchQuestion
{
	Oid			operator;
	Oid			collation;
	Datum		operand;
} MatchQuestion;

/* Half-way between the shares that may match and that are sure to. */
static double
ask_coarse_share(Relation index, ScanKeyData *key)
{
	const bytea *parameters = genie_learned_parameters(index, genie_meta_read(index));
	double		outer = genie_estimate_share(index, genie_scan_compile(index, key, parameters));

	if (parameters == NULL || outer < 0)
		return outer;
	/* the inner query knows no threshold */
	if (key->sk_subtype == get_func_rettype(index_getprocid(index, 1, GENIE_COMPILE_PROC)) &&
		DatumGetGenieQuery(key->sk_argument)->distance_strategy != 0)
		return outer / 2;
	key->sk_strategy = GENIE_INNER_QUERY;
	return (outer + genie_estimate_share(index, genie_scan_compile(index, key, parameters))) / 2;
}

static double
ask_share(Relation index, void *arg)
{
	const MatchQuestion *question = arg;
	ScanKeyData key;
	Oid			left;
	Oid			right;

	op_input_types(question->operator, &left, &right);
	ScanKeyEntryInitialize(&key, 0, 1, GENIE_MATCH_STRATEGY, right, question->collation,
						   get_opcode(question->operator), question->operand);
	if (genie_is_coarse(index))
		return ask_coarse_share(index, &key);
	return genie_estimate_share(index, genie_scan_compile(index, &key, NULL));
}

/* genie_matchsel(root, operator, arguments, relation) returns float8: as contsel() */
Datum
genie_matchsel(PG_FUNCTION_ARGS)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid			operator = PG_GETARG_OID(1);
	List	   *arguments = (List *) PG_GETARG_POINTER(2);
	double		share = -1;
	VariableStatData left;
	Node	   *right;
	bool		is_left;

	if (!get_restriction_variable(root, arguments, PG_GETARG_INT32(3), &left, &right, &is_left))
		PG_RETURN_FLOAT8(GENIE_MATCH_SELECTIVITY);
	if (is_left && IsA(right, Const))
	{
		const Const *operand = (const Const *) right;
		IndexOptInfo *index = NULL;

		if (operand->constisnull)
			share = 0;
		else if (left.rel != NULL)
			index = find_index(left.rel, left.var, operator);
		if (index != NULL && genie_ask_is_readable(root, left.rel, left.var))
		{
			MatchQuestion question = {operator, PG_GET_COLLATION(), operand->constvalue};

			share = genie_ask_index(index->indexoid, ask_share, &question);
		}
	}
	ReleaseVariableStats(left);
	if (share < 0)
		share = GENIE_MATCH_SELECTIVITY;
	CLAMP_PROBABILITY(share);
	PG_RETURN_FLOAT8(share);
}

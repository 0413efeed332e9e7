/*
 * genie_row.c
 *	  A row as an index sees it (genie_row.h).
 *
 * The value is a column of the table or an expression's result.  An expression is evaluated by an executor state of its
 * own, as in index_build().
 */
#include "postgres.h"

#include "catalog/index.h"
#include "executor/executor.h"

#include "genie_row.h"

void
genie_row_value_begin(GenieRowValue *row_value, Relation index)
{
	memset(row_value, 0, sizeof(*row_value));
	row_value->attribute = index->rd_index->indkey.values[0];
	if (row_value->attribute != 0)
		return;
	row_value->info = BuildIndexInfo(index);
	row_value->estate = CreateExecutorState();
}

Datum
genie_row_value(const GenieRowValue *row_value, TupleTableSlot *slot, bool *is_null)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	ExprContext *context;

	if (row_value->attribute != 0)
		return slot_getattr(slot, row_value->attribute, is_null);
	context = GetPerTupleExprContext(row_value->estate);
	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	FormIndexDatum(row_value->info, slot, row_value->estate, values, nulls);
	*is_null = nulls[0];
	return values[0];
}

void
genie_row_value_end(GenieRowValue *row_value)
{
	if (row_value->estate != NULL)
		FreeExecutorState(row_value->estate);
}

Datum
genie_row_order(FmgrInfo *function, Oid collation, Datum value, Datum query, bool *is_null)
{
	LOCAL_FCINFO(fcinfo, 2);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, function, 2, collation, NULL, NULL);
	fcinfo->args[0].value = value;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = query;
	fcinfo->args[1].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	*is_null = fcinfo->isnull;
	return result;
}

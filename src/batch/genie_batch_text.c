/*
 * genie_batch_text.c
 *	  The text of a keyword's value, from a row that has it (genie_batch_text.h).
 *
 * The row is visible: it is one of those that are counted.  Its indexed columns are those that the keyword is of.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "genie_batch_text.h"
#include "genie_object.h"
#include "genie_object_table.h"
#include "genie_row.h"
#include "genie_value.h"

typedef struct GenieBatchText
{
	Relation	index;
	GenieKey	key;
	MemoryContext context;		/* of the text */
	char	   *text;
} GenieBatchText;

static void
genie_batch_text_put(GenieBatchText *search, Oid type, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(search->context);
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(type, &output, &is_varlena);
	search->text = OidOutputFunctionCall(output, value);
	MemoryContextSwitchTo(old);
}

/* An argument of genie_tuple(). */
static void
genie_batch_text_argument(GenieBatchText *search, const FuncExpr *call, TupleTableSlot *slot)
{
	EState	   *estate = CreateExecutorState();
	ExprContext *context = GetPerTupleExprContext(estate);
	uint32		attribute;
	GenieFamily family;
	GenieKey	value;
	Expr	   *argument;
	Datum		datum;
	bool		is_null;

	if (genie_key_split(search->key, &attribute, &family, &value) && attribute >= 1 &&
		attribute <= (uint32) list_length(call->args))
	{
		argument = list_nth(call->args, (int) attribute - 1);
		context->ecxt_scantuple = slot;
		datum = ExecEvalExpr(ExecPrepareExpr(argument, estate), context, &is_null);
		if (!is_null)
			genie_batch_text_put(search, exprType((Node *) argument), datum);
	}
	FreeExecutorState(estate);
}

/* The element of an array that has the key. */
static void
genie_batch_text_element(GenieBatchText *search, Oid type, TupleTableSlot *slot)
{
	GenieRowValue row_value;
	GenieAttribute attribute;
	uint8		bytes[GENIE_KEY_MAX];
	bool		is_null;
	Datum		value;
	ArrayType  *array;
	ArrayIterator elements;

	genie_row_value_begin(&row_value, search->index);
	value = genie_row_value(&row_value, slot, &is_null);
	genie_attribute_init(&attribute, 0, type, CurrentMemoryContext);
	if (!is_null)
	{
		array = DatumGetArrayTypeP(value);
		elements = array_create_iterator(array, 0, NULL);
		while (search->text == NULL && array_iterate(elements, &value, &is_null))
			if (!is_null && genie_key_cmp(genie_attribute_key(&attribute, value, bytes), search->key) == 0)
				genie_batch_text_put(search, type, value);
		array_free_iterator(elements);
	}
	genie_row_value_end(&row_value);
}

static void
genie_batch_text_row(void *arg, GenieVisitRow *row pg_attribute_unused(), TupleTableSlot *slot)
{
	GenieBatchText *search = arg;
	const FuncExpr *call = genie_column_tuple(search->index);
	AttrNumber	column = search->index->rd_index->indkey.values[0];
	Oid			type = column != 0 ? TupleDescAttr(slot->tts_tupleDescriptor, column - 1)->atttypid :
		exprType(linitial(RelationGetIndexExpressions(search->index)));
	Oid			element = get_element_type(type);

	if (call != NULL)
		genie_batch_text_argument(search, call, slot);
	else if (OidIsValid(element))
		genie_batch_text_element(search, element, slot);
}

bool
genie_batch_text(GenieColumn *column, GenieColumnSource *source, uint32 object, char **text)
{
	GenieBatchText search = {.index = column->matches.batch.index, .key = source->cursor.key,
	.context = CurrentMemoryContext};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie text", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieVisitor visitor = column->matches.batch.round.visitor;
	GenieVisitRow row = {0};
	GenieVisitRow *rows = &row;
	GenieObjectReader reader;
	bool		ok;

	genie_object_table_reader(&reader, source->segment, false);
	ok = genie_object_table_tids(&reader, &object, 1, &row.tid);
	if (ok)
	{
		visitor.found = genie_batch_text_row;
		visitor.arg = &search;
		genie_visit(&visitor, &rows, 1);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	*text = search.text;
	return ok;
}

char *
genie_batch_text_of_row(Relation index, GenieKey key, TupleTableSlot *slot)
{
	GenieBatchText search = {.index = index, .key = key, .context = CurrentMemoryContext};

	genie_batch_text_row(&search, NULL, slot);
	return search.text;
}

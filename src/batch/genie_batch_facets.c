/*
 * genie_batch_facets.c
 *	  genie_facets(): what values the rows have that fulfil x @& query, from the index.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "genie_batch_value.h"

PG_FUNCTION_INFO_V1(genie_facets);

typedef struct GenieFacetSearch
{
	GenieValueCount count;
	GenieColumn column;
	uint32		attribute;		/* whose values are counted */
	uint64		n;
	ReturnSetInfo *result;
} GenieFacetSearch;

static void
genie_facets_end_value(void *arg)
{
	GenieFacetSearch *search = arg;
	MemoryContext old;
	StringInfoData text;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (search->count.n_rows == 0)
		return;
	old = MemoryContextSwitchTo(search->count.context);
	initStringInfo(&text);
	genie_batch_value_print(&search->count, &text);
	values[0] = Int32GetDatum((int32) search->attribute);
	values[1] = PointerGetDatum(cstring_to_text_with_len(text.data, text.len));
	values[2] = Int64GetDatum((int64) search->count.n_rows);
	tuplestore_putvalues(search->result->setResult, search->result->setDesc, values, nulls);
	search->n++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(search->count.context);
}

static const GenieColumnTaker genie_facets_taker = {genie_batch_value_begin, genie_batch_value_rows,
	genie_batch_value_part, genie_facets_end_value};

static bool
genie_facets_take(void *owner)
{
	GenieFacetSearch *search = owner;

	search->n = 0;
	search->count.stale = false;
	tuplestore_clear(search->result->setResult);
	if (!genie_column_ask(&search->column, true))
		return false;
	for (uint32 i = 0; i < search->column.n_attributes; i++)
	{
		search->attribute = (uint32) search->column.attributes[i];
		if (!genie_column_walk(&search->column, search->attribute, &genie_facets_taker, search))
			return false;
	}
	search->column.matches.batch.instrument.record->n_rows += search->n;
	return !search->count.stale;
}

/*
 * genie_facets(index regclass, query genie_query, attributes int[]) returns table (attribute int, value text, n
 * bigint): how many of the rows that fulfil x @& query have each value of these attributes.
 */
Datum
genie_facets(PG_FUNCTION_ARGS)
{
	GenieFacetSearch *search = palloc0(sizeof(GenieFacetSearch));

	search->count.column = &search->column;
	search->column.take = genie_facets_take;
	search->column.owner = search;
	search->column.attributes = genie_column_attributes(PG_GETARG_ARRAYTYPE_P(2), &search->column.n_attributes);
	search->count.context = AllocSetContextCreate(CurrentMemoryContext, "genie facet", ALLOCSET_SMALL_SIZES);
	InitMaterializedSRF(fcinfo, 0);
	search->result = (ReturnSetInfo *) fcinfo->resultinfo;
	genie_column_search(&search->column, fcinfo, 1, "genie_facets");
	return (Datum) 0;
}

/*
 * genie_batch_facets.c
 *	  genie_facets(), genie_aggregate(): what values the rows have that fulfil x @& query, from the index.
 *
 * Of each value of the attribute (genie_batch_column.c) the objects are counted whose rows match.  A row that lists a
 * value several times counts once for it, as everywhere in genie.  Where the keyword does not tell the value, because
 * it is cut or a hash, one of these rows is read for it (genie_batch_text.c).
 */
#include "postgres.h"

#include "common/int.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "genie_batch_column.h"
#include "genie_batch_text.h"
#include "genie_value_text.h"

PG_FUNCTION_INFO_V1(genie_facets);
PG_FUNCTION_INFO_V1(genie_aggregate);

typedef struct GenieFacetSearch
{
	GenieColumn column;
	MemoryContext value_context;	/* of one value */

	/* the value that is counted */
	uint32		attribute;
	GenieFamily family;
	GenieKey	value;
	uint64		n_rows;			/* that have it */
	char	   *text;			/* if it has no readable form: from a row that has it; NULL: not known */
	bool		stale;

	/* genie_facets() */
	ReturnSetInfo *result;

	/* genie_aggregate(): the values so far */
	uint64		n;
	bool		are_numbers;
	int64		sum_int;		/* of integers, as long as they fit */
	Numeric		sum;			/* of other numbers; NULL: there is none */
	bool		has_order;		/* all values are of one family, which is ordered: */
	GenieFamily first_family;
	char	   *min;			/* NULL: there is no value yet */
	char	   *max;
} GenieFacetSearch;

/* ---- counting ---- */

static void
genie_facets_begin_value(void *arg, GenieFamily family, GenieKey value)
{
	GenieFacetSearch *search = arg;

	search->family = family;
	search->value = value;
	search->n_rows = 0;
	search->text = NULL;
}

static bool
genie_facets_needs_row(const GenieFacetSearch *search)
{
	return search->text == NULL && !search->stale && search->n_rows == 0 &&
		!genie_value_is_readable(search->family, search->value.len);
}

/* The first of the value's rows has come: where the keyword does not tell the value, the row does. */
static void
genie_facets_read_row(GenieFacetSearch *search, GenieColumnSource *source, uint32 object)
{
	MemoryContext old = MemoryContextSwitchTo(search->value_context);

	search->stale |= !genie_batch_text(&search->column, source, object, &search->text);
	MemoryContextSwitchTo(old);
}

static void
genie_facets_print_value(const GenieFacetSearch *search, StringInfo text)
{
	if (search->text != NULL)
		appendStringInfoString(text, search->text);
	else
		genie_value_print_bare(text, search->family, search->value.data, search->value.len);
}

static void
genie_facets_take_part(void *arg, GenieColumnSource *source, uint32 tile, const uint16 *locals, uint32 n)
{
	GenieFacetSearch *search = arg;
	const uint64 *bits = source->bits + (Size) tile * GENIE_TILE_WORDS;
	uint64		n_set = 0;

	for (uint32 i = 0; i < n; i++)
		n_set += (bits[locals[i] / 64] >> (locals[i] % 64)) & 1;
	for (uint32 i = 0; i < n && genie_facets_needs_row(search); i++)
		if ((bits[locals[i] / 64] >> (locals[i] % 64)) & 1)
			genie_facets_read_row(search, source, tile * GENIE_TILE_OBJECTS + locals[i]);
	search->n_rows += n_set;
}

static void
genie_facets_take_rows(void *arg, GenieColumnSource *source, uint32 i pg_attribute_unused(), uint32 n)
{
	GenieFacetSearch *search = arg;
	uint32		object;

	if (genie_facets_needs_row(search))
	{
		if (genie_column_object(&search->column, source, &object))
			genie_facets_read_row(search, source, object);
		else
			search->stale = true;
	}
	search->n_rows += n;
}

/* ---- facets ---- */

static void
genie_facets_end_value(void *arg)
{
	GenieFacetSearch *search = arg;
	MemoryContext old;
	StringInfoData text;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (search->n_rows == 0)
		return;
	old = MemoryContextSwitchTo(search->value_context);
	initStringInfo(&text);
	genie_facets_print_value(search, &text);
	values[0] = Int32GetDatum((int32) search->attribute);
	values[1] = PointerGetDatum(cstring_to_text_with_len(text.data, text.len));
	values[2] = Int64GetDatum((int64) search->n_rows);
	tuplestore_putvalues(search->result->setResult, search->result->setDesc, values, nulls);
	search->n++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(search->value_context);
}

static const GenieColumnTaker genie_facets_taker = {genie_facets_begin_value, genie_facets_take_rows,
	genie_facets_take_part, genie_facets_end_value};

static bool
genie_facets_take(void *owner)
{
	GenieFacetSearch *search = owner;

	search->n = 0;
	search->stale = false;
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
	return !search->stale;
}

/*
 * genie_facets(index regclass, query genie_query, attributes int[]) returns table (attribute int, value text, n
 * bigint): how many of the rows that fulfil x @& query have each value of these attributes.
 */
Datum
genie_facets(PG_FUNCTION_ARGS)
{
	GenieFacetSearch *search = palloc0(sizeof(GenieFacetSearch));

	search->column.take = genie_facets_take;
	search->column.owner = search;
	search->column.attributes = genie_column_attributes(PG_GETARG_ARRAYTYPE_P(2), &search->column.n_attributes);
	search->value_context = AllocSetContextCreate(CurrentMemoryContext, "genie facet", ALLOCSET_SMALL_SIZES);
	InitMaterializedSRF(fcinfo, 0);
	search->result = (ReturnSetInfo *) fcinfo->resultinfo;
	genie_column_search(&search->column, fcinfo, 1, "genie_facets");
	return (Datum) 0;
}

/* ---- aggregates ---- */

static Numeric
genie_aggregate_numeric(char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

static Numeric
genie_aggregate_call(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a), NumericGetDatum(b)));
}

/* Adds a number to the sum of those that are no integers, or no small ones. */
static void
genie_aggregate_add(GenieFacetSearch *search, Numeric number)
{
	Numeric		last = search->sum;
	Numeric		sum = last == NULL ? number : genie_aggregate_call(numeric_add, last, number);

	search->sum = MemoryContextAlloc(search->column.matches.batch.call_context, VARSIZE(sum));
	memcpy(search->sum, sum, VARSIZE(sum));
	if (last != NULL)
		pfree(last);
}

/* Adds the value, a number perhaps, as often as rows have it. */
static void
genie_aggregate_add_value(GenieFacetSearch *search, char *text)
{
	GenieFamily family = search->family;
	int64		n_rows = (int64) search->n_rows;
	int64		integer;
	int64		sum;

	if ((family != GENIE_FAMILY_INT && family != GENIE_FAMILY_FLOAT && family != GENIE_FAMILY_NUMERIC) ||
		search->value.len > GENIE_VALUE_MAX)
		search->are_numbers = false;
	else if (family == GENIE_FAMILY_INT &&
			 genie_key_get_int(search->value.data, search->value.len, &integer) == search->value.len &&
			 !pg_mul_s64_overflow(integer, n_rows, &integer) &&
			 !pg_add_s64_overflow(search->sum_int, integer, &sum))
		search->sum_int = sum;
	else
		genie_aggregate_add(search, genie_aggregate_call(numeric_mul, genie_aggregate_numeric(text),
														 int64_to_numeric(n_rows)));
}

/* Takes the value for the least or greatest one. */
static void
genie_aggregate_order_value(GenieFacetSearch *search, const char *text)
{
	MemoryContext old = MemoryContextSwitchTo(search->column.matches.batch.call_context);

	if (search->min == NULL)
	{
		search->first_family = search->family;
		search->min = pstrdup(text);
	}
	search->has_order &= GENIE_FAMILY_IS_ORDERED(search->family) && search->family == search->first_family;
	if (search->max != NULL)
		pfree(search->max);
	search->max = pstrdup(text);
	MemoryContextSwitchTo(old);
}

static void
genie_aggregate_end_value(void *arg)
{
	GenieFacetSearch *search = arg;
	MemoryContext old;
	StringInfoData text;

	if (search->n_rows == 0)
		return;
	old = MemoryContextSwitchTo(search->value_context);
	initStringInfo(&text);
	genie_facets_print_value(search, &text);
	search->n += search->n_rows;
	if (search->are_numbers)
		genie_aggregate_add_value(search, text.data);
	if (search->has_order)
		genie_aggregate_order_value(search, text.data);
	MemoryContextSwitchTo(old);
	MemoryContextReset(search->value_context);
}

static const GenieColumnTaker genie_aggregate_taker = {genie_facets_begin_value, genie_facets_take_rows,
	genie_facets_take_part, genie_aggregate_end_value};

static bool
genie_aggregate_take(void *owner)
{
	GenieFacetSearch *search = owner;

	search->n = 0;
	search->stale = false;
	search->are_numbers = true;
	search->sum_int = 0;
	search->sum = NULL;
	search->has_order = true;
	search->min = search->max = NULL;
	if (!genie_column_ask(&search->column, true) ||
		!genie_column_walk(&search->column, (uint32) search->column.attributes[0], &genie_aggregate_taker, search))
		return false;
	search->column.matches.batch.instrument.record->n_rows++;
	return !search->stale;
}

/*
 * genie_aggregate(index regclass, query genie_query, attribute int, OUT n bigint, OUT sum numeric, OUT avg numeric,
 * OUT min text, OUT max text): of the values of an attribute, in the rows that fulfil x @& query.  NULL: there are
 * none, or some have no sum, or no order.
 */
Datum
genie_aggregate(PG_FUNCTION_ARGS)
{
	GenieFacetSearch *search = palloc0(sizeof(GenieFacetSearch));
	int32	   *attribute = palloc(sizeof(int32));
	Datum		values[5] = {0};
	bool		nulls[5] = {false, true, true, true, true};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	*attribute = PG_GETARG_INT32(2);
	genie_column_check_attribute(*attribute);
	search->column.take = genie_aggregate_take;
	search->column.owner = search;
	search->column.n_attributes = 1;
	search->column.attributes = attribute;
	search->value_context = AllocSetContextCreate(CurrentMemoryContext, "genie facet", ALLOCSET_SMALL_SIZES);
	genie_column_search(&search->column, fcinfo, 1, "genie_aggregate");
	values[0] = Int64GetDatum((int64) search->n);
	if (search->n > 0 && search->are_numbers)
	{
		Numeric		sum = int64_to_numeric(search->sum_int);

		if (search->sum != NULL)
			sum = genie_aggregate_call(numeric_add, sum, search->sum);
		values[1] = NumericGetDatum(sum);
		values[2] = NumericGetDatum(genie_aggregate_call(numeric_div, sum, int64_to_numeric((int64) search->n)));
		nulls[1] = nulls[2] = false;
	}
	if (search->min != NULL && search->has_order)
	{
		values[3] = CStringGetTextDatum(search->min);
		values[4] = CStringGetTextDatum(search->max);
		nulls[3] = nulls[4] = false;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

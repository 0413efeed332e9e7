/*
 * genie_batch_aggregate.c
 *	  genie_aggregate(): number, sum, average, least and greatest of an attribute in the rows that fulfil x @& query.
 *
 * Where keywords are values, the rows that have each are counted (genie_batch_value.h), and no row is read.
 *
 * Where they are bins (types/genie_bins.h), so are the rows in each bin.  Then the rows in the lowest and in the
 * highest bin that have any are looked up.  They have the least and the greatest value.  So these are exact, and the
 * sum has bounds: a row in another bin has a value between its cut and the next one.  Bins belong to a family, and each
 * family has such two bins.
 */
#include "postgres.h"

#include "common/int.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "genie_batch_text.h"
#include "genie_batch_value.h"
#include "genie_bins.h"
#include "genie_object.h"
#include "genie_row.h"
#include "genie_value_text.h"

PG_FUNCTION_INFO_V1(genie_aggregate);

typedef struct GenieAggregateSum
{
	int64		integers;		/* as long as they fit */
	Numeric		others;			/* NULL: there is none */
} GenieAggregateSum;

/* A bin that has rows. */
typedef struct GenieAggregateBin
{
	GenieKey	key;			/* its cut */
	uint64		n_rows;
} GenieAggregateBin;

/* The least or the greatest value. */
typedef struct GenieAggregateExtreme
{
	char	   *text;			/* NULL: there is none yet */
	uint32		len;
	uint8		value[GENIE_KEY_MAX];
} GenieAggregateExtreme;

typedef struct GenieAggregate
{
	GenieValueCount count;
	GenieColumn column;
	int32		attribute;
	MemoryContext call_context;

	/* an attempt: the values so far */
	uint64		n;
	bool		are_numbers;
	GenieAggregateSum sum;		/* of those that are known; and between what all others lie */
	GenieAggregateSum low;
	GenieAggregateSum high;
	bool		has_order;		/* all values are of one family, which is ordered: */
	GenieFamily family;
	GenieAggregateExtreme min;
	GenieAggregateExtreme max;

	/* the bins of an attempt */
	GenieAggregateBin *bins;
	uint32		n_bins;
	uint32		n_bins_room;
	GenieRowValue row_value;	/* while rows of a bin are looked up: */
	TupleTableSlot *row;		/* the row of the counted value; NULL: there is none at hand */
} GenieAggregate;

/* ---- sums ---- */

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

static void
genie_aggregate_add_numeric(GenieAggregate *search, GenieAggregateSum *to, Numeric number)
{
	Numeric		last = to->others;
	Numeric		sum = last == NULL ? number : genie_aggregate_call(numeric_add, last, number);

	to->others = MemoryContextAlloc(search->call_context, VARSIZE(sum));
	memcpy(to->others, sum, VARSIZE(sum));
	if (last != NULL)
		pfree(last);
}

/* Adds a value, a number perhaps, n times. */
static void
genie_aggregate_add(GenieAggregate *search, GenieAggregateSum *to, GenieFamily family, GenieKey value, int64 n)
{
	int64		integer;
	int64		sum;
	StringInfoData text;

	if ((family != GENIE_FAMILY_INT && family != GENIE_FAMILY_FLOAT && family != GENIE_FAMILY_NUMERIC) ||
		value.len > GENIE_VALUE_MAX)
		search->are_numbers = false;
	else if (family == GENIE_FAMILY_INT && genie_key_get_int(value.data, value.len, &integer) == value.len &&
			 !pg_mul_s64_overflow(integer, n, &integer) && !pg_add_s64_overflow(to->integers, integer, &sum))
		to->integers = sum;
	else if (search->are_numbers)
	{
		initStringInfo(&text);
		genie_value_print_bare(&text, family, value.data, value.len);
		genie_aggregate_add_numeric(search, to, genie_aggregate_call(numeric_mul, genie_aggregate_numeric(text.data),
																	 int64_to_numeric(n)));
	}
}

static Numeric
genie_aggregate_sum(const GenieAggregateSum *of)
{
	Numeric		sum = int64_to_numeric(of->integers);

	return of->others == NULL ? sum : genie_aggregate_call(numeric_add, sum, of->others);
}

/* ---- values ---- */

/* The key of the counted value, in bytes (room for GENIE_KEY_MAX). */
static GenieKey
genie_aggregate_key(const GenieAggregate *search, uint8 *bytes)
{
	GenieKey	value = search->count.value;
	uint32		prefix = (uint32) genie_key_put_dimension(bytes, (uint32) search->attribute);

	bytes[prefix++] = (uint8) search->count.family;
	memcpy(bytes + prefix, value.data, value.len);
	return (GenieKey) {bytes, prefix + value.len};
}

/* Appends the counted value: what the row at hand has, where its keyword does not tell. */
static void
genie_aggregate_print(const GenieAggregate *search, StringInfo out)
{
	const char *text = NULL;
	uint8		bytes[GENIE_KEY_MAX];

	if (search->row != NULL && !genie_value_is_readable(search->count.family, search->count.value.len))
		text = genie_batch_text_of_row(search->column.matches.batch.index, genie_aggregate_key(search, bytes),
									   search->row);
	if (text != NULL)
		appendStringInfoString(out, text);
	else
		genie_batch_value_print(&search->count, out);
}

/* Takes the counted value for the least or the greatest one, if it is beyond that. */
static void
genie_aggregate_extend(GenieAggregate *search, GenieAggregateExtreme *extreme, int direction)
{
	GenieKey	known = {extreme->value, extreme->len};
	GenieKey	value = search->count.value;
	StringInfoData text;

	if (extreme->text != NULL)
	{
		if (genie_key_cmp(value, known) * direction <= 0)
			return;
		pfree(extreme->text);
	}
	initStringInfo(&text);
	genie_aggregate_print(search, &text);
	extreme->text = MemoryContextStrdup(search->call_context, text.data);
	extreme->len = value.len;
	memcpy(extreme->value, value.data, value.len);
}

static void
genie_aggregate_order(GenieAggregate *search, GenieFamily family)
{
	if (search->n == 0)
		search->family = family;
	search->has_order &= GENIE_FAMILY_IS_ORDERED(family) && family == search->family;
}

/* Takes the counted value, if rows have it. */
static void
genie_aggregate_take_value(GenieAggregate *search)
{
	genie_aggregate_order(search, search->count.family);
	search->n += search->count.n_rows;
	if (search->are_numbers)
		genie_aggregate_add(search, &search->sum, search->count.family, search->count.value,
							(int64) search->count.n_rows);
	if (search->has_order)
	{
		genie_aggregate_extend(search, &search->min, -1);
		genie_aggregate_extend(search, &search->max, 1);
	}
}

/* ---- bins ---- */

static void
genie_aggregate_keep_bin(GenieAggregate *search, GenieKey key)
{
	MemoryContext old = MemoryContextSwitchTo(search->column.matches.batch.attempt_context);
	uint8	   *bytes = palloc(key.len);

	memcpy(bytes, key.data, key.len);
	if (search->n_bins == search->n_bins_room)
	{
		search->n_bins_room = Max(256, search->n_bins_room * 2);
		search->bins = search->bins == NULL ? palloc(search->n_bins_room * sizeof(GenieAggregateBin)) :
			repalloc_huge(search->bins, search->n_bins_room * sizeof(GenieAggregateBin));
	}
	search->bins[search->n_bins++] = (GenieAggregateBin) {{bytes, key.len}, search->count.n_rows};
	MemoryContextSwitchTo(old);
}

static void
genie_aggregate_end_value(void *arg)
{
	GenieAggregate *search = arg;
	const GenieBatch *batch = &search->column.matches.batch;
	uint8		bytes[GENIE_KEY_MAX];
	GenieKey	key = genie_aggregate_key(search, bytes);
	GenieKey	end;
	MemoryContext old;

	if (search->count.n_rows == 0)
		return;
	if (genie_batch_is_coarse(batch) && genie_bins_end(batch->parameters, key, &end))
		genie_aggregate_keep_bin(search, key);
	else
	{
		old = MemoryContextSwitchTo(search->count.context);
		genie_aggregate_take_value(search);
		MemoryContextSwitchTo(old);
	}
	MemoryContextReset(search->count.context);
}

/* A row of a bin. */
static void
genie_aggregate_take_row(void *arg, TupleTableSlot *slot)
{
	GenieAggregate *search = arg;
	MemoryContext old = MemoryContextSwitchTo(search->count.context);
	bool		is_null;
	Datum		object = genie_row_value(&search->row_value, slot, &is_null);
	uint32		n = 0;
	Size		n_bytes;
	const uint8 *at = is_null ? NULL : genie_object_keys(PG_DETOAST_DATUM_PACKED(object), &n, &n_bytes);

	for (uint32 i = 0; i < n; i++)
	{
		GenieKey	key = genie_packed_next(&at);
		uint32		dimension;
		GenieFamily family;
		GenieKey	value;

		if (!genie_key_split(key, &dimension, &family, &value) || dimension != (uint32) search->attribute)
			continue;
		genie_batch_value_begin(&search->count, family, value);
		search->count.n_rows = 1;
		search->row = slot;
		genie_aggregate_take_value(search);
	}
	search->row = NULL;
	MemoryContextSwitchTo(old);
	MemoryContextReset(search->count.context);
}

/* The bins from first to end - 1, all of one family.  False: stale. */
static bool
genie_aggregate_take_family(GenieAggregate *search, uint32 first, uint32 end)
{
	const bytea *parameters = search->column.matches.batch.parameters;

	for (uint32 i = first; i < end; i++)
	{
		const GenieAggregateBin *bin = &search->bins[i];
		uint32		dimension;
		GenieFamily family;
		GenieKey	value;
		GenieKey	next;

		if (i == first || i == end - 1)
		{
			if (!genie_column_visit(&search->column, bin->key, genie_aggregate_take_row, search))
				return false;
			continue;
		}
		genie_key_split(bin->key, &dimension, &family, &value);
		search->n += bin->n_rows;
		genie_aggregate_add(search, &search->low, family, value, (int64) bin->n_rows);
		genie_bins_end(parameters, bin->key, &next);
		genie_key_split(next, &dimension, &family, &value); /* there is one: the last bin is not after it */
		genie_aggregate_add(search, &search->high, family, value, (int64) bin->n_rows);
	}
	return true;
}

/* False: stale. */
static bool
genie_aggregate_take_bins(GenieAggregate *search)
{
	bool		ok = true;

	genie_row_value_begin(&search->row_value, search->column.matches.batch.index);
	for (uint32 first = 0, end; ok && first < search->n_bins; first = end)
	{
		uint32		prefix = genie_key_prefix_len(search->bins[first].key);

		for (end = first + 1; end < search->n_bins &&
			 memcmp(search->bins[first].key.data, search->bins[end].key.data, prefix) == 0;)
			end++;
		ok = genie_aggregate_take_family(search, first, end);
	}
	genie_row_value_end(&search->row_value);
	return ok;
}

/* ---- the function ---- */

static const GenieColumnTaker genie_aggregate_taker = {genie_batch_value_begin, genie_batch_value_rows,
	genie_batch_value_part, genie_aggregate_end_value};

static bool
genie_aggregate_take(void *owner)
{
	GenieAggregate *search = owner;

	search->n = 0;
	search->count.stale = false;
	search->are_numbers = search->has_order = true;
	memset(&search->sum, 0, sizeof(search->sum));
	memset(&search->low, 0, sizeof(search->low));
	memset(&search->high, 0, sizeof(search->high));
	search->min.text = search->max.text = NULL;
	search->row = NULL;
	search->bins = NULL;
	search->n_bins = search->n_bins_room = 0;
	if (!genie_column_ask(&search->column, true) ||
		!genie_column_walk(&search->column, (uint32) search->attribute, &genie_aggregate_taker, search) ||
		!genie_aggregate_take_bins(search))
		return false;
	search->column.matches.batch.instrument.record->n_rows++;
	return !search->count.stale;
}

/* Fills the sum, the average, and their bounds. */
static void
genie_aggregate_put_sums(const GenieAggregate *search, Datum *values, bool *nulls)
{
	Numeric		n = int64_to_numeric((int64) search->n);
	Numeric		sum = genie_aggregate_sum(&search->sum);
	Numeric		lower = genie_aggregate_call(numeric_add, sum, genie_aggregate_sum(&search->low));
	Numeric		upper = genie_aggregate_call(numeric_add, sum, genie_aggregate_sum(&search->high));

	values[5] = NumericGetDatum(lower);
	values[6] = NumericGetDatum(upper);
	values[7] = NumericGetDatum(genie_aggregate_call(numeric_div, lower, n));
	values[8] = NumericGetDatum(genie_aggregate_call(numeric_div, upper, n));
	nulls[5] = nulls[6] = nulls[7] = nulls[8] = false;
	if (DatumGetBool(DirectFunctionCall2(numeric_eq, values[5], values[6])))
	{
		values[1] = values[5];
		values[2] = values[7];
		nulls[1] = nulls[2] = false;
	}
}

/*
 * genie_aggregate(index regclass, query genie_query, attribute int, OUT n bigint, OUT sum numeric, OUT avg numeric,
 * OUT min text, OUT max text, OUT sum_lower numeric, OUT sum_upper numeric, OUT avg_lower numeric, OUT avg_upper
 * numeric): of the values of an attribute, in the rows that fulfil x @& query.  NULL: there are none, or some have no
 * sum, or no order; sum and avg, too, if they are known by their bounds only.
 */
Datum
genie_aggregate(PG_FUNCTION_ARGS)
{
	GenieAggregate *search = palloc0(sizeof(GenieAggregate));
	Datum		values[9] = {0};
	bool		nulls[9] = {false, true, true, true, true, true, true, true, true};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	search->attribute = PG_GETARG_INT32(2);
	genie_column_check_attribute(search->attribute);
	search->call_context = CurrentMemoryContext;
	search->count.column = &search->column;
	search->count.context = AllocSetContextCreate(CurrentMemoryContext, "genie aggregate", ALLOCSET_SMALL_SIZES);
	search->column.take = genie_aggregate_take;
	search->column.owner = search;
	search->column.n_attributes = 1;
	search->column.attributes = &search->attribute;
	search->column.takes_bins = true;
	genie_column_search(&search->column, fcinfo, 1, "genie_aggregate");
	values[0] = Int64GetDatum((int64) search->n);
	if (search->n > 0 && search->are_numbers)
		genie_aggregate_put_sums(search, values, nulls);
	if (search->min.text != NULL && search->has_order)
	{
		values[3] = CStringGetTextDatum(search->min.text);
		values[4] = CStringGetTextDatum(search->max.text);
		nulls[3] = nulls[4] = false;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

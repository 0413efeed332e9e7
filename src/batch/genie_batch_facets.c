/*
 * genie_batch_facets.c
 *	  genie_facets(), genie_aggregate(): what values the rows have that fulfil x @& query, from the index.
 *
 * The rows are those that genie_counts() counts (genie_batch_matches.c), as bits of each segment's objects.  A value
 * is a keyword, and the rows that have it are its posting list.  So an attribute's values are read from the
 * dictionaries of all segments side by side, in ascending order, and of each list the objects are counted whose bits
 * are set.  That reads the attribute's lists once, however many values it has, and no row.
 *
 * A row that lists a value several times counts once for it, as everywhere in genie.
 *
 * An attempt at this may find a segment stale, when values have been put out already; they are thrown away, and all
 * begins again.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "genie_access.h"
#include "genie_approximate.h"
#include "genie_batch_matches.h"
#include "genie_list_walk.h"
#include "genie_value_text.h"

PG_FUNCTION_INFO_V1(genie_facets);
PG_FUNCTION_INFO_V1(genie_aggregate);

/* A segment in which some rows match. */
typedef struct GenieFacetSource
{
	GenieDictionaryCursor cursor;
	GenieListWalk walk;
	Size		n_words;
	uint64	   *bits;			/* objects whose rows match */
	uint64		n;				/* of the list that is read: such objects */
	bool		is_damaged;		/* it names objects that do not exist */
} GenieFacetSource;

typedef struct GenieFacetSearch GenieFacetSearch;

/* Takes a value that n rows have.  Values of an attribute come in ascending order. */
typedef void (*GenieFacetTake) (GenieFacetSearch *search, uint32 attribute, GenieFamily family, GenieKey value,
								uint64 n);

struct GenieFacetSearch
{
	GenieBatch	batch;
	GenieMatches matches;
	IndexScanDesc conflicts;	/* in whose name conflicts are looked for */
	const char *function;
	Datum		query;
	uint32		n_attributes;
	const int32 *attributes;
	GenieFacetTake take;

	/* an attempt */
	GenieFacetSource **sources;
	uint32		n_sources;

	uint64		n_values;		/* that some row has */

	/* genie_facets() */
	ReturnSetInfo *result;

	/* genie_aggregate(): the values so far */
	MemoryContext value_context;	/* of one value */
	uint64		n;
	bool		are_numbers;
	int128		sum_int;		/* of integers: 2^31 rows of 2^63 fit */
	Numeric		sum;			/* of other numbers; NULL: there is none */
	char	   *min;			/* NULL: values have no order */
	char	   *max;
};

/* ---- rows to values ---- */

/* Takes the rows of a segment that match. */
static void
genie_facets_take_rows(void *arg, uint32 i pg_attribute_unused(), uint32 s, const uint64 *bits, Size n_words)
{
	GenieFacetSearch *search = arg;
	MemoryContext old;
	GenieFacetSource *source;

	if (genie_matches_popcount(bits, n_words) == 0)
		return;
	old = MemoryContextSwitchTo(search->batch.attempt_context);
	source = palloc(sizeof(GenieFacetSource));
	source->n_words = n_words;
	source->bits = palloc_extended(n_words * sizeof(uint64), MCXT_ALLOC_HUGE);
	memcpy(source->bits, bits, n_words * sizeof(uint64));
	source->is_damaged = false;
	genie_dictionary_cursor(&source->cursor, search->batch.sources[s]->segment);
	genie_list_walk_begin(&source->walk, search->batch.sources[s]->segment);
	search->sources[search->n_sources++] = source;
	MemoryContextSwitchTo(old);
}

/* Counts the objects of a part of a list whose rows match. */
static void
genie_facets_take_part(void *arg, uint32 tile, const uint16 *locals, uint32 n)
{
	GenieFacetSource *source = arg;
	const uint64 *bits = source->bits + (Size) tile * GENIE_TILE_WORDS;
	uint64		n_set = 0;

	if ((Size) tile * GENIE_TILE_WORDS >= source->n_words)
	{
		source->is_damaged = true;
		return;
	}
	for (uint32 i = 0; i < n; i++)
		n_set += (bits[locals[i] / 64] >> (locals[i] % 64)) & 1;
	source->n += n_set;
}

/* Is the segment at a value of the attribute? */
static bool
genie_facets_is_at(const GenieFacetSource *source, GenieKey prefix)
{
	return source->cursor.valid && source->cursor.key.len > prefix.len &&
		memcmp(source->cursor.key.data, prefix.data, prefix.len) == 0;
}

/* The least value that a segment is at, copied to key (room for GENIE_KEY_MAX).  Its length is 0: there is none. */
static GenieKey
genie_facets_least(const GenieFacetSearch *search, GenieKey prefix, uint8 *bytes)
{
	GenieKey	least = {bytes, 0};
	const GenieFacetSource *at = NULL;

	for (uint32 s = 0; s < search->n_sources; s++)
		if (genie_facets_is_at(search->sources[s], prefix) &&
			(at == NULL || genie_key_cmp(search->sources[s]->cursor.key, at->cursor.key) < 0))
			at = search->sources[s];
	if (at != NULL)
	{
		memcpy(bytes, at->cursor.key.data, at->cursor.key.len);
		least.len = at->cursor.key.len;
	}
	return least;
}

/* Counts a value's rows in all segments that are at it, and moves these on.  False: stale. */
static bool
genie_facets_count(GenieFacetSearch *search, GenieKey key, uint64 *n)
{
	*n = 0;
	for (uint32 s = 0; s < search->n_sources; s++)
	{
		GenieFacetSource *source = search->sources[s];

		if (!source->cursor.valid || genie_key_cmp(source->cursor.key, key) != 0)
			continue;
		source->n = 0;
		if (!genie_list_walk(&source->walk, &source->cursor, genie_facets_take_part, source) ||
			!genie_dictionary_next(&source->cursor))
			return false;
		if (source->is_damaged)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" is damaged: a posting leaves its segment",
							RelationGetRelationName(search->batch.index)),
					 errhint("Please REINDEX it.")));
		*n += source->n;
	}
	return true;
}

/* All values of an attribute.  False: stale. */
static bool
genie_facets_walk(GenieFacetSearch *search, uint32 attribute)
{
	uint8		prefix_bytes[GENIE_DIMENSION_BYTES];
	uint8		key_bytes[GENIE_KEY_MAX];
	GenieKey	prefix = {prefix_bytes, (uint32) genie_key_put_dimension(prefix_bytes, attribute)};
	GenieKey	key;

	for (uint32 s = 0; s < search->n_sources; s++)
		if (!genie_dictionary_seek(&search->sources[s]->cursor, prefix, false))
			return false;
	while ((key = genie_facets_least(search, prefix, key_bytes)).len > 0)
	{
		uint32		dimension;
		GenieFamily family;
		GenieKey	value;
		uint64		n;

		CHECK_FOR_INTERRUPTS();
		if (!genie_facets_count(search, key, &n))
			return false;
		if (n > 0 && genie_key_split(key, &dimension, &family, &value))
		{
			search->take(search, attribute, family, value, n);
			search->n_values++;
		}
	}
	return true;
}

/* ---- output ---- */

static void
genie_facets_put_value(GenieFacetSearch *search, uint32 attribute, GenieFamily family, GenieKey value, uint64 n)
{
	MemoryContext old = MemoryContextSwitchTo(search->value_context);
	StringInfoData text;
	Datum		values[3];
	bool		nulls[3] = {false};

	initStringInfo(&text);
	genie_value_print_bare(&text, family, value.data, value.len);
	values[0] = Int32GetDatum((int32) attribute);
	values[1] = PointerGetDatum(cstring_to_text_with_len(text.data, text.len));
	values[2] = Int64GetDatum((int64) n);
	tuplestore_putvalues(search->result->setResult, search->result->setDesc, values, nulls);
	MemoryContextSwitchTo(old);
	MemoryContextReset(search->value_context);
}

static Numeric
genie_aggregate_numeric(char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

/* The sum as the decimal number that it is. */
static Numeric
genie_aggregate_int128(int128 value)
{
	char		digits[48];
	char	   *at = digits + sizeof(digits) - 1;
	unsigned	__int128 left = value < 0 ? -(unsigned __int128) value : (unsigned __int128) value;

	*at = '\0';
	do
	{
		*--at = (char) ('0' + (int) (left % 10));
		left /= 10;
	} while (left > 0);
	if (value < 0)
		*--at = '-';
	return genie_aggregate_numeric(at);
}

static Numeric
genie_aggregate_add(Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(a), NumericGetDatum(b)));
}

/* Adds a number that n rows have. */
static void
genie_aggregate_add_number(GenieFacetSearch *search, GenieFamily family, GenieKey value, char *text, uint64 n)
{
	int64		integer;

	if (family == GENIE_FAMILY_INT && genie_key_get_int(value.data, value.len, &integer) == value.len)
		search->sum_int += (int128) integer * (int128) n;
	else if ((family == GENIE_FAMILY_FLOAT || family == GENIE_FAMILY_NUMERIC) && value.len <= GENIE_VALUE_MAX)
	{
		Numeric		product = DatumGetNumeric(DirectFunctionCall2(numeric_mul,
																  NumericGetDatum(genie_aggregate_numeric(text)),
																  NumericGetDatum(int64_to_numeric((int64) n))));
		Numeric		sum = search->sum == NULL ? product : genie_aggregate_add(search->sum, product);
		Numeric		last = search->sum;

		search->sum = MemoryContextAlloc(search->batch.call_context, VARSIZE(sum));
		memcpy(search->sum, sum, VARSIZE(sum));
		if (last != NULL)
			pfree(last);
	}
	else
		search->are_numbers = false;
}

static void
genie_aggregate_take(GenieFacetSearch *search, uint32 attribute pg_attribute_unused(), GenieFamily family,
					 GenieKey value, uint64 n)
{
	MemoryContext old = MemoryContextSwitchTo(search->value_context);
	StringInfoData text;

	initStringInfo(&text);
	genie_value_print_bare(&text, family, value.data, value.len);
	search->n += n;
	if (search->are_numbers)
		genie_aggregate_add_number(search, family, value, text.data, n);
	MemoryContextSwitchTo(search->batch.attempt_context);
	if (GENIE_FAMILY_IS_ORDERED(family))
	{
		if (search->min == NULL)
			search->min = pstrdup(text.data);
		if (search->max != NULL)
			pfree(search->max);
		search->max = pstrdup(text.data);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(search->value_context);
}

/* ---- a call ---- */

static Datum
genie_facets_next(void *owner)
{
	return ((GenieFacetSearch *) owner)->query;
}

/* The query is compiled. */
static void
genie_facets_compiled(void *owner, uint32 i, const GenieQuery *compiled)
{
	GenieFacetSearch *search = owner;

	genie_matches_compiled(&search->matches, i, compiled);
	if (search->matches.queries[i].has_threshold)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s() does not take a query with a similarity", search->function),
				 errhint("Ask for a number of matches: genie_query(array, min_match).")));
}

static bool
genie_facets_begin(void *owner)
{
	GenieFacetSearch *search = owner;

	return genie_batch_find_conflicts(&search->batch, search->conflicts);
}

static bool
genie_facets_run(void *owner)
{
	GenieFacetSearch *search = owner;

	search->sources = palloc(search->batch.n_sources * sizeof(GenieFacetSource *));
	search->n_sources = 0;
	search->n = 0;
	search->n_values = 0;
	search->are_numbers = true;
	search->sum_int = 0;
	search->sum = NULL;
	search->min = search->max = NULL;
	if (search->result != NULL)
		tuplestore_clear(search->result->setResult);
	if (!genie_matches_begin(&search->matches) ||
		!genie_matches_find(&search->matches, genie_facets_take_rows, search))
		return false;
	for (uint32 i = 0; i < search->n_attributes; i++)
		if (!genie_facets_walk(search, (uint32) search->attributes[i]))
			return false;
	return true;
}

/* What genie_aggregate() found outlives the attempt. */
static void
genie_facets_put(void *owner, uint32 i pg_attribute_unused())
{
	GenieFacetSearch *search = owner;

	search->batch.instrument.record->n_rows += search->result == NULL ? 1 : search->n_values;
	if (search->min != NULL)
	{
		search->min = MemoryContextStrdup(search->batch.call_context, search->min);
		search->max = MemoryContextStrdup(search->batch.call_context, search->max);
	}
}

static const GenieBatchOps genie_facets_ops = {.next = genie_facets_next, .compiled = genie_facets_compiled,
	.begin = genie_facets_begin, .run = genie_facets_run, .put = genie_facets_put};

static void
genie_facets_search(GenieFacetSearch *search, Oid index, struct varlena *query, Oid query_type)
{
	GenieBatch *batch = &search->batch;

	search->query = PointerGetDatum(query);
	search->matches.batch = batch;
	search->matches.exact = true;
	search->value_context = AllocSetContextCreate(CurrentMemoryContext, "genie facet", ALLOCSET_SMALL_SIZES);
	batch->query_type = query_type;
	genie_access_open(index, &batch->heap, &batch->index);
	batch->ops = &genie_facets_ops;
	batch->owner = search;
	batch->strategy = GENIE_MATCH_STRATEGY;
	batch->order_proc = genie_batch_operator_proc(batch, "@&");
	batch->n_queries = 1;
	batch->want = 1;
	batch->kind = GENIE_SCAN_FACETS;
	genie_batch_begin(batch);

	/* a serializable transaction's lock on the index, against rows that come to match */
	search->conflicts = genie_batch_begin_scan(batch);
	genie_batch_run(batch);
	index_endscan(search->conflicts);
	genie_batch_end(batch);
	genie_access_close(batch->heap, batch->index);
}

/* Errors: an attribute has an impossible number. */
static void
genie_facets_check_attribute(int32 attribute)
{
	if (attribute < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("attribute must not be negative, but is %d", attribute),
				 errhint("The arguments of genie_tuple() are attributes from 1 on; an array's elements have 0.")));
}

/*
 * genie_facets(index regclass, query genie_query, attributes int[]) returns table (attribute int, value text, n
 * bigint): how many of the rows that fulfil x @& query have each value of these attributes.
 */
Datum
genie_facets(PG_FUNCTION_ARGS)
{
	GenieFacetSearch *search = palloc0(sizeof(GenieFacetSearch));
	ArrayType  *attributes = PG_GETARG_ARRAYTYPE_P(2);

	if (ARR_NDIM(attributes) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("attributes must be an array of one dimension")));
	if (array_contains_nulls(attributes))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("attributes must not contain NULL")));
	search->function = "genie_facets";
	search->n_attributes = ArrayGetNItems(ARR_NDIM(attributes), ARR_DIMS(attributes));
	search->attributes = (const int32 *) ARR_DATA_PTR(attributes);
	for (uint32 i = 0; i < search->n_attributes; i++)
		genie_facets_check_attribute(search->attributes[i]);
	search->take = genie_facets_put_value;
	InitMaterializedSRF(fcinfo, 0);
	search->result = (ReturnSetInfo *) fcinfo->resultinfo;
	genie_facets_search(search, PG_GETARG_OID(0), PG_GETARG_VARLENA_P(1), get_fn_expr_argtype(fcinfo->flinfo, 1));
	return (Datum) 0;
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
	genie_facets_check_attribute(*attribute);
	search->function = "genie_aggregate";
	search->n_attributes = 1;
	search->attributes = attribute;
	search->take = genie_aggregate_take;
	genie_facets_search(search, PG_GETARG_OID(0), PG_GETARG_VARLENA_P(1), get_fn_expr_argtype(fcinfo->flinfo, 1));
	values[0] = Int64GetDatum((int64) search->n);
	if (search->n > 0 && search->are_numbers)
	{
		Numeric		sum = genie_aggregate_int128(search->sum_int);

		if (search->sum != NULL)
			sum = genie_aggregate_add(sum, search->sum);
		values[1] = NumericGetDatum(sum);
		values[2] = DirectFunctionCall2(numeric_div, NumericGetDatum(sum),
										NumericGetDatum(int64_to_numeric((int64) search->n)));
		nulls[1] = nulls[2] = false;
	}
	if (search->min != NULL)
	{
		values[3] = CStringGetTextDatum(search->min);
		values[4] = CStringGetTextDatum(search->max);
		nulls[3] = nulls[4] = false;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

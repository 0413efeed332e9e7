/*
 * genie_batch_column.c
 *	  The values of an attribute in the rows that match a query (genie_batch_column.h).
 *
 * The rows are those that genie_counts() counts (genie_batch_matches.c), as bits of each segment's objects.  A value
 * is a keyword, and the rows that have it are its posting list.  So an attribute's values are read from the
 * dictionaries of all segments side by side, in ascending order, with their lists.  That reads the attribute's lists
 * once, however many values it has, and no row.
 *
 * Where rows are only counted and a segment has an image, an engine counts them (GENIE_JOB_FACETS), and no list is read
 * from the pages: only the dictionary, for the values.
 *
 * An attempt at this may find a segment stale, when values have been taken already; all begins again.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "genie_batch_column.h"
#include "genie_bins.h"
#include "genie_object.h"
#include "genie_tuple_class.h"
#include "genie_value_text.h"

/* ---- rows ---- */

/* Takes the rows of a segment that match. */
static bool
genie_column_take_rows(void *arg, uint32 i pg_attribute_unused(), uint32 s, const uint64 *bits, Size n_words)
{
	GenieColumn *column = arg;
	MemoryContext old;
	GenieColumnSource *source;

	if (genie_matches_popcount(bits, n_words) == 0)
		return true;
	old = MemoryContextSwitchTo(column->matches.batch.attempt_context);
	source = palloc(sizeof(GenieColumnSource));
	source->number = s;
	source->source = column->matches.batch.sources[s];
	source->segment = source->source->segment;
	source->n_words = n_words;
	source->state = NULL;
	source->is_counted = false;
	source->bits = palloc_extended(n_words * sizeof(uint64), MCXT_ALLOC_HUGE);
	memcpy(source->bits, bits, n_words * sizeof(uint64));
	genie_dictionary_cursor(&source->cursor, source->segment);
	genie_list_walk_begin(&source->walk, source->segment);
	column->sources[column->n_sources++] = source;
	MemoryContextSwitchTo(old);
	return true;
}

/* ---- asking engines ---- */

/* The rank of the first keyword of an attribute or of one after it.  False: stale. */
static bool
genie_column_rank(GenieColumnSource *source, uint32 attribute, uint32 *rank)
{
	uint8		bytes[GENIE_DIMENSION_BYTES];
	GenieKey	key = {bytes, (uint32) genie_key_put_dimension(bytes, attribute)};

	if (!genie_dictionary_seek(&source->cursor, key, false))
		return false;
	*rank = source->cursor.valid ? source->cursor.rank : source->segment->header.n_keywords;
	return true;
}

/* Asks an engine about one source.  Attributes that are neighbours in the dictionary are one question. */
static void
genie_column_ask_source(GenieColumnSource *source, uint32 n)
{
	GenieRankRange *asked = palloc(n * sizeof(GenieRankRange));
	uint32		n_asked = 0;
	uint64		n_sums = 0;
	uint32	   *sums;

	for (uint32 i = 0; i < n; i++)
	{
		n_sums += source->ranges[i].end - source->ranges[i].first;
		if (n_asked > 0 && asked[n_asked - 1].end == source->ranges[i].first)
			asked[n_asked - 1].end = source->ranges[i].end;
		else
			asked[n_asked++] = source->ranges[i];
	}
	sums = palloc_extended(n_sums * sizeof(uint32) + 1, MCXT_ALLOC_HUGE);
	source->is_counted = genie_segment_facets(source->source, source->bits, asked, n_asked, sums);
	for (uint32 i = 0; i < n; i++)
	{
		source->sums[i] = sums;
		sums += source->ranges[i].end - source->ranges[i].first;
	}
	pfree(asked);
}

bool
genie_column_ask(GenieColumn *column, bool asks)
{
	uint32		n = column->n_attributes;

	for (uint32 s = 0; s < column->n_sources; s++)
	{
		GenieColumnSource *source = column->sources[s];

		source->is_counted = false;
		if (!asks || n == 0 || !genie_segment_facets_can(source->source))
			continue;
		source->ranges = palloc(n * sizeof(GenieRankRange));
		source->sums = palloc(n * sizeof(uint32 *));
		for (uint32 i = 0; i < n; i++)
			if (!genie_column_rank(source, (uint32) column->attributes[i], &source->ranges[i].first) ||
				!genie_column_rank(source, (uint32) column->attributes[i] + 1, &source->ranges[i].end))
				return false;
		genie_column_ask_source(source, n);
	}
	return true;
}

/* ---- values ---- */

/* Who takes the parts of a list. */
typedef struct GenieColumnPart
{
	const GenieColumn *column;
	uint32		asked;			/* number of the attribute */
	const GenieColumnTaker *taker;
	void	   *arg;
	GenieColumnSource *source;
} GenieColumnPart;

pg_noreturn static void
genie_column_corrupt(const GenieColumn *column, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged: %s", RelationGetRelationName(column->matches.batch.index), what),
			 errhint("Please REINDEX it.")));
}

/* The objects of a tile's part of a list.  NULL: damaged. */
static const uint16 *
genie_column_locals(const GenieColumn *column, GenieColumnSource *source, uint32 tile, const GenieListRef *ref)
{
	if ((Size) tile * GENIE_TILE_WORDS >= source->n_words)
		genie_column_corrupt(column, "a posting leaves its segment");
	return genie_list_walk_locals(&source->walk, ref);
}

static bool
genie_column_take_part(void *arg, uint32 tile, const GenieListRef *ref)
{
	const GenieColumnPart *part = arg;
	const uint16 *locals = genie_column_locals(part->column, part->source, tile, ref);

	if (locals != NULL)
		part->taker->part(part->arg, part->source, tile, locals, ref->n);
	return locals != NULL;
}

/* Is the segment at a value of the attribute? */
static bool
genie_column_is_at(const GenieColumnSource *source, GenieKey prefix)
{
	return source->cursor.valid && source->cursor.key.len > prefix.len &&
		memcmp(source->cursor.key.data, prefix.data, prefix.len) == 0;
}

/* The least value that a segment is at, copied to bytes (room for GENIE_KEY_MAX).  Its length is 0: there is none. */
static GenieKey
genie_column_least(const GenieColumn *column, GenieKey prefix, uint8 *bytes)
{
	GenieKey	least = {bytes, 0};
	const GenieColumnSource *at = NULL;

	for (uint32 s = 0; s < column->n_sources; s++)
		if (genie_column_is_at(column->sources[s], prefix) &&
			(at == NULL || genie_key_cmp(column->sources[s]->cursor.key, at->cursor.key) < 0))
			at = column->sources[s];
	if (at != NULL)
	{
		memcpy(bytes, at->cursor.key.data, at->cursor.key.len);
		least.len = at->cursor.key.len;
	}
	return least;
}

/* The rows of a source that have the value are counted. */
static void
genie_column_take_rows_of(const GenieColumnPart *part, GenieColumnSource *source)
{
	GenieRankRange range = source->ranges[part->asked];
	uint32		rank = source->cursor.rank;

	if (rank < range.first || rank >= range.end)
		genie_column_corrupt(part->column, "keywords are out of order");
	if (source->sums[part->asked][rank - range.first] > 0)
		part->taker->rows(part->arg, source, rank - range.first, source->sums[part->asked][rank - range.first]);
}

/* Takes a value's rows in all segments that are at it, from their lists or as counted.  False: stale. */
static bool
genie_column_read(GenieColumn *column, GenieKey key, GenieColumnPart *part)
{
	for (uint32 s = 0; s < column->n_sources; s++)
	{
		GenieColumnSource *source = column->sources[s];

		if (!source->cursor.valid || genie_key_cmp(source->cursor.key, key) != 0)
			continue;
		part->source = source;
		if (source->is_counted && part->taker->rows != NULL)
			genie_column_take_rows_of(part, source);
		else if (!genie_list_walk(&source->walk, &source->cursor, genie_column_take_part, part))
		{
			if (source->walk.damage != NULL)
				genie_column_corrupt(column, source->walk.damage);
			return false;
		}
		if (!genie_dictionary_next(&source->cursor))
			return false;
	}
	return true;
}

bool
genie_column_walk(GenieColumn *column, uint32 attribute, const GenieColumnTaker *taker, void *arg)
{
	GenieColumnPart part = {.column = column, .taker = taker, .arg = arg};
	uint8		prefix_bytes[GENIE_DIMENSION_BYTES];
	uint8		key_bytes[GENIE_KEY_MAX];
	GenieKey	prefix = {prefix_bytes, (uint32) genie_key_put_dimension(prefix_bytes, attribute)};
	GenieKey	key;

	while ((uint32) column->attributes[part.asked] != attribute)
		part.asked++;
	for (uint32 s = 0; s < column->n_sources; s++)
		if (!genie_dictionary_seek(&column->sources[s]->cursor, prefix, false))
			return false;
	while ((key = genie_column_least(column, prefix, key_bytes)).len > 0)
	{
		GenieFamily family;
		GenieKey	value;

		CHECK_FOR_INTERRUPTS();
		if (!genie_key_split(key, &attribute, &family, &value) || !genie_value_valid(family, value.data, value.len))
			genie_column_corrupt(column, "a keyword is malformed");
		taker->value(arg, family, value);
		if (!genie_column_read(column, key, &part))
			return false;
		taker->end(arg);
	}
	return true;
}

/* ---- one object of a value ---- */

typedef struct GenieColumnFirst
{
	GenieColumn *column;
	GenieColumnSource *source;
	bool		found;
	uint32		object;
} GenieColumnFirst;

/* Ends the walk at the first object whose row matches. */
static bool
genie_column_take_first(void *arg, uint32 tile, const GenieListRef *ref)
{
	GenieColumnFirst *first = arg;
	const uint16 *locals = genie_column_locals(first->column, first->source, tile, ref);

	for (uint32 i = 0; locals != NULL && i < ref->n && !first->found; i++)
	{
		first->object = tile * GENIE_TILE_OBJECTS + locals[i];
		first->found = (first->source->bits[first->object / 64] >> (first->object % 64)) & 1;
	}
	return locals != NULL && !first->found;
}

bool
genie_column_object(GenieColumn *column, GenieColumnSource *source, uint32 *object)
{
	GenieColumnFirst first = {.column = column, .source = source};

	if (genie_list_walk(&source->walk, &source->cursor, genie_column_take_first, &first))
		genie_column_corrupt(column, "a posting list has other rows than the image");
	if (source->walk.damage != NULL)
		genie_column_corrupt(column, source->walk.damage);
	*object = first.object;
	return first.found;
}

/* ---- rows of a value ---- */

typedef struct GenieColumnVisit
{
	GenieColumn *column;
	GenieColumnSource *source;
	uint64	   *wanted;
	GenieColumnRow row;
	void	   *arg;
} GenieColumnVisit;

static bool
genie_column_want_part(void *arg, uint32 tile, const GenieListRef *ref)
{
	GenieColumnVisit *visit = arg;
	const uint16 *locals = genie_column_locals(visit->column, visit->source, tile, ref);
	uint64	   *wanted = visit->wanted + (Size) tile * GENIE_TILE_WORDS;

	for (uint32 i = 0; locals != NULL && i < ref->n; i++)
		wanted[locals[i] / 64] |= UINT64CONST(1) << (locals[i] % 64);
	return locals != NULL;
}

static void
genie_column_take_row(void *arg, GenieVisitRow *row pg_attribute_unused(), TupleTableSlot *slot)
{
	GenieColumnVisit *visit = arg;

	visit->row(visit->arg, slot);
}

/* Those of one source.  False: stale. */
static bool
genie_column_visit_source(GenieColumnVisit *visit, GenieKey key)
{
	GenieColumn *column = visit->column;
	GenieColumnSource *source = visit->source;
	GenieVisitor *visitor = &column->matches.batch.round.visitor;
	bool		ok;

	if (!genie_dictionary_seek(&source->cursor, key, false))
		return false;
	if (!source->cursor.valid || genie_key_cmp(source->cursor.key, key) != 0)
		return true;
	visit->wanted = palloc_extended(source->n_words * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	genie_list_walk_begin(&source->walk, source->segment);
	ok = genie_list_walk(&source->walk, &source->cursor, genie_column_want_part, visit);
	if (source->walk.damage != NULL)
		genie_column_corrupt(column, source->walk.damage);
	for (Size w = 0; w < source->n_words; w++)
		visit->wanted[w] &= source->bits[w];
	visitor->found = genie_column_take_row;
	visitor->arg = visit;
	ok = ok && genie_matches_visit(&column->matches, source->number, visit->wanted, NULL, NULL, NULL);
	visitor->found = NULL;
	pfree(visit->wanted);
	return ok;
}

bool
genie_column_visit(GenieColumn *column, GenieKey key, GenieColumnRow row, void *arg)
{
	GenieColumnVisit visit = {.column = column, .row = row, .arg = arg};

	for (uint32 s = 0; s < column->n_sources; s++)
	{
		visit.source = column->sources[s];
		if (!genie_column_visit_source(&visit, key))
			return false;
	}
	return true;
}

/* ---- a call ---- */

const FuncExpr *
genie_column_tuple(Relation index)
{
	List	   *expressions = index->rd_index->indkey.values[0] == 0 ? RelationGetIndexExpressions(index) : NIL;
	const FuncExpr *call = expressions == NIL || !IsA(linitial(expressions), FuncExpr) ? NULL : linitial(expressions);
	FmgrInfo	function;

	if (call == NULL)
		return NULL;
	fmgr_info(call->funcid, &function);
	return function.fn_addr == genie_tuple ? call : NULL;
}

/* An index on genie_tuple() has as many attributes as that has arguments.  Of other indexes it is not known. */
static void
genie_column_check_exist(const GenieColumn *column)
{
	Relation	index = column->matches.batch.index;
	const FuncExpr *call = genie_column_tuple(index);

	for (uint32 i = 0; i < column->n_attributes && call != NULL; i++)
		if (column->attributes[i] < 1 || column->attributes[i] > list_length(call->args))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("attribute %d does not exist in index \"%s\"", column->attributes[i],
							RelationGetRelationName(index)),
					 errdetail("Its attributes are 1 to %d, the arguments of genie_tuple().",
							   list_length(call->args))));
}

/* What an index keeps by bins, it cannot count by values. */
static void
genie_column_check_bins(const GenieColumn *column)
{
	const GenieBatch *batch = &column->matches.batch;

	for (uint32 i = 0; i < column->n_attributes && genie_batch_is_coarse(batch); i++)
		if (!genie_tuple_class_of(batch->index) ||
			(!column->takes_bins && genie_bins_has(batch->parameters, column->attributes[i])))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index \"%s\" does not know the values of attribute %d",
							RelationGetRelationName(batch->index), column->attributes[i]),
					 errdetail("Its operator class keeps bins of them."),
					 errhint("Ask the table, WHERE ... @& ..., or an index of the operator class genie_object_ops.")));
}

static bool
genie_column_run(void *owner)
{
	GenieColumn *column = owner;

	genie_column_check_exist(column);
	genie_column_check_bins(column);
	column->sources = palloc(column->matches.batch.n_sources * sizeof(GenieColumnSource *));
	column->n_sources = 0;
	return genie_matches_begin(&column->matches) &&
		genie_matches_find(&column->matches, genie_column_take_rows, column) && column->take(column->owner);
}

void
genie_column_search(GenieColumn *column, FunctionCallInfo fcinfo, int argument, const char *function)
{
	GenieMatches *matches = &column->matches;
	Datum		query = PointerGetDatum(PG_GETARG_VARLENA_P(argument));
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argument);
	int16		typlen;
	bool		typbyval;
	char		typalign;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	matches->exact = true;
	matches->no_similarity = function;
	matches->run = genie_column_run;
	matches->owner = column;
	genie_matches_search(matches, PG_GETARG_OID(0), construct_array(&query, 1, type, typlen, typbyval, typalign),
						 GENIE_SCAN_FACETS);
}

void
genie_column_check_attribute(int32 attribute)
{
	if (attribute < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("attribute must not be negative, but is %d", attribute),
				 errhint("The arguments of genie_tuple() are attributes from 1 on; an array's elements have 0.")));
}

const int32 *
genie_column_attributes(ArrayType *array, uint32 *n)
{
	const int32 *attributes = (const int32 *) ARR_DATA_PTR(array);

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("attributes must be an array of one dimension")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("attributes must not contain NULL")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	for (uint32 i = 0; i < *n; i++)
		genie_column_check_attribute(attributes[i]);
	return attributes;
}

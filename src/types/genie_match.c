/*
 * genie_match.c
 *	  The match count computed from the values: genie_match_count(), the operators <&> and @&.
 *
 * This is the definition that every index scan must agree with.  It must also be fast, because sequential scans run it.
 * The right operand is mostly the same in all rows, so its query is kept in fn_extra (genie_operand.h).
 *
 * How left operands are counted:
 *
 *		integer arrays	as integers (genie_int_array.c)
 *		other arrays	decomposed into a buffer that is kept from row to row, sorted, and merged with the query
 *		objects			merged in place, because they are packed and sorted already
 *		other types		the caller passes a function that collects their keywords (genie_match.h)
 *
 * Nothing is allocated for a row, unless a value must be detoasted or unpacked; that memory is freed at once.
 */
#include "postgres.h"

#include "genie_array.h"
#include "genie_int_operand.h"
#include "genie_match.h"
#include "genie_object.h"
#include "genie_operand.h"
#include "genie_query.h"
#include "genie_text.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(genie_match_count_arrays);
PG_FUNCTION_INFO_V1(genie_match_count_array_query);
PG_FUNCTION_INFO_V1(genie_match_count_objects);
PG_FUNCTION_INFO_V1(genie_match_count_object_query);
PG_FUNCTION_INFO_V1(genie_order_arrays);
PG_FUNCTION_INFO_V1(genie_order_array_query);
PG_FUNCTION_INFO_V1(genie_order_objects);
PG_FUNCTION_INFO_V1(genie_order_object_query);
PG_FUNCTION_INFO_V1(genie_matches_array_query);
PG_FUNCTION_INFO_V1(genie_matches_object_query);

typedef struct MatchState
{
	MemoryContext rows;			/* lives as long as this state */
	GenieOperand right;
	GenieQueryView *view;		/* of the right operand */
	GenieMakeQuery make_query;	/* GENIE_RIGHT_OTHER */
	bool		has_ints;		/* ints has been made of view */
	GenieIntQuery ints;
	GenieArrayType *array_type; /* of the left operand */
	GenieKeywords keywords;		/* of the left operand */
} MatchState;

void
genie_report_conflict(const GenieQueryView *query, GenieKey key)
{
	uint32		prefix = genie_key_prefix_len(key);
	const char *asked = NULL;
	uint32		dimension;

	genie_key_get_dimension(key.data, key.len, &dimension);
	for (uint32 i = 0; i < query->n_intervals && asked == NULL; i++)
	{
		GenieKey	lo = query->intervals[i].lo;

		if (lo.len >= prefix && memcmp(lo.data, key.data, prefix - 1) == 0)
			asked = genie_family_name(lo.data[prefix - 1]);
	}
	if (dimension == GENIE_ARRAY_DIMENSION)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("query asks for elements of type family \"%s\", but the object has \"%s\"",
						asked, genie_family_name(key.data[prefix - 1])),
				 errhint("Cast what the query is made of to the type of the elements.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("query asks attribute %u for type family \"%s\", but the object has \"%s\"",
					dimension, asked, genie_family_name(key.data[prefix - 1])),
			 errhint("Cast the query's value to the type of the attribute.")));
}

static MatchState *
match_state(FunctionCallInfo fcinfo)
{
	MatchState *state = fcinfo->flinfo->fn_extra;
	MemoryContext old;

	if (state != NULL)
		return state;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(MatchState));
	state->rows = CurrentMemoryContext;
	genie_operand_init(&state->right);
	genie_keywords_init(&state->keywords);
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

/* left: NULL if it is no array */
static void
prepare_right(MatchState *state, Datum datum, GenieRightKind kind, const ArrayType *left)
{
	struct varlena *right = genie_operand_if_new(&state->right, datum);
	MemoryContext old;
	const GenieQuery *query;
	ArrayType  *array;

	if (right == NULL)
		return;
	state->has_ints = false;
	old = MemoryContextSwitchTo(state->right.context);
	switch (kind)
	{
		case GENIE_RIGHT_ARRAY:
			array = DatumGetArrayTypeP(PointerGetDatum(right));
			query = genie_array_query(genie_array_type(&state->array_type, ARR_ELEMTYPE(array), state->rows),
									  array, 1);
			break;
		case GENIE_RIGHT_OBJECT:
			query = genie_query_of_object(PG_DETOAST_DATUM_PACKED(PointerGetDatum(right)), 1);
			break;
		case GENIE_RIGHT_OTHER:
			query = state->make_query(PointerGetDatum(right), 1);
			break;
		default:
			query = DatumGetGenieQuery(PointerGetDatum(right));
			if (left != NULL)
				genie_array_check_query(query);
	}
	if (left != NULL && kind != GENIE_RIGHT_ARRAY && genie_int_width(getBaseType(ARR_ELEMTYPE(left))) != 0)
		query = genie_int_operand_query(query);
	state->view = genie_query_view(query, state->right.context);
	MemoryContextSwitchTo(old);
	genie_operand_keep(&state->right, right);
}

bool
genie_match_satisfies(const GenieQueryView *query, uint32 count, uint32 size)
{
	return (int64) count >= query->min_match &&
		genie_threshold_holds(query->distance_strategy, query->max_distance, count, query->n_intervals, size);
}

static GenieMatch
match_packed(const MatchState *state, const uint8 *packed, uint32 n)
{
	GenieMatch	match = {.query = state->view, .size = n};
	bool		conflict = false;
	GenieKey	key;

	match.count = genie_query_count_packed(state->view, packed, n, &conflict, &key);
	if (conflict)
		genie_report_conflict(state->view, key);
	return match;
}

static GenieMatch
match_ints(MatchState *state, ArrayType *array)
{
	static const uint8 prefix[] = {GENIE_ARRAY_DIMENSION, GENIE_FAMILY_INT};
	GenieIntRun run = genie_int_run(array, state->array_type->int_width, &state->array_type->ints);
	GenieMatch	match = {.query = state->view, .size = run.n};

	genie_keywords_check_limit(run.n);
	if (!state->has_ints)
	{
		genie_int_query_of_view(&state->ints, state->view, state->right.context);
		state->has_ints = true;
	}
	if (state->ints.conflict && run.n > 0)
	{
		GenieKey	key = {prefix, sizeof(prefix)};

		genie_report_conflict(state->view, key);
	}
	match.count = genie_int_query_count(&state->ints, run);
	return match;
}

/* Finishes state->keywords; returns their match. */
static GenieMatch
match_keywords(MatchState *state)
{
	genie_keywords_finish(&state->keywords);
	return match_packed(state, state->keywords.bytes, state->keywords.n);
}

GenieMatch
genie_match_array(FunctionCallInfo fcinfo, GenieRightKind kind)
{
	MatchState *state = match_state(fcinfo);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	GenieMatch	match;

	prepare_right(state, PG_GETARG_DATUM(1), kind, array);
	genie_array_type(&state->array_type, ARR_ELEMTYPE(array), state->rows);
	if (state->array_type->int_width != 0)
		match = match_ints(state, array);
	else
	{
		genie_keywords_reset(&state->keywords);
		genie_array_collect(state->array_type, array, &state->keywords);
		match = match_keywords(state);
	}
	PG_FREE_IF_COPY(array, 0);
	return match;
}

GenieMatch
genie_match_object(FunctionCallInfo fcinfo, GenieRightKind kind)
{
	MatchState *state = match_state(fcinfo);
	struct varlena *object = PG_GETARG_VARLENA_PP(0);
	GenieMatch	match;
	uint32		n;
	Size		nbytes;
	const uint8 *packed = genie_object_keys(object, &n, &nbytes);

	prepare_right(state, PG_GETARG_DATUM(1), kind, NULL);
	match = match_packed(state, packed, n);
	PG_FREE_IF_COPY(object, 0);
	return match;
}

const GenieQueryView *
genie_match_right(FunctionCallInfo fcinfo, GenieMakeQuery make_query, GenieKeywords **keywords)
{
	MatchState *state = match_state(fcinfo);

	state->make_query = make_query;
	prepare_right(state, PG_GETARG_DATUM(1), make_query == NULL ? GENIE_RIGHT_QUERY : GENIE_RIGHT_OTHER, NULL);
	genie_keywords_reset(&state->keywords);
	*keywords = &state->keywords;
	return state->view;
}

GenieMatch
genie_match_left(FunctionCallInfo fcinfo)
{
	return match_keywords(fcinfo->flinfo->fn_extra);
}

GenieMatch
genie_match(FunctionCallInfo fcinfo, GenieCollect collect, GenieMakeQuery make_query)
{
	GenieKeywords *keywords;

	genie_match_right(fcinfo, make_query, &keywords);
	collect(PG_GETARG_DATUM(0), keywords);
	return genie_match_left(fcinfo);
}

/* ---- the SQL functions ---- */

Datum
genie_match_count_arrays(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match_array(fcinfo, GENIE_RIGHT_ARRAY).count);
}

Datum
genie_match_count_array_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match_array(fcinfo, GENIE_RIGHT_QUERY).count);
}

Datum
genie_match_count_objects(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match_object(fcinfo, GENIE_RIGHT_OBJECT).count);
}

Datum
genie_match_count_object_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match_object(fcinfo, GENIE_RIGHT_QUERY).count);
}

/* array <&> array: the negative match count, so that an ascending order gives the best first */
Datum
genie_order_arrays(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match_array(fcinfo, GENIE_RIGHT_ARRAY).count);
}

/* array <&> query */
Datum
genie_order_array_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match_array(fcinfo, GENIE_RIGHT_QUERY).count);
}

/* object <&> object */
Datum
genie_order_objects(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match_object(fcinfo, GENIE_RIGHT_OBJECT).count);
}

/* object <&> query */
Datum
genie_order_object_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match_object(fcinfo, GENIE_RIGHT_QUERY).count);
}

/* array @& query */
Datum
genie_matches_array_query(PG_FUNCTION_ARGS)
{
	GenieMatch	match = genie_match_array(fcinfo, GENIE_RIGHT_QUERY);

	PG_RETURN_BOOL(genie_match_satisfies(match.query, match.count, match.size));
}

/* object @& query */
Datum
genie_matches_object_query(PG_FUNCTION_ARGS)
{
	GenieMatch	match = genie_match_object(fcinfo, GENIE_RIGHT_QUERY);

	PG_RETURN_BOOL(genie_match_satisfies(match.query, match.count, match.size));
}

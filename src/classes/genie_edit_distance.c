/*
 * genie_edit_distance.c
 *	  The edit distance of texts: genie_levenshtein(), text <~> text, text @& genie_edit_query.
 *
 * Insertions, deletions and substitutions of characters cost 1 each (Levenshtein, "Binary codes capable of correcting
 * deletions, insertions, and reversals", Soviet Physics Doklady 10, 1966).  Characters are those of the server's
 * encoding, whatever the collation.  genie_edit.c computes the distance of arrays of numbers; this file turns
 * characters into numbers.  The number of a character is made of its bytes, of which no server encoding has more than
 * four.
 *
 * The right operand is mostly the same in all rows, so its pattern is kept in fn_extra (genie_operand.h).  Nothing is
 * allocated for a row, unless a text must be detoasted or is longer than all before it.
 *
 * Who has many texts at hand measures several of them together (GenieEditGroup), if the query is one block of rows.
 *
 * PostgreSQL's varstr_levenshtein() is not used: it is limited to 255 characters, and computes cell by cell, about ten
 * times slower.
 *
 * Two texts of 65,535 characters with nothing in common take about 0.2 s; interrupts are looked for some hundred times
 * meanwhile.  A pattern that is kept in fn_extra is whole after an error there.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "genie_ball.h"
#include "genie_compat.h"
#include "genie_edit_distance.h"
#include "genie_ngram.h"
#include "genie_operand.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

StaticAssertDecl(MAX_MULTIBYTE_CHAR_LEN <= sizeof(uint32), "a character fits a number");

PG_FUNCTION_INFO_V1(genie_levenshtein);
PG_FUNCTION_INFO_V1(genie_edit_distance_texts);
PG_FUNCTION_INFO_V1(genie_matches_text_edit_query);
PG_FUNCTION_INFO_V1(genie_edit_query_make);

#define IDS_INITIAL			256 /* characters */

typedef struct EditState
{
	MemoryContext context;		/* lives as long as this state */
	GenieOperand right;
	GenieEditPattern pattern;	/* of the right operand */
	uint32		limit;			/* the distance of a right operand that is a genie_edit_query */
	uint32		capacity;		/* of the next two */
	uint16	   *ids;			/* the left operand's characters */
	uint8	   *scratch;
} EditState;

pg_noreturn static void report_too_long(void);

static void
report_too_long(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("text is too long for an edit distance"),
			 errdetail("At most %d characters are possible.", GENIE_EDIT_LENGTH_MAX)));
}

void
genie_edit_check_length(const text *value)
{
	Size		len = VARSIZE_ANY_EXHDR(value);

	if (len <= GENIE_EDIT_LENGTH_MAX)
		return;
	/* the characters of a very long text are not counted, because nothing could interrupt that */
	if (len / pg_database_encoding_max_length() > GENIE_EDIT_LENGTH_MAX ||
		pg_mbstrlen_with_len(VARDATA_ANY(value), (int) len) > GENIE_EDIT_LENGTH_MAX)
		report_too_long();
}

/* The character at *at, which is advanced. */
static inline uint32
next_character(const char **at, const char *end, bool bytes)
{
	uint32		character = (uint8) *(*at)++;

	if (!bytes && IS_HIGHBIT_SET(character))
	{
		for (int left = genie_ngram_character(*at - 1, end) - 1; left > 0; left--)
			character = character << 8 | (uint8) *(*at)++;
	}
	return character;
}

uint32
genie_edit_codes(const text *value, uint8 *codes, uint32 n)
{
	const char *at = VARDATA_ANY(value);
	const char *end = at + VARSIZE_ANY_EXHDR(value);
	bool		bytes = pg_database_encoding_max_length() == 1;
	uint32		length = 0;

	genie_edit_check_length(value);
	for (; at < end && length < n; length++)
	{
		uint32		character = next_character(&at, end, bytes);

		codes[length] = (uint8) (character < 256 ? character : 128 | murmurhash32(character) % 128);
	}
	return length + (uint32) pg_mbstrlen_with_len(at, (int) (end - at));
}

static EditState *
edit_state(FunctionCallInfo fcinfo)
{
	EditState  *state = fcinfo->flinfo->fn_extra;
	MemoryContext old;

	if (state != NULL)
		return state;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(EditState));
	state->context = CurrentMemoryContext;
	genie_operand_init(&state->right);
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

static void
look_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* Makes the pattern of a text, in the current memory context. */
static void
make_pattern(GenieEditPattern *pattern, const text *value)
{
	Size		len = VARSIZE_ANY_EXHDR(value);
	const char *at = VARDATA_ANY(value);
	const char *end = at + len;
	bool		bytes = pg_database_encoding_max_length() == 1;
	uint32	   *characters;
	uint32		n = 0;

	genie_edit_check_length(value);
	characters = palloc(len * sizeof(uint32));
	while (at < end)
		characters[n++] = next_character(&at, end, bytes);
	pattern->slots = palloc0(genie_edit_slots(n) * sizeof(uint64));
	pattern->ids = palloc(n * sizeof(uint16));
	pattern->masks = palloc0(genie_edit_masks(n) * sizeof(uint64));
	genie_edit_prepare(pattern, characters, n);
	pattern->pause = look_for_interrupts;
	pfree(characters);
}

/*
 * The numbers of a text's characters, each step places behind the one before; there must be room for all of its bytes,
 * or for GENIE_EDIT_LENGTH_MAX.  Returns how many they are.
 */
static uint32
number_text(const GenieEditPattern *pattern, const text *value, uint16 *ids, uint32 step)
{
	const char *at = VARDATA_ANY(value);
	const char *end = at + VARSIZE_ANY_EXHDR(value);
	bool		bytes = pg_database_encoding_max_length() == 1;
	uint32		n = 0;

	for (; at < end; n++, ids += step)
		*ids = genie_edit_id(pattern, next_character(&at, end, bytes));
	return n;
}

static void
enlarge(EditState *state, Size len)
{
	uint32		capacity = IDS_INITIAL;

	while (capacity < len)
		capacity *= 2;
	if (state->ids != NULL)
	{
		pfree(state->ids);
		pfree(state->scratch);
	}
	state->ids = NULL;
	state->capacity = 0;
	state->scratch = MemoryContextAlloc(state->context, capacity);
	state->ids = MemoryContextAlloc(state->context, capacity * sizeof(uint16));
	state->capacity = capacity;
}

/* The left operand's distance to the pattern, or any number above limit. */
static uint32
distance_to_left(FunctionCallInfo fcinfo, EditState *state, uint32 limit)
{
	text	   *value = PG_GETARG_TEXT_PP(0);
	Size		len = VARSIZE_ANY_EXHDR(value);
	uint32		n;

	genie_edit_check_length(value);
	if (state->capacity < Min(len, GENIE_EDIT_LENGTH_MAX))
		enlarge(state, Min(len, GENIE_EDIT_LENGTH_MAX));
	n = number_text(&state->pattern, value, state->ids, 1);
	PG_FREE_IF_COPY(value, 0);
	return genie_edit_distance(&state->pattern, state->ids, n, limit, state->scratch);
}

/* The distance of two texts. */
static uint32
distance_of_texts(FunctionCallInfo fcinfo)
{
	EditState  *state = edit_state(fcinfo);
	struct varlena *right = genie_operand_if_new(&state->right, PG_GETARG_DATUM(1));

	if (right != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->right.context);

		make_pattern(&state->pattern, DatumGetTextPP(PointerGetDatum(right)));
		MemoryContextSwitchTo(old);
		genie_operand_keep(&state->right, right);
	}
	return distance_to_left(fcinfo, state, GENIE_EDIT_LENGTH_MAX);
}

Datum
genie_levenshtein(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(distance_of_texts(fcinfo));
}

/* text <~> text */
Datum
genie_edit_distance_texts(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_of_texts(fcinfo));
}

/* ---- many texts ---- */

GenieEditGroup *
genie_edit_group_begin(Datum query)
{
	const text *value = DatumGetTextPP(query);
	GenieEditGroup *group;

	genie_edit_check_length(value);
	if (VARSIZE_ANY_EXHDR(value) == 0 ||
		pg_mbstrlen_with_len(VARDATA_ANY(value), (int) VARSIZE_ANY_EXHDR(value)) > GENIE_EDIT_BLOCK)
		return NULL;
	group = palloc0(sizeof(GenieEditGroup));
	make_pattern(&group->pattern, value);
	group->capacity = IDS_INITIAL;
	group->ids = palloc(group->capacity * group->pattern.lanes * sizeof(uint16));
	return group;
}

bool
genie_edit_group_add(GenieEditGroup *group, Datum datum)
{
	text	   *value = DatumGetTextPP(datum);
	Size		len = Min(VARSIZE_ANY_EXHDR(value), GENIE_EDIT_LENGTH_MAX);

	Assert(group->n < group->pattern.lanes);
	genie_edit_check_length(value);
	if (group->capacity < len)
	{
		while (group->capacity < len)
			group->capacity *= 2;
		group->ids = repalloc(group->ids, group->capacity * group->pattern.lanes * sizeof(uint16));
	}
	group->lengths[group->n] = number_text(&group->pattern, value, group->ids + group->n, group->pattern.lanes);
	if (PointerGetDatum(value) != datum)
		pfree(value);
	return ++group->n == group->pattern.lanes;
}

void
genie_edit_group_measure(GenieEditGroup *group)
{
	for (uint32 i = group->n; i < group->pattern.lanes; i++)
		group->lengths[i] = 0;
	genie_edit_distances(&group->pattern, group->ids, group->lengths, group->distances);
	group->n = 0;
}

/* ---- texts within a distance ---- */

static void
check_distance(int32 distance)
{
	if (distance < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("edit distance must not be negative")));
}

text *
genie_edit_query_parts(Datum datum, uint32 *distance)
{
	Datum		most;
	text	   *query = DatumGetTextPP(genie_ball_parts(datum, TEXTOID, INT4OID, &most));

	check_distance(DatumGetInt32(most));
	genie_edit_check_length(query);
	*distance = DatumGetInt32(most);
	return query;
}

/* genie_edit_query(text, int) */
Datum
genie_edit_query_make(PG_FUNCTION_ARGS)
{
	TupleDesc	descriptor = fcinfo->flinfo->fn_extra;
	Datum	   *values;
	bool	   *nulls;

	genie_edit_check_length(PG_GETARG_TEXT_PP(0));
	check_distance(PG_GETARG_INT32(1));
	if (descriptor == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "genie_edit_query() does not return a composite type");
		genie_ball_check(descriptor, TEXTOID, INT4OID);
		fcinfo->flinfo->fn_extra = descriptor = BlessTupleDesc(descriptor);
		MemoryContextSwitchTo(old);
	}
	values = palloc0(descriptor->natts * sizeof(Datum));
	nulls = palloc(descriptor->natts * sizeof(bool));
	memset(nulls, true, descriptor->natts * sizeof(bool));
	nulls[0] = nulls[1] = false;
	values[0] = PG_GETARG_DATUM(0);
	values[1] = PG_GETARG_DATUM(1);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls)));
}

/* text @& genie_edit_query */
Datum
genie_matches_text_edit_query(PG_FUNCTION_ARGS)
{
	EditState  *state = edit_state(fcinfo);
	struct varlena *right = genie_operand_if_new(&state->right, PG_GETARG_DATUM(1));

	if (right != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->right.context);

		make_pattern(&state->pattern, genie_edit_query_parts(PointerGetDatum(right), &state->limit));
		MemoryContextSwitchTo(old);
		genie_operand_keep(&state->right, right);
	}
	PG_RETURN_BOOL(distance_to_left(fcinfo, state, state->limit) <= state->limit);
}

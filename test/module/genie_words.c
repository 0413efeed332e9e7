/*
 * genie_words.c
 *	  An operator class of another extension: a text is the set of its blank-separated words.
 *
 * This is what an author of an operator class for the access method genie writes: genie's installed headers
 * are included, and nothing is linked to.  A word is a keyword of dimension 0 and family text, like an element of a
 * text[], so genie_query(ARRAY['some', 'words'], 2) makes queries for texts too.
 *
 * The parameter min_length leaves out words of fewer bytes.  Operators do not see an operator class's
 * parameters: <&> and @& count all words, and an index with another min_length answers by it.
 * genie_words_shared() computes that answer without the index.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "genie_opclass.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

#define WORD_DIMENSION		0
#define MIN_LENGTH_DEFAULT	1
#define MIN_LENGTH_MAX		1000

PG_FUNCTION_INFO_V1(genie_words_shared);
PG_FUNCTION_INFO_V1(genie_words_order);
PG_FUNCTION_INFO_V1(genie_words_matches);
PG_FUNCTION_INFO_V1(genie_words_decompose);
PG_FUNCTION_INFO_V1(genie_words_compile);
PG_FUNCTION_INFO_V1(genie_words_options);

typedef struct WordsOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			min_length;		/* in bytes */
} WordsOptions;

static int
min_length_option(FunctionCallInfo fcinfo)
{
	if (!PG_HAS_OPCLASS_OPTIONS())
		return MIN_LENGTH_DEFAULT;
	return ((WordsOptions *) PG_GET_OPCLASS_OPTIONS())->min_length;
}

/* The next word's key, written to out; false at the end. */
static bool
next_word(const char **at, const char *end, int min_length, uint8 *out, GenieKey *key)
{
	while (*at < end)
	{
		const char *begin = *at;
		const char *blank = memchr(begin, ' ', end - begin);
		Size		len = (blank == NULL ? end : blank) - begin;

		CHECK_FOR_INTERRUPTS();
		*at = blank == NULL ? end : blank + 1;
		if (len > 0 && len >= min_length)
		{
			*key = genie_key_make(out, WORD_DIMENSION, GENIE_FAMILY_TEXT, (const uint8 *) begin, len);
			return true;
		}
	}
	return false;
}

/* A text's words as a query for any of them. */
static GenieQuery *
query_of_text(text *value, int min_length)
{
	const char *at = VARDATA_ANY(value);
	const char *end = at + VARSIZE_ANY_EXHDR(value);
	uint32		capacity = 16;
	uint32		n = 0;
	GenieKey   *keys = palloc(capacity * sizeof(GenieKey));
	uint8		bytes[GENIE_KEY_MAX];
	GenieKey	key;

	while (next_word(&at, end, min_length, bytes, &key))
	{
		if (n == capacity)
		{
			capacity *= 2;
			keys = repalloc_huge(keys, capacity * sizeof(GenieKey));
		}
		keys[n].data = memcpy(palloc(key.len), key.data, key.len);
		keys[n++].len = key.len;
	}
	return genie_query_of_keys(keys, n, 1);
}

/* Errors, as genie does, if the query asks for what no text has: words of another type. */
static GenieQuery *
check_query(GenieQuery *query)
{
	static const uint8 prefix[] = {WORD_DIMENSION, GENIE_FAMILY_TEXT};
	const uint8 *at = query->body;

	for (uint32 i = 0; i < query->n; i++)
	{
		GenieInterval interval = genie_query_next(&at);

		if (memcmp(interval.lo.data, prefix, sizeof(prefix)) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("query does not ask for words")));
	}
	return query;
}

/* How many of the words, which are points, does the query contain?  Both are in order. */
static int32
count_shared(const GenieQuery *words, const GenieQuery *query)
{
	const uint8 *word_at = words->body;
	const uint8 *query_at = query->body;
	GenieInterval interval;
	uint32		n_read = 0;
	int			place = 1;		/* of the word in the interval; nothing read: past it */
	int32		count = 0;

	for (uint32 i = 0; i < words->n; i++)
	{
		GenieKey	key = genie_query_next(&word_at).lo;

		if (n_read > 0)
			place = genie_interval_locate(&interval, key);
		while (place > 0 && n_read < query->n)
		{
			interval = genie_query_next(&query_at);
			n_read++;
			place = genie_interval_locate(&interval, key);
		}
		if (place == 0)
			count++;
	}
	return count;
}

/* ---- operators ---- */

Datum
genie_words_shared(PG_FUNCTION_ARGS)
{
	int32		min_length = PG_GETARG_INT32(2);

	PG_RETURN_INT32(count_shared(query_of_text(PG_GETARG_TEXT_PP(0), min_length),
								 query_of_text(PG_GETARG_TEXT_PP(1), min_length)));
}

/* text <&> text */
Datum
genie_words_order(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-count_shared(query_of_text(PG_GETARG_TEXT_PP(0), MIN_LENGTH_DEFAULT),
								  query_of_text(PG_GETARG_TEXT_PP(1), MIN_LENGTH_DEFAULT)));
}

/* text @& genie_query */
Datum
genie_words_matches(PG_FUNCTION_ARGS)
{
	GenieQuery *words = query_of_text(PG_GETARG_TEXT_PP(0), MIN_LENGTH_DEFAULT);
	GenieQuery *query = check_query(PG_GETARG_GENIE_QUERY(1));
	int32		count = count_shared(words, query);

	PG_RETURN_BOOL(count >= query->min_match &&
				   genie_threshold_holds(query->distance_strategy, query->max_distance, count, query->n, words->n));
}

/* ---- support functions (genie_opclass.h) ---- */

Datum
genie_words_decompose(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	int			min_length = min_length_option(fcinfo);
	const char *at = VARDATA_ANY(value);
	const char *end = at + VARSIZE_ANY_EXHDR(value);
	uint8		bytes[GENIE_KEY_MAX];
	GenieKey	key;

	while (next_word(&at, end, min_length, bytes, &key))
		genie_keywords_add(keywords, key);
	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_VOID();
}

Datum
genie_words_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	Oid			subtype = PG_GETARG_OID(2);

	if (subtype == get_func_rettype(fcinfo->flinfo->fn_oid))
		PG_RETURN_POINTER(check_query(DatumGetGenieQuery(operand)));
	PG_RETURN_POINTER(query_of_text(DatumGetTextPP(operand), min_length_option(fcinfo)));
}

Datum
genie_words_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(WordsOptions));
	add_local_int_reloption(options, "min_length", "Length in bytes of the shortest word that counts.",
							MIN_LENGTH_DEFAULT, MIN_LENGTH_DEFAULT, MIN_LENGTH_MAX,
							offsetof(WordsOptions, min_length));
	PG_RETURN_VOID();
}

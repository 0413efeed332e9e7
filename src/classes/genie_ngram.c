/*
 * genie_ngram.c
 *	  genie_ngrams(): a text as the set of its numbered n-grams; operators of texts and queries for these.
 *
 * A gram is n neighbouring characters of the text, which is padded with n - 1 blanks at both ends.  The i-th occurrence
 * of a gram (from 0) is the keyword
 *
 *		dimension n * 65536 + i, family text, value: the gram's characters
 *
 * so that two texts share, of each gram, the smaller of its two numbers of occurrences (GENIE: Zhou et al., ICDE 2018,
 * section 5.3, "ordered n-grams").  Characters are those of the server's encoding; case and blanks count.
 *
 * A text of L characters has exactly L + n - 1 grams, whatever L is.  So the empty text has n - 1 grams of blanks (none
 * if n = 1), and a text shorter than n has grams too.
 *
 * The effect of an edit.  An edit of one character of the text is the same edit of the padded text.  A character there
 * is in at most n grams, and at most n - 1 grams span the place between two characters.  So one edit removes at most n
 * grams and adds at most n.  After d edits of a text with g grams, at least g - dn of them are left.  The same holds in
 * the other direction, which bounds d.  The proof does not need a padding character that texts do not have.  It is the
 * blank, because blanks are readable, and stand around words inside a text as well.
 *
 * The reason for padding.  Without it, a character at an end is in one gram instead of n, so the bound overestimates
 * the effect of edits there, where most misspellings are; and short texts would have no grams.  With padding at both
 * ends, the executor looks at far fewer rows until it knows the nearest words: for n = 3, a median of 97 of 611,756
 * instead of 2,631.
 */
#include "postgres.h"

#include "genie_match.h"
#include "genie_multiset.h"
#include "genie_ngram.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

PG_FUNCTION_INFO_V1(genie_ngrams);
PG_FUNCTION_INFO_V1(genie_match_count_text_query);
PG_FUNCTION_INFO_V1(genie_order_text_query);
PG_FUNCTION_INFO_V1(genie_matches_text_query);

/* Is every byte of a text a character: is the encoding a single-byte one, or the text ASCII? */
static bool
is_bytes(const char *bytes, Size len)
{
	uint8		any = 0;

	if (pg_database_encoding_max_length() == 1)
		return true;
	for (Size i = 0; i < len; i++)
		any |= (uint8) bytes[i];
	return !IS_HIGHBIT_SET(any);
}

int
genie_ngram_character(const char *at, const char *end)
{
	return (int) Min(pg_mblen(at), end - at);
}

/* The grams of a padded text, in their order in it; returns how many. */
static uint32
cut(const char *padded, Size len, int n, GenieMultisetPiece *grams)
{
	bool		bytes = is_bytes(padded, len);
	const char *end = padded + len;
	const char *to = padded;	/* end of the gram that begins at padded */
	uint32		n_grams = 0;

	for (int i = 0; i < n - 1 && to < end; i++)
		to += bytes ? 1 : genie_ngram_character(to, end);
	while (to < end)
	{
		to += bytes ? 1 : genie_ngram_character(to, end);
		grams[n_grams].value.data = (const uint8 *) padded;
		grams[n_grams].value.len = (uint32) (to - padded);
		n_grams++;
		padded += bytes ? 1 : genie_ngram_character(padded, end);
	}
	return n_grams;
}

static void
report_too_many(int n)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("text has too many n-grams"),
			 errdetail("A text can have at most %d characters if its n-grams have %d.",
					   GENIE_OBJECT_KEYWORDS_MAX - (n - 1), n)));
}

/* Adds the numbered n-grams of a text of so many characters: the first ones, if there are too many. */
static void
collect(const text *value, Size n_characters, int n, GenieKeywords *keywords)
{
	Size		len = VARSIZE_ANY_EXHDR(value);
	Size		padded_len = len + 2 * (n - 1);
	char	   *padded;
	GenieMultisetPiece *grams;
	uint32		n_grams;

	StaticAssertStmt(GENIE_NGRAM_MAX * MAX_MULTIBYTE_CHAR_LEN <= GENIE_VALUE_MAX, "grams may be too long");

	if (n_characters + n == 1)
		return;
	padded = palloc(padded_len);
	memset(padded, ' ', n - 1);
	memcpy(padded + n - 1, VARDATA_ANY(value), len);
	memset(padded + n - 1 + len, ' ', n - 1);
	grams = palloc((n_characters + n - 1) * sizeof(GenieMultisetPiece));
	n_grams = cut(padded, padded_len, n, grams);
	genie_multiset_collect(grams, Min(n_grams, GENIE_OBJECT_KEYWORDS_MAX), n * GENIE_NGRAM_DIMENSIONS, keywords);
	pfree(grams);
	pfree(padded);
}

void
genie_ngram_collect(const text *value, int n, GenieKeywords *keywords)
{
	Size		len = VARSIZE_ANY_EXHDR(value);
	Size		n_characters;

	/* a text has at least so many characters, so a very long one is refused without counting them */
	if (len / pg_database_encoding_max_length() > GENIE_OBJECT_KEYWORDS_MAX)
		report_too_many(n);
	n_characters = pg_mbstrlen_with_len(VARDATA_ANY(value), (int) len);
	if (n_characters + n - 1 > GENIE_OBJECT_KEYWORDS_MAX)
		report_too_many(n);
	collect(value, n_characters, n, keywords);
}

void
genie_ngram_collect_first(const text *value, int n, GenieKeywords *keywords)
{
	collect(value, pg_mbstrlen_with_len(VARDATA_ANY(value), (int) VARSIZE_ANY_EXHDR(value)), n, keywords);
}

Datum
genie_ngrams(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);
	int32		n = PG_GETARG_INT32(1);
	GenieKeywords keywords;

	if (n < 1 || n > GENIE_NGRAM_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("n-grams cannot have %d characters", n),
				 errdetail("They have 1 to %d.", GENIE_NGRAM_MAX)));
	genie_keywords_init(&keywords);
	genie_ngram_collect(value, n, &keywords);
	genie_keywords_finish(&keywords);
	PG_RETURN_POINTER(genie_object_make(&keywords));
}

/* ---- texts and queries ---- */

/* The match of a text and a genie_query.  The text's grams are of those lengths n that the query's dimensions have. */
static GenieMatch
match_text(FunctionCallInfo fcinfo)
{
	GenieKeywords *keywords;
	const GenieQueryView *query = genie_match_right(fcinfo, NULL, &keywords);
	text	   *value = PG_GETARG_TEXT_PP(0);
	uint32		collected = 1;	/* bit n: n-grams; there are none of length 0 */

	for (uint32 i = 0; i < query->n_intervals; i++)
	{
		GenieKey	lo = query->intervals[i].lo;
		uint32		dimension;
		uint32		n;

		genie_key_get_dimension(lo.data, lo.len, &dimension);
		n = dimension / GENIE_NGRAM_DIMENSIONS;
		if (n > GENIE_NGRAM_MAX || collected & 1u << n)
			continue;
		genie_ngram_collect(value, n, keywords);
		collected |= 1u << n;
	}
	PG_FREE_IF_COPY(value, 0);
	return genie_match_left(fcinfo);
}

Datum
genie_match_count_text_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(match_text(fcinfo).count);
}

/* text <&> query */
Datum
genie_order_text_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) match_text(fcinfo).count);
}

/* text @& query */
Datum
genie_matches_text_query(PG_FUNCTION_ARGS)
{
	GenieMatch	match = match_text(fcinfo);

	PG_RETURN_BOOL(genie_match_satisfies(match.query, match.count, match.size));
}

/*
 * genie_edit_class.c
 *	  The operator class genie_edit_ops: texts by their n-grams, nearest first by edit distance.
 *
 * The class's option n is the number of characters of a gram; the dimensions are those of genie_ngrams(value, n).
 * Operators do not see options.  x <~> q and x @& genie_edit_query do not need n; x <&> genie_query and
 * x @& genie_query find n in the query's dimensions, which must be the index's.
 *
 * The bound.  d edits remove at most dn of a text's grams (genie_ngram.c).  So if a text has g grams, another has h,
 * and they share c, then g - c <= dn and h - c <= dn, and the distance is at least
 *
 *		ceil((max(g, h) - c) / n)
 *
 * (Ukkonen, "Approximate string-matching with q-grams and maximal matches", Theoretical Computer Science 92, 1992;
 * for the larger of the two, GENIE, section 5.3).  The distance is also at least |g - h|, the difference of the
 * lengths. This second bound is the larger one mostly among long texts of different lengths.
 *
 * A query of 65,535 characters has up to n - 1 grams more than a query can have keywords.  Then m = 65,535 of its g
 * grams are asked for.  A text shares at least c - (g - m) of them, so m minus
 * that number is at most g - c.  No text in the
 * index has more than m grams, so m and g are the larger numbers above, and the bound is still one.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "catalog/pg_type.h"
#include "genie_edit_distance.h"
#include "genie_ngram.h"
#include "genie_query.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(genie_edit_decompose);
PG_FUNCTION_INFO_V1(genie_edit_compile);
PG_FUNCTION_INFO_V1(genie_edit_bound);
PG_FUNCTION_INFO_V1(genie_edit_options);

typedef struct EditOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			n;				/* characters of a gram */
} EditOptions;

/* The option n.  Kept in fn_extra, because a scan calls the bound very often. */
static int
option_n(FunctionCallInfo fcinfo)
{
	int		   *n = fcinfo->flinfo->fn_extra;

	if (n == NULL)
	{
		fcinfo->flinfo->fn_extra = n = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(int));
		*n = PG_HAS_OPCLASS_OPTIONS() ? ((EditOptions *) PG_GET_OPCLASS_OPTIONS())->n : GENIE_NGRAM_DEFAULT;
	}
	return *n;
}

/* support function 1 (genie_opclass.h) */
Datum
genie_edit_decompose(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);

	genie_ngram_collect(value, option_n(fcinfo), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_VOID();
}

/* Raises an error if the query has dimensions that the index does not have. */
static GenieQuery *
check_dimensions(GenieQuery *query, int n)
{
	const uint8 *at = query->body;

	for (uint32 i = 0; i < query->n; i++)
	{
		GenieKey	lo = genie_query_next(&at).lo;
		uint32		dimension;

		genie_key_get_dimension(lo.data, lo.len, &dimension);
		if (dimension / GENIE_NGRAM_DIMENSIONS != n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("query asks for dimension %u, which the index does not have", dimension),
					 errdetail("The index has n-grams of %d characters, in dimensions %d to %d.", n,
							   n * GENIE_NGRAM_DIMENSIONS, (n + 1) * GENIE_NGRAM_DIMENSIONS - 1),
					 errhint("Make the query of genie_ngrams(..., %d).", n)));
	}
	return query;
}

/*
 * Raises min_match to the least match count with which a text can be as similar as the query's threshold wants.  The
 * class has no Jaccard distance to rank by.  But of all texts that match c grams, the most similar one has no other
 * grams, so its similarity follows from c.
 */
static GenieQuery *
raise_min_match(GenieQuery *query)
{
	GenieQuery *raised;
	int32		least = 0;

	if (query->distance_strategy == 0)
		return query;
	while (least < (int32) query->n && genie_jaccard_distance(least, query->n, least) > query->max_distance)
		least++;
	raised = palloc(VARSIZE(query));
	memcpy(raised, query, VARSIZE(query));
	raised->min_match = Max(query->min_match, least);
	return raised;
}

/* A query for the text's grams, for its first ones if there are too many. */
static GenieQuery *
query_of_text(const text *value, int n)
{
	GenieKeywords keywords;

	genie_keywords_init(&keywords);
	genie_ngram_collect_first(value, n, &keywords);
	genie_keywords_finish(&keywords);
	return genie_query_of_object((struct varlena *) genie_object_make(&keywords), 1);
}

/* support function 2: the right operand is a genie_query, a text or a genie_edit_query */
Datum
genie_edit_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	Oid			subtype = PG_GETARG_OID(2);
	int			n = option_n(fcinfo);
	GenieQuery *query;
	text	   *value;
	uint32		distance;

	if (subtype == get_func_rettype(fcinfo->flinfo->fn_oid))
		PG_RETURN_POINTER(raise_min_match(check_dimensions(DatumGetGenieQuery(operand), n)));
	if (subtype == TEXTOID)
	{
		value = DatumGetTextPP(operand);
		genie_edit_check_length(value);
		PG_RETURN_POINTER(query_of_text(value, n));
	}
	value = genie_edit_query_parts(operand, &distance);
	query = query_of_text(value, n);
	query->min_match = 0;
	query->distance_strategy = GENIE_EDIT_STRATEGY;
	query->max_distance = distance;
	PG_RETURN_POINTER(query);
}

/* support function 3 */
Datum
genie_edit_bound(PG_FUNCTION_ARGS)
{
	const GenieQuery *query = (const GenieQuery *) PG_GETARG_POINTER(1);
	int32		grams = query->n;
	int32		count = PG_GETARG_INT32(2);
	int32		size = PG_GETARG_INT32(3);
	int			n = option_n(fcinfo);

	Assert(PG_GETARG_INT16(0) == GENIE_EDIT_STRATEGY);
	PG_RETURN_FLOAT8(Max((Max(grams, size) - count + n - 1) / n, abs(grams - size)));
}

/* support function 4 */
Datum
genie_edit_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(EditOptions));
	add_local_int_reloption(options, "n", "Number of characters of an n-gram.",
							GENIE_NGRAM_DEFAULT, 1, GENIE_NGRAM_MAX, offsetof(EditOptions, n));
	PG_RETURN_VOID();
}

/*
 * genie_tsvector.c
 *	  Documents: tsvector as an object, tsvector and tsquery as queries; functions, operators and the support
 *	  functions of genie_tsvector_ops.
 *
 * A document is the set of its lexemes: keywords of dimension 0 and family text.  Positions and weights do not count.
 * The text search configuration that made the tsvector decides which words are lexemes.
 *
 * A tsquery asks for each of its lexemes once, whatever operators connect them (&, |, <->) and whatever weights
 * restrict them.  Lexemes under an odd number of negations are left out, because they are not wanted.  A prefix (foo:*)
 * asks for all lexemes that begin with it, and each such lexeme of a document counts.  Prefixes longer than
 * GENIE_VALUE_MAX bytes are refused, because of a longer lexeme only that beginning and a hash are stored.
 *
 * A tsvector is read in place: short headers and unaligned addresses cost no copy.  Its lexemes ascend by their bytes,
 * which is the order of keys, so nothing is sorted.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_match.h"
#include "genie_query.h"
#include "miscadmin.h"
#include "tsearch/ts_type.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(genie_tsvector_decompose);
PG_FUNCTION_INFO_V1(genie_tsvector_compile);
PG_FUNCTION_INFO_V1(genie_query_from_tsvector);
PG_FUNCTION_INFO_V1(genie_query_from_tsquery);
PG_FUNCTION_INFO_V1(genie_jaccard_query_from_tsvector);
PG_FUNCTION_INFO_V1(genie_jaccard_distance_tsvectors);
PG_FUNCTION_INFO_V1(genie_match_count_tsvectors);
PG_FUNCTION_INFO_V1(genie_match_count_tsvector_tsquery);
PG_FUNCTION_INFO_V1(genie_match_count_tsvector_query);
PG_FUNCTION_INFO_V1(genie_order_tsvectors);
PG_FUNCTION_INFO_V1(genie_order_tsvector_tsquery);
PG_FUNCTION_INFO_V1(genie_order_tsvector_query);
PG_FUNCTION_INFO_V1(genie_matches_tsvector_query);

#define LEXEME_DIMENSION	0
#define NEXT_CHAR_MAX		0x7F	/* a smaller byte is a character, and so is that byte + 1 */

static GenieKey
lexeme_key(uint8 *out, const char *lexeme, uint32 len)
{
	return genie_key_make(out, LEXEME_DIMENSION, GENIE_FAMILY_TEXT, (const uint8 *) lexeme, len);
}

static void
collect(Datum value, GenieKeywords *keywords)
{
	struct varlena *vector = PG_DETOAST_DATUM_PACKED(value);
	const char *at = VARDATA_ANY(vector);
	const char *lexemes;
	int32		n;
	uint8		key[GENIE_KEY_MAX];

	StaticAssertStmt(offsetof(TSVectorData, entries) == VARHDRSZ + sizeof(int32), "header of a tsvector");
	memcpy(&n, at, sizeof(n));
	at += sizeof(n);
	lexemes = at + n * sizeof(WordEntry);
	for (int32 i = 0; i < n; i++)
	{
		WordEntry	entry;

		CHECK_FOR_INTERRUPTS();
		memcpy(&entry, at + i * sizeof(WordEntry), sizeof(entry));
		genie_keywords_add(keywords, lexeme_key(key, lexemes + entry.pos, entry.len));
	}
	if ((Pointer) vector != DatumGetPointer(value))
		pfree(vector);
}

static GenieQuery *
query_of_tsvector(Datum value, int32 min_match)
{
	return genie_query_of_value(collect, value, min_match);
}

/*
 * Adds all lexemes that begin with the prefix.  The upper bound is the prefix filled up with 0xFF, which is no lexeme
 * but above every one that begins with the prefix, cut or not.  If the prefix ends with a single-byte character that
 * has a next one, the bound is the prefix with that next character instead: the same set, but readable.
 */
static void
add_prefix(GenieQueryBuilder *builder, const char *prefix, uint32 len)
{
	uint8		lo_bytes[GENIE_KEY_MAX];
	uint8		hi_bytes[GENIE_KEY_MAX];
	GenieKey	lo;
	GenieKey	hi;
	GenieKey	family;
	bool		next_char = len > 0 && (uint8) prefix[len - 1] < NEXT_CHAR_MAX;

	if (len > GENIE_VALUE_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("prefix of a lexeme has %u bytes, but at most %d are possible", len, GENIE_VALUE_MAX),
				 errdetail("What follows in longer lexemes is known by its hash only.")));
	lo = lexeme_key(lo_bytes, prefix, len);
	family.data = lo.data;
	family.len = lo.len - len;
	memcpy(hi_bytes, lo_bytes, lo.len);
	hi.data = hi_bytes;
	hi.len = lo.len;
	if (next_char)
		hi_bytes[hi.len - 1]++;
	else
	{
		hi.len = family.len + GENIE_VALUE_BYTES;
		memset(hi_bytes + lo.len, 0xFF, hi.len - lo.len);
	}
	genie_query_add_range(builder, family, lo, false, hi, !next_char);
}

/* Operands follow their operators, so one pass propagates negations. */
static GenieQuery *
query_of_tsquery(Datum value, int32 min_match)
{
	TSQuery		tsquery = DatumGetTSQuery(value);
	const QueryItem *items = GETQUERY(tsquery);
	const char *lexemes = GETOPERAND(tsquery);
	bool	   *negated = palloc0(tsquery->size * sizeof(bool));
	GenieQueryBuilder builder;
	uint8		key[GENIE_KEY_MAX];

	genie_query_begin(&builder);
	for (int32 i = 0; i < tsquery->size; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (items[i].type == QI_OPR)
		{
			const QueryOperator *operator = &items[i].qoperator;

			negated[i + 1] = negated[i] != (operator->oper == OP_NOT);
			if (operator->oper != OP_NOT)
				negated[i + operator->left] = negated[i];
		}
		else if (!negated[i])
		{
			const QueryOperand *operand = &items[i].qoperand;

			if (operand->prefix)
				add_prefix(&builder, lexemes + operand->distance, operand->length);
			else
				genie_query_add_point(&builder, lexeme_key(key, lexemes + operand->distance, operand->length));
		}
	}
	pfree(negated);
	return genie_query_finish(&builder, min_match);
}

/* support function 1 (genie_opclass.h) */
Datum
genie_tsvector_decompose(PG_FUNCTION_ARGS)
{
	collect(PG_GETARG_DATUM(0), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* support function 2: the right operand is a genie_query, a tsquery or a tsvector */
Datum
genie_tsvector_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	Oid			subtype = PG_GETARG_OID(2);

	if (subtype == get_func_rettype(fcinfo->flinfo->fn_oid))
		PG_RETURN_POINTER(DatumGetGenieQuery(operand));
	PG_RETURN_POINTER(subtype == TSQUERYOID ? query_of_tsquery(operand, 1) : query_of_tsvector(operand, 1));
}

/* genie_query(tsvector, min_match) */
Datum
genie_query_from_tsvector(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(query_of_tsvector(PG_GETARG_DATUM(0), PG_GETARG_INT32(1)));
}

/* genie_query(tsquery, min_match) */
Datum
genie_query_from_tsquery(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(query_of_tsquery(PG_GETARG_DATUM(0), PG_GETARG_INT32(1)));
}

/* genie_jaccard_query(tsvector, similarity) */
Datum
genie_jaccard_query_from_tsvector(PG_FUNCTION_ARGS)
{
	GenieQuery *query = query_of_tsvector(PG_GETARG_DATUM(0), 0);

	genie_query_limit_jaccard(query, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(query);
}

/* tsvector <%> tsvector */
Datum
genie_jaccard_distance_tsvectors(PG_FUNCTION_ARGS)
{
	GenieMatch	match = genie_match(fcinfo, collect, query_of_tsvector);

	PG_RETURN_FLOAT8(genie_jaccard_distance(match.count, match.size, match.query->n_intervals));
}

Datum
genie_match_count_tsvectors(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match(fcinfo, collect, query_of_tsvector).count);
}

Datum
genie_match_count_tsvector_tsquery(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match(fcinfo, collect, query_of_tsquery).count);
}

Datum
genie_match_count_tsvector_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match(fcinfo, collect, NULL).count);
}

/* tsvector <&> tsvector */
Datum
genie_order_tsvectors(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match(fcinfo, collect, query_of_tsvector).count);
}

/* tsvector <&> tsquery */
Datum
genie_order_tsvector_tsquery(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match(fcinfo, collect, query_of_tsquery).count);
}

/* tsvector <&> query */
Datum
genie_order_tsvector_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match(fcinfo, collect, NULL).count);
}

/* tsvector @& query */
Datum
genie_matches_tsvector_query(PG_FUNCTION_ARGS)
{
	GenieMatch	match = genie_match(fcinfo, collect, NULL);

	PG_RETURN_BOOL(genie_match_satisfies(match.query, match.count, match.size));
}

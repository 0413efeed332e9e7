/*
 * genie_jsonb.c
 *	  JSON documents without a schema: jsonb as an object and as a query; genie_jsonb(), functions, operators and the
 *	  support functions of genie_jsonb_ops.
 *
 * A document is the set of its leaves, each with the path to it.  A leaf is a scalar, or an empty array or object.  Its
 * keyword has dimension 0 and family text, and reads
 *
 *		$."key"[*]."key" = value
 *
 * Keys are quoted and escaped as in JSON, so that different paths are written differently.  [*] stands for any element
 * of an array: neither the order of elements nor repetitions count, and the leaves of all objects in one array have the
 * same paths.  A value is written as in JSON: a quoted string, a number, true, false, null, [] or {}.  Numbers have
 * neither trailing zeros nor exponents, so that 1, 1.0 and 1e0 are one value.  A number and the string of its digits
 * differ by the quotes.
 *
 * Numbers are text here, so ranges of them mean nothing.  For ranges, index the attributes themselves (genie_tuple).
 */
#include "postgres.h"

#include "genie_match.h"
#include "genie_object.h"
#include "genie_query.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

PG_FUNCTION_INFO_V1(genie_jsonb);
PG_FUNCTION_INFO_V1(genie_jsonb_decompose);
PG_FUNCTION_INFO_V1(genie_jsonb_compile);
PG_FUNCTION_INFO_V1(genie_query_from_jsonb);
PG_FUNCTION_INFO_V1(genie_jaccard_query_from_jsonb);
PG_FUNCTION_INFO_V1(genie_jaccard_distance_jsonbs);
PG_FUNCTION_INFO_V1(genie_match_count_jsonbs);
PG_FUNCTION_INFO_V1(genie_match_count_jsonb_query);
PG_FUNCTION_INFO_V1(genie_order_jsonbs);
PG_FUNCTION_INFO_V1(genie_order_jsonb_query);
PG_FUNCTION_INFO_V1(genie_matches_jsonb_query);

#define LEAF_DIMENSION	0
#define DEPTH_INITIAL	16

/* The state of a walk through a document. */
typedef struct Walk
{
	StringInfoData path;		/* to the current place; then its value, while a leaf is added */
	int		   *lengths;		/* lengths of the paths to the containers that are open */
	int			depth;
	int			capacity;
	GenieKeywords *keywords;
} Walk;

static void
put_string(StringInfo out, const JsonbValue *string)
{
	char	   *chars = pnstrdup(string->val.string.val, string->val.string.len);

	escape_json(out, chars);
	pfree(chars);
}

/* Adds the keyword of a leaf at the path: of a scalar, or (scalar is NULL) of the empty container, text. */
static void
add_leaf(Walk *walk, const JsonbValue *scalar, const char *text)
{
	StringInfo	path = &walk->path;
	int			len = path->len;
	uint8		key[GENIE_KEY_MAX];
	char	   *digits;

	appendStringInfoString(path, " = ");
	if (scalar == NULL)
		appendStringInfoString(path, text);
	else
		switch (scalar->type)
		{
			case jbvNull:
				appendStringInfoString(path, "null");
				break;
			case jbvString:
				put_string(path, scalar);
				break;
			case jbvNumeric:
				digits = numeric_normalize(scalar->val.numeric);
				appendStringInfoString(path, digits);
				pfree(digits);
				break;
			case jbvBool:
				appendStringInfoString(path, scalar->val.boolean ? "true" : "false");
				break;
			default:
				elog(ERROR, "unexpected type of jsonb value: %d", (int) scalar->type);
		}
	genie_keywords_add(walk->keywords,
					   genie_key_make(key, LEAF_DIMENSION, GENIE_FAMILY_TEXT, (uint8 *) path->data, path->len));
	path->len = len;
	path->data[len] = '\0';
}

static void
open_container(Walk *walk)
{
	if (walk->depth == walk->capacity)
	{
		walk->capacity *= 2;
		walk->lengths = repalloc(walk->lengths, walk->capacity * sizeof(int));
	}
	walk->lengths[walk->depth++] = walk->path.len;
}

static void
cut_path(Walk *walk, int len)
{
	walk->path.len = len;
	walk->path.data[len] = '\0';
}

/* Adds the leaves of a document in the order of its parts. */
static void
walk_document(Walk *walk, Jsonb *document)
{
	JsonbIterator *iterator = JsonbIteratorInit(&document->root);
	JsonbIteratorToken token;
	JsonbValue	value;

	appendStringInfoChar(&walk->path, '$');
	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (token)
		{
			case WJB_BEGIN_ARRAY:
				open_container(walk);
				if (value.val.array.rawScalar)
					break;
				if (value.val.array.nElems == 0)
					add_leaf(walk, NULL, "[]");
				appendStringInfoString(&walk->path, "[*]");
				break;
			case WJB_BEGIN_OBJECT:
				open_container(walk);
				if (value.val.object.nPairs == 0)
					add_leaf(walk, NULL, "{}");
				break;
			case WJB_KEY:
				cut_path(walk, walk->lengths[walk->depth - 1]);
				appendStringInfoChar(&walk->path, '.');
				put_string(&walk->path, &value);
				break;
			case WJB_VALUE:
			case WJB_ELEM:
				add_leaf(walk, &value, NULL);
				break;
			default:			/* the end of an array or object */
				cut_path(walk, walk->lengths[--walk->depth]);
		}
	}
}

static void
collect(Datum value, GenieKeywords *keywords)
{
	Jsonb	   *document = DatumGetJsonbP(value);
	Walk		walk;

	initStringInfo(&walk.path);
	walk.lengths = palloc(DEPTH_INITIAL * sizeof(int));
	walk.depth = 0;
	walk.capacity = DEPTH_INITIAL;
	walk.keywords = keywords;
	walk_document(&walk, document);
	pfree(walk.lengths);
	pfree(walk.path.data);
	if ((Pointer) document != DatumGetPointer(value))
		pfree(document);
}

static GenieQuery *
query_of_jsonb(Datum value, int32 min_match)
{
	return genie_query_of_value(collect, value, min_match);
}

/* genie_jsonb(document) */
Datum
genie_jsonb(PG_FUNCTION_ARGS)
{
	GenieKeywords keywords;

	genie_keywords_init(&keywords);
	collect(PG_GETARG_DATUM(0), &keywords);
	genie_keywords_finish(&keywords);
	PG_RETURN_POINTER(genie_object_make(&keywords));
}

/* support function 1 (genie_opclass.h) */
Datum
genie_jsonb_decompose(PG_FUNCTION_ARGS)
{
	collect(PG_GETARG_DATUM(0), (GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* support function 2: the right operand is a genie_query or a jsonb */
Datum
genie_jsonb_compile(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	Oid			subtype = PG_GETARG_OID(2);

	if (subtype == get_func_rettype(fcinfo->flinfo->fn_oid))
		PG_RETURN_POINTER(DatumGetGenieQuery(operand));
	PG_RETURN_POINTER(query_of_jsonb(operand, 1));
}

/* genie_query(jsonb, min_match) */
Datum
genie_query_from_jsonb(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(query_of_jsonb(PG_GETARG_DATUM(0), PG_GETARG_INT32(1)));
}

/* genie_jaccard_query(jsonb, similarity) */
Datum
genie_jaccard_query_from_jsonb(PG_FUNCTION_ARGS)
{
	GenieQuery *query = query_of_jsonb(PG_GETARG_DATUM(0), 0);

	genie_query_limit_jaccard(query, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(query);
}

/* jsonb <%> jsonb */
Datum
genie_jaccard_distance_jsonbs(PG_FUNCTION_ARGS)
{
	GenieMatch	match = genie_match(fcinfo, collect, query_of_jsonb);

	PG_RETURN_FLOAT8(genie_jaccard_distance(match.count, match.size, match.query->n_intervals));
}

Datum
genie_match_count_jsonbs(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match(fcinfo, collect, query_of_jsonb).count);
}

Datum
genie_match_count_jsonb_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(genie_match(fcinfo, collect, NULL).count);
}

/* jsonb <&> jsonb */
Datum
genie_order_jsonbs(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match(fcinfo, collect, query_of_jsonb).count);
}

/* jsonb <&> query */
Datum
genie_order_jsonb_query(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(-(int32) genie_match(fcinfo, collect, NULL).count);
}

/* jsonb @& query */
Datum
genie_matches_jsonb_query(PG_FUNCTION_ARGS)
{
	GenieMatch	match = genie_match(fcinfo, collect, NULL);

	PG_RETURN_BOOL(genie_match_satisfies(match.query, match.count, match.size));
}

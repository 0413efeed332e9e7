/*
 * genie_exact_text.c
 *	  The exact operator class of texts (genie_opclass.h).
 *
 *		genie_edit_exact_ops			text		<~>, @& genie_edit_query
 *
 * A row's value is its length and the codes of its first characters (values/genie_value_string.h), as that of a
 * vector is its quantized vector (genie_value_class.c).  A bound of the edit distance follows from that, which is
 * mostly the distance itself.  Rows of the same bound are visited in the order of their TIDs, until there are as many
 * as are wanted.
 *
 * Beside genie_edit_ops, which has n-grams: a scan of that reads the posting lists of the query's grams, and is fast
 * where some text is much nearer than all others; but where none is, grams tell little.  A scan of this class takes
 * the same time for any query, in proportion to the rows.
 *
 * An index learns how many codes a record has: enough for most of the texts of its sample.  Longer texts are found all
 * the same; their bounds are lower.
 *
 * Raw keywords, of rows in the pending list, are the length and the codes in pieces, as a vector's elements are
 * (genie_lsh_class.c).
 */
#include "postgres.h"

#include "access/genam.h"
#include "genie_edit_distance.h"
#include "genie_exact_text.h"
#include "genie_lsh_class.h"
#include "genie_query.h"
#include "genie_value_string.h"

PG_FUNCTION_INFO_V1(genie_exact_text_decompose);
PG_FUNCTION_INFO_V1(genie_exact_text_compile);
PG_FUNCTION_INFO_V1(genie_exact_edit_train);

#define HELD_MIN	0.99		/* of the texts of a sample are held by records, at least, if that is possible */

/* What raw keywords tell. */
typedef struct RawText
{
	uint16		length;
	uint8		codes[GENIE_VALUE_PATTERN_MAX];
} RawText;

bool
genie_exact_text_index(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_exact_text_decompose;
}

GenieVector
genie_exact_text_elements(Datum value)
{
	uint8	   *codes = palloc(GENIE_VALUE_PATTERN_MAX);
	uint32		n = genie_edit_codes(DatumGetTextPP(value), codes, GENIE_VALUE_PATTERN_MAX);

	return (GenieVector) {codes, n, false};
}

GenieVector
genie_exact_text_raw(const GenieRaw *raw)
{
	RawText    *found = palloc0(sizeof(RawText));

	genie_lsh_raw_bytes(raw, false, (uint8 *) found, sizeof(RawText));
	return (GenieVector) {found->codes, found->length, false};
}

Datum
genie_exact_text_ball(Datum ball, Oid type, double *radius)
{
	uint32		distance;
	text	   *query = genie_edit_query_parts(ball, &distance);

	*radius = distance;
	return PointerGetDatum(query);
}

/* support function 1 */
Datum
genie_exact_text_decompose(PG_FUNCTION_ARGS)
{
	RawText		raw = {0};

	raw.length = (uint16) genie_edit_codes(DatumGetTextPP(PG_GETARG_DATUM(0)), raw.codes, GENIE_VALUE_PATTERN_MAX);
	genie_lsh_add_raw_bytes((const uint8 *) &raw,
							offsetof(RawText, codes) + Min(raw.length, GENIE_VALUE_PATTERN_MAX), false,
							(GenieKeywords *) PG_GETARG_POINTER(1));
	PG_RETURN_VOID();
}

/* support function 2: the right operand is a text or a genie_edit_query */
Datum
genie_exact_text_compile(PG_FUNCTION_ARGS)
{
	uint32		distance;

	if (PG_GETARG_OID(2) == TEXTOID)
		genie_edit_check_length(DatumGetTextPP(PG_GETARG_DATUM(0)));
	else
		(void) genie_edit_query_parts(PG_GETARG_DATUM(0), &distance);
	PG_RETURN_POINTER(genie_query_allocate(0, 0, 0));
}

static int
compare_lengths(const void *a, const void *b)
{
	int32		x = *(const int32 *) a;
	int32		y = *(const int32 *) b;

	return (x > y) - (x < y);
}

/* support function 5 */
Datum
genie_exact_edit_train(PG_FUNCTION_ARGS)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	GenieLshClassParameters parameters = {0};
	int32	   *lengths;
	uint32		length;
	bytea	   *result;

	if (sample->learned != NULL || sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	lengths = palloc(sample->n * sizeof(int32));
	for (uint32 i = 0; i < sample->n; i++)
		lengths[i] = (int32) genie_exact_text_raw(&sample->objects[i]).n;
	qsort(lengths, sample->n, sizeof(int32), compare_lengths);
	parameters.functions.family = GENIE_LSH_NONE;
	length = (uint32) lengths[(uint32) (HELD_MIN * (sample->n - 1))];
	parameters.functions.n_dimensions = genie_value_string_codes(length);
	parameters.functions.width = GENIE_METRIC_EDIT;
	pfree(lengths);
	result = palloc(VARHDRSZ + sizeof(parameters));
	SET_VARSIZE(result, VARHDRSZ + sizeof(parameters));
	memcpy(VARDATA(result), &parameters, sizeof(parameters));
	PG_RETURN_BYTEA_P(result);
}

/*
 * genie_value_text.c
 *	  The text of values' normalised bytes, and which bytes are valid.
 *
 * One table says for each family how to check bytes from outside, how to print them, and how to read them.  The bytes
 * of any family may also be given raw, as \xHEX.  They are printed raw if the table has no readable form, and if the
 * value is cut, because then only its beginning is known.
 *
 * Nothing here depends on a setting (DateStyle, TimeZone, extra_float_digits, bytea_output, lc_monetary): the text of a
 * keyword is the same everywhere.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "genie_value_text.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/numeric.h"
#include "utils/pg_lsn.h"
#include "utils/uuid.h"

#define HASH_BYTES	sizeof(uint64)
#define MAC_BYTES	6
#define MAC8_BYTES	8

/* ---- which bytes are valid ---- */

static bool
bool_valid(const uint8 *data, uint32 len)
{
	return len == 1 && data[0] <= 1;
}

static bool
int_valid(const uint8 *data, uint32 len)
{
	int64		value;

	return genie_key_get_int(data, len, &value) == len;
}

static bool
oid_valid(const uint8 *data, uint32 len)
{
	int64		value;

	return genie_key_get_int(data, len, &value) == len && value >= 0 && value <= PG_UINT32_MAX;
}

static bool
float_valid(const uint8 *data, uint32 len)
{
	uint8		again[GENIE_VALUE_BYTES];

	return len == sizeof(float8) &&
		genie_value_put_float(again, genie_value_get_float(data)) == len && memcmp(again, data, len) == 0;
}

static bool
text_valid(const uint8 *data, uint32 len)
{
	return pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, len, true);
}

static bool
bytea_valid(const uint8 *data, uint32 len)
{
	return true;
}

static bool
char_valid(const uint8 *data, uint32 len)
{
	return len == 1;
}

static bool
uuid_valid(const uint8 *data, uint32 len)
{
	return len == UUID_LEN;
}

static bool
eight_bytes_valid(const uint8 *data, uint32 len)
{
	return len == HASH_BYTES;
}

static bool
macaddr_valid(const uint8 *data, uint32 len)
{
	return len == MAC_BYTES;
}

StaticAssertDecl(HASH_BYTES == MAC8_BYTES && HASH_BYTES == sizeof(XLogRecPtr), "families of eight bytes");

/* ---- print ---- */

static void
bool_print(StringInfo out, const uint8 *data, uint32 len)
{
	appendStringInfoString(out, data[0] ? "true" : "false");
}

static void
int_print(StringInfo out, const uint8 *data, uint32 len)
{
	int64		value = 0;

	genie_key_get_int(data, len, &value);
	appendStringInfo(out, INT64_FORMAT, value);
}

static void
float_print(StringInfo out, const uint8 *data, uint32 len)
{
	float8		value = genie_value_get_float(data);
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];

	if (isnan(value))
		strcpy(text, "NaN");
	else if (isinf(value))
		strcpy(text, value > 0 ? "Infinity" : "-Infinity");
	else
		double_to_shortest_decimal_buf(value, text);
	appendStringInfoString(out, text);
}

static void
text_print(StringInfo out, const uint8 *data, uint32 len)
{
	for (uint32 i = 0; i < len; i++)
	{
		if (data[i] == '"' || data[i] == '\\')
			appendStringInfoChar(out, '\\');
		appendStringInfoChar(out, data[i]);
	}
}

static void
uuid_print(StringInfo out, const uint8 *data, uint32 len)
{
	pg_uuid_t	uuid;
	char	   *text;

	memcpy(uuid.data, data, UUID_LEN);
	text = DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&uuid)));
	appendStringInfoString(out, text);
	pfree(text);
}

static void
lsn_print(StringInfo out, const uint8 *data, uint32 len)
{
	uint64		lsn = genie_value_get_uint(data, len);

	appendStringInfo(out, "%X/%X", LSN_FORMAT_ARGS(lsn));
}

static void
timestamp_print(StringInfo out, const uint8 *data, uint32 len)
{
	genie_value_timestamp_print(out, data, len, "");
}

static void
timestamptz_print(StringInfo out, const uint8 *data, uint32 len)
{
	genie_value_timestamp_print(out, data, len, "+00");
}

/* ---- parse; 0: the text is no value, unless the family has empty values ---- */

static uint32
bool_parse(const char *text, uint8 *out)
{
	bool		value;

	if (!parse_bool(text, &value))
		return 0;
	out[0] = value;
	return 1;
}

static uint32
int_parse(const char *text, uint8 *out)
{
	return genie_key_put_int(out, pg_strtoint64(text));
}

static uint32
oid_parse(const char *text, uint8 *out)
{
	int64		value = pg_strtoint64(text);

	return value >= 0 && value <= PG_UINT32_MAX ? genie_key_put_int(out, value) : 0;
}

static uint32
float_parse(const char *text, uint8 *out)
{
	return genie_value_put_float(out, DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(text))));
}

static uint32
numeric_parse(const char *text, uint8 *out)
{
	return genie_value_put_numeric(out, DirectFunctionCall3(numeric_in, CStringGetDatum(text),
															ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

static uint32
text_parse(const char *text, uint8 *out)
{
	return genie_value_cut(out, (const uint8 *) text, strlen(text));
}

static uint32
bytea_parse(const char *text, uint8 *out)
{
	bytea	   *value = DatumGetByteaPP(DirectFunctionCall1(byteain, CStringGetDatum(text)));

	return genie_value_cut(out, (uint8 *) VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
}

static uint32
timestamp_parse(const char *text, uint8 *out)
{
	return genie_value_timestamp_parse(text, false, out);
}

static uint32
timestamptz_parse(const char *text, uint8 *out)
{
	return genie_value_timestamp_parse(text, true, out);
}

static uint32
uuid_parse(const char *text, uint8 *out)
{
	memcpy(out, DatumGetUUIDP(DirectFunctionCall1(uuid_in, CStringGetDatum(text)))->data, UUID_LEN);
	return UUID_LEN;
}

static uint32
bit_parse(const char *text, uint8 *out)
{
	return genie_value_put_bit(out, DirectFunctionCall3(varbit_in, CStringGetDatum(text),
														ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

static uint32
lsn_parse(const char *text, uint8 *out)
{
	return genie_value_put_uint(out, DatumGetLSN(DirectFunctionCall1(pg_lsn_in, CStringGetDatum(text))),
								sizeof(XLogRecPtr));
}

typedef struct FamilyForm
{
	GenieFamily family;
	bool		cut;			/* long values are cut */
	bool		empty;			/* a value can have no bytes */
	bool		quoted;			/* printed in quotes */
	bool		(*valid) (const uint8 *data, uint32 len);
	void		(*print) (StringInfo out, const uint8 *data, uint32 len);	/* NULL: raw */
	uint32		(*parse) (const char *text, uint8 *out);	/* NULL: raw only */
} FamilyForm;

static const FamilyForm forms[] = {
	{GENIE_FAMILY_BOOL, false, false, false, bool_valid, bool_print, bool_parse},
	{GENIE_FAMILY_INT, false, false, false, int_valid, int_print, int_parse},
	{GENIE_FAMILY_FLOAT, false, false, false, float_valid, float_print, float_parse},
	{GENIE_FAMILY_NUMERIC, true, false, false,
	genie_value_numeric_valid, genie_value_numeric_print, numeric_parse},
	{GENIE_FAMILY_TEXT, true, true, true, text_valid, text_print, text_parse},
	{GENIE_FAMILY_BYTEA, true, true, false, bytea_valid, NULL, bytea_parse},
	{GENIE_FAMILY_TIMESTAMP, false, false, true,
	genie_value_timestamp_valid, timestamp_print, timestamp_parse},
	{GENIE_FAMILY_TIMESTAMPTZ, false, false, true,
	genie_value_timestamp_valid, timestamptz_print, timestamptz_parse},
	{GENIE_FAMILY_TIME, false, false, true,
	genie_value_time_valid, genie_value_time_print, genie_value_time_parse},
	{GENIE_FAMILY_TIMETZ, false, false, false, genie_value_timetz_valid, NULL, NULL},
	{GENIE_FAMILY_INTERVAL, false, false, false, genie_value_interval_valid, NULL, NULL},
	{GENIE_FAMILY_UUID, false, false, false, uuid_valid, uuid_print, uuid_parse},
	{GENIE_FAMILY_OID, false, false, false, oid_valid, int_print, oid_parse},
	{GENIE_FAMILY_CHAR, false, false, false, char_valid, NULL, NULL},
	{GENIE_FAMILY_MONEY, false, false, false, int_valid, int_print, int_parse},
	{GENIE_FAMILY_BIT, true, true, false, genie_value_bit_valid, genie_value_bit_print, bit_parse},
	{GENIE_FAMILY_MACADDR, false, false, false, macaddr_valid, NULL, NULL},
	{GENIE_FAMILY_MACADDR8, false, false, false, eight_bytes_valid, NULL, NULL},
	{GENIE_FAMILY_LSN, false, false, false, eight_bytes_valid, lsn_print, lsn_parse},
	{GENIE_FAMILY_ENUM, true, false, true, text_valid, text_print, text_parse},
	{GENIE_FAMILY_HASH, false, false, false, eight_bytes_valid, NULL, NULL},
};

static const FamilyForm *
form_of(GenieFamily family)
{
	for (size_t i = 0; i < lengthof(forms); i++)
	{
		if (forms[i].family == family)
			return &forms[i];
	}
	elog(ERROR, "unknown type family: %d", (int) family);
}

bool
genie_value_valid(GenieFamily family, const uint8 *data, uint32 len)
{
	const FamilyForm *form = form_of(family);

	if (len == 0)
		return form->empty;
	if (form->cut && len == GENIE_VALUE_BYTES)
		return true;
	return len <= GENIE_VALUE_MAX && form->valid(data, len);
}

void
genie_value_print(StringInfo out, GenieFamily family, const uint8 *data, uint32 len)
{
	const FamilyForm *form = form_of(family);

	if (form->print == NULL || len > GENIE_VALUE_MAX)
	{
		appendStringInfoString(out, "\\x");
		for (uint32 i = 0; i < len; i++)
			appendStringInfo(out, "%02x", data[i]);
		return;
	}
	if (form->quoted || len == 0)
		appendStringInfoChar(out, '"');
	form->print(out, data, len);
	if (form->quoted || len == 0)
		appendStringInfoChar(out, '"');
}

bool
genie_value_is_readable(GenieFamily family, uint32 len)
{
	return len <= GENIE_VALUE_MAX && form_of(family)->print != NULL;
}

void
genie_value_print_bare(StringInfo out, GenieFamily family, const uint8 *data, uint32 len)
{
	const FamilyForm *form = form_of(family);

	if (!genie_value_is_readable(family, len))
		genie_value_print(out, family, data, len);
	else if (family == GENIE_FAMILY_TEXT || family == GENIE_FAMILY_ENUM)
		appendBinaryStringInfo(out, (const char *) data, (int) len);
	else if (len > 0)
		form->print(out, data, len);
}

/* By its text. */
static float8
numeric_to_double(const uint8 *data, uint32 len)
{
	StringInfoData text;
	Datum		value;

	initStringInfo(&text);
	genie_value_numeric_print(&text, data, len);
	value = DirectFunctionCall3(numeric_in, CStringGetDatum(text.data), ObjectIdGetDatum(InvalidOid),
								Int32GetDatum(-1));
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
}

bool
genie_value_to_double(GenieFamily family, const uint8 *data, uint32 len, float8 *number)
{
	int64		integer;

	if (len > GENIE_VALUE_MAX)
		return false;
	switch (family)
	{
		case GENIE_FAMILY_INT:
			if (genie_key_get_int(data, len, &integer) != len)
				return false;
			*number = (float8) integer;
			return true;
		case GENIE_FAMILY_FLOAT:
			*number = genie_value_get_float(data);
			return true;
		case GENIE_FAMILY_NUMERIC:
			*number = numeric_to_double(data, len);
			return true;
		case GENIE_FAMILY_TIMESTAMP:
		case GENIE_FAMILY_TIMESTAMPTZ:
			return genie_value_timestamp_seconds(data, len, number);
		default:
			return false;
	}
}

/* From the readable text form.  Error: the text is no value of the family. */
static uint32
parse(GenieFamily family, const char *text, uint8 *out)
{
	const FamilyForm *form = form_of(family);
	uint32		n;

	if (form->parse == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("values of type family \"%s\" have no readable text form", genie_family_name(family)),
				 errhint("Give the normalised bytes as \\x and hexadecimal digits.")));
	n = form->parse(text, out);
	if (n == 0 && !form->empty)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid value for type family \"%s\": \"%s\"", genie_family_name(family), text)));
	return n;
}

GenieKey
genie_value_text_key(const GenieTextItem *item, const GenieTextValue *value, uint8 *out)
{
	GenieKey	key;

	key.data = out;
	key.len = genie_key_put_dimension(out, item->dimension);
	out[key.len++] = item->family;
	if (!value->raw)
		key.len += parse(item->family, value->data, out + key.len);
	else if (value->len <= GENIE_VALUE_BYTES &&
			 genie_value_valid(item->family, (const uint8 *) value->data, value->len))
	{
		memcpy(out + key.len, value->data, value->len);
		key.len += value->len;
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid normalised bytes for type family \"%s\"", genie_family_name(item->family)),
				 errdetail("No value of the family has these %zu bytes.", value->len)));
	return key;
}

void
genie_value_text_report(const GenieTextScanner *scanner, const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("malformed %s: \"%s\"", type, scanner->text),
			 errdetail("At character %d: %s.", pg_mbstrlen_with_len(scanner->text, scanner->error_at) + 1,
					   scanner->error),
			 scanner->is_query && memchr(scanner->text, ':', scanner->len) == NULL ?
			 errhint("To ask for the elements of an array, cast it: genie_query('...'::integer[]).") : 0));
}

void
genie_value_print_prefix(StringInfo out, GenieKey key)
{
	uint32		dimension;
	size_t		n = genie_key_get_dimension(key.data, key.len, &dimension);

	appendStringInfo(out, "%u:%s:", dimension, genie_family_name(key.data[n]));
}

void
genie_value_print_key(StringInfo out, GenieKey key)
{
	uint32		n = genie_key_prefix_len(key);

	genie_value_print_prefix(out, key);
	genie_value_print(out, key.data[n - 1], key.data + n, key.len - n);
}

/*
 * genie_object.c
 *	  The type genie_object: input and output, equality and order.  (Its operator class is in genie_set_class.c.)
 *
 * Text form: genie_text.h.  Binary form: a version byte, the number of keywords (int32), the packed keys.  Both are
 * checked when they are read, because a key that is not canonical would match nothing and break the order of keys that
 * all code relies on.
 *
 * The order of objects is that of their packed keys' bytes.  It has no meaning but that equal objects are neighbours,
 * for DISTINCT, GROUP BY, merge joins and unique indexes.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "genie_object.h"
#include "genie_value_text.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#define GENIE_OBJECT_VERSION	1	/* of the binary form */

PG_FUNCTION_INFO_V1(genie_object_in);
PG_FUNCTION_INFO_V1(genie_object_out);
PG_FUNCTION_INFO_V1(genie_object_recv);
PG_FUNCTION_INFO_V1(genie_object_send);
PG_FUNCTION_INFO_V1(genie_object_eq);
PG_FUNCTION_INFO_V1(genie_object_ne);
PG_FUNCTION_INFO_V1(genie_object_lt);
PG_FUNCTION_INFO_V1(genie_object_le);
PG_FUNCTION_INFO_V1(genie_object_gt);
PG_FUNCTION_INFO_V1(genie_object_ge);
PG_FUNCTION_INFO_V1(genie_object_cmp);
PG_FUNCTION_INFO_V1(genie_object_hash);
PG_FUNCTION_INFO_V1(genie_object_hash_extended);

GenieObject *
genie_object_make(const GenieKeywords *keywords)
{
	Size		size = offsetof(GenieObject, packed) + keywords->nbytes;
	GenieObject *object = palloc(size);

	SET_VARSIZE(object, size);
	object->n = keywords->n;
	memcpy(object->packed, keywords->bytes, keywords->nbytes);
	return object;
}

const uint8 *
genie_object_keys(const struct varlena *object, uint32 *n, Size *nbytes)
{
	const uint8 *data = (const uint8 *) VARDATA_ANY(object);

	memcpy(n, data, sizeof(uint32));
	*nbytes = VARSIZE_ANY_EXHDR(object) - sizeof(uint32);
	return data + sizeof(uint32);
}

Datum
genie_object_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	Size		len = strlen(text);
	GenieTextScanner scanner;
	GenieTextItem item;
	GenieTextResult result;
	GenieKeywords keywords;
	uint8		key[GENIE_KEY_MAX];

	genie_keywords_init(&keywords);
	genie_text_begin(&scanner, text, len, false, palloc(len + 1));
	while ((result = genie_text_next(&scanner, &item)) == GENIE_TEXT_ITEM)
	{
		CHECK_FOR_INTERRUPTS();
		genie_keywords_add(&keywords, genie_value_text_key(&item, &item.lo, key));
	}
	if (result == GENIE_TEXT_ERROR)
		genie_value_text_report(&scanner, "genie_object");
	genie_keywords_finish(&keywords);
	PG_RETURN_POINTER(genie_object_make(&keywords));
}

Datum
genie_object_out(PG_FUNCTION_ARGS)
{
	struct varlena *object = PG_GETARG_VARLENA_PP(0);
	StringInfoData out;
	uint32		n;
	Size		nbytes;
	const uint8 *at = genie_object_keys(object, &n, &nbytes);

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0)
			appendStringInfoChar(&out, ',');
		genie_value_print_key(&out, genie_packed_next(&at));
	}
	appendStringInfoChar(&out, '}');
	PG_RETURN_CSTRING(out.data);
}

/* Raises an error unless the bytes are n packed keys, each of a value in canonical form. */
static void
check_keys(const uint8 *data, Size nbytes, uint32 n)
{
	if (n > GENIE_OBJECT_KEYWORDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid number of keywords in external \"genie_object\" value")));
	if (!genie_packed_valid(data, nbytes, n))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("malformed keywords in external \"genie_object\" value")));
	for (uint32 i = 0; i < n; i++)
	{
		GenieKey	value;
		uint32		dimension;
		GenieFamily family;

		genie_key_split(genie_packed_next(&data), &dimension, &family, &value);
		if (!genie_value_valid(family, value.data, value.len))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("invalid keyword %u in external \"genie_object\" value", i + 1)));
	}
}

Datum
genie_object_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			version = pq_getmsgbyte(buf);
	uint32		n;
	Size		nbytes;
	const uint8 *data;
	GenieObject *object;

	if (version != GENIE_OBJECT_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("unsupported version %d of external \"genie_object\" value", version)));
	n = pq_getmsgint(buf, sizeof(uint32));
	nbytes = buf->len - buf->cursor;
	data = (const uint8 *) pq_getmsgbytes(buf, nbytes);
	check_keys(data, nbytes, n);

	object = palloc(offsetof(GenieObject, packed) + nbytes);
	SET_VARSIZE(object, offsetof(GenieObject, packed) + nbytes);
	object->n = n;
	memcpy(object->packed, data, nbytes);
	PG_RETURN_POINTER(object);
}

Datum
genie_object_send(PG_FUNCTION_ARGS)
{
	struct varlena *object = PG_GETARG_VARLENA_PP(0);
	StringInfoData buf;
	uint32		n;
	Size		nbytes;
	const uint8 *data = genie_object_keys(object, &n, &nbytes);

	pq_begintypsend(&buf);
	pq_sendbyte(&buf, GENIE_OBJECT_VERSION);
	pq_sendint32(&buf, n);
	pq_sendbytes(&buf, (const char *) data, nbytes);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

static int
compare_arguments(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);
	uint32		n;
	Size		a_len;
	Size		b_len;
	const uint8 *a_keys = genie_object_keys(a, &n, &a_len);
	const uint8 *b_keys = genie_object_keys(b, &n, &b_len);
	int			diff = memcmp(a_keys, b_keys, Min(a_len, b_len));

	if (diff == 0)
		diff = (a_len > b_len) - (a_len < b_len);
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return diff;
}

Datum
genie_object_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) == 0);
}

Datum
genie_object_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) != 0);
}

Datum
genie_object_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) < 0);
}

Datum
genie_object_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) <= 0);
}

Datum
genie_object_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) > 0);
}

Datum
genie_object_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) >= 0);
}

Datum
genie_object_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_arguments(fcinfo));
}

Datum
genie_object_hash(PG_FUNCTION_ARGS)
{
	struct varlena *object = PG_GETARG_VARLENA_PP(0);
	Datum		hash = hash_any((unsigned char *) VARDATA_ANY(object), VARSIZE_ANY_EXHDR(object));

	PG_FREE_IF_COPY(object, 0);
	return hash;
}

Datum
genie_object_hash_extended(PG_FUNCTION_ARGS)
{
	struct varlena *object = PG_GETARG_VARLENA_PP(0);
	Datum		hash = hash_any_extended((unsigned char *) VARDATA_ANY(object), VARSIZE_ANY_EXHDR(object),
										 PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(object, 0);
	return hash;
}

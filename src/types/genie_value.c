/*
 * genie_value.c
 *	  From a datum of any SQL type to a type family and normalised bytes, and so to a key.
 *
 * There are three kinds of types:
 *
 * - Types in the table below belong to a family with an order.  memcmp orders their bytes as PostgreSQL orders the
 *	 values.  Text is an exception: it is in byte order whatever the collation, because an index must not depend on a
 *	 collation's version.
 * - Enums are known by their labels, for equality only, because neither their OIDs nor their order survive dump and
 *	 restore in all cases.  The label of each value is looked up in the system cache, so a renamed label is seen here;
 *	 an index that has the old one is refused (genie_type_state.h).
 * - Every other type is hashed by its extended hash function, for equality only; a collatable type under the collation
 *	 "C".  Types whose hash depends on OIDs (regclass, or a row type with an enum) are refused, because dump and restore
 *	 would change their values.
 *
 * A domain counts as its base type.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "genie_value.h"
#include "genie_value_bytes.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/cash.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

static uint32
put_bool(uint8 *out, Datum value)
{
	out[0] = DatumGetBool(value);
	return 1;
}

static uint32
put_int2(uint8 *out, Datum value)
{
	return genie_key_put_int(out, DatumGetInt16(value));
}

static uint32
put_int4(uint8 *out, Datum value)
{
	return genie_key_put_int(out, DatumGetInt32(value));
}

static uint32
put_int8(uint8 *out, Datum value)
{
	return genie_key_put_int(out, DatumGetInt64(value));
}

static uint32
put_float4(uint8 *out, Datum value)
{
	return genie_value_put_float(out, (float8) DatumGetFloat4(value));
}

static uint32
put_float8(uint8 *out, Datum value)
{
	return genie_value_put_float(out, DatumGetFloat8(value));
}

/* text, varchar, bytea */
static uint32
put_varlena(uint8 *out, Datum value)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	uint32		n = genie_value_cut(out, (uint8 *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));

	if ((Pointer) bytes != DatumGetPointer(value))
		pfree(bytes);
	return n;
}

static uint32
put_bpchar(uint8 *out, Datum value)
{
	BpChar	   *chars = DatumGetBpCharPP(value);
	int			len = bpchartruelen(VARDATA_ANY(chars), VARSIZE_ANY_EXHDR(chars));
	uint32		n = genie_value_cut(out, (uint8 *) VARDATA_ANY(chars), len);

	if ((Pointer) chars != DatumGetPointer(value))
		pfree(chars);
	return n;
}

static uint32
put_name(uint8 *out, Datum value)
{
	const char *name = NameStr(*DatumGetName(value));

	return genie_value_cut(out, (const uint8 *) name, strlen(name));
}

/* a literal without a type */
static uint32
put_unknown(uint8 *out, Datum value)
{
	const char *string = DatumGetCString(value);

	return genie_value_cut(out, (const uint8 *) string, strlen(string));
}

static uint32
put_uuid(uint8 *out, Datum value)
{
	memcpy(out, DatumGetUUIDP(value)->data, UUID_LEN);
	return UUID_LEN;
}

static uint32
put_oid(uint8 *out, Datum value)
{
	return genie_key_put_int(out, DatumGetObjectId(value));
}

static uint32
put_char(uint8 *out, Datum value)
{
	out[0] = (uint8) DatumGetChar(value);
	return 1;
}

static uint32
put_money(uint8 *out, Datum value)
{
	return genie_key_put_int(out, DatumGetCash(value));
}

static uint32
put_macaddr(uint8 *out, Datum value)
{
	memcpy(out, DatumGetMacaddrP(value), sizeof(macaddr));
	return sizeof(macaddr);
}

static uint32
put_macaddr8(uint8 *out, Datum value)
{
	memcpy(out, DatumGetMacaddr8P(value), sizeof(macaddr8));
	return sizeof(macaddr8);
}

static uint32
put_lsn(uint8 *out, Datum value)
{
	return genie_value_put_uint(out, DatumGetLSN(value), sizeof(XLogRecPtr));
}

static uint32
put_enum(uint8 *out, Datum value)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, value);
	const char *label;
	uint32		n;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u", DatumGetObjectId(value))));
	label = NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel);
	n = genie_value_cut(out, (const uint8 *) label, strlen(label));
	ReleaseSysCache(tuple);
	return n;
}

typedef struct KnownType
{
	Oid			type;
	GenieFamily family;
	GenieValuePut put;
} KnownType;

static const KnownType known_types[] = {
	{BOOLOID, GENIE_FAMILY_BOOL, put_bool},
	{INT2OID, GENIE_FAMILY_INT, put_int2},
	{INT4OID, GENIE_FAMILY_INT, put_int4},
	{INT8OID, GENIE_FAMILY_INT, put_int8},
	{FLOAT4OID, GENIE_FAMILY_FLOAT, put_float4},
	{FLOAT8OID, GENIE_FAMILY_FLOAT, put_float8},
	{NUMERICOID, GENIE_FAMILY_NUMERIC, genie_value_put_numeric},
	{TEXTOID, GENIE_FAMILY_TEXT, put_varlena},
	{VARCHAROID, GENIE_FAMILY_TEXT, put_varlena},
	{BPCHAROID, GENIE_FAMILY_TEXT, put_bpchar},
	{NAMEOID, GENIE_FAMILY_TEXT, put_name},
	{UNKNOWNOID, GENIE_FAMILY_TEXT, put_unknown},
	{BYTEAOID, GENIE_FAMILY_BYTEA, put_varlena},
	{DATEOID, GENIE_FAMILY_TIMESTAMP, genie_value_put_date},
	{TIMESTAMPOID, GENIE_FAMILY_TIMESTAMP, genie_value_put_timestamp},
	{TIMESTAMPTZOID, GENIE_FAMILY_TIMESTAMPTZ, genie_value_put_timestamp},
	{TIMEOID, GENIE_FAMILY_TIME, genie_value_put_time},
	{TIMETZOID, GENIE_FAMILY_TIMETZ, genie_value_put_timetz},
	{INTERVALOID, GENIE_FAMILY_INTERVAL, genie_value_put_interval},
	{UUIDOID, GENIE_FAMILY_UUID, put_uuid},
	{OIDOID, GENIE_FAMILY_OID, put_oid},
	{CHAROID, GENIE_FAMILY_CHAR, put_char},
	{MONEYOID, GENIE_FAMILY_MONEY, put_money},
	{BITOID, GENIE_FAMILY_BIT, genie_value_put_bit},
	{VARBITOID, GENIE_FAMILY_BIT, genie_value_put_bit},
	{MACADDROID, GENIE_FAMILY_MACADDR, put_macaddr},
	{MACADDR8OID, GENIE_FAMILY_MACADDR8, put_macaddr8},
	{PG_LSNOID, GENIE_FAMILY_LSN, put_lsn},
};

static bool
walk_type(Oid type, Oid owner, int attribute, GenieTypeVisit visit, void *context)
{
	TypeCacheEntry *entry;
	bool		found = false;

	check_stack_depth();
	type = getBaseType(type);
	if (visit(type, owner, attribute, context))
		return true;
	switch (get_typtype(type))
	{
		case TYPTYPE_RANGE:
			return walk_type(get_range_subtype(type), type, 0, visit, context);
		case TYPTYPE_MULTIRANGE:
			return walk_type(get_multirange_range(type), type, 0, visit, context);
		case TYPTYPE_COMPOSITE:
			entry = lookup_type_cache(type, TYPECACHE_TUPDESC);
			for (int i = 0; entry->tupDesc != NULL && i < entry->tupDesc->natts && !found; i++)
			{
				Form_pg_attribute form = TupleDescAttr(entry->tupDesc, i);

				found = !form->attisdropped && walk_type(form->atttypid, type, i + 1, visit, context);
			}
			return found;
		default:
			return type_is_array(type) && walk_type(get_element_type(type), type, 0, visit, context);
	}
}

bool
genie_value_walk_type(Oid type, GenieTypeVisit visit, void *context)
{
	return walk_type(type, InvalidOid, 0, visit, context);
}

/* Does a hash of this type's values depend on OIDs, which dump and restore change? */
static bool
hash_sees_oids(Oid type, Oid owner, int attribute, void *context)
{
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGCOLLATIONOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case ACLITEMOID:
			return true;
		default:
			return get_typtype(type) == TYPTYPE_ENUM;
	}
}

static void
init_hash(GenieValueType *type, Oid base, MemoryContext context)
{
	TypeCacheEntry *entry = lookup_type_cache(base, TYPECACHE_HASH_EXTENDED_PROC);

	if (get_typtype(base) == TYPTYPE_PSEUDO)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("values of type %s cannot be keywords", format_type_be(base)),
				 errdetail("It is a pseudo-type."),
				 errhint("Cast the value to a named type.")));
	if (!OidIsValid(entry->hash_extended_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("values of type %s cannot be keywords", format_type_be(base)),
				 errdetail("The type has no extended hash function."),
				 errhint("Cast the value to a type that can be hashed, such as text.")));
	if (genie_value_walk_type(base, hash_sees_oids, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("values of type %s cannot be keywords", format_type_be(base)),
				 errdetail("Their hash depends on object identifiers, which dump and restore changes."),
				 errhint("Cast the value to text.")));
	fmgr_info_cxt(entry->hash_extended_proc, &type->hash, context);
	type->family = GENIE_FAMILY_HASH;
}

void
genie_value_type_init(GenieValueType *type, Oid oid, MemoryContext context)
{
	Oid			base = getBaseType(oid);

	memset(type, 0, sizeof(GenieValueType));
	get_typlenbyvalalign(base, &type->typlen, &type->typbyval, &type->typalign);
	for (size_t i = 0; i < lengthof(known_types) && type->put == NULL; i++)
	{
		if (known_types[i].type == base)
		{
			type->family = known_types[i].family;
			type->put = known_types[i].put;
		}
	}
	if (type->put == NULL && get_typtype(base) == TYPTYPE_ENUM)
	{
		type->family = GENIE_FAMILY_ENUM;
		type->put = put_enum;
	}
	if (type->put == NULL)
		init_hash(type, base, context);
	type->type = oid;			/* last, so that after an error a cache does not take this for complete */
}

void
genie_attribute_init(GenieAttribute *attribute, uint32 dimension, Oid type, MemoryContext context)
{
	genie_value_type_init(&attribute->type, type, context);
	attribute->prefix_len = genie_key_put_dimension(attribute->prefix, dimension);
	attribute->prefix[attribute->prefix_len++] = attribute->type.family;
}

/* Writes the value's normalised bytes to out. */
static uint32
put_value(GenieValueType *type, Datum value, uint8 *out)
{
	Datum		hash;

	if (type->put != NULL)
		return type->put(out, value);
	hash = FunctionCall2Coll(&type->hash, C_COLLATION_OID, value, Int64GetDatum(0));
	return genie_value_put_uint(out, DatumGetUInt64(hash), sizeof(uint64));
}

GenieKey
genie_attribute_key(GenieAttribute *attribute, Datum value, uint8 *out)
{
	GenieKey	key;

	memcpy(out, attribute->prefix, attribute->prefix_len);
	key.data = out;
	key.len = attribute->prefix_len + put_value(&attribute->type, value, out + attribute->prefix_len);
	return key;
}

/*
 * genie_value.h
 *	  Values of SQL types as normalised bytes within a family (genie_keyword.h), and back to text.
 */
#ifndef GENIE_VALUE_H
#define GENIE_VALUE_H

#include "fmgr.h"
#include "genie_opclass.h"
#include "lib/stringinfo.h"

/* room that normalised bytes need */
#define GENIE_VALUE_BYTES	(GENIE_VALUE_MAX + GENIE_VALUE_HASH_BYTES)

struct GenieValueType;

/* Writes the normalised bytes to out (room for GENIE_VALUE_BYTES); returns how many. */
typedef uint32 (*GenieNormalise) (struct GenieValueType *type, Datum value, uint8 *out);

/* How values of one SQL type become bytes: decided once a query, so that no row costs a look at the catalogs. */
typedef struct GenieValueType
{
	Oid			type;			/* as asked for */
	GenieFamily family;
	GenieNormalise normalise;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	FmgrInfo	hash;			/* GENIE_FAMILY_HASH: the extended hash function */
} GenieValueType;

/* a dimension and how its values become keys */
typedef struct GenieAttribute
{
	GenieValueType type;
	uint32		prefix_len;
	uint8		prefix[GENIE_DIMENSION_BYTES + 1];
} GenieAttribute;

/* ---- in genie_value.c ---- */

/* Errors: the type has neither a known order nor an extended hash function, or is a pseudo-type. */
extern void genie_value_type_init(GenieValueType *type, Oid oid, MemoryContext context);
extern void genie_attribute_init(GenieAttribute *attribute, uint32 dimension, Oid type, MemoryContext context);

/* Writes the value's key to out (room for GENIE_KEY_MAX). */
extern GenieKey genie_attribute_key(GenieAttribute *attribute, Datum value, uint8 *out);

/* big-endian integers */
extern uint32 genie_value_put_uint(uint8 *out, uint64 value, uint32 nbytes);
extern uint64 genie_value_get_uint(const uint8 *data, uint32 nbytes);

extern uint32 genie_value_put_float(uint8 *out, float8 value);
extern float8 genie_value_get_float(const uint8 *data);

/* ---- in genie_value_bit.c ---- */

extern uint32 genie_value_put_bit(uint8 *out, Datum value);
extern bool genie_value_bit_valid(const uint8 *data, uint32 len);
extern void genie_value_bit_print(StringInfo out, const uint8 *data, uint32 len);

/* ---- in genie_value_numeric.c ---- */

extern uint32 genie_value_put_numeric(uint8 *out, Datum value);
extern bool genie_value_numeric_valid(const uint8 *data, uint32 len);
extern void genie_value_numeric_print(StringInfo out, const uint8 *data, uint32 len);

/* ---- in genie_value_time.c ---- */

extern uint32 genie_value_put_date(uint8 *out, Datum value);
extern uint32 genie_value_put_timestamp(uint8 *out, Datum value);
extern uint32 genie_value_put_time(uint8 *out, Datum value);
extern uint32 genie_value_put_timetz(uint8 *out, Datum value);
extern uint32 genie_value_put_interval(uint8 *out, Datum value);
extern bool genie_value_timestamp_valid(const uint8 *data, uint32 len);
extern bool genie_value_time_valid(const uint8 *data, uint32 len);
extern bool genie_value_timetz_valid(const uint8 *data, uint32 len);
extern bool genie_value_interval_valid(const uint8 *data, uint32 len);
extern void genie_value_time_print(StringInfo out, const uint8 *data, uint32 len);

/* in UTC; zone is appended to finite ones */
extern void genie_value_timestamp_print(StringInfo out, const uint8 *data, uint32 len, const char *zone);

/* 0 if the text is no such value */
extern uint32 genie_value_timestamp_parse(const char *text, bool utc, uint8 *out);
extern uint32 genie_value_time_parse(const char *text, uint8 *out);

/* ---- in genie_value_text.c ---- */

/* Are these at most GENIE_VALUE_BYTES what normalising some value gives?  For bytes from outside. */
extern bool genie_value_valid(GenieFamily family, const uint8 *data, uint32 len);

/* The text form (genie_text.h), which depends on no setting: readable where the family has such a form. */
extern void genie_value_print(StringInfo out, GenieFamily family, const uint8 *data, uint32 len);

/* From the readable text form; errors if the text is no value of the family. */
extern uint32 genie_value_parse(GenieFamily family, const char *text, uint8 *out);

#endif							/* GENIE_VALUE_H */

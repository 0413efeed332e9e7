/*
 * genie_value.h
 *	  From a value of any SQL type to a key (genie_keyword.h).
 */
#ifndef GENIE_VALUE_H
#define GENIE_VALUE_H

#include "fmgr.h"
#include "genie_opclass.h"

/* Writes a value's normalised bytes to out (room for GENIE_VALUE_BYTES); returns how many. */
typedef uint32 (*GenieValuePut) (uint8 *out, Datum value);

/* How values of one SQL type become bytes.  Decided once a query, so that rows need no look at the catalogs. */
typedef struct GenieValueType
{
	Oid			type;			/* as the caller named it: perhaps a domain */
	GenieFamily family;
	GenieValuePut put;			/* NULL: GENIE_FAMILY_HASH */
	int16		typlen;
	bool		typbyval;
	char		typalign;
	FmgrInfo	hash;			/* GENIE_FAMILY_HASH: the extended hash function */
} GenieValueType;

/* A dimension, and how its values become keys. */
typedef struct GenieAttribute
{
	GenieValueType type;
	uint32		prefix_len;
	uint8		prefix[GENIE_DIMENSION_BYTES + 1];	/* dimension and family, with which its keys begin */
} GenieAttribute;

/*
 * Takes a type that is no domain, and where it was found: attribute (counted from 1) of the composite type `owner`, or
 * element or bound (0) of another type; InvalidOid: it is the type that the walk began with.  True ends the walk.
 */
typedef bool (*GenieTypeVisit) (Oid type, Oid owner, int attribute, void *context);

/* Visits a type and all types that its values are made of.  True: a visit has ended the walk. */
extern bool genie_value_walk_type(Oid type, GenieTypeVisit visit, void *context);

/* Errors: the type has neither a known order nor an extended hash function, or is a pseudo-type. */
extern void genie_value_type_init(GenieValueType *type, Oid oid, MemoryContext context);
extern void genie_attribute_init(GenieAttribute *attribute, uint32 dimension, Oid type, MemoryContext context);

/* Writes the value's key to out (room for GENIE_KEY_MAX). */
extern GenieKey genie_attribute_key(GenieAttribute *attribute, Datum value, uint8 *out);

#endif							/* GENIE_VALUE_H */

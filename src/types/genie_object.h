/*
 * genie_object.h
 *	  The type genie_object: a set of keywords.
 */
#ifndef GENIE_OBJECT_H
#define GENIE_OBJECT_H

#include "fmgr.h"
#include "genie_opclass.h"

/* The packed keys (genie_keyword.h) are valid, ascending, distinct: one value has one representation. */
typedef struct GenieObject
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	uint32		n;				/* keywords */
	uint8		packed[FLEXIBLE_ARRAY_MEMBER];
} GenieObject;

/* The object of finished keywords, palloc'd. */
extern GenieObject *genie_object_make(const GenieKeywords *keywords);

/*
 * The packed keys of an object, in place.  The object is not toasted or compressed, but its header may be short and its
 * address unaligned, as PG_DETOAST_DATUM_PACKED returns it.
 */
extern const uint8 *genie_object_keys(const struct varlena *object, uint32 *n, Size *nbytes);

/* genie_tuple(VARIADIC "any") returns genie_object: argument i, counted from 1, is attribute i. */
extern PGDLLEXPORT Datum genie_tuple(PG_FUNCTION_ARGS);

#endif							/* GENIE_OBJECT_H */

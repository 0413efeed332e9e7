/*
 * genie_signer.h
 *	  Rows of an operator class that learns (genie_opclass.h) in the pending list, and how they get their signatures and
 *	  values.
 *
 * Such a class needs parameters to make signatures, and trains them on rows.  As long as the metapage has none, the
 * index is *untrained*: rows are appended raw and stay in the pending list, and no segment has a keyword.  The build,
 * or the first merge that finds enough rows (genie_compact.c), trains.  It writes the parameters with the flip that
 * adds the segment of the first rows that it signed.  The parameters never change afterwards.
 *
 * Raw rows of a class that needs it have one size.  The metapage keeps it from the first of them on, until the list is
 * merged without any raw row; once there are parameters, for good.
 *
 * The pending list of a trained index may have raw rows, too.  Vectors always wait raw (am/genie_insert.c): their raw
 * keywords are their elements, so that scans measure them at once, which takes less time than to count signatures.  Of
 * another class, an insert that read the metapage before that flip may append a raw row behind it; its readers sign it.
 * Merges sign all of them.
 *
 * The class's functions are called through this table, because disk/ knows no operator classes.
 * types/genie_approximate.c fills it.
 */
#ifndef GENIE_SIGNER_H
#define GENIE_SIGNER_H

#include "genie_keyword.h"
#include "genie_values.h"

/* A packed set of keywords. */
typedef struct GenieSignature
{
	const uint8 *bytes;
	uint32		n;
	int32		size;			/* the object's; -1: the number of distinct keywords */
} GenieSignature;

typedef struct GenieSigner GenieSigner;

struct GenieSigner
{
	/*
	 * Trains on n objects (at least one): the parameters, palloc'd; NULL: the objects are too few, or, if the index
	 * can wait for more, tell too little.
	 */
	bytea	   *(*train) (GenieSigner *signer, const GenieRaw *objects, uint32 n, bool can_wait);

	/* The signature of an object, until the next call.  An exact class has none: it has no keywords. */
	GenieSignature (*sign) (GenieSigner *signer, const bytea *parameters, const GenieRaw *raw);

	/* What values of new segments are like, by these parameters of the class; NULL parameters: there are none yet. */
	GenieValueShape (*shape) (GenieSigner *signer, const bytea *parameters);

	/* The record of an object's value, until the next call.  If there are values. */
	const void *(*value) (GenieSigner *signer, const bytea *parameters, const GenieRaw *raw);
};

#endif							/* GENIE_SIGNER_H */

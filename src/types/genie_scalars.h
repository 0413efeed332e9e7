/*
 * genie_scalars.h
 *	  Scalars: where in its bin a value lies, so that most rows in bins that a range cuts are told without looking them
 *	  up.
 *
 * A bin's values share the first bytes of its cut and of the next one.  What comes behind them, eight bytes as a
 * number, is in the order of the values; of integers it is the value.  A scalar has the number of the bin in its slot,
 * and the distance of that number from the cut's, as a float of 17 significant bits: a value next to the cut is told
 * exactly, and of two that are far from it one that is further by a 65,536th.  Below a slot's first cut the distance
 * counts downwards.  The cut itself has a scalar of its own.
 *
 * So scalars are in the order of the values, and values with the same one lie next to each other.  Of these an
 * interval's bound may be one: then the objects that have it are not told, unless no other value can have it.
 *
 * A segment's section VALUES has the scalars of each object (values/genie_value_scalars.h).  Cuts change with REINDEX
 * alone.
 */
#ifndef GENIE_SCALARS_H
#define GENIE_SCALARS_H

#include "genie_bins.h"
#include "genie_value_scalars.h"

#define GENIE_SCALARS_MAX	64	/* slots: where there are more, objects have no scalars, which would be mostly 0 */

/* Writes the record of an object's raw keywords: the scalar of each slot. */
extern void genie_scalars_record(const bytea *bins, const GenieRaw *raw, uint32 *record);

/* A query in terms of scalars, palloc'd.  It has no threshold. */
typedef struct GenieScalarQuery GenieScalarQuery;

extern GenieScalarQuery *genie_scalars_query(const bytea *bins, const GenieQuery *query);

/* Must an object match in each dimension that the query asks? */
extern bool genie_scalars_is_conjunction(const GenieScalarQuery *query);

/* The slots that the query asks, ascending; returns how many, at most that many as bins have. */
extern uint32 genie_scalars_slots(const GenieScalarQuery *query, uint32 *slots);

typedef enum GenieScalarVerdict
{
	GENIE_SCALARS_MATCH,
	GENIE_SCALARS_MATCH_NOT,
	GENIE_SCALARS_UNSURE
} GenieScalarVerdict;

/* Does an object match, of which bins say that it may?  Its record is aligned. */
extern GenieScalarVerdict genie_scalars_judge(const GenieScalarQuery *query, const uint32 *record);

#endif							/* GENIE_SCALARS_H */

/*
 * genie_bound.h
 *	  The lower bounds of a distance for one query, compiled into integer keys by object size and match count.
 *
 * A scan that orders by a distance (genie_opclass.h: strategies from 3 on) ranks objects by keys: the larger the key,
 * the smaller the bound.  Engines see the keys alone (GenieKeyTable).
 */
#ifndef GENIE_BOUND_H
#define GENIE_BOUND_H

#include "genie_opclass.h"
#include "genie_segment_query.h"
#include "utils/rel.h"

typedef struct GenieBound
{
	/* by the query alone */
	FmgrInfo   *function;		/* support function 3 */
	bool		is_exact;		/* it gives the distance itself */
	Oid			collation;
	int16		strategy;
	const GenieQuery *query;
	uint32		max_count;		/* keywords of the query, as many as an object can have */
	uint32		class_bits;		/* leading bits of a size that tell its class */

	/* rows are wanted only with at least this match count and at most this bound */
	uint32		min_count;
	double		max_distance;

	/* compiled for a range of sizes */
	GenieKeyTable table;
	uint32		n_bounds;		/* distinct ones; keys are 1 .. n_bounds */
	double	   *bounds;			/* of key i at i - 1: the largest first */
	bool	   *exact;			/* of key i at i - 1: the bound is the distance of all objects that have the key */
} GenieBound;

/* Has the index's operator class such a distance? */
extern bool genie_bound_knows(Relation index, int16 strategy);

/*
 * Begins with a query, which must stay, in the current memory context.
 * ERRCODE_FEATURE_NOT_SUPPORTED for one that has ranges.
 */
extern GenieBound *genie_bound_begin(Relation index, int16 strategy, const GenieQuery *query);

/* From now on only rows of at least min_count and within max_distance are wanted; repeated calls add up. */
extern void genie_bound_cut(GenieBound *bound, uint32 min_count, double max_distance);

/*
 * The fewest matches that an object within the distance can have, whatever its size; max_count + 1 if there can be no
 * such object.
 */
extern uint32 genie_bound_least_count(const GenieBound *bound, double max_distance);

/* The bound for an object of that size and match count; the size is at least the count. */
extern double genie_bound_of_object(const GenieBound *bound, uint32 count, uint32 size);

/*
 * Makes the table for objects of min_size to max_size keywords, in the current memory context.
 * ERRCODE_INVALID_OBJECT_DEFINITION where the support function breaks its contract.
 */
extern void genie_bound_compile(GenieBound *bound, uint32 min_size, uint32 max_size);

/* Where a bound stands among the compiled ones: how many are larger.  *found: it is one of them. */
extern uint32 genie_bound_place(const GenieBound *bound, double value, bool *found);

/* 0: not wanted.  The size must be one that was compiled for. */
static inline uint32
genie_bound_key(const GenieBound *bound, uint32 size, uint32 count)
{
	return genie_keys_of_size(&bound->table, size)[count];
}

static inline double
genie_bound_of_key(const GenieBound *bound, uint32 key)
{
	return bound->bounds[key - 1];
}

/* Is that the distance? */
static inline bool
genie_bound_is_exact(const GenieBound *bound, uint32 key)
{
	return bound->exact[key - 1];
}

#endif							/* GENIE_BOUND_H */

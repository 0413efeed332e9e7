/*
 * genie_pivots.h
 *	  Operator classes of a metric (genie_opclass.h, support function 7): values of any type, of which an index keeps
 *	the
 *	  distances to pivots.
 */
#ifndef GENIE_PIVOTS_H
#define GENIE_PIVOTS_H

#include "genie_opclass.h"
#include "genie_value_shape.h"
#include "utils/rel.h"

/* Is the index's operator class one of these? */
extern bool genie_pivots_index(Relation index);

/* What an index has learned, as far as people ask. */
typedef struct GeniePivotsInfo
{
	uint32		n;				/* pivots */
	double		share;			/* of all distances, that a search for few rows is expected to compute */
} GeniePivotsInfo;

extern GeniePivotsInfo genie_pivots_info(const bytea *parameters);

/* Have parameters of such a class, which say n pivots, what they must have? */
extern bool genie_pivots_valid(const bytea *parameters, uint32 n);

/* The shape of values by such parameters, which are valid. */
extern GenieValueShape genie_pivots_shape(const bytea *parameters);

/* The distances of a value to the pivots, palloc'd.  Errors: those of genie_pivots_distance(). */
extern GenieVector genie_pivots_distances(Relation index, const bytea *parameters, Datum value);

/* The record of a row of the pending list.  Errors: the same, where the row is older than the pivots. */
extern void genie_pivots_record(Relation index, const bytea *parameters, const GenieRaw *raw, void *record);

/* The distance of two values that are not NULL.  Errors: it is NULL, NaN or negative. */
extern double genie_pivots_distance(Relation index, Datum a, Datum b);

/*
 * Reports three values of which the distance function breaks the triangle inequality, if there are some among n, the
 * values of raw objects that such a class makes without parameters.  Returns how many triples were looked at.
 */
extern int64 genie_pivots_check(Relation index, const GenieRaw *objects, uint32 n);

#endif							/* GENIE_PIVOTS_H */

/*
 * genie_vector_type.h
 *	  The types whose values are vectors: real[], double precision[], pgvector's "vector"; bit and text, whose values
 *	  are vectors of bits and of characters; and any type of a class of a metric, whose vectors are distances to pivots
 *	  (genie_pivots.h).
 *
 * Code that reads vectors of an index asks the type, and so is written once for all of them.
 */
#ifndef GENIE_VECTOR_TYPE_H
#define GENIE_VECTOR_TYPE_H

#include "fmgr.h"
#include "access/stratnum.h"
#include "genie_keyword.h"
#include "genie_vector.h"
#include "utils/rel.h"

typedef struct GenieVectorType
{
	Oid			array;			/* real[] or float8[], whichever has the same elements; symbols: none */
	bool		is_double;		/* elements are doubles, not floats */
	bool		is_symbols;		/* elements are bits, or characters, of an exact class; they are checked */
	bool		is_metric;		/* a class of a metric: vectors are distances to pivots, which elements cannot tell */

	/* The elements of a value, which may be in a palloc'd copy of it.  Errors: the value is no vector. */
	GenieVector (*elements) (Datum value);

	/* A value that has these n elements, palloc'd.  Errors: they are too many for the type.  Symbols: NULL. */
	Datum		(*make) (const void *elements, uint32 n);

	/*
	 * The metric of an ordering operator of an approximate or exact class: its function and its strategy.  0: genie
	 * does not know the operator's arithmetic.
	 */
	GenieMetric (*metric) (const FmgrInfo *distance, StrategyNumber strategy);

	/*
	 * The metric of a condition x @& ball by its function (0: genie does not know it), and the parts of a ball around
	 * a value of that type.  NULL: there are no balls.
	 */
	GenieMetric (*ball_metric) (const FmgrInfo *matches);
	Datum		(*ball) (Datum ball, Oid type, double *radius);
} GenieVectorType;

/* The vector type real[] or double precision[]; NULL: the SQL type is neither. */
extern const GenieVectorType *genie_vector_type_of_array(Oid type);

/*
 * The type of the index's values, if its class is genie's for vectors, for bits or texts (exactly), or a metric; else
 * NULL.
 */
extern const GenieVectorType *genie_vector_type_of_class(Relation index);

/* The value whose raw keywords these are (genie_lsh_class.c), palloc'd. */
extern Datum genie_vector_type_raw_value(const GenieVectorType *type, const GenieRaw *raw);

#endif							/* GENIE_VECTOR_TYPE_H */

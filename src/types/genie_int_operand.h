/*
 * genie_int_operand.h
 *	  Right operands of arrays of integers: numerics that are integers become integers.
 */
#ifndef GENIE_INT_OPERAND_H
#define GENIE_INT_OPERAND_H

#include "genie_opclass.h"

/*
 * The query as an array of integers is asked, in CurrentMemoryContext; the query itself if it has nothing to convert.
 * Its number of keywords stays the same, and so do min_match and threshold.
 */
extern const GenieQuery *genie_int_operand_query(const GenieQuery *query);

/* The same of an object, which is as PG_DETOAST_DATUM_PACKED returns it. */
extern const struct varlena *genie_int_operand_object(const struct varlena *object);

#endif							/* GENIE_INT_OPERAND_H */

/*
 * genie_set_class.h
 *	  The operator classes of sets.
 */
#ifndef GENIE_SET_CLASS_H
#define GENIE_SET_CLASS_H

#include "fmgr.h"
#include "utils/rel.h"

/*
 * The right operand of an operator of the index's class, as its compile function gets it, in CurrentMemoryContext.
 * Where the index is one of arrays of integers (genie_minhash_ops included), the operand's numerics become integers.
 */
extern Datum genie_set_operand(Relation index, Oid subtype, Datum operand);

/* Support function 3 of all classes that have <%> and are exact (genie_opclass.h). */
extern PGDLLEXPORT Datum genie_jaccard_bound(PG_FUNCTION_ARGS);

#endif							/* GENIE_SET_CLASS_H */

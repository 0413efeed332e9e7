/*
 * genie_value_check.h
 *	  Values in an index compared with the table's rows, on a sample: for genie_check().
 */
#ifndef GENIE_VALUE_CHECK_H
#define GENIE_VALUE_CHECK_H

#include "genie_verify.h"

/*
 * Reports each sampled object whose value allows a bound above a distance of its row.  The index is open, and its table
 * is locked.  False: the index changed meanwhile.
 */
extern bool genie_value_check(Relation heap, Relation index, GenieViolation report, void *arg);

#endif							/* GENIE_VALUE_CHECK_H */

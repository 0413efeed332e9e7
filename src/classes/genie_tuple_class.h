/*
 * genie_tuple_class.h
 *	  The operator class of tuples by bins, genie_tuple_ops.
 */
#ifndef GENIE_TUPLE_CLASS_H
#define GENIE_TUPLE_CLASS_H

#include "utils/rel.h"

/* Is the index of that class?  Then what it has learned are bins (genie_bins.h). */
extern bool genie_tuple_class_of(Relation index);

#endif							/* GENIE_TUPLE_CLASS_H */

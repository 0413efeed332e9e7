/*
 * genie_edit_distance.h
 *	  The parts of the edit distance operators that the operator class genie_edit_ops uses.
 */
#ifndef GENIE_EDIT_DISTANCE_H
#define GENIE_EDIT_DISTANCE_H

#include "fmgr.h"

/* Raises an error if the text is too long for an edit distance. */
extern void genie_edit_check_length(const text *value);

/*
 * The parts of a genie_edit_query.  The text is in the current memory context.  A composite value can be written by
 * hand, so it is checked.  Errors: a part is NULL, or is one that the function genie_edit_query() refuses.
 */
extern text *genie_edit_query_parts(Datum datum, uint32 *distance);

#endif							/* GENIE_EDIT_DISTANCE_H */

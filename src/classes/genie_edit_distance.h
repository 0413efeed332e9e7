/*
 * genie_edit_distance.h
 *	  What the index's operator class shares with the operators on texts.
 */
#ifndef GENIE_EDIT_DISTANCE_H
#define GENIE_EDIT_DISTANCE_H

#include "fmgr.h"

/* Raises an error for a text that is too long for an edit distance. */
extern void genie_edit_check_length(const text *value);

/*
 * The parts of a genie_edit_query, which must have no NULL and be what the function genie_edit_query() makes: a
 * composite value can be written by hand too.  The text is in the current memory context.
 */
extern text *genie_edit_query_parts(Datum datum, uint32 *distance);

#endif							/* GENIE_EDIT_DISTANCE_H */

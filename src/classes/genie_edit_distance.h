/*
 * genie_edit_distance.h
 *	  The parts of the edit distance operators that the operator class genie_edit_ops and its scans use.
 */
#ifndef GENIE_EDIT_DISTANCE_H
#define GENIE_EDIT_DISTANCE_H

#include "fmgr.h"

#include "genie_edit.h"

/* Raises an error if the text is too long for an edit distance. */
extern void genie_edit_check_length(const text *value);

/*
 * Writes a code for each of the text's first n characters: equal ones have equal codes, others of several bytes may,
 * too; none is 0.  Returns how many characters the text has.  Error: it is too long for an edit distance.
 */
extern uint32 genie_edit_codes(const text *value, uint8 *codes, uint32 n);

/*
 * The parts of a genie_edit_query.  The text is in the current memory context.  A composite value can be written by
 * hand, so it is checked.  Errors: a part is NULL, or is one that the function genie_edit_query() refuses.
 */
extern text *genie_edit_query_parts(Datum datum, uint32 *distance);

/* text <~> text */
extern PGDLLEXPORT Datum genie_edit_distance_texts(PG_FUNCTION_ARGS);

/*
 * Distances of many texts to one: up to pattern.lanes texts are collected, and then measured together, in little more
 * than the time of one.  Texts are copied, and need not stay.
 */
typedef struct GenieEditGroup
{
	GenieEditPattern pattern;
	uint32		n;				/* texts that are collected; 0 after they are measured */
	uint32		capacity;		/* characters for which there is room, of each text */
	uint16	   *ids;			/* as genie_edit_distances() wants them */
	uint32		lengths[GENIE_EDIT_LANES];
	uint32		distances[GENIE_EDIT_LANES];	/* of the n last measured, in the order in which they were added */
} GenieEditGroup;

/* In the current memory context.  NULL: the query is longer than GENIE_EDIT_BLOCK, or empty. */
extern GenieEditGroup *genie_edit_group_begin(Datum query);

/* Adds a text.  True: now there are pattern.lanes of them, and they must be measured before the next is added. */
extern bool genie_edit_group_add(GenieEditGroup *group, Datum value);

extern void genie_edit_group_measure(GenieEditGroup *group);

#endif							/* GENIE_EDIT_DISTANCE_H */

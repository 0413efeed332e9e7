/*
 * genie_batch_text.h
 *	  The text of a keyword's value, from a row that has it: for keywords that are cut, or only a hash.
 */
#ifndef GENIE_BATCH_TEXT_H
#define GENIE_BATCH_TEXT_H

#include "genie_batch_column.h"

/*
 * The value, as its type prints it, of the keyword that the source's cursor is on, from the row of an object that has
 * it.  *text is NULL if it is no argument of genie_tuple() and no element of an array.  False: stale.
 */
extern bool genie_batch_text(GenieColumn *column, GenieColumnSource *source, uint32 object, char **text);

/* The same from a row that is at hand, palloc'd; NULL as above. */
extern char *genie_batch_text_of_row(Relation index, GenieKey key, TupleTableSlot *slot);

#endif							/* GENIE_BATCH_TEXT_H */

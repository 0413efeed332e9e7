/*
 * genie_batch_value.h
 *	  A value of an attribute, and how many of the rows that match have it: what genie_facets() and genie_aggregate()
 *	  share of taking a column (genie_batch_column.h).
 *
 * A row that lists a value several times counts once for it, as everywhere in genie.  Where the keyword does not tell
 * the value, because it is cut or a hash, one of these rows is read for it (genie_batch_text.h).
 */
#ifndef GENIE_BATCH_VALUE_H
#define GENIE_BATCH_VALUE_H

#include "genie_batch_column.h"

/* First in what the taker's functions get. */
typedef struct GenieValueCount
{
	GenieColumn *column;
	MemoryContext context;		/* of one value; who takes it resets that */

	GenieFamily family;
	GenieKey	value;
	uint64		n_rows;			/* that have it */
	char	   *text;			/* if it has no readable form: from a row that has it; NULL: not known */
	bool		stale;			/* set back by who begins */
} GenieValueCount;

/* Functions of a taker. */
extern void genie_batch_value_begin(void *arg, GenieFamily family, GenieKey value);
extern void genie_batch_value_rows(void *arg, GenieColumnSource *source, uint32 i, uint32 n);
extern void genie_batch_value_part(void *arg, GenieColumnSource *source, uint32 tile, const uint16 *locals, uint32 n);

extern void genie_batch_value_print(const GenieValueCount *count, StringInfo text);

#endif							/* GENIE_BATCH_VALUE_H */

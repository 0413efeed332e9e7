/*
 * genie_row.h
 *	  A row as an index sees it: the indexed value, and its distance from a query.
 */
#ifndef GENIE_ROW_H
#define GENIE_ROW_H

#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

typedef struct GenieRowValue
{
	AttrNumber	attribute;		/* 0: an expression */
	IndexInfo  *info;
	EState	   *estate;
} GenieRowValue;

/* In the current memory context. */
extern void genie_row_value_begin(GenieRowValue *row_value, Relation index);

/*
 * The indexed value of the row in the slot.  The value of an expression lives in the memory context of its expression
 * context, which the next call resets.
 */
extern Datum genie_row_value(const GenieRowValue *row_value, TupleTableSlot *slot, bool *is_null);

extern void genie_row_value_end(GenieRowValue *row_value);

/* An ordering operator's result for a value that is not NULL; in the current memory context. */
extern Datum genie_row_order(FmgrInfo *function, Oid collation, Datum value, Datum query, bool *is_null);

/* The same of a distance; 0 where it is NULL. */
static inline double
genie_row_distance(FmgrInfo *function, Oid collation, Datum value, Datum query, bool *is_null)
{
	Datum		result = genie_row_order(function, collation, value, query, is_null);

	return *is_null ? 0 : DatumGetFloat8(result);
}

#endif							/* GENIE_ROW_H */

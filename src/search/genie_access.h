/*
 * genie_access.h
 *	  Opening an index that a user has named, and with its table for a function that searches it.
 */
#ifndef GENIE_ACCESS_H
#define GENIE_ACCESS_H

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

/*
 * Opens an index that must be genie's, built far enough to be read, and within reach; else the ERROR says what it is.
 */
extern Relation genie_access_open_index(Oid oid, LOCKMODE mode);

/*
 * Opens table and index, in the order in which statements lock them, with AccessShareLock.  Errors: those of
 * genie_access_open_index().
 */
extern void genie_access_open_both(Oid index_oid, Relation *heap, Relation *index);

/* Is the index valid, and has it the versions of rows that this transaction's snapshots may see? */
extern bool genie_access_serves(Relation index);

/*
 * Opens both for a search.  Errors, besides: the user may not read the columns that it is made of, or row-level
 * security applies; it is not valid, or not usable by this transaction's snapshots; temporary or unlogged during
 * recovery.  instead: what to use for a partitioned index, as the error about it says; NULL: nothing.
 */
extern void genie_access_open(Oid index_oid, const char *instead, Relation *heap, Relation *index);

extern void genie_access_close(Relation heap, Relation index);

/* A partition without partitions, and its index. */
typedef struct GenieAccessPart
{
	Relation	heap;
	Relation	index;
} GenieAccessPart;

typedef struct GenieAccessParts
{
	List	   *leaves;			/* GenieAccessPart, in the order of the bounds: a default partition is the last */
	List	   *opened;			/* all relations that are open, the last one first */
} GenieAccessParts;

/*
 * Opens a partitioned index, and the table and the index of all partitions at whatever depth, for a search.  An index
 * that is not partitioned is its own only part.  Errors: those of genie_access_open(), where the user's rights are
 * those on the partitioned table; a partition has no index that is attached, or is a foreign table.
 */
extern void genie_access_open_parts(Oid index_oid, GenieAccessParts *parts);

extern void genie_access_close_parts(GenieAccessParts *parts);

#endif							/* GENIE_ACCESS_H */

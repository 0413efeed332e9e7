/*
 * genie_access.h
 *	  Opening an index that a user has named, and with its table for a function that searches it.
 */
#ifndef GENIE_ACCESS_H
#define GENIE_ACCESS_H

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
 * recovery.
 */
extern void genie_access_open(Oid index_oid, Relation *heap, Relation *index);

extern void genie_access_close(Relation heap, Relation index);

#endif							/* GENIE_ACCESS_H */

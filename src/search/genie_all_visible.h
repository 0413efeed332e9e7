/*
 * genie_all_visible.h
 *	  Rows that a snapshot sees for certain, by the table's visibility map, without a visit.
 */
#ifndef GENIE_ALL_VISIBLE_H
#define GENIE_ALL_VISIBLE_H

#include "genie_visit.h"

/*
 * Which of n rows, in TID order, does the visitor's snapshot see for certain?  The index gave the rows, and had this
 * tombstone version before.
 */
extern void genie_all_visible_rows(const GenieVisitor *visitor, uint64 tombstone_version, GenieVisitRow *const *rows,
								   uint32 n, bool *certain);

/*
 * The pages of the table of whose rows that is not certain, ascending; palloc'd.  False: it is certain of no row.
 */
extern bool genie_all_visible_unsure_pages(const GenieVisitor *visitor, uint64 tombstone_version,
										   BlockNumber **pages, uint32 *n);

#endif							/* GENIE_ALL_VISIBLE_H */

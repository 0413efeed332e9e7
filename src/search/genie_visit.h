/*
 * genie_visit.h
 *	  Looking rows up in the table: which of many TIDs that an index holds are visible, and where their rows are.
 */
#ifndef GENIE_VISIT_H
#define GENIE_VISIT_H

#include "access/tableam.h"
#include "genie_hint.h"
#include "genie_instrument.h"
#include "storage/buf.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

typedef struct GenieVisitRow
{
	uint64		tid;			/* that the index holds */
	uint64		live;			/* of the visible member of its HOT chain; 0: there is none */
} GenieVisitRow;

static inline BlockNumber
genie_visit_block(const GenieVisitRow *row)
{
	return (BlockNumber) (row->tid >> 16);
}

typedef struct GenieVisitor
{
	Relation	heap;
	Relation	index;
	Snapshot	snapshot;		/* an MVCC snapshot */
	TupleTableSlot *slot;		/* of the table's own kind */
	TupleTableSlot *shown;		/* rows of a heap, whose page the visit has pinned */
	IndexFetchTableData *fetch; /* NULL: a heap, whose pages are read directly */
	GenieHints *hints;			/* rows that are dead to everybody; NULL: they are not noted */
	const GenieInstrument *instrument;	/* of the scan; NULL: none */
	BlockNumber n_blocks;		/* that the table had when the visitor began */

	/* called for each visible row, with the row in the slot, in the order of the rows; may be NULL */
	void		(*found) (void *arg, GenieVisitRow *row, TupleTableSlot *slot);
	void	   *arg;
} GenieVisitor;

/* In the current memory context, without an instrument. */
extern void genie_visitor_begin(GenieVisitor *visitor, Relation heap, Relation index, Snapshot snapshot);

/*
 * Says that the index is damaged if a block that it names lies beyond the table, which has at least *n_blocks; makes
 * that what it has now if the block needs it.  A table gets shorter only when nobody else has it open.
 */
extern void genie_visit_check_block(Relation heap, Relation index, BlockNumber block, BlockNumber *n_blocks);

/* The same of a TID, which may be no possible one: for a bitmap, which takes no other. */
extern void genie_visit_check_tid(Relation heap, Relation index, ItemPointer tid, BlockNumber *n_blocks);

/* Fills live of n rows, which come in TID order. */
extern void genie_visit(const GenieVisitor *visitor, GenieVisitRow **rows, uint32 n);

/*
 * Does a page that is all-visible, by its header or by the visibility map, settle that its rows are visible to the
 * visitor's snapshot?  Not to a snapshot of a standby, or one that may become too old, nor where a serializable
 * transaction must note what it has seen, nor in a table that is not a heap.
 */
extern bool genie_visit_trusts_pages(const GenieVisitor *visitor);

extern void genie_visitor_end(GenieVisitor *visitor);

#endif							/* GENIE_VISIT_H */

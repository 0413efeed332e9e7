/*
 * genie_pending.h
 *	  The pending list: rows that aminsert appended and no merge has taken yet.
 *
 * A list of pages.  Inserts append at its tail, merges consume it from its head.  A page holds fragments of rows:
 *
 *		GeniePendingFragment { tid 6, flags 1, pad 1, keywords 2, size 2, bytes 2 }, then the
 *		packed keywords
 *
 * A row that fits a page is one fragment.  A longer row is several fragments on consecutive pages of its
 * own, with MORE on all but the last.  They are written as a separate list of sealed pages, which is linked to
 * the tail in one record, so a reader meets all of them or none.
 *
 * Page states: open (only the tail may be), sealed (GENIE_PENDING_SEALED in the special area:
 * nothing is ever appended; a merge seals the tail before it reads).  An insert checks the state under the
 * page's exclusive lock.  If its tail is sealed, linked or another owner's, it starts over.
 *
 * Locks: metapage, then a new page (no process waits for anything else while it holds one), then the
 * tail.  An append to an open tail locks that page alone.
 */
#ifndef GENIE_PENDING_H
#define GENIE_PENDING_H

#include "genie_keyword.h"
#include "genie_page.h"
#include "lib/stringinfo.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#define GENIE_PENDING_SEALED	0x01	/* page detail */

#define GENIE_FRAGMENT_NULL		0x01
#define GENIE_FRAGMENT_DEAD		0x02	/* set by ambulkdelete */
#define GENIE_FRAGMENT_MORE		0x04	/* the row goes on in the next fragment */
#define GENIE_FRAGMENT_RAW		0x08	/* raw keywords of a class that learns (genie_signer.h) */
#define GENIE_FRAGMENT_SAME_SIZE	0x10	/* of a raw row: all raw rows of the index must have its size */

typedef struct GeniePendingFragment
{
	ItemPointerData tid;
	uint8		flags;
	uint8		pad;
	uint16		n;
	uint16		size;
	uint16		nbytes;
} GeniePendingFragment;

/*
 * Appends a row: its flags (NULL, or RAW and perhaps SAME_SIZE), n packed keywords (a valid packed set of nbytes), its
 * size.  *n_pages is the list's length if this call added a page, else 0.  Errors: the size is not that of raw rows.
 */
extern void genie_pending_append(Relation index, const ItemPointerData *tid, uint8 flags,
								 const uint8 *packed, uint32 n, Size nbytes, uint32 size,
								 uint32 *n_pages);

/*
 * Reads the list from the metapage copy's head to its tail, row by row.
 *
 * A row's flags are its first fragment's, without MORE; DEAD if any of its fragments is dead: a VACUUM that was
 * interrupted has marked a long row's fragments from the first on, and one that runs marks them page by page.
 */
typedef struct GeniePendingRow
{
	uint64		tid;
	uint8		flags;			/* GENIE_FRAGMENT_... */
	uint16		size;
	uint32		n;				/* keywords */
	Size		nbytes;			/* of the packed keywords */
	const uint8 *packed;		/* until the next call; undefined for a dead row */
	int32		count;			/* that match the scan's numbers; -1: unknown */
} GeniePendingRow;

typedef struct GeniePendingScan
{
	Relation	index;
	const GenieQueryNumbers *numbers;	/* of a query, if they have dimensions; NULL: rows are not counted */
	BlockNumber next;
	BlockNumber last;			/* stop after this one */
	BlockNumber block;			/* the page in hand */
	uint32		left;			/* pages to come; a damaged list may lack some, or be a circle */
	uint64		below;			/* stamps must be */
	bool		stale;
	uint32		at;				/* in the page in hand */
	uint32		used;
	StringInfoData joined;		/* the keywords of a row of several fragments */
	PGAlignedBlock page;		/* a copy of it */
} GeniePendingScan;

/* In the current memory context; numbers are none. */
extern GeniePendingScan *genie_pending_scan_begin(Relation index, const GenieMetaData *meta);
extern void genie_pending_scan_end(GeniePendingScan *scan);

/*
 * The next row; false at the end, or if stale (scan->stale: start again from the metapage).  Memory: a page, and the
 * longest row of several fragments.  ERRCODE_INDEX_CORRUPTED for a malformed row.
 */
extern bool genie_pending_next_row(GeniePendingScan *scan, GeniePendingRow *row);

/* Was the row in hand the last one of its page? */
static inline bool
genie_pending_page_done(const GeniePendingScan *scan)
{
	return scan->at == scan->used;
}

/* Seals the tail, so that the list up to there does not change.  Returns a copy of the metapage at that moment. */
extern GenieMetaData *genie_pending_seal(Relation index);

/* Is the row dead? */
typedef bool (*GenieDeadCallback) (ItemPointer tid, void *state);

/* Marks all fragments of the dead rows.  Counts the rows that it marked, and the live ones that are left. */
extern void genie_pending_delete(Relation index, const GenieMetaData *meta, GenieDeadCallback callback,
								 void *state, uint64 *n_removed, uint64 *n_left);

#endif							/* GENIE_PENDING_H */

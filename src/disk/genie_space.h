/*
 * genie_space.h
 *	  Pages: taking them, retiring them, getting them back.
 *
 * The life of a page:
 *
 *	(extension, zeroes) ──take──► PENDING, ROOT, DATA, RETIRED ──retire──► (unchanged, but
 *	        ▲                            no longer reachable from the metapage, listed on a
 *	        RETIRED page) │                                                                │
 *	        └────────── take ◄── FREE, in the free space map ◄──reclaim──────┘
 *
 * retire	is part of the flip's record (genie_flip.c): an entry with kind, head block, stamp, and the
 *			next transaction id at that moment.  The pages do not change: a scan that read
 *			the old metapage goes on reading them.
 * reclaim	happens under the merge lock, once no snapshot is older than the entry's transaction id, or
 *			while no other process has the index open (a transaction that inserts very much is as old
 *			as the pages that it replaces, and could reuse none of them).  Pages are stamped FREE, data pages
 *			first, roots and list heads last, so that a crash in the middle leaves an entry that
 *			can be walked again.  Then the entry is removed; the list keeps a page, so that a flip
 *			on a full disk needs none.  A scan on a standby may still be
 *			reading: it finds another stamp and starts again.
 * lost		pages are those that a crash or an error left unreachable.  VACUUM finds them: it marks
 *			everything reachable and frees the rest, before it writes anything.
 *
 * VACUUM moves pages while nobody uses the index, and truncates the file (genie_truncate.h): then a page goes from FREE
 * to another page's contents and stamp, or out of the file.
 */
#ifndef GENIE_SPACE_H
#define GENIE_SPACE_H

#include "access/transam.h"
#include "genie_page.h"
#include "storage/buf.h"
#include "utils/rel.h"

typedef enum GenieRetiredKind
{
	GENIE_RETIRED_SEGMENT = 1,
	GENIE_RETIRED_PENDING = 2
} GenieRetiredKind;

typedef struct GenieRetiredEntry
{
	uint64		stamp;			/* SEGMENT: the segment's; PENDING: pages' stamps are all below it */
	FullTransactionId xid;		/* no scan needs it once no snapshot can be older */
	BlockNumber head;			/* root, or first page of the list */
	uint32		n_pages;		/* PENDING: how many pages of the list */
	uint32		kind;			/* GenieRetiredKind */
	uint32		reserved;
} GenieRetiredEntry;

#define GENIE_RETIRED_PER_PAGE (GENIE_PAGE_PAYLOAD / sizeof(GenieRetiredEntry))

/*
 * Consecutive new blocks at the relation's end, which are not initialised yet.  Start with all zeroes.
 */
#define GENIE_RUN_MAX 64		/* blocks: 512 kB */

typedef struct GenieRun
{
	BlockNumber start;
	uint32		left;
	uint32		taken;			/* blocks of all runs so far */
} GenieRun;

/*
 * A page without owner, exclusively locked and pinned.  The caller must genie_page_init it
 * before it unlocks.  The page comes from the run, else from the free space map, else the relation is extended: by one
 * page, or, if run is not NULL, by a new run.
 */
extern Buffer genie_space_take(Relation index, GenieRun *run);

/* Puts the rest of a run into the free space map. */
extern void genie_space_give_back(Relation index, GenieRun *run);

/* Frees retired pages that no snapshot needs.  The caller holds the merge lock. */
extern void genie_space_reclaim(Relation index);

/* Stamps one page FREE and puts it into the free space map. */
extern void genie_space_free_block(Relation index, BlockNumber block, uint64 stamp);

/*
 * The kind of each block that is reachable from meta: GeniePageKind, or 0 = not
 * reachable.  Blocks of retired entries have GENIE_REACHABLE_RETIRED added.  palloc'd, n_blocks bytes.
 * The caller holds the merge lock in any mode, or on a standby no lock.  NULL: the index changed
 * meanwhile.
 */
#define GENIE_REACHABLE_RETIRED 64
#define GENIE_REACHABLE_TWICE 255	/* has two owners */
extern uint8 *genie_space_reachable(Relation index, const GenieMetaData *meta, BlockNumber n_blocks);

/*
 * Counts lost pages, which are neither reachable nor free, and free ones.  collect: frees the lost ones and
 * records both in the free space map; the caller holds the survey and merge locks exclusively.
 */
extern void genie_space_survey(Relation index, const GenieMetaData *meta, const uint8 *reachable,
							   BlockNumber n_blocks, bool collect,
							   BlockNumber *n_lost, BlockNumber *n_free);

#endif							/* GENIE_SPACE_H */

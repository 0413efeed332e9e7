/*
 * genie_wal.h
 *	  The only writer of pages.
 *
 * Four ways, each crash-safe on its own, and one for what a crash may take:
 *
 *	changes		genie_wal_begin, genie_wal_register for up to four exclusively locked buffers,
 *				edit the images it returns, genie_wal_commit: one Generic WAL record, so all
 *				of the pages change or none.  (For unlogged and temporary relations Generic
 *				WAL only copies the images back.)
 *	append		genie_wal_append: the same for bytes behind one page's payload, at the cost of those bytes
 *	build		the same calls with build = true edit the buffers themselves and log nothing.
 *				No other process can see the relation, and genie_wal_log_build logs every page
 *				at the end.
 *	init fork	genie_wal_write_init_fork logs and syncs the one page of an unlogged index's init
 *				fork unconditionally, because Generic WAL would write nothing for it.
 *	hints		genie_wal_mark_hint
 *
 * Every page that is written gets its checksum here (genie_page.h), and a page that is changed is verified before.  An
 * append goes on from the page's checksum instead, so that a wrong one stays wrong.
 *
 * If an ERROR comes between register and commit, the images go with the memory and the pages do not change.  In a
 * build, the relation goes.
 */
#ifndef GENIE_WAL_H
#define GENIE_WAL_H

#include "access/generic_xlog.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct GenieWal
{
	Relation	relation;
	GenericXLogState *state;	/* NULL in a build */
	int			n;
	Buffer		buffers[MAX_GENERIC_XLOG_PAGES];
	Page		pages[MAX_GENERIC_XLOG_PAGES];	/* what is edited */
} GenieWal;

extern void genie_wal_begin(GenieWal *wal, Relation relation, bool build);

/*
 * The page image to edit.  fresh: the page is written anew as a whole (a full image is logged);
 * call genie_page_init on it.  Otherwise ERRCODE_INDEX_CORRUPTED if it is damaged.  The buffer must be locked
 * exclusively.
 */
extern Page genie_wal_register(GenieWal *wal, Buffer buffer, bool fresh);

/* Applies and logs the changes.  The caller keeps locks and pins. */
extern void genie_wal_commit(GenieWal *wal);

/* Commits, then unlocks and releases all registered buffers. */
extern void genie_wal_commit_release(GenieWal *wal);

/* Discards the changes: no page has changed. */
extern void genie_wal_abort(GenieWal *wal);

/*
 * Appends bytes, of two pieces, to the payload of a page of genie that has room for them, and logs it.  The buffer
 * must be locked exclusively; the caller keeps lock and pin.
 */
extern void genie_wal_append(Relation relation, Buffer buffer, const void *head, uint16 n_head,
							 const void *tail, uint16 n_tail);

/*
 * The page, which is locked, got hints (genie_hint.h): it is to be written some time, but nothing is logged, except for
 * its image where checksums or wal_log_hints want it.  Nothing on a page with hints may matter.
 */
extern void genie_wal_mark_hint(Buffer buffer);

/* After a build: logs every page of the main fork, if the relation needs it. */
extern void genie_wal_log_build(Relation relation);

/* Writes page as block 0 of the init fork, logged and synced. */
extern void genie_wal_write_init_fork(Relation relation, Page page);

#endif							/* GENIE_WAL_H */

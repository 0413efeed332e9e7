/*
 * genie_meta.h
 *	  The metapage: creating, reading and locking it.
 */
#ifndef GENIE_META_H
#define GENIE_META_H

#include "genie_page.h"
#include "storage/buf.h"
#include "utils/rel.h"

/* Fills a page with the metapage of an empty index. */
extern void genie_meta_init(Page page);

/* The parameters of an approximate operator class, palloc'd; NULL: it is not trained, or there is no such class. */
extern bytea *genie_meta_parameters(const GenieMetaData *meta);

/* Writes the metapage of a new index, block 0 of an empty main fork (unlogged: a build). */
extern void genie_meta_create(Relation index);

/*
 * A palloc'd copy of the metapage, all of one moment.  ERRCODE_INDEX_CORRUPTED where block 0 is
 * no metapage of ours, ERRCODE_FEATURE_NOT_SUPPORTED for a newer format, both with the
 * HINT to REINDEX.
 */
extern GenieMetaData *genie_meta_read(Relation index);

/*
 * The same for a reader that begins, or begins again because a page that the metapage of segment_version led to was
 * another owner's by then (stale).  A metapage that still has that version has a damaged page, which is an error.
 */
extern GenieMetaData *genie_meta_read_again(Relation index, bool stale, uint64 segment_version);

/* The pending list's tail; the same errors.  For inserts, which need nothing else. */
extern BlockNumber genie_meta_pending_tail(Relation index);

/* The metapage, exclusively locked and pinned; release with UnlockReleaseBuffer. */
extern Buffer genie_meta_lock(Relation index);

/* the contents of a metapage or of its WAL image */
extern GenieMetaData *genie_meta_of(Page page);

/* Takes a new stamp from the counter, in a record of its own. */
extern uint64 genie_meta_new_stamp(Relation index, bool build);

/*
 * ambulkdelete is done: raises the tombstone version and stores each segment's number of dead
 * objects. n_dead goes with meta's segment list (unchanged since: the merge lock is held).
 */
extern void genie_meta_publish_tombstones(Relation index, const GenieMetaData *meta, const uint32 *n_dead);

#endif							/* GENIE_META_H */

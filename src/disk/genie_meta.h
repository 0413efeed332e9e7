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
extern void genie_meta_init(Page page, const GenieTypeState *types);

/* Writes the metapage of a new index, block 0 of an empty main fork; logs nothing, because a build does. */
extern void genie_meta_create(Relation index, const GenieTypeState *types);

/*
 * A palloc'd copy of the metapage, all of one moment.  ERRCODE_INDEX_CORRUPTED if block 0 is
 * no metapage of genie, ERRCODE_FEATURE_NOT_SUPPORTED for another format, both with the
 * HINT to REINDEX.
 */
extern GenieMetaData *genie_meta_read(Relation index);

/*
 * The same for a reader that begins, or that begins again (stale) because a page of the metapage with segment_version
 * had another owner by then.  If the metapage still has that version, the page is damaged, which is an error.
 */
extern GenieMetaData *genie_meta_read_again(Relation index, bool stale, uint64 segment_version);

/* The pending list's tail, and the size of raw objects; the same errors.  For inserts, which need nothing else. */
extern BlockNumber genie_meta_pending_tail(Relation index, uint32 *raw_size);

/* Decides the size of raw objects, unless it is decided, in a record of its own. */
extern void genie_meta_decide_raw_size(Relation index, uint32 raw_size);

/* The metapage, exclusively locked and pinned; release with UnlockReleaseBuffer. */
extern Buffer genie_meta_lock(Relation index);

/* The contents of a metapage or of its WAL image. */
extern GenieMetaData *genie_meta_of(Page page);

/* Writes down whether the parameters of an approximate class fit the rows. */
extern void genie_meta_set_misfit(Relation index, bool misfit);

/* Takes a new stamp from the counter, in a record of its own. */
extern uint64 genie_meta_new_stamp(Relation index, bool build);

/*
 * ambulkdelete is done: raises the tombstone version and stores each segment's number of dead
 * objects.  n_dead goes with meta's segment list, which has not changed since, because the merge lock is held.
 */
extern void genie_meta_publish_tombstones(Relation index, const GenieMetaData *meta, const uint32 *n_dead);

#endif							/* GENIE_META_H */

/*
 * genie_eviction.h
 *	  Room for images: a load's memory, and which images go for it, or because nobody will ask for them.
 */
#ifndef GENIE_EVICTION_H
#define GENIE_EVICTION_H

#include "genie_directory.h"

/*
 * Allocates n pieces of so many bytes for a LOADING entry, pieces[i] at at[i], evicting what is in the way.  Images of
 * indexes that are gone go first, then the least recently used.  Images of the same index stay, and, as evict
 * says, those that were used a moment ago, or all; but quantized vectors go for any image.  Quantized vectors
 * themselves evict only quantized vectors.  full_go: the image is of a small form, and full ones of the same index may
 * go, too: they come back in a small form.  False: there is not enough, and nothing is evicted; or what may be evicted
 * is in pieces that are too small.  The memory is the entry's and goes with it.
 */
extern bool genie_eviction_allocate(const GenieImageRef *ref, const uint64 *pieces, uint32 n, void **at,
									GenieEvict evict, bool full_go);

/* Gives one of an entry's pieces back. */
extern void genie_eviction_give_back(const GenieImageRef *ref, void *at, uint64 bytes);

/*
 * Takes so many bytes of devices' room for a LOADING entry that shall be there alone, evicting others of these as
 * above.  They are the entry's and go with it.  False: there is not enough, and nothing is evicted.
 */
extern bool genie_eviction_allocate_on_device(const GenieImageRef *ref, uint64 bytes, GenieEvict evict);

/* The bytes of the arena that a piece takes. */
extern uint64 genie_eviction_piece_bytes(uint64 bytes);

/*
 * Drops images of indexes whose file is gone or empty: they were dropped, rebuilt or truncated, or their creation was
 * rolled back; on a standby, when replay gets there.  Looks at the files of all entries.
 */
extern void genie_eviction_sweep(void);

/*
 * Drops images of an index (the key's, whatever its stamp) that are neither in the list of stamps nor newer than
 * the list: below is the first stamp that no segment of the list can have.
 */
extern void genie_eviction_drop_replaced(const GenieImageKey *key, const uint64 *stamps, uint32 n, uint64 below);

#endif							/* GENIE_EVICTION_H */

/*
 * genie_offload.h
 *	  Work that a backend gives to the worker's GPU, beside counting: for exact search, which rows of a panel may be
 *	  near to which queries; for hashing, the codes of many vectors; for images on devices alone, copying their groups.
 *
 * Only a GPU gets it: on the CPU the backend is as fast as the worker would be, and need not bring anything to it.  If
 * it is not done, the backend does it itself (genie_knn.h, genie_lsh.h), with the same answer; but for images, of which
 * there is none then.
 */
#ifndef GENIE_OFFLOAD_H
#define GENIE_OFFLOAD_H

#include "genie_hashing.h"
#include "genie_instrument.h"
#include "genie_nearest.h"
#include "genie_stat.h"

/* Is there a worker with a GPU, and may this session ask it?  The instrument, unless NULL, learns why not. */
extern bool genie_offload_is_possible(const GenieInstrument *instrument);

/* The input and the answer have at most so many bytes together, because other backends share the memory. */
extern Size genie_offload_bytes(void);

/*
 * Exact search.  GENIE_FALLBACK_NONE: *n_pairs is how many pairs there are; pairs has all of them, or, if there are
 * more than room, any `room`.  Else it was not done.  It waits for the worker; an ERROR may end the wait.
 */
extern GenieFallback genie_offload_nearest(const GenieNearest *nearest, GeniePair *pairs, uint32 room, uint32 *n_pairs,
										   const GenieInstrument *instrument);

/* Hashing: for each vector a code of each function. */
extern GenieFallback genie_offload_hash(const GenieHashing *hashing, int32 *codes);

/* The library is loaded: loads of images know how to have groups copied (images/genie_image_load.h). */
extern void genie_offload_init(void);

#endif							/* GENIE_OFFLOAD_H */

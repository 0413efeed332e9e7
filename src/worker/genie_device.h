/*
 * genie_device.h
 *	  What the worker's GPU is asked besides counting: exact search, which rows of a panel may be near to which queries;
 *	  and hashing, the codes of many vectors.
 *
 * Only a GPU is asked: a backend does these on the CPU as fast as the worker would, without bringing anything to it.
 * What is not done the backend does itself, by genie_knn.h and genie_lsh.h, with the same answer.
 */
#ifndef GENIE_DEVICE_H
#define GENIE_DEVICE_H

#include "genie_hashing.h"
#include "genie_nearest.h"
#include "genie_stat.h"

/* Is there a worker with a GPU, and is it to be asked? */
extern bool genie_device_is_possible(void);

/* Bytes of what is brought and of the answer together at most, for memory is shared with other backends. */
extern Size genie_device_bytes(void);

/*
 * Asks; an ERROR may leave it, as any wait.  GENIE_FALLBACK_NONE: *n_pairs is how many pairs there are, of which
 * pairs has all, or, if there are more, any `room`.  Else it was not done.
 */
extern GenieFallback genie_device_nearest(const GenieNearest *nearest, GeniePair *pairs, uint32 room, uint32 *n_pairs);

/* The same for codes: of each vector n_functions. */
extern GenieFallback genie_device_hash(const GenieHashing *hashing, int32 *codes);

#endif							/* GENIE_DEVICE_H */

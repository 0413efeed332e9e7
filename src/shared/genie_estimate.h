/*
 * genie_estimate.h
 *	  Exact search: which rows of a panel may be near to which queries, asked of the worker's GPU.
 *
 * Only a GPU is asked: a backend estimates on the CPU as fast as the worker would, without bringing rows to it.  What
 * is not done the backend does itself, by genie_knn.h, with the same answer.
 */
#ifndef GENIE_ESTIMATE_H
#define GENIE_ESTIMATE_H

#include "genie_nearest.h"
#include "genie_stat.h"

/* Is there a worker with a GPU, and is it to be asked? */
extern bool genie_estimate_is_possible(void);

/* Bytes of queries, rows and pairs that are asked for together at most, for memory is shared with other backends. */
extern Size genie_estimate_bytes(void);

/*
 * Asks; an ERROR may leave it, as any wait.  GENIE_FALLBACK_NONE: *n_pairs is how many pairs there are, of which
 * pairs has all, or, if there are more, any `room`.  Else it was not done.
 */
extern GenieFallback genie_estimate_run(const GenieNearest *nearest, GeniePair *pairs, uint32 room, uint32 *n_pairs);

#endif							/* GENIE_ESTIMATE_H */

/*
 * genie_topk.h
 *	  The best k objects of one query: bounded, deterministic, resumable.
 *
 * Objects are offered in ascending object order and ranked by (key descending, object ascending).  The buffer holds at
 * most capacity = max(2k, k + GENIE_TOPK_SLACK) hits.  When it is full, it is compacted to the best k, and the k-th
 * key becomes the bound T: an object offered later is wanted only if its key is greater than T, because k earlier
 * objects have key >= T and win every tie.  So a million ties cost nothing but their rejection, and the answer is
 * exact.  A caller that knows of k objects elsewhere that have at least some key may raise the floor to that key; the
 * floor never falls.
 *
 * min_key: objects of a smaller key are never returned.
 * after: continue after the cursor (key, object): only objects that rank below it are returned.
 */
#ifndef GENIE_TOPK_H
#define GENIE_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "genie_hit.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_TOPK_SLACK 1024
#define GENIE_TOPK_K_MAX (1u << 30)

typedef struct GenieTopK
{
	uint32_t	k;
	uint32_t	min_key;		/* at least 1 */
	bool		has_after;
	GenieHit	after;
	uint32_t	floor;			/* keys below this are not wanted: max(min_key, T + 1 once k are known) */
	uint32_t	capacity;
	uint32_t	n;
	GenieHit   *hits;			/* the caller's memory, capacity entries */
} GenieTopK;

/* entries that hits must have room for */
extern uint32_t genie_topk_capacity(uint32_t k);

extern void genie_topk_init(GenieTopK *top, GenieHit *hits, uint32_t k, uint32_t min_key,
							const GenieHit *after);

extern void genie_topk_compact(GenieTopK *top);

static inline void
genie_topk_offer(GenieTopK *top, uint32_t key, uint32_t object)
{
	if (key < top->floor)
		return;
	if (top->has_after &&
		(key > top->after.key || (key == top->after.key && object <= top->after.object)))
		return;
	top->hits[top->n].key = key;
	top->hits[top->n].object = object;
	if (++top->n == top->capacity)
		genie_topk_compact(top);
}

/* Sorts the best k by (key desc, object asc) to the front; returns how many there are (<= k). */
extern uint32_t genie_topk_finish(GenieTopK *top);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_TOPK_H */

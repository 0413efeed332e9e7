/*
 * genie_cpu_floor.h
 *	  The floor that the parts of a job share: a key below which no part wants an object.
 *
 * Once k objects are known to have at least some key, no smaller key is among the best k, in whatever part.  (The same
 * key may be: such an object may lie before these.)  Parts learn it in two ways:
 *
 * 1.	A part's top-k is compacted: then it alone has k objects with at least its floor less one.
 * 2.	The parts count what they find in one histogram by key, each object once; k of all of them together are enough.
 *		So parts learn as fast together as one that counts all objects, and cutting a job into parts costs little.  This
 *		is for bit lanes, which take objects out one by one.
 *
 * A floor only spares work; a part that learns it late does more.  Any thread may call these functions at any time.
 */
#ifndef GENIE_CPU_FLOOR_H
#define GENIE_CPU_FLOOR_H

#include "genie_topk.h"

/* keys of a histogram; the last one stands for larger ones too, so way 2 gives no larger floor */
#define GENIE_CPU_FLOOR_KEYS 256

typedef struct GenieCpuFloor
{
	uint32_t	key;			/* atomic, only rises: smaller ones are not wanted */
	uint32_t	n_keys;			/* of the histogram; 0: there is none */
	uint32_t   *n_found;		/* atomic: objects of each key; of the last one and larger ones */
} GenieCpuFloor;

/* Keeps a histogram in GENIE_CPU_FLOOR_KEYS zeros; keys are most likely no larger than max_key. */
static inline void
genie_cpu_floor_count(GenieCpuFloor *shared, uint32_t max_key, uint32_t *zeros)
{
	shared->n_keys = max_key < GENIE_CPU_FLOOR_KEYS ? max_key + 1 : GENIE_CPU_FLOOR_KEYS;
	shared->n_found = zeros;
}

/* Raises the top-k's floor to the shared one. */
extern void genie_cpu_floor_take(const GenieCpuFloor *shared, GenieTopK *top);

/* Raises the shared floor by what the top-k knows, and counts its objects from first on, which were not told before. */
extern void genie_cpu_floor_tell(GenieCpuFloor *shared, const GenieTopK *top, uint32_t first);

#endif							/* GENIE_CPU_FLOOR_H */

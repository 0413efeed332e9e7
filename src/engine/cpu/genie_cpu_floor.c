/*
 * genie_cpu_floor.c
 *	  The floor that the parts of a job share (genie_cpu_floor.h).
 */
#include "genie_cpu_floor.h"

void
genie_cpu_floor_take(const GenieCpuFloor *shared, GenieTopK *top)
{
	uint32_t	key = __atomic_load_n(&shared->key, __ATOMIC_RELAXED);

	if (top->floor < key)
		top->floor = key;
}

static void
raise(GenieCpuFloor *shared, uint32_t key)
{
	uint32_t	known = __atomic_load_n(&shared->key, __ATOMIC_RELAXED);

	while (key > known &&
		   !__atomic_compare_exchange_n(&shared->key, &known, key, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* The largest key that k of the objects counted have at least; 0: there is none above what is known. */
static uint32_t
kth_found(const GenieCpuFloor *shared, uint32_t k)
{
	uint32_t	known = __atomic_load_n(&shared->key, __ATOMIC_RELAXED);
	uint32_t	n = 0;

	for (uint32_t key = shared->n_keys - 1; key > known; key--)
	{
		n += __atomic_load_n(&shared->n_found[key], __ATOMIC_RELAXED);
		if (n >= k)
			return key;
	}
	return 0;
}

void
genie_cpu_floor_tell(GenieCpuFloor *shared, const GenieTopK *top, uint32_t first)
{
	uint32_t	i = top->n;

	raise(shared, top->floor - 1);
	if (shared->n_keys == 0)
		return;
	for (; i > 0 && top->hits[i - 1].object >= first; i--)
	{
		uint32_t	key = top->hits[i - 1].key;

		key = key < shared->n_keys ? key : shared->n_keys - 1;
		__atomic_fetch_add(&shared->n_found[key], 1, __ATOMIC_RELAXED);
	}
	if (i < top->n)
		raise(shared, kth_found(shared, top->k));
}

/*
 * genie_cuda_slots.cuh
 *	  A hash table of a tile's objects and how often each was counted, in shared memory.
 *
 * Open addressing in a power of two of slots.  The caller empties the slots first and never fills more than half of
 * them: a fuller table is slow, and a full one hangs.  A slot is local << 16 | count.  No object is counted 65,535
 * times, so no such slot looks empty.
 */
#ifndef GENIE_CUDA_SLOTS_CUH
#define GENIE_CUDA_SLOTS_CUH

#include <cstdint>

constexpr uint32_t GENIE_CUDA_SLOT_EMPTY = UINT32_MAX;
constexpr uint32_t GENIE_CUDA_SLOT_COUNT = 0xFFFF;

/* The slot where an object's search begins. */
static __device__ __forceinline__ uint32_t
genie_cuda_slot_of(uint32_t local, uint32_t n_slots)
{
	/* a multiplicative hash: the golden ratio spreads neighbours */
	return __umulhi(local * 0x9E3779B1u, n_slots);
}

/* Counts an object once more. */
static __device__ __forceinline__ void
genie_cuda_slots_count(uint32_t *slots, uint32_t n_slots, uint32_t local)
{
	for (uint32_t slot = genie_cuda_slot_of(local, n_slots);; slot = (slot + 1) & (n_slots - 1))
	{
		const uint32_t old = atomicCAS(&slots[slot], GENIE_CUDA_SLOT_EMPTY, local << 16 | 1);

		if (old == GENIE_CUDA_SLOT_EMPTY)
			return;
		if (old >> 16 == local)
		{
			atomicAdd(&slots[slot], 1);
			return;
		}
	}
}

/* Was an object counted? */
static __device__ __forceinline__ bool
genie_cuda_slots_have(const uint32_t *slots, uint32_t n_slots, uint32_t local)
{
	for (uint32_t slot = genie_cuda_slot_of(local, n_slots); slots[slot] != GENIE_CUDA_SLOT_EMPTY;
		 slot = (slot + 1) & (n_slots - 1))
		if (slots[slot] >> 16 == local)
			return true;
	return false;
}

#endif							/* GENIE_CUDA_SLOTS_CUH */

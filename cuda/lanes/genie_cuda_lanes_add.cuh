/*
 * genie_cuda_lanes_add.cuh
 *	  Bit lanes: looking codes up in the table, and adding their entries.
 *
 * A thread's sums are *planes*: bit q of word w of plane b is bit b of the count of query 32 * w + q.  Up to sixteen
 * entries at a time go through a tree of carry-save adders (two three-input logic operations a word), so only every
 * sixteenth entry has a carry into the higher planes.
 *
 * An address is the dot product of a word of codes with a mask, plus the slot.  The mask has the bytes of a row at the
 * wanted code and 0 elsewhere.  That is one instruction a load, of a kind that does not compete with the adders.
 */
#ifndef GENIE_CUDA_LANES_ADD_CUH
#define GENIE_CUDA_LANES_ADD_CUH

#include "genie_cuda_lanes_types.cuh"
#include "genie_cuda_planes.cuh"
#include "genie_cuda_scan.cuh"

extern __shared__ uint4 genie_cuda_memory[];

/* An entry of the table, or a sum of entries. */
struct GenieCudaLaneEntry
{
	uint32_t	word[GENIE_CUDA_LANE_WORDS];
};

template <int PLANES>
struct GenieCudaLanePlanes
{
	GenieCudaLaneEntry plane[PLANES];
};

/* What a thread needs to know of its place among the eight that load together. */
struct GenieCudaLaneThread
{
	uint32_t	slots[GENIE_CUDA_LANE_SLOTS];	/* for each step, the address of its slot in row 0 */
	uint32_t	bytes[4];		/* masks: the byte of a word that is used at each step */
	uint32_t	halves[2];		/* the half of a word */
	uint32_t	nibbles[2];		/* shifts: which 4-bit codes of a word's bytes come first, and then */
};

/* Keeps a value in a register.  Otherwise the compiler computes it again each time. */
__device__ __forceinline__ void
genie_cuda_lane_keep(uint32_t &value)
{
	asm volatile("" : "+r"(value));
}

__device__ __forceinline__ GenieCudaLaneThread
genie_cuda_lane_thread()
{
	const uint32_t table = (uint32_t) __cvta_generic_to_shared(genie_cuda_memory);
	const uint32_t number = genie_cuda_thread();
	GenieCudaLaneThread thread;

#pragma unroll
	for (uint32_t s = 0; s < GENIE_CUDA_LANE_SLOTS; s++)
	{
		thread.slots[s] = table + (s ^ (number % GENIE_CUDA_LANE_SLOTS)) * GENIE_CUDA_LANE_ENTRY;
		genie_cuda_lane_keep(thread.slots[s]);
	}
#pragma unroll
	for (uint32_t s = 0; s < 4; s++)
	{
		thread.bytes[s] = GENIE_CUDA_LANE_ROW << (8 * (s ^ (number % 4)));
		genie_cuda_lane_keep(thread.bytes[s]);
	}
#pragma unroll
	for (uint32_t s = 0; s < 2; s++)
	{
		thread.halves[s] = GENIE_CUDA_LANE_ROW << (8 * (s ^ (number % 2)));
		thread.nibbles[s] = 4 * (s ^ (number / 4 % 2));
	}
	return thread;
}

__device__ __forceinline__ GenieCudaLaneEntry
genie_cuda_lane_entry(uint32_t address)
{
	GenieCudaLaneEntry entry;

#ifndef GENIE_CUDA_EMULATED
	asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
				 : "=r"(entry.word[0]), "=r"(entry.word[1]), "=r"(entry.word[2]), "=r"(entry.word[3])
				 : "r"(address));
#else
	entry = *(const GenieCudaLaneEntry *) ((const uint8_t *) genie_cuda_memory + address);
#endif
	return entry;
}

__device__ __forceinline__ uint32_t
genie_cuda_lane_any(const GenieCudaLaneEntry &entry)
{
	return entry.word[0] | entry.word[1] | entry.word[2] | entry.word[3];
}

/* Adds a and b to the plane; returns the carry. */
__device__ __forceinline__ GenieCudaLaneEntry
genie_cuda_lane_add3(GenieCudaLaneEntry &plane, const GenieCudaLaneEntry &a, const GenieCudaLaneEntry &b)
{
	GenieCudaLaneEntry carry;

#pragma unroll
	for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		genie_cuda_add3(a.word[w], b.word[w], plane.word[w], plane.word[w], carry.word[w]);
	return carry;
}

/* Adds a carry of weight 2^B. */
template <int B, int PLANES>
__device__ __forceinline__ void
genie_cuda_lane_carry(GenieCudaLanePlanes<PLANES> &planes, const GenieCudaLaneEntry &carry)
{
	if constexpr (B < PLANES)
	{
		GenieCudaLaneEntry next;

		if (B >= GENIE_CUDA_LANE_RARE && genie_cuda_lane_any(carry) == 0)
			return;
#pragma unroll
		for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		{
			next.word[w] = planes.plane[B].word[w] & carry.word[w];
			planes.plane[B].word[w] ^= carry.word[w];
		}
		genie_cuda_lane_carry<B + 1>(planes, next);
	}
}

/* Adds 2 << LOG2 entries, entry(first) and so on; returns the carry of weight 2 << LOG2. */
template <int LOG2, int PLANES, class ENTRY>
__device__ __forceinline__ GenieCudaLaneEntry
genie_cuda_lane_tree(GenieCudaLanePlanes<PLANES> &planes, const ENTRY &entry, int first)
{
	if constexpr (LOG2 == 0)
		return genie_cuda_lane_add3(planes.plane[0], entry(first), entry(first + 1));
	else
	{
		const GenieCudaLaneEntry a = genie_cuda_lane_tree<LOG2 - 1, PLANES>(planes, entry, first);
		const GenieCudaLaneEntry b = genie_cuda_lane_tree<LOG2 - 1, PLANES>(planes, entry, first + (1 << LOG2));

		return genie_cuda_lane_add3(planes.plane[LOG2], a, b);
	}
}

/* Adds STEPS entries, a power of two from 2 on. */
template <int STEPS, int PLANES, class ENTRY>
__device__ __forceinline__ void
genie_cuda_lane_add(GenieCudaLanePlanes<PLANES> &planes, const ENTRY &entry)
{
	constexpr int LOG2 = STEPS >= 16 ? 3 : STEPS == 8 ? 2 : STEPS == 4 ? 1 : 0;

#pragma unroll
	for (int first = 0; first < STEPS; first += 2 << LOG2)
		genie_cuda_lane_carry<LOG2 + 1>(planes, genie_cuda_lane_tree<LOG2, PLANES>(planes, entry, first));
}

/* Adds the entries of an object's codes in a row of a strip, whose groups are at table in shared memory. */
template <int WIDTH, int WORDS, int PLANES>
__device__ __forceinline__ void
genie_cuda_lane_strip(GenieCudaLanePlanes<PLANES> &planes, const GenieCudaLaneThread &thread, const uint4 &codes,
					  uint32_t table, uint32_t group_bytes)
{
	constexpr int EACH = 32 / WIDTH;	/* codes of a word */
	const uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};

	genie_cuda_lane_add<WORDS * EACH>(planes, [&](int step) {
		const uint32_t word = words[step / EACH];
		const uint32_t slot = thread.slots[step % GENIE_CUDA_LANE_SLOTS];
		const uint32_t group = table + (uint32_t) (step / GENIE_CUDA_LANE_SLOTS) * group_bytes;
		uint32_t	row;

		if constexpr (WIDTH == 16)
			row = __dp2a_lo(word, thread.halves[step % 2], slot);
		else if constexpr (WIDTH == 8)
			row = __dp4a(word, thread.bytes[step % 4], slot);
		else
			row = __dp4a(word >> thread.nibbles[step / 4 % 2] & 0x0F0F0F0Fu, thread.bytes[step % 4], slot);
		return genie_cuda_lane_entry(group + row);
	});
}

#endif							/* GENIE_CUDA_LANES_ADD_CUH */

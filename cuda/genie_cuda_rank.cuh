/*
 * genie_cuda_rank.cuh
 *	  The keys of a piece's objects: their counts, or entries of a key table.
 *
 * Counters are looked at a *unit* at a time: 16 bytes, 128 / BITS objects.  A ranking tells which objects of a unit
 * have a key of at least some value, and what the key of one of them is.
 */
#ifndef GENIE_CUDA_RANK_CUH
#define GENIE_CUDA_RANK_CUH

#include "genie_cuda_piece.cuh"

/* The mask's bits of a unit are one integer. */
template <int BITS> struct GenieCudaUnit;
template <> struct GenieCudaUnit<4>
{
	typedef uint32_t Mask;
};
template <> struct GenieCudaUnit<8>
{
	typedef uint16_t Mask;
};
template <> struct GenieCudaUnit<16>
{
	typedef uint8_t Mask;
};

template <int BITS>
constexpr uint32_t GENIE_CUDA_UNIT = 128 / BITS;

/* the highest bit of each counter in a word */
template <int BITS>
constexpr uint32_t GENIE_CUDA_HIGH = BITS == 4 ? 0x88888888u : BITS == 8 ? 0x80808080u : 0x80008000u;

/* 1 in each counter of a word */
template <int BITS>
constexpr uint32_t GENIE_CUDA_ONES = GENIE_CUDA_HIGH<BITS> >> (BITS - 1);

/*
 * The high bit of each counter is set where counter + addend >= 2^BITS: the carry out of the sum, taken from the
 * average of the two, which cannot overflow.  With addend = 2^BITS - key in every counter: where counter >= key, for
 * key 1 .. 2^BITS.
 */
template <int BITS>
__device__ __forceinline__ uint32_t
genie_cuda_carries(uint32_t counters, uint32_t addend)
{
	return ((counters & addend) + (((counters ^ addend) >> 1) & ~GENIE_CUDA_HIGH<BITS>)) & GENIE_CUDA_HIGH<BITS>;
}

/* Moves the high bits of a word's counters together: bit i is counter i's. */
template <int BITS>
__device__ __forceinline__ uint32_t
genie_cuda_gather_bits(uint32_t high_bits)
{
	if constexpr (BITS == 4)
	{
		uint32_t	bits = high_bits >> 3;

		bits = (bits | bits >> 3) & 0x03030303u;
		bits = (bits | bits >> 6) & 0x000F000Fu;
		return (bits | bits >> 12) & 0xFFu;
	}
	else if constexpr (BITS == 8)
		return ((high_bits >> 7) * 0x10204080u) >> 28;
	else
		return (high_bits >> 15 & 1) | (high_bits >> 30 & 2);
}

template <int BITS>
__device__ __forceinline__ uint32_t
genie_cuda_counter(const uint32_t *counters, uint32_t object)
{
	const uint32_t word = counters[object / (32 / BITS)];

	return __funnelshift_r(word, 0, object * BITS) & ((1u << BITS) - 1);
}

/* The key is the count. */
template <int BITS>
class GenieCudaByCount
{
public:
	/* looking at counters is cheaper than at the mask, which is in global memory */
	static constexpr bool MASK_FIRST = false;

	__device__ __forceinline__
	GenieCudaByCount(const GenieCudaPiece &, const uint32_t *counters_) : counters(counters_) {}

	__device__ __forceinline__ uint32_t
	key(uint32_t object) const
	{
		return genie_cuda_counter<BITS>(counters, object);
	}

	/* Which of the objects within of a unit have a key >= key >= 1? */
	__device__ __forceinline__ uint32_t
	at_least(uint32_t unit, uint32_t key, uint32_t within) const
	{
		const uint4 words = ((const uint4 *) counters)[unit];
		const uint32_t addend = ((1u << BITS) - min(key, 1u << BITS)) * GENIE_CUDA_ONES<BITS>;
		const uint32_t x = genie_cuda_carries<BITS>(words.x, addend);
		const uint32_t y = genie_cuda_carries<BITS>(words.y, addend);
		const uint32_t z = genie_cuda_carries<BITS>(words.z, addend);
		const uint32_t w = genie_cuda_carries<BITS>(words.w, addend);
		constexpr int WORD = 32 / BITS;

		if ((x | y | z | w) == 0)
			return 0;
		return within & (genie_cuda_gather_bits<BITS>(x) | genie_cuda_gather_bits<BITS>(y) << WORD |
						 genie_cuda_gather_bits<BITS>(z) << 2 * WORD | genie_cuda_gather_bits<BITS>(w) << 3 * WORD);
	}

private:
	const uint32_t *counters;
};

/* The key is keys[class of the object's size][count]. */
template <int BITS>
class GenieCudaByTable
{
public:
	/* objects past the segment's end have no size */
	static constexpr bool MASK_FIRST = true;

	__device__ __forceinline__
	GenieCudaByTable(const GenieCudaPiece &piece, const uint32_t *counters_) : counters(counters_), query(piece.query),
		sizes(piece.tile->base + piece.tile->tile.sizes + piece.first * piece.tile->size_width),
		size_width((uint32_t) piece.tile->size_width) {}

	__device__ __forceinline__ uint32_t
	key(uint32_t object) const
	{
		uint32_t	size = 0;

		if (size_width == 1)
			size = sizes[object];
		else if (size_width == 2)
			size = ((const uint16_t *) sizes)[object];
		return query->keys[(size_t) query->class_of_size[size] * (query->max_count + 1) +
						   genie_cuda_counter<BITS>(counters, object)];
	}

	__device__ __forceinline__ uint32_t
	at_least(uint32_t unit, uint32_t least, uint32_t within) const
	{
		uint32_t	wanted = 0;

		for (uint32_t left = within; left != 0; left &= left - 1)
		{
			const uint32_t bit = __ffs((int) left) - 1;

			if (key(unit * GENIE_CUDA_UNIT<BITS> + bit) >= least)
				wanted |= 1u << bit;
		}
		return wanted;
	}

private:
	const uint32_t *counters;
	const GenieCudaQuery *query;
	const uint8_t *sizes;
	const uint32_t size_width;
};

#endif							/* GENIE_CUDA_RANK_CUH */

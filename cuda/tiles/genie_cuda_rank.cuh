/*
 * genie_cuda_rank.cuh
 *	  The keys of a piece's objects: their counts, or entries of a key table.
 *
 * Counters are looked at a *unit* at a time: 16 bytes, 128 / BITS objects.  A ranking tells which objects of a unit
 * have a key of at least some value, and what the key of one of them is.
 *
 * By key table.  Keys never decrease with the count, so for each size a threshold of keys is a smallest count.  The
 * smallest of all sizes is the piece's *floor*: where not even that many lists are found, nothing is counted, and
 * units are first compared with it as they are when ranked by count.  Only objects that reach it are looked at by
 * themselves, with their size, whose smallest count is in shared memory; there are keys to be read only of what is
 * wanted.  Where sizes are too many for that, their classes give the floor, and where these are too many it is 0.
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

/* Which objects of a unit have a count of at least count >= 1? */
template <int BITS>
__device__ __forceinline__ uint32_t
genie_cuda_reached(const uint32_t *counters, uint32_t unit, uint32_t count)
{
	const uint4 words = ((const uint4 *) counters)[unit];
	const uint32_t addend = ((1u << BITS) - min(count, 1u << BITS)) * GENIE_CUDA_ONES<BITS>;
	const uint32_t x = genie_cuda_carries<BITS>(words.x, addend);
	const uint32_t y = genie_cuda_carries<BITS>(words.y, addend);
	const uint32_t z = genie_cuda_carries<BITS>(words.z, addend);
	const uint32_t w = genie_cuda_carries<BITS>(words.w, addend);
	constexpr int WORD = 32 / BITS;

	if ((x | y | z | w) == 0)
		return 0;
	return genie_cuda_gather_bits<BITS>(x) | genie_cuda_gather_bits<BITS>(y) << WORD |
		genie_cuda_gather_bits<BITS>(z) << 2 * WORD | genie_cuda_gather_bits<BITS>(w) << 3 * WORD;
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

	__device__ __forceinline__ explicit
	GenieCudaByCount(const uint32_t *counters_) : counters(counters_) {}

	template <int THREADS>
	__device__ __forceinline__
	GenieCudaByCount(const GenieCudaPiece &, const uint32_t *counters_, const GenieCudaShared<THREADS> &) :
		counters(counters_) {}

	__device__ __forceinline__ uint32_t
	key(uint32_t object) const
	{
		return genie_cuda_counter<BITS>(counters, object);
	}

	/* Which of the objects within of a unit have a key >= key >= 1? */
	__device__ __forceinline__ uint32_t
	at_least(uint32_t unit, uint32_t key, uint32_t within) const
	{
		return within & genie_cuda_reached<BITS>(counters, unit, key);
	}

private:
	const uint32_t *counters;
};

/* Where the smallest counts of sizes are, where there is room for them: the runs are not needed then. */
template <int THREADS>
__device__ __forceinline__ uint16_t *
genie_cuda_least_of_size(GenieCudaShared<THREADS> &shared)
{
	static_assert(GENIE_CUDA_LEAST_MAX<THREADS> * sizeof(uint16_t) <= sizeof(shared.to), "the counts take their place");
	return (uint16_t *) shared.to;
}

/* Are there smallest counts of sizes?  They have 16 bits, and must be able to say that no count is enough. */
template <int THREADS>
__device__ __forceinline__ bool
genie_cuda_has_least(const GenieCudaQuery *query)
{
	return query->n_sizes <= GENIE_CUDA_LEAST_MAX<THREADS> && query->max_count < UINT16_MAX;
}

/* The smallest count of a row of keys whose key is at least key; max_count + 1: none is. */
__device__ __forceinline__ uint32_t
genie_cuda_least_count(const uint32_t *row, uint32_t max_count, uint32_t key)
{
	uint32_t	low = 0;
	uint32_t	high = max_count + 1;

	while (low < high)
	{
		const uint32_t middle = low + (high - low) / 2;

		if (__ldg(row + middle) >= key)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Finds the floor of a threshold of keys, and the smallest count of each size.  All threads call it together, with
 * nothing in the runs that is needed; ends with both visible to all.
 */
template <int BITS, int THREADS>
__device__ __noinline__ void
genie_cuda_find_least(const GenieCudaPiece piece, uint32_t key)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	const GenieCudaQuery *query = piece.query;
	const bool	by_size = genie_cuda_has_least<THREADS>(query);
	const uint32_t n = by_size ? query->n_sizes : query->n_classes;
	uint32_t	floor = UINT32_MAX;

	if (threadIdx.x == 0)
		shared.floor = n <= GENIE_CUDA_LEAST_MAX<THREADS> ? UINT32_MAX : 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n && n <= GENIE_CUDA_LEAST_MAX<THREADS>; i += THREADS)
	{
		const uint32_t row = by_size ? query->class_of_size[i] : i;
		const uint32_t least = genie_cuda_least_count(query->keys + (size_t) row * (query->max_count + 1),
													  query->max_count, key);

		if (by_size)
			genie_cuda_least_of_size<THREADS>(shared)[i] = (uint16_t) least;
		floor = min(floor, least);
	}
	__syncwarp();
#pragma unroll
	for (uint32_t step = GENIE_CUDA_WARP / 2; step > 0; step /= 2)
		floor = min(floor, __shfl_xor_sync(GENIE_CUDA_ALL_LANES, floor, step));
	if (genie_cuda_lane() == 0 && floor != UINT32_MAX)
		atomicMin(&shared.floor, floor);
	__syncthreads();
}

/* The key is keys[class of the object's size][count]; what is found of shared's threshold is known. */
template <int BITS>
class GenieCudaByTable
{
public:
	/* objects past the segment's end have no size */
	static constexpr bool MASK_FIRST = true;

	template <int THREADS>
	__device__ __forceinline__
	GenieCudaByTable(const GenieCudaPiece &piece, const uint32_t *counters_, GenieCudaShared<THREADS> &shared) :
		counters(counters_), query(piece.query),
		sizes(piece.tile->base + piece.tile->tile.sizes + piece.first * piece.tile->size_width),
		size_width((uint32_t) piece.tile->size_width), threshold(shared.threshold), floor(shared.floor),
		least_of_size(genie_cuda_has_least<THREADS>(piece.query) ? genie_cuda_least_of_size<THREADS>(shared) : NULL) {}

	/* Which objects of a unit reach the floor, as far as there are objects? */
	__device__ __forceinline__ uint32_t
	enough(uint32_t unit) const
	{
		return floor == 0 ? ~0u : genie_cuda_reached<BITS>(counters, unit, floor);
	}

	__device__ __forceinline__ uint32_t
	key(uint32_t object) const
	{
		return query->keys[(size_t) query->class_of_size[size_of(object)] * (query->max_count + 1) +
						   genie_cuda_counter<BITS>(counters, object)];
	}

	__device__ __forceinline__ uint32_t
	at_least(uint32_t unit, uint32_t least, uint32_t within) const
	{
		const bool	known = least == threshold && least_of_size != NULL;
		uint32_t	wanted = 0;

		for (uint32_t left = within; left != 0; left &= left - 1)
		{
			const uint32_t bit = __ffs((int) left) - 1;
			const uint32_t object = unit * GENIE_CUDA_UNIT<BITS> + bit;

			if (known ? genie_cuda_counter<BITS>(counters, object) >= least_of_size[size_of(object)] :
				key(object) >= least)
				wanted |= 1u << bit;
		}
		return wanted;
	}

private:
	/* less the segment's smallest size */
	__device__ __forceinline__ uint32_t
	size_of(uint32_t object) const
	{
		if (size_width == 0)
			return 0;
		return size_width == 1 ? sizes[object] : ((const uint16_t *) sizes)[object];
	}

	const uint32_t *counters;
	const GenieCudaQuery *query;
	const uint8_t *sizes;
	const uint32_t size_width;
	const uint32_t threshold;
	const uint32_t floor;
	const uint16_t *least_of_size;	/* NULL: there are too many sizes */
};

#endif							/* GENIE_CUDA_RANK_CUH */

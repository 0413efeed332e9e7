/*
 * genie_cuda_rank.cuh
 *	  The keys of a piece's objects: their counts, or entries of a key table.
 *
 * Counters are looked at a *unit* at a time: 16 bytes, 128 / BITS objects.  A ranking says which objects of a unit have
 * a key of at least some value, and returns the key of one object.
 *
 * By key table.  Keys never decrease with the count, so a threshold of keys is a smallest count for each size.  The
 * smallest of all these is the piece's *floor*.  A piece with fewer lists than the floor is not counted.  Units are
 * first compared with the floor, as quickly as when ranked by count.  Only objects that reach it are looked at one by
 * one, with the smallest count of their size, which is in shared memory.  Keys are read only of wanted objects.  If
 * there are too many sizes for this, their classes give the floor; if there are too many classes, the floor is 0.
 */
#ifndef GENIE_CUDA_RANK_CUH
#define GENIE_CUDA_RANK_CUH

#include "genie_cuda_piece.cuh"

/* The mask bits of a unit, as one integer. */
template <int BITS>
struct GenieCudaUnit;
template <>
struct GenieCudaUnit<4>
{
	typedef uint32_t Mask;
};
template <>
struct GenieCudaUnit<8>
{
	typedef uint16_t Mask;
};
template <>
struct GenieCudaUnit<16>
{
	typedef uint8_t Mask;
};

template <int BITS>
constexpr uint32_t GENIE_CUDA_UNIT = 128 / BITS;

/* the highest bit of each counter in a word */
template <int BITS>
constexpr uint32_t GENIE_CUDA_HIGH = BITS == 4 ? 0x88888888u :
	BITS == 8                                  ? 0x80808080u :
												 0x80008000u;

/* 1 in each counter of a word */
template <int BITS>
constexpr uint32_t GENIE_CUDA_ONES = GENIE_CUDA_HIGH<BITS> >> (BITS - 1);

/*
 * Sets the high bit of each counter with counter + addend >= 2^BITS.  That is the carry out of the sum, taken from the
 * average of the two, which cannot overflow.  With addend = 2^BITS - key in every counter these are the counters >=
 * key, for key 1 .. 2^BITS.
 */
template <int BITS>
__device__ __forceinline__ uint32_t
genie_cuda_carries(uint32_t counters, uint32_t addend)
{
	return ((counters & addend) + (((counters ^ addend) >> 1) & ~GENIE_CUDA_HIGH<BITS>) ) & GENIE_CUDA_HIGH<BITS>;
}

/* Moves the high bits of a word's counters together: bit i becomes that of counter i. */
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

/* The objects of a unit whose count is at least count >= 1. */
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
	/* counters are cheaper to look at than the mask, which is in global memory */
	static constexpr bool MASK_FIRST = false;

	__device__ __forceinline__ explicit GenieCudaByCount(const uint32_t *counters_) : counters(counters_) {}

	template <int THREADS>
	__device__ __forceinline__ GenieCudaByCount(const GenieCudaPiece &, const uint32_t *counters_,
												const GenieCudaShared<THREADS> &) :
		counters(counters_)
	{}

	__device__ __forceinline__ uint32_t key(uint32_t object) const
	{
		return genie_cuda_counter<BITS>(counters, object);
	}

	/* Those of the objects within of a unit whose key is at least key >= 1. */
	__device__ __forceinline__ uint32_t at_least(uint32_t unit, uint32_t key, uint32_t within) const
	{
		return within & genie_cuda_reached<BITS>(counters, unit, key);
	}

private:
	const uint32_t *counters;
};

/* The place of the smallest counts of sizes, if they have room: that of the runs, which are not needed then. */
template <int THREADS>
__device__ __forceinline__ uint16_t *
genie_cuda_least_of_size(GenieCudaShared<THREADS> &shared)
{
	static_assert(GENIE_CUDA_LEAST_MAX<THREADS> * sizeof(uint16_t) <= sizeof(shared.to), "the counts take their place");
	return (uint16_t *) shared.to;
}

/* Are there smallest counts of sizes?  They have 16 bits, one value of which says that no count is enough. */
template <int THREADS>
__device__ __forceinline__ bool
genie_cuda_has_least(const GenieCudaQuery *query)
{
	return query->n_sizes <= GENIE_CUDA_LEAST_MAX<THREADS> && query->max_count < UINT16_MAX;
}

/* The smallest count whose key in the row is at least key; max_count + 1 if there is none. */
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
 * Finds the floor of a threshold of keys, and the smallest count of each size.  All threads call it together, when the
 * runs are not needed.  Ends with both visible to all.
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
		floor = min(floor, __shfl_xor_sync(GENIE_CUDA_WHOLE_WARP, floor, step));
	if (genie_cuda_thread() == 0 && floor != UINT32_MAX)
		atomicMin(&shared.floor, floor);
	__syncthreads();
}

/* The key is keys[class of the object's size][count].  genie_cuda_find_least() was called for shared's threshold. */
template <int BITS>
class GenieCudaByTable
{
public:
	/* objects past the segment's end have no size */
	static constexpr bool MASK_FIRST = true;

	template <int THREADS>
	__device__ __forceinline__ GenieCudaByTable(const GenieCudaPiece &piece, const uint32_t *counters_,
												GenieCudaShared<THREADS> &shared) :
		counters(counters_),
		query(piece.query), sizes(piece.tile->base + piece.tile->tile.sizes + piece.first * piece.tile->size_width),
		size_width(piece.tile->size_width), threshold(shared.threshold), floor(shared.floor),
		least_of_size(genie_cuda_has_least<THREADS>(piece.query) ? genie_cuda_least_of_size<THREADS>(shared) : NULL)
	{}

	/* The objects of a unit that reach the floor; bits past the segment's end may be set, too. */
	__device__ __forceinline__ uint32_t enough(uint32_t unit) const
	{
		return floor == 0 ? ~0u : genie_cuda_reached<BITS>(counters, unit, floor);
	}

	__device__ __forceinline__ uint32_t key(uint32_t object) const
	{
		return query->keys[(size_t) query->class_of_size[size_of(object)] * (query->max_count + 1) +
						   genie_cuda_counter<BITS>(counters, object)];
	}

	__device__ __forceinline__ uint32_t at_least(uint32_t unit, uint32_t least, uint32_t within) const
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
	/* an object's size minus the segment's smallest size */
	__device__ __forceinline__ uint32_t size_of(uint32_t object) const
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

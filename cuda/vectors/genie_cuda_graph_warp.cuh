/*
 * genie_cuda_graph_warp.cuh
 *	  What a warp does with objects of a proximity graph, to search one (genie_cuda_graph_search.cu) and to build one
 *	  (genie_cuda_graph_build.cu): their keys, and a sorted array of the best.
 *
 * Keys.  TEAM lanes have a record, a unit of 16 bytes each, so a warp reads TEAMS records at a time, each in one piece;
 * and it asks for all of them before it uses the first, because it waits for nothing as long as for these.  The sums
 * come to the lane that has the object, and all lanes make keys of them at once.
 *
 * The best.  An array in shared memory, sorted by rank, whose lowest bit is a mark: ranks that differ in it alone are
 * the same object.  What the lanes have is merged into it: each finds its place by a binary search, and elements behind
 * the first place move, the last ones first.
 */
#ifndef GENIE_CUDA_GRAPH_WARP_CUH
#define GENIE_CUDA_GRAPH_WARP_CUH

#include "genie_cuda_value_product.cuh"

constexpr uint32_t WARP = GENIE_CUDA_WARP;
constexpr uint32_t ALL = UINT32_MAX;	/* lanes */
constexpr uint32_t TEAM = 8;
constexpr uint32_t TEAMS = WARP / TEAM;
constexpr uint32_t LOADS = WARP / TEAMS;	/* that a lane has on their way */
constexpr uint32_t TABLE = GENIE_CUDA_GRAPH_TABLE;
constexpr uint64_t MARK = 1;	/* in a rank */

/* Vectors on the device. */
struct Records
{
	const uint8_t *const *tiles;
	uint32_t	n_units;		/* 16 bytes of a record */
	GenieMetric metric;			/* by which a query's keys are made */

	__device__ __forceinline__ const uint4 *of(uint32_t object) const
	{
		return (const uint4 *) tiles[object >> GENIE_TILE_SHIFT] +
			(size_t) (object & (GENIE_TILE_OBJECTS - 1)) * n_units;
	}
};

/* Sorted ranks, the best first; all lanes know n. */
struct Best
{
	uint64_t   *ranks;
	uint32_t	n;
	uint32_t	capacity;
};

static __device__ __forceinline__ uint64_t
rank_of_lane(uint64_t rank, uint32_t lane)
{
	return (uint64_t) __shfl_sync(ALL, (uint32_t) (rank >> 32), lane) << 32 | __shfl_sync(ALL, (uint32_t) rank, lane);
}

/* How many of n sorted ranks are above one. */
static __device__ __forceinline__ uint32_t
n_above(const uint64_t *ranks, uint32_t n, uint64_t rank)
{
	uint32_t	low = 0;

	while (low < n)
	{
		const uint32_t middle = (low + n) / 2;

		if (ranks[middle] > rank)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/*
 * Adds each lane's rank, 0: it has none, unless it is there or is not among the best.  No two lanes have the same.
 * Returns the first place where there is another one now; capacity: there is none.
 */
static __device__ uint32_t
insert(Best &best, uint64_t *fresh, uint64_t rank)
{
	const uint32_t lane = threadIdx.x % WARP;
	uint32_t	place = 0;		/* ranks before it: of the array, */
	uint32_t	before = 0;		/* and of other lanes */
	bool		wanted = rank != 0;

	if (wanted && best.n == best.capacity)
		wanted = rank > best.ranks[best.n - 1];
	if (wanted)
	{
		place = n_above(best.ranks, best.n, rank | MARK);
		wanted = place == best.n || (best.ranks[place] | MARK) != (rank | MARK);
	}

	const uint32_t mask = __ballot_sync(ALL, wanted);
	const uint32_t n = __popc(mask);

	if (n == 0)
		return best.capacity;
	for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
		before += rank_of_lane(rank, __ffs((int) rest) - 1) > rank;
	if (wanted)
		fresh[before] = rank;

	const uint32_t best_lane = __ballot_sync(ALL, wanted && before == 0);
	const uint32_t first = __shfl_sync(ALL, place, __ffs((int) best_lane) - 1);

	__syncwarp();
	for (uint32_t end = best.n; end > first;)
	{
		const uint32_t begin = max(first, (end - 1) / WARP * WARP);
		const uint32_t at = begin + lane;
		uint64_t	moved = 0;
		uint32_t	to = best.capacity;

		if (at < end)
		{
			moved = best.ranks[at];
			to = at + n_above(fresh, n, moved | MARK);
		}
		__syncwarp();
		if (to < best.capacity)
			best.ranks[to] = moved;
		__syncwarp();
		end = begin;
	}
	if (wanted && place + before < best.capacity)
		best.ranks[place + before] = rank;
	best.n = min(best.n + n, best.capacity);
	__syncwarp();
	return first;
}

/* The key of number lane of n objects, in shared memory, by a query, whose body is there, too; 0: there is none. */
template <Form FORM>
static __device__ __forceinline__ uint32_t
key_objects(const Records &records, const GenieValueConstants *constants, const uint4 *body, const uint32_t *objects,
			uint32_t n)
{
	const uint32_t lane = threadIdx.x % WARP;
	uint4		head = make_uint4(0, 0, 0, 0);
	int			sum = 0;
	uint32_t	codes = 0;
	Products<FORM> of_team[LOADS] = {};
	uint32_t	codes_of_team[LOADS] = {};

	if (lane < n)
		head = __ldg(records.of(objects[lane]));
	for (uint32_t unit = 1 + lane % TEAM; unit - lane % TEAM < records.n_units; unit += TEAM)
	{
		const bool	is_there = unit < records.n_units;
		uint4		chunks[LOADS];

#pragma unroll
		for (uint32_t r = 0; r < LOADS; r++)
		{
			const uint32_t i = r * TEAMS + lane / TEAM;

			chunks[r] = make_uint4(0, 0, 0, 0);
			if (i < n && is_there)
				chunks[r] = __ldg(records.of(objects[i]) + unit);
		}
#pragma unroll
		for (uint32_t r = 0; r < LOADS; r++)
			if (r * TEAMS < n && is_there)
			{
				of_team[r].add(chunks[r], body + unit - 1);
				if (FORM == PRODUCT)
					codes_of_team[r] = add_codes(chunks[r], codes_of_team[r]);
			}
	}
#pragma unroll
	for (uint32_t r = 0; r < LOADS; r++)
	{
		if (r * TEAMS >= n)
			break;
#pragma unroll
		for (uint32_t other = TEAM / 2; other > 0; other /= 2)
		{
			of_team[r].sum += (int) __shfl_xor_sync(ALL, (uint32_t) of_team[r].sum, other);
			if (FORM == PRODUCT)
				codes_of_team[r] += __shfl_xor_sync(ALL, codes_of_team[r], other);
		}

		const uint32_t team = lane % TEAMS * TEAM;
		const int	sum_here = (int) __shfl_sync(ALL, (uint32_t) of_team[r].sum, team);
		const uint32_t codes_here = FORM == PRODUCT ? __shfl_sync(ALL, codes_of_team[r], team) : 0;

		if (lane / TEAMS == r)
		{
			sum = sum_here;
			codes = codes_here;
		}
	}
	if (lane >= n)
		return 0;
	return key_of_object<FORM>(records.metric, true, constants, head, codes, sum);
}

/*
 * Was the lane's object not seen lately?  The table in shared memory has one object in each place, the one seen last.
 * So it forgets, needs no probing, and is never full.
 */
static __device__ __forceinline__ bool
see_first(uint32_t *table, uint32_t object)
{
	return atomicExch(table + object * 2654435769u / (UINT32_MAX / TABLE + 1), object) != object;
}

#endif							/* GENIE_CUDA_GRAPH_WARP_CUH */

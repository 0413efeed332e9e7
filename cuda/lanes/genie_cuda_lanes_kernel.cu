/*
 * genie_cuda_lanes_kernel.cu
 *	  Bit lanes: the counting kernel, a template by the planes of a count and the objects of a thread.
 *
 * This file is compiled once for each number of planes, GENIE_CUDA_INSTANCE (cuda.mk).
 *
 * A block of the grid is (slice, part).  It copies the slice's table to shared memory, and its warps go over the part's
 * units in rounds.  All slices have the same parts and go over them side by side, so codes are read from memory about
 * once and otherwise from L2.  A unit is 32 * OBJECTS consecutive objects; those of a thread are 32 apart.
 *
 * A thread counts its objects for the slice's queries strip by strip.  Codes are loaded some strips ahead, across the
 * ends of rounds.  Then all counts are compared with their queries' thresholds at once, plane by plane.  Only where a
 * count reaches its threshold does the thread write an event, into the block's list.  Events become candidates later
 * (genie_cuda_lanes_deal): taking room in a query's list here would make the whole block wait.  Where objects are only
 * tallied there are no events, and one launch counts all objects.
 *
 * Thresholds are those of before the launch.  An object must be strictly better than the k-th best of all earlier
 * launches, because later objects lose ties.
 *
 * Everything but addresses and codes is the same in all threads.  It is written so that the compiler sees this, and
 * then costs next to nothing.
 */
#include "genie_cuda_codes.cuh"
#include "genie_cuda_error.cuh"
#include "genie_cuda_lanes.cuh"
#include "genie_cuda_lanes_add.cuh"
#include "genie_cuda_lanes_block.cuh"
#include "genie_cuda_lanes_tally.cuh"
#include "genie_cuda_piece.cuh"

/* What a block keeps in shared memory beside the table. */
template <int PLANES>
struct GenieCudaLaneShared
{
	GenieCudaLaneEntry thresholds[PLANES];
	GenieCudaLaneEntry open;	/* queries whose threshold some count can reach */
	uint32_t	n_events;		/* of the block */
	uint32_t	tallies[GENIE_CUDA_LANE_QUERIES];	/* of the block */
};

/* Codes on their way: rows of the next strips, and where loading goes on. */
template <int OBJECTS>
struct GenieCudaLaneCodes
{
	uint4		rows[GENIE_CUDA_LANE_AHEAD][OBJECTS];
	GenieCudaLanePart part;
	uint32_t	position;		/* in the round's order of strips */
	uint32_t	round;
	const uint8_t *base;		/* of the tile's codes */
	uint32_t	n_rows;			/* of the tile */
	uint32_t	row[OBJECTS];
};

/* The number of the strip, or of the run, at a position of the round: odd rounds go backwards. */
static __device__ __forceinline__ uint32_t
genie_cuda_lane_in_round(uint32_t position, uint32_t n, uint32_t round)
{
	return round % 2 == 0 ? position : n - 1 - position;
}

/* Begins with the round's unit.  Behind the last unit it is the last one again. */
template <int OBJECTS>
static __device__ __forceinline__ void
genie_cuda_lane_begin(const GenieCudaLaneLaunch &launch, GenieCudaLaneCodes<OBJECTS> &codes)
{
	const uint32_t unit = codes.part.first + min(genie_cuda_lane_unit(codes.round), codes.part.n - 1);
	const uint32_t first = genie_cuda_lane_object(launch, unit);
	const GenieCudaTile &tile = launch.tiles[first / GENIE_TILE_OBJECTS];

	codes.base = tile.base + tile.tile.codes;
	codes.n_rows = genie_code_rows(tile.tile.n_objects);
#pragma unroll
	for (uint32_t i = 0; i < OBJECTS; i++)
		codes.row[i] = min(first % GENIE_TILE_OBJECTS + i * GENIE_CUDA_WARP, codes.n_rows - GENIE_CUDA_WARP) +
			genie_cuda_thread();
}

/* Loads the next strip's rows. */
template <int OBJECTS>
static __device__ __forceinline__ void
genie_cuda_lane_load(const GenieCudaLaneLaunch &launch, GenieCudaLaneCodes<OBJECTS> &codes, uint4 (&rows)[OBJECTS])
{
	const uint32_t number = genie_cuda_lane_in_round(codes.position, launch.layout.n_strips, codes.round);
	const GenieCudaLaneStrip &strip = launch.layout.strips[number];
	const uint8_t *at = codes.base + (size_t) strip.offset * codes.n_rows;

#pragma unroll
	for (int i = 0; i < OBJECTS; i++)
		rows[i] = genie_cuda_code_row(at + codes.row[i] * strip.row_bytes, strip.row_bytes);
	if (++codes.position == launch.layout.n_strips)
	{
		codes.position = 0;
		codes.round++;
		genie_cuda_lane_begin(launch, codes);
	}
}

/*
 * Between strips: fetches the part of the table that comes next into the room of the one that was used.  All threads of
 * the block call it together.
 */
static __device__ __forceinline__ void
genie_cuda_lane_exchange(const GenieCudaLaneLaunch &launch, const uint8_t *table, uint32_t position, uint32_t round)
{
	const GenieCudaLaneLayout &layout = launch.layout;

	if (layout.n_first == 0)
		return;
	if (position == layout.n_first)
	{
		__syncthreads();
		if (round % 2 == 0)
			genie_cuda_lane_fetch(table + layout.resident_bytes + layout.first_bytes, layout.resident_bytes,
								  layout.last_bytes);
		else
			genie_cuda_lane_fetch(table + layout.resident_bytes, layout.resident_bytes, layout.first_bytes);
	}
	if (position == layout.n_strips - layout.n_first)
	{
		genie_cuda_wait_for_all_copies();
		__syncthreads();
	}
}

/* Adds a run of strips of one kind; position is that of its first strip. */
template <int WIDTH, int WORDS, int PLANES, int OBJECTS>
static __device__ __forceinline__ void
genie_cuda_lane_run(const GenieCudaLaneLaunch &launch, const uint8_t *table, uint32_t position, uint32_t end,
					uint32_t round, GenieCudaLaneCodes<OBJECTS> &codes, const GenieCudaLaneThread &thread,
					GenieCudaLanePlanes<PLANES> (&planes)[OBJECTS])
{
	for (; position < end; position++)
	{
		const GenieCudaLaneStrip &strip =
			launch.layout.strips[genie_cuda_lane_in_round(position, launch.layout.n_strips, round)];
		uint4		rows[OBJECTS];

		genie_cuda_lane_exchange(launch, table, position, round);
#pragma unroll
		for (int i = 0; i < OBJECTS; i++)
		{
			rows[i] = codes.rows[0][i];
#pragma unroll
			for (int a = 0; a + 1 < GENIE_CUDA_LANE_AHEAD; a++)
				codes.rows[a][i] = codes.rows[a + 1][i];
		}
		genie_cuda_lane_load(launch, codes, codes.rows[GENIE_CUDA_LANE_AHEAD - 1]);
#pragma unroll
		for (int i = 0; i < OBJECTS; i++)
			genie_cuda_lane_strip<WIDTH, WORDS>(planes[i], thread, rows[i], strip.table, strip.group_bytes);
	}
}

/* Counts a thread's objects of a round, for all queries of the slice. */
template <int PLANES, int OBJECTS>
static __device__ __forceinline__ void
genie_cuda_lane_count(const GenieCudaLaneLaunch &launch, const uint8_t *table, uint32_t round,
					  GenieCudaLaneCodes<OBJECTS> &codes, const GenieCudaLaneThread &thread,
					  GenieCudaLanePlanes<PLANES> (&planes)[OBJECTS])
{
	uint32_t	from = 0;

	for (uint32_t r = 0; r < launch.layout.n_runs; r++)
	{
		const GenieCudaLaneRun &run = launch.layout.runs[genie_cuda_lane_in_round(r, launch.layout.n_runs, round)];
		const uint32_t to = from + run.n_strips;

#define GENIE_CUDA_LANE_CASE(WIDTH, WORDS) \
	case genie_cuda_lane_kind(WIDTH, WORDS): \
		genie_cuda_lane_run<WIDTH, WORDS>(launch, table, from, to, round, codes, thread, planes); \
		break
		switch (run.kind)
		{
			GENIE_CUDA_LANE_CASE(16, 4);
			GENIE_CUDA_LANE_CASE(16, 2);
			GENIE_CUDA_LANE_CASE(16, 1);
			GENIE_CUDA_LANE_CASE(8, 4);
			GENIE_CUDA_LANE_CASE(8, 2);
			GENIE_CUDA_LANE_CASE(8, 1);
			GENIE_CUDA_LANE_CASE(4, 4);
			GENIE_CUDA_LANE_CASE(4, 2);
			GENIE_CUDA_LANE_CASE(4, 1);
		}
#undef GENIE_CUDA_LANE_CASE
		from = to;
	}
}

/* Which queries have a count that reaches the threshold. */
template <int PLANES>
static __device__ __forceinline__ GenieCudaLaneEntry
genie_cuda_lane_reached(const GenieCudaLanePlanes<PLANES> &planes, const GenieCudaLaneShared<PLANES> &shared)
{
	GenieCudaLaneEntry reached = {{~0u, ~0u, ~0u, ~0u}};

#pragma unroll
	for (int b = 0; b < PLANES; b++)
#pragma unroll
		for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		{
			const uint32_t count = planes.plane[b].word[w];
			const uint32_t threshold = shared.thresholds[b].word[w];

			reached.word[w] = (count & ~threshold) | (~(count ^ threshold) & reached.word[w]);
		}
#pragma unroll
	for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		reached.word[w] &= shared.open.word[w];
	return reached;
}

/* Is the object live?  Those of a warp's threads, which follow each other, have their bits in one word. */
static __device__ __forceinline__ bool
genie_cuda_lane_is_live(const GenieCudaLaneLaunch &launch, uint32_t object)
{
	if (launch.live != NULL)
		return (launch.live[(object - launch.first_object) / 32] >> (object % 32) & 1) != 0;

	const uint32_t *live = (const uint32_t *) launch.tiles[object / GENIE_TILE_OBJECTS].live;

	return (live[object % GENIE_TILE_OBJECTS / 32] >> (object % 32) & 1) != 0;
}

/*
 * Each thread gives its object to the queries that it reached: an event for each pair, in any order.  All threads of
 * the warp call it together.
 */
template <int PLANES>
static __device__ __forceinline__ void
genie_cuda_lane_offer(const GenieCudaLaneLaunch &launch, uint32_t object, const GenieCudaLaneEntry &reached,
					  const GenieCudaLanePlanes<PLANES> &planes, GenieCudaLaneShared<PLANES> &shared)
{
	const bool	live = genie_cuda_lane_is_live(launch, object);
	GenieCudaLaneEvent *events = launch.events + (size_t) genie_cuda_lane_block() * launch.room;
	uint32_t	n = 0;
	uint32_t	base = 0;
	uint32_t	at;

#pragma unroll
	for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		n += live ? __popc(reached.word[w]) : 0;
	at = genie_cuda_warp_scan(n);
	if (genie_cuda_thread() == GENIE_CUDA_WARP - 1 && at > 0)
		base = atomicAdd(&shared.n_events, at);
	at += __shfl_sync(GENIE_CUDA_WHOLE_WARP, base, GENIE_CUDA_WARP - 1) - n;
#pragma unroll
	for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		for (uint32_t left = live ? reached.word[w] : 0; left != 0; left &= left - 1)
		{
			const uint32_t q = (uint32_t) __ffs((int) left) - 1;
			uint32_t	count = 0;

#pragma unroll
			for (int b = 0; b < PLANES; b++)
				count |= (planes.plane[b].word[w] >> q & 1) << b;
			if (at < launch.room)
				events[at] = genie_cuda_lane_event(32 * w + q, count, object);
			at++;
		}
}

/* Adds the warp's totals to the block's, and then these to the queries'.  All threads of the block call it together. */
template <int PLANES>
static __device__ __forceinline__ void
genie_cuda_lane_give_totals(const GenieCudaLaneLaunch &launch, GenieCudaLaneTally &tally,
							GenieCudaLaneShared<PLANES> &shared)
{
	const uint32_t q = blockIdx.x * GENIE_CUDA_LANE_QUERIES + threadIdx.x;

	genie_cuda_lane_settle_sums(tally);
#pragma unroll
	for (int w = 0; w < GENIE_CUDA_LANE_WORDS; w++)
		if (tally.totals[w] != 0)
			atomicAdd(&shared.tallies[32 * w + genie_cuda_thread()], tally.totals[w]);
	__syncthreads();
	if (threadIdx.x < GENIE_CUDA_LANE_QUERIES && q < launch.n_queries && shared.tallies[threadIdx.x] != 0)
		atomicAdd(&launch.queries[q].n_hits->x, shared.tallies[threadIdx.x]);
}

/* The thresholds of the slice's queries, as planes. */
template <int PLANES>
static __device__ __forceinline__ void
genie_cuda_lane_thresholds(const GenieCudaLaneLaunch &launch, GenieCudaLaneShared<PLANES> &shared)
{
	const uint32_t w = genie_cuda_warp();
	const uint32_t q = blockIdx.x * GENIE_CUDA_LANE_QUERIES + threadIdx.x;
	uint32_t	threshold = UINT32_MAX;
	uint32_t	open;

	if (threadIdx.x == 0)
		shared.n_events = 0;
	if (threadIdx.x < GENIE_CUDA_LANE_QUERIES)
		shared.tallies[threadIdx.x] = 0;
	if (w >= GENIE_CUDA_LANE_WORDS)
		return;
	if (q < launch.n_queries)
		threshold = genie_cuda_threshold(&launch.queries[q], launch.first_object);
	open = __ballot_sync(GENIE_CUDA_WHOLE_WARP, threshold < 1u << PLANES);
	if (genie_cuda_thread() == 0)
		shared.open.word[w] = open;
	for (int b = 0; b < PLANES; b++)
	{
		const uint32_t plane = __ballot_sync(GENIE_CUDA_WHOLE_WARP, (threshold >> b & 1) != 0);

		if (genie_cuda_thread() == 0)
			shared.thresholds[b].word[w] = plane;
	}
}

template <int PLANES, int OBJECTS, int THREADS, bool TALLIES>
static __global__ void
__launch_bounds__(THREADS, 1) genie_cuda_lanes_kernel(const __grid_constant__ GenieCudaLaneLaunch launch)
{
	typedef GenieCudaLaneShared<PLANES> Shared;
	Shared	   &shared = *(Shared *) ((uint8_t *) genie_cuda_memory + launch.layout.shared_bytes());
	const uint8_t *table = launch.tables + (size_t) blockIdx.x * launch.layout.table_bytes();
	const GenieCudaLaneThread thread = genie_cuda_lane_thread();
	const GenieCudaLanePart part = genie_cuda_lane_part(launch);
	GenieCudaLaneCodes<OBJECTS> codes = {};
	GenieCudaLaneTally tally = {};

	codes.part = part;
	genie_cuda_lane_fetch(table, 0, launch.layout.resident_bytes + launch.layout.first_bytes);
	genie_cuda_lane_thresholds(launch, shared);
	genie_cuda_lane_begin(launch, codes);
#pragma unroll
	for (int a = 0; a < GENIE_CUDA_LANE_AHEAD; a++)
		genie_cuda_lane_load(launch, codes, codes.rows[a]);
	genie_cuda_wait_for_all_copies();
	__syncthreads();

	for (uint32_t round = 0; round * (THREADS / GENIE_CUDA_WARP) < part.n; round++)
	{
		const uint32_t unit = genie_cuda_lane_unit(round);
		GenieCudaLanePlanes<PLANES> planes[OBJECTS] = {};

		genie_cuda_lane_count(launch, table, round, codes, thread, planes);
#pragma unroll
		for (uint32_t i = 0; i < OBJECTS; i++)
		{
			const GenieCudaLaneEntry reached = genie_cuda_lane_reached(planes[i], shared);
			const uint32_t first = genie_cuda_lane_object(launch, part.first + unit);
			const uint32_t object = first + i * GENIE_CUDA_WARP + genie_cuda_thread();

			if (unit >= part.n)
				break;
			if (TALLIES)
				genie_cuda_lane_tally(tally, genie_cuda_lane_is_live(launch, object) ? reached : GenieCudaLaneEntry{});
			else if (__any_sync(GENIE_CUDA_WHOLE_WARP, genie_cuda_lane_any(reached) != 0))
				genie_cuda_lane_offer(launch, object, reached, planes[i], shared);
		}
	}
	if (TALLIES)
	{
		genie_cuda_lane_give_totals(launch, tally, shared);
		return;
	}
	__syncthreads();
	if (threadIdx.x == 0)
		launch.n_events[genie_cuda_lane_block()] = shared.n_events;
}

template <int PLANES>
void
genie_cuda_lanes_of_planes(const GenieCudaDevice &device, GenieCudaLaneLaunch &launch, cudaStream_t stream)
{
	typedef GenieCudaLanePolicy<PLANES> Policy;
	const auto	kernel = launch.tallies ? genie_cuda_lanes_kernel<PLANES, Policy::OBJECTS, Policy::THREADS, true> :
										 genie_cuda_lanes_kernel<PLANES, Policy::OBJECTS, Policy::THREADS, false>;
	const uint32_t n_slices = genie_cuda_lane_slices(launch.n_queries);
	const uint32_t shared = launch.layout.shared_bytes() + (uint32_t) sizeof(GenieCudaLaneShared<PLANES>);

	genie_cuda_lanes_divide(device, Policy::THREADS, launch);
	GENIE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	kernel<<<dim3(n_slices, launch.n_blocks), Policy::THREADS, shared, stream>>>(launch);
	genie_cuda_check_launch("genie_cuda_lanes_kernel");
}

template void genie_cuda_lanes_of_planes<GENIE_CUDA_INSTANCE>(const GenieCudaDevice &device,
															  GenieCudaLaneLaunch &launch, cudaStream_t stream);

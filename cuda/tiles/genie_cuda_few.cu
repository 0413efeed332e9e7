/*
 * genie_cuda_few.cu
 *	  Pieces with few postings: many to a block, a warp each.
 *
 * A planning kernel, a warp a (tile, query), sums up what the query's ranges have in the tile.  Nothing: done.  A
 * bitmap, or more than GENIE_CUDA_FEW_POSTINGS postings: a block counts it (genie_cuda_dense.cuh).  Else it goes on
 * the list of few, whose kernel gives each a warp:
 *
 * 1.	look the ranges up again, two a lane, and number their postings through;
 * 2.	put each posting's object in a hash table in shared memory (genie_cuda_slots.cuh) and count;
 * 3.	offer the table's wanted objects, at most k, by the rules of genie_cuda_epilogue.cuh.  Where more than k are
 * 	wanted, the k-th
 *		count and then the last object of that count are found by bisection, the warp going through its table each time.
 */
#include "genie_cuda_error.cuh"
#include "genie_cuda_few.cuh"
#include "genie_cuda_piece.cuh"
#include "genie_cuda_slots.cuh"

constexpr uint32_t FEW_THREADS = GENIE_CUDA_FEW_WARPS * GENIE_CUDA_WARP;
constexpr uint32_t RANGES_EACH = GENIE_CUDA_FEW_RANGES / GENIE_CUDA_WARP;

static_assert(GENIE_CUDA_FEW_POSTINGS <= GENIE_CUDA_FEW_SLOTS / 2, "a hash table that is too full is slow");

enum Class
{
	FEW,
	DENSE,
	NOTHING
};

/* The launch's piece of a whole tile. */
static __device__ __forceinline__ GenieCudaPiece
whole_tile(const GenieCudaLaunch &launch, uint32_t number)
{
	GenieCudaLaunch whole = launch;

	whole.splits_log2 = 0;
	whole.part_log2 = GENIE_TILE_SHIFT;
	return genie_cuda_piece(whole, number);
}

static __device__ __forceinline__ GenieImageSpan
look_up(const GenieCudaPiece &piece, uint32_t number)
{
	GenieImageSpan span = {0, 0, 0, 0, 0};

	if (number < piece.query->n_ranges)
	{
		const GenieRankRange range = piece.query->ranges[number];

		span = genie_image_find(piece.tile->base, &piece.tile->tile, range.first, range.end);
	}
	return span;
}

static __global__ void
__launch_bounds__(FEW_THREADS)
genie_cuda_plan_kernel(const GenieCudaLaunch launch, const GenieCudaPlan plan)
{
	__shared__ uint32_t classes[GENIE_CUDA_FEW_WARPS];
	__shared__ uint32_t bases[2];
	const uint32_t warp = genie_cuda_warp();
	const uint32_t number = blockIdx.x * GENIE_CUDA_FEW_WARPS + warp;
	const uint32_t parts = 1u << launch.splits_log2;
	uint32_t	before = 0;

	if (threadIdx.x < GENIE_CUDA_FEW_WARPS)
		classes[threadIdx.x] = NOTHING;
	__syncthreads();
	if (number < launch.n_tiles * launch.n_queries)
	{
		const GenieCudaPiece piece = whole_tile(launch, number);
		uint32_t	n_postings = 0;
		uint32_t	n_bitmaps = 0;

		for (uint32_t i = genie_cuda_lane(); i < GENIE_CUDA_FEW_RANGES; i += GENIE_CUDA_WARP)
		{
			const GenieImageSpan span = look_up(piece, i);

			/* no overflow: more than few are all alike */
			n_postings += min(span.to - span.from, GENIE_CUDA_FEW_POSTINGS + 1);
			n_bitmaps += span.bitmap_to - span.bitmap_from;
		}
		n_postings = genie_cuda_warp_sum(n_postings);
		n_bitmaps = genie_cuda_warp_sum(n_bitmaps);
		if (genie_cuda_lane() == 0)
			classes[warp] = n_bitmaps > 0 || n_postings > GENIE_CUDA_FEW_POSTINGS ? DENSE :
				n_postings > 0 ? FEW : NOTHING;
	}
	__syncthreads();
	if (threadIdx.x < 2)
	{
		uint32_t	n = 0;

		for (uint32_t i = 0; i < GENIE_CUDA_FEW_WARPS; i++)
			n += classes[i] == threadIdx.x;
		bases[threadIdx.x] = n == 0 ? 0 : atomicAdd(&plan.n[threadIdx.x], threadIdx.x == DENSE ? n * parts : n);
	}
	__syncthreads();
	if (genie_cuda_lane() != 0 || classes[warp] == NOTHING)
		return;
	for (uint32_t i = 0; i < warp; i++)
		before += classes[i] == classes[warp];
	if (classes[warp] == FEW)
		plan.few[bases[FEW] + before] = number;
	else
	{
		const uint32_t query = number % launch.n_queries;
		const uint32_t tile = number / launch.n_queries;

		for (uint32_t part = 0; part < parts; part++)
			plan.dense[bases[DENSE] + before * parts + part] = (tile * parts + part) * launch.n_queries + query;
	}
}

/*
 * Looks up the ranges and counts their postings in the warp's slots; returns how many slots it uses.  runs is
 * scratch.  All lanes call it together.
 */
static __device__ __forceinline__ uint32_t
count_few(const GenieCudaPiece &piece, uint32_t *slots, uint2 *runs)
{
	const uint16_t *postings = (const uint16_t *) (piece.tile->base + piece.tile->tile.postings);
	uint32_t	total = 0;
	uint32_t	run = 0;
	uint32_t	n_slots = GENIE_CUDA_WARP;

	for (uint32_t i = 0; i < RANGES_EACH; i++)
	{
		const uint32_t number = i * GENIE_CUDA_WARP + genie_cuda_lane();
		const GenieImageSpan span = look_up(piece, number);
		const uint32_t end = total + genie_cuda_warp_scan(span.to - span.from);

		/* the run's end, and what to add to a posting's number for its place */
		runs[number] = make_uint2(end, span.to - end);
		total = __shfl_sync(GENIE_CUDA_ALL_LANES, end, GENIE_CUDA_WARP - 1);
	}
	while (n_slots < 2 * total)
		n_slots *= 2;
	for (uint32_t i = genie_cuda_lane(); i < n_slots; i += GENIE_CUDA_WARP)
		slots[i] = GENIE_CUDA_SLOT_EMPTY;
	__syncwarp();
	for (uint32_t i = genie_cuda_lane(); i < total; i += GENIE_CUDA_WARP)
	{
		while (runs[run].x <= i)
			run++;
		genie_cuda_slots_count(slots, n_slots, postings[i + runs[run].y]);
	}
	__syncwarp();
	return n_slots;
}

/* Is a slot's object wanted at this threshold? */
static __device__ __forceinline__ bool
slot_wanted(const GenieCudaPiece &piece, const uint32_t *live, uint32_t slot, uint32_t threshold)
{
	const GenieCudaQuery *query = piece.query;
	const uint32_t local = slot >> 16;
	const uint32_t count = slot & GENIE_CUDA_SLOT_COUNT;

	if (slot == GENIE_CUDA_SLOT_EMPTY || count < threshold || (live[local / 32] >> (local % 32) & 1) == 0)
		return false;
	return !query->has_after || count < query->after.key ||
		(count == query->after.key && genie_cuda_piece_object(piece) + local > query->after.object);
}

/* How many slots have a count above count, or this count and a local <= last? */
static __device__ __forceinline__ uint32_t
count_slots(const uint32_t *slots, uint32_t n_slots, uint32_t count, int32_t last)
{
	uint32_t	n = 0;

	for (uint32_t i = genie_cuda_lane(); i < n_slots; i += GENIE_CUDA_WARP)
	{
		const uint32_t key = slots[i] & GENIE_CUDA_SLOT_COUNT;

		n += slots[i] != GENIE_CUDA_SLOT_EMPTY && (key > count || (key == count && (int32_t) (slots[i] >> 16) <= last));
	}
	return genie_cuda_warp_sum(n);
}

/* Empties all slots but the best k, which are fewer than the slots taken, and raises the query's bound. */
static __device__ void
keep_best(const GenieCudaPiece &piece, uint32_t *slots, uint32_t n_slots)
{
	const uint32_t k = piece.query->k;
	uint32_t	low = 1;		/* the largest count that at least k objects have */
	uint32_t	high = GENIE_CUDA_FEW_POSTINGS;
	int32_t		first = 0;		/* the smallest last object with which there are k */
	int32_t		last = UINT16_MAX;

	while (low < high)
	{
		const uint32_t middle = (low + high + 1) / 2;

		if (count_slots(slots, n_slots, middle, UINT16_MAX) >= k)
			low = middle;
		else
			high = middle - 1;
	}
	while (first < last)
	{
		const int32_t middle = (first + last) / 2;

		if (count_slots(slots, n_slots, low, middle) >= k)
			last = middle;
		else
			first = middle + 1;
	}
	__syncwarp();
	for (uint32_t i = genie_cuda_lane(); i < n_slots; i += GENIE_CUDA_WARP)
	{
		const uint32_t key = slots[i] & GENIE_CUDA_SLOT_COUNT;

		if (key < low || (key == low && (int32_t) (slots[i] >> 16) > last))
			slots[i] = GENIE_CUDA_SLOT_EMPTY;
	}
	if (genie_cuda_lane() == 0)
		atomicMax(&piece.query->top->bound,
				  genie_cuda_bound(low, genie_cuda_piece_object(piece) + GENIE_TILE_OBJECTS - 1));
	__syncwarp();
}

static __global__ void
__launch_bounds__(FEW_THREADS)
genie_cuda_few_kernel(const GenieCudaLaunch launch, const GenieCudaPlan plan)
{
	__shared__ uint32_t all_slots[GENIE_CUDA_FEW_WARPS][GENIE_CUDA_FEW_SLOTS];
	__shared__ uint2 all_runs[GENIE_CUDA_FEW_WARPS][GENIE_CUDA_FEW_RANGES];
	uint32_t   *slots = all_slots[genie_cuda_warp()];
	const uint32_t n_pieces = plan.n[FEW];

	for (uint32_t i = blockIdx.x * GENIE_CUDA_FEW_WARPS + genie_cuda_warp(); i < n_pieces;
		 i += gridDim.x * GENIE_CUDA_FEW_WARPS)
	{
		const GenieCudaPiece piece = whole_tile(launch, plan.few[i]);
		const GenieCudaQuery *query = piece.query;
		const uint32_t *live = (const uint32_t *) genie_cuda_piece_mask(piece);
		const uint32_t threshold = genie_cuda_threshold(query, genie_cuda_piece_object(piece));
		const uint32_t n_slots = count_few(piece, slots, all_runs[genie_cuda_warp()]);
		uint32_t	n = 0;
		uint32_t	base = 0;

		for (uint32_t j = genie_cuda_lane(); j < n_slots; j += GENIE_CUDA_WARP)
		{
			if (slot_wanted(piece, live, slots[j], threshold))
				n++;
			else
				slots[j] = GENIE_CUDA_SLOT_EMPTY;
		}
		n = genie_cuda_warp_sum(n);
		__syncwarp();
		if (n > query->k)
		{
			keep_best(piece, slots, n_slots);
			n = query->k;
		}
		if (n == 0)
			continue;
		if (genie_cuda_lane() == 0)
			base = atomicAdd(&query->top->n, n);
		base = __shfl_sync(GENIE_CUDA_ALL_LANES, base, 0);
		for (uint32_t j = genie_cuda_lane(); j < n_slots; j += GENIE_CUDA_WARP)
		{
			const uint32_t slot = slots[j];
			const uint32_t taken = __ballot_sync(GENIE_CUDA_ALL_LANES, slot != GENIE_CUDA_SLOT_EMPTY);

			if (slot != GENIE_CUDA_SLOT_EMPTY)
				query->candidates[base + __popc(taken & ((1u << genie_cuda_lane()) - 1))] =
					genie_cuda_candidate(slot & GENIE_CUDA_SLOT_COUNT, genie_cuda_piece_object(piece) + (slot >> 16));
			base += __popc(taken);
		}
		__syncwarp();
	}
}

/* Blocks that a device runs at a time, roughly: a list of unknown length is gone through by so many. */
static uint32_t
blocks_for(const GenieCudaLaunch &launch)
{
	constexpr uint32_t MANY = 1024;
	const uint32_t needed = (launch.n_tiles * launch.n_queries + GENIE_CUDA_FEW_WARPS - 1) / GENIE_CUDA_FEW_WARPS;

	return needed < MANY ? needed : MANY;
}

void
genie_cuda_few(const GenieCudaLaunch &launch, const GenieCudaPlan &plan, cudaStream_t stream)
{
	const uint32_t n = launch.n_tiles * launch.n_queries;

	GENIE_CUDA_CHECK(cudaMemsetAsync(plan.n, 0, 2 * sizeof(uint32_t), stream));
	genie_cuda_plan_kernel<<<(n + GENIE_CUDA_FEW_WARPS - 1) / GENIE_CUDA_FEW_WARPS, FEW_THREADS, 0, stream>>>
		(launch, plan);
	genie_cuda_check_launch("genie_cuda_plan_kernel");
	genie_cuda_few_kernel<<<blocks_for(launch), FEW_THREADS, 0, stream>>>(launch, plan);
	genie_cuda_check_launch("genie_cuda_few_kernel");
}

/*
 * genie_cuda_lanes.cu
 *	  Bit lanes: an image's layout, swizzling codes, filling tables, and the work between launches.
 */
#include <algorithm>

#include "genie_cuda_codes.cuh"
#include "genie_cuda_error.cuh"
#include "genie_cuda_lanes.cuh"
#include "genie_cuda_lanes_table.cuh"
#include "genie_cuda_select.cuh"
#include "genie_cuda_tensor.cuh"

/* ---- the layout ---- */

/* What kernels keep in shared memory beside a table: planes of thresholds, 16 at most, and the device's own part. */
constexpr uint32_t BESIDE = 17 * GENIE_CUDA_LANE_ENTRY + GENIE_CUDA_RESERVED_SHARED;

/* The slot of a strip's code number n.  Groups follow each other; in a word all low 4-bit codes come first. */
static uint32_t
slot_of(uint32_t width, uint32_t n)
{
	return width == 4 ? n / 8 * 8 + n % 2 * 4 + n % 8 / 2 : n;
}

/* Makes n strips first ones and as many last ones, and sums up the bytes of each kind. */
static void
divide(GenieCudaLaneLayout &layout, const std::vector<uint32_t> &bytes, uint32_t n)
{
	layout.n_first = n;
	layout.resident_bytes = layout.first_bytes = layout.last_bytes = 0;
	for (uint32_t s = 0; s < layout.n_strips; s++)
		(s < n ? layout.first_bytes : s >= layout.n_strips - n ? layout.last_bytes : layout.resident_bytes) += bytes[s];
}

/* Fills in the strips, except where their tables begin; returns the bytes of their tables. */
static std::vector<uint32_t>
lay_out_strips(const GenieImageGroup *group, GenieCudaLaneLayout &layout)
{
	std::vector<uint32_t> n_rows(group->n_strips, 1);
	std::vector<uint32_t> bytes;

	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		const GenieCodeDimension &dimension = genie_image_dimensions(group)[d];

		n_rows[dimension.strip] = std::max(n_rows[dimension.strip], dimension.n_values + 1);
	}
	for (uint32_t s = 0; s < group->n_strips; s++)
	{
		const GenieCodeStrip &strip = genie_image_strips(group)[s];
		const uint32_t words = strip.row_bytes / 4;
		const uint32_t each = 32 / strip.width;
		const uint32_t kind = genie_cuda_lane_kind(strip.width, words);
		const GenieCudaSwizzle swizzle = genie_cuda_swizzle(strip.width, strip.row_bytes);
		GenieCudaLaneStrip &lane_strip = layout.strips[s];

		lane_strip.row_bytes = strip.row_bytes;
		lane_strip.swizzle_shift = (uint8_t) swizzle.shift;
		lane_strip.swizzle_mask = (uint8_t) swizzle.mask;
		lane_strip.offset = strip.offset;
		lane_strip.group_bytes = n_rows[s] * GENIE_CUDA_LANE_ROW;
		bytes.push_back(std::max(1u, words * each / GENIE_CUDA_LANE_SLOTS) * lane_strip.group_bytes);
		if (layout.n_runs == 0 || layout.runs[layout.n_runs - 1].kind != kind)
			layout.runs[layout.n_runs++] = GenieCudaLaneRun{kind, 0};
		layout.runs[layout.n_runs - 1].n_strips++;
	}
	return bytes;
}

/* Finds where the entries of each rank are, given where each strip's table begins. */
static void
find_places(const GenieImageGroup *group, const GenieCudaLaneLayout &layout, const std::vector<uint32_t> &tables,
			std::vector<GenieCudaLanePlace> &places)
{
	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		const GenieCodeDimension &dimension = genie_image_dimensions(group)[d];
		const GenieCudaLaneStrip &strip = layout.strips[dimension.strip];
		const uint32_t n_codes = strip.row_bytes * 8 / dimension.width;
		const uint32_t copies = std::max(1u, GENIE_CUDA_LANE_SLOTS / n_codes);
		const uint32_t slot = slot_of(dimension.width, dimension.slot);
		const uint32_t column = tables[dimension.strip] + slot / GENIE_CUDA_LANE_SLOTS * strip.group_bytes +
			slot % GENIE_CUDA_LANE_SLOTS * GENIE_CUDA_LANE_ENTRY;

		for (uint32_t code = 1; code <= dimension.n_values; code++)
			places.push_back((column + code * GENIE_CUDA_LANE_ROW) | copies);
	}
}

GenieCudaLaneImage
genie_cuda_lanes_layout(const GenieSegmentImage &image, const GenieCudaDevice &device)
{
	const GenieImageGroup *group = image.groups[0];
	GenieCudaLaneImage lanes = {};
	GenieCudaLaneLayout &layout = lanes.layout;
	std::vector<uint32_t> bytes;
	std::vector<uint32_t> tables;
	uint32_t	resident = 0;
	uint32_t	first;
	uint32_t	last;

	if (group->n_strips > GENIE_CUDA_LANE_STRIPS_MAX || group->n_dimensions > GENIE_CUDA_LANE_DIMENSIONS_MAX)
		return lanes;
	layout.n_strips = group->n_strips;
	bytes = lay_out_strips(group, layout);
	for (uint32_t n = 0; !lanes.possible && 2 * n <= layout.n_strips; n++)
	{
		divide(layout, bytes, n);
		lanes.possible = layout.shared_bytes() + BESIDE <= device.shared_of_block;
	}
	if (!lanes.possible)
		return lanes;
	first = layout.resident_bytes;
	last = first + layout.first_bytes;
	for (uint32_t s = 0; s < layout.n_strips; s++)
	{
		const bool	is_last = s >= layout.n_strips - layout.n_first;
		uint32_t   &at = s < layout.n_first ? first : is_last ? last : resident;

		tables.push_back(at);
		layout.strips[s].table = is_last ? at - layout.first_bytes : at;
		at += bytes[s];
	}
	find_places(group, layout, tables, lanes.places);
	genie_cuda_tensor_layout(group, device, lanes);
	return lanes;
}

/* ---- swizzling codes ---- */

static __global__ void
__launch_bounds__(GENIE_CUDA_LANE_SWIZZLE_THREADS)
	genie_cuda_lanes_swizzle_kernel(const __grid_constant__ GenieCudaLaneLayout layout, const GenieCudaTile *tiles)
{
	const GenieCudaTile &tile = tiles[blockIdx.y];
	const uint32_t n_rows = genie_code_rows(tile.tile.n_objects);
	const uint32_t row = blockIdx.x * GENIE_CUDA_LANE_SWIZZLE_THREADS + threadIdx.x;

	if (row >= n_rows)
		return;
	for (uint32_t s = 0; s < layout.n_strips; s++)
	{
		const GenieCudaLaneStrip &strip = layout.strips[s];
		const uint32_t swizzle = row >> strip.swizzle_shift & strip.swizzle_mask;
		uint32_t   *words = (uint32_t *) ((uint8_t *) tile.base + tile.tile.codes + (size_t) strip.offset * n_rows +
										row * strip.row_bytes);
		uint32_t	swizzled[4];

		if (swizzle == 0)
			continue;
		for (uint32_t i = 0; i < strip.row_bytes / 4u; i++)
			swizzled[i] = words[i ^ swizzle];
		for (uint32_t i = 0; i < strip.row_bytes / 4u; i++)
			words[i] = swizzled[i];
	}
}

void
genie_cuda_lanes_swizzle(const GenieCudaLaneLayout &layout, const GenieCudaTile *tiles, uint32_t n_tiles,
						 cudaStream_t stream)
{
	genie_cuda_lanes_swizzle_kernel<<<dim3(GENIE_TILE_OBJECTS / GENIE_CUDA_LANE_SWIZZLE_THREADS, n_tiles),
									  GENIE_CUDA_LANE_SWIZZLE_THREADS, 0, stream>>>(layout, tiles);
	genie_cuda_check_launch("genie_cuda_lanes_swizzle_kernel");
}

/* ---- tables ---- */

struct LaneTable
{
	/* Sets the bit of a slice's query in the entries of a rank. */
	static __device__ __forceinline__ void set(uint8_t *table, GenieCudaLanePlace place, uint32_t query)
	{
		const uint32_t copies = place & GENIE_CUDA_LANE_COPIES;
		uint8_t    *entry = table + place - copies + query / 32 * 4;

		for (uint32_t i = 0; i < copies; i++)
			atomicOr((uint32_t *) (entry + i * (GENIE_CUDA_LANE_ROW / copies)), 1u << (query % 32));
	}
};

void
genie_cuda_lanes_table(const GenieCudaLaneLayout &layout, const GenieCudaLanePlace *places,
					   const GenieCudaQuery *queries, uint32_t n_queries, uint8_t *tables, cudaStream_t stream)
{
	genie_cuda_lanes_table_kernel<LaneTable>
		<<<n_queries, GENIE_CUDA_LANE_TABLE_THREADS, 0, stream>>>(places, queries, tables, layout.table_bytes());
	genie_cuda_check_launch("genie_cuda_lanes_table_kernel");
}

/* ---- counting ---- */

uint32_t
genie_cuda_lanes_unit(uint32_t max_count)
{
	return GENIE_CUDA_WARP *
		(max_count < 1u << 4     ? GenieCudaLanePolicy<4>::OBJECTS :
			 max_count < 1u << 8 ? GenieCudaLanePolicy<8>::OBJECTS :
								   GenieCudaLanePolicy<12>::OBJECTS);
}

/*
 * Each slice has as many parts as it has multiprocessors to itself.  If that does not come out even, as with 132 for 8
 * slices, the multiprocessors that are left over take one more, smaller part of each slice, one after the other.  This
 * works because blocks start in the order of their numbers, and those of the last part come last.
 */
void
genie_cuda_lanes_divide(const GenieCudaDevice &device, uint32_t n_threads, GenieCudaLaneLaunch &launch)
{
	const uint32_t n_warps = n_threads / GENIE_CUDA_WARP;
	const uint32_t n_slices = genie_cuda_lane_slices(launch.n_queries);
	const uint32_t whole = std::max(1u, device.n_multiprocessors / n_slices);
	const uint32_t left = device.n_multiprocessors > n_slices ? device.n_multiprocessors % n_slices : 0;
	const uint32_t turns = left == 0 ? 0 : (n_slices + left - 1) / left;
	uint32_t	units = (launch.n_units + whole - 1) / whole;

	if (left > 0 && units >= GENIE_CUDA_LANE_ROUNDS * n_warps)
		units = (uint32_t) (((uint64_t) launch.n_units * turns + whole * turns) / (whole * turns + 1));
	if (units > n_warps)
		units = (units + n_warps - 1) / n_warps * n_warps;
	launch.part_units = units;
	launch.n_blocks = (launch.n_units + units - 1) / units;
	launch.room = launch.slice_room / launch.n_blocks;
}

uint32_t
genie_cuda_lanes_parts(const GenieCudaDevice &device, uint32_t n_slices)
{
	return std::max(1u, device.n_multiprocessors / n_slices) + 1;
}

void
genie_cuda_lanes(const GenieCudaDevice &device, uint32_t max_count, GenieCudaLaneLaunch &launch, cudaStream_t stream)
{
	if (max_count < 1u << 4)
		genie_cuda_lanes_of_planes<4>(device, launch, stream);
	else if (max_count < 1u << 8)
		genie_cuda_lanes_of_planes<8>(device, launch, stream);
	else
		genie_cuda_lanes_of_planes<12>(device, launch, stream);
}

/* ---- between launches ---- */

/*
 * Some blocks deal with the events of one block that counted.  A block first counts its events of each query in shared
 * memory, and then takes room in each query's list for all of them at once.  Single events would wait for each other at
 * the queries' few counters.
 */
static __global__ void
__launch_bounds__(GENIE_CUDA_LANE_DEAL_THREADS)
	genie_cuda_lanes_deal_kernel(const GenieCudaLaneEvent *events, const uint32_t *n_events, uint32_t room,
								 const GenieCudaQuery *queries, uint32_t n_queries, uint32_t capacity)
{
	__shared__ uint32_t next[GENIE_CUDA_LANE_QUERIES];	/* of a query: its events, then the place of the next one */
	const uint32_t block = blockIdx.x * gridDim.y + blockIdx.y;
	const uint32_t n = n_events[block];
	const uint32_t q = blockIdx.x * GENIE_CUDA_LANE_QUERIES + threadIdx.x;
	const GenieCudaQuery *of_slice = queries + blockIdx.x * GENIE_CUDA_LANE_QUERIES;
	const GenieCudaLaneEvent *mine = events + (size_t) block * room;
	const uint32_t begin = blockIdx.z * GENIE_CUDA_LANE_DEAL_THREADS + threadIdx.x;
	const uint32_t end = min(n, room);
	const uint32_t step = gridDim.z * GENIE_CUDA_LANE_DEAL_THREADS;

	static_assert(GENIE_CUDA_LANE_QUERIES <= GENIE_CUDA_LANE_DEAL_THREADS, "a thread a query");
	if (threadIdx.x < GENIE_CUDA_LANE_QUERIES)
		next[threadIdx.x] = 0;
	if (n > room && threadIdx.x < GENIE_CUDA_LANE_QUERIES && q < n_queries)
		queries[q].top->last_object = GENIE_CUDA_LANE_LOST;
	__syncthreads();
	for (uint32_t i = begin; i < end; i += step)
		atomicAdd(&next[mine[i] & 0xFF], 1);
	__syncthreads();
	if (threadIdx.x < GENIE_CUDA_LANE_QUERIES && next[threadIdx.x] > 0)
		next[threadIdx.x] = atomicAdd(&queries[q].top->n, next[threadIdx.x]);
	__syncthreads();
	for (uint32_t i = begin; i < end; i += step)
	{
		const GenieCudaLaneEvent event = mine[i];
		const uint32_t at = atomicAdd(&next[event & 0xFF], 1);

		if (at < capacity)
			of_slice[event & 0xFF].candidates[at] = genie_cuda_candidate((uint32_t) event >> 8,
																		 (uint32_t) (event >> 32));
	}
}

void
genie_cuda_lanes_deal(const GenieCudaLaneLaunch &launch, uint32_t capacity, cudaStream_t stream)
{
	const uint32_t n_slices = genie_cuda_lane_slices(launch.n_queries);

	genie_cuda_lanes_deal_kernel<<<dim3(n_slices, launch.n_blocks, GENIE_CUDA_LANE_DEAL_BLOCKS),
								   GENIE_CUDA_LANE_DEAL_THREADS, 0, stream>>>(launch.events, launch.n_events,
																			  launch.room, launch.queries,
																			  launch.n_queries, capacity);
	genie_cuda_check_launch("genie_cuda_lanes_deal_kernel");
}

/* Is the bound a guess, which holds wherever objects are? */
static __device__ __forceinline__ bool
is_guess(unsigned long long bound)
{
	return bound != 0 && (uint32_t) bound == 0;
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TOP_THREADS)
	genie_cuda_lanes_settle_kernel(const GenieCudaQuery *queries, uint32_t capacity, uint32_t last_object,
								   bool is_sample, uint32_t *unfit)
{
	__shared__ GenieCudaSelect shared;
	GenieCudaQuery query = queries[blockIdx.x];
	const uint32_t n = min(query.top->n, capacity);
	const unsigned long long before = query.top->bound;
	GenieCudaCandidate bound;

	if (is_sample)
		query.k = query.sampled_k;
	bound = genie_cuda_kth_candidate(query, n, shared);

	/* last_object of a query that lanes count says whether anything was lost */
	if (threadIdx.x == 0 && query.top->n > capacity)
		query.top->last_object = GENIE_CUDA_LANE_LOST;
	__syncthreads();
	if (n > query.k)
	{
		genie_cuda_gather(query, n, bound, query.selected, shared);
		for (uint32_t i = threadIdx.x; i < query.k; i += GENIE_CUDA_TOP_THREADS)
			query.candidates[i] = query.selected[i];
	}
	if (threadIdx.x == 0)
	{
		const bool	missed = n < query.k && is_guess(before) && (uint32_t) (before >> 32) > query.min_key;

		query.top->n = min(n, query.k);
		if (n > query.k)
			query.top->bound = max(before, genie_cuda_bound((uint32_t) (bound >> 32), last_object));
		unfit[blockIdx.x] = query.top->last_object | (missed ? GENIE_CUDA_LANE_MISSED : 0);
	}
}

void
genie_cuda_lanes_settle(const GenieCudaQuery *queries, uint32_t n_queries, uint32_t capacity, uint32_t last_object,
						bool is_sample, uint32_t *unfit, cudaStream_t stream)
{
	genie_cuda_lanes_settle_kernel<<<n_queries, GENIE_CUDA_TOP_THREADS, 0, stream>>>(queries, capacity, last_object,
																					 is_sample, unfit);
	genie_cuda_check_launch("genie_cuda_lanes_settle_kernel");
}

/*
 * Events that the sample lost would only have raised the bound, which is a guess anyway; so the sample's losses do not
 * count.  If the sample has fewer than sampled_k candidates there is no bound, and all objects that match are wanted.
 */
static __global__ void
__launch_bounds__(GENIE_CUDA_LANE_DEAL_THREADS)
	genie_cuda_lanes_guess_kernel(const GenieCudaQuery *queries, uint32_t n_queries)
{
	const uint32_t q = blockIdx.x * GENIE_CUDA_LANE_DEAL_THREADS + threadIdx.x;

	if (q < n_queries)
	{
		GenieCudaTop *top = queries[q].top;

		top->bound = top->bound >> 32 << 32;
		top->n = 0;
		top->last_object = 0;
	}
}

void
genie_cuda_lanes_guess(const GenieCudaQuery *queries, uint32_t n_queries, cudaStream_t stream)
{
	const uint32_t n_blocks = (n_queries + GENIE_CUDA_LANE_DEAL_THREADS - 1) / GENIE_CUDA_LANE_DEAL_THREADS;

	genie_cuda_lanes_guess_kernel<<<n_blocks, GENIE_CUDA_LANE_DEAL_THREADS, 0, stream>>>(queries, n_queries);
	genie_cuda_check_launch("genie_cuda_lanes_guess_kernel");
}

/*
 * genie_cuda_tensor.cu
 *	  Bit lanes on tensor cores: tables, and the counting kernel.
 *
 * A block of the grid is (slice, part), as in genie_cuda_lanes_kernel.cuh; its table is in shared memory throughout, so
 * warps go over their units without waiting for each other.  A warp counts 32 objects, two *halves* of 16, for all
 * queries of the slice; what it loads of the table serves both halves.  Codes are loaded a strip ahead.
 *
 * Counts begin at minus the query's threshold, so that those that reach it are the ones without a sign.
 */
#include <algorithm>

#include "genie_cuda_error.cuh"
#include "genie_cuda_lanes_block.cuh"
#include "genie_cuda_lanes_table.cuh"
#include "genie_cuda_piece.cuh"
#include "genie_cuda_tensor.cuh"

constexpr uint32_t HALVES = GENIE_CUDA_TENSOR_OBJECTS / 16;

/* queries of a product, and products for all queries of a slice; a load of the table serves two */
constexpr uint32_t COLUMNS = 8;
constexpr uint32_t PRODUCTS = GENIE_CUDA_LANE_QUERIES / COLUMNS;

/* a row's bytes of a strip that takes two steps */
constexpr uint32_t LONG_ROW = 16;

/* no count reaches it, and its negative is far from overflow */
constexpr uint32_t THRESHOLD_MAX = 1u << 20;

static_assert(GENIE_CODE_DIMENSIONS_MAX < THRESHOLD_MAX, "counts stay below the threshold of what is of no query");

/* What a block keeps in shared memory behind the table. */
struct TensorShared
{
	int			minus_thresholds[GENIE_CUDA_LANE_QUERIES];
	uint32_t	n_events;		/* of the block */
};

/* ---- tables ---- */

/* The bit of a word is in a place's highest 5 bits, below them is the offset of the word for query 0. */
constexpr uint32_t PLACE_SHIFT = 27;

struct TensorTable
{
	static __device__ __forceinline__ void set(uint8_t *table, GenieCudaLanePlace place, uint32_t query)
	{
		const uint32_t at = query / 16 * GENIE_CUDA_WARP * 16 + query % 8 * 4 * 16 + query / 8 % 2 * 8;

		atomicOr((uint32_t *) (table + (place & ((1u << PLACE_SHIFT) - 1)) + at), 1u << (place >> PLACE_SHIFT));
	}
};

/* Where a dimension's word of query 0 is in a slice's table; its 16 bits are the word's lower or upper half. */
static uint32_t
column_of(const GenieImageGroup *group, const GenieCodeDimension &dimension)
{
	const bool	is_long = genie_image_strips(group)[dimension.strip].row_bytes == LONG_ROW;
	const uint32_t thread = is_long ? dimension.slot / 8 : dimension.slot / 4;
	const uint32_t step = 2 * dimension.strip + (is_long ? dimension.slot % 8 / 4 : 0);

	return step * GENIE_CUDA_TENSOR_STEP_BYTES + thread * 16 + dimension.slot % 4 / 2 * 4;
}

void
genie_cuda_tensor_layout(const GenieImageGroup *group, const GenieCudaDevice &device, GenieCudaLaneImage &lanes)
{
	uint32_t	n_steps = 0;

	for (uint32_t s = 0; s < group->n_strips; s++)
	{
		if (genie_image_strips(group)[s].width != 4)
			return;
		n_steps += genie_image_strips(group)[s].row_bytes == LONG_ROW ? 2 : 1;
	}
	if (device.tensor == GENIE_CUDA_TENSOR_NEVER ||
		n_steps * GENIE_CUDA_TENSOR_STEP_BYTES + sizeof(TensorShared) + GENIE_CUDA_RESERVED_SHARED >
		device.shared_of_block)
		return;
	lanes.tensor_bytes = n_steps * GENIE_CUDA_TENSOR_STEP_BYTES;
	lanes.by_tensor = device.tensor == GENIE_CUDA_TENSOR_ALWAYS;
	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		const GenieCodeDimension &dimension = genie_image_dimensions(group)[d];
		const uint32_t column = column_of(group, dimension);

		for (uint32_t code = 1; code <= dimension.n_values; code++)
			lanes.tensor_places.push_back((dimension.slot % 2 * 16 + code) << PLACE_SHIFT | column);
	}
}

void
genie_cuda_tensor_table(uint32_t table_bytes, const GenieCudaLanePlace *places, const GenieCudaQuery *queries,
						uint32_t n_queries, uint8_t *tables, cudaStream_t stream)
{
	genie_cuda_lanes_table_kernel<TensorTable><<<n_queries, GENIE_CUDA_LANE_TABLE_THREADS, 0, stream>>>
		(places, queries, tables, table_bytes);
	genie_cuda_check_launch("genie_cuda_lanes_table_kernel");
}

/* ---- counting ---- */

/* A thread's codes of a strip: of two objects of each half. */
struct TensorCodes
{
	uint32_t	word[HALVES][2];
};

/*
 * A thread's counts: of object g and query 2t, g and 2t + 1, 8 + g and 2t, 8 + g and 2t + 1, of each half and product.
 */
struct TensorCounts
{
	int			count[HALVES][PRODUCTS][4];
};

/* Loads the codes of a strip; behind the last unit, of the last one again. */
static __device__ __forceinline__ TensorCodes
load_codes(const GenieCudaLaneLaunch &launch, uint32_t unit, uint32_t strip_number)
{
	const GenieCudaLaneStrip &strip = launch.layout.strips[strip_number];
	const uint32_t object = launch.first_object + min(unit, launch.n_units - 1) * GENIE_CUDA_TENSOR_OBJECTS;
	const GenieCudaTile &tile = launch.tiles[object / GENIE_TILE_OBJECTS];
	const uint32_t row_bytes = strip.row_bytes;
	const uint32_t thread = genie_cuda_lane() % 4;
	const uint8_t *rows = tile.base + tile.tile.codes + (size_t) strip.offset * genie_code_rows(tile.tile.n_objects) +
		(object % GENIE_TILE_OBJECTS + genie_cuda_lane() / 4) * row_bytes;
	TensorCodes codes;

#pragma unroll
	for (uint32_t i = 0; i < HALVES * 2; i++)
	{
		const uint8_t *row = rows + i * 8 * row_bytes;

		if (row_bytes == LONG_ROW)
			codes.word[i / 2][i % 2] = __ldg((const uint32_t *) row + thread);
		else
			codes.word[i / 2][i % 2] = thread * 2 < row_bytes ? __ldg((const uint16_t *) row + thread) : 0;
	}
	return codes;
}

/* The bits of two codes, those of byte number i. */
static __device__ __forceinline__ uint32_t
bits_of(uint32_t codes, uint32_t i)
{
	return 1u << (codes >> (8 * i) & 15) | 0x10000u << (codes >> (8 * i + 4) & 15);
}

/* Adds the products of 16 objects' bits and 8 queries'; all lanes call it together. */
static __device__ __forceinline__ void
add_product(int (&count)[4], const uint32_t (&objects)[4], uint32_t queries_low, uint32_t queries_high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_TENSOR_DEVICE
	/* volatile: it stays where all lanes come together */
	asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
				 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" :
				 "+r"(count[0]), "+r"(count[1]), "+r"(count[2]), "+r"(count[3]) :
				 "r"(objects[0]), "r"(objects[1]), "r"(objects[2]), "r"(objects[3]),
				 "r"(queries_low), "r"(queries_high));
#elif defined(GENIE_CUDA_EMULATED)
	genie_cuda_emulated_product(count, objects, queries_low, queries_high);
#else
	/* never launched on older devices (genie_cuda_engine.cu) */
	(void) count;
	(void) objects;
	(void) queries_low;
	(void) queries_high;
#endif
}

/* Adds a step; byte: the first of the codes' two bytes that are its. */
static __device__ __forceinline__ void
add_step(TensorCounts &counts, const TensorCodes &codes, uint32_t byte, const uint4 *table)
{
	uint32_t	objects[HALVES][4];

#pragma unroll
	for (uint32_t h = 0; h < HALVES; h++)
#pragma unroll
		for (uint32_t i = 0; i < 4; i++)
			objects[h][i] = bits_of(codes.word[h][i % 2], byte + i / 2);
#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p += 2)
	{
		const uint4 queries = table[p / 2 * GENIE_CUDA_WARP];

#pragma unroll
		for (uint32_t h = 0; h < HALVES; h++)
		{
			add_product(counts.count[h][p], objects[h], queries.x, queries.y);
			add_product(counts.count[h][p + 1], objects[h], queries.z, queries.w);
		}
	}
}

/* Is one of a product's counts at its threshold, in this thread? */
static __device__ __forceinline__ bool
has_reached(const TensorCounts &counts, uint32_t product)
{
	int			all = -1;

#pragma unroll
	for (uint32_t h = 0; h < HALVES; h++)
#pragma unroll
		for (uint32_t i = 0; i < 4; i++)
			all &= counts.count[h][product][i];
	return all >= 0;
}

/* Writes the events of a product's counts.  All lanes call it together; live: a bit an object of the unit. */
static __device__ __forceinline__ void
offer_product(const GenieCudaLaneLaunch &launch, uint32_t object, uint32_t live, const TensorCounts &counts,
			  uint32_t product, TensorShared &shared)
{
	GenieCudaLaneEvent *events = launch.events + (size_t) genie_cuda_lane_block() * launch.room;
	const uint32_t row = genie_cuda_lane() / 4;
	const uint32_t query = product * COLUMNS + genie_cuda_lane() % 4 * 2;
	uint32_t	reached = 0;
	uint32_t	base = 0;
	uint32_t	at;

#pragma unroll
	for (uint32_t i = 0; i < HALVES * 4; i++)
		if (counts.count[i / 4][product][i % 4] >= 0)
			reached |= (live >> (i / 2 * 8 + row) & 1) << i;
	at = genie_cuda_warp_scan(__popc(reached));
	if (genie_cuda_lane() == GENIE_CUDA_WARP - 1 && at > 0)
		base = atomicAdd(&shared.n_events, at);
	at += __shfl_sync(GENIE_CUDA_ALL_LANES, base, GENIE_CUDA_WARP - 1) - __popc(reached);
#pragma unroll
	for (uint32_t i = 0; i < HALVES * 4; i++)
		if (reached >> i & 1)
		{
			const uint32_t q = query + i % 2;
			const uint32_t count = (uint32_t) (counts.count[i / 4][product][i % 4] - shared.minus_thresholds[q]);

			if (at < launch.room)
				events[at] = genie_cuda_lane_event(q, count, object + i / 2 * 8 + row);
			at++;
		}
}

/* Writes the events of a unit; object: its first. */
static __device__ __forceinline__ void
offer(const GenieCudaLaneLaunch &launch, uint32_t object, const TensorCounts &counts, TensorShared &shared)
{
	bool		any = false;
	uint32_t	live;

#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p++)
		any |= has_reached(counts, p);
	if (!__any_sync(GENIE_CUDA_ALL_LANES, any))
		return;
	live = ((const uint32_t *) launch.tiles[object / GENIE_TILE_OBJECTS].live)[object % GENIE_TILE_OBJECTS / 32];
#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p++)
		if (__any_sync(GENIE_CUDA_ALL_LANES, has_reached(counts, p)))
			offer_product(launch, object, live, counts, p, shared);
}

/* Counts begin at minus the thresholds. */
static __device__ __forceinline__ void
begin_counts(TensorCounts &counts, const TensorShared &shared)
{
#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p++)
	{
		const int2	begin = *(const int2 *) &shared.minus_thresholds[p * COLUMNS + genie_cuda_lane() % 4 * 2];

#pragma unroll
		for (uint32_t i = 0; i < HALVES * 2; i++)
		{
			counts.count[i / 2][p][i % 2 * 2] = begin.x;
			counts.count[i / 2][p][i % 2 * 2 + 1] = begin.y;
		}
	}
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TENSOR_THREADS, 1)
genie_cuda_tensor_kernel(const __grid_constant__ GenieCudaLaneLaunch launch, uint32_t table_bytes)
{
	TensorShared &shared = *(TensorShared *) ((uint8_t *) genie_cuda_memory + table_bytes);
	const uint32_t q = blockIdx.x * GENIE_CUDA_LANE_QUERIES + threadIdx.x;
	TensorCodes next = load_codes(launch, genie_cuda_lane_unit(0), 0);

	genie_cuda_lane_fetch(launch.tables + (size_t) blockIdx.x * table_bytes, 0, table_bytes);
	if (threadIdx.x < GENIE_CUDA_LANE_QUERIES)
	{
		const uint32_t threshold = q < launch.n_queries ?
			genie_cuda_threshold(&launch.queries[q], launch.first_object) : THRESHOLD_MAX;

		shared.minus_thresholds[threadIdx.x] = -(int) min(threshold, THRESHOLD_MAX);
	}
	if (threadIdx.x == 0)
		shared.n_events = 0;
	genie_cuda_lane_wait();
	__syncthreads();

	for (uint32_t round = 0; genie_cuda_lane_unit(round) < launch.n_units; round++)
	{
		const uint32_t unit = genie_cuda_lane_unit(round);
		const uint4 *table = genie_cuda_memory + genie_cuda_lane();
		TensorCounts counts;

		begin_counts(counts, shared);
		for (uint32_t s = 0; s < launch.layout.n_strips; s++)
		{
			const bool	is_last = s + 1 == launch.layout.n_strips;
			const TensorCodes codes = next;

			next = load_codes(launch, is_last ? genie_cuda_lane_unit(round + 1) : unit, is_last ? 0 : s + 1);
			add_step(counts, codes, 0, table);
			if (launch.layout.strips[s].row_bytes == LONG_ROW)
				add_step(counts, codes, 2, table + GENIE_CUDA_TENSOR_STEP_BYTES / sizeof(uint4));
			table += 2 * GENIE_CUDA_TENSOR_STEP_BYTES / sizeof(uint4);
		}
		offer(launch, launch.first_object + unit * GENIE_CUDA_TENSOR_OBJECTS, counts, shared);
	}
	__syncthreads();
	if (threadIdx.x == 0)
		launch.n_events[genie_cuda_lane_block()] = shared.n_events;
}

void
genie_cuda_tensor(const GenieCudaDevice &device, uint32_t table_bytes, GenieCudaLaneLaunch &launch,
				  cudaStream_t stream)
{
	const uint32_t n_slices = (launch.n_queries + GENIE_CUDA_LANE_QUERIES - 1) / GENIE_CUDA_LANE_QUERIES;
	const uint32_t n_blocks = std::max(1u, std::min(device.n_multiprocessors / n_slices, launch.n_units));
	const uint32_t shared = table_bytes + (uint32_t) sizeof(TensorShared);

	launch.n_blocks = n_blocks;
	launch.room = launch.slice_room / n_blocks;
	GENIE_CUDA_CHECK(cudaFuncSetAttribute(genie_cuda_tensor_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) shared));
	genie_cuda_tensor_kernel<<<dim3(n_slices, n_blocks), GENIE_CUDA_TENSOR_THREADS, shared, stream>>>
		(launch, table_bytes);
	genie_cuda_check_launch("genie_cuda_tensor_kernel");
}

/*
 * genie_cuda_tensor.cu
 *	  Bit lanes on tensor cores: tables, and the counting kernel.
 *
 * A block of the grid is (slice, part), as in genie_cuda_lanes_kernel.cu.  Its table is in shared memory throughout, so
 * warps go over their units without waiting for each other.  A warp counts 32 objects, two *halves* of 16, for its
 * share of the slice's queries; each load of the table serves both halves.  Codes are loaded a strip ahead.  Only an
 * image's last strip may have shorter rows; it is loaded when its unit begins.
 *
 * Counts begin at minus the query's threshold, so a count reaches the threshold if it has no sign.  The products that
 * have such counts are found first.  Only their counts go to shared memory, where a loop makes events of them: code for
 * each product's registers would not fit the instruction cache.
 */
#include <algorithm>

#include "genie_cuda_error.cuh"
#include "genie_cuda_lanes_block.cuh"
#include "genie_cuda_lanes_table.cuh"
#include "genie_cuda_piece.cuh"
#include "genie_cuda_tensor.cuh"

/* the first code whose bit is in the second word */
constexpr uint32_t FIRST_HIGHER = 8;

constexpr uint32_t HALVES = GENIE_CUDA_TENSOR_OBJECTS / 16;

/* warps that share a unit; each counts it for a part of the slice's queries */
constexpr uint32_t SHARES = GENIE_CUDA_LANE_QUERIES / GENIE_CUDA_TENSOR_QUERIES;

/* queries of a product, and products for a warp's queries; a load of the table serves two products */
constexpr uint32_t COLUMNS = 8;
constexpr uint32_t PRODUCTS = GENIE_CUDA_TENSOR_QUERIES / COLUMNS;

/* a thread's counts of a product, and products whose counts are looked at together */
constexpr uint32_t COUNTS = HALVES * 4;
constexpr uint32_t STAGED = 4;

/* bytes of a row in a strip of two steps, which all but the last strip are */
constexpr uint32_t LONG_ROW = 16;

/* a step of the table, in loads of a thread */
constexpr uint32_t STEP = GENIE_CUDA_TENSOR_STEP_BYTES / sizeof(uint4);

/* no count reaches it, and a count minus it fits 16 bits */
constexpr uint32_t THRESHOLD_MAX = 1u << 14;

static_assert(STAGED * COUNTS <= 32, "a thread's staged counts are bits of a word");
static_assert(GENIE_CODE_DIMENSIONS_MAX < THRESHOLD_MAX, "counts stay below the threshold of unused lanes");

/* A thread's counts of a product, minus their thresholds. */
union TensorStaged
{
	uint4		words;
	int16_t		count[COUNTS];
};

struct TensorStage
{
	struct
	{
		TensorStaged of_thread[GENIE_CUDA_WARP];
	}			of_product[STAGED];
};

/* What a block keeps in shared memory behind the table. */
struct TensorShared
{
	TensorStage stages[GENIE_CUDA_TENSOR_THREADS / GENIE_CUDA_WARP];	/* of the warps */
	uint4		minus_thresholds[GENIE_CUDA_LANE_QUERIES / 2];	/* two queries', twice, as a thread's counts lie */
	uint32_t	n_events;		/* of the block */
};

/* ---- tables ---- */

/* A place has the bit's number in its highest 5 bits, and below them the offset of the word for query 0. */
constexpr uint32_t PLACE_SHIFT = 27;

struct TensorTable
{
	static __device__ __forceinline__ void set(uint8_t *table, GenieCudaLanePlace place, uint32_t query)
	{
		const uint32_t at = query / 16 * GENIE_CUDA_WARP * 16 + query % 8 * 4 * 16 + query / 8 % 2 * 8;

		atomicOr((uint32_t *) (table + (place & ((1u << PLACE_SHIFT) - 1)) + at), 1u << (place >> PLACE_SHIFT));
	}
};

/* Where a dimension's word of query 0 is in a slice's table: that of the lower codes, with the other one behind it. */
static uint32_t
column_of(const GenieImageGroup *group, const GenieCodeDimension &dimension)
{
	const bool	is_long = genie_image_strips(group)[dimension.strip].row_bytes == LONG_ROW;
	const uint32_t thread = is_long ? dimension.slot / 8 : dimension.slot / 4;
	const uint32_t step = 2 * dimension.strip + (is_long ? dimension.slot % 8 / 4 : 0);

	return step * GENIE_CUDA_TENSOR_STEP_BYTES + thread * 16;
}

/* Is there shared memory for a table of n_steps steps? */
static bool
fits(const GenieCudaDevice &device, uint32_t n_steps)
{
	return n_steps * GENIE_CUDA_TENSOR_STEP_BYTES + sizeof(TensorShared) + GENIE_CUDA_RESERVED_SHARED <=
		device.shared_of_block;
}

bool
genie_cuda_tensor_possible(const GenieCudaDevice &device)
{
	return fits(device, GENIE_CUDA_MEASURE_STEPS);
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
	for (uint32_t d = 0; d < group->n_dimensions; d++)
		if (genie_image_dimensions(group)[d].n_values > GENIE_CUDA_TENSOR_VALUES)
			return;
	if (device.tensor == GENIE_CUDA_TENSOR_NEVER || !fits(device, n_steps))
		return;
	lanes.tensor_bytes = n_steps * GENIE_CUDA_TENSOR_STEP_BYTES;
	lanes.by_tensor = device.tensor == GENIE_CUDA_TENSOR_ALWAYS;
	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		const GenieCodeDimension &dimension = genie_image_dimensions(group)[d];
		const uint32_t column = column_of(group, dimension);

		for (uint32_t code = 1; code <= dimension.n_values; code++)
		{
			const bool	is_higher = code >= FIRST_HIGHER;
			const uint32_t bit = dimension.slot % 4 * 8 + (is_higher ? code - FIRST_HIGHER : code - 1);

			lanes.tensor_places.push_back(bit << PLACE_SHIFT | (column + is_higher * 4));
		}
	}
}

void
genie_cuda_tensor_table(uint32_t table_bytes, const GenieCudaLanePlace *places, const GenieCudaQuery *queries,
						uint32_t n_queries, uint8_t *tables, cudaStream_t stream)
{
	genie_cuda_lanes_table_kernel<TensorTable>
		<<<n_queries, GENIE_CUDA_LANE_TABLE_THREADS, 0, stream>>>(places, queries, tables, table_bytes);
	genie_cuda_check_launch("genie_cuda_lanes_table_kernel");
}

/* ---- counting ---- */

/* Minus a query's threshold; there are two copies. */
static __device__ __forceinline__ uint32_t &
minus_threshold(TensorShared &shared, uint32_t query, uint32_t copy)
{
	return ((uint32_t *) &shared.minus_thresholds[query / 2])[copy * 2 + query % 2];
}

/* The number of the warp's share of a unit. */
static __device__ __forceinline__ uint32_t
share_of_warp()
{
	return genie_cuda_warp() % SHARES;
}

/* The values at which a thread's counts of a product begin: minus the thresholds. */
static __device__ __forceinline__ void
read_begin(const TensorShared &shared, uint32_t product, int (&begin)[4])
{
	const uint32_t query = share_of_warp() * GENIE_CUDA_TENSOR_QUERIES + product * COLUMNS +
		genie_cuda_thread() % 4 * 2;
	const uint4 of_queries = shared.minus_thresholds[query / 2];

	begin[0] = (int) of_queries.x;
	begin[1] = (int) of_queries.y;
	begin[2] = (int) of_queries.z;
	begin[3] = (int) of_queries.w;
}

/* A thread's codes of a strip, for two objects of each half. */
struct TensorCodes
{
	uint32_t	word[HALVES][2];
};

/*
 * A thread's counts of each half and product: object g and query 2t, g and 2t + 1, 8 + g and 2t, 8 + g and 2t + 1.
 */
struct TensorCounts
{
	int			count[HALVES][PRODUCTS][4];
};

/* The unit of the block's part that the warp takes in a round, if there are that many. */
static __device__ __forceinline__ uint32_t
unit_of_warp(uint32_t round)
{
	return round * (GENIE_CUDA_TENSOR_THREADS / GENIE_CUDA_WARP / SHARES) + genie_cuda_warp() / SHARES;
}

/* Where the codes of a unit are. */
struct TensorRows
{
	const uint8_t *codes;		/* of the tile */
	uint32_t	n_rows;			/* of the tile */
	uint32_t	row;			/* the thread's first; others are 8 apart */
};

/* Those of a round's unit.  Behind the last unit, those of the last one again. */
static __device__ __forceinline__ TensorRows
rows_of(const GenieCudaLaneLaunch &launch, const GenieCudaLanePart &part, uint32_t round)
{
	const uint32_t unit = part.first + min(unit_of_warp(round), part.n - 1);
	const uint32_t object = genie_cuda_lane_object(launch, unit);
	const GenieCudaTile &tile = launch.tiles[object / GENIE_TILE_OBJECTS];

	return TensorRows{tile.base + tile.tile.codes, genie_code_rows(tile.tile.n_objects),
					  object % GENIE_TILE_OBJECTS + genie_cuda_thread() / 4};
}

/* The thread's word of its first row in the first strip, if that has long rows. */
static __device__ __forceinline__ const uint8_t *
long_rows(const TensorRows &rows)
{
	return rows.codes + rows.row * LONG_ROW + genie_cuda_thread() % 4 * sizeof(uint32_t);
}

/* The codes of a strip of long rows, from there. */
static __device__ __forceinline__ TensorCodes
load_long(const uint8_t *at)
{
	TensorCodes codes;

#pragma unroll
	for (uint32_t i = 0; i < HALVES * 2; i++)
		codes.word[i / 2][i % 2] = __ldg((const uint32_t *) (at + i * 8 * LONG_ROW));
	return codes;
}

/* The codes of a strip of shorter rows: a thread has half as many. */
static __device__ __forceinline__ TensorCodes
load_short(const TensorRows &rows, const GenieCudaLaneStrip &strip)
{
	const uint32_t row_bytes = strip.row_bytes;
	const uint32_t thread = genie_cuda_thread() % 4;
	const uint8_t *first = rows.codes + (size_t) strip.offset * rows.n_rows + rows.row * row_bytes;
	TensorCodes codes = {};

	if (thread * 2 < row_bytes)
#pragma unroll
		for (uint32_t i = 0; i < HALVES * 2; i++)
			codes.word[i / 2][i % 2] = __ldg((const uint16_t *) (first + i * 8 * row_bytes) + thread);
	return codes;
}

/*
 * Selects four of eight bytes.  A selector with its highest bit set gives the sign of its byte in all bits, which
 * __byte_perm() cannot do.
 */
static __device__ __forceinline__ uint32_t
permute(uint32_t low, uint32_t high, uint32_t selectors)
{
#ifdef GENIE_CUDA_EMULATED
	return genie_cuda_emulated_permute(low, high, selectors);
#else
	uint32_t	bytes;

	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(selectors));
	return bytes;
#endif
}

/* The bits of the four codes in a word's lower half, a byte each: for the lower codes, and for the higher ones. */
static __device__ __forceinline__ uint32_t
lower_bits(uint32_t codes)
{
	return permute(0x04020100, 0x40201008, codes);
}

static __device__ __forceinline__ uint32_t
higher_bits(uint32_t codes)
{
	return permute(0x08040201, 0x00402010, codes ^ 0x8888);
}

/* count = to + the product of 16 objects' bits and 8 queries'.  All threads of the warp call it together. */
static __device__ __forceinline__ void
add_product(int (&count)[4], const int (&to)[4], const uint32_t (&objects)[4], uint32_t queries_low,
			uint32_t queries_high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_TENSOR_DEVICE
	/* volatile: it stays where all threads of the warp come together */
	asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
				 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
				 : "=r"(count[0]), "=r"(count[1]), "=r"(count[2]), "=r"(count[3])
				 : "r"(objects[0]), "r"(objects[1]), "r"(objects[2]), "r"(objects[3]), "r"(queries_low),
				   "r"(queries_high), "r"(to[0]), "r"(to[1]), "r"(to[2]), "r"(to[3]));
#elif defined(GENIE_CUDA_EMULATED)
	for (uint32_t i = 0; i < 4; i++)
		count[i] = to[i];
	genie_cuda_emulated_product(count, objects, queries_low, queries_high);
#else
	/* never launched on older devices (genie_cuda_engine.cu) */
	(void) count;
	(void) to;
	(void) objects;
	(void) queries_low;
	(void) queries_high;
#endif
}

/*
 * Adds a step: the codes from a bit of their words on.  The first step adds to minus the thresholds, which are read
 * where they are needed and so take no registers.
 */
template <bool FIRST>
static __device__ __forceinline__ void
add_step(TensorCounts &counts, const TensorCodes &codes, uint32_t bit, const uint4 *table, const TensorShared &shared)
{
	uint32_t	objects[HALVES][4];

#pragma unroll
	for (uint32_t h = 0; h < HALVES; h++)
#pragma unroll
		for (uint32_t i = 0; i < 2; i++)
		{
			objects[h][i] = lower_bits(codes.word[h][i] >> bit);
			objects[h][2 + i] = higher_bits(codes.word[h][i] >> bit);
		}
#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p++)
	{
		const uint2 queries = ((const uint2 *) &table[p / 2 * GENIE_CUDA_WARP])[p % 2];
		int			begin[4];

		if (FIRST)
			read_begin(shared, p, begin);
#pragma unroll
		for (uint32_t h = 0; h < HALVES; h++)
			add_product(counts.count[h][p], FIRST ? begin : counts.count[h][p], objects[h], queries.x, queries.y);
	}
}

/*
 * A bit for each product: has any thread a count that reaches its threshold?  All threads of the warp call it together.
 */
static __device__ __forceinline__ uint32_t
products_reached(const TensorCounts &counts)
{
	uint32_t	reached = 0;

#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p++)
	{
		int			all = -1;

#pragma unroll
		for (uint32_t i = 0; i < COUNTS; i++)
			all &= counts.count[i / 4][p][i % 4];
		reached |= ((uint32_t) ~all >> 31) << p;
	}
	return genie_cuda_warp_or(reached);
}

/* Two counts minus their thresholds, which fit 16 bits, as a word. */
static __device__ __forceinline__ uint32_t
pack_counts(int low, int high)
{
	return __byte_perm((uint32_t) low, (uint32_t) high, 0x5410);
}

/* Puts a thread's counts of the first STAGED products where they can be indexed; returns the other products. */
static __device__ __forceinline__ uint32_t
put_counts(const TensorCounts &counts, uint32_t products, TensorStage &stage)
{
	uint32_t	n = 0;

#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p++)
		if ((products >> p & 1) != 0 && n < STAGED)
		{
			stage.of_product[n++].of_thread[genie_cuda_thread()].words =
				make_uint4(pack_counts(counts.count[0][p][0], counts.count[0][p][1]),
						   pack_counts(counts.count[0][p][2], counts.count[0][p][3]),
						   pack_counts(counts.count[1][p][0], counts.count[1][p][1]),
						   pack_counts(counts.count[1][p][2], counts.count[1][p][3]));
			products &= ~(1u << p);
		}
	return products;
}

/* A bit for each of a thread's counts of a product: has it no sign? */
static __device__ __forceinline__ uint32_t
counts_reached(const uint4 &words)
{
	const uint32_t lower = (words.x >> 15 & 1) | (words.y >> 15 & 1) << 2 | (words.z >> 15 & 1) << 4 |
		(words.w >> 15 & 1) << 6;
	const uint32_t higher = words.x >> 31 << 1 | words.y >> 31 << 3 | words.z >> 31 << 5 | words.w >> 31 << 7;

	return (lower | higher) ^ ((1u << COUNTS) - 1);
}

/* The same for all staged products, of live objects only. */
static __device__ __forceinline__ uint32_t
staged_reached(const TensorStage &stage, uint32_t n_staged, uint32_t live)
{
	const uint32_t of_row = live >> genie_cuda_thread() / 4;
	const uint32_t rows = (of_row & 1) | (of_row >> 8 & 1) << 2 | (of_row >> 16 & 1) << 4 | (of_row >> 24 & 1) << 6;
	uint32_t	reached = 0;

#pragma unroll
	for (uint32_t n = 0; n < STAGED; n++)
		if (n < n_staged)
			reached |= counts_reached(stage.of_product[n].of_thread[genie_cuda_thread()].words) << (n * COUNTS);
	/* two queries an object */
	return reached & rows * 3 * 0x01010101;
}

/* Writes the events of staged products.  object is the unit's first; live has a bit for each of its objects. */
static __device__ __forceinline__ void
offer_staged(const GenieCudaLaneLaunch &launch, uint32_t object, uint32_t live, const TensorStage &stage,
			 uint32_t products, TensorShared &shared)
{
	GenieCudaLaneEvent *events = launch.events + (size_t) genie_cuda_lane_block() * launch.room;
	uint32_t	reached = staged_reached(stage, (uint32_t) __popc(products), live);
	uint32_t	at;

	if (reached == 0)
		return;
	at = atomicAdd(&shared.n_events, __popc(reached));
	for (uint32_t n = 0; reached != 0; reached &= reached - 1, at++)
	{
		const uint32_t bit = (uint32_t) __ffs((int) reached) - 1;
		const uint32_t i = bit % COUNTS;
		uint32_t	query;
		uint32_t	count;

		for (; n < bit / COUNTS; n++)
			products &= products - 1;
		query = share_of_warp() * GENIE_CUDA_TENSOR_QUERIES + ((uint32_t) __ffs((int) products) - 1) * COLUMNS +
			genie_cuda_thread() % 4 * 2 + i % 2;
		count = (uint32_t) stage.of_product[n].of_thread[genie_cuda_thread()].count[i] -
			minus_threshold(shared, query, 0);
		if (at < launch.room)
			events[at] = genie_cuda_lane_event(query, count, object + i / 2 * 8 + genie_cuda_thread() / 4);
	}
}

/* Writes the events of a unit.  object is its first; live has a bit for each of its objects. */
static __device__ __forceinline__ void
offer(const GenieCudaLaneLaunch &launch, uint32_t object, uint32_t live, const TensorCounts &counts,
	  TensorShared &shared)
{
	TensorStage &stage = shared.stages[genie_cuda_warp()];
	uint32_t	products = products_reached(counts);

	while (products != 0)
	{
		const uint32_t left = put_counts(counts, products, stage);

		offer_staged(launch, object, live, stage, products ^ left, shared);
		products = left;
	}
	/* the products that follow need all threads of the warp together */
	__syncwarp();
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TENSOR_THREADS, 1)
	genie_cuda_tensor_kernel(const __grid_constant__ GenieCudaLaneLaunch launch, uint32_t table_bytes)
{
	TensorShared &shared = *(TensorShared *) ((uint8_t *) genie_cuda_memory + table_bytes);
	const uint32_t q = blockIdx.x * GENIE_CUDA_LANE_QUERIES + threadIdx.x;
	const GenieCudaLanePart part = genie_cuda_lane_part(launch);
	const GenieCudaLaneStrip &last_strip = launch.layout.strips[launch.layout.n_strips - 1];
	const bool	has_short = last_strip.row_bytes != LONG_ROW;
	const uint32_t n_long = launch.layout.n_strips - has_short;
	TensorRows	rows = rows_of(launch, part, 0);
	const uint8_t *at = long_rows(rows);
	TensorCodes next = {};

	if (n_long > 0)
		next = load_long(at);
	genie_cuda_lane_fetch(launch.tables + (size_t) blockIdx.x * table_bytes, 0, table_bytes);
	if (threadIdx.x < GENIE_CUDA_LANE_QUERIES)
	{
		const uint32_t threshold = q < launch.n_queries ?
			genie_cuda_threshold(&launch.queries[q], launch.first_object) :
			THRESHOLD_MAX;

		minus_threshold(shared, threadIdx.x, 0) = minus_threshold(shared, threadIdx.x, 1) = 0 -
			min(threshold, THRESHOLD_MAX);
	}
	if (threadIdx.x == 0)
		shared.n_events = 0;
	genie_cuda_wait_for_all_copies();
	__syncthreads();

	for (uint32_t round = 0; unit_of_warp(round) < part.n; round++)
	{
		const uint32_t unit = part.first + unit_of_warp(round);
		const uint32_t object = genie_cuda_lane_object(launch, unit);
		const TensorRows next_rows = rows_of(launch, part, round + 1);
		const uint8_t *next_at = long_rows(next_rows);
		const uint4 *table = genie_cuda_memory + share_of_warp() * (STEP / SHARES) + genie_cuda_thread();
		TensorCodes short_codes = {};
		TensorCounts counts;
		uint32_t	live;

		/* early, because events would wait for it */
		live = __ldg((const uint32_t *) launch.tiles[object / GENIE_TILE_OBJECTS].live +
					 object % GENIE_TILE_OBJECTS / 32);
		if (has_short)
			short_codes = load_short(rows, last_strip);
		if (n_long > 0)
		{
			const TensorCodes codes = next;

			at = n_long > 1 ? at + (size_t) rows.n_rows * LONG_ROW : next_at;
			next = load_long(at);
			add_step<true>(counts, codes, 0, table, shared);
			add_step<false>(counts, codes, 16, table + STEP, shared);
			table += 2 * STEP;
		}
		else
			add_step<true>(counts, short_codes, 0, table, shared);
#pragma unroll 1
		for (uint32_t s = 1; s < n_long; s++)
		{
			const TensorCodes codes = next;

			at = s + 1 < n_long ? at + (size_t) rows.n_rows * LONG_ROW : next_at;
			next = load_long(at);
			add_step<false>(counts, codes, 0, table, shared);
			add_step<false>(counts, codes, 16, table + STEP, shared);
			table += 2 * STEP;
		}
		if (has_short && n_long > 0)
			add_step<false>(counts, short_codes, 0, table, shared);
		rows = next_rows;
		offer(launch, object, live, counts, shared);
	}
	__syncthreads();
	if (threadIdx.x == 0)
		launch.n_events[genie_cuda_lane_block()] = shared.n_events;
}

void
genie_cuda_tensor(const GenieCudaDevice &device, uint32_t table_bytes, GenieCudaLaneLaunch &launch, cudaStream_t stream)
{
	const uint32_t n_slices = genie_cuda_lane_slices(launch.n_queries);
	const uint32_t shared = table_bytes + (uint32_t) sizeof(TensorShared);

	genie_cuda_lanes_divide(device, GENIE_CUDA_TENSOR_THREADS / SHARES, launch);
	GENIE_CUDA_CHECK(
		cudaFuncSetAttribute(genie_cuda_tensor_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	genie_cuda_tensor_kernel<<<dim3(n_slices, launch.n_blocks), GENIE_CUDA_TENSOR_THREADS, shared,
							   stream>>>(launch, table_bytes);
	genie_cuda_check_launch("genie_cuda_tensor_kernel");
}

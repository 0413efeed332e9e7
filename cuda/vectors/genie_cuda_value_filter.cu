/*
 * genie_cuda_value_filter.cu
 *	  Which objects may be among the best k, by tensor cores: the products of all queries with all records, of which
 *	  nothing leaves the registers but the numbers of the objects that the filter leaves.
 *
 * A block has RECORDS records and goes over the queries, QUERIES at a time; a warp has 32 of the records and 64 of the
 * queries.  Codes come to shared memory in slices of 128 bytes of a row, SLOTS slices on their way.  Where all codes of
 * the block's records fit the slots, they stay there; otherwise they come again from L2 for each tile of queries.
 *
 * In shared memory a row of a slice has eight chunks of 16 bytes.  Chunk c of row r lies at c ^ (r % 8), so that the
 * eight rows that the threads of a warp load at a time lie in different banks.
 *
 * Products are of codes without signs and of a query's, which have signs (mma.m16n8k32).  A thread has the sums of two
 * rows of a product with two columns: rows are records, columns queries (PTX ISA).  Behind the last slice each sum is
 * compared with five products of floats, which the record's and the query's numbers are (genie_value_filter.h); that is
 * more work than the sum itself of 128 dimensions.  A bit for each of a thread's sums is kept, and few are set.
 */
#include "genie_cuda_async.cuh"
#include "genie_cuda_scan.cuh"
#include "genie_cuda_value_scan.cuh"

constexpr uint32_t THREADS = 256;
constexpr uint32_t RECORDS = 128;
constexpr uint32_t QUERIES = 128;
constexpr uint32_t SLICE = 128; /* bytes of a row */
constexpr uint32_t CHUNK = 16;
constexpr uint32_t CHUNKS = SLICE / CHUNK;
constexpr uint32_t SLOTS = GENIE_CUDA_VALUE_FILTER_SLOTS;
constexpr uint32_t BROUGHT = THREADS / CHUNKS;	/* rows that the block brings at a time */

/* a warp's records and queries, in rows and columns of a product */
constexpr uint32_t WARP_RECORDS = 32;
constexpr uint32_t WARP_QUERIES = 64;
constexpr uint32_t ROWS = 16;
constexpr uint32_t COLUMNS = 8;
constexpr uint32_t HALVES = WARP_RECORDS / ROWS;
constexpr uint32_t PRODUCTS = WARP_QUERIES / COLUMNS;
constexpr uint32_t STEP = 32;	/* bytes of a row that a product takes */
constexpr uint32_t SUMS = 4;	/* a thread's, of a product */
constexpr uint32_t PRODUCTS_TOGETHER = 4;	/* whose objects are taken together */
constexpr uint32_t ASIDE = 1024;	/* objects that a block puts aside: some 50 of 1,024 queries */

static_assert(THREADS / GENIE_CUDA_WARP == RECORDS / WARP_RECORDS * (QUERIES / WARP_QUERIES), "warps tile the block");
static_assert(PRODUCTS_TOGETHER * HALVES * SUMS == 32, "a bit for each sum of a thread");
static_assert(PRODUCTS == 2 * PRODUCTS_TOGETHER && HALVES == 2, "and two words of them");
static_assert(BROUGHT % CHUNKS == 0, "rows that a thread brings have their chunks at the same places");
static_assert(GENIE_TILE_OBJECTS % RECORDS == 0, "a block has records of one tile");

struct FilterShared
{
	uint8_t		records[SLOTS][RECORDS * SLICE];
	uint8_t		queries[SLOTS][QUERIES * SLICE];
	GenieCudaValueNumbers numbers[SLOTS][QUERIES];
	GenieValueFilterRecord of_records[RECORDS];
	uint32_t	n_aside;		/* may be more than there is room for */
	uint32_t	aside[ASIDE];	/* query * RECORDS + record */
};

extern __shared__ uint4 genie_cuda_memory[];

/* ---- the queries' numbers ---- */

/* A thread a query, and those that fill up the last tile, of which nothing is left. */
static __global__ void
genie_cuda_value_numbers_kernel(GenieCudaValueScan scan, GenieCudaValueFilter filter)
{
	const uint32_t q = blockIdx.x * blockDim.x + threadIdx.x;
	GenieValueFilterQuery numbers = {{0, 0, 0, 0}, INFINITY};

	if (q < scan.n_queries && *scan.queries[q].n_objects != GENIE_CUDA_VALUE_ALL)
	{
		const uint32_t floor = (uint32_t) (scan.queries[q].floor->known >> 32);

		numbers = genie_value_filter_query(scan.metric, scan.queries[q].constants, filter.middle,
										   genie_cuda_value_key_bound(floor - 1));
		if (!(numbers.rest > -INFINITY))
		{
			/* nothing is passed over: there is no room for all */
			numbers = GenieValueFilterQuery{{0, 0, 0, 0}, INFINITY};
			*scan.queries[q].n_objects = GENIE_CUDA_VALUE_ALL;
		}
	}
	filter.numbers[q] = GenieCudaValueNumbers{make_float4(numbers.of[0], numbers.of[1], numbers.of[2], numbers.of[3]),
											  numbers.rest,
											  {0, 0, 0}};
}

/* ---- slices ---- */

/* Where a chunk of a row lies in a slice. */
static __device__ __forceinline__ uint32_t
place_of(uint32_t row, uint32_t chunk)
{
	return row * SLICE + (chunk ^ (row % CHUNKS)) * CHUNK;
}

/* What a block works on. */
struct FilterBlock
{
	const uint4 *records;		/* the first one's */
	uint32_t	n_records;
	uint32_t	first_object;
	uint32_t	n_slices;
	uint32_t	n_steps;		/* slices of all tiles of queries */
	bool		records_stay;	/* all slices of the records fit the slots */
};

/* Begins to bring a step's slices, and with a tile's first one, its numbers. */
static __device__ __forceinline__ void
bring(const GenieCudaValueScan &scan, const GenieCudaValueFilter &filter, const FilterBlock &block,
	  FilterShared *shared, uint32_t step)
{
	const uint32_t tile = step / block.n_slices;
	const uint32_t slice = step % block.n_slices;
	const uint32_t row = threadIdx.x / CHUNKS;
	const uint32_t chunk = threadIdx.x % CHUNKS;
	const uint8_t *queries = filter.bodies + (size_t) (tile * QUERIES + row) * filter.body_bytes + slice * SLICE +
		chunk * CHUNK;
	uint8_t    *to_queries = shared->queries[step % SLOTS] + place_of(row, chunk);

	if (step < block.n_steps)
	{
#pragma unroll
		for (uint32_t i = 0; i < QUERIES; i += BROUGHT)
			genie_cuda_copy_async(to_queries + i * SLICE, queries + (size_t) i * filter.body_bytes);
		if (step < block.n_slices || !block.records_stay)
#pragma unroll
			for (uint32_t i = 0; i < RECORDS; i += BROUGHT)
			{
				/* before the codes is the header */
				const uint32_t unit = 1 + slice * CHUNKS + chunk;
				const bool	is_there = row + i < block.n_records && unit < scan.n_units;

				genie_cuda_copy_async_if(is_there, shared->records[step % SLOTS] + place_of(row, chunk) + i * SLICE,
										 (const uint8_t *) (block.records +
															(is_there ? (size_t) (row + i) * scan.n_units + unit : 0)));
			}
		if (slice == 0)
			genie_cuda_copy_async((uint8_t *) shared->numbers[tile % SLOTS] + threadIdx.x * CHUNK,
								  (const uint8_t *) (filter.numbers + tile * QUERIES) + threadIdx.x * CHUNK);
	}
	genie_cuda_commit_copies();
}

static_assert(sizeof(GenieCudaValueNumbers) * QUERIES == THREADS * CHUNK, "a chunk of the numbers a thread");

/*
 * A thread's words of four matrices of 8 rows and a chunk each: below each other and then beside, or the other way
 * round.  All threads of the warp call it together.
 */
template <bool BELOW_FIRST>
static __device__ __forceinline__ void
load_matrices(uint32_t (&words)[4], const uint8_t *slice, uint32_t row, uint32_t chunk)
{
#ifdef GENIE_CUDA_EMULATED
	const uint32_t thread = genie_cuda_thread();

	for (uint32_t i = 0; i < 4; i++)
	{
		const uint32_t at = place_of(row + (BELOW_FIRST ? i % 2 : i / 2) * 8 + thread / 4,
									 chunk + (BELOW_FIRST ? i / 2 : i % 2));

		words[i] = *(const uint32_t *) (slice + at + thread % 4 * 4);
	}
#else
	const uint32_t matrix = genie_cuda_thread() / 8;
	const uint32_t at = place_of(row + (BELOW_FIRST ? matrix % 2 : matrix / 2) * 8 + genie_cuda_thread() % 8,
								 chunk + (BELOW_FIRST ? matrix / 2 : matrix % 2));

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
				 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
				 : "r"((uint32_t) __cvta_generic_to_shared(slice + at))
				 : "memory");
#endif
}

/*
 * Adds the product of 16 records' codes and 8 queries', to zero if it is the first.  All threads of the warp call it
 * together.
 */
template <bool FIRST>
static __device__ __forceinline__ void
add_product(int (&sums)[SUMS], const uint32_t (&records)[4], uint32_t queries_low, uint32_t queries_high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_TENSOR_DEVICE
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
				 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
				 : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
				 : "r"(records[0]), "r"(records[1]), "r"(records[2]), "r"(records[3]), "r"(queries_low),
				   "r"(queries_high), "r"(FIRST ? 0 : sums[0]), "r"(FIRST ? 0 : sums[1]), "r"(FIRST ? 0 : sums[2]),
				   "r"(FIRST ? 0 : sums[3]));
#elif defined(GENIE_CUDA_EMULATED)
	for (uint32_t i = 0; i < SUMS; i++)
		sums[i] = FIRST ? 0 : sums[i];
	genie_cuda_emulated_byte_product(sums, records, queries_low, queries_high);
#else
	/* never launched on older devices */
	(void) sums;
	(void) records;
	(void) queries_low;
	(void) queries_high;
#endif
}

/* The first of the warp's records, and of its queries. */
static __device__ __forceinline__ uint32_t
warp_record()
{
	return genie_cuda_warp() % (RECORDS / WARP_RECORDS) * WARP_RECORDS;
}

static __device__ __forceinline__ uint32_t
warp_query()
{
	return genie_cuda_warp() / (RECORDS / WARP_RECORDS) * WARP_QUERIES;
}

/* Adds the products of STEP bytes of a slice, from chunk on; to zero, if they are the first. */
template <bool FIRST>
static __device__ __forceinline__ void
multiply(int (&sums)[HALVES][PRODUCTS][SUMS], const uint8_t *of_records, const uint8_t *of_queries, uint32_t chunk)
{
	uint32_t	records[HALVES][4];

#pragma unroll
	for (uint32_t h = 0; h < HALVES; h++)
		load_matrices<true>(records[h], of_records, warp_record() + h * ROWS, chunk);
#pragma unroll
	for (uint32_t p = 0; p < PRODUCTS; p += 2)
	{
		uint32_t	queries[4];

		load_matrices<false>(queries, of_queries, warp_query() + p * COLUMNS, chunk);
#pragma unroll
		for (uint32_t h = 0; h < HALVES; h++)
		{
			add_product<FIRST>(sums[h][p], records[h], queries[0], queries[1]);
			add_product<FIRST>(sums[h][p + 1], records[h], queries[2], queries[3]);
		}
	}
}

/* ---- comparing ---- */

/* The numbers of the records of a thread's rows. */
struct FilterRows
{
	GenieValueFilterRecord of[HALVES][2];
};

/* A record's, from its header and the sum of its codes. */
static __device__ __forceinline__ GenieValueFilterRecord
numbers_of_record(const GenieCudaValueScan &scan, const GenieCudaValueFilter &filter, const FilterBlock &block,
				  uint32_t row, uint32_t codes)
{
	const uint4 head = block.records[(size_t) min(row, block.n_records - 1) * scan.n_units];
	GenieQuantized header;

	header.offset = __uint_as_float(head.x);
	header.scale = __uint_as_float(head.y);
	header.error = __uint_as_float(head.z);
	header.squares = head.w;
	return genie_value_filter_record(scan.metric, scan.n_dimensions, filter.middle, &header, (double) (int) codes);
}

/* The sum of a row's codes in a slice. */
static __device__ __forceinline__ uint32_t
codes_of_row(const uint8_t *slice, uint32_t row)
{
	uint32_t	sum = 0;

	for (uint32_t c = 0; c < CHUNKS; c++)
	{
		const uint4 chunk = *(const uint4 *) (slice + place_of(row, c));

		sum = __dp4a(chunk.x, 0x01010101u, sum);
		sum = __dp4a(chunk.y, 0x01010101u, sum);
		sum = __dp4a(chunk.z, 0x01010101u, sum);
		sum = __dp4a(chunk.w, 0x01010101u, sum);
	}
	return sum;
}

/* genie_value_filtered() by a sign: negative, if the record is passed over. */
static __device__ __forceinline__ float
spare(const GenieValueFilterRecord &record, const GenieCudaValueNumbers &query, int product)
{
	float		sum = query.rest;

	sum = __fmaf_rn(record.of[0], query.of.x, sum);
	sum = __fmaf_rn(record.of[1], query.of.y, sum);
	sum = __fmaf_rn(record.of[2], query.of.z, sum);
	sum = __fmaf_rn(record.of[3], query.of.w, sum);
	return __fmaf_rn(record.scale, (float) product, -sum);
}

/*
 * A bit for each of a thread's sums of PRODUCTS_TOGETHER products, the first one's the highest: is the record not
 * passed over?  NaN, which an operation gives, has no sign.
 */
static __device__ __forceinline__ uint32_t
left_of_products(const int (&sums)[HALVES][PRODUCTS][SUMS], uint32_t first, const FilterRows &rows,
				 const GenieCudaValueNumbers *numbers)
{
	uint32_t	signs = 0;

#pragma unroll
	for (uint32_t p = first; p < first + PRODUCTS_TOGETHER; p++)
#pragma unroll
		for (uint32_t c = 0; c < 2; c++)
		{
			const GenieCudaValueNumbers query = numbers[p * COLUMNS + genie_cuda_thread() % 4 * 2 + c];

#pragma unroll
			for (uint32_t h = 0; h < HALVES; h++)
#pragma unroll
				for (uint32_t r = 0; r < 2; r++)
					signs = __funnelshift_l(__float_as_uint(spare(rows.of[h][r], query, sums[h][p][r * 2 + c])), signs,
											1);
		}
	return ~signs;
}

/* Takes a record for a query, if it is one and is live. */
static __device__ __forceinline__ void
take_object(const GenieCudaValueScan &scan, const FilterBlock &block, uint32_t q, uint32_t row)
{
	if (row >= block.n_records || q >= scan.n_queries || !genie_cuda_value_is_live(scan, block.first_object + row))
		return;
	genie_cuda_value_take(scan, scan.queries[q], block.first_object + row, 0);
}

/*
 * Takes the records and queries of these bits.  Taking one waits for memory several times, and the other warps would
 * wait for this one: they are put aside until the block has done all its products, if there is room.
 */
static __device__ __forceinline__ void
put_aside(const GenieCudaValueScan &scan, const FilterBlock &block, FilterShared *shared, uint32_t tile, uint32_t first,
		  uint32_t left)
{
	for (; left != 0; left &= left - 1)
	{
		const uint32_t i = 32 - (uint32_t) __ffs((int) left);
		const uint32_t row = warp_record() + i / 2 % HALVES * ROWS + i % 2 * 8 + genie_cuda_thread() / 4;
		const uint32_t q = tile * QUERIES + warp_query() + (first + i / 8) * COLUMNS + genie_cuda_thread() % 4 * 2 +
			i / 4 % 2;
		const uint32_t place = atomicAdd(&shared->n_aside, 1);

		if (place < ASIDE)
			shared->aside[place] = q * RECORDS + row;
		else
			take_object(scan, block, q, row);
	}
}

static __device__ __forceinline__ void
take_all_aside(const GenieCudaValueScan &scan, const FilterBlock &block, const FilterShared *shared)
{
	for (uint32_t i = threadIdx.x; i < min(shared->n_aside, ASIDE); i += THREADS)
		take_object(scan, block, shared->aside[i] / RECORDS, shared->aside[i] % RECORDS);
}

/* ---- the kernel ---- */

static __global__ void
__launch_bounds__(THREADS, GENIE_CUDA_VALUE_FILTER_BLOCKS)
	genie_cuda_value_filter_kernel(const __grid_constant__ GenieCudaValueScan scan,
								   const __grid_constant__ GenieCudaValueFilter filter)
{
	FilterShared *shared = (FilterShared *) genie_cuda_memory;
	const uint32_t first = blockIdx.x * RECORDS;
	const uint32_t n_slices = ((scan.n_units - 1) + CHUNKS - 1) / CHUNKS;
	const FilterBlock block = {genie_cuda_value_record(scan, scan.first_object + first),
							   min(RECORDS, scan.n_objects - first),
							   scan.first_object + first,
							   n_slices,
							   (scan.n_queries + QUERIES - 1) / QUERIES * n_slices,
							   n_slices <= SLOTS};
	FilterRows	rows;
	int			sums[HALVES][PRODUCTS][SUMS];
	uint32_t	codes = 0;

	if (threadIdx.x == 0)
		shared->n_aside = 0;
	for (uint32_t step = 0; step < SLOTS - 1; step++)
		bring(scan, filter, block, shared, step);
	for (uint32_t step = 0; step < block.n_steps; step++)
	{
		const uint32_t tile = step / n_slices;
		const uint32_t slice = step % n_slices;
		const uint8_t *of_records = shared->records[block.records_stay ? slice : step % SLOTS];
		const uint8_t *of_queries = shared->queries[step % SLOTS];

		genie_cuda_wait_for_copies<SLOTS - 2>();
		/* what is brought next takes the place of what all warps have multiplied */
		__syncthreads();
		bring(scan, filter, block, shared, step + SLOTS - 1);
		if (tile == 0 && threadIdx.x < RECORDS)
		{
			codes += codes_of_row(of_records, threadIdx.x);
			if (slice == n_slices - 1)
				shared->of_records[threadIdx.x] = numbers_of_record(scan, filter, block, threadIdx.x, codes);
		}
		if (slice == 0)
			multiply<true>(sums, of_records, of_queries, 0);
		else
			multiply<false>(sums, of_records, of_queries, 0);
#pragma unroll 1
		for (uint32_t at = STEP; at < SLICE; at += STEP)
			multiply<false>(sums, of_records, of_queries, at / CHUNK);
		if (slice < n_slices - 1)
			continue;
		if (tile == 0)
		{
			__syncthreads();
#pragma unroll
			for (uint32_t h = 0; h < HALVES; h++)
#pragma unroll
				for (uint32_t r = 0; r < 2; r++)
					rows.of[h][r] = shared->of_records[warp_record() + h * ROWS + r * 8 + genie_cuda_thread() / 4];
		}

		const GenieCudaValueNumbers *numbers = shared->numbers[tile % SLOTS] + warp_query();
		uint32_t	left = left_of_products(sums, 0, rows, numbers);
		uint32_t	next = left_of_products(sums, PRODUCTS_TOGETHER, rows, numbers);

#pragma unroll 1
		for (uint32_t p = 0; p < PRODUCTS; p += PRODUCTS_TOGETHER)
		{
			put_aside(scan, block, shared, tile, p, left);
			left = next;
		}
	}
	__syncthreads();
	take_all_aside(scan, block, shared);
}

bool
genie_cuda_value_filter_possible(const GenieCudaDevice &device)
{
	return device.tensor != GENIE_CUDA_TENSOR_NEVER &&
		sizeof(FilterShared) + GENIE_CUDA_RESERVED_SHARED <= device.shared_of_block;
}

uint32_t
genie_cuda_value_padded(uint32_t n_queries)
{
	return (n_queries + QUERIES - 1) / QUERIES * QUERIES;
}

uint32_t
genie_cuda_value_body_bytes(size_t n_bytes)
{
	return (uint32_t) ((n_bytes + SLICE - 1) / SLICE * SLICE);
}

void
genie_cuda_value_filter(const GenieCudaValueScan &scan, const GenieCudaValueFilter &filter, cudaStream_t stream)
{
	const uint32_t n_blocks = (scan.n_objects + RECORDS - 1) / RECORDS;

	genie_cuda_value_numbers_kernel<<<genie_cuda_value_padded(scan.n_queries) / QUERIES, QUERIES, 0, stream>>>(scan,
																											   filter);
	genie_cuda_check_launch("genie_cuda_value_numbers_kernel");
	GENIE_CUDA_CHECK(cudaFuncSetAttribute(genie_cuda_value_filter_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										  (int) sizeof(FilterShared)));
	genie_cuda_value_filter_kernel<<<n_blocks, THREADS, sizeof(FilterShared), stream>>>(scan, filter);
	genie_cuda_check_launch("genie_cuda_value_filter_kernel");
}

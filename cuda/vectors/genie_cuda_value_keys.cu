/*
 * genie_cuda_value_keys.cu
 *	  The keys of a scan's objects for its queries, or of each query's own objects, the same bits as the CPU's.
 *
 * A block has THREADS records, a thread each, and up to QUERIES queries.  Records lie one behind the other, so the
 * block reads them as one piece, SLICE units of 16 bytes at a time, into shared memory.  There a record takes an odd
 * number of units, so that the threads of a warp read theirs without conflicts.  All threads read the same unit of a
 * query at a time.  One instruction multiplies and adds four codes; by L1, it adds up their differences.
 *
 * Of every stride-th object, records are read one by one.  A query's own objects are a thread each.
 *
 * Blocks of the same records are neighbours: the first one brings them to L2.  For one query the kernel is bound by
 * memory, for many by the products and by the doubles of the epilogue.
 *
 * The epilogue is genie_value_bound.h.  Values of other forms have files of their own.
 */
#include "genie_cuda_async.cuh"
#include "genie_cuda_value_product.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_VALUE_THREADS;
constexpr uint32_t UNITS_MAX = GENIE_CUDA_VALUE_UNITS_MAX;
constexpr uint32_t PITCH_MAX = UNITS_MAX | 1;

static_assert(sizeof(GenieQuantized) == sizeof(uint4) && GENIE_QUANTIZED_ALIGN == sizeof(uint4),
			  "a unit is a record's header, or so many codes");
static_assert(GENIE_TILE_OBJECTS % THREADS == 0, "a block has records of one tile");
static_assert(GENIE_CUDA_VALUE_UNITS <= UNITS_MAX, "the longest slice fits");

/*
 * Brings units of the block's n records, which are base's if they lie one behind the other, and of queries, to shared
 * memory.  All threads call it together.
 */
template <uint32_t QUERIES, bool STRIDES>
static __device__ __forceinline__ void
load_slice(const GenieCudaValueScan &scan, const uint4 *base, uint32_t first_key, uint32_t n, uint32_t first_query,
		   uint32_t unit, uint32_t n_units, uint32_t pitch, uint4 *records, uint4 (*bodies)[UNITS_MAX])
{
	for (uint32_t i = threadIdx.x; i < n * n_units; i += THREADS)
	{
		const uint32_t r = i / n_units;

		const uint4 *record = STRIDES ?
			genie_cuda_value_record(scan, scan.first_object + (first_key + r) * scan.stride) :
			base + (size_t) r * scan.n_units;

		genie_cuda_copy_async((uint8_t *) &records[r * pitch + i % n_units],
							  (const uint8_t *) &record[unit + i % n_units]);
	}
	for (uint32_t i = threadIdx.x; i < QUERIES * n_units; i += THREADS)
	{
		const uint32_t q = i / n_units;
		const uint32_t u = i % n_units;

		/* before the codes is the header */
		if (unit + u > 0)
			bodies[q][u] = scan.queries[min(first_query + q, scan.n_queries - 1)].body[unit + u - 1];
	}
	genie_cuda_wait_for_all_copies();
}

template <Form FORM, uint32_t QUERIES, bool STRIDES>
static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_keys_kernel(GenieCudaValueScan scan, uint32_t slice)
{
	__shared__ uint4 records[THREADS * PITCH_MAX];
	__shared__ uint4 bodies[QUERIES][UNITS_MAX];
	const uint32_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint32_t first_query = blockIdx.x % n_groups * QUERIES;
	const uint32_t first = blockIdx.x / n_groups * THREADS;
	const uint32_t n = min(THREADS, genie_cuda_value_n_looked_at(scan) - first);
	const uint32_t pitch = slice | 1;
	const uint4 *base = genie_cuda_value_record(scan, scan.first_object + first * scan.stride);
	Products<FORM> products[QUERIES] = {};
	uint32_t	codes = 0;
	uint4		head = make_uint4(0, 0, 0, 0);

	for (uint32_t unit = 0; unit < scan.n_units; unit += slice)
	{
		const uint32_t n_units = min(slice, scan.n_units - unit);

		__syncthreads();
		load_slice<QUERIES, STRIDES>(scan, base, first, n, first_query, unit, n_units, pitch, records, bodies);
		__syncthreads();
		if (threadIdx.x >= n)
			continue;
		for (uint32_t u = 0; u < n_units; u++)
		{
			const uint4 chunk = records[threadIdx.x * pitch + u];

			if (unit + u == 0)
				head = chunk;
			else
			{
				if (FORM == PRODUCT)
					codes = add_codes(chunk, codes);
#pragma unroll
				for (uint32_t q = 0; q < QUERIES; q++)
					products[q].add(chunk, &bodies[q][u]);
			}
		}
	}
	if (threadIdx.x >= n)
		return;
#pragma unroll
	for (uint32_t q = 0; q < QUERIES; q++)
		if (first_query + q < scan.n_queries)
		{
			const GenieCudaValueQuery &query = scan.queries[first_query + q];
			const uint32_t i = first + threadIdx.x;

			genie_cuda_value_put(scan, query, i,
								 key_of_object<FORM>(scan.metric, query.is_known, query.constants, head, codes,
													 products[q].sum));
		}
}

/* A query's own objects, which only a filter leaves: never by L1, nor of bits or texts. */
static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_keys_of_objects_kernel(GenieCudaValueScan scan)
{
	const GenieCudaValueQuery &query = scan.queries[blockIdx.y];
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i >= genie_cuda_value_n_keys(scan, query))
		return;

	const uint32_t object = query.objects[i];
	const uint4 *record = genie_cuda_value_record(scan, object);
	const uint4 head = record[0];
	Products<PRODUCT> products = {};
	uint32_t	codes = 0;

	for (uint32_t u = 1; u < scan.n_units; u++)
	{
		const uint4 chunk = record[u];
		const uint4 of_query = __ldg(&query.body[u - 1]);

		codes = add_codes(chunk, codes);
		products.add(chunk, &of_query);
	}
	query.keys[i] = genie_cuda_value_wanted(scan, query, object,
											key_of_object<PRODUCT>(scan.metric, query.is_known, query.constants, head,
																   codes, products.sum));
}

template <Form FORM, uint32_t QUERIES, bool STRIDES>
static void
launch(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	const uint32_t slice = scan.n_units <= UNITS_MAX ? scan.n_units : GENIE_CUDA_VALUE_UNITS;
	const uint64_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint64_t n_blocks = n_groups * ((genie_cuda_value_n_looked_at(scan) + (uint64_t) THREADS - 1) / THREADS);

	if (n_blocks > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "a scan has more objects than a launch has blocks for");
	genie_cuda_value_keys_kernel<FORM, QUERIES, STRIDES><<<(uint32_t) n_blocks, THREADS, 0, stream>>>(scan, slice);
	genie_cuda_check_launch("genie_cuda_value_keys_kernel");
}

template <Form FORM>
static void
launch_by_queries(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.stride > 1)
		launch<FORM, GENIE_CUDA_VALUE_QUERIES, true>(scan, stream);
	else if (scan.n_queries == 1)
		launch<FORM, 1, false>(scan, stream);
	else
		launch<FORM, GENIE_CUDA_VALUE_QUERIES, false>(scan, stream);
}

void
genie_cuda_value_keys(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.metric == GENIE_METRIC_HAMMING)
		genie_cuda_value_bits(scan, stream);
	else if (scan.metric == GENIE_METRIC_EDIT)
		genie_cuda_value_string(scan, stream);
	else if (scan.metric == GENIE_METRIC_L1)
		launch_by_queries<DIFFERENCES>(scan, stream);
	else if (scan.metric == GENIE_METRIC_PIVOTS)
		genie_cuda_value_pivots(scan, stream);
	else if (genie_rabitq_serves(scan.metric))
		genie_cuda_value_rabitq(scan, stream);
	else
		launch_by_queries<PRODUCT>(scan, stream);
}

void
genie_cuda_value_keys_of_objects(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	genie_cuda_value_keys_of_objects_kernel<<<dim3((scan.n_keys + THREADS - 1) / THREADS, scan.n_queries), THREADS, 0,
											  stream>>>(scan);
	genie_cuda_check_launch("genie_cuda_value_keys_of_objects_kernel");
}

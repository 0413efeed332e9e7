/*
 * genie_cuda_value_rabitq.cu
 *	  The keys of a scan's vectors with a bit a dimension for its queries (genie_rabitq.h): the same bits as the CPU's.
 *
 * A block has THREADS records, a thread each, and up to QUERIES queries, whose codes it has in shared memory, UNITS
 * units of GENIE_RABITQ_UNIT dimensions at a time.  Four bits become four codes of 0 or 1 by one product, once for all
 * queries, and are multiplied with four codes of a query by one instruction.  Lines of records stay in L1 from unit to
 * unit.
 */
#include "genie_cuda_value_product.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_VALUE_THREADS;
constexpr uint32_t UNITS = 8;
constexpr uint32_t CODES = GENIE_RABITQ_UNIT / sizeof(uint4);	/* of a query, in units of 16 bytes */

static_assert(GENIE_RABITQ_UNIT / 8 == sizeof(uint4), "a unit of a record is 16 bytes");

/* sums[q] + the product of 32 bits and the codes of query q, which begin at code, in units of 16 bytes. */
template <uint32_t QUERIES>
static __device__ __forceinline__ void
add_bits(uint32_t bits, const uint4 (*bodies)[UNITS * CODES], uint32_t code, int *sums)
{
#pragma unroll
	for (uint32_t half = 0; half < 2; half++)
	{
		/* bit i comes to byte i */
		const uint32_t a = (bits >> (16 * half) & 0xF) * 0x00204081u & 0x01010101u;
		const uint32_t b = (bits >> (16 * half + 4) & 0xF) * 0x00204081u & 0x01010101u;
		const uint32_t c = (bits >> (16 * half + 8) & 0xF) * 0x00204081u & 0x01010101u;
		const uint32_t d = (bits >> (16 * half + 12) & 0xF) * 0x00204081u & 0x01010101u;

#pragma unroll
		for (uint32_t q = 0; q < QUERIES; q++)
		{
			const uint4 of_query = bodies[q][code + half];

			sums[q] = add_products(a, of_query.x, sums[q]);
			sums[q] = add_products(b, of_query.y, sums[q]);
			sums[q] = add_products(c, of_query.z, sums[q]);
			sums[q] = add_products(d, of_query.w, sums[q]);
		}
	}
}

template <uint32_t QUERIES>
static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_rabitq_kernel(GenieCudaValueScan scan)
{
	__shared__ uint4 bodies[QUERIES][UNITS * CODES];
	const uint32_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint32_t first_query = blockIdx.x % n_groups * QUERIES;
	const uint32_t i = blockIdx.x / n_groups * THREADS + threadIdx.x;
	const bool	is_one = i < genie_cuda_value_n_looked_at(scan);
	const uint4 *record = genie_cuda_value_record(scan, scan.first_object + (is_one ? i : 0) * scan.stride);
	const uint32_t n_units = scan.n_units - 1;
	int			sums[QUERIES] = {};

	for (uint32_t first = 0; first < n_units; first += UNITS)
	{
		const uint32_t n = min(UNITS, n_units - first);

		__syncthreads();
		for (uint32_t c = threadIdx.x; c < QUERIES * n * CODES; c += THREADS)
		{
			const uint32_t q = c / (n * CODES);

			bodies[q][c % (n * CODES)] =
				scan.queries[min(first_query + q, scan.n_queries - 1)].body[first * CODES + c % (n * CODES)];
		}
		__syncthreads();
		for (uint32_t u = 0; u < n; u++)
		{
			const uint4 bits = record[1 + first + u];

			add_bits<QUERIES>(bits.x, bodies, u * CODES, sums);
			add_bits<QUERIES>(bits.y, bodies, u * CODES + 2, sums);
			add_bits<QUERIES>(bits.z, bodies, u * CODES + 4, sums);
			add_bits<QUERIES>(bits.w, bodies, u * CODES + 6, sums);
		}
	}
	if (!is_one)
		return;

	const uint4 head = record[0];

#pragma unroll
	for (uint32_t q = 0; q < QUERIES; q++)
		if (first_query + q < scan.n_queries)
		{
			const GenieCudaValueQuery &query = scan.queries[first_query + q];

			genie_cuda_value_put(scan, query, i,
								 key_of_object<PRODUCT>(scan.metric, query.is_known, query.constants, head, 0,
														sums[q]));
		}
}

template <uint32_t QUERIES>
static void
launch(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	const uint64_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint64_t n_blocks = n_groups * ((genie_cuda_value_n_looked_at(scan) + (uint64_t) THREADS - 1) / THREADS);

	if (n_blocks > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "a scan has more objects than a launch has blocks for");
	genie_cuda_value_rabitq_kernel<QUERIES><<<(uint32_t) n_blocks, THREADS, 0, stream>>>(scan);
	genie_cuda_check_launch("genie_cuda_value_rabitq_kernel");
}

void
genie_cuda_value_rabitq(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.n_queries == 1)
		launch<1>(scan, stream);
	else
		launch<GENIE_CUDA_VALUE_QUERIES>(scan, stream);
}

/*
 * genie_cuda_value_pivots.cu
 *	  The keys of a scan's objects for its queries, of distances to pivots: by the largest difference of two codes.
 *
 * Records are short.  So a thread has the codes of its record in registers, and a block many queries in shared memory,
 * which all threads read together.  Two codes of 16 bits are compared at a time.
 *
 * A key takes some operations of doubles, and few objects need one where there is a floor, or a smallest key: from it
 * follows a limit of the differences, and what is above it has no such key.  The limit is computed in floats, with more
 * room than they lose.
 */
#include "genie_cuda_value_bound.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_VALUE_THREADS;
constexpr uint32_t QUERIES = GENIE_CUDA_VALUE_PIVOT_QUERIES;

/* more than the roundings of a limit, relatively, and of its sum with an error */
constexpr float ROOM = 1 + 1e-4f;

static_assert(sizeof(GenieQuantized) == sizeof(uint4), "a record's header is a unit");

/* An object is not wanted if its largest difference is above of_key + of_error * its record's error. */
struct Limit
{
	float		of_key;
	float		of_error;
};

/*
 * The bound of an object that is wanted is below that of the next worse key.  (Pivots' bounds are scale * difference *
 * keep - errors.)  Of a query of which nothing is known, all objects are.
 */
static __device__ __forceinline__ Limit
limit_of(const GenieCudaValueQuery &query)
{
	const uint32_t floor = query.floor == nullptr ? 0 : (uint32_t) (query.floor->known >> 32);
	const uint32_t key = max(floor, query.min_key);
	const GenieValueConstants &constants = *query.constants;
	const double unit = constants.scale * constants.keep;

	if (!query.is_known || key == 0 || !(unit > 0))
		return Limit{INFINITY, 0};
	return Limit{(float) ((genie_cuda_value_key_bound(key - 1) + constants.error) / unit) * ROOM + 1,
				 (float) (1 / unit) * ROOM};
}

/* the larger ones of two numbers of 16 bits that are there, and of the differences of two codes */
static __device__ __forceinline__ uint32_t
keep_largest(uint32_t codes, uint32_t query, uint32_t largest)
{
#ifdef GENIE_CUDA_EMULATED
	uint32_t	result = 0;

	for (int i = 0; i < 32; i += 16)
	{
		const uint32_t apart = (uint32_t) abs((int) (codes >> i & 0xFFFF) - (int) (query >> i & 0xFFFF));

		result |= max(apart, largest >> i & 0xFFFF) << i;
	}
	return result;
#else
	/* no half of the one is below that of the other, so that nothing is borrowed */
	return __vmaxu2(__vmaxu2(codes, query) - __vminu2(codes, query), largest);
#endif
}

/* The same of two times two codes. */
static __device__ __forceinline__ uint32_t
keep_largest(uint2 codes, uint2 query, uint32_t largest)
{
	return keep_largest(codes.y, query.y, keep_largest(codes.x, query.x, largest));
}

static __device__ __forceinline__ uint32_t
key_of(const GenieCudaValueQuery &query, float error, uint32_t difference)
{
	ValueTerms	terms = {};
	ValueNumber bound = 0.0;

	terms.error = (double) error;
	terms.products = -(double) difference;
	if (query.is_known)
		bound = genie_value_bound(GENIE_METRIC_PIVOTS, query.constants, terms);
	return genie_cuda_value_key(__double2float_rd(bound.value));
}

/*
 * FOURS: of codes of a record, all of its units, whose bytes behind the last code are zeros; of a short one the half.
 * 0: any number of them, which no index has, are read again for each query.
 */
template <uint32_t FOURS>
static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_pivots_kernel(GenieCudaValueScan scan)
{
	__shared__ uint2 bodies[QUERIES * FOURS + 1];
	__shared__ Limit limits[QUERIES];
	const uint32_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint32_t first_query = blockIdx.x % n_groups * QUERIES;
	const uint32_t n_queries = min(QUERIES, scan.n_queries - first_query);
	const uint32_t i = blockIdx.x / n_groups * THREADS + threadIdx.x;
	const bool	is_one = i < genie_cuda_value_n_looked_at(scan);
	const uint4 *record = genie_cuda_value_record(scan, scan.first_object + (is_one ? i : 0) * scan.stride);
	const uint2 *of_record = (const uint2 *) (record + 1);
	const float error = __uint_as_float(record[0].z);
	uint2		codes[FOURS + 1];

	if constexpr (FOURS > 0)
	{
#pragma unroll
		for (uint32_t f = 0; f < FOURS; f++)
			codes[f] = of_record[f];
		for (uint32_t f = threadIdx.x; f < n_queries * FOURS; f += THREADS)
			bodies[f] = ((const uint2 *) scan.queries[first_query + f / FOURS].body)[f % FOURS];
	}
	for (uint32_t q = threadIdx.x; q < n_queries; q += THREADS)
		limits[q] = limit_of(scan.queries[first_query + q]);
	__syncthreads();
	if (!is_one)
		return;
	for (uint32_t q = 0; q < n_queries; q++)
	{
		const GenieCudaValueQuery &query = scan.queries[first_query + q];
		uint32_t	both = 0;

		if constexpr (FOURS > 0)
#pragma unroll
			for (uint32_t f = 0; f < FOURS; f++)
				both = keep_largest(codes[f], bodies[q * FOURS + f], both);
		else
			for (uint32_t f = 0; f < 2 * (scan.n_units - 1); f++)
				both = keep_largest(of_record[f], ((const uint2 *) query.body)[f], both);

		const uint32_t largest = max(both & 0xFFFF, both >> 16);

		if ((float) largest > limits[q].of_key + error * limits[q].of_error)
		{
			if (query.floor == nullptr)
				query.keys[i] = 0;
		}
		else
			genie_cuda_value_put(scan, query, i, key_of(query, error, largest));
	}
}

template <uint32_t FOURS>
static void
launch(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	const uint64_t n_groups = (scan.n_queries + QUERIES - 1) / QUERIES;
	const uint64_t n_blocks = n_groups * ((genie_cuda_value_n_looked_at(scan) + (uint64_t) THREADS - 1) / THREADS);

	if (n_blocks > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "a scan has more objects than a launch has blocks for");
	genie_cuda_value_pivots_kernel<FOURS><<<(uint32_t) n_blocks, THREADS, 0, stream>>>(scan);
	genie_cuda_check_launch("genie_cuda_value_pivots_kernel");
}

void
genie_cuda_value_pivots(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	if (scan.n_dimensions <= 8)
		return launch<1>(scan, stream);
	switch (scan.n_units - 1)
	{
		case 1:
			return launch<2>(scan, stream);
		case 2:
			return launch<4>(scan, stream);
		case 3:
			return launch<6>(scan, stream);
		case 4:
			return launch<8>(scan, stream);
		case 5:
			return launch<10>(scan, stream);
		case 6:
			return launch<12>(scan, stream);
		case 7:
			return launch<14>(scan, stream);
		case 8:
			return launch<16>(scan, stream);
		default:
			return launch<0>(scan, stream);
	}
}

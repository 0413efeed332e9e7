/*
 * genie_cuda_value_select.cu
 *	  The best k of a scan's objects by their keys, sorted by (key descending, object ascending).
 *
 * Candidates (genie_cuda_types.cuh) are 64-bit numbers that rank as they compare, and no two are equal.  A radix select
 * finds the k-th largest digit by digit, from the highest one down: a launch a digit, in which a query's blocks count
 * how many candidates have each value of it.  The block that ends last looks which value the k-th one has.  A query is
 * done when a digit separates exactly k, mostly when the key's three digits are known; later launches see that and end.
 * The digits of the object are for ties.
 *
 * Keys of 0 are not wanted, and are never counted.
 */
#include <cub/block/block_merge_sort.cuh>

#include <algorithm>

#include "genie_cuda_scan.cuh"
#include "genie_cuda_value_scan.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_VALUE_SELECT_THREADS;
constexpr uint32_t DIGITS = GENIE_CUDA_VALUE_DIGITS;
constexpr uint32_t EACH = DIGITS / THREADS;	/* values that a thread of the last block looks at */

constexpr uint32_t SORT_THREADS = GENIE_CUDA_TOP_THREADS;
constexpr int SORT_EACH = GENIE_CUDA_SORT_MAX / GENIE_CUDA_TOP_THREADS;

struct Digit
{
	uint32_t	shift;
	uint32_t	bits;
};

constexpr uint32_t FIRST_SHIFT = 52;

/* of a candidate, whose highest bit is 0 because keys have 31 bits */
static const Digit all_digits[] = {{FIRST_SHIFT, 11}, {42, 10}, {32, 10}, {21, 11}, {10, 11}, {0, 10}};

/* The smallest candidate of a key that is wanted. */
constexpr GenieCudaCandidate SMALLEST = (GenieCudaCandidate) 1 << 32;

/* Looks which value of the digit the k-th candidate has.  All threads of the last block call it together. */
static __device__ __forceinline__ void
find_digit(const GenieCudaValueQuery &query, Digit digit)
{
	__shared__ uint32_t sums[1][GENIE_CUDA_WARP];
	GenieCudaValueState *state = query.state;
	const uint32_t need = state->need;
	const uint32_t highest = DIGITS - 1 - threadIdx.x * EACH;	/* value of this thread; the first has the largest */
	uint32_t	n[EACH];
	uint32_t	before[1] = {0};
	uint32_t	total[1];
	uint32_t	mine = 0;

#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
	{
		n[i] = __ldcg(&query.histogram[highest - i]);
		mine += n[i];
		query.histogram[highest - i] = 0;
	}
	before[0] = mine;
	genie_cuda_block_scan<THREADS, 1>(before, total, sums);
	if (threadIdx.x == 0)
		state->n_blocks = 0;

	/* only of the first digit: fewer are wanted than there is room for */
	if (total[0] <= need && digit.shift == FIRST_SHIFT)
	{
		if (threadIdx.x == 0)
		{
			state->known = SMALLEST;
			state->done = 1;
		}
		return;
	}
	if (before[0] >= need || before[0] + mine < need)
		return;

	uint32_t	i = 0;
	uint32_t	left = need - before[0];

	for (; n[i] < left; i++)
		left -= n[i];
	state->known |= (GenieCudaCandidate) (highest - i) << digit.shift;
	state->need = left;
	state->done = n[i] == left;
}

static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_digit_kernel(GenieCudaValueScan scan, Digit digit)
{
	__shared__ uint32_t histogram[DIGITS];
	__shared__ bool is_last;
	const GenieCudaValueQuery &query = scan.queries[blockIdx.y];
	const uint32_t n_keys = genie_cuda_value_n_keys(scan, query);
	const GenieCudaCandidate known = query.state->known >> (digit.shift + digit.bits);

	if (query.state->done != 0)
		return;
	for (uint32_t i = threadIdx.x; i < DIGITS; i += THREADS)
		histogram[i] = 0;
	__syncthreads();
	for (uint64_t i = blockIdx.x * THREADS + threadIdx.x; i < n_keys; i += (uint64_t) gridDim.x * THREADS)
	{
		const uint32_t key = query.keys[i];
		const GenieCudaCandidate candidate = genie_cuda_candidate(key,
																  genie_cuda_value_object(scan, query, (uint32_t) i));

		if (key != 0 && candidate >> (digit.shift + digit.bits) == known)
			atomicAdd(&histogram[candidate >> digit.shift & ((1u << digit.bits) - 1)], 1);
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < DIGITS; i += THREADS)
		if (histogram[i] != 0)
			atomicAdd(&query.histogram[i], histogram[i]);
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		is_last = atomicAdd(&query.state->n_blocks, 1) == gridDim.x - 1;
	__syncthreads();
	if (!is_last)
		return;
	__threadfence();
	find_digit(query, digit);
}

/* Gathers the candidates that are not below what is known, in any order. */
static __global__ void
__launch_bounds__(THREADS) genie_cuda_value_gather_kernel(GenieCudaValueScan scan)
{
	const GenieCudaValueQuery &query = scan.queries[blockIdx.y];
	const uint32_t n_keys = genie_cuda_value_n_keys(scan, query);
	const GenieCudaCandidate known = query.state->known;

	for (uint64_t i = blockIdx.x * THREADS + threadIdx.x; i < n_keys; i += (uint64_t) gridDim.x * THREADS)
	{
		const uint32_t key = query.keys[i];
		const GenieCudaCandidate candidate = genie_cuda_candidate(key,
																  genie_cuda_value_object(scan, query, (uint32_t) i));

		if (key != 0 && candidate >= known)
			query.candidates[atomicAdd(&query.state->n, 1)] = candidate;
	}
}

/* A query's blocks. */
static uint32_t
blocks_of(const GenieCudaValueScan &scan)
{
	return std::min<uint32_t>((scan.n_keys + GENIE_CUDA_VALUE_SELECT_KEYS - 1) / GENIE_CUDA_VALUE_SELECT_KEYS,
							  GENIE_CUDA_VALUE_SELECT_BLOCKS);
}

void
genie_cuda_value_find(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	for (const Digit &digit : all_digits)
	{
		genie_cuda_value_digit_kernel<<<dim3(blocks_of(scan), scan.n_queries), THREADS, 0, stream>>>(scan, digit);
		genie_cuda_check_launch("genie_cuda_value_digit_kernel");
	}
}

static __global__ void
genie_cuda_value_mark_kernel(GenieCudaValueScan scan, GenieCudaValueState *floors)
{
	const uint32_t q = blockIdx.x * THREADS + threadIdx.x;

	if (q < scan.n_queries && (!scan.queries[q].is_known || floors[q].known <= SMALLEST))
	{
		/* few of the sample are wanted: so may be few of all, if not all are */
		const bool is_limited = scan.queries[q].is_known && scan.queries[q].min_key > 1;

		floors[q].known = is_limited ? (GenieCudaCandidate) scan.queries[q].min_key << 32 : UINT64_MAX;
		if (!is_limited)
			*scan.queries[q].n_objects = GENIE_CUDA_VALUE_ALL;
	}
}

void
genie_cuda_value_mark(const GenieCudaValueScan &scan, GenieCudaValueState *floors, cudaStream_t stream)
{
	genie_cuda_value_mark_kernel<<<(scan.n_queries + THREADS - 1) / THREADS, THREADS, 0, stream>>>(scan, floors);
	genie_cuda_check_launch("genie_cuda_value_mark_kernel");
}

void
genie_cuda_value_gather(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	genie_cuda_value_gather_kernel<<<dim3(blocks_of(scan), scan.n_queries), THREADS, 0, stream>>>(scan);
	genie_cuda_check_launch("genie_cuda_value_gather_kernel");
}

/* ---- sorting ---- */

static __device__ __forceinline__ GenieHit
candidate_hit(GenieCudaCandidate candidate)
{
	return GenieHit{(uint32_t) (candidate >> 32), UINT32_MAX - (uint32_t) candidate};
}

/* Hits are written in pairs, so that all bytes that are copied to the host have been written. */
static __device__ __forceinline__ uint32_t
even(uint32_t n)
{
	return (n + 1) & ~1u;
}

static __device__ __forceinline__ void
write_n_hits(const GenieCudaValueQuery &query, uint32_t n)
{
	*query.n_hits = make_uint4(n, query.n_objects == nullptr ? 0 : *query.n_objects, 0, 0);
}

struct RanksFirst
{
	__device__ __forceinline__ bool operator()(GenieCudaCandidate a, GenieCudaCandidate b) const
	{
		return a > b;
	}
};

typedef cub::BlockMergeSort<GenieCudaCandidate, SORT_THREADS, SORT_EACH> Sort;

static __global__ void
__launch_bounds__(SORT_THREADS) genie_cuda_value_sort_kernel(GenieCudaValueScan scan)
{
	__shared__ Sort::TempStorage shared;
	const GenieCudaValueQuery &query = scan.queries[blockIdx.x];
	const uint32_t n = query.state->n;
	const uint32_t first = threadIdx.x * SORT_EACH;
	GenieCudaCandidate mine[SORT_EACH];

#pragma unroll
	for (uint32_t i = 0; i < SORT_EACH; i++)
		mine[i] = first + i < n ? query.candidates[first + i] : 0;
	Sort(shared).Sort(mine, RanksFirst());
#pragma unroll
	for (uint32_t i = 0; i < SORT_EACH; i++)
		if (first + i < even(query.k))
			query.hits[first + i] = first + i < n ? candidate_hit(mine[i]) : GenieHit{0, 0};
	if (threadIdx.x == 0)
		write_n_hits(query, n);
}

static __global__ void
genie_cuda_value_ends_kernel(GenieCudaValueScan scan, const uint32_t *begins, uint32_t *ends)
{
	const uint32_t q = blockIdx.x * THREADS + threadIdx.x;

	if (q < scan.n_queries)
	{
		ends[q] = begins[q] + scan.queries[q].state->n;
		write_n_hits(scan.queries[q], scan.queries[q].state->n);
	}
}

static __global__ void
genie_cuda_value_hits_kernel(GenieCudaValueScan scan, const GenieCudaCandidate *sorted, const uint32_t *begins)
{
	const GenieCudaValueQuery &query = scan.queries[blockIdx.y];
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i < even(query.k))
		query.hits[i] = i < query.state->n ? candidate_hit(sorted[begins[blockIdx.y] + i]) : GenieHit{0, 0};
}

void
genie_cuda_value_sort_small(const GenieCudaValueScan &scan, cudaStream_t stream)
{
	genie_cuda_value_sort_kernel<<<scan.n_queries, SORT_THREADS, 0, stream>>>(scan);
	genie_cuda_check_launch("genie_cuda_value_sort_kernel");
}

void
genie_cuda_value_sort_large(const GenieCudaValueScan &scan, const GenieCudaSort &sort, cudaStream_t stream)
{
	genie_cuda_value_ends_kernel<<<(scan.n_queries + THREADS - 1) / THREADS, THREADS, 0, stream>>>(scan, sort.begins,
																								   sort.ends);
	genie_cuda_check_launch("genie_cuda_value_ends_kernel");
	genie_cuda_sort(sort, scan.n_queries, stream);
	genie_cuda_value_hits_kernel<<<dim3(GENIE_JOB_K_MAX / THREADS, scan.n_queries), THREADS, 0, stream>>>(scan, sort.to,
																										  sort.begins);
	genie_cuda_check_launch("genie_cuda_value_hits_kernel");
}

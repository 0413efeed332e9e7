/*
 * genie_cuda_top.cu
 *	  The best k of each query's candidates, exactly, sorted by (key descending, object ascending).
 *
 * A block a query, which selects the best (genie_cuda_select.cuh).
 *
 * Up to GENIE_CUDA_SORT_MAX of them are sorted by a bitonic network; more are gathered, sorted by CUB (a segment a
 * query) and then written as hits.
 *
 * The network.  Candidates of a query differ in few bits: those of the keys that come to the end, and those of objects'
 * numbers.  Where all of these fit a word, it is words that are sorted, EACH of a thread, which stay in registers: most
 * exchanges are within a thread or, by shuffles, within a warp, and few go through shared memory, which would have to
 * move eight bytes at each.  Where they do not fit, all exchanges are in shared memory.
 */
#include <cub/device/device_segmented_radix_sort.cuh>

#include "genie_cuda_error.cuh"
#include "genie_cuda_select.cuh"
#include "genie_cuda_top.cuh"

static __device__ __forceinline__ GenieHit
candidate_hit(GenieCudaCandidate candidate)
{
	GenieHit	hit;

	hit.key = (uint32_t) (candidate >> 32);
	hit.object = UINT32_MAX - (uint32_t) candidate;
	return hit;
}

/* Hits come in pairs, so that all bytes that are copied to the host were written. */
static __device__ __forceinline__ uint32_t
even(uint32_t n)
{
	return (n + 1) & ~1u;
}

/* Sorts n values, descending; n is a power of two.  All threads call it together. */
static __device__ void
sort_descending(GenieCudaCandidate *values, uint32_t n)
{
	for (uint32_t size = 2; size <= n; size *= 2)
		for (uint32_t step = size / 2; step > 0; step /= 2)
		{
			for (uint32_t i = threadIdx.x; i < n / 2; i += GENIE_CUDA_TOP_THREADS)
			{
				const uint32_t low = 2 * i - (i & (step - 1));
				const GenieCudaCandidate a = values[low];
				const GenieCudaCandidate b = values[low + step];

				if ((a < b) == ((low & size) == 0))
				{
					values[low] = b;
					values[low + step] = a;
				}
			}
			__syncthreads();
		}
}

/* words that a thread sorts: all that there can be, side by side */
constexpr uint32_t EACH = GENIE_CUDA_SORT_MAX / GENIE_CUDA_TOP_THREADS;

static_assert(EACH == 4, "a thread's words are a vector");

/* Exchanges a thread's words with those that are step words away, as the network for so many words wants it. */
static __device__ __forceinline__ void
exchange(uint32_t (&mine)[EACH], const uint32_t (&others)[EACH], uint32_t size, uint32_t step)
{
	/* size and step are multiples of EACH: the same for all of a thread's words */
	const uint32_t first = threadIdx.x * EACH;
	const bool	wants_larger = ((first & step) == 0) == ((first & size) == 0);

#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
		mine[i] = wants_larger ? max(mine[i], others[i]) : min(mine[i], others[i]);
}

/* The same within a thread, where the step is 1 or 2. */
template <uint32_t STEP>
static __device__ __forceinline__ void
exchange_within(uint32_t (&mine)[EACH], uint32_t size)
{
#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
	{
		const uint32_t larger = max(mine[i], mine[i ^ STEP]);
		const uint32_t smaller = min(mine[i], mine[i ^ STEP]);
		const bool	larger_first = ((threadIdx.x * EACH + i) & size) == 0;

		if ((i & STEP) == 0)
		{
			mine[i] = larger_first ? larger : smaller;
			mine[i ^ STEP] = larger_first ? smaller : larger;
		}
	}
}

/* Sorts n words, descending, EACH a thread; n is a power of two, and words behind them are 0. */
static __device__ void
sort_words(uint32_t (&mine)[EACH], uint32_t n, uint4 *room)
{
	uint32_t	others[EACH];

	for (uint32_t size = 2; size <= n; size *= 2)
		for (uint32_t step = size / 2; step > 0; step /= 2)
		{
			if (step == 1)
				exchange_within<1>(mine, size);
			if (step == 2)
				exchange_within<2>(mine, size);
			if (step < EACH)
				continue;
			if (step < EACH * GENIE_CUDA_WARP)
#pragma unroll
				for (uint32_t i = 0; i < EACH; i++)
					others[i] = __shfl_xor_sync(GENIE_CUDA_ALL_LANES, mine[i], step / EACH);
			else
			{
				__syncthreads();
				room[threadIdx.x] = make_uint4(mine[0], mine[1], mine[2], mine[3]);
				__syncthreads();

				const uint4 read = room[threadIdx.x ^ step / EACH];

				others[0] = read.x;
				others[1] = read.y;
				others[2] = read.z;
				others[3] = read.w;
			}
			exchange(mine, others, size, step);
		}
}

/* Candidates as words: the bits that they differ in, the keys' above the objects'. */
struct Packing
{
	GenieCudaCandidate common;	/* the other bits */
	GenieCudaCandidate low;		/* which bits of a candidate may differ: of objects */
	GenieCudaCandidate high;	/* of keys, from the lowest one on */
	uint32_t	n_low;

	__device__ uint32_t word(GenieCudaCandidate candidate) const
	{
		return (uint32_t) ((candidate >> 32 & high) << n_low | (candidate & low));
	}
	__device__ GenieCudaCandidate candidate(uint32_t word) const
	{
		return common | (GenieCudaCandidate) word >> n_low << 32 | (word & low);
	}
};

/* Finds how n > 0 candidates are packed; false: not in a word.  All threads call it together; differ is scratch. */
static __device__ bool
find_packing(const GenieCudaCandidate *candidates, uint32_t n, uint32_t (&differ)[2], Packing &packing)
{
	const GenieCudaCandidate first = candidates[0];
	GenieCudaCandidate bits = 0;
	uint32_t	low;
	uint32_t	high;
	uint32_t	n_high;

	if (threadIdx.x < 2)
		differ[threadIdx.x] = 0;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += GENIE_CUDA_TOP_THREADS)
		bits |= candidates[i] ^ first;
	low = genie_cuda_warp_or((uint32_t) bits);
	high = genie_cuda_warp_or((uint32_t) (bits >> 32));
	if (genie_cuda_lane() == 0)
	{
		atomicOr(&differ[0], low);
		atomicOr(&differ[1], high);
	}
	__syncthreads();
	packing.n_low = 32 - (uint32_t) __clz((int) differ[0]);
	n_high = 32 - (uint32_t) __clz((int) differ[1]);
	packing.low = ((GenieCudaCandidate) 1 << packing.n_low) - 1;
	packing.high = ((GenieCudaCandidate) 1 << n_high) - 1;
	packing.common = first & ~(packing.low | packing.high << 32);
	return packing.n_low + n_high <= 32;
}

static __device__ __forceinline__ uint32_t
power_of_two(uint32_t least)
{
	uint32_t	power = 1;

	while (power < least)
		power *= 2;
	return power;
}

/* Writes the hits by words; best, the candidates, is room for them after that. */
static __device__ void
write_by_words(const GenieCudaQuery &query, const Packing &packing, GenieCudaCandidate *best, uint32_t n_best)
{
	const uint32_t first = threadIdx.x * EACH;
	uint32_t	words[EACH];

#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
		words[i] = first + i < n_best ? packing.word(best[first + i]) : 0;
	__syncthreads();
	sort_words(words, power_of_two(n_best), (uint4 *) best);
#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
		if (first + i < even(query.k))
			query.hits[first + i] = first + i < n_best ? candidate_hit(packing.candidate(words[i])) : GenieHit{0, 0};
}

static __device__ void
write_in_memory(const GenieCudaQuery &query, GenieCudaCandidate *best, uint32_t n_best)
{
	const uint32_t padded = power_of_two(n_best);

	for (uint32_t i = n_best + threadIdx.x; i < padded; i += GENIE_CUDA_TOP_THREADS)
		best[i] = 0;
	__syncthreads();
	sort_descending(best, padded);
	for (uint32_t i = threadIdx.x; i < even(query.k); i += GENIE_CUDA_TOP_THREADS)
		query.hits[i] = i < n_best ? candidate_hit(best[i]) : GenieHit{0, 0};
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TOP_THREADS)
genie_cuda_top_small_kernel(const GenieCudaQuery *queries)
{
	__shared__ GenieCudaSelect shared;
	alignas(16) __shared__ GenieCudaCandidate best[GENIE_CUDA_SORT_MAX];
	__shared__ uint32_t differ[2];
	const GenieCudaQuery &query = queries[blockIdx.x];
	const uint32_t n = query.top->n;
	const uint32_t n_best = genie_cuda_gather(query, n, genie_cuda_kth_candidate(query, n, shared), best, shared);
	Packing		packing;

	if (n_best > 0 && find_packing(best, n_best, differ, packing))
		write_by_words(query, packing, best, n_best);
	else
		write_in_memory(query, best, n_best);
	if (threadIdx.x == 0)
		*query.n_hits = make_uint4(n_best, 0, 0, 0);
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TOP_THREADS)
genie_cuda_gather_kernel(const GenieCudaQuery *queries, const uint32_t *begins, uint32_t *ends)
{
	__shared__ GenieCudaSelect shared;
	const GenieCudaQuery &query = queries[blockIdx.x];
	const uint32_t n = query.top->n;
	const uint32_t n_best = genie_cuda_gather(query, n, genie_cuda_kth_candidate(query, n, shared), query.selected,
											  shared);

	if (threadIdx.x == 0)
	{
		ends[blockIdx.x] = begins[blockIdx.x] + n_best;
		*query.n_hits = make_uint4(n_best, 0, 0, 0);
	}
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TOP_THREADS)
genie_cuda_hits_kernel(const GenieCudaQuery *queries, const GenieCudaCandidate *sorted, const uint32_t *begins)
{
	const GenieCudaQuery &query = queries[blockIdx.y];
	const uint32_t i = blockIdx.x * GENIE_CUDA_TOP_THREADS + threadIdx.x;

	if (i < even(query.k))
		query.hits[i] = i < query.n_hits->x ? candidate_hit(sorted[begins[blockIdx.y] + i]) : GenieHit{0, 0};
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TOP_THREADS)
genie_cuda_carry_kernel(const GenieCudaQuery *queries, uint32_t last_object)
{
	__shared__ GenieCudaSelect shared;
	const GenieCudaQuery &query = queries[blockIdx.x];
	const uint32_t n = query.top->n;
	const GenieCudaCandidate bound = genie_cuda_kth_candidate(query, n, shared);

	if (n <= query.k)
		return;
	genie_cuda_gather(query, n, bound, query.selected, shared);
	for (uint32_t i = threadIdx.x; i < query.k; i += GENIE_CUDA_TOP_THREADS)
		query.candidates[i] = query.selected[i];
	if (threadIdx.x == 0)
	{
		query.top->n = query.k;

		/* where the select ended early the key's lower bytes are 0 and the bound is low, but true */
		atomicMax(&query.top->bound, genie_cuda_bound((uint32_t) (bound >> 32), last_object));
	}
}

void
genie_cuda_top_small(const GenieCudaQuery *queries, uint32_t n_queries, cudaStream_t stream)
{
	genie_cuda_top_small_kernel<<<n_queries, GENIE_CUDA_TOP_THREADS, 0, stream>>>(queries);
	genie_cuda_check_launch("genie_cuda_top_small_kernel");
}

size_t
genie_cuda_top_large_bytes(uint32_t n_queries, uint64_t n)
{
	size_t		bytes = 0;

	GENIE_CUDA_CHECK(cub::DeviceSegmentedRadixSort::SortKeysDescending(
		NULL, bytes, (const GenieCudaCandidate *) NULL, (GenieCudaCandidate *) NULL, (int64_t) n, (int64_t) n_queries,
		(const uint32_t *) NULL, (const uint32_t *) NULL));
	return bytes;
}

void
genie_cuda_top_large(const GenieCudaQuery *queries, uint32_t n_queries, const GenieCudaSort &sort, cudaStream_t stream)
{
	size_t		bytes = sort.temporary_bytes;

	genie_cuda_gather_kernel<<<n_queries, GENIE_CUDA_TOP_THREADS, 0, stream>>>(queries, sort.begins, sort.ends);
	genie_cuda_check_launch("genie_cuda_gather_kernel");
	GENIE_CUDA_CHECK(cub::DeviceSegmentedRadixSort::SortKeysDescending(
		sort.temporary, bytes, (const GenieCudaCandidate *) sort.from, sort.to, (int64_t) sort.n, (int64_t) n_queries,
		(const uint32_t *) sort.begins, (const uint32_t *) sort.ends, 0, 64, stream));
	genie_cuda_hits_kernel<<<dim3(GENIE_JOB_K_MAX / GENIE_CUDA_TOP_THREADS, n_queries), GENIE_CUDA_TOP_THREADS, 0,
		stream>>>(queries, sort.to, sort.begins);
	genie_cuda_check_launch("genie_cuda_hits_kernel");
}

void
genie_cuda_top_carry(const GenieCudaQuery *queries, uint32_t n_queries, uint32_t last_object, cudaStream_t stream)
{
	genie_cuda_carry_kernel<<<n_queries, GENIE_CUDA_TOP_THREADS, 0, stream>>>(queries, last_object);
	genie_cuda_check_launch("genie_cuda_carry_kernel");
}

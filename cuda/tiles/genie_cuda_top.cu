/*
 * genie_cuda_top.cu
 *	  The best k of each query's candidates, exactly, sorted by (key descending, object ascending).
 *
 * A block a query selects the best (genie_cuda_select.cuh).  Up to GENIE_CUDA_SORT_MAX of them are sorted in the same
 * block.  More are gathered, sorted by a launch over all queries, a segment each, and then written as hits.
 *
 * CUB sorts in both cases.  A sorting network in registers was neither faster nor slower (1,024 queries of k = 775:
 * 4.79 ms against 4.96; of k = 1,900: 7.32 against 6.92), and cub::BlockRadixSort takes 3 % longer for k = 100.
 */
#include <cub/block/block_merge_sort.cuh>

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

/* Hits are written in pairs, so that all bytes that are copied to the host have been written. */
static __device__ __forceinline__ uint32_t
even(uint32_t n)
{
	return (n + 1) & ~1u;
}

struct RanksFirst
{
	__device__ __forceinline__ bool operator()(GenieCudaCandidate a, GenieCudaCandidate b) const
	{
		return a > b;
	}
};

/*
 * candidates that a thread sorts, EACH: 1 where that is enough for the best k, else as many as for GENIE_CUDA_SORT_MAX
 */
template <int EACH>
using Sort = cub::BlockMergeSort<GenieCudaCandidate, GENIE_CUDA_TOP_THREADS, EACH>;

constexpr int EACH_MAX = GENIE_CUDA_SORT_MAX / GENIE_CUDA_TOP_THREADS;

union SortShared
{
	Sort<1>::TempStorage one;
	Sort<EACH_MAX>::TempStorage most;
};

/* Writes the query's hits.  All threads call it together. */
template <int EACH>
static __device__ __forceinline__ void
write_sorted(const GenieCudaQuery &query, const GenieCudaCandidate *best, uint32_t n_best,
			 typename Sort<EACH>::TempStorage &shared)
{
	const uint32_t first = threadIdx.x * EACH;
	GenieCudaCandidate mine[EACH];

#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
		mine[i] = first + i < n_best ? best[first + i] : 0;
	Sort<EACH>(shared).Sort(mine, RanksFirst());
#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
		if (first + i < even(query.k))
			query.hits[first + i] = first + i < n_best ? candidate_hit(mine[i]) : GenieHit{0, 0};
}

static __global__ void
__launch_bounds__(GENIE_CUDA_TOP_THREADS) genie_cuda_top_small_kernel(const GenieCudaQuery *queries)
{
	__shared__ GenieCudaSelect shared;
	__shared__ SortShared sort;
	__shared__ GenieCudaCandidate best[GENIE_CUDA_SORT_MAX];
	const GenieCudaQuery &query = queries[blockIdx.x];
	const uint32_t n = query.top->n;
	const uint32_t n_best = genie_cuda_gather(query, n, genie_cuda_kth_candidate(query, n, shared), best, shared);

	if (query.k <= GENIE_CUDA_TOP_THREADS)
		write_sorted<1>(query, best, n_best, sort.one);
	else
		write_sorted<EACH_MAX>(query, best, n_best, sort.most);
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
__launch_bounds__(GENIE_CUDA_TOP_THREADS) genie_cuda_carry_kernel(const GenieCudaQuery *queries, uint32_t last_object)
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

		/* if the select ended early, the key's lower bytes are 0: the bound is low, but true */
		atomicMax(&query.top->bound, genie_cuda_bound((uint32_t) (bound >> 32), last_object));
	}
}

void
genie_cuda_top_small(const GenieCudaQuery *queries, uint32_t n_queries, cudaStream_t stream)
{
	genie_cuda_top_small_kernel<<<n_queries, GENIE_CUDA_TOP_THREADS, 0, stream>>>(queries);
	genie_cuda_check_launch("genie_cuda_top_small_kernel");
}

void
genie_cuda_top_large(const GenieCudaQuery *queries, uint32_t n_queries, const GenieCudaSort &sort, cudaStream_t stream)
{
	genie_cuda_gather_kernel<<<n_queries, GENIE_CUDA_TOP_THREADS, 0, stream>>>(queries, sort.begins, sort.ends);
	genie_cuda_check_launch("genie_cuda_gather_kernel");
	genie_cuda_sort(sort, n_queries, stream);
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

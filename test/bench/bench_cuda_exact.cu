/*
 * bench_cuda_exact.cu
 *	  Exact search by distance on the GPU (bench_cuda_rivals.h): l1 by a plain tiled kernel, l2 by products of matrices.
 *
 * Points are compared in launches over more and more of them.  A launch gives a query those that are nearer than the
 * k-th of all launches before; between launches candidates are sorted and the best k stay.  As points come in no order,
 * a query gets some k * (GROWTH - 1) candidates a launch.  Of equal distances the smaller number is nearer.
 *
 * l1.	A block compares 128 points with 128 queries, a thread 8 with 8, 32 bytes at a time from shared memory: four
 *		differences are one instruction (vabsdiff4, with its sum added).
 * l2.	|p - q|^2 = |p|^2 - 2 pq + |q|^2, where pq is a product of matrices of bytes, less 128, which changes no
 *		distance: exact, in 32 bits.  cuBLAS writes the products of a block of points, a kernel reads them again.
 */
#include <algorithm>
#include <vector>

#include <cub/device/device_segmented_radix_sort.cuh>

#include "bench_cuda_cublas.cuh"
#include "bench_cuda_exact.h"
#include "bench_cuda_rivals.cuh"

constexpr uint32_t CAPACITY = 16384;	/* candidates of a query */
constexpr uint32_t FIRST = 8192;	/* points of the first launch, all of which are candidates */
constexpr uint32_t GROWTH = 8;
constexpr uint32_t THREADS = 256;

/* l1: points and queries of a block, of a thread, and words of them at a time */
constexpr uint32_t SIDE = 128;
constexpr uint32_t EACH = 8;
constexpr uint32_t DEPTH = 8;

static_assert(SIDE / EACH * (SIDE / EACH) == THREADS, "a thread compares EACH with EACH");
static_assert(SIDE * DEPTH == THREADS * 4, "a thread loads 4 words of each side");

/* key: distance << 32 | point */
typedef unsigned long long Candidate;

/* What a search works with, in device memory. */
struct Search
{
	DeviceArray<uint32_t> points;	/* row_words for each point; the queries follow */
	DeviceArray<uint32_t> lengths;	/* l2: |p|^2 */
	DeviceArray<int> products;	/* l2: of a block, query by query */
	DeviceArray<uint32_t> thresholds;	/* of the queries: nearer ones are wanted */
	DeviceArray<uint32_t> n;	/* candidates of the queries */
	DeviceArray<uint32_t> begins;
	DeviceArray<uint32_t> ends;
	DeviceArray<Candidate> candidates;
	DeviceArray<Candidate> sorted;
	DeviceArray<uint8_t> temporary;
	size_t		temporary_bytes = 0;
	uint32_t	row_words = 0;
};

/* ---- data ---- */

/* A thread a word; subtract: of each byte. */
static __global__ void
points_kernel(uint32_t *points, uint32_t n, uint32_t n_dimensions, uint32_t row_words, uint32_t subtract)
{
	const uint64_t i = (uint64_t) blockIdx.x * THREADS + threadIdx.x;
	const uint32_t point = (uint32_t) (i / row_words);
	uint32_t	word = 0;

	if (point >= n)
		return;
	for (uint32_t b = 0; b < 4; b++)
	{
		const uint32_t dimension = (uint32_t) (i % row_words) * 4 + b;

		if (dimension < n_dimensions)
			word |= ((bench_point_value(point, dimension) - subtract) & 0xFF) << (8 * b);
	}
	points[i] = word;
}

static __global__ void
lengths_kernel(const uint32_t *points, uint32_t n, uint32_t row_words, uint32_t *lengths)
{
	const uint32_t point = blockIdx.x * THREADS + threadIdx.x;
	int			sum = 0;

	if (point >= n)
		return;
	for (uint32_t w = 0; w < row_words; w++)
	{
		const int	word = (int) points[(size_t) point * row_words + w];

		sum = __dp4a(word, word, sum);
	}
	lengths[point] = (uint32_t) sum;
}

/* ---- candidates ---- */

static __device__ __forceinline__ void
offer(const uint32_t *thresholds, uint32_t *n, Candidate *candidates, uint32_t query, uint32_t point, uint32_t distance)
{
	if (distance < thresholds[query])
	{
		const uint32_t at = atomicAdd(&n[query], 1);

		if (at < CAPACITY)
			candidates[(size_t) query * CAPACITY + at] = (Candidate) distance << 32 | point;
	}
}

static __global__ void
ends_kernel(const uint32_t *n, uint32_t n_queries, uint32_t *begins, uint32_t *ends)
{
	const uint32_t query = blockIdx.x * THREADS + threadIdx.x;

	if (query >= n_queries)
		return;
	begins[query] = query * CAPACITY;
	ends[query] = query * CAPACITY + min(n[query], CAPACITY);
}

/* A block for each query: keeps the best k.  If candidates found no room, n stays, so that the host sees it. */
static __global__ void
keep_kernel(const Candidate *sorted, uint32_t k, uint32_t *thresholds, uint32_t *n, Candidate *candidates)
{
	const size_t first = (size_t) blockIdx.x * CAPACITY;
	const uint32_t kept = min(n[blockIdx.x], k);

	for (uint32_t i = threadIdx.x; i < kept; i += THREADS)
		candidates[first + i] = sorted[first + i];
	__syncthreads();
	if (threadIdx.x != 0 || n[blockIdx.x] > CAPACITY)
		return;
	if (n[blockIdx.x] >= k)
		thresholds[blockIdx.x] = (uint32_t) (sorted[first + k - 1] >> 32);
	n[blockIdx.x] = kept;
}

static const char *
settle(Search &search, const BenchExact &what)
{
	const uint32_t n_blocks = (what.n_queries + THREADS - 1) / THREADS;

	ends_kernel<<<n_blocks, THREADS>>>(search.n.memory, what.n_queries, search.begins.memory, search.ends.memory);
	BENCH_TRY(cudaGetLastError());
	BENCH_TRY(cub::DeviceSegmentedRadixSort::SortKeys(search.temporary.memory, search.temporary_bytes,
													  (const Candidate *) search.candidates.memory,
													  search.sorted.memory, (int64_t) what.n_queries * CAPACITY,
													  (int64_t) what.n_queries, (const uint32_t *) search.begins.memory,
													  (const uint32_t *) search.ends.memory));
	keep_kernel<<<what.n_queries, THREADS>>>(search.sorted.memory, what.k, search.thresholds.memory, search.n.memory,
											 search.candidates.memory);
	BENCH_TRY(cudaGetLastError());
	return nullptr;
}

/* ---- l1 ---- */

/* Copies 4 words of a row into two places of shared memory that lie across: words of all rows follow each other. */
static __device__ __forceinline__ void
store_across(uint32_t (*to)[SIDE], const uint4 &words)
{
	const uint32_t row = threadIdx.x / 2;
	const uint32_t first = threadIdx.x % 2 * 4;

	to[first][row] = words.x;
	to[first + 1][row] = words.y;
	to[first + 2][row] = words.z;
	to[first + 3][row] = words.w;
}

/* A block: points from first + blockIdx.y * SIDE, queries from blockIdx.x * SIDE on; past the end, the last. */
static __global__ void
__launch_bounds__(THREADS)
	l1_kernel(const uint32_t *points, const uint32_t *queries, uint32_t row_words, uint32_t first, uint32_t end,
			  uint32_t n_queries, const uint32_t *thresholds, uint32_t *n, Candidate *candidates)
{
	__shared__ uint32_t of_points[2][DEPTH][SIDE];
	__shared__ uint32_t of_queries[2][DEPTH][SIDE];
	const uint32_t point = first + blockIdx.y * SIDE;
	const uint32_t query = blockIdx.x * SIDE;
	const uint32_t row = threadIdx.x / 2;
	const uint32_t column = threadIdx.x % 2 * 4;
	const uint32_t *point_row = points + (size_t) min(point + row, end - 1) * row_words + column;
	const uint32_t *query_row = queries + (size_t) min(query + row, n_queries - 1) * row_words + column;
	const uint32_t p = threadIdx.x / (SIDE / EACH) * EACH;
	const uint32_t q = threadIdx.x % (SIDE / EACH) * EACH;
	uint32_t	sums[EACH][EACH] = {};
	uint32_t	turn = 0;

	store_across(of_points[0], *(const uint4 *) point_row);
	store_across(of_queries[0], *(const uint4 *) query_row);
	__syncthreads();
	for (uint32_t depth = DEPTH; depth <= row_words; depth += DEPTH, turn ^= 1)
	{
		uint4		next_point = make_uint4(0, 0, 0, 0);
		uint4		next_query = next_point;

		if (depth < row_words)
		{
			next_point = *(const uint4 *) (point_row + depth);
			next_query = *(const uint4 *) (query_row + depth);
		}
#pragma unroll
		for (uint32_t d = 0; d < DEPTH; d++)
		{
			uint32_t	a[EACH];
			uint32_t	b[EACH];

#pragma unroll
			for (uint32_t i = 0; i < EACH; i += 4)
			{
				*(uint4 *) &a[i] = *(const uint4 *) &of_points[turn][d][p + i];
				*(uint4 *) &b[i] = *(const uint4 *) &of_queries[turn][d][q + i];
			}
#pragma unroll
			for (uint32_t i = 0; i < EACH; i++)
#pragma unroll
				for (uint32_t j = 0; j < EACH; j++)
					asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;" : "+r"(sums[i][j]) : "r"(a[i]), "r"(b[j]));
		}
		if (depth < row_words)
		{
			store_across(of_points[turn ^ 1], next_point);
			store_across(of_queries[turn ^ 1], next_query);
		}
		__syncthreads();
	}
#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
#pragma unroll
		for (uint32_t j = 0; j < EACH; j++)
			if (point + p + i < end && query + q + j < n_queries)
				offer(thresholds, n, candidates, query + q + j, point + p + i, sums[i][j]);
}

/* ---- l2 ---- */

/* A thread four points of a block and a query; products: query by query, stride apart. */
static __global__ void
l2_kernel(const int *products, uint32_t stride, uint32_t first, uint32_t n_points, const uint32_t *lengths,
		  const uint32_t *query_lengths, const uint32_t *thresholds, uint32_t *n, Candidate *candidates)
{
	const uint32_t at = (blockIdx.x * THREADS + threadIdx.x) * 4;
	const uint32_t query = blockIdx.y;

	if (at >= n_points)
		return;

	const int4	four = *(const int4 *) (products + (size_t) query * stride + at);
	const int	product[4] = {four.x, four.y, four.z, four.w};

	for (uint32_t i = 0; i < 4 && at + i < n_points; i++)
		offer(thresholds, n, candidates, query, first + at + i,
			  lengths[first + at + i] + query_lengths[query] - 2 * (uint32_t) product[i]);
}

/* ---- searching ---- */

static const char *
compare_l1(Search &search, const BenchExact &what, uint32_t first, uint32_t end)
{
	const uint32_t *queries = search.points.memory + (size_t) what.n_points * search.row_words;
	const dim3	grid((what.n_queries + SIDE - 1) / SIDE, (end - first + SIDE - 1) / SIDE);

	l1_kernel<<<grid, THREADS>>>(search.points.memory, queries, search.row_words, first, end, what.n_queries,
								 search.thresholds.memory, search.n.memory, search.candidates.memory);
	BENCH_TRY(cudaGetLastError());
	return nullptr;
}

static const char *
compare_l2(Search &search, const BenchExact &what, const Cublas &cublas, uint32_t first, uint32_t end)
{
	const int8_t *points = (const int8_t *) search.points.memory;
	const size_t row_bytes = search.row_words * sizeof(uint32_t);
	const int	one = 1;
	const int	zero = 0;

	for (; first < end; first += what.block)
	{
		const uint32_t n = std::min(what.block, end - first);
		const dim3	grid((n + 4 * THREADS - 1) / (4 * THREADS), what.n_queries);

		/* multiples of four, as cuBLAS requires: other points, or the queries, follow */
		if (cublas.gemm(cublas.handle, CUBLAS_TRANSPOSED, CUBLAS_NOT_TRANSPOSED, (int) ((n + 3) / 4 * 4),
						(int) what.n_queries, (int) row_bytes, &one, points + first * row_bytes, CUDA_R_8I,
						(int) row_bytes, points + what.n_points * row_bytes, CUDA_R_8I, (int) row_bytes, &zero,
						search.products.memory, CUDA_R_32I, (int) what.block, CUBLAS_32_BIT_INTEGERS,
						CUBLAS_ANY_ALGORITHM) != 0)
			return "cuBLAS could not multiply";
		l2_kernel<<<grid, THREADS>>>(search.products.memory, what.block, first, n, search.lengths.memory,
									 search.lengths.memory + what.n_points, search.thresholds.memory, search.n.memory,
									 search.candidates.memory);
		BENCH_TRY(cudaGetLastError());
	}
	return nullptr;
}

static const char *
prepare(Search &search, const BenchExact &what)
{
	const uint32_t n = what.n_points + what.n_queries;
	uint64_t	n_words;

	search.row_words = (what.n_dimensions + 4 * DEPTH - 1) / (4 * DEPTH) * DEPTH;
	n_words = (uint64_t) n * search.row_words;
	BENCH_TRY(search.points.take(n_words));
	BENCH_TRY(search.thresholds.take(what.n_queries));
	BENCH_TRY(search.n.take(what.n_queries));
	BENCH_TRY(search.begins.take(what.n_queries));
	BENCH_TRY(search.ends.take(what.n_queries));
	BENCH_TRY(search.candidates.take((size_t) what.n_queries * CAPACITY));
	BENCH_TRY(search.sorted.take((size_t) what.n_queries * CAPACITY));
	BENCH_TRY(cub::DeviceSegmentedRadixSort::SortKeys(nullptr, search.temporary_bytes, (const Candidate *) nullptr,
													  (Candidate *) nullptr, (int64_t) what.n_queries * CAPACITY,
													  (int64_t) what.n_queries, (const uint32_t *) nullptr,
													  (const uint32_t *) nullptr));
	BENCH_TRY(search.temporary.take(search.temporary_bytes));
	points_kernel<<<(uint32_t) ((n_words + THREADS - 1) / THREADS), THREADS>>>(search.points.memory, n,
																			   what.n_dimensions, search.row_words,
																			   what.block == 0 ? 0 : 128);
	BENCH_TRY(cudaGetLastError());
	if (what.block > 0)
	{
		BENCH_TRY(search.lengths.take(n));
		BENCH_TRY(search.products.take((size_t) what.block * what.n_queries));
		lengths_kernel<<<(n + THREADS - 1) / THREADS, THREADS>>>(search.points.memory, n, search.row_words,
																 search.lengths.memory);
		BENCH_TRY(cudaGetLastError());
	}
	BENCH_TRY(cudaDeviceSynchronize());
	return nullptr;
}

/* One search; the hits are on the host when it returns. */
static const char *
search_once(Search &search, const BenchExact &what, const Cublas &cublas)
{
	std::vector<Candidate> hits((size_t) what.n_queries * what.k);
	std::vector<uint32_t> n(what.n_queries);
	uint64_t	end = FIRST;

	BENCH_TRY(cudaMemsetAsync(search.thresholds.memory, 0xFF, what.n_queries * sizeof(uint32_t)));
	BENCH_TRY(cudaMemsetAsync(search.n.memory, 0, what.n_queries * sizeof(uint32_t)));
	for (uint64_t first = 0; first < what.n_points; first = end, end *= GROWTH)
	{
		const char *error;

		end = std::min<uint64_t>(end, what.n_points);
		error = what.block == 0 ? compare_l1(search, what, (uint32_t) first, (uint32_t) end) :
								  compare_l2(search, what, cublas, (uint32_t) first, (uint32_t) end);
		if (error == nullptr)
			error = settle(search, what);
		if (error != nullptr)
			return error;
	}
	BENCH_TRY(cudaMemcpy2D(hits.data(), what.k * sizeof(Candidate), search.candidates.memory,
						   CAPACITY * sizeof(Candidate), what.k * sizeof(Candidate), what.n_queries,
						   cudaMemcpyDeviceToHost));
	BENCH_TRY(cudaMemcpy(n.data(), search.n.memory, n.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	if (*std::max_element(n.begin(), n.end()) > CAPACITY)
		return "candidates found no room";
	for (size_t i = 0; i < hits.size(); i++)
		what.hits[i] = GenieHit{(uint32_t) (hits[i] >> 32), (uint32_t) hits[i]};
	return nullptr;
}

const char *
bench_gpu_exact(const BenchExact *what, double *ms)
{
	Search		search;

	return bench_gpu_best(
		what->block > 0, ms, [&]() { return prepare(search, *what); },
		[&](const Cublas &cublas) { return search_once(search, *what, cublas); });
}

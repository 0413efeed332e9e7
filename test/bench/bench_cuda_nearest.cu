/*
 * bench_cuda_nearest.cu
 *	  Which points are near to which queries, in floats, of points on the device (bench_cuda_rivals.h): by the engine's
 *	  kernel, which keeps products in registers; and by cuBLAS, which writes them for a kernel that compares.
 *
 * Points are those of bench_cuda_exact.h as floats.  They are whole numbers and so are all sums, below 2^24: whoever
 * computes them, the pairs are the same.
 */
#include <algorithm>

#include "genie_cuda_nearest.cuh"

#include "bench_cuda_cublas.cuh"
#include "bench_cuda_exact.h"
#include "bench_cuda_rivals.cuh"

constexpr uint32_t THREADS = 256;
constexpr uint32_t FOUR = 4;

/* What a search works with, in device memory. */
struct Search
{
	DeviceArray<float> points;	/* the queries follow */
	DeviceArray<float> terms;	/* |p|^2 */
	DeviceArray<float> bounds;
	DeviceArray<float> products;	/* of a block, query by query */
	DeviceArray<GeniePair> pairs;
	DeviceArray<unsigned long long> n_pairs;
};

/* A thread a point or query. */
static __global__ void
points_kernel(float *points, float *terms, uint32_t n, uint32_t n_dimensions)
{
	const uint32_t point = blockIdx.x * THREADS + threadIdx.x;
	float		sum = 0;

	if (point >= n)
		return;
	for (uint32_t d = 0; d < n_dimensions; d++)
	{
		const float value = (float) bench_point_value(point, d);

		points[(size_t) point * n_dimensions + d] = value;
		sum += value * value;
	}
	terms[point] = sum;
}

/* A thread four points of a block and a query; products: query by query, stride apart. */
static __global__ void
compare_kernel(const float *products, uint32_t stride, uint32_t first, uint32_t n_points, GenieCudaNearest nearest)
{
	const uint32_t at = (blockIdx.x * THREADS + threadIdx.x) * FOUR;
	const uint32_t query = blockIdx.y;

	if (at >= n_points)
		return;

	const float4 four = *(const float4 *) (products + (size_t) query * stride + at);
	const float product[FOUR] = {four.x, four.y, four.z, four.w};

	for (uint32_t i = 0; i < FOUR && at + i < n_points; i++)
		if (!(nearest.of.terms[first + at + i] - 2 * product[i] > nearest.of.bounds[query]))
		{
			const unsigned long long place = atomicAdd(nearest.n_pairs, 1ull);

			if (place < nearest.room)
				nearest.pairs[place] = GeniePair{query, first + at + i};
		}
}

static const char *
multiply(const Search &search, const GenieCudaNearest &nearest, const Cublas &cublas, uint32_t block)
{
	const GenieNearest &of = nearest.of;
	const float one = 1;
	const float zero = 0;

	for (uint32_t first = 0; first < of.n_rows; first += block)
	{
		const uint32_t n = std::min(block, of.n_rows - first);
		const dim3	grid((n + FOUR * THREADS - 1) / (FOUR * THREADS), of.n_queries);

		if (cublas.gemm(cublas.handle, CUBLAS_TRANSPOSED, CUBLAS_NOT_TRANSPOSED, (int) n, (int) of.n_queries,
						(int) of.n_dimensions, &one, of.rows + (size_t) first * of.n_dimensions, CUDA_R_32F,
						(int) of.n_dimensions, of.queries, CUDA_R_32F, (int) of.n_dimensions, &zero,
						search.products.memory, CUDA_R_32F, (int) block, CUBLAS_FLOATS, CUBLAS_ANY_ALGORITHM) != 0)
			return "cuBLAS could not multiply";
		compare_kernel<<<grid, THREADS>>>(search.products.memory, block, first, n, nearest);
		BENCH_TRY(cudaGetLastError());
	}
	return nullptr;
}

static const char *
prepare(Search &search, const BenchNearest &what)
{
	const uint32_t n = what.n_points + what.n_queries;

	BENCH_TRY(search.points.take((size_t) n * what.n_dimensions));
	BENCH_TRY(search.terms.take(n));
	BENCH_TRY(search.bounds.take(what.n_queries));
	BENCH_TRY(search.products.take((size_t) what.block * what.n_queries));
	BENCH_TRY(search.pairs.take(what.room));
	BENCH_TRY(search.n_pairs.take(1));
	points_kernel<<<(n + THREADS - 1) / THREADS, THREADS>>>(search.points.memory, search.terms.memory, n,
															what.n_dimensions);
	BENCH_TRY(cudaGetLastError());
	BENCH_TRY(cudaMemcpy(search.bounds.memory, what.bounds, what.n_queries * sizeof(float), cudaMemcpyHostToDevice));
	BENCH_TRY(cudaDeviceSynchronize());
	return nullptr;
}

/* One search; the number of pairs is on the host when it returns. */
static const char *
search_once(const Search &search, BenchNearest &what, const Cublas &cublas)
{
	const float *queries = search.points.memory + (size_t) what.n_points * what.n_dimensions;
	const GenieNearest of = {false,   what.n_dimensions,    what.n_queries,       what.n_points,
							 queries, search.bounds.memory, search.points.memory, search.terms.memory};
	const GenieCudaNearest nearest = {of, search.pairs.memory, what.room, search.n_pairs.memory};
	const char *error = nullptr;

	BENCH_TRY(cudaMemsetAsync(search.n_pairs.memory, 0, sizeof(unsigned long long)));
	if (what.block > 0)
		error = multiply(search, nearest, cublas, what.block);
	else
		genie_cuda_nearest_launch(nearest, nullptr);
	BENCH_TRY(cudaMemcpy(&what.n_pairs, search.n_pairs.memory, sizeof(what.n_pairs), cudaMemcpyDeviceToHost));
	return error;
}

const char *
bench_gpu_nearest(BenchNearest *what, double *ms)
{
	Search		search;

	return bench_gpu_best(
		what->block > 0, ms, [&]() { return prepare(search, *what); },
		[&](const Cublas &cublas) { return search_once(search, *what, cublas); });
}

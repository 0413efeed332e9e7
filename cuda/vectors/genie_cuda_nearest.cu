/*
 * genie_cuda_nearest.cu
 *	  Estimates of distances for exact search: rows and queries go to the device, pairs come back.
 *
 * The kernel is a product of matrices whose result stays in registers.  A block has SIDE rows and SIDE queries.  It
 * goes through the dimensions in slices of DEPTH, which are transposed in shared memory, so that a thread finds the
 * elements of its rows side by side; the next slice is on its way meanwhile.  A thread has EACH rows and as many
 * queries: two fours of each, half a side apart, so that the threads of a warp read shared memory without conflicts.
 * At the end each thread compares its sums, and a warp that has pairs takes room for all of them by one addition.
 *
 * Why not cuBLAS: it would write its product, 8 bytes a pair with reading it again, only for the comparison; the sums
 * of l1 are no product; and the worker would have to load that library.  bench_cuda's part "exact" measures both.
 *
 * Elements are multiplied and added as floats: the proof of genie_knn.c holds for no shorter format (TF32).
 *
 * Elements behind a row's end are 0, which adds nothing to either sum.  Rows and queries behind the last one are the
 * last one again, and are left out at the end.
 */
#include <algorithm>
#include <cmath>

#include "genie_cuda_nearest.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_NEAREST_THREADS;
constexpr uint32_t SIDE = 128;
constexpr uint32_t EACH = 8;
constexpr uint32_t FOUR = 4;
constexpr uint32_t DEPTH = 8;
constexpr uint32_t ACROSS = SIDE / EACH;	/* threads along a side */
constexpr uint32_t LOADERS = DEPTH / FOUR;	/* threads that load a row's slice */

/* floats of a slice's row in shared memory: those that are stored together are in different banks */
constexpr uint32_t PADDED = SIDE + FOUR;

static_assert(ACROSS * ACROSS == THREADS, "a thread compares EACH rows with EACH queries");
static_assert(SIDE * LOADERS == THREADS, "a thread loads four elements of each side");
static_assert(EACH == 2 * FOUR, "a thread has two fours");
static_assert(EACH * EACH == 64, "a thread's pairs are bits of a word");
static_assert(PADDED % FOUR == 0, "fours are read at a time");

/* Four elements of a vector from column on, with zeros behind its end. */
static __device__ __forceinline__ float4
load_four(const float *vector, uint32_t column, uint32_t n_dimensions)
{
	float4		four = make_float4(0, 0, 0, 0);

	if (n_dimensions % FOUR == 0)
	{
		if (column < n_dimensions)
			four = *(const float4 *) (vector + column);
		return four;
	}
	if (column < n_dimensions)
		four.x = vector[column];
	if (column + 1 < n_dimensions)
		four.y = vector[column + 1];
	if (column + 2 < n_dimensions)
		four.z = vector[column + 2];
	if (column + 3 < n_dimensions)
		four.w = vector[column + 3];
	return four;
}

static __device__ __forceinline__ void
store_across(float (*to)[PADDED], uint32_t column, uint32_t row, const float4 &four)
{
	to[column][row] = four.x;
	to[column + 1][row] = four.y;
	to[column + 2][row] = four.z;
	to[column + 3][row] = four.w;
}

/* A thread's elements of a dimension: its two fours. */
static __device__ __forceinline__ void
read_fours(float (&to)[EACH], const float *from, uint32_t place)
{
	*(float4 *) &to[0] = *(const float4 *) &from[place * FOUR];
	*(float4 *) &to[FOUR] = *(const float4 *) &from[SIDE / 2 + place * FOUR];
}

/* The number on its side of a thread's vector i. */
static __device__ __forceinline__ uint32_t
number_of(uint32_t place, uint32_t i)
{
	return i / FOUR * (SIDE / 2) + place * FOUR + i % FOUR;
}

/* Appends a warp's pairs: those of each thread whose bits are set.  All threads of the warp call it together. */
static __device__ __forceinline__ void
append_pairs(const GenieCudaNearest &nearest, uint64_t wanted, uint32_t first_row, uint32_t first_query)
{
	const uint32_t thread = threadIdx.x % GENIE_CUDA_WARP;
	const uint32_t n = (uint32_t) __popcll(wanted);
	uint32_t	end = n;
	uint32_t	at = 0;

	if (!__any_sync(UINT32_MAX, wanted != 0))
		return;
	for (uint32_t step = 1; step < GENIE_CUDA_WARP; step *= 2)
	{
		const uint32_t before = __shfl_up_sync(UINT32_MAX, end, step);

		end += thread >= step ? before : 0;
	}
	if (thread == GENIE_CUDA_WARP - 1)
		at = (uint32_t) min(atomicAdd(nearest.n_pairs, (unsigned long long) end), (unsigned long long) nearest.room);
	at = __shfl_sync(UINT32_MAX, at, GENIE_CUDA_WARP - 1) + end - n;
	for (; wanted != 0 && at < nearest.room; wanted &= wanted - 1)
	{
		const uint32_t i = (uint32_t) __popcll((wanted & (0 - wanted)) - 1);

		nearest.pairs[at++] = GeniePair{first_query + number_of(threadIdx.x % ACROSS, i % EACH),
										first_row + number_of(threadIdx.x / ACROSS, i / EACH)};
	}
}

/* A block a tile of the product, queries first: blocks that run together share rows and find the queries in L2. */
template <bool DIFFERENCES>
static __global__ void
__launch_bounds__(THREADS, GENIE_CUDA_NEAREST_BLOCKS)
	genie_cuda_nearest_kernel(GenieCudaNearest nearest, uint32_t n_query_tiles)
{
	alignas(16) __shared__ float of_rows[2][DEPTH][PADDED];
	alignas(16) __shared__ float of_queries[2][DEPTH][PADDED];
	const GenieNearest &of = nearest.of;
	const uint32_t n_dimensions = of.n_dimensions;
	const uint32_t first_row = blockIdx.x / n_query_tiles * SIDE;
	const uint32_t first_query = blockIdx.x % n_query_tiles * SIDE;
	const uint32_t loaded = threadIdx.x / LOADERS;
	const uint32_t column = threadIdx.x % LOADERS * FOUR;
	const float *row = of.rows + (size_t) min(first_row + loaded, of.n_rows - 1) * n_dimensions;
	const float *query = of.queries + (size_t) min(first_query + loaded, of.n_queries - 1) * n_dimensions;
	float		sums[EACH][EACH] = {};
	uint64_t	wanted = 0;
	uint32_t	buffer = 0;

	store_across(of_rows[0], column, loaded, load_four(row, column, n_dimensions));
	store_across(of_queries[0], column, loaded, load_four(query, column, n_dimensions));
	__syncthreads();
	for (uint32_t next = DEPTH; next < n_dimensions + DEPTH; next += DEPTH, buffer ^= 1)
	{
		float4		next_row = make_float4(0, 0, 0, 0);
		float4		next_query = next_row;

		if (next < n_dimensions)
		{
			next_row = load_four(row, next + column, n_dimensions);
			next_query = load_four(query, next + column, n_dimensions);
		}
#pragma unroll
		for (uint32_t d = 0; d < DEPTH; d++)
		{
			float		p[EACH];
			float		q[EACH];

			read_fours(p, of_rows[buffer][d], threadIdx.x / ACROSS);
			read_fours(q, of_queries[buffer][d], threadIdx.x % ACROSS);
#pragma unroll
			for (uint32_t i = 0; i < EACH; i++)
#pragma unroll
				for (uint32_t j = 0; j < EACH; j++)
					sums[i][j] = DIFFERENCES ? sums[i][j] + fabsf(p[i] - q[j]) : fmaf(p[i], q[j], sums[i][j]);
		}
		if (next < n_dimensions)
		{
			store_across(of_rows[buffer ^ 1], column, loaded, next_row);
			store_across(of_queries[buffer ^ 1], column, loaded, next_query);
		}
		__syncthreads();
	}
#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
	{
		const uint32_t r = first_row + number_of(threadIdx.x / ACROSS, i);
		const float term = of.terms[min(r, of.n_rows - 1)];

#pragma unroll
		for (uint32_t j = 0; j < EACH; j++)
		{
			const uint32_t q = first_query + number_of(threadIdx.x % ACROSS, j);
			const float estimate = term + sums[i][j] * (DIFFERENCES ? 1.0f : -2.0f);

			/* not above; NaN is not above, either */
			if (r < of.n_rows && q < of.n_queries && !(estimate > of.bounds[q]))
				wanted |= UINT64_C(1) << (i * EACH + j);
		}
	}
	append_pairs(nearest, wanted, first_row, first_query);
}

void
genie_cuda_nearest_launch(const GenieCudaNearest &nearest, cudaStream_t stream)
{
	const uint32_t n_query_tiles = (nearest.of.n_queries + SIDE - 1) / SIDE;
	const uint64_t n_tiles = (uint64_t) n_query_tiles * ((nearest.of.n_rows + SIDE - 1) / SIDE);

	if (n_tiles > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "a search has more rows and queries than a launch has blocks for");
	if (nearest.of.differences)
		genie_cuda_nearest_kernel<true><<<(uint32_t) n_tiles, THREADS, 0, stream>>>(nearest, n_query_tiles);
	else
		genie_cuda_nearest_kernel<false><<<(uint32_t) n_tiles, THREADS, 0, stream>>>(nearest, n_query_tiles);
	genie_cuda_check_launch("genie_cuda_nearest_kernel");
}

/* ---- a job ---- */

/* Lays out what the job needs: first dry (device is NULL), then in the device's memory, to which it copies the data. */
static GenieCudaNearest
lay_out(const GenieJob &job, uint8_t *device, cudaStream_t stream, size_t &bytes)
{
	GenieCudaNearest nearest = {*job.nearest, nullptr, std::min(job.k, GENIE_CUDA_NEAREST_ROOM_MAX), nullptr};
	GenieCudaBuffer buffer(nullptr, device);

	nearest.of.queries = genie_cuda_bring(buffer, nearest.of.queries,
										  (size_t) nearest.of.n_queries * nearest.of.n_dimensions, stream);
	nearest.of.bounds = genie_cuda_bring(buffer, nearest.of.bounds, nearest.of.n_queries, stream);
	nearest.of.rows = genie_cuda_bring(buffer, nearest.of.rows, (size_t) nearest.of.n_rows * nearest.of.n_dimensions,
									   stream);
	nearest.of.terms = genie_cuda_bring(buffer, nearest.of.terms, nearest.of.n_rows, stream);
	nearest.n_pairs = buffer.take<unsigned long long>(1);
	nearest.pairs = buffer.take<GeniePair>(nearest.room);
	bytes = buffer.used;
	return nearest;
}

void
genie_cuda_nearest(const GenieCudaContext &context, GenieJob &job)
{
	size_t		bytes;
	GenieCudaNearest nearest = lay_out(job, nullptr, context.stream, bytes);
	unsigned long long *n_pairs = (unsigned long long *) context.memory.pinned(sizeof(*n_pairs));

	nearest = lay_out(job, context.scratch(bytes), context.stream, bytes);
	GENIE_CUDA_CHECK(cudaMemsetAsync(nearest.n_pairs, 0, sizeof(*n_pairs), context.stream));
	genie_cuda_nearest_launch(nearest, context.stream);
	GENIE_CUDA_CHECK(
		cudaMemcpyAsync(n_pairs, nearest.n_pairs, sizeof(*n_pairs), cudaMemcpyDeviceToHost, context.stream));
	GENIE_CUDA_CHECK(cudaStreamSynchronize(context.stream));
	job.n_hits = (uint32_t) std::min<unsigned long long>(*n_pairs, UINT32_MAX);
	GENIE_CUDA_CHECK(cudaMemcpyAsync(job.out, nearest.pairs, std::min(job.n_hits, nearest.room) * sizeof(GeniePair),
									 cudaMemcpyDeviceToHost, context.stream));
	GENIE_CUDA_CHECK(cudaStreamSynchronize(context.stream));
}

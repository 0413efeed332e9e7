/*
 * genie_cuda_hash.cu
 *	  Codes of vectors by hash functions: vectors and tables go to the device, codes come back.
 *
 * Of 1,024 vectors of 128 dimensions, 192 functions take an H200 0.19 ms, where one core takes 2.0 ms (l2), 10.4
 * (cosine of 4 bits) and 12.6 (Laplacian).  4,096 vectors by l2, a build's block, take 0.44 and 6.9.
 *
 * The kernel is a product of matrices, like that of genie_cuda_nearest.cu, but of doubles.  A block has SIDE vectors
 * and SIDE rows of the table (functions, or projections).  It goes through the dimensions in slices of DEPTH, which are
 * transposed in shared memory; the next slice is on its way meanwhile.  A thread has EACH vectors and as many rows: two
 * pairs of each, half a side apart.  So the threads of a warp, 8 along the vectors and 4 along the rows, read shared
 * memory without conflicts.  Elements become doubles when they are stored there: a conversion takes as long as four
 * products, and each element goes into SIDE of them.
 *
 * The bits are the same as on the CPU (genie_lsh_kernel.h).  A sum belongs to one thread, which begins with 0 and adds
 * in order of dimensions.  Factors are floats, so their products are exact as doubles, and the sum is rounded once,
 * fused or not.  Dimensions behind the last one, up to the end of a slice, add 0 * 0, which changes no sum.  (Tensor
 * cores multiply doubles, too, but do not define the order in which they add.)  Buckets are a quotient and a sum, each
 * rounded once as IEEE says.  The conversion turns numbers beyond int32 into the nearest one.  Nothing is NaN.
 *
 * Random binning (LAPLACIAN) has the same loop, but instead of a product there is the cell of one dimension, a number
 * that goes into the state of a hash.  Its definition has the same order of dimensions.  Behind the last dimension
 * there are no steps.
 *
 * Vectors and rows behind the last one are zeros, and are left out at the end.
 */
#include <cmath>

#include "genie_cuda_hash.cuh"
#include "genie_murmur.h"

constexpr uint32_t THREADS = GENIE_CUDA_HASH_THREADS;
constexpr uint32_t SIDE = 64;
constexpr uint32_t EACH = 4;
constexpr uint32_t PAIR = 2;
constexpr uint32_t DEPTH = 8;
constexpr uint32_t GROUPS = SIDE / GENIE_LSH_GROUP; /* of a block */
constexpr uint32_t ALONG = 8;	/* threads of a warp along the vectors */
constexpr uint32_t DOWN = GENIE_CUDA_WARP / ALONG;	/* threads of a warp along the rows */
constexpr uint32_t WARPS_ALONG = SIDE / EACH / ALONG;
constexpr uint32_t LOADS = SIDE * DEPTH / THREADS;	/* numbers of each side that a thread loads */

/* doubles of a slice's row in shared memory: it begins 4 banks further than the row before */
constexpr uint32_t PADDED = SIDE + PAIR;

static_assert(SIDE / EACH * (SIDE / EACH) == THREADS, "a thread has EACH vectors and EACH rows");
static_assert(EACH == 2 * PAIR, "a thread has two pairs");
static_assert(GENIE_LSH_GROUP % EACH == 0 && SIDE % GENIE_LSH_GROUP == 0, "a block has whole groups");
static_assert(DEPTH % LOADS == 0, "a thread loads neighbours of one vector");

/* A block's slices. */
template <uint32_t N>
struct Slices
{
	double		vectors[2][DEPTH][PADDED];
	double		table[2][DEPTH][N][PADDED];
};

/* What a thread loads of a slice. */
template <uint32_t N>
struct Loaded
{
	float		elements[LOADS];
	float		entries[LOADS * N];
};

/* Loads the numbers of the slice that begins with dimension d.  A row of the table has N numbers a dimension. */
template <uint32_t N>
static __device__ __forceinline__ void
load_slice(Loaded<N> &loaded, const GenieHashing &of, uint32_t first_vector, uint32_t first_group, uint32_t d)
{
	const uint32_t n_dimensions = of.parameters.n_dimensions;
	const uint32_t vector = first_vector + threadIdx.x / (DEPTH / LOADS);
	const uint32_t column = d + threadIdx.x % (DEPTH / LOADS) * LOADS;

#pragma unroll
	for (uint32_t i = 0; i < LOADS; i++)
		loaded.elements[i] = vector < of.n_vectors && column + i < n_dimensions ?
			of.vectors[(size_t) vector * n_dimensions + column + i] :
			0;
#pragma unroll
	for (uint32_t i = 0; i < LOADS * N; i++)
	{
		const uint32_t at = i * THREADS + threadIdx.x;
		const uint32_t group = first_group + at / (DEPTH * N * GENIE_LSH_GROUP);
		const uint32_t place = at % (DEPTH * N * GENIE_LSH_GROUP);

		loaded.entries[i] = group < of.n_groups && d + place / (N * GENIE_LSH_GROUP) < n_dimensions ?
			of.table[((size_t) group * n_dimensions + d) * N * GENIE_LSH_GROUP + place] :
			0;
	}
}

template <uint32_t N>
static __device__ __forceinline__ void
store_slice(Slices<N> &slices, uint32_t buffer, const Loaded<N> &loaded)
{
	const uint32_t column = threadIdx.x % (DEPTH / LOADS) * LOADS;

#pragma unroll
	for (uint32_t i = 0; i < LOADS; i++)
		slices.vectors[buffer][column + i][threadIdx.x / (DEPTH / LOADS)] = loaded.elements[i];
#pragma unroll
	for (uint32_t i = 0; i < LOADS * N; i++)
	{
		const uint32_t at = i * THREADS + threadIdx.x;
		const uint32_t group = at / (DEPTH * N * GENIE_LSH_GROUP);
		const uint32_t place = at % (DEPTH * N * GENIE_LSH_GROUP);

		slices.table[buffer][place / (N * GENIE_LSH_GROUP)][place / GENIE_LSH_GROUP % N]
					[group * GENIE_LSH_GROUP + place % GENIE_LSH_GROUP] = loaded.entries[i];
	}
}

/* A thread's numbers of a side: its two pairs. */
static __device__ __forceinline__ void
read_pairs(double (&to)[EACH], const double *from, uint32_t place)
{
	*(double2 *) &to[0] = *(const double2 *) &from[place * PAIR];
	*(double2 *) &to[PAIR] = *(const double2 *) &from[SIDE / 2 + place * PAIR];
}

/* The number on its side of a thread's vector or row i. */
static __device__ __forceinline__ uint32_t
number_of(uint32_t place, uint32_t i)
{
	return i / PAIR * (SIDE / 2) + place * PAIR + i % PAIR;
}

/* The hash of a code's words, as finish_code() in genie_lsh.c. */
static __device__ __forceinline__ int32_t
finish_code(const GenieHashing &of, uint32_t state, uint32_t n_words)
{
	const uint32_t hash = genie_murmur_finish(state, n_words);

	return (int32_t) (of.parameters.n_buckets == 0 ? hash : __umulhi(hash, of.parameters.n_buckets));
}

/* A thread's value of a vector and a row.  For projections it is a sum, which becomes a code. */
struct Projection
{
	static constexpr uint32_t NUMBERS = 1;
	double		sum;

	__device__ __forceinline__ void begin(const GenieHashing &, uint32_t)
	{
		sum = 0;
	}

	__device__ __forceinline__ void add(double entry, double, double element, bool)
	{
		sum = fma(entry, element, sum);
	}

	/* codes are the vector's.  If a code has several bits, which may be several threads', it was 0 before. */
	__device__ __forceinline__ void finish(const GenieHashing &of, uint32_t row, uint32_t n_bits, int32_t *codes)
	{
		int32_t		code;

		if (n_bits > 1)
		{
			if (sum >= 0)
				atomicOr(&codes[row / n_bits], 1 << row % n_bits);
			return;
		}
		if (of.parameters.family == GENIE_LSH_COSINE)
		{
			codes[row] = sum >= 0;
			return;
		}
		code = __double2int_rd(sum / of.parameters.width + of.shifts[row]);
		codes[row] = of.parameters.n_buckets == 0 ?
			code :
			finish_code(of, genie_murmur_step(of.seeds[row], (uint32_t) code), 1);
	}
};

/* For random binning it is the state of a hash. */
struct Binning
{
	static constexpr uint32_t NUMBERS = 2;
	uint32_t	state;

	__device__ __forceinline__ void begin(const GenieHashing &of, uint32_t row)
	{
		state = of.seeds[row];
	}

	__device__ __forceinline__ void add(double inverse, double shift, double element, bool is_dimension)
	{
		const int32_t cell = __double2int_rd(fma(inverse, element, shift));

		if (is_dimension)
			state = genie_murmur_step(state, (uint32_t) cell);
	}

	__device__ __forceinline__ void finish(const GenieHashing &of, uint32_t row, uint32_t, int32_t *codes)
	{
		codes[row] = finish_code(of, state, of.parameters.n_dimensions);
	}
};

/* Bits of a code, which is also the number of a function's rows. */
static __host__ __device__ __forceinline__ uint32_t
bits_of_code(const GenieLshParameters &parameters)
{
	return parameters.family == GENIE_LSH_COSINE ? (uint32_t) parameters.width : 1;
}

/* A block a tile of the product, rows first: blocks that run together share vectors and find the table in L2. */
template <class PART>
static __global__ void
__launch_bounds__(THREADS, GENIE_CUDA_HASH_BLOCKS) genie_cuda_hash_kernel(GenieCudaHash hash, uint32_t n_row_tiles)
{
	constexpr uint32_t N = PART::NUMBERS;
	alignas(16) __shared__ Slices<N> slices;
	const GenieHashing &of = hash.of;
	const uint32_t n_dimensions = of.parameters.n_dimensions;
	const uint32_t n_rows = of.n_groups * GENIE_LSH_GROUP;
	const uint32_t n_bits = bits_of_code(of.parameters);
	const uint32_t first_vector = blockIdx.x / n_row_tiles * SIDE;
	const uint32_t first_row = blockIdx.x % n_row_tiles * SIDE;
	const uint32_t warp = threadIdx.x / GENIE_CUDA_WARP;
	const uint32_t thread = threadIdx.x % GENIE_CUDA_WARP;
	const uint32_t along = warp % WARPS_ALONG * ALONG + thread % ALONG;
	const uint32_t down = warp / WARPS_ALONG * DOWN + thread / ALONG;
	PART		parts[EACH][EACH];
	Loaded<N>	loaded;
	uint32_t	buffer = 0;

#pragma unroll
	for (uint32_t j = 0; j < EACH; j++)
#pragma unroll
		for (uint32_t i = 0; i < EACH; i++)
			parts[i][j].begin(of, min(first_row + number_of(down, j), n_rows - 1));
	load_slice(loaded, of, first_vector, first_row / GENIE_LSH_GROUP, 0);
	store_slice(slices, 0, loaded);
	__syncthreads();
	for (uint32_t begin = 0; begin < n_dimensions; begin += DEPTH, buffer ^= 1)
	{
		const bool	has_next = begin + DEPTH < n_dimensions;

		if (has_next)
			load_slice(loaded, of, first_vector, first_row / GENIE_LSH_GROUP, begin + DEPTH);
#pragma unroll
		for (uint32_t d = 0; d < DEPTH; d++)
		{
			double		elements[EACH];
			double		entries[N][EACH];

			read_pairs(elements, slices.vectors[buffer][d], along);
#pragma unroll
			for (uint32_t n = 0; n < N; n++)
				read_pairs(entries[n], slices.table[buffer][d][n], down);
#pragma unroll
			for (uint32_t i = 0; i < EACH; i++)
#pragma unroll
				for (uint32_t j = 0; j < EACH; j++)
					parts[i][j].add(entries[0][j], entries[N - 1][j], elements[i], begin + d < n_dimensions);
		}
		if (has_next)
			store_slice(slices, buffer ^ 1, loaded);
		__syncthreads();
	}
#pragma unroll
	for (uint32_t i = 0; i < EACH; i++)
	{
		const uint32_t vector = first_vector + number_of(along, i);

#pragma unroll
		for (uint32_t j = 0; j < EACH; j++)
		{
			const uint32_t row = first_row + number_of(down, j);

			if (vector < of.n_vectors && row / n_bits < of.parameters.n_functions)
				parts[i][j].finish(of, row, n_bits, hash.codes + (size_t) vector * of.parameters.n_functions);
		}
	}
}

void
genie_cuda_hash_launch(const GenieCudaHash &hash, cudaStream_t stream)
{
	const uint32_t n_row_tiles = (hash.of.n_groups + GROUPS - 1) / GROUPS;
	const uint64_t n_tiles = (uint64_t) n_row_tiles * (((uint64_t) hash.of.n_vectors + SIDE - 1) / SIDE);

	if (n_tiles > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "more vectors are to be hashed than a launch has blocks for");
	if (bits_of_code(hash.of.parameters) > 1)
		GENIE_CUDA_CHECK(cudaMemsetAsync(hash.codes, 0, genie_hashing_codes(&hash.of) * sizeof(int32_t), stream));
	if (hash.of.parameters.family == GENIE_LSH_LAPLACIAN)
		genie_cuda_hash_kernel<Binning><<<(uint32_t) n_tiles, THREADS, 0, stream>>>(hash, n_row_tiles);
	else
		genie_cuda_hash_kernel<Projection><<<(uint32_t) n_tiles, THREADS, 0, stream>>>(hash, n_row_tiles);
	genie_cuda_check_launch("genie_cuda_hash_kernel");
}

/* ---- a job ---- */

/* Lays out what the job needs: first dry (device is NULL), then in the device's memory, to which it copies the data. */
static GenieCudaHash
lay_out(const GenieJob &job, uint8_t *device, cudaStream_t stream, size_t &bytes)
{
	GenieCudaHash hash = {*job.hashing, nullptr};
	GenieCudaBuffer buffer(nullptr, device);

	hash.of.vectors = genie_cuda_bring(buffer, hash.of.vectors, genie_hashing_elements(&hash.of), stream);
	hash.of.table = genie_cuda_bring(buffer, hash.of.table, genie_hashing_entries(&hash.of), stream);
	if (hash.of.shifts != nullptr)
		hash.of.shifts = genie_cuda_bring(buffer, hash.of.shifts, genie_hashing_rows(&hash.of), stream);
	hash.of.seeds = genie_cuda_bring(buffer, hash.of.seeds, genie_hashing_rows(&hash.of), stream);
	hash.codes = buffer.take<int32_t>(genie_hashing_codes(&hash.of));
	bytes = buffer.used;
	return hash;
}

void
genie_cuda_hash(const GenieCudaContext &context, GenieJob &job)
{
	size_t		bytes;
	GenieCudaHash hash = lay_out(job, nullptr, context.stream, bytes);

	hash = lay_out(job, context.scratch(bytes), context.stream, bytes);
	genie_cuda_hash_launch(hash, context.stream);
	GENIE_CUDA_CHECK(cudaMemcpyAsync(job.out, hash.codes, genie_hashing_codes(&hash.of) * sizeof(int32_t),
									 cudaMemcpyDeviceToHost, context.stream));
	GENIE_CUDA_CHECK(cudaStreamSynchronize(context.stream));
}

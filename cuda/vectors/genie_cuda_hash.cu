/*
 * genie_cuda_hash.cu
 *	  Codes of vectors by hash functions: vectors and tables go to the device, codes come back.
 *
 * The kernel is a product of matrices, as that of genie_cuda_nearest.cu, but of doubles.  A block has SIDE vectors and
 * SIDE rows of the table (functions, or projections), and goes through the dimensions by slices of DEPTH, which lie
 * across in shared memory; the next slice is on its way meanwhile.  A thread has EACH vectors and as many rows: two
 * pairs of each, half a side apart, so that the threads of a warp, 8 along the vectors and 4 along the rows, read
 * shared memory without conflicts.  Elements become doubles when they are stored there: a conversion takes as long as
 * four products, and each element goes into SIDE of them.
 *
 * The same bits as on the CPU (genie_lsh_kernel.h).  A sum belongs to one thread, which adds in order of dimensions,
 * and begins with 0.  Factors are floats, so products are exact as doubles, and fused or not the sum is rounded once.
 * Dimensions behind the last, up to the end of a slice, add 0 * 0, which changes no sum.  (Tensor cores multiply
 * doubles, too, but do not say in which order they add.)  Buckets are a quotient and a sum, each rounded once, as IEEE
 * wants it, and numbers beyond int32 become the nearest one: the conversion does this by itself.  Nothing is NaN.
 *
 * Random binning (LAPLACIAN) has the same loop, but its product is a cell of one dimension, a number that goes into the
 * state of a hash: one step behind the other, so here the order of dimensions is the definition's.  Behind the last
 * dimension there are no steps.
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
constexpr uint32_t ALONG = 8;	/* threads of a warp along the vectors, */
constexpr uint32_t DOWN = GENIE_CUDA_WARP / ALONG;	/* and along the rows */
constexpr uint32_t WARPS_ALONG = SIDE / EACH / ALONG;
constexpr uint32_t LOADS = SIDE * DEPTH / THREADS;	/* numbers of each side that a thread loads */

/* a slice's row of shared memory: its doubles are 4 banks further than those of the row before */
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

/* What a thread brings of a slice. */
template <uint32_t N>
struct Loaded
{
	float		elements[LOADS];
	float		entries[LOADS * N];
};

/* The numbers of the slice that begins with dimension d; N: numbers that a row has of each dimension. */
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
			of.vectors[(size_t) vector * n_dimensions + column + i] : 0;
#pragma unroll
	for (uint32_t i = 0; i < LOADS * N; i++)
	{
		const uint32_t at = i * THREADS + threadIdx.x;
		const uint32_t group = first_group + at / (DEPTH * N * GENIE_LSH_GROUP);
		const uint32_t place = at % (DEPTH * N * GENIE_LSH_GROUP);

		loaded.entries[i] = group < of.n_groups && d + place / (N * GENIE_LSH_GROUP) < n_dimensions ?
			of.table[((size_t) group * n_dimensions + d) * N * GENIE_LSH_GROUP + place] : 0;
	}
}

template <uint32_t N>
static __device__ __forceinline__ void
store_slice(Slices<N> &slices, uint32_t turn, const Loaded<N> &loaded)
{
	const uint32_t column = threadIdx.x % (DEPTH / LOADS) * LOADS;

#pragma unroll
	for (uint32_t i = 0; i < LOADS; i++)
		slices.vectors[turn][column + i][threadIdx.x / (DEPTH / LOADS)] = loaded.elements[i];
#pragma unroll
	for (uint32_t i = 0; i < LOADS * N; i++)
	{
		const uint32_t at = i * THREADS + threadIdx.x;
		const uint32_t group = at / (DEPTH * N * GENIE_LSH_GROUP);
		const uint32_t place = at % (DEPTH * N * GENIE_LSH_GROUP);

		slices.table[turn][place / (N * GENIE_LSH_GROUP)][place / GENIE_LSH_GROUP % N]
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

/* Which of a side's is number i of those of a thread? */
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

/* What a thread has of a vector and a row: projections are summed up, and become codes. */
struct Projection
{
	static constexpr uint32_t NUMBERS = 1;
	double		sum;

	__device__ __forceinline__ void
	begin(const GenieHashing &, uint32_t)
	{
		sum = 0;
	}

	__device__ __forceinline__ void
	add(double entry, double, double element, bool)
	{
		sum = fma(entry, element, sum);
	}

	/* codes are the vector's, and 0 before where they have several bits: those may be several threads' */
	__device__ __forceinline__ void
	finish(const GenieHashing &of, uint32_t row, uint32_t n_bits, int32_t *codes)
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
		codes[row] = of.parameters.n_buckets == 0 ? code :
			finish_code(of, genie_murmur_step(of.seeds[row], (uint32_t) code), 1);
	}
};

/* Or cells go into the state of a hash. */
struct Binning
{
	static constexpr uint32_t NUMBERS = 2;
	uint32_t	state;

	__device__ __forceinline__ void
	begin(const GenieHashing &of, uint32_t row)
	{
		state = of.seeds[row];
	}

	__device__ __forceinline__ void
	add(double inverse, double shift, double element, bool is_dimension)
	{
		const int32_t cell = __double2int_rd(fma(inverse, element, shift));

		if (is_dimension)
			state = genie_murmur_step(state, (uint32_t) cell);
	}

	__device__ __forceinline__ void
	finish(const GenieHashing &of, uint32_t row, uint32_t, int32_t *codes)
	{
		codes[row] = finish_code(of, state, of.parameters.n_dimensions);
	}
};

/* Bits of a code, and rows of a function. */
static __host__ __device__ __forceinline__ uint32_t
bits_of_code(const GenieLshParameters &parameters)
{
	return parameters.family == GENIE_LSH_COSINE ? (uint32_t) parameters.width : 1;
}

/* A block a tile: of the rows first, so that blocks that run together share vectors, and find the table in L2. */
template <class PART>
static __global__ void
__launch_bounds__(THREADS, GENIE_CUDA_HASH_BLOCKS)
genie_cuda_hash_kernel(GenieCudaHash hash, uint32_t n_row_tiles)
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
	const uint32_t lane = threadIdx.x % GENIE_CUDA_WARP;
	const uint32_t along = warp % WARPS_ALONG * ALONG + lane % ALONG;
	const uint32_t down = warp / WARPS_ALONG * DOWN + lane / ALONG;
	PART		parts[EACH][EACH];
	Loaded<N>	loaded;
	uint32_t	turn = 0;

#pragma unroll
	for (uint32_t j = 0; j < EACH; j++)
#pragma unroll
		for (uint32_t i = 0; i < EACH; i++)
			parts[i][j].begin(of, min(first_row + number_of(down, j), n_rows - 1));
	load_slice(loaded, of, first_vector, first_row / GENIE_LSH_GROUP, 0);
	store_slice(slices, 0, loaded);
	__syncthreads();
	for (uint32_t begin = 0; begin < n_dimensions; begin += DEPTH, turn ^= 1)
	{
		const bool	has_next = begin + DEPTH < n_dimensions;

		if (has_next)
			load_slice(loaded, of, first_vector, first_row / GENIE_LSH_GROUP, begin + DEPTH);
#pragma unroll
		for (uint32_t d = 0; d < DEPTH; d++)
		{
			double		elements[EACH];
			double		entries[N][EACH];

			read_pairs(elements, slices.vectors[turn][d], along);
#pragma unroll
			for (uint32_t n = 0; n < N; n++)
				read_pairs(entries[n], slices.table[turn][d][n], down);
#pragma unroll
			for (uint32_t i = 0; i < EACH; i++)
#pragma unroll
				for (uint32_t j = 0; j < EACH; j++)
					parts[i][j].add(entries[0][j], entries[N - 1][j], elements[i], begin + d < n_dimensions);
		}
		if (has_next)
			store_slice(slices, turn ^ 1, loaded);
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

/* Lays out what the job needs: first dry, then in the device's memory, to which it copies what the host has. */
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

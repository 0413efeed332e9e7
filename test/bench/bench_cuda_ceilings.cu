/*
 * bench_cuda_ceilings.cu
 *	  Ceilings of the GPU for the operations of engines: copies, atomic additions, bit-sliced adding, and-popcount.
 *
 * Each kernel does one thing and nothing besides, from data that no compiler can foresee, and leaves a result that
 * depends on all of it.  The best of REPEATS counts: a ceiling was reached at least once.
 */
#include <algorithm>
#include <functional>

#include "bench_cuda_rivals.cuh"

constexpr uint32_t REPEATS = 5;
constexpr size_t COPY_BYTES = (size_t) 2 << 30;
constexpr size_t UPLOAD_BYTES = (size_t) 256 << 20;
constexpr uint32_t THREADS = 512;
constexpr uint32_t BLOCKS_EACH = 24;	/* a multiprocessor: several rounds, whether 2, 3 or 4 of them run at a time */

constexpr uint32_t SHARED_WORDS = 16384;	/* 64 KB: the counters of a tile of 65,536 objects */
constexpr uint32_t SHARED_ROUNDS = 1024;
constexpr uint32_t GLOBAL_WORDS = 1u << 26;
constexpr uint32_t GLOBAL_ROUNDS = 256;

constexpr uint32_t ROW_BYTES = 128; /* a bit for each of 1024 queries */
constexpr uint32_t ROW_LANES = ROW_BYTES / sizeof(uint4);
constexpr uint32_t ADDER_ROWS = 64; /* 8 KB of shared memory */
constexpr uint32_t ADDER_ROUNDS = 64;
constexpr int ADDER_LEVELS = 5;
constexpr uint32_t ADDER_STEP = 1u << ADDER_LEVELS; /* rows that a tree of carry-save adders takes at a time */
constexpr int ADDER_PLANES = 8;

constexpr uint32_t MATRIX_ROUNDS = 512;
constexpr uint32_t MATRIX_EACH = 8; /* independent sums a warp */

/* Best seconds of doing it; negative: failed, and *error says why. */
static double
best_seconds(const std::function<cudaError_t()> &body, const char **error)
{
	cudaEvent_t begin;
	cudaEvent_t end;
	float		best = 1e9F;
	cudaError_t status = cudaEventCreate(&begin);

	if (status == cudaSuccess)
		status = cudaEventCreate(&end);
	for (uint32_t i = 0; i <= REPEATS && status == cudaSuccess; i++)
	{
		float		ms;

		(void) cudaEventRecord(begin);
		status = body();
		(void) cudaEventRecord(end);
		if (status == cudaSuccess)
			status = cudaEventSynchronize(end);
		if (status == cudaSuccess)
			status = cudaEventElapsedTime(&ms, begin, end);
		if (status == cudaSuccess && i > 0)
			best = std::min(best, ms);
	}
	(void) cudaEventDestroy(begin);
	(void) cudaEventDestroy(end);
	if (status != cudaSuccess)
		*error = bench_gpu_failed(status, "measuring a ceiling");
	return best / 1000.0;
}

__device__ __forceinline__ uint32_t
next_random(uint32_t state)
{
	return state * 1664525u + 1013904223u;
}

__global__ void
__launch_bounds__(THREADS) shared_kernel(uint32_t *out)
{
	extern __shared__ uint32_t counters[];
	uint32_t	state = blockIdx.x * THREADS + threadIdx.x;

	for (uint32_t i = threadIdx.x; i < SHARED_WORDS; i += THREADS)
		counters[i] = 0;
	__syncthreads();
#pragma unroll 8
	for (uint32_t i = 0; i < SHARED_ROUNDS; i++)
	{
		state = next_random(state);
		atomicAdd(&counters[state / (UINT32_MAX / SHARED_WORDS + 1)], 1);
	}
	__syncthreads();
	if (counters[threadIdx.x] == UINT32_MAX)
		*out = state;
}

__global__ void
__launch_bounds__(THREADS) global_kernel(uint32_t *counters)
{
	uint32_t	state = blockIdx.x * THREADS + threadIdx.x;

#pragma unroll 8
	for (uint32_t i = 0; i < GLOBAL_ROUNDS; i++)
	{
		state = next_random(state);
		atomicAdd(&counters[state / (UINT32_MAX / GLOBAL_WORDS + 1)], 1);
	}
}

__device__ __forceinline__ void
add(uint4 &high, uint4 &low, uint4 a, uint4 b)
{
	const uint4 c = low;

	low = make_uint4(a.x ^ b.x ^ c.x, a.y ^ b.y ^ c.y, a.z ^ b.z ^ c.z, a.w ^ b.w ^ c.w);
	high = make_uint4((a.x & b.x) | (c.x & (a.x | b.x)), (a.y & b.y) | (c.y & (a.y | b.y)),
					  (a.z & b.z) | (c.z & (a.z | b.z)), (a.w & b.w) | (c.w & (a.w | b.w)));
}

/* where rows are fetched from, and random bits that say which: 6 for each, in place as offsets of rows */
struct AdderRows
{
	const char *table;
	uint32_t	state;
};

/*
 * Adds 2^LEVEL rows into the planes below LEVEL; returns the carry.  Each word of a row takes two three-input
 * operations on its way, as few as can be.
 */
template <int LEVEL>
__device__ __forceinline__ uint4
add_tree(uint4 *planes, AdderRows &rows)
{
	if constexpr (LEVEL == 0)
	{
		rows.state = next_random(rows.state);
		return *(const uint4 *) (rows.table + (rows.state >> 16 & (ADDER_ROWS - 1) * ROW_BYTES));
	}
	else
	{
		const uint4 a = add_tree<LEVEL - 1>(planes, rows);
		const uint4 b = add_tree<LEVEL - 1>(planes, rows);
		uint4		carry;

		add(carry, planes[LEVEL - 1], a, b);
		return carry;
	}
}

/* ROW_LANES lanes add rows for an object. */
__global__ void
__launch_bounds__(THREADS) adder_kernel(uint4 *out)
{
	__shared__ uint4 table[ADDER_ROWS * ROW_LANES];
	const uint4 none = make_uint4(0, 0, 0, 0);
	AdderRows	rows = {(const char *) (table + threadIdx.x % ROW_LANES),
					  (blockIdx.x * THREADS + threadIdx.x) / ROW_LANES};
	uint4		planes[ADDER_PLANES];

	for (uint32_t i = threadIdx.x; i < ADDER_ROWS * ROW_LANES; i += THREADS)
		table[i] = make_uint4(i * 0x9E3779B9u, i * 0x85EBCA6Bu, i * 0xC2B2AE35u, i * 0x27D4EB2Fu);
	for (int p = 0; p < ADDER_PLANES; p++)
		planes[p] = none;
	__syncthreads();
	for (uint32_t i = 0; i < ADDER_ROUNDS; i++)
	{
		uint4		carry = add_tree<ADDER_LEVELS>(planes, rows);

#pragma unroll
		for (int p = ADDER_LEVELS; p < ADDER_PLANES; p++)
		{
			uint4		next;

			add(next, planes[p], carry, none);
			carry = next;
		}
	}
	for (int p = 1; p < ADDER_PLANES; p++)
		planes[0] = make_uint4(planes[0].x ^ planes[p].x, planes[0].y ^ planes[p].y, planes[0].z ^ planes[p].z,
							   planes[0].w ^ planes[p].w);
	out[blockIdx.x * THREADS + threadIdx.x] = planes[0];
}

/* one instruction: 16 rows and 8 columns of 256 bits */
constexpr double MATRIX_PAIRS = 16.0 * 8 * 256;

__global__ void
__launch_bounds__(THREADS) matrix_kernel(int *out)
{
#if __CUDA_ARCH__ >= 800
	const uint32_t lane = threadIdx.x;
	const uint32_t a[4] = {lane, lane * 3, lane * 5, lane * 7};
	const uint32_t b[2] = {lane * 11, lane * 13};
	int			sums[MATRIX_EACH][4] = {};
	int			sum = 0;

	for (uint32_t i = 0; i < MATRIX_ROUNDS; i++)
#pragma unroll
		for (uint32_t j = 0; j < MATRIX_EACH; j++)
			asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
						 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
						 : "+r"(sums[j][0]), "+r"(sums[j][1]), "+r"(sums[j][2]), "+r"(sums[j][3])
						 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	for (uint32_t j = 0; j < MATRIX_EACH; j++)
		sum += sums[j][0] + sums[j][1] + sums[j][2] + sums[j][3];
	out[blockIdx.x * THREADS + threadIdx.x] = sum;
#else
	out[blockIdx.x * THREADS + threadIdx.x] = 0;
#endif
}

/* Copies; memory is of 2 * COPY_BYTES. */
static const char *
measure_copies(uint8_t *memory, BenchGpuCeilings *out)
{
	const char *error = nullptr;
	void	   *pinned;

	BENCH_TRY(cudaHostAlloc(&pinned, UPLOAD_BYTES, cudaHostAllocDefault));
	out->copy_bytes = 2.0 * COPY_BYTES /
		best_seconds(
						  [=]() {
							  return cudaMemcpyAsync(memory + COPY_BYTES, memory, COPY_BYTES, cudaMemcpyDeviceToDevice);
						  },
						  &error);
	out->upload_bytes = UPLOAD_BYTES /
		best_seconds([=]() { return cudaMemcpyAsync(memory, pinned, UPLOAD_BYTES, cudaMemcpyHostToDevice); }, &error);
	out->download_bytes = UPLOAD_BYTES /
		best_seconds([=]() { return cudaMemcpyAsync(pinned, memory, UPLOAD_BYTES, cudaMemcpyDeviceToHost); }, &error);
	BENCH_TRY(cudaFreeHost(pinned));
	return error;
}

static const char *
measure_kernels(void *memory, uint32_t n_blocks, bool has_bits, BenchGpuCeilings *out)
{
	const char *error = nullptr;
	const double n_threads = (double) n_blocks * THREADS;
	const uint32_t shared = SHARED_WORDS * sizeof(uint32_t);

	BENCH_TRY(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	out->shared_atomics = n_threads * SHARED_ROUNDS /
		best_seconds(
							  [=]() {
								  shared_kernel<<<n_blocks, THREADS, shared>>>((uint32_t *) memory);
								  return cudaGetLastError();
							  },
							  &error);
	out->global_atomics = n_threads * GLOBAL_ROUNDS /
		best_seconds(
							  [=]() {
								  global_kernel<<<n_blocks, THREADS>>>((uint32_t *) memory);
								  return cudaGetLastError();
							  },
							  &error);
	out->adder_compares = n_threads / ROW_LANES * ROW_BYTES * 8 * ADDER_ROUNDS * ADDER_STEP /
		best_seconds(
							  [=]() {
								  adder_kernel<<<n_blocks, THREADS>>>((uint4 *) memory);
								  return cudaGetLastError();
							  },
							  &error);
	out->bit_pairs = 0;
	if (has_bits)
		out->bit_pairs = n_threads / 32 * MATRIX_ROUNDS * MATRIX_EACH * MATRIX_PAIRS /
			best_seconds(
							 [=]() {
								 matrix_kernel<<<n_blocks, THREADS>>>((int *) memory);
								 return cudaGetLastError();
							 },
							 &error);
	return error;
}

const char *
bench_gpu_ceilings(BenchGpuCeilings *out)
{
	cudaDeviceProp device;
	uint8_t    *memory;
	const char *error;

	BENCH_TRY(cudaGetDeviceProperties(&device, 0));
	BENCH_TRY(cudaMalloc(&memory, 2 * COPY_BYTES));
	BENCH_TRY(cudaMemset(memory, 0x5A, 2 * COPY_BYTES));
	error = measure_copies(memory, out);
	if (error == nullptr)
		error = measure_kernels(memory, (uint32_t) device.multiProcessorCount * BLOCKS_EACH, device.major >= 8, out);
	BENCH_TRY(cudaFree(memory));
	return error;
}

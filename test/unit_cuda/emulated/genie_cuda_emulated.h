/*
 * genie_cuda_emulated.h
 *	  CUDA on the CPU, as far as the CUDA engine uses it: tests the logic of its kernels without a GPU.
 *
 * The engine's sources are compiled as C++ behind this header.  The script "emulated" beside it turns kernel launches
 * into calls of genie_cuda_emulated_launch().  Blocks run one after the other.  A block's threads are fibers, which
 * take turns where they wait for each other: at barriers, and where a warp exchanges values.  So this shows neither
 * races nor what blocks do to each other while they run, nor times; compute-sanitizer does, on a GPU (test/gpu).
 * Device memory is the host's, and poisoned.
 *
 * The device has few multiprocessors, so tiles are not cut into parts only to give all of them work.
 */
#ifndef GENIE_CUDA_EMULATED_H
#define GENIE_CUDA_EMULATED_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#define GENIE_CUDA_EMULATED 1

/* ---- the language ---- */

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static		/* one block runs at a time */

constexpr uint32_t GENIE_CUDA_EMULATED_WARP = 32;

struct dim3
{
	explicit dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
	uint32_t	x;
	uint32_t	y;
	uint32_t	z;
};

struct alignas(8) int2
{
	int			x;
	int			y;
};

struct alignas(8) uint2
{
	uint32_t	x;
	uint32_t	y;
};

struct alignas(16) double2
{
	double		x;
	double		y;
};

struct alignas(16) float4
{
	float		x;
	float		y;
	float		z;
	float		w;
};

struct alignas(16) uint4
{
	uint32_t	x;
	uint32_t	y;
	uint32_t	z;
	uint32_t	w;
};

static inline uint2
make_uint2(uint32_t x, uint32_t y)
{
	return uint2{x, y};
}

static inline float4
make_float4(float x, float y, float z, float w)
{
	return float4{x, y, z, w};
}

static inline uint4
make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
	return uint4{x, y, z, w};
}

template <class A, class B>
constexpr typename std::common_type<A, B>::type
min(A a, B b)
{
	return a < b ? a : b;
}

template <class A, class B>
constexpr typename std::common_type<A, B>::type
max(A a, B b)
{
	return a > b ? a : b;
}

/* the running thread */
extern dim3 gridDim;
extern dim3 blockDim;
extern dim3 blockIdx;
extern dim3 threadIdx;

/* Calls body, which calls the kernel, for all threads. */
extern void genie_cuda_emulated_launch(const std::function<void()> &body, dim3 grid, dim3 block, size_t shared = 0,
									   void *stream = nullptr);

static inline void
genie_cuda_emulated_launch(const std::function<void()> &body, uint32_t grid, uint32_t block, size_t shared = 0,
						   void *stream = nullptr)
{
	genie_cuda_emulated_launch(body, dim3(grid), dim3(block), shared, stream);
}

static inline void
genie_cuda_emulated_launch(const std::function<void()> &body, dim3 grid, uint32_t block, size_t shared = 0,
						   void *stream = nullptr)
{
	genie_cuda_emulated_launch(body, grid, dim3(block), shared, stream);
}

/* ---- exchange among threads ---- */

extern void __syncthreads();

/* Waits for the warp; returns the values of all its threads. */
extern void genie_cuda_emulated_exchange(uint32_t value, uint32_t (&values)[GENIE_CUDA_EMULATED_WARP]);

static inline void
__syncwarp()
{
	uint32_t	values[GENIE_CUDA_EMULATED_WARP];

	genie_cuda_emulated_exchange(0, values);
}

static inline void
__threadfence()
{}

static inline uint32_t
__shfl_sync(uint32_t, uint32_t value, uint32_t thread)
{
	uint32_t	values[GENIE_CUDA_EMULATED_WARP];

	genie_cuda_emulated_exchange(value, values);
	return values[thread % GENIE_CUDA_EMULATED_WARP];
}

static inline uint32_t
__shfl_up_sync(uint32_t mask, uint32_t value, uint32_t step)
{
	const uint32_t thread = threadIdx.x % GENIE_CUDA_EMULATED_WARP;

	return __shfl_sync(mask, value, thread >= step ? thread - step : thread);
}

static inline uint32_t
__shfl_xor_sync(uint32_t mask, uint32_t value, uint32_t other)
{
	return __shfl_sync(mask, value, threadIdx.x % GENIE_CUDA_EMULATED_WARP ^ other);
}

static inline float
__shfl_xor_sync(uint32_t mask, float value, uint32_t other)
{
	uint32_t	bits;

	memcpy(&bits, &value, sizeof(bits));
	bits = __shfl_xor_sync(mask, bits, other);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t
__ballot_sync(uint32_t, bool vote)
{
	uint32_t	values[GENIE_CUDA_EMULATED_WARP];
	uint32_t	votes = 0;

	genie_cuda_emulated_exchange(vote, values);
	for (uint32_t i = 0; i < GENIE_CUDA_EMULATED_WARP; i++)
		votes |= values[i] << i;
	return votes;
}

static inline bool
__any_sync(uint32_t mask, bool vote)
{
	return __ballot_sync(mask, vote) != 0;
}

static inline uint32_t
__match_any_sync(uint32_t, uint32_t value)
{
	uint32_t	values[GENIE_CUDA_EMULATED_WARP];
	uint32_t	same = 0;

	genie_cuda_emulated_exchange(value, values);
	for (uint32_t i = 0; i < GENIE_CUDA_EMULATED_WARP; i++)
		same |= (uint32_t) (values[i] == value) << i;
	return same;
}

/* No other thread runs meanwhile, so this is atomic. */
template <class T, class CHANGE>
static inline T
genie_cuda_emulated_change(T *at, const CHANGE &change)
{
	const T		old = *at;

	*at = (T) change(old);
	return old;
}

/* the value may be of another type */
template <class T>
using GenieCudaEmulatedValue = typename std::common_type<T>::type;

template <class T>
static inline T
atomicAdd(T *at, GenieCudaEmulatedValue<T> value)
{
	return genie_cuda_emulated_change(at, [=](T old) { return old + value; });
}

template <class T>
static inline T
atomicMax(T *at, GenieCudaEmulatedValue<T> value)
{
	return genie_cuda_emulated_change(at, [=](T old) { return std::max(old, value); });
}

template <class T>
static inline T
atomicMin(T *at, GenieCudaEmulatedValue<T> value)
{
	return genie_cuda_emulated_change(at, [=](T old) { return std::min(old, value); });
}

template <class T>
static inline T
atomicOr(T *at, GenieCudaEmulatedValue<T> value)
{
	return genie_cuda_emulated_change(at, [=](T old) { return old | value; });
}

template <class T>
static inline T
atomicAnd(T *at, GenieCudaEmulatedValue<T> value)
{
	return genie_cuda_emulated_change(at, [=](T old) { return old & value; });
}

template <class T>
static inline T
atomicCAS(T *at, GenieCudaEmulatedValue<T> expected, GenieCudaEmulatedValue<T> value)
{
	return genie_cuda_emulated_change(at, [=](T old) { return old == expected ? value : old; });
}

template <class T>
static inline T
atomicExch(T *at, GenieCudaEmulatedValue<T> value)
{
	return genie_cuda_emulated_change(at, [=](T) { return value; });
}

/* Adds a product of bits to counts, as the instruction of genie_cuda_tensor.cu does for the threads of a warp. */
extern void genie_cuda_emulated_product(int (&count)[4], const uint32_t (&objects)[4], uint32_t queries_low,
										uint32_t queries_high);

/* The same of bytes, without signs and with them, as that of genie_cuda_value_filter.cu does. */
extern void genie_cuda_emulated_byte_product(int (&sums)[4], const uint32_t (&records)[4], uint32_t queries_low,
											 uint32_t queries_high);

/* ---- instructions ---- */

extern uint4 genie_cuda_memory[];

/* an offset in shared memory; its readers add where that begins */
static inline size_t
__cvta_generic_to_shared(const void *at)
{
	return (size_t) ((const uint8_t *) at - (const uint8_t *) genie_cuda_memory);
}

template <class T>
static inline T
__ldg(const T *at)
{
	return *at;
}

template <class T>
static inline T
__ldcg(const T *at)
{
	return *at;
}

static inline uint32_t
__funnelshift_l(uint32_t low, uint32_t high, uint32_t shift)
{
	return (uint32_t) (((uint64_t) high << 32 | low) << shift % 32 >> 32);
}

static inline uint32_t
__funnelshift_r(uint32_t low, uint32_t high, uint32_t shift)
{
	return (uint32_t) (((uint64_t) high << 32 | low) >> shift % 32);
}

/* The instruction prmt. */
static inline uint32_t
genie_cuda_emulated_permute(uint32_t low, uint32_t high, uint32_t selector)
{
	const uint64_t both = (uint64_t) high << 32 | low;
	uint32_t	bytes = 0;

	for (uint32_t i = 0; i < 4; i++)
	{
		const uint32_t byte = both >> 8 * (selector >> 4 * i & 7) & 0xFF;

		/* the highest bit of a selector asks for the byte's sign */
		bytes |= ((selector >> 4 * i & 8) == 0 ? byte : byte >> 7 != 0 ? 0xFFu : 0) << 8 * i;
	}
	return bytes;
}

/* without signs */
static inline uint32_t
__byte_perm(uint32_t low, uint32_t high, uint32_t selector)
{
	return genie_cuda_emulated_permute(low, high, selector & 0x7777);
}

/* 0xFF in the bytes that are equal */
static inline uint32_t
__vcmpeq4(uint32_t a, uint32_t b)
{
	uint32_t	equal = 0;

	for (uint32_t i = 0; i < 32; i += 8)
		equal |= (a >> i & 0xFF) == (b >> i & 0xFF) ? 0xFFu << i : 0;
	return equal;
}

static inline uint32_t
__dp4a(uint32_t a, uint32_t b, uint32_t sum)
{
	for (uint32_t i = 0; i < 32; i += 8)
		sum += (a >> i & 0xFF) * (b >> i & 0xFF);
	return sum;
}

static inline uint32_t
__dp2a_lo(uint32_t a, uint32_t b, uint32_t sum)
{
	return sum + (a & 0xFFFF) * (b & 0xFF) + (a >> 16) * (b >> 8 & 0xFF);
}

/* one rounding each: the emulation is compiled without contraction */
static inline double
__dadd_rn(double a, double b)
{
	return a + b;
}

static inline double
__dsub_rn(double a, double b)
{
	return a - b;
}

static inline double
__dmul_rn(double a, double b)
{
	return a * b;
}

static inline double
__dsqrt_rn(double x)
{
	return std::sqrt(x);
}

static inline float
__fadd_rn(float a, float b)
{
	return a + b;
}

/* NaN has no sign, as all that a GPU's operations give */
static inline float
__fmaf_rn(float a, float b, float c)
{
	const float sum = std::fma(a, b, c);

	return std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : sum;
}

static inline float
__fmul_rn(float a, float b)
{
	return a * b;
}

static inline float
__double2float_rd(double x)
{
	const float nearest = (float) x;

	return nearest > x ? std::nextafterf(nearest, -INFINITY) : nearest;
}

static inline float
__uint_as_float(uint32_t bits)
{
	float		x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline uint32_t
__float_as_uint(float x)
{
	uint32_t	bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* rounds down; numbers out of range become the nearest int */
static inline int
__double2int_rd(double x)
{
	return (int) std::min(std::max(std::floor(x), (double) INT32_MIN), (double) INT32_MAX);
}

static inline int
__popc(uint32_t x)
{
	return __builtin_popcount(x);
}

static inline int
__popcll(uint64_t x)
{
	return __builtin_popcountll(x);
}

static inline int
__ffs(int x)
{
	return __builtin_ffs(x);
}

static inline int
__clz(int x)
{
	return x == 0 ? 32 : __builtin_clz((uint32_t) x);
}

static inline uint32_t
__umulhi(uint32_t a, uint32_t b)
{
	return (uint32_t) ((uint64_t) a * b >> 32);
}

/* ---- the runtime: one device with the host's memory; all is done at once ---- */

#define CUDART_VERSION 13000

typedef void *cudaStream_t;
typedef void *cudaEvent_t;

enum cudaError_t
{
	cudaSuccess,
	cudaErrorMemoryAllocation,
	cudaErrorNotReady,
	cudaErrorCudartUnloading,
	cudaErrorInsufficientDriver,
	cudaErrorDevicesUnavailable,
	cudaErrorECCUncorrectable,
	cudaErrorNvlinkUncorrectable,
	cudaErrorIllegalAddress,
	cudaErrorLaunchTimeout,
	cudaErrorAssert,
	cudaErrorHardwareStackError,
	cudaErrorIllegalInstruction,
	cudaErrorMisalignedAddress,
	cudaErrorInvalidAddressSpace,
	cudaErrorInvalidPc,
	cudaErrorLaunchFailure,
	cudaErrorDeviceUninitialized,
	cudaErrorContextIsDestroyed,
	cudaErrorUnknown
};

enum
{
	cudaHostRegisterPortable,
	cudaStreamNonBlocking,
	cudaEventDisableTiming,
	cudaDeviceScheduleYield,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	cudaFuncAttributeMaxDynamicSharedMemorySize,
	cudaFuncAttributePreferredSharedMemoryCarveout,
	cudaSharedmemCarveoutMaxShared,
	cudaMemoryTypeHost
};

struct cudaPointerAttributes
{
	int			type;
};

struct cudaDeviceProp
{
	char		name[64];
	size_t		totalGlobalMem;
	size_t		sharedMemPerMultiprocessor;
	size_t		sharedMemPerBlockOptin;
	int			major;
	int			minor;
	int			multiProcessorCount;
};

static inline cudaError_t
cudaGetDeviceCount(int *n)
{
	*n = 2;
	return cudaSuccess;
}

extern cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
extern cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
extern cudaError_t cudaDriverGetVersion(int *version);
extern const char *cudaGetErrorString(cudaError_t error);
extern cudaError_t genie_cuda_emulated_take(void **memory, size_t bytes);
extern cudaError_t cudaFree(void *memory);
extern cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
extern cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream);
extern cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);

template <class T>
static inline cudaError_t
cudaMalloc(T **memory, size_t bytes)
{
	return genie_cuda_emulated_take((void **) memory, bytes);
}

template <class T>
static inline cudaError_t
cudaMallocHost(T **memory, size_t bytes)
{
	return genie_cuda_emulated_take((void **) memory, bytes);
}

static inline cudaError_t
cudaFreeHost(void *memory)
{
	return cudaFree(memory);
}

/* calls without effect */
template <class... ARGUMENTS>
static inline cudaError_t
genie_cuda_emulated_nothing(ARGUMENTS...)
{
	return cudaSuccess;
}

#define cudaGetLastError() genie_cuda_emulated_nothing()
#define cudaSetDevice(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaGetDevice(device) (*(device) = 0, genie_cuda_emulated_nothing())
#define cudaSetDeviceFlags(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaDeviceSynchronize() genie_cuda_emulated_nothing()
#define cudaHostRegister(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaPointerGetAttributes(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaHostUnregister(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaFuncSetAttribute(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaStreamCreateWithFlags(stream, ...) (*(stream) = nullptr, genie_cuda_emulated_nothing(__VA_ARGS__))
#define cudaStreamDestroy(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaStreamSynchronize(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaStreamQuery(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaStreamWaitEvent(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaEventCreate(event) (*(event) = nullptr, genie_cuda_emulated_nothing())
#define cudaEventCreateWithFlags(event, ...) (*(event) = nullptr, genie_cuda_emulated_nothing(__VA_ARGS__))
#define cudaEventDestroy(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaEventRecord(...) genie_cuda_emulated_nothing(__VA_ARGS__)
#define cudaEventSynchronize(...) genie_cuda_emulated_nothing(__VA_ARGS__)

#endif							/* GENIE_CUDA_EMULATED_H */

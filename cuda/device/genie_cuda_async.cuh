/*
 * genie_cuda_async.cuh
 *	  Copies from the device's memory to shared memory that a thread does not wait for, where the device can do that.
 *
 * A thread commits the copies that it has begun as a group, and waits for all groups but the latest.  What other
 * threads have copied is there behind a barrier.
 */
#ifndef GENIE_CUDA_ASYNC_CUH
#define GENIE_CUDA_ASYNC_CUH

#include <cstdint>

/* the oldest compute capability, times 10, that can; for #if */
#define GENIE_CUDA_ASYNC_DEVICE 80

/* 16 bytes, both aligned to as many */
__device__ __forceinline__ void
genie_cuda_copy_async(uint8_t *to, const uint8_t *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_ASYNC_DEVICE
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
				 :
				 : "r"((uint32_t) __cvta_generic_to_shared(to)), "l"(from)
				 : "memory");
#else
	*(uint4 *) to = *(const uint4 *) from;
#endif
}

/* The same, or zeros, and from is not read. */
__device__ __forceinline__ void
genie_cuda_copy_async_if(bool is_there, uint8_t *to, const uint8_t *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_ASYNC_DEVICE
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
				 :
				 : "r"((uint32_t) __cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 16 : 0)
				 : "memory");
#else
	*(uint4 *) to = is_there ? *(const uint4 *) from : make_uint4(0, 0, 0, 0);
#endif
}

__device__ __forceinline__ void
genie_cuda_commit_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_ASYNC_DEVICE
	asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}

/* Waits for all but the N groups committed last. */
template <int N>
__device__ __forceinline__ void
genie_cuda_wait_for_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_ASYNC_DEVICE
	asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}

/* Waits for all copies of the thread. */
__device__ __forceinline__ void
genie_cuda_wait_for_all_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 10 * GENIE_CUDA_ASYNC_DEVICE
	asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

#endif							/* GENIE_CUDA_ASYNC_CUH */

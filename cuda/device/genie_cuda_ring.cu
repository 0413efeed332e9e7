/*
 * genie_cuda_ring.cu
 *	  Copies from memory that is not pinned (genie_cuda_ring.cuh).
 *
 * Chunks of GENIE_CUDA_RING_BYTES go to the threads in turn.  The caller is one of the threads; the others live as long
 * as a copy, take no signals, and are fewer where the system gives no more.  Chunks may arrive in any order: the caller
 * records an event behind all of them.
 */
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "genie_cuda_ring.cuh"

GenieCudaRing::~GenieCudaRing()
{
	for (auto &of_thread : blocks)
		for (Block &block : of_thread)
		{
			if (block.memory != nullptr)
				(void) cudaFreeHost(block.memory);
			if (block.is_free != nullptr)
				(void) cudaEventDestroy(block.is_free);
		}
}

/* The pinned blocks, at the first copy. */
bool
GenieCudaRing::take_blocks()
{
	for (auto &of_thread : blocks)
		for (Block &block : of_thread)
		{
			void	   *memory = nullptr;

			if (failed || block.memory != nullptr)
				continue;
			failed = cudaMallocHost(&memory, GENIE_CUDA_RING_BYTES) != cudaSuccess;
			block.memory = failed ? nullptr : (uint8_t *) memory;
			failed = failed || cudaEventCreateWithFlags(&block.is_free, cudaEventDisableTiming) != cudaSuccess;
		}
	if (failed)
		(void) cudaGetLastError();
	return is_there = !failed;
}

/* The chunks of one of the threads. */
cudaError_t
GenieCudaRing::copy_share(uint32_t thread, uint32_t n_threads, int device, uint8_t *to, const uint8_t *from,
						  size_t bytes, cudaStream_t stream)
{
	cudaError_t code = thread == 0 ? cudaSuccess : cudaSetDevice(device);
	uint32_t	which = 0;

	for (size_t at = thread * GENIE_CUDA_RING_BYTES; at < bytes && code == cudaSuccess;
		 at += n_threads * GENIE_CUDA_RING_BYTES, which ^= 1)
	{
		const size_t n = std::min(bytes - at, GENIE_CUDA_RING_BYTES);
		const Block &block = blocks[thread][which];

		if ((code = cudaEventSynchronize(block.is_free)) != cudaSuccess)
			break;
		memcpy(block.memory, from + at, n);
		if ((code = cudaMemcpyAsync(to + at, block.memory, n, cudaMemcpyHostToDevice, stream)) == cudaSuccess)
			code = cudaEventRecord(block.is_free, stream);
	}
	return code;
}

bool
GenieCudaRing::copy(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
	const size_t n_chunks = (bytes + GENIE_CUDA_RING_BYTES - 1) / GENIE_CUDA_RING_BYTES;
	const uint32_t most = std::max(1u, std::thread::hardware_concurrency() / 2);
	const uint32_t n = (uint32_t) std::min<size_t>(std::min(most, GENIE_CUDA_RING_THREADS), n_chunks);
	std::vector<cudaError_t> codes(n, cudaSuccess);
	std::vector<std::thread> threads;
	sigset_t	all;
	sigset_t	before;
	int			device;

	if (!is_there && !take_blocks())
		return false;
	GENIE_CUDA_CHECK(cudaGetDevice(&device));
	threads.reserve(n);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	try
	{
		for (uint32_t t = 1; t < n; t++)
			threads.emplace_back([=, &codes]() {
				codes[t] = copy_share(t, n, device, (uint8_t *) to, (const uint8_t *) from, bytes, stream);
			});
	}
	catch (const std::system_error &)
	{
		/* the caller does what there is no thread for */
	}
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	for (uint32_t t = 0; t < n; t++)
		if (t == 0 || t > threads.size())
			codes[t] = copy_share(t, n, device, (uint8_t *) to, (const uint8_t *) from, bytes, stream);
	for (std::thread &thread : threads)
		thread.join();
	for (const cudaError_t code : codes)
		GENIE_CUDA_CHECK(code);
	return true;
}

/*
 * genie_cuda_memory.cu
 *	  Device memory under a limit, and pinned host memory.
 */
#include <algorithm>

#include "genie_cuda_memory.cuh"
#include "genie_engine.h"

constexpr size_t BLOCK_STEP = (size_t) 2 << 20;
constexpr size_t KEPT_LARGER = 4;	/* a kept block that is larger by this part is used */

/* A block grows by at least a half, so that batches of slowly growing size do not allocate each time. */
static size_t
grown(size_t now, size_t needed)
{
	return std::max(needed, now + now / 2);
}

/* Large blocks are multiples of what the device gives out, so that the next one may have its size. */
static size_t
block_size(size_t bytes)
{
	return bytes < BLOCK_STEP / 2 ? bytes : (bytes + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
}

GenieCudaMemory::GenieCudaMemory(uint64_t limit, uint64_t available_) : available(available_)
{
	device_limit = limit != 0 ? limit : available;
}

GenieCudaMemory::~GenieCudaMemory()
{
	drop_scratch();
	free_kept();
	(void) cudaFreeHost(pinned_memory);
}

void
GenieCudaMemory::drop_scratch() noexcept
{
	(void) cudaFree(scratch_memory);
	scratch_memory = nullptr;
	scratch_size = 0;
}

void
GenieCudaMemory::set_limit(uint64_t limit)
{
	device_limit = limit != 0 ? limit : available;
	if (scratch_size > scratch_limit())
		drop_scratch();
}

uint64_t
GenieCudaMemory::scratch_limit() const
{
	return std::min(device_limit / GENIE_CUDA_SCRATCH_PART, GENIE_CUDA_SCRATCH_MAX);
}

uint8_t *
GenieCudaMemory::take_image(size_t bytes)
{
	void	   *memory = nullptr;

	const size_t size = block_size(bytes);
	const auto	found = kept.lower_bound(size);

	if (found != kept.end() && found->first <= size + size / KEPT_LARGER)
	{
		memory = found->second;
		in_kept -= found->first;
		kept.erase(found);
	}
	else
	{
		if (in_images + in_kept + size > image_limit())
			free_kept();
		if (cudaMalloc(&memory, size) != cudaSuccess)
		{
			(void) cudaGetLastError();
			free_kept();
			GENIE_CUDA_CHECK(cudaMalloc(&memory, size));
		}
		sizes[(uint8_t *) memory] = size;
	}
	in_images += bytes;
	return (uint8_t *) memory;
}

void
GenieCudaMemory::free_kept() noexcept
{
	for (const auto &block : kept)
	{
		sizes.erase(block.second);
		(void) cudaFree(block.second);
	}
	kept.clear();
	in_kept = 0;
}

void
GenieCudaMemory::keep_given(bool keep) noexcept
{
	keeps = keep;
	if (!keep)
		free_kept();
}

void
GenieCudaMemory::give_image(uint8_t *memory, size_t bytes) noexcept
{
	if (memory == nullptr)
		return;
	in_images -= bytes;
	if (keeps)
	{
		const size_t size = sizes[memory];

		kept.emplace(size, memory);
		in_kept += size;
		return;
	}
	sizes.erase(memory);
	(void) cudaFree(memory);
}

uint8_t *
GenieCudaMemory::scratch(size_t bytes)
{
	if (bytes > scratch_limit())
		throw GenieCudaFailure(GENIE_STATUS_NO_ROOM,
							   "the batch needs more working memory than the limit of GPU memory leaves");
	if (bytes > scratch_size)
	{
		const size_t size = std::min<size_t>(grown(scratch_size, bytes), scratch_limit());
		void	   *memory = nullptr;

		drop_scratch();
		GENIE_CUDA_CHECK(cudaMalloc(&memory, size));
		scratch_memory = (uint8_t *) memory;
		scratch_size = size;
	}
	return scratch_memory;
}

uint8_t *
GenieCudaMemory::pinned(size_t bytes)
{
	if (bytes > pinned_size)
	{
		const size_t size = grown(pinned_size, bytes);
		void	   *memory = nullptr;

		(void) cudaFreeHost(pinned_memory);
		pinned_memory = nullptr;
		pinned_size = 0;
		GENIE_CUDA_CHECK(cudaMallocHost(&memory, size));
		pinned_memory = (uint8_t *) memory;
		pinned_size = size;
	}
	return pinned_memory;
}

static bool
is_pinned(const void *memory)
{
	cudaPointerAttributes attributes = {};
	const bool is = cudaPointerGetAttributes(&attributes, memory) == cudaSuccess &&
		attributes.type == cudaMemoryTypeHost;

	(void) cudaGetLastError();
	return is;
}

void
GenieCudaMemory::copy_in(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
	for (size_t done = 0, n; done < bytes; done += n)
	{
		const uint8_t *at = (const uint8_t *) from + done;

		n = std::min(bytes - done, GENIE_ENGINE_PIN_STEP - (uintptr_t) at % GENIE_ENGINE_PIN_STEP);
		if (n < GENIE_CUDA_RING_LEAST || is_pinned(at) || !ring.copy((uint8_t *) to + done, at, n, stream))
			GENIE_CUDA_CHECK(cudaMemcpyAsync((uint8_t *) to + done, at, n, cudaMemcpyHostToDevice, stream));
	}
}

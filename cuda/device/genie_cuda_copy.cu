/*
 * genie_cuda_copy.cu
 *	  Blocks of device memory, copied one by one.
 */
#include <algorithm>

#include "genie_cuda_copy.cuh"
#include "genie_engine.h"

void
genie_cuda_copy_in(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
	for (size_t done = 0, n; done < bytes; done += n)
	{
		const uint8_t *at = (const uint8_t *) from + done;

		n = std::min(bytes - done, GENIE_ENGINE_PIN_STEP - (uintptr_t) at % GENIE_ENGINE_PIN_STEP);
		GENIE_CUDA_CHECK(cudaMemcpyAsync((uint8_t *) to + done, at, n, cudaMemcpyHostToDevice, stream));
	}
}

GenieCudaBlock::~GenieCudaBlock()
{
	if (owner != nullptr)
		owner->give_image(memory, bytes);
}

void
GenieCudaBlock::take(GenieCudaMemory &owner_, size_t bytes_)
{
	memory = owner_.take_image(bytes_);
	bytes = bytes_;
	owner = &owner_;
}

const uint64_t *
GenieCudaLive::update(const GenieSegmentImage &image, cudaStream_t stream)
{
	if (image.n_tiles < first_tile || block.bytes > bytes_of(image.n_tiles - first_tile))
		throw GenieCudaFailure(GENIE_STATUS_CORRUPT, "an image does not have the tiles that its copy has");
	if (!block.uploaded || image_id != image.id || version != image.live_version)
	{
		block.uploaded = false;
		genie_cuda_copy_in(block.memory, image.live + (size_t) first_tile * GENIE_TILE_WORDS, block.bytes, stream);
		image_id = image.id;
		version = image.live_version;
		block.uploaded = true;
	}
	return words();
}

GenieCudaCopy::GenieCudaCopy(size_t n_parts) : parts(n_parts)
{
	GENIE_CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
}

GenieCudaCopy::~GenieCudaCopy()
{
	(void) cudaEventDestroy(ready);
}

uint64_t
GenieCudaCopy::upload(size_t part, const void *from, cudaStream_t copy_stream)
{
	GenieCudaBlock &block = parts[part];

	if (block.uploaded)
		return 0;
	if (from != nullptr)
	{
		genie_cuda_copy_in(block.memory, from, block.bytes, copy_stream);
		GENIE_CUDA_CHECK(cudaEventRecord(ready, copy_stream));
	}
	block.uploaded = true;
	n_uploaded++;
	return block.bytes;
}

void
GenieCudaCopy::join(cudaStream_t stream) const
{
	GENIE_CUDA_CHECK(cudaStreamWaitEvent(stream, ready, 0));
}

/*
 * genie_cuda_copy.cu
 *	  Blocks of device memory, copied one by one.
 */
#include "genie_cuda_copy.cuh"

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
		block.copy_in(image.live + (size_t) first_tile * GENIE_TILE_WORDS, stream);
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
		block.copy_in(from, copy_stream);
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

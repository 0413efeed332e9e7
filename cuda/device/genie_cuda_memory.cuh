/*
 * genie_cuda_memory.cuh
 *	  The only owner of device memory and of pinned host memory.
 *
 * Device memory has two categories under one limit: images, and scratch of batches.  Scratch gets a fixed part of the
 * limit, so neither can push the other out.  While images are copied ahead, blocks of images that are given back are
 * kept for the next ones, because freeing one waits for all that the device does.  Scratch and pinned memory are one
 * block each, which is used again from batch to batch and grows when it must.  Growing loses what was in the block.
 */
#ifndef GENIE_CUDA_MEMORY_CUH
#define GENIE_CUDA_MEMORY_CUH

#include <map>

#include "genie_cuda_error.cuh"
#include "genie_cuda_policy.cuh"
#include "genie_cuda_ring.cuh"

class GenieCudaMemory
{
public:
	/* available: the limit that 0 stands for */
	GenieCudaMemory(uint64_t limit, uint64_t available);
	~GenieCudaMemory();
	GenieCudaMemory(const GenieCudaMemory &) = delete;
	GenieCudaMemory &operator=(const GenieCudaMemory &) = delete;

	/* Gives scratch back if it does not fit the new limit.  The caller drops images until they fit. */
	void		set_limit(uint64_t limit);

	/* Throws if the device has no room.  The caller keeps within image_limit(). */
	uint8_t    *take_image(size_t bytes);
	void		give_image(uint8_t *memory, size_t bytes) noexcept;

	/* From now on blocks of images that are given back are kept, or not: then those that were are freed. */
	void		keep_given(bool keep) noexcept;

	/* A block of at least this many bytes.  Throws if that is above scratch_limit() or the device has no room. */
	uint8_t    *scratch(size_t bytes);

	/* Frees scratch until it is asked for again. */
	void		give_scratch()
	{
		drop_scratch();
	}
	uint8_t    *pinned(size_t bytes);

	/* Starts copying from the host, of which only parts may be pinned, each by itself (GenieEngineOps.pin). */
	void		copy_in(void *to, const void *from, size_t bytes, cudaStream_t stream);

	uint64_t	limit() const
	{
		return device_limit;
	}
	uint64_t	scratch_limit() const;
	uint64_t	image_limit() const
	{
		return device_limit - scratch_limit();
	}
	uint64_t	image_bytes() const
	{
		return in_images;
	}
	uint64_t	scratch_bytes() const
	{
		return scratch_size;
	}

private:
	void		drop_scratch() noexcept;
	void		free_kept() noexcept;

	uint64_t	available;
	uint64_t	device_limit;
	uint64_t	in_images = 0;
	bool		keeps = false;
	uint64_t	in_kept = 0;
	std::multimap<size_t, uint8_t *> kept;	/* blocks by their sizes */
	std::map<const uint8_t *, size_t> sizes;	/* of blocks of images */
	uint8_t    *scratch_memory = nullptr;
	size_t		scratch_size = 0;
	uint8_t    *pinned_memory = nullptr;
	size_t		pinned_size = 0;
	GenieCudaRing ring;
};

#endif							/* GENIE_CUDA_MEMORY_CUH */

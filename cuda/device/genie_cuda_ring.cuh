/*
 * genie_cuda_ring.cuh
 *	  Copies to the device from memory that is not pinned: a ring of pinned blocks, which threads fill.
 *
 * The driver copies such memory by one thread.  Here a few threads have two blocks each: one is filled while the other
 * one goes over the bus.  It is for images before the worker has pinned them, and where they cannot be pinned.
 */
#ifndef GENIE_CUDA_RING_CUH
#define GENIE_CUDA_RING_CUH

#include "genie_cuda_error.cuh"
#include "genie_cuda_policy.cuh"

class GenieCudaRing
{
public:
	GenieCudaRing() = default;
	~GenieCudaRing();
	GenieCudaRing(const GenieCudaRing &) = delete;
	GenieCudaRing &operator=(const GenieCudaRing &) = delete;

	/*
	 * Copies to the current device; the memory has been read when it returns.  False: nothing is copied, because no
	 * memory can be pinned.  Throws if the device fails.
	 */
	bool		copy(void *to, const void *from, size_t bytes, cudaStream_t stream);

private:
	struct Block
	{
		uint8_t    *memory = nullptr;
		cudaEvent_t is_free = nullptr;
	};

	bool		take_blocks();
	cudaError_t copy_share(uint32_t thread, uint32_t n_threads, int device, uint8_t *to, const uint8_t *from,
						   size_t bytes, cudaStream_t stream);

	Block		blocks[GENIE_CUDA_RING_THREADS][2];
	bool		is_there = false;
	bool		failed = false; /* to pin; it is not tried again */
};

#endif							/* GENIE_CUDA_RING_CUH */

/*
 * genie_cuda_vectors.cuh
 *	  Copies of quantized vectors (genie_quantized.h) on the device: a part a tile, and a table of their addresses.
 *
 * Vectors only save time: without them a job's hits are the same, and the CPU has the same bounds.  So nobody fails for
 * lack of room for vectors; they just have none.  They share the limit with images, which go before them: an image
 * drops any vectors that the pass does not use (genie_cuda_image.cuh), and vectors never drop an image.  Among
 * themselves they go, least recently used first, when they were not used for a while: copying takes as long as the CPU
 * takes for several batches, and two that drop each other in turn would be slower than none.  A device that had less
 * room than the limit says is not asked again for a while either.
 */
#ifndef GENIE_CUDA_VECTORS_CUH
#define GENIE_CUDA_VECTORS_CUH

#include "genie_cuda_copy.cuh"
#include "genie_quantized.h"

class GenieCudaVectors : public GenieCudaCopy
{
public:
	GenieCudaVectors(GenieCudaMemory &memory, const GenieQuantizedVectors &vectors);

	/* device bytes that a copy takes */
	static uint64_t bytes_of(const GenieQuantizedVectors &vectors);

	/* Starts copying the table of tiles, if it is not there. */
	void		update(cudaStream_t stream);

	const uint8_t *const *tiles() const
	{
		return (const uint8_t *const *) table.memory;
	}

	const uint64_t bytes;		/* taken */

private:
	GenieCudaBlock table;
};

/* All copies, by the vectors' ids. */
class GenieCudaAllVectors
{
public:
	explicit GenieCudaAllVectors(GenieCudaMemory &memory_) : memory(memory_) {}

	/* The copy, complete or with room for it; NULL: there is no room. */
	GenieCudaVectors *acquire(const GenieQuantizedVectors &vectors, uint64_t pass);

	void		forget(uint64_t id)
	{
		copies.erase(id);
	}

	/* Drops the least recently used copy, if no pass from number pass on has used it.  False: there is none. */
	bool		evict_one(uint64_t pass);

	/* Drops copies that are not complete: after a pass that failed. */
	void		drop_incomplete()
	{
		genie_cuda_drop_incomplete(copies);
	}

	uint64_t	evictions() const
	{
		return n_evictions;
	}

private:
	bool		make_room(uint64_t bytes, uint64_t pass);

	GenieCudaMemory &memory;
	GenieCudaCopies<GenieCudaVectors> copies;
	uint64_t	n_evictions = 0;
	uint64_t	no_room_until = 0;	/* a pass: before it the device is not asked */
};

#endif							/* GENIE_CUDA_VECTORS_CUH */

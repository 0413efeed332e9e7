/*
 * genie_cuda_image.cuh
 *	  Copies of images on the device.
 *
 * A copy (genie_cuda_copy.cuh) is a part a group, a block for the live bitmap, and a table of tiles with device
 * addresses.
 *
 * Copies are dropped, least recently used first, to make room for others, but never one that the batch's current pass
 * uses (its number is the copy's last_pass).  Quantized vectors go before any image.
 */
#ifndef GENIE_CUDA_IMAGE_CUH
#define GENIE_CUDA_IMAGE_CUH

#include "genie_cuda_types.cuh"
#include "genie_cuda_vectors.cuh"

class GenieCudaImage : public GenieCudaCopy
{
public:
	GenieCudaImage(GenieCudaMemory &memory, const GenieSegmentImage &image);

	/* device bytes that a copy of the image takes */
	static uint64_t bytes_of(const GenieSegmentImage &image);

	/* Starts copying of the tile table, and of the live bitmap if the device has another version. */
	void		update(const GenieSegmentImage &image, cudaStream_t stream);

	const GenieCudaTile *tiles() const
	{
		return (const GenieCudaTile *) table.memory;
	}

	bool		turned = false; /* have its codes been brought into the order of bit lanes? */
	uint64_t	n_sampled = 0;	/* queries whose thresholds came from samples */
	uint64_t	n_misled = 0;	/* of these, that had to be counted again in another way */

private:
	GenieCudaBlock live;
	GenieCudaBlock table;
	uint64_t	live_version = 0;
};

/* All copies, by the images' ids. */
class GenieCudaImages
{
public:
	GenieCudaImages(GenieCudaMemory &memory_, GenieCudaAllVectors &vectors_) : memory(memory_), vectors(vectors_) {}

	bool		fits(const GenieSegmentImage &image) const;
	bool		resident(uint64_t id) const;

	/*
	 * The image's copy, complete or with room for it.  Drops vectors and others that the pass does not use; throws if
	 * that is not enough.
	 */
	GenieCudaImage &acquire(const GenieSegmentImage &image, uint64_t pass);

	void		forget(uint64_t id)
	{
		copies.erase(id);
	}

	/* Drops vectors, and the least recently used copies, until all fit the limit. */
	void		trim();

	/* Drops copies that are not complete, and vectors that are not: after a pass that failed. */
	void		drop_incomplete();

	uint64_t	evictions() const
	{
		return n_evictions;
	}

private:
	bool		evict_one(uint64_t pass);

	GenieCudaMemory &memory;
	GenieCudaAllVectors &vectors;
	GenieCudaCopies<GenieCudaImage> copies;
	uint64_t	n_evictions = 0;
};

#endif							/* GENIE_CUDA_IMAGE_CUH */

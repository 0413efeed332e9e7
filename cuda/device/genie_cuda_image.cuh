/*
 * genie_cuda_image.cuh
 *	  Copies of images on the device.
 *
 * A copy (genie_cuda_copy.cuh) has one part for each group, a block for the live bitmap, and a table of tiles with
 * device addresses.  Of an image that lacks groups, both are of the tiles that it has.  Behind the table, of codes
 * alone, are the bases of dimensions (tiles/genie_cuda_count_codes.cuh).
 *
 * Copies are dropped to make room for others, least recently used first.  A copy that the current pass uses is never
 * dropped: its last_pass is that pass's number.  Quantized vectors are dropped before any image.
 *
 * Images and vectors that are on the device alone leave others a part of the room (GENIE_CUDA_OTHERS_PART).
 */
#ifndef GENIE_CUDA_IMAGE_CUH
#define GENIE_CUDA_IMAGE_CUH

#include <algorithm>

#include "genie_cuda_types.cuh"
#include "genie_cuda_vectors.cuh"

class GenieCudaImage : public GenieCudaCopy
{
public:
	GenieCudaImage(GenieCudaMemory &memory, const GenieSegmentImage &image);

	/* Bytes of device memory that a copy of the image takes. */
	static uint64_t bytes_of(const GenieSegmentImage &image);

	/*
	 * Starts copying the table of tiles, and the live bitmap if the device has another version of it; makes the stream
	 * wait for groups that are being copied ahead.
	 */
	void		update(const GenieSegmentImage &image, cudaStream_t stream);

	/* The table as if it began with tile 0: jobs name tiles by their numbers.  It has only those of the image. */
	const GenieCudaTile *tiles() const
	{
		return (const GenieCudaTile *) table.memory - first_tile;
	}

	const uint32_t first_tile;
	const uint32_t n_tiles;
	const uint64_t n_bytes;
	bool		swizzled = false;	/* are its codes in the order that bit lanes need? */
	uint64_t	n_sampled = 0;	/* queries whose thresholds came from samples */
	uint64_t	n_misled = 0;	/* those of them that tiles had to count again */

private:
	GenieCudaLive live;
	GenieCudaBlock table;
};

/* All copies, by the images' ids. */
class GenieCudaImages
{
public:
	GenieCudaImages(GenieCudaMemory &memory_, GenieCudaAllVectors &vectors_) : memory(memory_), vectors(vectors_) {}

	bool		fits(const GenieSegmentImage &image) const;
	bool		resident(uint64_t id) const;

	/*
	 * The image's copy, which is complete or at least has its room.  Drops vectors and copies that the pass does not
	 * use; throws if that is not enough.
	 */
	GenieCudaImage &acquire(const GenieSegmentImage &image, uint64_t pass);

	/* The same for one that stays, whatever passes use; it may be made of heads, or NULLs. */
	GenieCudaImage &stage(const GenieSegmentImage &image);
	GenieCudaVectors &stage(const GenieQuantizedVectors &quantized);

	void		forget(uint64_t id)
	{
		copies.erase(id);
	}

	/* Drops vectors, then the least recently used copies, until the rest fits the limit. */
	void		trim();

	/* Drops incomplete copies of images and of vectors, after a pass that failed. */
	void		drop_incomplete();

	uint64_t	evictions() const
	{
		return n_evictions;
	}

	/* Bytes of copies that stay, and the room for others. */
	uint64_t	staying_bytes() const;
	uint64_t	room() const
	{
		return memory.image_limit() - std::min(memory.image_limit(), staying_bytes());
	}

private:
	bool		evict_one(uint64_t pass);
	template <class COPY, class TAKE>
	COPY &take_room(uint64_t bytes, uint64_t pass, TAKE take);
	GenieCudaImage &add(const GenieSegmentImage &image, uint64_t pass);
	void		may_stay(uint64_t bytes) const;

	GenieCudaMemory &memory;
	GenieCudaAllVectors &vectors;
	GenieCudaCopies<GenieCudaImage> copies;
	uint64_t	n_evictions = 0;
};

#endif							/* GENIE_CUDA_IMAGE_CUH */

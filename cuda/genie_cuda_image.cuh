/*
 * genie_cuda_image.cuh
 *	  Copies of images on the device.
 *
 * A copy is one block of device memory a group, so that the groups of a large image need no room in one piece, a
 * block for the live bitmap, and a table of tiles with device addresses.  Room for all of them is taken before
 * anything is copied; groups are copied one by one on a stream of their own, and who counts in a group waits for that
 * group alone.
 *
 * Copies are dropped, least recently used first, to make room for others, but never one that the batch's current pass
 * uses (its number is the copy's last_pass).
 *
 *		absent ── acquire() ──> room taken ── upload() of each group ──> complete
 *		complete, or room taken and the pass failed ── drop ──> absent
 */
#ifndef GENIE_CUDA_IMAGE_CUH
#define GENIE_CUDA_IMAGE_CUH

#include <map>
#include <memory>
#include <vector>

#include "genie_cuda_memory.cuh"
#include "genie_cuda_types.cuh"

class GenieCudaImage
{
public:
	GenieCudaImage(GenieCudaMemory &memory, const GenieSegmentImage &image);
	~GenieCudaImage();
	GenieCudaImage(const GenieCudaImage &) = delete;
	GenieCudaImage &operator=(const GenieCudaImage &) = delete;

	/* device bytes that a copy of the image takes */
	static uint64_t bytes_of(const GenieSegmentImage &image);

	/* Starts copying of the tile table, and of the live bitmap if the device has another version. */
	void		update(const GenieSegmentImage &image, cudaStream_t stream);

	/*
	 * Starts copying a group on copy_stream, and lets stream wait for it.  Returns the bytes copied, 0 if it is there.
	 */
	uint64_t	upload(const GenieSegmentImage &image, uint32_t group, cudaStream_t copy_stream,
					   cudaStream_t stream);

	bool		complete() const
	{
		return n_uploaded == groups.size();
	}
	const GenieCudaTile *tiles() const
	{
		return (const GenieCudaTile *) table.memory;
	}

	uint64_t	last_pass = 0;	/* that used it */
	bool		turned = false; /* have its codes been brought into the order of bit lanes? */
	uint64_t	n_sampled = 0;	/* queries whose thresholds came from samples */
	uint64_t	n_missed = 0;	/* of these, whose thresholds were too high */

private:
	struct Block
	{
		uint8_t    *memory = nullptr;
		size_t		bytes = 0;
		bool		uploaded = false;
	};

	void		take(Block &block, size_t bytes);
	void		give() noexcept;

	GenieCudaMemory &owner;
	std::vector<Block> groups;
	Block		live;
	Block		table;
	cudaEvent_t ready = nullptr;	/* of the group copied last */
	uint64_t	live_version = 0;
	size_t		n_uploaded = 0;
};

/* All copies, by the images' ids. */
class GenieCudaImages
{
public:
	explicit GenieCudaImages(GenieCudaMemory &memory_) : memory(memory_) {}

	bool		fits(const GenieSegmentImage &image) const;
	bool		resident(uint64_t id) const;

	/*
	 * The image's copy, complete or with room for it.  Drops others that the pass does not use; throws if that is not
	 * enough.
	 */
	GenieCudaImage &acquire(const GenieSegmentImage &image, uint64_t pass);

	void		forget(uint64_t id)
	{
		copies.erase(id);
	}

	/* Drops the least recently used copies until all fit the limit. */
	void		trim();

	/* Drops copies that are not complete: after a pass that failed. */
	void		drop_incomplete();

	uint64_t	evictions() const
	{
		return n_evictions;
	}

private:
	bool		evict_one(uint64_t pass);

	GenieCudaMemory &memory;
	std::map<uint64_t, std::unique_ptr<GenieCudaImage>> copies;
	uint64_t	n_evictions = 0;
};

#endif							/* GENIE_CUDA_IMAGE_CUH */

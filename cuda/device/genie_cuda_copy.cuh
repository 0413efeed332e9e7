/*
 * genie_cuda_copy.cuh
 *	  What copies of images and of quantized vectors have in common: blocks of device memory, copied one by one.
 *
 * All room of a copy is taken before anything is copied.  Each part is a block of its own, so a large copy needs no
 * room in one piece.  Parts are copied on a stream of their own; a reader waits for the part that it reads and no
 * other.  Or all of them are copied ahead (GenieCudaContext::begin_next()), and a reader waits for the last one.
 *
 *		absent ── room taken ── upload() of each part ──> complete
 *		complete, or room taken and the pass failed ── drop ──> absent
 *
 * A copy that *stays* is the only one (genie_engine.h, "On the device alone").  It is dropped when it is forgotten, or
 * the limit is lowered.
 */
#ifndef GENIE_CUDA_COPY_CUH
#define GENIE_CUDA_COPY_CUH

#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "genie_cuda_memory.cuh"
#include "genie_image.h"

/* A block of the memory that is for images, or none yet. */
struct GenieCudaBlock
{
	GenieCudaBlock() = default;
	GenieCudaBlock(const GenieCudaBlock &) = delete;
	GenieCudaBlock &operator=(const GenieCudaBlock &) = delete;
	~GenieCudaBlock();

	/* Called once.  Throws if the device has no room. */
	void		take(GenieCudaMemory &owner_, size_t bytes_);

	/* Starts copying all of it from the host. */
	void		copy_in(const void *from, cudaStream_t stream)
	{
		owner->copy_in(memory, from, bytes, stream);
	}

	uint8_t    *memory = nullptr;
	size_t		bytes = 0;
	bool		uploaded = false;

private:
	GenieCudaMemory *owner = nullptr;
};

/* The live bits of some tiles of an image, GENIE_TILE_WORDS words a tile. */
class GenieCudaLive
{
public:
	static size_t bytes_of(uint32_t n_tiles)
	{
		return (size_t) n_tiles * GENIE_TILE_BITMAP_BYTES;
	}

	/* Called once, for n_tiles from first_tile_ on.  Throws if the device has no room. */
	void		take(GenieCudaMemory &memory, uint32_t first_tile_, uint32_t n_tiles)
	{
		first_tile = first_tile_;
		block.take(memory, bytes_of(n_tiles));
	}

	/* Starts copying them, if the device has others.  Throws if the image does not have these tiles. */
	const uint64_t *update(const GenieSegmentImage &image, cudaStream_t stream);

	const uint64_t *words() const
	{
		return (const uint64_t *) block.memory;
	}

private:
	GenieCudaBlock block;
	uint32_t	first_tile = 0;
	uint64_t	image_id = 0;
	uint64_t	version = 0;
};

class GenieCudaCopy
{
public:
	GenieCudaCopy(const GenieCudaCopy &) = delete;
	GenieCudaCopy &operator=(const GenieCudaCopy &) = delete;

	/*
	 * Starts copying a part on copy_stream.  Returns the bytes to be copied: 0 if the part is there.  from is nullptr
	 * if it has none.
	 */
	uint64_t	upload(size_t part, const void *from, cudaStream_t copy_stream);

	/* Makes stream wait for all parts whose copying has been started. */
	void		join(cudaStream_t stream) const;

	bool		complete() const
	{
		return n_uploaded == parts.size();
	}

	bool has_part(size_t part) const
	{
		return parts[part].uploaded;
	}

	uint64_t	last_pass = 0;	/* the last one that used it */
	bool		stays = false;

protected:
	explicit GenieCudaCopy(size_t n_parts);
	~GenieCudaCopy();

	std::vector<GenieCudaBlock> parts;

private:
	cudaEvent_t ready = nullptr;	/* the part copied last is there */
	size_t		n_uploaded = 0;
};

/* Copies by the ids of their images or vectors. */
template <class COPY>
using GenieCudaCopies = std::map<uint64_t, std::unique_ptr<COPY>>;

/*
 * Drops the least recently used of the copies, of those that stay or of the others, that no pass from number pass on
 * has used.  False: there is none.
 */
template <class COPY>
bool
genie_cuda_drop_oldest(GenieCudaCopies<COPY> &copies, uint64_t pass, bool stays = false)
{
	auto		oldest = copies.end();

	for (auto i = copies.begin(); i != copies.end(); ++i)
		if (i->second->stays == stays && i->second->last_pass < pass &&
			(oldest == copies.end() || i->second->last_pass < oldest->second->last_pass))
			oldest = i;
	if (oldest == copies.end())
		return false;
	copies.erase(oldest);
	return true;
}

template <class COPY>
void
genie_cuda_drop_incomplete(GenieCudaCopies<COPY> &copies)
{
	for (auto i = copies.begin(); i != copies.end();)
		i = i->second->complete() || i->second->stays ? std::next(i) : copies.erase(i);
}

#endif							/* GENIE_CUDA_COPY_CUH */

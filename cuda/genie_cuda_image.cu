/*
 * genie_cuda_image.cu
 *	  Copies of images on the device: making room, copying, dropping.
 */
#include "genie_cuda_image.cuh"

static size_t
table_bytes(const GenieSegmentImage &image)
{
	return image.n_tiles * sizeof(GenieCudaTile);
}

static size_t
live_bytes(const GenieSegmentImage &image)
{
	return (size_t) image.n_tiles * GENIE_TILE_BITMAP_BYTES;
}

uint64_t
GenieCudaImage::bytes_of(const GenieSegmentImage &image)
{
	uint64_t	bytes = table_bytes(image) + live_bytes(image);

	for (uint32_t i = 0; i < image.n_groups; i++)
		bytes += image.groups[i]->n_bytes;
	return bytes;
}

GenieCudaImage::GenieCudaImage(GenieCudaMemory &memory, const GenieSegmentImage &image) :
	owner(memory), groups(image.n_groups)
{
	try
	{
		GENIE_CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
		take(table, table_bytes(image));
		take(live, live_bytes(image));
		for (uint32_t i = 0; i < image.n_groups; i++)
			take(groups[i], image.groups[i]->n_bytes);
	}
	catch (...)
	{
		give();
		throw;
	}
}

GenieCudaImage::~GenieCudaImage()
{
	give();
}

void
GenieCudaImage::take(Block &block, size_t bytes)
{
	block.memory = owner.take_image(bytes);
	block.bytes = bytes;
}

void
GenieCudaImage::give() noexcept
{
	for (Block &group : groups)
		owner.give_image(group.memory, group.bytes);
	owner.give_image(live.memory, live.bytes);
	owner.give_image(table.memory, table.bytes);
	if (ready != nullptr)
		(void) cudaEventDestroy(ready);
}

void
GenieCudaImage::update(const GenieSegmentImage &image, cudaStream_t stream)
{
	if (!table.uploaded)
	{
		std::vector<GenieCudaTile> tiles;

		for (uint32_t i = 0; i < image.n_groups; i++)
		{
			const GenieImageGroup *group = image.groups[i];

			for (uint32_t j = 0; j < group->n_tiles; j++)
			{
				GenieCudaTile tile;

				tile.base = groups[i].memory;
				tile.live = (const uint64_t *) live.memory + tiles.size() * GENIE_TILE_WORDS;
				tile.size_width = group->size_width;
				tile.tile = genie_image_tiles(group)[j];
				tiles.push_back(tile);
			}
		}
		if (tiles.size() != image.n_tiles)
			throw GenieCudaFailure(GENIE_STATUS_CORRUPT, "an image's groups do not have the tiles that they should");

		/* pageable memory: the call has read it when it returns */
		GENIE_CUDA_CHECK(cudaMemcpyAsync(table.memory, tiles.data(), table.bytes, cudaMemcpyHostToDevice, stream));
		table.uploaded = true;
	}
	if (!live.uploaded || live_version != image.live_version)
	{
		live.uploaded = false;
		GENIE_CUDA_CHECK(cudaMemcpyAsync(live.memory, image.live, live.bytes, cudaMemcpyHostToDevice, stream));
		live_version = image.live_version;
		live.uploaded = true;
	}
}

uint64_t
GenieCudaImage::upload(const GenieSegmentImage &image, uint32_t group, cudaStream_t copy_stream,
					   cudaStream_t stream)
{
	Block	   &block = groups[group];

	if (block.uploaded)
		return 0;
	GENIE_CUDA_CHECK(cudaMemcpyAsync(block.memory, image.groups[group], block.bytes, cudaMemcpyHostToDevice,
									 copy_stream));
	GENIE_CUDA_CHECK(cudaEventRecord(ready, copy_stream));
	GENIE_CUDA_CHECK(cudaStreamWaitEvent(stream, ready, 0));
	block.uploaded = true;
	n_uploaded++;
	return block.bytes;
}

bool
GenieCudaImages::fits(const GenieSegmentImage &image) const
{
	return GenieCudaImage::bytes_of(image) <= memory.image_limit();
}

bool
GenieCudaImages::resident(uint64_t id) const
{
	const auto	found = copies.find(id);

	return found != copies.end() && found->second->complete();
}

bool
GenieCudaImages::evict_one(uint64_t pass)
{
	auto		oldest = copies.end();

	for (auto i = copies.begin(); i != copies.end(); ++i)
		if (i->second->last_pass != pass &&
			(oldest == copies.end() || i->second->last_pass < oldest->second->last_pass))
			oldest = i;
	if (oldest == copies.end())
		return false;
	copies.erase(oldest);
	n_evictions++;
	return true;
}

GenieCudaImage &
GenieCudaImages::acquire(const GenieSegmentImage &image, uint64_t pass)
{
	const auto	found = copies.find(image.id);
	const uint64_t bytes = GenieCudaImage::bytes_of(image);

	if (found != copies.end())
	{
		found->second->last_pass = pass;
		return *found->second;
	}
	while (memory.image_bytes() + bytes > memory.image_limit())
		if (!evict_one(pass))
			throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "an image does not fit the limit of GPU memory");

	for (;;)
	{
		try
		{
			std::unique_ptr<GenieCudaImage> copy(new GenieCudaImage(memory, image));

			copy->last_pass = pass;
			return *(copies[image.id] = std::move(copy));
		}
		catch (const GenieCudaError &failure)
		{
			/* the device has less room than the limit says: others use it too */
			if (failure.code != cudaErrorMemoryAllocation || !evict_one(pass))
				throw;
			(void) cudaGetLastError();
		}
	}
}

void
GenieCudaImages::trim()
{
	while (memory.image_bytes() > memory.image_limit() && evict_one(UINT64_MAX))
		;
}

void
GenieCudaImages::drop_incomplete()
{
	for (auto i = copies.begin(); i != copies.end();)
		i = i->second->complete() ? std::next(i) : copies.erase(i);
}

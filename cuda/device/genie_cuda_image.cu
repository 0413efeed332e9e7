/*
 * genie_cuda_image.cu
 *	  Copies of images on the device: making room, copying, dropping.
 */
#include "genie_cuda_image.cuh"

/* The first tile that the image has: a part of one begins with a later tile. */
static uint32_t
first_tile_of(const GenieSegmentImage &image)
{
	return image.n_groups == 0 ? 0 : image.groups[0]->first_tile;
}

static uint32_t
n_tiles_of(const GenieSegmentImage &image)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < image.n_groups; i++)
		n += image.groups[i]->n_tiles;
	return image.n_groups == 0 ? image.n_tiles : n;
}

/* The bases of dimensions, strip by strip: GENIE_CUDA_WARP slots each, which code 0 of dimension 0 fills up. */
static std::vector<uint32_t>
code_bases_of(const GenieSegmentImage &image)
{
	std::vector<uint32_t> bases;

	if (!genie_image_is_codes(&image))
		return bases;
	bases.assign((size_t) image.groups[0]->n_strips * GENIE_CUDA_WARP, 0);
	for (uint32_t d = 0; d < image.groups[0]->n_dimensions; d++)
	{
		const GenieCodeDimension &dimension = genie_image_dimensions(image.groups[0])[d];

		bases[dimension.strip * GENIE_CUDA_WARP + dimension.slot] = dimension.first_rank + d;
	}
	return bases;
}

/* Where they are in the table. */
static uint64_t
bases_at(uint32_t n_tiles)
{
	return (n_tiles * sizeof(GenieCudaTile) + GENIE_IMAGE_ALIGN - 1) / GENIE_IMAGE_ALIGN * GENIE_IMAGE_ALIGN;
}

static uint64_t
table_bytes(const GenieSegmentImage &image)
{
	const uint32_t n_strips = genie_image_is_codes(&image) ? image.groups[0]->n_strips : 0;

	return bases_at(n_tiles_of(image)) + (uint64_t) n_strips * GENIE_CUDA_WARP * sizeof(uint32_t);
}

uint64_t
GenieCudaImage::bytes_of(const GenieSegmentImage &image)
{
	uint64_t	bytes = table_bytes(image) + GenieCudaLive::bytes_of(n_tiles_of(image));

	for (uint32_t i = 0; i < image.n_groups; i++)
		bytes += image.groups[i]->n_bytes;
	return bytes;
}

GenieCudaImage::GenieCudaImage(GenieCudaMemory &memory, const GenieSegmentImage &image) :
	GenieCudaCopy(image.n_groups), first_tile(first_tile_of(image)), n_tiles(n_tiles_of(image)),
	n_bytes(bytes_of(image))
{
	table.take(memory, table_bytes(image));
	live.take(memory, first_tile, n_tiles);
	for (uint32_t i = 0; i < image.n_groups; i++)
		parts[i].take(memory, image.groups[i]->n_bytes);
}

void
GenieCudaImage::update(const GenieSegmentImage &image, cudaStream_t stream)
{
	if (!table.uploaded)
	{
		const std::vector<uint32_t> bases = code_bases_of(image);
		std::vector<GenieCudaTile> tiles;

		for (uint32_t i = 0; i < image.n_groups; i++)
		{
			const GenieImageGroup *group = image.groups[i];

			for (uint32_t j = 0; j < group->n_tiles; j++)
			{
				GenieCudaTile tile;

				tile.base = parts[i].memory;
				tile.live = live.words() + tiles.size() * GENIE_TILE_WORDS;
				tile.size_width = group->size_width;
				tile.is_codes = group->form == GENIE_IMAGE_CODES;
				tile.code_bases = (const uint32_t *) (table.memory + bases_at(n_tiles));
				tile.tile = genie_image_tiles(group)[j];
				tiles.push_back(tile);
			}
		}
		tiles.resize(n_tiles);

		/* pageable memory: the call has read it when it returns */
		GENIE_CUDA_CHECK(cudaMemcpyAsync(table.memory, tiles.data(), n_tiles * sizeof(GenieCudaTile),
										 cudaMemcpyHostToDevice, stream));
		if (!bases.empty())
			GENIE_CUDA_CHECK(cudaMemcpyAsync(table.memory + bases_at(n_tiles), bases.data(),
											 bases.size() * sizeof(uint32_t), cudaMemcpyHostToDevice, stream));
		table.uploaded = true;
	}
	(void) live.update(image, stream);
	join(stream);
}

bool
GenieCudaImages::fits(const GenieSegmentImage &image) const
{
	if (genie_image_is_on_device(&image))
		return resident(image.id);
	return GenieCudaImage::bytes_of(image) <= room();
}

uint64_t
GenieCudaImages::staying_bytes() const
{
	uint64_t	bytes = vectors.staying_bytes();

	for (const auto &copy : copies)
		bytes += copy.second->stays ? copy.second->n_bytes : 0;
	return bytes;
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
	bool		is_one;

	if (vectors.evict_one(pass))
		return true;
	is_one = genie_cuda_drop_oldest(copies, pass);
	n_evictions += is_one;
	return is_one;
}

/* Drops others until take() has taken so many bytes; returns what it made. */
template <class COPY, class TAKE>
COPY &
GenieCudaImages::take_room(uint64_t bytes, uint64_t pass, TAKE take)
{
	while (memory.image_bytes() + bytes > memory.image_limit())
		if (!evict_one(pass))
			throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "an image does not fit the limit of GPU memory");

	for (;;)
	{
		try
		{
			return take();
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

/* Takes room for a copy. */
GenieCudaImage &
GenieCudaImages::add(const GenieSegmentImage &image, uint64_t pass)
{
	return take_room<GenieCudaImage>(GenieCudaImage::bytes_of(image), pass, [&]() -> GenieCudaImage & {
		std::unique_ptr<GenieCudaImage> copy(new GenieCudaImage(memory, image));

		return *(copies[image.id] = std::move(copy));
	});
}

GenieCudaImage &
GenieCudaImages::acquire(const GenieSegmentImage &image, uint64_t pass)
{
	const auto	found = copies.find(image.id);

	if (found == copies.end() && genie_image_is_on_device(&image))
		throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "an image is not on the GPU any more");

	GenieCudaImage &copy = found != copies.end() ? *found->second : add(image, pass);

	copy.last_pass = pass;
	return copy;
}

/* Throws if so many bytes more may not be on the device alone. */
void
GenieCudaImages::may_stay(uint64_t bytes) const
{
	if (bytes + staying_bytes() > memory.image_limit() - memory.image_limit() / GENIE_CUDA_OTHERS_PART)
		throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "what shall be on the GPU alone does not fit its limit");
}

GenieCudaImage &
GenieCudaImages::stage(const GenieSegmentImage &image)
{
	const auto	found = copies.find(image.id);

	if (found != copies.end())
		return *found->second;
	may_stay(GenieCudaImage::bytes_of(image));

	GenieCudaImage &copy = add(image, UINT64_MAX);

	copy.stays = true;
	return copy;
}

GenieCudaVectors &
GenieCudaImages::stage(const GenieQuantizedVectors &quantized)
{
	const uint64_t bytes = GenieCudaVectors::bytes_of(quantized);

	if (GenieCudaVectors *found = vectors.staged(quantized.id))
		return *found;
	may_stay(bytes);

	GenieCudaVectors &copy = take_room<GenieCudaVectors>(bytes, UINT64_MAX, [&]() -> GenieCudaVectors & {
		return vectors.add(quantized);
	});

	copy.stays = true;
	return copy;
}

void
GenieCudaImages::trim()
{
	while (memory.image_bytes() > memory.image_limit() &&
		   (evict_one(UINT64_MAX) || vectors.evict_one(UINT64_MAX, true) ||
			genie_cuda_drop_oldest(copies, UINT64_MAX, true)))
		;
}

void
GenieCudaImages::drop_incomplete()
{
	vectors.drop_incomplete();
	genie_cuda_drop_incomplete(copies);
}

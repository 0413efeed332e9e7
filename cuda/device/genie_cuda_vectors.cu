/*
 * genie_cuda_vectors.cu
 *	  Copies of quantized vectors on the device: making room, copying, dropping.
 */
#include <algorithm>

#include "genie_cuda_vectors.cuh"
#include "genie_value_record.h"

static uint32_t
n_tiles_of(const GenieQuantizedVectors &vectors)
{
	return (uint32_t) (((uint64_t) vectors.n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS);
}

static size_t
table_bytes(const GenieQuantizedVectors &vectors)
{
	return n_tiles_of(vectors) * sizeof(uint8_t *);
}

uint64_t
GenieCudaVectors::bytes_of(const GenieQuantizedVectors &vectors)
{
	uint64_t	n_objects = 0;

	for (uint32_t tile = 0; tile < n_tiles_of(vectors); tile++)
		n_objects += genie_vectors_in_tile(&vectors, tile);
	return n_objects * (uint64_t) genie_value_record_bytes(vectors.metric, vectors.n_dimensions) +
		table_bytes(vectors) + GenieCudaLive::bytes_of(n_tiles_of(vectors));
}

GenieCudaVectors::GenieCudaVectors(GenieCudaMemory &memory, const GenieQuantizedVectors &vectors) :
	GenieCudaCopy(n_tiles_of(vectors)), bytes(bytes_of(vectors))
{
	table.take(memory, table_bytes(vectors));
	live_bits.take(memory, 0, n_tiles_of(vectors));
	for (uint32_t tile = 0; tile < parts.size(); tile++)
	{
		const uint32_t n = genie_vectors_in_tile(&vectors, tile);

		if (n > 0)
			parts[tile].take(memory, n * genie_value_record_bytes(vectors.metric, vectors.n_dimensions));
		else
			(void) upload(tile, nullptr, nullptr);
	}
}

void
GenieCudaVectors::update(cudaStream_t stream)
{
	std::vector<uint8_t *> tiles;

	join(stream);
	if (table.uploaded)
		return;
	for (const GenieCudaBlock &tile : parts)
		tiles.push_back(tile.memory);
	/* pageable memory: the call has read it when it returns */
	GENIE_CUDA_CHECK(cudaMemcpyAsync(table.memory, tiles.data(), table.bytes, cudaMemcpyHostToDevice, stream));
	table.uploaded = true;
}

GenieCudaVectors &
GenieCudaAllVectors::add(const GenieQuantizedVectors &vectors)
{
	std::unique_ptr<GenieCudaVectors> copy(new GenieCudaVectors(memory, vectors));

	return *(copies[vectors.id] = std::move(copy));
}

uint64_t
GenieCudaAllVectors::staying_bytes() const
{
	uint64_t	bytes = 0;

	for (const auto &copy : copies)
		bytes += copy.second->stays ? copy.second->bytes : 0;
	return bytes;
}

bool
GenieCudaAllVectors::evict_one(uint64_t pass, bool stays)
{
	const bool	is_one = genie_cuda_drop_oldest(copies, pass, stays);

	n_evictions += is_one;
	return is_one;
}

/* Drops copies that no pass from number pass on has used, if that makes enough room within the limit. */
bool
GenieCudaAllVectors::make_room(uint64_t bytes, uint64_t pass)
{
	uint64_t	n_old = 0;

	for (const auto &copy : copies)
		n_old += copy.second->last_pass < pass && !copy.second->stays ? copy.second->bytes : 0;
	if (memory.image_bytes() - n_old + bytes > memory.image_limit())
		return false;
	while (memory.image_bytes() + bytes > memory.image_limit())
		(void) evict_one(pass);
	return true;
}

GenieCudaVectors *
GenieCudaAllVectors::acquire(const GenieQuantizedVectors &vectors, uint64_t pass)
{
	const auto	found = copies.find(vectors.id);
	const uint64_t long_ago = pass - std::min(pass, GENIE_CUDA_VECTORS_STAY);

	if (found != copies.end() && (found->second->complete() || !found->second->stays))
	{
		found->second->last_pass = pass;
		return found->second.get();
	}
	if (genie_vectors_on_device(&vectors) || vectors.n_objects == 0 || pass < no_room_until ||
		!make_room(GenieCudaVectors::bytes_of(vectors), long_ago))
		return nullptr;
	for (;;)
	{
		try
		{
			GenieCudaVectors &copy = add(vectors);

			copy.last_pass = pass;
			return &copy;
		}
		catch (const GenieCudaError &failure)
		{
			/* the device has less room than the limit says: others use it too */
			if (failure.code != cudaErrorMemoryAllocation)
				throw;
			(void) cudaGetLastError();
			if (evict_one(long_ago))
				continue;
			no_room_until = pass + GENIE_CUDA_VECTORS_STAY;
			return nullptr;
		}
	}
}

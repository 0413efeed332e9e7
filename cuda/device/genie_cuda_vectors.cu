/*
 * genie_cuda_vectors.cu
 *	  Copies of quantized vectors on the device: making room, copying, dropping.
 */
#include <algorithm>
#include <cstring>

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

/* ---- graphs ---- */

static uint32_t
n_tiles_of(const GenieProximityGraph &graph)
{
	return (uint32_t) (((uint64_t) graph.n_objects + GENIE_TILE_OBJECTS - 1) / GENIE_TILE_OBJECTS);
}

/* The bytes of a tile's edges. */
static size_t
edge_bytes(const GenieProximityGraph &graph, uint32_t tile)
{
	const uint32_t n = std::min(graph.n_objects - tile * GENIE_TILE_OBJECTS, (uint32_t) GENIE_TILE_OBJECTS);

	return (size_t) genie_proximity_in_tile(n, graph.head->n_levels) * graph.head->degree * sizeof(uint32_t);
}

static size_t
table_bytes(const GenieProximityGraph &graph)
{
	return n_tiles_of(graph) * sizeof(uint32_t *) +
		((size_t) graph.head->n_entries + graph.head->n_unknown) * sizeof(uint32_t);
}

uint64_t
GenieCudaGraph::bytes_of(const GenieProximityGraph &graph)
{
	uint64_t	bytes = table_bytes(graph);

	for (uint32_t tile = 0; tile < n_tiles_of(graph); tile++)
		bytes += edge_bytes(graph, tile);
	return bytes;
}

GenieCudaGraph::GenieCudaGraph(GenieCudaMemory &memory, const GenieProximityGraph &graph) :
	GenieCudaCopy(n_tiles_of(graph)), bytes(bytes_of(graph))
{
	table.take(memory, table_bytes(graph));
	for (uint32_t tile = 0; tile < parts.size(); tile++)
		parts[tile].take(memory, edge_bytes(graph, tile));
}

void
GenieCudaGraph::update(const GenieProximityGraph &graph, cudaStream_t stream)
{
	std::vector<uint8_t> bytes(table.bytes);
	uint8_t   **tiles = (uint8_t **) bytes.data();

	join(stream);
	if (table.uploaded)
		return;
	for (const GenieCudaBlock &tile : parts)
		*tiles++ = tile.memory;
	memcpy(tiles, genie_proximity_entries(graph.head),
		   ((size_t) graph.head->n_entries + graph.head->n_unknown) * sizeof(uint32_t));
	/* pageable memory: the call has read it when it returns */
	GENIE_CUDA_CHECK(cudaMemcpyAsync(table.memory, bytes.data(), table.bytes, cudaMemcpyHostToDevice, stream));
	table.uploaded = true;
}

/* ---- all copies ---- */

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
	const bool	is_one = genie_cuda_drop_oldest(graphs, pass, stays) || genie_cuda_drop_oldest(copies, pass, stays);

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
	for (const auto &graph : graphs)
		n_old += graph.second->last_pass < pass ? graph.second->bytes : 0;
	if (memory.image_bytes() - n_old + bytes > memory.image_limit())
		return false;
	while (memory.image_bytes() + bytes > memory.image_limit())
		(void) evict_one(pass);
	return true;
}

/* Takes room for a copy.  nullptr: there is none. */
template <class COPY, class SUBJECT>
COPY *
GenieCudaAllVectors::take(GenieCudaCopies<COPY> &of, const SUBJECT &subject, uint64_t pass)
{
	const uint64_t long_ago = pass - std::min(pass, GENIE_CUDA_VECTORS_STAY);

	if (subject.n_objects == 0 || pass < no_room_until || !make_room(COPY::bytes_of(subject), long_ago))
		return nullptr;
	for (;;)
	{
		try
		{
			std::unique_ptr<COPY> copy(new COPY(memory, subject));

			copy->last_pass = pass;
			return (of[subject.id] = std::move(copy)).get();
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

GenieCudaVectors *
GenieCudaAllVectors::acquire(const GenieQuantizedVectors &vectors, uint64_t pass)
{
	const auto	found = copies.find(vectors.id);

	if (found != copies.end() && (found->second->complete() || !found->second->stays))
	{
		found->second->last_pass = pass;
		return found->second.get();
	}
	return genie_vectors_on_device(&vectors) ? nullptr : take(copies, vectors, pass);
}

GenieCudaGraph *
GenieCudaAllVectors::acquire(const GenieProximityGraph &graph, uint64_t pass)
{
	const auto	found = graphs.find(graph.id);

	if (found == graphs.end())
		return take(graphs, graph, pass);
	found->second->last_pass = pass;
	return found->second.get();
}

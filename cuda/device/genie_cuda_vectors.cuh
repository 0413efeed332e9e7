/*
 * genie_cuda_vectors.cuh
 *	  Copies of quantized vectors (genie_quantized.h) on the device: a part a tile, a table of their addresses,
 *	  and the live bits of their objects.  And of their proximity graphs (genie_proximity.h): a part a tile's edges, and
 *	  a table of their addresses, of the entries and of the unknown objects.
 *
 * Vectors only save time: without them a job's hits are the same, and the CPU computes the same bounds.  So a job never
 * fails for lack of room for vectors; it goes without.
 *
 * Vectors share the limit with images, and images come first: an image may drop any vectors that the pass does not use
 * (genie_cuda_image.cuh), and vectors never drop an image.  Vectors drop other vectors, least recently used first, only
 * if those were not used for GENIE_CUDA_VECTORS_STAY passes: copying takes as long as the CPU needs for several
 * batches, so two copies that drop each other in turn would be slower than none.  If the device had less room than the
 * limit says, it is not asked again for as many passes.
 *
 * Graphs are dropped in the same way, before vectors: these are of use without them.
 *
 * Vectors that are on the device alone are no cache: they take room as images do (GenieCudaImages::stage()).
 */
#ifndef GENIE_CUDA_VECTORS_CUH
#define GENIE_CUDA_VECTORS_CUH

#include "genie_cuda_copy.cuh"
#include "genie_proximity.h"
#include "genie_quantized.h"

class GenieCudaVectors : public GenieCudaCopy
{
public:
	GenieCudaVectors(GenieCudaMemory &memory, const GenieQuantizedVectors &vectors);

	/* Bytes of device memory that a copy takes. */
	static uint64_t bytes_of(const GenieQuantizedVectors &vectors);

	/* Starts copying the table of tiles, if it is not there; the stream waits for tiles that are being copied ahead. */
	void		update(cudaStream_t stream);

	const uint8_t *const *tiles() const
	{
		return (const uint8_t *const *) table.memory;
	}

	/* The live bits of the image of the same objects, which are being copied if the device had others. */
	const uint64_t *live(const GenieSegmentImage &image, cudaStream_t stream)
	{
		return live_bits.update(image, stream);
	}

	const uint64_t bytes;		/* taken */

private:
	GenieCudaBlock table;
	GenieCudaLive live_bits;
};

class GenieCudaGraph : public GenieCudaCopy
{
public:
	GenieCudaGraph(GenieCudaMemory &memory, const GenieProximityGraph &graph);

	static uint64_t bytes_of(const GenieProximityGraph &graph);

	/* As GenieCudaVectors::update(). */
	void		update(const GenieProximityGraph &graph, cudaStream_t stream);

	const uint32_t *const *tiles() const
	{
		return (const uint32_t *const *) table.memory;
	}

	/* The entries, and behind them the unknown objects. */
	const uint32_t *entries() const
	{
		return (const uint32_t *) (table.memory + parts.size() * sizeof(uint32_t *));
	}

	const uint64_t bytes;

private:
	GenieCudaBlock table;
};

/* All copies, by the vectors' ids and the graphs'. */
class GenieCudaAllVectors
{
public:
	explicit GenieCudaAllVectors(GenieCudaMemory &memory_) : memory(memory_) {}

	/* The copy, which is complete or at least has its room.  NULL: there is no room. */
	GenieCudaVectors *acquire(const GenieQuantizedVectors &vectors, uint64_t pass);
	GenieCudaGraph *acquire(const GenieProximityGraph &graph, uint64_t pass);

	void		forget(uint64_t id)
	{
		copies.erase(id);
		graphs.erase(id);
	}

	bool		resident(uint64_t id) const
	{
		const auto	found = copies.find(id);

		return found != copies.end() && found->second->complete();
	}

	/* Takes room for a copy.  Throws if the device has none. */
	GenieCudaVectors &add(const GenieQuantizedVectors &vectors);

	/* One that stays, whatever has been copied.  NULL: there is none. */
	GenieCudaVectors *staged(uint64_t id) const
	{
		const auto	found = copies.find(id);

		return found != copies.end() && found->second->stays ? found->second.get() : nullptr;
	}

	uint64_t	staying_bytes() const;

	/*
	 * Drops the least recently used of the copies, of those that stay or of the others, that no pass from number pass
	 * on has used.  False: there is none.
	 */
	bool		evict_one(uint64_t pass, bool stays = false);

	/* Drops incomplete copies, after a pass that failed. */
	void		drop_incomplete()
	{
		genie_cuda_drop_incomplete(copies);
		genie_cuda_drop_incomplete(graphs);
	}

	uint64_t	evictions() const
	{
		return n_evictions;
	}

private:
	bool		make_room(uint64_t bytes, uint64_t pass);
	template <class COPY, class SUBJECT>
	COPY	   *take(GenieCudaCopies<COPY> &of, const SUBJECT &subject, uint64_t pass);

	GenieCudaMemory &memory;
	GenieCudaCopies<GenieCudaVectors> copies;
	GenieCudaCopies<GenieCudaGraph> graphs;
	uint64_t	n_evictions = 0;
	uint64_t	no_room_until = 0;	/* number of a pass, before which the device is not asked */
};

#endif							/* GENIE_CUDA_VECTORS_CUH */

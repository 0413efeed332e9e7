/*
 * genie_cuda_facets.cu
 *	  Objects by keyword, and by cell of a grid (genie_cuda_facets.cuh).
 *
 * A block has some ranks of one tile, a warp takes one list after the other.
 *	facets	The live objects of the list are counted.
 *	grids	One launch an axis: the list's place is added to the word of each of its objects (genie_grid.h).  A word
 *			that has a place on the axis already shows by its axes; this is as the CPU engine does it, but that two
 *			threads may do it at once: then both have added, and the one that came later sees it.
 *			At the end a thread an object: of the objects of a warp that lie in the same cell, one adds all to it.
 *			The first object is kept as its complement, so that zero stands for none.
 */
#include "genie_cuda_chunk.cuh"
#include "genie_cuda_facets.cuh"
#include "genie_cuda_find.cuh"

constexpr uint32_t THREADS = GENIE_CUDA_FACETS_THREADS;
constexpr uint32_t WARPS = THREADS / GENIE_CUDA_WARP;
constexpr uint32_t TILE_WORDS = GENIE_TILE_OBJECTS / 32;

static_assert(GENIE_CUDA_FACETS_RANKS % WARPS == 0, "a block's warps have as many ranks each");
static_assert(GENIE_TILE_OBJECTS % THREADS == 0, "blocks of objects do not leave their tile");

/* A job on the device. */
struct GenieCudaFacets
{
	const GenieCudaTile *tiles; /* of the image */
	uint32_t	first_tile;
	uint32_t	n_tiles;
	const uint64_t *live;		/* that the job brings; NULL: that of the tiles */
	GenieRankRange ranks;		/* of the job, or of an axis */
	uint32_t   *sums;			/* FACETS: a rank each */

	/* GRID */
	const uint32_t *places;		/* a rank each */
	uint32_t	before;			/* axes that were added before */
	uint32_t	n_axes;
	uint32_t	n_cells;
	uint32_t   *objects;		/* a word each, from first_tile on */
	GenieGridCell *cells;
	uint32_t   *repeats;		/* not 0: a live object has two keywords on an axis */
};

/* The live objects of number t of the job's tiles, as words of 32. */
static __device__ __forceinline__ const uint32_t *
live_of(const GenieCudaFacets &facets, uint32_t t)
{
	return (const uint32_t *) (facets.live != nullptr ? facets.live + (size_t) t * GENIE_TILE_WORDS :
														facets.tiles[facets.first_tile + t].live);
}

static __device__ __forceinline__ bool
is_set(const uint32_t *words, uint32_t local)
{
	return (words[local / 32] >> (local % 32) & 1) != 0;
}

static __device__ __forceinline__ const uint32_t *
bitmap_of(const GenieCudaTile &tile, uint32_t number)
{
	return (const uint32_t *) (tile.base + tile.tile.bitmaps + (size_t) number * GENIE_TILE_BITMAP_BYTES);
}

/* A warp calls take(local) for each local of a rank's chunked list, if it has one. */
template <class Take>
static __device__ __forceinline__ void
take_chunks(const GenieCudaTile &tile, uint32_t rank, const Take &take)
{
	const uint4 *chunks = (const uint4 *) (tile.base + tile.tile.chunks);
	GenieImageSpan span;

	if (!genie_tile_has_chunks(&tile.tile))
		return;
	span = genie_image_find_chunks(tile.base, &tile.tile, rank, rank + 1);
	for (uint32_t i = span.from + threadIdx.x % GENIE_CUDA_WARP; i < span.to; i += GENIE_CUDA_WARP)
		genie_cuda_take_chunk(chunks[i], [&](uint32_t local, uint32_t once) {
			if (once != 0)
				take(local);
		});
}

/* A warp counts the live objects of a list. */
static __device__ __forceinline__ void
count_list(const GenieCudaFacets &facets, const GenieCudaTile &tile, const uint32_t *live, uint32_t rank)
{
	const GenieImageSpan span = genie_cuda_look_up(&tile, GenieRankRange{rank, rank + 1});
	const uint16_t *postings = (const uint16_t *) (tile.base + tile.tile.postings);
	const uint32_t thread = threadIdx.x % GENIE_CUDA_WARP;
	uint32_t	n = 0;

	for (uint32_t i = span.from + thread; i < span.to; i += GENIE_CUDA_WARP)
		n += is_set(live, postings[i]);
	take_chunks(tile, rank, [&](uint32_t local) { n += is_set(live, local); });
	if (span.bitmap_from < span.bitmap_to)
		for (uint32_t w = thread; w < TILE_WORDS; w += GENIE_CUDA_WARP)
			n += (uint32_t) __popc(bitmap_of(tile, span.bitmap_from)[w] & live[w]);
	for (uint32_t other = 1; other < GENIE_CUDA_WARP; other *= 2)
		n += __shfl_xor_sync(UINT32_MAX, n, other);
	if (thread == 0 && n > 0)
		atomicAdd(&facets.sums[rank - facets.ranks.first], n);
}

/* Adds a place to an object that has one on each axis before. */
static __device__ __forceinline__ void
add_place(const GenieCudaFacets &facets, const uint32_t *live, uint32_t *objects, uint32_t local, uint32_t add)
{
	uint32_t	n_axes = objects[local] >> GENIE_GRID_CELL_BITS;

	if (n_axes == facets.before)
		n_axes = atomicAdd(&objects[local], add) >> GENIE_GRID_CELL_BITS;
	if (n_axes > facets.before && is_set(live, local))
		*facets.repeats = 1;
}

/* A warp adds a list's place to its objects. */
static __device__ __forceinline__ void
place_list(const GenieCudaFacets &facets, const GenieCudaTile &tile, const uint32_t *live, uint32_t *objects,
		   uint32_t rank)
{
	const uint32_t place = facets.places[rank - facets.ranks.first];
	const GenieImageSpan span = place == GENIE_GRID_NOWHERE ? GenieImageSpan{0, 0, 0, 0, 0, 0} :
															  genie_cuda_look_up(&tile, GenieRankRange{rank, rank + 1});
	const uint16_t *postings = (const uint16_t *) (tile.base + tile.tile.postings);
	const uint32_t thread = threadIdx.x % GENIE_CUDA_WARP;

	for (uint32_t i = span.from + thread; i < span.to; i += GENIE_CUDA_WARP)
		add_place(facets, live, objects, postings[i], place + GENIE_GRID_ON_AXIS);
	if (place != GENIE_GRID_NOWHERE)
		take_chunks(tile, rank,
					[&](uint32_t local) { add_place(facets, live, objects, local, place + GENIE_GRID_ON_AXIS); });
	if (span.bitmap_from < span.bitmap_to)
		for (uint32_t local = thread; local < GENIE_TILE_OBJECTS; local += GENIE_CUDA_WARP)
			if (is_set(bitmap_of(tile, span.bitmap_from), local))
				add_place(facets, live, objects, local, place + GENIE_GRID_ON_AXIS);
}

/* A block some ranks of a tile; tiles vary fastest. */
template <bool GRID>
static __global__ void
__launch_bounds__(THREADS) genie_cuda_facets_kernel(GenieCudaFacets facets)
{
	const uint32_t t = blockIdx.x % facets.n_tiles;
	const GenieCudaTile &tile = facets.tiles[facets.first_tile + t];
	const uint32_t *live = live_of(facets, t);
	const uint64_t first = facets.ranks.first + (uint64_t) (blockIdx.x / facets.n_tiles) * GENIE_CUDA_FACETS_RANKS;
	const uint32_t warp = threadIdx.x / GENIE_CUDA_WARP;

	for (uint64_t rank = first + warp; rank < first + GENIE_CUDA_FACETS_RANKS && rank < facets.ranks.end; rank += WARPS)
		if (GRID)
			place_list(facets, tile, live, facets.objects + (size_t) t * GENIE_TILE_OBJECTS, (uint32_t) rank);
		else
			count_list(facets, tile, live, (uint32_t) rank);
}

/* A thread an object. */
static __global__ void
__launch_bounds__(THREADS) genie_cuda_cells_kernel(GenieCudaFacets facets)
{
	const uint64_t at = (uint64_t) blockIdx.x * THREADS + threadIdx.x;
	const uint32_t t = (uint32_t) (at / GENIE_TILE_OBJECTS);
	const uint32_t object = facets.first_tile * GENIE_TILE_OBJECTS + (uint32_t) at;
	const uint32_t word = facets.objects[at];
	const bool	is_in = word >> GENIE_GRID_CELL_BITS == facets.n_axes &&
		is_set(live_of(facets, t), (uint32_t) (at % GENIE_TILE_OBJECTS));
	const uint32_t cell = is_in ? word % GENIE_GRID_CELLS_MAX : GENIE_GRID_NOWHERE;
	const uint32_t same = __match_any_sync(UINT32_MAX, cell);
	const uint32_t thread = threadIdx.x % GENIE_CUDA_WARP;

	if (!is_in || cell >= facets.n_cells || (same & ((1u << thread) - 1)) != 0)
		return;
	atomicAdd(&facets.cells[cell].n, (uint32_t) __popc(same));
	atomicMax(&facets.cells[cell].first, ~object);
	atomicMax(&facets.cells[cell].last, object - thread + GENIE_CUDA_WARP - 1 - (uint32_t) __clz((int) same));
}

/* A thread a cell. */
static __global__ void
__launch_bounds__(THREADS) genie_cuda_finish_cells_kernel(GenieCudaFacets facets)
{
	const uint64_t cell = (uint64_t) blockIdx.x * THREADS + threadIdx.x;

	if (cell < facets.n_cells && facets.cells[cell].n > 0)
		facets.cells[cell].first = ~facets.cells[cell].first;
}

/* ---- a job ---- */

static uint32_t
blocks(uint64_t n, uint32_t each, uint64_t times)
{
	const uint64_t n_blocks = (n + each - 1) / each * times;

	if (n_blocks > INT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_NO_ROOM, "facets are of more keywords than a launch has blocks for");
	return (uint32_t) n_blocks;
}

/* Goes through the lists of facets.ranks. */
template <bool GRID>
static void
launch_lists(const GenieCudaFacets &facets, cudaStream_t stream)
{
	const uint32_t n = blocks(facets.ranks.end - facets.ranks.first, GENIE_CUDA_FACETS_RANKS, facets.n_tiles);

	if (n == 0)
		return;
	genie_cuda_facets_kernel<GRID><<<n, THREADS, 0, stream>>>(facets);
	genie_cuda_check_launch("genie_cuda_facets_kernel");
}

static void
launch_cells(const GenieCudaFacets &facets, cudaStream_t stream)
{
	genie_cuda_cells_kernel<<<blocks(facets.n_tiles, 1, GENIE_TILE_OBJECTS / THREADS), THREADS, 0, stream>>>(facets);
	genie_cuda_check_launch("genie_cuda_cells_kernel");
	genie_cuda_finish_cells_kernel<<<blocks(facets.n_cells, THREADS, 1), THREADS, 0, stream>>>(facets);
	genie_cuda_check_launch("genie_cuda_finish_cells_kernel");
}

/*
 * Lays out what the job needs, its result first: first dry (device is NULL), then in the device's memory, to which it
 * copies the job's data.  places: an entry for each axis.
 */
static GenieCudaFacets
lay_out(const GenieJob &job, uint8_t *device, cudaStream_t stream, std::vector<const uint32_t *> &places, size_t &bytes)
{
	GenieCudaFacets facets = {};
	GenieCudaBuffer buffer(nullptr, device);

	facets.first_tile = job.first_tile;
	facets.n_tiles = job.n_tiles;
	facets.ranks = job.facets;
	places.clear();
	if (job.kind == GENIE_JOB_FACETS)
		facets.sums = buffer.take<uint32_t>(job.facets.end - job.facets.first);
	else
	{
		facets.n_axes = job.grid->n_axes;
		facets.n_cells = job.grid->n_cells;
		facets.cells = buffer.take<GenieGridCell>(facets.n_cells);
		facets.repeats = buffer.take<uint32_t>(1);
		facets.objects = buffer.take<uint32_t>((size_t) job.n_tiles * GENIE_TILE_OBJECTS);
	}
	bytes = buffer.used;
	if (device != nullptr)
		GENIE_CUDA_CHECK(cudaMemsetAsync(device, 0, bytes, stream));
	for (uint32_t a = 0; a < facets.n_axes; a++)
		places.push_back(genie_cuda_bring(buffer, job.grid->axes[a].places, job.grid->axes[a].n_ranks, stream));
	if (job.live != nullptr)
		facets.live = genie_cuda_bring(buffer, job.live, (size_t) job.n_tiles * GENIE_TILE_WORDS, stream);
	bytes = buffer.used;
	return facets;
}

void
genie_cuda_facets(GenieCudaContext &context, GenieJob &job, uint64_t pass)
{
	const uint64_t uploaded_before = context.uploaded_bytes;
	const bool	is_grid = job.kind == GENIE_JOB_GRID;
	std::vector<const uint32_t *> places;
	size_t		bytes;
	GenieCudaFacets facets = lay_out(job, nullptr, context.stream, places, bytes);
	uint32_t   *repeats = (uint32_t *) context.memory.pinned(sizeof(uint32_t));
	uint8_t    *device = context.scratch(bytes);
	GenieCudaImage &copy = context.images.acquire(*job.image, pass);

	facets = lay_out(job, device, context.stream, places, bytes);
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_begin, context.copy_stream));
	context.upload(*job.image, copy);
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_end, context.copy_stream));
	facets.tiles = copy.tiles();
	for (; facets.before < facets.n_axes; facets.before++)
	{
		const GenieGridAxis &axis = job.grid->axes[facets.before];

		facets.ranks = GenieRankRange{axis.first_rank, axis.first_rank + axis.n_ranks};
		facets.places = places[facets.before];
		launch_lists<true>(facets, context.stream);
	}
	if (is_grid)
		launch_cells(facets, context.stream);
	else
		launch_lists<false>(facets, context.stream);
	GENIE_CUDA_CHECK(cudaMemcpyAsync(job.out, is_grid ? (const void *) facets.cells : facets.sums,
									 genie_job_facets_bytes(&job), cudaMemcpyDeviceToHost, context.stream));
	*repeats = 0;
	if (is_grid)
		GENIE_CUDA_CHECK(
			cudaMemcpyAsync(repeats, facets.repeats, sizeof(uint32_t), cudaMemcpyDeviceToHost, context.stream));
	GENIE_CUDA_CHECK(cudaStreamSynchronize(context.stream));
	job.n_hits = *repeats;
	if (context.uploaded_bytes > uploaded_before)
		context.note_upload();
}

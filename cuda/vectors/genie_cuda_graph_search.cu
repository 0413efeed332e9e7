/*
 * genie_cuda_graph_search.cu
 *	  The search in a proximity graph by a warp (genie_cuda_graph.cuh), in SONG's three stages: the objects at the edges
 *	  of the best object that the warp has not gone on from, their keys, and the queue.
 *
 * Candidates.  Each lane has an edge.  Those that were seen lately are left out.  What the table forgets is looked at
 * again, and changes nothing: it is in the queue already, which is noticed, or it is worse than the queue's end still.
 * So the queue is the visited set, as with SONG's selected insertion and visited deletion, and the table only saves
 * work.
 *
 * The queue is the best objects that were seen, and the mark in a rank says whether the search went on from it.  The
 * best live objects are kept in an array of their own where some are dead, as on the CPU.
 */
#include "genie_cuda_graph.cuh"
#include "genie_cuda_graph_warp.cuh"

constexpr uint32_t WARPS = GENIE_CUDA_GRAPH_WARPS;
constexpr uint64_t GONE_ON = MARK;
constexpr uint32_t OBJECT_SHIFT = 1;
constexpr uint32_t KEY_SHIFT = 33;
constexpr uint32_t UPPER_QUEUE = 32;	/* as genie_proximity.c's */

extern __shared__ uint4 genie_cuda_memory[];

/* What a warp has in shared memory. */
struct Search
{
	Best		queue;
	Best		best;
	uint64_t   *fresh;			/* WARP ranks */
	uint4	   *body;			/* n_units - 1 units */
	uint32_t   *table;			/* TABLE objects */
	uint32_t   *objects;		/* WARP */
};

uint32_t
genie_cuda_graph_warp_bytes(uint32_t n_units, uint32_t queue, uint32_t best)
{
	const uint32_t bytes = (n_units - 1) * (uint32_t) sizeof(uint4) +
		(queue + best + WARP) * (uint32_t) sizeof(uint64_t) + (TABLE + WARP) * (uint32_t) sizeof(uint32_t);

	return (bytes + (uint32_t) sizeof(uint4) - 1) / (uint32_t) sizeof(uint4) * (uint32_t) sizeof(uint4);
}

static __device__ __forceinline__ uint64_t
rank_of(uint32_t key, uint32_t object)
{
	return (uint64_t) key << KEY_SHIFT | (uint64_t) (UINT32_MAX - object) << OBJECT_SHIFT;
}

static __device__ __forceinline__ uint32_t
object_of(uint64_t rank)
{
	return UINT32_MAX - (uint32_t) (rank >> OBJECT_SHIFT);
}

static __device__ __forceinline__ bool
is_live(const GenieCudaGraphSearch &search, uint32_t object)
{
	return search.live == nullptr || (search.live[object / 64] >> (object % 64) & 1) != 0;
}

/* The rank of number lane of the n objects in warp.objects; 0: there is none. */
template <Form FORM>
static __device__ __forceinline__ uint64_t
rank_objects(const GenieCudaGraphSearch &search, const GenieCudaGraphQuery &query, const Search &warp, uint32_t n)
{
	const uint32_t lane = threadIdx.x % WARP;
	const Records records = {search.tiles, search.n_units, search.metric};
	const uint32_t key = key_objects<FORM>(records, query.constants, warp.body, warp.objects, n);

	return lane < n ? rank_of(key, warp.objects[lane]) : 0;
}

/* Lays the lanes' objects that are wanted behind one another; returns how many. */
static __device__ __forceinline__ uint32_t
gather(const Search &warp, uint32_t object, bool wanted)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint32_t mask = __ballot_sync(ALL, wanted);

	__syncwarp();
	if (wanted)
		warp.objects[__popc(mask & ((1u << lane) - 1))] = object;
	__syncwarp();
	return __popc(mask);
}

/* Sees each lane's object, if there is one that it has not seen lately.  Returns the first place in the queue. */
template <Form FORM>
static __device__ __forceinline__ uint32_t
see(const GenieCudaGraphSearch &search, const GenieCudaGraphQuery &query, Search &warp, uint32_t object)
{
	const bool	wanted = object < search.n_objects && see_first(warp.table, object);
	const uint32_t n = gather(warp, object, wanted);

	if (n == 0)
		return warp.queue.capacity;

	const uint64_t rank = rank_objects<FORM>(search, query, warp, n);
	const uint32_t first = insert(warp.queue, warp.fresh, rank);

	if (warp.best.capacity > 0)
		(void) insert(warp.best, warp.fresh, rank != 0 && is_live(search, object_of(rank)) ? rank : 0);
	return first;
}

/* The edges of an object that is in a level, as genie_proximity_edges(). */
static __device__ __forceinline__ const uint32_t *
edges_of(const GenieCudaGraphSearch &search, uint32_t level, uint32_t object)
{
	const uint32_t n = min(search.n_objects - (object & ~(GENIE_TILE_OBJECTS - 1)), GENIE_TILE_OBJECTS);
	uint32_t	before = (object & (GENIE_TILE_OBJECTS - 1)) >> GENIE_PROXIMITY_LEVEL_SHIFT * level;

	for (uint32_t below = 0; below < level; below++)
		before += (n + (1u << GENIE_PROXIMITY_LEVEL_SHIFT * below) - 1) >> GENIE_PROXIMITY_LEVEL_SHIFT * below;
	return search.edges[object >> GENIE_TILE_SHIFT] + (size_t) before * search.degree;
}

/* Empties the table, and begins a level with what the queue has. */
static __device__ void
begin_level(Search &warp)
{
	const uint32_t lane = threadIdx.x % WARP;

	for (uint32_t i = lane; i < TABLE; i += WARP)
		warp.table[i] = GENIE_PROXIMITY_NONE;
	for (uint32_t i = lane; i < warp.queue.n; i += WARP)
		warp.queue.ranks[i] &= ~GONE_ON;
	__syncwarp();
}

/* The first place from `at` on that the search has not gone on from; n: there is none. */
static __device__ __forceinline__ uint32_t
next_place(const Best &queue, uint32_t at)
{
	for (; at < queue.n; at += WARP)
	{
		const uint32_t i = at + threadIdx.x % WARP;
		const uint32_t open = __ballot_sync(ALL, i < queue.n && (queue.ranks[i] & GONE_ON) == 0);

		if (open != 0)
			return at + __ffs((int) open) - 1;
	}
	return queue.n;
}

template <Form FORM>
static __device__ void
go_on(const GenieCudaGraphSearch &search, const GenieCudaGraphQuery &query, Search &warp, uint32_t level)
{
	const uint32_t lane = threadIdx.x % WARP;

	for (uint32_t at = 0; (at = next_place(warp.queue, at)) < warp.queue.n;)
	{
		const uint64_t rank = warp.queue.ranks[at];
		const uint32_t *edges = edges_of(search, level, object_of(rank));
		uint32_t	first = warp.queue.capacity;

		__syncwarp();
		if (lane == 0)
			warp.queue.ranks[at] = rank | GONE_ON;
		__syncwarp();
		for (uint32_t i = lane; i - lane < search.degree; i += WARP)
			first = min(first,
						see<FORM>(search, query, warp, i < search.degree ? __ldg(edges + i) : GENIE_PROXIMITY_NONE));
		at = first <= at ? first : at + 1;
	}
}

/* Adds the unknown objects that are live to the best. */
template <Form FORM>
static __device__ void
add_unknown(const GenieCudaGraphSearch &search, const GenieCudaGraphQuery &query, Search &warp, Best &best)
{
	const uint32_t *unknown = search.entries + search.n_entries;

	for (uint32_t first = 0; first < search.n_unknown; first += WARP)
	{
		const uint32_t i = first + threadIdx.x % WARP;
		const uint32_t object = i < search.n_unknown ? unknown[i] : GENIE_PROXIMITY_NONE;
		const uint32_t n = gather(warp, object, object < search.n_objects && is_live(search, object));

		(void) insert(best, warp.fresh, rank_objects<FORM>(search, query, warp, n));
	}
}

/* The warp's part of the block's shared memory. */
static __device__ __forceinline__ Search
share_of(const GenieCudaGraphSearch &search, const GenieCudaGraphQuery &query, uint8_t *memory)
{
	Search		warp = {};

	warp.body = (uint4 *) (memory + threadIdx.x / WARP * search.warp_bytes);
	warp.queue.ranks = (uint64_t *) (warp.body + search.n_units - 1);
	warp.best.ranks = warp.queue.ranks + search.queue;
	warp.fresh = warp.best.ranks + search.best;
	warp.table = (uint32_t *) (warp.fresh + WARP);
	warp.objects = warp.table + TABLE;
	for (uint32_t i = threadIdx.x % WARP; i < search.n_units - 1; i += WARP)
		warp.body[i] = query.body[i];
	return warp;
}

template <Form FORM>
static __global__ void
__launch_bounds__(WARPS *WARP) genie_cuda_graph_kernel(GenieCudaGraphSearch search)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint32_t number = blockIdx.x * WARPS + threadIdx.x / WARP;

	if (number >= search.n_queries)
		return;

	const GenieCudaGraphQuery query = search.queries[number];
	Search		warp = share_of(search, query, (uint8_t *) genie_cuda_memory);

	warp.queue.capacity = query.queue > 2 * UPPER_QUEUE ? query.queue / 2 : min(query.queue, UPPER_QUEUE);
	begin_level(warp);
	for (uint32_t i = lane; i - lane < search.n_entries; i += WARP)
		(void) see<FORM>(search, query, warp, i < search.n_entries ? search.entries[i] : GENIE_PROXIMITY_NONE);
	for (uint32_t level = search.n_levels; level-- > 0;)
	{
		begin_level(warp);
		if (level == 0)
		{
			warp.queue.capacity = query.queue;
			warp.best.capacity = search.best == 0 ? 0 : query.k;
			for (uint32_t i = lane; i - lane < warp.queue.n && search.best > 0; i += WARP)
			{
				const uint64_t rank = i < warp.queue.n ? warp.queue.ranks[i] : 0;

				(void) insert(warp.best, warp.fresh, rank != 0 && is_live(search, object_of(rank)) ? rank : 0);
			}
		}
		go_on<FORM>(search, query, warp, level);
	}

	Best	   &best = search.best > 0 ? warp.best : warp.queue;
	uint32_t	n = 0;

	add_unknown<FORM>(search, query, warp, best);
	for (uint32_t i = lane; i - lane < min(best.n, query.k); i += WARP)
	{
		GenieHit	hit = {};

		if (i < min(best.n, query.k))
		{
			hit.key = (uint32_t) (best.ranks[i] >> KEY_SHIFT);
			hit.object = object_of(best.ranks[i]);
			query.hits[i] = hit;
		}
		n += __popc(__ballot_sync(ALL, hit.key != 0 && hit.key >= query.min_key));
	}
	if (lane == 0)
		*query.n_hits = n;
}

template <Form FORM>
static void
launch(const GenieCudaGraphSearch &search, cudaStream_t stream)
{
	const uint32_t shared = WARPS * search.warp_bytes;

	GENIE_CUDA_CHECK(
		cudaFuncSetAttribute(genie_cuda_graph_kernel<FORM>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	genie_cuda_graph_kernel<FORM><<<(search.n_queries + WARPS - 1) / WARPS, WARPS * WARP, shared, stream>>>(search);
	genie_cuda_check_launch("genie_cuda_graph_kernel");
}

void
genie_cuda_graph_search(const GenieCudaGraphSearch &search, cudaStream_t stream)
{
	if (search.metric == GENIE_METRIC_L1)
		launch<DIFFERENCES>(search, stream);
	else
		launch<PRODUCT>(search, stream);
}

/*
 * genie_cuda_graph_build.cu
 *	  The edges of a level of a proximity graph (genie_proximity_level.h), the same as the CPU's.
 *
 * A warp has an object.  It takes what others have written down 32 at a time, leaves out what it has seen lately, and
 * merges the others into the object's list, which is in shared memory meanwhile.
 *
 * Steps 1 and 2 have lists and what is drawn, 576 bytes an object; step 3 sorts kept edges by where they lead, 16 bytes
 * each, in their place.  All of it is memory that images might have, 830 bytes an object of 32 edges; if there is none,
 * the CPU builds the graph.
 *
 * While it waits for the device, which may take seconds, it asks the caller, who may use the time.  So what comes back
 * goes to pinned memory: a copy to any other would wait by itself.  Nor need a copy then mind where the caller's memory
 * is pinned (GenieEngineOps.pin).
 */
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <cub/device/device_radix_sort.cuh>

#include "genie_cuda_graph.cuh"
#include "genie_cuda_graph_warp.cuh"
#include "genie_proximity_level.h"
#include "genie_value_record.h"

constexpr uint32_t WARPS = GENIE_CUDA_GRAPH_WARPS;
constexpr uint32_t THREADS = GENIE_CUDA_GRAPH_BUILD_THREADS;
constexpr uint32_t NEIGHBOURS = GENIE_PROXIMITY_NEIGHBOURS;
constexpr uint32_t DRAWN = GENIE_PROXIMITY_DRAWN;
constexpr uint32_t NONE = GENIE_PROXIMITY_NONE;
constexpr uint32_t OWN = (NEIGHBOURS + WARP - 1) / WARP;	/* places of a list that a lane has */
constexpr uint32_t PLACES = 128;	/* of the table of a list's objects: a power of 2 */
constexpr uint32_t WAIT_US = 200;

static_assert(4 * DRAWN <= 2 * WARP && NEIGHBOURS <= 2 * WARP && PLACES >= 2 * NEIGHBOURS, "a lane has two of them");

extern __shared__ uint4 genie_cuda_memory[];

/* A level on the device; indexes as in genie_proximity_level.h. */
struct Level
{
	Records		records;
	uint32_t	n_dimensions;
	const uint32_t *members;	/* nullptr: all */
	uint32_t	level;
	uint32_t	n;
	uint32_t	n_neighbours;
	uint32_t	n_edges;
	uint32_t	degree;
	uint8_t    *known;			/* of each object */
	uint64_t   *lists;			/* n_neighbours an object, the best first; 0: no more */
	uint32_t   *drawn;			/* 4 * DRAWN an object: new, reverse new, old, reverse old */
	unsigned long long *n_changes;
	uint32_t   *kept;			/* n_edges an object */
	uint32_t   *begins;			/* of each object: the kept edges that lead to it, sorted, */
	uint32_t   *ends;
	uint32_t   *edges;			/* degree an object: numbers */

	__device__ __forceinline__ uint32_t number_of(uint32_t index) const
	{
		return members == nullptr ? index : members[index];
	}
};

/* What a warp has in shared memory while it changes a list. */
struct Look
{
	GenieValueConstants *constants;
	uint4	   *body;			/* n_units - 1 units */
	Best		list;
	uint64_t   *fresh;			/* WARP ranks */
	uint32_t   *table;			/* TABLE objects */
	uint32_t   *waiting;		/* 2 * WARP indexes that are to be looked at, */
	uint32_t   *numbers;		/* and WARP numbers of the first ones */
	uint32_t	n_waiting;
	uint32_t	object;
	uint32_t	salt;
};

static uint32_t
look_bytes(uint32_t n_units)
{
	const uint32_t bytes = (uint32_t) sizeof(GenieValueConstants) + sizeof(uint64_t) * (NEIGHBOURS + WARP) +
		sizeof(uint32_t) * (TABLE + 3 * WARP) + sizeof(uint4) * n_units;

	return (bytes + (uint32_t) sizeof(uint4) - 1) / (uint32_t) sizeof(uint4) * (uint32_t) sizeof(uint4);
}

/* The sum of all lanes' numbers. */
static __device__ __forceinline__ uint32_t
sum_of_lanes(uint32_t value)
{
	for (uint32_t other = WARP / 2; other > 0; other /= 2)
		value += __shfl_xor_sync(ALL, value, other);
	return value;
}

/* As genie_value_query_of_record(), by operations that are rounded one by one. */
template <Form FORM>
static __device__ void
begin_query(const Level &level, Look &look, const uint4 *record)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint4 head = __ldg(record);
	const ValueNumber scale((double) __uint_as_float(head.y));
	const ValueNumber n((double) level.n_dimensions);
	ValueNumber offset((double) __uint_as_float(head.x));
	ValueNumber sum(0.0);
	ValueNumber squares(0.0);
	uint32_t	codes = 0;

	for (uint32_t i = lane; i + 1 < level.records.n_units; i += WARP)
	{
		uint4		unit = __ldg(record + 1 + i);

		codes = add_codes(unit, codes);
		if (FORM == PRODUCT)
		{
			unit.x ^= 0x80808080u;
			unit.y ^= 0x80808080u;
			unit.z ^= 0x80808080u;
			unit.w ^= 0x80808080u;
		}
		look.body[i] = unit;
	}
	if (FORM == PRODUCT)
	{
		const long long all = sum_of_lanes(codes);
		const long long dimensions = level.n_dimensions;

		offset = offset + ValueNumber(128.0) * scale;
		sum = scale * ValueNumber((double) (all - 128 * dimensions));
		squares = (scale * scale) * ValueNumber((double) ((long long) head.w - 256 * all + 16384 * dimensions));
	}
	if (lane == 0)
	{
		GenieValueConstants constants = {};
		const ValueNumber all_offsets = n * offset;

		constants.n = n.value;
		constants.offset = offset.value;
		constants.scale = scale.value;
		constants.sum = sum.value;
		constants.squares = squares.value;
		constants.roundings = __dmul_rn((double) (2 * (level.n_dimensions + 16)), GENIE_QUANTIZED_ROUNDING);
		constants.keep = __dsub_rn(1, constants.roundings);
		constants.cosine_error = __dmul_rn(2 * GENIE_QUANTIZED_GROWTH, constants.roundings);
		constants.total = (all_offsets + sum).value;
		constants.total_size = __dadd_rn(fabs(all_offsets.value), fabs(sum.value));
		constants.offset_size = fabs(offset.value);
		constants.inner_max = GENIE_VALUE_INNER_MAX;
		*look.constants = constants;
	}
	__syncwarp();
}

/* The warp's part of the block's shared memory. */
static __device__ __forceinline__ Look
begin_look(const Level &level, uint32_t object, uint32_t warp_bytes)
{
	uint8_t    *memory = (uint8_t *) genie_cuda_memory + threadIdx.x / WARP * warp_bytes;
	Look		look = {};

	look.body = (uint4 *) memory;
	look.constants = (GenieValueConstants *) (look.body + level.records.n_units);
	look.list.ranks = (uint64_t *) (look.constants + 1);
	look.list.capacity = level.n_neighbours;
	look.fresh = look.list.ranks + NEIGHBOURS;
	look.table = (uint32_t *) (look.fresh + WARP);
	look.waiting = look.table + TABLE;
	look.numbers = look.waiting + 2 * WARP;
	look.object = object;
	look.salt = genie_proximity_salt(object);
	for (uint32_t i = threadIdx.x % WARP; i < TABLE; i += WARP)
		look.table[i] = NONE;
	__syncwarp();
	return look;
}

/* Looks at the first WARP indexes that wait, or all. */
template <Form FORM>
static __device__ void
look_at_first(const Level &level, Look &look)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint32_t n = min(look.n_waiting, WARP);
	const uint32_t index = lane < n ? look.waiting[lane] : NONE;
	const uint32_t later = lane + n < look.n_waiting ? look.waiting[lane + n] : NONE;
	const uint32_t same = __match_any_sync(ALL, index);
	uint32_t	key;

	__syncwarp();
	if (lane + n < look.n_waiting)
		look.waiting[lane] = later;
	if (lane < n)
		look.numbers[lane] = level.number_of(index);
	look.n_waiting -= n;
	__syncwarp();
	key = key_objects<FORM>(level.records, look.constants, look.body, look.numbers, n);
	(void) insert(look.list, look.fresh,
				  lane < n && __ffs((int) same) - 1 == (int) lane ? genie_proximity_rank(key, index ^ look.salt) : 0);
}

/* Each lane's index, if it has one that was not seen lately, is looked at, now or later. */
template <Form FORM>
static __device__ __forceinline__ void
look_at(const Level &level, Look &look, uint32_t index)
{
	const uint32_t lane = threadIdx.x % WARP;
	const bool	wanted = index != NONE && index != look.object && see_first(look.table, index);
	const uint32_t mask = __ballot_sync(ALL, wanted);

	if (wanted)
		look.waiting[look.n_waiting + __popc(mask & ((1u << lane) - 1))] = index;
	look.n_waiting += __popc(mask);
	__syncwarp();
	if (look.n_waiting >= WARP)
		look_at_first<FORM>(level, look);
}

template <Form FORM>
static __device__ __forceinline__ void
end_look(const Level &level, Look &look)
{
	uint64_t   *list = level.lists + (size_t) look.object * level.n_neighbours;

	while (look.n_waiting > 0)
		look_at_first<FORM>(level, look);
	for (uint32_t i = threadIdx.x % WARP; i < level.n_neighbours; i += WARP)
		list[i] = i < look.list.n ? look.list.ranks[i] : 0;
}

static __global__ void
genie_cuda_graph_known_kernel(Level level)
{
	const uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;

	if (index < level.n)
		level.known[index] = __uint_as_float(__ldg(level.records.of(level.number_of(index))).z) <= FLT_MAX;
}

/* ---- 1. neighbours ---- */

template <Form FORM>
static __global__ void
__launch_bounds__(WARPS *WARP) genie_cuda_graph_first_kernel(Level level, uint32_t warp_bytes)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint32_t object = blockIdx.x * WARPS + threadIdx.x / WARP;
	const uint32_t tries = GENIE_PROXIMITY_TRIES * level.n_neighbours;

	if (object >= level.n)
		return;

	Look		look = begin_look(level, object, warp_bytes);
	const uint64_t draw = genie_draw_begin(level.level, GENIE_PROXIMITY_DRAW_FIRST, object);

	if (level.known[object] != 0)
	{
		begin_query<FORM>(level, look, level.records.of(level.number_of(object)));
		for (uint32_t t = 0; t < tries && look.n_waiting < level.n_neighbours; t += WARP)
		{
			const uint32_t other = t + lane < tries ? genie_draw_below(draw, t + lane, level.n) : object;
			bool		wanted = other != object && level.known[other] != 0;

			for (uint32_t i = 0; i < look.n_waiting; i++)
				wanted = wanted && look.waiting[i] != other;

			const uint32_t same = __match_any_sync(ALL, wanted ? other : NONE);

			wanted = wanted && __ffs((int) same) - 1 == (int) lane;

			const uint32_t mask = __ballot_sync(ALL, wanted);
			const uint32_t place = look.n_waiting + __popc(mask & ((1u << lane) - 1));

			if (wanted && place < level.n_neighbours)
				look.waiting[place] = other;
			look.n_waiting = min(look.n_waiting + __popc(mask), level.n_neighbours);
			__syncwarp();
		}
	}
	end_look<FORM>(level, look);
}

static __global__ void
genie_cuda_graph_draw_kernel(Level level)
{
	const uint32_t object = blockIdx.x * blockDim.x + threadIdx.x;

	if (object >= level.n)
		return;

	uint64_t   *list = level.lists + (size_t) object * level.n_neighbours;
	uint32_t   *drawn = level.drawn + (size_t) object * 4 * DRAWN;
	const uint32_t salt = genie_proximity_salt(object);
	uint32_t	n_new = 0;
	uint32_t	n_old = 0;

	for (uint32_t i = 0; i < level.n_neighbours && list[i] != 0; i++)
	{
		const uint64_t rank = list[i];

		if ((rank & GENIE_PROXIMITY_NEW) == 0 && n_old < DRAWN)
			drawn[2 * DRAWN + n_old++] = genie_proximity_neighbour(rank, salt);
		else if ((rank & GENIE_PROXIMITY_NEW) != 0 && n_new < DRAWN)
		{
			drawn[n_new++] = genie_proximity_neighbour(rank, salt);
			list[i] = rank & ~GENIE_PROXIMITY_NEW;
		}
	}
	for (; n_new < 2 * DRAWN; n_new++)
		drawn[n_new] = NONE;
	for (; n_old < 2 * DRAWN; n_old++)
		drawn[2 * DRAWN + n_old] = NONE;
}

/* A thread has a place of what an object has drawn. */
static __global__ void
genie_cuda_graph_reverse_kernel(Level level, uint32_t round)
{
	const uint64_t thread = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t object = (uint32_t) (thread / (2 * DRAWN));
	const uint32_t i = (uint32_t) (thread % (2 * DRAWN));
	const uint32_t which = i / DRAWN;

	if (object >= level.n)
		return;

	const uint32_t neighbour = level.drawn[(size_t) object * 4 * DRAWN + 2 * which * DRAWN + i % DRAWN];

	if (neighbour == NONE)
		return;

	const uint64_t draw = genie_proximity_reverse_draw(round, object, neighbour);
	uint32_t   *place = level.drawn + (size_t) neighbour * 4 * DRAWN + (2 * which + 1) * DRAWN + draw % DRAWN;
	uint32_t	there = NONE;

	for (;;)
	{
		const uint32_t found = atomicCAS(place, there, object);

		if (found == there)
			break;
		there = found;
		if (genie_proximity_reverse_draw(round, there, neighbour) <= draw)
			break;
	}
}

template <Form FORM>
static __global__ void
__launch_bounds__(WARPS *WARP) genie_cuda_graph_around_kernel(Level level, uint32_t warp_bytes)
{
	const uint32_t lane = threadIdx.x % WARP;
	const uint32_t object = blockIdx.x * WARPS + threadIdx.x / WARP;

	if (object >= level.n || level.known[object] == 0)
		return;

	Look		look = begin_look(level, object, warp_bytes);
	const uint64_t *list = level.lists + (size_t) object * level.n_neighbours;
	const uint32_t *drawn = level.drawn + (size_t) object * 4 * DRAWN;
	const uint32_t drawn_here[2] = {drawn[lane], lane + WARP < 4 * DRAWN ? drawn[lane + WARP] : NONE};
	uint64_t	before[OWN];
	uint32_t	n_stay = 0;

	begin_query<FORM>(level, look, level.records.of(level.number_of(object)));
	for (uint32_t i = 0; i < OWN; i++)
	{
		const uint32_t at = i * WARP + lane;

		before[i] = at < level.n_neighbours ? list[at] : 0;
		if (before[i] != 0)
		{
			look.list.ranks[at] = before[i];
			(void) see_first(look.table, genie_proximity_neighbour(before[i], look.salt));
		}
		look.list.n += __popc(__ballot_sync(ALL, before[i] != 0));
	}
	__syncwarp();
	/* by way of new ones all, by way of old ones the new ones */
	for (uint32_t i = 0; i < 4 * DRAWN; i++)
	{
		const uint32_t of = __shfl_sync(ALL, drawn_here[i / WARP], i % WARP);
		const uint32_t n = i < 2 * DRAWN ? 4 * DRAWN : 2 * DRAWN;

		for (uint32_t at = lane; of != NONE && at - lane < n; at += WARP)
			look_at<FORM>(level, look, at < n ? level.drawn[(size_t) of * 4 * DRAWN + at] : NONE);
	}
	look_at<FORM>(level, look, lane >= DRAWN && lane < 2 * DRAWN ? drawn_here[0] : NONE);
	end_look<FORM>(level, look);
	for (uint32_t i = 0; i < OWN; i++)
	{
		const uint64_t last = look.list.n == level.n_neighbours ? look.list.ranks[look.list.n - 1] : 0;

		n_stay += __popc(__ballot_sync(ALL, before[i] != 0 && before[i] >= last));
	}
	if (lane == 0 && look.list.n > n_stay)
		atomicAdd(level.n_changes, look.list.n - n_stay);
}

/* ---- 2. pruning ---- */

/* The place of an object in a list; NONE: it is not there. */
static __device__ __forceinline__ uint32_t
find_place(const uint32_t *objects, const uint32_t *places, uint32_t object)
{
	for (uint32_t at = object % PLACES; objects[at] != NONE; at = (at + 1) % PLACES)
		if (objects[at] == object)
			return places[at];
	return NONE;
}

static __global__ void
__launch_bounds__(THREADS) genie_cuda_graph_prune_kernel(Level level)
{
	__shared__ uint32_t all_objects[THREADS / WARP][PLACES];
	__shared__ uint32_t all_places[THREADS / WARP][PLACES];
	__shared__ uint32_t all_detours[THREADS / WARP][2 * WARP];
	const uint32_t lane = threadIdx.x % WARP;
	const uint32_t object = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
	uint32_t   *objects = all_objects[threadIdx.x / WARP];
	uint32_t   *places = all_places[threadIdx.x / WARP];
	uint32_t   *detours = all_detours[threadIdx.x / WARP];
	uint32_t	mine[2];
	uint32_t	n = 0;
	uint32_t	n_kept = 0;

	if (object >= level.n)
		return;

	const uint64_t *list = level.lists + (size_t) object * level.n_neighbours;
	const uint32_t salt = genie_proximity_salt(object);
	uint32_t   *kept = level.kept + (size_t) object * level.n_edges;

	for (uint32_t at = lane; at < PLACES; at += WARP)
		objects[at] = NONE;
	__syncwarp();
	for (uint32_t i = 0; i < 2; i++)
	{
		const uint32_t place = i * WARP + lane;
		const uint64_t rank = place < level.n_neighbours ? list[place] : 0;

		mine[i] = rank != 0 ? genie_proximity_neighbour(rank, salt) : NONE;
		detours[place] = 0;
		n += __popc(__ballot_sync(ALL, rank != 0));
		if (rank != 0)
		{
			uint32_t	at = mine[i] % PLACES;

			while (atomicCAS(objects + at, NONE, mine[i]) != NONE)
				at = (at + 1) % PLACES;
			places[at] = place;
		}
	}
	__syncwarp();
	/* an edge has a detour by a neighbour of lower rank that has it at a lower rank, too */
	for (uint32_t i = 0; i + 1 < n; i++)
	{
		const uint32_t by = __shfl_sync(ALL, mine[i / WARP], i % WARP);
		const uint64_t *of_neighbour = level.lists + (size_t) by * level.n_neighbours;
		const uint32_t its_salt = genie_proximity_salt(by);

		for (uint32_t r = lane; r < level.n_neighbours; r += WARP)
		{
			const uint64_t rank = of_neighbour[r];
			const uint32_t place = rank != 0 ? find_place(objects, places, genie_proximity_neighbour(rank, its_salt)) :
											   NONE;

			if (place != NONE && place > max(i, r))
				atomicAdd(detours + place, 1u);
		}
	}
	__syncwarp();
	for (uint32_t i = 0; i < 2; i++)
	{
		const uint32_t place = i * WARP + lane;
		uint32_t	n_before = 0;

		for (uint32_t other = 0; other < n; other++)
			n_before += detours[other] < detours[place] || (detours[other] == detours[place] && other < place);

		const bool	wanted = place < n && n_before < level.n_edges;
		const uint32_t mask = __ballot_sync(ALL, wanted);

		if (wanted)
			kept[n_kept + __popc(mask & ((1u << lane) - 1))] = mine[i];
		n_kept += __popc(mask);
	}
	for (uint32_t i = n_kept + lane; i < level.n_edges; i += WARP)
		kept[i] = NONE;
}

/* ---- 3. reverse edges ---- */

/* Kept edges as pairs of where they lead, n: nowhere, and who kept them: all of the best rank, then of the next. */
static __global__ void
genie_cuda_graph_pairs_kernel(Level level, uint32_t *to, uint32_t *from)
{
	const uint64_t at = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t rank = (uint32_t) (at / level.n);
	const uint32_t object = (uint32_t) (at % level.n);

	if (rank >= level.n_edges)
		return;

	const uint32_t neighbour = level.kept[(size_t) object * level.n_edges + rank];

	to[at] = neighbour == NONE ? level.n : neighbour;
	from[at] = object;
}

/* Where the sorted pairs of each object begin and end; both are 0 of others. */
static __global__ void
genie_cuda_graph_parts_kernel(Level level, const uint32_t *to, uint64_t n_pairs)
{
	const uint64_t at = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x;

	if (at >= n_pairs || to[at] == level.n)
		return;
	if (at == 0 || to[at - 1] != to[at])
		level.begins[to[at]] = (uint32_t) at;
	if (at + 1 == n_pairs || to[at + 1] != to[at])
		level.ends[to[at]] = (uint32_t) at + 1;
}

static __device__ __forceinline__ bool
has_edge(const uint32_t *edges, uint32_t n, uint32_t object)
{
	for (uint32_t e = 0; e < n; e++)
		if (edges[e] == object)
			return true;
	return false;
}

static __global__ void
genie_cuda_graph_edges_kernel(Level level, const uint32_t *from)
{
	const uint32_t object = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t	edges[GENIE_PROXIMITY_DEGREE_MAX];
	uint32_t	n = 0;
	uint32_t	next;

	if (object >= level.n)
		return;

	const uint32_t *own = level.kept + (size_t) object * level.n_edges;
	const uint32_t begin = level.begins[object];
	const uint32_t end = min(level.ends[object], begin + level.n_edges);

	while (n < level.n_edges / 2 && own[n] != NONE)
	{
		edges[n] = own[n];
		n++;
	}
	next = n;
	for (uint32_t r = begin; r < end && n < level.n_edges; r++)
		if (!has_edge(edges, n, from[r]))
			edges[n++] = from[r];
	for (; next < level.n_edges && own[next] != NONE && n < level.n_edges; next++)
		if (!has_edge(edges, n, own[next]))
			edges[n++] = own[next];
	for (uint32_t e = 0; e < level.degree; e++)
		level.edges[(size_t) object * level.degree + e] = e < n ? level.number_of(edges[e]) : NONE;
}

/* ---- a level ---- */

/* Lays out what the level needs, dry or with memory. */
struct Memory
{
	uint32_t   *members;
	cub::DoubleBuffer<uint32_t> to;	/* of kept edges: where they lead; */
	cub::DoubleBuffer<uint32_t> from;	/* and who kept them */
	uint8_t    *temporary;
	size_t		temporary_bytes;
	size_t		bytes;

	Memory(Level &level, bool has_members, uint8_t *device)
	{
		GenieCudaBuffer own(nullptr, device);
		const uint64_t n_pairs = (uint64_t) level.n * level.n_edges;

		temporary_bytes = 0;
		GENIE_CUDA_CHECK(cub::DeviceRadixSort::SortPairs((void *) nullptr, temporary_bytes, to, from, n_pairs));
		members = own.take<uint32_t>(has_members ? level.n : 0);
		level.members = has_members ? members : nullptr;
		level.known = own.take<uint8_t>(level.n);
		level.n_changes = own.take<unsigned long long>(1);
		level.kept = own.take<uint32_t>(n_pairs);
		level.begins = own.take<uint32_t>(2 * (size_t) level.n);
		level.ends = level.begins + level.n;
		level.edges = own.take<uint32_t>((size_t) level.n * level.degree);

		GenieCudaBuffer lists(nullptr, device + own.used);
		GenieCudaBuffer sorted(nullptr, device + own.used);

		level.lists = lists.take<uint64_t>((size_t) level.n * level.n_neighbours);
		level.drawn = lists.take<uint32_t>((size_t) level.n * 4 * DRAWN);
		for (uint32_t i = 0; i < 2; i++)
		{
			to.d_buffers[i] = sorted.take<uint32_t>(n_pairs);
			from.d_buffers[i] = sorted.take<uint32_t>(n_pairs);
		}
		temporary = sorted.take<uint8_t>(temporary_bytes);
		bytes = own.used + std::max(lists.used, sorted.used);
	}
};

/* Waits for the stream, and asks the caller meanwhile. */
static void
wait(const GenieCudaContext &context)
{
	cudaError_t code;

	while ((code = cudaStreamQuery(context.stream)) == cudaErrorNotReady)
	{
		std::this_thread::sleep_for(std::chrono::microseconds(WAIT_US));
		if (context.engine->interrupted != nullptr && context.engine->interrupted())
			throw GenieCudaFailure(GENIE_STATUS_CANCELLED, "interrupted while a graph was built");
	}
	(void) cudaGetLastError();	/* "not ready" is none */
	GENIE_CUDA_CHECK(code);
}

static uint32_t
blocks_of(uint64_t n_threads, uint32_t threads)
{
	return (uint32_t) ((n_threads + threads - 1) / threads);
}

template <Form FORM>
static void
find_neighbours(const GenieCudaContext &context, const Level &level)
{
	const cudaStream_t stream = context.stream;
	const uint32_t warp_bytes = look_bytes(level.records.n_units);
	const uint32_t shared = WARPS * warp_bytes;
	const uint32_t n_blocks = blocks_of(level.n, WARPS);
	unsigned long long *n_changes = (unsigned long long *) context.memory.pinned(sizeof(unsigned long long));

	GENIE_CUDA_CHECK(cudaFuncSetAttribute(genie_cuda_graph_first_kernel<FORM>,
										  cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	GENIE_CUDA_CHECK(cudaFuncSetAttribute(genie_cuda_graph_around_kernel<FORM>,
										  cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	genie_cuda_graph_first_kernel<FORM><<<n_blocks, WARPS * WARP, shared, stream>>>(level, warp_bytes);
	genie_cuda_check_launch("genie_cuda_graph_first_kernel");
	for (uint32_t round = 0; round < GENIE_PROXIMITY_ROUNDS_MAX; round++)
	{
		GENIE_CUDA_CHECK(cudaMemsetAsync(level.n_changes, 0, sizeof(*n_changes), stream));
		genie_cuda_graph_draw_kernel<<<blocks_of(level.n, THREADS), THREADS, 0, stream>>>(level);
		genie_cuda_check_launch("genie_cuda_graph_draw_kernel");
		genie_cuda_graph_reverse_kernel<<<blocks_of((uint64_t) level.n * 2 * DRAWN, THREADS), THREADS, 0,
										  stream>>>(level, round);
		genie_cuda_check_launch("genie_cuda_graph_reverse_kernel");
		genie_cuda_graph_around_kernel<FORM><<<n_blocks, WARPS * WARP, shared, stream>>>(level, warp_bytes);
		genie_cuda_check_launch("genie_cuda_graph_around_kernel");
		GENIE_CUDA_CHECK(
			cudaMemcpyAsync(n_changes, level.n_changes, sizeof(*n_changes), cudaMemcpyDeviceToHost, stream));
		wait(context);
		if ((double) *n_changes < GENIE_PROXIMITY_CHANGES_MIN * level.n * level.n_neighbours)
			break;
	}
}

/* Copies the edges to the tiles that they belong to. */
static void
bring_edges(const GenieCudaContext &context, const Level &level, const GenieProximityGraph &graph)
{
	const size_t n_bytes = level.degree * sizeof(uint32_t);
	uint8_t    *pinned = context.memory.pinned(
		genie_proximity_in_level(std::min(graph.n_objects, GENIE_TILE_OBJECTS), level.level) * n_bytes);

	for (uint32_t first = 0; first < graph.n_objects; first += std::min(graph.n_objects - first, GENIE_TILE_OBJECTS))
	{
		const uint32_t n = genie_proximity_in_level(std::min(graph.n_objects - first, GENIE_TILE_OBJECTS), level.level);
		const size_t at = (size_t) (first >> GENIE_PROXIMITY_LEVEL_SHIFT * level.level) * level.degree;

		GENIE_CUDA_CHECK(
			cudaMemcpyAsync(pinned, level.edges + at, n * n_bytes, cudaMemcpyDeviceToHost, context.stream));
		wait(context);
		memcpy((void *) genie_proximity_edges(&graph, level.level, first), pinned, n * n_bytes);
	}
}

/* Takes memory beside the images.  Throws if there is none that nobody else has. */
static void
take_memory(const GenieCudaContext &context, size_t bytes, GenieCudaBlock &block)
{
	if (context.memory.image_bytes() + bytes > context.memory.image_limit())
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "the limit of GPU memory has no room for building a graph");
	try
	{
		block.take(context.memory, bytes);
	}
	catch (const GenieCudaError &failure)
	{
		if (failure.code != cudaErrorMemoryAllocation)
			throw;
		(void) cudaGetLastError();
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "the GPU has no room for building a graph");
	}
}

void
genie_cuda_graph_build(GenieCudaContext &context, const GenieJob &job, uint64_t pass)
{
	const GenieProximityLevel &of = *job.level;
	const GenieQuantizedVectors &quantized = *job.vectors;
	const cudaStream_t stream = context.stream;
	const uint64_t uploaded_before = context.uploaded_bytes;
	GenieCudaVectors *vectors = context.vectors.acquire(quantized, pass);
	GenieCudaBlock block;
	Level		level = {};

	if (vectors == nullptr)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "the limit of GPU memory has no room for vectors");
	level.records.n_units = (uint32_t) (genie_value_record_bytes(quantized.metric, quantized.n_dimensions) /
										sizeof(uint4));
	level.records.metric = quantized.metric == GENIE_METRIC_L1 ? GENIE_METRIC_L1 : GENIE_METRIC_L2;
	level.n_dimensions = quantized.n_dimensions;
	level.level = of.level;
	level.n = of.n;
	level.n_neighbours = std::min(of.n - 1, NEIGHBOURS);
	level.degree = of.degree;
	level.n_edges = of.degree - GENIE_PROXIMITY_BRIDGES;
	if (WARPS * look_bytes(level.records.n_units) > context.device.shared_of_block)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "records are too long");
	if ((uint64_t) level.n * level.n_edges > UINT32_MAX)
		throw GenieCudaFailure(GENIE_STATUS_DECLINED, "a level of a graph has too many edges");
	take_memory(context, Memory(level, of.members != nullptr, nullptr).bytes, block);

	Memory		memory(level, of.members != nullptr, block.memory);
	const uint64_t n_pairs = (uint64_t) level.n * level.n_edges;
	size_t		temporary_bytes = memory.temporary_bytes;
	int			bits = 1;

	while (bits < 32 && level.n >> bits != 0)
		bits++;
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_begin, context.copy_stream));
	context.upload(quantized, *vectors);
	GENIE_CUDA_CHECK(cudaEventRecord(context.copy_end, context.copy_stream));
	level.records.tiles = vectors->tiles();
	if (of.members != nullptr)
		GENIE_CUDA_CHECK(
			cudaMemcpyAsync(memory.members, of.members, level.n * sizeof(uint32_t), cudaMemcpyHostToDevice, stream));
	genie_cuda_graph_known_kernel<<<blocks_of(level.n, THREADS), THREADS, 0, stream>>>(level);
	genie_cuda_check_launch("genie_cuda_graph_known_kernel");
	if (quantized.metric == GENIE_METRIC_L1)
		find_neighbours<DIFFERENCES>(context, level);
	else
		find_neighbours<PRODUCT>(context, level);
	genie_cuda_graph_prune_kernel<<<blocks_of(level.n, THREADS / WARP), THREADS, 0, stream>>>(level);
	genie_cuda_check_launch("genie_cuda_graph_prune_kernel");
	genie_cuda_graph_pairs_kernel<<<blocks_of(n_pairs, THREADS), THREADS, 0, stream>>>(level, memory.to.Current(),
																					   memory.from.Current());
	genie_cuda_check_launch("genie_cuda_graph_pairs_kernel");
	GENIE_CUDA_CHECK(cub::DeviceRadixSort::SortPairs((void *) memory.temporary, temporary_bytes, memory.to, memory.from,
													 n_pairs, 0, bits, stream));
	GENIE_CUDA_CHECK(cudaMemsetAsync(level.begins, 0, 2 * (size_t) level.n * sizeof(uint32_t), stream));
	genie_cuda_graph_parts_kernel<<<blocks_of(n_pairs, THREADS), THREADS, 0, stream>>>(level, memory.to.Current(),
																					   n_pairs);
	genie_cuda_check_launch("genie_cuda_graph_parts_kernel");
	genie_cuda_graph_edges_kernel<<<blocks_of(level.n, THREADS), THREADS, 0, stream>>>(level, memory.from.Current());
	genie_cuda_check_launch("genie_cuda_graph_edges_kernel");
	bring_edges(context, level, *job.graph);
	if (context.uploaded_bytes > uploaded_before)
		context.note_upload();
}

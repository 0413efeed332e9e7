/*
 * genie_cuda_sparse.cu
 *	  The sparse kernel: counts pieces with few postings, of queries that have a bound, without counters.
 *
 * If postings are few, most objects that match do so once.  If the query has a bound, one match is not enough, or only
 * together with many bitmaps.  So a block keeps no counter for an object, but one bit: seen or not.  A tile takes 8 KB,
 * so many blocks run at a time and hide each other's latency, and no counter can be too narrow.
 *
 * 1.	Each thread looks up a range.  It sees a short run of postings by itself.  A longer run is cut into segments,
 *		16 bytes for each thread of a warp, which the warps then take one by one.  So do runs of chunks.
 * 2.	To *see* a posting is to set its object's bit.  If the bit was set before, the object is noted as seen again.
 * 3.	The objects seen again are counted in a small hash table; their matches by postings are that count and one.
 *		Their bits in the bitmaps are looked up if the sum may reach the threshold.
 * 4.	An object seen at most once can reach the threshold only if there are at least threshold - 1 bitmaps.  If there
 *		are exactly that many, the object must be seen and be in all of them.  If there are more, bitmaps and bits seen
 *		are added in planes, which are compared with the threshold as planes.  Objects in the hash table are left out.
 * 5.	The wanted objects are offered, at most k, by the rules of genie_cuda_epilogue.cuh.  If there are more, each is
 *		ranked by comparing it with all others.
 *
 * A piece with too many postings, bitmaps, objects seen again or wanted objects is listed for the dense kernel.  That
 * costs little as long as it is rare.  So a query's first tile, before there is a bound, should not come here, and the
 * caller estimates the postings.
 */
#include "genie_cuda_chunk.cuh"
#include "genie_cuda_epilogue.cuh"
#include "genie_cuda_error.cuh"
#include "genie_cuda_find.cuh"
#include "genie_cuda_slots.cuh"
#include "genie_cuda_sparse.cuh"

/* postings of a segment at most: 16 bytes for each thread of a warp */
constexpr uint32_t SEGMENT = GENIE_CUDA_WARP * GENIE_CUDA_LOAD_POSTINGS;

/* planes hold the sum of all bitmaps and of the bits seen */
constexpr int PLANES = 4;

static_assert(GENIE_CUDA_SPARSE_BITMAPS + 1 < 1 << PLANES, "sums of bitmaps do not fit the planes");

struct SparseShared
{
	alignas(GENIE_CUDA_ALIGN) uint32_t seen[GENIE_TILE_OBJECTS / 32];	/* a bit an object */
	uint32_t	slots[2 * GENIE_CUDA_SPARSE_AGAIN];
	union
	{
		uint16_t	again[GENIE_CUDA_SPARSE_AGAIN];	/* locals */
		uint32_t	wanted[GENIE_CUDA_SPARSE_WANTED];	/* key << 16 | (65,535 - local): larger ranks first */
	};
	uint2		segments[GENIE_CUDA_SPARSE_SEGMENTS];	/* postings [x, y); or, where y is below x, chunks [y, x) */
	const uint8_t *bitmaps[GENIE_CUDA_SPARSE_BITMAPS];
	uint32_t	n_lists;		/* bitmaps too */
	uint32_t	n_bitmaps;
	uint32_t	n_segments;
	uint32_t	n_again;
	uint32_t	n_wanted;
	uint32_t	threshold;
	uint32_t	base;			/* where the piece's candidates go */
};

/* ---- seeing postings ---- */

/* Sees the postings of load number at that lie in [from, to). */
static __device__ __forceinline__ void
see_load(const uint4 &data, uint32_t at, uint32_t from, uint32_t to, SparseShared &shared)
{
	const uint32_t words[4] = {data.x, data.y, data.z, data.w};
	const int	head = (int) (from - at * GENIE_CUDA_LOAD_POSTINGS);
	const uint32_t tail = to - at * GENIE_CUDA_LOAD_POSTINGS;
	uint32_t	valid = 0xFF;
	uint32_t	again = 0;

	if (head > 0)
		valid <<= head;
	if (tail < GENIE_CUDA_LOAD_POSTINGS)
		valid &= (1u << tail) - 1;
#pragma unroll
	for (uint32_t i = 0; i < GENIE_CUDA_LOAD_POSTINGS; i++)
	{
		const uint32_t local = i % 2 == 0 ? words[i / 2] : words[i / 2] >> 16;
		const uint32_t bit = __funnelshift_l(0, 1, local);	/* which takes its amount modulo 32 */

		if ((valid >> i & 1) != 0 && (atomicOr(&shared.seen[local % GENIE_TILE_OBJECTS / 32], bit) & bit) != 0)
			again |= 1u << i;
	}
	for (; again != 0; again &= again - 1)
	{
		/* the posting's number; its word is chosen without an index, so that words stay in registers */
		const uint32_t i = __ffs((int) again) - 1;
		const uint32_t word = i < 4 ? (i < 2 ? words[0] : words[1]) : (i < 6 ? words[2] : words[3]);
		const uint32_t place = atomicAdd(&shared.n_again, 1);

		if (place < GENIE_CUDA_SPARSE_AGAIN)
			shared.again[place] = (uint16_t) (word >> (i % 2 * 16));
	}
}

/* Sees the locals of a chunk of a list. */
static __device__ __forceinline__ void
see_decoded(const uint4 &data, SparseShared &shared)
{
	genie_cuda_take_chunk(data, [&shared](uint32_t local, uint32_t once) {
		const uint32_t bit = __funnelshift_l(0, once, local);

		if (once != 0 && (atomicOr(&shared.seen[local % GENIE_TILE_OBJECTS / 32], bit) & bit) != 0)
		{
			const uint32_t place = atomicAdd(&shared.n_again, 1);

			if (place < GENIE_CUDA_SPARSE_AGAIN)
				shared.again[place] = (uint16_t) local;
		}
	});
}

/* Sees the postings [from, to), which are few, by one thread. */
static __device__ __forceinline__ void
see_short_run(const uint4 *postings, uint32_t from, uint32_t to, SparseShared &shared)
{
	for (uint32_t at = from / GENIE_CUDA_LOAD_POSTINGS; at * GENIE_CUDA_LOAD_POSTINGS < to; at++)
		see_load(__ldg(postings + at), at, from, to, shared);
}

/* Cuts the postings [from, to) into segments. */
static __device__ __forceinline__ void
add_segments(uint32_t from, uint32_t to, SparseShared &shared)
{
	const uint32_t first = from & ~(GENIE_CUDA_LOAD_POSTINGS - 1);
	const uint32_t n = (to - first + SEGMENT - 1) / SEGMENT;
	const uint32_t place = atomicAdd(&shared.n_segments, n);

	if (place + n <= GENIE_CUDA_SPARSE_SEGMENTS)
		for (uint32_t i = 0; i < n; i++)
			shared.segments[place + i] = make_uint2(max(from, first + i * SEGMENT), min(to, first + (i + 1) * SEGMENT));
}

/* Sees the chunks [from, to), if they are few, or cuts them into segments. */
static __device__ __forceinline__ void
see_chunks(const uint4 *chunks, uint32_t from, uint32_t to, SparseShared &shared)
{
	const uint32_t n = (to - from + GENIE_CUDA_WARP - 1) / GENIE_CUDA_WARP;
	uint32_t	place;

	if (to - from <= GENIE_CUDA_SPARSE_SHORT / GENIE_CHUNK_MEAN)
	{
		for (uint32_t at = from; at < to; at++)
			see_decoded(__ldg(chunks + at), shared);
		return;
	}
	place = atomicAdd(&shared.n_segments, n);
	if (place + n <= GENIE_CUDA_SPARSE_SEGMENTS)
		for (uint32_t i = 0; i < n; i++)
			shared.segments[place + i] = make_uint2(min(to, from + (i + 1) * GENIE_CUDA_WARP),
													from + i * GENIE_CUDA_WARP);
}

enum Seen
{
	ALL,
	TOO_MANY,
	NONE_WANTED					/* no object can reach the threshold */
};

/* Looks up the query's ranges, lists their bitmaps and sees their postings.  Ends with both visible to all. */
template <int THREADS>
static __device__ __forceinline__ Seen
see_ranges(const GenieCudaPiece &piece, SparseShared &shared)
{
	const uint32_t n_ranges = piece.query->n_ranges;
	const GenieRankRange *ranges = piece.query->ranges;
	const uint8_t *bitmaps = piece.tile->base + piece.tile->tile.bitmaps;
	const uint4 *postings = (const uint4 *) (piece.tile->base + piece.tile->tile.postings);
	const uint4 *chunks = (const uint4 *) (piece.tile->base + piece.tile->tile.chunks);
	uint32_t	done = 0;		/* segments */

	__syncthreads();
	for (uint32_t first = 0; first < n_ranges; first += THREADS)
	{
		uint32_t	n_segments;
		uint32_t	n_lists = 0;

		if (first + threadIdx.x < n_ranges)
		{
			const GenieImageSpan span = genie_cuda_look_up(piece.tile, ranges[first + threadIdx.x]);

			n_lists = span.n_lists + span.bitmap_to - span.bitmap_from;
			for (uint32_t i = span.bitmap_from; i < span.bitmap_to; i++)
			{
				const uint32_t place = atomicAdd(&shared.n_bitmaps, 1);

				if (place >= GENIE_CUDA_SPARSE_BITMAPS)
					break;
				shared.bitmaps[place] = bitmaps + (size_t) i * GENIE_TILE_BITMAP_BYTES;
			}
			if (span.to - span.from > GENIE_CUDA_SPARSE_SHORT)
				add_segments(span.from, span.to, shared);
			else
				see_short_run(postings, span.from, span.to, shared);
			if (genie_tile_has_chunks(&piece.tile->tile))
			{
				const GenieRankRange range = ranges[first + threadIdx.x];
				const GenieImageSpan chunked = genie_image_find_chunks(piece.tile->base, &piece.tile->tile, range.first,
																	   range.end);

				n_lists += chunked.n_lists;
				see_chunks(chunks, chunked.from, chunked.to, shared);
			}
		}
		__syncwarp();
		n_lists = genie_cuda_warp_sum(n_lists);
		if (n_lists > 0 && genie_cuda_thread() == 0)
			atomicAdd(&shared.n_lists, n_lists);
		__syncthreads();

		n_segments = shared.n_segments;
		if (n_segments > GENIE_CUDA_SPARSE_SEGMENTS || shared.n_bitmaps > GENIE_CUDA_SPARSE_BITMAPS)
			return TOO_MANY;
		if (n_ranges <= THREADS && shared.n_lists < shared.threshold)
			return NONE_WANTED;
		for (uint32_t i = done + genie_cuda_warp(); i < n_segments; i += THREADS / GENIE_CUDA_WARP)
		{
			const uint2 segment = shared.segments[i];
			const uint32_t at = segment.x / GENIE_CUDA_LOAD_POSTINGS + genie_cuda_thread();
			const uint32_t chunk = segment.y + genie_cuda_thread();

			if (segment.y < segment.x && chunk < segment.x)
				see_decoded(__ldg(chunks + chunk), shared);
			else if (segment.x < segment.y && at * GENIE_CUDA_LOAD_POSTINGS < segment.y)
				see_load(__ldg(postings + at), at, segment.x, segment.y, shared);
		}
		done = n_segments;
		__syncthreads();
	}
	return shared.n_again > GENIE_CUDA_SPARSE_AGAIN ? TOO_MANY : ALL;
}

/* ---- wanted objects ---- */

/* Adds an object to the wanted ones, if it qualifies and ranks below the cursor. */
static __device__ __forceinline__ void
want(const GenieCudaPiece &piece, uint32_t local, uint32_t key, SparseShared &shared)
{
	const GenieCudaQuery *query = piece.query;
	const uint32_t *mask = (const uint32_t *) genie_cuda_piece_mask(piece);
	const uint32_t object = genie_cuda_piece_object(piece) + local;
	uint32_t	place;

	if ((__ldg(&mask[local / 32]) >> (local % 32) & 1) == 0)
		return;
	if (query->has_after && (key > query->after.key || (key == query->after.key && object <= query->after.object)))
		return;
	place = atomicAdd(&shared.n_wanted, 1);
	if (place < GENIE_CUDA_SPARSE_WANTED)
		shared.wanted[place] = key << 16 | (UINT16_MAX - local);
}

/* Wants the objects of the hash table that reach the threshold. */
template <int THREADS>
static __device__ __forceinline__ void
want_again(const GenieCudaPiece &piece, uint32_t n_slots, uint32_t n_bitmaps, uint32_t threshold, SparseShared &shared)
{
	for (uint32_t i = threadIdx.x; i < n_slots; i += THREADS)
	{
		const uint32_t slot = shared.slots[i];
		const uint32_t local = slot >> 16;
		uint32_t	count = 1 + (slot & GENIE_CUDA_SLOT_COUNT);

		if (slot == GENIE_CUDA_SLOT_EMPTY || count + n_bitmaps < threshold)
			continue;
		for (uint32_t j = 0; j < n_bitmaps; j++)
			count += __ldg((const uint32_t *) shared.bitmaps[j] + local / 32) >> (local % 32) & 1;
		if (count >= threshold)
			want(piece, local, count, shared);
	}
}

/* Wants the objects of a word's bits, the lowest of which is first's, that are not in the hash table. */
static __device__ __forceinline__ void
want_bits(const GenieCudaPiece &piece, uint32_t bits, uint32_t first, uint32_t key, uint32_t n_slots,
		  SparseShared &shared)
{
	for (; bits != 0; bits &= bits - 1)
	{
		const uint32_t local = first + __ffs((int) bits) - 1;

		if (!genie_cuda_slots_have(shared.slots, n_slots, local))
			want(piece, local, key, shared);
	}
}

/* Wants the objects that are seen once and in all bitmaps, if that is what reaches the threshold. */
template <int THREADS>
static __device__ __forceinline__ void
want_in_all(const GenieCudaPiece &piece, uint32_t n_slots, uint32_t n_bitmaps, SparseShared &shared)
{
	for (uint32_t i = threadIdx.x; i < GENIE_TILE_OBJECTS / 128; i += THREADS)
	{
		uint4		all = ((const uint4 *) shared.seen)[i];

#pragma unroll 4
		for (uint32_t j = 0; j < n_bitmaps; j++)
		{
			const uint4 bitmap = __ldg((const uint4 *) shared.bitmaps[j] + i);

			all = make_uint4(all.x & bitmap.x, all.y & bitmap.y, all.z & bitmap.z, all.w & bitmap.w);
		}
		if ((all.x | all.y | all.z | all.w) != 0)
		{
			want_bits(piece, all.x, i * 128, n_bitmaps + 1, n_slots, shared);
			want_bits(piece, all.y, i * 128 + 32, n_bitmaps + 1, n_slots, shared);
			want_bits(piece, all.z, i * 128 + 64, n_bitmaps + 1, n_slots, shared);
			want_bits(piece, all.w, i * 128 + 96, n_bitmaps + 1, n_slots, shared);
		}
	}
}

/* Adds two words to the planes. */
static __device__ __forceinline__ void
add_two(uint32_t (&planes)[PLANES], uint32_t a, uint32_t b)
{
	uint32_t	carry;

	genie_cuda_add3(planes[0], a, b, planes[0], carry);
#pragma unroll
	for (int i = 1; i < PLANES; i++)
	{
		const uint32_t next = planes[i] & carry;

		planes[i] ^= carry;
		carry = next;
	}
}

/* Wants the objects outside of the hash table whose bitmaps, and one if they were seen, reach the threshold. */
template <int THREADS>
static __device__ __forceinline__ void
want_by_sums(const GenieCudaPiece &piece, uint32_t n_slots, uint32_t n_bitmaps, uint32_t threshold,
			 SparseShared &shared)
{
	for (uint32_t word = threadIdx.x; word < GENIE_TILE_OBJECTS / 32; word += THREADS)
	{
		uint32_t	planes[PLANES] = {shared.seen[word]};
		uint32_t	reached = ~0u;

#pragma unroll 2
		for (uint32_t i = 0; i < n_bitmaps; i += 2)
		{
			const uint32_t a = __ldg((const uint32_t *) shared.bitmaps[i] + word);
			const uint32_t b = i + 1 < n_bitmaps ? __ldg((const uint32_t *) shared.bitmaps[i + 1] + word) : 0;

			add_two(planes, a, b);
		}
#pragma unroll
		for (int i = 0; i < PLANES; i++)
		{
			const uint32_t bit = (threshold >> i & 1) != 0 ? ~0u : 0;

			/* in the planes up to this one the sum is greater, or equal so far */
			reached = (planes[i] & ~bit) | (~(planes[i] ^ bit) & reached);
		}
		for (; reached != 0; reached &= reached - 1)
		{
			const uint32_t bit = reached & (0 - reached);
			uint32_t	key = 0;

#pragma unroll
			for (int i = 0; i < PLANES; i++)
				key |= (planes[i] & bit) != 0 ? 1u << i : 0;
			want_bits(piece, bit, word * 32, key, n_slots, shared);
		}
	}
}

/* Gives the wanted objects, at most the best k, as candidates. */
template <int BITS, int THREADS>
static __device__ __noinline__ void
offer_wanted(const GenieCudaPiece piece, SparseShared &shared)
{
	const GenieCudaQuery *query = piece.query;
	const uint32_t n = shared.n_wanted;

	if (threadIdx.x == 0)
	{
		shared.base = atomicAdd(&query->top->n, min(n, query->k));
		genie_cuda_note_piece(piece);
	}
	__syncthreads();
	__threadfence();
	for (uint32_t i = threadIdx.x; i < n; i += THREADS)
	{
		const uint32_t wanted = shared.wanted[i];
		const uint32_t key = wanted >> 16;
		uint32_t	place = i;

		if (n > query->k)
		{
			place = 0;
			for (uint32_t j = 0; j < n; j++)
				place += shared.wanted[j] > wanted;
			if (place + 1 == query->k)
				atomicMax(&query->top->bound,
						  genie_cuda_bound(key, genie_cuda_piece_object(piece) + GENIE_TILE_OBJECTS - 1));
			if (place >= query->k)
				continue;
		}
		query->candidates[shared.base + place] = genie_cuda_candidate(key,
																	  genie_cuda_piece_object(piece) + UINT16_MAX -
																		  (wanted & UINT16_MAX));
		if (query->histogram != NULL)
			atomicAdd(&query->histogram[key], 1);
	}
	if (query->histogram == NULL)
		return;
	__syncthreads();
	if (genie_cuda_warp() == 0)
		genie_cuda_raise_bound<BITS>(query);
}

/* ---- the kernel ---- */

/* Counts a piece and offers its candidates.  False: there is too much for it.  All threads call it together. */
template <int BITS, int THREADS>
static __device__ __forceinline__ bool
count_sparse(const GenieCudaPiece &piece, SparseShared &shared)
{
	uint32_t	n_slots = GENIE_CUDA_WARP;
	uint32_t	n_bitmaps;
	uint32_t	threshold;
	Seen		seen;

	for (uint32_t i = threadIdx.x; i < GENIE_TILE_OBJECTS / 128; i += THREADS)
		((uint4 *) shared.seen)[i] = make_uint4(0, 0, 0, 0);
	if (threadIdx.x == 0)
	{
		shared.n_lists = shared.n_bitmaps = shared.n_segments = shared.n_again = shared.n_wanted = 0;
		shared.threshold = genie_cuda_threshold(piece.query, genie_cuda_piece_object(piece));
	}
	seen = see_ranges<THREADS>(piece, shared);
	if (seen != ALL)
		return seen == NONE_WANTED;

	threshold = shared.threshold;
	n_bitmaps = shared.n_bitmaps;
	if (shared.n_again == 0 && threshold > n_bitmaps + 1)
		return true;
	while (n_slots < 2 * shared.n_again)
		n_slots *= 2;
	for (uint32_t i = threadIdx.x; i < n_slots; i += THREADS)
		shared.slots[i] = GENIE_CUDA_SLOT_EMPTY;
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < shared.n_again; i += THREADS)
		genie_cuda_slots_count(shared.slots, n_slots, shared.again[i]);
	__syncthreads();
	want_again<THREADS>(piece, n_slots, n_bitmaps, threshold, shared);
	if (threshold == n_bitmaps + 1)
		want_in_all<THREADS>(piece, n_slots, n_bitmaps, shared);
	else if (threshold <= n_bitmaps)
		want_by_sums<THREADS>(piece, n_slots, n_bitmaps, threshold, shared);
	__syncthreads();
	if (shared.n_wanted > GENIE_CUDA_SPARSE_WANTED)
		return false;
	if (shared.n_wanted > 0)
		offer_wanted<BITS, THREADS>(piece, shared);
	return true;
}

template <int BITS, int THREADS>
static __global__ void
__launch_bounds__(THREADS, GENIE_CUDA_SPARSE_RESIDENT / THREADS)
	genie_cuda_sparse_kernel(const GenieCudaLaunch launch, const GenieCudaLeft left)
{
	__shared__ SparseShared shared;
	GenieCudaLaunch whole = launch;

	whole.splits_log2 = 0;
	whole.part_log2 = GENIE_TILE_SHIFT;
	for (uint32_t i = blockIdx.x; i < launch.n_tiles * launch.n_queries; i += gridDim.x)
	{
		if (!count_sparse<BITS, THREADS>(genie_cuda_piece(whole, i), shared) && threadIdx.x == 0)
		{
			const uint32_t parts = 1u << launch.splits_log2;
			const uint32_t base = atomicAdd(left.n, parts);
			const uint32_t tile = i / launch.n_queries;

			for (uint32_t part = 0; part < parts; part++)
				left.pieces[base + part] = (tile * parts + part) * launch.n_queries + i % launch.n_queries;
		}
		__syncthreads();
	}
}

template <int BITS, int THREADS>
static void
sparse_kernel_launch(const GenieCudaDevice &device, const GenieCudaLaunch &launch, const GenieCudaLeft &left,
					 cudaStream_t stream)
{
	const uint32_t resident = device.n_multiprocessors * (GENIE_CUDA_SPARSE_RESIDENT / THREADS);

	GENIE_CUDA_CHECK(cudaFuncSetAttribute(genie_cuda_sparse_kernel<BITS, THREADS>,
										  cudaFuncAttributePreferredSharedMemoryCarveout,
										  cudaSharedmemCarveoutMaxShared));
	genie_cuda_sparse_kernel<BITS, THREADS>
		<<<min(launch.n_tiles * launch.n_queries, resident), THREADS, 0, stream>>>(launch, left);
	genie_cuda_check_launch("genie_cuda_sparse_kernel");
}

void
genie_cuda_sparse(const GenieCudaDevice &device, int bits, bool many_ranges, const GenieCudaLaunch &launch,
				  const GenieCudaLeft &left, cudaStream_t stream)
{
	/* only the histogram depends on the width, and counters wider than 8 bits have none */
	if (bits == 4)
		sparse_kernel_launch<4, GENIE_CUDA_SPARSE_THREADS>(device, launch, left, stream);
	else if (many_ranges)
		sparse_kernel_launch<8, 2 * GENIE_CUDA_SPARSE_THREADS>(device, launch, left, stream);
	else
		sparse_kernel_launch<8, GENIE_CUDA_SPARSE_THREADS>(device, launch, left, stream);
}

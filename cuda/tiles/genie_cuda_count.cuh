/*
 * genie_cuda_count.cuh
 *	  A block counts the matches of one query in one piece, in shared memory.
 *
 * Ranges are counted in rounds of as many as the block has threads; mostly there is one round:
 *
 * 1.	Each thread looks up one range in the tile's directory: a run of postings and some bitmaps.
 * 2.	Bitmaps.  Each thread takes 32 objects at a time, adds all bitmaps in planes in registers, and stores the sums
 *		as counters.  This also sets counters to zero where there is no bitmap, so it comes first.
 * 3.	Postings.  The runs are cut into loads of 16 bytes, which are numbered through, and each warp takes as many
 *		loads as any other.  So one list of 60,000 postings and a hundred lists of 600 take the same time.  A posting
 *		is one atomic addition in shared memory.  A run begins and ends inside loads; a mask leaves out the postings
 *		outside.
 *
 * 4.	Tight tiles.  Runs of chunks are then numbered through in the same way, and a thread decodes a chunk
 *		(genie_cuda_chunk.cuh).
 *
 * Parts.  A piece that is not a whole tile counts the objects [first, first + n) and leaves out all other postings.  A
 * run that is one plain list is cut by bisection; all others are read as a whole once for each part.
 */
#ifndef GENIE_CUDA_COUNT_CUH
#define GENIE_CUDA_COUNT_CUH

#include "genie_cuda_chunk.cuh"
#include "genie_cuda_piece.cuh"
#include "genie_cuda_planes.cuh"

/* What a round of looking up has found: of this thread's range, and summed over the block. */
struct GenieCudaFound
{
	uint32_t	bitmap;			/* the first */
	uint32_t	n_bitmaps;
	uint32_t	bitmaps_before; /* of the threads below */
	uint32_t	total_bitmaps;
	uint32_t	total_loads;
	uint32_t	total_lists;	/* with bitmaps; no object matches more often */
	uint32_t	chunk_from;		/* of a tight tile: chunks [from, to) of this thread's range, */
	uint32_t	chunk_to;
	uint32_t	chunk_end;		/* the sum of chunks up to there, and over the block */
	uint32_t	total_decoded;
};

/* The first of the ascending postings [low, high) that is at least local. */
__device__ __forceinline__ uint32_t
genie_cuda_posting_bound(const uint16_t *postings, uint32_t low, uint32_t high, uint32_t local)
{
	while (low < high)
	{
		const uint32_t middle = low + (high - low) / 2;

		if (postings[middle] < local)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sums the chunks of the block's ranges up. */
template <int THREADS>
__device__ __forceinline__ void
genie_cuda_sum_chunks(GenieCudaFound &found, GenieCudaShared<THREADS> &shared)
{
	uint32_t	sums[1] = {found.chunk_to - found.chunk_from};
	uint32_t	totals[1];

	genie_cuda_block_scan<THREADS, 1>(sums, totals, shared.sums);
	found.chunk_end = sums[0] + found.chunk_to - found.chunk_from;
	found.total_decoded = totals[0];
}

/* Looks up the query's ranges [first_range, first_range + THREADS). */
template <int THREADS, bool PARTS>
__device__ __forceinline__ GenieCudaFound
genie_cuda_find(const GenieCudaPiece &piece, uint32_t first_range, GenieCudaShared<THREADS> &shared)
{
	const uint32_t number = first_range + threadIdx.x;
	const GenieImageTile *tile = &piece.tile->tile;
	GenieImageSpan span = {0, 0, 0, 0, 0};
	uint32_t	sums[3] = {0, 0, 0};
	uint32_t	totals[3];
	GenieCudaFound found;

	found.chunk_from = found.chunk_to = found.chunk_end = found.total_decoded = 0;
	if (number < piece.query->n_ranges)
	{
		const GenieRankRange range = piece.query->ranges[number];

		span = genie_image_find(piece.tile->base, tile, range.first, range.end);
		if (PARTS && span.n_lists == 1)
		{
			const uint16_t *postings = (const uint16_t *) (piece.tile->base + tile->postings);

			span.from = genie_cuda_posting_bound(postings, span.from, span.to, piece.first);
			span.to = genie_cuda_posting_bound(postings, span.from, span.to, piece.first + piece.n);
		}
		if (genie_tile_has_chunks(tile))
		{
			const GenieImageSpan chunked = genie_image_find_chunks(piece.tile->base, tile, range.first, range.end);

			found.chunk_from = chunked.from;
			found.chunk_to = chunked.to;
			sums[2] = chunked.n_lists;
		}
	}
	if (span.to > span.from)
		sums[0] = (span.to + GENIE_CUDA_LOAD_POSTINGS - 1) / GENIE_CUDA_LOAD_POSTINGS -
			span.from / GENIE_CUDA_LOAD_POSTINGS;
	found.bitmap = span.bitmap_from;
	found.n_bitmaps = span.bitmap_to - span.bitmap_from;
	sums[1] = found.n_bitmaps;
	sums[2] += span.n_lists + found.n_bitmaps;

	shared.from[threadIdx.x] = span.from;
	shared.to[threadIdx.x] = span.to;
	shared.end[threadIdx.x] = sums[0];
	if (piece.query->n_ranges > GENIE_CUDA_WARP)
		genie_cuda_block_scan<THREADS, 3>(sums, totals, shared.sums);
	else
	{
		genie_cuda_first_warp_scan<3>(sums, totals, shared.sums);
		if (genie_cuda_warp() > 0)
			sums[0] = totals[0];
	}
	shared.end[threadIdx.x] += sums[0];
	found.bitmaps_before = sums[1];
	found.total_loads = totals[0];
	found.total_bitmaps = totals[1];
	found.total_lists = totals[2];
	if (genie_tile_has_chunks(tile))
		genie_cuda_sum_chunks<THREADS>(found, shared);
	return found;
}

/* Adds the words of N bitmaps, given where these begin; ALL is false: only n of them are there. */
template <int BITS, uint32_t N, bool ALL>
__device__ __forceinline__ void
genie_cuda_add_words(uint32_t (&planes)[BITS], const uint8_t *word, const uint4 *bitmaps, uint32_t n)
{
	uint32_t	words[GENIE_CUDA_BITMAP_BATCH] = {};

#pragma unroll
	for (uint32_t i = 0; i < N; i += 4)
	{
		const uint4 four = bitmaps[i / 4];
		const uint32_t at[4] = {four.x, four.y, four.z, four.w};

#pragma unroll
		for (uint32_t j = 0; j < 4; j++)
			if (ALL || i + j < n)
				words[i + j] = __ldg((const uint32_t *) (word + (uint64_t) at[j] * GENIE_IMAGE_ALIGN));
	}
	genie_cuda_planes_add<BITS>(planes, words);
}

/* Adds the listed bitmaps' bits of 32 objects to the planes; word is the objects' place in bitmap 0. */
template <int BITS>
__device__ __forceinline__ void
genie_cuda_sum_bitmaps(uint32_t (&planes)[BITS], const uint8_t *word, const uint32_t *bitmaps, uint32_t n)
{
	constexpr uint32_t N = GENIE_CUDA_BITMAP_BATCH;
	const uint4 *at = (const uint4 *) bitmaps;

	for (; n >= N; n -= N, at += N / 4)
		genie_cuda_add_words<BITS, N, true>(planes, word, at, N);
	if (n > N / 2)
		genie_cuda_add_words<BITS, N, false>(planes, word, at, n);
	else if (n > 0)
		genie_cuda_add_words<BITS, N / 2, false>(planes, word, at, n);
}

/* What becomes of the bitmaps of a round. */
enum GenieCudaBitmaps
{
	GENIE_CUDA_BITMAPS_SET,		/* set the counters to their sums */
	GENIE_CUDA_BITMAPS_ADD,		/* add them to the counters */
	GENIE_CUDA_BITMAPS_LATER	/* list them and set the counters to 0; there are at most as many as the list holds */
};

/* Ends with the counters, or the list, visible to all. */
template <int BITS, int THREADS>
__device__ __noinline__ void
genie_cuda_add_bitmaps(const GenieCudaPiece piece, const GenieCudaFound found, GenieCudaBitmaps what)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	uint32_t   *counters = genie_cuda_counters();
	const uint8_t *bitmaps = piece.tile->base + piece.tile->tile.bitmaps + piece.first / 8;

	if (what == GENIE_CUDA_BITMAPS_LATER || (what == GENIE_CUDA_BITMAPS_SET && found.total_bitmaps == 0))
		for (uint32_t i = threadIdx.x; i < piece.n * BITS / 128; i += THREADS)
			((uint4 *) counters)[i] = make_uint4(0, 0, 0, 0);
	if (found.total_bitmaps == 0)
		__syncthreads();
	for (uint32_t window = 0; window < found.total_bitmaps; window += GENIE_CUDA_BITMAP_WINDOW)
	{
		const uint32_t n = min(found.total_bitmaps - window, GENIE_CUDA_BITMAP_WINDOW);

		for (uint32_t i = 0; i < found.n_bitmaps; i++)
			if (found.bitmaps_before + i - window < GENIE_CUDA_BITMAP_WINDOW)
				shared.bitmaps[found.bitmaps_before + i - window] = (found.bitmap + i) *
					(GENIE_TILE_BITMAP_BYTES / GENIE_IMAGE_ALIGN);
		__syncthreads();
		if (what == GENIE_CUDA_BITMAPS_LATER)
			return;

		for (uint32_t word = threadIdx.x; word < piece.n / 32; word += THREADS)
		{
			uint32_t	planes[BITS] = {};
			uint32_t	sums[BITS];
			uint4	   *out = (uint4 *) (counters + word * BITS);

			genie_cuda_sum_bitmaps<BITS>(planes, bitmaps + word * sizeof(uint32_t), shared.bitmaps, n);
			genie_cuda_planes_to_counters<BITS>(planes, sums);
#pragma unroll
			for (int i = 0; i < BITS / 4; i++)
			{
				uint4		sum = make_uint4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);

				if (what == GENIE_CUDA_BITMAPS_ADD || window > 0)
				{
					const uint4 old = out[i];

					/* no counter overflows into its neighbour: no count is above max_count */
					sum = make_uint4(sum.x + old.x, sum.y + old.y, sum.z + old.z, sum.w + old.w);
				}
				out[i] = sum;
			}
		}
		__syncthreads();
	}
}

/*
 * Adds a posting, given as the number of its object in the piece; bits above those of a local are ignored.  If once is
 * 0 it adds 0, which costs less than a branch around the addition.
 */
template <int BITS>
__device__ __forceinline__ void
genie_cuda_add_posting(uint32_t object, uint32_t once)
{
	constexpr uint32_t PER_WORD = 32 / BITS;
	uint32_t	addend;			/* once, in the object's counter of the word */

#ifndef GENIE_CUDA_EMULATED
	if constexpr (BITS == 8)
		asm("prmt.b32.b4e %0, %1, 0, %2;" : "=r"(addend) : "r"(once), "r"(object)); /* once << 8 * (object % 4) */
	else
#endif
		addend = __funnelshift_l(0, once, object * BITS);	/* which takes its amount modulo 32 */
	atomicAdd(genie_cuda_counters() + object % GENIE_TILE_OBJECTS / PER_WORD, addend);
}

/* Adds 16 bytes of postings that belong to the part and whose bit in valid is set; ALL: all bits are. */
template <int BITS, bool PARTS, bool ALL>
__device__ __forceinline__ void
genie_cuda_add_load(uint32_t part_first, uint32_t part_n, const uint4 &load, uint32_t valid)
{
	const uint32_t words[4] = {load.x, load.y, load.z, load.w};

#pragma unroll
	for (int i = 0; i < 4; i++)
	{
		const uint32_t low_once = ALL ? 1 : valid >> (2 * i) & 1;
		const uint32_t high_once = ALL ? 1 : valid >> (2 * i + 1) & 1;

		if (PARTS)
		{
			const uint32_t low = (words[i] & (GENIE_TILE_OBJECTS - 1)) - part_first;
			const uint32_t high = (words[i] >> 16) - part_first;

			if (low < part_n)
				genie_cuda_add_posting<BITS>(low, low_once);
			if (high < part_n)
				genie_cuda_add_posting<BITS>(high, high_once);
		}
		else
		{
			genie_cuda_add_posting<BITS>(words[i], low_once);
			genie_cuda_add_posting<BITS>(words[i] >> 16, high_once);
		}
	}
}

/* Adds the locals of a chunk that belong to the part. */
template <int BITS, bool PARTS>
__device__ __forceinline__ void
genie_cuda_add_decoded(uint32_t part_first, uint32_t part_n, const uint4 &chunk)
{
	genie_cuda_take_chunk(chunk, [=](uint32_t local, uint32_t once) {
		if (!PARTS)
			genie_cuda_add_posting<BITS>(local, once);
		else if (local - part_first < part_n)
			genie_cuda_add_posting<BITS>(local - part_first, once);
	});
}

/*
 * A warp's place among the runs, the same in all its threads.  The loads [inner, inner_end) lie wholly in the run, so
 * nothing needs to be looked up for them.
 */
struct GenieCudaWalk
{
	uint32_t	run;
	uint32_t	inner;
	uint32_t	inner_end;
	uint32_t	first_load;	/* a load's place in the postings minus its number */
};

/* The first run of [low, THREADS) whose end is above load. */
template <int THREADS>
__device__ __forceinline__ uint32_t
genie_cuda_run_of(uint32_t load, uint32_t low, const GenieCudaShared<THREADS> &shared)
{
	uint32_t	high = THREADS - 1;

	/* mostly it is this run or the next one; if runs are short, bisection skips many */
	if (shared.end[low] > load)
		return low;
	if (shared.end[++low] > load)
		return low;
	for (low++; low < high;)
	{
		const uint32_t middle = (low + high) / 2;

		if (shared.end[middle] <= load)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Finds the run of each thread's load, which may be behind the walk's.  Writes the load's place in the postings to
 * *at and returns a bit for each of its 8 postings: does it lie in the run?  None does in loads from end on.  The walk
 * goes on to the last thread's run.  All threads of the warp call it together.
 */
template <int THREADS>
__device__ __forceinline__ uint32_t
genie_cuda_walk(GenieCudaWalk &walk, uint32_t load, uint32_t end, uint32_t *at, const GenieCudaShared<THREADS> &shared)
{
	const uint32_t run = genie_cuda_run_of<THREADS>(min(load, end - 1), walk.run, shared);
	const uint32_t from = shared.from[run];
	const uint32_t to = shared.to[run];
	const uint32_t run_end = shared.end[run];
	const uint32_t first_load = (to + GENIE_CUDA_LOAD_POSTINGS - 1) / GENIE_CUDA_LOAD_POSTINGS - run_end;
	const uint32_t inner = from / GENIE_CUDA_LOAD_POSTINGS - first_load + (from % GENIE_CUDA_LOAD_POSTINGS != 0);
	const int	head = (int) (from - (load + first_load) * GENIE_CUDA_LOAD_POSTINGS);
	const uint32_t tail = to - (load + first_load) * GENIE_CUDA_LOAD_POSTINGS;
	uint32_t	valid = 0xFF;

	if (head > 0)
		valid <<= head;
	if (tail < GENIE_CUDA_LOAD_POSTINGS)
		valid &= (1u << tail) - 1;
	*at = load + first_load;

	walk.run = __shfl_sync(GENIE_CUDA_WHOLE_WARP, run, GENIE_CUDA_WARP - 1);
	walk.inner = __shfl_sync(GENIE_CUDA_WHOLE_WARP, inner, GENIE_CUDA_WARP - 1);
	walk.inner_end = __shfl_sync(GENIE_CUDA_WHOLE_WARP, min(run_end - (to % GENIE_CUDA_LOAD_POSTINGS != 0), end),
								 GENIE_CUDA_WARP - 1);
	walk.first_load = __shfl_sync(GENIE_CUDA_WHOLE_WARP, first_load, GENIE_CUDA_WARP - 1);
	return load < end ? valid : 0;
}

/* Adds the postings of the runs found; DECODE: these are chunks. */
template <int BITS, int THREADS, bool PARTS, bool DECODE>
__device__ __noinline__ void
genie_cuda_add_postings(const uint4 *loads, uint32_t total_loads, uint32_t part_first, uint32_t part_n)
{
	constexpr uint32_t WARPS = THREADS / GENIE_CUDA_WARP;
	const GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(part_n);
	const uint32_t share = ((total_loads + WARPS - 1) / WARPS + GENIE_CUDA_WARP - 1) & ~(GENIE_CUDA_WARP - 1);
	const uint32_t end = min(total_loads, (genie_cuda_warp() + 1) * share);
	/* for loads that are not there: 0 is added to a word of counters that each thread has for itself, so none waits */
	const uint32_t own = genie_cuda_thread() * (32 / BITS) * 0x10001u + part_first * 0x10001u;
	const uint4 nothing = make_uint4(own, own, own, own);
	GenieCudaWalk walk = {0, 1, 0, 0};

	for (uint32_t first = genie_cuda_warp() * share; first < end; first += GENIE_CUDA_WARP * GENIE_CUDA_LOADS)
	{
		uint4		data[GENIE_CUDA_LOADS];
		uint32_t	valid[GENIE_CUDA_LOADS];
		bool		all[GENIE_CUDA_LOADS];

#pragma unroll
		for (uint32_t i = 0; i < GENIE_CUDA_LOADS; i++)
		{
			const uint32_t warp_load = first + GENIE_CUDA_WARP * i;
			const uint32_t load = warp_load + genie_cuda_thread();
			uint32_t	at = load + walk.first_load;

			all[i] = warp_load >= walk.inner && warp_load + GENIE_CUDA_WARP <= walk.inner_end;
			valid[i] = 0xFF;
			if (warp_load >= end)
				valid[i] = 0;
			else if (!all[i])
				valid[i] = genie_cuda_walk<THREADS>(walk, load, end, &at, shared);
			data[i] = valid[i] == 0 ? nothing : __ldg(loads + at);
		}
#pragma unroll
		for (uint32_t i = 0; i < GENIE_CUDA_LOADS; i++)
		{
			if (DECODE)
			{
				if (valid[i] != 0)
					genie_cuda_add_decoded<BITS, PARTS>(part_first, part_n, data[i]);
			}
			else if (all[i])
				genie_cuda_add_load<BITS, PARTS, true>(part_first, part_n, data[i], valid[i]);
			else if (first + GENIE_CUDA_WARP * i < end)
				genie_cuda_add_load<BITS, PARTS, false>(part_first, part_n, data[i], valid[i]);
		}
	}
}

/* The chunks found take the place of the runs of postings: a chunk is a load, as if of so many postings. */
template <int THREADS>
__device__ __forceinline__ void
genie_cuda_put_chunks(const GenieCudaFound &found, GenieCudaShared<THREADS> &shared)
{
	shared.from[threadIdx.x] = found.chunk_from * GENIE_CUDA_LOAD_POSTINGS;
	shared.to[threadIdx.x] = found.chunk_to * GENIE_CUDA_LOAD_POSTINGS;
	shared.end[threadIdx.x] = found.chunk_end;
	__syncthreads();
}

/*
 * In a piece that was counted without its bitmaps: adds the listed ones to the counters of a unit's objects whose bit
 * in at_least is set.
 */
template <int BITS, int THREADS>
__device__ __forceinline__ void
genie_cuda_complete(const GenieCudaPiece &piece, uint32_t unit, uint32_t at_least)
{
	const GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	const uint8_t *bitmaps = piece.tile->base + piece.tile->tile.bitmaps;

	for (uint32_t left = at_least; left != 0; left &= left - 1)
	{
		const uint32_t object = unit * (128 / BITS) + __ffs((int) left) - 1;
		const uint8_t *word = bitmaps + (piece.first + object) / 32 * sizeof(uint32_t);
		uint32_t	sum = 0;

		for (uint32_t i = 0; i < shared.n_later; i++)
		{
			const uint32_t bits = __ldg((const uint32_t *) (word + (uint64_t) shared.bitmaps[i] * GENIE_IMAGE_ALIGN));

			sum += bits >> (object % 32) & 1;
		}
		genie_cuda_counters()[object / (32 / BITS)] += sum << (object % (32 / BITS) * BITS);
	}
}

/*
 * Are objects with at least least of the round's postings rare?  If postings hit objects at random, the part of such
 * objects is at most the first term of the Poisson distribution's tail.  They are not rare if there are as many
 * postings as objects.
 */
__device__ __forceinline__ bool
genie_cuda_rare(float n_postings, uint32_t n_objects, uint32_t least)
{
	const float mean = n_postings / (float) n_objects;
	float		part = 1;

	if (mean > 1)
		return false;
	for (uint32_t i = 1; i <= least && part * GENIE_CUDA_LATER_PART > 1; i++)
		part *= mean / (float) i;
	return part * GENIE_CUDA_LATER_PART <= 1;
}

/*
 * Counts a piece.  Returns false, with undefined counters, if no object can reach shared.threshold, which the caller
 * has set (0: count in any case).  All threads call it together.  Ends with the counters visible to all.
 *
 * LATER: if bitmaps alone cannot reach the threshold, an object needs at least threshold - bitmaps postings, too.  If
 * objects with so many are rare, only postings are counted and shared.least becomes that number; genie_cuda_complete()
 * then adds the bitmaps to counters that reach it.  Otherwise shared.least becomes 0.
 */
template <int BITS, int THREADS, bool PARTS, bool LATER>
__device__ __forceinline__ bool
genie_cuda_count(const GenieCudaPiece &piece)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	const uint32_t n_ranges = piece.query->n_ranges;
	uint32_t	first_range = 0;

	do
	{
		const GenieCudaFound found = genie_cuda_find<THREADS, PARTS>(piece, first_range, shared);
		const uint32_t threshold = shared.threshold;
		GenieCudaBitmaps what = first_range == 0 ? GENIE_CUDA_BITMAPS_SET : GENIE_CUDA_BITMAPS_ADD;

		if (n_ranges <= THREADS && found.total_lists < threshold)
			return false;
		if (LATER && n_ranges <= THREADS && found.total_bitmaps > 0 && found.total_bitmaps < threshold &&
			found.total_bitmaps <= GENIE_CUDA_BITMAP_WINDOW &&
			genie_cuda_rare((float) found.total_loads * GENIE_CUDA_LOAD_POSTINGS +
								(float) found.total_decoded * GENIE_CHUNK_MEAN,
							piece.n, threshold - found.total_bitmaps))
			what = GENIE_CUDA_BITMAPS_LATER;
		if (LATER && threadIdx.x == 0)
		{
			shared.least = what == GENIE_CUDA_BITMAPS_LATER ? threshold - found.total_bitmaps : 0;
			shared.n_later = found.total_bitmaps;
		}
		genie_cuda_add_bitmaps<BITS, THREADS>(piece, found, what);
		genie_cuda_add_postings<BITS, THREADS, PARTS, false>((const uint4 *) (piece.tile->base +
																			  piece.tile->tile.postings),
															 found.total_loads, piece.first, piece.n);
		__syncthreads();
		if (genie_tile_has_chunks(&piece.tile->tile))
		{
			genie_cuda_put_chunks<THREADS>(found, shared);
			genie_cuda_add_postings<BITS, THREADS, PARTS, true>((const uint4 *) (piece.tile->base +
																				 piece.tile->tile.chunks),
																found.total_decoded, piece.first, piece.n);
			__syncthreads();
		}
		first_range += THREADS;
	}
	while (first_range < n_ranges);
	return true;
}

#endif							/* GENIE_CUDA_COUNT_CUH */

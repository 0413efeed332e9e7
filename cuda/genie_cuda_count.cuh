/*
 * genie_cuda_count.cuh
 *	  A block counts the matches of one query in one piece, in shared memory.
 *
 * In rounds of as many ranges as the block has threads (mostly one round):
 *
 * 1.	Each thread looks one range up in the tile's directory: a run of postings and some bitmaps.
 * 2.	Bitmaps: each thread takes 32 objects at a time, adds all bitmaps in planes in registers and stores the sums as counters.
 *		This also sets the counters to zero where there is no bitmap, so it comes first.
 * 3.	Postings: the runs are cut into chunks of 16 bytes, numbered through; each warp takes as many chunks as any other, so
 *		that one list of 60,000 postings and a hundred of 600 are counted alike.  A posting is one atomic addition in shared
 *		memory.  A run begins and ends inside chunks: postings outside are left out by a mask.
 *
 * Parts.  A piece that is not a whole tile counts the objects [first, first + n) and leaves all other postings out.  A run that
 * is one list is cut to these by bisection; a run of several lists is read whole once for each part.
 */
#ifndef GENIE_CUDA_COUNT_CUH
#define GENIE_CUDA_COUNT_CUH

#include "genie_cuda_piece.cuh"
#include "genie_cuda_planes.cuh"

/* What a round of looking up found: this thread's range, and the block's sums. */
struct GenieCudaFound
{
	uint32_t	bitmap;			/* the first */
	uint32_t	n_bitmaps;
	uint32_t	bitmaps_before; /* of the threads below */
	uint32_t	total_bitmaps;
	uint32_t	total_chunks;
	uint32_t	total_lists;	/* bitmaps too: no object matches more often */
};

/* the first of the postings [low, high), ascending, that is at least local */
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
	}
	if (span.to > span.from)
		sums[0] = (span.to + GENIE_CUDA_CHUNK - 1) / GENIE_CUDA_CHUNK - span.from / GENIE_CUDA_CHUNK;
	found.bitmap = span.bitmap_from;
	found.n_bitmaps = span.bitmap_to - span.bitmap_from;
	sums[1] = found.n_bitmaps;
	sums[2] = span.n_lists + found.n_bitmaps;

	shared.from[threadIdx.x] = span.from;
	shared.to[threadIdx.x] = span.to;
	shared.end[threadIdx.x] = sums[0];
	genie_cuda_block_scan<THREADS, 3>(sums, totals, shared.sums);
	shared.end[threadIdx.x] += sums[0];
	found.bitmaps_before = sums[1];
	found.total_chunks = totals[0];
	found.total_bitmaps = totals[1];
	found.total_lists = totals[2];
	return found;
}

/*
 * Adds the bitmaps found to the counters, or sets the counters to their sums.  Ends with the counters visible to all.
 */
template <int BITS, int THREADS>
__device__ __forceinline__ void
genie_cuda_add_bitmaps(const GenieCudaPiece &piece, const GenieCudaFound &found, bool add, uint32_t *counters,
					   GenieCudaShared<THREADS> &shared)
{
	const uint32_t *bitmaps = (const uint32_t *) (piece.tile->base + piece.tile->tile.bitmaps) + piece.first / 32;
	uint32_t	window = 0;

	do
	{
		const uint32_t n = min(found.total_bitmaps - window, GENIE_CUDA_BITMAP_WINDOW);

		for (uint32_t i = 0; i < found.n_bitmaps; i++)
			if (found.bitmaps_before + i - window < GENIE_CUDA_BITMAP_WINDOW)
				shared.bitmaps[found.bitmaps_before + i - window] = found.bitmap + i;
		__syncthreads();

		for (uint32_t word = threadIdx.x; word < piece.n / 32; word += THREADS)
		{
			uint32_t	planes[BITS] = {};
			uint32_t	sums[BITS];
			uint4	   *out = (uint4 *) (counters + word * BITS);

			for (uint32_t i = 0; i < n; i += GENIE_CUDA_BITMAP_BATCH)
			{
				uint32_t	words[GENIE_CUDA_BITMAP_BATCH];

#pragma unroll
				for (uint32_t j = 0; j < GENIE_CUDA_BITMAP_BATCH; j++)
					words[j] = i + j < n ?
						__ldg(bitmaps + (size_t) shared.bitmaps[i + j] * (GENIE_TILE_OBJECTS / 32) + word) : 0;
				genie_cuda_planes_add<BITS>(planes, words);
			}
			genie_cuda_planes_to_counters<BITS>(planes, sums);
#pragma unroll
			for (int i = 0; i < BITS / 4; i++)
			{
				uint4		sum = make_uint4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);

				if (add)
				{
					const uint4 old = out[i];

					/* no counter overflows into its neighbour: no count is above max_count */
					sum = make_uint4(sum.x + old.x, sum.y + old.y, sum.z + old.z, sum.w + old.w);
				}
				out[i] = sum;
			}
		}
		__syncthreads();
		window += GENIE_CUDA_BITMAP_WINDOW;
		add = true;
	} while (window < found.total_bitmaps);
}

/* Adds one posting, given as the number of its object in the piece. */
template <int BITS>
__device__ __forceinline__ void
genie_cuda_add_posting(uint32_t *counters, uint32_t object)
{
	/* the funnel shift takes its amount modulo 32: which counter of its word the object has */
	atomicAdd(counters + object / (32 / BITS), __funnelshift_l(0, 1, object * BITS));
}

/* Adds those of a chunk's postings whose bit in valid is set and that belong to the piece. */
template <int BITS, bool PARTS>
__device__ __forceinline__ void
genie_cuda_add_chunk(const GenieCudaPiece &piece, uint32_t *counters, const uint4 &chunk, uint32_t valid)
{
	const uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};

#pragma unroll
	for (int i = 0; i < 4; i++)
	{
		const uint32_t low = (words[i] & 0xFFFFu) - (PARTS ? piece.first : 0);
		const uint32_t high = (words[i] >> 16) - (PARTS ? piece.first : 0);

		if ((valid >> (2 * i) & 1) && (!PARTS || low < piece.n))
			genie_cuda_add_posting<BITS>(counters, low);
		if ((valid >> (2 * i + 1) & 1) && (!PARTS || high < piece.n))
			genie_cuda_add_posting<BITS>(counters, high);
	}
}

/* A thread's place among the runs. */
struct GenieCudaWalk
{
	uint32_t	run;
	uint32_t	end;			/* shared.end[run] */
	uint32_t	from;
	uint32_t	to;
	uint32_t	first_chunk;	/* chunk in the postings less number of the chunk */
};

/* Goes on to the run of a chunk, total_chunks > chunk. */
template <int THREADS>
__device__ __forceinline__ void
genie_cuda_walk(GenieCudaWalk &walk, uint32_t chunk, const GenieCudaShared<THREADS> &shared)
{
	uint32_t	low = walk.run + 1;

	/* mostly it is the next run; else, many short ones are skipped by bisection */
	if (shared.end[low] <= chunk)
	{
		uint32_t	high = THREADS - 1;

		low++;
		while (low < high)
		{
			const uint32_t middle = (low + high) / 2;

			if (shared.end[middle] <= chunk)
				low = middle + 1;
			else
				high = middle;
		}
	}
	walk.run = low;
	walk.end = shared.end[low];
	walk.from = shared.from[low];
	walk.to = shared.to[low];
	walk.first_chunk = (walk.to + GENIE_CUDA_CHUNK - 1) / GENIE_CUDA_CHUNK - walk.end;
}

/* Which of a chunk's postings lie in the run, as 8 bits. */
__device__ __forceinline__ uint32_t
genie_cuda_valid(const GenieCudaWalk &walk, uint32_t chunk)
{
	const int	head = (int) (walk.from - chunk * GENIE_CUDA_CHUNK);
	const uint32_t tail = walk.to - chunk * GENIE_CUDA_CHUNK;
	uint32_t	valid = 0xFF;

	if (head > 0)
		valid <<= head;
	if (tail < GENIE_CUDA_CHUNK)
		valid &= (1u << tail) - 1;
	return valid;
}

/* Adds the postings of the runs found. */
template <int BITS, int THREADS, bool PARTS>
__device__ __forceinline__ void
genie_cuda_add_postings(const GenieCudaPiece &piece, uint32_t total_chunks, uint32_t *counters,
						const GenieCudaShared<THREADS> &shared)
{
	constexpr uint32_t WARPS = THREADS / GENIE_CUDA_WARP;
	const uint4 *chunks = (const uint4 *) (piece.tile->base + piece.tile->tile.postings);
	const uint32_t share = ((total_chunks + WARPS - 1) / WARPS + GENIE_CUDA_WARP - 1) & ~(GENIE_CUDA_WARP - 1);
	const uint32_t end = min(total_chunks, (genie_cuda_warp() + 1) * share);
	GenieCudaWalk walk = {UINT32_MAX, 0, 0, 0, 0};

	for (uint32_t i = genie_cuda_warp() * share + genie_cuda_lane(); i < end;
		 i += GENIE_CUDA_WARP * GENIE_CUDA_LOADS)
	{
		uint4		data[GENIE_CUDA_LOADS];
		uint32_t	valid[GENIE_CUDA_LOADS];

#pragma unroll
		for (uint32_t j = 0; j < GENIE_CUDA_LOADS; j++)
		{
			const uint32_t number = i + GENIE_CUDA_WARP * j;

			valid[j] = 0;
			if (number < end)
			{
				if (number >= walk.end)
					genie_cuda_walk<THREADS>(walk, number, shared);
				data[j] = __ldg(chunks + (number + walk.first_chunk));
				valid[j] = genie_cuda_valid(walk, number + walk.first_chunk);
			}
		}
#pragma unroll
		for (uint32_t j = 0; j < GENIE_CUDA_LOADS; j++)
			if (valid[j] != 0)
				genie_cuda_add_chunk<BITS, PARTS>(piece, counters, data[j], valid[j]);
	}
}

/*
 * Counts a piece.  False, and the counters are not what they should be: no object can reach shared.threshold, which the caller
 * has set before (0: count in any case).  All threads call it together; ends with the counters visible to all.
 */
template <int BITS, int THREADS, bool PARTS>
__device__ __forceinline__ bool
genie_cuda_count(const GenieCudaPiece &piece, uint32_t *counters, GenieCudaShared<THREADS> &shared)
{
	const uint32_t n_ranges = piece.query->n_ranges;
	uint32_t	first_range = 0;

	do
	{
		const GenieCudaFound found = genie_cuda_find<THREADS, PARTS>(piece, first_range, shared);

		if (n_ranges <= THREADS && found.total_lists < shared.threshold)
			return false;
		genie_cuda_add_bitmaps<BITS, THREADS>(piece, found, first_range > 0, counters, shared);
		genie_cuda_add_postings<BITS, THREADS, PARTS>(piece, found.total_chunks, counters, shared);
		__syncthreads();
		first_range += THREADS;
	} while (first_range < n_ranges);
	return true;
}

#endif							/* GENIE_CUDA_COUNT_CUH */

/*
 * genie_cuda_count_codes.cuh
 *	  A block counts the matches of one query in one piece of an image of codes alone: genie_cuda_count() without lists.
 *
 * The query is bits in shared memory.  A code's bit is at the *base* of its dimension plus the code: first_rank + d for
 * dimension number d, so there is one for code 0, which is never set.  A thread takes four neighbouring objects at a
 * time, and adds up the bits of their codes, strip by strip; all threads are at the same codes, whose bases they load
 * four at a time.  No two threads write to the same byte of counters, so nothing is atomic.  Where there are more bits
 * than room for them, a *window* of bits is counted after the other.
 */
#ifndef GENIE_CUDA_COUNT_CODES_CUH
#define GENIE_CUDA_COUNT_CODES_CUH

#include "genie_cuda_codes.cuh"
#include "genie_cuda_piece.cuh"

/* The bits of a window take the place of the runs of postings. */
template <int THREADS>
constexpr uint32_t GENIE_CUDA_CODE_WINDOW = 3 * THREADS * 32;

/* objects that a thread counts at a time */
constexpr uint32_t GENIE_CUDA_CODE_OBJECTS = 4;

/* The bit of a rank. */
static __device__ __forceinline__ uint32_t
genie_cuda_code_bit(const GenieCodeDimension *dimensions, uint32_t n_dimensions, uint32_t rank)
{
	return rank + genie_code_dimension_of(dimensions, n_dimensions, 0, rank) + 1;
}

/* Sets the query's bits that are in the window.  All threads call it together. */
template <int THREADS>
__device__ __forceinline__ void
genie_cuda_ask_codes(const GenieCudaQuery *query, const GenieCodeDimension *dimensions, uint32_t n_dimensions,
					 uint32_t window, uint32_t *bits)
{
	for (uint32_t i = threadIdx.x; i < GENIE_CUDA_CODE_WINDOW<THREADS> / 32; i += THREADS)
		bits[i] = 0;
	__syncthreads();
	for (uint32_t r = threadIdx.x; r < query->n_ranges; r += THREADS)
	{
		const GenieRankRange range = query->ranges[r];
		uint32_t	bit;
		uint32_t	end;

		if (range.first >= range.end)
			continue;
		bit = max(genie_cuda_code_bit(dimensions, n_dimensions, range.first), window);
		end = min(genie_cuda_code_bit(dimensions, n_dimensions, range.end - 1) + 1,
				  window + GENIE_CUDA_CODE_WINDOW<THREADS>);
		while (bit < end)
		{
			const uint32_t at = bit - window;
			const uint32_t n = min(32 - at % 32, end - bit);

			atomicOr(&bits[at / 32], (n == 32 ? UINT32_MAX : (1u << n) - 1) << (at % 32));
			bit += n;
		}
	}
	__syncthreads();

	/* a range over several dimensions has set bits of code 0 */
	for (uint32_t d = threadIdx.x; d < n_dimensions; d += THREADS)
	{
		const uint32_t at = dimensions[d].first_rank + d - window;

		if (at < GENIE_CUDA_CODE_WINDOW<THREADS>)
			atomicAnd(&bits[at / 32], ~(1u << (at % 32)));
	}
	__syncthreads();
}

/* A row as it is in the image. */
static __device__ __forceinline__ uint4
genie_cuda_unswizzled(uint4 row, uint32_t object, GenieCudaSwizzle swizzle)
{
	const uint32_t by = object >> swizzle.shift & swizzle.mask;

	if ((by & 1) != 0)
		row = make_uint4(row.y, row.x, row.w, row.z);
	if ((by & 2) != 0)
		row = make_uint4(row.z, row.w, row.x, row.y);
	return row;
}

/* Adds the matches of four rows of a strip.  bases: of its codes; window: the window's first bit. */
template <int THREADS, bool WHOLE, int WIDTH>
__device__ __forceinline__ void
genie_cuda_count_strip(const uint4 (&rows)[GENIE_CUDA_CODE_OBJECTS], uint32_t n_words, const uint32_t *bases,
					   uint32_t window, const uint32_t *bits, uint32_t (&n)[GENIE_CUDA_CODE_OBJECTS])
{
	constexpr uint32_t EACH = 32 / WIDTH;	/* codes of a word */

#pragma unroll
	for (uint32_t w = 0; w < 4; w++)
	{
		if (w >= n_words)
			return;
#pragma unroll
		for (uint32_t c = 0; c < EACH; c += 4)
		{
			const uint4 four = __ldg((const uint4 *) (bases + (w * EACH + c) / 4 * 4));
			const uint32_t all[4] = {four.x, four.y, four.z, four.w};

#pragma unroll
			for (uint32_t j = 0; j < 4 && c + j < EACH; j++)
			{
				const uint32_t base = all[(w * EACH + j) % 4] - window;

#pragma unroll
				for (uint32_t i = 0; i < GENIE_CUDA_CODE_OBJECTS; i++)
				{
					const uint32_t word = w == 0 ? rows[i].x : w == 1 ? rows[i].y : w == 2 ? rows[i].z : rows[i].w;
					const uint32_t bit = base + (word >> ((c + j) * WIDTH) & ((1u << WIDTH) - 1));

					if (WHOLE || bit < GENIE_CUDA_CODE_WINDOW<THREADS>)
						n[i] += bits[bit / 32] >> (bit % 32) & 1;
				}
			}
		}
	}
}

/* Adds the matches of four objects, of the tile's rows from row on, in the window. */
template <int THREADS, bool WHOLE>
__device__ __forceinline__ void
genie_cuda_count_rows(const GenieCudaPiece &piece, const GenieImageGroup *group, uint32_t row, uint32_t window,
					  const uint32_t *bits, bool swizzled, uint32_t (&n)[GENIE_CUDA_CODE_OBJECTS])
{
	const GenieCudaTile *tile = piece.tile;
	const GenieCodeStrip *strips = (const GenieCodeStrip *) (tile->base + group->strips);
	const uint32_t n_rows = genie_code_rows(tile->tile.n_objects);
	const uint32_t there = min(row, n_rows - GENIE_CUDA_CODE_OBJECTS);	/* the last ones again */

	for (uint32_t s = 0; s < group->n_strips; s++)
	{
		/* a GenieCodeStrip: width and row_bytes, n_codes and offset */
		const uint2 strip = __ldg((const uint2 *) (strips + s));
		const uint32_t width = strip.x & 0xFFFF;
		const uint32_t row_bytes = strip.x >> 16;
		const uint8_t *at = tile->base + tile->tile.codes + (size_t) (strip.y >> 16) * n_rows + there * row_bytes;
		const uint32_t *bases = tile->code_bases + s * GENIE_CUDA_WARP;
		uint4		rows[GENIE_CUDA_CODE_OBJECTS];

#pragma unroll
		for (uint32_t i = 0; i < GENIE_CUDA_CODE_OBJECTS; i++)
			rows[i] = genie_cuda_code_row(at + i * row_bytes, row_bytes);
		if (swizzled)
		{
			const GenieCudaSwizzle swizzle = genie_cuda_swizzle(width, row_bytes);

#pragma unroll
			for (uint32_t i = 0; i < GENIE_CUDA_CODE_OBJECTS; i++)
				rows[i] = genie_cuda_unswizzled(rows[i], there + i, swizzle);
		}
		if (width == 8)
			genie_cuda_count_strip<THREADS, WHOLE, 8>(rows, row_bytes / 4, bases, window, bits, n);
		else if (width == 4)
			genie_cuda_count_strip<THREADS, WHOLE, 4>(rows, row_bytes / 4, bases, window, bits, n);
		else
			genie_cuda_count_strip<THREADS, WHOLE, 16>(rows, row_bytes / 4, bases, window, bits, n);
	}
	if (row != there)
		n[0] = n[1] = n[2] = n[3] = 0;
}

/* Sets the counters of four neighbours, or, add, adds to them. */
template <int BITS>
__device__ __forceinline__ void
genie_cuda_put_counts(uint32_t object, const uint32_t (&n)[GENIE_CUDA_CODE_OBJECTS], bool add)
{
	if (BITS == 4)
	{
		uint16_t   *counters = (uint16_t *) genie_cuda_counters() + object / GENIE_CUDA_CODE_OBJECTS;

		*counters = (uint16_t) ((n[0] | n[1] << 4 | n[2] << 8 | n[3] << 12) + (add ? *counters : 0));
	}
	else if (BITS == 8)
	{
		uint32_t   *counters = genie_cuda_counters() + object / GENIE_CUDA_CODE_OBJECTS;

		*counters = (n[0] | n[1] << 8 | n[2] << 16 | n[3] << 24) + (add ? *counters : 0);
	}
	else
	{
		uint2	   *counters = (uint2 *) genie_cuda_counters() + object / GENIE_CUDA_CODE_OBJECTS;
		const uint2 before = add ? *counters : make_uint2(0, 0);

		*counters = make_uint2((n[0] | n[1] << 16) + before.x, (n[2] | n[3] << 16) + before.y);
	}
}

/* As genie_cuda_count().  swizzled: the image's codes are. */
template <int BITS, int THREADS>
__device__ __noinline__ bool
genie_cuda_count_codes(const GenieCudaPiece piece, bool swizzled)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	const GenieImageGroup *group = (const GenieImageGroup *) piece.tile->base;
	const GenieCodeDimension *dimensions = (const GenieCodeDimension *) (piece.tile->base + group->dimensions);
	const uint32_t n_dimensions = group->n_dimensions;
	const uint32_t n_bits = group->n_keywords + n_dimensions;
	uint32_t   *bits = shared.from; /* to and end lie behind it */

	__syncthreads();			/* one thread has set the threshold */
	if (shared.threshold > piece.query->max_count)
		return false;
	if (threadIdx.x == 0)
		shared.least = shared.n_later = 0;
	for (uint32_t window = 0; window < n_bits; window += GENIE_CUDA_CODE_WINDOW<THREADS>)
	{
		genie_cuda_ask_codes<THREADS>(piece.query, dimensions, n_dimensions, window, bits);
		for (uint32_t first = 0; first < piece.n; first += GENIE_CUDA_CODE_OBJECTS * THREADS)
		{
			const uint32_t object = first + GENIE_CUDA_CODE_OBJECTS * threadIdx.x;
			uint32_t	n[GENIE_CUDA_CODE_OBJECTS] = {0, 0, 0, 0};

			if (n_bits <= GENIE_CUDA_CODE_WINDOW<THREADS>)
				genie_cuda_count_rows<THREADS, true>(piece, group, piece.first + object, window, bits, swizzled, n);
			else
				genie_cuda_count_rows<THREADS, false>(piece, group, piece.first + object, window, bits, swizzled, n);
			if (object < piece.n)
				genie_cuda_put_counts<BITS>(object, n, window > 0);
		}
		__syncthreads();
	}
	return true;
}

#endif							/* GENIE_CUDA_COUNT_CODES_CUH */

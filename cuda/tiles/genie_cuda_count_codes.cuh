/*
 * genie_cuda_count_codes.cuh
 *	  A block counts the matches of one query in one piece of an image of codes alone: genie_cuda_count() without lists.
 *
 * The query is a bit a rank, in shared memory.  A thread takes two neighbouring objects at a time, and adds up the bits
 * of their codes, dimension by dimension; all threads are in the same one.  No two threads write to the same byte of
 * counters, so nothing is atomic.  Where there are more keywords than room for bits, a *window* of ranks is counted
 * after the other.
 */
#ifndef GENIE_CUDA_COUNT_CODES_CUH
#define GENIE_CUDA_COUNT_CODES_CUH

#include "genie_cuda_codes.cuh"
#include "genie_cuda_piece.cuh"

/* The bits of a window take the place of the runs of postings. */
template <int THREADS>
constexpr uint32_t GENIE_CUDA_CODE_WINDOW = 3 * THREADS * 32;

/* Sets the bits of the query's ranks that are in the window.  All threads call it together. */
template <int THREADS>
__device__ __forceinline__ void
genie_cuda_ask_codes(const GenieCudaQuery *query, uint32_t first_rank, uint32_t *bits)
{
	for (uint32_t i = threadIdx.x; i < GENIE_CUDA_CODE_WINDOW<THREADS> / 32; i += THREADS)
		bits[i] = 0;
	__syncthreads();
	for (uint32_t r = threadIdx.x; r < query->n_ranges; r += THREADS)
	{
		const GenieRankRange range = query->ranges[r];
		const uint32_t end = min(range.end, first_rank + GENIE_CUDA_CODE_WINDOW<THREADS>);

		for (uint32_t rank = max(range.first, first_rank); rank < end;)
		{
			const uint32_t bit = rank - first_rank;
			const uint32_t n = min(32 - bit % 32, end - rank);

			atomicOr(&bits[bit / 32], (n == 32 ? UINT32_MAX : (1u << n) - 1) << (bit % 32));
			rank += n;
		}
	}
	__syncthreads();
}

/* A row as it is in the image. */
__device__ __forceinline__ uint4
genie_cuda_unswizzled(uint4 row, uint32_t object, GenieCudaSwizzle swizzle)
{
	const uint32_t by = object >> swizzle.shift & swizzle.mask;

	if ((by & 1) != 0)
		row = make_uint4(row.y, row.x, row.w, row.z);
	if ((by & 2) != 0)
		row = make_uint4(row.z, row.w, row.x, row.y);
	return row;
}

/* Adds the matches of two objects, of the tile's rows from row on, in the window to n. */
template <int THREADS>
__device__ __forceinline__ void
genie_cuda_count_rows(const GenieCudaPiece &piece, const GenieImageGroup *group, uint32_t row, uint32_t first_rank,
					  const uint32_t *bits, bool swizzled, uint32_t (&n)[2])
{
	const uint8_t *base = piece.tile->base;
	const GenieCodeDimension *dimensions = (const GenieCodeDimension *) (base + group->dimensions);
	const GenieCodeStrip *strips = (const GenieCodeStrip *) (base + group->strips);
	const uint32_t n_rows = genie_code_rows(piece.tile->tile.n_objects);
	uint32_t	strip_number = UINT32_MAX;
	uint4		rows[2] = {};

	if (row >= n_rows)
		return;
	for (uint32_t d = 0; d < group->n_dimensions; d++)
	{
		/* a GenieCodeDimension: first_rank, n_values, strip and slot, width */
		const uint4 dimension = __ldg((const uint4 *) (dimensions + d));
		const uint32_t strip = dimension.z & 0xFFFF;
		const uint32_t bit = (dimension.z >> 16) * dimension.w;
		const uint32_t before = dimension.x - first_rank - 1;	/* of the window: the rank of code 0 */

		if (dimension.x + dimension.y <= first_rank || dimension.x >= first_rank + GENIE_CUDA_CODE_WINDOW<THREADS>)
			continue;
		if (strip != strip_number)
		{
			const uint32_t row_bytes = strips[strip].row_bytes;
			const uint8_t *codes = base + piece.tile->tile.codes;
			const uint8_t *at = codes + (size_t) strips[strip].offset * n_rows + row * row_bytes;

#pragma unroll
			for (uint32_t i = 0; i < 2; i++)
			{
				rows[i] = genie_cuda_code_row(at + i * row_bytes, row_bytes);
				if (swizzled)
					rows[i] = genie_cuda_unswizzled(rows[i], row + i, genie_cuda_swizzle(dimension.w, row_bytes));
			}
			strip_number = strip;
		}
#pragma unroll
		for (uint32_t i = 0; i < 2; i++)
		{
			const uint32_t word = bit < 32 ? rows[i].x : bit < 64 ? rows[i].y : bit < 96 ? rows[i].z : rows[i].w;
			const uint32_t code = word >> (bit % 32) & ((1u << dimension.w) - 1);
			const uint32_t rank = before + code;

			if (code != 0 && rank < GENIE_CUDA_CODE_WINDOW<THREADS>)
				n[i] += bits[rank / 32] >> (rank % 32) & 1;
		}
	}
}

/* Sets the counters of two neighbours, or, add, adds to them. */
template <int BITS>
__device__ __forceinline__ void
genie_cuda_put_counts(uint32_t object, const uint32_t (&n)[2], bool add)
{
	if (BITS == 4)
	{
		uint8_t    *counters = (uint8_t *) genie_cuda_counters() + object / 2;

		*counters = (uint8_t) ((n[0] | n[1] << 4) + (add ? *counters : 0));
	}
	else if (BITS == 8)
	{
		uint16_t   *counters = (uint16_t *) genie_cuda_counters() + object / 2;

		*counters = (uint16_t) ((n[0] | n[1] << 8) + (add ? *counters : 0));
	}
	else
	{
		uint32_t   *counters = genie_cuda_counters() + object / 2;

		*counters = (n[0] | n[1] << 16) + (add ? *counters : 0);
	}
}

/* As genie_cuda_count().  swizzled: the image's codes are. */
template <int BITS, int THREADS>
__device__ __noinline__ bool
genie_cuda_count_codes(const GenieCudaPiece piece, bool swizzled)
{
	GenieCudaShared<THREADS> &shared = genie_cuda_shared<BITS, THREADS>(piece.n);
	const GenieImageGroup *group = (const GenieImageGroup *) piece.tile->base;
	uint32_t   *bits = shared.from; /* to and end lie behind it */

	__syncthreads();			/* one thread has set the threshold */
	if (shared.threshold > piece.query->max_count)
		return false;
	if (threadIdx.x == 0)
		shared.least = shared.n_later = 0;
	for (uint32_t first_rank = 0; first_rank < group->n_keywords; first_rank += GENIE_CUDA_CODE_WINDOW<THREADS>)
	{
		genie_cuda_ask_codes<THREADS>(piece.query, first_rank, bits);
		for (uint32_t object = 2 * threadIdx.x; object < piece.n; object += 2 * THREADS)
		{
			uint32_t	n[2] = {0, 0};

			genie_cuda_count_rows<THREADS>(piece, group, piece.first + object, first_rank, bits, swizzled, n);
			genie_cuda_put_counts<BITS>(object, n, first_rank > 0);
		}
		__syncthreads();
	}
	return true;
}

#endif							/* GENIE_CUDA_COUNT_CODES_CUH */

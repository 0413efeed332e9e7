/*
 * genie_cuda_piece.cuh
 *	  A piece of work of one block, and the shared memory that the block does it in.
 */
#ifndef GENIE_CUDA_PIECE_CUH
#define GENIE_CUDA_PIECE_CUH

#include "genie_cuda_dense.cuh"
#include "genie_cuda_scan.cuh"

/* One query in a tile or a part of one. */
struct GenieCudaPiece
{
	const GenieCudaQuery *query;
	const GenieCudaTile *tile;
	uint32_t	tile_number;	/* in the segment */
	uint32_t	first;			/* local of the part's first object */
	uint32_t	n;				/* objects of the part, a power of two; those past the segment's end are not live */
};

__device__ __forceinline__ GenieCudaPiece
genie_cuda_piece(const GenieCudaLaunch &launch, uint32_t number)
{
	const uint32_t part = number / launch.n_queries;
	GenieCudaPiece piece;

	piece.query = launch.queries + number % launch.n_queries;
	piece.tile_number = launch.first_tile + (part >> launch.splits_log2);
	piece.tile = launch.tiles + piece.tile_number;
	piece.first = (part & ((1u << launch.splits_log2) - 1)) << launch.part_log2;
	piece.n = 1u << launch.part_log2;
	return piece;
}

/* The number of the piece's first object in the segment. */
__device__ __forceinline__ uint32_t
genie_cuda_piece_object(const GenieCudaPiece &piece)
{
	return piece.tile_number * GENIE_TILE_OBJECTS + piece.first;
}

/* The piece's tile's live objects. */
__device__ __forceinline__ const uint64_t *
genie_cuda_live(const GenieCudaPiece &piece)
{
	const GenieCudaQuery *query = piece.query;

	return query->live == NULL ? piece.tile->live :
								 query->live + (size_t) (piece.tile_number - query->first_tile) * GENIE_TILE_WORDS;
}

/* The mask of the piece's tile: which objects qualify. */
__device__ __forceinline__ const uint64_t *
genie_cuda_piece_mask(const GenieCudaPiece &piece)
{
	const GenieCudaQuery *query = piece.query;

	if (query->mask != NULL)
		return query->mask + (size_t) (piece.tile_number - query->first_tile) * GENIE_TILE_WORDS;
	return genie_cuda_live(piece);
}

/* The smallest key that an object of the piece must have, by the query's bound as it is now. */
__device__ __forceinline__ uint32_t
genie_cuda_threshold(const GenieCudaQuery *query, uint32_t first_object)
{
	const unsigned long long bound = *(volatile unsigned long long *) &query->top->bound;
	const uint32_t key = (uint32_t) (bound >> 32);
	const uint32_t last_object = UINT32_MAX - (uint32_t) bound;

	if (bound != 0 && first_object > last_object)
		return key == UINT32_MAX ? key : max(query->min_key, key + 1);
	return max(query->min_key, key);
}

/* A block's shared memory beside the counters. */
template <int THREADS>
struct GenieCudaShared
{
	/* runs of postings: [from, to), and the sum of chunks up to the run's end */
	uint32_t	from[THREADS];
	uint32_t	to[THREADS];
	uint32_t	end[THREADS];
	uint32_t	bitmaps[GENIE_CUDA_BITMAP_WINDOW];	/* where they begin, in units of GENIE_IMAGE_ALIGN */
	uint32_t	sums[3][GENIE_CUDA_WARP];
	uint32_t	threshold;
	uint32_t	floor;			/* with a key table: the smallest count, of any size, whose key reaches the threshold */
	uint32_t	nothing_known;	/* with a key table: the query has no bound yet */
	uint32_t	least;			/* the listed bitmaps are still to be added to counters of at least this; 0: none is */
	uint32_t	n_later;		/* bitmaps listed, if least > 0 */
	uint32_t	base;			/* where the piece's candidates go */
	uint32_t	digit;
	uint32_t	need;
};

/*
 * A block's dynamic shared memory: the counters, and behind them GenieCudaShared.  Functions refer to it by name and
 * not by pointers, so that the compiler knows the address space even in functions that are not inlined.
 */
extern __shared__ uint4 genie_cuda_memory[];

__device__ __forceinline__ uint32_t *
genie_cuda_counters()
{
	return (uint32_t *) genie_cuda_memory;
}

template <int BITS, int THREADS>
__device__ __forceinline__ GenieCudaShared<THREADS> &
genie_cuda_shared(uint32_t n_objects)
{
	return *(GenieCudaShared<THREADS> *) (genie_cuda_memory + n_objects * BITS / 128);
}

#endif							/* GENIE_CUDA_PIECE_CUH */

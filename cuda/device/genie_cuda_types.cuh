/*
 * genie_cuda_types.cuh
 *	  What kernels of tiles and of bit lanes are given.
 *
 * All are trivially copyable views; the host owns what they point to, which is in device memory.
 *
 * A *piece* is what one block counts: one query in one tile, or in a part of it where counters do not fit shared
 * memory.  Pieces are numbered tile by tile, part by part, and inside by query, so that blocks that run together
 * read the same tile and find it in L2.
 */
#ifndef GENIE_CUDA_TYPES_CUH
#define GENIE_CUDA_TYPES_CUH

#include "genie_cuda_policy.cuh"

#include "genie_engine.h"

/* A tile of an image on the device; the header is copied here to save a step on the way to the lists. */
struct GenieCudaTile
{
	const uint8_t *base;		/* of its group */
	const uint64_t *live;		/* GENIE_TILE_WORDS words */
	uint64_t	size_width;
	GenieImageTile tile;
};

/*
 * A candidate: key << 32 | (UINT32_MAX - object).  Larger ranks first, and no two are equal.
 */
typedef unsigned long long GenieCudaCandidate;

__host__ __device__ __forceinline__ GenieCudaCandidate
genie_cuda_candidate(uint32_t key, uint32_t object)
{
	return (GenieCudaCandidate) key << 32 | (UINT32_MAX - object);
}

/*
 * A query's state, which its blocks share.  bound packs (T, t): at least k objects that count have key >= T and a
 * number <= t.  So objects behind t need a key > T, the others one >= T.  It is only ever raised, by atomicMax: a
 * greater T is better, and of equal T the smaller t.  When a block reads it is a matter of timing, but each value
 * that it may read is true, so what is dropped cannot be among the best k, and the answer does not depend on timing.
 */
struct GenieCudaTop
{
	unsigned long long bound;
	uint32_t	n;				/* candidates so far */
	uint32_t	last_object;	/* of all pieces that gave candidates; raised before histogram counts them */
};

__host__ __device__ __forceinline__ unsigned long long
genie_cuda_bound(uint32_t key, uint32_t last_object)
{
	return (unsigned long long) key << 32 | (UINT32_MAX - last_object);
}

struct GenieCudaQuery
{
	const GenieRankRange *ranges;
	uint32_t	n_ranges;
	uint32_t	max_count;

	/* which objects count, GENIE_TILE_WORDS words a tile from first_tile on; NULL: the live ones.  Written by MASK. */
	uint64_t   *mask;
	uint32_t	first_tile;

	/* MASK: objects stay that match at least so often */
	uint32_t	min_count;
	bool		first_condition;	/* of the live objects; else of those in mask */

	/* COUNTS: 65,536 a tile from first_tile on */
	void	   *counts;

	/* TOP; class_of_size begins with the segment's smallest size, and a row of keys ends with max_count */
	const uint16_t *class_of_size;
	const uint32_t *keys;
	uint32_t	n_sizes;
	uint32_t	n_classes;
	uint32_t	k;
	uint32_t	sampled_k;		/* so many of a sample of the objects reach what the best k are expected to */
	uint32_t	min_key;
	bool		has_after;
	GenieHit	after;
	uint32_t	key_bytes;		/* what the largest key needs */
	GenieCudaTop *top;
	GenieCudaCandidate *candidates;
	uint32_t   *histogram;		/* candidates by key, a number for each that a counter can hold; NULL: not kept */
	GenieCudaCandidate *selected;	/* k of them, where they are not sorted in shared memory */
	GenieHit   *hits;			/* an even number, those behind the last 0 */
	uint4	   *n_hits;			/* in x */
};

#endif							/* GENIE_CUDA_TYPES_CUH */

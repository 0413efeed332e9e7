/*
 * genie_cuda_types.cuh
 *	  What kernels of tiles and of bit lanes are given.
 *
 * All are trivially copyable views of device memory, which the host owns.
 */
#ifndef GENIE_CUDA_TYPES_CUH
#define GENIE_CUDA_TYPES_CUH

#include "genie_cuda_policy.cuh"

#include "genie_engine.h"

/* A tile of an image on the device.  Its header is copied here, which saves one load on the way to the lists. */
struct GenieCudaTile
{
	const uint8_t *base;		/* of its group */
	const uint64_t *live;		/* GENIE_TILE_WORDS words */
	uint32_t	size_width;
	uint32_t	is_codes;		/* it has codes alone */
	const uint32_t *code_bases; /* of codes alone: GENIE_CUDA_WARP a strip, of the dimensions of its slots */
	GenieImageTile tile;
};

/* A candidate: key << 32 | (UINT32_MAX - object).  The larger one ranks first, and no two are equal. */
typedef unsigned long long GenieCudaCandidate;

__host__ __device__ __forceinline__ GenieCudaCandidate
genie_cuda_candidate(uint32_t key, uint32_t object)
{
	return (GenieCudaCandidate) key << 32 | (UINT32_MAX - object);
}

/*
 * A query's state, which its blocks share.
 *
 * bound packs (T, t): at least k objects that qualify have a key >= T and a number <= t.  So an object behind t needs a
 * key > T, and any other one a key >= T.  The bound is only ever raised, by atomicMax: a greater T is better, and of
 * equal T the smaller t.  Timing decides which value a block reads, but each value that it may read is true.  So no
 * object of the best k is dropped, and the answer does not depend on timing.
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

	/* which objects qualify, GENIE_TILE_WORDS words a tile from first_tile on; NULL: the live ones.  MASK writes it. */
	uint64_t   *mask;
	uint32_t	first_tile;

	/* MASK, TALLY: objects must match at least min_count times */
	uint32_t	min_count;
	bool		first_condition;	/* filters the live objects; others filter those in mask, */
	bool		any;			/* or filter live ones, too, which are added to it */
	uint32_t   *tally;			/* TALLY: how many do, instead of a mask; zero before; else NULL */
	const uint64_t *live;		/* that the job brings, from first_tile on; NULL: that of the tiles */

	/* COUNTS: 65,536 counts a tile from first_tile on */
	void	   *counts;

	/* TOP.  class_of_size begins with the segment's smallest size; a row of keys ends with that of max_count. */
	const uint16_t *class_of_size;
	const uint32_t *keys;
	uint32_t	n_sizes;
	uint32_t	n_classes;
	uint32_t	k;
	uint32_t	sampled_k;		/* lanes: the key of this number in a threshold sample is the threshold */
	uint32_t	min_key;
	bool		has_after;
	GenieHit	after;
	uint32_t	key_bytes;		/* bytes that the largest key needs */
	GenieCudaTop *top;
	GenieCudaCandidate *candidates;
	uint32_t   *histogram;		/* how many candidates have each key that a counter can hold; NULL: not kept */
	GenieCudaCandidate *selected;	/* room for k, where they are not sorted in shared memory */
	GenieHit   *hits;			/* room for an even number; zeros behind the last hit */
	uint4	   *n_hits;			/* in x; lanes, TALLY: zero before */
};

#endif							/* GENIE_CUDA_TYPES_CUH */

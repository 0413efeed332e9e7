/*
 * genie_proximity_level.h
 *	  The edges of one level of a proximity graph (genie_proximity.h), without those that reach what is by itself.
 *
 * Three steps.
 *
 * 1. Neighbours.  Each object has a list of the NEIGHBOURS nearest objects that are known so far, at first of random
 *	  ones.  The neighbours of neighbours are looked at, round by round, until few lists change: NN-descent (Dong,
 *	  Charikar and Li, "Efficient k-nearest neighbor graph construction for generic similarity measures", WWW 2011).
 *	  A round has three parts.  First, each object writes down some neighbours that are new to its list, and some that
 *	  are not.  Second, it adds itself to what these have written down, as a reverse neighbour.  Third, each object
 *	  looks at what was written down by those that it has written down, and changes its own list only.  So threads that
 *	  take blocks of objects do not touch each other's lists, and what a round gives does not depend on them.
 *	  (Dong et al. compare each pair once and change both lists, under locks; here each object computes what it needs as
 *	  one query with many records, which is what kernels of keys are good at.)
 *
 * 2. Pruning.  A list's best edges lead to much the same objects.  An edge is worth the less, the more detours it has:
 *	  two edges by way of a nearer neighbour, both of lower ranks than the edge.  The degree edges with the fewest
 *	  detours are kept, in the order of their ranks.  (By ranks, without distances: Ootomo et al., "CAGRA: highly
 *	  parallel graph construction and approximate nearest neighbor search for GPUs", ICDE 2024.)
 *
 * 3. Reverse edges.  Half of an object's edges are the first ones that it kept, the others lead to objects that kept an
 *	  edge to it, the better ranks first, or, where these are few, are kept ones again.
 *
 * Ties.  Of many equal objects, all lists would have the same few.  So ties are broken at random, by the object's own
 * order of all numbers: number ^ salt.
 *
 * Random numbers are functions of the object, the level and the round (genie_draw.h); and where several objects want
 * one place, it is the one that a random number prefers that gets it, not the first.  So a level is a function of its
 * vectors, and CPU and GPU (cuda/vectors/genie_cuda_graph_build.cu) make the same one, edge by edge.  A merge's graph
 * does not begin with the edges of the segments that it replaces: it would be another one than the one that a restart
 * makes, in a fifth less time (test/bench/RESULTS.md).
 */
#ifndef GENIE_PROXIMITY_LEVEL_H
#define GENIE_PROXIMITY_LEVEL_H

#include "genie_draw.h"
#include "genie_proximity_build.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_PROXIMITY_NEIGHBOURS 48	/* of a list */
#define GENIE_PROXIMITY_DRAWN 12	/* new neighbours that are written down; old ones; and reverse ones of each */
#define GENIE_PROXIMITY_ROUNDS_MAX 16
#define GENIE_PROXIMITY_CHANGES_MIN 0.002	/* of all neighbours, in a round: with fewer, it was the last one */
#define GENIE_PROXIMITY_BRIDGES 2	/* places that an object keeps free for edges to what cannot be reached otherwise */
#define GENIE_PROXIMITY_TRIES 4 /* for each place of a first list */

/* In a neighbour's rank: its key, its number in the object's own order, and whether it is new. */
#define GENIE_PROXIMITY_NEW UINT64_C(1)
#define GENIE_PROXIMITY_KEY_SHIFT 33

/* A level: within it, objects have indexes, which are their numbers without the last bits. */
typedef struct GenieProximityLevel
{
	uint32_t	level;
	uint32_t	degree;
	uint32_t	n;				/* objects, at least 2 */
	const uint32_t *members;	/* their numbers by index; NULL: all objects */
} GenieProximityLevel;

/* By which an object orders ties. */
GENIE_DRAW_FUNCTION uint32_t
genie_proximity_salt(uint32_t index)
{
	return (uint32_t) genie_draw_begin(0, GENIE_PROXIMITY_DRAW_SALT, index);
}

GENIE_DRAW_FUNCTION uint64_t
genie_proximity_rank(uint32_t key, uint32_t number)
{
	return (uint64_t) key << GENIE_PROXIMITY_KEY_SHIFT | (uint64_t) number << 1 | GENIE_PROXIMITY_NEW;
}

GENIE_DRAW_FUNCTION uint32_t
genie_proximity_neighbour(uint64_t rank, uint32_t salt)
{
	return (uint32_t) (rank >> 1) ^ salt;
}

/* Where an object wants to be written down as a reverse neighbour: the remainder by DRAWN; the smallest number wins. */
GENIE_DRAW_FUNCTION uint64_t
genie_proximity_reverse_draw(uint32_t round, uint32_t index, uint32_t neighbour)
{
	return genie_draw_bits(genie_draw_begin(round, GENIE_PROXIMITY_DRAW_REVERSE, index), neighbour);
}

/* Bytes that it takes meanwhile. */
extern uint64_t genie_proximity_level_bytes(uint32_t n, uint32_t degree);

/*
 * By the workers: writes the edges of a level, which are indexes, to the tiles of genie_proximity_build(), and NONE
 * behind them, BRIDGES at least.  is_known: of each object, by number.
 */
extern GenieProximityResult genie_proximity_level_edges(const GenieProximityLevel *level,
														const GenieQuantizedVectors *vectors, const bool *is_known,
														const GenieProximityWorkers *workers,
														const GenieProximityGraph *graph);

/* Writes objects' numbers in the place of the indexes. */
extern void genie_proximity_name_edges(const GenieProximityLevel *level, const GenieProximityGraph *graph);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_PROXIMITY_LEVEL_H */

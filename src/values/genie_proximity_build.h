/*
 * genie_proximity_build.h
 *	  Building a proximity graph (genie_proximity.h) of a segment's vectors.
 */
#ifndef GENIE_PROXIMITY_BUILD_H
#define GENIE_PROXIMITY_BUILD_H

#include "genie_proximity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Objects of which nothing is known, from which on there is no graph: each search would have to give them. */
#define GENIE_PROXIMITY_UNKNOWN_MAX 1024

/* Of so many objects there must be one, at least, of which something is known: else a scan has as little to do. */
#define GENIE_PROXIMITY_KNOWN_OF 16

/* what is drawn at random */
#define GENIE_PROXIMITY_DRAW_FIRST 1
#define GENIE_PROXIMITY_DRAW_SALT 2
#define GENIE_PROXIMITY_DRAW_REVERSE 3
#define GENIE_PROXIMITY_DRAW_MEMBER 4
#define GENIE_PROXIMITY_DRAW_SAMPLE 5

struct GenieProximityLevel;

/* How the caller has work done. */
typedef struct GenieProximityWorkers
{
	void	   *arg;

	/* do_block(work, block) for each block, in any order, by any threads.  False: it shall end. */
	bool		(*for_each) (void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work);

	/*
	 * The edges of a level (genie_proximity_level.h), as numbers of objects, by a GPU, to the tiles.  False: it has
	 * not made them; threads shall.  NULL: there is none.
	 */
	bool		(*make_level) (void *arg, const struct GenieProximityLevel *level);
} GenieProximityWorkers;

typedef enum GenieProximityResult
{
	GENIE_PROXIMITY_BUILT,
	GENIE_PROXIMITY_STOPPED,	/* the workers said so */
	GENIE_PROXIMITY_NO_MEMORY,
	GENIE_PROXIMITY_UNSUITABLE	/* too much is unknown, or there are not two objects */
} GenieProximityResult;

/* Bytes of the head of a graph, at most. */
extern size_t genie_proximity_head_bytes(void);

/* Bytes that a build takes from malloc meanwhile: some 600 an object. */
extern uint64_t genie_proximity_build_bytes(uint32_t n_objects, uint32_t degree);

/*
 * By the workers: measures what searches of a complete graph find.  The result is the same whatever the workers; it is
 * BUILT, STOPPED or NO_MEMORY.
 */
extern GenieProximityResult genie_proximity_measure(const GenieProximityGraph *graph,
													const GenieQuantizedVectors *vectors,
													const GenieProximityWorkers *workers,
													GenieProximityRecall *recall);

/*
 * Writes the edges, to tiles of degree edges for each of genie_proximity_in_tile() objects, and the head.  The result
 * is the same whatever the workers.  If it is not BUILT, the head has no levels.  n_null: so many of the objects of
 * which nothing is known are NULL, which no search wants; if all of them are, there may be any number.
 */
extern GenieProximityResult genie_proximity_build(const GenieQuantizedVectors *vectors, uint32_t n_null,
												  uint32_t degree, const GenieProximityWorkers *workers,
												  uint32_t *const *tiles, GenieProximityHead *head);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_PROXIMITY_BUILD_H */

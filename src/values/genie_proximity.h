/*
 * genie_proximity.h
 *	  A proximity graph of quantized vectors (genie_quantized.h), and the search for the nearest ones in it.
 *
 * An object has edges to objects that are near to it.  A search begins with some objects, and goes on from the best
 * object that it has seen to those at its edges, until the queue of the best ones has no object left that it has not
 * gone on from.  It sees a small part of all objects, and finds most of the nearest: the longer the queue, the more.
 * (SONG: Zhao, Tan and Li, "SONG: approximate nearest neighbor search on GPU", ICDE 2020, whose three stages these
 * are: candidates, their distances, the queue.)
 *
 * Levels.  Where objects lie in clusters, all edges of an object may lead to its own.  So there is a graph of one in
 * 16 of all objects, one of these in 16 of those, and so on.  The objects of the level above the last graph, the
 * *entries*, are few; a search sees all of them.  What it finds in one level it begins with in the next one.  Level 0
 * has all objects.  An object that is in a level is found by its number: of each 16^level objects from 0 on there is
 * one.  (As in a hierarchical navigable small world: Malkov and Yashunin, TPAMI 2018; here each level is built by
 * itself.)
 *
 * What is near is told by keys (genie_value_scan.h).  So what a search gives is what a scan would give, less the
 * objects that it has not seen.  The queue is bounded: what does not fit it is forgotten, and seen no more.
 *
 * Objects of which nothing is known have no edges.  Each search gives them, with their key, which is the largest.
 * Objects that are dead are gone through, and not given.
 *
 * A graph is derived from its vectors (genie_proximity_build.h).  Nothing else depends on it, so it may be dropped and
 * built again at any time.
 */
#ifndef GENIE_PROXIMITY_H
#define GENIE_PROXIMITY_H

#include "genie_hit.h"
#include "genie_quantized.h"
#include "genie_value_scan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_PROXIMITY_OBJECTS_MIN 8192	/* of fewer, a scan is as fast */
#define GENIE_PROXIMITY_DEVICE_MIN 262144	/* of fewer, a GPU's scan is, but for batches of thousands */
#define GENIE_PROXIMITY_NONE UINT32_MAX /* an edge that is not there: none follow */
#define GENIE_PROXIMITY_DEGREE_MIN 8	/* edges of an object */
#define GENIE_PROXIMITY_DEGREE_MAX 64
#define GENIE_PROXIMITY_QUEUE_MAX 4096
#define GENIE_PROXIMITY_LEVEL_SHIFT 4	/* each level has one object in 2^this of the one below */
#define GENIE_PROXIMITY_ENTRIES_MAX 1024
#define GENIE_PROXIMITY_LEVELS_MAX 6	/* of 2^32 objects */

#define GENIE_PROXIMITY_KS 2	/* of which it is known what searches find: 10 and 100 */
#define GENIE_PROXIMITY_QUEUES 16	/* with queues of so many lengths, up to 3,072 */

/* What searches find, of each k and with each queue: in parts of 65,535 of the nearest k objects. */
typedef struct GenieProximityRecall
{
	uint16_t	found[GENIE_PROXIMITY_KS][GENIE_PROXIMITY_QUEUES];
} GenieProximityRecall;

/* What is of the graph as a whole: behind it the entries, and then the unknown objects, ascending both. */
typedef struct GenieProximityHead
{
	uint32_t	degree;
	uint32_t	n_levels;		/* with edges, at least 1 */
	uint32_t	n_entries;
	uint32_t	n_unknown;
	GenieProximityRecall recall;	/* measured when it was built */
} GenieProximityHead;

typedef struct GenieProximityGraph
{
	uint64_t	id;				/* as vectors have one */
	uint32_t	n_objects;
	const GenieProximityHead *head;

	/*
	 * Edges of GENIE_TILE_OBJECTS objects a tile: degree an object of level 0, then of level 1, and so on.  They are
	 * numbers of objects.
	 */
	const uint32_t *const *tiles;
} GenieProximityGraph;

/* How many objects of a level are among the first n of a tile. */
static inline uint32_t
genie_proximity_in_level(uint32_t n, uint32_t level)
{
	return (uint32_t) (((uint64_t) n + ((uint64_t) 1 << GENIE_PROXIMITY_LEVEL_SHIFT * level) - 1) >>
					   GENIE_PROXIMITY_LEVEL_SHIFT * level);
}

/* The levels of a graph of so many objects that have edges. */
static inline uint32_t
genie_proximity_levels(uint32_t n_objects)
{
	uint32_t	n = 1;

	while (genie_proximity_in_level(n_objects, n) > GENIE_PROXIMITY_ENTRIES_MAX)
		n++;
	return n;
}

/* Objects of all levels of a tile that has n of level 0. */
static inline uint32_t
genie_proximity_in_tile(uint32_t n, uint32_t n_levels)
{
	uint32_t	sum = 0;

	for (uint32_t level = 0; level < n_levels; level++)
		sum += genie_proximity_in_level(n, level);
	return sum;
}

/* The edges of an object that is in a level. */
static inline const uint32_t *
genie_proximity_edges(const GenieProximityGraph *graph, uint32_t level, uint32_t object)
{
	uint32_t	left = graph->n_objects - (object & ~(GENIE_TILE_OBJECTS - 1));
	uint32_t	n = left < GENIE_TILE_OBJECTS ? left : GENIE_TILE_OBJECTS;
	uint32_t	at = (object & (GENIE_TILE_OBJECTS - 1)) >> GENIE_PROXIMITY_LEVEL_SHIFT * level;

	return graph->tiles[object >> GENIE_TILE_SHIFT] +
		(size_t) (genie_proximity_in_tile(n, level) + at) * graph->head->degree;
}

static inline const uint32_t *
genie_proximity_entries(const GenieProximityHead *head)
{
	return (const uint32_t *) (head + 1);
}

static inline const uint32_t *
genie_proximity_unknown(const GenieProximityHead *head)
{
	return genie_proximity_entries(head) + head->n_entries;
}

/* The metrics whose records can have a graph: L2, L1, cosine and inner product. */
static inline bool
genie_proximity_serves(GenieMetric metric)
{
	return metric == GENIE_METRIC_L2 || metric == GENIE_METRIC_L1 || metric == GENIE_METRIC_COSINE ||
		metric == GENIE_METRIC_INNER;
}

/*
 * How long the queue of a search for the nearest k objects should be, so that it finds a wanted share of them, 0 to 1;
 * where no length is enough, one that finds as much as any.  At least k, if k is up to GENIE_PROXIMITY_QUEUE_MAX.
 */
extern uint32_t genie_proximity_queue(const GenieProximityRecall *recall, uint32_t k, double wanted);

/*
 * The best k of what a search with a queue of so many sees, by (key descending, object ascending): live objects, if
 * live is not NULL, with a key of min_key at least.  hits has room for k.  queue is raised to k; both are up to
 * GENIE_PROXIMITY_QUEUE_MAX.  The query is of the vectors' metric and dimensions.  Returns how many; *n_seen: objects
 * whose keys were computed.  -1: there is no memory.
 */
extern int64_t genie_proximity_search(const GenieProximityGraph *graph, const GenieQuantizedVectors *vectors,
									  const GenieValueQuery *query, const uint64_t *live, uint32_t k, uint32_t min_key,
									  uint32_t queue, GenieHit *hits, uint64_t *n_seen);

/* ---- for building ---- */

/*
 * The same in a graph of which the levels below one are not there: the best of that level, of all objects of which
 * something is known; as if an object were not there, or without NONE.
 */
extern int64_t genie_proximity_search_level(const GenieProximityGraph *graph, const GenieQuantizedVectors *vectors,
											const GenieValueQuery *query, uint32_t level, uint32_t without,
											uint32_t queue, GenieHit *hits);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_PROXIMITY_H */

/*
 * genie_proximity_build.c
 *	  Building a proximity graph (genie_proximity_build.h): its levels, one after the other, and that all is reached;
 *	  what searches find then, genie_proximity_recall.c measures.
 *
 * The edges of a level are made by genie_proximity_level.h.  What cannot be reached then from the level above, such as
 * a small cluster by itself, gets an edge from the nearest object that can be reached and has room for it: each object
 * keeps some places free until then.  Where all near ones are full, the last edge of the nearest gives way.
 *
 * The highest level is built first, for this step of the others searches there.  Of the objects that a level takes one
 * of, it is one at random, so that a period in the objects does not show.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "genie_draw.h"
#include "genie_proximity_level.h"
#include "genie_value_record.h"

#define BRIDGE_QUEUE 64			/* of the search for an object to bridge from */

typedef struct Build
{
	const GenieQuantizedVectors *vectors;
	const GenieProximityWorkers *workers;
	GenieProximityGraph graph;	/* the levels above this one are complete */
	bool	   *is_known;		/* of each object */
	size_t		n_bytes;		/* of a record */
	size_t		query_bytes;
	GenieProximityLevel level;	/* that is built */
} Build;

static inline uint32_t
member_of(const Build *build, uint32_t index)
{
	return build->level.members == NULL ? index : build->level.members[index];
}

static inline const void *
record_of(const Build *build, uint32_t object)
{
	return genie_vectors_record(build->vectors, build->n_bytes, object);
}

static inline uint32_t *
edges_of(const Build *build, uint32_t index)
{
	return (uint32_t *) genie_proximity_edges(&build->graph, build->level.level, member_of(build, index));
}

/* ---- reaching all ---- */

static inline uint32_t
index_of(const Build *build, uint32_t object)
{
	return object >> GENIE_PROXIMITY_LEVEL_SHIFT * build->level.level;
}

/* Marks all that can be reached from a member, if that is not marked; stack has room for all. */
static void
reach(const Build *build, uint32_t from, bool *reached, uint32_t *stack)
{
	uint32_t	n = 0;

	if (reached[from])
		return;
	reached[from] = true;
	stack[n++] = from;
	while (n > 0)
	{
		const uint32_t *edges = edges_of(build, stack[--n]);

		for (uint32_t e = 0; e < build->level.degree && edges[e] != GENIE_PROXIMITY_NONE; e++)
		{
			uint32_t	to = index_of(build, edges[e]);

			if (!reached[to])
			{
				reached[to] = true;
				stack[n++] = to;
			}
		}
	}
}

/* Gives a near object an edge to a member that cannot be reached.  False: there is no memory. */
static bool
bridge(const Build *build, GenieValueQuery *query, uint32_t to)
{
	GenieHit	hits[BRIDGE_QUEUE];
	int64_t		n;
	uint32_t   *edges;

	genie_value_query_of_record(build->vectors->metric, build->vectors->n_dimensions,
								record_of(build, member_of(build, to)), query);
	n = genie_proximity_search_level(&build->graph, build->vectors, query, build->level.level,
									 GENIE_PROXIMITY_NONE, BRIDGE_QUEUE, hits);
	if (n < 0)
		return false;
	for (int64_t i = 0; i < n; i++)
	{
		edges = edges_of(build, index_of(build, hits[i].object));
		for (uint32_t e = 0; e < build->level.degree; e++)
			if (edges[e] == GENIE_PROXIMITY_NONE)
			{
				edges[e] = member_of(build, to);
				return true;
			}
	}
	if (n > 0)
		edges_of(build, index_of(build, hits[0].object))[build->level.degree - 1] = member_of(build, to);
	return true;
}

/* above: the objects of the level above. */
static bool
reach_all(Build *build, const uint32_t *above, uint32_t n_above)
{
	bool	   *reached = calloc(build->level.n, sizeof(bool));
	uint32_t   *stack = malloc(build->level.n * sizeof(uint32_t));
	void	   *query = NULL;
	bool		ok = reached != NULL && stack != NULL &&
		posix_memalign(&query, GENIE_QUANTIZED_ALIGN, build->query_bytes) == 0;

	for (uint32_t i = 0; i < n_above && ok; i++)
		if (build->is_known[above[i]])
			reach(build, index_of(build, above[i]), reached, stack);
	for (uint32_t index = 0; index < build->level.n && ok; index++)
		if (build->is_known[member_of(build, index)] && !reached[index])
		{
			ok = bridge(build, query, index);
			reach(build, index, reached, stack);
		}
	free(query);
	free(stack);
	free(reached);
	return ok;
}

/* ---- levels ---- */

/* above: the objects of the level above. */
static GenieProximityResult
build_level(Build *build, const uint32_t *above, uint32_t n_above)
{
	const GenieProximityWorkers *workers = build->workers;

	if (workers->make_level == NULL || !workers->make_level(workers->arg, &build->level))
	{
		GenieProximityResult result = genie_proximity_level_edges(&build->level, build->vectors, build->is_known,
																  workers, &build->graph);

		if (result != GENIE_PROXIMITY_BUILT)
			return result;
		genie_proximity_name_edges(&build->level, &build->graph);
	}
	return reach_all(build, above, n_above) ? GENIE_PROXIMITY_BUILT : GENIE_PROXIMITY_NO_MEMORY;
}

/* Takes one known object, if there is one, of each 16 of the level below: members has room for them. */
static void
choose_members(const Build *build, uint32_t level, const uint32_t *below, uint32_t n_below, uint32_t *members)
{
	uint32_t	n = genie_proximity_in_level(n_below, 1);

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	first = i << GENIE_PROXIMITY_LEVEL_SHIFT;
		uint32_t	n_of = n_below - first < 1u << GENIE_PROXIMITY_LEVEL_SHIFT ? n_below - first :
			1u << GENIE_PROXIMITY_LEVEL_SHIFT;
		uint32_t	at = genie_draw_below(genie_draw_begin(level, GENIE_PROXIMITY_DRAW_MEMBER, i), 0, n_of);

		members[i] = below == NULL ? first + at : below[first + at];
		for (uint32_t next = 1; next < n_of && !build->is_known[members[i]]; next++)
			members[i] = below == NULL ? first + (at + next) % n_of : below[first + (at + next) % n_of];
	}
}

/* Builds all levels; the members of all above the lowest are in one array, the lowest first. */
static GenieProximityResult
build_levels(Build *build, uint32_t *members, GenieProximityHead *head)
{
	const uint32_t *of_level[GENIE_PROXIMITY_LEVELS_MAX + 2] = {NULL};
	uint32_t	n_of_level[GENIE_PROXIMITY_LEVELS_MAX + 2] = {build->graph.n_objects};
	uint32_t   *entries = (uint32_t *) (head + 1);
	GenieProximityResult result = GENIE_PROXIMITY_BUILT;

	for (uint32_t level = 1; level <= head->n_levels; level++)
	{
		choose_members(build, level, of_level[level - 1], n_of_level[level - 1], members);
		of_level[level] = members;
		n_of_level[level] = genie_proximity_in_level(n_of_level[level - 1], 1);
		members += n_of_level[level];
	}
	for (uint32_t i = 0; i < n_of_level[head->n_levels]; i++)
		if (build->is_known[of_level[head->n_levels][i]])
			entries[head->n_entries++] = of_level[head->n_levels][i];
	for (uint32_t object = 0, n = 0; object < build->graph.n_objects && n < head->n_unknown; object++)
		if (!build->is_known[object])
			entries[head->n_entries + n++] = object;
	for (uint32_t level = head->n_levels; level-- > 0 && result == GENIE_PROXIMITY_BUILT;)
	{
		build->level = (GenieProximityLevel) {level, head->degree, n_of_level[level], of_level[level]};
		result = build_level(build, of_level[level + 1], n_of_level[level + 1]);
	}
	return result;
}

size_t
genie_proximity_head_bytes(void)
{
	return sizeof(GenieProximityHead) +
		((size_t) GENIE_PROXIMITY_ENTRIES_MAX + GENIE_PROXIMITY_UNKNOWN_MAX) * sizeof(uint32_t);
}

uint64_t
genie_proximity_build_bytes(uint32_t n_objects, uint32_t degree)
{
	/* the lowest level, what is known, members; of reach_all(), less */
	return genie_proximity_level_bytes(n_objects, degree) + n_objects * (uint64_t) sizeof(bool) +
		n_objects / 8 * sizeof(uint32_t);
}

/* How many objects are unknown. */
static uint32_t
note_known(Build *build)
{
	uint32_t	n_unknown = 0;

	for (uint32_t object = 0; object < build->graph.n_objects; object++)
	{
		build->is_known[object] = ((const GenieQuantized *) record_of(build, object))->error <= FLT_MAX;
		n_unknown += !build->is_known[object];
	}
	return n_unknown;
}

GenieProximityResult
genie_proximity_build(const GenieQuantizedVectors *vectors, uint32_t n_null, uint32_t degree,
					  const GenieProximityWorkers *workers, uint32_t *const *tiles, GenieProximityHead *head)
{
	uint32_t	n_objects = vectors->n_objects;
	Build		build = {.vectors = vectors, .workers = workers};
	GenieProximityResult result = GENIE_PROXIMITY_NO_MEMORY;
	uint32_t   *members;

	if (n_objects < 2)
		return GENIE_PROXIMITY_UNSUITABLE;
	*head = (GenieProximityHead) {.degree = degree, .n_levels = genie_proximity_levels(n_objects)};
	build.graph = (GenieProximityGraph) {.n_objects = n_objects, .head = head,
		.tiles = (const uint32_t *const *) tiles};
	build.n_bytes = genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	build.query_bytes = genie_value_query_bytes(GENIE_METRIC_L2, vectors->n_dimensions);
	build.is_known = malloc(n_objects * sizeof(bool));
	members = malloc(((size_t) n_objects / 8 + 2 * GENIE_PROXIMITY_LEVELS_MAX) * sizeof(uint32_t));
	if (build.is_known != NULL && members != NULL)
	{
		uint32_t	n_unknown = note_known(&build);

		head->n_unknown = n_unknown == n_null ? 0 : n_unknown;
		result = head->n_unknown > GENIE_PROXIMITY_UNKNOWN_MAX ||
			n_objects - n_unknown < n_objects / GENIE_PROXIMITY_KNOWN_OF ? GENIE_PROXIMITY_UNSUITABLE :
			build_levels(&build, members, head);
	}
	if (result == GENIE_PROXIMITY_BUILT)
		result = genie_proximity_measure(&build.graph, vectors, workers, &head->recall);
	if (result != GENIE_PROXIMITY_BUILT)
		*head = (GenieProximityHead) {.degree = degree};
	free(build.is_known);
	free(members);
	return result;
}

/*
 * genie_proximity_build.c
 *	  Building a proximity graph (genie_proximity_build.h), in four steps.
 *
 * 1. Neighbours.  Each object has a list of the NEIGHBOURS nearest objects that are known so far, at first of random
 *	  ones.  The neighbours of neighbours are looked at, round by round, until few lists change: NN-descent (Dong,
 *	  Charikar and Li, "Efficient k-nearest neighbor graph construction for generic similarity measures", WWW 2011).
 *	  A round has two parts.  First, of each object some neighbours are drawn that are new to its list, and some that
 *	  are not; and as many objects that have it as a neighbour (the reverse ones).  These are written down.  Then each
 *	  object looks at what was written down by those that it has written down, and changes its own list only.  So the
 *	  blocks of objects that threads take do not touch each other, and what a round gives does not depend on them.
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
 * 4. Reaching all.  What cannot be reached from the level above, such as a small cluster by itself, gets an edge from
 *	  the nearest object that can be reached and has room for it: each object keeps BRIDGES places free until then.
 *	  Where all near ones are full, the last edge of the nearest gives way.
 *
 * A graph has levels (genie_proximity.h).  Each is built by these steps, the highest one first, for the fourth step of
 * the others searches there.  Of the objects that a level takes one of, it is one at random, so that a period in the
 * objects does not show.  Within a level, objects have indexes, which are their numbers without the last bits.
 *
 * Ties.  Of many equal objects, all lists would have the same few.  So ties are broken at random, by the object's own
 * order of all numbers: number ^ salt.
 *
 * Random numbers are functions of the object, the level and the round (genie_draw.h), so a graph is a function of its
 * vectors.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "genie_draw.h"
#include "genie_proximity_build.h"
#include "genie_value_record.h"

#define NEIGHBOURS 48			/* of a list */
#define DRAWN 12				/* new neighbours that are written down; old ones; and reverse ones of each */
#define ROUNDS_MAX 16
#define CHANGES_MIN 0.002		/* of all neighbours, in a round: with fewer, it was the last one */
#define BLOCK_OBJECTS 256
#define BRIDGES 2				/* places for edges to what cannot be reached otherwise */
#define AHEAD 4					/* lists that are asked for before they are needed */
#define CACHE_LINE 64
#define LOOK_MAX (4 * DRAWN * 4 * DRAWN)
#define SET_PLACES 4096			/* a power of 2, above LOOK_MAX and a list */
#define BRIDGE_QUEUE 64			/* of the search for an object to bridge from */

#define HASH_FACTOR UINT32_C(2654435769)	/* 2^32 times the golden ratio's fraction */
#define HASH_SHIFT 13

/* what is drawn at random */
#define DRAW_FIRST 1
#define DRAW_SALT 2
#define DRAW_REVERSE 3
#define DRAW_MEMBER 4

/* In a neighbour's rank: its key, its number in the object's own order, and whether it is new. */
#define NEW UINT64_C(1)
#define KEY_SHIFT 33

typedef struct Build
{
	const GenieQuantizedVectors *vectors;
	const GenieProximityWorkers *workers;
	uint32_t	degree;
	GenieProximityGraph graph;	/* the levels above this one are complete */
	bool	   *is_known;		/* of each object */
	uint32_t	level;
	const uint32_t *members;	/* the level's objects by index; NULL: all */
	uint32_t	n;				/* of them */
	uint32_t	n_neighbours;	/* of a list: fewer than there are other members */
	size_t		n_bytes;		/* of a record */
	size_t		query_bytes;
	uint64_t   *lists;			/* n_neighbours ranks an object, the best first */
	uint32_t   *drawn;			/* 4 * DRAWN an object: new, reverse new, old, reverse old; NONE: no more of them */
	uint8_t    *n_reverse;		/* 2 an object: new, old */
	uint64_t	n_changes;		/* in a round; atomic */
	uint32_t	round;
	bool		failed;			/* there is no memory; atomic */
} Build;

/* ---- the members of a level, by index ---- */

static inline uint32_t
member_of(const Build *build, uint32_t index)
{
	return build->members == NULL ? index : build->members[index];
}

static inline bool
is_known(const Build *build, uint32_t index)
{
	return build->is_known[member_of(build, index)];
}

static inline const void *
record_of(const Build *build, uint32_t index)
{
	return genie_vectors_record(build->vectors, build->n_bytes, member_of(build, index));
}

static inline uint32_t *
edges_of(const Build *build, uint32_t index)
{
	return (uint32_t *) genie_proximity_edges(&build->graph, build->level, member_of(build, index));
}

static inline uint64_t *
list_of(const Build *build, uint32_t object)
{
	return build->lists + (size_t) object * build->n_neighbours;
}

static inline uint32_t *
drawn_of(const Build *build, uint32_t object)
{
	return build->drawn + (size_t) object * 4 * DRAWN;
}

/* By which the object orders ties. */
static inline uint32_t
salt_of(uint32_t object)
{
	return (uint32_t) genie_draw_begin(0, DRAW_SALT, object);
}

static inline uint64_t
rank_of(uint32_t key, uint32_t number)
{
	return (uint64_t) key << KEY_SHIFT | (uint64_t) number << 1 | NEW;
}

static inline uint32_t
neighbour_of(uint64_t rank, uint32_t salt)
{
	return (uint32_t) (rank >> 1) ^ salt;
}

/* Asks for memory that is needed soon. */
static inline void
prefetch(const void *memory, size_t n_bytes)
{
	for (size_t at = 0; at < n_bytes; at += CACHE_LINE)
		__builtin_prefetch((const char *) memory + at);
}

/* ---- one object's list ---- */

/* What a thread needs for an object after the other. */
typedef struct Look
{
	GenieValueQuery *query;
	uint32_t	n;
	uint32_t	objects[LOOK_MAX];
	uint32_t	keys[LOOK_MAX];
	const void *places[LOOK_MAX];
	uint32_t	set[SET_PLACES];	/* objects that are not looked at again; NONE: no object */
} Look;

/* NULL: there is no memory. */
static Look *
look_begin(Build *build)
{
	Look	   *look = malloc(sizeof(Look));
	void	   *query = NULL;

	if (look == NULL || posix_memalign(&query, GENIE_QUANTIZED_ALIGN, build->query_bytes) != 0)
	{
		__atomic_store_n(&build->failed, true, __ATOMIC_RELAXED);
		free(look);
		return NULL;
	}
	look->query = query;
	return look;
}

static void
look_end(Look *look)
{
	free(look->query);
	free(look);
}

/* Is it the first time that an object comes? */
static inline bool
look_first(Look *look, uint32_t object)
{
	uint32_t	at = (object * HASH_FACTOR) >> HASH_SHIFT & (SET_PLACES - 1);

	while (look->set[at] != GENIE_PROXIMITY_NONE)
	{
		if (look->set[at] == object)
			return false;
		at = (at + 1) & (SET_PLACES - 1);
	}
	look->set[at] = object;
	return true;
}

static void
look_from(const Build *build, Look *look, uint32_t object)
{
	genie_value_query_of_record(build->vectors->metric, build->vectors->n_dimensions, record_of(build, object),
								look->query);
	look->n = 0;
	memset(look->set, 0xFF, sizeof(look->set));
	(void) look_first(look, object);
}

static inline void
look_at(const Build *build, Look *look, uint32_t object)
{
	if (!look_first(look, object))
		return;
	look->objects[look->n] = object;
	look->places[look->n] = record_of(build, object);
	__builtin_prefetch(look->places[look->n]);
	look->n++;
}

/* Puts what was looked at in the object's list.  Returns how many are new there. */
static uint32_t
look_end_object(const Build *build, Look *look, uint32_t object)
{
	uint64_t   *list = list_of(build, object);
	uint32_t	salt = salt_of(object);
	uint32_t	last = build->n_neighbours - 1;
	uint32_t	n_new = 0;

	genie_value_keys_at(look->query, look->places, look->n, look->keys);
	for (uint32_t i = 0; i < look->n; i++)
	{
		uint64_t	rank = rank_of(look->keys[i], look->objects[i] ^ salt);
		uint32_t	at = last;

		if ((rank | NEW) <= (list[last] | NEW))
			continue;
		while (at > 0 && (list[at - 1] | NEW) < rank)
			at--;
		/* those of equal rank are the same object */
		if (at > 0 && (list[at - 1] | NEW) == rank)
			continue;
		memmove(list + at + 1, list + at, (last - at) * sizeof(uint64_t));
		list[at] = rank;
		n_new++;
	}
	return n_new;
}

/* ---- 1. neighbours ---- */

static void
end_of_block(const Build *build, uint32_t block, uint32_t *first, uint32_t *end)
{
	*first = block * BLOCK_OBJECTS;
	*end = build->n - *first < BLOCK_OBJECTS ? build->n : *first + BLOCK_OBJECTS;
}

/* The first lists: of random objects, or of all where these are few. */
static void
first_lists(void *work, uint32_t block)
{
	Build	   *build = work;
	Look	   *look = look_begin(build);
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end && look != NULL; object++)
	{
		uint64_t	draw = genie_draw_begin(build->level, DRAW_FIRST, object);
		uint32_t	tries = 4 * build->n_neighbours;

		memset(list_of(build, object), 0, build->n_neighbours * sizeof(uint64_t));
		if (!is_known(build, object))
			continue;
		look_from(build, look, object);
		for (uint32_t t = 0; t < tries && look->n < build->n_neighbours; t++)
		{
			uint32_t	other = genie_draw_below(draw, t, build->n);

			if (is_known(build, other))
				look_at(build, look, other);
		}
		(void) look_end_object(build, look, object);
	}
	if (look != NULL)
		look_end(look);
}

/* Writes down neighbours of each object that are new to its list, and old ones. */
static void
draw_neighbours(void *work, uint32_t block)
{
	Build	   *build = work;
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end; object++)
	{
		uint64_t   *list = list_of(build, object);
		uint32_t   *drawn = drawn_of(build, object);
		uint32_t	salt = salt_of(object);
		uint32_t	n_new = 0;
		uint32_t	n_old = 0;

		memset(drawn, 0xFF, 4 * DRAWN * sizeof(uint32_t));
		for (uint32_t i = 0; i < build->n_neighbours && list[i] != 0; i++)
			if ((list[i] & NEW) == 0 && n_old < DRAWN)
				drawn[2 * DRAWN + n_old++] = neighbour_of(list[i], salt);
			else if ((list[i] & NEW) != 0 && n_new < DRAWN)
			{
				drawn[n_new++] = neighbour_of(list[i], salt);
				list[i] &= ~NEW;
			}
	}
}

/* Adds an object to those that have another one as a neighbour; of too many, some at random. */
static void
add_reverse(Build *build, uint32_t object, uint32_t neighbour, uint32_t which)
{
	uint8_t    *n = &build->n_reverse[2 * (size_t) neighbour + which];
	uint32_t   *reverse = drawn_of(build, neighbour) + (2 * which + 1) * DRAWN;

	if (*n < DRAWN)
		reverse[(*n)++] = object;
	else
	{
		uint32_t	at = genie_draw_below(genie_draw_begin(build->round, DRAW_REVERSE, object), neighbour, 4 * DRAWN);

		if (at < DRAWN)
			reverse[at] = object;
	}
}

/* By one thread: the reverse ones of all objects. */
static void
draw_reverse(Build *build)
{
	memset(build->n_reverse, 0, 2 * (size_t) build->n);
	for (uint32_t object = 0; object < build->n; object++)
	{
		const uint32_t *drawn = drawn_of(build, object);

		for (uint32_t i = 0; i < DRAWN && drawn[i] != GENIE_PROXIMITY_NONE; i++)
			add_reverse(build, object, drawn[i], 0);
		for (uint32_t i = 2 * DRAWN; i < 3 * DRAWN && drawn[i] != GENIE_PROXIMITY_NONE; i++)
			add_reverse(build, object, drawn[i], 1);
	}
}

/* Looks at what an object has written down, from place first to end. */
static void
look_at_drawn(const Build *build, Look *look, uint32_t of, uint32_t first, uint32_t end)
{
	const uint32_t *drawn = drawn_of(build, of);

	for (uint32_t i = first; i < end; i++)
		if (drawn[i] != GENIE_PROXIMITY_NONE)
			look_at(build, look, drawn[i]);
}

/* Looks at what those that an object has written down have written down. */
static void
look_around(void *work, uint32_t block)
{
	Build	   *build = work;
	Look	   *look = look_begin(build);
	uint64_t	n_changes = 0;
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end && look != NULL; object++)
	{
		const uint32_t *drawn = drawn_of(build, object);
		const uint64_t *list = list_of(build, object);
		uint32_t	salt = salt_of(object);

		if (!is_known(build, object))
			continue;
		for (uint32_t i = 0; i < 4 * DRAWN; i++)
			if (drawn[i] != GENIE_PROXIMITY_NONE)
				prefetch(drawn_of(build, drawn[i]), 4 * DRAWN * sizeof(uint32_t));
		look_from(build, look, object);
		for (uint32_t i = 0; i < build->n_neighbours && list[i] != 0; i++)
			(void) look_first(look, neighbour_of(list[i], salt));
		/* by way of new ones all, by way of old ones the new ones */
		for (uint32_t i = 0; i < 4 * DRAWN; i++)
			if (drawn[i] != GENIE_PROXIMITY_NONE)
				look_at_drawn(build, look, drawn[i], 0, i < 2 * DRAWN ? 4 * DRAWN : 2 * DRAWN);
		look_at_drawn(build, look, object, DRAWN, 2 * DRAWN);
		n_changes += look_end_object(build, look, object);
	}
	if (look != NULL)
		look_end(look);
	__atomic_fetch_add(&build->n_changes, n_changes, __ATOMIC_RELAXED);
}

static bool
for_each_block(Build *build, void (*do_block) (void *work, uint32_t block))
{
	uint32_t	n_blocks = (build->n + BLOCK_OBJECTS - 1) / BLOCK_OBJECTS;

	return build->workers->for_each(build->workers->arg, n_blocks, do_block, build);
}

/* False: it shall end, or there was no memory. */
static bool
find_neighbours(Build *build)
{
	bool		ok = for_each_block(build, first_lists);

	for (build->round = 0; ok && build->round < ROUNDS_MAX; build->round++)
	{
		build->n_changes = 0;
		ok = for_each_block(build, draw_neighbours);
		if (ok)
			draw_reverse(build);
		ok = ok && for_each_block(build, look_around);
		if ((double) build->n_changes < CHANGES_MIN * build->n * build->n_neighbours)
			break;
	}
	return ok && !build->failed;
}

/* ---- 2. pruning ---- */

/* Writes the edges that are kept, without places for bridges. */
static void
prune(void *work, uint32_t block)
{
	Build	   *build = work;
	uint32_t	n_kept = build->degree - BRIDGES;
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end; object++)
	{
		const uint64_t *list = list_of(build, object);
		uint32_t	salt = salt_of(object);
		uint32_t   *edges = edges_of(build, object);
		uint32_t	objects[NEIGHBOURS];
		uint32_t	detours[NEIGHBOURS];
		uint32_t	by_detours[NEIGHBOURS + 1] = {0};
		uint32_t	n = 0;
		uint32_t	most;
		uint32_t	n_edges = 0;
		uint32_t	n_left;

		while (n < build->n_neighbours && list[n] != 0)
		{
			objects[n] = neighbour_of(list[n], salt);
			detours[n++] = 0;
		}
		for (uint32_t i = 0; i + 1 < n; i++)
		{
			const uint64_t *of_neighbour = list_of(build, objects[i]);
			uint32_t	its_salt = salt_of(objects[i]);

			if (i + AHEAD < n)
				prefetch(list_of(build, objects[i + AHEAD]), build->n_neighbours * sizeof(uint64_t));
			/* an edge of rank j has a detour if this neighbour has it at a rank below j */
			for (uint32_t r = 0; r < n - 1 && of_neighbour[r] != 0; r++)
			{
				uint32_t	other = neighbour_of(of_neighbour[r], its_salt);

				for (uint32_t j = (r > i ? r : i) + 1; j < n; j++)
					detours[j] += objects[j] == other;
			}
		}
		for (uint32_t j = 0; j < n; j++)
			by_detours[detours[j]]++;
		for (most = 0, n_left = n_kept; most < NEIGHBOURS && by_detours[most] <= n_left; most++)
			n_left -= by_detours[most];
		/* all with fewer detours, and the first ones of those with as many */
		for (uint32_t j = 0; j < n && n_edges < n_kept; j++)
			if (detours[j] < most || (detours[j] == most && n_left > 0 && n_left-- > 0))
				edges[n_edges++] = objects[j];
		for (uint32_t e = n_edges; e < build->degree; e++)
			edges[e] = GENIE_PROXIMITY_NONE;
	}
}

/* ---- 3. reverse edges ---- */

static bool
has_edge(const uint32_t *edges, uint32_t n, uint32_t object)
{
	for (uint32_t e = 0; e < n; e++)
		if (edges[e] == object)
			return true;
	return false;
}

/* By one thread.  The lists are not needed any more: in their place come kept edges, and then reverse ones. */
static void
add_reverse_edges(Build *build)
{
	uint32_t	n_edges = build->degree - BRIDGES;
	uint32_t   *kept = (uint32_t *) build->lists;
	uint32_t   *reverse = kept + (size_t) build->n * n_edges;
	uint8_t    *n_reverse = build->n_reverse;

	memset(n_reverse, 0, build->n);
	for (uint32_t object = 0; object < build->n; object++)
		memcpy(kept + (size_t) object * n_edges, edges_of(build, object), n_edges * sizeof(uint32_t));
	for (uint32_t rank = 0; rank < n_edges; rank++)
		for (uint32_t object = 0; object < build->n; object++)
		{
			uint32_t	to = kept[(size_t) object * n_edges + rank];

			if (to != GENIE_PROXIMITY_NONE && n_reverse[to] < n_edges)
				reverse[(size_t) to * n_edges + n_reverse[to]++] = object;
		}
	for (uint32_t object = 0; object < build->n; object++)
	{
		uint32_t   *edges = edges_of(build, object);
		const uint32_t *own = kept + (size_t) object * n_edges;
		const uint32_t *others = reverse + (size_t) object * n_edges;
		uint32_t	n = 0;
		uint32_t	next = 0;

		while (n < n_edges / 2 && own[n] != GENIE_PROXIMITY_NONE)
		{
			edges[n] = own[n];
			n++;
		}
		next = n;
		for (uint32_t r = 0; r < n_reverse[object] && n < n_edges; r++)
			if (!has_edge(edges, n, others[r]))
				edges[n++] = others[r];
		for (; next < n_edges && own[next] != GENIE_PROXIMITY_NONE && n < n_edges; next++)
			if (!has_edge(edges, n, own[next]))
				edges[n++] = own[next];
		for (; n < build->degree; n++)
			edges[n] = GENIE_PROXIMITY_NONE;
	}
}

/* ---- 4. reaching all ---- */

/* From indexes to numbers of objects, in the edges. */
static void
name_objects(const Build *build)
{
	for (uint32_t index = 0; index < build->n && build->members != NULL; index++)
	{
		uint32_t   *edges = edges_of(build, index);

		for (uint32_t e = 0; e < build->degree && edges[e] != GENIE_PROXIMITY_NONE; e++)
			edges[e] = build->members[edges[e]];
	}
}

static inline uint32_t
index_of(const Build *build, uint32_t object)
{
	return object >> GENIE_PROXIMITY_LEVEL_SHIFT * build->level;
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

		for (uint32_t e = 0; e < build->degree && edges[e] != GENIE_PROXIMITY_NONE; e++)
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
bridge(const Build *build, Look *look, uint32_t to)
{
	GenieHit	hits[BRIDGE_QUEUE];
	int64_t		n;
	uint32_t   *edges;

	look_from(build, look, to);
	n = genie_proximity_search_level(&build->graph, build->vectors, look->query, build->level, BRIDGE_QUEUE, hits);
	if (n < 0)
		return false;
	for (int64_t i = 0; i < n; i++)
	{
		edges = edges_of(build, index_of(build, hits[i].object));
		for (uint32_t e = 0; e < build->degree; e++)
			if (edges[e] == GENIE_PROXIMITY_NONE)
			{
				edges[e] = member_of(build, to);
				return true;
			}
	}
	if (n > 0)
		edges_of(build, index_of(build, hits[0].object))[build->degree - 1] = member_of(build, to);
	return true;
}

/* above: the objects of the level above. */
static bool
reach_all(Build *build, const uint32_t *above, uint32_t n_above)
{
	bool	   *reached = calloc(build->n, sizeof(bool));
	uint32_t   *stack = malloc(build->n * sizeof(uint32_t));
	Look	   *look = look_begin(build);
	bool		ok = reached != NULL && stack != NULL && look != NULL;

	for (uint32_t i = 0; i < n_above && ok; i++)
		if (build->is_known[above[i]])
			reach(build, index_of(build, above[i]), reached, stack);
	for (uint32_t index = 0; index < build->n && ok; index++)
		if (is_known(build, index) && !reached[index])
		{
			ok = bridge(build, look, index);
			reach(build, index, reached, stack);
		}
	if (look != NULL)
		look_end(look);
	free(stack);
	free(reached);
	return ok;
}

/* ---- levels ---- */

/* Of an object's list; kept and reverse edges come in its place. */
static size_t
list_bytes(uint32_t degree)
{
	size_t		n_bytes = NEIGHBOURS * sizeof(uint64_t);
	size_t		edge_bytes = 2 * (degree - BRIDGES) * sizeof(uint32_t);

	return n_bytes < edge_bytes ? edge_bytes : n_bytes;
}

/* Takes memory for a level, and builds it. */
static GenieProximityResult
build_level(Build *build, const uint32_t *above, uint32_t n_above)
{
	GenieProximityResult result = GENIE_PROXIMITY_NO_MEMORY;

	build->n_neighbours = build->n - 1 < NEIGHBOURS ? build->n - 1 : NEIGHBOURS;
	build->lists = malloc(list_bytes(build->degree) * build->n);
	build->drawn = malloc((size_t) build->n * 4 * DRAWN * sizeof(uint32_t));
	build->n_reverse = malloc(2 * (size_t) build->n);
	if (build->lists != NULL && build->drawn != NULL && build->n_reverse != NULL)
	{
		if (find_neighbours(build) && for_each_block(build, prune))
		{
			add_reverse_edges(build);
			name_objects(build);
			result = reach_all(build, above, n_above) ? GENIE_PROXIMITY_BUILT : GENIE_PROXIMITY_NO_MEMORY;
		}
		else
			result = build->failed ? GENIE_PROXIMITY_NO_MEMORY : GENIE_PROXIMITY_STOPPED;
	}
	free(build->lists);
	free(build->drawn);
	free(build->n_reverse);
	return result;
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
		uint32_t	at = genie_draw_below(genie_draw_begin(level, DRAW_MEMBER, i), 0, n_of);

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
		build->level = level;
		build->members = of_level[level];
		build->n = n_of_level[level];
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
	/* lists, what is drawn, reverse ones of two kinds, what is known, members; of reach_all(), less */
	return n_objects * (uint64_t) (list_bytes(degree) + 4 * DRAWN * sizeof(uint32_t) + 2 + sizeof(bool)) +
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
genie_proximity_build(const GenieQuantizedVectors *vectors, uint32_t degree, const GenieProximityWorkers *workers,
					  uint32_t *const *tiles, GenieProximityHead *head)
{
	uint32_t	n_objects = vectors->n_objects;
	Build		build = {.vectors = vectors, .workers = workers, .degree = degree};
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
		head->n_unknown = note_known(&build);
		result = head->n_unknown > GENIE_PROXIMITY_UNKNOWN_MAX ? GENIE_PROXIMITY_UNSUITABLE :
			build_levels(&build, members, head);
	}
	if (result != GENIE_PROXIMITY_BUILT)
		*head = (GenieProximityHead) {.degree = degree};
	free(build.is_known);
	free(members);
	return result;
}

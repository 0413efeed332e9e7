/*
 * genie_proximity_level.c
 *	  The edges of one level of a proximity graph by the CPU (genie_proximity_level.h).
 */
#include <stdlib.h>
#include <string.h>

#include "genie_proximity_level.h"
#include "genie_value_record.h"

#define NEIGHBOURS GENIE_PROXIMITY_NEIGHBOURS
#define DRAWN GENIE_PROXIMITY_DRAWN
#define NEW GENIE_PROXIMITY_NEW
#define BLOCK_OBJECTS 256
#define AHEAD 4					/* lists that are asked for before they are needed */
#define CACHE_LINE 64
#define LOOK_MAX (4 * DRAWN * 4 * DRAWN)
#define SET_PLACES 4096			/* a power of 2, above LOOK_MAX and a list */

#define HASH_FACTOR UINT32_C(2654435769)	/* 2^32 times the golden ratio's fraction */
#define HASH_SHIFT 13

typedef struct Build
{
	const GenieQuantizedVectors *vectors;
	const GenieProximityWorkers *workers;
	const GenieProximityGraph *graph;
	const bool *is_known;		/* of each object */
	const GenieProximityLevel *level;
	uint32_t	n;				/* its objects */
	uint32_t	n_neighbours;	/* of a list: fewer than there are other members */
	uint32_t	n_edges;		/* of an object, without places for bridges */
	size_t		n_bytes;		/* of a record */
	size_t		query_bytes;
	uint64_t   *lists;			/* n_neighbours ranks an object, the best first; step 3: other things */
	uint32_t   *drawn;			/* 4 * DRAWN an object: new, reverse new, old, reverse old; NONE: none is there */
	uint64_t	n_changes;		/* in a round; atomic */
	uint32_t	round;
	bool		failed;			/* there is no memory; atomic */

	/* step 3, in the place of lists and of what is drawn */
	uint32_t   *kept;			/* n_edges indexes an object */
	uint64_t   *back;			/* of each kept edge rank << 32 | the object that kept it, by where it leads */
	uint64_t   *end_back;		/* of each object, where its part of these ends; atomic while they come */
} Build;

/* ---- the members of a level, by index ---- */

static inline uint32_t
member_of(const Build *build, uint32_t index)
{
	return build->level->members == NULL ? index : build->level->members[index];
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
	return (uint32_t *) genie_proximity_edges(build->graph, build->level->level, member_of(build, index));
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
	uint64_t	before[NEIGHBOURS];
	uint32_t	salt = genie_proximity_salt(object);
	uint32_t	last = build->n_neighbours - 1;
	uint32_t	n_old = 0;
	uint32_t	n = 0;

	memcpy(before, list, build->n_neighbours * sizeof(uint64_t));
	genie_value_keys_at(look->query, look->places, look->n, look->keys);
	for (uint32_t i = 0; i < look->n; i++)
	{
		uint64_t	rank = genie_proximity_rank(look->keys[i], look->objects[i] ^ salt);
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
	}
	while (n <= last && list[n] != 0)
		n++;
	while (n_old <= last && before[n_old] != 0 && before[n_old] >= list[last])
		n_old++;
	return n - n_old;
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
		uint64_t	draw = genie_draw_begin(build->level->level, GENIE_PROXIMITY_DRAW_FIRST, object);
		uint32_t	tries = GENIE_PROXIMITY_TRIES * build->n_neighbours;

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
		uint32_t	salt = genie_proximity_salt(object);
		uint32_t	n_new = 0;
		uint32_t	n_old = 0;

		memset(drawn, 0xFF, 4 * DRAWN * sizeof(uint32_t));
		for (uint32_t i = 0; i < build->n_neighbours && list[i] != 0; i++)
			if ((list[i] & NEW) == 0 && n_old < DRAWN)
				drawn[2 * DRAWN + n_old++] = genie_proximity_neighbour(list[i], salt);
			else if ((list[i] & NEW) != 0 && n_new < DRAWN)
			{
				drawn[n_new++] = genie_proximity_neighbour(list[i], salt);
				list[i] &= ~NEW;
			}
	}
}

/* Writes an object down as a reverse neighbour in a place of another one, unless the one there is preferred. */
static void
add_reverse(const Build *build, uint32_t object, uint32_t neighbour, uint32_t which)
{
	uint64_t	draw = genie_proximity_reverse_draw(build->round, object, neighbour);
	uint32_t   *place = drawn_of(build, neighbour) + (2 * which + 1) * DRAWN + draw % DRAWN;
	uint32_t	there = __atomic_load_n(place, __ATOMIC_RELAXED);

	while (there == GENIE_PROXIMITY_NONE || genie_proximity_reverse_draw(build->round, there, neighbour) > draw)
		if (__atomic_compare_exchange_n(place, &there, object, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			break;
}

/* Writes each object down as a reverse neighbour. */
static void
draw_reverse(void *work, uint32_t block)
{
	Build	   *build = work;
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end; object++)
		for (uint32_t which = 0; which < 2; which++)
		{
			const uint32_t *drawn = drawn_of(build, object) + 2 * which * DRAWN;

			for (uint32_t i = 0; i < DRAWN && drawn[i] != GENIE_PROXIMITY_NONE; i++)
				prefetch(drawn_of(build, drawn[i]) + (2 * which + 1) * DRAWN, 1);
			for (uint32_t i = 0; i < DRAWN && drawn[i] != GENIE_PROXIMITY_NONE; i++)
				add_reverse(build, object, drawn[i], which);
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
		uint32_t	salt = genie_proximity_salt(object);

		if (!is_known(build, object))
			continue;
		for (uint32_t i = 0; i < 4 * DRAWN; i++)
			if (drawn[i] != GENIE_PROXIMITY_NONE)
				prefetch(drawn_of(build, drawn[i]), 4 * DRAWN * sizeof(uint32_t));
		look_from(build, look, object);
		for (uint32_t i = 0; i < build->n_neighbours && list[i] != 0; i++)
			(void) look_first(look, genie_proximity_neighbour(list[i], salt));
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

	for (build->round = 0; ok && build->round < GENIE_PROXIMITY_ROUNDS_MAX; build->round++)
	{
		build->n_changes = 0;
		ok = for_each_block(build, draw_neighbours) && for_each_block(build, draw_reverse) &&
			for_each_block(build, look_around);
		if ((double) build->n_changes < GENIE_PROXIMITY_CHANGES_MIN * build->n * build->n_neighbours)
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
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end; object++)
	{
		const uint64_t *list = list_of(build, object);
		uint32_t	salt = genie_proximity_salt(object);
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
			objects[n] = genie_proximity_neighbour(list[n], salt);
			detours[n++] = 0;
		}
		for (uint32_t i = 0; i + 1 < n; i++)
		{
			const uint64_t *of_neighbour = list_of(build, objects[i]);
			uint32_t	its_salt = genie_proximity_salt(objects[i]);

			if (i + AHEAD < n)
				prefetch(list_of(build, objects[i + AHEAD]), build->n_neighbours * sizeof(uint64_t));
			/* an edge of rank j has a detour if this neighbour has it at a rank below j */
			for (uint32_t r = 0; r < n - 1 && of_neighbour[r] != 0; r++)
			{
				uint32_t	other = genie_proximity_neighbour(of_neighbour[r], its_salt);

				for (uint32_t j = (r > i ? r : i) + 1; j < n; j++)
					detours[j] += objects[j] == other;
			}
		}
		for (uint32_t j = 0; j < n; j++)
			by_detours[detours[j]]++;
		for (most = 0, n_left = build->n_edges; most < NEIGHBOURS && by_detours[most] <= n_left; most++)
			n_left -= by_detours[most];
		/* all with fewer detours, and the first ones of those with as many */
		for (uint32_t j = 0; j < n && n_edges < build->n_edges; j++)
			if (detours[j] < most || (detours[j] == most && n_left > 0 && n_left-- > 0))
				edges[n_edges++] = objects[j];
		for (uint32_t e = n_edges; e < build->level->degree; e++)
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

/* Copies the kept edges, and counts those that lead to each object. */
static void
count_back(void *work, uint32_t block)
{
	Build	   *build = work;
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end; object++)
	{
		uint32_t   *kept = build->kept + (size_t) object * build->n_edges;

		memcpy(kept, edges_of(build, object), build->n_edges * sizeof(uint32_t));
		for (uint32_t rank = 0; rank < build->n_edges && kept[rank] != GENIE_PROXIMITY_NONE; rank++)
			__atomic_fetch_add(&build->end_back[kept[rank]], 1, __ATOMIC_RELAXED);
	}
}

/* Lays them side by side, by where they lead. */
static void
lead_back(void *work, uint32_t block)
{
	Build	   *build = work;
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end; object++)
	{
		const uint32_t *kept = build->kept + (size_t) object * build->n_edges;

		for (uint32_t rank = 0; rank < build->n_edges && kept[rank] != GENIE_PROXIMITY_NONE; rank++)
			build->back[__atomic_fetch_add(&build->end_back[kept[rank]], 1, __ATOMIC_RELAXED)] =
				(uint64_t) rank << 32 | object;
	}
}

/* The best n_edges of those that lead to an object, the best first.  Returns how many. */
static uint32_t
best_back(const Build *build, uint32_t object, uint64_t *best)
{
	uint32_t	n = 0;

	for (uint64_t i = object == 0 ? 0 : build->end_back[object - 1]; i < build->end_back[object]; i++)
	{
		uint64_t	one = build->back[i];
		uint32_t	at = n;

		if (n == build->n_edges && one > best[n - 1])
			continue;
		n += n < build->n_edges;
		for (at = n - 1; at > 0 && best[at - 1] > one; at--)
			best[at] = best[at - 1];
		best[at] = one;
	}
	return n;
}

static void
add_reverse_edges(void *work, uint32_t block)
{
	Build	   *build = work;
	uint32_t	n_edges = build->n_edges;
	uint32_t	first;
	uint32_t	end;

	end_of_block(build, block, &first, &end);
	for (uint32_t object = first; object < end; object++)
	{
		uint32_t   *edges = edges_of(build, object);
		const uint32_t *own = build->kept + (size_t) object * n_edges;
		uint64_t	back[GENIE_PROXIMITY_DEGREE_MAX];
		uint32_t	n_back = best_back(build, object, back);
		uint32_t	n = 0;
		uint32_t	next;

		while (n < n_edges / 2 && own[n] != GENIE_PROXIMITY_NONE)
		{
			edges[n] = own[n];
			n++;
		}
		next = n;
		for (uint32_t r = 0; r < n_back && n < n_edges; r++)
			if (!has_edge(edges, n, (uint32_t) back[r]))
				edges[n++] = (uint32_t) back[r];
		for (; next < n_edges && own[next] != GENIE_PROXIMITY_NONE && n < n_edges; next++)
			if (!has_edge(edges, n, own[next]))
				edges[n++] = own[next];
		for (; n < build->level->degree; n++)
			edges[n] = GENIE_PROXIMITY_NONE;
	}
}

/* The lists, and what is drawn, are not needed any more. */
static bool
reverse_edges(Build *build)
{
	size_t		n_kept = (size_t) build->n * build->n_edges;
	uint64_t	before = 0;

	build->back = build->lists;
	build->kept = (uint32_t *) (build->back + n_kept);
	build->end_back = (uint64_t *) build->drawn;
	memset(build->end_back, 0, build->n * sizeof(uint64_t));
	if (!for_each_block(build, count_back))
		return false;
	/* at first, where each part begins */
	for (uint32_t object = 0; object < build->n; object++)
	{
		uint64_t	n = build->end_back[object];

		build->end_back[object] = before;
		before += n;
	}
	return for_each_block(build, lead_back) && for_each_block(build, add_reverse_edges);
}

/* ---- a level ---- */

/* Of an object's list; in its place come kept edges, and which lead to it. */
static size_t
list_bytes(uint32_t degree)
{
	size_t		n_bytes = NEIGHBOURS * sizeof(uint64_t);
	size_t		edge_bytes = (degree - GENIE_PROXIMITY_BRIDGES) * (sizeof(uint64_t) + sizeof(uint32_t));

	return n_bytes < edge_bytes ? edge_bytes : n_bytes;
}

uint64_t
genie_proximity_level_bytes(uint32_t n, uint32_t degree)
{
	return n * (uint64_t) (list_bytes(degree) + 4 * DRAWN * sizeof(uint32_t));
}

GenieProximityResult
genie_proximity_level_edges(const GenieProximityLevel *level, const GenieQuantizedVectors *vectors,
							const bool *is_known, const GenieProximityWorkers *workers,
							const GenieProximityGraph *graph)
{
	Build		build = {.vectors = vectors, .workers = workers, .graph = graph, .is_known = is_known,
		.level = level, .n = level->n};
	GenieProximityResult result = GENIE_PROXIMITY_NO_MEMORY;

	build.n_neighbours = build.n - 1 < NEIGHBOURS ? build.n - 1 : NEIGHBOURS;
	build.n_edges = level->degree - GENIE_PROXIMITY_BRIDGES;
	build.n_bytes = genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	build.query_bytes = genie_value_query_bytes(GENIE_METRIC_L2, vectors->n_dimensions);
	build.lists = malloc(list_bytes(level->degree) * build.n);
	build.drawn = malloc((size_t) build.n * 4 * DRAWN * sizeof(uint32_t));
	if (build.lists != NULL && build.drawn != NULL)
	{
		if (find_neighbours(&build) && for_each_block(&build, prune) && reverse_edges(&build))
			result = GENIE_PROXIMITY_BUILT;
		else if (!build.failed)
			result = GENIE_PROXIMITY_STOPPED;
	}
	free(build.lists);
	free(build.drawn);
	return result;
}

void
genie_proximity_name_edges(const GenieProximityLevel *level, const GenieProximityGraph *graph)
{
	for (uint32_t index = 0; index < level->n && level->members != NULL; index++)
	{
		uint32_t   *edges = (uint32_t *) genie_proximity_edges(graph, level->level, level->members[index]);

		for (uint32_t e = 0; e < level->degree && edges[e] != GENIE_PROXIMITY_NONE; e++)
			edges[e] = level->members[edges[e]];
	}
}

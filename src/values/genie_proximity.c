/*
 * genie_proximity.c
 *	  The search in a proximity graph (genie_proximity.h), by one thread.
 *
 * The queue is an array that is sorted by rank: an object's key, its number, and whether the search went on from it, as
 * one whole number.  An insertion moves what is behind; queues are short, so this is faster than a heap, and the end
 * of the queue, which decides what is inserted, is at hand.  What is seen is in a hash table with open addressing.
 * (SONG keeps the table small by deleting what leaves the queue; here it stays in the cache as it is, and no object's
 * key is computed twice.)
 *
 * Records lie anywhere in memory, so all that an object's edges lead to are fetched before the first of their keys is
 * computed, and so are the edges of the next object.
 *
 * The best k are kept beside the queue where live objects are told from dead ones, for the queue may have these.
 */
#include <stdlib.h>
#include <string.h>

#include "genie_proximity.h"
#include "genie_value_record.h"

#define GONE_ON UINT64_C(1)		/* in a rank: the search went on from it */
#define OBJECT_SHIFT 1
#define KEY_SHIFT 33
#define TABLE_FIRST 4096		/* places of the table, at first */
#define UPPER_QUEUE 32			/* of the levels above the last one */
#define HASH_FACTOR UINT32_C(2654435769)	/* 2^32 times the golden ratio's fraction */

/* The best so many of what was offered, in order. */
typedef struct Best
{
	uint32_t	n;
	uint32_t	capacity;
	uint64_t   *ranks;
} Best;

typedef struct Search
{
	const GenieProximityGraph *graph;
	const GenieQuantizedVectors *vectors;
	const GenieValueQuery *query;
	const uint64_t *live;
	uint32_t	without;		/* an object that is as if it were not there; NONE: none is */
	size_t		n_bytes;		/* of a record */
	Best		queue;
	Best		best;			/* of live objects, in the last level; not used where live is NULL */
	uint32_t	level;
	uint32_t   *seen;			/* objects, GENIE_PROXIMITY_NONE where there is none */
	uint32_t	n_places;		/* a power of 2 */
	uint64_t	n_seen;
} Search;

static inline uint64_t
rank_of(uint32_t key, uint32_t object)
{
	return (uint64_t) key << KEY_SHIFT | (uint64_t) (UINT32_MAX - object) << OBJECT_SHIFT;
}

static inline uint32_t
object_of(uint64_t rank)
{
	return UINT32_MAX - (uint32_t) (rank >> OBJECT_SHIFT);
}

/* Where it is then; capacity: it is not among the best. */
static inline uint32_t
insert(Best *best, uint64_t rank)
{
	uint32_t	at = best->n;

	if (best->n == best->capacity)
	{
		if (rank < best->ranks[best->n - 1])
			return best->capacity;
		at = best->n - 1;
	}
	else
		best->n++;
	while (at > 0 && best->ranks[at - 1] < rank)
		at--;
	memmove(best->ranks + at + 1, best->ranks + at, (best->n - 1 - at) * sizeof(uint64_t));
	best->ranks[at] = rank;
	return at;
}

/* ---- what is seen ---- */

static bool
add_seen(Search *search, uint32_t object)
{
	uint32_t	at = (object * HASH_FACTOR) >> 7 & (search->n_places - 1);

	while (search->seen[at] != GENIE_PROXIMITY_NONE)
	{
		if (search->seen[at] == object)
			return false;
		at = (at + 1) & (search->n_places - 1);
	}
	search->seen[at] = object;
	search->n_seen++;
	return true;
}

/* Makes the table so large that it is at most half full with n more.  False: there is no memory. */
static bool
make_room(Search *search, uint32_t n)
{
	uint32_t   *before = search->seen;
	uint32_t	n_before = search->n_places;

	if (before != NULL && (search->n_seen + n) * 2 <= n_before)
		return true;
	search->n_places = before == NULL ? TABLE_FIRST : 2 * n_before;
	while ((search->n_seen + n) * 2 > search->n_places)
		search->n_places *= 2;
	if ((search->seen = malloc((size_t) search->n_places * sizeof(uint32_t))) == NULL)
	{
		search->seen = before;
		return false;
	}
	memset(search->seen, 0xFF, (size_t) search->n_places * sizeof(uint32_t));
	search->n_seen = 0;
	for (uint32_t i = 0; i < n_before && before != NULL; i++)
		if (before[i] != GENIE_PROXIMITY_NONE)
			(void) add_seen(search, before[i]);
	free(before);
	return true;
}

/* ---- objects ---- */

static inline const void *
record_of(const Search *search, uint32_t object)
{
	return genie_vectors_record(search->vectors, search->n_bytes, object);
}

static inline bool
is_live(const Search *search, uint32_t object)
{
	return (search->live[object / 64] >> object % 64 & 1) != 0;
}

/* Sees up to GENIE_PROXIMITY_DEGREE_MAX objects, those that are not seen yet.  Returns the first place in the queue. */
static uint32_t
see(Search *search, const uint32_t *objects, uint32_t n)
{
	const void *places[GENIE_PROXIMITY_DEGREE_MAX];
	uint32_t	fresh[GENIE_PROXIMITY_DEGREE_MAX];
	uint32_t	keys[GENIE_PROXIMITY_DEGREE_MAX];
	uint32_t	n_fresh = 0;
	uint32_t	first = search->queue.capacity;

	for (uint32_t i = 0; i < n && objects[i] != GENIE_PROXIMITY_NONE; i++)
	{
		/* a graph comes from shared memory */
		if (objects[i] >= search->graph->n_objects || !add_seen(search, objects[i]))
			continue;
		places[n_fresh] = record_of(search, objects[i]);
		genie_vectors_fetch(places[n_fresh], search->n_bytes);
		fresh[n_fresh++] = objects[i];
	}
	if (n_fresh == 0)
		return first;
	genie_value_keys_at(search->query, places, n_fresh, keys);
	for (uint32_t i = 0; i < n_fresh; i++)
	{
		uint64_t	rank = rank_of(keys[i], fresh[i]);
		uint32_t	at = insert(&search->queue, rank);

		first = at < first ? at : first;
		if (search->best.capacity > 0 && is_live(search, fresh[i]))
			(void) insert(&search->best, rank);
	}
	return first;
}

/* ---- the search ---- */

/* Sees all entries of which something is known. */
static bool
see_entries(Search *search)
{
	const GenieProximityHead *head = search->graph->head;
	const uint32_t *entries = genie_proximity_entries(head);

	if (!make_room(search, 1))
		return false;
	if (search->without != GENIE_PROXIMITY_NONE)
		(void) add_seen(search, search->without);
	for (uint32_t i = 0; i < head->n_entries; i += GENIE_PROXIMITY_DEGREE_MAX)
	{
		uint32_t	n = head->n_entries - i;

		n = n < GENIE_PROXIMITY_DEGREE_MAX ? n : GENIE_PROXIMITY_DEGREE_MAX;
		if (!make_room(search, n))
			return false;
		(void) see(search, entries + i, n);
	}
	return true;
}

/* Begins a level with what the one above has given: nothing of it is seen in this one yet. */
static bool
begin_level(Search *search, uint32_t level)
{
	Best	   *queue = &search->queue;

	search->level = level;
	if (search->seen != NULL)
		memset(search->seen, 0xFF, (size_t) search->n_places * sizeof(uint32_t));
	search->n_seen = 0;
	if (!make_room(search, queue->n + 1))
		return false;
	if (search->without != GENIE_PROXIMITY_NONE)
		(void) add_seen(search, search->without);
	for (uint32_t i = 0; i < queue->n; i++)
	{
		queue->ranks[i] &= ~GONE_ON;
		(void) add_seen(search, object_of(queue->ranks[i]));
	}
	return true;
}

/* Goes on from the best object that it has not gone on from, until there is none. */
static bool
go_on(Search *search)
{
	const GenieProximityGraph *graph = search->graph;
	Best	   *queue = &search->queue;

	for (uint32_t at = 0; at < queue->n;)
	{
		uint32_t	object;
		uint32_t	first;

		if ((queue->ranks[at] & GONE_ON) != 0)
		{
			at++;
			continue;
		}
		queue->ranks[at] |= GONE_ON;
		object = object_of(queue->ranks[at]);
		for (uint32_t next = at + 1; next < queue->n; next++)
			if ((queue->ranks[next] & GONE_ON) == 0)
			{
				genie_vectors_fetch(genie_proximity_edges(graph, search->level, object_of(queue->ranks[next])),
									graph->head->degree * sizeof(uint32_t));
				break;
			}
		if (!make_room(search, graph->head->degree))
			return false;
		first = see(search, genie_proximity_edges(graph, search->level, object), graph->head->degree);
		at = first <= at ? first : at + 1;
	}
	return true;
}

/*
 * From the entries down to a level.  Half the queue, or a short one, finds where the next level begins.  False: there
 * is no memory.
 */
static bool
run(Search *search, uint32_t queue, uint32_t best, uint32_t to_level)
{
	uint64_t	n_seen;

	search->queue.capacity = queue > 2 * UPPER_QUEUE ? queue / 2 : queue < UPPER_QUEUE ? queue : UPPER_QUEUE;
	if (!see_entries(search))
		return false;
	n_seen = search->n_seen;
	for (uint32_t level = search->graph->head->n_levels; level-- > to_level;)
	{
		if (!begin_level(search, level))
			return false;
		if (level == to_level)
		{
			search->queue.capacity = queue;
			search->best.capacity = best;
			for (uint32_t i = 0; i < search->queue.n && best > 0; i++)
				if (is_live(search, object_of(search->queue.ranks[i])))
					(void) insert(&search->best, search->queue.ranks[i]);
		}
		if (!go_on(search))
			return false;
		n_seen += search->n_seen;
	}
	search->n_seen = n_seen;
	return true;
}

/* Adds the objects of which nothing is known. */
static void
add_unknown(Search *search, Best *best)
{
	const GenieProximityHead *head = search->graph->head;
	const uint32_t *unknown = genie_proximity_unknown(head);

	for (uint32_t i = 0; i < head->n_unknown; i++)
	{
		uint32_t	key;
		const void *record;

		if (unknown[i] >= search->graph->n_objects || (search->live != NULL && !is_live(search, unknown[i])))
			continue;
		record = record_of(search, unknown[i]);
		genie_value_keys_at(search->query, &record, 1, &key);
		(void) insert(best, rank_of(key, unknown[i]));
	}
}

/* Writes the best k; returns how many there are. */
static uint32_t
give(const Best *best, uint32_t k, uint32_t min_key, GenieHit *hits)
{
	uint32_t	n = 0;

	for (; n < best->n && n < k; n++)
	{
		hits[n] = (GenieHit) {.key = (uint32_t) (best->ranks[n] >> KEY_SHIFT), .object = object_of(best->ranks[n])};
		if (hits[n].key < min_key)
			break;
	}
	return n;
}

int64_t
genie_proximity_search(const GenieProximityGraph *graph, const GenieQuantizedVectors *vectors,
					   const GenieValueQuery *query, const uint64_t *live, uint32_t k, uint32_t min_key,
					   uint32_t queue, GenieHit *hits, uint64_t *n_seen)
{
	Search		search = {.graph = graph, .vectors = vectors, .query = query, .live = live,
		.without = GENIE_PROXIMITY_NONE};
	uint32_t	longer = queue < k ? k : queue;
	uint64_t   *ranks = malloc(((size_t) longer + k + 2) * sizeof(uint64_t));
	int64_t		n = -1;

	if (ranks == NULL)
		return -1;
	search.n_bytes = genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	search.queue.ranks = ranks;
	search.best.ranks = ranks + longer + 1;
	if (run(&search, longer, live != NULL ? k : 0, 0))
	{
		Best	   *best = live != NULL ? &search.best : &search.queue;

		add_unknown(&search, best);
		n = give(best, k, min_key, hits);
	}
	*n_seen = search.n_seen;
	free(search.seen);
	free(ranks);
	return n;
}

int64_t
genie_proximity_search_level(const GenieProximityGraph *graph, const GenieQuantizedVectors *vectors,
							 const GenieValueQuery *query, uint32_t level, uint32_t without, uint32_t queue,
							 GenieHit *hits)
{
	Search		search = {.graph = graph, .vectors = vectors, .query = query, .without = without};
	int64_t		n = -1;

	if ((search.queue.ranks = malloc(((size_t) queue + 1) * sizeof(uint64_t))) == NULL)
		return -1;
	search.n_bytes = genie_value_record_bytes(vectors->metric, vectors->n_dimensions);
	if (run(&search, queue, 0, level))
		n = give(&search.queue, queue, 1, hits);
	free(search.seen);
	free(search.queue.ranks);
	return n;
}

/*
 * genie_batch_edges.c
 *	  Exact counts of conjunctions over bins (genie_batch_edges.h).
 *
 * An object that may match a conjunction and is not sure to lies, in some slot, in a bin that the query cuts.  So it is
 * an answer to an *edge* query (genie_bins_edge()), of which there is one for each slot that is cut.  Engines give all
 * answers to these, as the best k, page by page.  Counts of what is sure to match need no masks then, which take longer
 * than all else, unless answers are many: a page counts the whole segment.
 *
 * A query's answers are told by their scalars.  Each lies in a page of its own, nearly.  So those of many queries are
 * sorted by object first, and a page is copied once for all of them; of few queries the scalars alone are copied.  What
 * they do not tell is looked up.
 *
 *	1. Edge queries are made of those queries that are counted so, and compiled against each segment.
 *	2. For some queries at a time, so that their answers are bounded: pages of answers are asked for until there are no
 *	   more; each is a key, (object, query).  An object of two edges comes twice: a query's edges are taken together.
 *	3. Keys are sorted, and told.
 *	4. The operator judges the rows of those that are not told (genie_matches_judge_objects()).
 */
#include "postgres.h"

#include "genie_batch_edges.h"
#include "genie_query_set.h"
#include "genie_radix.h"
#include "genie_scalars.h"
#include "genie_values.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define GENIE_EDGE_HITS (1 << 21)	/* answers to queries that are taken at a time, unless it is one */
#define GENIE_EDGE_HITS_QUERY (4 * GENIE_JOB_K_MAX) /* more are not asked for: masks are faster */
#define GENIE_EDGE_INTERVALS 1024	/* of a query's edge queries, at most */
#define GENIE_EDGE_INTERRUPT 64 /* answers between two looks at whether the call was cancelled */
#define GENIE_EDGE_QUERY_BITS 12	/* of a key */
#define GENIE_EDGE_SPARSE	2	/* fewer answers a page are read one by one */

StaticAssertDecl(GENIE_PIECE_QUERIES <= 1 << GENIE_EDGE_QUERY_BITS, "a key has room for the query's number");

/* An edge query. */
typedef struct GenieEdge
{
	uint32		query;
	int32		min_match;
} GenieEdge;

typedef struct GenieEdges
{
	GenieMatches *matches;
	const uint64 *most;
	uint64	   *numbers;
	const GenieScalarQuery **scalars;	/* of each query; NULL: it is not counted here */
	GenieQuerySet *set;
	GenieEdge  *edges;			/* ascending by query */
	uint32		n_edges;
	uint32		capacity;

	/* of one segment */
	uint32		source;
	GenieSegmentQuery **searches;
	uint64	   *keys;
	Size		n_keys;
	Size		keys_capacity;
} GenieEdges;

/* ---- edge queries ---- */

/* Have all segments scalars?  The class is genie_tuple_ops then, if there is a segment. */
static bool
genie_batch_edges_have_scalars(const GenieBatch *batch)
{
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		uint32		n = genie_values_scalars(batch->sources[s]->segment);

		if (n == 0 || n > GENIE_SCALARS_MAX || n != genie_bins_slots(batch->parameters))
			return false;
	}
	return batch->n_sources > 0;
}

/* Makes the edge queries of query i, of these slots. */
static void
genie_batch_edges_add(GenieEdges *edges, uint32 i, const GenieQuery *query, const uint32 *slots, uint32 n_slots)
{
	for (uint32 j = 0; j < n_slots; j++)
	{
		const GenieQuery *edge = genie_bins_edge(edges->matches->batch.parameters, query, slots[j]);

		if (edge == NULL)
			continue;
		if (edges->n_edges == edges->capacity)
		{
			edges->capacity *= 2;
			edges->edges = repalloc_huge(edges->edges, edges->capacity * sizeof(GenieEdge));
		}
		genie_query_set_add(edges->set, edge->body, VARSIZE(edge) - offsetof(GenieQuery, body), edge->n);
		edges->edges[edges->n_edges++] = (GenieEdge) {i, query->min_match};
	}
}

/* Makes the edge queries of query i, if it is counted here. */
static void
genie_batch_edges_take_query(GenieEdges *edges, uint32 i)
{
	const GenieBatch *batch = &edges->matches->batch;
	const GenieQuery *query = DatumGetGenieQuery(batch->queries[i]);
	const GenieScalarQuery *scalars = genie_scalars_query(batch->parameters, query);
	uint32		slots[GENIE_SCALARS_MAX];
	uint32		n_slots = genie_scalars_slots(scalars, slots);

	if (!genie_scalars_is_conjunction(scalars) || edges->most[i] * n_slots > GENIE_EDGE_HITS_QUERY ||
		(uint64) query->n * n_slots > GENIE_EDGE_INTERVALS)
		return;
	edges->scalars[i] = scalars;
	edges->matches->queries[i].is_done = true;
	if (edges->most[i] > 0)
		genie_batch_edges_add(edges, i, query, slots, n_slots);
}

static void
genie_batch_edges_make(GenieEdges *edges)
{
	const GenieBatch *batch = &edges->matches->batch;

	edges->scalars = palloc0(batch->n * sizeof(GenieScalarQuery *));
	edges->capacity = 1024;
	edges->edges = palloc(edges->capacity * sizeof(GenieEdge));
	edges->set = genie_query_set_begin();
	for (uint32 i = 0; i < batch->n; i++)
	{
		const GenieMatchesQuery *query = &edges->matches->queries[i];

		CHECK_FOR_INTERRUPTS();
		if (!query->is_scan && query->min_match > 0)
			genie_batch_edges_take_query(edges, i);
	}
	genie_query_set_end(edges->set);
}

/* ---- answers ---- */

/* Takes a page's hits that count. */
static void
genie_batch_edges_take(GenieEdges *edges, uint32 query, const GenieHit *hits, uint32 n)
{
	const uint64 *counted = edges->matches->sources[edges->source].counted;

	while (edges->n_keys + n > edges->keys_capacity)
	{
		edges->keys_capacity *= 2;
		edges->keys = repalloc_huge(edges->keys, edges->keys_capacity * sizeof(uint64));
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint32		object = hits[i].object;

		if (counted == NULL || (counted[object / 64] >> (object % 64) & 1) != 0)
			edges->keys[edges->n_keys++] = (uint64) object << GENIE_EDGE_QUERY_BITS | query;
	}
}

/* Takes all answers to edge queries from first to end - 1.  False: stale. */
static bool
genie_batch_edges_ask(GenieEdges *edges, uint32 first, uint32 end)
{
	GenieSource *source = edges->matches->batch.sources[edges->source];
	GenieSegmentTop *tops = palloc0((end - first) * sizeof(GenieSegmentTop));
	uint32	   *queries = palloc((end - first) * sizeof(uint32));
	uint32		n = 0;

	for (uint32 i = first; i < end; i++)
		if (genie_segment_query_matches(edges->searches[i]) &&
			genie_segment_query_max_count(edges->searches[i]) >= (uint32) edges->edges[i].min_match)
		{
			queries[n] = edges->edges[i].query;
			tops[n++] = (GenieSegmentTop) {
				.source = source, .query = edges->searches[i], .min_key = (uint32) edges->edges[i].min_match,
				.k = (uint32) Min(edges->most[edges->edges[i].query], GENIE_JOB_K_MAX)
			};
		}
	while (n > 0)
	{
		uint32		n_left = 0;

		CHECK_FOR_INTERRUPTS();
		if (!genie_segment_query_tops(tops, n))
			return false;
		for (uint32 i = 0; i < n; i++)
		{
			genie_batch_edges_take(edges, queries[i], tops[i].hits, tops[i].n_hits);
			if (tops[i].n_hits < tops[i].k)
				continue;
			tops[n_left] = tops[i];
			tops[n_left].has_after = true;
			tops[n_left].after = tops[i].hits[tops[i].n_hits - 1];
			tops[n_left].hits = NULL;
			queries[n_left++] = queries[i];
		}
		n = n_left;
	}
	return true;
}

/*
 * Counts what scalars tell of n keys in ascending order.  The others go to left, (query, object); *n_left: how many.
 * False: stale.
 */
static bool
genie_batch_edges_tell(GenieEdges *edges, const uint64 *keys, uint32 n, uint64 *left, uint32 *n_left)
{
	GenieSegment *segment = edges->matches->batch.sources[edges->source]->segment;
	Size		bytes = genie_value_scalars_bytes(genie_values_scalars(segment));
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	uint32	   *record = palloc(bytes);

	*n_left = 0;
	genie_section_reader(reader, segment, GENIE_SECTION_VALUES);
	reader->apart = n * (uint64) GENIE_PAGE_PAYLOAD < segment->header.n_objects * (uint64) bytes * GENIE_EDGE_SPARSE;
	for (uint32 i = 0; i < n; i++)
	{
		uint64		key = keys[i];
		uint64		object = key >> GENIE_EDGE_QUERY_BITS;
		uint32		query = key % (1 << GENIE_EDGE_QUERY_BITS);
		GenieScalarVerdict verdict;

		if (i % GENIE_EDGE_INTERRUPT == 0)
			CHECK_FOR_INTERRUPTS();
		if (i > 0 && keys[i - 1] == key)
			continue;			/* of another edge */
		if (!genie_section_read(reader, object * bytes, bytes, record))
			return false;
		verdict = genie_scalars_judge(edges->scalars[query], record);
		edges->numbers[query] += verdict == GENIE_SCALARS_MATCH;
		if (verdict == GENIE_SCALARS_UNSURE)
			left[(*n_left)++] = (uint64) query << 32 | object;
	}
	pfree(record);
	pfree(reader);
	return true;
}

/* Counts those of n keys, (query, object), ascending, whose rows the operator says match.  False: stale. */
static bool
genie_batch_edges_judge(GenieEdges *edges, const uint64 *keys, uint32 n)
{
	uint32	   *objects = palloc(n * sizeof(uint32));
	bool		ok = true;

	for (uint32 first = 0, end; ok && first < n; first = end)
	{
		uint32		query = (uint32) (keys[first] >> 32);

		for (end = first; end < n && keys[end] >> 32 == query; end++)
			objects[end - first] = (uint32) keys[end];
		ok = genie_matches_judge_objects(edges->matches, query, edges->source, objects, end - first,
										 &edges->numbers[query]);
	}
	pfree(objects);
	return ok;
}

/* Edge queries from first to end - 1 on the segment.  False: stale. */
static bool
genie_batch_edges_count_some(GenieEdges *edges, uint32 first, uint32 end)
{
	uint64	   *scratch;
	uint64	   *keys;
	uint64	   *left;
	uint32		n;
	uint32		n_left;

	edges->n_keys = 0;
	edges->keys_capacity = 1024;
	edges->keys = palloc(edges->keys_capacity * sizeof(uint64));
	if (!genie_batch_edges_ask(edges, first, end))
		return false;
	n = (uint32) edges->n_keys;
	scratch = palloc_extended((n + (Size) 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	keys = genie_radix_sort(edges->keys, scratch, n, 0);
	left = keys == scratch ? edges->keys : scratch;
	if (!genie_batch_edges_tell(edges, keys, n, left, &n_left))
		return false;
	keys = genie_radix_sort(left, left == scratch ? edges->keys : scratch, n_left, 0);
	return n_left == 0 || genie_batch_edges_judge(edges, keys, n_left);
}

/* The end of some queries' edges from first on, all of each query's. */
static uint32
genie_batch_edges_end(const GenieEdges *edges, uint32 first)
{
	uint32		end = first;
	uint64		hits = 0;

	while (end < edges->n_edges &&
		   (hits < GENIE_EDGE_HITS || edges->edges[end].query == edges->edges[end - 1].query))
		hits += edges->most[edges->edges[end++].query];
	return end;
}

/* All edge queries on the segment.  False: stale. */
static bool
genie_batch_edges_count_segment(GenieEdges *edges)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie edges", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = CurrentMemoryContext;
	bool		ok = true;

	edges->searches = palloc_extended(edges->n_edges * sizeof(GenieSegmentQuery *), MCXT_ALLOC_HUGE);
	if (!genie_segment_query_open_set(edges->matches->batch.sources[edges->source], edges->set, edges->searches))
		return false;
	MemoryContextSwitchTo(context);
	for (uint32 first = 0, end; ok && first < edges->n_edges; first = end)
	{
		end = genie_batch_edges_end(edges, first);
		ok = genie_batch_edges_count_some(edges, first, end);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

bool
genie_batch_edges_count(GenieMatches *matches, const uint64 *most, uint64 *numbers)
{
	GenieEdges	edges = {.matches = matches, .most = most, .numbers = numbers};

	if (!genie_batch_edges_have_scalars(&matches->batch))
		return true;
	genie_batch_edges_make(&edges);
	for (; edges.source < matches->batch.n_sources && edges.n_edges > 0; edges.source++)
		if (!genie_batch_edges_count_segment(&edges))
			return false;
	return true;
}

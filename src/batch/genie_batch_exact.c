/*
 * genie_batch_exact.c
 *	  Ranking by values for many queries: the k nearest rows for each of them, or those within a radius, exactly.
 *
 * It is genie_search() by an index of an exact operator class, which returns for each query what SELECT ... ORDER BY x
 * <-> query LIMIT k returns, and genie_exact_knn() where an index has values of its metric.  And it is genie_search()
 * by an index of an approximate class that has graphs: then the first hits are what searches of graphs find, and there
 * are no more.
 *
 *	1. first	The best hits of each query in each segment are asked for together, by the keys of lower bounds
 *				(genie_value_scan.h): k, and some more.
 *	2. measure	The first k of each query are visited, each row once for all queries that take it.  Then those of the
 *				others that may come before the k-th: by their bounds, or by TID where the bound is its distance.
 *	3. pending	The pending list is read once.  A row's value is made as a merge will do it.  It is visited for
 *				those queries before whose k-th row it may come.
 *	4. more		A query is done when in no segment the last hit may come before its k-th row.  Others ask for
 *				GENIE_EXACT_GROWTH times as many hits behind their last ones, and all of these that may are visited.
 *
 * A query that has fewer than k rows, or that still wants more behind GENIE_JOB_K_MAX hits, becomes an index scan of
 * its own (genie_batch_scans.c), which also gives the rows that are NULL.  genie_exact_knn() wants none of these:
 * only the latter query is left to it, and all where segments have no such values.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "genie_batch_nearest.h"
#include "genie_object_table.h"
#include "genie_pending.h"
#include "genie_radix.h"
#include "genie_segment_query.h"
#include "genie_value_order.h"
#include "genie_vector_value.h"

#define GENIE_EXACT_MORE 16		/* hits beside k that are asked for at first */
#define GENIE_EXACT_GROWTH 8	/* times as many are asked for the next time */

/* A query's hits in a source. */
typedef struct GenieExactList
{
	uint32		query;
	GenieSource *source;
	GenieObjectReader *objects;
	GenieSegmentTop top;
	uint64	   *tids;			/* of the hits */
} GenieExactList;

typedef struct GenieExactPiece
{
	GenieNearestSearch *search;
	GenieValueShape shape;		/* of the values that are asked for */
	GenieValueQuery **queries;
	GenieExactList *lists;		/* those that may have hits still, source by source */
	uint32		n_lists;
	uint32		ask;			/* hits of a list */
	GenieGraphSearch graph;		/* by which they are found; queue 0: by a scan */
	GenieNearestPairs pairs;
} GenieExactPiece;

/* ---- preparing ---- */

/* Prepares the piece's queries; *metric is the operator's, or the search's own. */
static void
genie_exact_take_queries(GenieExactPiece *piece, GenieMetric *metric)
{
	GenieBatch *batch = &piece->search->batch;
	const GenieVectorType *type = batch->vectors;

	*metric = piece->search->call.metric != 0 ? piece->search->call.metric :
		genie_value_order_metric(type->metric(&piece->search->distance, batch->strategy), batch->parameters);
	if (piece->search->call.metric != 0)
		type = piece->search->type;
	if (*metric == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("index \"%s\" cannot be searched by its operator", RelationGetRelationName(batch->index)),
				 errdetail("Its operator class is exact: genie must know the operator's arithmetic.")));
	piece->shape = genie_value_order_shape(*metric, batch->parameters);
	piece->queries = palloc(batch->n * sizeof(GenieValueQuery *));
	for (uint32 i = 0; i < batch->n; i++)
	{
		piece->queries[i] = genie_value_order_query(type, batch->index, batch->parameters, piece->shape,
													batch->queries[i]);
		/* all rows within a radius are just that */
		if (piece->search->radii != NULL)
			piece->queries[i]->epsilon = (float) genie_rabitq_all(piece->queries[i]->n_dimensions);
	}
}

/* Can genie_exact_knn() ask all segments for the piece's queries? */
static bool
genie_exact_is_possible(const GenieExactPiece *piece)
{
	const GenieBatch *batch = &piece->search->batch;

	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		const GenieSegment *segment = batch->sources[s]->segment;
		GenieValueShape shape = genie_values_shape(segment);

		if (shape.metric == 0 ? genie_values_missing(segment) :
			shape.metric != piece->search->call.metric || !genie_vector_value_fits(shape, piece->queries[0]))
			return false;
	}
	return true;
}

/* A list of each query in each segment that has values.  False: stale. */
static bool
genie_exact_begin_lists(GenieExactPiece *piece)
{
	GenieBatch *batch = &piece->search->batch;

	piece->lists = palloc_extended(((Size) batch->n * batch->n_sources + 1) * sizeof(GenieExactList),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 s = 0; s < batch->n_sources; s++)
	{
		GenieSource *source = batch->sources[s];
		GenieObjectReader *objects;

		if (genie_values_shape(source->segment).metric == 0)
			continue;
		if (!genie_value_order_find(source, batch->index, batch->meta, piece->queries, batch->n))
			return false;
		objects = palloc(sizeof(GenieObjectReader));
		genie_object_table_reader(objects, source->segment, true);
		for (uint32 i = 0; i < batch->n; i++)
			piece->lists[piece->n_lists++] = (GenieExactList) {.query = i, .source = source, .objects = objects};
	}
	return true;
}

/* ---- hits ---- */

/* Do the list's hits come from a search of a graph?  Then the first ones are all. */
static bool
genie_exact_by_graph(const GenieExactPiece *piece, const GenieExactList *list)
{
	return piece->graph.queue > 0 && list->source->graph_why == GENIE_FALLBACK_NONE;
}

/* Asks for the next hits of all lists.  False: stale. */
static bool
genie_exact_ask(GenieExactPiece *piece)
{
	GenieSegmentTop *tops = palloc_extended((piece->n_lists + 1) * sizeof(GenieSegmentTop),
											MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	bool		ok;

	for (uint32 l = 0; l < piece->n_lists; l++)
	{
		GenieExactList *list = &piece->lists[l];

		tops[l].source = list->source;
		tops[l].values = piece->queries[list->query];
		tops[l].k = piece->ask;
		if (genie_exact_by_graph(piece, list))
			tops[l].k = genie_quantizer_graph_hits(&piece->graph, list->source);
		tops[l].graph_queue = piece->graph.queue;
		if (piece->search->radii != NULL)
			tops[l].min_key = genie_value_key(genie_nearest_radius(piece->search, list->query));
		tops[l].has_after = list->top.n_hits > 0;
		if (tops[l].has_after)
			tops[l].after = list->top.hits[list->top.n_hits - 1];
		tops[l].hits = palloc_extended(tops[l].k * sizeof(GenieHit), MCXT_ALLOC_HUGE);
	}
	ok = genie_segment_query_tops(tops, piece->n_lists);
	for (uint32 l = 0; l < piece->n_lists; l++)
	{
		piece->lists[l].top = tops[l];
		genie_instrument_candidates(piece->search->batch.round.visitor.instrument, tops[l].n_hits);
	}
	pfree(tops);
	return ok;
}

/* Reads the TIDs of the hits of lists first .. end, which are of one source.  False: stale. */
static bool
genie_exact_place_source(GenieExactPiece *piece, uint32 first, uint32 end)
{
	Size		n = 0;
	uint32		n_objects = 0;
	uint64	   *keys;
	uint64	   *scratch;
	uint64	   *order;
	uint64	  **to;
	uint32	   *objects;
	uint64	   *tids;
	bool		ok;

	for (uint32 l = first; l < end; l++)
		n += piece->lists[l].top.n_hits;
	keys = palloc_extended((n + 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	scratch = palloc_extended((n + 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	to = palloc_extended((n + 1) * sizeof(uint64 *), MCXT_ALLOC_HUGE);
	objects = palloc_extended((n + 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	tids = palloc_extended((n + 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	n = 0;
	for (uint32 l = first; l < end; l++)
	{
		GenieExactList *list = &piece->lists[l];

		list->tids = palloc_extended((list->top.n_hits + 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
		for (uint32 i = 0; i < list->top.n_hits; i++)
		{
			keys[n] = (uint64) list->top.hits[i].object << 32 | n;
			to[n++] = &list->tids[i];
		}
	}
	order = genie_radix_sort(keys, scratch, (uint32) n, 32);
	for (Size i = 0; i < n; i++)
		if (i == 0 || order[i] >> 32 != objects[n_objects - 1])
			objects[n_objects++] = (uint32) (order[i] >> 32);
	ok = genie_object_table_tids(piece->lists[first].objects, objects, n_objects, tids);
	n_objects = 0;
	for (Size i = 0; ok && i < n; i++)
	{
		if (objects[n_objects] != order[i] >> 32)
			n_objects++;
		*to[(uint32) order[i]] = tids[n_objects];
	}
	pfree(keys);
	pfree(scratch);
	pfree(to);
	pfree(objects);
	pfree(tids);
	return ok;
}

/* The same of all lists. */
static bool
genie_exact_place(GenieExactPiece *piece)
{
	uint32		end;

	for (uint32 first = 0; first < piece->n_lists; first = end)
	{
		for (end = first + 1; end < piece->n_lists && piece->lists[end].source == piece->lists[first].source;)
			end++;
		CHECK_FOR_INTERRUPTS();
		if (!genie_exact_place_source(piece, first, end))
			return false;
	}
	return true;
}

/* ---- measuring ---- */

static void
genie_exact_pair(GenieExactPiece *piece, uint32 query, uint64 tid)
{
	GenieNearestPairs *pairs = &piece->pairs;

	pairs->pairs[pairs->n++] = (GenieNearestPair) {tid, query};
	if (pairs->n == GENIE_NEAREST_PAIRS)
		genie_nearest_visit_pairs(pairs);
}

/* May a row of that key be among the query's k nearest?  Rows of one distance come by TID. */
static bool
genie_exact_is_wanted(const GenieExactPiece *piece, uint32 query, uint32 key, uint64 tid)
{
	return genie_nearest_is_wanted(piece->search, query, genie_value_key_bound(key), tid);
}

static bool
genie_exact_wants_hit(const GenieExactPiece *piece, const GenieExactList *list, uint32 i)
{
	return genie_exact_is_wanted(piece, list->query, list->top.hits[i].key, list->tids[i]);
}

/* Visits the hits from each list's first_hit on that may come before the k-th row. */
static void
genie_exact_measure(GenieExactPiece *piece, const uint32 *first_hit)
{
	for (uint32 l = 0; l < piece->n_lists; l++)
	{
		const GenieExactList *list = &piece->lists[l];

		for (uint32 i = first_hit == NULL ? 0 : first_hit[l];
			 i < list->top.n_hits && genie_exact_wants_hit(piece, list, i); i++)
			genie_exact_pair(piece, list->query, list->tids[i]);
	}
	genie_nearest_visit_pairs(&piece->pairs);
}

/* Comes hit i of a list before hit j of another? */
static bool
genie_exact_is_before(const GenieExactPiece *piece, uint32 list, uint32 i, uint32 other, uint32 j)
{
	const GenieExactList *a = &piece->lists[list];
	const GenieExactList *b = &piece->lists[other];

	if (a->top.hits[i].key != b->top.hits[j].key)
		return a->top.hits[i].key > b->top.hits[j].key;
	return a->tids[i] < b->tids[j];
}

/* Visits each query's best k hits, of all of its lists together; first_hit becomes the next one of each list. */
static void
genie_exact_measure_first(GenieExactPiece *piece, uint32 *first_hit)
{
	const GenieBatch *batch = &piece->search->batch;
	uint32		n_sources = batch->n == 0 ? 0 : piece->n_lists / batch->n;

	for (uint32 i = 0; i < batch->n; i++)
		for (uint32 n = 0; n < piece->search->k; n++)
		{
			uint32		best = PG_UINT32_MAX;

			for (uint32 s = 0; s < n_sources; s++)
			{
				uint32		l = s * batch->n + i;

				if (first_hit[l] < piece->lists[l].top.n_hits &&
					(best == PG_UINT32_MAX || genie_exact_is_before(piece, l, first_hit[l], best, first_hit[best])))
					best = l;
			}
			if (best == PG_UINT32_MAX)
				break;
			genie_exact_pair(piece, i, piece->lists[best].tids[first_hit[best]++]);
		}
	genie_nearest_visit_pairs(&piece->pairs);
}

/*
 * What the value of a pending row will be like, or would be if the index had learned.  Vectors of another length than
 * the queries' have values, too, which fit none of these.
 */
static GenieValueShape
genie_exact_pending_shape(const GenieExactPiece *piece, GenieMetric metric, const GenieRaw *raw)
{
	uint32		of_query = piece->queries[0]->n_dimensions;

	if (metric == GENIE_METRIC_PIVOTS || metric == GENIE_METRIC_EDIT)
		return piece->shape.n_dimensions == of_query ? piece->shape :
			(GenieValueShape) {.metric = metric, .n_dimensions = of_query};
	return raw->size == (int32) genie_value_shape_elements(piece->shape) ? piece->shape :
		(GenieValueShape) {.metric = metric, .n_dimensions = (uint32) raw->size};
}

/* Visits pending rows.  False: stale. */
static bool
genie_exact_measure_pending(GenieExactPiece *piece, GenieMetric metric)
{
	GenieBatch *batch = &piece->search->batch;
	GeniePendingScan *scan = genie_pending_scan_begin(batch->index, batch->meta);
	GeniePendingRow row;
	GenieValueShape shape = {.metric = metric};
	void	   *record = NULL;
	bool		stale;

	batch->instrument.record->n_pending = 0;
	while (genie_pending_next_row(scan, &row))
	{
		GenieRaw	raw = {.bytes = row.packed, .n = row.n, .size = row.size};
		GenieValueShape of_row;
		bool		is_known;

		batch->instrument.record->n_pending++;
		if ((row.flags & GENIE_FRAGMENT_RAW) == 0 || (row.flags & GENIE_FRAGMENT_DEAD) != 0)
			continue;
		of_row = genie_exact_pending_shape(piece, metric, &raw);
		if (record == NULL || !genie_value_shape_equal(of_row, shape))
			record = (void *) TYPEALIGN(GENIE_QUANTIZED_ALIGN,
										palloc(genie_value_bytes(of_row) + GENIE_QUANTIZED_ALIGN));
		shape = of_row;
		is_known = genie_value_order_record(batch->index, batch->parameters, shape, &raw, record);
		for (uint32 i = 0; i < batch->n; i++)
		{
			uint32		key = GENIE_VALUE_KEY_MAX;

			if (is_known && genie_vector_value_fits(shape, piece->queries[i]))
				genie_value_keys(piece->queries[i], record, 1, &key);
			if (genie_exact_is_wanted(piece, i, key, row.tid))
				genie_exact_pair(piece, i, row.tid);
		}
	}
	stale = scan->stale;
	genie_pending_scan_end(scan);
	genie_nearest_visit_pairs(&piece->pairs);
	return !stale;
}

/* Drops the lists that have no more hits that are wanted. */
static void
genie_exact_drop_done(GenieExactPiece *piece)
{
	uint32		n = 0;

	for (uint32 l = 0; l < piece->n_lists; l++)
	{
		const GenieExactList *list = &piece->lists[l];
		uint32		n_hits = list->top.n_hits;

		if (n_hits == piece->ask && !genie_exact_by_graph(piece, list) &&
			genie_exact_wants_hit(piece, list, n_hits - 1))
			piece->lists[n++] = *list;
	}
	piece->n_lists = n;
}

bool
genie_batch_exact_piece(GenieNearestSearch *search)
{
	GenieBatch *batch = &search->batch;
	GenieExactPiece piece = {.search = search};
	GenieMetric metric;

	if (search->k > GENIE_JOB_K_MAX / GENIE_EXACT_GROWTH)
		return true;			/* all are scans */
	genie_exact_take_queries(&piece, &metric);
	if (search->call.metric != 0 && !genie_exact_is_possible(&piece))
		return true;
	if (!genie_exact_begin_lists(&piece))
		return false;
	genie_nearest_begin_pairs(&piece.pairs, search, GENIE_NEAREST_PAIRS);
	piece.ask = search->k + GENIE_EXACT_MORE;
	if (batch->by_graph)
		piece.graph = genie_quantizer_graph_search(batch->sources, batch->n_sources, search->k);
	for (bool is_first = true; (is_first || piece.n_lists > 0) && piece.ask <= GENIE_JOB_K_MAX; is_first = false)
	{
		uint32	   *first_hit = palloc0((piece.n_lists + 1) * sizeof(uint32));

		if (!genie_exact_ask(&piece) || !genie_exact_place(&piece))
			return false;
		if (is_first && search->radii == NULL)
			genie_exact_measure_first(&piece, first_hit);
		genie_exact_measure(&piece, first_hit);
		if (is_first && !genie_exact_measure_pending(&piece, metric))
			return false;
		genie_exact_drop_done(&piece);
		piece.ask *= GENIE_EXACT_GROWTH;
		CHECK_FOR_INTERRUPTS();
	}
	for (uint32 i = 0; i < batch->n; i++)
		if (search->radii != NULL ? search->n_nearest[i] != GENIE_WITHIN_OVER :
			search->n_nearest[i] == search->k || search->call.metric != 0)
			batch->states[i].n_found = batch->want;
	for (uint32 l = 0; l < piece.n_lists; l++)
		batch->states[piece.lists[l].query].n_found = 0;
	return true;
}

/*
 * genie_quantizer.c
 *	  Bounds of candidates' distances for scans of approximate classes (genie_quantizer.h).
 *
 * Signatures do not tell what a row's vector was, but segments have it quantized beside them (disk/genie_values.h).  A
 * bound that follows from that holds for every snapshot that may use the index, because a row of the index has one
 * value as long as it has its TID: that of all members of its HOT chain.  (A snapshot that may still see others, from
 * before the index was built, is refused: genie_access.c, and by the planner.)  Which rows may be passed over for their
 * bounds is another question: genie_all_visible.c.
 *
 * Bounds are of distances whose arithmetic is known: genie's own functions, and pgvector's through the operator
 * classes that genie makes for its type.
 */
#include "postgres.h"

#include "genie_approximate.h"
#include "genie_image_cache.h"
#include "genie_options.h"
#include "genie_quantizer.h"
#include "genie_vector_value.h"

/*
 * Hits of a search of a graph.  Of its queue, the best are enough: that it is long is for what lies at their edges.
 * Some more than are wanted, in case that rows are dead; and so many, at least, that errors of quantized vectors do no
 * harm.
 */
#define HITS_MORE 16
#define HITS_MIN 100			/* of a scan, too, of which nobody knows how many rows are wanted */

int			genie_graph_queue;
double		genie_graph_recall;
bool		genie_quantized_vectors;

bool
genie_quantizer_begin(GenieQuantizer *quantizer, Relation index, const FmgrInfo *distance, StrategyNumber strategy,
					  const bytea *parameters)
{
	GenieMetric metric;

	if (parameters == NULL || !(genie_quantized_vectors || genie_is_exact(index)))
		return false;
	quantizer->type = genie_vector_type_of_class(index);
	metric = quantizer->type == NULL ? 0 : quantizer->type->metric(distance, strategy);
	if (metric == 0)
		return false;
	quantizer->shape = genie_vector_value_shape(parameters);
	quantizer->n_elements = genie_quantized_elements(quantizer->shape.n_dimensions);
	return quantizer->shape.metric == metric;
}

bool
genie_quantizer_find_values(const GenieQuantizer *quantizer, GenieSource *source, Relation index,
							const GenieMetaData *meta)
{
	return !genie_value_shape_equal(genie_values_shape(source->segment), quantizer->shape) ||
		genie_source_find_values(source, index, meta);
}

bool
genie_quantizer_query(const GenieQuantizer *quantizer, Datum query, float *elements, GenieQuantizedQuery *quantized)
{
	GenieVector vector = quantizer->type->elements(query);

	if (vector.n != genie_value_shape_elements(quantizer->shape))
		return false;
	quantized->elements = elements;
	quantized->error = genie_quantized_query(quantizer->shape, vector, elements);
	return true;
}

/* ---- graphs ---- */

bool
genie_quantizer_find_graphs(GenieSource *const *sources, uint32 n_sources, Relation index, const GenieMetaData *meta,
							bool *found)
{
	uint32		n = 0;
	bool		all = true;

	*found = false;
	if (genie_graph_of(index) == 0)
		return true;
	for (uint32 i = 0; i < n_sources; i++)
	{
		GenieSource *source = sources[i];

		if (genie_values_shape(source->segment).metric == 0)
			continue;			/* all objects are NULL */
		if (!genie_source_find_values(source, index, meta))
			return false;
		/* there is nobody who could search, either, where the library is not preloaded */
		if (source->values_why != GENIE_FALLBACK_NONE)
		{
			all = false;
			continue;
		}
		if (genie_image_cache_graph_degree(index, source->segment) == 0)
			continue;			/* there are few: a scan */
		genie_source_find_graph(source, index, meta);
		all &= source->graph_why == GENIE_FALLBACK_NONE;
		n++;
	}
	*found = all && n > 0;
	return true;
}

GenieGraphSearch
genie_quantizer_graph_search(GenieSource *const *sources, uint32 n_sources, uint32 k)
{
	uint32		queue = (uint32) genie_graph_queue;
	uint32		n_hits = Max(queue, k);

	for (uint32 i = 0; i < n_sources && genie_graph_queue == 0; i++)
		if (sources[i]->graph_why == GENIE_FALLBACK_NONE)
			queue = Max(queue, genie_proximity_queue(&sources[i]->graph_head.recall, k, genie_graph_recall));
	if (genie_graph_queue == 0)
		n_hits = k == 0 ? HITS_MIN : Max(k + HITS_MORE, Min(queue, Max(4 * k, HITS_MIN)));
	n_hits = Min(n_hits, GENIE_PROXIMITY_QUEUE_MAX);
	return (GenieGraphSearch) {Max(queue, n_hits), n_hits};
}

uint32
genie_quantizer_graph_hits(const GenieGraphSearch *search, const GenieSource *source)
{
	uint32		n_nulls = source->segment->header.n_nulls;
	uint32		n_unknown = source->graph_head.n_unknown;

	/* nothing is known of NULL objects, either, but they are no hits */
	return Min(search->n_hits + (n_unknown > n_nulls ? n_unknown - n_nulls : 0), GENIE_PROXIMITY_QUEUE_MAX);
}

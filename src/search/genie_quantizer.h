/*
 * genie_quantizer.h
 *	  Bounds of candidates' distances for scans of approximate classes: which segments can give them, and a query as
 *	  they are computed from it (genie_quantized.h).
 */
#ifndef GENIE_QUANTIZER_H
#define GENIE_QUANTIZER_H

#include "fmgr.h"
#include "genie_source.h"
#include "genie_values.h"
#include "genie_vector_type.h"

/* the setting genie.quantized_vectors: may values be used, and be loaded for that? */
extern bool genie_quantized_vectors;

/* the setting genie.graph_queue: how long the queue of a search in a proximity graph is; 0: as the next one says */
extern int	genie_graph_queue;

/* the setting genie.graph_recall: the share of the nearest rows that a search shall find, 0 to 1 */
extern double genie_graph_recall;
#define GENIE_GRAPH_RECALL 0.98

/* A search of a graph. */
typedef struct GenieGraphSearch
{
	uint32		queue;			/* how long it is; 0: there is none */
	uint32		n_hits;			/* of each segment, of which something is known */
} GenieGraphSearch;

typedef struct GenieQuantizer
{
	const GenieVectorType *type;
	GenieValueShape shape;		/* of the values that bounds follow from */
	uint32		n_elements;		/* of a query as the engine wants it */
} GenieQuantizer;

/*
 * False: bounds are switched off, there are none of the distance, or the index has not learned yet how long its vectors
 * are.
 */
extern bool genie_quantizer_begin(GenieQuantizer *quantizer, Relation index, const FmgrInfo *distance,
								  StrategyNumber strategy, const bytea *parameters);

/* Looks for the segment's values, if it has such (genie_source_find_values()).  False: stale. */
extern bool genie_quantizer_find_values(const GenieQuantizer *quantizer, GenieSource *source, Relation index,
										const GenieMetaData *meta);

/*
 * Looks for the graphs of all segments that shall have one, as the index's parameter says, and for the values of all.
 * *found: they are there, at least one.  False: stale.
 */
extern bool genie_quantizer_find_graphs(GenieSource *const *sources, uint32 n_sources, Relation index,
										const GenieMetaData *meta, bool *found);

/*
 * Searches of the graphs that were found, for k rows, or 0: nobody knows how many; as the settings say, and as was
 * measured of the graphs.
 */
extern GenieGraphSearch genie_quantizer_graph_search(GenieSource *const *sources, uint32 n_sources, uint32 k);

/* Hits of a search in that segment, which has a graph: objects of which nothing is known are hits, besides. */
extern uint32 genie_quantizer_graph_hits(const GenieGraphSearch *search, const GenieSource *source);

/* Prepares the right operand of the distance; elements has room for n_elements.  False: it is of another length. */
extern bool genie_quantizer_query(const GenieQuantizer *quantizer, Datum query, float *elements,
								  GenieQuantizedQuery *quantized);

#endif							/* GENIE_QUANTIZER_H */

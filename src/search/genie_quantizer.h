/*
 * genie_quantizer.h
 *	  The vectors of an index's rows, for bounds of their distances (genie_quantized.h).
 */
#ifndef GENIE_QUANTIZER_H
#define GENIE_QUANTIZER_H

#include "fmgr.h"
#include "genie_image_load.h"
#include "genie_row.h"
#include "genie_vector_type.h"
#include "genie_visit.h"

/* the setting genie.quantized_vectors: may vectors be kept in shared memory, and used? */
extern bool genie_quantized_vectors;

typedef struct GenieTableQuantizer
{
	GenieQuantizer quantizer;
	const GenieVectorType *type;
	const GenieVisitor *visitor;
	const GenieRowValue *row_value;
	MemoryContext row_context;
	uint32		n_elements;		/* of a query as the engine wants it */

	/* the rows that are being filled */
	GenieVisitRow *rows;
	char	   *records;
} GenieTableQuantizer;

/*
 * Begins, in the current memory context, for the visitor's table, index and snapshot; visitor and row_value stay.
 * False: quantized vectors are switched off, there are no bounds of the distance, or the index has not learned yet how
 * long its vectors are.
 */
extern bool genie_quantizer_begin(GenieTableQuantizer *quantizer, const GenieVisitor *visitor,
								  const GenieRowValue *row_value, const FmgrInfo *distance, StrategyNumber strategy,
								  const bytea *parameters);

/* Prepares the right operand of the distance; elements has room for n_elements.  False: it is of another length. */
extern bool genie_quantizer_query(const GenieTableQuantizer *quantizer, Datum query, float *elements,
								  GenieQuantizedQuery *quantized);

/*
 * Loads the quantized vectors of all segments that have an image, if the index has a column of vectors.  NOTICE where
 * there is no room.  Not those of an expression: that is its owner's code, and only a search runs it.
 */
extern void genie_quantizer_prewarm(Relation heap, Relation index);

#endif							/* GENIE_QUANTIZER_H */

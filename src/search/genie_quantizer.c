/*
 * genie_quantizer.c
 *	  The vectors of an index's rows, for bounds of their distances (genie_quantizer.h).
 *
 * Signatures do not tell what a row's vector was.  So the first search that needs quantized vectors makes them from the
 * table (genie_image_cache_vectors()), of the rows that its own snapshot sees.  Other searches use them with other
 * snapshots.  That is right, because a row of the index has one value as long as it has its TID: that of all members of
 * its HOT chain that any snapshot sees that may use the index.  Rows that the first snapshot does not see have no
 * bound, so they are visited.  What takes the TID over after VACUUM is another object, in another segment.
 *
 * Bounds are of distances whose arithmetic is known: genie's own functions, and pgvector's through the operator
 * classes that genie makes for its type.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "genie_lsh_class.h"
#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_quantizer.h"
#include "genie_source.h"

bool		genie_quantized_vectors;

/* A visible row: its record. */
static void
genie_quantizer_row(void *arg, GenieVisitRow *row, TupleTableSlot *slot)
{
	GenieTableQuantizer *quantizer = arg;
	const GenieQuantizer *shape = &quantizer->quantizer;
	MemoryContext old = MemoryContextSwitchTo(quantizer->row_context);
	bool		is_null;
	Datum		value = genie_row_value(quantizer->row_value, slot, &is_null);

	if (!is_null)
	{
		GenieVector vector = quantizer->type->elements(value);

		if (vector.n == shape->n_dimensions)
			genie_quantize(shape->metric, vector, quantizer->records +
						   (row - quantizer->rows) * genie_quantized_bytes(shape->n_dimensions));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(quantizer->row_context);
}

/* The function of a GenieQuantizer. */
static void
genie_quantizer_fill(void *arg, const uint64 *tids, uint32 n, void *records)
{
	GenieTableQuantizer *quantizer = arg;
	uint32		n_dimensions = quantizer->quantizer.n_dimensions;
	Size		record = genie_quantized_bytes(n_dimensions);
	GenieVisitor visitor = *quantizer->visitor;
	GenieVisitRow **rows = palloc((Size) (n + 1) * sizeof(GenieVisitRow *));

	quantizer->rows = palloc((Size) (n + 1) * sizeof(GenieVisitRow));
	quantizer->records = records;
	for (uint32 i = 0; i < n; i++)
	{
		quantizer->rows[i].tid = tids[i];
		rows[i] = &quantizer->rows[i];
		genie_quantize_unknown(n_dimensions, quantizer->records + i * record);
	}
	visitor.found = genie_quantizer_row;
	visitor.arg = quantizer;
	genie_visit(&visitor, rows, n);
	pfree(rows);
	pfree(quantizer->rows);
}

/*
 * Does the snapshot see the vectors that the index has, and may rows be passed over at all?  Before an index was built,
 * members of a HOT chain could have different vectors.  A snapshot that may still see those may not use the index
 * (indcheckxmin).
 */
static bool
genie_quantizer_may_read(const GenieVisitor *visitor)
{
	const Relation index = visitor->index;

	return index->rd_index->indisvalid && genie_visit_trusts_pages(visitor) &&
		(!index->rd_index->indcheckxmin ||
		 TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin));
}

bool
genie_quantizer_begin(GenieTableQuantizer *quantizer, const GenieVisitor *visitor, const GenieRowValue *row_value,
					  const FmgrInfo *distance, StrategyNumber strategy, const bytea *parameters)
{
	GenieQuantizer *shape = &quantizer->quantizer;

	if (parameters == NULL || !genie_quantized_vectors || !genie_quantizer_may_read(visitor))
		return false;
	memset(quantizer, 0, sizeof(*quantizer));
	quantizer->type = genie_vector_type_of_class(visitor->index);
	shape->metric = quantizer->type == NULL ? 0 : quantizer->type->metric(distance, strategy);
	if (shape->metric == 0)
		return false;
	shape->n_dimensions = genie_lsh_class_parameters(parameters).functions.n_dimensions;
	shape->arg = quantizer;
	shape->fill = genie_quantizer_fill;
	quantizer->n_elements = genie_quantized_elements(shape->n_dimensions);
	quantizer->visitor = visitor;
	quantizer->row_value = row_value;
	quantizer->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie vector", ALLOCSET_DEFAULT_SIZES);
	return true;
}

bool
genie_quantizer_query(const GenieTableQuantizer *quantizer, Datum query, float *elements,
					  GenieQuantizedQuery *quantized)
{
	GenieVector vector = quantizer->type->elements(query);

	if (vector.n != quantizer->quantizer.n_dimensions)
		return false;
	quantized->elements = elements;
	quantized->error = genie_quantized_query(quantizer->quantizer.metric, vector, elements);
	return true;
}

/* ---- ahead of searches ---- */

/* By a distance that the operator class has. */
static void
genie_quantizer_prewarm_by(const GenieVisitor *visitor, const GenieRowValue *row_value, RegProcedure function,
						   StrategyNumber strategy)
{
	GenieMetaData *meta = genie_meta_read(visitor->index);
	GenieSource **sources = palloc((meta->n_segments + 1) * sizeof(GenieSource *));
	GenieTableQuantizer quantizer;
	FmgrInfo	distance;
	Size		memory = 0;
	bool		missing = false;

	fmgr_info(function, &distance);
	if (!genie_quantizer_begin(&quantizer, visitor, row_value, &distance, strategy, genie_meta_parameters(meta)))
		return;
	if (!genie_source_open_all(visitor->index, meta, &memory, 1, visitor->instrument, sources))
		return;					/* the index has changed meanwhile: searches will load what is new */
	for (uint32 i = 0; i < meta->n_segments && !missing; i++)
	{
		genie_source_find_vectors(sources[i], visitor->index, meta, sources[i]->segment->header.n_objects,
								  &quantizer.quantizer);
		missing = sources[i]->why == GENIE_FALLBACK_NONE && !sources[i]->has_vectors;
	}
	if (missing)
		ereport(NOTICE,
				(errmsg("not all vectors of genie index \"%s\" are in shared memory",
						RelationGetRelationName(visitor->index)),
				 errdetail("There is no room left for them, or another session is about to load them."),
				 errhint("Searches look up more rows without them.  Raise genie.shared_memory, which needs a "
						 "restart.")));
}

void
genie_quantizer_prewarm(Relation heap, Relation index)
{
	static const StrategyNumber strategies[] = {GENIE_L2_STRATEGY, GENIE_L1_STRATEGY, GENIE_COSINE_STRATEGY};
	Oid			type = index->rd_opcintype[0];
	MemoryContext context;
	MemoryContext old;
	GenieVisitor visitor;
	GenieRowValue row_value;

	if (index->rd_index->indkey.values[0] == 0)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "genie vectors", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	genie_visitor_begin(&visitor, heap, index, GetActiveSnapshot());
	genie_row_value_begin(&row_value, index);
	for (int i = 0; i < lengthof(strategies); i++)
	{
		Oid			operator = get_opfamily_member(index->rd_opfamily[0], type, type, strategies[i]);

		if (OidIsValid(operator))
			genie_quantizer_prewarm_by(&visitor, &row_value, get_opcode(operator), strategies[i]);
	}
	genie_row_value_end(&row_value);
	genie_visitor_end(&visitor);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

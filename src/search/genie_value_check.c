/*
 * genie_value_check.c
 *	  Values in an index compared with the table's rows (genie_value_check.h).
 *
 * A search relies on each bound that follows from a record to be no more than the row's distance.  A malformed record
 * is found without the table (disk/genie_verify.c, invariant 14).  One that is well-formed, but another row's, is found
 * here alone: it would hide its row from searches.
 *
 * A sample of each segment's objects is looked up, OBJECTS of them, evenly spread.  Where the row is visible, its
 * vector is a query, and so is the vector of the row before it in the sample.  The key of the object's record by these
 * queries stands for a bound, which is compared with the measured distance.  (That to itself is what another row's
 * record fails; with a bit a dimension, if the rows differ by more than EPSILON errors.)  For vectors that genie knows
 * the arithmetic of, no function of a user runs.  So an index on an expression is not sampled, nor is one of a metric:
 * to evaluate it would be to run it with the rights of whoever checks.
 *
 * Which row has this TID?  The snapshot is older than what is read of the index.  A TID that is used again was freed by
 * VACUUM, after it had set a tombstone or removed the object.  If our snapshot sees the new row, that was before the
 * snapshot, so the tombstone is seen, too.
 *
 * Messages say nothing of what a row contains: whoever may check an index need not be somebody who may read the table.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "genie_access.h"
#include "genie_learned.h"
#include "genie_meta.h"
#include "genie_object_cursor.h"
#include "genie_row.h"
#include "genie_value_check.h"
#include "genie_vector_value.h"
#include "genie_visit.h"

#define OBJECTS 256				/* of a segment that are looked up */
#define EPSILON 8.0				/* of values with a bit a dimension: one in a thousand million million is farther off */

typedef struct GenieValueCheck
{
	GenieVisitor visitor;
	AttrNumber	attribute;
	const GenieVectorType *type;
	GenieValueShape shape;
	GenieViolation report;
	void	   *report_arg;
	MemoryContext context;		/* of one row, reset when the next but one comes */
	MemoryContext before_context;

	/* the sampled object in hand */
	BlockNumber root;
	uint32		object;
	void	   *record;

	/* the row before it in the sample, in before_context; NULL: there is none */
	GenieValueQuery *before;
	GenieVector before_vector;
} GenieValueCheck;

/* The distance that bounds are of. */
static double
measure(GenieMetric metric, GenieVector a, GenieVector b)
{
	GenieMetric measured = genie_rabitq_measured(metric);
	double		result = genie_vector_measure(measured, a, b);

	return measured == GENIE_METRIC_INNER ? -result : result;
}

/* Says so if the object's bound for a query is above the distance. */
static void
compare(GenieValueCheck *check, const GenieVisitRow *row, const GenieValueQuery *query, double distance)
{
	uint32		key;
	double		bound;

	genie_value_keys(query, check->record, 1, &key);
	bound = genie_value_key_bound(key);
	if (!(bound > distance))	/* of NaN nothing is known */
		return;
	check->report(check->report_arg, check->root,
				  psprintf("the value of object %u is not that of row (%u,%u)", check->object, genie_visit_block(row),
						   (uint32) (row->tid & 0xFFFF)));
}

/* Of GenieVisitor: compares the object with its visible row. */
static void
check_row(void *arg, GenieVisitRow *row, TupleTableSlot *slot)
{
	GenieValueCheck *check = arg;
	MemoryContext old = MemoryContextSwitchTo(check->context);
	MemoryContext spare = check->before_context;
	bool		is_null;
	Datum		value = slot_getattr(slot, check->attribute, &is_null);
	GenieValueQuery *query = NULL;
	GenieVector vector = {0};

	if (is_null)
		check->report(check->report_arg, check->root,
					  psprintf("object %u has a value, but row (%u,%u) is null", check->object,
							   genie_visit_block(row), (uint32) (row->tid & 0xFFFF)));
	else
	{
		bool		is_symbols = check->type->is_symbols;

		/* in the slot, the value does not outlive the visit */
		value = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
		vector = check->type->elements(value);
		query = genie_vector_value_query(check->type, check->shape, value);
		query->epsilon = (float) fmin(genie_rabitq_all(query->n_dimensions), EPSILON);
		if (!genie_vector_value_fits(check->shape, query))
			query = NULL;		/* its record is unknown */
		if (query != NULL)
			compare(check, row, query, is_symbols ? 0 : measure(check->shape.metric, vector, vector));
		if (query != NULL && check->before != NULL && !is_symbols)
			compare(check, row, check->before, measure(check->shape.metric, vector, check->before_vector));
	}
	check->before = query;
	check->before_vector = vector;
	check->before_context = check->context;
	check->context = spare;
	MemoryContextReset(spare);
	MemoryContextSwitchTo(old);
}

/* False: stale. */
static bool
check_segment(GenieValueCheck *check, const GenieSegmentEntry *entry)
{
	GenieSegment *segment = genie_segment_open(check->visitor.index, entry);
	GenieObjectCursor *cursor = palloc(sizeof(GenieObjectCursor));
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	Size		n_bytes = genie_value_bytes(check->shape);
	uint64		n_objects;
	uint64		next = 0;

	if (segment == NULL)
		return false;
	if (!genie_value_shape_equal(genie_values_shape(segment), check->shape))
		return true;			/* it has none, or is damaged, which has been said */
	n_objects = segment->header.n_objects;
	genie_section_reader(reader, segment, GENIE_SECTION_VALUES);
	genie_object_cursor_begin(cursor, segment);
	while (genie_object_cursor_next(cursor))
	{
		GenieVisitRow row = {.tid = cursor->tid};
		GenieVisitRow *rows = &row;

		if (cursor->object < next || cursor->is_null)
			continue;
		next = ((uint64) cursor->object * OBJECTS / n_objects + 1) * n_objects / OBJECTS;
		check->root = entry->root;
		check->object = cursor->object;
		if (!genie_section_read(reader, cursor->object * (uint64) n_bytes, n_bytes, check->record))
			return false;
		genie_visit(&check->visitor, &rows, 1);
	}
	return !segment->stale;
}

bool
genie_value_check(Relation heap, Relation index, GenieViolation report, void *arg)
{
	GenieValueCheck check = {.report = report, .report_arg = arg};
	GenieMetaData *meta = genie_meta_read(index);
	bytea	   *parameters;
	bool		ok = true;

	check.attribute = index->rd_index->indkey.values[0];
	check.type = genie_vector_type_of_class(index);
	if (check.attribute == 0 || check.type == NULL || check.type->is_metric || meta->parameters_length == 0 ||
		!genie_access_serves(index))
		return true;
	parameters = genie_learned_parameters(index, meta);
	check.shape = genie_vector_value_shape(parameters);
	if (check.shape.metric == 0)
		return true;
	check.record = (void *) TYPEALIGN(GENIE_QUANTIZED_ALIGN,
									  palloc(genie_value_bytes(check.shape) + GENIE_QUANTIZED_ALIGN));
	check.context = AllocSetContextCreate(CurrentMemoryContext, "genie value check", ALLOCSET_DEFAULT_SIZES);
	check.before_context = AllocSetContextCreate(CurrentMemoryContext, "genie value check", ALLOCSET_DEFAULT_SIZES);
	genie_visitor_begin(&check.visitor, heap, index, GetActiveSnapshot());
	check.visitor.found = check_row;
	check.visitor.arg = &check;
	for (uint32 i = 0; ok && i < meta->n_segments; i++)
		ok = check_segment(&check, &meta->segments[i]);
	genie_visitor_end(&check.visitor);
	return ok;
}

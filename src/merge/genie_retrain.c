/*
 * genie_retrain.c
 *	  Training again (genie_retrain.h).
 *
 * What an approximate class has learned may not fit rows that come later.  Segments keep the quantized vector of each
 * row (genie_values.h), so the index can learn anew, and sign all rows anew, from its own pages: nobody reads the
 * table, and no function of a user is called.  VACUUM and genie_merge() come here after they have merged.  An insert
 * never does.
 *
 * Phases
 *	judge	A sample of values, spread over all live rows, is shown to the class.  Mostly it says that its
 *			parameters fit.  What the class calls a misfit is far from what it would learn (genie_lsh_train.c), and
 *			parameters that are learned here must fit the sample.  So an index is not trained at every VACUUM.
 *	train	The class learns from the same sample.  Each live row must have a value.  Rows whose value is unknown could
 *			not be signed, so nothing is done if there is one.
 *	sign	Segment by segment, each live row is signed by the new parameters, from its value, and goes into a builder.
 *			When the memory is used up, the builder is spilled as a run (genie_runs.h).
 *	write	All runs become one new segment.
 *	flip	One record adds it, removes all other segments, and writes the parameters.
 *
 * Why there is no state in between.  All segments are signed by the parameters of the metapage, before the flip and
 * after it.  Pending rows need no number of parameters, because those of a class with values are raw (genie_signer.h),
 * and rows that are inserted meanwhile stay pending: the merge lock is held, so no merge signs them by old parameters.
 * A scan that has copied the metapage before the flip goes on with the old parameters and the old segments, whose
 * pages are retired, not freed.  One whose pages were used again, on a standby, notices that the metapage counts
 * another training.  A crash or an error before the flip leaves the old index, and pages that VACUUM finds.
 *
 * Signatures of quantized values differ a little from those of the vectors.  A class is asked only where values are
 * exact enough for it, in comparison with the distances between rows (GenieSample.errors).  Builds and merges of
 * pending rows sign the vectors themselves all the same, because they have them: where values are coarse, as in data
 * with columns of very different units, signatures of values would be useless.  So a row's signature depends on how it
 * came into its segment, within the error of its value.  Nothing compares signatures of rows with each other, and a
 * segment's do not change.
 *
 * Memory: the sample's raw vectors, up to the given memory, or GENIE_RETRAIN_LEAST of them if they are more; then
 * the builder's, and a posting list for each run.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_draw.h"
#include "genie_flip.h"
#include "genie_learned.h"
#include "genie_meta.h"
#include "genie_object_cursor.h"
#include "genie_retrain.h"
#include "genie_runs.h"

/* rows of a sample, however little memory there is: merges leave at most half of a segment dead */
#define GENIE_RETRAIN_LEAST (2 * GENIE_TRAIN_MIN)

typedef struct GenieRetrain
{
	Relation	index;
	GenieSigner *signer;
	void		(*delay) (void);
	GenieMetaData *meta;
	bytea	   *learned;
	GenieValueShape shape;
	void	   *record;			/* the value in hand */

	/* the sample */
	uint32		n;
	GenieRaw   *objects;
	float	   *errors;
} GenieRetrain;

/* Reads a segment's live objects and their values. */
typedef struct GenieRetrainCursor
{
	GenieObjectCursor objects;
	GenieSectionReader values;
} GenieRetrainCursor;

static GenieRetrainCursor *
genie_retrain_open(const GenieRetrain *retrain, uint32 i)
{
	const GenieSegmentEntry *entry = &retrain->meta->segments[i];
	GenieSegment *segment = genie_segment_open(retrain->index, entry);
	GenieRetrainCursor *cursor = palloc(sizeof(GenieRetrainCursor));

	if (segment == NULL)
		genie_report_corrupt(retrain->index, entry->root, "not the segment's root");
	segment->verify = true;
	genie_object_cursor_begin(&cursor->objects, segment);
	genie_section_reader(&cursor->values, segment, GENIE_SECTION_VALUES);
	return cursor;
}

static void
genie_retrain_corrupt(const GenieRetrainCursor *cursor)
{
	genie_report_corrupt(cursor->objects.segment->index, cursor->objects.segment->entry.root,
						 "malformed or foreign segment page");
}

/* The next live object; false at the end. */
static bool
genie_retrain_next(const GenieRetrain *retrain, GenieRetrainCursor *cursor)
{
	bool		any = genie_object_cursor_next(&cursor->objects);

	CHECK_FOR_INTERRUPTS();
	if (retrain->delay != NULL)
		retrain->delay();
	if (cursor->objects.segment->stale)
		genie_retrain_corrupt(cursor);
	return any;
}

/* Reads the object's value into retrain->record; returns its error, which is infinite if it is unknown. */
static float
genie_retrain_read(GenieRetrain *retrain, GenieRetrainCursor *cursor)
{
	Size		n_bytes = genie_value_bytes(retrain->shape);

	if (!genie_section_read(&cursor->values, cursor->objects.object * (uint64) n_bytes, n_bytes, retrain->record))
		genie_retrain_corrupt(cursor);
	return ((const GenieQuantized *) retrain->record)->error;
}

/* Have all segments values, but those without any vector?  *n_objects: how many vectors there are, dead ones too. */
static bool
genie_retrain_has_values(GenieRetrain *retrain, uint64 *n_objects)
{
	uint64		all = 0;

	*n_objects = 0;
	for (uint32 i = 0; i < retrain->meta->n_segments; i++)
	{
		const GenieSegmentEntry *entry = &retrain->meta->segments[i];
		GenieSegment *segment = genie_segment_open(retrain->index, entry);

		if (segment == NULL)
			genie_report_corrupt(retrain->index, entry->root, "not the segment's root");
		all += entry->n_objects;
		*n_objects += entry->n_objects - entry->n_nulls;
		if (entry->n_objects > entry->n_nulls &&
			!genie_value_shape_equal(genie_values_shape(segment), retrain->shape))
			return false;
	}
	return all <= GENIE_SEGMENT_MAX;
}

/*
 * Takes a sample of n_objects rows that are not NULL, as large as the class and the memory allow: the live ones among
 * one in each so many.  False: a value is unknown.
 */
static bool
genie_retrain_sample(GenieRetrain *retrain, uint64 n_objects, Size memory)
{
	Size		fit = memory / (retrain->shape.n_dimensions * sizeof(float));
	uint64		most = Min(Max(fit, GENIE_RETRAIN_LEAST), GENIE_TRAIN_ROWS);
	uint32		each = (uint32) Max((n_objects + most - 1) / most, 1);
	uint64		n_seen = 0;

	retrain->objects = palloc(GENIE_TRAIN_ROWS * sizeof(GenieRaw));
	retrain->errors = palloc(GENIE_TRAIN_ROWS * sizeof(float));
	for (uint32 i = 0; i < retrain->meta->n_segments; i++)
	{
		GenieRetrainCursor *cursor = genie_retrain_open(retrain, i);

		while (genie_retrain_next(retrain, cursor))
		{
			GenieRaw	raw;
			Size		n_bytes;

			if (cursor->objects.is_null || !genie_draw_takes(n_seen++, each))
				continue;
			retrain->errors[retrain->n] = genie_retrain_read(retrain, cursor);
			if (isinf(retrain->errors[retrain->n]))
				return false;
			raw = retrain->signer->raw(retrain->signer, retrain->learned, retrain->record, &n_bytes);
			raw.bytes = memcpy(palloc(n_bytes + 1), raw.bytes, n_bytes);
			retrain->objects[retrain->n++] = raw;
		}
	}
	return true;
}

/* Has each live row that is not NULL a value? */
static bool
genie_retrain_knows_all(GenieRetrain *retrain)
{
	for (uint32 i = 0; i < retrain->meta->n_segments; i++)
	{
		GenieRetrainCursor *cursor = genie_retrain_open(retrain, i);

		while (genie_retrain_next(retrain, cursor))
			if (!cursor->objects.is_null && isinf(genie_retrain_read(retrain, cursor)))
				return false;
	}
	return true;
}

/* Parameters that fit the sample, which the index's do not; NULL: there are none to be had. */
static bytea *
genie_retrain_learn(GenieRetrain *retrain)
{
	GenieSigner *signer = retrain->signer;
	bytea	   *parameters = signer->train(signer, retrain->objects, retrain->n, true);

	if (parameters != NULL)
		parameters = genie_learned_again(retrain->learned, parameters);
	if (parameters == NULL ||
		signer->judge(signer, parameters, retrain->objects, retrain->errors, retrain->n) != GENIE_FITS ||
		!genie_retrain_knows_all(retrain))
		return NULL;
	return parameters;
}

/* Adds the object in hand to the builder, signed by the parameters.  False: it is to be spilled first. */
static bool
genie_retrain_add(GenieRetrain *retrain, const bytea *parameters, GenieRetrainCursor *cursor, GenieBuilder *builder)
{
	GenieSigner *signer = retrain->signer;
	GenieSignature signature = {.size = -1};
	const void *value = NULL;

	if (!cursor->objects.is_null)
	{
		Size		n_bytes;
		GenieRaw	raw;

		(void) genie_retrain_read(retrain, cursor);
		raw = signer->raw(signer, parameters, retrain->record, &n_bytes);
		signature = signer->sign(signer, parameters, &raw);
		value = retrain->record;
	}
	return genie_builder_add(builder, cursor->objects.tid, cursor->objects.is_null, signature.bytes, signature.n,
							 signature.size, value);
}

/* Signs all rows, and writes them as one segment of the index.  *n_objects: how many there are. */
static GenieSegmentEntry
genie_retrain_write(GenieRetrain *retrain, const bytea *parameters, Size memory, uint32 *n_objects)
{
	GenieSpillPlace place = {0};
	GenieRuns  *runs = genie_runs_begin(retrain->index, &place, NULL);
	GenieBuilder *builder = genie_builder_begin(memory, retrain->shape);
	GenieSegmentWriter *writer;
	GenieRootHeader header;

	for (uint32 i = 0; i < retrain->meta->n_segments; i++)
	{
		GenieRetrainCursor *cursor = genie_retrain_open(retrain, i);

		while (genie_retrain_next(retrain, cursor))
		{
			if (genie_builder_full(builder))
				genie_runs_spill(runs, builder);
			if (genie_retrain_add(retrain, parameters, cursor, builder))
				continue;
			/* the first row of another segment, whose rows lie before those of the last one */
			genie_runs_spill(runs, builder);
			if (!genie_retrain_add(retrain, parameters, cursor, builder))
				elog(ERROR, "an empty builder refused a row");
		}
	}
	writer = genie_segment_begin(retrain->index, false, NULL);
	genie_segment_set_delay(writer, retrain->delay);
	genie_runs_write(runs, builder, writer, &header);
	*n_objects = header.n_objects;
	return genie_segment_finish(writer, &header);
}

/* Replaces all segments, and the parameters. */
static void
genie_retrain_apply(GenieRetrain *retrain, const bytea *parameters, Size memory)
{
	uint64		removed[GENIE_SEGMENTS_MAX];
	uint32		n_objects;
	GenieSegmentEntry added = genie_retrain_write(retrain, parameters, memory, &n_objects);
	GenieFlip	flip = {.added = &added, .removed = removed};

	for (uint32 i = 0; i < retrain->meta->n_segments; i++)
		removed[flip.n_removed++] = retrain->meta->segments[i].stamp;
	flip.n_added = n_objects > 0 ? 1 : 0;
	genie_learned_set(parameters, &flip);
	genie_flip_apply(retrain->index, &flip, false);
	ereport(LOG,
			(errmsg("index \"%s\" has learned again, from rows that are unlike those of before",
					genie_log_name(retrain->index)),
			 errdetail("All of its %u rows have new signatures.", n_objects)));
}

static GenieFit
genie_retrain_run(GenieRetrain *retrain, Size memory)
{
	GenieSigner *signer = retrain->signer;
	uint64		n_objects;
	bytea	   *parameters;
	GenieFit	fit;

	retrain->meta = genie_meta_read(retrain->index);
	retrain->learned = genie_learned_parameters(retrain->index, retrain->meta);
	if (retrain->learned == NULL)
		return GENIE_FITS;
	retrain->shape = signer->shape(signer, retrain->learned);
	if (retrain->shape.metric == 0 || !genie_retrain_has_values(retrain, &n_objects))
		return GENIE_FIT_UNKNOWN;
	retrain->record = palloc(genie_value_bytes(retrain->shape) + GENIE_QUANTIZED_ALIGN);
	retrain->record = (void *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, retrain->record);
	if (!genie_retrain_sample(retrain, n_objects, memory))
		return GENIE_FIT_UNKNOWN;
	if (retrain->n < GENIE_TRAIN_MIN)
		return GENIE_FITS;
	fit = signer->judge(signer, retrain->learned, retrain->objects, retrain->errors, retrain->n);
	if (fit != GENIE_MISFITS)
		return fit;
	parameters = genie_retrain_learn(retrain);
	if (parameters == NULL)
		return GENIE_FIT_UNKNOWN;
	genie_retrain_apply(retrain, parameters, memory);
	return GENIE_FITS;
}

GenieFit
genie_retrain_index(Relation index, Size memory, GenieSigner *signer, void (*delay) (void))
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie training again",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieRetrain retrain = {.index = index, .signer = signer, .delay = delay};
	GenieFit	fit = signer == NULL || signer->raw == NULL ? GENIE_FIT_UNKNOWN : genie_retrain_run(&retrain, memory);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return fit;
}

/*
 * genie_build.c
 *	  CREATE INDEX: one pass over the table, segments in memory, one segment on disk.
 *
 * Phases
 *	scan	The heap is read in block order (no synchronised scan); every row is decomposed and
 *			goes into the in-memory inverted index (genie_builder.c), NULL rows too.
 *	write	Whenever maintenance_work_mem is used up, the contents are written to temporary files
 *			as a *spilled* segment, and the scan goes on.  If everything fits, it is written to
 *			the index at once.
 *	merge	Spilled segments are merged into the index.  GENIE_SPILL_FAN_IN spilled segments of one
 *			generation are merged into one of the next, so open files and memory stay bounded.
 *	log		Every page of the new relation goes to WAL, if it needs to (genie_wal_log_build).
 *
 * Nobody else sees the relation until the transaction commits, so pages are written without
 * WAL before that; an error leaves nothing behind.  Memory: the builder stays below
 * maintenance_work_mem but for the heap page in hand; a merge needs a list and four pages an
 * input.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "genie_build.h"
#include "genie_builder.h"
#include "genie_fault.h"
#include "genie_merge.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_opclass.h"
#include "genie_value.h"
#include "genie_wal.h"

#define GENIE_SPILL_FAN_IN 16
#define GENIE_GENERATIONS 16	/* 16^16 spills are enough */

typedef struct GenieBuildState
{
	Relation	index;
	FmgrInfo   *decompose;
	Oid			collation;
	MemoryContext row_context;
	GenieKeywords keywords;
	GenieBuilder *builder;
	double		n_indexed;
	int			n_spilled[GENIE_GENERATIONS];
	GenieSegment *spilled[GENIE_GENERATIONS][GENIE_SPILL_FAN_IN];
} GenieBuildState;

char *
genie_buildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case GENIE_PHASE_SCAN:
			return "scanning table";
		case GENIE_PHASE_WRITE:
			return "writing segment";
		case GENIE_PHASE_MERGE:
			return "merging segments";
		case GENIE_PHASE_LOG:
			return "writing WAL";
		default:
			return NULL;
	}
}

static void
genie_build_phase(int64 phase)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

/* Merges spilled segments into one that is spilled, too. */
static GenieSegment *
genie_build_merge_spilled(GenieBuildState *state, GenieSegment **inputs, int n)
{
	GenieSegmentWriter *writer = genie_segment_begin(state->index, true, true);
	GenieRootHeader header;

	genie_build_phase(GENIE_PHASE_MERGE);
	genie_merge_write(inputs, n, writer, &header);
	for (int i = 0; i < n; i++)
		genie_segment_close_spilled(inputs[i]);
	return genie_segment_finish_spilled(writer, &header);
}

/* Keeps a spilled segment; merges a generation that is full. */
static void
genie_build_keep_spilled(GenieBuildState *state, GenieSegment *segment, int generation)
{
	Assert(generation < GENIE_GENERATIONS);
	state->spilled[generation][state->n_spilled[generation]++] = segment;
	if (state->n_spilled[generation] == GENIE_SPILL_FAN_IN)
	{
		state->n_spilled[generation] = 0;
		genie_build_keep_spilled(state,
								 genie_build_merge_spilled(state, state->spilled[generation],
														   GENIE_SPILL_FAN_IN),
								 generation + 1);
	}
}

/* The memory is used up: writes the builder's contents to temporary files. */
static void
genie_build_spill(GenieBuildState *state)
{
	GenieSegmentWriter *writer = genie_segment_begin(state->index, true, true);
	GenieRootHeader header;

	genie_build_phase(GENIE_PHASE_WRITE);
	genie_builder_write(state->builder, writer, &header);
	genie_build_keep_spilled(state, genie_segment_finish_spilled(writer, &header), 0);
	GENIE_FAULT("build-spilled");
	genie_build_phase(GENIE_PHASE_SCAN);
}

/* Takes one row of the table; called by table_index_build_scan. */
static void
genie_build_row(Relation index, ItemPointer tid, Datum *values, bool *nulls, bool alive, void *arg)
{
	GenieBuildState *state = arg;
	uint64		number = genie_tid_number(tid);
	int32		size;

	genie_keywords_reset(&state->keywords);
	if (!nulls[0])
	{
		MemoryContext old = MemoryContextSwitchTo(state->row_context);

		FunctionCall2Coll(state->decompose, state->collation, values[0],
						  PointerGetDatum(&state->keywords));
		MemoryContextSwitchTo(old);
		MemoryContextReset(state->row_context);
	}
	size = genie_keywords_own_size(&state->keywords);
	if (genie_builder_full(state->builder))
		genie_build_spill(state);
	if (!genie_builder_add(state->builder, number, nulls[0], state->keywords.bytes,
						   state->keywords.n, size))
	{
		/* a table access method that goes backwards */
		genie_build_spill(state);
		if (!genie_builder_add(state->builder, number, nulls[0], state->keywords.bytes,
							   state->keywords.n, size))
			elog(ERROR, "an empty builder refused a row");
	}
	state->n_indexed++;
}

/* Writes what there is to the index. */
static void
genie_build_finish(GenieBuildState *state)
{
	GenieSegment *inputs[GENIE_SEGMENTS_MAX];
	int			n_inputs = 0;
	GenieSegmentWriter *writer;
	GenieRootHeader header;
	GenieSegmentEntry entry;
	GenieFlip	flip = {0};

	for (int generation = GENIE_GENERATIONS; generation-- > 0;)
		for (int i = 0; i < state->n_spilled[generation]; i++)
		{
			if (n_inputs == GENIE_SEGMENTS_MAX - 1)
			{
				inputs[0] = genie_build_merge_spilled(state, inputs, n_inputs);
				n_inputs = 1;
			}
			inputs[n_inputs++] = state->spilled[generation][i];
		}
	if (n_inputs == 0 && genie_builder_objects(state->builder) == 0)
		return;
	if (n_inputs > 0 && genie_builder_objects(state->builder) > 0)
	{
		GenieSegmentWriter *last = genie_segment_begin(state->index, true, true);

		genie_build_phase(GENIE_PHASE_WRITE);
		genie_builder_write(state->builder, last, &header);
		inputs[n_inputs++] = genie_segment_finish_spilled(last, &header);
	}

	writer = genie_segment_begin(state->index, true, false);
	if (n_inputs > 0)
	{
		genie_build_phase(GENIE_PHASE_MERGE);
		genie_merge_write(inputs, n_inputs, writer, &header);
	}
	else
	{
		genie_build_phase(GENIE_PHASE_WRITE);
		genie_builder_write(state->builder, writer, &header);
	}
	entry = genie_segment_finish(writer, &header);
	for (int i = 0; i < n_inputs; i++)
		genie_segment_close_spilled(inputs[i]);
	flip.n_added = 1;
	flip.added = &entry;
	genie_meta_flip(state->index, &flip, true);
}

/*
 * An operator class for any array takes some arrays whose elements cannot be keywords.  That is refused
 * now, not with the first row.
 */
static void
genie_build_check_type(Relation index)
{
	Oid			element = get_base_element_type(TupleDescAttr(RelationGetDescr(index), 0)->atttypid);
	GenieValueType type;

	if (index->rd_opcintype[0] == ANYARRAYOID && OidIsValid(element))
		genie_value_type_init(&type, element, CurrentMemoryContext);
}

IndexBuildResult *
genie_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	GenieBuildState *state = palloc0(sizeof(GenieBuildState));

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));

	genie_build_check_type(index);
	genie_meta_create(index);
	state->index = index;
	state->decompose = index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC);
	state->collation = index->rd_indcollation[0];
	state->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie build row",
											   ALLOCSET_DEFAULT_SIZES);
	genie_keywords_init(&state->keywords);
	state->builder = genie_builder_begin(maintenance_work_mem * (Size) 1024);

	genie_build_phase(GENIE_PHASE_SCAN);
	result->heap_tuples = table_index_build_scan(heap, index, info, false, true,
												 genie_build_row, state, NULL);
	genie_build_finish(state);
	genie_builder_end(state->builder);
	MemoryContextDelete(state->row_context);

	GENIE_FAULT("build-before-log");
	genie_build_phase(GENIE_PHASE_LOG);
	genie_wal_log_build(index);
	GENIE_FAULT("build-logged");
	result->index_tuples = state->n_indexed;
	pfree(state);
	return result;
}

void
genie_buildempty(Relation index)
{
	PGAlignedBlock *page = palloc(sizeof(PGAlignedBlock));

	genie_meta_init((Page) page->data);
	genie_wal_write_init_fork(index, (Page) page->data);
	pfree(page);
}

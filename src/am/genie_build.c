/*
 * genie_build.c
 *	  CREATE INDEX: one pass over the table, one segment on disk.
 *
 * Phases
 *	train	Only for an operator class that learns: it learns its parameters from a sample (genie_approximate.c).  If
 *			there are too few rows for that, those that are not NULL become raw pending rows (genie_signer.h).
 *	scan	The heap is read in block order (no synchronised scan), by this process alone or together with workers
 *			(genie_build_parallel.c).  Each process collects its rows in memory and in runs, which are segments in
 *			temporary files (genie_build_runs.c).
 *	write	If everything fits into the memory of a single process, it is written to the index at once.
 *	merge	Otherwise all runs are merged into the index, by all processes together if there are workers.
 *	log		Every page of the new relation is logged, if the relation needs WAL (genie_wal_log_build).
 *
 * The state of the keywords' types is recorded before the first keyword is made (genie_type_state.h).  If a type
 * changes meanwhile, rows may get keywords of either state, and the index is refused until REINDEX.
 *
 * No other process sees the relation until the transaction commits.  So pages are written without
 * WAL before that, and an error leaves nothing behind.  Memory: the processes together stay below
 * maintenance_work_mem, plus the current heap page of each; a merge needs a posting list and four pages an
 * input.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "genie_approximate.h"
#include "genie_build.h"
#include "genie_build_parallel.h"
#include "genie_build_phase.h"
#include "genie_build_runs.h"
#include "genie_fault.h"
#include "genie_flip.h"
#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_options.h"
#include "genie_type_state.h"
#include "genie_value.h"
#include "genie_wal.h"

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
		case GENIE_PHASE_TRAIN:
			return "training";
		default:
			return NULL;
	}
}

/* Writes all that one or several processes have collected to the index, as one segment. */
static void
genie_build_write(Relation index, GenieBuildRuns *runs, GenieParallelBuild *parallel)
{
	GenieSegmentWriter *writer = genie_segment_begin(index, true, NULL);
	GenieRootHeader header;
	GenieSegmentEntry entry;
	GenieFlip	flip = {0};

	if (parallel != NULL)
		genie_build_parallel_write(parallel, writer, &header);
	else
		genie_build_runs_write(runs, writer, &header);
	entry = genie_segment_finish(writer, &header);
	flip.n_added = 1;
	flip.added = &entry;
	genie_flip_apply(index, &flip, true);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, entry.n_objects);
}

/*
 * Refuses an array whose elements cannot be keywords.  An operator class for any array cannot do that, so it would fail
 * at the first row.
 */
static void
genie_build_check_type(Relation index)
{
	Oid			element = get_base_element_type(TupleDescAttr(RelationGetDescr(index), 0)->atttypid);
	GenieValueType type;

	if (index->rd_opcintype[0] == ANYARRAYOID && OidIsValid(element))
		genie_value_type_init(&type, element, CurrentMemoryContext);
}

/* How many workers shall help?  PostgreSQL plans that only for its own access methods. */
static int
genie_build_plan_workers(Relation heap, Relation index)
{
	/* (that of a class of a metric is what the distance function is) */
	if (RelationGetNumberOfBlocks(heap) == 0 ||
		func_parallel(index_getprocid(index, 1, GENIE_DECOMPOSE_PROC)) != PROPARALLEL_SAFE)
		return 0;
	return Min(plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)), GENIE_WORKERS_MAX);
}

/* Without workers. */
static void
genie_build_alone(Relation heap, Relation index, IndexInfo *info, IndexBuildResult *result)
{
	GenieBuildRuns *runs = genie_build_runs_begin(index, maintenance_work_mem * (Size) 1024, NULL, 0);

	result->heap_tuples = genie_build_runs_scan(runs, heap, info, NULL, true);
	result->index_tuples = genie_build_runs_rows(runs);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) result->index_tuples);
	if (result->index_tuples > genie_build_runs_raw_rows(runs))
		genie_build_write(index, runs, NULL);
	genie_build_runs_end(runs);
}

/* An index that cannot have proximity graphs must not ask for them. */
static void
check_graph(Relation index)
{
	bool		is_approximate = OidIsValid(index_getprocid(index, 1, GENIE_SIGN_PROC));

	if (genie_graph_of(index) == 0 || genie_is_by_graph(index) ||
		(is_approximate && OidIsValid(index_getprocid(index, 1, GENIE_VALUE_PROC)) && genie_values_of(index)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("index \"%s\" cannot have proximity graphs", RelationGetRelationName(index)),
			 is_approximate && !genie_values_of(index) ?
			 errdetail("They are made of quantized vectors, which the storage parameter \"values\" leaves out.") :
			 errdetail("They are for approximate operator classes of vectors."),
			 errhint("Leave \"graph\" out, or use a class such as genie_l2_ops, genie_cosine_ops or genie_ip_ops.")));
}

IndexBuildResult *
genie_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	GenieParallelBuild *parallel = NULL;
	GenieTypeState types = genie_type_state_begin(index);
	bool		untrained;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));

	genie_build_check_type(index);
	check_graph(index);
	genie_meta_create(index, &types);
	untrained = false;
	if (genie_learns(index))
	{
		genie_build_phase(GENIE_PHASE_TRAIN);
		untrained = !genie_approximate_train(heap, index, info);
	}
	info->ii_ParallelWorkers = untrained ? 0 : genie_build_plan_workers(heap, index);
	if (info->ii_ParallelWorkers > 0)
		parallel = genie_build_parallel_begin(heap, index, info);
	if (parallel == NULL)
		genie_build_alone(heap, index, info, result);
	else
	{
		genie_build_parallel_scan(parallel, result);
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) result->index_tuples);
		if (result->index_tuples > 0)
			genie_build_write(index, NULL, parallel);
		genie_build_parallel_end(parallel);
	}

	GENIE_FAULT("build-before-log");
	genie_build_phase(GENIE_PHASE_LOG);
	genie_wal_log_build(index);
	GENIE_FAULT("build-logged");
	return result;
}

void
genie_buildempty(Relation index)
{
	PGAlignedBlock *page = palloc(sizeof(PGAlignedBlock));
	GenieTypeState types = genie_type_state_begin(index);

	genie_meta_init((Page) page->data, &types);
	genie_wal_write_init_fork(index, (Page) page->data);
	pfree(page);
}

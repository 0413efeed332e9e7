/*
 * genie_build_parallel.c
 *	  CREATE INDEX with PostgreSQL's maintenance workers.
 *
 * The *processes* of a build are the leader, which is the session that builds, and its workers; the leader is
 * number 0.  They share the table by a parallel table scan.  Each makes runs of its share
 * (genie_build_runs.c), with an equal part of maintenance_work_mem.  Then all of them merge all runs, each for other
 * parts of the keywords, and the leader appends the parts to the index.
 *
 *	leader									worker
 *	begin: DSM, start workers
 *	scan its share, list its runs			scan its share, list its runs
 *											add up its counts, n_scanned
 *	wait until all have scanned				wait for the stage after SCAN
 *	cut the keywords into parts: MERGE
 *	number the objects, write them			number the objects
 *	merge parts while there are some left	merge parts while there are some left
 *											list its parts, n_merged
 *	wait until all have merged				end
 *	append the parts
 *	end: wait for the workers' ends
 *
 * Every process numbers all objects by itself, from all runs, which is little work next to the posting lists.  There
 * are several times as many parts as processes, and processes take them one by one.  So a slow process, or one with a
 * long part, does not hold up the others.
 *
 * Runs of different processes interleave in TID order, piece by piece as the scan handed them out.  The scan
 * must not join other scans half way (phs_syncscan): it would go on at block 0 after the last block, and each
 * process would have a second run.
 *
 * Locks: a worker takes the locks that the leader holds.  They are of one lock group, so they do not conflict.
 *
 * Errors.  Everything shared lives in the DSM segment, and so does the owner of the temporary files (SharedFileSet).
 * However the leader ends, DestroyParallelContext stops the workers, and the last process that detaches removes the
 * files.  A worker's error is raised in the leader when it next checks for interrupts, which it does while it waits.
 * WaitForParallelWorkersToAttach notices a worker that never started.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"

#include "genie_build_parallel.h"
#include "genie_build_phase.h"
#include "genie_build_runs.h"
#include "genie_fault.h"
#include "genie_spilled_segment.h"

/*
 * Bytes: the least value of maintenance_work_mem.  PostgreSQL plans for 32 MB a process and more, unless the table's
 * parameter says how many workers.  With less than this a run would have only a few rows.
 */
#define GENIE_PROCESS_MEMORY_MIN (1024 * 1024)

/* keys of the DSM segment's table of contents */
typedef enum GenieParallelKey
{
	GENIE_KEY_SHARED = 1,
	GENIE_KEY_SCAN,
	GENIE_KEY_QUERY_TEXT,
	GENIE_KEY_BUFFER_USAGE,
	GENIE_KEY_WAL_USAGE
} GenieParallelKey;

/* SCAN -> MERGE, or SCAN -> DONE if there is nothing to merge */
typedef enum GenieParallelStage
{
	GENIE_STAGE_SCAN,
	GENIE_STAGE_MERGE,
	GENIE_STAGE_DONE
} GenieParallelStage;

/* parts for each process: more parts spread the load more evenly, fewer have less overhead */
#define GENIE_PARTS_A_PROCESS 4

typedef struct GenieParallelShared
{
	/* written before the workers start, then only read */
	Oid			heap;
	Oid			index;
	bool		concurrent;
	int			n_processes;	/* planned; workers that do not start leave their memory unused */
	Size		memory;			/* of each process */

	SharedFileSet files;		/* the processes' runs and parts */
	ConditionVariable changed;	/* of stage, n_scanned, n_merged */

	/* the rest under mutex, or by the leader alone before it sets the stage */
	slock_t		mutex;
	GenieParallelStage stage;	/* by the leader */

	/* SCAN: the workers' sums */
	int			n_scanned;		/* workers that have listed their runs */
	double		heap_tuples;
	double		index_tuples;
	bool		broken_hot_chain;

	/* MERGE: what the leader planned */
	int			n_started;		/* processes */
	int			n_parts;
	uint32		cut_lengths[GENIE_PARTS_MAX];	/* part i ends where part i + 1 begins, at cut i */
	uint8		cuts[GENIE_PARTS_MAX][GENIE_KEY_MAX];

	/* MERGE: what the processes do */
	int			next_part;
	int			merged_by[GENIE_PARTS_MAX];
	int			n_merged;		/* workers that have listed their parts */
} GenieParallelShared;

struct GenieParallelBuild
{
	ParallelContext *context;
	GenieParallelShared *shared;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	GenieBuildRuns *runs;
	Snapshot	snapshot;
	BufferUsage *buffer_usage;	/* one a worker */
	WalUsage   *wal_usage;
};

PGDLLEXPORT void genie_build_parallel_main(dsm_segment *segment, shm_toc *toc);

/* The most runs that a process may leave, so that one merge can take all. */
static int
genie_build_parallel_most_runs(const GenieParallelShared *shared)
{
	return Max(GENIE_SEGMENTS_MAX / shared->n_processes, 1);
}

/* Scans a process's share and lists its runs; returns the number of the table's rows that it saw. */
static double
genie_build_parallel_share(GenieBuildRuns *runs, const GenieParallelShared *shared, ParallelTableScanDesc scan,
						   Relation heap, IndexInfo *info)
{
	double		heap_tuples = genie_build_runs_scan(runs, heap, info, table_beginscan_parallel(heap, scan),
													!IsParallelWorker());

	GENIE_FAULT("build-scanned");
	genie_build_runs_share(runs, genie_build_parallel_most_runs(shared));
	return heap_tuples;
}

/* Opens the runs of all processes; returns how many.  *inputs is palloc'd. */
static int
genie_build_parallel_open(GenieParallelShared *shared, GenieSegment ***inputs)
{
	int			n = 0;

	*inputs = palloc(sizeof(GenieSegment *) * genie_build_parallel_most_runs(shared) * shared->n_started);
	for (int process = 0; process < shared->n_started; process++)
	{
		GenieSegment **theirs;
		int			n_theirs = genie_spilled_segment_open(&shared->files.fs, process, 0, &theirs);

		memcpy(*inputs + n, theirs, sizeof(GenieSegment *) * n_theirs);
		n += n_theirs;
		pfree(theirs);
	}
	return n;
}

/* A part's first key, or the end of the last part. */
static GenieKey
genie_build_parallel_cut(const GenieParallelShared *shared, int part)
{
	GenieKey	key = {NULL, 0};

	if (part > 0 && part < shared->n_parts)
	{
		key.data = shared->cuts[part - 1];
		key.len = shared->cut_lengths[part - 1];
	}
	return key;
}

/* Merges parts until all are taken, and lists those that this process merged. */
static void
genie_build_parallel_merge(GenieBuildRuns *runs, int process, GenieParallelShared *shared, GenieMerge *merge)
{
	for (;;)
	{
		int			part;

		SpinLockAcquire(&shared->mutex);
		part = shared->next_part;
		if (part < shared->n_parts)
			shared->merged_by[shared->next_part++] = process;
		SpinLockRelease(&shared->mutex);
		if (part == shared->n_parts)
			break;
		genie_build_runs_merge_part(runs, merge, genie_build_parallel_cut(shared, part),
									genie_build_parallel_cut(shared, part + 1));
		GENIE_FAULT("build-part");
	}
	genie_build_runs_share_parts(runs);
}

/* Reserves room for a chunk and its key. */
static void
genie_build_parallel_estimate(ParallelContext *context, Size n)
{
	shm_toc_estimate_chunk(&context->estimator, n);
	shm_toc_estimate_keys(&context->estimator, 1);
}

/* A chunk of the DSM segment under its key. */
static void *
genie_build_parallel_chunk(ParallelContext *context, GenieParallelKey key, Size n)
{
	void	   *chunk = shm_toc_allocate(context->toc, n);

	shm_toc_insert(context->toc, key, chunk);
	return chunk;
}

/* Fills the DSM segment. */
static void
genie_build_parallel_fill(GenieParallelBuild *build, Size scan_size)
{
	ParallelContext *context = build->context;
	GenieParallelShared *shared = genie_build_parallel_chunk(context, GENIE_KEY_SHARED, sizeof(GenieParallelShared));
	ParallelTableScanDesc scan = genie_build_parallel_chunk(context, GENIE_KEY_SCAN, scan_size);

	memset(shared, 0, sizeof(*shared));
	shared->heap = RelationGetRelid(build->heap);
	shared->index = RelationGetRelid(build->index);
	shared->concurrent = build->info->ii_Concurrent;
	shared->n_processes = context->nworkers + 1;
	shared->memory = Max(maintenance_work_mem * (Size) 1024 / shared->n_processes, GENIE_PROCESS_MEMORY_MIN);
	SharedFileSetInit(&shared->files, context->seg);
	ConditionVariableInit(&shared->changed);
	SpinLockInit(&shared->mutex);
	build->shared = shared;

	table_parallelscan_initialize(build->heap, scan, build->snapshot);
	scan->phs_syncscan = false;
	build->buffer_usage = genie_build_parallel_chunk(context, GENIE_KEY_BUFFER_USAGE,
													 sizeof(BufferUsage) * context->nworkers);
	build->wal_usage = genie_build_parallel_chunk(context, GENIE_KEY_WAL_USAGE,
												  sizeof(WalUsage) * context->nworkers);
	if (debug_query_string != NULL)
		strcpy(genie_build_parallel_chunk(context, GENIE_KEY_QUERY_TEXT, strlen(debug_query_string) + 1),
			   debug_query_string);
}

GenieParallelBuild *
genie_build_parallel_begin(Relation heap, Relation index, IndexInfo *info)
{
	GenieParallelBuild *build = palloc0(sizeof(GenieParallelBuild));
	ParallelContext *context;
	Size		scan_size;

	build->heap = heap;
	build->index = index;
	build->info = info;
	EnterParallelMode();
	build->context = context = CreateParallelContext("$libdir/genie", "genie_build_parallel_main",
													 info->ii_ParallelWorkers);
	/* all processes of a concurrent build must see the same rows; other builds look at each row's state */
	build->snapshot = info->ii_Concurrent ? RegisterSnapshot(GetTransactionSnapshot()) : SnapshotAny;
	scan_size = table_parallelscan_estimate(heap, build->snapshot);
	genie_build_parallel_estimate(context, sizeof(GenieParallelShared));
	genie_build_parallel_estimate(context, scan_size);
	genie_build_parallel_estimate(context, mul_size(sizeof(BufferUsage), context->nworkers));
	genie_build_parallel_estimate(context, mul_size(sizeof(WalUsage), context->nworkers));
	if (debug_query_string != NULL)
		genie_build_parallel_estimate(context, strlen(debug_query_string) + 1);
	InitializeParallelDSM(context);
	if (context->seg != NULL)
	{
		genie_build_parallel_fill(build, scan_size);
		LaunchParallelWorkers(context);
	}
	if (context->nworkers_launched == 0)
	{
		genie_build_parallel_end(build);
		return NULL;
	}
	return build;
}

/* Waits until the count has reached the number of workers. */
static void
genie_build_parallel_wait(GenieParallelBuild *build, const int *count)
{
	GenieParallelShared *shared = build->shared;

	for (;;)
	{
		int			n;

		SpinLockAcquire(&shared->mutex);
		n = *count;
		SpinLockRelease(&shared->mutex);
		if (n == build->context->nworkers_launched)
			break;
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/* The leader sets the next stage. */
static void
genie_build_parallel_set_stage(GenieParallelShared *shared, GenieParallelStage stage)
{
	SpinLockAcquire(&shared->mutex);
	shared->stage = stage;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

/* A worker waits for it. */
static GenieParallelStage
genie_build_parallel_await_stage(GenieParallelShared *shared)
{
	GenieParallelStage stage;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		stage = shared->stage;
		SpinLockRelease(&shared->mutex);
		if (stage != GENIE_STAGE_SCAN)
			break;
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
	return stage;
}

void
genie_build_parallel_scan(GenieParallelBuild *build, IndexBuildResult *result)
{
	GenieParallelShared *shared = build->shared;
	ParallelTableScanDesc scan = shm_toc_lookup(build->context->toc, GENIE_KEY_SCAN, false);

	build->runs = genie_build_runs_begin(build->index, shared->memory, &shared->files.fs, 0);
	result->heap_tuples = genie_build_parallel_share(build->runs, shared, scan, build->heap, build->info);
	genie_build_phase(GENIE_PHASE_SCAN);
	/* raises an error if a worker did not start: its count would never come */
	WaitForParallelWorkersToAttach(build->context);
	genie_build_parallel_wait(build, &shared->n_scanned);
	result->heap_tuples += shared->heap_tuples;
	result->index_tuples = genie_build_runs_rows(build->runs) + shared->index_tuples;
	build->info->ii_BrokenHotChain |= shared->broken_hot_chain;
	shared->n_started = build->context->nworkers_launched + 1;
}

void
genie_build_parallel_write(GenieParallelBuild *build, GenieSegmentWriter *writer, GenieRootHeader *header)
{
	GenieParallelShared *shared = build->shared;
	GenieSegment **inputs;
	GenieSegment *parts[GENIE_PARTS_MAX];
	GenieSegment ***by_process = palloc(sizeof(GenieSegment **) * shared->n_started);
	int		   *taken = palloc0(sizeof(int) * shared->n_started);
	int			n = genie_build_parallel_open(shared, &inputs);
	int			longest = 0;
	GenieMerge *merge;

	genie_build_phase(GENIE_PHASE_MERGE);
	GENIE_FAULT("build-before-merge");
	for (int i = 1; i < n; i++)
		if (inputs[i]->header.n_postings > inputs[longest]->header.n_postings)
			longest = i;
	shared->n_parts = 1 + genie_merge_cuts(inputs[longest],
										   Min(GENIE_PARTS_A_PROCESS * shared->n_started, GENIE_PARTS_MAX),
										   shared->cuts, shared->cut_lengths);
	genie_build_parallel_set_stage(shared, GENIE_STAGE_MERGE);

	merge = genie_merge_begin(inputs, n, true, writer, header);
	genie_build_parallel_merge(build->runs, 0, shared, merge);
	genie_merge_end(merge);
	genie_build_parallel_wait(build, &shared->n_merged);
	for (int i = 0; i < n; i++)
		genie_spilled_segment_close(inputs[i]);

	/* a process lists its parts in the order in which it took them, which is ascending */
	for (int process = 0; process < shared->n_started; process++)
		(void) genie_spilled_segment_open(&shared->files.fs, process, 1, &by_process[process]);
	for (int part = 0; part < shared->n_parts; part++)
		parts[part] = by_process[shared->merged_by[part]][taken[shared->merged_by[part]]++];
	genie_merge_append(parts, shared->n_parts, writer, header);
	for (int part = 0; part < shared->n_parts; part++)
		genie_spilled_segment_close(parts[part]);
}

void
genie_build_parallel_end(GenieParallelBuild *build)
{
	if (build->context->nworkers_launched > 0)
		genie_build_parallel_set_stage(build->shared, GENIE_STAGE_DONE);
	WaitForParallelWorkersToFinish(build->context);
	for (int i = 0; i < build->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&build->buffer_usage[i], &build->wal_usage[i]);
	if (build->runs != NULL)
		genie_build_runs_end(build->runs);
	if (IsMVCCSnapshot(build->snapshot))
		UnregisterSnapshot(build->snapshot);
	DestroyParallelContext(build->context);
	ExitParallelMode();
}

/* A worker takes part in the merge. */
static void
genie_build_parallel_help_merge(GenieBuildRuns *runs, GenieParallelShared *shared)
{
	GenieSegment **inputs;
	int			n = genie_build_parallel_open(shared, &inputs);
	GenieRootHeader header;
	GenieMerge *merge = genie_merge_begin(inputs, n, true, NULL, &header);

	genie_build_parallel_merge(runs, ParallelWorkerNumber + 1, shared, merge);
	genie_merge_end(merge);
	for (int i = 0; i < n; i++)
		genie_spilled_segment_close(inputs[i]);
	SpinLockAcquire(&shared->mutex);
	shared->n_merged++;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

/* The entry point of a worker. */
void
genie_build_parallel_main(dsm_segment *segment, shm_toc *toc)
{
	GenieParallelShared *shared = shm_toc_lookup(toc, GENIE_KEY_SHARED, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, GENIE_KEY_BUFFER_USAGE, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, GENIE_KEY_WAL_USAGE, false);
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	GenieBuildRuns *runs;
	double		heap_tuples;

	debug_query_string = shm_toc_lookup(toc, GENIE_KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	heap = table_open(shared->heap, shared->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	index = index_open(shared->index, shared->concurrent ? RowExclusiveLock : AccessExclusiveLock);
	info = BuildIndexInfo(index);
	info->ii_Concurrent = shared->concurrent;
	SharedFileSetAttach(&shared->files, segment);

	InstrStartParallelQuery();
	runs = genie_build_runs_begin(index, shared->memory, &shared->files.fs, ParallelWorkerNumber + 1);
	heap_tuples = genie_build_parallel_share(runs, shared, shm_toc_lookup(toc, GENIE_KEY_SCAN, false), heap, info);
	GENIE_FAULT("build-worker-listed");

	SpinLockAcquire(&shared->mutex);
	shared->n_scanned++;
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += genie_build_runs_rows(runs);
	shared->broken_hot_chain |= info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);

	if (genie_build_parallel_await_stage(shared) == GENIE_STAGE_MERGE)
		genie_build_parallel_help_merge(runs, shared);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);
	genie_build_runs_end(runs);
	index_close(index, NoLock);
	table_close(heap, NoLock);
}

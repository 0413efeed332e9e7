/*
 * genie_build_parallel.c
 *	  CREATE INDEX with PostgreSQL's maintenance workers.
 *
 * The leader, which is the session that builds, and its workers are the *processes* of the build; the leader is
 * number 0.  They share the table by a parallel table scan, and each makes runs of what it gets
 * (genie_build_runs.c), with an equal part of maintenance_work_mem.  Then the leader merges all runs into the index.
 *
 *	leader									worker
 *	begin: DSM, start workers
 *	scan its share							scan its share
 *											list its runs, add up its counts, signal `changed`
 *	wait until all have scanned				end
 *	open everybody's runs, merge
 *	end: wait for the workers' ends
 *
 * Runs of different processes interleave in TID order, piece by piece as the scan handed them out.  The scan
 * is told not to join other scans half way (phs_syncscan): it would go on at block 0 after the last one, and each
 * process have a second run.
 *
 * Locks: a worker takes the locks that the leader holds; they are of one lock group, so they do not conflict.
 *
 * Errors.  Everything shared lives in the DSM segment, and so do the temporary files (SharedFileSet): whichever way the
 * leader ends, DestroyParallelContext stops the workers, and the last process that detaches removes the files.  A
 * worker's error is raised in the leader when it next looks for interrupts, and it does look whenever it waits.  A
 * worker that never started is noticed by WaitForParallelWorkersToAttach.
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

#include "genie_build.h"
#include "genie_build_parallel.h"
#include "genie_build_runs.h"
#include "genie_fault.h"
#include "genie_spill.h"

/*
 * Bytes: the least value of maintenance_work_mem.  PostgreSQL plans 32 MB a process and more, unless the table's
 * parameter says how many workers; with less than this a run would have but a few rows.
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

typedef struct GenieParallelShared
{
	/* written before the workers start, then only read */
	Oid			heap;
	Oid			index;
	bool		concurrent;
	int			n_processes;	/* that were planned: workers that do not start leave their memory unused */
	Size		memory;			/* of each process */

	SharedFileSet files;		/* the processes' runs */
	ConditionVariable changed;	/* of n_scanned */

	/* the workers' sums, under mutex */
	slock_t		mutex;
	int			n_scanned;		/* workers that have listed their runs */
	double		heap_tuples;
	double		index_tuples;
	bool		broken_hot_chain;
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

PGDLLEXPORT void genie_build_worker_main(dsm_segment *segment, shm_toc *toc);

/* The most runs that a process may leave, so that one merge takes them all. */
static int
genie_build_parallel_most_runs(const GenieParallelShared *shared)
{
	return Max(GENIE_SEGMENTS_MAX / shared->n_processes, 1);
}

/* What a process does until it has listed its runs or can use them itself. */
static int
genie_build_parallel_share(GenieBuildRuns *runs, const GenieParallelShared *shared, ParallelTableScanDesc scan,
						   Relation heap, IndexInfo *info, GenieSegment ***inputs, double *heap_tuples)
{
	*heap_tuples = genie_build_runs_scan(runs, heap, info, table_beginscan_parallel(heap, scan), !IsParallelWorker());
	GENIE_FAULT("build-scanned");
	return genie_build_runs_finish(runs, genie_build_parallel_most_runs(shared), inputs);
}

/* Reserves what a chunk and its key take. */
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
	build->context = context = CreateParallelContext("$libdir/genie", "genie_build_worker_main",
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

void
genie_build_parallel_end(GenieParallelBuild *build)
{
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

/* Waits until all workers have listed their runs. */
static void
genie_build_parallel_wait(GenieParallelBuild *build)
{
	GenieParallelShared *shared = build->shared;

	genie_build_phase(GENIE_PHASE_SCAN);
	/* that one does not start must not keep us waiting */
	WaitForParallelWorkersToAttach(build->context);
	for (;;)
	{
		int			n_scanned;

		SpinLockAcquire(&shared->mutex);
		n_scanned = shared->n_scanned;
		SpinLockRelease(&shared->mutex);
		if (n_scanned == build->context->nworkers_launched)
			break;
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

int
genie_build_parallel_scan(GenieParallelBuild *build, IndexBuildResult *result, GenieSegment ***inputs)
{
	GenieParallelShared *shared = build->shared;
	ParallelTableScanDesc scan = shm_toc_lookup(build->context->toc, GENIE_KEY_SCAN, false);
	int			n_workers = build->context->nworkers_launched;
	GenieSegment **own;
	int			n;

	build->runs = genie_build_runs_begin(build->index, shared->memory, &shared->files.fs, 0);
	n = genie_build_parallel_share(build->runs, shared, scan, build->heap, build->info, &own, &result->heap_tuples);
	genie_build_parallel_wait(build);

	result->heap_tuples += shared->heap_tuples;
	result->index_tuples = genie_build_runs_rows(build->runs) + shared->index_tuples;
	build->info->ii_BrokenHotChain |= shared->broken_hot_chain;
	*inputs = palloc(sizeof(GenieSegment *) * genie_build_parallel_most_runs(shared) * (n_workers + 1));
	memcpy(*inputs, own, sizeof(GenieSegment *) * n);
	for (int process = 1; process <= n_workers; process++)
	{
		GenieSegment **theirs;
		int			n_theirs = genie_spill_open(&shared->files.fs, process, &theirs);

		memcpy(*inputs + n, theirs, sizeof(GenieSegment *) * n_theirs);
		n += n_theirs;
	}
	GENIE_FAULT("build-before-merge");
	return genie_build_runs_reduce(build->runs, *inputs, n, GENIE_SEGMENTS_MAX);
}

/* A worker: what PostgreSQL starts it with. */
void
genie_build_worker_main(dsm_segment *segment, shm_toc *toc)
{
	GenieParallelShared *shared = shm_toc_lookup(toc, GENIE_KEY_SHARED, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, GENIE_KEY_BUFFER_USAGE, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, GENIE_KEY_WAL_USAGE, false);
	int			process = ParallelWorkerNumber + 1;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	GenieBuildRuns *runs;
	GenieSegment **inputs;
	double		heap_tuples;
	int			n;

	debug_query_string = shm_toc_lookup(toc, GENIE_KEY_QUERY_TEXT, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	heap = table_open(shared->heap, shared->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	index = index_open(shared->index, shared->concurrent ? RowExclusiveLock : AccessExclusiveLock);
	info = BuildIndexInfo(index);
	info->ii_Concurrent = shared->concurrent;
	SharedFileSetAttach(&shared->files, segment);

	InstrStartParallelQuery();
	runs = genie_build_runs_begin(index, shared->memory, &shared->files.fs, process);
	n = genie_build_parallel_share(runs, shared, shm_toc_lookup(toc, GENIE_KEY_SCAN, false), heap, info,
								   &inputs, &heap_tuples);
	genie_build_runs_share(runs, inputs, n);
	GENIE_FAULT("build-worker-listed");

	SpinLockAcquire(&shared->mutex);
	shared->n_scanned++;
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += genie_build_runs_rows(runs);
	shared->broken_hot_chain |= info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
	ConditionVariableSignal(&shared->changed);

	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);
	genie_build_runs_end(runs);
	index_close(index, NoLock);
	table_close(heap, NoLock);
}

/*
 * genie_stat.c
 *	  Counters and the worker's report in shared memory (genie_stat.h).
 *
 * The report has one writer at a time: the worker, later the next worker.  The spinlock is for readers, which copy all
 * of it (4 kB) at once.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "genie_stat.h"

typedef struct GenieStatShared
{
	pg_atomic_uint64 counters[GENIE_COUNTERS];
	pg_atomic_uint64 fallbacks[GENIE_FALLBACKS];
	pg_atomic_uint64 batch_searches;
	pg_atomic_uint64 batch_queries;
	pg_atomic_uint64 batch_done;
	slock_t		mutex;			/* of the fields below */
	TimestampTz since;
	GenieWorkerReport report;
} GenieStatShared;

static GenieStatShared *stat_shared = NULL;

/* This process's part of the batch searches that run. */
static GenieBatchProgress batch_here = {0, 0, 0};

Size
genie_stat_shmem_size(void)
{
	return sizeof(GenieStatShared);
}

void
genie_stat_shmem_init(void *memory)
{
	stat_shared = memory;
	if (IsUnderPostmaster)
		return;
	memset(stat_shared, 0, sizeof(*stat_shared));
	for (int i = 0; i < GENIE_COUNTERS; i++)
		pg_atomic_init_u64(&stat_shared->counters[i], 0);
	for (int i = 0; i < GENIE_FALLBACKS; i++)
		pg_atomic_init_u64(&stat_shared->fallbacks[i], 0);
	pg_atomic_init_u64(&stat_shared->batch_searches, 0);
	pg_atomic_init_u64(&stat_shared->batch_queries, 0);
	pg_atomic_init_u64(&stat_shared->batch_done, 0);
	SpinLockInit(&stat_shared->mutex);
	stat_shared->since = GetCurrentTimestamp();
}

void
genie_stat_add(GenieCounter counter, uint64 n)
{
	if (stat_shared != NULL)
		pg_atomic_fetch_add_u64(&stat_shared->counters[counter], n);
}

void
genie_stat_fallback(GenieFallback why)
{
	if (stat_shared == NULL)
		return;
	pg_atomic_fetch_add_u64(&stat_shared->fallbacks[why], 1);
	pg_atomic_fetch_add_u64(&stat_shared->counters[GENIE_COUNTER_BY_BACKEND], 1);
}

static void
genie_stat_add_batch(const GenieBatchProgress *more)
{
	pg_atomic_fetch_add_u64(&stat_shared->batch_searches, more->n_searches);
	pg_atomic_fetch_add_u64(&stat_shared->batch_queries, more->n_queries);
	pg_atomic_fetch_add_u64(&stat_shared->batch_done, more->n_done);
}

/* The process exits in the middle of its searches: subtracts its part. */
static void
genie_stat_batch_at_exit(int code, Datum arg)
{
	GenieBatchProgress less = {-batch_here.n_searches, -batch_here.n_queries, -batch_here.n_done};

	genie_stat_add_batch(&less);
}

void
genie_stat_batch(const GenieBatchProgress *more)
{
	static bool exit_registered = false;

	if (stat_shared == NULL)
		return;
	if (!exit_registered)
	{
		before_shmem_exit(genie_stat_batch_at_exit, 0);
		exit_registered = true;
	}
	batch_here.n_searches += more->n_searches;
	batch_here.n_queries += more->n_queries;
	batch_here.n_done += more->n_done;
	genie_stat_add_batch(more);
}

bool
genie_stat_read(GenieStatCounters *counters, GenieWorkerReport *report)
{
	if (stat_shared == NULL)
		return false;
	for (int i = 0; i < GENIE_COUNTERS; i++)
		counters->counters[i] = pg_atomic_read_u64(&stat_shared->counters[i]);
	for (int i = 0; i < GENIE_FALLBACKS; i++)
		counters->fallbacks[i] = pg_atomic_read_u64(&stat_shared->fallbacks[i]);
	counters->batches.n_searches = (int64) pg_atomic_read_u64(&stat_shared->batch_searches);
	counters->batches.n_queries = (int64) pg_atomic_read_u64(&stat_shared->batch_queries);
	counters->batches.n_done = (int64) pg_atomic_read_u64(&stat_shared->batch_done);
	SpinLockAcquire(&stat_shared->mutex);
	counters->since = stat_shared->since;
	*report = stat_shared->report;
	SpinLockRelease(&stat_shared->mutex);
	return true;
}

uint32
genie_stat_n_devices(void)
{
	uint32		n;

	if (stat_shared == NULL)
		return 0;
	SpinLockAcquire(&stat_shared->mutex);
	n = stat_shared->report.n_devices;
	SpinLockRelease(&stat_shared->mutex);
	return n;
}

void
genie_stat_reset(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (stat_shared == NULL)
		return;
	for (int i = 0; i < GENIE_COUNTERS; i++)
		pg_atomic_write_u64(&stat_shared->counters[i], 0);
	for (int i = 0; i < GENIE_FALLBACKS; i++)
		pg_atomic_write_u64(&stat_shared->fallbacks[i], 0);
	SpinLockAcquire(&stat_shared->mutex);
	stat_shared->since = now;
	SpinLockRelease(&stat_shared->mutex);
}

/* ---- the worker's report ---- */

void
genie_stat_worker(GenieWorkerState state, const char *engine)
{
	GenieWorkerReport *report = &stat_shared->report;

	SpinLockAcquire(&stat_shared->mutex);
	report->pid = state == GENIE_WORKER_DOWN ? 0 : MyProcPid;
	report->state = state;
	strlcpy(report->engine, engine, sizeof(report->engine));
	SpinLockRelease(&stat_shared->mutex);
}

void
genie_stat_devices(const GenieDeviceInfo *devices, uint32 n)
{
	SpinLockAcquire(&stat_shared->mutex);
	stat_shared->report.n_devices = n;
	if (n > 0)
		memcpy(stat_shared->report.devices, devices, n * sizeof(GenieDeviceInfo));
	SpinLockRelease(&stat_shared->mutex);
}

void
genie_stat_choices(bool is_gpu, const GenieEngineChoices *before, const GenieEngineChoices *now)
{
	GenieWorkerReport *report = &stat_shared->report;
	GenieStatChoice *choice = is_gpu ? &report->gpu_choice : &report->cpu_choice;

	genie_stat_add(GENIE_COUNTER_BY_TILES, now->n_tiles - before->n_tiles);
	genie_stat_add(GENIE_COUNTER_BY_LANES, now->n_lanes - before->n_lanes);
	genie_stat_add(GENIE_COUNTER_BY_TENSOR, now->n_tensor - before->n_tensor);
	SpinLockAcquire(&stat_shared->mutex);
	memcpy(choice->reason, now->reason, sizeof(choice->reason));
	memcpy(choice->constants, now->constants, sizeof(choice->constants));
	SpinLockRelease(&stat_shared->mutex);
}

void
genie_stat_error(const char *message)
{
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&stat_shared->mutex);
	strlcpy(stat_shared->report.error, message, sizeof(stat_shared->report.error));
	stat_shared->report.error_at = now;
	SpinLockRelease(&stat_shared->mutex);
}

void
genie_stat_lost(uint32 device, int window_ms)
{
	GenieDeviceLosses *losses = &stat_shared->report.losses[device];
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&stat_shared->mutex);
	if (now - losses->at > (TimestampTz) window_ms * 1000)
		losses->n_in_row = 0;
	losses->at = now;
	losses->n_in_row++;
	losses->n++;
	SpinLockRelease(&stat_shared->mutex);
}

void
genie_stat_forget_losses(void)
{
	SpinLockAcquire(&stat_shared->mutex);
	for (int device = 0; device < GENIE_DEVICES_MAX; device++)
		stat_shared->report.losses[device].n_in_row = 0;
	SpinLockRelease(&stat_shared->mutex);
}

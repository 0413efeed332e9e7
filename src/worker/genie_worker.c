/*
 * genie_worker.c
 *	  The background worker: takes backends' requests, counts them as one batch, answers.
 *
 * It has no database connection (a connected worker would stand in the way of DROP DATABASE), touches no
 * buffers and no relations, and reads images in shared memory only.  Now and then it looks whether the files of their
 * indexes are still there (genie_eviction_sweep), writes down which there are (genie_autoprewarm), and has loaders
 * started (genie_loader).  No other process has an engine on these images: a GPU engine where there is a usable GPU,
 * and always the CPU engine, which does what the GPU could not.
 *
 * Loop.  Batching is natural: it takes all requests that are ready (up to genie.max_batch queries), counts them at
 * once, answers, and looks again; it sleeps when there are none.  Requests that come while it counts are
 * the next batch.  Nothing waits for a batch to fill.  A batch: genie_worker_batch.c.
 *
 * Ends, and what the exit status means to the postmaster:
 *
 *	SIGTERM, the server stops		status 1: restarted after RESTART_SECONDS, unless the server stops
 *	the device is lost				the same, in a new process: a CUDA context cannot be revived
 *	an ERROR of PostgreSQL's		the same
 *	any signal that kills it		the postmaster restarts the whole server
 *	(status 0 would mean: never again)
 *
 * On each of the first three a callback (leave) answers all waiting backends, and voids pins.
 *
 * Of several GPUs (engine/devices/genie_engines.h), one may be lost while the others do its work.  Then the worker goes
 * on, and restarts when it has had nothing to do for LOST_IDLE_MS.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_autoprewarm.h"
#include "genie_compat.h"
#include "genie_directory.h"
#include "genie_eviction.h"
#include "genie_loader.h"
#include "genie_request.h"
#include "genie_stat.h"
#include "genie_wait_event.h"
#include "genie_worker.h"
#include "genie_worker_batch.h"
#include "genie_worker_engines.h"

#define RESTART_SECONDS 2
#define PIN_IDLE_MS 200			/* a step of the images' memory is pinned after doing nothing for so long, */
#define PIN_BUSY_MS 3000		/* or so long after the one before */
#define LOST_IDLE_MS 1000		/* a worker that has lost one of its devices restarts after doing nothing for so long */
#define SWEEP_MS (5 * 1000)		/* images of indexes that are gone are dropped so soon */

pg_noreturn PGDLLEXPORT void genie_worker_main(Datum arg);

void
genie_worker_register(void)
{
	BackgroundWorker registration;

	/* without images there is nothing to count */
	if (!process_shared_preload_libraries_in_progress || genie_shared_memory == 0)
		return;
	memset(&registration, 0, sizeof(registration));
	registration.bgw_flags = BGWORKER_SHMEM_ACCESS;
	registration.bgw_start_time = BgWorkerStart_ConsistentState;
	registration.bgw_restart_time = RESTART_SECONDS;
	strlcpy(registration.bgw_library_name, "genie", BGW_MAXLEN);
	strlcpy(registration.bgw_function_name, "genie_worker_main", BGW_MAXLEN);
	strlcpy(registration.bgw_name, "genie worker", BGW_MAXLEN);
	strlcpy(registration.bgw_type, "genie worker", BGW_MAXLEN);
	RegisterBackgroundWorker(&registration);
}

/* ---- the process ---- */

/* On the way out, whatever the reason. */
static void
leave(int code, Datum arg)
{
	LWLockReleaseAll();			/* an ERROR may have left one held */
	genie_request_worker_down();
	genie_worker_report_batches();
	genie_directory_unpin_all();
	genie_stat_devices(NULL, 0);
	genie_stat_worker(GENIE_WORKER_DOWN, "");
}

void
genie_worker_main(Datum arg)
{
	TimestampTz swept_at = 0;
	TimestampTz pinned_at = GetCurrentTimestamp();
	GenieAutoprewarm kept = {0};
	MemoryContext batch_context;
	bool		counted = false;
	bool		pins;
	int			events;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	before_shmem_exit(leave, 0);
	genie_stat_worker(GENIE_WORKER_STARTING, "");
	genie_stat_add(GENIE_COUNTER_WORKER_STARTS, 1);
	genie_request_worker_down();	/* answers requests that an earlier worker left */
	genie_directory_unpin_all();
	batch_context = AllocSetContextCreate(TopMemoryContext, "genie batch", ALLOCSET_DEFAULT_SIZES);
	genie_worker_batches_begin();
	genie_worker_engines_open(genie_worker_is_interrupted);
	MemoryContextSwitchTo(batch_context);
	genie_autoprewarm_begin();
	genie_worker_report_state(GENIE_WORKER_IDLE);
	genie_request_worker_up();
	genie_worker_measure_cpu(); /* requests wait meanwhile */

	/* All that sets the latch (requests, SIGTERM, SIGHUP) is checked after each reset and before the next wait. */
	while (!ShutdownRequestPending)
	{
		if (ConfigReloadPending)
			genie_worker_reload();
		genie_worker_reopen_gpu();
		MemoryContextReset(batch_context);
		if (TimestampDifferenceExceeds(swept_at, GetCurrentTimestamp(), SWEEP_MS))
		{
			genie_eviction_sweep();
			genie_loader_look_after();
			genie_autoprewarm_keep(&kept, false);
			swept_at = GetCurrentTimestamp();
		}
		if (genie_worker_run_batch())
		{
			counted = true;
			if (genie_worker_is_to_pin() && TimestampDifferenceExceeds(pinned_at, GetCurrentTimestamp(), PIN_BUSY_MS))
			{
				genie_worker_pin_more();
				pinned_at = GetCurrentTimestamp();
			}
			continue;
		}
		if (counted)
		{
			genie_worker_report_state(GENIE_WORKER_IDLE);
			genie_worker_report_devices();
			counted = false;
		}
		genie_worker_forget_dropped();
		pins = genie_worker_is_to_pin();
		events = WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT,
						   genie_worker_has_lost() ? LOST_IDLE_MS : pins ? PIN_IDLE_MS : SWEEP_MS,
						   genie_wait_event(GENIE_WAIT_WORKER_MAIN));
		ResetLatch(MyLatch);
		if (genie_worker_has_lost() && (events & WL_TIMEOUT) != 0)
			break;
		if (pins && (events & WL_TIMEOUT) != 0)
		{
			genie_worker_pin_more();
			pinned_at = GetCurrentTimestamp();
		}
	}
	genie_autoprewarm_keep(&kept, true);
	proc_exit(1);
}

/*
 * genie_stat.h
 *	  Counters that genie_stat shows, and the worker's report of itself and its devices.
 *
 * They lie in shared memory; without preload there are none, and the functions that count do nothing.
 *
 *	counters	atomic; any process adds, any process reads; they are statistics and promise no common moment
 *	batches		the same; genie_stat_reset() leaves them alone
 *	report		the worker writes it, and reads are made, under the spinlock
 */
#ifndef GENIE_STAT_H
#define GENIE_STAT_H

#include "datatype/timestamp.h"
#include "genie_engine.h"
#include "genie_fallback.h"
#include "genie_placement.h"

typedef enum GenieCounter
{
	GENIE_COUNTER_REQUESTS,		/* round trips from a backend to the worker */
	GENIE_COUNTER_QUERIES,		/* in them: queries, each on one segment */
	GENIE_COUNTER_BATCHES,
	GENIE_COUNTER_BATCHED,		/* queries in those batches */
	GENIE_COUNTER_WAIT_US,		/* from ready to taken, summed over requests */
	GENIE_COUNTER_COUNT_US,		/* in the engine, summed over batches */
	GENIE_COUNTER_BY_GPU,		/* queries on a segment answered by ... */
	GENIE_COUNTER_BY_WORKER_CPU,
	GENIE_COUNTER_BY_BACKEND,
	GENIE_COUNTER_DEVICE_RETRY, /* of those that the GPU could not answer: failed, */
	GENIE_COUNTER_DEVICE_FULL,	/* did not fit the device, */
	GENIE_COUNTER_DEVICE_LOST,	/* the device was lost */
	GENIE_COUNTER_BY_TILES,		/* searches in the worker counted by posting lists, */
	GENIE_COUNTER_BY_LANES,		/* by bit lanes, */
	GENIE_COUNTER_BY_TENSOR,	/* by those on tensor cores */
	GENIE_COUNTER_WORKER_STARTS,
	GENIE_COUNTERS				/* how many there are */
} GenieCounter;

typedef enum GenieWorkerState
{
	GENIE_WORKER_DOWN = 0,
	GENIE_WORKER_STARTING,
	GENIE_WORKER_IDLE,
	GENIE_WORKER_COUNTING
} GenieWorkerState;

/* Batch searches that run now. */
typedef struct GenieBatchProgress
{
	int64		n_searches;
	int64		n_queries;		/* in them */
	int64		n_done;			/* of these */
} GenieBatchProgress;

#define GENIE_DEVICES_MAX GENIE_PLACEMENT_ENGINES

/* Losses of a device. */
typedef struct GenieDeviceLosses
{
	uint64		n;
	uint32		n_in_row;		/* each not long after the one before */
	TimestampTz at;				/* of the last one */
} GenieDeviceLosses;

/* An engine's reason for its last choice between tiles and lanes; "" before the first. */
typedef struct GenieStatChoice
{
	char		reason[GENIE_ENGINE_REASON_MAX];
	char		constants[GENIE_ENGINE_REASON_MAX];
} GenieStatChoice;

/* The worker's report of itself. */
typedef struct GenieWorkerReport
{
	int			pid;			/* 0: none */
	GenieWorkerState state;
	char		engine[16];		/* "cuda", "cpu", "" while there is none */
	char		error[GENIE_ENGINE_ERROR_MAX];	/* the GPU engine's last failure, or why there is none */
	TimestampTz error_at;		/* 0: never */
	GenieDeviceLosses losses[GENIE_DEVICES_MAX];	/* by the devices' numbers */
	GenieStatChoice cpu_choice;
	GenieStatChoice gpu_choice;
	uint32		n_devices;
	GenieDeviceInfo devices[GENIE_DEVICES_MAX];
} GenieWorkerReport;

/* Everything that genie_stat shows of the counters. */
typedef struct GenieStatCounters
{
	uint64		counters[GENIE_COUNTERS];
	uint64		fallbacks[GENIE_FALLBACKS];
	TimestampTz since;
	GenieBatchProgress batches;
} GenieStatCounters;

extern Size genie_stat_shmem_size(void);
extern void genie_stat_shmem_init(void *memory);

extern void genie_stat_add(GenieCounter counter, uint64 n);

/* A query on a segment that the backend answers itself, and why. */
extern void genie_stat_fallback(GenieFallback why);

/*
 * Adds to the batch searches that run now, or, if negative, subtracts.  A caller that adds subtracts the same at its
 * end, after an ERROR too.  If the process exits before, the rest is subtracted for it.
 */
extern void genie_stat_batch(const GenieBatchProgress *more);

/* Copies; false: there is no shared memory. */
extern bool genie_stat_read(GenieStatCounters *counters, GenieWorkerReport *report);

/* How many devices the worker counts on; cheap. */
extern uint32 genie_stat_n_devices(void);

/* Counters start at 0 again. */
extern void genie_stat_reset(void);

/* ---- for the worker ---- */

extern void genie_stat_worker(GenieWorkerState state, const char *engine);
extern void genie_stat_devices(const GenieDeviceInfo *devices, uint32 n);

/* Reports an engine's choices as they are now, and counts those that were made since `before`. */
extern void genie_stat_choices(bool is_gpu, const GenieEngineChoices *before, const GenieEngineChoices *now);

/* Notes a failure of the GPU engine. */
extern void genie_stat_error(const char *message);

/* Notes that a device was lost; how often in a row: each within window_ms of the one before. */
extern void genie_stat_lost(uint32 device, int window_ms);
extern void genie_stat_forget_losses(void);

#endif							/* GENIE_STAT_H */

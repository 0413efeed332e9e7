/*
 * genie_request.h
 *	  Requests: what a backend asks the worker, and how it waits for the answer.
 *
 * A request is one or more jobs.  A job is one query on one segment's image, or, without an image, rows and queries for
 * exact search, or vectors to be hashed.  genie_request_run() hands the jobs to the worker and returns when each is
 * answered or has a reason why not; these the backend does itself.  Very many jobs become several requests, one after
 * the other, so that other backends' queries get in between and memory is bounded.  An ERROR (cancel,
 * statement_timeout, termination) may end it at any moment and leaves nothing behind.
 */
#ifndef GENIE_REQUEST_H
#define GENIE_REQUEST_H

#include "genie_directory.h"
#include "genie_engine.h"
#include "genie_stat.h"
#include "utils/dsa.h"

/* the setting genie.worker: may this session ask the worker? */
extern bool genie_request_enabled;

/* the setting genie.max_batch: how many queries the worker counts at once */
extern int	genie_request_max_batch;

/* ---- for backends ---- */

typedef struct GenieRequestJob
{
	GenieImageRef image;		/* not of NEAREST, HASH */
	uint64		tombstone_version;	/* the image must be at least as new */
	GenieJob	job;			/* image, status and out unused */
	uint32		min_size;		/* of the image's objects; for key tables */
	uint32		max_size;

	/*
	 * The job's out (genie_engine.h), in the backend's memory.  NULL, of a TOP job: genie_request_run() says where it
	 * is, and bounds, if the job is done; they last as long as the current memory context.
	 */
	void	   *result;

	/* TOP: bounds of the distances of the hits (genie_quantized.h), if they are wanted */
	const GenieQuantizedQuery *vector;	/* NULL: they are not */
	uint32		n_elements;
	GenieImageRef vectors;
	float	   *bounds;			/* room for k; not if result is NULL */

	GenieImageRef graph;		/* SCAN: of the vectors, with the job's graph_queue; id 0: none; LEVEL */

	/* LEVEL: is the answer not wanted any more?  Asked now and then; NULL: it is. */
	bool		(*stops) (void);

	/* the answer */
	GenieFallback why;			/* NONE: it is done, */
	GenieGpuFallback gpu_why;	/* and this tells where */
	bool		has_bounds;
} GenieRequestJob;

/* Would the worker answer a request of this session?  GENIE_FALLBACK_NONE: yes; else OFF, or NO_WORKER. */
extern GenieFallback genie_request_possible(void);

/* Bytes of shared memory that a request has at most, unless one job alone needs more; genie was preloaded. */
extern Size genie_request_bytes(void);

/*
 * To be called before genie_request_run() is called within PG_ENSURE_ERROR_CLEANUP(): the first call registers an exit
 * callback.
 */
extern void genie_request_prepare(void);

/* Returns the time, in us, that the worker has counted, other backends' queries included. */
extern uint64 genie_request_run(GenieRequestJob *jobs, uint32 n_jobs);

/* ---- for the worker ---- */

/* The worker is up: from now on requests are answered.  It is down, whatever the reason: all that wait are answered. */
extern void genie_request_worker_up(void);
extern void genie_request_worker_down(void);

/* A request that the worker has taken. */
typedef struct GenieTaken
{
	uint32		slot;
	dsa_pointer memory;
	void	   *wire;			/* the request itself, in shared memory */
	uint32		n_jobs;
	GenieJob   *jobs;			/* as the engine wants them; images, vectors and graphs are not set */
	GenieRequestJob *refs;		/* what they are about, tombstone_version, n_elements (0: no bounds are wanted) */
} GenieTaken;

/*
 * Takes requests that are ready, oldest slots first in turn, until there are max_jobs jobs or no more requests;
 * in the current memory context.  Returns how many requests.
 */
extern uint32 genie_request_take(GenieTaken *taken, uint32 max_requests, uint32 max_jobs);

/* Has the backend given the request up?  Then it may be dropped instead of answered. */
extern bool genie_request_is_abandoned(const GenieTaken *taken);
extern void genie_request_drop(const GenieTaken *taken);

/* Who has done a job. */
typedef struct GenieAnswer
{
	GenieFallback why;			/* NONE: the worker, */
	GenieGpuFallback gpu_why;	/* NONE: on the GPU */
} GenieAnswer;

/* Answers: n_hits of jobs that are done; one of answers tells of each if it is.  Results are in place already. */
extern void genie_request_answer(GenieTaken *taken, const GenieAnswer *answers, uint64 count_us);

/* how many requests there can be at a time */
extern uint32 genie_request_slots(void);

extern Size genie_request_shmem_size(void);
extern void genie_request_shmem_init(void *memory);

#endif							/* GENIE_REQUEST_H */

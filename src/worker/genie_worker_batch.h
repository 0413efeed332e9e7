/*
 * genie_worker_batch.h
 *	  A batch of the worker's: the requests that are ready, counted at once and answered.
 */
#ifndef GENIE_WORKER_BATCH_H
#define GENIE_WORKER_BATCH_H

/* Before the first batch. */
extern void genie_worker_batches_begin(void);

/* Counts and answers the requests that are ready.  False: there was none.  Ends the process if the GPU is lost. */
extern bool genie_worker_run_batch(void);

/* Engines ask this now and then: shall they stop?  Meanwhile other requests may be done. */
extern bool genie_worker_is_interrupted(void);

/* Logs how much was done. */
extern void genie_worker_report_batches(void);

#endif							/* GENIE_WORKER_BATCH_H */

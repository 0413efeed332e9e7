/*
 * genie_worker.h
 *	  The background worker that counts for every backend.
 */
#ifndef GENIE_WORKER_H
#define GENIE_WORKER_H

/* the setting genie.worker: may this session ask the worker? */
extern bool genie_worker_wanted;

/* the setting genie.max_batch: how many queries the worker counts at once */
extern int	genie_worker_max_batch;

/* Defines the worker's settings; once, when the library is loaded, with or without preload. */
extern void genie_worker_settings(void);

/* Has the postmaster start the worker, if the library is being preloaded. */
extern void genie_worker_register(void);

#endif							/* GENIE_WORKER_H */

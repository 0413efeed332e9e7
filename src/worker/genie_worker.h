/*
 * genie_worker.h
 *	  The background worker that counts for every backend.
 */
#ifndef GENIE_WORKER_H
#define GENIE_WORKER_H

/* Has the postmaster start the worker, if the library is being preloaded. */
extern void genie_worker_register(void);

#endif							/* GENIE_WORKER_H */

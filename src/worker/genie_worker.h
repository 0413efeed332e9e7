/*
 * genie_worker.h
 *	  The background worker that counts for every backend.
 */
#ifndef GENIE_WORKER_H
#define GENIE_WORKER_H

#include "genie_engine.h"

/* the setting genie.engine */
typedef enum GenieEngineSetting
{
	GENIE_ENGINE_AUTO,
	GENIE_ENGINE_CPU,
	GENIE_ENGINE_CUDA
} GenieEngineSetting;

/* the settings genie.engine, kernels, cpu_threads, gpu_devices, gpu_memory, gpu_library */
extern int	genie_worker_engine;	/* GenieEngineSetting */
extern int	genie_worker_kernels;	/* GenieKernelChoice */
extern int	genie_worker_cpu_threads;	/* 0: as many as there are processors */
extern int	genie_worker_gpu_devices;	/* 0: all */
extern int	genie_worker_gpu_memory;	/* kB; 0: most of what is free */
extern char *genie_worker_gpu_library;

/* Has the postmaster start the worker, if the library is being preloaded. */
extern void genie_worker_register(void);

#endif							/* GENIE_WORKER_H */

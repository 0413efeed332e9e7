/*
 * genie_worker_engines.h
 *	  The worker's engines: the CPU engine, and one for all GPUs, if there are any; opened, told of settings, watched
 *	  for losses, and reported.  For the worker only.
 */
#ifndef GENIE_WORKER_ENGINES_H
#define GENIE_WORKER_ENGINES_H

#include "genie_directory.h"
#include "genie_rival.h"
#include "genie_stat.h"

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

/* Opens them; interrupted: their callback. */
extern void genie_worker_engines_open(bool (*interrupted) (void));

extern GenieEngine *genie_worker_cpu(void);
extern GenieEngine *genie_worker_gpu(void); /* NULL: none */
extern GenieEngine *genie_worker_side(void);	/* a CPU engine of one thread, for use while the other one works */
extern GenieRival *genie_worker_rival(void);	/* the CPU engine, as the GPU engine sees it */

/* Measures the CPU engine's costs, which takes some milliseconds. */
extern void genie_worker_measure_cpu(void);

/* Settings were reloaded. */
extern void genie_worker_reload(void);

/* Tries a GPU again that did not open, when it is time; in a new process, perhaps. */
extern void genie_worker_reopen_gpu(void);

/* Is some of the images' memory still to be pinned?  Pins the next step of it. */
extern bool genie_worker_is_to_pin(void);
extern void genie_worker_pin_more(void);

/* Notes that the GPU engine, if there is one, is about to see the image, or the vectors. */
extern void genie_worker_note_given(const GenieImageRef *ref);

/* Has the GPU engine drop its copies of images that have gone. */
extern void genie_worker_forget_dropped(void);

/* Logs a failure of the GPU engine, unless it said the same just now. */
extern void genie_worker_log_gpu_error(const char *error);

/* Notes losses that were not noted before; all: of all devices.  Is there one? */
extern bool genie_worker_note_losses(bool all);

/* Of several devices, has one been lost whose work the others have taken over? */
extern void genie_worker_look_for_losses(void);

/* Has one been lost that a new process would open again? */
extern bool genie_worker_has_lost(void);

/* Reports which devices the GPU engine has; the worker's state. */
extern void genie_worker_report_devices(void);
extern void genie_worker_report_state(GenieWorkerState state);

#endif							/* GENIE_WORKER_ENGINES_H */

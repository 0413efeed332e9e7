/*
 * genie_cpu_threads.h
 *	  Threads that help the caller of the CPU engine with a batch.
 *
 * They know nothing of batches: they are woken to run a function, each with a scratch of its own, and wait again.  Only
 * the caller's thread calls the functions here.
 */
#ifndef GENIE_CPU_THREADS_H
#define GENIE_CPU_THREADS_H

#include "genie_tile.h"

/* more than a server has cores: to ask for more is a mistake */
#define GENIE_CPU_THREADS_MAX 1024

typedef struct GenieCpuThreads GenieCpuThreads;

/* The function that a thread runs: takes work until there is none. */
typedef void (*GenieCpuHelp) (void *arg, GenieTileScratch *scratch);

/* Without threads at first.  NULL: the system refuses. */
extern GenieCpuThreads *genie_cpu_threads_open(const GenieKernels *kernels);

/* Makes or ends threads until there are n; returns how many there are: fewer where the system refuses more. */
extern uint32_t genie_cpu_threads_resize(GenieCpuThreads *threads, uint32_t n);

extern uint32_t genie_cpu_threads_count(const GenieCpuThreads *threads);

/* Wakes up to n threads to run help; arg stays until genie_cpu_threads_end() is true. */
extern void genie_cpu_threads_begin(GenieCpuThreads *threads, uint32_t n, GenieCpuHelp help, void *arg);

/*
 * Lets no further thread begin, and waits up to wait_ms milliseconds until those that began are through.  True: they
 * are, and the caller may read what they wrote.  False: call again.
 */
extern bool genie_cpu_threads_end(GenieCpuThreads *threads, uint32_t wait_ms);

/* Ends all threads.  NULL is allowed. */
extern void genie_cpu_threads_close(GenieCpuThreads *threads);

#endif							/* GENIE_CPU_THREADS_H */

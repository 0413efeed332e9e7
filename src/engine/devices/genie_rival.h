/*
 * genie_rival.h
 *	  What another engine, the CPU's, would take for jobs that a device has to wait for.
 */
#ifndef GENIE_RIVAL_H
#define GENIE_RIVAL_H

#include "genie_dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GenieRival
{
	GenieDispatchCosts costs;
	uint32_t	n_threads;		/* 0: there is no rival, everything is loaded */
} GenieRival;

/*
 * Nanoseconds that a rival with threads takes for n > 0 jobs of one image, or of one set of vectors, that may be cut
 * (genie_job_parts.h) and are neither FACETS nor GRID: from the lists of some jobs in some tiles, or from the codes
 * where there are no lists, and for lanes as its own dispatcher does it.  Good to a factor of two.
 */
extern double genie_rival_ns(const GenieRival *rival, uint32_t n, GenieJob *const *jobs);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_RIVAL_H */

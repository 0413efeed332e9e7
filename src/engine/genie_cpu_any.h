/*
 * genie_cpu_any.h
 *	  Objects that fulfil any of many conditions, as bit lanes: a condition is a lane (genie_lanes.h).
 */
#ifndef GENIE_CPU_ANY_H
#define GENIE_CPU_ANY_H

#include "genie_cpu_plan.h"

typedef struct GenieCpuAny GenieCpuAny;

/*
 * For one of n_parts parts of a MASK job of any of its conditions, which must stay.  NULL: tiles are better, or there
 * is no memory.
 */
extern GenieCpuAny *genie_cpu_any_open(const GenieCpuPolicy *policy, const GenieJob *job, uint32_t n_parts);

/* Sets in out, GENIE_TILE_WORDS words, those of tile number t's live objects that fulfil one, and clears the others. */
extern void genie_cpu_any_in_tile(GenieCpuAny *any, const GenieImageGroup *group, uint32_t t, const uint64_t *live,
								  uint64_t *out);

/* NULL is allowed. */
extern void genie_cpu_any_close(GenieCpuAny *any);

#endif							/* GENIE_CPU_ANY_H */

/*
 * genie_cpu_costs.h
 *	  What tiles and bit lanes cost on this processor: measures the constants of the dispatcher (genie_dispatch.h).
 */
#ifndef GENIE_CPU_COSTS_H
#define GENIE_CPU_COSTS_H

#include "genie_cpu_plan.h"

/* Measures the policy's costs: some 20 milliseconds. */
extern void genie_cpu_costs_measure(GenieTileScratch *scratch, GenieCpuPolicy *policy);

#endif							/* GENIE_CPU_COSTS_H */

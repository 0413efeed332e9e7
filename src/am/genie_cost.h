/*
 * genie_cost.h
 *	  What scans cost, for the planner.
 */
#ifndef GENIE_COST_H
#define GENIE_COST_H

#include "nodes/pathnodes.h"

extern void genie_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
							   Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
							   double *correlation, double *pages);

/* Is the index's operator class exact?  Then the index has no keywords. */
extern bool genie_cost_is_exact(const IndexOptInfo *index);

#endif							/* GENIE_COST_H */

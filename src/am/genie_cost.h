/*
 * genie_cost.h
 *	  Prototypes of genie_cost.c.
 */
#ifndef GENIE_COST_H
#define GENIE_COST_H

#include "nodes/pathnodes.h"

extern void genie_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
							   Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
							   double *correlation, double *pages);

#endif							/* GENIE_COST_H */

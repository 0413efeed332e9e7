/*
 * genie_build_parallel.h
 *	  CREATE INDEX with PostgreSQL's maintenance workers.
 */
#ifndef GENIE_BUILD_PARALLEL_H
#define GENIE_BUILD_PARALLEL_H

#include "access/genam.h"
#include "genie_segment.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

typedef struct GenieParallelBuild GenieParallelBuild;

/* Starts info->ii_ParallelWorkers workers, or fewer; NULL if there is none to be had. */
extern GenieParallelBuild *genie_build_parallel_begin(Relation heap, Relation index, IndexInfo *info);

/*
 * Scans the table together with the workers; fills in what was counted and gives all processes' runs.  The runs can
 * be read until the end.
 */
extern int	genie_build_parallel_scan(GenieParallelBuild *build, IndexBuildResult *result, GenieSegment ***inputs);

/* Waits for the workers' ends. */
extern void genie_build_parallel_end(GenieParallelBuild *build);

#endif							/* GENIE_BUILD_PARALLEL_H */

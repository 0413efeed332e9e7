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

/* one merge takes runs of all processes */
#define GENIE_WORKERS_MAX (GENIE_SEGMENTS_MAX - 1)

typedef struct GenieParallelBuild GenieParallelBuild;

/* Starts at most info->ii_ParallelWorkers workers; NULL if none is available. */
extern GenieParallelBuild *genie_build_parallel_begin(Relation heap, Relation index, IndexInfo *info);

/* Scans the table together with the workers, and fills in the counts. */
extern void genie_build_parallel_scan(GenieParallelBuild *build, IndexBuildResult *result);

/* Merges the runs of all processes, together with the workers, to the index's sections.  To be called at most once. */
extern void genie_build_parallel_write(GenieParallelBuild *build, GenieSegmentWriter *writer, GenieRootHeader *header);

/* Waits until the workers have ended, and frees everything. */
extern void genie_build_parallel_end(GenieParallelBuild *build);

#endif							/* GENIE_BUILD_PARALLEL_H */

/*
 * genie_build_runs.h
 *	  What one process of a build makes of its share of the table: runs, that is spilled segments.
 */
#ifndef GENIE_BUILD_RUNS_H
#define GENIE_BUILD_RUNS_H

#include "access/relscan.h"
#include "genie_segment.h"
#include "nodes/execnodes.h"
#include "storage/fileset.h"
#include "utils/rel.h"

typedef struct GenieBuildRuns GenieBuildRuns;

/*
 * memory: bytes to stay below.  files: where to spill so that other processes can read it, or NULL; process: this one's
 * number then.
 */
extern GenieBuildRuns *genie_build_runs_begin(Relation index, Size memory, FileSet *files, int process);

/*
 * Takes all rows that the scan gives (NULL: the whole table) into memory and runs; returns the number of the
 * table's rows that it saw.  progress: reports blocks done.
 */
extern double genie_build_runs_scan(GenieBuildRuns *runs, Relation heap, IndexInfo *info, TableScanDesc scan,
									bool progress);

/* rows taken */
extern double genie_build_runs_rows(const GenieBuildRuns *runs);

/* Is nothing spilled, so that genie_build_runs_write() can write everything straight to the index? */
extern bool genie_build_runs_in_memory(const GenieBuildRuns *runs);

/* Writes what is in memory. */
extern void genie_build_runs_write(GenieBuildRuns *runs, GenieSegmentWriter *writer, GenieRootHeader *header);

/*
 * Spills what is left in memory and merges runs until there are at most so many; returns how many.  *inputs is
 * palloc'd.
 */
extern int	genie_build_runs_finish(GenieBuildRuns *runs, int most, GenieSegment ***inputs);

/* Lists finished runs for other processes, and leaves them to those. */
extern void genie_build_runs_share(GenieBuildRuns *runs, GenieSegment **inputs, int n);

/*
 * Merges some of the inputs into one run and puts that in their place, until there are at most so many; returns how
 * many.
 */
extern int	genie_build_runs_reduce(GenieBuildRuns *runs, GenieSegment **inputs, int n, int most);

/* Frees memory; runs that were handed out stay. */
extern void genie_build_runs_end(GenieBuildRuns *runs);

#endif							/* GENIE_BUILD_RUNS_H */

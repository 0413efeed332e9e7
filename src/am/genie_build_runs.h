/*
 * genie_build_runs.h
 *	  What one process of a build makes of its share of the table: runs, that is spilled segments.
 */
#ifndef GENIE_BUILD_RUNS_H
#define GENIE_BUILD_RUNS_H

#include "access/relscan.h"
#include "genie_merge.h"
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

/* those of them that were appended to the pending list */
extern double genie_build_runs_raw_rows(const GenieBuildRuns *runs);

/* Writes everything to the index's sections. */
extern void genie_build_runs_write(GenieBuildRuns *runs, GenieSegmentWriter *writer, GenieRootHeader *header);

/* Spills what is left in memory, merges runs until there are at most so many, and lists them for all processes. */
extern void genie_build_runs_share(GenieBuildRuns *runs, int most);

/* Merges keywords (genie_merge.h) into a segment of their own, which the next genie_build_runs_share_parts() lists. */
extern void genie_build_runs_merge_part(GenieBuildRuns *runs, GenieMerge *merge, GenieKey from, GenieKey to);
extern void genie_build_runs_share_parts(GenieBuildRuns *runs);

/* Frees memory.  What was listed stays. */
extern void genie_build_runs_end(GenieBuildRuns *runs);

#endif							/* GENIE_BUILD_RUNS_H */

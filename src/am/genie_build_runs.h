/*
 * genie_build_runs.h
 *	  How one process of a build collects its share of the table: in runs, which are spilled segments.
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
 * memory: the limit in bytes.  files: where to spill for other processes to read, with this process's number; NULL: in
 * files of its own.
 */
extern GenieBuildRuns *genie_build_runs_begin(Relation index, Size memory, FileSet *files, int process);

/*
 * Takes all rows of the scan (NULL: of the whole table) into memory and runs.  Returns the number of the
 * table's rows that it saw.  progress: reports the blocks done.
 */
extern double genie_build_runs_scan(GenieBuildRuns *runs, Relation heap, IndexInfo *info, TableScanDesc scan,
									bool progress);

/* Rows taken. */
extern double genie_build_runs_rows(const GenieBuildRuns *runs);

/* Those of them that were appended to the pending list. */
extern double genie_build_runs_raw_rows(const GenieBuildRuns *runs);

/* Writes everything to the index's sections. */
extern void genie_build_runs_write(GenieBuildRuns *runs, GenieSegmentWriter *writer, GenieRootHeader *header);

/* Spills the rows in memory, merges runs until there are at most `most`, and lists them for all processes. */
extern void genie_build_runs_share(GenieBuildRuns *runs, int most);

/* Merges a part of the keywords (genie_merge.h) into a segment.  The next genie_build_runs_share_parts() lists it. */
extern void genie_build_runs_merge_part(GenieBuildRuns *runs, GenieMerge *merge, GenieKey from, GenieKey to);
extern void genie_build_runs_share_parts(GenieBuildRuns *runs);

/* Frees memory.  Segments that were listed stay. */
extern void genie_build_runs_end(GenieBuildRuns *runs);

#endif							/* GENIE_BUILD_RUNS_H */

/*
 * genie_build.h
 *	  Prototypes of genie_build.c.
 */
#ifndef GENIE_BUILD_H
#define GENIE_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"

/* phases in pg_stat_progress_create_index, after PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE */
#define GENIE_PHASE_SCAN		2
#define GENIE_PHASE_WRITE		3
#define GENIE_PHASE_MERGE		4
#define GENIE_PHASE_LOG			5
#define GENIE_PHASE_TRAIN		6	/* before the others, where there is such a phase */

extern IndexBuildResult *genie_build(Relation heap, Relation index, IndexInfo *info);
extern void genie_buildempty(Relation index);
extern char *genie_buildphasename(int64 phase);

/* Tells pg_stat_progress_create_index which phase begins. */
extern void genie_build_phase(int64 phase);

#endif							/* GENIE_BUILD_H */

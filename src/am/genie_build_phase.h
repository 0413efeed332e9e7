/*
 * genie_build_phase.h
 *	  The phases of CREATE INDEX, as pg_stat_progress_create_index shows them.
 */
#ifndef GENIE_BUILD_PHASE_H
#define GENIE_BUILD_PHASE_H

#include "commands/progress.h"
#include "utils/backend_progress.h"

/* after PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE; genie_buildphasename() names them */
#define GENIE_PHASE_SCAN		2
#define GENIE_PHASE_WRITE		3
#define GENIE_PHASE_MERGE		4
#define GENIE_PHASE_LOG			5
#define GENIE_PHASE_TRAIN		6	/* before the others, where there is such a phase */

/* A phase begins. */
static inline void
genie_build_phase(int64 phase)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

#endif							/* GENIE_BUILD_PHASE_H */

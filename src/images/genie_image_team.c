/*
 * genie_image_team.c
 *	  Processes that fill one image together (genie_image_team.h).
 *
 * The workers are PostgreSQL's parallel workers, so that their errors, the session's cancellation, and the end of any
 * of these processes are PostgreSQL's business.  What they share is in the DSM segment of the parallel context; the
 * image itself is in genie's shared memory, which all processes see at the same address.
 *
 * All wait for one another after each step, at a Barrier whose phase is the number of the step.  It counts who is
 * attached: a worker that comes late begins with the step that is under way, and nobody waits for one that never
 * comes.
 *
 * Only a session that has a snapshot can have parallel workers: they begin by taking it over.  Loaders have none, to be
 * in nobody's way (genie_loader.c), and so each loads alone, as many segments at once as there are loaders.
 *
 * No lock is held but the worker's AccessShareLock on the index, which the session has, too.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/barrier.h"
#include "storage/condition_variable.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "genie_fault.h"
#include "genie_image_fill.h"
#include "genie_image_team.h"
#include "genie_loader.h"
#include "genie_wait_event.h"

/*
 * A worker for each so many postings: about 12 ms of one process's work, a few times what a worker takes to start.  A
 * keyword takes as long as KEYWORD_POSTINGS more.
 */
#define POSTINGS_A_WORKER 2000000
#define KEYWORD_POSTINGS 16

/* keys of the DSM segment's table of contents */
#define KEY_TEAM 1
#define KEY_MEMORY 2

typedef struct GenieTeamShared
{
	Oid			index;
	uint32		n_processes;	/* planned */
	GenieSegmentEntry entry;
	Barrier		barrier;
} GenieTeamShared;

struct GenieImageTeam
{
	ParallelContext *context;	/* the leader's */
	GenieTeamShared *shared;
};

PGDLLEXPORT void genie_image_team_main(dsm_segment *segment, shm_toc *toc);

uint32
genie_image_team_workers(uint64 n_postings, uint32 n_keywords)
{
	uint64		n = (n_postings + (uint64) KEYWORD_POSTINGS * n_keywords) / POSTINGS_A_WORKER;

	if (IsInParallelMode() || !ActiveSnapshotSet())
		return 0;
	return (uint32) Min(n, (uint64) genie_loaders);
}

GenieImageTeam *
genie_image_team_begin(const GenieSegment *segment, uint32 n_workers, Size n_bytes, void **memory)
{
	GenieImageTeam *team = palloc0(sizeof(GenieImageTeam));
	ParallelContext *context;

	EnterParallelMode();
	team->context = context = CreateParallelContext("$libdir/genie", "genie_image_team_main", (int) n_workers);
	shm_toc_estimate_chunk(&context->estimator, sizeof(GenieTeamShared));
	shm_toc_estimate_chunk(&context->estimator, n_bytes);
	shm_toc_estimate_keys(&context->estimator, 2);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
	{
		DestroyParallelContext(context);
		ExitParallelMode();
		return NULL;
	}
	team->shared = shm_toc_allocate(context->toc, sizeof(GenieTeamShared));
	team->shared->index = RelationGetRelid(segment->index);
	team->shared->n_processes = n_workers + 1;
	team->shared->entry = segment->entry;
	BarrierInit(&team->shared->barrier, 1); /* the leader */
	shm_toc_insert(context->toc, KEY_TEAM, team->shared);
	*memory = shm_toc_allocate(context->toc, n_bytes);
	memset(*memory, 0, n_bytes);
	shm_toc_insert(context->toc, KEY_MEMORY, *memory);
	return team;
}

void
genie_image_team_open(GenieImageTeam *team)
{
	LaunchParallelWorkers(team->context);
}

void
genie_image_team_wait(GenieImageTeam *team)
{
	(void) BarrierArriveAndWait(&team->shared->barrier, genie_wait_event(GENIE_WAIT_LOADERS));
}

void
genie_image_team_end(GenieImageTeam *team)
{
	(void) BarrierArriveAndDetach(&team->shared->barrier);
	WaitForParallelWorkersToFinish(team->context);
	DestroyParallelContext(team->context);
	ExitParallelMode();
	pfree(team);
}

void
genie_image_team_abort(GenieImageTeam *team)
{
	ConditionVariableCancelSleep(); /* it may be waiting, and the barrier is in the memory that goes */
	DestroyParallelContext(team->context);
}

/* The entry point of a worker. */
void
genie_image_team_main(dsm_segment *segment, shm_toc *toc)
{
	GenieImageTeam team = {.shared = shm_toc_lookup(toc, KEY_TEAM, false)};
	GenieTeamShared *shared = team.shared;
	Relation	index = index_open(shared->index, AccessShareLock);
	GenieSegment *opened;

	pgstat_report_activity(STATE_RUNNING, psprintf("loading an image of genie index \"%s\"",
												   RelationGetRelationName(index)));
	opened = genie_segment_open(index, &shared->entry);
	if (opened != NULL)
		genie_image_fill_help(opened, &team, shared->n_processes, shm_toc_lookup(toc, KEY_MEMORY, false),
							  BarrierAttach(&shared->barrier));
	if (opened != NULL)
		(void) BarrierArriveAndDetach(&shared->barrier);
	index_close(index, AccessShareLock);
}

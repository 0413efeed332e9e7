/*
 * genie_image_team.h
 *	  Processes that fill one image together.
 *
 * The leader, a session that makes an image, has parallel workers help it.  They share a piece of memory, and go
 * through the steps of genie_image_fill.c at the same pace.
 */
#ifndef GENIE_IMAGE_TEAM_H
#define GENIE_IMAGE_TEAM_H

#include "genie_segment.h"

typedef struct GenieImageTeam GenieImageTeam;

/*
 * How many workers are worth while for a segment of so many postings and keywords, if this process may have some.  No
 * more than genie.loaders.
 */
extern uint32 genie_image_team_workers(uint64 n_postings, uint32 n_keywords);

/*
 * Starts n workers, which may come at any time from genie_image_team_open() on, or not at all.  *memory: n_bytes, zero,
 * for what all share.  NULL: no worker can be had.
 */
extern GenieImageTeam *genie_image_team_begin(const GenieSegment *segment, uint32 n_workers, Size n_bytes,
											  void **memory);

/* What workers need is in the shared memory. */
extern void genie_image_team_open(GenieImageTeam *team);

/* Waits until all that take part are here. */
extern void genie_image_team_wait(GenieImageTeam *team);

/* The leader leaves, and waits until the workers have ended; raises their errors.  The memory is gone. */
extern void genie_image_team_end(GenieImageTeam *team);

/* The same after an ERROR: ends the workers. */
extern void genie_image_team_abort(GenieImageTeam *team);

#endif							/* GENIE_IMAGE_TEAM_H */

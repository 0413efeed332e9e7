/*
 * genie_wait_event.h
 *	  What genie's processes wait for, as pg_stat_activity shows it from PostgreSQL 17 on.  Before, all is "Extension".
 */
#ifndef GENIE_WAIT_EVENT_H
#define GENIE_WAIT_EVENT_H

typedef enum GenieWaitEvent
{
	GENIE_WAIT_REQUEST,			/* a session: for the worker's answer */
	GENIE_WAIT_IMAGE_LOAD,		/* for an image that another process loads */
	GENIE_WAIT_LOADERS,			/* genie_prewarm(): for loaders, or the processes of a team */
	GENIE_WAIT_WORKER_MAIN,		/* the worker: for requests */
	GENIE_WAIT_EVENTS			/* how many there are */
} GenieWaitEvent;

/* Its number, for WaitLatch() and such. */
extern uint32 genie_wait_event(GenieWaitEvent event);

#endif							/* GENIE_WAIT_EVENT_H */

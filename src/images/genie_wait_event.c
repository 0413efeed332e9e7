/*
 * genie_wait_event.c
 *	  What genie's processes wait for (genie_wait_event.h).
 *
 * PostgreSQL keeps names and numbers in shared memory.  A process asks for each number once, because that takes a lock.
 */
#include "postgres.h"

#include "utils/wait_event.h"

#include "genie_compat.h"
#include "genie_wait_event.h"

uint32
genie_wait_event(GenieWaitEvent event)
{
	static const char *const names[] = {
		[GENIE_WAIT_REQUEST] = "GenieRequest",
		[GENIE_WAIT_IMAGE_LOAD] = "GenieImageLoad",
		[GENIE_WAIT_LOADERS] = "GenieLoaders",
		[GENIE_WAIT_WORKER_MAIN] = "GenieWorkerMain"
	};
	static uint32 numbers[GENIE_WAIT_EVENTS];	/* 0: not asked for yet */

	StaticAssertDecl(lengthof(names) == GENIE_WAIT_EVENTS, "every event has its name");
	if (numbers[event] == 0)
		numbers[event] = WaitEventExtensionNew(names[event]);
	return numbers[event];
}

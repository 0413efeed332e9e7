/*
 * genie_fault.c
 *	  Fault points (genie_fault.h).  Empty in release builds.
 */
#include "postgres.h"

#include "genie_fault.h"

#ifdef GENIE_FAULTS

#include <signal.h>
#include <unistd.h>

#include "fmgr.h"
#include "utils/fmgrprotos.h"

char	   *genie_fault_point = NULL;
char	   *genie_fault_action = NULL;
int			genie_fault_skip = 0;

void
genie_fault_reached(const char *point)
{
	if (genie_fault_point == NULL || genie_fault_action == NULL ||
		strcmp(genie_fault_point, point) != 0)
		return;
	if (genie_fault_skip > 0)
	{
		genie_fault_skip--;
		return;
	}
	if (strcmp(genie_fault_action, "crash") == 0)
		kill(getpid(), SIGKILL);
	else if (strcmp(genie_fault_action, "wait") == 0)
	{
		DirectFunctionCall1(pg_advisory_lock_int8, Int64GetDatum(GENIE_FAULT_LOCK));
		DirectFunctionCall1(pg_advisory_unlock_int8, Int64GetDatum(GENIE_FAULT_LOCK));
	}
	else if (strcmp(genie_fault_action, "slow") == 0)
		pg_usleep(GENIE_FAULT_SLOW_US);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("fault point \"%s\" reached", point)));
}

#endif

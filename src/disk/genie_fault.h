/*
 * genie_fault.h
 *	  Named points at which tests make the server fail (after TimescaleDB's debug points).
 *
 * GENIE_FAULT("merge-before-flip") does nothing unless the build defines GENIE_FAULTS and the
 * setting genie.fault_point names the point.  After the session has passed the point genie.fault_skip
 * times, genie.fault_action says what happens there:
 *	crash	the process kills itself by SIGKILL: like a power failure
 *	error	an ERROR: like a cancelled query or a full disk
 *	wait	takes and releases the advisory lock GENIE_FAULT_LOCK, so that a test that
 *			holds it stops the process here.  The process must hold no buffer lock.
 *	slow	takes GENIE_FAULT_SLOW_US more, each time: like a slow disk
 *
 * The point "allocation" is each allocation of memory by genie's own code, PostgreSQL's and the C library's (the linker
 * leads their functions here; Makefile).  After genie.fault_skip of them one fails as if there were no memory, and no
 * other after it.
 * A release build contains neither the points nor the settings.
 */
#ifndef GENIE_FAULT_H
#define GENIE_FAULT_H

#ifdef GENIE_FAULTS
#define GENIE_FAULT_LOCK 714100
#define GENIE_FAULT_SLOW_US 50000L
extern char *genie_fault_point;
extern char *genie_fault_action;
extern int	genie_fault_skip;	/* counts down */
extern void genie_fault_reached(const char *point);
#define GENIE_FAULT(point) genie_fault_reached(point)
#else
#define GENIE_FAULT(point) ((void) 0)
#endif

#endif							/* GENIE_FAULT_H */

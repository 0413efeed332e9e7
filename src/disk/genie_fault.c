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
#include "utils/memutils.h"

#include "genie_compat.h"

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

/* ---- allocations ---- */

/* Is this the allocation that fails?  Threads of the CPU engine ask, too: then any of the next ones may be the one. */
static bool
strikes(void)
{
	if (likely(genie_fault_point == NULL || strcmp(genie_fault_point, "allocation") != 0) ||
		genie_fault_skip == PG_INT32_MAX)
		return false;
	if (genie_fault_skip > 0)
	{
		genie_fault_skip--;
		return false;
	}
	genie_fault_skip = PG_INT32_MAX;
	return true;
}

static void *
out_of_memory(bool is_error)
{
	if (is_error)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Fault point \"allocation\" reached.")));
	return NULL;
}

/* name(parameters) fails by an ERROR if is_error, else by NULL. */
#define WRAP(name, parameters, arguments, is_error) \
	extern void *__real_##name parameters; \
	extern void *__wrap_##name parameters; \
	void * \
	__wrap_##name parameters \
	{ \
		return unlikely(strikes()) ? out_of_memory(is_error) : __real_##name arguments; \
	}

WRAP(palloc, (Size size), (size), true)
WRAP(palloc0, (Size size), (size), true)
WRAP(palloc_extended, (Size size, int flags), (size, flags), (flags & MCXT_ALLOC_NO_OOM) == 0)
WRAP(repalloc, (void *pointer, Size size), (pointer, size), true)
WRAP(repalloc_huge, (void *pointer, Size size), (pointer, size), true)
WRAP(MemoryContextAlloc, (MemoryContext context, Size size), (context, size), true)
WRAP(MemoryContextAllocZero, (MemoryContext context, Size size), (context, size), true)
#ifdef GENIE_HAS_ALLOC_ZERO_ALIGNED
WRAP(MemoryContextAllocZeroAligned, (MemoryContext context, Size size), (context, size), true)
#endif
WRAP(MemoryContextAllocHuge, (MemoryContext context, Size size), (context, size), true)
WRAP(MemoryContextAllocExtended, (MemoryContext context, Size size, int flags), (context, size, flags),
	 (flags & MCXT_ALLOC_NO_OOM) == 0)
WRAP(AllocSetContextCreateInternal, (MemoryContext parent, const char *name, Size minimum, Size first, Size most),
	 (parent, name, minimum, first, most), true)
WRAP(malloc, (size_t size), (size), false)
WRAP(calloc, (size_t n, size_t size), (n, size), false)
WRAP(realloc, (void *pointer, size_t size), (pointer, size), false)

extern int	__real_posix_memalign(void **pointer, size_t alignment, size_t size);
extern int	__wrap_posix_memalign(void **pointer, size_t alignment, size_t size);

int
__wrap_posix_memalign(void **pointer, size_t alignment, size_t size)
{
	return unlikely(strikes()) ? ENOMEM : __real_posix_memalign(pointer, alignment, size);
}

#endif

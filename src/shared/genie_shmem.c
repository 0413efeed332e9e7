/*
 * genie_shmem.c
 *	  Reserving genie's shared memory, and the arena in it.
 *
 * Everything is asked for once, while the postmaster preloads libraries, and set up in the startup hook: at server
 * start, and again when the postmaster starts over after a crash, from nothing.  Nothing here changes
 * afterwards, so reading it needs no lock.  Who writes into a module's part, and under which lock, is said there.
 *
 * The arena is a DSA area made in place in one block.  Its size limit is its own size: it never makes dynamic
 * segments (/dev/shm plays no part), and "no room" is a return value.  It is pinned, so it lives as long as
 * the server; a process attaches when it first needs it and lets go when it exits.
 *
 * Not here: what is in the arena (genie_directory.c, genie_request.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "genie_directory.h"
#include "genie_request.h"
#include "genie_shmem.h"
#include "genie_stat.h"

/*
 * kB.  The default holds about 100 million postings.  Below the minimum there is hardly an image that fits; an
 * address in a DSA segment has 40 bits.
 */
#define GENIE_SHARED_MEMORY_DEFAULT (256 * 1024)
#define GENIE_SHARED_MEMORY_MIN 4096
#define GENIE_SHARED_MEMORY_MAX (1024 * 1024 * 1024 - 1)

/* bytes: devices pin memory, and DSA hands large objects out, by pages of this size */
#define GENIE_ARENA_ALIGN 4096

typedef struct GenieShmem
{
	int			tranche;		/* "genie": LWLocks of our modules */
	int			arena_tranche;	/* "genie_arena": the DSA area's own locks */
	Size		arena_bytes;	/* 0: there is none */
	void	   *arena;
} GenieShmem;

/* a module's part */
typedef struct GenieShmemPart
{
	const char *name;
	Size		(*size) (void);
	void		(*init) (void *block);
} GenieShmemPart;

static const GenieShmemPart parts[] = {
	{"genie directory", genie_directory_shmem_size, genie_directory_shmem_init},
	{"genie requests", genie_request_shmem_size, genie_request_shmem_init},
	{"genie statistics", genie_stat_shmem_size, genie_stat_shmem_init}
};

static int	shared_memory = GENIE_SHARED_MEMORY_DEFAULT;
static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;
static GenieShmem *shmem = NULL;
static dsa_area *process_arena = NULL;	/* this process's view of the arena, once it is attached */

static Size
genie_shmem_arena_size(void)
{
	return (Size) shared_memory * 1024;
}

static void
genie_shmem_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(GenieShmem)));
	for (int i = 0; i < lengthof(parts); i++)
		RequestAddinShmemSpace(add_size(parts[i].size(), PG_CACHE_LINE_SIZE));
	if (shared_memory > 0)
		RequestAddinShmemSpace(add_size(genie_shmem_arena_size(), GENIE_ARENA_ALIGN + PG_CACHE_LINE_SIZE));
}

/* Makes the arena, and lets go of it: the postmaster has no use for it. */
static void
genie_shmem_make_arena(void)
{
	bool		found;
	char	   *block = ShmemInitStruct("genie arena", genie_shmem_arena_size() + GENIE_ARENA_ALIGN, &found);
	dsa_area   *area;

	shmem->arena = (void *) TYPEALIGN(GENIE_ARENA_ALIGN, block);
	shmem->arena_bytes = genie_shmem_arena_size();
	area = dsa_create_in_place(shmem->arena, shmem->arena_bytes, shmem->arena_tranche, NULL);
	dsa_pin(area);
	dsa_set_size_limit(area, shmem->arena_bytes);
	dsa_detach(area);
}

static void
genie_shmem_startup(void)
{
	bool		found;
	bool		part_found;

	if (previous_startup_hook)
		previous_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shmem = ShmemInitStruct("genie", sizeof(GenieShmem), &found);
	if (!found)
	{
		shmem->tranche = LWLockNewTrancheId();
		shmem->arena_tranche = LWLockNewTrancheId();
		shmem->arena = NULL;
		shmem->arena_bytes = 0;
		if (shared_memory > 0)
			genie_shmem_make_arena();
	}
	/* names are each process's own; children inherit them */
	LWLockRegisterTranche(shmem->tranche, "genie");
	LWLockRegisterTranche(shmem->arena_tranche, "genie_arena");
	for (int i = 0; i < lengthof(parts); i++)
		parts[i].init(ShmemInitStruct(parts[i].name, parts[i].size(), &part_found));
	LWLockRelease(AddinShmemInitLock);
}

static bool
genie_shmem_check_size(int *value, void **extra, GucSource source)
{
	if (*value == 0 || *value >= GENIE_SHARED_MEMORY_MIN)
		return true;
	GUC_check_errdetail("It must be 0, or at least %d kB.", GENIE_SHARED_MEMORY_MIN);
	return false;
}

void
genie_shmem_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	DefineCustomIntVariable("genie.shared_memory",
							"Sets the shared memory for images of genie indexes.",
							"0 keeps none: every query is counted by its own backend, from the index's pages.",
							&shared_memory,
							GENIE_SHARED_MEMORY_DEFAULT, 0, GENIE_SHARED_MEMORY_MAX,
							PGC_POSTMASTER, GUC_UNIT_KB, genie_shmem_check_size, NULL, NULL);
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = genie_shmem_request;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = genie_shmem_startup;
}

bool
genie_shmem_available(void)
{
	return shmem != NULL;
}

dsa_area *
genie_shmem_arena(void)
{
	if (process_arena == NULL && shmem != NULL && shmem->arena != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		process_arena = dsa_attach_in_place(shmem->arena, NULL);
		dsa_pin_mapping(process_arena);
		MemoryContextSwitchTo(old);
		on_shmem_exit(dsa_on_shmem_exit_release_in_place, PointerGetDatum(shmem->arena));
	}
	return process_arena;
}

void
genie_shmem_arena_block(void **base, Size *bytes)
{
	*base = shmem != NULL ? shmem->arena : NULL;
	*bytes = shmem != NULL ? shmem->arena_bytes : 0;
}

int
genie_shmem_tranche(void)
{
	return shmem->tranche;
}

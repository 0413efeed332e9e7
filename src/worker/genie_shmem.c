/*
 * genie_shmem.c
 *	  Reserving genie's shared memory, and having each module set up its part.
 *
 * Everything is asked for once, while the postmaster preloads libraries, and set up in the startup hook: at server
 * start, and again when the postmaster starts over after a crash, from nothing.
 *
 * Each module says which processes write into its part, and under which lock.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "genie_arena.h"
#include "genie_directory.h"
#include "genie_loader.h"
#include "genie_request.h"
#include "genie_shmem.h"
#include "genie_stat.h"

/* a module's part */
typedef struct GenieShmemPart
{
	const char *name;
	Size		(*size) (void);
	void		(*init) (void *memory);
} GenieShmemPart;

static const GenieShmemPart parts[] = {
	{"genie arenas", genie_arena_shmem_size, genie_arena_shmem_init},
	{"genie directory", genie_directory_shmem_size, genie_directory_shmem_init},
	{"genie loaders", genie_loader_shmem_size, genie_loader_shmem_init},
	{"genie requests", genie_request_shmem_size, genie_request_shmem_init},
	{"genie statistics", genie_stat_shmem_size, genie_stat_shmem_init}
};

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

static void
genie_shmem_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(genie_directory_hash_size());
	for (int i = 0; i < lengthof(parts); i++)
		RequestAddinShmemSpace(add_size(parts[i].size(), PG_CACHE_LINE_SIZE));
}

static void
genie_shmem_startup(void)
{
	bool		found;

	if (previous_startup_hook)
		previous_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < lengthof(parts); i++)
		parts[i].init(ShmemInitStruct(parts[i].name, parts[i].size(), &found));
	LWLockRelease(AddinShmemInitLock);
}

void
genie_shmem_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = genie_shmem_request;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = genie_shmem_startup;
}

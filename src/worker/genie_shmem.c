/*
 * genie_shmem.c
 *	  Reserving genie's shared memory, and the arenas in it.
 *
 * Everything is asked for once, while the postmaster preloads libraries, and set up in the startup hook: at server
 * start, and again when the postmaster starts over after a crash, from nothing.  Nothing here changes
 * afterwards, so reading it needs no lock.  Who writes into a module's part, and under which lock, is said there.
 *
 * The arenas are DSA areas made in place in one block.  An area's size limit is its own size: it never makes dynamic
 * segments (/dev/shm plays no part), and "no room" is a return value.  They are pinned, so they live as long as
 * the server; a process attaches when it first needs one and lets go when it exits.
 *
 * Not here: what is in the arenas (genie_directory.c, genie_request.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "genie_directory.h"
#include "genie_request.h"
#include "genie_shmem.h"
#include "genie_stat.h"

/* bytes: devices pin memory, and DSA hands large objects out, by pages of this size */
#define GENIE_ARENA_ALIGN 4096

/*
 * The requests' arena: one part of so many, but not less and not more than so many bytes.  A request takes kilobytes,
 * or up to 1 MB where it brings back bits or counts; each backend has one at most.
 */
#define GENIE_REQUEST_SHARE 8
#define GENIE_REQUEST_BYTES_MIN ((Size) 1 << 20)
#define GENIE_REQUEST_BYTES_MAX ((Size) 256 << 20)

/*
 * What DSA needs for itself: a fixed part; and 8 bytes a page of 4 kB, and a descriptor of 64 bytes an object: for
 * images of at least 3 pages less than one in so many bytes.
 */
#define GENIE_ARENA_OVERHEAD (64 * 1024)
#define GENIE_ARENA_OVERHEAD_SHARE 128

typedef struct GenieShmem
{
	int			tranche;		/* "genie": LWLocks of our modules */
	int			arena_tranche;	/* "genie_arena": the DSA areas' own locks */
	char	   *block;			/* of the arenas, images' first; NULL: there is none */
	Size		block_bytes;
	Size		image_bytes;	/* of the images' arena */
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

int			genie_shared_memory;

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;
static GenieShmem *shmem = NULL;

/* this process's views of the arenas, once it is attached */
static dsa_area *image_arena = NULL;
static dsa_area *request_arena = NULL;

static Size
genie_shmem_block_size(void)
{
	return (Size) genie_shared_memory * 1024;
}

static void
genie_shmem_request(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(GenieShmem)));
	RequestAddinShmemSpace(genie_directory_hash_size());
	for (int i = 0; i < lengthof(parts); i++)
		RequestAddinShmemSpace(add_size(parts[i].size(), PG_CACHE_LINE_SIZE));
	if (genie_shared_memory > 0)
		RequestAddinShmemSpace(add_size(genie_shmem_block_size(), GENIE_ARENA_ALIGN + PG_CACHE_LINE_SIZE));
}

/* Makes an arena, and lets go of it: the postmaster has no use for it. */
static void
genie_shmem_make_arena(void *place, Size bytes)
{
	dsa_area   *area = dsa_create_in_place(place, bytes, shmem->arena_tranche, NULL);

	dsa_pin(area);
	dsa_set_size_limit(area, bytes);
	dsa_detach(area);
}

static void
genie_shmem_make_arenas(void)
{
	bool		found;
	char	   *memory = ShmemInitStruct("genie arenas", genie_shmem_block_size() + GENIE_ARENA_ALIGN, &found);
	Size		requests = genie_shmem_block_size() / GENIE_REQUEST_SHARE;

	requests = Min(Max(requests, GENIE_REQUEST_BYTES_MIN), GENIE_REQUEST_BYTES_MAX);
	shmem->block = (char *) TYPEALIGN(GENIE_ARENA_ALIGN, memory);
	shmem->block_bytes = genie_shmem_block_size();
	shmem->image_bytes = TYPEALIGN_DOWN(GENIE_ARENA_ALIGN, shmem->block_bytes - requests);
	genie_shmem_make_arena(shmem->block, shmem->image_bytes);
	genie_shmem_make_arena(shmem->block + shmem->image_bytes, shmem->block_bytes - shmem->image_bytes);
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
		shmem->block = NULL;
		shmem->block_bytes = 0;
		shmem->image_bytes = 0;
		if (genie_shared_memory > 0)
			genie_shmem_make_arenas();
	}
	/* names are each process's own; children inherit them */
	LWLockRegisterTranche(shmem->tranche, "genie");
	LWLockRegisterTranche(shmem->arena_tranche, "genie_arena");
	for (int i = 0; i < lengthof(parts); i++)
		parts[i].init(ShmemInitStruct(parts[i].name, parts[i].size(), &part_found));
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

bool
genie_shmem_available(void)
{
	return shmem != NULL;
}

static dsa_area *
genie_shmem_attach(void *place)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	dsa_area   *area = dsa_attach_in_place(place, NULL);

	dsa_pin_mapping(area);
	MemoryContextSwitchTo(old);
	on_shmem_exit(dsa_on_shmem_exit_release_in_place, PointerGetDatum(place));
	return area;
}

dsa_area *
genie_shmem_arena(void)
{
	if (request_arena == NULL && shmem != NULL && shmem->block != NULL)
		request_arena = genie_shmem_attach(shmem->block + shmem->image_bytes);
	return request_arena;
}

dsa_area *
genie_shmem_image_arena(void)
{
	if (image_arena == NULL && shmem != NULL && shmem->block != NULL)
		image_arena = genie_shmem_attach(shmem->block);
	return image_arena;
}

Size
genie_shmem_image_bytes(void)
{
	Size		overhead = GENIE_ARENA_OVERHEAD + shmem->image_bytes / GENIE_ARENA_OVERHEAD_SHARE;

	return shmem->image_bytes - Min(overhead, shmem->image_bytes);
}

Size
genie_shmem_request_bytes(void)
{
	return shmem->block_bytes - shmem->image_bytes;
}

void
genie_shmem_arena_block(void **base, Size *bytes)
{
	*base = shmem != NULL ? shmem->block : NULL;
	*bytes = shmem != NULL ? shmem->block_bytes : 0;
}

void
genie_shmem_request_block(void **base, Size *bytes)
{
	genie_shmem_arena_block(base, bytes);
	if (*base == NULL)
		return;
	*base = (char *) *base + shmem->image_bytes;
	*bytes = genie_shmem_request_bytes();
}

int
genie_shmem_tranche(void)
{
	return shmem->tranche;
}

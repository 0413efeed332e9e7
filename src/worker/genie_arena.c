/*
 * genie_arena.c
 *	  The arenas of shared memory (genie_arena.h).
 *
 * The arenas are DSA areas made in place in one block.  An area's size limit is its own size: it never makes dynamic
 * segments (/dev/shm plays no part), and "no room" is a return value.  They are pinned, so they live as long as
 * the server; a process attaches when it first needs one and lets go when it exits.
 *
 * The fields of GenieArenas do not change after server start, so reading them needs no lock.
 *
 * Not here: what is in the arenas (genie_directory.c, genie_request.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "genie_arena.h"

/* bytes: devices pin memory, and DSA hands large objects out, by pages of this size */
#define ARENA_ALIGN 4096

/*
 * The requests' arena has one part in REQUEST_SHARE of the block, within these limits.  A request takes kilobytes, or
 * up to 1 MB where it brings back bits or counts; each backend has one at most.
 */
#define REQUEST_SHARE 8
#define REQUEST_BYTES_MIN ((Size) 1 << 20)
#define REQUEST_BYTES_MAX ((Size) 256 << 20)

/*
 * Bytes that DSA needs for itself: a fixed part; and 8 bytes a page of 4 kB, and a descriptor of 64 bytes an object,
 * which for images of at least 3 pages is less than one byte in OVERHEAD_SHARE.
 */
#define OVERHEAD (64 * 1024)
#define OVERHEAD_SHARE 128

typedef struct GenieArenas
{
	int			tranche;		/* "genie_arena": the DSA areas' own locks */
	char	   *block;			/* of the arenas, images' first; NULL: there is none */
	Size		block_bytes;
	Size		image_bytes;	/* of the images' arena */
} GenieArenas;

int			genie_shared_memory;

static GenieArenas *arenas = NULL;

/* this process's views of the arenas, once it is attached */
static dsa_area *image_arena = NULL;
static dsa_area *request_arena = NULL;

static Size
block_size(void)
{
	return (Size) genie_shared_memory * 1024;
}

Size
genie_arena_shmem_size(void)
{
	Size		block = genie_shared_memory > 0 ? add_size(block_size(), ARENA_ALIGN) : 0;

	return add_size(sizeof(GenieArenas), block);
}

/* Makes an arena, and lets go of it: the postmaster has no use for it. */
static void
make_arena(void *place, Size bytes)
{
	dsa_area   *area = dsa_create_in_place(place, bytes, arenas->tranche, NULL);

	dsa_pin(area);
	dsa_set_size_limit(area, bytes);
	dsa_detach(area);
}

static void
make_arenas(void)
{
	Size		requests = Min(Max(block_size() / REQUEST_SHARE, REQUEST_BYTES_MIN), REQUEST_BYTES_MAX);

	arenas->block = (char *) TYPEALIGN(ARENA_ALIGN, arenas + 1);
	arenas->block_bytes = block_size();
	arenas->image_bytes = TYPEALIGN_DOWN(ARENA_ALIGN, arenas->block_bytes - requests);
	make_arena(arenas->block, arenas->image_bytes);
	make_arena(arenas->block + arenas->image_bytes, arenas->block_bytes - arenas->image_bytes);
}

void
genie_arena_shmem_init(void *memory)
{
	arenas = memory;
	if (!IsUnderPostmaster)
	{
		memset(arenas, 0, sizeof(GenieArenas));
		arenas->tranche = LWLockNewTrancheId();
		if (genie_shared_memory > 0)
			make_arenas();
	}
	LWLockRegisterTranche(arenas->tranche, "genie_arena");	/* the name is each process's own; children inherit it */
}

static dsa_area *
attach(void *place)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	dsa_area   *area = dsa_attach_in_place(place, NULL);

	dsa_pin_mapping(area);
	MemoryContextSwitchTo(old);
	on_shmem_exit(dsa_on_shmem_exit_release_in_place, PointerGetDatum(place));
	return area;
}

dsa_area *
genie_arena_images(void)
{
	if (image_arena == NULL && arenas != NULL && arenas->block != NULL)
		image_arena = attach(arenas->block);
	return image_arena;
}

dsa_area *
genie_arena_requests(void)
{
	if (request_arena == NULL && arenas != NULL && arenas->block != NULL)
		request_arena = attach(arenas->block + arenas->image_bytes);
	return request_arena;
}

Size
genie_arena_image_bytes(void)
{
	Size		overhead = OVERHEAD + arenas->image_bytes / OVERHEAD_SHARE;

	return arenas->image_bytes - Min(overhead, arenas->image_bytes);
}

Size
genie_arena_request_bytes(void)
{
	return arenas->block_bytes - arenas->image_bytes;
}

void
genie_arena_block(void **base, Size *bytes)
{
	*base = arenas != NULL ? arenas->block : NULL;
	*bytes = arenas != NULL ? arenas->block_bytes : 0;
}

void
genie_arena_request_block(void **base, Size *bytes)
{
	genie_arena_block(base, bytes);
	if (*base == NULL)
		return;
	*base = (char *) *base + arenas->image_bytes;
	*bytes = genie_arena_request_bytes();
}

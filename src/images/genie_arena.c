/*
 * genie_arena.c
 *	  The arenas of shared memory (genie_arena.h).
 *
 * The images' arena is pages and a map of them, which the directory changes under its lock: it knows which images may
 * go when one finds no room.
 *
 * The requests' arena is a DSA area made in place.  Its size limit is its own size: it never makes dynamic
 * segments (/dev/shm plays no part), and "no room" is a return value.  It is pinned, so it lives as long as
 * the server; a process attaches when it first needs it and lets go when it exits.
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


/*
 * The requests' arena has one part in REQUEST_SHARE of the block, within these limits.  A request takes kilobytes, or
 * up to 1 MB where it brings back bits or counts; each backend has one at most.
 */
#define REQUEST_SHARE 8
#define REQUEST_BYTES_MIN ((Size) 1 << 20)
#define REQUEST_BYTES_MAX ((Size) 256 << 20)

typedef struct GenieArenas
{
	int			tranche;		/* "genie_arena": the DSA area's own locks */
	char	   *block;			/* of the arenas, images' first; NULL: there is none */
	Size		block_bytes;
	Size		image_bytes;	/* of the images' arena, whole pages */
	GenieMemoryMap *map;		/* of its pages; changes under the directory's lock */
} GenieArenas;

int			genie_shared_memory;

static GenieArenas *arenas = NULL;

/* this process's view of the requests' arena, once it is attached */
static dsa_area *request_arena = NULL;

static Size
block_size(void)
{
	return (Size) genie_shared_memory * 1024;
}

static Size
image_size(void)
{
	Size		requests = Min(Max(block_size() / REQUEST_SHARE, REQUEST_BYTES_MIN), REQUEST_BYTES_MAX);

	return TYPEALIGN_DOWN(GENIE_ARENA_PAGE, block_size() - requests);
}

Size
genie_arena_shmem_size(void)
{
	Size		size = sizeof(GenieArenas);

	if (genie_shared_memory > 0)
	{
		size = add_size(size, add_size(block_size(), GENIE_ARENA_PAGE));
		size = add_size(size, genie_memory_map_bytes(image_size() / GENIE_ARENA_PAGE));
	}
	return size;
}

static void
make_arenas(void)
{
	dsa_area   *requests;

	arenas->block_bytes = block_size();
	arenas->image_bytes = image_size();
	arenas->map = (GenieMemoryMap *) (arenas + 1);
	genie_memory_map_init(arenas->map, arenas->image_bytes / GENIE_ARENA_PAGE);
	arenas->block = (char *) TYPEALIGN(GENIE_ARENA_PAGE,
									   (char *) arenas->map + genie_memory_map_bytes(arenas->map->n_pages));

	/* the postmaster has no use for it and lets go */
	requests = dsa_create_in_place(arenas->block + arenas->image_bytes, genie_arena_request_bytes(), arenas->tranche,
								   NULL);
	dsa_pin(requests);
	dsa_set_size_limit(requests, genie_arena_request_bytes());
	dsa_detach(requests);
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

GenieMemoryMap *
genie_arena_images(char **base)
{
	*base = arenas != NULL ? arenas->block : NULL;
	return arenas != NULL ? arenas->map : NULL;
}

bool
genie_arena_preloaded(void)
{
	return arenas != NULL;
}

bool
genie_arena_has_images(void)
{
	return arenas != NULL && arenas->block != NULL;
}

dsa_area *
genie_arena_requests(void)
{
	if (request_arena == NULL && genie_arena_has_images())
		request_arena = attach(arenas->block + arenas->image_bytes);
	return request_arena;
}

Size
genie_arena_image_bytes(void)
{
	return arenas->image_bytes;
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

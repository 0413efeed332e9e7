/*
 * genie_arena.h
 *	  The two arenas of shared memory: for images, and for requests.
 *
 * genie.shared_memory is one block, cut into two arenas: images have the larger part, requests of backends the rest,
 * so that small and short-lived requests do not break up the long runs of pages that images need.  The images' arena is
 * pages with a map (genie_memory_map.h); the requests' is a DSA area in place.  Neither grows.  No room is a return
 * value: allocate requests with GENIE_ARENA_FLAGS.
 */
#ifndef GENIE_ARENA_H
#define GENIE_ARENA_H

#include "utils/dsa.h"

#include "genie_memory_map.h"

/* bytes of a page of the images' arena; devices pin memory by pages of this size, too */
#define GENIE_ARENA_PAGE 4096

/* the setting genie.shared_memory; kB */
extern int	genie_shared_memory;

/* more than 1 GB is fine, and InvalidDsaPointer instead of an ERROR where there is no room */
#define GENIE_ARENA_FLAGS (DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM)

/* Was genie preloaded, so that its shared memory exists?  It may be too small for arenas. */
extern bool genie_arena_preloaded(void);

/* The requests' arena, attached to on first use; NULL if genie.shared_memory is 0 or genie is not preloaded. */
extern dsa_area *genie_arena_requests(void);

/*
 * The images' arena: the map of its pages, for the directory alone (genie_directory_entry.h), and where they begin in
 * every process.
 */
extern GenieMemoryMap *genie_arena_images(char **base);

/* Is there memory for images? */
extern bool genie_arena_has_images(void);

/* The bytes that images can have. */
extern Size genie_arena_image_bytes(void);

/* The bytes of the requests' arena. */
extern Size genie_arena_request_bytes(void);

/* Where the block of both arenas lies in this process; NULL and 0 if there is none. */
extern void genie_arena_block(void **base, Size *bytes);

/* The same for the requests' arena alone, which is a part of that. */
extern void genie_arena_request_block(void **base, Size *bytes);

extern Size genie_arena_shmem_size(void);
extern void genie_arena_shmem_init(void *memory);

#endif							/* GENIE_ARENA_H */

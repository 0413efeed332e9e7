/*
 * genie_shmem.h
 *	  The shared memory of genie: one reservation at server start, for all modules.
 *
 * Only with shared_preload_libraries = 'genie'.  Each module that has something in shared memory gives two
 * functions, genie_<module>_shmem_size() and genie_<module>_shmem_init(block), and is listed in genie_shmem.c.
 *
 * genie.shared_memory is one block, cut into two arenas: images have the larger part, requests of backends and other
 * small and short-lived things the rest, so that the former's long runs of pages are not broken by the latter.
 * Each is a DSA area in place, which never grows.  No room is a return value: allocate with GENIE_ARENA_FLAGS.
 */
#ifndef GENIE_SHMEM_H
#define GENIE_SHMEM_H

#include "utils/dsa.h"

/* more than 1 GB is fine, and InvalidDsaPointer instead of an ERROR where there is no room */
#define GENIE_ARENA_FLAGS (DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM)

/* the setting genie.shared_memory; kB */
extern int	genie_shared_memory;

/* Called from _PG_init.  Reserves nothing unless the library is being preloaded. */
extern void genie_shmem_init(void);

/* Was genie preloaded, so that its shared memory exists? */
extern bool genie_shmem_available(void);

/*
 * The arenas, attached to on first use; NULL if genie.shared_memory is 0 or genie is not preloaded.
 */
extern dsa_area *genie_shmem_arena(void);	/* for requests */
extern dsa_area *genie_shmem_image_arena(void);

/* The bytes that images can have. */
extern Size genie_shmem_image_bytes(void);

/* The bytes of the requests' arena. */
extern Size genie_shmem_request_bytes(void);

/* Where the block of both arenas lies in this process; NULL and 0 if there is none. */
extern void genie_shmem_arena_block(void **base, Size *bytes);

/* The same for the requests' arena alone, which is a part of that. */
extern void genie_shmem_request_block(void **base, Size *bytes);

/* The tranche "genie", for LWLocks in its shared memory. */
extern int	genie_shmem_tranche(void);

#endif							/* GENIE_SHMEM_H */

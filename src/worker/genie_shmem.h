/*
 * genie_shmem.h
 *	  The shared memory of genie: one reservation at server start, for all modules.
 *
 * Only with shared_preload_libraries = 'genie'.  Each module that has something in shared memory gives two
 * functions, genie_<module>_shmem_size() and genie_<module>_shmem_init(memory), and is listed in genie_shmem.c.
 */
#ifndef GENIE_SHMEM_H
#define GENIE_SHMEM_H

/* Called from _PG_init, after the settings are defined.  Reserves nothing unless the library is being preloaded. */
extern void genie_shmem_init(void);

#endif							/* GENIE_SHMEM_H */

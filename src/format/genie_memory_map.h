/*
 * genie_memory_map.h
 *	  Which pages of a block of memory are taken, and by whom.
 *
 * The block is a sequence of *runs* of pages.  A run is free, or belongs to an owner: a number from 1 on.  An owner may
 * have many runs; it gives them back together.  The map does not know the memory itself, and needs no memory but its
 * own.  All functions take time in proportion to the number of runs.
 *
 * Free runs that lie behind one another are one run.
 *
 * Plain C99.  The caller keeps other processes away.
 */
#ifndef GENIE_MEMORY_MAP_H
#define GENIE_MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENIE_MEMORY_FREE 0		/* the owner of free runs */

typedef struct GenieMemoryRun
{
	uint32_t	n_pages;
	uint32_t	owner;
} GenieMemoryRun;

typedef struct GenieMemoryMap
{
	uint32_t	n_pages;
	GenieMemoryRun runs[];		/* one a page; that of a run's first page counts */
} GenieMemoryMap;

/* bytes of a map */
extern size_t genie_memory_map_bytes(uint32_t n_pages);

/* Everything is free. */
extern void genie_memory_map_init(GenieMemoryMap *map, uint32_t n_pages);

/*
 * Finds n consecutive pages that are free or belong to owners that may go: may_go[owner].  Of all such places it is one
 * where the fewest pages are taken.  False: there is none.
 */
extern bool genie_memory_map_find(const GenieMemoryMap *map, uint32_t n, const bool *may_go, uint32_t *first);

/* The owner of a page; *end: the first page behind its run. */
extern uint32_t genie_memory_map_owner(const GenieMemoryMap *map, uint32_t page, uint32_t *end);

/* Gives the owner n pages that are free. */
extern void genie_memory_map_take(GenieMemoryMap *map, uint32_t first, uint32_t n, uint32_t owner);

/* Frees all runs of the owner; or only the one that begins with this page, as it was taken. */
extern void genie_memory_map_release(GenieMemoryMap *map, uint32_t owner);
extern void genie_memory_map_release_run(GenieMemoryMap *map, uint32_t first);

/* Do the runs fill the block, and are no two free ones neighbours?  For tests and assertions. */
extern bool genie_memory_map_valid(const GenieMemoryMap *map);

#endif							/* GENIE_MEMORY_MAP_H */

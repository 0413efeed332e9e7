/*
 * genie_memory_map.c
 *	  Which pages of a block of memory are taken, and by whom (genie_memory_map.h).
 */
#include <assert.h>

#include "genie_memory_map.h"

#define NOBODY UINT32_MAX		/* no owner */

size_t
genie_memory_map_bytes(uint32_t n_pages)
{
	return sizeof(GenieMemoryMap) + (size_t) n_pages * sizeof(GenieMemoryRun);
}

void
genie_memory_map_init(GenieMemoryMap *map, uint32_t n_pages)
{
	map->n_pages = n_pages;
	if (n_pages > 0)
		map->runs[0] = (GenieMemoryRun) {n_pages, GENIE_MEMORY_FREE};
}

/*
 * A window of whole runs moves over the block.  It has at least n pages, and would not without its first or its last
 * run, so the pages are taken from its beginning.
 */
bool
genie_memory_map_find(const GenieMemoryMap *map, uint32_t n, const bool *may_go, uint32_t *first)
{
	uint32_t	begin = 0;
	uint32_t	n_pages = 0;	/* in the window */
	uint32_t	n_taken = 0;	/* of them */
	uint32_t	fewest = UINT32_MAX;

	for (uint32_t page = 0; page < map->n_pages; page += map->runs[page].n_pages)
	{
		GenieMemoryRun run = map->runs[page];

		if (run.owner != GENIE_MEMORY_FREE && !may_go[run.owner])
		{
			begin = page + run.n_pages;
			n_pages = n_taken = 0;
			continue;
		}
		n_pages += run.n_pages;
		n_taken += run.owner == GENIE_MEMORY_FREE ? 0 : run.n_pages;
		while (n_pages - map->runs[begin].n_pages >= n)
		{
			n_pages -= map->runs[begin].n_pages;
			n_taken -= map->runs[begin].owner == GENIE_MEMORY_FREE ? 0 : map->runs[begin].n_pages;
			begin += map->runs[begin].n_pages;
		}
		if (n_pages >= n && n_taken < fewest)
		{
			fewest = n_taken;
			*first = begin;
		}
	}
	return fewest != UINT32_MAX;
}

/* The first page of the run that the page is in. */
static uint32_t
run_of(const GenieMemoryMap *map, uint32_t page)
{
	uint32_t	begin = 0;

	while (begin + map->runs[begin].n_pages <= page)
		begin += map->runs[begin].n_pages;
	return begin;
}

uint32_t
genie_memory_map_owner(const GenieMemoryMap *map, uint32_t page, uint32_t *end)
{
	uint32_t	begin = run_of(map, page);

	*end = begin + map->runs[begin].n_pages;
	return map->runs[begin].owner;
}

void
genie_memory_map_take(GenieMemoryMap *map, uint32_t first, uint32_t n, uint32_t owner)
{
	uint32_t	begin = run_of(map, first);
	uint32_t	end = begin + map->runs[begin].n_pages;

	assert(map->runs[begin].owner == GENIE_MEMORY_FREE && n > 0 && n <= end - first);
	if (begin < first)
		map->runs[begin].n_pages = first - begin;
	map->runs[first] = (GenieMemoryRun) {n, owner};
	if (first + n < end)
		map->runs[first + n] = (GenieMemoryRun) {end - first - n, GENIE_MEMORY_FREE};
}

void
genie_memory_map_release(GenieMemoryMap *map, uint32_t owner)
{
	uint32_t	before = UINT32_MAX;	/* the run before, if it is free */

	for (uint32_t page = 0; page < map->n_pages;)
	{
		GenieMemoryRun *run = &map->runs[page];
		uint32_t	next = page + run->n_pages;

		if (run->owner == owner)
			run->owner = GENIE_MEMORY_FREE;
		if (run->owner != GENIE_MEMORY_FREE)
			before = UINT32_MAX;
		else if (before == UINT32_MAX)
			before = page;
		else
			map->runs[before].n_pages = next - before;
		page = next;
	}
}

void
genie_memory_map_release_run(GenieMemoryMap *map, uint32_t first)
{
	map->runs[first].owner = NOBODY;
	genie_memory_map_release(map, NOBODY);
}

bool
genie_memory_map_valid(const GenieMemoryMap *map)
{
	uint32_t	page = 0;
	bool		was_free = false;

	while (page < map->n_pages)
	{
		bool		is_free = map->runs[page].owner == GENIE_MEMORY_FREE;

		if (map->runs[page].n_pages == 0 || map->runs[page].n_pages > map->n_pages - page || (is_free && was_free))
			return false;
		was_free = is_free;
		page += map->runs[page].n_pages;
	}
	return true;
}

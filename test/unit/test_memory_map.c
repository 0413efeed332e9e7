/* Runs of pages (genie_memory_map.h) against an array that says who has each page. */
#include <string.h>

#include "genie_memory_map.h"
#include "genie_test.h"

#define PAGES 300
#define OWNERS 20

static uint32_t owner_of[PAGES];	/* the model: 0 is free */

static bool
may_have(uint32_t page, const bool *may_go)
{
	return owner_of[page] == GENIE_MEMORY_FREE || may_go[owner_of[page]];
}

/* Are there n consecutive pages that may be had? */
static bool
has_room(uint32_t n, const bool *may_go)
{
	uint32_t	length = 0;

	for (uint32_t page = 0; page < PAGES; page++)
	{
		length = may_have(page, may_go) ? length + 1 : 0;
		if (length >= n)
			return true;
	}
	return false;
}

static void
release(GenieMemoryMap *map, uint32_t owner)
{
	genie_memory_map_release(map, owner);
	for (uint32_t page = 0; page < PAGES; page++)
		if (owner_of[page] == owner)
			owner_of[page] = GENIE_MEMORY_FREE;
}

/* Frees the run that the page is in, unless it is free. */
static void
release_run(GenieMemoryMap *map, uint32_t page)
{
	uint32_t	end;
	uint32_t	first = 0;

	if (genie_memory_map_owner(map, page, &end) == GENIE_MEMORY_FREE)
		return;
	for (uint32_t next = 0; next <= page; (void) genie_memory_map_owner(map, first, &next))
		first = next;
	genie_memory_map_release_run(map, first);
	for (page = first; page < end; page++)
		owner_of[page] = GENIE_MEMORY_FREE;
}

/* The map says what the model says. */
static void
compare(const GenieMemoryMap *map)
{
	uint32_t	end = 0;

	CHECK(genie_memory_map_valid(map));
	for (uint32_t page = 0; page < PAGES; page++)
	{
		CHECK(genie_memory_map_owner(map, page, &end) == owner_of[page]);
		CHECK(end > page && end <= PAGES && (end == PAGES || owner_of[end] != owner_of[page] || owner_of[page] != 0));
	}
}

/* Allocates n pages for the owner; whoever may go and is in the way goes. */
static void
allocate(GenieMemoryMap *map, uint32_t n, uint32_t owner, const bool *may_go)
{
	uint32_t	first;
	bool		found = genie_memory_map_find(map, n, may_go, &first);

	CHECK(found == has_room(n, may_go));
	if (!found)
		return;
	CHECK(first + n <= PAGES);
	for (uint32_t page = first; page < first + n; page++)
	{
		CHECK(may_have(page, may_go));
		if (owner_of[page] != GENIE_MEMORY_FREE)
			release(map, owner_of[page]);
	}
	genie_memory_map_take(map, first, n, owner);
	for (uint32_t page = first; page < first + n; page++)
		owner_of[page] = owner;
}

int
main(void)
{
	static _Alignas(GenieMemoryMap) unsigned char memory[sizeof(GenieMemoryMap) + PAGES * sizeof(GenieMemoryRun)];
	GenieMemoryMap *map = (GenieMemoryMap *) (void *) memory;
	GenieRandom random = {17};

	CHECK(genie_memory_map_bytes(PAGES) == sizeof(memory));
	memset(memory, 0xAB, sizeof(memory));
	genie_memory_map_init(map, PAGES);
	compare(map);
	for (int round = 0; round < 3000; round++)
	{
		bool		may_go[OWNERS + 1];
		uint32_t	owner = 1 + genie_random(&random) % OWNERS;

		for (uint32_t i = 0; i <= OWNERS; i++)
			may_go[i] = i != owner && genie_random(&random) % 3 == 0;
		if (genie_random(&random) % 4 == 0)
			release(map, owner);
		else if (genie_random(&random) % 6 == 0)
			release_run(map, genie_random(&random) % PAGES);
		else
			allocate(map, 1 + genie_random(&random) % (genie_random(&random) % 8 == 0 ? PAGES + 5 : 30), owner, may_go);
		compare(map);
	}
	for (uint32_t owner = 1; owner <= OWNERS; owner++)
		release(map, owner);
	compare(map);
	CHECK(map->runs[0].n_pages == PAGES);
	return genie_test_end();
}

/*
 * genie_image_values.c
 *	  A segment's values, and their proximity graph, for a load (genie_image_values.h).
 *
 * A level of a graph is made by the worker's GPU, or, if it has none, or no room, by this process.  Both give the same
 * edges.  What is left, and all of it without a GPU, is done from a copy of the values in the process's own memory:
 * images in shared memory are for the worker alone.  So building a graph takes as much memory as the values have, and
 * what genie_proximity_build.h says, until it is done; and it takes long.  Threads help.  They know nothing of
 * PostgreSQL; this thread takes blocks of work, too, and looks after each one whether it shall end.  A cancel is not
 * heard in between (HOLD_CANCEL_INTERRUPTS), for an ERROR would leave memory behind: the build ends as if it had been
 * told to stop, and then the cancel is heard.  (If there is no memory for a request to the GPU, an ERROR does leave
 * 1.3 bytes an object behind.)
 */
#include "postgres.h"

#include <stdio.h>
#include <stdlib.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "genie_cpu_threads.h"
#include "genie_fault.h"
#include "genie_image_load.h"
#include "genie_image_values.h"
#include "genie_object_table.h"
#include "genie_proximity_build.h"
#include "genie_values.h"

#define WAIT_MS 10				/* for threads, between two looks whether to end */
#define DEVICE_OBJECTS 4096		/* a level of fewer is made as fast without a GPU */
#define MEMORY_PART 4			/* of what is free, a build takes this part at most */
#define MEMINFO_ENVIRONMENT "GENIE_MEMINFO" /* for tests: a file to read in the place of /proc/meminfo */

/* ---- values ---- */

void
genie_image_values_plan(GenieImageFill *fill, GenieValueShape shape)
{
	GenieImageParts *parts = &fill->parts;
	uint64		record = genie_value_bytes(shape);

	parts->n_objects = fill->segment->header.n_objects;
	parts->n_dimensions = shape.n_dimensions;
	parts->metric = shape.metric;
	parts->n_groups = genie_object_table_tiles(fill->segment);
	fill->group_bytes = palloc((Size) (parts->n_groups + 1) * sizeof(uint64));
	fill->group_at = palloc((Size) (parts->n_groups + 1) * sizeof(void *));
	fill->first_tile = palloc((Size) (parts->n_groups + 1) * sizeof(uint32));
	for (uint32 tile = 0; tile <= parts->n_groups; tile++)
		fill->first_tile[tile] = tile;
	for (uint32 tile = 0; tile < parts->n_groups; tile++)
		fill->group_bytes[tile] = Min(parts->n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS) * record;
}

bool
genie_image_values_read(GenieImageFill *fill, uint32 first_tile, uint32 end_tile)
{
	GenieSectionReader *reader = palloc(sizeof(GenieSectionReader));
	GenieSegment *segment = fill->segment;
	bool		verify = segment->verify;
	uint64		at = first_tile * fill->group_bytes[0];
	bool		ok = true;

	segment->verify = true;
	genie_section_reader(reader, segment, GENIE_SECTION_VALUES);
	for (uint32 tile = first_tile; ok && tile < end_tile; tile++)
	{
		CHECK_FOR_INTERRUPTS();
		ok = genie_section_read(reader, at, fill->group_bytes[tile], fill->group_at[tile]);
		at += fill->group_bytes[tile];
	}
	segment->verify = verify;
	pfree(reader);
	return ok;
}

/* ---- graphs ---- */

/* What threads do just now. */
typedef struct Team
{
	GenieCpuThreads *threads;	/* NULL: there are none, or no build */
	GenieSegment *segment;
	void		(*do_block) (void *work, uint32_t block);
	void	   *work;
	uint32		n_blocks;
	uint32		next;			/* atomic */
	bool		stopped;		/* atomic */
	const GenieImageKey *key;	/* of the graph; */
	const GenieImageRef *ref;
	uint32		n_dimensions;
} Team;

static Team team;

/* GenieCpuHelp */
static void
help(void *arg, GenieTileScratch *scratch)
{
	(void) arg;
	(void) scratch;
	for (uint32 i; !__atomic_load_n(&team.stopped, __ATOMIC_RELAXED) &&
		 (i = __atomic_fetch_add(&team.next, 1, __ATOMIC_RELAXED)) < team.n_blocks;)
		team.do_block(team.work, i);
}

/* Shall the build go on?  If not, no thread takes another block. */
static void
look_whether_to_end(void)
{
	CHECK_FOR_INTERRUPTS();		/* all but a cancel */
	if (QueryCancelPending || genie_segment_stops(team.segment))
		__atomic_store_n(&team.stopped, true, __ATOMIC_RELAXED);
}

static bool
has_to_end(void)
{
	look_whether_to_end();
	return team.stopped;
}

static void
join_threads(void)
{
	while (team.threads != NULL && !genie_cpu_threads_end(team.threads, WAIT_MS))
		;
}

/* GenieProximityWorkers */
static bool
for_each_block(void *arg, uint32_t n_blocks, void (*do_block) (void *work, uint32_t block), void *work)
{
	(void) arg;
	team.do_block = do_block;
	team.work = work;
	team.n_blocks = n_blocks;
	team.next = 0;
	GENIE_FAULT("graph-built");
	if (team.threads != NULL)
		genie_cpu_threads_begin(team.threads, genie_cpu_threads_count(team.threads), help, NULL);
	for (uint32 i; !team.stopped && (i = __atomic_fetch_add(&team.next, 1, __ATOMIC_RELAXED)) < n_blocks;)
	{
		do_block(work, i);
		look_whether_to_end();
	}
	join_threads();
	return !team.stopped;
}

/* GenieProximityWorkers */
static bool
make_level(void *arg, const GenieProximityLevel *level)
{
	GenieImageKey values = *team.key;
	GenieFound	found;
	bool		made;

	(void) arg;
	values.graph = 0;
	if (team.stopped || level->n < DEVICE_OBJECTS || genie_directory_find(&values, &found) != GENIE_IMAGE_READY)
		return false;
	made = genie_load_devices->make_level(team.ref, &found.ref, team.n_dimensions, level, has_to_end);

	/* if it shall end, no thread takes a block of it, either */
	return made && !has_to_end();
}

static void
end_team(void)
{
	genie_cpu_threads_close(team.threads);
	team.threads = NULL;
}

void
genie_image_graph_abort(void)
{
	if (team.threads == NULL)
		return;
	__atomic_store_n(&team.stopped, true, __ATOMIC_RELAXED);
	join_threads();
	end_team();
}

void
genie_image_graph_plan(GenieImageFill *fill, GenieValueShape shape, uint32 degree)
{
	GenieImageParts *parts = &fill->parts;
	uint32		n_levels;

	genie_image_values_plan(fill, shape);
	n_levels = genie_proximity_levels(parts->n_objects);
	for (uint32 tile = 0; tile < parts->n_groups; tile++)
		fill->group_bytes[tile] = (uint64) degree * sizeof(uint32) *
			genie_proximity_in_tile(Min(parts->n_objects - tile * GENIE_TILE_OBJECTS, GENIE_TILE_OBJECTS), n_levels);
	/* the plan of values has room for one more */
	fill->group_bytes[parts->n_groups++] = genie_proximity_head_bytes();
}

/* The segment's values, in memory of the current context.  False: stale. */
static bool
read_own_values(GenieSegment *segment, GenieValueShape shape, GenieQuantizedVectors *vectors)
{
	GenieImageFill fill = {.segment = segment};

	genie_image_values_plan(&fill, shape);
	for (uint32 tile = 0; tile < fill.parts.n_groups; tile++)
		fill.group_at[tile] = (void *) TYPEALIGN(PG_CACHE_LINE_SIZE,
												 MemoryContextAllocHuge(CurrentMemoryContext, fill.group_bytes[tile] +
																		PG_CACHE_LINE_SIZE));
	*vectors = genie_vectors(0, shape.metric, shape.n_dimensions, fill.parts.n_objects,
							 (const void *const *) fill.group_at);
	return genie_image_values_read(&fill, 0, fill.parts.n_groups);
}

/* Bytes that the machine can give without taking them from others, as Linux says; UINT64_MAX: nobody says. */
static uint64
available_bytes(void)
{
	const char *told = getenv(MEMINFO_ENVIRONMENT);
	FILE	   *file = AllocateFile(told != NULL ? told : "/proc/meminfo", PG_BINARY_R);
	unsigned long long kb = UINT64_MAX / 1024;
	char		line[128];

	if (file == NULL)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), file) != NULL && sscanf(line, "MemAvailable: %llu kB", &kb) != 1)
		;
	FreeFile(file);
	return kb >= UINT64_MAX / 1024 ? UINT64_MAX : kb * 1024;
}

uint64
genie_image_graph_needs(uint32 n_objects, GenieValueShape shape, uint32 degree)
{
	return genie_proximity_build_bytes(n_objects, degree) + (uint64) n_objects * genie_value_bytes(shape);
}

bool
genie_image_graph_has_memory(const GenieImageFill *fill, GenieValueShape shape, uint32 degree)
{
	return genie_image_graph_needs(fill->parts.n_objects, shape, degree) <= available_bytes() / MEMORY_PART;
}

GenieFallback
genie_image_graph_build(GenieImageFill *fill, GenieValueShape shape, const GenieImageKey *key, const GenieImageRef *ref)
{
	static const GenieProximityWorkers workers = {NULL, for_each_block, make_level};
	GenieProximityHead *head = fill->group_at[fill->parts.n_groups - 1];
	GenieQuantizedVectors vectors;
	GenieProximityResult result;

	if (!read_own_values(fill->segment, shape, &vectors))
		return GENIE_FALLBACK_STALE;
	team = (Team) {.segment = fill->segment, .key = key, .ref = ref, .n_dimensions = shape.n_dimensions};
	team.threads = genie_cpu_threads_open(genie_kernels_choose());
	if (team.threads != NULL)
		(void) genie_cpu_threads_resize(team.threads, (uint32) max_parallel_maintenance_workers);
	HOLD_CANCEL_INTERRUPTS();
	result = genie_proximity_build(&vectors, fill->segment->header.n_nulls, (uint32) key->graph, &workers,
								   (uint32 *const *) fill->group_at, head);
	RESUME_CANCEL_INTERRUPTS();
	end_team();
	CHECK_FOR_INTERRUPTS();
	return result == GENIE_PROXIMITY_STOPPED ? GENIE_FALLBACK_STALE :
		result == GENIE_PROXIMITY_NO_MEMORY ? GENIE_FALLBACK_LOAD_FAILED : GENIE_FALLBACK_NONE;
}

/*
 * genie_image_load.c
 *	  One load: memory for an image of a segment, and its life until the directory has it.
 *
 *	1. claim	an entry of the directory, LOADING
 *	2. plan		what the image takes (genie_image_fill.h)
 *	3. room		a piece for each group and one for the rest, evicting others
 *	4. fill		the groups, sizes and live bits; for 2 and 4 there may be workers (genie_image_team.h)
 *	5. publish	READY; from then on the groups are read-only
 *
 * An image of the backend's own is 2 and 4 alone, in memory of the current context.
 *
 * Codes alone (genie_image.h) take a third of the room, and single queries take longer by them.  Where there cannot be
 * codes, tight images take 0.5 to 0.9 of it.  genie.image says which images are full: full, all; small, none; auto,
 * those that find room so before others have to go.
 *
 * On devices alone.  Where no form finds room, the GPUs may have some (genie_directory.h).  Then 3 gets room for the
 * body and the groups' heads, and a *staging area*.  4 fills as many groups as that holds, has the worker copy them to
 * the devices, and goes on with the next ones there.  Each round reads all lists, so the area is as large as may be,
 * but leaves the most of the arena to others.  The first request, of heads alone, takes the room on the devices; the
 * last one sees that nothing was lost there meanwhile.  These images are of a small form, so there are none where
 * genie.image says full.
 *
 * A segment's values, quantized vectors, are loaded by the same steps without reading its lists: the plan follows from
 * their number.  Tile after tile is read from their section.  On devices alone, a tile is as a group, without a head.
 * Their proximity graph is planned in the same way, and built in step 4 (genie_image_values.c).
 *
 * Whatever ends a load before 5 (an ERROR, a cancel, the backend's exit), the entry says that loading failed, and its
 * memory is free again.  No lock is held during any of it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "genie_arena.h"
#include "genie_eviction.h"
#include "genie_fault.h"
#include "genie_image_fill.h"
#include "genie_image_load.h"
#include "genie_image_values.h"
#include "genie_object_table.h"
#include "genie_values.h"

#define OWN_ALIGN 64			/* a cache line */

/* an image is not smaller than this, for a bitmap of all objects has 8 postings a byte */
#define POSTINGS_A_BYTE 8

/* a group is no larger than this part of the arena, if tiles allow: small ones find room between others */
#define GROUPS_IN_ARENA 16

/* the staging area is no larger than this part of the arena, and a request copies about so many bytes: others wait */
#define STAGING_IN_ARENA 4
#define STAGE_BYTES (UINT64CONST(256) << 20)

int			genie_image_setting = GENIE_IMAGE_SETTING_AUTO;
const GenieLoadDevices *genie_load_devices = NULL;

/* A load in progress. */
typedef struct GenieLoad
{
	GenieImageFill fill;		/* of values only their plan and where they are to be filled */
	bool		is_vectors;		/* values, not an image, */
	const GenieImageKey *key;	/* of values */
	uint32		degree;			/* or a graph of them, of so many edges an object; 0: not */
	uint64		tombstone_version;
	uint64		n_bytes;		/* of the arena */
	GenieEvict	evict;
	bool		may_shrink;		/* to codes alone, or tight, if there is no free room for more */

	/* on devices alone */
	void	  **heads;			/* of the groups, each NULL of vectors; NULL: not there */
	uint8	   *staging;
	uint64		staging_bytes;

	/* the directory's entry */
	bool		claimed;		/* it is ours, LOADING */
	bool		first;
	GenieImageRef ref;
} GenieLoad;

/* ---- memory ---- */

static uint64
body_bytes(const GenieImageParts *parts)
{
	return (uint64) parts->n_tiles * GENIE_TILE_WORDS * sizeof(uint64) +
		(uint64) parts->n_groups * sizeof(void *) + (uint64) parts->n_totals * sizeof(uint64);
}

/* The bytes of the arena that the plan takes. */
static uint64
planned_bytes(const GenieImageFill *fill)
{
	uint64		n_bytes = genie_eviction_piece_bytes(body_bytes(&fill->parts));

	for (uint32 i = 0; i < fill->parts.n_groups; i++)
		n_bytes += genie_eviction_piece_bytes(fill->group_bytes[i]);
	return n_bytes;
}

/* Allocates everything that is planned; full_go: genie_eviction_allocate().  False: no room. */
static bool
allocate(GenieLoad *load, GenieEvict evict, bool full_go)
{
	GenieImageFill *fill = &load->fill;
	GenieImageParts *parts = &fill->parts;
	uint32		n_groups = parts->n_groups;
	uint64	   *pieces = palloc((Size) (n_groups + 1) * sizeof(uint64));

	load->n_bytes = planned_bytes(fill);
	memcpy(pieces, fill->group_bytes, n_groups * sizeof(uint64));
	pieces[n_groups] = body_bytes(parts);
	if (!genie_eviction_allocate(&load->ref, pieces, n_groups + 1, fill->group_at, evict, full_go))
		return false;
	fill->live = parts->body = fill->group_at[n_groups];
	pfree(pieces);
	return true;
}

/* Places groups from one on in the staging area, as many as fit, at least one; returns where they end. */
static uint32
place_span(const GenieLoad *load, uint32 first)
{
	uint64		used = 0;
	uint32		end = first;

	for (; end < load->fill.parts.n_groups; end++)
	{
		if (used + load->fill.group_bytes[end] > load->staging_bytes)
			break;
		load->fill.group_at[end] = load->staging + used;
		used += TYPEALIGN64(OWN_ALIGN, load->fill.group_bytes[end]);
	}
	return end;
}

/* May it be on devices alone? */
static bool
may_stage(const GenieLoad *load)
{
	if (load->fill.parts.n_groups == 0 || load->degree > 0)
		return false;
	return load->is_vectors ? genie_image_setting != GENIE_IMAGE_SETTING_FULL :
		load->fill.plan.form != GENIE_IMAGE_FULL;
}

/* Bytes of the head of a group. */
static uint64
head_bytes(const GenieLoad *load, uint32 group)
{
	return load->is_vectors ? 0 : genie_image_fill_head_bytes(&load->fill, group);
}

/* Allocates what an image on devices alone takes here, and there.  False: no room. */
static bool
allocate_staged(GenieLoad *load)
{
	GenieImageFill *fill = &load->fill;
	uint32		n_groups = fill->parts.n_groups;
	uint64		device_bytes = 0;
	uint64		largest = 0;
	uint64		pieces[3] = {body_bytes(&fill->parts), 0, 0};
	void	   *at[3];
	uint8	   *head;

	if (!may_stage(load))
		return false;
	for (uint32 i = 0; i < n_groups; i++)
	{
		device_bytes += fill->group_bytes[i];
		largest = Max(largest, fill->group_bytes[i]);
		pieces[1] += head_bytes(load, i);
	}
	if (!genie_eviction_allocate_on_device(&load->ref, device_bytes, load->evict))
		return false;
	pieces[2] = Max(largest, Min(device_bytes, genie_arena_image_bytes() / STAGING_IN_ARENA));
	while (!genie_eviction_allocate(&load->ref, pieces, 3, at, load->evict, false))
	{
		if (pieces[2] == largest)
			return false;
		pieces[2] = Max(largest, pieces[2] / 2);
	}
	fill->live = fill->parts.body = at[0];
	load->staging = at[2];
	load->staging_bytes = pieces[2];
	load->heads = palloc((Size) n_groups * sizeof(void *));
	head = memset(at[1], 0, pieces[1]);
	for (uint32 i = 0; i < n_groups; i++)
	{
		load->heads[i] = load->is_vectors ? NULL : head;
		head += head_bytes(load, i);
	}
	if (!load->is_vectors)
		genie_image_fill_heads(fill, load->heads);
	return true;
}

/* Why a step of reading returned false. */
static GenieFallback
reading_failed(const GenieImageFill *fill)
{
	return fill->damage != NULL ? GENIE_FALLBACK_LOAD_FAILED : GENIE_FALLBACK_STALE;
}

/*
 * Allocates what is planned, or, where that has no free room and may be, what takes less.  For that, full images of the
 * index's other segments go, too: all of an index in a small form is better than a part of it in a large one.  Returns
 * why not: no room, or what reading gave.
 */
static GenieFallback
make_room(GenieLoad *load)
{
	if (load->may_shrink)
	{
		if (allocate(load, GENIE_EVICT_NONE, false))
			return GENIE_FALLBACK_NONE;
		if (!genie_image_fill_shrink(&load->fill))
			return reading_failed(&load->fill);
	}
	if (allocate(load, load->evict, false) ||
		(load->fill.plan.form != GENIE_IMAGE_FULL && allocate(load, load->evict, true)) ||
		allocate_staged(load))
		return GENIE_FALLBACK_NONE;
	return GENIE_FALLBACK_NO_ROOM;
}

/* The body's addresses of groups, behind the live bits. */
static void **
body_groups(const GenieLoad *load)
{
	return (void **) (load->fill.live + (Size) load->fill.parts.n_tiles * GENIE_TILE_WORDS);
}

/* Fills the part of the body behind the live bits: the groups, and the totals. */
static void
fill_body(GenieLoad *load, void *const *group_at)
{
	const GenieImageParts *parts = &load->fill.parts;
	void	  **groups = body_groups(load);

	memcpy(groups, group_at, parts->n_groups * sizeof(void *));
	if (parts->n_totals > 0)
		memcpy(groups + parts->n_groups, load->fill.postings_before, parts->n_totals * sizeof(uint64));
}

/* ---- on devices alone ---- */

/* Has those of groups [first, end) copied that are no heads.  False: then not so many are there. */
static bool
stage(GenieLoad *load, uint32 first, uint32 end, uint32 there)
{
	const uint32 *first_tile = load->fill.first_tile;
	uint32		n_tiles = first_tile[end] - first_tile[first];
	uint32		n = 0;

	return genie_load_devices->stage(&load->ref, first_tile[first], n_tiles, &n) && n == there;
}

/* Has the groups of a span copied, which lie in the staging area. */
static bool
stage_span(GenieLoad *load, uint32 first, uint32 end)
{
	void	  **groups = body_groups(load);
	bool		good = true;

	memcpy(groups + first, load->fill.group_at + first, (end - first) * sizeof(void *));
	while (good && first < end)
	{
		uint64		n_bytes = 0;
		uint32		next = first;

		while (next < end && n_bytes < STAGE_BYTES)
			n_bytes += load->fill.group_bytes[next++];
		good = stage(load, first, next, next - first);
		memcpy(groups + first, load->heads + first, (next - first) * sizeof(void *));
		GENIE_FAULT("image-staged");
		first = next;
	}
	return good;
}

/* Fills the groups by way of the staging area. */
static GenieFallback
fill_staged(GenieLoad *load)
{
	GenieImageFill *fill = &load->fill;
	uint32		n_groups = fill->parts.n_groups;
	uint32		end;

	fill_body(load, load->heads);
	genie_directory_stage(&load->ref, &fill->parts);
	if (!stage(load, 0, n_groups, 0))
		return GENIE_FALLBACK_NO_ROOM;
	for (uint32 first = 0; first < n_groups; first = end)
	{
		end = place_span(load, first);
		if (load->is_vectors ? !genie_image_values_read(fill, first, end) : !genie_image_fill_span(fill, first, end))
			return reading_failed(fill);
		if (!stage_span(load, first, end))
			return GENIE_FALLBACK_NO_ROOM;
	}
	if (!stage(load, 0, n_groups, n_groups))
		return GENIE_FALLBACK_NO_ROOM;
	genie_eviction_give_back(&load->ref, load->staging, load->staging_bytes);
	fill->parts.on_device = true;
	return GENIE_FALLBACK_NONE;
}

/* ---- in the process's own memory ---- */

static void *
own_memory(Size bytes)
{
	return (void *) TYPEALIGN(OWN_ALIGN, MemoryContextAllocHuge(CurrentMemoryContext, bytes + OWN_ALIGN));
}

/* Plans and fills it.  False: it is too large, damaged, or stale. */
static bool
fill_own(GenieImageFill *fill, Size limit)
{
	if (fill->segment->header.n_postings / POSTINGS_A_BYTE > limit ||
		!genie_image_fill_plan(fill) || planned_bytes(fill) > limit)
		return false;
	fill->live = own_memory(body_bytes(&fill->parts));
	for (uint32 i = 0; i < fill->parts.n_groups; i++)
		fill->group_at[i] = own_memory(fill->group_bytes[i]);
	return genie_image_fill(fill);
}

#ifdef USE_ASSERT_CHECKING
/* An image that several processes made is the one that this process makes alone, byte by byte. */
static void
check_alone(const GenieImageFill *fill)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie image check", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieImageFill alone = {0};

	alone.segment = fill->segment;
	alone.n_dead = fill->n_dead;
	alone.plan.group_bytes = fill->plan.group_bytes;
	alone.wanted = fill->plan.form;
	if (fill_own(&alone, MaxAllocHugeSize))
	{
		Assert(alone.parts.n_groups == fill->parts.n_groups && alone.parts.n_totals == fill->parts.n_totals);
		for (uint32 i = 0; i < fill->parts.n_groups; i++)
			Assert(alone.group_bytes[i] == fill->group_bytes[i] &&
				   memcmp(alone.group_at[i], fill->group_at[i], fill->group_bytes[i]) == 0);
		Assert(fill->parts.n_totals == 0 ||
			   memcmp(alone.postings_before, fill->postings_before, fill->parts.n_totals * sizeof(uint64)) == 0);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
#endif

/* ---- a load ---- */

/* The most that a group of an image in shared memory has. */
static uint64
group_bytes(void)
{
	return !genie_arena_has_images() ? GENIE_IMAGE_GROUP_BYTES :
		Min(GENIE_IMAGE_GROUP_BYTES, genie_arena_image_bytes() / GROUPS_IN_ARENA);
}

/* An ERROR, or the process ends: nothing of the load remains. */
static void
cleanup(int code, Datum arg)
{
	GenieLoad  *load = (GenieLoad *) DatumGetPointer(arg);

	genie_image_fill_abort(&load->fill);	/* before its memory is free */
	genie_image_graph_abort();
	if (load->claimed)
		genie_directory_fail(&load->ref, GENIE_FALLBACK_LOAD_FAILED, 0);
	load->claimed = false;
}

/* Steps 2 to 4. */
static GenieFallback
run_claimed(GenieLoad *load)
{
	GenieImageFill *fill = &load->fill;
	GenieFallback why;

	if (load->degree > 0)
	{
		GenieValueShape shape = genie_values_shape(fill->segment);

		genie_image_graph_plan(fill, shape, load->degree);
		if (!genie_image_graph_has_memory(fill, shape, load->degree))
			return GENIE_FALLBACK_LOAD_FAILED;
	}
	else if (load->is_vectors)
		genie_image_values_plan(fill, genie_values_shape(fill->segment));
	else if (!genie_image_fill_plan(fill))
		return reading_failed(fill);
	why = make_room(load);
	fill->parts.form = fill->plan.form;
	if (why != GENIE_FALLBACK_NONE)
		return why;
	if (load->heads != NULL)
		return fill_staged(load);
	if (load->degree > 0)
	{
		/* the worker writes to it */
		fill_body(load, fill->group_at);
		genie_directory_stage(&load->ref, &fill->parts);
		why = genie_image_graph_build(fill, genie_values_shape(fill->segment), load->key, &load->ref);
	}
	else if (load->is_vectors ? !genie_image_values_read(fill, 0, fill->parts.n_groups) : !genie_image_fill(fill))
		why = reading_failed(fill);
	if (why != GENIE_FALLBACK_NONE)
		return why;
	fill_body(load, fill->group_at);
#ifdef USE_ASSERT_CHECKING
	if (fill->team != NULL)
		check_alone(fill);
#endif
	return GENIE_FALLBACK_NONE;
}

/* Steps 1 to 4. */
static GenieFallback
run(GenieLoad *load, const GenieImageKey *key)
{
	GenieFallback why;

	load->claimed = genie_directory_claim(key, load->evict, &load->ref, &load->first);
	if (!load->claimed)
		return GENIE_FALLBACK_LOADING;
	GENIE_FAULT("image-claimed");
	why = run_claimed(load);
	genie_image_fill_end(&load->fill);
	return why;
}

/* Step 5, or its opposite: gives the entry the state that it has from now on. */
static void
finish(GenieLoad *load, GenieFallback why)
{
	if (why == GENIE_FALLBACK_NONE)
		genie_directory_publish(&load->ref, &load->fill.parts, load->tombstone_version);
	else if (load->claimed)
		genie_directory_fail(&load->ref, why, load->n_bytes);
	load->claimed = false;
}

static GenieLoadResult
load_into_arena(GenieLoad *load, const GenieImageKey *key)
{
	GenieLoadResult result;

	genie_load_devices->prepare();
	PG_ENSURE_ERROR_CLEANUP(cleanup, PointerGetDatum(load));
	{
		result.why = run(load, key);
		finish(load, result.why);
	}
	PG_END_ENSURE_ERROR_CLEANUP(cleanup, PointerGetDatum(load));
	result.first = load->first;
	result.n_bytes = load->n_bytes;
	result.damage = load->fill.damage;
	return result;
}

static GenieImageForm
wanted_form(void)
{
	return genie_image_setting == GENIE_IMAGE_SETTING_SMALL ? GENIE_IMAGE_CODES : GENIE_IMAGE_FULL;
}

GenieLoadResult
genie_image_load(GenieSegment *segment, const GenieImageKey *key, uint32 n_dead, uint64 tombstone_version,
				 GenieEvict evict, uint32 n_workers)
{
	GenieImageForm wanted = wanted_form();
	GenieLoadResult result;
	GenieLoad  *load;

	for (;;)
	{
		load = palloc0(sizeof(GenieLoad));
		load->fill.segment = segment;
		load->fill.n_dead = n_dead;
		load->fill.n_workers = n_workers;
		load->fill.wanted = wanted;
		load->fill.plan.group_bytes = group_bytes();
		load->tombstone_version = tombstone_version;
		load->evict = evict;
		load->may_shrink = genie_image_setting == GENIE_IMAGE_SETTING_AUTO && wanted == GENIE_IMAGE_FULL;
		result = load_into_arena(load, key);
		if (!load->fill.repeats)
			return result;
		wanted = GENIE_IMAGE_TIGHT;
	}
}

GenieLoadResult
genie_image_load_values(GenieSegment *segment, const GenieImageKey *key, GenieEvict evict)
{
	GenieLoad  *load = palloc0(sizeof(GenieLoad));

	load->fill.segment = segment;
	load->is_vectors = true;
	load->key = key;
	load->degree = (uint32) key->graph;
	load->evict = evict;
	return load_into_arena(load, key);
}

/* ---- before a load ---- */

bool
genie_image_load_bytes(GenieSegment *segment, uint32 n_dead, uint64 *n_bytes)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie image plan", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieValueShape shape = genie_values_shape(segment);
	GenieImageFill fill = {.segment = segment, .n_dead = n_dead, .plan.group_bytes = group_bytes(),
		.wanted = wanted_form()};
	bool		ok = genie_image_fill_plan(&fill);

	*n_bytes = ok ? planned_bytes(&fill) : 0;
	genie_image_fill_end(&fill);
	if (ok && genie_values_metric(segment) != 0)
	{
		GenieImageFill values = {.segment = segment};

		genie_image_values_plan(&values, shape);
		*n_bytes += planned_bytes(&values);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ok;
}

/* ---- in the backend's own memory ---- */

/* The rest of the plan (tiles' plans) is small and stays with the image.  Without an image all of it is freed. */
GenieSegmentImage *
genie_image_load_own(GenieSegment *segment, uint32 n_dead, bool hints, Size limit)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie image", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieImageFill fill = {0};
	GenieSegmentImage *image = palloc0(sizeof(GenieSegmentImage));

	fill.segment = segment;
	fill.n_dead = n_dead;
	fill.hints = hints;
	fill.plan.group_bytes = GENIE_IMAGE_GROUP_BYTES;
	if (fill_own(&fill, limit))
	{
		image->n_objects = fill.parts.n_objects;
		image->n_keywords = fill.parts.n_keywords;
		image->n_tiles = fill.parts.n_tiles;
		image->n_groups = fill.parts.n_groups;
		image->groups = (const GenieImageGroup *const *) fill.group_at;
		image->postings_before = fill.parts.n_totals > 0 ? fill.postings_before : NULL;
		image->live = fill.live;
		genie_image_fill_end(&fill);
	}
	else
		image = NULL;
	MemoryContextSwitchTo(old);
	if (image == NULL)
		MemoryContextDelete(context);
	return image;
}

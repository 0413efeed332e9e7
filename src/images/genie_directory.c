/*
 * genie_directory.c
 *	  Which images are in shared memory (genie_directory.h has the states).
 *
 * An array of entries, and a hash table from keys to them; both of fixed size.  Their lock: genie_directory_entry.h.
 *
 * Not here: memory for an image, and which images go for it (genie_eviction.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_directory_entry.h"
#include "genie_image_load.h"
#include "genie_wait_event.h"

/* us until an image is tried again that found everything in use, or whose load failed */
#define GENIE_RETRY_US INT64CONST(10000000)

/* the same if it was for devices: finding out that these have no room takes long */
#define GENIE_DEVICE_RETRY_US INT64CONST(600000000)

/* ms after which a waiter looks again although no load has ended: there may have been no entry to load into */
#define GENIE_LOAD_WAIT_MS 1000

typedef struct GenieKeyEntry
{
	GenieImageKey key;			/* hashed as bytes: there is no padding */
	uint32		entry;
} GenieKeyEntry;

StaticAssertDecl(sizeof(GenieImageKey) == 4 * sizeof(uint32) + 4 * sizeof(uint64), "keys must have no padding");

GenieDirectory *genie_directory = NULL;
static HTAB *directory_keys = NULL;

Size
genie_directory_shmem_size(void)
{
	return sizeof(GenieDirectory);
}

Size
genie_directory_hash_size(void)
{
	return hash_estimate_size(GENIE_IMAGES_MAX, sizeof(GenieKeyEntry));
}

static void
make_empty(void)
{
	memset(genie_directory, 0, sizeof(GenieDirectory));
	genie_directory->tranche = LWLockNewTrancheId();
	LWLockInitialize(&genie_directory->lock, genie_directory->tranche);
	ConditionVariableInit(&genie_directory->load_ended);
	pg_atomic_init_u64(&genie_directory->generation, 0);
	genie_directory->next_id = 1;
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		pg_atomic_init_u64(&genie_directory->entries[i].last_used, 0);
		pg_atomic_init_u64(&genie_directory->entries[i].live_version, 0);
		pg_atomic_init_u64(&genie_directory->entries[i].hint_version, 0);
		pg_atomic_init_u64(&genie_directory->entries[i].n_hits, 0);
	}
}

void
genie_directory_shmem_init(void *memory)
{
	HASHCTL		info = {0};

	info.keysize = sizeof(GenieImageKey);
	info.entrysize = sizeof(GenieKeyEntry);
	directory_keys = ShmemInitHash("genie image keys", GENIE_IMAGES_MAX, GENIE_IMAGES_MAX, &info,
								   HASH_ELEM | HASH_BLOBS | HASH_FIXED_SIZE);
	genie_directory = memory;
	if (!IsUnderPostmaster)
		make_empty();
	/* the name is each process's own; children inherit it */
	LWLockRegisterTranche(genie_directory->tranche, "genie");
}

static void
genie_directory_touch(GenieDirectoryEntry *entry)
{
	pg_atomic_write_u64(&entry->last_used, (uint64) GetCurrentTimestamp());
}

bool
genie_directory_same_index(const GenieImageKey *a, const GenieImageKey *b)
{
	return a->tablespace == b->tablespace && a->database == b->database && a->storage == b->storage &&
		a->build_id == b->build_id;
}

/* The entry that has the key, under the lock; NULL: none. */
static GenieDirectoryEntry *
genie_directory_lookup(const GenieImageKey *key)
{
	GenieKeyEntry *found = hash_search(directory_keys, key, HASH_FIND, NULL);

	return found == NULL ? NULL : &genie_directory->entries[found->entry];
}

GenieDirectoryEntry *
genie_directory_of(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry;

	if (ref->entry >= GENIE_IMAGES_MAX)
		return NULL;
	entry = &genie_directory->entries[ref->entry];
	return entry->id == ref->id ? entry : NULL;
}

static GenieDirectoryEntry *
genie_directory_ready(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry = genie_directory_of(ref);

	return entry != NULL && entry->state == GENIE_IMAGE_READY ? entry : NULL;
}

/* the groups' addresses behind the live bits of a body */
static void *const *
genie_directory_groups(const GenieImageParts *parts)
{
	return (void *const *) (parts->body + (Size) parts->n_tiles * GENIE_TILE_WORDS);
}

uint32
genie_directory_owner(const GenieDirectoryEntry *entry)
{
	return (uint32) (entry - genie_directory->entries) + 1;
}

void
genie_directory_release(GenieDirectoryEntry *entry)
{
	char	   *base;

	if (entry->bytes == 0)
		return;
	genie_memory_map_release(genie_arena_images(&base), genie_directory_owner(entry));
	genie_directory->image_bytes -= entry->bytes;
	entry->bytes = 0;
}

/* The number of READY entries of its kind. */
static uint64 *
genie_directory_number(const GenieDirectoryEntry *entry)
{
	if (entry->key.graph != 0)
		return &genie_directory->n_graphs;
	return entry->key.metric != 0 ? &genie_directory->n_vectors : &genie_directory->n_images;
}

void
genie_directory_forget(GenieDirectoryEntry *entry)
{
	hash_search(directory_keys, &entry->key, HASH_REMOVE, NULL);
	if (entry->state == GENIE_IMAGE_READY)
	{
		*genie_directory_number(entry) -= 1;
		genie_directory->n_evictions++;
		pg_atomic_fetch_add_u64(&genie_directory->generation, 1);
	}
	if (entry->state == GENIE_IMAGE_READY || entry->state == GENIE_IMAGE_LOADING)
		genie_directory_release(entry);
	entry->state = GENIE_IMAGE_FREE;
	entry->id = 0;
	entry->bytes = 0;
	entry->device_bytes = 0;
}

/* ---- for backends: finding and claiming ---- */

GenieImageState
genie_directory_find(const GenieImageKey *key, GenieFound *found)
{
	GenieImageState state = GENIE_IMAGE_FREE;
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_lookup(key);
	if (entry != NULL)
	{
		state = entry->state;
		found->ref.entry = (uint32) (entry - genie_directory->entries);
		found->ref.id = entry->id;
		found->live_version = pg_atomic_read_u64(&entry->live_version);
		found->hint_version = (uint32) pg_atomic_read_u64(&entry->hint_version);
		found->bytes = entry->bytes;
		found->device_bytes = entry->device_bytes;
		found->why = entry->why;
		found->due = state == GENIE_IMAGE_PUT_OFF &&
			(entry->setting != genie_image_setting ||
			 (entry->retry_at <= GetCurrentTimestamp() && genie_eviction_enough(entry->bytes, key)));
		if (state == GENIE_IMAGE_READY)
		{
			genie_directory_touch(entry);
			pg_atomic_fetch_add_u64(&entry->n_hits, 1);
		}
	}
	LWLockRelease(&genie_directory->lock);
	return state;
}

bool
genie_directory_has_index(const GenieImageKey *key)
{
	bool		has = false;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	for (uint32 i = 0; i < GENIE_IMAGES_MAX && !has; i++)
		has = genie_directory->entries[i].state == GENIE_IMAGE_READY &&
			genie_directory_same_index(&genie_directory->entries[i].key, key);
	LWLockRelease(&genie_directory->lock);
	return has;
}

/*
 * An entry for a new key, under the exclusive lock: a FREE one, else the oldest PUT_OFF, which is FREE then.
 * NULL: none.
 */
static GenieDirectoryEntry *
genie_directory_take_entry(void)
{
	GenieDirectoryEntry *oldest = NULL;

	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];

		if (entry->state == GENIE_IMAGE_FREE)
			return entry;
		if (entry->state == GENIE_IMAGE_PUT_OFF && (oldest == NULL ||
													pg_atomic_read_u64(&entry->last_used) <
													pg_atomic_read_u64(&oldest->last_used)))
			oldest = entry;
	}
	if (oldest != NULL)
		genie_directory_forget(oldest);
	return oldest;
}

bool
genie_directory_claim(const GenieImageKey *key, GenieEvict evict, GenieImageRef *ref, bool *first)
{
	GenieDirectoryEntry *entry;
	bool		claimed;

	*first = false;
	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_lookup(key);
	claimed = entry != NULL && entry->state == GENIE_IMAGE_PUT_OFF;
	if (entry == NULL)
	{
		entry = genie_directory_take_entry();
		if (entry == NULL)
			entry = genie_eviction_victim(key, evict);
		if (entry != NULL)
		{
			if (entry->state == GENIE_IMAGE_READY)
				genie_directory_forget(entry);
			((GenieKeyEntry *) hash_search(directory_keys, key, HASH_ENTER, NULL))->entry =
				(uint32) (entry - genie_directory->entries);
			entry->key = *key;
			entry->n_loads = 0;
			pg_atomic_write_u64(&entry->n_hits, 0);
			claimed = true;
			*first = true;
		}
	}
	if (claimed)
	{
		entry->state = GENIE_IMAGE_LOADING;
		entry->n_loads++;
		entry->id = genie_directory->next_id++;
		entry->bytes = 0;
		entry->device_bytes = 0;
		entry->has_failed = false;
		entry->parts.body = NULL;
		entry->pins = 0;
		ref->entry = (uint32) (entry - genie_directory->entries);
		ref->id = entry->id;
	}
	LWLockRelease(&genie_directory->lock);
	return claimed;
}

/* ---- the end of a load ---- */

static GenieDirectoryEntry *
genie_directory_loading(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry = genie_directory_of(ref);

	if (entry == NULL || entry->state != GENIE_IMAGE_LOADING)
	{
		/* the caller's cleanup takes the lock again */
		LWLockRelease(&genie_directory->lock);
		elog(ERROR, "a genie image that is being loaded has lost its entry");
	}
	return entry;
}

void
genie_directory_stage(const GenieImageRef *ref, const GenieImageParts *parts)
{
	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	genie_directory_loading(ref)->parts = *parts;
	LWLockRelease(&genie_directory->lock);
}

void
genie_directory_publish(const GenieImageRef *ref, const GenieImageParts *parts, uint64 live_version)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_loading(ref);
	entry->parts = *parts;
	entry->state = GENIE_IMAGE_READY;
	pg_atomic_write_u64(&entry->live_version, live_version);
	pg_atomic_write_u64(&entry->hint_version, 0);
	genie_directory_touch(entry);
	*genie_directory_number(entry) += 1;
	genie_directory->n_loads++;
	LWLockRelease(&genie_directory->lock);
	ConditionVariableBroadcast(&genie_directory->load_ended);
}

/* LOADING to what a load that failed is, under the exclusive lock, as soon as it is not pinned. */
static void
genie_directory_put_off(GenieDirectoryEntry *entry)
{
	if (entry->pins > 0)
		return;
	if (entry->device_bytes > 0)	/* there may be copies */
		pg_atomic_fetch_add_u64(&genie_directory->generation, 1);
	if (entry->why == GENIE_FALLBACK_STALE)
	{
		genie_directory_forget(entry);
		return;
	}
	genie_directory_release(entry);
	entry->device_bytes = 0;
	entry->bytes = entry->needed;
	entry->state = GENIE_IMAGE_PUT_OFF;
	genie_directory_touch(entry);
}

void
genie_directory_fail(const GenieImageRef *ref, GenieFallback why, uint64 bytes)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_loading(ref);
	genie_directory->n_no_room += why == GENIE_FALLBACK_NO_ROOM;
	entry->has_failed = true;
	entry->why = why;
	entry->needed = why == GENIE_FALLBACK_NO_ROOM ? bytes : 0;
	entry->retry_at = GetCurrentTimestamp() + (entry->device_bytes > 0 ? GENIE_DEVICE_RETRY_US : GENIE_RETRY_US);
	entry->setting = genie_image_setting;
	genie_directory_put_off(entry);
	LWLockRelease(&genie_directory->lock);
	ConditionVariableBroadcast(&genie_directory->load_ended);
}

void
genie_directory_wait(void)
{
	(void) ConditionVariableTimedSleep(&genie_directory->load_ended, GENIE_LOAD_WAIT_MS,
									   genie_wait_event(GENIE_WAIT_IMAGE_LOAD));
}

void
genie_directory_wait_end(void)
{
	ConditionVariableCancelSleep();
}

/* ---- live bits ---- */

bool
genie_directory_clear_live(const GenieImageRef *ref, uint32 first_word, uint32 n, const uint64 *dead)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL)
	{
		uint64	   *live = entry->parts.body + first_word;

		Assert((uint64) first_word + n <= (uint64) entry->parts.n_tiles * GENIE_TILE_WORDS);
		for (uint32 i = 0; i < n; i++)
			if (live[i] & dead[i])
				__atomic_fetch_and(&live[i], ~dead[i], __ATOMIC_RELAXED);
	}
	LWLockRelease(&genie_directory->lock);
	return entry != NULL;
}

/* Raises a version of live bits.  A full barrier: a process that sees the version sees the bits. */
static void
genie_directory_raise(pg_atomic_uint64 *version, uint64 to)
{
	uint64		now = pg_atomic_read_u64(version);

	while (now < to && !pg_atomic_compare_exchange_u64(version, &now, to))
		;
}

bool
genie_directory_raise_live_version(const GenieImageRef *ref, uint64 version)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL)
		genie_directory_raise(&entry->live_version, version);
	LWLockRelease(&genie_directory->lock);
	return entry != NULL;
}

bool
genie_directory_settle_hints(bool taken)
{
	bool		as_said;

	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	if (!genie_directory->hints_settled)
	{
		genie_directory->hints_settled = true;
		genie_directory->hints_taken = taken;
	}
	as_said = genie_directory->hints_taken == taken;
	LWLockRelease(&genie_directory->lock);
	return as_said;
}

void
genie_directory_raise_hint_version(const GenieImageRef *ref, uint32 version)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL)
		genie_directory_raise(&entry->hint_version, version);
	LWLockRelease(&genie_directory->lock);
}

/* ---- for the worker ---- */

/*
 * Pins an entry that is READY and has at least that tombstone version, so that its parts stay; *tombstone_version
 * becomes its own.  NULL: it is not.
 */
static GenieDirectoryEntry *
genie_directory_pin_entry(const GenieImageRef *ref, uint64 *tombstone_version)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL && pg_atomic_read_u64(&entry->live_version) < *tombstone_version)
		entry = NULL;
	if (entry != NULL)
	{
		entry->pins++;
		*tombstone_version = pg_atomic_read_u64(&entry->live_version);
	}
	LWLockRelease(&genie_directory->lock);
	return entry;
}

/* The addresses of the groups; palloc'd. */
static const void **
genie_directory_group_addresses(const GenieImageParts *parts)
{
	Size		bytes = (Size) parts->n_groups * sizeof(void *);

	return memcpy(palloc(bytes), genie_directory_groups(parts), bytes);
}

/* Describes a pinned entry but for its live bits' version. */
static void
genie_directory_describe(const GenieDirectoryEntry *entry, GenieSegmentImage *image)
{
	image->id = entry->id;
	image->n_objects = entry->parts.n_objects;
	image->n_keywords = entry->parts.n_keywords;
	image->n_tiles = entry->parts.n_tiles;
	image->n_groups = entry->parts.n_groups;
	image->live = entry->parts.body;
	image->groups = (const GenieImageGroup *const *) genie_directory_group_addresses(&entry->parts);
	image->postings_before = entry->parts.n_totals == 0 ? NULL :
		(const uint64 *) (const void *) (genie_directory_groups(&entry->parts) + image->n_groups);
}

/* The same of quantized vectors. */
static void
genie_directory_describe_vectors(const GenieDirectoryEntry *entry, GenieQuantizedVectors *vectors)
{
	*vectors = genie_vectors(entry->id, entry->parts.metric, entry->parts.n_dimensions, entry->parts.n_objects,
							 genie_directory_group_addresses(&entry->parts));
}

bool
genie_directory_pin(const GenieImageRef *ref, uint64 *tombstone_version, GenieSegmentImage *image)
{
	GenieDirectoryEntry *entry = genie_directory_pin_entry(ref, tombstone_version);

	if (entry == NULL)
		return false;
	/* both are only ever raised, so the sum is another whenever the bits are */
	image->live_version = *tombstone_version + pg_atomic_read_u64(&entry->hint_version);
	genie_directory_describe(entry, image);
	return true;
}

/* Pins an entry that is LOADING and has its parts, which then stay.  NULL: it is not. */
static GenieDirectoryEntry *
genie_directory_pin_loading(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_of(ref);
	if (entry != NULL && (entry->state != GENIE_IMAGE_LOADING || entry->has_failed || entry->parts.body == NULL))
		entry = NULL;
	if (entry != NULL)
		entry->pins++;
	LWLockRelease(&genie_directory->lock);
	return entry;
}

bool
genie_directory_pin_staged(const GenieImageRef *ref, GenieSegmentImage *image, GenieQuantizedVectors **vectors)
{
	GenieDirectoryEntry *entry = genie_directory_pin_loading(ref);

	if (entry == NULL)
		return false;
	*vectors = NULL;
	if (entry->key.metric == 0)
	{
		image->live_version = 0;
		genie_directory_describe(entry, image);
		return true;
	}
	*vectors = palloc(sizeof(GenieQuantizedVectors));
	genie_directory_describe_vectors(entry, *vectors);
	*image = (GenieSegmentImage) {.id = entry->id, .n_objects = (*vectors)->n_objects, .n_tiles = (*vectors)->end_tile};
	return true;
}

bool
genie_directory_pin_vectors(const GenieImageRef *ref, GenieQuantizedVectors *vectors)
{
	uint64		tombstone_version = 0;
	GenieDirectoryEntry *entry = genie_directory_pin_entry(ref, &tombstone_version);

	if (entry == NULL)
		return false;
	genie_directory_describe_vectors(entry, vectors);
	return true;
}

/* The same of a proximity graph. */
static void
genie_directory_describe_graph(const GenieDirectoryEntry *entry, GenieProximityGraph *graph)
{
	const void **groups = genie_directory_group_addresses(&entry->parts);

	*graph = (GenieProximityGraph) {
		.id = entry->id, .n_objects = entry->parts.n_objects, .head = groups[entry->parts.n_groups - 1],
		.tiles = (const uint32 *const *) groups
	};
}

bool
genie_directory_pin_graph(const GenieImageRef *ref, GenieProximityGraph *graph)
{
	uint64		tombstone_version = 0;
	GenieDirectoryEntry *entry = genie_directory_pin_entry(ref, &tombstone_version);

	if (entry == NULL)
		return false;
	genie_directory_describe_graph(entry, graph);
	return true;
}

bool
genie_directory_graph_head(const GenieImageRef *ref, GenieProximityHead *head)
{
	const GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL)
		*head = *(const GenieProximityHead *) genie_directory_groups(&entry->parts)[entry->parts.n_groups - 1];
	LWLockRelease(&genie_directory->lock);
	return entry != NULL;
}

bool
genie_directory_pin_unfinished_graph(const GenieImageRef *ref, GenieProximityGraph *graph)
{
	GenieDirectoryEntry *entry = genie_directory_pin_loading(ref);

	if (entry == NULL)
		return false;
	genie_directory_describe_graph(entry, graph);
	return true;
}

void
genie_directory_unpin(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry;
	bool		has_failed = false;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_of(ref);
	Assert(entry != NULL && entry->pins > 0);
	if (entry != NULL)
	{
		entry->pins--;
		has_failed = entry->state == GENIE_IMAGE_LOADING && entry->has_failed;
	}
	LWLockRelease(&genie_directory->lock);
	if (!has_failed)
		return;
	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_of(ref);
	if (entry != NULL && entry->state == GENIE_IMAGE_LOADING && entry->has_failed)
		genie_directory_put_off(entry);
	LWLockRelease(&genie_directory->lock);
}

void
genie_directory_unpin_all(void)
{
	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];

		entry->pins = 0;
		if (entry->state == GENIE_IMAGE_LOADING && entry->has_failed)
			genie_directory_put_off(entry);
	}
	LWLockRelease(&genie_directory->lock);
	genie_directory_set_device_room(0);
}

void
genie_directory_set_device_room(uint64 bytes)
{
	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	for (uint32 i = 0; i < GENIE_IMAGES_MAX && genie_directory->device_room != bytes; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];

		if (bytes == 0 && entry->state == GENIE_IMAGE_READY && entry->parts.on_device && entry->pins == 0)
			genie_directory_forget(entry);
		else if (bytes > genie_directory->device_room && entry->state == GENIE_IMAGE_PUT_OFF)
			entry->retry_at = 0;
	}
	genie_directory->device_room = bytes;
	LWLockRelease(&genie_directory->lock);
}

bool
genie_directory_has_devices(void)
{
	bool		has;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	has = genie_directory->device_room > 0;
	LWLockRelease(&genie_directory->lock);
	return has;
}

void
genie_directory_drop(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_ready(ref);
	if (entry != NULL && entry->pins == 0)
		genie_directory_forget(entry);
	LWLockRelease(&genie_directory->lock);
}

bool
genie_directory_has(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry;
	bool		there;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_of(ref);
	there = entry != NULL && (entry->state == GENIE_IMAGE_READY ||
							  (entry->state == GENIE_IMAGE_LOADING && !entry->has_failed));
	LWLockRelease(&genie_directory->lock);
	return there;
}

uint64
genie_directory_generation(void)
{
	return pg_atomic_read_u64(&genie_directory->generation);
}

void
genie_directory_set_unused(const GenieImageKey *key, uint32 rank)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	entry = genie_directory_lookup(key);
	if (entry != NULL && entry->state == GENIE_IMAGE_READY)
		pg_atomic_write_u64(&entry->last_used, PG_UINT32_MAX - rank);	/* within hours of the year 2000 */
	LWLockRelease(&genie_directory->lock);
}

void
genie_directory_usage(GenieDirectoryUsage *usage)
{
	void	   *base;
	Size		arena_bytes;

	genie_arena_block(&base, &arena_bytes);
	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	usage->n_images = genie_directory->n_images;
	usage->n_vectors = genie_directory->n_vectors;
	usage->image_bytes = genie_directory->image_bytes;
	usage->arena_bytes = arena_bytes;
	usage->n_loads = genie_directory->n_loads;
	usage->n_evictions = genie_directory->n_evictions;
	usage->n_no_room = genie_directory->n_no_room;
	LWLockRelease(&genie_directory->lock);
}

/* for qsort: the last used first */
static int
genie_directory_compare_use(const void *a, const void *b)
{
	TimestampTz x = ((const GenieImageInfo *) a)->last_used;
	TimestampTz y = ((const GenieImageInfo *) b)->last_used;

	return x > y ? -1 : x < y;
}

uint32
genie_directory_list(GenieImageInfo **images)
{
	GenieImageInfo *info = palloc(GENIE_IMAGES_MAX * sizeof(GenieImageInfo));
	uint32		n = 0;

	LWLockAcquire(&genie_directory->lock, LW_SHARED);
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];

		if (entry->state == GENIE_IMAGE_FREE)
			continue;
		info[n].key = entry->key;
		info[n].state = entry->state;
		info[n].why = entry->state == GENIE_IMAGE_PUT_OFF ? entry->why : GENIE_FALLBACK_NONE;
		info[n].form = entry->state == GENIE_IMAGE_READY ? entry->parts.form : GENIE_IMAGE_FULL;
		info[n].bytes = entry->bytes;
		info[n].device_bytes = entry->device_bytes;
		info[n].last_used = (TimestampTz) pg_atomic_read_u64(&entry->last_used);
		info[n].n_loads = entry->n_loads;
		info[n++].n_hits = pg_atomic_read_u64(&entry->n_hits);
	}
	LWLockRelease(&genie_directory->lock);
	qsort(info, n, sizeof(GenieImageInfo), genie_directory_compare_use);
	*images = info;
	return n;
}

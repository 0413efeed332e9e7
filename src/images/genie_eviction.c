/*
 * genie_eviction.c
 *	  Room for images: a load's memory, and which images go for it, or because nobody will ask for them.
 *
 * Room.  The arena's pages belong to entries of the directory; the map of them (genie_memory_map.h) changes under the
 * directory's lock.  A piece of an image needs consecutive pages.  Where none are free, the least recently used images
 * are thought away, as few as suffice, and those of them that lie in the way are evicted.  So no image lacks room
 * because free memory is in pieces.
 *
 * Eviction.  Images of indexes that are gone go first, then the least recently used.  Never evicted are: images that
 * the worker has pinned; other images of the index that is being loaded, because the same scan wants them again (an
 * index larger than the arena would replace itself for ever); and, unless the administrator asks, images that were used
 * within GENIE_IMAGE_KEEP_US, so that scans which take turns on two indexes do not spend all their time loading.
 * Images that are on devices alone (genie_directory.h) take long to load and little room here, so they go last.
 * Quantized vectors only save time: they go for any image, before all images and whenever they were used, and
 * themselves evict only quantized vectors.
 *
 * On devices.  An image, or vectors, that are to be on devices alone take bytes of their room, which is a sum: where
 * each group lies is the engines' business (engine/devices).  Others of these images go for it by the same rules.
 *
 * Indexes that are gone.  Nobody is told of DROP INDEX, REINDEX, TRUNCATE, ROLLBACK or DROP DATABASE here; but the
 * index's file is truncated when their transaction ends, and a standby's replay unlinks it.  So files are looked at:
 * when there is no room, by genie_prewarm, and by the worker every few seconds.  An index that exists has a metapage,
 * so its file is never empty.
 *
 * Not here: an entry's states, and what becomes of one that goes (genie_directory.c); what is loaded into the memory
 * (genie_image_load.c).
 */
#include "postgres.h"

#include <sys/stat.h>

#include "common/relpath.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_compat.h"
#include "genie_directory_entry.h"
#include "genie_eviction.h"
#include "genie_image_load.h"

/* us: an image that was used so recently stays; loading 100 million postings takes about as long */
#define GENIE_IMAGE_KEEP_US INT64CONST(1000000)

/* ---- who goes ---- */

/* May the entry be evicted for one of the index of key?  full_go: genie_eviction_allocate().  Under the lock. */
static bool
genie_eviction_evictable(GenieDirectoryEntry *entry, const GenieImageKey *key, TimestampTz used_before, bool full_go)
{
	if (entry->state != GENIE_IMAGE_READY || entry->pins != 0)
		return false;
	if (full_go && genie_directory_same_index(&entry->key, key) && entry->key.metric == 0 &&
		entry->parts.form == GENIE_IMAGE_FULL)
		return true;
	if (key->metric == 0 && entry->key.metric != 0)
		return true;
	return (key->metric == 0 || entry->key.metric != 0) &&
		(TimestampTz) pg_atomic_read_u64(&entry->last_used) < used_before &&
		!genie_directory_same_index(&entry->key, key);
}

/* Does it go before the other, both evictable? */
static bool
genie_eviction_goes_first(GenieDirectoryEntry *entry, GenieDirectoryEntry *other)
{
	if ((entry->key.metric != 0) != (other->key.metric != 0))
		return entry->key.metric != 0;
	if (entry->parts.on_device != other->parts.on_device)
		return other->parts.on_device;
	return pg_atomic_read_u64(&entry->last_used) < pg_atomic_read_u64(&other->last_used);
}

static TimestampTz
genie_eviction_used_before(GenieEvict evict)
{
	return evict == GENIE_EVICT_USED ? PG_INT64_MAX : GetCurrentTimestamp() - GENIE_IMAGE_KEEP_US;
}

GenieDirectoryEntry *
genie_eviction_victim(const GenieImageKey *key, GenieEvict evict)
{
	TimestampTz used_before = genie_eviction_used_before(evict);
	GenieDirectoryEntry *first = NULL;

	for (uint32 i = 0; evict != GENIE_EVICT_NONE && i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];

		if (genie_eviction_evictable(entry, key, used_before, false) &&
			(first == NULL || genie_eviction_goes_first(entry, first)))
			first = entry;
	}
	return first;
}

/* Would evicting make room for so many bytes?  Under the lock. */
static bool
genie_eviction_would_suffice(uint64 bytes, const GenieImageKey *key, TimestampTz used_before, bool full_go)
{
	uint64		limit = genie_arena_image_bytes();
	uint64		room = limit - Min(genie_directory->image_bytes, limit);

	for (uint32 i = 0; i < GENIE_IMAGES_MAX && room < bytes; i++)
		if (genie_eviction_evictable(&genie_directory->entries[i], key, used_before, full_go))
			room += genie_directory->entries[i].bytes;
	return room >= bytes;
}

/* The bytes of devices' room that nobody has.  Under the lock. */
static uint64
genie_eviction_device_room(void)
{
	uint64		room = genie_directory->device_room;

	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
		room -= Min(room, genie_directory->entries[i].device_bytes);
	return room;
}

/* The entry that is evicted next for one that is to be on devices alone; NULL: none may be.  Under the lock. */
static GenieDirectoryEntry *
genie_eviction_device_victim(const GenieImageKey *key, TimestampTz used_before)
{
	GenieDirectoryEntry *first = NULL;

	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];

		if (entry->device_bytes > 0 && genie_eviction_evictable(entry, key, used_before, false) &&
			(first == NULL || genie_eviction_goes_first(entry, first)))
			first = entry;
	}
	return first;
}

/* Would evicting make so much room on devices?  Under the lock. */
static bool
genie_eviction_would_suffice_on_device(uint64 bytes, const GenieImageKey *key, TimestampTz used_before)
{
	uint64		room = genie_eviction_device_room();

	for (uint32 i = 0; i < GENIE_IMAGES_MAX && room < bytes; i++)
		if (genie_eviction_evictable(&genie_directory->entries[i], key, used_before, false))
			room += genie_directory->entries[i].device_bytes;
	return room >= bytes;
}

bool
genie_eviction_enough(uint64 bytes, const GenieImageKey *key)
{
	TimestampTz used_before = genie_eviction_used_before(GENIE_EVICT_UNUSED);

	return genie_eviction_would_suffice(bytes, key, used_before, genie_image_setting != GENIE_IMAGE_SETTING_FULL) ||
		genie_eviction_would_suffice_on_device(bytes, key, used_before);
}

/* ---- room ---- */

uint64
genie_eviction_piece_bytes(uint64 bytes)
{
	return TYPEALIGN64(GENIE_ARENA_PAGE, Max(bytes, 1));
}

/* for qsort: entries, the one that is evicted first in front */
static int
genie_eviction_compare_victims(const void *a, const void *b)
{
	GenieDirectoryEntry *x = &genie_directory->entries[*(const uint32 *) a];
	GenieDirectoryEntry *y = &genie_directory->entries[*(const uint32 *) b];

	if (genie_eviction_goes_first(x, y))
		return -1;
	return genie_eviction_goes_first(y, x) ? 1 : 0;
}

/*
 * Finds n consecutive pages that are free once as few of the victims as possible are gone, counted from the first one.
 * False: not even if all go.
 */
static bool
genie_eviction_find_pages(const GenieMemoryMap *map, uint32 n, const uint32 *victims, uint32 n_victims, uint32 *first)
{
	bool		may_go[GENIE_IMAGES_MAX + 1];
	uint32		low = 0;
	uint32		high = n_victims;	/* so many do, or it is impossible */

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		memset(may_go, false, sizeof(may_go));
		for (uint32 i = 0; i < middle; i++)
			may_go[victims[i] + 1] = true;
		if (genie_memory_map_find(map, n, may_go, first))
			high = middle;
		else
			low = middle + 1;
	}
	memset(may_go, false, sizeof(may_go));
	for (uint32 i = 0; i < low; i++)
		may_go[victims[i] + 1] = true;
	return genie_memory_map_find(map, n, may_go, first);
}

/*
 * Allocates one piece for the entry, evicting those of the victims that are in the way.  Under the exclusive lock.
 * NULL: there is no place.
 */
static void *
genie_eviction_place(GenieDirectoryEntry *entry, uint64 bytes, const uint32 *victims, uint32 n_victims)
{
	char	   *base;
	GenieMemoryMap *map = genie_arena_images(&base);
	uint32		n = (uint32) (genie_eviction_piece_bytes(bytes) / GENIE_ARENA_PAGE);
	uint32		first;

	if (!genie_eviction_find_pages(map, n, victims, n_victims, &first))
		return NULL;
	for (uint32 page = first, end; page < first + n; page = end)
	{
		uint32		owner = genie_memory_map_owner(map, page, &end);

		if (owner != GENIE_MEMORY_FREE)
		{
			genie_directory_forget(&genie_directory->entries[owner - 1]);
			(void) genie_memory_map_owner(map, page, &end);
		}
	}
	genie_memory_map_take(map, first, n, genie_directory_owner(entry));
	entry->bytes += (uint64) n * GENIE_ARENA_PAGE;
	genie_directory->image_bytes += (uint64) n * GENIE_ARENA_PAGE;
	Assert(genie_memory_map_valid(map));
	return base + (Size) first * GENIE_ARENA_PAGE;
}

/* Allocates all pieces, or none, evicting what may go if that is enough.  victims has room for all entries. */
static bool
genie_eviction_try_allocate(const GenieImageRef *ref, const uint64 *pieces, uint32 n, void **at, GenieEvict evict,
							bool full_go, uint32 *victims)
{
	TimestampTz used_before = genie_eviction_used_before(evict);
	uint32		n_victims = 0;
	uint64		bytes = 0;
	GenieDirectoryEntry *entry;
	bool		ok;

	for (uint32 i = 0; i < n; i++)
		bytes += genie_eviction_piece_bytes(pieces[i]);
	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_of(ref);
	Assert(entry != NULL && entry->state == GENIE_IMAGE_LOADING);
	ok = evict == GENIE_EVICT_NONE || genie_eviction_would_suffice(bytes, &entry->key, used_before, full_go);
	for (uint32 i = 0; i < n && ok; i++)
	{
		n_victims = 0;
		for (uint32 j = 0; evict != GENIE_EVICT_NONE && j < GENIE_IMAGES_MAX; j++)
			if (genie_eviction_evictable(&genie_directory->entries[j], &entry->key, used_before, full_go))
				victims[n_victims++] = j;
		qsort(victims, n_victims, sizeof(uint32), genie_eviction_compare_victims);
		at[i] = genie_eviction_place(entry, pieces[i], victims, n_victims);
		ok = at[i] != NULL;
	}
	if (!ok)
		genie_directory_release(entry);
	LWLockRelease(&genie_directory->lock);
	return ok;
}

bool
genie_eviction_allocate(const GenieImageRef *ref, const uint64 *pieces, uint32 n, void **at, GenieEvict evict,
						bool full_go)
{
	uint32	   *victims = palloc(GENIE_IMAGES_MAX * sizeof(uint32));
	bool		ok = genie_eviction_try_allocate(ref, pieces, n, at, GENIE_EVICT_NONE, false, victims);

	if (!ok)
	{
		genie_eviction_sweep();
		ok = genie_eviction_try_allocate(ref, pieces, n, at, evict, full_go, victims);
	}
	pfree(victims);
	return ok;
}

void
genie_eviction_give_back(const GenieImageRef *ref, void *at, uint64 bytes)
{
	uint64		piece = genie_eviction_piece_bytes(bytes);
	char	   *base;
	GenieMemoryMap *map = genie_arena_images(&base);
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_of(ref);
	Assert(entry != NULL && entry->state == GENIE_IMAGE_LOADING && entry->bytes >= piece);
	genie_memory_map_release_run(map, (uint32) (((char *) at - base) / GENIE_ARENA_PAGE));
	Assert(genie_memory_map_valid(map));
	entry->bytes -= piece;
	genie_directory->image_bytes -= piece;
	LWLockRelease(&genie_directory->lock);
}

bool
genie_eviction_allocate_on_device(const GenieImageRef *ref, uint64 bytes, GenieEvict evict)
{
	TimestampTz used_before = evict == GENIE_EVICT_NONE ? 0 : genie_eviction_used_before(evict);
	GenieDirectoryEntry *entry;
	bool		ok;

	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_of(ref);
	Assert(entry != NULL && entry->state == GENIE_IMAGE_LOADING && entry->device_bytes == 0);
	ok = genie_eviction_would_suffice_on_device(bytes, &entry->key, used_before);
	while (ok && genie_eviction_device_room() < bytes)
		genie_directory_forget(genie_eviction_device_victim(&entry->key, used_before));
	if (ok)
		entry->device_bytes = bytes;
	LWLockRelease(&genie_directory->lock);
	return ok;
}

/* ---- images that nobody will ask for ---- */

/* May it be dropped?  Under the lock. */
static bool
genie_eviction_droppable(const GenieDirectoryEntry *entry)
{
	return entry->state == GENIE_IMAGE_PUT_OFF || (entry->state == GENIE_IMAGE_READY && entry->pins == 0);
}

/* Has the index of the key lost its file? */
static bool
genie_eviction_file_is_gone(const GenieImageKey *key)
{
	struct stat status;
	char		path[MAXPGPATH];

	GENIE_RELATION_PATH(path, key->tablespace, key->database, key->storage);
	return stat(path, &status) == 0 ? status.st_size == 0 : errno == ENOENT;
}

void
genie_eviction_sweep(void)
{
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];
		GenieImageKey key;
		uint64		id = 0;

		if (entry->state == GENIE_IMAGE_FREE)
			continue;			/* looked at without the lock: one that is being taken is not old */
		LWLockAcquire(&genie_directory->lock, LW_SHARED);
		if (genie_eviction_droppable(entry))
		{
			id = entry->id;
			key = entry->key;
		}
		LWLockRelease(&genie_directory->lock);
		if (id == 0 || !genie_eviction_file_is_gone(&key))
			continue;
		LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
		if (entry->id == id && genie_eviction_droppable(entry))
			genie_directory_forget(entry);
		LWLockRelease(&genie_directory->lock);
	}
}

/* A READY or PUT_OFF entry that the list has no use for; under the exclusive lock.  NULL: none. */
static GenieDirectoryEntry *
genie_eviction_replaced(const GenieImageKey *key, const uint64 *stamps, uint32 n, uint64 below)
{
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &genie_directory->entries[i];
		bool		listed = false;

		if (!genie_eviction_droppable(entry) ||
			!genie_directory_same_index(&entry->key, key))
			continue;
		if (entry->key.database_xmin == key->database_xmin)
		{
			listed = entry->key.stamp >= below;
			for (uint32 j = 0; j < n; j++)
				listed |= entry->key.stamp == stamps[j];
		}
		if (!listed)
			return entry;
	}
	return NULL;
}

void
genie_eviction_drop_replaced(const GenieImageKey *key, const uint64 *stamps, uint32 n, uint64 below)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&genie_directory->lock, LW_EXCLUSIVE);
	while ((entry = genie_eviction_replaced(key, stamps, n, below)) != NULL)
		genie_directory_forget(entry);
	LWLockRelease(&genie_directory->lock);
}

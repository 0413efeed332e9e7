/*
 * genie_directory.c
 *	  Which images are in shared memory, and which are evicted (genie_directory.h has the states).
 *
 * An array of entries, and a hash table from keys to them; both of fixed size.  The lock:
 *
 *	exclusive	every change of state, of the hash table, of sums, of the map of the arena's pages
 *	share		looking up, pinning, clearing live bits: these must not happen while an image goes
 *
 * Fields of an entry that change while the lock is held in share mode: pins (by the worker alone, so no two processes
 * write it), last_used (atomic, approximate), live_version (atomic, only ever raised), and the live bits
 * in the arena (atomic, only ever cleared).
 *
 * Room.  The arena's pages belong to entries; the map of them (genie_memory_map.h) changes under the lock, too.  A
 * piece of an image needs consecutive pages.  Where none are free, the least recently used images are thought away, as
 * few as suffice, and those of them that lie in the way are evicted.  So no image lacks room because free memory is in
 * pieces.
 *
 * Indexes that are gone.  Nobody is told of DROP INDEX, REINDEX, TRUNCATE, ROLLBACK or DROP DATABASE here; but the
 * index's file is truncated when their transaction ends, and a standby's replay unlinks it.  So files are looked at:
 * when there is no room, by genie_prewarm, and by the worker every few seconds.  An index that exists has a metapage,
 * so its file is never empty.
 *
 * Eviction.  Images of indexes that are gone go first, then the least recently used.  Never evicted are: images that
 * the worker has pinned; other images of the index that is being loaded, because the same scan wants them again (an
 * index larger than the arena would replace itself for ever); and, unless the administrator asks, images that were used
 * within GENIE_IMAGE_KEEP_US, so that scans which take turns on two indexes do not spend all their time loading.
 * Quantized vectors only save time: they go for any image, before all images and whenever they were used, and
 * themselves evict only quantized vectors.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "common/relpath.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "genie_arena.h"
#include "genie_compat.h"
#include "genie_directory.h"

/* us: an image that was used so recently stays; loading 100 million postings takes about as long */
#define GENIE_IMAGE_KEEP_US INT64CONST(1000000)

/* us until an image is tried again that found everything in use, or whose load failed */
#define GENIE_RETRY_US INT64CONST(10000000)

/* ms after which a waiter looks again although no load has ended: there may have been no entry to load into */
#define GENIE_LOAD_WAIT_MS 1000

typedef struct GenieDirectoryEntry
{
	GenieImageKey key;
	GenieImageState state;
	uint32		pins;			/* the worker writes it, holding the lock in share mode; read exclusively */
	uint64		id;
	GenieImageParts parts;		/* READY */
	uint64		bytes;			/* LOADING, READY: of the arena; PUT_OFF: needed, 0 if loading failed */
	GenieFallback why;			/* PUT_OFF: NO_ROOM or LOAD_FAILED */
	TimestampTz retry_at;		/* PUT_OFF; PG_INT64_MAX: never */
	pg_atomic_uint64 last_used; /* TimestampTz */
	pg_atomic_uint64 live_version;	/* READY: all that was dead by this tombstone version is cleared */
	pg_atomic_uint64 hint_version;	/* READY: hints that have been taken out, too; only ever raised */
	pg_atomic_uint64 n_visits;	/* READY: rows that were visited for lack of quantized vectors */
} GenieDirectoryEntry;

typedef struct GenieDirectory
{
	int			tranche;		/* "genie", of the lock */
	LWLock		lock;
	ConditionVariable load_ended;
	pg_atomic_uint64 generation;	/* raised with the lock held exclusively, read without */

	/* all under the lock */
	uint64		next_id;
	uint64		n_images;		/* READY */
	uint64		n_vectors;		/* READY: quantized vectors */
	uint64		image_bytes;	/* READY and LOADING */
	uint64		n_loads;
	uint64		n_evictions;
	uint64		n_no_room;
	bool		hints_settled;	/* the next one is valid, and stays */
	bool		hints_taken;
	GenieDirectoryEntry entries[GENIE_IMAGES_MAX];
} GenieDirectory;

typedef struct GenieKeyEntry
{
	GenieImageKey key;			/* hashed as bytes: there is no padding */
	uint32		entry;
} GenieKeyEntry;

StaticAssertDecl(sizeof(GenieImageKey) == 4 * sizeof(uint32) + 3 * sizeof(uint64), "keys must have no padding");

static GenieDirectory *directory = NULL;
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
	memset(directory, 0, sizeof(GenieDirectory));
	directory->tranche = LWLockNewTrancheId();
	LWLockInitialize(&directory->lock, directory->tranche);
	ConditionVariableInit(&directory->load_ended);
	pg_atomic_init_u64(&directory->generation, 0);
	directory->next_id = 1;
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		pg_atomic_init_u64(&directory->entries[i].last_used, 0);
		pg_atomic_init_u64(&directory->entries[i].live_version, 0);
		pg_atomic_init_u64(&directory->entries[i].hint_version, 0);
		pg_atomic_init_u64(&directory->entries[i].n_visits, 0);
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
	directory = memory;
	if (!IsUnderPostmaster)
		make_empty();
	LWLockRegisterTranche(directory->tranche, "genie"); /* the name is each process's own; children inherit it */
}

static void
genie_directory_touch(GenieDirectoryEntry *entry)
{
	pg_atomic_write_u64(&entry->last_used, (uint64) GetCurrentTimestamp());
}

/*
 * The same index, whatever the xmin of the database.  With another xmin it is another index, or, if the database's row
 * was updated, the same, which will not be asked for under this key again.
 */
static bool
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

	return found == NULL ? NULL : &directory->entries[found->entry];
}

/* The entry that ref names, under the lock; NULL: it is another by now. */
static GenieDirectoryEntry *
genie_directory_of(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry;

	if (ref->entry >= GENIE_IMAGES_MAX)
		return NULL;
	entry = &directory->entries[ref->entry];
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

/* The number that the arena's map knows the entry by. */
static uint32
genie_directory_owner(const GenieDirectoryEntry *entry)
{
	return (uint32) (entry - directory->entries) + 1;
}

/* Gives the memory of a READY or LOADING entry back, under the exclusive lock. */
static void
genie_directory_release(GenieDirectoryEntry *entry)
{
	char	   *base;

	if (entry->bytes == 0)
		return;
	genie_memory_map_release(genie_arena_images(&base), genie_directory_owner(entry));
	directory->image_bytes -= entry->bytes;
	entry->bytes = 0;
}

/* The number of READY entries of its kind. */
static uint64 *
genie_directory_number(const GenieDirectoryEntry *entry)
{
	return entry->key.metric != 0 ? &directory->n_vectors : &directory->n_images;
}

/* Makes an entry FREE, under the exclusive lock; its memory is free, too. */
static void
genie_directory_forget(GenieDirectoryEntry *entry)
{
	hash_search(directory_keys, &entry->key, HASH_REMOVE, NULL);
	if (entry->state == GENIE_IMAGE_READY)
	{
		*genie_directory_number(entry) -= 1;
		directory->n_evictions++;
		pg_atomic_fetch_add_u64(&directory->generation, 1);
	}
	if (entry->state == GENIE_IMAGE_READY || entry->state == GENIE_IMAGE_LOADING)
		genie_directory_release(entry);
	entry->state = GENIE_IMAGE_FREE;
	entry->id = 0;
	entry->bytes = 0;
}

/* May the entry be evicted for one of the index of key?  Under the lock. */
static bool
genie_directory_evictable(GenieDirectoryEntry *entry, const GenieImageKey *key, TimestampTz used_before)
{
	if (entry->state != GENIE_IMAGE_READY || entry->pins != 0)
		return false;
	if (key->metric == 0 && entry->key.metric != 0)
		return true;
	return (key->metric == 0 || entry->key.metric != 0) &&
		(TimestampTz) pg_atomic_read_u64(&entry->last_used) < used_before &&
		!genie_directory_same_index(&entry->key, key);
}

/* Does it go before the other, both evictable? */
static bool
genie_directory_goes_first(GenieDirectoryEntry *entry, GenieDirectoryEntry *other)
{
	if ((entry->key.metric != 0) != (other->key.metric != 0))
		return entry->key.metric != 0;
	return pg_atomic_read_u64(&entry->last_used) < pg_atomic_read_u64(&other->last_used);
}

static TimestampTz
genie_directory_used_before(bool insist)
{
	return insist ? PG_INT64_MAX : GetCurrentTimestamp() - GENIE_IMAGE_KEEP_US;
}

/* The entry that is evicted next for one of the index of key; NULL: none may be.  Under the exclusive lock. */
static GenieDirectoryEntry *
genie_directory_victim(const GenieImageKey *key, TimestampTz used_before)
{
	GenieDirectoryEntry *first = NULL;

	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &directory->entries[i];

		if (genie_directory_evictable(entry, key, used_before) &&
			(first == NULL || genie_directory_goes_first(entry, first)))
			first = entry;
	}
	return first;
}

/* Would evicting make room for so many bytes?  Under the lock. */
static bool
genie_directory_enough(uint64 bytes, const GenieImageKey *key, TimestampTz used_before)
{
	uint64		limit = genie_arena_image_bytes();
	uint64		room = limit - Min(directory->image_bytes, limit);

	for (uint32 i = 0; i < GENIE_IMAGES_MAX && room < bytes; i++)
		if (genie_directory_evictable(&directory->entries[i], key, used_before))
			room += directory->entries[i].bytes;
	return room >= bytes;
}

/* ---- for backends: finding and claiming ---- */

GenieImageState
genie_directory_find(const GenieImageKey *key, GenieFound *found)
{
	GenieImageState state = GENIE_IMAGE_FREE;
	GenieDirectoryEntry *entry;

	LWLockAcquire(&directory->lock, LW_SHARED);
	entry = genie_directory_lookup(key);
	if (entry != NULL)
	{
		state = entry->state;
		found->ref.entry = (uint32) (entry - directory->entries);
		found->ref.id = entry->id;
		found->live_version = pg_atomic_read_u64(&entry->live_version);
		found->hint_version = (uint32) pg_atomic_read_u64(&entry->hint_version);
		found->bytes = entry->bytes;
		found->why = entry->why;
		found->due = state == GENIE_IMAGE_PUT_OFF && entry->retry_at <= GetCurrentTimestamp() &&
			genie_directory_enough(entry->bytes, key, genie_directory_used_before(false));
		if (state == GENIE_IMAGE_READY)
			genie_directory_touch(entry);
	}
	LWLockRelease(&directory->lock);
	return state;
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
		GenieDirectoryEntry *entry = &directory->entries[i];

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
genie_directory_claim(const GenieImageKey *key, bool insist, GenieImageRef *ref, bool *first)
{
	GenieDirectoryEntry *entry;
	bool		claimed;

	*first = false;
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_lookup(key);
	claimed = entry != NULL && entry->state == GENIE_IMAGE_PUT_OFF;
	if (entry == NULL)
	{
		entry = genie_directory_take_entry();
		if (entry == NULL)
			entry = genie_directory_victim(key, genie_directory_used_before(insist));
		if (entry != NULL)
		{
			if (entry->state == GENIE_IMAGE_READY)
				genie_directory_forget(entry);
			((GenieKeyEntry *) hash_search(directory_keys, key, HASH_ENTER, NULL))->entry =
				(uint32) (entry - directory->entries);
			entry->key = *key;
			claimed = true;
			*first = true;
		}
	}
	if (claimed)
	{
		entry->state = GENIE_IMAGE_LOADING;
		entry->id = directory->next_id++;
		entry->bytes = 0;
		entry->pins = 0;
		ref->entry = (uint32) (entry - directory->entries);
		ref->id = entry->id;
	}
	LWLockRelease(&directory->lock);
	return claimed;
}

/* ---- room ---- */

uint64
genie_directory_piece_bytes(uint64 bytes)
{
	return TYPEALIGN64(GENIE_ARENA_PAGE, Max(bytes, 1));
}

/* for qsort: entries, the one that is evicted first in front */
static int
genie_directory_compare_victims(const void *a, const void *b)
{
	GenieDirectoryEntry *x = &directory->entries[*(const uint32 *) a];
	GenieDirectoryEntry *y = &directory->entries[*(const uint32 *) b];

	if (genie_directory_goes_first(x, y))
		return -1;
	return genie_directory_goes_first(y, x) ? 1 : 0;
}

/*
 * Finds n consecutive pages that are free once as few of the victims as possible are gone, counted from the first one.
 * False: not even if all go.
 */
static bool
genie_directory_find_pages(const GenieMemoryMap *map, uint32 n, const uint32 *victims, uint32 n_victims, uint32 *first)
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
genie_directory_place(GenieDirectoryEntry *entry, uint64 bytes, const uint32 *victims, uint32 n_victims)
{
	char	   *base;
	GenieMemoryMap *map = genie_arena_images(&base);
	uint32		n = (uint32) (genie_directory_piece_bytes(bytes) / GENIE_ARENA_PAGE);
	uint32		first;

	if (!genie_directory_find_pages(map, n, victims, n_victims, &first))
		return NULL;
	for (uint32 page = first, end; page < first + n; page = end)
	{
		uint32		owner = genie_memory_map_owner(map, page, &end);

		if (owner != GENIE_MEMORY_FREE)
		{
			genie_directory_forget(&directory->entries[owner - 1]);
			(void) genie_memory_map_owner(map, page, &end);
		}
	}
	genie_memory_map_take(map, first, n, genie_directory_owner(entry));
	entry->bytes += (uint64) n * GENIE_ARENA_PAGE;
	directory->image_bytes += (uint64) n * GENIE_ARENA_PAGE;
	Assert(genie_memory_map_valid(map));
	return base + (Size) first * GENIE_ARENA_PAGE;
}

/* Allocates all pieces, or none.  evict: evict what may go, if that is enough.  victims has room for all entries. */
static bool
genie_directory_try_allocate(const GenieImageRef *ref, const uint64 *pieces, uint32 n, void **at, bool insist,
							 bool evict, uint32 *victims)
{
	TimestampTz used_before = genie_directory_used_before(insist);
	uint32		n_victims = 0;
	uint64		bytes = 0;
	GenieDirectoryEntry *entry;
	bool		ok;

	for (uint32 i = 0; i < n; i++)
		bytes += genie_directory_piece_bytes(pieces[i]);
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_of(ref);
	Assert(entry != NULL && entry->state == GENIE_IMAGE_LOADING);
	ok = !evict || genie_directory_enough(bytes, &entry->key, used_before);
	for (uint32 i = 0; i < n && ok; i++)
	{
		n_victims = 0;
		for (uint32 j = 0; evict && j < GENIE_IMAGES_MAX; j++)
			if (genie_directory_evictable(&directory->entries[j], &entry->key, used_before))
				victims[n_victims++] = j;
		qsort(victims, n_victims, sizeof(uint32), genie_directory_compare_victims);
		at[i] = genie_directory_place(entry, pieces[i], victims, n_victims);
		ok = at[i] != NULL;
	}
	if (!ok)
		genie_directory_release(entry);
	LWLockRelease(&directory->lock);
	return ok;
}

bool
genie_directory_allocate(const GenieImageRef *ref, const uint64 *pieces, uint32 n, void **at, bool insist)
{
	uint32	   *victims = palloc(GENIE_IMAGES_MAX * sizeof(uint32));
	bool		ok = genie_directory_try_allocate(ref, pieces, n, at, insist, false, victims);

	if (!ok)
	{
		genie_directory_sweep();
		ok = genie_directory_try_allocate(ref, pieces, n, at, insist, true, victims);
	}
	pfree(victims);
	return ok;
}

/* ---- images that nobody will ask for ---- */

/* May it be dropped?  Under the lock. */
static bool
genie_directory_droppable(const GenieDirectoryEntry *entry)
{
	return entry->state == GENIE_IMAGE_PUT_OFF || (entry->state == GENIE_IMAGE_READY && entry->pins == 0);
}

/* Has the index of the key lost its file? */
static bool
genie_directory_file_is_gone(const GenieImageKey *key)
{
	struct stat status;
	char		path[MAXPGPATH];

	GENIE_RELATION_PATH(path, key->tablespace, key->database, key->storage);
	return stat(path, &status) == 0 ? status.st_size == 0 : errno == ENOENT;
}

void
genie_directory_sweep(void)
{
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &directory->entries[i];
		GenieImageKey key;
		uint64		id = 0;

		if (entry->state == GENIE_IMAGE_FREE)
			continue;			/* looked at without the lock: one that is being taken is not old */
		LWLockAcquire(&directory->lock, LW_SHARED);
		if (genie_directory_droppable(entry))
		{
			id = entry->id;
			key = entry->key;
		}
		LWLockRelease(&directory->lock);
		if (id == 0 || !genie_directory_file_is_gone(&key))
			continue;
		LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
		if (entry->id == id && genie_directory_droppable(entry))
			genie_directory_forget(entry);
		LWLockRelease(&directory->lock);
	}
}

/* A READY or PUT_OFF entry that the list has no use for; under the exclusive lock.  NULL: none. */
static GenieDirectoryEntry *
genie_directory_replaced(const GenieImageKey *key, const uint64 *stamps, uint32 n, uint64 below)
{
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
	{
		GenieDirectoryEntry *entry = &directory->entries[i];
		bool		listed = false;

		if (!genie_directory_droppable(entry) ||
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
genie_directory_drop_replaced(const GenieImageKey *key, const uint64 *stamps, uint32 n, uint64 below)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	while ((entry = genie_directory_replaced(key, stamps, n, below)) != NULL)
		genie_directory_forget(entry);
	LWLockRelease(&directory->lock);
}

/* ---- the end of a load ---- */

static GenieDirectoryEntry *
genie_directory_loading(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry = genie_directory_of(ref);

	if (entry == NULL || entry->state != GENIE_IMAGE_LOADING)
	{
		/* the caller's cleanup takes the lock again */
		LWLockRelease(&directory->lock);
		elog(ERROR, "a genie image that is being loaded has lost its entry");
	}
	return entry;
}

void
genie_directory_publish(const GenieImageRef *ref, const GenieImageParts *parts, uint64 live_version)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	entry = genie_directory_loading(ref);
	entry->parts = *parts;
	entry->state = GENIE_IMAGE_READY;
	pg_atomic_write_u64(&entry->live_version, live_version);
	pg_atomic_write_u64(&entry->hint_version, 0);
	pg_atomic_write_u64(&entry->n_visits, 0);
	genie_directory_touch(entry);
	*genie_directory_number(entry) += 1;
	directory->n_loads++;
	LWLockRelease(&directory->lock);
	ConditionVariableBroadcast(&directory->load_ended);
}

/* LOADING to PUT_OFF, under the exclusive lock. */
static void
genie_directory_put_off(GenieDirectoryEntry *entry, GenieFallback why, uint64 bytes, TimestampTz retry_at)
{
	genie_directory_release(entry);
	directory->n_no_room += why == GENIE_FALLBACK_NO_ROOM;
	entry->state = GENIE_IMAGE_PUT_OFF;
	entry->why = why;
	entry->bytes = bytes;
	entry->retry_at = retry_at;
	genie_directory_touch(entry);
}

void
genie_directory_fail(const GenieImageRef *ref, GenieFallback why, uint64 bytes)
{
	uint64		needed = why == GENIE_FALLBACK_NO_ROOM ? bytes : 0;
	TimestampTz retry_at = needed > genie_arena_image_bytes() ? PG_INT64_MAX : GetCurrentTimestamp() + GENIE_RETRY_US;

	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	if (why == GENIE_FALLBACK_STALE)
		genie_directory_forget(genie_directory_loading(ref));
	else
		genie_directory_put_off(genie_directory_loading(ref), why, needed, retry_at);
	LWLockRelease(&directory->lock);
	ConditionVariableBroadcast(&directory->load_ended);
}

void
genie_directory_wait(void)
{
	(void) ConditionVariableTimedSleep(&directory->load_ended, GENIE_LOAD_WAIT_MS, PG_WAIT_EXTENSION);
}

void
genie_directory_wait_end(void)
{
	ConditionVariableCancelSleep();
}

bool
genie_directory_note_visits(const GenieImageRef *ref, uint64 n, uint64 enough)
{
	GenieDirectoryEntry *entry;
	bool		is_enough;

	LWLockAcquire(&directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	is_enough = entry != NULL && pg_atomic_add_fetch_u64(&entry->n_visits, (int64) n) >= enough;
	if (is_enough)
		pg_atomic_write_u64(&entry->n_visits, 0);
	LWLockRelease(&directory->lock);
	return is_enough;
}

/* ---- live bits ---- */

bool
genie_directory_clear_live(const GenieImageRef *ref, uint32 first_word, uint32 n, const uint64 *dead)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL)
	{
		uint64	   *live = entry->parts.body + first_word;

		Assert((uint64) first_word + n <= (uint64) entry->parts.n_tiles * GENIE_TILE_WORDS);
		for (uint32 i = 0; i < n; i++)
			if (live[i] & dead[i])
				__atomic_fetch_and(&live[i], ~dead[i], __ATOMIC_RELAXED);
	}
	LWLockRelease(&directory->lock);
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

	LWLockAcquire(&directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL)
		genie_directory_raise(&entry->live_version, version);
	LWLockRelease(&directory->lock);
	return entry != NULL;
}

bool
genie_directory_settle_hints(bool taken)
{
	bool		as_said;

	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	if (!directory->hints_settled)
	{
		directory->hints_settled = true;
		directory->hints_taken = taken;
	}
	as_said = directory->hints_taken == taken;
	LWLockRelease(&directory->lock);
	return as_said;
}

void
genie_directory_raise_hint_version(const GenieImageRef *ref, uint32 version)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL)
		genie_directory_raise(&entry->hint_version, version);
	LWLockRelease(&directory->lock);
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

	LWLockAcquire(&directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	if (entry != NULL && pg_atomic_read_u64(&entry->live_version) < *tombstone_version)
		entry = NULL;
	if (entry != NULL)
	{
		entry->pins++;
		*tombstone_version = pg_atomic_read_u64(&entry->live_version);
	}
	LWLockRelease(&directory->lock);
	return entry;
}

/* The addresses of the groups; palloc'd. */
static const void **
genie_directory_group_addresses(const GenieImageParts *parts)
{
	Size		bytes = (Size) parts->n_groups * sizeof(void *);

	return memcpy(palloc(bytes), genie_directory_groups(parts), bytes);
}

bool
genie_directory_pin(const GenieImageRef *ref, uint64 *tombstone_version, GenieSegmentImage *image)
{
	GenieDirectoryEntry *entry = genie_directory_pin_entry(ref, tombstone_version);

	if (entry == NULL)
		return false;
	image->id = ref->id;
	/* both are only ever raised, so the sum is another whenever the bits are */
	image->live_version = *tombstone_version + pg_atomic_read_u64(&entry->hint_version);
	image->n_objects = entry->parts.n_objects;
	image->n_keywords = entry->parts.n_keywords;
	image->n_tiles = entry->parts.n_tiles;
	image->n_groups = entry->parts.n_groups;
	image->live = entry->parts.body;
	image->groups = (const GenieImageGroup *const *) genie_directory_group_addresses(&entry->parts);
	image->postings_before = entry->parts.n_totals == 0 ? NULL :
		(const uint64 *) (const void *) (genie_directory_groups(&entry->parts) + image->n_groups);
	return true;
}

bool
genie_directory_pin_vectors(const GenieImageRef *ref, GenieQuantizedVectors *vectors)
{
	uint64		tombstone_version = 0;
	GenieDirectoryEntry *entry = genie_directory_pin_entry(ref, &tombstone_version);

	if (entry == NULL)
		return false;
	vectors->id = ref->id;
	vectors->metric = entry->parts.metric;
	vectors->n_dimensions = entry->parts.n_dimensions;
	vectors->n_objects = entry->parts.n_objects;
	vectors->tiles = genie_directory_group_addresses(&entry->parts);
	return true;
}

void
genie_directory_unpin(const GenieImageRef *ref)
{
	GenieDirectoryEntry *entry;

	LWLockAcquire(&directory->lock, LW_SHARED);
	entry = genie_directory_ready(ref);
	Assert(entry != NULL && entry->pins > 0);
	if (entry != NULL)
		entry->pins--;
	LWLockRelease(&directory->lock);
}

void
genie_directory_unpin_all(void)
{
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	for (uint32 i = 0; i < GENIE_IMAGES_MAX; i++)
		directory->entries[i].pins = 0;
	LWLockRelease(&directory->lock);
}

bool
genie_directory_has(const GenieImageRef *ref)
{
	bool		there;

	LWLockAcquire(&directory->lock, LW_SHARED);
	there = genie_directory_ready(ref) != NULL;
	LWLockRelease(&directory->lock);
	return there;
}

uint64
genie_directory_generation(void)
{
	return pg_atomic_read_u64(&directory->generation);
}

void
genie_directory_usage(GenieDirectoryUsage *usage)
{
	void	   *base;
	Size		arena_bytes;

	genie_arena_block(&base, &arena_bytes);
	LWLockAcquire(&directory->lock, LW_SHARED);
	usage->n_images = directory->n_images;
	usage->n_vectors = directory->n_vectors;
	usage->image_bytes = directory->image_bytes;
	usage->arena_bytes = arena_bytes;
	usage->n_loads = directory->n_loads;
	usage->n_evictions = directory->n_evictions;
	usage->n_no_room = directory->n_no_room;
	LWLockRelease(&directory->lock);
}

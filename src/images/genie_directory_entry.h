/*
 * genie_directory_entry.h
 *	  The directory in shared memory, for genie_directory.c and genie_eviction.c alone (test/check/owners).
 *
 * The lock:
 *
 *	exclusive	every change of state, of the hash table, of sums, of the map of the arena's pages
 *	share		looking up, pinning, clearing live bits: these must not happen while an image goes
 *
 * Fields of an entry that change while the lock is held in share mode: pins (by the worker alone, so no two processes
 * write it), last_used and n_hits (atomic, approximate), live_version (atomic, only ever raised), and the live bits
 * in the arena (atomic, only ever cleared).
 */
#ifndef GENIE_DIRECTORY_ENTRY_H
#define GENIE_DIRECTORY_ENTRY_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"

#include "genie_directory.h"

typedef struct GenieDirectoryEntry
{
	GenieImageKey key;
	GenieImageState state;
	uint32		pins;			/* the worker writes it, holding the lock in share mode; read exclusively */
	uint64		id;
	GenieImageParts parts;		/* READY; LOADING, once it is being staged */
	uint64		bytes;			/* LOADING, READY: of the arena; PUT_OFF: needed, 0 if loading failed */
	uint64		device_bytes;	/* LOADING, READY: of the devices alone; else 0 */
	bool		has_failed;		/* LOADING: it ends as the next four say as soon as it is not pinned */
	GenieFallback why;			/* PUT_OFF: NO_ROOM or LOAD_FAILED */
	uint64		needed;			/* bytes, PUT_OFF */
	TimestampTz retry_at;		/* PUT_OFF */
	int			setting;		/* PUT_OFF: what genie.image was */
	pg_atomic_uint64 last_used; /* TimestampTz */
	pg_atomic_uint64 live_version;	/* READY: all that was dead by this tombstone version is cleared */
	pg_atomic_uint64 hint_version;	/* READY: hints that have been taken out, too; only ever raised */
	uint64		n_loads;		/* that were begun since the entry has this key */
	pg_atomic_uint64 n_hits;	/* look-ups that found it READY, since then */
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
	uint64		n_graphs;		/* READY: their graphs */
	uint64		image_bytes;	/* READY and LOADING */
	uint64		device_room;	/* for images on devices alone */
	uint64		n_loads;
	uint64		n_evictions;
	uint64		n_no_room;
	bool		hints_settled;	/* the next one is valid, and stays */
	bool		hints_taken;
	GenieDirectoryEntry entries[GENIE_IMAGES_MAX];
} GenieDirectory;

extern GenieDirectory *genie_directory;

/* ---- in genie_directory.c ---- */

/* The entry that ref names, under the lock; NULL: it is another by now. */
extern GenieDirectoryEntry *genie_directory_of(const GenieImageRef *ref);

/* The number that the arena's map knows the entry by. */
extern uint32 genie_directory_owner(const GenieDirectoryEntry *entry);

/* Gives the memory of a READY or LOADING entry back, under the exclusive lock. */
extern void genie_directory_release(GenieDirectoryEntry *entry);

/* Makes an entry FREE, under the exclusive lock; its memory is free, too. */
extern void genie_directory_forget(GenieDirectoryEntry *entry);

/* ---- in genie_eviction.c ---- */

/*
 * The entry that is evicted next for one of the index of key; NULL: none may be.  Under the exclusive lock.
 */
extern GenieDirectoryEntry *genie_eviction_victim(const GenieImageKey *key, GenieEvict evict);

/* Would evicting what was not used a moment ago make room for so many bytes, here or on devices?  Under the lock. */
extern bool genie_eviction_enough(uint64 bytes, const GenieImageKey *key);

#endif							/* GENIE_DIRECTORY_ENTRY_H */

/*
 * genie_directory.h
 *	  The directory of images: which segments' images are in shared memory, and which process may touch them.
 *
 * One entry an image of a segment.  Its life:
 *
 *		        claim                 publish
 *		FREE ───────────► LOADING ───────────► READY ── evict, drop ──► FREE
 *		  ▲                │ ▲ │
 *		  │   fail (stale) │ │ │ fail                recycle, drop
 *		  └────────────────┘ │ └─────────► PUT_OFF ────────────────────► FREE
 *		                     └─────────────────┘ claim again
 *
 *	FREE	nothing is known; a process that holds the lock exclusively may take it.
 *	LOADING one process, the owner, allocates and fills: a backend or a loader.  Other processes read and write
 *			nothing but the state; but for the worker, which pins it (below) to do what the owner asks for: it
 *			copies groups to devices, and writes the edges of a graph.  It ends by publish or by fail: the segment is
 *			stale, or a loader gives way (FREE); there is no room, pages are damaged, or the load ended by an ERROR,
 *			a cancel or the process's exit (PUT_OFF).
 *	READY	groups do not change any more.  Only the worker reads them, between pin and unpin, but for a
 *			graph's head.  Live bits are only ever cleared, by any backend, atomically, holding the lock in share mode.
 *	PUT_OFF it did not fit: needs more than there is, or everything else was in use; or loading failed.  It is tried
 *			again after a while, if there may be room by then.  Holds no memory.
 *
 * On devices alone.  An image that finds no room in the arena may find some on the GPUs: then the arena has its body
 * and its groups' heads (genie_image.h), and of quantized vectors nothing but addresses, NULL.  It comes there while it
 * is LOADING, some groups at a time, by requests to the worker, which pins it for them.  If the load fails meanwhile,
 * its memory stays until it is unpinned.  What the GPUs have room for, the worker says.  READY, it is like any other
 * image, but the worker drops it if GPUs have lost it.
 *
 * When a process ends: its exit puts off what it loads; the worker's pins are void
 * once a new worker has called genie_directory_unpin_all().  A crash of any process restarts the server, and
 * shared memory starts empty.
 *
 * An image has a number, its id, that no other image of this server run ever gets.  A GenieImageRef names
 * an entry and the id that it had; functions that take one return false if the entry has another by now.
 *
 * One LWLock protects the directory and the map of the arena's pages.  It is held for look-ups and changes of state
 * only: never during I/O, filling of images, waiting, or counting.
 */
#ifndef GENIE_DIRECTORY_H
#define GENIE_DIRECTORY_H

#include "datatype/timestamp.h"

#include "genie_fallback.h"
#include "genie_image.h"
#include "genie_proximity.h"
#include "genie_quantized.h"

/*
 * Images at once.  An index has at most 96 segments, typically fewer than 10; an entry takes about 200
 * bytes with its part of the hash table.
 */
#define GENIE_IMAGES_MAX 4096

/*
 * Names a segment: its index, by storage and build, and the segment's stamp.  Its quantized vectors
 * (genie_quantized.h) are an image of their own, and so is their proximity graph (genie_proximity.h).  A database's
 * number may be used again (CREATE DATABASE ...  OID), with files copied from the same template; the transaction id of
 * its row in pg_database tells the databases apart.  No padding: it is hashed as bytes.
 */
typedef struct GenieImageKey
{
	uint32		tablespace;
	uint32		database;
	uint32		database_xmin;
	uint32		storage;		/* relfilenode */
	uint64		build_id;
	uint64		stamp;
	uint64		metric;			/* GenieMetric: vectors, quantized for that metric; 0: the segment's image */
	uint64		graph;			/* of these vectors, of so many edges an object; 0: the vectors themselves */
} GenieImageKey;

/* Which images of other indexes a load may evict. */
typedef enum GenieEvict
{
	GENIE_EVICT_NONE,			/* none: there is no room but what is free */
	GENIE_EVICT_UNUSED,			/* those that were not used a moment ago */
	GENIE_EVICT_USED			/* even those: the administrator asked */
} GenieEvict;

typedef struct GenieImageRef
{
	uint32		entry;
	uint64		id;
} GenieImageRef;

typedef enum GenieImageState
{
	GENIE_IMAGE_FREE = 0,
	GENIE_IMAGE_LOADING,
	GENIE_IMAGE_READY,
	GENIE_IMAGE_PUT_OFF
} GenieImageState;

/* The parts of an image; filled by the loading backend, constant once it is READY. */
typedef struct GenieImageParts
{
	uint32		n_objects;
	uint32		n_keywords;
	uint32		n_tiles;
	uint32		n_groups;
	uint32		n_totals;		/* n_keywords + 1, or 0 where there are no codes (genie_image.h) */
	GenieImageForm form;
	bool		on_device;		/* alone: groups are heads, or of vectors NULL */

	/*
	 * of quantized vectors: their groups are tiles' records; they have no tiles, live bits or keywords.  So it is of a
	 * graph, whose groups are tiles' edges, and at last its head.
	 */
	uint32		n_dimensions;
	GenieMetric metric;

	/*
	 * In the arena: GENIE_TILE_WORDS live words a tile; behind them void *[n_groups], the groups; behind them
	 * uint64[n_totals], the postings of all ranks below each
	 */
	uint64	   *body;
} GenieImageParts;

typedef struct GenieDirectoryUsage
{
	uint64		n_images;		/* READY */
	uint64		n_vectors;		/* READY: quantized vectors of segments */
	uint64		image_bytes;	/* of the arena; READY and LOADING */
	uint64		arena_bytes;
	uint64		n_loads;		/* since server start */
	uint64		n_evictions;	/* for others, or because the segment was replaced */
	uint64		n_no_room;		/* loads that found no room */
} GenieDirectoryUsage;

extern Size genie_directory_shmem_size(void);

/* of the hash table, which allocates its memory itself */
extern Size genie_directory_hash_size(void);

extern void genie_directory_shmem_init(void *memory);

/* ---- for the worker ---- */

/*
 * Pins an image, which then stays until unpin, and describes it; image->groups is palloc'd in the current context.
 * False: it is gone, or its live bits are older than *tombstone_version, which becomes theirs.
 */
extern bool genie_directory_pin(const GenieImageRef *ref, uint64 *tombstone_version, GenieSegmentImage *image);

/*
 * The same for one that is being staged, without a version.  *vectors: the quantized vectors, palloc'd, if it is these;
 * then the image has only their number.  Else NULL.
 */
extern bool genie_directory_pin_staged(const GenieImageRef *ref, GenieSegmentImage *image,
									   GenieQuantizedVectors **vectors);

/* The same for quantized vectors; vectors->tiles is palloc'd. */
extern bool genie_directory_pin_vectors(const GenieImageRef *ref, GenieQuantizedVectors *vectors);

/* The same for a proximity graph; graph->tiles is palloc'd. */
extern bool genie_directory_pin_graph(const GenieImageRef *ref, GenieProximityGraph *graph);

/* What is of a graph as a whole, without what is behind it: by any process.  False: it is not READY any more. */
extern bool genie_directory_graph_head(const GenieImageRef *ref, GenieProximityHead *head);

/* The same for one that is being built. */
extern bool genie_directory_pin_unfinished_graph(const GenieImageRef *ref, GenieProximityGraph *graph);
extern void genie_directory_unpin(const GenieImageRef *ref);

/* A worker begins or ends: its pins are void, and so are images on devices alone; there is no room for any. */
extern void genie_directory_unpin_all(void);

/* The devices have so much room for images that are there alone; 0: none, and there are none any more. */
extern void genie_directory_set_device_room(uint64 bytes);

/* Has the worker devices? */
extern bool genie_directory_has_devices(void);

/* The devices have lost an image that was there alone; it is not pinned. */
extern void genie_directory_drop(const GenieImageRef *ref);

/* Is the image there, or being loaded?  If not, an engine may forget its copy. */
extern bool genie_directory_has(const GenieImageRef *ref);

/* A number that grows whenever an image goes; cheap to read. */
extern uint64 genie_directory_generation(void);

/*
 * Says that the key's image, if it is READY, was not used since the server started: with a higher rank, before those
 * with lower ones.
 */
extern void genie_directory_set_unused(const GenieImageKey *key, uint32 rank);

extern void genie_directory_usage(GenieDirectoryUsage *usage);

/* What the directory knows of an image. */
typedef struct GenieImageInfo
{
	GenieImageKey key;
	GenieImageState state;
	GenieFallback why;			/* PUT_OFF: why; else NONE */
	GenieImageForm form;		/* READY */
	uint64		bytes;			/* that it has; PUT_OFF: that it needs, 0 if that is not known */
	uint64		device_bytes;	/* that it has on devices alone */
	TimestampTz last_used;
	uint64		n_loads;		/* loads begun, */
	uint64		n_hits;			/* and scans that found it, since it is in the directory */
} GenieImageInfo;

/* All images that are not FREE, the last used first, palloc'd.  Returns how many.  There must be shared memory. */
extern uint32 genie_directory_list(GenieImageInfo **images);

/* ---- for backends that find and load images ---- */

/*
 * The directory's knowledge of a segment.  READY: ref, versions and bytes, and it counts as used now.  PUT_OFF:
 * why, the bytes that it needs if there is no room, and whether a new try is due.
 */
typedef struct GenieFound
{
	GenieImageRef ref;
	uint64		live_version;
	uint32		hint_version;	/* of the hints that have been taken out; 0: none */
	uint64		bytes;
	uint64		device_bytes;	/* on devices alone */
	GenieFallback why;
	bool		due;
} GenieFound;

/*
 * The same index, whatever the xmin of the database.  With another xmin it is another index, or, if the database's row
 * was updated, the same, which will not be asked for under this key again.
 */
extern bool genie_directory_same_index(const GenieImageKey *a, const GenieImageKey *b);

extern GenieImageState genie_directory_find(const GenieImageKey *key, GenieFound *found);

/* Has a segment of the key's index an image, READY? */
extern bool genie_directory_has_index(const GenieImageKey *key);

/*
 * Makes an entry LOADING, owned by this process.  False: another process has one for the key meanwhile, or there is no
 * entry left.  *first: it was not put off before.
 */
extern bool genie_directory_claim(const GenieImageKey *key, GenieEvict evict, GenieImageRef *ref, bool *first);

/* A load goes on by requests: the worker may pin the image, whose groups may lie elsewhere with each of them. */
extern void genie_directory_stage(const GenieImageRef *ref, const GenieImageParts *parts);

extern void genie_directory_publish(const GenieImageRef *ref, const GenieImageParts *parts, uint64 live_version);

/*
 * The load ended without an image.  STALE: the entry is FREE.  NO_ROOM for the bytes, LOAD_FAILED: it is PUT_OFF, not
 * tried again for a while, or every scan would fail in the same way.
 */
extern void genie_directory_fail(const GenieImageRef *ref, GenieFallback why, uint64 bytes);

/* Waits until some load has ended, interruptibly, or a second; call it in a loop that looks again. */
extern void genie_directory_wait(void);
extern void genie_directory_wait_end(void);

/* Clears the bits that are set in dead, n words from the image's first_word on.  False: it is gone. */
extern bool genie_directory_clear_live(const GenieImageRef *ref, uint32 first_word, uint32 n, const uint64 *dead);

/*
 * Are objects with hints (genie_hint.h) to be taken out of images?  The first call decides for the server's life, under
 * the exclusive lock.  Returns whether it is as the caller says.
 */
extern bool genie_directory_settle_hints(bool taken);

/* Says that the bits of objects with hints of this version are cleared. */
extern void genie_directory_raise_hint_version(const GenieImageRef *ref, uint32 version);

/* Says that all bits of rows that were dead by this tombstone version are cleared.  False: it is gone. */
extern bool genie_directory_raise_live_version(const GenieImageRef *ref, uint64 version);

#endif							/* GENIE_DIRECTORY_H */

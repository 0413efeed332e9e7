/*
 * genie_image_cache.c
 *	  Images of segments in shared memory as a cache: found, loaded where there is none, and kept fresh.
 *
 * Who loads (find_or_load()).  A scan that finds no image loads it itself (genie_image_load.c) if that is expected to
 * take no longer than its queries may wait, GENIE_LOAD_WAIT_MS each: such an image is there sooner than a loader's
 * process would be, and a batch of many queries is answered sooner with it.  Else a loader loads it (genie_loader.c),
 * and the scan counts from the pages at once, as do others until it is there.  If no loader can be had, the scan
 * loads whatever it takes, unless statement_timeout leaves no time.  genie_prewarm loads large segments with parallel
 * workers (genie_image_team.c), has loaders load others, loads what no loader has begun with, and waits for the rest.
 * A merge has loaders load its segments if the index had images.  Graphs (genie_image_values.c) are built by loaders
 * and by genie_prewarm only, since that takes long; scans go without meanwhile.
 *
 * Whoever loads, loads only segments that the metapage lists now, and drops images of the index's segments that it does
 * not list any more.  A segment that a merge replaced is read only by scans that are older than the merge; they count
 * from its pages.
 *
 * Live bits.  Those of the image at tombstone version v have lost all that was dead by v.  To bring an image from
 * one version to the next, dead bits are read from the pages, cleared in the image, and then the version is raised
 * to the one that the metapage had *before* the pages were read.  Any backend may do that at any time:
 *
 *	- Several at once do no harm: bits are only ever cleared, by atomic operations, and a backend raises the
 *	  version only after its own bits are cleared; the version only grows.
 *	- A backend that ends between bits and version leaves an image that hides rows which are dead to everybody, and
 *	  claims less than it has; the next one does all of it again.
 *	- An image that is published while VACUUM runs may lack VACUUM's bits, but then its version is the older one.
 *
 * Hints (genie_hint.h) are cleared in the same way, with a version of their own that nobody waits for: an image that
 * lacks some is right, too.  But the bits are shared by all scans, and those of a transaction that began in recovery
 * must see the rows.  So either images get hints, or such scans use images, in the life of a server: what comes first
 * (genie_directory_settle_hints()).  Only a promoted standby ever has both; there such scans have come first, if any.
 *
 * So VACUUM's call of genie_image_cache_publish_tombstones() makes images fresh, and the comparison of versions, by
 * each scan here and by the worker when it pins, makes answers right.  On a standby there is only the comparison.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "genie_arena.h"
#include "genie_compat.h"
#include "genie_eviction.h"
#include "genie_fault.h"
#include "genie_hint.h"
#include "genie_image_cache.h"
#include "genie_image_team.h"
#include "genie_image_values.h"
#include "genie_loader.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_options.h"
#include "genie_tombstone.h"
#include "genie_values.h"

/*
 * A load gets through at least this many postings in a millisecond, if pages are cached: a tenth of the measured speed
 * (test/bench/RESULTS.md).
 */
#define GENIE_LOAD_POSTINGS_PER_MS 20000
#define GENIE_LOAD_GRAPH_PER_MS 10	/* objects, of a graph that is built */

#define DEVICE_MIN_ENVIRONMENT "GENIE_GRAPH_DEVICE_MIN" /* for tests: of GENIE_PROXIMITY_DEVICE_MIN */

/* ms that a query may wait for a load that its scan does itself; a query from the pages takes some, too */
#define GENIE_LOAD_WAIT_MS 10

/* Bytes of a segment's values that are read in a millisecond at least, if pages are cached. */
#define GENIE_LOAD_VALUES_PER_MS (1024 * 1024)

/* tiles whose dead bits are read before the directory's lock is taken to clear them: 128 kB */
#define GENIE_REFRESH_TILES 16

/* The caller logs it once for each image. */
static void
log_no_room(Relation index, const GenieSegment *segment, const GenieLoadResult *result)
{
	unsigned long long kb = genie_arena_image_bytes() / 1024;

	ereport(LOG,
			(errmsg("no room in shared memory for an image of genie index \"%s\"", genie_log_name(index)),
			 result->n_bytes > genie_arena_image_bytes() ?
			 errdetail("A segment of %u rows needs %llu kB, but genie.shared_memory has %llu kB for images.",
					   segment->header.n_objects, (unsigned long long) result->n_bytes / 1024, kb) :
			 errdetail("A segment of %u rows needs %llu kB; genie.shared_memory has %llu kB for images, and others are "
					   "in use or of the same index.",
					   segment->header.n_objects, (unsigned long long) result->n_bytes / 1024, kb),
			 genie_image_setting == GENIE_IMAGE_SETTING_FULL ?
			 errhint("Queries on it are counted from the index's pages.  Raise genie.shared_memory, which needs a "
					 "restart, or set genie.image to \"auto\", to have it in memory.") :
			 errhint("Queries on it are counted from the index's pages.  Raise genie.shared_memory, which needs a "
					 "restart, to have it in memory.")));
}

/*
 * A scan may not need what is damaged: it counts from the pages, and fails there if it does.  If the administrator
 * asked for the whole index, this is an ERROR of the session that asked; a loader leaves it to that.
 */
static void
report_damage(Relation index, const GenieSegment *segment, const char *damage, GenieEvict evict)
{
	if (evict == GENIE_EVICT_USED && segment->stop != NULL)
		return;
	if (evict == GENIE_EVICT_USED)
		genie_report_corrupt(index, segment->entry.root, damage);
	ereport(LOG,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("could not load genie index \"%s\" into shared memory: %s", genie_log_name(index), damage),
			 errhint("Look through the index with genie_check(), and build it anew with REINDEX.")));
}

/*
 * There is no memory to build the segment's graph, which whoever asked for it is told, and else the log, once.  It is
 * tried again when a search wants it after a while.
 */
static void
report_no_memory(Relation index, GenieSegment *segment, const GenieImageKey *key, const GenieLoadResult *result,
				 GenieEvict evict)
{
	bool		asked = evict == GENIE_EVICT_USED && segment->stop == NULL;
	uint64		needed = genie_image_graph_needs(segment->header.n_objects, genie_values_shape(segment), key->graph);

	if (!asked && !result->first)
		return;
	ereport(asked ? WARNING : LOG,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("there is no memory to build a proximity graph of genie index \"%s\"", genie_log_name(index)),
			 errdetail("For a segment of %u rows it takes %llu MB for a time, which is more than a quarter of what the "
					   "machine has free.",
					   segment->header.n_objects, (unsigned long long) (needed >> 20)),
			 errhint("Searches go by signatures instead, until there is more memory.")));
}

/* Workers for the segment's load if the administrator asks for it: a query's load is short, and loaders have none. */
static uint32
count_workers(const GenieSegmentEntry *entry)
{
	return genie_image_team_workers(entry->n_postings, entry->n_keywords);
}

/* Loads the image or the values, which the directory does not have, if the metapage lists the segment. */
static GenieFallback
load_listed(Relation index, GenieSegment *segment, const GenieImageKey *key, GenieEvict evict)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie image load", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GenieMetaData *meta = genie_meta_read(index);
	uint64	   *stamps = palloc((meta->n_segments + 1) * sizeof(uint64));
	const GenieSegmentEntry *entry = NULL;
	GenieLoadResult result = {.why = GENIE_FALLBACK_REPLACED};

	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		stamps[i] = meta->segments[i].stamp;
		if (stamps[i] == key->stamp)
			entry = &meta->segments[i];
	}
	if (entry != NULL)
	{
		genie_eviction_drop_replaced(key, stamps, meta->n_segments, meta->next_stamp);
		result = key->metric != 0 ? genie_image_load_values(segment, key, evict) :
			genie_image_load(segment, key, entry->n_dead, meta->tombstone_version, evict,
							 evict == GENIE_EVICT_USED && segment->stop == NULL ? count_workers(entry) : 0);
		if (result.why == GENIE_FALLBACK_LOAD_FAILED && key->graph != 0)
			report_no_memory(index, segment, key, &result, evict);
		else if (result.why == GENIE_FALLBACK_LOAD_FAILED)
			report_damage(index, segment, result.damage, evict);
		if (result.why == GENIE_FALLBACK_NO_ROOM && result.first && evict == GENIE_EVICT_UNUSED)
			log_no_room(index, segment, &result);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result.why;
}

/* ---- live bits of an image that is there ---- */

/*
 * Brings them to the tombstone version that the metapage had when the segment was opened from it.  False: the image
 * is gone, or the segment is stale.
 */
static bool
refresh(GenieSegment *segment, const GenieImageRef *ref, uint64 version)
{
	uint32		n_tiles = genie_object_table_tiles(segment);
	GenieSectionReader *reader;
	uint64	   *dead;
	bool		ok = true;

	if (segment->entry.n_dead == 0)
		return genie_directory_raise_live_version(ref, version);

	reader = palloc(sizeof(GenieSectionReader));
	dead = palloc(GENIE_REFRESH_TILES * GENIE_TILE_WORDS * sizeof(uint64));
	genie_section_reader(reader, segment, GENIE_SECTION_TOMBSTONES);
	for (uint32 tile = 0; ok && tile < n_tiles; tile += GENIE_REFRESH_TILES)
	{
		uint32		n = Min(segment->header.n_objects - tile * GENIE_TILE_OBJECTS,
							GENIE_REFRESH_TILES * GENIE_TILE_OBJECTS);
		uint32		n_words = (n + 63) / 64;

		CHECK_FOR_INTERRUPTS();
		memset(dead, 0, n_words * sizeof(uint64));
		ok = genie_tombstone_read(reader, tile * GENIE_TILE_OBJECTS, n, dead) &&
			genie_directory_clear_live(ref, tile * GENIE_TILE_WORDS, n_words, dead);
	}
	GENIE_FAULT("image-refreshed");
	pfree(dead);
	pfree(reader);
	return ok && genie_directory_raise_live_version(ref, version);
}

static GenieImageKey
key_of(Relation index, const GenieMetaData *meta, uint64 stamp)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	GenieImageKey key;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	key.tablespace = GENIE_REL_TABLESPACE(index);
	key.database = GENIE_REL_DATABASE(index);
	key.database_xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
	key.storage = GENIE_REL_STORAGE(index);
	key.build_id = meta->build_id;
	key.stamp = stamp;
	key.metric = 0;
	key.graph = 0;
	ReleaseSysCache(tuple);
	return key;
}

/*
 * Would loading take a good part of statement_timeout?  Then this scan counts from the pages.  Else each query would
 * begin to load, be cancelled, and leave nothing to the next one.
 */
static bool
has_no_time(uint64 ms)
{
	return StatementTimeout > 0 && ms > (uint64) StatementTimeout / 2;
}

/* Takes the objects that have hints out of the image.  False: the segment is stale. */
static bool
take_hints(GenieSegment *segment, const GenieImageRef *ref, uint32 hint_version)
{
	uint32		n_words = genie_object_table_tiles(segment) * GENIE_TILE_WORDS;
	uint64	   *hinted;
	bool		ok;

	/* settled first: from then on, no scan that must see them uses an image */
	if (!genie_directory_settle_hints(true))
		return true;
	hinted = MemoryContextAllocExtended(CurrentMemoryContext, n_words * sizeof(uint64),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	ok = genie_hint_read(segment, hinted);
	for (uint32 first = 0; ok && first < n_words; first += GENIE_REFRESH_TILES * GENIE_TILE_WORDS)
	{
		CHECK_FOR_INTERRUPTS();
		(void) genie_directory_clear_live(ref, first, Min(n_words - first, GENIE_REFRESH_TILES * GENIE_TILE_WORDS),
										  hinted + first);
	}
	if (ok)
		genie_directory_raise_hint_version(ref, hint_version);
	pfree(hinted);
	return ok;
}

/* Does the metapage list the segment now? */
static bool
is_listed(Relation index, uint64 stamp)
{
	GenieMetaData *meta = genie_meta_read(index);
	bool		listed = false;

	for (uint32 i = 0; i < meta->n_segments; i++)
		listed |= meta->segments[i].stamp == stamp;
	pfree(meta);
	return listed;
}

/* Why a scan of so many queries does not load the image itself; GENIE_FALLBACK_NONE: it does. */
static GenieFallback
leave_load(Relation index, const GenieSegment *segment, const GenieImageKey *key, uint32 n_queries)
{
	uint64		ms = key->graph != 0 ? segment->header.n_objects / GENIE_LOAD_GRAPH_PER_MS : key->metric != 0 ?
		segment->sections[GENIE_SECTION_VALUES].entry.length / GENIE_LOAD_VALUES_PER_MS :
		segment->header.n_postings / GENIE_LOAD_POSTINGS_PER_MS;

	if ((ms > (uint64) GENIE_LOAD_WAIT_MS * n_queries || has_no_time(ms)) &&
		is_listed(index, key->stamp) && genie_loader_want(key, GENIE_EVICT_UNUSED))
		return GENIE_FALLBACK_LOADING;
	return has_no_time(ms) ? GENIE_FALLBACK_NO_TIME : GENIE_FALLBACK_NONE;
}

/*
 * The segment's image, fresh as of meta, and without the objects that have hints up to a version, or, with a metric,
 * its values, or their graph of so many edges an object.  n_queries: of the scan; 0: the administrator asks, and waits.
 */
static GenieFallback
find_or_load(Relation index, const GenieMetaData *meta, GenieSegment *segment, GenieMetric metric, uint32 graph,
			 uint32 hint_version, uint32 n_queries, GenieImageRef *ref)
{
	GenieImageKey key = key_of(index, meta, segment->entry.stamp);
	GenieFound	found;
	GenieFallback why;

	key.metric = metric;
	key.graph = graph;

	for (;;)
	{
		switch (genie_directory_find(&key, &found))
		{
			case GENIE_IMAGE_READY:
				*ref = found.ref;
				if (metric != 0)
					return GENIE_FALLBACK_NONE;
				if ((found.live_version >= meta->tombstone_version ||
					 refresh(segment, ref, meta->tombstone_version)) &&
					(found.hint_version >= hint_version || take_hints(segment, ref, hint_version)))
					return GENIE_FALLBACK_NONE;
				if (segment->stale)
					return GENIE_FALLBACK_STALE;
				break;			/* evicted meanwhile */
			case GENIE_IMAGE_LOADING:
				return GENIE_FALLBACK_LOADING;
			case GENIE_IMAGE_PUT_OFF:
				if (!found.due && n_queries > 0)
					return found.why;
				/* FALLTHROUGH */
			case GENIE_IMAGE_FREE:
				if (n_queries > 0 && (why = leave_load(index, segment, &key, n_queries)) != GENIE_FALLBACK_NONE)
					return why;
				why = load_listed(index, segment, &key, n_queries > 0 ? GENIE_EVICT_UNUSED : GENIE_EVICT_USED);
				if (why != GENIE_FALLBACK_NONE)
					return why;
				break;			/* it is found now */
		}
		CHECK_FOR_INTERRUPTS();
	}
}

GenieFallback
genie_image_cache_get(Relation index, const GenieMetaData *meta, GenieSegment *segment, uint32 hint_version,
					  uint32 n_queries, GenieImageRef *ref)
{
	if (!genie_arena_has_images())
		return GENIE_FALLBACK_NO_ROOM;
	if (index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return GENIE_FALLBACK_TEMPORARY;
	if (!genie_hints_allowed() && !genie_directory_settle_hints(false))
		return GENIE_FALLBACK_GONE;
	return find_or_load(index, meta, segment, 0, 0, hint_version, Max(n_queries, 1), ref);
}

GenieFallback
genie_image_cache_values(Relation index, const GenieMetaData *meta, GenieSegment *segment, uint32 n_queries,
						 GenieImageRef *ref)
{
	return find_or_load(index, meta, segment, genie_values_metric(segment), 0, 0, Max(n_queries, 1), ref);
}

/* With a GPU segments of so many objects have a graph. */
static uint32
device_objects_min(void)
{
	const char *told = getenv(DEVICE_MIN_ENVIRONMENT);

	return told == NULL ? GENIE_PROXIMITY_DEVICE_MIN : (uint32) strtoul(told, NULL, 10);
}

uint32
genie_image_cache_graph_degree(Relation index, const GenieSegment *segment)
{
	uint32		degree = genie_graph_of(index);

	/* exact classes have no keywords */
	if (degree == 0 || (segment->header.n_keywords == 0 && !genie_is_by_graph(index)) ||
		segment->header.n_objects < GENIE_PROXIMITY_OBJECTS_MIN ||
		!genie_proximity_serves(genie_values_metric(segment)))
		return 0;
	return genie_directory_has_devices() && segment->header.n_objects < device_objects_min() ? 0 : degree;
}

GenieFallback
genie_image_cache_graph(Relation index, const GenieMetaData *meta, GenieSegment *segment, GenieImageRef *ref,
						GenieProximityHead *head)
{
	GenieImageKey key = key_of(index, meta, segment->entry.stamp);
	GenieFound	found;
	GenieImageState state;

	key.metric = genie_values_metric(segment);
	key.graph = genie_image_cache_graph_degree(index, segment);
	if (key.graph == 0)
		return GENIE_FALLBACK_OFF;
	state = genie_directory_find(&key, &found);
	*ref = found.ref;
	if (state == GENIE_IMAGE_READY && genie_directory_graph_head(ref, head))
		return GENIE_FALLBACK_NONE;
	if (state == GENIE_IMAGE_LOADING)
		return GENIE_FALLBACK_LOADING;
	if ((state == GENIE_IMAGE_FREE || found.due) && is_listed(index, key.stamp) &&
		genie_loader_want(&key, GENIE_EVICT_UNUSED))
		return GENIE_FALLBACK_LOADING;
	return state == GENIE_IMAGE_PUT_OFF ? found.why : GENIE_FALLBACK_NO_ROOM;
}

/* ---- for loaders ---- */

/* Is it time to load this? */
static bool
is_due(const GenieImageKey *key, GenieEvict evict)
{
	GenieFound	found;
	GenieImageState state = genie_directory_find(key, &found);

	return state == GENIE_IMAGE_FREE || (state == GENIE_IMAGE_PUT_OFF && (found.due || evict == GENIE_EVICT_USED));
}

void
genie_image_cache_load(Relation index, const GenieImageKey *wanted, GenieEvict evict, uint32 rank,
					   bool (*stop) (void *arg), void *stop_arg)
{
	GenieMetaData *meta = genie_meta_read(index);
	GenieImageKey key = key_of(index, meta, wanted->stamp);
	GenieImageKey values = key;

	if (!genie_directory_same_index(&key, wanted))
		return;
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieSegment *segment;

		if (meta->segments[i].stamp != key.stamp)
			continue;
		segment = genie_segment_open(index, &meta->segments[i]);
		if (segment == NULL)
			return;
		segment->stop = stop;
		segment->stop_arg = stop_arg;
		if (is_due(&key, evict) && load_listed(index, segment, &key, evict) == GENIE_FALLBACK_NONE &&
			evict == GENIE_EVICT_NONE)
			genie_directory_set_unused(&key, rank);
		values.metric = genie_values_metric(segment);
		if (values.metric != 0 && !segment->stale && is_due(&values, evict) &&
			load_listed(index, segment, &values, evict) == GENIE_FALLBACK_NONE && evict == GENIE_EVICT_NONE)
			genie_directory_set_unused(&values, rank);
		values.graph = genie_image_cache_graph_degree(index, segment);
		if (values.graph != 0 && !segment->stale && is_due(&values, evict) &&
			load_listed(index, segment, &values, evict) == GENIE_FALLBACK_NONE && evict == GENIE_EVICT_NONE)
			genie_directory_set_unused(&values, rank);
	}
}

/*
 * Has loaders load all segments that are unknown to the directory, but the first n, and those that a session loads with
 * workers if the administrator asks.  Returns how many these are.
 */
static uint32
want_missing(Relation index, const GenieMetaData *meta, GenieEvict evict, uint32 n_skipped)
{
	uint32		n = 0;

	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieImageKey key = key_of(index, meta, meta->segments[i].stamp);
		GenieFound	found;
		GenieImageState state = genie_directory_find(&key, &found);

		if (state == GENIE_IMAGE_READY || state == GENIE_IMAGE_LOADING ||
			(state == GENIE_IMAGE_PUT_OFF && evict != GENIE_EVICT_USED))
			continue;
		if (evict == GENIE_EVICT_USED && count_workers(&meta->segments[i]) > 0)
			n_skipped = 0;
		else if (n_skipped > 0)
			n_skipped--;
		else if (genie_loader_want(&key, evict))
			n++;
		else
			break;
	}
	return n;
}

void
genie_image_cache_follow_merge(Relation index)
{
	GenieMetaData *meta;
	GenieImageKey key;

	if (!genie_arena_has_images() || index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return;
	meta = genie_meta_read(index);
	key = key_of(index, meta, 0);
	if (genie_directory_has_index(&key))
		(void) want_missing(index, meta, GENIE_EVICT_UNUSED, 0);
	pfree(meta);
}

/* ---- the dead of a VACUUM ---- */

void
genie_image_cache_publish_tombstones(Relation index)
{
	MemoryContext context;
	MemoryContext old;
	GenieMetaData *meta;

	if (!genie_arena_has_images() || index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "genie image refresh", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	meta = genie_meta_read(index);
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieImageKey key = key_of(index, meta, meta->segments[i].stamp);
		GenieSegment *segment;
		GenieFound	found;

		if (genie_directory_find(&key, &found) != GENIE_IMAGE_READY ||
			found.live_version >= meta->tombstone_version)
			continue;
		segment = genie_segment_open(index, &meta->segments[i]);
		if (segment != NULL)
			(void) refresh(segment, &found.ref, meta->tombstone_version);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---- genie_prewarm ---- */

static void
report_unusable(Relation index)
{
	if (!genie_arena_preloaded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("genie has no shared memory"),
				 errhint("Add genie to shared_preload_libraries in postgresql.conf and restart the server.")));
	if (!genie_arena_has_images())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("genie has no shared memory for images"),
				 errhint("Set genie.shared_memory in postgresql.conf to more than 0 and restart the server.")));
	if (index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot load temporary index \"%s\" into shared memory", RelationGetRelationName(index))));
}

/* have: bytes of the index's segments that are in shared memory. */
static void
report_no_room(Relation index, const GenieImageKey *key, uint64 have)
{
	GenieFound	found;

	if (genie_directory_find(key, &found) != GENIE_IMAGE_PUT_OFF)
		found.bytes = 0;
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no room in shared memory for all of genie index \"%s\"", RelationGetRelationName(index)),
			 errdetail("A segment needs %llu kB; %llu kB of the index are loaded; genie.shared_memory has %llu kB for "
					   "images.",
					   (unsigned long long) found.bytes / 1024, (unsigned long long) have / 1024,
					   (unsigned long long) genie_arena_image_bytes() / 1024),
			 genie_image_setting == GENIE_IMAGE_SETTING_FULL ?
			 errhint("Raise genie.shared_memory in postgresql.conf and restart the server, "
					 "or set genie.image to \"auto\", which takes less where an index allows it.") :
			 errhint("Raise genie.shared_memory in postgresql.conf and restart the server.")));
}

/*
 * One segment's image, or, with a metric, its values, or their graph; *lacks_room: there is none for it.  False: the
 * index changed meanwhile, start again.
 */
static bool
prewarm_image(Relation index, const GenieMetaData *meta, GenieSegment *segment, GenieMetric metric, uint32 graph,
			  uint64 *n_bytes, bool *lacks_room)
{
	GenieImageKey key = key_of(index, meta, segment->entry.stamp);
	GenieFound	found;
	GenieImageRef ref;
	GenieFallback why;

	while ((why = find_or_load(index, meta, segment, metric, graph, 0, 0, &ref)) == GENIE_FALLBACK_LOADING)
		genie_directory_wait();
	genie_directory_wait_end();
	key.metric = metric;
	key.graph = graph;
	if (why == GENIE_FALLBACK_NO_ROOM && lacks_room == NULL)
		report_no_room(index, &key, *n_bytes);
	if (why == GENIE_FALLBACK_NO_ROOM)
	{
		*lacks_room = true;
		return true;
	}
	if (why == GENIE_FALLBACK_LOAD_FAILED && graph != 0)
		return true;			/* there is no memory to build it, which was said */
	if (why != GENIE_FALLBACK_NONE)
		return false;
	if (genie_directory_find(&key, &found) == GENIE_IMAGE_READY)
		*n_bytes += found.bytes + found.device_bytes;
	return true;
}

/* One segment's image.  False: the index changed meanwhile, start again. */
static bool
prewarm_segment(Relation index, const GenieMetaData *meta, const GenieSegmentEntry *entry, uint64 *n_bytes)
{
	GenieSegment *segment = genie_segment_open(index, entry);

	return segment != NULL && prewarm_image(index, meta, segment, 0, 0, n_bytes, NULL);
}

/* The segment's values, if it has some, and their graph, if it shall have one.  False: likewise. */
static bool
prewarm_values(Relation index, const GenieMetaData *meta, const GenieSegmentEntry *entry, uint64 *n_bytes,
			   bool *lacks_room)
{
	GenieSegment *segment = genie_segment_open(index, entry);
	GenieMetric metric = segment == NULL ? 0 : genie_values_metric(segment);
	uint32		graph = segment == NULL ? 0 : genie_image_cache_graph_degree(index, segment);

	return segment != NULL &&
		(metric == 0 || prewarm_image(index, meta, segment, metric, 0, n_bytes, lacks_room)) &&
		(graph == 0 || prewarm_image(index, meta, segment, metric, graph, n_bytes, lacks_room));
}

/*
 * Loaders and this session load all segments; each takes what nobody has begun with.  Whatever becomes of that,
 * prewarm_segment() sees.  False: the index changed meanwhile.
 */
static bool
prewarm_together(Relation index, const GenieMetaData *meta)
{
	uint64		n_bytes = 0;

	if (want_missing(index, meta, GENIE_EVICT_USED, 1) == 0)
		return true;
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieImageKey key = key_of(index, meta, meta->segments[i].stamp);

		if ((!genie_loader_has(&key) || genie_loader_withdraw(&key)) &&
			!prewarm_segment(index, meta, &meta->segments[i], &n_bytes))
			return false;
	}
	for (uint32 i = 0; i < meta->n_segments; i++)
	{
		GenieImageKey key = key_of(index, meta, meta->segments[i].stamp);

		while (genie_loader_has(&key))
			genie_loader_wait();
		genie_loader_wait_end();
	}
	return true;
}

uint64
genie_image_cache_prewarm(Relation index, bool *lacks_values)
{
	uint64		segment_version = 0;
	bool		changed = false;

	report_unusable(index);
	genie_eviction_sweep();		/* what nobody needs any more makes room first */
	for (;;)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie prewarm", ALLOCSET_DEFAULT_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		GenieMetaData *meta = genie_meta_read_again(index, changed, segment_version);
		uint64		n_bytes = 0;

		segment_version = meta->segment_version;
		changed = !prewarm_together(index, meta);
		for (uint32 i = 0; !changed && i < meta->n_segments; i++)
			changed = !prewarm_segment(index, meta, &meta->segments[i], &n_bytes);
		/* after all images, for which values go */
		for (uint32 i = 0; !changed && i < meta->n_segments; i++)
			changed = !prewarm_values(index, meta, &meta->segments[i], &n_bytes, lacks_values);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		if (!changed)
			return n_bytes;
		CHECK_FOR_INTERRUPTS();
	}
}

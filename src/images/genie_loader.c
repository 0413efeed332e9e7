/*
 * genie_loader.c
 *	  Loaders: background workers that make images, so that no session waits for them (genie_loader.h).
 *
 * What is wanted is a list in shared memory.  Sessions that found no image, genie_prewarm, merges and the worker at
 * server start (genie_autoprewarm.c) add to it; the same image is wanted once, however many ask.  Who adds starts a
 * loader, a dynamic background worker, unless there are genie.loaders of them.  A loader is connected to one database
 * as long as there are images to load in it, and starts the next one if more is wanted: beside it, or, when it ends,
 * in its place.  No process waits for loaders but genie_prewarm, which loads itself what no loader has begun with.
 *
 * Order: what a session wants first (by GenieEvict), else first come, first served.
 *
 *				 want				 take				done, or the loader's end
 *		 (none) ─────────► waiting ─────────► taken ──────────────────────────► (none)
 *							  └── withdraw ──► (none)
 *
 * A loader makes an image as a backend does (genie_image_load.c): LOADING in the directory is its own, and whatever
 * ends it leaves no image and no memory taken.  What did not succeed is not wanted any more.  Who asks next wants it
 * again.
 *
 * Out of everybody's way.  A loader has a transaction without a snapshot and without a transaction id, so VACUUM and
 * CREATE INDEX CONCURRENTLY do not wait for it.  It runs as no role, calls no function of an operator class and no
 * expression, and reads pages of the index only.  Its one lock is AccessShareLock on the index, taken only if nobody
 * has or wants AccessExclusiveLock.  Between two pages, every LOOK_MS, it looks whether somebody waits (stops()), and
 * if so, gives the load up:
 *
 *	- for the index: its lock is in the shared table if somebody waits, and the list of all locks tells who does.
 *	  (LockHasWaiters() cannot be asked by who holds a lock by the fast path.  From 18 on, who holds one lock gets
 *	  another one before the waiter, so asking for one tells nothing.)
 *	- for the database (DROP, RENAME, SET TABLESPACE, use as a template): these lock its row in pg_database and then
 *	  wait until nobody is connected.  The lock that each session takes when it connects is not granted then.
 *
 * Shutdown and a standby's conflicts with recovery come as signals, which are looked at between two pages, too.
 *
 * The lock of the list is held for looking and noting only.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "genie_compat.h"
#include "genie_fault.h"
#include "genie_image_cache.h"
#include "genie_loader.h"
#include "genie_wait_event.h"

#define LOADERS_MAX 64			/* genie.loaders is smaller; the rest is for those that end while others start */
#define LOOK_MS 100				/* a loader looks so often whether somebody waits */
#define START_MS (10 * 1000)	/* a loader that was not started after this never will be */
#define LOADER_WAIT_MS 1000		/* a waiter looks again after this */

/* ms that a loader waits for a lock on a catalog; it is long only if a catalog is being rewritten */
#define LOCK_TIMEOUT_MS "500"

/* An image that is wanted. */
typedef struct GenieWanted
{
	GenieImageKey key;
	GenieEvict	evict;
	uint32		loader;			/* that has taken it: its place + 1; 0: it waits */
	uint64		number;			/* in the order of coming */
} GenieWanted;

/* A loader, from the request to start it until its end. */
typedef struct GenieLoaderPlace
{
	uint64		id;				/* 0: the place is free */
	uint32		database;
	bool		is_started;
	bool		is_connected;
	TimestampTz since;
} GenieLoaderPlace;

/* All under the lock but n_wanted, which is also read without. */
typedef struct GenieLoaderShared
{
	int			tranche;
	LWLock		lock;
	ConditionVariable done;		/* something is not wanted any more */
	bool		is_used;		/* genie_loader_is_first() was asked */
	uint64		next_number;
	uint64		next_id;
	GenieLoaderPlace places[LOADERS_MAX];
	uint32		n_wanted;
	GenieWanted wanted[GENIE_IMAGES_MAX];
} GenieLoaderShared;

/* A loader's own. */
typedef struct GenieLoader
{
	uint32		place;
	uint32		database;
	Oid			index;			/* that it loads */
	TimestampTz looked_at;
} GenieLoader;

int			genie_loaders;
static GenieLoaderShared *shared = NULL;

pg_noreturn PGDLLEXPORT void genie_loader_main(Datum arg);

Size
genie_loader_shmem_size(void)
{
	return sizeof(GenieLoaderShared);
}

void
genie_loader_shmem_init(void *memory)
{
	shared = memory;
	if (!IsUnderPostmaster)
	{
		memset(shared, 0, sizeof(GenieLoaderShared));
		shared->tranche = LWLockNewTrancheId();
		LWLockInitialize(&shared->lock, shared->tranche);
		ConditionVariableInit(&shared->done);
		shared->next_id = 1;
	}
	LWLockRegisterTranche(shared->tranche, "genie");
}

bool
genie_loader_is_first(void)
{
	bool		is_first;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	is_first = !shared->is_used;
	shared->is_used = true;
	LWLockRelease(&shared->lock);
	return is_first;
}

/* ---- the list, under the lock ---- */

/* NULL: it is not wanted. */
static GenieWanted *
find_wanted(const GenieImageKey *key)
{
	for (uint32 i = 0; i < shared->n_wanted; i++)
	{
		GenieWanted *wanted = &shared->wanted[i];

		if (wanted->key.stamp == key->stamp && wanted->key.metric == key->metric && wanted->key.graph == key->graph &&
			genie_directory_same_index(&wanted->key, key))
			return wanted;
	}
	return NULL;
}

static void
remove_wanted(GenieWanted *wanted)
{
	*wanted = shared->wanted[--shared->n_wanted];
}

/* Is a loader that is on its way to the database to take what is wanted there? */
static bool
is_awaited(uint32 database)
{
	for (uint32 i = 0; i < LOADERS_MAX; i++)
		if (shared->places[i].id != 0 && !shared->places[i].is_connected && shared->places[i].database == database)
			return true;
	return false;
}

static bool
goes_first(const GenieWanted *wanted, const GenieWanted *other)
{
	return other == NULL || wanted->evict > other->evict ||
		(wanted->evict == other->evict && wanted->number < other->number);
}

/* What waits and goes first, of a database, or, of none, of those that no loader is on its way to.  NULL: nothing. */
static GenieWanted *
first_waiting(uint32 database)
{
	GenieWanted *first = NULL;

	for (uint32 i = 0; i < shared->n_wanted; i++)
	{
		GenieWanted *wanted = &shared->wanted[i];

		if (wanted->loader == 0 && goes_first(wanted, first) &&
			(database != InvalidOid ? wanted->key.database == database : !is_awaited(wanted->key.database)))
			first = wanted;
	}
	return first;
}

/* How many loaders there are.  *free_place is one that is free; LOADERS_MAX: none. */
static uint32
count_loaders(uint32 *free_place)
{
	uint32		n = 0;

	*free_place = LOADERS_MAX;
	for (uint32 i = 0; i < LOADERS_MAX; i++)
	{
		GenieLoaderPlace *place = &shared->places[i];

		if (place->id != 0 && !place->is_started &&
			TimestampDifferenceExceeds(place->since, GetCurrentTimestamp(), START_MS))
			place->id = 0;
		if (place->id != 0)
			n++;
		else
			*free_place = i;
	}
	return n;
}

/* ---- starting ---- */

/* Has a loader started, if something waits that none is on its way to.  False: nothing, or there can be no more. */
static bool
start_loader(void)
{
	BackgroundWorker registration = {0};
	const GenieWanted *wanted;
	uint32		place;
	uint64		id = 0;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	if (count_loaders(&place) < (uint32) genie_loaders && place < LOADERS_MAX &&
		(wanted = first_waiting(InvalidOid)) != NULL)
	{
		id = shared->next_id++;
		shared->places[place] = (GenieLoaderPlace) {id, wanted->key.database, false, false, GetCurrentTimestamp()};
	}
	LWLockRelease(&shared->lock);
	if (id == 0)
		return false;

	registration.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	registration.bgw_start_time = BgWorkerStart_ConsistentState;
	registration.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(registration.bgw_library_name, "genie", BGW_MAXLEN);
	strlcpy(registration.bgw_function_name, "genie_loader_main", BGW_MAXLEN);
	strlcpy(registration.bgw_name, "genie loader", BGW_MAXLEN);
	strlcpy(registration.bgw_type, "genie loader", BGW_MAXLEN);
	registration.bgw_main_arg = UInt32GetDatum(place);
	memcpy(registration.bgw_extra, &id, sizeof(id));
	if (RegisterDynamicBackgroundWorker(&registration, NULL))
		return true;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	if (shared->places[place].id == id)
		shared->places[place].id = 0;
	LWLockRelease(&shared->lock);
	return false;
}

void
genie_loader_look_after(void)
{
	if (shared->n_wanted == 0)
		return;
	if (genie_loaders > 0)
	{
		(void) start_loader();
		return;
	}
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	for (uint32 i = shared->n_wanted; i-- > 0;)
		if (shared->wanted[i].loader == 0)
			remove_wanted(&shared->wanted[i]);
	LWLockRelease(&shared->lock);
}

bool
genie_loader_want(const GenieImageKey *key, GenieEvict evict)
{
	GenieWanted *wanted;
	bool		is_new;
	bool		will_be;
	uint32		place;

	if (genie_loaders == 0)
		return false;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	wanted = find_wanted(key);
	is_new = wanted == NULL && shared->n_wanted < GENIE_IMAGES_MAX;
	if (is_new)
	{
		wanted = &shared->wanted[shared->n_wanted++];
		*wanted = (GenieWanted) {*key, evict, 0, shared->next_number++};
	}
	will_be = wanted != NULL;
	if (will_be)
		wanted->evict = Max(wanted->evict, evict);
	LWLockRelease(&shared->lock);
	if (!is_new || start_loader())
		return will_be;

	/* Not started: one is on its way or will get there, or there is none. */
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	wanted = find_wanted(key);
	if (wanted != NULL && wanted->loader == 0 && count_loaders(&place) == 0)
	{
		remove_wanted(wanted);
		will_be = false;
	}
	LWLockRelease(&shared->lock);
	return will_be;
}

/* ---- for those that wait ---- */

bool
genie_loader_has(const GenieImageKey *key)
{
	bool		has;

	LWLockAcquire(&shared->lock, LW_SHARED);
	has = find_wanted(key) != NULL;
	LWLockRelease(&shared->lock);
	return has;
}

bool
genie_loader_withdraw(const GenieImageKey *key)
{
	GenieWanted *wanted;
	bool		waited;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	wanted = find_wanted(key);
	waited = wanted != NULL && wanted->loader == 0;
	if (waited)
		remove_wanted(wanted);
	LWLockRelease(&shared->lock);
	return waited;
}

void
genie_loader_wait(void)
{
	(void) ConditionVariableTimedSleep(&shared->done, LOADER_WAIT_MS, genie_wait_event(GENIE_WAIT_LOADERS));
}

void
genie_loader_wait_end(void)
{
	ConditionVariableCancelSleep();
}

uint32
genie_loader_n_wanted(GenieEvict evict)
{
	uint32		n = 0;

	LWLockAcquire(&shared->lock, LW_SHARED);
	for (uint32 i = 0; i < shared->n_wanted; i++)
		n += shared->wanted[i].evict == evict;
	LWLockRelease(&shared->lock);
	return n;
}

/* ---- a load ---- */

/* Does somebody wait for the index? */
static bool
index_is_wanted(const GenieLoader *loader)
{
	LOCKTAG		tag;
	LockData   *locks;
	bool		wanted = false;

	SET_LOCKTAG_RELATION(tag, loader->database, loader->index);
	if (LockWaiterCount(&tag) == 0) /* it counts holders, too */
		return false;
	locks = GetLockStatusData();
	for (int i = 0; i < locks->nelements && !wanted; i++)
		wanted = locks->locks[i].waitLockMode != NoLock && memcmp(&locks->locks[i].locktag, &tag, sizeof(tag)) == 0;
	pfree(locks->locks);
	pfree(locks);
	return wanted;
}

/* Does somebody wait until nobody is connected to the database? */
static bool
database_is_wanted(const GenieLoader *loader)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, loader->database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

/* Of GenieSegment: shall the load end? */
static bool
stops(void *arg)
{
	GenieLoader *loader = arg;
	TimestampTz now;
	bool		stop;

	CHECK_FOR_INTERRUPTS();
	GENIE_FAULT("loader-page");
	if (ShutdownRequestPending)
		return true;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(loader->looked_at, now, LOOK_MS))
		return false;
	loader->looked_at = now;
	stop = index_is_wanted(loader) || database_is_wanted(loader);
	InvalidateCatalogSnapshot();	/* looking may have read catalogs */
	return stop;
}

/* Opens the index that has this file now, without waiting.  NULL: none, or somebody is about to change it. */
static Relation
open_index(const GenieImageKey *key)
{
	Oid			oid = RelidByRelfilenumber(key->tablespace, key->storage);
	Relation	index;

	if (!OidIsValid(oid) || !ConditionalLockRelationOid(oid, AccessShareLock))
		return NULL;
	index = try_relation_open(oid, NoLock);
	if (index == NULL)
		return NULL;
	if (index->rd_rel->relkind == RELKIND_INDEX && index->rd_rel->relam == get_index_am_oid("genie", true) &&
		index->rd_index->indisready &&
		!(RecoveryInProgress() && index->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT))
		return index;
	relation_close(index, NoLock);
	return NULL;
}

/* Loads an image, in a transaction of its own. */
static void
load(GenieLoader *loader, const GenieWanted *wanted)
{
	Relation	index;

	StartTransactionCommand();
	index = open_index(&wanted->key);
	InvalidateCatalogSnapshot();	/* opening has read catalogs */
	if (index != NULL)
	{
		loader->index = RelationGetRelid(index);
		loader->looked_at = 0;
		pgstat_report_activity(STATE_RUNNING, psprintf("loading an image of genie index \"%s\"",
													   RelationGetRelationName(index)));
		genie_image_cache_load(index, &wanted->key, wanted->evict, (uint32) wanted->number, stops, loader);
		relation_close(index, NoLock);
	}
	CommitTransactionCommand();
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* ---- the process ---- */

/* Takes the loader's place.  False: it was given to another, because this process came so late. */
static bool
enter(GenieLoader *loader, uint64 id)
{
	GenieLoaderPlace *place = &shared->places[loader->place];
	bool		is_mine;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	is_mine = place->id == id;
	if (is_mine)
	{
		place->is_started = true;
		loader->database = place->database;
	}
	LWLockRelease(&shared->lock);
	return is_mine;
}

/* What the loader had taken is done, one way or another.  Under the lock. */
static void
drop_taken(uint32 place)
{
	for (uint32 i = 0; i < shared->n_wanted; i++)
		if (shared->wanted[i].loader == place + 1)
		{
			remove_wanted(&shared->wanted[i]);
			return;
		}
}

/*
 * Takes what goes first in the database.  False: nothing, the settings want fewer loaders, or something more urgent
 * waits elsewhere.
 */
static bool
take(const GenieLoader *loader, GenieWanted *taken)
{
	GenieWanted *mine;
	GenieWanted *other;
	uint32		free_place;
	uint32		n;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	shared->places[loader->place].is_connected = true;
	drop_taken(loader->place);
	n = count_loaders(&free_place);
	mine = first_waiting(loader->database);
	other = first_waiting(InvalidOid);
	if (n > (uint32) genie_loaders ||
		(n == (uint32) genie_loaders && mine != NULL && other != NULL && other->evict > mine->evict))
		mine = NULL;
	if (mine != NULL)
	{
		mine->loader = loader->place + 1;
		*taken = *mine;
	}
	LWLockRelease(&shared->lock);
	ConditionVariableBroadcast(&shared->done);
	return mine != NULL;
}

/* On the way out, whatever the reason.  In a database that lets nobody in, nothing is wanted any more. */
static void
leave(int code, Datum arg)
{
	uint32		own = DatumGetUInt32(arg);
	GenieLoaderPlace *place = &shared->places[own];

	LWLockReleaseAll();			/* an ERROR may have left one held */
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	drop_taken(own);
	for (uint32 i = shared->n_wanted; !place->is_connected && i-- > 0;)
		if (shared->wanted[i].loader == 0 && shared->wanted[i].key.database == place->database)
			remove_wanted(&shared->wanted[i]);
	place->id = 0;
	LWLockRelease(&shared->lock);
	ConditionVariableBroadcast(&shared->done);
	if (!ShutdownRequestPending)
		(void) start_loader();
}

void
genie_loader_main(Datum arg)
{
	GenieLoader loader = {.place = DatumGetUInt32(arg)};
	GenieWanted taken;
	uint64		id;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	memcpy(&id, MyBgworkerEntry->bgw_extra, sizeof(id));
	if (!enter(&loader, id))
		proc_exit(0);
	before_shmem_exit(leave, arg);
	BackgroundWorkerInitializeConnectionByOid(loader.database, InvalidOid, 0);
	SetConfigOption("lock_timeout", LOCK_TIMEOUT_MS, PGC_SUSET, PGC_S_OVERRIDE);
	while (!ShutdownRequestPending && take(&loader, &taken))
	{
		(void) start_loader();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		load(&loader, &taken);
	}
	proc_exit(0);
}

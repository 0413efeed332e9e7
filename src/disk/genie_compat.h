/*
 * genie_compat.h
 *	  Differences between PostgreSQL 15, 16, 17 and 18.  The only file that looks at PG_VERSION_NUM.
 *
 * The code is written as PostgreSQL 18 spells things.  Here, older versions learn that spelling.  What cannot be
 * spelled alike has a name that begins with GENIE_.
 *
 * It is installed, and the other installed headers include it: they compile with every version.
 */
#ifndef GENIE_COMPAT_H
#define GENIE_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "genie needs PostgreSQL 15 or later"
#endif

#include "access/genam.h"
#include "catalog/pg_class.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/rel.h"

#if PG_VERSION_NUM >= 160000
#include "utils/relfilenumbermap.h"
#include "varatt.h"
#else
#include "utils/relfilenodemap.h"
#define RelidByRelfilenumber(tablespace, number) RelidByRelfilenode((tablespace), (number))
#define object_ownercheck(catalog, oid, role) pg_class_ownercheck((oid), (role))
#endif

#if PG_VERSION_NUM >= 160000
#define GENIE_SMGR_LOCATOR(smgr) ((smgr)->smgr_rlocator.locator)
#define GENIE_REL_TABLESPACE(rel) ((rel)->rd_locator.spcOid)
#define GENIE_REL_DATABASE(rel) ((rel)->rd_locator.dbOid)
#define GENIE_REL_STORAGE(rel) ((rel)->rd_locator.relNumber)
#define GENIE_REL_FILE(rel) ((rel)->rd_locator)
#define GENIE_TAG_IS_OF(tag, rel) BufTagMatchesRelFileLocator(&(tag), &(rel)->rd_locator)
#else
#define GENIE_SMGR_LOCATOR(smgr) ((smgr)->smgr_rnode.node)
#define GENIE_REL_TABLESPACE(rel) ((rel)->rd_node.spcNode)
#define GENIE_REL_DATABASE(rel) ((rel)->rd_node.dbNode)
#define GENIE_REL_STORAGE(rel) ((rel)->rd_node.relNode)
#define GENIE_REL_FILE(rel) ((rel)->rd_node)
#define GENIE_TAG_IS_OF(tag, rel) RelFileNodeEquals((tag).rnode, (rel)->rd_node)
#endif

/*
 * Extends a relation by n blocks of zeroes, from 16 on at once; then there may be fewer, where there are few buffers.
 * Returns the first one, and how many.
 */
static inline BlockNumber
genie_extend_relation(Relation relation, uint32 n, uint32 *extended)
{
	BlockNumber first = InvalidBlockNumber;
#if PG_VERSION_NUM >= 160000
	Buffer	   *buffers = palloc(n * sizeof(Buffer));

	first = ExtendBufferedRelBy(BMR_REL(relation), MAIN_FORKNUM, NULL, 0, n, buffers, extended);
	for (uint32 i = 0; i < *extended; i++)
		ReleaseBuffer(buffers[i]);
	pfree(buffers);
#else
	bool		lock = !RELATION_IS_LOCAL(relation);

	if (lock)
		LockRelationForExtension(relation, ExclusiveLock);
	for (uint32 i = 0; i < n; i++)
	{
		Buffer		buffer = ReadBuffer(relation, P_NEW);

		if (i == 0)
			first = BufferGetBlockNumber(buffer);
		ReleaseBuffer(buffer);
	}
	if (lock)
		UnlockRelationForExtension(relation, ExclusiveLock);
	*extended = n;
#endif
	return first;
}

#if PG_VERSION_NUM < 170000
#define AmAutoVacuumWorkerProcess() IsAutoVacuumWorkerProcess()
#define MyProcNumber (MyProc->pgprocno)
#define GENIE_HAS_ALLOC_ZERO_ALIGNED
#endif

/* Does old_snapshot_threshold apply?  For users of utils/snapmgr.h. */
#if PG_VERSION_NUM >= 170000
#define GENIE_SNAPSHOTS_GET_OLD false
#else
#define GENIE_SNAPSHOTS_GET_OLD OldSnapshotThresholdActive()
#endif

/* the process of a virtual transaction; NULL: it is gone */
#if PG_VERSION_NUM >= 170000
#include "storage/procarray.h"
#define GENIE_PROC_OF(vxid) ProcNumberGetProc((vxid).procNumber)
#else
#include "storage/sinvaladt.h"
#define GENIE_PROC_OF(vxid) BackendIdGetProc((vxid).backendId)
#endif

/* What a process waits for has a name from 17 on.  For users of utils/wait_event.h. */
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name) ((void) (name), PG_WAIT_EXTENSION)
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#define index_beginscan(heap, index, snapshot, instrument, n_keys, n_orderbys) \
	index_beginscan((heap), (index), (snapshot), (n_keys), (n_orderbys))
#define vacuum_delay_point(is_analyze) vacuum_delay_point()
#endif

/* Copies the path of a relation's main fork, of MAXPGPATH bytes at most.  For users of common/relpath.h. */
#if PG_VERSION_NUM >= 180000
#define GENIE_RELATION_PATH(path, tablespace, database, storage) \
	strlcpy((path), GetRelationPath((database), (tablespace), (storage), -1, MAIN_FORKNUM).str, MAXPGPATH)
#else
#define GENIE_RELATION_PATH(path, tablespace, database, storage) \
	do { \
		char	   *relation_path_ = GetRelationPath((database), (tablespace), (storage), -1, MAIN_FORKNUM); \
		strlcpy((path), relation_path_, MAXPGPATH); \
		pfree(relation_path_); \
	} while (0)
#endif

/*
 * Keeps the planner from an index path, whatever other paths are disabled.  From 18 on the planner compares numbers of
 * disabled nodes before it compares costs; few plans have so many nodes.
 */
#if PG_VERSION_NUM >= 180000
#define GENIE_FORBID_PATH(index_path) ((index_path)->path.disabled_nodes += 1 << 16)
#else
#define GENIE_FORBID_PATH(index_path) ((void) 0)
#endif

/* How many elements an array expression has, as far as the planner knows.  For users of utils/selfuncs.h. */
#if PG_VERSION_NUM >= 170000
#define GENIE_ARRAY_LENGTH(root, array) estimate_array_length(root, array)
#else
#define GENIE_ARRAY_LENGTH(root, array) estimate_array_length(array)
#endif

/* Counts a search of the scan's index; EXPLAIN shows how many there were.  For users of access/relscan.h. */
#if PG_VERSION_NUM >= 180000
#define GENIE_COUNT_SEARCH(scan) ((scan)->instrument == NULL ? (void) 0 : (void) (scan)->instrument->nsearches++)
#else
#define GENIE_COUNT_SEARCH(scan) ((void) 0)
#endif

/* Can an extension add to what EXPLAIN shows of a plan's node? */
#if PG_VERSION_NUM >= 180000
#define GENIE_HAS_EXPLAIN_HOOK
#endif

/* May VACUUM truncate a table with these options (StdRdOptions, or NULL)?  For users of utils/rel.h. */
#if PG_VERSION_NUM >= 180000
#define GENIE_VACUUM_TRUNCATES(options) \
	((options) != NULL && (options)->vacuum_truncate_set ? (options)->vacuum_truncate : vacuum_truncate)
#else
#define GENIE_VACUUM_TRUNCATES(options) ((options) == NULL || (options)->vacuum_truncate)
#endif

#endif							/* GENIE_COMPAT_H */

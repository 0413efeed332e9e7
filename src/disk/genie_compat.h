/*
 * genie_compat.h
 *	  Differences between PostgreSQL versions.  The only file that looks at PG_VERSION_NUM.
 */
#ifndef GENIE_COMPAT_H
#define GENIE_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "genie needs PostgreSQL 15 or later"
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

#endif							/* GENIE_COMPAT_H */

/*
 * genie_access.c
 *	  Opening an index for a function that searches it (genie_access.h): may the user read what it would tell, and
 *	  does the index answer for this transaction?
 *
 * The executor checks this for a statement.  A function that takes an index by name must check it itself.
 *
 * Partitions.  As in a statement, privileges and policies are those of the table that is named, here by its index, and
 * those of its partitions do not matter.  Whether an index answers for this transaction is asked of each partition's.
 *
 * Locks.  AccessShareLock on the table, then on the index, as a statement takes them.  The planner locks partitions in
 * the order of their bounds, each partitioned one before its own, and so does genie_access_open_parts(), with the
 * index of each leaf behind it.  Indexes of partitioned tables that are not named are not opened: they cannot be
 * dropped without a lock on their table.  All are held until the call closes them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "genie_access.h"

#define GENIE_NAMES_MAX 8		/* names of indexes in a message */

/*
 * A partitioned index has no pages: its partitions' indexes, at whatever depth, have.  instead: a function that takes
 * it; NULL: there is none.
 */
static void
report_partitioned(Relation index, const char *instead)
{
	List	   *children = find_all_inheritors(RelationGetRelid(index), NoLock, NULL);
	StringInfoData names;
	ListCell   *cell;
	int			n = 0;

	initStringInfo(&names);
	foreach(cell, children)
	{
		char	   *name = get_rel_relkind(lfirst_oid(cell)) == RELKIND_INDEX ? get_rel_name(lfirst_oid(cell)) : NULL;

		if (name == NULL)
			continue;			/* itself, or dropped meanwhile */
		if (n++ < GENIE_NAMES_MAX)
			appendStringInfo(&names, "%s\"%s\"", n > 1 ? ", " : "", name);
	}
	if (n > GENIE_NAMES_MAX)
		appendStringInfoString(&names, " and others");
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is a partitioned index", RelationGetRelationName(index)),
			 n == 0 ? errhint("Its table has no partitions.") :
			 instead != NULL ? errhint("Use %s, or name the index of a partition: %s.", instead, names.data) :
			 errhint("Name the index of a partition: %s.", names.data)));
}

/* An index of genie's, or a partitioned one. */
static Relation
open_any(Oid oid, LOCKMODE mode)
{
	Relation	index = relation_open(oid, mode);

	if ((index->rd_rel->relkind != RELKIND_INDEX &&
		 index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX) ||
		index->rd_rel->relam != get_index_am_oid("genie", false))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a genie index", RelationGetRelationName(index)),
				 errhint("Name an index that was made with CREATE INDEX ... USING genie.")));
	return index;
}

/* It is no partitioned index. */
static void
check_built(Relation index)
{
	if (!index->rd_index->indisready)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not built yet", RelationGetRelationName(index)),
				 errhint("Wait for CREATE INDEX CONCURRENTLY, or drop what a failed one left.")));
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
}

static Relation
open_plain(Oid oid, LOCKMODE mode, const char *instead)
{
	Relation	index = open_any(oid, mode);

	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		report_partitioned(index, instead);
	check_built(index);
	return index;
}

Relation
genie_access_open_index(Oid oid, LOCKMODE mode)
{
	return open_plain(oid, mode, NULL);
}

/* SELECT on the table, or on all columns that the index is made of. */
static bool
may_read(Relation heap, Relation index)
{
	Oid			table = RelationGetRelid(heap);
	Oid			user = GetUserId();
	Bitmapset  *columns = NULL;
	int			column = -1;

	if (pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < index->rd_index->indnatts; i++)
		if (index->rd_index->indkey.values[i] != 0)
			columns = bms_add_member(columns,
									 index->rd_index->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &columns);
	pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &columns);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	number = column + FirstLowInvalidHeapAttributeNumber;

		if (number == InvalidAttrNumber ?
			pg_attribute_aclcheck_all(table, user, ACL_SELECT, ACLMASK_ALL) != ACLCHECK_OK :
			pg_attribute_aclcheck(table, number, user, ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return !bms_is_empty(columns);
}

static void
check_access(Relation heap, Relation index)
{
	if (!may_read(heap, index))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(heap));

	/* counts and distances of rows that a policy hides would tell what they contain */
	if (check_enable_rls(RelationGetRelid(heap), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot search index \"%s\": row-level security applies to table \"%s\"",
						RelationGetRelationName(index), RelationGetRelationName(heap)),
				 errhint("Use SELECT ... ORDER BY ..., which the table's policies filter.")));
}

/* Older versions of rows that were updated in place are not in an index that was built later. */
static bool
has_older_versions(Relation index)
{
	return !index->rd_index->indcheckxmin ||
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin);
}

bool
genie_access_serves(Relation index)
{
	return index->rd_index->indisvalid && has_older_versions(index);
}

/* The planner leaves such indexes alone, too. */
static void
check_usable(Relation heap, Relation index)
{
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
				 errhint("Wait for CREATE INDEX CONCURRENTLY to end, or use REINDEX INDEX if it has failed.")));
	if (!has_older_versions(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" cannot be used by this transaction yet", RelationGetRelationName(index)),
				 errdetail("Rows that older transactions may see were updated in place before it was built."),
				 errhint("Search in a transaction that begins when those have ended.")));
	if (RecoveryInProgress() && !RelationIsPermanent(heap))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	if (!OidIsValid(index->rd_opfamily[0]))
		elog(ERROR, "index \"%s\" has no operator family", RelationGetRelationName(index));
}

/* The table of an index that is not open yet; NULL: it is no index, as opening it will say. */
static Relation
open_table(Oid index_oid)
{
	Oid			table = IndexGetRelation(index_oid, true);

	return OidIsValid(table) ? table_open(table, AccessShareLock) : NULL;
}

/* The index may have gone before its table was locked. */
static void
check_table(Relation heap, Relation index)
{
	if (heap == NULL || IndexGetRelation(RelationGetRelid(index), true) != RelationGetRelid(heap))
		elog(ERROR, "could not open the table of index \"%s\"", RelationGetRelationName(index));
}

static void
open_both(Oid index_oid, const char *instead, Relation *heap, Relation *index)
{
	*heap = open_table(index_oid);
	*index = open_plain(index_oid, AccessShareLock, instead);
	check_table(*heap, *index);
}

void
genie_access_open_both(Oid index_oid, Relation *heap, Relation *index)
{
	open_both(index_oid, NULL, heap, index);
}

void
genie_access_open(Oid index_oid, const char *instead, Relation *heap, Relation *index)
{
	open_both(index_oid, instead, heap, index);
	check_access(*heap, *index);
	check_usable(*heap, *index);
}

void
genie_access_close(Relation heap, Relation index)
{
	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
}

/* ---- partitions ---- */

/* A table without partitions, and its index. */
static void
add_leaf(GenieAccessParts *parts, Relation heap, Relation index)
{
	GenieAccessPart *leaf = palloc(sizeof(GenieAccessPart));

	check_usable(heap, index);
	*leaf = (GenieAccessPart) {heap, index};
	parts->leaves = lappend(parts->leaves, leaf);
}

/* The index of a partition that is attached to an index of its parent. */
static Oid
find_attached(Relation partition, Oid of_parent)
{
	Oid			index;

	if (partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot search partition \"%s\": it is a foreign table", RelationGetRelationName(partition)),
				 errhint("Use SELECT ... ORDER BY ... LIMIT, or name the indexes of the other partitions.")));
	index = index_get_partition(partition, of_parent);
	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" has no index that is attached to \"%s\"", RelationGetRelationName(partition),
						get_rel_name(of_parent)),
				 errhint("Create one like it on the partition, and use ALTER INDEX ... ATTACH PARTITION.")));
	return index;
}

/* Opens the partitions of a table, and theirs; index is the table's. */
static void
open_partitions(GenieAccessParts *parts, Relation table, Oid index)
{
	PartitionDesc partitions = RelationGetPartitionDesc(table, true);

	check_stack_depth();
	for (int i = 0; i < partitions->nparts; i++)
	{
		Relation	partition = try_table_open(partitions->oids[i], AccessShareLock);
		Relation	leaf_index;
		Oid			attached;

		CHECK_FOR_INTERRUPTS();
		if (partition == NULL)
			continue;			/* detached and dropped meanwhile */
		parts->opened = lcons(partition, parts->opened);
		attached = find_attached(partition, index);
		if (partition->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		{
			open_partitions(parts, partition, attached);
			continue;
		}
		leaf_index = genie_access_open_index(attached, AccessShareLock);
		parts->opened = lcons(leaf_index, parts->opened);
		add_leaf(parts, partition, leaf_index);
	}
}

void
genie_access_open_parts(Oid index_oid, GenieAccessParts *parts)
{
	Relation	heap = open_table(index_oid);
	Relation	index = open_any(index_oid, AccessShareLock);

	check_table(heap, index);
	check_access(heap, index);
	*parts = (GenieAccessParts) {.opened = list_make2(index, heap)};
	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		open_partitions(parts, heap, index_oid);
	else
	{
		check_built(index);
		add_leaf(parts, heap, index);
	}
}

void
genie_access_close_parts(GenieAccessParts *parts)
{
	ListCell   *cell;

	foreach(cell, parts->opened)
		relation_close(lfirst(cell), AccessShareLock);
	list_free_deep(parts->leaves);
	list_free(parts->opened);
}

/*
 * genie_ask.c
 *	  Asking an index, or a table's statistics, while a query is planned (genie_ask.h).
 *
 * Who may know.  As for PostgreSQL's own statistics, rights are those on the table that the query names, which a
 * partition is a part of, and row-level security and security barriers forbid it.
 *
 * Locks.  The planner locked the table's indexes when it read the catalogs, and holds these locks.
 *
 * Errors.  A table must be readable without its index where that is damaged, or has another version's format.  So an
 * index is asked in a subtransaction (genie_subtransaction.h), and an error is no answer.  Cancelling is passed on.  In
 * a parallel operation there are no subtransactions, and so no answers.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/parallel.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"

#include "genie_ask.h"
#include "genie_subtransaction.h"

/* ---- who may know ---- */

/* Adds to *above the columns of the parent that those of the child are. */
static void
add_parent_columns(const AppendRelInfo *child, const Bitmapset *columns, Bitmapset **above)
{
	int			column = -1;

	while ((column = bms_next_member(columns, column)) >= 0)
	{
		int			number = column + FirstLowInvalidHeapAttributeNumber;

		if (number > 0 && number <= child->num_child_cols && child->parent_colnos[number - 1] != 0)
			number = child->parent_colnos[number - 1];
		*above = bms_add_member(*above, number - FirstLowInvalidHeapAttributeNumber);
	}
}

bool
genie_ask_is_readable(PlannerInfo *root, const RelOptInfo *rel, Node *expression)
{
	Index		relid = rel->relid;
	Bitmapset  *columns = NULL;
	RangeTblEntry *entry;
	Oid			user;
	int			column = -1;

	pull_varattnos(expression, relid, &columns);
	while (root->append_rel_array != NULL && root->append_rel_array[relid] != NULL)
	{
		const AppendRelInfo *child = root->append_rel_array[relid];
		Bitmapset  *above = NULL;

		if (planner_rt_fetch(child->parent_relid, root)->rtekind != RTE_RELATION)
			break;
		add_parent_columns(child, columns, &above);
		columns = above;
		relid = child->parent_relid;
	}
	entry = planner_rt_fetch(relid, root);
	user = root->simple_rel_array[relid]->userid;
	if (!OidIsValid(user))
		user = GetUserId();
	if (entry->securityQuals != NIL)
		return false;
	if (pg_class_aclcheck(entry->relid, user, ACL_SELECT) == ACLCHECK_OK)
		return true;
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	number = (AttrNumber) (column + FirstLowInvalidHeapAttributeNumber);

		if (number == InvalidAttrNumber ?
			pg_attribute_aclcheck_all(entry->relid, user, ACL_SELECT, ACLMASK_ALL) != ACLCHECK_OK :
			pg_attribute_aclcheck(entry->relid, number, user, ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return !bms_is_empty(columns);
}

/* ---- asking ---- */

typedef struct GenieQuestion
{
	Oid			index_oid;
	GenieAsk	ask;
	void	   *arg;
	double		answer;			/* -1: none */
} GenieQuestion;

static void
open_and_ask(void *arg)
{
	GenieQuestion *question = arg;
	Relation	index = index_open(question->index_oid, NoLock);

	if (index->rd_rel->relkind == RELKIND_INDEX && !ReindexIsProcessingIndex(question->index_oid))
		question->answer = question->ask(index, question->arg);
	index_close(index, NoLock);
}

double
genie_ask_index(Oid index_oid, GenieAsk ask, void *arg)
{
	GenieQuestion question = {index_oid, ask, arg, -1};
	ErrorData  *error;

	if (IsInParallelMode())
		return -1;
	error = genie_subtransaction_run(open_and_ask, &question, GENIE_SUBTRANSACTION_COMMIT);
	if (error == NULL)
		return question.answer;
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		ReThrowError(error);
	FreeErrorData(error);
	return -1;
}

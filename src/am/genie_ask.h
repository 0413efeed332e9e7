/*
 * genie_ask.h
 *	  Asking an index, or a table's statistics, while a query is planned.
 */
#ifndef GENIE_ASK_H
#define GENIE_ASK_H

#include "nodes/pathnodes.h"
#include "utils/rel.h"

/*
 * May the query's user read the value of the relation's expression in all rows?  Otherwise EXPLAIN must not depend on
 * what these rows have.
 */
extern bool genie_ask_is_readable(PlannerInfo *root, const RelOptInfo *rel, Node *expression);

/* Asks an open index; the answer is not negative, or -1: there is none. */
typedef double (*GenieAsk) (Relation index, void *arg);

/* Opens the index, which the planner has locked, and asks it.  -1: there is no answer, or it failed. */
extern double genie_ask_index(Oid index_oid, GenieAsk ask, void *arg);

#endif							/* GENIE_ASK_H */

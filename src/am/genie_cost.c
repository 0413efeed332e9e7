/*
 * genie_cost.c
 *	  Costs of an index scan, for the planner.
 *
 * Before the first row, a scan reads the posting lists of its queries and goes over all objects once
 * a query: that is the startup cost.  Each further row costs little in a bitmap.  But a ranked row
 * is taken from its level alone, and its heap page is looked up and locked for it alone.  Together with
 * the heap visits, which the planner adds (uncorrelated, because TIDs come in count order), this decides
 * between the index, good for a LIMIT, and a sequential scan with a sort, good for the whole table.
 *
 * When rows are ordered by a distance, the index returns lower bounds, and the executor computes the operators for each
 * row again: they are paid per row.  How many more rows than the LIMIT it must look at depends on how close the
 * bounds are, which is not known beforehand; exact bounds, as for sets, need none.
 *
 * With an approximate operator class, a scan looks up its first round of candidates (genie_rerank.h) before it returns
 * a row, and computes the operators for each: those are startup costs.  A row beyond that round is looked up once for
 * its round and once for the executor, whose visit the planner adds.  So a small LIMIT pays for candidates, however
 * large the table is.
 *
 * Without an ordering operator or a condition the index has nothing to offer.  Such a path can arise from a partial
 * index's predicate; its cost rules it out.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "genie_candidates.h"
#include "genie_cost.h"
#include "genie_opclass.h"

/* the share of the index that a query reads, a guess: its lists, a path through the dictionary, tombstones */
#define GENIE_QUERY_SHARE 0.1

/* counting an object, as a part of an operator call: some thousand objects a microsecond */
#define GENIE_COUNT_COST (cpu_operator_cost / 50)

/*
 * Returning a ranked row, in operator calls.  Measured with 400,000 cached rows: the first tenth of
 * them takes a sixth of the time of a sequential scan with its sort; all of them take about as long as that.
 */
#define GENIE_RANKED_ROW_COST (40 * cpu_operator_cost)

/* far above disable_cost; finite, because the planner subtracts costs from each other */
#define GENIE_DISABLED_COST 1.0e100

/* The cost of looking up n rows anywhere in the table, and of computing the ORDER BY operators for each. */
static Cost
genie_cost_candidates(PlannerInfo *root, const IndexPath *path, double n)
{
	const IndexOptInfo *index = path->indexinfo;
	double		page_cost;
	QualCost	operators;

	get_tablespace_page_costs(index->rel->reltablespace, &page_cost, NULL);
	cost_qual_eval(&operators, path->indexorderbys, root);
	return index_pages_fetched(n, index->rel->pages, index->pages, root) * page_cost +
		n * (cpu_tuple_cost + operators.per_tuple);
}

static bool
genie_cost_is_approximate(const IndexOptInfo *index)
{
	return OidIsValid(get_opfamily_proc(index->opfamily[0], index->opcintype[0], index->opcintype[0],
										GENIE_TRAIN_PROC));
}

void
genie_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
				   double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	int			n_queries = list_length(path->indexclauses) + list_length(path->indexorderbys);
	List	   *quals;
	double		n_pages;
	Cost		row_cost = cpu_index_tuple_cost + cpu_operator_cost;

	*correlation = 0;
	if (n_queries == 0)
	{
		*startup_cost = *total_cost = GENIE_DISABLED_COST;
		*selectivity = 1;
		*pages = index->pages;
		return;
	}
	quals = add_predicate_to_index_quals(index, get_quals_from_indexclauses(path->indexclauses));
	*selectivity = clauselist_selectivity(root, quals, index->rel->relid, JOIN_INNER, NULL);

	n_pages = 1 + ceil(index->pages * Min(1.0, GENIE_QUERY_SHARE * n_queries));
	*pages = n_pages;
	*startup_cost = n_pages * seq_page_cost +
		n_queries * (index->tuples * GENIE_COUNT_COST + 10 * cpu_operator_cost);
	if (path->indexorderbys != NIL)
	{
		row_cost += GENIE_RANKED_ROW_COST;
		if (genie_cost_is_approximate(index))
		{
			double		n_first = Min(genie_candidates_for(index->tuples), index->tuples);
			Cost		first = genie_cost_candidates(root, path, n_first);

			*startup_cost += first;
			row_cost += (genie_cost_candidates(root, path, index->tuples) - first) / Max(index->tuples, 1);
		}
		else if (list_length(path->indexorderbys) > 1 || exprType(linitial(path->indexorderbys)) != INT4OID)
		{
			QualCost	recheck;

			cost_qual_eval(&recheck, path->indexorderbys, root);
			row_cost += recheck.per_tuple;
		}
	}
	*total_cost = *startup_cost + *selectivity * index->tuples * row_cost;
}

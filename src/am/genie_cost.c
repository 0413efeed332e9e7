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
 * When rows are ordered by a distance, or by an index that is coarse, a scan must look at more rows than it returns:
 * they are looked up in the table, in batches by TID, and the operators are computed for each.  Those that are needed
 * for the first rows are startup costs.  The executor's visit of a row that is returned, which the planner adds, comes
 * on top.
 *
 *	- An approximate operator class looks at its first round of candidates (genie_rerank.h).
 *	- An exact class reads the values of all rows, which are most of the index, and looks at few rows more than are
 *	  wanted; by a bit a dimension, at more, and if every error is allowed for, at a large part.
 *	- Otherwise rows are looked at while their bounds are not above the distance of the last row that is wanted.
 *	  How many that takes depends on the data and on the query.  Where more than a few rows are wanted, it is
 *	  estimated from the column's statistics (genie_estimate_visits.c); else bounds are taken to be close, as they
 *	  are for sets.
 *
 * How many rows are wanted is the LIMIT divided by the share of rows that the query's other conditions leave, since
 * rows that these drop have been looked at in vain.  Where there is no LIMIT, or it is one of a join, one row is.
 *
 * Without an ordering operator or a condition the index has nothing to offer.  Such a path can arise from a partial
 * index's predicate; its cost rules it out.  So it does where an exact class would have to look for any of several
 * balls.
 */
#include "postgres.h"

#include <math.h>

#include "access/skey.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "genie_approximate.h"
#include "genie_ask.h"
#include "genie_candidates.h"
#include "genie_compat.h"
#include "genie_cost.h"
#include "genie_estimate.h"
#include "genie_learned.h"
#include "genie_meta.h"
#include "genie_opclass.h"
#include "genie_pivots.h"
#include "genie_rerank.h"
#include "genie_value_order.h"
#include "genie_vector_value.h"

/* the share of the index that a query reads, a guess: its lists, a path through the dictionary, tombstones */
#define GENIE_QUERY_SHARE 0.1

/*
 * A scan of an exact class reads all of the index, which takes less than a table's pages would: nothing but bytes to
 * multiply, or no pages at all where the worker has them.  Measured: 100,000 rows of 128 dimensions in 3.5 ms from
 * pages, and by a sequential scan in 40 ms.  It visits so many rows more than are wanted: bounds are close.
 */
#define GENIE_EXACT_PAGE_SHARE 0.25
#define GENIE_EXACT_MORE 16

/* The same of vectors with a bit a dimension: measured, 40 to 400; the share of rows if all errors are allowed for. */
#define GENIE_RABITQ_MORE 150
#define GENIE_RABITQ_SHARE 0.5
#define GENIE_RABITQ_STRICT 8.0 /* so many are nearly all */

/* the share of rows that bounds by pivots leave, where nothing is known */
#define GENIE_PIVOTS_SHARE 0.3

/* counting an object, as a part of an operator call: some thousand objects a microsecond */
#define GENIE_COUNT_COST (cpu_operator_cost / 50)

/*
 * Returning a ranked row, in operator calls.  Measured with 400,000 cached rows: the first tenth of
 * them takes a sixth of the time of a sequential scan with its sort; all of them take about as long as that.
 * Candidates of a distance are ranked rows too; with this, small tables of vectors are scanned sequentially up to
 * 500 rows or so (test/bench/small_vectors.sql).
 */
#define GENIE_RANKED_ROW_COST (40 * cpu_operator_cost)

/* far above disable_cost; finite, because the planner subtracts costs from each other */
#define GENIE_DISABLED_COST 1.0e100

/*
 * Visits are estimated if so many rows are wanted, from so many values of the column's statistics, 1 to 5 us each.
 * Fewer rows may all be variants of the query's value, however far other rows are.
 */
#define GENIE_VISITS_WANTED 500
#define GENIE_SAMPLE_MAX 100

/*
 * The cost of looking up n rows in batches, each in TID order, and of computing the ORDER BY operators for each.
 * The more pages are visited, the more follow each other on disk, as in a bitmap scan.
 */
static Cost
genie_cost_candidates(PlannerInfo *root, const IndexPath *path, double n)
{
	const IndexOptInfo *index = path->indexinfo;
	double		n_pages = index_pages_fetched(n, index->rel->pages, index->pages, root);
	double		page_cost;
	double		next_page_cost;
	QualCost	operators;

	get_tablespace_page_costs(index->rel->reltablespace, &page_cost, &next_page_cost);
	if (n_pages >= 2)
		page_cost -= (page_cost - next_page_cost) * Min(sqrt(n_pages / Max(index->rel->pages, 1)), 1);
	cost_qual_eval(&operators, path->indexorderbys, root);
	return n_pages * page_cost + n * (cpu_tuple_cost + operators.per_tuple);
}

/* Has the operator class that support function? */
static bool
genie_cost_has(const IndexOptInfo *index, int16 number)
{
	return OidIsValid(get_opfamily_proc(index->opfamily[0], index->opcintype[0], index->opcintype[0], number));
}

static bool
genie_cost_is_coarse(const IndexOptInfo *index)
{
	return genie_class_is_coarse(index->opfamily[0], index->opcintype[0]);
}

static bool
genie_cost_is_approximate(const IndexOptInfo *index)
{
	return genie_cost_has(index, GENIE_SIGN_PROC) && !genie_cost_is_coarse(index);
}

bool
genie_cost_is_exact(const IndexOptInfo *index)
{
	return genie_cost_has(index, GENIE_TRAIN_PROC) && !genie_cost_has(index, GENIE_SIGN_PROC);
}

/* ---- visits of a scan by lower bounds ---- */

typedef struct VisitsQuestion
{
	const OpExpr *order;
	int16		strategy;
	double		share;			/* of the rows that are wanted */
	const Datum *sample;
	int			n;
} VisitsQuestion;

static double
genie_cost_ask_visits(Relation index, void *arg)
{
	const VisitsQuestion *question = arg;
	const Node *query = lsecond(question->order->args);
	Oid			left;
	Oid			right;
	ScanKeyData order;

	op_input_types(question->order->opno, &left, &right);
	/* an unknown query is taken to be like the indexed values */
	ScanKeyEntryInitialize(&order, 0, 1, question->strategy, right, question->order->inputcollid,
						   get_opcode(question->order->opno),
						   IsA(query, Const) ? ((const Const *) query)->constvalue : question->sample[question->n / 2]);
	return genie_estimate_visits(index, &order, question->sample, question->n, question->share);
}

/* How many of n rows must be looked at for those that are wanted, by the first ORDER BY operator. */
static double
genie_cost_visits(PlannerInfo *root, const IndexPath *path, double wanted, double n)
{
	IndexOptInfo *index = path->indexinfo;
	OpExpr	   *order = linitial(path->indexorderbys);
	VisitsQuestion question = {.order = order, .share = wanted / n};
	VariableStatData column;
	AttStatsSlot values;
	Datum		sample[GENIE_SAMPLE_MAX];
	Node	   *query;
	int			strategy;
	Oid			left;
	Oid			right;
	double		share = -1;

	if (!IsA(order, OpExpr) || index->hypothetical || wanted < GENIE_VISITS_WANTED)
		return wanted;
	get_op_opfamily_properties(order->opno, index->opfamily[0], true, &strategy, &left, &right);
	query = lsecond(order->args);
	if (strategy < GENIE_DISTANCE_STRATEGY || strategy == GENIE_JACCARD_STRATEGY ||
		(IsA(query, Const) ? ((Const *) query)->constisnull : left != right))
		return wanted;
	question.strategy = (int16) strategy;
	examine_variable(root, linitial(order->args), 0, &column);
	if (HeapTupleIsValid(column.statsTuple) && genie_ask_is_readable(root, index->rel, linitial(order->args)) &&
		get_attstatsslot(&values, column.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
	{
		question.n = Min(values.nvalues, GENIE_SAMPLE_MAX);
		for (int i = 0; i < question.n; i++)
			sample[i] = values.values[(int64) i * values.nvalues / question.n];
		question.sample = sample;
		if (question.n >= GENIE_SAMPLE_MIN)
			share = genie_ask_index(index->indexoid, genie_cost_ask_visits, &question);
		free_attstatsslot(&values);
	}
	ReleaseVariableStats(column);
	return share < 0 ? wanted : share * n;
}

static double
genie_cost_ask_pivots(Relation index, void *arg)
{
	GenieMetaData *meta = genie_meta_read(index);
	bytea	   *parameters = genie_learned_parameters(index, meta);

	return parameters == NULL ? 1 : genie_pivots_info(parameters).share;
}

static double
genie_cost_ask_rabitq(Relation index, void *arg)
{
	return genie_rabitq_index(index);
}

/* How many rows more than are wanted a scan of an exact class looks at, or of one that has values alone. */
static double
genie_cost_exact_more(const IndexOptInfo *index)
{
	if (genie_cost_has(index, GENIE_METRIC_PROC))
	{
		double		share = index->hypothetical ? -1 : genie_ask_index(index->indexoid, genie_cost_ask_pivots, NULL);

		return GENIE_EXACT_MORE + (share < 0 ? GENIE_PIVOTS_SHARE : share) * index->tuples;
	}
	if (index->hypothetical || genie_ask_index(index->indexoid, genie_cost_ask_rabitq, NULL) <= 0)
		return GENIE_EXACT_MORE;
	return genie_strict_order || genie_rabitq_epsilon >= GENIE_RABITQ_STRICT ?
		GENIE_RABITQ_SHARE * index->tuples : GENIE_RABITQ_MORE;
}

/* How many of the n rows that fulfil the index's conditions the query wants, as far as that is known. */
static double
genie_cost_wanted(PlannerInfo *root, const IndexOptInfo *index, double n)
{
	double		wanted = 1;

	if (root->limit_tuples > 0 && bms_membership(root->all_baserels) == BMS_SINGLETON)
		wanted = root->limit_tuples * Max(n / Max(index->rel->rows, 1), 1);
	return Min(wanted, n);
}

/* Is a clause x @& ANY (array)? */
static bool
genie_cost_is_any(const IndexClause *clause)
{
	return IsA(clause->rinfo->clause, ScalarArrayOpExpr);
}

static bool
genie_cost_has_any(const IndexPath *path)
{
	ListCell   *cell;

	foreach(cell, path->indexclauses)
		if (genie_cost_is_any(lfirst(cell)))
		return true;
	return false;
}

/* How many queries the index's conditions are made of. */
static double
genie_cost_conditions(PlannerInfo *root, const IndexPath *path)
{
	double		n = 0;
	ListCell   *cell;

	foreach(cell, path->indexclauses)
	{
		const IndexClause *clause = lfirst(cell);

		n += !genie_cost_is_any(clause) ? 1 :
			GENIE_ARRAY_LENGTH(root, lsecond(((const ScalarArrayOpExpr *) clause->rinfo->clause)->args));
	}
	return n;
}

void
genie_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
				   double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	double		n_queries = genie_cost_conditions(root, path) + list_length(path->indexorderbys);
	List	   *quals;
	double		n_pages;
	Cost		row_cost = cpu_index_tuple_cost + cpu_operator_cost;

	*correlation = 0;
	if (n_queries == 0 || (genie_cost_is_exact(index) && genie_cost_has_any(path)))
	{
		GENIE_FORBID_PATH(path);
		*startup_cost = *total_cost = GENIE_DISABLED_COST;
		*selectivity = 1;
		*pages = index->pages;
		return;
	}
	quals = add_predicate_to_index_quals(index, get_quals_from_indexclauses(path->indexclauses));
	*selectivity = clauselist_selectivity(root, quals, index->rel->relid, JOIN_INNER, NULL);

	n_pages = 1 + ceil(index->pages * (genie_cost_is_exact(index) ? GENIE_EXACT_PAGE_SHARE :
									   Min(1.0, GENIE_QUERY_SHARE * n_queries)));
	*pages = n_pages;
	*startup_cost = n_pages * seq_page_cost +
		n_queries * (index->tuples * GENIE_COUNT_COST + 10 * cpu_operator_cost);
	if (path->indexorderbys != NIL)
	{
		row_cost += GENIE_RANKED_ROW_COST;
		if (list_length(path->indexorderbys) > 1 || exprType(linitial(path->indexorderbys)) != INT4OID ||
			genie_cost_is_coarse(index))
		{
			double		n_rows = *selectivity * index->tuples;
			double		n_first = genie_cost_wanted(root, index, n_rows);
			Cost		first;

			if (genie_cost_is_approximate(index))
				n_first = Min(genie_candidates_for(index->tuples), n_rows);
			else if (genie_cost_is_exact(index))
				n_first = Min(n_first + genie_cost_exact_more(index), n_rows);
			else
				n_first = genie_cost_visits(root, path, n_first, n_rows);
			first = genie_cost_candidates(root, path, n_first);
			*startup_cost += first + n_first * GENIE_RANKED_ROW_COST;
			row_cost += (genie_cost_candidates(root, path, n_rows) - first) / Max(n_rows, 1);
		}
	}
	*total_cost = *startup_cost + *selectivity * index->tuples * row_cost;
}

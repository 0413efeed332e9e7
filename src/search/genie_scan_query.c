/*
 * genie_scan_query.c
 *	  Scan keys, compiled (genie_scan_query.h).
 */
#include "postgres.h"

#include "access/genam.h"

#include "genie_approximate.h"
#include "genie_opclass.h"
#include "genie_query.h"
#include "genie_scan_query.h"
#include "genie_set_class.h"

const GenieQuery *
genie_scan_compile(Relation index, const ScanKeyData *key, const bytea *parameters)
{
	FmgrInfo   *compile = index_getprocinfo(index, key->sk_attno, GENIE_COMPILE_PROC);
	Datum		strategy = Int16GetDatum(key->sk_strategy);
	Datum		subtype = ObjectIdGetDatum(key->sk_subtype);
	Datum		operand = genie_set_operand(index, key->sk_subtype, key->sk_argument);
	Datum		query;

	if (genie_learns(index))
		query = FunctionCall4Coll(compile, key->sk_collation, operand, strategy, subtype,
								  PointerGetDatum(parameters));
	else
		query = FunctionCall3Coll(compile, key->sk_collation, operand, strategy, subtype);
	return DatumGetGenieQuery(query);
}

/* Do they ask for the same keywords? */
static bool
genie_scan_same_intervals(const GenieQuery *a, const GenieQuery *b)
{
	return a->n == b->n && VARSIZE(a) == VARSIZE(b) &&
		memcmp(a->body, b->body, VARSIZE(a) - offsetof(GenieQuery, body)) == 0;
}

void
genie_scan_add_threshold(GenieScanQuery *to, Relation index, bool is_ordered, const GenieQuery *query,
						 GenieQueryView *view)
{
	bool		same;

	if (!genie_bound_knows(index, (int16) view->distance_strategy))
	{
		to->conditions[to->n_conditions++] = view;
		return;
	}
	if (!is_ordered && to->order == NULL)
	{
		to->order = view;
		to->bound = genie_bound_begin(index, (int16) view->distance_strategy, query);
	}
	same = to->bound != NULL && to->bound->strategy == view->distance_strategy &&
		genie_scan_same_intervals(to->bound->query, query);
	if (same)
		genie_bound_cut(to->bound, (uint32) view->min_match, view->max_distance);
	else
	{
		GenieBound *bound = genie_bound_begin(index, (int16) view->distance_strategy, query);
		uint32		least = genie_bound_least_count(bound, view->max_distance);

		view->min_match = Max(view->min_match, (int32) least);
		to->conditions[to->n_conditions++] = view;
	}
}

/*
 * genie_scan_query.c
 *	  Scan keys, compiled (genie_scan_query.h).
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "genie_approximate.h"
#include "genie_int_array.h"
#include "genie_int_operand.h"
#include "genie_lsh_class.h"
#include "genie_opclass.h"
#include "genie_query.h"
#include "genie_scan_query.h"
#include "genie_set_class.h"

/* Is the index one of arrays of integers, by their elements? */
static bool
has_integers(Relation index)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), 0)->atttypid;

	return (index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_array_decompose ||
			genie_lsh_class_of_arrays(index)) && genie_int_width(getBaseType(get_base_element_type(type))) != 0;
}

/*
 * The right operand as the class's compile function gets it, which does not know the column's type: where the index is
 * one of arrays of integers (genie_minhash_ops included), the operand's numerics become integers.
 */
static Datum
operand_of(Relation index, Oid subtype, Datum operand)
{
	if (subtype == ANYCOMPATIBLEARRAYOID || !has_integers(index))
		return operand;
	if (subtype == get_func_rettype(index_getprocid(index, 1, GENIE_COMPILE_PROC)))
		return PointerGetDatum(genie_int_operand_query(DatumGetGenieQuery(operand)));
	return PointerGetDatum(genie_int_operand_object(PG_DETOAST_DATUM_PACKED(operand)));
}

const GenieQuery *
genie_scan_compile(Relation index, const ScanKeyData *key, const bytea *parameters)
{
	FmgrInfo   *compile = index_getprocinfo(index, key->sk_attno, GENIE_COMPILE_PROC);
	Datum		strategy = Int16GetDatum(key->sk_strategy);
	Datum		subtype = ObjectIdGetDatum(key->sk_subtype);
	Datum		operand = operand_of(index, key->sk_subtype, key->sk_argument);
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
genie_scan_add_condition(GenieScanQuery *to, const GenieQueryView *view)
{
	GenieScanCondition *condition = &to->conditions[to->n_conditions++];

	condition->n = 1;
	condition->queries = palloc(sizeof(GenieQueryView *));
	condition->queries[0] = view;
}

/* Raises the view's min_match to what an object within the query's threshold must match. */
static void
raise_min_match(Relation index, const GenieQuery *query, GenieQueryView *view)
{
	GenieBound *bound = genie_bound_begin(index, (int16) view->distance_strategy, query);
	uint32		least = genie_bound_least_count(bound, view->max_distance);

	view->min_match = Max(view->min_match, (int32) least);
}

void
genie_scan_add_threshold(GenieScanQuery *to, Relation index, bool is_ordered, const GenieQuery *query,
						 GenieQueryView *view)
{
	bool		same;

	if (!genie_bound_knows(index, (int16) view->distance_strategy))
	{
		genie_scan_add_condition(to, view);
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
		raise_min_match(index, query, view);
		genie_scan_add_condition(to, view);
	}
}

bool
genie_scan_add_any(GenieScanQuery *to, Relation index, bool is_exact, const ScanKeyData *key, const bytea *parameters,
				   bool *recheck)
{
	ArrayType  *array = DatumGetArrayTypeP(key->sk_argument);
	GenieScanCondition *condition = &to->conditions[to->n_conditions];
	int			n_elements = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	ArrayIterator elements = array_create_iterator(array, 0, NULL);
	ScanKeyData one = *key;
	bool		is_null;

	condition->n = 0;
	condition->queries = palloc_extended(n_elements * sizeof(GenieQueryView *), MCXT_ALLOC_HUGE);
	while (array_iterate(elements, &one.sk_argument, &is_null))
	{
		const GenieQuery *query;
		GenieQueryView *view;

		CHECK_FOR_INTERRUPTS();
		if (is_null)
			continue;
		if (is_exact)
		{
			*recheck = true;
			condition->n++;
			continue;
		}
		query = genie_scan_compile(index, &one, parameters);
		view = genie_query_view(query, CurrentMemoryContext);
		if (view->distance_strategy != 0)
		{
			*recheck = true;
			if (genie_bound_knows(index, (int16) view->distance_strategy))
				raise_min_match(index, query, view);
		}
		condition->queries[condition->n++] = view;
	}
	array_free_iterator(elements);
	to->n_conditions += condition->n > 0 && !is_exact;
	return condition->n > 0;
}

/*
 * genie_batch_queries.c
 *	  The array of queries of genie_search() by distance and of genie_within(), and the operator that they are for.
 *
 * Which operator?  The one by which the index's operator class orders rows, with the queries' type on its right.
 *
 * What of the array is a query?  An element, unless rows are arrays themselves, or vectors: then it is a row of an
 * array of two dimensions, or all of one.  Integers of any width are a query for sets of integers, as the operators
 * have it.
 *
 * Vectors become values of the indexed type, if the class is genie's own and nothing is lost: real[] where the class
 * has real[], double precision[] or pgvector's type; double precision[] where it has that.  Integers become vectors,
 * too.  Otherwise they stay, and the class needs an operator with their type on the right: for double precision[] on
 * real[], <->^ and its like.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "genie_approximate.h"
#include "genie_batch_nearest.h"
#include "genie_opclass.h"

/* The base type of the indexed column or expression. */
static Oid
genie_queries_column_type(Relation index)
{
	return getBaseType(TupleDescAttr(RelationGetDescr(index), 0)->atttypid);
}

/*
 * The distance by which the index's operator class orders values against that type; false: there is none.  The type on
 * the operator's right may be another one, as which values of the type pass.
 */
static bool
genie_queries_find_order(GenieBatch *batch, Oid type)
{
	CatCList   *members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(batch->index->rd_opfamily[0]));
	bool		found = false;

	for (int i = 0; i < members->n_members && !found; i++)
	{
		Form_pg_amop member = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		found = member->amoppurpose == AMOP_ORDER && member->amopstrategy >= GENIE_DISTANCE_STRATEGY &&
			(IsPolymorphicType(member->amoprighttype) ? type == genie_queries_column_type(batch->index) :
			 member->amoplefttype == batch->index->rd_opcintype[0] && IsBinaryCoercible(type, member->amoprighttype));
		if (!found)
			continue;
		batch->strategy = (StrategyNumber) member->amopstrategy;
		batch->order_proc = get_opcode(member->amopopr);
		batch->query_type = member->amoprighttype;
	}
	ReleaseSysCacheList(members);
	return found;
}

static bool
genie_queries_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* The same numbers as double precision[]. */
static ArrayType *
genie_queries_widen(ArrayType *array)
{
	Oid			element = ARR_ELEMTYPE(array);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *numbers;
	bool	   *nulls;
	int			n;

	get_typlenbyvalalign(element, &typlen, &typbyval, &typalign);
	deconstruct_array(array, element, typlen, typbyval, typalign, &numbers, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		int64		number = element == INT2OID ? DatumGetInt16(numbers[i]) :
			element == INT4OID ? DatumGetInt32(numbers[i]) : DatumGetInt64(numbers[i]);

		numbers[i] = Float8GetDatum((double) number);
	}
	return construct_md_array(numbers, nulls, ARR_NDIM(array), ARR_DIMS(array), ARR_LBOUND(array), FLOAT8OID,
							  sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

/* Queries are vectors; type: of those that the class is of, NULL: it is of others.  Returns their type. */
static Oid
genie_queries_take_vectors(GenieNearestSearch *search, ArrayType *array, const GenieVectorType *type)
{
	GenieBatch *batch = &search->batch;
	Oid			given = get_array_type(ARR_ELEMTYPE(array));

	search->of_vectors = true;
	search->vectors = genie_vectors_of_queries(array);
	search->type = genie_vector_type_of_array(given);
	batch->n_queries = search->vectors.n;
	if (type == NULL || !(given == type->array || (given == FLOAT4ARRAYOID && type->is_double)))
		return given;
	search->type = type;
	return batch->index->rd_opcintype[0];
}

/* Queries are the rows of an array of one or two dimensions.  Returns their type. */
static Oid
genie_queries_take_rows(GenieNearestSearch *search, ArrayType *array)
{
	if (ARR_NDIM(array) > 2)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the array of queries must have one or two dimensions"),
				 errdetail("It has %d.", ARR_NDIM(array)),
				 errhint("Each row of an array of two dimensions is a query.")));
	search->rows = array;
	search->batch.n_queries = ARR_NDIM(array) == 0 ? 0 : ARR_NDIM(array) == 1 ? 1 : (uint32) ARR_DIMS(array)[0];
	return genie_queries_column_type(search->batch.index);
}

void
genie_queries_open(GenieNearestSearch *search, ArrayType *array)
{
	GenieBatch *batch = &search->batch;
	const GenieVectorType *type = genie_vector_type_of_class(batch->index);
	Oid			element = ARR_ELEMTYPE(array);
	Oid			column = genie_queries_column_type(batch->index);
	Oid			of_column = get_element_type(column);
	Oid			vectors = type != NULL ? type->array : column;
	bool		has_vectors = type != NULL && !type->is_symbols && !type->is_metric;
	Oid			given;

	if (has_vectors && genie_queries_is_integer(element))
	{
		array = genie_queries_widen(array);
		element = FLOAT8OID;
	}
	if ((element == FLOAT4OID || element == FLOAT8OID) && column != element && (has_vectors || of_column != element))
		given = genie_queries_take_vectors(search, array, has_vectors ? type : NULL);
	else if (OidIsValid(of_column) &&
			 (IsBinaryCoercible(element, of_column) ||
			  (genie_queries_is_integer(element) && genie_queries_is_integer(of_column))))
		given = genie_queries_take_rows(search, array);
	else
	{
		genie_batch_read_elements(array, &search->cursor);
		given = element;
		batch->n_queries = search->cursor.n;
	}
	if (genie_queries_find_order(batch, given))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("index \"%s\" does not take queries of type %s", RelationGetRelationName(batch->index),
					format_type_be(given)),
			 errdetail("It is of %s, and its operator class has no distance of these.", format_type_be(column)),
			 search->of_vectors && (vectors == FLOAT4ARRAYOID || vectors == FLOAT8ARRAYOID) ?
			 errhint("Cast the queries to %s.", format_type_be(vectors)) : 0));
}

/* The next vector, as a value of its own. */
static Datum
genie_queries_next_vector(GenieNearestSearch *search)
{
	const GenieVectors *vectors = &search->vectors;
	uint32		n = vectors->n_dimensions;
	Size		nbytes = n * genie_vector_element_bytes(vectors->is_double);
	const char *elements = (const char *) vectors->elements + search->n_next++ * nbytes;
	double	   *wide;
	Datum		query;

	if (vectors->is_double == search->type->is_double)
		return search->type->make(elements, n);
	wide = palloc(n * sizeof(double));
	genie_vector_widen((GenieVector) {elements, n, false}, wide);
	query = search->type->make(wide, n);
	pfree(wide);
	return query;
}

/* The next row, as an array of its own. */
static Datum
genie_queries_next_row(GenieNearestSearch *search)
{
	ArrayType  *array = search->rows;
	int			lower[] = {ARR_LBOUND(array)[0] + (int) search->n_next, ARR_LBOUND(array)[ARR_NDIM(array) - 1]};
	int			upper[] = {lower[0], lower[1] + ARR_DIMS(array)[ARR_NDIM(array) - 1] - 1};
	bool		provided[] = {true, true};
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	if (ARR_NDIM(array) == 1)
		return PointerGetDatum(array);
	search->n_next++;
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	array = DatumGetArrayTypeP(array_get_slice(PointerGetDatum(array), 2, upper, lower, provided, provided, -1, typlen,
											   typbyval, typalign));
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &elements, &nulls, &n);
	return PointerGetDatum(construct_md_array(elements, nulls, 1, &n, &lower[1], ARR_ELEMTYPE(array), typlen, typbyval,
											  typalign));
}

Datum
genie_queries_next(void *owner)
{
	GenieNearestSearch *search = owner;
	Datum		query = (Datum) 0;

	if (search->of_vectors)
		return genie_queries_next_vector(search);
	if (search->rows != NULL)
		return genie_queries_next_row(search);
	genie_array_next(&search->cursor, &query);
	return query;
}

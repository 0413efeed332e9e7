/*
 * genie_criterion.c
 *	  Values, ranges, multiranges and arrays of them as intervals of a query.
 *
 * A row's value meets a criterion that is
 *
 *		a value			if it is equal to it
 *		a range			if the range contains it; a side without a bound is unbounded within the type family
 *		a multirange	if one of its ranges contains it
 *		an array		if it meets one of the elements, each of which is one of the above; NULLs are left out
 *
 * No value meets an empty array, range or multirange.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_array.h"
#include "genie_criterion.h"
#include "genie_text.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"

PG_FUNCTION_INFO_V1(genie_query_from_multirange);

void
genie_criterion_init(GenieCriterion *criterion, uint32 dimension, Oid type, MemoryContext context)
{
	Oid			base = getBaseType(type);

	memset(criterion, 0, sizeof(GenieCriterion));
	criterion->is_array = OidIsValid(get_element_type(base));
	if (criterion->is_array)
	{
		type = get_element_type(base);
		base = getBaseType(type);
		get_typlenbyvalalign(base, &criterion->element.typlen, &criterion->element.typbyval,
							 &criterion->element.typalign);
	}
	criterion->typtype = get_typtype(base);
	if (criterion->typtype == TYPTYPE_MULTIRANGE)
		base = get_multirange_range(base);
	else if (criterion->typtype != TYPTYPE_RANGE)
	{
		genie_attribute_init(&criterion->attribute, dimension, type, context);
		return;
	}
	criterion->range = lookup_type_cache(base, TYPECACHE_RANGE_INFO);
	genie_attribute_init(&criterion->attribute, dimension, criterion->range->rngelemtype->type_id, context);
	if (!GENIE_FAMILY_IS_ORDERED(criterion->attribute.type.family))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("values of type %s cannot be asked for by ranges",
						format_type_be(criterion->range->rngelemtype->type_id)),
				 errdetail("Type family \"%s\" has no order.",
						   genie_family_name(criterion->attribute.type.family))));
}

static void
add_range(GenieCriterion *criterion, const RangeType *range, GenieQueryBuilder *builder)
{
	GenieAttribute *attribute = &criterion->attribute;
	GenieKey	prefix = {attribute->prefix, attribute->prefix_len};
	GenieKey	lo = {NULL, 0};
	GenieKey	hi = {NULL, 0};
	uint8		lo_bytes[GENIE_KEY_MAX];
	uint8		hi_bytes[GENIE_KEY_MAX];
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	range_deserialize(criterion->range, range, &lower, &upper, &empty);
	if (empty)
		return;
	if (!lower.infinite)
		lo = genie_attribute_key(attribute, lower.val, lo_bytes);
	if (!upper.infinite)
		hi = genie_attribute_key(attribute, upper.val, hi_bytes);
	genie_query_add_range(builder, prefix, lo, !lower.inclusive, hi, upper.inclusive);
}

static void
add_multirange(GenieCriterion *criterion, const MultirangeType *multirange, GenieQueryBuilder *builder)
{
	RangeType **ranges;
	int32		n;

	multirange_deserialize(criterion->range, multirange, &n, &ranges);
	for (int32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_range(criterion, ranges[i], builder);
	}
}

static void
add_one(GenieCriterion *criterion, Datum value, GenieQueryBuilder *builder)
{
	uint8		key[GENIE_KEY_MAX];

	if (criterion->typtype == TYPTYPE_RANGE)
		add_range(criterion, DatumGetRangeTypeP(value), builder);
	else if (criterion->typtype == TYPTYPE_MULTIRANGE)
		add_multirange(criterion, DatumGetMultirangeTypeP(value), builder);
	else
		genie_query_add_point(builder, genie_attribute_key(&criterion->attribute, value, key));
}

void
genie_criterion_add(GenieCriterion *criterion, Datum value, GenieQueryBuilder *builder)
{
	GenieArrayCursor cursor;
	Datum		element;

	if (!criterion->is_array)
	{
		add_one(criterion, value, builder);
		return;
	}
	genie_array_begin(&cursor, DatumGetArrayTypeP(value), &criterion->element);
	while (genie_array_next(&cursor, &element))
	{
		CHECK_FOR_INTERRUPTS();
		add_one(criterion, element, builder);
	}
}

/* genie_query(int4multirange), genie_query(int8multirange): a query for array elements within one of the ranges */
Datum
genie_query_from_multirange(PG_FUNCTION_ARGS)
{
	MultirangeType *multirange = PG_GETARG_MULTIRANGE_P(0);
	GenieCriterion criterion;
	GenieQueryBuilder builder;

	genie_criterion_init(&criterion, GENIE_ARRAY_DIMENSION, MultirangeTypeGetOid(multirange), CurrentMemoryContext);
	genie_query_begin(&builder);
	add_multirange(&criterion, multirange, &builder);
	PG_RETURN_POINTER(genie_query_finish(&builder, 1));
}

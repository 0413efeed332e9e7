/*
 * genie_int_operand.c
 *	  Numerics beside an array of integers (genie_int_operand.h).
 *
 * Integers and numerics are two families, whose values never meet, and PostgreSQL casts a column of integers that
 * stands beside a numeric[].  Clients send numeric[] for lists that no bigint[] holds.  So that such a query needs no
 * cast of the column, its keywords are converted, wherever the left operand is known to be an array of integers: by the
 * operators (genie_match.c) and before an index's compile function (genie_set_class.c).
 *
 *		an integer in the range of bigint	the integer's keyword
 *		any other numeric					the same value in dimension GENIE_NO_DIMENSION, which no array has
 *
 * The second kind matches nothing, does not conflict with the integers in dimension 0, and counts among the query's
 * keywords, as a similarity wants it.  So counts and distances are those of the cast.
 *
 * That is for what is made of a numeric[]: all intervals are points, and the first keyword is a numeric of dimension 0.
 * (Keywords ascend, and integers would come before numerics.)
 */
#include "postgres.h"

#include "genie_array.h"
#include "genie_int_operand.h"
#include "genie_object.h"
#include "genie_query.h"
#include "genie_value_bytes.h"
#include "miscadmin.h"

static bool
is_numeric_element(GenieKey key)
{
	return key.data[0] == GENIE_ARRAY_DIMENSION && key.data[1] == GENIE_FAMILY_NUMERIC;
}

/* The converted key, in out (room for GENIE_KEY_MAX), or the key itself. */
static GenieKey
convert(GenieKey key, uint8 *out)
{
	uint32		prefix = genie_key_prefix_len(key);
	GenieKey	result = {out, 0};
	int64		value;

	if (!is_numeric_element(key))
		return key;
	if (genie_value_numeric_integer(key.data + prefix, key.len - prefix, &value))
	{
		result.len = genie_key_put_dimension(out, GENIE_ARRAY_DIMENSION);
		out[result.len++] = GENIE_FAMILY_INT;
		result.len += genie_key_put_int(out + result.len, value);
		return result;
	}
	result.len = genie_key_put_dimension(out, GENIE_NO_DIMENSION);
	memcpy(out + result.len, key.data + prefix - 1, key.len - prefix + 1);
	result.len += key.len - prefix + 1;
	return result;
}

static bool
has_ranges(const GenieQuery *query)
{
	const uint8 *at = query->body;

	for (uint32 i = 0; i < query->n; i++)
	{
		GenieInterval interval = genie_query_next(&at);

		CHECK_FOR_INTERRUPTS();
		if (!genie_interval_is_point(&interval))
			return true;
	}
	return false;
}

const GenieQuery *
genie_int_operand_query(const GenieQuery *query)
{
	const uint8 *at = query->body;
	const uint8 *first = at;
	GenieQueryBuilder builder;
	GenieQuery *result;

	if (query->n == 0 || !is_numeric_element(genie_query_next(&first).lo) || has_ranges(query))
		return query;
	genie_query_begin(&builder);
	for (uint32 i = 0; i < query->n; i++)
	{
		uint8		key[GENIE_KEY_MAX];

		CHECK_FOR_INTERRUPTS();
		genie_query_add_point(&builder, convert(genie_query_next(&at).lo, key));
	}
	result = genie_query_finish(&builder, query->min_match);
	result->distance_strategy = query->distance_strategy;
	result->max_distance = query->max_distance;
	return result;
}

const struct varlena *
genie_int_operand_object(const struct varlena *object)
{
	GenieKeywords keywords;
	uint32		n;
	Size		nbytes;
	const uint8 *at = genie_object_keys(object, &n, &nbytes);
	const uint8 *first = at;

	if (n == 0 || !is_numeric_element(genie_packed_next(&first)))
		return object;
	genie_keywords_init(&keywords);
	for (uint32 i = 0; i < n; i++)
	{
		uint8		key[GENIE_KEY_MAX];

		CHECK_FOR_INTERRUPTS();
		genie_keywords_add(&keywords, convert(genie_packed_next(&at), key));
	}
	genie_keywords_finish(&keywords);
	return (const struct varlena *) genie_object_make(&keywords);
}

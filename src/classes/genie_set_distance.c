/*
 * genie_set_distance.c
 *	  Similarities of sets as SQL functions, the distance <%>, and its bound for the index.
 *
 * Sets are arrays, by their distinct elements, or objects; the distance takes an array and an object, too.  Counting
 * is genie_match.c's; the expressions are those of genie_set_similarity.h.  The bound is exact: (match count, object's
 * size) is all that the distance depends on.
 */
#include "postgres.h"

#include "genie_match.h"
#include "genie_set_similarity.h"

PG_FUNCTION_INFO_V1(genie_set_jaccard_arrays);
PG_FUNCTION_INFO_V1(genie_set_jaccard_objects);
PG_FUNCTION_INFO_V1(genie_set_jaccard_distance_arrays);
PG_FUNCTION_INFO_V1(genie_set_jaccard_distance_array_object);
PG_FUNCTION_INFO_V1(genie_set_jaccard_distance_objects);
PG_FUNCTION_INFO_V1(genie_set_dice_arrays);
PG_FUNCTION_INFO_V1(genie_set_dice_objects);
PG_FUNCTION_INFO_V1(genie_set_cosine_arrays);
PG_FUNCTION_INFO_V1(genie_set_cosine_objects);
PG_FUNCTION_INFO_V1(genie_set_overlap_arrays);
PG_FUNCTION_INFO_V1(genie_set_overlap_objects);

/* of (shared, a, b) */
typedef double (*Measure) (uint32 shared, uint32 a, uint32 b);

/* of an array, and an array or an object */
static pg_attribute_always_inline Datum
measure_array(FunctionCallInfo fcinfo, GenieRightKind right, Measure measure)
{
	GenieMatch	match = genie_match_array(fcinfo, right);

	PG_RETURN_FLOAT8(measure(match.count, match.size, match.query->n_intervals));
}

static pg_attribute_always_inline Datum
measure_objects(FunctionCallInfo fcinfo, Measure measure)
{
	GenieMatch	match = genie_match_object(fcinfo, GENIE_RIGHT_OBJECT);

	PG_RETURN_FLOAT8(measure(match.count, match.size, match.query->n_intervals));
}

Datum
genie_set_jaccard_arrays(PG_FUNCTION_ARGS)
{
	return measure_array(fcinfo, GENIE_RIGHT_ARRAY, genie_jaccard_similarity);
}

Datum
genie_set_jaccard_objects(PG_FUNCTION_ARGS)
{
	return measure_objects(fcinfo, genie_jaccard_similarity);
}

Datum
genie_set_jaccard_distance_arrays(PG_FUNCTION_ARGS)
{
	return measure_array(fcinfo, GENIE_RIGHT_ARRAY, genie_jaccard_distance);
}

Datum
genie_set_jaccard_distance_array_object(PG_FUNCTION_ARGS)
{
	return measure_array(fcinfo, GENIE_RIGHT_OBJECT, genie_jaccard_distance);
}

Datum
genie_set_jaccard_distance_objects(PG_FUNCTION_ARGS)
{
	return measure_objects(fcinfo, genie_jaccard_distance);
}

Datum
genie_set_dice_arrays(PG_FUNCTION_ARGS)
{
	return measure_array(fcinfo, GENIE_RIGHT_ARRAY, genie_dice_similarity);
}

Datum
genie_set_dice_objects(PG_FUNCTION_ARGS)
{
	return measure_objects(fcinfo, genie_dice_similarity);
}

Datum
genie_set_cosine_arrays(PG_FUNCTION_ARGS)
{
	return measure_array(fcinfo, GENIE_RIGHT_ARRAY, genie_cosine_similarity);
}

Datum
genie_set_cosine_objects(PG_FUNCTION_ARGS)
{
	return measure_objects(fcinfo, genie_cosine_similarity);
}

Datum
genie_set_overlap_arrays(PG_FUNCTION_ARGS)
{
	return measure_array(fcinfo, GENIE_RIGHT_ARRAY, genie_overlap_similarity);
}

Datum
genie_set_overlap_objects(PG_FUNCTION_ARGS)
{
	return measure_objects(fcinfo, genie_overlap_similarity);
}

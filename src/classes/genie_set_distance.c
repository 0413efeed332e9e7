/*
 * genie_set_distance.c
 *	  Similarities of sets as SQL functions, and the distance <%>.  (Its bound for the index is in genie_set_class.c.)
 *
 * A set is an array, by its distinct elements, or an object.  The distance also takes an array and an object.
 * genie_match.c counts; genie_set_similarity.h has the expressions.
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

/* An expression of genie_set_similarity.h. */
typedef double (*Measure) (uint32 shared, uint32 a, uint32 b);

/* The measure of an array, and of an array or an object. */
static pg_attribute_always_inline Datum
measure_array(FunctionCallInfo fcinfo, GenieRightKind right, Measure measure)
{
	GenieMatch	match = genie_match_array(fcinfo, right);

	PG_RETURN_FLOAT8(measure(match.count, match.size, match.query->n_intervals));
}

/* The measure of two objects. */
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

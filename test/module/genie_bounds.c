/*
 * genie_bounds.c
 *	  The support function bound() of an operator class whose distance and bounds a test chooses.
 *
 * The distance of two objects is the number of keywords that are in one of them only.  Parameters of the class make its
 * bound smaller than that, so that the executor has to sort, or break the contract of genie_opclass.h in each possible
 * way.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "genie_opclass.h"
#include "utils/float.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(genie_bounds_bound);
PG_FUNCTION_INFO_V1(genie_bounds_options);

typedef struct BoundsOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			slack;			/* by how much the bound is smaller than the distance */
	int			fault;			/* BoundsFault */
} BoundsOptions;

typedef enum BoundsFault
{
	FAULT_NONE,
	FAULT_NULL,
	FAULT_NAN,
	FAULT_COUNT,				/* grows with the match count */
	FAULT_SIZE,					/* falls with the size */
	FAULT_ABOVE					/* above the distance */
} BoundsFault;

Datum
genie_bounds_bound(PG_FUNCTION_ARGS)
{
	GenieQuery *query = (GenieQuery *) PG_GETARG_POINTER(1);
	int32		count = PG_GETARG_INT32(2);
	int32		size = PG_GETARG_INT32(3);
	float8		distance = (float8) query->n + size - 2 * count;
	BoundsOptions *options;

	if (!PG_HAS_OPCLASS_OPTIONS())
		PG_RETURN_FLOAT8(distance);
	options = (BoundsOptions *) PG_GET_OPCLASS_OPTIONS();
	switch ((BoundsFault) options->fault)
	{
		case FAULT_NONE:
			break;
		case FAULT_NULL:
			PG_RETURN_NULL();
		case FAULT_NAN:
			PG_RETURN_FLOAT8(get_float8_nan());
		case FAULT_COUNT:
			PG_RETURN_FLOAT8(count);
		case FAULT_SIZE:
			PG_RETURN_FLOAT8(-size);
		case FAULT_ABOVE:
			PG_RETURN_FLOAT8(distance + 1);
	}
	PG_RETURN_FLOAT8(Max(distance - options->slack, 0));
}

Datum
genie_bounds_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(BoundsOptions));
	add_local_int_reloption(options, "slack", "By how much the bound is smaller than the distance.",
							0, 0, 1000, offsetof(BoundsOptions, slack));
	add_local_int_reloption(options, "fault", "How the bound breaks its contract.",
							FAULT_NONE, FAULT_NONE, FAULT_ABOVE, offsetof(BoundsOptions, fault));
	PG_RETURN_VOID();
}

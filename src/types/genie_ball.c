/*
 * genie_ball.c
 *	  Balls: taking them apart (genie_ball.h).
 *
 * ALTER TYPE can change a composite type, although the extension owns it.  Attributes behind the first two are ignored.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "genie_ball.h"

#define N_ATTRIBUTES 2

void
genie_ball_check(TupleDesc descriptor, Oid center_type, Oid radius_type)
{
	if (descriptor->natts < N_ATTRIBUTES || TupleDescAttr(descriptor, 0)->atttypid != center_type ||
		TupleDescAttr(descriptor, 1)->atttypid != radius_type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("attributes of type %s have been altered", format_type_be(descriptor->tdtypeid)),
				 errhint("Create extension genie again.")));
}

Datum
genie_ball_parts(Datum ball, Oid center_type, Oid radius_type, Datum *radius)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(ball);
	Oid			type = HeapTupleHeaderGetTypeId(row);
	TupleDesc	descriptor = lookup_rowtype_tupdesc(type, HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row};
	Datum	   *values = palloc(descriptor->natts * sizeof(Datum));
	bool	   *nulls = palloc(descriptor->natts * sizeof(bool));

	genie_ball_check(descriptor, center_type, radius_type);
	heap_deform_tuple(&tuple, descriptor, values, nulls);
	ReleaseTupleDesc(descriptor);
	if (nulls[0] || nulls[1])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain NULL", format_type_be(type))));
	*radius = values[1];
	return values[0];
}

PG_FUNCTION_INFO_V1(genie_ball_radius);

/*
 * genie_ball_radius(ball anyelement) returns float8: of a composite value of a centre and a radius, which are
 * checked, for conditions that are written in SQL.
 */
Datum
genie_ball_radius(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	TupleDesc	descriptor = lookup_rowtype_tupdesc_noerror(type, -1, true);
	Oid			center_type;
	double		radius;

	if (descriptor == NULL || descriptor->natts < N_ATTRIBUTES)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s is not a type of a center and a radius", format_type_be(type))));
	center_type = TupleDescAttr(descriptor, 0)->atttypid;
	ReleaseTupleDesc(descriptor);
	(void) genie_ball_float8_parts(PG_GETARG_DATUM(0), center_type, &radius);
	PG_RETURN_FLOAT8(radius);
}

Datum
genie_ball_float8_parts(Datum ball, Oid center_type, double *radius)
{
	Datum		datum;
	Datum		center = genie_ball_parts(ball, center_type, FLOAT8OID, &datum);

	*radius = DatumGetFloat8(datum);
	if (!(*radius >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("radius must not be negative or NaN")));
	return center;
}

/*
 * genie_ball.h
 *	  Balls, the right operands of conditions on a distance: composite values of a centre and a radius.
 */
#ifndef GENIE_BALL_H
#define GENIE_BALL_H

#include "access/tupdesc.h"
#include "fmgr.h"

/* Error: ALTER TYPE has changed a type whose first two attributes were of these types. */
extern void genie_ball_check(TupleDesc descriptor, Oid center_type, Oid radius_type);

/*
 * The centre and the radius of a value whose type has attributes of these types, centre and radius first.  What is not
 * passed by value is in the current memory context, or part of ball.  Errors: one of them is NULL; ALTER TYPE has
 * changed them.  Whether a radius makes sense is the caller's to check.
 */
extern Datum genie_ball_parts(Datum ball, Oid center_type, Oid radius_type, Datum *radius);

/* The same of a radius that is a float8.  Error: it is negative, or NaN. */
extern Datum genie_ball_float8_parts(Datum ball, Oid center_type, double *radius);

#endif							/* GENIE_BALL_H */

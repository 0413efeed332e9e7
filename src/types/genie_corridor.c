/*
 * genie_corridor.c
 *	  Trajectories: the corridor along a track, as boxes for an index and as an exact test.
 *
 * A track is points of the earth's surface, each with a time, in the order of time.  Between two points the *eye* moves
 * along the great circle, the shorter way, at a constant speed.  A row (latitude, longitude, time) is in the corridor
 * if there is a time of the track, no more than `after` before the row's and no more than `before` after it, at which
 * the eye was no more than `radius` away.  Angles are degrees, also that distance; durations are exact: a day has 24
 * hours.
 *
 * genie_in_corridor() tests that: of each leg, the arc that the eye flew at such times, and the distance from it.
 *
 * genie_corridor() covers the corridor by boxes in latitude, longitude and time, each a query over genie_tuple(lat,
 * lon, t) that wants all three.  Each leg is cut into pieces.  All of a piece lies within half of its length from its
 * middle, so its part of the corridor is in the cap around the middle with that much more than the radius.  A cap's box
 * is exact: a cap with a pole inside has all longitudes, one that crosses 180 degrees has two intervals of them.  Boxes
 * are wider by GENIE_CORRIDOR_SLACK than the numbers say, which is far more than rounding.
 *
 * After Krcal, whose masks are such boxes (thesis, chapter 3).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "genie_query.h"
#include "genie_value.h"

#define GENIE_CORRIDOR_SLACK 1e-9	/* degrees */
#define GENIE_CORRIDOR_SLACK_US 2

/* a piece is as long as the radius, but within these degrees: shorter ones make many boxes, longer ones wide ones */
#define GENIE_CORRIDOR_PIECE_MIN 0.1
#define GENIE_CORRIDOR_PIECE_MAX 5.0

#define GENIE_DEGREES (180 / M_PI)

PG_FUNCTION_INFO_V1(genie_cartesian);
PG_FUNCTION_INFO_V1(genie_corridor);
PG_FUNCTION_INFO_V1(genie_in_corridor);

/* A direction from the earth's center, of length 1. */
typedef struct GenieDirection
{
	double		x;
	double		y;
	double		z;
} GenieDirection;

typedef struct GenieTrack
{
	int			n;
	const float8 *lat;
	const float8 *lon;
	const TimestampTz *t;
	double		radius;			/* degrees */
	int64		before;			/* us */
	int64		after;
} GenieTrack;

/* From one point of the track to the next: an arc in the plane of from and across. */
typedef struct GenieLeg
{
	GenieDirection from;
	GenieDirection across;		/* at a right angle to from, on the side of the leg's end */
	GenieDirection normal;		/* of that plane */
	double		angle;			/* of the arc, radians */
	TimestampTz begin;
	TimestampTz end;
} GenieLeg;

/* ---- directions ---- */

static GenieDirection
direction_of(double lat, double lon)
{
	double		in_plane = cos(lat / GENIE_DEGREES);

	return (GenieDirection) {in_plane * cos(lon / GENIE_DEGREES), in_plane * sin(lon / GENIE_DEGREES),
		sin(lat / GENIE_DEGREES)};
}

static double
dot(GenieDirection a, GenieDirection b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static GenieDirection
cross(GenieDirection a, GenieDirection b)
{
	return (GenieDirection) {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static GenieDirection
scaled(GenieDirection a, double factor)
{
	return (GenieDirection) {a.x * factor, a.y * factor, a.z * factor};
}

/* The angle between two directions, radians. */
static double
angle_of(GenieDirection a, GenieDirection b)
{
	GenieDirection c = cross(a, b);

	return atan2(sqrt(dot(c, c)), dot(a, b));
}

/* ---- arguments ---- */

static bool
is_place(double lat, double lon)
{
	return lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180;
}

static void
check_place(double lat, double lon)
{
	if (!is_place(lat, lon))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("latitude %g, longitude %g is no place on earth", lat, lon),
				 errhint("Latitudes are from -90 to 90 degrees, longitudes from -180 to 180.")));
}

static int64
duration_of(const Interval *interval, const char *name)
{
	int64		us;

	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must not have months or years", name),
				 errhint("Say it in days or hours.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &us) || pg_add_s64_overflow(us, interval->time, &us) ||
		us > END_TIMESTAMP / 2)
		ereport(ERROR,
				(errcode(ERRCODE_INTERVAL_FIELD_OVERFLOW),
				 errmsg("\"%s\" is too long", name)));
	if (us < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must not be negative", name)));
	return us;
}

static ArrayType *
check_array(ArrayType *array, int n)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the arrays of a track must have one dimension")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the arrays of a track must not contain nulls")));
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the arrays of a track must have the same length")));
	return array;
}

/* The track in six arguments from number `first` on. */
static GenieTrack
get_track(FunctionCallInfo fcinfo, int first)
{
	ArrayType  *lat = PG_GETARG_ARRAYTYPE_P(first);
	ArrayType  *lon = PG_GETARG_ARRAYTYPE_P(first + 1);
	ArrayType  *t = PG_GETARG_ARRAYTYPE_P(first + 2);
	GenieTrack	track = {.n = ArrayGetNItems(ARR_NDIM(lat), ARR_DIMS(lat)), .radius = PG_GETARG_FLOAT8(first + 3)};

	track.lat = (const float8 *) ARR_DATA_PTR(check_array(lat, track.n));
	track.lon = (const float8 *) ARR_DATA_PTR(check_array(lon, track.n));
	track.t = (const TimestampTz *) ARR_DATA_PTR(check_array(t, track.n));
	track.before = duration_of(PG_GETARG_INTERVAL_P(first + 4), "before");
	track.after = duration_of(PG_GETARG_INTERVAL_P(first + 5), "after");
	if (!(track.radius >= 0 && track.radius <= 180))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the radius must be from 0 to 180 degrees")));
	for (int i = 0; i < track.n; i++)
	{
		check_place(track.lat[i], track.lon[i]);
		if (TIMESTAMP_NOT_FINITE(track.t[i]) || (i > 0 && track.t[i] < track.t[i - 1]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("times of a track must be finite, and ascend")));
	}
	return track;
}

/* ---- legs ---- */

/* A track of n points has n - 1 legs; one of a single point has one. */
static int
count_legs(const GenieTrack *track)
{
	return track->n > 1 ? track->n - 1 : track->n;
}

static GenieLeg
get_leg(const GenieTrack *track, int i)
{
	int			next = i + 1 < track->n ? i + 1 : i;
	GenieDirection from = direction_of(track->lat[i], track->lon[i]);
	GenieDirection to = direction_of(track->lat[next], track->lon[next]);
	GenieDirection normal = cross(from, to);
	double		length = sqrt(dot(normal, normal));
	GenieLeg	leg = {.from = from, .angle = atan2(length, dot(from, to)), .begin = track->t[i],
		.end = track->t[next]};

	if (length > 1e-12)
	{
		leg.normal = scaled(normal, 1 / length);
		leg.across = cross(leg.normal, from);
		return leg;
	}
	if (leg.angle > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("points %d and %d of a track are opposite to each other", i + 1, next + 1),
				 errhint("Name a point between them.")));
	leg.angle = 0;
	return leg;
}

/* Where the leg is after an angle. */
static GenieDirection
place_of(const GenieLeg *leg, double angle)
{
	GenieDirection a = scaled(leg->from, cos(angle));
	GenieDirection b = scaled(leg->across, sin(angle));

	return (GenieDirection) {a.x + b.x, a.y + b.y, a.z + b.z};
}

/* The distance from a part of the leg, radians. */
static double
distance_of(const GenieLeg *leg, double first, double last, GenieDirection place)
{
	double		along = atan2(dot(place, leg->across), dot(place, leg->from));
	double		a;
	double		b;

	if (leg->angle > 0 && along >= first && along <= last)
		return atan2(fabs(dot(place, leg->normal)), hypot(dot(place, leg->from), dot(place, leg->across)));
	a = angle_of(place, place_of(leg, first));
	b = angle_of(place, place_of(leg, last));
	return Min(a, b);
}

/* t + us, within what a timestamp can be. */
static TimestampTz
moved(TimestampTz t, int64 us)
{
	TimestampTz result;

	if (pg_add_s64_overflow(t, us, &result))
		result = us < 0 ? MIN_TIMESTAMP : END_TIMESTAMP - 1;
	return Max(Min(result, END_TIMESTAMP - 1), MIN_TIMESTAMP);
}

/* ---- functions ---- */

/* genie_cartesian(lat float8, lon float8): x, y and z of the place on a sphere of radius 1, as float8[] */
Datum
genie_cartesian(PG_FUNCTION_ARGS)
{
	double		lat = PG_GETARG_FLOAT8(0);
	double		lon = PG_GETARG_FLOAT8(1);
	GenieDirection place = direction_of(lat, lon);
	Datum		elements[] = {Float8GetDatum(place.x), Float8GetDatum(place.y), Float8GetDatum(place.z)};

	check_place(lat, lon);
	PG_RETURN_ARRAYTYPE_P(construct_array(elements, 3, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/*
 * genie_in_corridor(lat float8, lon float8, t timestamptz, track_lat float8[], track_lon float8[], track_t
 * timestamptz[], radius float8, before interval, after interval)
 */
Datum
genie_in_corridor(PG_FUNCTION_ARGS)
{
	double		lat = PG_GETARG_FLOAT8(0);
	double		lon = PG_GETARG_FLOAT8(1);
	TimestampTz t = PG_GETARG_TIMESTAMPTZ(2);
	GenieTrack	track = get_track(fcinfo, 3);
	GenieDirection place = direction_of(lat, lon);

	if (!is_place(lat, lon) || TIMESTAMP_NOT_FINITE(t))
		PG_RETURN_BOOL(false);
	for (int i = 0; i < count_legs(&track); i++)
	{
		int			next = Min(i + 1, track.n - 1);
		TimestampTz first = Max(track.t[i], moved(t, -track.after));
		TimestampTz last = Min(track.t[next], moved(t, track.before));
		GenieLeg	leg;
		double		us;

		if (first > last)
			continue;
		leg = get_leg(&track, i);
		us = (double) leg.end - (double) leg.begin;
		if (distance_of(&leg, us > 0 ? leg.angle * ((double) (first - leg.begin) / us) : 0,
						us > 0 ? leg.angle * ((double) (last - leg.begin) / us) : leg.angle, place) *
			GENIE_DEGREES <= track.radius)
			PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(false);
}

/* What boxes are made of: the attributes of genie_tuple(lat, lon, t). */
typedef struct GenieBoxMaker
{
	GenieAttribute lat;
	GenieAttribute lon;
	GenieAttribute t;
} GenieBoxMaker;

static void
add_side(GenieQueryBuilder *builder, GenieAttribute *attribute, Datum from, Datum to)
{
	GenieKey	prefix = {attribute->prefix, attribute->prefix_len};
	uint8		from_bytes[GENIE_KEY_MAX];
	uint8		to_bytes[GENIE_KEY_MAX];

	genie_query_add_range(builder, prefix, genie_attribute_key(attribute, from, from_bytes), false,
						  genie_attribute_key(attribute, to, to_bytes), true);
}

static void
add_longitudes(GenieQueryBuilder *builder, GenieAttribute *attribute, double from, double to)
{
	add_side(builder, attribute, Float8GetDatum(from), Float8GetDatum(to));
}

/* The box of the cap around a place, of that radius in degrees, from one time to another. */
static Datum
make_box(GenieBoxMaker *maker, GenieDirection middle, double radius, TimestampTz from, TimestampTz to)
{
	double		lat = atan2(middle.z, hypot(middle.x, middle.y)) * GENIE_DEGREES;
	double		lon = atan2(middle.y, middle.x) * GENIE_DEGREES;
	double		half = 180;		/* of the longitudes */
	GenieQueryBuilder builder;

	genie_query_begin(&builder);
	add_side(&builder, &maker->lat, Float8GetDatum(Max(lat - radius, -90)), Float8GetDatum(Min(lat + radius, 90)));
	if (fabs(lat) + radius < 90)
		half = asin(Min(sin(radius / GENIE_DEGREES) / cos(lat / GENIE_DEGREES), 1)) * GENIE_DEGREES +
			GENIE_CORRIDOR_SLACK;
	if (half >= 180)
		add_longitudes(&builder, &maker->lon, -180, 180);
	else
	{
		add_longitudes(&builder, &maker->lon, Max(lon - half, -180), Min(lon + half, 180));
		if (lon - half < -180)
			add_longitudes(&builder, &maker->lon, lon - half + 360, 180);
		if (lon + half > 180)
			add_longitudes(&builder, &maker->lon, -180, lon + half - 360);
	}
	add_side(&builder, &maker->t, TimestampTzGetDatum(from), TimestampTzGetDatum(to));
	return PointerGetDatum(genie_query_finish(&builder, 3));
}

/* Adds the boxes of a leg. */
static ArrayBuildState *
add_boxes(ArrayBuildState *boxes, GenieBoxMaker *maker, const GenieTrack *track, int i, Oid type)
{
	GenieLeg	leg = get_leg(track, i);
	double		length = leg.angle * GENIE_DEGREES;
	double		piece = Min(Max(track->radius, GENIE_CORRIDOR_PIECE_MIN), GENIE_CORRIDOR_PIECE_MAX);
	int			n = Max((int) ceil(length / piece), 1);
	double		us = (double) leg.end - (double) leg.begin;

	for (int k = 0; k < n; k++)
	{
		int64		from = us > 0 ? (int64) floor(us * k / n) : 0;
		int64		to = us > 0 ? (int64) ceil(us * (k + 1) / n) : 0;

		TimestampTz begin = moved(leg.begin, from - GENIE_CORRIDOR_SLACK_US);
		TimestampTz end = moved(leg.begin, to + GENIE_CORRIDOR_SLACK_US);
		Datum		box = make_box(maker, place_of(&leg, leg.angle * (k + 0.5) / n),
								   track->radius + length / n / 2 + GENIE_CORRIDOR_SLACK,
								   moved(begin, -track->before), moved(end, track->after));

		CHECK_FOR_INTERRUPTS();
		boxes = accumArrayResult(boxes, box, false, type, CurrentMemoryContext);
	}
	return boxes;
}

/*
 * genie_corridor(lat float8[], lon float8[], t timestamptz[], radius float8, before interval, after interval) returns
 * genie_query[]
 */
Datum
genie_corridor(PG_FUNCTION_ARGS)
{
	GenieTrack	track = get_track(fcinfo, 0);
	Oid			type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
	ArrayBuildState *boxes = NULL;
	GenieBoxMaker maker;

	genie_attribute_init(&maker.lat, 1, FLOAT8OID, CurrentMemoryContext);
	genie_attribute_init(&maker.lon, 2, FLOAT8OID, CurrentMemoryContext);
	genie_attribute_init(&maker.t, 3, TIMESTAMPTZOID, CurrentMemoryContext);
	for (int i = 0; i < count_legs(&track); i++)
		boxes = add_boxes(boxes, &maker, &track, i, type);
	if (boxes == NULL)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(type));
	PG_RETURN_DATUM(makeArrayResult(boxes, CurrentMemoryContext));
}

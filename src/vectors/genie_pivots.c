/*
 * genie_pivots.c
 *	  Operator classes of a metric (genie_pivots.h).
 *
 *		genie_NAME_ops		any type	an operator of the user's, by the distance function that is support function 7
 *
 * genie_create_metric() makes them (genie_metric.c).  All that genie knows of a type is its distance function d, and
 * of that, that it is a metric.  So an index learns *pivots*, some values of a sample of the rows
 * (math/genie_pivot_choice.h).  A row's value is its distances to them (values/genie_value_scan.c), from which lower
 * bounds of its distance to a query follow.  Like other exact classes, these have no keywords.  Scans rank rows by
 * their bounds, and visit them in that order; the operator judges each.
 *
 * Who calls d?  It is a function of a user, so it runs where those of indexes on expressions do: for an inserted row,
 * by whoever inserts it; for a query, by whoever asks; in builds, and where an index learns, by whoever does that,
 * which VACUUM does as the table's owner.  The worker never does.
 *
 * Rows in the pending list.  Once there are pivots, an insert computes a row's distances to them, and the list has
 * these: a vector of doubles like those of genie_lsh_class.c.  Before, it has the value itself, in pieces of bytes:
 * its length (uint32), padding of 4 bytes that is not zero, then the value.  The merge that learns computes the
 * distances.  A row that was inserted meanwhile, by somebody who did not know of the pivots, has its value in the
 * list still; whoever meets it computes its distances.
 *
 * Parameters, on disk: GenieLshClassParameters (which say how many pivots there are, and that values are distances to
 * them), then behind the first GENIE_PARAMETERS_MAX bytes 4 bytes of padding, a Header, and the pivots, each with its
 * length in 8 bytes before it, and padding to a multiple of 8 bytes behind it.  (Behind a varlena header, that is
 * aligned.)
 *
 * d must be a metric.  Learning looks at some hundred thousand triples, and refuses a function that is none.  What it
 * does not see could hide rows: genie_metric_check() looks at more.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/genam.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

#include "genie_lsh_class.h"
#include "genie_pivot_choice.h"
#include "genie_pivots.h"
#include "genie_value_record.h"
#include "genie_value_scan.h"
#include "genie_vector_value.h"

#define CANDIDATES	128			/* rows of a sample that may become pivots */
#define OBJECTS		256			/* rows to which their distances are computed */
#define MARK		1			/* in the padding before a value */

PG_FUNCTION_INFO_V1(genie_pivots_decompose);
PG_FUNCTION_INFO_V1(genie_pivots_compile);
PG_FUNCTION_INFO_V1(genie_pivots_train);
PG_FUNCTION_INFO_V1(genie_pivots_value);

typedef struct Header
{
	float		offset;			/* of the values' range */
	float		step;
	float8		tolerance;		/* of distances, relative */
	float8		share;
	uint32		n;
	uint32		code_bytes;		/* of a distance: GENIE_VALUE_PIVOT_BYTES */
} Header;

/* what comes before a value, in parameters and in the pending list */
typedef struct Before
{
	uint32		n_bytes;
	uint32		mark;
} Before;

StaticAssertDecl(sizeof(Header) == 32 && sizeof(Before) == 8, "as it is on disk");

#define HEADER_AT	(GENIE_PARAMETERS_MAX + MAXIMUM_ALIGNOF - VARHDRSZ)

bool
genie_pivots_index(Relation index)
{
	return index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC)->fn_addr == genie_pivots_decompose;
}

/* ---- distances ---- */

pg_noreturn static void bad_distance(const FmgrInfo *function, const char *what);

static void
bad_distance(const FmgrInfo *function, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("distance function %s is no metric", format_procedure(function->fn_oid)),
			 errdetail("It has returned %s.", what),
			 errhint("An index needs distances of at least 0, and one between each two values that are not null.")));
}

double
genie_pivots_distance(Relation index, Datum a, Datum b)
{
	FmgrInfo   *function = index_getprocinfo(index, 1, GENIE_METRIC_PROC);

	LOCAL_FCINFO(fcinfo, 2);
	double		distance;

	InitFunctionCallInfoData(*fcinfo, function, 2, index->rd_indcollation[0], NULL, NULL);
	fcinfo->args[0].value = a;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = b;
	fcinfo->args[1].isnull = false;
	distance = DatumGetFloat8(FunctionCallInvoke(fcinfo));
	if (fcinfo->isnull)
		bad_distance(function, "null");
	if (isnan(distance))
		bad_distance(function, "NaN");
	if (distance < 0)
		bad_distance(function, "a negative number");
	return distance;
}

/* ---- values as bytes ---- */

static Form_pg_attribute
attribute_of(Relation index)
{
	return TupleDescAttr(RelationGetDescr(index), 0);
}

/* The bytes of a value as a page would have it, with what comes before them, palloc'd. */
static Before *
bytes_of_value(Relation index, Datum value, Size *n_bytes)
{
	Form_pg_attribute attribute = attribute_of(index);
	Size		n;
	Before	   *result;

	if (attribute->attlen == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM(value));
	n = attribute->attbyval ? sizeof(Datum) : att_addlength_datum(0, attribute->attlen, value);
	*n_bytes = sizeof(Before) + n;
	result = palloc(*n_bytes);
	*result = (Before) {(uint32) n, MARK};
	if (attribute->attbyval)
		memcpy(result + 1, &value, n);
	else
		memcpy(result + 1, DatumGetPointer(value), n);
	return result;
}

/* The value whose bytes these are, which are aligned; of a type by reference, they are it. */
static Datum
value_of_bytes(Relation index, const Before *before)
{
	Datum		value;

	if (!attribute_of(index)->attbyval)
		return PointerGetDatum(before + 1);
	memcpy(&value, before + 1, sizeof(value));
	return value;
}

/* Has the row its value, and not distances? */
static bool
has_value(const GenieRaw *raw)
{
	return raw->n > 0 && !genie_lsh_raw_is_double(raw);
}

/* The value of such a row, in palloc'd memory. */
static Datum
value_of_raw(Relation index, const GenieRaw *raw)
{
	Before	   *before = palloc0(raw->n * (Size) GENIE_VALUE_MAX + sizeof(Before));

	genie_lsh_raw_bytes(raw, false, (uint8 *) before, raw->n * (Size) GENIE_VALUE_MAX);
	return value_of_bytes(index, before);
}

/* ---- parameters ---- */

static const Header *
header_of(const bytea *parameters)
{
	return (const Header *) (VARDATA(parameters) + HEADER_AT);
}

/* Where pivots begin, and the bytes of one. */
static const char *
first_pivot(const bytea *parameters)
{
	return (const char *) (header_of(parameters) + 1);
}

static Size
bytes_of_pivot(const char *at)
{
	return sizeof(Before) + MAXALIGN(((const Before *) at)->n_bytes);
}

bool
genie_pivots_valid(const bytea *parameters, uint32 n)
{
	const char *end = (const char *) parameters + VARSIZE(parameters);
	const char *at = first_pivot(parameters);

	if (at > end || header_of(parameters)->n != n || n < 1 || n > GENIE_PIVOTS_MAX ||
		!(header_of(parameters)->step > 0) || header_of(parameters)->code_bytes != GENIE_VALUE_PIVOT_BYTES)
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		if (end - at < (ptrdiff_t) sizeof(Before) || bytes_of_pivot(at) > (Size) (end - at))
			return false;
		at += bytes_of_pivot(at);
	}
	return at == end;
}

GeniePivotsInfo
genie_pivots_info(const bytea *parameters)
{
	return (GeniePivotsInfo) {header_of(parameters)->n, header_of(parameters)->share};
}

GenieValueShape
genie_pivots_shape(const bytea *parameters)
{
	const Header *header = header_of(parameters);

	return (GenieValueShape) {
		.metric = GENIE_METRIC_PIVOTS, .n_dimensions = header->n * GENIE_VALUE_PIVOT_BYTES,
		.offset = header->offset, .step = header->step, .tolerance = header->tolerance
	};
}

GenieVector
genie_pivots_distances(Relation index, const bytea *parameters, Datum value)
{
	uint32		n = genie_lsh_class_parameters(parameters).functions.n_dimensions;
	double	   *distances = palloc(n * sizeof(double));
	const char *at = first_pivot(parameters);

	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		distances[i] = genie_pivots_distance(index, value, value_of_bytes(index, (const Before *) at));
		at += bytes_of_pivot(at);
	}
	return (GenieVector) {distances, n, true};
}

void
genie_pivots_record(Relation index, const bytea *parameters, const GenieRaw *raw, void *record)
{
	GenieValueShape shape = genie_pivots_shape(parameters);

	if (has_value(raw))
		genie_value_record(shape, genie_pivots_distances(index, parameters, value_of_raw(index, raw)), record);
	else
		(void) genie_vector_value_raw(shape, raw, record);
}

/* ---- learning ---- */

/* Values of a sample, and the distances of the first ones to all. */
typedef struct Space
{
	Relation	index;
	uint32		n_candidates;
	uint32		n;
	Datum	   *values;
	double	   *distances;
} Space;

static Space
space_of(Relation index, const GenieRaw *objects, uint32 n_objects)
{
	Space		space = {.index = index, .n_candidates = Min(n_objects, CANDIDATES), .n = Min(n_objects, OBJECTS)};

	space.values = palloc(space.n * sizeof(Datum));
	space.distances = palloc(space.n_candidates * space.n * sizeof(double));
	for (uint32 i = 0; i < space.n; i++)
	{
		/* candidates are spread over all, too */
		uint32		k = i * (space.n / space.n_candidates) % space.n + i / space.n_candidates;

		space.values[i] = value_of_raw(index, &objects[(uint64) k * n_objects / space.n]);
	}
	for (uint32 c = 0; c < space.n_candidates; c++)
		for (uint32 i = 0; i < space.n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			space.distances[c * space.n + i] = genie_pivots_distance(index, space.values[c], space.values[i]);
		}
	return space;
}

/* How far distances may be wrong: support function 9. */
static double
tolerance_of(Relation index)
{
	double		tolerance = DatumGetFloat8(FunctionCall0Coll(index_getprocinfo(index, 1, GENIE_TOLERANCE_PROC),
															 index->rd_indcollation[0]));

	if (!(tolerance >= 0 && tolerance <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("support function %d of the operator class of index \"%s\" returns %g",
						GENIE_TOLERANCE_PROC, RelationGetRelationName(index), tolerance),
				 errdetail("A tolerance is from 0 to 1.")));
	return tolerance;
}

static void
check_triangles(const Space *space, double tolerance)
{
	const FmgrInfo *function = index_getprocinfo(space->index, 1, GENIE_METRIC_PROC);
	GenieTriangle triangle;

	if (genie_pivot_find_triangle(space->distances, space->n_candidates, space->n, tolerance, &triangle) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("distance function %s is no metric", format_procedure(function->fn_oid)),
			 triangle.b_to_c == 0 ?
			 errdetail("Of two rows, or of a row and itself, it returns %g one way, and %g the other.",
					   triangle.a_to_b, triangle.a_to_c) :
			 errdetail("There are three rows a, b and c, of which d(a, b) = %g, d(b, c) = %g, but d(a, c) = %g.",
					   triangle.a_to_b, triangle.b_to_c, triangle.a_to_c),
			 errhint("An index finds all rows only by a distance that is symmetric, 0 between equal values, and never "
					 "longer than a way round.")));
}

/* ---- the range ---- */

/* An object's distances to the pivots. */
static void
distances_to(const Space *space, const GeniePivotChoice *choice, uint32 object, double *distances)
{
	for (uint32 p = 0; p < choice->n; p++)
		distances[p] = space->distances[choice->pivots[p] * space->n + object];
}

/* The share of distances that keys leave: of the candidates to all, for which the nearest one is wanted. */
static double
share_by_keys(const Space *space, const GeniePivotChoice *choice, GenieValueShape shape)
{
	Size		n_bytes = genie_quantized_bytes(shape.n_dimensions);
	char	   *records = palloc(space->n * n_bytes + GENIE_QUANTIZED_ALIGN);
	char	   *first = (char *) TYPEALIGN(GENIE_QUANTIZED_ALIGN, records);
	GenieValueQuery *query = palloc(genie_value_query_bytes(GENIE_METRIC_PIVOTS, shape.n_dimensions));
	uint32	   *keys = palloc(space->n * sizeof(uint32));
	double		distances[GENIE_PIVOTS_MAX];
	GenieVector vector = {distances, choice->n, true};
	uint64		n_left = 0;

	for (uint32 i = 0; i < space->n; i++)
	{
		distances_to(space, choice, i, distances);
		genie_quantize(shape, vector, first + i * n_bytes);
	}
	for (uint32 q = 0; q < space->n_candidates; q++)
	{
		const double *of_query = space->distances + q * space->n;
		double		nearest = INFINITY;

		distances_to(space, choice, q, distances);
		genie_value_query(shape, vector, query);
		genie_value_keys(query, first, space->n, keys);
		for (uint32 i = 0; i < space->n; i++)
			if (of_query[i] > 0)
				nearest = Min(nearest, of_query[i]);
		for (uint32 i = 0; i < space->n; i++)
			n_left += nearest < INFINITY && genie_value_key_bound(keys[i]) <= nearest;
	}
	pfree(records);
	pfree(query);
	pfree(keys);
	return (double) n_left / ((double) space->n_candidates * space->n);
}

static int
compare_distances(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/*
 * The range of the distances to the pivots, of those that are tried: from the least up to quantiles, because a few rows
 * far from all others must not make all codes coarse; with steps of 1 where distances are whole numbers.
 */
static void
find_range(const Space *space, const GeniePivotChoice *choice, Header *header)
{
	static const double left_out[] = {0, 0x1p-9, 0x1p-6, 0x1p-4, 0x1p-2};
	uint32		n = 0;
	double	   *sorted = palloc(choice->n * space->n * sizeof(double));

	header->step = 1;
	for (uint32 p = 0; p < choice->n; p++)
		for (uint32 i = 0; i < space->n; i++)
		{
			sorted[n] = space->distances[choice->pivots[p] * space->n + i];
			n += sorted[n] <= FLT_MAX / 4;
		}
	qsort(sorted, n, sizeof(double), compare_distances);
	header->share = INFINITY;
	for (uint32 i = 0; i <= lengthof(left_out) && n > 0; i++)
	{
		GenieValueShape shape = {
			.metric = GENIE_METRIC_PIVOTS, .n_dimensions = choice->n * GENIE_VALUE_PIVOT_BYTES,
			.tolerance = header->tolerance, .step = 1
		};
		double		share;

		if (i > 0)
		{
			double		most = sorted[n - 1 - (uint32) (left_out[i - 1] * n)];

			shape.offset = (float) sorted[0];
			shape.step = Max((float) ((most - sorted[0]) / GENIE_VALUE_PIVOT_MAX), FLT_MIN);
		}
		share = share_by_keys(space, choice, shape);
		if (share < header->share)
		{
			header->share = share;
			header->offset = shape.offset;
			header->step = shape.step;
		}
	}
	header->share = Min(header->share, 1);
	pfree(sorted);
}

static bytea *
learned_by(const Space *space, const GeniePivotChoice *choice, double tolerance)
{
	GenieLshClassParameters class = {0};
	Header		header = {.tolerance = tolerance, .n = choice->n, .code_bytes = GENIE_VALUE_PIVOT_BYTES};
	Size		n_bytes = HEADER_AT + sizeof(Header);
	Before	   *pivots[GENIE_PIVOTS_MAX];
	bytea	   *result;
	char	   *at;

	find_range(space, choice, &header);
	class.functions.family = GENIE_LSH_NONE;
	class.functions.n_dimensions = choice->n;
	class.functions.width = GENIE_METRIC_PIVOTS;
	for (uint32 i = 0; i < choice->n; i++)
	{
		Size		n;

		pivots[i] = bytes_of_value(space->index, space->values[choice->pivots[i]], &n);
		n_bytes += bytes_of_pivot((const char *) pivots[i]);
	}
	if (n_bytes > GENIE_LEARNED_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("values are too long for an index by distances"),
				 errdetail("%u of them have %zu bytes, and an index has room for %d.", choice->n, n_bytes,
						   GENIE_LEARNED_MAX)));
	result = palloc0(VARHDRSZ + n_bytes);
	SET_VARSIZE(result, VARHDRSZ + n_bytes);
	memcpy(VARDATA(result), &class, sizeof(class));
	memcpy(VARDATA(result) + HEADER_AT, &header, sizeof(header));
	at = VARDATA(result) + HEADER_AT + sizeof(header);
	for (uint32 i = 0; i < choice->n; i++)
	{
		memcpy(at, pivots[i], sizeof(Before) + pivots[i]->n_bytes);
		at += bytes_of_pivot((const char *) pivots[i]);
	}
	return result;
}

/* ---- support functions ---- */

static Relation
index_of(const struct RelationData *index)
{
	if (index == NULL)
		elog(ERROR, "a class of a metric was called without an index");
	return unconstify(struct RelationData *, index);
}

/* 1: distances to the pivots; without any, the value */
Datum
genie_pivots_decompose(PG_FUNCTION_ARGS)
{
	GenieKeywords *keywords = (GenieKeywords *) PG_GETARG_POINTER(1);
	Relation	index = index_of(keywords->index);

	if (keywords->parameters == NULL)
	{
		Size		n_bytes;
		const Before *bytes = bytes_of_value(index, PG_GETARG_DATUM(0), &n_bytes);

		genie_lsh_add_raw_bytes((const uint8 *) bytes, n_bytes, false, keywords);
	}
	else
	{
		GenieVector vector = genie_pivots_distances(index, keywords->parameters, PG_GETARG_DATUM(0));

		genie_lsh_add_raw_bytes(vector.elements, vector.n * sizeof(double), true, keywords);
		keywords->size = (int32) vector.n;
	}
	PG_RETURN_VOID();
}

/* 2: the right operand is a value */
Datum
genie_pivots_compile(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(genie_query_allocate(0, 0, 0));
}

/* 5 */
Datum
genie_pivots_train(PG_FUNCTION_ARGS)
{
	const GenieSample *sample = (const GenieSample *) PG_GETARG_POINTER(0);
	double		tolerance;
	Space		space;
	GeniePivotChoice choice;

	if (sample->learned != NULL || sample->n < GENIE_TRAIN_MIN)
		PG_RETURN_NULL();
	tolerance = tolerance_of(index_of(sample->index));
	space = space_of(index_of(sample->index), sample->objects, sample->n);
	check_triangles(&space, tolerance);
	choice = genie_pivot_choice(space.distances, space.n_candidates, space.n);
	if (choice.n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	PG_RETURN_BYTEA_P(learned_by(&space, &choice, tolerance));
}

/* 8 */
Datum
genie_pivots_value(PG_FUNCTION_ARGS)
{
	GenieValueCall *call = (GenieValueCall *) PG_GETARG_POINTER(0);
	GenieValueShape shape = genie_vector_value_shape(call->parameters);

	call->metric = shape.metric;
	call->n_dimensions = shape.n_dimensions;
	if (call->raw != NULL)
		genie_pivots_record(index_of(call->index), call->parameters, call->raw, call->record);
	PG_RETURN_VOID();
}

int64
genie_pivots_check(Relation index, const GenieRaw *objects, uint32 n)
{
	Space		space = space_of(index, objects, n);

	check_triangles(&space, tolerance_of(index));
	return (int64) space.n_candidates * space.n_candidates * space.n;
}

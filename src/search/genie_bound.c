/*
 * genie_bound.c
 *	  Compiling a query's bounds.
 *
 * The operator class's function bound(strategy, query, count, size) is called once for each count and class of
 * sizes; its distinct results, sorted, are the keys.  Engines then rank by integers, whatever the distance.
 *
 * Classes.  Each size below 2^p is a class of its own.  The p leading bits of a larger size tell its class, so a class
 * is at most 2^-(p-1) of its sizes wide.  An object of count c gets the smallest bound that any object of its class can
 * have with that count.  That is the bound at the smallest possible size, max(smallest of the class, c), or at the
 * size nearest to the query's: from there on bounds do not decrease, and below it they only rise or only fall.  Where
 * counts exceed the smallest size, these are bounds of objects of different sizes and need not fall: then the smallest
 * so far is taken, which is a lower bound too.
 *
 * p depends on the query alone, not on the segments.  So an object's bound does not change when segments are merged or
 * rows are inserted, and a scan that must begin again finds its position by the bound (genie_bound_place()).  Keys
 * belong to one table only.
 *
 * Costs.  All sizes together have 2^(p-1) * (18 - p) classes, 1,280 for p = 8.  p is the largest value up to 8 for
 * which classes times the query's counts are at most 2^21 entries.  So queries of up to 1,637 keywords have p = 8.  At
 * worst, where an index has objects of all sizes, that is 4 million calls and 8 MB of keys.  Only classes that occur
 * are compiled: a few hundred entries for words, some thousand for fingerprints.
 *
 * Exact bounds.  The Jaccard distance is a function of count and sizes, and its bound is the distance itself.  So
 * an object's key tells its distance, where its class has one size only: up to 255 keywords, mostly.  Other objects,
 * and those of other distances, must be measured (genie_frontier.c).
 *
 * The contract of the function is checked on the way, which costs a comparison an entry; a function that breaks it
 * would give wrong answers.  That it is a lower bound is checked where objects are measured.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/catcache.h"
#include "utils/float.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "genie_bound.h"
#include "genie_compat.h"
#include "genie_float_order.h"
#include "genie_set_class.h"

#define GENIE_CLASS_BITS_MAX	8
#define GENIE_SIZE_BITS			16	/* of the largest size */
#define GENIE_BOUND_ENTRIES_MAX (2 * 1024 * 1024)

StaticAssertDecl(GENIE_OBJECT_KEYWORDS_MAX < 1 << GENIE_SIZE_BITS, "sizes have more bits");

/* Entries from this one on, in its row, that have the same bound. */
typedef struct GenieBoundRun
{
	double		bound;
	uint32		entry;
} GenieBoundRun;

/* a bound's 64 bits are sorted by these digits; a digit that is the same everywhere costs nothing */
#define GENIE_BOUND_DIGIT_BITS	11
#define GENIE_BOUND_DIGITS		((64 + GENIE_BOUND_DIGIT_BITS - 1) / GENIE_BOUND_DIGIT_BITS)

/* A digit of the integer that has the bound's order. */
static inline uint32
genie_bound_digit(double bound, uint32 digit)
{
	return (uint32) (genie_float_order(bound) >> (digit * GENIE_BOUND_DIGIT_BITS)) &
		((1u << GENIE_BOUND_DIGIT_BITS) - 1);
}

/*
 * Sorts by the bounds, the smallest first: a radix sort from the last digit on, because a comparison sort of some
 * thousand runs takes a quarter of a query's time.
 */
static void
genie_bound_sort(GenieBoundRun *runs, uint32 n)
{
	uint32		starts[GENIE_BOUND_DIGITS][1 << GENIE_BOUND_DIGIT_BITS];
	GenieBoundRun *from = runs;
	GenieBoundRun *to = palloc(n * sizeof(GenieBoundRun));
	GenieBoundRun *copy = to;

	memset(starts, 0, sizeof(starts));
	for (uint32 i = 0; i < n; i++)
		for (uint32 digit = 0; digit < GENIE_BOUND_DIGITS; digit++)
			starts[digit][genie_bound_digit(runs[i].bound, digit)]++;
	for (uint32 digit = 0; digit < GENIE_BOUND_DIGITS; digit++)
	{
		GenieBoundRun *sorted = to;
		uint32		start = 0;

		CHECK_FOR_INTERRUPTS();
		if (n == 0 || starts[digit][genie_bound_digit(from[0].bound, digit)] == n)
			continue;
		for (uint32 i = 0; i < 1 << GENIE_BOUND_DIGIT_BITS; i++)
		{
			uint32		count = starts[digit][i];

			starts[digit][i] = start;
			start += count;
		}
		for (uint32 i = 0; i < n; i++)
			sorted[starts[digit][genie_bound_digit(from[i].bound, digit)]++] = from[i];
		to = from;
		from = sorted;
	}
	if (from != runs)
		memcpy(runs, from, n * sizeof(GenieBoundRun));
	pfree(copy);
}

/* ---- the support function ---- */

pg_noreturn static void genie_bound_broken(const GenieBound *bound, const char *how, uint32 count, uint32 size);

static void
genie_bound_broken(const GenieBound *bound, const char *how, uint32 count, uint32 size)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("function %s does not give lower bounds of a distance",
					format_procedure(bound->function->fn_oid)),
			 errdetail("For strategy %d, match count %u and object size %u its result %s.",
					   bound->strategy, count, size, how)));
}

double
genie_bound_of_object(const GenieBound *bound, uint32 count, uint32 size)
{
	LOCAL_FCINFO(fcinfo, 4);
	double		result;

	InitFunctionCallInfoData(*fcinfo, bound->function, 4, bound->collation, NULL, NULL);
	fcinfo->args[0].value = Int16GetDatum(bound->strategy);
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = PointerGetDatum(bound->query);
	fcinfo->args[1].isnull = false;
	fcinfo->args[2].value = Int32GetDatum((int32) count);
	fcinfo->args[2].isnull = false;
	fcinfo->args[3].value = Int32GetDatum((int32) size);
	fcinfo->args[3].isnull = false;
	result = DatumGetFloat8(FunctionCallInvoke(fcinfo));
	if (fcinfo->isnull)
		genie_bound_broken(bound, "is null", count, size);
	if (isnan(result))
		genie_bound_broken(bound, "is not a number", count, size);
	CHECK_FOR_INTERRUPTS();
	return result;
}

bool
genie_bound_knows(Relation index, int16 strategy)
{
	CatCList   *opers;
	bool		result = false;

	if (!OidIsValid(index_getprocid(index, 1, GENIE_BOUND_PROC)))
		return false;
	opers = SearchSysCacheList2(AMOPSTRATEGY, ObjectIdGetDatum(index->rd_opfamily[0]),
								ObjectIdGetDatum(index->rd_opcintype[0]));
	for (int i = 0; i < opers->n_members; i++)
		result |= ((Form_pg_amop) GETSTRUCT(&opers->members[i]->tuple))->amopstrategy == strategy;
	ReleaseSysCacheList(opers);
	return result;
}

GenieBound *
genie_bound_begin(Relation index, int16 strategy, const GenieQuery *query)
{
	GenieBound *bound = palloc0(sizeof(GenieBound));
	const uint8 *at = query->body;
	uint64		row;

	for (uint32 i = 0; i < query->n; i++)
	{
		GenieInterval interval = genie_query_next(&at);

		if (!genie_interval_is_point(&interval))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a query with ranges has no distance to an object")));
	}
	bound->function = index_getprocinfo(index, 1, GENIE_BOUND_PROC);
	bound->is_exact = bound->function->fn_addr == genie_jaccard_bound;
	bound->collation = index->rd_indcollation[0];
	bound->strategy = strategy;
	bound->query = query;
	bound->max_count = Min(query->n, GENIE_OBJECT_KEYWORDS_MAX);
	bound->max_distance = get_float8_infinity();

	row = (uint64) bound->max_count + 1;
	bound->class_bits = GENIE_CLASS_BITS_MAX;
	while (bound->class_bits > 1 &&
		   row * ((GENIE_SIZE_BITS + 2 - bound->class_bits) << (bound->class_bits - 1)) > GENIE_BOUND_ENTRIES_MAX)
		bound->class_bits--;
	return bound;
}

void
genie_bound_cut(GenieBound *bound, uint32 min_count, double max_distance)
{
	bound->min_count = Max(bound->min_count, min_count);
	bound->max_distance = Min(bound->max_distance, max_distance);
}

/* The smallest bound of objects of such a count and of these sizes. */
static double
genie_bound_of_sizes(const GenieBound *bound, uint32 count, uint32 smallest, uint32 largest)
{
	uint32		nearest = Min(Max(smallest, bound->max_count), largest);
	double		value = genie_bound_of_object(bound, count, smallest);

	return nearest == smallest ? value : Min(value, genie_bound_of_object(bound, count, nearest));
}

uint32
genie_bound_least_count(const GenieBound *bound, double max_distance)
{
	uint32		count = 0;

	while (count <= bound->max_count &&
		   genie_bound_of_sizes(bound, count, count, GENIE_OBJECT_KEYWORDS_MAX) > max_distance)
		count++;
	return count;
}

/* ---- the table ---- */

/* The smallest size of the class of this one; *width: how many sizes the class has. */
static uint32
genie_bound_class_floor(const GenieBound *bound, uint32 size, uint32 *width)
{
	int			shift = 0;

	if (size >> bound->class_bits != 0)
		shift = pg_leftmost_one_pos32(size) + 1 - (int) bound->class_bits;
	*width = 1u << shift;
	return size >> shift << shift;
}

/* Finds the classes of the sizes: floors, palloc'd, has the smallest size of each. */
static uint32 *
genie_bound_classes(GenieBound *bound, uint32 min_size, uint32 max_size)
{
	GenieKeyTable *table = &bound->table;
	uint16	   *class_of_size = palloc((max_size - min_size + 1) * sizeof(uint16));
	uint32	   *floors = palloc((max_size - min_size + 1) * sizeof(uint32));

	table->first_size = min_size;
	table->n_sizes = max_size - min_size + 1;
	table->class_of_size = class_of_size;
	table->n_classes = 0;
	for (uint32 size = min_size; size <= max_size; size++)
	{
		uint32		width;
		uint32		class_floor = genie_bound_class_floor(bound, size, &width);

		if (table->n_classes == 0 || floors[table->n_classes - 1] != class_floor)
			floors[table->n_classes++] = class_floor;
		class_of_size[size - min_size] = (uint16) (table->n_classes - 1);
	}
	return floors;
}

/*
 * Computes the bound of the class's objects for each count; infinity for counts that they cannot have.  row comes with
 * the bounds of the next smaller class.
 */
static void
genie_bound_class(const GenieBound *bound, uint32 class_floor, double *row)
{
	uint32		width;
	uint32		largest;

	genie_bound_class_floor(bound, class_floor, &width);
	largest = Min(class_floor + width - 1, GENIE_OBJECT_KEYWORDS_MAX);
	for (uint32 count = 0; count <= bound->max_count; count++)
	{
		double		of_smaller = row[count];

		if (count > largest)
		{
			row[count] = get_float8_infinity();
			continue;
		}
		row[count] = genie_bound_of_sizes(bound, count, Max(class_floor, count), largest);
		if (count > 0 && count <= class_floor && row[count] > row[count - 1])
			genie_bound_broken(bound, "is larger than for the next smaller match count", count, class_floor);
		if (class_floor > bound->max_count && row[count] < of_smaller)
			genie_bound_broken(bound, "is smaller than for a smaller object", count, class_floor);
	}
}

/* Finds the keys whose bound is the distance: not where a class has several sizes. */
static void
genie_bound_find_exact(GenieBound *bound, const uint32 *floors, const uint32 *keys)
{
	const GenieKeyTable *table = &bound->table;

	bound->exact = palloc(bound->n_bounds + 1);
	memset(bound->exact, bound->is_exact, bound->n_bounds);
	for (uint32 class = 0; class < table->n_classes; class++)
	{
		const uint32 *of_class = keys + (Size) class * table->stride;
		uint32		width;

		genie_bound_class_floor(bound, floors[class], &width);
		for (uint32 count = 0; width > 1 && count < table->stride; count++)
			if (of_class[count] > 0)
				bound->exact[of_class[count] - 1] = false;
	}
}

/* Numbers the sorted runs from the largest bound on, without those that are not wanted, and fills in their keys. */
static void
genie_bound_rank(GenieBound *bound, const GenieBoundRun *runs, uint32 n_runs, uint32 *keys)
{
	uint32		n_wanted = 0;
	uint32		key = 0;

	while (n_wanted < n_runs && runs[n_wanted].bound <= bound->max_distance)
		n_wanted++;
	bound->bounds = palloc((n_wanted + 1) * sizeof(double));
	for (uint32 i = n_runs; i-- > 0;)
	{
		if (i < n_wanted && (key == 0 || runs[i].bound != bound->bounds[key - 1]))
			bound->bounds[key++] = runs[i].bound;
		keys[runs[i].entry] = key;
	}
	bound->n_bounds = key;
}

void
genie_bound_compile(GenieBound *bound, uint32 min_size, uint32 max_size)
{
	GenieKeyTable *table = &bound->table;
	uint32	   *floors = genie_bound_classes(bound, min_size, max_size);
	uint32		stride = Max(bound->max_count, 1) + 1;
	Size		n_entries = (Size) table->n_classes * stride;
	uint32	   *keys = palloc0(n_entries * sizeof(uint32));
	double	   *row = palloc((bound->max_count + 1) * sizeof(double));
	GenieBoundRun *runs = palloc(n_entries * sizeof(GenieBoundRun));
	uint32		n_runs = 0;
	const uint32 not_set = PG_UINT32_MAX;

	for (uint32 count = 0; count <= bound->max_count; count++)
		row[count] = -get_float8_infinity();
	for (uint32 class = 0; class < table->n_classes; class++)
	{
		double		least = 0;

		genie_bound_class(bound, floors[class], row);
		for (uint32 count = 0; count <= bound->max_count; count++)
		{
			uint32		entry = class * stride + count;

			keys[entry] = not_set;
			if (count > 0 && row[count] >= least)
				continue;
			least = row[count];
			runs[n_runs].bound = least;
			runs[n_runs++].entry = entry;
		}
	}
	genie_bound_sort(runs, n_runs);
	genie_bound_rank(bound, runs, n_runs, keys);

	/* a run's entries have the key of its first */
	for (uint32 class = 0; class < table->n_classes; class++)
	{
		uint32	   *of_class = keys + (Size) class * stride;

		for (uint32 count = 1; count < stride; count++)
			if (count > bound->max_count || of_class[count] == not_set)
				of_class[count] = of_class[count - 1];
		for (uint32 count = 0; count < Min(bound->min_count, stride); count++)
			of_class[count] = 0;
	}
	table->stride = stride;
	table->keys = keys;
	genie_bound_find_exact(bound, floors, keys);
	pfree(runs);
	pfree(row);
	pfree(floors);
}

uint32
genie_bound_place(const GenieBound *bound, double value, bool *found)
{
	uint32		low = 0;
	uint32		high = bound->n_bounds;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (bound->bounds[middle] > value)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low < bound->n_bounds && bound->bounds[low] == value;
	return low;
}

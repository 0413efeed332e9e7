/*
 * genie_int_array.c
 *	  Arrays of int2, int4 and int8: the fast path of decomposition and match count.
 *
 * Integers are ordered as their keys are, so everything can be done on the integers.  An array that is strictly
 * ascending already is used in place; any other array is copied, sorted and cleared of duplicates.  Keys are written
 * for the index only.
 *
 * Counting merges the two ascending sequences.  The merge of single values has no branch that depends on the data.
 * If one side is much longer, each value of the short side is searched in the rest of the long side instead.
 *
 * The functions are written once for all widths.  The inline ones are called with a constant width, so that the
 * compiler specialises them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "genie_int_array.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* a side that is so many times longer than the other is searched, not merged */
#define SEARCH_RATIO	16

/* a packed key of dimension 0 is length, dimension, family, value; the value is written with one 8-byte store */
#define INT_KEY_PREFIX	2
#define INT_KEY_MAX		(1 + INT_KEY_PREFIX + GENIE_KEY_INT_BYTES)

#define ST_SORT sort_int64
#define ST_ELEMENT_TYPE int64
#define ST_COMPARE(a, b) ((*(a) > *(b)) - (*(a) < *(b)))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

int
genie_int_width(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return sizeof(int16);
		case INT4OID:
			return sizeof(int32);
		case INT8OID:
			return sizeof(int64);
		default:
			return 0;
	}
}

static pg_attribute_always_inline int64
load(const char *data, int width, uint32 i)
{
	int16		small;
	int32		medium;
	int64		large;

	switch (width)
	{
		case sizeof(int16):
			memcpy(&small, data + (Size) i * sizeof(small), sizeof(small));
			return small;
		case sizeof(int32):
			memcpy(&medium, data + (Size) i * sizeof(medium), sizeof(medium));
			return medium;
		default:
			memcpy(&large, data + (Size) i * sizeof(large), sizeof(large));
			return large;
	}
}

static pg_attribute_always_inline bool
ascending(const char *data, int width, uint32 n)
{
	bool		ok = true;

	for (uint32 i = 1; i < n; i++)
		ok &= load(data, width, i - 1) < load(data, width, i);
	return ok;
}

static bool
is_ascending(const char *data, int width, uint32 n)
{
	switch (width)
	{
		case sizeof(int16):
			return ascending(data, sizeof(int16), n);
		case sizeof(int32):
			return ascending(data, sizeof(int32), n);
		default:
			return ascending(data, sizeof(int64), n);
	}
}

void
genie_ints_init(GenieInts *ints)
{
	ints->context = CurrentMemoryContext;
	ints->values = NULL;
	ints->n = 0;
	ints->capacity = 0;
}

void
genie_ints_read(GenieInts *ints, ArrayType *array, int width)
{
	uint32		n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const char *data = ARR_DATA_PTR(array);
	const bits8 *nulls = ARR_NULLBITMAP(array);
	uint32		kept = 0;

	if (ints->capacity < n)
	{
		if (ints->values != NULL)
			pfree(ints->values);
		ints->values = NULL;
		ints->capacity = 0;
		ints->values = MemoryContextAllocHuge(ints->context, n * sizeof(int64));
		ints->capacity = n;
	}
	for (uint32 i = 0; i < n; i++)
	{
		/* NULLs take no place among the data */
		if (nulls == NULL || nulls[i / 8] & (1 << (i % 8)))
		{
			ints->values[kept] = load(data, width, kept);
			kept++;
		}
	}
	CHECK_FOR_INTERRUPTS();
	sort_int64(ints->values, kept);
	ints->n = 0;
	for (uint32 i = 0; i < kept; i++)
	{
		if (i == 0 || ints->values[i] != ints->values[i - 1])
			ints->values[ints->n++] = ints->values[i];
	}
}

GenieIntRun
genie_int_run(ArrayType *array, int width, GenieInts *ints)
{
	GenieIntRun run;

	run.data = ARR_DATA_PTR(array);
	run.width = width;
	run.n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (ARR_HASNULL(array) || !is_ascending(run.data, width, run.n))
	{
		genie_ints_read(ints, array, width);
		run.data = (const char *) ints->values;
		run.width = sizeof(int64);
		run.n = ints->n;
	}
	return run;
}

/* the same bytes as genie_packed_put() */
static inline uint8 *
put_key(uint8 *at, int64 value)
{
	Size		n = genie_key_put_int(at + 1 + INT_KEY_PREFIX, value);

	at[0] = (uint8) (INT_KEY_PREFIX + n);
	at[1] = 0;
	at[2] = GENIE_FAMILY_INT;
	return at + 1 + INT_KEY_PREFIX + n;
}

/* Packs n > 0 integers; returns the end; sets *last to where the last key begins. */
static pg_attribute_always_inline uint8 *
pack(uint8 *at, const char *data, int width, uint32 n, uint8 **last)
{
	for (uint32 i = 0; i + 1 < n; i++)
		at = put_key(at, load(data, width, i));
	*last = at;
	return put_key(at, load(data, width, n - 1));
}

void
genie_int_run_pack(GenieIntRun run, GenieKeywords *keywords)
{
	uint8	   *begin;
	uint8	   *end;
	uint8	   *last;

	if (run.n == 0)
		return;
	genie_keywords_check_limit(run.n);
	genie_keywords_reserve(keywords, run.n * INT_KEY_MAX);
	begin = keywords->bytes + keywords->nbytes;
	switch (run.width)
	{
		case sizeof(int16):
			end = pack(begin, run.data, sizeof(int16), run.n, &last);
			break;
		case sizeof(int32):
			end = pack(begin, run.data, sizeof(int32), run.n, &last);
			break;
		default:
			end = pack(begin, run.data, sizeof(int64), run.n, &last);
	}
	if (keywords->n > 0)
		keywords->sorted = false;
	keywords->nbytes += end - begin;
	keywords->n += run.n;
	keywords->last = last - keywords->bytes;
}

GenieKey
genie_int_run_key(GenieIntRun run, uint32 i, uint8 *out)
{
	GenieKey	key = {out + 1, 0};

	key.len = put_key(out, load(run.data, run.width, i)) - key.data;
	return key;
}

/* The smallest integer at or after a cut within family INT; false if there is none. */
static bool
first_after(GenieKey cut, bool after, uint32 prefix, int64 *value)
{
	if (cut.len == prefix)
		*value = PG_INT64_MIN;
	else
	{
		if (genie_key_get_int(cut.data + prefix, cut.len - prefix, value) == 0)
			elog(ERROR, "malformed integer in query");
		if (after && (*value)++ == PG_INT64_MAX)
			return false;
	}
	return true;
}

/* The largest integer before a cut; false if there is none. */
static bool
last_before(GenieKey cut, bool after, uint32 prefix, int64 *value)
{
	if (cut.data[prefix - 1] != GENIE_FAMILY_INT)
		*value = PG_INT64_MAX;
	else
	{
		if (genie_key_get_int(cut.data + prefix, cut.len - prefix, value) == 0)
			elog(ERROR, "malformed integer in query");
		if (!after && (*value)-- == PG_INT64_MIN)
			return false;
	}
	return true;
}

void
genie_int_query_of_view(GenieIntQuery *query, const GenieQueryView *view, MemoryContext context)
{
	int64	   *lo = MemoryContextAllocHuge(context, (Size) view->n_intervals * sizeof(int64));
	int64	   *hi = MemoryContextAllocHuge(context, (Size) view->n_intervals * sizeof(int64));
	bool		points = true;
	bool		integers = false;
	bool		others = false;

	query->n = 0;
	for (uint32 i = 0; i < view->n_intervals; i++)
	{
		const GenieInterval *interval = &view->intervals[i];
		uint32		prefix = genie_key_prefix_len(interval->lo);

		CHECK_FOR_INTERRUPTS();
		if (interval->lo.data[0] != 0)
			break;				/* dimensions ascend */
		if (interval->lo.data[1] != GENIE_FAMILY_INT)
		{
			others = true;
			continue;
		}
		integers = true;
		if (first_after(interval->lo, interval->lo_after, prefix, &lo[query->n]) &&
			last_before(interval->hi, interval->hi_after, prefix, &hi[query->n]) &&
			lo[query->n] <= hi[query->n])
		{
			points &= lo[query->n] == hi[query->n];
			query->n++;
		}
	}
	query->lo = lo;
	query->hi = points ? NULL : hi;
	query->conflict = others && !integers;
}

/* The first index from at on whose value is >= wanted, in an ascending run. */
static pg_attribute_always_inline uint32
lower_bound(const char *data, int width, uint32 at, uint32 n, int64 wanted)
{
	while (at < n)
	{
		uint32		middle = at + (n - at) / 2;

		if (load(data, width, middle) < wanted)
			at = middle + 1;
		else
			n = middle;
	}
	return at;
}

static pg_attribute_always_inline uint32
count_points(const int64 *points, uint32 n_points, const char *data, int width, uint32 n)
{
	uint32		count = 0;
	uint32		i = 0;
	uint32		j = 0;

	if (n_points / SEARCH_RATIO > n)
	{
		for (; i < n; i++)
		{
			int64		value = load(data, width, i);

			j = lower_bound((const char *) points, sizeof(int64), j, n_points, value);
			count += j < n_points && points[j] == value;
		}
		return count;
	}
	if (n / SEARCH_RATIO > n_points)
	{
		for (; j < n_points; j++)
		{
			i = lower_bound(data, width, i, n, points[j]);
			count += i < n && load(data, width, i) == points[j];
		}
		return count;
	}
	while (i < n && j < n_points)
	{
		int64		value = load(data, width, i);
		int64		point = points[j];

		count += value == point;
		i += value <= point;
		j += point <= value;
	}
	return count;
}

static pg_attribute_always_inline uint32
count_ranges(const GenieIntQuery *query, const char *data, int width, uint32 n)
{
	uint32		count = 0;
	uint32		i = 0;
	uint32		j = 0;

	if (query->n / SEARCH_RATIO > n)
	{
		for (; i < n; i++)
		{
			int64		value = load(data, width, i);

			j = lower_bound((const char *) query->hi, sizeof(int64), j, query->n, value);
			count += j < query->n && query->lo[j] <= value;
		}
		return count;
	}
	for (; j < query->n && i < n; j++)
	{
		uint32		begin = lower_bound(data, width, i, n, query->lo[j]);

		i = query->hi[j] == PG_INT64_MAX ? n : lower_bound(data, width, begin, n, query->hi[j] + 1);
		count += i - begin;
	}
	return count;
}

static pg_attribute_always_inline uint32
count(const GenieIntQuery *query, const char *data, int width, uint32 n)
{
	if (query->hi == NULL)
		return count_points(query->lo, query->n, data, width, n);
	return count_ranges(query, data, width, n);
}

uint32
genie_int_query_count(const GenieIntQuery *query, GenieIntRun run)
{
	switch (run.width)
	{
		case sizeof(int16):
			return count(query, run.data, sizeof(int16), run.n);
		case sizeof(int32):
			return count(query, run.data, sizeof(int32), run.n);
		default:
			return count(query, run.data, sizeof(int64), run.n);
	}
}

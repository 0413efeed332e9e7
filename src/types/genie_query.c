/*
 * genie_query.c
 *	  The type genie_query: input and output, the builder that its constructors use, the plain view.
 *
 * Text form: genie_text.h.  Binary form: a version byte; min_match (int32); in version 2 the threshold (strategy,
 * int16, and max_distance, float8); the number of intervals (int32); then the intervals as they are stored
 * (genie_opclass.h). Input from outside goes through the builder, so a stored query is always normalised.
 *
 * A threshold is written as a similarity and stored as a distance.  Several similarities can round to one distance; the
 * text form is the shortest of them.
 *
 * There is no operator =, because [10,20) and [10,19] match the same integers but differ in their bytes.
 */
#include "postgres.h"

#include "genie_query.h"
#include "genie_value_text.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define GENIE_QUERY_VERSION		1	/* of the binary form */
#define GENIE_QUERY_VERSION_THRESHOLD	2	/* the same with a threshold */
#define SIMILARITY_DIGITS_MAX	17	/* that tell any two doubles apart */
#define KEY_BLOCK_BYTES			8192
#define INTERVALS_INITIAL		16
#define INTERVALS_COMPACT		65536	/* from so many on, duplicates are dropped before the array is enlarged */
#define INTERVALS_PART			16384	/* are united at a time, between interrupts */

#define ST_SORT sort_intervals
#define ST_ELEMENT_TYPE GenieInterval
#define ST_COMPARE(a, b) genie_interval_cmp(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

PG_FUNCTION_INFO_V1(genie_query_in);
PG_FUNCTION_INFO_V1(genie_query_out);
PG_FUNCTION_INFO_V1(genie_query_recv);
PG_FUNCTION_INFO_V1(genie_query_send);
PG_FUNCTION_INFO_V1(genie_query_from_object);
PG_FUNCTION_INFO_V1(genie_jaccard_query_from_object);
PG_FUNCTION_INFO_V1(genie_query_with_min_match);

/* ---- building ---- */

void
genie_query_begin(GenieQueryBuilder *builder)
{
	builder->context = AllocSetContextCreate(CurrentMemoryContext, "genie query", ALLOCSET_DEFAULT_SIZES);
	builder->n = 0;
	builder->capacity = INTERVALS_INITIAL;
	builder->intervals = MemoryContextAlloc(builder->context, builder->capacity * sizeof(GenieInterval));
	builder->block = NULL;
	builder->block_left = 0;
}

static GenieKey
keep_key(GenieQueryBuilder *builder, GenieKey key)
{
	GenieKey	kept;

	if (builder->block_left < key.len)
	{
		builder->block = MemoryContextAlloc(builder->context, KEY_BLOCK_BYTES);
		builder->block_left = KEY_BLOCK_BYTES;
	}
	memcpy(builder->block, key.data, key.len);
	kept.data = builder->block;
	kept.len = key.len;
	builder->block += key.len;
	builder->block_left -= key.len;
	return kept;
}

/* Sorts the builder's intervals and unites those that overlap. */
static void
normalise(GenieQueryBuilder *builder)
{
	uint32		kept = 0;

	sort_intervals(builder->intervals, builder->n);
	for (uint32 i = 0; i < builder->n; i += INTERVALS_PART)
	{
		CHECK_FOR_INTERRUPTS();
		kept = genie_intervals_unite(builder->intervals, kept, i, (uint32) Min(builder->n, i + INTERVALS_PART));
	}
	builder->n = kept;
}

static void
add_interval(GenieQueryBuilder *builder, GenieInterval interval)
{
	if (builder->n == builder->capacity && builder->n >= INTERVALS_COMPACT)
		normalise(builder);
	if (builder->n > builder->capacity / 2)
	{
		builder->capacity *= 2;
		builder->intervals = repalloc_huge(builder->intervals, builder->capacity * sizeof(GenieInterval));
	}
	builder->intervals[builder->n++] = interval;
}

void
genie_query_add_point(GenieQueryBuilder *builder, GenieKey key)
{
	GenieInterval interval;

	interval.lo = keep_key(builder, key);
	interval.lo_after = false;
	interval.hi = interval.lo;
	interval.hi_after = true;
	add_interval(builder, interval);
}

void
genie_query_add_range(GenieQueryBuilder *builder, GenieKey prefix,
					  GenieKey lo, bool lo_after, GenieKey hi, bool hi_after)
{
	GenieInterval interval;
	uint8		end[GENIE_KEY_MAX];

	if (hi.data == NULL)
	{
		/* up to the next family */
		memcpy(end, prefix.data, prefix.len);
		end[prefix.len - 1]++;
		hi.data = end;
		hi.len = prefix.len;
		hi_after = false;
	}
	if (lo.data == NULL)
	{
		lo = prefix;
		lo_after = false;
	}
	if (genie_cut_cmp(lo, lo_after, hi, hi_after) >= 0)
		return;
	interval.lo = keep_key(builder, lo);
	interval.lo_after = lo_after;
	interval.hi = keep_key(builder, hi);
	interval.hi_after = hi_after;
	add_interval(builder, interval);
}

GenieQuery *
genie_query_finish(GenieQueryBuilder *builder, int32 min_match)
{
	GenieInterval *intervals = builder->intervals;
	GenieQuery *query;
	uint32		n;
	Size		nbytes = 0;
	uint8	   *at;

	normalise(builder);
	n = (uint32) builder->n;
	for (uint32 i = 0; i < n; i++)
		nbytes += 1 + 2 + intervals[i].lo.len + 2 + intervals[i].hi.len;
	query = genie_query_allocate(nbytes, n, min_match);
	at = query->body;
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (genie_interval_is_point(&intervals[i]))
		{
			*at++ = GENIE_QUERY_POINT;
			at += genie_packed_put(at, intervals[i].lo);
			continue;
		}
		*at++ = (intervals[i].lo_after ? GENIE_QUERY_LO_AFTER : 0) |
			(intervals[i].hi_after ? GENIE_QUERY_HI_AFTER : 0);
		at += genie_packed_put(at, intervals[i].lo);
		at += genie_packed_put(at, intervals[i].hi);
	}
	SET_VARSIZE(query, at - (uint8 *) query);
	MemoryContextDelete(builder->context);
	return query;
}

void
genie_query_limit_jaccard(GenieQuery *query, float8 similarity)
{
	if (!(similarity >= 0 && similarity <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("similarity must be between 0 and 1")));
	query->distance_strategy = GENIE_JACCARD_STRATEGY;
	query->max_distance = 1.0 - similarity;
}

/* The query for a packed set of n keys as points. */
static GenieQuery *
query_of_packed(const uint8 *packed, Size nbytes, uint32 n, int32 min_match)
{
	GenieQuery *query = genie_query_allocate(nbytes + n, n, min_match);
	uint8	   *at = query->body;

	for (uint32 i = 0; i < n; i++)
	{
		*at++ = GENIE_QUERY_POINT;
		at += genie_packed_put(at, genie_packed_next(&packed));
	}
	Assert(at == (uint8 *) query + VARSIZE(query));
	return query;
}

GenieQuery *
genie_query_of_object(const struct varlena *object, int32 min_match)
{
	uint32		n;
	Size		nbytes;
	const uint8 *packed = genie_object_keys(object, &n, &nbytes);

	return query_of_packed(packed, nbytes, n, min_match);
}

GenieQuery *
genie_query_of_value(GenieCollect collect, Datum value, int32 min_match)
{
	GenieKeywords keywords;
	GenieQuery *query;

	genie_keywords_init(&keywords);
	collect(value, &keywords);
	genie_keywords_finish(&keywords);
	query = query_of_packed(keywords.bytes, keywords.nbytes, keywords.n, min_match);
	pfree(keywords.bytes);
	return query;
}

GenieQueryView *
genie_query_view(const GenieQuery *query, MemoryContext context)
{
	GenieQueryView *view = MemoryContextAllocHuge(context, sizeof(GenieQueryView) + sizeof(GenieQueryNumbers) +
												  query->n * (sizeof(GenieInterval) + sizeof(GenieIntervalNumbers)));
	GenieInterval *interval = (GenieInterval *) (view + 1);
	GenieQueryNumbers *numbers = (GenieQueryNumbers *) (interval + query->n);
	const uint8 *at = query->body;

	view->min_match = query->min_match;
	view->n_intervals = query->n;
	view->intervals = interval;
	view->distance_strategy = query->distance_strategy;
	view->max_distance = query->max_distance;
	for (uint32 i = 0; i < query->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		interval[i] = genie_query_next(&at);
	}
	view->numbers = genie_query_numbers(interval, query->n, numbers) ? numbers : NULL;
	return view;
}

/* ---- text ---- */

static void
add_text_item(GenieQueryBuilder *builder, const GenieTextItem *item)
{
	uint8		lo_bytes[GENIE_KEY_MAX];
	uint8		hi_bytes[GENIE_KEY_MAX];
	uint8		prefix_bytes[GENIE_KEY_MAX];
	GenieKey	prefix;
	GenieKey	lo = {NULL, 0};
	GenieKey	hi = {NULL, 0};

	if (item->lo.present)
		lo = genie_value_text_key(item, &item->lo, lo_bytes);
	if (!item->is_range)
	{
		genie_query_add_point(builder, lo);
		return;
	}
	if (item->hi.present)
		hi = genie_value_text_key(item, &item->hi, hi_bytes);
	if (lo.data != NULL && hi.data != NULL && genie_key_cmp(lo, hi) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("lower bound of a range is above its upper bound")));
	prefix.data = prefix_bytes;
	prefix.len = genie_key_put_dimension(prefix_bytes, item->dimension);
	prefix_bytes[prefix.len++] = item->family;
	genie_query_add_range(builder, prefix, lo, !item->lo_closed, hi, item->hi_closed);
}

Datum
genie_query_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	Size		len = strlen(text);
	GenieTextScanner scanner;
	GenieTextItem item;
	GenieTextResult result;
	GenieQueryBuilder builder;
	GenieQuery *query;

	genie_query_begin(&builder);
	genie_text_begin(&scanner, text, len, true, palloc(len + 1));
	while ((result = genie_text_next(&scanner, &item)) == GENIE_TEXT_ITEM)
	{
		CHECK_FOR_INTERRUPTS();
		add_text_item(&builder, &item);
	}
	if (result == GENIE_TEXT_ERROR)
		genie_value_text_report(&scanner, "genie_query");
	query = genie_query_finish(&builder, scanner.min_match);
	if (scanner.similarity >= 0)
		genie_query_limit_jaccard(query, scanner.similarity);
	PG_RETURN_POINTER(query);
}

/* Prints a side of a range; prints nothing if it is unbounded. */
static void
print_bound(StringInfo out, GenieKey cut, bool unbounded)
{
	uint32		n = genie_key_prefix_len(cut);

	if (!unbounded)
		genie_value_print(out, cut.data[n - 1], cut.data + n, cut.len - n);
}

static void
print_range(StringInfo out, const GenieInterval *interval)
{
	GenieKey	lo = interval->lo;
	GenieKey	hi = interval->hi;
	uint32		n = genie_key_prefix_len(lo);
	bool		lo_unbounded = lo.len == n && !interval->lo_after;
	bool		hi_unbounded = hi.data[n - 1] != lo.data[n - 1];

	genie_value_print_prefix(out, lo);
	appendStringInfoChar(out, interval->lo_after || lo_unbounded ? '(' : '[');
	print_bound(out, lo, lo_unbounded);
	appendStringInfoChar(out, ',');
	print_bound(out, hi, hi_unbounded);
	appendStringInfoChar(out, interval->hi_after ? ']' : ')');
}

/* The shortest similarity that reads back as that Jaccard distance. */
static void
print_similarity(StringInfo out, float8 max_distance)
{
	char		text[32];

	for (int digits = 1; digits <= SIMILARITY_DIGITS_MAX; digits++)
	{
		snprintf(text, sizeof(text), "%.*g", digits, 1.0 - max_distance);
		if (1.0 - strtod(text, NULL) == max_distance)
			break;
	}
	appendStringInfo(out, "%%%s", text);
}

Datum
genie_query_out(PG_FUNCTION_ARGS)
{
	GenieQuery *query = PG_GETARG_GENIE_QUERY(0);
	GenieQueryView *view = genie_query_view(query, CurrentMemoryContext);
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	for (uint32 i = 0; i < view->n_intervals; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0)
			appendStringInfoChar(&out, ',');
		if (genie_interval_is_point(&view->intervals[i]))
			genie_value_print_key(&out, view->intervals[i].lo);
		else
			print_range(&out, &view->intervals[i]);
	}
	appendStringInfo(&out, "}@%d", view->min_match);
	if (view->distance_strategy == GENIE_JACCARD_STRATEGY)
		print_similarity(&out, view->max_distance);
	PG_RETURN_CSTRING(out.data);
}

/* ---- binary ---- */

static void
malformed(uint32 interval)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid interval %u in external \"genie_query\" value", interval + 1)));
}

static GenieKey
receive_key(StringInfo buf, uint32 interval)
{
	GenieKey	key;

	key.len = pq_getmsgbyte(buf);
	if (key.len & 0x80)
		key.len = (key.len & 0x7F) | (uint32) pq_getmsgbyte(buf) << 7;
	if (key.len > GENIE_KEY_MAX)
		malformed(interval);
	key.data = (const uint8 *) pq_getmsgbytes(buf, key.len);
	return key;
}

static void
receive_interval(StringInfo buf, uint32 interval, bool only_points, GenieQueryBuilder *builder)
{
	int			flags = pq_getmsgbyte(buf);
	GenieKey	lo = receive_key(buf, interval);
	GenieKey	hi = {NULL, 0};
	GenieKey	prefix = lo;
	GenieKey	value;
	uint32		dimension;
	GenieFamily family;
	bool		lo_after = flags & GENIE_QUERY_LO_AFTER;
	bool		hi_after = flags & GENIE_QUERY_HI_AFTER;
	bool		valid;

	if (!genie_key_split(lo, &dimension, &family, &value))
		malformed(interval);
	valid = genie_value_valid(family, value.data, value.len);
	if (flags == GENIE_QUERY_POINT)
	{
		if (!valid)
			malformed(interval);
		genie_query_add_point(builder, lo);
		return;
	}
	if ((flags & ~(GENIE_QUERY_LO_AFTER | GENIE_QUERY_HI_AFTER)) != 0 || only_points ||
		!GENIE_FAMILY_IS_ORDERED(family))
		malformed(interval);
	if (value.len == 0 && !lo_after)
		lo.data = NULL;			/* unbounded */
	else if (!valid)
		malformed(interval);

	hi = receive_key(buf, interval);
	prefix.len -= value.len;
	if (hi.len < prefix.len || memcmp(hi.data, prefix.data, prefix.len - 1) != 0)
		malformed(interval);
	if (hi.data[prefix.len - 1] == family + 1 && hi.len == prefix.len && !hi_after)
		hi.data = NULL;			/* unbounded */
	else if (hi.data[prefix.len - 1] != family || hi.len > prefix.len + GENIE_VALUE_BYTES ||
			 !genie_value_valid(family, hi.data + prefix.len, hi.len - prefix.len))
		malformed(interval);
	genie_query_add_range(builder, prefix, lo, lo_after, hi, hi_after);
}

static void
receive_threshold(StringInfo buf, uint16 *strategy, float8 *max_distance)
{
	*strategy = pq_getmsgint(buf, sizeof(uint16));
	*max_distance = pq_getmsgfloat8(buf);
	if (*strategy != GENIE_JACCARD_STRATEGY || !(*max_distance >= 0 && *max_distance <= 1) ||
		1.0 - (1.0 - *max_distance) != *max_distance)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid threshold in external \"genie_query\" value")));
}

Datum
genie_query_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			version = pq_getmsgbyte(buf);
	int32		min_match;
	uint32		n;
	uint16		strategy = 0;
	float8		max_distance = 0;
	GenieQueryBuilder builder;
	GenieQuery *query;

	if (version != GENIE_QUERY_VERSION && version != GENIE_QUERY_VERSION_THRESHOLD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("unsupported version %d of external \"genie_query\" value", version)));
	min_match = pq_getmsgint(buf, sizeof(int32));
	if (min_match < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid min_match in external \"genie_query\" value")));
	if (version == GENIE_QUERY_VERSION_THRESHOLD)
		receive_threshold(buf, &strategy, &max_distance);
	n = pq_getmsgint(buf, sizeof(uint32));
	genie_query_begin(&builder);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		receive_interval(buf, i, strategy != 0, &builder);
	}
	query = genie_query_finish(&builder, min_match);
	query->distance_strategy = strategy;
	query->max_distance = max_distance;
	PG_RETURN_POINTER(query);
}

Datum
genie_query_send(PG_FUNCTION_ARGS)
{
	GenieQuery *query = PG_GETARG_GENIE_QUERY(0);
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendbyte(&buf, query->distance_strategy == 0 ? GENIE_QUERY_VERSION : GENIE_QUERY_VERSION_THRESHOLD);
	pq_sendint32(&buf, query->min_match);
	if (query->distance_strategy != 0)
	{
		pq_sendint16(&buf, query->distance_strategy);
		pq_sendfloat8(&buf, query->max_distance);
	}
	pq_sendint32(&buf, query->n);
	pq_sendbytes(&buf, (const char *) query->body, VARSIZE(query) - offsetof(GenieQuery, body));
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* ---- constructors that need no other type ---- */

/* genie_query(genie_object) */
Datum
genie_query_from_object(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(genie_query_of_object(PG_GETARG_VARLENA_PP(0), 1));
}

/* genie_jaccard_query(genie_object, similarity) */
Datum
genie_jaccard_query_from_object(PG_FUNCTION_ARGS)
{
	GenieQuery *query = genie_query_of_object(PG_GETARG_VARLENA_PP(0), 0);

	genie_query_limit_jaccard(query, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(query);
}

/* genie_with_min_match(genie_query, int) */
Datum
genie_query_with_min_match(PG_FUNCTION_ARGS)
{
	GenieQuery *query = (GenieQuery *) PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
	int32		min_match = PG_GETARG_INT32(1);

	genie_query_check_min_match(min_match);
	query->min_match = min_match;
	PG_RETURN_POINTER(query);
}

/*
 * genie_pending_stream.c
 *	  The rows of the pending list in scan order.
 *
 * Each row is counted against the queries when its page is read, which is cheap because the list is bounded.  Where
 * the ranking query has one interval a dimension, as for signatures, reading the row counts it (genie_packed_count).
 * What qualifies is 24 bytes in a heap (genie_heap.h), which costs a logarithm for each row that the scan really
 * takes.
 *
 * Reading and ranking are two steps: bounds can be compiled only when the sizes of all rows are known.
 *
 * A raw row of an exact class is ranked by the key that it will have in a segment: its value is made here.
 *
 * A raw row of a coarse class is counted as all others: a query that was compiled for bins counts a raw keyword as its
 * bin.
 *
 * A raw row of an approximate class (genie_signer.h) is not counted.  If it is a vector, its distance is computed from
 * the record, and it comes before all rows that are counted.  Otherwise it is signed, and its signature counted.  In an
 * untrained index it counts 0, as all do.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_heap.h"
#include "genie_pending.h"
#include "genie_pending_stream.h"
#include "genie_value_order.h"

static inline bool
genie_pending_hit_before(const GeniePendingHit *a, const GeniePendingHit *b)
{
	return a->key > b->key || (a->key == b->key && a->tid < b->tid);
}

/* the first in scan order on top */
#define GENIE_PENDING_HIT_BEHIND(a, b) genie_pending_hit_before(b, a)
GENIE_HEAP(genie_pending_heap, GeniePendingHit, GENIE_PENDING_HIT_BEHIND)

/* How many of the row's keywords match. */
static uint32
genie_pending_count(const GenieQueryView *query, const GeniePendingRow *row, GenieConflicts *conflicts)
{
	bool		conflict = false;
	GenieKey	key;
	uint32		count = genie_query_count_packed(query, row->packed, row->n, &conflict, &key);

	if (conflict)
		genie_conflicts_add(conflicts, query, row->tid, key);
	return count;
}

/* A raw row's key: that of its signature's count, or GENIE_KEY_RAW and a bound of its distance. */
static int32
genie_pending_rank_raw(const GenieScanQuery *query, const GeniePendingRow *row, float *nearest)
{
	GenieRaw	raw = {.bytes = row->packed, .n = row->n, .size = row->size};
	GenieSignature signature;
	bool		conflict = false;

	if (query->parameters == NULL)
		return 0;
	if (query->raw_measure != NULL)
	{
		*nearest = query->raw_measure->bound(query->raw_measure->arg, &raw);
		return GENIE_KEY_RAW;
	}
	signature = query->signer->sign(query->signer, query->parameters, &raw);
	return (int32) genie_query_count_packed(query->order, signature.bytes, signature.n, &conflict, NULL);
}

/* The key of a raw row's value; one of another length has the largest, or without pivots. */
static int32
genie_pending_rank_value(const GenieValueScan *values, const GeniePendingRow *row)
{
	GenieRaw	raw = {.bytes = row->packed, .n = row->n, .size = row->size};
	uint32		key = GENIE_VALUE_KEY_MAX;

	if (genie_value_order_record(values->index, values->parameters, values->shape, &raw, values->record))
		genie_value_keys(values->query, values->record, 1, &key);
	return (int32) key;
}

/* Keeps the row if it fulfils the conditions. */
static void
genie_pending_take(GeniePendingStream *stream, const GenieScanQuery *query, const GeniePendingRow *row,
				   GenieConflicts *conflicts)
{
	bool		is_null = (row->flags & GENIE_FRAGMENT_NULL) != 0;
	bool		is_raw = (row->flags & GENIE_FRAGMENT_RAW) != 0;
	bool		fulfils = !is_null || !query->excludes_nulls;
	GeniePendingHit found = {.size = row->size, .tid = row->tid};

	if (is_null && (query->order != NULL || query->values != NULL))
		found.key = GENIE_KEY_NULL;
	else if (query->values != NULL)
		found.key = genie_pending_rank_value(query->values, row);
	else if (query->order != NULL && is_raw)
		found.key = genie_pending_rank_raw(query, row, &found.nearest);
	else if (query->order != NULL)
		found.key = row->count >= 0 ? row->count : (int32) genie_pending_count(query->order, row, conflicts);
	for (int i = 0; i < query->n_conditions; i++)
	{
		const GenieScanCondition *condition = &query->conditions[i];
		bool		any = false;

		for (uint32 j = 0; j < condition->n; j++)	/* all: each may be in conflict */
		{
			uint32		matches = is_raw ? 0 : genie_pending_count(condition->queries[j], row, conflicts);

			any |= matches >= (uint32) condition->queries[j]->min_match;
		}
		fulfils &= any;
	}
	if (!fulfils)
		return;
	if (stream->n == stream->capacity)
	{
		stream->capacity *= 2;
		stream->hits = repalloc_huge(stream->hits, (Size) stream->capacity * sizeof(GeniePendingHit));
	}
	stream->hits[stream->n++] = found;
	if (!is_null)
	{
		stream->min_size = Min(stream->min_size, row->size);
		stream->max_size = Max(stream->max_size, row->size);
	}
}

bool
genie_pending_stream_open(GeniePendingStream *stream, Relation index, const GenieMetaData *meta,
						  const GenieScanQuery *query, GenieConflicts *conflicts)
{
	GeniePendingScan *scan = genie_pending_scan_begin(index, meta);
	GeniePendingRow row;
	bool		stale;

	if (query->order != NULL && query->order->numbers != NULL && query->order->numbers->has_dimensions)
		scan->numbers = query->order->numbers;
	stream->n = 0;
	stream->n_read = 0;
	stream->min_size = PG_UINT32_MAX;
	stream->max_size = 0;
	stream->capacity = 256;
	stream->hits = palloc(stream->capacity * sizeof(GeniePendingHit));
	while (genie_pending_next_row(scan, &row))
	{
		stream->n_read++;
		if ((row.flags & GENIE_FRAGMENT_DEAD) != 0)
			continue;
		if (query->is_coarse)
			row.flags &= ~GENIE_FRAGMENT_RAW;
		genie_pending_take(stream, query, &row, conflicts);
	}
	stale = scan->stale;
	genie_pending_scan_end(scan);
	return !stale;
}

void
genie_pending_stream_rank(GeniePendingStream *stream, const GenieScanQuery *query,
						  const GenieScanPosition *position)
{
	GeniePendingHit last = {.key = position->key, .tid = position->tid};
	uint32		n = 0;

	for (uint32 i = 0; i < stream->n; i++)
	{
		GeniePendingHit hit = stream->hits[i];

		if (query->bound != NULL && hit.key != GENIE_KEY_NULL)
		{
			hit.key = (int32) genie_bound_key(query->bound, hit.size, (uint32) hit.key);
			if (hit.key == 0)
				continue;		/* not wanted */
		}
		if (!position->has_position || genie_pending_hit_before(&last, &hit))
			genie_pending_heap_add(stream->hits, n++, hit);
	}
	stream->n = n;
}

void
genie_pending_stream_next(GeniePendingStream *stream)
{
	Assert(stream->n > 0);
	stream->n--;
	genie_pending_heap_replace(stream->hits, stream->n, stream->hits[stream->n]);
}

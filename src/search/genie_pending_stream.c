/*
 * genie_pending_stream.c
 *	  The rows of the pending list in scan order.
 *
 * Each row is counted against the queries when its page is read, which is cheap because the list is bounded.
 * What qualifies is 16 bytes in a heap (genie_heap.h), which costs a logarithm for each row that the scan really
 * takes.
 *
 * Reading and ranking are two steps: bounds can be compiled only when the sizes of all rows are known.
 *
 * A raw row of an approximate class (genie_signer.h) is signed, and its signature counted; in an untrained index it
 * counts 0, as all do.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_heap.h"
#include "genie_pending.h"
#include "genie_pending_stream.h"

/* A row while its fragments are read. */
typedef struct GenieRowCounts
{
	uint64		tid;
	bool		is_null;
	uint16		size;
	uint32		order;
	uint32	   *conditions;		/* one a condition */
	uint32		n_raw;			/* keywords of a raw row */
} GenieRowCounts;

static inline bool
genie_pending_hit_before(const GeniePendingHit *a, const GeniePendingHit *b)
{
	return a->key > b->key || (a->key == b->key && a->tid < b->tid);
}

/* the first in scan order on top */
#define GENIE_PENDING_HIT_BEHIND(a, b) genie_pending_hit_before(b, a)
GENIE_HEAP(genie_pending_heap, GeniePendingHit, GENIE_PENDING_HIT_BEHIND)

/* Counts one fragment into the row. */
static void
genie_pending_count(const GenieScanQuery *query, const GeniePendingFragment *fragment,
					const uint8 *packed, GenieRowCounts *row, GenieConflicts *conflicts)
{
	bool		conflict = false;
	GenieKey	key;

	if (query->order != NULL)
	{
		row->order += genie_query_count_packed(query->order, packed, fragment->n, &conflict, &key);
		if (conflict)
			genie_conflicts_add(conflicts, query->order, row->tid, key);
	}
	for (int i = 0; i < query->n_conditions; i++)
	{
		conflict = false;
		row->conditions[i] += genie_query_count_packed(query->conditions[i], packed, fragment->n,
													   &conflict, &key);
		if (conflict)
			genie_conflicts_add(conflicts, query->conditions[i], row->tid, key);
	}
}

/* Keeps the complete row if it fulfils the conditions. */
static void
genie_pending_keep(GeniePendingStream *stream, const GenieScanQuery *query, const GenieRowCounts *row)
{
	GeniePendingHit *hit;

	if (row->is_null && query->excludes_nulls)
		return;
	for (int i = 0; i < query->n_conditions; i++)
		if (row->conditions[i] < (uint32) query->conditions[i]->min_match)
			return;
	if (stream->n == stream->capacity)
	{
		stream->capacity *= 2;
		stream->hits = repalloc_huge(stream->hits, (Size) stream->capacity * sizeof(GeniePendingHit));
	}
	hit = &stream->hits[stream->n++];
	hit->key = row->is_null && query->order != NULL ? GENIE_KEY_NULL : (int32) row->order;
	hit->size = row->size;
	hit->tid = row->tid;
	if (!row->is_null)
	{
		stream->min_size = Min(stream->min_size, row->size);
		stream->max_size = Max(stream->max_size, row->size);
	}
}

/* Collects a fragment of a raw row, and counts the signature of the row that is complete. */
static void
genie_pending_count_raw(const GenieScanQuery *query, const GeniePendingFragment *fragment, const uint8 *packed,
						StringInfo raw_bytes, GenieRowCounts *row)
{
	GenieRaw	raw;
	GenieSignature signature;
	bool		conflict = false;

	appendBinaryStringInfo(raw_bytes, (const char *) packed, fragment->nbytes);
	row->n_raw += fragment->n;
	if ((fragment->flags & GENIE_FRAGMENT_MORE) != 0)
		return;
	raw.bytes = (const uint8 *) raw_bytes->data;
	raw.n = row->n_raw;
	raw.size = row->size;
	signature = query->signer->sign(query->signer, query->parameters, &raw);
	row->order = genie_query_count_packed(query->order, signature.bytes, signature.n, &conflict, NULL);
	resetStringInfo(raw_bytes);
}

bool
genie_pending_stream_open(GeniePendingStream *stream, Relation index, const GenieMetaData *meta,
						  const GenieScanQuery *query, GenieConflicts *conflicts)
{
	GeniePendingScan *scan = palloc(sizeof(GeniePendingScan));
	GenieRowCounts row = {0};
	bool		open = false;	/* the row in hand goes on in the next fragment */
	bool		dead = false;	/* a fragment of it is: VACUUM may be marking it just now */
	StringInfoData raw;			/* fragments of a raw row */

	stream->n = 0;
	stream->min_size = PG_UINT32_MAX;
	stream->max_size = 0;
	stream->capacity = 256;
	stream->hits = palloc(stream->capacity * sizeof(GeniePendingHit));
	initStringInfo(&raw);
	row.conditions = palloc0((query->n_conditions + 1) * sizeof(uint32));

	genie_pending_scan(scan, index, meta);
	while (genie_pending_next_page(scan))
	{
		GeniePendingFragment fragment;
		const uint8 *packed;

		while (genie_pending_next_fragment(scan, &fragment, &packed))
		{
			if (!open)
			{
				dead = false;
				row.tid = genie_tid_number(&fragment.tid);
				row.is_null = (fragment.flags & GENIE_FRAGMENT_NULL) != 0;
				row.size = fragment.size;
				row.order = 0;
				row.n_raw = 0;
				resetStringInfo(&raw);
				memset(row.conditions, 0, query->n_conditions * sizeof(uint32));
			}
			dead |= (fragment.flags & GENIE_FRAGMENT_DEAD) != 0;
			if (dead)
				 /* it is not wanted */ ;
			else if ((fragment.flags & GENIE_FRAGMENT_RAW) == 0)
				genie_pending_count(query, &fragment, packed, &row, conflicts);
			else if (query->parameters != NULL && query->order != NULL)
				genie_pending_count_raw(query, &fragment, packed, &raw, &row);
			open = (fragment.flags & GENIE_FRAGMENT_MORE) != 0;
			if (!open && !dead)
				genie_pending_keep(stream, query, &row);
		}
	}
	if (scan->stale)
		return false;
	pfree(scan);
	return true;
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

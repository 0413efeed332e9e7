/*
 * genie_pending_stream.c
 *	  The rows of the pending list in scan order.
 *
 * Each row is counted against the queries as its page is read; the bounded list makes that cheap.
 * What qualifies is 16 bytes in a binary heap, which is built in linear time and costs a
 * logarithm for each row that the scan really takes.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_pending.h"
#include "genie_pending_stream.h"

/* A row while its fragments are read. */
typedef struct GenieRowCounts
{
	uint64		tid;
	bool		is_null;
	uint32		order;
	uint32	   *conditions;		/* one a condition */
} GenieRowCounts;

static inline bool
genie_hit_before(const GeniePendingHit *a, const GeniePendingHit *b)
{
	return a->count > b->count || (a->count == b->count && a->tid < b->tid);
}

static void
genie_pending_sift_down(GeniePendingHit *hits, uint32 n, uint32 at)
{
	GeniePendingHit moving = hits[at];

	for (;;)
	{
		uint32		child = 2 * at + 1;

		if (child >= n)
			break;
		if (child + 1 < n && genie_hit_before(&hits[child + 1], &hits[child]))
			child++;
		if (!genie_hit_before(&hits[child], &moving))
			break;
		hits[at] = hits[child];
		at = child;
	}
	hits[at] = moving;
}

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

/* Keeps the complete row if it qualifies. */
static void
genie_pending_keep(GeniePendingStream *stream, const GenieScanQuery *query,
				   const GenieScanPosition *position, const GenieRowCounts *row)
{
	GeniePendingHit hit;

	if (row->is_null && query->n_conditions > 0)
		return;
	for (int i = 0; i < query->n_conditions; i++)
		if (row->conditions[i] < (uint32) query->conditions[i]->min_match)
			return;
	hit.count = row->is_null && query->order != NULL ? GENIE_COUNT_NULL : (int32) row->order;
	hit.tid = row->tid;
	if (position->has_position)
	{
		GeniePendingHit last = {position->count, position->tid};

		if (!genie_hit_before(&last, &hit))
			return;
	}
	if (stream->n == stream->capacity)
	{
		stream->capacity *= 2;
		stream->hits = repalloc_huge(stream->hits, (Size) stream->capacity * sizeof(GeniePendingHit));
	}
	stream->hits[stream->n++] = hit;
}

bool
genie_pending_stream_open(GeniePendingStream *stream, Relation index, const GenieMetaData *meta,
						  const GenieScanQuery *query, const GenieScanPosition *position,
						  GenieConflicts *conflicts)
{
	GeniePendingScan *scan = palloc(sizeof(GeniePendingScan));
	GenieRowCounts row = {0};
	bool		open = false;	/* the row in hand goes on in the next fragment */
	bool		dead = false;	/* a fragment of it is: VACUUM may be marking it just now */

	stream->n = 0;
	stream->capacity = 256;
	stream->hits = palloc(stream->capacity * sizeof(GeniePendingHit));
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
				row.order = 0;
				memset(row.conditions, 0, query->n_conditions * sizeof(uint32));
			}
			dead |= (fragment.flags & GENIE_FRAGMENT_DEAD) != 0;
			if (!dead)
				genie_pending_count(query, &fragment, packed, &row, conflicts);
			open = (fragment.flags & GENIE_FRAGMENT_MORE) != 0;
			if (!open && !dead)
				genie_pending_keep(stream, query, position, &row);
		}
	}
	if (scan->stale)
		return false;
	for (uint32 i = stream->n / 2; i-- > 0;)
		genie_pending_sift_down(stream->hits, stream->n, i);
	pfree(scan);
	return true;
}

void
genie_pending_stream_next(GeniePendingStream *stream)
{
	Assert(stream->n > 0);
	stream->hits[0] = stream->hits[--stream->n];
	if (stream->n > 1)
		genie_pending_sift_down(stream->hits, stream->n, 0);
}

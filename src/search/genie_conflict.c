/*
 * genie_conflict.c
 *	  Finds and reports rows that have another type in a dimension than a query asks for (genie_conflict.h).
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_codec.h"
#include "genie_conflict.h"
#include "genie_dictionary.h"
#include "genie_match.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_segment_query.h"
#include "genie_text.h"
#include "genie_visit.h"

void
genie_conflicts_add(GenieConflicts *conflicts, const GenieQueryView *query, uint64 tid, GenieKey key)
{
	GenieConflict *conflict;

	if (genie_family_name(key.data[genie_key_prefix_len(key) - 1]) == NULL)
		genie_report_corrupt(conflicts->scan->indexRelation, GENIE_META_BLOCK, "a keyword of no type family");
	if (conflicts->list == NULL)
		conflicts->list = palloc(GENIE_CONFLICTS_BATCH * sizeof(GenieConflict));
	if (conflicts->n == GENIE_CONFLICTS_BATCH)
		genie_conflicts_report(conflicts);
	conflict = &conflicts->list[conflicts->n++];
	conflict->query = query;
	conflict->tid = tid;
	memcpy(conflict->prefix, key.data, genie_key_prefix_len(key));
}

/* Adds the live objects that have keywords of the key's dimension and family. */
static bool
genie_conflicts_take(GenieConflicts *conflicts, GenieSegment *segment,
					 const GenieQueryView *query, GenieKey key)
{
	uint32		len = genie_key_prefix_len(key);
	uint8		next[GENIE_DIMENSION_BYTES + 1];
	GenieInterval interval = {{key.data, len}, {next, len}, false, false};
	GenieQueryView family = {.min_match = 1, .n_intervals = 1, .intervals = &interval};
	uint32		n = segment->header.n_objects;
	Size		memory = work_mem * (Size) 1024;
	GenieSource *source = genie_source_of_pages(segment, &memory);
	const uint64 *live;
	GenieObjectReader *objects = palloc(sizeof(GenieObjectReader));

	memcpy(next, key.data, len);
	next[len - 1]++;
	if (!genie_source_add_condition(source, &family) || !genie_source_qualified(source, &live))
		return false;
	genie_object_table_reader(objects, segment, true);
	for (uint32 i = 0; i < n; i++)
	{
		const GenieTileObjects *tile;
		bool		is_null;

		CHECK_FOR_INTERRUPTS();
		if ((live[i / 64] >> (i % 64) & 1) == 0)
			continue;
		tile = genie_object_table_tile(objects, i >> GENIE_TILE_SHIFT);
		if (tile == NULL)
			return false;
		genie_conflicts_add(conflicts, query,
							genie_object_table_tid(tile, i & (GENIE_TILE_OBJECTS - 1), &is_null), key);
	}
	return true;
}

/* Looks through one dimension of the dictionary for families that the query does not ask for. */
static bool
genie_conflicts_find_dimension(GenieConflicts *conflicts, GenieSegment *segment,
							   const GenieQueryView *query, GenieDictionaryCursor *cursor,
							   uint32 dimension)
{
	uint8		prefix[GENIE_DIMENSION_BYTES + 1];
	size_t		len = genie_key_put_dimension(prefix, dimension);
	GenieKey	from = {prefix, (uint32) len};

	if (!genie_dictionary_seek(cursor, from, false))
		return false;
	while (cursor->valid && cursor->key.len > len && memcmp(cursor->key.data, prefix, len) == 0)
	{
		if (genie_query_conflicts(query, cursor->key) &&
			!genie_conflicts_take(conflicts, segment, query, cursor->key))
			return false;

		/* on to the next family */
		prefix[len] = cursor->key.data[len] + 1;
		from.len = (uint32) len + 1;
		if (!genie_dictionary_seek(cursor, from, false))
			return false;
	}
	return true;
}

bool
genie_conflicts_find(GenieConflicts *conflicts, GenieSegment *segment, const GenieQueryView *query)
{
	GenieDictionaryCursor *cursor = palloc(sizeof(GenieDictionaryCursor));
	int64		last = -1;
	bool		ok = true;

	genie_dictionary_cursor(cursor, segment);
	for (uint32 i = 0; ok && i < query->n_intervals; i++)
	{
		uint32		dimension;

		CHECK_FOR_INTERRUPTS();
		if (genie_key_get_dimension(query->intervals[i].lo.data, query->intervals[i].lo.len,
									&dimension) == 0)
			elog(ERROR, "malformed key in a query");
		if (dimension == last)
			continue;
		last = dimension;
		ok = genie_conflicts_find_dimension(conflicts, segment, query, cursor, dimension);
	}
	pfree(cursor);
	return ok;
}

void
genie_conflicts_report(GenieConflicts *conflicts)
{
	IndexScanDesc scan = conflicts->scan;
	Relation	heap = scan->heapRelation;
	bool		opened = heap == NULL;
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;
	BlockNumber n_blocks = 0;

	if (conflicts->n == 0)
		return;
	if (opened)					/* a bitmap scan does not bring its table */
		heap = table_open(IndexGetRelation(RelationGetRelid(scan->indexRelation), false),
						  AccessShareLock);
	fetch = table_index_fetch_begin(heap);
	slot = table_slot_create(heap, NULL);
	for (uint32 i = 0; i < conflicts->n; i++)
	{
		const GenieConflict *conflict = &conflicts->list[i];
		ItemPointerData tid;
		bool		call_again = false;

		genie_tid_from_number(conflict->tid, &tid);
		genie_visit_check_block(heap, scan->indexRelation, ItemPointerGetBlockNumber(&tid), &n_blocks);
		if (table_index_fetch_tuple(fetch, &tid, scan->xs_snapshot, slot, &call_again, NULL))
		{
			GenieKey	key = {conflict->prefix, sizeof(conflict->prefix)};

			genie_report_conflict(conflict->query, key);
		}
		CHECK_FOR_INTERRUPTS();
	}
	conflicts->n = 0;
	ExecDropSingleTupleTableSlot(slot);
	table_index_fetch_end(fetch);
	if (opened)
		table_close(heap, AccessShareLock);
}

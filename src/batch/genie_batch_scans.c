/*
 * genie_batch_scans.c
 *	  Queries of genie_search() by distance and of genie_within() that are index scans of their own, one after the
 *	  other.
 *
 * They are all queries of an index whose operator class does not learn, and those that a batch cannot answer
 * (genie_batch_nearest.c, genie_batch_exact.c).
 *
 * genie_within() needs no condition of the operator class: a scan in the order of the distance ends at the first row
 * that is farther.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/tuplesort.h"

#include "genie_batch_nearest.h"
#include "genie_object_table.h"
#include "genie_scan.h"
#include "genie_vector_value.h"

/* ---- of an approximate class: its first rows, sorted ---- */

/* A sort of rows (distance, TID in the index, own TID), NULL last, of which only the first k are wanted. */
static Tuplesortstate *
genie_scans_begin_sort(TupleDesc rows, uint32 k)
{
	AttrNumber	columns[] = {1, 2};
	Oid			operators[] = {Float8LessOperator, TIDLessOperator};
	Oid			collations[] = {InvalidOid, InvalidOid};
	bool		nulls_first[] = {false, false};
	Tuplesortstate *sort = tuplesort_begin_heap(rows, lengthof(columns), columns, operators, collations, nulls_first,
												work_mem, NULL, TUPLESORT_ALLOWBOUNDED);

	tuplesort_set_bound(sort, k);
	return sort;
}

/* Sorts the scan's first rows, as many as the query wants, and those beside them. */
static void
genie_scans_sort(GenieNearestSearch *search, IndexScanDesc scan, Tuplesortstate *sort, TupleTableSlot *slot)
{
	uint64		tid;
	uint64		live;

	for (uint64 i = 0; i < search->batch.want + (uint64) genie_scan_extras(scan) &&
		 genie_batch_scan_next(&search->batch, scan, &tid, &live); i++)
	{
		ItemPointerData tids[2];

		genie_tid_from_number(tid, &tids[0]);
		genie_tid_from_number(live, &tids[1]);
		ExecClearTuple(slot);
		slot->tts_isnull[0] = scan->xs_orderbynulls[0];
		slot->tts_values[0] = scan->xs_orderbyvals[0];
		for (int j = 0; j < lengthof(tids); j++)
		{
			slot->tts_isnull[1 + j] = false;
			slot->tts_values[1 + j] = PointerGetDatum(&tids[j]);
		}
		ExecStoreVirtualTuple(slot);
		tuplesort_puttupleslot(sort, slot);
	}
	tuplesort_performsort(sort);
}

/*
 * A scan has the same candidates as rounds would have, but gives them in several parts where work_mem is small.  With
 * a bit a dimension, a row may come behind one that is farther (genie_rabitq.h).  So they are sorted, which spills to
 * disk.
 */
static void
genie_scans_put_sorted(GenieNearestSearch *search, IndexScanDesc scan)
{
	TupleDesc	rows = CreateTemplateTupleDesc(3);
	TupleTableSlot *slot;
	Tuplesortstate *sort;

	TupleDescInitEntry(rows, 1, "distance", FLOAT8OID, -1, 0);
	TupleDescInitEntry(rows, 2, "root", TIDOID, -1, 0);
	TupleDescInitEntry(rows, 3, "tid", TIDOID, -1, 0);
	slot = MakeSingleTupleTableSlot(rows, &TTSOpsMinimalTuple);
	sort = genie_scans_begin_sort(rows, search->k);
	if (!search->batch.exact)
		genie_scan_want(scan, search->batch.want);
	genie_scans_sort(search, scan, sort, slot);
	for (uint32 i = 0; i < search->k && tuplesort_gettupleslot(sort, true, false, slot, NULL); i++)
	{
		slot_getallattrs(slot);
		genie_nearest_put_row(search, genie_tid_number((ItemPointer) DatumGetPointer(slot->tts_values[2])),
							  slot->tts_isnull[0] ? 0 : DatumGetFloat8(slot->tts_values[0]), slot->tts_isnull[0]);
	}
	tuplesort_end(sort);
	ExecDropSingleTupleTableSlot(slot);
}

/* ---- of others: in order ---- */

static void
genie_scans_put_ordered(GenieNearestSearch *search, IndexScanDesc scan, uint32 i)
{
	uint64		tid;
	uint64		live;

	genie_scan_allow_all_errors(scan);
	for (uint32 n = 0; search->radii != NULL || n < search->k; n++)
	{
		bool		is_null;
		double		distance;

		if (!genie_batch_scan_next(&search->batch, scan, &tid, &live))
			break;
		is_null = scan->xs_orderbynulls[0];
		distance = is_null ? 0 : DatumGetFloat8(scan->xs_orderbyvals[0]);
		if (search->radii != NULL && (is_null || !(distance <= genie_nearest_radius(search, i))))
			break;
		genie_nearest_put_row(search, live, distance, is_null);
	}
}

void
genie_scans_put(GenieNearestSearch *search, uint32 i)
{
	GenieBatch *batch = &search->batch;
	IndexScanDesc scan = genie_batch_own_scan(batch, batch->queries[i]);

	if (batch->exact && (search->radii != NULL || !genie_rabitq_index(batch->index)))
		genie_scans_put_ordered(search, scan, i);
	else
		genie_scans_put_sorted(search, scan);
}

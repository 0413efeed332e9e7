/*
 * genie_other_table.c
 *	  A table access method that is not heap, as far as others can tell: heap's functions in a table of its own.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "fmgr.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(genie_other_table_handler);

/* Heap's function insists on a heap; nobody else looks meanwhile. */
static double
other_table_build_range_scan(Relation table, Relation index, struct IndexInfo *info, bool allow_sync, bool anyvisible,
							 bool progress, BlockNumber first, BlockNumber n_blocks, IndexBuildCallback callback,
							 void *state, TableScanDesc scan)
{
	const TableAmRoutine *own = table->rd_tableam;
	double		n_rows;

	table->rd_tableam = GetHeapamTableAmRoutine();
	n_rows = table->rd_tableam->index_build_range_scan(table, index, info, allow_sync, anyvisible, progress, first,
													   n_blocks, callback, state, scan);
	table->rd_tableam = own;
	return n_rows;
}

Datum
genie_other_table_handler(PG_FUNCTION_ARGS)
{
	static TableAmRoutine routine;

	routine = *GetHeapamTableAmRoutine();
	routine.index_build_range_scan = other_table_build_range_scan;
	PG_RETURN_POINTER(&routine);
}

/*
 * genie_batch_parts.c
 *	  genie_search_parts(): the best k rows of all partitions for each of many queries, by a partitioned index.
 *
 * Each partition at whatever depth is searched as genie_search() would search its index, with the same functions, and
 * what it gives is merged with what those before it gave (genie_batch_output.c).  So a query's rows are the best k of
 * each partition's best k: by match count or an exact class, those of one table that has the rows of all.  Of an
 * approximate class, each partition has candidates of its own.
 *
 * Order.  By match count or distance, rows with NULL last.  Rows that are equal come in the order of their partitions,
 * which is that of the bounds, with a default partition last; within a partition, in genie_search()'s.
 *
 * Locks.  All partitions and their indexes are opened and checked before the first is searched, and closed after the
 * last (genie_access.c).  So an index that is missing or not valid is reported before anything is counted.
 *
 * Memory.  A partition's search has a memory context, which goes with it.  Segments of one partition are open at a
 * time.  Rows are kept in tuplestores.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "genie_access.h"
#include "genie_batch.h"

Datum
genie_batch_call_parts(FunctionCallInfo fcinfo, GenieBatchSearch search)
{
	uint32		k = genie_batch_k(PG_GETARG_INT32(2));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "genie batch part", ALLOCSET_DEFAULT_SIZES);
	GenieAccessParts parts;
	GenieBatchOutput output;
	ListCell   *cell;

	genie_access_open_parts(PG_GETARG_OID(0), &parts);
	genie_batch_begin_output(&output, fcinfo);
	genie_batch_begin_parts(&output, k);
	foreach(cell, parts.leaves)
	{
		const GenieAccessPart *leaf = lfirst(cell);
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		genie_batch_begin_part(&output, RelationGetRelid(leaf->heap));
		search(fcinfo, leaf->heap, leaf->index, &output);
		genie_batch_end_part(&output);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	genie_batch_end_parts(&output);
	genie_batch_end_output(&output);
	genie_access_close_parts(&parts);
	MemoryContextDelete(context);
	return (Datum) 0;
}

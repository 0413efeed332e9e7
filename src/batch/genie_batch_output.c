/*
 * genie_batch_output.c
 *	  The rows of a batch search on their way into the result (genie_batch_output.h).
 *
 * Results have many rows, and forming a tuple takes longer than all else that is done for a row.  So one tuple is
 * formed, and each row is written over its columns.
 *
 * Parts.  Each partition gives the best k rows of each query, query by query, the best first.  So what one partition
 * gives and what those before it gave are two sequences in the same order, and are merged as rows come: the next of
 * the two is written to a third sequence, unless the query has k rows there.  Where two rows are equal, that of the
 * earlier partition comes first.
 *
 * Sequences are two tuplestores, which spill to disk beyond work_mem each: one is read, and the other is written; then
 * they change places.  The last one that was written becomes the result.  A part without rows leaves them as they are.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/float.h"

#include "genie_batch_output.h"
#include "genie_compat.h"
#include "genie_object_table.h"

/* Columns of a row, from the front and from the end. */
#define QUERY_COLUMN 0
#define PART_COLUMN 1			/* where there are parts */
#define TID_COLUMN(output) (1 + (output)->has_part)
#define VALUE_COLUMN(output) (2 + (output)->has_part)

void
genie_batch_begin_output(GenieBatchOutput *output, FunctionCallInfo fcinfo)
{
	ItemPointerData tid = {0};
	MinimalTuple tuple;
	TupleDesc	row;
	bool		should_free;
	uint32		n_bytes = 0;

	InitMaterializedSRF(fcinfo, 0);
	*output = (GenieBatchOutput) {.result = (ReturnSetInfo *) fcinfo->resultinfo};
	output->store = output->result->setResult;
	row = output->result->setDesc;
	output->has_part = row->natts == GENIE_OUTPUT_COLUMNS;
	output->is_count = TupleDescAttr(row, row->natts - 1)->atttypid == INT4OID;
	output->slot = MakeSingleTupleTableSlot(row, &TTSOpsMinimalTuple);
	memset(output->slot->tts_values, 0, row->natts * sizeof(Datum));
	memset(output->slot->tts_isnull, 0, row->natts * sizeof(bool));
	output->slot->tts_values[TID_COLUMN(output)] = PointerGetDatum(&tid);
	if (!output->is_count)
		output->slot->tts_values[VALUE_COLUMN(output)] = Float8GetDatum(0);
	ExecStoreVirtualTuple(output->slot);
	ExecMaterializeSlot(output->slot);
	tuple = ExecFetchSlotMinimalTuple(output->slot, &should_free);
	for (int i = 0; i < row->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(row, i);

		n_bytes = att_align_nominal(n_bytes, column->attalign);
		output->columns[i] = (char *) tuple - MINIMAL_TUPLE_OFFSET + tuple->t_hoff + n_bytes;
		n_bytes += column->attlen;
	}
	if (should_free || tuple->t_len != tuple->t_hoff - MINIMAL_TUPLE_OFFSET + n_bytes)
		elog(ERROR, "unexpected result tuple");
}

static void
write_row(GenieBatchOutput *output, uint32 query, uint64 live, Datum value, bool is_null)
{
	ItemPointer tid = (ItemPointer) output->columns[TID_COLUMN(output)];

	*(int32 *) output->columns[QUERY_COLUMN] = (int32) query;
	if (output->has_part)
		*(Oid *) output->columns[PART_COLUMN] = output->part;
	genie_tid_from_number(live, tid);
	if (is_null)
	{
		Datum		values[GENIE_OUTPUT_COLUMNS] = {Int32GetDatum((int32) query), ObjectIdGetDatum(output->part)};
		bool		nulls[GENIE_OUTPUT_COLUMNS] = {false};

		values[TID_COLUMN(output)] = PointerGetDatum(tid);
		values[VALUE_COLUMN(output)] = (Datum) 0;
		nulls[VALUE_COLUMN(output)] = true;
		tuplestore_putvalues(output->store, output->result->setDesc, values, nulls);
		return;
	}
	if (output->is_count)
		*(int32 *) output->columns[VALUE_COLUMN(output)] = DatumGetInt32(value);
	else
		*(float8 *) output->columns[VALUE_COLUMN(output)] = DatumGetFloat8(value);
	tuplestore_puttupleslot(output->store, output->slot);
}

/* Has the query room for another row, which is written if it has? */
static bool
take_room(GenieBatchOutput *output, uint32 query)
{
	if (output->query != query)
	{
		output->query = query;
		output->n_written = 0;
	}
	if (output->n_written == output->k)
		return false;
	output->n_written++;
	return true;
}

/* ---- parts ---- */

static void
next_kept(GenieBatchOutput *output)
{
	if (tuplestore_gettupleslot(output->kept, true, false, output->next))
		slot_getallattrs(output->next);
}

/* Does the kept row come before that one? */
static bool
is_before(const GenieBatchOutput *output, uint32 query, Datum value, bool is_null)
{
	const int	column = VALUE_COLUMN(output);
	uint32		kept_query = (uint32) DatumGetInt32(output->next->tts_values[QUERY_COLUMN]);
	Datum		kept = output->next->tts_values[column];

	if (kept_query != query)
		return kept_query < query;
	if (is_null || output->next->tts_isnull[column])
		return is_null;
	if (output->is_count)
		return DatumGetInt32(kept) >= DatumGetInt32(value);
	return float8_le(DatumGetFloat8(kept), DatumGetFloat8(value));
}

static void
write_kept(GenieBatchOutput *output)
{
	if (take_room(output, (uint32) DatumGetInt32(output->next->tts_values[QUERY_COLUMN])))
		tuplestore_puttupleslot(output->store, output->next);
	next_kept(output);
}

void
genie_batch_put_row(GenieBatchOutput *output, uint32 query, uint64 live, Datum value, bool is_null)
{
	if (output->has_part)
	{
		if (!output->has_rows)
			next_kept(output);
		output->has_rows = true;
		while (!TTS_EMPTY(output->next) && is_before(output, query, value, is_null))
			write_kept(output);
		if (!take_room(output, query))
			return;
	}
	write_row(output, query, live, value, is_null);
}

void
genie_batch_begin_parts(GenieBatchOutput *output, uint32 k)
{
	ReturnSetInfo *result = output->result;
	MemoryContext old = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);

	output->k = k;
	output->kept = result->setResult;
	output->store = tuplestore_begin_heap((result->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
	MemoryContextSwitchTo(old);
	output->next = MakeSingleTupleTableSlot(result->setDesc, &TTSOpsMinimalTuple);
}

void
genie_batch_begin_part(GenieBatchOutput *output, Oid part)
{
	output->part = part;
	output->has_rows = false;
	output->query = 0;
}

void
genie_batch_end_part(GenieBatchOutput *output)
{
	Tuplestorestate *written = output->store;

	if (!output->has_rows)
		return;
	while (!TTS_EMPTY(output->next))
	{
		CHECK_FOR_INTERRUPTS();
		write_kept(output);
	}
	output->store = output->kept;
	output->kept = written;
	tuplestore_clear(output->store);
}

void
genie_batch_end_parts(GenieBatchOutput *output)
{
	ExecDropSingleTupleTableSlot(output->next);
	tuplestore_end(output->store);
	output->result->setResult = output->kept;
}

void
genie_batch_end_output(GenieBatchOutput *output)
{
	ExecDropSingleTupleTableSlot(output->slot);
}

/*
 * genie_build_runs.c
 *	  Runs: how one process of a build collects its share of the table.
 *
 * Every row is decomposed and goes into the in-memory inverted index (genie_builder.c), NULL rows too.  When
 * the memory is used up, the contents are spilled as a *run* (genie_runs.h).
 *
 * Vectors of an approximate operator class are not decomposed one by one.  Rows wait until there are
 * GENIE_BUILD_AHEAD of them, or as many as fit their part of the memory, and are hashed together (genie_lsh_block.h),
 * their values beside them.  Whole heap pages of them come into lists together, too (genie_builder_add_codes()).
 *
 * A run has its rows in TID order.  A scan that goes backwards, which a table access method may do, begins a new run.
 * A parallel scan hands out pieces of the table in ascending order.  So the pieces of one process ascend,
 * as long as the scan begins at block 0 (genie_build_parallel.c).
 *
 * Nothing here writes to the index, with one exception: rows of an approximate operator class that has not been trained
 * are appended raw to the pending list.  There are few of them then, and a single process.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "genie_approximate.h"
#include "genie_build_phase.h"
#include "genie_build_runs.h"
#include "genie_builder.h"
#include "genie_learned.h"
#include "genie_lsh_block.h"
#include "genie_lsh_signature.h"
#include "genie_merge.h"
#include "genie_meta.h"
#include "genie_object_table.h"
#include "genie_opclass.h"
#include "genie_pending.h"
#include "genie_runs.h"
#include "genie_spilled_segment.h"

#define GENIE_BUILD_AHEAD 4096	/* rows that wait to be hashed, at most */
#define GENIE_BUILD_AHEAD_PART 8	/* they have this part of the memory, an eighth, unless one vector takes more */

struct GenieBuildRuns
{
	Relation	index;
	FmgrInfo   *decompose;
	Oid			collation;
	MemoryContext row_context;
	GenieKeywords keywords;
	GenieBuilder *builder;
	GenieLshBlock *block;		/* NULL: rows do not wait */
	uint32		n_waiting;
	GenieBuilderRow *waiting;	/* the block has the vectors and values of those that are not NULL, in this order */
	double		n_rows;
	bool		untrained;		/* rows are raw, and wait for what there is to learn */
	GenieSigner *signer;		/* of a class that learns */
	const bytea *parameters;	/* that it has learned */
	bool		raw;			/* rows are decomposed raw, and signed: values are made of raw ones */
	double		n_raw_rows;
	GenieSpillPlace place;
	GenieRuns  *spilled;
	int			n_parts;
	GenieSegment *parts[GENIE_PARTS_MAX];
};

static void
genie_build_runs_phase(bool merges)
{
	genie_build_phase(merges ? GENIE_PHASE_MERGE : GENIE_PHASE_WRITE);
}

GenieBuildRuns *
genie_build_runs_begin(Relation index, Size memory, FileSet *files, int process)
{
	GenieBuildRuns *runs = palloc0(sizeof(GenieBuildRuns));
	GenieValueShape shape = {0};

	runs->index = index;
	runs->decompose = index_getprocinfo(index, 1, GENIE_DECOMPOSE_PROC);
	runs->collation = index->rd_indcollation[0];
	runs->row_context = AllocSetContextCreate(CurrentMemoryContext, "genie build row",
											  ALLOCSET_DEFAULT_SIZES);
	genie_keywords_init(&runs->keywords);
	runs->keywords.index = index;
	if (genie_learns(index))
	{
		runs->parameters = genie_learned_parameters(index, genie_meta_read(index));
		runs->untrained = runs->parameters == NULL;
		runs->signer = genie_approximate_signer(index);
		shape = runs->signer->shape(runs->signer, runs->parameters);
		runs->keywords.raw = !runs->untrained && genie_is_exact(index);
		runs->raw = runs->keywords.raw || (genie_is_coarse(index) && shape.metric != 0);
		runs->keywords.parameters = runs->raw && !runs->keywords.raw ? NULL : runs->parameters;
	}
	if (genie_lsh_block_possible(index, runs->parameters))
	{
		runs->block = genie_lsh_block_begin(index, runs->parameters, shape, GENIE_BUILD_AHEAD,
											memory / GENIE_BUILD_AHEAD_PART);
		runs->waiting = palloc(GENIE_BUILD_AHEAD * sizeof(GenieBuilderRow));
		memory -= Min(genie_lsh_block_bytes(runs->block), memory / GENIE_BUILD_AHEAD_PART);
	}
	runs->builder = genie_builder_begin(memory, shape);
	runs->place.files = files;
	runs->place.process = process;
	runs->spilled = genie_runs_begin(index, &runs->place, genie_build_runs_phase);
	return runs;
}

void
genie_build_runs_end(GenieBuildRuns *runs)
{
	if (runs->block != NULL)
	{
		genie_lsh_block_end(runs->block);
		pfree(runs->waiting);
	}
	genie_builder_end(runs->builder);
	MemoryContextDelete(runs->row_context);
}

/* Writes the builder's contents to temporary files. */
static void
genie_build_runs_spill(GenieBuildRuns *runs)
{
	genie_runs_spill(runs->spilled, runs->builder);
	genie_build_phase(GENIE_PHASE_SCAN);
}

/* Appends a row that was decomposed into raw keywords to the pending list. */
static void
genie_build_runs_append_raw(GenieBuildRuns *runs, const ItemPointerData *tid)
{
	GenieKeywords *keywords = &runs->keywords;
	int32		size = genie_keywords_own_size(keywords);
	uint8		flags = size >= 0 ? GENIE_FRAGMENT_RAW | GENIE_FRAGMENT_SAME_SIZE : GENIE_FRAGMENT_RAW;
	uint32		n_pages;

	genie_keywords_finish(keywords);
	genie_pending_append(runs->index, tid, flags, keywords->bytes, keywords->n, keywords->nbytes,
						 size >= 0 ? (uint32) size : keywords->n, &n_pages);
	runs->n_raw_rows++;
	runs->n_rows++;
}

/* The keywords of the row in hand. */
static GenieSignature
genie_build_runs_keywords(const GenieBuildRuns *runs)
{
	const GenieKeywords *keywords = &runs->keywords;

	return (GenieSignature) {.bytes = keywords->bytes, .n = keywords->n, .size = genie_keywords_own_size(keywords)};
}

/* Adds a row.  value: its record; NULL: it has none. */
static void
genie_build_runs_add(GenieBuildRuns *runs, uint64 tid, bool is_null, GenieSignature row, const void *value)
{
	if (genie_builder_full(runs->builder))
		genie_build_runs_spill(runs);
	if (!genie_builder_add(runs->builder, tid, is_null, row.bytes, row.n, row.size, value))
	{
		/* the table access method goes backwards */
		genie_build_runs_spill(runs);
		if (!genie_builder_add(runs->builder, tid, is_null, row.bytes, row.n, row.size, value))
			elog(ERROR, "an empty builder refused a row");
	}
	runs->n_rows++;
}

/* Adds the row in hand, whose keywords are raw: what it is signed by, and its value. */
static void
genie_build_runs_add_raw(GenieBuildRuns *runs, uint64 tid)
{
	GenieSigner *signer = runs->signer;
	GenieKeywords *keywords = &runs->keywords;
	GenieRaw	raw;
	GenieSignature signature;

	genie_keywords_finish(keywords);
	raw = (GenieRaw) {.bytes = keywords->bytes, .n = keywords->n, .size = genie_keywords_own_size(keywords)};
	signature = signer->sign(signer, runs->parameters, &raw);
	genie_build_runs_add(runs, tid, false, signature, signer->value(signer, runs->parameters, &raw));
}

/* Adds waiting rows from first to end - 1, one by one.  *vector: the number of the next one's vector. */
static void
genie_build_runs_add_each(GenieBuildRuns *runs, uint32 first, uint32 end, uint32 *vector)
{
	for (uint32 i = first; i < end; i++)
	{
		const GenieBuilderRow *row = &runs->waiting[i];
		const void *value = NULL;

		CHECK_FOR_INTERRUPTS();
		genie_keywords_reset(&runs->keywords);
		if (!row->is_null)
		{
			value = genie_lsh_block_value(runs->block, *vector);
			genie_lsh_block_keywords(runs->block, (*vector)++, &runs->keywords);
		}
		genie_build_runs_add(runs, row->tid, row->is_null, genie_build_runs_keywords(runs), value);
	}
}

/* Adds waiting rows from first to end - 1 together, if the builder takes them so. */
static bool
genie_build_runs_add_together(GenieBuildRuns *runs, uint32 first, uint32 end, uint32 *vector)
{
	uint32		n_functions;
	const int32 *codes = genie_lsh_block_codes(runs->block, *vector, &n_functions);

	if (genie_builder_full(runs->builder))
		genie_build_runs_spill(runs);
	if (!genie_builder_add_codes(runs->builder, runs->waiting + first, end - first, codes, n_functions,
								 genie_lsh_block_value(runs->block, *vector), genie_lsh_key_of_code))
		return false;
	for (uint32 i = first; i < end; i++)
		*vector += !runs->waiting[i].is_null;
	runs->n_rows += end - first;
	return true;
}

/* The end of the rows that are on the heap page of row first. */
static uint32
genie_build_runs_page_end(const GenieBuildRuns *runs, uint32 first)
{
	uint32		end = first;

	while (end < runs->n_waiting && runs->waiting[end].tid >> 16 == runs->waiting[first].tid >> 16)
		end++;
	return end;
}

/*
 * Adds the waiting rows: those of the first heap page and of the last one, which may have others that came before or
 * will come, one by one, and the rest together.
 */
static void
genie_build_runs_add_waiting(GenieBuildRuns *runs)
{
	uint32		vector = 0;
	uint32		first = genie_build_runs_page_end(runs, 0);
	uint32		end = runs->n_waiting;

	genie_lsh_block_hash(runs->block);
	while (end > first && runs->waiting[end - 1].tid >> 16 == runs->waiting[runs->n_waiting - 1].tid >> 16)
		end--;
	genie_build_runs_add_each(runs, 0, first, &vector);
	if (!genie_build_runs_add_together(runs, first, end, &vector))
		genie_build_runs_add_each(runs, first, end, &vector);
	genie_build_runs_add_each(runs, end, runs->n_waiting, &vector);
	genie_lsh_block_clear(runs->block);
	runs->n_waiting = 0;
}

/* Takes one row of the table; called by table_index_build_scan. */
static void
genie_build_runs_row(Relation index, ItemPointer tid, Datum *values, bool *nulls, bool alive, void *arg)
{
	GenieBuildRuns *runs = arg;
	uint64		number = genie_tid_number(tid);

	if (runs->block != NULL)
	{
		if (!nulls[0])
			genie_lsh_block_add(runs->block, values[0]);
		runs->waiting[runs->n_waiting++] = (GenieBuilderRow) {number, nulls[0]};
		if (genie_lsh_block_room(runs->block) == 0 || runs->n_waiting == GENIE_BUILD_AHEAD)
			genie_build_runs_add_waiting(runs);
		return;
	}
	genie_keywords_reset(&runs->keywords);
	if (!nulls[0])
	{
		MemoryContext old = MemoryContextSwitchTo(runs->row_context);

		FunctionCall2Coll(runs->decompose, runs->collation, values[0],
						  PointerGetDatum(&runs->keywords));
		MemoryContextSwitchTo(old);
		MemoryContextReset(runs->row_context);
	}
	if (runs->untrained && !nulls[0])
		genie_build_runs_append_raw(runs, tid);
	else if (runs->raw && !nulls[0])
		genie_build_runs_add_raw(runs, number);
	else
		genie_build_runs_add(runs, number, nulls[0], genie_build_runs_keywords(runs), NULL);
}

double
genie_build_runs_scan(GenieBuildRuns *runs, Relation heap, IndexInfo *info, TableScanDesc scan, bool progress)
{
	double		n_rows;

	genie_build_phase(GENIE_PHASE_SCAN);
	n_rows = table_index_build_scan(heap, runs->index, info, scan != NULL, progress, genie_build_runs_row, runs, scan);
	if (runs->n_waiting > 0)
		genie_build_runs_add_waiting(runs);
	return n_rows;
}

double
genie_build_runs_rows(const GenieBuildRuns *runs)
{
	return runs->n_rows;
}

double
genie_build_runs_raw_rows(const GenieBuildRuns *runs)
{
	return runs->n_raw_rows;
}

void
genie_build_runs_write(GenieBuildRuns *runs, GenieSegmentWriter *writer, GenieRootHeader *header)
{
	genie_runs_write(runs->spilled, runs->builder, writer, header);
}

void
genie_build_runs_share(GenieBuildRuns *runs, int most)
{
	GenieSegment **inputs;
	int			n = genie_runs_finish(runs->spilled, runs->builder, most, &inputs);

	genie_spilled_segment_list(&runs->place, inputs, n);
}

void
genie_build_runs_merge_part(GenieBuildRuns *runs, GenieMerge *merge, GenieKey from, GenieKey to)
{
	GenieSegmentWriter *writer = genie_segment_begin(runs->index, true, &runs->place);
	GenieRootHeader header = {0};

	genie_merge_part(merge, from, to, writer, &header);
	runs->parts[runs->n_parts++] = genie_segment_finish_spilled(writer, &header);
}

void
genie_build_runs_share_parts(GenieBuildRuns *runs)
{
	genie_spilled_segment_list(&runs->place, runs->parts, runs->n_parts);
}

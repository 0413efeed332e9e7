/*
 * genie_instrument.c
 *	  What the scans of this session's last statement did (genie_instrument.h).
 *
 * Records lie in a memory context of their own, so that they outlive an ERROR.  It is reset when a scan begins in
 * another statement, which the time tells that PostgreSQL notes when a client's message comes.  A GenieInstrument
 * remembers the statement in which it got its record: only then does the record exist.  Whoever runs a scan calls
 * genie_instrument_begin() whenever the executor calls it, so that what it calls in turn may use the record.
 *
 * Cost: two clock readings for each question to segments, and an increment for each row.
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "genie_arena.h"
#include "genie_instrument.h"

/* Enough for the partitions of a query; a function that searches in a loop may need more, and these share a record. */
#define GENIE_RECORDS_MAX 1000

/* The last statement that ran a scan, of this process. */
static struct
{
	TimestampTz statement;
	MemoryContext context;		/* NULL: there was none yet */
	int			n;
	dlist_head	records;
	GenieScanRecord *others;	/* of those beyond GENIE_RECORDS_MAX; NULL: there are none */
}			last;

static const char *const kinds[] = {
	[GENIE_SCAN_ROWS] = "index scan",
	[GENIE_SCAN_BITMAP] = "bitmap scan",
	[GENIE_SCAN_SEARCH] = "genie_search",
	[GENIE_SCAN_EXACT] = "genie_exact_knn",
	[GENIE_SCAN_COUNT] = "genie_counts",
	[GENIE_SCAN_FACETS] = "genie_facets",
	[GENIE_SCAN_FILTER] = "genie_filter"
};

static const char *const reasons[] = {
	[GENIE_FALLBACK_NONE] = "more rows at once than the worker gives",
	[GENIE_FALLBACK_OFF] = "genie.worker is off",
	[GENIE_FALLBACK_NO_WORKER] = "the worker is not running",
	[GENIE_FALLBACK_TEMPORARY] = "the table is temporary",
	[GENIE_FALLBACK_LOADING] = "the image is being loaded",
	[GENIE_FALLBACK_NO_TIME] = "statement_timeout leaves no time to load the image",
	[GENIE_FALLBACK_LOAD_FAILED] = "the image could not be loaded",
	[GENIE_FALLBACK_REPLACED] = "a merge has replaced the segment",
	[GENIE_FALLBACK_STALE] = "a merge has replaced the segment",
	[GENIE_FALLBACK_NO_ROOM] = "no room in genie.shared_memory",
	[GENIE_FALLBACK_GONE] = "the image has gone",
	[GENIE_FALLBACK_BUSY] = "the worker is busy with a query that was cancelled",
	[GENIE_FALLBACK_FAILED] = "the worker could not count"
};

static const char *const gpu_reasons[] = {
	[GENIE_GPU_FALLBACK_NONE] = "",
	[GENIE_GPU_FALLBACK_NO_GPU] = "no GPU in use",
	[GENIE_GPU_FALLBACK_NO_ROOM] = "no room in the GPU's memory",
	[GENIE_GPU_FALLBACK_FAILED] = "the GPU failed",
	[GENIE_GPU_FALLBACK_DECLINED] = "the GPU leaves it to the CPU"
};

StaticAssertDecl(lengthof(reasons) == GENIE_FALLBACKS, "every reason has its words");
StaticAssertDecl(lengthof(gpu_reasons) == GENIE_GPU_FALLBACKS, "every reason has its words");

/* Begins a statement's records. */
static void
begin_statement(TimestampTz statement)
{
	if (last.context == NULL)
		last.context = AllocSetContextCreate(TopMemoryContext, "genie last scans", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(last.context);
	dlist_init(&last.records);
	last.n = 0;
	last.others = NULL;
	last.statement = statement;
}

static GenieScanRecord *
add_record(Oid index, GenieScanKind kind)
{
	GenieScanRecord *record = MemoryContextAllocZero(last.context, sizeof(GenieScanRecord));

	record->index = index;
	record->kind = kind;
	dlist_push_tail(&last.records, &record->node);
	last.n++;
	return record;
}

void
genie_instrument_begin(GenieInstrument *instrument, Oid index, GenieScanKind kind)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (instrument->record != NULL && instrument->statement == statement)
		return;
	if (last.context == NULL || last.statement != statement)
		begin_statement(statement);
	instrument->statement = statement;
	if (last.n < GENIE_RECORDS_MAX)
		instrument->record = add_record(index, kind);
	else
	{
		if (last.others == NULL)
			last.others = add_record(InvalidOid, kind);
		instrument->record = last.others;
	}
}

void
genie_instrument_by_worker(const GenieInstrument *instrument, GenieGpuFallback why, bool by_graph)
{
	if (instrument == NULL)
		return;
	instrument->record->n_by_graph += by_graph;
	if (why == GENIE_GPU_FALLBACK_NONE)
		instrument->record->n_by_gpu++;
	else
	{
		instrument->record->n_by_worker_cpu++;
		instrument->record->gpu_fallbacks |= 1 << why;
	}
}

void
genie_instrument_by_backend(const GenieInstrument *instrument, GenieFallback why)
{
	if (instrument == NULL)
		return;
	instrument->record->n_by_backend++;
	instrument->record->fallbacks |= 1 << why;
}

void
genie_instrument_why(const GenieInstrument *instrument, GenieFallback why, GenieGpuFallback gpu_why)
{
	if (instrument == NULL)
		return;
	if (why != GENIE_FALLBACK_NONE)
		instrument->record->fallbacks |= 1 << why;
	else
		instrument->record->gpu_fallbacks |= 1 << gpu_why;
}

uint64
genie_instrument_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

void
genie_instrument_counted(const GenieInstrument *instrument, uint64 since)
{
	if (instrument != NULL)
		instrument->record->count_us += genie_instrument_now() - since;
}

void
genie_instrument_waited(const GenieInstrument *instrument, uint64 since, uint64 counted)
{
	uint64		passed;

	if (instrument == NULL)
		return;
	passed = genie_instrument_now() - since;
	instrument->record->count_us += counted;
	instrument->record->wait_us += passed > counted ? passed - counted : 0;
}

static void
add_reasons(StringInfo text, uint32 bits, const char *const *words, int n)
{
	for (int i = 0; i < n; i++)
	{
		const char *word = words[i];

		if ((bits & 1 << i) == 0)
			continue;
		if (words == reasons && i == GENIE_FALLBACK_NO_WORKER && !genie_arena_preloaded())
			word = "genie is not preloaded";
		if (strstr(text->data, word) == NULL)
			appendStringInfo(text, "%s%s", text->len > 0 ? ", " : "", word);
	}
}

char *
genie_instrument_reasons(const GenieScanRecord *record)
{
	StringInfoData text;

	initStringInfo(&text);
	add_reasons(&text, record->fallbacks, reasons, GENIE_FALLBACKS);
	add_reasons(&text, record->gpu_fallbacks, gpu_reasons, GENIE_GPU_FALLBACKS);
	return text.data;
}

const char *
genie_instrument_reason(GenieFallback why)
{
	return reasons[why];
}

const char *
genie_instrument_kind(const GenieScanRecord *record)
{
	return kinds[record->kind];
}

const GenieScanRecord *
genie_instrument_record(const GenieInstrument *instrument)
{
	return instrument->statement == last.statement ? instrument->record : NULL;
}

const dlist_head *
genie_instrument_records(void)
{
	return last.context == NULL ? NULL : &last.records;
}

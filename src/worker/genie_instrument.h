/*
 * genie_instrument.h
 *	  What the scans of this session's last statement did: the records that genie_last_scan() and EXPLAIN show.
 *
 * A record is a scan's or a search's, with all of its rescans.  Whoever runs one has a GenieInstrument, which leads to
 * the record.  A statement is what the client has sent, with all that it runs in functions.  Its records are there
 * until another statement of this session begins a scan, also after an ERROR.  A cursor's scan has a record in each
 * statement that fetches from it.
 *
 * Each process has its own records.  Those of parallel workers go with them.
 */
#ifndef GENIE_INSTRUMENT_H
#define GENIE_INSTRUMENT_H

#include "datatype/timestamp.h"
#include "genie_fallback.h"
#include "lib/ilist.h"

typedef enum GenieScanKind
{
	GENIE_SCAN_ROWS,			/* an index scan */
	GENIE_SCAN_BITMAP,
	GENIE_SCAN_SEARCH,			/* genie_search() */
	GENIE_SCAN_EXACT,			/* genie_exact_knn() */
	GENIE_SCAN_COUNT,			/* genie_counts() */
	GENIE_SCAN_FACETS,			/* genie_facets(), genie_aggregate(), genie_regrid() */
	GENIE_SCAN_FILTER			/* genie_filter() */
} GenieScanKind;

typedef struct GenieScanRecord
{
	dlist_node	node;			/* first to last */
	Oid			index;			/* InvalidOid: the sum of all scans for which there was no record */
	GenieScanKind kind;
	uint64		n_scans;		/* with rescans; 0: one of an earlier statement goes on */
	uint32		n_segments;		/* at the last beginning */
	uint64		n_pending;		/* pending rows at the last beginning */
	uint64		n_rounds;		/* how often segments were asked for their best rows */
	uint64		n_candidates;	/* rows that segments and pending rows gave */
	uint64		n_visited;		/* rows looked up in the table; not by the executor */
	uint64		n_rows;			/* given to the executor, or returned */
	uint64		n_by_gpu;		/* queries on a segment, by who answered */
	uint64		n_by_worker_cpu;
	uint64		n_by_backend;
	uint64		n_by_graph;		/* of those that the worker has answered, what it searched graphs for */
	uint32		fallbacks;		/* bit GenieFallback: why the session, */
	uint32		gpu_fallbacks;	/* bit GenieGpuFallback: why the worker's CPU */
	uint64		wait_us;		/* for images, and for the worker to begin */
	uint64		count_us;		/* by the worker, with other sessions' queries, or by this session */
} GenieScanRecord;

/* Belongs to a scan; begins as zeros. */
typedef struct GenieInstrument
{
	TimestampTz statement;
	GenieScanRecord *record;
} GenieInstrument;

/* Leads to the record of a scan that begins, begins anew or goes on in this statement. */
extern void genie_instrument_begin(GenieInstrument *instrument, Oid index, GenieScanKind kind);

/* Segments are asked for their best rows. */
static inline void
genie_instrument_round(const GenieInstrument *instrument)
{
	if (instrument != NULL)
		instrument->record->n_rounds++;
}

/* Segments have given rows. */
static inline void
genie_instrument_candidates(const GenieInstrument *instrument, uint64 n)
{
	if (instrument != NULL)
		instrument->record->n_candidates += n;
}

/* Rows are looked up in the table. */
static inline void
genie_instrument_visit(const GenieInstrument *instrument, uint64 n)
{
	if (instrument != NULL)
		instrument->record->n_visited += n;
}

/* The queries on a segment that someone has answered, and why not somebody better.  NULL: nobody wants to know. */
extern void genie_instrument_by_worker(const GenieInstrument *instrument, GenieGpuFallback why, bool by_graph);
extern void genie_instrument_by_backend(const GenieInstrument *instrument, GenieFallback why);

/* Only why: not the worker, or, if that is NONE, not its GPU. */
extern void genie_instrument_why(const GenieInstrument *instrument, GenieFallback why, GenieGpuFallback gpu_why);

/* Time, in us: a call of this gives the beginning for the next ones, which add what has passed since. */
extern uint64 genie_instrument_now(void);
extern void genie_instrument_counted(const GenieInstrument *instrument, uint64 since);
extern void genie_instrument_waited(const GenieInstrument *instrument, uint64 since, uint64 counted);

/* A record's reasons as words, palloc'd; empty: everything was answered by the best that there can be. */
extern char *genie_instrument_reasons(const GenieScanRecord *record);

/* A reason as words. */
extern const char *genie_instrument_reason(GenieFallback why);

extern const char *genie_instrument_kind(const GenieScanRecord *record);

/* The record, as long as it is one of those; else NULL. */
extern const GenieScanRecord *genie_instrument_record(const GenieInstrument *instrument);

/* The records of the last statement that has some, in the order in which their scans began; NULL: there are none. */
extern const dlist_head *genie_instrument_records(void);

#endif							/* GENIE_INSTRUMENT_H */

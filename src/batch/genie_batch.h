/*
 * genie_batch.h
 *	  Many queries in one call: the common part of genie_search() by match count (genie_batch_match.c) and by
 *	  distance (genie_batch_nearest.c), and of genie_counts() (genie_batch_count.c).
 */
#ifndef GENIE_BATCH_H
#define GENIE_BATCH_H

#include "access/genam.h"
#include "access/stratnum.h"
#include "fmgr.h"
#include "genie_array.h"
#include "genie_batch_output.h"
#include "genie_compact.h"
#include "genie_instrument.h"
#include "genie_meta.h"
#include "genie_round.h"
#include "genie_signer.h"
#include "genie_stat.h"
#include "genie_vector_type.h"
#include "utils/array.h"
#include "utils/rel.h"

/* queries of a piece, at most: more gain nothing, an engine's batches are smaller */
#define GENIE_PIECE_QUERIES 4096

typedef struct GenieBatch GenieBatch;

/* The functions of a kind of search.  owner is its own state. */
typedef struct GenieBatchOps
{
	/* The next query, in the current memory context, where it stays as long as its piece. */
	Datum		(*next) (void *owner);

	/* Query i of the piece is compiled, perhaps not for the first time.  NULL: nobody wants to know. */
	void		(*compiled) (void *owner, uint32 i, const GenieQuery *compiled);

	/*
	 * Prepares for a piece's rounds, in the memory context of this attempt at them; raises errors that depend on rows.
	 * False: stale.
	 */
	bool		(*begin) (void *owner);

	/* Does the piece in the place of rounds, once each segment has its queries.  NULL: rounds.  False: stale. */
	bool		(*run) (void *owner);

	/* The piece's rounds are over.  NULL: nothing is left to do.  False: stale. */
	bool		(*finish) (void *owner);

	/* Puts out query i of the piece. */
	void		(*put) (void *owner, uint32 i);
} GenieBatchOps;

struct GenieBatch
{
	/* the kind of search, and what it searches */
	const GenieBatchOps *ops;
	void	   *owner;
	GenieScanKind kind;			/* as the instrument calls it */
	Relation	heap;
	Relation	index;
	StrategyNumber strategy;	/* of the operator by which scans are ordered, */
	Oid			query_type;		/* the type on its right, */
	RegProcedure order_proc;	/* and its function */
	uint32		n_queries;		/* in all */
	uint32		n_hits;			/* of a query in a segment, by its settings, if they are more than it wants; 0: not */
	bool		exact;			/* rows are ranked by values, or each query is an index scan: there are no rounds */
	bool		by_graph;		/* nor are there in this piece: its candidates come from graphs of the values */
	bool		with_inner;		/* of a coarse class, there is a second query of each, for what is sure to match */
	GenieSigner *signer;		/* NULL: the operator class does not learn */
	const GenieVectorType *vectors; /* of its values, of which pending ones are raw; NULL: it is another class */
	uint32		want;			/* rows that rounds look for, for each query */
	MemoryContext call_context;
	GenieBatchProgress progress;	/* what is added to the statistics */
	GenieInstrument instrument;

	/* segments, as of one metapage */
	MemoryContext segments_context;
	bool		is_open;
	uint64		segment_version;
	uint64		tombstone_version;
	GenieTypeState types;		/* as the metapage has it */
	const bytea *parameters;	/* of a class that learns; NULL: untrained */
	const GenieMetaData *meta;
	uint32		trainings;		/* of the index, when the piece's queries were compiled */
	Size		memory;			/* what sources can spare for posting lists */
	uint32		n_sources;
	GenieSource **sources;
	GenieSegment *pending;		/* the source of pending rows', the last; NULL: there is none, or they are raw */

	/* a piece */
	MemoryContext piece_context;	/* its queries */
	MemoryContext query_context;	/* what one query is compiled to, until it is in the set */
	MemoryContext attempt_context;	/* the rest; until it is begun again */
	uint32		n_taken;		/* queries, by this and earlier pieces */
	uint32		n;
	Datum	   *queries;
	GenieQuerySet *set;
	GenieRoundQuery *states;
	GenieRound	round;

	IndexScanDesc own_scan;		/* of queries that are index scans of their own; NULL: there was none yet */
};

/*
 * The function of the batch's operator, which has that name, in a class that counts matches.  Errors: the index's class
 * has none for the batch's type of queries.
 */
extern RegProcedure genie_batch_operator_proc(const GenieBatch *batch, const char *name);

/*
 * Begins a batch whose first group of fields is filled in and the rest zero, in the current memory context, under the
 * active snapshot.
 */
extern void genie_batch_begin(GenieBatch *batch);

/*
 * For an operator that raises an error where a row has another type in a dimension than a query asks for: raises it for
 * the piece's queries if such a row is visible to the scan.  False: stale.
 */
extern bool genie_batch_find_conflicts(const GenieBatch *batch, IndexScanDesc scan);

/* Is the operator class coarse, and has the index learned?  Then engines find what may match. */
static inline bool
genie_batch_is_coarse(const GenieBatch *batch)
{
	return batch->signer != NULL && batch->signer->is_coarse && batch->parameters != NULL;
}

/* How many compiled queries there are for each query: with the inner one, which comes second, two. */
static inline uint32
genie_batch_each(const GenieBatch *batch)
{
	return batch->with_inner && genie_batch_is_coarse(batch) ? 2 : 1;
}

/* Searches for all queries. */
extern void genie_batch_run(GenieBatch *batch);

extern void genie_batch_end(GenieBatch *batch);

/* A scan ordered by one query, as the executor would make it. */
extern IndexScanDesc genie_batch_begin_scan(const GenieBatch *batch);
extern void genie_batch_rescan(const GenieBatch *batch, IndexScanDesc scan, Datum query);

/* The scan's next visible row: the TID that the index holds, and the row's own.  False: there is none. */
extern bool genie_batch_scan_next(const GenieBatch *batch, IndexScanDesc scan, uint64 *tid, uint64 *live);

/* A query's scan of its own, for rows that rounds did not find. */
extern IndexScanDesc genie_batch_own_scan(GenieBatch *batch, Datum query);

/* ---- arguments and result ---- */

/* Queries that are the array's elements.  Errors: it has several dimensions, or NULLs. */
extern void genie_batch_read_elements(ArrayType *array, GenieArrayCursor *cursor);

/* k, if it is one.  Errors: it is below 1. */
extern uint32 genie_batch_k(int32 k);

/* Searches an index of that table by the call's other arguments, and puts out the rows. */
typedef void (*GenieBatchSearch) (FunctionCallInfo fcinfo, Relation heap, Relation index, GenieBatchOutput *output);

/*
 * Calls a search by the index that is the call's first argument; the result is the SQL function's.  instead: as
 * genie_access_open() has it.
 */
extern Datum genie_batch_call(FunctionCallInfo fcinfo, GenieBatchSearch search, const char *instead);

/* The same by each partition's index (genie_batch_parts.c).  The call's third argument is k. */
extern Datum genie_batch_call_parts(FunctionCallInfo fcinfo, GenieBatchSearch search);

#endif							/* GENIE_BATCH_H */

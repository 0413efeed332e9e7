/*
 * genie_rerank.h
 *	  Rows that match a signature, in the order of their distances: for scans by approximate operator classes.
 */
#ifndef GENIE_RERANK_H
#define GENIE_RERANK_H

#include "genie_frontier.h"
#include "genie_stream.h"

/* the setting genie.strict_order: shall scans give no row that is nearer than one that they have given? */
extern bool genie_strict_order;

typedef struct GenieRerank GenieRerank;

/*
 * Has the scan's candidates, all of them, come by (bound, TID) from now on, as a frontier wants them
 * (genie_frontier.h). If the scan opens the index again, they come from the first one on.  False: they go on best
 * match first.
 */
typedef bool (*GenieOrderCandidates) (IndexScanDesc scan);

/*
 * In the current memory context.  Candidates come best match first; their bounds, 0 where none are known, need not be
 * in order.
 */
extern GenieRerank *genie_rerank_begin(IndexScanDesc scan, GenieNextCandidate next_candidate,
									   GenieOrderCandidates order_candidates);

/*
 * The scan has new ORDER BY keys; its first round takes so many candidates.  strict: it gives no row that is nearer
 * than one that it has given.  may_order: exact order may take the place of rounds.
 */
extern void genie_rerank_rescan(GenieRerank *rerank, uint32 n_candidates, bool strict, bool may_order);

/*
 * The quantizer of the operator that ranks.  False: there are no values of its distance, or not of vectors as long as
 * its right operand.
 */
extern bool genie_rerank_quantizer(const GenieRerank *rerank, const bytea *parameters, GenieQuantizer *quantizer);

/*
 * The scan opens segments under a tombstone version.  Returns the quantizer by which the scan finds segments that give
 * bounds of its candidates' distances, and fills the query's vector, in the current memory context.  NULL: there are
 * no bounds.
 */
extern const GenieQuantizer *genie_rerank_vector(GenieRerank *rerank, const bytea *parameters,
												 uint64 tombstone_version, GenieQuantizedQuery *vector,
												 uint32 *n_elements);

/*
 * The scan opens segments under a tombstone version, and its candidates come from searches of graphs: with bounds, and
 * not all of them.  So many are those of the first round; then exact order takes its place.
 */
extern void genie_rerank_by_graph(GenieRerank *rerank, uint32 n_candidates, uint64 tombstone_version);

/* How the scan measures raw rows of a trained index; NULL: the class cannot. */
extern const GenieRawMeasure *genie_rerank_raw_measure(GenieRerank *rerank);

/* How many extras the scan has taken. */
extern uint32 genie_rerank_extras(const GenieRerank *rerank);

/* Gives the scan its next row and the exact values of its ORDER BY operators.  False: there is none. */
extern bool genie_rerank_next(GenieRerank *rerank);

extern void genie_rerank_end(GenieRerank *rerank);

/* Raises an error: a scan goes on behind a match count, which means nothing where the index has learned again. */
pg_noreturn extern void genie_rerank_report_trained(Relation index);

#endif							/* GENIE_RERANK_H */

/*
 * genie_rerank.h
 *	  Rows that match a signature, in the order of their distances: for scans by approximate operator classes.
 *
 * And its parts, for others that look up candidates: the value that an index has of a row, and an ordering operator's
 * result.
 */
#ifndef GENIE_RERANK_H
#define GENIE_RERANK_H

#include "access/genam.h"
#include "access/relscan.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "genie_image_load.h"

/* ---- the value that an index has of a row ---- */

typedef struct GenieRowValue
{
	AttrNumber	attribute;		/* 0: an expression */
	IndexInfo  *info;
	EState	   *estate;
} GenieRowValue;

extern void genie_row_value_begin(GenieRowValue *row_value, Relation index);

/*
 * Of the row in the slot.  An expression's lives in the memory context of the expression context, which the next call
 * resets.
 */
extern Datum genie_row_value(const GenieRowValue *row_value, TupleTableSlot *slot, bool *is_null);
extern void genie_row_value_end(GenieRowValue *row_value);

/* The operator's result for a value that is not NULL; in the current memory context. */
extern double genie_row_distance(FmgrInfo *function, Oid collation, Datum value, Datum query, bool *is_null);

/* ---- a scan ---- */

/* A row that the index has found. */
typedef struct GenieCandidate
{
	uint64		tid;
	bool		is_null;		/* its value is NULL; so are all that follow */
	bool		is_raw;			/* the index is untrained, and does not know which row is how good */
	float		nearest;		/* a lower bound of its distance; 0: none is known */
} GenieCandidate;

/* The next candidate, best first; false: there is none. */
typedef bool (*GenieNextCandidate) (IndexScanDesc scan, GenieCandidate *candidate);

/* the setting genie.strict_order: shall a scan leave out rows that are nearer than one that it has given? */
extern bool genie_strict_order;

typedef struct GenieRerank GenieRerank;

/* In the current memory context. */
extern GenieRerank *genie_rerank_begin(IndexScanDesc scan, GenieNextCandidate next_candidate);

/* The scan has new ORDER BY keys; its first round takes so many candidates. */
extern void genie_rerank_rescan(GenieRerank *rerank, uint32 n_candidates);

/*
 * What a scan that opens segments under a tombstone version asks for bounds of its candidates' distances with: the
 * query's vector, in the current memory context, and who knows those of rows.  NULL: there are no bounds.
 */
extern const GenieQuantizer *genie_rerank_vector(GenieRerank *rerank, const bytea *parameters,
												 uint64 tombstone_version, GenieQuantizedQuery *vector,
												 uint32 *n_elements);

/* Gives the scan its next row and the exact values of its ORDER BY operators.  False: there is none. */
extern bool genie_rerank_next(GenieRerank *rerank);

extern void genie_rerank_end(GenieRerank *rerank);

#endif							/* GENIE_RERANK_H */

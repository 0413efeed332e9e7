/*
 * genie_rerank.h
 *	  Rows that match a signature, in the order of their distances: for scans by approximate operator classes.
 */
#ifndef GENIE_RERANK_H
#define GENIE_RERANK_H

#include "access/genam.h"
#include "access/relscan.h"

#include "genie_image_load.h"

/* A row that the index has found. */
typedef struct GenieCandidate
{
	uint64		tid;
	bool		is_null;		/* its value is NULL; so are all that follow */
	bool		is_raw;			/* the index is untrained, and does not know how well a row matches */
	float		nearest;		/* a lower bound of its distance; 0: none is known */
} GenieCandidate;

/* The next candidate, best first; false: there is none. */
typedef bool (*GenieNextCandidate) (IndexScanDesc scan, GenieCandidate *candidate);

/* the setting genie.strict_order: shall scans leave out rows that are nearer than one that they have given? */
extern bool genie_strict_order;

typedef struct GenieRerank GenieRerank;

/* In the current memory context. */
extern GenieRerank *genie_rerank_begin(IndexScanDesc scan, GenieNextCandidate next_candidate);

/*
 * The scan has new ORDER BY keys; its first round takes so many candidates.  strict: it leaves out rows that are nearer
 * than one that it has given.
 */
extern void genie_rerank_rescan(GenieRerank *rerank, uint32 n_candidates, bool strict);

/*
 * The scan opens segments under a tombstone version.  Returns the quantizer of the table's vectors, by which the scan
 * asks for bounds of its candidates' distances, and fills the query's vector, in the current memory context.  NULL:
 * there are no bounds.
 */
extern const GenieQuantizer *genie_rerank_vector(GenieRerank *rerank, const bytea *parameters,
												 uint64 tombstone_version, GenieQuantizedQuery *vector,
												 uint32 *n_elements);

/* Gives the scan its next row and the exact values of its ORDER BY operators.  False: there is none. */
extern bool genie_rerank_next(GenieRerank *rerank);

extern void genie_rerank_end(GenieRerank *rerank);

#endif							/* GENIE_RERANK_H */

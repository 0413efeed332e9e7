/*
 * genie_frontier.h
 *	  Rows in the order of their exact ORDER BY values, found by lower bounds of them.
 *
 * A source gives candidates in the order of their bounds.  The frontier looks rows up in the table, computes the
 * operators of ORDER BY, and returns a row when no candidate that it has not looked at can come before.
 */
#ifndef GENIE_FRONTIER_H
#define GENIE_FRONTIER_H

#include "access/genam.h"
#include "access/relscan.h"

#include "genie_bound.h"
#include "genie_edit_distance.h"
#include "genie_row.h"
#include "genie_visit.h"

/* A row that the index has found. */
typedef struct GenieCandidate
{
	uint64		tid;
	double		bound;			/* the value of the ranking operator is not less */
	bool		is_exact;		/* the bound is the value, and the only one by which rows are sorted */
	bool		is_null;		/* the indexed value is NULL, and so are all that follow; then it is exact, too */
	bool		is_raw;			/* the index is untrained, and does not know how well a row matches */
	bool		is_extra;		/* it is pending and raw in a trained index: a row beside those that a round wants */
} GenieCandidate;

/* The next candidate; false: there is none.  The frontier's source gives them by (bound, tid), NULL ones last. */
typedef bool (*GenieNextCandidate) (void *arg, GenieCandidate *candidate);

/*
 * All candidates that are left up to (bound, tid), and steps over them: their TIDs, palloc'd unless there are none,
 * without an order, though mostly ascending.  Returns how many.
 */
typedef Size (*GenieSweep) (void *arg, double bound, uint64 tid, uint64 **tids);

/* A row that is to be visited. */
typedef struct GenieFrontierRow
{
	GenieVisitRow visit;		/* first: what genie_visit() fills */
	double		bound;
} GenieFrontierRow;

typedef struct GenieFrontier
{
	IndexScanDesc scan;
	GenieNextCandidate next_candidate;
	void	   *arg;
	GenieSweep	sweep;			/* NULL: the source has none */
	double		sweep_from;		/* so many rows are worth a sweep, a pass over all objects */
	const GenieBound *bound;	/* where the candidates' bounds are from; NULL: they need not be checked */
	bool		of_metric;		/* bounds are by pivots: a row that is nearer than its bound tells that there is no
								 * metric */

	/* the operators */
	int			n_orders;
	int			rank_by;		/* the first one whose query is not NULL: the bounds are of its values */
	bool		is_sole;		/* all others have NULL queries */
	FmgrInfo   *functions;		/* their own, one each: what they keep stays from scan to scan */

	/* the table */
	bool		is_open;		/* the next two are */
	GenieVisitor visitor;
	GenieRowValue row_value;
	MemoryContext scan_context; /* of functions and all that stays */
	MemoryContext rows_context; /* of rows */
	MemoryContext row_context;	/* of one row's values */
	GenieEditGroup *texts;		/* values that wait to be measured together; NULL: each is measured at once */
	const GenieFrontierRow *waiting[GENIE_EDIT_LANES];	/* their rows */

	/* candidates */
	bool		at_end;			/* there are none any more, but for the next one */
	bool		has_ahead;		/* there is a next one, */
	GenieCandidate ahead;		/* this, */
	uint64	   *floor;			/* before which it cannot come */
	uint32		n_visit;		/* so many are visited together next time */
	double		n_visited;		/* rows, visible or not */
	bool		sweeps;			/* from now on by sweeps */
	uint32		batch_capacity;
	GenieFrontierRow *batch;	/* those that are being visited */

	/* measured rows: a heap of n_rows times n_orders + 1 numbers (genie_frontier.c) */
	Size		n_rows;
	Size		rows_capacity;
	uint64	   *rows;
	uint64	   *row;			/* the one in hand */
} GenieFrontier;

/* In the current memory context. */
extern GenieFrontier *genie_frontier_begin(IndexScanDesc scan, GenieNextCandidate next_candidate, void *arg);

/* The scan has new ORDER BY keys, of which some query is not NULL; the source begins again. */
extern void genie_frontier_rescan(GenieFrontier *frontier);

/* The source begins again, after all rows were taken. */
extern void genie_frontier_restart(GenieFrontier *frontier);

/* Opens what needs the table, which a scan gets after it has begun.  Again does no harm. */
extern void genie_frontier_open(GenieFrontier *frontier);

/* Visits rows at once, whatever their bounds, after sorting them by TID.  Returns how many are visible. */
extern uint32 genie_frontier_visit(GenieFrontier *frontier, GenieFrontierRow *rows, uint32 n);

/*
 * Takes the next row out; NULL: there is none.  It stays valid until the next call.  Rows are compared as numbers, the
 * first n_orders of which are the values and the last is the TID.
 */
extern const uint64 *genie_frontier_next(GenieFrontier *frontier);

/* Compares values of two rows: < 0, 0, > 0. */
extern int	genie_frontier_compare(const GenieFrontier *frontier, const uint64 *a, const uint64 *b);

/* Gives the scan a row. */
extern void genie_frontier_give(const GenieFrontier *frontier, const uint64 *row);

/* Gives the scan a row whose values are all NULL. */
extern void genie_frontier_give_null(const GenieFrontier *frontier, uint64 tid);

extern void genie_frontier_end(GenieFrontier *frontier);

#endif							/* GENIE_FRONTIER_H */

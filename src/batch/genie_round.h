/*
 * genie_round.h
 *	  A round of a batch search: the hits of many queries in all segments, their rows, and which rows a query takes.
 *
 * Here are the structures that all parts of a round share, and the steps that several of them need.
 *
 *		genie_round_run.c		the round: asks, merges, keeps visible rows
 *		genie_round_pick.c		rows that are measured, picked by bounds of their distances
 *		genie_round_measure.c	rows that are measured, visited
 *		genie_round.c			hits and their rows
 *
 * Each uses those below it.
 */
#ifndef GENIE_ROUND_H
#define GENIE_ROUND_H

#include "genie_segment_query.h"
#include "genie_source.h"
#include "genie_visit.h"

/* A visible row that a query has found. */
typedef struct GenieRoundFound
{
	uint64		tid;			/* its own; the index may hold another one, its HOT chain's root */
	int32		count;
} GenieRoundFound;

/* Callbacks that measure visible rows, for the queries that take them, while the row is at hand. */
typedef struct GenieRoundMeasure
{
	void	   *arg;
	uint32		k;				/* of a query's rows only the k nearest matter in the end */

	/* the next row; a round shows rows in TID order, or some of them and then others */
	void		(*row) (void *arg, TupleTableSlot *slot);

	/* a query of the piece, by its number, takes the row */
	void		(*take) (void *arg, uint32 query, const GenieVisitRow *row);

	/* rows that are farther from the query do not matter any more; infinity: all others may matter */
	double		(*farthest) (void *arg, uint32 query);
} GenieRoundMeasure;

/* What a query has found so far, and where it goes on. */
typedef struct GenieRoundQuery
{
	uint32		number;			/* in the piece: its searches are searches[source][number] */
	uint32		n_found;
	GenieRoundFound *found;		/* room for k; NULL if rows are measured */
	bool		at_end;			/* nothing that matches is left */
	uint64	   *taken;			/* TIDs in the index of all that was taken before there were k, visible or not; */
	uint32		n_taken;		/* not kept if rows are measured */
	uint32		taken_capacity;
	bool	   *has_after;		/* of each source: the last hit that was taken, if one was, */
	bool	   *ended;			/* and whether it has no more */
	GenieHit   *after;
} GenieRoundQuery;

/* What all rounds of a piece have in common. */
typedef struct GenieRound
{
	MemoryContext context;		/* of a round; reset by it */
	GenieVisitor visitor;
	const GenieRoundMeasure *measure;	/* NULL: rows are not measured */

	/* by number: the queries as vectors, for bounds of distances, if some sources have quantized ones; else NULL */
	const GenieQuantizedQuery *vectors;
	uint32		n_elements;
	uint32		k;
	uint64		tombstone_version;	/* that sources of the index were opened with */
	uint32		n_sources;
	GenieSource **sources;
	GenieSegmentQuery ***searches;
} GenieRound;

/*
 * Hits of n queries, and their rows.  A source's hits of a query are a list: list s * n + i is that of source s and
 * query i.  No list has more than `ask` hits.
 */
typedef struct GenieRoundHits
{
	uint32		n;
	uint32		ask;
	GenieRoundQuery **queries;
	uint32	   *n_hits;			/* of each list */
	const GenieHit **lists;
	const float **bounds;		/* of each hit's distance, 0 where none is known; NULL: of no hit */

	/* once numbered */
	uint32	   *row_of;			/* of hit h of list l, at l * ask + h */
	GenieVisitRow *rows;		/* of each object that was hit; source after source, ascending */
	uint32	   *first_row;		/* of each source, and the end */
	bool	   *wanted;			/* rows that some query takes */
	uint32	   *order;			/* rows that query i takes, from i * ask on */
	uint32	   *n_order;
} GenieRoundHits;

/* A list's next hit, when sources are merged. */
typedef struct GenieRoundNext
{
	uint32		list;
	uint32		key;
	uint32		row;
} GenieRoundNext;

/* Room for n entries of that size, in the current memory context; it may exceed palloc()'s limit. */
static inline void *
genie_round_array(Size n, Size size)
{
	return palloc_extended(n * size, MCXT_ALLOC_HUGE);
}

/* The same, zero. */
static inline void *
genie_round_array0(Size n, Size size)
{
	return palloc_extended(n * size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Prepares a query, in the current memory context. */
extern void genie_round_query(const GenieRound *round, uint32 number, GenieRoundQuery *query);

/* Gives hits their rows, and rows their TIDs; makes room for orders, which are empty.  False: stale. */
extern bool genie_round_number(const GenieRound *round, GenieRoundHits *hits);

/* Query i takes a row, too. */
static inline void
genie_round_take(GenieRoundHits *hits, uint32 i, uint32 row)
{
	hits->order[(Size) i * hits->ask + hits->n_order[i]++] = row;
	hits->wanted[row] = true;
}

/*
 * The best hit of query i by (key desc, tid asc), behind n_taken that were taken of each list.  False: there is none.
 */
extern bool genie_round_best(const GenieRound *round, const GenieRoundHits *hits, uint32 i, const uint32 *n_taken,
							 GenieRoundNext *best);

/* May a query take more visible rows than it still wants?  n_taken: hits of each list that it takes. */
extern bool genie_round_takes_too_many(const GenieRound *round, const GenieRoundHits *hits, const uint32 *n_taken);

/* The wanted rows of all sources in TID order; palloc'd. */
extern GenieVisitRow **genie_round_wanted(const GenieRound *round, const GenieRoundHits *hits, uint32 *n);

/* Each query took n_taken hits of each list: notes where it goes on, if it does. */
extern void genie_round_go_on(const GenieRound *round, const GenieRoundHits *hits, const uint32 *n_taken);

/* ---- genie_round_measure.c: measuring the visible rows that queries take ---- */

/* Visits the wanted rows, and measures those that are visible, for each query that takes them. */
extern void genie_round_measure_wanted(const GenieRound *round, GenieRoundHits *hits);

/* The same of merged hits.  too_many: queries may have taken more visible rows than they still want. */
extern void genie_round_measure(const GenieRound *round, GenieRoundHits *hits, bool too_many);

/* ---- genie_round_pick.c: measuring rows picked by bounds of their distances, before they are numbered ---- */

/*
 * Takes and measures what the queries take of hits that have bounds, as far as it matters, and notes where they go on.
 * False: it is not possible for these hits, which are unchanged, or a segment is stale (*stale).
 */
extern bool genie_round_pick(const GenieRound *round, const GenieRoundHits *hits, bool *stale);

/* ---- genie_round_run.c: the next best rows of many queries, merged over all segments ---- */

/*
 * Takes up to `ask` more rows that match for each of n queries, and keeps or measures those that are visible, until
 * there are k.  False: a segment is stale, and what the queries hold is void.
 */
extern bool genie_round_run(GenieRound *round, GenieRoundQuery **queries, uint32 n, uint32 ask);

#endif							/* GENIE_ROUND_H */

/*
 * genie_round_state.h
 *	  A round of a batch search, inside: what genie_round.c and genie_round_measure.c share.
 */
#ifndef GENIE_ROUND_STATE_H
#define GENIE_ROUND_STATE_H

#include "genie_round.h"

/* The hits of query i in source s are list s * n + i, of no more than `ask`. */
typedef struct GenieRoundState
{
	uint32		n;
	uint32		ask;
	uint32	   *n_hits;			/* of each list */
	const GenieHit **hits;
	const float **bounds;		/* of each hit's distance, 0 where none is known; NULL: of no hit */
	uint32	   *row_of;			/* of hit h of list l, at l * ask + h */
	GenieVisitRow *rows;		/* of each object that was hit; source after source, ascending */
	bool	   *wanted;			/* was it taken? */
	uint32	   *first_row;		/* of each source, and the end */
	uint32	   *order;			/* rows that query i takes, from i * ask on */
	uint32	   *n_order;
	uint32	   *counts;			/* with them */
	float	   *order_bounds;	/* the same, where there are bounds */

	/* if somebody measures */
	const GenieRoundMeasure *measure;
	GenieRoundQuery **queries;
	uint32	   *first_taker;	/* of each row, and the end */
	uint32	   *takers;			/* queries, row by row */
} GenieRoundState;

/* Room for n entries of that size, and one, in the current memory context. */
extern void *genie_round_array(Size n, Size size);

/* Room for rows and orders of hits, of which there are no more than `ask` a list. */
extern void genie_round_make_room(const GenieRound *round, GenieRoundState *state);

/* Gives hits their rows, and rows their TIDs.  False: stale. */
extern bool genie_round_number(const GenieRound *round, GenieRoundState *state);

/* A source's next hit, when sources are merged. */
typedef struct GenieRoundNext
{
	uint32		source;
	uint32		key;
	uint32		row;
	float		bound;
} GenieRoundNext;

/* The best of the sources' next hits of query i; next has a number for each source.  False: there is none. */
extern bool genie_round_best(const GenieRound *round, const GenieRoundState *state, uint32 i, const uint32 *next,
							 GenieRoundNext *best);

/* The wanted rows of all sources in TID order; palloc'd. */
extern GenieVisitRow **genie_round_wanted(const GenieRound *round, const GenieRoundState *state, uint32 *n);

/* Query i took n hits of source s: notes where it goes on there, if it does. */
extern void genie_round_go_on(const GenieRoundState *state, uint32 i, uint32 s, uint32 n);

/* Visits the wanted rows, and shows those that are visible to who measures. */
extern void genie_round_visit(const GenieRound *round, GenieRoundState *state);

/* Has somebody measure rows that were numbered and merged. */
extern void genie_round_measure(const GenieRound *round, GenieRoundState *state);

/* Does that by bounds before rows are numbered, if it can.  False: it can not, or a segment is stale (*stale). */
extern bool genie_round_measure_first(const GenieRound *round, const GenieRoundState *state, bool *stale);

#endif							/* GENIE_ROUND_STATE_H */

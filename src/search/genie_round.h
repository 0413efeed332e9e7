/*
 * genie_round.h
 *	  A round of a batch search: the next best rows of many queries, merged over all segments, and which of them are
 *	  visible.
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

/* Who looks at visible rows and the queries that take them, while the row is at hand. */
typedef struct GenieRoundMeasure
{
	void	   *arg;
	uint32		k;				/* of a query's rows so many matter in the end: the nearest */

	/* the next row; a round shows them in TID order, or some of them and then others */
	void		(*row) (void *arg, TupleTableSlot *slot);

	/* is taken by a query of the piece, by number */
	void		(*take) (void *arg, uint32 query, const GenieVisitRow *row);

	/* rows that are farther from the query do not matter any more; infinity: all others may */
	double		(*farthest) (void *arg, uint32 query);
} GenieRoundMeasure;

/* What a query has found so far, and where it goes on. */
typedef struct GenieRoundQuery
{
	uint32		number;			/* in the piece: its searches are searches[source][number] */
	uint32		n_found;
	GenieRoundFound *found;		/* room for k; NULL if somebody measures, who keeps what he wants */
	bool		at_end;			/* nothing that matches is left */
	uint64	   *taken;			/* TIDs in the index of all that was taken before there were k, visible or not; */
	uint32		n_taken;		/* not kept if somebody measures */
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
	const GenieRoundMeasure *measure;	/* NULL: nobody */

	/* by number: the queries as vectors, for bounds of distances, if some sources have quantized ones; else NULL */
	const GenieQuantizedQuery *vectors;
	uint32		n_elements;
	uint32		k;
	uint64		tombstone_version;	/* that sources of the index were opened with */
	uint32		n_sources;
	GenieSource **sources;
	GenieSegmentQuery ***searches;
} GenieRound;

/* Prepares a query, in the current memory context. */
extern void genie_round_query(const GenieRound *round, uint32 number, GenieRoundQuery *query);

/*
 * Takes up to ask more rows that match for each of n queries and keeps those that are visible, until there are k.
 * False: a segment is stale, and what the queries hold is void.
 */
extern bool genie_round_run(GenieRound *round, GenieRoundQuery **queries, uint32 n, uint32 ask);

#endif							/* GENIE_ROUND_H */

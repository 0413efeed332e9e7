/*
 * genie_batch_matches.h
 *	  Which rows that the snapshot sees match a query, as bits of objects: what genie_counts(), genie_filter() and
 *	  genie_facets() share.
 */
#ifndef GENIE_BATCH_MATCHES_H
#define GENIE_BATCH_MATCHES_H

#include "genie_batch.h"

/* How unsure objects are told (genie_batch_matches.c). */
typedef enum GenieMatchesWay
{
	GENIE_MATCHES_ALL,
	GENIE_MATCHES_FIRST,
	GENIE_MATCHES_SOME,
	GENIE_MATCHES_BOUNDS
} GenieMatchesWay;

/* What is known of a segment's objects: bits of whole tiles. */
typedef struct GenieMatchesSource
{
	Size		n_words;
	uint64		n_live;			/* that are live, and not NULL in SQL's sense */
	uint64	   *counted;		/* of these: the sure ones, and the unsure ones that were found visible; NULL: all */
	uint64	   *unsure;			/* the others; NULL: there is none */

	/* SOME, of the unsure ones */
	uint64	   *matching;		/* some query of those taken together matches */
	uint64	   *visited;		/* looked up */
} GenieMatchesSource;

/* A query of the piece. */
typedef struct GenieMatchesQuery
{
	uint32		min_match;
	bool		is_scan;		/* it has a threshold, and only the operator judges its rows */
	bool		is_done;		/* the caller has its answer: it is not asked any more in this attempt */
} GenieMatchesQuery;

typedef struct GenieMatches
{
	GenieBatch	batch;

	/* the caller's */
	bool		exact;			/* else rows are not looked up */
	bool		visits_all;		/* the caller looks up all that are found, and so they need not be visible */
	bool		(*run) (void *owner);	/* an attempt at a piece, by genie_matches_begin() first.  False: stale */
	void		(*put) (void *owner, uint32 i); /* puts out query i of the piece; NULL: nothing is left to do */
	void	   *owner;
	const char *no_similarity;	/* queries with a threshold are errors of that function; NULL: they are not */

	GenieArrayCursor cursor;
	IndexScanDesc conflicts;	/* in whose name conflicts are looked for */
	struct GenieMatchesJudge *judge;	/* of rows that a coarse class finds; NULL: it is another class */
	GenieMatchesQuery queries[GENIE_PIECE_QUERIES];

	/* an attempt at a piece */
	GenieMatchesWay way;
	GenieMatchesSource *sources;
} GenieMatches;

/* Questions to segments, and the source and the query of each. */
typedef struct GenieMatchesQuestions
{
	uint32		n;
	GenieSegmentTally *tallies;
	uint32	   *sources;
	uint32	   *queries;
} GenieMatchesQuestions;

/*
 * Takes the bits of the rows of one source that match query i; they are of n_words, and last as long as the call.
 * False: stale.
 */
typedef bool (*GenieMatchesTake) (void *arg, uint32 i, uint32 source, const uint64 *bits, Size n_words);

/*
 * Runs the caller's functions on all queries, which are the array's elements, under the active snapshot.  Errors: as
 * genie_access_open(); the index's class takes no such queries; a row has another type in a dimension than a query asks
 * for.
 */
extern void genie_matches_search(GenieMatches *matches, Oid index, ArrayType *queries, GenieScanKind kind);

/* Begins an attempt at a piece, in the current memory context: marks unsure objects, chooses the way.  False: stale. */
extern bool genie_matches_begin(GenieMatches *matches);

/* Does every object match that is not NULL? */
extern bool genie_matches_all(const GenieMatchesQuery *query);

/* How many objects of a source count, and how many are live.  False: stale. */
extern bool genie_matches_number(GenieMatches *matches, uint32 s, uint64 *n_counted, uint64 *n_live);

extern uint64 genie_matches_popcount(const uint64 *bits, Size n_words);

/*
 * Those of queries from first to end - 1, segment by segment, that an engine must be asked; live and mask are NULL.
 * inner: of a coarse class, what is sure to match, not what may.
 */
extern GenieMatchesQuestions genie_matches_questions(GenieMatches *matches, uint32 first, uint32 end, bool inner);

/* The rows that match each of the piece's queries that are not scans, query by query.  False: stale. */
extern bool genie_matches_find(GenieMatches *matches, GenieMatchesTake take, void *arg);

/* Takes an object's visible row, whose own TID is live. */
typedef void (*GenieMatchesRow) (void *arg, uint32 object, uint64 live);

/*
 * Looks up the rows of objects of a source that are set in wanted, and not in except (NULL: none is), and gives those
 * that are visible; row is NULL if the batch's visitor takes them.  False: stale.
 */
extern bool genie_matches_visit(GenieMatches *matches, uint32 s, const uint64 *wanted, const uint64 *except,
								GenieMatchesRow row, void *arg);

/*
 * Of a coarse class: adds to *n how many of n_objects objects of a source, ascending, have rows that fulfil query i.
 * False: stale.
 */
extern bool genie_matches_judge_objects(GenieMatches *matches, uint32 i, uint32 s, const uint32 *objects,
										uint32 n_objects, uint64 *n);

/* Takes a row's own TID. */
typedef void (*GenieMatchesScanRow) (void *arg, uint64 live);

/* The visible rows that fulfil a query that is a scan. */
extern void genie_matches_scan(GenieMatches *matches, Datum query, GenieMatchesScanRow row, void *arg);

#endif							/* GENIE_BATCH_MATCHES_H */

/*
 * genie_search.h
 *	  Counting matches in one segment: what a scan asks for, whoever counts.
 *
 * Here lives the in-process path: the backend reads the posting lists that a query needs from
 * the pages, lays them out as tiles, and runs the CPU engine on them.  A query is compiled once
 * against a segment (GenieSearch) and may then be asked repeatedly: for the best k after a cursor,
 * for all counts, or for a filter.
 *
 * Memory.  Lists that together fit `memory` bytes are read once and kept; longer ones are read
 * again, a group of tiles at a time, on every call.
 *
 * All functions that read return false where the segment turned out to be stale (genie_segment.h).
 */
#ifndef GENIE_SEARCH_H
#define GENIE_SEARCH_H

#include "genie_keyword.h"
#include "genie_segment.h"
#include "genie_topk.h"

typedef struct GenieSearch GenieSearch;

/*
 * NULL: stale.  Lives in the current memory context; segment and query must stay.  *memory is what
 * the caller can spare for posting lists; what is taken of it is subtracted.
 */
extern GenieSearch *genie_search_open(GenieSegment *segment, const GenieQueryView *query, Size *memory);

/* postings of all lists that the query touches; 0: nothing in this segment matches */
extern uint64 genie_search_postings(const GenieSearch *search);

/* no object of the segment can match more */
extern uint32 genie_search_max_count(const GenieSearch *search);

/*
 * The best k objects by (match count desc, object asc), of those that are set in live (NULL:
 * all), have at least min_count >= 1 matches and rank below *after (NULL: from the top).  hits
 * has room for genie_topk_capacity(k); *n of them are valid.
 */
extern bool genie_search_top(GenieSearch *search, const uint64 *live, uint32 k, uint32 min_count,
							 const GenieHit *after, GenieHit *hits, uint32 *n);

/* The match count of every object: counts has room for whole tiles (65,536 entries each). */
extern bool genie_search_counts(GenieSearch *search, uint16 *counts);

/* Clears in live the objects that match fewer than min_count times. */
extern bool genie_search_filter(GenieSearch *search, uint32 min_count, uint64 *live);

/*
 * The segment's live objects that are not NULL, a bit each, whole tiles of GENIE_TILE_WORDS words, palloc'd.
 * False: stale.  Unless always, *live is NULL where all objects are live and none is NULL, which
 * saves a pass over the segment.  If nulls is not NULL, *nulls gets the live NULL objects (or NULL
 * if there are none).
 */
extern bool genie_search_live(GenieSegment *segment, bool always, uint64 **live, uint64 **nulls);

#endif							/* GENIE_SEARCH_H */

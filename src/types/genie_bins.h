/*
 * genie_bins.h
 *	  Bins: what the operator class genie_tuple_ops learns of attributes with many values, and queries in terms of them.
 *
 * A *cut* is a keyword.  The cuts of an attribute are those of one dimension and family, in ascending order; a bin
 * begins at each, and ends before the next one.  The first bin has what is below the first cut, too, and the last one
 * all that is above.  A keyword's bin is its cut, which is a keyword of the same dimension and family.  So all else
 * treats bins as it treats values, and finds the same conflicts of types.  A keyword of a dimension and family without
 * cuts is left as it is.
 *
 * Placing keywords in bins keeps their order.  So an object that has a keyword in an interval has its bin in the bins
 * that the interval overlaps (the *outer* query), and one whose bin the interval contains (the *inner* query) has its
 * keyword there.  Objects have one keyword of a dimension at most.  So a match count by values is not above the one by
 * the outer query, and not below the one by the inner one.
 *
 * A dimension and family with cuts is a *slot*; slots are numbered in the order of the cuts, from 0 on.
 *
 * Cuts are of equal depth: each bin has about as many of the rows from which they were learned (equi-depth histograms:
 * Piatetsky-Shapiro and Connell, SIGMOD 1984).
 */
#ifndef GENIE_BINS_H
#define GENIE_BINS_H

#include "genie_opclass.h"

#define GENIE_BINS_DEFAULT	256
#define GENIE_BINS_MIN		2
#define GENIE_BINS_MAX		1000	/* half the rows of a sample */

/*
 * Cuts of some objects' keywords, palloc'd: of attributes that have more than n_bins values there.  Fewer bins where
 * the cuts would be too many to be kept.
 */
extern bytea *genie_bins_learn(const GenieRaw *objects, uint32 n, uint32 n_bins);

/* The bin of a keyword, or the keyword itself.  Errors: the parameters are damaged. */
extern GenieKey genie_bins_place(const bytea *bins, GenieKey key);

/* A bin. */
typedef struct GenieBin
{
	uint32		slot;
	uint32		number;			/* of its slot's, from 0 on */
	GenieKey	cut;
	GenieKey	next;			/* the next bin's cut; its length is 0: the slot has none */
} GenieBin;

extern uint32 genie_bins_slots(const bytea *bins);

/* Finds the bin of a keyword; false: its dimension and family have none. */
extern bool genie_bins_find(const bytea *bins, GenieKey key, GenieBin *bin);

/* Is a key the cut of a bin?  *end: the next cut of its dimension and family; its length is 0: there is none. */
extern bool genie_bins_end(const bytea *bins, GenieKey key, GenieKey *end);

/* Is a dimension kept by bins? */
extern bool genie_bins_has(const bytea *bins, uint32 dimension);

/*
 * The outer and the inner query, palloc'd.  By the outer one a keyword counts as its bin does.  min_match stays; a
 * threshold does not: the fewest matches that it leaves possible are in the outer one's min_match.
 */
extern GenieQuery *genie_bins_outer(const bytea *bins, const GenieQuery *query);
extern GenieQuery *genie_bins_inner(const bytea *bins, const GenieQuery *query);

/*
 * The outer query, but of one slot only the bins that an interval cuts, palloc'd; NULL: it cuts none of them.  Of a
 * conjunction of all its dimensions, what is in the outer query and not in the inner one is in such a query of some
 * slot.
 */
extern GenieQuery *genie_bins_edge(const bytea *bins, const GenieQuery *query, uint32 slot);

/*
 * Is there a bin with so many of these objects, of other values than its cut, that it had better be divided, or an
 * attribute without bins that has many values now?  The objects are not those from which the cuts were learned.
 */
extern bool genie_bins_misfit(const bytea *bins, const GenieRaw *objects, uint32 n, uint32 n_bins);

#endif							/* GENIE_BINS_H */

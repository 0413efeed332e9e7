/*
 * genie_dispatch.h
 *	  Tiles or lanes: which queries of a batch are counted by posting lists, tile by tile, and which by bit lanes.
 *
 * Both ways give the same answers (genie_engine.h); this decides which is faster.  Both engines call it, for the TOP
 * jobs of one image that has codes and that either way can do.  An engine measures its costs when it is opened.  The
 * estimate is in nanoseconds of one processor, or of the whole device:
 *
 *	tiles	A query costs its postings, which image->postings_before gives exactly.  A list so long that it is a bitmap
 *			costs the same whatever it has.  Each tile adds a piece of work, and finding each range's lists.  In a
 *			tile of few postings each of them costs more, and the piece costs nothing.  Where zones spare work
 *			(genie_tile_zones.h), the CPU engine says which share is left.  In an image of codes alone a query costs
 *			the bytes of all strips, or of those that it asks for, once for each of a dimension's ranges.
 *	lanes	Queries go in blocks of n_lanes.  A block costs the same whatever its queries ask for: for each object a
 *			row of the block's table a dimension, and a comparison with all thresholds; plus making the table.  A
 *			row's cost depends on the cache that the table fits.  It is measured for a small table and for a large
 *			one, and is taken to be linear between the two.  Where threads share a block's objects, each makes the
 *			table.
 *	hits	Either way offers objects to each query's best k as long as they are not worse than what is known: the
 *			first k, and after i objects one in i / k.  Lanes take longer for each, and look at their thresholds only
 *			every GENIE_DISPATCH_HITS_LEAST hits.  Each part of a block begins by learning a threshold.
 *
 * The estimate adds up all work, whichever thread does it: both ways are cut into parts that all threads share, so
 * less work also ends sooner.
 *
 * A block's cost does not depend on its queries, so it is best filled with those that save most by it.  With the
 * queries in descending order of what they save, the choice is how many blocks to fill from the front: none, all, or
 * the number that makes the sum the smallest.
 *
 * Plain C99, host code only; the CUDA engine links genie_dispatch.c, too.
 */
#ifndef GENIE_DISPATCH_H
#define GENIE_DISPATCH_H

#include "genie_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hits between two looks of lanes at a query's threshold, where k is not more; what a part of a block begins with */
#define GENIE_DISPATCH_HITS_LEAST 64

/* What an engine measures, or knows of itself.  Times are nanoseconds; what does not exist costs 0. */
typedef struct GenieDispatchCosts
{
	/* tiles */
	double		tiles_ns;		/* a batch, whatever is in it */
	double		posting_ns;
	double		bitmap_ns;		/* a list of a tile that is a bitmap */
	double		piece_ns;		/* a query in a tile */
	double		range_ns;		/* a range in a tile */
	double		few_postings;	/* up to this many in a tile, on average, */
	double		few_ns;			/* a posting costs this, and nothing else does but the ranges */
	double		tile_hit_ns;	/* an object offered to a query's best */
	double		tally_share;	/* of all this, what a TALLY costs where it goes by zones; 0: all */
	double		code_byte_ns;	/* instead of lists: a byte of an image of codes alone */
	bool		codes_whole;	/* all of its strips are read, once */

	/* lanes */
	uint32_t	n_lanes;		/* queries in a block */
	double		lanes_ns;		/* a batch, whatever is in it */
	double		small_bytes;	/* a table of this size or less: */
	double		small_row_ns;	/* a dimension of an object, for all queries of a block */
	double		large_bytes;	/* a table of this size or more: */
	double		large_row_ns;
	double		object_ns;		/* an object's counts compared with the thresholds of a block */
	double		keyword_ns;		/* a row of a block's table made */
	double		lane_hit_ns;	/* an object offered to a query's best */
	uint32_t	n_parts;		/* that a block's objects are cut into, for threads; 0 or 1: none */

	/*
	 * Look at a few jobs first, and at all of them only where the two ways are close.  For an engine so fast that
	 * adding up the ranges of all jobs takes as long as counting them.
	 */
	bool		samples;
} GenieDispatchCosts;

/* A job of the batch, and what it costs. */
typedef struct GenieDispatchQuery
{
	const GenieJob *job;		/* the engine's, */
	uint32_t	number;			/* and its number of it */
	uint64_t	n_postings;		/* 0 where the job was not looked at, as are the costs */
	double		tiles_ns;
	double		lane_ns;		/* by lanes, besides its block */
} GenieDispatchQuery;

/* The choice for a batch of queries: the first n_lanes of them go by lanes, the others by tiles. */
typedef struct GenieDispatchChoice
{
	uint32_t	n_queries;
	uint32_t	n_lanes;
	uint64_t	n_postings;
	double		ns;				/* estimated of this choice, */
	double		all_tiles_ns;	/* of all queries by tiles, */
	double		all_lanes_ns;	/* of all by lanes */
} GenieDispatchChoice;

/*
 * Chooses for n >= 1 jobs of the same tiles of one image that has codes.  The caller sets job and number of each and
 * zeroes the rest, which is filled in.  The queries that go by lanes are put first; those that save the same stay in
 * the order of their numbers.
 */
extern GenieDispatchChoice genie_dispatch_choose(const GenieDispatchCosts *costs, GenieKernelChoice setting, uint32_t n,
												 GenieDispatchQuery *queries);

/* The choice and its reason, into text of GENIE_ENGINE_REASON_MAX bytes; lanes: what blocks of lanes are called. */
extern void genie_dispatch_explain(const GenieDispatchChoice *choice, GenieKernelChoice setting, const char *lanes,
								   char *text);

/* The costs in words, into text of GENIE_ENGINE_REASON_MAX bytes. */
extern void genie_dispatch_describe(const GenieDispatchCosts *costs, char *text);

/* ---- what the estimate is made of ---- */

/* Is the job counted in one of two ways, so that it is in GenieEngineChoices? */
static inline bool
genie_dispatch_counts(const GenieJob *job)
{
	return job->kind == GENIE_JOB_TOP || job->kind == GENIE_JOB_TALLY;
}

/* Can bit lanes count it, where the image has codes? */
static inline bool
genie_dispatch_may_use_lanes(const GenieJob *job)
{
	return genie_dispatch_counts(job) && job->query.keys == NULL &&
		(job->kind == GENIE_JOB_TALLY || job->n_conditions == 0);
}

/* What a query costs by tiles on so many objects of an image of codes alone. */
extern double genie_dispatch_codes_ns(const GenieDispatchCosts *costs, const GenieSegmentImage *image,
									  const GenieEngineQuery *query, uint32_t n_objects);

/*
 * Objects expected to be offered to a job's best k: all before there are k, then one in i / k of the i-th.  A TALLY
 * offers none.
 */
extern double genie_dispatch_hits(const GenieJob *job);

/* What a job costs by lanes besides its block. */
extern double genie_dispatch_lane_ns(const GenieDispatchCosts *costs, const GenieJob *job);

/* What a block of lanes costs on so many objects of an image, whatever its queries are. */
extern double genie_dispatch_block_ns(const GenieDispatchCosts *costs, const GenieSegmentImage *image,
									  uint32_t n_objects);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_DISPATCH_H */

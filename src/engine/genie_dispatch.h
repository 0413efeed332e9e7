/*
 * genie_dispatch.h
 *	  How to count a batch: which of its queries by posting lists, tile by tile, and which by bit lanes.
 *
 * Both give the same answers (genie_engine.h); this decides what is faster, for the TOP jobs of one image that has
 * codes and which either way can do.  The estimate is in nanoseconds of one processor, or of the whole device; an
 * engine measures the constants when it is opened.
 *
 *	tiles	a query costs its postings, which image->postings_before gives exactly; but a list so long that it is a
 *			bitmap costs the same whatever it has; plus a piece of work in each tile, plus finding each range's
 *			lists in each tile.  Where it has few postings a tile, these cost more each, and the piece costs nothing.
 *	lanes	queries go in blocks of so many lanes; a block costs the same whatever its queries ask for: for each
 *			object a row of the block's table a dimension, and a comparison with all thresholds; plus making the
 *			table.  Rows come from the cache that the table fits, so what a row costs is measured for a small table
 *			and for a large one, and is taken to be linear between the two.  Where threads share a block's objects,
 *			each makes the table.
 *	hits	either way offers objects to each query's best k, as long as they are not worse than what is known: the
 *			first k, and after i objects one in i / k; lanes take longer for each, and look at their thresholds only
 *			every GENIE_DISPATCH_HITS_LEAST; each part of a block begins with what it takes to learn something.
 *
 * All is work, whoever does it: both ways are cut into what all threads have a share of, so what is less work also
 * ends sooner.
 *
 * Because a block's cost is what it is, it is best filled with the queries that save most by it.  So with the
 * queries in descending order of that, the choice is how many blocks to fill from the front: none, all, or the number
 * that makes the sum the smallest.
 *
 * Plain C99 that C++ and CUDA compile too; host code only.
 */
#ifndef GENIE_DISPATCH_H
#define GENIE_DISPATCH_H

#include <stdio.h>
#include <stdlib.h>

#include "genie_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ranges of at most this many ranks are looked at rank by rank; longer ones are taken to be of equal lists */
#define GENIE_DISPATCH_RANKS 64

/* hits between two looks of lanes at a query's threshold, where k is not more; what a part of a block begins with */
#define GENIE_DISPATCH_HITS_LEAST 64

/* What an engine measures.  All in nanoseconds; of what does not exist, 0. */
typedef struct GenieDispatchCosts
{
	/* tiles */
	double		tiles_ns;		/* a batch, whatever is in it */
	double		posting_ns;
	double		bitmap_ns;		/* a list of a tile that is a bitmap */
	double		piece_ns;		/* a query in a tile */
	double		range_ns;		/* a range in a tile */
	double		few_postings;	/* up to so many in a tile, on average, */
	double		few_ns;			/* a posting costs this, and nothing else does but the ranges */
	double		tile_hit_ns;	/* an object offered to a query's best */

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
} GenieDispatchCosts;

/* A query of the batch, and what it costs by tiles. */
typedef struct GenieDispatchQuery
{
	double		tiles_ns;
	double		lane_ns;		/* by lanes, what is its own */
	uint64_t	n_postings;
	uint32_t	job;			/* the engine's number of it */
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

/* Objects that are offered to a job's best k: all before there are k, and then one in i / k of the i-th. */
static inline double
genie_dispatch_hits(const GenieJob *job)
{
	const double ln_2 = 0.693;
	double		n = job->image->n_objects;
	double		k = job->k < GENIE_DISPATCH_HITS_LEAST ? GENIE_DISPATCH_HITS_LEAST : job->k;
	double		hits = n < k ? n : k;

	/* each time the objects are twice as many, ln 2 times k, and of less than twice its part */
	for (double i = k; i < n; i *= 2)
		hits += ln_2 * k * (2 * i <= n ? 1 : (n - i) / i);
	return hits;
}

/* What a job costs by lanes that is not its block's. */
static inline double
genie_dispatch_lane_ns(const GenieDispatchCosts *costs, const GenieJob *job)
{
	double		n_parts = costs->n_parts <= 1 ? 1 : costs->n_parts;

	return costs->lane_hit_ns * (genie_dispatch_hits(job) + (n_parts - 1) * GENIE_DISPATCH_HITS_LEAST);
}

/* What a job of an image that has codes costs; number: the engine's of it. */
static inline GenieDispatchQuery
genie_dispatch_query(const GenieDispatchCosts *costs, const GenieJob *job, uint32_t number)
{
	const GenieSegmentImage *image = job->image;
	const GenieEngineQuery *query = &job->query;
	double		dense = (double) GENIE_IMAGE_DENSE * image->n_tiles;
	double		bitmap_ns = costs->bitmap_ns * image->n_tiles;
	double		ranges_ns = costs->range_ns * query->n_ranges * image->n_tiles;
	GenieDispatchQuery cost;

	cost.tiles_ns = costs->piece_ns * image->n_tiles + ranges_ns;
	cost.n_postings = 0;
	cost.job = number;
	for (uint32_t r = 0; r < query->n_ranges; r++)
	{
		uint32_t	first = query->ranges[r].first;
		uint32_t	end = query->ranges[r].end;
		uint32_t	step = end - first <= GENIE_DISPATCH_RANKS ? 1 : end - first;

		cost.n_postings += image->postings_before[end] - image->postings_before[first];
		for (; first < end; first += step)
		{
			double		n = (double) (image->postings_before[first + step] - image->postings_before[first]);

			cost.tiles_ns += n < dense * step ? n * costs->posting_ns : bitmap_ns * step;
		}
	}
	if (cost.n_postings <= costs->few_postings * image->n_tiles)
		cost.tiles_ns = costs->few_ns * (double) cost.n_postings + ranges_ns;
	cost.tiles_ns += costs->tile_hit_ns * genie_dispatch_hits(job);
	cost.lane_ns = genie_dispatch_lane_ns(costs, job);
	return cost;
}

/* What a block of lanes costs, whatever its queries are. */
static inline double
genie_dispatch_block_ns(const GenieDispatchCosts *costs, const GenieSegmentImage *image)
{
	uint32_t	n_dimensions = image->groups[0]->n_dimensions;
	double		bytes = (double) image->n_keywords * costs->n_lanes / 8;
	double		row_ns = costs->small_row_ns;
	double		n_tables = costs->n_parts <= 1 ? 1 : costs->n_parts;

	if (bytes >= costs->large_bytes)
		row_ns = costs->large_row_ns;
	else if (bytes > costs->small_bytes)
		row_ns += (costs->large_row_ns - row_ns) * (bytes - costs->small_bytes) /
			(costs->large_bytes - costs->small_bytes);
	return (row_ns * n_dimensions + costs->object_ns) * image->n_objects +
		costs->keyword_ns * image->n_keywords * n_tables;
}

/* those that lanes save most of first, equal ones in the engine's order */
static inline int
genie_dispatch_compare(const void *a, const void *b)
{
	const GenieDispatchQuery *x = (const GenieDispatchQuery *) a;
	const GenieDispatchQuery *y = (const GenieDispatchQuery *) b;

	if (x->tiles_ns - x->lane_ns != y->tiles_ns - y->lane_ns)
		return x->tiles_ns - x->lane_ns > y->tiles_ns - y->lane_ns ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/*
 * Chooses for n >= 1 queries of an image that has codes, and sorts them: those that go by lanes come first.
 */
static inline GenieDispatchChoice
genie_dispatch_choose(const GenieDispatchCosts *costs, const GenieSegmentImage *image, GenieKernelChoice setting,
					  uint32_t n, GenieDispatchQuery *queries)
{
	uint32_t	n_blocks = (n + costs->n_lanes - 1) / costs->n_lanes;
	double		block_ns = genie_dispatch_block_ns(costs, image);
	double		rest_ns = 0;	/* by tiles, of the queries that are not in the blocks, and by lanes, of the others */
	GenieDispatchChoice choice;

	qsort(queries, n, sizeof(GenieDispatchQuery), genie_dispatch_compare);
	choice.n_queries = n;
	choice.n_lanes = 0;
	choice.n_postings = 0;
	choice.all_lanes_ns = costs->lanes_ns + block_ns * n_blocks;
	for (uint32_t q = 0; q < n; q++)
	{
		rest_ns += queries[q].tiles_ns;
		choice.all_lanes_ns += queries[q].lane_ns;
		choice.n_postings += queries[q].n_postings;
	}
	choice.all_tiles_ns = costs->tiles_ns + rest_ns;
	choice.ns = choice.all_tiles_ns;
	for (uint32_t b = 1; b < n_blocks; b++)
	{
		double		ns;

		for (uint32_t q = (b - 1) * costs->n_lanes; q < b * costs->n_lanes; q++)
			rest_ns += queries[q].lane_ns - queries[q].tiles_ns;
		ns = costs->tiles_ns + costs->lanes_ns + rest_ns + block_ns * b;
		if (ns < choice.ns)
		{
			choice.ns = ns;
			choice.n_lanes = b * costs->n_lanes;
		}
	}
	if (setting == GENIE_KERNELS_TILES)
	{
		choice.n_lanes = 0;
		choice.ns = choice.all_tiles_ns;
	}
	else if (setting == GENIE_KERNELS_LANES || choice.all_lanes_ns < choice.ns)
	{
		choice.n_lanes = n;
		choice.ns = choice.all_lanes_ns;
	}
	return choice;
}

/* A number of things with a unit's prefix, as a person reads it. */
static inline void
genie_dispatch_number(char *text, size_t size, uint64_t n)
{
	if (n >= 1000000000)
		snprintf(text, size, "%.1f G", 1e-9 * (double) n);
	else if (n >= 1000000)
		snprintf(text, size, "%.1f M", 1e-6 * (double) n);
	else
		snprintf(text, size, "%llu", (unsigned long long) n);
}

/* The choice and why, into text of GENIE_ENGINE_REASON_MAX bytes; lanes: what blocks of lanes are called. */
static inline void
genie_dispatch_explain(const GenieDispatchChoice *choice, GenieKernelChoice setting, const char *lanes, char *text)
{
	uint32_t	n_tiles = choice->n_queries - choice->n_lanes;
	const char *why = setting == GENIE_KERNELS_AUTO ? "" : " (as set)";
	char		postings[32];

	genie_dispatch_number(postings, sizeof(postings), choice->n_postings);
	if (n_tiles == 0)
		snprintf(text, GENIE_ENGINE_REASON_MAX, "%u queries, %s postings: %s%s, %.2f ms estimated, tiles %.2f ms",
				 choice->n_queries, postings, lanes, why, 1e-6 * choice->ns, 1e-6 * choice->all_tiles_ns);
	else if (choice->n_lanes == 0)
		snprintf(text, GENIE_ENGINE_REASON_MAX, "%u queries, %s postings: tiles%s, %.2f ms estimated, %s %.2f ms",
				 choice->n_queries, postings, why, 1e-6 * choice->ns, lanes, 1e-6 * choice->all_lanes_ns);
	else
		snprintf(text, GENIE_ENGINE_REASON_MAX,
				 "%u queries, %s postings: %s for %u, tiles for %u, %.2f ms estimated, tiles %.2f ms, %s %.2f ms",
				 choice->n_queries, postings, lanes, choice->n_lanes, n_tiles, 1e-6 * choice->ns,
				 1e-6 * choice->all_tiles_ns, lanes, 1e-6 * choice->all_lanes_ns);
}

/* The constants as a person reads them, into text of GENIE_ENGINE_REASON_MAX bytes. */
static inline void
genie_dispatch_describe(const GenieDispatchCosts *costs, char *text)
{
	snprintf(text, GENIE_ENGINE_REASON_MAX,
			 "ns: posting %.3g, few %.3g, bitmap %.4g, query in a tile %.4g, range %.3g; "
			 "row of %u lanes %.3g to %.3g, object %.3g, keyword %.3g; hits %.3g and %.3g",
			 costs->posting_ns, costs->few_ns, costs->bitmap_ns, costs->piece_ns, costs->range_ns,
			 costs->n_lanes, costs->small_row_ns, costs->large_row_ns, costs->object_ns, costs->keyword_ns,
			 costs->tile_hit_ns, costs->lane_hit_ns);
}

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_DISPATCH_H */

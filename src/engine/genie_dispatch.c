/*
 * genie_dispatch.c
 *	  Choosing between tiles and bit lanes (genie_dispatch.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "genie_dispatch.h"

/* ranges of at most this many ranks are looked at rank by rank; longer ones are taken to be of equal lists */
#define RANKS_MAX 64

/*
 * A sample is SAMPLE_FIRST jobs.  Where these estimate the two ways within a factor of SAMPLE_CLEAR, it is SAMPLE_MORE;
 * where those do within SAMPLE_CLOSE, all jobs are looked at.  Looking at 1024 queries of 237 ranges takes some
 * milliseconds, at 64 of them 0.12 to 0.18.
 */
#define SAMPLE_FIRST 16
#define SAMPLE_MORE 64
#define SAMPLE_CLEAR 2.0
#define SAMPLE_CLOSE 1.3

/* ---- what things cost ---- */

double
genie_dispatch_hits(const GenieJob *job)
{
	const double ln_2 = 0.693;
	double		n = genie_job_objects(job);
	double		k = job->k < GENIE_DISPATCH_HITS_LEAST ? GENIE_DISPATCH_HITS_LEAST : job->k;
	double		hits = n < k ? n : k;

	if (job->kind == GENIE_JOB_TALLY)
		return 0;
	/* each time the number of objects doubles, ln 2 times k; less where it does not double */
	for (double i = k; i < n; i *= 2)
		hits += ln_2 * k * (2 * i <= n ? 1 : (n - i) / i);
	return hits;
}

double
genie_dispatch_lane_ns(const GenieDispatchCosts *costs, const GenieJob *job)
{
	double		n_parts = costs->n_parts <= 1 ? 1 : costs->n_parts;

	if (job->kind == GENIE_JOB_TALLY)
		return 0;
	return costs->lane_hit_ns * (genie_dispatch_hits(job) + (n_parts - 1) * GENIE_DISPATCH_HITS_LEAST);
}

double
genie_dispatch_block_ns(const GenieDispatchCosts *costs, const GenieSegmentImage *image, uint32_t n_objects)
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
	return (row_ns * n_dimensions + costs->object_ns) * n_objects +
		costs->keyword_ns * image->n_keywords * n_tables;
}

double
genie_dispatch_codes_ns(const GenieDispatchCosts *costs, const GenieSegmentImage *image, const GenieEngineQuery *query,
						uint32_t n_objects)
{
	const GenieImageGroup *group = image->groups[0];
	const GenieCodeDimension *dimensions = genie_image_dimensions(group);
	const GenieCodeStrip *last = genie_image_strips(group) + (group->n_strips - 1);
	double		bytes = last->offset + last->row_bytes;
	double		more_bytes = 0;
	uint32_t	n_asked = 0;	/* dimensions */
	uint32_t	d = 0;

	for (uint32_t r = 0; r < query->n_ranges && !costs->codes_whole; r++)
	{
		uint32_t	before = d;

		d = genie_code_dimension_of(dimensions, group->n_dimensions, d, query->ranges[r].first);
		if (r > 0 && d == before)
			more_bytes += genie_image_strips(group)[dimensions[d].strip].row_bytes;
		else
			n_asked++;
	}
	if (n_asked < group->n_strips && !costs->codes_whole)
		bytes *= (double) n_asked / group->n_strips;
	return costs->code_byte_ns * (bytes + more_bytes) * n_objects;
}

/* Fills in what the query costs. */
static void
look_at(const GenieDispatchCosts *costs, GenieDispatchQuery *query)
{
	const GenieSegmentImage *image = query->job->image;
	const GenieEngineQuery *asked = &query->job->query;
	double		dense = (double) GENIE_IMAGE_DENSE * image->n_tiles;
	uint32_t	n_tiles = query->job->n_tiles;
	double		share = image->n_tiles == 0 ? 0 : (double) n_tiles / image->n_tiles;	/* of each list, as far as is
																						 * known */
	double		bitmap_ns = costs->bitmap_ns * n_tiles;
	double		ranges_ns = costs->range_ns * asked->n_ranges * n_tiles;

	query->tiles_ns = costs->piece_ns * n_tiles + ranges_ns;
	query->n_postings = 0;
	for (uint32_t r = 0; r < asked->n_ranges; r++)
	{
		uint32_t	first = asked->ranges[r].first;
		uint32_t	end = asked->ranges[r].end;
		uint32_t	step = end - first <= RANKS_MAX ? 1 : end - first;

		query->n_postings += image->postings_before[end] - image->postings_before[first];
		for (; first < end; first += step)
		{
			double		n = (double) (image->postings_before[first + step] - image->postings_before[first]);

			query->tiles_ns += n < dense * step ? n * share * costs->posting_ns : bitmap_ns * step;
		}
	}
	query->n_postings = (uint64_t) (share * (double) query->n_postings);
	if (genie_image_is_codes(image))
		query->tiles_ns = costs->piece_ns * n_tiles +
			genie_dispatch_codes_ns(costs, image, asked, genie_job_objects(query->job));
	else if (query->n_postings <= costs->few_postings * n_tiles)
		query->tiles_ns = costs->few_ns * (double) query->n_postings + ranges_ns;
	query->tiles_ns += costs->tile_hit_ns * genie_dispatch_hits(query->job);
	if (query->job->kind == GENIE_JOB_TALLY && costs->tally_share > 0)
		query->tiles_ns *= costs->tally_share;
	query->lane_ns = genie_dispatch_lane_ns(costs, query->job);
}

/* ---- the choice ---- */

/* Looks at about n_looks of the queries, evenly spaced, and gives what all of them cost one way, and the other. */
static GenieDispatchChoice
estimate(const GenieDispatchCosts *costs, double block_ns, uint32_t n, uint32_t n_looks, GenieDispatchQuery *queries)
{
	uint32_t	step = n <= n_looks ? 1 : n / n_looks;
	uint32_t	n_blocks = (n + costs->n_lanes - 1) / costs->n_lanes;
	GenieDispatchChoice choice = {.n_queries = n};
	double		tiles_ns = 0;
	double		lanes_ns = 0;
	double		n_postings = 0;
	uint32_t	n_looked = 0;
	double		scale;

	for (uint32_t q = 0; q < n; q += step, n_looked++)
	{
		look_at(costs, &queries[q]);
		tiles_ns += queries[q].tiles_ns;
		lanes_ns += queries[q].lane_ns;
		n_postings += (double) queries[q].n_postings;
	}
	scale = (double) n / n_looked;
	choice.n_postings = (uint64_t) (n_postings * scale);
	choice.all_tiles_ns = costs->tiles_ns + tiles_ns * scale;
	choice.all_lanes_ns = costs->lanes_ns + block_ns * n_blocks + lanes_ns * scale;
	choice.ns = choice.all_tiles_ns;
	return choice;
}

/* Are the two ways estimated within this factor? */
static bool
are_within(const GenieDispatchChoice *choice, double factor)
{
	double		a = choice->all_tiles_ns;
	double		b = choice->all_lanes_ns;

	return a < b ? b < factor * a : a < factor * b;
}

/* those that lanes save most of first, equal ones in the engine's order */
static int
compare_queries(const void *a, const void *b)
{
	const GenieDispatchQuery *x = a;
	const GenieDispatchQuery *y = b;

	if (x->tiles_ns - x->lane_ns != y->tiles_ns - y->lane_ns)
		return x->tiles_ns - x->lane_ns > y->tiles_ns - y->lane_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Some blocks of lanes, but not all: as many as make the estimate the smallest, if that is less than all by tiles. */
static void
fill_blocks(const GenieDispatchCosts *costs, double block_ns, GenieDispatchQuery *queries, GenieDispatchChoice *choice)
{
	double		rest_ns = choice->all_tiles_ns + costs->lanes_ns;	/* all but the blocks */

	qsort(queries, choice->n_queries, sizeof(GenieDispatchQuery), compare_queries);
	for (uint32_t end = costs->n_lanes; end < choice->n_queries; end += costs->n_lanes)
	{
		double		ns;

		for (uint32_t q = end - costs->n_lanes; q < end; q++)
			rest_ns += queries[q].lane_ns - queries[q].tiles_ns;
		ns = rest_ns + block_ns * (end / costs->n_lanes);
		if (ns < choice->ns)
		{
			choice->ns = ns;
			choice->n_lanes = end;
		}
	}
}

GenieDispatchChoice
genie_dispatch_choose(const GenieDispatchCosts *costs, GenieKernelChoice setting, uint32_t n,
					  GenieDispatchQuery *queries)
{
	double		block_ns = genie_dispatch_block_ns(costs, queries[0].job->image, genie_job_objects(queries[0].job));
	GenieDispatchChoice choice;
	bool		looks_at_all = true;

	if (costs->samples)
	{
		choice = estimate(costs, block_ns, n, SAMPLE_FIRST, queries);
		if (are_within(&choice, SAMPLE_CLEAR))
			choice = estimate(costs, block_ns, n, SAMPLE_MORE, queries);
		looks_at_all = setting == GENIE_KERNELS_AUTO && are_within(&choice, SAMPLE_CLOSE);
	}
	if (looks_at_all)
	{
		choice = estimate(costs, block_ns, n, n, queries);
		fill_blocks(costs, block_ns, queries, &choice);
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

/* ---- in words ---- */

/* A number of things with a unit's prefix. */
static void
format_number(char *text, size_t size, uint64_t n)
{
	if (n >= 1000000000)
		snprintf(text, size, "%.1f G", 1e-9 * (double) n);
	else if (n >= 1000000)
		snprintf(text, size, "%.1f M", 1e-6 * (double) n);
	else
		snprintf(text, size, "%llu", (unsigned long long) n);
}

void
genie_dispatch_explain(const GenieDispatchChoice *choice, GenieKernelChoice setting, const char *lanes, char *text)
{
	uint32_t	n_tiles = choice->n_queries - choice->n_lanes;
	const char *why = setting == GENIE_KERNELS_AUTO ? "" : " (as set)";
	char		postings[32];

	format_number(postings, sizeof(postings), choice->n_postings);
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

void
genie_dispatch_describe(const GenieDispatchCosts *costs, char *text)
{
	snprintf(text, GENIE_ENGINE_REASON_MAX,
			 "ns: batch %.3g, posting %.3g, few %.3g, bitmap %.4g, query in a tile %.4g, range %.3g; "
			 "row of %u lanes %.3g to %.3g, object %.3g, keyword %.3g; hits %.3g and %.3g",
			 costs->tiles_ns, costs->posting_ns, costs->few_ns, costs->bitmap_ns, costs->piece_ns, costs->range_ns,
			 costs->n_lanes, costs->small_row_ns, costs->large_row_ns, costs->object_ns, costs->keyword_ns,
			 costs->tile_hit_ns, costs->lane_hit_ns);
}

/*
 * genie_job_parts.c
 *	  Parts of jobs, and merging what they give (genie_job_parts.h).
 */
#include <string.h>

#include "genie_job_parts.h"
#include "genie_tile_facets.h"

bool
genie_job_may_cut(const GenieJob *job)
{
	if (job->kind == GENIE_JOB_SCAN)
		return genie_job_scan_fits(job) && job->n_tiles > 0;
	return genie_job_tiles_fit(job) && job->n_tiles > 0 && genie_job_keys_fit(job);
}

GenieJob
genie_job_part(const GenieJob *job, uint32_t first_tile, uint32_t end_tile)
{
	GenieJob	part = *job;
	uint32_t	end = job->first_tile + job->n_tiles;
	size_t		skipped;

	if (first_tile > part.first_tile)
		part.first_tile = first_tile < end ? first_tile : end;
	if (end_tile < end)
		end = end_tile > part.first_tile ? end_tile : part.first_tile;
	part.n_tiles = end - part.first_tile;
	skipped = part.first_tile - job->first_tile;
	if (job->live != NULL)
		part.live = job->live + skipped * GENIE_TILE_WORDS;
	if (job->kind == GENIE_JOB_COUNTS)
		part.out = (uint8_t *) job->out + skipped * GENIE_TILE_OBJECTS *
			(job->query.max_count <= GENIE_COUNT_NARROW ? sizeof(uint8_t) : sizeof(uint16_t));
	else if (job->kind == GENIE_JOB_MASK)
		part.out = (uint8_t *) job->out + skipped * GENIE_TILE_BITMAP_BYTES;
	return part;
}

size_t
genie_job_part_bytes(const GenieJob *job)
{
	if (genie_job_ranks(job->kind))
		return job->k * sizeof(GenieHit);
	return genie_job_adds_up(job->kind) ? genie_job_facets_bytes(job) : 0;
}

void
genie_job_merge_begin(GenieJob *job)
{
	job->n_hits = 0;
	job->has_bounds = job->kind == GENIE_JOB_TOP && job->vectors != NULL;
	job->by_graph = false;
	job->status = GENIE_OK;
	if (genie_job_adds_up(job->kind))
		memset(job->out, 0, genie_job_facets_bytes(job));
}

static bool
ranks_below(GenieHit a, GenieHit b)
{
	return a.key != b.key ? a.key < b.key : a.object > b.object;
}

/*
 * The best k of both, in place: first how many of each are among them, then from the last one on, so that no hit is
 * written over that is still to be read.
 */
static void
merge_hits(GenieJob *job, const GenieJob *part)
{
	GenieHit   *ours = job->out;
	const GenieHit *theirs = part->out;
	uint32_t	n_ours = 0;
	uint32_t	n_theirs = 0;

	job->has_bounds = job->has_bounds && part->has_bounds;
	while (n_ours + n_theirs < job->k && (n_ours < job->n_hits || n_theirs < part->n_hits))
		if (n_theirs == part->n_hits || (n_ours < job->n_hits && !ranks_below(ours[n_ours], theirs[n_theirs])))
			n_ours++;
		else
			n_theirs++;
	job->n_hits = n_ours + n_theirs;
	for (uint32_t at = job->n_hits; n_theirs > 0; at--)
	{
		bool		is_theirs = n_ours == 0 || ranks_below(theirs[n_theirs - 1], ours[n_ours - 1]);

		if (job->has_bounds)
			job->bounds[at - 1] = is_theirs ? part->bounds[n_theirs - 1] : job->bounds[n_ours - 1];
		ours[at - 1] = is_theirs ? theirs[n_theirs - 1] : ours[n_ours - 1];
		*(is_theirs ? &n_theirs : &n_ours) -= 1;
	}
}

void
genie_job_merge(GenieJob *job, const GenieJob *part)
{
	job->by_graph |= part->by_graph;
	if (genie_job_ranks(job->kind))
		merge_hits(job, part);
	else if (job->kind == GENIE_JOB_GRID)
	{
		genie_grid_merge(job->out, part->out, job->grid->n_cells);
		job->n_hits |= part->n_hits;
	}
	else if (job->kind == GENIE_JOB_FACETS)
		for (uint32_t i = 0; i < job->facets.end - job->facets.first; i++)
			((uint32_t *) job->out)[i] += ((const uint32_t *) part->out)[i];
	else
		job->n_hits += part->n_hits;
}

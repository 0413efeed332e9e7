/*
 * genie_job_parts.h
 *	  A job on some of its tiles, and how what such parts give makes what the job gives (genie_engine.h).
 *
 * A part is the job itself on fewer tiles; numbers of tiles and objects stay as they are.  So what parts give merges
 * without conversion:
 *
 *		TOP, SCAN		the best k of all parts' hits, by key and object
 *		COUNTS, MASK	parts write to their places in the job's result
 *		TALLY, STAGE	their sum
 *		FACETS, GRID	added up in object order (genie_grid.h)
 */
#ifndef GENIE_JOB_PARTS_H
#define GENIE_JOB_PARTS_H

#include "genie_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is a job about an image, or about vectors, well-formed enough to be cut?  What is not, an engine refuses. */
extern bool genie_job_may_cut(const GenieJob *job);

/*
 * The job on those of its tiles that lie in [first_tile, end_tile), perhaps none.  Of COUNTS and MASK, out is where
 * the part writes.  Of other kinds out, and bounds, are still the job's: a part that is to be merged needs its own.
 */
extern GenieJob genie_job_part(const GenieJob *job, uint32_t first_tile, uint32_t end_tile);

/* How many bytes a part that is to be merged needs for its out; 0: it needs none. */
extern size_t genie_job_part_bytes(const GenieJob *job);

/* Before the first part is merged: the job's result is that of no tiles. */
extern void genie_job_merge_begin(GenieJob *job);

/*
 * Adds what a part gave, which is GENIE_OK, to the job.  FACETS, GRID: the objects of parts that were merged before are
 * smaller.
 */
extern void genie_job_merge(GenieJob *job, const GenieJob *part);

/* An image of the same tiles that has n groups from number first on, and no others. */
static inline GenieSegmentImage
genie_image_part(const GenieSegmentImage *image, uint32_t first, uint32_t n)
{
	GenieSegmentImage part = *image;

	part.groups = image->groups + first;
	part.n_groups = n;
	return part;
}

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_JOB_PARTS_H */

/*
 * genie_candidates.c
 *	  How many rows a scan by an approximate operator class looks up in the table first (genie_candidates.h).
 */
#include "postgres.h"

#include <math.h>

#include "genie_candidates.h"
#include "genie_meta.h"

/* candidates of an index of up to GENIE_CANDIDATES_ROWS rows; beyond, they grow with the root of the number of rows */
#define GENIE_CANDIDATES_LEAST 200
#define GENIE_CANDIDATES_ROWS 300000

int			genie_candidates;

/*
 * This many find 96 % of the 10 nearest rows of 100,000 SIFT descriptors, and of 300,000, 2,000,000 and 4,500,000 like
 * them (test/bench/RESULTS.md): the more rows there are, the more of them are about as near as the nearest ones.
 */
uint32
genie_candidates_for(double n_rows)
{
	double		n = GENIE_CANDIDATES_LEAST * sqrt(Max(n_rows / GENIE_CANDIDATES_ROWS, 1));

	return genie_candidates > 0 ? (uint32) genie_candidates : (uint32) Min(n, GENIE_CANDIDATES_MAX);
}

uint32
genie_candidates_of(Relation index)
{
	GenieMetaData *meta;
	double		n_rows = 0;

	if (genie_candidates > 0)
		return (uint32) genie_candidates;
	meta = genie_meta_read(index);
	for (uint32 i = 0; i < meta->n_segments; i++)
		n_rows += meta->segments[i].n_objects - meta->segments[i].n_dead;
	pfree(meta);
	return genie_candidates_for(n_rows);
}

/*
 * genie_hashing.h
 *	  Codes of many vectors: what of hashing (genie_lsh.h) an engine with a device does.
 *
 * The codes are those of genie_lsh_hash(), the same bits.  The functions come drawn: their tables are a view of a
 * GenieLsh's, so nothing is drawn twice, and an engine knows nothing of draws.
 */
#ifndef GENIE_HASHING_H
#define GENIE_HASHING_H

#include "genie_lsh.h"

typedef struct GenieHashing
{
	GenieLshParameters parameters;	/* L2 .. COSINE */
	uint32_t	n_groups;		/* of functions, or projections */
	const float *table;			/* as GenieLsh has them; aligned to 16 bytes, as vectors are */
	const double *shifts;		/* NULL, but of L2 and L1 */
	const uint32_t *seeds;
	uint32_t	n_vectors;		/* at least 1 */
	const float *vectors;		/* one behind the other */
} GenieHashing;

static inline GenieHashing
genie_hashing(const GenieLsh *lsh, const float *vectors, uint32_t n_vectors)
{
	GenieHashing hashing = {lsh->parameters, lsh->n_groups, lsh->table, lsh->shifts, lsh->seeds, n_vectors, vectors};

	return hashing;
}

/* Functions or projections, of which shifts and seeds have one each: what the last group is filled up with, too. */
static inline size_t
genie_hashing_rows(const GenieHashing *hashing)
{
	return (size_t) hashing->n_groups * GENIE_LSH_GROUP;
}

/* Numbers of the table, and of the vectors. */
static inline size_t
genie_hashing_entries(const GenieHashing *hashing)
{
	return genie_hashing_rows(hashing) * hashing->parameters.n_dimensions *
		(hashing->parameters.family == GENIE_LSH_LAPLACIAN ? 2 : 1);
}

static inline size_t
genie_hashing_elements(const GenieHashing *hashing)
{
	return (size_t) hashing->n_vectors * hashing->parameters.n_dimensions;
}

static inline size_t
genie_hashing_codes(const GenieHashing *hashing)
{
	return (size_t) hashing->n_vectors * hashing->parameters.n_functions;
}

#endif							/* GENIE_HASHING_H */

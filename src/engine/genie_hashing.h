/*
 * genie_hashing.h
 *	  The input of a GENIE_JOB_HASH: vectors, and the hash functions (genie_lsh.h) whose codes a GPU engine computes.
 *
 * The codes are those of genie_lsh_hash(), to the bit.  The tables are those of a GenieLsh, so nothing is drawn twice,
 * and an engine knows nothing of random draws.
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

/* Functions or projections, those that fill up the last group included; shifts and seeds have one entry for each. */
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

/*
 * genie_lsh.h
 *	  Locality-sensitive hash functions: they make vectors, sets and bit strings objects, one dimension a function.
 *
 * The probability that two things have the same code by a function grows with their similarity, so the number of
 * functions by which they agree, their match count, tells how near they are (GENIE, section 5).
 *
 * Functions are made from their parameters alone, with IEEE operations that every machine does alike (genie_draw.h),
 * and so are codes.  A vector has the same codes on every machine, with any instruction set, with any number of vectors
 * hashed together, here or on a GPU (genie_hashing.h).  Function i does not depend on how many functions there are.
 *
 * Nothing here allocates; the memory of the functions is the caller's.
 */
#ifndef GENIE_LSH_H
#define GENIE_LSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On disk: numbers are never reused or changed. */
typedef enum GenieLshFamily
{
	GENIE_LSH_NONE = 0,			/* no functions: of a class that ranks by values alone */
	GENIE_LSH_L2,				/* p-stable: Gaussian projections cut into buckets (Datar et al. 2004) */
	GENIE_LSH_L1,				/* p-stable: the same with Cauchy projections */
	GENIE_LSH_LAPLACIAN,		/* random binning for exp(-l1 / sigma) (Rahimi and Recht 2007) */
	GENIE_LSH_COSINE,			/* signs of Gaussian projections (Charikar 2002) */
	GENIE_LSH_MINHASH,			/* least hashed element of a set (Broder 1997); b bits of it (Li and Koenig 2010) */
	GENIE_LSH_HAMMING			/* sampled bits (Indyk and Motwani 1998) */
} GenieLshFamily;

#define GENIE_LSH_SCALES			8
#define GENIE_LSH_SCALE_MAX			0x1p40	/* and its inverse is the least */

/* Kept on disk as it is.  No padding. */
typedef struct GenieLshParameters
{
	uint32_t	family;			/* GenieLshFamily */
	uint32_t	n_functions;	/* 1 .. GENIE_LSH_FUNCTIONS_MAX */
	uint32_t	n_dimensions;	/* of a vector, bits of a bit string; 0 for MINHASH */
	uint32_t	n_buckets;		/* 0: codes as they are; else re-hashed to 0 .. n_buckets - 1; 0 for COSINE, HAMMING */
	uint64_t	seed;

	/*
	 * L2, L1: width of a bucket.  LAPLACIAN: sigma.  COSINE, HAMMING: bits of a code, a whole number from 1 to
	 * GENIE_LSH_BITS_MAX.  MINHASH: 0.  NONE: the GenieMetric of the values.
	 */
	double		width;

	/*
	 * L2, L1, LAPLACIAN: function i has scales[i % GENIE_LSH_SCALES] times the width.  All 0: each has the width.  Of
	 * rows that are near each other at several scales, some functions tell those of each scale apart.
	 */
	float		scales[GENIE_LSH_SCALES];
} GenieLshParameters;

#define GENIE_LSH_FUNCTIONS_MAX		65535	/* keywords of an object */
#define GENIE_LSH_DIMENSIONS_MAX	65535	/* of vectors; bit strings may be longer */
#define GENIE_LSH_BITS_MAX			16
#define GENIE_LSH_BYTES_MAX			(UINT64_C(256) << 20)	/* of the functions' memory */

#define GENIE_LSH_GROUP			16	/* functions that a kernel does together */
#define GENIE_LSH_TOGETHER		8	/* vectors that a kernel does together */
#define GENIE_LSH_ABREAST		4	/* groups that a kernel does together for a single vector */

/* One set for each instruction set; all give the same bits.  See genie_lsh_kernel.h. */
typedef struct GenieLshKernels
{
	const char *name;

	/*
	 * sums[vector][function of the group] = the sum of table[dimension][function] * the vector's element, added in
	 * order of dimensions.  Vectors are interleaved: elements[dimension][vector], GENIE_LSH_TOGETHER of them.
	 */
	void		(*project) (const float *table, uint32_t n_dimensions, const double *elements, double *sums);

	/* sums[group][function of it], likewise, of one vector by n_groups, at most GENIE_LSH_ABREAST */
	void		(*project_one) (const float *table, uint32_t n_dimensions, const double *elements, uint32_t n_groups,
								double *sums);

	/* codes = floor(sums / width + shifts), of a group; beyond int32 the nearest int32 */
	void		(*cut) (const double *sums, const double *shifts, double width, int32_t *codes);

	/*
	 * Runs MurmurHash3's states[vector][function] over the cells floor(element * table[dimension][0][function] +
	 * table[dimension][1][function]); beyond int32 the nearest int32, which they need not be checked for if bounded.
	 */
	void		(*bin) (const float *table, uint32_t n_dimensions, const double *elements, uint32_t n_vectors,
						bool bounded, uint32_t *states);

	/* least[function of the group] = the smallest genie_murmur_mix(element ^ keys[function]), UINT64_MAX of none */
	void		(*least) (const uint64_t *keys, const uint64_t *elements, uint32_t n_elements, uint64_t *least);
} GenieLshKernels;

extern const GenieLshKernels genie_lsh_portable;
#if defined(__x86_64__)
extern const GenieLshKernels genie_lsh_avx2;
extern const GenieLshKernels genie_lsh_avx512;
#endif

/* The sets that this processor runs, the portable one first and the best one last; NULL after that. */
extern const GenieLshKernels *genie_lsh_kernels_nth(uint32_t i);

/* Functions, made.  Hashing uses the memory behind it, so one thread at a time may use one of these. */
typedef struct GenieLsh
{
	GenieLshParameters parameters;
	const GenieLshKernels *kernels;
	uint32_t	n_bits;			/* of a code: projections, or sampled bits, a function */
	uint32_t	n_groups;		/* of GENIE_LSH_GROUP functions, or projections; the last one filled up */
	double		largest;		/* LAPLACIAN: of 1 / pitch */
	float	   *table;			/* by group: [dimension][GENIE_LSH_GROUP]; LAPLACIAN: [dimension][2][GENIE_LSH_GROUP] */
	double	   *shifts;			/* L2, L1: of each function, in widths */
	uint32_t   *seeds;			/* of each function's MurmurHash3 */
	uint64_t   *keys;			/* MINHASH: of each function */
	uint32_t   *positions;		/* HAMMING: n_bits of each function */
	double	   *elements;		/* of GENIE_LSH_TOGETHER vectors, interleaved: changes while hashing */
} GenieLsh;

/* Are the parameters as stated at the fields, and finite? */
extern bool genie_lsh_valid(const GenieLshParameters *parameters);

/* Bytes of the functions; of valid parameters.  May be more than GENIE_LSH_BYTES_MAX: the caller's check. */
extern uint64_t genie_lsh_size(const GenieLshParameters *parameters);

/* Begins the functions in memory of that size, aligned as malloc does it.  All groups must be drawn next. */
extern GenieLsh *genie_lsh_make(void *memory, const GenieLshParameters *parameters);
extern void genie_lsh_draw(GenieLsh *lsh, uint32_t group);

/* Codes of n vectors of finite elements, one behind the other: codes[vector][function].  Of L2 .. COSINE. */
extern void genie_lsh_hash(GenieLsh *lsh, const float *vectors, uint32_t n, int32_t *codes);

/*
 * Codes of a set by one group of functions, codes[function of all].  The set is given by genie_lsh_element() of each of
 * its elements, in any order; duplicates change nothing.  All empty sets have the same codes.
 */
extern void genie_lsh_hash_set(const GenieLsh *lsh, uint32_t group, const uint64_t *elements, uint32_t n,
							   int32_t *codes);

extern uint64_t genie_lsh_element(const uint8_t *bytes, size_t n);

/* Codes of a bit string, whose first bit is the first byte's highest. */
extern void genie_lsh_hash_bits(const GenieLsh *lsh, const uint8_t *bits, int32_t *codes);

/* ---- the codes that a query asks for ---- */

typedef struct GenieLshWindow
{
	int32_t		least;
	int32_t		greatest;		/* included */
} GenieLshWindow;

/*
 * The buckets of a query's window: its own and probes neighbours on each side.  For L2 and L1 without re-hashing.  The
 * match count is then the number of functions in whose window the other vector lies.
 *
 * A plain function says "same bucket".  Buckets must be wide for near vectors to agree, and then they say little; and
 * a query at its bucket's edge misses vectors just beyond it.  A window is as wide, but lies around the query: on the
 * projection, vectors in it are less than probes + 1 widths away, and others more than probes widths.  (Multi-probe
 * LSH, Lv et al. 2007, probes neighbours; QALSH, Huang et al. 2015, puts the bucket's middle at the query, and counts
 * collisions too.)
 */
static inline GenieLshWindow
genie_lsh_window(int32_t code, uint32_t probes)
{
	int64_t		least = (int64_t) code - probes;
	int64_t		greatest = (int64_t) code + probes;
	GenieLshWindow window;

	window.least = least < INT32_MIN ? INT32_MIN : (int32_t) least;
	window.greatest = greatest > INT32_MAX ? INT32_MAX : (int32_t) greatest;
	return window;
}

/* ---- how many functions (genie_lsh_count.c) ---- */

/*
 * The smallest number m of functions with which |match count / m - s| <= epsilon for every collision probability s with
 * probability at least 1 - delta; 0 if that is more than GENIE_LSH_FUNCTIONS_MAX.  Both in (0, 1).
 */
extern uint32_t genie_lsh_functions(double epsilon, double delta);

/* The number of functions by GENIE's Theorem 5.1: 2 ln(3 / delta) / epsilon^2, rounded up. */
extern double genie_lsh_functions_bound(double epsilon, double delta);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_LSH_H */

/*
 * genie_knn.h
 *	  Exact nearest neighbours: the k rows nearest to each of many queries, of rows that come a panel at a time.
 *
 *		knn.metric = ..., and the other fields of its shape
 *		genie_knn_open(&knn, memory of genie_knn_bytes(&knn) bytes)
 *		for each panel:			genie_knn_add(&knn, rows, ids, n)
 *		genie_knn_finish(&knn)	sorts what was found
 *
 * The distance is genie_vector_measure()'s, to the bit; of the inner product, whose largest is the nearest, it is the
 * negative.  Neighbours are ordered by (distance, id), NaN behind all numbers.  Rows may come in any order and have any
 * elements: those that are not finite only cost time.  Queries and rows are aligned as their elements are.
 *
 * A GPU engine is faster at estimates.  It is given the same floats, terms and bounds (genie_nearest.h), and the pairs
 * that it finds are added instead of their rows:
 *
 *		genie_knn_floats() of the queries, once
 *		for each panel, of any size:	genie_knn_floats() of its rows; knn.bounds as they are now
 *										genie_knn_add_pairs(&knn, rows, ids, ...), if all its pairs were found
 */
#ifndef GENIE_KNN_H
#define GENIE_KNN_H

#include "genie_nearest.h"
#include "genie_vector.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_KNN_ROWS		32	/* of a panel */
#define GENIE_KNN_TILE		12	/* queries that a kernel takes together, or a divisor of that */

typedef struct GenieNeighbour
{
	double		distance;
	uint64_t	id;
} GenieNeighbour;

struct GenieKnnKernel;

typedef struct GenieKnn
{
	/* the shape */
	GenieMetric metric;
	bool		is_double;		/* queries' and rows' elements */
	uint32_t	n_dimensions;
	uint32_t	n_queries;
	uint32_t	k;				/* at least 1 */
	const void *queries;		/* n_queries * n_dimensions elements, which stay there */

	/* the rest belongs to genie_knn.c, in the caller's memory */
	const struct GenieKnnKernel *kernel;
	double		slack;			/* relative error of a float sum, at most */
	void	   *zeros;			/* a vector of zeros */
	double	   *query_sizes;	/* a query's part in its bound; NaN: it has none */
	float	   *bounds;			/* of queries, and padding: rows with a larger estimate are out; infinity: none is */
	float	   *tiles;			/* queries: GENIE_KNN_TILE together, dimension by dimension */
	float	   *panel;			/* rows, dimension by dimension */
	float	   *terms;			/* of rows: where their estimates begin */
	uint32_t   *n_found;		/* of each query, */
	GenieNeighbour *found;		/* k places each; the farthest first, a heap, until finish: then in order */

	/* the panel that is being added */
	const void *rows;
	const uint64_t *ids;
	uint32_t	n_rows;
} GenieKnn;

/* Bytes of memory for the shape. */
extern size_t genie_knn_bytes(const GenieKnn *knn);

extern void genie_knn_open(GenieKnn *knn, void *memory);

/* n rows, 1 .. GENIE_KNN_ROWS, of n_dimensions elements each, and their ids, which differ from all others. */
extern void genie_knn_add(GenieKnn *knn, const void *rows, const uint64_t *ids, uint32_t n);

extern void genie_knn_finish(GenieKnn *knn);

/* Are the elements of queries and rows the floats that estimates are made of? */
extern bool genie_knn_has_floats(const GenieKnn *knn);

/*
 * The floats of n queries or rows that estimates are made of: vectors itself where genie_knn_has_floats(), else made,
 * which has room for n * n_dimensions.  terms: n, of rows, or NULL.
 */
extern const float *genie_knn_floats(const GenieKnn *knn, const void *vectors, uint32_t n, float *made, float *terms);

/*
 * Adds rows by pairs of a query, counted from first_query on, and a row: all pairs whose estimate is not above the
 * query's bound.  No pair comes twice.
 */
extern void genie_knn_add_pairs(GenieKnn *knn, const void *rows, const uint64_t *ids, uint32_t first_query,
								const GeniePair *pairs, uint32_t n);

/* ---- within the engine, and for its tests ---- */

/* Takes the panel's rows from first on that the mask names, some of which may not exist, for a query. */
typedef void (*GenieKnnOffer) (GenieKnn *knn, uint32_t query, uint32_t first, uint32_t mask);

typedef struct GenieKnnKernel
{
	const char *name;

	/* Estimates the panel's rows for all queries, and offers those that are not above a query's bound. */
	void		(*add) (GenieKnn *knn, GenieKnnOffer offer);
} GenieKnnKernel;

extern const GenieKnnKernel genie_knn_portable;
#if defined(__x86_64__)
extern const GenieKnnKernel genie_knn_avx2;
extern const GenieKnnKernel genie_knn_avx512;
#endif

/* As genie_vector_nth(). */
extern const GenieKnnKernel *genie_knn_nth(uint32_t i);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_KNN_H */

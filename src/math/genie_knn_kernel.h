/*
 * genie_knn_kernel.h
 *	  Estimates of a panel of rows for all queries (genie_knn.c), as a template: a file that defines the register
 *	  includes it.
 *
 *	KNN_NAME		the instruction set: genie_knn_NAME is made
 *	KNN_TARGET		attribute of each function: the instructions that it may use
 *	KNN_WIDTH		floats in a register, at most 16
 *	KNN_QUERIES		queries at a time, a divisor of GENIE_KNN_TILE
 *	KNN_ADD_PRODUCT(sum, x, y)	sum + x * y, in registers, y a float, for all of them
 *	KNN_NOT_ABOVE(x, bound)		a mask: bit i: !(x[i] > bound)
 *
 * Two registers of rows and KNN_QUERIES queries have 2 * KNN_QUERIES sums, which stay in registers while the dimensions
 * go by: for each, two loads of rows, and a load of each query's element, which is used twice.  The panel
 * (16 kB for 128 dimensions) stays in the first cache while the queries pass.
 */
#ifndef GENIE_KNN_KERNEL_H
#define GENIE_KNN_KERNEL_H

#include <string.h>

#include "genie_knn.h"

#ifndef KNN_NAME
#define KNN_NAME portable
#define KNN_TARGET
#define KNN_WIDTH 4
#define KNN_QUERIES 4
#define KNN_ADD_PRODUCT(sum, x, y) ((sum) + (x) * (y))
#define KNN_NOT_ABOVE(x, bound) not_above(x, bound)
#define KNN_OWN_NOT_ABOVE
#endif

#define INLINE __attribute__((always_inline)) KNN_TARGET static inline

typedef float Floats __attribute__((vector_size(4 * KNN_WIDTH)));
typedef int32_t Ints __attribute__((vector_size(4 * KNN_WIDTH)));

#ifdef KNN_OWN_NOT_ABOVE
INLINE uint32_t
not_above(Floats x, float bound)
{
	uint32_t	mask = 0;

	for (uint32_t i = 0; i < KNN_WIDTH; i++)
		mask |= (uint32_t) !(x[i] > bound) << i;
	return mask;
}
#endif

INLINE Floats
load(const float *at)
{
	Floats		floats;

	memcpy(&floats, at, sizeof(floats));
	return floats;
}

/* The sum, with a row's element and a query's added: for l1 the size of their difference, else their product. */
INLINE Floats
add(const bool differences, Floats sum, Floats x, float y)
{
	if (differences)
		return sum + (Floats) ((Ints) (x - y) & INT32_MAX);
	return KNN_ADD_PRODUCT(sum, x, y);
}

/* Rows from first on, 2 * KNN_WIDTH of them, for KNN_QUERIES queries. */
INLINE void
add_rows(const bool differences, GenieKnn *knn, GenieKnnOffer offer, uint32_t first, uint32_t query)
{
	const float *rows = knn->panel + first;
	const float *queries = knn->tiles + (size_t) (query / GENIE_KNN_TILE * GENIE_KNN_TILE) * knn->n_dimensions +
		query % GENIE_KNN_TILE;
	Floats		terms[2] = {load(knn->terms + first), load(knn->terms + first + KNN_WIDTH)};
	Floats		sums[KNN_QUERIES][2] = {0};

	for (uint32_t j = 0; j < knn->n_dimensions; j++)
	{
		Floats		x = load(rows);
		Floats		y = load(rows + KNN_WIDTH);

#pragma GCC unroll 16
		for (uint32_t q = 0; q < KNN_QUERIES; q++)
		{
			sums[q][0] = add(differences, sums[q][0], x, queries[q]);
			sums[q][1] = add(differences, sums[q][1], y, queries[q]);
		}
		rows += GENIE_KNN_ROWS;
		queries += GENIE_KNN_TILE;
	}
#pragma GCC unroll 16
	for (uint32_t q = 0; q < KNN_QUERIES; q++)
	{
		float		bound = knn->bounds[query + q];
		float		factor = differences ? 1 : -2;
		uint32_t	mask = KNN_NOT_ABOVE(terms[0] + sums[q][0] * factor, bound);

		mask |= KNN_NOT_ABOVE(terms[1] + sums[q][1] * factor, bound) << KNN_WIDTH;
		if (mask != 0)
			offer(knn, query + q, first, mask);
	}
}

INLINE void
add_panel(const bool differences, GenieKnn *knn, GenieKnnOffer offer)
{
	for (uint32_t query = 0; query < knn->n_queries; query += KNN_QUERIES)
		for (uint32_t first = 0; first < GENIE_KNN_ROWS; first += 2 * KNN_WIDTH)
			add_rows(differences, knn, offer, first, query);
}

KNN_TARGET
static void
add_by_metric(GenieKnn *knn, GenieKnnOffer offer)
{
	if (knn->metric == GENIE_METRIC_L1)
		add_panel(true, knn, offer);
	else
		add_panel(false, knn, offer);
}

#define KERNEL_OF(name) KERNEL_OF_(name)
#define KERNEL_OF_(name) const GenieKnnKernel genie_knn_##name = {#name, add_by_metric}
KERNEL_OF(KNN_NAME);

#endif							/* GENIE_KNN_KERNEL_H */

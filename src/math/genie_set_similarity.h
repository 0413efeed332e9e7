/*
 * genie_set_similarity.h
 *	  Similarity of two sets as a function of three numbers: how many elements they share, and how many each has.
 *
 * Plain expressions, installed with genie_opclass.h.  Operators, bounds for the index and thresholds all use these,
 * because an index scan takes the bound for the operator's value.  A threshold means "distance <=
 * max_distance", not "similarity >= ...", which may round otherwise.
 *
 * Two empty sets are equal: similarity 1.  An empty set and another one have nothing in common: 0.
 */
#ifndef GENIE_SET_SIMILARITY_H
#define GENIE_SET_SIMILARITY_H

#include <math.h>
#include <stdint.h>

/* shared / united (Jaccard 1901); of fingerprints also called Tanimoto */
static inline double
genie_jaccard_similarity(uint32_t shared, uint32_t a, uint32_t b)
{
	return a + b == 0 ? 1.0 : (double) shared / (double) (a + b - shared);
}

/*
 * For each a and b this falls as shared grows, and for each a and shared it rises with b.  This is exact in floating
 * point too, because the quotient's operands are integers, and division and subtraction round monotonically.
 */
static inline double
genie_jaccard_distance(uint32_t shared, uint32_t a, uint32_t b)
{
	return 1.0 - genie_jaccard_similarity(shared, a, b);
}

/* (Dice 1945, Sorensen 1948) */
static inline double
genie_dice_similarity(uint32_t shared, uint32_t a, uint32_t b)
{
	return a + b == 0 ? 1.0 : 2.0 * (double) shared / (double) (a + b);
}

/* the cosine of the angle between the sets as vectors of zeros and ones (Ochiai 1957) */
static inline double
genie_cosine_similarity(uint32_t shared, uint32_t a, uint32_t b)
{
	if (a == 0 || b == 0)
		return a == b ? 1.0 : 0.0;
	return (double) shared / sqrt((double) a * (double) b);
}

/* the part of the smaller set that is in the other one (Szymkiewicz 1934, Simpson 1943) */
static inline double
genie_overlap_similarity(uint32_t shared, uint32_t a, uint32_t b)
{
	if (a == 0 || b == 0)
		return a == b ? 1.0 : 0.0;
	return (double) shared / (double) (a < b ? a : b);
}

#endif							/* GENIE_SET_SIMILARITY_H */

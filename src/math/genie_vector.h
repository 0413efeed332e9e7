/*
 * genie_vector.h
 *	  Distances of vectors of numbers: Euclidean (l2), Manhattan (l1), cosine; the inner product.
 *
 * A vector is n elements of 4 or 8 bytes (float or double), at any address.
 *
 * The same bits everywhere.  A distance ranks rows, is compared with one that another process computed, and is stored
 * by users; so it must depend on neither the processor nor the caller.  Therefore the order of all roundings is fixed:
 *
 *	- element i is a double, and belongs to lane i % GENIE_VECTOR_LANES;
 *	- a term is computed with one rounding an operation (no fused multiply-add: the whole project is compiled without
 *	  contraction), and added to its lane's sum, i ascending; behind the last element, zeros fill the lanes up;
 *	- lane l takes lane l + 8's sum, then l + 4's, l + 2's and l + 1's, which leaves the sum in lane 0;
 *	- the last steps (square root, division) are one double operation each.
 *
 * An instruction set only decides how many lanes there are in a register (genie_vector_kernel.h).  Sums are doubles,
 * because then the squares of floats neither overflow nor vanish, and the result is as good as the elements; the
 * conversion costs little beside the call from SQL.
 *
 * Every distance is the same with its arguments exchanged, and that of equal finite vectors is 0.  For elements that
 * are NaN or infinite, the result is that of the arithmetic.
 */
#ifndef GENIE_VECTOR_H
#define GENIE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GENIE_VECTOR_LANES 16

/* sums of squares between which the measured cosine is accurate, but for its last bits */
#define GENIE_COSINE_SQUARES_MIN 1e-290
#define GENIE_COSINE_SQUARES_MAX 1e150

typedef enum GenieMetric
{
	GENIE_METRIC_L2 = 1,		/* sqrt(sum (a - b)^2) */
	GENIE_METRIC_L1,			/* sum |a - b| */
	GENIE_METRIC_COSINE,		/* 1 - sum a b / sqrt(sum a^2 sum b^2), 0 to 2; 1 if either sum is 0 */
	GENIE_METRIC_INNER,			/* sum a b: not a distance, the largest is the nearest */
	GENIE_METRIC_HAMMING,		/* how many bits differ, of vectors of bits: values alone (genie_value_bits.h) */
	GENIE_METRIC_PIVOTS,		/* max |a - b| of distances to pivots, which a distance is at least: values alone */
	GENIE_METRIC_EDIT,			/* the edit distance of texts: values alone (genie_value_string.h) */
	GENIE_METRIC_SCALARS,		/* nothing is measured: values are scalars (genie_value_scalars.h) */
	/* those of values with a bit a dimension (genie_rabitq.h): values alone */
	GENIE_METRIC_L2_RABITQ,
	GENIE_METRIC_COSINE_RABITQ,
	GENIE_METRIC_INNER_RABITQ,
	GENIE_METRIC_LAST = GENIE_METRIC_INNER_RABITQ
} GenieMetric;

/*
 * A vector's elements.  Those of GENIE_METRIC_HAMMING are bits, eight a byte, and those of GENIE_METRIC_EDIT a byte
 * each, of which only the first are there; is_double means nothing.
 */
typedef struct GenieVector
{
	const void *elements;
	uint32_t	n;
	bool		is_double;
} GenieVector;

/* Of two vectors of the same length and element type. */
extern double genie_vector_measure(GenieMetric metric, GenieVector a, GenieVector b);

/* The number, from 0 on, of the first element that is NaN or infinite; n: there is none. */
extern uint32_t genie_vector_not_finite(GenieVector vector);

static inline size_t
genie_vector_element_bytes(bool is_double)
{
	return is_double ? sizeof(double) : sizeof(float);
}

/* ---- within the engine, and for its tests ---- */

static inline double
genie_vector_element(GenieVector vector, uint32_t i)
{
	const uint8_t *at = (const uint8_t *) vector.elements;
	double		wide;
	float		narrow;

	if (vector.is_double)
	{
		memcpy(&wide, at + sizeof(wide) * i, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at + sizeof(narrow) * i, sizeof(narrow));
	return narrow;
}

/* the sums that a distance is made of */
typedef struct GenieVectorSums
{
	double		sum;			/* of the terms of l2 (squares) or l1, or of products */
	double		a_squares;		/* cosine only */
	double		b_squares;
} GenieVectorSums;

typedef struct GenieVectorKernel
{
	const char *name;
	GenieVectorSums (*sum) (GenieMetric metric, GenieVector a, GenieVector b);
} GenieVectorKernel;

extern const GenieVectorKernel genie_vector_portable;
#if defined(__x86_64__)
extern const GenieVectorKernel genie_vector_avx2;
extern const GenieVectorKernel genie_vector_avx512;
#endif

/* Those that this processor runs, the portable one first and the best one last; NULL after that. */
extern const GenieVectorKernel *genie_vector_nth(uint32_t i);

/* genie_vector_measure() by one of them */
extern double genie_vector_measure_by(const GenieVectorKernel *kernel, GenieMetric metric, GenieVector a,
									  GenieVector b);

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VECTOR_H */

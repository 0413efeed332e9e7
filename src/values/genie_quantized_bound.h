/*
 * genie_quantized_bound.h
 *	  From the sum of a query and a quantized vector to the bound of their distance: plain C, for GPUs too.
 *
 * genie_quantized.c proves that no such bound is above the measure.  The sum may be computed in any order, with
 * products fused or not, as long as each operation of floats is rounded as IEEE says and numbers below the normal
 * range are kept; so not with a compiler's "fast math".
 */
#ifndef GENIE_QUANTIZED_BOUND_H
#define GENIE_QUANTIZED_BOUND_H

#include <float.h>
#include <math.h>

#include "genie_vector.h"

#ifdef __CUDACC__
#define GENIE_QUANTIZED_FUNCTION static __host__ __device__ __forceinline__
#else
#define GENIE_QUANTIZED_FUNCTION static inline
#endif

#define GENIE_QUANTIZED_ROUNDING 5.9604644775390625e-8	/* u */
#define GENIE_QUANTIZED_GROWTH (1 + 4 * GENIE_QUANTIZED_ROUNDING)	/* of errors that become floats */
/* what a dimension may lose below the normal range of a float, here and as it is measured */
#define GENIE_QUANTIZED_VANISHING 0x1p-73

/* The margins that are subtracted from all bounds of vectors of n dimensions. */
typedef struct GenieQuantizedMargins
{
	float		keep;			/* of the root: this part of it */
	float		cosine_error;
} GenieQuantizedMargins;

GENIE_QUANTIZED_FUNCTION GenieQuantizedMargins
genie_quantized_margins(uint32_t n_dimensions)
{
	double		roundings = (n_dimensions + 16) * GENIE_QUANTIZED_ROUNDING;
	GenieQuantizedMargins margins;

	margins.keep = (float) (1 - 2 * roundings);
	margins.cosine_error = (float) (4 * roundings * GENIE_QUANTIZED_GROWTH);
	return margins;
}

/* error: the record's and the query's.  Comparisons are such that NaN gives 0. */
GENIE_QUANTIZED_FUNCTION float
genie_quantized_bound(GenieMetric metric, float sum, GenieQuantizedMargins margins, float error)
{
	float		root = metric == GENIE_METRIC_L1 ? sum : sqrtf(sum);
	float		bound = root * margins.keep - error;

	if (!(sum <= FLT_MAX && bound > 0))
		return 0;
	if (metric != GENIE_METRIC_COSINE)
		return bound;
	bound = bound * bound * (0.5f - 0x1p-23f) - margins.cosine_error;
	return bound > 0 ? bound : 0;
}

#endif							/* GENIE_QUANTIZED_BOUND_H */

/*
 * genie_vector_avx2.c
 *	  Sums over two vectors for x86-64 with AVX2.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define VECTOR_NAME avx2
#define VECTOR_TARGET __attribute__((target("avx2")))
#define VECTOR_WIDTH 4
#define VECTOR_WIDEN(at) (Part) _mm256_cvtps_pd(_mm_loadu_ps((const float *) (at)))

#include "genie_vector_kernel.h"

#endif							/* __x86_64__ */

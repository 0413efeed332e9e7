/*
 * genie_vector_avx512.c
 *	  Sums over two vectors for x86-64 with AVX-512.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define VECTOR_NAME avx512
#define VECTOR_TARGET __attribute__((target("avx512f,avx512dq")))
#define VECTOR_WIDTH 8
#define VECTOR_WIDEN(at) (Part) _mm512_cvtps_pd(_mm256_loadu_ps((const float *) (at)))

#include "genie_vector_kernel.h"

#endif							/* __x86_64__ */

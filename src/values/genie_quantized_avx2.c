/*
 * genie_quantized_avx2.c
 *	  Distances to quantized vectors, for x86-64 with AVX2.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define QUANTIZED_NAME avx2
#define QUANTIZED_TARGET __attribute__((target("avx2,fma")))
#define QUANTIZED_WIDTH 8
#define QUANTIZED_WIDEN(at) \
	((Floats) _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *) (const void *) (at)))))
#define QUANTIZED_ADD_PRODUCT(a, b, c) ((Floats) _mm256_fmadd_ps((__m256) (b), (__m256) (c), (__m256) (a)))
#define QUANTIZED_BITS(truths) ((uint32_t) _mm256_movemask_ps((__m256) (truths)))

#include "genie_quantized_kernel.h"

#endif							/* __x86_64__ */

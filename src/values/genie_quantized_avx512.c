/*
 * genie_quantized_avx512.c
 *	  Distances to quantized vectors, for x86-64 with AVX-512.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define QUANTIZED_NAME avx512
#define QUANTIZED_TARGET __attribute__((target("avx512f,avx2,fma")))
#define QUANTIZED_WIDTH 16
#define QUANTIZED_WIDEN(at) \
	((Floats) _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) (const void *) (at)))))
#define QUANTIZED_ADD_PRODUCT(a, b, c) ((Floats) _mm512_fmadd_ps((__m512) (b), (__m512) (c), (__m512) (a)))
#define QUANTIZED_BITS(truths) ((uint32_t) _mm512_test_epi32_mask((__m512i) (truths), (__m512i) (truths)))

#include "genie_quantized_kernel.h"

#endif							/* __x86_64__ */

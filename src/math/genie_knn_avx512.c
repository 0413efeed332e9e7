/*
 * genie_knn_avx512.c
 *	  Estimates of distances for exact nearest neighbours, for x86-64 with AVX-512.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define KNN_NAME avx512
#define KNN_TARGET __attribute__((target("avx512f,avx2,fma")))
#define KNN_WIDTH 16
#define KNN_QUERIES 12
#define KNN_ADD_PRODUCT(sum, x, y) ((Floats) _mm512_fmadd_ps((__m512) (x), _mm512_set1_ps(y), (__m512) (sum)))
#define KNN_NOT_ABOVE(x, bound) \
	((uint32_t) _mm512_cmp_ps_mask((__m512) (x), _mm512_set1_ps(bound), _CMP_NGT_UQ))

#include "genie_knn_kernel.h"

#endif							/* __x86_64__ */

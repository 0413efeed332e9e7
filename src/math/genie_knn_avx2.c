/*
 * genie_knn_avx2.c
 *	  Estimates of distances for exact nearest neighbours, for x86-64 with AVX2.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define KNN_NAME avx2
#define KNN_TARGET __attribute__((target("avx2,fma")))
#define KNN_WIDTH 8
#define KNN_QUERIES 6
#define KNN_ADD_PRODUCT(sum, x, y) ((Floats) _mm256_fmadd_ps((__m256) (x), _mm256_set1_ps(y), (__m256) (sum)))
#define KNN_NOT_ABOVE(x, bound) \
	((uint32_t) _mm256_movemask_ps(_mm256_cmp_ps((__m256) (x), _mm256_set1_ps(bound), _CMP_NGT_UQ)))

#include "genie_knn_kernel.h"

#endif							/* __x86_64__ */

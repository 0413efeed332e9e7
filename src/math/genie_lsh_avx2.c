/*
 * genie_lsh_avx2.c
 *	  The inner loops of hashing for x86-64 with AVX2 and FMA.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define LSH_LANES 4
#define LSH_TOGETHER 4
#define LSH_TARGET __attribute__((target("avx2,fma")))
#define LSH_KERNELS genie_lsh_avx2
#define LSH_NAME "avx2"
#define LSH_LOAD(from) (Reals) _mm256_cvtps_pd(_mm_loadu_ps(from))
#define LSH_ADD_PRODUCT(a, b, c) (Reals) _mm256_fmadd_pd((__m256d) (a), (__m256d) (b), (__m256d) (c))
#define LSH_FLOOR(a) (Reals) _mm256_floor_pd((__m256d) (a))

#include "genie_lsh_kernel.h"

#endif							/* __x86_64__ */

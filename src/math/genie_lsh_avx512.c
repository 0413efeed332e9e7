/*
 * genie_lsh_avx512.c
 *	  The inner loops of hashing for x86-64 with AVX-512.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define LSH_LANES 8
#define LSH_TOGETHER 8
#define LSH_TARGET __attribute__((target("avx512f,avx512vl,avx512dq")))
#define LSH_KERNELS genie_lsh_avx512
#define LSH_NAME "avx512"
#define LSH_LOAD(from) (Reals) _mm512_cvtps_pd(_mm256_loadu_ps(from))
#define LSH_ADD_PRODUCT(a, b, c) (Reals) _mm512_fmadd_pd((__m512d) (a), (__m512d) (b), (__m512d) (c))
#define LSH_FLOOR(a) (Reals) _mm512_floor_pd((__m512d) (a))

#include "genie_lsh_kernel.h"

#endif							/* __x86_64__ */

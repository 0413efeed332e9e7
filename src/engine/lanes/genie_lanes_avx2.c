/*
 * genie_lanes_avx2.c
 *	  Bit lanes for x86-64 with AVX2: blocks of 256 queries.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define LANES_BITS 256
#define LANES_TARGET __attribute__((target("avx2,bmi")))
#define LANES_XOR3(a, b, c) ((a) ^ (b) ^ (c))
#define LANES_MAJORITY(a, b, c) (((a) & (b)) | (((a) ^ (b)) & (c)))
#define LANES_LESS(a, b, c) (((b) & (c)) | (((b) ^ (c)) & ~(a)))
#define LANES_ANY(a) (!_mm256_testz_si256((__m256i) (a), (__m256i) (a)))

#include "genie_lanes_kernel.h"

const GenieLaneKernels genie_lanes_avx2 = LANE_KERNELS("avx2");

#endif							/* __x86_64__ */

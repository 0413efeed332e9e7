/*
 * genie_lanes_avx512.c
 *	  Bit lanes for x86-64 with AVX-512: blocks of 512 queries, and any function of three bits in one instruction, given
 *	  as the eight bits of its truth table.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#define XOR3_TABLE 0x96
#define MAJORITY_TABLE 0xE8
#define LESS_TABLE 0x8E

#define LANES_BITS 512
#define LANES_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi")))
#define LANES_TERNARY(a, b, c, table) \
	((LaneVector) _mm512_ternarylogic_epi64((__m512i) (a), (__m512i) (b), (__m512i) (c), table))
#define LANES_XOR3(a, b, c) LANES_TERNARY(a, b, c, XOR3_TABLE)
#define LANES_MAJORITY(a, b, c) LANES_TERNARY(a, b, c, MAJORITY_TABLE)
#define LANES_LESS(a, b, c) LANES_TERNARY(a, b, c, LESS_TABLE)
#define LANES_ANY(a) (_mm512_test_epi64_mask((__m512i) (a), (__m512i) (a)) != 0)

#include "genie_lanes_kernel.h"

const GenieLaneKernels genie_lanes_avx512 = LANE_KERNELS("avx512");

#endif							/* __x86_64__ */

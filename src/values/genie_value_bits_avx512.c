/*
 * genie_value_bits_avx512.c
 *	  Keys of bit strings, for x86-64 with AVX-512 and its instruction that counts bits (VPOPCNTDQ).
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#define BITS_NAME avx512
#define BITS_TARGET __attribute__((target("avx512f,avx512vl,avx512vpopcntdq,avx2,popcnt")))
#define BITS_LANES 8
#define BITS_LOAD(at) ((Words) _mm512_loadu_si512(at))
#define BITS_LOAD_FEW(at, n) ((Words) _mm512_maskz_loadu_epi64((__mmask8) ((1u << (n)) - 1), at))
#define BITS_COUNT(x) ((Words) _mm512_popcnt_epi64((__m512i) (x)))
#define BITS_FOLD(a, b) fold((__m512i) (a), (__m512i) (b))
#define BITS_STORE(at, distances) store_keys(at, (__m512i) (distances))

#define AVX512 __attribute__((always_inline)) BITS_TARGET static inline

typedef uint64_t Words __attribute__((vector_size(8 * BITS_LANES)));

AVX512 Words
fold(__m512i a, __m512i b)
{
	__m512i		even = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
	__m512i		odd = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);

	return (Words) _mm512_add_epi64(even, odd);
}

/* genie_value_key() of numbers that are not negative */
AVX512 void
store_keys(uint32_t *at, __m512i distances)
{
	__m256i		bits = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm512_cvtepi64_epi32(distances)));
	__m256i		ordered = _mm256_or_si256(bits, _mm256_set1_epi32(INT32_MIN));

	_mm256_storeu_si256((__m256i *) at, _mm256_sub_epi32(_mm256_set1_epi32(INT32_MAX), _mm256_srli_epi32(ordered, 1)));
}

#include "genie_value_bits_kernel.h"

#endif							/* __x86_64__ */

/*
 * genie_sum_avx512.h
 *	  Running sums over the lanes of an AVX-512 register, and the attribute of functions that use it.
 */
#ifndef GENIE_SUM_AVX512_H
#define GENIE_SUM_AVX512_H

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi2,popcnt")))
#define AVX512_INLINE static inline \
	__attribute__((always_inline, target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi2,popcnt")))

/* Inclusive sums of 32 lanes of 16 bits: within each quarter, then from quarter to quarter. */
AVX512_INLINE __m512i
sum_lanes_16(__m512i sums)
{
	const __m512i last_of_quarter = _mm512_set_epi64(
		0x001F001F001F001F, 0x001F001F001F001F, 0x0017001700170017, 0x0017001700170017,
		0x000F000F000F000F, 0x000F000F000F000F, 0x0007000700070007, 0x0007000700070007);
	const __m512i before_1 = _mm512_shuffle_i64x2(last_of_quarter, last_of_quarter, _MM_SHUFFLE(2, 1, 0, 0));
	const __m512i before_2 = _mm512_shuffle_i64x2(last_of_quarter, last_of_quarter, _MM_SHUFFLE(1, 0, 0, 0));

	sums = _mm512_add_epi16(sums, _mm512_bslli_epi128(sums, 2));
	sums = _mm512_add_epi16(sums, _mm512_bslli_epi128(sums, 4));
	sums = _mm512_add_epi16(sums, _mm512_bslli_epi128(sums, 8));
	sums = _mm512_add_epi16(sums, _mm512_maskz_permutexvar_epi16(0xFFFFFF00, before_1, sums));
	return _mm512_add_epi16(sums, _mm512_maskz_permutexvar_epi16(0xFFFF0000, before_2, sums));
}

#endif							/* __x86_64__ */

#endif							/* GENIE_SUM_AVX512_H */

/*
 * genie_value_bits_avx2.c
 *	  Keys of bit strings, for x86-64 with AVX2.
 *
 * There is no instruction that counts bits in a register: each half of a byte is looked up in a table of 16 counts.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#define BITS_NAME avx2
#define BITS_TARGET __attribute__((target("avx2,popcnt")))
#define BITS_LANES 4
#define BITS_LOAD(at) ((Words) _mm256_loadu_si256((const __m256i *) (const void *) (at)))
#define BITS_LOAD_FEW(at, n) load_few(at, n)
#define BITS_COUNT(x) count((__m256i) (x))
#define BITS_FOLD(a, b) fold((__m256i) (a), (__m256i) (b))
#define BITS_STORE(at, distances) store_keys(at, (__m256i) (distances))

#define AVX2 __attribute__((always_inline)) BITS_TARGET static inline

typedef uint64_t Words __attribute__((vector_size(8 * BITS_LANES)));

AVX2 Words
load_few(const char *at, uint32_t n)
{
	__m256i		mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));

	return (Words) _mm256_maskload_epi64((const void *) at, mask);
}

AVX2 Words
count(__m256i x)
{
	__m256i		counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
										  0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	__m256i		half = _mm256_set1_epi8(15);
	__m256i		low = _mm256_shuffle_epi8(counts, _mm256_and_si256(x, half));
	__m256i		high = _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16(x, 4), half));

	return (Words) _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}

AVX2 Words
fold(__m256i a, __m256i b)
{
	__m256i		sums = _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));

	return (Words) _mm256_permute4x64_epi64(sums, _MM_SHUFFLE(3, 1, 2, 0));
}

/* genie_value_key() of numbers that are not negative */
AVX2 void
store_keys(uint32_t *at, __m256i distances)
{
	__m256i		narrow = _mm256_permutevar8x32_epi32(distances, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
	__m128i		bits = _mm_castps_si128(_mm_cvtepi32_ps(_mm256_castsi256_si128(narrow)));
	__m128i		ordered = _mm_or_si128(bits, _mm_set1_epi32(INT32_MIN));

	_mm_storeu_si128((__m128i *) at, _mm_sub_epi32(_mm_set1_epi32(INT32_MAX), _mm_srli_epi32(ordered, 1)));
}

#include "genie_value_bits_kernel.h"

#endif							/* __x86_64__ */

/*
 * genie_value_scan_avx2.c
 *	  Keys of quantized vectors, for x86-64 with AVX2.
 *
 * Codes are widened to 16 bits, because the instruction that multiplies bytes saturates.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "genie_value_scan_group.h"

#define VALUE_NAME avx2
#define VALUE_TARGET __attribute__((target("avx2")))
#define VALUE_WIDTH 4
#define VALUE_FROM_FLOATS(at) ((ValueNumber) _mm256_cvtps_pd(_mm_loadu_ps(at)))
#define VALUE_FROM_INTS(at) ((ValueNumber) _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *) (at))))
#define VALUE_FROM_UNSIGNED(at) from_unsigned(at)
#define VALUE_STORE_KEYS(at, bounds) store_keys(at, (__m256d) (bounds))
#define VALUE_SUM_GROUP sum_group
#define VALUE_DIFFER_GROUP differ_group
#define VALUE_BITS_GROUP bits_group

#define AVX2 __attribute__((always_inline)) VALUE_TARGET static inline

typedef double ValueNumber __attribute__((vector_size(8 * VALUE_WIDTH)));
#define VALUE_FUNCTION AVX2
#define VALUE_SQRT(x) ((ValueNumber) _mm256_sqrt_pd((__m256d) (x)))
#define VALUE_LARGER(x, y) ((ValueNumber) _mm256_max_pd((__m256d) (x), (__m256d) ((ValueNumber) {0} + (y))))
#define VALUE_UPTO(x, y, a, b) \
	((ValueNumber) _mm256_blendv_pd((__m256d) ((ValueNumber) {0} + (b)), (__m256d) (a), \
									_mm256_cmp_pd((__m256d) (x), _mm256_set1_pd(y), _CMP_LE_OQ)))

/* There is an instruction for numbers with a sign only: the upper bit is taken away, and added again, exactly. */
AVX2 ValueNumber
from_unsigned(const uint32_t *at)
{
	__m128i		without = _mm_xor_si128(_mm_loadu_si128((const __m128i *) at), _mm_set1_epi32(INT32_MIN));

	return (ValueNumber) _mm256_add_pd(_mm256_cvtepi32_pd(without), _mm256_set1_pd(0x1p31));
}

/* genie_value_key() */
AVX2 void
store_keys(uint32_t *at, __m256d bounds)
{
	__m128		narrow = _mm256_cvtpd_ps(bounds);
	__m256d		above = _mm256_cmp_pd(_mm256_cvtps_pd(narrow), bounds, _CMP_GT_OQ);
	__m128i		down = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(above),
																		  _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
	__m128i		bits = _mm_castps_si128(narrow);
	__m128i		flip = _mm_or_si128(_mm_srai_epi32(bits, 31), _mm_set1_epi32(INT32_MIN));
	__m128i		ordered = _mm_add_epi32(_mm_xor_si128(bits, flip), down);

	_mm_storeu_si128((__m128i *) at, _mm_sub_epi32(_mm_set1_epi32(INT32_MAX), _mm_srli_epi32(ordered, 1)));
}

AVX2 int32_t
sum_of_ints(__m256i ints)
{
	__m128i		sum = _mm_add_epi32(_mm256_castsi256_si128(ints), _mm256_extracti128_si256(ints, 1));

	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(2, 3, 0, 1)));
	return _mm_cvtsi128_si32(sum);
}

AVX2 void
sum_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const int8_t *query,
		  uint32_t n_elements)
{
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *codes = (const uint8_t *) (records[r] + 1);
		__m256i		products = _mm256_setzero_si256();
		__m128i		sum = _mm_setzero_si128();

		for (uint32_t i = 0; i < n_elements; i += GENIE_QUANTIZED_ALIGN)
		{
			__m128i		c = _mm_loadu_si128((const __m128i *) (const void *) (codes + i));
			__m128i		q = _mm_loadu_si128((const __m128i *) (const void *) (query + i));
			__m256i		terms = _mm256_madd_epi16(_mm256_cvtepu8_epi16(c), _mm256_cvtepi8_epi16(q));

			products = _mm256_add_epi32(products, terms);
			sum = _mm_add_epi64(sum, _mm_sad_epu8(c, _mm_setzero_si128()));
		}
		block->products[place + r] = sum_of_ints(products);
		block->codes[place + r] = _mm_cvtsi128_si32(sum) + _mm_extract_epi32(sum, 2);
	}
	genie_value_group_headers(block, place, records);
}

AVX2 void
differ_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const uint8_t *query,
			 uint32_t n_elements)
{
	uint32_t	whole = n_elements - n_elements % 32;

	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *codes = (const uint8_t *) (records[r] + 1);
		__m256i		sum = _mm256_setzero_si256();

		for (uint32_t i = 0; i < whole; i += 32)
		{
			__m256i		c = _mm256_loadu_si256((const __m256i *) (const void *) (codes + i));
			__m256i		q = _mm256_loadu_si256((const __m256i *) (const void *) (query + i));

			sum = _mm256_add_epi64(sum, _mm256_sad_epu8(c, q));
		}
		if (whole < n_elements)
		{
			__m128i		c = _mm_loadu_si128((const __m128i *) (const void *) (codes + whole));
			__m128i		q = _mm_loadu_si128((const __m128i *) (const void *) (query + whole));

			sum = _mm256_add_epi64(sum, _mm256_zextsi128_si256(_mm_sad_epu8(c, q)));
		}
		/* the upper halves of the sums are zeros */
		block->products[place + r] = -sum_of_ints(sum);
	}
	genie_value_group_headers(block, place, records);
}

/* A byte of 32 is all ones where its bit is 1: the query's code is taken, whatever its sign. */
AVX2 void
bits_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const int8_t *query,
		   uint32_t n_elements)
{
	const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
											2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
	const __m256i places = _mm256_set1_epi64x((int64_t) UINT64_C(0x8040201008040201));

	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *bits = (const uint8_t *) (records[r] + 1);
		__m256i		products = _mm256_setzero_si256();

		for (uint32_t i = 0; i < n_elements; i += 32)
		{
			__m256i		q = _mm256_loadu_si256((const __m256i *) (const void *) (query + i));
			int32_t		word;
			__m256i		ones;

			memcpy(&word, bits + i / 8, sizeof(word));
			ones = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(word), spread), places);
			q = _mm256_and_si256(q, _mm256_cmpeq_epi8(ones, places));
			q = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q), _mm256_set1_epi16(1));
			products = _mm256_add_epi32(products, q);
		}
		block->products[place + r] = sum_of_ints(products);
	}
	genie_value_group_headers(block, place, records);
}

#include "genie_value_scan_kernel.h"

#endif							/* __x86_64__ */

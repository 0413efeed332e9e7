/*
 * genie_value_scan_avx512.c
 *	  Keys of quantized vectors, for x86-64 with AVX-512 and its instructions for products of bytes (VNNI) and for sums
 *	  of their differences.
 *
 * Sums of a group's records are folded together, level by level: a record's last sum costs two shuffles, not eight.
 * Four records are read side by side, which processors that fetch ahead by themselves do not understand where records
 * are long.  So the next four are fetched meanwhile: of 768 dimensions, from memory, that is 20 GB/s, not 11.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "genie_value_scan_group.h"

#define VALUE_NAME avx512
#define VALUE_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2")))
#define VALUE_WIDTH 8
#define VALUE_FROM_FLOATS(at) ((ValueNumber) _mm512_cvtps_pd(_mm256_loadu_ps(at)))
#define VALUE_FROM_INTS(at) ((ValueNumber) _mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *) (at))))
#define VALUE_FROM_UNSIGNED(at) ((ValueNumber) _mm512_cvtepu32_pd(_mm256_loadu_si256((const __m256i *) (at))))
#define VALUE_STORE_KEYS(at, bounds) store_keys(at, (__m512d) (bounds))
#define VALUE_SUM_GROUP sum_group
#define VALUE_DIFFER_GROUP differ_group
#define VALUE_BITS_GROUP bits_group

#define AVX512 __attribute__((always_inline)) VALUE_TARGET static inline

typedef double ValueNumber __attribute__((vector_size(8 * VALUE_WIDTH)));
#define VALUE_FUNCTION AVX512
#define VALUE_SQRT(x) ((ValueNumber) _mm512_sqrt_pd((__m512d) (x)))
#define VALUE_LARGER(x, y) ((ValueNumber) _mm512_max_pd((__m512d) (x), (__m512d) ((ValueNumber) {0} + (y))))
#define VALUE_UPTO(x, y, a, b) \
	((ValueNumber) _mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d) (x), _mm512_set1_pd(y), _CMP_LE_OQ), \
										(__m512d) ((ValueNumber) {0} + (b)), (__m512d) (a)))

#define REGISTER 64				/* bytes, a cache line, too */
#define LONG_ELEMENTS 256		/* records of more are fetched ahead */

/* genie_value_key() */
AVX512 void
store_keys(uint32_t *at, __m512d bounds)
{
	__m256i		bits = _mm256_castps_si256(_mm512_cvt_roundpd_ps(bounds, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
	__m256i		flip = _mm256_or_si256(_mm256_srai_epi32(bits, 31), _mm256_set1_epi32(INT32_MIN));
	__m256i		ordered = _mm256_xor_si256(bits, flip);

	_mm256_storeu_si256((__m256i *) at, _mm256_sub_epi32(_mm256_set1_epi32(INT32_MAX), _mm256_srli_epi32(ordered, 1)));
}

/* Of four registers, in each 128 bits: the sums of these 128 bits of the first, the second, the third, the fourth. */
AVX512 __m512i
fold_ints(const __m512i *x)
{
	__m512i		a = _mm512_add_epi32(_mm512_unpacklo_epi32(x[0], x[1]), _mm512_unpackhi_epi32(x[0], x[1]));
	__m512i		b = _mm512_add_epi32(_mm512_unpacklo_epi32(x[2], x[3]), _mm512_unpackhi_epi32(x[2], x[3]));

	return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* Of four registers: the sums of the four times 128 bits of the first, and so on. */
AVX512 __m512i
fold_quarters(const __m512i *x)
{
	__m512i		a = _mm512_add_epi32(_mm512_shuffle_i32x4(x[0], x[1], 0x88), _mm512_shuffle_i32x4(x[0], x[1], 0xDD));
	__m512i		b = _mm512_add_epi32(_mm512_shuffle_i32x4(x[2], x[3], 0x88), _mm512_shuffle_i32x4(x[2], x[3], 0xDD));

	return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}

/* Adds four records' products and codes of the dimensions that the mask has. */
AVX512 void
add_four(__m512i *products, __m512i *sums, const GenieQuantized *const *records, const int8_t *query, uint32_t i,
		 __mmask64 mask)
{
	__m512i		q = _mm512_maskz_loadu_epi8(mask, query + i);

	for (uint32_t r = 0; r < 4; r++)
	{
		__m512i		c = _mm512_maskz_loadu_epi8(mask, (const uint8_t *) (records[r] + 1) + i);

		products[r] = _mm512_dpbusd_epi32(products[r], c, q);
		sums[r] = _mm512_dpbusd_epi32(sums[r], c, _mm512_set1_epi8(1));
	}
}

/* Fetches bytes to the cache of the second level. */
AVX512 void
fetch(uintptr_t from, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i += REGISTER)
		_mm_prefetch((const void *) (from + i), _MM_HINT_T1);
}

/* The headers of records r, r + 4, r + 8, r + 12, 128 bits each. */
AVX512 __m512
load_headers(const GenieQuantized *const *records)
{
	__m512		headers = _mm512_castps128_ps512(_mm_loadu_ps(&records[0]->offset));

	headers = _mm512_insertf32x4(headers, _mm_loadu_ps(&records[4]->offset), 1);
	headers = _mm512_insertf32x4(headers, _mm_loadu_ps(&records[8]->offset), 2);
	return _mm512_insertf32x4(headers, _mm_loadu_ps(&records[12]->offset), 3);
}

AVX512 void
transpose_headers(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records)
{
	__m512		a = load_headers(records);
	__m512		b = load_headers(records + 1);
	__m512		c = load_headers(records + 2);
	__m512		d = load_headers(records + 3);
	__m512d		ab_low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
	__m512d		ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
	__m512d		cd_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
	__m512d		cd_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));

	_mm512_store_ps(block->offset + place, _mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, cd_low)));
	_mm512_store_ps(block->scale + place, _mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, cd_low)));
	_mm512_store_ps(block->error + place, _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high)));
	_mm512_store_ps((float *) (block->squares + place), _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high)));
}

AVX512 void
sum_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const int8_t *query,
		  uint32_t n_elements)
{
	uint32_t	whole = n_elements - n_elements % REGISTER;
	__mmask64	rest = ~(UINT64_MAX << n_elements % REGISTER);
	size_t		n_bytes = 4 * (sizeof(GenieQuantized) + n_elements);
	__m512i		group_products[4];
	__m512i		group_sums[4];

	for (uint32_t four = 0; four < 4; four++)
	{
		__m512i		products[4] = {_mm512_setzero_si512()};
		__m512i		sums[4] = {_mm512_setzero_si512()};

		if (n_elements > LONG_ELEMENTS)
			fetch((uintptr_t) records[4 * four] + n_bytes, n_bytes);
		for (uint32_t i = 0; i < whole; i += REGISTER)
			add_four(products, sums, records + 4 * four, query, i, UINT64_MAX);
		if (rest != 0)
			add_four(products, sums, records + 4 * four, query, whole, rest);
		group_products[four] = fold_ints(products);
		group_sums[four] = fold_ints(sums);
	}
	_mm512_store_si512(block->products + place, fold_quarters(group_products));
	_mm512_store_si512(block->codes + place, fold_quarters(group_sums));
	transpose_headers(block, place, records);
}

/* Four records' differences from the query, in the dimensions that the mask has, are taken from sums. */
AVX512 void
subtract_four(__m512i *sums, const GenieQuantized *const *records, const uint8_t *query, uint32_t i, __mmask64 mask)
{
	__m512i		q = _mm512_maskz_loadu_epi8(mask, query + i);

	for (uint32_t r = 0; r < 4; r++)
	{
		__m512i		c = _mm512_maskz_loadu_epi8(mask, (const uint8_t *) (records[r] + 1) + i);

		/* the upper halves of the sums stay zeros, since no carry comes from the lower ones */
		sums[r] = _mm512_sub_epi32(sums[r], _mm512_sad_epu8(c, q));
	}
}

AVX512 void
differ_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const uint8_t *query,
			 uint32_t n_elements)
{
	uint32_t	whole = n_elements - n_elements % REGISTER;
	__mmask64	rest = ~(UINT64_MAX << n_elements % REGISTER);
	size_t		n_bytes = 4 * (sizeof(GenieQuantized) + n_elements);
	__m512i		group_sums[4];

	for (uint32_t four = 0; four < 4; four++)
	{
		__m512i		sums[4] = {_mm512_setzero_si512()};

		if (n_elements > LONG_ELEMENTS)
			fetch((uintptr_t) records[4 * four] + n_bytes, n_bytes);
		for (uint32_t i = 0; i < whole; i += REGISTER)
			subtract_four(sums, records + 4 * four, query, i, UINT64_MAX);
		if (rest != 0)
			subtract_four(sums, records + 4 * four, query, whole, rest);
		group_sums[four] = fold_ints(sums);
	}
	_mm512_store_si512(block->products + place, fold_quarters(group_sums));
	transpose_headers(block, place, records);
}

/* A bit is a mask's: those that are 0 add nothing. */
AVX512 void
bits_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const int8_t *query,
		   uint32_t n_elements)
{
	size_t		n_bytes = 4 * (sizeof(GenieQuantized) + n_elements / 8);
	__m512i		group_products[4];

	for (uint32_t four = 0; four < 4; four++)
	{
		__m512i		products[4] = {_mm512_setzero_si512()};

		if (n_bytes > LONG_ELEMENTS)
			fetch((uintptr_t) records[4 * four] + n_bytes, n_bytes);
		for (uint32_t i = 0; i < n_elements; i += REGISTER)
		{
			__m512i		q = _mm512_loadu_si512(query + i);

			for (uint32_t r = 0; r < 4; r++)
			{
				__mmask64	bits;

				memcpy(&bits, (const uint8_t *) (records[4 * four + r] + 1) + i / 8, sizeof(bits));
				products[r] = _mm512_dpbusd_epi32(products[r], _mm512_maskz_set1_epi8(bits, 1), q);
			}
		}
		group_products[four] = fold_ints(products);
	}
	_mm512_store_si512(block->products + place, fold_quarters(group_products));
	transpose_headers(block, place, records);
}

#include "genie_value_scan_kernel.h"

#endif							/* __x86_64__ */

/*
 * genie_kernels_avx512.c
 *	  The counting kernels for x86-64 with AVX-512 as of Ice Lake and Zen 4: 64 counters of 8 bits at a time.
 *
 * The older processors that have AVX-512 without VBMI2 take the AVX2 kernels: they lower their clock for wide
 * vectors.  Every function carries its target as an attribute, as in genie_kernels_avx2.c.  What each kernel must
 * give is what genie_kernels_portable.c gives.
 *
 * A word of a bitmap is a mask register: adding a bit plane to 64 counters is one masked addition, and comparing 64
 * counters makes a word of the result.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "genie_kernels.h"
#include "genie_sum_avx512.h"

#define VECTOR_BYTES 64
#define VECTOR_WORDS (VECTOR_BYTES / 8)

/* ---- running sums ---- */

/* Inclusive sums of 64 lanes of 8 bits: within each quarter, then from quarter to quarter. */
AVX512_INLINE __m512i
sum_lanes_8(__m512i sums)
{
	const __m512i before_1 = _mm512_set_epi64(
		0x2F2F2F2F2F2F2F2F, 0x2F2F2F2F2F2F2F2F, 0x1F1F1F1F1F1F1F1F, 0x1F1F1F1F1F1F1F1F,
		0x0F0F0F0F0F0F0F0F, 0x0F0F0F0F0F0F0F0F, 0, 0);
	const __m512i before_2 = _mm512_set_epi64(
		0x1F1F1F1F1F1F1F1F, 0x1F1F1F1F1F1F1F1F, 0x0F0F0F0F0F0F0F0F, 0x0F0F0F0F0F0F0F0F, 0, 0, 0, 0);

	sums = _mm512_add_epi8(sums, _mm512_bslli_epi128(sums, 1));
	sums = _mm512_add_epi8(sums, _mm512_bslli_epi128(sums, 2));
	sums = _mm512_add_epi8(sums, _mm512_bslli_epi128(sums, 4));
	sums = _mm512_add_epi8(sums, _mm512_bslli_epi128(sums, 8));
	sums = _mm512_add_epi8(sums, _mm512_maskz_permutexvar_epi8(UINT64_MAX << 16, before_1, sums));
	return _mm512_add_epi8(sums, _mm512_maskz_permutexvar_epi8(UINT64_MAX << 32, before_2, sums));
}

AVX512 static void
sum_up_8(uint8_t *counters)
{
	const __m512i last = _mm512_set1_epi8(63);
	__m512i		before = _mm512_setzero_si512();	/* the last sum, in every lane */

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i += 64)
	{
		__m512i		sums = sum_lanes_8(_mm512_loadu_si512(counters + i));

		_mm512_storeu_si512(counters + i, _mm512_add_epi8(sums, before));
		before = _mm512_add_epi8(before, _mm512_permutexvar_epi8(last, sums));
	}
}

AVX512 static void
sum_up_16(uint16_t *counters)
{
	const __m512i last = _mm512_set1_epi16(31);
	__m512i		before = _mm512_setzero_si512();

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i += 32)
	{
		__m512i		sums = sum_lanes_16(_mm512_loadu_si512(counters + i));

		_mm512_storeu_si512(counters + i, _mm512_add_epi16(sums, before));
		before = _mm512_add_epi16(before, _mm512_permutexvar_epi16(last, sums));
	}
}

/* ---- bitmaps ---- */

/* Adds one word of each plane, 64 sums, to the counters from at on. */
AVX512_INLINE void
add_sums(void *counters, const bool wide, uint32_t at, uint64_t (*bits)[VECTOR_WORDS], uint32_t word,
		 const uint32_t n_planes)
{
	if (wide)
	{
		uint16_t   *to = (uint16_t *) counters + at;
		__m512i		low = _mm512_loadu_si512(to);
		__m512i		high = _mm512_loadu_si512(to + 32);

		for (uint32_t p = 0; p < n_planes; p++)
		{
			__m512i		weight = _mm512_set1_epi16((short) (1 << p));

			low = _mm512_mask_add_epi16(low, (__mmask32) bits[p][word], low, weight);
			high = _mm512_mask_add_epi16(high, (__mmask32) (bits[p][word] >> 32), high, weight);
		}
		_mm512_storeu_si512(to, low);
		_mm512_storeu_si512(to + 32, high);
	}
	else
	{
		uint8_t    *to = (uint8_t *) counters + at;
		__m512i		sums = _mm512_loadu_si512(to);

		for (uint32_t p = 0; p < n_planes; p++)
			sums = _mm512_mask_add_epi8(sums, bits[p][word], sums, _mm512_set1_epi8((char) (1 << p)));
		_mm512_storeu_si512(to, sums);
	}
}

/* Adds the sums of 512 objects. */
AVX512_INLINE void
add_planes(void *counters, const bool wide, const __m512i *planes, const uint32_t n_planes)
{
	uint64_t	bits[GENIE_BITMAP_PLANES][VECTOR_WORDS];

	for (uint32_t p = 0; p < n_planes; p++)
		_mm512_storeu_si512(bits[p], planes[p]);
	for (uint32_t word = 0; word < VECTOR_WORDS; word++)
		add_sums(counters, wide, 64 * word, bits, word, n_planes);
}

/* three-operand logic: the sum bit and the carry of a full adder */
#define BITMAPS_VECTOR __m512i
#define BITMAPS_TARGET AVX512
#define BITMAPS_TOGETHER 4
#define BITMAPS_XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define BITMAPS_MAJORITY(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0xE8)
#define BITMAPS_ADD add_planes

#include "genie_bitmaps_kernel.h"

/* ---- selection ---- */

AVX512 static uint32_t
mask_8(const uint8_t *counters, uint32_t n_words, uint32_t threshold,
	   const uint64_t *allowed, uint64_t *mask)
{
	const __m512i thresholds = _mm512_set1_epi8((char) threshold);
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		mask[w] = _mm512_cmpge_epu8_mask(_mm512_loadu_si512(counters + 64 * w), thresholds) & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

AVX512 static uint32_t
mask_16(const uint16_t *counters, uint32_t n_words, uint32_t threshold,
		const uint64_t *allowed, uint64_t *mask)
{
	const __m512i thresholds = _mm512_set1_epi16((short) threshold);
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		const uint16_t *from = counters + 64 * w;
		uint64_t	low = _mm512_cmpge_epu16_mask(_mm512_loadu_si512(from), thresholds);
		uint64_t	high = _mm512_cmpge_epu16_mask(_mm512_loadu_si512(from + 32), thresholds);

		mask[w] = (low | high << 32) & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

/* A permutation of two vectors looks up 128 entries by a size's low seven bits; the highest one tells which 128. */
AVX512 static uint32_t
mask_sizes_8(const uint8_t *counters, uint32_t n_words, const uint8_t *sizes, const uint8_t *least, uint32_t n_least,
			 const uint64_t *allowed, uint64_t *mask)
{
	const __m512i least_0 = _mm512_loadu_si512(least);
	const __m512i least_64 = _mm512_loadu_si512(least + 64);
	const __m512i least_128 = _mm512_loadu_si512(least + 128);
	const __m512i least_192 = _mm512_loadu_si512(least + 192);
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		__m512i		size = _mm512_loadu_si512(sizes + 64 * w);
		__m512i		thresholds = _mm512_permutex2var_epi8(least_0, size, least_64);

		if (n_least > 128)
			thresholds = _mm512_mask_mov_epi8(thresholds, _mm512_movepi8_mask(size),
											  _mm512_permutex2var_epi8(least_128, size, least_192));
		mask[w] = _mm512_cmpge_epu8_mask(_mm512_loadu_si512(counters + 64 * w), thresholds) & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

/* ---- codes ---- */

/* A bit for each row of 64 bytes that is all 0. */
AVX512_INLINE uint32_t
zero_rows(__m512i rows, const uint32_t row_bytes)
{
	uint32_t	halves;			/* of rows of 16 bytes: a bit for each half that is all 0 */

	if (row_bytes == 4)
		return _mm512_testn_epi32_mask(rows, rows);
	halves = _mm512_testn_epi64_mask(rows, rows);
	return row_bytes == 8 ? halves : _pext_u32(halves & halves >> 1, 0x55);
}

/* How many bits each of 64 fields of n_fields bits has, as bytes. */
AVX512_INLINE __m512i
sum_fields(const uint64_t *fields, const uint32_t n_fields)
{
	const __m512i bytes = _mm512_loadu_si512(fields);
	__m512i		sums;

	if (n_fields == 16)
		return _mm512_inserti64x4(
			_mm512_castsi256_si512(_mm512_cvtepi16_epi8(_mm512_popcnt_epi16(bytes))),
			_mm512_cvtepi16_epi8(_mm512_popcnt_epi16(_mm512_loadu_si512(fields + VECTOR_WORDS))), 1);
	if (n_fields == 8)
		return _mm512_popcnt_epi8(bytes);
	/* four bits of each byte come first: byte i makes bytes 2 * i and 2 * i + 1 */
	if (n_fields == 4)
		sums = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(bytes));
	else
	{
		/* two bits of each byte come first */
		sums = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes));
		sums = _mm512_or_si512(sums, _mm512_slli_epi32(sums, 12));
		sums = _mm512_and_si512(sums, _mm512_set1_epi32(0x000F000F));
		sums = _mm512_or_si512(sums, _mm512_slli_epi16(sums, 6));
		return _mm512_popcnt_epi8(_mm512_and_si512(sums, _mm512_set1_epi8(3)));
	}
	sums = _mm512_or_si512(sums, _mm512_slli_epi16(sums, 4));
	return _mm512_popcnt_epi8(_mm512_and_si512(sums, _mm512_set1_epi8(15)));
}

AVX512_INLINE void
add_fields_8(const uint64_t *fields, const uint32_t n_fields, uint8_t *counters)
{
	_mm512_storeu_si512(counters, _mm512_add_epi8(_mm512_loadu_si512(counters), sum_fields(fields, n_fields)));
}

AVX512_INLINE void
add_fields_16(const uint64_t *fields, const uint32_t n_fields, uint16_t *counters)
{
	const __m512i sums = sum_fields(fields, n_fields);
	const __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(sums));
	const __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(sums, 1));

	_mm512_storeu_si512(counters, _mm512_add_epi16(_mm512_loadu_si512(counters), low));
	_mm512_storeu_si512(counters + 32, _mm512_add_epi16(_mm512_loadu_si512(counters + 32), high));
}

#define CODES_VECTOR __m512i
#define CODES_TARGET AVX512
#define CODES_REPEAT(bytes) _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *) (bytes)))
#define CODES_OVER_8(a, b) _mm512_subs_epu8(a, b)
#define CODES_OVER_16(a, b) _mm512_subs_epu16(a, b)
#define CODES_SHIFT(a) _mm512_srli_epi16(a, 4)
#define CODES_ROWS(a, row_bytes) zero_rows(a, row_bytes)
#define CODES_ADD_FIELDS_8(fields, n_fields, counters) add_fields_8(fields, n_fields, counters)
#define CODES_ADD_FIELDS_16(fields, n_fields, counters) add_fields_16(fields, n_fields, counters)
#define CODES_ZERO_8(a) _mm512_testn_epi8_mask(a, a)
#define CODES_ZERO_16(a) ((uint64_t) _mm512_testn_epi16_mask(a, a))

#include "genie_codes_kernel.h"

const GenieKernels genie_kernels_avx512 = {
	.name = "avx512",
	.unpack = &genie_unpack_avx512,
	.edges_bytes = 1024,
	.code_bytes = 8,
	.sum_up_8 = sum_up_8,
	.sum_up_16 = sum_up_16,
	BITMAP_KERNELS,
	.mask_8 = mask_8,
	.mask_16 = mask_16,
	.mask_sizes_8 = mask_sizes_8,
	.match_codes = match_codes,
	.count_codes_8 = count_codes_8,
	.count_codes_16 = count_codes_16,
};

#else

/* an empty file is not C */
typedef int genie_kernels_avx512_unused;

#endif							/* __x86_64__ */

/*
 * genie_kernels_avx2.c
 *	  The counting kernels for x86-64 with AVX2: 32 counters of 8 bits at a time.
 *
 * Every function carries its target as an attribute, so the file needs no compiler flag and
 * nothing else of the library uses an instruction that the processor may lack.
 * What each kernel must give is what genie_kernels_portable.c gives.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "genie_kernels.h"

#define AVX2 __attribute__((target("avx2,popcnt")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2,popcnt")))

/* ---- running sums ---- */

AVX2 static void
sum_up_8(uint8_t *counters)
{
	const __m128i last = _mm_set1_epi8(15);
	__m128i		before = _mm_setzero_si128();	/* the last sum, in every lane */

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i += 16)
	{
		__m128i    *at = (__m128i *) (counters + i);
		__m128i		sums = _mm_loadu_si128(at);

		sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 1));
		sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 2));
		sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 4));
		sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 8));
		_mm_storeu_si128(at, _mm_add_epi8(sums, before));
		before = _mm_add_epi8(before, _mm_shuffle_epi8(sums, last));
	}
}

AVX2 static void
sum_up_16(uint16_t *counters)
{
	const __m128i last = _mm_set1_epi16(0x0F0E);
	__m128i		before = _mm_setzero_si128();

	for (uint32_t i = 0; i < GENIE_TILE_OBJECTS; i += 8)
	{
		__m128i    *at = (__m128i *) (counters + i);
		__m128i		sums = _mm_loadu_si128(at);

		sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 2));
		sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
		sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
		_mm_storeu_si128(at, _mm_add_epi16(sums, before));
		before = _mm_add_epi16(before, _mm_shuffle_epi8(sums, last));
	}
}

/* ---- bitmaps ---- */

/* the sums of 32 of 256 objects, a byte each; bits holds the planes as 32-bit words */
AVX2_INLINE __m256i
expand_sums(uint32_t (*bits)[8], uint32_t word, const uint32_t n_planes)
{
	const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
											2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
	const __m256i bit = _mm256_set1_epi64x((long long) 0x8040201008040201);
	__m256i		sums = _mm256_setzero_si256();

	for (uint32_t p = n_planes; p-- > 0;)
	{
		__m256i		each = _mm256_shuffle_epi8(_mm256_set1_epi32((int) bits[p][word]), spread);
		__m256i		is_set = _mm256_cmpeq_epi8(_mm256_and_si256(each, bit), bit);

		/* 2 * sums + 1 where the bit is set: "set" is -1 */
		sums = _mm256_sub_epi8(_mm256_add_epi8(sums, sums), is_set);
	}
	return sums;
}

AVX2_INLINE void
add_sums(void *counters, const bool wide, uint32_t at, __m256i sums)
{
	if (wide)
	{
		__m256i    *to = (__m256i *) ((uint16_t *) counters + at);
		__m256i		low = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(sums));
		__m256i		high = _mm256_cvtepu8_epi16(_mm256_extracti128_si256(sums, 1));

		_mm256_storeu_si256(to, _mm256_add_epi16(_mm256_loadu_si256(to), low));
		_mm256_storeu_si256(to + 1, _mm256_add_epi16(_mm256_loadu_si256(to + 1), high));
	}
	else
	{
		__m256i    *to = (__m256i *) ((uint8_t *) counters + at);

		_mm256_storeu_si256(to, _mm256_add_epi8(_mm256_loadu_si256(to), sums));
	}
}

/* Adds the sums of 256 objects. */
AVX2_INLINE void
add_planes(void *counters, const bool wide, const __m256i *planes, const uint32_t n_planes)
{
	uint32_t	bits[GENIE_BITMAP_PLANES][8];

	for (uint32_t p = 0; p < n_planes; p++)
		_mm256_storeu_si256((__m256i *) bits[p], planes[p]);
	for (uint32_t word = 0; word < 8; word++)
		add_sums(counters, wide, 32 * word, expand_sums(bits, word, n_planes));
}

#define BITMAPS_VECTOR __m256i
#define BITMAPS_TARGET AVX2
#define BITMAPS_TOGETHER 4
#define BITMAPS_XOR3(a, b, c) ((a) ^ (b) ^ (c))
#define BITMAPS_MAJORITY(a, b, c) (((a) & (b)) | (((a) ^ (b)) & (c)))
#define BITMAPS_ADD add_planes

#include "genie_bitmaps_kernel.h"

/* ---- selection ---- */

AVX2 static uint32_t
mask_8(const uint8_t *counters, uint32_t n_words, uint32_t threshold,
	   const uint64_t *allowed, uint64_t *mask)
{
	const __m256i thresholds = _mm256_set1_epi8((char) threshold);
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		const __m256i *from = (const __m256i *) (counters + 64 * w);
		__m256i		low = _mm256_loadu_si256(from);
		__m256i		high = _mm256_loadu_si256(from + 1);
		uint32_t	low_bits;
		uint32_t	high_bits;

		low = _mm256_cmpeq_epi8(_mm256_max_epu8(low, thresholds), low);
		high = _mm256_cmpeq_epi8(_mm256_max_epu8(high, thresholds), high);
		low_bits = (uint32_t) _mm256_movemask_epi8(low);
		high_bits = (uint32_t) _mm256_movemask_epi8(high);
		mask[w] = (low_bits | (uint64_t) high_bits << 32) & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

/* "at least" of 32 counters of 16 bits, a bit each */
AVX2_INLINE uint32_t
mask_32_wide(const uint16_t *counters, __m256i thresholds)
{
	const __m256i *from = (const __m256i *) counters;
	__m256i		low = _mm256_loadu_si256(from);
	__m256i		high = _mm256_loadu_si256(from + 1);

	low = _mm256_cmpeq_epi16(_mm256_max_epu16(low, thresholds), low);
	high = _mm256_cmpeq_epi16(_mm256_max_epu16(high, thresholds), high);
	return (uint32_t) _mm256_movemask_epi8(_mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xD8));
}

AVX2 static uint32_t
mask_16(const uint16_t *counters, uint32_t n_words, uint32_t threshold,
		const uint64_t *allowed, uint64_t *mask)
{
	const __m256i thresholds = _mm256_set1_epi16((short) threshold);
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		uint64_t	bits = mask_32_wide(counters + 64 * w, thresholds);

		bits |= (uint64_t) mask_32_wide(counters + 64 * w + 32, thresholds) << 32;
		mask[w] = bits & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

/*
 * A shuffle looks up 16 entries: so each 16 of least have their turn, and give 0 for sizes that are not among them.
 * Adding 0x70 with saturation leaves the low four bits of sizes 0 .. 15 of the turn and sets the highest bit of all
 * others, which is what the shuffle takes for "zero".
 */
AVX2_INLINE uint32_t
mask_32_sizes(const uint8_t *counters, const uint8_t *sizes, const uint8_t *least, uint32_t n_least)
{
	const __m256i counts = _mm256_loadu_si256((const __m256i *) counters);
	const __m256i size = _mm256_loadu_si256((const __m256i *) sizes);
	__m256i		thresholds = _mm256_setzero_si256();

	for (uint32_t first = 0; first < n_least; first += 16)
	{
		__m256i		entries = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) (least + first)));
		__m256i		within = _mm256_adds_epu8(_mm256_sub_epi8(size, _mm256_set1_epi8((char) first)),
											  _mm256_set1_epi8(0x70));

		thresholds = _mm256_or_si256(thresholds, _mm256_shuffle_epi8(entries, within));
	}
	return (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(counts, thresholds), counts));
}

AVX2 static uint32_t
mask_sizes_8(const uint8_t *counters, uint32_t n_words, const uint8_t *sizes, const uint8_t *least, uint32_t n_least,
			 const uint64_t *allowed, uint64_t *mask)
{
	uint32_t	n = 0;

	for (uint32_t w = 0; w < n_words; w++)
	{
		uint64_t	bits = mask_32_sizes(counters + 64 * w, sizes + 64 * w, least, n_least);

		bits |= (uint64_t) mask_32_sizes(counters + 64 * w + 32, sizes + 64 * w + 32, least, n_least) << 32;
		mask[w] = bits & allowed[w];
		n += (uint32_t) __builtin_popcountll(mask[w]);
	}
	return n;
}

/* ---- codes ---- */

/* A bit for each row of 32 bytes that is all 0. */
AVX2_INLINE uint32_t
zero_rows(__m256i rows, const uint32_t row_bytes)
{
	const __m256i zero = _mm256_setzero_si256();

	if (row_bytes == 4)
		return (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(rows, zero)));
	if (row_bytes == 8)
		return (uint32_t) _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(rows, zero)));
	return (uint32_t) (_mm_testz_si128(_mm256_castsi256_si128(rows), _mm256_castsi256_si128(rows)) |
					   _mm_testz_si128(_mm256_extracti128_si256(rows, 1), _mm256_extracti128_si256(rows, 1)) << 1);
}

/* A bit for each word of 16 bits that is 0. */
AVX2_INLINE uint64_t
zero_words(__m256i words)
{
	const __m256i zero = _mm256_cmpeq_epi16(words, _mm256_setzero_si256());

	return (uint32_t) _mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(zero),
														_mm256_extracti128_si256(zero, 1)));
}

#define CODES_VECTOR __m256i
#define CODES_TARGET AVX2
#define CODES_REPEAT(bytes) _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) (bytes)))
#define CODES_OVER_8(a, b) _mm256_subs_epu8(a, b)
#define CODES_OVER_16(a, b) _mm256_subs_epu16(a, b)
#define CODES_SHIFT(a) _mm256_srli_epi16(a, 4)
#define CODES_ROWS(a, row_bytes) zero_rows(a, row_bytes)
#define CODES_ZERO_8(a) ((uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(a, _mm256_setzero_si256())))
#define CODES_ZERO_16(a) zero_words(a)

#include "genie_codes_kernel.h"

const GenieKernels genie_kernels_avx2 = {
	.name = "avx2",
	.unpack = &genie_unpack_avx2,
	.edges_bytes = 4096,
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
typedef int genie_kernels_avx2_unused;

#endif							/* __x86_64__ */

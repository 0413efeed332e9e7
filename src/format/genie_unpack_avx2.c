/*
 * genie_unpack_avx2.c
 *	  Reading a tile's lists for x86-64 with AVX2 (genie_unpack.h).
 *
 * Every function carries its target as an attribute, so the file needs no compiler flag, and nothing else of the
 * library uses an instruction that the processor may lack.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "genie_keyword.h"
#include "genie_unpack.h"

#define AVX2 __attribute__((target("avx2,popcnt")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2,popcnt")))

#define VECTOR_BYTES 32

/* ---- PACKED blocks ---- */

/*
 * Eight values of width w take w bytes.  Value i of them begins in byte i * w / 8 at bit i * w % 8 and needs at
 * most 23 bits from there: the shuffle gives each 32-bit lane four bytes from its
 * first byte on (a byte past the sixteenth is of the next group and masked off anyway: 0x80
 * makes it zero), then each lane shifts by its own amount.
 */
typedef struct UnpackWidth
{
	uint8_t		shuffle[VECTOR_BYTES];
	uint32_t	shift[8];
} UnpackWidth;

#define BYTE_OF(w, i, b) (((w) * (i)) / 8 + (b) < 16 ? ((w) * (i)) / 8 + (b) : 0x80)
#define LANE_OF(w, i) BYTE_OF(w, i, 0), BYTE_OF(w, i, 1), BYTE_OF(w, i, 2), BYTE_OF(w, i, 3)
#define SHIFT_OF(w, i) (((w) * (i)) % 8)
#define UNPACK_WIDTH(w) \
	{ \
		{LANE_OF(w, 0), LANE_OF(w, 1), LANE_OF(w, 2), LANE_OF(w, 3), \
		 LANE_OF(w, 4), LANE_OF(w, 5), LANE_OF(w, 6), LANE_OF(w, 7)}, \
		{SHIFT_OF(w, 0), SHIFT_OF(w, 1), SHIFT_OF(w, 2), SHIFT_OF(w, 3), \
		 SHIFT_OF(w, 4), SHIFT_OF(w, 5), SHIFT_OF(w, 6), SHIFT_OF(w, 7)} \
	}

static const UnpackWidth unpack_widths[17] = {
	UNPACK_WIDTH(0), UNPACK_WIDTH(1), UNPACK_WIDTH(2), UNPACK_WIDTH(3), UNPACK_WIDTH(4),
	UNPACK_WIDTH(5), UNPACK_WIDTH(6), UNPACK_WIDTH(7), UNPACK_WIDTH(8), UNPACK_WIDTH(9),
	UNPACK_WIDTH(10), UNPACK_WIDTH(11), UNPACK_WIDTH(12), UNPACK_WIDTH(13), UNPACK_WIDTH(14),
	UNPACK_WIDTH(15), UNPACK_WIDTH(16),
};

/* all ones in the 16-bit lanes of locals[at .. at + 15] that are not above the local before them */
AVX2_INLINE __m256i
not_ascending(const uint16_t *locals, uint32_t at)
{
	__m256i		here = _mm256_loadu_si256((const __m256i *) (locals + at));
	__m256i		before = _mm256_loadu_si256((const __m256i *) (locals + at - 1));

	return _mm256_cmpeq_epi16(_mm256_max_epu16(before, here), before);
}

/* A local at or below the one before it: the sums passed 65,535 and came round again. */
AVX2_INLINE bool
is_ascending(const uint16_t *locals, uint32_t n)
{
	__m256i		fallen = _mm256_setzero_si256();
	uint32_t	i = 1;

	for (; i + 16 <= n; i += 16)
		fallen = _mm256_or_si256(fallen, not_ascending(locals, i));
	if (n > 16)
	{
		/* the last 16, some of them once more */
		fallen = _mm256_or_si256(fallen, not_ascending(locals, n - 16));
		i = n;
	}
	for (; i < n; i++)
		if (locals[i] <= locals[i - 1])
			return false;
	return _mm256_testz_si256(fallen, fallen) != 0;
}

AVX2 static bool
unpack_locals(const uint8_t *data, uint32_t width, uint32_t n, uint32_t base, uint16_t *locals)
{
	const __m256i shuffle = _mm256_loadu_si256((const __m256i *) unpack_widths[width].shuffle);
	const __m256i shift = _mm256_loadu_si256((const __m256i *) unpack_widths[width].shift);
	const __m256i mask = _mm256_set1_epi32((1 << width) - 1);
	const __m256i ones = _mm256_set1_epi16(1);
	const __m256i last_of_low = _mm256_set1_epi16(0x0F0E);
	__m256i		before = _mm256_set1_epi16((short) (base - 1)); /* the last local, in every lane */

	for (uint32_t i = 0; i < n; i += 16, data += 2 * width)
	{
		__m256i		low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) data));
		__m256i		high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) (data + width)));
		__m256i		sums;
		__m256i		carry;

		low = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(low, shuffle), shift), mask);
		high = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(high, shuffle), shift), mask);
		sums = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8);

		/* sums within each half, then the low half's total into the high half */
		sums = _mm256_add_epi16(sums, ones);
		sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 2));
		sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 4));
		sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 8));
		carry = _mm256_permute2x128_si256(sums, sums, 0x08);
		sums = _mm256_add_epi16(sums, _mm256_shuffle_epi8(carry, last_of_low));

		_mm256_storeu_si256((__m256i *) (locals + i), _mm256_add_epi16(sums, before));
		carry = _mm256_permute2x128_si256(sums, sums, 0x11);
		before = _mm256_add_epi16(before, _mm256_shuffle_epi8(carry, last_of_low));
	}
	return locals[0] >= base && is_ascending(locals, n);
}

/* ---- packed keywords ---- */

#define CODES_READ (GENIE_CODES_READ_BYTES / GENIE_CODE_BYTES)	/* whole codes of a vector */
#define CODE_BITS (1u | 1u << 5 | 1u << 10 | 1u << 15 | 1u << 20 | 1u << 25)	/* the first byte of each */

__attribute__((target("avx2,popcnt")))
uint32_t
genie_unpack_codes_avx2(const uint8_t *data, const uint8_t *end, const uint8_t *codes, uint32_t n, uint32_t *matches)
{
	uint32_t	done = 0;

	while (done + CODES_READ <= n && end - data >= GENIE_CODES_READ_BYTES)
	{
		__m256i		row = _mm256_loadu_si256((const __m256i *) data);
		__m256i		query = _mm256_loadu_si256((const __m256i *) codes);
		uint32_t	same = (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(row, query));
		uint32_t	alike = same & same >> 1 & same >> 2;	/* length, dimension, family */
		uint32_t	equal = alike & same >> 3 & same >> 4 & CODE_BITS;
		uint32_t	others = ~alike & CODE_BITS;

		if (others != 0)
		{
			*matches += (uint32_t) __builtin_popcount(equal & ((others & -others) - 1));
			return done + (uint32_t) __builtin_ctz(others) / GENIE_CODE_BYTES;
		}
		*matches += (uint32_t) __builtin_popcount(equal);
		done += CODES_READ;
		data += CODES_READ * GENIE_CODE_BYTES;
		codes += CODES_READ * GENIE_CODE_BYTES;
	}
	return done;
}

const GenieUnpackKernels genie_unpack_avx2 = {
	.name = "avx2",
	.locals = unpack_locals,
	.edges = genie_unpack_edges,
	.codes = genie_unpack_codes_avx2,
	.chunks = genie_unpack_chunks,
};

#else

/* an empty file is not C */
typedef int genie_unpack_avx2_unused;

#endif							/* __x86_64__ */

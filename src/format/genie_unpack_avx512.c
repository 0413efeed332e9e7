/*
 * genie_unpack_avx512.c
 *	  Reading a tile's lists for x86-64 with AVX-512 as of Ice Lake and Zen 4 (genie_unpack.h).
 *
 * Older processors that have AVX-512 without VBMI2 take the AVX2 kernels: they lower their clock for wide vectors.
 * Every function carries its target as an attribute, as in genie_unpack_avx2.c.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "genie_sum_avx512.h"
#include "genie_unpack.h"

#define VECTOR_BYTES 64

/* ---- PACKED blocks ---- */

/*
 * 32 values of width w take 4w bytes, one vector.  Value i of them begins in byte i * w / 8 at bit i * w % 8 and needs
 * at most 23 bits from there: one byte permutation gives each 16-bit lane its first two bytes, another the
 * next two, and a double shift takes the lane's 16 bits out of the 32.  (Where the second pair would lie past the
 * vector, no bit of it is needed.)
 */
typedef struct UnpackWidth
{
	uint8_t		low[VECTOR_BYTES];
	uint8_t		high[VECTOR_BYTES];
	uint16_t	shift[32];
} UnpackWidth;

#define LOW_OF(w, i) ((w) * (i)) / 8 % VECTOR_BYTES, (((w) * (i)) / 8 + 1) % VECTOR_BYTES
#define HIGH_OF(w, i) (((w) * (i)) / 8 + 2) % VECTOR_BYTES, (((w) * (i)) / 8 + 3) % VECTOR_BYTES
#define SHIFT_OF(w, i) ((w) * (i)) % 8
#define EACH_8(of, w, i) \
	of(w, i), of(w, (i) + 1), of(w, (i) + 2), of(w, (i) + 3), \
	of(w, (i) + 4), of(w, (i) + 5), of(w, (i) + 6), of(w, (i) + 7)
#define EACH_32(of, w) EACH_8(of, w, 0), EACH_8(of, w, 8), EACH_8(of, w, 16), EACH_8(of, w, 24)
#define UNPACK_WIDTH(w) {{EACH_32(LOW_OF, w)}, {EACH_32(HIGH_OF, w)}, {EACH_32(SHIFT_OF, w)}}

static const UnpackWidth unpack_widths[17] = {
	UNPACK_WIDTH(0), UNPACK_WIDTH(1), UNPACK_WIDTH(2), UNPACK_WIDTH(3), UNPACK_WIDTH(4),
	UNPACK_WIDTH(5), UNPACK_WIDTH(6), UNPACK_WIDTH(7), UNPACK_WIDTH(8), UNPACK_WIDTH(9),
	UNPACK_WIDTH(10), UNPACK_WIDTH(11), UNPACK_WIDTH(12), UNPACK_WIDTH(13), UNPACK_WIDTH(14),
	UNPACK_WIDTH(15), UNPACK_WIDTH(16),
};

AVX512 static bool
unpack_locals(const uint8_t *data, uint32_t width, uint32_t n, uint32_t base, uint16_t *locals)
{
	const __m512i low = _mm512_loadu_si512(unpack_widths[width].low);
	const __m512i high = _mm512_loadu_si512(unpack_widths[width].high);
	const __m512i shift = _mm512_loadu_si512(unpack_widths[width].shift);
	const __m512i mask = _mm512_set1_epi16((short) ((1u << width) - 1));
	const __m512i ones = _mm512_set1_epi16(1);
	const __m512i last = _mm512_set1_epi16(31);
	const __m512i left_neighbour = _mm512_add_epi16(
		_mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
						 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi16(-1));
	__m512i		before = _mm512_set1_epi16((short) (base - 1)); /* the last local, in every lane */
	__mmask32	good = UINT32_MAX;

	for (uint32_t i = 0; i < n; i += 32, data += 4 * width)
	{
		__m512i		bytes = _mm512_loadu_si512(data);
		__m512i		sums = _mm512_and_si512(mask, _mm512_shrdv_epi16(
			_mm512_permutexvar_epi8(low, bytes), _mm512_permutexvar_epi8(high, bytes), shift));
		__mmask32	ascends;

		sums = _mm512_add_epi16(sum_lanes_16(_mm512_add_epi16(sums, ones)), before);
		_mm512_storeu_si512(locals + i, sums);

		/* a local at or below the one before it: the sums passed 65,535 and came round again */
		before = _mm512_mask_permutexvar_epi16(before, 0xFFFFFFFE, left_neighbour, sums);
		ascends = _mm512_cmpgt_epu16_mask(sums, before);
		if (i == 0)
			ascends |= 1;
		if (n - i < 32)
			ascends |= UINT32_MAX << (n - i);
		good &= ascends;
		before = _mm512_permutexvar_epi16(last, sums);
	}
	return locals[0] >= base && good == UINT32_MAX;
}

/* ---- RUNS ---- */

/*
 * Varints of one and two bytes, up to 32 at a time, from at most 64 bytes: a value's last byte has a clear highest
 * bit, and before it lies the first one of a pair.  Both are compressed to one lane a value and put together.
 */
AVX512 static uint32_t
unpack_edges(const uint8_t *data, const uint8_t *end, uint32_t base, uint16_t *edges, size_t *n_bytes)
{
	const __m512i left_byte = _mm512_set_epi64(
		0x3E3D3C3B3A393837, 0x363534333231302F, 0x2E2D2C2B2A292827, 0x262524232221201F,
		0x1E1D1C1B1A191817, 0x161514131211100F, 0x0E0D0C0B0A090807, 0x060504030201003F);
	const __m512i left_lane = _mm512_set_epi64(
		0x001E001D001C001B, 0x001A001900180017, 0x0016001500140013, 0x001200110010000F,
		0x000E000D000C000B, 0x000A000900080007, 0x0006000500040003, 0x000200010000001F);
	const __m512i before = _mm512_set1_epi16((short) base);
	uint64_t	left = (uint64_t) (end - data);
	__mmask64	loaded = left < VECTOR_BYTES ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
	__m512i		bytes = _mm512_maskz_loadu_epi8(loaded, data);
	uint64_t	firsts = _mm512_movepi8_mask(bytes);	/* of pairs */
	uint64_t	seconds = firsts << 1;
	uint64_t	zeros = _mm512_testn_epi8_mask(bytes, bytes);
	uint64_t	others = seconds & (firsts | zeros);	/* a third byte follows, or it is not the shortest form */
	uint64_t	lasts = ~firsts & loaded;
	uint32_t	n;
	__m512i		values;
	__m512i		sums;
	__mmask32	in;

	if (base > UINT16_MAX)
		return 0;
	if (others != 0)
		lasts &= (others & -others) - 1;
	lasts = _pdep_u64(UINT32_MAX, lasts);	/* the lowest 32 of them */
	n = (uint32_t) __builtin_popcountll(lasts);
	if (n % 2 == 1)
		lasts ^= UINT64_C(1) << (63 - __builtin_clzll(lasts));
	n -= n % 2;
	if (n == 0)
		return 0;
	in = n == 32 ? UINT32_MAX : (1u << n) - 1;

	values = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(_mm512_maskz_compress_epi8(lasts, bytes)));
	bytes = _mm512_and_si512(_mm512_maskz_permutexvar_epi8(seconds, left_byte, bytes), _mm512_set1_epi8(0x7F));
	bytes = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(_mm512_maskz_compress_epi8(lasts, bytes)));
	values = _mm512_mask_add_epi16(values, (__mmask32) _pext_u64(seconds, lasts), bytes, _mm512_slli_epi16(values, 7));

	/* a length is one more than its value */
	values = _mm512_mask_add_epi16(values, 0xAAAAAAAA, values, _mm512_set1_epi16(1));
	sums = _mm512_add_epi16(sum_lanes_16(values), before);

	/* a sum below the one before it: it passed 65,535 */
	if ((_mm512_cmplt_epu16_mask(sums, _mm512_mask_permutexvar_epi16(before, 0xFFFFFFFE, left_lane, sums)) & in) != 0)
		return 0;
	_mm512_storeu_si512(edges, sums);
	*n_bytes = 64 - (size_t) __builtin_clzll(lasts);
	return n;
}

/* ---- chunks ---- */

/*
 * A chunk's gaps become 32 lanes of 16 bits, the first local before them, and are summed up; lanes that are no locals
 * are pressed out.  One byte permutation brings the gaps into their order: of bytes, or of the lower halves (0 .. 15)
 * and the upper ones (16 .. 31).
 */
AVX512 static uint32_t
unpack_chunks(const GenieChunk *chunks, uint32_t n, uint16_t *locals)
{
	static const uint8_t halves[32] = {
		0, 2, 3, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30,
	};
	static const uint8_t bytes[32] = {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
	const __mmask32 halves_in = (1u << 28) - 1;
	const __mmask32 bytes_in = (1u << 14) - 1;
	const __m256i order_halves = _mm256_loadu_si256((const __m256i *) (const void *) halves);
	const __m256i order_bytes = _mm256_loadu_si256((const __m256i *) (const void *) bytes);
	const __m128i half = _mm_set1_epi8(0x0F);
	uint16_t   *to = locals;

	for (uint32_t i = 0; i < n; i++)
	{
		const __m128i chunk = _mm_loadu_si128((const __m128i *) (const void *) &chunks[i]);
		__m256i		gaps;
		__mmask32	skips;
		__mmask32	in;
		__m512i		sums;

		if (genie_chunk_width(&chunks[i]) == 8)
		{
			gaps = _mm256_maskz_permutexvar_epi8(bytes_in, order_bytes, _mm256_castsi128_si256(chunk));
			skips = _mm256_cmpeq_epi8_mask(gaps, _mm256_set1_epi8(-1));
		}
		else
		{
			gaps = _mm256_set_m128i(_mm_and_si128(_mm_srli_epi16(chunk, 4), half), _mm_and_si128(chunk, half));
			gaps = _mm256_maskz_permutexvar_epi8(halves_in, order_halves, gaps);
			skips = _mm256_cmpeq_epi8_mask(gaps, _mm256_set1_epi8(15));
		}
		in = _mm256_test_epi8_mask(gaps, gaps) & ~skips;
		gaps = _mm256_mask_add_epi8(gaps, skips, gaps, _mm256_set1_epi8(-1));
		sums = _mm512_mask_set1_epi16(_mm512_cvtepu8_epi16(gaps), 1, (short) genie_chunk_first(&chunks[i]));
		in |= 1;
		_mm512_storeu_si512(to, _mm512_maskz_compress_epi16(in, sum_lanes_16(sums)));
		to += (uint32_t) __builtin_popcount(in);
	}
	return (uint32_t) (to - locals);
}

const GenieUnpackKernels genie_unpack_avx512 = {
	.name = "avx512",
	.locals = unpack_locals,
	.edges = unpack_edges,
	.codes = genie_unpack_codes_avx2,
	.chunks = unpack_chunks,
};

#else

/* an empty file is not C */
typedef int genie_unpack_avx512_unused;

#endif							/* __x86_64__ */

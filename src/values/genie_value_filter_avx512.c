/*
 * genie_value_filter_avx512.c
 *	  The filter of genie_value_offer.h, for x86-64 with AVX-512 and its instructions for products of bytes (VNNI), and
 *	  for sums of their differences.
 *
 * Records are interleaved (genie_value_filter_memory.h).  So the products of a query with a group are one instruction
 * for four dimensions, the query's codes being a broadcast, and no sum is left to be folded.
 *
 * Which records are left is decided by the products of floats that genie_value_filter.h explains.
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "genie_rabitq_filter.h"
#include "genie_value_filter_memory.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2")))
#define GROUP GENIE_VALUE_FILTER_GROUP
#define GROUPS GENIE_VALUE_FILTER_GROUPS

static void
begin(const GenieValueQuery *const *queries, uint32_t n, void *memory)
{
	genie_value_filter_put_queries(memory, queries, n);
}

/* Sixteen registers, rows of dwords, are transposed. */
AVX512 static inline void
transpose(__m512i *x)
{
	__m512i		y[16];

	for (int i = 0; i < 16; i += 4)
	{
		__m512i		a = _mm512_unpacklo_epi32(x[i], x[i + 1]);
		__m512i		b = _mm512_unpackhi_epi32(x[i], x[i + 1]);
		__m512i		c = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]);
		__m512i		d = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);

		y[i] = _mm512_unpacklo_epi64(a, c);
		y[i + 1] = _mm512_unpackhi_epi64(a, c);
		y[i + 2] = _mm512_unpacklo_epi64(b, d);
		y[i + 3] = _mm512_unpackhi_epi64(b, d);
	}
	for (int i = 0; i < 4; i++)
	{
		__m512i		a = _mm512_shuffle_i32x4(y[i], y[4 + i], 0x88);
		__m512i		b = _mm512_shuffle_i32x4(y[i], y[4 + i], 0xDD);
		__m512i		c = _mm512_shuffle_i32x4(y[8 + i], y[12 + i], 0x88);
		__m512i		d = _mm512_shuffle_i32x4(y[8 + i], y[12 + i], 0xDD);

		x[i] = _mm512_shuffle_i32x4(a, c, 0x88);
		x[4 + i] = _mm512_shuffle_i32x4(b, d, 0x88);
		x[8 + i] = _mm512_shuffle_i32x4(a, c, 0xDD);
		x[12 + i] = _mm512_shuffle_i32x4(b, d, 0xDD);
	}
}

/* Fours of codes become eights, in pairs of registers. */
AVX512 static inline void
pair(__m512i *x)
{
	for (int i = 0; i < GROUP; i += 2)
	{
		__m512i		low = _mm512_unpacklo_epi32(x[i], x[i + 1]);

		x[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
		x[i] = low;
	}
}

/* Up to 64 codes of a record, from the i-th on, and zeros. */
AVX512 static inline __m512i
load_codes(GenieMetric metric, const char *record, uint32_t i, uint32_t n)
{
	const char *codes = record + sizeof(GenieQuantized);
	uint64_t	bits;

	if (!genie_rabitq_serves(metric))
		return _mm512_maskz_loadu_epi8(n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1, codes + i);
	memcpy(&bits, codes + i / 8, sizeof(bits));
	return _mm512_maskz_set1_epi8(bits, 1);
}

AVX512 static void
prepare_group(GenieMetric metric, uint32_t n_dimensions, const char *records, uint32_t n, double middle,
			  GenieValueFilterGroup *group, int32_t *sums, __m512i *codes)
{
	size_t		n_bytes = genie_value_record_bytes(metric, n_dimensions);
	uint32_t	n_elements = genie_value_filter_elements(metric, n_dimensions);
	__m512i		sum = _mm512_setzero_si512();

	for (uint32_t i = 0; i < n_elements; i += 64)
	{
		uint32_t	n_registers = (n_elements - i >= 64 ? 64 : n_elements - i) / 4;
		__m512i		rows[GROUP];

		for (uint32_t r = 0; r < GROUP; r++)
			rows[r] = load_codes(metric, records + (r < n ? r : n - 1) * n_bytes, i, n_elements - i);
		transpose(rows);
		if (metric == GENIE_METRIC_L1)
			pair(rows);
		for (uint32_t r = 0; r < n_registers; r++)
		{
			_mm512_store_si512(codes + i / 4 + r, rows[r]);
			sum = _mm512_dpbusd_epi32(sum, rows[r], _mm512_set1_epi8(1));
		}
	}
	_mm512_store_si512(sums, sum);
	for (uint32_t r = 0; r < GROUP; r++)
	{
		const GenieQuantized *header = (const void *) (records + (r < n ? r : n - 1) * n_bytes);
		GenieValueFilterRecord record = genie_rabitq_serves(metric) ?
			genie_rabitq_filter_record(metric, n_dimensions, header) :
			genie_value_filter_record(metric, n_dimensions, middle, header, sums[r]);

		for (uint32_t i = 0; i < GENIE_VALUE_FILTER_TERMS; i++)
			group->of[i][r] = record.of[i];
		group->scale[r] = record.scale;
	}
}

AVX512 void
genie_value_filter_prepare(GenieMetric metric, uint32_t n_dimensions, double middle, const void *records,
						   uint32_t n, void *at)
{
	GenieValueFilterMemory *memory = at;
	size_t		n_bytes = genie_value_record_bytes(metric, n_dimensions);

	for (uint32_t g = 0; g < GROUPS; g++)
	{
		uint32_t	first = g * GROUP < n ? g * GROUP : n - 1;
		uint32_t	n_here = n - first < GROUP ? n - first : GROUP;

		prepare_group(metric, n_dimensions, (const char *) records + first * n_bytes, n_here, middle,
					  &memory->groups[g], memory->sums + g * GROUP, genie_value_filter_group_codes(memory, g));
	}
}

/* genie_value_filtered(): which are not */
AVX512 static inline __mmask16
left_of_group(const GenieValueFilterGroup *group, const GenieValueFilterQuery *query, __m512 products)
{
	__m512		sum = _mm512_set1_ps(query->rest);

	for (uint32_t i = 0; i < GENIE_VALUE_FILTER_TERMS; i++)
		sum = _mm512_add_ps(sum, _mm512_mul_ps(_mm512_load_ps(group->of[i]), _mm512_set1_ps(query->of[i])));
	return _mm512_cmp_ps_mask(sum, _mm512_mul_ps(_mm512_load_ps(group->scale), products), _CMP_NGT_UQ);
}

AVX512 uint64_t
genie_value_filter_left(const GenieValueFilterQuery *numbers, const void *at, const int32_t *products)
{
	const GenieValueFilterMemory *memory = at;
	uint64_t	left = 0;

	for (uint32_t g = 0; g < GROUPS; g++)
	{
		__m512		sums = _mm512_cvtepi32_ps(_mm512_load_si512(products + g * GROUP));

		left |= (uint64_t) left_of_group(&memory->groups[g], numbers, sums) << g * GROUP;
	}
	return left;
}

AVX512 static void
multiply(void *at, uint32_t first, uint32_t n, int32_t (*products)[GENIE_VALUE_FILTER_RECORDS])
{
	GenieValueFilterMemory *memory = at;

	for (uint32_t q = 0; q < n; q++)
	{
		const int32_t *codes = genie_value_filter_query_codes(memory, first + q);
		__m512i		sums[GROUPS];

		for (uint32_t g = 0; g < GROUPS; g++)
			sums[g] = _mm512_setzero_si512();
		for (uint32_t i = 0; i < memory->n_registers; i++)
		{
			__m512i		four = _mm512_set1_epi32(codes[i]);

			for (uint32_t g = 0; g < GROUPS; g++)
			{
				const __m512i *group = genie_value_filter_group_codes(memory, g);

				sums[g] = _mm512_dpbusd_epi32(sums[g], _mm512_load_si512(group + i), four);
			}
		}
		for (uint32_t g = 0; g < GROUPS; g++)
			_mm512_store_si512(products[q] + g * GROUP, sums[g]);
	}
}

AVX512 void
genie_value_filter_differ(void *at, uint32_t first, uint32_t n, int32_t (*products)[GENIE_VALUE_FILTER_RECORDS])
{
	GenieValueFilterMemory *memory = at;

	for (uint32_t q = 0; q < n; q++)
	{
		const char *codes = genie_value_filter_query_codes(memory, first + q);
		__m512i		low[GROUPS];
		__m512i		high[GROUPS];

		for (uint32_t g = 0; g < GROUPS; g++)
			low[g] = high[g] = _mm512_setzero_si512();
		for (uint32_t i = 0; i < memory->n_registers; i += 2)
		{
			int64_t		eight;
			__m512i		of_query;

			memcpy(&eight, codes + 4 * i, sizeof(eight));
			of_query = _mm512_set1_epi64(eight);
			for (uint32_t g = 0; g < GROUPS; g++)
			{
				const __m512i *group = (const __m512i *) genie_value_filter_group_codes(memory, g) + i;

				low[g] = _mm512_sub_epi32(low[g], _mm512_sad_epu8(_mm512_load_si512(group), of_query));
				high[g] = _mm512_sub_epi32(high[g], _mm512_sad_epu8(_mm512_load_si512(group + 1), of_query));
			}
		}
		/* the upper halves of the sums are zeros */
		for (uint32_t g = 0; g < GROUPS; g++)
			_mm512_store_ps(products[q] + g * GROUP,
							_mm512_shuffle_ps(_mm512_castsi512_ps(low[g]), _mm512_castsi512_ps(high[g]),
											  _MM_SHUFFLE(2, 0, 2, 0)));
	}
}

static void
end(void)
{
}

const GenieValueFilter genie_value_filter_avx512 = {"avx512", begin, genie_value_filter_prepare, multiply,
	genie_value_filter_differ, genie_value_filter_left, end
};

#endif

/*
 * genie_value_filter_avx512.c
 *	  The filter of genie_value_offer.h, for x86-64 with AVX-512 and its instruction for products of bytes (VNNI).
 *
 * Sixteen records are a group.  Their codes are interleaved: register i of a group has codes 4 i to 4 i + 3 of each
 * record.  So the products of a query with a group are one instruction for four dimensions, the query's codes being a
 * broadcast, and no sum is left to be folded.
 *
 * Why no record is left out.  A key is below the floor if its bound is at least limit, the bound of the key below.  The
 * bound is computed here as in genie_value_bound.h, but in floats.  Each of its sums has fewer than 16 operations, so
 * 2^-18 of the sum of its terms' sizes is more than all roundings, and that is given: of the squared distance by
 * own - 2^-18 own (twice the cross terms are no more than 2 own), of the product by its terms' sizes.  What is compared
 * with it is made larger by 2^-18, too, and by the smallest normal float, for what vanishes below it.  Comparisons
 * are such that NaN, and infinite errors, let a record pass.
 */
#if defined(__x86_64__)

#include <float.h>
#include <immintrin.h>
#include <math.h>

#include "genie_value_bound.h"
#include "genie_value_offer.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2")))
#define GROUP 16
#define GROUPS (GENIE_VALUE_FILTER_RECORDS / GROUP)
#define SLACK 0x1p-18f

/* Sixteen records. */
typedef struct Group
{
	float		offset[GROUP];
	float		scale[GROUP];
	float		error[GROUP];
	float		squares[GROUP]; /* scale^2 times the sum of the codes' squares */
	float		codes[GROUP];	/* the codes' sum, as Memory's sums */
	float		length[GROUP];	/* INNER: no less than the vector's */
} Group;

typedef struct Memory
{
	uint32_t	n_registers;	/* of codes, a group */
	uint32_t	unused[15];
	int32_t		sums[GENIE_VALUE_FILTER_RECORDS];
	Group		groups[GROUPS];
	__m512i		codes[];
} Memory;

static size_t
bytes(uint32_t n_dimensions)
{
	return sizeof(Memory) + (size_t) GROUPS * genie_quantized_elements(n_dimensions) / 4 * sizeof(__m512i);
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

AVX512 static void
prepare_group(GenieMetric metric, uint32_t n_dimensions, const char *records, uint32_t n, Group *group, int32_t *sums,
			  __m512i *codes)
{
	size_t		n_bytes = genie_quantized_bytes(n_dimensions);
	uint32_t	n_elements = genie_quantized_elements(n_dimensions);
	__m512i		sum = _mm512_setzero_si512();

	for (uint32_t i = 0; i < n_elements; i += 64)
	{
		__mmask64	mask = n_elements - i >= 64 ? UINT64_MAX : (UINT64_C(1) << (n_elements - i)) - 1;
		uint32_t	n_registers = (n_elements - i >= 64 ? 64 : n_elements - i) / 4;
		__m512i		rows[GROUP];

		for (uint32_t r = 0; r < GROUP; r++)
		{
			const char *record = records + (r < n ? r : n - 1) * n_bytes;

			rows[r] = _mm512_maskz_loadu_epi8(mask, record + sizeof(GenieQuantized) + i);
		}
		transpose(rows);
		for (uint32_t r = 0; r < n_registers; r++)
		{
			_mm512_store_si512(codes + i / 4 + r, rows[r]);
			sum = _mm512_dpbusd_epi32(sum, rows[r], _mm512_set1_epi8(1));
		}
	}
	_mm512_store_si512(sums, sum);
	_mm512_store_ps(group->codes, _mm512_cvtepi32_ps(sum));
	for (uint32_t r = 0; r < GROUP; r++)
	{
		const GenieQuantized *record = (const void *) (records + (r < n ? r : n - 1) * n_bytes);
		double		scale = record->scale;
		double		own = (double) n_dimensions * record->offset * record->offset + scale * scale * record->squares;

		group->offset[r] = record->offset;
		group->scale[r] = record->scale;
		group->error[r] = record->error;
		group->squares[r] = (float) (scale * scale * record->squares);
		if (metric == GENIE_METRIC_INNER)
			group->length[r] = (float) (sqrt(own + fabs(2.0 * record->offset * scale * group->codes[r])) * (1 + SLACK));
	}
}

AVX512 static void
prepare(GenieMetric metric, uint32_t n_dimensions, const void *records, uint32_t n, void *at)
{
	Memory	   *memory = at;
	size_t		n_bytes = genie_quantized_bytes(n_dimensions);

	memory->n_registers = genie_quantized_elements(n_dimensions) / 4;
	for (uint32_t g = 0; g < GROUPS; g++)
	{
		uint32_t	first = g * GROUP < n ? g * GROUP : n - 1;
		uint32_t	n_here = n - first < GROUP ? n - first : GROUP;

		prepare_group(metric, n_dimensions, (const char *) records + first * n_bytes, n_here, &memory->groups[g],
					  memory->sums + g * GROUP, memory->codes + (size_t) g * memory->n_registers);
	}
}

/* Of squared distances: may the record be wanted?  reach: what its error is added to. */
AVX512 static inline __mmask16
within(const GenieValueQuery *query, float reach, const Group *group, __m512 products)
{
	__m512		apart = _mm512_sub_ps(_mm512_set1_ps((float) query->offset), _mm512_load_ps(group->offset));
	__m512		scale = _mm512_load_ps(group->scale);
	__m512		own = _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps((float) query->n_dimensions), apart), apart);
	__m512		cross;
	__m512		sum;
	__m512		limit = _mm512_add_ps(_mm512_set1_ps(reach), _mm512_load_ps(group->error));

	own = _mm512_add_ps(_mm512_add_ps(own, _mm512_set1_ps((float) query->squares)), _mm512_load_ps(group->squares));
	cross = _mm512_add_ps(_mm512_mul_ps(apart, _mm512_load_ps(group->codes)),
						  _mm512_mul_ps(_mm512_set1_ps((float) query->scale), products));
	cross = _mm512_sub_ps(_mm512_mul_ps(apart, _mm512_set1_ps((float) query->sum)), _mm512_mul_ps(scale, cross));
	sum = _mm512_add_ps(_mm512_mul_ps(own, _mm512_set1_ps(1 - SLACK)), _mm512_add_ps(cross, cross));
	limit = _mm512_mul_ps(_mm512_mul_ps(limit, limit), _mm512_set1_ps(1 + 4 * SLACK));
	limit = _mm512_add_ps(limit, _mm512_set1_ps(FLT_MIN));
	return _mm512_cmp_ps_mask(sum, limit, _CMP_NGT_UQ);
}

AVX512 static inline __m512
times(__m512 x, double number)
{
	return _mm512_mul_ps(x, _mm512_set1_ps((float) number));
}

/* Of inner products: may it reach the least? */
AVX512 static inline __mmask16
reaches(const GenieValueQuery *query, const GenieValueConstants *constants, float least, const Group *group,
		__m512 products)
{
	double		per_length = query->error + (query->norm + query->error) * query->roundings;
	__m512		offset = _mm512_load_ps(group->offset);
	__m512		scale = _mm512_load_ps(group->scale);
	__m512		codes = _mm512_load_ps(group->codes);
	__m512		error = _mm512_load_ps(group->error);
	__m512		length = _mm512_add_ps(_mm512_load_ps(group->length), error);
	__m512		own = times(products, query->scale);
	__m512		product = _mm512_mul_ps(scale, _mm512_add_ps(times(codes, query->offset), own));
	__m512		size = _mm512_mul_ps(scale, _mm512_add_ps(times(codes, constants->offset_size), _mm512_abs_ps(own)));
	__m512		lost = _mm512_add_ps(times(error, query->norm), times(length, per_length));
	__m512		most;

	product = _mm512_add_ps(times(offset, constants->total), product);
	size = _mm512_add_ps(times(_mm512_abs_ps(offset), constants->total_size), size);
	most = _mm512_add_ps(_mm512_add_ps(product, times(size, 2 * SLACK)), times(lost, 1 + 2 * SLACK));
	most = _mm512_add_ps(most, _mm512_set1_ps(FLT_MIN));
	/* nothing is known where products are so long that their sums may overflow */
	return _mm512_cmp_ps_mask(most, _mm512_set1_ps(least), _CMP_NLT_UQ) |
		_mm512_cmp_ps_mask(times(length, query->norm + query->error),
						   _mm512_set1_ps((float) GENIE_VALUE_INNER_MAX / 2), _CMP_NLE_UQ);
}

AVX512 static uint64_t
filter(const GenieValueQuery *query, const GenieValueConstants *constants, uint32_t floor, const void *at,
	   int32_t *products, const int32_t **code_sums)
{
	const Memory *memory = at;
	const int32_t *codes = genie_value_query_body(query);
	double		limit = genie_value_key_bound(floor - 1);
	double		reach = limit;
	__m512i		sums[GROUPS];
	uint64_t	left = 0;

	for (uint32_t g = 0; g < GROUPS; g++)
		sums[g] = _mm512_setzero_si512();
	for (uint32_t i = 0; i < memory->n_registers; i++)
	{
		__m512i		four = _mm512_set1_epi32(codes[i]);

		for (uint32_t g = 0; g < GROUPS; g++)
		{
			const __m512i *group_codes = memory->codes + (size_t) g * memory->n_registers;

			sums[g] = _mm512_dpbusd_epi32(sums[g], _mm512_load_si512(group_codes + i), four);
		}
	}
	if (query->metric == GENIE_METRIC_COSINE)
		reach = sqrt((limit + constants->cosine_error) / (0.5 - 0x1p-23));
	reach = (reach + query->error) / constants->keep * (1 + SLACK);
	for (uint32_t g = 0; g < GROUPS; g++)
	{
		__m512		own = _mm512_cvtepi32_ps(sums[g]);
		__mmask16	mask = query->metric == GENIE_METRIC_INNER ?
			reaches(query, constants, -(float) limit - fabsf((float) limit) * SLACK, &memory->groups[g], own) :
			within(query, (float) reach, &memory->groups[g], own);

		left |= (uint64_t) mask << g * GROUP;
	}
	if (left != 0)
		for (uint32_t g = 0; g < GROUPS; g++)
			_mm512_storeu_si512(products + g * GROUP, sums[g]);
	*code_sums = memory->sums;
	return left;
}

const GenieValueFilter genie_value_filter_avx512 = {"avx512", bytes, prepare, filter};

#endif

/*
 * genie_value_scan_kernel.h
 *	  Keys of quantized vectors (genie_value_scan.h), as a template: a file that defines the register includes it.
 *
 *	VALUE_NAME			the instruction set: genie_value_NAME is made
 *	VALUE_TARGET		attribute of each function: the instructions that it may use
 *	VALUE_WIDTH			doubles in a ValueNumber (genie_value_bound.h, whose macros the file defines, too)
 *	VALUE_FROM_FLOATS(at), VALUE_FROM_INTS(at), VALUE_FROM_UNSIGNED(at)		VALUE_WIDTH numbers
 *	VALUE_STORE_KEYS(at, bounds)	their keys
 *	VALUE_SUM_GROUP(block, place, records, codes, n_elements)	a group's sums and headers, to a block, from place on
 *	VALUE_FLOAT_WIDTH	floats in a register of L1, at most GENIE_VECTOR_LANES
 *	VALUE_WIDEN(at)		VALUE_FLOAT_WIDTH codes at any address, as floats
 *
 * Records are taken in groups (genie_value_scan_group.h).  The last one repeats its last record, so that it needs no
 * code of its own.
 */
#ifndef GENIE_VALUE_SCAN_KERNEL_H
#define GENIE_VALUE_SCAN_KERNEL_H

#include <string.h>

#ifndef VALUE_NAME
#define VALUE_NAME portable
#define VALUE_TARGET
#define VALUE_WIDTH 1
#define VALUE_FROM_FLOATS(at) (*(at))
#define VALUE_FROM_INTS(at) (*(at))
#define VALUE_FROM_UNSIGNED(at) (*(at))
#define VALUE_STORE_KEYS(at, bounds) (*(at) = genie_value_key(bounds))
#define VALUE_SUM_GROUP sum_group
#define VALUE_FLOAT_WIDTH 4
#define VALUE_WIDEN(at) widen(at)
#define VALUE_IS_PORTABLE
#endif

#include "genie_value_bound.h"
#include "genie_value_scan_group.h"

#define PARTS (GENIE_VECTOR_LANES / VALUE_FLOAT_WIDTH)
#define INLINE __attribute__((always_inline)) VALUE_TARGET static inline

typedef float Floats __attribute__((vector_size(4 * VALUE_FLOAT_WIDTH)));
typedef int32_t Ints __attribute__((vector_size(4 * VALUE_FLOAT_WIDTH)));

#ifdef VALUE_IS_PORTABLE
INLINE Floats
widen(const uint8_t *at)
{
	uint8_t		codes __attribute__((vector_size(VALUE_FLOAT_WIDTH)));

	memcpy(&codes, at, sizeof(codes));
	return __builtin_convertvector(__builtin_convertvector(codes, Ints), Floats);
}

INLINE void
sum_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const int8_t *query,
		  uint32_t n_elements)
{
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *codes = (const uint8_t *) (records[r] + 1);
		int32_t		products = 0;
		int32_t		sum = 0;

		for (uint32_t i = 0; i < n_elements; i++)
		{
			products += codes[i] * query[i];
			sum += codes[i];
		}
		block->products[place + r] = products;
		block->codes[place + r] = sum;
	}
	genie_value_group_headers(block, place, records);
}
#endif

/* ---- L1 ---- */

/* At GENIE_VECTOR_LANES - n: all bits set of n dimensions, and none of the rest. */
static const int32_t masks[2 * GENIE_VECTOR_LANES] = {
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
};

/* Adds the terms of GENIE_VECTOR_LANES dimensions, those that the mask has. */
INLINE void
add_differences(Floats *sums, const GenieQuantized *record, const uint8_t *codes, const float *query,
				const int32_t *mask)
{
	for (uint32_t p = 0; p < PARTS; p++)
	{
		Floats		product = VALUE_WIDEN(codes + p * VALUE_FLOAT_WIDTH) * record->scale;
		Floats		q;
		Ints		keep;

		memcpy(&q, query + p * VALUE_FLOAT_WIDTH, sizeof(q));
		memcpy(&keep, mask + p * VALUE_FLOAT_WIDTH, sizeof(keep));
		sums[p] += (Floats) ((Ints) ((product + record->offset) - q) & keep & INT32_MAX);
	}
}

/* sum |v' - q| */
INLINE float
differences_of(const GenieQuantized *record, const float *query, uint32_t n)
{
	const uint8_t *codes = (const uint8_t *) (record + 1);
	Floats		sums[PARTS] = {0};
	float		lanes[GENIE_VECTOR_LANES];
	uint32_t	whole = n - n % GENIE_VECTOR_LANES;

	for (uint32_t i = 0; i < whole; i += GENIE_VECTOR_LANES)
		add_differences(sums, record, codes + i, query + i, masks);
	if (whole < n)
		add_differences(sums, record, codes + whole, query + whole, masks + GENIE_VECTOR_LANES - (n - whole));
	memcpy(lanes, sums, sizeof(lanes));
	for (uint32_t half = GENIE_VECTOR_LANES / 2; half > 0; half /= 2)
		for (uint32_t l = 0; l < half; l++)
			lanes[l] += lanes[l + half];
	return lanes[0];
}

INLINE void
differences_of_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const float *query,
					 uint32_t n)
{
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
		block->differences[place + r] = differences_of(records[r], query, n);
	genie_value_group_headers(block, place, records);
}

/* ---- keys ---- */

/* Those of the block's first n records, and some behind them. */
INLINE void
keys_of_block(const GenieMetric metric, const GenieValueConstants *constants, const GenieValueBlock *block, uint32_t n,
			  uint32_t *keys)
{
	for (uint32_t r = 0; r < n; r += VALUE_WIDTH)
	{
		ValueTerms	terms = {
			.offset = VALUE_FROM_FLOATS(block->offset + r),
			.scale = VALUE_FROM_FLOATS(block->scale + r),
			.error = VALUE_FROM_FLOATS(block->error + r)
		};

		if (metric == GENIE_METRIC_L1)
			terms.products = VALUE_FROM_FLOATS(block->differences + r);
		else
		{
			terms.squares = VALUE_FROM_UNSIGNED(block->squares + r);
			terms.products = VALUE_FROM_INTS(block->products + r);
			terms.codes = VALUE_FROM_INTS(block->codes + r);
		}
		VALUE_STORE_KEYS(keys + r, genie_value_bound(metric, constants, terms));
	}
}

INLINE void
sum_up(const GenieMetric metric, const GenieValueQuery *query, const uint8_t *at, uint32_t n, GenieValueBlock *block)
{
	size_t		n_bytes = genie_quantized_bytes(query->n_dimensions);
	uint32_t	n_elements = genie_quantized_elements(query->n_dimensions);
	const void *body = genie_value_query_body(query);

	for (uint32_t place = 0; place < n; place += GENIE_VALUE_GROUP)
	{
		const GenieQuantized *records[GENIE_VALUE_GROUP];

		for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
		{
			records[r] = (const void *) at;
			at += place + r + 1 < n ? n_bytes : 0;
		}
		if (metric == GENIE_METRIC_L1)
			differences_of_group(block, place, records, body, query->n_dimensions);
		else
			VALUE_SUM_GROUP(block, place, records, body, n_elements);
	}
}

INLINE void
keys_of(const GenieMetric metric, const GenieValueQuery *query, const uint8_t *at, uint32_t n, uint32_t *keys)
{
	GenieValueConstants constants = genie_value_constants(query);
	size_t		n_bytes = genie_quantized_bytes(query->n_dimensions);
	GenieValueBlock block;
	uint32_t	last_keys[GENIE_VALUE_BLOCK];

	for (; n >= GENIE_VALUE_BLOCK; n -= GENIE_VALUE_BLOCK)
	{
		sum_up(metric, query, at, GENIE_VALUE_BLOCK, &block);
		keys_of_block(metric, &constants, &block, GENIE_VALUE_BLOCK, keys);
		at += GENIE_VALUE_BLOCK * n_bytes;
		keys += GENIE_VALUE_BLOCK;
	}
	sum_up(metric, query, at, n, &block);
	keys_of_block(metric, &constants, &block, n, last_keys);
	memcpy(keys, last_keys, n * sizeof(uint32_t));
}

VALUE_TARGET
static void
keys_by_metric(const GenieValueQuery *query, const void *records, uint32_t n, uint32_t *keys)
{
	switch (query->metric)
	{
		case GENIE_METRIC_L2:
			keys_of(GENIE_METRIC_L2, query, records, n, keys);
			break;
		case GENIE_METRIC_L1:
			keys_of(GENIE_METRIC_L1, query, records, n, keys);
			break;
		case GENIE_METRIC_COSINE:
			keys_of(GENIE_METRIC_COSINE, query, records, n, keys);
			break;
		default:
			keys_of(GENIE_METRIC_INNER, query, records, n, keys);
			break;
	}
}

#define KERNEL_OF(name) KERNEL_OF_(name)
#define KERNEL_OF_(name) const GenieValueKernel genie_value_##name = {#name, keys_by_metric}
KERNEL_OF(VALUE_NAME);

#endif							/* GENIE_VALUE_SCAN_KERNEL_H */

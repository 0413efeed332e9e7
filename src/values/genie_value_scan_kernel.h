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
 *	VALUE_DIFFER_GROUP	the same for L1
 *	VALUE_BITS_GROUP	the same for vectors with a bit a dimension (genie_rabitq.h)
 *
 * Records are taken in groups (genie_value_scan_group.h), which lie one behind the other, or anywhere.  The last group
 * repeats its last record, so that it needs no code of its own.
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
#define VALUE_DIFFER_GROUP differ_group
#define VALUE_BITS_GROUP bits_group
#define VALUE_IS_PORTABLE
#endif

#include "genie_value_bound.h"
#include "genie_value_scan_group.h"

#define INLINE __attribute__((always_inline)) VALUE_TARGET static inline

#ifdef VALUE_IS_PORTABLE
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

INLINE void
differ_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const uint8_t *query,
			 uint32_t n_elements)
{
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *codes = (const uint8_t *) (records[r] + 1);
		int32_t		sum = 0;

		for (uint32_t i = 0; i < n_elements; i++)
			sum += codes[i] > query[i] ? codes[i] - query[i] : query[i] - codes[i];
		block->products[place + r] = -sum;
	}
	genie_value_group_headers(block, place, records);
}

INLINE void
bits_group(GenieValueBlock *block, uint32_t place, const GenieQuantized *const *records, const int8_t *query,
		   uint32_t n_elements)
{
	for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
	{
		const uint8_t *bits = (const uint8_t *) (records[r] + 1);
		int32_t		products = 0;

		for (uint32_t i = 0; i < n_elements; i++)
			products += -(bits[i / 8] >> i % 8 & 1) & query[i];
		block->products[place + r] = products;
	}
	genie_value_group_headers(block, place, records);
}
#endif

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

		terms.products = VALUE_FROM_INTS(block->products + r);
		if (metric == GENIE_METRIC_L1)
			terms.squares = VALUE_FROM_FLOATS(block->beyond + r);
		else
		{
			terms.squares = VALUE_FROM_UNSIGNED(block->squares + r);
			if (!genie_rabitq_serves(metric))
				terms.codes = VALUE_FROM_INTS(block->codes + r);
		}
		VALUE_STORE_KEYS(keys + r, genie_value_bound(metric, constants, terms));
	}
}

INLINE size_t
record_bytes(const GenieMetric metric, uint32_t n_dimensions)
{
	return genie_rabitq_serves(metric) ? genie_rabitq_bytes(n_dimensions) : genie_quantized_bytes(n_dimensions);
}

/* Records are at the places, or, where places is NULL, from at on. */
INLINE void
sum_up(const GenieMetric metric, const GenieValueQuery *query, const uint8_t *at, const void *const *places, uint32_t n,
	   GenieValueBlock *block)
{
	bool		is_bits = genie_rabitq_serves(metric);
	size_t		n_bytes = record_bytes(metric, query->n_dimensions);
	uint32_t	n_elements = is_bits ? genie_rabitq_elements(query->n_dimensions) :
		genie_quantized_elements(query->n_dimensions);
	const void *body = genie_value_query_body(query);

	for (uint32_t place = 0; place < n; place += GENIE_VALUE_GROUP)
	{
		const GenieQuantized *records[GENIE_VALUE_GROUP];

		for (uint32_t r = 0; r < GENIE_VALUE_GROUP; r++)
		{
			if (places != NULL)
				at = places[place + r < n ? place + r : n - 1];
			records[r] = (const void *) at;
			at += place + r + 1 < n ? n_bytes : 0;
		}
		if (metric == GENIE_METRIC_PIVOTS)
			genie_value_group_largest(block, place, records, body, n_elements);
		else if (metric == GENIE_METRIC_L1)
			VALUE_DIFFER_GROUP(block, place, records, body, n_elements);
		else if (is_bits)
			VALUE_BITS_GROUP(block, place, records, body, n_elements);
		else
			VALUE_SUM_GROUP(block, place, records, body, n_elements);
	}
}

INLINE void
keys_of(const GenieMetric metric, const GenieValueQuery *query, const uint8_t *at, const void *const *places,
		uint32_t n, uint32_t *keys)
{
	GenieValueConstants constants = genie_value_constants(query);
	size_t		n_bytes = record_bytes(metric, query->n_dimensions);
	GenieValueBlock block;
	uint32_t	last_keys[GENIE_VALUE_BLOCK];

	for (; n >= GENIE_VALUE_BLOCK; n -= GENIE_VALUE_BLOCK)
	{
		sum_up(metric, query, at, places, GENIE_VALUE_BLOCK, &block);
		keys_of_block(metric, &constants, &block, GENIE_VALUE_BLOCK, keys);
		at += places == NULL ? GENIE_VALUE_BLOCK * n_bytes : 0;
		places += places == NULL ? 0 : GENIE_VALUE_BLOCK;
		keys += GENIE_VALUE_BLOCK;
	}
	if (n == 0)
		return;
	sum_up(metric, query, at, places, n, &block);
	keys_of_block(metric, &constants, &block, n, last_keys);
	memcpy(keys, last_keys, n * sizeof(uint32_t));
}

INLINE void
keys_by_metric(const GenieValueQuery *query, const void *records, const void *const *places, uint32_t n,
			   uint32_t *keys)
{
	switch (query->metric)
	{
		case GENIE_METRIC_L2:
			keys_of(GENIE_METRIC_L2, query, records, places, n, keys);
			break;
		case GENIE_METRIC_L1:
			keys_of(GENIE_METRIC_L1, query, records, places, n, keys);
			break;
		case GENIE_METRIC_PIVOTS:
			keys_of(GENIE_METRIC_PIVOTS, query, records, places, n, keys);
			break;
		case GENIE_METRIC_COSINE:
			keys_of(GENIE_METRIC_COSINE, query, records, places, n, keys);
			break;
		case GENIE_METRIC_L2_RABITQ:
			keys_of(GENIE_METRIC_L2_RABITQ, query, records, places, n, keys);
			break;
		case GENIE_METRIC_COSINE_RABITQ:
			keys_of(GENIE_METRIC_COSINE_RABITQ, query, records, places, n, keys);
			break;
		case GENIE_METRIC_INNER_RABITQ:
			keys_of(GENIE_METRIC_INNER_RABITQ, query, records, places, n, keys);
			break;
		default:
			keys_of(GENIE_METRIC_INNER, query, records, places, n, keys);
			break;
	}
}

VALUE_TARGET
static void
keys_of_records(const GenieValueQuery *query, const void *records, uint32_t n, uint32_t *keys)
{
	keys_by_metric(query, records, NULL, n, keys);
}

VALUE_TARGET
static void
keys_of_places(const GenieValueQuery *query, const void *const *places, uint32_t n, uint32_t *keys)
{
	keys_by_metric(query, NULL, places, n, keys);
}

#define KERNEL_OF(name) KERNEL_OF_(name)
#define KERNEL_OF_(name) const GenieValueKernel genie_value_##name = {#name, keys_of_records, keys_of_places}
KERNEL_OF(VALUE_NAME);

#endif							/* GENIE_VALUE_SCAN_KERNEL_H */

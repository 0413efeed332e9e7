/*
 * genie_value_offer.c
 *	  Quantized vectors offered to the best k of many queries at once (genie_value_offer.h).
 *
 * Most records are far from being wanted.  Where there are many queries, a filter looks at some records for all of
 * them: what it prepares once pays for itself, and products of bytes are all that it does for each query and record,
 * but for a comparison.  Records that pass get their keys, which decide.  Few queries, L1 and bits get the keys of
 * all records.
 */
#include <stdlib.h>

#include "genie_value_bound.h"
#include "genie_value_offer.h"
#include "genie_value_record.h"

#define FILTER_QUERIES 4		/* from which on preparing pays */
#define KEYS_TOGETHER 1024		/* records */
#define LEFT_FEW 8				/* records that a filter leaves: of more, the keys of all take less time */

const GenieValueFilter *
genie_value_filter(void)
{
#if defined(__x86_64__)
	if (genie_value_kernel_nth(2) != NULL)
		return &genie_value_filter_avx512;
#endif
	return NULL;
}

static inline bool
is_live(const uint64_t *live, uint32_t object)
{
	return live == NULL || (live[object / 64] >> (object % 64) & 1) != 0;
}

/* Those of n keys that the top wants.  Most are not wanted, which costs a comparison each, of many at once. */
static void
offer_wanted(GenieTopK *top, const uint32_t *keys, uint32_t n, uint32_t first_object, const uint64_t *live)
{
	enum {AT_ONCE = 16};

	for (uint32_t i = 0; i < n; i += AT_ONCE)
	{
		uint32_t	end = n - i < AT_ONCE ? n : i + AT_ONCE;
		uint32_t	wanted = 0;

		if (end - i == AT_ONCE)
			for (uint32_t j = 0; j < AT_ONCE; j++)
				wanted |= keys[i + j] >= top->floor;
		if (end - i == AT_ONCE && wanted == 0)
			continue;
		for (uint32_t j = i; j < end; j++)
			if (keys[j] >= top->floor && is_live(live, first_object + j))
				genie_topk_offer(top, keys[j], first_object + j);
	}
}

/* By the keys of all records. */
static void
offer_keys(const GenieValueQuery *query, GenieTopK *top, const char *records, uint32_t n, uint32_t first_object,
		   const uint64_t *live)
{
	size_t		n_bytes = genie_value_record_bytes((GenieMetric) query->metric, query->n_dimensions);
	uint32_t	keys[KEYS_TOGETHER];

	for (uint32_t first = 0; first < n; first += KEYS_TOGETHER)
	{
		uint32_t	n_here = n - first < KEYS_TOGETHER ? n - first : KEYS_TOGETHER;

		genie_value_keys(query, records + first * n_bytes, n_here, keys);
		offer_wanted(top, keys, n_here, first_object + first, live);
	}
}

/* Offers the records that the filter has left. */
static void
offer_left(const GenieValueQuery *query, const GenieValueConstants *constants, GenieTopK *top, const char *records,
		   uint64_t left, const int32_t *products, const int32_t *codes, uint32_t first_object, const uint64_t *live)
{
	size_t		n_bytes = genie_quantized_bytes(query->n_dimensions);

	for (; left != 0; left &= left - 1)
	{
		uint32_t	i = (uint32_t) __builtin_ctzll(left);
		const GenieQuantized *record = (const void *) (records + i * n_bytes);
		ValueTerms	terms = {record->offset, record->scale, record->error, record->squares, products[i], codes[i]};
		uint32_t	key = genie_value_key(genie_value_bound((GenieMetric) query->metric, constants, terms));

		if (key >= top->floor && is_live(live, first_object + i))
			genie_topk_offer(top, key, first_object + i);
	}
}

/* Offers n records that are prepared to the top of a query. */
static void
offer_filtered(const GenieValueFilter *filter, const void *memory, const GenieValueQuery *query,
			   const GenieValueConstants *constants, GenieTopK *top, const char *records, uint32_t n,
			   uint32_t first_object, const uint64_t *live)
{
	int32_t		products[GENIE_VALUE_FILTER_RECORDS];
	const int32_t *codes;
	uint64_t	left;

	if (top->floor <= 1)
	{
		offer_keys(query, top, records, n, first_object, live);
		return;
	}
	left = filter->filter(query, constants, top->floor, memory, products, &codes);
	left &= n == GENIE_VALUE_FILTER_RECORDS ? UINT64_MAX : (UINT64_C(1) << n) - 1;
	if (__builtin_popcountll(left) > LEFT_FEW)
		offer_keys(query, top, records, n, first_object, live);
	else
		offer_left(query, constants, top, records, left, products, codes, first_object, live);
}

void
genie_value_offer(const GenieValueQuery *const *queries, GenieTopK *const *tops, uint32_t n_queries,
				  const void *records, uint32_t n, uint32_t first_object, const uint64_t *live)
{
	const GenieValueFilter *filter = genie_value_filter();
	GenieMetric metric = n_queries == 0 ? 0 : (GenieMetric) queries[0]->metric;
	uint32_t	n_dimensions = n_queries == 0 ? 0 : queries[0]->n_dimensions;
	size_t		n_bytes = genie_quantized_bytes(n_dimensions);
	const char *at = records;
	GenieValueConstants *constants = NULL;
	void	   *memory = NULL;

	if (filter != NULL && n_queries >= FILTER_QUERIES && metric != GENIE_METRIC_L1 && metric != GENIE_METRIC_HAMMING)
	{
		constants = malloc(n_queries * sizeof(GenieValueConstants));
		if (posix_memalign(&memory, 64, filter->bytes(n_dimensions)) != 0)
			memory = NULL;
	}
	if (memory == NULL || constants == NULL)
	{
		free(memory);
		free(constants);
		for (uint32_t q = 0; q < n_queries; q++)
			offer_keys(queries[q], tops[q], at, n, first_object, live);
		return;
	}
	for (uint32_t q = 0; q < n_queries; q++)
		constants[q] = genie_value_constants(queries[q]);
	for (uint32_t first = 0; first < n; first += GENIE_VALUE_FILTER_RECORDS, at += GENIE_VALUE_FILTER_RECORDS * n_bytes)
	{
		uint32_t	n_here = n - first < GENIE_VALUE_FILTER_RECORDS ? n - first : GENIE_VALUE_FILTER_RECORDS;

		filter->prepare(metric, n_dimensions, queries[0]->offset, at, n_here, memory);
		for (uint32_t q = 0; q < n_queries; q++)
			if (genie_value_unknown_key(queries[q]) != 0)
				offer_keys(queries[q], tops[q], at, n_here, first_object + first, live);
			else
				offer_filtered(filter, memory, queries[q], &constants[q], tops[q], at, n_here, first_object + first,
							   live);
	}
	free(constants);
	free(memory);
}

/*
 * genie_value_offer.c
 *	  Quantized vectors offered to the best k of many queries at once (genie_value_offer.h).
 *
 * Most records are far from being wanted.  Where there are many queries, a filter looks at some records for all of
 * them: what it prepares once pays for itself, and products of bytes are all that it does for each query and record,
 * but for a comparison.  Records that pass get their keys, which decide.  Few queries, bit strings, texts and distances
 * to pivots get the keys of all records.
 *
 * Both depend on a floor that most records are below.  So a top is compacted long before it is full, as soon as its
 * k-th key is of twice as many: of records in any order, that is once for each doubling of their number.
 */
#include <stdlib.h>

#include "genie_rabitq_filter.h"
#include "genie_value_bound.h"
#include "genie_value_filter_memory.h"
#include "genie_value_record.h"

#define FILTER_QUERIES 4		/* from which on preparing pays */
#define FILTER_BITS_QUERIES 8	/* the same of a bit a dimension */
#define KEYS_TOGETHER 1024		/* records */
#define LEFT_FEW 8				/* records that a filter leaves: of more, the keys of all take less time */
#define COMPACT_MORE 64			/* hits more than k at least, for which a top is compacted */

const GenieValueFilter *
genie_value_filter_nth(uint32_t i)
{
#if defined(__x86_64__)
	if (i == 0 && genie_value_kernel_nth(2) != NULL)
		return &genie_value_filter_avx512;
#ifdef __linux__
	if (i == 1 && genie_value_kernel_nth(2) != NULL && genie_value_filter_has_tiles())
		return &genie_value_filter_amx;
#endif
#endif
	return NULL;
}

static inline bool
is_live(const uint64_t *live, uint32_t object)
{
	return live == NULL || (live[object / 64] >> (object % 64) & 1) != 0;
}

static void
raise_floor(GenieTopK *top)
{
	if (top->n >= 2 * top->k && top->n >= top->k + COMPACT_MORE)
		genie_topk_compact(top);
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
	raise_floor(top);
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
	size_t		n_bytes = genie_value_record_bytes((GenieMetric) query->metric, query->n_dimensions);
	bool		is_l1 = query->metric == GENIE_METRIC_L1;

	for (; left != 0; left &= left - 1)
	{
		uint32_t	i = (uint32_t) __builtin_ctzll(left);
		const GenieQuantized *record = (const void *) (records + i * n_bytes);
		double		squares = is_l1 ? (double) record->beyond : (double) record->squares;
		ValueTerms	terms = {record->offset, record->scale, record->error, squares, products[i], codes[i]};
		uint32_t	key = genie_value_key(genie_value_bound((GenieMetric) query->metric, constants, terms));

		if (key >= top->floor && is_live(live, first_object + i))
			genie_topk_offer(top, key, first_object + i);
	}
	raise_floor(top);
}

/* A query as a filter takes it. */
typedef struct Filtered
{
	GenieValueConstants constants;
	GenieValueFilterQuery numbers;
	uint32_t	floor;			/* that the numbers are of; 0: there are none yet */
} Filtered;

/* What offering records to many queries is about. */
typedef struct Offer
{
	const GenieValueFilter *filter;
	const GenieValueQuery *const *queries;
	GenieTopK  *const *tops;
	Filtered   *filtered;		/* of each query */
	GenieValueFilterMemory *memory;
	uint32_t	n_queries;
	double		middle;			/* of records and queries (genie_value_filter.h) */
} Offer;

/* Offers n records that are prepared to query number q, which has these products with them. */
static void
offer_filtered(const Offer *offer, uint32_t q, const int32_t *products, const char *records, uint32_t n,
			   uint32_t first_object, const uint64_t *live)
{
	const GenieValueQuery *query = offer->queries[q];
	Filtered   *filtered = &offer->filtered[q];
	GenieTopK  *top = offer->tops[q];
	uint64_t	left;

	if (top->floor <= 1 || genie_value_unknown_key(query) != 0)
	{
		offer_keys(query, top, records, n, first_object, live);
		return;
	}
	if (filtered->floor != top->floor)
	{
		GenieMetric metric = (GenieMetric) query->metric;
		double		limit = genie_value_key_bound(top->floor - 1);

		filtered->floor = top->floor;
		filtered->numbers = genie_rabitq_serves(metric) ?
			genie_rabitq_filter_query(metric, &filtered->constants, limit) :
			genie_value_filter_query(metric, &filtered->constants, offer->middle, limit);
	}
	left = offer->filter->left(&filtered->numbers, offer->memory, products);
	left &= n == GENIE_VALUE_FILTER_RECORDS ? UINT64_MAX : (UINT64_C(1) << n) - 1;
	if (left == 0)
		return;
	if (__builtin_popcountll(left) > LEFT_FEW)
		offer_keys(query, top, records, n, first_object, live);
	else
		offer_left(query, &filtered->constants, top, records, left, products, offer->memory->sums, first_object, live);
}

/* Offers n records, at most GENIE_VALUE_FILTER_RECORDS, to all queries. */
static void
offer_to_all(const Offer *offer, const char *records, uint32_t n, uint32_t first_object, const uint64_t *live)
{
	const GenieValueQuery *any = offer->queries[0];
	_Alignas(64) int32_t products[GENIE_VALUE_FILTER_QUERIES][GENIE_VALUE_FILTER_RECORDS];

	offer->filter->prepare((GenieMetric) any->metric, any->n_dimensions, offer->middle, records, n, offer->memory);
	for (uint32_t first = 0; first < offer->n_queries; first += GENIE_VALUE_FILTER_QUERIES)
	{
		uint32_t	n_here = offer->n_queries - first;

		if (n_here > GENIE_VALUE_FILTER_QUERIES)
			n_here = GENIE_VALUE_FILTER_QUERIES;
		(any->metric == GENIE_METRIC_L1 ? offer->filter->differ : offer->filter->multiply)
			(offer->memory, first, n_here, products);
		for (uint32_t q = 0; q < n_here; q++)
			offer_filtered(offer, first + q, products[q], records, n, first_object, live);
	}
}

/* Does a filter take products or differences of such codes, and pay for so many queries? */
static inline bool
pays(GenieMetric metric, uint32_t n_queries)
{
	return genie_rabitq_serves(metric) ? n_queries >= FILTER_BITS_QUERIES :
		genie_value_filter_serves(metric) && n_queries >= FILTER_QUERIES;
}

void
genie_value_offer_by(const GenieValueFilter *filter, const GenieValueQuery *const *queries, GenieTopK *const *tops,
					 uint32_t n_queries, const void *records, uint32_t n, uint32_t first_object, const uint64_t *live)
{
	Offer		offer = {.filter = filter, .queries = queries, .tops = tops, .n_queries = n_queries};
	uint32_t	n_dimensions = n_queries == 0 ? 0 : queries[0]->n_dimensions;
	GenieMetric metric = n_queries == 0 ? (GenieMetric) 0 : (GenieMetric) queries[0]->metric;
	size_t		n_bytes = 0;
	void	   *memory = NULL;

	if (filter != NULL && pays(metric, n_queries))
	{
		offer.filtered = malloc(n_queries * sizeof(Filtered));
		n_bytes = genie_value_record_bytes(metric, n_dimensions);
		if (posix_memalign(&memory, 64, genie_value_filter_bytes(metric, n_dimensions, n_queries)) != 0)
			memory = NULL;
	}
	if (memory == NULL || offer.filtered == NULL)
	{
		free(memory);
		free(offer.filtered);
		for (uint32_t q = 0; q < n_queries; q++)
			offer_keys(queries[q], tops[q], records, n, first_object, live);
		return;
	}
	offer.memory = memory;
	offer.middle = queries[0]->offset;
	for (uint32_t q = 0; q < n_queries; q++)
		offer.filtered[q] = (Filtered) {.constants = genie_value_constants(queries[q])};
	filter->begin(queries, n_queries, memory);
	for (uint32_t first = 0; first < n; first += GENIE_VALUE_FILTER_RECORDS)
		offer_to_all(&offer, (const char *) records + first * n_bytes,
					 n - first < GENIE_VALUE_FILTER_RECORDS ? n - first : GENIE_VALUE_FILTER_RECORDS,
					 first_object + first, live);
	filter->end();
	free(offer.filtered);
	free(memory);
}

void
genie_value_offer(const GenieValueQuery *const *queries, GenieTopK *const *tops, uint32_t n_queries,
				  const void *records, uint32_t n, uint32_t first_object, const uint64_t *live)
{
	const GenieValueFilter *best = NULL;

	for (uint32_t i = 0; genie_value_filter_nth(i) != NULL; i++)
		best = genie_value_filter_nth(i);
	genie_value_offer_by(best, queries, tops, n_queries, records, n, first_object, live);
}

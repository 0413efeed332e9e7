/*
 * genie_value_offer.h
 *	  Quantized vectors offered to the best k of many queries at once, by their keys (genie_value_scan.h).
 */
#ifndef GENIE_VALUE_OFFER_H
#define GENIE_VALUE_OFFER_H

#include "genie_topk.h"
#include "genie_value_bound.h"
#include "genie_value_scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Offers n records, the first of which is the object first_object's, to the top of each query.  Dead objects, whose
 * bit in live is clear (NULL: none), are left out.  All queries are of one metric, and of as many dimensions.
 */
extern void genie_value_offer(const GenieValueQuery *const *queries, GenieTopK *const *tops, uint32_t n_queries,
							  const void *records, uint32_t n, uint32_t first_object, const uint64_t *live);

/* ---- within the engine, and for its tests ---- */

#define GENIE_VALUE_FILTER_RECORDS 64	/* that a filter takes together */

/*
 * A filter: which records may have a key that a query's top wants, far more quickly than by their keys, for
 * GENIE_VALUE_FILTER_RECORDS at a time.  It may take more of them, and never leaves one out.
 */
typedef struct GenieValueFilter
{
	const char *name;

	/* bytes of memory for records of so many dimensions, aligned to 64 */
	size_t		(*bytes) (uint32_t n_dimensions);

	/* prepares n records, at most GENIE_VALUE_FILTER_RECORDS; middle: near the queries' offsets */
	void		(*prepare) (GenieMetric metric, uint32_t n_dimensions, double middle, const void *records, uint32_t n,
							void *memory);

	/*
	 * bit i: record i may have a key of at least floor >= 1; products[i] is then its codes' product with the query's,
	 * and codes[i] their sum
	 */
	uint64_t	(*filter) (const GenieValueQuery *query, const GenieValueConstants *constants, uint32_t floor,
						   const void *memory, int32_t *products, const int32_t **codes);
} GenieValueFilter;

/* NULL: this processor has none. */
extern const GenieValueFilter *genie_value_filter(void);

#if defined(__x86_64__)
extern const GenieValueFilter genie_value_filter_avx512;
#endif

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VALUE_OFFER_H */

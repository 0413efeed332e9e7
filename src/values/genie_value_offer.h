/*
 * genie_value_offer.h
 *	  Quantized vectors offered to the best k of many queries at once, by their keys (genie_value_scan.h).
 */
#ifndef GENIE_VALUE_OFFER_H
#define GENIE_VALUE_OFFER_H

#include "genie_topk.h"
#include "genie_value_filter.h"
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
#define GENIE_VALUE_FILTER_QUERIES 16	/* whose products it computes together */

/*
 * A filter: which records may have a key that a query's top wants, far more quickly than by their keys.  It may take
 * more of them, and never leaves one out.  Its memory is GenieValueFilterMemory.
 */
typedef struct GenieValueFilter
{
	const char *name;

	/* takes n queries, n > 0; until end() the thread does nothing but this */
	void		(*begin) (const GenieValueQuery *const *queries, uint32_t n, void *memory);

	/* prepares n records, at most GENIE_VALUE_FILTER_RECORDS; middle: that of the queries' numbers */
	void		(*prepare) (GenieMetric metric, uint32_t n_dimensions, double middle, const void *records, uint32_t n,
							void *memory);

	/*
	 * products[q][i]: of the codes of query first + q and of record i, for n <= GENIE_VALUE_FILTER_QUERIES queries at
	 * least; first is a multiple of that, and products have room for as many, aligned to 64
	 */
	void		(*multiply) (void *memory, uint32_t first, uint32_t n, int32_t (*products)[GENIE_VALUE_FILTER_RECORDS]);

	/* the same for L1: sums of differences, with a minus */
	void		(*differ) (void *memory, uint32_t first, uint32_t n, int32_t (*products)[GENIE_VALUE_FILTER_RECORDS]);

	/* bit i: record i, whose product is given, may have a key that the numbers are of */
	uint64_t	(*left) (const GenieValueFilterQuery *numbers, const void *memory, const int32_t *products);

	void		(*end) (void);
} GenieValueFilter;

/* Filter number i, the fastest last; NULL: this processor has no more. */
extern const GenieValueFilter *genie_value_filter_nth(uint32_t i);

/* genie_value_offer() by this filter; NULL: by keys alone. */
extern void genie_value_offer_by(const GenieValueFilter *filter, const GenieValueQuery *const *queries,
								 GenieTopK *const *tops, uint32_t n_queries, const void *records, uint32_t n,
								 uint32_t first_object, const uint64_t *live);

#if defined(__x86_64__)
extern const GenieValueFilter genie_value_filter_avx512;

/* As GenieValueFilter says; for the other, too. */
extern void genie_value_filter_prepare(GenieMetric metric, uint32_t n_dimensions, double middle, const void *records,
									   uint32_t n, void *memory);
extern void genie_value_filter_differ(void *memory, uint32_t first, uint32_t n,
									  int32_t (*products)[GENIE_VALUE_FILTER_RECORDS]);
extern uint64_t genie_value_filter_left(const GenieValueFilterQuery *numbers, const void *memory,
										const int32_t *products);

#ifdef __linux__
extern const GenieValueFilter genie_value_filter_amx;

/* Has the processor tiles, and may this process use them? */
extern bool genie_value_filter_has_tiles(void);
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif							/* GENIE_VALUE_OFFER_H */
